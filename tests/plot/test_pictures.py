"""Pictures: they show the numbers that were given, in every format, and say what is missing."""

import math
import tomllib
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from msgspec import structs
from scipy import stats
from scipy.integrate import trapezoid
from tests.protocols.asking import compare_medians

import speedproof as sp
from speedproof import plot
from speedproof.data.sample import Sample
from speedproof.data.suite import Key
from speedproof.errors import DataError, UsageError
from speedproof.mixture.model import MixtureModel
from speedproof.plot import canvas
from speedproof.plot.canvas import kernel_density
from speedproof.protocols.pair import Rules
from speedproof.protocols.results import Comparison, Verdict
from speedproof.stats.estimate import Estimate
from speedproof.stats.normality import lilliefors

pytest.importorskip("matplotlib")
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.patches import StepPatch
from matplotlib.text import Text

MODEL = MixtureModel([0.6, 0.4], [10.0, 14.0], [0.3, 0.5])
X = MODEL.rvs(120, seed=1)


def axes() -> Axes:
    return canvas.new_figure().add_subplot()


def bars(ax: Axes) -> tuple[np.ndarray, np.ndarray]:
    (steps,) = [patch for patch in ax.patches if isinstance(patch, StepPatch)]
    heights, edges, _ = steps.get_data()
    return np.asarray(heights), np.asarray(edges)


def area_of_bars(ax: Axes) -> float:
    heights, edges = bars(ax)
    return float(np.sum(heights * np.diff(edges)))


def curves(ax: Axes, label: str) -> list[np.ndarray]:
    return [np.asarray(line.get_xydata()) for line in ax.lines if line.get_label() == label]


def words(texts: Iterable[Text]) -> list[str]:
    return [text.get_text() for text in texts]


def legend_of(ax: Axes) -> Legend:
    legend = ax.get_legend()
    assert legend is not None
    return legend


def test_histogram_has_area_one_and_the_components_add_up() -> None:
    ax = axes()
    assert plot.histogram(X, MODEL, ax=ax, axis="time (ms)", title="a") is ax
    assert area_of_bars(ax) == pytest.approx(1.0)
    ((rug,), (whole,)) = curves(ax, "_rug"), curves(ax, "mixture")
    assert sorted(rug[:, 0]) == sorted(X)
    components = curves(ax, "_component")
    assert len(components) == 2
    assert {10.0, 14.0} <= {*whole[:, 0].tolist()}  # no peak is cut off
    np.testing.assert_allclose(sum(c[:, 1] for c in components), whole[:, 1], rtol=1e-9)
    np.testing.assert_allclose(MODEL.pdf(whole[:, 0]), whole[:, 1], rtol=1e-9)
    shown = words(legend_of(ax).get_texts())
    assert shown == ["component 1: 60 % at 10", "component 2: 40 % at 14", "mixture"]
    alone = plot.histogram(X, MixtureModel([1.0], [11.0], [2.0]), ax=axes())
    assert words(legend_of(alone).get_texts()) == ["normal distribution"]
    x = np.random.default_rng(1).normal(size=20_000)  # whose rug alone is thinned
    ax = plot.histogram(x, ax=axes())
    (rug,) = curves(ax, "_rug")
    assert rug.shape[0] == 5000
    assert {rug[:, 0].min(), rug[:, 0].max()} == set(plot.window(x))
    assert area_of_bars(ax) == pytest.approx(1.0, abs=1e-3)


def test_a_few_values_far_out_are_counted_and_not_drawn() -> None:
    """The bars hold the share of the values inside the axis; a line counts those beyond."""
    x = np.concatenate([X, [60.0, 140.0, -90.0]])
    ax = plot.histogram(x, MODEL, ax=axes())
    low, high = ax.get_xlim()
    assert low < X.min()
    assert high > X.max()
    assert high - low < 1.1 * np.ptp(X)
    assert area_of_bars(ax) == pytest.approx(X.size / x.size)
    said = {
        "1 of 123 values, down to -90, lies beyond the axis and is not drawn",
        "2 of 123 values, up to 140, lie beyond the axis and are not drawn",
    }
    assert {*words(ax.texts)} == {*words(plot.density({"a": x}, ax=axes()).texts)} == said
    assert {*words(plot.cdfs({"a": x}, [MODEL], ax=axes()).texts)} == {f"a: {line}" for line in said}
    assert not plot.histogram(X, MODEL, ax=axes()).texts


@pytest.mark.parametrize(("n", "out", "gone"), [
    (7, 1, False), (8, 1, True), (8, 2, False), (19, 1, True), (19, 2, False), (20, 2, True), (20, 3, False),
    (149, 2, True), (149, 3, False), (150, 3, True), (150, 4, False),
])  # fmt: skip
@pytest.mark.parametrize("sign", [1, -1])
def test_how_many_values_may_be_left_out(n: int, out: int, gone: bool, sign: int) -> None:
    """None of seven, one of eight, two of twenty, then 2 %: those farther out than the others spread."""
    near = np.linspace(10.0, 11.0, n - out)
    x = sign * np.concatenate([near, 30.0 + np.arange(out) / 10])
    assert sorted(abs(end) for end in plot.window(x)) == [10.0, 11.0 if gone else abs(x[-1])]
    last = 11.0 + (near[-1] - near[0]) * 0.99  # not farther out than the others spread
    assert sorted(abs(end) for end in plot.window(sign * np.append(near, last))) == [10.0, last]


def test_versions_are_compared_on_one_axis() -> None:
    samples = {"old": X, "new": np.append(X - 3, 500.0), "flat": np.full(9, 12.0)}
    figure = plot.histograms(samples, [MODEL, MODEL, None], axis="time (ms)", title="t")
    assert len(figure.axes) == 3
    low, high = figure.axes[0].get_xlim()
    assert low <= X.min() - 3
    assert X.max() <= high < 500
    for ax, (name, x) in zip(figure.axes, samples.items(), strict=True):
        assert ax.get_xlim() == (low, high)
        assert ax.get_title("left") == f"{name}: n = {x.size}, median {np.median(x):.4g}"
        out = int(np.sum((x < low) | (x > high)))
        assert len(ax.texts) == bool(out)
        assert area_of_bars(ax) == pytest.approx(1 - out / x.size)
    assert [ax.get_xlabel() for ax in figure.axes] == ["", "", "time (ms)"]


def test_a_legend_covers_no_curve() -> None:
    """It stands beside the axes, of one panel and of many, whatever the number of components."""
    many = MixtureModel(np.full(9, 1 / 9), np.arange(9.0), np.full(9, 0.1))
    x = many.rvs(200, seed=2)
    two: Any = {"a": x, "b": x + 1}
    drawn = [plot.histogram(x, many, ax=axes()), plot.order(x, many, ax=axes()), plot.density(two, ax=axes()),
             plot.cdfs(two, ax=axes()), *plot.histograms({**two, "c": x}, [many] * 3).axes]  # fmt: skip
    for ax in drawn:
        ax.figure.draw_without_rendering()  # type: ignore[union-attr]
        assert ax.get_window_extent().x1 <= legend_of(ax).get_window_extent().x0
    alone = plot.histogram(X, MODEL, ax=Figure().add_subplot())
    alone.figure.draw_without_rendering()  # type: ignore[union-attr]
    inside = legend_of(alone).get_window_extent().x1 <= alone.bbox.x1
    assert inside, "a figure without a layout has no room beside it"


def test_densities_of_versions_and_their_normal_fits() -> None:
    """Kernels of area one around every value; dashed the normal law of mean and deviation, against scipy."""
    samples = {"old": X, "new": X[:60] + 1.0, "two": np.array([11.9, 12.1])}
    ax = plot.density(samples, ax=axes(), axis="time (ms)", title="t")
    for curve, x in zip((f"{n} ({x.size} runs)" for n, x in samples.items()), samples.values(), strict=True):
        ((line,),) = [curves(ax, curve)]
        assert trapezoid(line[:, 1], line[:, 0]) == pytest.approx(1.0, abs=1e-3)
        assert trapezoid(line[:, 0] * line[:, 1], line[:, 0]) == pytest.approx(x.mean(), rel=1e-3)
    for line, x in zip(curves(ax, "_normal"), samples.values(), strict=True):
        expected = stats.norm(x.mean(), x.std(ddof=1)).pdf(line[:, 0])
        np.testing.assert_allclose(line[:, 1], expected, rtol=1e-9)
    far = plot.density({"a": np.append(X, 900.0), "b": X}, ax=axes())
    assert words(far.texts) == ["a: 1 of 121 values, up to 900, lies beyond the axis and is not drawn"]
    flat = plot.density({"a": np.full(5, 2.0), "one": np.array([3.0])}, ax=axes())
    assert np.isfinite(np.concatenate(curves(flat, "_normal"))).all()


def test_distribution_functions_of_versions_share_axes() -> None:
    samples = {"old": X, "new": X[:60] + 1.0}
    ax = plot.cdfs(samples, [MODEL, None], ax=axes(), axis="time (ms)")
    for name, x in samples.items():
        (line,) = curves(ax, f"{name} ({x.size} runs)")
        np.testing.assert_allclose(line[1:-1, 1], stats.ecdf(x).cdf.evaluate(line[1:-1, 0]))
        assert (*line[[0, -1], 0], *line[[0, -1], 1]) == (*ax.get_xlim(), 0.0, 1.0)
    assert ax.get_ylim() == (0.0, 1.0)
    (mixture,) = curves(ax, "_mixture")
    np.testing.assert_allclose(mixture[:, 1], MODEL.cdf(mixture[:, 0]))
    ax = plot.cdfs({str(k): [1.0, 2.0 + k] for k in range(20)}, ax=axes())  # more versions than colours
    assert len({(line.get_color(), line.get_linestyle()) for line in ax.get_lines()}) == 20


def test_run_order_keeps_the_order_and_marks_components() -> None:
    ax = plot.order(X, MODEL, ax=axes())
    runs = np.column_stack([np.arange(1, X.size + 1), X])
    for k in range(2):
        (points,) = curves(ax, f"component {k + 1}: {np.sum(MODEL.labels(X) == k)} runs")
        assert points.tolist() == runs[MODEL.labels(X) == k].tolist()
    ten = MixtureModel(np.full(10, 0.1), 10.0 * np.arange(10), np.full(10, 0.5))
    lines = plot.order(ten.rvs(200, 1), ten, ax=axes()).lines
    assert len({(line.get_marker(), line.get_color()) for line in lines[:9]}) == 9 < len(lines[:-1]) == 10
    ((median,),) = [curves(ax, "median")]
    assert median[:, 1].tolist() == [np.median(X)] * 2
    for n in (1, 2, 5, 40):
        ax = plot.order(np.arange(1.0, n + 1), ax=axes())
        assert {float(t) % 1 for t in ax.get_xticks()} == {0.0}


def test_a_probability_plot_is_straight() -> None:
    """Every value stands on its axis; the p-value is that of Lilliefors' test of the logarithms."""
    rng = np.random.default_rng(5)
    for i in range(40):
        n = int(rng.integers(4, 80))
        x = np.exp(rng.normal(size=n)) if i % 2 else rng.exponential(size=n)
        ax = plot.qq(x, "log-normal", ax=axes())
        (points,) = [np.asarray(line.get_xydata()) for line in ax.lines if line.get_marker() == "o"]
        assert points[:, 1].tolist() == sorted(x.tolist())
        assert ax.get_yscale() == "log"
        blom = (np.arange(1, n + 1) - 0.375) / (n + 0.25)  # as R's ppoints(n, 3/8)
        np.testing.assert_allclose(points[:, 0], stats.norm.ppf(blom))
        (line,) = [np.asarray(line.get_xdata()) for line in ax.lines if line.get_marker() != "o"]
        assert line[0] < points[0, 0] < points[-1, 0] < line[-1]
        low, high = ax.get_ylim()
        assert low < x.min() < x.max() < high
        digits = {f"{tick:.0e}"[0] for tick in ax.get_yticks()}
        assert high <= 10 * low or digits == ({"1", "2", "5"} if high < 1e4 * low else {"1"})
        p = float(lilliefors(np.log(x)).pvalue)
        told = legend_of(ax).get_title().get_text().removeprefix("Lilliefors: p ")
        assert told == ("< 0.001" if p < 0.001 else f"= {p:.3f}")
    ax = plot.qq(X, ax=axes())
    drawn = np.concatenate([np.asarray(line.get_ydata(), float) for line in ax.lines])
    assert ax.get_ylim()[0] < drawn.min() < drawn.max() < ax.get_ylim()[1]
    assert np.ptp(ax.get_ylim()) < 1.2 * np.ptp(drawn)
    for high, even in ((9.9, True), (10.1, False)):  # a power of ten
        ax.set(yscale="log", ylim=(1.0, high))
        canvas.plain_log_ticks(ax.yaxis)
        assert (np.ptp(np.diff(ax.get_yticks())) < 1e-9) == even
    for value in (-1.0, 0.0):
        with pytest.raises(DataError, match=f"{value:g} is not positive"):
            plot.qq([value, 1.0, 2.0, 3.0], "log-normal", ax=axes())
    assert plot.qq([1.0, 2.0, 2.0, 2.0], ax=axes()).lines
    for few in ([1.0, 2.0, 3.0], [2.0] * 9):
        for law in ("normal", "log-normal"):
            with pytest.raises(DataError, match="four values or more that are not all equal"):
                plot.qq(few, law, ax=axes())


def width_of_kernels(x: np.ndarray) -> float:
    """What is best for normal values as dense as the densest quarter is, or six values, or all of them."""
    x, n = np.sort(x), x.size
    for count in (max(n // 4, min(n - 1, 5)), n - 1):
        densest = min(x[i + count] - x[i] for i in range(n - count))
        if densest > 0:
            middle = float(np.diff(stats.norm.interval(count / n))[0])
            return float(1.06 * densest / middle * len({*x}) ** -0.2)
    return 0.0


def test_kernel_density_is_one_and_keeps_modes_apart() -> None:
    """Integral one; two modes ten deviations apart are as high as each alone, at half the weight."""
    rng = np.random.default_rng(3)
    for n in (1, 2, 30, 400, 50_000):
        x = np.concatenate([rng.normal(0, 1, n), rng.normal(10, 1, n)])
        grid = np.linspace(-30, 40, 7001)
        density = kernel_density(x, grid, least=0.05)
        assert density.sum() * 0.01 == pytest.approx(1.0, abs=1e-3)
        if n >= 400:
            truth = MixtureModel([0.5, 0.5], [0.0, 10.0], [1.0, 1.0]).pdf(grid)
            assert np.abs(density - truth).sum() * 0.01 < 4 * (2 * n) ** -0.4  # the rate of such estimates
    scores = stats.norm.ppf((np.arange(1000) + 0.5) / 1000)
    several = np.append(scores[::16], 2 * scores[::25] + 30)
    for few in ([0.0, 1.0], [1.0, 2.0, 3.0, 4.0, 5.0], [0.0, 0.0, 0.0, 1.0], [0.0] * 9 + [1.0], several):
        x = np.array(few)
        law = stats.gaussian_kde(x, width_of_kernels(x) / x.std(ddof=1))
        np.testing.assert_allclose(kernel_density(x, x), law(x), rtol=1e-9)
    skewed = np.exp(scores)  # turned round, or in another unit, the law is the same
    for factor in (-1.0, 8.0, 1e-200):
        turned = kernel_density(factor * skewed, factor * np.arange(0.1, 9.0)) * abs(factor)
        np.testing.assert_allclose(turned, kernel_density(skewed, np.arange(0.1, 9.0)), rtol=1e-6)
    # Of more values than cells, and cells as wide as kernels or less.
    far, grid = np.repeat(np.append(1.001 * scores, [300.0, -300.0]), 2), grid[::50]
    for least in (0.5, 1.0, 2.0, 2.5, 8.0, 100.0):
        exact = stats.gaussian_kde(far, least / far.std(ddof=1))(grid)
        np.testing.assert_allclose(kernel_density(far, grid, least=least), exact, atol=2e-3 / least)
    for times in (1, 2):  # as wide as is best for so many normal values, of which copies make no more
        (top,) = kernel_density(np.repeat(scores, times), [0.0])
        width = np.sqrt(0.5 / np.pi / top**2 - scores.var())
        assert width == pytest.approx((4 / 3 / 1000) ** 0.2, rel=0.15)


def test_forest_of_many() -> None:
    rows = [structs.replace(row, benchmark=f"a name of a benchmark that is far too long {i}")
            for i, row in enumerate(compared(seen([1.0 + i / 100 for i in range(60)])))]  # fmt: skip
    for some in (rows[:9], rows):
        ax = plot.forest(some, ax=axes())
        each = plot.forest_size(len(some) + 1)[1] - plot.forest_size(len(some))[1]
        assert 1.2 <= 72 * each / float(ax.get_yticklabels()[0].get_fontsize()) <= 2.0
    assert len({*words(ax.get_yticklabels())}) == 60


@pytest.mark.parametrize(("ending", "start"), [
    ("svg", b"<?xml"), ("png", b"\x89PNG"), ("html", b"<!"),
    pytest.param("pdf", b"%PDF", marks=pytest.mark.slow),
])  # fmt: skip
def test_every_format_is_written_the_same_each_time(tmp_path: Path, ending: str, start: bytes) -> None:
    for name in "ab":
        drawn = plot.violins({"测试": X, "y": X + 1}, [MODEL, None], ax=axes())
        plot.save(drawn, tmp_path / f"{name}.{ending}")
    one, other = ((tmp_path / f"{name}.{ending}").read_bytes() for name in "ab")
    assert one.startswith(start)
    assert one == other
    assert ending != "html" or (b"<script" in one, b"<svg" in one) == (False, True), "needs no network"


def test_what_no_picture_is_written_as_is_refused_before() -> None:
    for path in ("a.bmp", "a", ".svg", "a.svg.gz"):
        with pytest.raises(UsageError, match=r"a picture is written as \.svg, \.png, \.pdf, \.html"):
            canvas.check_output(path)
        for ending in ("svg", "PNG", "pdf", "Html"):
            canvas.check_output(f"{path}.{ending}")


def test_missing_matplotlib_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(canvas, "import_module", missing)
    with pytest.raises(UsageError) as caught:
        plot.histogram(X)
    text, _, packages = str(caught.value).partition(": pip install ")
    assert text == "pictures need matplotlib, which is not installed"
    # The packages themselves: from a clone there is no speedproof on an index that an extra could be asked of.
    extras = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    wanted = extras["optional-dependencies"]["plot"]
    assert packages.split() == [requirement.partition(">=")[0] for requirement in wanted]


def test_light_lines_lead_to_ticks() -> None:
    """To values, not to names."""
    for ax, across, up in (
        (plot.violins({"a": X}, ax=axes()), False, True), (plot.cdfs({"a": X}, ax=axes()), True, True),
        (plot.forest(compared(NEAR), ax=axes()), True, False), (plot.order(X, ax=axes()), False, False),
    ):  # fmt: skip
        lines = [[line.get_visible() for line in of()] for of in (ax.get_xgridlines, ax.get_ygridlines)]
        assert [set(shown) for shown in lines] == [{across}, {up}]
        assert not (across or up) or ax.get_axisbelow() is True
        for line in (*ax.get_xgridlines(), *ax.get_ygridlines()):
            assert not line.get_visible() or 0.4 <= line.get_linewidth() <= 0.8


def forest_of(samples: dict[str, Any]) -> Axes:
    ((_, ax),) = sp.pictures(sp.Suite.of_samples(samples), "forest")
    return cast(Axes, ax)


def test_a_forest_draws_no_time_at_all() -> None:
    """A reference of 0 s has a speedup of 0, which no log axis holds: an arrow, and it is counted."""
    zero, one, new = np.zeros(20), np.ones(20), np.linspace(1.0, 1.1, 20)
    ends = {"zero": (zero, new), "one": (one, new), "gone": (one, zero)}
    ax = forest_of({name: {"old": x, "new": y} for name, (x, y) in ends.items()})
    assert {*words(ax.get_yticklabels())} == {"zero !", "one !", "gone !"}
    assert not any("x" in text for text in words(ax.texts))


def test_a_forest_fills_what_is_proven() -> None:
    """What is only shown, of three runs a side, is open and has its mark; long names are cut where they agree."""
    old, new = (f"results-of-the-nightly-run-{side}-2026-06-02-3.16.0a0-29805f0" for side in ("jit", "plain"))
    values = {"proven": (X, X / 2), "shown": ([9.0, 9.2, 9.1], [8.0, 8.2, 8.1]), "open": (X, X)}
    ax = forest_of({name: {old: x, new: y} for name, (x, y) in values.items()})
    assert all(name in ax.get_xlabel() for name in ("plain", "jit"))
    assert {*words(ax.get_yticklabels())} == {"proven", "shown !", "open"}
    faces = {str(line.get_label()): line.get_markerfacecolor() for line in ax.lines}
    looks = {name: faces[name] == "white" for name in faces if not name.startswith("_")}
    assert looks == {"1 faster": False, "1 faster, not proven (!)": True, "1 undecided": True}


FASTER, SLOWER, OPEN, SAME = Verdict.FASTER, Verdict.SLOWER, Verdict.UNDECIDED, Verdict.EQUIVALENT
# In the order of a forest: slower by the upper bound, what is open by the estimate, faster by the lower bound.
NEAR = [
    (SLOWER, 0.5, 0.36, 0.6), (SLOWER, 0.4, 0.3, 0.7), (SLOWER, 0.98, 0.9, 1.0), (OPEN, 0.9, 0.5, 1.4),
    (SAME, 1.01, 0.995, 1.02), (OPEN, 1.1, math.nan, math.nan), (OPEN, 1.2, 0.0, math.inf),
    (FASTER, 1.5, 1.2, 1.9), (FASTER, 1.4, 1.3, 1.6),
]  # fmt: skip


def compared(told: list[tuple[Verdict, float, float, float]]) -> list[Comparison]:
    rng = np.random.default_rng(2)
    old, new = (Sample(rng.normal(10, 1, 20), label=v) for v in ("old", "new"))
    one = structs.replace(compare_medians(old, new, Rules(), Key("b")), checks=(), log=None)
    return [
        structs.replace(one, benchmark=f"b{i}", verdict=verdict, speedup=Estimate(value, low, high, 0.95))
        for i, (verdict, value, low, high) in enumerate(told)
    ]


def seen(values: list[float]) -> list[tuple[Verdict, float, float, float]]:
    return [(OPEN, value, value, value) for value in values]


@pytest.mark.parametrize("far", [1e6, 1e-6])
def test_a_forest_against_a_naive_one(far: float) -> None:
    """Rows in order, a bar from bound to bound as far as the axis goes, a marker or an arrow with its factor."""
    beyond = (FASTER if far > 1 else SLOWER, far, far / 2, far * 2)
    told = [*NEAR, beyond] if far > 1 else [beyond, *NEAR]
    rows = compared(told)
    ax: Any = plot.forest([*rows[1::2], *rows[::2]], ax=axes(), title="all $x", margin=0.25)
    low, high = ax.get_xlim()
    room = np.log(1.9 / 0.3)
    assert np.log(0.3 / low) == pytest.approx(np.log(high / 1.9))
    assert 0.03 < np.log(0.3 / low) / room < 0.1
    assert words(ax.get_yticklabels()) == [row.benchmark for row in rows]
    assert (ax.get_title("left"), ax.get_xscale()) == (r"all \$x", "log")
    assert -1 <= ax.get_ylim()[0] < -0.3
    assert len(rows) - 0.7 < ax.get_ylim()[1] <= len(rows)
    (band,) = ax.patches
    shaded = ax.transData.inverted().transform(band.get_window_extent())[:, 0]
    np.testing.assert_allclose(shaded, [1 / 1.25, 1.25])
    assert np.asarray(ax.lines[0].get_xdata()).tolist() == [1.0, 1.0]
    drawn = [line for line in ax.lines if len(line.get_ydata())]
    lines = {(line.get_marker(), len(line.get_xdata()), line.get_ydata()[-1]): line for line in drawn}
    colours: dict[Verdict, str] = {}
    shapes = {OPEN: "o", FASTER: "o", SLOWER: "s", SAME: "D"}
    for place, (verdict, value, *ends) in enumerate(told):
        marker = lines["<>"[far > 1] if value == far else shapes[verdict], 1, place]
        (at,) = np.asarray(marker.get_xdata())
        assert at == (ax.get_xlim()[int(far > 1)] if value == far else value)
        bar = lines.get(("None", 2, place))
        assert (bar is None) == math.isnan(ends[0])
        if bar is not None:
            assert np.asarray(bar.get_xdata()).tolist() == np.clip(ends, low, high).tolist()
            assert bar.get_color() == marker.get_color()
        assert colours.setdefault(verdict, marker.get_color()) == marker.get_color()
    assert len({*colours.values()}) == 4
    (text,) = ax.texts
    place = [row[1] for row in told].index(far)
    assert (text.get_text(), text.get_ha()) == (f"{far:.3g}x", "right" if far > 1 else "left")
    assert (text.xy, text.get_color()) == ((ax.get_xlim()[int(far > 1)], place), colours[told[place][0]])
    assert (text.xyann[0] < 0) == (far > 1)
    counts = {"faster": 2, "slower": 3, "equivalent": 1, "undecided": 3}
    counts["faster" if far > 1 else "slower"] += 1
    legend = legend_of(ax)
    assert words(legend.get_texts()) == [f"{n} {verdict}" for verdict, n in counts.items()]
    shown = [(line.get_marker(), line.get_markersize(), line.get_color()) for line in legend.get_lines()]
    assert shown == [(shapes[of], 5.0, colours[of]) for of in (FASTER, SLOWER, SAME, OPEN)]  # as in the rows
    assert {line.get_markersize() for line in drawn if line.get_marker() in "osD"} == {5.0}
    label = "speedup of new over old, right is faster\n(median; each bound holds at 95 %)"
    assert ax.get_xlabel() == label
    assert not any(ax.spines[side].get_visible() for side in ("left", "top", "right"))
    edges = [mark for mark in ax.lines if mark.get_marker() in ("<", ">")]
    assert {(5 <= mark.get_markersize() <= 7, mark.get_clip_on()) for mark in edges} == {(True, False)}
    ax.figure.draw_without_rendering()
    assert legend.get_window_extent().y0 >= ax.get_window_extent().y1  # no row is covered


@pytest.mark.parametrize(("low", "high"), [
    (0.6, 2.0), (0.97, 1.02), (0.5, 3.0), (0.01, 3.0), (2e-3, 5.0), (1e-3, 90.0), (1e-30, 1e30),
])  # fmt: skip
def test_ticks_of_a_forest(low: float, high: float) -> None:
    """A few round ratios, 1 among them, from end to end, and nothing between."""
    ax: Any = plot.forest(compared(seen([low, high, *[math.sqrt(low * high)] * 3])), ax=axes())
    ticks = ax.get_xticks()
    assert 3 <= ticks.size <= 12
    assert 1.0 in ticks
    assert ax.get_xlim()[0] <= ticks[0] < ticks[-1] <= ax.get_xlim()[1]
    assert [float(f"{tick:.3g}") for tick in ticks] == ticks.tolist()
    assert not len(ax.xaxis.get_minorticklocs())
    assert words(ax.get_xticklabels()) == [f"{tick:.4g}x" for tick in ticks]


def test_a_forest_of_nothing_and_of_all() -> None:
    """Of one value the axis is around it; some rows have no speedup, a probability is none; names lie apart."""
    rows = compared([  # the clearest have an upper bound of 0, or an infinite lower one; without bounds last
        (SLOWER, 0.0, 0.0, 0.0), (SLOWER, 0.5, 0.3, 0.7), (SLOWER, 0.9, math.nan, math.nan), (OPEN, 0.1, 0.0, 9.0),
        (FASTER, 1.1, math.nan, math.nan), (FASTER, 1.5, 1.2, 1.9), (FASTER, math.inf, math.inf, math.inf),
    ])  # fmt: skip
    ax = plot.forest(rows[::-1], ax=axes())
    assert words(ax.get_yticklabels()) == [row.benchmark for row in rows]
    low, high = plot.forest(compared(seen([1.0, 1.0])), ax=axes()).get_xlim()
    assert 0.8 < low < 1 < high < 1.2
    low, high = plot.forest(compared([(OPEN, 1.001, 0.99, 1.01)] * 5), ax=axes()).get_xlim()
    assert 0.98 < low < 0.99 < 1.01 < high < 1.02  # beside hardly any change two per cent are near
    probability = structs.replace(compared(seen([0.9]))[0], quantity="probability")
    for none in ([], compared(seen([math.nan])), [probability]):
        with pytest.raises(DataError, match="no speedup"):
            plot.forest(none)
    height = {n: plot.forest_size(n)[1] for n in (1, 2, 50, 51)}
    title = height[1] - (height[2] - height[1])
    assert height[50] - 50 * (height[51] - height[50]) == pytest.approx(title)
    assert 0.9 < title < 1.6  # inches of title and axis


def test_bars_are_no_finer_than_an_eye() -> None:
    """Beside wide ones close values have one bar about them, or bars that can be seen; needles no higher ones."""
    for close in ([5.0, 5.001], np.linspace(5.0, 5.3, 30), [5.0] * 9):
        _, last = plot.histograms({"wide": np.linspace(0.0, 13.0, 50), "close": close}).axes
        heights, edges = bars(last)
        assert np.diff(edges).min() >= 0.1 - 1e-9
        assert np.ptp(edges) == pytest.approx(max(float(np.ptp(close)), 0.1))
        assert 0.5 * (edges[0] + edges[-1]) == pytest.approx(0.5 * (np.min(close) + np.max(close)))
        assert len(heights) == (2 if len(close) == 30 else 1)  # of 0.3 less a rounding
    ax = plot.histogram(X, MixtureModel([1 / 120, 119 / 120], [10.0, 12.0], [1e-6, 2.0]), ax=axes())
    (whole,) = curves(ax, "mixture")
    assert whole[:, 1].max() < 2.5 * bars(ax)[0].max()
    for n, least, most in ((9, 8, 8), (400, 2 * 20, 80), (100_000, 80, 80)):
        heights, _ = bars(plot.histogram(stats.norm.ppf((np.arange(n) + 0.5) / n), ax=axes()))
        assert least <= len(heights) <= most


def test_pictures_of_one_value_and_of_equal_values() -> None:
    for values in ([2.0], [2.0] * 5, [0.0, 0.0], [1e300, 1e300, 3e299], [1e-300, 0.0], [0.0, 5e-324]):
        for picture in (
            plot.histogram(values, ax=axes()), plot.cdfs({"a": values}, ax=axes()), plot.order(values, ax=axes())
        ):  # fmt: skip
            (low, high), ends = picture.get_xlim(), picture.get_ylim()
            assert all(math.isfinite(limit) for limit in (low, high, *ends))
            assert low < high
            assert picture.get_xlabel() == "run" or low <= min(values) <= max(values) <= high


def test_a_violin_against_its_densities() -> None:
    """Kernels at the left, the mixture at the right in one scale, each as wide as told; half of all in the bar."""
    many = MODEL.rvs(1000, seed=4)
    samples = {"old": X, "it's $new": np.append(many + 1, [900.0, 900.0]), "flat": np.full(5, 11.0)}
    models = [MODEL, MixtureModel([1.0], [12.0], [2.0]), None]
    ax: Any = plot.violins(samples, models, ax=axes(), axis="ms", title="t")
    low, high = ax.get_ylim()
    span = max(many.max() + 1, X.max()) - min(X.min(), many.min() + 1)
    assert high - low == pytest.approx(1.4 * span)
    assert words(ax.get_xticklabels()) == ["old", "it's \\$new\n(2 not drawn)", "flat"]
    sides = [np.asarray(c.get_paths()[0].vertices) for c in ax.collections if isinstance(c, PolyCollection)]
    for place, (x, model) in enumerate(zip(samples.values(), models, strict=True)):
        left, right = sides[2 * place : 2 * place + 2]
        colours = [to_hex(c.get_facecolor()[0]) for c in ax.collections[2 * place : 2 * place + 2]]
        assert colours == [canvas.GREY, canvas.GREY if model is None else canvas.BLUE]
        assert left[:, 0].max() == right[:, 0].min() == place
        reach = max(place - left[:, 0].min(), right[:, 0].max() - place)
        assert 0.4 <= reach < 0.45
        if model is None:
            assert left[:, 0].min() + right[:, 0].max() == pytest.approx(2 * place)
            continue
        shape = right[right[:, 0] > place + 0.01]
        least = (high - low) / 120
        wide = MixtureModel(model.weights, model.means, np.hypot(model.sds, least))
        ratio = (shape[:, 0] - place) / wide.pdf(shape[:, 1])
        np.testing.assert_allclose(ratio, ratio[0], rtol=1e-6)
        inside = x[x < 100]
        shape = left[left[:, 0] < place - 0.01]
        density = kernel_density(inside, shape[:, 1], least=least) * inside.size / x.size
        np.testing.assert_allclose((place - shape[:, 0]) / density, ratio[0], rtol=1e-6)
        here = [line for line in ax.lines if {*line.get_xdata()} == {place}]
        (bar,) = [line for line in here if line.get_linewidth() > 1.5]
        assert np.asarray(bar.get_ydata()).tolist() == np.quantile(x, [0.25, 0.75]).tolist()
        (ticks,) = [line for line in here if line.get_marker() == "_"]
        assert (len(ticks.get_ydata()), max(ticks.get_ydata())) == (min(inside.size, 400), inside.max())
    dots = [np.asarray(line.get_xydata())[0].tolist() for line in ax.lines if line.get_marker() == "o"]
    assert dots == [[place, np.median(x)] for place, x in enumerate(samples.values())]
    assert (-1 < ax.get_xlim()[0] < -0.5, 2.5 < ax.get_xlim()[1] < 3, ax.get_ylabel()) == (True, True, "ms")
    assert words(ax.texts) == ["grey: kernels, blue: mixture; sharp peaks are widened"]
    assert words(plot.violins({"alone": [3.0]}, ax=axes()).texts) == ["sharp peaks are widened"]
    shown: list[Any] = [plot.violins({str(k): X for k in range(n)}).figure for n in (1, 2, 5, 12)]
    widths = [figure.get_size_inches()[0] for figure in shown]
    assert widths == sorted(widths)
    assert 4 < widths[0] < 5 < 12 < widths[-1] < 14
    for names, turned in ((["short", "a name of fifteen"], True), ("abcdefgh", False), ("abcdefghi", True)):
        some = plot.violins(dict.fromkeys(names, X[:9]), ax=axes()).get_xticklabels()
        assert {label.get_rotation() > 0 for label in some} == {turned}


def test_states_of_runs_by_two_metrics() -> None:
    """Points of each state in its colour, an ellipse at two deviations, of logarithms where all are above 0."""
    rng = np.random.default_rng(3)
    state = (rng.random(200) < 0.3).astype(int)
    time = np.exp(rng.normal(0.0, 0.1, 200)) * (1 + state)
    faults = rng.poisson(3.0, 200) + 100.0 * state
    runs = {"old": (time, faults, state), "new": (2 * time, faults + 1, 1 - state)}
    figure = plot.ellipses(runs, axes=("ms", "#"))
    assert len(figure.axes) == 2
    for ax, (of, counts, states) in zip(figure.axes, runs.values(), strict=True):
        assert (ax.get_xscale(), ax.get_yscale(), ax.get_ylabel()) == ("log", "linear", "#")
        for k in (0, 1):
            mine = states == k
            share = f"{100 * mine.mean():.0f} % of runs"
            (points,), (ellipse,) = (
                [line for line in ax.lines if line.get_label() == label] for label in (share, f"_{share}")
            )
            assert points.get_color() == ellipse.get_color()
            assert np.asarray(points.get_xydata()).tolist() == np.transpose([of[mine], counts[mine]]).tolist()
            x, y = np.asarray(ellipse.get_xydata()).T
            logs = np.log(of[mine])
            along = (np.log(x) - logs.mean()) / logs.std()
            up = (y - counts[mine].mean()) / counts[mine].std()
            np.testing.assert_allclose(along**2 + up**2, 4.0)
            assert along.max() == pytest.approx(2.0, rel=1e-3)
    assert [ax.get_xlabel() for ax in figure.axes] == ["", "ms"]
    assert figure.get_size_inches()[1] > 2 * 2


def test_what_is_drawn_can_be_seen_and_read() -> None:
    """On paper and on a screen: lines of half a point to three, marks of one to seven, text of seven to ten.

    What is written beside the ticks lies inside the picture, and none of it on another.
    """
    two, models = {"old": X, "new": 0.9 * X}, [MODEL, MODEL]
    many = np.random.default_rng(1).normal(10.0, 1.0, 20_001)
    forests = [plot.forest(compared(NEAR * k), ax=axes(), title="t") for k in (1, 5)]
    drawn: list[Any] = [
        plot.histogram(X, MODEL, ax=axes()), plot.density(two, ax=axes()), plot.violins(two, models, ax=axes()),
        plot.cdfs({"old": X}, [MODEL], ax=axes()), plot.cdfs(two, ax=axes()), plot.order(X, MODEL, ax=axes()),
        plot.qq(X, ax=axes()), *plot.histograms(two, models, axis="ms", title="t").axes, *forests,
        *(draw(some, ax=axes()) for draw in (plot.order, plot.qq) for some in (many, many[1:], many[:501])),
        plot.histogram([*X, 900.0, -900.0], MODEL, ax=axes(), axis="ms", title="t"),
        *plot.ellipses({"old": (X, X, MODEL.labels(X)), "new": (X, X, MODEL.labels(X))}, title="t").axes,
        *plot.ellipses({"old": (X, X, MODEL.labels(X))}).axes,
    ]  # fmt: skip
    for ax in drawn:
        for line in ax.lines:
            assert 0.5 <= line.get_linewidth() <= 2
            few = line.get_marker() == "None" or len(line.get_xdata()) <= 500
            least, most = (3, 7) if few else (1.5, 3)
            assert least <= line.get_markersize() <= most
            assert line.get_markeredgewidth() <= 1
            assert (line.get_alpha() or 1.0) >= 0.5
            assert line.get_rasterized() is (len(line.get_xdata()) > 20_000), "so many marks would be slow"
        assert not any(np.any(c.get_linewidth()) for c in ax.collections if isinstance(c, PolyCollection))
        bottom = 0.0 if ax.get_yscale() == "linear" and len(curves(ax, "_rug")) else ax.get_ylim()[0]
        assert ax.get_ylim()[0] == bottom
        bars = 2 if ax is drawn[2] else 0  # the middle halves of two violins
        assert len([line for line in ax.lines if line.get_linewidth() > 1.6]) == bars
        legend = ax.get_legend()
        shown = [*ax.texts, *([] if legend is None else legend.get_texts()), *ax.get_xticklabels()]
        least = 7 if len(ax.figure.axes) > 1 else 8
        assert all(least <= float(text.get_fontsize()) <= 10 for text in (*shown, ax.xaxis.label))
        small = 6 if ax is forests[1] else 8  # of 45 names
        assert all(small <= float(text.get_fontsize()) <= 9 for text in ax.get_yticklabels())
        assert not ax.spines["top"].get_visible()
        assert not ax.spines["right"].get_visible()
    assert drawn[0].figure.get_figwidth() / drawn[0].figure.get_figheight() == pytest.approx(1.6)
    for figure in dict.fromkeys(ax.figure for ax in drawn):
        figure.draw_without_rendering()
        ticks = {label for ax in figure.axes for of in (ax.xaxis, ax.yaxis) for label in of.get_ticklabels()}
        written = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
        boxes = [text.get_window_extent() for text in written if text not in ticks]
        right, top = figure.bbox.x1 + 1, figure.bbox.y1 + 1
        assert all(min(box.x0, box.y0) >= -1 and box.x1 <= right and box.y1 <= top for box in boxes)
        assert not any(min(a.x1, b.x1) - max(a.x0, b.x0) > 1 < min(a.y1, b.y1) - max(a.y0, b.y0)
                       for a, b in combinations(boxes, 2))  # fmt: skip

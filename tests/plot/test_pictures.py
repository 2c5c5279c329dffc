"""Pictures: they show the numbers that were given, in every format, and say what is missing."""

import math
import struct
import tomllib
from collections.abc import Iterable
from itertools import combinations, pairwise
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
    filled = [c.get_paths()[0].vertices for c in ax.collections if isinstance(c, PolyCollection)]
    for area, edge in zip(filled, components, strict=True):
        assert {*map(tuple, edge.tolist())} <= {*map(tuple, np.asarray(area).tolist())}
    assert len(components) == 2
    assert {10.0, 14.0} <= {*whole[:, 0].tolist()}  # no peak is cut off
    assert (*whole[[0, -1], 0],) == ax.get_xlim()
    assert all(0.0 < height < 0.1 for height in rug[:, 1])  # of the axes
    np.testing.assert_allclose(sum(c[:, 1] for c in components), whole[:, 1], rtol=1e-9)
    np.testing.assert_allclose(MODEL.pdf(whole[:, 0]), whole[:, 1], rtol=1e-9)
    shown = words(legend_of(ax).get_texts())
    assert shown == ["component 1: 60 % at 10", "component 2: 40 % at 14", "mixture"]
    alone = plot.histogram(X, MixtureModel([1.0], [11.0], [2.0]), ax=axes())
    assert words(legend_of(alone).get_texts()) == ["normal distribution"]
    x = np.random.default_rng(1).normal(size=20_000)  # whose rug alone is thinned
    ax = plot.histogram(x, ax=axes())
    (rug,) = curves(ax, "_rug")
    inside = x[(x >= plot.window(x)[0]) & (x <= plot.window(x)[1])]
    np.testing.assert_allclose(rug[:, 0], np.quantile(inside, np.arange(500) / 499))


def test_a_few_values_far_out_are_counted_and_not_drawn() -> None:
    """The bars hold the share of the values inside the axis; a line counts those beyond."""
    x = np.concatenate([X, [60.0, 140.0, -90.0]])
    ax = plot.histogram(x, MODEL, ax=axes())
    assert ax.get_xlim() == canvas.widened((X.min(), X.max()))
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
    low, high = canvas.widened((X.min() - 3, X.max()))
    for ax, (name, x) in zip(figure.axes, samples.items(), strict=True):
        assert ax.get_xlim() == (low, high)
        assert ax.get_title("left") == f"{name}: n = {x.size}, median {np.median(x):.4g}"
        out = int(np.sum((x < low) | (x > high)))
        assert len(ax.texts) == bool(out)
        assert area_of_bars(ax) == pytest.approx(1 - out / x.size)
        assert not any(ax.spines[side].get_visible() for side in ("left", "top", "right"))
        assert (ax.get_legend() is not None) == (name != "flat")
    assert [ax.get_xlabel() for ax in figure.axes] == ["", "", "time (ms)"]
    assert len({ax.get_ylim()[1] for ax in figure.axes}) == 2
    alone = plot.histograms(samples, [MixtureModel([1.0], [11.0], [2.0]), None, None])
    assert [ax.get_legend() for ax in alone.axes] == [None] * 3
    with pytest.raises(ValueError, match="zip"):
        plot.histograms(samples, [MODEL])
    note = "each panel is as high as its highest place"
    assert [words(of.texts) for of in (figure, alone)] == [[f"t\n{note}"], [note]]


def test_panels_have_the_height_that_they_need() -> None:
    """A panel of a picture with its axis takes an inch or two, more where its legend does."""
    nine = MixtureModel(np.full(9, 1 / 9), np.arange(9.0), np.full(9, 0.1))
    of_models = [(lambda names, model=model: plot.histograms(dict.fromkeys(names, X), [model] * len(names)))
                 for model in (None, MODEL, nine)]  # fmt: skip
    draws: Any = [*of_models, lambda names: plot.ellipses(dict.fromkeys(names, (X, X, X > 12)))]
    for draw, most in zip(draws, (2.0, 2.0, 3.0, 3.0), strict=True):
        one, two, three = (draw(names).get_size_inches() for names in ("a", "ab", "abc"))
        each = two[1] - one[1]
        assert (three[1] - two[1], {one[0], two[0]}) == (pytest.approx(each), {6.4})
        assert most - 1.0 < each < most
        assert 0.5 < one[1] - each < 1.5


def test_a_legend_covers_no_curve() -> None:
    """It stands beside the axes, of one panel and of many, whatever the number of components."""
    many = MixtureModel(np.full(9, 1 / 9), np.arange(9.0), np.full(9, 0.1))
    x = many.rvs(200, seed=2)
    two: Any = {"a": x, "b": x + 1}
    drawn = [plot.histogram(x, many, ax=axes()), plot.order(x, many, ax=axes()), plot.density(two, ax=axes()),
             plot.cdfs(two, ax=axes()), *plot.histograms({**two, "c": x}, [many] * 3).axes]  # fmt: skip
    for figure in dict.fromkeys(ax.figure for ax in drawn):
        figure.draw_without_rendering()  # type: ignore[union-attr]
    for ax in drawn:
        panel, legend = ax.get_window_extent(), legend_of(ax).get_window_extent()
        assert 0 <= legend.x0 - panel.x1 < 5 > abs(legend.y1 - panel.y1)
        assert legend.height < panel.height or len(ax.figure.axes) == 1
        assert not legend_of(ax).get_frame_on()
    alone = plot.histogram(X, MODEL, ax=Figure().add_subplot())
    alone.figure.draw_without_rendering()  # type: ignore[union-attr]
    inside = legend_of(alone).get_window_extent().x1 <= alone.bbox.x1
    assert inside, "a figure without a layout has no room beside it"


def test_densities_of_versions_and_their_normal_fits() -> None:
    """Kernels of area one around every value; dashed the normal law of mean and deviation, against scipy."""
    samples = {"old": X, "new": X[:60] + 1.0, "two": np.array([11.9, 12.1])}
    ax = plot.density(samples, ax=axes(), axis="time (ms)", title="t")
    for name, x in samples.items():
        (line,) = curves(ax, f"{name} ({x.size} runs)")
        assert trapezoid(line[:, 1], line[:, 0]) == pytest.approx(1.0, abs=1e-3)
        assert trapezoid(line[:, 0] * line[:, 1], line[:, 0]) == pytest.approx(x.mean(), rel=1e-3)
    told = [f"{n} ({x.size} runs)" for n, x in samples.items()]
    assert words(legend_of(ax).get_texts()) == [*told, "normal fit of the runs drawn"]
    grid = curves(ax, "_normal")[0][:, 0]
    spread = max(X.max(), X[:60].max() + 1) - X.min()
    assert (*grid[[0, -1]],) == ax.get_xlim() == (X.min() - 0.2 * spread, grid[-1])
    assert np.isclose(grid, grid[[0, -1]].mean(), rtol=1e-12).any()  # no peak in the middle is cut off
    for line, x in zip(curves(ax, "_normal"), samples.values(), strict=True):
        expected = stats.norm(x.mean(), x.std(ddof=1)).pdf(line[:, 0])
        np.testing.assert_allclose(line[:, 1], expected, rtol=1e-9)
    assert ax.get_ylim()[0] == 0.0 < ax.get_ylim()[1]
    far = plot.density({"a": np.append(X, 900.0), "b": X}, ax=axes())
    assert words(far.texts) == ["a: 1 of 121 values, up to 900, lies beyond the axis and is not drawn"]
    flat = plot.density({"a": np.full(5, 2.0), "one": np.array([3.0])}, ax=axes())
    for at, normal, name in zip((2, 3), curves(flat, "_normal"), ("a (5 runs)", "one (1 run)"), strict=True):
        narrow = stats.norm(at, np.ptp(flat.get_xlim()) / 120).pdf(normal[:, 0])
        np.testing.assert_allclose(normal[:, 1], narrow, atol=1e-12)
        np.testing.assert_allclose(curves(flat, name)[0], normal, atol=1e-12)


def test_distribution_functions_of_versions_share_axes() -> None:
    samples = {"old": X, "new": X[:60] + 1.0}
    ax = plot.cdfs(samples, [MODEL, None], ax=axes(), axis="time (ms)")
    for name, x in samples.items():
        (line,) = curves(ax, f"{name} ({x.size} runs)")
        np.testing.assert_allclose(line[1:-1, 1], stats.ecdf(x).cdf.evaluate(line[1:-1, 0]))
        assert (*line[[0, -1], 0], *line[[0, -1], 1]) == (*ax.get_xlim(), 0.0, 1.0)
    assert ax.get_ylim() == (0.0, 1.0)
    assert words(legend_of(ax).get_texts()) == ["old (120 runs)", "new (60 runs)", "mixture"]
    (mixture,) = curves(ax, "_mixture")
    np.testing.assert_allclose(mixture[:, 1], MODEL.cdf(mixture[:, 0]))
    for narrow in (1e-4, 1.0, 100.0):  # every component has its places, a tenth of its deviation apart
        model = MixtureModel([0.5, 0.5], [11.0, 12.0], [1.0, narrow])
        (mixture,) = curves(plot.cdfs({"a": X}, [model], ax=axes()), "_mixture")
        near = mixture[abs(mixture[:, 0] - 12.0) < 4.01 * narrow, 0]
        assert mixture[0, 0] == near[0] or near[0] == pytest.approx(12.0 - 4 * narrow)
        assert mixture[-1, 0] == near[-1] or near[-1] == pytest.approx(12.0 + 4 * narrow)
        assert np.diff(near).max() < 0.11 * narrow
    ax = plot.cdfs({str(k): [1.0, 2.0 + k] for k in range(28)}, ax=axes())  # more versions than colours
    looks = [(line.get_color(), line.get_linestyle()) for line in ax.get_lines()]
    assert (len({*looks}), looks[0]) == (27, looks[27])
    assert len(legend_of(ax).get_texts()) == 28


def test_run_order_keeps_the_order_and_marks_components() -> None:
    ax = plot.order(X, MODEL, ax=axes())
    runs = np.column_stack([np.arange(1, X.size + 1), X])
    for k in range(2):
        (points,) = curves(ax, f"component {k + 1}: {np.sum(MODEL.labels(X) == k)} runs")
        assert points.tolist() == runs[MODEL.labels(X) == k].tolist()
    ten = MixtureModel(np.full(10, 0.1), 10.0 * np.arange(10), np.full(10, 0.5))
    lines = plot.order(ten.rvs(200, 1), ten, ax=axes()).lines
    for looks in ([line.get_marker() for line in lines], [line.get_color() for line in lines]):
        assert (len({*looks[:9]}), looks[0]) == (9, looks[9])
    ((median,),) = [curves(ax, "median")]
    assert median[:, 1].tolist() == [np.median(X)] * 2
    low, high = ax.get_ylim()
    assert 0.0 < X.min() - low < 0.05 * np.ptp(X)
    assert high - X.max() == pytest.approx(X.min() - low)
    alone = MixtureModel([1.0], [11.0], [2.0])
    legends = [plot.order(X, model, ax=axes()).get_legend() is not None for model in (None, alone, MODEL)]
    assert legends == [False, False, True]
    for n in (1, 2, 5, 40):
        ax = plot.order(np.arange(1.0, n + 1), ax=axes())
        assert {float(t) % 1 for t in ax.get_xticks()} == {0.0}


def test_a_probability_plot_is_straight() -> None:
    """Every value stands on its axis; the p-value is that of Lilliefors' test of the logarithms."""
    rng = np.random.default_rng(5)
    for i in range(12):
        n = int(rng.integers(4, 80))
        x = np.exp(rng.normal(size=n)) if i % 2 else rng.exponential(size=n)
        ax = plot.qq(x, "log-normal", ax=axes())
        (points,) = [np.asarray(line.get_xydata()) for line in ax.lines if line.get_marker() == "o"]
        assert points[:, 1].tolist() == sorted(x.tolist())
        assert ax.get_yscale() == "log"
        blom = (np.arange(1, n + 1) - 0.375) / (n + 0.25)  # as R's ppoints(n, 3/8)
        np.testing.assert_allclose(points[:, 0], stats.norm.ppf(blom))
        (line,) = curves(ax, "log-normal")
        assert (*line[:, 0],) == (points[0, 0], points[-1, 0])
        logs = np.log(x)
        np.testing.assert_allclose(np.log(line[:, 1]), logs.mean() + logs.std(ddof=1) * line[:, 0])
        low, high = ax.get_ylim()
        drawn = np.log([*points[:, 1], *line[:, 1]])
        np.testing.assert_allclose(np.log([low, high]), canvas.widened((drawn.min(), drawn.max())))
        p = float(lilliefors(np.log(x)).pvalue)
        told = legend_of(ax).get_title().get_text().removeprefix("Lilliefors: p ")
        assert told == ("< 0.001" if p < 0.001 else f"= {p:.3f}")
    ax = plot.qq(X, ax=axes())
    drawn = np.concatenate([np.asarray(line.get_ydata(), float) for line in ax.lines])
    assert ax.get_ylim() == pytest.approx(canvas.widened((drawn.min(), drawn.max())))
    assert words(legend_of(ax).get_texts()) == ["normal"]
    for high, leading in ((10.0, "123456789"), (10.1, "125"), (9.9e3, "125"), (1e4, "1")):  # powers of ten
        ax.set(yscale="log", ylim=(1.0, high))
        canvas.plain_log_ticks(ax.yaxis)
        ticks = [tick for tick in ax.get_yticks() if 1 <= tick <= high]
        assert {f"{tick:.0e}"[0] for tick in ticks} == {*leading}
        assert words(ax.get_yticklabels())[-3:] == [f"{tick:g}" for tick in ax.get_yticks()][-3:]
        assert not len(ax.yaxis.get_minorticklocs())
    for value in (-1.0, 0.0):
        with pytest.raises(DataError, match=f"{value:g} is not positive"):
            plot.qq([value, 1.0, 2.0, 3.0], "log-normal", ax=axes())
    for tied in ([1.0, 2.0, 2.0, 2.0], [1.0, 1.0, 1.0, 2.0]):
        assert plot.qq(tied, ax=axes()).lines
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


def test_kernel_density_against_scipy() -> None:
    """Kernels as wide as is best for the densest part; of many values as near as the picture can show."""
    scores = stats.norm.ppf((np.arange(1000) + 0.5) / 1000)
    several = np.append(scores[::16], 2 * scores[::25] + 30)
    for few in ([0.0, 1.0], [1.0, 2.0, 3.0, 4.0, 5.0], [0.0, 0.0, 0.0, 1.0], [0.0] * 9 + [1.0], several,
                np.cumsum(range(9)), stats.norm.ppf((np.arange(1024) + 0.5) / 1024)):  # fmt: skip
        x = np.array(few)
        law = stats.gaussian_kde(x, width_of_kernels(x) / x.std(ddof=1))
        np.testing.assert_allclose(kernel_density(x, x), law(x), rtol=1e-9)
    skewed = np.exp(scores)  # turned round, or in another unit, the law is the same
    for factor in (-1.0, 8.0, 1e-200):
        turned = kernel_density(factor * skewed, factor * np.arange(0.1, 9.0)) * abs(factor)
        np.testing.assert_allclose(turned, kernel_density(skewed, np.arange(0.1, 9.0)), rtol=1e-6)
    # Of more values than cells, and cells as wide as kernels or less.
    far, grid = np.repeat(np.append(1.001 * scores, [128.0, -128.0]), 2), np.linspace(-30.0, 40.0, 141)
    for least in (0.5, 1.0, 2.0, 2.5, 8.0, 100.0):
        exact, error = stats.gaussian_kde(far, least / far.std(ddof=1))(grid), 2e-3 / least * (least > 1)
        np.testing.assert_allclose(kernel_density(far, grid, least=least), exact, atol=error + 1e-12)
    np.testing.assert_allclose(kernel_density(np.full(2000, 5.0), grid, least=0.01),
                               stats.norm(5.0, 0.01).pdf(grid), atol=1e-12)  # fmt: skip
    for unit in (1.0, 1e-3):  # 1025 values are counted in 1024 cells
        x = unit * np.append(scores, np.linspace(-1.0, 1.0, 25))
        weights, edges = np.histogram(x, 1024)
        counted = stats.gaussian_kde(0.5 * (edges[1:] + edges[:-1]), weights=weights)
        counted.set_bandwidth(0.3 * unit / np.sqrt(counted.covariance[0, 0]) * counted.factor)
        np.testing.assert_allclose(kernel_density(x, unit * grid, least=0.3 * unit), counted(unit * grid))
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
    for letters, lines in ((30, 2), (31, 3)):  # 64 or 65 letters of the axis, and the line below
        x, y = Sample(X, label="n" * 10), Sample(X, label="m" * (letters - 10))
        ax = plot.forest([compare_medians(x, y, Rules(), Key("b"))], ax=axes())
        assert len(ax.get_xlabel().split("\n")) == lines


def test_a_long_name_loses_its_middle() -> None:
    """More than 100 letters of a text, 40 of a name, and a title that is wider than its axes."""
    for most, written in (
        (100, canvas.plain), (40, lambda name: words(plot.violins({name: X}, ax=axes()).get_xticklabels())[0]),
        (40, lambda name: words(legend_of(plot.cdfs({name: X}, ax=axes())).get_texts())[0].split()[0]),
        (40, lambda name: words(plot.forest([structs.replace(compared(seen([2.0]))[0], benchmark=name)],
                                            ax=axes()).get_yticklabels())[0]),
    ):  # fmt: skip
        assert written("n" * most) == "n" * most
        shorter = written("a" + "n" * (most - 1) + "z")
        assert (len(shorter), shorter[0], shorter[most // 2], shorter[-1]) == (most, "a", "…", "z")
    ax = plot.histogram([*X, 900.0, -900.0], ax=axes(), title="as many words as there are in a row, " * 9)
    ax.figure.draw_without_rendering()  # type: ignore[union-attr]
    one, other = ax.texts
    (title,) = (text for text in ax.findobj(Text) if text.get_text() == ax.get_title("left"))
    assert 0.8 < title.get_window_extent().width / ax.bbox.width < 0.88
    boxes = [ax.bbox, *(text.get_window_extent() for text in (one, other, title))]
    for box, above in pairwise(boxes):
        assert 0 < (above.y0 - box.y1) / one.get_window_extent().height < 0.6
        assert above.x0 == pytest.approx(ax.bbox.x0, abs=1)


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
    assert ending != "png" or struct.unpack(">2I", one[16:24]) == (200 * 6.4, 200 * 4.0), "dots an inch"
    assert one == other
    assert ending != "html" or (b"<script" in one, b"<svg" in one) == (False, True), "needs no network"


def test_what_no_picture_is_written_as_is_refused_before() -> None:
    for path in ("a.bmp", "a", ".svg", "a.svg.gz"):
        with pytest.raises(UsageError, match=r"a picture is written as \.svg, \.png, \.pdf, \.html"):
            plot.save(axes(), path)
        for ending in ("svg", "PNG", "pdf", "Html"):
            canvas.check_output(f"{path}.{ending}")


def test_missing_matplotlib_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(canvas, "import_module", missing)
    for asked in (lambda: plot.histogram(X), lambda: plot.check_output("a.svg")):
        with pytest.raises(UsageError) as caught:
            asked()
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
    drawn = [line for line in ax.lines if len(line.get_xdata()) and np.isfinite(line.get_xdata()).all()]
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
    assert 1.0 < text.xyann[0] / marker.get_markersize() * (-1 if far > 1 else 1) < 2.0
    assert (text.xyann[1], text.get_va()) == (0, "center")
    counts = {"faster": 2, "slower": 3, "equivalent": 1, "undecided": 3}
    counts["faster" if far > 1 else "slower"] += 1
    legend = legend_of(ax)
    assert words(legend.get_texts()) == [f"{n} {verdict}" for verdict, n in counts.items()]
    shown = [(line.get_marker(), line.get_markersize(), line.get_color()) for line in legend.get_lines()]
    in_rows = [(shapes[of], canvas.MARK, colours[of]) for of in (FASTER, SLOWER, SAME, OPEN)]
    assert shown == in_rows
    assert {line.get_markersize() for line in drawn if line.get_marker() in "osD<>"} == {canvas.MARK}
    assert not any(tick.tick1line.get_visible() for tick in ax.yaxis.get_major_ticks())
    label = "speedup of new over old, right is faster\n(median; each bound holds at 95 %)"
    assert ax.get_xlabel() == label
    assert not any(ax.spines[side].get_visible() for side in ("left", "top", "right"))
    edges = [mark for mark in ax.lines if mark.get_marker() in ("<", ">")]
    assert [mark.get_clip_on() for mark in edges] == [False]
    ax.figure.draw_without_rendering()
    around, rows = legend.get_window_extent(), ax.get_window_extent()
    assert 0 <= around.y0 - rows.y1 < 10  # no row is covered
    assert abs(around.x1 - rows.x1) < 10
    assert len({text.get_window_extent().x0 for text in legend.get_texts()}) == 3


@pytest.mark.parametrize(("low", "high"), [
    (0.6, 2.0), (0.97, 1.02), (0.5, 3.0), (0.01, 3.0), (2e-3, 5.0), (1e-3, 90.0), (1e-30, 1e30), (1e-300, 1e300),
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
    sixth = np.diff(bars(ax)[1])[0] / 6  # a needle of a value is so wide, one deviation
    broad = stats.norm(12.0, 2.0).pdf(10.0) * 119 / 120
    assert whole[whole[:, 0] == 10.0, 1] == pytest.approx(stats.norm.pdf(0) / sixth / 120 + broad)
    assert bars(plot.histogram([2.0], ax=axes()))[1].tolist() == [1.5, 2.5]
    rng, near = np.random.default_rng(7), [0.5] * 60
    samples: list[Any] = [rng.normal(size=n) for n in (9, 30, 41, 100, 1000)]
    for x in (*samples, [*near, 0.0, 1.0], [0.0, *near, *near]):
        for unit in (1.0, 1e-3, 1e3):  # two a root of the runs, or as numpy has them by Freedman and Diaconis
            heights, _ = bars(plot.histogram(unit * np.array(x), ax=axes()))
            wanted = 80 if 0.5 in x else len(np.histogram_bin_edges(x, "fd")) - 1
            assert len(heights) == min(max(8, wanted, math.ceil(2 * len(x) ** 0.5)), 80)


def test_pictures_of_one_value_and_of_equal_values() -> None:
    for values in ([2.0], [2.0] * 5, [0.0, 0.0], [1e300, 1e300, 3e299], [1e-300, 0.0], [0.0, 5e-324]):
        for picture in (
            plot.histogram(values, ax=axes()), plot.cdfs({"a": values}, ax=axes()), plot.order(values, ax=axes())
        ):  # fmt: skip
            (low, high), ends = picture.get_xlim(), picture.get_ylim()
            assert all(math.isfinite(limit) for limit in (low, high, *ends))
            assert low < high
            assert picture.get_xlabel() == "run" or low <= min(values) <= max(values) <= high


def test_a_margin_is_a_share_of_the_values_or_of_a_single_one() -> None:
    for seen_, share, wide in (
        ((2.0, 12.0), 0.1, (1.0, 13.0)), ((5.0, 5.0), 0.2, (4.0, 6.0)), ((-5.0, -5.0), 0.2, (-6.0, -4.0)),
        ((0.0, 0.0), 0.2, (-0.5, 0.5)), ((0.0, 5e-324), 0.2, (-0.5, 0.5)), ((-1e-3, 1e-3), 0.5, (-2e-3, 2e-3)),
    ):  # fmt: skip
        assert canvas.widened(seen_, share) == pytest.approx(wide)
    assert canvas.widened((0.0, 100.0)) == (-2.0, 102.0)


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
    sides = [np.concatenate([np.asarray(path.vertices) for path in c.get_paths()])
             for c in ax.collections if isinstance(c, PolyCollection)]  # fmt: skip
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
        assert right[:, 1].min() <= (model.means - 1.9 * model.sds).min()
        assert right[:, 1].max() >= (model.means + 1.9 * model.sds).max()
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
        values = sorted(inside) if inside.size < 500 else np.quantile(inside, np.arange(500) / 499)
        np.testing.assert_allclose(sorted(ticks.get_ydata()), values)
    dots = [np.asarray(line.get_xydata())[0].tolist() for line in ax.lines if line.get_marker() == "o"]
    assert dots == [[place, np.median(x)] for place, x in enumerate(samples.values())]
    parted = plot.violins({"a": [*range(9), *range(200, 209)], "b": [99, 101]}, ax=axes())
    pieces = [len(c.get_paths()) for c in parted.collections if isinstance(c, PolyCollection)]
    assert pieces == [2, 2, 1, 1]  # nothing is drawn where there is nothing
    assert (-1 < ax.get_xlim()[0] < -0.5, 2.5 < ax.get_xlim()[1] < 3, ax.get_ylabel()) == (True, True, "ms")
    assert words(ax.texts) == ["grey: kernels, blue: mixture; sharp peaks are widened"]
    assert words(plot.violins({"alone": [3.0]}, ax=axes()).texts) == ["sharp peaks are widened"]
    shown: list[Any] = [plot.violins({str(k): X for k in range(n)}).figure for n in (1, 2, 5, 12)]
    widths = [figure.get_size_inches()[0] for figure in shown]
    assert widths == sorted(widths)
    assert 4 < widths[0] < 5 < 15 < widths[-1] < 16
    level, turned = (False, "center"), (True, "right")
    for names, way in (
        ("abcdefgh", level),
        ("abcdefghi", turned),
        (["n" * 14], level),
        (["m", "n" * 15], turned),
    ):
        some = plot.violins(dict.fromkeys(names, X[:9]), ax=axes()).get_xticklabels()
        assert {(label.get_rotation() > 0, label.get_horizontalalignment()) for label in some} == {way}


def test_states_of_runs_by_two_metrics() -> None:
    """Points of each state in its colour, an ellipse at two deviations, of logarithms where all are above 0."""
    rng = np.random.default_rng(3)
    state = (rng.random(200) < 0.3).astype(int)
    time = np.exp(rng.normal(0.0, 0.1, 200)) * (1 + state)
    faults = rng.poisson(3.0, 200) + 100.0 * state
    old, new = (time, faults, state), (2 * time, faults + 1, 1 - state)
    runs = {"old": old, "new": new, "as old": old}
    figure = plot.ellipses(runs, axes=("ms", "#"))
    for ax, (of, counts, states) in zip(figure.axes, runs.values(), strict=True):
        assert (ax.get_xscale(), ax.get_yscale(), ax.get_ylabel()) == ("log", "linear", "#")
        for k in (0, 1):
            mine = states == k
            share = f"{100 * mine.mean():.0f} % of runs"
            (points,), (ellipse,) = (
                [line for line in ax.lines if line.get_label() == label] for label in (share, f"_{share}")
            )
            assert points.get_color() == ellipse.get_color() == canvas.COLOURS[k]
            assert np.asarray(points.get_xydata()).tolist() == np.transpose([of[mine], counts[mine]]).tolist()
            x, y = np.asarray(ellipse.get_xydata()).T
            logs = np.log(of[mine])
            along = (np.log(x) - logs.mean()) / logs.std()
            up = (y - counts[mine].mean()) / counts[mine].std()
            np.testing.assert_allclose(along**2 + up**2, 4.0)
            ends = [end for way in (along, up) for end in (way.min(), way.max())]
            np.testing.assert_allclose(ends, [-2.0, 2.0] * 2)
            assert (x[0], y[0]) == pytest.approx((x[-1], y[-1]))
    assert all(float(tick) >= 0.0 for tick in words(figure.axes[-1].get_xticklabels()))
    assert [ax.get_xlabel() for ax in figure.axes] == ["", "", "ms"]
    assert len({(ax.get_xlim(), ax.get_ylim()) for ax in figure.axes}) == 1


def test_what_is_drawn_can_be_seen_and_read() -> None:
    """On paper and on a screen: lines of a point to two, marks of four or five, half that if many, text of eight.

    What is written beside the ticks lies inside the picture, and none of it on another.
    """
    two, models = {"old": X, "new": 0.9 * X}, [MODEL, MODEL]
    many = np.random.default_rng(1).normal(10.0, 1.0, 20_001)
    of_many = [
        draw(many[:n], ax=axes()) for draw in (plot.order, plot.qq) for n in (500, 501, 20_000, 20_001)
    ]
    forests = [plot.forest(compared(NEAR * k), ax=axes(), title="t") for k in (1, 5)]
    drawn: list[Any] = [
        plot.histogram(X, MODEL, ax=axes()), plot.density(two, ax=axes()), plot.violins(two, models, ax=axes()),
        plot.cdfs({"old": X}, [MODEL], ax=axes()), plot.cdfs(two, ax=axes()), plot.order(X, MODEL, ax=axes()),
        plot.qq(X, ax=axes()), *plot.histograms(two, models, axis="ms", title="t").axes, *forests,
        plot.histogram([*X, 900.0, -900.0], MODEL, ax=axes(), axis="ms", title="t"),
        *plot.ellipses({"old": (X, X, MODEL.labels(X)), "new": (X, X, MODEL.labels(X))}, title="t").axes,
        *plot.ellipses({"old": (X, X, MODEL.labels(X))}).axes,
    ]  # fmt: skip
    for ax in (*drawn, *of_many):
        for line in ax.lines:
            assert 0.5 <= line.get_linewidth() <= 2
            few = line.get_marker() == "None" or len(line.get_xdata()) <= 500
            least, most = (4, 5) if few else (2, 2.5)
            assert line.get_marker() == "None" or least <= line.get_markersize() <= most
            assert 0 <= line.get_markeredgewidth() <= 1
            assert (line.get_alpha() or 1.0) >= 0.5
            assert line.get_rasterized() is (len(line.get_xdata()) > 20_000), "so many marks would be slow"
        assert not any(np.any(c.get_linewidth()) for c in ax.collections if isinstance(c, PolyCollection))
        assert ax.get_ylim()[0] == 0.0 or not curves(ax, "_rug")
        bars = 2 if ax is drawn[2] else 0  # the middle halves of two violins
        assert len([line for line in ax.lines if line.get_linewidth() > 1.6]) == bars
        legend = ax.get_legend()
        small = [*ax.texts, *ax.get_xticklabels(), *ax.get_yticklabels(), *ax.figure.texts]
        small += [] if legend is None else legend.get_texts()
        assert all(7.5 <= float(text.get_fontsize()) <= 8.5 for text in small)
        assert all(float(text.get_fontsize()) == 10 for text in (ax.xaxis.label, ax.yaxis.label))
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

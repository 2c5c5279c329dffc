"""Pictures: they show the numbers that were given, in every format, and say what is missing."""

import math
import tomllib
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import trapezoid
from tests.protocols.asking import compare_medians

import speedproof as sp
from speedproof import plot
from speedproof.data.sample import Sample
from speedproof.data.suite import Key
from speedproof.errors import DataError, UsageError
from speedproof.mixture.goodness import ks_distance
from speedproof.mixture.model import MixtureModel
from speedproof.plot import canvas
from speedproof.plot.canvas import kernel_density
from speedproof.protocols.pair import Rules
from speedproof.protocols.results import Comparison, Verdict
from speedproof.stats.normality import lilliefors

pytest.importorskip("matplotlib")
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.patches import StepPatch

MODEL = MixtureModel([0.6, 0.4], [10.0, 14.0], [0.3, 0.5])
X = MODEL.rvs(120, seed=1)


def axes() -> Axes:
    return canvas.new_figure().add_subplot()


def area_of_bars(ax: Axes) -> float:
    (steps,) = [patch for patch in ax.patches if isinstance(patch, StepPatch)]
    heights, edges, _ = steps.get_data()
    return float(np.sum(np.asarray(heights) * np.diff(edges)))


def curves(ax: Axes, label: str) -> list[np.ndarray]:
    return [np.asarray(line.get_xydata()) for line in ax.lines if line.get_label() == label]


def texts(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.texts]


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
    legend = ax.get_legend()
    assert legend is not None
    shown = [text.get_text() for text in legend.get_texts()]
    assert shown == ["component 1: 60 % at 10", "component 2: 40 % at 14", "mixture"]


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
    assert set(texts(ax)) == said
    assert set(texts(plot.ecdf(x, MODEL, ax=axes()))) == said
    assert texts(plot.histogram(X, MODEL, ax=axes())) == []


def test_versions_are_compared_on_one_axis() -> None:
    """All panels span the same values, each counts what lies beyond, and the first one's median is in each."""
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
        assert len(texts(ax)) == bool(out)
        assert area_of_bars(ax) == pytest.approx(1 - out / x.size)
        assert any(np.asarray(line.get_xdata())[0] == np.median(X) for line in ax.lines)
        assert any(np.asarray(line.get_xdata())[0] == np.median(x) for line in ax.lines)
    assert [ax.get_xlabel() for ax in figure.axes] == ["", "", "time (ms)"]


def test_a_needle_does_not_flatten_the_bars() -> None:
    """A component of a single value would be thousands of times as high as any bar."""
    ax = plot.histogram(X, MixtureModel([1 / 120, 119 / 120], [10.0, 12.0], [1e-6, 2.0]), ax=axes())
    (steps,) = [patch for patch in ax.patches if isinstance(patch, StepPatch)]
    (whole,) = curves(ax, "mixture")
    assert whole[:, 1].max() < 2.5 * np.asarray(steps.get_data()[0]).max()


def legends_apart(figure: Figure) -> bool:
    """Whether every legend lies beside all axes, drawn as a file is."""
    figure.draw_without_rendering()
    legends = [legend.get_window_extent() for ax in figure.axes if (legend := ax.get_legend()) is not None]
    assert legends
    inside = figure.bbox.x1
    boxes = [ax.get_window_extent() for ax in figure.axes]
    return all(box.x1 <= legend.x0 and legend.x1 <= inside + 1 for legend in legends for box in boxes)


@pytest.mark.slow
def test_a_legend_covers_no_curve() -> None:
    """It stands beside the axes, of one panel and of many, whatever the number of components."""
    many = MixtureModel(np.full(9, 1 / 9), np.arange(9.0), np.full(9, 0.1))
    x = many.rvs(200, seed=2)
    for draw in (plot.histogram, plot.run_order):
        ax = draw(x, many, ax=axes())
        assert legends_apart(ax.figure)  # type: ignore[arg-type]
    assert legends_apart(plot.histograms({f"v{k}": x for k in range(4)}, [many] * 4))
    for ax in (plot.density({"a": x, "b": x + 1}, ax=axes()), plot.ecdfs({"a": x, "b": x + 1}, ax=axes())):
        assert legends_apart(ax.figure)  # type: ignore[arg-type]
    alone = Figure().add_subplot()
    plot.histogram(X, MODEL, ax=alone)
    alone.figure.draw_without_rendering()  # type: ignore[union-attr]
    legend = alone.get_legend()
    assert legend is not None
    assert legend.get_window_extent().x1 <= alone.bbox.x1, "a figure without a layout has no room beside it"


def test_densities_of_versions_and_their_normal_fits() -> None:
    """Kernels of area one around every value; dashed the normal law of mean and deviation, against scipy."""
    samples = {"old": X, "new": X[:60] + 1.0}
    ax = plot.density(samples, ax=axes(), axis="time (ms)", title="t")
    for curve, x in zip((f"{n} ({x.size} runs)" for n, x in samples.items()), samples.values(), strict=True):
        ((line,),) = [curves(ax, curve)]
        assert trapezoid(line[:, 1], line[:, 0]) == pytest.approx(1.0, abs=1e-3)
        assert trapezoid(line[:, 0] * line[:, 1], line[:, 0]) == pytest.approx(x.mean(), rel=1e-3)
    for line, x in zip(curves(ax, "_normal"), samples.values(), strict=True):
        expected = stats.norm(x.mean(), x.std(ddof=1)).pdf(line[:, 0])
        np.testing.assert_allclose(line[:, 1], expected, rtol=1e-9)
    assert texts(plot.density({"a": np.append(X, 900.0), "b": X}, ax=axes())) == [
        "a: 1 of 121 values, up to 900, lies beyond the axis and is not drawn"
    ]
    flat = plot.density({"a": np.full(5, 2.0), "one": np.array([3.0])}, ax=axes())
    assert np.isfinite(np.concatenate(curves(flat, "_normal"))).all()


def test_distribution_functions_of_versions_share_axes() -> None:
    samples = {"old": X, "new": X[:60] + 1.0}
    ax = plot.ecdfs(samples, [MODEL, None], ax=axes(), axis="time (ms)")
    for name, x in samples.items():
        (line,) = curves(ax, f"{name} ({x.size} runs)")
        np.testing.assert_allclose(line[1:-1, 1], stats.ecdf(x).cdf.evaluate(line[1:-1, 0]))
        assert (*line[[0, -1], 0], *line[[0, -1], 1]) == (*ax.get_xlim(), 0.0, 1.0)
    assert ax.get_ylim() == (0.0, 1.0)
    (mixture,) = curves(ax, "_mixture")
    np.testing.assert_allclose(mixture[:, 1], MODEL.cdf(mixture[:, 0]))


def test_large_samples_are_thinned_in_the_rug_only() -> None:
    x = np.random.default_rng(1).normal(size=20_000)
    ax = plot.histogram(x, ax=axes())
    (rug,) = curves(ax, "_rug")
    assert rug.shape[0] == 5000
    assert {rug[:, 0].min(), rug[:, 0].max()} == set(plot.window(x))
    assert area_of_bars(ax) == pytest.approx(1.0, abs=1e-3)


def test_the_marked_distance_is_that_of_the_goodness_of_fit() -> None:
    (mark,) = curves(plot.ecdf(X, MODEL, ax=axes()), f"largest distance {ks_distance(X, MODEL):.3f}")
    assert abs(mark[0, 1] - mark[1, 1]) == pytest.approx(ks_distance(X, MODEL))


def test_run_order_keeps_the_order_and_marks_components() -> None:
    ax = plot.run_order(X, MODEL, ax=axes())
    points = np.concatenate([line.get_xydata() for line in ax.lines if "component" in str(line.get_label())])
    points = points[np.argsort(points[:, 0])]
    assert points[:, 1].tolist() == X.tolist()
    assert points[:, 0].tolist() == list(range(1, X.size + 1))
    for k in range(2):
        (line,) = curves(ax, f"component {k + 1}: {np.sum(MODEL.labels(X) == k)} runs")
        assert set(line[:, 1]) == set(X[MODEL.labels(X) == k])
    for n in (1, 2, 5, 40):
        ax = plot.run_order(np.arange(1.0, n + 1), ax=axes())
        assert {float(t) % 1 for t in ax.get_xticks()} == {0.0}


def test_a_probability_plot_is_straight_and_its_band_is_lilliefors_test() -> None:
    """Points leave the band exactly when the test rejects, for the normal and the log-normal distribution."""
    rng = np.random.default_rng(5)
    rejected = 0
    for i in range(40):
        n = int(rng.integers(4, 80))
        x = np.exp(rng.normal(size=n)) if i % 2 else rng.exponential(size=n)
        ax = plot.qq(x, "log-normal", ax=axes())
        (points,) = [np.asarray(line.get_xydata()) for line in ax.lines if line.get_marker() == "o"]
        assert points[:, 1].tolist() == sorted(x.tolist())
        (line,) = [np.asarray(line.get_xdata()) for line in ax.lines if line.get_marker() != "o"]
        assert line[0] < points[0, 0] < points[-1, 0] < line[-1]
        assert ax.get_ylim()[0] < x.min() < x.max() < ax.get_ylim()[1]
        (band,) = [c for c in ax.collections if isinstance(c, PolyCollection)]
        outline = np.asarray(band.get_paths()[0].vertices)
        inside = True
        for place, value in points:
            here = outline[np.abs(outline[:, 0] - place) < 1e-9, 1]
            inside &= bool(here.min() - 1e-9 <= value <= here.max() + 1e-9)
        accepted = bool(lilliefors(np.log(x)).pvalue > 0.05)
        assert inside == accepted
        rejected += not accepted
    assert rejected > 3
    assert plot.qq(X, ax=axes()).get_ylim()[0] < X.min()
    with pytest.raises(DataError, match="-1 is not positive"):
        plot.qq([-1.0, 1.0, 2.0, 3.0], "log-normal", ax=axes())
    for few in ([1.0, 2.0, 3.0], [2.0] * 9):
        with pytest.raises(DataError, match="four values or more that are not all equal"):
            plot.qq(few, ax=axes())


def test_violins_show_medians_and_have_a_side_each() -> None:
    samples = {"old": X, "it's $new": X + 1, "flat": np.full(5, 11.0)}
    ax = plot.violins(samples, [MODEL, MODEL, None], ax=axes())
    dots = [np.asarray(line.get_xydata())[0] for line in ax.lines if line.get_marker() == "o"]
    assert [d[1] for d in dots] == [np.median(x) for x in samples.values()]
    left, right = ax.get_xlim()
    assert left < 0 < 2 < right
    assert [ax.spines[side].get_visible() for side in ("top", "right", "left")] == [False, False, True]
    assert plot.violins({"alone": [3.0]}, ax=axes()).get_ylim()[0] < 3.0


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
    for times in (1, 2):  # as wide as is best for so many normal values, of which copies make no more
        (top,) = kernel_density(np.repeat(scores, times), [0.0])
        width = np.sqrt(0.5 / np.pi / top**2 - scores.var())
        assert width == pytest.approx((4 / 3 / 1000) ** 0.2, rel=0.15)


def comparisons() -> list[Comparison]:
    rng = np.random.default_rng(2)
    found = []
    for i, ratio in enumerate((0.5, 0.8, 0.97, 1.0, 1.02, 1.3, 2.0)):
        x, y = (Sample(rng.normal(10, 0.2, 20) * f, label=v) for f, v in ((1.0, "old"), (1 / ratio, "new")))
        found.append(compare_medians(x, y, Rules(), Key(f"b{i}")))
    return found


def test_forest_is_sorted_by_what_is_proven() -> None:
    rows = comparisons()
    ax = plot.forest(rows[::-1], ax=axes(), title="t", margin=0.02)
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert (names[-2:], names[:2]) == (["b5", "b6"], ["b0", "b1"])
    by_name = {row.benchmark: row for row in rows}
    assert ax.get_xscale() == "log"
    nearer = {Verdict.FASTER: "low", Verdict.SLOWER: "high"}
    bounds = [getattr(by_name[n].speedup, nearer.get(by_name[n].verdict, ""), 1.0) for n in names]
    assert all(a <= b for a, b in pairwise(bounds))
    markers = [np.asarray(line.get_xydata()) for line in ax.lines if line.get_marker() in ("o", "s")]
    values = {tuple(m[0]) for m in markers if len(m)}
    assert values == {(by_name[n].speedup.value, float(i)) for i, n in enumerate(names)}
    low, high = ax.get_xlim()
    assert all(low < row.speedup.value < high for row in rows)
    assert ax.get_xticks().tolist() == [0.5, 1.0, 2.0]
    near = plot.forest(rows[2:5], ax=axes()).get_xticks()
    np.testing.assert_allclose(np.diff(near), [0.01] * (len(near) - 1))
    legend = ax.get_legend()
    assert legend is not None
    assert sum(int(text.get_text().split()[0]) for text in legend.get_texts()) == len(rows)


def test_forest_of_many_and_of_one_far_out() -> None:
    """A speedup of a million is an arrow with its value; the others keep their axis."""
    rng = np.random.default_rng(7)
    rows = []
    for i in range(60):
        x, y = (Sample(rng.normal(10, 0.2, 10) * f) for f in (1.0, 1e-6 if i == 7 else 1.0))
        rows.append(compare_medians(x, y, Rules(), Key(f"a name of a benchmark that is far too long {i}")))
    for some in (rows[:9], rows):  # names lie apart, and no further than they must
        ax = plot.forest(some, ax=axes())
        each = plot.forest_size(len(some) + 1)[1] - plot.forest_size(len(some))[1]
        assert 1.2 <= 72 * each / float(ax.get_yticklabels()[0].get_fontsize()) <= 2.0
    assert ax.get_xlim()[1] < 1.5
    (arrow,) = [text for text in texts(ax) if text.endswith("x")]
    assert float(arrow[:-1]) == pytest.approx(1e6, rel=0.05)
    assert len({label.get_text() for label in ax.get_yticklabels()}) == 60
    with pytest.raises(DataError, match="no speedup"):
        plot.forest([])


def test_pictures_of_one_value_and_of_equal_values() -> None:
    for values in ([2.0], [2.0] * 5, [0.0, 0.0], [1e300, 1e300, 3e299], [1e-300, 0.0]):
        for draw in (plot.histogram, plot.ecdf, plot.run_order):
            picture = draw(values, ax=axes())
            assert all(math.isfinite(limit) for limit in (*picture.get_xlim(), *picture.get_ylim()))


@pytest.mark.parametrize(
    ("ending", "start"), [("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF"), ("html", b"<!")]
)
def test_every_format_is_written_the_same_each_time(tmp_path: Path, ending: str, start: bytes) -> None:
    contents = []
    for name in "ab":
        path = tmp_path / f"{name}.{ending}"
        plot.save(plot.violins({"x": X, "y": X + 1}, [MODEL, None], ax=axes()), path)
        contents.append(path.read_bytes())
    assert contents[0].startswith(start)
    assert contents[0] == contents[1]
    if ending == "html":  # it works without a network
        assert b"<script" not in contents[0]
        assert b"<svg" in contents[0]


def test_unknown_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"x\.bmp: a picture is written as \.svg, \.png, \.pdf, \.html"):
        plot.save(plot.run_order(X, ax=axes()), tmp_path / "x.bmp")


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


def test_what_is_drawn_can_be_seen_and_read() -> None:
    """On paper and on a screen: no line below half a point, no text below eight."""
    two, models = {"old": X, "new": 0.9 * X}, [MODEL, MODEL]
    drawn = [
        plot.histogram(X, MODEL, ax=axes()), plot.density(two, ax=axes()), plot.violins(two, models, ax=axes()),
        plot.ecdf(X, MODEL, ax=axes()), plot.ecdfs(two, ax=axes()), plot.run_order(X, MODEL, ax=axes()),
        plot.qq(X, ax=axes()), *plot.histograms(two, models).axes,
    ]  # fmt: skip
    for ax in drawn:
        assert min(line.get_linewidth() for line in ax.lines) >= 0.5
        shown = [*ax.texts, ax.title, ax.xaxis.label, *ax.get_xticklabels(), *ax.get_yticklabels()]
        assert min(float(text.get_fontsize()) for text in shown) >= 8


def test_lines_of_many_versions_differ() -> None:
    """More versions than colours: no two lines look alike."""
    ax = plot.ecdfs({str(k): [1.0, 2.0 + k] for k in range(20)}, ax=axes())
    assert len({(line.get_color(), line.get_linestyle()) for line in ax.get_lines()}) == 20


def test_a_forest_draws_no_time_at_all() -> None:
    """A reference of 0 s has a speedup of 0, which no log axis holds: an arrow, and it is counted."""
    times = {"new": np.linspace(1.0, 1.1, 20)}
    gone = {"old": np.ones(20), "new": np.zeros(20)}
    suite = sp.Suite.of_samples(
        {"zero": {"old": np.zeros(20), **times}, "one": {"old": np.ones(20), **times}, "gone": gone}
    )
    ax = sp.compare_suite(suite).plot.forest(ax=axes())
    assert {label.get_text() for label in ax.get_yticklabels()} == {"zero", "one", "gone"}
    assert not any("x" in text.get_text() for text in ax.texts)


def test_a_forest_tells_versions_apart() -> None:
    """Long names that differ in the middle are cut so that they still differ."""
    old, new = (f"results-of-the-nightly-run-{side}-2026-06-02-3.16.0a0-29805f0" for side in ("jit", "plain"))
    suite = sp.Suite.of_samples({"sort": {old: np.linspace(1.0, 1.2, 20), new: np.linspace(0.9, 1.0, 20)}})
    above, below, _ = sp.compare_suite(suite).plot.forest(ax=axes()).get_xlabel().split("\n")
    assert ("plain" in above, "jit" in below) == (True, True)

"""Runs in a picture: their distribution, their order, their quantiles, two metrics of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from speedproof.arrays import ArrayLike, FloatArray
from speedproof.errors import DataError
from speedproof.mixture.model import MixtureModel
from speedproof.plot.canvas import (
    ACCENT,
    BLUE,
    COLOURS,
    DASHED,
    GREY,
    GRID,
    HEIGHT,
    LONGEST,
    MARK,
    SMALL,
    Model,
    Models,
    Samples,
    axes_or_new,
    beside,
    beyond,
    bins,
    caption,
    finished,
    kernel_density,
    lay_grid,
    line_of,
    marks,
    named,
    of_runs,
    on_one_axis,
    panels,
    places,
    plain,
    plain_log_ticks,
    thinned,
    widened,
    within,
)
from speedproof.stats.axes import Window, window
from speedproof.stats.normality import lilliefors
from speedproof.stats.special import ndtri

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_REACH = 2.0  # deviations to an ellipse's edge: it holds 86 % of a normal state
_CIRCLE = np.array([(np.cos(angle), np.sin(angle)) for angle in np.linspace(0.0, 2.0 * np.pi, 181)]).T

_BARS = 130  # bars of one axis at most, so that each can be seen
_NEEDLE = 6.0  # deviations to a bar: the highest curve is then 2.4 times as high as its bar
_LINE = 0.19  # inches of a legend's line
_SHARPEST = 120.0  # of the axis: no density of several versions is drawn narrower (one deviation)
_FULL = 0.42  # half the width of the widest place of a violin
_LONG = 14  # characters that fit under a violin
_STROKES: dict[str, Any] = {
    "linestyle": "none",
    "color": "#333333",
    "markersize": MARK,
    "markeredgewidth": 0.5,
    "alpha": 0.6,
}


def histogram(
    values: ArrayLike, model: Model = None, *, ax: Axes | None = None, axis: str = "value", title: str = ""
) -> Axes:
    """Histogram as a density, the mixture and its components over it, a rug of the values below.

    Parameters
    ----------
    values : array_like, shape (n,)
        The sample, in the unit to show.
    model : MixtureModel, optional
        Its mixture, in the same unit.
    ax : matplotlib Axes, optional
        Where to draw.
    axis, title : str
        Texts.

    Returns
    -------
    matplotlib Axes
        A few values far out are not drawn but counted, see :func:`window`. A component much narrower than a bar
        is drawn a sixth of a bar wide (one deviation).

    Examples
    --------
    >>> import speedproof as sp
    >>> x = [10.1, 10.3, 9.9, 10.0, 10.2, 12.9, 13.1, 13.0, 12.8, 13.2]
    >>> sp.plot.histogram(x, sp.mixture.fit(x).model, axis="time in ms").get_xlabel()
    'time in ms'
    """
    x = np.asarray(values, dtype=np.float64)
    seen = window(x)
    ax = axes_or_new(ax)
    _bars_and_curves(ax, x, model, seen)
    legend = None if model is None else beside(ax)
    return finished(ax, title, beyond(x, seen), legend, xlabel=axis, ylabel="density")


def histograms(samples: Samples, models: Models = None, *, axis: str = "value", title: str = "") -> Figure:
    """Histograms of many versions under each other on one axis, each with its mixture.

    Parameters
    ----------
    samples, models, axis, title
        As in :func:`violins`.

    Returns
    -------
    matplotlib Figure
        One panel a version. The axis spans the windows of all samples, and each panel counts what lies beyond.

    Examples
    --------
    >>> figure = histograms({"old": [10.1, 10.3, 9.9, 10.0], "new": [9.1, 9.0, 9.3, 9.2]})
    >>> len(figure.axes)
    2
    """
    versions, seen = on_one_axis(samples, models)
    least = 1.5
    heights = (
        least if model is None else max(least, 0.6 + _LINE * model.components) for _, _, model in versions
    )
    note = "each panel is as high as its highest place"
    figure, axes = panels(len(versions), sum(heights), title, note)
    for ax, (name, x, model) in zip(axes, versions, strict=True):
        _bars_and_curves(ax, x, model, seen)
        median = float(np.median(x))
        ax.spines["left"].set_visible(False)
        legend = beside(ax) if model is not None and model.components > 1 else None
        finished(ax, f"{name}: n = {x.size}, median {median:.4g}", beyond(x, seen), legend, yticks=[])
    axes[-1].set_xlabel(plain(axis))
    return figure


def _bars_and_curves(ax: Axes, x: FloatArray, model: Model, seen: Window) -> None:
    """Bars, rug and curves inside a window."""
    inside, wide = within(x, seen), widened(seen)
    counts, edges = np.histogram(inside, bins=bins(inside, (seen[1] - seen[0]) / _BARS))
    widths = np.diff(edges)
    ax.stairs(counts / (x.size * widths), edges, fill=True, color="#d5d5d5", label="_bars")
    rug, foot = thinned(inside), ax.get_xaxis_transform()
    ax.plot(rug, np.full(rug.size, 0.02), marker="|", transform=foot, label="_rug", **_STROKES)
    if model is not None:
        # A component of a value or two may be a needle that would flatten all bars.
        sds = np.maximum(model.sds, widths.min() / _NEEDLE)
        _curves(ax, MixtureModel(model.weights, model.means, sds), wide)
    ax.set(xlim=wide, ylim=(0.0, None))


def _curves(ax: Axes, model: MixtureModel, seen: Window) -> None:
    """The components, filled and named in the legend, and their sum."""
    grid = places(model, seen)
    if model.components > 1:
        for k, (w, mu, sd) in enumerate(zip(model.weights, model.means, model.sds, strict=True)):
            part = w * _normal(grid, mu, sd)
            colour = COLOURS[k % len(COLOURS)]
            label = f"component {k + 1}: {100 * w:.0f} % at {mu:.4g}"
            ax.fill_between(grid, part, color=colour, alpha=0.4, linewidth=0, label=label)
            ax.plot(grid, part, color=colour, label="_component")
    colour, label = ("black", "mixture") if model.components > 1 else (BLUE, "normal distribution")
    ax.plot(grid, model.pdf(grid), color=colour, label=label)


def _normal(grid: FloatArray, mean: float, deviation: float) -> FloatArray:
    """The density of a normal distribution."""
    return MixtureModel([1.0], [mean], [deviation]).pdf(grid)


def density(samples: Samples, *, ax: Axes | None = None, axis: str = "value", title: str = "") -> Axes:
    """Kernel density of each version, and dashed the normal distribution of mean and deviation of the runs drawn.

    Parameters
    ----------
    samples, ax, axis, title
        As in :func:`violins`.

    Returns
    -------
    matplotlib Axes
        A few values far out are not drawn but counted, see :func:`window`.

    Examples
    --------
    >>> ax = density({"old": [10.1, 10.3, 9.9, 10.0], "new": [9.1, 9.0, 9.3, 9.2]}, axis="time in ms")
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['old (4 runs)', 'new (4 runs)', 'normal fit of the runs drawn']
    """
    versions, seen = on_one_axis(samples)
    wide = widened(seen, 0.2)
    grid, least = np.linspace(*wide, GRID), (wide[1] - wide[0]) / _SHARPEST
    ax = axes_or_new(ax)
    left_out = []
    for k, (name, x, _) in enumerate(versions):
        look, inside = line_of(k), within(x, seen)
        ax.plot(grid, kernel_density(x, grid, least=least), label=named(name, x.size), **look)
        deviation = float(inside.std(ddof=1)) if inside.size > 1 else least
        normal = _normal(grid, float(inside.mean()), max(deviation, least))
        ax.plot(grid, normal, color=look["color"], label="_normal", **DASHED)
        left_out += [f"{name}: {text}" if len(versions) > 1 else text for text in beyond(x, seen)]
    ax.plot([], [], color="black", label="normal fit of the runs drawn", **DASHED)
    limits = {"xlim": wide, "ylim": (0.0, None)}
    return finished(ax, title, left_out, beside(ax), xlabel=axis, ylabel="density", **limits)


def violins(
    samples: Samples, models: Models = None, *, ax: Axes | None = None, axis: str = "value", title: str = ""
) -> Axes:
    """Each version's mixture on the right of its line, a kernel density of the same values on the left.

    Parameters
    ----------
    samples : mapping of str to array_like
        A sample of each version.
    models : sequence of MixtureModel or None, optional
        Their mixtures, in the same order; where there is none the kernel density is drawn on both sides.
    ax : matplotlib Axes, optional
        Where to draw.
    axis, title : str
        Texts.

    Returns
    -------
    matplotlib Axes
        Each violin is as wide as its densest place. Neither a component nor a kernel is drawn narrower than
        1/120 of the axis (one deviation), or a few close values would make hairlines of all others; a few
        values far out are counted under the version's name instead of drawn, see :func:`window`. White dots
        are medians, thick bars hold the middle half of the values.

    Examples
    --------
    >>> ax = violins({"old": [10.1, 10.3, 9.9, 10.0], "new": [9.1, 9.0, 9.3, 9.2]})
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['old', 'new']
    """
    versions, seen = on_one_axis(samples, models)
    wide = widened(seen, 0.2)
    ax = axes_or_new(ax, *violins_size(len(versions)))
    labels = []
    for place, (name, x, model) in enumerate(versions):
        outside = x.size - within(x, seen).size
        labels.append(plain(name, LONGEST) + (f"\n({outside} not drawn)" if outside else ""))
        _violin(ax, place, x, model, seen, wide)
    long = max(len(name) for name, _, _ in versions) > _LONG or len(labels) > 8
    ax.set_xticks(range(len(labels)), labels, rotation=20 if long else 0, ha="right" if long else "center")
    ax.set(xlim=(-0.6, len(labels) - 0.4), ylim=wide, ylabel=plain(axis))
    lay_grid(ax, "y")
    sides = "grey: kernels, blue: mixture; " * any(model is not None for _, _, model in versions)
    caption(ax, title, [f"{sides}sharp peaks are widened"], "#555555")
    return ax


def violins_size(count: int) -> tuple[float, float]:
    """Width and height, in inches, that so many violins can be seen at."""
    return 3.4 + count, HEIGHT


def _violin(ax: Axes, place: int, x: FloatArray, model: Model, seen: Window, wide: Window) -> None:
    grid, least = np.linspace(*wide, GRID), (wide[1] - wide[0]) / _SHARPEST
    if model is not None:
        model = MixtureModel(model.weights, model.means, np.hypot(model.sds, least))
        grid = places(model, wide)
    inside = within(x, seen)
    kernels = kernel_density(inside, grid, least=least) * (inside.size / x.size)
    right, colour = (kernels, GREY) if model is None else (model.pdf(grid), BLUE)
    full = _FULL / max(float(kernels.max()), float(right.max()))
    drawn = np.maximum(kernels, right) * full > 0.002
    for edge, of_it in ((place - kernels * full, GREY), (place + right * full, colour)):
        ax.fill_betweenx(grid, place, edge, where=drawn, color=of_it, alpha=0.6, linewidth=0)
    values = thinned(inside)
    ax.plot(np.full(values.size, place), values, marker="_", **_STROKES)
    low, middle, high = np.quantile(x, [0.25, 0.5, 0.75])
    ax.plot([place, place], [low, high], color="black", linewidth=2.0, solid_capstyle="butt")
    ax.plot([place], [middle], "o", markerfacecolor="white", markeredgecolor=ACCENT, markersize=MARK)


def cdfs(
    samples: Samples, models: Models = None, *, ax: Axes | None = None, axis: str = "value", title: str = ""
) -> Axes:
    """Empirical distribution functions of many versions; dashed those of their mixtures.

    Parameters
    ----------
    samples, models, ax, axis, title
        As in :func:`violins`.

    Returns
    -------
    matplotlib Axes
        A few values far out are not drawn but counted, see :func:`window`.

    Examples
    --------
    >>> ax = cdfs({"old": [10.1, 10.3, 9.9, 10.0], "new": [9.1, 9.0, 9.3, 9.2]})
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['old (4 runs)', 'new (4 runs)']
    """
    versions, seen = on_one_axis(samples, models)
    wide = widened(seen)
    ax = axes_or_new(ax)
    left_out: list[str] = []
    for k, (name, x, model) in enumerate(versions):
        steps, counts = np.unique(x, return_counts=True)
        ends = [min(wide[0], steps[0]), *steps, max(wide[1], steps[-1])]
        shares = [0.0, *np.cumsum(counts) / x.size, 1.0]
        look = line_of(k)
        ax.plot(ends, shares, drawstyle="steps-post", label=named(name, x.size), **look)
        if model is not None:
            grid = places(model, wide)
            ax.plot(grid, model.cdf(grid), color=look["color"], label="_mixture", **DASHED)
        left_out += [f"{name}: {text}" for text in beyond(x, seen)]
    if any(model is not None for _, _, model in versions):
        ax.plot([], [], color="black", label="mixture", **DASHED)
    lay_grid(ax)
    shown = {"xlim": wide, "ylim": (0.0, 1.0), "xlabel": axis, "ylabel": "share of runs at most"}
    return finished(ax, title, left_out, beside(ax), **shown)


def order(
    values: ArrayLike, model: Model = None, *, ax: Axes | None = None, axis: str = "value", title: str = ""
) -> Axes:
    """Values in run order, each in the colour and shape of its most probable component.

    Parameters
    ----------
    values, model, ax, axis, title
        As in :func:`histogram`.

    Returns
    -------
    matplotlib Axes
        A few values far out are not drawn but counted, see :func:`window`.

    Examples
    --------
    >>> import speedproof as sp
    >>> sp.plot.order([3.0, 1.0, 2.0]).get_lines()[0].get_xydata().tolist()
    [[1.0, 3.0], [2.0, 1.0], [3.0, 2.0]]
    """
    x = np.asarray(values, dtype=np.float64)
    run, seen = np.arange(1, x.size + 1), window(x)
    ax = axes_or_new(ax)
    label = np.zeros(x.size, dtype=np.int64) if model is None else model.labels(x)
    for k in np.unique(label):
        of_it = label == k
        ax.plot(
            run[of_it],
            x[of_it],
            marker="os^Dv<>Ph"[k % len(COLOURS)],
            color=COLOURS[k % len(COLOURS)],
            label=f"component {k + 1}: {of_runs(of_it.sum())}",
            **marks(x.size),
        )
    ax.axhline(float(np.median(x)), color=GREY, label="median", **DASHED)
    several = model is not None and model.components > 1
    ax.locator_params(axis="x", integer=True, min_n_ticks=1)  # there is no half run
    shown = {"ylim": widened(seen), "xlabel": "run", "ylabel": axis}
    return finished(ax, title, beyond(x, seen), beside(ax) if several else None, **shown)


def qq(
    values: ArrayLike,
    distribution: Literal["normal", "log-normal"] = "normal",
    *,
    ax: Axes | None = None,
    axis: str = "value",
    title: str = "",
) -> Axes:
    """Probability plot: sorted values against the normal quantiles, on a log axis for the log-normal.

    Parameters
    ----------
    values : array_like, shape (n,)
        The sample; four values or more, not all equal, positive for the log-normal distribution.
    distribution : {"normal", "log-normal"}
        Against which.
    ax : matplotlib Axes, optional
        Where to draw.
    axis, title : str
        Texts.

    Returns
    -------
    matplotlib Axes
        Places are Blom's (i - 3/8)/(n + 1/4). The line has the sample's mean and deviation. The p-value of
        Lilliefors' test is given.

    Raises
    ------
    DataError
        Fewer than four values, all equal, or a value that is not positive on a log axis.

    Examples
    --------
    >>> import speedproof as sp
    >>> sp.plot.qq([10.1, 10.3, 9.9, 10.0, 10.2]).get_xlabel()
    'normal quantile'
    """
    x = np.sort(np.asarray(values, dtype=np.float64))
    logs = distribution == "log-normal"
    if logs and x[0] <= 0.0:
        raise DataError(f"no log-normal probability plot: {x[0]:g} is not positive")
    y = np.log(x) if logs else x
    n = y.size
    if n < 4 or y[0] == y[-1]:
        raise DataError("a probability plot needs four values or more that are not all equal")
    back = np.exp if logs else np.asarray
    ax = axes_or_new(ax)
    normal = ndtri((np.arange(1, n + 1) - 0.375) / (n + 0.25))
    ends = normal[[0, -1]]
    line = float(y.mean()) + float(y.std(ddof=1)) * ends
    limits = back(np.array(widened((float(min(y[0], line[0])), float(max(y[-1], line[1]))))))
    if logs:
        ax.set(yscale="log", ylim=limits)
        plain_log_ticks(ax.yaxis)
    ax.plot(ends, back(line), color="black", label=distribution)
    ax.plot(normal, x, marker="o", color=BLUE, **marks(n))
    pvalue = float(lilliefors(y).pvalue)
    test = f"Lilliefors: p {'< 0.001' if pvalue < 0.001 else f'= {pvalue:.3f}'}"
    legend = {"loc": "upper left", "title": test, "title_fontsize": SMALL}
    return finished(ax, title, (), legend, ylim=limits, xlabel="normal quantile", ylabel=axis)


def ellipses(
    runs: Mapping[str, tuple[ArrayLike, ArrayLike, ArrayLike]],
    *,
    axes: tuple[str, str] = ("", ""),
    title: str = "",
) -> Figure:
    """Every run by two metrics, coloured by its state, the versions under each other on the same axes.

    The axis of a metric whose values are all above zero is logarithmic, as states are seen.

    Parameters
    ----------
    runs : mapping of str to (array_like, array_like, array_like of int)
        Of each version two metrics of the same runs, and the state of each run.
    axes : (str, str)
        What the two metrics are.
    title : str
        Text.

    Returns
    -------
    matplotlib Figure
        One panel a version. Ellipses reach two deviations.

    Examples
    --------
    >>> figure = ellipses({"old": ([1.0, 1.1, 2.0, 2.1], [10, 11, 90, 92], [0, 0, 1, 1])}, axes=("time", "faults"))
    >>> [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    ['50 % of runs', '50 % of runs']
    """
    versions = {name: [np.asarray(of, dtype=np.float64) for of in given[:2]] for name, given in runs.items()}
    logs = [all(bool((metrics[i] > 0.0).all()) for metrics in versions.values()) for i in (0, 1)]
    note = "colours: states of runs; ellipses: two deviations around each"
    figure, drawn = panels(len(versions), 2.6 * len(versions), title, note, sharey=True)
    for ax, (name, metrics) in zip(drawn, versions.items(), strict=True):
        ax.set(**{f"{axis}scale": "log" for axis, log in zip("xy", logs, strict=True) if log})
        seen = [np.log(values) if log else values for values, log in zip(metrics, logs, strict=True)]
        labels = np.asarray(runs[name][2])
        for k in np.unique(labels):
            of_it = labels == k
            colour, share = COLOURS[k % len(COLOURS)], f"{100 * of_it.mean():.0f} % of runs"
            points = (values[of_it] for values in metrics)
            ax.plot(*points, marker="o", color=colour, alpha=0.7, label=share, **marks(labels.size))
            edge = (v[of_it].mean() + _REACH * v[of_it].std() * c for v, c in zip(seen, _CIRCLE, strict=True))
            edge = (np.exp(along) if log else along for along, log in zip(edge, logs, strict=True))
            ax.plot(*edge, color=colour, label=f"_{share}")
        finished(ax, name, (), beside(ax), ylabel=axes[1])
    last = drawn[-1]
    last.set_xlabel(plain(axes[0]))
    for axis, log in zip((last.xaxis, last.yaxis), logs, strict=True):
        if log:
            plain_log_ticks(axis)
    return figure

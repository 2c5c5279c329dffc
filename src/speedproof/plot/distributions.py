"""Where the values of versions lie: histograms, kernel densities and violins, with their mixtures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from speedproof.arrays import FloatArray
from speedproof.mixture.model import MixtureModel
from speedproof.plot.canvas import (
    ACCENT,
    BLUE,
    COLOURS,
    DASHES,
    GREY,
    WIDTH,
    Window,
    axes_or_new,
    beside,
    beyond,
    bins,
    caption,
    finished,
    kernel_density,
    lay_grid,
    line_of,
    new_figure,
    of_runs,
    on_one_axis,
    places,
    plain,
    widened,
    window,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_RUG = 5000
_BARS = 130  # bars of one axis at most, so that each can be seen
_NEEDLE = 6.0  # deviations to a bar: the highest curve is then 2.4 times as high as its bar
_MANY = 6
_LINE = 0.15  # inches of a legend's line
_GRID = 600
_SHARPEST = 200.0  # of the axis: no curve is drawn narrower (one deviation)
_FULL = 0.42  # half the width of the widest place of a violin
_SHARPEST_VIOLIN = 60.0  # of the axis: nothing of it is drawn narrower, whatever a component's deviation
_DOTS = 400
_LONGEST = 40
_LONG = 14  # characters that fit under a violin


def histogram(
    values: npt.ArrayLike,
    model: MixtureModel | None = None,
    *,
    ax: Axes | None = None,
    axis: str = "value",
    title: str = "",
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


def histograms(
    samples: Mapping[str, npt.ArrayLike],
    models: Sequence[MixtureModel | None] | None = None,
    *,
    axis: str = "value",
    title: str = "",
) -> Figure:
    """Histograms of many versions under each other on one axis, each with its mixture and the first one's median.

    Parameters
    ----------
    samples, models, axis, title
        As of :func:`violins`.

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
    first = float(np.median(versions[0][1]))
    least = 1.5 if len(versions) <= _MANY else 1.1
    lines = (1 if model is None else model.components + 1 for _, _, model in versions)
    figure = new_figure(WIDTH, 0.8 + sum(max(least, 0.6 + _LINE * count) for count in lines))
    panels = figure.subplots(len(versions), 1, sharex=True, squeeze=False)[:, 0]
    for ax, (name, x, model) in zip(panels, versions, strict=True):
        axes_or_new(ax)
        _bars_and_curves(ax, x, model, seen)
        median = float(np.median(x))
        ax.axvline(first, color="black", linestyle=DASHES, linewidth=0.9)
        ax.plot([median], [1.0], "v", color="black", clip_on=False, transform=ax.get_xaxis_transform())
        ax.spines["left"].set_visible(False)
        several = model is not None and model.components > 1
        legend = {"fontsize": 7, **beside(ax)} if several else None
        finished(ax, f"{name}: n = {x.size}, median {median:.4g}", beyond(x, seen), legend, yticks=[])
    panels[-1].set_xlabel(plain(axis))
    note = f"triangles: medians; dashed: the median of {versions[0][0]}"
    figure.suptitle(plain(f"{title}\n{note}" if title else note), x=0.01, ha="left", fontsize=9)
    return figure


def _bars_and_curves(ax: Axes, x: FloatArray, model: MixtureModel | None, seen: Window) -> None:
    """Bars, rug and curves inside a window."""
    inside = x[(x >= seen[0]) & (x <= seen[1])]
    wide = widened(seen)
    if inside.size:
        counts, edges = np.histogram(inside, bins=bins(inside, (seen[1] - seen[0]) / _BARS))
        heights = counts / (x.size * np.diff(edges))
        ax.stairs(heights, edges, fill=True, color="#d5d5d5", label="_bars")
        rug = inside if inside.size <= _RUG else np.quantile(inside, np.linspace(0, 1, _RUG))
        ax.plot(
            rug,
            np.full(rug.size, 0.02),
            "|",
            color="#333333",
            markersize=5,
            markeredgewidth=0.6,
            alpha=0.6,
            transform=ax.get_xaxis_transform(),
            label="_rug",
        )
        least = float(np.diff(edges).min()) / _NEEDLE
    else:
        least = (wide[1] - wide[0]) / (_NEEDLE * _BARS)
    if model is not None:
        # A component of a value or two may be a needle that would flatten all bars.
        _curves(ax, MixtureModel(model.weights, model.means, np.maximum(model.sds, least)), wide)
    ax.set_xlim(*wide)
    ax.set_ylim(bottom=0.0)


def _curves(ax: Axes, model: MixtureModel, seen: Window) -> None:
    """The components, filled and named in the legend, and their sum."""
    grid = places(model, seen)
    if model.components > 1:
        for k, (w, mu, sd) in enumerate(zip(model.weights, model.means, model.sds, strict=True)):
            part = w * _normal(grid, mu, sd)
            colour = COLOURS[k % len(COLOURS)]
            label = f"component {k + 1}: {100 * w:.0f} % at {mu:.4g}"
            ax.fill_between(grid, part, color=colour, alpha=0.4, linewidth=0, label=label)
            ax.plot(grid, part, color=colour, linewidth=0.8, label="_component")
    colour, label = ("black", "mixture") if model.components > 1 else (BLUE, "normal distribution")
    ax.plot(grid, model.pdf(grid), color=colour, linewidth=1.4, label=label)


def _normal(grid: FloatArray, mean: float, deviation: float) -> FloatArray:
    """The density of a normal distribution."""
    return np.asarray(np.exp(-0.5 * ((grid - mean) / deviation) ** 2) / (deviation * np.sqrt(2.0 * np.pi)))


def density(
    samples: Mapping[str, npt.ArrayLike], *, ax: Axes | None = None, axis: str = "value", title: str = ""
) -> Axes:
    """Kernel density of all runs of each version, and dashed the normal distribution of their mean and deviation.

    Parameters
    ----------
    samples, ax, axis, title
        As of :func:`violins`.

    Returns
    -------
    matplotlib Axes
        A few values far out are not drawn but counted, see :func:`window`; the normal fit is that of all.

    Examples
    --------
    >>> ax = density({"old": [10.1, 10.3, 9.9, 10.0], "new": [9.1, 9.0, 9.3, 9.2]}, axis="time in ms")
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['old (4 runs)', 'new (4 runs)', 'normal fit of all runs']
    """
    versions, seen = on_one_axis(samples)
    wide = widened(seen, 0.2)
    grid, least = np.linspace(*wide, _GRID), (wide[1] - wide[0]) / _SHARPEST
    ax = axes_or_new(ax)
    left_out = []
    for k, (name, x, _) in enumerate(versions):
        look, label = line_of(k), f"{plain(name, _LONGEST)} ({of_runs(x.size)})"
        ax.plot(grid, kernel_density(x, grid, least=least), linewidth=1.6, label=label, **look)
        normal = _normal(grid, x.mean(), max(float(x.std(ddof=1)) if x.size > 1 else 0.0, least))
        ax.plot(grid, normal, color=look["color"], linewidth=1.1, linestyle=DASHES, label="_normal")
        left_out += [f"{name}: {text}" if len(versions) > 1 else text for text in beyond(x, seen)]
    ax.plot([], [], color="black", linewidth=1.1, linestyle=DASHES, label="normal fit of all runs")
    limits = {"xlim": wide, "ylim": (0.0, None)}
    return finished(ax, title, left_out, beside(ax), xlabel=axis, ylabel="density", **limits)


def violins(
    samples: Mapping[str, npt.ArrayLike],
    models: Sequence[MixtureModel | None] | None = None,
    *,
    ax: Axes | None = None,
    axis: str = "value",
    title: str = "",
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
        Each violin is as wide as its densest place. Neither a component nor a kernel is drawn narrower than a
        sixtieth of the axis (one deviation), or a few close values would make hairlines of all others; a few
        values far out are counted under the version's name instead of drawn, see :func:`window`. White dots
        are medians, thick bars hold the middle half of the values.

    Examples
    --------
    >>> ax = violins({"old": [10.1, 10.3, 9.9, 10.0], "new": [9.1, 9.0, 9.3, 9.2]})
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['old', 'new']
    """
    versions, seen = on_one_axis(samples, models)
    wide = widened(seen, 0.05)
    ax = axes_or_new(ax, max(4.4, 1.6 + 1.0 * len(versions)), 4.2)
    least = (wide[1] - wide[0]) / _SHARPEST_VIOLIN
    labels = []
    for place, (name, x, model) in enumerate(versions):
        outside = int(np.sum((x < seen[0]) | (x > seen[1])))
        labels.append(plain(name, _LONGEST) + (f"\n({outside} not drawn)" if outside else ""))
        _violin(ax, place, x, model, wide, least)
    long = max(len(name) for name, _, _ in versions) > _LONG or len(labels) > 8
    ax.set_xticks(range(len(labels)), labels, rotation=20 if long else 0, ha="right" if long else "center")
    ax.set(xlim=(-0.6, len(labels) - 0.4), ylim=wide, ylabel=plain(axis))
    lay_grid(ax, "y")
    sides = "grey: kernels, blue: mixture; " * any(model is not None for _, _, model in versions)
    caption(ax, title, note=f"{sides}sharp peaks are widened")
    return ax


def _violin(
    ax: Axes, place: int, x: FloatArray, model: MixtureModel | None, wide: Window, least: float
) -> None:
    grid = np.linspace(*wide, _GRID)
    if model is not None:
        model = MixtureModel(model.weights, model.means, np.hypot(model.sds, least * 0.5))
        grid = places(model, wide)
    inside = np.sort(x[(x >= wide[0]) & (x <= wide[1])])
    kernels = kernel_density(inside, grid, least=least * 0.5) * (inside.size / x.size)
    right = kernels if model is None else model.pdf(grid)
    colour, alpha = (GREY, 0.55) if model is None else (BLUE, 0.75)
    full = _FULL / max(float(kernels.max()), float(right.max()))
    drawn = np.maximum(kernels, right) * full > 0.002
    ax.fill_betweenx(grid, place - kernels * full, place, where=drawn, color=GREY, alpha=0.55, linewidth=0)
    ax.fill_betweenx(grid, place, place + right * full, where=drawn, color=colour, alpha=alpha, linewidth=0)
    if inside.size > _DOTS:
        inside = np.quantile(inside, np.linspace(0, 1, _DOTS))
    ax.plot(np.full(inside.size, place), inside, "_", color="#333333", markersize=5, markeredgewidth=0.4)
    low, middle, high = np.quantile(x, [0.25, 0.5, 0.75])
    ax.plot([place, place], [low, high], color="black", linewidth=2.0, solid_capstyle="butt")
    ax.plot([place], [middle], "o", markerfacecolor="white", markeredgecolor=ACCENT, markersize=5.5)

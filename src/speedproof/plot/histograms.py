"""Histograms with their mixtures: of one sample, or of many versions on one axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from speedproof.arrays import FloatArray
from speedproof.mixture.model import MixtureModel
from speedproof.plot.canvas import BLUE, COLOURS, WIDTH, axes_or_new, beside, finished, new_figure, plain
from speedproof.plot.scale import Window, beyond, bins, joint_window, places, widened, window

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_RUG = 5000
_BARS = 130  # bars of one axis at most, so that each can be seen
_NEEDLE = 6.0  # deviations to a bar: the highest curve is then 2.4 times as high as its bar
_MANY = 6
_LINE = 0.15  # inches of a legend's line


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
    _density(ax, x, model, seen)
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
    samples : mapping of str to array_like
        A sample of each version.
    models : sequence of MixtureModel or None, optional
        Their mixtures, in the same order.
    axis, title : str
        Texts.

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
    arrays = {name: np.asarray(values, dtype=np.float64) for name, values in samples.items()}
    seen = joint_window(arrays.values())
    medians = [float(np.median(x)) for x in arrays.values()]
    fitted = models or [None] * len(arrays)
    least = 1.5 if len(arrays) <= _MANY else 1.1
    lines = (1 if model is None else model.components + 1 for model in fitted)
    figure = new_figure(WIDTH, 0.8 + sum(max(least, 0.6 + _LINE * count) for count in lines))
    panels = figure.subplots(len(arrays), 1, sharex=True, squeeze=False)[:, 0]
    for ax, (name, x), model, median in zip(panels, arrays.items(), fitted, medians, strict=True):
        axes_or_new(ax)
        _density(ax, x, model, seen)
        ax.axvline(medians[0], color="black", linestyle=(0, (4, 3)), linewidth=0.9)
        ax.plot([median], [1.0], "v", color="black", clip_on=False, transform=ax.get_xaxis_transform())
        ax.spines["left"].set_visible(False)
        several = model is not None and model.components > 1
        legend = {"fontsize": 7, **beside(ax)} if several else None
        finished(ax, f"{name}: n = {x.size}, median {median:.4g}", beyond(x, seen), legend, yticks=[])
    panels[-1].set_xlabel(plain(axis))
    note = f"triangles: medians; dashed: the median of {next(iter(arrays))}"
    figure.suptitle(plain(f"{title}\n{note}" if title else note), x=0.01, ha="left", fontsize=9)
    return figure


def _density(ax: Axes, x: FloatArray, model: MixtureModel | None, seen: Window) -> None:
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
            part = w * np.exp(-0.5 * ((grid - mu) / sd) ** 2) / (sd * np.sqrt(2 * np.pi))
            colour = COLOURS[k % len(COLOURS)]
            label = f"component {k + 1}: {w:.0%} at {mu:.4g}"
            ax.fill_between(grid, part, color=colour, alpha=0.4, linewidth=0, label=label)
            ax.plot(grid, part, color=colour, linewidth=0.8, label="_component")
    label = "mixture" if model.components > 1 else "normal distribution"
    ax.plot(
        grid, model.pdf(grid), color="black" if model.components > 1 else BLUE, linewidth=1.4, label=label
    )

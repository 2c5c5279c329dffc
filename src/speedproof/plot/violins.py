"""Densities of many versions side by side, after figures 2 and 4 of the VARCORE report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from speedproof.arrays import FloatArray
from speedproof.mixture.model import MixtureModel
from speedproof.plot.canvas import ACCENT, BLUE, GREY, axes_or_new, caption, plain
from speedproof.plot.scale import Window, joint_window, kernel_density, places, widened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FULL = 0.42  # half the width of the widest place
_SHARPEST = 60.0  # of the axis: nothing is drawn narrower, whatever a component's deviation
_DOTS = 400
_LONGEST = 40
_LONG = 14  # characters that fit under a violin


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
    arrays = {name: np.asarray(values, dtype=np.float64) for name, values in samples.items()}
    seen = joint_window(arrays.values())
    wide = widened(seen, 0.05)
    ax = axes_or_new(ax, max(3.2, 1.6 + 1.0 * len(arrays)), 4.2)
    least = (wide[1] - wide[0]) / _SHARPEST
    labels = []
    for place, ((name, x), model) in enumerate(
        zip(arrays.items(), models or [None] * len(arrays), strict=True)
    ):
        outside = int(np.sum((x < seen[0]) | (x > seen[1])))
        labels.append(plain(name, _LONGEST) + (f"\n({outside} beyond the axis)" if outside else ""))
        _violin(ax, place, x, model, wide, least)
    long = max(len(name) for name in arrays) > _LONG or len(labels) > 8
    ax.set_xticks(range(len(labels)), labels, rotation=20 if long else 0, ha="right" if long else "center")
    ax.set(xlim=(-0.6, len(labels) - 0.4), ylim=wide, ylabel=plain(axis))
    ax.grid(axis="y", color="#e5e5e5", linewidth=0.6)
    ax.set_axisbelow(True)
    both = any(model is not None for model in models or ())
    caption(ax, title, note="grey: kernel density, blue: mixture" if both else "")
    return ax


def _violin(
    ax: Axes, place: int, x: FloatArray, model: MixtureModel | None, wide: Window, least: float
) -> None:
    smooth = (
        None if model is None else MixtureModel(model.weights, model.means, np.hypot(model.sds, least * 0.5))
    )
    grid = np.linspace(*wide, 600) if smooth is None else places(smooth, wide)
    inside = np.sort(x[(x >= wide[0]) & (x <= wide[1])])
    kernels = kernel_density(inside, grid, least=least * 0.5) * (inside.size / x.size)
    right = kernels if smooth is None else smooth.pdf(grid)
    full = _FULL / max(float(kernels.max()), float(right.max()))
    drawn = np.maximum(kernels, right) * full > 0.002
    ax.fill_betweenx(grid, place - kernels * full, place, where=drawn, color=GREY, alpha=0.55, linewidth=0)
    ax.fill_betweenx(
        grid,
        place,
        place + right * full,
        where=drawn,
        color=GREY if model is None else BLUE,
        alpha=0.55 if model is None else 0.75,
        linewidth=0,
    )
    if inside.size > _DOTS:
        inside = np.quantile(inside, np.linspace(0, 1, _DOTS))
    ax.plot(np.full(inside.size, place), inside, "_", color="#333333", markersize=5, markeredgewidth=0.4)
    low, middle, high = np.quantile(x, [0.25, 0.5, 0.75])
    ax.plot([place, place], [low, high], color="black", linewidth=2.0, solid_capstyle="butt")
    ax.plot([place], [middle], "o", markerfacecolor="white", markeredgecolor=ACCENT, markersize=5.5)

"""Kernel densities of versions, each with its normal fit: the HPT article's figure 2."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from speedproof.plot.canvas import COLOURS, axes_or_new, beside, finished, plain
from speedproof.plot.scale import beyond, joint_window, kernel_density, widened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_GRID = 600
_SHARPEST = 200.0  # of the axis: no curve is drawn narrower (one deviation)


def density(
    samples: Mapping[str, npt.ArrayLike], *, ax: Axes | None = None, axis: str = "value", title: str = ""
) -> Axes:
    """Kernel density of all runs of each version, and dashed the normal distribution of their mean and deviation.

    Parameters
    ----------
    samples : mapping of str to array_like
        A sample of each version.
    ax : matplotlib Axes, optional
        Where to draw.
    axis, title : str
        Texts.

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
    arrays = {name: np.asarray(values, dtype=np.float64) for name, values in samples.items()}
    seen = joint_window(arrays.values())
    wide = widened(seen, 0.2)
    grid, least = np.linspace(*wide, _GRID), (wide[1] - wide[0]) / _SHARPEST
    ax = axes_or_new(ax)
    left_out = []
    for k, (name, x) in enumerate(arrays.items()):
        colour = COLOURS[k % len(COLOURS)]
        ax.plot(
            grid,
            kernel_density(x, grid, least=least),
            color=colour,
            linewidth=1.6,
            label=f"{plain(name, 40)} ({x.size} runs)",
        )
        deviation = max(float(x.std(ddof=1)) if x.size > 1 else 0.0, least)
        normal = np.exp(-0.5 * ((grid - x.mean()) / deviation) ** 2) / (deviation * np.sqrt(2.0 * np.pi))
        ax.plot(grid, normal, color=colour, linewidth=1.1, linestyle=(0, (4, 3)), label="_normal")
        left_out += [f"{name}: {text}" if len(arrays) > 1 else text for text in beyond(x, seen)]
    ax.plot([], [], color="black", linewidth=1.1, linestyle=(0, (4, 3)), label="normal fit of all runs")
    limits = {"xlim": wide, "ylim": (0.0, None)}
    return finished(ax, title, left_out, beside(ax), xlabel=axis, ylabel="density", **limits)

"""Runs by two metrics, with an ellipse for each state that they fall into: VARCORE 8.1's picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from speedproof.plot.canvas import COLOURS, axes_or_new, beside, finished, plain_log_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_REACH = 2.0  # deviations to an ellipse's edge: it holds 86 % of a normal state
_ANGLES = np.linspace(0.0, 2.0 * np.pi, 181)
_CIRCLE = np.cos(_ANGLES), np.sin(_ANGLES)


def ellipses(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    states: npt.ArrayLike,
    *,
    ax: Axes | None = None,
    axes: tuple[str, str] = ("", ""),
    title: str = "",
) -> Axes:
    """Every run by two metrics, coloured by its state; ellipses reach two deviations.

    The axis of a metric whose values are all above zero is logarithmic, as states are seen.

    Parameters
    ----------
    x, y : array_like, shape (n,)
        Two metrics of the same runs.
    states : array_like of int, shape (n,)
        The state of each.
    ax : matplotlib Axes, optional
        Where to draw.
    axes : (str, str)
        What the two metrics are.
    title : str
        Text.

    Returns
    -------
    matplotlib Axes
        The picture.

    Examples
    --------
    >>> ax = ellipses([1.0, 1.1, 2.0, 2.1], [10, 11, 90, 92], [0, 0, 1, 1], axes=("time in s", "faults"))
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['50 % of runs', '50 % of runs']
    """
    ax = axes_or_new(ax)
    metrics, labels = [np.asarray(values, dtype=np.float64) for values in (x, y)], np.asarray(states)
    logs = [bool((values > 0.0).all()) for values in metrics]
    seen = [np.log(values) if log else values for values, log in zip(metrics, logs, strict=True)]
    for k in np.unique(labels):
        runs = labels == k
        colour, share = COLOURS[k % len(COLOURS)], f"{100 * runs.mean():.0f} % of runs"
        ax.plot(
            *(values[runs] for values in metrics), ".", color=colour, markersize=4, alpha=0.7, label=share
        )
        edge = (v[runs].mean() + _REACH * v[runs].std() * c for v, c in zip(seen, _CIRCLE, strict=True))
        edge = (np.exp(points) if log else points for points, log in zip(edge, logs, strict=True))
        ax.plot(*edge, color=colour, linewidth=1.4, label=f"_{share}")
    ax.set(**{f"{axis}scale": "log" for axis, log in zip("xy", logs, strict=True) if log})
    for axis, log in zip((ax.xaxis, ax.yaxis), logs, strict=True):
        if log:
            plain_log_ticks(axis)
    return finished(ax, title, (), beside(ax), xlabel=axes[0], ylabel=axes[1])

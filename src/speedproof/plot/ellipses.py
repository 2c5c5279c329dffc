"""Runs by two metrics, with an ellipse for each state that they fall into: VARCORE 8.1's picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from speedproof.plot.canvas import COLOURS, axes_or_new, beside, finished

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_REACH = 2.0  # deviations to an ellipse's edge: it holds 86 % of a normal state
_ANGLES = np.linspace(0.0, 2.0 * np.pi, 181)


def ellipses(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    states: npt.ArrayLike,
    *,
    ax: Axes | None = None,
    axes: tuple[str, str] = ("", ""),
    title: str = "",
) -> Axes:
    """Every run by two metrics, coloured by its state; ellipses reach two deviations (of logarithms).

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
    first, second, labels = np.asarray(x, float), np.asarray(y, float), np.asarray(states)
    for k in np.unique(labels):
        a, b = first[labels == k], second[labels == k]
        colour = COLOURS[k % len(COLOURS)]
        share = f"{100 * a.size / labels.size:.0f} % of runs"
        ax.plot(a, b, ".", color=colour, markersize=4, alpha=0.7, label=share)
        edges = (_edge(a, np.cos(_ANGLES)), _edge(b, np.sin(_ANGLES)))
        ax.plot(*edges, color=colour, linewidth=1.4, label=f"_{share}")
    return finished(ax, title, (), beside(ax), xlabel=axes[0], ylabel=axes[1])


def _edge(values: npt.NDArray[np.float64], towards: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Points of an ellipse along one metric; of the logarithms of values above zero, as states are seen."""
    logs = values.min() > 0.0
    x = np.log(values) if logs else values
    points: npt.NDArray[np.float64] = x.mean() + _REACH * x.std() * towards
    return np.asarray(np.exp(points)) if logs else points

"""Speedups over the inputs of benchmarks, with the lines through them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from speedproof.errors import DataError
from speedproof.plot.canvas import axes_or_new, beside, finished, plain
from speedproof.protocols.inputs import OverInputs
from speedproof.protocols.questions import QUESTIONS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LONGEST = 40
_FAR = 10.0  # times the largest speedup (or the smallest, down): a bound farther out is not drawn in full


def over(found: Sequence[OverInputs], *, ax: Axes | None = None, title: str = "") -> Axes:
    """Speedups over a parameter, each with its bounds, and dashed the lines of benchmarks with a trend.

    Parameters
    ----------
    found : sequence of OverInputs
        Of one parameter, as of ``compare_suite(...).over("n")``.
    ax : matplotlib Axes, optional
        Where to draw.
    title : str
        A text.

    Returns
    -------
    matplotlib Axes
        Both axes are logarithmic.

    Raises
    ------
    DataError
        The parameter has no numbers above zero.

    Examples
    --------
    >>> import speedproof as sp
    >>> suite = sp.read("examples/sizes/session.jsonl", metric="time")
    >>> over(sp.compare_suite(suite).over("n").found).get_xscale()
    'log'
    """
    drawn = [
        (of, {one.size: one.comparison.speedup for one in of.inputs if one.size is not None}) for of in found
    ]
    drawn = [(of, speedups) for of, speedups in drawn if speedups]
    if not drawn:
        raise DataError(f"no input has a number above zero for {found[0].parameter}")
    ax = axes_or_new(ax)
    ax.axhline(1.0, color="black", linewidth=0.9)
    several = len({of.candidate for of, _ in drawn}) > 1
    estimates = [speedup for _, speedups in drawn for speedup in speedups.values()]
    low, high = (edge(e.value for e in estimates) for edge in (min, max))
    for of, speedups in drawn:
        sizes = list(speedups)
        values = np.array([e.value for e in speedups.values()])
        ends = np.array([[max(e.low, low / _FAR), min(e.high, high * _FAR)] for e in speedups.values()]).T
        name = plain(of.benchmark or of.candidate, _LONGEST) + (f" ({of.candidate})" if several else "")
        marks = ax.errorbar(
            sizes, values, np.abs(ends - values), fmt="o", markersize=4, linewidth=1, label=name
        )
        if of.ends is not None:
            ax.plot([sizes[0], sizes[-1]], of.ends, "--", color=marks[0].get_color(), linewidth=1)
    first = drawn[0][0]
    asked = QUESTIONS[first.inputs[0].comparison.protocol].title.lower()
    ax.set(xscale="log", yscale="log")
    _plain_ticks(ax, low, high)
    legend = beside(ax) if len(drawn) > 1 or first.benchmark else None
    return finished(
        ax,
        title,
        legend=legend,
        xlabel=first.parameter,
        ylabel=f"speedup ({asked}), each bound at {100 * (1 - first.alpha):.10g} %",
    )


def _plain_ticks(ax: Axes, low: float, high: float) -> None:
    """Speedups as numbers; between powers of ten where they span less than two of them."""
    from matplotlib.ticker import FuncFormatter, LogLocator

    narrow = math.log10(high / low) < 2.0
    ax.yaxis.set_major_locator(
        LogLocator(subs=(1.0, 1.5, 2.0, 3.0, 5.0, 7.0) if narrow else (1.0,), numticks=20)
    )
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}x"))
    ax.yaxis.set_minor_locator(LogLocator(subs=(), numticks=1))

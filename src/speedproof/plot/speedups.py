"""Speedups in a picture: all of a suite, sorted by what is proven of each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from speedproof.errors import DataError
from speedproof.plot.canvas import (
    GREY,
    LONGEST,
    MARK,
    SMALL,
    WIDTH,
    axes_or_new,
    finished,
    lay_grid,
    plain,
)
from speedproof.protocols.questions import QUESTIONS
from speedproof.protocols.results import Comparison, Verdict
from speedproof.stats.axes import ratio_range, ratio_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Blue and vermilion differ for colour-blind readers, circle and square in black and white.
_LOOKS = {
    Verdict.FASTER: ("#0072b2", "o"),
    Verdict.SLOWER: ("#d55e00", "s"),
    Verdict.EQUIVALENT: ("#228833", "D"),
    Verdict.UNDECIDED: (GREY, "o"),
}
_ROOM = 0.06  # of the axis at either end
_WIDEST = math.log(1e304)  # that an axis can hold
_LETTERS = 64  # of a line of text as wide as the picture


def forest(
    comparisons: Sequence[Comparison], *, ax: Axes | None = None, title: str = "", margin: float | None = None
) -> Axes:
    """Every speedup with its bounds on a log axis, the largest proven gain at the top.

    Parameters
    ----------
    comparisons : sequence of Comparison
        Of one protocol, one a benchmark.
    ax : matplotlib Axes, optional
        Where to draw.
    title : str
        A text.
    margin : float, optional
        Shade the speedups within [1/(1 + margin), 1 + margin].

    Returns
    -------
    matplotlib Axes
        Sorted by the bound nearer to 1 of what is decided, undecided ones between by their estimate. Open grey
        markers are not proven; a verdict that is shown all the same has a "!". A few speedups far from all others
        are drawn as arrows at the edge, with their value.

    Raises
    ------
    DataError
        No comparison has a speedup.

    Examples
    --------
    >>> import speedproof as sp
    >>> s = sp.compare_suite(sp.read("O2=examples/gcc/O2.json", "O3=examples/gcc/O3.json"))
    >>> ax = forest([answer.headline for answer in s])
    >>> ax.get_xscale(), len(ax.get_yticks())
    ('log', 6)
    """
    speedups = [c for c in comparisons if c.quantity == "speedup" and not math.isnan(c.speedup.value)]
    rows = sorted(speedups, key=_proven)
    if not rows:
        raise DataError("no speedup to draw")
    ax = axes_or_new(ax, *forest_size(len(rows)))
    ends = ratio_range(*([getattr(row.speedup, of) for row in rows] for of in ("value", "low", "high")))
    low, high = map(math.log, ends)
    room = _ROOM * (high - low)
    low, high = math.exp(max(low - room, -_WIDEST)), math.exp(min(high + room, _WIDEST))
    if margin is not None:
        ax.axvspan(1 / (1 + margin), 1 + margin, facecolor="#eef2e6")
    ax.axvline(1.0, color="black", linewidth=1.0)
    for place, row in enumerate(rows):
        _row(ax, place, row, (low, high))
    names = [plain(row.benchmark, LONGEST) + " !" * _only_shown(row) for row in rows]
    ax.set_yticks(range(len(rows)), names, fontsize=SMALL)
    ax.set(ylim=(-0.8, len(rows) - 0.2), xlim=(low, high), xscale="log")
    ax.set_xticks(ticks := ratio_ticks(low, high), [f"{tick:.4g}x" for tick in ticks])
    ax.set_xticks([], minor=True)
    first = rows[0]
    ax.set_xlabel(_axis(first))
    lay_grid(ax, "x")
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", left=False)
    alike: dict[tuple[bool, Verdict], list[Comparison]] = {}
    for row in sorted(rows, key=lambda row: ([*_LOOKS].index(row.verdict), _only_shown(row))):
        alike.setdefault((_only_shown(row), row.verdict), []).append(row)
    for (mark, verdict), group in alike.items():
        label = f"{len(group)} {verdict.value}{', not proven (!)' * mark}"
        ax.plot([], [], label=label, linestyle="none", **_look(group[0]))
    return finished(ax, title, (), {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0), "ncols": 3})


def _axis(c: Comparison) -> str:
    """What a ratio is of, which way is faster, and how sure the bounds are."""
    versions = f"{plain(c.candidate.label, LONGEST)} over {plain(c.reference.label, LONGEST)}"
    sure = f"({QUESTIONS[c.protocol].title.lower()}; each bound holds at {100 * (1 - c.alpha):.10g} %)"
    return f"{fill(f'speedup of {versions}, right is faster', _LETTERS)}\n{sure}"


def forest_size(rows: int) -> tuple[float, float]:
    """Width and height, in inches, that so many rows can be read at.

    Examples
    --------
    >>> forest_size(10)[0]
    6.4
    """
    return WIDTH, 1.2 + 0.18 * rows


def _proven(row: Comparison) -> tuple[int, float, float]:
    """The direction that is decided, the log of the bound nearer to 1, or 0 for none; then the estimate."""
    side = {Verdict.FASTER: 1, Verdict.SLOWER: -1}.get(row.verdict, 0)
    bound = (math.nan, row.speedup.low, row.speedup.high)[side]
    return side, 0.0 if math.isnan(bound) else _log(bound), _log(row.speedup.value)


def _log(value: float) -> float:
    """Logarithm that also accepts a time of zero on one side."""
    return math.log(value) if value > 0.0 else -math.inf


def _only_shown(row: Comparison) -> bool:
    return row.verdict is not row.proven_verdict


def _look(row: Comparison) -> dict[str, Any]:
    """Fill and colour of a row's marker, by whether its verdict is proven."""
    colour, marker = _LOOKS[row.proven_verdict][0], _LOOKS[row.verdict][1]
    filled = colour if row.proven else "white"
    return {"color": colour, "marker": marker, "markersize": MARK, "markerfacecolor": filled}


def _row(ax: Axes, place: int, row: Comparison, limits: tuple[float, float]) -> None:
    look = _look(row)
    colour = look["color"]
    value, bounds = row.speedup.value, (row.speedup.low, row.speedup.high)
    ax.plot(np.clip(bounds, *limits), [place, place], color=colour, solid_capstyle="butt")
    if limits[0] <= value <= limits[1]:
        ax.plot([value], [place], **look)
        return
    right = value > limits[1]
    ax.plot([limits[right]], [place], ">" if right else "<", color=colour, markersize=MARK, clip_on=False)
    ax.annotate(
        f"{value:.3g}x" if 0.0 < value < math.inf else "",
        (limits[right], place),
        xytext=(-1.5 * MARK if right else 1.5 * MARK, 0),
        textcoords="offset points",
        ha="right" if right else "left",
        va="center",
        fontsize=SMALL,
        color=colour,
    )

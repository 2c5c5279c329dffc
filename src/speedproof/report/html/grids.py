"""Tables of a page: as on a terminal, and where cells tell speedups, these drawn along an axis beside them."""

from __future__ import annotations

from dataclasses import dataclass

from speedproof.report.blocks import Style, Table
from speedproof.report.html.axis import Tick, ratio_axis
from speedproof.report.html.rows import Interval, drawing_height, laid

__all__ = ["Drawing", "Grid", "grid"]

_KINDS: dict[Style, str] = {"good": "faster", "bad": "slower", "doubt": "undecided"}
"""Classes of the colours; a cell without a style tells of what is equivalent."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """What is drawn beside a column.

    Attributes
    ----------
    name : str
        Of the axis, by which the rows refer to it: no other of the page has it.
    column : int
        Beside which.
    ticks : tuple of Tick
        Where, and their labels.
    one : float
        The place of a speedup of 1.
    height : int
        Of a row's drawing, in pixels.
    intervals : tuple of Interval or None
        A row each.
    """

    name: str
    column: int
    ticks: tuple[Tick, ...]
    one: float
    height: int
    intervals: tuple[Interval | None, ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """A table, and what is drawn in it; None where no cell tells a speedup."""

    table: Table
    drawing: Drawing | None


def grid(table: Table, name: str) -> Grid:
    """Lay a table out.

    Parameters
    ----------
    table : Table
        The first of its columns that has a cell with a speedup is drawn.
    name : str
        What the axis is called in the page.

    Returns
    -------
    Grid
        With an axis that all rows share.

    Examples
    --------
    >>> from speedproof.report.blocks import Cell, Column
    >>> from speedproof.stats.estimate import Estimate
    >>> row = (Cell("new"), Cell("2.000 [0.500, inf]", "good", Estimate(2.0, 0.5, float("inf"), 0.95)))
    >>> found = grid(Table((Column("candidate"), Column("speedup")), (row,)), "axis").drawing
    >>> found.column, [(i.verdict, i.high_beyond) for i in found.intervals]
    (1, [('faster', True)])
    >>> grid(Table((Column("candidate"),), ((Cell("new"),),)), "axis").drawing is None
    True
    """
    columns = range(len(table.columns))
    column = next((i for i in columns if any(row[i].speedup for row in table.rows)), None)
    if column is None:
        return Grid(table, None)
    cells = [row[column] for row in table.rows]
    speedups = [cell.speedup for cell in cells if cell.speedup is not None]
    axis = ratio_axis([s.value for s in speedups], [b for s in speedups for b in (s.low, s.high)])
    intervals = tuple(
        None if c.speedup is None else laid(c.speedup, axis, "dot", 0, _KINDS.get(c.style, "equivalent"))
        for c in cells
    )
    return Grid(table, Drawing(name, column, axis.labelled(), axis.place(1.0), drawing_height(1), intervals))

"""The ranking of versions by single runs, benchmark by benchmark, as blocks of a report."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from speedproof.data.suite import Key
from speedproof.data.units import format_values
from speedproof.protocols.ranking import RunRanking
from speedproof.report.blocks import Block, Cell, Column, Table, Text
from speedproof.report.ranking import advice, place_cell, separation_blocks
from speedproof.stats.estimate import Estimate

if TYPE_CHECKING:
    from speedproof.protocols.modes import ModeComparison

__all__ = ["run_ranking_blocks"]


def run_ranking_blocks(
    key: Key, unit: str, ranking: RunRanking, changes: ModeComparison | None
) -> Iterator[Block]:
    """One benchmark: a table of the versions, who is not told apart, what to run, what became of modes."""
    columns = (
        Column("place", right=True), Column("version"), Column("n", right=True), Column("mean", right=True),
        Column("median", right=True), Column("modes", right=True), Column("best single run", right=True),
        Column("ties add", right=True), Column("by mixtures", right=True),
    )  # fmt: skip
    rows = []
    for v in ranking.versions:
        mean, median = format_values([v.mean, v.median], unit)
        rows.append(
            (
                place_cell(v, doubtful=bool(v.doubts)), Cell(v.version, "strong"), Cell(str(v.n)),
                Cell(mean), Cell(median), Cell("-" if v.modes is None else str(v.modes)), Cell(_chance(v.chance)),
                Cell(f"{100 * v.ties:.1f} %"), Cell(_chance(v.mixture_chance)),
            )
        )  # fmt: skip
    yield Table(columns, tuple(rows), f"{key.benchmark}: {key.metric}")
    yield from separation_blocks(ranking)
    yield Text(advice(ranking))
    if changes is not None:
        yield Text(f"modes: {changes.conclusion}")
    yield Text("")


def _chance(e: Estimate | None) -> str:
    if e is None:
        return "-"
    return f"{100 * e.value:.1f} % [{100 * e.low:.1f}, {100 * e.high:.1f}]"

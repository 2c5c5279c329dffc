"""Modes of two versions as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from speedproof.data.units import format_value, format_values
from speedproof.protocols.modes import ModeComparison
from speedproof.report.blocks import Block, Cell, Column, Table, Text
from speedproof.report.wording import percent, ratio

__all__ = ["modes_blocks"]


def modes_blocks(found: Sequence[ModeComparison], versions: tuple[str, str]) -> Iterator[Block]:
    """One row a benchmark: its modes in both versions, and what changed.

    Parameters
    ----------
    found : sequence of ModeComparison
        Those that could be modelled.
    versions : (str, str)
        Reference and candidate.

    Yields
    ------
    Text or Table
        A heading, the table, the changes of benchmarks with several modes.
    """
    yield Text(f"Modes that runs fall into: {versions[1]} against {versions[0]}", "strong")
    columns = (
        Column("benchmark"), Column("modes of the reference"), Column("modes of the candidate"),
        Column("E|X-Y|", right=True), Column("P[Y<X]", right=True), Column("what changed", wraps=True),
    )  # fmt: skip
    rows = tuple(
        (
            Cell(c.benchmark, "strong"),
            Cell(_places(c.reference_modes, c.unit)),
            Cell(_places(c.candidate_modes, c.unit)),
            Cell(format_value(c.gap, c.unit, 3)),
            Cell(f"{c.candidate_lower:.2f}"),
            Cell(c.conclusion),
        )
        for c in found
    )
    yield Table(columns, rows)
    for c in found:
        if len(c.matched) < 2 or not (c.moved or c.reweighted):
            continue
        for mode in c.matched:
            places = format_values([mode.reference, mode.candidate], c.unit)
            shares = f"{percent(mode.reference_share, 2)} to {percent(mode.candidate_share, 2)} of the runs"
            r = mode.ratio
            yield Text(
                f"  {c.benchmark}: the mode at {places[0]} is at {places[1]}, speedup {ratio(r.value)} "
                f"[{ratio(r.low)}, {ratio(r.high)}]{'' if mode.moved else ' (not shown)'}; from {shares}"
                f"{'' if mode.reweighted else ' (not shown)'}",
                "dim",
            )
    if found:
        yield Text(
            f"The risk that anything is claimed of two equal versions is {percent(found[0].alpha)} a benchmark.",
            "dim",
        )


def _places(places: Sequence[float], unit: str) -> str:
    return ", ".join(format_values(list(places), unit, 4))

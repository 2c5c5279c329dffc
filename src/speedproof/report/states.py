"""States of two versions as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from speedproof.data.units import format_value, format_values
from speedproof.mixture.changes import FEW_RUNS
from speedproof.protocols.states import StateComparison
from speedproof.report.blocks import Block, Cell, Column, Table, Text
from speedproof.report.wording import percent, ratio

__all__ = ["states_blocks"]


def states_blocks(found: Sequence[StateComparison], versions: tuple[str, str]) -> Iterator[Block]:
    """One row a benchmark: its states in both versions, and what changed.

    Parameters
    ----------
    found : sequence of StateComparison
        Those that could be modelled.
    versions : (str, str)
        Reference and candidate.

    Yields
    ------
    Text or Table
        A heading, the table, the changes of benchmarks with several states.
    """
    yield Text(f"States that runs fall into: {versions[1]} against {versions[0]}", "strong")
    columns = (
        Column("benchmark"), Column("states of the reference"), Column("states of the candidate"),
        Column("E|X-Y|", right=True), Column("P[Y<X]", right=True), Column("what changed", wraps=True),
    )  # fmt: skip
    rows = tuple(
        (
            Cell(c.benchmark, "strong"),
            Cell(_places(c.reference_states, c.unit)),
            Cell(_places(c.candidate_states, c.unit)),
            Cell(format_value(c.gap, c.unit, 3)),
            Cell(f"{c.candidate_lower:.2f}"),
            Cell(c.changes.conclusion),
        )
        for c in found
    )
    yield Table(columns, rows)
    for c in found:
        if len(c.changes.matched) < 2:
            continue
        for state in c.changes.matched:
            if state.runs < FEW_RUNS:
                continue
            places = format_values([state.reference, state.candidate], c.unit)
            shares = f"{percent(state.reference_share, 2)} to {percent(state.candidate_share, 2)} of the runs"
            r = state.ratio
            yield Text(
                f"  {c.benchmark}: the state at {places[0]} is at {places[1]}, speedup {ratio(r.value)} "
                f"[{ratio(r.low)}, {ratio(r.high)}]; from {shares}",
                "dim",
            )


def _places(places: Sequence[float], unit: str) -> str:
    return ", ".join(format_values(list(places), unit, 4))

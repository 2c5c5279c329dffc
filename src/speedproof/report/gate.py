"""The gate's answer as text for a terminal or a log."""

from __future__ import annotations

from collections.abc import Iterator

from speedproof.protocols.gate import GateResult
from speedproof.report.blocks import Block, Cell, Column, Fitted, Style, Table, Text
from speedproof.report.gate_wording import (
    GATE_STYLES,
    MOST_LISTED,
    absences,
    also_proven,
    asked,
    few_of,
    gate_conclusion,
    gate_doubts,
    gate_remarks,
    gate_risks,
    in_order,
    marked_outcome,
    named,
    runs,
)
from speedproof.report.wording import bounds, plural, pvalue

__all__ = ["gate_blocks", "gate_notes"]

_LEGEND = (
    "+ pass: what is asked is proven  - fail: the opposite is proven  ? undecided  ! only if the runs are what "
    "the tests assume; in brackets the certified bounds"
)


def gate_blocks(result: GateResult) -> Iterator[Block]:
    """The whole gate.

    Parameters
    ----------
    result : GateResult
        Of one gate.

    Yields
    ------
    Text or Fitted
        The conclusion, the table with failing benchmarks first, what is absent, what would decide.
    """
    yield Text(f"gate: {result.candidate} against {result.reference}", "strong")
    yield Text(gate_conclusion(result), GATE_STYLES[result.outcome])
    if result.rows:
        yield Text(gate_risks(result), "dim")
        yield from (Text(text, "doubt") for text in gate_doubts(result))
        yield Text("")
        yield _table(result)
        yield Text(_LEGEND, "dim")
    yield from gate_notes(result)


def gate_notes(result: GateResult) -> Iterator[Text]:
    """What there is to say of a gate beside its answer and its table.

    Parameters
    ----------
    result : GateResult
        Of one gate.

    Yields
    ------
    Text
        What is missing, what to mind, what has no bearing, what was left out.
    """
    yield from _listed("Missing, which fails the gate:", absences(result), "bad")
    yield from _listed("What to mind:", gate_remarks(result), "")
    if result.added:
        yield Text("")
        yield Text(
            f"New in {result.candidate}, without bearing: {few_of(result.added)} "
            f"({plural(len(result.added), 'benchmark')}).",
            "dim",
        )
    if result.ignored:
        yield Text("")
        yield Text(f"Ignored by the settings: {few_of(result.ignored)}.", "dim")


def _listed(title: str, lines: list[str], style: Style) -> Iterator[Text]:
    if not lines:
        return
    yield Text("")
    yield Text(title)
    for line in lines[:MOST_LISTED]:
        yield Text(f"  {line}", style)
    if len(lines) > MOST_LISTED:
        yield Text(f"  and {len(lines) - MOST_LISTED} more", style)


def _table(result: GateResult) -> Fitted:
    rows = in_order(result)
    columns = {
        "benchmark": Column("benchmark"),
        "outcome": Column("outcome"),
        "runs": Column("runs", right=True),
        "speedup": Column(f"speedup of {result.rules.protocol}"),
        "asked": Column("asked"),
        "p": Column("p", right=True),
        "p fail": Column("p of opposite", right=True),
        "also": Column("also proven"),
    }
    cells = [
        {
            "benchmark": Cell(name),
            "outcome": Cell(marked_outcome(row), GATE_STYLES[row.outcome]),
            "runs": Cell(runs(row)),
            "speedup": Cell(bounds(row.comparison.certified)),
            "asked": Cell(asked(row)),
            "p": Cell(pvalue(row.required.adjusted)),
            "p fail": Cell(pvalue(row.contradicted.adjusted)),
            "also": Cell(also_proven(row)),
        }
        for name, row in zip(named(rows), rows, strict=True)
    ]

    def variant(*without: str, wraps: bool = False) -> Table:
        kept = [name for name in columns if name not in without]
        titles = {**columns, "benchmark": Column("benchmark", wraps=wraps)}
        return Table(tuple(titles[n] for n in kept), tuple(tuple(row[n] for n in kept) for row in cells))

    return Fitted(
        (
            variant(),
            variant("p fail"),
            variant("p", "p fail"),
            variant("p", "p fail", "runs"),
            variant("p", "p fail", "runs", "also"),
            variant("p", "p fail", "runs", "also", wraps=True),
            variant("p", "p fail", "runs", "also", "asked", wraps=True),
        )
    )

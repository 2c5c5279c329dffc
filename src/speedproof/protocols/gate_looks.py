"""A gate that is asked several times while measuring goes on.

Each look has an equal part of the risk, so that all together have it. What passed at one look is measured no more;
a fail ends the gate; the rest is measured anew, and asked the same again.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from msgspec.structs import replace

from speedproof.data.notes import Note
from speedproof.errors import DataError
from speedproof.options import Multiplicity
from speedproof.protocols.claims import Outcome, overall
from speedproof.protocols.gate import GateDecision, GateRow, GateRules


def first_of(rules: GateRules, looks: int) -> GateRules:
    """The rules of the first of several looks."""
    return replace(rules, alpha=rules.alpha / looks, looks=looks)


def next_of(
    before: GateDecision, alpha: float | None, multiplicity: Multiplicity | None, protocol: str | None
) -> GateRules:
    """The rules of the look after; what is asked for must be what the first was asked."""
    rules = before.rules
    asked = replace(
        rules,
        alpha=rules.alpha if alpha is None else alpha / rules.looks,
        multiplicity=multiplicity or rules.multiplicity,
        protocol=protocol or rules.protocol,
    )
    if asked != rules:
        raise DataError("confidence, protocol and multiplicity are chosen once, for all looks")
    return replace(rules, look=rules.look + 1, family=len(before.rows))


def together(before: GateDecision, now: GateDecision) -> GateDecision:
    """What a look and those before it say of all benchmarks."""
    fresh = {_key(row): row for row in now.rows}
    for row in before.rows:
        if (again := fresh.get(_key(row))) is not None and again.demand != row.demand:
            raise DataError(
                f"{row.comparison.benchmark}: policy and margin are chosen once, for all looks: "
                f"{row.demand.policy.value}, {row.demand.margin:g}"
            )
    rows = []
    for row in before.rows:
        again = fresh.pop(_key(row), row)
        # A pass is proven, whatever more runs leave open.
        kept = (row.outcome, again.outcome) == (Outcome.PASS, Outcome.UNDECIDED)
        rows.append(row if kept else again)
    rows += fresh.values()
    caveats = _caveats(
        [(before.caveats, [row for row in rows if row in before.rows]), (now.caveats, now.rows)],
        {row.comparison.benchmark for row in rows},
    )
    return replace(
        now,
        outcome=overall((row.outcome for row in rows), incomplete=bool(now.absent)),
        rows=tuple(rows),
        added=before.added,
        ignored=before.ignored,
        caveats=caveats,
        machine=before.machine or now.machine,
    )


def _key(row: GateRow) -> tuple[str, str]:
    return row.comparison.benchmark, row.comparison.metric


def _caveats(
    looks: Sequence[tuple[Sequence[Note], Sequence[GateRow]]], everything: Set[str]
) -> tuple[Note, ...]:
    """Each caveat with its benchmarks, at whichever look they were measured."""
    found: dict[tuple[object, ...], tuple[Note, set[str]]] = {}
    for caveats, rows in looks:
        names = {row.comparison.benchmark for row in rows}
        for c in caveats:
            found.setdefault(c.alike, (c, set()))[1].update(names.intersection(c.benchmarks or names))
    return tuple(
        replace(note, benchmarks=() if names == everything else tuple(sorted(names)))
        for note, names in found.values()
        if names
    )

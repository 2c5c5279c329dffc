"""Two versions on one benchmark: a sentence, both sides in numbers, and how sure a single run is."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from speedproof.data.units import scale_of
from speedproof.protocols.results import Comparison, Verdict
from speedproof.protocols.suite import SuiteComparison
from speedproof.reporting.caveats import beside_medians, failed, undermining
from speedproof.reporting.model import Cell, Column, Outcome, Report, Row, Table, Text, right
from speedproof.reporting.names import nicknames, spoken
from speedproof.reporting.numbers import values
from speedproof.reporting.words import (
    CHANGED,
    STYLES,
    chance,
    counted_runs,
    named,
    proof,
    several,
    spread,
    verdict,
)

OUTCOMES: dict[Verdict, Outcome] = {
    Verdict.FASTER: "passed",
    Verdict.EQUIVALENT: "passed",
    Verdict.SLOWER: "failed",
    Verdict.UNDECIDED: "undecided",
}


def report(result: SuiteComparison, head: Comparison) -> Report:
    """One benchmark: a sentence, both sides in numbers, the chance of a faster run."""
    old, new = spoken([result.reference, result.candidate])
    head = named(head, old, new)
    undermined = tuple(undermining([head]))
    return Report(
        "",
        (Text(verdict(head, result.margin), STYLES[head.verdict] or "strong", proof(head)),),
        (_sides(head, result.margin),),
        (
            *_chances(result, head),
            *_opposed(result, head, old, new),
            *beside_medians([head] if head.verdict in CHANGED else ()),
            *(undermined or _held(result, head)),
        ),
        ("Why: --explain", "Page: --html report.html"),
    )


def _held(result: SuiteComparison, head: Comparison) -> Iterator[Text]:
    """Whether its checks hold, and whether those of other protocols do, where nothing undermines it."""
    lost = [kind.title for kind in failed([head], undermining=False) if kind.undermines != "nothing"]
    others = any(not c.held and c.kind.undermines != "nothing" for o in result.comparisons for c in o.checks)
    if lost:
        yield Text(f"Not met: {', '.join(lost)}.", "dim")
    elif head.checks and not head.failed_checks:
        yield Text("All checks of the typical run hold." if others else "All checks hold.", "dim")


def _sides(head: Comparison, margin: float | None) -> Table:
    """Both versions: median, mean with its spread, ends, runs."""
    sides = (head.reference, head.candidate)
    unit = sides[0].unit
    scale = scale_of(max((abs(s.median) for s in sides if math.isfinite(s.median)), default=1.0), unit)
    medians = values([s.median for s in sides], unit, scale=scale)
    columns = (
        Column(head.benchmark, names=True),
        *right("median", "mean"),
        *right("min", drop=1),
        *right("max", drop=2),
        *right(several(head.repeated)),
    )
    rows = []
    for side, median in zip(sides, medians, strict=True):
        mean, *ends = (values([v], unit, scale=scale)[0] for v in (side.mean, side.minimum, side.maximum))
        told = Cell(f"{mean}{spread(side)}", shorter=(mean,))
        ends = [end.removesuffix(scale[1]).rstrip() for end in ends]
        rows.append(
            Row.of(Cell(side.label, "strong"), median, told, *ends, counted_runs(side.n, side.observations))
        )
    # The second row is the one that is judged.
    outcome, message = OUTCOMES[head.verdict], sentence(head, margin)
    return Table.of(
        columns, (rows[0], replace(rows[1], name=head.benchmark, outcome=outcome, message=message))
    )


def sentence(head: Comparison, margin: float | None, *, shaken: bool = False) -> str:
    """The verdict with its proof."""
    told = proof(head, shaken=shaken)
    return f"{verdict(head, margin)}; {told}" if told else verdict(head, margin)


def _chances(result: SuiteComparison, head: Comparison) -> Iterator[Text]:
    probable = (c for c in result.comparisons if c.quantity == "probability")
    of = head if head.chance else next(probable, None)
    if of is None or head.quantity == "probability":
        return
    estimate = of.chance or of.speedup
    if math.isnan(estimate.value):
        return
    old, new = nicknames([result.reference, result.candidate])
    yield Text(f"{chance(estimate, new, old, of.verdict, head.repeated)}.")


def _opposed(result: SuiteComparison, head: Comparison, old: str, new: str) -> Iterator[Text]:
    """The protocols that prove the opposite, and a ratio of medians that points there."""
    for other in opposite(result.comparisons, head):
        told = verdict(named(other, old, new), result.margin)
        yield Text(f"But {told}.", "warning")
    if turned(head):
        why = "runs fall into groups that ranks see and medians miss."
        yield Text(f"The medians differ the other way: {why}", "dim")


def opposite(comparisons: Sequence[Comparison], head: Comparison) -> list[Comparison]:
    """The protocols that prove the opposite of the headline."""
    other = {Verdict.FASTER: Verdict.SLOWER, Verdict.SLOWER: Verdict.FASTER}.get(head.verdict)
    return [
        c
        for c in comparisons
        if c.benchmark == head.benchmark and c.verdict is other and c.quantity == "speedup"
    ]


def turned(head: Comparison) -> bool:
    """Whether the medians that stand beside the verdict point the other way."""
    old, new = head.reference.median, head.candidate.median
    if head.verdict not in CHANGED or not all(v > 0 for v in (old, new, head.speedup.value)):
        return False
    higher = head.reference.higher_is_better
    rate = head.reference.unit.endswith("/s") if higher is None else higher
    return max(old / new, new / old) > 1.0005 and (head.verdict is Verdict.FASTER) != ((old > new) != rate)

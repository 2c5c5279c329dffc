"""Two versions on one benchmark: a sentence, both sides in numbers, and how sure a single run is."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from speedproof.data.units import scale_of
from speedproof.protocols.aggregates import LogRatios
from speedproof.protocols.figures import verdict_of
from speedproof.protocols.questions import QUESTIONS
from speedproof.protocols.results import Comparison, Verdict
from speedproof.protocols.suite import SuiteComparison
from speedproof.reporting import words
from speedproof.reporting.model import Cell, Column, Outcome, Report, Row, Table, Text, right
from speedproof.reporting.names import nicknames, spoken
from speedproof.reporting.notes import beside_medians, failed, undermining
from speedproof.reporting.numbers import values

OUTCOMES: dict[Verdict, Outcome] = {
    Verdict.FASTER: "passed",
    Verdict.EQUIVALENT: "passed",
    Verdict.SLOWER: "failed",
    Verdict.UNDECIDED: "undecided",
}


def report(result: SuiteComparison, head: Comparison) -> Report:
    """One benchmark: a sentence, both sides in numbers, the chance of a faster run."""
    old, new = spoken([result.reference, result.candidate])
    told = words.named(head, old, new)
    style = words.STYLES[head.verdict] or "strong"
    answer = f"{words.metric_first(result.metric)}{words.verdict(told, result.margin)}"
    return Report(
        "",
        (Text(answer, style, words.proof(told)),),
        (_sides(told, result.margin),),
        tuple(_notes(result, told)),
        ("Why: --explain", "Page: --html report.html"),
    )


def _notes(result: SuiteComparison, head: Comparison) -> Iterator[Text]:
    """The chance of a faster run, what contradicts the verdict, and whether the checks hold."""
    old, new = nicknames([result.reference, result.candidate])
    probable = (c for c in result.comparisons if c.quantity == "probability")
    of = head if head.chance else next(probable, None)
    if of is not None and head.quantity != "probability":
        estimate = of.chance or of.speedup
        if not math.isnan(estimate.value):
            yield Text(f"{words.chance(of, estimate, new, old)}.")
    for other in opposite(result.comparisons, head):
        told = f"{head.candidate.label} is {words.natural(other)} than {head.reference.label}"
        yield Text(f"But {otherwise(other)} {told}{words.slow_runs(other)}.", "warning")
    if turned(head):
        why = "runs fall into groups that ranks see and medians miss."
        yield Text(f"The medians differ the other way: {why}", "dim")
    yield from beside_medians([head] if head.verdict in words.CHANGED else ())
    undermined = tuple(undermining([head]))
    yield from undermined
    lost = [kind.title for kind in failed([head], undermining=False) if kind.undermines != "nothing"]
    if lost and not undermined:
        yield Text(f"Not met: {', '.join(lost)}.", "dim")
    elif head.checks and not head.failed_checks:
        # Those of other protocols may fail where this one's hold.
        others = (c for o in result.comparisons for c in o.checks if not c.held)
        whose = " of the typical run" if any(c.kind.undermines != "nothing" for c in others) else ""
        yield Text(f"All checks{whose} hold.", "dim")


def _sides(head: Comparison, margin: float | None) -> Table:
    """Both versions: median, mean with its spread, ends, runs."""
    sides = (head.reference, head.candidate)
    unit = sides[0].unit
    scale = scale_of(max((abs(s.median) for s in sides if math.isfinite(s.median)), default=1.0), unit)
    medians = values([s.median for s in sides], unit, scale=scale)
    quantiles = values(head.quantiles or (), unit, scale=scale)
    columns = (
        Column(head.benchmark, names=True),
        *right(*([head.protocol.upper()] if quantiles else []), "median", "mean"),
        *right("min", drop=1),
        *right("max", drop=2),
        *right(words.several(head.repeated)),
    )
    rows = []
    for i, (side, median) in enumerate(zip(sides, medians, strict=True)):
        mean, *ends = (values([v], unit, scale=scale)[0] for v in (side.mean, side.minimum, side.maximum))
        told = Cell(f"{mean}{words.spread(side)}", shorter=(mean,))
        ends = [end.removesuffix(scale[1]).rstrip() for end in ends]
        rows.append(
            Row.of(
                Cell(side.label, "strong"),
                *quantiles[i : i + 1],
                median,
                told,
                *ends,
                words.counted_runs(side.n, side.observations),
            )
        )
    # The second row is the one that is judged.
    outcome, message = OUTCOMES[head.verdict], sentence(head, margin)
    return Table.of(
        columns, (rows[0], replace(rows[1], name=head.benchmark, outcome=outcome, message=message))
    )


def sentence(head: Comparison, margin: float | None, *, shaken: bool = False) -> str:
    """The verdict with its proof."""
    return "; ".join(filter(None, (words.verdict(head, margin), words.proof(head, shaken=shaken))))


def opposite(comparisons: Sequence[Comparison], head: Comparison) -> list[Comparison]:
    """The protocols that prove the opposite of the headline."""
    other = {Verdict.FASTER: Verdict.SLOWER, Verdict.SLOWER: Verdict.FASTER}.get(head.verdict)
    return [
        c
        for c in comparisons
        if c.benchmark == head.benchmark and c.quantity == "speedup" and other in (c.verdict, _on_average(c))
    ]


def _on_average(c: Comparison) -> Verdict:
    """What the means prove, also of few skewed runs: those that now and then are slow make the larger mean."""
    if c.protocol != "mean" or c.log is None or c.floor is not None:
        return Verdict.UNDECIDED
    mean = LogRatios.of(c.speedup.value, c.log).mean(like_these=False)
    return verdict_of(mean.pvalue(), mean.pvalue(less=True), None, c.alpha)


def otherwise(c: Comparison) -> str:
    """By which measure another protocol sees the opposite."""
    return words.AVERAGE if c.protocol == "mean" else QUESTIONS[c.protocol].where


def turned(head: Comparison) -> bool:
    """Whether the medians that stand beside the verdict point the other way."""
    old, new = head.reference.median, head.candidate.median
    if head.verdict not in words.CHANGED or not all(v > 0 for v in (old, new, head.speedup.value)):
        return False
    higher = head.reference.higher_is_better
    rate = head.reference.unit.endswith("/s") if higher is None else higher
    return max(old / new, new / old) > 1.0005 and (head.verdict is Verdict.FASTER) != ((old > new) != rate)

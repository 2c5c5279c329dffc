"""One answer as every sheet shows it: both times, the change with its bound, and what speaks against it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count
from operator import attrgetter

from msgspec import Struct

from speedproof.conclude.multiplicity import Controlled
from speedproof.conclude.suite import SuiteComparison
from speedproof.data.notes import Note
from speedproof.options import WORTH_KNOWING
from speedproof.protocols.aggregates import LogRatios, banded
from speedproof.protocols.questions import QUESTIONS
from speedproof.protocols.results import SEQUENTIAL, Comparison, Verdict
from speedproof.protocols.units import several
from speedproof.reporting import words
from speedproof.reporting.model import (
    Cell,
    Column,
    Later,
    Meaning,
    Records,
    Row,
    Style,
    Table,
    Text,
    Value,
    right,
)
from speedproof.reporting.names import labels, spoken
from speedproof.reporting.numbers import percent, plural, share, values
from speedproof.stats.estimate import Estimate

OUTCOMES: dict[Verdict, Meaning] = {
    Verdict.FASTER: "passed",
    Verdict.EQUIVALENT: "passed",
    Verdict.SLOWER: "failed",
    Verdict.UNDECIDED: "undecided",
}
_BANDS = ("over 5 %", "2 to 5 %", "below 2 %")
_BRIEF = 9


class Voice(Struct, frozen=True):
    """The wording of a sheet."""

    better: str  # what gains and losses are called
    worse: str
    margin: float | None = None  # of equivalence
    shaken: bool = False  # whether nothing that is shown is proven

    @classmethod
    def of(cls, *results: SuiteComparison) -> Voice:
        """The wording for results of one metric."""
        first = results[0]
        decided = [c for r in results for c in r.headlines if c.verdict is not Verdict.UNDECIDED]
        shaken = bool(decided) and not any(c.proven for c in decided)
        shaken = shaken or any(result.machine is not None for result in results)
        return cls(*words.gain_and_loss(first.comparisons[0]), first.margin, shaken)

    @property
    def kinds(self) -> dict[Verdict, str]:
        """The label of each verdict in counts."""
        return words.verdict_words(self.better, self.worse)

    @property
    def shown(self) -> str:
        """The word for a decided verdict: "proven", or "shown" if nothing is proven."""
        return "shown" if self.shaken else "proven"

    def asked(self, protocol: str, alpha: float) -> str:
        """The question answered and its confidence."""
        return words.asked(protocol, alpha, shaken=self.shaken)

    def answer(self, metric: str, of: str, counts: Mapping[Verdict, int], asked: str) -> Text:
        """The answer about many benchmarks."""
        counted = words.counted(counts, self.kinds)
        return Text(f"{words.metric_first(metric)}{of}: {counted}", "strong", asked)

    def geometric_mean(self, estimate: Estimate, known: int, of: int) -> Text:
        """The ratio over a suite, of which so many benchmarks have one; none where no interval shows it."""
        low, high = estimate.ends
        shown = not (math.isnan(low) or math.isinf(high))
        ratio = "not shown (a benchmark has no bounds)"
        if shown:
            ratio = words.interval(estimate, self.better, self.worse)
        some = f" ({known} of {plural(of, 'benchmark')})" if known < of else ""
        return Text(f"Geometric mean: {ratio}{some}")

    def jointly(self, family: Controlled, heads: Sequence[Comparison]) -> Text:
        """How many verdicts hold together at one risk; of more claims than two a benchmark, how many."""
        kept = [f"{family.counts[v]} {word}" for v, word in [*self.kinds.items()][:3] if family.counts.get(v)]
        how = "Holm" if family.margin is None else f"Holm, {family.family} claims"
        return Text(
            f"At a joint risk of {percent(family.alpha)} ({how}): {', '.join(kept) or 'none'}"
            f"{'' if kept else _too_few(family, heads)}"
        )

    def bands(self, counts: Mapping[Verdict, Sequence[int]]) -> Table:
        """How many are proven to have changed by how much."""
        rows = (Row.of(self.kinds[v], *map(str, numbers)) for v, numbers in counts.items())
        return Table.of((Column(f"{self.shown} change"), *right(*_BANDS)), rows)

    @staticmethod
    def banded(heads: Sequence[Comparison]) -> dict[Verdict, tuple[int, ...]]:
        """For each verdict the number of bounds in each band."""
        return {
            verdict: banded(words.effect(c).bound for c in heads if c.verdict is verdict)
            for verdict in words.CHANGED[::-1]
        }

    @property
    def columns(self) -> tuple[Column, ...]:
        """After the times: what changed, by how much at least, and what speaks against it."""
        return Column("change"), Column(self.shown), Column("")

    def row(self, head: Comparison, names: Sequence[Cell | str], answers: Sequence[Comparison] = ()) -> Row:
        """An answer, with the other answers about the same benchmark that may contradict it."""

        def cells() -> Iterator[Cell | str]:
            yield from names
            yield from times(head)
            yield from self._change(head)
            marks = [*(["!"] if words.marked(head) else []), *_against(answers, head)]
            style: Style = "warning" if marks else "dim"
            # For undecided rows it is dropped first where room is short.
            shorter = (" ".join(marks),) if head.verdict is Verdict.UNDECIDED else ()
            if head.verdict is not Verdict.EQUIVALENT and (ratio := words.by_medians(head)):
                marks.append(f"medians {ratio}")
            yield Cell(" ".join(marks), style, shorter, spans=True)

        said = partial(self.sentence, head, answers)
        return Row(
            Later(cells), head.benchmark, OUTCOMES[head.proven_verdict], said, self.kinds[head.verdict]
        )

    def _change(self, head: Comparison) -> tuple[Cell, Cell]:
        style, certified = words.style(head), head.certified
        if head.quantity == "probability":
            return Cell(words.wins(head), style, spans=True), Cell("")
        if head.verdict in words.CHANGED:
            bound = words.effect(head).bound
            proven = Cell(words.at_least(bound), key=None if math.isnan(bound) else bound)
            return Cell(words.change(head), style, speedup=certified), proven
        seen = words.change(head)
        if head.verdict is Verdict.EQUIVALENT:
            same = f"= the same within {share(self.margin or WORTH_KNOWING)}"
            return Cell(same, shorter=(seen,), spans=True, speedup=certified), Cell("")
        full, brief = (f"undecided ({why})" if why else "undecided" for why in words.whys(head))
        runs = words.few(head)
        open_yet = Cell(full, "dim", (brief, f"needs {runs}" if runs else "undecided"), spans=True)
        return Cell(seen, "dim", speedup=certified), open_yet

    def sentence(self, head: Comparison, answers: Sequence[Comparison] = ()) -> str:
        """The verdict with its proof, and what contradicts it."""
        verdict, proof = words.verdict(head, self.margin), words.proof(head)
        return "; ".join(filter(None, (verdict, proof, *_against(answers, head))))


def times(c: Comparison) -> list[Cell]:
    """The values compared, of both sides."""
    located = words.located(c)
    shown = values(located, c.reference.unit)
    return [Cell(text, key=value) for text, value in zip(shown, located, strict=True)]


def interval_cell(estimate: Estimate, better: str = "faster", worse: str = "slower") -> Cell:
    """A ratio with its interval, which goes where there is less room."""
    brief = words.observed(estimate.value, better, worse)
    return Cell(words.interval(estimate, better, worse), shorter=(brief,), speedup=estimate)


def version_columns(*versions: str) -> tuple[Column, ...]:
    """A column of numbers for each version, which is called as in rows where there is room."""
    titles = zip(spoken(versions), labels(versions, _BRIEF), strict=True)
    # A title with an ellipsis saves a few columns and costs the name.
    return tuple(
        Column(title, right=True, brief="" if "…" in brief and "…" not in title else brief)
        for title, brief in titles
    )


def opposite(comparisons: Sequence[Comparison], head: Comparison) -> list[tuple[str, Comparison]]:
    """Answers that prove the opposite of the headline, or a larger effect of the mean, with their subject."""
    other = {Verdict.FASTER: Verdict.SLOWER, Verdict.SLOWER: Verdict.FASTER}.get(head.verdict)
    return [
        (words.AVERAGE if c.protocol == "mean" else QUESTIONS[c.protocol].where, c)
        for c in comparisons
        if c.benchmark == head.benchmark
        and c.quantity == "speedup"
        and (c.verdict is other or _on_average(c, head))
    ]


def _against(answers: Sequence[Comparison], head: Comparison) -> list[str]:
    return [f"{where} {words.natural(c)}{words.slow_runs(c)}" for where, c in opposite(answers, head)]


def _on_average(c: Comparison, head: Comparison) -> bool:
    """Whether the means prove it, also of skewed runs: those that are slow now and then make the larger mean."""
    if c.protocol != "mean" or c is head or c.log is None or c.floor is not None:
        return False
    low, high = (math.log(end) if end > 0.0 else -math.inf for end in _said(head))
    if low <= c.log.centre <= high:
        return False  # as most: the tails of each need not be known
    mean = LogRatios.of(c.speedup.value, c.log).mean(like_these=False)
    worse, better = mean.pvalue_of_means(low, less=True), mean.pvalue_of_means(high)
    return min(worse, better) <= c.alpha


def _said(head: Comparison) -> tuple[float, float]:
    """The range in which a row places the speedup; 0 or infinity for an unknown end."""
    if head.verdict is Verdict.EQUIVALENT:
        edge = 1.0 + (head.at_margin.margin if head.at_margin else WORTH_KNOWING)
        return 1.0 / edge, edge
    if head.verdict is Verdict.UNDECIDED:
        low, high = head.certified.ends if head.quantity == "speedup" else (math.nan, math.nan)
        return 0.0 if math.isnan(low) else low, math.inf if math.isnan(high) else high
    return (1.0, math.inf) if head.verdict is Verdict.FASTER else (0.0, 1.0)


def contradicted(where: str, other: Comparison, new: str, old: str) -> str:
    """A contradicting answer in a sentence without its full stop."""
    return f"{where} {new} is {words.natural(other)} than {old}{words.slow_runs(other)}"


def _names(checks: tuple[Note, ...]) -> str:
    return "; ".join(dict.fromkeys(check.name for check in checks))


_OF_A_SIDE = ("n", "observations", "mean", "median", "minimum", "maximum", "deviation", "mad")


def _of_side(side: str) -> dict[str, Callable[[Comparison], Value]]:
    numbers = {f"{side}_{name}": attrgetter(f"{side}.{name}") for name in _OF_A_SIDE}
    return {**numbers, f"{side}_needed": lambda c: getattr(c.needed, side) if c.needed else None}


COLUMNS: dict[str, Callable[[Comparison], Value]] = {
    "metric": lambda c: c.metric,
    "unit": lambda c: c.reference.unit,
    "benchmark": lambda c: c.benchmark,
    "protocol": lambda c: c.protocol,
    "verdict": lambda c: c.verdict.value,
    "speedup": lambda c: c.speedup.value,
    "low": lambda c: c.speedup.low,
    "high": lambda c: c.speedup.high,
    "confidence": lambda c: c.speedup.confidence,
    "state": lambda c: c.state.value,
    "test": lambda c: c.test,
    "pvalue": lambda c: c.pvalue,
    "pvalue_slower": lambda c: c.pvalue_slower,
    "failed_checks": lambda c: _names(c.failed_checks),
    "undermining": lambda c: _names(c.undermining),
    **_of_side("reference"),
    **_of_side("candidate"),
}
"""After the names of both versions. Values are in the base unit of ``unit``; NaN and None are no number."""


def records(*results: SuiteComparison) -> Records:
    """The numbers of suites, of one metric each."""
    rows = (
        (result.reference, result.candidate, *(of(c) for of in COLUMNS.values()))
        for result in results
        for c in result.comparisons
    )
    return ("reference", "candidate", *COLUMNS), rows


def _too_few(family: Controlled, heads: Sequence[Comparison]) -> str:
    """What it takes where so few runs of so many benchmarks cannot prove anything together; else empty."""
    least = QUESTIONS[family.protocol].least_pvalue
    most = max((min(c.reference.n, c.candidate.n) for c in heads if c.test != SEQUENTIAL), default=0)
    if not most or family.family * least(most, most) <= family.alpha:
        return ""
    enough = next(n for n in count(most) if family.family * least(n, n) <= family.alpha)
    return f"; it takes {enough} {several(heads[0].repeated)} of each version"

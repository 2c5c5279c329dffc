"""One answer as every sheet shows it: both times, the change with its bound, and what speaks against it.

Notes - what data cannot know, what was seen against an assumption - become sentences that say what to do.
"""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter

from msgspec import Struct

from speedproof.data.notes import Assumption, Note
from speedproof.options import HEADLINE, WORTH_KNOWING
from speedproof.protocols.aggregates import LogRatios
from speedproof.protocols.caveats import MachineSpeeds
from speedproof.protocols.figures import verdict_of
from speedproof.protocols.questions import QUESTIONS
from speedproof.protocols.results import Comparison, Verdict
from speedproof.protocols.suite import SuiteComparison
from speedproof.reporting import words
from speedproof.reporting.model import Cell, Column, Outcome, Records, Row, Style, Table, Text, Value, right
from speedproof.reporting.names import factor, labels, level, nicknames, percent, plural, share, values
from speedproof.reporting.words import interval
from speedproof.stats.estimate import Estimate

OUTCOMES: dict[Verdict, Outcome] = {
    Verdict.FASTER: "passed",
    Verdict.EQUIVALENT: "passed",
    Verdict.SLOWER: "failed",
    Verdict.UNDECIDED: "undecided",
}
_BANDS = {"over 5 %": 0.05, "2 to 5 %": 0.02, "below 2 %": 0.0}
_TITLE, _BRIEF = 16, 9
_ROUNDING = 0.01


class Voice(Struct, frozen=True):
    """How a sheet speaks of its answers."""

    better: str  # what gains and losses are called
    worse: str
    margin: float | None = None  # of equivalence
    shaken: bool = False  # two speeds of the machine leave nothing proven

    @classmethod
    def of(cls, *results: SuiteComparison) -> Voice:
        """About results of one metric."""
        first = results[0]
        shaken = any(result.machine is not None for result in results)
        return cls(*words.gain_and_loss(first.comparisons[0]), first.margin, shaken)

    @property
    def kinds(self) -> dict[Verdict, str]:
        """What a row of each verdict is counted as."""
        return words.verdict_words(self.better, self.worse)

    @property
    def shown(self) -> str:
        """What a verdict is called."""
        return "shown" if self.shaken else "proven"

    def asked(self, protocol: str, alpha: float) -> str:
        """Which question was answered at which confidence."""
        return f"({words.asked_of(protocol)}, {'not proven' if self.shaken else level(1 - alpha)})"

    def answer(self, metric: str, of: str, counts: Mapping[Verdict, int], asked: str) -> Text:
        """The answer about many benchmarks."""
        counted = words.counted(counts, self.kinds)
        return Text(f"{words.metric_first(metric)}{of}: {counted}", "strong", asked)

    def geometric_mean(self, estimate: Estimate, known: int, of: int) -> Text:
        """The ratio over a suite, of which so many benchmarks have one."""
        return Text(words.geometric_mean(estimate, self.better, self.worse, (known, of)))

    def jointly(self, alpha: float, counts: Mapping[Verdict, int], claims: int = 0) -> Text:
        """How many verdicts hold together at one risk; of more claims than two a benchmark, how many."""
        kept = [f"{counts[v]} {word}" for v, word in [*self.kinds.items()][:3] if counts.get(v)]
        how = f"Holm, {claims} claims" if claims else "Holm"
        return Text(f"At a joint risk of {percent(alpha)} ({how}): {', '.join(kept) or 'none'}")

    def bands(self, counts: Mapping[Verdict, Sequence[int]]) -> Table:
        """How many are proven to have changed by how much."""
        rows = (
            Row.of(Cell(self.kinds[v], words.STYLES[v]), *map(str, numbers)) for v, numbers in counts.items()
        )
        return Table.of((Column(f"{self.shown} by"), *right(*_BANDS)), rows)

    @staticmethod
    def banded(heads: Sequence[Comparison]) -> dict[Verdict, list[int]]:
        """By verdict, how many bounds lie in each band."""
        counts = {}
        for verdict in words.CHANGED[::-1]:
            bounds = [words.effect(c).bound for c in heads if c.verdict is verdict]
            above = [sum(b - 1 >= least for b in bounds) for least in _BANDS.values()]
            above[-1] = len(bounds)  # also where no bound is proven
            counts[verdict] = [n - before for before, n in zip([0, *above], above, strict=False)]
        return counts

    @property
    def columns(self) -> tuple[Column, ...]:
        """After the times: what changed, by how much at least, and what speaks against it."""
        return Column("change"), Column(f"{self.shown} at least", brief=self.shown), Column("")

    def row(self, head: Comparison, names: Iterable[Cell | str], answers: Sequence[Comparison] = ()) -> Row:
        """An answer, with the other answers about the same benchmark that may contradict it."""
        marks = ["!"] if words.marked(head) else []
        marks += [f"{where} {words.natural(c)}{words.slow_runs(c)}" for where, c in opposite(answers, head)]
        style: Style = "warning" if marks else "dim"
        marks += [f"medians {ratio}"] if head.verdict in words.CHANGED and (ratio := by_medians(head)) else []
        return Row.of(
            *names,
            *times(head),
            *self._change(head),
            Cell(" ".join(marks), style, spans=True),
            name=head.benchmark,
            outcome=OUTCOMES[head.verdict],
            message=self.sentence(head),
            kind=self.kinds[head.verdict],
        )

    def _change(self, head: Comparison) -> tuple[Cell, Cell]:
        style, certified = words.STYLES[head.verdict], head.certified
        if head.quantity == "probability":
            return Cell(words.wins(head), style, spans=True), Cell("")
        if head.verdict in words.CHANGED:
            bound = words.effect(head).bound
            proven = Cell(words.at_least(bound), key=None if math.isnan(bound) else bound)
            return Cell(words.change(head), style, speedup=certified), proven
        brief, why = words.few(head), words.needs(head)
        shorter = [words.change(head)]
        if head.verdict is Verdict.EQUIVALENT:
            style = ""
            longest = f"= the same within {share(self.margin or WORTH_KNOWING)}"
        else:
            style = "dim"
            longest = f"~ undecided ({why})" if why and brief else "~ undecided"
            shorter[:0] = [f"~ undecided ({brief})"] if brief else []
        return Cell(longest, style, tuple(shorter), spans=True, speedup=certified), Cell("")

    def sentence(self, head: Comparison) -> str:
        """The verdict with its proof."""
        return "; ".join(
            filter(None, (words.verdict(head, self.margin), words.proof(head, shaken=self.shaken)))
        )


def times(c: Comparison) -> list[Cell]:
    """What the answer is about, of both sides."""
    located = words.located(c)
    shown = values(located, c.reference.unit)
    return [Cell(text, key=value) for text, value in zip(shown, located, strict=True)]


def version_columns(*versions: str) -> tuple[Column, ...]:
    """A column of numbers for each version."""
    titles = zip(labels(versions, _TITLE), labels(versions, _BRIEF), strict=True)
    # A title with an ellipsis saves a few columns and costs the name.
    return tuple(
        Column(title, right=True, brief="" if "…" in brief and "…" not in title else brief)
        for title, brief in titles
    )


def opposite(comparisons: Sequence[Comparison], head: Comparison) -> list[tuple[str, Comparison]]:
    """The protocols that prove the opposite of the headline, each with what it speaks of."""
    other = {Verdict.FASTER: Verdict.SLOWER, Verdict.SLOWER: Verdict.FASTER}.get(head.verdict)
    return (
        []
        if other is None
        else [
            (words.AVERAGE if c.protocol == "mean" else QUESTIONS[c.protocol].where, c)
            for c in comparisons
            if c.benchmark == head.benchmark
            and c.quantity == "speedup"
            and (c.verdict is other or _on_average(c, other))
        ]
    )


def _on_average(c: Comparison, verdict: Verdict) -> bool:
    """Whether the means prove it, also of skewed runs: those that are slow now and then make the larger mean."""
    if c.protocol != "mean" or c.log is None or c.floor is not None:
        return False
    if c.alpha < 0.5 and (c.log.centre > 0.0) is not (verdict is Verdict.FASTER):
        return False  # as most: the tails of each need not be known
    mean = LogRatios.of(c.speedup.value, c.log).mean(like_these=False)
    return verdict_of(mean.pvalue(), mean.pvalue(less=True), None, c.alpha) is verdict


def by_medians(c: Comparison) -> str:
    """The ratio of the medians in a row, where who divides them finds another number than its change; else empty.

    The change is of a typical pair of runs.
    """
    old, new, speedup = c.reference.median, c.candidate.median, c.speedup.value
    if (
        c.protocol != HEADLINE
        or c.quantity != "speedup"
        or not all(0 < v < math.inf for v in (old, new, speedup))
    ):
        return ""
    higher = c.reference.higher_is_better
    rate = c.reference.unit.endswith("/s") if higher is None else higher
    ratio = new / old if rate else old / new
    apart, against = abs(math.log(ratio / speedup)), (ratio > 1) != (speedup > 1)
    if apart > _ROUNDING:
        return words.direction(ratio, *words.gain_and_loss(c)) if against else factor(max(ratio, 1 / ratio))
    return ""


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
    return Records(("reference", "candidate", *COLUMNS), tuple(rows))


def caveats(notes: Sequence[Note], versions: Sequence[str] = ()) -> Iterator[Text]:
    """What the data cannot know, a sentence each, with the command that cures it.

    Versions are named as ``versions``, if given, are told apart; of two the second need not be named.
    """
    names = list(dict.fromkeys([*versions, *(name for caveat in notes for name in caveat.versions)]))
    short = dict(zip(names, nicknames(names), strict=True))
    distinct = list({(note.alike, note.benchmarks): note for note in notes}.values())
    places = Counter((caveat.kind, i, name) for caveat in distinct for i, name in enumerate(caveat.versions))
    groups: dict[tuple[object, ...], list[Note]] = {}
    for caveat in distinct:
        alike: tuple[object, ...] = caveat.versions
        if caveat.kind in _OF_TWO and len(caveat.versions) == 2:
            shared = max((0, 1), key=lambda i, c=caveat: places[c.kind, i, c.versions[i]])  # type: ignore[misc]
            alike = (shared, caveat.versions[shared])
        groups.setdefault((caveat.message, caveat.kind, alike), []).append(caveat)
    for alike_ones in groups.values():
        yield Text(_sentence(alike_ones, short), "warning")


_OF_TWO = (
    Assumption.INTERLEAVED,
    Assumption.ONE_SESSION,
    Assumption.TWO_MEASUREMENTS,
    Assumption.SEVERAL_RUNS,
    Assumption.SEVERAL_SESSIONS,
)
"""What concerns two versions, so that several may have it with the same one."""


def two_speeds(
    machine: MachineSpeeds | None, reference: str, candidate: str, both: str = "Both versions"
) -> Iterator[Text]:
    """That the machine has two speeds, and what is left of the change at equal speed."""
    if machine is None:
        return
    who = {"both": both, "reference": reference, "candidate": candidate}[machine.sides]
    seen = (
        f"{who} ran at one of two speeds (factor {machine.factor:.1f}) in {machine.benchmarks} of "
        f"{plural(machine.of, 'benchmark')}"
    )
    if machine.sides != "both":
        # Of which speed the other version is, nobody knows.
        yield Text(f"{seen}: likely the machine, not the program, and so may be the change.", "warning")
        return
    change = interval(machine.speedup, "faster", "slower")
    yield Text(f"{seen}: the machine, not the program. At equal speed {candidate} is {change}.", "warning")


def held_against(comparisons: Sequence[Comparison]) -> Iterator[Text]:
    """How much sessions of identical code differ, where verdicts were held against that."""
    reaches = [c.floor.reach for c in comparisons if c.floor is not None]
    if reaches:
        yield sessions_differ(reaches, len(reaches), len(comparisons), 1 - comparisons[0].alpha)


def sessions_differ(reaches: Sequence[float], known: int, of: int, confidence: float) -> Text:
    """That sessions differ by so much at least and at most, known for some comparisons of all."""
    some = f" (known for {plural(known, 'benchmark')})" if known < of else ""
    reach = up_to(reaches, confidence)
    return Text(f"Sessions of the same code differ by {reach}{some}: verdicts are held against that.", "dim")


def says_sessions(c: Comparison) -> bool:
    """Whether the reason why a comparison is undecided says it already."""
    return c.floor is not None and c.needed is not None and c.needed.reference is c.needed.candidate is None


def up_to(reaches: Sequence[float], confidence: float = 0.95) -> str:
    """By how much sessions differ, of the calmest and of the noisiest benchmark."""
    if math.isinf(max(reaches)):
        return f"any factor ({level(confidence)})"
    least, most = (percent(pick(reaches), 2) for pick in (min, max))
    seen = most if least == most else f"{least.removesuffix(' %')} to {most}, by benchmark"
    return f"up to {seen} ({level(confidence)})"


def _sentence(alike: Sequence[Note], short: Mapping[str, str]) -> str:
    """Caveats of one kind that have one version, or all of them, in common."""
    caveat = alike[0]
    firsts = [short[name] for name in dict.fromkeys(c.versions[0] for c in alike if c.versions)]
    seconds = [short[name] for name in dict.fromkeys(c.versions[1] for c in alike if len(c.versions) == 2)]
    some = f" in {plural(len(caveat.benchmarks), 'benchmark')}" if caveat.benchmarks else ""
    most = max(note.statistic for note in alike)
    if any(other.benchmarks != caveat.benchmarks for other in alike):
        some = " in some benchmarks"
    if caveat.kind is Assumption.TWO_MEASUREMENTS and seconds:
        return f"{_listed(firsts + seconds)} hold the same values{some}: one measurement, given twice"
    if caveat.kind is Assumption.INTERLEAVED and seconds:
        order = "first" if len(short) == 2 else f"before {_listed(seconds)}"
        return (
            f"{_listed(firsts)} ran {order}{some}: drift may look like a change. Interleave: speedproof run"
        )
    if caveat.kind is Assumption.ONE_SESSION and seconds:
        count = "two" if len(alike) == 1 else "several"
        who = "Measured" if len(short) == 2 else f"{_listed(firsts + seconds)} were measured"
        return f"{who} in {count} sessions{some}, which may differ. Interleave: speedproof run"
    if caveat.kind is Assumption.ONE_LAYOUT:
        return f"Builds of one source can differ as much{some}: run --builds tells code from layout"
    if caveat.kind is Assumption.SEVERAL_SESSIONS:
        who = "" if len(short) == 2 else f" of {_listed(firsts + seconds)}"
        differ = f"{'up to ' * (len(alike) > 1)}{percent(most, 2)}"
        return (
            f"Few sessions{who}{some}; those of one version differ by {differ}. Measure four of each version."
        )
    if caveat.kind is Assumption.PLANNED_SIZE:
        if not caveat.message:
            return f"Stopped on its result{some}: only the verdict of the session itself holds."
        file = shlex.quote(caveat.message)
        return f"Stopped on its result{some}. The verdict that holds: speedproof run --review {file}"
    if caveat.kind is Assumption.USUAL_CONFIDENCE:
        return "At 50 % confidence or less even the slower version can be 'proven' faster."
    if caveat.kind is Assumption.SEVERAL_PROCESSES:
        who = "Each side" if len(caveat.versions) != 1 else firsts[0]
        return f"{who} is one process{some}: another start may differ more. Repeat whole processes."
    if caveat.kind is Assumption.SEVERAL_RUNS:
        units, risk = caveat.message, f"{100 * most:g} %"
        who = f"of {firsts[0]}" if len(caveat.versions) == 1 else "a side"
        return f"! Fewer than 4 {units} {who}{some}: the risk is up to {risk} unless both vary alike."
    detail = f" ({caveat.message})" if caveat.message else ""
    title, remedy = caveat.kind.value, caveat.kind.remedy
    unknown = f"Not known{some}: {title}{detail}"
    return f"{unknown}; {remedy}." if remedy else f"{unknown}."


def _listed(names: Sequence[str]) -> str:
    """At most two names, and how many others there are."""
    *most, last = [*names[:1], f"{len(names) - 1} others"] if len(names) > 2 else names
    return f"{', '.join(most)} and {last}" if most else last


def failed(comparisons: Sequence[Comparison], *, undermining: bool) -> dict[Assumption, int]:
    """Assumptions that did not hold, each with the number of its benchmarks, the most frequent first."""
    seen = {
        (check.kind, result.benchmark)
        for result in comparisons
        for check in (result.undermining if undermining else result.failed_checks)
        if check.kind not in (Assumption.TWO_MEASUREMENTS, Assumption.PLANNED_SIZE)  # said once, as a caveat
    }
    counts = Counter(kind for kind, _ in seen)
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0].value)))


def undermining(comparisons: Sequence[Comparison], *, undecided: bool = False) -> Iterator[Text]:
    """What undermines verdicts, in one sentence; of undecided ones only where that is wanted."""
    comparisons = [c for c in comparisons if undecided or c.verdict is not Verdict.UNDECIDED]
    counts = failed(comparisons, undermining=True)
    if not counts:
        return
    benchmarks = len({c.benchmark for c in comparisons if c.undermining})
    if len({c.benchmark for c in comparisons}) == 1:
        kinds = ", ".join(kind.violated for kind in counts)
        yield Text(f"! {kinds[:1].upper()}{kinds[1:]}: the true risk may be larger.", "warning")
    else:
        yield risk_of_many(plural(benchmarks, "benchmark"), {kind.violated: n for kind, n in counts.items()})


def risk_of_many(many: str, counts: Mapping[str, int]) -> Text:
    """Which assumptions are not met, each in so many of many comparisons."""
    kinds = ", ".join(f"{kind} ({count})" for kind, count in counts.items())
    return Text(f"! In {many} the true risk may be larger: {kinds}.", "warning")

"""What data cannot know, and what was seen against an assumption, in sentences that say what to do."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from speedproof.data.notes import Assumption, Note
from speedproof.options import HEADLINE
from speedproof.protocols.caveats import MachineSpeeds
from speedproof.protocols.results import Comparison, Verdict
from speedproof.reporting.model import Text
from speedproof.reporting.names import called
from speedproof.reporting.numbers import level, percent, plural
from speedproof.reporting.words import direction, interval

if TYPE_CHECKING:
    from speedproof.conclude.suite import SuiteComparison


def caveats(notes: Sequence[Note], versions: Sequence[str] = ()) -> Iterator[Text]:
    """The limits of the data, a sentence each, with the command that cures it.

    Versions are named as ``versions``, if given, are told apart; of two the second need not be named.
    """
    names = list(dict.fromkeys([*versions, *(name for caveat in notes for name in caveat.versions)]))
    short = called(names)
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


_SAID_ONCE = (
    Assumption.TWO_MEASUREMENTS,
    Assumption.PLANNED_SIZE,
    Assumption.SEVERAL_RUNS,
    Assumption.ONE_SPEED,
)
"""Notes that are stated once at the top of a sheet."""
_OF_TYPICAL = (Assumption.SEVERAL_RUNS, Assumption.PLANNED_SIZE)
"""Notes at the top that concern only the typical run."""

_OF_TWO = (
    Assumption.INTERLEAVED,
    Assumption.ONE_SESSION,
    Assumption.TWO_MEASUREMENTS,
    Assumption.SEVERAL_RUNS,
    Assumption.SEVERAL_SESSIONS,
)
"""What concerns two versions, so that several may have it with the same one."""


def two_speeds(machine: MachineSpeeds | None, reference: str, candidate: str) -> Iterator[Text]:
    """A remark on two speeds of the machine, and on the change at equal speed."""
    if machine is None:
        return
    both = f"{reference} and {candidate}"
    who = {"both": both, "reference": reference, "candidate": candidate}[machine.sides]
    seen = (
        f"{who} ran at one of two speeds (factor {machine.factor:.1f}) in {machine.benchmarks} of "
        f"{plural(machine.of, 'benchmark')}"
    )
    if machine.sides != "both":
        # The speed at which the other version ran is unknown.
        yield Text(f"{seen}: likely the machine, not the program, and so may be the change.", "warning")
        return
    change = interval(machine.speedup, "faster", "slower")
    yield Text(f"{seen}: the machine, not the program. At equal speed {candidate} is {change}.", "warning")


def unseen(results: Sequence[SuiteComparison], versions: Sequence[str]) -> Iterator[Text]:
    """What no test on the runs of several candidates can see, and the speeds of the machine that one shows."""
    yield from dict.fromkeys(caveats([c for r in results for c in r.caveats], versions))
    for r in results:
        if r.machine is not None:
            names = called(versions)
            yield from two_speeds(r.machine, names[r.reference], names[r.candidate])
            return


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


def up_to(reaches: Sequence[float], confidence: float) -> str:
    """The session differences of the noisiest benchmark, in words."""
    most = max(reaches)
    seen = "any factor" if math.isinf(most) else f"up to {percent(most, 2)}"
    return f"{seen} ({level(confidence)})"


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
    if caveat.kind is Assumption.ONE_UNIT:
        apart = f"{float(f'{most:.3g}'):,.10g}"
        remedy = "Name it in the header of each file, as 'time_ms'."
        return f"Is one side in another unit? All values differ by a factor of about {apart}. {remedy}"
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
    if caveat.kind is Assumption.NOISE_FLOOR:
        (name,), differs = caveat.benchmarks, f"is {direction(most)}"
        said = f"{name}, which the change cannot touch, {differs}: something else differs"
        if firsts:
            again = f"{firsts[0]}, built again from the same source"
            said = f"The noise floor is not met: {again}, {differs} ({name})"
        return f"{said}. Smaller claims are withheld."
    if caveat.kind is Assumption.SEVERAL_PROCESSES:
        who = "Each side" if len(caveat.versions) != 1 else firsts[0]
        return f"{who} is one process{some}: another start may differ more. Repeat whole processes."
    if caveat.kind is Assumption.STEADINESS:
        return f"Only {caveat.message}{some}: some processes hold no more."
    if caveat.kind is Assumption.SEVERAL_RUNS:
        units, risk = caveat.message, f"{100 * most:g} %"
        who = f"of {firsts[0]}" if len(caveat.versions) == 1 else "a side"
        return f"! Fewer than 4 {units} {who}{some}: the risk is up to {risk} unless both vary alike."
    detail = f" ({caveat.message})" if caveat.message else ""
    title, remedy = caveat.kind.value, caveat.kind.remedy
    unknown = f"Not known{some}: {title}{detail}"
    return f"{unknown}; {remedy}." if remedy else f"{unknown}."


def _listed(names: Sequence[str]) -> str:
    """At most two names, and the number of the others."""
    *most, last = [*names[:1], f"{len(names) - 1} others"] if len(names) > 2 else names
    return f"{', '.join(most)} and {last}" if most else last


def said_below(kind: Assumption, protocol: str) -> bool:
    """Whether it is said below the rows of a sheet, as its top does not say it."""
    return kind not in _SAID_ONCE or (kind in _OF_TYPICAL and protocol != HEADLINE)


def failed(comparisons: Sequence[Comparison]) -> dict[Assumption, int]:
    """Assumptions that undermine verdicts, each with the number of its benchmarks, the most frequent first."""
    seen = {
        (check.kind, result.benchmark)
        for result in comparisons
        if result.verdict is not Verdict.UNDECIDED
        for check in result.undermining
        if said_below(check.kind, result.protocol)
    }
    counts = Counter(kind for kind, _ in seen)
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0].value)))


def doubts(comparisons: Sequence[Comparison]) -> Iterator[Text]:
    """The failed assumptions that undermine verdicts, in one sentence."""
    for candidate in dict.fromkeys(c.candidate.label for c in comparisons if c.speedup.low > c.speedup.high):
        yield Text(f"{candidate}: no single speedup fits all pairs.", "dim")
    counts = failed(comparisons)
    kinds = ", ".join(kind.violated for kind in counts)
    if counts and len({c.benchmark for c in comparisons}) == 1:
        yield Text(f"! {kinds[:1].upper()}{kinds[1:]}: the true risk may be larger.", "warning")
    elif counts:
        decided = (c for c in comparisons if c.verdict is not Verdict.UNDECIDED)
        benchmarks = len({c.benchmark for c in decided if c.undermining})
        yield risk_of_many(plural(benchmarks, "benchmark"), {kind.violated: n for kind, n in counts.items()})


def risk_of_many(many: str, counts: Mapping[str, int]) -> Text:
    """Which assumptions are not met, each in so many of many comparisons."""
    kinds = ", ".join(f"{kind} ({count})" for kind, count in counts.items())
    return Text(f"! In {many} the true risk may be larger: {kinds}.", "warning")

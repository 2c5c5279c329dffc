"""What the data of a suite cannot know: which version was measured first, how processes and sessions differ."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np

from speedproof.data.notes import Assumption, Note
from speedproof.data.record import Order, order_of_measuring
from speedproof.data.sample import Sample, Trait
from speedproof.data.suite import Pair
from speedproof.protocols.checks import same_values
from speedproof.protocols.in_blocks import blocks_of
from speedproof.protocols.noise_floor import NoiseFloor, counted_in
from speedproof.protocols.results import Comparison, Verdict
from speedproof.protocols.units import LEAST_SESSIONS
from speedproof.stats.estimate import Estimate
from speedproof.stats.permutation import PROVING
from speedproof.stats.scaling import middle

_LINE = re.compile(r" line \d+$")

# In 60 sessions of a program against itself with another padding the largest effect was 1.25.
_LAYOUT_EFFECT = 1.3


def caveats_of(
    pairs: Sequence[Pair], versions: tuple[str, str], floor: NoiseFloor | None = None
) -> tuple[Note, ...]:
    """Everything that no test on these runs can see, each once for all benchmarks.

    ``INTERLEAVED`` when one version was measured first (that one is named first), ``ONE_SESSION`` when they were
    measured one after the other and nobody knows which came first, ``SEVERAL_SESSIONS`` with how much the sessions
    of a version differ where they are too few to be the unit, ``SEVERAL_PROCESSES`` where a side is one process,
    ``TWO_MEASUREMENTS`` where both hold the same values, ``PLANNED_SIZE`` where measuring went on until it had a
    result, with its file. The first three need not be said where a noise floor counts the sessions in.
    """
    by_order: dict[Order, list[str]] = {}
    single: dict[tuple[str, ...], list[str]] = {}
    few_sessions: list[str] = []
    twice: list[str] = []
    stopped: dict[str, set[str]] = {}
    spreads: list[float] = []
    for pair in pairs:
        sides, name = (pair.reference, pair.candidate), pair.key.benchmark
        if same_values(*sides):
            twice.append(name)
            continue
        counts = [side.session_count for side in sides]
        if min(counts) < LEAST_SESSIONS and counted_in(pair, floor) is None:
            order = order_of_measuring(*sides)
            if max(counts) > 1 and order is not Order.MIXED:
                few_sessions.append(name)
                spreads += [_spread_of_sessions(side) for side in sides if side.session_count > 1]
                order = Order.UNKNOWN if order is Order.APART else order
            by_order.setdefault(
                Order.APART if order is Order.MIXED and _sessions_apart(*sides) else order, []
            ).append(name)
        if blocks_of(pair) is None and any(Trait.STOPPED_ON_RESULT in side.traits for side in sides):
            stopped[name] = {_LINE.sub("", side.source) for side in sides}
        alone = tuple(version for version, side in zip(versions, sides, strict=True) if _one_process(side))
        if alone:
            single.setdefault(alone, []).append(name)

    def where(names: list[str]) -> tuple[str, ...]:
        return () if len(names) == len(pairs) else tuple(names)

    notes = [Note(Assumption.TWO_MEASUREMENTS, "", versions, where(twice))] if twice else []
    meanings = {
        Order.X_FIRST: (Assumption.INTERLEAVED, versions),
        Order.Y_FIRST: (Assumption.INTERLEAVED, versions[::-1]),
        Order.APART: (Assumption.ONE_SESSION, versions),
    }
    for order, (kind, named) in meanings.items():
        if order in by_order:
            notes.append(Note(kind, "", named, where(by_order[order])))
    if few_sessions:
        spread = float(middle(np.asarray(spreads)))
        notes.append(Note(Assumption.SEVERAL_SESSIONS, "", versions, where(few_sessions), statistic=spread))
    if stopped:
        file, *others = set[str]().union(*stopped.values())
        notes.append(
            Note(Assumption.PLANNED_SIZE, "FILE" if others else file, versions, where(list(stopped)))
        )
    notes += [Note(Assumption.SEVERAL_PROCESSES, "", who, where(names)) for who, names in single.items()]
    return tuple(notes)


def within_layout(verdict: Verdict, proven: Estimate) -> bool:
    """Whether a difference is claimed that the place of the code in memory may make."""
    least = max(proven.low, 1 / proven.high if proven.high else 0.0)
    return verdict in (Verdict.FASTER, Verdict.SLOWER) and not least >= _LAYOUT_EFFECT


def one_layout(
    pairs: Sequence[Pair], comparisons: Sequence[Comparison], versions: tuple[str, str]
) -> tuple[Note, ...]:
    """The benchmarks of two executables, each of one build, whose difference may be that of the builds."""
    names = [
        pair.key.benchmark
        for pair, c in zip(pairs, comparisons, strict=True)
        if Trait.OTHER_EXECUTABLE in pair.candidate.traits
        and c.quantity == "speedup"
        and within_layout(c.verdict, c.certified)
    ]
    whole = len(names) == len(pairs)
    return (Note(Assumption.ONE_LAYOUT, "", versions, () if whole else tuple(names)),) if names else ()


def few_runs(decided: Iterable[Comparison], versions: tuple[str, str], of: int) -> tuple[Note, ...]:
    """The sides of which fewer than four runs prove something, and at which risk if they scatter widely.

    Only complete separation is proof of them. Of two versions that differ by a factor it is proof at the stated
    risk, but k runs that scatter widely lie all on one side of a narrow other version in 1 of 2^k cases. The
    note names the units and that risk, where it is the larger one.
    A confidence of one half or less, at which anything may be "proven", is told, too.
    """
    decided = list(decided)
    usual = not any(c.alpha >= 0.5 for c in decided)
    groups: dict[tuple[tuple[str, ...], str, float], list[str]] = {}
    for c in decided:
        sizes = c.reference.n, c.candidate.n
        if not c.by_separation:
            continue
        units = "processes" if c.repeated == "process" else f"{c.repeated}s"
        who = versions if max(sizes) < PROVING else (versions[sizes.index(min(sizes))],)
        groups.setdefault((who, units, 0.5 ** min(sizes)), []).append(c.benchmark)
    return (() if usual else (Note(Assumption.USUAL_CONFIDENCE),)) + tuple(
        Note(Assumption.SEVERAL_RUNS, units, who, () if len(names) == of else tuple(names), risk)
        for (who, units, risk), names in groups.items()
    )


def _sessions_apart(x: Sample, y: Sample) -> bool:
    """Whether both are of sessions of ``speedproof run``, of which none measured both."""
    return x.tool == y.tool == "speedproof" and not {*x.session_names} & {*y.session_names}


def _one_process(sample: Sample) -> bool:
    return sample.n > 1 and (Trait.ONE_PROCESS in sample.traits or sample.process_count == 1)


def _spread_of_sessions(sample: Sample) -> float:
    """By which share the largest session's median exceeds the smallest's."""
    medians = sample.per_session("median").values
    least = float(np.abs(medians).min())
    return float(np.ptp(medians)) / least if least > 0.0 else 0.0

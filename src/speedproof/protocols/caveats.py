"""What the data of a suite cannot know: which version was measured first, how processes and sessions differ.

Processes that run at one of two speeds in most benchmarks are the machine's doing, not the program's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import compress
from math import exp, inf, log, nan, sqrt
from typing import Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from speedproof.arrays import FloatArray, IntArray
from speedproof.data.notes import Assumption, Note
from speedproof.data.record import NO_TOOL, Order, order_of_measuring
from speedproof.data.sample import Sample, Trait, all_ascending, reduce_together
from speedproof.data.suite import Key, Pair
from speedproof.protocols.checks import same_values
from speedproof.protocols.noise_floor import NoiseFloor, counted_in
from speedproof.protocols.results import Comparison, Verdict
from speedproof.protocols.units import LEAST_SESSIONS, blocks_of, compared, several
from speedproof.stats.estimate import Estimate
from speedproof.stats.permutation import PROVING
from speedproof.stats.scaling import median, middle
from speedproof.stats.special import t_quantile

_STOPPED, _ALONE = Trait.STOPPED_ON_RESULT, Trait.ONE_PROCESS
_LINE = r" line \d+$"

# In 60 sessions of a program against itself with another padding the largest effect was 1.25.
_LAYOUT_EFFECT = 1.3

_LEAST_PROCESSES = 5
_LEAST_BENCHMARKS = 3
_LEAST_ALONE = 10
"""Benchmarks that one version needs to have them, where the other says nothing of the machine."""
# Distance of the two groups in units of the deviation within them; halves of one normal sample: 2.7
_APART = 6.0
_ALIKE = 0.1  # largest difference of a benchmark's log factor from the common one, relative to it
_UNIT_ALIKE = 0.1  # of a power of 1,000: a factor of 2
Sides = Literal["both", "reference", "candidate"]
_PLACES: tuple[tuple[Sides, slice, int], ...] = (
    ("both", slice(0, 2), _LEAST_BENCHMARKS),
    ("reference", slice(0, 1), _LEAST_ALONE),
    ("candidate", slice(1, 2), _LEAST_ALONE),
)


def caveats_of(
    pairs: Sequence[Pair], versions: tuple[str, str], floor: NoiseFloor | None = None
) -> tuple[Note, ...]:
    """Everything that no test on these runs can see, each once for all benchmarks.

    ``INTERLEAVED`` when one version was measured first (that one is named first), ``ONE_SESSION`` when they were
    measured one after the other and nobody knows which came first, ``SEVERAL_SESSIONS`` with how much the sessions
    of a version differ where they are too few to be the unit, ``SEVERAL_PROCESSES`` where a side is one process,
    ``TWO_MEASUREMENTS`` where both hold the same values, ``ONE_UNIT`` where all numbers that somebody wrote down
    differ by about 1,000 or a power of it, ``PLANNED_SIZE`` where measuring went on until it had a
    result, with its file. The first three need not be said where a noise floor counts the sessions in.
    """
    by_order: dict[Order, list[str]] = {}
    single: dict[tuple[bool, bool], list[str]] = {}
    few_sessions: list[str] = []
    twice: list[str] = []
    stopped: dict[str, set[str]] = {}
    spreads: list[float] = []
    for pair in pairs:
        x, y = sides = pair.reference, pair.candidate
        name = pair.key.benchmark
        if same_values(x, y):
            twice.append(name)
            continue
        counts = x.session_count, y.session_count
        if min(counts) < LEAST_SESSIONS and counted_in(pair, floor) is None:
            order = order_of_measuring(*sides)
            if max(counts) > 1:
                few_sessions.append(name)
                spreads += [_spread_of_sessions(side) for side in sides if side.session_count > 1]
                order = Order.UNKNOWN if order is Order.APART else order
            by_order.setdefault(
                Order.APART if order is Order.MIXED and _sessions_apart(*sides) else order, []
            ).append(name)
        if (_STOPPED in x.traits or _STOPPED in y.traits) and blocks_of(pair) is None:
            stopped[name] = {re.sub(_LINE, "", side.source) for side in sides}
        of_one = _one_process(x), _one_process(y)
        if any(of_one):
            single.setdefault(of_one, []).append(name)

    def where(names: list[str]) -> tuple[str, ...]:
        return () if len(names) == len(pairs) else tuple(names)

    notes = [Note(Assumption.TWO_MEASUREMENTS, "", versions, where(twice))] if twice else []
    if (apart := _units_apart(pairs)) > 1.0:
        notes.append(Note(Assumption.ONE_UNIT, "", versions, statistic=apart))
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
    notes += [
        Note(Assumption.SEVERAL_PROCESSES, "", tuple(compress(versions, of_one)), where(names))
        for of_one, names in single.items()
    ]
    return tuple(notes)


def given_twice(samples: Mapping[str, Mapping[Key, Sample]]) -> dict[tuple[str, str], tuple[Note, ...]]:
    """By version and metric their ``TWO_MEASUREMENTS``: each with the first version that has its values."""
    first: dict[tuple[Key, bytes], str] = {}
    copies: dict[tuple[str, str], dict[str, list[str]]] = {}
    for version, of in samples.items():
        for key, sample in of.items():
            old = first.setdefault((key, sample.values.tobytes()), version)
            if old != version and same_values(samples[old][key], sample):
                copies.setdefault((version, key.metric), {}).setdefault(old, []).append(key.benchmark)
    return {
        (version, metric): tuple(
            Note(Assumption.TWO_MEASUREMENTS, "", (old, version), tuple(names) if len(names) < whole else ())
            for old, names in twins.items()
        )
        for (version, metric), twins in copies.items()
        for whole in [sum(key.metric == metric for key in samples[version])]
    }


def few_values(pairs: Sequence[Pair]) -> tuple[Note, ...]:
    """The benchmarks of which some values were not compared, as processes give different numbers of them."""
    said = {pair.key.benchmark: clause for pair in pairs if (clause := compared(pair))}
    if not said:
        return ()
    clause, *others = set(said.values())
    if others:
        clause = "some values of each process were compared, as others have fewer"
    return (Note(Assumption.STEADINESS, clause, (), () if len(said) == len(pairs) else tuple(said)),)


def _units_apart(pairs: Sequence[Pair]) -> float:
    """The power of 1,000 by which the medians of all pairs differ, of numbers that somebody wrote down; else 1."""
    powers = set[int]()
    for x, y in ((pair.reference, pair.candidate) for pair in pairs):
        written = (x.tool in NO_TOOL or y.tool in NO_TOOL) and Trait.RANDOM_ORDER not in x.traits
        before, after = (median(side.values) if written else 0.0 for side in (x, y))
        ratio = after / before if before > 0.0 else 0.0
        power = log(ratio) / log(1000.0) if 0.0 < ratio < inf else 0.0
        powers.add(round(power) if abs(power - round(power)) < _UNIT_ALIKE else 0)
        if len(powers) > 1 or 0 in powers:
            return 1.0
    return 1000.0 ** abs(powers.pop()) if powers else 1.0


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
    groups: dict[tuple[tuple[str, ...], str, float], dict[str, None]] = {}
    for c in decided:
        sizes = c.reference.n, c.candidate.n
        if not c.by_few_runs:
            continue
        who = versions if max(sizes) < PROVING else (versions[sizes.index(min(sizes))],)
        groups.setdefault((who, several(c.repeated), 0.5 ** min(sizes)), {})[c.benchmark] = None
    return (() if usual else (Note(Assumption.USUAL_CONFIDENCE),)) + tuple(
        Note(Assumption.SEVERAL_RUNS, units, who, () if len(names) == of else tuple(names), risk)
        for (who, units, risk), names in groups.items()
    )


def _sessions_apart(x: Sample, y: Sample) -> bool:
    """Whether the sides come from sessions of ``speedproof run`` of which none measured both."""
    return x.tool == y.tool == "speedproof" and not {*x.session_names} & {*y.session_names}


def _one_process(sample: Sample) -> bool:
    single = sample.processes is not None or _ALONE in sample.traits
    return single and sample.n > 1 and (_ALONE in sample.traits or sample.process_count == 1)


def _spread_of_sessions(sample: Sample) -> float:
    """By which share the largest session's median exceeds the smallest's."""
    medians = sample.per_session("median").values
    least = float(np.abs(medians).min())
    return float(np.ptp(medians)) / least if least > 0.0 else 0.0


class MachineSpeeds(Struct, frozen=True):
    """Two speeds that most benchmarks share, of both versions or of one."""

    factor: float  # slow over fast
    # How many benchmarks ran at these two speeds, of how many
    benchmarks: int
    of: int
    # Geometric mean over them of the speedup between processes of the same speed, with one-sided bounds for
    # benchmarks like these; NaN for one version
    speedup: Estimate
    sides: Sides = "both"  # which versions ran at two speeds


def at_two_speeds(comparisons: Sequence[Comparison], machine: MachineSpeeds | None) -> tuple[Comparison, ...]:
    """Comparisons with the check that such a machine fails: nothing of them is proven."""
    if machine is None:
        return tuple(comparisons)
    who = "both versions" if machine.sides == "both" else f"the {machine.sides}"
    message = (
        f"{who} ran at one of two speeds (factor {machine.factor:.1f}) in {machine.benchmarks} of {machine.of} "
        "benchmarks: likely the machine, not the program"
    )
    note = Note(Assumption.ONE_SPEED, message, statistic=machine.factor)
    return tuple(replace(c, checks=(*c.checks, note)) for c in comparisons)


def machine_speeds(pairs: Sequence[Pair], alpha: float = 0.05) -> MachineSpeeds | None:
    """Find two speeds that more than half of the benchmarks of a metric share, in both versions or in one.

    None unless at least three benchmarks (ten where one version has them alone), and more than half of all, have
    processes of two speeds whose factors agree within a tenth of their logarithm. It is a description, no test: a
    common factor in many benchmarks is not to be had by chance.
    """
    return common_speeds(two_speeds_of(pairs), len(pairs), alpha)


def common_speeds(ratios: FloatArray, of: int, alpha: float = 0.05) -> MachineSpeeds | None:
    """The two speeds that rows of :func:`two_speeds_of` have in common; ``of`` counts those without, too."""
    for sides, columns, least in _PLACES:
        factors = ratios[:, columns]
        defined = factors[~np.isnan(factors).any(axis=1)]
        if not defined.size:
            continue
        common = float(middle(defined.ravel()))
        alike = np.abs(factors - common).max(axis=1) <= _ALIKE * common
        count = int(alike.sum())
        if count >= least and 2 * count > of:
            logs = np.sort(ratios[alike, 2]) if sides == "both" else np.full(2, nan)
            reach = t_quantile(1.0 - alpha, logs.size - 1) * float(logs.std(ddof=1)) / sqrt(logs.size)
            value, low, high = (exp(float(logs.mean()) + side * reach) for side in (0, -1, 1))
            return MachineSpeeds(exp(common), count, of, Estimate(value, low, high, 1.0 - alpha), sides)
    return None


def slower_processes(sides: Sequence[Sample], machine: MachineSpeeds) -> tuple[IntArray, IntArray] | None:
    """For each process, 1 if it ran at the slower speed, else 0.

    None of other speeds, and where fewer than five processes of a version ran at one of them.
    """
    states = []
    for sample in sides:
        values = sample.per_process("median").values
        if values.size < 2 * _LEAST_PROCESSES:
            return None
        larger, smaller, below = _two_speeds(np.sort(values)[None])[0].tolist()
        common = log(machine.factor)
        alike = abs(larger - smaller - common) <= _ALIKE * common
        if not (alike and _LEAST_PROCESSES <= below <= values.size - _LEAST_PROCESSES):
            return None
        upper = values.argsort().argsort() >= below
        states.append((upper != sample.higher_is_better).astype(np.int64))
    return states[0], states[1]


def two_speeds_of(pairs: Sequence[Pair]) -> FloatArray:
    """Of each pair the logarithms of slow over fast in either version and of the speedup at one speed, or NaN."""
    given = [sample for pair in pairs for sample in (pair.reference, pair.candidate)]
    reduce_together(given, "median")
    measured = [sample.per_process("median") if sample.nested else sample for sample in given]
    speeds = np.full((len(measured), 3), np.nan)
    sizes = np.array([sample.n for sample in measured])
    for size in sorted({size for size in sizes.tolist() if size >= _LEAST_PROCESSES}):
        at = np.flatnonzero(sizes == size)
        speeds[at] = _two_speeds(all_ascending([measured[i] for i in at.tolist()]))
    before, after = speeds[::2], speeds[1::2]
    within = (before - after)[:, :2].mean(axis=1)
    within[[pair.reference.higher_is_better for pair in pairs]] *= -1.0
    return np.column_stack((before[:, 0] - before[:, 1], after[:, 0] - after[:, 1], within))


def _two_speeds(values: FloatArray) -> FloatArray:
    """Of each row, if its ascending values are two groups far apart: their mean logarithms, larger first.

    Third, how many are the smaller ones.
    """
    n = values.shape[1]
    usable = values[:, 0] > 0
    logs = np.log(values if usable.all() else np.where(usable[:, None], values, 1.0))
    centre = logs.mean(axis=1, keepdims=True)
    logs -= centre
    # Only the widest gap can separate two groups that are far apart; each has two values or more.
    below = np.diff(logs, axis=1)[:, 1:-1].argmax(axis=1) + 2
    cuts = np.column_stack((np.zeros_like(below), below)) + np.arange(0, logs.size, n)[:, None]
    fast, slow = np.add.reduceat(logs.ravel(), cuts.ravel()).reshape(-1, 2).T / (below, n - below)
    logs -= np.where(np.arange(n) < below[:, None], fast[:, None], slow[:, None])
    within = np.square(logs, out=logs).sum(axis=1)
    apart = slow - fast
    far = (apart > log(1.05)) & (np.square(apart) * (n - 2) > _APART**2 * within)
    speeds = np.column_stack((slow + centre[:, 0], fast + centre[:, 0], below))
    return np.where((usable & far)[:, None], speeds, np.nan)

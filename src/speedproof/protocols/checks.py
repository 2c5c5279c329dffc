"""What speaks against the runs of one sample or pair, whatever the protocol: the checks that all of them share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np

from speedproof.arrays import FloatArray, batches, stacked
from speedproof.data.notes import UNDERMINING, Assumption, Note
from speedproof.data.sample import LARGE, Sample, Trait
from speedproof.data.suite import Pair
from speedproof.protocols.units import repeated_in
from speedproof.stats.dependence import drift, drift_within, lag1
from speedproof.stats.ranks import ranked
from speedproof.stats.scaling import coarse_steps, exponent, middle

Tested = tuple[float, float]  # a statistic with its p-value

_LEAST_FOR_STEP = 3
_COARSE = 0.01
_FEW_FOR_ORDER = 8
_TAINTS = {
    Trait.TRIMMED: "spread and risk are understated",
    Trait.SORTED: "run order is lost",
    Trait.SUMMARY_ONLY: "they are a tool's summary, no single runs",
}
_HISTORY = {
    Trait.FAILED_RUNS: (
        Assumption.SUCCESSFUL_RUNS,
        "runs ended with an error, and their times are among the values",
    ),
    Trait.FAILED_LEFT_OUT: (
        Assumption.SUCCESSFUL_RUNS,
        "runs failed and were left out: the values speak of those that succeeded",
    ),
    Trait.STOPPED_ON_RESULT: (
        Assumption.PLANNED_SIZE,
        "measuring ended, or went on, after a look at these very values: a test for a size fixed beforehand has a "
        "larger risk, and its bounds lean to that result",
    ),
    Trait.PLAN_LOST: (Assumption.KNOWN_PLAN, "the session's first line is lost, which tells the reference"),
    Trait.TWO_PROGRAMS: (
        Assumption.ONE_PROGRAM,
        "the program was replaced between runs: the values are of two programs",
    ),
}
_ALTERED = frozenset({*_TAINTS, *_HISTORY})
_ONE_PROCESS = (
    "all values come from one process: what differs between processes does not show in their spread"
)
_UNKNOWN_PROCESSES = (
    "the other side's values are nested in processes, of these the processes are unknown: if several come from "
    "one process, the risk is far larger than stated"
)
_OF_ORDER = {
    Assumption.RUN_ORDER: (
        "neighbouring runs are not independent",
        "independence of neighbouring runs is not rejected",
    ),
    Assumption.TREND: ("the values rise or fall over the runs", "no steady rise or fall over the runs"),
    Assumption.STEADINESS: (
        "the values drift inside the processes: what a process stands for depends on how many it gives",
        "no trend inside the processes",
    ),
}
ORDER_LEVEL = 0.01


def undermining(measured: Sample, used: Sample, side: str, others: Sequence[Sample]) -> list[Note]:
    """Failed checks of one sample beside others that make the true risk another one than stated."""
    (neighbours,) = order_tests(in_order([measured], [used]), 1)
    (within,) = steadiness([measured])
    nested = any(other.nested for other in others)
    order = of_order(side, neighbours, within)
    checks = (*of_runs(measured, used, side, other_nested=nested), *order)
    return [check for check in checks if not check.held and check.kind in UNDERMINING]


def of_runs(
    measured: Sample,
    used: Sample,
    side: str,
    *,
    other_nested: bool,
    least: float | None = None,
    metric: str = "",
) -> list[Note]:
    """Failed checks that do not depend on run order: number, history, nesting, zeros, tampering.

    The least value that was measured may be known.
    """
    notes = []
    if used.n < 2:
        what = "one process" if used.processes is not None else "one run"
        message = f"{what} may be an outlier, and nothing is known of its spread"
        notes.append(Note(Assumption.SEVERAL_RUNS, message, (side,), statistic=1.0))
    seen = measured.traits & _ALTERED
    if seen:
        notes += [
            Note(kind, message, (side,)) for trait, (kind, message) in _HISTORY.items() if trait in seen
        ]
    notes += _of_nesting(measured, used, side, other_nested)
    least = measured.values.min() if least is None else least
    if least < 0.0 or (least == 0.0 and not measured.exact):
        count = int(np.sum(measured.values <= 0))
        message = f"{count} of {measured.n} values are not above 0: ratios mean little or nothing"
        notes.append(Note(Assumption.POSITIVE_VALUES, message, (side,), statistic=float(count)))
        if (measured.unit == "s" or metric == "time") and least == measured.values.max():
            notes.append(Note(Assumption.SOME_TIME, "every value is 0", (side,)))
    if seen:
        notes += [
            Note(Assumption.UNTOUCHED, f"the values were {trait}: {why}", (side,))
            for trait, why in _TAINTS.items()
            if trait in seen
        ]
    return notes


def same_values(reference: Sample, candidate: Sample) -> list[Note]:
    """The check that two samples are two measurements; of equal values they are unless both stand at one place."""
    x, y = reference.values, candidate.values
    if x[0] != y[0] or not np.array_equal(x, y):
        return []
    if np.ptp(x) == 0 and not reference.source == candidate.source != "":
        return []
    message = "both samples hold the same values in the same order, as if one file was given twice"
    return [Note(Assumption.TWO_MEASUREMENTS, message)]


def coarse_values(pairs: Sequence[Pair]) -> list[list[Note]]:
    """Of each pair the check that the values were read finely enough for what is said of them."""
    notes: list[list[Note]] = [[] for _ in pairs]
    both = [(pair.reference, pair.candidate) for pair in pairs]
    for rows in batches(None if x.exact and y.exact else (x.n + y.n, x.n) for x, y in both):
        x, y = (np.sort(stacked([both[i][k].values for i in rows]), axis=1) for k in range(2))
        steps = coarse_steps(x, y).max(axis=1)
        for k in np.flatnonzero((steps > 0.0) & np.isfinite(steps)).tolist():
            notes[rows[k]] = _coarse(x[k], y[k], float(steps[k]))
    return notes


def _coarse(x: FloatArray, y: FloatArray, step: float) -> list[Note]:
    """Of values that were read in steps."""
    measured = np.concatenate([x, y])
    shift = exponent(measured)
    spread = max(float(np.ldexp(side, shift).std()) for side in (x, y))
    size = float(middle(np.abs(measured)))
    small = float(np.ldexp(step, shift)) <= spread or step <= _COARSE * size
    if measured.size < _LEAST_FOR_STEP or size == 0.0 or small:
        return []
    message = f"the values were read in steps of about {step:.2g}, which is more than they scatter"
    return [Note(Assumption.RESOLUTION, message, statistic=step)]


def _of_nesting(measured: Sample, used: Sample, side: str, other_nested: bool) -> list[Note]:
    alone = Trait.ONE_PROCESS in measured.traits
    if measured is used and measured.processes is None and not (alone or other_nested):
        return []
    if measured.n > 1 and (alone or (measured.process_count == 1 and used.n == measured.n)):
        return [_alone(side)]
    if not measured.nested and used.n == measured.n:
        if other_nested and measured.processes is None and measured.n > 1:
            return [Note(Assumption.NESTING, _UNKNOWN_PROCESSES, (side,))]
        return []
    reduced = used.n < measured.n
    which = f"one a {repeated_in(measured, used.n)} was used" if reduced else "pooled as if independent"
    return [Note(Assumption.NESTING, f"{measured.n} nested values: {which}", (side,), held=reduced)]


@cache
def _alone(side: str) -> Note:
    return Note(Assumption.SEVERAL_PROCESSES, _ONE_PROCESS, (side,))


def _has_order(measured: Sample) -> bool:
    return Trait.ORDER_KNOWN in measured.traits and Trait.SORTED not in measured.traits


def in_order(
    measured: Sequence[Sample], used: Sequence[Sample]
) -> list[tuple[list[int], FloatArray, FloatArray]]:
    """Of the samples that are long enough and whose order is known places, values and ranks, some at a time."""
    groups = []
    for members in batches(
        (row.n,) if row.n >= _FEW_FOR_ORDER and _has_order(sample) else None
        for sample, row in zip(measured, used, strict=True)
    ):
        values = stacked([used[i].values for i in members])
        ranks, ordered = ranked(values)
        if values.shape[1] >= LARGE:
            ordered.flags.writeable = False
            for i, row in zip(members, ordered, strict=True):
                used[i].__dict__["ascending"] = row
        groups.append((members, values, ranks))
    return groups


def order_tests(
    samples: Iterable[tuple[list[int], FloatArray, FloatArray]], count: int
) -> list[tuple[Tested, Tested] | None]:
    """Serial dependence and drift of those of so many samples that are :func:`in_order`."""
    tests: list[tuple[Tested, Tested] | None] = [None] * count
    for members, values, ranks in samples:
        serial, trend = lag1(values, ranks), drift(values, ranks)
        columns = (serial.statistic, serial.pvalue, trend.statistic, trend.pvalue)
        for i, a, b, c, d in zip(members, *(column.tolist() for column in columns), strict=True):
            tests[i] = ((a, b), (c, d))
    return tests


def steadiness(measured: Sequence[Sample]) -> list[Tested | None]:
    """Of every sample whose order is known and that is nested in processes: drift within them."""
    tests: list[Tested | None] = [None] * len(measured)
    for members in batches(
        (sample.n, id(sample.groups)) if sample.nested and _has_order(sample) else None for sample in measured
    ):
        values = stacked([measured[i].values for i in members])
        within = drift_within(values, np.asarray(measured[members[0]].processes))
        for i, *tested in zip(members, within.statistic.tolist(), within.pvalue.tolist(), strict=True):
            tests[i] = tuple(tested)
    return tests


def of_order(side: str, neighbours: tuple[Tested, Tested] | None, within: Tested | None) -> list[Note]:
    """The results of :func:`order_tests` and :func:`steadiness` as notes."""
    tests = zip(_OF_ORDER, (*(neighbours or (None, None)), within), strict=True)
    return [
        Note(kind, _OF_ORDER[kind][held], (side,), (), test[0], test[1], held)
        for kind, test in tests
        if test is not None and not math.isnan(test[1])
        for held in [test[1] > ORDER_LEVEL]
    ]

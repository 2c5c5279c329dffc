"""Two samples as the protocols work on them: direction, nesting, summaries and checks, each made once.

The tests know arrays only. Here they meet samples: which side is slow for a gain, what repeats independently, what
speaks against the runs. Many pairs are prepared together, and those of equal sizes are handed on together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from msgspec import Struct

from speedproof.data.sample import FloatArray, Sample, Trait
from speedproof.data.suite import Key, Pair
from speedproof.protocols.assumptions import Assumption
from speedproof.protocols.results import Check, Comparison, Summary, summarise_all
from speedproof.protocols.units import LEAST_SESSIONS, independent_units
from speedproof.stats.dependence import drift, drift_within, lag1, midranks
from speedproof.stats.resolution import last_place
from speedproof.stats.scaling import exponent, with_headroom

if TYPE_CHECKING:
    from speedproof.protocols.noise_floor import NoiseFloor

KSRule = Literal["legacy", "r422"]
StandsForAProcess = Literal["mean", "median"]
Tested = tuple[float, float]  # a statistic with its p-value
OrderTests = tuple[tuple[Tested, Tested] | None, Tested | None]
"""Of the values used: serial dependence and drift; of those measured: drift within processes."""

UNNAMED = Key("")
LEAST_RISK = 1e-9  # the tests' approximations say nothing of what lies beyond
_TOGETHER = 1 << 17  # values that are tested together: they fit a core's cache
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
        "runs ended with an error, and what fails early is quick: their times are among the values",
    ),
    Trait.FAILED_LEFT_OUT: (
        Assumption.SUCCESSFUL_RUNS,
        "runs failed and were left out: the values speak of those that succeeded",
    ),
    Trait.STOPPED_ON_RESULT: (
        Assumption.PLANNED_SIZE,
        "measuring ended, or went on, after a look at these very values: a test for a size fixed beforehand has a "
        "larger risk, and its bounds lean to that result; 'speedproof run --review FILE' gives the verdict that "
        "holds, or fix the size by equal --min-runs and --max-runs",
    ),
    Trait.TWO_PROGRAMS: (
        Assumption.ONE_PROGRAM,
        "the program was replaced while it was measured: the values are of two programs; measure again",
    ),
}
_ONE_PROCESS = (
    "all values come from one process: what differs between processes does not show in their spread; "
    "repeat the whole program and give the files of one version as a folder"
)
_UNKNOWN_PROCESSES = (
    "the other side's values are nested in processes, of these the processes are unknown: if several come from "
    "one process, the risk is far larger than stated"
)
_SERIAL = "neighbouring runs are neither alike nor opposed"
_ALIKE = (
    "neighbouring runs are alike: there is less information than the number of runs suggests; "
    "measure both versions in a random order"
)
_ALIKE_IN_BLOCKS = (
    "neighbouring runs are alike: there is less information than the number of runs suggests; the versions took "
    "turns in random order, so 'speedproof run --review FILE', which compares within blocks, does not mind"
)
_UNLIKE = "neighbouring runs alternate: something with a period of two runs is measured, too"
_STEADY = "no trend over the runs"
_DRIFT = "the values drift over the runs: warm up longer, or measure both versions in a random order"
_DRIFT_IN_BLOCKS = (
    "the values drift over the runs: warm up longer; the versions took turns in random order, so 'speedproof run "
    "--review FILE', which compares within blocks, does not mind what both share"
)
_STEADY_WITHIN = "no trend inside the processes"
_DRIFT_WITHIN = (
    "the values drift inside the processes, as in a warm-up: what a process stands for depends on how many "
    "values it gives"
)
ORDER_LEVEL = 0.01
_UNRELATED = 2.0  # von Neumann's ratio of independent values


class Rules(Struct, frozen=True):
    """How to compare: the risk, and the few choices that the protocols leave open.

    Attributes
    ----------
    alpha : float
        The risk of each of the two sides, from 1e-9 to below 1; above one half a lower bound exceeds the
        estimate, which is of use only to repeat what others did.
    nested : {"process", "pool"}
        Whether values of one process, or of one of four or more sessions a side, are replaced by their mean
        (median) or treated as independent.
    always_welch : bool
        Leave the pre-test on variances out of the mean protocol.
    ks_rule : {"legacy", "r422"}
        When the median protocol's Kolmogorov-Smirnov p-value is exact.
    margin : float or None
        Speedups strictly within 1/(1 + margin) and 1 + margin are equivalent when that is proven.
    bootstrap : bool
        The 2009 protocol goes on with the bootstrap where it asks for 30 runs "or the bootstrap".
    floor : NoiseFloor or None
        How much sessions of identical code differ: what sides of few sessions are held against.

    Raises
    ------
    ValueError
        A risk out of range or a margin that is not positive.
    """

    alpha: float = 0.05
    nested: Literal["process", "pool"] = "process"
    always_welch: bool = False
    ks_rule: KSRule = "legacy"
    margin: float | None = None
    bootstrap: bool = False
    floor: NoiseFloor | None = None

    def __post_init__(self) -> None:
        if not LEAST_RISK <= self.alpha < 1:
            raise ValueError(f"the risk must lie between {LEAST_RISK:g} and 1, not be {self.alpha:g}")
        if self.margin is not None and not self.margin > 0:
            raise ValueError(f"the margin must be positive, not {self.margin:g}")


DEFAULT = Rules()


class Sides(Struct, frozen=True, eq=False):
    """One pair as a protocol works on it."""

    key: Key  # benchmark and metric
    x: Sample  # reference and candidate as used: one value a process, unless they are pooled
    y: Sample
    # Their values, exchanged for a metric where higher is better: so a gain is always "slow is more than
    # fast", and the protocols need one direction only. Both may be in another unit.
    slow: FloatArray
    fast: FloatArray
    turned: bool  # whether they are exchanged
    summaries: tuple[Summary, Summary]  # of reference and candidate
    checks: tuple[Check, ...]  # of both samples, whatever the protocol
    # Of slow and fast, each among its own, where they were needed for the checks
    ranks: tuple[FloatArray, FloatArray] | None = None
    paired: bool = False  # whether the i-th values of both sides are of one session

    @property
    def better(self) -> str:
        """What a good value is."""
        return "higher" if self.turned else "lower"


class PreparedPairs:
    """Pairs with the rules by which they are compared."""

    def __init__(self, pairs: Sequence[Pair], rules: Rules = DEFAULT) -> None:
        for pair in pairs:
            x, y = pair.reference, pair.candidate
            if x.unit != y.unit or x.direction is not y.direction:
                raise ValueError(
                    f"samples of two units or directions are not comparable: {x.unit!r} and {y.unit!r}"
                )
        self.pairs, self.rules = tuple(pairs), rules
        self._reduced = rules.nested == "process" and any(
            sample.nested or sample.session_count >= LEAST_SESSIONS
            for pair in pairs
            for sample in (pair.reference, pair.candidate)
        )
        self._sides: dict[StandsForAProcess, tuple[Sides, ...]] = {}
        self._steadiness: list[tuple[float, float] | None] | None = None

    def sides(self, location: StandsForAProcess) -> tuple[Sides, ...]:
        """The pairs, in order, with the mean or the median of a unit in the place of its values."""
        location = location if self._reduced else "median"
        if location not in self._sides:
            self._sides[location] = self._prepare(location)
        return self._sides[location]

    def _prepare(self, location: StandsForAProcess) -> tuple[Sides, ...]:
        measured = [sample for pair in self.pairs for sample in (pair.reference, pair.candidate)]
        used = measured
        if self._reduced:
            used = [
                sample
                for pair in self.pairs
                for sample in independent_units((pair.reference, pair.candidate), location)
            ]
        summaries = summarise_all(measured, used)
        if self._steadiness is None:  # the same, whatever stands for a process
            self._steadiness = [_steadiness(sample) for sample in measured]
        tests, ranks = _order_tests(measured, used)
        orders = list(zip(tests, self._steadiness, strict=True))
        found = []
        for i, pair in enumerate(self.pairs):
            x, y = used[2 * i], used[2 * i + 1]
            turned = pair.reference.higher_is_better
            slow, fast = with_headroom(*((y.values, x.values) if turned else (x.values, y.values)))
            of_x, of_y = pair.reference, pair.candidate
            checks = (
                *same_values(of_x, of_y),
                *coarse_values(of_x, of_y),
                *of_sample(of_x, x, "X", other_nested=of_y.nested, order=orders[2 * i]),
                *of_sample(of_y, y, "Y", other_nested=of_x.nested, order=orders[2 * i + 1]),
            )
            of_slow, of_fast = (ranks[2 * i + turned], ranks[2 * i + 1 - turned])
            both = None if of_slow is None or of_fast is None else (of_slow, of_fast)
            own = summaries[2 * i], summaries[2 * i + 1]
            found.append(Sides(pair.key, x, y, slow, fast, turned, own, checks, both))
        return tuple(found)


def in_batches(
    sides: Sequence[Sides],
    answers: Callable[[Sequence[Sides], FloatArray, FloatArray], list[Comparison]],
) -> list[Comparison]:
    """The answers about all pairs, in order, asked of pairs of equal sizes together."""
    groups: dict[tuple[int, int], list[int]] = {}
    for i, side in enumerate(sides):
        groups.setdefault((side.slow.size, side.fast.size), []).append(i)
    found: dict[int, Comparison] = {}
    for (n, m), rows in groups.items():
        few = max(1, _TOGETHER // (n + m))
        for at in range(0, len(rows), few):
            own = [sides[i] for i in rows[at : at + few]]
            slow, fast = np.stack([side.slow for side in own]), np.stack([side.fast for side in own])
            found.update(zip(rows[at : at + few], answers(own, slow, fast), strict=True))
    return [found[i] for i in range(len(sides))]


def of_sample(
    measured: Sample,
    used: Sample,
    side: str,
    *,
    other_nested: bool = False,
    order: OrderTests | None = None,
) -> tuple[Check, ...]:
    """The checks of one sample: how many runs, nesting, run order, zeros, tampering."""
    return (
        *_of_size(used, side),
        *_of_history(measured, side),
        *_of_nesting(measured, used, side, other_nested),
        *_of_values(measured, side),
        *(
            Check(Assumption.UNTOUCHED, side, math.nan, math.nan, False, f"the values were {trait}: {why}")
            for trait, why in _TAINTS.items()
            if trait in measured.traits
        ),
        *_of_order(measured, used, side, order),
    )


def same_values(reference: Sample, candidate: Sample) -> tuple[Check, ...]:
    """The check that two samples are two measurements."""
    if reference.n < 2 or reference.n != candidate.n or np.ptp(reference.values) == 0:
        return ()
    if not np.array_equal(reference.values, candidate.values):
        return ()
    message = "both samples hold the same values in the same order, as if one file was given twice"
    return (Check(Assumption.TWO_MEASUREMENTS, "", math.nan, math.nan, False, message),)


def coarse_values(reference: Sample, candidate: Sample) -> tuple[Check, ...]:
    """The check that the values were read finely enough for what is said of them."""
    measured = np.concatenate([reference.values, candidate.values])
    shift = exponent(measured)
    pooled = np.ldexp(measured, shift)
    distinct = np.unique(pooled)
    if distinct.size == pooled.size or pooled.size < _LEAST_FOR_STEP:
        return ()
    size = float(np.median(np.abs(pooled)))
    if size == 0.0:
        return ()
    # Two values or one tell no step; their last decimal place is the best guess.
    places = [last_place(value) for value in np.unique(measured)[:2].tolist()]
    step = float(np.diff(distinct).min()) if distinct.size > 2 else float(np.ldexp(max(places), shift))
    spread = max(float(part.std()) for part in np.split(pooled, [reference.n]))
    if step <= spread or step <= _COARSE * size:
        return ()
    read = float(np.ldexp(step, -shift))
    message = (
        f"the values were read in steps of about {read:.2g}, which is more than they scatter: rounding may make "
        "equal what differs; use a finer clock, more digits or longer runs"
    )
    return (Check(Assumption.RESOLUTION, "", read, math.nan, False, message),)


def _of_size(used: Sample, side: str) -> list[Check]:
    if used.n > 1:
        return []
    what = "one process" if used.processes is not None else "one run"
    message = f"{what} may be an outlier, and nothing is known of its spread: measure more"
    return [Check(Assumption.SEVERAL_RUNS, side, 1.0, math.nan, False, message)]


def _of_history(measured: Sample, side: str) -> list[Check]:
    """What is known of how the runs came to be, and speaks against them."""
    return [
        Check(kind, side, math.nan, math.nan, False, message)
        for trait, (kind, message) in _HISTORY.items()
        if trait in measured.traits
    ]


def _of_nesting(measured: Sample, used: Sample, side: str, other_nested: bool) -> list[Check]:
    if Trait.ONE_PROCESS in measured.traits and measured.n > 1:
        return [Check(Assumption.SEVERAL_PROCESSES, side, math.nan, math.nan, False, _ONE_PROCESS)]
    if not measured.nested and used.n == measured.n:
        if other_nested and measured.processes is None and measured.n > 1:
            return [Check(Assumption.NESTING, side, math.nan, math.nan, False, _UNKNOWN_PROCESSES)]
        return []
    if used.n == measured.session_count >= LEAST_SESSIONS:
        message = f"{measured.n} values in {used.n} sessions: one value a session was used"
        return [Check(Assumption.NESTING, side, math.nan, math.nan, True, message)]
    sizes = np.unique(np.asarray(measured.processes), return_counts=True)[1]
    each = f"{sizes.min()}" if sizes.min() == sizes.max() else f"{sizes.min()} to {sizes.max()}"
    processes = f"{sizes.size} process{'es' if sizes.size > 1 else ''}"
    reduced = used.n < measured.n
    message = f"{measured.n} values in {processes} ({each} each): " + (
        "one value a process was used" if reduced else "pooled as if they were independent"
    )
    return [Check(Assumption.NESTING, side, math.nan, math.nan, reduced, message)]


def _of_values(measured: Sample, side: str) -> list[Check]:
    zeros, negative = int(np.sum(measured.values == 0)), int(np.sum(measured.values < 0))
    if not zeros and not negative:
        return []
    kind = "negative" if negative else "0"
    message = f"{negative or zeros} of {measured.n} values are {kind}: ratios mean little or nothing"
    if measured.unit == "s":
        message += "; the clock is too coarse for what was timed"
    return [Check(Assumption.POSITIVE_VALUES, side, float(negative or zeros), math.nan, False, message)]


def _has_order(measured: Sample) -> bool:
    return Trait.ORDER_KNOWN in measured.traits and Trait.SORTED not in measured.traits


def _order_tests(
    measured: Sequence[Sample], used: Sequence[Sample]
) -> tuple[list[tuple[Tested, Tested] | None], list[FloatArray | None]]:
    """Of every sample that is long enough and whose order is known: serial dependence and drift; its ranks."""
    groups: dict[int, list[int]] = {}
    for i, (sample, own) in enumerate(zip(measured, used, strict=True)):
        if _has_order(sample) and own.n >= _FEW_FOR_ORDER:
            groups.setdefault(own.n, []).append(i)
    found: list[tuple[Tested, Tested] | None] = [None] * len(used)
    all_ranks: list[FloatArray | None] = [None] * len(used)
    for n, members in groups.items():
        few = max(1, _TOGETHER // n)
        for at in range(0, len(members), few):
            some = members[at : at + few]
            values = np.stack([used[i].values for i in some])
            ranks = midranks(values)
            serial, trend = lag1(values, ranks), drift(values, ranks)
            columns = (serial.statistic, serial.pvalue, trend.correlation, trend.pvalue)
            for i, own, a, b, c, d in zip(some, ranks, *(column.tolist() for column in columns), strict=True):
                found[i], all_ranks[i] = ((a, b), (c, d)), own
    return found, all_ranks


def _steadiness(measured: Sample) -> Tested | None:
    if not (_has_order(measured) and measured.nested):
        return None
    within = drift_within(measured.values, np.asarray(measured.processes))
    return float(within.correlation), float(within.pvalue)


def _of_order(measured: Sample, used: Sample, side: str, order: OrderTests | None) -> list[Check]:
    if not _has_order(measured):
        return []
    tests: list[tuple[Assumption, float, float, str, str]] = []
    neighbours, within = order or (_order_tests([measured], [used])[0][0], _steadiness(measured))
    if neighbours is not None:
        (ratio, serial), (correlation, trend) = neighbours
        in_blocks = Trait.RANDOM_ORDER in measured.traits
        likeness, drifting = (_ALIKE_IN_BLOCKS, _DRIFT_IN_BLOCKS) if in_blocks else (_ALIKE, _DRIFT)
        tests = [
            (Assumption.RUN_ORDER, ratio, serial, _SERIAL, likeness if ratio < _UNRELATED else _UNLIKE),
            (Assumption.DRIFT, correlation, trend, _STEADY, drifting),
        ]
    if within is not None:
        tests.append((Assumption.STEADINESS, *within, _STEADY_WITHIN, _DRIFT_WITHIN))
    return [
        Check(kind, side, statistic, p, p > ORDER_LEVEL, good if p > ORDER_LEVEL else bad)
        for kind, statistic, p, good, bad in tests
        if not math.isnan(p)
    ]

"""The preconditions that protocols test, as checks that say what they mean and what to do."""

from __future__ import annotations

import math

import numpy as np

from speedproof.data.sample import FloatArray, Sample, Trait
from speedproof.protocols.assumptions import Assumption
from speedproof.protocols.results import Check
from speedproof.protocols.speedup_test import (
    SHAPIRO_MOST,
    SMALL,
    MeanDecision,
    MeanTests,
    MedianDecision,
    MedianTests,
)
from speedproof.stats.dependence import drift, drift_within, lag1
from speedproof.stats.hypotests import ks_location
from speedproof.stats.resolution import last_place
from speedproof.stats.scaling import exponent

__all__ = ["coarse_values", "of_means", "of_medians", "of_sample", "same_values"]

_LEAST_FOR_SHAPIRO = 3
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
_ORDER_LEVEL = 0.01
_UNRELATED = 2.0  # von Neumann's ratio of independent values


def of_means(tests: MeanTests, decision: MeanDecision, turned: bool) -> tuple[Check, ...]:
    """The checks of figure 1.

    Parameters
    ----------
    tests, decision : MeanTests, MeanDecision
        Of one pair (no leading axes).
    turned : bool
        Whether the tests saw the candidate as their X (higher is better).

    Returns
    -------
    tuple of Check
        Normality of X and of Y; equal variances where the F test had a say.
    """
    sides = (
        (tests.shapiro_x, bool(decision.normal_x), tests.n),
        (tests.shapiro_y, bool(decision.normal_y), tests.m),
    )
    found = []
    for name, (test, normal, n) in zip("XY", sides[:: -1 if turned else 1], strict=True):
        if normal:
            message = "normality is not rejected"
        elif n > SHAPIRO_MOST:
            message = (
                f"Shapiro-Wilk has no valid p-value for more than {SHAPIRO_MOST} values: taken as not normal"
            )
        elif n < _LEAST_FOR_SHAPIRO:
            message = (
                f"fewer than {_LEAST_FOR_SHAPIRO} values: no test of normality, measure more than {SMALL}"
            )
        elif math.isnan(float(test.pvalue)):
            message = "all values are equal, so normality cannot be tested: use a finer clock or longer runs"
        elif n <= SMALL:
            message = f"not normal and at most {SMALL} runs: measure more than {SMALL}, or rely on the median"
        else:
            message = (
                "not normal: the t test is approximate, 1 - alpha may not be the correct confidence level"
            )
        found.append(
            Check(Assumption.NORMALITY, name, float(test.statistic), float(test.pvalue), normal, message)
        )
    if bool(decision.normal_x) and bool(decision.normal_y):
        equal = bool(decision.equal_variances)
        found.append(
            Check(
                Assumption.EQUAL_VARIANCES,
                "",
                float(tests.variances.statistic),
                float(tests.variances.pvalue),
                equal,
                "equal variances are not rejected: pooled t test"
                if equal
                else "unequal variances: Welch's t test",
            )
        )
    return tuple(found)


def of_medians(
    tests: MedianTests, decision: MedianDecision, slow: FloatArray, fast: FloatArray, alpha: float
) -> tuple[Check, ...]:
    """The checks of figure 2, and how many values are tied.

    Parameters
    ----------
    tests, decision : MedianTests, MedianDecision
        Of one pair (no leading axes).
    slow, fast : ndarray
        The samples.
    alpha : float
        The risk.

    Returns
    -------
    tuple of Check
        The location model; the scale model behind the bounds; ties, when there are any.
    """
    holds = bool(decision.location_model)
    if holds:
        message = "the samples may differ by a shift only: the rank-sum test speaks of medians"
    elif bool(decision.lacking_x) or bool(decision.lacking_y):
        message = f"the samples differ by more than a shift and one has at most {SMALL} runs: measure more"
    else:
        message = (
            "the samples differ by more than a shift: the rank-sum test says which tends to be larger, "
            "1 - alpha may not be the correct confidence level for medians"
        )
    location = tests.location
    found = [Check(Assumption.SHIFT, "", float(location.statistic), float(location.pvalue), holds, message)]
    pooled = np.concatenate([slow, fast])
    if pooled.min() > 0:
        # The bounds of the ratio invert the test under scaling, which is a shift of the logarithms.
        factor = ks_location(np.log(slow), np.log(fast))
        common = bool(factor.pvalue > alpha)
        found.append(
            Check(
                Assumption.FACTOR,
                "",
                float(factor.statistic),
                float(factor.pvalue),
                common,
                "the samples may differ by a factor only, which is what the bounds of the ratio are for"
                if common
                else "the samples differ by more than a factor: the bounds are not those of the ratio of medians",
            )
        )
    if bool(tests.ranks.ties):
        distinct = int(np.unique(pooled).size)
        many = 2 * distinct > pooled.size
        message = f"{distinct} distinct values among {pooled.size}: the rank-sum test is approximate"
        if not many:
            message += ", and bounds cannot be finer than the clock; a finer clock or longer runs help"
        found.append(Check(Assumption.TIES, "", float(pooled.size - distinct), math.nan, many, message))
    return tuple(found)


def of_sample(measured: Sample, used: Sample, side: str, *, other_nested: bool = False) -> tuple[Check, ...]:
    """The checks of one sample: how many runs, nesting, run order, zeros, tampering.

    Parameters
    ----------
    measured, used : Sample
        As measured, and as the protocol used it (one value a process, or the same).
    side : str
        ``"X"`` or ``"Y"``.
    other_nested : bool
        Whether the other side knows of processes with several values.

    Returns
    -------
    tuple of Check
        Only those that apply: run order is tested when it is known, at a level of its own, since a check
        that is made on every benchmark should rarely fail by chance.
    """
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
        *_of_order(measured, used, side),
    )


def same_values(reference: Sample, candidate: Sample) -> tuple[Check, ...]:
    """The check that two samples are two measurements.

    Parameters
    ----------
    reference, candidate : Sample
        As measured.

    Returns
    -------
    tuple of Check
        Empty unless both hold the same values in the same order, which two measurements never do.
    """
    if reference.n < 2 or reference.n != candidate.n or np.ptp(reference.values) == 0:
        return ()
    if not np.array_equal(reference.values, candidate.values):
        return ()
    message = "both samples hold the same values in the same order, as if one file was given twice"
    return (Check(Assumption.TWO_MEASUREMENTS, "", math.nan, math.nan, False, message),)


def coarse_values(reference: Sample, candidate: Sample) -> tuple[Check, ...]:
    """The check that the values were read finely enough for what is said of them.

    Parameters
    ----------
    reference, candidate : Sample
        As measured.

    Returns
    -------
    tuple of Check
        Empty unless values tie and their step is larger than their spread and than a hundredth of their size: then
        rounding, not the programs, may have made them equal or different.
    """
    measured = np.concatenate([reference.values, candidate.values])
    shift = exponent(measured)
    pooled = np.ldexp(measured, shift)
    distinct = np.unique(pooled)
    size = float(np.median(np.abs(pooled)))
    if distinct.size == pooled.size or pooled.size < _LEAST_FOR_SHAPIRO or size == 0.0:
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
    if not measured.nested:
        if other_nested and measured.processes is None and measured.n > 1:
            return [Check(Assumption.NESTING, side, math.nan, math.nan, False, _UNKNOWN_PROCESSES)]
        return []
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


def _of_order(measured: Sample, used: Sample, side: str) -> list[Check]:
    if Trait.ORDER_KNOWN not in measured.traits or Trait.SORTED in measured.traits:
        return []
    serial, trend = lag1(used.values), drift(used.values)
    alike = bool(serial.statistic < _UNRELATED)
    in_blocks = Trait.RANDOM_ORDER in measured.traits
    likeness, drifting = (_ALIKE_IN_BLOCKS, _DRIFT_IN_BLOCKS) if in_blocks else (_ALIKE, _DRIFT)
    tests = [
        (Assumption.RUN_ORDER, serial.statistic, serial.pvalue, _SERIAL, likeness if alike else _UNLIKE),
        (Assumption.DRIFT, trend.correlation, trend.pvalue, _STEADY, drifting),
    ]
    if used.n < _FEW_FOR_ORDER:
        tests = []
    if measured.nested:
        within = drift_within(measured.values, np.asarray(measured.processes))
        tests.append(
            (Assumption.STEADINESS, within.correlation, within.pvalue, _STEADY_WITHIN, _DRIFT_WITHIN)
        )
    return [
        Check(
            kind, side, float(statistic), float(p), bool(p > _ORDER_LEVEL), good if p > _ORDER_LEVEL else bad
        )
        for kind, statistic, p, good, bad in tests
        if not math.isnan(float(p))
    ]

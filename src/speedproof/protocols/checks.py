"""The preconditions that protocols test, as checks that say what they mean and what to do."""

from __future__ import annotations

import math

import numpy as np

from speedproof.data.sample import FloatArray, Sample, Trait
from speedproof.protocols.comparison import Check
from speedproof.protocols.speedup_test import (
    SHAPIRO_MOST,
    SMALL,
    MeanDecision,
    MeanTests,
    MedianDecision,
    MedianTests,
)
from speedproof.stats.dependence import drift, lag1

__all__ = ["of_means", "of_medians", "of_sample"]

_LEAST_FOR_SHAPIRO = 3
_FEW_FOR_ORDER = 8
_TAINTS = {Trait.TRIMMED: "spread and risk are understated", Trait.SORTED: "run order is lost"}


_ONE_PROCESS = (
    "all values come from one process: what differs between processes does not show in their spread; "
    "repeat the whole program and give the files of one version as a folder"
)
_SERIAL = (
    "neighbouring runs are not alike",
    "neighbouring runs are alike: there is less information than the number of runs suggests; "
    "measure both versions in a random order",
)
_DRIFT = (
    "no trend over the runs",
    "the values drift over the runs: warm up longer, or measure both versions in a random order",
)


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
            Check(f"normality of {name}", float(test.statistic), float(test.pvalue), normal, message)
        )
    if bool(decision.normal_x) and bool(decision.normal_y):
        equal = bool(decision.equal_variances)
        found.append(
            Check(
                "equal variances",
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
    tests: MedianTests, decision: MedianDecision, slow: FloatArray, fast: FloatArray
) -> tuple[Check, ...]:
    """The checks of figure 2, and how many values are tied.

    Parameters
    ----------
    tests, decision : MedianTests, MedianDecision
        Of one pair (no leading axes).
    slow, fast : ndarray
        The samples.

    Returns
    -------
    tuple of Check
        The location model; ties, when there are any.
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
    found = [Check("location shift", float(location.statistic), float(location.pvalue), holds, message)]
    if bool(tests.ranks.ties):
        pooled = np.concatenate([slow, fast])
        distinct = int(np.unique(pooled).size)
        found.append(
            Check(
                "ties",
                float(pooled.size - distinct),
                math.nan,
                2 * distinct > pooled.size,
                f"{distinct} distinct values among {pooled.size}: the rank-sum test is approximate; "
                "a finer clock or longer runs give more",
            )
        )
    return tuple(found)


def of_sample(measured: Sample, used: Sample, side: str, alpha: float) -> tuple[Check, ...]:
    """The checks of one sample: nesting, run order, trimming.

    Parameters
    ----------
    measured, used : Sample
        As measured, and as the protocol used it (one value a process, or the same).
    side : str
        ``"X"`` or ``"Y"``.
    alpha : float
        The level of the tests on run order.

    Returns
    -------
    tuple of Check
        Only those that apply: run order is tested when it is known.
    """
    found = []
    if measured.nested:
        reduced = used.n < measured.n
        found.append(
            Check(
                f"nesting of {side}",
                math.nan,
                math.nan,
                reduced,
                f"{measured.n} values in {measured.process_count} processes: "
                + ("one value a process was used" if reduced else "pooled as if they were independent"),
            )
        )
    if Trait.ONE_PROCESS in measured.traits and measured.n > 1:
        found.append(Check(f"several processes of {side}", math.nan, math.nan, False, _ONE_PROCESS))
    found.extend(
        Check(
            f"untouched values of {side}",
            math.nan,
            math.nan,
            False,
            f"the values were {trait} before they were stored: {consequence}",
        )
        for trait, consequence in _TAINTS.items()
        if trait in measured.traits
    )
    if (
        Trait.ORDER_KNOWN in measured.traits
        and Trait.SORTED not in measured.traits
        and used.n >= _FEW_FOR_ORDER
    ):
        found.extend(_of_order(used, side, alpha))
    return tuple(found)


def _of_order(used: Sample, side: str, alpha: float) -> list[Check]:
    found = []
    serial, trend = lag1(used.values), drift(used.values)
    for name, statistic, p, (good, bad) in (
        ("run order", serial.statistic, serial.pvalue, _SERIAL),
        ("drift", trend.correlation, trend.pvalue, _DRIFT),
    ):
        held = not p <= alpha
        found.append(Check(f"{name} of {side}", float(statistic), float(p), held, good if held else bad))
    return found

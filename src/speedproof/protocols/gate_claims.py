"""What may be claimed of a speedup at a gate, the tests of each claim, and the decision from their p-values.

Each test is the one that the protocol chose for the pair, at another ratio: see
:mod:`speedproof.stats.ratio`. How the decision holds its risk is told in :mod:`speedproof.protocols.gate`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

import numpy as np
import numpy.typing as npt

from speedproof.data.sample import FloatArray
from speedproof.protocols.compare import Rules
from speedproof.protocols.speedup_test import decide_mean, decide_median, mean_tests, median_tests
from speedproof.stats.multiplicity import benjamini_hochberg, holm
from speedproof.stats.ratio import RatioTest, ratio_of_means_test, ratio_of_medians_test

__all__ = [
    "ASKS",
    "CLAIMED",
    "MULTIPLICITIES",
    "Claim",
    "Demand",
    "Evidence",
    "GateRules",
    "Location",
    "Multiplicity",
    "Outcome",
    "Policy",
    "claim",
    "evidence_of",
    "judge",
]

Location = Literal["mean", "median"]
Multiplicity = Literal["holm", "bh", "none"]


def _uncorrected(pvalues: npt.ArrayLike) -> FloatArray:
    return np.asarray(pvalues, dtype=np.float64)


MULTIPLICITIES: dict[Multiplicity, Callable[[npt.ArrayLike], FloatArray]] = {
    "holm": holm,
    "bh": benjamini_hochberg,
    "none": _uncorrected,
}
"""From the p-values of a family to the p-values that are compared with alpha."""


class Policy(StrEnum):
    """What a benchmark must prove."""

    NO_REGRESSION = "no-regression"
    PROVEN_IMPROVEMENT = "proven-improvement"
    EQUIVALENCE = "equivalence"


class Outcome(StrEnum):
    """Of one benchmark, and of the gate."""

    PASS = "pass"
    FAIL = "fail"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Demand:
    """What one benchmark must prove.

    Attributes
    ----------
    policy : Policy
        The kind of proof.
    margin : float
        Positive: the speedup may fall to c = 1 / (1 + margin), or lie between c and 1 / c. A proven improvement
        is one over 1, whatever the margin.

    Raises
    ------
    ValueError
        A margin that is not positive and finite.
    """

    policy: Policy = Policy.NO_REGRESSION
    margin: float = 0.02

    def __post_init__(self) -> None:
        if not 0 < self.margin < math.inf:
            raise ValueError(f"the margin must be positive, not {self.margin:g}")


@dataclass(frozen=True, slots=True)
class GateRules:
    """How the gate decides.

    Attributes
    ----------
    alpha : float
        The risk of a false pass, and (corrected) of a false fail, in the range that
        :class:`speedproof.protocols.compare.Rules` allows.
    multiplicity : {"holm", "bh", "none"}
        How p-values are corrected where one claim among many is enough.
    protocol : {"mean", "median"}
        Whose test decides.

    Raises
    ------
    ValueError
        A risk out of that range.
    """

    alpha: float = 0.05
    multiplicity: Multiplicity = "holm"
    protocol: Location = "median"

    def __post_init__(self) -> None:
        Rules(alpha=self.alpha)  # refuses a risk out of range


@dataclass(frozen=True, slots=True)
class Evidence:
    """P-values against the nulls of what may be claimed of a speedup s; c = 1 / (1 + margin).

    Attributes
    ----------
    not_worse, regression : ndarray
        s > c; s < c. NaN where the protocol stopped before a test. Shape of the leading axes.
    improvement, slowdown : ndarray
        s > 1; s < 1.
    equivalence : ndarray
        c < s < 1 / c: the larger p-value of two one-sided tests (Schuirmann 1987). NaN also where the samples
        differ by more than a shift: ranks then tell the order of the versions, but bound no ratio of medians.
    difference : ndarray
        s < c or s > 1 / c: twice the smaller one.
    """

    not_worse: FloatArray
    regression: FloatArray
    improvement: FloatArray
    slowdown: FloatArray
    equivalence: FloatArray
    difference: FloatArray


def evidence_of(
    slow: FloatArray, fast: FloatArray, margin: float, alpha: float, protocol: Location
) -> Evidence:
    """Test every claim on pairs of samples, by the test that the protocol chooses for each pair.

    Parameters
    ----------
    slow, fast : ndarray of float64, shapes (..., n) and (..., m)
        The samples whose ratio of locations is the speedup: X and Y, exchanged where higher is better.
    margin : float
        Positive.
    alpha : float
        The risk at which the protocol makes its preliminary tests.
    protocol : {"mean", "median"}
        Figure 1 or figure 2 of the Speedup-Test.

    Returns
    -------
    Evidence
        The choice between Student and Welch is that of the samples as measured, as for certified bounds.

    Examples
    --------
    >>> x = np.array([10.1, 10.3, 9.9, 10.0, 10.2])
    >>> found = evidence_of(x, x + 0.01, 0.05, 0.05, "mean")
    >>> bool(found.not_worse <= 0.05), bool(found.improvement <= 0.05), bool(found.equivalence <= 0.05)
    (True, False, True)
    """
    low, high = 1 / (1 + margin), 1 + margin
    if protocol == "mean":
        of_means = decide_mean(mean_tests(slow, fast), alpha)
        stopped = of_means.lacking_x | of_means.lacking_y
        modelled = ~stopped
        at = [ratio_of_means_test(slow, fast, g, of_means.equal_variances) for g in (low, 1.0, high)]
    else:
        of_medians = decide_median(median_tests(slow, fast), alpha)
        stopped = of_medians.lacking_x | of_medians.lacking_y
        modelled = of_medians.location_model
        at = [ratio_of_medians_test(slow, fast, g) for g in (low, 1.0, high)]
    at_low, at_one, at_high = (
        RatioTest(np.where(stopped, np.nan, t.above), np.where(stopped, np.nan, t.below)) for t in at
    )
    return Evidence(
        not_worse=at_low.above,
        regression=at_low.below,
        improvement=at_one.above,
        slowdown=at_one.below,
        equivalence=np.where(modelled, np.maximum(at_low.above, at_high.below), np.nan),
        difference=np.minimum(1.0, 2 * np.minimum(at_low.below, at_high.above)),
    )


def judge(required: npt.ArrayLike, contradicted: npt.ArrayLike, alpha: float) -> Outcome:
    """The gate's answer from the p-values of all benchmarks.

    Parameters
    ----------
    required : array_like, shape (k,)
        Of each benchmark's requirement, not corrected; NaN where nothing was tested.
    contradicted : array_like, shape (k,)
        Of each benchmark's contradiction, corrected over the family.
    alpha : float
        The risk.

    Returns
    -------
    Outcome
        A proven contradiction goes before everything else.

    Examples
    --------
    >>> judge([0.01, 0.04], [1.0, 1.0], 0.05).value, judge([0.01, 0.9], [1.0, 0.2], 0.05).value
    ('pass', 'undecided')
    >>> judge([0.01, 0.99], [1.0, 0.02], 0.05).value
    'fail'
    """
    if (np.asarray(contradicted) <= alpha).any():
        return Outcome.FAIL
    return Outcome.PASS if (np.asarray(required) <= alpha).all() else Outcome.UNDECIDED


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement on a benchmark's speedup and whether it is proven.

    Attributes
    ----------
    name : str
        A field of :class:`Evidence` in words: ``"not worse"``, ``"regression"``, ...
    hypothesis : str
        What it says of the speedup.
    pvalue : float
        Of the test of its opposite; NaN where the protocol stopped before a test.
    adjusted : float
        What is compared with alpha: corrected over all benchmarks, or the p-value itself for a requirement.
    proven : bool
        Whether ``adjusted`` is at most alpha.
    """

    name: str
    hypothesis: str
    pvalue: float
    adjusted: float
    proven: bool


ASKS = {
    Policy.NO_REGRESSION: ("not_worse", "regression"),
    Policy.PROVEN_IMPROVEMENT: ("improvement", "slowdown"),
    Policy.EQUIVALENCE: ("equivalence", "difference"),
}
"""What each policy asks, and what contradicts it: fields of :class:`Evidence`."""

CLAIMED = ("not_worse", "regression", "improvement", "equivalence")
"""The claims that are made of every benchmark, whatever the policy."""


def _hypothesis(name: str, margin: float) -> str:
    low, high = f"{1 / (1 + margin):.4g}", f"{1 + margin:.4g}"
    return {
        "not_worse": f"speedup > {low}",
        "regression": f"speedup < {low}",
        "improvement": "speedup > 1",
        "slowdown": "speedup < 1",
        "equivalence": f"{low} < speedup < {high}",
        "difference": f"speedup < {low} or speedup > {high}",
    }[name]


def claim(name: str, margin: float, pvalue: float, adjusted: float, alpha: float) -> Claim:
    """A claim by its field of :class:`Evidence`.

    Examples
    --------
    >>> claim("not_worse", 0.02, 0.01, 0.03, 0.05)
    Claim(name='not worse', hypothesis='speedup > 0.9804', pvalue=0.01, adjusted=0.03, proven=True)
    """
    text = _hypothesis(name, margin)
    return Claim(name.replace("_", " "), text, pvalue, adjusted, bool(adjusted <= alpha))

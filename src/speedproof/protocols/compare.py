"""From two samples to comparisons: the Speedup-Test's protocols, with bounds, checks and what is needed.

The protocols of :mod:`speedproof.protocols.speedup_test` know arrays only. Here they meet samples: the
direction of the metric, values nested in processes, run order. Each verdict gets the certified speedup that
the inversion of its own test gives.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from speedproof.data.sample import FloatArray, Sample
from speedproof.data.suite import Key
from speedproof.protocols.checks import coarse_values, of_means, of_medians, of_sample, same_values
from speedproof.protocols.confidence import highest_confidence
from speedproof.protocols.results import Check, Comparison, Needed, State, Verdict, summarise
from speedproof.protocols.speedup_test import (
    SIGNIFICANT,
    SMALL,
    STATES,
    KSRule,
    MeanDecision,
    MedianDecision,
    decide_mean,
    decide_median,
    mean_tests,
    median_tests,
)
from speedproof.stats.bounds import probability_greater
from speedproof.stats.estimate import Estimate
from speedproof.stats.power import RunsNeeded, runs_needed_means, runs_needed_ranks
from speedproof.stats.ratio import ratio_of_means, ratio_of_medians
from speedproof.stats.scaling import location_ratio, mean, median, with_headroom

__all__ = [
    "LEAST_RISK",
    "PROTOCOLS",
    "Protocol",
    "Rules",
    "compare_means",
    "compare_medians",
    "compare_samples",
    "compare_single_runs",
]

Protocol = Literal["mean", "median", "single run"]

PROTOCOLS: tuple[Protocol, ...] = ("mean", "median", "single run")
UNNAMED = Key("")
LEAST_RISK = 1e-9  # the tests' approximations say nothing of what lies beyond
_LEAST_FOR_FORECAST = 3
_MOST_FORECAST = 100_000
_TURNED = {State.MORE_RUNS_X: State.MORE_RUNS_Y, State.MORE_RUNS_Y: State.MORE_RUNS_X}


@dataclass(frozen=True, slots=True)
class Rules:
    """How to compare: the risk, and the few choices that the protocols leave open.

    Attributes
    ----------
    alpha : float
        The risk of each of the two sides, from 1e-9 to below 1; above one half a lower bound exceeds the
        estimate, which is of use only to repeat what others did.
    nested : {"process", "pool"}
        Whether values of one process are replaced by their mean (median) or treated as independent.
    always_welch : bool
        Leave the pre-test on variances out of the mean protocol.
    ks_rule : {"legacy", "r422"}
        When the median protocol's Kolmogorov-Smirnov p-value is exact.
    margin : float or None
        Speedups within [1/(1 + margin), 1 + margin] are equivalent when both bounds prove it.
    bootstrap : bool
        The 2009 protocol goes on with the bootstrap where it asks for 30 runs "or the bootstrap".

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

    def __post_init__(self) -> None:
        if not LEAST_RISK <= self.alpha < 1:
            raise ValueError(f"the risk must lie between {LEAST_RISK:g} and 1, not be {self.alpha:g}")
        if self.margin is not None and not self.margin > 0:
            raise ValueError(f"the margin must be positive, not {self.margin:g}")


DEFAULT = Rules()


@dataclass(frozen=True, slots=True, eq=False)
class _Case:
    """Two samples as a protocol works on them.

    ``slow`` and ``fast`` are X and Y, exchanged for a metric where higher is better: so a gain is always
    "slow is more than fast", and the protocols need one direction only. Both may be in another unit.
    """

    reference: Sample
    candidate: Sample
    x: Sample
    y: Sample
    slow: FloatArray
    fast: FloatArray
    turned: bool


def _case(reference: Sample, candidate: Sample, location: Literal["mean", "median"], rules: Rules) -> _Case:
    if reference.unit != candidate.unit or reference.direction is not candidate.direction:
        raise ValueError(
            f"samples of two units or directions are not comparable: {reference.unit!r} and {candidate.unit!r}"
        )
    x, y = reference, candidate
    if rules.nested == "process":
        x, y = x.per_process(location), y.per_process(location)
    turned = x.higher_is_better
    slow, fast = (y.values, x.values) if turned else (x.values, y.values)
    slow, fast = with_headroom(slow, fast)  # no answer depends on the unit
    return _Case(reference, candidate, x, y, slow, fast, turned)


def compare_means(
    reference: Sample, candidate: Sample, rules: Rules = DEFAULT, key: Key = UNNAMED
) -> Comparison:
    """Compare means by the protocol of figure 1.

    Parameters
    ----------
    reference, candidate : Sample
        X and Y, in one unit and direction.
    rules : Rules
        The risk and the choices.
    key : Key
        Names of benchmark and metric for the result.

    Returns
    -------
    Comparison
        Its bounds are NaN when the protocol stopped before a test.

    Raises
    ------
    ValueError
        Samples of two units.

    Examples
    --------
    >>> import numpy as np
    >>> x = Sample(np.array([10.1, 10.3, 9.9, 10.0, 10.2]), label="old")
    >>> y = Sample(np.array([9.1, 9.0, 9.3, 9.2, 8.9]), label="new")
    >>> result = compare_means(x, y)
    >>> result.verdict.value, result.test, result.speedup.low > 1
    ('faster', "Student's t test", True)
    """
    case = _case(reference, candidate, "mean", rules)
    tests = mean_tests(case.slow, case.fast)
    decision = decide_mean(tests, rules.alpha, always_welch=rules.always_welch)
    pooled = bool(decision.equal_variances)
    observed = location_ratio(mean, case.slow, case.fast)
    speedup = Estimate(observed, math.nan, math.nan, 1 - rules.alpha)
    test = ""
    if not math.isnan(float(decision.pvalue)):
        test = "Student's t test" if pooled else "Welch's t test"
        bounds = ratio_of_means(case.slow, case.fast, rules.alpha, equal_variances=decision.equal_variances)
        speedup = Estimate(observed, float(bounds.low), float(bounds.high), 1 - rules.alpha)
    verdict = _verdict(decision, speedup, rules.margin)
    return Comparison(
        benchmark=key.benchmark,
        metric=key.metric,
        protocol="mean",
        question=f"is the mean of the candidate {_better(case)}?",
        alpha=rules.alpha,
        reference=summarise(reference, case.x),
        candidate=summarise(candidate, case.y),
        state=_state(decision, case),
        test=test,
        pvalue=float(decision.pvalue),
        pvalue_slower=float(decision.pvalue_slower),
        speedup=speedup,
        verdict=verdict,
        checks=(*of_means(tests, decision, case.turned), *_sample_checks(case)),
        needed=_needed(case, decision, verdict, rules, runs_needed_means),
        highest_confidence=highest_confidence(
            (
                float(tests.shapiro_x.pvalue),
                float(tests.shapiro_y.pvalue),
                float(tests.variances.pvalue),
                float(tests.student.pvalue),
                float(tests.welch.pvalue),
            ),
            lambda a: decide_mean(tests, a, always_welch=rules.always_welch).state == SIGNIFICANT,
        ),
    )


def compare_medians(
    reference: Sample, candidate: Sample, rules: Rules = DEFAULT, key: Key = UNNAMED
) -> Comparison:
    """Compare medians by the protocol of figure 2.

    Parameters
    ----------
    reference, candidate : Sample
        X and Y, in one unit and direction.
    rules : Rules
        The risk and the choices.
    key : Key
        Names of benchmark and metric for the result.

    Returns
    -------
    Comparison
        Its bounds hold for the ratio of locations under scaling; NaN when the protocol stopped before a test.

    Raises
    ------
    ValueError
        Samples of two units.

    Examples
    --------
    >>> import numpy as np
    >>> x = Sample(np.linspace(10, 11, 12), label="old")
    >>> y = Sample(np.linspace(9, 9.9, 12), label="new")
    >>> compare_medians(x, y).verdict.value
    'faster'
    """
    case = _case(reference, candidate, "median", rules)
    tests = median_tests(case.slow, case.fast, rules.ks_rule)
    decision = decide_median(tests, rules.alpha)
    observed = location_ratio(median, case.slow, case.fast)
    speedup = Estimate(observed, math.nan, math.nan, 1 - rules.alpha)
    test = ""
    if not math.isnan(float(decision.pvalue)):
        test = "Wilcoxon-Mann-Whitney test"
        bounds = ratio_of_medians(case.slow, case.fast, rules.alpha)
        speedup = Estimate(observed, float(bounds.low), float(bounds.high), 1 - rules.alpha)
    verdict = _verdict(decision, speedup, rules.margin)
    return Comparison(
        benchmark=key.benchmark,
        metric=key.metric,
        protocol="median",
        question=f"is the median of the candidate {_better(case)}?",
        alpha=rules.alpha,
        reference=summarise(reference, case.x),
        candidate=summarise(candidate, case.y),
        state=_state(decision, case),
        test=test,
        pvalue=float(decision.pvalue),
        pvalue_slower=float(decision.pvalue_slower),
        speedup=speedup,
        verdict=verdict,
        checks=(*of_medians(tests, decision, case.slow, case.fast, rules.alpha), *_sample_checks(case)),
        needed=_needed(case, decision, verdict, rules, runs_needed_ranks),
        highest_confidence=highest_confidence(
            (float(tests.location.pvalue), float(tests.ranks.pvalue)),
            lambda a: decide_median(tests, a).state == SIGNIFICANT,
        ),
    )


def compare_single_runs(
    reference: Sample, candidate: Sample, rules: Rules = DEFAULT, key: Key = UNNAMED
) -> Comparison:
    """Ask whether a single run of the candidate beats a single run of the reference more often than not.

    The probability is P[X > Y] + P[X = Y]/2 (X and Y exchanged where higher is better), tested against one
    half in the manner of Brunner and Munzel, which holds under unequal spread. With values nested in
    processes a "run" is a process.

    Parameters
    ----------
    reference, candidate : Sample
        X and Y, in one unit and direction.
    rules : Rules
        The risk and the choices.
    key : Key
        Names of benchmark and metric for the result.

    Returns
    -------
    Comparison
        ``speedup`` holds the probability with its bounds; the verdict follows from them.

    Raises
    ------
    ValueError
        Samples of two units.

    Examples
    --------
    >>> import numpy as np
    >>> x = Sample(np.linspace(10, 11, 12), label="old")
    >>> y = Sample(np.linspace(9, 9.9, 12), label="new")
    >>> compare_single_runs(x, y).speedup.value
    1.0
    """
    case = _case(reference, candidate, "median", rules)
    found = probability_greater(case.slow, case.fast, rules.alpha)
    probability = Estimate(float(found.estimate), float(found.low), float(found.high), 1 - rules.alpha)
    faster, slower = probability.low > 0.5, probability.high < 0.5
    verdict = Verdict.FASTER if faster else Verdict.SLOWER if slower else Verdict.UNDECIDED
    state = State.SIGNIFICANT if faster else State.NOT_SIGNIFICANT
    if math.isnan(float(found.pvalue)):
        state = State.UNDEFINED
    return Comparison(
        benchmark=key.benchmark,
        metric=key.metric,
        protocol="single run",
        question=f"is a single run of the candidate {_better(case)} more often than not?",
        alpha=rules.alpha,
        reference=summarise(reference, case.x),
        candidate=summarise(candidate, case.y),
        state=state,
        test="Brunner-Munzel test on log odds",
        pvalue=float(found.pvalue),
        pvalue_slower=float(found.pvalue_less),
        speedup=probability,
        verdict=verdict,
        checks=_sample_checks(case),
        needed=_needed_for_single_runs(case, verdict, rules),
        quantity="probability",
    )


_BY_PROTOCOL = {"mean": compare_means, "median": compare_medians, "single run": compare_single_runs}


def compare_samples(
    reference: Sample,
    candidate: Sample,
    rules: Rules = DEFAULT,
    key: Key = UNNAMED,
    protocols: tuple[Protocol, ...] = PROTOCOLS,
) -> tuple[Comparison, ...]:
    """Ask several protocols about one pair of samples.

    Parameters
    ----------
    reference, candidate : Sample
        X and Y, in one unit and direction.
    rules : Rules
        The risk of each side of each protocol, and the choices.
    key : Key
        Names of benchmark and metric for the results.
    protocols : tuple of {"mean", "median", "single run"}
        Which, in the order of the result.

    Returns
    -------
    tuple of Comparison
        One a protocol.
    """
    return tuple(_BY_PROTOCOL[protocol](reference, candidate, rules, key) for protocol in protocols)


def _better(case: _Case) -> str:
    return "higher" if case.turned else "lower"


def _state(decision: MeanDecision | MedianDecision, case: _Case) -> State:
    """The state by the names of the user's samples."""
    state = STATES[int(decision.state)]
    if case.turned and state in _TURNED:
        # The figure names X first when both are at fault; keep that order for the user's X, too.
        both = bool(decision.lacking_x) and bool(decision.lacking_y)
        return State.MORE_RUNS_X if both else _TURNED[state]
    return state


def _verdict(decision: MeanDecision | MedianDecision, speedup: Estimate, margin: float | None) -> Verdict:
    inside = margin is not None and speedup.low >= 1 / (1 + margin) and speedup.high <= 1 + margin
    # Bounds of another ratio than that of the medians prove no equivalence of medians.
    modelled = not isinstance(decision, MedianDecision) or bool(decision.location_model)
    if inside and modelled:
        return Verdict.EQUIVALENT
    faster, slower = int(decision.state) == SIGNIFICANT, int(decision.state_slower) == SIGNIFICANT
    if faster and slower:  # possible when alpha is about one half or more
        faster = bool(decision.pvalue <= decision.pvalue_slower)
    return Verdict.FASTER if faster else Verdict.SLOWER if slower else Verdict.UNDECIDED


def _sample_checks(case: _Case) -> tuple[Check, ...]:
    return (
        *same_values(case.reference, case.candidate),
        *coarse_values(case.reference, case.candidate),
        *of_sample(case.reference, case.x, "X", other_nested=case.candidate.nested),
        *of_sample(case.candidate, case.y, "Y", other_nested=case.reference.nested),
    )


def _needed(
    case: _Case,
    decision: MeanDecision | MedianDecision,
    verdict: Verdict,
    rules: Rules,
    runs_needed: Callable[[FloatArray, FloatArray, float], RunsNeeded],
) -> Needed | None:
    if verdict is not Verdict.UNDECIDED:
        return None
    lacking = (bool(decision.lacking_x), bool(decision.lacking_y))
    if any(lacking):
        x, y = lacking[:: -1 if case.turned else 1]
        return Needed(
            SMALL + 1 if x else None,
            SMALL + 1 if y else None,
            f"the protocol asks for more than {SMALL} runs where its assumption does not hold",
        )
    return _forecast(case, rules, runs_needed)


def _needed_for_single_runs(case: _Case, verdict: Verdict, rules: Rules) -> Needed | None:
    if verdict is not Verdict.UNDECIDED:
        return None
    # Even if all were won, alpha ** (1 / n) bounds the probability: n runs must be able to prove more than 1/2.
    least = math.floor(-math.log2(rules.alpha)) + 1
    x, y = (least if n < least else None for n in (case.x.n, case.y.n))
    if x is not None or y is not None:
        return Needed(x, y, "fewer runs can never decide at this risk, even if all of them are won")
    return _forecast(case, rules, runs_needed_ranks)


def _forecast(
    case: _Case, rules: Rules, runs_needed: Callable[[FloatArray, FloatArray, float], RunsNeeded]
) -> Needed:
    """Runs to find the difference that was observed, or why none can be named."""
    if min(case.x.n, case.y.n) < _LEAST_FOR_FORECAST:
        reason = f"fewer than {_LEAST_FOR_FORECAST} runs tell nothing of the spread: measure 5 or more a side"
        return Needed(None, None, reason)
    if np.ptp(case.slow) == 0 and np.ptp(case.fast) == 0:
        return Needed(None, None, "neither sample has any spread: use a finer clock or longer runs")
    runs = runs_needed(case.slow, case.fast, rules.alpha)
    slow, fast = float(runs.x), float(runs.y)
    x_runs, y_runs = (fast, slow) if case.turned else (slow, fast)
    if not (math.isfinite(x_runs) and math.isfinite(y_runs)):
        return Needed(None, None, "no difference was observed, so no number of runs can be named")
    if max(x_runs, y_runs) > _MOST_FORECAST:
        reason = f"the observed difference is so small that more than {_MOST_FORECAST} runs would be needed"
        return Needed(None, None, reason)
    return Needed(
        max(math.ceil(x_runs), case.x.n + 1),
        max(math.ceil(y_runs), case.y.n + 1),
        "to find a difference with power 0.8 if the observed one is the true one",
    )

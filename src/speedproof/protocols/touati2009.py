"""The 2009 protocol: independent runs, normal or many, then a Student interval; speedup of the medians.

S.-A.-A. Touati: "Towards a statistical methodology to evaluate program speedups and their optimisation
techniques", 2009; the forerunner of the Speedup-Test. What its text calls alpha is the confidence.

1. Section 2.1: the Hurst factor of each sample must exceed 1/2. If it does not, 100 runs are needed; if it
   does not in spite of 100 runs, no statistics are possible.
2. A sample of fewer than 30 runs must be normal (Shapiro-Wilk). If it is not, 30 runs are needed, or the
   bootstrap.
3. Section 2.3: the candidate is faster when the one-sided Student interval (in Welch's form) of the difference
   of the means lies above 0. The speedup is then the ratio of the medians.
"""

from __future__ import annotations

import math
from enum import StrEnum

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from speedproof.arrays import FloatArray
from speedproof.data.sample import Sample
from speedproof.data.suite import Key
from speedproof.protocols.assumptions import Assumption
from speedproof.protocols.pair import Rules
from speedproof.protocols.results import Check, Comparison, Needed, State, Verdict
from speedproof.protocols.summaries import summarise
from speedproof.protocols.units import independent_units
from speedproof.stats.dependence import hurst_factor
from speedproof.stats.estimate import Estimate
from speedproof.stats.normality import shapiro_wilk
from speedproof.stats.ratio_means import ratio_of_means
from speedproof.stats.scaling import exponent, median
from speedproof.stats.special import t_quantile
from speedproof.stats.ttests import moments, welch_from

FEW = 30  # a sample this large need not be normal
MANY = 100  # a sample this large should show its independence
_INDEPENDENT_ABOVE = 0.5
_RESAMPLES = 9999
_DEFAULT = Rules()
_UNNAMED = Key("")


class State2009(StrEnum):
    """Where the protocol ends, for "the candidate is faster"."""

    SPEEDUP = "speedup"
    NO_SPEEDUP = "no speedup"
    HUNDRED_NEEDED = "at least 100 observations needed"
    NO_STATISTICS = "no statistics possible"
    NOT_NORMAL = "not normal: at least 30 runs or bootstrap"
    UNDEFINED = "undefined"


class Decision2009(Struct, frozen=True):
    """The protocol's outcome on two samples of times."""

    state: State2009  # where it ended
    failing_x: bool  # which sample made it stop
    failing_y: bool
    hurst_x: float  # hurst factors; NaN for a constant sample or fewer than three values
    hurst_y: float
    w_x: float  # Shapiro-Wilk statistics and p-values of samples of fewer than 30 runs, NaN for larger ones
    w_y: float
    normality_x: float
    normality_y: float
    pvalue: float  # of Welch's test in either direction; NaN when it was not reached
    pvalue_slower: float
    difference: float  # mean X - mean Y; NaN when it was not reached
    interval_lower: float  # ends of its one-sided intervals, each at confidence 1 - alpha
    interval_upper: float


def decide_2009(
    x: npt.ArrayLike, y: npt.ArrayLike, alpha: float, *, normality_alpha: float = 0.05
) -> Decision2009:
    """Take two samples through the protocol."""
    samples = [np.asarray(sample, dtype=np.float64) for sample in (x, y)]
    sizes = [sample.size for sample in samples]
    hurst = [float(hurst_factor(sample)) for sample in samples]
    normality = [shapiro_wilk(sample) if 3 <= sample.size < FEW else None for sample in samples]
    w = [math.nan if test is None else float(test.statistic) for test in normality]
    p = [math.nan if test is None else float(test.pvalue) for test in normality]

    end = Decision2009(
        state=State2009.UNDEFINED,
        failing_x=False,
        failing_y=False,
        hurst_x=hurst[0],
        hurst_y=hurst[1],
        w_x=w[0],
        w_y=w[1],
        normality_x=p[0],
        normality_y=p[1],
        pvalue=math.nan,
        pvalue_slower=math.nan,
        difference=math.nan,
        interval_lower=math.nan,
        interval_upper=math.nan,
    )
    if any(math.isnan(h) for h in hurst):
        return end
    dependent = [h <= _INDEPENDENT_ABOVE for h in hurst]
    if any(dependent):
        hopeless = any(bad and size >= MANY for bad, size in zip(dependent, sizes, strict=True))
        state = State2009.NO_STATISTICS if hopeless else State2009.HUNDRED_NEEDED
        return replace(end, state=state, failing_x=dependent[0], failing_y=dependent[1])
    lacking = [size < FEW and not pvalue > normality_alpha for size, pvalue in zip(sizes, p, strict=True)]
    if any(lacking):
        return replace(end, state=State2009.NOT_NORMAL, failing_x=lacking[0], failing_y=lacking[1])
    mx, my = moments(samples[0]), moments(samples[1])
    test = welch_from(mx, my)
    if math.isnan(float(test.pvalue)):
        return end
    error = math.sqrt(float(mx.variance) / mx.n + float(my.variance) / my.n)
    difference = float(mx.mean - my.mean)
    half = t_quantile(1 - alpha, float(test.df)) * error
    return replace(
        end,
        state=State2009.SPEEDUP if float(test.pvalue) <= alpha else State2009.NO_SPEEDUP,
        pvalue=float(test.pvalue),
        pvalue_slower=float(test.pvalue_less),
        difference=difference,
        interval_lower=difference - half,
        interval_upper=difference + half,
    )


def bootstrap_means(
    x: npt.ArrayLike, y: npt.ArrayLike, *, seed: int = 0, resamples: int = _RESAMPLES
) -> tuple[FloatArray, FloatArray]:
    """Means of samples drawn anew from X and from Y.

    The difference of two means is above 0 exactly when their ratio is above 1, so that one set of resamples
    serves the test, the interval of the difference and the certified speedup.
    """
    rng = np.random.default_rng(seed)
    means = []
    for sample in (np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)):
        drawn = rng.integers(0, sample.size, (resamples, sample.size))
        means.append(sample[drawn].mean(axis=1))
    return means[0], means[1]


_STATES = {
    State2009.SPEEDUP: State.SIGNIFICANT,
    State2009.NO_SPEEDUP: State.NOT_SIGNIFICANT,
    State2009.NO_STATISTICS: State.UNDEFINED,
    State2009.UNDEFINED: State.UNDEFINED,
}


def compare_2009(
    reference: Sample,
    candidate: Sample,
    rules: Rules = _DEFAULT,
    key: Key = _UNNAMED,
    *,
    seed: int = 0,
) -> Comparison:
    """Compare two samples by the 2009 protocol."""
    if reference.unit != candidate.unit or reference.direction is not candidate.direction:
        raise ValueError(
            f"samples of two units or directions are not comparable: {reference.unit!r} and {candidate.unit!r}"
        )
    x, y = reference, candidate
    if rules.nested == "process":
        x, y = independent_units((x, y), "mean")
    slow, fast = (y.values, x.values) if x.higher_is_better else (x.values, y.values)
    positive = slow.min() > 0 and fast.min() > 0
    observed = median(slow) / median(fast) if positive else math.nan
    shift = exponent(slow, fast)  # no answer depends on the unit
    slow, fast = np.ldexp(slow, shift), np.ldexp(fast, shift)
    alpha = rules.alpha
    decision = decide_2009(slow, fast, alpha)
    pvalue, pvalue_slower = decision.pvalue, decision.pvalue_slower
    low = high = math.nan
    difference = Estimate(decision.difference, decision.interval_lower, decision.interval_upper, 1 - alpha)
    state = decision.state
    test = ""
    if state in (State2009.SPEEDUP, State2009.NO_SPEEDUP):
        test = "Welch's t test"
        bounds = ratio_of_means(slow, fast, alpha, False)
        low, high = float(bounds.low), float(bounds.high)
    elif state is State2009.NOT_NORMAL and rules.bootstrap and positive:
        test = "bootstrap of the means"
        means = bootstrap_means(slow, fast, seed=seed)
        ratios, differences = np.sort(means[0] / means[1]), np.sort(means[0] - means[1])
        pvalue = (1 + int((ratios <= 1).sum())) / (ratios.size + 1)
        pvalue_slower = (1 + int((ratios >= 1).sum())) / (ratios.size + 1)
        # The k-th smallest exceeds 1 exactly when p <= alpha; the guard is for alpha (N + 1) just below k.
        k = math.floor(alpha * (ratios.size + 1) + 1e-9)
        low, high = (float(ratios[k - 1]), float(ratios[-k])) if k else (0.0, math.inf)
        ends = (float(differences[k - 1]), float(differences[-k])) if k else (-math.inf, math.inf)
        difference = Estimate(float(slow.mean() - fast.mean()), *ends, 1 - alpha)
        state = State2009.SPEEDUP if pvalue <= alpha else State2009.NO_SPEEDUP
    verdict = Verdict.UNDECIDED
    if test:
        faster, slower = pvalue <= alpha, pvalue_slower <= alpha
        if faster and slower:  # possible when alpha is about one half or more
            faster = pvalue <= pvalue_slower
        verdict = Verdict.FASTER if faster else Verdict.SLOWER if slower else Verdict.UNDECIDED
    failing = (decision.failing_x, decision.failing_y)
    lacking = failing[::-1] if x.higher_is_better else failing
    return Comparison(
        benchmark=key.benchmark,
        metric=key.metric,
        protocol="touati2009",
        question=f"is the mean of the candidate {'higher' if x.higher_is_better else 'lower'}?",
        alpha=alpha,
        reference=summarise(reference, x),
        candidate=summarise(candidate, y),
        state=_STATES.get(state) or _more_runs(lacking),
        test=test,
        pvalue=pvalue,
        pvalue_slower=pvalue_slower,
        speedup=Estimate(observed, low, high, 1 - alpha),
        verdict=verdict,
        checks=tuple(_checks(decision, x, y, alpha, Estimate(observed, low, high, 1 - alpha))),
        needed=_needed(state, lacking),
        difference=None if math.isnan(difference.value) else _scaled(difference, -shift),
    )


def _scaled(estimate: Estimate, exponent: int) -> Estimate:
    """An estimate times a power of two; infinite where that is beyond the largest double."""
    with np.errstate(over="ignore"):
        value, low, high = np.ldexp([estimate.value, estimate.low, estimate.high], exponent).tolist()
    return Estimate(value, low, high, estimate.confidence)


def _more_runs(lacking: tuple[bool, bool]) -> State:
    if all(lacking):
        return State.MORE_RUNS
    return State.MORE_RUNS_X if lacking[0] else State.MORE_RUNS_Y


def _needed(state: State2009, lacking: tuple[bool, bool]) -> Needed | None:
    if state not in (State2009.HUNDRED_NEEDED, State2009.NOT_NORMAL):
        return None
    runs = MANY if state is State2009.HUNDRED_NEEDED else FEW
    x, y = (runs if lacks else None for lacks in lacking)
    return Needed(x, y, f"the 2009 protocol: {state.value}", least=True)


def _checks(decision: Decision2009, x: Sample, y: Sample, alpha: float, speedup: Estimate) -> list[Check]:
    turned = x.higher_is_better
    checks = []
    hurst = (decision.hurst_x, decision.hurst_y)
    for name, factor, sample in zip("XY", hurst[::-1] if turned else hurst, (x, y), strict=True):
        held = factor > _INDEPENDENT_ABOVE
        if math.isnan(factor):
            message = "all values are equal or fewer than three: the Hurst factor is undefined"
        elif held:
            message = "the Hurst factor exceeds 1/2"
        elif sample.n < MANY:
            message = f"the Hurst factor does not exceed 1/2: {MANY} runs are needed to tell independence"
        else:
            message = "the Hurst factor does not exceed 1/2 in spite of many runs: no statistics are possible"
        checks.append(Check(Assumption.INDEPENDENCE, name, factor, math.nan, held, message))
    tests = ((decision.w_x, decision.normality_x), (decision.w_y, decision.normality_y))
    lacking = (decision.failing_x, decision.failing_y)
    stopped = decision.state is State2009.NOT_NORMAL
    for name, (w, pvalue), fails in zip(
        "XY", tests[::-1] if turned else tests, lacking[::-1] if turned else lacking, strict=True
    ):
        if math.isnan(w):
            continue
        held = not (stopped and fails)
        message = (
            "normality is not rejected"
            if held
            else f"not normal and fewer than {FEW} runs: measure {FEW}, or use the bootstrap"
        )
        checks.append(Check(Assumption.NORMALITY, name, w, pvalue, held, message))
    if alpha >= 0.5:
        checks.append(
            Check(
                Assumption.USUAL_CONFIDENCE,
                "",
                1 - alpha,
                math.nan,
                False,
                "at a confidence of one half or less even the slower version can be 'proven' faster "
                "(example 2.2 of the text): ask for 0.95",
            )
        )
    if not math.isnan(speedup.low) and not speedup.low <= speedup.value <= speedup.high:
        checks.append(
            Check(
                Assumption.SKEWNESS,
                "",
                speedup.value,
                math.nan,
                False,
                "the ratio of the medians lies outside the bounds of the ratio of the means: the samples are "
                "skewed or have several modes, state both",
            )
        )
    return checks

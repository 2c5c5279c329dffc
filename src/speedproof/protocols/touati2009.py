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
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from speedproof.arrays import ArrayLike, FloatArray
from speedproof.data.notes import Assumption, Note
from speedproof.protocols.figures import state_of, verdict_of
from speedproof.protocols.pair import PreparedPairs, Rules, Sides
from speedproof.protocols.results import Comparison, Needed
from speedproof.stats.dependence import hurst_factor
from speedproof.stats.estimate import Estimate
from speedproof.stats.normality import shapiro_wilk
from speedproof.stats.ratio import moments, ratio_of_means, welch
from speedproof.stats.scaling import exponent, median, unbounded
from speedproof.stats.special import t_quantile

FEW = 30  # a sample this large need not be normal
MANY = 100  # a sample this large should show its independence
_INDEPENDENT_ABOVE = 0.5
_NORMAL_ABOVE = 0.05
_RESAMPLES = 9999


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
    # Hurst factors of X and Y; NaN for a constant sample or fewer than three values
    hurst: tuple[float, float]
    # Shapiro-Wilk statistics and p-values of samples of fewer than 30 runs, NaN for larger ones
    w: tuple[float, float]
    normality: tuple[float, float]
    failing: tuple[bool, bool] = (False, False)  # which sample made it stop
    pvalue: float = math.nan  # of Welch's test in either direction; NaN when it was not reached
    pvalue_slower: float = math.nan
    # mean X - mean Y with its one-sided intervals, each at confidence 1 - alpha; NaN when it was not reached
    difference: tuple[float, float, float] = (math.nan, math.nan, math.nan)


def decide_2009(x: ArrayLike, y: ArrayLike, alpha: float) -> Decision2009:
    """Take two samples through the protocol."""
    samples = [np.asarray(sample, dtype=np.float64) for sample in (x, y)]
    of_x, of_y = (shapiro_wilk(sample) if sample.size < FEW else None for sample in samples)
    end = Decision2009(
        State2009.UNDEFINED,
        hurst=_both(hurst_factor(sample) for sample in samples),
        w=_both(math.nan if test is None else test.statistic for test in (of_x, of_y)),
        normality=_both(math.nan if test is None else test.pvalue for test in (of_x, of_y)),
    )
    if any(math.isnan(h) for h in end.hurst):
        return end
    sizes = [sample.size for sample in samples]
    dependent = [h <= _INDEPENDENT_ABOVE for h in end.hurst]
    if any(dependent):
        hopeless = any(bad and size >= MANY for bad, size in zip(dependent, sizes, strict=True))
        state = State2009.NO_STATISTICS if hopeless else State2009.HUNDRED_NEEDED
        return replace(end, state=state, failing=tuple(dependent))
    lacking = [size < FEW and not p > _NORMAL_ABOVE for size, p in zip(sizes, end.normality, strict=True)]
    if any(lacking):
        return replace(end, state=State2009.NOT_NORMAL, failing=tuple(lacking))
    mx, my = moments(samples[0]), moments(samples[1])
    test = welch(mx, my)
    pvalue = float(test.pvalue)
    if math.isnan(pvalue):
        return end
    error = math.sqrt(float(mx.variance) / mx.n + float(my.variance) / my.n)
    difference = float(mx.mean - my.mean)
    half = t_quantile(1 - alpha, float(test.df)) * error
    return replace(
        end,
        state=State2009.SPEEDUP if pvalue <= alpha else State2009.NO_SPEEDUP,
        pvalue=pvalue,
        pvalue_slower=float(test.pvalue_less),
        difference=(difference, difference - half, difference + half),
    )


def _both(numbers: Iterable[ArrayLike]) -> tuple[float, float]:
    x, y = (float(np.asarray(number)) for number in numbers)
    return x, y


def bootstrap_means(
    x: ArrayLike, y: ArrayLike, *, seed: int = 0, resamples: int = _RESAMPLES
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


def compare_2009(prepared: PreparedPairs) -> list[Comparison]:
    """Compare several pairs by the 2009 protocol."""
    return [_answer(side, prepared.rules) for side in prepared.sides("mean")]


def _answer(side: Sides, rules: Rules) -> Comparison:
    slow, fast = (side.y.values, side.x.values) if side.turned else (side.x.values, side.y.values)
    positive = slow.min() > 0 and fast.min() > 0
    observed = median(slow) / median(fast) if positive else math.nan
    shift = exponent(slow, fast)  # no answer depends on the unit
    slow, fast = np.ldexp(slow, shift), np.ldexp(fast, shift)
    alpha = rules.alpha
    decision = decide_2009(slow, fast, alpha)
    state, difference = decision.state, decision.difference
    pvalue, slower = decision.pvalue, decision.pvalue_slower
    ends = math.nan, math.nan
    test = ""
    if state in (State2009.SPEEDUP, State2009.NO_SPEEDUP):
        test = "Welch's t test"
        bounds = ratio_of_means(slow, fast, alpha, False)
        ends = float(bounds.low), float(bounds.high)
    elif state is State2009.NOT_NORMAL and rules.bootstrap and positive:
        test = "bootstrap of the means"
        means = bootstrap_means(slow, fast)
        ratios, differences = np.sort(means[0] / means[1]), np.sort(means[0] - means[1])
        pvalue, slower = (
            (1 + int(beyond.sum())) / (ratios.size + 1) for beyond in (ratios <= 1, ratios >= 1)
        )
        # The k-th smallest exceeds 1 exactly when p <= alpha; the guard is for alpha (N + 1) just below k.
        k = math.floor(alpha * (ratios.size + 1) + 1e-9)
        ends = (float(ratios[k - 1]), float(ratios[-k])) if k else (0.0, math.inf)
        widest = (float(differences[k - 1]), float(differences[-k])) if k else (-math.inf, math.inf)
        difference = (float(slow.mean() - fast.mean()), *widest)
        state = State2009.SPEEDUP if pvalue <= alpha else State2009.NO_SPEEDUP
    failing = decision.failing[:: -1 if side.turned else 1]
    stopped = state in (State2009.HUNDRED_NEEDED, State2009.NOT_NORMAL)
    return side.answer(
        "touati2009",
        rules,
        state=state_of(min(pvalue, slower), alpha, failing if stopped else (), together=all(failing)),
        test=test,
        pvalue=pvalue,
        pvalue_slower=slower,
        speedup=Estimate(observed, *ends, 1 - alpha),
        verdict=verdict_of(pvalue, slower, None, alpha),
        checks=(*_checks(decision, side, alpha, (ends[0], observed, ends[1])), *side.checks),
        needed=_needed(state, failing) if stopped else None,
        difference=None if math.isnan(difference[0]) else _scaled(difference, -shift, alpha),
    )


def _scaled(numbers: tuple[float, float, float], exponent: int, alpha: float) -> Estimate:
    """Values times a power of two, infinite on overflow."""
    value, low, high = unbounded(np.ldexp, numbers, exponent).tolist()
    return Estimate(value, low, high, 1 - alpha)


def _needed(state: State2009, failing: Sequence[bool]) -> Needed:
    runs = MANY if state is State2009.HUNDRED_NEEDED else FEW
    x, y = (runs if lacks else None for lacks in failing)
    return Needed(x, y, f"the 2009 protocol: {state.value}", least=True)


def _checks(
    decision: Decision2009, side: Sides, alpha: float, speedup: tuple[float, float, float]
) -> Iterator[Note]:
    of_slow, of_fast = zip(decision.hurst, decision.w, decision.normality, decision.failing, strict=True)
    of_x, of_y = (of_fast, of_slow) if side.turned else (of_slow, of_fast)
    for name, sample, (factor, *_) in (("X", side.x, of_x), ("Y", side.y, of_y)):
        held = factor > _INDEPENDENT_ABOVE
        if math.isnan(factor):
            message = "all values are equal or fewer than three: the Hurst factor is undefined"
        elif held:
            message = "the Hurst factor exceeds 1/2"
        elif sample.n < MANY:
            message = f"the Hurst factor does not exceed 1/2: {MANY} runs are needed to tell independence"
        else:
            message = "the Hurst factor does not exceed 1/2 in spite of many runs: no statistics are possible"
        yield Note(Assumption.INDEPENDENCE, message, (name,), statistic=factor, held=held)
    for name, (_, w, pvalue, fails) in (("X", of_x), ("Y", of_y)):
        if not math.isnan(w):
            held = decision.state is not State2009.NOT_NORMAL or not fails
            lacking = f"not normal and fewer than {FEW} runs: measure {FEW}, or use the bootstrap"
            message = "normality is not rejected" if held else lacking
            yield Note(Assumption.NORMALITY, message, (name,), (), w, pvalue, held)
    if alpha >= 0.5:
        message = (
            "at a confidence of one half or less even the slower version can be 'proven' faster "
            "(example 2.2 of the text): ask for 0.95"
        )
        yield Note(Assumption.USUAL_CONFIDENCE, message, statistic=1 - alpha)
    low, observed, high = speedup
    if not math.isnan(low) and not low <= observed <= high:
        message = (
            "the ratio of the medians lies outside the bounds of the ratio of the means: the samples are "
            "skewed or have several modes, state both"
        )
        yield Note(Assumption.SKEWNESS, message, statistic=observed)

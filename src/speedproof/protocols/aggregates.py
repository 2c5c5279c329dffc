"""One number for a suite, with its confidence: geometric means, overall gain, accelerated benchmarks.

A geometric mean of speedups is one number, but two questions. How fast is the candidate on *these* benchmarks,
had they been run again and again? Only the noise from run to run makes that uncertain. How fast would it be on
benchmarks *like these*, of which these are a random sample? Then the differences between the benchmarks count,
too, and more runs of the same benchmarks do not narrow the interval.

Each benchmark gives what its own row shows, with the standard error that its protocol states of the logarithm: the
typical speedup, or the ratio of means where means were asked for. The squared errors add up, with Satterthwaite's
degrees of freedom (Biometrics Bulletin 2(6), 1946).

Where a noise floor tells how much sessions of identical code differ, that is counted in, for either question. A
session may move all benchmarks together, so more benchmarks do not narrow that part.

Then the suite as the Speedup-Test (2013, sections 4 and 5) and the 2009 protocol (sections 3 and 4) report it:
overall gain and accelerated benchmarks. Equation (1) of 2013 prints W(C) on both lines; meant is the weight of
each benchmark, as used here: S = sum(w f(X)) / sum(w f(Y)) and G = 1 - 1/S, for f = min, mean or median.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from speedproof.arrays import FloatArray
from speedproof.data.notes import Assumption
from speedproof.protocols.results import Comparison, LogSpeedup, Verdict
from speedproof.stats.estimate import Estimate
from speedproof.stats.multiplicity import benchmarks_needed, clopper_pearson, prop_test, validity_2013, wilson
from speedproof.stats.scaling import exponent, mean, median, usual
from speedproof.stats.special import t_quantile, t_sf

_NO_ERROR = 1e70  # standard errors of logarithms that tell nothing
_NORMAL = 1e12  # degrees of freedom of a t distribution that is normal


class MeanLogRatio(Struct, frozen=True):
    """A mean of logarithms of speedups with its standard error."""

    value: float  # the mean as observed
    centre: float  # the mean without the bias of the logarithms; tests and intervals start from it
    error: float  # its standard error; NaN where none can be given
    df: float  # degrees of freedom of the t distribution that goes with it

    def pvalue(self, margin: float = 0.0, *, less: bool = False, most: float = 1.0) -> float:
        """One-sided p-value for "the mean lies above the margin", or below it; of one over `most` maybe 1."""
        distance = margin - self.centre if less else self.centre - margin
        if math.isnan(self.error):
            return math.nan
        if self.error == 0:
            return 1.0 if distance <= 0 else 0.0
        z = distance / self.error
        return float(t_sf(z, self.df)) if _may_be(most, z) else 1.0

    def pvalue_of_means(self, margin: float = 0.0, *, less: bool = False, most: float = 1.0) -> float:
        """The same of means, where one far run is no proof: it makes the logarithm of their ratio large.

        Tested is by what share the smaller of ratio and margin falls short; the statistic is no more than Welch's.
        """
        p, distance = self.pvalue(margin, less=less, most=most), abs(self.centre - margin)
        if not (p <= min(most, 0.5) and self.error):
            return p
        return float(t_sf(-math.expm1(-distance) / self.error, self.df))

    def estimate_of_means(self, alpha: float) -> Estimate:
        """The ratio with the bounds that this test proves, each at the risk."""
        share = 0.0 if self.error == 0.0 else t_quantile(1 - alpha, self.df) * self.error
        reach = -math.log1p(-share) if share < 1.0 else math.inf
        return Estimate(_exp(self.value), _exp(self.centre - reach), _exp(self.centre + reach), 1 - 2 * alpha)

    def apart(self, alpha: float) -> bool:
        """Whether the mean may be proven different from zero at a risk."""
        return _may_be(alpha, abs(self.centre) / self.error if self.error else math.inf)

    def estimate(self, alpha: float) -> Estimate:
        """The ratio with its two-sided interval; from 0 to infinity where no error can be given.

        It holds what was observed, too, which may lie far from the centre of few noisy runs.
        """
        observed = _exp(self.value)
        if math.isnan(self.error):
            return Estimate(observed, 0.0, math.inf, 1 - alpha)
        half = t_quantile(1 - alpha / 2, self.df) * self.error if self.error else 0.0
        low, high = _exp(self.centre - half), _exp(self.centre + half)
        return Estimate(observed, min(low, observed), max(high, observed), 1 - alpha)


def _may_be(pvalue: float, z: float) -> bool:
    """Whether a statistic may have so small a p-value: no tail of Student's is lighter than the normal one."""
    return 0.5 * math.erfc(z * math.sqrt(0.5)) <= pvalue * (1.0 + 1e-9)


class GeometricMeans(Struct, frozen=True):
    """The geometric mean of the speedups of a suite, with an interval for either question."""

    benchmarks: int  # how many went in
    # For these benchmarks, run again: two-sided interval from the noise of the runs, and of the sessions
    # where there is a noise floor
    these: Estimate
    like_these: Estimate  # for benchmarks like these: two-sided interval that takes them as a random sample
    left_out: tuple[str, ...]  # benchmarks without a ratio: a time that is zero or negative

    def __str__(self) -> str:
        means = f"{self.these} for these {self.benchmarks} benchmarks, {self.like_these} for benchmarks like these"
        return f"{means} ({100 * self.these.confidence:g} % confidence)"

    def __repr__(self) -> str:
        return f"<GeometricMeans: {self}>"


class LogRatios(Struct):
    """Logarithms of speedups: how many, their means, squares about the mean, and what their errors add up to.

    Parts are merged by the formula of Chan, Golub and LeVeque: "Algorithms for computing the sample variance", The
    American Statistician 37 (1983).
    """

    count: int = 0
    value: float = 0.0  # the mean as observed, and without biases
    centre: float = 0.0
    squares: float = 0.0  # about the latter
    variance: float = 0.0  # sum of squared errors, and of these squared over their degrees of freedom
    weight: float = 0.0
    sessions: float = 0.0  # sum of what sessions add to each, and the fewest degrees of freedom behind one
    degrees: float = math.inf
    single: int = 0  # how many have no error: one run of a side
    twice: int = 0  # how many are of one measurement, given twice

    @classmethod
    def of(cls, speedup: float, log: LogSpeedup) -> LogRatios:
        """One benchmark, with the error that sessions add."""
        value, sessions = math.log(speedup), log.sessions or (0.0, math.inf)
        if not log.error < _NO_ERROR:
            return cls(1, value, log.centre, 0.0, 0.0, 0.0, *sessions, single=1)
        variance = log.error**2
        return cls(1, value, log.centre, 0.0, variance, variance**2 / log.df, *sessions)

    def add(self, other: LogRatios) -> None:
        """Add other benchmarks."""
        n = self.count + other.count
        if not other.count:
            return
        share = other.count / n
        apart = other.centre - self.centre
        self.squares += other.squares + apart * apart * self.count * share
        self.centre += apart * share
        self.value += (other.value - self.value) * share
        self.variance += other.variance
        self.weight += other.weight
        self.sessions += other.sessions
        self.degrees = min(self.degrees, other.degrees)
        self.single += other.single
        self.twice += other.twice
        self.count = n

    def mean(self, *, like_these: bool) -> MeanLogRatio:
        """The mean, with the standard error of the question asked."""
        b = self.count
        if like_these:
            error, df = math.sqrt(self.squares / (b - 1) / b) if b > 1 else math.nan, b - 1.0
        else:
            error = math.nan if self.single else math.sqrt(self.variance) / b
            df = min(self.variance**2 / self.weight, _NORMAL) if self.weight > 0.0 else _NORMAL
        return with_sessions(
            MeanLogRatio(self.value, self.centre, error, df), self.sessions / b, self.degrees
        )

    def means(self, alpha: float, left_out: tuple[str, ...] = ()) -> GeometricMeans | None:
        """The geometric mean with both intervals; None of fewer than two ratios.

        None of one measurement given twice: its interval would be a proof of equality.
        """
        if self.count < 2 or self.twice == self.count:
            return None
        these, like = (self.mean(like_these=like).estimate(alpha) for like in (False, True))
        return GeometricMeans(self.count, these, like, left_out)


def with_sessions(alone: MeanLogRatio, sessions: float, degrees: float) -> MeanLogRatio:
    """A mean with what sessions add on average to the standard deviation of each benchmark.

    They may be correlated in any way: the mean of their standard deviations is the most that they add to it.
    """
    if not sessions > 0.0 or math.isnan(alone.error):
        return alone
    df = min(alone.df, degrees) if alone.error > 0.0 else degrees
    return MeanLogRatio(alone.value, alone.centre, math.hypot(alone.error, sessions), df)


def log_ratios(comparisons: Iterable[Comparison]) -> LogRatios:
    """The logarithms of all comparisons that have a ratio."""
    ratios = LogRatios()
    for c in comparisons:
        if c.log is not None:
            ratios.add(LogRatios.of(c.speedup.value, c.log))
            ratios.twice += any(check.kind is Assumption.TWO_MEASUREMENTS for check in c.checks)
    return ratios


def geometric_means(comparisons: Sequence[Comparison], alpha: float) -> GeometricMeans | None:
    """The geometric mean of the speedups of comparisons, one a pair, with an interval for either question.

    "Like these" takes the logarithms of the speedups for a random sample of a normal population. Benchmarks
    are rarely chosen at random; the interval then speaks of no population that anybody could name, and only
    the one for these benchmarks is safe to quote.
    """
    left_out = tuple(c.benchmark for c in comparisons if c.log is None)
    return log_ratios(comparisons).means(alpha, left_out)


def _exp(value: float) -> float:
    """Exponential without overflow: beyond the range of a double there is no bound."""
    return math.exp(value) if value < math.log(1.7e308) else math.inf


Location = Literal["min", "mean", "median"]
Weighting = Literal["custom", "equal", "fraction"]

LOCATIONS: tuple[Location, ...] = ("min", "mean", "median")
PRECISION = 0.05
"""Half width within which the proportion of accelerated benchmarks is wanted."""

RANDOM_SELECTION = (
    "The interval speaks of benchmarks at large only if those measured were selected at random among them."
)
_VALID_ABOVE = 5
_VALID_FROM_2009 = 10


class OverallGain(Struct, frozen=True):
    """The speedup of the weighted total of a suite."""

    speedup: float  # S = sum(w f(X)) / sum(w f(Y))
    gain: float  # G = 1 - 1/S: the share of the reference's total that the candidate saves


class Accelerated(Struct, frozen=True):
    """How many benchmarks are accelerated, and what that says of benchmarks at large."""

    # The counts a and b
    accelerated: int
    benchmarks: int
    # C = a / b with the interval of the two-sided proportion test with continuity correction
    proportion: Estimate
    # The same with Wilson's interval, which is close to its level on average, and with that of Clopper and
    # Pearson, which never covers less than it says
    wilson: Estimate
    clopper_pearson: Estimate
    validity: float  # a - a**2 / b, which the article asks to exceed 5
    valid: bool  # whether it does
    precision: float  # the half width r asked for
    benchmarks_needed: int  # benchmarks needed to know C to within r at the same confidence


def locate(values: FloatArray, location: Location) -> float:
    """The minimum, mean or median of a sample."""
    if location == "min":
        return float(values.min())
    return mean(values) if location == "mean" else median(values)


def overall_gain(
    reference: Sequence[float], candidate: Sequence[float], weights: Sequence[float]
) -> OverallGain:
    """Equation (1) of the 2013 article."""
    w = usual(weights)
    shift = exponent(reference, candidate)
    before, after = (
        float(w @ np.ldexp(np.asarray(t, dtype=np.float64), shift)) for t in (reference, candidate)
    )
    if not (before > 0 and after > 0):
        return OverallGain(math.nan, math.nan)
    return OverallGain(before / after, 1 - after / before)


def weigh(
    weighting: Weighting, reference: Sequence[float], custom: Sequence[float | None]
) -> tuple[tuple[float, ...], str]:
    """The weights of benchmarks."""
    equal = (1.0,) * len(reference)
    if weighting == "equal":
        return equal, ""
    if weighting == "fraction":
        return tuple(float(t) for t in reference), ""
    given = [w for w in custom if w is not None]
    if any(not (math.isfinite(w) and w >= 0) for w in given):
        problem = "a weight is negative or not a number"
    elif len(given) < len(custom):
        problem = "a weight is missing" if given else "no weights are given"
    elif not any(given):
        problem = "all weights are zero"
    else:
        return tuple(given), ""
    return equal, f"{problem}; all benchmarks weigh the same"


def accelerated(count: int, benchmarks: int, alpha: float, precision: float) -> Accelerated:
    """Section 4 of the 2013 article."""
    validity = validity_2013(count, benchmarks)
    return Accelerated(
        accelerated=count,
        benchmarks=benchmarks,
        proportion=prop_test(count, benchmarks, alpha),
        wilson=wilson(count, benchmarks, alpha),
        clopper_pearson=clopper_pearson(count, benchmarks, alpha),
        validity=validity,
        valid=validity > _VALID_ABOVE,
        precision=precision,
        benchmarks_needed=benchmarks_needed(count, benchmarks, precision, alpha),
    )


def accelerated_2009(count: int, benchmarks: int, alpha: float, precision: float) -> Accelerated:
    """The proportion of accelerated programs in the 2009 protocol, its section 4: valid from n C >= 10."""
    proportion = accelerated(count, benchmarks, alpha, precision)
    return replace(proportion, validity=float(count), valid=count >= _VALID_FROM_2009)


def accelerated_by(
    faster: Iterable[tuple[str, int]], benchmarks: int, alpha: float
) -> tuple[tuple[str, Accelerated], ...]:
    """The same of each protocol, by how many benchmarks it calls faster, as its text has it."""
    return tuple(
        (
            name,
            (accelerated_2009 if name == "touati2009" else accelerated)(count, benchmarks, alpha, PRECISION),
        )
        for name, count in faster
    )


def banded(bounds: Iterable[float] | FloatArray) -> tuple[int, ...]:
    """How many changes are by 5 % or more, by 2 to 5 %, by less or by an amount that is not proven."""
    least = np.fromiter(bounds, np.float64) - 1
    wide, medium = (int(np.count_nonzero(least >= share)) for share in (0.05, 0.02))
    return wide, medium - wide, least.size - medium


class Gain2009(Struct, frozen=True):
    """The weighted overall gain of the 2009 protocol, its section 3."""

    weights: tuple[float, ...]  # one a program, adding up to 1: in proportion to the initial times
    weighted_gains: tuple[float, ...]  # weight times saved time, in base units
    gain: float  # their sum over the sum of weight times initial time
    confidence: float  # the smallest confidence of any program's own speedup


def gain_2009(before: Sequence[float], after: Sequence[float], confidences: Sequence[float]) -> Gain2009:
    """Weigh the gains of programs, all of them or the accelerated ones (the caller chooses which to pass)."""
    t, u = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    if not t.size == u.size == len(confidences):
        raise ValueError("times and confidences must be as many as there are programs")
    if t.size == 0:
        return Gain2009((), (), math.nan, math.nan)
    if not ((t > 0).all() and (u > 0).all()):
        raise ValueError("times must be positive")
    w = usual(t)
    w = w / w.sum()
    gains = w * (t - u)
    shift = exponent(t, u)  # sums of times of usual size
    t, u = np.ldexp(t, shift), np.ldexp(u, shift)
    total = float(w @ t)  # 0 where the times after are so large that those before vanish beside them
    gain = float((w * (t - u)).sum()) / total if total > 0 else -math.inf
    return Gain2009(tuple(w.tolist()), tuple(gains.tolist()), gain, float(min(confidences)))


def gains_2009(comparisons: Iterable[Comparison]) -> tuple[tuple[str, Gain2009], ...]:
    """Sections 3 and 4: over all programs that have positive medians, and over the accelerated ones, if any."""
    answered = (c for c in comparisons if c.protocol == "touati2009")
    usable = [c for c in answered if c.reference.median > 0 and c.candidate.median > 0]
    chosen = {"all": usable, "accelerated": [c for c in usable if c.verdict is Verdict.FASTER]}
    return tuple(
        (
            name,
            gain_2009(
                [c.reference.median for c in some],
                [c.candidate.median for c in some],
                [1 - c.alpha for c in some],
            ),
        )
        for name, some in chosen.items()
        if some
    )

"""One number for a suite, with its confidence: geometric means, for these benchmarks and for ones like these.

A geometric mean of speedups is one number, but two questions. How fast is the candidate on *these* benchmarks,
had they been run again and again? Only the noise from run to run makes that uncertain. How fast would it be on
benchmarks *like these*, of which these are a random sample? Then the differences between the benchmarks count,
too, and more runs of the same benchmarks do not narrow the interval.

Where a noise floor tells how much sessions of identical code differ, that is counted in, for either question. A
session may move all benchmarks together, so more benchmarks do not narrow that part.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from speedproof.data.names import enumerate_names
from speedproof.data.suite import Pair
from speedproof.errors import DataError
from speedproof.protocols.noise_floor import NoiseFloor, between_sessions
from speedproof.protocols.units import independent_units
from speedproof.stats.estimate import Estimate
from speedproof.stats.scaling import mean as mean_of
from speedproof.stats.special import t_quantile, t_sf


class LogRatio(Struct, frozen=True):
    """The logarithm of one benchmark's speedup, and how uncertain it is."""

    benchmark: str  # its name
    value: float  # log(mean X / mean Y), or log(mean Y / mean X) where higher is better
    # Of the logarithms of the two means, by the delta method: s^2 / (n mean^2). NaN for a single independent
    # value.
    variances: tuple[float, float]
    df: tuple[int, int]  # their degrees of freedom, n - 1
    # Standard deviation that the sessions add, with its degrees of freedom; 0 without a noise floor
    sessions: tuple[float, float]

    @property
    def unbiased(self) -> float:
        """The value less its bias: the logarithm of a mean of variance v is too low by v / 2 on average.

        That is little for one benchmark. But it does not average out over a suite, and matters beside the
        small error of many benchmarks when one version has far fewer runs.
        """
        of_x, of_y = self.variances
        bias = (of_y - of_x) / 2
        return self.value if math.isnan(bias) else self.value - bias


class MeanLogRatio(Struct, frozen=True):
    """A mean of logarithms of speedups with its standard error."""

    value: float  # the mean as observed
    centre: float  # the mean without the bias of the logarithms; tests and intervals start from it
    error: float  # its standard error; NaN where none can be given
    df: float  # degrees of freedom of the t distribution that goes with it

    def pvalue(self, margin: float = 0.0, *, less: bool = False) -> float:
        """One-sided p-value for "the mean lies above the margin", or below it."""
        distance = margin - self.centre if less else self.centre - margin
        if math.isnan(self.error):
            return math.nan
        if self.error == 0:
            return 1.0 if distance <= 0 else 0.0
        return float(t_sf(distance / self.error, self.df))

    def estimate(self, alpha: float) -> Estimate:
        """The ratio with its two-sided interval; from 0 to infinity where no error can be given."""
        observed = _exp(self.value)
        if math.isnan(self.error):
            return Estimate(observed, 0.0, math.inf, 1 - alpha)
        half = t_quantile(1 - alpha / 2, self.df) * self.error if self.error else 0.0
        return Estimate(observed, _exp(self.centre - half), _exp(self.centre + half), 1 - alpha)


class GeometricMeans(Struct, frozen=True):
    """The geometric mean of the speedups of a suite, with an interval for either question."""

    benchmarks: int  # how many went in
    # For these benchmarks, run again: two-sided interval from the noise of the runs, and of the sessions
    # where a noise floor tells it
    these: Estimate
    like_these: Estimate  # for benchmarks like these: two-sided interval that takes them as a random sample
    # Degrees of freedom of the two intervals
    df_these: float
    df_like_these: float
    left_out: tuple[str, ...]  # benchmarks without a speedup: a mean that is zero or negative
    notes: tuple[str, ...]  # what keeps an interval from being given

    def __str__(self) -> str:
        told = f"{self.these} for these {self.benchmarks} benchmarks, {self.like_these} for benchmarks like these"
        return f"{told} ({100 * self.these.confidence:g} % confidence)" if self.benchmarks else "no speedups"

    def __repr__(self) -> str:
        return f"<GeometricMeans: {self}>"


def log_ratio(pair: Pair, floor: NoiseFloor | None = None) -> LogRatio | None:
    """The logarithm of a benchmark's speedup in mean.

    Var log(mean) is s^2 / (n mean^2) to first order. With a coefficient of variation v of the mean the
    neglected terms are of the relative order v^2.
    """
    if (pair.reference.unit, pair.reference.direction) != (pair.candidate.unit, pair.candidate.direction):
        raise DataError(f"{pair.key.benchmark}: the samples have two units or directions")
    slow, fast = (unit.values for unit in independent_units((pair.reference, pair.candidate), "mean"))
    if pair.reference.higher_is_better:
        slow, fast = fast, slow
    means = (mean_of(slow), mean_of(fast))
    if not min(means) > 0:
        return None
    variances = tuple(
        float((v / mean).var(ddof=1)) / v.size if v.size > 1 else math.nan
        for v, mean in zip((slow, fast), means, strict=True)
    )
    return LogRatio(
        pair.key.benchmark,
        math.log(means[0]) - math.log(means[1]),
        (variances[0], variances[1]),
        (slow.size - 1, fast.size - 1),
        between_sessions(pair, floor),
    )


def mean_log_ratio(ratios: Sequence[LogRatio], *, like_these: bool) -> MeanLogRatio:
    """The mean of logarithms of speedups, with the standard error of the question asked.

    The degrees of freedom are the fewest of any part.
    """
    values = np.array([ratio.unbiased for ratio in ratios])
    b = values.size
    if like_these:
        error, df = float(values.std(ddof=1)) / math.sqrt(b) if b > 1 else math.nan, b - 1.0
    else:
        variances = np.array([ratio.variances for ratio in ratios])
        total = float(variances.sum())
        error, df = math.sqrt(total) / b, math.nan
        if total > 0:
            # Shares of the total keep the squares within range for any spread.
            shares = variances / total
            df = 1 / float((shares**2 / np.array([ratio.df for ratio in ratios])).sum())
    alone = MeanLogRatio(float(np.mean([ratio.value for ratio in ratios])), float(values.mean()), error, df)
    sessions, degrees = zip(*(ratio.sessions for ratio in ratios), strict=True)
    return with_sessions(alone, float(np.mean(sessions)), min(degrees))


def with_sessions(alone: MeanLogRatio, sessions: float, degrees: float) -> MeanLogRatio:
    """A mean with what sessions add on average to the standard deviation of each benchmark.

    They may be correlated in any way: the mean of their standard deviations is the most that they add to it.
    """
    if not sessions > 0.0 or math.isnan(alone.error):
        return alone
    df = min(alone.df, degrees) if alone.error > 0.0 else degrees
    return MeanLogRatio(alone.value, alone.centre, math.hypot(alone.error, sessions), df)


def geometric_means(pairs: Sequence[Pair], alpha: float, floor: NoiseFloor | None = None) -> GeometricMeans:
    """The geometric mean of the speedups in mean, with an interval for either question.

    "Like these" takes the logarithms of the speedups for a random sample of a normal population. Benchmarks
    are rarely chosen at random; the interval then speaks of no population that anybody could name, and only
    the one for these benchmarks is safe to quote.
    """
    found = [(pair.key.benchmark, log_ratio(pair, floor)) for pair in pairs]
    ratios = [ratio for _, ratio in found if ratio is not None]
    left_out = tuple(name for name, ratio in found if ratio is None)
    if not ratios:
        nothing = Estimate(math.nan, math.nan, math.nan, 1 - alpha)
        return GeometricMeans(0, nothing, nothing, math.nan, math.nan, left_out, ())
    these, like = (mean_log_ratio(ratios, like_these=like) for like in (False, True))
    return GeometricMeans(
        benchmarks=len(ratios),
        these=these.estimate(alpha),
        like_these=like.estimate(alpha),
        df_these=these.df,
        df_like_these=like.df,
        left_out=left_out,
        notes=_notes(ratios),
    )


def _notes(ratios: Sequence[LogRatio]) -> tuple[str, ...]:
    notes = []
    if single := [ratio.benchmark for ratio in ratios if 0 in ratio.df]:
        notes.append(
            f"one independent run only in {enumerate_names(single, 3)}: no interval for these benchmarks, "
            "measure each version in at least two processes"
        )
    if len(ratios) == 1:
        notes.append("a single benchmark says nothing about benchmarks like it")
    return tuple(notes)


def _exp(value: float) -> float:
    """Exponential without overflow: beyond the range of a double there is no bound."""
    return math.exp(value) if value < math.log(1.7e308) else math.inf

"""What a pilot tells: how many builds and runs a comparison needs, and what a machine can resolve.

The allocation is that of Kalibera and Jones.

The runs that find an effect of a given size are simulated from a pilot, under the test that will be used. Runs of
both versions are drawn from the pilot as they are, for a kernel fills the valley between two modes; where the
pilot was read in steps, the candidate's are rounded to them. Dependence multiplies their number as it does that
of every forecast. The candidate's are scaled so that the speedup is the effect. The share of such comparisons
whose verdict is "faster" is the power at a size. No model says how it grows, as it may jump: a protocol refuses
few runs, or small samples that are not normal. The size is bracketed and halved, from that of the test's own
formula.

The interval (95 %) says what a pilot of so few runs knows: the runs by the test's own formula for pilots that are
drawn from the pilot, over those for itself, scale the number of runs (B. Efron, Annals of Statistics 7, 1979); the
error of the simulation is added. A pilot is the model of S. Maricq et al., "Taming performance variability", OSDI
2018.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from speedproof.arrays import FloatArray
from speedproof.data.sample import Sample
from speedproof.data.suite import Pair
from speedproof.data.units import Direction
from speedproof.errors import DataError
from speedproof.options import HEADLINE
from speedproof.protocols.pair import DEFAULT, PreparedPairs, Rules
from speedproof.protocols.questions import QUESTIONS, Question, answers
from speedproof.protocols.results import Verdict
from speedproof.protocols.typical import DRIFT
from speedproof.stats.dependence import drift, drifting, lag1
from speedproof.stats.permutation import few_separate
from speedproof.stats.power import repetitions, variance_components
from speedproof.stats.scaling import NORMAL_DEVIATION, coarse_step
from speedproof.stats.sequential import blocks_needed, smallest_provable
from speedproof.stats.special import normal_quantile

_SPEEDUPS = (1.05, 1.02, 1.01, 1.005)
# Fewer builds than these know too little of what builds differ by.
_LEAST, _MOST = 10, 1 << 20
# The variance of a median of normal values, in that of their mean.
_MEDIAN = math.pi / 2


class PlannedSize(Struct, frozen=True):
    """What a proof of one speedup takes."""

    speedup: float  # proven by about 8 of 10 sessions of this size, if it is the true one
    builds: int  # of each version; 0 where more than a million would be needed
    # Seconds, of all versions together
    building: float
    measuring: float


class RunPlan(Struct, frozen=True):
    """How to measure, by a pilot."""

    # Of the pilot: builds of each version, and runs of each build
    builds: int
    runs: int
    # Standard deviations as shares: what builds add to a value, and what runs of one build vary by
    between: float
    within: float
    # What one more of each costs
    build_seconds: float
    run_seconds: float
    runs_per_build: int  # the cheapest for whatever precision
    sizes: tuple[PlannedSize, ...]  # for several speedups
    # Of the proofs
    alpha: float  # of the proofs


def plan_runs(
    pilot: Sequence[FloatArray], build_seconds: float, run_seconds: float, *, alpha: float
) -> RunPlan:
    """Plan a comparison; builds vary by no less than the error with which a pilot knows it."""
    if any(min(values.shape) < 2 for values in pilot):
        raise DataError("a plan needs a pilot of two builds of each version and two runs of each, or more")
    components = np.mean([variance_components(np.log(values)) for values in pilot], axis=0)
    between, within = float(components[0]), float(components[1])
    degrees, fewest = sum(values.shape[0] - 1 for values in pilot), min(values.shape[1] for values in pilot)
    possible = max(between, within / fewest * math.sqrt(2.0 / degrees))  # the deviation of a variance
    (runs,) = repetitions((possible, within), (build_seconds, run_seconds))
    # Of the difference of two fresh builds, each the median of its runs.
    spread = math.sqrt(2.0 * (possible + (_MEDIAN if runs > 2 else 1.0) * within / runs))
    sizes = []
    for speedup in _SPEEDUPS:
        needed = blocks_needed(math.log(speedup) / spread, alpha=alpha) if spread else float(_LEAST)
        builds = 0 if needed > _MOST else max(math.ceil(needed), _LEAST)
        cost = len(pilot) * builds
        sizes.append(PlannedSize(speedup, builds, cost * build_seconds, cost * runs * run_seconds))
    return RunPlan(
        min(values.shape[0] for values in pilot),
        fewest,
        float(np.sqrt(between)),
        float(np.sqrt(within)),
        build_seconds,
        run_seconds,
        runs,
        tuple(sizes),
        alpha,
    )


class Calibration(Struct, frozen=True):
    """Noise floor of a machine for one command."""

    runs: int  # runs that it rests on
    median: float  # seconds of a run
    # Relative spread of single runs: 1.4826 times the median absolute deviation of their logarithms
    noise: float
    block_noise: float  # the same of the ratio of the two runs of a block, which is what a comparison sees
    # Rank correlation of neighbouring runs: 1 - v / 2, v being von Neumann's ratio of the ranks; the two-
    # sided p-value of independence is that ratio's. NaN for constant times
    autocorrelation: float
    autocorrelation_pvalue: float
    # Spearman's correlation of time and order; p-value of no trend
    drift: float
    drift_pvalue: float
    # Seconds of measuring, the number of blocks that they allow, and the smallest speedup that about half of
    # such sessions prove; infinity when none
    provable: tuple[tuple[float, float, float], ...]


def calibrate(
    blocks: Sequence[tuple[float, float]],
    in_order: Sequence[float],
    seconds: float,
    budgets: Sequence[float] = (10.0, 60.0, 600.0),
    *,
    alpha: float = 0.05,
) -> Calibration:
    """Describe a machine's noise from a command that was measured against itself."""
    if len(blocks) < 4:
        raise DataError(f"{len(blocks)} blocks are too few to describe noise; allow more time or runs")
    pairs, times = np.log(np.array(blocks)), np.array(in_order)
    differences = pairs[:, 0] - pairs[:, 1]
    dependence, trend = lag1(times), drift(times)
    cost = seconds / len(blocks)
    return Calibration(
        times.size,
        float(np.median(times)),
        _spread(np.log(times)),
        _spread(differences),
        # Not the correlation of the times: one outlier hides it, and the p-value is not about it.
        float(1 - dependence.statistic / 2),
        float(dependence.pvalue),
        float(trend.statistic),
        float(trend.pvalue),
        tuple((b, b / cost, smallest_provable(differences, b / cost, alpha=alpha)) for b in budgets),
    )


def _spread(logarithms: np.typing.NDArray[np.float64]) -> float:
    return float(np.expm1(NORMAL_DEVIATION * np.median(np.abs(logarithms - np.median(logarithms)))))


LEAST_PILOT = 5
"""Runs of each version without which a pilot says nothing."""
MOST_RUNS = 100_000
_POWERS = (0.8, 0.9)
_DRAWS = 200  # comparisons at each size that is tried
_MANY = 10_000
_AT_MOST = 500_000  # runs of a side at one size
_TWO_SIDED = normal_quantile(0.975)
_PILOTS = 200
_FEWEST = 2


class RunsForPower(Struct, frozen=True):
    """The runs that find an effect with one probability."""

    power: float
    runs: int | None  # of each version; None where there are more than 100,000
    # An interval for the true number, from the pilot, at 95 %
    low: float
    high: float


class PowerPlan(Struct, frozen=True):
    """How many runs one benchmark needs."""

    benchmark: str
    metric: str
    protocol: str  # whose test is to find the effect
    effect: float  # as a share: 0.02 is a speedup of 1.02
    alpha: float
    repeated: str  # the unit counted: ``"run"``, ``"process"`` or ``"session"``
    pilot: tuple[int, int]  # of these how many the pilot has
    sizes: tuple[RunsForPower, ...]


def plan_power(
    pair: Pair, effect: float, protocol: str = HEADLINE, rules: Rules = DEFAULT, seed: int = 0
) -> PowerPlan:
    """Find the runs of each version that show a speedup of 1 + effect.

    Parameters
    ----------
    pair : Pair
        The pilot; twice the same sample where there is one version.
    effect : float
        As a share, above 0.
    protocol : str
        The question whose test will be asked.
    rules : Rules
        By which it will be asked.
    seed : int
        Of all random numbers.

    Raises
    ------
    DataError
        Fewer than five runs of a version, or runs that never differ or drift.
    """
    question, prepared = QUESTIONS[protocol], PreparedPairs([pair], rules)
    (side,), (now,) = question.sides(prepared), answers(protocol, prepared)
    slow, fast = side.slow, side.fast
    if min(slow.min(), fast.min()) <= 0.0:
        raise DataError(f"{pair.key.benchmark}: a speedup needs values above 0")
    if min(slow.size, fast.size) < LEAST_PILOT:
        raise DataError(f"{pair.key.benchmark}: a pilot needs {LEAST_PILOT} runs (processes) of each version")
    if np.ptp(slow) == np.ptp(fast) == 0.0:
        raise DataError(
            f"{pair.key.benchmark}: the runs of the pilot never differ, so any number finds an effect"
        )
    alike = now.inflation  # so many runs like the pilot's tell as much as one that is drawn
    if drifting(slow.size, fast.size, alike):
        raise DataError(f"{pair.key.benchmark}: {DRIFT.reason}")
    rng = np.random.default_rng(seed)
    trial = _Trial(pair, question, rules, (slow, fast), effect, rng)
    spread = trial.spread()
    alpha, least = rules.alpha, question.least_pvalue
    enough = (n for n in range(_FEWEST, MOST_RUNS) if not few_separate(n, alpha) and least(n, n) <= alpha)
    fewest = next(enough, MOST_RUNS)
    sizes, guess, least_runs = [], math.ceil(trial.known), fewest
    for power in _POWERS:
        runs = trial.needed(power, guess, least_runs)
        if runs is None or runs * alike > MOST_RUNS:
            least_runs = MOST_RUNS + 1
            sizes.append(RunsForPower(power, None, float(MOST_RUNS), math.inf))
            continue
        # The runs go with the square of a deviate, which is known by that of the share.
        deviate = normal_quantile(power)
        error = math.sqrt(2.0 * math.pi * power * (1.0 - power) / _draws(runs)) * math.exp(0.5 * deviate**2)
        error *= 2.0 * _TWO_SIDED / (deviate + normal_quantile(1.0 - alpha))
        low, high = (
            alike * max(runs * math.exp(side * math.hypot(math.log(end), error)), fewest)
            for side, end in zip((-1, 1), spread, strict=True)
        )
        sizes.append(RunsForPower(power, math.ceil(alike * runs), low, high))
        guess = least_runs = runs
    sample_sizes = (slow.size, fast.size) if not side.turned else (fast.size, slow.size)
    return PowerPlan(
        pair.key.benchmark,
        pair.key.metric,
        protocol,
        effect,
        rules.alpha,
        now.repeated,
        sample_sizes,
        tuple(sizes),
    )


def _draws(n: int) -> int:
    """How many comparisons of so many runs are simulated."""
    return max(10, min(_DRAWS, _AT_MOST // n))


class _Trial:
    """Comparisons drawn from a pilot."""

    def __init__(
        self,
        pair: Pair,
        question: Question,
        rules: Rules,
        sides: tuple[FloatArray, FloatArray],
        effect: float,
        rng: np.random.Generator,
    ) -> None:
        self.pair, self.question, self.rng = pair, question, rng
        self.rules = replace(rules, forecast=False)
        self.sides, self.scale = sides, 1.0
        self.shares: dict[int, float] = {}
        self.steps = [coarse_step(values) for values in sides]
        # So many runs show the speedup that there is.
        self.scale = float(self.beyond(effect, *(self.drawn(k, _MANY, 1) for k in range(2)))[0])
        self.effect, (self.known,) = effect, self.formula(sides[0][None], self.scale * sides[1][None])

    def beyond(self, effect: float, slow: FloatArray, fast: FloatArray) -> FloatArray:
        """Row by row the observed speedup over that of the effect."""
        # A chance is no scale of times.
        ratio = self.question if self.question.quantity == "speedup" else QUESTIONS[HEADLINE]
        comparisons = ratio.ask(PreparedPairs(self.pairs(slow, fast), self.rules))
        return np.array([comparison.speedup.value for comparison in comparisons]) / (1.0 + effect)

    def formula(self, slow: FloatArray, fast: FloatArray) -> FloatArray:
        """Row by row the runs of each side by the test's own formula."""
        of_x, of_y = self.question.forecast(slow, fast, self.rules.alpha)
        return np.fmax(np.fmin(0.5 * (of_x + of_y), MOST_RUNS), _FEWEST)

    def spread(self) -> tuple[float, float]:
        """Factors between which the number of runs lies for pilots like this one, over that of the pilot."""
        slow, fast = (self.drawn(k, values.size, _PILOTS) for k, values in enumerate(self.sides))
        pilots = self.formula(slow, fast * self.beyond(self.effect, slow, fast)[:, None])
        low, high = np.quantile(pilots, (0.025, 0.975)).tolist()
        return low / self.known, high / self.known

    def needed(self, power: float, guess: int, fewest: int) -> int | None:
        """The smallest number of runs, to a tenth, with this power; None beyond the limit."""
        low, high, tried = fewest - 1, MOST_RUNS + 1, guess
        while high - low > (max(1, high // 10) if high <= MOST_RUNS else 1):
            most = high - max(1, high // 12) if high <= MOST_RUNS else MOST_RUNS
            tried = min(max(tried, low + max(1, low // 12)), most)
            share = self.share(tried)
            low, high = (low, tried) if share >= power else (tried, high)
            if 0.02 < share < 0.98:  # a deviate grows with the root of the runs
                risk = normal_quantile(1.0 - self.rules.alpha)
                grown = (risk + normal_quantile(power)) / max(risk + normal_quantile(share), 0.4)
                tried = round(tried * grown**2)
            else:
                tried = math.isqrt(low * high)
        return high if high <= MOST_RUNS else None

    def share(self, n: int) -> float:
        """The share of comparisons of so many runs a side that prove "faster"."""
        if n not in self.shares:
            sides = (self.drawn(k, n, _draws(n)) for k in range(2))
            comparisons = self.question.ask(PreparedPairs(self.pairs(*sides), self.rules))
            faster = sum(c.verdict is Verdict.FASTER and not c.by_few_runs for c in comparisons)
            self.shares[n] = faster / len(comparisons)
        return self.shares[n]

    def pairs(self, *both: FloatArray) -> list[Pair]:
        """Comparisons of the rows of both sides."""
        unit = self.pair.reference.unit
        return [
            Pair(self.pair.key, *(Sample(values, unit, Direction.LOWER) for values in sides))
            for sides in zip(*both, strict=True)
        ]

    def drawn(self, k: int, n: int, draws: int) -> FloatArray:
        """Runs of one side, shape (draws, n)."""
        values, step = self.sides[k] * (self.scale if k else 1.0), self.steps[k]
        sample = values[self.rng.integers(values.size, size=(draws, n))]
        return np.maximum(np.round(sample / step), 1.0) * step if step else sample

"""How many runs find an effect of a given size: simulated from a pilot, under the test that will be used.

Runs of both versions are drawn from the pilot, smoothed by a normal kernel on the scale of logarithms that keeps
mean and variance (B. W. Silverman, G. A. Young, Biometrika 74, 1987), or rounded to the step in which the pilot
was read. The candidate's are scaled so that the speedup is the effect. The share of such comparisons whose
verdict is "faster" is the power at a size; with it the power of a test grows as that of a normal one, Phi(b
sqrt(n) - z(1 - alpha)), and b is estimated from simulations at sizes that come closer and closer.

The interval (95 %) says what a pilot of so few runs knows: the variance of the logarithms of pilots that are drawn
from the pilot (of a median or a quantile, the inverse square of the density there), over its own, scales the
number of runs; the error of the simulation is added. A pilot is the
model of S. Maricq et al., "Taming performance variability", OSDI 2018.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from speedproof.arrays import FloatArray
from speedproof.data.sample import Sample
from speedproof.data.suite import Pair
from speedproof.data.units import Direction
from speedproof.errors import DataError
from speedproof.options import quantile_of
from speedproof.protocols.pair import DEFAULT, PreparedPairs, Rules
from speedproof.protocols.questions import QUESTIONS, Question, answers
from speedproof.protocols.results import Verdict
from speedproof.stats.permutation import PROVING
from speedproof.stats.scaling import coarse_step
from speedproof.stats.special import ndtri, normal_quantile

LEAST_PILOT = 5
"""Runs of each version without which a pilot says nothing."""
MOST_RUNS = 100_000
_POWERS = (0.8, 0.9)
_AIM = 0.85  # where both are near
_DRAWS = (50, 100, 150)  # comparisons at each size that is tried
_TRIES = 8
_MANY = 10_000
_AT_MOST = 500_000  # runs of a side at one size
_TWO_SIDED = normal_quantile(0.975)
_PILOTS = 200
_LEAST = 2


class RunsForPower(Struct, frozen=True):
    """The runs that find an effect with one probability."""

    power: float
    runs: int | None  # of each version; None where there are more than 100,000
    # Between which numbers the true one lies, as far as the pilot tells, at 95 %
    low: float
    high: float


class PowerPlan(Struct, frozen=True):
    """How many runs one benchmark needs."""

    benchmark: str
    metric: str
    protocol: str  # whose test is to find the effect
    effect: float  # as a share: 0.02 is a speedup of 1.02
    alpha: float
    repeated: str  # what is counted: ``"run"``, ``"process"`` or ``"session"``
    pilot: tuple[int, int]  # of these how many the pilot has
    sizes: tuple[RunsForPower, ...]


def plan_power(
    pair: Pair, effect: float, protocol: str = "typical", rules: Rules = DEFAULT, seed: int = 0
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
        Fewer than five runs of a version, or runs that never differ.
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
    rng = np.random.default_rng(seed)
    trial = _Trial(pair, question, rules, (slow, fast), effect, rng)
    q = 0.5 if protocol == "median" else quantile_of(protocol)
    spread = _spread(slow, fast, q, rng)
    (slope, error), least = trial.slope(_formula(question, slow, fast, rules.alpha)), question.least_pvalue
    # The runs go with the square of the slope.
    ends = [
        math.exp(side * math.hypot(math.log(end), 2.0 * _TWO_SIDED * error))
        for side, end in zip((-1, 1), spread, strict=True)
    ]
    sizes, fewest = [], trial.fewest
    for power in _POWERS:
        runs = ((normal_quantile(power) + normal_quantile(1.0 - rules.alpha)) / slope) ** 2
        whole = next(
            (n for n in range(max(math.ceil(runs), fewest), MOST_RUNS) if least(n, n) <= rules.alpha), None
        )
        low, high = (
            (float(MOST_RUNS), math.inf) if whole is None else (max(whole * end, fewest) for end in ends)
        )
        sizes.append(RunsForPower(power, whole, low, high))
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


def _formula(question: Question, slow: FloatArray, fast: FloatArray, alpha: float) -> float:
    """The runs of each side by the test's own formula."""
    with np.errstate(all="ignore"):
        runs = question.forecast(slow[None], fast[None], alpha)
    mean = 0.5 * float(runs.x[0] + runs.y[0])
    return min(max(mean, float(_LEAST)), float(MOST_RUNS)) if math.isfinite(mean) else float(MOST_RUNS)


def _spread(
    slow: FloatArray, fast: FloatArray, q: float | None, rng: np.random.Generator
) -> tuple[float, float]:
    """Factors between which the number of runs lies for pilots like this one, over that of the pilot."""
    pilots, single = np.zeros(_PILOTS), 0.0
    for logs in (np.log(slow), np.log(fast)):
        drawn = logs[rng.integers(logs.size, size=(_PILOTS, logs.size))]
        # Values in steps may have no spread in the middle.
        width = max(_width(logs), float(np.ptp(logs)) / logs.size, 1e-9)
        pilots, single = (
            pilots + _variance(drawn, q, width),
            single + float(_variance(logs[None], q, width)[0]),
        )
    low, high = np.quantile(pilots / single, (0.025, 0.975)).tolist()
    # A variance is known no better than a normal sample's of this size would tell.
    n = slow.size + fast.size - 2
    normal = _TWO_SIDED * math.sqrt(2.0 / n)
    return min(low, math.exp(-normal)), max(high, math.exp(normal))


def _variance(logs: FloatArray, q: float | None, width: float) -> FloatArray:
    """What the runs go with: the variance of each row; of a quantile, the density there to the power of -2."""
    if q is None:
        return np.asarray(logs.var(axis=-1, ddof=1))
    place = np.quantile(logs, q, axis=-1, keepdims=True)
    exponents = -0.5 * ((logs - place) / width) ** 2
    most = exponents.max(axis=-1)
    density = most + np.log(np.exp(exponents - most[:, None]).mean(axis=-1)) - math.log(width)
    return np.asarray(np.exp(-2.0 * density))


def _width(logs: FloatArray) -> float:
    """Of a normal kernel, by Silverman's rule."""
    ends: Sequence[float] = np.quantile(logs, (0.25, 0.75)).tolist()
    deviation = float(logs.std(ddof=1))
    width: float = 0.9 * (min(deviation, (ends[1] - ends[0]) / 1.349) or deviation) * logs.size**-0.2
    return width


def _affordable(draws: int, n: int) -> int:
    return max(10, min(draws, _AT_MOST // n))


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
        self.pair, self.question, self.rules, self.rng = pair, question, rules, rng
        self.sides, self.scale = sides, 1.0
        self.fewest = PROVING if question.name == "typical" else _LEAST
        self.steps = [coarse_step(values) for values in sides]
        # So many runs show the speedup that there is.
        (comparison,) = question.ask(PreparedPairs(self.pairs(_MANY, 1), rules))
        self.scale = comparison.speedup.value / (1.0 + effect)

    def slope(self, guess: float) -> tuple[float, float]:
        """By how much the deviate of the power grows with the root of the runs, and its relative error."""
        alpha = normal_quantile(1.0 - self.rules.alpha)
        n, tries = math.ceil(guess), 0
        while tries < _TRIES:  # to where the power is neither none nor all
            share, tries = self.share(n, _affordable(_DRAWS[0], n)), tries + 1
            if (
                0.2 <= share <= 0.98
                or (share < 0.2 and n == MOST_RUNS)
                or (share > 0.98 and n == self.fewest)
            ):
                break
            n = min(max(math.ceil(n * (4.0 if share < 0.2 else 0.25)), self.fewest), MOST_RUNS)
        weights, slopes = [], []
        for most in _DRAWS:
            draws = _affordable(most, n)
            share = min(max(self.share(n, draws), 0.5 / draws), 1.0 - 0.5 / draws)
            deviate = float(ndtri(np.float64(share)))
            # The variance of the slope is that of the share, by the density at the deviate.
            weights.append(draws * n * math.exp(-deviate * deviate) / (share * (1.0 - share)))
            slopes.append(max(deviate + alpha, 0.01) / math.sqrt(n))
            slope = float(np.average(slopes, weights=weights))
            n = min(max(math.ceil(((normal_quantile(_AIM) + alpha) / slope) ** 2), self.fewest), MOST_RUNS)
        return slope, math.sqrt(2.0 * math.pi / sum(weights)) / slope

    def share(self, n: int, draws: int) -> float:
        """The share of comparisons of so many runs a side that prove "faster"."""
        comparisons = self.question.ask(PreparedPairs(self.pairs(n, draws), self.rules))
        return sum(c.verdict is Verdict.FASTER and not c.by_few_runs for c in comparisons) / draws

    def pairs(self, n: int, draws: int) -> list[Pair]:
        """Comparisons of so many runs a side."""
        both, unit = [self.drawn(k, n, draws) for k in range(2)], self.pair.reference.unit
        return [
            Pair(self.pair.key, *(Sample(values, unit, Direction.LOWER) for values in sides))
            for sides in zip(*both, strict=True)
        ]

    def drawn(self, k: int, n: int, draws: int) -> FloatArray:
        """Runs of one side, shape (draws, n)."""
        values, step = self.sides[k] * (self.scale if k else 1.0), self.steps[k]
        sample = values[self.rng.integers(values.size, size=(draws, n))]
        if step:
            return np.asarray(np.maximum(np.round(sample / step), 1.0) * step)
        logs = np.log(values)
        width = _width(logs)
        shrunk = float(logs.std(ddof=1)) / math.sqrt(float(logs.var()) + width * width)
        smooth = np.log(sample) - logs.mean() + width * self.rng.standard_normal((draws, n))
        return np.asarray(np.exp(logs.mean() + shrunk * smooth))

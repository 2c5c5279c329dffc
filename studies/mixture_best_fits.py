"""Is the best mixture found? Beside the best of 50 random starts: ``python -m studies.mixture_best_fits [N]``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from math import log, pi

import numpy as np
import numpy.typing as npt

from speedproof.mixture import em, search
from speedproof.mixture.fitting import fit, standardise

Floats = npt.NDArray[np.float64]


def samples(count: int, seed: int) -> Iterator[Floats]:
    """Shapes that benchmarks take: outliers, ticks, tails, modes of every width."""
    rng = np.random.default_rng(seed)
    for i in range(count):
        n = int(rng.choice([20, 30, 50, 80, 100]))
        k = int(rng.integers(2, 6))
        z = rng.integers(0, k, n)
        yield (
            np.append(rng.normal(0, 1, n - 1), rng.choice([8, 20, 100])),
            rng.lognormal(0, 1, n),
            np.where(rng.random(n) < 0.3, rng.normal(4, 0.5, n), rng.normal(0, 1, n)),
            rng.standard_t(3, n),
            rng.exponential(1, n) + 5,
            rng.normal(0, 5, k)[z] + rng.lognormal(-1, 1, k)[z] * rng.normal(0, 1, n),
        )[i % 6]


SIZES = (100, 200, 300, 500, 800, 1000, 1500, 2000, 3000)


def large_samples(count: int, seed: int, sizes: tuple[int, ...] = SIZES) -> Iterator[Floats]:
    """Long tails, modes and plateaus of up to 3,000 values."""
    rng = np.random.default_rng(seed)
    for i in range(count):
        n = int(rng.choice(sizes))
        k = int(rng.integers(2, 6))
        z = rng.integers(0, k, n)
        yield (
            rng.exponential(1, n),
            rng.lognormal(0, 1, n),
            rng.lognormal(0, 0.5, n),
            rng.gamma(2, 1, n),
            rng.weibull(0.8, n),
            rng.standard_t(3, n),
            rng.normal(0, 5, k)[z] + rng.lognormal(-1, 1, k)[z] * rng.normal(0, 1, n),
            rng.uniform(0, 1, n),
            np.where(rng.random(n) < 0.3, rng.normal(4, 0.5, n), rng.normal(0, 1, n)),
            rng.lognormal(0, 0.2, n),
            rng.pareto(3, n),
        )[i % 11]


def best_of_random_starts(x: Floats, tries: int, rng: np.random.Generator) -> float:
    """The largest BIC of a sound mixture that EM reaches from random values as means.

    A climb that would go on to a mixture that is not sound has reached none.
    """
    u, _, scale = standardise(x)
    n, widest = u.size, min(9, max(u.size // 3, 2))
    rules = em.StoppingRules(1e-5, 0.0, 1e-14, 3000, accelerate=True, extra_step=False, clamp=True)
    places = [(K, model) for K in range(2, widest + 1) for model in (em.E, em.V) for _ in range(tries)]
    mixtures = np.zeros((len(places), 3, widest))
    for mixture, (K, _) in zip(mixtures, places, strict=True):
        mixture[:, :K] = np.full(K, 1 / K), rng.choice(u, K, replace=False), np.full(K, 1 / K**2)
    loglik, _ = em.climb(u, mixtures, places, rules)
    df = np.array([2 * K if model == em.E else 3 * K - 1 for K, model in places])
    bics = np.nan_to_num(2 * loglik - df * log(n), nan=-np.inf)
    tops = np.argsort(-bics)[:20]
    on, ended = [places[at] for at in tops], mixtures[tops]
    fine = em.StoppingRules(0.0, 1e-11, 1e-14, 30_000, accelerate=True, extra_step=False, clamp=True)
    loglik, _ = em.climb(u, ended, on, fine)
    good = search.sound(ended, n, search.spread_of_neighbours(u)) | np.array([m == em.E for _, m in on])
    bics = np.where(good & (loglik > -np.inf), 2 * loglik - df[tops] * log(n), -np.inf)
    single = -n * (log(2 * pi * float((u**2).mean())) + 1) - 2 * log(n)
    return max(single, float(bics.max())) - 2 * n * log(scale)


def worse_and_better(count: int, seed: int, *, large: bool = False) -> tuple[list[int], int]:
    """Which of so many samples random starts or mclust's rules fit better by 1e-6 in log-likelihood.

    And how many they fit worse.
    """
    rng = np.random.default_rng(1)
    gains = [
        fit(x).bic - max(best_of_random_starts(x, 50, rng), fit(x, compatible=True).bic if large else -np.inf)
        for x in (large_samples if large else samples)(count, seed)
    ]
    return [i for i, gain in enumerate(gains) if gain < -2e-6], sum(gain > 1e-6 for gain in gains)


def fast_and_whole(count: int, seed: int) -> list[float]:
    """How much larger the BIC of a fast fit is, of so many samples of 4,000 and 15,000 values."""
    return [fit(x, fast=True).bic - fit(x).bic for x in large_samples(count, seed, (4000, 15_000))]


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    for large in (False, True):
        worse, better = worse_and_better(count, 1, large=large)
        print(f"of {count} samples random starts are better on {len(worse)} {worse}, worse on {better}")
    gains = fast_and_whole(count, 1)
    less, more = [g for g in gains if g < -1e-6], sum(g > 1e-6 for g in gains)
    print(
        f"fast fits have a smaller BIC on {len(less)}, by {-min(less, default=0.0):.1f} at most, larger on {more}"
    )

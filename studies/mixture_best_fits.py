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


def best_of_random_starts(x: Floats, tries: int, rng: np.random.Generator) -> float:
    """The largest BIC of a sound mixture that EM reaches from random values as means."""
    u, _, scale = standardise(x)
    n, widest = u.size, min(9, max(u.size // 3, 2))
    rules = em.StoppingRules(1e-5, 0.0, 1e-14, 3000, accelerate=True, extra_step=False, clamp=True)
    places = [(K, model) for K in range(2, widest + 1) for model in (em.E, em.V) for _ in range(tries)]
    mixtures = np.zeros((len(places), 3, widest))
    for mixture, (K, _) in zip(mixtures, places, strict=True):
        mixture[:, :K] = np.full(K, 1 / K), rng.choice(u, K, replace=False), np.full(K, 1 / K**2)
    loglik, _ = em.climb(u, mixtures, places, rules)
    sound = search.sound(mixtures, n, search.spread_of_neighbours(u))
    best = -n * (log(2 * pi * float((u**2).mean())) + 1) - 2 * log(n)
    for height, good, (K, model) in zip(loglik.tolist(), sound.tolist(), places, strict=True):
        if good or model == em.E:
            best = max(best, 2 * height - (2 * K if model == em.E else 3 * K - 1) * log(n))
    return best - 2 * n * log(scale)


def worse_and_better(count: int, seed: int) -> tuple[list[int], int]:
    """Which of so many samples random starts fit better by more than 1e-6 in BIC, and how many they fit worse."""
    rng = np.random.default_rng(1)
    gains = [fit(x).bic - best_of_random_starts(x, 50, rng) for x in samples(count, seed)]
    return [i for i, gain in enumerate(gains) if gain < -1e-6], sum(gain > 1e-6 for gain in gains)


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    worse, better = worse_and_better(count, 1)
    print(f"of {count} samples random starts are better on {len(worse)} {worse}, worse on {better}")

"""Series that several files draw."""

import math

import numpy as np

from speedproof.arrays import FloatArray


def autoregressive(rng: np.random.Generator, rows: int, n: int, rho: float) -> FloatArray:
    """Normal values of variance 1, of which neighbours correlate by so much."""
    x = rng.standard_normal((rows, n))
    x[:, 1:] *= math.sqrt(1 - rho**2)
    for t in range(1, n):
        x[:, t] += rho * x[:, t - 1]
    return x

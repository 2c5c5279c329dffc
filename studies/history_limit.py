"""How often any test can find a step in a short history: a sentence of docs/tables.md.

    python -m studies.history_limit

The step is of 2 deviations, 8 before the end of 20 commits. The test of Neyman and Pearson for directions of the
centred values, so of normal noise of unknown scale: a step of that size, at any place alike, against the
autoregression of a given coefficient. No test that the place, the direction, level and scale do not matter to
finds more at that risk, on average over places. Columns: coefficient at which the risk of 5 % holds, share that
is shown, share whose most likely place is within two commits.
"""

from __future__ import annotations

import math

import numpy as np

from speedproof.arrays import FloatArray

COMMITS, AT, STEP, RISK, SERIES, NEAR = 20, 12, 2.0, 0.05, 50_000, 2
MARGIN = 3
PLACES = np.arange(MARGIN, COMMITS - MARGIN + 1)
FREE = COMMITS - 1
CONTRASTS = np.linalg.svd(np.eye(COMMITS) - 1.0 / COMMITS)[0][:, :FREE].T
STEPS = [CONTRASTS @ (STEP * (np.arange(COMMITS) >= place)) for place in PLACES]


def autoregression(rho: float) -> FloatArray:
    """Covariance of the contrasts."""
    lags = np.abs(np.subtract.outer(np.arange(COMMITS), np.arange(COMMITS)))
    found: FloatArray = CONTRASTS @ rho**lags @ CONTRASTS.T
    return found


def directions(rng: np.random.Generator, rho: float, mean: FloatArray) -> FloatArray:
    """Of random series, a row each."""
    values = rng.standard_normal((SERIES, FREE)) @ np.linalg.cholesky(autoregression(rho)).T + mean
    return np.asarray(values / np.linalg.norm(values, axis=1, keepdims=True))


def without_step(u: FloatArray, rho: float) -> FloatArray:
    """Logarithm of their density: the angular central Gaussian's (D. E. Tyler, Biometrika 74(3), 1987)."""
    covariance = autoregression(rho)
    squares = np.einsum("ij,jk,ik->i", u, np.linalg.inv(covariance), u)
    constant = math.lgamma(FREE / 2.0) + (FREE / 2.0 - 1.0) * math.log(2.0)
    return np.asarray(constant - 0.5 * np.linalg.slogdet(covariance)[1] - FREE / 2.0 * np.log(squares))


def with_step(u: FloatArray) -> FloatArray:
    """The same of independent values with a step, up or down, at each of the places; the length integrated out."""
    lengths = np.linspace(1e-3, 20.0, 2000)
    found = []
    for step in STEPS:
        size = float(np.linalg.norm(step))
        cosines = np.linspace(-1.0, 1.0, 200) * size
        logs = (FREE - 1) * np.log(lengths) - 0.5 * lengths**2 + np.outer(cosines, lengths)
        top = logs.max(axis=1)
        table = np.log(np.exp(logs - top[:, None]).sum(axis=1) * (lengths[1] - lengths[0])) + top
        both = [np.interp(sign * (u @ step), cosines, table) for sign in (1.0, -1.0)]
        found.append(np.logaddexp(*both) - math.log(2.0) - 0.5 * size**2)
    return np.array(found)


def main() -> None:
    """Print a row a coefficient."""
    rng = np.random.default_rng(29)
    changed = directions(rng, 0.0, STEPS[AT - MARGIN])
    by_place = with_step(changed)
    near = np.abs(PLACES[by_place.argmax(axis=0)] - AT) <= NEAR
    print("| | shown | found |\n|---|---|---|")
    for rho in (0.0, 0.3, 0.6):
        same = directions(rng, rho, np.zeros(FREE))
        limit = np.quantile(np.logaddexp.reduce(with_step(same)) - without_step(same, rho), 1.0 - RISK)
        shown = np.logaddexp.reduce(by_place) - without_step(changed, rho) > limit
        print(f"| AR {rho} | {100 * shown.mean():.0f} % | {100 * (shown & near).mean():.0f} % |", flush=True)


if __name__ == "__main__":
    main()

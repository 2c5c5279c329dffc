"""Size and power of the bootstrap test of a fitted mixture, for several undersampling factors c.

Size: random mixtures (1 + Poisson(3.5) components, at most 8; weights of a flat Dirichlet law, means uniform
on (10, 60), deviations 0.3 + c0 Beta(3, 2) with c0 = 2, 4, 6 in turn). Power: three shifted exponentials.
Usage: ``python studies/mixture_calibration.py [--runs 400] [--sizes 30 50 100 500]``.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import numpy.typing as npt

from speedproof.mixture.fitting import fit
from speedproof.mixture.goodness import goodness_of_fit
from speedproof.mixture.model import MixtureModel

Floats = npt.NDArray[np.float64]


def random_mixture(rng: np.random.Generator, c0: float) -> MixtureModel:
    """Draw a mixture of the report's kind."""
    K = min(8, 1 + int(rng.poisson(3.5)))
    return MixtureModel(rng.dirichlet(np.ones(K)), rng.uniform(10, 60, K), 0.3 + c0 * rng.beta(3, 2, K))


def shifted_exponentials(rng: np.random.Generator, n: int) -> Floats:
    """Draw from three exponentials that start at 15, 22 and 40."""
    k = rng.choice(3, n, p=[0.4, 0.35, 0.25])
    return np.asarray(
        np.array([15.0, 22.0, 40.0])[k] + rng.exponential(size=n) * np.array([1.0, 2.5, 1.5])[k]
    )


def pvalues(
    null: bool, n: int, factors: list[float], runs: int, seed: int, *, N: int = 200, K_max: int = 9
) -> Floats:
    """p-values, shape (factors, runs), of the same samples under each factor.

    Parameters
    ----------
    null : bool
        Draw from random mixtures; else from shifted exponentials.
    n : int
        Size of the samples.
    factors : list of float
        Undersampling factors.
    runs : int
        Number of samples.
    seed : int
        The same seed gives the same table.
    N, K_max : int
        Bootstrap samples, largest K.

    Returns
    -------
    ndarray
        In [0, 1].
    """
    table = np.empty((len(factors), runs))
    for run, child in enumerate(np.random.SeedSequence([seed, n]).spawn(runs)):
        rng = np.random.default_rng(child)
        x = (
            random_mixture(rng, (2.0, 4.0, 6.0)[run % 3]).rvs(n, rng)
            if null
            else shifted_exponentials(rng, n)
        )
        f = fit(x, K_max=K_max)
        for row, c in enumerate(factors):
            table[row, run] = goodness_of_fit(x, f, N=N, seed=run, c=c).pvalue
    return table


def main() -> None:
    """Print one line for each size and factor."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--sizes", type=int, nargs="+", default=[30, 50, 100, 500])
    parser.add_argument("--factors", type=float, nargs="+", default=[1.0, 0.9, 0.8, 0.7])
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print("what                 n     c  P[p<.01] P[p<.05] P[p<.10] P[p<.20]   mean p   runs  seconds")
    for null, K_max, name in ((True, 9, "size"), (False, 9, "power, K <= 9"), (False, 5, "power, K <= 5")):
        for n in options.sizes:
            start = time.perf_counter()
            table = pvalues(null, n, options.factors, options.runs, options.seed, K_max=K_max)
            seconds = time.perf_counter() - start
            for c, p in zip(options.factors, table, strict=True):
                shares = " ".join(f"{(p < a).mean():8.3f}" for a in (0.01, 0.05, 0.1, 0.2))
                print(
                    f"{name:15s} {n:6d} {c:5.2f}  {shares} {p.mean():8.3f} {options.runs:6d} {seconds:8.1f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()

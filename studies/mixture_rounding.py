"""Rounded mixtures: how often the plain test and the one that knows of the grid reject a true mixture.

Two components, deviations 1, four deviations apart; values are rounded to steps of h deviations.
Usage: ``python studies/mixture_rounding.py [--runs 200] [--sizes 30 100] [--steps 0.1 0.25 0.5 1]``.
"""

from __future__ import annotations

import argparse

import numpy as np

from speedproof.mixture.fitting import fit
from speedproof.mixture.goodness import goodness_of_fit
from speedproof.mixture.grid import detect_resolution
from speedproof.mixture.model import MixtureModel
from speedproof.mixture.rounding import fit_rounded, goodness_of_rounded, rounding_matters

MODEL = MixtureModel([0.5, 0.5], [100.0, 104.0], [1.0, 1.0])


def rejections(n: int, step: float, runs: int, *, N: int = 100, seed: int = 1) -> dict[str, float]:
    """Share of runs rejected at 5 %, that were found to be on the grid, and where it was said to matter.

    Parameters
    ----------
    n : int
        Size of the samples.
    step : float
        Of the grid, in deviations.
    runs : int
        Number of samples.
    N : int
        Bootstrap samples.
    seed : int
        The same seed gives the same shares.

    Returns
    -------
    dict of str to float
        ``plain``, ``aware``, ``detected``, ``matters``.
    """
    counts = {"plain": 0, "aware": 0, "detected": 0, "matters": 0}
    for run, child in enumerate(np.random.SeedSequence([seed, n]).spawn(runs)):
        x = step * np.round(MODEL.rvs(n, child) / step)
        counts["plain"] += goodness_of_fit(x, fit(x), N=N, seed=run).rejected(0.05)
        counts["aware"] += goodness_of_rounded(x, fit_rounded(x, step), N=N, seed=run).rejected(0.05)
        found = detect_resolution(x)
        counts["detected"] += found is not None and abs(found - step) < 1e-9 * step
        counts["matters"] += rounding_matters(x)
    return {name: count / runs for name, count in counts.items()}


def main() -> None:
    """Print one line for each size and step."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--sizes", type=int, nargs="+", default=[30, 100])
    parser.add_argument("--steps", type=float, nargs="+", default=[0.1, 0.25, 0.5, 1.0])
    options = parser.parse_args()
    print("    n   step   plain   aware  detected  matters   (shares of", options.runs, "runs; level 5 %)")
    for n in options.sizes:
        for step in options.steps:
            r = rejections(n, step, options.runs)
            print(
                f"{n:5d} {step:6.2f} {r['plain']:7.3f} {r['aware']:7.3f} {r['detected']:9.3f} {r['matters']:8.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()

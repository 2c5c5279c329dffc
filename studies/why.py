"""What `--why` names, how often it is wrong, and how well it shares a speedup out: the tables of docs/tables.md.

    python -m studies.why [--draws 400] [--seed 1]

Half of the runs are in a slow state, a tenth slower than the others, whose runs deviate by 2 %. Beside
it are six counts of mixed kinds: normal, log-normal, of few and of rare events, rounded, and a multiple of
another. "named" is the share of draws, in %, in which any count is named though none has to do with time ("in
turn": where the values of time and of all counts follow an autoregression of that coefficient); "found" that in
which a seventh one is named, a normal one shifted by so many of its deviations in the slow state; "blamed" that
in which then any of the six is named. "covered" is the share of pairs of versions whose interval holds the true
share of the speedup that goes with the weights of the states, "off" the mean error of that share; the versions
are slow in 30 and 10 % of runs, and differ by 3.4 % at equal state.
"""

from __future__ import annotations

import argparse
from math import log

import numpy as np
import numpy.typing as npt

from speedproof.data.sample import Sample, Trait
from speedproof.mixture.states import states_of
from speedproof.protocols.why import why
from speedproof.stats.association import associations

FloatArray = npt.NDArray[np.float64]

ALPHA = 0.05
SIZES = (30, 100, 300)


def counts(normal: FloatArray) -> FloatArray:
    """Six counts of mixed kinds, of independent normal values of shape (n, 5)."""
    a, b, c, d, e = normal.T
    few = np.searchsorted([-1.6, -0.8, -0.2, 0.4, 1.0, 1.6], c)
    return np.column_stack((a, np.exp(b), few, d > 1.3, np.round(2.0 * e), 4096.0 * few))


def time_of(slow: npt.NDArray[np.bool_], rng: np.random.Generator) -> FloatArray:
    """The times of runs that are slow or not."""
    return np.where(slow, 1.1, 1.0) * rng.lognormal(0.0, 0.02, slow.size)


def named(time: FloatArray, metrics: FloatArray, seed: int) -> npt.NDArray[np.bool_]:
    """Which of several metrics are said to go with time."""
    found = associations(time, metrics, states=states_of(np.log(time)), seed=seed)
    return np.nan_to_num(found[2], nan=1.0) <= ALPHA


def false_share(n: int, draws: int, rng: np.random.Generator) -> float:
    """The share of draws in which a count is named, in %."""
    wrong = 0
    for draw in range(draws):
        time = time_of(rng.random(n) < 0.5, rng)
        wrong += bool(named(time, counts(rng.normal(size=(n, 5))), draw).any())
    return 100.0 * wrong / draws


def in_turn(n: int, coefficient: float, draws: int, rng: np.random.Generator) -> float:
    """The same of autoregressions, by the whole procedure with its check of the run order."""
    wrong = 0
    for draw in range(draws):
        x = rng.normal(size=(n + 100, 6))
        for k in range(1, len(x)):
            x[k] = coefficient * x[k - 1] + np.sqrt(1.0 - coefficient**2) * x[k]
        x = x[100:]
        explained = Sample(np.exp(0.02 * x[:, 0]), traits=frozenset({Trait.ORDER_KNOWN}))
        others = {str(k): [Sample(column, "")] for k, column in enumerate(counts(x[:, 1:]).T)}
        wrong += bool(why("", "time", [explained], others, alpha=ALPHA, seed=draw).goes_with)
    return 100.0 * wrong / draws


def found(n: int, shift: float, draws: int, rng: np.random.Generator) -> tuple[float, float]:
    """The shares of draws in which the cause is named, and any other one, in %."""
    right = wrong = 0
    for draw in range(draws):
        slow = rng.random(n) < 0.5
        metrics = np.column_stack((shift * slow + rng.normal(size=n), counts(rng.normal(size=(n, 5)))))
        cause, *others = named(time_of(slow, rng), metrics, draw).tolist()
        right += cause
        wrong += any(others)
    return 100.0 * right / draws, 100.0 * wrong / draws


def off(n: int, draws: int, rng: np.random.Generator) -> tuple[float, float]:
    """The mean error of the share, in points, and in how many of the draws one is stated, in %."""
    shares, times = np.array([[0.7, 0.3], [0.9, 0.1]]), np.array([1.0, 2.2])
    total = log(shares[0] @ (1.034 * times) / (shares[1] @ times))
    true = 1.0 - log(1.034) / total
    errors = []
    for draw in range(draws):
        sides, faults = [], []
        for k, name in enumerate("ab"):
            slow = rng.random(n) < shares[k, 1]
            values = times[slow.astype(int)] * (1.034, 1.0)[k] * rng.lognormal(0.0, 0.02, n)
            sides.append(Sample(values, label=name))
            faults.append(Sample(110.0 + 2000.0 * slow + rng.poisson(2.0, n), ""))
        of = why("", "time", sides, {"faults": faults}, seed=draw).metrics[0].share
        if of is not None:
            errors.append(abs(of - true))
    return 100.0 * float(np.mean(errors or [np.nan])), 100.0 * len(errors) / draws


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    head = "| runs | named | in turn .6 | in turn .9 | found 1 sd | blamed | found 2 sd | blamed |"
    print(f"{head}\n|{'---|' * 8}")
    for n in SIZES:
        rng = np.random.default_rng([args.seed, n])
        cells = [false_share(n, args.draws, rng)]
        cells += [in_turn(n, coefficient, args.draws, rng) for coefficient in (0.6, 0.9)]
        cells += [share for shift in (1.0, 2.0) for share in found(n, shift, args.draws, rng)]
        print(f"| {n} |", " | ".join(f"{cell:.1f}" for cell in cells), "|", flush=True)
    print("\n| runs of each | off | stated |\n|---|---|---|")
    for n in SIZES:
        cells = [*off(n, args.draws // 4, np.random.default_rng([args.seed, n, 1]))]
        print(f"| {n} |", " | ".join(f"{cell:.1f}" for cell in cells), "|", flush=True)


if __name__ == "__main__":
    main()

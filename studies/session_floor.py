"""How often two sessions of identical code are told apart, with the noise floor of a store and without.

    python studies/session_floor.py

Each row of the table is 2,000 comparisons of two single sessions of 10 runs whose code is the same. A session
multiplies all its runs by a factor of its own; the store holds some commits that were measured in two sessions
each. Printed are the shares of "faster" and "slower", each stated to be at most 5 %.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from speedproof.stats.session_spread import session_spreads, widened
from speedproof.stats.superiority import typical_ratio

RUNS, WITHIN, ALPHA = 10, 0.01, 0.05
FloatArray = npt.NDArray[np.float64]


def effects(
    rng: np.random.Generator, shape: tuple[int, int, int], spread: FloatArray, shared: float, tails: bool
) -> FloatArray:
    """Session effects of shape (stores, sessions, benchmarks), correlated between benchmarks."""

    def draw(*size: int) -> FloatArray:
        return rng.standard_t(4, size) / math.sqrt(2.0) if tails else rng.standard_normal(size)

    common, own = draw(shape[0], shape[1], 1), draw(*shape)
    return spread[:, None, :] * (math.sqrt(shared) * common + math.sqrt(1.0 - shared) * own)


def shares(
    commits: int,
    benchmarks: int,
    *,
    seed: int,
    between: float = 0.0,
    shared: float = 0.0,
    unequal: float = 0.0,
    tails: bool = False,
) -> tuple[float, float, float, float]:
    """Of false verdicts: faster and slower with the floor, then without it."""
    rng = np.random.default_rng(seed)
    stores = 2000 // min(benchmarks, 5)
    spread = between * np.exp(unequal * rng.standard_normal((stores, benchmarks)))
    factors = effects(rng, (stores, 2 * commits + 2, benchmarks), spread, shared, tails)
    values = np.exp(
        factors[..., None] + WITHIN * rng.standard_normal((*factors.shape, RUNS))
    )  # (stores, sessions, benchmarks, runs)
    medians = np.log(np.median(values, axis=-1))
    ordered = np.sort(np.log(values), axis=-1)
    inside = ((ordered[..., -2] - ordered[..., 1]) / (2 * 1.96)) ** 2  # the 97.9 % interval of a median of 10
    some = slice(0, min(benchmarks, 5))
    x, y = (values[:, -k, some].reshape(-1, RUNS) for k in (1, 2))
    plain = typical_ratio(x, y, ALPHA)
    sessions = np.arange(2 * commits)
    told = np.zeros(4)
    for i in range(stores):
        series = np.tile(np.arange(benchmarks), 2 * commits)
        rows = np.repeat(sessions, benchmarks)
        found, _ = session_spreads(
            series, rows // 2, rows, medians[i, :-2].reshape(-1), inside[i, :-2].reshape(-1)
        )
        for k in range(min(benchmarks, 5)):
            at = i * min(benchmarks, 5) + k
            ratio = math.log(plain.estimate[at])
            ends = ratio - math.log(max(plain.low[at], 1e-300)), math.log(plain.high[at]) - ratio
            sides = [widened(end, ALPHA, (RUNS, RUNS), found[k], (1, 1)) for end in ends]
            faster, slower = plain.pvalue[at] <= ALPHA, plain.pvalue_less[at] <= ALPHA
            told += (
                faster and sides[0].pvalue(ratio) <= ALPHA,
                slower and sides[1].pvalue(-ratio) <= ALPHA,
                faster,
                slower,
            )
    one, two, three, four = (100.0 * told / (stores * min(benchmarks, 5))).tolist()
    return one, two, three, four


def main() -> None:
    """Print the table."""
    print("| commits in two sessions | benchmarks | sessions differ by | faster, slower | without |")
    print("|---|---|---|---|---|")
    for commits in (1, 3, 10):
        for benchmarks in (1, 5, 50):
            for name, kind in KINDS.items():
                one, two, three, four = shares(commits, benchmarks, seed=5, **kind)
                print(
                    f"| {commits} | {benchmarks} | {name} | {one:.1f}, {two:.1f} | {three:.0f}, {four:.0f} |",
                    flush=True,
                )


KINDS: dict[str, dict[str, Any]] = {
    "0.5 %": {"between": 0.005},
    "2 %": {"between": 0.02},
    "2 %, unequal, together": {"between": 0.02, "unequal": 0.7, "shared": 0.8},
    "2 %, t(4)": {"between": 0.02, "tails": True},
}
"""How sessions differ: `unequal` between benchmarks, `shared` by them."""


if __name__ == "__main__":
    main()

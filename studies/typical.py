"""Risk, coverage and power of the typical run's test: the tables of docs/tables.md.

    python -m studies.typical [--pairs 10000] [--seed 1] [--table unlike]

Every number is a percentage of simulated pairs, beside one-sided tests at 5 %.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import cache
from unittest.mock import patch

import numpy as np
import numpy.typing as npt

from speedproof.stats import permutation
from speedproof.stats.permutation import Spread, null_distribution, studentised
from speedproof.stats.ranks import rank_sum
from speedproof.stats.superiority import typical_ratio, typical_ratio_test

FloatArray = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, int]], FloatArray]

ALPHA = 0.05
SIZES = (3, 5, 8, 10, 20, 30, 100)
LEVEL = 100.0  # far from 0, so that a ratio of 1 and a difference of 0 are the same hypothesis


def _wide(rng: np.random.Generator, size: tuple[int, int]) -> FloatArray:
    return rng.normal(0.0, 3.0, size)


def _bimodal(rng: np.random.Generator, size: tuple[int, int]) -> FloatArray:
    return rng.normal(0.0, 0.3, size) + 2.0 * (rng.random(size) < 0.3)


FAMILIES: dict[str, Draw] = {
    "normal": lambda rng, size: rng.normal(0.0, 1.0, size),
    "log-normal": lambda rng, size: rng.lognormal(0.0, 1.0, size),
    "exponential tail": lambda rng, size: rng.exponential(1.0, size),
    "bimodal": _bimodal,
    "rounded": lambda rng, size: np.round(rng.normal(0.0, 1.0, size)),
    "coarse": lambda rng, size: np.round(rng.normal(0.2, 0.4, size)),
}
"""Both sides draw from one of these."""

UNLIKE: dict[str, tuple[Draw, Draw]] = {
    "normal, sd 1 and 3": (FAMILIES["normal"], _wide),
    "normal, sd 3 and 1": (_wide, FAMILIES["normal"]),
    "normal and exponential": (FAMILIES["normal"], FAMILIES["exponential tail"]),
    "exponential and normal": (FAMILIES["exponential tail"], FAMILIES["normal"]),
    "log-normal and normal": (FAMILIES["log-normal"], FAMILIES["normal"]),
    "bimodal and normal": (_bimodal, FAMILIES["normal"]),
    "normal, sd 3, and exponential": (_wide, FAMILIES["exponential tail"]),
    "normal, sd 3, and log-normal": (_wide, FAMILIES["log-normal"]),
    "normal, sd 3, and bimodal": (_wide, _bimodal),
}
"""Distributions of the two sides, shifted so that an X exceeds a Y as often as not."""


LIMITS: dict[str, dict[str, float]] = {
    "nothing": {},
    "the floor": {"_FLOOR": 1e-9},
    "the share of degrees": {"_DEGREES": 1.0},
    "both": {"_FLOOR": 1e-9, "_DEGREES": 1.0},
    "three times": {"_TIMES": 1000},
    "separation below four": {"PROVING": 2},
}
"""What few runs are limited by, and the values of its constants without it."""


def size_of_equals(pairs: int, seed: int, sizes: tuple[tuple[int, int], ...]) -> Iterator[tuple[str, ...]]:
    """A row a family and pair of sizes: how often "faster" is said of equals, also by the rank-sum test."""
    for family, draw in FAMILIES.items():
        for n, m in sizes:
            rng = np.random.default_rng([seed, n, m])
            few = min(pairs, 2000) if family in ("rounded", "coarse") else pairs
            x, y = LEVEL + draw(rng, (few, n)), LEVEL + draw(rng, (few, m))
            ranks = np.mean(rank_sum(x, y).pvalue <= ALPHA)
            yield family, str(n), str(m), _percent(_reject(x, y)), _percent(float(ranks))


def size_of_unlike(pairs: int, seed: int, sizes: tuple[tuple[int, int], ...]) -> Iterator[tuple[str, ...]]:
    """A row for two distributions with typical ratio 1: "faster", "slower", bounds that miss 1, rank-sum test."""
    for name, (of_x, of_y) in UNLIKE.items():
        shift = typical_difference(of_x, of_y, seed)
        for n, m in sizes:
            rng = np.random.default_rng([seed, n, m])
            x, y = LEVEL + of_x(rng, (pairs, n)) - shift, LEVEL + of_y(rng, (pairs, m))
            ranks = rank_sum(x, y)
            either = np.mean(ranks.pvalue <= ALPHA), np.mean(ranks.pvalue_less <= ALPHA)
            shares = _reject(x, y), _reject(y, x), float(max(either))
            yield name, str(n), str(m), *(_percent(share) for share in shares)


def size_of_scattered(pairs: int, seed: int, sizes: tuple[tuple[int, int], ...]) -> Iterator[tuple[str, ...]]:
    """A row a pair of sizes: the worse verdict on runs at 1 or 1.3 beside a narrow side in their gap.

    "Worst" of three places in the gap.
    """
    for n, m in sizes:
        rng = np.random.default_rng([seed, n, m])
        shares = []
        for place in (1.015, 1.15, 1.285):
            x = np.where(rng.random((pairs, n)) < 0.5, 1.0, 1.3) * np.exp(rng.normal(0.0, 0.002, (pairs, n)))
            y = place * np.exp(rng.normal(0.0, 0.002, (pairs, m)))
            shares.append(max(_reject(x, y), _reject(y, x)))
        yield str(n), str(m), _percent(shares[1]), _percent(max(shares))


def power_under_spikes(pairs: int, seed: int, most: int) -> Iterator[tuple[str, ...]]:
    """A row a number of runs: how often 1.10x is found where a fifth of the runs takes half as long again."""
    for n in range(3, most + 1):
        rng = np.random.default_rng([seed, n])
        x, y = (
            np.exp(rng.normal(0.0, 0.03, (pairs, n))) * np.where(rng.random((pairs, n)) < 0.2, 1.5, 1.0)
            for _ in range(2)
        )
        ranks = float(np.mean(rank_sum(1.1 * x, y).pvalue <= ALPHA))
        yield str(n), _percent(_reject(1.1 * x, y)), _percent(ranks)


def joint_risk(pairs: int, seed: int) -> Iterator[tuple[str, ...]]:
    """A row a size of suite: how often Holm's procedure claims something of scattered versions, typical ratio 1.

    Log-normal runs, those of X five times as scattered, then a thousand times; then without the least p-value.
    """
    for n, m, benchmarks in (
        (6, 6, 20),
        (5, 15, 20),
        (4, 30, 10),
        (8, 8, 3),
        (10, 10, 20),
        (12, 12, 100),
        (20, 20, 100),
    ):
        suites = max(1, pairs // benchmarks)
        shares = []
        for unlike in (permutation._UNLIKE, 0.0):
            permutation.least_pvalue.cache_clear()
            with patch.object(permutation, "_UNLIKE", unlike):
                for narrow in (0.01, 0.00005):
                    rng = np.random.default_rng([seed, n, m])
                    x = rng.lognormal(0.0, 0.05, (suites * benchmarks, n))
                    found = typical_ratio_test(x, rng.lognormal(0.0, narrow, (suites * benchmarks, m)), 1.0)
                    least = (
                        np.minimum(found.pvalue, found.pvalue_less).reshape(suites, benchmarks).min(axis=1)
                    )
                    shares.append(np.mean(2 * benchmarks * least <= ALPHA))
        permutation.least_pvalue.cache_clear()
        yield f"{n} + {m}", str(benchmarks), *map(_percent, shares)


def without_limits(pairs: int, seed: int) -> Iterator[tuple[str, ...]]:
    """A row a limit that is left out: the worst errors of unlike and of scattered runs, and power under spikes."""
    for name, constants in LIMITS.items():
        null_distribution.cache_clear()
        with patch.dict(vars(permutation), constants):
            unlike = [
                max(float(share) for row in size_of_unlike(pairs, seed, (sizes,)) for share in row[3:5])
                for sizes in ((3, 10), (4, 30), (4, 100), (5, 100))
            ]
            scattered = [row[2] for row in size_of_scattered(pairs, seed, ((6, 30), (9, 9)))]
            spikes = [row[1] for row in power_under_spikes(pairs, seed, 8)]
            yield name, *map(str, unlike), *scattered, *spikes
    null_distribution.cache_clear()


def coverage(pairs: int, seed: int, sizes: tuple[tuple[int, int], ...]) -> Iterator[tuple[str, ...]]:
    """A row a family and pair of sizes: how often a bound lies beyond a true ratio of 1.3."""
    for family, draw in FAMILIES.items():
        for n, m in sizes:
            rng = np.random.default_rng([seed, n, m])
            few = min(pairs, 2000)
            x, y = 1.3 * (LEVEL + draw(rng, (few, n))), LEVEL + draw(rng, (few, m))
            found = typical_ratio(x, y, ALPHA)
            yield (
                family,
                str(n),
                str(m),
                _percent(float(np.mean(found.low > 1.3 * (1 + 1e-9)))),
                _percent(float(np.mean(found.high < 1.3 * (1 - 1e-9)))),
            )


def power(pairs: int, seed: int, sizes: tuple[tuple[int, int], ...]) -> Iterator[tuple[str, ...]]:
    """A row a family and pair of sizes: how often a shift is found that the rank-sum test finds in about half."""
    for family, draw in FAMILIES.items():
        if family in ("rounded", "coarse"):
            continue
        for n, m in sizes:
            rng = np.random.default_rng([seed, n, m])
            spread = float(np.subtract(*np.quantile(draw(rng, (1, 100_000)), [0.75, 0.25]))) / 1.35
            shift = 1.8 * spread * np.sqrt(1.0 / n + 1.0 / m)
            x, y = LEVEL + shift + draw(rng, (pairs, n)), LEVEL + draw(rng, (pairs, m))
            ranks = float(np.mean(rank_sum(x, y).pvalue <= ALPHA))
            yield family, str(n), str(m), _percent(_reject(x, y)), _percent(ranks)


def tails(draws: int, seed: int, sizes: tuple[tuple[int, int], ...]) -> Iterator[tuple[str, ...]]:
    """A row a pair of sizes: how often random permutations have a p-value up to 5, 1, 0.1 and 0.01 %."""
    for n, m in sizes:
        rng = np.random.default_rng([seed, n, m])
        counts = np.zeros(4)
        for _ in range(max(1, draws // 20_000)):
            labels = rng.permuted(np.tile(np.arange(n + m) < n, (20_000, 1)), axis=1)
            x_upto = np.cumsum(labels, axis=1)
            y_upto = np.arange(1, n + m + 1) - x_upto
            spread = Spread(
                (labels * y_upto).sum(axis=1).astype(np.float64),
                (labels * y_upto**2).sum(axis=1).astype(np.float64),
                (~labels * x_upto**2).sum(axis=1).astype(np.float64),
            )
            null = null_distribution(n, m, True)
            pvalue = null.pvalue(null.score(studentised(spread, n, m)))
            counts += [np.mean(pvalue <= level) for level in (0.05, 0.01, 0.001, 0.0001)]
        yield str(n), str(m), *(f"{100 * v / max(1, draws // 20_000):.3g}" for v in counts)


def _reject(x: FloatArray, y: FloatArray) -> float:
    return float(np.mean(typical_ratio_test(x, y, 1.0).pvalue <= ALPHA))


@cache
def typical_difference(of_x: Draw, of_y: Draw, seed: int) -> float:
    """The median of X - Y."""
    rng = np.random.default_rng(seed)
    return float(np.median(of_x(rng, (1, 4_000_000)) - of_y(rng, (1, 4_000_000))))


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def _table(title: str, head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> None:
    print(f"\n{title}\n\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--table",
        choices=("equal", "unlike", "scattered", "coverage", "power", "spikes", "without", "joint", "tails"),
        help="only this one",
    )
    args = parser.parse_args()
    equal = tuple((n, n) for n in SIZES)
    every = tuple((n, m) for n in SIZES for m in SIZES if n <= m)
    few = tuple((n, m) for n in (3, 4) for m in (5, 10, 100))
    unequal = (*few, (5, 20), (5, 100), (10, 30), (10, 100), (20, 100))
    both = (*equal, *(sizes for n, m in unequal for sizes in ((n, m), (m, n))))
    between = ((6, 6), (7, 7), (9, 9), (4, 20), (20, 4), (4, 30), (30, 4), (9, 30), (30, 9))
    grid = (*(sizes for n, m in every for sizes in {(n, m), (m, n)}), *both, *between)
    tables: dict[str, tuple[str, tuple[str, ...], Callable[[], Iterator[tuple[str, ...]]]]] = {
        "equal": (
            "One distribution: 'faster' in % of pairs",
            ("family", "n", "m", "typical", "rank sum"),
            lambda: size_of_equals(args.pairs, args.seed, every),
        ),
        "unlike": (
            "Unlike distributions, typical ratio 1: % of pairs",
            ("X and Y", "n", "m", "faster", "slower", "rank sum, worse side"),
            lambda: size_of_unlike(args.pairs, args.seed, tuple(dict.fromkeys(grid))),
        ),
        "scattered": (
            "1 or 1.3 beside a narrow side in the gap: the worse verdict, % of pairs",
            ("n", "m", "in the middle", "worst"),
            lambda: size_of_scattered(
                args.pairs,
                args.seed,
                (
                    (2, 20),
                    (3, 3),
                    (3, 20),
                    *((n, m) for n in (4, 5, 6, 7, 8, 9, 10, 12, 20) for m in (n, 30)),
                ),
            ),
        ),
        "coverage": (
            "True ratio 1.3: bounds that miss it, % of pairs",
            ("family", "n", "m", "low", "high"),
            lambda: coverage(args.pairs, args.seed, (*equal[1:], *few)),
        ),
        "power": (
            "A shift: found in % of pairs",
            ("family", "n", "m", "typical", "rank sum"),
            lambda: power(args.pairs, args.seed, both),
        ),
        "spikes": (
            "1.10x under 20 % spikes of 1.5x: found in % of pairs",
            ("runs a side", "typical", "rank sum"),
            lambda: power_under_spikes(args.pairs, args.seed, 10),
        ),
        "without": (
            "Without a limit: % of pairs that err (unlike, then scattered), or find 1.10x under spikes",
            ("without", "3 + 10", "4 + 30", "4 + 100", "5 + 100", "6 + 30", "9 + 9", *map(str, range(3, 9))),
            lambda: without_limits(args.pairs, args.seed),
        ),
        "joint": (
            "Suites of scattered versions: Holm claims something in % of them",
            (
                "runs",
                "benchmarks",
                "5 : 1",
                "1000 : 1",
                "5 : 1, without the least p-value",
                "1000 : 1, without",
            ),
            lambda: joint_risk(20 * args.pairs, args.seed),
        ),
        "tails": (
            "Random permutations with p-values up to 5, 1, 0.1, 0.01 %, in %",
            ("n", "m", "5", "1", "0.1", "0.01"),
            lambda: tails(
                20 * args.pairs,
                args.seed,
                ((7, 20), (9, 30), (11, 11), (15, 15), (20, 20), (20, 100), (30, 30), (100, 100)),
            ),
        ),
    }
    for name, (title, head, rows) in tables.items():
        if args.table in (None, name):
            _table(title, head, rows())


if __name__ == "__main__":
    main()

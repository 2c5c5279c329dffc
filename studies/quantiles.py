"""Risk and power of the ratio of two quantiles: the table of docs/tables.md.

    python -m studies.quantiles [--pairs 4000] [--seed 1]

"false" is the largest share, in %, of pairs with equal quantiles that are said to be faster at a risk of 5 %, over
distributions that both sides share; "unlike" that of log-normal runs with logarithmic deviations .3 and .05, and
the other way round; "gap" that of a reference with a slow mode (1.2x the time) of .99 of the share beyond the
quantile, against a slower candidate that has none, or has 1.01 of it; "ticks" that of values rounded to a
deviation. "found" is the share of log-normal pairs (.3) in which a true 1.2x is proven.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from speedproof.stats.quantile_ratio import Quantiles, least_runs
from speedproof.stats.special import normal_quantile

FloatArray = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, int]], FloatArray]

ALPHA = 0.05
SIZES = ((40, 40), (100, 100), (300, 100), (100, 300), (300, 300), (1000, 1000), (4000, 4000))
SHARES = (0.9, 0.95, 0.99)


def _modes(share: float) -> Draw:
    return lambda rng, size: np.where(rng.random(size) < share, 1.0, 1.5) * rng.normal(1.0, 0.02, size)


ALIKE: dict[str, Draw] = {
    "normal": lambda rng, size: rng.normal(10.0, 1.0, size),
    "log-normal": lambda rng, size: rng.lognormal(0.0, 0.3, size),
    "exponential tail": lambda rng, size: 1.0 + rng.exponential(1.0, size),
    "t(3)": lambda rng, size: np.exp(0.1 * rng.standard_t(3, size)),
    "a slow mode of 10 %": _modes(0.9),
    "a slow mode of 12 %": _modes(0.88),
}


def gaps(n: int, m: int, q: float, pairs: int, rng: np.random.Generator) -> Iterator[float]:
    """References just without a slow mode at the quantile; candidates without any, and just with one there."""
    beyond = 1.0 - q
    for of_y, unit in ((0.0, 10.02), (1.01 * beyond, 8.4)):
        x, y = (
            np.where(rng.random((pairs, k)) < share, 1.2 * level, level)
            * (1.0 - 1e-3 * rng.random((pairs, k)))
            for k, share, level in ((n, 0.99 * beyond, 10.0), (m, of_y, unit))
        )
        yield proven(x, y, q)


def ticks(rng: np.random.Generator, size: tuple[int, int]) -> FloatArray:
    """Values on a clock as coarse as they vary."""
    return np.maximum(1.0, np.round(rng.normal(10.0, 1.0, size)))


def proven(x: FloatArray, y: FloatArray, q: float) -> float:
    """The share of pairs in which the quantile of x is proven to be larger, in %."""
    return 100.0 * float(np.mean(Quantiles.of(x, y, q).bounds(ALPHA).low > 1.0))


def row(n: int, m: int, q: float, pairs: int, rng: np.random.Generator) -> tuple[float, ...]:
    """False, unlike, gap, ticks, found."""

    def drawn(of: Draw, other: Draw | None = None) -> float:
        return proven(of(rng, (pairs, n)), (other or of)(rng, (pairs, m)), q)

    def level(deviation: float) -> Draw:
        unit = np.exp(deviation * normal_quantile(q))
        return lambda rng, size: rng.lognormal(0.0, deviation, size) / unit

    wide, narrow, quick = level(0.3), level(0.05), level(0.3)
    return (
        max(drawn(of) for of in ALIKE.values()),
        max(drawn(wide, narrow), drawn(narrow, wide)),
        max(gaps(n, m, q, pairs, rng)),
        drawn(ticks),
        drawn(lambda rng, size: 1.2 * wide(rng, size), quick),
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    print("| runs | quantile | false | unlike | gap | ticks | found |\n|---|---|---|---|---|---|---|")
    for n, m in SIZES:
        for q in SHARES:
            if min(n, m) >= least_runs(q, ALPHA):
                rng = np.random.default_rng([args.seed, n, m, round(1000 * q)])
                shares = row(n, m, q, min(args.pairs, 4_000_000 // max(n, m)), rng)
                print(
                    f"| {n} + {m} | P{100 * q:g} |", " | ".join(f"{s:.1f}" for s in shares), "|", flush=True
                )


if __name__ == "__main__":
    main()

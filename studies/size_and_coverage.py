"""Size of the tests and coverage of the certified bounds, by seeded simulation.

``python studies/size_and_coverage.py [repetitions]`` writes a Markdown table. For every shape of distribution
and every size, pairs of samples are drawn under a hypothesis that holds: X and Y alike (size of the tests),
X distributed as 1.2 times Y (coverage of the ratios of means and of medians), and X shifted with three times
the spread (coverage of P[X > Y]). A column holds the share of false rejections, or of lower bounds above the
truth; both should be about alpha = 0.05 at most. A share is marked ``!`` when, were the true risk 0.05, so
many errors or more would happen with probability below 1e-4.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from speedproof.stats.bounds import probability_greater, ratio_of_means, ratio_of_medians
from speedproof.stats.hypotests import rank_sum, student, variance_ratio, welch

FloatArray = npt.NDArray[np.float64]
ALPHA = 0.05
FACTOR = 1.2
SIZES = (10, 31, 100)


def _normal(rng: np.random.Generator, shape: tuple[int, int]) -> FloatArray:
    return rng.normal(10.0, 1.0, shape)


def _lognormal(rng: np.random.Generator, shape: tuple[int, int]) -> FloatArray:
    return rng.lognormal(0.0, 0.5, shape)


def _bimodal(rng: np.random.Generator, shape: tuple[int, int]) -> FloatArray:
    return rng.normal(10.0, 0.3, shape) + 2.0 * (rng.random(shape) < 0.3)


SHAPES: dict[str, Callable[[np.random.Generator, tuple[int, int]], FloatArray]] = {
    "normal": _normal,
    "log-normal": _lognormal,
    "bimodal": _bimodal,
}


@dataclass(frozen=True, slots=True)
class Share:
    """Errors out of trials, of one procedure under one distribution and size."""

    shape: str
    size: int
    procedure: str
    errors: int
    trials: int

    @property
    def excessive(self) -> bool:
        """Whether a binomial variable of risk ALPHA is this large with probability below 1e-4."""
        return _binomial_tail(self.errors, self.trials, ALPHA) < 1e-4


def _binomial_tail(least: int, trials: int, p: float) -> float:
    """Probability of `least` successes or more."""
    logs = [
        math.lgamma(trials + 1) - math.lgamma(k + 1) - math.lgamma(trials - k + 1)
        + k * math.log(p) + (trials - k) * math.log1p(-p)
        for k in range(least, trials + 1)
    ]  # fmt: skip
    return math.fsum(math.exp(v) for v in logs)


def _superiority(shape: str) -> float:
    """P[X > Y] for the pair of unequal spread, from quantile midpoints of one large seeded draw."""
    rng = np.random.default_rng(99)
    x, y = _unequal(rng, shape, 1_000_000, 1)
    below = np.searchsorted(np.sort(y[:, 0]), x[:, 0])
    return float(below.mean() / y.size)


def _unequal(rng: np.random.Generator, shape: str, rows: int, size: int) -> tuple[FloatArray, FloatArray]:
    y = SHAPES[shape](rng, (rows, size))
    x = SHAPES[shape](rng, (rows, size))
    centre = {"normal": 10.0, "log-normal": 1.0, "bimodal": 10.6}[shape]
    return centre + 3.0 * (x - centre) + 1.0, y


def simulate(repetitions: int, seed: int = 1) -> Iterator[Share]:
    """Yield the shares of error of every procedure under every shape and size."""
    seeds = iter(np.random.SeedSequence(seed).spawn(len(SHAPES) * len(SIZES)))
    for shape, draw in SHAPES.items():
        superiority = _superiority(shape)
        for size in SIZES:
            rng = np.random.default_rng(next(seeds))
            x, y = draw(rng, (repetitions, size)), draw(rng, (repetitions, size))
            slow = FACTOR * x
            equal = variance_ratio(slow, y).pvalue > ALPHA
            wide, narrow = _unequal(rng, shape, repetitions, size)
            errors = {
                "Student": student(x, y).pvalue <= ALPHA,
                "Welch": welch(x, y).pvalue <= ALPHA,
                "rank-sum": rank_sum(x, y).pvalue <= ALPHA,
                "ratio of means, F chooses": ratio_of_means(slow, y, ALPHA, equal).low > FACTOR,
                "ratio of means, Welch": ratio_of_means(slow, y, ALPHA, False).low > FACTOR,
                "ratio of medians": ratio_of_medians(slow, y, ALPHA).low > FACTOR,
                "P[X > Y]": probability_greater(wide, narrow, ALPHA).low > superiority,
            }
            for procedure, wrong in errors.items():
                yield Share(shape, size, procedure, int(np.count_nonzero(wrong)), repetitions)


def table(shares: list[Share]) -> str:
    """Markdown: one row a distribution and size, one column a procedure."""
    procedures = list(dict.fromkeys(share.procedure for share in shares))
    lines = [
        "| distribution | n = m | " + " | ".join(procedures) + " |",
        "|---|---:|" + "---:|" * len(procedures),
    ]
    for shape, size in dict.fromkeys((share.shape, share.size) for share in shares):
        row = {s.procedure: s for s in shares if (s.shape, s.size) == (shape, size)}
        cells = [f"{row[p].errors / row[p].trials:.4f}{'!' if row[p].excessive else ''}" for p in procedures]
        lines.append(f"| {shape} | {size} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Print the table."""
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    print(f"Share of errors at alpha = {ALPHA}, {repetitions} repetitions a cell:\n")
    print(table(list(simulate(repetitions))))


if __name__ == "__main__":
    main()

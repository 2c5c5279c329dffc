"""Time of both protocols with their bounds on many pairs, against a loop over scipy.stats.

Run it with the development environment: ``python benchmarks/protocols.py [pairs]``. It prints the time a pair
of the protocols as they are run (all tests of figures 1 and 2, the decisions in both directions, the bounds of
the mean by the test that each pair's decision names and of the median) in one thread, that of a Python loop
over the five tests of SciPy on a part of the same pairs, and their ratio in this run.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy import stats

from speedproof.protocols.mean import decide_mean, mean_tests
from speedproof.protocols.median import decide_median, median_tests
from speedproof.stats.ratio import ratio_of_means
from speedproof.stats.ratio_medians import ratio_of_medians

FloatArray = npt.NDArray[np.float64]
RUNS = 31
CHUNK = 2000  # pairs whose samples stay in the cache
ALPHA = 0.05


def mean_protocol(x: FloatArray, y: FloatArray) -> None:
    """Figure 1 and its bounds."""
    decision = decide_mean(mean_tests(x, y), ALPHA)
    ratio_of_means(x, y, ALPHA, decision.holds[-1])


def median_protocol(x: FloatArray, y: FloatArray) -> None:
    """Figure 2 and its bounds."""
    tests = median_tests(x, y)
    decide_median(tests, ALPHA)
    ratio_of_medians(x, y, ALPHA, at_one=tests.ranks)


STEPS: dict[str, Callable[[FloatArray, FloatArray], object]] = {
    "mean protocol": mean_protocol,
    "median protocol": median_protocol,
}


def scipy_loop(x: FloatArray, y: FloatArray) -> None:
    """The five tests of SciPy, pair by pair."""
    for a, b in zip(x, y, strict=True):
        stats.shapiro(a)
        stats.shapiro(b)
        f = a.var(ddof=1) / b.var(ddof=1)
        2 * min(stats.f.cdf(f, a.size - 1, b.size - 1), stats.f.sf(f, a.size - 1, b.size - 1))
        stats.ttest_ind(a, b, equal_var=False, alternative="greater")
        stats.ks_2samp(a - np.median(a), b - np.median(b))
        stats.mannwhitneyu(a, b, alternative="greater")


def measure(pairs: int, repeats: int = 3) -> tuple[dict[str, float], float]:
    """Seconds a pair of each step, and of the loop; the least of `repeats` rounds."""
    rng = np.random.default_rng(20)
    x = rng.lognormal(0.05, 0.05, (pairs, RUNS))
    y = rng.lognormal(0.0, 0.06, (pairs, RUNS))
    ours = dict.fromkeys(STEPS, np.inf)
    loop = np.inf
    few = min(pairs, 200)
    for _ in range(repeats):
        for name, step in STEPS.items():
            start = time.perf_counter()
            for at in range(0, pairs, CHUNK):
                step(x[at : at + CHUNK], y[at : at + CHUNK])
            ours[name] = min(ours[name], (time.perf_counter() - start) / pairs)
        start = time.perf_counter()
        scipy_loop(x[:few], y[:few])
        loop = min(loop, (time.perf_counter() - start) / few)
    return ours, loop


def main() -> None:
    """Print the table and the ratio."""
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    ours, loop = measure(pairs)
    for name in STEPS:
        print(f"{name:24} {ours[name] * 1e6:9.2f} µs a pair")
    total = sum(ours[name] for name in STEPS)
    print(f"{'both protocols':24} {total * 1e6:9.2f} µs a pair, {pairs} pairs of {RUNS} + {RUNS} runs")
    print(f"{'loop over scipy.stats':24} {loop * 1e6:9.2f} µs a pair")
    print(f"{'ratio':24} {loop / total:9.1f}")


if __name__ == "__main__":
    main()

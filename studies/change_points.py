"""False alarms and power of change points, beside Apache Otava, asv and Mozilla's rule, on 100 commits.

``python studies/change_points.py [--runs 400]`` prints the table of docs/tables.md. The code of Otava and asv is
used where they are installed; Mozilla's rule (weighted windows of 12 on
each side, |t| > 7) is restated from its documentation.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

import numpy as np

from speedproof.arrays import FloatArray
from speedproof.stats.change_points import change_pvalues, find_changes

N = 100
NOISE = 0.01
Detector = Callable[[FloatArray], bool]


def autoregressive(rng: np.random.Generator, shape: tuple[int, int], rho: float) -> FloatArray:
    """Stationary normal noise of deviation 1."""
    x = rng.standard_normal(shape)
    x[:, 1:] *= np.sqrt(1 - rho**2)
    for t in range(1, shape[1] if rho else 0):
        x[:, t] += rho * x[:, t - 1]
    return x


def noises(rng: np.random.Generator, runs: int) -> dict[str, FloatArray]:
    """Series of N commits about the level 1 with 1 % noise, of several kinds."""
    shape = (runs, N)
    normal = rng.standard_normal(shape)
    lognormal = (np.exp(rng.standard_normal(shape)) - np.exp(0.5)) / np.sqrt((math.e - 1) * math.e)
    bimodal = (rng.random(shape) < 0.3) * 2.1 - 0.63 + 0.2 * rng.standard_normal(shape)
    outliers = normal + (rng.random(shape) < 0.05) * rng.exponential(10.0, shape)
    return {
        "normal": 1 + NOISE * normal,
        "log-normal": 1 + NOISE * lognormal,
        "bimodal": 1 + NOISE * bimodal,
        "rounded": np.round(1 + NOISE * normal, 2),
        "outliers": 1 + NOISE * outliers,
        "AR .3": 1 + NOISE * autoregressive(rng, shape, 0.3),
        "AR .6": 1 + NOISE * autoregressive(rng, shape, 0.6),
    }


STEPS = {"1 % in the middle": (50, 0.01), "2 % at commit 90": (90, 0.02), "2 % at commit 95": (95, 0.02)}


def ours(series: FloatArray) -> FloatArray:
    """Whether a series shows a change at 5 %."""
    return np.asarray(change_pvalues(series) <= 0.05, dtype=np.float64)


def each(detect: Detector) -> Callable[[FloatArray], FloatArray]:
    """A detector of single series over many."""
    return lambda series: np.array([detect(row) for row in series], dtype=np.float64)


def mozilla(x: FloatArray, window: int = 12, limit: float = 7.0) -> bool:
    """Weighted t statistic of the 12 values before and after each place, nearer ones counting more."""
    weights = np.arange(window, 0, -1) / window
    for k in range(window, x.size - window + 1):
        after, before = x[k : k + window], x[k - window : k][::-1]
        means = [(weights * v).sum() / weights.sum() for v in (before, after)]
        variances = [
            (weights * (v - m) ** 2).sum() / weights.sum()
            for v, m in zip((before, after), means, strict=True)
        ]
        if abs(means[1] - means[0]) / np.sqrt(sum(variances) / window) > limit:
            return True
    return False


def detectors() -> dict[str, Callable[[FloatArray], FloatArray]]:
    """Every detector that can be had here."""
    found: dict[str, Callable[[FloatArray], FloatArray]] = {"speedproof": ours, "Mozilla": each(mozilla)}
    try:
        from otava.analysis import compute_change_points  # type: ignore[import-not-found]
    except ImportError:
        pass
    else:
        for limit in (0.001, 0.01):
            found[f"Otava p={limit:g}"] = each(
                lambda row, limit=limit: bool(compute_change_points(row.tolist(), max_pvalue=limit)[0])  # type: ignore[misc]
            )
    try:
        from asv.step_detect import detect_steps  # type: ignore[import-not-found]
    except ImportError:
        pass
    else:
        found["asv"] = each(lambda row: len(detect_steps(row.tolist())) > 1)
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=400)
    runs = parser.parse_args().runs
    kinds = noises(np.random.default_rng(20), runs)
    tools = detectors()
    print(f"share of {runs} series with a change, in %\n{'':32}" + "".join(f"{name:>14}" for name in tools))
    for kind, series in kinds.items():
        rows = {f"{kind}, no change": series}
        for step, (place, size) in STEPS.items():
            rows[f"{kind}, {step}"] = series + size * (np.arange(N) >= place)
        for name, data in rows.items():
            print(
                f"{name:32}" + "".join(f"{100 * tool(data).mean():14.1f}" for tool in tools.values()),
                flush=True,
            )
    counts = [len(find_changes(row, 0.05)) for row in kinds["normal"]]
    print("changes found in a series without any:", np.bincount(counts).tolist())


if __name__ == "__main__":
    main()

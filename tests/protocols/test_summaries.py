"""Summaries of samples of any size in fractions."""

from __future__ import annotations

import math
import statistics
from fractions import Fraction

import numpy as np
import pytest

from speedproof.data.sample import Sample
from speedproof.protocols.summaries import summarise, summarise_all


def by_fractions(values: list[float]) -> tuple[float, ...]:
    """Mean, median, minimum, maximum, deviation and median absolute deviation, of fractions."""
    exact = [Fraction(v) for v in values]
    mean, middle = sum(exact) / len(exact), statistics.median(exact)
    unit = max(map(abs, exact)) or Fraction(1)
    squares = sum(((v - mean) / unit) ** 2 for v in exact)
    deviation = math.sqrt(squares / (len(exact) - 1)) * float(unit) if len(exact) > 1 else math.nan
    away = statistics.median(abs(v - middle) for v in exact)
    return float(mean), float(middle), min(values), max(values), deviation, float(away)


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_summaries_of_values_of_any_size(n: int) -> None:
    """Beside each other: zeros, values of every size, and those far smaller than the largest of their sample."""
    rng = np.random.default_rng(n)
    sizes = (5e-324, 1e-300, 1e-200, 1e-60, 0.3, 1.0, 7.0, 1e60, 1e200, 1e306)
    rows = [(size * rng.integers(1, 9, n)).tolist() for size in sizes]
    rows += [[0.0] * n, (-1e250 * rng.random(n)).tolist(), [1.5e-323] * (n - 1) + [8.0]]
    samples = [Sample(np.array(row), "B", label=str(i)) for i, row in enumerate(rows)]
    for row, sample, found in zip(rows, samples, summarise_all(samples, samples), strict=True):
        numbers = (found.mean, found.median, found.minimum, found.maximum, found.deviation, found.mad)
        assert numbers == pytest.approx(by_fractions(row), rel=1e-12, abs=0.0, nan_ok=True)
        assert (found.label, found.n, found.observations, found.unit) == (sample.label, n, n, "B")
        assert repr(found) == repr(summarise(sample))
    assert summarise_all([], []) == []

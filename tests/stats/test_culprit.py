"""The posterior of one step, against a written-out sum over every hypothesis."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from speedproof.stats.culprit import step_probabilities


def brute_force(pairs: list[tuple[int, int]], differences: list[float], positions: list[int]) -> list[float]:
    """Every place, size and noise on its own, with SciPy's density."""
    whole = np.median(
        [d for p, d in zip(pairs, differences, strict=True) if p == (positions[0], positions[-1])]
    )
    kinds = {p: np.median([d for q, d in zip(pairs, differences, strict=True) if q == p]) for p in pairs}
    scatter = 1.4826 * np.median([abs(d - kinds[p]) for p, d in zip(pairs, differences, strict=True)])
    sizes, noises = whole * np.linspace(0.1, 1.3, 16), scatter * 2.0 ** np.linspace(-2.0, 2.0, 11)

    def likelihood(inside: list[bool], size: float, noise: float) -> float:
        centred = np.array(differences) - size * np.array(inside)
        return float(np.prod(stats.t.pdf(centred, 2.5, scale=noise)))

    span = positions[-1] - positions[0]
    masses = [
        0.5 * (after - before) / span
        * np.mean([
            likelihood([a < after <= b for a, b in pairs], size, noise)
            for size, noise in itertools.product(sizes, noises)
        ])
        for before, after in itertools.pairwise(positions)
    ]  # fmt: skip
    masses.append(0.5 * np.mean([likelihood([False] * len(pairs), 0.0, noise) for noise in noises]))
    return [float(m / sum(masses)) for m in masses]


@pytest.mark.parametrize("positions", [[0, 1, 2, 3, 4, 5, 6], [0, 2, 3, 6]])
def test_against_a_written_out_sum(positions: list[int]) -> None:
    """Also where commits between cannot be looked at."""
    pairs = [(0, 6)] * 4 + [(0, 3), (3, 6), (2, 6), (0, 2), (0, 3)]
    differences = [0.02, 0.031, 0.018, 0.012, 0.004, 0.022, 0.018, -0.009, 0.001]
    before, after = np.array(pairs).T
    found = step_probabilities(before, after, np.array(differences), np.array(positions))
    assert found == pytest.approx(brute_force(pairs, differences, positions), rel=1e-9)


def test_equal_readings_do_not_divide_by_zero() -> None:
    """A coarse clock gives no scatter at all."""
    before, after = np.zeros(6, dtype=int), np.full(6, 4)
    found = step_probabilities(before, after, np.zeros(6), np.arange(5))
    assert found.sum() == pytest.approx(1.0)
    assert found[:4] == pytest.approx(found[0])

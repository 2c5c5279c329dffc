"""The posterior of one step or two, against a written-out sum over every hypothesis."""

import itertools
from statistics import mean

import numpy as np
import pytest
from scipy import stats

from speedproof.stats.culprit import step_posterior


def brute_force(
    pairs: list[tuple[int, int]], differences: list[float], positions: list[int]
) -> tuple[list[float], float, float]:
    """Every place, size and noise on its own, with SciPy's density; steps that no pair tells apart are one."""
    both, ends = list(zip(pairs, differences, strict=True)), (positions[0], positions[-1])
    whole = np.median([d for p, d in both if p == ends])
    kinds = {p: np.median([d for q, d in both if q == p]) for p in pairs}
    away = [(p, abs(d - kinds[p])) for p, d in both]
    scatter = 1.4826 * max(np.median([a for _, a in away]), np.median([a for p, a in away if p == ends]))
    noises = max(scatter, 1e-3 * abs(whole), 1e-12) * 2.0 ** np.linspace(-2.0, 2.0, 11)
    steps = list(itertools.pairwise(positions))
    share = {step: (step[1] - step[0]) / (ends[1] - ends[0]) for step in steps}
    enclosing = {step: tuple(a < step[1] <= b for a, b in pairs) for step in steps}
    groups = [list(group) for _, group in itertools.groupby(steps, key=lambda step: enclosing[step])]

    def likelihood(sizes: dict[tuple[int, int], float]) -> float:
        """Averaged over noises."""
        means = [sum(size for step, size in sizes.items() if a < step[1] <= b) for a, b in pairs]
        centred = np.subtract(differences, means)[:, None]
        return float(np.mean(np.prod(stats.t.pdf(centred, 2.5, scale=noises), axis=0)))

    none = 0.5 * likelihood({})
    first = {
        step: 0.5 * 0.95 * share[step] * mean(likelihood({step: whole * k / 10}) for k in range(5, 14))
        for step in steps
    }
    single = sum(first.values())
    sizes = [(i, j) for i in range(3, 11) for j in range(3, 11) if 8 <= i + j <= 13]
    for one, two in itertools.combinations(steps, 2):
        if enclosing[one] != enclosing[two]:
            likely = mean(likelihood({one: whole * i / 10, two: whole * j / 10}) for i, j in sizes)
            first[one] += 0.5 * 0.05 * 2 * share[one] * share[two] * likely
    # A group of steps that nothing tells apart shares its mass.
    for members in groups:
        mass = sum(first[step] for step in members)
        for step in members:
            first[step] = mass * share[step] / sum(share[m] for m in members)
    some = sum(first.values())
    return [first[step] / (some + none) for step in steps], none / (some + none), 1 - single / some


def same(pairs: list[tuple[int, int]], differences: list[float], positions: list[int]) -> None:
    before, after = np.array(pairs).T
    found = step_posterior(before, after, np.array(differences), np.array(positions))
    first, none, second = brute_force(pairs, differences, positions)
    assert found[0].tolist() == pytest.approx(first, rel=1e-7, abs=1e-250)
    assert found[1] == pytest.approx(none, rel=1e-7, abs=1e-250)
    assert found[2] == pytest.approx(second, rel=1e-7, abs=1e-12)


@pytest.mark.parametrize("positions", [[0, 1, 2, 3, 4, 5, 6], [0, 2, 3, 6]])
def test_posterior_is_the_sum_over_positions(positions: list[int]) -> None:
    """Also where commits between cannot be looked at, and where two steps are likely."""
    pairs = [(0, 6)] * 4 + [(0, 3), (3, 6), (2, 6), (0, 2), (0, 3), (2, 3)]
    same(pairs, [0.02, 0.031, 0.018, 0.012, 0.004, 0.022, 0.018, -0.009, 0.001, 0.015], positions)
    same(pairs, [0.02, 0.021, 0.018, 0.022, 0.011, 0.012, 0.009, -0.003, 0.012, 0.013], positions)


@pytest.mark.parametrize("scattered", [0, 3])
def test_the_noise_is_the_larger_median(scattered: int) -> None:
    """Of what all pairs scatter by, and of what those of both ends do: with an outlier that draws a mean."""
    wide, narrow = [-0.03, 0.0, 0.004, 0.007, 0.3], [0.0199, 0.02, 0.02005, 0.02012, 0.021]
    parts = narrow + wide + wide if scattered else wide + narrow + narrow
    same([(0, 6)] * 5 + [(0, 3)] * 5 + [(3, 6)] * 5, parts, [0, 2, 3, 6])


def test_equal_readings_do_not_divide_by_zero() -> None:
    """A coarse clock gives no scatter at all."""
    before, after = np.zeros(6, dtype=int), np.full(6, 4)
    found = step_posterior(before, after, np.zeros(6), np.arange(5))
    assert found[0].sum() + found[1] == pytest.approx(1.0)
    assert found[0] == pytest.approx(found[0][0])

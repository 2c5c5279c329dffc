"""Intervals of I3 against Brunner and Munzel's, against quadrature, and by their coverage."""

import numpy as np
import pytest
from scipy import stats

from speedproof.errors import UsageError
from speedproof.mixture.fitting import fit
from speedproof.mixture.goodness import refitted
from speedproof.mixture.metrics import (
    least_of_mixtures,
    least_of_points,
    least_of_samples,
    mixture_intervals,
    mixture_probability_below,
    points_of_weight,
    sample_intervals,
)
from speedproof.mixture.model import MixtureModel
from speedproof.stats.superiority import probability_greater

FAST = MixtureModel([0.8, 0.2], [10.0, 20.0], [1.0, 1.0])
STEADY = MixtureModel([1.0], [11.0], [0.5])


def coverage_is_at_least(share: float, held: int, runs: int) -> bool:
    return float(stats.binomtest(held, runs, share, alternative="less").pvalue) > 1e-3


def test_two_samples_without_ties_are_the_test_of_a_pair() -> None:
    """For two versions the interval has the bounds of the single-run test, each at half the risk."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        x, y = rng.normal(0, 1, rng.integers(3, 40)), rng.normal(0.5, 2, rng.integers(3, 40))
        found = sample_intervals([x, y], alpha=0.1)[0]
        pair = probability_greater(y, x, 0.05)
        assert (found.value, found.low, found.high) == pytest.approx(
            (float(pair.estimate), float(pair.low), float(pair.high)), rel=1e-9
        )


def test_variance_against_resampling() -> None:
    """The half width on the scale of log odds is that of a bootstrap of all samples, within a tenth."""
    rng = np.random.default_rng(3)
    samples = [rng.normal(m, 1.0, 200) for m in (0.0, 0.2, 0.3)]
    draws = np.array([least_of_samples([rng.choice(s, s.size) for s in samples])[0] for _ in range(2000)])
    for j, e in enumerate(sample_intervals(samples)):
        half = (np.log(e.high / (1 - e.high)) - np.log(e.low / (1 - e.low))) / 2
        assert half == pytest.approx(1.96 * np.log(draws[:, j] / (1 - draws[:, j])).std(), rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(40, 40), (12, 30), (20, 20, 20)])
def test_sample_intervals_cover_the_truth(sizes: tuple[int, ...]) -> None:
    """At 90 % the share of intervals that hold I3 passes a binomial test against 88 %."""
    models = [FAST, STEADY, STEADY][: len(sizes)]
    truth = least_of_mixtures(models)[0]
    held = np.zeros(len(sizes), dtype=int)
    runs = 1000
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        found = sample_intervals([m.rvs(n, rng) for m, n in zip(models, sizes, strict=True)], alpha=0.1)
        held += [e.low <= t <= e.high for e, t in zip(found, truth, strict=True)]
    assert all(coverage_is_at_least(0.88, h, runs) for h in held.tolist())


@pytest.mark.slow
def test_mixture_intervals_cover_the_truth() -> None:
    truth = mixture_probability_below(FAST, STEADY)
    runs, held = 60, 0
    for seed in range(runs):
        fits = [fit(FAST.rvs(40, 2 * seed)), fit(STEADY.rvs(40, 2 * seed + 1))]
        e = mixture_intervals(fits, [0.5, 0.5], resamples=99, seed=seed, alpha=0.1)[0]
        held += e.low <= truth <= e.high
    assert coverage_is_at_least(0.85, held, runs)


@pytest.mark.parametrize("count", [64, 1024])
def test_points_against_quadrature(count: int) -> None:
    """Points of equal weight give I3 to half a point's weight per version."""
    rng = np.random.default_rng(4)
    samples = [np.sort(rng.normal(m, s, (5, 30)), axis=1) for m, s in ((0, 1), (0.3, 0.2), (0.5, 2))]
    models = [refitted(s, 5) for s in samples]
    found = least_of_points(np.stack([points_of_weight(*m, count) for m in models], axis=1))
    for row in range(5):
        exact = least_of_mixtures([MixtureModel(*(a[row][m[0][row] > 0] for a in m)) for m in models])
        np.testing.assert_allclose(found[row], exact[0], atol=1.5 / count)


def test_seed_and_threads_and_a_risk_out_of_range() -> None:
    fits = [fit(STEADY.rvs(30, 1)), fit(FAST.rvs(30, 2))]
    one, two = (mixture_intervals(fits, [0.3, 0.7], resamples=30, seed=4, jobs=jobs) for jobs in (1, 2))
    assert (one, [(e.value, e.confidence) for e in one]) == (two, [(0.3, 0.95), (0.7, 0.95)])
    assert all(e.low <= e.value <= e.high for e in one)
    assert one != mixture_intervals(fits, [0.3, 0.7], resamples=30, seed=5)
    with pytest.raises(UsageError, match="not at 95"):
        sample_intervals([[1.0, 2.0], [2.0]], alpha=95.0)


def test_separated_samples_are_no_certainty() -> None:
    """Two runs that both win bound the chance by 0.025 ** (1/2), the binomial bound for two wins of two."""
    samples = [np.array([1.0, 1.1, 1.05]), np.array([0.8, 0.9])]
    slow, fast = sample_intervals(samples)
    assert (fast.value, fast.high, fast.confidence) == (1.0, 1.0, 0.95)
    assert fast.low == pytest.approx(0.025**0.5)
    assert slow.high == pytest.approx(1 - 0.025**0.5)
    assert mixture_intervals([fit(s) for s in samples], [0.0, 1.0], resamples=20)[1].low <= 0.025**0.5

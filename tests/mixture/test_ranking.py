"""Intervals that cover, and advice that says what the numbers say."""

from collections.abc import Sequence

import numpy as np
import pytest
from scipy import stats

from speedproof.errors import UsageError
from speedproof.mixture.fit import fit
from speedproof.mixture.metrics import mixture_probability_below, probability_below
from speedproof.mixture.model import MixtureModel
from speedproof.mixture.ranking import advise, mixture_intervals, rank, sample_intervals

FAST = MixtureModel([0.8, 0.2], [10.0, 20.0], [1.0, 1.0])
STEADY = MixtureModel([1.0], [11.0], [0.5])


def test_both_intervals_cover_the_truth() -> None:
    """At 90 % the share of intervals that hold P[X < Y] passes a binomial test against 85 %."""
    truth = mixture_probability_below(FAST, STEADY)
    held = np.zeros(2, dtype=int)
    runs = 60
    for seed in range(runs):
        x, y = FAST.rvs(40, 2 * seed), STEADY.rvs(40, 2 * seed + 1)
        (a,) = sample_intervals(
            lambda s: probability_below(*s), [x, y], resamples=99, seed=seed, confidence=0.9
        )
        (b,) = mixture_intervals(
            lambda m: mixture_probability_below(*m), [fit(x), fit(y)], resamples=99, seed=seed, confidence=0.9
        )
        held += [a.low <= truth <= a.high, b.low <= truth <= b.high]
    for count in held.tolist():
        assert stats.binomtest(count, runs, 0.85, alternative="less").pvalue > 1e-3


def test_ranking_orders_by_the_single_run() -> None:
    samples = [STEADY.rvs(80, 1), FAST.rvs(80, 2)]
    ranking = rank(["steady", "fast"], samples, [fit(s) for s in samples], resamples=50, seed=3)
    first, second = ranking.versions
    assert (first.version, second.version) == ("fast", "steady")
    assert (first.modes, second.modes) == (2, 1)
    assert first.least.value == pytest.approx(probability_below(samples[1], samples[0]))
    assert first.least.low <= first.least.value <= first.least.high
    assert ranking.error < 1e-9
    advice = advise(ranking)
    assert (advice.often_by_mean, advice.often_by_median, advice.rarely) == ("steady", "fast", "fast")
    assert "Run rarely: fast" in advice.text


def test_the_largest_wins_when_higher_is_better() -> None:
    """Rates rank as the negated values would."""
    samples = [STEADY.rvs(50, 1), FAST.rvs(50, 2)]
    fits = [fit(s) for s in samples]
    rates = rank(["a", "b"], samples, fits, higher_is_better=True, resamples=20)
    times = rank(["a", "b"], [-s for s in samples], [fit(-s) for s in samples], resamples=20)
    assert [v.version for v in rates.versions] == [v.version for v in times.versions]
    for r, t in zip(rates.versions, times.versions, strict=True):
        assert r.least == t.least
        assert r.mixture_least.value == pytest.approx(t.mixture_least.value, abs=1e-6)
    assert advise(rates).often_by_mean == ("a" if samples[0].mean() > samples[1].mean() else "b")


def test_one_clear_winner_is_said_once() -> None:
    samples = [np.arange(10.0), np.arange(20.0, 30.0)]
    text = advise(rank(["a", "b"], samples, [fit(s) for s in samples], resamples=20)).text
    assert text == (
        "Run a: it has the best mean and the best median, and a single run of it beats one run of b with "
        "probability 100 %."
    )


def test_ties_are_told() -> None:
    samples = [[1.0, 2.0, 2.0], [2.0, 2.0, 3.0]]
    first = rank(["a", "b"], samples, [fit(s) for s in samples], resamples=20).versions[0]
    assert first.ties == pytest.approx(4 / 9)


def test_seed_and_threads() -> None:
    fits = [fit(STEADY.rvs(30, 1)), fit(FAST.rvs(30, 2))]

    def statistic(models: Sequence[MixtureModel]) -> float:
        return mixture_probability_below(*models)

    one, two = (mixture_intervals(statistic, fits, resamples=30, seed=4, jobs=jobs) for jobs in (1, 2))
    assert one == two
    assert one != mixture_intervals(statistic, fits, resamples=30, seed=5)


def test_confidence_out_of_range_is_refused() -> None:
    with pytest.raises(UsageError, match="not at 95"):
        sample_intervals(lambda s: float(s[0].mean()), [[1.0, 2.0]], confidence=95.0)


def test_separated_samples_are_no_certainty() -> None:
    """Two runs that both win bound the chance by 0.025 ** (1/2), the binomial bound for two wins of two."""
    samples = [np.array([1.0, 1.1, 1.05]), np.array([0.8, 0.9])]
    ranking = rank(["slow", "fast"], samples, [fit(s) for s in samples], resamples=20)
    least = {version.version: version.least for version in ranking.versions}
    assert least["fast"].value == 1.0
    assert least["fast"].low == pytest.approx(0.025**0.5)
    assert least["fast"].high == 1.0
    assert least["slow"].high == pytest.approx(1 - 0.025**0.5)

"""I1, I2, I3 and their intervals: against R, every tuple one by one, theorems, and by their coverage."""

import itertools
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.mixture.conftest import given

import speedproof as sp
from speedproof.data.sample import Sample
from speedproof.data.suite import Key
from speedproof.mixture.analysis import analyse, indices
from speedproof.mixture.fitting import fit
from speedproof.mixture.goodness import refitted
from speedproof.mixture.metrics import (
    Ties,
    expected_gap,
    least_of_mixtures,
    least_of_points,
    least_of_samples,
    mixture_gap,
    mixture_intervals,
    mixture_probability_below,
    points_of_weight,
    probability_below,
    sample_intervals,
)
from speedproof.mixture.model import MixtureModel
from speedproof.mixture.results import Questions

compare = sp.mixture.compare
TIES: dict[Ties, str] = {"strict": "strict", "half": "ties_half", "equal": "or_equal"}


def test_pairs_and_the_least_against_r(metrics: dict[str, Any]) -> None:
    """Both forms: every pair, and I3 of all; with I3 and modes of any number of versions."""
    for group in metrics["groups"]:
        samples = [np.array(m["x"], dtype=float) for m in group["members"]]
        models = [given(m["mixture"]) for m in group["members"]]
        counted, modelled = compare(samples), compare(models)
        least = [i["nonparametric"]["strict"] for i in group["i3"]]
        np.testing.assert_allclose(counted.least, least, atol=1e-12)
        np.testing.assert_allclose(modelled.least, [i["parametric"] for i in group["i3"]], atol=1e-10)
        np.testing.assert_allclose(counted.gaps, counted.gaps.T, rtol=1e-12)
        assert (counted.modes, modelled.modes) == (None, tuple(m.modes().count for m in models))
        if "pair" not in group:
            continue
        i1 = group["pair"]["i1"]
        assert counted.gaps[0, 1] == pytest.approx(i1["nonparametric"], rel=1e-12)
        assert modelled.gaps[0, 1] == pytest.approx(i1["parametric"], rel=1e-10)
        for i2 in group["pair"]["i2"]:
            chances = {t: compare(samples, delta=i2["delta"], ties=t).below[0, 1] for t in TIES}
            below, within = chances["strict"], chances["equal"]
            for ties, name in TIES.items():
                theirs = i2["nonparametric"][name]
                # R adds the delta in doubles: what ties but for rounding falls on either side.
                assert below - 1e-12 <= theirs <= within + 1e-12
                if i2["delta"] == 0.0 or below == within:
                    assert chances[ties] == pytest.approx(theirs, abs=1e-12)
            chance = compare(models, delta=i2["delta"]).below[0, 1]
            assert chance == pytest.approx(i2["parametric"], abs=1e-10)


def test_given_mixtures_against_r(metrics: dict[str, Any]) -> None:
    for group in metrics["given_mixtures"]:
        models = [given(m) for m in group["mixtures"]]
        if len(models) == 2:
            assert mixture_gap(*models) == pytest.approx(group["i1"], rel=1e-10)
            assert mixture_probability_below(*models) == pytest.approx(group["i2"], abs=1e-10)
        if len(models) > 1:
            chances = least_of_mixtures(models)
            np.testing.assert_allclose(chances[0], group["i3"], rtol=0, atol=1e-10)
            assert np.abs(chances[0] - group["i3"]).max() <= chances[1] + 1e-12


def test_least_against_every_tuple() -> None:
    """Small samples with many ties, all tuples enumerated."""
    rng = np.random.default_rng(1)
    for _ in range(40):
        samples = [rng.integers(0, 4, rng.integers(1, 6)).astype(float) for _ in range(rng.integers(2, 5))]
        chances = least_of_samples(samples)
        for j in range(len(samples)):
            tuples = list(itertools.product(*samples))
            others = [(t[j], min(t[:j] + t[j + 1 :])) for t in tuples]
            assert chances[0][j] == pytest.approx(np.mean([a < b for a, b in others]), abs=1e-12)
            assert chances[1][j] == pytest.approx(np.mean([a <= b for a, b in others]), abs=1e-12)


def test_versions_are_compared_within_a_benchmark() -> None:
    """Each with every other one of it, in the order given."""
    rng = np.random.default_rng(3)
    values = {(b, v): rng.normal(at, 1.0, 20) for b, at in (("f", 10), ("g", 90)) for v in "xyz"}
    models = [(Key(b), v, Sample(x), analyse(Sample(x), N=0)) for (b, v), x in values.items()]
    for (key, version, *_), found in zip(models, indices(Questions(metrics=True), models), strict=True):
        assert found is not None
        assert [one.other for one in found.versus] == [v for v in "xyz" if v != version]
        own = values[key.benchmark, version]
        for one in found.versus:
            other = values[key.benchmark, one.other]
            assert one.gap[0] == pytest.approx(expected_gap(own, other))
            assert one.below[0] == pytest.approx(probability_below(own, other))
    assert indices(Questions(), models) == [None] * 6


def test_a_delta_does_not_break_ties() -> None:
    """.1 + .2 is .3 as it is written, whatever the doubles are."""
    assert sp.mixture.compare([[0.3], [0.1]], delta=0.2).below[0, 1] == 0.0
    assert probability_below([0.3], [0.1], delta=0.2, ties="equal") == 1.0
    assert probability_below([0.3, 0.2999], [0.1], delta=0.2) == 0.5


FAST = MixtureModel([0.8, 0.2], [10.0, 20.0], [1.0, 1.0])
STEADY = MixtureModel([1.0], [11.0], [0.5])


def coverage_is_at_least(share: float, held: int, runs: int) -> bool:
    return float(stats.binomtest(held, runs, share, alternative="less").pvalue) > 1e-3


def least_chance(x: np.ndarray, y: np.ndarray, alpha: float) -> tuple[float, float]:
    """P[X > Y] and its lower bound on log odds, by means over all pairs and SciPy's quantile."""
    wins = x[:, None] > y
    (n, m), p = wins.shape, float(wins.mean())
    of_x, of_y = wins.mean(axis=1).var(ddof=1) / n, wins.mean(axis=0).var(ddof=1) / m
    df = (of_x + of_y) ** 2 / (of_x**2 / (n - 1) + of_y**2 / (m - 1))
    width = stats.t.ppf(1 - alpha, df) * np.sqrt(of_x + of_y) / (p * (1 - p))
    return p, min(1 / (1 + (1 / p - 1) * np.exp(width)), alpha ** (1 / min(n, m)))


def test_two_samples_without_ties_have_the_bounds_of_brunner_and_munzel() -> None:
    """Each at half the risk."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        x, y = rng.normal(0, 1, rng.integers(3, 40)), rng.normal(0.5, 2, rng.integers(3, 40))
        found = sample_intervals([x, y], alpha=0.1)[0]
        if 0.0 < found.value < 1.0:
            (p, low), (_, of_the_other) = least_chance(y, x, 0.05), least_chance(x, y, 0.05)
            assert (found.value, found.low, found.high) == pytest.approx((p, low, 1 - of_the_other), rel=1e-9)


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


def test_seed_and_threads() -> None:
    fits = [fit(STEADY.rvs(30, 1)), fit(FAST.rvs(30, 2))]
    one, two = (mixture_intervals(fits, [0.3, 0.7], resamples=30, seed=4, jobs=jobs) for jobs in (1, 2))
    assert (one, [(e.value, e.confidence) for e in one]) == (two, [(0.3, 0.95), (0.7, 0.95)])
    assert all(0 <= e.low <= e.value <= e.high <= 1 for e in one)
    assert one != mixture_intervals(fits, [0.3, 0.7], resamples=30, seed=5)


def test_the_best_of_several_is_drawn_to_their_mean() -> None:
    """Of three versions that are equal onto it, of some far apart not at all; two are a pair."""
    rng = np.random.default_rng(4)
    alike = [rng.normal(10.0, 1.0, 30) for _ in range(3)]
    for samples in (
        alike,
        [x + 5.0 * i for i, x in enumerate(alike)],
        [x + 0.7 * i for i, x in enumerate(alike)],
    ):
        plain, drawn = ([e.value for e in sample_intervals(samples, ranked=r)] for r in (False, True))
        mean = np.mean(plain)
        kept = [(d - mean) / (p - mean) for d, p in zip(drawn, plain, strict=True)]
        if samples is alike:
            assert drawn == pytest.approx([mean] * 3)
        elif plain[0] > 0.99:
            assert drawn == pytest.approx(plain, abs=0.01)
        else:
            assert 0.2 < kept[0] < 0.999
            assert kept == pytest.approx([kept[0]] * 3)
    two = [sample_intervals(alike[:2], ranked=ranked) for ranked in (False, True)]
    assert two[0] == two[1]


def test_separated_samples_are_no_certainty() -> None:
    """Two runs that both win bound the chance by 0.025 ** (1/2), the binomial bound for two wins of two."""
    samples = [np.array([1.0, 1.1, 1.05]), np.array([0.8, 0.9])]
    slow, fast = sample_intervals(samples)
    assert (fast.value, fast.high, fast.confidence) == (1.0, 1.0, 0.95)
    assert fast.low == pytest.approx(0.025**0.5)
    assert slow.high == pytest.approx(1 - 0.025**0.5)
    slow, fast = mixture_intervals([fit(s) for s in samples], [0.0, 1.0], resamples=20)
    assert fast.low <= 0.025**0.5
    assert 1 - 0.025**0.5 <= slow.high <= 1 == fast.high

"""How much sessions differ, and that two sessions of identical code are told apart as seldom as stated."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import optimize, special, stats

from speedproof.stats import session_spread
from speedproof.stats.session_spread import (
    SessionSpread,
    _digamma,
    _inverse_trigamma,
    _prior,
    _trigamma,
    session_spreads,
    widened,
)


def test_the_functions_of_the_prior_against_scipy() -> None:
    """Digamma, trigamma and its inverse."""
    x = np.array([0.5, 1.0, 1.46, 1.5, 3.0, 17.5, 400.0])
    z = x + 6.0  # either series errs by less than the term that it leaves out
    assert (np.abs(_digamma(x) - special.digamma(x)) < 1 / (132 * z**10) + 1e-15).all()
    assert (np.abs(_trigamma(x) - special.polygamma(1, x)) < 5 / (66 * z**11) + 1e-15).all()
    assert [_inverse_trigamma(float(v)) for v in special.polygamma(1, x)] == pytest.approx(x, rel=1e-6)


def test_the_series_are_the_published_ones_to_their_last_term() -> None:
    """With the next four terms, of Bernoulli's numbers, they are SciPy's functions to full digits."""
    x = np.linspace(2.0, 10.0, 33)
    z, numbers = x + 6.0, special.bernoulli(16)
    left = [sum(numbers[k] / by(k) / z**k for k in (10, 12, 14, 16)) for by in (lambda k: k, lambda k: z)]
    np.testing.assert_allclose(_digamma(x) - left[0], special.digamma(x), rtol=0, atol=1e-14)
    np.testing.assert_allclose(_trigamma(x) + left[1], special.polygamma(1, x), rtol=0, atol=1e-14)


def test_the_prior_is_found_again() -> None:
    """Variances made as Smyth's model says, 4 degrees each about a common value that weighs 6."""
    rng = np.random.default_rng(1)
    drawn = 2.5 * stats.f.rvs(4, 6, size=20_000, random_state=rng)
    prior, weight = _prior(drawn, np.full(20_000, 4.0))
    assert prior == pytest.approx(2.5, rel=0.03)
    assert weight == pytest.approx(6.0, rel=0.08)
    alike = 2.5 * rng.chisquare(4, 500) / 4
    assert _prior(alike, np.full(500, 4.0))[1] > 30.0


def test_one_series_is_the_pooled_deviation() -> None:
    """Against numpy: commits of two and three sessions."""
    values = np.array([1.0, 1.2, 2.0, 2.1, 2.5, 9.0])
    group = np.array([0, 0, 1, 1, 1, 2])
    found, other = session_spreads(np.zeros(6, int), group, np.arange(6), values, np.full(6, np.nan))
    squares = 1 * np.var(values[:2], ddof=1) + 2 * np.var(values[2:5], ddof=1)
    assert found[0].variance == pytest.approx(squares / 3)
    assert (found[0].degrees, found[0].sessions, other) == (3.0, 5, None)


def test_no_commit_with_two_sessions_tells_nothing() -> None:
    """No estimate from single sessions."""
    number, value = np.arange(3), np.arange(3, dtype=np.float64)
    assert session_spreads(number * 0, number, number, value, value) == ({}, None)


@pytest.mark.parametrize("shared", [0.0, 1.0])
def test_sessions_that_move_together_tell_no_more_than_one_series(shared: float) -> None:
    """Degrees of freedom of 40 series: those of the sessions when all move as one, more when none does."""
    rng = np.random.default_rng(2)
    sessions, count = 20, 40
    common, own = rng.standard_normal((sessions, 1)), rng.standard_normal((sessions, count))
    values = math.sqrt(shared) * common + math.sqrt(1 - shared) * own
    row, column = (a.reshape(-1) for a in np.indices((sessions, count)))
    found, other = session_spreads(column, row // 2, row, values.reshape(-1), np.zeros(row.size))
    assert other is not None
    assert other.degrees == pytest.approx(10.0, rel=0.01) if shared else other.degrees > 25
    assert other.degrees <= found[3].degrees <= other.degrees + 10.0


@pytest.mark.parametrize("commits", [1, 3, 10])
def test_size_against_theory(commits: int) -> None:
    """Two sessions of identical code, 2 % apart, each 8 normal runs: at most 5 % a side, binomial bounds."""
    rng = np.random.default_rng(commits)
    count, runs, noise = 1500, 8, 0.004
    sessions = 0.02 * rng.standard_normal((count, 2 * commits + 2))
    values = sessions[..., None] + noise * rng.standard_normal((*sessions.shape, runs))
    means = values.mean(axis=-1)
    width = stats.t.ppf(0.95, 2 * runs - 2) * np.sqrt(values[:, -2:].var(axis=-1, ddof=1).sum(axis=1) / runs)
    group = np.arange(2 * commits) // 2
    false = 0
    for i in range(count):
        inside = np.full(2 * commits, noise**2 / runs)
        found, _ = session_spreads(group * 0, group, np.arange(2 * commits), means[i, :-2], inside)
        gap = float(means[i, -1] - means[i, -2])
        false += widened(float(width[i]), 0.05, (runs, runs), found[0], (1, 1)).pvalue(gap) <= 0.05
    assert false <= stats.binom.ppf(0.999, count, 0.05)
    assert commits == 1 or false >= stats.binom.ppf(0.001, count, 0.03)


def test_bounds_and_pvalues_agree() -> None:
    """A gap is significant exactly from the reach on; runs that bound nothing bound nothing."""
    side = widened(0.01, 0.05, (10, 10), SessionSpread(4e-4, 7.0, 1e-5, 4), (1, 2))
    reach = side.reach(0.05)
    assert side.pvalue(reach * 1.000001) < 0.05 < side.pvalue(reach * 0.999999)
    assert reach > 0.01
    assert widened(math.inf, 0.05, (1, 1), SessionSpread(4e-4, 7.0, 0.0, 4), (1, 1)).pvalue(9.0) == 1.0
    exact = widened(0.0, 0.05, (3, 3), SessionSpread(0.0, 7.0, 0.0, 4), (1, 1))
    assert [exact.pvalue(gap) for gap in (0.1, 0.0, -0.1)] == [0.0, 1.0, 1.0]
    nothing = widened(math.inf, 0.05, (3, 3), SessionSpread(0.0, 7.0, 0.0, 4), (1, 1))
    assert (nothing.reach(0.05), nothing.degrees) == (math.inf, 1.0)


@pytest.mark.parametrize("runs", [(10, 14), (1, 1), (2, 1), (2, 2)])
@pytest.mark.parametrize("within", [0.0, 1e-5, 3e-4, 1.0])
def test_the_error_of_a_ratio_adds_up(runs: tuple[float, float], within: float) -> None:
    """The width over SciPy's quantile squared, less what it holds of the sessions already, and theirs."""
    spread, sessions = SessionSpread(4e-4, 7.0, within, 4), (1, 3)
    for alpha, width in ((0.05, 0.08), (0.01, 0.002), (0.2, 0.5)):
        alone = (width / stats.t.ppf(1 - alpha, max(sum(runs) - 2, 1))) ** 2
        expected = 4 / 3 * 4e-4 + max(alone - 4 / 3 * min(within, 4e-4), 0.0)
        found = widened(width, alpha, runs, spread, sessions)
        assert (found.error, found.degrees) == pytest.approx((math.sqrt(expected), 7.0), rel=1e-9)
        assert found.reach(alpha) == pytest.approx(stats.t.ppf(1 - alpha, 7.0) * found.error, rel=1e-9)
        assert found.pvalue(width) == pytest.approx(stats.t.sf(width / found.error, 7.0), rel=1e-9)


def test_series_are_drawn_towards_their_common_variance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Smyth's posterior: weighted by degrees of freedom, of which others give no more than the sessions hold."""
    rng = np.random.default_rng(5)
    series, group, session = (
        np.repeat(np.arange(6), 12),
        np.tile(np.repeat(np.arange(4), 3), 6),
        np.tile(np.arange(12), 6),
    )
    values = rng.standard_normal(72) * np.repeat([0.1, 1.0, 3.0, 1.0, 20.0, 0.5], 12)
    within = np.where(np.arange(72) % 5 == 0, np.nan, rng.random(72))
    cells = values.reshape(6, 4, 3)
    own = cells.var(axis=2, ddof=1).mean(axis=1)
    prior, weight = _prior(own, np.full(6, 8.0))
    assert 0.0 < weight < 20.0
    for most in (9.0, 25.0, 60.0):
        monkeypatch.setattr(session_spread, "_degrees_together", lambda *_, most=most: most)
        found, other = session_spreads(series, group, session, values, within)
        assert other is not None
        assert (other.variance, other.degrees, other.sessions) == pytest.approx((prior, min(weight, most), 0))
        inside = [np.nan_to_num(part).mean() for part in within.reshape(6, 12)]
        assert other.within == pytest.approx(min(inside))
        for i in range(6):
            from_others = min(weight, (most - 8) * weight / (weight + 8))
            assert found[i].variance == pytest.approx((weight * prior + 8 * own[i]) / (weight + 8))
            assert (found[i].degrees, found[i].sessions) == pytest.approx((8 + from_others, 12))
            assert found[i].within == pytest.approx(inside[i])


@pytest.mark.parametrize("silent", [0.0, 1e-9])
def test_the_least_noise_of_a_series_is_a_share_of_the_median(silent: float) -> None:
    """Smyth's moments of the logarithms by SciPy, a silent series taken at 1e-5 of the median of the others."""
    variance, half = np.array([silent, 1.0, 2.0, 3.0, 1000.0]), np.full(5, 2.0)
    median = 2.5 if silent == 0.0 else 2.0  # what is 0 is not among them
    logs = np.log([1e-5 * median, *variance[1:]]) - special.digamma(half) + np.log(half)
    excess = np.var(logs, ddof=1) - special.polygamma(1, 2.0)
    weight = 2.0 * optimize.brentq(lambda x: special.polygamma(1, x) - excess, 1e-3, 1e3, xtol=1e-15)
    prior = np.exp(np.mean(logs) + special.digamma(weight / 2.0) - np.log(weight / 2.0))
    assert _prior(variance, 2.0 * half) == pytest.approx((prior, weight), rel=1e-6)


@pytest.mark.parametrize("alpha", [0.5, 0.6, 0.7])
def test_at_a_risk_of_one_half_or_more_the_sessions_speak_alone(alpha: float) -> None:
    """A bound at such a risk is not beyond the ratio: its distance tells no standard error."""
    found = widened(0.25, alpha, (10, 10), SessionSpread(4e-4, 7.0, 1e-5, 4), (1, 2))
    assert found.error == pytest.approx(math.sqrt(1.5 * 4e-4), rel=1e-12)

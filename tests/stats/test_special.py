"""Distribution functions and normal scores against closed forms, counting and SciPy."""

import math

import numpy as np
import pytest
from scipy import optimize, special, stats

from speedproof.arrays import FloatArray
from speedproof.stats import normal_scores as module
from speedproof.stats.normal_scores import normal_scores
from speedproof.stats.special import (
    beta_ppf,
    betainc,
    digamma,
    f_tails,
    gamma_cdf,
    gamma_shape,
    ndtr,
    ndtri,
    normal_quantile,
    t_ppf,
    t_sf,
    t_sf_pdf,
)


def close(got: object, expected: object, rtol: float) -> None:
    np.testing.assert_allclose(np.asarray(got), np.asarray(expected), rtol=rtol, atol=1e-300)


def test_normal_against_scipy_and_at_the_ends() -> None:
    x = np.linspace(-37.0, 9.0, 400)
    close(ndtr(x), special.ndtr(x), 5e-13)
    np.testing.assert_array_equal(ndtri([0.0, 0.5, 1.0]), [-np.inf, 0.0, np.inf])
    assert np.isnan(ndtri([-0.1, 1.1, np.nan])).all()
    assert normal_quantile(0.975) == pytest.approx(1.959963984540054, abs=1e-15)


def off(got: object, expected: object, t: object, df: object) -> float:
    """The largest relative error of a tail of Student's distribution, over what rounding explains on any machine.

    Tail and density are the exponential of a sum: four roundings of its terms, the logarithm of the density and,
    from Stirling's error of small parameters, below 64.
    """
    terms = np.abs(stats.t.logpdf(t, df)) + 64.0
    return float(np.max(np.abs(np.asarray(got) / np.asarray(expected) - 1.0) / (4.0 * 2.0**-52 * terms)))


def test_t_against_closed_forms() -> None:
    """One and two degrees of freedom have elementary tails, which stay exact at 1e100."""
    t = 10.0 ** np.linspace(-8, 100, 109)
    assert off(t_sf(t, 1.0), np.arctan2(1.0, t) / np.pi, t, 1.0) < 1.0
    r = np.sqrt(t * t + 2.0)
    assert off(t_sf(t, 2.0), 1.0 / (r * (r + t)), t, 2.0) < 1.0
    assert off(t_sf_pdf(t, 1.0)[1], 1.0 / (np.pi * (1.0 + t * t)), t, 1.0) < 1.0


def test_t_against_scipy() -> None:
    df, t = np.meshgrid([0.5, 1.0, 2.7, 5.0, 17.0, 30.0, 59.3, 450.0, 1e4], np.linspace(-9.0, 30.0, 79))
    assert off(t_sf(t, df), special.stdtr(df, -t), t, df) < 1.0
    df, q = np.meshgrid(
        [1.0, 2.0, 3.5, 10.0, 60.0, 1e3], [1e-12, 1e-4, 0.01, 0.05, 0.3, 0.5, 0.77, 0.95, 0.9999]
    )
    # SciPy 1.16 is off by 2e-11; the closed forms and the inverted tails above and below are tighter.
    np.testing.assert_allclose(t_ppf(q, df), stats.t.ppf(q, df), rtol=5e-11, atol=1e-15)


def test_beta_against_scipy() -> None:
    a, b, x = np.meshgrid(
        [0.3, 0.5, 1.0, 2.0, 15.0, 30.5, 500.0], [0.5, 1.0, 7.0, 15.0, 900.0], np.linspace(0, 1, 41)
    )
    expected = special.betainc(a, b, x)
    np.testing.assert_allclose(betainc(a, b, x), expected, rtol=5e-12, atol=1e-290)
    for q in (0.025, 0.5, 0.999):
        for shapes in ((1, 30), (17, 14), (0.5, 0.5), (400, 3)):
            at = float(special.betaincinv(*shapes, q))
            assert beta_ppf(q, *shapes) == pytest.approx(at, rel=1e-11)
    assert beta_ppf(0.0, 2.0, 3.0) == 0.0
    assert beta_ppf(1.0, 2.0, 3.0) == 1.0


def test_f_against_scipy() -> None:
    d1, d2, f = np.meshgrid([1, 2, 11, 30, 119], [1, 9, 30, 250], 10.0 ** np.linspace(-3, 3, 61))
    lower, upper = f_tails(f, d1, d2)
    close(lower, special.fdtr(d1, d2, f), 1e-11)
    close(upper, special.fdtrc(d1, d2, f), 1e-11)


def test_normal_quantile_in_every_piece() -> None:
    """The quantile far out, near and in the middle: the tails at which AS 241 changes its formula among them."""
    p = np.concatenate([10.0 ** -np.linspace(0.31, 300, 600), [0.075, 0.925, math.exp(-25.0)]])
    p = np.concatenate([p, 1.0 - p[p > 1e-9]])
    np.testing.assert_allclose(ndtri(p), special.ndtri(p), rtol=5e-14, atol=1e-15)


@pytest.mark.parametrize("few", [1, 40])
def test_tails_of_the_arcsine_law(few: int) -> None:
    """I_x(1/2, 1/2) = 2 / pi asin sqrt x: each of the tails of F with 1 and 1 degrees to its last digits."""
    f = np.concatenate([10.0 ** np.linspace(-280, 280, 113), np.linspace(0.1, 4.0, 79)])
    for part in np.split(f, range(few, f.size, few)):
        lower, upper = f_tails(part, 1.0, 1.0)
        close(lower, 2.0 / np.pi * np.arctan(np.sqrt(part)), 1.5e-13)
        close(upper, 2.0 / np.pi * np.arctan(1.0 / np.sqrt(part)), 1.5e-13)
    x = 10.0 ** np.linspace(-280, -0.001, 60)
    close(betainc(0.5, 0.5, x), 2.0 / np.pi * np.arcsin(np.sqrt(x)), 1.5e-13)


@pytest.mark.parametrize("d", [1.0, 2.0, 9.0, 77.0])
def test_both_tails_of_f_against_closed_forms(d: float) -> None:
    """With two degrees of freedom on either side, the lower tail far down and the upper one far up."""
    f = 10.0 ** np.linspace(-250, 250, 126)
    lower, upper = f_tails(f, 2.0, d)
    log_tail = -0.5 * d * np.log1p(2.0 * f / d)
    close(lower, -np.expm1(log_tail), 3e-13)
    close(upper[log_tail > -600], np.exp(log_tail[log_tail > -600]), 1e-12)
    close(f_tails(1.0 / f, d, 2.0)[1], lower, 1e-12)
    lower, upper = f_tails([0.0, np.inf] * int(d), 1.0, 1.0)
    assert (lower[:2].tolist(), upper[:2].tolist()) == ([0.0, 1.0], [1.0, 0.0])


@pytest.mark.parametrize("df", [0.5, 1.0, 2.0, 3.0, 1e3])
@pytest.mark.parametrize("many", [1, 30])
def test_ends_of_t_whatever_the_degrees(df: float, many: int) -> None:
    """Beyond all numbers there is nothing, however heavy the tail; quantiles of no probability are NaN."""
    np.testing.assert_array_equal(t_sf([np.inf, -np.inf, 0.0] * many, df), [0.0, 1.0, 0.5] * many)
    found = t_ppf([0.0, 1.0, 0.5, -0.1, 1.1, np.nan] * many, df)[:6]
    np.testing.assert_array_equal(found, [-np.inf, np.inf, 0.0, np.nan, np.nan, np.nan])
    assert not np.signbit(found[2])


@pytest.mark.parametrize("a", [0.5, 1.0, 2.5, 30.0, 1000.0])
def test_the_border_of_the_fraction(a: float) -> None:
    """On either side of the mean, where the other tail's fraction takes over, and at it, against SciPy."""
    for b in (0.5, 1.0, 4.0, 77.5, 3000.0):
        border = (a + 1.0) / (a + b + 2.0)
        x = np.unique(np.clip(border * np.array([0.5, 0.8, 0.99, 1.0, 1.01, 1.2, 1.5]), 1e-9, 1 - 1e-9))
        np.testing.assert_allclose(betainc(a, b, x), special.betainc(a, b, x), rtol=1e-12)
        one = [float(betainc(a, b, v)) for v in x.tolist()]
        np.testing.assert_allclose(one, betainc(a, b, np.repeat(x, 9))[::9], rtol=1e-14)


def test_terms_that_tell_nothing_more_end_the_fraction() -> None:
    """One unit in the last place is as good as none: thousands of such terms would drift by more than 1e-12."""
    t = np.concatenate([np.random.default_rng(5).normal(0.0, 2.0, 50), [1.8, 1.9, 2.0, 3.0**0.5, 2.0**0.5]])
    for df in (1e4, 1e5, 1e6, 1e7):
        close(t_sf(t, df), stats.t.sf(t, df), 2e-13)
        close([float(t_sf(one, df)) for one in t], stats.t.sf(t, df), 2e-13)


def test_digamma() -> None:
    x = np.geomspace(1e-3, 1e6, 50)
    assert digamma(x) == pytest.approx(special.digamma(x), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("shape", [0.1, 1.0, 50.0, 199.0, 200.0, 1e4, 1e7])
def test_distribution_function(shape: float) -> None:
    """Exact by the series; beyond shapes of 200 to 1e-6."""
    x = stats.gamma.ppf(np.linspace(1e-4, 1 - 1e-4, 200), shape)
    assert gamma_cdf(x, shape) == pytest.approx(
        special.gammainc(shape, x), abs=1e-12 if shape < 200 else 1e-6
    )


@pytest.mark.parametrize("gap", [1e-7, 0.01, 0.5, 3.0])
def test_shape(gap: float) -> None:
    """The root of the likelihood's derivative."""
    root = optimize.brentq(lambda k: np.log(k) - special.digamma(k) - gap, 1e-3, 1e9, xtol=1e-14)
    assert float(gamma_shape(gap)) == pytest.approx(root, rel=1e-7)


def scores_of(x: FloatArray) -> FloatArray:
    """The mean of the normal scores (r - 1/2) / n of all ranks that a value shares."""
    table = stats.norm.ppf((np.arange(x.size) + 0.5) / x.size)
    return np.array([table[np.sum(x < value) : np.sum(x <= value)].mean() for value in x])


@pytest.mark.parametrize("n", [1, 8, 9, 15, 16, 17, 61, 1023, 1024, 1025])
def test_scores_by_counting(n: int) -> None:
    """Of values that differ, of equal ones, of steps; in any increasing unit."""
    x = np.random.default_rng(n).standard_normal((6, n))
    x[1] = np.round(x[1])
    x[2] = x[2].cumsum()
    x[3] = np.arange(n) >= n - 3
    x[4] = 1.0
    found = normal_scores(x)
    assert found == pytest.approx(np.array([*map(scores_of, x)]), rel=1e-12, abs=1e-14)
    assert normal_scores(x.reshape(2, 3, n)).tolist() == found.reshape(2, 3, n).tolist()
    assert normal_scores(np.exp(1e-3 * x)).tolist() == found.tolist()
    assert normal_scores(np.asfortranarray(x)).tolist() == found.tolist()
    assert module.power(n) == pytest.approx(np.sum(scores_of(np.arange(1.0 * n)) ** 2), rel=1e-12, abs=1e-14)

"""Rounded values: the grid is found, the likelihood is the intervals', and the test keeps its size."""

from decimal import Decimal

import numpy as np
import pytest
from scipy import optimize, stats

from speedproof.errors import DataError, UsageError
from speedproof.mixture import rounding
from speedproof.mixture.fitting import fit
from speedproof.mixture.goodness import goodness_of_fit, ks_distance
from speedproof.mixture.grid import detect_resolution
from speedproof.mixture.model import MixtureModel
from speedproof.mixture.rounding import fit_rounded, goodness_of_rounded

TWO = MixtureModel([0.5, 0.5], [10.0, 14.0], [0.7, 0.7])


def rounded(n: int, h: str, seed: int) -> list[float]:
    """Draw and round as a program prints: through decimal text."""
    return [float(Decimal(h) * round(Decimal(v) / Decimal(h))) for v in TWO.rvs(n, seed).tolist()]


@pytest.mark.parametrize("h", ["1", "0.5", "0.2", "0.1", "0.01", "0.04"])
def test_step_of_decimals_is_found(h: str) -> None:
    for seed in range(10):
        x = rounded(400, h, seed)
        assert detect_resolution(x) == float(h)
        assert detect_resolution([v * 1e-9 for v in x]) == pytest.approx(float(h) * 1e-9, rel=1e-12)


def test_step_of_a_clock_with_an_odd_period_is_found() -> None:
    tick = 41.666666666666664e-9
    ticks = np.random.default_rng(1).integers(1000, 1040, 200)
    assert detect_resolution(ticks * tick) == pytest.approx(tick, rel=1e-9)


@pytest.mark.parametrize("values", [[], [1.0], [2.0, 2.0], [1.0, 1.5, 2.25], TWO.rvs(500, 3)])
def test_no_step_is_claimed_without_ties(values: list[float]) -> None:
    assert detect_resolution(values) is None


def test_likelihood_against_scipy() -> None:
    """One component: the maximum of the interval likelihood found by a general optimiser."""
    x = np.round(stats.norm(50.3, 1.3).rvs(200, random_state=5))
    f = fit_rounded(x, 1.0, K_max=1)

    def negative(parameters: np.ndarray) -> float:
        d = stats.norm(parameters[0], np.exp(parameters[1]))
        return -float(np.log(d.cdf(x + 0.5) - d.cdf(x - 0.5)).sum())

    best = optimize.minimize(
        negative, [49.0, 0.5], method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-12}
    )
    assert f.loglik == pytest.approx(-best.fun, abs=1e-4)
    assert float(f.model.means[0]) == pytest.approx(best.x[0], abs=2e-3)
    assert float(f.model.sds[0]) == pytest.approx(np.exp(best.x[1]), abs=2e-3)
    assert float(f.model.sds[0]) < x.std()  # Sheppard: rounding adds h^2 / 12 to the variance


@pytest.mark.slow
def test_size_on_rounded_mixtures() -> None:
    """The plain test rejects the rounding nearly always; the one that knows of it holds its level."""
    runs, plain, aware = 30, 0, 0
    for seed in range(runs):
        x = rounded(60, "1", seed)
        f = fit_rounded(x, 1.0, K_max=4)
        aware += goodness_of_rounded(x, f, N=40, seed=seed).rejected(0.05)
        plain += goodness_of_fit(x, fit(x, K_max=4), N=40, seed=seed, c=1.0).rejected(0.05)
    assert plain > 0.9 * runs
    assert stats.binomtest(aware, runs, 0.05, alternative="greater").pvalue > 1e-3


@pytest.mark.parametrize("values", [[1.0, 2.0], [3.0] * 30, [0.0] * 20 + [1.0] * 10, [0.0, 0.0, 1e6]])
def test_few_cells_have_a_defined_result(values: list[float]) -> None:
    f = fit_rounded(values, 1.0)
    assert np.isfinite(f.loglik)
    assert 0.0 <= goodness_of_rounded(values, f, N=20, seed=1).pvalue <= 1.0
    assert 0.0 <= ks_distance(values, f.model, 1.0) <= 1.0


def test_impossible_requests_are_refused() -> None:
    with pytest.raises(DataError, match=r"grid of step 1: 1 and 1\.4 are no whole"):
        fit_rounded([1.0, 2.0, 1.4], 1.0)
    with pytest.raises(UsageError, match="positive"):
        fit_rounded([1.0, 2.0], 0.0)
    with pytest.raises(DataError, match="two finite values"):
        fit_rounded([1.0], 1.0)
    with pytest.raises(UsageError, match="knows no resolution"):
        goodness_of_rounded([1.0, 2.0], fit([1.0, 2.0]))


@pytest.mark.slow
@pytest.mark.parametrize(("n", "step"), [(50, 0.5), (100, 1.0)])
def test_replicates_against_the_full_search(n: int, step: float) -> None:
    """Choosing by the plain kernels gives distances like those of every K and model by the EM of intervals."""
    f = fit_rounded(np.round(TWO.rvs(n, 6) / step), 1.0)
    rows = np.sort(f.model.rvs(n * 60, 7).reshape(60, n))
    np.rint(rows, out=rows)
    full = rounding.search_rounded(rows, 9)
    exact = []
    for row, (w, mu, v), (K, _) in zip(rows, full.parameters, full.best, strict=True):
        exact.append(ks_distance(row, MixtureModel(w[:K], mu[:K], np.sqrt(v[:K])), 1.0))
    fast = [
        ks_distance(row, m, 1.0)
        for row, m in zip(rows, rounding.refitted_rounded(rows, 9, f.components + 1), strict=True)
    ]
    assert abs(np.median(fast) / np.median(exact) - 1) < 0.15
    assert abs(np.quantile(fast, 0.9) / np.quantile(exact, 0.9) - 1) < 0.15

"""The bootstrap test, also of rounded values: against R's p-values and distances, and its own rules."""

import importlib
import sys
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy import optimize, stats
from tests.mixture.conftest import given

from speedproof.errors import UsageError
from speedproof.mixture import em, goodness, rounding
from speedproof.mixture.fitting import fit
from speedproof.mixture.goodness import distance_of, draw_samples, goodness_of_fit, ks_distance, undersampling
from speedproof.mixture.grid import detect_resolution
from speedproof.mixture.model import MixtureModel
from speedproof.mixture.rounding import fit_rounded, goodness_of_rounded

N = 1000


def test_distance_against_r(mixtures: list[dict[str, Any]]) -> None:
    for sample in mixtures:
        if "values" in sample:
            model = given(sample[sample["values"]["computed_from"]])
            expected = sample["values"]["ks"]["sup"]
            assert ks_distance(sample["x"], model) == pytest.approx(expected, abs=1e-10), sample["id"]


@pytest.mark.parametrize("digits", [1, 6])
def test_distance_at_the_observations_against_scipy(digits: int) -> None:
    """VARCORE looks at the values only, ties included, where the empirical distribution function has jumped."""
    x = np.random.default_rng(2).normal(3.0, 2.0, 50).round(digits)
    model = MixtureModel([1.0], [3.0], [2.0])
    expected = np.abs(stats.ecdf(x).cdf.evaluate(x) - stats.norm(3.0, 2.0).cdf(x)).max()
    assert distance_of(np.sort(x), model, "observed") == pytest.approx(expected, abs=1e-12)
    assert expected <= ks_distance(x, model)


@pytest.mark.slow
@pytest.mark.parametrize(("field", "c"), [("reselecting_G", 1.0), ("undersampled", 0.9)])
def test_pvalue_against_r(bootstraps: list[dict[str, Any]], field: str, c: float) -> None:
    """Within four standard errors of both, plus 0.01, of R's N = 2000; so are the critical values' levels."""
    for record in bootstraps:
        if field not in record:
            continue
        reference = record[field]
        x = np.array(record["x"], dtype=float)
        result = goodness_of_fit(x, fit(x, compatible=True), N=N, seed=11, c=c)
        p = reference["p_value"]
        band = 4 * np.sqrt(p * (1 - p) * (1 / N + 1 / reference["N"])) + 0.01
        assert abs(result.pvalue - p) <= band, record["id"]
        for alpha, critical in reference["critical"].items():
            share = float((result.replicates > critical).mean())
            a = float(alpha)
            assert abs(share - a) <= 4 * np.sqrt(a * (1 - a) * (1 / N + 1 / reference["N"])) + 0.01, record[
                "id"
            ]


def test_fast_mode_against_r(bootstraps: list[dict[str, Any]]) -> None:
    """Stopping early may shift p; by no more than 0.04 on top of the noise."""
    for record in bootstraps:
        x = np.array(record["x"], dtype=float)
        result = goodness_of_fit(x, fit(x, compatible=True), N=N, seed=12, c=1.0, fast=True)
        p = record["reselecting_G"]["p_value"]
        assert abs(result.pvalue - p) <= 4 * np.sqrt(p * (1 - p) * (1 / N + 1 / 2000)) + 0.04, record["id"]


def test_same_seed_same_samples_whatever_the_threads_and_the_number() -> None:
    x = MixtureModel([0.4, 0.6], [0.0, 5.0], [1.0, 1.0]).rvs(60, seed=1)
    f = fit(x)
    one, three = (goodness_of_fit(x, f, N=100, seed=5, jobs=jobs) for jobs in (1, 3))
    np.testing.assert_array_equal(one.replicates, three.replicates)
    assert not np.array_equal(one.replicates, goodness_of_fit(x, f, N=100, seed=6).replicates)
    model = MixtureModel([0.4, 0.6], [0.0, 5.0], [1.0, 1.0])
    few, many = draw_samples(model, 20, 40, 3), draw_samples(model, 20, 100, 3)
    np.testing.assert_array_equal(few, many[:40])
    assert stats.kstest(many.ravel(), lambda v: model.cdf(v)).pvalue > 1e-3
    seed = np.random.SeedSequence(3)
    np.testing.assert_array_equal(draw_samples(model, 20, 40, seed), draw_samples(model, 20, 40, seed))


def test_critical_value_is_guarded_against_rounding() -> None:
    """200 (1 - 0.05) is 190, though the product in binary is a little less."""
    result = goodness.GoodnessOfFit(0.1, 0.5, np.arange(1.0, 201.0), 1.0, 30, False)
    assert result.critical(0.05) == 190.0
    assert result.critical(0.1) == 180.0
    with pytest.raises(UsageError, match=r"alpha = 0\.002: expected a share of 200 bootstrap samples"):
        result.critical(0.002)
    with pytest.raises(UsageError, match="expected a share"):
        result.critical(1.0)


def test_undersampling_leaves_enough() -> None:
    """Every sample that can be fitted can be tested by the rule."""
    assert all(int(n * undersampling(n) + 1e-9) >= 2 for n in range(2, 1000))
    shares = [undersampling(n) for n in (9, 10, 199, 200)]
    assert shares == [1.0, 0.9, 0.9, 0.8]  # studies/mixture_calibration.py


def test_impossible_requests_are_refused() -> None:
    x = np.arange(10.0)
    f = fit(x)
    with pytest.raises(UsageError, match="at least one sample"):
        goodness_of_fit(x, f, N=0)
    assert goodness_of_fit(x, f, N=1).pvalue in (0.5, 1.0)
    with pytest.raises(UsageError, match="leaves 1 of 10"):
        goodness_of_fit(x, f, c=0.1)


def test_printed_example_of_the_report() -> None:
    """Appendix A, example 1: weights, means, deviations, modes as printed; p within R's band at N = 2000.

    The report's p, 0.205 of N = 200, takes the distance at the observations only; over all x R gives 0.269.
    """
    x = np.loadtxt(Path(__file__).parents[1] / "data" / "oracle_mixture" / "ammp-c2.txt")
    f = fit(x, compatible=True)
    assert (f.kind, f.components) == ("V", 5)
    printed = {
        "weights": [0.09677359, 0.15280620, 0.45830339, 0.16059283, 0.13152400],
        "means": [92.21333, 93.26964, 93.54552, 94.21802, 94.99607],
        "sds": [0.163372026, 0.146702827, 0.227167773, 0.003986046, 0.392762363],
    }
    for name, expected in printed.items():
        np.testing.assert_allclose(getattr(f.model, name), expected, rtol=0, atol=6e-6)
    assert f.model.modes().count == 4
    assert [c.size for c in f.model.clusters(x)] == [3, 5, 14, 5, 4]
    p = goodness_of_fit(x, f, N=N, seed=1, c=1.0).pvalue
    assert abs(p - 0.269) <= 4 * np.sqrt(0.269 * 0.731 * (1 / N + 1 / 2000)) + 0.01
    p = goodness_of_fit(x, f, N=N, seed=1, c=1.0, distance="observed").pvalue
    assert abs(p - 0.205) <= 3 * np.sqrt(0.205 * 0.795 * (1 / N + 1 / 200))


def test_without_the_compiled_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """The NumPy twin works in double: the same fit, and distances that differ in few replicates if at all."""
    x = MixtureModel([0.4, 0.6], [0.0, 5.0], [1.0, 1.0]).rvs(40, seed=1)
    compiled_fit = fit(x)
    compiled = goodness_of_fit(x, compiled_fit, N=60, seed=5)
    monkeypatch.setattr(em, "COMPILED", None)
    twin_fit = fit(x)
    twin = goodness_of_fit(x, twin_fit, N=60, seed=5)
    assert twin_fit.loglik == pytest.approx(compiled_fit.loglik, abs=1e-6)
    np.testing.assert_allclose(twin_fit.model.means, compiled_fit.model.means, atol=1e-3)
    assert (np.abs(twin.replicates - compiled.replicates) > 1e-3).mean() < 0.1
    assert twin.pvalue == pytest.approx(compiled.pvalue, abs=0.05)


def study(name: str) -> ModuleType:
    return importlib.import_module(f"studies.{name}")


def test_power_grows_with_the_sample() -> None:
    """Three shifted exponentials are no Gaussian mixture: found out more often at n = 300 than at 30."""
    module = study("mixture_calibration")
    small, large = (module.pvalues(False, n, [1.0], 40, seed=4, N=60, K_max=5)[0] for n in (30, 300))
    assert (large <= 0.05).mean() > (small <= 0.05).mean() + 0.1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options"), [("mixture_calibration", ["--factors", "1"]), ("mixture_rounding", ["--steps", "1"])]
)
def test_studies_print_their_tables(
    name: str, options: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [name, "--runs", "2", "--sizes", "20", *options])
    study(name).main()
    assert len(capsys.readouterr().out.splitlines()) >= 2


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

"""The kernels: against R's mclust, against their NumPy twin, and against each other bit for bit."""

import sys
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from speedproof.arrays import FloatArray
from speedproof.errors import UsageError
from speedproof.mixture import em
from speedproof.mixture.goodness import distances_of


def three_peaks(rows: int, n: int, seed: int) -> FloatArray:
    rng = np.random.default_rng(seed)
    peaks = np.array([0.0, 4.0, 9.0])[rng.integers(0, 3, (rows, n))]
    x = np.sort(peaks + rng.normal(size=(rows, n)), axis=1)
    return np.asarray((x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, ddof=1, keepdims=True))


def bic_table(fits: em.Fits, n: int) -> FloatArray:
    K = np.arange(1, fits.loglik.shape[1] + 1)
    return np.asarray(2 * fits.loglik[0] - np.stack([2 * K, 3 * K - 1], axis=1) * np.log(n))


def reference_table(record: dict[str, Any]) -> FloatArray:
    columns = [
        [np.nan if v is None else float(v) for v in record["bic_table"][model]] for model in ("E", "V")
    ]
    table = np.array(columns).T
    table[0, 1] = np.nan  # with one component E and V are the same model
    return table


@pytest.mark.slow
@pytest.mark.parametrize("kernel", [None, "numpy"])
def test_every_bic_against_r(mixtures: list[dict[str, Any]], kernel: str | None) -> None:
    """mclust's rules on the raw values give mclust's table, what it cannot estimate included."""
    for sample in mixtures:
        if "error" in sample["mclust"] or (kernel == "numpy" and sample["n"] > 60):
            continue
        x = np.sort(np.array(sample["x"], dtype=float))[np.newaxis]
        K_max = min(9, x.size)
        fits = em.search(x, em.quantile_starts(x, K_max, as_mclust=True), K_max, em.MCLUST, kernel=kernel)
        expected = reference_table(sample["mclust"])
        np.testing.assert_allclose(bic_table(fits, x.size), expected, rtol=0, atol=2e-6, err_msg=sample["id"])


@pytest.mark.parametrize(
    "n", [2, 5, 16, pytest.param(31, marks=pytest.mark.slow), pytest.param(100, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize(("rules", "patience"), [(em.MCLUST, 0), (em.REPLICATE, 0), (em.REPLICATE, 2)])
def test_against_the_numpy_twin(kernels: list[str], n: int, rules: em.StoppingRules, patience: int) -> None:
    rows = three_peaks(6, n, seed=n)
    K_max = min(9, n)
    starts = em.quantile_starts(rows, K_max)
    twin = em.search(rows, starts, K_max, rules, kernel="numpy", K_always=2, patience=patience)
    for kernel in kernels:
        fits = em.search(rows, starts, K_max, rules, kernel=kernel, K_always=2, patience=patience)
        # Near a flat maximum rounding decides which step is the last one.
        np.testing.assert_allclose(fits.loglik, twin.loglik, rtol=0, atol=1e-6)
        np.testing.assert_array_equal(fits.best, twin.best)
        np.testing.assert_allclose(fits.parameters, twin.parameters, rtol=0, atol=1e-4)
        distances, naive = (distances_of(rows, twin, kernel=each) for each in (kernel, "numpy"))
        np.testing.assert_allclose(distances, naive, rtol=0, atol=1e-14)


@pytest.mark.parametrize("single", [True, False])
def test_instruction_sets_agree_to_the_last_bit(kernels: list[str], single: bool) -> None:
    """Machines with fused multiply-add give the same bits, whatever the width of their vectors."""
    fused = [kernel for kernel in kernels if kernel != "plain"]
    rows = three_peaks(40, 57, seed=3)
    starts = em.quantile_starts(rows, 9)
    results = [em.search(rows, starts, 9, em.REPLICATE, single=single, kernel=kernel) for kernel in fused]
    for other in results[1:]:
        np.testing.assert_array_equal(other.loglik, results[0].loglik)
        np.testing.assert_array_equal(other.parameters, results[0].parameters)
        np.testing.assert_array_equal(other.steps, results[0].steps)


@pytest.mark.parametrize("single", [True, False])
def test_result_does_not_depend_on_neighbours_or_threads(kernels: list[str], single: bool) -> None:
    rows = three_peaks(37, 40, seed=4)
    starts = em.quantile_starts(rows, 9)
    together = em.search(rows, starts, 9, em.REPLICATE, single=single)
    threaded = em.search(rows, starts, 9, em.REPLICATE, single=single, jobs=3)
    np.testing.assert_array_equal(threaded.loglik, together.loglik)
    np.testing.assert_array_equal(threaded.parameters, together.parameters)
    for i in (0, 17, 36):
        alone = em.search(rows[i : i + 1], starts, 9, em.REPLICATE, single=single)
        np.testing.assert_array_equal(alone.loglik[0], together.loglik[i])
        np.testing.assert_array_equal(alone.parameters[0], together.parameters[i])


@pytest.mark.parametrize("n", [30, 100, 300])
def test_single_precision_decides_as_double(kernels: list[str], n: int) -> None:
    """The same K and model, and the distance to about 1e-5."""
    rows = three_peaks(100, n, seed=n)
    starts = em.quantile_starts(rows, 9)
    single = em.search(rows, starts, 9, em.REPLICATE, single=True)
    double = em.search(rows, starts, 9, em.REPLICATE)
    agree = (single.best == double.best).all(axis=1)
    assert agree.mean() >= 0.98
    gap = np.abs(distances_of(rows, single) - distances_of(rows, double))[agree]
    assert np.quantile(gap, 0.98) < 2e-4


@pytest.mark.parametrize("n", [27, 80])
def test_climbs_that_are_given_up_would_not_have_won(n: int) -> None:
    """Against searches that give nothing up: the same choice but for a few rows."""
    rng = np.random.default_rng(n)
    normal, heavy = np.sort(rng.normal(size=(150, n)), axis=1), np.sort(rng.standard_t(3, (150, n)), axis=1)
    for rows in (three_peaks(150, n, seed=n), normal, heavy):
        starts = em.quantile_starts(rows, 9)
        quick = em.search(rows, starts, 9, em.REPLICATE, single=True)
        whole = em.search(rows, starts, 9, replace(em.REPLICATE, give_up=False), single=True)
        same = (quick.best == whole.best).all(axis=1)
        assert same.mean() >= 0.97
        np.testing.assert_array_equal(quick.parameters[same], whole.parameters[same])
        assert np.abs(quick.steps).sum() < 0.9 * np.abs(whole.steps).sum()


def test_plain_em_never_loses_likelihood(kernels: list[str]) -> None:
    """The theorem of Dempster, Laird and Rubin, step by step."""
    rows = three_peaks(3, 60, seed=5)
    starts = em.quantile_starts(rows, 6)
    last = np.full((3, 6, 2), -np.inf)
    for steps in range(1, 40):
        rules = replace(em.MCLUST, gain_relative=-1.0, max_steps=steps, extra_step=False)
        loglik = em.search(rows, starts, 6, rules).loglik
        estimable = ~np.isnan(loglik)
        assert (loglik[estimable] >= last[estimable] - 1e-9).all()
        last = np.where(estimable, loglik, last)


def test_starts_without_ties_are_the_general_rule() -> None:
    """The short cut for samples without ties gives the classes of the quantiles themselves."""
    rng = np.random.default_rng(7)
    for n in (2, 3, 10, 31, 100):
        x = np.sort(rng.normal(size=n))
        short = em.quantile_starts(x[np.newaxis], min(9, n))[0].tolist()
        expected = []
        for k in range(2, min(9, n) + 1):
            cuts = [np.quantile(x, j / k) for j in range(1, k)]
            expected += [0, *(int(np.sum(x < cut - 1e-12)) for cut in cuts), n]
        assert short == expected


def test_empty_class_and_constant_row_are_not_estimable() -> None:
    rows = np.array([[0.0, 0.0, 0.0, 1.0, 1.0], [2.0, 2.0, 2.0, 2.0, 2.0]])
    fits = em.search(rows, em.quantile_starts(rows, 4), 4, em.REPLICATE, single=True)
    assert fits.best[0, 0] == 1
    assert np.isnan(fits.loglik[0, 2:]).all()
    assert fits.best[1, 0] == 0
    assert np.isnan(fits.loglik[1]).all()
    distances = distances_of(rows, fits)
    assert np.isfinite(distances[0])
    assert np.isnan(distances[1])


def test_too_many_components_and_sizes_whose_product_wraps_are_refused() -> None:
    row = three_peaks(1, 10, seed=8)
    with pytest.raises(UsageError, match=r"K must lie in 1\.\.32"):
        em.search(row, em.quantile_starts(row, 2), 33, em.REPLICATE)
    # 8 rows n bytes are, modulo 2^64, the 172 doubles of x: x is refused, and before anything is read.
    compiled = pytest.importorskip("speedproof.mixture._em")
    rows, n, x, few = 1_086_613_298, 2_122_045_638, np.zeros(172), np.zeros(8)
    rules, plain = (1e-5, 0.0, 1e-16, 50, 1, 0, 0, 0), len(compiled.kernels()) - 1
    assert 8 * rows * n % 2**64 == x.nbytes < 8 * rows * n
    with pytest.raises(ValueError, match=r"^x: 1376 bytes"):
        compiled.ks(x, few, few, few, rows, n, 1)
    with pytest.raises(ValueError, match=r"^x: 1376 bytes"):
        compiled.search(x, few, few, few, few, few, rows, n, 1, rules, 0, 0, 0, plain)


def test_kernels_leave_none_its_references() -> None:
    """Headers of 3.12 return None without a reference: earlier Pythons abort once they have lost all of them."""
    row = three_peaks(1, 10, seed=8)
    before = sys.getrefcount(None)
    for _ in range(1000):
        em.search(row, em.quantile_starts(row, 2), 2, em.REPLICATE)
    assert abs(sys.getrefcount(None) - before) < 500

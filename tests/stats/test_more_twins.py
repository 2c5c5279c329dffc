"""More procedures on arrays written out: Hill's deviate, quantiles of the permutation test, changes of level."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from speedproof.protocols.bisection_outlook import (
    noise_of,
    outlook_of_ends,
    outlook_of_search,
    residuals_of,
)
from speedproof.stats import change_points
from speedproof.stats.change_scan import change_scan
from speedproof.stats.forecast import blocks_for_proof, smallest_provable
from speedproof.stats.permutation import _normal_deviate, null_distribution, one_order
from speedproof.stats.sequential import PairedSequence
from speedproof.stats.two_levels import two_levels


def test_hills_deviate_as_published() -> None:
    """Algorithm 395, and within a thousandth of Student's distribution from three degrees on."""
    t, df = np.meshgrid([0.1, 0.8, 2.0, 5.0, 30.0], [3.0, 4.5, 11.0, 60.0])
    a = df - 0.5
    b, y = 48 * a**2, a * np.log(1 + t**2 / df)
    series = 1 + (y + 3) / b - (4 * y**3 + 33 * y**2 + 240 * y + 855) / (10 * b * (0.8 * y**2 + 100 + b))
    found = _normal_deviate(t, df)
    np.testing.assert_allclose(found, np.sqrt(y) * series, rtol=1e-12)
    near = t < 10
    np.testing.assert_allclose(found[near], stats.norm.isf(stats.t.sf(t[near], df[near])), rtol=2e-3)


@pytest.mark.parametrize(("n", "m"), [(3, 4), (8, 9), (5, 40), (25, 30)])
def test_critical_scores_are_where_the_pvalue_passes(n: int, m: int) -> None:
    """Of the enumerated distribution and of the approximated one; both ends of the quantile, too."""
    for independent in (True, False):
        null = null_distribution(n, m, independent)
        for alpha in (0.3, 0.1, 0.05, 0.02, 1e-3):
            at = null.critical(alpha)
            if math.isinf(at) or alpha < one_order(n, m):
                continue  # no score is enough
            assert float(null.pvalue(np.array(at * (1 + 1e-9)))) <= alpha * (1 + 1e-6)
            assert float(null.pvalue(np.array(at - 1e-6 * abs(at)))) > alpha * (1 - 1e-6)
            if not null.exact:
                # The statistic of the quantile has the score of the risk.
                df = np.array([4.0, 17.0, 300.0])
                z = stats.norm.isf(stats.t.sf(null.quantile(alpha, df), df))
                k = 0.13 / min(n, m)
                stretched = z / np.sqrt(1 + 2 * k * (z**2 - 5.0))
                np.testing.assert_allclose(stretched, stats.norm.isf(alpha), rtol=1e-6)


def naive_change_pvalue(x: np.ndarray) -> float:
    """Two levels with a share of the risk, the scan with another, short windows with a twentieth."""
    n = x.size
    share = min(1.0, max(0.02, 200 / math.comb(n, 3)))
    found = [float(two_levels(x[None]).pvalue[0]) / share]
    if share < 1:
        passing = 0.05 if n >= 40 else 0.0
        found.append(float(change_scan(x).pvalue) / (1 - share - passing))
        if passing:
            windows = []
            length = float(n)
            while length >= 8:
                size = math.ceil(length)
                count = 2 * math.ceil(n / size) - 1
                starts = sorted({int(v) for v in np.linspace(0, n - size, count)})
                windows += [x[s : s + size] for s in starts if 18 <= size <= 72]
                length *= 2**-0.5
            least = min(float(two_levels(w[None]).pvalue[0]) for w in windows)
            found.append(least * len(windows) / passing)
    return min(1.0, *found)


@pytest.mark.parametrize("n", [8, 11, 20, 39, 41, 90])
def test_pvalues_of_any_change(n: int) -> None:
    rng = np.random.default_rng(n)
    x = rng.standard_normal((6, n))
    x[1] += 4.0 * (np.arange(n) >= n // 2)
    x[2] += 2.0 * (np.arange(n) >= n - 3)
    x[3, n // 3 : n // 2 + 4] += 9.0
    expected = [naive_change_pvalue(row) for row in x]
    assert change_points.change_pvalues(x).tolist() == pytest.approx(expected)


def test_what_a_bisection_would_need() -> None:
    """The formulas of the outlook: a pair has two runs, runs grow with the square of the noise."""
    rng = np.random.default_rng(4)
    groups = [0.02 * rng.standard_normal(k) + 0.1 * k for k in (5, 1, 8)]
    residuals = residuals_of(groups)
    assert residuals.tolist() == pytest.approx(
        [v - np.median(g) for g in groups if g.size > 1 for v in g.tolist()]
    )
    noise = noise_of(residuals)
    assert noise == pytest.approx(1.4826 * stats.median_abs_deviation(residuals) / math.sqrt(2))
    assert math.isnan(noise_of(residuals[:1]))
    for shift in (0.0, 0.01, -0.03):
        ends = PairedSequence(alpha=0.01)
        for value in (shift + 0.03 * rng.standard_normal(24)).tolist():
            ends.add(math.exp(value), 1.0)
        pairs = min(
            ends.blocks_to_go(side=1),
            ends.blocks_to_go(side=-1),
            max(ends.blocks_to_go(gamma=1 / 1.02, side=1), ends.blocks_to_go(gamma=1.02, side=-1)),
        )
        found = outlook_of_ends(ends, noise, 0.02, 0.01)
        enough = noise * math.sqrt(24 / (24 + pairs)) if math.isfinite(pairs) else math.nan
        centred = ends.differences - np.median(ends.differences)
        assert (found.noise, found.more_runs) == (noise, 2 * pairs)
        assert found.enough_noise == pytest.approx(enough, nan_ok=True)
        assert found.visible == pytest.approx(smallest_provable(centred, 24, alpha=0.01) - 1)
        change = float(np.median(ends.differences))
        for step, left in itertools.product((None, ends), (1, 40)):
            proof = blocks_for_proof(abs(change) + residuals, 0.01)
            missing = proof if step is None else step.blocks_to_go(side=1 if change > 0 else -1)
            missing = missing if math.isfinite(missing) else proof
            more = missing + 0.4 * math.log2(left) * proof
            search = outlook_of_search(ends, step, left, 30, residuals, 0.01)
            assert search.more_runs == pytest.approx(2 * more)
            assert search.enough_noise == pytest.approx(noise * math.sqrt(30 / (30 + more)), nan_ok=True)


def test_the_probability_of_one_order() -> None:
    """1 over the orders, while that is a double; below there is none."""
    for n, m in ((1, 1), (3, 3), (4, 9), (499, 499), (499, 501), (2, 100_000)):
        assert one_order(n, m) == one_order(m, n) == 1 / math.comb(n + m, n)
    assert one_order(500, 500) == one_order(4000, 600) == 0.0

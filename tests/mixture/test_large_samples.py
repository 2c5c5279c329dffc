"""Large samples are fitted on cells of their values: against the values, one by one, and EM on all of them."""

from collections.abc import Iterator
from itertools import pairwise
from math import lgamma, log

import numpy as np
import numpy.typing as npt
import pytest
from scipy import optimize, stats

from speedproof.mixture import em, em_numpy, search
from speedproof.mixture.fitting import MixtureFit, fit, standardise
from speedproof.mixture.modes import one_mode

Floats = npt.NDArray[np.float64]
MIXTURE = np.array([[[0.5, 0.3, 0.2], [-0.6, 0.3, 1.6], [0.3, 0.05, 1.2]]])


def large(n: int, seed: int) -> Iterator[tuple[str, Floats]]:
    """Samples of many laws."""
    rng = np.random.default_rng([n, seed])
    z = rng.integers(0, 3, n)
    yield "three states", np.array([0.0, 4.0, 9.0])[z] + np.array([0.5, 1.0, 1.5])[z] * rng.normal(0, 1, n)
    yield "one width", np.array([0.0, 3.0, 4.5])[z] + rng.normal(0, 1, n)
    yield "skewed", rng.lognormal(0, 0.4, n)
    yield "outliers", rng.normal(50, 1, n) + np.where(rng.random(n) < 0.002, rng.exponential(30, n), 0.0)
    yield "few far away", np.append(rng.normal(50, 1, n - 12), rng.normal(60, 0.3, 12))
    yield "a narrow state", np.where(rng.random(n) < 0.03, rng.normal(51, 0.02, n), rng.normal(50, 1, n))
    yield "rounded", rng.normal(50, 1, n).round(2) + 4.0 * (rng.random(n) < 0.3)
    yield "tied", (rng.normal(50, 1, n) + 4.0 * (rng.random(n) < 0.3)).round()
    yield "a drift", rng.normal(50, 1, n) + np.linspace(0, 4, n)


def parts(x: Floats, cells: em.Cells) -> list[Floats]:
    return np.split(x, np.cumsum(cells.table[1])[:-1].astype(int))


@pytest.mark.parametrize("most", [250, 833])
def test_cells_are_of_all_values(most: int) -> None:
    """Their counts, means and mean squares are those of neighbours, equal values together."""
    for _, x in large(15_000, 1):
        u, _, _ = standardise(x)
        cells = em.Cells.of(u, most)
        counts, each = cells.table[1], parts(u, cells)
        assert cells.n == u.size
        assert cells.size <= 1.5 * most + 1
        np.testing.assert_array_equal([part.size for part in each], counts)
        np.testing.assert_allclose(cells.table[0], [part.mean() for part in each], atol=1e-13)
        np.testing.assert_allclose(cells.table[2], [part.var() for part in each], atol=1e-12)
        assert all(left[-1] < right[0] for left, right in pairwise(each))
        alone = {part[0]: part.size for part in each if part[0] == part[-1]}
        for value, count in zip(*np.unique(u, return_counts=True), strict=True):
            assert count * most <= 4 * u.size or alone[value] == count


def test_the_bound_against_every_value() -> None:
    """Verbeek, Nunnink and Vlassis' equation by loops over values; below the log-likelihood, by little."""
    w, mu, v = MIXTURE[0]
    for name, x in large(4000, 2):
        u, _, _ = standardise(x)
        cells = em.Cells.of(u, 250)
        means = np.array(
            [stats.norm.logpdf(p[:, None], mu, np.sqrt(v)).mean(axis=0) for p in parts(u, cells)]
        )
        naive = float(cells.table[1] @ np.logaddexp.reduce(np.log(w) + means, axis=1))
        bound, _ = em_numpy.e_step(cells.table[:1], MIXTURE, cells)
        assert bound[0] == pytest.approx(naive, rel=1e-12)
        whole = float(
            np.logaddexp.reduce(np.log(w) + stats.norm.logpdf(u[:, None], mu, np.sqrt(v)), axis=1).sum()
        )
        assert 0.0 <= whole - naive + 1e-8 < 1.0, name


@pytest.mark.parametrize("most", [2, 5, 60, 250])
def test_new_components_are_where_cells_hold_too_much(most: int) -> None:
    """Kulldorff's likelihood ratio of every window of so many cells, one by one; and cells at both ends."""
    w, mu, v = MIXTURE[0]
    for _, x in large(1500, 3):
        u, _, _ = standardise(x)
        cells = em.Cells.of(u, most)
        (means, counts, _), each = cells.table, parts(u, cells)
        density = np.exp(stats.norm.logpdf(means[:, None], mu, np.sqrt(v))) @ w
        sides = np.clip(np.add.outer(np.arange(cells.size), [1, -1]), 0, cells.size - 1)
        expected = u.size * density * (means[sides[:, 0]] - means[sides[:, 1]]) / 2
        windows = [(at, size) for size in (1, 3) for at in (0, cells.size - size) if size < cells.size]
        for size in (2, 8, 32, 128):
            ratios = [0.0]
            for at in range(cells.size - size + 1 if size < cells.size else 0):
                held, known = counts[at : at + size].sum(), max(expected[at : at + size].sum(), 1e-9)
                ratios.append(held * log(held / known) - held + known if held > known else 0.0)
            if max(ratios) > 0.0:
                windows.append((int(np.argmax(ratios)) - 1, size))
        found = em.crowds(cells, np.pad(MIXTURE[0], ((0, 0), (0, 1))), 3)
        held = [np.concatenate(each[at : at + size]) for at, size in windows]
        new = [[part.size / u.size, part.mean(), max(part.var(), 1e-8)] for part in held]
        np.testing.assert_allclose(found[:, :, 3], new, atol=1e-12)
        np.testing.assert_allclose(found[:, 0, :3], np.outer(1.0 - found[:, 0, 3], w))


@pytest.mark.parametrize("cells", [True, False])
def test_kernels_climb_alike(kernels: list[str], cells: bool) -> None:
    """As their twin does, a few steps and to the top; one far value is out of the densities' range."""
    x = np.append(np.random.default_rng(4).normal(0, 1, 5000 if cells else 300), [0.5, 90.0])
    u, _, _ = standardise(x)
    data = em.Cells.of(u, 250) if cells else u
    places = [(3, em.V), (3, em.E), (1, em.E)]
    for most, tolerance in ((4, 1e-9), (3000, 1e-4)):
        rules = em.StoppingRules(1e-9, 0.0, 1e-8, most, accelerate=True, extra_step=False, clamp=True)
        twin = np.repeat(MIXTURE, 3, axis=0)
        expected, taken = em.climb(data, twin, places, rules, kernel="numpy")
        for kernel in kernels:
            reached = np.repeat(MIXTURE, 3, axis=0)
            heights, steps = em.climb(data, reached, places, rules, kernel=kernel)
            assert np.sign(steps).tolist() == np.sign(taken).tolist()  # below zero where it was cut off
            np.testing.assert_allclose(heights, expected, rtol=1e-7 if most > 4 else 1e-12)
            np.testing.assert_allclose(reached, twin, atol=tolerance)


@pytest.mark.parametrize(("n", "cells"), [(4000, True), (400, False), (60, False)])
def test_climbs_end_at_the_top(kernels: list[str], n: int, cells: bool) -> None:
    """SciPy's optimiser finds nothing higher, of the bound on cells or of values, after few steps."""
    rules = em.StoppingRules(0.0, 1e-11, 1e-8, 3000, accelerate=True, extra_step=False, clamp=True)
    u, _, _ = standardise(next(large(n, 5))[1])
    data = em.Cells.of(u, 250) if cells else u

    def height(at: Floats) -> float:
        w = np.exp(at[:3]) / np.exp(at[:3]).sum()
        if isinstance(data, em.Cells):
            m = np.array([[w, at[3:6], np.exp(at[6:])]])
            return float(em_numpy.e_step(data.table[:1], m, data)[0][0])
        return float(np.log(stats.norm.pdf(u[:, None], at[3:6], np.exp(0.5 * at[6:])) @ w).sum())

    for kernel in kernels:
        m = MIXTURE.copy()
        loglik, steps = em.climb(data, m, [(3, em.V)], rules, kernel=kernel)
        end = np.concatenate([np.log(m[0, 0]), m[0, 1], np.log(m[0, 2])])
        assert loglik[0] == pytest.approx(height(end), rel=1e-12)
        assert loglik[0] >= -optimize.minimize(lambda at: -height(at), end).fun - 1e-8
        assert 0 < steps[0] < 100


def naive_em(x: Floats, f: MixtureFit, steps: int) -> tuple[Floats, float]:
    """EM on all values from a fit, by SciPy's densities: the mixture and its log-likelihood."""
    w, mu, sd = f.weights, f.means, f.sds
    for _ in range(steps):
        joint = np.log(w) + stats.norm.logpdf(x[:, None], mu, sd)
        r = np.exp(joint - np.logaddexp.reduce(joint, axis=1)[:, None])
        held = r.sum(axis=0)
        w, mu = held / x.size, x @ r / held
        squares = (r * (x[:, None] - mu) ** 2).sum(axis=0)
        sd = np.sqrt(squares.sum() / x.size if f.kind == "E" else squares / held) + np.zeros(w.size)
    joint = np.log(w) + stats.norm.logpdf(x[:, None], mu, sd)
    return np.array([w, mu, sd]), float(np.logaddexp.reduce(joint, axis=1).sum())


@pytest.mark.parametrize("n", [3100, 15_000])
def test_em_on_all_values_moves_no_fit(n: int) -> None:
    """What is reported is where EM on every value ends, to 1e-5 of a deviation and 1e-6 of BIC."""
    for name, x in large(n, 6):
        f = fit(x, fast=True)
        assert f.loglik == pytest.approx(naive_em(x, f, 0)[1], rel=1e-12)
        if name in ("tied", "rounded"):
            continue  # deviations stand at the limit that a grid leaves
        moved, loglik = naive_em(x, f, 30)
        assert 2.0 * (loglik - f.loglik) < 1e-6, name
        np.testing.assert_allclose(moved, [f.weights, f.means, f.sds], atol=1e-5 * float(x.std()))


@pytest.mark.slow
def test_the_compiled_search_on_cells_against_its_twin(kernels: list[str]) -> None:
    """They scout otherwise; the best is the twin's to the last digits, or higher."""
    for name, x in large(3200, 20):
        if name not in ("three states", "few far away", "a narrow state", "tied"):
            continue
        u, _, _ = standardise(x)
        floor = 0.2 if name == "tied" else 0.0
        tables = [search.table(u, 6, floor, most=3000, kernel=k) for k in ("numpy", *kernels)]
        K = np.arange(1, 7)
        sizes = np.stack([2 * K, 3 * K - 1], axis=1)
        bics = [2 * t.loglik - sizes * log(u.size) for t in tables]
        for bic in bics[1:]:
            more = float(np.nanmax(bic) - np.nanmax(bics[0]))
            assert more > -1e-6, name
            assert more > 1.0 or np.nanargmax(bic) == np.nanargmax(bics[0])


def test_one_mode_against_every_value() -> None:
    """The likeliest laws by sums over values on either side, one by one."""
    rng = np.random.default_rng(7)
    for x in (rng.normal(0, 1, 60), rng.exponential(1, 60), np.repeat([1.0, 2.0, 4.0], [5, 30, 8])):
        x.sort()
        best = {"symmetric": -np.inf, "skewed": -np.inf}
        ends = [x.mean(), 0.5 * (x[0] + x[-1])]
        for m in (*np.quantile(x, np.linspace(0, 1, 41)), *ends):
            for b in (0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0, 8.0, 16.0, 64.0):
                left, right = (sum(abs(v - m) ** b for v in x if (v < m) == side) for side in (True, False))
                # The likeliest scales on both sides, put into the density exp(-(|x - m| / scale)^b).
                width = left ** (1 / (b + 1)) + right ** (1 / (b + 1))
                a, c = ((b * width / x.size) ** (1 / b) * s ** (1 / (b + 1)) for s in (left, right))
                far = [(abs(v - m) / (a if v < m else c)) ** b if v != m else 0.0 for v in x]
                log_mass = log(a + c) + lgamma(1 + 1 / b)
                best["skewed"] = max(best["skewed"], -sum(far) - x.size * log_mass)
                if b >= 2:
                    scale = (b * (left + right) / x.size) ** (1 / b)
                    log_mass = log(2 * scale) + lgamma(1 + 1 / b)
                    height = -(left + right) / scale**b - x.size * log_mass
                    best["symmetric"] = max(best["symmetric"], height)
        assert one_mode(x) == pytest.approx(tuple(best.values()), rel=1e-10)

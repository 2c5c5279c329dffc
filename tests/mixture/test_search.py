"""The best mixture is found: against random starts, against every partition, and on data that mislead EM."""

from collections.abc import Iterator
from itertools import combinations, islice, product
from math import log
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats
from studies.mixture_best_fits import best_of_random_starts, large_samples, samples

from speedproof.errors import DataError
from speedproof.mixture import em, search
from speedproof.mixture.fitting import MixtureFit, fit, standardise
from speedproof.mixture.model import MixtureModel

AMMP = Path(__file__).parents[1] / "data" / "oracle_mixture" / "ammp-c2.txt"
Floats = npt.NDArray[np.float64]


@pytest.mark.parametrize("n", [20, 35, 50])
def test_an_outlier_takes_one_component(n: int) -> None:
    """Two components, not a plateau of equal ones: never below the two means that anybody would start from."""
    x = np.append(np.random.default_rng(n).normal(10, 0.1, n - 1), 14.0)
    f = fit(x)
    plain = np.array([[[1 - 1 / n, 1 / n], [x[:-1].mean(), 14.0], [0.01, 0.01]]])
    rules = em.StoppingRules(0.0, 1e-12, 1e-14, 3000, accelerate=True, extra_step=False)
    loglik, _ = em.climb(np.sort(x), plain, [(2, em.E)], rules)
    assert f.bic >= 2 * float(loglik[0]) - 4 * log(n) - 1e-6
    assert apart(f.model)


def apart(model: MixtureModel, least: float = 1e-3) -> bool:
    """Whether no two components have the same mean and deviation within this share of a deviation."""
    pairs = combinations(range(model.components), 2)
    mu, sd = model.means, model.sds
    return all(max(abs(mu[i] - mu[j]), abs(sd[i] - sd[j])) > least * min(sd[i], sd[j]) for i, j in pairs)


def given_sizes() -> Iterator[tuple[Floats, int]]:
    """Samples with a number of components, mostly more than they need."""
    rng = np.random.default_rng(28)
    yield np.loadtxt(AMMP), 5
    for n, K in product((12, 30, 80, 200), (2, 3, 5, 7)):
        normal = rng.normal(10.0, 1.0, n)
        yield from ((x, K) for x in (normal, normal.round(1), normal.round(), rng.exponential(1.0, n)))
        yield np.append(normal[::2], normal[1::2] + 5.0), K


def test_components_of_a_given_number_never_coincide() -> None:
    """No two lie within a twentieth of a deviation, none holds less than half a value, and EM moves none."""
    refused = []
    for x, K in given_sizes():
        try:
            f = fit(x, components=K)
        except DataError as error:
            refused.append((str(error), np.unique(x).size - K))
            continue
        assert f.components == K
        if f.kind == "E":
            assert np.diff(f.means).min() >= 0.05 * f.sds[0]
        assert apart(f.model, 0.05)
        assert f.weights.min() * x.size >= 0.5
        if np.unique(x).size == x.size:  # ties: a deviation may stand at its limit
            shares = f.model.responsibilities(x)
            np.testing.assert_allclose(shares.mean(axis=0), f.weights, atol=1e-3)
            np.testing.assert_allclose(x @ shares / shares.sum(axis=0), f.means, atol=1e-3 * x.std())
    # Whole numbers, hardly more distinct ones than components.
    assert refused
    assert all("components that differ: give fewer" in message and more < 2 for message, more in refused)


def test_the_best_mixture_of_a_given_number_may_be_concentric() -> None:
    """A narrow and a wide component with one mean are two."""
    x = np.append(
        stats.norm(0, 0.1).ppf((np.arange(40) + 0.5) / 40), stats.norm(0, 3).ppf((np.arange(40) + 0.5) / 40)
    )
    f = fit(x, components=2)
    assert f.kind == "V"
    assert abs(f.means[1] - f.means[0]) < 0.05 * f.sds.min()
    assert f.sds.max() > 10 * f.sds.min()


def test_partitions_against_every_one() -> None:
    """Of values in order, no cut is better than the one found: by squares, or by the likelihood of classes.

    For the second a class holds two values or more, and its variance a tenth of what they lie apart, squared.
    """
    rng = np.random.default_rng(5)
    for n in [11] * 20 + [4, 3]:
        x = np.sort(rng.normal(0, 1, n) + 4 * rng.integers(0, 3, n))
        least = (0.1 * (x[3 * n // 4] - x[n // 4]) / (n // 2)) ** 2

        def squares(part: Floats) -> float:
            return float(((part - part.mean()) ** 2).sum()) if part.size else np.inf

        def unlikely(part: Floats, least: float = least) -> float:
            k = part.size
            return k * (0.5 * log(part.var() + least) - log(k)) if k > 1 else np.inf

        found = []
        for cost in (squares, unlikely):
            for K in range(2, 5):
                every = [np.array([0, *cuts, n]) for cuts in combinations(range(1, n), K - 1)]
                costs = [sum(map(cost, np.split(x, line[1:-1]))) for line in every]
                if costs and min(costs) < np.inf:
                    found.append(every[int(np.argmin(costs))].tolist())
        assert [line.tolist() for line in em.partitions(x, 4)] == found
        assert [line.tolist() for line in em.partitions(x, 4, 3)] == [line for line in found if len(line) > 3]


def test_a_start_is_of_its_classes() -> None:
    """Shares, means and variances of the values that it cuts, tied ones too; equal values are spread a little."""
    x = np.repeat(np.sort(np.random.default_rng(3).normal(0, 1, 30)), 2)
    lines = [*em.quantile_classes(x, 5), *em.partitions(x, 5), np.array([0, 2, 60])]
    mixtures, K = em.from_classes(x, lines, 6)
    for line, mixture, k in zip(lines, mixtures, K, strict=True):
        each = np.split(x, line[1:-1])
        assert k == len(each)
        expected = [[part.size / 60, part.mean(), max(part.var(), 1e-6)] for part in each]
        np.testing.assert_allclose(mixture[:, :k].T, expected, rtol=1e-9)
        assert not mixture[:, k:].any()
    # Quantiles of ties: no class is empty, and of three different values no more than three are made.
    of_three = [line.tolist() for line in em.quantile_classes(np.repeat([0.0, 1.0, 2.0], 4), 6)]
    assert of_three == [[0, 4, 12], [0, 4, 8, 12]]


def moments(mixtures: Floats) -> Floats:
    """Mean and variance of each mixture."""
    w, mu, v = np.moveaxis(mixtures, -2, 0)
    mean = (w * mu).sum(axis=-1)
    return np.array([mean, (w * (v + (mu - mean[..., None]) ** 2)).sum(axis=-1)])


def test_moves_keep_weights_and_moments() -> None:
    """A split or merged mixture has the same mean and variance, and but for what is moved the same components."""
    mixture = np.zeros((3, 5))
    mixture[:, :3] = [0.2, 0.5, 0.3], [1.0, 2.0, 5.0], [0.1, 0.2, 0.3]
    mean, variance = moments(mixture)
    *split, wide = em.splits(mixture, 3)
    merged = em.merges(mixture, 3)
    np.testing.assert_allclose(moments(np.array([*split, *merged])).T, [[mean, variance]] * 6)
    for k, one in enumerate(split):
        assert one[0, k] == one[0, 3] == mixture[0, k] / 2
        assert one[1, k] < mixture[1, k] < one[1, 3]
        np.testing.assert_array_equal(np.delete(one, [k, 3], axis=1), np.delete(mixture, [k, 3], axis=1))
    for one, rest in zip(merged, (2, 1, 0), strict=True):
        np.testing.assert_array_equal(one[:, 0], mixture[:, rest])
        assert not one[:, 2:].any()
    assert wide[0].sum() == pytest.approx(1.0)
    np.testing.assert_allclose(wide[:, 3], [0.15, mean, 4.0 * variance])
    np.testing.assert_allclose(moments(wide[:, :3] / [[0.85], [1.0], [1.0]]), [mean, variance])


@pytest.mark.parametrize("n", [3, 4, 5, 60, 400])
def test_new_components_are_where_values_crowd(n: int) -> None:
    """At both ends, and where a window of values holds most of what the mixture does not explain, one by one."""
    rng = np.random.default_rng(n)
    x = np.sort(np.append(rng.normal(0, 1, n - n // 3), rng.normal(0.7, 0.05, n // 3)))
    mixture = np.zeros((3, 4))
    mixture[:, :2] = [0.7, 0.3], [0.1, -0.4], [0.8, 1.5]
    density = np.exp(-0.5 * (x[:, None] - mixture[1, :2]) ** 2 / mixture[2, :2]) @ (
        mixture[0, :2] / np.sqrt(mixture[2, :2])
    )
    windows = [(at, size) for size in (2, 3) for at in (0, n - size) if size < n]
    for size in sorted({max(4, round(share * n)) for share in (0.0, 0.06, 0.12, 0.25)} if n > 4 else ()):
        # The narrowest, in units of what is expected of it.
        spans = [(x[at + size - 1] - x[at]) * density[at + size // 2] for at in range(n - size + 1)]
        windows.append((int(np.argmin(spans)), size))
    found = em.insertions(x, mixture, 2)
    expected = sorted(
        (size / n, (x[at] + x[at + size - 1]) / 2, (0.3 * (x[at + size - 1] - x[at])) ** 2)
        for at, size in windows
    )
    np.testing.assert_allclose(sorted(map(tuple, found[:, :, 2])), expected)
    np.testing.assert_allclose(found[:, 0].sum(axis=1), 1.0)
    np.testing.assert_array_equal(
        found[:, 1:, [0, 1, 3]], np.tile(mixture[1:, [0, 1, 3]], (len(found), 1, 1))
    )


def test_few_points_are_quantiles() -> None:
    """Each in the middle of an equal part: Hazen's of SciPy and NumPy."""
    x = np.sort(np.random.default_rng(2).exponential(1, 500))
    for count in (48, 256, 499):
        np.testing.assert_allclose(
            em.condensed(x, count),
            np.quantile(x, (np.arange(count) + 0.5) / count, method="hazen"),
            rtol=1e-13,
        )
    assert em.condensed(x, 500) is x
    apart = np.diff(x[125:376]).mean()  # of the middle half
    assert search.spread_of_neighbours(x) == pytest.approx(4 * apart)


@pytest.mark.parametrize(("n", "far"), [(15_004, 4), (100_000, 30), (100_000, 50), (4000, 2)])
def test_a_fast_fit_invents_no_values_between_distant_ones(n: int, far: int) -> None:
    """A far component is that of the far values or none, and the likelihood is that of all values."""
    rng = np.random.default_rng(1)
    away = rng.normal(130.0, 1.0, far)
    x = np.append(rng.normal(100.0, 1.0, n - far), away)
    f = fit(x, fast=True)
    assert f.loglik == pytest.approx(loglik(f, x), rel=1e-12)
    assert f.bic == pytest.approx(2 * f.loglik - f.df * log(n), rel=1e-12)
    assert f.components == 2
    assert f.weights[1] == pytest.approx(far / n, rel=1e-6)
    assert f.means[1] == pytest.approx(away.mean(), rel=1e-6)
    assert f.sds[1] == pytest.approx(away.std() if f.kind == "V" else 1.0, rel=0.02)


def loglik(f: MixtureFit, x: Floats) -> float:
    return float(np.log(stats.norm.pdf(x[:, None], f.means, f.sds) @ f.weights).sum())


@pytest.mark.slow
def test_the_compiled_search_against_its_twin(kernels: list[str]) -> None:
    """It scouts in single precision and leaves what cannot win; the best is the same to the last digits."""
    for i, x in enumerate(samples(12, 10)):
        u, _, _ = standardise(x)
        floor = 0.1 if i % 2 else 0.0
        values = np.round(u / 0.25) * 0.25 if i % 2 else u
        naive = search.table(values, 9, floor, kernel="numpy")
        for kernel, every in product(kernels, (True, False)):
            found = search.table(values, 9, floor, every=every, kernel=kernel)
            if every:
                np.testing.assert_array_equal(np.isnan(found.loglik), np.isnan(naive.loglik))
            best = np.unravel_index(np.nanargmax(bics(found.loglik, u.size)), (9, 2))
            assert found.loglik[best] == pytest.approx(naive.loglik[best], rel=1e-12, abs=1e-9), (i, kernel)
            ones = [table.mixtures[best][:, : best[0] + 1] for table in (found, naive)]
            order, other = (np.argsort(m[1]) for m in ones)
            np.testing.assert_allclose(ones[0][:, order], ones[1][:, other], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("n", [9, 12, 15, 20, 160])
def test_the_twin_finds_every_mixture(kernels: list[str], n: int) -> None:
    """Of few values not only the best: the compiled search ends the others a little before their tops."""
    rng, apart, best = np.random.default_rng(n), [], []
    hard: list[Floats] = []
    if n == 160:  # whose best mixture is found by the last moves alone
        last = np.random.default_rng([n, 112])
        hard.append(np.append(last.normal(0, 1, n - 40), last.exponential(5, 40)))
    for x in (
        rng.exponential(1, n), rng.standard_t(2, n), rng.normal(0, 1, n).round(1), rng.pareto(3, n),
        *(rng.normal(0, 1, n) + far * rng.integers(0, 3, n) for far in (0, 2, 4)), *hard,
    ):  # fmt: skip
        u, K_max = standardise(x)[0], min(6, n // 3)
        naive, compiled = (
            search.table(u, K_max, 0.01, every=True, kernel=k).loglik for k in ("numpy", kernels[0])
        )
        best.append(float(np.nanmax(bics(naive, n)) - np.nanmax(bics(compiled, n))))
        apart.append(~np.isclose(naive, compiled, rtol=0, atol=2e-3 if n < 100 else 0.05, equal_nan=True))
    assert np.mean(apart) < 0.03
    assert np.sort(np.abs(best))[-2] < 1e-6


@pytest.mark.parametrize("n", [9, 30, 128, 129, 3500])
def test_instruction_sets_search_alike_to_the_last_bit(kernels: list[str], n: int) -> None:
    """Scouts of several K go side by side, more in wider vectors: none depends on its neighbours, nor on cells."""
    fused = [kernel for kernel in kernels if kernel != "plain"]
    rng = np.random.default_rng(n)
    for x in (
        rng.standard_t(2, n), rng.normal(0, 1, n) + 5 * rng.integers(0, 3, n), rng.normal(0, 1, n).round(1),
    ):  # fmt: skip
        u, K_max = standardise(x)[0], min(9, n // 3)
        tables = [search.table(u, K_max, 0.01, most=3000, kernel=kernel) for kernel in fused]
        for other in tables[1:]:
            np.testing.assert_array_equal(other.loglik, tables[0].loglik)
            np.testing.assert_array_equal(other.mixtures, tables[0].mixtures)


def bics(loglik: Floats, n: int) -> Floats:
    K = np.arange(1, len(loglik) + 1)
    return 2 * loglik - np.stack([2 * K, 3 * K - 1], axis=1) * log(n)


@pytest.mark.parametrize(
    ("law", "seed"), [("exponential", 14), ("lognormal", 5), ("lognormal", 11), ("pareto", 4), ("pareto", 10)]
)
def test_no_worse_than_others_for_long_tails(law: str, seed: int) -> None:
    """They have many mixtures of nearly one likelihood: neither mclust nor random starts find a better one."""
    rng = np.random.default_rng(seed)
    x = {
        "exponential": lambda: rng.exponential(1.0, 1000),
        "lognormal": lambda: rng.lognormal(0.0, 1.0, 1000),
        "pareto": lambda: rng.pareto(3.0, 1000),
    }[law]()
    z = (x - x.mean()) / x.std()
    best = fit(z).bic
    assert best >= fit(z, compatible=True).bic - 1e-6
    assert best >= best_of_random_starts(z, 25, rng) - 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("number", [537, 611, 653])
def test_no_worse_than_random_starts_where_few_points_mislead(number: int) -> None:
    """Samples of the study: one far value of 1,000, two near modes of one width, a tail of 200 values."""
    x = next(islice(large_samples(number + 1, 1), number, None))
    assert fit(x).bic >= best_of_random_starts(x, 50, np.random.default_rng([1, number])) - 2e-6

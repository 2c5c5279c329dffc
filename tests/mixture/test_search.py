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

from speedproof.errors import DataError, UsageError
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
    """k-means of values in order: no cut is better than the one found."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        x = np.sort(rng.normal(0, 1, 11) + 4 * rng.integers(0, 3, 11))
        for K, line in {len(line) - 1: line for line in reversed(em.partitions(x, 4))}.items():
            every = [np.array([0, *cuts, x.size]) for cuts in combinations(range(1, x.size), K - 1)]
            assert within(x, line) == pytest.approx(min(within(x, cuts) for cuts in every), abs=1e-12)


def within(x: Floats, cuts: npt.NDArray[np.int64]) -> float:
    return sum(float(((part - part.mean()) ** 2).sum()) for part in np.split(x, cuts[1:-1]))


def test_moves_keep_weights_and_moments() -> None:
    """A split or merged mixture has weights that sum to one; merging keeps mean and variance."""
    mixture = np.zeros((3, 5))
    mixture[:, :3] = [0.2, 0.5, 0.3], [1.0, 2.0, 5.0], [0.1, 0.2, 0.3]
    x = np.sort(np.random.default_rng(6).normal(2, 1, 60))
    for moved in (em.splits(mixture, 3), em.insertions(x, mixture, 3), em.merges(mixture, 3)):
        np.testing.assert_allclose(moved[:, 0].sum(axis=1), 1.0)
    w, mu, v = np.moveaxis(em.merges(mixture, 3), 1, 0)
    mean = (w * mu).sum(axis=1)
    np.testing.assert_allclose(mean, mixture[0] @ mixture[1])
    np.testing.assert_allclose(
        (w * (v + (mu - mean[:, None]) ** 2)).sum(axis=1),
        mixture[0] @ (mixture[2] + (mixture[1] - mean[0]) ** 2),
    )


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


def test_mclusts_rules_are_not_fast() -> None:
    with pytest.raises(UsageError, match=r"mclust's rules .* fit all values"):
        fit([1.0, 2.0, 4.0], compatible=True, fast=True)


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
            best = np.unravel_index(np.nanargmax(bics(found, u.size)), (9, 2))
            assert found.loglik[best] == pytest.approx(naive.loglik[best], rel=1e-12, abs=1e-9), (i, kernel)
            ones = [table.mixtures[best][:, : best[0] + 1] for table in (found, naive)]
            order, other = (np.argsort(m[1]) for m in ones)
            np.testing.assert_allclose(ones[0][:, order], ones[1][:, other], rtol=1e-4, atol=1e-4)


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


def bics(found: search.BestMixtures, n: int) -> Floats:
    K = np.arange(1, 10)
    return 2 * found.loglik - np.stack([2 * K, 3 * K - 1], axis=1) * log(n)


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

"""``sp.mixture``: the fit with all one asks of it, its distances against SciPy, metrics of any set of versions."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

import speedproof as sp
from speedproof.errors import DataError, UsageError
from speedproof.mixture.goodness import squared_distance
from speedproof.mixture.model import MixtureModel

TRUTH = MixtureModel([0.4, 0.6], [10.0, 20.0], [1.0, 2.0])


def test_a_fit_answers_as_its_model() -> None:
    m = sp.mixture.fit(TRUTH.rvs(200, 1))
    assert m.components == 2
    assert m.model.cdf(m.ppf(0.99)) == pytest.approx(0.99)
    assert m.modes().count == 2
    assert (m.weights.sum(), m.means[0] < m.means[1], m.sds.size) == (pytest.approx(1), True, 2)


@pytest.mark.parametrize("name", ["pdf", "cdf", "sf", "ppf"])
def test_a_number_is_answered_by_a_number(name: str) -> None:
    """As SciPy's distributions do; of one component they are the normal one."""
    x = TRUTH.rvs(50, 1)
    fitted = sp.mixture.fit(x, components=1)
    assert str(fitted) == f"1 component of 50 values: 100 % at {x.mean():.4g} ± {x.std():.2g}"
    expected = getattr(stats.norm(fitted.means[0], fitted.sds[0]), name)
    for at in (0.3, np.float64(0.3), 0, 1):
        found = getattr(fitted.model, name)(at)
        assert type(found) is float
        assert found == pytest.approx(expected(at), rel=1e-9, abs=1e-300)
        assert getattr(fitted.model, name)([at]).tolist() == [found]


def test_observations_of_each_component() -> None:
    """Every value is in one component, the one of which it is likeliest, in the order given."""
    x = TRUTH.rvs(100, 2)
    m = sp.mixture.fit(x)
    parts = m.observations()
    assert sorted(np.concatenate(parts)) == sorted(x)
    density = m.weights * stats.norm.pdf(x[:, None], m.means, m.sds)
    np.testing.assert_array_equal(parts[0], x[density.argmax(axis=1) == 0])


@pytest.mark.parametrize("K", [1, 2, 5])
def test_a_given_number_of_components_is_kept(K: int) -> None:
    m = sp.mixture.fit(TRUTH.rvs(80, 3), components=K)
    assert (m.components, {c.K for c in m.candidates}) == (K, {K})
    with pytest.raises(DataError, match="of 5 components"):
        sp.mixture.fit([1.0, 2.0, 3.0], components=5)
    with pytest.raises(UsageError, match="mclust's rules choose"):
        sp.mixture.fit([1.0, 2.0, 3.0], components=2, compatible=True)


def test_squared_distances_against_scipy() -> None:
    x = np.sort(np.random.default_rng(4).normal(3, 2, 40))
    model = MixtureModel([1.0], [3.0], [2.0])
    expected = stats.cramervonmises(x, stats.norm(3, 2).cdf).statistic / 40
    assert squared_distance(x, model, "cvm") == pytest.approx(expected, rel=1e-12)
    cdf, sf = stats.norm(3, 2).logcdf(x), stats.norm(3, 2).logsf(x)
    a2 = -40 - ((2 * np.arange(1, 41) - 1) / 40 * (cdf + sf[::-1])).sum()
    assert squared_distance(x, model, "ad") == pytest.approx(a2 / 40, rel=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("distance", ["ks", "cvm", "ad"])
def test_every_distance_keeps_its_level_and_sees_a_misfit(distance: Any) -> None:
    """A true mixture is rejected in at most 5 %, by a binomial test; one normal for two modes always."""
    trials = 60
    rejected = sum(
        sp.mixture.fit(TRUTH.rvs(50, s)).goodness(60, s, distance=distance, fast=True).pvalue <= 0.05
        for s in range(trials)
    )
    assert stats.binomtest(rejected, trials, 0.07, alternative="greater").pvalue > 1e-3
    bimodal = sp.mixture.fit(TRUTH.rvs(150, 5), components=1)
    assert bimodal.goodness(60, 1, distance=distance).pvalue <= 0.05


def test_wrong_arguments_are_refused_in_words() -> None:
    m = sp.mixture.fit(TRUTH.rvs(20, 1))
    wrong: list[tuple[Any, str]] = [
        (lambda: m.goodness(distance="far"), "choose one of 'ks', 'observed', 'cvm', 'ad'"),  # type: ignore[arg-type]
        (lambda: m.goodness(undersampling=float("nan")), "undersampling=nan leaves nan of 20"),
        (lambda: sp.mixture.compare(3), "versions=3: expected"),  # type: ignore[arg-type]
        (lambda: sp.mixture.compare([[1.0], [2.0]], ties="none"), "'strict', 'half', 'equal'"),  # type: ignore[arg-type]
        (lambda: sp.mixture.compare([[1.0], [2.0]], delta=float("nan")), "2 versions, delta=nan: expected"),
        (lambda: sp.mixture.compare([]), "0 versions, delta=0: expected one or more"),
        (
            lambda: sp.mixture.fit([1.0, 2.0, 4.0], compatible=True, fast=True),
            r"mclust's rules .* fit all values",
        ),
    ]
    for call, text in wrong:
        with pytest.raises(UsageError, match=text):
            call()
    with pytest.raises(UsageError, match="not both"):
        sp.mixture.compare([[1.0, 2.0], TRUTH])
    assert sp.mixture.compare([TRUTH]).least.tolist() == [1.0]
    with pytest.raises(AttributeError):
        _ = sp.mixture.nothing

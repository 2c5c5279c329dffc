"""The distribution: against values that R computed from given parameters, and against SciPy."""

from decimal import Decimal
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats
from tests.mixture.conftest import given

from speedproof.errors import DataError, UsageError
from speedproof.mixture.model import MixtureModel, Modes


def with_model(samples: list[dict[str, Any]]) -> list[tuple[dict[str, Any], MixtureModel]]:
    return [(s["values"], given(s[s["values"]["computed_from"]])) for s in samples if "values" in s]


def test_modes_against_r(mixtures: list[dict[str, Any]], metrics: dict[str, Any]) -> None:
    """Count, places and the shallowest dip; knife-edge cases among the given mixtures included."""
    cases = [(values["modes"], model) for values, model in with_model(mixtures)]
    for group in metrics["given_mixtures"]:
        cases += [(m, given(g)) for m, g in zip(group["modes"], group["mixtures"], strict=True)]
    for expected, model in cases:
        modes = model.modes()
        assert modes.count == expected["count"]
        np.testing.assert_allclose(
            modes.places / model.sd, np.atleast_1d(expected["at"]) / model.sd, atol=1e-8
        )
        np.testing.assert_allclose(modes.log_densities, np.atleast_1d(expected["log_density"]), atol=1e-8)
        if modes.count > 1:
            assert modes.dips.min() == pytest.approx(expected["shallowest_dip_log_ratio"], abs=1e-8)


def test_quantiles_against_r(mixtures: list[dict[str, Any]], metrics: dict[str, Any]) -> None:
    cases = [(values["quantiles"], model) for values, model in with_model(mixtures)]
    for group in metrics["given_mixtures"]:
        for quantiles, g in zip(group["quantiles"], group["mixtures"], strict=True):
            plain = {p: {"value": q, "density": given(g).pdf(q)} for p, q in quantiles.items()}
            cases.append((plain, given(g)))
    for quantiles, model in cases:
        for p, q in quantiles.items():
            found = model.ppf(float(p))
            # values of 1e9 with a deviation of 1 have no more digits than this
            digits = 4 * np.spacing(abs(q["value"])) * q["density"]
            assert abs(float(found) - q["value"]) * q["density"] < 1e-10 + digits
            assert float(model.cdf(found)) == pytest.approx(float(p), abs=1e-10 + digits)


def test_probabilities_and_moments_against_r(mixtures: list[dict[str, Any]]) -> None:
    for values, model in with_model(mixtures):
        for item in values["probability_at_most"]:
            assert float(model.cdf(item["a"])) == pytest.approx(item["p"], abs=1e-10)
            assert float(model.sf(item["a"])) == pytest.approx(item["upper"], abs=1e-10)
        assert model.mean == pytest.approx(values["mixture_mean"], rel=1e-12)
        assert model.sd == pytest.approx(values["mixture_sd"], rel=1e-7)


def test_loglik_and_clusters_against_r(mixtures: list[dict[str, Any]]) -> None:
    """Cluster sizes, where the classes are those of the returned parameters."""
    for sample in mixtures:
        m = sample["mclust"]
        if "error" in m:
            continue
        model = given(m)
        assert model.loglik(sample["x"]) == pytest.approx(m["loglik_at_parameters"], abs=1e-7)
        if m["loglik_at_parameters"] == m["loglik"]:
            sizes = [cluster.size for cluster in model.clusters(sample["x"])]
            assert sizes == np.atleast_1d(m["cluster_sizes"]).tolist(), sample["id"]


def test_density_against_scipy() -> None:
    model = MixtureModel([0.2, 0.5, 0.3], [3.0, -1.0, 8.0], [0.5, 2.0, 1.0])
    x = np.linspace(-10.0, 12.0, 101)
    parts = [stats.norm(m, s) for m, s in zip(model.means, model.sds, strict=True)]
    for name in ("pdf", "cdf"):
        expected = sum(w * getattr(p, name)(x) for w, p in zip(model.weights, parts, strict=True))
        np.testing.assert_allclose(getattr(model, name)(x), expected)
    assert integrate.quad(lambda v: float(model.pdf(v)), -20, 20, limit=200)[0] == pytest.approx(1.0)
    numeric = (model.logpdf(x + 1e-6) - model.logpdf(x - 1e-6)) / 2e-6
    np.testing.assert_allclose(model.score(x), numeric, atol=1e-6)


def test_far_tails_do_not_underflow_and_quantiles_have_ends() -> None:
    model = MixtureModel([0.5, 0.5], [0.0, 10.0], [1.0, 1.0])
    assert model.logpdf(1e4) == pytest.approx(np.log(0.5) + stats.norm.logpdf(1e4, 10.0), rel=1e-12)
    assert model.sf(40.0) == pytest.approx(0.5 * stats.norm.sf(30.0), rel=1e-9)
    np.testing.assert_allclose(model.responsibilities([1e4, -1e4]), [[0, 1], [1, 0]])
    model = MixtureModel([0.4, 0.6], [0.0, 10.0], [1.0, 3.0])
    q = model.ppf([0.0, 1.0, -0.1, 1.1, np.nan])
    assert (q[0], q[1]) == (-np.inf, np.inf)
    assert np.isnan(q[2:]).all()
    assert model.sf(model.ppf(1 - 1e-13)) == pytest.approx(1e-13, rel=1e-2)


def test_modes_against_a_fine_grid() -> None:
    """Of mixtures of narrow and wide components: as many as there are places higher than both neighbours."""
    rng = np.random.default_rng(6)
    counts = set()
    for _ in range(150):
        K = int(rng.integers(1, 6))
        model = MixtureModel(
            rng.dirichlet(np.full(K, 2.0)), rng.normal(0, 2, K), np.exp(rng.normal(-1, 1, K))
        )
        x = np.concatenate(
            [mu + sd * np.linspace(-9, 9, 4001) for mu, sd in zip(model.means, model.sds, strict=True)]
        )
        x.sort()
        heights = model.logpdf(x)
        tops = np.flatnonzero((heights[1:-1] > heights[:-2]) & (heights[1:-1] >= heights[2:])) + 1
        found = model.modes()
        if found.count > 1 and found.dips.min() < 1e-5:
            continue
        np.testing.assert_allclose(found.places, x[tops], atol=0.01 * model.sds.min() + 0.01)
        counts.add(found.count)
    assert counts >= {1, 2, 3, 4}


def test_two_equal_components_split_at_two_deviations() -> None:
    """A theorem: w = 1/2 and equal deviations have two modes exactly when the means are over 2 s apart."""
    for distance, count in ((1.9, 1), (1.999, 1), (2.001, 2), (2.1, 2)):
        assert MixtureModel([0.5, 0.5], [0.0, distance], [1.0, 1.0]).modes().count == count


def test_shallow_dips_are_joined_the_shallowest_first() -> None:
    """Any of four modes are parted by the lowest valley between, by a loop over the valleys."""
    modes = Modes(
        np.array([0.0, 1.0, 2.0]), np.array([-1.0, -2.0, -1.5]), np.array([0.5, 1.5]), np.array([0.1, 3.0])
    )
    joined = modes.deeper_than(0.2)
    assert (joined.places.tolist(), joined.valleys.tolist()) == ([0.0, 2.0], [1.5])
    assert joined.dips.tolist() == [3.5]
    assert modes.deeper_than(100.0).places.tolist() == [0.0]
    assert modes.deeper_than(0.0).count == 3
    heights, floors = np.array([-1.0, -2.0, -1.5, -0.5]), np.array([-3.0, -2.5, -4.0])
    dips = np.minimum(heights[:-1], heights[1:]) - floors
    modes = Modes(np.arange(4.0), heights, np.arange(3.0) + 0.5, dips)
    for kept in (c for k in (1, 2, 3, 4) for c in combinations(range(4), k)):
        found = modes.among(np.array(kept))
        assert (found.places.tolist(), found.log_densities.tolist()) == ([*kept], heights[[*kept]].tolist())
        lowest = [min(range(a, b), key=floors.__getitem__) for a, b in pairwise(kept)]
        assert found.valleys.tolist() == [at + 0.5 for at in lowest]
        ends = zip(pairwise(kept), lowest, strict=True)
        assert found.dips.tolist() == [min(heights[a], heights[b]) - floors[at] for (a, b), at in ends]


@pytest.mark.parametrize(("w", "mu", "s"), [
    ([], [], []), ([1.0], [0.0, 1.0], [1.0]), ([0.5, 0.6], [0.0, 1.0], [1.0, 1.0]),
    ([0.0, 1.0], [0.0, 1.0], [1.0, 1.0]), ([1.0], [0.0], [0.0]), ([1.0], [np.nan], [1.0]),
])  # fmt: skip
def test_impossible_mixtures_are_refused(w: list[float], mu: list[float], s: list[float]) -> None:
    with pytest.raises(DataError, match="mixture"):
        MixtureModel(w, mu, s)


def test_components_are_kept_in_order_and_read_only() -> None:
    model = MixtureModel([0.25, 0.75], [16.0, 4.0], [2.0, 1.5])
    assert (model.means.tolist(), model.weights.tolist()) == ([4.0, 16.0], [0.75, 0.25])
    with pytest.raises(ValueError, match="read-only"):
        model.means[0] = 1.0


@pytest.mark.parametrize("asked", ["a", "3", ["a"], None, {}, [1, [2]], 1j, b"x", object], ids=str)
def test_what_is_no_number_is_refused(asked: Any) -> None:
    """By every question that a distribution is asked; numbers of any kind are taken."""
    model = MixtureModel([0.25, 0.75], [4.0, 16.0], [1.5, 2.0])
    for name in [
        "pdf", "logpdf", "cdf", "sf", "ppf", "loglik", "responsibilities", "labels", "clusters", "score",
    ]:  # fmt: skip
        with pytest.raises(UsageError, match="expected a number, or an array or a list of numbers"):
            getattr(model, name)(asked)
    numbers: list[Any] = [Decimal("0.5"), Fraction(1, 2), np.float32(0.5), np.array(0.5)]
    for one in numbers:
        assert model.ppf(one) == model.ppf(0.5)
    assert model.cdf([]).size == 0
    assert model.loglik(3.0) == model.logpdf(3.0)
    assert model.rvs(0, 1).size == 0
    with pytest.raises(UsageError, match="n=-1: expected how many"):
        model.rvs(-1, 1)

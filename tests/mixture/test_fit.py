"""Fits against R's mclust and on data made to break them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from speedproof.errors import DataError
from speedproof.mixture.fitting import fit, standardise
from speedproof.mixture.grid import tick


def reference(sample: dict[str, Any]) -> dict[str, Any] | None:
    """mclust's own fit; on standardised values where its absolute limit of variances spoils the raw ones."""
    if "error" in sample["mclust"]:
        return None
    return dict(sample["mclust_on_standardised" if sample["family"] == "nanoseconds" else "mclust"])


def test_compatible_fit_against_r(mixtures: list[dict[str, Any]]) -> None:
    """Model, K, parameters and likelihood of mclust to 1e-6."""
    for sample in mixtures:
        if "error" in (m := sample["mclust"]):
            continue
        x = np.array(sample["x"], dtype=float)
        f = fit(x, compatible=True)
        spread = np.ptp(x)
        assert (f.kind, f.components) == (m["model"], m["G"]), sample["id"]
        assert f.bic == pytest.approx(m["bic"], abs=2e-6)
        assert f.loglik == pytest.approx(m["loglik"], abs=1e-6)
        np.testing.assert_allclose(f.model.weights, np.atleast_1d(m["pro"]), atol=1e-6)
        np.testing.assert_allclose(f.model.means / spread, np.atleast_1d(m["mean"]) / spread, atol=1e-6)
        np.testing.assert_allclose(f.model.sds / spread, np.atleast_1d(m["sd"]) / spread, atol=1e-6)


def on_ticks(sample: dict[str, Any]) -> bool:
    """Whether the values crowd at the ticks of a clock, where mclust's likeliest mixture has spikes on some."""
    return tick(standardise(sample["x"])[0]) is not None


def test_fits_are_at_least_as_good_as_those_of_r(mixtures: list[dict[str, Any]]) -> None:
    """By BIC, of the parameters that are reported; the same where the choice survives convergence with a gap."""
    ticking = same = 0
    for sample in mixtures:
        if (m := reference(sample)) is None:
            continue
        f, enough = fit(sample["x"]), m.get("G", 1) <= max(len(sample["x"]) // 3, 1)
        df = {"X": 2, "E": 2 * f.components, "V": 3 * f.components - 1}[f.kind]
        assert (f.df, f.converged) == (df, True)
        assert f.loglik == pytest.approx(f.model.loglik(sample["x"]), abs=1e-6), sample["id"]
        assert f.bic == pytest.approx(2 * f.loglik - df * np.log(f.n), abs=1e-9)
        if on_ticks(sample):
            ticking += enough
        elif enough:
            assert f.bic >= m["bic"] - 1e-6, sample["id"]
            gap = (sample["mclust"].get("runner_up") or {}).get("gap", 0.0)
            if sample.get("choice_survives_convergence") and gap > 1:
                alike = (f.kind, f.components) == (sample["mclust"]["model"], sample["mclust"]["G"])
                assert alike or f.bic > sample["mclust"]["bic"] + 1e-6, sample["id"]
                same += alike
    assert ticking <= 5
    assert same > 50


def test_spikes_on_the_ticks_of_a_clock_do_not_win() -> None:
    """The report's own sample lies on ticks of 0.2 s, give or take 0.01: no component is narrower than a tick."""
    x = np.loadtxt(Path(__file__).parents[1] / "data" / "oracle_mixture" / "ammp-c2.txt")
    assert tick(np.sort(x)) == pytest.approx(0.2, abs=0.001)
    assert fit(x).model.sds.min() > 0.2 / np.sqrt(2 * np.pi) * 0.99
    rng = np.random.default_rng(8)
    ticks = np.round(rng.normal(50, 1, 200) / 0.25) * 0.25
    clean, jittered = fit(ticks), fit(ticks + rng.normal(0, 0.004, 200))
    assert (clean.kind, clean.components) == (jittered.kind, jittered.components) == ("X", 1)


def test_ticks_of_any_scale_are_found() -> None:
    """Gaps within ticks a little below a third of those between, wherever doubles begin a new power of two."""
    places = (4.0 * np.arange(-15.0, 15.0)[:, None] + [-0.49, 0.49]).ravel()
    for scale in 10.0 ** np.random.default_rng(8).uniform(-9, 9, 300):
        assert tick(scale * places) == pytest.approx(4.0 * scale)
    # The widest step of the ordered gaps counts: here from those within ticks, of two sizes, to those between.
    assert tick((4.0 * np.arange(30.0)[:, None] + [-0.1, -0.05, 0.15]).ravel()) == pytest.approx(4.0)
    tied = np.sort(np.append(-0.0, np.repeat(0.1 * np.arange(0.0, 20.0), 3)))  # 0 less 0 may be negative
    assert tick(tied) is None


def test_smooth_values_and_a_few_states_have_no_ticks() -> None:
    rng = np.random.default_rng(9)
    for n in (10, 30, 100):
        for _ in range(200):
            assert tick(np.sort(rng.normal(size=n))) is None
    uneven = np.repeat(np.arange(20) + 0.3 * (np.arange(20) % 3 == 1), 5) + rng.normal(0, 0.001, 100)
    assert tick(np.sort(uneven)) is None
    states = np.repeat([10.0, 20.0, 30.0, 40.0], 10) + rng.normal(0, 0.1, 40)
    assert tick(np.sort(states)) is None
    assert fit(states).components == 4


@pytest.mark.parametrize(("values", "message"), [
    ([], "at least two values, not 0"), ([1.0], "at least two values, not 1"),
    ([2.5] * 40, "all 40 values are equal"), ([1.0, np.nan, 2.0], "finite"), ([1.0, np.inf], "finite"),
    ([-1.7e308, 1.7e308], "in another unit"), ([*5e-324 * np.arange(1.0, 40.0)], "differ by more than 1e-300"),
])  # fmt: skip
def test_what_cannot_be_fitted_says_why(values: list[float], message: str) -> None:
    with pytest.raises(DataError, match=message):
        fit(values)


@pytest.mark.parametrize("values", [
    [1.0, 2.0], [1.0, 1.0, 2.0], [3.5] * 28 + [4.25] * 12, [5.0] * 39 + [6.0],
    list(np.repeat([10.0, 10.5, 11.25], [16, 12, 12])), [*(20.0 + 0.5 * np.sin(np.arange(34.0))), 6e6],
    list(1e12 + np.arange(50.0) % 7), list(1e-9 * (1.0 + 1e-3 * np.cos(np.arange(50.0) ** 2))),
    list(1.0 + 1e-12 * np.sin(np.arange(40.0) ** 2)), [0.0, 1e-300, 2e-300, 1.0], list(range(5)),
])  # fmt: skip
def test_hostile_data_have_a_defined_result(values: list[float]) -> None:
    f = fit(values)
    assert 1 <= f.components <= min(9, len(values))
    assert np.isfinite([f.loglik, f.bic]).all()
    assert np.isfinite(f.model.cdf(values)).all()
    assert f.model.modes().count >= 1


def test_compatible_fit_of_tiny_values_names_the_remedy() -> None:
    with pytest.raises(DataError, match="scale the values"):
        fit(1e-12 * np.arange(30.0), compatible=True)

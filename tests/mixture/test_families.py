"""Families with two parameters, against SciPy's likelihoods and samples whose family is known."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import speedproof as sp
from speedproof.arrays import FloatArray
from speedproof.cli.main import main
from speedproof.mixture.analysis import families


def scipy_fit(name: str, x: FloatArray) -> tuple[dict[str, float], float]:
    """Parameters and log likelihood."""
    if name == "log-normal":
        sigma, _, median = stats.lognorm.fit(x, floc=0)
        return {"median": median, "sigma": sigma}, stats.lognorm.logpdf(x, sigma, 0, median).sum()
    if name == "gamma":
        shape, _, scale = stats.gamma.fit(x, floc=0)
        return {"scale": scale, "shape": shape}, stats.gamma.logpdf(x, shape, 0, scale).sum()
    if name == "Weibull":
        shape, _, scale = stats.weibull_min.fit(x, floc=0)
        return {"scale": scale, "shape": shape}, stats.weibull_min.logpdf(x, shape, 0, scale).sum()
    start, scale = stats.expon.fit(x)
    return {"start": start, "scale": scale}, stats.expon.logpdf(x, start, scale).sum()


@pytest.mark.parametrize("unit", [1.0, 1e-9, 1e6])
@pytest.mark.parametrize("spread", [0.02, 0.3, 1.5])
def test_against_scipy(spread: float, unit: float) -> None:
    """Parameters, likelihood and BIC of every family, in any unit."""
    x = unit * np.random.default_rng(1).lognormal(0.0, spread, 60)
    for family in families(x):
        parameters, loglik = scipy_fit(family.name, x)
        assert dict(family.parameters) == pytest.approx(parameters, rel=2e-4)
        assert family.loglik == pytest.approx(loglik, abs=1e-4)
        assert family.loglik >= loglik - 1e-6
        assert family.bic == pytest.approx(2 * family.loglik - 2 * np.log(60))


def test_no_unit_is_too_large_or_too_small() -> None:
    """Values near either end of the doubles rank as others do; values at both ends have no family."""
    x = np.random.default_rng(1).lognormal(0.0, 0.1, 60)
    names = [family.name for family in families(x)]
    for unit in (2.0**1022, 2.0**-1000):
        assert [family.name for family in families(unit * x, N=5)] == names
    assert families(np.repeat([1e-300, 1e300], 5)) == ()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "draw"), [
    ("log-normal", lambda rng: rng.lognormal(0, 0.8, 300)), ("gamma", lambda rng: rng.gamma(2.0, size=300)),
    ("shifted exponential", lambda rng: 5.0 + rng.exponential(1.0, 300)),
    ("Weibull", lambda rng: rng.weibull(5.0, 300)),
])  # fmt: skip
def test_the_true_family_wins_and_is_not_rejected(
    name: str, draw: Callable[[np.random.Generator], FloatArray]
) -> None:
    """By BIC in 16 of 20 samples at least; rejected at 5 % no more often than by chance."""
    wins = rejected = 0
    for seed in range(20):
        found = families(draw(np.random.default_rng(seed)), N=99, seed=seed)
        wins += found[0].name == name
        (own,) = (family for family in found if family.name == name)
        assert own.pvalue is not None
        rejected += own.pvalue <= 0.05
    assert wins >= 16
    assert rejected <= stats.binom.ppf(0.999, 20, 0.05)


def test_what_has_no_family() -> None:
    """Values of zero, and one value again and again."""
    assert families(np.array([0.0, 1.0, 2.0])) == ()
    assert families(np.ones(10)) == ()
    assert {family.pvalue for family in families(np.array([1.0, 2.0, 4.0]))} == {None}


def test_the_command_ranks_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In words for one sample, a column for several, all numbers in JSON."""
    rng = np.random.default_rng(2)
    for name in ("a", "b"):
        text = "\n".join(map(str, 3.0 + rng.exponential(1.0, 100)))
        (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8")
    asked = ["model", str(tmp_path / "a.txt"), "--unit", "ms", "--family", "auto", "--bootstrap", "40"]
    assert main(asked) == 0
    rows = capsys.readouterr().out.splitlines()
    assert any(
        row.startswith("shifted exponential") and "best" in row and "not rejected" in row for row in rows
    )
    assert main([*asked, str(tmp_path / "b.txt")]) == 0
    assert capsys.readouterr().out.count("shifted exponential") == 2
    assert main([*asked, "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["results"]
    assert found["model"]["families"][0]["name"] == "shifted exponential"
    assert sp.model(sp.read(tmp_path / "a.txt", unit="ms"), bootstrap=0).models[0][3].families == ()

"""I1, I2 and I3 against R, against every tuple one by one, and against theorems."""

import itertools
from typing import Any

import numpy as np
import pytest
from tests.mixture.conftest import given

import speedproof as sp
from speedproof.errors import UsageError
from speedproof.mixture.metrics import (
    Ties,
    expected_gap,
    least_of_mixtures,
    least_of_samples,
    mixture_gap,
    mixture_probability_below,
    probability_below,
)
from speedproof.mixture.model import MixtureModel

TIES: dict[Ties, str] = {"strict": "strict", "half": "ties_half", "equal": "or_equal"}


def test_pairs_against_r(metrics: dict[str, Any]) -> None:
    for group in metrics["groups"]:
        if "pair" not in group:
            continue
        x, y = (np.array(m["x"], dtype=float) for m in group["members"])
        a, b = (given(m["mixture"]) for m in group["members"])
        i1 = group["pair"]["i1"]
        assert expected_gap(x, y) == pytest.approx(i1["nonparametric"], rel=1e-12)
        assert mixture_gap(a, b) == pytest.approx(i1["parametric"], rel=1e-10)
        for i2 in group["pair"]["i2"]:
            below, within = (probability_below(x, y, delta=i2["delta"], ties=t) for t in ("strict", "equal"))
            for ties, name in TIES.items():
                theirs = i2["nonparametric"][name]
                # R adds the delta in doubles: what ties but for rounding falls on either side.
                assert below - 1e-12 <= theirs <= within + 1e-12
                if i2["delta"] == 0.0 or below == within:
                    share = probability_below(x, y, delta=i2["delta"], ties=ties)
                    assert share == pytest.approx(theirs, abs=1e-12)
            chance = mixture_probability_below(a, b, delta=i2["delta"])
            assert chance == pytest.approx(i2["parametric"], abs=1e-10)


def test_given_mixtures_against_r(metrics: dict[str, Any]) -> None:
    for group in metrics["given_mixtures"]:
        models = [given(m) for m in group["mixtures"]]
        if len(models) == 2:
            assert mixture_gap(*models) == pytest.approx(group["i1"], rel=1e-10)
            assert mixture_probability_below(*models) == pytest.approx(group["i2"], abs=1e-10)
        if len(models) > 1:
            chances = least_of_mixtures(models)
            np.testing.assert_allclose(chances[0], group["i3"], rtol=0, atol=1e-10)
            assert np.abs(chances[0] - group["i3"]).max() <= chances[1] + 1e-12


def test_least_against_every_tuple() -> None:
    """Small samples with many ties, all tuples enumerated."""
    rng = np.random.default_rng(1)
    for _ in range(40):
        samples = [rng.integers(0, 4, rng.integers(1, 6)).astype(float) for _ in range(rng.integers(2, 5))]
        chances = least_of_samples(samples)
        for j in range(len(samples)):
            tuples = list(itertools.product(*samples))
            others = [(t[j], min(t[:j] + t[j + 1 :])) for t in tuples]
            assert chances[0][j] == pytest.approx(np.mean([a < b for a, b in others]), abs=1e-12)
            assert chances[1][j] == pytest.approx(np.mean([a <= b for a, b in others]), abs=1e-12)


def test_one_version_is_refused() -> None:
    with pytest.raises(UsageError, match="at least two"):
        least_of_samples([[1.0]])
    with pytest.raises(UsageError, match="at least two"):
        least_of_mixtures([MixtureModel([1.0], [0.0], [1.0])])


def test_a_delta_does_not_break_ties() -> None:
    """.1 + .2 is .3 as it is written, whatever the doubles are."""
    assert sp.mixture.compare([[0.3], [0.1]], delta=0.2).below[0, 1] == 0.0
    assert probability_below([0.3], [0.1], delta=0.2, ties="equal") == 1.0
    assert probability_below([0.3, 0.2999], [0.1], delta=0.2) == 0.5

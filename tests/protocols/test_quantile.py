"""The question about the slowest runs, as suites, pairs and gates ask it."""

from __future__ import annotations

import numpy as np
import pytest

import speedproof as sp


def draw(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).lognormal(0.0, 0.3, shape)


def test_only_the_tail_changes() -> None:
    """At .98 of the time, but twice as long in one run of five: typically faster, slower at P90."""
    x, y = np.random.default_rng(1).normal(10, 0.1, 200), np.random.default_rng(2).normal(9.8, 0.1, 200)
    y[::5] *= 2
    suite = sp.Suite.of_samples({"a": {"old": x, "new": y}}, unit="ms")
    typical = sp.compare_suite(suite)["a"].verdict
    tail = sp.compare_suite(suite, protocols="p90")["a"]
    assert typical is sp.Verdict.FASTER
    assert tail.verdict is sp.Verdict.SLOWER
    assert sp.compare(x, y, unit="ms", quantile=0.9).upper < 0.6


def test_rates_are_the_times_of_one() -> None:
    """The slowest runs of a rate are its lowest: the answer is that of the reciprocal times."""
    x, y = 1.3 * draw(1, 100), draw(2, 120)
    times = sp.compare(x, y, unit="s", quantile=0.95).headline
    rates = sp.compare(1 / x, 1 / y, unit="op/s", quantile=0.95).headline
    assert rates.verdict is times.verdict
    for name in ("value", "low", "high"):
        assert getattr(rates.speedup, name) == pytest.approx(getattr(times.speedup, name), rel=1e-12)
    assert times.quantiles is not None
    assert rates.quantiles == pytest.approx([1 / v for v in times.quantiles], rel=1e-12)


def test_few_runs_are_asked_for_more() -> None:
    c = sp.compare(draw(1, 20), draw(2, 40), unit="ms", quantile=0.99).headline
    assert (c.verdict, c.needed.reference, c.needed.candidate) == (sp.Verdict.UNDECIDED, 299, 299)  # type: ignore[union-attr]


def test_processes_are_the_unit() -> None:
    """Forty processes of five values: a quantile of their medians, not of 200 values."""
    x, y = draw(1, 40, 5), draw(2, 40, 5)
    nested = sp.compare(x, y, unit="ms", quantile=0.9).headline
    medians = sp.compare(np.median(x, axis=1), np.median(y, axis=1), unit="ms", quantile=0.9).headline
    assert nested.reference.n == 40
    assert nested.speedup == medians.speedup


def test_a_gate_of_the_tail() -> None:
    x = np.random.default_rng(3).normal(10, 0.1, 400)
    slow = np.where(np.arange(400) % 8 == 0, 1.5, 1.0) * np.random.default_rng(4).normal(10, 0.1, 400)
    for y, outcome in ((np.random.default_rng(4).normal(10, 0.1, 400), "pass"), (slow, "fail")):
        suite = sp.Suite.of_samples({"a": {"old": x, "new": y}}, unit="ms")
        assert sp.gate(suite, margin="5%", protocol="p95").outcome.value == outcome


def test_a_quantile_that_there_is_not() -> None:
    with pytest.raises(sp.SpeedproofError, match=r"quantile=0\.8.*'0\.9'"):
        sp.compare([1.0, 2.0], [1.0, 2.0], quantile=0.8)

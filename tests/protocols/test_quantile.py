"""The question about the slowest runs, as suites, pairs and gates ask it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import speedproof as sp
from speedproof.options import quantile_name
from speedproof.stats.quantile_ratio import quantile_limits


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


@pytest.mark.parametrize("q", [0.5, 0.75, 0.975, 0.9999])
def test_any_quantile(q: float) -> None:
    """By number, by percentage, or by the name of its protocol: one answer, that of order statistics."""
    x, y = 1.5 * draw(1, 60), draw(2, 80)
    by_number = sp.compare(x, y, unit="ms", quantile=q).headline
    assert sp.compare(x, y, unit="ms", quantile=f"{100 * q:.4g}%").headline == by_number
    suite = sp.Suite.of_samples({"benchmark": {"reference": x, "candidate": y}}, unit="ms")
    assert sp.compare_suite(suite, protocols=quantile_name(q))["benchmark"].headline == by_number
    # An exact upper limit of x, by the binomial distribution, takes k of n values
    n = x.size
    k = int(binom.ppf(0.95, n, q))
    known = k < n
    assert quantile_limits(x, q, 0.05)[1] <= (np.sort(x)[k] if known else np.inf)


def test_a_gate_of_any_quantile() -> None:
    """Beside a protocol it is refused, and an answer to both would be none."""
    suite = sp.Suite.of_samples({"a": {"old": draw(1, 100), "new": 0.5 * draw(2, 100)}}, unit="ms")
    decision = sp.gate(suite, quantile=0.875).decision
    assert (decision.rules.protocol, decision.rows[0].comparison.protocol) == ("p87.5", "p87.5")
    with pytest.raises(sp.SpeedproofError, match="leave protocol='mean' out"):
        sp.gate(suite, quantile=0.9, protocol="mean")


@pytest.mark.parametrize("q", [0.3, 0.99999, 1.0, "x"])
def test_a_quantile_that_there_is_not(q: Any) -> None:
    with pytest.raises(sp.SpeedproofError, match="quantile="):
        sp.compare([1.0, 2.0], [1.0, 2.0], quantile=q)

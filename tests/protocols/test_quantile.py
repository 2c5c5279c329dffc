"""Questions beside the typical run: the slowest runs, summaries, and what an operation does so often."""

import math
import statistics
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom
from tests.protocols.test_symmetries import asked

import speedproof as sp
from speedproof.data.notes import Assumption
from speedproof.data.sample import Sample, Trait
from speedproof.data.suite import Key, Pair
from speedproof.data.units import Direction
from speedproof.options import DETAILS, Location, quantile_name
from speedproof.protocols.pair import Rules
from speedproof.protocols.results import SEQUENTIAL
from speedproof.protocols.units import summarise, summarise_all
from speedproof.reporting import text
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


@pytest.mark.parametrize("direction", Direction)
def test_what_is_observed_does_not_depend_on_turns(direction: Direction) -> None:
    """Of blocks that were looked at the quantiles are those of the same values that were not."""
    traits, found = frozenset({Trait.RANDOM_ORDER}), []
    alone: dict[str, Any] = {}
    for more in (alone, {"blocks": np.arange(60), "traits": traits}):
        sides = (Sample(values, "u", direction, **more) for values in (1.5 * draw(1, 60), draw(2, 60)))
        found += asked("p75", [Pair(Key("b"), *sides)], Rules())
    assert [c.test == SEQUENTIAL for c in found] == [False, True]
    assert found[0].quantiles == pytest.approx(found[1].quantiles)


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
    assert quantile_limits(x, q, 0.05)[1] == (np.sort(x)[k] if known else np.inf)


def test_a_gate_of_any_quantile() -> None:
    """Beside a protocol it is refused, and an answer to both would be none."""
    suite = sp.Suite.of_samples({"a": {"old": draw(1, 100), "new": 0.5 * draw(2, 100)}}, unit="ms")
    decision = sp.gate(suite, quantile=0.875).decision
    assert (decision.rules.protocol, decision.results[0].protocols) == ("p87.5", ("p87.5",))
    with pytest.raises(sp.SpeedproofError, match="leave protocol='mean' out"):
        sp.gate(suite, quantile=0.9, protocol="mean")


@pytest.mark.parametrize("q", [0.3, 0.99999, 1.0, "x"])
def test_a_quantile_that_there_is_not(q: Any) -> None:
    with pytest.raises(sp.SpeedproofError, match="quantile="):
        sp.compare([1.0, 2.0], [1.0, 2.0], quantile=q)


def by_fractions(values: list[float]) -> tuple[float, ...]:
    """Mean, median, minimum, maximum, deviation and median absolute deviation, of fractions."""
    exact = [Fraction(v) for v in values]
    mean, middle = sum(exact) / len(exact), statistics.median(exact)
    unit = max(map(abs, exact)) or Fraction(1)
    squares = sum(((v - mean) / unit) ** 2 for v in exact)
    deviation = math.sqrt(squares / (len(exact) - 1)) * float(unit) if len(exact) > 1 else math.nan
    away = statistics.median(abs(v - middle) for v in exact)
    return float(mean), float(middle), min(values), max(values), deviation, float(away)


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_summaries_of_values_of_any_size(n: int) -> None:
    """Beside each other: zeros, values of every size, and those far smaller than the largest of their sample."""
    rng = np.random.default_rng(n)
    sizes = (5e-324, 1e-300, 1e-200, 1e-60, 0.3, 1.0, 7.0, 1e60, 1e200, 1e306)
    rows = [(size * rng.integers(1, 9, n)).tolist() for size in sizes]
    rows += [[0.0] * n, (-1e250 * rng.random(n)).tolist(), [1.5e-323] * (n - 1) + [8.0]]
    samples = [Sample(np.array(row), "B", label=str(i)) for i, row in enumerate(rows)]
    for row, sample, found in zip(rows, samples, summarise_all(samples, samples), strict=True):
        numbers = (found.mean, found.median, found.minimum, found.maximum, found.deviation, found.mad)
        assert numbers == pytest.approx(by_fractions(row), rel=1e-12, abs=0.0, nan_ok=True)
        assert (found.label, found.n, found.observations, found.unit) == (sample.label, n, n, "B")
        assert repr(found) == repr(summarise(sample))
    assert summarise_all([], []) == []


def test_rates_of_zero_have_no_ratio_either_way() -> None:
    """What takes for ever is no multiple of another; that said, no warning is raised."""
    x, y = (np.array(v * 8, dtype=np.float64) for v in ([0, 1, 2, 1, 2], [1, 2, 3, 1, 2]))
    for old, new, ratio in ((x, y, math.inf), (y, x, 0.0)):
        found = sp.compare(old, new, unit="1/s", higher_is_better=True, quantile=0.95)
        assert found.speedup == ratio


PER_OP = "allocs/op"


def suite(old: float, new: float, unit: str = PER_OP, *, higher: bool = False) -> sp.Suite:
    return sp.Suite.of_samples(
        {"b": {"old": np.full(10, old), "new": np.full(10, new)}}, unit=unit, higher_is_better=higher
    )


@pytest.mark.parametrize("protocol", ["typical", "median"])
@pytest.mark.parametrize(("old", "new", "speedup", "outcome", "same"), [
    (0, 1, 0.0, "fail", "fail"), (1, 0, math.inf, "pass", "fail"), (0, 0, 1.0, "pass", "pass"),
    (5, 5, 1.0, "pass", "pass"), (5, 6, 5 / 6, "fail", "fail"), (6, 5, 1.2, "pass", "fail"),
])  # fmt: skip
def test_a_gate_decides_counts(
    protocol: Location, old: float, new: float, speedup: float, outcome: str, same: str
) -> None:
    """At any margin against zero, by exact ratios elsewhere; rates the other way round."""
    for margin in (0.02, 0.1):
        for measured in (suite(old, new), suite(new, old, higher=True)):
            found = sp.gate(measured, margin=margin, protocol=protocol)
            assert found.outcome == outcome
            estimate = found.decision.judged[0][1].speedup
            assert (estimate.value, estimate.low, estimate.high) == pytest.approx((speedup,) * 3)
            assert sp.gate(measured, margin=margin, protocol=protocol, policy="equivalence").outcome == same


def test_what_is_said_of_zeros() -> None:
    """Compare and gate name no factor over zero, and say of two zeros that they are the same."""
    worse, better, equal = (suite(*values) for values in ((0, 1), (1, 0), (0, 0)))
    for measured, word in ((worse, "worse"), (better, "better")):
        told = str(sp.compare_suite(measured, margin=0.02))
        assert told.startswith(
            f"allocs/op: new is {word} than old\nproven: {word}, but not by how much (95 % confidence)"
        )
        assert "true risk" not in told
        assert "∞" not in told + str(sp.gate(measured, margin=0.02))
    told = " ".join(str(sp.compare_suite(equal, margin=0.02)).split())
    assert told.startswith("allocs/op: new and old are the same within 2 % proven: 1.00x")
    sentences = [
        next(iter(sp.gate(measured, margin=0.02).reports())).tables[0].rows[0].sentence
        for measured in (worse, better, equal)
    ]
    assert [text.rpartition("; ")[2] for text in sentences] == [
        "worse by any factor", "better by any factor", "1.00x",
    ]  # fmt: skip


def test_readings_are_no_counts() -> None:
    """Of whole seconds, bytes, and fractions of an allocation a step is assumed; of times zeros are told."""
    for unit, old, new in (("s", 5, 5), ("B", 5, 5), (PER_OP, 0.2, 0.2), ("J/op", 5, 5), ("s", 0, 0)):
        assert sp.gate(suite(old, new, unit), margin=0.02).outcome == "undecided"
    checks = [c.kind for c in sp.compare(np.zeros(10), np.ones(10), unit="s").warnings]
    assert Assumption.POSITIVE_VALUES in checks
    assert sp.sample([1.0, 2.5], unit="B/op").exact
    assert not sp.sample([1.0, 2.2], unit="B/op").exact
    negative = sp.sample([-1.0, 2.0], unit="B/op")
    assert sp.compare(negative, negative, margin=0.02).verdict == "undecided"


@pytest.mark.parametrize("odd", [0.0, 1e-101])
def test_what_keeps_hpt_out_is_said(odd: float) -> None:
    """Of five benchmarks or more: ratios of zeros, and of values that no unit holds together, mean nothing."""
    rng = np.random.default_rng(2)
    samples = {f"b{k}": {v: rng.normal(10.0, 0.1, 8) for v in ("old", "new")} for k in range(5)}
    for expected in (False, True):
        found = sp.compare_suite(sp.Suite.of_samples(samples), protocols=DETAILS)
        told = " ".join(line for line in map(text.render, found.reports(details=True)))
        assert (found.result.hpt is None) == ("HPT is left out: there are zeros, or" in told) == expected
        samples["b3"]["new"][2] = odd

"""What an operation does so often, allocations for example: exact whole numbers, 0 among them."""

from __future__ import annotations

import math

import numpy as np
import pytest

import speedproof as sp
from speedproof.data.notes import Assumption
from speedproof.options import DETAILS, Location
from speedproof.reporting import text

PER_OP = "allocs/op"


def suite(old: float, new: float, unit: str = PER_OP, *, higher: bool = False) -> sp.Suite:
    return sp.Suite.of_samples(
        {"b": {"old": np.full(10, old), "new": np.full(10, new)}}, unit=unit, higher_is_better=higher
    )


@pytest.mark.parametrize("protocol", ["typical", "median"])
@pytest.mark.parametrize(
    ("old", "new", "speedup", "outcome", "same"),
    [
        (0, 1, 0.0, "fail", "fail"),
        (1, 0, math.inf, "pass", "fail"),
        (0, 0, 1.0, "pass", "pass"),
        (5, 5, 1.0, "pass", "pass"),
        (5, 6, 5 / 6, "fail", "fail"),
        (6, 5, 1.2, "pass", "fail"),
    ],
)
def test_a_gate_decides_counts(
    protocol: Location, old: float, new: float, speedup: float, outcome: str, same: str
) -> None:
    """At any margin against zero, by exact ratios elsewhere; rates the other way round."""
    for margin in (0.02, 0.1):
        for measured in (suite(old, new), suite(new, old, higher=True)):
            found = sp.gate(measured, margin=margin, protocol=protocol)
            assert found.outcome == outcome
            estimate = found.decision.rows[0].comparison.speedup
            assert (estimate.value, estimate.low, estimate.high) == pytest.approx((speedup,) * 3)
            assert sp.gate(measured, margin=margin, protocol=protocol, policy="equivalence").outcome == same


def test_what_is_said_of_zeros() -> None:
    """Compare and gate name no factor over zero, and say of two zeros that they are the same."""
    worse, better, equal = (suite(*values) for values in ((0, 1), (1, 0), (0, 0)))
    for measured, words in ((worse, "new is worse than old"), (better, "new is better than old")):
        told = str(sp.compare_suite(measured, margin=0.02))
        assert told.startswith(f"allocs/op: {words}    (95 % confidence; no factor can be named)")
        assert "true risk" not in told
        assert "∞" not in told + str(sp.gate(measured, margin=0.02))
    told = " ".join(str(sp.compare_suite(equal, margin=0.02)).split())
    assert told.startswith("allocs/op: new and old are the same within 2 % proven: 1.00x")
    sentences = [
        next(iter(sp.gate(measured, margin=0.02).reports())).tables[0].rows[0].message
        for measured in (worse, better, equal)
    ]
    assert [text.rpartition("; ")[2] for text in sentences] == [
        "worse by any factor",
        "better by any factor",
        "1.00x",
    ]


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
        assert (found.result.hpt is None) == ("HPT is left out: b3: zeros, or values" in told) == expected
        samples["b3"]["new"][2] = odd

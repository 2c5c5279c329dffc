"""A suite's totals, weights and gains by their formulas, and which of its benchmarks they are of."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from speedproof.data.sample import Sample
from speedproof.data.suite import Key, Pair, Pairing
from speedproof.data.units import Direction
from speedproof.options import DETAILS, QuestionName
from speedproof.protocols.hpt import entries_of_pairs, hpt
from speedproof.protocols.pair import Rules
from speedproof.protocols.results import Verdict
from speedproof.protocols.suite import SuiteComparison, compare_suite
from speedproof.protocols.suites import (
    Gain2009,
    accelerated,
    accelerated_2009,
    gain_2009,
    locate,
    overall_gain,
    weigh,
)
from speedproof.stats.proportions import clopper_pearson, prop_test, wilson


@pytest.mark.parametrize("size", [1e-200, 0.01, 1.0, 1e200])
def test_the_overall_gain_in_fractions(size: float) -> None:
    """S = sum(w x) / sum(w y), G = 1 - 1 / S; where a total is not positive there is neither."""
    rng = np.random.default_rng(1)
    for n in (1, 2, 5):
        x, y, w = (rng.integers(1, 99, n).tolist() for _ in range(3))
        totals = [Fraction(sum(a * b for a, b in zip(w, side, strict=True))) for side in (x, y)]
        found = overall_gain([size * v for v in x], [size * v for v in y], [1e150 * v for v in w])
        assert found.speedup == pytest.approx(float(totals[0] / totals[1]))
        assert found.gain == pytest.approx(float(1 - totals[1] / totals[0]))
    assert overall_gain([1e-300], [1e10], [1.0]).speedup == pytest.approx(1e-310, rel=1e-9, abs=0.0)
    for x, y in (([0.0], [size]), ([size], [0.0]), ([size], [-size]), ([-size], [size]), ([0.0], [0.0])):
        found = overall_gain(x, y, [1.0])
        assert (math.isnan(found.speedup), math.isnan(found.gain)) == (True, True)


def test_the_locations() -> None:
    values = np.array([3.0, 1.0, 9.0, 2.0])
    assert (locate(values, "min"), locate(values, "mean"), locate(values, "median")) == (1.0, 3.75, 2.5)


def test_weights_and_what_is_wrong_with_them() -> None:
    """Zero is a weight, if not all are zero; each fault by its name."""
    equal, same = (1.0, 1.0), "; all benchmarks weigh the same"
    faults: list[tuple[list[float | None], str]] = [
        ([-1.0, 2.0], "a weight is negative or not a number"),
        ([2.0, math.nan], "a weight is negative or not a number"),
        ([math.inf, 1.0], "a weight is negative or not a number"),
        ([None, -math.inf], "a weight is negative or not a number"),
        ([None, 0.5], "a weight is missing"),
        ([None, None], "no weights are given"),
        ([0.0, 0.0], "all weights are zero"),
    ]
    for custom, fault in faults:
        assert weigh("custom", [2.0, 3.0], custom) == (equal, fault + same)
        assert weigh("equal", [2.0, 3.0], custom) == (equal, "")
        assert weigh("fraction", [2.0, 3.0], custom) == ((2.0, 3.0), "")
    for given in ([0.0, 0.5], [0.5, 0.0], [0.25, 3.0]):
        assert weigh("custom", [2.0, 3.0], given) == (tuple(given), "")


def test_from_when_on_a_share_is_valid() -> None:
    """Above 5 of a - a^2 / b, as 11 of 22 are and 10 of 20 are not; in 2009 from ten accelerated programs on."""
    for a, b in itertools.product((0, 1, 9, 10, 11, 15), (15, 20, 22, 400)):
        found, then = accelerated(a, b, 0.1, 0.02), accelerated_2009(a, b, 0.1, 0.02)
        validity = Fraction(a) - Fraction(a * a, b)
        assert (found.accelerated, found.benchmarks, found.precision) == (a, b, 0.02)
        assert found.validity == pytest.approx(float(validity))
        assert found.valid is (validity > 5)
        assert (then.validity, then.valid) == (a, a >= 10)
        for told in (found, then):
            assert told.proportion == prop_test(a, b, 0.1)
            assert (told.wilson, told.clopper_pearson) == (wilson(a, b, 0.1), clopper_pearson(a, b, 0.1))


@pytest.mark.parametrize("size", [1e-200, 1e-3, 1.0, 1e200])
def test_the_gain_of_2009_in_fractions(size: float) -> None:
    """Weights in proportion to the initial times; the gain is sum(w (t - u)) / sum(w t)."""
    rng = np.random.default_rng(2)
    for n in (1, 2, 6):
        t, u = (rng.integers(1, 99, n).tolist() for _ in range(2))
        confidences = rng.random(n).tolist()
        w = [Fraction(v, sum(t)) for v in t]
        gains = [share * (a - b) for share, a, b in zip(w, t, u, strict=True)]
        found = gain_2009([size * v for v in t], [size * v for v in u], confidences)
        assert found.weights == pytest.approx(tuple(map(float, w)))
        assert found.weighted_gains == pytest.approx(tuple(size * float(g) for g in gains), rel=1e-9)
        whole = sum(gains) / sum(share * a for share, a in zip(w, t, strict=True))
        assert found.gain == pytest.approx(float(whole), abs=1e-12)
        assert found.confidence == min(confidences)
    nothing = gain_2009([], [], [])
    assert (nothing.weights, nothing.weighted_gains) == ((), ())
    assert (math.isnan(nothing.gain), math.isnan(nothing.confidence)) == (True, True)
    assert gain_2009([1e-200], [1e200], [0.9]).gain == -math.inf
    for bad in (([1.0], [1.0, 2.0], [0.9]), ([1.0, 2.0], [1.0], [0.9]), ([1.0], [1.0], []), ([], [], [0.9])):
        with pytest.raises(ValueError, match="as many as there are programs"):
            gain_2009(*bad)
    for value in (0.0, -size):
        for bad in (([value, size], [size, size], [0.9, 0.9]), ([size, size], [size, value], [0.9, 0.9])):
            with pytest.raises(ValueError, match="times must be positive"):
                gain_2009(*bad)


def pair(name: str, x: list[float], y: list[float], unit: str = "B", higher: bool = False) -> Pair:
    direction = Direction.HIGHER if higher else Direction.LOWER
    return Pair(Key(name), *(Sample(np.array(v), unit, direction) for v in (x, y)))


def compared(pairs: list[Pair], asked: tuple[QuestionName, ...], alpha: float = 0.05) -> SuiteComparison:
    return compare_suite(
        Pairing(tuple(pairs), (), (), ()), ("old", "new"), Key("").metric, Rules(alpha), asked
    )


def made(count: int) -> list[Pair]:
    rng = np.random.default_rng(3)
    return [
        pair(str(k), (gain * rng.normal(1, 0.05, 9)).tolist(), rng.normal(1, 0.05, 8).tolist())
        for k, gain in zip(range(count), itertools.cycle((0.2, 1.5, 1.0, 0.5)), strict=False)
    ]


def test_totals_of_a_suite_by_numpy() -> None:
    """Minima, means and medians of all benchmarks; none where in any of them more is better."""
    own = made(4)
    found = compared(own, ("mean",))
    assert [name for name, _ in found.overall] == ["min", "mean", "median"]
    for location, gain in found.overall:
        at: Any = getattr(np, location)
        before, after = (
            sum(float(at(side.values)) for side in sides)
            for sides in ([p.reference for p in own], [p.candidate for p in own])
        )
        assert (gain.speedup, gain.gain) == pytest.approx((before / after, 1 - after / before))
    rate = pair("rate", [1.0, 2.0, 3.0], [2.0, 3.0, 4.0], "op/s", higher=True)
    for some in ([rate, *own], [*own, rate], [rate]):
        assert compared(some, ("mean",)).overall == ()
    assert compared([], ("mean",)).overall == ()


def test_ranks_of_a_suite_from_five_benchmarks_on() -> None:
    """When everything is asked, at the risk asked for, and where all values are positive."""
    own = made(5)
    for alpha in (0.05, 0.2):
        found = compared(own, DETAILS, alpha).hpt
        assert found is not None
        assert found == hpt(entries_of_pairs(own), [1 - alpha])
    assert compared(own, (*DETAILS, "touati2009")).hpt is not None
    assert compared(own, DETAILS[1:]).hpt is None
    assert compared(own[:4], DETAILS).hpt is None
    assert compared([*own[:4], pair("zero", [0.0, 1.0, 2.0], [1.0, 2.0, 3.0])], DETAILS).hpt is None


def test_gains_of_2009_of_a_suite() -> None:
    """Of the benchmarks with positive medians, however small, and of those that are faster."""
    own = [
        *made(4),
        pair("no reference", [0.0, 0.0, 1.0], [0.5, 0.6, 0.7]),
        pair("no candidate", [0.5, 0.6, 0.7], [0.0, 0.0, 1.0]),
        pair("small", [0.4, 0.5, 0.6, 0.45], [0.1, 0.12, 0.11, 0.13]),
    ]
    found = compared(own, ("typical", "touati2009"), 0.1)
    by_it = [c for c in found.comparisons if c.protocol == "touati2009"]
    usable = [c for c in by_it if not c.benchmark.startswith("no ")]
    faster = [c for c in usable if c.verdict is Verdict.FASTER]
    assert 0 < len(faster) < len(usable) == 5
    assert [name for name, _ in found.gain_2009] == ["all", "accelerated"]
    for (_, told), some in zip(found.gain_2009, (usable, faster), strict=True):
        before, after = [c.reference.median for c in some], [c.candidate.median for c in some]
        assert told == gain_2009(before, after, [0.9] * len(some))
        assert isinstance(told, Gain2009)
    counts = dict(found.accelerated)
    assert counts["touati2009"] == accelerated_2009(
        sum(c.verdict is Verdict.FASTER for c in by_it), 7, 0.1, 0.05
    )
    others = [c for c in found.comparisons if c.protocol == "typical"]
    assert counts["typical"] == accelerated(sum(c.verdict is Verdict.FASTER for c in others), 7, 0.1, 0.05)
    assert compared(own, ("typical",)).gain_2009 == ()


def test_a_suite_by_benchmark_and_its_headline() -> None:
    own = made(3)
    orders: list[tuple[QuestionName, ...]] = [("typical", "mean"), ("mean", "typical"), ("median", "mean")]
    for asked in (*orders, orders[1][:1]):
        found = compared(own, asked)
        first = "typical" if "typical" in asked else asked[0]
        assert [(c.benchmark, c.protocol) for c in found.headlines] == [(str(k), first) for k in range(3)]
        assert {name: [c.protocol for c in some] for name, some in found.by_benchmark.items()} == {
            str(k): list(asked) for k in range(3)
        }
        assert (found.benchmarks, found.protocols) == (("0", "1", "2"), asked)
    assert compared([], ("typical",)).headlines == ()

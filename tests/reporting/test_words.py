"""Numbers in words: rounded to the nearest, bounds away from the claim, nothing beside what contradicts it."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.protocols.asking import compare_medians

import speedproof as sp
from speedproof.data.sample import Sample
from speedproof.protocols.pair import Rules
from speedproof.protocols.results import Comparison, Needed, Verdict
from speedproof.reporting.numbers import factor, p_is, values
from speedproof.reporting.words import about, change, effect, interval, observed, range_of, verdict
from speedproof.stats.estimate import Estimate

RATIOS = st.floats(1.0, 1e9)


def number(text: str) -> Fraction:
    """What a printed factor says, exactly."""
    return Fraction(Decimal(text.removesuffix("x")))


@given(RATIOS)
def test_bounds_are_rounded_outward(ratio: float) -> None:
    """A factor rounded down is no larger than the ratio as Python prints it, one rounded up no smaller."""
    assert number(factor(ratio, -1)) <= Fraction(Decimal(repr(ratio))) <= number(factor(ratio, 1))


@given(RATIOS, RATIOS)
def test_rounding_keeps_the_order(a: float, b: float) -> None:
    """What is at least proven never exceeds what is observed, as printed."""
    low, high = sorted((a, b))
    assert number(factor(low, -1)) <= number(factor(high))
    assert number(factor(low)) <= number(factor(high, 1))


@given(st.floats(1e-11, 1e6))
def test_a_change_is_never_printed_as_none(excess: float) -> None:
    """More than 1 does not look like 1."""
    assert number(factor(1 + excess)) > 1
    assert number(factor(1 + excess, 1)) > 1


def test_no_digits_where_there_is_no_difference() -> None:
    """The middle of all ratios is 1 beside a proof by ranks; that ties count half is said."""
    told = str(sp.compare([1.0, 1, 1, 1, 2] * 8, [1.0] * 40))
    assert told.startswith("candidate is faster than reference\nproven: faster, but not by how much")
    assert told.endswith("A run of candidate wins in 60 % of pairs (at least 54 %), ties counting half.")
    assert "ties" not in str(sp.compare([1.0, 3, 5, 7, 9], [2.0, 4, 6, 8, 10]))
    assert [observed(1 + 2e-16), observed(1 - 2e-16), observed(1 - 2e-12)] == [
        "1.00x",
        "1.00x",
        "1.000000000002x slower",
    ]


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    """Any comparison, to be filled with other numbers."""
    x = np.linspace(10, 11, 12)
    return compare_medians(Sample(x, label="old"), Sample(x / 1.1, label="new"), Rules())


@given(
    st.sampled_from([Verdict.FASTER, Verdict.SLOWER, Verdict.UNDECIDED]),
    st.floats(1e-9, 1e9),
    st.floats(1e-9, 1e9),
    st.floats(1e-9, 1e9),
)
def test_no_number_contradicts_its_verdict(
    comparison: Comparison, said: Verdict, value: float, low: float, high: float
) -> None:
    """Whatever a protocol estimates: "slower" stands beside a factor above 1, and the bound does not exceed it."""
    low, high = sorted((low, high))
    found = replace(comparison, verdict=said, speedup=Estimate(value, low, high, 0.95))
    text = change(found)
    if said is Verdict.UNDECIDED:
        assert text == "~ undecided"
        return
    assert text.endswith(said.value)
    shown = effect(found)
    if text != said.value:
        assert number(text.split()[0]) >= 1
        if not math.isnan(shown.bound):
            assert number(factor(shown.bound, -1)) <= number(text.split()[0])
    assert verdict(found).startswith(f"new is {text} than old")


def test_natural_direction(comparison: Comparison) -> None:
    """A speedup of 0.725 is a slowdown of 1.38."""
    found = replace(comparison, verdict=Verdict.SLOWER, speedup=Estimate(0.725, 0.7, 0.75, 0.95))
    assert change(found) == "1.38x slower"
    assert range_of(found) == "1.33x to 1.43x slower"
    assert interval(found.speedup) == "1.38x slower [1.33x, 1.43x]"


def test_memory_is_not_fast() -> None:
    """Only times and rates are fast or slow."""
    x = np.linspace(1e6, 1.1e6, 12)
    found = compare_medians(Sample(x, "B"), Sample(x / 2, "B"), Rules())
    assert change(found) == "2.00x better"


@pytest.mark.parametrize(
    ("needed", "told"),
    [
        (Needed(12, 12, ""), "needs about 12 runs"),
        (Needed(1234, 1201, ""), "needs about 1,300 runs"),
        (Needed(40, 60, ""), "needs about 40 runs of old and 60 of new"),
        (Needed(None, 60, ""), "needs about 60 runs of new"),
        (Needed(31, 31, "", least=True), "needs at least 31 runs"),
        (Needed(None, 101, "", least=True), "needs at least 101 runs of new"),
        (Needed(None, None, "no number of runs would tell"), "no number of runs would tell"),
    ],
)
def test_how_many_runs(needed: Needed, told: str) -> None:
    """A forecast is rounded up to the two digits that it is good for."""
    assert about(needed, "old", "new") == told


@given(st.lists(st.floats(1e-9, 1e6), min_size=1, max_size=4))
def test_values_keep_their_order(measured: list[float]) -> None:
    """Times as printed are in the order of the times, in one unit unless they are worlds apart."""
    texts = [text.split() for text in values(measured, "s")]
    assert len({unit for _, unit in texts}) == 1 or max(measured) > 1e4 * min(measured)
    seconds = {"s": Decimal(1), "ms": Decimal("1e-3"), "µs": Decimal("1e-6"), "ns": Decimal("1e-9")}
    printed = [Decimal(number) * seconds[unit] for number, unit in texts]
    order = sorted(range(len(measured)), key=lambda i: measured[i])
    assert [printed[i] for i in order] == sorted(printed)


@pytest.mark.parametrize(
    ("p", "least", "told"),
    [
        (0.03, 1e-300, "p = 0.03"),
        (0.0, 1e-300, "p < 1e-300"),
        (0.0, 1 / 200, "p < 0.005"),
        (0.005, 1 / 200, "p = 0.005"),
    ],
)
def test_a_p_value_below_what_can_be_told(p: float, least: float, told: str) -> None:
    """No bootstrap of 200 samples shows less than one in 200."""
    assert p_is(p, least) == told


def test_no_number_is_no_number() -> None:
    """What is not a number is not shown as one."""
    assert values([math.nan, 1.0], "s") == ["-", "1.000 s"]
    assert "nan" not in interval(Estimate(1.5, math.nan, math.nan, 0.95))

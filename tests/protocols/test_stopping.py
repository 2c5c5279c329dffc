"""When a benchmark was measured enough: what is asked by default, and what cannot be asked."""

from __future__ import annotations

import math

import pytest
from msgspec.structs import astuple

from speedproof.errors import UsageError
from speedproof.protocols.bisection_outlook import BisectionOutlook, outlook_of_ends
from speedproof.protocols.claims import Demand
from speedproof.protocols.stopping import SessionQuestion, StopRules
from speedproof.stats.sequential import PairedSequence


def test_what_is_asked_by_default() -> None:
    """docs/sequential.md: a verdict with a useful bound, of ten blocks at least, however many it takes."""
    rules = StopRules(0.05)
    assert astuple(rules) == (0.05, None, None, 10, None, None, False, None, False, None, 1)
    assert astuple(SessionQuestion(rules))[1:] == ("time", False, False, (), 1)


@pytest.mark.parametrize(("least", "most"), [(1, None), (1, 1), (4, 4), (4, 5), (10, 1000)])
def test_blocks_that_can_be_measured(least: int, most: int | None) -> None:
    rules = StopRules(0.05, min_blocks=least, max_blocks=most)
    assert (rules.min_blocks, rules.max_blocks) == (least, most)


@pytest.mark.parametrize(("least", "most", "told"), [
    (0, None, "min_runs=0: at least 1"), (-1, 5, "min_runs=-1: at least 1"),
    (5, 4, "min_runs=5 and max_runs=4 leave nothing to measure"),
    (1, 0, "min_runs=1 and max_runs=0 leave nothing to measure"),
])  # fmt: skip
def test_blocks_that_cannot_be_measured(least: int, most: int | None, told: str) -> None:
    with pytest.raises(UsageError) as error:
        StopRules(0.05, min_blocks=least, max_blocks=most)
    assert str(error.value) == told


def test_the_edge_of_a_gate() -> None:
    """What lost a margin of a quarter runs at four fifths of the speed."""
    assert [Demand(margin=margin).edges for margin in (0.25, 1.0)] == [(0.8,), (0.5,)]


def test_what_few_pairs_tell_of_a_bisection() -> None:
    """Of one pair there is no noise and nothing is forecast; of two equal ones any change would have shown."""
    assert repr(BisectionOutlook(0.1)) == repr(BisectionOutlook(0.1, 0.0, math.nan, math.nan))
    ends = PairedSequence(alpha=0.025)
    told = []
    for _ in range(2):
        ends.add(1.0, 1.1)
        found = outlook_of_ends(ends, 0.1, 0.01, 0.025)
        assert math.isnan(found.more_runs)
        assert math.isnan(found.enough_noise)
        told.append(found.visible)
    assert math.isnan(told[0])
    assert told[1] == math.inf  # two pairs are too few

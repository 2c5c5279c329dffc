"""What a suite counts and leaves out, and the family that its gate corrects for."""

from __future__ import annotations

import numpy as np
import pytest

from speedproof.data.sample import Sample
from speedproof.data.suite import Key, Pair, Pairing, Record, Suite
from speedproof.options import Multiplicity, QuestionName
from speedproof.protocols.claims import Demand, Outcome
from speedproof.protocols.gate import GateRow, GateRules, gate
from speedproof.protocols.pair import Rules
from speedproof.protocols.suite import compare_suite


def test_a_suite_tells_what_one_side_lacks_of_its_own_metric() -> None:
    rng = np.random.default_rng(8)

    def record(name: str, metric: str) -> Record:
        return Record(name, 10 + rng.standard_normal(8), metric=metric)

    suite = Suite.from_records(
        [("old", record(b, m)) for b, m in (("a", "time"), ("b", "time"), ("c", "memory"), ("a", "memory"))]
        + [("new", record(b, m)) for b, m in (("a", "time"), ("d", "time"), ("e", "memory"), ("a", "memory"))]
    )
    for metric, lacks in (("time", ("b", "d")), ("memory", ("c", "e"))):
        found = compare_suite(suite.pair("old", "new"), ("old", "new"), metric, Rules())
        assert (found.only_reference, found.only_candidate) == ((lacks[0],), (lacks[1],))


def test_what_is_counted_over_a_suite_leaves_out_single_runs() -> None:
    """Shares and controlled verdicts are of speedups; of one benchmark nothing is controlled, of none counted."""
    rng = np.random.default_rng(9)
    own = [Pair(Key(k), Sample(rng.normal(11, 1, 9)), Sample(rng.normal(10, 1, 9))) for k in "abc"]
    asked: tuple[QuestionName, ...] = ("typical", "single run", "mean")
    both = ["typical", "mean"]
    for count, told, controlled in ((3, both, both), (1, both, []), (0, [], [])):
        found = compare_suite(
            Pairing(tuple(own[:count]), (), (), ()), ("x", "y"), Key("").metric, Rules(), asked
        )
        assert [protocol for protocol, _ in found.accelerated] == told
        assert {c.protocol for c in found.controlled} == set(controlled)
        assert (found.geometric_means is not None) == (count > 1)
        assert [c.protocol for c in found.comparisons] == list(asked) * count


def why(row: GateRow) -> str:
    needed = row.comparison.needed
    return needed.reason if needed else ""


def test_a_gate_corrects_for_those_that_were_decided_before() -> None:
    """Holm over the whole family: of one benchmark that is left of ten the p-value counts ten times."""
    rng = np.random.default_rng(10)
    x, y = 10 + 0.2 * rng.standard_normal(8), 10.55 + 0.2 * rng.standard_normal(8)
    suite = Suite.from_records([("old", Record("b", x)), ("new", Record("b", y))])

    def held_to(family: int, multiplicity: Multiplicity = "holm") -> GateRow:
        rules = GateRules(family=family, multiplicity=multiplicity)
        return gate(suite, ("old", "new"), lambda _: Demand(margin=0.02), rules).rows[0]

    alone = held_to(0).contradicted
    assert alone.adjusted == alone.pvalue
    assert 0.05 / 400 < alone.pvalue < 0.05 / 10
    for family, outcome in ((1, Outcome.FAIL), (10, Outcome.FAIL), (400, Outcome.UNDECIDED)):
        row = held_to(family)
        assert row.contradicted.pvalue == alone.pvalue
        assert row.contradicted.adjusted == pytest.approx(min(1.0, family * alone.pvalue))
        assert row.outcome is outcome
    assert "after the correction over 400 benchmarks" in why(held_to(400))
    assert held_to(400, "none").contradicted.adjusted == alone.pvalue
    few = Suite.from_records([("old", Record("b", x[:5])), ("new", Record("b", y[:5]))])
    row = gate(few, ("old", "new"), lambda _: Demand(margin=0.02), GateRules(family=100)).rows[0]
    # One order of 6 + 6 is 1 / 924, of 7 + 7 1 / 3432: with 100 tests at 5 % the first cannot do.
    assert "at least 7 of each" in why(row)

"""Later looks of a gate: what they leave of each other and which rules they keep."""

import itertools
from types import SimpleNamespace
from typing import Any

import pytest

from speedproof.data.notes import Assumption, Note
from speedproof.errors import DataError
from speedproof.protocols.claims import Demand, Outcome
from speedproof.protocols.gate import GateDecision, GateRow, GateRules, next_of, together
from speedproof.protocols.suite import SuiteComparison

PASS, FAIL, UNDECIDED = Outcome


def row(name: str, outcome: Outcome, margin: float = 0.02, metric: str = "time") -> GateRow:
    nothing: Any = None
    return GateRow(name, metric, "new", Demand(margin=margin), outcome, nothing, nothing)


def decision(rows: list[GateRow], **fields: Any) -> GateDecision:
    """A decision of these rows, each with a comparison of its name, and of each metric what a result says."""
    given: dict[str, Any] = {"versions": ("old", "new"), "rules": GateRules(), "outcome": UNDECIDED, "absent": (),
                             "rows": tuple(rows)}  # fmt: skip
    of: dict[str, Any] = {
        name: fields.pop(name) for name in ("only_candidate", "caveats", "machine") if name in fields
    }
    compared: dict[str, list[Any]] = {"time": []}
    for r in rows:
        compared.setdefault(r.metric, []).append(SimpleNamespace(benchmark=r.benchmark, metric=r.metric))
    results = (
        SuiteComparison("old", "new", metric, 0.05, None, "process", tuple(made), **of)
        for metric, made in compared.items()
    )
    return GateDecision(tuple(results), **given | fields)


def test_looks_together() -> None:
    """A pass stays unless it is contradicted, the rest is the last look's; all pass, any fails, else undecided."""
    for first, again, other, fresh in itertools.product(Outcome, (*Outcome, None), Outcome, (*Outcome, None)):
        before = decision([row("a", first), row("b", other)])
        now = decision(
            ([row("a", again)] if again else []) + ([row("a", fresh, metric="memory")] if fresh else [])
        )
        kept = again is None or (first is PASS and again is UNDECIDED)
        last = first if kept or again is None else again
        expected = [("a", "time", last), ("b", "time", other)] + ([("a", "memory", fresh)] if fresh else [])
        found = together(before, now)
        assert [(r.benchmark, r.metric, r.outcome) for r in found.rows] == expected
        assert (found.rows[0] is before.rows[0]) is kept
        outcomes = [outcome for *_, outcome in expected]
        whole = FAIL if FAIL in outcomes else PASS if set(outcomes) == {PASS} else UNDECIDED
        assert found.outcome is whole
        counted = {(c.benchmark, c.metric) for of in found.results for c in of.comparisons}
        assert counted == {(name, metric) for name, metric, _ in expected}
        assert together(before, decision(list(now.rows), absent=("gone",))).outcome is FAIL
    with pytest.raises(DataError, match=r"a: policy and margin are chosen once, .* no-regression, 0\.02"):
        together(decision([row("a", UNDECIDED)]), decision([row("a", PASS, 0.03)]))


@pytest.mark.parametrize("looks", [1, 2, 4])
def test_rules_of_the_next_look(looks: int) -> None:
    """Each has an equal part of the risk, and the family of the look before; what is asked for is asked once."""
    first = GateRules(alpha=0.1 / looks, looks=looks)
    before = decision([row("a", PASS), row("b", UNDECIDED)], rules=first)
    given: Any
    for given in itertools.product((None, 0.1), (None, "holm"), (None, "typical")):
        assert next_of(before, *given) == GateRules(alpha=0.1 / looks, looks=looks, look=2, family=2)
    for given in ((0.2, None, None), (None, "bh", None), (None, None, "mean"), (0.1, "holm", "median")):
        with pytest.raises(DataError, match="chosen once"):
            next_of(before, *given)


def test_what_looks_leave_of_each_other() -> None:
    """What was added or ignored is the first look's; speeds of either; caveats where seen."""
    one: dict[str, Any] = {"only_candidate": ("x",), "ignored": ("y",), "machine": "first"}
    other: dict[str, Any] = {"machine": "second"}
    before, now = decision([row("a", PASS)], **one), decision([row("a", PASS)], **other)
    found = together(before, now)
    assert (found.results[0].only_candidate, found.ignored) == (("x",), ("y",))
    machines = [str(of.results[0].machine) for of in (found, together(decision([]), now))]
    assert machines == ["first", "second"]
    kind, versions = Assumption.SEVERAL_RUNS, ("old", "new")
    plain, detailed = Note(kind, "", versions), Note(kind, "processes", versions, ("c",))
    first = decision([row(n, o) for n, o in zip("abc", (PASS, UNDECIDED, PASS), strict=True)],
                     caveats=(plain, detailed, Note(kind, "", versions[:1], ("b",))))  # fmt: skip
    for caveats, expected in (
        ((), (Note(kind, "", versions, ("a", "c")), detailed)),
        ((plain,), (plain, detailed)),
        ((Note(kind, "", versions[:1], ("b",)),),
         (Note(kind, "", versions, ("a", "c")), detailed, Note(kind, "", versions[:1], ("b",)))),
    ):  # fmt: skip
        (whole,) = together(first, decision([row("b", PASS)], caveats=caveats)).results
        assert whole.caveats == expected

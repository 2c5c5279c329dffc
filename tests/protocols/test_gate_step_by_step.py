"""What a gate says beside its p-values, later looks of it, and controlled verdicts: at equality, too."""

from __future__ import annotations

import itertools
import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from speedproof.data.notes import Assumption, Note
from speedproof.errors import DataError
from speedproof.options import Multiplicity, Policy
from speedproof.protocols import gate as gates
from speedproof.protocols.claims import Demand, Outcome
from speedproof.protocols.gate import GateDecision, GateRow, GateRules
from speedproof.protocols.gate_looks import first_of, next_of, together
from speedproof.protocols.multiplicity import control_verdicts
from speedproof.protocols.noise_floor import IN_TURNS
from speedproof.protocols.questions import QUESTIONS
from speedproof.protocols.results import SessionFloor, Verdict
from speedproof.stats.power import RunsNeeded
from speedproof.stats.ratio import edges

REGRESSION, IMPROVEMENT, EQUIVALENCE = Policy
PASS, FAIL, UNDECIDED = Outcome
SPREAD = np.array([1.0, 2.0, 3.0, 4.0])


def case(speedup: float = 0.9, policy: Policy = REGRESSION, **fields: Any) -> Any:
    slow, fast = fields.pop("slow", SPREAD), fields.pop("fast", SPREAD)
    given = {"test": "a test", "needed": "of the protocol", "verdict": Verdict.UNDECIDED, "floor": None,
             "state": SimpleNamespace(value="not significant"), "repeated": "run",
             "reference": SimpleNamespace(n=slow.size, unit="s"),
             "candidate": SimpleNamespace(n=fast.size)}  # fmt: skip
    comparison = SimpleNamespace(speedup=SimpleNamespace(value=speedup), **given | fields)
    sides = SimpleNamespace(
        slow=slow, fast=fast, turned=False, x=SimpleNamespace(n=slow.size), y=SimpleNamespace(n=fast.size)
    )
    return SimpleNamespace(comparison=comparison, demand=Demand(policy, 0.25), sides=sides)


@pytest.mark.parametrize("multiplicity", ["holm", "bh", "none"])
@pytest.mark.parametrize("family", [0, 1, 4])
def test_runs_that_a_gate_needs(
    multiplicity: Multiplicity, family: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of both edges the more; a contradiction at its share of the risk; no number where none helps."""
    asked: list[tuple[float, float]] = []
    times = 1.0
    policies: list[tuple[Policy, list[float], tuple[int, int], tuple[float, float]]] = [
        (REGRESSION, [0.8], (80, 80), (0.8, math.inf)),
        (IMPROVEMENT, [1.0], (100, 64), (1.0, math.inf)),
        (EQUIVALENCE, [0.8, 1.25], (125, 80), (0.8, 1.25)),
    ]

    def runs_needed(_: Any, edge: float, alpha: float) -> RunsNeeded:
        asked.append((edge, alpha))
        return RunsNeeded(np.array(times * 100 * edge), np.array(times * 64 / edge))

    fake: Any = SimpleNamespace(runs_needed=runs_needed)
    monkeypatch.setitem(QUESTIONS, "typical", fake)
    rules = GateRules(alpha=0.1, multiplicity=multiplicity)

    def needed(*args: Any, **fields: Any) -> Any:
        asked.clear()
        return gates._needed(case(*args, **fields), family, rules)

    corrected = 0.1 if multiplicity == "none" else 0.1 / max(family, 1)
    for policy, own, runs, (low, high) in policies:
        for speedup in (0.5, 0.9, 1.1, 1.5):
            found = needed(speedup, policy)
            assert (found.reference, found.candidate) == runs
            assert asked == [(edge, 0.1 if low < speedup < high else corrected) for edge in own]
        for edge in own:
            below, above = edges(edge)
            for speedup in (below, edge, above):
                assert "so near the threshold that no number" in needed(speedup, policy).reason
            for speedup in (np.nextafter(below, 0), np.nextafter(above, 9)):
                assert needed(float(speedup), policy).reference is not None
    assert needed(test="") == "of the protocol"
    flat = np.ones(3)
    for verdict in Verdict:
        reason = needed(slow=flat, fast=2 * flat, verdict=verdict).reason
        assert ("neither sample has any spread" in reason) is True
        assert reason.startswith(f"{verdict.value}, but") is (verdict is not Verdict.UNDECIDED)
    assert needed(slow=flat).reference == needed(fast=flat).reference == 80
    times = 0.01
    assert (needed(slow=flat).reference, needed(slow=flat).candidate) == (4, 5)
    times = 1250.0  # 80 times it are 100,000 runs
    assert needed().reference == needed().candidate == 100_000
    times = 1250.1
    for speedup, near in (
        (0.9, False),
        (0.81, True),
        (0.79, True),
        (0.82, False),
        (0.78, False),
        (0.0, False),
    ):
        found = needed(speedup)
        assert (found.reference, found.candidate) == (None, None)
        why = "the speedup is so near the threshold" if near else "runs differ so much"
        assert found.reason == f"{why} that more than 100000 runs would be needed"
    assert needed(1.23, EQUIVALENCE).reason.startswith("the speedup is so near")


def test_why_more_runs_would_not_decide() -> None:
    """No ratio, too few runs, sessions that differ as much, the correction, other shapes; or nothing at all."""

    def why(
        pvalue: float, required: float = 0.5, name: str = "regression", family: int = 1,
        multiplicity: Multiplicity = "holm", alpha: float = 0.05, **fields: Any,
    ) -> str:  # fmt: skip
        asked: Any = SimpleNamespace(pvalue=required)
        contradicted: Any = SimpleNamespace(name=name, pvalue=pvalue)
        own = case(**fields)
        rules = GateRules(alpha=alpha, multiplicity=multiplicity)
        return gates._why(own, asked, contradicted, family, rules)

    assert why(math.nan) == "a ratio to a negative value means nothing"
    assert why(math.nan, test="") == ""
    assert why(math.nan, test="", needed=None) == "not significant"
    assert why(0.5) == ""
    # Of four and four runs the least p-value is 1 / 70, of five and five 1 / 252, of two and two 1 / 6.
    cases: list[tuple[str, int, Any, float, int]] = [
        ("regression", 1, "holm", 1 / 70, 0), ("regression", 1, "holm", 0.014, 5),
        ("difference", 1, "holm", 2 / 70, 0), ("difference", 1, "holm", 0.028, 5),
        ("regression", 7, "holm", 0.1, 0), ("regression", 7, "holm", 0.09, 5), ("difference", 7, "holm", 0.1, 5),
        ("regression", 7, "bh", 1 / 70, 0), ("regression", 7, "none", 1 / 70, 0),
        ("regression", 7, "bh", 0.014, 5),
    ]  # fmt: skip
    for name, family, multiplicity, alpha, enough in cases:
        for repeated, units in (("run", "runs"), ("process", "processes"), ("session", "sessions")):
            told = why(
                0.5, name=name, family=family, multiplicity=multiplicity, alpha=alpha, repeated=repeated
            )
            few = f"4 and 4 {units} are too few to prove a contradiction: measure at least {enough} of each"
            assert told == (few if enough else "")
    one = np.ones(1)
    assert why(0.5, alpha=0.4, slow=one, fast=one).endswith("measure at least 2 of each")
    # A session may differ by 15 %: both edges, 0.8 and 1.25, have to be that near.
    floor = SessionFloor(0.05, 8.0, 4, 0.15)
    assert why(0.5, speedup=0.85, floor=floor) == IN_TURNS
    assert why(0.5, speedup=0.85, floor=floor, policy=EQUIVALENCE) == ""
    wide = SessionFloor(0.05, 8.0, 4, 0.6)
    assert why(0.01, speedup=0.85, floor=wide, policy=EQUIVALENCE) == IN_TURNS
    for p in (0.01, 0.05):
        after = "the regression is significant by itself, but not after the correction over 3 benchmarks"
        assert why(p, math.nan, family=3) == after
    shift = "the samples differ by more than a shift, so their ranks prove no equivalence of medians"
    assert (why(0.0501, math.nan), why(0.0501, 0.3)) == (shift, "")


def row(name: str, outcome: Outcome, margin: float = 0.02, metric: str = "time") -> GateRow:
    compared: Any = SimpleNamespace(benchmark=name, metric=metric)
    nothing: Any = None
    return GateRow(compared, Demand(margin=margin), outcome, nothing, nothing, ())


def decision(rows: list[GateRow], **fields: Any) -> GateDecision:
    given: dict[str, Any] = {"reference": "old", "candidate": "new", "rules": GateRules(), "outcome": UNDECIDED,
                             "absent": (), "added": (), "ignored": ()}  # fmt: skip
    return GateDecision(rows=tuple(rows), **given | fields)


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
        assert [(r.comparison.benchmark, r.comparison.metric, r.outcome) for r in found.rows] == expected
        assert (found.rows[0] is before.rows[0]) is kept
        outcomes = [outcome for *_, outcome in expected]
        whole = FAIL if FAIL in outcomes else PASS if set(outcomes) == {PASS} else UNDECIDED
        assert found.outcome is whole
        assert together(before, decision(list(now.rows), absent=("gone",))).outcome is FAIL
    with pytest.raises(DataError, match=r"a: policy and margin are chosen once, .* no-regression, 0\.02"):
        together(decision([row("a", UNDECIDED)]), decision([row("a", PASS, 0.03)]))


def test_what_looks_leave_of_each_other() -> None:
    """What was added or ignored is the first look's; speeds of either; caveats where seen."""
    one: dict[str, Any] = {"added": ("x",), "ignored": ("y",), "machine": "first"}
    other: dict[str, Any] = {"machine": "second"}
    before, now = decision([row("a", PASS)], **one), decision([row("a", PASS)], **other)
    found = together(before, now)
    assert (found.added, found.ignored) == (("x",), ("y",))
    assert [str(found.machine), str(together(decision([]), now).machine)] == ["first", "second"]
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
        assert together(first, decision([row("b", PASS)], caveats=caveats)).caveats == expected


@pytest.mark.parametrize("looks", [1, 2, 4])
def test_rules_of_the_next_look(looks: int) -> None:
    """Each has an equal part of the risk, and the family of the look before; what is asked for is asked once."""
    first = first_of(GateRules(alpha=0.1), looks)
    assert (first.alpha, first.looks, first.look, first.family) == (0.1 / looks, looks, 1, 0)
    before = decision([row("a", PASS), row("b", UNDECIDED)], rules=first)
    given: Any
    for given in itertools.product((None, 0.1), (None, "holm"), (None, "typical")):
        found = next_of(before, *given)
        assert found == GateRules(alpha=0.1 / looks, looks=looks, look=2, family=2)
    for given in ((0.2, None, None), (None, "bh", None), (None, None, "mean"), (0.1, "holm", "median")):
        with pytest.raises(DataError, match="chosen once"):
            next_of(before, *given)


@pytest.mark.parametrize("margin", [None, 0.1])
@pytest.mark.parametrize("method", ["holm", "benjamini-hochberg"])
def test_controlled_verdicts_in_loops(method: Any, margin: float | None) -> None:
    """All claims of all benchmarks are one family; the verdict's own, or the nearest one, is told."""
    rng = np.random.default_rng(3)
    claims = (Verdict.FASTER, Verdict.SLOWER, Verdict.EQUIVALENT)
    for _ in range(30):
        compared: list[Any] = []
        for k in range(int(rng.integers(1, 5))):
            p = np.round(rng.random(3) ** 3, 3).tolist() if rng.random() > 0.2 else [math.nan] * 3
            own = Verdict.UNDECIDED if math.isnan(p[0]) else [*claims, Verdict.UNDECIDED][rng.integers(4)]
            at = SimpleNamespace(equivalent=p[2]) if rng.random() > 0.3 else None
            compared.append(SimpleNamespace(
                protocol="mean", benchmark=f"b{k}", pvalue=p[0], pvalue_slower=p[1], at_margin=at,
                verdict=own, undermining=[1] * int(rng.integers(2)),
            ))  # fmt: skip
        rows = [
            [
                c.pvalue,
                c.pvalue_slower,
                *([c.at_margin.equivalent if c.at_margin else math.nan] if margin else []),
            ]
            for c in compared
        ]
        known = sorted(p for row in rows for p in row if not math.isnan(p))
        size = len(known)
        if method == "holm":
            adjusted = [min(1.0, max((size - j) * known[j] for j in range(i + 1))) for i in range(size)]
        else:
            adjusted = stats.false_discovery_control(known).tolist() if known else []
        by = dict(zip(known, adjusted, strict=True))  # equal p-values are adjusted alike
        found = control_verdicts(compared, 0.3, method=method, margin=margin)
        assert (found.protocol, found.method, found.alpha, found.margin) == ("mean", method, 0.3, margin)
        assert found.family == size
        for told, c, row in zip(found.verdicts, compared, rows, strict=True):
            assert (told.benchmark, told.plain) == (c.benchmark, c.verdict)
            tested = [p for p in row if not math.isnan(p)]
            if not tested:
                assert told.verdict is Verdict.UNDECIDED
                assert all(map(math.isnan, (told.pvalue, told.confidence, told.plain_confidence)))
                continue
            claimed = c.verdict in claims[: len(row)]
            near = [row[claims.index(c.verdict)]] if claimed else tested
            expected = min(by.get(p, math.nan) for p in near)
            assert told.verdict is (c.verdict if claimed and expected <= 0.3 else Verdict.UNDECIDED)
            assert (told.pvalue, told.confidence) == pytest.approx((expected, 1 - expected), nan_ok=True)
            plain = [1 - p for p in near if math.isnan(p) or by[p] == expected]
            assert any(told.plain_confidence == pytest.approx(p, nan_ok=True) for p in plain)
        counts = ", ".join(
            f"{n} {v.value}" for v in Verdict if (n := sum(t.verdict is v for t in found.verdicts))
        )
        assert str(found).startswith(f"{counts} at a joint risk of 30 % (")
        marked = sum(bool(c.undermining) for c in compared)
        ends = f"; in {marked} of {len(compared)} benchmarks the runs are not what the tests assume"
        assert found.promise.endswith(ends) is (marked > 0)
        assert ("any false claim at all" in found.promise) is (method == "holm")

"""Later looks of a gate, and verdicts controlled by Holm and Benjamini-Hochberg, in loops."""

import itertools
import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from speedproof.data.notes import Assumption, Note
from speedproof.errors import DataError
from speedproof.protocols.claims import Demand, Outcome
from speedproof.protocols.gate import GateDecision, GateRow, GateRules, next_of, together
from speedproof.protocols.multiplicity import control_verdicts
from speedproof.protocols.results import Verdict

PASS, FAIL, UNDECIDED = Outcome


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
    first = GateRules(alpha=0.1 / looks, looks=looks)
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

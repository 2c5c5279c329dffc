"""The rows of a gate's table: was, now, change, what is proven and the limit, the worst first."""

from __future__ import annotations

import math

from msgspec.structs import replace

from speedproof.protocols.assumptions import Assumption
from speedproof.protocols.figures import verdict_of
from speedproof.protocols.gate import Absent, GateDecision, GateRow
from speedproof.protocols.gate_claims import Outcome, Policy
from speedproof.protocols.results import Comparison
from speedproof.reporting.model import Cell, Column, Row, Style, Table, right
from speedproof.reporting.model import Outcome as Meaning
from speedproof.reporting.names import benchmark_column
from speedproof.reporting.numbers import factor, p_is, share, values
from speedproof.reporting.words import CHANGED, change, few, gain_and_loss, natural, needs, range_of

STYLES: dict[Outcome, Style] = {Outcome.PASS: "good", Outcome.FAIL: "bad", Outcome.UNDECIDED: "warning"}
_KINDS: dict[Outcome, Meaning] = {
    Outcome.PASS: "passed",
    Outcome.FAIL: "failed",
    Outcome.UNDECIDED: "undecided",
}
_WORDS = {Outcome.FAIL: "FAIL", Outcome.PASS: "pass", Outcome.UNDECIDED: "?"}
ORDER = (Outcome.FAIL, Outcome.UNDECIDED, Outcome.PASS)
LABEL = 24
_SHOWN = 12
OPPOSITES = {
    "regression": "{worse} by more than {margin}",
    "slowdown": "{worse}",
    "difference": "changed by more than {margin}",
}
ASKED = {
    "not worse": "not {worse} by more than {margin}",
    "improvement": "{better}",
    "equivalence": "the same within {margin}",
}
CORRECTIONS = {"holm": "Holm", "bh": "Benjamini and Hochberg", "none": "no correction"}
VOID = {
    Assumption.TWO_MEASUREMENTS: "both sides are one measurement",
    Assumption.PLANNED_SIZE: "measuring stopped on its result",
}
_NOTHING = Cell("-", "dim")


def words_of(row: GateRow, margin: str = "") -> dict[str, str]:
    """What its gains, its losses and its margin are called."""
    better, worse = gain_and_loss(row.comparison)
    return {"better": better, "worse": worse, "margin": margin or share(row.demand.margin)}


def several_metrics(result: GateDecision) -> bool:
    """Whether a row is one of several metrics of its benchmark."""
    return len({row.comparison.metric for row in result.rows}) > 1


def qualified(result: GateDecision, of: Comparison | Absent) -> str:
    """A benchmark, with its metric where there are several."""
    return f"{of.benchmark} ({of.metric})" if several_metrics(result) else of.benchmark


def table(result: GateDecision, *, everything: bool, undecided_fails: bool) -> Table:
    """What stands in the way first, the worst of it at the top.

    Without their limit where the headline tells the one that all of them have.
    """
    prefixed, named = benchmark_column([row.comparison.benchmark for row in result.rows])
    ordered = sorted(result.rows, key=lambda row: (ORDER.index(row.outcome), -_severity(row)))
    failing = bool(result.absent) or any(row.outcome is not Outcome.PASS for row in ordered)
    told = any(row.outcome is Outcome.FAIL for row in ordered) or result.outcome is not Outcome.FAIL
    limits = len({limit(row) for row in ordered}) > told
    rows, shown = [], 0
    held: set[str] = set()
    for i, absent in enumerate(result.absent):
        name = qualified(result, absent)
        rows.append(_missing(absent, name, folded=not everything and i >= _SHOWN))
    for row in ordered:
        # What stops a pipeline is shown; what passed only where there is nothing else to see.
        passed = row.outcome is Outcome.PASS and (failing or len(ordered) > _SHOWN)
        folded = not everything and (passed or shown >= _SHOWN)
        shown += not folded
        if not folded or not held:
            held.add("needed" if row.outcome is Outcome.UNDECIDED and few(row.comparison) else "proven")
        made = _row(result, row, named(qualified(result, row.comparison)), limits=limits)
        outcome: Meaning = "failed" if undecided_fails and made.outcome == "undecided" else made.outcome
        rows.append(replace(made, outcome=outcome, folded=folded))
    columns = (
        Column(""),
        prefixed,
        *right("was", "now"),
        Column("change"),
        Column(" or ".join(sorted(held, reverse=True)), brief="proof" if len(held) > 1 else "", drop=-1),
        Column("limit" if limits else ""),
    )
    return Table.of(columns, rows)


def _severity(row: GateRow) -> float:
    """How far the proven loss exceeds the limit, in a logarithm; for what is not proven, the observed one."""
    c = row.comparison
    s = (
        c.certified.high
        if row.outcome is Outcome.FAIL and not math.isnan(c.certified.high)
        else c.speedup.value
    )
    limit = 1.0 if row.demand.policy is Policy.PROVEN_IMPROVEMENT else 1 / (1 + row.demand.margin)
    if not (s > 0 and math.isfinite(s)):
        return 0.0
    loss = math.log(limit) - math.log(s)
    return abs(math.log(s)) if row.demand.policy is Policy.EQUIVALENCE else loss


def _missing(absent: Absent, name: str, *, folded: bool) -> Row:
    return Row.of(
        Cell("MISSING", "bad"),
        Cell(name, "strong"),
        "",
        "-",
        Cell(absent.reason, "dim", ("nothing to compare",), spans=True),
        "",
        "",
        name=absent.benchmark,
        outcome="failed",
        message=f"{absent.benchmark} cannot be compared: {absent.reason}",
        kind="missing",
        folded=folded,
    )


def _row(result: GateDecision, row: GateRow, name: Cell, *, limits: bool) -> Row:
    c = row.comparison
    location = "mean" if result.rules.protocol == "mean" else "median"
    old, new = values([getattr(side, location) for side in (c.reference, c.candidate)], c.reference.unit)
    mark = " !" if undermined(result, row) else ""
    style = STYLES[row.outcome]
    told = seen(c) if result.void(row) is not None else _observed(row)
    return Row.of(
        Cell(f"{_WORDS[row.outcome]}{mark}", style),
        name,
        old,
        new,
        Cell(told, "" if row.outcome is Outcome.PASS else style, speedup=c.certified),
        (None if mark else _proven(row)) or _NOTHING,
        Cell(limit(row), "dim") if limits else "",
        name=c.benchmark,
        outcome=_KINDS[row.outcome],
        message=sentence(result, row),
        kind=_KINDS[row.outcome],
    )


def sentence(result: GateDecision, row: GateRow) -> str:
    """One benchmark at the gate: what is proven, with hypothesis and p-value, or what would decide it."""
    words = words_of(row)
    if (void := result.void(row)) is not None:
        return f"Not proven, because {VOID[void.kind]}: {seen(row.comparison)} as measured"
    if row.outcome is Outcome.UNDECIDED:
        why = row.remark or needs(row.comparison)
        return f"Undecided: {range_of(row.comparison)}{f'; {why}' if why else ''}"
    passed = row.outcome is Outcome.PASS
    claim = row.required if passed else row.contradicted
    told = (ASKED if passed else OPPOSITES)[claim.name].format(**words)
    p = "" if math.isnan(claim.adjusted) else f", {p_is(claim.adjusted)}"
    corrected = ""
    if not passed and len(result.rows) > 1 and result.rules.multiplicity != "none":
        corrected = f" after {CORRECTIONS[result.rules.multiplicity]}'s correction over {len(result.rows)}"
    shown = "Shown, if the assumptions were met" if undermined(result, row) else "Proven"
    return f"{shown}: {told} ({claim.hypothesis}{p}{corrected}); {range_of(row.comparison)}"


def undermined(result: GateDecision, row: GateRow) -> bool:
    """Whether a row is marked, as one that nothing is called proven of."""
    marked = bool(row.comparison.undermining) or result.machine is not None
    return result.void(row) is not None or (marked and row.outcome is not Outcome.UNDECIDED)


def _observed(row: GateRow) -> str:
    c = row.comparison
    # Equal within the margin may still be faster or slower, which is what compare says without one.
    direction = verdict_of(c.pvalue, c.pvalue_slower, None, c.alpha)
    return change(replace(c, verdict=direction)) if direction in CHANGED else seen(c)


def seen(c: Comparison) -> str:
    """The observed ratio, for what nothing is proven of."""
    told = natural(c)
    return "~" if told == "-" else f"~ {told}"


def _proven(row: GateRow) -> Cell | None:
    """The bound that the outcome rests on; of an undecided one the runs it needs, or what it proves alone."""
    c = row.comparison
    low, high = c.certified.low, c.certified.high
    if row.outcome is Outcome.UNDECIDED:
        told = few(c)
        return Cell(told, "dim") if told else _alone(c)
    equivalence = row.demand.policy is Policy.EQUIVALENCE
    if row.outcome is Outcome.FAIL:
        if equivalence and low > 1:
            return _least(low)
        return _least(1 / high) if 0 < high < 1 else None
    if equivalence:
        most = max(high, 1 / low) if low > 0 else math.inf
        return _most(factor(most, 1)) if math.isfinite(most) else None
    if low >= 1:
        return _least(low)
    return _most(factor(1 / low, 1, 3), f" {gain_and_loss(c)[1]}") if low > 0 else None


def _least(bound: float) -> Cell:
    return Cell(f"at least {factor(bound, -1)}", shorter=(f"≥ {factor(bound, -1)}",))


def _most(bound: str, word: str = "") -> Cell:
    return Cell(f"at most {bound}{word}", shorter=(f"≤ {bound}{word}", f"≤ {bound}"))


def _alone(c: Comparison) -> Cell | None:
    """What is proven of an undecided benchmark by itself, before the correction."""
    bound = max(c.certified.low, 1 / c.certified.high if c.certified.high > 0 else math.nan)
    if verdict_of(c.pvalue, c.pvalue_slower, None, c.alpha) not in CHANGED or not 1 + 1e-9 < bound < math.inf:
        return None
    told = factor(bound, -1)
    return Cell(f"alone at least {told}", "dim", (f"alone ≥ {told}", f"≥ {told}"))


def limit(row: GateRow) -> str:
    """What the benchmark is held to."""
    better, _ = gain_and_loss(row.comparison)
    if row.demand.policy is Policy.PROVEN_IMPROVEMENT:
        return better
    return f"{'±' if row.demand.policy is Policy.EQUIVALENCE else '+'}{share(row.demand.margin)}"

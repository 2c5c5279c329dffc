"""The rows of a gate's table: was, now, change, what is proven and the limit, the worst first."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from speedproof.protocols.figures import verdict_of
from speedproof.protocols.gate import GateDecision, GateRow
from speedproof.protocols.gate_claims import Outcome, Policy
from speedproof.protocols.results import Comparison, Verdict
from speedproof.reporting.model import Cell, Column, Row, Style, Table
from speedproof.reporting.model import Outcome as Meaning
from speedproof.reporting.names import common_prefix
from speedproof.reporting.numbers import factor, share, values
from speedproof.reporting.words import change, few, gain_and_loss, natural

STYLES: dict[Outcome, Style] = {Outcome.PASS: "good", Outcome.FAIL: "bad", Outcome.UNDECIDED: "warning"}
KINDS: dict[Outcome, Meaning] = {
    Outcome.PASS: "passed",
    Outcome.FAIL: "failed",
    Outcome.UNDECIDED: "undecided",
}
ORDER = (Outcome.FAIL, Outcome.UNDECIDED, Outcome.PASS)
LABEL = 24
_SHOWN = 12


def words_of(row: GateRow, margin: str = "") -> dict[str, str]:
    """What its gains, its losses and its margin are called."""
    better, worse = gain_and_loss(row.comparison)
    return {"better": better, "worse": worse, "margin": margin or share(row.demand.margin)}


def _columns(result: GateDecision, rows: Sequence[Row]) -> tuple[Column, ...]:
    shown = {row.name for row in rows if not row.folded}
    held = {
        "needed" if row.outcome is Outcome.UNDECIDED and few(row.comparison) else "proven"
        for row in result.rows
        if row.comparison.benchmark in shown
    }
    prefix = common_prefix([row.comparison.benchmark for row in result.rows])
    return (
        Column("", right=False),
        Column(f"{prefix}…" if prefix else "", names=True),
        Column("was", right=True),
        Column("now", right=True),
        Column("change"),
        Column(" or ".join(sorted(held, reverse=True)) or "proven", drop=-1),
        Column("limit"),
    )


def table(result: GateDecision, rows: tuple[Row, ...]) -> Table:
    """The rows; without their limit where the headline tells the one that all of them have."""
    columns = _columns(result, rows)
    told = result.outcome is not Outcome.FAIL or any(row.outcome is Outcome.FAIL for row in result.rows)
    if told and len({limit(row) for row in result.rows}) == 1:
        return Table(columns[:-1], tuple(replace(row, cells=row.cells[:-1]) for row in rows))
    return Table(columns, rows)


def rows(
    result: GateDecision,
    sentence: Callable[[GateDecision, GateRow], str],
    *,
    everything: bool,
    undecided_fails: bool,
) -> tuple[Row, ...]:
    """What stands in the way first, the worst of it at the top; ``sentence`` tells a row in words."""
    prefix = common_prefix([row.comparison.benchmark for row in result.rows])
    several = len({row.comparison.metric for row in result.rows}) > 1
    ordered = sorted(result.rows, key=lambda row: (ORDER.index(row.outcome), -_severity(row)))
    found = [
        _missing(a.benchmark, a.metric, a.reason, several, folded=not everything and i >= _SHOWN)
        for i, a in enumerate(result.absent)
    ]
    failing = any(row.outcome is not Outcome.PASS for row in ordered) or bool(found)
    open_rows = 0
    for row in ordered:
        name = row.comparison.benchmark[len(prefix) :] + (f" ({row.comparison.metric})" if several else "")
        # What stops a pipeline is shown; what passed only where there is nothing else to see.
        passed = row.outcome is Outcome.PASS and (failing or len(ordered) > _SHOWN)
        folded = not everything and (passed or open_rows >= _SHOWN)
        open_rows += not folded
        found.append(
            _row(result, row, name, sentence(result, row), folded=folded, undecided_fails=undecided_fails)
        )
    return tuple(found)


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


def _missing(name: str, metric: str, reason: str, several: bool, *, folded: bool) -> Row:
    shown = f"{name} ({metric})" if several else name
    return Row(
        (
            Cell("MISSING", "bad"),
            Cell(shown, "strong"),
            Cell(""),
            Cell("-"),
            Cell(reason, "dim", spans=True),
            Cell(""),
            Cell(""),
        ),
        name,
        "failed",
        f"{name} cannot be compared: {reason}",
        "missing",
        folded,
    )


def _row(
    result: GateDecision, row: GateRow, name: str, message: str, *, folded: bool, undecided_fails: bool
) -> Row:
    c = row.comparison
    old, new = values([c.reference.median, c.candidate.median], c.reference.unit)
    if result.rules.protocol == "mean":
        old, new = values([c.reference.mean, c.candidate.mean], c.reference.unit)
    void = result.void(row) is not None
    mark = " !" if undermined(result, row) else ""
    word = {Outcome.FAIL: "FAIL", Outcome.PASS: "pass", Outcome.UNDECIDED: "?"}[row.outcome]
    kind = KINDS[row.outcome]
    return Row(
        (
            Cell(f"{word}{mark}", STYLES[row.outcome]),
            Cell(name, "strong"),
            Cell(old),
            Cell(new),
            Cell(
                seen(c) if void else _observed(row),
                "" if row.outcome is Outcome.PASS else STYLES[row.outcome],
                speedup=c.certified,
            ),
            Cell("") if mark else _proven(row),
            Cell(limit(row), "dim"),
        ),
        c.benchmark,
        "failed" if undecided_fails and kind == "undecided" else kind,
        message,
        kind,
        folded,
    )


def undermined(result: GateDecision, row: GateRow) -> bool:
    """Whether a row is marked, as one that nothing is called proven of."""
    marked = bool(row.comparison.undermining) or result.machine is not None
    return result.void(row) is not None or (marked and row.outcome is not Outcome.UNDECIDED)


def _observed(row: GateRow) -> str:
    c = row.comparison
    # Equal within the margin may still be faster or slower, which is what compare says without one.
    direction = verdict_of(c.pvalue, c.pvalue_slower, None, c.alpha)
    if direction in (Verdict.FASTER, Verdict.SLOWER):
        return change(replace(c, verdict=direction))
    return seen(c)


def seen(c: Comparison) -> str:
    """The observed ratio, for what nothing is proven of."""
    told = natural(c)
    return "~" if told == "-" else f"~ {told}"


def _proven(row: GateRow) -> Cell:
    """The bound that the outcome rests on; of an undecided one the runs it needs, or what it proves alone."""
    c = row.comparison
    _, worse = gain_and_loss(c)
    low, high = c.certified.low, c.certified.high
    if row.outcome is Outcome.UNDECIDED:
        told = few(c)
        return Cell(told, "dim") if told else _alone(row)
    if math.isnan(low):
        return Cell("")
    if row.outcome is Outcome.FAIL:
        if row.demand.policy is Policy.EQUIVALENCE and low > 1:
            return _least(low)
        return _least(1 / high) if 0 < high < 1 else Cell("")
    if row.demand.policy is Policy.EQUIVALENCE:
        most = max(high, 1 / low) if low > 0 else math.inf
        return _most(factor(most, 1)) if math.isfinite(most) else Cell("")
    if low >= 1:
        return _least(low)
    return _most(factor(1 / low, 1, 3), f" {worse}") if low > 0 else Cell("")


def _least(bound: float) -> Cell:
    return Cell(f"at least {factor(bound, -1)}", shorter=(f"≥ {factor(bound, -1)}",))


def _most(bound: str, word: str = "") -> Cell:
    return Cell(f"at most {bound}{word}", shorter=(f"≤ {bound}{word}", f"≤ {bound}"))


def _alone(row: GateRow) -> Cell:
    """What is proven of an undecided benchmark by itself, before the correction."""
    c = row.comparison
    if verdict_of(c.pvalue, c.pvalue_slower, None, c.alpha) not in (Verdict.FASTER, Verdict.SLOWER):
        return Cell("")
    bound = max(c.certified.low, 1 / c.certified.high if c.certified.high > 0 else math.nan)
    if not 1 + 1e-9 < bound < math.inf:
        return Cell("")
    told = factor(bound, -1)
    return Cell(f"alone at least {told}", "dim", (f"alone ≥ {told}", f"≥ {told}"))


def limit(row: GateRow) -> str:
    """What the benchmark is held to."""
    better, _ = gain_and_loss(row.comparison)
    if row.demand.policy is Policy.PROVEN_IMPROVEMENT:
        return better
    return f"{'±' if row.demand.policy is Policy.EQUIVALENCE else '+'}{share(row.demand.margin)}"

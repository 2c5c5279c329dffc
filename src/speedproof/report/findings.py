"""What a session found, as blocks of a report."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from speedproof.data.units import format_value
from speedproof.protocols.calibration import Calibration
from speedproof.protocols.results import Verdict
from speedproof.protocols.sequential import PROVEN, Finding
from speedproof.report.blocks import Block, Cell, Column, Fitted, Table, Text
from speedproof.report.findings_counted import counted
from speedproof.report.wording import MARKS, STYLES, bounds, level, percent, plural, pvalue, ratio
from speedproof.stats.estimate import Estimate

__all__ = ["about", "calibration_blocks", "certified", "finding_blocks"]


def certified(finding: Finding) -> str:
    """The speedup with its certified bounds."""
    return bounds(_speedup(finding))


def _speedup(finding: Finding) -> Estimate:
    result = finding.result
    return Estimate(finding.estimate, result.low, result.high, 1 - result.risk)


def _conclusion(finding: Finding, risk: float, margin: float | None) -> Text:
    result, x, y = finding.result, finding.reference, finding.candidate
    confidence = level(1 - risk)
    style = STYLES[finding.verdict]
    # A verdict that the closed test gives before the candidate's share of the risk does has no better bound.
    if finding.verdict in (Verdict.FASTER, Verdict.SLOWER):
        least = max(result.low if finding.verdict is Verdict.FASTER else 1 / result.high, 1.0)
        return Text(
            f"{y} is typically {called(finding)} than {x}{_where(finding)} by a factor of "
            f"{_at_least(least)}, confidence {confidence}",
            style,
        )
    if finding.verdict is Verdict.EQUIVALENT:
        within = f"within {100 * (margin or 0.0):.10g} %, confidence {confidence}"
        good = "fast" if finding.metric == "time" else "good"
        return Text(f"{y} is typically as {good} as {x}{_where(finding)} {within}", style)
    if result.contradictory:
        return Text(
            f"{y} against {x}: undecided, no single speedup fits all blocks; probably it changed while it was "
            "measured: look for throttling, caches that fill, or a file that grows, and measure again",
            style,
        )
    if result.blocks == 0:
        return Text(f"{y} against {x}: undecided, no complete block was measured", style)
    to_go = finding.blocks_to_go
    if finding.reason:
        what = finding.reason
    elif math.isnan(to_go):
        what = "too early to say how many more would be enough"
    elif math.isfinite(to_go):
        what = f"{about(to_go, 'more run')} of each would be enough if the speedup is what it seems"
    elif margin is None:
        what = "no difference shows yet; --margin asks for a proof that there is none"
    else:
        what = f"neither a difference nor equality within {percent(margin)} comes nearer"
    return Text(f"{y} against {x}: undecided after {plural(result.blocks, 'block')}; {what}", style)


def called(finding: Finding) -> str:
    """The verdict in a word: only times are fast or slow.

    Examples
    --------
    >>> from speedproof.protocols.sequential import SequentialComparison, StopRules
    >>> race = SequentialComparison("b", ["old", "new"], StopRules(), metric="memory")
    >>> for _ in range(10):
    ...     race.add({"old": 2.0, "new": 1.0})
    >>> called(race.findings()[0])
    'better'
    """
    if finding.metric == "time":
        return finding.verdict.value
    return {Verdict.FASTER: "better", Verdict.SLOWER: "worse"}.get(finding.verdict, finding.verdict.value)


def _where(finding: Finding) -> str:
    return "" if finding.metric == "time" else f" in {finding.metric}"


def about(count: float, what: str) -> str:
    """A forecast with the one digit that it deserves: half of them are wrong by a factor of 2 to 4.

    Examples
    --------
    >>> about(0.2, "run"), about(17.3, "more run"), about(8234.0, "run")
    ('about 1 run', 'about 20 more runs', 'about 8000 runs')
    """
    return f"about {plural(int(float(f'{max(math.ceil(count), 1):.1g}')), what)}"


def _at_least(value: float) -> str:
    """A bound rounded towards 1, so that printing claims nothing more than was proven."""
    shown = bounds(Estimate(value, value, math.inf, 0.95)).partition("[")[2].partition(",")[0]
    return "more than 1" if shown.startswith(">") or value == 1.0 else f"at least {shown}"


def _table(findings: Sequence[Finding]) -> Fitted:
    """A row each; a narrow terminal has fewer columns, never parts of numbers."""
    columns = {
        "benchmark": Column("benchmark", wraps=True),
        "candidate": Column("candidate", wraps=True),
        "speedup": Column("speedup [certified bounds]"),
        "verdict": Column("verdict"),
        "p faster": Column("p faster", right=True),
        "p slower": Column("p slower", right=True),
        "blocks": Column("blocks", right=True),
        "ties": Column("ties", right=True),
    }
    rows = [
        {
            "benchmark": Cell(f.benchmark),
            "candidate": Cell(f.candidate),
            "speedup": Cell(certified(f), STYLES[f.verdict], _speedup(f)),
            "verdict": Cell(f"{MARKS[f.verdict]}{'!' if f.warnings else ' '}{called(f)}", STYLES[f.verdict]),
            "p faster": Cell(pvalue(f.result.pvalue_faster)),
            "p slower": Cell(pvalue(f.result.pvalue_slower)),
            "blocks": Cell(str(f.result.blocks)),
            "ties": Cell(str(f.result.ties)),
        }
        for f in findings
    ]

    def without(*names: str) -> Table:
        kept = [name for name in columns if name not in names]
        return Table(tuple(columns[n] for n in kept), tuple(tuple(row[n] for n in kept) for row in rows))

    return Fitted(
        (
            without(),
            without("ties"),
            without("p faster", "p slower"),
            without("p faster", "p slower", "ties"),
            without("p faster", "p slower", "ties", "blocks"),
        )
    )


def finding_blocks(findings: Sequence[Finding], *, risk: float, margin: float | None) -> Iterator[Block]:
    """Verdicts in words, then the table, then what the numbers promise.

    Parameters
    ----------
    findings : sequence of Finding
        Of a whole session.
    risk : float
        Of each side, for all candidates of a benchmark.
    margin : float or None
        Of equivalence.

    Yields
    ------
    Text or Table
        Nothing without findings.
    """
    if not findings:
        return
    yield from counted(findings)
    benchmarks = len({f.benchmark for f in findings})
    several = benchmarks > 1
    for finding in findings:
        text = _conclusion(finding, risk, margin)
        yield Text(f"{finding.benchmark}: {text.text}", text.style) if several else text
        for doubt in finding.warnings:
            yield Text(f"! {finding.benchmark}: {doubt}" if several else f"! {doubt}", "doubt")
    yield Text("")
    yield _table(findings)
    if findings[0].result.risk < risk:
        risks = (
            f"The claims 'faster' of a benchmark, all its candidates together, err with a risk of at most "
            f"{percent(risk)}; so do the claims 'slower', its lower bounds, and its upper bounds."
        )
    else:
        risks = (
            f"Each bound and each direction errs with a risk of at most {percent(risk)}, both together "
            f"{percent(2 * risk)}."
        )
    yield Text(
        f"Sequential comparison of paired blocks: these hold although every block was looked at. {risks} "
        "'Typically' is in the middle of the blocks' ratios, taken to scatter alike to both sides.",
        "dim",
    )
    if benchmarks > 1:
        yield Text(
            f"Of {benchmarks} benchmarks that did not change, up to {2 * risk * benchmarks:.2g} would be called "
            f"something; with --alpha {risk / benchmarks:.2g} the risk of any false claim is {percent(2 * risk)}.",
            "dim",
        )
    early = [
        f
        for f in findings
        if (f.verdict is Verdict.FASTER and f.result.low < 1.0)
        or (f.verdict is Verdict.SLOWER and f.result.high > 1.0)
    ]
    if early:
        who = ", ".join(f.candidate for f in early[:3]) + (", ..." if len(early) > 3 else "")
        yield Text(
            f"The verdict on {who} is proven by the evidence on all candidates together, before its bound, at a "
            "share of the risk, has passed 1.",
            "dim",
        )
    if all(f.reason == PROVEN and f.verdict is not Verdict.EQUIVALENT for f in findings):
        yield Text(
            "It stopped at the first proof; --precision 1% measures on until the speedup is known that well.",
            "dim",
        )


def calibration_blocks(calibration: Calibration, finding: Finding) -> Iterator[Block]:
    """The noise floor of the machine in words and the speedups that it lets one prove.

    Parameters
    ----------
    calibration : Calibration
        What the runs of one command told.
    finding : Finding
        Of the command against itself.

    Yields
    ------
    Text or Table
        The report.
    """
    c = calibration
    yield Text(
        f"{plural(c.runs, 'run')} of one command, median {format_value(c.median, 's')}: single runs vary by "
        f"{percent(c.noise, 2)}, the ratio within a block by {percent(c.block_noise, 2)}",
        "strong",
    )
    if finding.verdict in (Verdict.FASTER, Verdict.SLOWER):
        yield Text(
            f"The second copy was found {finding.verdict}: {certified(finding)}. This happens by chance with the "
            "stated risk; measured again and found again, something tells the two apart.",
            "bad",
        )
    elif finding.result.contradictory:
        yield Text(
            "Against itself: no single speedup fits all blocks; the machine changed while it was measured",
            "doubt",
        )
    else:
        yield Text(f"Against itself: {finding.verdict}, speedup {certified(finding)}")
    yield Text(
        f"Neighbouring runs: rank correlation {_signed(c.autocorrelation)} "
        f"(p {pvalue(c.autocorrelation_pvalue)}{_minded(c.autocorrelation_pvalue)}); drift: rank correlation "
        f"with order {_signed(c.drift)} (p {pvalue(c.drift_pvalue)}{_minded(c.drift_pvalue)})"
    )
    yield Text("")
    rows = tuple(
        (
            Cell(format_value(seconds, "s") if seconds < 60 else f"{seconds / 60:g} min"),
            Cell(f"{blocks:.0f}"),
            Cell(_up(speedup) if math.isfinite(speedup) else "none"),
        )
        for seconds, blocks, speedup in c.provable
    )
    yield Table(
        (Column("time", right=True), Column("blocks", right=True), Column("smallest provable speedup")), rows
    )
    yield Text("About half of all sessions of that length prove a speedup of that size.", "dim")


def _signed(value: float) -> str:
    return "undefined" if math.isnan(value) else f"{value:+.2f}"


def _minded(p: float) -> str:
    return ": blocks are needed, and are what 'run' measures" if p <= 0.05 else ""


def _up(value: float) -> str:
    """A speedup rounded up, and in percent when it is small."""
    if value >= 2.0:
        return ratio(math.ceil(value * 1e3) / 1e3) if value < 10 else ratio(value)
    gain = math.ceil((value - 1.0) * 1e5) / 1e5
    return f"{1.0 + gain:.5f} ({100 * gain:.3g} %)"

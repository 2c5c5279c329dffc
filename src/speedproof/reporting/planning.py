"""A plan: what builds and runs vary by, and what a proof costs."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec.structs import replace

from speedproof.conclude.looks import CandidateResult
from speedproof.data.units import format_value
from speedproof.protocols.planning import MOST_RUNS, Calibration, PowerPlan, RunPlan, RunsForPower
from speedproof.protocols.units import several
from speedproof.reporting.model import Column, Report, Table, Text, right
from speedproof.reporting.names import benchmark_column
from speedproof.reporting.numbers import factor, p_is, percent, plural, rough, share
from speedproof.reporting.words import CHANGED, asked_of, span


def report(plan: RunPlan) -> Report:
    """The plan and its cost."""
    pilot = f"{plan.builds} builds of each, {plural(plan.runs, 'run')} a build"
    small = max(plan.between, plan.within) == 0.0
    sentence = "Nothing varied in the pilot: use a finer clock or longer runs."
    if not small:
        sentence = f"{plural(plan.runs_per_build, 'run')} of each build give most for their time."
    columns = (Column("to prove"), *right("builds", "building", "measuring"), Column("options"))
    rows = []
    for size in plan.sizes:
        cells = (
            str(size.builds), _duration(size.building), _duration(size.measuring),
            f"--builds {size.builds} --runs {plan.runs_per_build}",
        )  # fmt: skip
        rows.append((f"{size.speedup:g}x", *(cells if size.builds else ("too many", "-", "-", ""))))
    notes = (
        Text(
            f"Pilot ({pilot}): builds vary by {percent(plan.between)}, runs of one build by "
            f"{percent(plan.within)}; a build takes {_duration(plan.build_seconds)}, "
            f"a run {_duration(plan.run_seconds)}.",
            "dim",
        ),
        Text("About 8 of 10 sessions of a size prove a speedup that large. A pilot knows it roughly.", "dim"),
    )
    return Report("", (Text(sentence, "strong"),), () if small else (Table.of(columns, rows),), notes)


def _duration(seconds: float) -> str:
    if seconds < 120.0:
        return format_value(seconds, "s", 3)
    return f"{seconds / 60:.0f} min" if seconds < 7200.0 else f"{seconds / 3600:.1f} h"


def calibrated(c: Calibration, finding: CandidateResult) -> Report:
    """The report of a calibration, where a command was measured against itself."""
    between = span(finding.certified)
    itself = Text(f"Against itself: {finding.verdict}, {between}")
    if finding.verdict in CHANGED:
        again = "Chance does that at the stated risk; found again, it is something that tells the two apart."
        itself = Text(f"The second copy was found {between}. {again}", "bad")
    elif finding.result.contradictory:
        changed = "no single speedup fits all runs; the machine changed meanwhile."
        itself = Text(f"Against itself: {changed}", "warning")
    rows = (
        (
            format_value(seconds, "s") if seconds < 60 else f"{seconds / 60:g} min",
            f"{blocks:.0f}",
            factor(speedup, 1) if math.isfinite(speedup) else "none",
        )
        for seconds, blocks, speedup in c.provable
    )
    vary = (
        f"single runs vary by {percent(c.noise, 2)}, the ratio within a pair by {percent(c.block_noise, 2)}"
    )
    answer = f"{plural(c.runs, 'run')} of one command, median {format_value(c.median, 's')}: {vary}"
    neighbours = _order("Neighbouring runs", c.autocorrelation, c.autocorrelation_pvalue)
    drift = _order("Drift with the order", c.drift, c.drift_pvalue)
    return Report(
        "Calibration",
        (Text(answer, "strong"), itself, neighbours, drift),
        (Table.of(right("measuring for", "pairs", "proves"), rows),),
        (Text("About half of all sessions of that length prove a speedup of that size.", "dim"),),
    )


def _order(what: str, correlation: float, p: float) -> Text:
    value = "undefined" if math.isnan(correlation) else f"{correlation:+.2f}"
    seen = p <= 0.05
    cure = "; pairs in random order, as 'run' measures, take care of it" if seen else ""
    return Text(f"{what}: rank correlation {value} ({p_is(p)}){cure}", "warning" if seen else "")


def of_power(plans: Sequence[PowerPlan], problems: Sequence[str] = (), whose: str = "") -> Report:
    """The runs that show an effect (for a candidate ``whose`` it is) in 8 and in 9 of 10 comparisons."""
    notes = tuple(Text(problem, "warning") for problem in problems)
    if not plans:
        return Report("power", (Text("No pilot to plan from.", "bad"),), notes=notes)
    first = plans[0]
    asked = f"({asked_of(first.protocol)}, risk {percent(first.alpha)})"
    what, runs = f"To find {share(first.effect)}{whose} in 8 of 10 comparisons", several(first.repeated)
    about = Report(f"power at {share(first.effect)}", (), notes=notes)
    if len(plans) == 1:
        often, oftener = first.sizes
        more = "as many" if often.runs == oftener.runs else _runs(oftener)
        sentence = f"{what}: about {_runs(often)} {runs} of each{_range(often)}; in 9 of 10: {more}"
        return replace(about, headline=(Text(sentence, "strong", asked),))
    column, named = benchmark_column([plan.benchmark for plan in plans])
    table = Table.by(
        sorted(plans, key=lambda plan: -(plan.sizes[0].runs or MOST_RUNS)),
        (column, lambda plan: named(plan.benchmark)),
        (Column("pilot", right=True), lambda plan: str(min(plan.pilot))),
        (Column("8 of 10", right=True), lambda plan: _runs(plan.sizes[0])),
        (Column("between", right=True), lambda plan: _range(plan.sizes[0]).strip(" ()")),
        (Column("9 of 10", right=True), lambda plan: _runs(plan.sizes[1])),
        row=lambda plan: {"name": plan.benchmark},
    )
    answer = Text(f"{what}: {runs} of each version", "strong", asked)
    return replace(about, headline=(answer,), tables=(table,))


def _runs(size: RunsForPower) -> str:
    return f"more than {MOST_RUNS:,}" if size.runs is None else rough(size.runs)


def _range(size: RunsForPower) -> str:
    return "" if size.runs is None else f" ({rough(int(size.low))} to {rough(int(size.high))})"

"""A plan: what builds and runs vary by, and what a proof costs."""

from __future__ import annotations

from speedproof.data.units import format_value
from speedproof.protocols.planning import RunPlan
from speedproof.reporting.model import Column, Report, Table, Text, right
from speedproof.reporting.numbers import percent, plural


def report(plan: RunPlan) -> Report:
    """The plan and its cost."""
    pilot = f"{plan.builds} builds of each, {plural(plan.runs, 'run')} a build"
    small = max(plan.between, plan.within) == 0.0
    sentence = (
        "Nothing varied in the pilot: use a finer clock or longer runs."
        if small
        else f"{plural(plan.runs_per_build, 'run')} of each build give most for their time."
    )
    columns = (Column("to prove"), *right("builds", "building", "measuring"), Column("options"))
    rows = []
    for size in plan.sizes:
        known = (
            str(size.builds), _duration(size.building), _duration(size.measuring),
            f"--builds {size.builds} --runs {plan.runs_per_build}",
        )  # fmt: skip
        rows.append((f"{size.speedup:g}x", *(known if size.builds else ("too many", "-", "-", ""))))
    notes = (
        Text(
            f"Pilot ({pilot}): builds vary by {percent(plan.between)}, runs of one build by "
            f"{percent(plan.within)}; a build takes {_duration(plan.build_seconds)}, "
            f"a run {_duration(plan.run_seconds)}.",
            "dim",
        ),
        Text("About 8 of 10 sessions of a size prove a speedup that large. A pilot knows it roughly.", "dim"),
    )
    return Report(
        "",
        (Text(sentence, "strong"),),
        () if small else (Table.of(columns, rows),),
        notes,
        command="run",
        data=(plan,),
    )


def _duration(seconds: float) -> str:
    if seconds < 120.0:
        return format_value(seconds, "s", 3)
    return f"{seconds / 60:.0f} min" if seconds < 7200.0 else f"{seconds / 3600:.1f} h"

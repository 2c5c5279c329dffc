"""A plan: what builds and runs vary by, and what a proof costs."""

from __future__ import annotations

from speedproof.data.units import format_value
from speedproof.protocols.planning import RunPlan
from speedproof.reporting.model import Cell, Column, Report, Row, Table, Text
from speedproof.reporting.numbers import percent, plural


def report(plan: RunPlan) -> Report:
    """The plan and its cost."""
    pilot = f"{plan.builds} builds of each, {plural(plan.runs, 'run')} a build"
    small = max(plan.between, plan.within) == 0.0
    told = (
        "Nothing varied in the pilot: use a finer clock or longer runs."
        if small
        else f"{plural(plan.runs_per_build, 'run')} of each build give most for their time."
    )
    columns = (
        Column("to prove"), Column("builds", right=True), Column("building", right=True),
        Column("measuring", right=True), Column("options"),
    )  # fmt: skip
    rows = tuple(
        Row(
            (
                Cell(f"{size.speedup:g}x"),
                Cell(str(size.builds) if size.builds else "too many"),
                Cell(_duration(size.building) if size.builds else "-"),
                Cell(_duration(size.measuring) if size.builds else "-"),
                Cell(f"--builds {size.builds} --runs {plan.runs_per_build}" if size.builds else ""),
            )
        )
        for size in plan.sizes
    )
    notes = (
        Text(
            f"Pilot ({pilot}): builds vary by {percent(plan.between)}, runs of one build by "
            f"{percent(plan.within)}; a build takes {_duration(plan.build_seconds)}, "
            f"a run {_duration(plan.run_seconds)}.",
            "dim",
        ),
        Text(
            "About 8 of 10 sessions of a size prove a speedup that large. A pilot knows it roughly.",
            "dim",
        ),
    )
    return Report(
        "",
        (Text(told, "strong"),),
        () if small else (Table(columns, rows),),
        notes,
        command="run",
        data=(plan,),
    )


def _duration(seconds: float) -> str:
    if seconds < 120.0:
        return format_value(seconds, "s", 3)
    return f"{seconds / 60:.0f} min" if seconds < 7200.0 else f"{seconds / 3600:.1f} h"

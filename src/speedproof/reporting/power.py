"""How many runs find an effect: a sentence for one benchmark, a row each for several."""

from __future__ import annotations

from collections.abc import Sequence

from speedproof.protocols.power import MOST_RUNS, PowerPlan, RunsForPower
from speedproof.reporting.model import Report, Row, Table, Text, right
from speedproof.reporting.names import benchmark_column
from speedproof.reporting.numbers import percent, rough, share
from speedproof.reporting.words import asked_of, several


def report(plans: Sequence[PowerPlan], problems: Sequence[str] = (), whose: str = "") -> Report:
    """What finds an effect (of a candidate, ``whose`` it is) in 8 and in 9 of 10 comparisons."""
    notes = tuple(Text(problem, "warning") for problem in problems)
    if not plans:
        return Report("power", (Text("No pilot to plan from.", "bad"),), notes=notes, command="compare")
    first = plans[0]
    asked = f"({asked_of(first.protocol)}, risk {percent(first.alpha)})"
    what, runs = f"To find {share(first.effect)}{whose} in 8 of 10 comparisons", several(first.repeated)
    about = Report(f"power at {share(first.effect)}", (), notes=notes, command="compare", data=tuple(plans))
    if len(plans) == 1:
        often, oftener = first.sizes
        sentence = f"{what}: about {_runs(often)} {runs} of each{_range(often)}; in 9 of 10: {_runs(oftener)}"
        return Report(
            about.title, (Text(sentence, "strong", asked),), notes=notes, command="compare", data=about.data
        )
    column, named = benchmark_column([plan.benchmark for plan in plans])
    rows = [
        Row.of(
            named(plan.benchmark),
            str(min(plan.pilot)),
            _runs(plan.sizes[0]),
            _range(plan.sizes[0]).strip(" ()"),
            _runs(plan.sizes[1]),
            name=plan.benchmark,
        )
        for plan in sorted(plans, key=lambda plan: -(plan.sizes[0].runs or MOST_RUNS))
    ]
    columns = (column, *right("pilot", "8 of 10", "between", "9 of 10"))
    return Report(
        about.title,
        (Text(f"{what}: {runs} of each version", "strong", asked),),
        (Table.of(columns, rows),),
        notes,
        command="compare",
        data=about.data,
    )


def _runs(size: RunsForPower) -> str:
    return f"more than {MOST_RUNS}" if size.runs is None else rough(size.runs)


def _range(size: RunsForPower) -> str:
    return "" if size.runs is None else f" ({rough(int(size.low))} to {rough(int(size.high))})"

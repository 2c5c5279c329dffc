"""The states of runs by several metrics: a row a state, and how versions compare."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from speedproof.protocols.joint import JointModel
from speedproof.reporting.model import Cell, Column, Report, Row, Table, Text, right
from speedproof.reporting.names import case_share, percent, plural, value_of


def report(models: Sequence[JointModel]) -> Report:
    """A row for each state of each version."""
    metrics = models[0].metrics
    several = len({m.benchmark for m in models}) > 1
    columns = (
        Column("benchmark" if several else "version", names=True),
        Column("version" if several else ""),
    )
    rows = []
    for m in models:
        for k, state in enumerate(m.states):
            names = (Cell(m.benchmark, "strong"), m.version) if several else (Cell(m.version, "strong"), "")
            levels = (
                f"{value_of(mean, unit)} ± {value_of(sd, unit)}"
                for mean, sd, unit in zip(state.means, state.deviations, m.units, strict=True)
            )
            shown = names if k == 0 else ("", "")
            rows.append(Row.of(*shown, percent(state.weight, 2), *levels, name=f"{m.benchmark} {m.version}"))
    counts = ", ".join(f"{plural(len(m.states), 'state')} of {m.version}" for m in models)
    if several:
        ends = sorted({len(m.states) for m in models})
        span = " to ".join(map(str, ends[:: max(len(ends) - 1, 1)]))
        counts = f"{span} {'state' if ends == [1] else 'states'} in {plural(len(models), 'sample')}"
    return Report(
        f"States of runs by {' and '.join(metrics)}",
        (Text(f"Runs by {' and '.join(metrics)}: {counts}", "strong", "(normal mixtures)"),),
        (Table.of((*columns, *right("runs", *metrics)), rows),),
        tuple(_compared(models, several=several)),
        command="model",
        data=tuple(models),
    )


def _compared(models: Sequence[JointModel], *, several: bool) -> Iterator[Text]:
    said: set[tuple[str, str, str]] = set()
    for m in models:
        where = f"{m.benchmark}: " if several else ""
        for other in m.others:
            often = f"a run of {m.version} is better than one of {other.version} in every metric in "
            often += f"{case_share(other.better)} of cases"
            gaps = ""
            if (m.benchmark, other.version, m.version) not in said:  # the distance back is the same
                far = zip(other.distances, m.units, m.metrics, strict=True)
                gaps = (
                    f"; mean distance {', '.join(f'{value_of(d, unit)} in {name}' for d, unit, name in far)}"
                )
            said.add((m.benchmark, m.version, other.version))
            yield Text(f"{where}{often}{gaps}.")
        if len(m.others) > 1:
            yield Text(
                f"{where}a run of {m.version} is better than one of each other version in {case_share(m.best)} "
                "of cases."
            )

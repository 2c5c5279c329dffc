"""The states of runs by several metrics: a row a state, and how versions compare."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from speedproof.protocols.joint import JointModel
from speedproof.reporting.model import Cell, Column, Report, Row, Table, Text, right
from speedproof.reporting.numbers import case_share, percent, plural, value_of


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
    counts = ", ".join(f"{plural(len(m.states), 'state')} of {m.version}" for m in models[:4])
    more = f" and {len(models) - 4} more" if len(models) > 4 else ""
    return Report(
        f"States of runs by {' and '.join(metrics)}",
        (Text(f"Runs by {' and '.join(metrics)}: {counts}{more}", "strong", "(mixture, ICL)"),),
        (Table.of((*columns, *right("runs", *metrics)), rows),),
        tuple(_compared(models, several=several)),
        command="model",
        data=tuple(models),
    )


def _compared(models: Sequence[JointModel], *, several: bool) -> Iterator[Text]:
    for m in models:
        where = f"{m.benchmark}: " if several else ""
        for other in m.others:
            gaps = ", ".join(
                f"{value_of(gap, unit)} in {name}"
                for gap, unit, name in zip(other.distances, m.units, m.metrics, strict=True)
            )
            yield Text(
                f"{where}a run of {m.version} is better than one of {other.version} in all of them in "
                f"{case_share(other.better)} of cases; mean distance {gaps}."
            )
        if len(m.others) > 1:
            yield Text(
                f"{where}it is better than one of each other version in {case_share(m.best)} of cases."
            )

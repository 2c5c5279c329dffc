"""The modes of two versions: which moved, came, went; and the states of their runs by several metrics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from speedproof.data.units import format_value, format_values
from speedproof.protocols.joint import JointModel
from speedproof.protocols.modes import ModeComparison
from speedproof.reporting.model import Cell, Column, Report, Row, Table, Text, folded, right
from speedproof.reporting.names import benchmark_column, case_share, labels, percent, plural, value_of
from speedproof.reporting.words import interval

_KINDS = ("changed", "unchanged", "without a claim")


def report(
    comparisons: Sequence[ModeComparison],
    versions: tuple[str, str],
    *,
    everything: bool = False,
    details: bool = False,
    explain: bool = False,
) -> Report:
    """A row a benchmark, those whose modes changed first; ``details`` tells how far each mode moved."""
    old, new = labels(versions, 24)
    kinds = [_kind(c) for c in comparisons]
    counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in _KINDS if kind in kinds)
    counts = counts or "none; a mixture takes ten runs (processes) of each that are positive and differ"
    column, named = benchmark_column([c.benchmark for c in comparisons])
    columns = (
        column,
        *(Column(f"modes of {name}", brief=name) for name in labels(versions, 14)),
        Column("what changed"),
        *right("E|X-Y|", drop=1),
        *right("P[Y<X]", drop=2),
    )
    rows = [
        Row.of(
            named(c.benchmark),
            _places(c.reference_modes, c.unit),
            _places(c.candidate_modes, c.unit),
            Cell(_change(c), "strong" if _kind(c) == "changed" else "dim"),
            format_value(c.gap, c.unit, 3),
            f"{c.candidate_lower:.2f}",
            name=c.benchmark,
            message=c.conclusion,
            kind=_kind(c),
        )
        for c in sorted(comparisons, key=lambda c: (_KINDS.index(_kind(c)), c.pvalue))
    ]
    notes = [text for c in comparisons for text in _moves(c)] if details else []
    risk = f"(risk {percent(comparisons[0].alpha)} in each)" if comparisons else ""
    return Report(
        f"{new} against {old}: modes",
        (Text(f"Modes of {new} against {old}: {counts}", "strong", risk),),
        (Table.of(columns, folded(rows, "changed", everything=everything)),) if rows else (),
        tuple(notes),
        command="compare",
        data=tuple(comparisons),
    )


def _kind(c: ModeComparison) -> str:
    if c.undermining:
        return "without a claim"
    return "changed" if c.vanished or c.appeared or c.moved or c.reweighted else "unchanged"


def _change(c: ModeComparison) -> str:
    """What became of the modes, in a few words."""
    if c.undermining:
        return f"no claim: {c.undermining[0].violated}"
    counts = (("went", len(c.vanished)), ("came", len(c.appeared)))
    parts = [f"{n} {what}" for what, n in counts if n]
    parts += ["moved"] if c.moved and not parts else []
    parts += ["other shares"] if c.reweighted else []
    return ", ".join(parts) or "no change shown"


def _moves(c: ModeComparison) -> Iterator[Text]:
    """Each mode of a benchmark that has several: where it was, where it is, how often."""
    if len(c.matched) < 2 or not (c.moved or c.reweighted):
        return
    for mode in c.matched:
        places = format_values([mode.reference, mode.candidate], c.unit)
        moved = f"{interval(mode.ratio)}{'' if mode.moved else ' (not shown)'}"
        shares = f"{percent(mode.reference_share, 2)} to {percent(mode.candidate_share, 2)} of the runs"
        line = f"{c.benchmark}: the mode at {places[0]} is at {places[1]}, {moved}"
        yield Text(f"  {line}; from {shares}{'' if mode.reweighted else ' (not shown)'}.", "dim")


def _places(places: Sequence[float], unit: str) -> Cell:
    """Where the modes lie; how many they are where there is no room."""
    if not places:
        return Cell("-")
    shown = format_values(list(places), unit, 4)
    first = shown[0] if len(shown) == 1 else f"{shown[0]}, {len(shown) - 1} more"
    return Cell(", ".join(shown), shorter=(first,))


def states(models: Sequence[JointModel]) -> Report:
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

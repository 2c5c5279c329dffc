"""What was read, before anything is concluded from it."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from msgspec.structs import replace

from speedproof.data.sample import Sample, Trait
from speedproof.data.suite import Suite
from speedproof.data.units import scale_of
from speedproof.protocols.units import repeated_in, several, summarise
from speedproof.reporting.model import Cell, Column, Report, Row, Style, Table, Text, hint_of_all, right
from speedproof.reporting.names import benchmark_column, called
from speedproof.reporting.numbers import plural, values
from speedproof.reporting.words import spread
from speedproof.stats.scaling import NORMAL_DEVIATION, with_headroom

_FAR = 5.0
_MANY, _SHOWN = 24, 16
_NEGLIGIBLE = 1e-4
_TRAITS = {
    Trait.TRIMMED: "trimmed",
    Trait.SORTED: "sorted",
    Trait.SUMMARY_ONLY: "summary only",
    Trait.ONE_PROCESS: "one process",
}


def report(suite: Suite, *, everything: bool = False) -> Report:
    """A row a sample, those of the main metric first; of many those with something odd. Then what was left out."""
    commands, several = suite.commands, len(suite.metrics) > 1
    count = plural(len(suite.versions), "command" if commands else "version")
    count += " of one file" if commands else ""
    versions, names = called(suite.versions), suite.benchmarks
    column, named = benchmark_column(names, "benchmark")
    if commands:
        column, named = benchmark_column(suite.versions, "command")
    odd = [_oddities(sample) for sample in suite.samples.values()]
    alike = [word for word in odd[0] if all(word in words for words in odd)] if len(odd) > 1 else []
    made = []
    for ((key, version), sample), words in zip(suite.samples.items(), odd, strict=True):
        cells = _cells(sample, [word for word in words if word not in alike])
        names_of = named(version if commands else key.benchmark), version if commands else versions[version]
        kind = "odd" if cells[-1].text else "samples"
        name = f"{key.benchmark} ({version}): {key.metric}"
        shown = Row.of(*names_of, key.metric, *cells, name=name, kind=kind)
        made.append((key.metric != suite.main_metric, shown))
    folds = len(made) > _MANY and not everything
    by_oddity = folds and sum(not beside for beside, _ in made) > _SHOWN
    made.sort(key=lambda one: (one[0], (by_oddity or (folds and one[0])) and one[1].kind != "odd"))
    rows = [row for _, row in made]
    many = sum(row.kind == "odd" for row in rows)
    if folds:
        rows = [
            replace(r, kind="with something odd" if r.kind == "odd" else "samples", folded=i >= _SHOWN)
            for i, r in enumerate(rows)
        ]
    columns = (
        column,
        Column("version", names=True),
        Column("metric", names=True),
        *right("median"),
        *right("mean", drop=-2),
        *right("min", drop=1),
        *right("max", drop=2),
        *right("runs"),
        Column("odd" if many else "", drop=-1),
    )
    alone = (False, commands or len(suite.versions) == 1, not several)
    table = Table.of(columns, rows)
    table = table.of_columns([i for i in range(len(table.columns)) if not (i < 3 and alone[i])])
    of = count if commands else f"{plural(len(names), 'benchmark')} of {count}"
    metrics = f", {len(suite.metrics)} metrics" if several else ""
    noted = f"; {plural(many, 'sample')} with something odd" if many else ""
    asked = suite.question.decide_by
    decided = f", decided by {asked}" if asked != "time" else ""
    headline = (Text(f"{of}{metrics}{decided}{noted}", "strong"),)
    notes = [Text(f"True of every sample: {', '.join(alike)}.", "warning")] if alike else []
    notes += _notes(suite, everything=everything)
    tables = (table,) if rows else ()
    return Report("What was read", headline, tables, tuple(notes), hint_of_all("sample", table))


def _cells(sample: Sample, odd: list[str]) -> list[Cell]:
    """Median, mean with its spread, ends, runs, and what is odd."""
    side = summarise(sample)
    measured = [side.median, side.mean, float(sample.values.min()), float(sample.values.max())]
    median, mean, least, most = (_alike(value, measured, sample.unit) for value in measured)
    n, whole = str(sample.n), f"{mean}{spread(side)}"
    return [
        Cell(median),
        Cell(whole, shorter=(whole, mean)),
        Cell(least),
        Cell(most),
        Cell(f"{n} in {sample.process_count}" if sample.nested else n, shorter=(n,)),
        Cell(", ".join(odd), "warning", (f"{odd[0]}, …",) if len(odd) > 1 else ()),
    ]


def _alike(value: float, row: list[float], unit: str) -> str:
    """A value in the scale of its row, and with as many digits as every other row's."""
    sizes = [abs(v) for v in row if math.isfinite(v)]
    even = bool(sizes) and min(sizes) > max(sizes) * _NEGLIGIBLE
    return values([value], unit, scale=scale_of(max(sizes), unit) if even else None)[0]


def _notes(suite: Suite, *, everything: bool) -> Iterator[Text]:
    """Remarks on changed, pooled and omitted values; the first few of each."""
    nested = next((s for s in suite.samples.values() if s.nested and s.process_count > 1), None)
    if nested is not None:
        independent = nested.process_count
        units = several(repeated_in(nested, independent))
        values_of = f"Of {nested.n} values from {independent} {units} only the {units} are independent"
        yield Text(f"{values_of}: compare takes one value of each.", "dim")
    groups: list[tuple[str, Style, list[str]]] = [
        ("Note", "dim", [note for sample in suite.samples.values() for note in sample.notes]),
        ("Note", "warning", [str(residue) for residue in suite.residue]),
        ("Left out", "warning", [str(s) for s in suite.skipped if not s.expected]),
    ]
    expected = [str(s) for s in suite.skipped if s.expected]
    if everything:
        groups.append(("Left out as usual", "dim", expected))
    elif expected:
        count = plural(len(expected), "part")
        yield Text(f"Left out as usual (warm-up, totals, other files): {count} (--all)", "dim")
    for title, style, lines in groups:
        different = list(dict.fromkeys(lines))
        shown = different if everything or len(different) <= 3 else different[:2]
        yield from (Text(f"{title}: {line}", style) for line in shown)
        if len(different) > len(shown):
            yield Text(f"{title}: {len(different) - len(shown)} more (--all)", "dim")


def _oddities(sample: Sample) -> list[str]:
    v = sample.values
    odd = [word for trait, word in _TRAITS.items() if trait in sample.traits]
    if sample.session_count > 1:
        odd.insert(0, plural(sample.session_count, "session"))
    if sample.n == 1:
        return ["one value", *odd]
    distinct = int(np.unique(v).size)
    if distinct == 1:
        odd.append("constant")
    elif 2 * distinct <= sample.n:
        odd.append(f"{distinct} distinct values")
    if v.min() <= 0:
        odd.append("zeros" if v.min() == 0 else "negative values")
    (u,) = with_headroom(v)
    distances = np.abs(u - np.median(u))
    deviation = float(np.median(distances))
    far = int(np.sum(distances / _FAR > NORMAL_DEVIATION * deviation)) if deviation > 0 else 0
    return [*odd, f"{plural(far, 'value')} far out"] if far else odd

"""What was read, before anything is concluded from it."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from msgspec.structs import replace

from speedproof.data.sample import Sample, Trait
from speedproof.data.suite import Suite
from speedproof.data.units import scale_of
from speedproof.protocols.summaries import summarise
from speedproof.reporting.model import Cell, Column, Report, Row, Style, Table, Text, hint_of_all, right
from speedproof.reporting.names import benchmark_column, called
from speedproof.reporting.numbers import plural, values
from speedproof.reporting.words import spread
from speedproof.stats.scaling import with_headroom

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
    """A row a sample; of many those with something odd first. Then what was left out, and why."""
    what = "command" if suite.commands else "version"
    count = plural(len(suite.versions), what) + (" of one file" if suite.commands else "")
    metrics = {key.metric for key in suite.keys}
    names = {key.benchmark for key in suite.keys}
    benchmarks = plural(len(names), "benchmark")
    told = count if suite.commands else f"{benchmarks} of {count}"
    told += f", {len(metrics)} metrics" if len(metrics) > 1 else ""
    short = called(suite.versions)
    found = [_oddities(sample) for sample in suite.samples.values()]
    alike = [word for word in found[0] if all(word in words for words in found)] if len(found) > 1 else []
    column, named = benchmark_column(list(names), "benchmark")
    if suite.commands:
        column, named = benchmark_column(suite.versions, "command")
    rows = [
        _row(
            named(version if suite.commands else key.benchmark),
            key.benchmark,
            version if suite.commands else short[version],
            key.metric,
            sample,
            [word for word in words if word not in alike],
        )
        for ((key, version), sample), words in zip(suite.samples.items(), found, strict=True)
    ]
    odd = sum(row.kind == "odd" for row in rows)
    if len(rows) > _MANY and not everything:
        rows.sort(key=lambda row: row.kind != "odd")
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
        Column("odd" if odd else "", drop=-1),
    )
    hidden = {1 if suite.commands or len(suite.versions) == 1 else None, 2 if len(metrics) == 1 else None}
    if len(names) == 1 and not suite.commands and None in hidden:
        hidden.add(0)
        told = f"{next(iter(names))}: {count}"
        told += f", {len(metrics)} metrics" if len(metrics) > 1 else ""
    table = Table.of(columns, rows)
    table = table.of_columns([i for i in range(len(table.columns)) if i not in hidden])
    noted = f"; {plural(odd, 'sample') if len(metrics) > 1 else odd} with something odd" if odd else ""
    return Report(
        "What was read",
        (Text(f"{told}{noted}", "strong"),),
        (table,) if rows else (),
        (
            *([Text(f"Of every sample: {', '.join(alike)}.", "warning")] if alike else []),
            *_notes(suite, everything=everything),
        ),
        hint_of_all("sample", table),
        command="show",
        data=suite,
    )


def _row(first: Cell, benchmark: str, version: str, metric: str, sample: Sample, odd: list[str]) -> Row:
    side = summarise(sample)
    ends = [float(sample.values.min()), float(sample.values.max())]
    measured = [side.median, side.mean, *ends]
    median, mean, least, most = (_alike(value, measured, sample.unit) for value in measured)
    n = str(sample.n)
    return Row.of(
        first,
        version,
        metric,
        median,
        Cell(f"{mean}{spread(side)}", shorter=(f"{mean}{spread(side)}", mean)),
        least,
        most,
        Cell(f"{n} in {sample.process_count}" if sample.nested else n, shorter=(n,)),
        Cell(", ".join(odd), "warning", (f"{odd[0]}, …",) if len(odd) > 1 else ()),
        name=f"{benchmark} ({version}): {metric}",
        kind="odd" if odd else "samples",
    )


def _alike(value: float, row: list[float], unit: str) -> str:
    """A value in the scale of its row, and with as many digits as every other row's."""
    sizes = [abs(v) for v in row if math.isfinite(v)]
    even = bool(sizes) and min(sizes) > max(sizes) * _NEGLIGIBLE
    return values([value], unit, scale=scale_of(max(sizes), unit) if even else None)[0]


def _notes(suite: Suite, *, everything: bool) -> Iterator[Text]:
    """What was done to the values, what told pooled ones apart, what was left out; the first few of each."""
    nested = next((s for s in suite.samples.values() if s.nested and s.process_count > 1), None)
    if nested is not None:
        told = (
            f"Of {nested.n} values from {nested.process_count} processes only the processes are independent: "
            "compare takes one value of each."
        )
        yield Text(told, "dim")
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
        found = list(dict.fromkeys(lines))
        shown = found if everything or len(found) <= 3 else found[:2]
        for line in shown:
            yield Text(f"{title}: {line}", style)
        if len(found) > len(shown):
            yield Text(f"{title}: {len(found) - len(shown)} more (--all)", "dim")


def _oddities(sample: Sample) -> list[str]:
    v = sample.values
    found = [word for trait, word in _TRAITS.items() if trait in sample.traits]
    if sample.session_count > 1:
        found.insert(0, plural(sample.session_count, "session"))
    if sample.n == 1:
        return ["one value", *found]
    distinct = int(np.unique(v).size)
    if distinct == 1:
        found.append("constant")
    elif 2 * distinct <= sample.n:
        found.append(f"{distinct} distinct values")
    if v.min() <= 0:
        found.append("zeros" if v.min() == 0 else "negative values")
    (u,) = with_headroom(v)
    distances = np.abs(u - np.median(u))
    deviation = float(np.median(distances))
    far = int(np.sum(distances / _FAR > 1.4826 * deviation)) if deviation > 0 else 0
    if far:
        found.append(f"{plural(far, 'value')} far out")
    return found

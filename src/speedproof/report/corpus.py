"""A corpus in words: what it holds, and what a query gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from speedproof.data.names import enumerate_names
from speedproof.report.model import Cell, Column, Report, Table, Text
from speedproof.report.names import labels
from speedproof.report.numbers import plural

if TYPE_CHECKING:
    from speedproof.corpus.info import CorpusInfo

__all__ = ["contents", "size_of", "table_of"]

_SHOWN = 20


def size_of(count: int) -> str:
    """A number of bytes.

    Examples
    --------
    >>> size_of(512), size_of(1_234_567), size_of(65_000_000_000)
    ('512 B', '1.2 MB', '65 GB')
    """
    size, unit = float(count), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if size < 1000:
            break
        size, unit = size / 1000, larger
    return f"{size:.0f} {unit}" if size >= 10 or unit == "B" else f"{size:.1f} {unit}"


def contents(found: CorpusInfo) -> Report:
    """What ``speedproof corpus info`` shows."""
    headline = [
        Text(
            f"{plural(found.rows, 'sample')} of {plural(found.benchmarks, 'benchmark')} in "
            f"{plural(len(found.versions), 'version')}: {found.values:,} values, {size_of(found.bytes)}",
            "strong",
        )
    ]
    if not found.complete:
        headline.append(Text("The build was cut short; the same command goes on with it.", "doubt"))
    names = labels([name for name, _ in found.versions], 24)
    facts = {
        "Read from": plural(found.inputs, "file"),
        "Stored in": f"{plural(found.files, 'Parquet file')}, schema {found.schema}",
        "Versions": enumerate_names(names, 6),
        "Metrics": enumerate_names(name for name, _ in found.metrics),
        "Values a sample": f"{found.least:g} to {found.most:g}, half have {found.middle:g} or more",
        "Machines": str(found.machines) if found.machines else "",
        "Sessions": str(found.sessions),
        "Tags": enumerate_names(found.tags, 8),
    }
    if found.least == found.most:
        facts["Values a sample"] = f"{found.least:g}"
    facing = [Text(f"{name}: {value}") for name, value in facts.items() if value and found.rows]
    notes = [Text(f"Units are mixed in {b} ({m}): {u}", "doubt") for b, m, u in found.mixed[:3]]
    if len(found.mixed) > 3:
        notes.append(Text(f"... and in {len(found.mixed) - 3} more", "doubt"))
    if found.rejects:
        notes.append(Text(f"Not read: {plural(found.rejects, 'file')} or parts of files:", "doubt"))
        for file, place, reason in found.rejected:
            notes.append(Text(f"  {': '.join(part for part in (file, place, reason) if part)}", "dim"))
        if found.rejects > len(found.rejected):
            notes.append(Text("  All: speedproof corpus query DIR 'FROM rejects'", "dim"))
    return Report(
        f"corpus {found.name}",
        tuple(headline),
        (),
        (*facing, *notes),
        command="corpus info",
        data=found,
    )


def table_of(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], total: int) -> Report:
    """What ``speedproof corpus query`` shows on a terminal: the first rows."""
    numbers = {name for name in columns if rows and all(isinstance(row[name], int | float) for row in rows)}

    def cells() -> Iterator[tuple[Cell, ...]]:
        for row in rows:
            yield tuple(Cell(_said(row[name])) for name in columns)

    shown = Table.of(tuple(Column(name, right=name in numbers) for name in columns), cells())
    more = (Text(f"... {total - len(rows)} more rows: --all"),) if total > len(rows) else ()
    return Report("", (), (shown,), more, command="corpus query")


def _said(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple) and len(value) > 4:
        return f"[{', '.join(_said(v) for v in value[:3])}, ... {len(value)}]"
    return str(value)

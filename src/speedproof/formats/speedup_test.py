"""The configuration of the Speedup-Test tool: a row a benchmark, with the files of its two samples.

``Name,Sample1,Sample2,ConfLevel,Coef``: the samples are raw text, the last two columns may be empty or
absent and are handed on as fields. Spreadsheets in some languages separate with semicolons; that is read too.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from itertools import zip_longest

from msgspec.structs import replace

from speedproof.data.names import plural
from speedproof.data.record import Record, Skipped
from speedproof.errors import FormatError
from speedproof.formats import raw
from speedproof.formats.reading import delimiter_of
from speedproof.formats.source import ReadOptions, Source, open_source

TITLE = "Speedup-Test configuration"
DESCRIPTION = "CSV of Name,Sample1,Sample2,ConfLevel,Coef and the sample files that it names"

VERSIONS = ("Sample1", "Sample2")
_OPTIONAL = ("ConfLevel", "Coef")


_CONFIGURATION = re.compile(
    rb'\s*"?Name"?\s*(?P<delimiter>[,;\t])\s*"?Sample1"?\s*(?P=delimiter)\s*"?Sample2"?\s*([,;\t\r\n]|$)',
    re.IGNORECASE,
)


def sniff(head: bytes) -> bool:
    """Whether a file begins with the header of a configuration."""
    return _CONFIGURATION.match(head) is not None


def read(source: Source, options: ReadOptions) -> Iterator[Record | Skipped]:
    """Read every benchmark of a configuration.

    Sample files are looked for beside the configuration, then in the working directory. A benchmark of
    which one sample cannot be read is left out whole.
    """
    delimiter = delimiter_of(next((line for line in source.lines if line.strip()), "")) or ","
    rows = csv.reader(source.lines, delimiter=delimiter, strict=True, skipinitialspace=True)
    header: list[str] = []
    seen: dict[str, list[str]] = {}
    try:
        for row in rows:
            cells, where = [cell.strip() for cell in row], f"line {rows.line_num}"
            if any(cells) and header:
                yield from _benchmark(header, cells, where, seen, source, options)
            elif any(cells):
                header = _header(cells, source, where)
    except csv.Error as error:
        raise source.error(f"line {rows.line_num}", f"not CSV: {error}") from None


def _header(cells: list[str], source: Source, where: str) -> list[str]:
    names = {name.lower(): name for name in ("Name", *VERSIONS, *_OPTIONAL)}
    header = [names.get(cell.lower(), cell) for cell in cells]
    for name in ("Name", *VERSIONS):
        if name not in header:
            raise source.error(
                where, f"the header lacks {name}; it should be Name,Sample1,Sample2,ConfLevel,Coef"
            )
    return header


def _benchmark(
    header: list[str],
    cells: list[str],
    where: str,
    seen: dict[str, list[str]],
    source: Source,
    options: ReadOptions,
) -> Iterator[Record | Skipped]:
    row = dict(zip_longest(header, cells[: len(header)], fillvalue=""))
    if not (name := row["Name"]):
        yield source.skip(where, "", "the row has no Name")
        return
    # Two rows of one name are two benchmarks, not one with twice the values.
    same = seen.setdefault(name, [])
    same.append(where)
    notes: list[str] = []
    if len(same) > 1:
        name += f" #{len(same)}"
        notes.append(
            f"{source.name}: {where}: {row['Name']!r} is the name in {same[0]} too; here it is {name!r}"
        )
    if any(beyond := cells[len(header) :]):
        notes.append(f"{source.name}: {where}: {plural(len(beyond), 'cell')} beyond the header not used")
    fields = tuple((column, row[column]) for column in _OPTIONAL if row.get(column))
    frame = replace(source.frame(where, name), fields=fields, notes=tuple(notes))
    items: list[Record | Skipped] = []
    for version in VERSIONS:
        if not (file := row.get(version)):
            yield frame.left_out(f"the row names no file for {version}")
            return
        try:
            sample = open_source(source.beside(file) or file)
            for item in raw.sample(sample, options, replace(frame, where="", version=version)):
                if isinstance(item, Skipped):
                    item = frame.left_out(f"{version}, {item.path}, {item.where}: {item.reason}")
                items.append(item)
        except FormatError as error:
            yield frame.left_out(f"{version} cannot be read: {error}")
            return
    yield from sorted(items, key=lambda item: isinstance(item, Record))

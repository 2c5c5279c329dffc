"""The list of formats, and how a file's content tells which one it has.

A reader is a module of this package that owns

* ``NAME``, as ``--format`` takes it; the module is called the same, with underscores for dashes,
* ``TITLE`` and ``DESCRIPTION``, the tool and what is read of it,
* ``sniff(head)``: whether a file that begins with these bytes has this format,
* ``read(source, options)``: an iterator of records and of what was left out.

It is imported when its first file comes, so that reading text never pays for the parsing of JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from msgspec import Struct
from msgspec.structs import replace

from speedproof.data.record import Record, Skipped
from speedproof.errors import UsageError
from speedproof.formats import text
from speedproof.formats.source import ReadOptions, Source


class Reader(Protocol):
    """What the module of a format offers."""

    NAME: str
    TITLE: str
    DESCRIPTION: str

    def sniff(self, head: bytes) -> bool:
        """Whether a file that begins with these bytes has this format; by content, never by its name."""

    def read(self, source: Source, options: ReadOptions) -> Iterator[Record | Skipped]:
        """Everything that a file of this format holds, in the order of the file."""


class Format(Struct, frozen=True):
    """A format that is read."""

    name: str  # as ``--format`` takes it

    @property
    def reader(self) -> Reader:
        """The module that reads it, imported now."""
        return cast(Reader, import_module(f"speedproof.formats.{self.name.replace('-', '_')}"))

    @property
    def title(self) -> str:
        """The tool or the kind of file."""
        return self.reader.TITLE

    @property
    def description(self) -> str:
        """One line: what is read."""
        return self.reader.DESCRIPTION

    def read(self, source: Source, options: ReadOptions) -> Iterator[Record | Skipped]:
        """Read a file of this format: records and what was left out, in the order of the file."""
        position = 0
        for item in self.reader.read(source, options):
            if isinstance(item, Record):
                yield replace(item, tool=self.name, position=position)
                position += 1
            else:
                yield item


# Most frequent first: the readers before the right one are imported, too. Two are of both kinds.
JSON = [
    "speedproof", "hyperfine", "pyperf", "google-benchmark", "pytest-benchmark", "jmh", "criterion",
    "benchmarkdotnet", "nanobench", "asv", "krun", "sightglass", "lists",
]  # fmt: skip
TEXT = ["parsec", "go", "criterion", "rebench", "speedup-test", "sightglass"]
# Tried after the outputs that are known and refused: a tool's summary table would pass for a CSV file.
GENERIC = ["csv", "raw"]
FORMATS = [Format(name) for name in dict.fromkeys([*JSON, *TEXT, *GENERIC])]
# Enough for every header; what it does not decide is decided by the whole file.
_HEAD = 1 << 16


def format_named(name: str) -> Format:
    """Find a format by its name."""
    for candidate in FORMATS:
        if candidate.name == name:
            return candidate
    raise UsageError(f"there is no format {name!r}; available: {', '.join(f.name for f in FORMATS)}")


def detect_source(source: Source) -> Format:
    """Tell the format of a file by its content."""
    begin = source.begin
    heads = [begin[:_HEAD]] + ([begin] if len(begin) > _HEAD else [])
    for head in heads:
        # A tool may log in brackets before its results come.
        if match := _first([*JSON, *TEXT] if text.is_json(head) else TEXT, head):
            return match
    # The list of refusals is long and seldom needed.
    from speedproof.formats import refused

    if remedy := refused.remedy(begin):
        raise source.error("", remedy)
    if match := _first(GENERIC, heads[0]):
        return match
    if name := _nearest(heads[0], source.path):
        return format_named(name)
    seen = refused.description(begin, whole=len(begin) == len(source.content))
    raise source.error("", f"{seen}; known formats: {', '.join(f.name for f in FORMATS)}")


def _first(names: Sequence[str], head: bytes) -> Format | None:
    return next((f for f in map(Format, names) if f.reader.sniff(head)), None)


def _nearest(head: bytes, path: Path) -> str | None:
    r"""The generic format that a file was most likely meant to have, when it begins like none.

    Its reader knows the line that is wrong.
    """
    lines = text.first_lines(head)
    if not lines or text.is_json(lines[0].encode()):
        return None
    suffix = Path(path.name.removesuffix(".gz").removesuffix(".bz2")).suffix.lower()
    if suffix in (".csv", ".tsv"):
        return "csv"
    if delimiter := text.delimiter_of(lines[0]):
        rows = [[cell.strip() for cell in line.split(delimiter)] for line in lines[1:]]
        tabular = sum(len(cells) > 1 and any(map(text.is_number, cells)) for cells in rows)
        if rows and 2 * tabular >= len(rows):
            return "csv"
    numeric = sum(2 * sum(text.numeric_tokens(line)) >= len(text.numeric_tokens(line)) for line in lines)
    return "raw" if 2 * numeric >= len(lines) or (suffix == ".txt" and numeric) else None

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
from typing import Protocol, cast

from msgspec import Struct
from msgspec.structs import replace

from speedproof.data.record import Record, Skipped
from speedproof.errors import UsageError
from speedproof.formats import sniff
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
        if known := _first([*JSON, *TEXT] if sniff.is_json(head) else TEXT, head):
            return known
    # The list of refusals is long and seldom needed.
    from speedproof.formats import refused

    if remedy := refused.known_elsewhere(begin):
        raise source.error("", remedy)
    if known := _first(GENERIC, heads[0]):
        return known
    if name := sniff.nearest(heads[0], source.path):
        return format_named(name)
    if source.size == len(begin) and (broken := refused.broken(begin)):
        raise source.error("", broken)
    raise source.error("", f"{refused.seen(begin)}; known formats: {', '.join(f.name for f in FORMATS)}")


def _first(names: Sequence[str], head: bytes) -> Format | None:
    return next((f for f in map(Format, names) if f.reader.sniff(head)), None)

"""The list of formats, and how a file's content tells which one it has.

A reader is a module of this package, called as ``--format`` takes it with underscores for dashes, that owns

* ``TITLE`` and ``DESCRIPTION``, the tool and what is read of it,
* ``sniff(head)``: whether a file that begins with these bytes has this format; by content, never by its name,
* ``read(source, options)``: an iterator of records, or tables of many, and of what was left out, in the order
  of the file.

It is imported when its first file comes, so that reading text never pays for the parsing of JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from msgspec import Struct
from msgspec.json import decode
from msgspec.structs import replace

from speedproof.data.record import Item, Record, RecordTable
from speedproof.errors import FormatError, UnknownFormatError, UsageError
from speedproof.formats import reading
from speedproof.formats.source import ReadOptions, Source


class Format(Struct, frozen=True):
    """A format that is read."""

    name: str  # as ``--format`` takes it

    @property
    def reader(self) -> ModuleType:
        """The module that reads it, imported now."""
        return import_module(f"speedproof.formats.{self.name.replace('-', '_')}")

    @property
    def title(self) -> str:
        """The tool or the kind of file."""
        return str(self.reader.TITLE)

    @property
    def description(self) -> str:
        """One line: what is read."""
        return str(self.reader.DESCRIPTION)

    def read(self, source: Source, options: ReadOptions) -> Iterator[Item]:
        """Read a file of this format: records, maybe in tables, and what was left out, in its order."""
        position = 0
        for item in self.reader.read(source, options):
            if isinstance(item, Record):
                yield replace(item, tool=self.name, position=position)
                position += 1
            elif isinstance(item, RecordTable):
                yield replace(item, tool=self.name, first=position)
                position += len(item)
            else:
                yield item


# Most frequent first: the readers before the right one are imported, too. Two are of both kinds.
JSON = [
    "hyperfine", "speedproof", "pyperf", "google-benchmark", "pytest-benchmark", "jmh", "criterion",
    "benchmarkdotnet", "nanobench", "asv", "krun", "sightglass", "github-action",
    "lists",
]  # fmt: skip
TEXT = ["parsec", "go", "criterion", "rebench", "speedup-test", "sightglass"]
# Tried after the refused outputs: a tool's summary table would pass for a CSV file.
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
    first = source.content[:_HEAD]
    for whole in (False, True) if len(source.content) > _HEAD else (False,):
        head = source.begin if whole else first
        # A tool may log in brackets before its results come.
        if match := _first([*JSON, *TEXT] if reading.is_json(head) else TEXT, head):
            return match
    if remedy := _remedy(head):
        raise UnknownFormatError(source.name, "", remedy)
    if match := _first(GENERIC, first):
        return match
    if name := _nearest(first, source.path):
        return format_named(name)
    kind, seen = _description(head, whole=len(head) == len(source.content))
    listed = "'speedproof formats' lists what can be read, such as text with one number a line"
    raise kind(source.name, "", f"{seen}; {listed}")


def _first(names: Sequence[str], head: bytes) -> Format | None:
    return next((f for f in map(Format, names) if f.reader.sniff(head)), None)


def _nearest(head: bytes, path: Path) -> str | None:
    r"""The generic format that a file was most likely meant to have, when it begins like none.

    Its reader knows the line that is wrong.
    """
    lines = reading.first_lines(head)
    if not lines or reading.is_json(lines[0].encode()):
        return None
    suffix = Path(path.name.removesuffix(".gz").removesuffix(".bz2")).suffix.lower()
    if suffix in (".csv", ".tsv"):
        return "csv"
    if delimiter := reading.delimiter_of(lines[0]):
        rows = [[cell.strip() for cell in line.split(delimiter)] for line in lines[1:]]
        tabular = sum(len(cells) > 1 and any(map(reading.is_number, cells)) for cells in rows)
        if rows and 2 * tabular >= len(rows):
            return "csv"
    words = [word for line in lines for word in line.partition("#")[0].split()]
    numeric = sum(reading.is_numeric(word) or reading.is_missing(word) for word in words)
    return "raw" if 2 * numeric >= len(words) else None


@cache
def _refused() -> list[dict[str, Any]]:
    """Outputs of tools that are known but not read, and what to do instead; the first that matches counts.

    JSON by the names of members that it must have, text by a pattern of its lines.
    """
    return list(decode(Path(__file__).with_name("refused.json").read_bytes()))


def is_companion(remedy: str) -> bool:
    """Whether this was said of a file that a tool writes beside its results."""
    return any(one["remedy"] == remedy for one in _refused() if one.get("companion"))


# Console outputs show what they are in their first lines.
_LONG_ENOUGH = 1 << 16
_KEY = r'"((?:[^"\\]|\\.){1,80}+)"\s*+:'


def _remedy(begin: bytes) -> str:
    r"""Advice for the output of a known tool that is not read; empty for any other."""
    names, content = set[str](), ""
    if reading.is_json(begin):
        names = set(re.findall(_KEY, begin.decode(errors="replace")))
    else:
        content = begin[: 4 * _LONG_ENOUGH].decode(errors="replace")[:_LONG_ENOUGH]
    for one in _refused():
        members = one.get("members")
        if names.issuperset(members) if members else re.search(one["lines"], content, re.MULTILINE):
            return str(one["remedy"])
    return ""


def _description(begin: bytes, *, whole: bool) -> tuple[type[FormatError], str]:
    r"""Describe content that nothing is known of, and what of JSON is broken or empty."""
    content = begin.decode(errors="replace")
    if not reading.is_json(begin):
        first = next((line.strip() for line in re.split(r"[\r\n]+", content) if line.strip()), "")
        return UnknownFormatError, f"no known format; the first line is {first[:60]!r}"
    import json  # not needed to read text

    try:
        json.loads(content if whole else "0")
    except json.JSONDecodeError as error:
        if error.msg != "Extra data":  # as after the first of JSON lines
            return FormatError, f"this begins like JSON but is cut off or malformed ({error})"
    except RecursionError:
        return FormatError, "the JSON is nested too deeply for a result file"
    except ValueError:  # a number of too many digits
        pass
    names = list(dict.fromkeys(re.findall(_KEY, content)))
    if names in (["results"], ["benchmarks"]):
        return FormatError, f"JSON without any results: {names[0]!r} is empty"
    what = f"of an unknown tool, with members {', '.join(map(repr, names[:5]))}"
    return UnknownFormatError, f"JSON {what if names else 'without any named members'}"

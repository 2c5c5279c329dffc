"""Go benchmark text, as ``go test -bench`` prints it and benchstat reads it.

https://golang.org/design/14313-benchmark-format: a configuration line ``key: value`` holds for all results
after it until it changes; a result line is a name, the iterations, and pairs of value and unit; everything
else is ignored. ``Unit`` lines (golang/go#43744) say which values of a unit are better.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from sys import intern

import numpy as np
from msgspec import Struct, field

from speedproof.data.record import Record, Skipped
from speedproof.data.sample import Trait, written_in
from speedproof.data.units import Direction, Unit, parse_unit
from speedproof.formats.gathered import Gathered
from speedproof.formats.source import ReadOptions, Source
from speedproof.formats.text import is_number

NAME = "go"
TITLE = "go test -bench"
DESCRIPTION = "Go benchmark text: every unit a metric"

# A key begins with a lower-case letter and has neither blanks nor capitals; a blank ends it with the colon.
_CONFIGURATION = re.compile(r"(?P<key>[^\sA-Z:]+):(?:[ \t]+(?P<value>.*))?")
_RESULT = re.compile(r"Benchmark(?![a-z])")
_OF_NUMBERS = frozenset("0123456789.eE+-")
_NONE: tuple[list[int], list[float]] = [], []
_BLOCK = 512  # lines that are read at once
_KNOWN = 1 << 12  # names looked up without their configuration
_FAILED = re.compile(r"\s*--- FAIL: Benchmark(?P<name>\S*)")
_PROCS = re.compile(r"(?P<name>.+)-(?P<procs>\d+)")
# As Go prints what a benchmark reported of its own.
_NOT_FINITE = ("NaN", "+Inf", "-Inf", "Inf")
# A test binary prints these before its results: it has been started once more.
_FIRST = ("goos", "pkg")
_METRICS = {
    "ns/op": "time",
    "sec/op": "time",
    "MB/s": "throughput",
    "B/s": "throughput",
    "B/op": "memory",
}


_Fields = tuple[tuple[str, str], ...]


class _Content(Struct):
    """What a file holds, and what the lines so far say of the next ones."""

    file: str
    # Values, each with its invocation; by name, unit and configuration as they are written
    rows: Gathered = field(default_factory=lambda: Gathered("d", "i"))
    better: dict[str, Direction] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)
    configuration: dict[str, str] = field(default_factory=dict)
    fields: _Fields = ()
    known: dict[tuple[str, ...], list[int]] = field(default_factory=dict)  # groups of this configuration
    invocation: int = 0
    measured: bool = False

    def skip(self, line: int, benchmark: str, reason: str) -> None:
        """Leave a line out."""
        self.skipped.append(Skipped(self.file, f"line {line}", benchmark, reason))


_RESULT_LINE = re.compile(rb"^Benchmark\S*[ \t]+[0-9]+[ \t]+[0-9.eE+-]+[ \t]+\S", re.MULTILINE)


def sniff(head: bytes) -> bool:
    """Whether there is a result line."""
    return b"Benchmark" in head and _RESULT_LINE.search(head) is not None


def read(source: Source, options: ReadOptions) -> Iterator[Record | Skipped]:
    r"""Read every benchmark and unit.

    The suffix ``-N`` of a name is the field ``gomaxprocs``, unless the file has one name with several
    suffixes: then they tell benchmarks apart and stay. For the same reason a name that occurs in several
    packages is preceded by its package. Each start of a test binary is a process.
    """
    content, before = _Content(source.name), 0
    rows = content.rows
    for text in source.texts():
        lines = text.split("\n")
        _scan(lines, before, content)
        rows.made_room()
        before += len(lines)
    yield from content.skipped
    packages = {fields: dict(fields).get("pkg", "") for fields in {key[2] for key in rows.keys}}
    named = _naming((packages[fields], name) for name, _, fields in rows.keys)
    rows.sorted()
    units: dict[str, Unit] = {}
    for (full, written, fields), group in rows.keys.items():
        name, procs = named(packages[fields], full)
        several = content.invocation > 0 and _several(rows, group)
        if written not in units:
            units[written] = _unit(written)
        unit = units[written]
        for start, stop in rows.pieces(group, 1 if several else None):
            values, invocations = rows.of(group, start, stop)
            yield Record(
                name,
                unit.to_base(values),
                unit.base,
                metric=_METRICS.get(written, written),
                direction=content.better.get(_METRICS.get(written, written)),
                processes=invocations.astype(np.int64) if several else None,
                path=source.name,
                where=f"line {rows.places[group]}",
                fields=fields + ((("gomaxprocs", procs),) if procs else ()),
                traits=frozenset({Trait.ORDER_KNOWN} if several else {Trait.ORDER_KNOWN, Trait.ONE_PROCESS})
                | written_in(unit),
            )


def _several(rows: Gathered, group: int) -> bool:
    """Whether a group has values of several invocations, whose numbers rise."""
    first, last = (rows.of(group, at, at + 1)[1] for at in (0, rows.size(group) - 1))
    return bool((first != last).all())


def _scan(lines: list[str], before: int, content: _Content) -> None:
    others = [at for at, line in enumerate(lines) if not line.startswith("Benchmark")]
    start = 0
    for at in [*others, len(lines)]:
        for first in range(start, at, _BLOCK):
            block = lines[first : min(first + _BLOCK, at)]
            if not _taken_whole(block, before + first, content):
                _one_by_one(block, before + first, content)
        if at < len(lines):
            _note(content, before + at + 1, lines[at])
        start = at + 1


def _taken_whole(lines: list[str], before: int, content: _Content) -> bool:
    """Take result lines that all have the same units and nothing in doubt."""
    words = "\n".join(lines).split()
    size, rest = divmod(len(words), len(lines))
    if rest or size < 4 or size % 2:
        return False
    names, iterations = words[::size], "".join(words[1::size])
    different = {name: at for at, name in enumerate(dict.fromkeys(names))}
    written = [words[at::size] for at in range(2, size, 2)]
    units = words[3:size:2]
    # No word but a line's first begins as names do, so all lines have as many.
    if (
        any(len(set(words[at::size])) > 1 for at in range(3, size, 2))
        or any(unit.startswith("Benchmark") for unit in units)
        or not (iterations.isascii() and iterations.isdigit())
        or not all(_OF_NUMBERS.issuperset("".join(column)) for column in written)
        or not all(map(_RESULT.match, different))
    ):
        return False
    try:
        values = np.column_stack([np.fromiter(map(float, column), np.float64) for column in written])
    except ValueError:
        return False
    groups = [_groups(content, before + 1 + names.index(name), name, units) for name in different]
    found = np.array(groups)[np.fromiter(map(different.__getitem__, names), np.int64)]
    content.rows.extend(found.ravel(), values.ravel(), np.full(values.size, content.invocation))
    content.measured = True
    return True


def _one_by_one(lines: list[str], before: int, content: _Content) -> None:
    # An array takes a few values at a time much slower than a list does.
    all_groups: list[int] = []
    all_values: list[float] = []
    for number, line in enumerate(lines, start=before + 1):
        groups, values = _as_before(line, content.known)
        if not values:
            if not _RESULT.match(line):
                continue
            groups, values = _result(content, number, line)
        all_groups += groups
        all_values += values
    content.measured = content.measured or bool(all_values)
    invocations = np.full(len(all_values), content.invocation)
    content.rows.extend(np.array(all_groups), np.array(all_values), invocations)


def _result(content: _Content, number: int, line: str) -> tuple[list[int], list[float]]:
    """Groups and values of a result line, whatever it is like."""
    name, *words = line.split()
    if not words:
        return _NONE  # a name alone announces a benchmark (go test -v)
    own = name[len("Benchmark") :] or name
    values, units = _measured(content, number, own, words)
    return _groups(content, number, name, units), values


def _groups(content: _Content, number: int, name: str, units: list[str]) -> list[int]:
    """The group of each unit of a name."""
    if (groups := content.known.get((name, *units))) is None:
        if len(content.known) == _KNOWN:
            content.known.clear()
        own = name[len("Benchmark") :] or name
        groups = [content.rows.number((own, intern(unit), content.fields), number) for unit in units]
        content.known[name, *units] = groups
    return groups


def _note(content: _Content, number: int, line: str) -> None:
    """Take account of a line that is no result."""
    if line.startswith("Unit ") and len(words := line.split()) > 1:
        _unit_line(content, number, words[1], words[2:])
    elif match := _FAILED.match(line):
        content.skip(number, match["name"], "the benchmark failed")
    elif (match := _CONFIGURATION.fullmatch(line)) and line[0].islower():
        if match["key"] in _FIRST and content.measured:
            content.invocation, content.measured = content.invocation + 1, False
        if match["value"]:
            content.configuration[match["key"]] = match["value"].strip()
        else:
            content.configuration.pop(match["key"], None)
        content.fields, content.known = tuple(content.configuration.items()), {}


def _as_before(line: str, known: Mapping[tuple[str, ...], list[int]]) -> tuple[list[int], list[float]]:
    """Groups and values of a result line as most are, whose name and units have been seen; none in doubt."""
    words = line.split()
    seen, written = known.get((words[0], *words[3::2])), words[2::2]
    if (
        seen
        and len(words) == 2 + 2 * len(seen)
        and (words[1].isascii() and words[1].isdigit())
        and _OF_NUMBERS.issuperset("".join(written))
    ):
        try:
            return seen, list(map(float, written))
        except ValueError:
            pass
    return _NONE


def _measured(content: _Content, number: int, name: str, words: list[str]) -> tuple[list[float], list[str]]:
    """The values of a result line that are values, with their units; the others are left out."""
    iterations, *pairs = words
    reason = ""
    if not iterations.isascii() or not iterations.isdigit():
        reason = f"{iterations[:40]!r} stands where the number of iterations is expected"
    elif not pairs:
        reason = "no value follows the iterations; was the run interrupted?"
    elif len(pairs) % 2:
        reason = f"the last value ({pairs[-1][:40]!r}) has no unit; was the line cut?"
    else:
        wrong = next((v for v in pairs[::2] if not is_number(v) and v not in _NOT_FINITE), None)
        reason = f"{wrong[:40]!r} is not a number" if wrong is not None else ""
    if reason:
        content.skip(number, name, reason)
        return [], []
    values: list[float] = []
    units: list[str] = []
    for value, unit in zip(pairs[::2], pairs[1::2], strict=True):
        if value in _NOT_FINITE:
            content.skip(number, name, f"{unit} is {value}")
        else:
            values.append(float(value))
            units.append(unit)
    return values, units


def _unit_line(content: _Content, number: int, unit: str, properties: list[str]) -> None:
    for item in properties:
        key, _, value = item.partition("=")
        if key == "better" and value in ("higher", "lower"):
            content.better[_METRICS.get(unit, unit)] = Direction(value)
        elif key == "better":
            content.skip(number, "", f"better={value} is neither higher nor lower")


def _split(full: str) -> tuple[str, str]:
    """A name without its suffix -N, and N."""
    match = _PROCS.fullmatch(full)
    return (match["name"], match["procs"]) if match else (full, "")


def _naming(found: Iterable[tuple[str, str]]) -> Callable[[str, str], tuple[str, str]]:
    """From package and full name to the benchmark's name and, when it was taken off, the suffix -N."""
    suffixes: dict[tuple[str, str], str | None] = {}  # None where there are several
    packages: dict[str, str | None] = {}
    for package, full in found:
        bare, procs = _split(full)
        if suffixes.setdefault((package, bare), procs) != procs:
            suffixes[package, bare] = None
        if packages.setdefault(bare, package) != package:
            packages[bare] = None

    def name(package: str, full: str) -> tuple[str, str]:
        bare, procs = _split(full)
        place = f"{package}." if package and packages[bare] is None else ""
        return (place + full, "") if suffixes[package, bare] is None else (place + bare, procs)

    return name


def _unit(written: str) -> Unit:
    """The unit of a metric; a custom one may end with its unit, as in ``p99-ns``."""
    whole, suffix = parse_unit(written), written.rpartition("-")[2]
    last = parse_unit(suffix)
    # One letter behind a dash may mean anything.
    known = len(suffix) > 1 and last.base in ("s", "B", "J", "cycles")
    return last if whole.base == written and known else whole

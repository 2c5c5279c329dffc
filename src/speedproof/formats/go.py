"""Go benchmark text, as ``go test -bench`` prints it and benchstat reads it.

https://golang.org/design/14313-benchmark-format: a configuration line ``key: value`` holds for all results
after it until it changes; a result line is a name, the iterations, and pairs of value and unit; everything
else is ignored. ``Unit`` lines (golang/go#43744) say which values of a unit are better.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from itertools import repeat
from sys import intern

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from speedproof.arrays import FloatArray, IntArray, NDArray, extension, from_zero, numbered
from speedproof.data.record import Key, Record, RecordTable, Skipped
from speedproof.data.sample import Trait, written_in
from speedproof.data.units import Direction, Unit, direction_of, parse_unit
from speedproof.formats.reading import Column, Gathered, decimals, is_number
from speedproof.formats.source import ReadOptions, Source, with_line_feeds

NAME = "go"
TITLE = "go test -bench"
DESCRIPTION = "Go benchmark text: every unit a metric"

# A key begins with a lower-case letter and has neither blanks nor capitals; a blank ends it with the colon.
_CONFIGURATION = re.compile(r"(?P<key>[^\sA-Z:]+):(?:[ \t]+(?P<value>.*))?")
_RESULT = re.compile(r"Benchmark(?![a-z])")
_FAILED = re.compile(r"\s*--- FAIL: Benchmark(?P<name>\S*)")
# Go's format of a benchmark's custom metrics.
_NOT_FINITE = ("NaN", "+Inf", "-Inf", "Inf")
# A test binary prints these before its results: it has been started once more.
_FIRST = ("goos", "pkg")
_METRICS = {"ns/op": "time", "sec/op": "time", "MB/s": "throughput", "B/s": "throughput", "B/op": "memory"}
_BLOCK = 1 << 20  # bytes whose values are taken at once
_TOGETHER = 1 << 13  # rows of a table
_FEW = 1 << 4  # lines that are taken one by one sooner than with the kernel
_SEVERAL = frozenset({Trait.ORDER_KNOWN})
_ALONE = frozenset({Trait.ORDER_KNOWN, Trait.ONE_PROCESS})
_RESULT_LINE = re.compile(rb"^Benchmark\S*[ \t]+[0-9]+[ \t]+[0-9.eE+-]+[ \t]+\S", re.MULTILINE)


COMPILED = extension("formats._go")


def sniff(head: bytes) -> bool:
    """Whether there is a result line."""
    return b"Benchmark" in head and _RESULT_LINE.search(head) is not None


_NONE = np.empty(0)


class _Content(Struct):
    """The records of a file, and the settings that earlier lines made for later ones."""

    source: Source
    # Values in base units, each with its invocation; by name, unit and configuration as they are written
    rows: Gathered = field(default_factory=lambda: Gathered("d", "i"))
    better: dict[str, Direction] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)
    configuration: dict[str, str] = field(default_factory=dict)
    # Every configuration with its number, by which it is found in less time
    fields: dict[tuple[tuple[str, str], ...], int] = field(default_factory=lambda: {(): 0})
    number: int = 0
    # The last values of lines that were taken one by one: their groups, they as written, their units
    waiting: tuple[list[int], list[float], list[str]] = field(default_factory=lambda: ([], [], []))
    invocation: int = 0
    measured: bool = False

    def take(self, before: int, names: list[str], units: list[str], columns: bytes, values: bytes) -> None:
        """Add columns of values from the kernel."""
        self.flush()
        _, _, first, sizes = np.frombuffer(columns, np.intp).reshape(-1, 4).T
        keys = zip(names, units, repeat(self.number), strict=False)
        self._extend(self.rows.numbers(keys, first + before + 1), np.frombuffer(values), units, sizes)

    def flush(self) -> None:
        """Store the pending values."""
        groups, values, units = self.waiting
        if values:
            self._extend(np.array(groups, np.int32), np.array(values), units, 1)
            self.waiting = [], [], []

    def _extend(
        self, groups: NDArray[np.int32], values: FloatArray, written: list[str], sizes: IntArray | int
    ) -> None:
        codes, units = numbered(written)
        of = np.repeat(codes, sizes)
        for i, one in enumerate(map(_unit, units)):
            if one.factor != 1.0:
                values[of == i] = one.to_base(values[of == i])
        self.rows.extend(np.repeat(groups, sizes), values, np.broadcast_to(self.invocation, values.shape))
        self.measured = True

    def skip(self, line: int, benchmark: str, reason: str) -> None:
        """Record a line that was left out."""
        self.skipped.append(self.source.skip(f"line {line}", benchmark, reason))


def read(source: Source, options: ReadOptions) -> Iterator[RecordTable | Skipped]:
    r"""Read every benchmark and unit.

    The suffix ``-N`` of a name is the field ``gomaxprocs``, unless the file has one name with several
    suffixes: then they tell benchmarks apart and stay. For the same reason a name that occurs in several
    packages is preceded by its package. Each start of a test binary is a process.
    """
    content, before = _Content(source), 0
    rows = content.rows
    for piece in source.pieces(_BLOCK):
        before += _scan(with_line_feeds(piece), before, content)
        rows.make_room()
    rows.sort()
    fields = [*content.fields]
    packages = [dict(of).get("pkg", "") for of in fields]
    packaged = [(packages[number], name) for name, _, number in rows.keys]
    names = _names(dict.fromkeys(packaged))
    # What was left out is called what the rest of it is, or would be: Go writes some failures without -N.
    called = {full: name for (_, full), (name, _) in names.items()}
    for left_out in content.skipped:
        full = left_out.benchmark
        yield replace(left_out, benchmark=called.get(full) or _parts(full)[0])
    with_procs = cache(lambda number, procs: (*fields[number], *([("gomaxprocs", procs)] if procs else [])))

    # One of all that are alike: what is known of many is looked at once.
    @cache
    def known_of(written: str, number: int, procs: str, several: bool) -> tuple[str, Record]:
        traits = (_SEVERAL if several else _ALONE) | written_in(unit := _unit(written))
        metric, base = _METRICS.get(written, written), unit.base
        better = content.better.get(metric) or direction_of(base, metric)
        return metric, Record(
            "",
            _NONE,
            base,
            metric,
            better,
            source.version,
            path=source.name,
            fields=with_procs(number, procs),
            traits=traits,
        )

    keys: list[Key] = []
    given: list[Record] = []
    starts: Iterable[Column] = rows.each(1) if content.invocation else repeat(np.empty(0))
    for one, (_, written, number), started in zip(packaged, rows.keys, starts, strict=False):
        name, procs = names[one]
        several = content.invocation > 0 and bool(started[0] != started[-1])
        metric, record = known_of(written, number, procs, several)
        keys.append(Key(name, metric))
        given.append(replace(record, processes=from_zero(started.astype(np.int64))) if several else record)
    values = [*rows.each(0)]
    for at in range(0, len(keys), _TOGETHER):
        some = slice(at, at + _TOGETHER)
        yield RecordTable(keys[some], values[some], given[some], rows.places[some])


def _scan(piece: bytes, before: int, content: _Content) -> int:
    """Take lines, and count them: a kernel takes what it can, and leaves one here, or some if it took few."""
    at, lines, left = 0, 0, 0
    while at < len(piece):
        if COMPILED is not None and not left:
            at, taken, names, *columns = COMPILED.results(piece, at)
            if names:
                content.take(before + lines, names, *columns)
            lines += taken
            if at == len(piece):
                break
            left = 1 if taken >= _FEW else _FEW
        end = piece.find(b"\n", at)
        end = len(piece) if end < 0 else end
        lines, left = lines + 1, left - 1
        _line(content, before + lines, piece[at:end].decode())
        at = end + 1
    content.flush()
    return lines


def _line(content: _Content, number: int, line: str) -> None:
    """Parse a line."""
    if not line.startswith("Benchmark"):
        _note(content, number, line)
    elif _RESULT.match(line):
        words = line.split()
        values, units = _measured(content, number, words)
        keys = ((_bare(words[0]), intern(unit), content.number) for unit in units)
        content.waiting[0].extend(content.rows.number(key, number) for key in keys)
        content.waiting[1].extend(values)
        content.waiting[2].extend(units)


def _note(content: _Content, number: int, line: str) -> None:
    """Take account of a line that is no result."""
    if line.startswith("Unit ") and len(words := line.split()) > 1:
        _unit_line(content, number, words[1], words[2:])
    elif match := _FAILED.match(line):
        content.skip(number, match["name"], "the benchmark failed")
    elif (match := _CONFIGURATION.fullmatch(line)) and line[0].islower():
        content.flush()
        if match["key"] in _FIRST and content.measured:
            content.invocation, content.measured = content.invocation + 1, False
        if match["value"]:
            content.configuration[match["key"]] = match["value"].strip()
        else:
            content.configuration.pop(match["key"], None)
        fields = tuple(content.configuration.items())
        content.number = content.fields.setdefault(fields, len(content.fields))


def _bare(name: str) -> str:
    return name.removeprefix("Benchmark") or name


def _measured(content: _Content, number: int, words: list[str]) -> tuple[list[float], list[str]]:
    """The values of a result line that are values, with their units; the others are left out."""
    name, written, units = words[0], words[2::2], words[3::2]
    if len(words) == 1:
        return [], []  # a name alone announces a benchmark (go test -v)
    if not words[1].isdigit() or not words[1].isascii():
        reason = f"{words[1][:40]!r} stands where the number of iterations is expected"
    elif not written:
        reason = "no value follows the iterations; was the run interrupted?"
    elif len(written) > len(units):
        reason = f"the last value ({written[-1][:40]!r}) has no unit; was the line cut?"
    elif (values := decimals(written)) is not None:
        return values, units
    else:
        wrong = next((v for v in written if not is_number(v) and v not in _NOT_FINITE), None)
        reason = "" if wrong is None else f"{wrong[:40]!r} is not a number"
    if reason:
        content.skip(number, _bare(name), reason)
        return [], []
    pairs = list(zip(written, units, strict=True))
    for value, unit in pairs:
        if value in _NOT_FINITE:
            content.skip(number, _bare(name), f"{unit} is {value}")
    good = [(float(value), unit) for value, unit in pairs if value not in _NOT_FINITE]
    return [value for value, _ in good], [unit for _, unit in good]


def _unit_line(content: _Content, number: int, unit: str, properties: list[str]) -> None:
    for item in properties:
        key, _, value = item.partition("=")
        if key == "better" and value in ("higher", "lower"):
            content.better[_METRICS.get(unit, unit)] = Direction(value)
        elif key == "better":
            content.skip(number, "", f"better={value} is neither higher nor lower")


def _parts(full: str) -> tuple[str, str]:
    """The name and its -N suffix."""
    bare, _, procs = full.rpartition("-")
    return (bare, procs) if bare and procs.isdecimal() else (full, "")


def _names(given: Iterable[tuple[str, str]]) -> dict[tuple[str, str], tuple[str, str]]:
    """For each package and full name the benchmark's name, and the suffix -N if it is taken off."""
    parts = {one: _parts(one[1]) for one in given}
    if len({bare for bare, _ in parts.values()}) == len(parts):
        return parts
    suffixes: dict[tuple[str, str], str] = {}  # of the first of each name
    packages: dict[str, str] = {}
    several = set[tuple[str, str] | str]()  # names with several suffixes, and in several packages
    for (package, _), (bare, procs) in parts.items():
        if suffixes.setdefault((package, bare), procs) != procs:
            several.add((package, bare))
        if packages.setdefault(bare, package) != package:
            several.add(bare)
    names = {}
    for (package, full), (bare, procs) in parts.items():
        place = f"{package}." if package and bare in several else ""
        names[package, full] = (place + full, "") if (package, bare) in several else (place + bare, procs)
    return names


@lru_cache
def _unit(written: str) -> Unit:
    """The unit of a metric; a custom one may end with its unit, as in ``p99-ns``."""
    whole, suffix = parse_unit(written), written.rpartition("-")[2]
    last = parse_unit(suffix)
    # One letter behind a dash may mean anything.
    is_unit = len(suffix) > 1 and last.base in ("s", "B", "J", "cycles")
    return last if whole.base == written and is_unit else whole

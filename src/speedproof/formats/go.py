"""Go benchmark text, as ``go test -bench`` prints it and benchstat reads it.

https://golang.org/design/14313-benchmark-format: a configuration line ``key: value`` holds for all results
after it until it changes; a result line is a name, the iterations, and pairs of value and unit; everything
else is ignored. ``Unit`` lines (golang/go#43744) say which values of a unit are better.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from itertools import chain, pairwise
from sys import intern

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from speedproof.arrays import FloatArray, from_zero, numbered
from speedproof.data.record import Key, Record, Skipped
from speedproof.data.sample import Trait, written_in
from speedproof.data.table import RecordTable
from speedproof.data.units import Direction, Unit, direction_of, parse_unit
from speedproof.formats.reading import Gathered, decimals, is_number
from speedproof.formats.source import ReadOptions, Source

NAME = "go"
TITLE = "go test -bench"
DESCRIPTION = "Go benchmark text: every unit a metric"

# A key begins with a lower-case letter and has neither blanks nor capitals; a blank ends it with the colon.
_CONFIGURATION = re.compile(r"(?P<key>[^\sA-Z:]+):(?:[ \t]+(?P<value>.*))?")
_RESULT = re.compile(r"Benchmark(?![a-z])")
_FAILED = re.compile(r"\s*--- FAIL: Benchmark(?P<name>\S*)")
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
_BLOCK = 1 << 18  # bytes whose words are taken at once
_TOGETHER = 1 << 13  # rows of a table
_WORTH = 8  # lines that are worth a look at their columns
_SEVERAL = frozenset({Trait.ORDER_KNOWN})
_ALONE = frozenset({Trait.ORDER_KNOWN, Trait.ONE_PROCESS})
_RESULT_LINE = re.compile(rb"^Benchmark\S*[ \t]+[0-9]+[ \t]+[0-9.eE+-]+[ \t]+\S", re.MULTILINE)


def sniff(head: bytes) -> bool:
    """Whether there is a result line."""
    return b"Benchmark" in head and _RESULT_LINE.search(head) is not None


_Fields = tuple[tuple[str, str], ...]
_NONE = np.empty(0)


class _Content(Struct):
    """What a file holds, and what the lines so far say of the next ones."""

    source: Source
    # Values in base units, each with its invocation; by name, unit and configuration as they are written
    rows: Gathered = field(default_factory=lambda: Gathered("d", "i"))
    better: dict[str, Direction] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)
    configuration: dict[str, str] = field(default_factory=dict)
    fields: _Fields = ()
    groups: dict[tuple[str, ...], list[int]] = field(default_factory=dict)  # by name and units, of the fields
    invocation: int = 0
    measured: bool = False

    def groups_of(self, name: str, line: int, units: list[str]) -> list[int]:
        """The groups of a line's values, which may be new."""
        if (known := self.groups.get((name, *units))) is None:
            bare, fields, number = _bare(name), self.fields, self.rows.number
            known = self.groups[name, *units] = [number((bare, intern(unit), fields), line) for unit in units]
        return known

    def skip(self, line: int, benchmark: str, reason: str) -> None:
        """Leave a line out."""
        self.skipped.append(self.source.skip(f"line {line}", benchmark, reason))


def read(source: Source, options: ReadOptions) -> Iterator[RecordTable | Skipped]:
    r"""Read every benchmark and unit.

    The suffix ``-N`` of a name is the field ``gomaxprocs``, unless the file has one name with several
    suffixes: then they tell benchmarks apart and stay. For the same reason a name that occurs in several
    packages is preceded by its package. Each start of a test binary is a process.
    """
    content, before = _Content(source), 0
    rows = content.rows
    for text in source.texts(_BLOCK):
        before += _scan(text, before, content)
        rows.make_room()
    yield from content.skipped
    rows.sort()
    packages = {fields: dict(fields).get("pkg", "") for fields in {key[2] for key in rows.keys}}
    names = _names(dict.fromkeys((packages[fields], name) for name, _, fields in rows.keys))
    with_procs = cache(lambda fields, procs: (*fields, ("gomaxprocs", procs)) if procs else fields)

    # One of all that are alike: what is known of many is looked at once.
    @cache
    def known_of(written: str, fields: _Fields, procs: str, several: bool) -> tuple[str, Record]:
        traits = (_SEVERAL if several else _ALONE) | written_in(unit := _unit(written))
        metric, base = _METRICS.get(written, written), unit.base
        better = content.better.get(metric) or direction_of(base, metric)
        fields = with_procs(fields, procs)
        return metric, Record(
            "", _NONE, base, metric, better, source.version, None, source.name, "", fields, traits
        )

    keys: list[Key] = []
    columns: list[FloatArray] = []
    known: list[Record] = []
    places: list[str] = []
    for (full, written, fields), group in rows.keys.items():
        name, procs = names[packages[fields], full]
        values, invocations = rows.of(group)
        values.flags.writeable = False
        several = bool(content.invocation and invocations[0] != invocations[-1])
        metric, one = known_of(written, fields, procs, several)
        keys.append(Key(name, metric))
        columns.append(values)
        known.append(replace(one, processes=from_zero(invocations.astype(np.int64))) if several else one)
        places.append(f"line {rows.places[group]}")
        if len(keys) == _TOGETHER:
            yield RecordTable(keys, columns, known, places)
            keys, columns, known, places = [], [], [], []
    if keys:
        yield RecordTable(keys, columns, known, places)


def _scan(text: str, before: int, content: _Content) -> int:
    """Take lines, and count them: results in blocks, what stands between them one by one."""
    count = text.count("\n") + 1
    if f"\n{text}".count("\nBenchmark") == count and _columns(text.split(), count, before, content):
        return count
    start, lines = 0, text.split("\n")
    others = [i for i, line in enumerate(lines) if line[:9] != "Benchmark"]
    for i in [*others, count]:
        if start < i:
            _results(lines[start:i], before + start, content)
        if i < count:
            _note(content, before + i + 1, lines[i])
        start = i + 1
    return count


def _results(lines: list[str], before: int, content: _Content) -> None:
    """Take a block of results, as long as lines have equally many words column by column."""
    words = [line.split() for line in lines]
    cuts = [0, *(np.flatnonzero(np.diff([*map(len, words)])) + 1).tolist(), len(lines)]
    if _WORTH * len(cuts) > len(lines):
        _one_by_one(words, before, content)
        return
    for first, last in pairwise(cuts):
        block = words[first:last]
        if not _columns([*chain.from_iterable(block)], last - first, before + first, content):
            _one_by_one(block, before + first, content)


def _columns(words: list[str], lines: int, before: int, content: _Content) -> bool:
    """Take the words of so many lines; not unless each has as many, the same units, and numbers.

    As every line begins with "Benchmark", and no unit does, the lines then begin where the names stand.
    """
    step, rest = divmod(len(words), lines)
    names, units, iterations = words[::step], words[3:step:2], "".join(words[1::step])
    alike = all(words[3 + 2 * k :: step].count(unit) == lines for k, unit in enumerate(units))
    values = [decimals(words[column::step]) for column in range(2, step, 2)]
    numbered = iterations.isdigit() and iterations.isascii() and None not in values
    even = not rest and not step % 2 and not any(unit.startswith("Benchmark") for unit in units)
    order = dict(zip(dict.fromkeys(names), range(lines), strict=False))
    if not (units and even and alike and numbered and all(map(_RESULT.match, order))):
        return False
    rows = np.fromiter(map(order.__getitem__, names), np.int64, lines)
    first = np.empty(len(order), np.int64)
    first[rows[::-1]] = np.arange(before + lines, before, -1)
    groups = np.array([content.groups_of(*at, units) for at in zip(order, first.tolist(), strict=True)])
    columns = [_unit(unit).to_base(np.array(of)) for unit, of in zip(units, values, strict=True)]
    every = np.array(columns).T.ravel()
    content.rows.extend(groups[rows].ravel(), every, np.full(every.size, content.invocation))
    content.measured = True
    return True


def _one_by_one(lines: list[list[str]], before: int, content: _Content) -> None:
    # An array takes a few values at a time much slower than a list does.
    all_groups: list[int] = []
    all_values: list[float] = []
    all_units: list[str] = []
    for number, words in enumerate(lines, start=before + 1):
        if _RESULT.match(words[0]):
            measured, units_of = _measured(content, number, words)
            all_groups += content.groups_of(words[0], number, units_of)
            all_values += measured
            all_units += units_of
    groups, values = np.array(all_groups), np.array(all_values)
    of_units, units = numbered(all_units)
    for i, unit in enumerate(units):
        values[of_units == i] = _unit(unit).to_base(values[of_units == i])
    content.rows.extend(groups, values, np.full(values.size, content.invocation))
    content.measured = content.measured or bool(all_values)


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
        content.fields, content.groups = tuple(content.configuration.items()), {}


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


def _names(given: Iterable[tuple[str, str]]) -> dict[tuple[str, str], tuple[str, str]]:
    """Of package and full name the benchmark's name and, where it is taken off, the suffix -N."""
    parts = {}
    suffixes: dict[tuple[str, str], set[str]] = {}
    packages: dict[str, set[str]] = {}
    for package, full in given:
        bare, _, procs = full.rpartition("-")
        bare, procs = parts[package, full] = (bare, procs) if bare and procs.isdecimal() else (full, "")
        suffixes.setdefault((package, bare), set()).add(procs)
        packages.setdefault(bare, set()).add(package)
    names = {}
    for (package, full), (bare, procs) in parts.items():
        place = f"{package}." if package and len(packages[bare]) > 1 else ""
        alone = len(suffixes[package, bare]) == 1
        names[package, full] = (place + bare, procs) if alone else (place + full, "")
    return names


@lru_cache
def _unit(written: str) -> Unit:
    """The unit of a metric; a custom one may end with its unit, as in ``p99-ns``."""
    whole, suffix = parse_unit(written), written.rpartition("-")[2]
    last = parse_unit(suffix)
    # One letter behind a dash may mean anything.
    is_unit = len(suffix) > 1 and last.base in ("s", "B", "J", "cycles")
    return last if whole.base == written and is_unit else whole

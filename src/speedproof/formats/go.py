"""Go benchmark text, as ``go test -bench`` prints it and benchstat reads it.

https://golang.org/design/14313-benchmark-format: a configuration line ``key: value`` holds for all results
after it until it changes; a result line is a name, the iterations, and pairs of value and unit; everything
else is ignored. ``Unit`` lines (golang/go#43744) say which values of a unit are better.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from speedproof.data.record import Record, Skipped
from speedproof.data.sample import Trait
from speedproof.data.units import Direction, Unit, parse_unit
from speedproof.formats.options import ReadOptions
from speedproof.formats.source import Source

__all__ = ["DESCRIPTION", "NAME", "TITLE", "read", "sniff"]

NAME = "go"
TITLE = "go test -bench"
DESCRIPTION = "Go benchmark text: every unit a metric"

# A key begins with a lower-case letter and has neither blanks nor capitals; a blank ends it with the colon.
_CONFIGURATION = re.compile(r"(?P<key>[^\sA-Z:]+):(?:[ \t]+(?P<value>.*))?")
_RESULT = re.compile(r"Benchmark(?![a-z])(?P<name>\S*)(?:\s+(?P<rest>.*))?")
_FAILED = re.compile(r"\s*--- FAIL: Benchmark(?P<name>\S*)")
_PROCS = re.compile(r"(?P<name>.+)-(?P<procs>\d+)")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
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


@dataclass(frozen=True, slots=True)
class _Line:
    """One result line."""

    number: int
    name: str
    values: tuple[tuple[float, str], ...]
    configuration: tuple[tuple[str, str], ...]
    invocation: int

    @property
    def package(self) -> str:
        return dict(self.configuration).get("pkg", "")


@dataclass(slots=True)
class _Content:
    """What a file holds, line by line."""

    lines: list[_Line] = field(default_factory=list)
    better: dict[str, Direction] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)
    invocation: int = 0
    measured: bool = False


_RESULT_LINE = re.compile(rb"^Benchmark\S*[ \t]+[0-9]+[ \t]+[0-9.eE+-]+[ \t]+\S", re.MULTILINE)


def sniff(head: bytes) -> bool:
    """Whether there is a result line."""
    return _RESULT_LINE.search(head) is not None


def read(source: Source, options: ReadOptions) -> Iterator[Record | Skipped]:
    r"""Read every benchmark and unit.

    The suffix ``-N`` of a name is the field ``gomaxprocs``, unless the file has one name with several
    suffixes: then they tell benchmarks apart and stay. For the same reason a name that occurs in several
    packages is preceded by its package. Each start of a test binary is a process.

    Parameters
    ----------
    source : Source
        The file.
    options : ReadOptions
        Not needed.

    Yields
    ------
    Record or Skipped
        A record for each benchmark, unit and configuration; malformed lines with their number.

    Examples
    --------
    >>> from pathlib import Path
    >>> text = b"pkg: a\nBenchmarkF-8 100 20 ns/op 3 B/op\nBenchmarkF-8 100 22 ns/op 3 B/op\n"
    >>> [(r.benchmark, r.metric, r.values.tolist()) for r in read(Source("", Path("b"), text), ReadOptions())]
    [('F', 'time', [2e-08, 2.2e-08]), ('F', 'memory', [3.0, 3.0])]
    """
    content = _scan(source)
    yield from content.skipped
    names = _names(content.lines)
    groups: dict[tuple[str, str, tuple[tuple[str, str], ...]], tuple[int, list[float], list[int]]] = {}
    for line in content.lines:
        name, procs = names[line.package, line.name]
        fields = line.configuration + ((("gomaxprocs", procs),) if procs else ())
        for value, written in line.values:
            _, values, invocations = groups.setdefault((name, written, fields), (line.number, [], []))
            values.append(value)
            invocations.append(line.invocation)
    for (name, written, fields), (number, values, invocations) in groups.items():
        several = invocations[0] != invocations[-1]
        unit = _unit(written)
        yield Record(
            name,
            unit.to_base(np.array(values)),
            unit.base,
            metric=_METRICS.get(written, written),
            direction=content.better.get(_METRICS.get(written, written)),
            path=source.name,
            where=f"line {number}",
            fields=fields,
            processes=np.array(invocations) if several else None,
            traits=frozenset({Trait.ORDER_KNOWN} if several else {Trait.ORDER_KNOWN, Trait.ONE_PROCESS}),
        )


def _scan(source: Source) -> _Content:
    content = _Content()
    configuration: dict[str, str] = {}
    for number, line in enumerate(source.lines, start=1):
        if match := _RESULT.fullmatch(line):
            # A name alone announces a benchmark (go test -v).
            if match["rest"] and match["rest"].strip():
                _result(
                    content,
                    number,
                    match["name"] or "Benchmark",
                    match["rest"].split(),
                    configuration,
                    source,
                )
        elif line.startswith("Unit ") and len(words := line.split()) > 1:
            _unit_line(content, number, words[1], words[2:], source)
        elif match := _FAILED.match(line):
            content.skipped.append(
                Skipped(source.name, f"line {number}", match["name"], "the benchmark failed")
            )
        elif (match := _CONFIGURATION.fullmatch(line)) and line[0].islower():
            if match["key"] in _FIRST and content.measured:
                content.invocation, content.measured = content.invocation + 1, False
            if match["value"]:
                configuration[match["key"]] = match["value"].strip()
            else:
                configuration.pop(match["key"], None)
    return content


def _result(
    content: _Content, number: int, name: str, words: list[str], configuration: dict[str, str], source: Source
) -> None:
    iterations, *pairs = words
    reason = ""
    if not iterations.isascii() or not iterations.isdigit():
        reason = f"{iterations[:40]!r} stands where the number of iterations is expected"
    elif not pairs:
        reason = "no value follows the iterations; was the run interrupted?"
    elif len(pairs) % 2:
        reason = f"the last value ({pairs[-1][:40]!r}) has no unit; was the line cut?"
    else:
        wrong = next((v for v in pairs[::2] if not _NUMBER.fullmatch(v) and v not in _NOT_FINITE), None)
        reason = f"{wrong[:40]!r} is not a number" if wrong is not None else ""
    if reason:
        content.skipped.append(Skipped(source.name, f"line {number}", name, reason))
        return
    values: list[tuple[float, str]] = []
    for value, unit in zip(pairs[::2], pairs[1::2], strict=True):
        if value in _NOT_FINITE:
            content.skipped.append(Skipped(source.name, f"line {number}", name, f"{unit} is {value}"))
        else:
            values.append((float(value), unit))
    content.lines.append(_Line(number, name, tuple(values), tuple(configuration.items()), content.invocation))
    content.measured = True


def _unit_line(content: _Content, number: int, unit: str, properties: list[str], source: Source) -> None:
    for item in properties:
        key, _, value = item.partition("=")
        if key != "better":
            continue
        if value not in ("higher", "lower"):
            reason = f"better={value} is neither higher nor lower"
            content.skipped.append(Skipped(source.name, f"line {number}", "", reason))
            continue
        content.better[_METRICS.get(unit, unit)] = Direction(value)


def _names(lines: list[_Line]) -> dict[tuple[str, str], tuple[str, str]]:
    """From package and full name to the benchmark's name and, when it was taken off, the suffix -N."""
    suffixes: dict[tuple[str, str], set[str]] = defaultdict(set)
    packages: dict[str, set[str]] = defaultdict(set)
    for line in lines:
        match = _PROCS.fullmatch(line.name)
        bare, procs = (match["name"], match["procs"]) if match else (line.name, "")
        suffixes[line.package, bare].add(procs)
        packages[bare].add(line.package)
    names: dict[tuple[str, str], tuple[str, str]] = {}
    for (package, bare), found in suffixes.items():
        place = f"{package}." if package and len(packages[bare]) > 1 else ""
        for procs in found:
            full = f"{bare}-{procs}" if procs else bare
            names[package, full] = (place + bare, procs) if len(found) == 1 else (place + full, "")
    return names


def _unit(written: str) -> Unit:
    """The unit of a metric; a custom one may end with its unit, as in ``p99-ns``."""
    whole, suffix = parse_unit(written), written.rpartition("-")[2]
    last = parse_unit(suffix)
    # One letter behind a dash may mean anything.
    known = len(suffix) > 1 and last.base in ("s", "B", "J", "cycles")
    return last if whole.base == written and known else whole

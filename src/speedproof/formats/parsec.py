"""PARSEC: what ``parsecmgmt -a run`` prints, and the files of the HPT toolkit that read it.

https://parsec.cs.princeton.edu: a run begins with ``[PARSEC] [========== Running benchmark NAME [1] ==========]``
and ends with the three lines of the shell's ``time``. The toolkit (Y. Wu, T. Chen, 2013) names a log after its
threads, its input and its moment, ``run_1_native_2013-06-18_05:51:08.log``, each log a sitting, and a benchmark
``NAME-INPUT-THREADS``. Its ``baseline.log`` has a benchmark a line: the name and the seconds of its runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from speedproof.data.record import Record, Skipped, finite
from speedproof.data.sample import Trait
from speedproof.formats.reading import epoch, first_lines, is_number, span_of
from speedproof.formats.source import ReadOptions, Source

TITLE = "PARSEC"
DESCRIPTION = "logs of parsecmgmt -a run, and the HPT toolkit's baseline.log"

_BASELINE = re.compile(r"[\w.]+-[a-z]+-\d+(\s+\S+)+\s*")
_FILE = re.compile(
    r"run_(?P<threads>\d+)_(?P<input>[a-z]+)(_(?P<day>\d{4}-\d\d-\d\d)(_(?P<time>[\d:.-]+))?)?"
)

_BEGIN = re.compile(r"\[PARSEC\] \[=+ Running benchmark (?P<name>\S+)")
_INPUT = re.compile(r"\[PARSEC\] Unpacking benchmark input '(?P<input>[^']+)'")
_BUILD = re.compile(r"\[PARSEC\] Running '.*/inst/(?P<build>[^/]+)/bin/")
_ERROR = re.compile(r"\[PARSEC\] Error: (?P<message>.+)")
# As bash says that a program died of a signal; time measures it all the same.
_DIED = re.compile(r".*: line \d+:\s+\d+ (?P<message>[A-Z][a-z]+( [a-z]+)*)")
_TIME = re.compile(r"(?P<what>real|user|sys)\s+(?P<minutes>\d{1,9})m(?P<seconds>\d{1,9}[.,]\d{1,9})s\s*")
_METRICS = {"real": "time", "user": "user", "sys": "system"}
_TRAITS = frozenset({Trait.ORDER_KNOWN})


class _Run(Struct):
    """A run as far as its lines have come."""

    name: str
    line: int
    input: str = ""
    build: str = ""
    failed: str = ""
    times: dict[str, float] = field(default_factory=dict)


def sniff(head: bytes) -> bool:
    """Whether PARSEC speaks in it, or every line is a name with an input and threads and its seconds."""
    if _speaks(head):
        return True
    lines = first_lines(head)
    return bool(lines) and is_number(lines[0].split()[-1]) and all(map(_BASELINE.fullmatch, lines))


def _speaks(text: bytes) -> bool:
    return text.startswith(b"[PARSEC]") or b"\n[PARSEC]" in text


def read(source: Source, options: ReadOptions) -> Iterator[Record | Skipped]:
    """Read the runs of every benchmark; those that died or did not end are left out."""
    return _log(source) if _speaks(source.begin) else _baseline(source)


def _log(source: Source) -> Iterator[Record | Skipped]:
    match = _FILE.search(source.stem)
    name = {} if match is None else match.groupdict(default="")
    time = re.sub(r"[.-]", ":", name.get("time", ""))
    moment = epoch(f"{name['day']}T{time}") if time else None
    groups: dict[tuple[str, str, str], list[_Run]] = {}
    for run in _runs(source):
        if run.failed or "real" not in run.times:
            yield source.skip(f"line {run.line}", run.name, run.failed or "it did not end: no line 'real'")
        else:
            place = run.name, run.input or name.get("input", ""), run.build
            groups.setdefault(place, []).append(run)
    for (program, size, build), runs in groups.items():
        parts = {"program": program, "input": size, "threads": name.get("threads", "")}
        for what, metric in _METRICS.items():
            if all(what in run.times for run in runs):
                yield replace(
                    source.frame(f"line {runs[0].line}", "-".join(filter(None, parts.values()))),
                    values=np.array([run.times[what] for run in runs]),
                    metric=metric,
                    version=source.path.parent.name or None,
                    fields=tuple((k, v) for k, v in [*parts.items(), ("build", build)] if v),
                    traits=_TRAITS,
                    span=span_of([moment]),
                )


def _runs(source: Source) -> Iterator[_Run]:
    run: _Run | None = None
    for number, line in enumerate(source.lines, start=1):
        if begin := _BEGIN.match(line):
            if run is not None:
                yield run
            run = _Run(begin["name"], number)
        elif run is None:
            continue
        elif match := _TIME.fullmatch(line):
            seconds = Decimal(match["seconds"].replace(",", "."))  # one rounding in all
            run.times.setdefault(match["what"], float(60 * int(match["minutes"]) + seconds))
        elif match := _INPUT.match(line):
            run.input = match["input"]
        elif match := _BUILD.match(line):
            run.build = match["build"]
        elif match := _ERROR.match(line) or _DIED.match(line):
            run.failed = run.failed or f"it failed: {match['message']}"
    if run is not None:
        yield run


def _baseline(source: Source) -> Iterator[Record | Skipped]:
    for number, line in enumerate(source.lines, start=1):
        name, *words = line.split() or [""]
        where = f"line {number}"
        wrong = next((word for word in words if not is_number(word)), None)
        if not words or wrong is not None:
            if name:
                reason = "it has no values" if wrong is None else f"{wrong!r} is not a number of seconds"
                yield source.skip(where, name, reason)
            continue
        parts = tuple(zip(("threads", "input", "program"), reversed(name.rsplit("-", 2)), strict=False))
        values = np.array([float(word) for word in words])
        record = replace(source.frame(where, name), values=values, fields=parts, traits=_TRAITS)
        yield from finite(record, name, "run")

"""speedproof's own results: the JSON Lines that ``speedproof run`` appends to, any number of sessions.

:mod:`speedproof.data.runs` describes the lines. A line that a killed runner left unfinished is skipped with
its place; warm-up runs and failed ones are left out and counted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import msgspec
import numpy as np

from speedproof.data.runs import SCHEMA, EndLine, Line, RunLine, SessionLine
from speedproof.data.sample import Trait
from speedproof.data.suite import Record, Skipped
from speedproof.data.units import Direction
from speedproof.formats.notes import plural
from speedproof.formats.options import ReadOptions
from speedproof.formats.source import Source

__all__ = ["UNITS", "read"]

UNITS = {
    "time": "s",
    "user": "s",
    "system": "s",
    "memory": "B",
    "energy": "J",
}
"""Base units of the metrics that the runner measures itself; counts have none."""

_WARMUP = "warm-up"
# What tells two machines or days apart; the whole snapshot would make every kernel update a difference.
_FACTS = ("host", "cpu", "kernel", "governor", "turbo", "smt", "power")


def read(source: Source, options: ReadOptions) -> Iterator[Record | Skipped]:
    r"""Read every session: one record for each benchmark, version and metric.

    Parameters
    ----------
    source : Source
        The file.
    options : ReadOptions
        Not needed.

    Yields
    ------
    Record or Skipped
        Records name their machine and their experiment among their fields: the first of the sessions that went
        on with each other. Their traits tell why measuring ended and what happened meanwhile.

    Raises
    ------
    FormatError
        No session in it, or one of a newer schema.

    Examples
    --------
    >>> from pathlib import Path
    >>> text = (
    ...     b'{"type":"session","schema":1,"session":"s1","started":"2026-01-01","seed":1,"benchmarks":[]}\n'
    ...     b'{"type":"run","session":"s1","benchmark":"b","version":"v","block":0,"position":0,"at":0.1,'
    ...     b'"metrics":{"time":0.25}}\n'
    ... )
    >>> [(r.benchmark, r.version, r.values.tolist()) for r in read(Source("r", Path("r"), text), ReadOptions())]
    [('b', 'v', [0.25])]
    """
    heads: dict[str, SessionLine] = {}
    ends: dict[str, EndLine] = {}
    samples: dict[tuple[str, str, str, str], list[float]] = {}
    places: dict[tuple[str, str, str, str], str] = {}
    left_out: dict[tuple[str, str, str, str], int] = {}
    left_behind: dict[tuple[str, str, str], int] = {}
    decoder = msgspec.json.Decoder(Line)
    lines = source.lines
    for number, text in enumerate(lines, start=1):
        if not text.strip():
            continue
        where = f"line {number}"
        try:
            line = decoder.decode(text)
        except msgspec.MsgspecError as error:
            yield Skipped(source.name, where, "", f"not a line of 'speedproof run', or cut off ({error})")
            continue
        if isinstance(line, SessionLine):
            if line.schema > SCHEMA:
                raise source.error(
                    where, f"schema {line.schema} is newer than {SCHEMA}; use a newer speedproof"
                )
            heads[line.session] = line
        elif isinstance(line, EndLine):
            ends[line.session] = line
        elif line.session not in heads:
            yield Skipped(source.name, where, line.benchmark, f"no session {line.session!r} before it")
        elif (why := _why_left_out(line)) is not None:
            key = (line.session, line.benchmark, line.version, why)
            left_out[key] = left_out.get(key, 0) + 1
        else:
            place = (line.session, line.benchmark, line.version)
            if line.left_behind:
                left_behind[place] = left_behind.get(place, 0) + 1
            for metric, value in line.metrics.items():
                samples.setdefault((*place, metric), []).append(value)
                places.setdefault((*place, metric), where)
    if not heads:
        raise source.error("", "holds no session of 'speedproof run'")
    for (session, benchmark, version, why), count in left_out.items():
        text = f"{version}: {plural(count, 'run')} left out: {why}"
        yield Skipped(source.name, f"session {session}", benchmark, text, expected=why == _WARMUP)
    for (session, benchmark, version, metric), values in sorted(
        samples.items(), key=lambda item: _planned_place(heads[item[0][0]], *item[0][1:3])
    ):
        head = heads[session]
        unit, direction = head.units.get(metric, (UNITS.get(metric, ""), ""))
        reasons = {key[3] for key in left_out if key[:3] == (session, benchmark, version)}
        notes = [] if session in ends else [f"session {session} was killed before it ended"]
        if head.resumes:
            notes.append(f"session {session} went on with {head.resumes[-1]}")
        if (session, benchmark, version) in left_behind:
            runs = plural(left_behind[session, benchmark, version], "run")
            notes.append(f"{runs} left processes running: their work is not in the values")
        yield Record(
            benchmark,
            np.array(values),
            unit,
            metric=metric,
            direction=Direction(direction) if direction else None,
            version=version,
            path=source.name,
            where=places[session, benchmark, version, metric],
            fields=_fields(head, benchmark),
            traits=_traits(session, heads, ends, benchmark, version, reasons),
            notes=tuple(notes),
        )


def _traits(
    session: str,
    heads: Mapping[str, SessionLine],
    ends: Mapping[str, EndLine],
    benchmark: str,
    version: str,
    left_out: Collection[str],
) -> frozenset[Trait]:
    head, end = heads[session], ends.get(session)
    # The last session of an experiment decides why measuring ended; who goes on has seen the ones before.
    last = [other for other in heads.values() if other.experiment == head.experiment][-1]
    on_result = ends[last.session].on_result.get(benchmark, ()) if last.session in ends else ()
    planned = [v.name for b in head.benchmarks if b.name == benchmark for v in b.versions]
    found = {
        Trait.ORDER_KNOWN: True,
        Trait.RANDOM_ORDER: len(planned) > 1,
        Trait.WARMUP_REMOVED: _WARMUP in left_out,
        Trait.FAILED_LEFT_OUT: bool(set(left_out) - {_WARMUP}),
        # The reference ran as long as somebody was undecided.
        Trait.STOPPED_ON_RESULT: version in on_result or (bool(last.resumes) and version in planned[1:]),
        Trait.TWO_PROGRAMS: end is not None and version in end.changed.get(benchmark, ()),
    }
    return frozenset(trait for trait, has in found.items() if has)


def _why_left_out(run: RunLine) -> str | None:
    if run.warmup:
        return _WARMUP
    if run.timed_out:
        return "timed out"
    if run.exit:
        return f"exit code {run.exit}" if run.exit > 0 else f"ended by signal {-run.exit}"
    return None


def _planned_place(head: SessionLine, benchmark: str, version: str) -> tuple[int, ...]:
    """The order of the plan, which has the reference first; the runs' own order is random."""
    for b, planned in enumerate(head.benchmarks):
        if planned.name == benchmark:
            names = [v.name for v in planned.versions]
            return (b, names.index(version) if version in names else len(names))
    return (len(head.benchmarks), 0)


def _fields(head: SessionLine, benchmark: str) -> tuple[tuple[str, str], ...]:
    parameters = next((b.parameters for b in head.benchmarks if b.name == benchmark), {})
    facts = ((name, head.environment[name]) for name in _FACTS if name in head.environment)
    return (("session", head.experiment), *facts, *parameters.items())

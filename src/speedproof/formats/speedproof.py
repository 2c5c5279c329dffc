"""speedproof's own results: the JSON Lines that ``speedproof run`` appends to, any number of sessions.

:mod:`speedproof.data.session_file` describes the lines. A line that a killed runner left unfinished is skipped
with its place; warm-up runs and failed ones are left out and counted.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from speedproof.data.names import plural
from speedproof.data.record import Record, Skipped
from speedproof.data.sample import Trait, clock_of
from speedproof.data.units import Direction
from speedproof.formats.reading import Gathered, epoch
from speedproof.formats.source import ReadOptions, Source
from speedproof.options import SESSION_ASKS, SessionAsked, benchmark_settings, tested_once
from speedproof.values import rest

if TYPE_CHECKING:  # and where a session is read: other files are looked at here, too
    from speedproof.data.session_file import Damage, EndLine, RunLine, SessionLine

TITLE = "speedproof run"
DESCRIPTION = "JSON Lines of its sessions: every run with all metrics; warm-up left out"

UNITS = {"time": "s", "user": "s", "system": "s", "cpu": "s", "memory": "B", "energy": "J"}
"""Base units of the metrics that the runner measures itself; counts have none."""

KERNEL_METRICS = frozenset(
    [*UNITS, "minor-faults", "major-faults", "voluntary-switches", "involuntary-switches"]
)
"""Metrics measured by the runner itself, whose units are fixed."""

_WARMUP = "warm-up"
_NO_BUILD = -1
_SESSIONS_APART = 32  # bits, for the blocks of sessions that went on with each other
# Without one of these fields the direction of a session's custom metrics is unknown.
_UNIT_FIELDS = ("units", "session")
# Without one of these its reference is.
_PLAN_FIELDS = ("benchmarks", "session")
# Fields that distinguish machines or days; of the whole snapshot every kernel update would be a difference.
_FACTS = ("host", "cpu", "kernel", "governor", "turbo", "smt", "power")


_SESSION = re.compile(rb'\s*\{"type":\s*"(session|run|end)"')


def sniff(head: bytes) -> bool:
    """Whether a file begins with a line of a session."""
    return _SESSION.match(head) is not None


class _Cell(Struct):
    """The runs of one version of one benchmark in one session."""

    begin: float = math.inf
    end: float = -math.inf
    left_behind: int = 0
    # By the metrics that a run may have
    groups: dict[tuple[str, ...], list[int]] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)  # by reason


def read(source: Source, options: ReadOptions) -> Iterator[Record | Skipped]:
    r"""Read every session: one record for each benchmark, version and metric."""
    from speedproof.data.session_file import Damage, EndLine, SessionLine, StoredSession, decode_lines

    heads: dict[str, SessionLine] = {}
    ends: dict[str, EndLine] = {}
    # Values, each with its build and block; by session, benchmark, version and metric
    rows = Gathered("d", "i", "q")
    cells: dict[tuple[str, str, str], _Cell] = {}
    unitless: set[str] = set()
    fault = ""
    order: dict[str, int] = {}
    for number, line in decode_lines(source.name, source.lines):
        if isinstance(line, Damage):
            unitless |= {line.session} if line.field.partition("[")[0] in _UNIT_FIELDS else set()
            fault = fault or f": line {number}: {_reason(line)}"
            yield source.skip(f"line {number}", "", _reason(line))
        elif isinstance(line, SessionLine):
            heads[line.session] = line
            order.setdefault(line.session, len(order))
        elif isinstance(line, EndLine):
            ends[line.session] = line
        else:
            place = (line.session, line.benchmark, line.version)
            cell = cells.setdefault(place, _Cell())
            if (why := _why_left_out(line)) is not None:
                cell.left_out[why] += 1
                continue
            cell.begin, cell.end = min(cell.begin, line.at), max(cell.end, line.at)
            cell.left_behind += bool(line.left_behind)
            build = _NO_BUILD if line.build is None else line.build
            block = (order[line.session] << _SESSIONS_APART) + line.block
            metrics = line.metrics
            if line.session in unitless:
                metrics = {metric: value for metric, value in metrics.items() if metric in KERNEL_METRICS}
            if (groups := cell.groups.get(names := (*metrics,))) is None:
                groups = cell.groups[names] = [rows.number((*place, metric), number) for metric in names]
            entries = (groups, metrics.values(), [build] * len(groups), [block] * len(groups))
            for column, new in zip((rows.groups, *rows.columns), entries, strict=True):
                column.extend(new)
            rows.make_room()
    if not heads:
        raise source.error("", f"holds no session of 'speedproof run'{fault}")
    for (session, benchmark, version), cell in cells.items():
        for why, count in cell.left_out.items():
            reason = f"{version}: {plural(count, 'run')} left out: {why}"
            yield source.skip(f"session {session}", benchmark, reason, expected=why == _WARMUP)
    for session, head in heads.items() if not rows.keys else ():
        how = StoredSession(head, (), ends.get(session)).how_ended
        yield source.skip(f"session {session}", "", f"holds no run that counts; it {how}")
    rows.sort()
    replaced = _replaced(heads.values())
    together = Counter(place[:2] for place in cells)  # versions by session and benchmark
    for key in sorted(rows.keys, key=lambda key: _planned_place(heads[key[0]], *key[1:3])):
        session, benchmark, version, metric = key
        head, cell = heads[session], cells[session, benchmark, version]
        unit, direction = head.units.get(metric, (UNITS.get(metric, ""), ""))
        notes = [] if session in ends else [f"session {session} was killed before it ended"]
        if head.resumes:
            notes.append(f"session {session} went on with {head.resumes[-1]}")
        if count := cell.left_behind:
            notes.append(f"{plural(count, 'run')} left processes running: their work is not in the values")
        values, builds, blocks = rows.of(rows.keys[key])
        built = bool(builds.min() > _NO_BUILD)
        looked = not (built or tested_once(head.options, values.size))
        start = epoch(head.started)
        yield replace(
            source.frame(f"line {rows.places[rows.keys[key]]}", benchmark),
            values=values,
            unit=unit,
            metric=metric,
            direction=Direction(direction) if direction else None,
            version=version,
            # Runs of one build are nested in it, as values are in a process.
            processes=builds.astype(np.int64) if built else None,
            blocks=blocks.astype(np.int64) if looked or built else None,
            fields=_fields(head, benchmark),
            traits=_traits(
                session, heads, ends, benchmark, version, cell.left_out, (benchmark, version) in replaced
            )
            | ({Trait.RANDOM_ORDER} if together[session, benchmark] > 1 else set())
            | ({Trait.BUILDS} if built else set())
            | clock_of(metric),
            notes=tuple(notes),
            session=head.experiment,
            span=None if start is None else (start + cell.begin, start + cell.end),
        )
    failed = {place for place, cell in cells.items() if cell.left_out.keys() - {_WARMUP}}
    yield from _unmeasured(source, heads, {key[:3] for key in rows.keys}, failed)


def _unmeasured(
    source: Source,
    heads: Mapping[str, SessionLine],
    measured: Collection[tuple[str, str, str]],
    failed: Collection[tuple[str, str, str]],
) -> Iterator[Skipped]:
    """What the last session of each experiment was to measure, and no session of it did.

    A candidate of which every run failed lacks the benchmark.
    """
    of_experiment, crashed = (
        {(heads[session].experiment, *place) for session, *place in of} for of in (measured, failed)
    )
    for name, head in {head.experiment: head for head in heads.values()}.items():
        planned = [
            (b.name, v.name, i > 0 and (name, b.name, v.name) in crashed)
            for b in head.benchmarks
            for i, v in enumerate(b.versions)
        ]
        planned += [(b, v, True) for b, versions in head.absent.items() for v in versions]
        for benchmark, version, lacks in planned:
            if (name, benchmark, version) not in of_experiment:
                skipped = source.skip(f"session {name}", benchmark, f"{version} was not measured")
                yield replace(skipped, version=version, lacks=lacks)


def _reason(damage: Damage) -> str:
    """A damage, and what it costs whoever compares the values."""
    parts = [f"{damage.field}: {damage.message}" if damage.field else damage.message]
    field = damage.field.partition("[")[0] if damage.session else ""
    if field in _UNIT_FIELDS:
        parts.append("metrics of the session's own are left out, for their units are not known")
    if field in _PLAN_FIELDS:
        parts.append("which version is the reference may not be known: name the reference")
    return "; ".join(parts)


def _traits(
    session: str,
    heads: Mapping[str, SessionLine],
    ends: Mapping[str, EndLine],
    benchmark: str,
    version: str,
    left_out: Collection[str],
    replaced: bool,
) -> frozenset[Trait]:
    head, end = heads[session], ends.get(session)
    # The last session of an experiment decides why measuring ended; who goes on has seen the ones before.
    last = [other for other in heads.values() if other.experiment == head.experiment][-1]
    on_result = ends[last.session].on_result.get(benchmark, ()) if last.session in ends else ()
    versions = [v for b in head.benchmarks if b.name == benchmark for v in b.versions]
    planned = [v.name for v in versions]
    # Builds are tested once, when all of their pairs are measured, in however many sessions.
    looked = not any(v.builds for v in versions)
    traits = {
        Trait.ORDER_KNOWN: True,
        Trait.WARMUP_REMOVED: _WARMUP in left_out,
        Trait.FAILED_LEFT_OUT: bool(set(left_out) - {_WARMUP}),
        # The reference ran as long as some candidate was undecided.
        Trait.STOPPED_ON_RESULT: looked
        and (version in on_result or (bool(last.resumes) and version in planned[1:])),
        Trait.OTHER_EXECUTABLE: looked and version in head.executables.get(benchmark, ()),
        Trait.PLAN_LOST: version not in planned,
        Trait.TWO_PROGRAMS: replaced or (end is not None and version in end.changed.get(benchmark, ())),
    }
    return frozenset(trait for trait, has in traits.items() if has)


def _replaced(heads: Iterable[SessionLine]) -> set[tuple[str, str]]:
    """The benchmarks and versions whose program was another one in another session; not where builds vary."""
    programs: dict[tuple[str, str], set[str]] = {}
    for head in heads:
        files = {PurePath(path).name: content for path, content in head.files.items()}
        for benchmark in head.benchmarks:
            for v in benchmark.versions:
                if not v.builds and (content := files.get(PurePath(*v.command[:1]).name)):
                    programs.setdefault((benchmark.name, v.name), set()).add(content)
    return {place for place, contents in programs.items() if len(contents) > 1}


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
    return (("session", head.experiment), (SESSION_ASKS, _asked(head)), *facts, *parameters.items())


def _asked(head: SessionLine) -> str:
    """The question of the session, as far as its header is valid."""
    from speedproof.data.session_file import options_read

    options, _ = options_read(head.options)
    names = tuple(b.name for b in head.benchmarks)
    parts: dict[str, Any] = {
        "decide_by": options.decide_by or "time",
        "margin": options.margin,
        "confidence": options.confidence if options.alpha is None else rest(options.alpha),
        "policy": options.held_to,
        "benchmark": benchmark_settings(options.margin_of, options.policy_of),
        "control": options.control,
        "builds": options.builds or 0,
        "unaffected": tuple(n for n in names if any(fnmatchcase(n, p) for p in options.unaffected)),
    }
    asked = SessionAsked("time")
    for name, value in parts.items():
        with suppress(ValueError):
            asked = replace(asked, **{name: value})
    return msgspec.json.encode(asked).decode()

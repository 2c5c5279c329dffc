"""A session's file: the lines that measuring appends, and the one decoder of them.

The file is JSON Lines. Every line is one object whose ``type`` says which of these structures it is; files of
several sessions may be joined with ``cat``. Lines are only ever appended. Unknown members are ignored, so a
newer program may add some; a change that an older program would misread raises :data:`SCHEMA`.

Whoever goes on with a session needs all of its header; whoever reads the values hardly any of it. The decoder
therefore gives what is sound of a damaged header, and a :class:`Damage` for each field that is not.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Annotated, Any

import msgspec

from speedproof.errors import FormatError, UsageError
from speedproof.measuring_options import STORED, Measuring
from speedproof.options import benchmark_settings

SCHEMA = 1

_Count = Annotated[int, msgspec.Meta(ge=0)]


class PlannedBuild(msgspec.Struct, frozen=True, array_like=True):
    """One of several builds of a version: its folder, its environment padding in bytes, its build time."""

    cwd: str
    padding: _Count
    seconds: float = 0.0


class PlannedVersion(msgspec.Struct, frozen=True, omit_defaults=True):
    """One version of one benchmark: what is executed."""

    name: str  # the version
    command: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]  # program and arguments
    text: str  # the command as the user wrote it
    env: dict[str, str] = {}  # variables added to the environment
    cwd: str = ""  # working directory; empty for that of the runner
    setup: str = ""  # shell commands: once before all runs, before and after each run, once after all
    prepare: str = ""
    conclude: str = ""
    cleanup: str = ""
    # Where the version was built several times: every block has one of its own
    builds: tuple[PlannedBuild, ...] = ()


class PlannedBenchmark(msgspec.Struct, frozen=True, omit_defaults=True):
    """One benchmark: its versions, the reference first."""

    name: str  # the benchmark
    # At least one; the first is the reference
    versions: Annotated[tuple[PlannedVersion, ...], msgspec.Meta(min_length=1)]
    # Values of ``-L`` or of the suite's ``parameters`` that this benchmark stands for
    parameters: dict[str, str] = {}


class SessionLine(msgspec.Struct, frozen=True, tag="session", omit_defaults=True):
    """The first line of a session."""

    schema: Annotated[int, msgspec.Meta(ge=1)]  # version of this format
    session: Annotated[str, msgspec.Meta(min_length=1)]  # unique name; every other line repeats it
    started: str  # date and time, ISO 8601 with zone
    seed: _Count  # of the order within blocks
    benchmarks: Annotated[tuple[PlannedBenchmark, ...], msgspec.Meta(min_length=1)]  # what is measured
    # Unit and direction of each metric beyond the built-in ones, ``{"score": ("ops/s", "higher")}``
    units: dict[str, tuple[str, str]] = {}
    options: dict[str, str] = {}  # those of :data:`STORED` as JSON texts, and the folder it was started in
    environment: dict[str, str] = {}  # the machine, see :mod:`speedproof.measuring.system`
    warnings: tuple[str, ...] = ()  # what may disturb the measurements
    # What the commands consist of, by path: :mod:`speedproof.measuring.programs` says how a file is known again
    files: dict[str, str] = {}
    # By benchmark, the candidates whose native executable is not that of the reference
    executables: dict[str, tuple[str, ...]] = {}
    # By benchmark, the candidates that lack it, or were not built: they are not measured, and no policy is met
    absent: dict[str, tuple[str, ...]] = {}
    # The sessions, oldest first, that this one went on with; all are one experiment
    resumes: tuple[str, ...] = ()

    @property
    def experiment(self) -> str:
        """The name that sessions which continue each other share: that of the first."""
        return self.resumes[0] if self.resumes else self.session


class RunLine(msgspec.Struct, frozen=True, tag="run", omit_defaults=True):
    """One run of one version."""

    session: str  # what ran
    benchmark: str
    version: str
    block: _Count  # from 0; warm-up rounds count apart
    position: _Count  # place within the block, from 0
    at: float  # seconds from the session's start to the run's
    # Values in base units: ``time``, ``user``, ``system``, ``cpu``, ``memory``, ``minor-faults``,
    metrics: dict[str, float]
    exit: int = 0  # exit code; minus the signal that ended the process
    timed_out: bool = False  # whether the runner ended it
    warmup: bool = False  # whether the run only warmed the machine up; such runs decide nothing
    left_behind: _Count = 0  # processes of the command that went on when it had ended
    build: _Count | None = None  # which of the version's builds it was, where there are several

    @property
    def failed(self) -> bool:
        """Whether the run failed, so that its time is meaningless."""
        return self.exit != 0 or self.timed_out


class EndLine(msgspec.Struct, frozen=True, tag="end", omit_defaults=True):
    """The last line of a session that was not killed."""

    session: str  # its name
    reason: str  # why it ended
    # By benchmark, the candidates that were measured no longer because of what their own values showed, in
    # the order of the plan; so the sizes of their samples were not fixed beforehand
    on_result: dict[str, tuple[str, ...]] = {}
    # By benchmark, the versions whose program was another one at the end than at the start
    changed: dict[str, tuple[str, ...]] = {}


Line = SessionLine | RunLine | EndLine


def options_stored(measuring: Measuring, directory: str = "") -> dict[str, str]:
    """Options as a header stores them, with the folder that the session was started in."""
    texts = {name: msgspec.json.encode(getattr(measuring, name)).decode() for name in STORED}
    return texts | {"directory": directory}


def control_name(reference: str) -> str:
    """The name of the reference's second build."""
    return f"{reference} (again)"


class Damage(msgspec.Struct, frozen=True):
    """A field or line that cannot be used."""

    line: int  # its number, from 1
    field: str  # the field of a header; empty for a whole line
    message: str  # what is wrong
    session: str = ""  # whose header; empty when the line is of none

    def __str__(self) -> str:
        return ": ".join(part for part in (f"line {self.line}", self.field, self.message) if part)


class StoredSession(msgspec.Struct, frozen=True):
    """A session as found in a file."""

    head: SessionLine  # its first line, as far as it is sound
    runs: tuple[RunLine, ...]  # its runs in order, warm-up included
    end: EndLine | None = None  # its last line; None when it was killed, or goes on
    damage: tuple[Damage, ...] = ()  # what is not sound of its first line
    options: Measuring = Measuring()  # decoded

    @property
    def how_ended(self) -> str:
        """What its last line says, or that there is none."""
        return f"ended: {self.end.reason}" if self.end else "was killed before it ended, or goes on"

    def check(self, path: str) -> None:
        """Refuse to resume or review a session that lacks required information."""
        if self.damage:
            first, others = self.damage[0], len(self.damage) - 1
            more = f" (and {others} more)" if others else ""
            raise FormatError(
                path,
                f"line {first.line}: {first.field}",
                f"{first.message}{more}; its runs can still be read: speedproof compare {shlex.quote(path)}",
            )


_ANY_LINE = msgspec.json.Decoder(Line)
_RAW = msgspec.json.Decoder()
_FIELDS = {field.encode_name: field.type for field in msgspec.structs.fields(SessionLine)}
_OPTIONS = {field.name: field.type for field in msgspec.structs.fields(Measuring) if field.name in STORED}
# What stands in for a field that is not sound.
_BLANK: dict[str, Any] = {"schema": SCHEMA, "session": "?", "started": "", "seed": 0, "benchmarks": ()}
_NESTED = "nested too deeply"


def _decoded(decoder: msgspec.json.Decoder[Any], text: str | bytes) -> Any:
    """Decode a text; a ValueError also where nesting would exhaust the stack."""
    try:
        return decoder.decode(text)
    except RecursionError:
        raise ValueError(_NESTED) from None


def is_header(text: bytes) -> bool:
    """Whether a line is the first one of a session, sound or not."""
    try:
        raw = _decoded(_RAW, text)
    except ValueError:
        return False
    return isinstance(raw, dict) and raw.get("type") == "session" and ("schema" in raw or "session" in raw)


def decode_lines(name: str, lines: Iterable[str | bytes]) -> Iterator[tuple[int, Line | Damage]]:
    """Decode a file line by line; whatever is wrong with it comes as :class:`Damage`, and the rest goes on."""
    sessions: set[str] = set()
    doubled: set[str] = set()
    for number, text in enumerate(lines, start=1):
        if not text.strip():
            continue
        try:
            line: Line | None = _decoded(_ANY_LINE, text)
        except ValueError as error:
            line = None
            if not is_header(text if isinstance(text, bytes) else text.encode()):
                cut = f"not a line of 'speedproof run', or cut off ({error})"
                yield number, Damage(number, "", cut)
                continue
        if line is None or isinstance(line, SessionLine):
            head, faults = _mended(line, text)
            if head.schema > SCHEMA:
                newer = f"schema {head.schema} is newer than {SCHEMA}; use a newer speedproof"
                raise FormatError(name, f"line {number}", newer)
            if head.session in sessions:
                doubled.add(head.session)
                again = f"session {head.session!r} is in the file twice; its lines count once"
                yield number, Damage(number, "session", again)
                continue
            sessions.add(head.session)
            for field, message in faults:
                yield number, Damage(number, field, message, head.session)
            yield number, head
            continue
        if line.session not in sessions:
            sessions.add(line.session)
            missing = f"no readable header of session {line.session!r} before it"
            yield number, Damage(number, "session", missing, line.session)
            yield number, SessionLine(**{**_BLANK, "session": line.session})
        if line.session not in doubled:
            yield number, line


def _mended(line: SessionLine | None, text: str | bytes) -> tuple[SessionLine, list[tuple[str, str]]]:
    """The valid part of a header, with field and message for each error."""
    faults: list[tuple[str, str]] = []
    if line is None:
        raw, values = _RAW.decode(text), {}
        for field, kind in _FIELDS.items():
            if field not in raw:
                faults += [(field, "is missing")] if field in _BLANK else []
                continue
            try:
                values[field] = msgspec.convert(raw[field], kind)
            except (ValueError, RecursionError) as error:
                faults.append(_placed(field, error))
        if "benchmarks" not in values:
            values["benchmarks"] = _names(raw.get("benchmarks"))
        line = SessionLine(**{**_BLANK, **values})
    faults += _faults(line)
    return line, list(dict(reversed(faults)).items())[::-1]


def _placed(field: str, error: Exception) -> tuple[str, str]:
    """Field and message of a failed conversion."""
    message, _, place = str(error).partition(" - at `$")
    where = place.rstrip("`").removeprefix("[...]")
    return field + where, (message[:1].lower() + message[1:]).replace("`", "")


def _names(raw: object) -> tuple[PlannedBenchmark, ...]:
    """Who took part and who was the reference, of a plan that is damaged elsewhere."""

    def named(items: object) -> list[dict[str, Any]]:
        listed = items if isinstance(items, list) else []
        return [item for item in listed if isinstance(item, dict) and isinstance(item.get("name"), str)]

    return tuple(
        PlannedBenchmark(
            b["name"], tuple(PlannedVersion(v["name"], (), "") for v in named(b.get("versions")))
        )
        for b in named(raw)
    )


def _faults(head: SessionLine) -> Iterator[tuple[str, str]]:
    """Errors that the types of the fields do not exclude."""
    try:
        datetime.fromisoformat(head.started).timestamp()
    except (ValueError, OverflowError):
        yield "started", f"{head.started!r} is no date and time"
    yield from _twice("benchmarks", [b.name for b in head.benchmarks])
    for b, benchmark in enumerate(head.benchmarks):
        yield from _twice(f"benchmarks[{b}].versions", [v.name for v in benchmark.versions])
        for v, version in enumerate(benchmark.versions):
            where = f"benchmarks[{b}].versions[{v}]"
            if version.command and not version.command[0]:
                yield f"{where}.command", "names no program"
            if any(not key or "=" in key for key in version.env):
                yield f"{where}.env", "has a name that no variable can have"
            if any("\0" in part for part in _strings(version)):
                yield where, "holds a NUL character, which no command can"
    for metric, (_, direction) in head.units.items():
        if direction not in ("", "lower", "higher"):
            yield "units", f"{direction!r} is no direction of {metric!r}: lower or higher"
    if head.session in head.resumes or len(set(head.resumes)) < len(head.resumes):
        yield "resumes", "names a session twice"
    options, faults = options_read(head.options)
    yield from faults
    if options.calibrate and [len(b.versions) for b in head.benchmarks] != [2]:
        yield "benchmarks", "are not one command twice, which is what a calibration measures"
    if options.plan and not all(v.builds for b in head.benchmarks for v in b.versions):
        yield "benchmarks", "lack the builds that a plan is made from"


def _twice(where: str, names: list[str]) -> Iterator[tuple[str, str]]:
    for name in dict.fromkeys(name for name in names if names.count(name) > 1):
        yield where, f"the name {name!r} is given twice"


def _strings(version: PlannedVersion) -> Iterator[str]:
    yield from (build.cwd for build in version.builds)
    for value in msgspec.structs.astuple(version)[:-1]:
        yield from [value] if isinstance(value, str) else value
    yield from version.env.values()


def options_read(texts: Mapping[str, str]) -> tuple[Measuring, list[tuple[str, str]]]:
    """The options of a header, and field and message of those that are not sound."""
    values: dict[str, Any] = {}
    faults = []
    for name in (name for name in texts if name in _OPTIONS):
        try:
            values[name] = msgspec.convert(_decoded(_RAW, texts[name]), _OPTIONS[name])
        except (ValueError, RecursionError) as error:
            faults.append(_placed(f"options.{name}", error))
    for name in ("margin_of", "policy_of"):
        try:
            benchmark_settings(**{name: values.get(name, ())})
        except UsageError as error:
            del values[name]
            faults.append((f"options.{name}", str(error)))
    return Measuring(**values), faults


def read_sessions(name: str, lines: Iterable[str | bytes]) -> tuple[list[StoredSession], list[Damage]]:
    """Read a whole file, to go on with its last session or to look at it again."""
    heads: dict[str, SessionLine] = {}
    runs: dict[str, list[RunLine]] = {}
    ends: dict[str, EndLine] = {}
    damage: dict[str, list[Damage]] = {}
    for _, line in decode_lines(name, lines):
        if isinstance(line, Damage):
            damage.setdefault(line.session, []).append(line)
        elif isinstance(line, SessionLine):
            heads[line.session], runs[line.session] = line, []
        elif isinstance(line, RunLine):
            runs[line.session].append(line)
        else:
            ends[line.session] = line
    if not heads:
        raise FormatError(name, "", "holds no session of 'speedproof run'")
    sessions = [
        StoredSession(
            head, tuple(runs[s]), ends.get(s), tuple(damage.get(s, ())), options_read(head.options)[0]
        )
        for s, head in heads.items()
    ]
    return sessions, damage.get("", [])

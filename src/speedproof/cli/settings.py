"""Settings of a project: ``speedproof.toml``, read strictly, every error with its file and key."""

from __future__ import annotations

import fnmatch
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, TypeVar

from msgspec import Struct
from msgspec.structs import fields

from speedproof.api.gates import MULTIPLICITIES, Demand, Location, Multiplicity, Policy
from speedproof.api.given import level, proportion
from speedproof.errors import FormatError

FILE = "speedproof.toml"
"""Read from the working directory when no other file is named."""

Undecided = Literal["report", "fail", "pass"]
UNDECIDED: tuple[Undecided, ...] = ("report", "fail", "pass")
PROTOCOLS: tuple[Location, ...] = ("typical", "mean", "median")

T = TypeVar("T")
S = TypeVar("S", bound=str)


class BenchmarkSettings(Struct, frozen=True):
    """One ``[[gate.benchmark]]`` table: what it says of the benchmarks that its pattern matches."""

    pattern: str
    margin: float | None = None
    policy: Policy | None = None
    ignore: bool | None = None

    def matches(self, name: str) -> bool:
        """Whether this table speaks of a benchmark."""
        return name == self.pattern or fnmatch.fnmatchcase(name, self.pattern)


class GateSettings(Struct, frozen=True):
    """The ``[gate]`` table; None where it is silent."""

    margin: float | None = None
    confidence: float | None = None
    multiplicity: Multiplicity | None = None
    policy: Policy | None = None
    undecided: Undecided | None = None
    protocol: Location | None = None
    benchmark: tuple[BenchmarkSettings, ...] = ()


def demand_of(name: str, base: Demand, entries: Iterable[BenchmarkSettings]) -> Demand | None:
    """What a benchmark must prove: every table whose pattern matches is applied, a later one over an earlier."""
    policy, margin, ignored = base.policy, base.margin, False
    for entry in entries:
        if entry.matches(name):
            policy = policy if entry.policy is None else entry.policy
            margin = margin if entry.margin is None else entry.margin
            ignored = ignored if entry.ignore is None else entry.ignore
    return None if ignored else Demand(policy, margin)


def read_settings(path: str | Path) -> GateSettings:
    """Read the settings of the gate."""
    name = str(path)
    try:
        document = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise FormatError(name, f"byte {error.start}", "this is not UTF-8 text") from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise FormatError(name, "", f"this is not TOML: {error}") from error
    _Table(name, "", document, ("gate",))
    gate = _Table(name, "gate", document.get("gate", {}), [f.name for f in fields(GateSettings)])
    return GateSettings(
        margin=gate.take("margin", _margin),
        confidence=gate.take("confidence", _confidence),
        multiplicity=gate.take("multiplicity", _one_of(tuple(MULTIPLICITIES))),
        policy=gate.take("policy", _one_of(tuple(Policy))),
        undecided=gate.take("undecided", _one_of(UNDECIDED)),
        protocol=gate.take("protocol", _one_of(PROTOCOLS)),
        benchmark=tuple(_benchmarks(name, gate.take("benchmark", _list) or [])),
    )


def _benchmarks(path: str, entries: list[object]) -> Iterator[BenchmarkSettings]:
    for number, entry in enumerate(entries, start=1):
        where = f"gate.benchmark[{number}]"
        table = _Table(path, where, entry, [f.name for f in fields(BenchmarkSettings)])
        pattern = table.take("pattern", _text)
        if pattern is None:
            raise FormatError(path, where, 'a pattern is missing, for example pattern = "json_*"')
        yield BenchmarkSettings(
            pattern=pattern,
            margin=table.take("margin", _margin),
            policy=table.take("policy", _one_of(tuple(Policy))),
            ignore=table.take("ignore", _boolean),
        )


class _Table:
    """A TOML table that knows its place and refuses keys that nobody will read."""

    def __init__(self, path: str, where: str, value: object, known: Sequence[str]) -> None:
        if not isinstance(value, dict):
            raise FormatError(path, where, f"{value!r} is not a table of keys and values")
        self._path = path
        self._prefix = f"{where}." if where else ""
        self._values: dict[str, object] = value
        for key in value:
            if key not in known:
                message = f"there is no such key; known here: {', '.join(known)}"
                raise FormatError(path, f"{self._prefix}{key}", message)

    def take(self, key: str, parse: Callable[[object], T]) -> T | None:
        """The parsed value of a key; None when it is not there."""
        if key not in self._values:
            return None
        try:
            return parse(self._values[key])
        except ValueError as error:
            raise FormatError(self._path, f"{self._prefix}{key}", str(error)) from error


def _number(value: object, example: str) -> str:
    """A number, or the text of one, as an option on the command line would hold it."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f"{value!r} is not a number; write {example}")
    return str(value)


def _margin(value: object) -> float:
    return proportion(_number(value, '"2%" or 0.02'))


def _confidence(value: object) -> float:
    return level(_number(value, '"95%" or 0.95'))


def _one_of(choices: Sequence[S]) -> Callable[[object], S]:
    def parse(value: object) -> S:
        for choice in choices:
            if value == choice:
                return choice
        raise ValueError(f"{value!r} is none of {', '.join(choices)}")

    return parse


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise ValueError("write [[gate.benchmark]], in double brackets")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"{value!r} is not a text")
    return value


def _boolean(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{value!r} is neither true nor false")
    return value

"""Settings of a project: ``speedproof.toml``, read strictly, every error with its file and key."""

from __future__ import annotations

import fnmatch
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from msgspec import Struct

from speedproof.api.shares import level, proportion
from speedproof.errors import FormatError
from speedproof.options import Location, Multiplicity, Policy

if TYPE_CHECKING:
    from speedproof.api.gates import Demand

FILE = "speedproof.toml"
"""Read from the working directory when no other file is named."""

Undecided = Literal["report", "fail", "pass"]


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
    from speedproof.api.gates import Demand

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
    gate = _table(
        name, "gate", _table(name, "", document, {"gate": lambda table: table}).get("gate", {}), _GATE
    )
    return GateSettings(**{**gate, "benchmark": tuple(_benchmarks(name, gate.get("benchmark", [])))})


def _benchmarks(path: str, entries: list[object]) -> Iterator[BenchmarkSettings]:
    for number, entry in enumerate(entries, start=1):
        where = f"gate.benchmark[{number}]"
        yield BenchmarkSettings(**_table(path, where, entry, _BENCHMARK, needed="pattern"))


def _table(
    path: str, where: str, value: object, keys: Mapping[str, Callable[[Any], Any]], *, needed: str = ""
) -> dict[str, Any]:
    """What a TOML table says, each key by its parser; a key that nobody will read is refused."""
    if not isinstance(value, dict):
        raise FormatError(path, where, f"{value!r} is not a table of keys and values")
    prefix = f"{where}." if where else ""
    if unknown := [key for key in value if key not in keys]:
        message = f"there is no such key; known here: {', '.join(keys)}"
        raise FormatError(path, f"{prefix}{unknown[0]}", message)
    if needed and needed not in value:
        raise FormatError(path, where, f'a {needed} is missing, for example {needed} = "json_*"')
    found = {}
    for key in (key for key in keys if key in value):
        try:
            found[key] = keys[key](value[key])
        except ValueError as error:
            raise FormatError(path, f"{prefix}{key}", str(error)) from error
    return found


def _share(parse: Callable[[object], float], example: str) -> Callable[[object], float]:
    """A number, or the text of one, as an option on the command line would hold it."""

    def parsed(value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise ValueError(f"{value!r} is not a number; write {example}")
        return parse(str(value))

    return parsed


def _one_of(choices: Iterable[str]) -> Callable[[object], str]:
    def parse(value: object) -> str:
        for choice in choices:
            if value == choice:
                return choice
        raise ValueError(f"{value!r} is none of {', '.join(choices)}")

    return parse


def _is(kind: type, otherwise: str) -> Callable[[object], object]:
    def parse(value: object) -> object:
        if not isinstance(value, kind) or value == "":
            raise ValueError(otherwise.format(value=value))
        return value

    return parse


_GATE: dict[str, Callable[[Any], Any]] = {
    "margin": _share(proportion, '"2%" or 0.02'),
    "confidence": _share(level, '"95%" or 0.95'),
    "multiplicity": _one_of(get_args(Multiplicity)),
    "policy": _one_of(Policy),
    "undecided": _one_of(get_args(Undecided)),
    "protocol": _one_of(get_args(Location)),
    "benchmark": _is(list, "write [[gate.benchmark]], in double brackets"),
}
_BENCHMARK = {
    "pattern": _is(str, "{value!r} is not a text"),
    "margin": _GATE["margin"],
    "policy": _GATE["policy"],
    "ignore": _is(bool, "{value!r} is neither true nor false"),
}

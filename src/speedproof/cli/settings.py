"""Settings of a project: ``speedproof.toml``, read strictly, every error with its file and key."""

import fnmatch
import tomllib
from collections.abc import Iterable
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args, get_origin

from msgspec import Struct

from speedproof.declaring import EXAMPLES, Field, Option, fields, words_of
from speedproof.errors import FormatError
from speedproof.options import Gating, Policy
from speedproof.values import proportion

if TYPE_CHECKING:
    from speedproof.api.gates import Demand

FILE = "speedproof.toml"
"""Read from the working directory when no other file is named."""


class BenchmarkSettings(Struct, frozen=True):
    """One ``[[gate.benchmark]]`` table: what it says of the benchmarks that its pattern matches."""

    pattern: str
    margin: Annotated[float | None, "SHARE", "what they may lose", proportion] = None
    policy: Annotated[Policy | None, "what they must prove", Policy] = None
    ignore: bool | None = None

    def matches(self, name: str) -> bool:
        """Whether this table speaks of a benchmark."""
        return name == self.pattern or fnmatch.fnmatchcase(name, self.pattern)


class GateSettings(Gating, frozen=True, kw_only=True):
    """The ``[gate]`` table; None where it is silent."""

    benchmark: tuple[BenchmarkSettings, ...] = ()


class _Settings(Struct, frozen=True):
    """The whole file."""

    gate: GateSettings = GateSettings()


def demand_of(name: str, base: "Demand", entries: Iterable[BenchmarkSettings]) -> "Demand | None":
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
    return _table(_Settings, name, "", document).gate


S = TypeVar("S", bound=Struct)


def _table(kind: type[S], path: str, where: str, table: object) -> S:
    """What a TOML table says, each key by its field; a key that nobody will read is refused."""
    if not isinstance(table, dict):
        raise FormatError(path, where, f"{table!r} is not a table of keys and values")
    known = {field.name: field for field in fields(kind)}
    prefix = f"{where}." if where else ""
    if unknown := [key for key in table if key not in known]:
        message = f"there is no such key; known here: {', '.join(known)}"
        raise FormatError(path, f"{prefix}{unknown[0]}", message)
    for key in (key for key, field in known.items() if field.required and key not in table):
        raise FormatError(path, where, f'a {key} is missing, for example {key} = "json_*"')
    found: dict[str, Any] = {}
    for key, field in known.items():
        place = f"{prefix}{key}"
        if key in table and get_origin(field.kind) is tuple:
            if not isinstance(table[key], list) or not table[key]:
                raise FormatError(path, place, f"write [[{place}]], in double brackets")
            [inner, _] = get_args(field.kind)
            named = (f"{place}[{number}]" for number in count(1))
            found[key] = tuple(_table(inner, path, *entry) for entry in zip(named, table[key], strict=False))
        elif key in table and field.struct is not None:
            found[key] = _table(field.struct, path, place, table[key])
        elif key in table:
            try:
                found[key] = _value(table[key], field)
            except ValueError as error:
                raise FormatError(path, place, str(error)) from error
    return kind(**found)


def _value(value: object, field: Field) -> object:
    """A value of a field; ValueError says what is wrong."""
    asked = field.asked if isinstance(field.asked, Option) else Option("")
    if words := words_of(field.kind):
        if value not in words:
            raise ValueError(f"{value!r} is none of {', '.join(words)}")
        return (asked.parse or str)(str(value))
    if asked.usage:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise ValueError(f"{value!r} is not a number; write {EXAMPLES[asked.usage]}")
        return (asked.parser or str)(str(value))
    if field.kind is str and not (isinstance(value, str) and value):
        raise ValueError(f"{value!r} is not a text")
    if field.kind is not str and not isinstance(value, bool):
        raise ValueError(f"{value!r} is neither true nor false")
    return value

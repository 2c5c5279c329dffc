"""TOML files read strictly, by the struct that declares what may stand in them; errors name file and key."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin

from msgspec import Struct

from speedproof.declaring import EXAMPLES, Option, fields, words_of
from speedproof.errors import FormatError

S = TypeVar("S", bound=Struct)
_TABLE = "must be a table of names and values"


def read_toml(kind: type[S], path: str | Path) -> S:
    """What a file says."""
    name = str(path)
    try:
        document = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise FormatError(name, f"byte {error.start + 1}", "not TOML, which is UTF-8") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise FormatError(name, "", f"not TOML: {error}") from None
    return _table(kind, name, "", document)


def _table(kind: type[S], file: str, place: str, table: object) -> S:
    """What a table says, each key by its field; a key that nobody will read is refused."""
    if not isinstance(table, dict):
        raise FormatError(file, place, f"{_TABLE}, not {table!r}")
    known = {field.name: field for field in fields(kind)}
    prefix = f"{place}." if place else ""
    for key in table:
        if key not in known:
            near = difflib.get_close_matches(key, known)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
            raise FormatError(file, f"{prefix}{key}", f"no such key; {hint}")
    for key in (key for key, field in known.items() if field.required and key not in table):
        raise FormatError(file, place, f'a {key} is missing, for example {key} = "json_*"')
    values = {}
    for key, value in table.items():
        asked = known[key].asked
        option = asked if isinstance(asked, Option) else None
        values[key] = read_value(known[key].kind, file, f"{prefix}{key}", value, option)
    return kind(**values)


def read_value(kind: Any, file: str, place: str, value: object, option: Option | None = None) -> Any:
    """What stands at a place, as the type of its field; of the numbers of a list their texts."""
    if hasattr(kind, "__struct_fields__"):
        return _table(kind, file, place, value)
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Mapping:
        if not isinstance(value, dict):
            raise FormatError(file, place, f"{_TABLE}, not {value!r}")
        return {key: read_value(parts[1], file, f"{place}.{key}", item) for key, item in value.items()}
    if origin is tuple:
        if not isinstance(value, list) or not value:
            raise FormatError(file, place, f"write [[{place}]], in double brackets")
        named = enumerate(value, start=1)
        return tuple(read_value(parts[0], file, f"{place}[{number}]", item) for number, item in named)
    if origin is list:
        if not isinstance(value, list) or not value:
            raise FormatError(file, place, f"must be a list of values, such as [10, 1000], not {value!r}")
        for number, item in enumerate(value):
            if isinstance(item, bool) or not isinstance(item, str | int | float):
                must = f"must be a number or a text in quotes, not {item!r}"
                raise FormatError(file, f"{place}[{number}]", must)
        return [str(item) for item in value]
    try:
        return _scalar(kind, value, option)
    except ValueError as error:
        raise FormatError(file, place, str(error)) from error


def _scalar(kind: Any, value: Any, option: Option | None) -> object:
    parse = option and option.parser
    if words := words_of(kind):
        if value not in words:
            raise ValueError(f"{value!r} is none of {', '.join(words)}")
        return parse(value) if parse else value
    if option and option.usage:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise ValueError(f"{value!r} is not a number; write {EXAMPLES[option.usage]}")
        return parse(str(value)) if parse else value
    if kind is str and not isinstance(value, str):
        raise ValueError(f"must be a text in quotes, not {value!r}")
    if bool in (kind, *get_args(kind)) and not isinstance(value, bool):
        raise ValueError(f"{value!r} is neither true nor false")
    return value

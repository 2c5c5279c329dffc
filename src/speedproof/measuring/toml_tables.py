"""The members of a TOML file: an unknown one, or one of another kind, is named with its place."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable
from typing import Any

from speedproof.errors import FormatError


def check_members(file: str, where: str, table: Iterable[str], known: Collection[str]) -> None:
    """Refuse a member that has no meaning: it is misspelt, or was meant for another place."""
    for name in table:
        if name not in known:
            near = difflib.get_close_matches(name, known)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
            raise FormatError(file, where, f"unknown member {name!r}; {hint}")


def table_of(file: str, where: str, value: object) -> dict[str, Any]:
    """A table, whatever is in it."""
    if not isinstance(value, dict):
        raise FormatError(file, where, f"must be a table of names and values, not {value!r}")
    return value


def text_of(file: str, where: str, value: object) -> str:
    """A text."""
    if not isinstance(value, str):
        raise FormatError(file, where, f"must be a text in quotes, not {value!r}")
    return value


def texts(file: str, where: str, value: object, tables: Collection[str] = ()) -> dict[str, Any]:
    """A table of texts; the members in ``tables`` are tables of texts themselves."""
    return {
        key: (texts if key in tables else text_of)(file, f"{where}.{key}", item)
        for key, item in table_of(file, where, value).items()
    }


def lists(file: str, where: str, value: object) -> dict[str, list[str]]:
    """A table of lists of values; numbers become texts."""
    read: dict[str, list[str]] = {}
    for key, items in table_of(file, where, value).items():
        place = f"{where}.{key}"
        if not isinstance(items, list) or not items:
            raise FormatError(file, place, f"must be a list of values, such as [10, 1000], not {items!r}")
        for number, item in enumerate(items):
            if isinstance(item, bool) or not isinstance(item, str | int | float):
                raise FormatError(
                    file, f"{place}[{number}]", f"must be a number or a text in quotes, not {item!r}"
                )
        read[key] = [str(item) for item in items]
    return read

"""JSON checked against a schema, with errors that name the place in the file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from speedproof.arrays import FloatArray
from speedproof.data.record import Skipped
from speedproof.errors import FormatError
from speedproof.formats.source import Source

if TYPE_CHECKING:
    import msgspec

T = TypeVar("T")
# JSON has no NaN. Tools write it as a string (JMH) or as a bare word (Python, google-benchmark), which
# decode() turns into a string.
Number = float | str

_PATH = re.compile(r"^(?P<message>.*?)(?: - at `(?P<path>[^`]*)`)?$", re.DOTALL)
_BYTE = re.compile(r"\(byte (\d+)\)")


def _same(place: int) -> int:
    return place


def decode(
    data: bytes | msgspec.Raw,
    kind: type[T],
    source: Source,
    where: str = "",
    *,
    at: Callable[[int], int] = _same,
) -> T:
    """Decode JSON into a type; ``at`` says where in the file a byte of the data is."""
    import msgspec

    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError as error:
        raise _misfit(error, source, where) from None
    except msgspec.DecodeError as error:
        malformed = error
    except RecursionError:
        raise source.error(where, _TOO_DEEP) from None
    import json

    # Python's own parser takes NaN and Infinity, which the strict one calls malformed; halves of surrogate
    # pairs, which no text can hold, become replacement characters.
    try:
        tolerant = json.loads(_SURROGATE.sub(_whole, bytes(data)), parse_constant=str)
        # Encoding anew rather than converting keeps undecoded parts (msgspec.Raw) possible.
        again = json.dumps(tolerant).encode()
    except ValueError:
        raise _malformed(malformed, source, where, at) from None
    except RecursionError:
        raise source.error(where, _TOO_DEEP) from None
    try:
        return msgspec.json.decode(again, type=kind)
    except msgspec.DecodeError as error:
        raise _misfit(error, source, where) from None


def entries(
    parts: Iterable[msgspec.Raw], kind: type[T], source: Source, member: str = ""
) -> Iterator[tuple[str, T | Skipped]]:
    """Each part of a list with its place, decoded; what is to be said of one that is not as it should be."""
    for index, part in enumerate(parts):
        where = f"{member}[{index}]"
        try:
            yield where, decode(part, kind, source, where)
        except FormatError as error:
            yield where, Skipped(source.name, error.where, "", error.message)


def glances(parts: Iterable[msgspec.Raw], kind: type[T]) -> Iterator[T]:
    """What a look at each part shows, where it can be decoded."""
    import msgspec

    for part in parts:
        with suppress(msgspec.DecodeError):
            yield msgspec.json.decode(part, type=kind)


_TOO_DEEP = "the JSON is nested too deeply for a result file"
_SURROGATE = re.compile(
    rb"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<half>\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)


def _whole(match: re.Match[bytes]) -> bytes:
    return b"\\ufffd" if match["half"] else match[0]


def number(value: object) -> float:
    """A value as a double; what is no number, or too large for one, becomes NaN."""
    try:
        return float(value) if isinstance(value, (int, float)) else float("nan")
    except OverflowError:
        return float("nan")


def numbers(values: Sequence[Number]) -> FloatArray:
    """Values as an array; what is no number becomes NaN."""
    return np.array([number(v) for v in values], dtype=np.float64)


def as_fields(values: Mapping[str, object], prefix: str = "") -> tuple[tuple[str, str], ...]:
    """The scalars of a JSON object as fields of a record; lists of scalars are joined."""
    fields: list[tuple[str, str]] = []
    for name, value in values.items():
        if isinstance(value, (str, int, float)):
            fields.append((prefix + name, str(value)))
        elif isinstance(value, list) and value and all(isinstance(v, (str, int, float)) for v in value):
            fields.append((prefix + name, ", ".join(map(str, value))))
    return tuple(fields)


def _misfit(error: msgspec.DecodeError, source: Source, where: str) -> FormatError:
    match = _PATH.match(str(error))
    message, path = (match["message"], match["path"] or "") if match else (str(error), "")
    inner = path.removeprefix("$").removeprefix(".")
    # A part of the form "benchmarks[3]" and a path of the form "stats.data[0]" or "[0].stats".
    place = where + ("." if where and inner and not inner.startswith("[") else "") + inner
    return source.error(place, f"{message[:1].lower()}{message[1:]}; the file is not as its tool writes it")


def _malformed(
    error: msgspec.DecodeError, source: Source, where: str, at: Callable[[int], int]
) -> FormatError:
    message = str(error)
    if "truncated" in message:
        return source.error(
            where, "the JSON ends in the middle; was the run interrupted or the file copied in part?"
        )
    if match := _BYTE.search(message):
        place = at(int(match[1]))
        where = where or f"line {source.line_at(place)}"
        message = message.replace(match[0], f"(byte {place})")
    return source.error(where, f"not JSON: {message}")

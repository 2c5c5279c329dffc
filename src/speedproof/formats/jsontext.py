"""JSON checked against a schema, part by part where it is one great list, with errors that name the place.

Of a large file the whole is checked once, without keeping its parts; these come afterwards, some at a time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, lru_cache
from itertools import chain
from typing import Any, TypeAlias, TypeVar, cast

import msgspec
import numpy as np
from msgspec import Raw

from speedproof.arrays import FloatArray, IntArray, extension
from speedproof.data.record import Record, Skipped
from speedproof.errors import FormatError
from speedproof.formats.reading import is_json
from speedproof.formats.source import Source

T = TypeVar("T")
LIST: TypeAlias = list[T]
OBJECT: TypeAlias = dict[str, T]
# JSON has no NaN. Tools write it as a string (JMH) or as a bare word (Python, google-benchmark), which
# decode() turns into a string.
Number = float | str
_LISTS: Any = list[list[Number]] | None
WHOLE = 1 << 26  # bytes of a list that is taken apart in one go
WINDOW = 1 << 22  # bytes of it that are otherwise, where no part is longer

_MEMBER = re.compile(rb'"([^"\\]{1,60})"\s*:')
# Not compiled where nothing is wrong with a file.
_PATH = r"(?s)^(?P<message>.*?)(?: - at `(?P<path>[^`]*)`)?$"
_BYTE = r"\(byte (\d+)\)"
_SURROGATE = (
    rb"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(?P<half>\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)
_STRUCTURE = np.isin(np.arange(256), list(b'"[{]},'))
COMPILED = extension("formats._go")
_decoder: Callable[[Any], msgspec.json.Decoder[Any]] = cache(msgspec.json.Decoder)


@lru_cache(maxsize=2)
def _members(head: bytes) -> frozenset[str]:
    return frozenset(key.decode(errors="replace") for key in _MEMBER.findall(head))


def members(*every: str, some: Sequence[str] = ()) -> Callable[[bytes], bool]:
    """Whether the begin of a JSON file shows all of some members, at any depth, and one of others."""

    def shown(head: bytes) -> bool:
        names = _members(head) if is_json(head) else frozenset()
        return names.issuperset(every) and (not some or not names.isdisjoint(some))

    return shown


def decode(data: Any, kind: type[T], source: Source, where: str = "") -> T:
    """Decode JSON, text or a part of it, into a type."""
    try:
        try:
            return cast(T, _decoder(kind).decode(data))
        except msgspec.ValidationError:
            raise
        except msgspec.DecodeError as error:
            malformed = error
            return cast(T, _decoder(kind).decode(_as_json(bytes(data))))
    except RecursionError:
        raise source.error(where, "the JSON is nested too deeply for a result file") from None
    except msgspec.ValidationError as error:
        raise _misfit(error, source, where) from None
    except msgspec.DecodeError:
        raise _malformed(malformed, source, where) from None


def _as_json(text: bytes) -> bytes:
    """The text without unpaired surrogates, and with invalid numbers as strings."""
    if rb"\u" in text:
        text = re.sub(_SURROGATE, lambda escape: b"\\ufffd" if escape["half"] else escape[0], text)
    # Bytes that are in no UTF-8 stand for escapes, so that quotes part texts from all else, and for new quotes.
    pieces = text.replace(rb"\\", b"\xfd").replace(rb"\"", b"\xfe").split(b'"')
    outside = b'"'.join(pieces[::2])
    for name in (b"NaN", b"Infinity"):
        outside = outside.replace(name, b"\xff%s\xff" % name)
    pieces[::2] = outside.replace(b"-\xff", b"\xff-").split(b'"')
    return b'"'.join(pieces).replace(b"\xff", b'"').replace(b"\xfe", rb"\"").replace(b"\xfd", rb"\\")


def _misfit(error: msgspec.ValidationError, source: Source, where: str) -> FormatError:
    match = re.match(_PATH, str(error))
    message, path = (match["message"], match["path"] or "") if match else (str(error), "")
    inner = path.removeprefix("$").removeprefix(".")
    # A part of the form "benchmarks[3]" and a path of the form "stats.data[0]" or "[0].stats".
    place = where + ("." if where and inner and not inner.startswith("[") else "") + inner
    return source.error(place, f"{message[:1].lower()}{message[1:]}; the file is not as its tool writes it")


def _malformed(error: msgspec.DecodeError, source: Source, where: str) -> FormatError:
    message = str(error)
    if "truncated" in message:
        return source.error(
            where, "the JSON ends in the middle; was the run interrupted or the file copied in part?"
        )
    if (match := re.search(_BYTE, message)) and not where:
        lines = source.content[: int(match[1])].count(b"\n")
        where = f"line {lines + 1}"
    return source.error(where, f"not JSON: {message}")


def parts(
    source: Source, text: Any, where: str = "", of: Any = LIST, kind: Any = Raw
) -> Iterator[tuple[str, str, Any]]:
    """The parts of a list or an object: the place of each, its name in an object, and what it is.

    They are decoded at once where all are of the ``kind``, which is faster; else each is its text.
    They may be given.
    """
    index = 0
    for segment in [text] if isinstance(text, list | dict) else _segments(memoryview(text)):
        some = segment if segment is text else None if kind is Raw else at_once(segment, of[kind])
        if some is None:
            some = decode(segment, of[Raw], source, where)
        if isinstance(some, dict):
            yield from ((f"{where}.{name}", name, part) for name, part in some.items())
        else:
            yield from ((f"{where}[{index + k}]", "", part) for k, part in enumerate(some))
            index += len(some)


def at_once(text: Any, kind: Any) -> Any:
    """All of a text, decoded; None where some cannot be, or where it would take much memory."""
    try:
        return None if len(text) > WINDOW else _decoder(kind).decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None


def each(
    source: Source,
    text: Any,
    kind: Any,
    read: Callable[[Record, Any], Iterable[T]],
    where: str = "",
    *,
    of: Any = LIST,
    benchmark: Callable[[str], str] = str,
) -> Iterator[T | Skipped]:
    """Yield what a reader makes of each part; a faulty part is left out."""
    for place, name, part in parts(source, text, where, of, kind):
        try:
            entry = decode(part, kind, source, place) if type(part) is Raw and kind is not Raw else part
            yield from read(source.frame(place, benchmark(name)), entry)
        except FormatError as error:
            yield source.skip(error.where, benchmark(name), error.message)


class Results(msgspec.Struct):
    """A file that holds a single list of results."""

    results: Raw


@cache
def _texts(names: tuple[str, ...]) -> Any:
    return msgspec.defstruct("Texts", [(name, str | None, None) for name in names])


def glances(source: Source, text: Any, *names: str) -> Iterator[tuple[str | None, ...]]:
    """Some members of each part of a list, which are texts, where it can be decoded."""
    decoder = _decoder(_texts(names))
    for _, _, part in parts(source, text):
        with suppress(msgspec.DecodeError):
            yield msgspec.structs.astuple(decoder.decode(part))


def _segments(text: memoryview) -> Iterator[memoryview | bytes]:
    """A list or an object, or several of whole parts."""
    if len(text) <= WHOLE:
        yield text
        return
    begin, end, size = 1, len(text) - 1, WINDOW
    while begin < end:
        window = bytes(text[begin : min(begin + size, end)])
        cut = _last_comma(window) if begin + size < end else len(window)
        if cut >= 0:
            yield b"%s%s%s" % (text[:1], window[:cut], text[-1:])
            begin, size = begin + cut + 1, WINDOW
        else:
            size *= 2


def _last_comma(text: bytes) -> int:
    """The last comma that ends a part of the list, or -1."""
    if b"\\" in text:
        text = re.sub(rb"\\.", b"__", text, flags=re.DOTALL)
    places = np.flatnonzero(_STRUCTURE[np.frombuffer(text, np.uint8)])
    signs = np.frombuffer(text, np.uint8)[places]
    quotes = signs == ord('"')
    outside = ~(np.logical_xor.accumulate(quotes) | quotes)
    places, signs = places[outside], signs[outside]
    depth = np.cumsum(np.isin(signs, list(b"[{")).astype(np.int64) - np.isin(signs, list(b"]}")))
    commas = places[(signs == ord(",")) & (depth == 0)]
    return int(commas[-1]) if commas.size else -1


def absent(part: Raw) -> bool:
    """Whether a member is missing or null."""
    return bytes(memoryview(part)[:5]) in (b"", b"null")


def number(value: object) -> float:
    """A value as a double; what is no number, or too large for one, becomes NaN."""
    try:
        return float(value) if isinstance(value, (int, float)) else float("nan")
    except OverflowError:
        return float("nan")


def numbers(values: Sequence[Number | None]) -> FloatArray:
    """Values as an array; what is no number becomes NaN."""
    array = np.array(values)
    if array.dtype == np.float64:  # there is no text among them
        return array
    return np.array([number(v) for v in values], dtype=np.float64)


def by_process(text: Raw, source: Source, where: str) -> tuple[FloatArray, IntArray]:
    """All values of the lists in a list, one a process, and the process of each; what is no number becomes NaN."""
    if COMPILED is not None and (taken := COMPILED.lists(text)):
        return np.frombuffer(taken[0]), np.frombuffer(taken[1], np.int64)
    lists = [] if absent(text) else [*filter(None, decode(text, _LISTS, source, where))]
    return numbers([*chain.from_iterable(lists)]), np.repeat(np.arange(len(lists)), [*map(len, lists)])


def as_fields(values: Mapping[str, object], prefix: str = "") -> tuple[tuple[str, str], ...]:
    """The scalars of a JSON object as fields of a record; lists of scalars are joined."""
    fields: list[tuple[str, str]] = []
    for name, value in values.items():
        if isinstance(value, (str, int, float)):
            fields.append((prefix + name, str(value)))
        elif isinstance(value, list) and value and all(isinstance(item, (str, int, float)) for item in value):
            fields.append((prefix + name, ", ".join(map(str, value))))
    return tuple(fields)

"""JSON checked against a schema, part by part where it is one great list, with errors that name the place.

A large file is walked twice, so that memory holds one part at a time. The first time finds where the members are,
checks that the whole is JSON, and cuts the great list into segments of whole parts; what remains, with the list
empty, is decoded as any file is. The second time gives the parts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import chain
from typing import Any, TypeVar, cast

import msgspec
import numpy as np
from msgspec import Raw

from speedproof.arrays import FloatArray
from speedproof.data.record import Record, Skipped
from speedproof.errors import FormatError
from speedproof.formats.sniff import is_json
from speedproof.formats.source import Source

T = TypeVar("T")
# JSON has no NaN. Tools write it as a string (JMH) or as a bare word (Python, google-benchmark), which
# decode() turns into a string.
Number = float | str

_PATH = re.compile(r"^(?P<message>.*?)(?: - at `(?P<path>[^`]*)`)?$", re.DOTALL)
_BYTE = re.compile(r"\(byte (\d+)\)")


_MEMBER = re.compile(rb'"([^"\\]{1,60})"\s*:')


@lru_cache(maxsize=2)
def _members(head: bytes) -> frozenset[str]:
    return (
        frozenset(key.decode(errors="replace") for key in _MEMBER.findall(head))
        if is_json(head)
        else frozenset()
    )


def members(*every: str, some: Sequence[str] = ()) -> Callable[[bytes], bool]:
    """Whether the begin of a JSON file shows all of some members, at any depth, and one of others."""

    def shown(head: bytes) -> bool:
        found = _members(head)
        return found.issuperset(every) and (not some or not found.isdisjoint(some))

    return shown


def decode(
    data: bytes | Raw,
    kind: type[T],
    source: Source,
    where: str = "",
    *,
    at: Callable[[int], int] = int,
) -> T:
    """Decode JSON into a type; ``at`` says where in the file a byte of the data is."""
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
        # Encoding anew rather than converting keeps undecoded parts (Raw) possible.
        again = json.dumps(tolerant).encode()
    except ValueError:
        raise _malformed(malformed, source, where, at) from None
    except RecursionError:
        raise source.error(where, _TOO_DEEP) from None
    try:
        return msgspec.json.decode(again, type=kind)
    except msgspec.DecodeError as error:
        raise _misfit(error, source, where) from None


def each(
    source: Source,
    parts: Iterable[Raw] | Mapping[str, Raw],
    kind: type[T],
    read: Callable[[Record, T], Iterable[Record | Skipped]],
    member: str = "",
    *,
    benchmark: Callable[[str], str] = str,
) -> Iterator[Record | Skipped]:
    """What a reader makes of each part of a list or an object, and of its place; a bad one is left out."""
    if isinstance(parts, Mapping | NamedParts):
        placed = ((f"{member}.{name}", name, part) for name, part in parts.items())
    else:
        placed = ((f"{member}[{index}]", "", part) for index, part in enumerate(parts))
    for where, name, part in placed:
        try:
            entry = cast(T, part) if kind is Raw else decode(part, kind, source, where)
            yield from read(source.frame(where, benchmark(name)), entry)
        except FormatError as error:
            yield source.skip(error.where, benchmark(name), error.message)


def glances(parts: Iterable[Raw], kind: type[T]) -> Iterator[T]:
    """What a look at each part shows, where it can be decoded."""
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


_WHOLE = 1 << 26  # bytes of a file that is decoded in one go
_WINDOW = 1 << 22  # bytes of a segment, where no part is longer
_NEAR = 1 << 12  # bytes in which a key and what follows it are looked for
_SPACE = b" \t\r\n"
_KEY = re.compile(rb'[ \t\r\n]*"((?:[^"\\]|\\.){0,200})"[ \t\r\n]*:[ \t\r\n]*')
_CLOSED = re.compile(rb"[\]}][ \t\r\n]*,")
_BEFORE, _AFTER = re.compile(rb"[\]}\s]*\Z"), re.compile(rb"[,{\[\s\"]*")
# What a byte is outside of texts.
_QUOTE, _OPEN, _CLOSE, _COMMA = 1, 2, 3, 4
_KIND = np.zeros(256, np.uint8)
for _bytes, _is in ((b'"', _QUOTE), (b"[{", _OPEN), (b"]}", _CLOSE), (b",", _COMMA)):
    _KIND[list(_bytes)] = _is


class Parts:
    """The parts of a list in the order of the file, as often as asked for."""

    brackets = b"[]"
    kind: type[list[Raw]] | type[dict[str, Raw]] = list[Raw]

    def __init__(self, source: Source) -> None:
        self.source = source
        self.segments: list[tuple[int, int]] = []

    def __iter__(self) -> Iterator[Any]:
        return chain.from_iterable(self.decoded())

    def decoded(self) -> Iterator[Any]:
        """The segments one after the other, each as a list or an object of its own."""
        for start, end in self.segments:
            yield decode(self.wrapped(self.source.read(start, end - start)), self.kind, self.source)

    def wrapped(self, text: bytes) -> bytes:
        """A segment as a list of its own."""
        return self.brackets[:1] + text + self.brackets[1:]

    def add(self, start: int, text: bytes) -> None:
        """Take a segment, or say what is wrong with it."""
        # Nothing between two commas is an error, and not an empty list.
        first = self.brackets[:1] if text.strip() else self.brackets[:1] + b","
        text, end = first + text + self.brackets[1:], start + len(text)
        decode(text, self.kind, self.source, at=lambda place: start + place - len(first))
        self.segments.append((start, end))


class NamedParts(Parts):
    """The parts of an object."""

    brackets = b"{}"
    kind = dict[str, Raw]

    def items(self) -> Iterator[tuple[str, Raw]]:
        """Each name with its part."""
        return chain.from_iterable(segment.items() for segment in self.decoded())


def decode_parts(source: Source, kind: type[T], *members: str) -> T:
    """Decode a file whose parts stay undecoded: those of some members, or of the whole where none is named.

    Of a large file these are given as :class:`Parts`, on which the reader may do no more than iterate.
    """
    if not source.large or source.size <= _WHOLE:
        return decode(source.data, kind, source)
    return _Walk(source).through(kind, [member.encode() for member in members])


class _Walk:
    """The first time through a file."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.rest: list[tuple[int, bytes]] = []  # what is no part, with its place
        self.mark = b""  # what the last boundary between two parts looked like

    def through(self, kind: type[T], members: list[bytes]) -> T:
        source, found = self.source, dict[bytes, Parts]()
        head = source.read(0, _NEAR)
        at = len(head) - len(head.lstrip(_SPACE))
        if head[at : at + 1] != (b"{" if members else b"["):
            return decode(source.data, kind, source)
        at = self._keep(0, at + 1)
        if not members:
            found[b""] = Parts(source)
            at = self._fill(at, found[b""])
        while key := _KEY.match(near := source.read(at, _NEAR)) if members else None:
            opening = near[key.end() : key.end() + 1]
            if key[1] in members and opening in (b"[", b"{"):
                parts = found[key[1]] = Parts(source) if opening == b"[" else NamedParts(source)
                at = self._fill(self._keep(at, at + key.end() + 1), parts)
                comma = _CLOSED.match(source.read(at, _NEAR))
                if comma is None:
                    break
                at = self._keep(at, at + comma.end())
            else:
                commas, _, _ = self._next(at + key.end(), _NEAR)
                if not commas:
                    break
                at = self._keep(at, at + key.end() + commas[0] + 1)
        self._keep(at, source.size)
        file = decode(b"".join(text for _, text in self.rest), kind, source, at=self._place)
        if not members:
            return cast(T, found[b""])
        names = {field.encode_name.encode(): field.name for field in msgspec.structs.fields(cast(Any, kind))}
        for member, parts in found.items():
            setattr(file, names[member], parts)
        return file

    def _keep(self, start: int, end: int) -> int:
        """Leave a stretch in the rest."""
        self.rest.append((start, self.source.read(start, end - start)))
        return end

    def _place(self, place: int) -> int:
        """Where in the file a byte of the rest is."""
        for start, text in self.rest:
            if place < len(text):
                return start + place
            place -= len(text)
        return self.source.size

    def _fill(self, at: int, parts: Parts) -> int:
        """Take the parts from a place on; where they end."""
        while True:
            if (cut := self._guessed(at, parts)) < 0:
                commas, end, text = self._next(at, _WINDOW)
                if end >= 0:
                    if parts.segments or text[:end].strip():
                        parts.add(at, text[:end])
                    return at + end
                if not commas:
                    self._cut_off(at, text, parts)
                cut = commas[-1]
                parts.add(at, text[:cut])
                before, after = _BEFORE.search(text[:cut][-_NEAR:]), _AFTER.match(text[cut : cut + _NEAR])
                self.mark = (before[0] if before else b"") + (after[0] if after else b"")
            at += cut + 1

    def _cut_off(self, at: int, text: bytes, parts: Parts) -> None:
        """Say that the file ends within a part, or what is wrong before."""
        decode(parts.brackets[:1] + text, parts.kind, self.source, at=lambda place: at + place - 1)

    def _guessed(self, at: int, parts: Parts) -> int:
        """Cut where it looks like the last boundary, if what is before it proves to be whole parts."""
        text = self.source.read(at, _WINDOW)
        if not self.mark or (cut := text.rfind(self.mark)) < 0:
            return -1
        cut += self.mark.index(b",")
        if not text[:cut].strip():
            return -1
        try:
            msgspec.json.decode(parts.wrapped(text[:cut]), type=parts.kind)
        except (msgspec.DecodeError, RecursionError):
            return -1
        parts.segments.append((at, at + cut))
        return cut

    def _next(self, at: int, size: int) -> tuple[list[int], int, bytes]:
        """From the begin of a part: the commas between parts in reach and their end, -1 if that is farther."""
        while True:
            text = self.source.read(at, size)
            commas, end = _boundaries(text)
            if end >= 0 or commas or len(text) < size:
                return commas, end, text
            size *= 2


def _boundaries(text: bytes) -> tuple[list[int], int]:
    """From the begin of a part: where commas end parts, and where the last part ends (-1: not here)."""
    if b"\\" in text:
        text = re.sub(rb"\\.", b"__", text, flags=re.DOTALL)
    kinds = _KIND[np.frombuffer(text, np.uint8)]
    places = np.flatnonzero(kinds)
    kinds = kinds[places]
    quotes = kinds == _QUOTE
    outside = ~(np.logical_xor.accumulate(quotes) | quotes)
    places, kinds = places[outside], kinds[outside]
    steps = (kinds == _OPEN).astype(np.int8) - (kinds == _CLOSE).astype(np.int8)
    depth = np.cumsum(steps, dtype=np.int64)
    ends = np.flatnonzero(depth < 0)
    end = int(places[ends[0]]) if ends.size else -1
    commas = places[(kinds == _COMMA) & (depth == 0)]
    return (commas[commas < end] if end >= 0 else commas).tolist(), end

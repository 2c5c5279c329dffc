"""JSON files that are one great list: its parts decoded one after the other, so that memory holds one at a time.

A large file is walked twice. The first time finds where the members are, checks that the whole is JSON, and
cuts the great list into segments of whole parts; what remains, with the list empty, is decoded as any file is.
The second time gives the parts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import Any, TypeVar, cast

import msgspec
import numpy as np
from msgspec import Raw

from speedproof.formats.jsontext import decode
from speedproof.formats.source import Source

T = TypeVar("T")

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

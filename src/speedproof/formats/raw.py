"""Raw text: numbers in run order, one a line or several separated by blanks.

``#`` begins a comment, blank lines are skipped, ``NA`` and ``NaN`` are missing values, and one header line may
precede the numbers and name their unit (``time (ms)``).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from speedproof.arrays import FloatArray
from speedproof.data.names import plural
from speedproof.data.record import Record, Skipped, order_traits
from speedproof.data.sample import Trait
from speedproof.data.units import metric_of
from speedproof.formats import reading
from speedproof.formats.reading import SORTED
from speedproof.formats.source import ReadOptions, Source, as_text

TITLE = "raw text"
DESCRIPTION = "numbers, one a line or separated by blanks; # comments"


# Text of these bytes alone has neither comments nor a header, nor anything else to look at line by line.
_PLAIN = b"0123456789.+-eE \t\r\n"
_BULK = 1 << 14  # bytes; for less, the decoder is not worth its import


class _Content(Struct):
    """The content of a raw text file."""

    values: array[float] = field(default_factory=lambda: array("d"))  # as written
    missing: int = 0  # how many values are missing
    missing_line: int = 0  # the first line that lacks one
    header: str = ""  # what was taken as a header
    header_line: int = 0


def sniff(head: bytes) -> bool:
    """Whether a file begins like raw text: numbers only, but for comments and one header line."""
    lines = reading.first_lines(head)
    body = lines[1:] if lines and reading.is_header(lines[0].partition("#")[0].strip("\"' ")) else lines
    words = [word for line in body for word in line.partition("#")[0].split()]
    return all(reading.is_numeric(word) or reading.is_missing(word) for word in words) and any(
        map(reading.is_numeric, words)
    )


def read(source: Source, options: ReadOptions) -> Iterator[Record | Skipped]:
    r"""Read raw text as one benchmark named after the file."""
    return sample(source, options, Record(source.stem, np.empty(0), named=False))


def sample(source: Source, options: ReadOptions, frame: Record) -> Iterator[Record | Skipped]:
    """Read raw text as one sample."""
    content = _parse(source)
    if content.missing:
        reason = f"{plural(content.missing, 'missing value')} (NA) left out; {len(content.values)} remain"
        yield source.skip(f"line {content.missing_line}", frame.benchmark, reason)
    written, values = reading.header_unit(content.header), np.frombuffer(content.values)
    place = f"{source.name}: line {content.header_line}"
    unit, notes = reading.settle_unit(written, options.unit, place)
    if content.header:
        named = f"the unit is {written}" if written else "it names no unit"
        notes += (f"line {content.header_line}, {content.header!r}, was taken as a header; {named}",)
    traits = order_traits(values)
    if Trait.SORTED in traits:
        notes += (SORTED,)
    yield replace(
        frame.holding(values, unit, traits=traits),
        metric=metric_of(unit.base),
        path=source.name,
        notes=notes + frame.notes,
    )


def _parse(source: Source) -> _Content:
    """Take the numbers out of raw text."""
    content, before = _Content(), 0
    for piece in source.pieces():
        if (content.values or not content.header) and (values := _plain(piece)) is not None:
            content.values.frombytes(values.tobytes())
        else:
            lines = as_text(piece).removesuffix("\n").split("\n")
            for number, line in enumerate(lines, start=before + 1):
                _take_line(content, number, line, source)
        before += _line_ends(piece)
    if not content.values:
        raise source.error("", "there is no number in this file")
    return content


def _line_ends(piece: bytes) -> int:
    return as_text(piece).count("\n") if b"\r" in piece else piece.count(b"\n")


def _take_line(content: _Content, number: int, line: str, source: Source) -> None:
    body = line.partition("#")[0].strip()
    tokens = body.split()
    if not (content.values or content.missing or content.header) and reading.is_header(
        name := body.strip("\"'")
    ):
        content.header, content.header_line = name, number
        return
    if content.header and not content.values and len(tokens) == reading.header_columns(content.header) > 1:
        raise source.error(
            f"line {number}",
            f"{len(tokens)} numbers under a header of {len(tokens)} names; "
            "if these are columns, write them as CSV",
        )
    for token in tokens:
        if reading.is_number(token):
            content.values.append(float(token))
        elif reading.is_missing(token):
            content.missing += 1
            content.missing_line = content.missing_line or number
        else:
            raise source.error(f"line {number}", _why_no_number(token))


def _plain(piece: bytes) -> FloatArray | None:
    """Numbers alone. Where they are many, most are one a line as JSON writes them, which is read in bulk."""
    if piece.translate(None, _PLAIN):
        return None
    if len(piece) > _BULK:
        import msgspec

        try:
            numbers = msgspec.json.decode(b"[%s]" % piece.strip().replace(b"\n", b","), type=list[float])
            return np.fromiter(numbers, dtype=np.float64, count=len(numbers))
        except msgspec.MsgspecError:
            pass
    numbers_of = reading.decimals(piece.decode().split())  # where one is none, line by line it shows which
    return None if numbers_of is None else np.array(numbers_of)


def _why_no_number(token: str) -> str:
    shown = token if len(token) <= 40 else token[:37] + "..."
    if reading.looks_decimal_comma(token):
        return f"{shown!r} has a decimal comma; write {shown.replace(',', '.')}"
    if token.lower().lstrip("+-") in ("inf", "infinity"):
        return f"{shown!r} is no measurement; write NA for a run without a result"
    return f"{shown!r} is not a number; name the unit in a header line, begin comments with #"

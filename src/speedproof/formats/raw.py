"""Raw text: numbers in run order, one a line or several separated by blanks.

``#`` begins a comment, blank lines are skipped, ``NA`` and ``NaN`` are missing values, a number may have its
unit behind it, and one header line may precede the numbers and name their unit (``time (ms)``).
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
from speedproof.data.units import metric_of, parse_unit
from speedproof.formats import reading
from speedproof.formats.reading import SORTED
from speedproof.formats.source import ReadOptions, Source, as_text

TITLE = "raw text"
DESCRIPTION = "numbers, one a line or separated by blanks; # comments"


# Text of these bytes alone has neither comments nor a header, nor anything else to look at line by line.
_PLAIN = b"0123456789.+-eE \t\r\n"
_BULK = 1 << 14  # bytes; for less, the decoder is not worth its import


class _Content(Struct):
    """What a raw text file holds."""

    values: array[float] = field(default_factory=lambda: array("d"))  # as written
    units: array[int] = field(default_factory=lambda: array("h"))  # the number of the unit of each
    # By unit as written: the first line with a value in it
    lines: dict[str, int] = field(default_factory=dict)
    missing: int = 0  # how many values are missing
    missing_line: int = 0  # the first line that lacks one
    header: str = ""  # what was taken as a header
    header_line: int = 0

    def number(self, unit: str, line: int) -> int:
        """The number of a unit, which may be new in this line."""
        self.lines.setdefault(unit, line)
        return list(self.lines).index(unit)


def _has_number(line: str) -> bool:
    return any(not reading.is_missing(token) for token, _ in reading.readings(line.partition("#")[0].split()))


def sniff(head: bytes) -> bool:
    """Whether a file begins like raw text: numbers only, but for comments and one header line."""
    lines = reading.first_lines(head)
    body = lines[1:] if lines and reading.is_header(lines[0].partition("#")[0]) else lines
    return (
        bool(body) and all(all(reading.numeric_tokens(line)) for line in body) and any(map(_has_number, body))
    )


def read(source: Source, options: ReadOptions) -> Iterator[Record | Skipped]:
    r"""Read raw text as one benchmark named after the file."""
    return sample(source, options, Record(source.stem, np.empty(0), named=False))


def sample(source: Source, options: ReadOptions, frame: Record) -> Iterator[Record | Skipped]:
    """What raw text holds of one sample."""
    content = _parse(source)
    if content.missing:
        reason = f"{plural(content.missing, 'missing value')} (NA) left out; {len(content.values)} remain"
        yield source.skip(f"line {content.missing_line}", frame.benchmark, reason)
    written, values = _in_one_unit(content, source)
    line = min(content.lines.values()) if any(content.lines) else content.header_line
    unit, notes = reading.settle_unit(written, options.unit, f"{source.name}: line {line}")
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
            if values.size:
                blank = piece[: len(piece) - len(piece.lstrip())]
                number = content.number("", before + 1 + _line_ends(blank))
                content.values.frombytes(values.tobytes())
                content.units.frombytes(np.full(values.size, number, np.int16).tobytes())
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
    tokens = reading.readings(body.split())
    if tokens and not (content.values or content.missing or content.header) and reading.is_header(body):
        content.header, content.header_line = body.strip("\"'"), number
        return
    if content.header and not content.values and len(tokens) == reading.header_columns(content.header) > 1:
        raise source.error(
            f"line {number}",
            f"{len(tokens)} numbers under a header of {len(tokens)} names; "
            "if these are columns, write them as CSV",
        )
    for token, unit in tokens:
        if unit is None:
            raise source.error(f"line {number}", _why_no_number(token))
        if reading.is_number(token):
            content.values.append(float(token))
            content.units.append(content.number(unit, number))
        else:
            content.missing += 1
            content.missing_line = content.missing_line or number


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


def _in_one_unit(content: _Content, source: Source) -> tuple[str | None, FloatArray]:
    """The values in one unit, and that: the common one as written, or else the base unit."""
    values, of_header, lines = (
        np.frombuffer(content.values),
        reading.header_unit(content.header),
        content.lines,
    )
    if not any(lines):
        return of_header, values
    units = [word or of_header or "" for word in lines]
    first, base, at = units[0], parse_unit(units[0]).base, min(lines.values())
    for line, unit in zip(lines.values(), units, strict=True):
        if parse_unit(unit).base != base:
            here, there = (f"in {name}" if name else "without a unit" for name in (unit, first))
            raise source.error(
                f"line {line}", f"a number {here} where line {at} has one {there}; write all in one unit"
            )
    if len(set(map(parse_unit, units))) == 1:
        return first, values
    numbers, converted = np.frombuffer(content.units, np.int16), np.empty_like(values)
    for number, unit in enumerate(units):
        converted[numbers == number] = parse_unit(unit).to_base(values[numbers == number])
    return base, converted


def _why_no_number(token: str) -> str:
    shown = token if len(token) <= 40 else token[:37] + "..."
    if reading.looks_decimal_comma(token):
        return f"{shown!r} has a decimal comma; write {shown.replace(',', '.')}"
    if token.lower().lstrip("+-") in ("inf", "infinity"):
        return f"{shown!r} is no measurement; write NA for a run without a result"
    return f"{shown!r} is not a number; begin comments with #"

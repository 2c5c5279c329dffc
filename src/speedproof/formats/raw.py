"""Raw text: numbers in run order, one a line or several separated by blanks.

``#`` begins a comment, blank lines are skipped, ``NA`` and ``NaN`` are missing values, a number may have its
unit behind it, and one header line may precede the numbers and name their unit (``time (ms)``).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from speedproof.arrays import FloatArray
from speedproof.data.order import order_traits
from speedproof.data.record import Record, Skipped
from speedproof.data.sample import Trait, written_in
from speedproof.data.units import Unit, metric_of, parse_unit
from speedproof.formats.gathered import Gathered
from speedproof.formats.reading import SORTED, plural
from speedproof.formats.sniff import first_lines
from speedproof.formats.source import ReadOptions, Source, as_text
from speedproof.formats.text import (
    header_columns,
    header_unit,
    is_header,
    is_missing,
    is_number,
    looks_decimal_comma,
    readings,
    settle_unit,
)

NAME = "raw"
TITLE = "raw text"
DESCRIPTION = "numbers, one a line or separated by blanks; # comments"


# Text of these bytes alone has neither comments nor a header, nor anything else to look at line by line.
_PLAIN = b"0123456789.+-eE \t\r\n"
_BULK = 1 << 14  # bytes; for less, the decoder is not worth its import


class _Numbers(Struct, frozen=True, eq=False):
    """The content of a raw text file."""

    rows: Gathered  # the values in the order of the file, as written, with the number of their unit
    missing: int = 0  # how many values are missing
    missing_line: int = 0  # the first line that lacks one
    unit: str | None = None  # the unit that the file names
    unit_line: int = 0  # the line that names it
    units: tuple[Unit, ...] = ()  # those of the values, by number, where they differ
    header: str = ""  # what was taken as a header, with its line; empty without one

    def values(self, start: int, stop: int) -> FloatArray:
        """Some of the values, in the unit of the file."""
        values, number = self.rows.of(0, start, stop)
        if not self.units:
            return values
        converted = np.empty_like(values)
        for k, unit in enumerate(self.units):
            converted[number == k] = unit.to_base(values[number == k])
        return converted


def _is_numeric(line: str) -> bool:
    """Whether a line holds numbers and missing values only; decimal commas, which are refused, included."""
    found = readings(line.partition("#")[0].split())
    return all(unit is not None or looks_decimal_comma(token) for token, unit in found)


def _has_number(line: str) -> bool:
    return any(not is_missing(token) for token, _ in readings(line.partition("#")[0].split()))


def sniff(head: bytes) -> bool:
    """Whether a file begins like raw text: numbers only, but for comments and one header line."""
    lines = first_lines(head)
    body = lines[1:] if lines and is_header(lines[0].partition("#")[0]) else lines
    return bool(body) and all(map(_is_numeric, body)) and any(map(_has_number, body))


def read(source: Source, options: ReadOptions) -> Iterator[Record | Skipped]:
    r"""Read raw text as one benchmark named after the file."""
    return sample(source, options, Record(source.stem, np.empty(0)))


def sample(source: Source, options: ReadOptions, frame: Record) -> Iterator[Record | Skipped]:
    """What raw text holds of one sample; of a huge one several records, which pooling joins."""
    content = _parse(source)
    if content.missing:
        count = plural(content.missing, "missing value")
        reason = f"{count} (NA) left out; {content.rows.size(0)} remain"
        yield Skipped(source.name, f"line {content.missing_line}", frame.benchmark, reason)
    unit, notes = settle_unit(content.unit, options.unit, f"{source.name}: line {content.unit_line}")
    if content.header:
        named = f"the unit is {content.unit}" if content.unit else "it names no unit"
        notes += (f"{content.header} was taken as a header; {named}",)
    pieces = list(content.rows.pieces(0))
    traits = order_traits(content.values(max(start - 1, 0), stop) for start, stop in pieces)
    traits |= written_in(unit)
    if Trait.SORTED in traits:
        notes += (SORTED,)
    for start, stop in pieces:
        yield replace(
            frame,
            values=unit.to_base(content.values(start, stop)),
            unit=unit.base,
            metric=metric_of(unit.base),
            path=source.name,
            traits=traits,
            notes=notes + frame.notes,
        )


def _parse(source: Source) -> _Numbers:
    """Take the numbers out of raw text."""
    rows = Gathered("d", "h")
    units: dict[str, int] = {"": 0}  # as written
    lines: dict[str, int] = {}  # the first of each
    missing = missing_line = header_line = before = 0
    header, seen = "", False
    for block in source.blocks():
        if (seen or not header) and (values := _plain(block)) is not None:
            if values.size and "" not in lines:
                first = len(block) - len(block.lstrip())
                lines[""] = before + 1 + _breaks(block[:first])
            seen = seen or bool(values.size)
            rows.extend(0, values, np.zeros(values.size, np.int16))
            rows.made_room()
            before += _breaks(block)
            continue
        for number, line in enumerate(as_text(block).removesuffix("\n").split("\n"), start=before + 1):
            body = line.partition("#")[0].strip()
            found = readings(body.split())
            if found and not (seen or missing or header) and is_header(body):
                header, header_line = body.strip("\"'"), number
                continue
            if header and not seen and len(found) == header_columns(header) > 1:
                raise source.error(
                    f"line {number}",
                    f"{len(found)} numbers under a header of {len(found)} names; "
                    "if these are columns, write them as CSV",
                )
            for token, written in found:
                if written is None:
                    raise source.error(f"line {number}", _why_no_number(token))
                if is_number(token):
                    rows.groups.append(0)
                    rows.columns[0].append(float(token))
                    rows.columns[1].append(units.setdefault(written, len(units)))
                    lines.setdefault(written, number)
                    seen = True
                else:
                    missing += 1
                    missing_line = missing_line or number
        rows.made_room()
        before += _breaks(block)
    if not seen:
        raise source.error("", "there is no number in this file")
    rows.sorted(1)
    unit, unit_line, known = header_unit(header), header_line, tuple[Unit, ...]()
    if any(lines):
        unit_line = min(lines.values())
        unit, known = _in_one_unit(list(units), lines, unit, source)
    taken = f"line {header_line}, {header!r}," if header else ""
    return _Numbers(rows, missing, missing_line, unit, unit_line, known, taken)


def _breaks(block: bytes) -> int:
    """How many lines end in a block."""
    return as_text(block).count("\n") if b"\r" in block else block.count(b"\n")


def _plain(text: bytes) -> FloatArray | None:
    """Numbers alone. Where they are many, most are one a line as JSON writes them, which is read in bulk."""
    if text.translate(None, _PLAIN):
        return None
    if len(text) > _BULK:
        import msgspec

        try:
            found = msgspec.json.decode(b"[%s]" % text.strip().replace(b"\n", b","), type=list[float])
            return np.array(found, dtype=np.float64)
        except msgspec.MsgspecError:
            pass
    try:
        return np.array([float(token) for token in text.split()])
    except ValueError:
        return None  # line by line it shows where


def _in_one_unit(
    written: list[str], lines: dict[str, int], of_header: str | None, source: Source
) -> tuple[str, tuple[Unit, ...]]:
    """What unit values with units of their own are in: the common one as written, or else the base unit.

    Also the unit of each number where they differ.
    """
    names = {word: word or of_header or "" for word in written}
    first, *others = (names[word] for word in lines)
    base, at = parse_unit(first).base, min(lines.values())
    for word, name in zip(list(lines)[1:], others, strict=True):
        if parse_unit(name).base != base:
            here, there = (f"in {unit}" if unit else "without a unit" for unit in (name, first))
            raise source.error(
                f"line {lines[word]}",
                f"a number {here} where line {at} has one {there}; write all in one unit",
            )
    if all(parse_unit(name) == parse_unit(first) for name in others):
        return first, ()
    return base, tuple(parse_unit(names[word]) for word in written)


def _why_no_number(token: str) -> str:
    shown = token if len(token) <= 40 else token[:37] + "..."
    if looks_decimal_comma(token):
        return f"{shown!r} has a decimal comma; write {shown.replace(',', '.')}"
    if token.lower().lstrip("+-") in ("inf", "infinity"):
        return f"{shown!r} is no measurement; write NA for a run without a result"
    return f"{shown!r} is not a number; begin comments with #"

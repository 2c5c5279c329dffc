"""Raw text: numbers in run order, one a line or several separated by blanks.

``#`` begins a comment, blank lines are skipped, ``NA`` and ``NaN`` are missing values, a number may have its
unit behind it, and one header line may precede the numbers and name their unit (``time (ms)``).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from speedproof.arrays import FloatArray
from speedproof.data.record import Record, Skipped
from speedproof.data.sample import Trait
from speedproof.data.units import metric_of, parse_unit
from speedproof.formats.notes import SORTED, plural
from speedproof.formats.options import ReadOptions
from speedproof.formats.sniff import first_lines
from speedproof.formats.source import Source
from speedproof.formats.text import (
    header_columns,
    header_unit,
    is_header,
    is_missing,
    is_number,
    looks_decimal_comma,
    order_traits,
    readings,
    settle_unit,
)

NAME = "raw"
TITLE = "raw text"
DESCRIPTION = "numbers, one a line or separated by blanks; # comments"


# Text of these bytes alone has neither comments nor a header, nor anything else to look at line by line.
_PLAIN = b"0123456789.+-eE \t\r\n"
_BULK = 1 << 14  # bytes; for less, the decoder is not worth its import


class Numbers(Struct, frozen=True, eq=False):
    """The content of a raw text file."""

    values: FloatArray  # in the order of the file, as written
    missing: tuple[int, ...] = ()  # the line of each missing value
    unit: str | None = None  # the unit that the file names
    unit_line: int = 0  # the line that names it
    header: str = ""  # what was taken as a header, with its line; empty without one

    @property
    def traits(self) -> frozenset[Trait]:
        """What is known of the values."""
        return order_traits(self.values)


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
    content = parse(source)
    if content.missing:
        yield Skipped(source.name, f"line {content.missing[0]}", source.stem, missing_reason(content))
    yield record(content, source, options, source.stem)


def record(
    content: Numbers,
    source: Source,
    options: ReadOptions,
    benchmark: str,
    *,
    version: str | None = None,
    fields: tuple[tuple[str, str], ...] = (),
) -> Record:
    """The record of a raw text file."""
    unit, notes = settle_unit(content.unit, options.unit, f"{source.name}: line {content.unit_line}")
    if content.header:
        named = f"the unit is {content.unit}" if content.unit else "it names no unit"
        notes += (f"{content.header} was taken as a header; {named}",)
    if Trait.SORTED in content.traits:
        notes += (SORTED,)
    return Record(
        benchmark,
        unit.to_base(content.values),
        unit.base,
        metric=metric_of(unit.base),
        version=version,
        path=source.name,
        fields=fields,
        traits=content.traits,
        notes=notes,
    )


def parse(source: Source) -> Numbers:
    """Take the numbers out of raw text."""
    if not source.data.translate(None, _PLAIN):
        try:
            return Numbers(_plain(source.data))
        except ValueError:
            pass  # the search below says where
    values: list[float] = []
    units: list[str] = []
    lines: list[int] = []
    missing: list[int] = []
    header, header_line = "", 0
    for number, line in enumerate(source.lines, start=1):
        body = line.partition("#")[0].strip()
        found = readings(body.split())
        if found and not (values or missing or header) and is_header(body):
            header, header_line = body.strip("\"'"), number
            continue
        if header and not lines and len(found) == header_columns(header) > 1:
            raise source.error(
                f"line {number}",
                f"{len(found)} numbers under a header of {len(found)} names; "
                "if these are columns, write them as CSV",
            )
        for token, written in found:
            if written is None:
                raise source.error(f"line {number}", _why_no_number(token))
            if is_number(token):
                values.append(float(token))
                units.append(written)
                lines.append(number)
            else:
                missing.append(number)
    if not values:
        raise source.error("", "there is no number in this file")
    array, unit, unit_line = np.array(values), header_unit(header), header_line
    if any(units):
        array, unit = _in_one_unit(array, [written or unit or "" for written in units], lines, source)
        unit_line = lines[0]
    taken = f"line {header_line}, {header!r}," if header else ""
    return Numbers(array, tuple(missing), unit, unit_line, taken)


def _plain(text: bytes) -> FloatArray:
    """Numbers alone. Where they are many, most are one a line as JSON writes them, which is read in bulk."""
    if len(text) > _BULK:
        import msgspec

        try:
            found = msgspec.json.decode(b"[%s]" % text.strip().replace(b"\n", b","), type=list[float])
            return np.array(found, dtype=np.float64)
        except msgspec.MsgspecError:
            pass
    return np.array([float(token) for token in text.split()])


def _in_one_unit(
    values: FloatArray, units: list[str], lines: list[int], source: Source
) -> tuple[FloatArray, str]:
    """Values that have a unit each, in one: the common one as written, or else the base unit."""
    known = {name: parse_unit(name) for name in dict.fromkeys(units)}
    first = known[units[0]]
    for name, line in zip(units, lines, strict=True):
        if known[name].base != first.base:
            here, there = (f"in {unit}" if unit else "without a unit" for unit in (name, units[0]))
            raise source.error(
                f"line {line}",
                f"a number {here} where line {lines[0]} has one {there}; write all in one unit",
            )
    if all(unit == first for unit in known.values()):
        return values, units[0]
    converted = np.empty_like(values)
    names = np.array(units)
    for name, unit in known.items():
        converted[names == name] = unit.to_base(values[names == name])
    return converted, first.base


def missing_reason(content: Numbers) -> str:
    """Say how many values are missing."""
    return f"{plural(len(content.missing), 'missing value')} (NA) left out; {content.values.size} remain"


def _why_no_number(token: str) -> str:
    shown = token if len(token) <= 40 else token[:37] + "..."
    if looks_decimal_comma(token):
        return f"{shown!r} has a decimal comma; write {shown.replace(',', '.')}"
    if token.lower().lstrip("+-") in ("inf", "infinity"):
        return f"{shown!r} is no measurement; write NA for a run without a result"
    return f"{shown!r} is not a number; begin comments with #"

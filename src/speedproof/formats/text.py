"""What raw text and CSV share: numbers, missing values, units in names, and how to tell the two apart."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from speedproof.data.sample import FloatArray, Trait
from speedproof.data.units import parse_unit

__all__ = [
    "delimiter_of",
    "is_missing",
    "is_number",
    "is_numbers",
    "is_table",
    "looks_decimal_comma",
    "order_traits",
    "split_unit",
]

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+([eE][+-]?\d+)?")
_MISSING = frozenset({"", "na", "n/a", "nan", "null", "none"})
DELIMITERS = ",\t;"
# Ordered by chance: 2 of 8! orders.
_SORTED_FROM = 8


def is_number(token: str) -> bool:
    """Whether a token is a finite decimal number with a decimal point.

    Examples
    --------
    >>> [is_number(t) for t in ("1.5e-3", "7", "1,5", "inf", "1_0")]
    [True, True, False, False, False]
    """
    return _NUMBER.fullmatch(token) is not None


def is_missing(token: str) -> bool:
    """Whether a token stands for a value that is not there, such as R's ``NA``."""
    return token.lower() in _MISSING


def looks_decimal_comma(token: str) -> bool:
    """Whether a token is a number with a decimal comma."""
    return _DECIMAL_COMMA.fullmatch(token) is not None


_IN_BRACKETS = re.compile(r"(?P<name>[^(\[]*)[(\[](?P<unit>[^)\]]+)[)\]]")
_AT_THE_END = re.compile(r"(?P<name>.*[_ ])?(?P<unit>[^_ ]+)")


def split_unit(name: str) -> tuple[str, str | None]:
    """Part a column's name from the unit that it ends with.

    Parameters
    ----------
    name : str
        A column's name or a header line.

    Returns
    -------
    name : str
        Without the unit; empty when there was nothing else.
    unit : str or None
        As written; None when the name shows none that is known.

    Examples
    --------
    >>> [split_unit(n) for n in ("time (ms)", "elapsed_us", "seconds")]
    [('time', 'ms'), ('elapsed', 'us'), ('', 'seconds')]
    >>> split_unit("real_time"), split_unit("n"), split_unit("level_m")
    (('real_time', None), ('n', None), ('level_m', None))
    """
    if match := _IN_BRACKETS.fullmatch(name):
        return match["name"].strip(), match["unit"].strip()
    if match := _AT_THE_END.fullmatch(name):
        rest, unit = (match["name"] or "").strip("_ "), match["unit"]
        # A single letter names many things; at the end of a name, and as "s" only, it is a unit.
        if (len(unit) > 1 or (unit == "s" and rest)) and parse_unit(unit).base in ("s", "B", "J", "cycles"):
            return rest, unit
    return name, None


def order_traits(values: FloatArray) -> frozenset[Trait]:
    """What the values themselves say of their order.

    Text files hold values in run order by convention; a file whose values only rise or only fall has been
    sorted.

    Examples
    --------
    >>> import numpy as np
    >>> [t.value for t in order_traits(np.arange(10.0))]
    ['sorted']
    """
    steps = np.diff(values)
    ordered = bool((steps >= 0).all() or (steps <= 0).all())
    if values.size >= _SORTED_FROM and ordered and steps.any():
        return frozenset({Trait.SORTED})
    return frozenset({Trait.ORDER_KNOWN})


def delimiter_of(line: str) -> str | None:
    """The delimiter of a CSV line: comma, tab or semicolon, whichever is most frequent outside quotes.

    Examples
    --------
    >>> delimiter_of('"a, b";c;d')
    ';'
    """
    bare = re.sub(r'"[^"]*"', "", line)
    best = max(DELIMITERS, key=bare.count)
    return best if best in bare else None


def _first_lines(head: bytes) -> list[str]:
    """Up to 50 complete lines that hold something other than a comment."""
    lines = re.split(r"\r\n|\r|\n", head.decode(errors="replace"))
    if len(lines) > 1:
        del lines[-1]  # empty, or cut by the end of the head
    return [line for line in lines if line.strip() and not line.lstrip().startswith("#")][:50]


def is_table(head: bytes, path: Path) -> bool:
    """Whether a file begins like CSV: rows of equally many cells, some of them numbers.

    Rows without a header count: the reader then says what is missing.
    """
    lines = _first_lines(head)
    if len(lines) < 2 or (delimiter := delimiter_of(lines[0])) is None:
        return False
    try:
        rows = [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=delimiter, strict=True)]
    except csv.Error:
        return False
    if delimiter == "\t" and all(map(is_number, rows[0])):
        return False  # plain numbers in columns
    cells = [cell for row in rows[1:] for cell in row]
    return len({len(row) for row in rows}) == 1 and any(is_number(c) or looks_decimal_comma(c) for c in cells)


def is_numbers(head: bytes, path: Path) -> bool:
    """Whether a file begins like raw text: numbers only, but for comments and one header line."""
    rows = [line.partition("#")[0].split() for line in _first_lines(head)]

    def numeric(row: Sequence[str]) -> bool:
        return all(is_number(t) or is_missing(t) or looks_decimal_comma(t) for t in row)

    body = rows if rows and numeric(rows[0]) else rows[1:]
    return bool(body) and all(map(numeric, body)) and any(not is_missing(t) for row in body for t in row)

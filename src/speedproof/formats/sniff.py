"""Whether a file is CSV or raw text, or nearly so: then its reader says what is wrong with it."""

from __future__ import annotations

import csv
import re
from pathlib import Path

from speedproof.formats.text import (
    delimiter_of,
    is_header,
    is_missing,
    is_number,
    looks_decimal_comma,
    readings,
)

__all__ = ["is_numbers", "is_table", "nearest"]


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


def _is_numeric(line: str) -> bool:
    """Whether a line holds numbers and missing values only; decimal commas, which are refused, included."""
    found = readings(line.partition("#")[0].split())
    return all(unit is not None or looks_decimal_comma(token) for token, unit in found)


def _is_mostly_numeric(line: str) -> bool:
    found = readings(line.partition("#")[0].split())
    return 2 * sum(unit is not None or looks_decimal_comma(token) for token, unit in found) >= len(found)


def _has_number(line: str) -> bool:
    return any(not is_missing(token) for token, _ in readings(line.partition("#")[0].split()))


def is_numbers(head: bytes, path: Path) -> bool:
    """Whether a file begins like raw text: numbers only, but for comments and one header line."""
    lines = _first_lines(head)
    body = lines[1:] if lines and is_header(lines[0].partition("#")[0]) else lines
    return bool(body) and all(map(_is_numeric, body)) and any(map(_has_number, body))


def nearest(head: bytes, path: Path) -> str | None:
    r"""The generic format that a file was most likely meant to have, when it begins like none.

    Its reader knows the line that is wrong.

    Parameters
    ----------
    head : bytes
        The file's begin.
    path : Path
        Its name.

    Returns
    -------
    {"csv", "raw"} or None
        ``"csv"`` for the suffixes .csv and .tsv, and when half of the rows have a number in a cell; ``"raw"``
        when at least half of the words in half of the lines are numbers, or one line in a file with the
        suffix .txt.

    Examples
    --------
    >>> nearest(b"a,b\n1,2\n1,2,3\n", Path("x")), nearest(b"1.5\nERROR\n", Path("x")), nearest(b"Hi", Path("x"))
    ('csv', 'raw', None)
    """
    lines = _first_lines(head)
    if not lines or lines[0].lstrip()[:1] in ("{", "["):
        return None
    suffix = Path(path.name.removesuffix(".gz").removesuffix(".bz2")).suffix.lower()
    if suffix in (".csv", ".tsv"):
        return "csv"
    if delimiter := delimiter_of(lines[0]):
        rows = [[cell.strip() for cell in line.split(delimiter)] for line in lines[1:]]
        tabular = sum(len(cells) > 1 and any(map(is_number, cells)) for cells in rows)
        if rows and 2 * tabular >= len(rows):
            return "csv"
    numeric = sum(map(_is_mostly_numeric, lines))
    return "raw" if 2 * numeric >= len(lines) or (suffix == ".txt" and numeric) else None

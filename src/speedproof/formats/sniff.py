"""What readers look at to know their files, and which generic format a file was most likely meant to have."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from speedproof.formats.text import delimiter_of, is_number, looks_decimal_comma, readings


def is_json(head: bytes) -> bool:
    """Whether a file begins like a JSON object or array."""
    return head.lstrip()[:1] in (b"{", b"[")


def first_lines(head: bytes) -> list[str]:
    """Up to 50 complete lines that hold something other than a comment."""
    lines = _complete_lines(head.decode(errors="replace"))
    return [*islice((line for line in lines if line.strip() and not line.lstrip().startswith("#")), 50)]


def _complete_lines(text: str) -> Iterator[str]:
    """All but the last one, which is empty, or cut by the end of the head; the only one there is."""
    start = 0
    for end in re.finditer(r"\r\n|\r|\n", text):
        yield text[start : end.start()]
        start = end.end()
    if start == 0:
        yield text


def _is_mostly_numeric(line: str) -> bool:
    found = readings(line.partition("#")[0].split())
    return 2 * sum(unit is not None or looks_decimal_comma(token) for token, unit in found) >= len(found)


def nearest(head: bytes, path: Path) -> str | None:
    r"""The generic format that a file was most likely meant to have, when it begins like none.

    Its reader knows the line that is wrong.
    """
    lines = first_lines(head)
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

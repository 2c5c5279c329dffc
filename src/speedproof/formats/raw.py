"""Raw text: numbers in run order, one a line or several separated by blanks.

``#`` begins a comment, blank lines are skipped, ``NA`` and ``NaN`` are missing values, and one header line
may precede the numbers and name their unit (``time (ms)``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from speedproof.data.sample import FloatArray, Trait
from speedproof.data.suite import Record, Skipped
from speedproof.data.units import metric_of, parse_unit
from speedproof.formats.notes import SORTED, plural
from speedproof.formats.options import ReadOptions
from speedproof.formats.source import Source
from speedproof.formats.text import (
    is_missing,
    is_number,
    looks_decimal_comma,
    order_traits,
    split_unit,
)

__all__ = ["Numbers", "parse", "read"]


# Text of these bytes alone has neither comments nor a header, nor anything else to look at line by line.
_PLAIN = b"0123456789.+-eE \t\r\n"


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """The content of a raw text file.

    Attributes
    ----------
    values : ndarray of float64
        In the order of the file, as written.
    missing : tuple of int
        The line of each missing value.
    unit : str or None
        The unit that a header names.
    """

    values: FloatArray
    missing: tuple[int, ...]
    unit: str | None

    @property
    def traits(self) -> frozenset[Trait]:
        """What is known of the values."""
        return order_traits(self.values)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know of the values."""
        return (SORTED,) if Trait.SORTED in self.traits else ()


def read(source: Source, options: ReadOptions) -> Iterator[Record | Skipped]:
    r"""Read raw text as one benchmark named after the file.

    Parameters
    ----------
    source : Source
        The file.
    options : ReadOptions
        ``unit`` goes before a unit in the header; without either the numbers are plain.

    Yields
    ------
    Record or Skipped
        The values, and what is missing among them.

    Raises
    ------
    FormatError
        A line that holds something else than numbers.

    Examples
    --------
    >>> from pathlib import Path
    >>> source = Source("x.txt", Path("x.txt"), b"time (ms)\n12.5\n12.7 # first after a pause\n")
    >>> [(r.benchmark, r.values.tolist(), r.unit) for r in read(source, ReadOptions())]
    [('x', [0.0125, 0.0127], 's')]
    """
    content = parse(source)
    if content.missing:
        yield Skipped(source.name, f"line {content.missing[0]}", source.stem, missing_reason(content))
    unit = parse_unit(options.unit if options.unit is not None else content.unit or "")
    yield Record(
        source.stem,
        unit.to_base(content.values),
        unit.base,
        metric=metric_of(unit.base),
        path=source.name,
        traits=content.traits,
        notes=content.notes,
    )


def parse(source: Source) -> Numbers:
    """Take the numbers out of raw text.

    Parameters
    ----------
    source : Source
        The file.

    Returns
    -------
    Numbers
        At least one value.

    Raises
    ------
    FormatError
        A line that holds something else than numbers, or no number at all.
    """
    if not source.data.translate(None, _PLAIN):
        try:
            return Numbers(np.array([float(token) for token in source.data.split()]), (), None)
        except ValueError:
            pass  # the search below says where
    values: list[float] = []
    missing: list[int] = []
    header: str | None = None
    for number, line in enumerate(source.lines, start=1):
        body = line.partition("#")[0]
        tokens = body.split()
        if not tokens:
            continue
        if all(map(is_number, tokens)):
            values.extend(map(float, tokens))
            continue
        if header is None and not values and not missing and _is_header(tokens):
            header = body.strip().strip("\"'")
            continue
        for token in tokens:
            if is_number(token):
                values.append(float(token))
            elif is_missing(token):
                missing.append(number)
            else:
                raise source.error(f"line {number}", _why_no_number(token))
    if not values:
        raise source.error("", "there is no number in this file")
    unit = split_unit(header)[1] if header else None
    return Numbers(np.array(values), tuple(missing), unit)


def missing_reason(content: Numbers) -> str:
    """Say how many values are missing.

    Parameters
    ----------
    content : Numbers
        With at least one missing value.

    Returns
    -------
    str
        For a :class:`~speedproof.data.suite.Skipped`.
    """
    return f"{plural(len(content.missing), 'missing value')} (NA) left out; {content.values.size} remain"


def _is_header(tokens: list[str]) -> bool:
    return not any(is_number(t) or is_missing(t) or looks_decimal_comma(t) for t in tokens)


def _why_no_number(token: str) -> str:
    shown = token if len(token) <= 40 else token[:37] + "..."
    if looks_decimal_comma(token):
        return f"{shown!r} has a decimal comma; write {shown.replace(',', '.')}"
    if token.lower().lstrip("+-") in ("inf", "infinity"):
        return f"{shown!r} is no measurement; write NA for a run without a result"
    return f"{shown!r} is not a number; begin comments with #"

"""What readers share: values by group and process, what is left out of them, moments."""

from __future__ import annotations

import re
import weakref
from array import array
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from itertools import count, islice
from typing import IO, Any

import msgspec
import numpy as np
from msgspec.structs import replace

from speedproof.arrays import FloatArray, IntArray, NDArray
from speedproof.data.names import plural as plural
from speedproof.data.record import Record, Skipped
from speedproof.data.units import QUANTITIES, Unit, known_unit, parse_unit, split_unit
from speedproof.formats.source import Source, room_on_disk

SORTED = "the values are sorted, so their run order is not known"
IN_MEMORY = 1 << 21  # gathered values in memory

Column = np.ndarray[tuple[int], np.dtype[Any]]


def records_of(items: Iterable[Record | Skipped]) -> list[Record]:
    """The records alone, without what was left out."""
    return [item for item in items if isinstance(item, Record)]


def changed(items: Iterable[Record | Skipped], change: Callable[[Record], Record]) -> list[Record | Skipped]:
    """The same items with every record changed by a function; what was left out of one is called as it is."""
    items = list(items)
    after = [change(item) if isinstance(item, Record) else item for item in items]
    names = {a.benchmark: b.benchmark for a, b in zip(items, after, strict=True) if isinstance(a, Record)}
    return [
        replace(item, benchmark=names[item.benchmark])
        if isinstance(item, Skipped) and item.benchmark in names
        else item
        for item in after
    ]


def nested(parts: Sequence[FloatArray]) -> tuple[FloatArray, IntArray]:
    """The values of several processes, with the number of each one's process."""
    return np.concatenate(parts), np.repeat(np.arange(len(parts)), [part.size for part in parts])


def epoch(text: object) -> float | None:
    """Seconds since 1970 of an ISO 8601 date and time; None for anything else.

    A time without a zone counts as UTC: it is compared with those of the same tool only.
    """
    if not isinstance(text, str):
        return None
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def span_of(moments: Iterable[float | None]) -> tuple[float, float] | None:
    """The first and the last of some moments; None when one of them is not known, or there is none."""
    given = list(moments)
    present = [moment for moment in given if moment is not None]
    return (min(present), max(present)) if present and len(present) == len(given) else None


def _kept(columns: list[Column]) -> list[Column]:
    """Make columns read-only, so that parts can be shared without copying."""
    for column in columns:
        column.flags.writeable = False
    return columns


class Gathered:
    """Columns of numbers of some kinds, as the module array calls them, and the group of each row.

    Readers append to ``groups`` and ``columns`` row by row, or many rows at once, and call :meth:`make_room` from
    time to time. After :meth:`sort` rows are asked for by group, in the order in which they came. Groups are
    numbered by whoever has numbers, or else by :meth:`number`.

    What memory cannot hold goes to disk in chunks, each of them sorted by group.
    """

    def __init__(self, *kinds: str) -> None:
        # Every key with its number, a new one with the next
        self.keys: defaultdict[Any, int] = defaultdict(count().__next__)
        self.places = array("q")  # where each key was seen first
        self.groups = array("i")
        self.columns: tuple[array[Any], ...] = tuple(array(kind) for kind in kinds)
        self._blocks: list[Sequence[Column]] = []  # of many rows: their groups and columns
        self._in_blocks = 0  # rows
        self._files: list[IO[bytes]] = []
        self._parts: list[IntArray] = []  # of each chunk: its groups, where each begins, how many rows it has
        self._rows = 0  # of all chunks
        self._sorted: list[Column] = []

    def number(self, key: Hashable, place: int) -> int:
        """The number of the group with that key, which may be new at this place."""
        number = self.keys[key]
        if number == len(self.places):
            self.places.append(place)
        return number

    def numbers(self, keys: Iterable[Hashable], places: IntArray) -> NDArray[np.int32]:
        """The same of many."""
        numbers = np.fromiter(map(self.keys.__getitem__, keys), np.int32)
        if len(self.keys) > (before := len(self.places)):
            new = np.flatnonzero(numbers >= before)
            self.places.extend(places[new[np.unique(numbers[new], return_index=True)[1]]].tolist())
        return numbers

    def extend(self, groups: int | Column, *columns: Column) -> None:
        """Add rows, all of one group or each of its own."""
        self._blocks.append((np.broadcast_to(groups, columns[0].shape), *columns))
        self._in_blocks += columns[0].size

    def make_room(self) -> None:
        """Limit memory use."""
        if len(self.groups) + self._in_blocks >= IN_MEMORY:
            self._write()

    def sort(self) -> None:
        """Put all groups in order; nothing is appended afterwards."""
        if self._files:
            self._write()
            files = zip(self._files, self.columns, strict=True)
            self._sorted = [np.asarray(np.memmap(file, column.typecode, "r")) for file, column in files]
        else:
            self._sorted = self._chunk()
        parts = np.concatenate(self._parts, axis=1)
        groups, starts, sizes = parts[:, np.argsort(parts[0], kind="stable")]
        self._cuts = [slice(at, at + size) for at, size in zip(starts.tolist(), sizes.tolist(), strict=True)]
        self._first = np.searchsorted(groups, np.arange(groups.max(initial=-1) + 2)).tolist()

    def of(self, group: int) -> Sequence[Column]:
        """The columns of a group."""
        cuts = self._cuts[self._first[group] : self._first[group + 1]]
        if len(cuts) == 1:
            return [column[cuts[0]] for column in self._sorted]
        return _kept([np.concatenate([column[cut] for cut in cuts]) for column in self._sorted])

    def each(self, column: int) -> Iterator[Column]:
        """One column of every group, in order."""
        if self._first == [*range(len(self._cuts) + 1)]:
            return map(self._sorted[column].__getitem__, self._cuts)
        return (self.of(group)[column] for group in range(len(self._first) - 1))

    def _chunk(self) -> list[Column]:
        """The rows since the last chunk, sorted by group."""
        groups, *columns = (
            np.concatenate([np.frombuffer(one, one.typecode), *more], dtype=one.typecode, casting="same_kind")
            for one, *more in zip((self.groups, *self.columns), *self._blocks, strict=True)
        )
        # Runs of rows of one group stay together, and mostly are long: they are sorted, and not the rows.
        runs = np.flatnonzero(np.diff(groups, prepend=np.int32(-1)))
        sizes = np.diff(runs, append=groups.size)
        by_group = np.argsort(groups[runs], kind="stable")
        runs, sizes = runs[by_group], sizes[by_group]
        begins = np.cumsum(sizes) - sizes
        order = np.repeat(runs - begins, sizes) + np.arange(groups.size)
        numbers, first = np.unique(groups[runs], return_index=True)
        starts = begins[first]
        self._parts.append(
            np.array([numbers, self._rows + starts, np.diff(starts, append=groups.size)], np.int64)
        )
        self._rows += groups.size
        return _kept([column[order] for column in columns])

    def _write(self) -> None:
        with room_on_disk() as new_file, ExitStack() as stack:
            if not self._files:
                self._files = [stack.enter_context(new_file()) for _ in self.columns]
                weakref.finalize(self, stack.pop_all().close)
            for file, column in zip(self._files, self._chunk(), strict=True):
                file.write(column.data)
                file.flush()
        for rows in (self.groups, *self.columns):
            del rows[:]
        self._blocks, self._in_blocks = [], 0


# Possessive: of a long row of digits none is given back to be matched again.
_NUMBER = r"[+-]?(\d++\.?\d*+|\.\d++)([eE][+-]?\d++)?"
# A text of these alone may be numbers and nothing else.
_OF_NUMBERS = frozenset("0123456789.eE+-,")
_DECIMAL_COMMA = r"[+-]?\d+,\d+([eE][+-]?\d+)?"
_MISSING = frozenset({"", "na", "n/a", "nan", "null", "none"})
DELIMITERS = ",\t;"


def is_json(head: bytes) -> bool:
    """Whether a file begins like a JSON object or array."""
    return re.match(rb"\s*+[{\[]", head) is not None


def first_lines(head: bytes) -> list[str]:
    """Up to 50 complete lines that hold something other than a comment."""
    lines = _complete_lines(head)
    return [*islice((line for line in lines if line.strip() and not line.lstrip().startswith("#")), 50)]


def _complete_lines(head: bytes) -> Iterator[str]:
    """All but the last one, which is empty, or cut by the end of the head; the only one there is."""
    start = 0
    for end in re.finditer(rb"\r\n|\r|\n", head):
        yield head[start : end.start()].decode(errors="replace")
        start = end.end()
    if start == 0:
        yield head.decode(errors="replace")


def is_number(token: str) -> bool:
    """Whether a token is a finite decimal number with a decimal point."""
    return re.fullmatch(_NUMBER, token) is not None


def decimals(tokens: Sequence[str]) -> list[float] | None:
    """The numbers that tokens are; None where one is none."""
    joined = ",".join(tokens)
    try:  # most are as JSON has them, which is decoded several times faster
        parsed = msgspec.json.decode(f"[{joined}]", type=list[float])
        if len(parsed) == len(tokens):
            return parsed
    except msgspec.DecodeError:
        pass
    try:
        return list(map(float, tokens)) if _OF_NUMBERS.issuperset(joined) else None
    except ValueError:
        return None


def is_missing(token: str) -> bool:
    """Whether a token stands for a value that is not there, such as R's ``NA``."""
    return token.lower() in _MISSING


def looks_decimal_comma(token: str) -> bool:
    """Whether a token is a number with a decimal comma."""
    return re.fullmatch(_DECIMAL_COMMA, token) is not None


def is_numeric(token: str) -> bool:
    """Whether a token is a number, be it with a decimal comma."""
    return is_number(token) or looks_decimal_comma(token)


def settle_unit(written: str | None, asked: str | None, place: str) -> tuple[Unit, tuple[str, ...]]:
    """The unit of values when the file may name one and the user another: the file's own goes before."""
    if written is None:
        return parse_unit(asked or ""), ()
    unit = parse_unit(written)
    if asked is None or parse_unit(asked) == unit:
        return unit, ()
    reason = f"names the unit {written}, so {asked}, which was asked for, was not used"
    return unit, (f"{place} {reason}; if {asked} is right, correct the file",)


_WORD = r"[^\s\"'()\[\],;:_-]+"


def is_header(line: str) -> bool:
    """Whether a line of raw text names what the numbers under it are.

    Only words that name a quantity or a unit do; any other word in place of a number may be a run that failed
    or a number mistyped.
    """
    if not line.strip() or any(map(is_number, line.split())):
        return False
    name, unit = split_unit(f"time {line.strip()}")
    return bool(unit and known_unit(unit)) or header_columns(name) == len(re.findall(_WORD, name))


def header_columns(line: str) -> int:
    """How many quantities a header line names."""
    return sum(word.lower() in QUANTITIES for word in re.findall(_WORD, line))


def header_unit(line: str) -> str | None:
    """The unit that a header line names; None without one."""
    return split_unit(f"time {line.strip()}")[1]


def delimiter_of(line: str) -> str | None:
    """The delimiter of a CSV line: comma, tab or semicolon, whichever is most frequent outside quotes."""
    bare = re.sub(r'"[^"]*"', "", line)
    best = max(DELIMITERS, key=bare.count)
    return best if best in bare else None


def rows_of(source: Source) -> Iterator[tuple[str, dict[str, str]]]:
    """The rows of a CSV file that a tool wrote, each with its place, by the names of its header."""
    import csv

    rows = csv.DictReader(source.lines, strict=True)
    try:
        for row in rows:
            yield f"line {rows.line_num}", row
    except csv.Error as error:
        raise source.error(f"line {rows.line_num}", f"not CSV: {error}") from None

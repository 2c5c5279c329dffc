"""What a reader gives: records of values as a file holds them, and what was left out."""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from speedproof.arrays import FloatArray, IntArray
from speedproof.data.sample import Trait, written_in
from speedproof.data.units import Direction, Unit
from speedproof.errors import FormatError


class Record(Struct, frozen=True, eq=False):
    """One chunk of values as read from a file."""

    benchmark: str  # its name in the file
    values: FloatArray  # in the order of the file, in base units
    unit: str = "s"  # the base unit
    metric: str = "time"  # what was measured: ``"time"``, ``"memory"``, ``"throughput"``, a counter's name
    # None: what :func:`speedproof.data.units.direction_of` says of the unit
    direction: Direction | None = None
    version: str | None = None  # the version, when the file itself names versions
    processes: IntArray | None = None  # the process of each value, numbered within this record
    # The file and the place inside it
    path: str = ""
    where: str = ""
    # Everything else that the file says of the values (configuration, host, parameters)
    fields: tuple[tuple[str, str], ...] = ()
    traits: frozenset[Trait] = frozenset()  # what is known of the values
    notes: tuple[str, ...] = ()  # remarks for the user
    tool: str = ""  # the format that it was read from
    position: int = 0  # the place among all records of its file
    session: str = ""  # the sitting that it was measured in; the file when it says none
    # The first and the last moment of measuring that the file tells, in seconds since 1970 (UTC)
    span: tuple[float, float] | None = None
    blocks: IntArray | None = None  # the block of each value, as of a Sample, within its session
    named: bool = True  # false where the benchmark is called after its file because nothing in it names one

    def left_out(self, reason: str, *, expected: bool = False) -> Skipped:
        """Something at this place that is not among the values."""
        return Skipped(self.path, self.where, self.benchmark, reason, expected)

    def holding(self, values: FloatArray, unit: Unit, **others: Any) -> Record:
        """The same with values of a unit, and whatever else is another."""
        traits = others.pop("traits", self.traits) | written_in(unit)
        return replace(self, values=unit.to_base(values), unit=unit.base, traits=traits, **others)


class Skipped(Struct, frozen=True):
    """Something that a file holds and that was left out, and why."""

    # The file and the place inside it
    path: str
    where: str
    benchmark: str  # the benchmark concerned; empty when the place belongs to none
    reason: str  # why it was left out and, where one is known, the remedy
    expected: bool = (
        False  # whether it is always left out (warm-up values, aggregates), and no user need look
    )

    def __str__(self) -> str:
        text = ": ".join(part for part in (self.path, self.where, self.benchmark, self.reason) if part)
        # Names come from files, and a line break in one must not make two remarks of one.
        return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


class FileResults(Struct, frozen=True, eq=False):
    """What one file holds, or why it holds nothing that can be read; of a large file a part of it.

    Parts of a file follow each other. Whatever the last one rejects, those before count for nothing.
    """

    path: str  # the file; a member of an archive as ``results.tar.gz/run1.json``
    records: tuple[Record, ...] = ()  # everything that was measured
    skipped: tuple[Skipped, ...] = ()  # what was left out of it
    reject: FormatError | None = None  # why nothing could be read
    more: bool = False  # whether another part follows

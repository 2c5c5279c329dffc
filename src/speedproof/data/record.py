"""What a reader gives: records of values as a file holds them, and what was left out."""

from __future__ import annotations

from msgspec import Struct

from speedproof.arrays import FloatArray, IntArray
from speedproof.data.sample import Trait
from speedproof.data.units import Direction
from speedproof.errors import FormatError


class Record(Struct, frozen=True, eq=False):
    """One chunk of values as read from a file.

    Attributes
    ----------
    benchmark : str
        Its name in the file.
    values : ndarray of float64
        In the order of the file, in base units.
    unit : str
        The base unit.
    metric : str
        What was measured: ``"time"``, ``"memory"``, ``"throughput"``, a counter's name.
    direction : Direction or None
        None: what :func:`speedproof.data.units.direction_of` says of the unit.
    version : str or None
        The version, when the file itself names versions.
    processes : ndarray of int64 or None
        The process of each value, numbered within this record.
    path, where : str
        The file and the place inside it.
    fields : tuple of (str, str)
        Everything else that the file says of the values (configuration, host, parameters).
    traits : frozenset of Trait
        What is known of the values.
    notes : tuple of str
        Remarks for the user.
    tool : str
        The format that it was read from.
    position : int
        The place among all records of its file.
    session : str
        The sitting that it was measured in; the file when it says none.
    span : (float, float) or None
        The first and the last moment of measuring that the file tells, in seconds since 1970 (UTC).
    named : bool
        False where the benchmark is called after its file because nothing in it names one.
    """

    benchmark: str
    values: FloatArray
    unit: str = "s"
    metric: str = "time"
    direction: Direction | None = None
    version: str | None = None
    processes: IntArray | None = None
    path: str = ""
    where: str = ""
    fields: tuple[tuple[str, str], ...] = ()
    traits: frozenset[Trait] = frozenset()
    notes: tuple[str, ...] = ()
    tool: str = ""
    position: int = 0
    session: str = ""
    span: tuple[float, float] | None = None
    named: bool = True


class Skipped(Struct, frozen=True):
    """Something that a file holds and that was left out, and why.

    Attributes
    ----------
    path, where : str
        The file and the place inside it.
    benchmark : str
        The benchmark concerned; empty when the place belongs to none.
    reason : str
        Why it was left out and, where one is known, the remedy.
    expected : bool
        True for what is always left out (warm-up values, aggregates), False for what a user should look at.

    Examples
    --------
    >>> str(Skipped("a.json", "benchmarks[3]", "BM_x", "the run reported an error: out of memory"))
    'a.json: benchmarks[3]: BM_x: the run reported an error: out of memory'
    """

    path: str
    where: str
    benchmark: str
    reason: str
    expected: bool = False

    def __str__(self) -> str:
        text = ": ".join(part for part in (self.path, self.where, self.benchmark, self.reason) if part)
        # Names come from files, and a line break in one must not make two remarks of one.
        return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


class FileResults(Struct, frozen=True, eq=False):
    """What one file holds, or why it holds nothing that can be read."""

    path: str  # the file; a member of an archive as ``results.tar.gz/run1.json``
    records: tuple[Record, ...] = ()  # everything that was measured
    skipped: tuple[Skipped, ...] = ()  # what was left out of it
    reject: FormatError | None = None  # why nothing could be read

"""What files hold: keys, records of values and what was left out; how they make samples and pairs.

Many records as columns: what nobody looks at one by one is never made a record or a sample.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import accumulate, chain, pairwise
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from speedproof.arrays import FloatArray, IntArray, from_zero, numbered
from speedproof.data.names import enumerate_names, plural, visible
from speedproof.data.sample import LARGE, Sample, Trait, like, written_in
from speedproof.data.units import Direction, Unit, direction_of
from speedproof.errors import FormatError

# Hand-written values; every other tool measures one thing after the other.
NO_TOOL = ("", "csv", "raw", "speedup-test", "parsec")
_Fields = tuple[tuple[str, str], ...]
_FEW = 64  # records whose values are looked at together
_SORTED_FROM = 8  # values; so many are in order by chance in 2 of 8! orders


def order_traits(values: FloatArray) -> frozenset[Trait]:
    """What the values themselves reveal about their order.

    Files and arrays hold values in run order by convention; many that only rise or only fall have been sorted.
    """
    rising, falling = ((a < b).any() for a, b in ((values[:-1], values[1:]), (values[1:], values[:-1])))
    is_sorted = values.size >= _SORTED_FROM and rising != falling
    return frozenset({Trait.SORTED if is_sorted else Trait.ORDER_KNOWN})


class Order(StrEnum):
    """In which order the runs of two samples happened."""

    MIXED = "mixed"
    X_FIRST = "reference first"
    Y_FIRST = "candidate first"
    APART = "one after the other"
    UNKNOWN = "unknown"


def order_of_measuring(x: Sample, y: Sample) -> Order:
    """Tell in which order two samples were measured.

    What changes with time (heat, other load, another day) is in their difference, too, unless runs were mixed.
    """
    same_sitting = not set(x.session_names).isdisjoint(y.session_names)
    if same_sitting and Trait.RANDOM_ORDER in x.traits & y.traits:
        return Order.MIXED
    if x.span is not None and y.span is not None and x.span != y.span:
        if x.span[1] <= y.span[0]:
            return Order.X_FIRST
        if y.span[1] <= x.span[0]:
            return Order.Y_FIRST
        return Order.MIXED
    if same_sitting and Trait.IN_TURN in x.traits & y.traits and Trait.SORTED not in x.traits | y.traits:
        return Order.X_FIRST if x.position < y.position else Order.Y_FIRST
    if x.tool in NO_TOOL or y.tool in NO_TOOL:
        return Order.UNKNOWN
    if same_sitting and x.session_count == y.session_count == 1 and x.position != y.position:
        return Order.X_FIRST if x.position < y.position else Order.Y_FIRST
    return Order.APART


class Key(Struct, frozen=True, order=True, gc=False):
    """The subject of a comparison: one metric of one benchmark."""

    benchmark: str
    metric: str = "time"


class Pair(Struct, frozen=True, eq=False):
    """The samples of two versions on the same key."""

    key: Key
    reference: Sample
    candidate: Sample


class Pairing(Struct, frozen=True, eq=False):
    """All pairs of two versions, and what has no partner."""

    pairs: tuple[Pair, ...]  # in the order of the reference
    # What the other version lacks
    only_reference: tuple[Key, ...]
    only_candidate: tuple[Key, ...]
    # Pairs that cannot be compared (units, directions), each with its reason
    incomparable: tuple[tuple[Key, str], ...]
    not_chosen: tuple[Pair, ...] = ()  # pairs that were read but not chosen
    unmeasured: tuple[Key, ...] = ()  # planned for both versions of a session, but not measured

    def read_of(self, metric: str) -> list[Pair]:
        """All pairs of a metric that were read, chosen or not."""
        return [pair for pair in (*self.pairs, *self.not_chosen) if pair.key.metric == metric]

    def lacking(self, metric: str) -> dict[str, Any]:
        """By kind, the benchmarks that were not compared in a metric; of ``problems`` the reasons."""
        kinds = {name: getattr(self, name) for name in ("only_reference", "only_candidate", "unmeasured")}
        names = {kind: tuple(k.benchmark for k in keys if k.metric == metric) for kind, keys in kinds.items()}
        return {
            **names,
            "problems": tuple(reason for key, reason in self.incomparable if key.metric == metric),
        }

    @property
    def problems(self) -> tuple[str, ...]:
        """Why pairs cannot be compared."""
        return tuple(reason for _, reason in self.incomparable)


def pairing(reference: str, x: Mapping[Key, Sample], candidate: str, y: Mapping[Key, Sample]) -> Pairing:
    """Match the samples of two versions."""
    pairs: list[Pair] = []
    problems: list[tuple[Key, str]] = []
    for key, sample in x.items():
        if (partner := y.get(key)) is None:
            continue
        if partner.unit == sample.unit and partner.direction is sample.direction:
            pairs.append(Pair(key, sample, partner))
            continue
        a, b = (f"in {s.unit or 'plain numbers'} ({s.direction} is better)" for s in (sample, partner))
        plain = "" in (sample.unit, partner.unit) and sample.unit != partner.unit
        unknown = " before the plain numbers have a unit" * plain
        why = f"{reference} is {a}, {candidate} {b}; they cannot be compared{unknown}"
        problems.append((key, f"{key.benchmark} ({key.metric}): {why}"))
    return Pairing(
        tuple(pairs), tuple(k for k in x if k not in y), tuple(k for k in y if k not in x), tuple(problems)
    )


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
    traits: frozenset[Trait] = frozenset()  # properties of the values
    notes: tuple[str, ...] = ()  # remarks for the user
    tool: str = ""  # the format that it was read from
    position: int = 0  # the place among all records of its file
    session: str = ""  # the sitting that it was measured in; the file when it says none
    # The first and the last time stamp in the file, in seconds since 1970 (UTC)
    span: tuple[float, float] | None = None
    blocks: IntArray | None = None  # the block of each value, as of a Sample, within its session
    named: bool = True  # false where the benchmark is called after its file because nothing in it names one

    def left_out(self, reason: str, *, expected: bool = False) -> Skipped:
        """A note that something at this record's place was left out."""
        return Skipped(self.path, self.where, self.benchmark, reason, expected)

    def holding(self, values: FloatArray, unit: Unit, **others: Any) -> Record:
        """A copy with these values, converted from a unit, and other changed fields."""
        if small := written_in(unit):
            others["traits"] = others.get("traits", self.traits) | small
        return replace(self, values=unit.to_base(values), unit=unit.base, **others)


class Skipped(Struct, frozen=True):
    """Something that a file holds and that was left out, and why."""

    # The file and the place inside it
    path: str
    where: str
    benchmark: str  # the benchmark concerned; empty when the place belongs to none
    reason: str  # why it was left out, and the remedy if there is one
    expected: bool = False  # whether it is always left out (warm-up, aggregates), and no user need look
    version: str | None = None  # of a session: the version that was to be measured, and was not
    lacks: bool = False  # whether it lacks the benchmark; else its turn has not come
    unread: bool = False  # whether it is a whole file of results, of which nothing could be read

    def __str__(self) -> str:
        # Names come from files, and a line break in one must not make two remarks of one.
        name = "" if self.where.endswith(f".{self.benchmark}") else self.benchmark
        return visible(": ".join(filter(None, (self.path, self.where, name, self.reason))))


def finite(record: Record, name: str, noun: str, *, expected: bool = False) -> Iterator[Record | Skipped]:
    """The values that are numbers, if there are any; what is to be said of the others goes before.

    That there are none may be ``expected``.
    """
    good = np.isfinite(record.values)
    if lost := int(good.size - np.count_nonzero(good)):
        reason = f"{name} is not a finite number in {lost} of {plural(good.size, noun)}"
        yield record.left_out(reason, expected=expected and lost == good.size)
    elif good.size:
        yield record
    if 0 < lost < good.size:
        processes, blocks = (of if of is None else of[good] for of in (record.processes, record.blocks))
        yield replace(record, values=record.values[good], processes=processes, blocks=blocks)


def why_left_out(skipped: Iterable[Skipped]) -> list[str]:
    """The omissions worth a user's attention, a line for each reason, with the first file and the first names."""
    groups: dict[str, list[Skipped]] = {}
    for one in dict.fromkeys(skipped):
        if not one.expected and one.version is None:
            groups.setdefault(one.reason, []).append(one)
    lines = []
    for group in groups.values():
        one = group[0]
        if len(group) > 1:
            paths = enumerate_names(dict.fromkeys(s.path for s in group), 1)
            names = enumerate_names(
                dict.fromkeys(filter(None, (s.benchmark or s.where for s in group))), 3, 60
            )
            where = f"{len(group)} entries ({names})" if names else ""
            one = Skipped(paths, where, "", one.reason)
        lines.append(str(one))
    return lines


class FileResults(Struct, frozen=True, eq=False):
    """The contents of one file, or the reason why it cannot be read; part of a large file.

    Parts of a file follow each other. Whatever the last one rejects, those before count for nothing.
    """

    path: str  # the file; a member of an archive as ``results.tar.gz/run1.json``
    records: tuple[Record, ...] = ()  # everything that was measured
    skipped: tuple[Skipped, ...] = ()  # what was left out of it
    reject: FormatError | None = None  # why nothing could be read
    more: bool = False  # whether another part follows


class Residue(Struct, frozen=True):
    """A field that differed among values that were pooled into one sample."""

    field: str  # what differed: ``"file"``, ``"cpu"``, ``"pkg"``, ...
    values: tuple[str, ...]  # the different values, in order of appearance
    benchmarks: tuple[str, ...]  # the benchmarks concerned

    def __str__(self) -> str:
        shown = enumerate_names(self.values, 3, 50)
        return f"pooled over {self.field} ({shown}) in {plural(len(self.benchmarks), 'benchmark')}"


def misfit(group: list[Record], record: Record) -> str:
    """The reason why a record cannot join its group; empty if it can."""
    if not group:
        return ""
    first = group[0]
    if record.unit != first.unit:
        return f"its unit is {record.unit!r} where {first.path} {first.where} has {first.unit!r}"
    if _better(record) is not _better(first):
        return f"its direction differs from that of {first.path} {first.where}"
    return ""


def _better(record: Record) -> Direction:
    """The direction of the record's values, stated or by default."""
    return record.direction or direction_of(record.unit, record.metric)


def negative_time(record: Record) -> str:
    """The reason why plain numbers cannot be times; empty if they may be."""
    values = record.values
    if record.metric != "time" or not values.size or not (least := values[values.argmin()]) < 0:
        return ""
    return f"it holds {least:g}, and a time is never negative: correct or remove that value"


# A disadvantage of one part taints the whole; an advantage must be that of every part.
_ADVANTAGES = {Trait.ORDER_KNOWN, Trait.WARMUP_REMOVED, Trait.ONE_PROCESS, Trait.BUILDS, Trait.RANDOM_ORDER,
               Trait.IN_TURN, Trait.MILLI, Trait.MICRO, Trait.NANO}  # fmt: skip


def all_fit(records: Sequence[Record]) -> bool:
    """Whether every record has values, all of them finite and none negative."""
    for at in range(0, len(records), _FEW):
        arrays = [record.values for record in records[at : at + _FEW]]
        if not all(values.dtype == np.float64 and values.ndim == 1 and values.size for values in arrays):
            return False
        values = np.concatenate(arrays)
        if not (values.min() >= 0.0 and values.max() < np.inf):
            return False
    return True


Alikes = dict[tuple[Any, ...], Sample]  # by what samples have in common


def source_of(path: str, where: str) -> str:
    """A place in a file, for messages."""
    return f"{path} {where}" if path and where else path or where


def pool(group: list[Record], version: str, fit: Alikes | None = None) -> Sample:
    """Join records into one sample; their processes and sessions stay distinct.

    Records that come from one process each, from several files, are the processes of the sample. Of records that
    :func:`all_fit` knows ``fit`` keeps samples that others are like.
    """
    one = group[0]
    sittings: tuple[str, ...] = (one.session or one.path,)
    source = source_of(one.path, one.where)
    sessions: IntArray | None = None
    kind: tuple[Any, ...] = ()
    if len(group) > 1:
        one, sittings, sessions = _joined(group)
    elif fit is not None and one.blocks is None and one.values.size < LARGE:
        nesting = None if one.processes is None else (one.values.size, one.processes.tobytes())
        kind = (version, one.unit, one.metric, one.direction, one.traits, one.notes, one.tool, nesting)
        if (pattern := fit.get(kind)) is not None:
            values = one.values.copy() if one.values.flags.writeable else one.values
            others = {"span": one.span, "position": one.position, "fields": one.fields}
            return like(pattern, values, source=source, session_names=sittings, **others)
    sample = Sample(
        one.values,
        one.unit,
        _better(one),
        None if one.processes is None else from_zero(one.processes),
        version,
        source,
        one.traits,
        tuple(dict.fromkeys(one.notes)),
        sessions=sessions,
        session_names=sittings,
        span=one.span,
        tool=one.tool,
        position=one.position,
        blocks=one.blocks,
        fields=one.fields,
    )
    if kind and fit is not None:
        fit[kind] = sample
    return sample


def _joined(group: list[Record]) -> tuple[Record, tuple[str, ...], IntArray | None]:
    """One record of several, their sessions by name, and that of each value where there is more than one."""
    first, *rest = group
    traits = frozenset.intersection(*(record.traits for record in group))
    traits -= {Trait.IN_TURN}  # other rows may be between those of two
    sizes = [record.values.size for record in group]
    files, paths = numbered([record.path for record in group])
    of, sittings = numbered([record.session or record.path for record in group])
    processes: IntArray | None = None
    if Trait.ONE_PROCESS in traits and len(paths) > 1:
        processes = np.repeat(files, sizes)
        traits -= {Trait.ONE_PROCESS}
    if any(record.processes is not None for record in group):
        parts: list[IntArray] = []
        start = 0
        for record in group:
            numbers = (
                np.arange(record.values.size) if record.processes is None else from_zero(record.processes)
            )
            parts.append(numbers + start)
            start += int(numbers.max(initial=-1)) + 1
        processes = np.concatenate(parts)
    spans = [record.span for record in group if record.span is not None]
    blocks = [record.blocks for record in group if record.blocks is not None]
    one = replace(
        first,
        values=np.concatenate([record.values for record in group]),
        processes=processes,
        traits=traits | frozenset(t for record in group for t in record.traits if t not in _ADVANTAGES),
        notes=tuple(note for record in group for note in record.notes),
        span=(min(a for a, _ in spans), max(b for _, b in spans)) if len(spans) == len(group) else None,
        tool=first.tool if all(record.tool == first.tool for record in group) else "",
        blocks=np.concatenate(blocks) if len(blocks) == len(group) else None,
        fields=tuple(f for f in first.fields if all(f in record.fields for record in rest)),
    )
    return one, tuple(sittings), np.repeat(of, sizes) if len(sittings) > 1 else None


def residue(groups: Mapping[tuple[Key, str], list[Record]]) -> tuple[Residue, ...]:
    """The fields in which pooled records differed."""
    seen: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    pooled = ((key, group) for (key, _), group in groups.items() if len(group) > 1)
    for key, group in pooled:
        for name, values in _different(record.fields for record in group).items():
            # A session is the level of nesting above the process, not something overlooked.
            if len(values) > 1 and name != "session":
                different, benchmarks = seen.setdefault(name, ({}, {}))
                different.update(values)
                benchmarks.setdefault(key.benchmark)
    return tuple(
        Residue(name, tuple(values), tuple(benchmarks)) for name, (values, benchmarks) in seen.items()
    )


def fields(records: Iterable[tuple[str, Record]]) -> dict[str, dict[str, tuple[str, ...]]]:
    """For each version, all values of each field of its records."""
    of: dict[str, dict[int, _Fields]] = {}  # by identity: those of a file are mostly one tuple
    for version, record in records:
        of.setdefault(version, {})[id(record.fields)] = record.fields
    return {
        version: {name: tuple(values) for name, values in different.items()}
        for version, several in of.items()
        if (different := _different(several.values()))
    }


def _different(several: Iterable[_Fields]) -> dict[str, dict[str, None]]:
    """The different values of every field, in order of appearance."""
    columns: dict[str, dict[str, None]] = {}
    for name, value in dict.fromkeys(chain.from_iterable(several)):
        columns.setdefault(name, {}).setdefault(value)
    return columns


Row = tuple[Key, Sequence[float], Record]  # with one value or more


class RecordTable(Struct, frozen=True, eq=False):
    """Records of one file as rows; rows that differ only in name and values share one description."""

    keys: list[Key]
    values: list[FloatArray]  # of each row, in base units, read-only
    # What else is known of each; the direction always is, and processes count from 0
    known: list[Record]
    lines: Sequence[int] = ()  # of each in its file, where that is not known of them
    tool: str = ""
    first: int = 0  # the position of the first row in its file

    @classmethod
    def of(cls, rows: Sequence[Row]) -> RecordTable:
        """A table of rows, one or more."""
        keys, values, described = map(list, zip(*rows, strict=True))
        flat = np.fromiter(chain.from_iterable(values), np.float64)
        flat.flags.writeable = False  # so that parts need no copy
        cuts = pairwise(accumulate(map(len, values), initial=0))
        return cls(keys, [flat[begin:end] for begin, end in cuts], described)

    def __len__(self) -> int:
        return len(self.keys)

    def where(self, row: int) -> str:
        """The place of a row in its file."""
        return f"line {self.lines[row]}" if self.lines else self.known[row].where

    def record(self, row: int) -> Record:
        """A row as a record."""
        record, values, position = self.known[row], self.values[row], self.first + row
        where, name = self.where(row), self.keys[row].benchmark
        return replace(record, benchmark=name, values=values, where=where, tool=self.tool, position=position)

    def fits(self) -> bool:
        """Whether the values of every row are valid for a sample."""
        values = np.concatenate(self.values)
        if values.min() >= 0.0:  # of NaN it is not
            return bool(values.max() < np.inf)
        return bool(np.isfinite(values).all()) and not any(
            of.min() < 0.0
            for of, record, key in zip(self.values, self.known, self.keys, strict=True)
            if record.unit == "s" or key.metric == "time"
        )


Item = Record | Skipped | RecordTable


def each_record(items: Iterable[Item]) -> Iterator[Record | Skipped]:
    """The same items with every table split into records."""
    for item in items:
        if isinstance(item, RecordTable):
            yield from map(item.record, range(len(item)))
        else:
            yield item


def fit(tables: Sequence[RecordTable]) -> bool:
    """Whether every row can become a sample by itself, because no two rows have the same key."""
    keys = [*chain.from_iterable(table.keys for table in tables)]
    return len(set(keys)) == len(keys) and all(table.fits() for table in tables)

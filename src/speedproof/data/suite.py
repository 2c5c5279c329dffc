"""Records as read from files, and the suite that they make: benchmarks x versions -> samples.

Nothing is dropped silently. What could not be read is a :class:`Skipped`, values that were pooled although
something nobody grouped by told them apart are named in :attr:`Suite.residue`, and benchmarks that one
version lacks are found by :meth:`Suite.partners`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from speedproof.data.sample import FloatArray, IntArray, Sample, Trait
from speedproof.data.units import Direction
from speedproof.errors import DataError

__all__ = ["Key", "Pair", "Pairing", "Record", "Residue", "Skipped", "Suite"]


@dataclass(frozen=True, slots=True, eq=False)
class Record:
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


@dataclass(frozen=True, slots=True)
class Skipped:
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


@dataclass(frozen=True, slots=True)
class Residue:
    """A field that differed among values that were pooled into one sample.

    Attributes
    ----------
    field : str
        What differed: ``"file"``, ``"cpu"``, ``"pkg"``, ...
    values : tuple of str
        The different values, in order of appearance.
    benchmarks : tuple of str
        The benchmarks concerned.
    """

    field: str
    values: tuple[str, ...]
    benchmarks: tuple[str, ...]

    def __str__(self) -> str:
        shown = ", ".join(self.values[:3]) + (", ..." if len(self.values) > 3 else "")
        count = f"{len(self.benchmarks)} benchmark{'s' if len(self.benchmarks) != 1 else ''}"
        return f"pooled over {self.field} ({len(self.values)} values: {shown}) in {count}"


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """What is compared: one metric of one benchmark."""

    benchmark: str
    metric: str = "time"


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """The samples of two versions on the same key."""

    key: Key
    reference: Sample
    candidate: Sample


@dataclass(frozen=True, slots=True, eq=False)
class Pairing:
    """All pairs of two versions, and what has no partner.

    Attributes
    ----------
    pairs : tuple of Pair
        In the order of the reference.
    only_reference, only_candidate : tuple of Key
        What the other version lacks.
    problems : tuple of str
        Pairs that cannot be compared (units, directions), each with its reason.
    """

    pairs: tuple[Pair, ...]
    only_reference: tuple[Key, ...]
    only_candidate: tuple[Key, ...]
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Suite:
    """Benchmarks x versions -> samples.

    Attributes
    ----------
    versions : tuple of str
        In order of first appearance.
    samples : dict of (Key, str) to Sample
        The sample of a version on a key.
    residue : tuple of Residue
        What told pooled values apart although nobody grouped by it.
    skipped : tuple of Skipped
        What was left out while reading.
    fields : dict of str to dict of str to tuple of str
        By version, every field that its records name, with its different values in order of appearance.

    Examples
    --------
    >>> import numpy as np
    >>> suite = Suite.from_records([
    ...     ("old", Record("sort", np.array([2.0, 2.1]))),
    ...     ("new", Record("sort", np.array([1.0, 1.1]))),
    ...     ("new", Record("hash", np.array([1.0, 1.1]))),
    ... ])
    >>> suite.versions, [k.benchmark for k in suite.keys]
    (('old', 'new'), ['sort', 'hash'])
    >>> suite.pair("old", "new").only_candidate
    (Key(benchmark='hash', metric='time'),)
    """

    versions: tuple[str, ...]
    samples: dict[tuple[Key, str], Sample]
    residue: tuple[Residue, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    fields: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=dict)

    @property
    def keys(self) -> tuple[Key, ...]:
        """Every benchmark and metric, in order of first appearance."""
        return tuple(dict.fromkeys(key for key, _ in self.samples))

    @classmethod
    def from_records(cls, records: Iterable[tuple[str, Record | Skipped]]) -> Suite:
        """Group records, each with the version that it belongs to.

        Records of one version, benchmark and metric are pooled into one sample in the order given. A record
        whose unit or direction differs from the first of its sample is left out and named in ``skipped``.

        Parameters
        ----------
        records : iterable of (version, Record or Skipped)
            As read.

        Returns
        -------
        Suite
            Possibly empty.
        """
        groups: dict[tuple[Key, str], list[Record]] = {}
        versions: dict[str, None] = {}
        skipped: list[Skipped] = []
        for version, record in records:
            if isinstance(record, Skipped):
                skipped.append(record)
                continue
            group = groups.setdefault((Key(record.benchmark, record.metric), version), [])
            if problem := _misfit(group, record) or _negative_time(record):
                skipped.append(Skipped(record.path, record.where, record.benchmark, problem))
                continue
            versions.setdefault(version)
            group.append(record)
        samples: dict[tuple[Key, str], Sample] = {}
        for (key, version), group in groups.items():
            if not group:
                continue
            try:
                samples[key, version] = _pool(group, version)
            except DataError as error:
                skipped.append(Skipped(group[0].path, group[0].where, key.benchmark, str(error)))
        return cls(tuple(versions), samples, _residue(groups), tuple(skipped), _fields(groups))

    def of(self, version: str) -> dict[Key, Sample]:
        """All samples of a version.

        Parameters
        ----------
        version : str
            One of :attr:`versions`.

        Returns
        -------
        dict of Key to Sample
            Empty for an unknown version.
        """
        return {key: sample for (key, label), sample in self.samples.items() if label == version}

    def pair(self, reference: str, candidate: str) -> Pairing:
        """Match the samples of two versions by benchmark and metric.

        Parameters
        ----------
        reference, candidate : str
            Two of :attr:`versions`.

        Returns
        -------
        Pairing
            The pairs, and every key or pair that had to be left out.
        """
        x, y = self.of(reference), self.of(candidate)
        pairs: list[Pair] = []
        problems: list[str] = []
        for key, sample in x.items():
            if key not in y:
                continue
            partner = y[key]
            if partner.unit != sample.unit or partner.direction is not sample.direction:
                problems.append(
                    f"{key.benchmark} ({key.metric}): {reference} is in {sample.unit or 'plain numbers'} "
                    f"({sample.direction} is better), {candidate} in {partner.unit or 'plain numbers'} "
                    f"({partner.direction} is better); they cannot be compared"
                )
                continue
            pairs.append(Pair(key, sample, partner))
        return Pairing(
            tuple(pairs),
            tuple(k for k in x if k not in y),
            tuple(k for k in y if k not in x),
            tuple(problems),
        )


def _misfit(group: list[Record], record: Record) -> str:
    """Why a record cannot join its group; empty when it can."""
    if not group:
        return ""
    first = group[0]
    if record.unit != first.unit:
        return f"its unit is {record.unit!r} where {first.path} {first.where} has {first.unit!r}; left out"
    if record.direction is not first.direction:
        return f"its direction differs from that of {first.path} {first.where}; left out"
    return ""


def _negative_time(record: Record) -> str:
    """Why a record of plain numbers is no record of times; empty when it may be one."""
    if record.metric != "time" or not record.values.size or not record.values.min() < 0:
        return ""
    return f"it holds {record.values.min():g}, and a time is never negative; left out"


def _pool(group: list[Record], version: str) -> Sample:
    """Join records to one sample; processes of different records stay apart.

    Records that come from one process each, from several files, are the processes of the sample.
    """
    traits = frozenset.intersection(*(record.traits for record in group))
    processes: IntArray | None = None
    if Trait.ONE_PROCESS in traits and len({record.path for record in group}) > 1:
        files = {record.path: i for i, record in enumerate(group)}
        processes = np.concatenate([np.full(record.values.size, files[record.path]) for record in group])
        traits -= {Trait.ONE_PROCESS}
    if any(record.processes is not None for record in group):
        parts: list[IntArray] = []
        start = 0
        for record in group:
            own = np.arange(record.values.size) if record.processes is None else record.processes
            parts.append(np.unique(own, return_inverse=True)[1] + start)
            start += int(np.unique(own).size)
        processes = np.concatenate(parts)
    first = group[0]
    notes = tuple(dict.fromkeys(note for record in group for note in record.notes))
    values = np.concatenate([record.values for record in group])
    source = " ".join(part for part in (first.path, first.where) if part)
    # A disadvantage of one part taints the whole, so these are joined rather than intersected.
    tainting = {
        Trait.SUMMARY_ONLY,
        Trait.TRIMMED,
        Trait.SORTED,
        Trait.FAILED_RUNS,
        Trait.FAILED_LEFT_OUT,
        Trait.STOPPED_ON_RESULT,
        Trait.TWO_PROGRAMS,
    }
    tainted = frozenset(trait for record in group for trait in record.traits) & tainting
    return Sample(values, first.unit, first.direction, processes, version, source, traits | tainted, notes)


def _residue(groups: dict[tuple[Key, str], list[Record]]) -> tuple[Residue, ...]:
    seen: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    for (key, _), group in groups.items():
        if len(group) < 2:
            continue
        columns: dict[str, dict[str, None]] = {}
        for record in group:
            for name, value in (("file", record.path), *record.fields):
                columns.setdefault(name, {}).setdefault(value)
        for name, values in columns.items():
            if len(values) > 1:
                known, benchmarks = seen.setdefault(name, ({}, {}))
                known.update(values)
                benchmarks.setdefault(key.benchmark)
    return tuple(
        Residue(name, tuple(values), tuple(benchmarks)) for name, (values, benchmarks) in seen.items()
    )


def _fields(groups: dict[tuple[Key, str], list[Record]]) -> dict[str, dict[str, tuple[str, ...]]]:
    seen: dict[str, dict[str, dict[str, None]]] = {}
    for (_, version), group in groups.items():
        for record in group:
            for name, value in record.fields:
                seen.setdefault(version, {}).setdefault(name, {}).setdefault(value)
    return {
        version: {name: tuple(values) for name, values in fields.items()} for version, fields in seen.items()
    }

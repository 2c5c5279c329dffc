"""Records as read from files, and the suite that they make: benchmarks x versions -> samples.

Nothing is dropped silently. What could not be read is a :class:`Skipped`, values that were pooled although
something nobody grouped by told them apart are named in :attr:`Suite.residue`, and benchmarks that one
version lacks are found by :meth:`Suite.partners`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from itertools import repeat
from typing import Any

from msgspec import Struct, field
from msgspec.structs import force_setattr, replace

from speedproof.arrays import FloatArray
from speedproof.data.checked import checked
from speedproof.data.names import enumerate_names, nearest_of, plural, version_given, wanted
from speedproof.data.record import (
    Alikes,
    Item,
    Key,
    Pair,
    Pairing,
    Record,
    RecordTable,
    Residue,
    Skipped,
    all_fit,
    each_record,
    fields,
    finite,
    fit,
    misfit,
    negative_time,
    pairing,
    pool,
    residue,
    source_of,
    why_left_out,
)
from speedproof.data.sample import Alike, Sample
from speedproof.errors import DataError, Parameter, UsageError
from speedproof.options import SESSION_ASKS, SessionAsked, main_metric

_NAMED = 5
_FEW = 9  # values of a field that may be versions

__all__ = ["Key", "Pair", "Pairing", "Record", "Residue", "Skipped", "Suite"]


_Place = tuple[Key, str]  # of a sample: its key and its version


def _of_numbers(item: Record | Skipped) -> Iterable[Record | Skipped]:
    """The usable values of a record, after a note on the others."""
    if isinstance(item, Skipped) or not item.values.size or item.values.dtype.kind != "f":
        return (item,)
    return finite(item, item.metric, "value")


class _OfTables(Mapping[_Place, Sample]):
    """Samples that are rows of tables, each made when it is looked at."""

    def __init__(
        self,
        rows: dict[_Place, tuple[RecordTable, int]],
        made: dict[_Place, Sample],
        alike: dict[tuple[int, str, str], Sample],
    ) -> None:
        self.rows, self._made, self._alike = rows, made, alike

    @classmethod
    def of(cls, tables: Mapping[str, Sequence[RecordTable]]) -> _OfTables:
        """All rows of some versions."""
        each = ((version, table) for version, some in tables.items() for table in some)
        rows = ((zip(t.keys, repeat(v)), zip(repeat(t), range(len(t)))) for v, t in each)
        return cls({place: row for one in rows for place, row in zip(*one, strict=False)}, {}, {})

    def __getitem__(self, place: _Place) -> Sample:
        if (sample := self._made.get(place)) is None:
            table, row = self.rows[place]
            record, values = table.known[row], table.values[row]
            kind = id(record), place[1], table.tool
            if (one := self._alike.get(kind)) is not None:
                sample = copy(one)  # its values are valid and read-only
                force_setattr(sample, "values", values)
                force_setattr(sample, "source", source_of(record.path, table.where(row)))
                force_setattr(sample, "position", table.first + row)
            else:
                sample = pool([table.record(row)], place[1])
                if record.processes is record.blocks is None:
                    self._alike[kind] = sample
            self._made[place] = sample
        return sample

    def __iter__(self) -> Iterator[_Place]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __contains__(self, place: object) -> bool:
        return place in self.rows

    def part(self, rows: dict[_Place, tuple[RecordTable, int]]) -> _OfTables:
        """The same for some of the rows."""
        return _OfTables(rows, self._made, self._alike)

    def __reduce__(self) -> tuple[type, tuple[Any]]:
        return dict, (dict(self),)


class Suite(Alike, Struct, frozen=True, eq=False, dict=True):
    """Benchmarks x versions -> samples.

    Attributes
    ----------
    versions : tuple of str
        In order of first appearance, after the reference that :func:`speedproof.read` was given.
    samples : mapping of (Key, str) to Sample
        The sample of a version on a key.
    residue : tuple of Residue
        What told pooled values apart although nobody grouped by it.
    skipped : tuple of Skipped
        What was left out while reading.
    fields : dict of str to dict of str to tuple of str
        By version, every field that its records name, with its different values in order of appearance.
    commands : bool
        Whether the versions are the commands of one file, taken as versions of one thing.
    frames : str
        The library of the data frame that it was made of.
    not_chosen : mapping of (Key, str) to Sample
        What :meth:`select` left out: it may tell how the machine was.

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
    samples: Mapping[tuple[Key, str], Sample]
    residue: tuple[Residue, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    fields: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=dict)
    commands: bool = False
    frames: str = ""
    not_chosen: Mapping[tuple[Key, str], Sample] = field(default_factory=dict)

    def __repr__(self) -> str:
        count, metrics = plural(len(self.benchmarks), "benchmark"), ", ".join(self.metrics)
        versions = enumerate_names(self.versions, _NAMED)
        return f"<Suite: {count} of {versions or 'no version'}; {metrics}>"

    @cached_property
    def keys(self) -> tuple[Key, ...]:
        """Every benchmark and metric, in order of first appearance."""
        return tuple(dict.fromkeys(key for key, _ in self.samples))

    @cached_property
    def benchmarks(self) -> tuple[str, ...]:
        """Every benchmark, in order of first appearance."""
        return tuple(dict.fromkeys(key.benchmark for key, _ in self.samples))

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """Every metric, in order of first appearance."""
        return tuple(dict.fromkeys(key.metric for key, _ in self.samples))

    @property
    def main_metric(self) -> str:
        """The default metric: the one that decided its sessions, or else time, or the first metric."""
        return main_metric(self.metrics, self.question.decide_by)

    @property
    def question(self) -> SessionAsked:
        """The question of the ``run`` sessions it was read from, if they agree and all runs are present."""
        said = {self.fields.get(version, {}).get(SESSION_ASKS, ()) for version in self.versions}
        alone = all(sample.tool == "speedproof" for sample in self.samples.values())
        agreed = alone and len(said) == 1 and len(asked := said.pop()) == 1
        return SessionAsked.of(asked[0] if agreed else "")

    @property
    def lacking(self) -> tuple[str, ...]:
        """The candidates that lack a benchmark which their session planned, or all of them."""
        return tuple(dict.fromkeys(s.version for s in self.skipped if s.lacks and s.version))

    @property
    def unread(self) -> list[str]:
        """The result files of which nothing could be read, and why."""
        return why_left_out(s for s in self.skipped if s.unread)

    @property
    def arrays(self) -> tuple[Sequence[FloatArray], Sequence[Record | Sample]]:
        """The values of every sample and its description, without creating sample objects."""
        if isinstance(self.samples, _OfTables):
            rows = self.samples.rows.values()
            return [table.values[row] for table, row in rows], [table.known[row] for table, row in rows]
        samples = [*self.samples.values()]
        return [sample.values for sample in samples], samples

    def __len__(self) -> int:
        return len(self.benchmarks)

    def __iter__(self) -> Iterator[str]:
        """The names of the benchmarks."""
        return iter(self.benchmarks)

    def __getitem__(self, benchmark: str) -> Suite:
        """The suite of one benchmark."""
        if benchmark not in self.benchmarks:
            raise UsageError(
                f"there is no benchmark {benchmark!r}; available: {enumerate_names(self.benchmarks)}"
            )
        return self._restricted(lambda key, version: key.benchmark == benchmark)

    @checked()
    def select(
        self, only: str | Sequence[str] = (), skip: str | Sequence[str] = (), metric: str | None = None
    ) -> Suite:
        """Keep some benchmarks and one metric.

        Parameters
        ----------
        only, skip : str or sequence of str
            Patterns (``*``, ``?``) or names of what is kept and left out; of commands where :attr:`commands`.
        metric : str, optional
            Its name, ``"all"``, or the main one.

        Returns
        -------
        Suite
            With the same versions, or the commands that are kept.

        Raises
        ------
        UsageError
            Patterns or a metric that match nothing; the text says what there is.

        Examples
        --------
        >>> import numpy as np
        >>> suite = Suite.from_records(("old", Record(name, np.array([2.0]))) for name in ("sort", "hash"))
        >>> suite.select(only=["s*"]).benchmarks
        ('sort',)
        """
        only, skip = ((given,) if isinstance(given, str) else given for given in (only, skip))
        chosen = self
        if self.samples and metric == "all" and not (only or skip):
            return chosen
        what, names = ("command", self.versions) if self.commands else ("benchmark", self.benchmarks)
        if only or skip:
            kept = {name for name in names if wanted(name, only, skip)}
            chosen = self._restricted(
                lambda key, version: (version if self.commands else key.benchmark) in kept
            )
            if not self.commands:
                left = (s for s in chosen.skipped if not s.benchmark or wanted(s.benchmark, only, skip))
                chosen = replace(chosen, skipped=tuple(left))
        if not chosen.samples:
            given = [" or ".join(map(repr, patterns)) for patterns in (only or ("*",), skip) if patterns]
            text = f"no {what} matches {' and not '.join(given)} (patterns take * and ?)"
            lost = (f"\n  left out: {line}" for line in why_left_out(chosen.skipped)[:_NAMED])
            raise UsageError(f"{text}; {nearest_of(''.join(only[:1]), names)}", *lost)
        if metric == "all":
            return chosen
        if metric is not None and metric not in chosen.metrics:
            raise UsageError(f"there is no metric {metric}; available: {', '.join(chosen.metrics)}")
        kept_metric = metric or chosen.main_metric
        return chosen._restricted(lambda key, version: key.metric == kept_metric)

    def _restricted(self, keep: Callable[[Key, str], bool]) -> Suite:
        whole, kept, others = self.samples, dict[_Place, Any](), dict[_Place, Any]()
        for place, row in (whole.rows if isinstance(whole, _OfTables) else whole).items():
            (kept if keep(*place) else others)[place] = row
        samples, more = map(whole.part, (kept, others)) if isinstance(whole, _OfTables) else (kept, others)
        left = {version for _, version in samples} if self.commands else self.versions
        versions = tuple(v for v in self.versions if v in left)
        not_chosen = {**self.not_chosen, **more} if self.not_chosen else more
        skipped = tuple(
            s
            for s in self.skipped
            if s.version is None or any(keep(Key(s.benchmark, metric), s.version) for metric in self.metrics)
        )
        return replace(self, samples=samples, versions=versions, not_chosen=not_chosen, skipped=skipped)

    def sides(self, reference: str | None = None) -> tuple[str, tuple[str, ...]]:
        """The reference, by default the first version, and the candidates.

        A commit's hash names the version that begins with it.

        Raises
        ------
        UsageError
            An unknown reference, or one version only.
        """
        if len(self.versions) < 2:
            if not self.versions:
                raise UsageError("the suite is empty: it holds no sample")
            parts: list[str | Parameter] = [f"there is only one version ({self.versions[0]}); "]
            if not any(sample.tool for sample in self.samples.values()):
                raise UsageError(*parts, "say which values are of which, in a frame by its column version=")
            parts.append("name the file of another one")
            if field := next((r.field for r in self.residue if len(r.values) <= _FEW), ""):
                parts += [", tell versions apart by a field (", Parameter("by", field), ")"]
            if len(held := self.benchmarks) > 1:
                one = Parameter("reference", held[0], f"reference {held[0]!r}")
                parts += [", or read its benchmarks as versions of one thing: ", one]
            else:
                parts.append(", or measure both: speedproof run OLD_COMMAND NEW_COMMAND")
            lost = why_left_out(self.skipped)[:_NAMED]
            raise UsageError(*parts, *(f"\n  left out: {line}" for line in lost))
        first = self.versions[0] if reference is None else version_given(reference, self.versions)
        return first, tuple(v for v in self.versions if v != first)

    @classmethod
    def from_records(cls, records: Iterable[tuple[str, Item]], *, commands: bool = False) -> Suite:
        """Group records, each with the version that it belongs to.

        Records of one version, benchmark and metric are pooled into one sample in the order given. A record
        whose unit or direction differs from the first of its sample is left out and named in ``skipped``.

        Parameters
        ----------
        records : iterable of (version, Record, Skipped or RecordTable)
            As read.
        commands : bool
            Whether the versions are commands of one file.

        Returns
        -------
        Suite
            Possibly empty.
        """
        items = list(records)
        left_out = tuple(item for _, item in items if isinstance(item, Skipped))
        tables: dict[str, list[RecordTable]] = {}
        for version, item in items:
            if isinstance(item, RecordTable):
                tables.setdefault(version, []).append(item)
        alone = tables and sum(map(len, tables.values())) + len(left_out) == len(items)
        if alone and all(map(fit, tables.values())):
            different = ((v, {id(of): of for of in t.known}) for v, some in tables.items() for t in some)
            fields_of = fields((v, record) for v, records in different for record in records.values())
            return cls(tuple(tables), _OfTables.of(tables), (), left_out, fields_of, commands)
        given = [(version, record) for version, item in items for record in each_record((item,))]
        all_good = all_fit([record for _, record in given if isinstance(record, Record)])
        if not all_good:
            given = [(version, part) for version, record in given for part in _of_numbers(record)]
        groups: dict[tuple[Key, str], list[Record]] = {}
        # Whether anything of it is left; the first is the reference, come what may
        versions: dict[str, bool] = {}
        skipped: list[Skipped] = []
        for version, record in given:
            if record.benchmark:  # else a place of a file, which belongs to no version
                versions.setdefault(version, False)
            name = version if commands else record.benchmark  # which the file knows it by
            if isinstance(record, Skipped):
                of_version = record.version and version
                skipped.append(replace(record, benchmark=name, version=of_version))
                continue
            group = groups.setdefault((Key(record.benchmark, record.metric), version), [])
            if problem := (group and misfit(group, record)) or (not all_good and negative_time(record)):
                skipped.append(Skipped(record.path, record.where, name, problem))
                continue
            versions[version] = True
            group.append(record)
        samples: dict[tuple[Key, str], Sample] = {}
        alike: Alikes | None = {} if all_good else None
        for place, group in groups.items():
            if not group:
                continue
            try:
                samples[place] = pool(group, place[1], alike)
            except DataError as error:
                first = group[0]
                reason = str(error).removeprefix(f"{first.path} {first.where}: ")
                skipped.append(Skipped(first.path, first.where, first.benchmark, reason))
        names = tuple(version for version, left in versions.items() if left)
        fields_of = fields((version, record) for (_, version), group in groups.items() for record in group)
        return cls(names, samples, residue(groups), tuple(skipped), fields_of, commands)

    @classmethod
    @checked("unit")
    def from_frame(
        cls,
        frame: Any,
        *,
        value: str,
        benchmark: str | Sequence[str] = (),
        version: str | Sequence[str] = (),
        unit: str | None = None,
        process: str | None = None,
        session: str | None = None,
        metric: str | None = None,
        run: str | None = None,
        higher_is_better: bool | None = None,
    ) -> Suite:
        """Make a suite of a data frame with a row a value.

        Parameters
        ----------
        frame : data frame
            Of pandas, Polars or Arrow, a mapping of arrays, or a structured array.
        value : str
            The column of the measured values, in run order.
        benchmark, version : str or sequence of str
            The columns that say of what; several make one name.
        unit : str, optional
            Of the values, or the column that names it; by default they are plain numbers. Timedeltas have their
            own.
        process, session : str, optional
            The columns that say which process and which session a value is of.
        metric : str, optional
            The column that says what was measured.
        run : str, optional
            A column of numbers or of moments to sort by.
        higher_is_better : bool, optional
            By default only for rates; to be said of a unit of your own.

        Returns
        -------
        Suite
            Missing values are left out and named in ``skipped``.

        Raises
        ------
        UsageError
            A column that is not there.
        DataError
            Values that are no numbers, or no value at all.

        Examples
        --------
        >>> frame = {"name": ["sort"] * 4, "rev": ["a", "a", "b", "b"], "t": [12.0, 13.0, 10.0, 11.0]}
        >>> suite = Suite.from_frame(frame, benchmark="name", version="rev", value="t", unit="ms")
        >>> [(version, sample.values.tolist()) for (_, version), sample in suite.samples.items()]
        [('a', [0.012, 0.013]), ('b', [0.01, 0.011])]
        """
        from speedproof.data.given import suite_of_frame

        roles = {"benchmark": benchmark, "version": version, "metric": metric, "process": process}
        return suite_of_frame(frame, value, roles, session, run, unit, higher_is_better)

    @classmethod
    @checked("unit")
    def of_samples(
        cls,
        samples: Mapping[str, Any],
        *,
        unit: str | None = None,
        metric: str | None = None,
        higher_is_better: bool | None = None,
    ) -> Suite:
        """Make a suite of arrays.

        Parameters
        ----------
        samples : mapping of str to array_like, or to such mappings
            By version; or by benchmark, and in each by version.
        unit : str, optional
            Of all values, see :func:`speedproof.sample`.
        metric : str, optional
            What was measured; by default what the unit says.
        higher_is_better : bool, optional
            As in :func:`speedproof.sample`.

        Returns
        -------
        Suite
            In the order of the mappings.

        Raises
        ------
        DataError
            No values, or values that are no measurements.

        Examples
        --------
        >>> suite = Suite.of_samples({"sort": {"old": [2.0, 2.1], "new": [1.0, 1.1]}})
        >>> suite.versions, suite.benchmarks
        (('old', 'new'), ('sort',))
        """
        from speedproof.data.given import suite_of_samples

        return suite_of_samples(samples, unit, metric, higher_is_better)

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
        return {place[0]: self.samples[place] for place in self.samples if place[1] == version}

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
        metrics = set(self.metrics)
        others = [place for place in self.not_chosen if place[0].metric in metrics]
        x, y = (
            {place[0]: self.not_chosen[place] for place in others if place[1] == of}
            for of in (reference, candidate)
        )
        left = pairing(reference, x, candidate, y).pairs
        chosen = pairing(reference, self.of(reference), candidate, self.of(candidate))
        planned = {
            Key(s.benchmark, self.main_metric): s.lacks
            for s in self.skipped
            if s.version == candidate or (s.version == reference and not s.lacks)
        }
        measured = {pair.key for pair in chosen.pairs}
        lost = {key: lacks for key, lacks in planned.items() if key not in measured}
        only = [[k for k in of if k not in lost] for of in (chosen.only_reference, chosen.only_candidate)]
        return replace(
            chosen,
            not_chosen=left,
            only_reference=(*only[0], *(key for key, lacks in lost.items() if lacks)),
            only_candidate=tuple(only[1]),
            unmeasured=tuple(key for key, lacks in lost.items() if not lacks),
        )

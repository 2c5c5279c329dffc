"""From what Python holds, arrays and data frames of any library, to samples and suites."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from speedproof.arrays import FloatArray, IntArray, NDArray, numbered
from speedproof.data.checked import checked
from speedproof.data.names import enumerate_names, joined
from speedproof.data.record import Key, Record, Skipped, order_traits
from speedproof.data.sample import Sample, Trait, written_in
from speedproof.data.suite import Suite
from speedproof.data.units import Direction, Unit, direction_of, is_known, metric_of, misspelt, parse_unit
from speedproof.errors import DataError, UsageError


@checked("unit")
def sample(
    values: Any, *, unit: str | None = None, higher_is_better: bool | None = None, name: str | None = None
) -> Sample:
    """Make a sample of anything that NumPy can make an array of.

    Parameters
    ----------
    values : array_like, shape (n,) or (processes, n), or Sample
        A list, an array, a pandas or Polars Series, an xarray DataArray: measured values in the order of the
        runs, or timedeltas. In two dimensions a row is a process (of xarray's the dimension ``process``); its
        values are nested in it and not independent. A Sample is taken as it is.
    unit : str, optional
        Of the values, for example ``"ms"``, ``"MB/s"`` or ``"cycles"``. By default what
        ``values.attrs["units"]`` says (xarray), else none: plain numbers.
    higher_is_better : bool, optional
        By default only for rates; to be said of a unit of your own.
    name : str, optional
        The version; by default ``values.name``.

    Returns
    -------
    Sample
        In base units (``"s"`` for every unit of time).

    Raises
    ------
    SpeedproofError
        No numbers, none but NaN (which else is left out, and named), infinity, a negative time, more than two
        dimensions; a unit or direction that a Sample contradicts.

    Examples
    --------
    >>> import speedproof as sp
    >>> s = sp.sample([12.1, 12.0, 12.4], unit="ms", name="old")
    >>> s.n, s.unit, float(s.values[0])
    (3, 's', 0.0121)
    >>> sp.sample([[1.0, 1.1], [2.0, 2.1]]).process_count
    2
    """
    return _sample(values, unit, higher_is_better, name)[0]


def samples_given(
    given: Sequence[tuple[str, Any, str | None]], unit: str | None, higher_is_better: bool | None
) -> list[Sample]:
    """Samples of what they are in messages, values and name: all say their units, or none does."""
    made = []
    for role, values, name in given:
        try:
            made.append(_sample(values, unit, higher_is_better, name))
        except DataError as error:
            raise DataError(f"{role}: {error}") from None
    if unit is None and len({has_unit for _, has_unit in made}) > 1:
        roles = {has_unit: role for (role, *_), (_, has_unit) in zip(given, made, strict=True)}
        raise UsageError(
            f"{roles[True]} has a unit, and {roles[False]} is plain numbers: say that of the other's numbers, "
            "sp.sample(numbers, unit=...)"
        )
    return [one for one, _ in made]


def _sample(
    values: Any, unit: str | None, higher_is_better: bool | None, name: str | None
) -> tuple[Sample, bool]:
    """A sample, and whether it came with a unit."""
    if isinstance(values, Sample):
        _not_contradicted(values, unit, higher_is_better)
        return values if name is None else replace(values, label=name), True
    attributes = getattr(values, "attrs", {})
    written = str(attributes["units"]) if isinstance(attributes, dict) and "units" in attributes else None
    if written is not None and unit and unit_given(unit, True)[0] != parse_unit(written):
        raise DataError(f"these values say that they are in {written!r}, and unit={unit!r}: leave it out")
    numbers, said = numbers_given(values, unit if written is None else written)
    unit = said if said is not None else ""
    dims = [str(dim) for dim in getattr(values, "dims", ())]
    if numbers.ndim == 2 and dims and dims != ["dim_0", "dim_1"]:
        if "process" not in dims:
            raise DataError(
                f"its dimensions are {' and '.join(dims)}: rename that of the processes to 'process'"
            )
        numbers = numbers if dims[0] == "process" else numbers.T
    if numbers.ndim not in (1, 2):
        raise DataError(
            f"a sample has one dimension, or two (processes, values in each), not {numbers.ndim}: "
            "give the values of one version on one benchmark"
        )
    flat = numbers.ravel()
    processes = np.repeat(np.arange(len(numbers)), numbers.shape[1]) if numbers.ndim == 2 else None
    notes: tuple[str, ...] = ()
    if 0 < (missing := np.isnan(flat)).sum() < flat.size:
        notes = (f"{missing.sum()} of {flat.size} values missing (NaN), left out",)
        flat, processes = flat[~missing], None if processes is None else processes[~missing]
    if not (finite := np.isfinite(flat)).all():
        at = int(np.argmin(finite))
        raise DataError(
            f"value {at + 1} of {finite.size} is {flat[at]}, not a finite number: leave such values out, "
            "or say what they stand for"
        )
    parsed, direction = unit_given(unit, higher_is_better)
    label = getattr(values, "name", None) if name is None else name
    made = Sample(
        parsed.to_base(flat),
        parsed.base,
        direction,
        processes,
        label if isinstance(label, str) else "",
        traits=(order_traits(flat) if numbers.ndim == 1 else frozenset({Trait.ORDER_KNOWN}))
        | written_in(parsed),
        notes=notes,
    )
    return made, said is not None


def _not_contradicted(given: Sample, unit: str | None, higher_is_better: bool | None) -> None:
    """Refuse a unit or a direction beside a sample that has another."""
    direction = given.direction if higher_is_better is None else direction_given(higher_is_better)
    if (unit and parse_unit(unit).base != given.unit) or direction is not given.direction:
        raise DataError(
            f"this sample is in {given.unit or 'plain numbers'} and {given.direction} is better: unit= and "
            "higher_is_better= are for numbers; make the sample with them"
        )


def metric_given(s: Sample) -> str:
    """The default metric of a sample: a score if higher plain numbers are better, else by its unit."""
    return "score" if not s.unit and s.direction is Direction.HIGHER else metric_of(s.unit)


def direction_given(higher_is_better: bool) -> Direction:
    """Which values are better: higher or lower ones."""
    return Direction.HIGHER if higher_is_better else Direction.LOWER


def numbers_given(values: Any, unit: str | None) -> tuple[FloatArray, str | None]:
    """Anything that is made of real numbers or of timedeltas, as doubles, and their unit where it is known."""
    if type(values) is np.ndarray and values.dtype.kind == "f":
        return values.astype(np.float64), unit
    if isinstance(values, str | Path):
        raise DataError(
            f"{str(values)!r} is not a sample: read files with sp.read(...) and compare them with "
            "sp.compare_suite(...)"
        )
    fields = getattr(getattr(values, "dtype", None), "names", None)
    if fields or hasattr(values, "columns") or hasattr(values, "column_names"):
        raise DataError(
            "a data frame is no sample: give one of its columns, or make a suite of it, "
            "sp.Suite.from_frame(...)"
        )
    if hasattr(values, "compressed") and np.ma.is_masked(values):  # np.ma takes long to import
        raise DataError("some values are masked: give those that count, values.compressed()")
    try:
        array = np.asarray(list(values) if isinstance(values, Iterator) else values)
        if isinstance(values, Struct) or (array.dtype.kind == "O" and array.ndim == 0):
            raise DataError(f"a sample is a list or an array of numbers, not a {type(values).__name__}")
        if array.dtype.kind == "O" and array.size and all(isinstance(v, timedelta) for v in array.flat):
            array = array.astype("m8[us]")
        if array.dtype.kind == "m":
            if unit:
                raise DataError("timedeltas have a unit of their own: leave out unit=")
            return array / np.timedelta64(1, "s"), "s"
        if array.dtype.kind in "bcMSUV" and array.size:
            if array.dtype.kind in "SU":
                raise DataError(
                    "a sample is made of numbers, not of texts: make numbers of them, with float()"
                )
            raise DataError(f"a sample is made of real numbers, not of {array.dtype.name}")
        return array.astype(np.float64), unit
    except (TypeError, ValueError, OverflowError) as error:
        ragged = "inhomogeneous" in str(error)
        why = "its rows differ in length; of unequal processes make sp.Suite.from_frame(..., process=...)"
        raise DataError(f"a sample is made of numbers: {why if ragged else error}") from None


def unit_given(text: Any, higher_is_better: bool | None = None) -> tuple[Unit, Direction | None]:
    """A unit given by a user, and its direction, which must be stated for unknown units."""
    if not isinstance(text, str):
        raise DataError(f"unit={text!r}: expected the name of a unit, such as 'ms'")
    if wrong := misspelt(text):
        raise DataError(wrong)
    if higher_is_better is not None:
        return parse_unit(text), direction_given(higher_is_better)
    if not is_known(text):
        raise DataError(
            f"unit={text!r} is not known (ms, s, MiB, cycles, J, MB/s, ... are): of a unit of your own say which "
            "values are better, higher_is_better=True or False"
        )
    return parse_unit(text), None


_VERSIONS = {"old", "new", "before", "after", "base", "baseline", "reference", "candidate", "main", "master"}


def suite_of_samples(
    samples: Mapping[str, Any], unit: str | None, metric: str | None, higher_is_better: bool | None
) -> Suite:
    """Make a suite of arrays: see :meth:`speedproof.data.suite.Suite.of_samples`."""
    nested = all(isinstance(part, Mapping) for part in samples.values())
    if nested and samples and all(str(name).lower() in _VERSIONS for name in samples):
        raise DataError(
            f"{' and '.join(map(str, samples))} are names of versions: give benchmarks first, each with its "
            "versions, {'sort': {'old': ..., 'new': ...}}"
        )
    if unit is None and metric not in (None, "time"):
        unit = ""
    several = [
        (str(benchmark), str(version), values)
        for benchmark, part in (samples if nested else {"values": samples}).items()
        for version, values in part.items()
    ]
    parts = {(benchmark, version): values for benchmark, version, values in several}
    if len(parts) < len(several):
        raise DataError("two of these have one name as text, such as 1 and '1': give them different names")
    named = [(f"{benchmark}, {version}", values, version) for benchmark, version, values in several]
    made = samples_given(named, unit, higher_is_better)
    suite: dict[tuple[Key, str], Sample] = {}
    for ((benchmark, version), values), one in zip(parts.items(), made, strict=True):
        key = Key(benchmark, metric or metric_given(one))
        if higher_is_better is None and not isinstance(values, Sample):
            one = replace(one, direction=direction_of(one.unit, key.metric))
        suite[key, version] = one
    if not suite:
        raise DataError("there are no samples")
    return Suite(tuple(dict.fromkeys(version for _, version in parts)), suite)


_Column = NDArray[Any]


def suite_of_frame(
    frame: Any,
    value: str,
    roles: Mapping[str, str | Sequence[str] | None],
    session: str | None,
    run: str | None,
    unit: str | None,
    higher_is_better: bool | None,
) -> Suite:
    """Group the rows of a data frame: see :meth:`speedproof.data.suite.Suite.from_frame`."""
    columns = _Columns(frame)
    library = type(frame).__module__.partition(".")[0]
    values, own_unit = columns.numbers(value, unit)
    if not values.size:
        raise DataError("the data frame holds no measured value")
    order = np.arange(values.size) if run is None else np.argsort(columns.complete(run), kind="stable")
    unit = own_unit if unit is None else unit
    # A column of values that is called as its unit does not name the unit of each.
    by_row = unit if unit is not None and unit != value and columns.has(unit) else None
    if unit is None:
        unit = ""
    direction = None if higher_is_better is None else direction_given(higher_is_better)
    if by_row is None:
        unit_given(unit, higher_is_better)
    codes, groups = _grouped(
        [
            columns.labels(roles["benchmark"], value),
            columns.labels(roles["version"], "all"),
            columns.labels(roles["metric"], ""),
            columns.labels(by_row, unit),
        ]
    )
    processes = None if roles["process"] is None else columns.labels(roles["process"], "")[0]
    sitting_of, sessions = columns.labels(session, "")
    records: list[tuple[str, Record | Skipped]] = []
    in_groups = order[np.argsort(codes[order], kind="stable")]
    for names, rows in zip(groups, np.split(in_groups, np.cumsum(np.bincount(codes))[:-1]), strict=True):
        name, label, metric, written = names
        missing = np.isnan(values[rows])
        if lost := int(missing.sum()):
            reason = f"{lost} of {rows.size} in column {value!r} missing (NaN), left out"
            records.append((label, Skipped("data frame", "", name, reason)))
        rows = rows[~missing]
        if not np.isfinite(values[rows]).all():
            raise DataError(
                f"column {value!r} holds an infinite value: leave such rows out, or say what they are"
            )
        parsed = parse_unit(written)
        for code in dict.fromkeys(sitting_of[rows].tolist()):
            part, sitting = rows[sitting_of[rows] == code], sessions[code]
            where = f"session {sitting}" if sitting else ""
            record = Record(name, values[part], path="data frame", where=where, session=sitting).holding(
                values[part],
                parsed,
                metric=metric or metric_of(parsed.base),
                direction=direction,
                processes=None if processes is None else processes[part],
                traits=frozenset({Trait.ORDER_KNOWN}),
            )
            records.append((label, record))
    suite = Suite.from_records(records)
    if not suite.samples:
        reasons = "".join(f"\n  {skipped}" for skipped in suite.skipped)
        raise DataError(f"the data frame holds no measured value{reasons}")
    return replace(suite, frames=library) if library in ("pandas", "polars", "pyarrow") else suite


class _Columns:
    """The columns of a frame of any library: pandas, Polars, Arrow, a mapping of arrays, a structured array."""

    def __init__(self, frame: Any) -> None:
        for lazy in ("collect", "compute"):  # of Polars' LazyFrame and of Dask
            if callable(getattr(type(frame), lazy, None)):
                frame = getattr(frame, lazy)()
        self._frame = frame
        names = getattr(frame, "column_names", None)  # Arrow: what it calls columns are the values
        if names is None:
            names = getattr(getattr(frame, "dtype", None), "names", None)
        if names is None:
            names = frame.keys() if isinstance(frame, Mapping) else getattr(frame, "columns", None)
        if names is None:
            raise UsageError(
                f"a {type(frame).__name__} has no named columns: give a data frame or a mapping of arrays"
            )
        # A text comes before a number that is written alike.
        self._names: dict[str, Hashable] = {str(n): n for n in names} | {
            n: n for n in names if isinstance(n, str)
        }
        self._rows: int | None = None

    def has(self, name: str) -> bool:
        """Whether there is a column of this name."""
        return name in self._names

    def column(self, name: str) -> _Column:
        """A column's values."""
        if name not in self._names:
            raise UsageError(f"there is no column {name!r}; available: {enumerate_names(self._names)}")
        column = (
            self._frame.column(name)
            if hasattr(self._frame, "column_names")
            else self._frame[self._names[name]]
        )
        if isinstance(column, np.ma.MaskedArray):
            masked, column = np.ma.getmaskarray(column), np.ma.getdata(column).astype(object)
            column[masked] = None
        array = np.asarray(
            column.to_numpy(zero_copy_only=False) if hasattr(column, "combine_chunks") else column
        )
        self._rows = array.size if self._rows is None else self._rows
        if array.ndim != 1 or array.size != self._rows:
            raise DataError(
                f"column {name!r} has {array.size} values where others have {self._rows}: give a row a value"
            )
        return array

    def numbers(self, name: str, unit: str | None) -> tuple[FloatArray, str | None]:
        """A column of numbers, and their unit where they are timedeltas; what is missing becomes NaN."""
        column = self.column(name)
        if column.dtype == object:
            present = [v for v in column.tolist() if not _is_missing(v)]
            spans = bool(present) and all(isinstance(v, timedelta) for v in present)
            missing = np.timedelta64("NaT") if spans else np.nan
            given = [missing if _is_missing(v) else v for v in column.tolist()]
            column = np.array(given, "m8[us]" if spans else None)
        try:
            return numbers_given(column, unit)
        except DataError as error:
            raise DataError(f"column {name!r}: {error}") from None

    def complete(self, name: str) -> FloatArray:
        """A column of numbers or of moments that lacks none."""
        column = self.column(name)
        if column.dtype.kind == "M":
            numbers: FloatArray = np.where(
                np.isnat(column), np.nan, column.astype("M8[ns]").astype(np.float64)
            )
        else:
            numbers, _ = self.numbers(name, None)
        if not np.isfinite(numbers).all():
            raise DataError(f"column {name!r} has missing values: drop or name those rows first")
        return numbers

    def labels(self, names: str | Sequence[str] | None, default: str) -> tuple[IntArray, list[str]]:
        """The text of each row, of one column or of several, as codes; a default without a column."""
        names = [names] if isinstance(names, str) else list(names or ())
        if not names:
            return np.zeros(self._rows or 0, dtype=np.int64), [default]
        parts = []
        for name in names:
            codes, values = numbered(self.column(name).tolist())
            if any(map(_is_missing, values)):
                raise DataError(f"column {name!r} has missing values: drop or name those rows first")
            parts.append((codes, [str(v) for v in values]))
        codes, groups = _grouped(parts)
        return codes, [joined(names, group) for group in groups]


def _is_missing(value: object) -> bool:
    # pandas' NA compares to NA, NaN differs from itself
    return value is None or type(value).__name__ in ("NAType", "NaTType") or value != value


def _grouped(parts: list[tuple[IntArray, list[str]]]) -> tuple[IntArray, list[tuple[str, ...]]]:
    """Rows that agree in all of several codes, numbered by first appearance, with their texts."""
    shape = [len(names) for _, names in parts]
    flat = np.zeros_like(parts[0][0])
    for (codes, _), size in zip(parts, shape, strict=True):
        flat = flat * size + codes
    numbers, groups = numbered(flat.tolist())
    places = zip(*np.unravel_index(groups, shape), strict=True)
    return numbers, [tuple(names[k] for (_, names), k in zip(parts, place, strict=True)) for place in places]

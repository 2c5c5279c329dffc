"""From a data frame to a suite: one row a value, columns that say of what."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from datetime import timedelta
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from speedproof.arrays import FloatArray, IntArray
from speedproof.data.given import direction_given, numbers_given, unit_given
from speedproof.data.groups import numbered
from speedproof.data.names import enumerate_names, joined
from speedproof.data.record import Record, Skipped
from speedproof.data.sample import Trait, written_in
from speedproof.data.suite import Suite
from speedproof.data.units import metric_of, parse_unit
from speedproof.errors import DataError, UsageError

_Column = npt.NDArray[Any]


def suite_of_frame(
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
    """Group the rows of a data frame: see :meth:`speedproof.data.suite.Suite.from_frame`."""
    columns = _Columns(frame)
    library = type(frame).__module__.partition(".")[0]
    values, own_unit = columns.numbers(value, unit)
    unit = own_unit if unit is None else unit
    order = np.arange(values.size) if run is None else np.argsort(columns.complete(run), kind="stable")
    # A column of values that is called as its unit does not name the unit of each.
    by_row = unit if unit is not None and unit != value and columns.has(unit) else None
    if unit is None:
        unit = "s" if metric is None and not higher_is_better else ""
    direction = None if higher_is_better is None else direction_given(higher_is_better)
    if by_row is None:
        unit_given(unit, higher_is_better)
    roles = {
        "benchmark": columns.labels(benchmark, value),
        "version": columns.labels(version, "all"),
        "metric": columns.labels(metric or (), ""),
        "unit": columns.labels(by_row or (), unit),
    }
    if not values.size:
        raise DataError("the data frame holds no measured value")
    codes, groups = _grouped([*roles.values()])
    if codes.size < values.size:  # no column names anything: all rows are one sample
        codes = np.repeat(codes, values.size)
    processes = None if process is None else columns.labels(process, "")[0]
    codes_of, sessions = columns.labels(session or (), "")
    sitting_of = np.broadcast_to(codes_of, values.size)
    records: list[tuple[str, Record | Skipped]] = []
    in_groups = order[np.argsort(codes[order], kind="stable")]
    for names, rows in zip(groups, np.split(in_groups, np.cumsum(np.bincount(codes))[:-1]), strict=True):
        name, label, of_metric, written = names
        known = np.isfinite(values[rows])
        if lost := int(rows.size - known.sum()):
            reason = f"{lost} of {rows.size} in column {value!r} missing or not finite"
            records.append((label, Skipped("data frame", "", name, reason)))
        rows = rows[known]
        parsed = parse_unit(written)
        for code in dict.fromkeys(sitting_of[rows].tolist()):
            part, sitting = rows[sitting_of[rows] == code], sessions[code]
            if part.size:
                found = Record(
                    name,
                    parsed.to_base(values[part]),
                    parsed.base,
                    metric=of_metric or metric_of(parsed.base),
                    direction=direction,
                    processes=None if processes is None else processes[part],
                    path="data frame",
                    where=f"session {sitting}" if sitting else "",
                    traits=frozenset({Trait.ORDER_KNOWN}) | written_in(parsed),
                    session=sitting,
                )
                records.append((label, found))
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
        self._rows: tuple[int, ...] | None = None

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
        found = np.asarray(
            column.to_numpy(zero_copy_only=False) if hasattr(column, "combine_chunks") else column
        )
        self._rows = found.shape if self._rows is None else self._rows
        if found.ndim != 1 or found.shape != self._rows:
            raise DataError(
                f"column {name!r} has {found.size} values where others have {self._rows[0]}: give a row a value"
            )
        return found

    def numbers(self, name: str, unit: str | None) -> tuple[FloatArray, str | None]:
        """A column of numbers, and their unit where they are timedeltas; what is missing becomes NaN."""
        column = self.column(name)
        if column.dtype == object:
            known = [v for v in column.tolist() if not _is_missing(v)]
            missing = np.timedelta64("NaT") if known and isinstance(known[0], timedelta) else np.nan
            column = np.array([missing if _is_missing(v) else v for v in column.tolist()])
        try:
            return numbers_given(column, unit)
        except DataError as error:
            raise DataError(f"column {name!r}: {error}") from None

    def complete(self, name: str) -> FloatArray:
        """A column of numbers or of moments that lacks none."""
        column = self.column(name)
        if column.dtype.kind == "M":
            found: FloatArray = np.where(np.isnat(column), np.nan, column.astype("M8[ns]").astype(np.float64))
        else:
            found, _ = self.numbers(name, None)
        if not np.isfinite(found).all():
            raise DataError(f"column {name!r} has missing values: drop or name those rows first")
        return found

    def labels(self, names: str | Sequence[str], default: str) -> tuple[IntArray, list[str]]:
        """The text of each row, of one column or of several, as codes; a default without a column."""
        names = [names] if isinstance(names, str) else list(names)
        if not names:
            return np.zeros(1, dtype=np.int64), [default]
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
    size = max(codes.size for codes, _ in parts)
    flat = np.zeros(size, dtype=np.int64)
    for codes, names in parts:
        flat = flat * len(names) + codes
    numbers, found = numbered(flat.tolist())
    return numbers, [
        tuple(names[k] for (_, names), k in zip(parts, np.unravel_index(f, shape), strict=True))
        for f in found
    ]

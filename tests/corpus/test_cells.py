"""Columns made of buffers are those that PyArrow makes of the same values, without pandas."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from speedproof.corpus.place import Place, column, filled, fingerprint, known, lists, numbers, parquet
from speedproof.corpus.schema import digest
from speedproof.errors import FormatError

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
FLOATS, WHOLE = st.floats(), st.integers(-(2**31), 2**31 - 1)


def _optional(values: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.none() | values, max_size=12)


@pytest.mark.parametrize(("kind", "values"), [
    (pa.string(), _optional(TEXTS)), (pa.float64(), _optional(FLOATS)), (pa.int32(), _optional(WHOLE)),
    (pa.int64(), _optional(WHOLE)), (pa.bool_(), _optional(st.booleans())),
    (pa.list_(pa.string()), _optional(st.lists(TEXTS, max_size=3))),
    (pa.list_(pa.float64()), _optional(st.lists(FLOATS, max_size=3))),
    (pa.map_(pa.string(), pa.string()), st.lists(st.lists(st.tuples(TEXTS, TEXTS), max_size=3), max_size=5)),
], ids=str)  # fmt: skip
@given(data=st.data())
def test_against_pyarrow(
    kind: pa.DataType, values: st.SearchStrategy[list[Any]], data: st.DataObject
) -> None:
    given_values = data.draw(values)
    made = column(given_values, kind)
    made.validate(full=True)
    assert repr(made.to_pylist()) == repr(pa.array(given_values, kind).to_pylist())


def test_hashes_of_benchmarks_and_of_contents_are_those_of_b2sum() -> None:
    """``printf NAME | b2sum -l 32`` and ``-l 48``."""
    assert (digest("sort"), digest("é"), fingerprint(b"sort")) == ("4398b308", "954544c2", "7548b6582389")


@given(_optional(WHOLE), st.integers(0, 12))
def test_numbers_lie_where_pyarrow_says(values: list[int | None], start: int) -> None:
    """Also in a slice, which begins within a byte of the bits that tell nulls."""
    part = pa.array(values, pa.int64()).slice(start)
    assert known(part).tolist() == [value is not None for value in values[start:]]
    assert numbers(part)[known(part)].tolist() == [value for value in values[start:] if value is not None]


def test_a_file_of_other_columns_or_bytes_is_damaged(tmp_path: Path) -> None:
    """Also where nothing but a checksum tells: a byte of numbers that do not compress."""
    place, whole = Place.of(tmp_path), pa.schema([pa.field("x", pa.float64(), nullable=False)])
    values = pa.array(np.random.default_rng(1).random(999))
    content = bytearray(parquet(pa.table({"x": values}), use_dictionary=False))
    assert parquet_told(place, content, whole)["x"].to_pylist() == values.to_pylist()
    content[len(content) // 2] ^= 1
    with_null = pa.array([None, 1.0])
    for damaged, why in (
        (content, "damaged"), (parquet(pa.table({"x": with_null})), "it lacks values"),
        (parquet(pa.table({"x": ["1", "2"]})), "its columns have other types"),
    ):  # fmt: skip
        with pytest.raises(FormatError, match=why):
            parquet_told(place, damaged, whole)
    optional = pa.schema([pa.field("x", pa.float64())])
    assert parquet_told(place, parquet(pa.table({"x": with_null})), optional)["x"].null_count == 1


def parquet_told(place: Place, content: Any, columns: pa.Schema) -> pa.Table:
    place.write("x.parquet", content)
    return place.table("x.parquet", columns)


def test_lists_and_what_is_missing() -> None:
    """Values one after the other in lists of given sizes; a column that is not given holds nulls."""
    kind = pa.list_(pa.float64())
    made = lists(np.array([1.0, 2.0, 3.0]), [2, 0, 1], kind)
    assert made.to_pylist() == [[1, 2], [], [3]]
    table = filled({"a": made}, pa.schema([("a", kind), ("b", pa.int64())]))
    assert table["b"].to_pylist() == [None] * 3
    assert filled({}, table.schema).num_rows == 0

"""Arrays of PyArrow from Python's values, and as NumPy's, by their buffers.

PyArrow's own ways (``pa.array``, ``to_numpy``) import pandas first, to know whether values are of its types: that
takes as long as thousands of comparisons.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from speedproof.corpus.place import arrow

if TYPE_CHECKING:
    import pyarrow as pa


def arrays(columns: Mapping[str, Sequence[Any]], schema: pa.Schema) -> dict[str, pa.Array]:
    """Columns as arrays of the types that a schema says."""
    return {name: column(values, schema.field(name).type) for name, values in columns.items()}


def filled(columns: Mapping[str, pa.Array], schema: pa.Schema) -> pa.Table:
    """A table of columns, nulls where one is missing; an empty one of none."""
    pa = arrow()
    rows = max(map(len, columns.values()), default=0)
    there = (columns.get(field.name) for field in schema)
    whole = [
        pa.nulls(rows, field.type) if one is None else one for one, field in zip(there, schema, strict=True)
    ]
    return pa.Table.from_arrays(whole, schema=schema)


def column(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Texts, numbers or lists of them (arrays, too) as an array of that type, None as null."""
    pa = arrow()
    validity = None
    nested = pa.types.is_list(kind) or pa.types.is_map(kind)
    if any(value is None for value in values) if nested else None in values:
        there = np.array([value is not None for value in values])
        validity = pa.py_buffer(np.packbits(there, bitorder="little"))
        nothing: Any = "" if pa.types.is_string(kind) else () if pa.types.is_list(kind) else 0
        values = [nothing if value is None else value for value in values]
    if pa.types.is_string(kind):
        return pa.Array.from_buffers(kind, len(values), [validity, *map(pa.py_buffer, _joined(values))])
    if pa.types.is_list(kind):
        arrays = [one for one in values if isinstance(one, np.ndarray)]
        flat = np.concatenate(arrays) if arrays else list(chain.from_iterable(values))
        return lists(flat, list(map(len, values)), kind, validity)
    if pa.types.is_map(kind):
        ends = column(_ends(list(map(len, values))).tolist(), pa.int32())
        items = list(chain.from_iterable(values))
        parts = (
            column([item[i] for item in items], t) for i, t in enumerate((kind.key_type, kind.item_type))
        )
        return pa.MapArray.from_arrays(ends, *parts)
    return _numbers(values, kind, validity)


def lists(
    flat: Sequence[Any] | npt.NDArray[Any],
    sizes: Sequence[int],
    kind: pa.DataType,
    validity: pa.Buffer | None = None,
) -> pa.Array:
    """Lists of these sizes, whose values follow each other."""
    pa, inner = arrow(), kind.value_type
    values = _numbers(flat, inner) if isinstance(flat, np.ndarray) else column(flat, inner)
    buffers = [validity, pa.py_buffer(_ends(sizes))]
    return pa.Array.from_buffers(kind, len(sizes), buffers, children=[values])


def _numbers(values: Any, kind: pa.DataType, validity: pa.Buffer | None = None) -> pa.Array:
    pa = arrow()
    data = np.ascontiguousarray(values, kind.to_pandas_dtype())
    return pa.Array.from_buffers(kind, len(values), [validity, pa.py_buffer(data)])


def _joined(texts: Sequence[str]) -> tuple[npt.NDArray[np.int32], bytes]:
    """The ends of texts, and these one after the other; a column mostly holds few of them, many times each."""
    known = {text: text.encode() for text in set(texts)}
    if len(known) == 1:
        (text,) = known.values()
        return (np.arange(len(texts) + 1) * len(text)).astype(np.int32), text * len(texts)
    encoded = list(map(known.__getitem__, texts))
    return _ends(list(map(len, encoded))), b"".join(encoded)


def _ends(sizes: Sequence[int]) -> npt.NDArray[np.int32]:
    ends = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=ends[1:])
    return ends.astype(np.int32)


def numbers(array: pa.Array) -> npt.NDArray[Any]:
    """Numbers without nulls, or with anything in their places, where they lie; read-only."""
    kind = np.dtype(array.type.to_pandas_dtype())
    data = array.buffers()[1]
    if data is None:
        return np.empty(0, dtype=kind)
    there = np.frombuffer(data, kind, len(array), array.offset * kind.itemsize)
    there.flags.writeable = False
    return there


def known(array: pa.Array) -> npt.NDArray[np.bool_]:
    """Which values are no nulls."""
    validity = array.buffers()[0]
    if validity is None or not len(array):
        return np.ones(len(array), dtype=np.bool_)
    end = array.offset + len(array)
    bits = np.unpackbits(np.frombuffer(validity, np.uint8), count=end, bitorder="little")
    return bits[array.offset :].astype(np.bool_)

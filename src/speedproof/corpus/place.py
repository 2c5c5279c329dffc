"""A folder on this machine or in an object store, where a corpus lives, and arrays of PyArrow.

PyArrow's own ways from Python's values and to NumPy's (``pa.array``, ``to_numpy``) import pandas first, to know
whether values are of its types: that takes as long as thousands of comparisons. Here they go by their buffers.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from speedproof.arrays import NDArray
from speedproof.data.names import is_url
from speedproof.errors import FormatError, SpeedproofError, UsageError

if TYPE_CHECKING:
    import pyarrow as pa

_UNFINISHED = ".tmp"
_DAY = 86400.0


def arrow() -> Any:
    """The module pyarrow, or an error that says how to get it."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise UsageError("a corpus needs PyArrow and DuckDB: pip install 'speedproof[corpus]'") from None
    return pyarrow


@contextmanager
def storage_errors(doing: str) -> Iterator[None]:
    """Errors of storage in words: a full disk, no permission, no network."""
    try:
        yield
    except OSError as error:
        full = {errno.ENOSPC: "the disk is full", errno.EDQUOT: "your share of the disk is full",
                errno.EFBIG: "the file is larger than is allowed (ulimit -f)"}  # fmt: skip
        if error.errno in full:
            raise SpeedproofError(
                f"{doing}: {full[error.errno]}; what was written stays: make room and give the same command again"
            ) from error
        raise SpeedproofError(f"{doing}: {error.strerror or error}") from error


class Place(Struct, frozen=True):
    """A folder of any file system that PyArrow or fsspec knows."""

    name: str  # as the user wrote it
    remote: Any  # its file system, where it is not this machine's
    root: str  # the folder in it

    @classmethod
    def of(cls, name: str | os.PathLike[str]) -> Place:
        """The place of a path or a URL."""
        text = os.fspath(name)
        if not is_url(text):
            return cls(text, None, os.path.abspath(text))  # noqa: PTH100 (the folder may not exist)
        arrow()
        from pyarrow import ArrowInvalid, fs

        try:
            system, root = fs.FileSystem.from_uri(text)
        except (ArrowInvalid, OSError, ValueError, ImportError) as error:
            raise UsageError(f"{text}: no such place: {error}") from error
        return cls(text, system, root.rstrip("/"))

    @property
    def fs(self) -> Any:
        """Its file system."""
        arrow()
        from pyarrow.fs import LocalFileSystem

        return LocalFileSystem() if self.remote is None else self.remote

    @property
    def local(self) -> bool:
        """Whether it is on this machine."""
        return self.remote is None

    @property
    def lasting(self) -> str:
        """Its name for another process, which may have another working directory."""
        return self.root if self.local else self.name

    def below(self, folder: str) -> Place:
        """A folder in it."""
        path, question, rest = self.name.rstrip("/").partition("?")
        return Place(f"{path}/{folder}{question}{rest}", self.remote, f"{self.root}/{folder}")

    def at(self, file: str) -> str:
        """The full name of a file in it."""
        return f"{self.root}/{file}" if file else self.root

    def has(self, file: str) -> bool:
        """Whether there is such a file."""
        if self.local:
            return os.path.exists(self.at(file))  # noqa: PTH110
        from pyarrow import fs

        return bool(self.fs.get_file_info(self.at(file)).type != fs.FileType.NotFound)

    def files(self, folder: str = "") -> list[str]:
        """Every file below a folder that is whole, relative to the place."""
        return sorted(file for file in self.times(folder) if not file.endswith(_UNFINISHED))

    def times(self, folder: str = "") -> dict[str, int]:
        """Every file below a folder, relative to the place, with when it was written in nanoseconds."""
        from pyarrow import fs

        selector = fs.FileSelector(self.at(folder), recursive=True, allow_not_found=True)
        start = len(self.root) + 1
        infos = self.fs.get_file_info(selector)
        return {i.path[start:]: i.mtime_ns or 0 for i in infos if i.type == fs.FileType.File}

    def read(self, file: str) -> bytes:
        """The content of a file."""
        if self.local:
            return Path(self.at(file)).read_bytes()
        with self.fs.open_input_stream(self.at(file)) as stream:
            return bytes(stream.read())

    def write(self, file: str, content: bytes | memoryview) -> None:
        """Write a file whole, or leave what was there."""
        path = self.at(file)
        with storage_errors(f"cannot write {self.name}/{file}"):
            if not self.local:  # an object appears when it is closed, whole or not: so it is filled in one go
                with self.fs.open_output_stream(path) as stream:
                    stream.write(content)
                return
            unfinished = Path(f"{path}.{socket.gethostname()}.{os.getpid()}{_UNFINISHED}")
            unfinished.parent.mkdir(parents=True, exist_ok=True)
            try:
                unfinished.write_bytes(content)
                unfinished.replace(path)
            finally:
                unfinished.unlink(missing_ok=True)

    def tidy(self) -> None:
        """Delete what killed processes left unfinished a day ago or longer: another may be at work on the rest."""
        for file, written in self.times().items() if self.local else ():
            if file.endswith(_UNFINISHED) and time.time() - written / 1e9 > _DAY:
                self.remove(file)

    def remove(self, file: str) -> None:
        """Delete a file if it is there."""
        if self.has(file):
            self.fs.delete_file(self.at(file))

    def drop(self, within: str) -> None:
        """Delete this folder, and the one of that name that it lies in, where they are empty."""
        folder = Path(self.root)
        if self.local and folder.parent.name == within:
            with suppress(OSError):
                folder.rmdir()
                folder.parent.rmdir()

    def table(self, file: str, columns: pa.Schema) -> pa.Table:
        """Read a Parquet file of these columns, its checksums verified."""
        from pyarrow.parquet import ParquetFile

        # Not read_table, which imports the machinery of data sets, and pandas with it: a third of a second.
        with (
            self._sound(file),
            self.fs.open_input_file(self.at(file)) as stream,
            ParquetFile(stream, page_checksum_verification=True, pre_buffer=True) as opened,
        ):
            rows = opened.read().select(columns.names)
            if rows.schema.types != columns.types:
                raise ValueError("its columns have other types")
            if any(
                cells.null_count and not of.nullable for cells, of in zip(rows.columns, columns, strict=True)
            ):
                raise ValueError("it lacks values")
            # Not cast, which imports pyarrow.compute: a tenth of a second of every process.
            return arrow().Table.from_arrays(rows.columns, schema=columns)

    def note(self, file: str, key: str) -> Any:
        """What a Parquet file's footer says beside its schema."""
        import pyarrow.parquet as pq

        with self._sound(file), self.fs.open_input_file(self.at(file)) as stream:
            return json.loads((pq.read_metadata(stream).metadata or {})[key.encode()])

    @contextmanager
    def _sound(self, file: str) -> Iterator[None]:
        """Name a file that cannot be read as what it should be."""
        try:
            yield
        except (arrow().ArrowException, OSError, LookupError, ValueError) as error:
            raise FormatError(f"{self.lasting}/{file}", "", f"the file is damaged or gone: {error}") from None


def fingerprint(content: bytes | memoryview) -> str:
    """Digits that another content has otherwise: those of ``b2sum -l 48``."""
    return blake2b(content, digest_size=6).hexdigest()


def parquet(table: pa.Table, **options: Any) -> memoryview:
    """A table as the content of a Parquet file, with checksums."""
    import pyarrow.parquet as pq

    stream = arrow().BufferOutputStream()
    pq.write_table(table, stream, compression="zstd", write_page_checksum=True, **options)
    return memoryview(stream.getvalue())


def arrays(columns: Mapping[str, Sequence[Any]], schema: pa.Schema) -> dict[str, pa.Array]:
    """Columns as arrays of the types that a schema says."""
    return {name: column(values, schema.field(name).type) for name, values in columns.items()}


def filled(columns: Mapping[str, pa.Array], schema: pa.Schema) -> pa.Table:
    """A table with the columns of a schema; a missing column is filled with nulls."""
    pa = arrow()
    rows = max(map(len, columns.values()), default=0)
    there = (columns.get(field.name) for field in schema)
    whole = [
        pa.nulls(rows, field.type) if one is None else one for one, field in zip(there, schema, strict=True)
    ]
    return pa.Table.from_arrays(whole, schema=schema)


def of_rows(rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """A table by row, null where one lacks a name."""
    return filled(arrays({name: [row.get(name) for row in rows] for name in schema.names}, schema), schema)


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
    flat: Sequence[Any] | NDArray[Any],
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
    data = np.packbits(data, bitorder="little") if data.dtype == np.bool_ else data
    return pa.Array.from_buffers(kind, len(values), [validity, pa.py_buffer(data)])


def _joined(texts: Sequence[str]) -> tuple[NDArray[np.int32], bytes]:
    """The ends of texts, and these one after the other; a column mostly holds few of them, many times each."""
    known = {text: text.encode() for text in set(texts)}
    if len(known) == 1:
        (text,) = known.values()
        return (np.arange(len(texts) + 1) * len(text)).astype(np.int32), text * len(texts)
    encoded = list(map(known.__getitem__, texts))
    return _ends(list(map(len, encoded))), b"".join(encoded)


def _ends(sizes: Sequence[int]) -> NDArray[np.int32]:
    ends = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=ends[1:])
    return ends.astype(np.int32)


def numbers(array: pa.Array) -> NDArray[Any]:
    """Numbers without nulls, or with anything in their places, where they lie; read-only."""
    kind = np.dtype(array.type.to_pandas_dtype())
    data = array.buffers()[1]
    if data is None:
        return np.empty(0, dtype=kind)
    there = np.frombuffer(data, kind, len(array), array.offset * kind.itemsize)
    there.flags.writeable = False
    return there


def known(array: pa.Array) -> NDArray[np.bool_]:
    """Which values are no nulls."""
    validity = array.buffers()[0]
    if validity is None or not len(array):
        return np.ones(len(array), dtype=np.bool_)
    end = array.offset + len(array)
    bits = np.unpackbits(np.frombuffer(validity, np.uint8), count=end, bitorder="little")
    return bits[array.offset :].astype(np.bool_)

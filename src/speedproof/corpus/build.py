"""From records to a corpus, in bounded memory: rows come in and sink to the leaves of a tree of files.

Rows gather in the root. A node that holds too many hands them to its sixteen children by the next digit of the
hash of their benchmark; what is at rest lies in the leaves, each one file sorted by benchmark. The manifest is
replaced when everything that it names is written: whatever kills a build, the corpus is the state before or after.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import contextmanager, suppress
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from speedproof.corpus.place import Place, arrow, column, fingerprint, of_rows, parquet, storage_errors
from speedproof.corpus.schema import File, Manifest, clean, columns, digest, merged, reject_columns, table
from speedproof.data.names import MANIFEST
from speedproof.data.record import FileResults, Record, Skipped
from speedproof.errors import Parameter, SpeedproofError, UnknownFormatError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

REJECTS = "rejects.parquet"
_INPUTS = "inputs"
ROWS, VALUES = 1 << 13, 1 << 22  # of a leaf at most: a task of some seconds, 32 MB
_DEPTH = 8
_NAMED = 1000  # things left out of one file that are named
_TEXTS = [
    "benchmark", "metric", "version", "unit", "direction", "machine", "session", "commit", "tool", "file",
]  # fmt: skip


def build(
    place: Place, read: Callable[[Builder], Iterable[tuple[str, FileResults]]], *, append: bool = False
) -> Manifest:
    """Fill a corpus with what ``read`` yields: each file with the version of records that name none.

    An interrupted build goes on; a complete corpus takes more when ``append`` says so. Ctrl-C keeps what is read.
    """
    refused, first = 0, tuple[Any, ...]()
    with _locked(place):
        builder = Builder(place, append)
        before = builder.manifest.rows
        try:
            for version, results in read(builder):
                builder.add(version, results)
                if results.reject is not None:
                    refused, first = refused + 1, first or results.reject.args
            manifest = builder.finish()
            if manifest.rows == (before if refused else 0):
                more = f" (and {refused - 1} more)" if refused > 1 else ""
                raise SpeedproofError(
                    "nothing could be read: ", *(first or ("no file holds a sample",)), more
                )
        except KeyboardInterrupt:
            builder.abandon()
            builder.flush()
            raise
        except SpeedproofError:
            if not builder.manifest.files:
                for file in (*place.files("data"), *place.files(_INPUTS), REJECTS, MANIFEST):
                    place.remove(file)
            raise
    return manifest


class Builder:
    """A corpus under construction."""

    def __init__(self, place: Place, append: bool) -> None:
        self.place = place
        known = Manifest.of(place)
        if known is not None and known.complete and not append:
            raise UsageError(
                f"{place.name}: a corpus is already there; add to it with ", Parameter("append", True)
            )
        self.manifest = known or Manifest()
        self.manifest.complete = False
        self._nodes: dict[str, list[File]] = {}
        for file in self.manifest.files:
            self._nodes.setdefault(file.prefix, []).append(file)
        self._split = {prefix[:k] for prefix in self._nodes for k in range(len(prefix))}
        self._remove_orphans()
        self._inputs: set[tuple[str, str]] = set()
        self._ledger: list[dict[str, Any]] = []
        self._rejects: dict[str, list[dict[str, str]]] = {}
        for name in place.files(_INPUTS):
            if not name.endswith(".parquet") or int(Path(name).stem) > self.manifest.serial:
                place.remove(name)  # of a state that never came to be
            else:
                self._inputs |= {tuple(row.values()) for row in place.table(name, _ledger()).to_pylist()}
        if place.has(REJECTS):
            for row in place.table(REJECTS, reject_columns()).to_pylist():
                self._rejects.setdefault(row["file"], []).append(row)
        self._rows: list[tuple[int, str, Record]] = []
        self._values = 0
        self._gone: list[File] = []
        # Of the file that is read in parts: what is written, what is told of it, the number of its first row.
        self._staged: list[File] = []
        self._counts = (Counter[str](), Counter[str]())  # its rows by version and metric
        self._skipped: list[dict[str, str]] = []
        self._unnamed = 0
        self._begun: int | None = None
        self.manifest.write(place)

    def has(self, path: str) -> bool:
        """Whether an unchanged file is in the corpus already."""
        return (_full(path), _stamp(path)) in self._inputs

    def add(self, version: str, results: FileResults) -> None:
        """Take what one file holds, or a part of it; its rows count when it proved good to its end."""
        if results.more and self._begun is None:
            if self._rows:
                self.flush()
            self._begun = self.manifest.rows
        if results.reject is not None:
            self.abandon()
        self._tell(results)
        for record in merged(results.records):
            self._rows.append((self.manifest.rows, record.version or version, record))
            self.manifest.rows += 1
            self._values += record.values.size
        full = len(self._rows) >= ROWS or self._values >= VALUES
        if results.more:
            if full:
                self._stage()
            return
        if results.reject is None:
            self._ledger.append({"file": _full(results.path), "stamp": _stamp(results.path)})
            self.manifest.inputs += 1
        self._rejects.pop(results.path, None)
        if self._unnamed:
            more = f"{self._unnamed} more were left out of this file"
            self._skipped.append(_reject(Skipped(results.path, "", "", more)))
        if self._skipped:
            self._rejects[results.path] = self._skipped
        self._skipped, self._unnamed = [], 0
        self._begun = None
        if full or self._staged:
            self.flush()

    def _tell(self, results: FileResults) -> None:
        """Note what of a file is left out: all of it, or so much as somebody will read."""
        name = results.path
        if (error := results.reject) is not None:
            reason = error.on_command_line().removeprefix(f"{name}: ").removeprefix(f"{error.where}: ")
            known = not isinstance(error, UnknownFormatError)
            self._skipped = [_reject(Skipped(name, error.where, "", reason, unread=known))]
            self._unnamed = 0
            return
        skipped = [s for s in results.skipped if not s.expected]
        room = _NAMED - len(self._skipped)
        for s in skipped[:room]:
            self._skipped.append(_reject(replace(s, path=name, where=s.where.removeprefix(f"{name}: "))))
        self._unnamed += len(skipped[room:])

    def abandon(self) -> None:
        """Forget the file that is being read."""
        if self._begun is not None:
            for file in self._staged:
                self.place.remove(file.path)
            self._staged, self._counts, self._rows, self._values = [], (Counter(), Counter()), [], 0
            self.manifest.rows, self._begun = self._begun, None

    def _stage(self) -> None:
        """Write the rows that have gathered, of which no manifest knows yet."""
        versions, metrics = self._counts
        for version, count in Counter(version for _, version, _ in self._rows).items():
            versions[clean(version)] += count
        metrics.update(record.metric for _, _, record in self._rows)
        # What memory holds is the root: the rest of a file in parts is never written there, and read again.
        deep = "" in self._split or self._staged
        nodes: dict[str, list[tuple[int, str, Record]]] = {}
        for row in sorted(self._rows, key=lambda row: (row[2].benchmark, row[2].metric, row[1], row[0])):
            nodes.setdefault(digest(row[2].benchmark)[0] if deep else "", []).append(row)
        self._staged += [self._written(prefix, table(rows)) for prefix, rows in nodes.items()]
        self._rows, self._values = [], 0

    def flush(self) -> None:
        """Write what has gathered and make it the state of the corpus."""
        if self._rows:
            self._stage()
        if self._staged:
            versions, metrics = self._counts
            self.manifest.versions = dict(Counter(self.manifest.versions) + versions)
            self.manifest.metrics = dict(Counter(self.manifest.metrics) + metrics)
            self.manifest.values += sum(file.values for file in self._staged)
            for file in self._staged:
                self._nodes.setdefault(file.prefix, []).append(file)
                self._split |= {"" for _ in file.prefix}
            for prefix in sorted({file.prefix for file in self._staged}):
                if self._over(prefix):
                    self._sink(prefix)
            self._staged, self._counts = [], (Counter(), Counter())
        if self._ledger:
            self.manifest.serial += 1
            self.place.write(
                f"{_INPUTS}/{self.manifest.serial:06d}.parquet", parquet(of_rows(self._ledger, _ledger()))
            )
            self._ledger = []
        self._commit()

    def finish(self) -> Manifest:
        """Let everything sink to the leaves, each one sorted file."""
        self.flush()
        self._settle("")
        self.manifest.complete = True
        self._commit()
        return self.manifest

    def _commit(self) -> None:
        rejects = [row for rows in self._rejects.values() for row in rows]
        self.manifest.rejects = len(rejects)
        if rejects or self.place.has(REJECTS):
            self.place.write(REJECTS, parquet(of_rows(rejects, reject_columns())))
        self.manifest.files = [file for prefix in sorted(self._nodes) for file in self._nodes[prefix]]
        self.manifest.write(self.place)
        for file in self._gone:
            self.place.remove(file.path)
        self._gone = []

    def _over(self, prefix: str) -> bool:
        files = self._nodes.get(prefix, [])
        return len(prefix) < _DEPTH and (
            sum(f.rows for f in files) > ROWS or sum(f.values for f in files) > VALUES
        )

    def _settle(self, prefix: str) -> None:
        if self._over(prefix) or (prefix in self._split and self._nodes.get(prefix)):
            self._sink(prefix)
        if prefix in self._split:
            for digit in "0123456789abcdef":
                self._settle(prefix + digit)
        else:
            self._join(prefix)

    def _join(self, prefix: str) -> None:
        """Make one file of a leaf; several where one benchmark alone would not fit into memory."""
        for files in _batches(self._nodes.pop(prefix, [])):
            if len(files) == 1:
                self._nodes.setdefault(prefix, []).append(files[0])
            else:
                self._nodes.setdefault(prefix, []).append(self._written(prefix, self._take(files)))

    def _sink(self, prefix: str) -> None:
        """Hand the rows of a node to its children, and on where one of these has too many."""
        self._split.add(prefix)
        children: set[str] = set()
        for files in _batches(self._nodes.pop(prefix, [])):
            rows = self._take(files)
            names = rows["benchmark"].to_pylist()
            digits = {name: digest(name)[len(prefix)] for name in set(names)}
            nodes: dict[str, list[int]] = {}
            for i, name in enumerate(names):
                nodes.setdefault(prefix + digits[name], []).append(i)
            for child, some in nodes.items():
                node = self._written(child, rows.take(column(some, arrow().int64())))
                self._nodes.setdefault(child, []).append(node)
            children |= nodes.keys()
        for child in sorted(children):
            if self._over(child):
                self._sink(child)

    def _take(self, files: list[File]) -> pa.Table:
        """The rows of files, sorted."""
        self._gone += files
        rows = arrow().concat_tables([self.place.table(file.path, columns()) for file in files])
        return rows.sort_by([(name, "ascending") for name in ("benchmark", "metric", "version", "row")])

    def _written(self, prefix: str, rows: pa.Table) -> File:
        self.manifest.serial += 1
        values = sum(rows["n"].to_pylist())
        content = parquet(rows, use_dictionary=_TEXTS)
        # Another content has another name, so that nothing known of this file outlives it.
        name = f"{self.manifest.serial:06d}-{fingerprint(content)}.parquet"
        path = "/".join(("data", *filter(None, [prefix]), name))
        self.place.write(path, content)
        return File(path, rows.num_rows, values, len(content))

    def _remove_orphans(self) -> None:
        """Delete what a killed build wrote and no manifest names."""
        self.place.tidy()
        named = {file.path for file in self.manifest.files}
        for file in self.place.files("data"):
            if file not in named:
                self.place.remove(file)


def _ledger() -> pa.Schema:
    """The columns of what was read: files, each with its size and time."""
    pa = arrow()
    return pa.schema([pa.field(name, pa.string(), nullable=False) for name in ("file", "stamp")])


def _reject(of: Skipped) -> dict[str, str]:
    place = {"file": clean(of.path), "place": of.where, "benchmark": of.benchmark, "reason": of.reason}
    return place | {"version": of.version or "", "lacks": "yes" * of.lacks, "unread": "yes" * of.unread}


def _batches(files: list[File]) -> Iterator[list[File]]:
    """Files in turn, as many at once as memory may hold, and at least one."""
    while files:
        values, rows = accumulate(f.values for f in files), accumulate(f.rows for f in files)
        count = sum(v <= VALUES and r <= ROWS for v, r in zip(values, rows, strict=True))
        yield files[: max(count, 1)]
        files = files[max(count, 1) :]


def _full(path: str) -> str:
    return str(clean(os.path.abspath(path)))  # noqa: PTH100 (a member of an archive is no path)


def _stamp(path: str) -> str:
    """Size and time of change of a file, of the archive where it is a member of one."""
    for file in (Path(path), *Path(path).parents):
        try:
            if file.is_file():
                facts = file.stat()
                return f"{facts.st_size} {facts.st_mtime_ns}"
        except OSError:
            continue
    return ""


@contextmanager
def _locked(place: Place) -> Iterator[None]:
    """Keep a second build out of a corpus on this machine."""
    if not place.local:
        yield
        return
    import fcntl

    folder = Path(place.root)
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{place.name}: is a file; a corpus is a folder")
    made = [one for one in (folder, *folder.parents) if not one.exists()]
    with storage_errors(f"cannot write {place.name}"):
        folder.mkdir(parents=True, exist_ok=True)
        others = any(f.is_file() and not f.name.startswith((".lock", MANIFEST)) for f in folder.rglob("*"))
        if others and Manifest.of(place) is None:
            raise UsageError(f"{place.name}: holds other files; name a new folder for the corpus")
        opened = (folder / ".lock").open("w")
    with opened as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(f"{place.name}: another build is writing to this corpus") from None
        try:
            yield
        finally:
            if not place.has(MANIFEST):  # a build that keeps nothing leaves nothing
                (folder / ".lock").unlink()
                within = [Path(at) for at, *_ in os.walk(folder, topdown=False)][:-1]
                with suppress(OSError):
                    for one in (*within, *made):
                        one.rmdir()

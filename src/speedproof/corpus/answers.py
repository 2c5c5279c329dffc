"""One question to every part of a corpus: a Parquet file of answers a part, which is there or is still to do.

The folder of answers bears the name of its question, so that the same command goes on where another was killed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from math import inf
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from speedproof import __version__
from speedproof.corpus.engine import run
from speedproof.corpus.place import Place, fingerprint, parquet
from speedproof.corpus.read import ANSWER, database, duck, parts_of, register
from speedproof.corpus.schema import finished
from speedproof.errors import SpeedproofError, UsageError

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

_NOTE = "speedproof"
FLOOR_FILE = "floor.msgpack"
"""How much sessions differ, where comparisons are held against that."""


class How(Struct, frozen=True):
    """Where answers go, who works, and who is told: of all parts and those done before, then of each part."""

    out: str | os.PathLike[str] | None = None
    workers: int = 1
    dask: str | None = None
    started: Callable[[int, int], None] = lambda parts, done: None
    done: Callable[[], None] = lambda: None


HERE = How()


class Task(Struct, frozen=True):
    """A part of a corpus, or a share of its benchmarks, with the question and the file of its answers."""

    corpus: str  # the folder or URL, and the files of this part
    files: tuple[str, ...]
    asked: Any
    out: str
    file: str
    share: tuple[int, int]

    @property
    def name(self) -> str:
        """What it works on, for messages."""
        return f"{self.corpus}/{self.files[0]}"

    def keep(self, rows: pa.Table, note: object = None, **options: Any) -> None:
        """Write the answers, with a note in the footer."""
        rows = rows.replace_schema_metadata({_NOTE: json.dumps(note)})
        Place.of(self.out).write(self.file, parquet(rows, **options))


class _Claim(msgspec.Struct, frozen=True):
    """What a folder of answers says of itself."""

    speedproof: str
    corpus: str
    question: str
    asked: Any
    tasks: int
    state: str = ""  # digest of the names of the corpus' files


class Answers(Struct, frozen=True):
    """What became of a question."""

    corpus: str  # as the user calls it
    place: Place  # the folder of answers
    files: tuple[str, ...]  # the answers' files that are there, in the order of the parts
    parts: int  # how many there should be
    failures: tuple[str, ...]  # parts without an answer, and why

    @property
    def about(self) -> dict[str, Any]:
        """What every result says of them."""
        known = {"corpus": self.corpus, "answers": self.place.name}
        return {**known, "parts": self.parts, "failures": self.failures}

    def forget(self) -> None:
        """Delete the files, so that they do not stand before earlier answers."""
        for file in (*self.files, FLOOR_FILE, ANSWER):
            self.place.remove(file)
        self.place.drop("answers")

    @contextmanager
    def table(self, columns: pa.Schema) -> Iterator[duckdb.DuckDBPyConnection]:
        """All rows of these columns, as the table ``answers`` of a database."""
        with database(self.place) as connection:
            register(connection, "answers", self.place, self.files, columns)
            yield connection

    def notes(self) -> Iterator[Any]:
        """What each file says in its footer, in their order."""
        for file in self.files:
            yield self.place.note(file, _NOTE)


def answered(
    corpus: str | os.PathLike[str],
    question: str,
    asked: Any,
    work: Callable[[Task], object],
    how: How,
    worth: float = inf,
    beside: Mapping[str, bytes] | None = None,
) -> Answers:
    """Let ``work`` answer every part that has no answer yet.

    ``asked`` is what tasks are given and what the folder is named by. Where a row is much work, ``worth`` rows are
    a task: every task then takes a share of a part's benchmarks. Files ``beside`` the answers are for all tasks.
    """
    place, manifest = finished(corpus)
    rows = {file.path: file.rows for file in manifest.files}
    shares = [
        (part, (k, of))
        for part in parts_of(manifest.files)
        for of in [max(1, int(sum(rows[f] for f in part) // worth))]
        for k in range(of)
    ]
    request = msgspec.json.decode(msgspec.json.encode(asked))
    state = fingerprint(msgspec.json.encode(list(rows)))
    claim = _Claim(__version__, place.lasting, question, request, len(shares), state)
    name = fingerprint(msgspec.json.encode(claim, order="sorted"))
    target = Place.of(how.out) if how.out is not None else place.below(f"answers/{name}")
    target.tidy()
    _claim(target, claim)
    names = [f"part-{i:05d}.parquet" for i in range(len(shares))]
    there = set(target.files())
    for file, content in (beside or {}).items():
        if file not in there:
            target.write(file, content)
    tasks = [
        Task(place.lasting, part, asked, target.lasting, file, share)
        for (part, share), file in zip(shares, names, strict=True)
        if file not in there
    ]
    how.started(len(shares), len(shares) - len(tasks))
    failures = set[str]()
    try:
        for outcome in run(work, tasks, workers=how.workers, dask=how.dask, meanwhile=duck):
            if isinstance(outcome, SpeedproofError):
                failures.add(str(outcome))
            how.done()
    finally:
        there = set(target.files())
        files = tuple(name for name in names if name in there)
        answers = Answers(place.name, target, files, len(shares), tuple(sorted(failures)))
        if not files:  # as of a question that is refused
            answers.forget()
    return answers


def _claim(target: Place, claim: _Claim) -> None:
    """Make a folder the one of this question."""
    if target.has(ANSWER):
        try:
            known = msgspec.json.decode(target.read(ANSWER), type=_Claim)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise SpeedproofError(f"{target.name}/{ANSWER}: damaged: {error}") from None
        if known != claim:
            raise UsageError(
                f"{target.name}: holds the answers to another question, or of another state of the corpus; "
                "name another folder"
            )
        return
    if target.files():
        raise UsageError(f"{target.name}: holds other files; name a new folder for the answers")
    target.write(ANSWER, msgspec.json.format(msgspec.json.encode(claim)))

"""An open corpus: its tables, its records, SQL over them, and what it holds in counts."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from speedproof.corpus.build import REJECTS
from speedproof.corpus.place import Place, arrow, filled
from speedproof.corpus.place import column as column_of
from speedproof.corpus.schema import File, Manifest, columns, opened, records, reject_columns
from speedproof.data.record import Record, Skipped
from speedproof.errors import Parameter, SpeedproofError, UsageError
from speedproof.options import SESSION_ASKS, SessionAsked

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa
from collections.abc import Iterable, Mapping
from functools import partial

from msgspec import Struct

from speedproof.corpus.schema import COMMITS, MACHINES

ANSWER = "answers.json"
"""What a folder of answers says of itself."""

TASK = 1 << 12  # rows that are worth a task
_TASK_VALUES = 1 << 21
_MANY = 1 << 13  # tasks from which on each is four times as large


def parts_of(files: Sequence[File]) -> list[tuple[str, ...]]:
    """The corpus in parts of equal work, of up to two seconds each; they depend on what it holds alone."""
    leaves: dict[str, list[File]] = {}
    for file in files:
        leaves.setdefault(file.path.rpartition("/")[0], []).append(file)
    # The files of one leaf share benchmarks. Parts of equal work let no worker wait long for another's last one.
    worth = [sum(max(f.rows / TASK, f.values / _TASK_VALUES) for f in some) for some in leaves.values()]
    whole = max(1.0, sum(worth))
    count = 1 << math.ceil(math.log2(whole))  # as leaves come in sixteens
    count = max(min(count, _MANY), count // 4)  # a scheduler takes some hundred tasks a second
    parts: dict[int, list[str]] = {}
    before = 0.0
    for some, weight in zip(leaves.values(), worth, strict=True):
        middle = (before + weight / 2) / whole
        parts.setdefault(int(count * middle), []).extend(file.path for file in some)
        before += weight
    return [tuple(files) for files in parts.values()]


def rows_of(
    corpus: str, files: Sequence[str], where: str | None = None, **chosen: Collection[str] | None
) -> pa.Table:
    """The rows of a part that a condition lets through.

    Of ``benchmark``, ``metric`` and ``version`` those that are ``chosen``.
    """
    place, tables = Place.of(corpus), []
    for file in files:  # one at a time, so that memory holds what is chosen and one file
        rows = place.table(file, columns())
        for column, names in chosen.items():
            if names is not None:
                rows = within(rows, column, names)
        if where:
            with database() as connection:
                connection.register("corpus", rows)
                rows = run(lambda: matching(connection, where), where).cast(columns())
        tables.append(rows)
    return arrow().concat_tables(tables)


def within(rows: pa.Table, column: str, names: Collection[str]) -> pa.Table:
    """The rows whose text in a column is one of these."""
    chosen = set(names)
    mask = [name in chosen for name in rows[column].to_pylist()]
    return rows if all(mask) else rows.filter(column_of(mask, arrow().bool_()))  # which copies all values


def read_records(name: str, where: str | None = None) -> Iterator[Record | Skipped]:
    """Everything in a corpus that a condition lets through, in the order in which it was read.

    What was left out of its files follows.
    """
    place, manifest = opened(name)
    chosen = [
        numbered
        for files in parts_of(manifest.files)
        for numbered in records(rows_of(place.lasting, files, where))
    ]
    for _, record in sorted(chosen, key=lambda numbered: numbered[0]):
        yield record
    yield from rejected(name, where)


_KNOWN = "nullif(benchmark, '') AS benchmark, nullif(version, '') AS version"
_REJECTS_AS_ROWS = f"FROM nothing UNION ALL BY NAME SELECT * REPLACE ({_KNOWN}) FROM rejects"


def rejected(name: str, where: str | None = None) -> Iterator[Skipped]:
    """What was left out of the files of a corpus, but for what a condition excludes."""
    place, manifest = opened(name)
    rejects = place.table(REJECTS, reject_columns()) if manifest.rejects else reject_columns().empty_table()
    if where:
        with database() as connection:
            connection.register("nothing", columns().empty_table())
            connection.register("rejects", rejects)
            known = connection.sql(_REJECTS_AS_ROWS)
            rejects = run(lambda: known.filter(f"({where}) IS NOT FALSE"), where).select(rejects.column_names)
    for row in rejects.to_pylist():
        file, at, benchmark, reason, version, lacks, unread = row.values()
        yield Skipped(file, at, benchmark or "", reason, False, version or None, bool(lacks), bool(unread))


def duck() -> Any:
    """The module duckdb, or an error that says how to get it."""
    try:
        import duckdb
    except ImportError:
        raise UsageError(
            "SQL and ", Parameter("where"), " need DuckDB: pip install 'speedproof[corpus]'"
        ) from None
    return duckdb


@contextmanager
def database(place: Place | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """DuckDB in memory, which can open files of one place alone; what it cannot read is damaged."""
    duckdb = duck()
    with duckdb.connect(
        config={"python_enable_replacements": "false", "autoinstall_known_extensions": "false"}
    ) as connection:
        if place is not None and place.local:  # what is remote is read by PyArrow
            connection.execute("SET allowed_directories = $1", [[place.root]])
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        try:
            yield connection
        except (duckdb.Error, RuntimeError) as error:  # the latter by releases before 1.3
            raise SpeedproofError(
                f"a file of the corpus is damaged or gone, build it anew ({str(error).splitlines()[0]})"
            ) from None


def fetched(connection: duckdb.DuckDBPyConnection, sql: str, *values: Any) -> list[tuple[Any, ...]]:
    """The rows of a query of ours."""
    return connection.execute(sql, values).fetchall()


def matching(connection: duckdb.DuckDBPyConnection, where: str | None) -> duckdb.DuckDBPyRelation:
    """The rows of the table ``corpus`` for which an expression is true."""
    rows = connection.sql("FROM corpus")
    return rows.filter(where) if where else rows


def run(asked: Callable[[], duckdb.DuckDBPyRelation], shown: str) -> pa.Table:
    """What DuckDB says to a question; its errors in words."""
    import duckdb

    try:
        return asked().to_arrow_table()
    except duckdb.OutOfMemoryException as error:
        raise SpeedproofError(f"{shown}: the query takes too much memory: {error}") from None
    except duckdb.Error as error:
        text = str(error).partition("\n\nLINE")[0].replace("\n", " ")
        if missing := re.search(r'Referenced column "(.*?)" not found', text):
            text = f"there is no column {missing[1]}; a corpus has {', '.join(columns().names)}"
        elif missing := re.search(r"Table with name (\w+) does not exist", text):
            text = f"there is no table {missing[1]}; there are corpus and rejects, or answers in their own folder"
        raise UsageError(f"{shown}: {text}") from None


def query(name: str | os.PathLike[str], sql: str) -> pa.Table:
    """What a query gives: over ``corpus`` and ``rejects``, or over the ``answers`` of a folder of these."""
    place = Place.of(name)
    with database(place) as connection:
        _reads_only(connection, sql)
        if place.has(ANSWER):
            register(connection, "answers", place, [f for f in place.files() if f.endswith(".parquet")])
        else:
            of_corpus(connection, *opened(name))
        table = run(lambda: connection.sql(sql), sql)
    return table.cast(_plain(table.schema))


def question(name: str, where: str | None, versions: Collection[str] = ()) -> SessionAsked:
    """What the sessions of ``run`` that rows are of were to decide, where they agree and hold all of them."""
    place, manifest = opened(name)
    named = " OR ".join(f"version = {quoted(version)}" for version in versions) or "true"
    said = f"CASE tool WHEN 'speedproof' THEN tags[{quoted(SESSION_ASKS)}] ELSE '' END"
    try:
        with database(place) as connection:
            of_corpus(connection, place, manifest)
            run(lambda: matching(connection, where).create_view("chosen").limit(0), where or "")
            answers = connection.sql(f"SELECT DISTINCT {said} AS said FROM chosen WHERE {named} LIMIT 2")
            (one, *others) = (said for (said,) in answers.fetchall() or [("",)])
    except UsageError:
        raise
    except SpeedproofError:  # a damaged file, which is named where it is compared
        return SessionAsked.of("")
    return SessionAsked.of("" if others else one or "")


def quoted(text: str) -> str:
    """A text in SQL."""
    return "'" + text.replace("'", "''") + "'"


def _reads_only(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Refuse what is not one SELECT."""
    import duckdb

    try:
        kinds = [statement.type.name for statement in connection.extract_statements(sql)]
    except duckdb.Error:  # told where it is run
        return
    if kinds != ["SELECT"]:
        raise UsageError(
            f"{sql!r} is no query, which is one SELECT and only reads; to save its rows, add '> FILE' to the "
            "command"
        )


def _plain(given: pa.Schema) -> pa.Schema:
    """Sums of whole numbers, which DuckDB gives 128 bits, as whole numbers of 64."""
    pa = arrow()
    for i, field in enumerate(given):
        if pa.types.is_decimal(field.type):
            given = given.set(i, pa.field(field.name, pa.float64() if field.type.scale else pa.int64()))
    return given


def of_corpus(connection: duckdb.DuckDBPyConnection, place: Place, manifest: Manifest) -> None:
    """Give a database the tables of a corpus."""
    register(connection, "corpus", place, [file.path for file in manifest.files], columns())
    register(connection, "rejects", place, [REJECTS] if place.has(REJECTS) else [], reject_columns())


def register(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    place: Place,
    files: Sequence[str],
    empty: pa.Schema | None = None,
) -> None:
    """Make a table of Parquet files; with the given columns where there are none."""
    if not files:
        connection.register(name, filled({}, empty or arrow().schema([])))
    elif place.local:
        paths = [place.at(file) for file in files]
        rows = connection.read_parquet(paths, hive_partitioning=False)
        if empty is not None:
            known = connection.from_arrow(filled({}, empty))
            if (rows.columns, rows.types) != (known.columns, known.types):
                raise SpeedproofError(
                    f"{place.name}: a file is damaged: it lacks columns of the table {name}"
                )
        rows.create_view(name)
    else:
        import pyarrow.dataset as ds

        connection.register(name, ds.dataset([place.at(file) for file in files], filesystem=place.fs))


_NAMED = 3
_OF_MANIFEST = ("schema", "complete", "rows", "values", "inputs", "rejects")
_COUNTS = """
SELECT count(DISTINCT benchmark), count(DISTINCT machine), count(DISTINCT session) FROM corpus
"""
_METRICS = "SELECT metric, count(*) FROM corpus GROUP BY metric ORDER BY count(*) DESC, metric"
_MIXED = """
SELECT benchmark, metric, string_agg(DISTINCT unit, ', ' ORDER BY unit) FROM corpus
GROUP BY benchmark, metric HAVING count(DISTINCT unit) > 1 ORDER BY benchmark, metric
"""
_TAGS = "SELECT DISTINCT unnest(map_keys(tags)) AS tag FROM corpus ORDER BY tag"
_POOLED = """
WITH several AS (SELECT benchmark, metric, version, count(*) AS k FROM corpus GROUP BY ALL HAVING k > 1),
one AS (SELECT version, arg_max({'benchmark': benchmark, 'metric': metric}, k) AS most FROM several GROUP BY 1)
SELECT DISTINCT version, map_keys(tags), map_values(tags) FROM corpus JOIN one USING (version)
WHERE corpus.benchmark = most.benchmark AND corpus.metric = most.metric
"""
_REJECTS = 'SELECT file, place, reason FROM rejects ORDER BY file, "place" LIMIT ?'


class CorpusInfo(Struct, frozen=True):
    """What a corpus holds."""

    name: str  # the folder or URL
    schema: int  # of its columns
    complete: bool  # false after a build that was cut short, which the same command goes on with
    # Samples, measured values, Parquet files, their size, and files read
    rows: int
    values: int
    files: int
    bytes: int
    inputs: int
    # How many different ones
    benchmarks: int
    machines: int
    sessions: int
    versions: tuple[tuple[str, int], ...]  # each with its rows, in order of first appearance
    metrics: tuple[tuple[str, int], ...]  # each with its rows, the most frequent first
    # Benchmark, metric and units where there are several: such rows are never compared with each other
    mixed: tuple[tuple[str, str, str], ...]
    tags: tuple[str, ...]  # the keys of ``tags``
    # Versions with rows of one benchmark that differ in their tags, by the benchmark with the most rows
    pooled: tuple[str, ...]
    apart: tuple[str, ...]  # these tags
    rejects: int  # files, or parts of files, that could not be read
    rejected: tuple[tuple[str, str, str], ...]  # the first of them: file, place and reason


def info(name: str | os.PathLike[str]) -> CorpusInfo:
    """Count what a corpus holds."""
    place, manifest = opened(name)
    with database(place) as connection:
        of_corpus(connection, place, manifest)
        rows = partial(fetched, connection)
        (counts,) = rows(_COUNTS)
        pooled, apart = _pooled(rows(_POOLED), tuple(manifest.versions))
        return CorpusInfo(
            name=place.name,
            **{name: getattr(manifest, name) for name in _OF_MANIFEST},
            **dict(zip(("benchmarks", "machines", "sessions"), counts, strict=True)),
            files=len(manifest.files),
            bytes=sum(file.bytes for file in manifest.files),
            versions=tuple(manifest.versions.items()),
            metrics=tuple(rows(_METRICS)),
            mixed=tuple(rows(_MIXED)),
            tags=tuple(tag for (tag,) in rows(_TAGS)),
            pooled=pooled,
            apart=apart,
            rejected=tuple(rows(_REJECTS, _NAMED)),
        )


def _pooled(rows: Iterable[tuple[Any, ...]], order: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Which versions pool rows of different tags, and these tags, those that name commits and machines first."""
    kinds: dict[str, list[Mapping[str, str]]] = {}
    for version, names, texts in rows:
        kinds.setdefault(version, []).append(dict(zip(names, texts, strict=True)))
    pooled, apart = set[str](), set[str]()
    for version, of_version in kinds.items():
        for name in set().union(*of_version) - {"session"}:
            if len({tags[name] for tags in of_version if name in tags}) > 1:
                pooled.add(version)
                apart.add(name)
    first = [*COMMITS, *MACHINES]
    names = sorted(apart, key=lambda name: (first.index(name) if name in first else len(first), name))
    return tuple(v for v in order if v in pooled), tuple(names)

"""The samples behind the largest changes of a corpus, compared again for a page that draws them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from speedproof.corpus.compare import Asked
from speedproof.corpus.place import arrow
from speedproof.corpus.read import database, register, run
from speedproof.corpus.schema import columns, digest, opened, records
from speedproof.data.record import Record
from speedproof.data.suite import Suite
from speedproof.protocols.results import Comparison
from speedproof.protocols.suite import SuiteComparison, compare_suite


def largest(
    corpus: str, chosen: Sequence[Comparison], asked: Asked
) -> Iterator[tuple[SuiteComparison, Suite]]:
    """Of each pair of versions the comparisons that are chosen, with their samples."""
    of_pair: dict[tuple[str, str], set[str]] = {}
    for c in chosen:
        of_pair.setdefault((c.reference.label, c.candidate.label), set()).add(c.benchmark)
    found = _records_of(corpus, sorted(set().union(*of_pair.values())), asked)
    for pair, names in of_pair.items():
        suite = Suite.from_records(
            (r.version, r) for r in found if r.version in pair and r.benchmark in names
        )
        yield compare_suite(suite.pair(*pair), pair, asked.metric, asked.rules, asked.protocols), suite


def _records_of(corpus: str, benchmarks: Sequence[str], asked: Asked) -> list[Record]:
    """Read some benchmarks only: from their own leaves, of which DuckDB skips what their names exclude."""
    place, manifest = opened(corpus)
    hashes = [digest(name) for name in benchmarks]
    files = [f.path for f in manifest.files if any(own.startswith(f.prefix) for own in hashes)]
    with database() as connection:
        register(connection, "corpus", place, files, columns())
        connection.register("chosen", arrow().table({"benchmark": list(benchmarks)}))
        sql = "FROM corpus WHERE benchmark IN (SELECT benchmark FROM chosen)"
        if asked.where:
            sql = f"FROM (SELECT * FROM corpus WHERE ({asked.where})) WHERE benchmark IN (FROM chosen)"
        rows = run(connection, f"{sql} ORDER BY row", asked.where or sql).cast(columns())
    return [record for _, record in records(rows) if record.metric == asked.metric]

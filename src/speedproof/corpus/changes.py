"""What changed over the versions of a corpus: history's tracks and change scan over every benchmark and machine.

The parts reduce samples to one number a sitting; the scan needs no more, and its correction is over all series.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from speedproof.corpus.answers import How, Task, answered
from speedproof.corpus.place import arrow, of_rows
from speedproof.corpus.read import fetched, rows_of
from speedproof.corpus.schema import opened, suite_of
from speedproof.data.names import enumerate_names
from speedproof.errors import Parameter, UsageError
from speedproof.history.changes import Change, Correction, find_history_changes, least_commits
from speedproof.history.commits import Commit, first_parent_order, ordered, resolve_label
from speedproof.history.tracks import Track

if TYPE_CHECKING:
    import pyarrow as pa


class ChangesAsked(Struct, frozen=True):
    """Which samples are followed."""

    metric: str
    where: str | None


class CorpusChange(Struct, frozen=True):
    """A change of one benchmark on one machine; the fields are those of a history's change."""

    benchmark: str
    machine: str
    version: str
    earliest: str
    latest: str
    factor: float
    low: float
    high: float
    pvalue: float
    slower: bool
    drift: bool


class CorpusChanges(Struct, frozen=True):
    """All changes at one risk."""

    # Where, and of what; the answers are a row a sample: its location
    corpus: str
    answers: str
    metric: str
    confidence: float  # of all changes together
    # How many versions are in order, and how many benchmarks on machines were followed
    versions: int
    series: int
    longest: int  # versions of the longest series
    least: int  # versions from which on a series may show a change at this risk
    changes: tuple[CorpusChange, ...]  # the latest first, then the largest
    order: str  # of the versions: that of git, of time, or of the files, which tell no time
    # Parts of the corpus, and why some have no answer
    parts: int
    failures: tuple[str, ...]


def reduce_part(task: Task) -> int:
    """The location of every sample of one part: the median of its processes' medians, of each session."""
    asked: ChangesAsked = task.asked
    rows = rows_of(task.corpus, task.files, asked.where, metric=[asked.metric])
    columns = (rows[name].to_pylist() for name in ("benchmark", "version", "machine"))
    machines = {(benchmark, version): machine for benchmark, version, machine in zip(*columns, strict=True)}
    suite = suite_of(rows)
    answers = [
        {
            "benchmark": key.benchmark,
            "version": version,
            "machine": machines[key.benchmark, version] or "",
            "unit": sample.unit,
            "higher": sample.higher_is_better,
            "began": sample.span[0] if sample.span else None,
            "locations": sample.per_session("median").values.tolist(),
        }
        for (key, version), sample in suite.samples.items()
    ]
    task.keep(of_rows(answers, _columns()))
    return len(answers)


def _columns() -> pa.Schema:
    pa = arrow()
    text = pa.string()
    return pa.schema(
        [("benchmark", text), ("version", text), ("machine", text), ("unit", text), ("higher", pa.bool_()),
         ("began", pa.float64()), ("locations", pa.list_(pa.float64()))]
    )  # fmt: skip


def changes(
    corpus: str | os.PathLike[str],
    asked: ChangesAsked,
    how: How,
    alpha: float,
    correction: Correction,
    repository: str | None,
) -> CorpusChanges:
    """Follow every benchmark on every machine along the versions, in the order of a branch or of time.

    Every sample is reduced to its location first; what an earlier call has reduced is not reduced again.
    """
    answers = answered(corpus, "changes", asked, reduce_part, how)
    with answers.table(_columns()) as connection:
        order, by = _order(connection, opened(corpus)[1].versions, repository)
        table = connection.sql("FROM answers ORDER BY benchmark, machine, unit, higher").to_arrow_table()
    series = _series(table.to_pylist(), order)
    tracks = [track for track, *_ in series]
    changes = find_history_changes(tracks, alpha, correction=correction)
    place = {commit.sha: i for i, commit in enumerate(order)}

    def shown(change: Change) -> CorpusChange:
        track, benchmark, higher = series[change.track.series]
        return CorpusChange(
            benchmark, track.basis, change.commit.sha, change.earliest.sha, change.latest.sha, change.factor,
            *change.bounds, change.pvalue, (change.factor > 1.0) != higher, change.drift,
        )  # fmt: skip

    return CorpusChanges(
        **answers.about,
        metric=asked.metric,
        confidence=1 - alpha,
        versions=len(order),
        series=len(tracks),
        longest=max(map(len, tracks), default=0),
        least=least_commits(tracks, alpha, correction),
        changes=tuple(
            sorted(
                map(shown, changes), key=lambda c: (-place[c.version], -abs(np.log(c.factor)), c.benchmark)
            )
        ),
        order=by,
    )


def _order(connection: Any, versions: dict[str, int], repository: str | None) -> tuple[list[Commit], str]:
    """Versions in the order of git's first parents, else of their measuring, else of their appearance; which."""
    began = dict(fetched(connection, "SELECT version, min(began) FROM answers GROUP BY version"))
    if repository is not None:
        line = first_parent_order("HEAD", repository)
        known = {version: resolve_label(version, repository) for version in began}
        commits = ordered([*known.values()], folder=repository, line=line)
        place = {commit.sha: i for i, commit in enumerate(commits)}
        if place.keys().isdisjoint(line):
            why = f"its branch has none of the versions as commits ({enumerate_names(began, 4)})"
            cure = "check out the branch that has them, or order versions by their times, without "
            raise UsageError(f"{repository}: {why}; {cure}", Parameter("repository"))
        there = [version for version, commit in known.items() if commit.sha in place]
        return [Commit(version) for version in sorted(there, key=lambda v: place[known[v].sha])], "git"
    names = [version for version in versions if version in began]
    if timed := all(began[name] is not None for name in names):
        names.sort(key=lambda name: began[name])
    return [Commit(name) for name in names], "time" if timed else "files"


def _series(rows: Sequence[dict[str, Any]], order: Sequence[Commit]) -> list[tuple[Track, str, bool]]:
    """A track for each benchmark on each machine, with the benchmark and whether higher is better."""
    series: list[tuple[Track, str, bool]] = []
    place = {commit.sha: i for i, commit in enumerate(order)}
    for (benchmark, machine, _, higher), group in groupby(
        rows, key=itemgetter("benchmark", "machine", "unit", "higher")
    ):
        placed = ((place[row["version"]], row["locations"]) for row in group if row["version"] in place)
        every = [(at, location) for at, locations in placed for location in locations if location > 0]
        usable = sorted(every, key=itemgetter(0))
        if usable:
            at = np.array([at for at, _ in usable], dtype=np.int64)
            values = np.log([location for _, location in usable])
            unknown = np.full(at.size, np.nan)
            none = np.zeros(at.size, dtype=np.int64)
            track = Track(len(series), machine, False, order, at, values, unknown, unknown, none, none)
            series.append((track, benchmark, higher))
    return series

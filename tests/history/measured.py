"""Measurements as rows, for tests; the store gives them as columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from tests.command import git, table

import speedproof as sp
from speedproof.data.suite import Key
from speedproof.history.commits import Commit
from speedproof.history.rows import Measurements, StoredSeries
from speedproof.history.tracks import Track, tracks_of

COMMITS = [Commit(f"{i:02d}{'a' * 38}") for i in range(80)]
KNOWN = {0: StoredSeries(0, Key("sort"), "s", False)}


class MeasuredCommit(NamedTuple):
    """A sample of a commit in a session."""

    series: int
    session: int
    machine: int
    commit: Commit
    anchor: bool
    location: float
    sample: int
    low: float = math.nan
    high: float = math.nan


def measurements(rows: Iterable[MeasuredCommit]) -> Measurements:
    found = list(rows)
    commits = tuple(dict.fromkeys(row.commit for row in found))
    series, session, machine, sample = (
        np.array([getattr(row, name) for row in found], dtype=np.int64)
        for name in ("series", "session", "machine", "sample")
    )
    location, low, high = (
        np.array([getattr(row, name) for row in found], dtype=np.float64)
        for name in ("location", "low", "high")
    )
    place = np.array([commits.index(row.commit) for row in found], dtype=np.int64)
    anchor = np.array([row.anchor for row in found], dtype=np.bool_)
    return Measurements(series, session, machine, place, anchor, location, low, high, sample, commits)


def followed(*levels: Sequence[float], commits: Sequence[Commit] = COMMITS) -> tuple[Track, ...]:
    """A track of each series: the logarithms of its commits, in a session each on one machine."""
    rows = [
        MeasuredCommit(s, i, 0, commit, False, math.exp(value), len(commits) * s + i)
        for s, values in enumerate(levels)
        for i, (commit, value) in enumerate(zip(commits, values, strict=False))
    ]
    return tracks_of(measurements(rows), commits, {0: "ant"})


def grown(
    folder: Path,
    commits: Sequence[str] | range,
    levels: Callable[[int], float | Mapping[str, npt.ArrayLike]],
    *,
    noise: float = 0.1,
    seed: int = 2,
    repository: str | Path = "/",
    **more: Any,
) -> sp.History:
    """A store with a file for each commit, c00, c01, ... or others: noise about levels by benchmark."""
    rng, history = np.random.default_rng(seed), sp.History(folder / "s.db", repository)
    named = {of: f"c{of:02d}" for of in commits} if isinstance(commits, range) else dict(enumerate(commits))
    for i, name in named.items():
        of = levels(i)
        told = of if isinstance(of, Mapping) else {"in": of}
        values = {k: np.atleast_1d(v) + noise * rng.standard_normal(np.size(v)) for k, v in told.items()}
        history.add(table(folder / "r.csv", values), commit=name, unit="ms", **more)
    return history


def lines(path: Path, *rows: str) -> str:
    """Write a file of lines."""
    path.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    return str(path)


def committed(folder: Path, contents: Sequence[str]) -> list[str]:
    """A repository with a commit for each content of the file ``pause``: one process, not two a commit."""
    git(folder, "init", "-q", "-b", "main")
    head = "commit refs/heads/main\ncommitter t <t@example.org> {} +0000\ndata <<.\nChange {}\n.\n"
    text = "".join(
        f"{head.format(1_700_000_000 + i, i)}M 644 inline pause\ndata <<.\n{content}\n.\n"
        for i, content in enumerate(contents)
    )
    git(folder, "fast-import", "--quiet", given=text)
    git(folder, "reset", "-q", "--hard")
    return git(folder, "rev-list", "--reverse", "HEAD").split()

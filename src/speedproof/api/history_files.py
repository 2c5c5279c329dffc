"""What a history reads: result files on their way in; series, measurements, commits and tracks of its store."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec.structs import replace

from speedproof.arrays import BoolArray
from speedproof.data.names import enumerate_names, nearest_of, wanted
from speedproof.data.record import Skipped, why_left_out
from speedproof.data.session_file import SessionLine, decode_lines
from speedproof.data.suite import Key, Suite
from speedproof.data.units import Direction
from speedproof.errors import FormatError, Parameter, SpeedproofError, UsageError
from speedproof.formats.source import is_corpus, open_source
from speedproof.formats.speedproof import sniff
from speedproof.formats.suites import all_there, detect, names_given, result_files
from speedproof.formats.suites import read as read_suite
from speedproof.formats.versions import named
from speedproof.history.commits import Commit, alike, commit_named, ordered, resolve, resolve_label, spelt
from speedproof.history.commits import short_name as short_name
from speedproof.history.importers import Imported
from speedproof.history.rows import Added, Measurements, StoredSeries, standing
from speedproof.history.rows import QueriedSample as QueriedSample

if TYPE_CHECKING:
    from speedproof.api.history import History
    from speedproof.history.store import HistoryStore
    from speedproof.history.tracks import Track


_UNNAMED = "command"  # of a session
_OF_COMMIT = ("commit_id", "commit", "commit_hash", "git_commit", "revision", "sha")
_OF_DATE = ("commit_date", "commit_time")
_NO_COMMIT = {"", "unversioned", "unknown", "none"}


def as_one(suite: Suite, path: str) -> Suite:
    """All versions of a file as one: commands of a file are its benchmarks then."""
    if not suite.commands:
        if len(suite.versions) == 1:
            return suite
        versions = enumerate_names(suite.versions, 3)
        if Path(path).is_dir():
            raise UsageError(
                f"{path}: each of its files is a version ({versions}); for sessions of one commit name the "
                f"files, {path}/*"
            )
        raise UsageError(
            f"{path}: holds the versions {versions}; add one, as {path}:{suite.versions[0]}, or name no commit: "
            "then each is added under its own name"
        )
    samples = {(Key(version, key.metric), "all"): sample for (key, version), sample in suite.samples.items()}
    merged: dict[str, dict[str, tuple[str, ...]]] = {"all": {}}
    for fields in suite.fields.values():
        merged["all"] |= fields
    return replace(suite, versions=("all",), samples=samples, fields=merged)


def renamed(suite: Suite, benchmark: str, path: str) -> Suite:
    """With another name of its only benchmark."""
    if len(suite.benchmarks) > 1:
        raise UsageError(
            f"{path}: holds {len(suite.benchmarks)} benchmarks, but ",
            Parameter("benchmark"),
            " can name only one",
        )
    samples = {
        (Key(benchmark, key.metric), version): sample for (key, version), sample in suite.samples.items()
    }
    return replace(suite, samples=samples)


def files_with_sessions(folder: Path) -> list[Path]:
    """The result files of a folder in which 'speedproof run' wrote one: each is a session, and not a version."""
    formats: dict[Path, str] = {}
    for file, _ in result_files(folder) if folder.is_dir() else ():
        with suppress(FormatError):
            formats[file] = detect(file).name
    return list(formats) if "speedproof" in formats.values() else []


def command_in(path: str) -> str:
    """The only command of a file of 'speedproof run' in which nobody named the benchmark; else empty."""
    if not Path(path).is_file() or not sniff((source := open_source(path)).begin):
        return ""
    lines = (line for _, line in decode_lines(source.name, source.lines) if isinstance(line, SessionLine))
    planned = {(b.name, v.text) for line in lines for b in line.benchmarks for v in b.versions}
    (name, command), *others = planned or {("", "")}
    return command if name == _UNNAMED and not others else ""


def values_of(suite: Suite) -> list[tuple[Key, list[float]]]:
    """The values from which a suite's digest is computed."""
    return [(key, sample.values.tolist()) for (key, _), sample in suite.samples.items()]


def digest_of(path: str, suite: Suite, *, chosen: bool) -> str:
    """Digest of the files' content, or of the values read if they come from a corpus or chosen columns."""
    if chosen or is_corpus(path):
        return hashlib.sha256(repr((list(suite.samples), values_of(suite))).encode()).hexdigest()
    digest = hashlib.sha256()
    folder = Path(path)
    for file in sorted(p for p in folder.rglob("*") if p.is_file()) if folder.is_dir() else [folder]:
        digest.update(file.read_bytes())
    return digest.hexdigest()


def start_of(suite: Suite) -> str:
    """The earliest time stamp of the samples in ISO 8601, or an empty string."""
    spans = [one.span for one in suite.arrays[1] if one.span is not None]
    return (
        datetime.fromtimestamp(min(s[0] for s in spans), UTC).isoformat(timespec="seconds") if spans else ""
    )


def version_named(name: str, suite: Suite, path: str, repository: str) -> str:
    """The version with this name, or the only one that git resolves to the same commit."""
    if name in suite.versions:
        return name
    sha = resolve(name, repository).sha
    same = [version for version in suite.versions if resolve_label(version, repository).sha == sha]
    if len(same) != 1:
        there = f"it has {enumerate_names(suite.versions, 4)}"
        if len(suite.versions) == 1:
            there = (
                "an anchor stands in one file with the commit: measure both by 'speedproof run --save FILE'"
            )
        raise UsageError(f"{path}: holds no version {name!r} to be the anchor; {there}")
    return same[0]


def commit_of(
    suite: Suite, version: str, commit: str | None, path: str, repository: str, *, named: bool, date: str = ""
) -> Commit:
    """The commit of a version: as given, by its name, from the file's fields, by a hash, or else HEAD.

    Its date is git's, the file's, or else the one given.
    """
    fields = suite.fields.get(version, {})
    date = next((fields[name][0] for name in _OF_DATE if fields.get(name)), date)
    if commit is not None:
        return resolve(commit, repository, date=date, asked=True)
    if named:
        return resolve_label(version, repository, date=date)
    commits = [
        value for name in _OF_COMMIT for value in fields.get(name, ()) if value.lower() not in _NO_COMMIT
    ]
    if len(set(commits)) > 1:
        raise UsageError(
            f"{path}: names several commits ({', '.join(dict.fromkeys(commits))}); name one with ",
            Parameter("commit"),
        )
    if commits:
        return resolve(commits[0], repository, date=date)
    for name in (version, Path(path).stem):
        if (hashed := commit_named(name, repository, date=date)) is not None:
            return hashed
    try:
        return resolve("HEAD", repository)
    except UsageError as error:
        cause = str(error).removeprefix("HEAD: ")
        raise UsageError(
            f"{path}: names no commit, and {cause}; name the commit with ",
            Parameter("commit"),
            ", which all files of one call share, or each as COMMIT=FILE",
        ) from None


def named_commit(argument: str, commit: str | None) -> tuple[str | None, str, str]:
    """The commit, the path and the version of ``COMMIT=FILE:VERSION``."""
    given = named(argument)
    if given.name and commit not in (None, given.name):
        raise UsageError(f"{argument}: names one commit, ", Parameter("commit", commit), " another")
    if len(given.paths) > 1:
        raise UsageError(f"{argument}: add one file at a time, each as COMMIT=FILE")
    return given.name or commit, given.paths[0], given.version


def add_file(
    history: History,
    path: str,
    commit: str | None = None,
    *,
    branch: str,
    session: str,
    anchor: str | None,
    machine: str,
    version: str = "",
    started: str = "",
    benchmark: str = "",
    only: Key | None = None,
    **reading: Any,
) -> Added:
    """One result file or folder, see :meth:`History.add`; ``branch`` is the one that is checked out.

    ``only`` leaves out all other benchmarks and metrics.
    """
    suite = read_suite(f"{path}:{version}" if version else path, **reading)
    versions = suite if commit is None and not suite.commands else as_one(suite, path)
    command = suite.versions[0] if version and read_suite(path, **reading).commands else ""
    if benchmark := benchmark or command or command_in(path):
        versions = renamed(versions, benchmark, path)
    if only is not None:
        versions = replace(versions, samples={k: s for k, s in versions.samples.items() if k[0] == only})
    if anchor is not None:
        anchor = version_named(anchor, versions, path, history.repository)
    named = len(versions.versions) > 1 or bool(version and not command)
    known: dict[str, Any] = {"path": path, "repository": history.repository, "named": named, "date": started}
    commits = {
        name: _as_stored(history, commit_of(versions, name, commit, **known)) for name in versions.versions
    }
    added = history.made().add(
        versions,
        commits,
        path=path,
        digest=digest_of(path, suite, chosen=bool(reading.get("columns"))),
        session=session,
        anchor=anchor,
        started=started or start_of(versions),
        branch=branch,
        machine=machine,
    )
    unknown = dict.fromkeys(c.sha for c in commits.values() if branch and not c.subject)
    lost = tuple(f"left out: {line}" for line in why_left_out(suite.skipped))
    return replace(added, unknown=tuple(unknown), problems=(*lost, *added.problems))


def _as_stored(history: History, commit: Commit) -> Commit:
    """The commit; if git does not know it, the only stored commit with a matching name."""
    near = [] if commit.subject else [c for c in history.made().commits() if alike(c.sha, commit.sha)]
    return near[0] if len(near) == 1 else commit


def add_all(
    history: History,
    path: str,
    imported: Iterable[Imported | Path | str],
    *,
    session: str,
    machine: str,
    higher_is_better: str | Sequence[str],
    done: Callable[[int, int], object],
    together: bool = False,
    **asked: Any,
) -> Added:
    """Every commit of another tool's history, each a session unless ``together``; bad files are told."""
    parts: list[Added] = []
    problems: list[str] = []
    lost: list[Skipped] = []
    everything = list(imported)
    higher = names_given(higher_is_better)
    if suites := [part.suite for part in everything if isinstance(part, Imported)]:
        all_there(higher, (n for suite in suites for key in suite.keys for n in (key.metric, key.benchmark)))
    asked |= {"higher_is_better": higher_is_better, "machine": machine}
    for i, part in enumerate(everything):
        name = session if together else session and f"{session}/{part.name if isinstance(part, Path) else i}"
        if isinstance(part, str):
            problems.append(part)
        elif isinstance(part, Path):
            try:
                parts.append(add_file(history, str(part), session=name, **asked))
            except SpeedproofError as error:
                problems.append(str(error).splitlines()[0])
        else:
            lost += [replace(one, path=path, where=part.commit.sha) for one in part.suite.skipped]
            part = replace(part, suite=_turned(part.suite, higher))
            if part.suite.samples:
                parts.append(_add_part(history, path, part, name, machine))
        done(len(everything), i + 1)
    left_out = why_left_out(lost)
    if not parts:
        raise UsageError(f"{path}: nothing can be added; {[*problems, *left_out, 'it is empty'][0]}")
    commits = tuple(dict.fromkeys(sha for part in parts for sha in part.commits))
    count = sum(part.samples for part in parts)
    lines = [f"not added: {problem}" for problem in problems] + [f"left out: {line}" for line in left_out]
    lines += dict.fromkeys(problem for part in parts for problem in part.problems)
    known, there = all(part.known for part in parts), sum(part.there for part in parts)
    return Added(path, count, commits, known, tuple(lines), there=there)


def _turned(suite: Suite, higher: Sequence[str]) -> Suite:
    """A copy in which higher is better for the given metrics or benchmarks."""
    samples = {
        (key, version): replace(sample, direction=Direction.HIGHER)
        if key.metric in higher or key.benchmark in higher
        else sample
        for (key, version), sample in suite.samples.items()
    }
    return replace(suite, samples=samples)


def _add_part(history: History, path: str, part: Imported, session: str, machine: str) -> Added:
    commit = part.commit
    resolved = resolve(commit.sha, history.repository, date=commit.date)
    commits = {commit.sha: resolved if resolved.subject else commit}
    if part.anchor is not None:
        commits[part.anchor] = resolve(part.anchor, history.repository)
    # Graphs are dated by their commits, so that two machines differ by name alone.
    apart = [commit.branch, part.machine if part.started == commit.date else ""]
    content = repr((commit.sha, part.started, values_of(part.suite), *filter(None, apart)))
    return history.made().add(
        part.suite,
        commits,
        path=path,
        digest=hashlib.sha256(content.encode()).hexdigest(),
        session=session,
        started=part.started,
        anchor=part.anchor,
        machine=machine or part.machine,
        branch=commit.branch,
        bounds=part.bounds,
    )


ALL = "all"
"""The name of every metric."""


def tracks_in(
    store: HistoryStore,
    repository: str,
    metric: str | None,
    benchmark: str | None,
    line: Sequence[str],
    branch: str,
    machine: str | None = None,
    *,
    apart: bool = False,
) -> tuple[dict[int, StoredSeries], Measurements, list[Commit], tuple[Track, ...]]:
    """Series, measurements, commits in the order of a branch's ``line``, tracks."""
    from speedproof.history.tracks import tracks_of

    series, measured = measured_in(store, metric, benchmark, apart=apart)
    commits = ordered(store.commits(), branch, repository, store.branches(), line)
    machines = store.machines()
    if machine is not None:
        measured = measured.where(np.isin(measured.machine, [*store.machines(machine)]))
    tracks = tracks_of(measured, commits, machines)
    if not tracks:
        why = f"fill it with 'speedproof history add FILE{spelt(store=store.where)}'"
        if len(measured) and not (measured.location > 0.0).any():
            why = "changes are ratios, and no median is above 0"
        raise UsageError(f"{store.where}: nothing to show; {why}")
    return series, measured, commits, tracks


def deciding(series: Iterable[StoredSeries]) -> dict[int, StoredSeries]:
    """For each benchmark its time, or else its first metric."""
    first: dict[str, StoredSeries] = {}
    for s in sorted(series, key=lambda s: (s.key.metric != "time", s.id)):
        first.setdefault(s.key.benchmark, s)
    return {s.id: s for s in sorted(first.values(), key=lambda s: s.key.benchmark)}


def benchmark_meant(name: str | None, series: Iterable[StoredSeries], where: str) -> str | None:
    """The stored benchmark of that name, or the only one that the pattern matches or that contains the text."""
    if name is None:
        return None
    names = list(dict.fromkeys(s.key.benchmark for s in series))
    matching = [stored for stored in names if wanted(stored, [name], ())] or [n for n in names if name in n]
    if name in matching or len(matching) == 1:
        return name if name in matching else matching[0]
    meant = (
        f"several benchmarks {name}: {enumerate_names(matching, 5)}" if matching else f"no benchmark {name}"
    )
    suggestion = f"; {nearest_of(name, names)}" if names and not matching else ""
    raise UsageError(f"{where}: holds {meant}{suggestion}")


def measured_in(
    store: HistoryStore,
    metric: str | None,
    benchmark: str | None,
    *,
    apart: bool = False,
) -> tuple[dict[int, StoredSeries], Measurements]:
    """Series and measurements of a metric, all, or those that decide; without what somebody called noise.

    ``apart`` takes those that do not decide instead.
    """
    every = store.all_series(metric=None if metric == ALL else metric)
    if not every and (stored := list(dict.fromkeys(s.key.metric for s in store.all_series()))):
        raise UsageError(f"{store.where}: holds no metric {metric}; it has {enumerate_names(stored, 5)}")
    benchmark = benchmark_meant(benchmark, every, store.where)
    series = {s.id: s for s in every if benchmark in (None, s.key.benchmark)}
    if metric is None:
        first = deciding(series.values())
        series = {number: s for number, s in series.items() if (number in first) != apart}
    chosen = None if metric in (None, ALL) and len(series) == len(every) else series
    measured = store.measurements(chosen)
    commits = np.array([commit.sha for commit in measured.commits], np.object_)
    decisions = [d for d in store.decisions() if d.state in ("invalid", "reopened")]
    for noise in decisions:
        if noise.state == "invalid":
            same = [d for d in decisions if d.commit == noise.commit]
            of = [number for number, s in series.items() if noise in standing(same, s.key.benchmark, bool)]
            out = (commits == noise.commit)[measured.commit] & np.isin(measured.series, of)
            out &= ~np.isin(measured.session, store.sessions_after(noise.at))
            measured = measured.where(~(out | _left_alone(measured, out)))
    return series, measured


def _left_alone(measured: Measurements, out: BoolArray) -> BoolArray:
    """Where sessions are left with one commit, which others measured before: it was there for those left out."""
    rows = np.zeros(len(measured), np.bool_)
    series, session = measured.series, measured.session
    cut = set(zip(series[out].tolist(), session[out].tolist(), strict=True))
    left: dict[tuple[int, int], dict[int, list[int]]] = {}
    for row in np.flatnonzero(np.isin(session, session[out]) & ~out & ~measured.anchor).tolist():
        if (place := (series[row], session[row])) in cut:
            left.setdefault(place, {}).setdefault(measured.commit[row], []).append(row)
    alone = [row for of in left.values() if len(of) == 1 for alike in of.values() for row in alike]
    first: dict[tuple[int, int, int], int] = {}
    known = np.flatnonzero(np.isin(measured.commit, measured.commit[alone])).tolist()
    for row in sorted(known, key=session.__getitem__):
        first.setdefault((series[row], measured.commit[row], measured.machine[row]), session[row])
    for row in alone:
        rows[row] = session[row] > first[series[row], measured.commit[row], measured.machine[row]]
    return rows


def user() -> str:
    """The name of the current user."""
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"

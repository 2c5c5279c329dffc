"""Histories that other tools kept: each measured commit of theirs becomes one of ours.

* github-action-benchmark: ``data.js``, one number a benchmark and commit (its README, "data.js").
* Otava (Hunter): CSV, also with semicolons, with columns ``time`` and ``commit`` (or ``git.commit_id``) and maybe
  ``branch``, every other column a benchmark.
* Go's benchseries: the JSON of its flag ``-jo`` (golang.org/x/perf/benchseries, ``ComparisonSeries``). It keeps of
  each commit and benchmark the ratio to a baseline and its bounds, but no measurement; the baseline is the anchor.
* asv, as published: a folder with ``index.json`` and ``graphs`` (asv/graph.py, ``Graph.get_file_path``).
* Nyrkiö: the JSON of its results (docs/source/api-reference/data-models.md), every metric a benchmark.
* Treeherder: the JSON of ``performance/summary`` with its data, every test a benchmark, every job a session.
* asv: the folder ``results`` with ``MACHINE/COMMIT-ENVIRONMENT.json``, or a machine's; pyperformance and
  faster-cpython's bench_runner: a folder of pyperf files that name their commit. These files are read one by one.
"""

from __future__ import annotations

import csv
import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from speedproof.data.record import Record
from speedproof.data.sample import Trait
from speedproof.data.suite import Key, Suite
from speedproof.data.units import Direction, direction_of, parse_unit, split_unit
from speedproof.errors import FormatError
from speedproof.history.commits import Commit, in_utc

_DATA_JS = "window.BENCHMARK_DATA"
_COMMIT_COLUMNS = ("commit", "git.commit_id", "git_commit", "revision")
_DEPTHS = ("*", "*/*")  # where another tool's history is looked for, below a folder that is none
_HEAD = 2000  # bytes of a file that tell whose it is
_NYRKIO = {"higher_is_better": Direction.HIGHER, "lower_is_better": Direction.LOWER}
_SUMMARY = frozenset({Trait.SUMMARY_ONLY})


class Imported(Struct, frozen=True):
    """A commit in another tool's history; ``bounds`` at 95 % are those of values without the measurements."""

    suite: Suite
    commit: Commit
    started: str
    anchor: str | None = None
    machine: str = ""
    bounds: Mapping[tuple[Key, str], tuple[float, float]] = field(default_factory=dict)


def importer_of(path: Path) -> Iterator[Imported | Path | str] | None:
    """The commits of a history of another tool, files to be read, or why a part is not; None for what is none."""
    if path.is_dir():
        if (kept := _kept_in(path)) is not None:
            return kept
        if dated := sorted(path.rglob("bm-*.json")):
            return iter(dated)
        inner = (folder for depth in _DEPTHS for folder in sorted(path.glob(depth)) if folder.is_dir())
        seen = (folder for folder in inner if "/." not in f"/{folder.relative_to(path).as_posix()}")
        if history := next(filter(_kept_in, seen), None):
            raise FormatError(str(path), "", f"another tool's history is deeper; add its folder: {history}")
        return None
    if not path.is_file():
        return None
    with path.open("rb") as opened:
        head = opened.read(_HEAD).decode("utf-8", "replace")
    if head.lstrip().startswith(_DATA_JS):
        return _data_js(path)
    if head.lstrip().startswith("[") and '"benchmarks"' in head and '"unit"' in head:
        return _benchseries(path)
    if '"signature_id"' in head and '"suite"' in head:
        return _sittings(path, "a performance summary of Treeherder", _treeherder(path))
    if '"timestamp"' in head and '"metrics"' in head:
        return _sittings(path, "the JSON of Nyrkiö's results", _nyrkio(path))
    columns = next(csv.reader(head.splitlines(), delimiter=_delimiter(head)), [])
    if "time" in columns and "benchmark" not in columns and any(name in columns for name in _COMMIT_COLUMNS):
        return _otava(path)
    return None


def _kept_in(path: Path) -> Iterator[Imported | Path | str] | None:
    """The same of a folder, without those in it: what 'asv publish' writes, or asv's results."""
    if (path / "graphs").is_dir() and (path / "index.json").is_file():
        return _sittings(path, "what 'asv publish' writes", _published(path))
    if (path / "benchmarks.json").is_file():
        files = sorted(path.glob("*/*.json"))
        files = [file for file in files if file.name not in {"machine.json", "benchmarks.json"}]
    else:
        files = [file for file in sorted([*path.glob("*.json"), *path.glob("*/*.json")]) if _is_asv(file)]
    return iter(files) if files else None


def _is_asv(file: Path) -> bool:
    """Whether a file begins like a result of asv, which names its commit."""
    with file.open("rb") as opened:
        head = opened.read(_HEAD)
    return all(b'"' + name + b'"' in head for name in (b"commit_hash", b"params", b"requirements"))


def _data_js(path: Path) -> Iterator[Imported]:
    text = path.read_text(encoding="utf-8").strip().rstrip(";")
    with _told(path, "a data.js of github-action-benchmark"):
        entries: dict[str, list[dict[str, Any]]] = json.loads(text.partition("=")[2])["entries"]
        for suite, runs in entries.items():
            for run in runs:
                yield _of_run(run, f"{suite}/" if len(entries) > 1 else "")


def _of_run(run: dict[str, Any], prefix: str) -> Imported:
    commit = run["commit"]
    subject = (str(commit.get("message", "")).splitlines() or [""])[0]
    started = _moment(str(run["date"] / 1000)) if run.get("date") else ""
    records = []
    for bench in run["benches"]:
        direction = Direction.HIGHER if run.get("tool") == "customBiggerIsBetter" else None
        name, unit = f"{prefix}{bench['name']}", str(bench.get("unit", ""))
        record = _value(name, float(bench["value"]), unit, direction, "github-action-benchmark")
        records.append((str(commit["id"]), record))
    revision = Commit(str(commit["id"]), subject, in_utc(str(commit.get("timestamp", ""))))
    return Imported(Suite.from_records(records), revision, started)


def _value(name: str, value: float, unit: str, direction: Direction | None, tool: str) -> Record:
    """One number in a unit as the tool writes it, or else as its name ends with (``query_ms``)."""
    parsed = parse_unit(unit or split_unit(name)[1] or "")
    metric = {"s": "time", "B": "memory"}.get(parsed.base, parsed.base or "value")
    better = direction or direction_of(parsed.base, name)
    values = parsed.to_base(np.array([value]))
    return Record(name, values, parsed.base, metric, better, traits=_SUMMARY, tool=tool)


_Sitting = tuple[Commit, str]
"""A commit and the machine on which it was measured, at its date."""


def _sittings(path: Path, what: str, points: Iterable[tuple[_Sitting, Record]]) -> Iterator[Imported]:
    """Make a session of the values of one sitting; repeated values of a benchmark start another one."""
    sessions: dict[tuple[_Sitting, int], list[Record]] = {}
    many: Counter[tuple[_Sitting, str, str]] = Counter()
    with _told(path, what):
        for at, record in points:
            key = at, record.benchmark, record.metric
            many[key] += 1
            sessions.setdefault((at, many[key]), []).append(record)
        for ((commit, machine), _), records in sessions.items():
            suite = Suite.from_records([(commit.sha, record) for record in records])
            yield Imported(suite, commit, commit.date, machine=machine)


@contextmanager
def _told(path: Path, what: str) -> Iterator[None]:
    """Report a file that differs from its tool's format."""
    try:
        yield
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise FormatError(str(path), "", f"is not {what} ({error!r})") from error


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _nyrkio(path: Path) -> Iterator[tuple[_Sitting, Record]]:
    content = _json(path)
    for run in content if isinstance(content, list) else [content]:
        attributes = {k: v[0] if isinstance(v, list) else v for k, v in run["attributes"].items()}
        moment, branch = _moment(str(run["timestamp"])), str(attributes.get("branch", ""))
        commit = Commit(str(attributes["git_commit"]), "", moment, branch=branch)
        for metric in run["metrics"]:
            value, better = float(metric["value"]), _NYRKIO.get(metric.get("direction", ""))
            yield (commit, ""), _value(metric["name"], value, metric.get("unit", ""), better, "Nyrkiö")


def _treeherder(path: Path) -> Iterator[tuple[_Sitting, Record]]:
    for series in _json(path):
        options = [series.get("option_name") or "", *(series.get("extra_options") or [])]
        name = " ".join(filter(None, [series["suite"], series.get("test"), *options]))
        better = Direction.LOWER if series["lower_is_better"] else Direction.HIGHER
        unit, branch = series.get("measurement_unit") or "", series["repository_name"]
        for point in series["data"]:
            commit = Commit(point["revision"], "", in_utc(point["push_timestamp"]), branch=branch)
            value = _value(name, float(point["value"]), unit, better, "Treeherder")
            yield (commit, series["platform"]), value


def _published(path: Path) -> Iterator[tuple[_Sitting, Record]]:
    """Every point of the graphs that asv published; what tells graphs apart beside the branch is the machine."""
    index = _json(path / "index.json")
    by_file = {_sanitized(name): (name, entry) for name, entry in index["benchmarks"].items()}
    graphs: list[dict[str, str | None]] = index["graph_param_list"]
    taken = set[tuple[object, ...]]()
    vary = [
        k for k in graphs[0] if len({graph.get(k) for graph in graphs}) > 1 and k not in ("branch", "machine")
    ]
    for graph in graphs:
        parts = sorted(_sanitized(f"{k}-{v or 'null'}" if v != "" else k) for k, v in graph.items())
        words = [graph.get("machine") or "", *(f"{k} {graph.get(k)}" for k in vary)]
        branch, machine = graph.get("branch") or "", ", ".join(filter(None, words))
        for file in sorted(path.joinpath("graphs", *parts).glob("*.json")):
            name, entry = by_file[file.stem]
            unit = entry.get("unit", "").replace("unit", "")
            sets = itertools.product(*entry["params"]) if entry.get("params") else ()
            several = [f"{name}({', '.join(one)})" for one in sets]
            for revision, value in _json(file):
                date = _moment(str(index["revision_to_date"][str(revision)] / 1000))
                commit = Commit(index["revision_to_hash"][str(revision)], "", date, branch=branch)
                values = value if isinstance(value, list) else [value]
                for of, one in zip(several or [name], values, strict=True):
                    value_of = revision, machine, of, one  # which stands on two branches in both graphs
                    if one is not None and math.isfinite(one) and value_of not in taken:
                        taken.add(value_of)
                        yield (commit, machine), _value(of, one, unit, None, "asv")


def _sanitized(name: str) -> str:
    """Spell a name as asv does in file names."""
    return re.sub(r'[<>:"/\\^|?*\x00-\x1f]', "_", name)


def _benchseries(path: Path) -> Iterator[Imported | str]:
    """Every point of the series on every machine: what its tables, one a unit, hold of it."""
    parts: dict[tuple[str, str, str, str], dict[tuple[Key, str], tuple[Record, tuple[float, float]]]] = {}
    with _told(path, "the JSON of Go's benchseries"):
        tables = _json(path)
        several = len({table["unit"].partition(" ")[2] for table in tables}) > 1  # ratios of each machine
        for table in tables:
            unit, _, machine = table["unit"].partition(" ")
            prefix = f"{machine.strip()}/" if several else ""
            for point, row in zip(table["series"], table["summaries"], strict=True):
                pair = (table.get("hashpairs") or {}).get(point, {})
                of = (machine.strip(), point, pair.get("NumHash") or point, pair.get("DenHash") or "baseline")
                for name, summary in zip(table["benchmarks"], row, strict=True):
                    if summary is not None and summary["present"]:
                        record = _ratio(prefix + name, unit, float(summary["center"]))
                        bounds = float(summary["low"]), float(summary["high"])
                        key = Key(record.benchmark, record.metric)
                        parts.setdefault(of, {})[key, of[2]] = (record, bounds)
    for (machine, point, sha, baseline), cells in parts.items():
        if sha == baseline:
            yield f"{path}: {point} compares {sha} with itself"
            continue
        ratios = [(sha, record) for record, _ in cells.values()]
        ones = [(baseline, replace(record, values=np.ones(1))) for record, _ in cells.values()]
        spans = {at: span for at, (_, span) in cells.items()}
        spans |= {(key, baseline): (1.0, 1.0) for key, _ in cells}
        suite, moment = Suite.from_records(ratios + ones), in_utc(point)
        yield Imported(suite, Commit(sha, "", moment), moment, baseline, machine, spans)


def _ratio(name: str, unit: str, value: float) -> Record:
    """A ratio of two medians; of speeds (B/s) a higher one is better."""
    direction = Direction.HIGHER if unit.endswith("/s") else Direction.LOWER
    metric = f"ratio of {unit}"
    return Record(name, np.array([value]), "", metric, direction, traits=_SUMMARY, tool="benchseries")


def _delimiter(head: str) -> str:
    first = head.partition("\n")[0]
    return ";" if first.count(";") > first.count(",") else ","


def _otava(path: Path) -> Iterator[Imported | str]:
    with path.open(encoding="utf-8", newline="") as opened:
        delimiter = _delimiter(opened.read(_HEAD))
        opened.seek(0)
        rows = csv.DictReader(opened, delimiter=delimiter)
        names = rows.fieldnames or []
        sha = next(name for name in _COMMIT_COLUMNS if name in names)
        for row in rows:
            records = []
            for name in names:
                if name in ("time", "branch", sha) or row[name] in (None, ""):
                    continue
                with suppress(ValueError):  # a column of words
                    records.append((row[sha], _value(name, float(row[name]), "", None, "Otava")))
            if not records or not row[sha]:
                yield f"{path}: line {rows.line_num}: names no commit or holds no number"
                continue
            moment = _moment(row["time"])
            commit = Commit(row[sha], "", moment, branch=row.get("branch") or "")
            yield Imported(Suite.from_records(records), commit, moment)


def _moment(text: str) -> str:
    """A date of any of Otava's ways: seconds since 1970, or ISO 8601."""
    with suppress(ValueError):  # of text, or of no number
        if math.isfinite(seconds := float(text)):
            return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
    return in_utc(text)

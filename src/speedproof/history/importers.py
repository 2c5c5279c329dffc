"""Histories that other tools kept: each measured commit of theirs becomes one of ours.

* github-action-benchmark: ``data.js``, one number a benchmark and commit (its README, "data.js").
* Otava (Hunter): CSV with columns ``time`` and ``commit`` (or ``git.commit_id``), every other column a benchmark.
* Go's benchseries: the JSON of its flag ``-jo`` (golang.org/x/perf/benchseries, ``ComparisonSeries``). It keeps of
  each commit and benchmark the ratio to a baseline and its bounds, but no measurement; the baseline is the anchor.
* asv: the folder ``results`` with ``MACHINE/COMMIT-ENVIRONMENT.json``, or a machine's; pyperformance and
  faster-cpython's bench_runner: a folder of pyperf files that name their commit. These files are read one by one.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from speedproof.data.record import Record
from speedproof.data.sample import Trait
from speedproof.data.suite import Key, Suite
from speedproof.data.units import Direction, direction_of, parse_unit
from speedproof.errors import FormatError
from speedproof.history.commits import Commit, in_utc

_DATA_JS = "window.BENCHMARK_DATA"
_COMMIT_COLUMNS = ("commit", "git.commit_id", "git_commit", "revision")
_HEAD = 2000  # bytes of a file that tell whose it is
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
        return iter(files) if (files := _folder(path)) else None
    if not path.is_file():
        return None
    with path.open("rb") as opened:
        head = opened.read(_HEAD).decode("utf-8", "replace")
    if head.lstrip().startswith(_DATA_JS):
        return _data_js(path)
    if head.lstrip().startswith("[") and '"benchmarks"' in head and '"unit"' in head:
        return _benchseries(path)
    columns = next(csv.reader(head.splitlines()), [])
    if "time" in columns and any(name in columns for name in _COMMIT_COLUMNS):
        return _otava(path)
    return None


def _folder(path: Path) -> list[Path]:
    """Asv's results, or dated pyperf files in folders of their own."""
    if (path / "benchmarks.json").is_file():
        files = sorted(path.glob("*/*.json"))
        return [file for file in files if file.name not in {"machine.json", "benchmarks.json"}]
    alone = [file for file in sorted([*path.glob("*.json"), *path.glob("*/*.json")]) if _is_asv(file)]
    return alone or sorted(path.rglob("bm-*.json"))


def _is_asv(file: Path) -> bool:
    """Whether a file begins like a result of asv, which names its commit."""
    with file.open("rb") as opened:
        head = opened.read(_HEAD)
    return all(b'"' + name + b'"' in head for name in (b"commit_hash", b"params", b"requirements"))


def _data_js(path: Path) -> Iterator[Imported]:
    text = path.read_text(encoding="utf-8").strip().rstrip(";")
    try:
        entries: dict[str, list[dict[str, Any]]] = json.loads(text.partition("=")[2])["entries"]
        for suite, runs in entries.items():
            for run in runs:
                yield _of_run(run, f"{suite}/" if len(entries) > 1 else "")
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise FormatError(
            str(path), "", f"is not a data.js of github-action-benchmark ({error!r})"
        ) from error


def _of_run(run: dict[str, Any], prefix: str) -> Imported:
    commit = run["commit"]
    subject = (str(commit.get("message", "")).splitlines() or [""])[0]
    started = _moment(str(run["date"] / 1000)) if run.get("date") else ""
    records = []
    for bench in run["benches"]:
        unit = parse_unit(str(bench.get("unit", "")))
        direction = Direction.HIGHER if run.get("tool") == "customBiggerIsBetter" else None
        values = unit.to_base(np.array([float(bench["value"])]))
        metric = {"s": "time", "B": "memory"}.get(unit.base, unit.base or "value")
        record = Record(
            f"{prefix}{bench['name']}", values, unit.base, metric, direction, traits=_SUMMARY,
            tool="github-action-benchmark",
        )  # fmt: skip
        records.append((str(commit["id"]), record))
    known = Commit(str(commit["id"]), subject, in_utc(str(commit.get("timestamp", ""))))
    return Imported(Suite.from_records(records), known, started)


def _benchseries(path: Path) -> Iterator[Imported | str]:
    """Every point of the series on every machine: what its tables, one a unit, hold of it."""
    found: dict[tuple[str, str, str, str], dict[tuple[Key, str], tuple[Record, tuple[float, float]]]] = {}
    try:
        tables = json.loads(path.read_text(encoding="utf-8"))
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
                        found.setdefault(of, {})[key, of[2]] = (record, bounds)
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise FormatError(str(path), "", f"is not the JSON of Go's benchseries ({error!r})") from error
    for (machine, point, sha, baseline), cells in found.items():
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


def _otava(path: Path) -> Iterator[Imported]:
    with path.open(encoding="utf-8", newline="") as opened:
        rows = csv.DictReader(opened)
        names = rows.fieldnames or []
        told = next(name for name in _COMMIT_COLUMNS if name in names)
        for row in rows:
            records = []
            for name in names:
                if name in ("time", told) or row[name] in (None, ""):
                    continue
                value = _number(row[name])
                if not math.isfinite(value):
                    continue  # a column of words, such as the branch
                # Otava has no unit: the name alone says that more is better.
                better = direction_of("", name)
                record = Record(name, np.array([value]), "", "value", better, traits=_SUMMARY, tool="Otava")
                records.append((row[told], record))
            if not records or not row[told]:
                raise FormatError(str(path), f"line {rows.line_num}", "names no commit or holds no number")
            moment = _moment(row["time"])
            yield Imported(Suite.from_records(records), Commit(row[told], "", moment), moment)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _moment(text: str) -> str:
    """A date of any of Otava's ways: seconds since 1970, or ISO 8601."""
    seconds = _number(text)
    if math.isfinite(seconds):
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
    return in_utc(text)

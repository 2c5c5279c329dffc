"""BenchmarkDotNet, nanobench, krun and sightglass, against the numbers that stand in their files."""

import bz2
import csv
import json
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.formats.reading import changed, load, processes, split, times

from speedproof.data.sample import Trait
from speedproof.data.suite import Record
from speedproof.data.units import Direction

# BenchmarkDotNet ----------------------------------------------------------------------------------------


def test_benchmarkdotnet_against_json(files: Path, tmp_path: Path) -> None:
    """Results are those of the tool where it kept all; what it removed is the actual time less the overhead.

    Jobs are versions and launches processes: one job names no version, and one launch is one process.
    """
    records, skipped = split(files / "benchmarkdotnet.json")
    old, new = times(records)
    first, second, *_ = load(files / "benchmarkdotnet.json")["Benchmarks"]
    for record, benchmark in ((old, first), (new, second)):
        results = [m for m in benchmark["Measurements"] if m["IterationStage"] == "Result"]
        own = {m["Nanoseconds"] / m["Operations"] for m in results}
        assert own <= set((record.values * 1e9).round(6).tolist())
        assert record.unit == "s"
        assert Trait.WARMUP_REMOVED in record.traits
        assert Trait.ONE_PROCESS not in record.traits
    assert (old.values * 1e9).round(6).tolist() == [100.0, 110.0, 250.0, 103.75, 100.0, 101.25]
    assert processes(old) == [0, 0, 0, 1, 1, 1], "a launch is a process"
    assert old.notes == ("1 value that BenchmarkDotNet removed as an outlier is among the values",)
    assert (new.values * 1e9).round(6).tolist() == [50.0, 52.5, 48.0, 49.0]
    assert (new.notes, [s.expected for s in skipped]) == ((), [False, False, True])
    assert (skipped[0].benchmark, skipped[1].where) == ("Demo.Sorts.Failed(N: 10)", "Benchmarks[3].Method")
    assert "8 warm-up iterations" in skipped[2].reason
    assert old.benchmark == new.benchmark == "Demo.Sorts.Quick(N: 10)"
    assert (old.version or "").startswith(".NET 6.0(")
    assert (new.version or "").startswith(".NET 8.0(")
    assert {"cpu": "a processor", "job": old.version}.items() <= dict(old.fields).items()
    memory = [r for r in records if r.metric == "memory"]
    assert [(r.values.tolist(), r.unit) for r in memory] == [([368.0], "B/op"), ([184.0], "B/op")]
    (speed,) = [r for r in records if r.metric == "Speed"]
    assert speed.direction is Direction.HIGHER
    assert all(r.traits == {Trait.SUMMARY_ONLY} for r in (*memory, speed))

    def first_of_first(content: Any) -> None:
        del content["Benchmarks"][1:]
        (only,) = content["Benchmarks"]
        only["Measurements"] = [m for m in only["Measurements"] if m["LaunchIndex"] == 1]

    (one,) = times(split(changed(files / "benchmarkdotnet.json", tmp_path / "b.json", first_of_first))[0])
    assert (one.version, one.processes) == (None, None)
    assert Trait.ONE_PROCESS in one.traits


# nanobench ----------------------------------------------------------------------------------------------


def test_nanobench_against_json(files: Path) -> None:
    records, skipped = split(files / "nanobench.json")
    results = load(files / "nanobench.json")["results"]
    for record, result in zip(times(records), (r for r in results[:3]), strict=True):
        assert record.values.tolist() == [m["elapsed"] for m in result["measurements"]]
        assert np.median(record.values) == pytest.approx(
            statistics.median(m["elapsed"] for m in result["measurements"])
        )
        assert {Trait.ORDER_KNOWN, Trait.ONE_PROCESS} <= record.traits
        assert (Trait.WARMUP_REMOVED in record.traits) == (result["warmup"] > 0)
    names = [r.benchmark for r in times(records)]
    assert names == ["sorting/std::sort", "std::find", "reversed/std::sort"], "a name of two titles has both"
    cycles = [r for r in records if r.metric == "cycles"]
    assert (cycles[0].values.tolist(), {r.unit for r in cycles}) == ([81.5, 73.5, 89.5], {"cycles"})
    assert {r.metric for r in records} == {"time", "cycles", "instructions"}
    lost, damaged, empty, counters = skipped
    assert damaged.where == "results[3].measurements"
    assert lost.reason == "instructions is not a finite number in 1 of 2 epochs"
    assert "templates::json()" in empty.reason
    assert counters.expected
    assert counters.reason.startswith("12 counters left out"), "4 of each of the 3 benchmarks are 0"


# krun ---------------------------------------------------------------------------------------------------


def test_krun_against_json(files: Path, tmp_path: Path) -> None:
    content = load(files / "krun.json")
    records, skipped = split(files / "krun.json")
    for record in times(records):
        executions = content["wallclock_times"][f"{record.benchmark}:{record.version}"]
        own = [(v, i) for i, execution in enumerate(executions) for v in execution if v != "NaN"]
        assert list(zip(record.values.tolist(), processes(record), strict=True)) == own
        assert record.traits == {Trait.ORDER_KNOWN}, "the warm-up is in the file"
        assert "error_flag" in record.notes[0]
        assert dict(record.fields)["cpu"] == "a processor @ 2.40GHz"
    cycles = {(r.benchmark, r.version, r.metric): r for r in records if r.unit == "cycles"}
    pinned = cycles["nbody", "CPython:default-python", "cycles of core 0"]
    assert pinned.values.tolist() == [1800, 1200, 1210, 1950, 1200, 1350]
    assert processes(pinned) == [0, 0, 0, 1, 1, 1]
    reasons = {(s.benchmark, s.where.split(":", 1)[-1]): s.reason for s in skipped if not s.expected}
    assert reasons == {
        ("dummy", "CPython:default-python"): "time is not a finite number in 1 of 6 iterations",
        ("dummy", "PyPy:default-python"): "no process execution has ended yet; let krun run to its end",
        ("nbody", "PyPy:default-python"): "1 of 2 process executions crashed and left no times",
    }
    (tmp_path / "k_results.json.bz2").write_bytes(bz2.compress((files / "krun.json").read_bytes()))
    again, _ = split(tmp_path / "k_results.json.bz2")
    assert [r.values.tolist() for r in again] == [r.values.tolist() for r in records]


# sightglass ---------------------------------------------------------------------------------------------


def measured(record: Record, rows: list[dict[str, Any]]) -> tuple[list[float], list[int]]:
    """The counts of a record's engine, phase and event, and their process ids, as the file has them."""
    event = {"time": "nanoseconds"}.get(record.metric, record.metric)
    own = [
        row
        for row in rows
        if (f"{row['wasm']}:{row['phase'].lower()}", row["engine"], row["event"])
        == (record.benchmark, record.version, event)
    ]
    return [float(row["count"]) for row in own], [int(row["process"]) for row in own]


@pytest.mark.parametrize("name", ["sightglass.json", "sightglass.csv"])
def test_sightglass_against_json_and_csv(files: Path, name: str) -> None:
    text = (files / name).read_text()
    rows = (json.loads(text) if name.endswith("json") else list(csv.DictReader(text.splitlines())))[:-1]
    records, (damaged,) = split(files / name)
    assert len(records) == 2 * 2 * 3
    for record in records:
        counts, ids = measured(record, rows)
        scale = 1e9 if record.metric == "time" else 1.0
        assert record.values.tolist() == [count / scale for count in counts]
        assert [sorted(set(ids))[p] for p in processes(record)] == ids
        assert record.unit == {"time": "s", "cycles": "cycles"}.get(record.metric, "")
    assert {r.metric for r in records} == {"time", "cycles", "cache-misses"}
    assert damaged.where.startswith(("[48]", "line 26"))


def test_sightglass_arrays_of_processes_one_a_line(files: Path, tmp_path: Path) -> None:
    rows = load(files / "sightglass.json")[:-1]
    lines = [json.dumps([row for row in rows if row["process"] == p]) for p in (11, 12, 13, 14)]
    path = tmp_path / "s.json"
    path.write_text("\n".join(lines) + "\n")
    joined, _ = split(files / "sightglass.json")
    records, skipped = split(path)
    assert [r.values.tolist() for r in records] == [r.values.tolist() for r in joined]
    assert not skipped
    path.write_text("\n".join(lines).replace('"count": 4110', '"count": "oops"', 1) + "\n")
    assert split(path)[1][0].where == "line 1[0].count"

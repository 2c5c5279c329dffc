"""Every number that a JSON reader gives is the one that Python's json module finds in the file."""

import shutil
from collections.abc import Callable
from decimal import Decimal
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.formats.reading import load, split

from speedproof.data.sample import Trait
from speedproof.data.suite import Record, Suite
from speedproof.data.units import Direction
from speedproof.formats import detect, jmh, jsontext
from speedproof.formats.source import ReadOptions, source_of

OF_FILE: dict[str, Callable[[Any], dict[str, list[float]]]] = {
    "hyperfine.json": lambda told: {one["command"]: one["times"] for one in told["results"]},
    "pyperf.json": lambda told: {
        of.get("metadata", {}).get("name") or told["metadata"]["name"]:
            [value for run in of["runs"] for value in run.get("values", ())] for of in told["benchmarks"]
    },
    "pytest-benchmark.json": lambda told: {one["fullname"]: one["stats"]["data"] for one in told["benchmarks"]},
}  # fmt: skip
OF_FILE["pyperf-memory.json"] = OF_FILE["pyperf.json"]


@pytest.mark.parametrize("name", OF_FILE)
def test_against_json(files: Path, name: str) -> None:
    records, _ = split(files / name)
    assert {r.benchmark: r.values.tolist() for r in records} == OF_FILE[name](load(files / name))
    assert {(r.metric, r.unit) for r in records} == {("memory", "B") if "memory" in name else ("time", "s")}
    assert all(Trait.ORDER_KNOWN in r.traits for r in records)


def test_hyperfine_memory_and_failing_runs(files: Path) -> None:
    records, (lost,) = split(files / "hyperfine-memory.json")
    first, second, _ = load(files / "hyperfine-memory.json")["results"]
    memory = [(r.unit, r.values.tolist()) for r in records if r.metric == "memory"]
    assert memory == [("B", of["memory_usage_byte"]) for of in (first, second)]
    assert (lost.benchmark, "--export-json" in lost.reason) == ("sort words", True)
    (record,), _ = split(files / "hyperfine-failing.json")
    assert record.values.size == 5, "the values stay"
    assert record.notes[0].startswith("'failing' failed in every run (5 of 5 runs did not exit with code 0)")


def naive_google(path: Path, member: str) -> dict[str, list[float]]:
    values: dict[str, list[float]] = {}
    for entry in load(path)["benchmarks"]:
        if entry["run_type"] == "iteration" and not entry.get("error_occurred") and member in entry:
            values.setdefault(entry["run_name"], []).append(entry[member])
    return values


def in_seconds(value: float, places: int) -> float:
    """As exact decimals of up to 15 digits, else divided."""
    decimal = Decimal(repr(value))
    return float(decimal.scaleb(-places)) if len(decimal.as_tuple().digits) <= 15 else value / 10**places


def test_google_benchmark_against_json(files: Path) -> None:
    path = files / "google-benchmark.json"
    records, skipped = split(path)
    factor = {
        e["run_name"]: {"ns": 9, "ms": 3}[e["time_unit"]]
        for e in load(path)["benchmarks"]
        if "time_unit" in e
    }
    for metric, member in (("time", "real_time"), ("cpu time", "cpu_time")):
        read_values = {r.benchmark: r.values.tolist() for r in records if r.metric == metric}
        expected = naive_google(path, member)
        assert read_values == {
            name: [in_seconds(v, factor[name]) for v in values] for name, values in expected.items()
        }
    for metric, unit in (("items_per_second", "items/s"), ("bytes_per_second", "B/s"), ("elements", "")):
        chosen = [r for r in records if r.metric == metric]
        assert {r.benchmark: r.values.tolist() for r in chosen} == naive_google(path, metric)
        assert {r.unit for r in chosen} == {unit}
    suite = Suite.from_records(("v", i) for i in records)
    better = {key.metric: sample.direction for (key, _), sample in suite.samples.items()}
    assert better["items_per_second"] is better["bytes_per_second"] is Direction.HIGHER
    assert better["time"] is better["cpu time"] is Direction.LOWER
    reasons = {s.benchmark: s.reason for s in skipped if not s.expected}
    assert 'no such "device"' in reasons["BM_fails"]
    assert "undefined is not a finite number in 5 of 5 runs" in reasons["BM_sum/64"]
    aggregates = sum(e["run_type"] == "aggregate" for e in load(path)["benchmarks"])
    assert [s.reason for s in skipped if s.expected] == [f"{aggregates} aggregates of repetitions left out"]
    records, (remedy,) = split(files / "google-benchmark-aggregates.json")
    assert (records, remedy.benchmark) == ([], "BM_sum/512")
    assert "without --benchmark_report_aggregates_only" in remedy.reason


def test_jmh_against_json(files: Path) -> None:
    records, skipped = split(files / "jmh.json")
    put, get, sampled, old, damaged = load(files / "jmh.json")
    by_key = {(r.benchmark, r.metric): r for r in records}

    record = by_key["org.example.Hash.put:size=10,kind=open", "time"]
    forks = put["primaryMetric"]["rawData"]
    finite = [(k, v) for k, fork in enumerate(forks) for v in fork if v != "NaN"]
    assert record.values.tolist() == [v / 1e6 for _, v in finite]
    assert record.processes is not None
    assert record.processes.tolist() == [k for k, _ in finite]
    assert record.direction is Direction.LOWER
    assert ("jvmArgs", "-Xmx1g") in record.fields

    assert Trait.WARMUP_REMOVED in record.traits
    assert Trait.WARMUP_REMOVED not in by_key["org.example.Hash.old", "single-shot time"].traits

    record = by_key["org.example.Hash.get", "throughput"]
    assert record.values.tolist() == [v / 60 for v in get["primaryMetric"]["rawData"][0]]
    assert (record.unit, record.direction) == ("ops/s", Direction.HIGHER)

    record = by_key["org.example.Hash.old", "single-shot time"]
    assert record.values.tolist() == [fork[0] for fork in old["primaryMetric"]["rawData"]]
    assert record.processes is not None
    assert record.processes.tolist() == [0, 1]

    reasons = {(s.benchmark or s.where): s for s in skipped if not s.expected}
    assert "1 of 6 iterations" in reasons["org.example.Hash.put:size=10,kind=open"].reason
    assert "-bm avgt" in reasons[sampled["benchmark"]].reason
    assert "[4].primaryMetric.rawData" in reasons, damaged["benchmark"]


JSON_NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(10**21), 10**21).map(str),
    st.from_regex(r"-?(0|[1-9][0-9]{0,20})\.[0-9]{1,20}([eE][+-]?[0-9]{1,2})?", fullmatch=True),
    st.just('"NaN"'),
)


@pytest.mark.parametrize("compiled", [True, False])
@given(st.lists(st.lists(JSON_NUMBERS, max_size=6), max_size=4), st.sampled_from([",", " ,\r\n\t"]))
def test_jmh_numbers_to_the_bit(compiled: bool, forks: list[list[str]], comma: str) -> None:
    """Of any length, sign and blanks, with the kernel or without: as Python's json reads them."""
    if compiled and jsontext.COMPILED is None:
        pytest.skip("the kernel is not compiled")
    raw = comma.join(f"[{comma.join(fork)}]".replace("[", "[ ") for fork in forks)
    text = (
        f'[{{"benchmark": "b", "mode": "avgt", "primaryMetric": {{"scoreUnit": "s", "rawData": [{raw}]}}}}]'
    )
    with pytest.MonkeyPatch.context() as patch:
        if not compiled:
            patch.setattr(jsontext, "COMPILED", None)
        items = list(jmh.read(source_of("j.json", BytesIO(text.encode()).read), ReadOptions()))
    expected = [(k, float(v)) for k, fork in enumerate(filter(None, forks)) for v in fork if v[0] != '"']
    numbers = [r for r in items if isinstance(r, Record)]
    assert len(numbers) == (len(expected) > 0)
    for record in numbers:
        assert record.processes is not None
        assert record.processes.tolist() == [k for k, _ in expected]
        assert record.values.tobytes() == np.array([v for _, v in expected]).tobytes()


def naive_criterion(run: Path) -> list[float]:
    sample = load(run / "sample.json")
    iters, times = (sample["iters"], sample["times"]) if isinstance(sample, dict) else sample
    return [time / iterations / 1e9 for time, iterations in zip(times, iters, strict=True)]


def test_criterion_folder_against_json(files: Path, tmp_path: Path) -> None:
    """One damaged run does not lose the others."""
    records, skipped = split(files / "criterion")
    assert not skipped
    read_values = {(r.benchmark, r.version): r.values for r in records}
    for folder, name in (("Fibonacci/Iterative", "Fibonacci/Iterative"), ("Fibonacci/Recursive/20",) * 2):
        for version in ("base", "new"):
            expected = naive_criterion(files / "criterion" / folder / version)
            np.testing.assert_allclose(read_values.pop((name, version)), expected, rtol=1e-15)
    assert not read_values
    assert detect(files / "criterion").name == "criterion"
    copied = tmp_path / "criterion"
    shutil.copytree(files / "criterion", copied)
    (copied / "Fibonacci" / "Iterative" / "new" / "sample.json").write_text('{"iters": [1.0')
    records, skipped = split(copied)
    assert (len(records), [Path(s.path).parent.name for s in skipped]) == (3, ["new"])
    (copied / "Fibonacci" / "Iterative" / "base" / "benchmark.json").unlink()
    names = {r.benchmark for r in split(copied)[0]}
    assert names == {"Iterative", "Fibonacci/Recursive/20"}, "without its name the folder's serves"

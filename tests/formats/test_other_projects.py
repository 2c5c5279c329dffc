"""Result files of other projects: all are read, or refused with words that a user understands."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from speedproof.data.suite import Record, Skipped
from speedproof.errors import FormatError
from speedproof.formats import FORMATS, read
from speedproof.formats.source import open_source

# Folders whose every result file (by suffix) is read, with or without remarks.
READ = {
    **dict.fromkeys(("pyperf", "pyperformance"), (".json", ".gz")),
    **dict.fromkeys(("pyperf-jit-pairs", "bench_runner", "hyperfine", "google-benchmark"), (".json",)),
    **dict.fromkeys(("pytest-benchmark", "jmh", "benchmarkdotnet"), (".json",)),
    "go": (".txt", ".bench"),
    "krun": (".bz2",),
}
# The format of every file of a folder that is read at all; folders of one tool only.
DETECTED = dict.fromkeys(("pyperf", "pyperformance", "pyperf-jit-pairs", "bench_runner"), "pyperf") | {
    name: name
    for name in (
        "hyperfine", "go", "google-benchmark", "jmh", "pytest-benchmark", "criterion", "benchmarkdotnet", "krun",
        "nanobench", "asv", "sightglass",
    )
}  # fmt: skip
# A word of the message that names the tool of what is refused.
REFUSED = {
    "asv": "asv", "catch2": "Catch2", "cargo": "cargo bench", "vitest": "vitest",
    "julia": "BenchmarkTools.jl", "luau": "Luau", "benchmarkjs": "benchmark.js", "small-payload": "ReBench",
    "nohup.log": "JMH", "jmh-result.csv": "JMH",
}  # fmt: skip


def attempt(path: Path) -> list[Record | Skipped] | FormatError:
    try:
        return list(read(path))
    except FormatError as error:
        return error


def test_every_file_is_read_or_refused_with_words(shared: Path) -> None:
    for path in sorted(p for p in shared.rglob("*") if p.is_file() and "LICENSE" not in str(p)):
        relative = path.relative_to(shared)
        outcome = attempt(path)
        if not isinstance(outcome, FormatError):
            assert outcome
            assert all(isinstance(i, Record) or i.reason for i in outcome)
            continue
        assert path.suffix not in READ.get(relative.parts[0], ()), outcome
        assert outcome.path == str(path)
        assert len(outcome.message) > 25, outcome
        # asv's own test data hold two files that are broken on purpose.
        if not path.name.startswith(("aaaaaaaa", "bbbbbbbb")):
            words = [word for part, word in REFUSED.items() if part in str(relative)]
            assert all(word in outcome.message for word in words), outcome


@pytest.mark.parametrize("days", [
    "07-17_72c18f28 07-18_45796fde 07-18_4af982cd 07-18_70fdba64 10-21_e9b07527",
    "10-21_2348d9de 10-21_dcd92004",
])  # fmt: skip
def test_pyperf_formats_of_all_ages_agree(shared: Path, days: str) -> None:
    """The upstream project converted one measurement from format to format; the numbers are the same."""
    names = [f"2016-{day}" for day in days.split()] + ["2017-03-17_32ea2e50"] * ("2348d9de" in days)
    paths = [shared / "pyperf" / "history" / f"telco_{name}.json" for name in names]
    samples = [record for path in paths for record in read(path) if isinstance(record, Record)]
    assert len(samples) == len(names)
    for sample in samples[1:]:
        np.testing.assert_allclose(sample.values, samples[0].values, rtol=1e-15)
        assert sample.processes is not None
        np.testing.assert_array_equal(sample.processes, samples[0].processes)


# Folder, metric, its unit in the file, what the tool computed of each benchmark, and how.
OWN: list[tuple[str, str | None, float, Callable[[Any], list[float]], Callable[[Any], Any]]] = [
    ("hyperfine", "time", 1.0, lambda told: [one["mean"] for one in told["results"]], np.mean),
    ("hyperfine", "time", 1.0, lambda told: [one["stddev"] for one in told["results"]], partial(np.std, ddof=1)),
    ("benchmarkdotnet", "time", 1e-9, lambda told: [b["Statistics"]["Mean"] for b in told["Benchmarks"]], np.mean),
    ("nanobench", "time", 1.0, lambda told: [one["median(elapsed)"] for one in told["results"]], np.median),
    ("nanobench", "cycles", 1.0, lambda told: [one["median(cpucycles)"] for one in told["results"]], np.median),
    ("jmh", None, 1.0, lambda told: [
        one["score"] / {"ops/min": 60}.get(one["scoreUnit"], 1) for one in (of["primaryMetric"] for of in told)
    ], np.mean),
]  # fmt: skip


@pytest.mark.parametrize("case", OWN)
def test_means_are_the_tools_own(shared: Path, case: Any) -> None:
    folder, metric, scale, own, mean = case
    name = "mustache.render.json" if folder == "nanobench" else "*.json"
    paths = [*(shared / folder).rglob(name)]
    assert paths
    for path in paths:
        records = [
            r
            for r in read(path)
            if isinstance(r, Record) and r.metric == (metric or r.metric.partition(".")[0])
        ]
        assert [mean(r.values) / scale for r in records] == pytest.approx(
            own(json.loads(path.read_text())), rel=1e-9
        )


def test_criterion_means_are_the_tools_own(shared: Path) -> None:
    for record in read(shared / "criterion" / "html_report"):
        assert isinstance(record, Record)
        estimates = json.loads((Path(record.path).parent / "estimates.json").read_text())
        assert record.values.mean() * 1e9 == pytest.approx(estimates["Mean"]["point_estimate"], rel=1e-9)
        assert np.median(record.values) * 1e9 == pytest.approx(
            estimates["Median"]["point_estimate"], rel=1e-9
        )


def test_detection_is_unambiguous(shared: Path) -> None:
    """Every file has the format of its folder's tool or none; no other format's rule knows it."""
    for path in sorted(p for p in shared.rglob("*") if p.is_file() and "LICENSE" not in str(p)):
        try:
            source = open_source(path)
        except FormatError:
            continue
        rules = [known for known in FORMATS if known.name not in ("csv", "raw")]
        found = [known.name for known in rules if known.reader.sniff(source.begin)]
        tool = DETECTED.get(path.relative_to(shared).parts[0])
        assert found in ([], [tool]) if tool else len(found) <= 1, (path, found)

"""Sessions as the top level of nesting, and which side was measured first, by what the files tell."""

import json
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from tests.protocols.asking import compare_typical

import speedproof as sp
from speedproof.data.sample import Trait
from speedproof.data.suite import Key
from speedproof.formats.suites import read as read_suite
from speedproof.protocols.results import Verdict


def test_metrics_may_be_called_as_other_tools_call_their_fields(tmp_path: Path) -> None:
    """A session whose metrics are named "results" and "mean" is none of hyperfine's files."""
    session = Path("examples/faults/session.jsonl").read_text(encoding="utf-8")
    renamed = tmp_path / "renamed.jsonl"
    renamed.write_text(session.replace('"user"', '"results"').replace('"system"', '"mean"'), encoding="utf-8")
    assert {"results", "mean"} <= {key.metric for key in sp.read(renamed).keys}


def test_processes_are_nested_in_sessions(files: Path, tmp_path: Path) -> None:
    """Two pyperf files of ten processes each are twenty processes, in two sessions."""
    names = [tmp_path / name for name in ("one.json", "two.json", "other.json")]
    for k, path in enumerate(names):
        text = (files / "pyperf.json").read_text()
        path.write_text(text.replace("6.4", f"6.{k}"))
    suite = read_suite(f"v={names[0]},{names[1]}", names[2])
    sample = next(iter(suite.samples.values()))
    assert sample.processes is not None
    assert sample.sessions is not None
    pairs = set(zip(sample.processes.tolist(), sample.sessions.tolist(), strict=True))
    count = suite["sum"].samples[Key("sum"), "other"].process_count
    assert pairs == {(k, k // count) for k in range(2 * count)}
    each = sample.per_process("mean")
    assert each.sessions is not None
    assert each.sessions.tolist() == [0] * count + [1] * count


def test_spans_are_those_of_the_files(files: Path) -> None:
    """pyperf: from the begin of the first process with values to the end of the last, as json tells it."""
    moments = []
    for run in json.loads((files / "pyperf.json").read_text())["benchmarks"][0]["runs"]:
        if "values" in run:
            start = datetime.fromisoformat(run["metadata"]["date"]).replace(tzinfo=UTC).timestamp()
            moments += [start, start + run["metadata"]["duration"]]
    sample = next(iter(read_suite(files / "pyperf.json").samples.values()))
    assert sample.span == (min(moments), max(moments))
    (rebench, *_) = read_suite(files / "rebench.data").samples.values()
    assert rebench.span == (datetime.fromisoformat("2026-11-21T18:55:51.603415+00:00").timestamp(),) * 2


def test_a_file_given_twice_is_one_session(tmp_path: Path) -> None:
    """Also under another name; two measurements never agree in all values."""
    files = []
    for name, text in {"a": "12 13 15", "b": "12 13 15", "c": "12 13 14", "d": "9 9 9", "e": "9 9 9"}.items():
        path = tmp_path / f"{name}.txt"
        path.write_text("\n".join(text.split()) + "\n")
        files.append(str(path))
    a, b, c, d, e = files
    suite = read_suite(f"old={a},{a},{b},{c}", f"new={d},{e}", unit="ms")
    old, new = suite.samples.values()
    assert (old.session_count, old.n) == (2, 6)
    assert (new.session_count, new.n) == (2, 6)  # equal by their steps, perhaps
    assert [skipped.path for skipped in suite.skipped] == [a, b]
    assert "the same measurements as in" in suite.skipped[0].reason


@pytest.mark.parametrize("names", ["{v}{k}.txt", "{v}/{k}.txt", "{v}-2026-01-{k}.txt"])
def test_the_same_sessions_are_compared_by_their_ratios(tmp_path: Path, names: str) -> None:
    """Files whose names differ in the same parts, in whatever order; a clear gain in six of six."""
    rng = np.random.default_rng(3)
    paths: dict[str, list[str]] = {"a": [], "b": []}
    for k in range(6):
        machine = 10.0 * (k + 1)
        for v, speed in (("a", 1.0), ("b", 0.95)):
            path = tmp_path / names.format(v=v, k=k)
            path.parent.mkdir(exist_ok=True)
            runs = machine * speed * (1 + rng.normal(0, 0.002, 5))
            path.write_text("".join(f"{run:.6f}\n" for run in runs))
            paths[v].append(str(path))
    old, new = ",".join(paths["a"]), ",".join(reversed(paths["b"]))
    (pair,) = read_suite(f"old={old}", f"new={new}", unit="ms").pair("old", "new").pairs
    result = compare_typical(pair.reference, pair.candidate)
    assert result.pvalue == 1 / 924  # of six sessions against six, apart
    assert result.speedup.value == pytest.approx(1 / 0.95, rel=3e-3)
    assert (result.reference.n, result.reference.repeated) == (6, "session")
    # five of one side are not the sessions of the other: the machine's differences hide the gain
    (pair,) = read_suite(f"old={old}", f"new={','.join(paths['b'][:5])}", unit="ms").pair("old", "new").pairs
    assert compare_typical(pair.reference, pair.candidate).verdict is Verdict.UNDECIDED


def test_a_version_between_rows_of_another_was_not_measured_after_it(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = ["O2,1", "O2,2", "O3,1", "O3,3", "O2,2", "O1,5", "O1,6"]
    path.write_text("version,time\n" + "\n".join(rows) + "\n")
    suite = sp.read(path)
    traits = {version: sample.traits for (_, version), sample in suite.samples.items()}
    assert {v: Trait.IN_TURN in own for v, own in traits.items()} == {"O2": False, "O3": False, "O1": True}

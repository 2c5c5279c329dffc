"""Sessions as the top level of nesting, by what the files tell."""

from pathlib import Path

import speedproof as sp
from speedproof.data.suite import Key
from speedproof.formats.suites import read as read_suite


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

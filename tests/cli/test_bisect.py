"""``speedproof bisect`` on real repositories, made here; the runs are faked: nothing depends on a clock."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import speedproof as sp
from speedproof.cli.console import Console
from speedproof.cli.main import main
from speedproof.data.session_file import PlannedVersion
from speedproof.measure.execute import Run
from speedproof.measure.executor import CommandExecutor

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


def git(folder: Path, *words: str) -> None:
    identity = ("-c", "user.name=n", "-c", "user.email=n@e")
    subprocess.run(["git", "-C", str(folder), *identity, *words], capture_output=True, check=True)


def history(folder: Path, seconds: list[str]) -> Path:
    """A commit for every time, which is all that its program holds; "?" does not build."""
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main", ".")
    for number, text in enumerate(seconds):
        (folder / "bench").write_text(f"#!/bin/sh\n# {text}\n")
        (folder / "bench").chmod(0o755)
        (folder / "number").write_text(str(number))
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", f"Change {number}")
    git(folder, "tag", "start", f"HEAD~{len(seconds) - 1}")
    return folder


@pytest.fixture(autouse=True)
def faked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A run takes what its program says, give or take a tenth of a per cent."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    rng = np.random.default_rng(1)

    def measure(self: CommandExecutor, version: PlannedVersion) -> Run:
        said = (Path(version.cwd) / "bench").read_text().split("# ")[1].strip()
        failing = said == "fails"
        seconds = 1.0 if failing else float(said) * float(np.exp(0.001 * rng.normal()))
        return Run({"time": seconds}, 1 if failing else 0, False, b"", b"", 0)

    monkeypatch.setattr(CommandExecutor, "measure", measure)


def bisect(*argv: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    return main(["bisect", *argv], Console(out, err)), out.getvalue(), err.getvalue()


def test_the_first_slow_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By name, with its proof, in at most ten lines of 80 columns; the file holds every run."""
    monkeypatch.chdir(history(tmp_path / "repo", ["1"] * 9 + ["1.1"] * 4))
    code, out, err = bisect("start..main", "./bench", "--seed", "1", "--save", "b.jsonl")
    assert code == 0, err
    first, second = out.splitlines()[:2]
    assert first.endswith("Change 9 is the first slow commit")
    assert second.startswith("against its parent: 1.10x slower, at least 1.09x")
    assert len(out.splitlines()) <= 10
    assert max(map(len, out.splitlines())) <= 80
    assert "building" in err
    assert len(Path("b.jsonl").read_text().splitlines()) > 30


def test_nothing_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Is an answer, and no failure."""
    monkeypatch.chdir(history(tmp_path / "repo", ["1"] * 5))
    code, out, _ = bisect("--good", "start", "./bench")
    assert code == 0
    assert out.startswith("Nothing changed by 1 % or more.")


def test_what_does_not_build_or_run_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may end as a set of commits."""
    seconds = ["1", "1", "?", "fails", "1.2", "1.2", "1.2"]
    monkeypatch.chdir(history(tmp_path / "repo", seconds))
    code, out, err = bisect("start..main", "./bench", "--build", "! grep -q '?' bench", "--json")
    assert code == 0, err
    found = json.loads(out)["results"][0]
    assert found["finding"]["credible"] == [2, 3, 4]
    assert sorted(found["finding"]["skipped"]) == [2, 3]
    assert "exited with code 1" in err


def test_going_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing but the file is needed, and pairs count once."""
    monkeypatch.chdir(history(tmp_path / "repo", ["1"] * 9 + ["1.1"] * 4))
    code, out, _ = bisect("start..main", "./bench", "--seed", "1", "--save", "b.jsonl", "--max-time", "1e-9")
    assert code == 3
    assert "no change is proven" in out
    assert "speedproof bisect --resume b.jsonl" in out
    code, out, _ = bisect("--resume", "b.jsonl")
    assert code == 0
    assert "Change 9 is the first slow commit" in out
    code, again, _ = bisect("--resume", "b.jsonl")
    assert again == out


def test_a_pair_that_failed_takes_no_other_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The runs beside a commit that does not build are no half of the next pair when it is gone on with."""
    monkeypatch.chdir(history(tmp_path / "repo", ["1", "1", "?", "1", "?", "1.2", "1.2"]))
    argv = ("start..main", "./bench", "--build", "! grep -q '?' bench", "--save", "b.jsonl", "--seed", "3")
    code, out, err = bisect(*argv)
    assert code == 0, err
    again, repeated, _ = bisect("--resume", "b.jsonl")
    assert (again, repeated.splitlines()[:3]) == (0, out.splitlines()[:3])
    lines = [json.loads(line) for line in Path("b.jsonl").read_text().splitlines()]
    runs = [
        (line["block"], line["version"]) for line in lines if line["type"] == "run" and "warmup" not in line
    ]
    assert len(runs) == len(set(runs))
    assert all(sum(block == own for block, _ in runs) <= 2 for own, _ in runs)


def test_an_end_that_does_not_build_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the last lines of its log."""
    monkeypatch.chdir(history(tmp_path / "repo", ["1", "1", "?"]))
    code, _, err = bisect("start..main", "./bench", "--build", "echo no such thing; ! grep '?' bench")
    assert code == 2
    assert "no such thing" in err


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ((), "give the range A..B first"),
        (("start..main",), "one benchmark command"),
        (("start..main", "./a", "./b"), "one benchmark command"),
        (("--bad", "main", "./bench"), "--bad needs --good"),
        (("nowhere..main", "./bench"), "'nowhere' is not a revision"),
        (("main..main", "./bench"), "is only one revision"),
        (("start..main", "./absent"), "has no"),
        (("--resume", "b.jsonl", "./bench"), "--resume takes everything"),
        (("--resume", "absent.jsonl"), "cannot be read"),
    ],
)
def test_errors_in_words(
    argv: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the remedy."""
    monkeypatch.chdir(history(tmp_path / "repo", ["1", "1.2"]))
    code, _, err = bisect(*argv)
    assert code == 2
    assert said in err
    assert "Traceback" not in err


def test_a_session_of_run_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no range to go on with."""
    monkeypatch.chdir(history(tmp_path / "repo", ["1", "1.2"]))
    out, err = io.StringIO(), io.StringIO()
    assert (
        main(
            ["run", "--runs", "2", "--save", "r.jsonl", "--cwd", ".", "./bench", "./bench"], Console(out, err)
        )
        == 0
    )
    assert bisect("--resume", "r.jsonl")[0] == 2


def test_no_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No traceback."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    code, _, err = bisect("a..b", "./bench")
    assert code == 2
    assert "not in a git repository" in err


@pytest.mark.parametrize("commits", [["a"], ["a", "b", "a"]])
def test_python_refuses_what_is_no_history(commits: list[str]) -> None:
    """Too short, or one commit twice."""
    with pytest.raises(sp.SpeedproofError):
        sp.bisect(commits, lambda name: 1.0)


@pytest.mark.parametrize("seconds", [1.0, 3.0, 2])
def test_equal_times_are_exact(seconds: float) -> None:
    """Of what never varies nobody knows a step: the ends are the same, though 1 has no decimals."""
    found = sp.bisect(["a", "b", "c"], lambda name: seconds, max_pairs=40)
    assert found.finding.outcome.value == "nothing changed"
    assert found.finding.pairs < 40


def test_python_leaves_out_what_raises() -> None:
    """Only a SpeedproofError; other exceptions are the caller's own."""
    times = {"a": 1.0, "b": 1.0, "c": 0.0, "d": 1.3, "e": 1.3}

    def run(name: str) -> float:
        if name == "c":
            raise sp.SpeedproofError("does not build")
        return times[name]

    found = sp.bisect(list(times), run, seed=1)
    assert found.credible == ("c", "d")
    assert str(found).startswith("d is the first slow commit")

"""Builds without a repository: whose fault a failure is, what is told of it, whom the files are for."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from speedproof.errors import UsageError
from speedproof.measuring import build
from speedproof.measuring.build import BuildCache, build_all
from speedproof.measuring.execute import RunError
from speedproof.measuring.revisions import Revision
from speedproof.measuring.store import ResultsFile

# Carried out in a folder that holds the revision's name: "a", "b" and so on.
FAILS_AT = "! grep -q '[{}]' name"


@pytest.fixture(autouse=True)
def faked(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A revision holds its name; the umask is as before afterwards."""

    def check_out(top: Path, revision: Revision, tree: Path) -> None:
        tree.mkdir()
        (tree / "name").write_text(revision.name)

    monkeypatch.setattr(build, "check_out", check_out)
    monkeypatch.setattr(build, "tools", lambda variables: {})
    umask = os.umask(0o022)
    yield
    os.umask(umask)


def built(folder: Path, names: str, command: str) -> tuple[str, str, list[str]]:
    """What was built of these, the error that ended it, and what was told but "building"."""
    told: list[str] = []
    try:
        with BuildCache(folder).builder(folder, command, tell=told.append) as builder:
            builds = build_all(builder, [Revision(name, name) for name in names], told.append)
            found, failure = "".join(b.revision.name for b in builds), ""
    except RunError as error:
        found, failure = "", str(error)
    return found, failure, [text for text in told if not text.startswith("building ")]


@pytest.mark.parametrize("failing", ["-", "a", "b", "c", "ab", "bc", "ac", "bcd"])
@pytest.mark.parametrize("names", ["ab", "abc", "abcd"])
def test_what_is_left_when_builds_fail(tmp_path: Path, names: str, failing: str) -> None:
    """Nothing without the first or with it alone; of two the failure itself is said, of more those left out."""
    command = FAILS_AT.format(failing)
    found, failure, told = built(tmp_path, names, command)
    left, absent = ("".join(n for n in names if (n in failing) is out) for out in (False, True))
    says = [f"{name}: the build {command!r} exited with code 1 and printed nothing" for name in absent]
    if "a" in absent or (names == "ab" and absent):
        assert (found, failure, told) == ("", says[0], [])
        return
    assert told == [f"left out: {text}" for text in says]
    if left == "a":
        assert (found, failure) == ("", f"no revision but a can be built; the last: {says[-1]}")
    else:
        assert (found, failure) == (left, "")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("true", ""),
        ("exit 1", "exited with code 1"),
        ("exit 255", "exited with code 255"),
        ("kill -9 $$", "was killed by signal 9"),
        ("kill -1 $$", "was killed by signal 1"),
    ],
)
def test_how_a_build_ended(tmp_path: Path, command: str, said: str) -> None:
    expected = said and f"a: the build {command!r} {said} and printed nothing"
    assert built(tmp_path, "a", command) == ("" if said else "a", expected, [])


@pytest.mark.parametrize("lines", [0, 1, 15, 16])
def test_the_end_of_the_log_is_shown(tmp_path: Path, lines: int) -> None:
    """Fifteen lines of it, and where the others are when there are any."""
    _, failure, _ = built(tmp_path, "a", f"seq {lines}; exit 1")
    shown = [str(k) for k in range(1, lines + 1)][-15:]
    assert failure.splitlines()[1:] == [f"  {line}" for line in shown]
    assert ("the end of" in failure, "its output:" in failure) == (lines > 15, 0 < lines <= 15)


@pytest.mark.parametrize(("free", "roomy"), [(0, False), (2**20, False), (2**20 + 1, True)])
def test_a_disk_is_full_with_a_mebibyte_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, roomy: bool
) -> None:
    """A build that fails then is no fault of the revision; one that succeeds is none at all."""
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(2**40, 0, free))
    if roomy:
        assert "exited with code 1" in built(tmp_path, "a", "false")[1]
    else:
        with pytest.raises(UsageError, match="no room is left"):
            built(tmp_path, "a", "false")
    assert built(tmp_path, "a", "true") == ("a", "", [])


@pytest.mark.parametrize("umask", [0o000, 0o027, 0o077])
def test_the_umask_says_whom_files_are_for(tmp_path: Path, umask: int) -> None:
    """All bits that it leaves, of results and of builds' locks; nobody carries data out."""
    os.umask(umask)
    with ResultsFile(tmp_path / "r.jsonl"):
        pass
    assert built(tmp_path / "cache", "a", "true")[0] == "a"
    locks = list((tmp_path / "cache").glob("*.lock"))
    assert len(locks) == 2
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "r.jsonl", *locks)} == {0o666 & ~umask}


def test_a_build_says_how_long_it_took(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To the millisecond, and again when it is found; one of an older program does not say."""
    times = iter([5.0, 7.1236])
    monkeypatch.setattr("speedproof.measuring.build.time.monotonic", lambda: next(times))

    def found() -> build.Build:
        with BuildCache(tmp_path).builder(tmp_path, "true") as made, ExitStack() as held:
            return made(Revision("a", "a"), held)

    assert [(b.cached, b.seconds) for b in (found(), found())] == [(False, 2.124), (True, 2.124)]
    (stamp,) = tmp_path.glob("*/built.json")
    stamp.write_text('{"name": "a"}')
    assert found().seconds == 0.0

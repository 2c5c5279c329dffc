"""Builds without a repository: whose fault a failure is, what is told of it, whom the files are for."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.measuring.waiting import gone, wait_for

from speedproof.errors import UsageError
from speedproof.measuring import build
from speedproof.measuring.build import Build, BuildCache, build_all, size_on_disk, tools
from speedproof.measuring.execute import RunError
from speedproof.measuring.revisions import Revision
from speedproof.measuring.store import ResultsFile
from speedproof.measuring.system import watch

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
    watch(0)  # what watches the runner holds two files
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
    """Nothing without the first; of the others those that fail are left out, and named."""
    command = FAILS_AT.format(failing)
    found, failure, told = built(tmp_path, names, command)
    left, absent = ("".join(n for n in names if (n in failing) is out) for out in (False, True))
    says = [f"{name}: the build {command!r} exited with code 1 and printed nothing" for name in absent]
    if "a" in absent:
        assert (found, failure, told) == ("", says[0], [])
    else:
        assert (found, failure, told) == (left, "", [f"left out: {text}" for text in says])


@pytest.mark.parametrize("said", ["exited with code 1", "exited with code 255", "was killed by SIGKILL"])
def test_how_a_build_ended(tmp_path: Path, said: str) -> None:
    kind = said.split()[-1]
    command = f"kill -{kind[3:]} $$" if kind.startswith("SIG") else f"exit {kind}"
    assert built(tmp_path, "a", command) == ("", f"a: the build {command!r} {said} and printed nothing", [])


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


def test_tools_are_told_by_the_first_line_that_they_say(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whatever their exit code; nothing of one that hangs or cannot be started. Variables are what is set."""
    for name, text in (
        ("cc", '#!/bin/sh\necho "cc 1.0 $*"\necho more'), ("go", '#!/bin/sh\necho "go 2.0 $*"'),
        ("make", "#!/bin/sh\nprintf 'make\\377'; exit 3"), ("cmake", "#!/bin/sh\n"),
        ("ld", "#!/no/such/interpreter\n"), ("rustc", "#!/bin/sh\necho late"), ("javac", "no program"),
    ):  # fmt: skip
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755 if name != "javac" else 0o644)
    for name in build.VARIABLES:
        monkeypatch.delenv(name, raising=False)
    variables = {"CC": "clang -m32", "OWN": ""}
    for name, value in {"PATH": str(tmp_path), "FOREIGN": "1", **variables}.items():
        monkeypatch.setenv(name, value)
    run = subprocess.run

    def hanging(words: Sequence[str], **options: Any) -> object:
        if words[0].endswith("/rustc"):
            raise subprocess.TimeoutExpired(words, options["timeout"])
        return run(words, **options)

    monkeypatch.setattr(subprocess, "run", hanging)
    said = {"cc --version": "cc 1.0 --version", "go --version": "go 2.0 version"}
    said |= {"make --version": "make\ufffd", "cmake --version": ""}
    assert tools(["OWN", "ABSENT"]) == variables | said
    assert "OWN" not in tools()


def test_a_build_that_was_changed_is_made_again(tmp_path: Path) -> None:
    """Not for what runs added to it, nor while another session runs it."""
    told: list[str] = []

    def found() -> Build:
        with BuildCache(tmp_path).builder(tmp_path, "cp name program", tell=told.append) as builder:
            return builder(Revision("a", "a"), None)

    folder = found().folder
    (folder / "added").touch()
    assert found().cached
    with BuildCache(tmp_path).builder(tmp_path, "cp name program", tell=told.append) as builder:
        assert builder(Revision("a", "a"), None).cached
        (folder / "program").write_text("edited")
        assert found().cached
    for spoil in ("", "rm program", "touch -d @1 name"):
        subprocess.run(spoil, cwd=folder, shell=True, check=True)
        told.clear()
        assert not found().cached
        assert told == ["a: its kept build was changed since, and is made again", "building a"]
        assert (folder / "program").read_text() == "a"
        assert not (folder / "added").exists()
    assert found().cached
    (folder.parent / "built.json").unlink()  # as where it was cut off
    assert not found().cached
    (folder.parent / "built.json").unlink()
    BuildCache(tmp_path).trim()
    assert not folder.exists()


@pytest.mark.slow
def test_a_build_ends_with_its_runner(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from speedproof.measuring import build\n"
        "from speedproof.measuring.revisions import Revision\n"
        "build.check_out = lambda top, revision, tree: tree.mkdir()\n"
        "here = Path(sys.argv[1])\n"
        "make = f'sleep 300 & echo $! $$ > {here}/new; sleep .5; mv {here}/new {here}/pids; wait'\n"
        "with build.BuildCache(here).builder(here, make) as builder:\n"
        "    builder(Revision('a', 'a'), None)\n"
    )
    runner = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.DEVNULL)
    wait_for((tmp_path / "pids").exists)
    runner.kill()
    runner.wait()
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    wait_for(lambda: all(map(gone, pids)))


def test_an_interrupted_build_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(pid: int) -> None:
        if pid:
            raise KeyboardInterrupt

    monkeypatch.setattr(build, "watch", interrupted)
    with pytest.raises(KeyboardInterrupt):
        built(tmp_path, "a", f"sleep 2; touch {tmp_path}/done")
    assert not (tmp_path / "done").exists()


def test_a_build_runs_in_its_part_of_the_repository(tmp_path: Path) -> None:
    with BuildCache(tmp_path).builder(tmp_path, "true", inside="part/deep", tell=str) as builder:
        with pytest.raises(RunError, match=r"^a: has no folder part/deep$"):
            builder(Revision("a", "a"), None)
        assert not BuildCache(tmp_path).builds()
    (tmp_path / "file").touch()
    nowhere = BuildCache(tmp_path / "file" / "builds")
    with (
        pytest.raises(UsageError, match="builds cannot be kept there: Not a directory"),
        nowhere.builder(tmp_path, "true"),
    ):
        pass


def test_a_size_is_that_of_the_blocks_of_files(tmp_path: Path) -> None:
    """A link is not followed."""
    assert size_on_disk(tmp_path) == 0
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "link").symlink_to(sys.executable)
    for path in (tmp_path / "a", tmp_path / "in" / "b"):
        path.write_bytes(b"x" * 10_000)
    used = subprocess.run(
        ["stat", "-c", "%b %B", "a", "in/b", "in/link"], cwd=tmp_path, capture_output=True, check=True
    )
    numbers = [int(number) for number in used.stdout.split()]
    assert size_on_disk(tmp_path) == sum(a * b for a, b in zip(numbers[::2], numbers[1::2], strict=True))


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", "3", "null"])
def test_a_damaged_stamp_is_no_build(tmp_path: Path, text: str) -> None:
    """The others are told in the order in which they were used."""
    for number, content in ((2, '{"name": "n2"}'), (1, text), (0, '{"name": "n0"}')):
        (stamp := tmp_path / f"{9 - number:016}" / "built.json").parent.mkdir()
        stamp.write_text(content)
        os.utime(stamp, (number, number))
    assert [found.name for found in BuildCache(tmp_path).builds()] == ["n0", "n2"]

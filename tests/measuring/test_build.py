"""Builds without a repository: whose fault a failure is, what is told of it, whom the files are for."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.measuring.waiting import gone, wait_for

from speedproof.errors import UsageError
from speedproof.measuring import build
from speedproof.measuring.build import Build, BuildCache, CachedBuild, build_all, tools
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


def test_a_build_is_known_by_all_that_it_is_made_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its folder has the first 16 digits of the hash of what its stamp says; other sessions look for it there."""
    monkeypatch.setattr(build, "tools", lambda variables: {"CC": "cc", "A": "1"})
    told: list[str] = []
    cases: list[tuple[Revision, dict[str, object], str]] = [
        (Revision("a", "c0"), {}, "(c0)"),
        (Revision("a", "c1", content="dirty"), {"commit": "c1", "content": "dirty"}, "(c1)"),
        (Revision("a", "c0", again=True), {"again": "yes"}, "(c0)"),
        (Revision("a", "c0", number=0), {"number": 0}, "(c0), build 1"),
        (Revision("a", "c0", number=3, drawn=7), {"number": 3, "drawn": 7}, "(c0), build 4"),
    ]
    common = {"build": ["", "echo {seed}"], "commit": "c0", "content": "", "top": str(tmp_path / "top")}
    with BuildCache(tmp_path).builder(tmp_path / "top", "echo {seed}", tell=told.append) as builder:
        for one, more, named in cases:
            found = builder(one, None)
            assert told.pop() == f"building a {named}"
            parts = {**common, "with": {"A": "1", "CC": "cc"}, **more}
            digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
            folder = tmp_path / digest[:16]
            assert (found.revision, found.folder, found.cached) == (one, folder / "tree", False)
            assert (folder / "build.log").read_text() == f"{one.seed}\n"
            stamp = json.loads((folder / "built.json").read_text())
            assert stamp == {"name": "a", "seconds": found.seconds, **parts}


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


def test_a_build_ends_with_its_runner(tmp_path: Path) -> None:
    """Killed as nothing can catch it, in the middle of a build."""
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


def entries(folder: Path, sizes: Sequence[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Builds of these sizes, each used after those before it, and made before them."""
    names = [f"{number:016}" for number in range(len(sizes))]
    for number in reversed(range(len(sizes))):
        stamp = folder / names[number] / "built.json"
        stamp.parent.mkdir(parents=True)
        stamp.write_text(f'{{"name": "n{number}"}}')
        os.utime(stamp, (number, number))
    monkeypatch.setattr(build, "size_on_disk", lambda of: dict(zip(names, sizes, strict=True))[of.name])


@pytest.mark.parametrize("ends", [False, True])
@pytest.mark.parametrize(
    ("sizes", "limit", "gone"),
    [
        *(
            ((3, 5, 7), limit, gone)
            for limit, gone in ((15, 0), (14, 1), (12, 1), (11, 2), (7, 2), (6, 3), (0, 3))
        ),
        ((0, 5 * 2**30), None, 0),
        ((1, 5 * 2**30), None, 1),
        ((), 0, 0),
    ],
)
def test_the_longest_unused_are_removed_down_to_the_limit(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    sizes: tuple[int, ...],
    limit: int | None,
    gone: int,
    ends: bool,
) -> None:
    """No more of them, by default to 5 GiB; when that is asked for, and at the end of a session."""
    entries(tmp_path, sizes, monkeypatch)
    expected = [CachedBuild(tmp_path / f"{k:016}", f"n{k}", size, float(k)) for k, size in enumerate(sizes)]
    cache = BuildCache(tmp_path, limit=limit) if ends and limit is not None else BuildCache(tmp_path)
    assert cache.builds() == expected
    if ends:
        with cache.builder(tmp_path, "true"):
            assert cache.builds() == expected
    else:
        assert cache.trim(limit) == expected[:gone]
    assert cache.builds() == expected[gone:]
    # What is half removed is no build, and tried again.
    monkeypatch.setattr(shutil, "rmtree", lambda path, ignore_errors=False: None)
    assert cache.trim(0) == expected[gone:]
    assert cache.builds() == cache.trim(0) == []


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", "3", "null"])
def test_a_damaged_stamp_is_no_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    entries(tmp_path, (1, 2, 4), monkeypatch)
    (tmp_path / "0000000000000001" / "built.json").write_text(text)
    assert [found.name for found in BuildCache(tmp_path).builds()] == ["n0", "n2"]


def test_the_size_of_a_build_is_what_its_files_take_on_the_disk(tmp_path: Path) -> None:
    """Links are not followed; a file with a hole takes less than its length."""
    (tmp_path / "f" / "deep").mkdir(parents=True)
    (tmp_path / "f" / "one").write_bytes(b"x" * 10_000)
    (tmp_path / "f" / "deep" / "two").write_bytes(b"y" * 5000)
    (tmp_path / "f" / "empty").touch()
    (tmp_path / "large").write_bytes(b"z" * 1_000_000)
    (tmp_path / "f" / "link").symlink_to(tmp_path / "large")
    with (tmp_path / "f" / "hole").open("wb") as file:
        file.truncate(1 << 30)
    files = [path for path in (tmp_path / "f").rglob("*") if path.is_symlink() or path.is_file()]
    assert len(files) == 5
    assert build.size_on_disk(tmp_path / "f") == sum(path.lstat().st_blocks for path in files) * 512


def test_a_build_is_in_use_for_as_long_as_is_said(tmp_path: Path) -> None:
    """Its holder's time, or to the end of the session; found again it is the last used. No file stays open."""
    cache, descriptors = BuildCache(tmp_path), Path("/proc/self/fd")
    one, other = Revision("one", "1"), Revision("other", "2")
    before = len([*descriptors.iterdir()])
    with cache.builder(tmp_path, "true", tell=str) as builder:
        with ExitStack() as held:
            assert not builder(one, held).cached
            assert not builder(other, None).cached
            opened = len([*descriptors.iterdir()])
            assert cache.trim(0) == []
            assert len([*descriptors.iterdir()]) == opened == before + 2
        for number, found in enumerate(cache.builds(), start=1):
            os.utime(found.folder / "built.json", (number, number))
        (first, second) = (found.name for found in cache.builds())
        with ExitStack() as held:
            assert builder(one if first == "one" else other, held).cached
        assert [found.name for found in cache.builds()] == [second, first]
        assert [found.name for found in cache.trim(0)] == ["one"]
    assert [found.name for found in cache.builds()] == ["other"]
    assert len([*descriptors.iterdir()]) == before

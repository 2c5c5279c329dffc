"""Programs are known again by their content."""

import hashlib
import os
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from speedproof.data.session_file import (
    SCHEMA,
    PlannedBenchmark,
    PlannedBuild,
    PlannedVersion,
    RunLine,
    SessionLine,
    StoredSession,
)
from speedproof.errors import UsageError
from speedproof.measuring import programs
from speedproof.measuring.execute import shell_command
from speedproof.measuring.plan import Hooks, plan_trees
from speedproof.measuring.programs import fingerprints, was_changed

STARTED = 1_767_225_600.0  # 2026-01-01 UTC


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def program(name: str, text: str = "#!/bin/sh\n") -> Path:
    path = Path.cwd() / name
    path.write_text(text)
    path.chmod(0o755)
    return path


def plan(*commands: str, shell: bool = False, **more: Any) -> tuple[PlannedBenchmark, ...]:
    words = [shell_command(text) if shell else tuple(text.split()) for text in commands]
    versions = [PlannedVersion(f"v{i}", of, commands[i], **more) for i, of in enumerate(words)]
    return (PlannedBenchmark("b", tuple(versions)),)


def session(benchmarks: tuple[PlannedBenchmark, ...], files: dict[str, str]) -> StoredSession:
    head = SessionLine(SCHEMA, "s", "2026-01-01T00:00:00+00:00", 1, benchmarks, files=files)
    return StoredSession(head, (RunLine("s", "b", "v0", 0, 0, 10.0, {"time": 5.0}),))


@pytest.mark.parametrize(("command", "shell", "names"), [
    ("A=1 ./tool | sort > out && other", "sh", ["sh", "tool", "sort"]),
    ("(./tool; true) < in.txt", "sh", ["sh", "tool", "true", "in.txt"]),
    ("./tool sort; A=1 true", "sh", ["sh", "tool", "true"]), ("echo './tool", "sh", ["sh", "echo"]),
    ("A=1 B=2 echo C=3; sort", "sh", ["sh", "echo", "sort"]),
    ("echo 'in.txt x' & sort", "sh", ["sh", "echo", "sort"]), ("echo >& in.txt", "sh", ["sh", "echo", "in.txt"]),
    ("", "sh", ["sh"]), ("echo a@in.txt", "sh", ["sh", "echo"]),
    # Its options may name files; what tells it to carry a text out is no name.
    ("./tool", "sh -e --rcfile=start", ["sh", "tool", "start"]),
    ("./tool in.txt --config=start --nothing=else .", "sh", ["sh", "tool", "in.txt", "start"]),
    # In the version's folder, by its own PATH.
    ("./inner", "", ["inner"]), ("inner", "", ["inner"]), ("./tool", "", []),
])  # fmt: skip
def test_what_a_command_names_is_looked_at(command: str, shell: str, names: list[str]) -> None:
    """And told by its hash."""
    for name in ("tool", "in.txt", "start", "-c"):
        program(name)
    more: dict[str, Any] = {}
    if not shell:
        (sub := Path.cwd() / "sub").mkdir()
        program("sub/inner")
        more = {"cwd": "sub", "env": {"PATH": str(sub)}}
    words = shell_command(command, shell) if shell else (command,)
    found = fingerprints([PlannedBenchmark("b", (PlannedVersion("v", words, command, **more),))])
    assert [Path(path).name for path in found] == names
    for path, told in found.items():
        assert told == f"sha256:{hashlib.sha256(Path(path).read_bytes()).hexdigest()}"


@pytest.mark.parametrize("readable", [False, True])
@pytest.mark.parametrize("more", [0, 1])
def test_files_up_to_256_mib_that_can_be_read_are_hashed(
    monkeypatch: pytest.MonkeyPatch, readable: bool, more: int
) -> None:
    """What a larger one is told by moves with its size and its time."""
    path = program("tool")
    with path.open("r+b") as file:
        file.truncate(256 * 2**20 + more)
    os.utime(path, ns=(5, 7))
    monkeypatch.setattr(os, "access", lambda of, mode: readable and (of, mode) == (path, os.R_OK))
    monkeypatch.setattr(hashlib, "file_digest", lambda file, kind: hashlib.new(kind, b"x"))
    told = programs.fingerprint(path)
    monkeypatch.undo()
    hashed = f"sha256:{hashlib.sha256(b'x').hexdigest()}"
    assert told == (hashed if readable and not more else f"size:{256 * 2**20 + more} changed:7")
    assert programs.fingerprint(path.with_name("gone")) == "unreadable"


def test_a_program_that_was_built_anew_is_named_whatever_its_date(monkeypatch: pytest.MonkeyPatch) -> None:
    path = program("tool")
    benchmarks = plan("./tool", "true")
    before = fingerprints(benchmarks)
    with monkeypatch.context() as elsewhere:  # a relative path means another file there
        path.with_name("other").mkdir()
        elsewhere.chdir("other")
        assert was_changed(session(benchmarks, before), fingerprints(benchmarks)) == []
        other = program("tool")
        assert was_changed(session(benchmarks, before), fingerprints(benchmarks)) == [str(other)]
    path.write_text("#!/bin/sh\nexit 1\n")
    os.utime(path, (STARTED - 1000, STARTED - 1000))
    now = fingerprints(benchmarks)
    assert programs.replaced(benchmarks, before, now) == [("b", "v0", str(path))]
    assert was_changed(session(benchmarks, before), now) == [str(path)]
    path.unlink()
    assert was_changed(session(benchmarks, before), fingerprints(benchmarks)) == [str(path)]


@pytest.mark.parametrize(
    ("seconds", "named"), [(23.0, False), (26.0, False), (26.01, True), (60.0, True), (None, True)]
)
def test_an_input_counts_when_it_changed_after_the_last_run(seconds: float | None, named: bool) -> None:
    """What changed while it was measured may be the command's own output; the last run is what ended last."""
    program("tool")
    data = program("data.txt", "one")
    benchmarks = plan("./tool data.txt")
    before = fingerprints(benchmarks)
    times = [(3.0, 1.0), (4.0, 20.0), (21.0, 0.0), (22.0, 1.0)]
    runs = [RunLine("s", "b", "v0", 0, 0, at, {"time": time} if time else {}) for at, time in times]
    stored = replace(session(benchmarks, before), runs=tuple(runs))
    for some, ended in ((runs, 24.0), (runs[2:3], 21.0), ([], 0.0)):
        assert programs.ran_until(replace(stored, runs=tuple(some))) - STARTED == ended
    assert was_changed(stored, before) == []
    assert was_changed(stored, {}) == [str(Path.cwd() / "tool")]
    data.unlink()
    if seconds is not None:
        program("data.txt", "two")
        os.utime(data, (STARTED + seconds, STARTED + seconds))
    assert was_changed(stored, fingerprints(benchmarks)) == ([str(data)] if named else [])


def test_a_program_is_there_where_its_version_runs() -> None:
    """In its folder, by its own PATH; one that a setup command may still make is not missed."""
    (Path.cwd() / "sub").mkdir()
    program("sub/tool")
    path = {"PATH": str(Path.cwd() / "sub")}
    for commands, more, missing in (
        (["./tool"], {"cwd": "sub"}, ""), (["./tool"], {}, "./tool"), (["./tool"], {"setup": "make"}, ""),
        (["./tool"], {"cwd": "sub", "setup": "make"}, ""), (["tool"], {}, "tool"), (["tool"], {"env": path}, ""),
        (["./sub/tool a", "./gone a b"], {}, "./gone"),
    ):  # fmt: skip
        assert programs.not_found(plan(*commands, **more)) == missing
    assert programs.lacks("a", "x", "make") == "a: PATH has no x; a file of the tree is named as ./x"
    assert programs.lacks("a", "./x", "make") == "a: has no ./x after its build"
    assert programs.lacks("a", "./x", "") == "a: has no ./x; if it has to be built, give --build CMD"


def test_executables_that_a_shell_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    program("old", "\x7fELF a")
    program("new", "\x7fELF b")
    for texts, others in ((("./old | ./old", "cat x | ./new"), ("v1",)), (("./old >new", "cd .; ./old"), ())):
        benchmarks = plan(*texts, shell=True)
        benchmarks = tuple(
            replace(b, versions=tuple(replace(v, env={"PATH": ""}) for v in b.versions)) for b in benchmarks
        )
        found = programs.other_executables(benchmarks, fingerprints(benchmarks))
        assert found == ({"b": others} if others else {}), texts
    monkeypatch.setattr(Path, "open", lambda path, mode: (_ for _ in ()).throw(PermissionError))
    assert programs.other_executables(benchmarks, {}) == {}


@pytest.mark.parametrize(("command", "refused"), [
    ("/bin/sh", True), ("/bin/sh -c true", True), ("{here}/pause 1", True), ("sh {here}/pause", True),
    ("sh pause", False), ("/bin/sh pause", False), ("/bin/sh {here}/pause pause", False),
    ("sh {here}/gone", False), ("./built {here}/pause", False), ("/bin/sh ./built", False),
    ("/usr/bin/env {here}/pause", True), ("sh /bin/sh", False),
])  # fmt: skip
@pytest.mark.parametrize(("split", "shell"), [(False, ""), (True, ""), (False, "sh")])
def test_one_file_for_all_commits_is_not_compared_with_itself(
    tmp_path: Path, command: str, refused: bool, split: bool, shell: str
) -> None:
    """An absolute name is one file; a program that PATH finds may measure the folder that it is started in."""
    (tmp_path / "pause").touch()
    text = command.format(here=tmp_path)
    tree = {"v1": [PlannedBuild("", 0)]}
    plan = plan_trees(text.split() if split else text, tree, {}, Hooks(shell))
    if refused:
        with pytest.raises(UsageError, match="is one file for all commits; name one of their trees, as"):
            programs.refuse_one_file(plan, tmp_path, tmp_path)
    else:
        programs.refuse_one_file(plan, tmp_path, tmp_path)

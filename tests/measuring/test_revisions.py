"""Revisions of real repositories, made here: built apart, cached, and the repository never written to."""

import hashlib
import itertools
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.command import git, runs_are, speedproof

from speedproof.data.session_file import StoredSession
from speedproof.errors import UsageError
from speedproof.formats.suites import read as read_suite
from speedproof.measuring.execute import Job, Run, RunError
from speedproof.measuring.revisions import WORKTREE, Revision, check_out, control_of, repository, resolve
from speedproof.measuring.store import read_sessions

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")

BEFORE = "give the command before --revisions, or after --"
BUILD = "cp source bench && chmod +x bench"


def commit(folder: Path, seconds: str, subject: str, name: str = "source") -> str:
    (folder / name).write_text(f"#!/bin/sh\nexec sleep {seconds}\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", subject)
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("three")
    git(folder, "init", "-q", "-b", "main", ".")
    (folder / ".gitignore").write_text("bench\n*.jsonl\n")
    for seconds, subject in (("0.001", "Begin"), ("0.012", "Improve"), ("0.001", "Repair")):
        commit(folder, seconds, subject)
    return folder


@pytest.fixture
def repo(three: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same anew, and a cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = shutil.copytree(three, tmp_path / "repo")
    monkeypatch.chdir(folder)
    return folder


def state(folder: Path) -> dict[str, tuple[str, int]]:
    """Every byte of it, the index and all below .git included, and every time stamp."""
    return {str(path.relative_to(folder)): (
        hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns,
    ) for path in folder.rglob("*") if path.is_file() and path.suffix != ".jsonl"}  # fmt: skip


def names(top: Path, *words: str) -> list[str]:
    return [revision.name.partition(" ")[2] for revision in resolve(top, words)]


def run(*argv: str) -> tuple[int, str, str]:
    return speedproof("run", *argv)


def sources_run(
    monkeypatch: pytest.MonkeyPatch, noise: float, layout: Callable[[Job], float] = lambda job: 1.0
) -> None:
    """Runs take what their program says, but for their layout and noise."""
    rng = np.random.default_rng(7)

    def execute(job: Job) -> Run:
        text = (Path(job.cwd) / job.command[0]).read_text()
        seconds = float(text.rpartition(" ")[2]) * np.exp(noise * rng.standard_normal())
        return Run({"time": float(seconds) * layout(job)})

    runs_are(monkeypatch, execute)


def test_a_range_goes_by_first_parents(repo: Path) -> None:
    git(repo, "checkout", "-q", "-b", "side", "main~1")
    commit(repo, "0.1", "On the side", name="other")
    git(repo, "checkout", "-q", "main")
    git(repo, "merge", "-q", "--no-ff", "-m", "Merge", "side")
    assert names(repo, "main~1..main") == ["Repair", "Merge"]


def seen(folder: Path) -> dict[str, tuple[bool, bytes]]:
    """What git does not ignore: where each link leads, or the content of a file, and the right to execute it."""
    found = {}
    for name in git(folder, "ls-files", "-co", "--exclude-standard", "-z").split("\0"):
        path = folder / name
        if path.is_symlink():
            found[name] = (True, bytes(path.readlink()))
        elif path.is_file() and path.parent.resolve() == path.parent:
            found[name] = (os.access(path, os.X_OK), path.read_bytes())
    return found


def test_worktree_is_the_files_as_they_are(repo: Path, tmp_path: Path) -> None:
    """Changed, new, deleted, renamed, executable; files, links and folders take each other's places.

    Ignored ones stay behind; what lies behind a link is not the repository's, and nothing is written there.
    """
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x").write_text("not ours")
    for folder in ("to file", "to link", "to outside", "other"):
        (repo / folder / "deep").mkdir(parents=True)
        for name in ("x", "deep/y"):
            (repo / folder / name).write_text(folder)
    for name in ("file", "doomed", "mode"):
        (repo / name).write_text(name)
    (repo / "link").symlink_to("other")
    (repo / "broken").symlink_to("nowhere")
    commit(repo, "1", "Many kinds", name="both sides")
    for folder in ("to file", "to link", "to outside"):
        shutil.rmtree(repo / folder)
    (repo / "to file").write_text("now a file")
    (repo / "to link").symlink_to("other")
    (repo / "to outside").symlink_to(outside)
    for name in ("file", "link", "broken", "doomed", "source"):
        (repo / name).unlink()
    for name in ("file/a/b/x", "link/a/b/x", "link/a/b/y", "folder/new one", "broken"):
        (repo / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / name).write_text(name)
    (repo / "mode").chmod(0o755)
    (repo / "source").symlink_to("gone")
    (repo / "bench").write_text("ignored")
    before = state(repo)
    _, revision = resolve(repo, ["HEAD~1", WORKTREE])
    check_out(repo, revision, tree := tmp_path / "tree")
    assert state(repo) == before
    assert seen(tree) == seen(repo)
    assert len(seen(tree)) == 14
    assert not (tree / "bench").exists()
    assert [(path.name, path.read_text()) for path in outside.iterdir()] == [("x", "not ours")]
    assert git(tree, "status", "--porcelain") == git(repo, "status", "--porcelain")
    # Files of a merge that is not done are among the changed.
    git(repo, "checkout", "-q", "-f", "-b", "side", "main~1")
    git(repo, "clean", "-f", "-d", "-q")
    commit(repo, "2", "Theirs", name="both sides")
    with pytest.raises(subprocess.CalledProcessError):
        git(repo, "merge", "main")
    check_out(repo, resolve(repo, ["HEAD~1", WORKTREE])[1], tmp_path / "merged")
    assert "<<<<<<<" in (tmp_path / "merged" / "both sides").read_text()


def test_the_state_of_the_files_is_a_hash_of_what_differs(repo: Path) -> None:
    """In the order of the paths: the name, and the right to execute it with its content, or where a link leads."""
    commit(repo, "1", "With a blank", name="name with blanks")
    assert resolve(repo, ["HEAD~1", WORKTREE])[1] == resolve(repo, ["HEAD~1..HEAD"])[1]
    (repo / "name with blanks").write_text("changed")
    (repo / "source").unlink()
    (repo / "a link").symlink_to("source")
    (repo / "folder").mkdir()
    (repo / "folder" / "z").write_bytes(b"\0")
    (repo / "folder" / "z").chmod(0o755)
    (repo / "bench").write_text("ignored")
    head = git(repo, "rev-parse", "HEAD")
    parts = [b"a link\0linksource", b"folder/z\x00111\0", b"name with blanks\x000changed", b"source\0"]

    def state_of_files() -> str:
        _, found = resolve(repo, ["HEAD~1", WORKTREE])
        short = git(repo, "log", "-1", "--format=%h")
        assert (found.name, found.commit) == (f"WORKTREE on {short}", head)
        return found.content

    assert state_of_files() == hashlib.sha256(b"".join(parts)).hexdigest()
    (repo / "folder" / "z").chmod(0o640)
    parts[1] = b"folder/z\x000\0"
    assert state_of_files() == hashlib.sha256(b"".join(parts)).hexdigest()


@pytest.mark.slow
@pytest.mark.parametrize(("words", "found"), [
    (["main~2..main"], ["Begin", "Improve", "Repair"]), (["main~2...main"], ["Begin", "Improve", "Repair"]),
    (["main~1.."], ["Improve", "Repair"]), (["main~1..."], ["Improve", "Repair"]),
    (["main..main", "main~1"], ["Repair", "main~1"]), (["..", "main~1"], ["Repair", "main~1"]),
    (["main~1", "main~2..", "main"], ["main~1", "Begin", "Repair"]),
])  # fmt: skip
def test_either_end_of_a_range_may_be_left_out(repo: Path, words: list[str], found: list[str]) -> None:
    """It is then HEAD; whatever was named before is not named again."""
    assert names(repo, *words) == found
    git(repo, "checkout", "-q", "--detach", "main~2")
    assert names(repo, "..main~1") == ["Begin", "Improve"]


@pytest.mark.parametrize(("words", "message"), [
    (["..main~2"], "HEAD is not an ancestor of main~2; do you mean main~2..HEAD?"),
    (["main.."], "main.. is only one revision; give two, or a range A..B"),
    (["main", "HEAD"], "main HEAD is only one revision; give two, or a range A..B"),
    (["main", WORKTREE], "main WORKTREE is only one revision; give two, or a range A..B"),
    (["main..main~1"], "main is not an ancestor of main~1; do you mean main~1..main?"),
    (["main", "mainn"], "'mainn' is not a revision of TOP; did you mean main?"),
    (["main", "v1.00"], "'v1.00' is not a revision of TOP; did you mean v1.0.0?"),
    (["main", "zzz"], "'zzz' is not a revision of TOP; 'git log --oneline --all' lists them"),
    (["--output=x", "HEAD"], "'--output=x' is not a revision of TOP; 'git log --oneline --all' lists them"),
    *((["main", word], f"{word!r} is not a revision of TOP; {BEFORE}") for word in ("./x", ".x", "/x", "ls x")),
    ([f"main~1..{WORKTREE}"], "WORKTREE is no commit, so no range ends there; commit the files first"),
])  # fmt: skip
def test_what_is_no_revision_is_told_in_full(repo: Path, words: list[str], message: str) -> None:
    for tag in ("v1.0", "v1.0.0"):
        git(repo, "tag", tag, "main")
    git(repo, "tag", "-d", "v1.0")
    with pytest.raises(UsageError) as caught:
        resolve(repo, words)
    assert str(caught.value) == message.replace("TOP", str(repo))


@pytest.mark.parametrize(("subject", "shown"), [(40 * "s", 40 * "s"), (41 * "s", 39 * "s" + "…"), ("", "")])
def test_long_subjects_are_cut(repo: Path, subject: str, shown: str) -> None:
    (repo / "source").write_text(subject)
    git(repo, "commit", "-q", "-a", "--allow-empty-message", "-m", subject)
    _, found = resolve(repo, ["HEAD~1..HEAD"])
    assert found.name == f"{git(repo, 'log', '-1', '--format=%h')} {shown}".strip()


def test_git_is_asked_of_this_repository_alone(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever an outer git command says of its own; what git itself says, and that it is absent, is passed on."""
    (repo / "part").mkdir()
    for variable in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY"):
        monkeypatch.setenv(variable, "/nowhere")
    assert repository(repo / "part") == repo
    with pytest.raises(UsageError, match="is not in a git repository"):
        repository(repo.parent)
    found, _ = resolve(repo, ["HEAD", "HEAD~1"])
    with pytest.raises(UsageError, match=f"^git clone in {repo}: fatal: destination path"):
        check_out(repo, found, repo)
    monkeypatch.setenv("PATH", str(repo))
    with pytest.raises(UsageError, match=r"^revisions need git, which is not installed$"):
        repository(repo)


def test_the_layout_of_a_build_is_drawn_by_all_that_it_is() -> None:
    """The first 31 bits of the hash; the control is the same source under another name."""
    plain = Revision("a", "c0ffee")
    for revision, text in (
        (plain, "c0ffee  False None"),
        (Revision("b", "c0ffee", "dirty"), "c0ffee dirty False None"),
        (control_of(plain), "c0ffee  True None"),
        (Revision("a", "c0ffee", number=0, drawn=0), "c0ffee  False 0 0"),
        (Revision("a", "c0ffee", number=3, drawn=7), "c0ffee  False 3 7"),
    ):
        seed = int(hashlib.sha256(text.encode()).hexdigest()[:8], 16) // 2
        assert (revision.seed, revision.padding) == (seed, 1 + seed % 4096)
    assert control_of(plain) == Revision("a (again)", "c0ffee", again=True)


def test_submodules_come_from_where_they_are(repo: Path, tmp_path: Path) -> None:
    (repo / ".gitmodules").touch()  # may be empty
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "None yet")
    check_out(repo, resolve(repo, ["HEAD", "HEAD~1"])[0], tmp_path / "none")
    inner = tmp_path / "inner"
    inner.mkdir()
    git(inner, "init", "-q", "-b", "main", ".")
    commit(inner, "1", "Inside")
    git(repo, "submodule", "--quiet", "add", "--name", "own", str(inner), "part")
    check_out(repo, resolve(repo, ["HEAD~1", WORKTREE])[1], tmp_path / "added")
    assert (tmp_path / "added" / ".gitmodules").is_file()
    git(repo, "commit", "-q", "-m", "With a part")
    shutil.rmtree(inner)
    check_out(repo, resolve(repo, ["HEAD", "HEAD~1"])[0], tmp_path / "tree")
    assert (tmp_path / "tree" / "part" / "source").exists()
    (repo / "part" / "source").write_text("dirty")
    with pytest.raises(UsageError, match="the submodule part is changed"):
        resolve(repo, ["HEAD", WORKTREE])
    git(repo / "part", "commit", "-q", "-a", "-m", "Elsewhere")
    with pytest.raises(UsageError, match=r"is at another commit than in HEAD.*\('git add part'\)"):
        resolve(repo, ["HEAD", WORKTREE])


def test_files_of_git_lfs_come_from_the_users_own_copy(repo: Path, tmp_path: Path) -> None:
    """Pointers are replaced, whether or not git-lfs is installed; what was never fetched is named."""
    content = b"large\0" * 1000
    oid = hashlib.sha256(content).hexdigest()
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {len(content)}\n"
    first, rest = pointer.split("\n", 1)
    outside = tmp_path / "outside.bin"
    outside.write_text(pointer)
    (repo / ".gitattributes").write_text("*.bin filter=lfs diff=lfs merge=lfs -text\n")
    (repo / "a.bin").write_bytes(content[:1025])
    (repo / "b.bin").write_text("no pointer")
    (repo / "c.bin").symlink_to("data.bin")
    (repo / "d.bin").symlink_to(outside)
    for name, length in (("data", len(pointer)), ("e", 1024), ("f", 1025)):
        padding = f"{'x' * (length - len(pointer) - 1)}\n" if length > len(pointer) else ""
        (repo / f"{name}.bin").write_text(f"{first}\n{padding}{rest}")
        assert (repo / f"{name}.bin").stat().st_size == length
    plain = ("process=", "clean=cat", "required=false")
    git(repo, *(word for setting in plain for word in ("-c", f"filter.lfs.{setting}")), "add", "-A")
    git(repo, "commit", "-q", "-m", "Add data")
    (revision, _) = resolve(repo, ["HEAD", "HEAD~1"])
    with pytest.raises(RunError, match=r"Git LFS has not fetched data\.bin yet; run 'git lfs fetch origin"):
        check_out(repo, revision, tmp_path / "absent")
    kept = repo / ".git" / "lfs" / "objects" / oid[:2] / oid[2:4] / oid
    kept.parent.mkdir(parents=True)
    kept.write_bytes(content)
    tree = tmp_path / "tree"
    check_out(repo, revision, tree)
    found = {name: (tree / f"{name}.bin").read_bytes() for name in "abce"}
    assert found == {"a": content[:1025], "b": b"no pointer", "c": content, "e": content}
    assert (tree / "f.bin").stat().st_size == 1025
    assert outside.read_text() == pointer
    # Where the user keeps them, from the folder of the repository or from anywhere.
    for storage in ("elsewhere", str(tmp_path / "anywhere")):
        kept.parents[3].rename(repo / ".git" / storage)
        git(repo, "config", "lfs.storage", storage)
        tree = tmp_path / Path(storage).name / "tree"
        check_out(repo, revision, tree)
        kept = repo / ".git" / storage / "objects" / oid[:2] / oid[2:4] / oid
        assert (tree / "data.bin").read_bytes() == content


def test_a_session_of_revisions(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted slowdown is found under the commit's name, and the repository is as before to the bit."""
    sources_run(monkeypatch, 0.02)
    before = state(repo)
    words = ("./bench", "--revisions", "main~2..main", "--build", BUILD, "--runs", "20")
    code, out, err = run(*words, "--json", "--save", "r.jsonl")
    assert code == 0, err
    (head,) = (session.head for session in read_sessions(Path("r.jsonl")))
    assert [v.name.partition(" ")[2] for v in head.benchmarks[0].versions] == ["Begin", "Improve", "Repair"]
    assert not any("SPEEDPROOF_PADDING" in v.env or v.builds for v in head.benchmarks[0].versions)
    results = json.loads(out)["results"]
    verdicts = {r["candidate"].partition(" ")[2]: r["comparisons"][0]["verdict"] for r in results}
    assert verdicts["Improve"] == "slower"
    assert state(repo) == before
    again = run(*words)[2]
    assert ["building" in told for told in (err, again)] == [True, False]
    assert ["3 of 3 builds are from the cache" in again, "from the cache" in err] == [True, False]


@pytest.mark.slow
@pytest.mark.parametrize(("layout", "withheld"), [(1.05, True), (1.0, False)])
def test_a_control_holds_small_verdicts_back(
    repo: Path, monkeypatch: pytest.MonkeyPatch, layout: float, withheld: bool
) -> None:
    """A second build of the reference that is 5 % slower makes 2 % say nothing, now and looked at again."""
    commit(repo, "0.00102", "A little slower")
    trees: list[str] = []

    def slower(job: Job) -> float:
        trees.extend([job.cwd] if job.cwd not in trees else [])
        # The plan's order is that of the warm-up: the reference, its control, the candidate.
        return layout if trees.index(job.cwd) == 1 else 1.0

    sources_run(monkeypatch, 0.002, slower)
    words = ["./bench", "--revisions", "main~1", "main", "--build", BUILD, "--control"]
    words += ["--runs", "25", "--seed", "1"]
    code, out, err = run(*words, "--save", "r.jsonl", "--fail-on", "slower")
    assert err.count("building") == 3
    assert code == (0 if withheld else 1)
    for text in (out, run("--review", "r.jsonl")[1], speedproof("compare", "r.jsonl")[1]):
        assert ("The noise floor is not met: " in text) == withheld
        assert ("(withheld)" in text) == withheld
        assert "fastest" not in text
    code, out, err = run(*words, "--save", "g.jsonl", "--gate", "--margin", "1%")
    assert code == (3 if withheld else 1), out + err
    for text in (out, run("--review", "g.jsonl")[1], speedproof("gate", "g.jsonl")[1]):
        assert ("The noise floor is not met: " in text) == withheld
        assert re.search(r"UNDECIDED: \w+ main may be" if withheld else r"FAIL: \w+ main is", text)
        assert "(again) (1.0" in text  # it is told, and not judged


@pytest.mark.slow
@pytest.mark.parametrize("others", [["main~1"], []])
def test_a_gate_does_not_pass_a_revision_that_is_not_there(
    repo: Path, monkeypatch: pytest.MonkeyPatch, others: list[str]
) -> None:
    """What cannot be built, or has no program, fails by name, now and looked at again, alone and beside others.

    Without a gate it is left out; what is left must be two.
    """
    git(repo, "rm", "-q", "source")
    git(repo, "commit", "-q", "-m", "Break")
    noise = iter(np.exp(0.002 * np.random.default_rng(7).standard_normal(10_000)).tolist())
    runs_are(monkeypatch, lambda job: Run({"time": next(noise)}))
    words = ["--revisions", "main~3", *others, "main", "--save", "r.jsonl", "--build"]
    for build in (BUILD, "test -f source && chmod +x source; cp source bench || true"):
        Path("r.jsonl").unlink(missing_ok=True)
        code, _, err = run(*words, build, "--fail-on", "missing", "--", "./bench")
        assert (code, "no revision but" in err) == ((1, False) if others else (2, True)), err
        Path("r.jsonl").unlink(missing_ok=True)
        code, out, err = run("--gate", *words, build, "--", "./bench")
        assert code == 1, out + err
        assert "left out: " in err
        for said in (out, run("--review", "r.jsonl")[1], speedproof("gate", "r.jsonl")[1]):
            assert said.startswith("FAIL: 1 benchmark missing")
            assert re.search(r"^MISSING +(\w+ main|\./bench) ", said, re.MULTILINE), said
        assert run("--resume", "r.jsonl")[0] == 1
        missing = speedproof("compare", "r.jsonl", "--fail-on", "missing")
        assert missing[0] == (1 if others else 2), missing


@pytest.mark.slow
def test_many_builds_of_each_revision(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every build has a layout of its own and one block; its runs are nested in it: it is said of the code.

    Sessions in one file share no build, which is a unit across sessions, too. A seed builds its own again.
    """

    def layout(job: Job) -> float:
        """It moves a build by up to 5 %."""
        own = Path(job.cwd) / "layout"
        seed = int(own.read_text()) if own.exists() else len(job.env["SPEEDPROOF_PADDING"])
        return 1 + 0.05 * (seed % 997) / 997

    def folders(session: StoredSession) -> list[str]:
        return [b.cwd for v in session.head.benchmarks[0].versions for b in v.builds]

    sources_run(monkeypatch, 0.0, layout)
    words = ["./bench", "--revisions", "main~2", "main~1", "--builds", "12", "--runs", "2"]
    drawn = ("--build", f"echo {{seed}} > layout; {BUILD}")
    code, out, err = run(*words, *drawn, "--save", "r.jsonl")
    assert code == 0, err
    assert err.count("building") == 24
    (first,) = read_sessions(Path("r.jsonl"))
    counted = [r for r in first.runs if not r.warmup]
    assert len({(r.version, r.build) for r in counted}) == 2 * len({r.block for r in counted})
    builds = [b for v in first.head.benchmarks[0].versions for b in v.builds]
    assert len({(Path(b.cwd) / "layout").read_text() for b in builds}) == 24
    assert len({b.padding for b in builds}) > 20
    assert f"--seed {first.head.seed}" in err
    (sample, _) = read_suite("r.jsonl", metric="time").samples.values()
    assert sample.process_count == sample.n // 2
    for text in (out, run("--review", "r.jsonl")[1]):
        assert "this is said of the code" in " ".join(text.split())
    code, _, err = run(*words, "--build", BUILD, "--resume", "r.jsonl")
    assert (code, "--resume takes commands" in err) == (2, True)
    _, out, _ = run(*words, "--save", "other.jsonl", "--build", BUILD)
    assert "this is said of them" in " ".join(out.split())
    run(*words, *drawn, "--save", "r.jsonl")
    _, second = read_sessions(Path("r.jsonl"))
    assert {*folders(first)}.isdisjoint(folders(second))
    seed = str(first.head.seed)
    assert "building" not in run(*words, *drawn, "--seed", seed, "--save", "again.jsonl")[2]
    assert folders(read_sessions(Path("again.jsonl"))[0]) == folders(first)
    shutil.rmtree(folders(first)[3])
    code, _, told = run("--resume", "again.jsonl")
    assert code == 2
    assert "is gone, where it ran; measure anew" in told
    assert f"--seed {seed} draws the same layouts" in told


@pytest.mark.slow
def test_builds_of_a_session_that_was_cut_are_all_measured(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever was cut off, it is said how many pairs there are, and gone on with the others; then all count."""
    runs_are(monkeypatch, lambda job: Run({"time": float(len(job.cwd))}))
    words = ("true", "--revisions", "main~2", "main~1", "--builds", "5", "--runs", "1", "--build", BUILD)
    _, out, err = run(*words, "--max-time", "1e-9", "--save", "r.jsonl")
    assert "measured so far: 1 of 5" in " ".join(out.split()), err
    assert "of the code" not in out
    told = ""
    for _ in range(2):
        _, out, err = run("--resume", "r.jsonl")
        told += err
        assert "said of them" in out
        assert not re.search("so far|not tested", out)
    runs = [(r.version, r.build) for s in read_sessions(Path("r.jsonl")) for r in s.runs if not r.warmup]
    assert len(runs) == len(set(runs)) == 10
    assert "1 block taken over" in told
    code, compared, _ = speedproof("compare", "r.jsonl")
    assert (code, compared.splitlines()[0]) == (0, out.splitlines()[0])
    assert "Stopped on its result" not in compared
    # A block whose run failed is not measured again where that is ignored, and the others are tested.
    calls = itertools.count()

    def failing(job: Job) -> Run:
        place = next(calls)
        return Run({"time": 1 + 0.01 * (place % 7)}, exit=int(place == 18))

    runs_are(monkeypatch, failing)
    _, out, err = run(*words, "--ignore-failure", "--save", "failed.jsonl")
    told = " ".join(out.split())
    assert "Complete pairs: 4 of 5; runs of the others failed" in told, out + err
    # All is measured, so nothing is early.
    assert re.search(r"needs about \d+ builds", told)
    assert "too early" not in told


@pytest.mark.parametrize(("words", "risk"), [
    ("", 0.05), ("--control", 0.05 / 2), ("--control --confidence 0.99", 0.01 / 2),
    ("--gate -L n 1,2,3", 0.05 / 3), ("--gate --control -L n 1,2", 0.05 / 4),
    ("-L n 1,2,3,4 --unaffected *[123]", 0.05 / 3),
])  # fmt: skip
def test_too_few_builds_are_refused_before_they_are_made(repo: Path, words: str, risk: float) -> None:
    """K pairs that all have one sign have the p-value 2**-K: no less than its share of the risk, it is refused.

    What the change cannot touch shares a risk of its own, which is asked of the benchmarks that there are.
    """
    builds = math.floor(-math.log2(risk))
    of = ("--revisions", "main~1", "main", "--build", BUILD, *words.split(), "--save", "r.jsonl")
    code, _, err = run("./bench", *of, "--builds", str(builds))
    assert code == 2
    assert f"--builds {builds} can prove nothing" in err
    assert f"it takes {builds + 1} or more" in " ".join(err.split())
    assert ("building" in err) == ("--unaffected" in words)


@pytest.mark.slow
def test_a_plan_before_measuring(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Builds that vary by 2 % and runs by 4 %: the plan says so, and what a proof needs."""
    rng = np.random.default_rng(2)
    layout: dict[str, float] = {}

    def execute(job: Job) -> Run:
        build = layout.setdefault(job.cwd, float(np.exp(0.02 * rng.standard_normal())))
        return Run({"time": build * float(np.exp(0.04 * rng.standard_normal()))})

    runs_are(monkeypatch, execute)
    words = "./bench --revisions main~2 main~1 --plan --builds 20 --runs 10 --json --save r.jsonl --build"
    code, out, err = run(*words.split(), BUILD)
    assert code == 0, err
    plan = json.loads(out)["plan"]
    assert plan["between"] == pytest.approx(0.02, rel=0.35)
    assert plan["within"] == pytest.approx(0.04, rel=0.1)
    assert plan["run_seconds"] == pytest.approx(1.0, rel=0.05)
    # The optimum of Kalibera and Jones, or its neighbour; a build takes as long as the machine is busy.
    optimum = plan["within"] / plan["between"] * (plan["build_seconds"] / plan["run_seconds"]) ** 0.5
    assert max(int(optimum), 1) <= plan["runs_per_build"] <= int(optimum) + 1
    needed = [size["builds"] for size in plan["sizes"]]
    assert needed == sorted(needed)
    assert len({r.build for r in read_sessions(Path("r.jsonl"))[0].runs}) == 20
    text = run("--review", "r.jsonl")[1]
    assert "of each build give most for their time" in text
    assert "--builds" in text


@pytest.mark.parametrize(("words", "message"), [
    ("./a ./b --revisions main~1 main", "--revisions measures one command"),
    ("./a --build make --control", "--revisions is built: give that, or leave out --build, --control\n"),
    ("./a --plan", "--revisions is built: give that, or leave out --plan\n"),
    ("./a --builds 3", "--revisions is built: give that, or leave out --builds\n"),
    ("--suite s.toml --revisions main~1 main", "s.toml: no such file"),
    ("--suite ../s.toml --revisions main~1 main", "lies outside the repository"),
    ("./a --revisions main~1 main --build no-such-tool", "no-such-tool: not found"),
    # Few builds of what cannot be: that comes first.
    ("true true --builds 3", "nothing but --revisions is built: give that, or leave out --builds"),
    ("true --revisions main~1 no-such --build make --builds 3", "'no-such' is not a revision"),
    ("true --revisions main~1 main --min-runs 3 --build make --builds 3", "exclude each other"),
    ("--revisions main~1 main --build make --builds 3", "give the command after --"),
    ("true --revisions main~1 main --build make --builds 3", "can prove nothing"),
    ("/bin/sh --revisions main~1 main --build make", "/bin/sh is one file for all commits"),
    ("./gone --revisions main~1 main --build true", " main~1: has no ./gone after its build"),
    ("./gone --revisions main~1 main", " main~1: has no ./gone; if it has to be built, give --build CMD"),
])  # fmt: skip
def test_wrong_requests_are_named(repo: Path, words: str, message: str) -> None:
    code, _, err = run(*words.split())
    assert code == 2
    assert message in err
    assert "building" not in err or words.startswith("./gone") or "no-such-tool" in words


@pytest.mark.slow
def test_kills_leave_the_repository_as_it_was(repo: Path) -> None:
    before = state(repo)
    argv = ["run", "./bench", "--revisions", "main~2", "main~1", "main", "--build", f"sleep 0.02; {BUILD}"]
    code = "import sys; from speedproof.cli.main import main; sys.exit(main(sys.argv[1:]))"
    for moment in range(6):
        process = subprocess.Popen(
            [sys.executable, "-c", code, *argv], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(0.1 + 0.25 * moment)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert state(repo) == before

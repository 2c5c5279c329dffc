"""Revisions of a git repository, each in a tree of its own; the repository itself is only ever read.

``git worktree`` would write into the user's repository, and a killed runner would leave that there. A clone that
borrows the objects (``--shared``) writes nothing: whatever happens, the repository stays as it was.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from speedproof.data.session_file import control_name
from speedproof.errors import UsageError
from speedproof.measuring.execute import RunError

WORKTREE = "WORKTREE"
"""The name of the working tree, with uncommitted changes."""

_SUBJECT = 40
_MOST_PADDING = 4096
# Nothing of the user's repository is refreshed or locked, and no hook, pager or prompt gets in the way.
_QUIET = {
    "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_PAGER": "cat", "GIT_CONFIG_NOSYSTEM": "1",
    "LC_ALL": "C",
}  # fmt: skip
# Variables by which an outer git command (a hook, a rebase) names its repository.
_FOREIGN = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY")
# Git LFS would fetch over the network what is here already; its pointers are replaced below.
_NO_LFS = ("-c", "filter.lfs.process=", "-c", "filter.lfs.smudge=", "-c", "filter.lfs.required=false")
_LFS_POINTER = re.compile(
    rb"version https://git-lfs\.github\.com/spec/v1\n(?:.*\n)*oid sha256:([0-9a-f]{64})\n"
)
_LFS_POINTER_BYTES = 1024


class Revision(Struct, frozen=True):
    """One state of the code."""

    name: str  # a tag, or the short commit with what it was asked for as, else with its subject
    commit: str  # the whole hash; of :data:`WORKTREE`, the one that it is based on
    content: str = ""  # empty, or a hash of uncommitted changes
    again: bool = False  # whether it is the control: the same source, checked out and built once more
    number: int | None = None  # which of several builds of it
    drawn: int | None = None  # what a session's own builds differ by from those of other sessions

    @property
    def seed(self) -> int:
        """A seed for the layout of this build, reproducible and different for every build and revision."""
        text = f"{self.commit} {self.content} {self.again} {self.number}"
        text += "" if self.drawn is None else f" {self.drawn}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1

    @property
    def padding(self) -> int:
        """Bytes added to the environment of a build, which shift the stack."""
        return 1 + self.seed % _MOST_PADDING


def control_of(reference: Revision) -> Revision:
    """A second build of the reference."""
    return replace(reference, name=control_name(reference.name), again=True)


def _git(folder: Path, *words: str, check: bool = True) -> subprocess.CompletedProcess[bytes]:
    environment = {key: value for key, value in os.environ.items() if key not in _FOREIGN} | _QUIET
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *words], capture_output=True, env=environment, check=False
        )
    except FileNotFoundError:
        raise UsageError("revisions need git, which is not installed") from None
    if check and done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        raise UsageError(f"git {words[0]} in {folder}: {said or f'exit code {done.returncode}'}")
    return done


def _text(folder: Path, *words: str) -> str:
    return _git(folder, *words).stdout.decode(errors="replace").strip()


def repository(folder: Path) -> Path:
    """The top of the repository that a folder is in."""
    top = _git(folder, "rev-parse", "--show-toplevel", check=False)
    if top.returncode:
        raise UsageError(f"{folder} is not in a git repository, so there are no revisions to measure")
    return Path(top.stdout.decode().rstrip("\n"))


def resolve(top: Path, names: Sequence[str]) -> tuple[Revision, ...]:
    """Find revisions by what the user calls them."""
    revisions: dict[tuple[str, str], Revision] = {}
    for name in names:
        if name == WORKTREE:
            made = [_worktree(top)]
        elif ".." in name:
            first, _, last = name.partition("..")
            start = _commit(top, first or "HEAD")
            last = last.removeprefix(".")
            end = _commit(top, last or "HEAD")
            between = _text(top, "rev-list", "--first-parent", "--reverse", f"{start}..{end}").split()
            if start != end and not between:
                raise UsageError(
                    f"{first or 'HEAD'} is not an ancestor of {last or 'HEAD'}; "
                    f"do you mean {last or 'HEAD'}..{first or 'HEAD'}?"
                )
            made = [_named(top, commit) for commit in (start, *between)]
        else:
            made = [_typed(top, name)]
        for revision in made:
            revisions.setdefault((revision.commit, revision.content), revision)
    if len(revisions) < 2:
        raise UsageError(f"{' '.join(names)} is only one revision; give two, or a range A..B")
    return tuple(revisions.values())


def _commit(top: Path, name: str) -> str:
    done = _git(
        top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}", check=False
    )
    if done.returncode and name == WORKTREE:
        raise UsageError(f"{WORKTREE} is no commit, so no range ends there; commit the files first")
    if done.returncode:
        hint = "; give the command before --revisions, or after --" if name[:1] in "./" or " " in name else ""
        raise UsageError(f"{name!r} is not a revision of {top}{hint or _near(top, name)}")
    return done.stdout.decode().strip()


def _near(top: Path, name: str) -> str:
    """A hint at a similar branch or tag, or at how to list revisions."""
    branches = _text(top, "for-each-ref", "--format=%(refname:short)").splitlines()
    if near := difflib.get_close_matches(name, branches):
        return f"; did you mean {near[0]}?"
    return "; 'git log --oneline --all' lists them"


def _named(top: Path, commit: str) -> Revision:
    short, _, subject = _text(top, "log", "-1", "--format=%h %s", commit).partition(" ")
    shown = subject if len(subject) <= _SUBJECT else f"{subject[: _SUBJECT - 1]}…"
    return Revision(f"{short} {shown}".strip(), commit)


def _typed(top: Path, name: str) -> Revision:
    """A revision under the name given by the user; a moving name, as of a branch, also keeps its hash."""
    commit = _commit(top, name)
    named = _named(top, commit)
    if commit.startswith(name.lower()):
        return named
    tag = _git(top, "rev-parse", "--verify", "--quiet", f"refs/tags/{name}", check=False).returncode == 0
    return replace(named, name=name if tag else f"{named.name.partition(' ')[0]} {name}")


def _worktree(top: Path) -> Revision:
    """The files as they are now; the same as HEAD when nothing is changed."""
    head = _named(top, _commit(top, "HEAD"))
    changed = _changed(top)
    if not changed:
        return head
    digest = hashlib.sha256()
    for path in changed:
        file = top / path
        digest.update(os.fsencode(path) + b"\0")
        if file.is_symlink():
            digest.update(b"link" + os.fsencode(file.readlink()))
        elif file.is_file():
            digest.update(b"%o" % (file.stat().st_mode & 0o111) + file.read_bytes())
    return Revision(f"{WORKTREE} on {head.name.partition(' ')[0]}", head.commit, digest.hexdigest())


def _changed(top: Path) -> list[str]:
    """The paths that differ from HEAD, new files included, ignored ones not."""
    status = _git(top, "status", "--porcelain=v2", "-z", "--untracked-files=all", "--no-renames").stdout
    paths = []
    for entry in status.decode(errors="surrogateescape").split("\0"):
        kind, _, rest = entry.partition(" ")
        if kind == "?":
            paths.append(rest)
        elif kind in ("1", "u"):
            fields = rest.split(" ", 7 if kind == "1" else 9)
            if fields[1].startswith("S") and fields[1] != "S...":
                state = "at another commit than in HEAD" if fields[1] == "SC.." else "changed"
                raise UsageError(
                    f"the submodule {fields[-1]} is {state}, which {WORKTREE} cannot take along; commit it, there "
                    f"and then here ('git add {fields[-1]}'), or name a revision"
                )
            paths.append(fields[-1])
    return sorted(paths)


def check_out(top: Path, revision: Revision, tree: Path) -> None:
    """Put the files of a revision into a folder that does not exist yet."""
    _git(top, "clone", "--quiet", "--shared", "--no-checkout", "--template=", "--", str(top), str(tree))
    _git(
        tree, *_NO_LFS, "-c", "advice.detachedHead=false", "checkout", "--quiet", "--detach", revision.commit
    )
    _large_files(top, tree, revision)
    _submodules(top, tree)
    changed = _changed(top) if revision.content else []
    for path in changed:
        source, target = top / path, tree / path
        if target.is_symlink() or target.is_file():
            target.unlink()
        elif source.is_symlink() or source.is_file():  # in the place of a folder
            shutil.rmtree(target, ignore_errors=True)
    for path in changed:
        source, target = top / path, tree / path
        # What lies behind a link now is not in the repository.
        if (source.is_symlink() or source.is_file()) and not any(
            (top / part).is_symlink() for part in Path(path).parents
        ):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target, follow_symlinks=False)


def _large_files(top: Path, tree: Path, revision: Revision) -> None:
    """Fetch Git LFS objects from the user's own copy."""
    names = _git(tree, "ls-files", "-z", "--", ":(attr:filter=lfs)").stdout.split(b"\0")
    common = Path(_text(top, "rev-parse", "--path-format=absolute", "--git-common-dir"))
    storage = _git(top, "config", "--get", "lfs.storage", check=False).stdout.decode().strip()
    store = common / (storage or "lfs") / "objects"
    for name in filter(None, names):
        file = tree / os.fsdecode(name)
        if file.is_symlink() or not file.is_file() or file.stat().st_size > _LFS_POINTER_BYTES:
            continue
        if (pointer := _LFS_POINTER.match(file.read_bytes())) is None:
            continue
        oid = pointer[1].decode()
        try:
            shutil.copyfile(store / oid[:2] / oid[2:4] / oid, file)
        except FileNotFoundError:
            raise RunError(
                f"{revision.name}: Git LFS has not fetched {os.fsdecode(name)} yet; run 'git lfs fetch origin "
                f"{revision.commit[:12]}' first"
            ) from None


def _submodules(top: Path, tree: Path) -> None:
    """Check out submodules from the user's own copies where possible, without fetching."""
    if not (tree / ".gitmodules").is_file():
        return
    modules = Path(_text(top, "rev-parse", "--path-format=absolute", "--git-common-dir")) / "modules"
    listed = _git(tree, "config", "-f", ".gitmodules", "--get-regexp", r"^submodule\..*\.path$", check=False)
    for line in listed.stdout.decode(errors="replace").splitlines():
        name = line.partition(" ")[0].removeprefix("submodule.").removesuffix(".path")
        module = modules / name
        if module.is_dir():
            _git(tree, "config", f"submodule.{name}.url", str(module))
    _git(tree, "-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init", "--recursive")

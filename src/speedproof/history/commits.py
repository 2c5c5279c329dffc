"""What git knows of commits: full names, subjects, dates, and their order along first parents."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote

from msgspec import Struct
from msgspec.structs import replace

from speedproof.data.names import enumerate_names
from speedproof.errors import Parameter, UsageError

_HASH = re.compile("[0-9a-f]+")
_PART = re.compile("[0-9a-f]{7,40}")
_FORMAT = "%H%x1f%s%x1f%cI"


class Commit(Struct, frozen=True):
    """A commit as the store keeps it."""

    sha: str  # its full name, or whatever names it where no repository is at hand
    subject: str = ""  # first line of its message; empty when unknown
    date: str = ""  # ISO 8601 in UTC; empty when unknown
    author: str = ""  # as git names it now; empty where it does not
    branch: str = ""  # where it was added, or what the file said


class Followed(Struct, frozen=True):
    """The part of a store that an answer covers."""

    branch: str = "HEAD"
    outside: int = 0  # measured commits that are not on it
    ahead: bool = False  # whether its newest commit is not measured
    alone: bool = False  # whether one benchmark was asked for, at a risk of its own
    apart: bool = False  # whether on several machines, or relative to several anchors
    line: tuple[str, ...] = ()  # all its commits, measured or not; empty where git knows none
    options: str = ""  # by which the command line asks for the same store, branch and rate
    place: str = ""  # those of the store alone
    there: str = ""  # what goes to its repository, before a command that takes no option for it


_USUAL = {"every": "1000", "branch": "HEAD", "store": "speedproof.db", "repository": "."}


def spelt(**asked: str) -> str:
    """Write options as on the command line, without those at their defaults."""
    return "".join(f" --{name} {quote(value)}" for name, value in asked.items() if value != _USUAL.get(name))


def in_utc(moment: str) -> str:
    """Convert an ISO date to UTC, so that text sorts by time; empty if it is not a date."""
    try:
        parsed = datetime.fromisoformat(moment)
    except ValueError:
        return ""
    aware = parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
    return aware.astimezone(UTC).isoformat(timespec="seconds")


def _git(folder: str, *arguments: str, given: str = "") -> str | None:
    """The output of git, or None if git, the repository or the object is missing."""
    try:
        done = subprocess.run(
            ["git", "-C", folder, *arguments],
            input=given, capture_output=True, text=True, errors="replace", check=False,
        )  # fmt: skip
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


def short_name(sha: str, digits: int = 9) -> str:
    """The first digits of a full name; what is no hash is left as it is, for its end may tell it apart."""
    return sha[:digits] if _HASH.fullmatch(sha) else sha


def resolve(revision: str, folder: str = ".", *, date: str = "", asked: bool = False) -> Commit:
    """The commit that a revision names; one that was ``asked`` for is one that git knows, where it knows any."""
    if revision.startswith("-") or not revision.strip():
        raise UsageError(f"{revision!r} names no commit")
    line = _git(folder, "show", "-s", f"--format={_FORMAT}", f"{revision}^{{commit}}", "--")
    if line is not None:
        commits = [
            part.split("\x1f") for part in line.splitlines() if "\x1f" in part
        ]  # others are of signatures
        if len(commits) != 1:
            raise UsageError(f"{revision} names {len(commits) or 'no'} commits; name one")
        sha, subject, moment = commits[0]
        return Commit(sha, subject, in_utc(moment))
    relative = revision.startswith("HEAD") or "~" in revision or "^" in revision
    if (asked or relative) and _git(folder, "rev-parse", "--verify", "HEAD") is not None:
        raise UsageError(
            f"{revision}: git knows no such commit here; give a hash, a tag or a branch, fetch what is missing "
            "(git fetch), or name the commit's repository with ",
            Parameter("repository"),
        )
    if relative:
        there = _git(folder, "rev-parse", "--git-dir") is not None
        why = "the git repository here has no commit yet" if there else "no git repository is here"
        raise UsageError(f"{revision}: {why}")
    return Commit(revision, "", in_utc(date))


def resolve_label(label: str, folder: str = ".", *, date: str = "") -> Commit:
    """The commit that a version's name is or, as of measured revisions ("3adc109 subject"), begins with."""
    return commit_named(label, folder, date=date) or resolve(label, folder, date=date)


def commit_named(label: str, folder: str = ".", *, date: str = "") -> Commit | None:
    """The commit whose full name, or at least seven digits of it that git knows, a label is or begins with."""
    first = label.partition(" ")[0]
    if not _PART.fullmatch(first):
        return None
    commit = resolve(first, folder, date=date)
    return commit if commit.subject or len(first) == 40 else None


def alike(name: str, other: str) -> bool:
    """Whether two names refer to one commit, where one may be cut to seven digits or more."""
    return bool(_PART.fullmatch(name) and _PART.fullmatch(other)) and name.startswith(other[: len(name)])


def first_parent_order(branch: str, folder: str = ".") -> tuple[str, ...]:
    """The commits of a branch along first parents, oldest first; empty where git knows none.

    Merges of a merge queue count once, and what was developed on side branches does not count.
    """
    listed = _git(folder, "rev-list", "--first-parent", "--reverse", branch, "--")
    return tuple(listed.split()) if listed else ()


def ordered(
    known: Sequence[Commit],
    branch: str = "HEAD",
    folder: str = ".",
    added_on: Sequence[str] = (),
    line: Sequence[str] | None = None,
) -> list[Commit]:
    """Stored commits in the order of a branch; where git named none of them, those of one branch by date.

    ``added_on`` are the branches that were checked out when git named some, ``line`` the branch's first parents.
    """
    line = first_parent_order(branch, folder) if line is None else line
    place = {sha: i for i, sha in enumerate(line)}
    on_branch = [commit for commit in known if commit.sha in place]
    cut = bool(place) and (_git(folder, "rev-parse", "--is-shallow-repository") or "").strip() == "true"
    if cut and len(on_branch) < len(known):
        raise UsageError(f"{folder}: the clone lacks older commits; fetch them: git fetch --unshallow")
    if on_branch:
        return with_authors(sorted(on_branch, key=lambda commit: place[commit.sha]), folder)
    stored = sorted({commit.branch for commit in known if commit.branch})
    if not known or (not added_on and branch in ("HEAD", *stored)):
        return _dated(known, branch)
    listed = _git(folder, "for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/remotes")
    if listed is None and added_on:
        raise UsageError(
            f"{Path(folder).absolute()}: is in no git repository, and git orders these commits; name theirs with ",
            Parameter("repository"),
        )
    names = (listed or "").split() or added_on or stored
    missing = f"no measured commit is on {branch}" if place or listed is None else f"git knows no {branch}"
    raise UsageError(
        f"{missing} in the repository {folder}; name another with ",
        Parameter("branch"), f" ({enumerate_names(names, 5)}) or " if names else " or ", Parameter("repository"),
    )  # fmt: skip


def _dated(known: Sequence[Commit], branch: str) -> list[Commit]:
    """Commits by date, else as added, of one branch: what was asked for, the main one, or that of the most."""
    many = Counter(commit.branch for commit in known if commit.branch)
    usual = [name for name in (branch, "main", "master", "trunk") if name in many]
    of = {"", *(usual or [name for name, _ in many.most_common()])[:1]}
    return sorted((commit for commit in known if commit.branch in of), key=lambda commit: commit.date)


def with_authors(commits: Sequence[Commit], folder: str) -> list[Commit]:
    """Commits that git knows, with their authors."""
    wanted = "".join(f"{commit.sha}\n" for commit in commits)
    listed = _git(folder, "log", "--no-walk=unsorted", "--format=%H%x1f%an", "--stdin", given=wanted)
    names = dict(line.split("\x1f", 1) for line in (listed or "").splitlines())
    return [replace(commit, author=names.get(commit.sha, "")) for commit in commits]


def current_branch(folder: str = ".") -> str:
    """The branch that is checked out, HEAD where it is a commit alone; empty without a repository."""
    name = _git(folder, "rev-parse", "--abbrev-ref", "HEAD")
    return name.strip() if name else ""


def tags(folder: str = ".") -> dict[str, str]:
    """The tags of each commit."""
    listed = _git(
        folder, "for-each-ref", "--format=%(objectname) %(*objectname) %(refname:short)", "refs/tags"
    )
    tags: dict[str, str] = {}
    for line in (listed or "").splitlines():
        object_sha, peeled, name = line.split(" ", 2)
        sha = peeled or object_sha
        tags[sha] = f"{tags[sha]}, {name}" if sha in tags else name
    return tags


def commit_address(folder: str = ".") -> str:
    """The web address of commits, up to the name, from git's remote; may be empty.

    Names and passwords in the remote's address are left out.
    """
    remote = (_git(folder, "remote", "get-url", "origin") or "").strip()
    match = re.fullmatch(
        r"(?:(?:https?|ssh|git)://)?(?:[^@/]*@)?([\w.-]+\.\w+)(?::\d+)?[:/]+(.+?)(?:\.git)?/?", remote
    )
    if match is None or not re.fullmatch(r"[\w./~-]+", match[2]):
        return ""
    return f"https://{match[1]}/{match[2]}/{'-/commit' if 'gitlab' in match[1] else 'commit'}/"

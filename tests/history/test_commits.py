"""What git says of commits: names, dates, order along first parents, branches and tags of a real repository."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.command import git

from speedproof.errors import UsageError
from speedproof.history.commits import Commit, current_branch, in_utc, ordered, resolve, short_name, tags

DAY = "2026-03-0{}T23:30:00-02:00"


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, str]]:
    """Commits one, two, side, merge: the last is a merge of ``side``, which left at ``one``."""
    folder = tmp_path_factory.mktemp("commits")
    git(folder, "init", "-q", "-b", "main", ".")

    def commit(day: int, name: str, *words: str) -> None:
        git(folder, *(words or ("commit", "--allow-empty")), "-m", name, GIT_COMMITTER_DATE=DAY.format(day))

    commit(1, "one")
    git(folder, "branch", "side")
    commit(2, "two")
    git(folder, "checkout", "-q", "side")
    commit(3, "side")
    git(folder, "checkout", "-q", "main")
    commit(4, "merge\n\nmore of it", "merge", "--no-ff", "side")
    git(folder, "tag", "plain", "HEAD~1")
    git(folder, "tag", "-a", "-m", "a tag", "annotated", "HEAD~1")
    at = {name: git(folder, "rev-parse", where) for name, where in
          (("one", "side~1"), ("two", "HEAD~1"), ("side", "side"), ("merge", "HEAD"))}  # fmt: skip
    return str(folder), at


def test_a_revision_is_what_git_calls_it(repository: tuple[str, dict[str, str]], tmp_path: Path) -> None:
    """In any spelling, with the first line of its message and its date in UTC; a name is one, a range is none."""
    folder, at = repository
    merge = Commit(at["merge"], "merge", "2026-03-05T01:30:00+00:00")
    for revision in ("HEAD", "main", at["merge"], at["merge"][:8]):
        assert resolve(revision, folder) == merge
    assert resolve("plain", folder) == resolve("annotated", folder) == resolve("HEAD~1", folder)
    assert resolve("v9", folder, date="2026-03-05T01:30:00+02:00") == Commit(
        "v9", "", "2026-03-04T23:30:00+00:00"
    )
    for unknown in ("HEAD~99", "other^", "v1~2"):
        with pytest.raises(UsageError, match="git knows no such commit here"):
            resolve(unknown, folder)
    with pytest.raises(UsageError, match="no git repository is here"):
        resolve("HEAD", str(tmp_path))
    git(tmp_path, "init", "-q", ".")
    with pytest.raises(UsageError, match="the git repository here has no commit yet"):
        resolve("HEAD", str(tmp_path))
    with pytest.raises(UsageError, match="'-x' names no commit"):
        resolve("-x", folder)
    # What git takes for several commits, or for none: forgetting one of them would be a guess.
    several = int(git(Path(folder), "rev-list", "--count", "HEAD~2..HEAD"))
    for revisions, count in {"HEAD~2..HEAD": several, "HEAD~2...HEAD": several, "^HEAD": "no"}.items():
        with pytest.raises(UsageError, match=f"names {count} commits; name one"):
            resolve(revisions, folder)


def test_a_shallow_clone_is_no_history(repository: tuple[str, dict[str, str]], tmp_path: Path) -> None:
    """What lies before its cut may have been measured; where nothing is missing it will do."""
    folder, at = repository
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{folder}", "clone")
    clone = str(tmp_path / "clone")
    assert [c.sha for c in ordered([Commit(at["merge"])], folder=clone)] == [at["merge"]]
    with pytest.raises(UsageError, match="git fetch --unshallow"):
        ordered([Commit(at["merge"]), Commit(at["two"])], folder=clone)


def test_branches_and_tags(repository: tuple[str, dict[str, str]], tmp_path: Path) -> None:
    folder, at = repository
    assert current_branch(folder) == "main"
    assert tags(folder) == {at["two"]: "annotated, plain"}
    git(tmp_path, "clone", "-q", folder, "clone")
    git(tmp_path / "clone", "checkout", "-q", "--detach")
    assert current_branch(str(tmp_path / "clone")) == "HEAD"
    (tmp_path / "none").mkdir()
    assert (current_branch(str(tmp_path / "none")), tags(str(tmp_path / "none"))) == ("", {})


def test_names_and_dates() -> None:
    """A hash is cut, any other name may be told apart by its end; a date without a zone is in UTC."""
    sha = "0123456789abcdef0123456789abcdef01234567"
    assert (short_name(sha), short_name(sha, 12)) == (sha[:9], sha[:12])
    assert short_name("release-2026-03-01") == "release-2026-03-01"
    assert in_utc("2026-03-01T12:00:00+02:00") == "2026-03-01T10:00:00+00:00"
    assert in_utc("2026-03-01T12:00:00.9") == "2026-03-01T12:00:00+00:00"
    assert in_utc("yesterday") == ""

"""Changes by commit: what is seen at a commit in how many benchmarks, and what became of it."""

from __future__ import annotations

import math

from msgspec import Struct

from speedproof.history.changes import Change
from speedproof.history.commits import Commit
from speedproof.history.result import HistoryAnswer

STANDS = "stands"


class CommitChanges(Struct, frozen=True):
    """The changes of a commit, the largest first."""

    commit: Commit
    changes: tuple[Change, ...]
    stands: bool  # whether one of them is neither undone nor decided


def by_commit(result: HistoryAnswer) -> tuple[CommitChanges, ...]:
    """Commits with changes: those that still stand first, the newest first."""
    by_sha: dict[str, list[Change]] = {}
    for change in sorted(result.changes, key=lambda change: -abs(math.log(change.factor))):
        by_sha.setdefault(change.commit.sha, []).append(change)
    order = {commit.sha: i for i, commit in enumerate(result.commits)}
    groups = [
        CommitChanges(own[0].commit, tuple(own), any(result.state(change) == STANDS for change in own))
        for own in by_sha.values()
    ]
    return tuple(sorted(groups, key=lambda group: (group.stands, order[group.commit.sha]), reverse=True))

"""Commits measured in pairs, without a repository: when things were, by a clock of the test."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from speedproof.data.session_file import Line, RunLine
from speedproof.measuring import build
from speedproof.measuring.commits import BisectRequest, CommitRunner
from speedproof.measuring.execute import RunError
from speedproof.measuring.revisions import Revision


@pytest.mark.parametrize("command", ["false", "true"])
def test_times_are_kept_to_the_microsecond(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: str
) -> None:
    """Of a build that fails, and of a run that does."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(build, "check_out", lambda top, revision, tree: tree.mkdir())
    monkeypatch.setattr(build, "tools", lambda variables: {})
    request = BisectRequest(str(tmp_path), "", ("a",), "false", build=command)
    lines: list[Line] = []
    times = iter([10.0, 12.3456784])
    with ExitStack() as held, pytest.raises(RunError):
        CommitRunner(
            request,
            {"a": Revision("a", "a")},
            "s",
            lines.append,
            held,
            builds={},
            tell=lambda text: None,
            clock=lambda: next(times),
        ).ready("a", 0)
    (line,) = lines
    assert isinstance(line, RunLine)
    assert (line.at, line.exit, line.metrics == {}) == (2.345678, 1, command == "false")

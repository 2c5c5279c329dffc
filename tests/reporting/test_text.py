"""What stands in a report's lines can be pasted: a command is whole in one of them."""

from __future__ import annotations

import shlex

import pytest

from speedproof.reporting.model import Report, Text
from speedproof.reporting.text import render, wrapped

COMMAND = f"speedproof corpus query '/tmp/a corpus/{'x' * 30}' 'FROM rejects'"


@pytest.mark.parametrize("width", [20, 40, 64, 80, 200])
def test_a_command_is_never_wrapped(width: int) -> None:
    """Wherever it stands and however narrow the terminal: as a shell parses it, from a line of its own."""
    said = f"Not read are 12 files or parts of files, all of which SQL knows: {COMMAND}"
    reports = (
        Report("", (Text(said),)),
        Report("", (), notes=(Text("  " + said, "dim"),)),
        Report("", (Text("faster", "", said),)),
        Report("", (), hints=(said,)),
    )
    for lines in (*(render(report, width).splitlines() for report in reports), wrapped(said, width)):
        (line,) = [line for line in lines if "speedproof" in line]
        assert shlex.split(line)[-5:] == shlex.split(COMMAND)
        assert all(len(other) <= width for other in lines if other != line)


@pytest.mark.parametrize("width", range(30, 81, 5))
def test_a_quoted_command_is_never_wrapped(width: int) -> None:
    said = "measured in two sessions: 'speedproof run --revisions GOOD BAD' measures both, in one, in turns"
    lines = wrapped(said, width)
    assert any("'speedproof run --revisions GOOD BAD'" in line for line in lines)
    assert " ".join(line.strip() for line in lines) == said

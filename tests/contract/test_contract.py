"""What users see stays what was recorded, but where a commit changes it on purpose."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .transcripts import HERE, TRANSCRIPTS, transcript

_NUMBER = re.compile(r"-?\d+\.\d{6,}(?:e[+-]\d+)?|-?\d+(?:\.\d+)?e-\d+")


@pytest.mark.parametrize(
    "name", [pytest.param(of, marks=pytest.mark.slow) if of == "history" else of for of in TRANSCRIPTS]
)
def test_commands_print_what_they_printed(name: str, tmp_path: Path) -> None:
    """Text to the letter, numbers of many digits to 1e-9."""
    recorded = (HERE / f"{name}.txt").read_text(encoding="utf-8")
    now = transcript(name, tmp_path)
    assert _NUMBER.sub("#", now) == _NUMBER.sub("#", recorded)
    numbers = [[float(x) for x in _NUMBER.findall(text)] for text in (now, recorded)]
    assert numbers[0] == pytest.approx(numbers[1], rel=1e-9, abs=1e-12)

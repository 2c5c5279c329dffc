"""What a file begins with, however its lines end."""

from __future__ import annotations

import re

import numpy as np
import pytest

from speedproof.formats.text import first_lines


@pytest.mark.parametrize("seed", range(60))
def test_first_lines_are_the_first_of_all(seed: int) -> None:
    """Of all lines but the last, those that are neither empty nor comments; fifty at most."""
    rng = np.random.default_rng(seed)
    parts = ["1.5", "# no", " ", "", "\n", "\r\n", "\r", "a,b", "\n\n", " #x", "é"]
    text = "".join(rng.choice(parts, int(rng.integers(0, 300))))
    lines = re.split(r"\r\n|\r|\n", text)
    lines = lines[:-1] if len(lines) > 1 else lines
    wanted = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    assert first_lines(text.encode()) == wanted[:50]

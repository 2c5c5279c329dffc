"""What a negative control is said to show."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from speedproof.protocols.negative_controls import differs
from speedproof.protocols.results import Verdict


@pytest.mark.parametrize(
    ("verdict", "low", "high", "differ"),
    [
        (Verdict.FASTER, 0.9, 1.1, True),
        (Verdict.SLOWER, 0.9, 1.1, True),
        (Verdict.UNDECIDED, 1.1, 1.2, False),
        (Verdict.EQUIVALENT, 0.99, 1.01, False),
        (Verdict.EQUIVALENT, 1.0, 1.01, False),
        (Verdict.EQUIVALENT, 0.99, 1.0, False),
        (Verdict.EQUIVALENT, 1.001, 1.01, True),
        (Verdict.EQUIVALENT, 0.98, 0.999, True),
    ],
)
def test_a_proven_difference(verdict: Verdict, low: float, high: float, differ: bool) -> None:
    """Within a margin it is one where the bounds leave out 1."""
    found: Any = SimpleNamespace(verdict=verdict, result=SimpleNamespace(low=low, high=high))
    assert differs(found) == differ

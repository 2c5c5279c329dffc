"""Roots of decreasing functions against their closed form, steps among them."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from speedproof.arrays import FloatArray
from speedproof.stats.root import decreasing_roots

ROOTS = np.array([-40.0, -1.5, 0.0, 1e-7, 0.3, 2.0, 55.0])
SHAPES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "line": lambda d: -d,
    "cube": lambda d: -(d**3),
    "step": lambda d: np.where(d < 0.0, 1.0, -1e-12),
    "step the other way": lambda d: np.where(d < 0.0, 1e-12, -1.0),
    "stairs": lambda d: -np.floor(d / 1e-3) - 0.5,
    "bend": lambda d: np.where(d < 0.0, -1e-6 * d, -1e6 * d),
}


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize(("low", "high"), [(-1.0, 1.0), (-60.0, 60.0), (3.0, 3.001), (-2.0, -1.999)])
def test_the_interval_holds_the_root_and_is_narrow(name: str, low: float, high: float) -> None:
    """Wherever the search begins: to the left of the root, to its right, or around it."""
    shape = SHAPES[name]
    first, last = decreasing_roots(
        lambda at: shape(at - ROOTS), np.full(ROOTS.size, low), np.full(ROOTS.size, high), 1e-9
    )
    assert (shape(first - ROOTS) > 0.0).all()
    assert (shape(last - ROOTS) <= 0.0).all()
    assert (first <= ROOTS).all()
    assert (last >= ROOTS).all()
    assert (last - first <= 1e-9 * np.maximum(1.0, np.abs(ROOTS))).all()


def test_a_sign_that_never_changes() -> None:
    """Above zero everywhere, below it everywhere, and one that changes beside them."""
    always = np.array([1.0, -1.0, np.nan])
    first, last = decreasing_roots(
        lambda at: np.where(np.isnan(always), 5.0 - at, always), np.zeros(3), np.ones(3), 1e-6
    )
    assert last[0] == math.inf
    assert first[1] == -math.inf
    assert (first[2], last[2]) == pytest.approx((5.0, 5.0), abs=1e-5)

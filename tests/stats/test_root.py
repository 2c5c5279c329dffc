"""Roots of decreasing functions against their closed form, steps among them."""

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from speedproof.arrays import FloatArray
from speedproof.stats.root import decreasing_roots, halved

ROOTS = np.array([-40.0, -1.5, 0.0, 1e-7, 0.3, 2.0, 55.0])
SHAPES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "line": lambda d: -d,
    "cube": lambda d: -(d**3),
    "step": lambda d: np.where(d < 0.0, 1.0, -1e-12),
    "step the other way": lambda d: np.where(d < 0.0, 1e-12, -1.0),
    "stairs": lambda d: -np.floor(d / 1e-3) - 0.5,
    "even step": lambda d: np.where(d < 0.0, 1.0, -1.0),
    "ramp": lambda d: np.maximum(-d, 0.0),
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


def one_by_one(
    function: Callable[[float], float], low: float, high: float, narrow: float
) -> tuple[float, float]:
    """The search written out for one function: out to where the signs differ, then false position and halving."""
    width = high - low
    at_low, at_high = function(low), function(high)
    while not at_low > 0 and low > -1500:
        high, at_high, width = low, at_low, 4 * width
        low -= width
        at_low = function(low)
    while at_high > 0 and high < 1500:
        low, at_low, width = high, at_high, 4 * width
        high += width
        at_high = function(high)
    if not at_low > 0 or at_high > 0:
        return (low if at_low > 0 else -math.inf), (math.inf if at_high > 0 else high)
    before, since = high - low, 0
    while high - low > narrow * max(1.0, abs(low), abs(high)):
        middle = low + (high - low) * (at_low / (at_low - at_high))
        if since == 2:
            middle, before, since = (low + high) / 2, high - low, 0
        elif not low < middle < high:
            middle = (low + high) / 2
        value = function(middle)
        if value > 0:
            low, at_low, at_high = middle, value, at_high / 2
        else:
            high, at_high, at_low = middle, value, at_low / 2
        if high - low > before / 2:
            since += 1
        else:
            before, since = high - low, 0
    return low, high


def one_value(shape: Callable[[FloatArray], FloatArray], root: float, at: float) -> float:
    return float(shape(np.array(at - root)))


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("narrow", [1e-2, 2.0**-10, 1e-6, None])
def test_the_search_written_out(name: str, narrow: float | None) -> None:
    """Many at once end where each ends by itself, wherever they begin; unless told they end at 1e-11."""
    shape, roots = SHAPES[name], np.append(ROOTS, [-9000.0, -1400.0, -3.3, 1400.0, 9000.0])
    starts_at = (-1.0, 2.0), (-60.0, 120.0), (3.0, 0.001), (-7.0, 1.0), (-300.0, 300.0), (0.0, 300.0)
    for low, width in (*starts_at, (-299.5, 300.0), (-0.5, 300.0)):  # 1500 at once, and a half less
        starts = np.full(roots.size, low)
        given = () if narrow is None else (np.full(roots.size, narrow),)
        found = decreasing_roots(lambda at: shape(at - roots), starts, starts + width, *given)
        for first, last, root in zip(*(ends.tolist() for ends in found), roots.tolist(), strict=True):
            own = partial(one_value, shape, root)
            assert (first, last) == one_by_one(own, low, low + width, narrow or 1e-11)


@pytest.mark.parametrize("root", [1.0, 0.3, 1e-300, -0.7, 5.0])
def test_the_first_double_of_the_upper_part(root: float) -> None:
    """The boundary itself where it belongs to the upper part, else its neighbour; the end, if there is none."""
    assert halved(lambda x: x >= root, -3.0, 7.0) == root
    assert halved(lambda x: x > root, -3.0, 7.0) == math.nextafter(root, math.inf)
    assert halved(lambda _: False, -3.0, root) == root
    assert halved(lambda _: True, root, 9.0) == math.nextafter(root, math.inf)

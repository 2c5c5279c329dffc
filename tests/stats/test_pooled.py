"""The order of two pooled samples by sorting and counting in plain Python."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import numpy.typing as npt
import pytest

from speedproof.stats.pooled import pooled_order, sample_ends, tie_excess

FloatArray = npt.NDArray[np.float64]


def drawn(seed: int, shape: tuple[int, ...], kind: str) -> FloatArray:
    rng = np.random.default_rng(seed)
    if kind == "constant":
        return np.full(shape, 3.0)
    return rng.normal(size=shape) if kind == "smooth" else rng.integers(0, 4, shape) / 4


KINDS = ["smooth", "tied", "constant"]


SIZES = [(1, 1), (1, 3), (3, 1), (2, 2), (5, 4), (8, 3)]


@pytest.mark.slow
@pytest.mark.parametrize("tolerance", [None, 0.0, 0.25, 0.3])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "m"), SIZES)
def test_counts_at_every_place_of_two_samples(n: int, m: int, kind: str, tolerance: float | None) -> None:
    """Of one pair, of rows, of a table of them, and of rows that share a side."""
    for of_x, of_y in (((), ()), ((3,), (3,)), ((2, 2), (2, 2)), ((), (3,)), ((3,), (1,)), ((1,), (2,))):
        x, y = drawn(n, (*of_x, n), kind), drawn(m + 9, (*of_y, m), kind)
        leading = np.broadcast_shapes(of_x, of_y)
        tolerances = None if tolerance is None else np.full(leading, tolerance)
        found = pooled_order(x, y, tolerances)
        assert (found.n, found.m) == (n, m)
        assert found.ends.shape == (*leading, n + m)
        assert found.merged.shape == found.ties.shape == leading
        x_here, y_below, y_here, x_below = found.placements()
        sides = np.broadcast_to(x, (*leading, n)), np.broadcast_to(y, (*leading, m))
        for row in np.ndindex(leading):
            # Of equal values those of X come first.
            pool = sorted([(v, 0) for v in sides[0][row].tolist()] + [(v, 1) for v in sides[1][row].tolist()])
            steps = [b - a for (a, _), (b, _) in itertools.pairwise(pool)]
            ends = [step > (tolerance or 0.0) for step in steps] + [True]
            assert found.ends[row].tolist() == ends
            assert found.ties[row] == (not all(ends))
            assert found.merged[row] == any(0.0 < step <= (tolerance or 0.0) for step in steps)
            upto, counts = [0, 0], [0, 0]
            for place, (_, side) in enumerate(pool):
                upto[side] += 1
                before = list(counts)
                counts = list(upto) if ends[place] else counts
                assert [found.x_upto[row][place], found.y_upto[row][place]] == counts
                here = [now - then for now, then in zip(counts, before, strict=True)]
                assert [x_here[row][place], y_here[row][place]] == here
                assert y_below[row][place] == counts[1] - here[1] / 2
                assert x_below[row][place] == counts[0] - here[0] / 2


@pytest.mark.parametrize("shape", [(1,), (7,), (1, 7), (3, 1), (3, 7), (2, 3, 5)])
@pytest.mark.parametrize("kind", KINDS)
def test_ties_of_each_row(shape: tuple[int, ...], kind: str) -> None:
    """The sum of t^3 - t over the values that occur t times."""
    x = drawn(4, shape, kind)
    ends = sample_ends(x)
    assert ends.shape == shape
    excess = tie_excess(ends)
    assert excess.shape == shape[:-1]
    for row in np.ndindex(shape[:-1]):
        values = sorted(x[row].tolist())
        assert ends[row].tolist() == [*(a < b for a, b in itertools.pairwise(values)), True]
        assert excess[row] == sum(t**3 - t for t in Counter(values).values())

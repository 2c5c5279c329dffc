"""Crossings of lines and of their mirror images, against all pairs in rational numbers."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, combinations_with_replacement

import numpy as np
import pytest

from speedproof.stats.crossings import crossing_limit, crossing_pairs, inversions


def lines(seed: int) -> tuple[list[int], list[int]]:
    rng = np.random.default_rng(seed)
    n, most = int(rng.integers(1, 14)), int(rng.choice([3, 9, 1000]))
    return rng.integers(1, most, n).tolist(), rng.integers(1, most, n).tolist()


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 8, 33])
def test_inversions_of_a_permutation(n: int) -> None:
    ranks = np.random.default_rng(n).permutation(n)
    found = zip(*(part.tolist() for part in inversions(ranks)), strict=True)
    assert sorted(found) == [(s, t) for s, t in combinations(range(n), 2) if ranks[s] > ranks[t]]


@pytest.mark.parametrize("seed", range(40))
def test_pairs_that_cross_are_all_listed(seed: int) -> None:
    """Those in between for certain, and none whose crossing is elsewhere."""
    a, b = lines(seed)
    low, high = 1.03, 1.9
    found = set(
        zip(
            *(x.tolist() for x in crossing_pairs(np.array(a) * 1.0, np.array(b) * 1.0, low, high)),
            strict=True,
        )
    )
    for i, j in combinations_with_replacement(range(len(a)), 2):
        for sign in (-1, 1):
            bottom = b[i] + sign * b[j]
            place = Fraction(a[i] + sign * a[j], bottom) if bottom else Fraction(0)
            if (a[i], b[i]) != (a[j], b[j]):
                assert ((i, j, sign) in found) == (low < place < high)
            elif sign == 1:
                assert (i != j and (i, j, -1) in found) or ((i, j, sign) in found) == (low < place < high)


@pytest.mark.parametrize("seed", range(40))
def test_no_more_pairs_tie_than_the_limit(seed: int) -> None:
    """At any place where some do, the ends included."""
    a, b = lines(seed)
    grid = [Fraction(k, 7) for k in range(7, 21)]
    limits = crossing_limit(np.array(a) * 1.0, np.array(b) * 1.0, np.array([float(g) for g in grid]))
    places = {
        Fraction(x + s * y, u + s * v)
        for (x, u), (y, v) in combinations(zip(a, b, strict=True), 2)
        for s in (-1, 1)
        if u + s * v
    }
    for k, limit in enumerate(limits.tolist()):
        for g in {place for place in places if grid[k] <= place <= grid[k + 1]} | {
            grid[k],
            (grid[k] + grid[k + 1]) / 2,
        }:
            sizes = [abs(x - g * u) for x, u in zip(a, b, strict=True)]
            assert sum(p == q for p, q in combinations(sizes, 2)) <= limit


def test_lines_too_near_to_tell_are_listed_for_both_signs() -> None:
    a = np.array([3.0, 3.0 + 4e-16, 2.0])
    i, j, sign = crossing_pairs(a, np.array([1.0, 1.0, 5.0]), 1.1, 1.2)
    assert list(zip(i.tolist(), j.tolist(), sign.tolist(), strict=True)) == [(0, 1, -1)]

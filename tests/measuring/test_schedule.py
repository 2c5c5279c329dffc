"""The order within blocks: fair, independent, and a function of the seed alone."""

from __future__ import annotations

import hashlib
import itertools
import os
from collections import Counter

import pytest
from scipy import stats

from speedproof.measuring.runs import BuildOrder, block_order, seed_or_new


def test_every_order_is_as_likely() -> None:
    """Chi-square over the six orders of three versions, 3,000 blocks."""
    counts = Counter(block_order("XYZ", seed=5, benchmark=0, block=b) for b in range(3000))
    assert set(counts) == set(itertools.permutations("XYZ"))
    assert stats.chisquare(list(counts.values())).pvalue > 0.001


def test_neighbouring_blocks_are_independent() -> None:
    """The four pairs of successive orders of two versions are as likely as each other."""
    firsts = [block_order("XY", seed=9, benchmark=0, block=b)[0] for b in range(4001)]
    counts = Counter(itertools.pairwise(firsts))
    assert stats.chisquare(list(counts.values())).pvalue > 0.001


def drawn(n: int, *place: int) -> list[int]:
    digests = [hashlib.blake2b(" ".join(map(str, (*place, i))).encode()).digest() for i in range(n)]
    return [digests.index(digest) for digest in sorted(digests)]


def test_an_order_is_that_of_digests() -> None:
    """Of seed, benchmark, block and place: a stored session is gone on with in the same sequence, anywhere."""
    for seed, benchmark, block, names in ((5, 0, 0, "XY"), (0, 2, 1, "XYZ"), (2**32 - 1, 1, 3, "ABCDE")):
        order = block_order(names, seed=seed, benchmark=benchmark, block=block)
        assert order == tuple(names[i] for i in drawn(len(names), seed, benchmark, block))


def test_every_build_has_its_turn_before_any_comes_again() -> None:
    """Paired at random; a version of one build has no number; what had its turn is refused whole."""
    order = BuildOrder({"X": 3, "Y": 3, "Z": 0}, seed=4, benchmark=0)
    assert order
    assert not BuildOrder({"Z": 0}, seed=4, benchmark=0)
    pairs = []
    for _ in range(6):
        builds = order.upcoming()
        assert builds == order.upcoming()
        assert builds["Z"] is None
        pairs.append((builds["X"], builds["Y"]))
        assert order.use(builds)
    for turn in (pairs[:3], pairs[3:]):
        assert sorted(x for x, _ in turn if x is not None) == [0, 1, 2]
        assert sorted(y for _, y in turn if y is not None) == [0, 1, 2]
    used = BuildOrder({"X": 3, "Y": 3}, seed=4, benchmark=0)
    assert used.use({"X": 1, "Y": 2})
    for again in ({"X": 1, "Y": 0}, {"X": 0, "Y": 2}, {"X": 3, "Y": 0}, {"X": 0, "Y": None}):
        assert not used.use(again)
    assert used.use({"X": 0})
    assert {used.upcoming()["X"]} == {2}
    assert used.upcoming()["Y"] in (0, 1)


def test_builds_come_in_such_an_order() -> None:
    """Stored sessions are gone on with by it: of each round, version and number of builds one permutation."""
    counts = {"X": 3, "Y": 4, "Z": 2}
    order = BuildOrder(counts, seed=4, benchmark=6)
    for block in range(12):
        expected = {}
        for version, (name, n) in enumerate(counts.items()):
            expected[name] = drawn(n, 4, 6, block // n, version, n)[block % n]
        assert order.upcoming() == expected
        assert order.use(expected)


def test_a_seed_is_any_number_of_32_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the least that the system draws to the largest; one that is given is kept, 0 too."""
    for byte, drawn in ((0, 0), (255, 2**32 - 1)):
        monkeypatch.setattr(os, "urandom", lambda size, byte=byte: bytes([byte]) * size)
        assert [seed_or_new(seed) for seed in (None, 0, 7)] == [drawn, 0, 7]

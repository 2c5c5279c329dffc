"""The order within blocks: fair, independent, and a function of the seed alone."""

from __future__ import annotations

import itertools
from collections import Counter

from scipy import stats

from speedproof.measuring.schedule import block_order


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


def test_order_depends_on_seed_benchmark_and_block_only() -> None:
    again = [block_order("ABC", seed=3, benchmark=1, block=b) for b in range(50)]
    assert again == [block_order("ABC", seed=3, benchmark=1, block=b) for b in range(50)]
    assert again != [block_order("ABC", seed=4, benchmark=1, block=b) for b in range(50)]
    assert again != [block_order("ABC", seed=3, benchmark=2, block=b) for b in range(50)]


def test_one_version() -> None:
    assert block_order(["only"], seed=0, benchmark=0, block=0) == ("only",)

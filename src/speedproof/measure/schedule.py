"""The randomised order: in every block each version runs once, in an order drawn for this block alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

T = TypeVar("T")


def block_order(versions: Sequence[T], *, seed: int, benchmark: int, block: int) -> tuple[T, ...]:
    """The order of one block; the same for the same seed whatever ran before."""
    child = np.random.SeedSequence(seed, spawn_key=(benchmark, block))
    order = np.random.Generator(np.random.PCG64(child)).permutation(len(versions))
    return tuple(versions[i] for i in order.tolist())


def build_of(count: int, *, seed: int, benchmark: int, version: int, block: int) -> int:
    """Which of a version's builds a block has: all of them in random order, before any comes again.

    Every version has an order of its own, so that the builds of a block are paired at random.
    """
    turn, place = divmod(block, count)
    child = np.random.SeedSequence(seed, spawn_key=(benchmark, turn, version, count))
    return int(np.random.Generator(np.random.PCG64(child)).permutation(count)[place])

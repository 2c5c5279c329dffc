"""The randomised order: in every block each version runs once, in an order drawn for this block alone."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")


def seed_or_new(seed: int | None) -> int:
    """The seed that was given; else one of 32 bits that nobody foresees."""
    return int.from_bytes(os.urandom(4)) if seed is None else seed


def block_order(versions: Sequence[T], *, seed: int, benchmark: int, block: int) -> tuple[T, ...]:
    """The order of one block; the same for the same seed whatever ran before."""
    return tuple(versions[i] for i in _permutation(len(versions), seed, benchmark, block))


def _permutation(n: int, seed: int, *place: int) -> list[int]:
    drawn = hashlib.blake2b(" ".join(map(str, (seed, *place))).encode())

    def key(i: int) -> bytes:
        keyed = drawn.copy()
        keyed.update(b" %d" % i)
        return keyed.digest()

    return sorted(range(n), key=key)


class BuildOrder:
    """Which builds the next block has: all of a version's in random order, before any comes again.

    Every version has an order of its own, so that the builds of a block are paired at random. A session that goes
    on with another keeps its seed here, and tells which builds that one has used: it then has the others, in the
    same pairs as if nothing had come between.
    """

    def __init__(self, counts: Mapping[str, int], *, seed: int, benchmark: int) -> None:
        self.seed = seed
        self._benchmark = benchmark
        self._uses = {name: [0] * count for name, count in counts.items()}

    def __bool__(self) -> bool:
        """Whether there are several builds."""
        return any(self._uses.values())

    def upcoming(self) -> dict[str, int | None]:
        """The builds of the next block, by version; None where there is but one."""
        return {
            name: self._next(version, uses) if uses else None
            for version, (name, uses) in enumerate(self._uses.items())
        }

    def _next(self, version: int, uses: Sequence[int]) -> int:
        turn = min(uses)
        order = _permutation(len(uses), self.seed, self._benchmark, turn, version, len(uses))
        return next(build for build in order if uses[build] == turn)

    def use(self, builds: Mapping[str, int | None]) -> bool:
        """Take note of a block; False, and not taken, when a build of it has had its turn already."""
        for name, build in builds.items():
            if (uses := self._uses[name]) and (
                build is None or build >= len(uses) or uses[build] > min(uses)
            ):
                return False
        for name, build in builds.items():
            if build is not None:
                self._uses[name][build] += 1
        return True

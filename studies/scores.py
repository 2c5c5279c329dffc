"""Scores that are taken as they are, for Hierarchical Performance Testing: the article's own input."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from speedproof.data.sample import Sample
from speedproof.data.suite import Key, Pair, Suite
from speedproof.data.units import Direction
from speedproof.protocols.hpt import HptEntry, entries_of_pairs


def entries_of_scores(
    reference: Sequence[npt.ArrayLike],
    candidate: Sequence[npt.ArrayLike],
    names: Sequence[str] | None = None,
    level: float | None = None,
) -> list[HptEntry]:
    """Benchmarks by scores of both sides, higher is better."""
    sides = [
        [Sample(np.asarray(scores, dtype=np.float64), "", Direction.HIGHER, label=label) for scores in of]
        for of, label in ((reference, "reference"), (candidate, "candidate"))
    ]
    labels = names or [str(i + 1) for i in range(len(reference))]
    pairs = [Pair(Key(name), x, y) for name, x, y in zip(labels, *sides, strict=True)]
    return entries_of_pairs(pairs, level, given=True)


def suite_of_scores(benchmarks: Iterable[tuple[Sequence[float], Sequence[float]]]) -> Suite:
    """Some benchmarks of versions B and A by their scores, for what is public."""
    samples = {str(i): {"B": b, "A": a} for i, (b, a) in enumerate(benchmarks)}
    return Suite.of_samples(samples, higher_is_better=True)

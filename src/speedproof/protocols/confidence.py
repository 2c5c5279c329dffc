"""The highest confidence level of a whole protocol, exactly.

Every decision of a protocol compares a p-value with alpha, so its outcome is constant between two
neighbouring p-values. Reading it at each p-value and once in each gap therefore tells the whole set of risks
at which it says "significant". The set need not be an interval: a small sample stops being normal when alpha
passes its Shapiro-Wilk p-value, and the test changes from Student to Welch when it passes that of the F test.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby, pairwise, zip_longest

import numpy as np

from speedproof.arrays import BoolArray, FloatArray
from speedproof.protocols.results import HighestConfidence


def highest_confidences(
    pvalues: FloatArray, significant: Callable[[FloatArray], BoolArray]
) -> list[HighestConfidence]:
    """Every risk in (0, 1) at which a protocol says "significant", of each pair.

    P-values come in rows, one a pair; so do the risks that are asked about, and the answers.
    """
    ends = [[0.0, *sorted({p for p in row if p < 1}), 1.0] for row in pvalues.tolist()]
    # Alternate gaps and points: (0, p1), p1, (p1, p2), p2, ..., (pk, 1).
    cells = [sorted([*own[1:-1], *((a + b) / 2 for a, b in pairwise(own))]) for own in ends]
    where = np.array(list(zip_longest(*cells, fillvalue=0.5))).T
    return [
        _read(own, row[: len(inside)])
        for own, inside, row in zip(ends, cells, significant(where).tolist(), strict=True)
    ]


def _read(ends: list[float], answers: list[bool]) -> HighestConfidence:
    """Join what says so: cell 2 k lies between two ends, cell 2 k + 1 is the second of them."""
    runs = [list(cells) for told, cells in groupby(range(len(answers)), answers.__getitem__) if told]
    return HighestConfidence.of(
        (ends[(run[0] + 1) // 2], ends[run[-1] // 2 + 1], bool(run[0] % 2), bool(run[-1] % 2)) for run in runs
    )

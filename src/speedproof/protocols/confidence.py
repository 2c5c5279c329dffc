"""The highest confidence level of a whole protocol, exactly.

Every decision of a protocol compares a p-value with alpha, so its outcome is constant between two
neighbouring p-values. Reading it at each p-value and once in each gap therefore tells the whole set of risks
at which it says "significant". The set need not be an interval: a small sample stops being normal when alpha
passes its Shapiro-Wilk p-value, and the test changes from Student to Welch when it passes that of the F test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from speedproof.protocols.results import HighestConfidence

__all__ = ["highest_confidence"]


def highest_confidence(
    pvalues: Iterable[float],
    significant: Callable[[npt.NDArray[np.float64]], npt.NDArray[np.bool_]],
) -> HighestConfidence:
    """Find every risk in (0, 1) at which a protocol says "significant".

    Parameters
    ----------
    pvalues : iterable of float
        Every p-value that the protocol may compare with the risk; those that are not in (0, 1) do not matter.
    significant : callable
        From an array of risks to the protocol's answers.

    Returns
    -------
    HighestConfidence
        Its value is NaN when the protocol never says so.

    Examples
    --------
    A single test with p = 0.02 is significant from there on:

    >>> highest_confidence([0.02], lambda alpha: alpha >= 0.02)
    HighestConfidence(value=0.98, attained=True, upward_closed=True, intervals=((0.02, 1.0, True, False),))
    """
    inner = sorted({float(p) for p in pvalues if 0 < p < 1})
    ends = np.array([0.0, *inner, 1.0])
    # Alternate gaps and points: (0, p1), p1, (p1, p2), p2, ..., (pk, 1).
    where = np.empty(2 * len(inner) + 1)
    where[0::2] = (ends[:-1] + ends[1:]) / 2
    where[1::2] = inner
    answers = significant(where)
    intervals: list[tuple[float, float, bool, bool]] = []
    for i in np.flatnonzero(answers):
        is_point = bool(i % 2)
        low, high = (where[i], where[i]) if is_point else (ends[i // 2], ends[i // 2 + 1])
        if intervals and i > 0 and answers[i - 1]:
            start, _, start_in, _ = intervals.pop()
            intervals.append((start, float(high), start_in, is_point))
        else:
            intervals.append((float(low), float(high), is_point, is_point))
    if not intervals:
        return HighestConfidence(float("nan"), False, False, ())
    infimum, _, attained, _ = intervals[0]
    return HighestConfidence(
        value=1 - infimum,
        attained=attained,
        upward_closed=len(intervals) == 1 and intervals[0][1] == 1.0,
        intervals=tuple(intervals),
    )

"""Which of many straight lines, or their mirror images below zero, cross on the way from one place to another.

The distances ``|a - g b|`` change their order only where a line crosses another or another's mirror image. What
crosses shows as an inversion between the order at the one place and the order at the other.
"""

from __future__ import annotations

import numpy as np

from speedproof.arrays import FloatArray, IntArray

_ERROR = 4e-16  # of a - g b, relative to the larger of its parts


def crossing_limit(a: FloatArray, b: FloatArray, places: FloatArray) -> tuple[IntArray, IntArray]:
    """At most so many pairs of ``|a - g b|`` tie at any g between each two neighbouring places, ends included.

    Beside these limits, the order of the distances at every place. Lines and mirror images that cross in between
    are inverted there, twice for each pair, and the places that all of them move by sum to no less than the
    inversions (Diaconis and Graham, "Spearman's footrule as a measure of disarray", J. R. Statist. Soc. B 39,
    1977). Pairs too near for doubles to order them at an end come on top; those of one and the same line are near
    at both.
    """
    n = a.size
    limits, orders = np.zeros(places.size - 1, dtype=np.int64), np.empty((places.size, n), dtype=np.int64)
    alike = np.unique(np.column_stack((a, b)), axis=0, return_counts=True)[1]
    always = int((alike * (alike - 1) // 2).sum())
    last, last_near = np.empty(0, dtype=np.int64), 0
    for at, place in enumerate(places.tolist()):
        d, error = _distances(a, b, place)
        sizes = np.abs(d)
        orders[at] = np.argsort(sizes)
        sizes, positive = sizes[orders[at]], d[orders[at]] > 0
        # A line lies as far from the middle of all as its mirror image, which moves as far.
        rank = np.empty(n, dtype=np.int64)
        rank[orders[at]] = np.where(positive, np.arange(n), -1 - np.arange(n))
        gaps = np.diff(sizes)
        lengths = _run_lengths(np.concatenate((gaps[::-1], 2 * sizes[:1], gaps)) <= error)
        near = int((lengths * (lengths + 1) // 2).sum()) // 2
        if at:
            limits[at - 1] = int(np.abs(rank - last).sum()) + near + last_near - always
        last, last_near = rank, near
    return limits, orders


def _distances(a: FloatArray, b: FloatArray, place: float) -> tuple[FloatArray, float]:
    """All ``a - g b``, and how near doubles may order two of them wrongly."""
    scores = place * b
    return a - scores, 2 * _ERROR * float(max(a.max(), scores.max()))


def _run_lengths(marks: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> IntArray:
    steps = np.diff(np.concatenate(([False], marks, [False])).astype(np.int8))
    return np.asarray(np.flatnonzero(steps == -1) - np.flatnonzero(steps == 1))


def crossing_pairs(
    a: FloatArray, b: FloatArray, low: float, high: float
) -> tuple[IntArray, IntArray, IntArray]:
    """All pairs i <= j that may cross between two places, and the sign s with which they do: ``d_i = -s d_j``.

    A line crosses its own mirror image, at zero. A pair may stand twice, and one too near for doubles to tell
    whether it crosses stands for both signs.
    """
    n = a.size
    ups, downs = [], []
    orders = []
    for place in (low, high):
        d, error = _distances(a, b, place)
        values = np.concatenate((d, -d))
        order = np.argsort(values, kind="stable")
        orders.append(order)
        near = np.diff(values[order]) <= error
        starts = np.flatnonzero(np.diff(np.concatenate(([False], near)).astype(np.int8)) == 1)
        for start, length in zip(starts.tolist(), _run_lengths(near).tolist(), strict=True):
            up, down = np.triu_indices(length + 1, 1)
            ups.append(order[start + up])
            downs.append(order[start + down])
    rank = np.empty(2 * n, dtype=np.int64)
    rank[orders[1]] = np.arange(2 * n)
    up, down = inversions(rank[orders[0]])
    first = np.concatenate([orders[0][up], *ups])
    second = np.concatenate([orders[0][down], *downs])
    # Each pair has a twin, the mirror images of both.
    i, j = np.minimum(first % n, second % n), np.maximum(first % n, second % n)
    sign = np.where((first < n) == (second < n), -1, 1)
    different = np.unique(np.column_stack((i, j, sign)), axis=0)
    return different[:, 0], different[:, 1], different[:, 2]


def inversions(ranks: IntArray) -> tuple[IntArray, IntArray]:
    """Places s < t of a permutation of 0, 1, ... for which ``ranks[s] > ranks[t]``."""
    n = ranks.size
    place = np.empty(n, dtype=np.int64)
    place[ranks] = np.arange(n)
    lefts, rights = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    width = 1
    while width < n:
        # Blocks of this width, sorted, stand one after the other: those in even places are left halves.
        block = np.arange(n) // width
        ordered = ranks[np.lexsort((ranks, block))]
        odd = (block % 2).astype(np.bool_)
        keys = (block // 2) * n + ordered
        left, right = keys[~odd], keys[odd]
        above = np.searchsorted(left, right)
        upto = np.searchsorted(left, (block[odd] // 2 + 1) * n)
        count = upto - above
        start = np.repeat(above - np.concatenate(([0], np.cumsum(count)[:-1])), count)
        lefts.append(place[ordered[~odd][start + np.arange(start.size)]])
        rights.append(place[np.repeat(ordered[odd], count)])
        width *= 2
    return np.concatenate(lefts), np.concatenate(rights)

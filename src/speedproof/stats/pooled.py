"""Two samples in one order: the counts that the rank tests are made of."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from speedproof.arrays import BoolArray, FloatArray, IntArray
from speedproof.stats.merging import merged_places


class PooledOrder(Struct, frozen=True):
    """How X and Y interleave, position by position of the pooled sorted sample.

    Positions inside a run of equal values repeat the counts from before the run, so sums of differences
    over positions see each distinct value once.
    """

    n: int  # sizes of X and Y
    m: int
    x_upto: IntArray  # observations of X (of Y) at or below the value that ends at this position
    y_upto: IntArray
    ends: BoolArray  # whether a distinct value ends at this position
    # Whether values that differ by no more than the tolerance were taken as equal
    merged: BoolArray

    def placements(self) -> tuple[IntArray, FloatArray, IntArray, FloatArray]:
        """Of every distinct value its x, the y below it (ties count half), its y and the x below it."""
        x_here, y_here = self.x_upto.copy(), self.y_upto.copy()
        for here, upto in ((x_here, self.x_upto), (y_here, self.y_upto)):
            here[..., 1:] -= upto[..., :-1]
        return x_here, self.y_upto - 0.5 * y_here, y_here, self.x_upto - 0.5 * x_here

    @property
    def ties(self) -> BoolArray:
        """Whether some value occurs twice in the pooled sample."""
        return np.logical_not(self.ends.all(axis=-1))


def pooled_order(x: FloatArray, y: FloatArray, tolerance: FloatArray | None = None) -> PooledOrder:
    """Sort two samples together."""
    n, m = x.shape[-1], y.shape[-1]
    leading = np.broadcast_shapes(x.shape[:-1], y.shape[:-1])
    x, y = np.broadcast_to(x, (*leading, n)), np.broadcast_to(y, (*leading, m))
    # Sorting is far quicker than finding the order, and two ascending runs are merged in linear time.
    x, y = ascending(x).reshape(-1, n), ascending(y).reshape(-1, m)
    x_before, y_before = merged_places(x, y, x_first=True)
    starts = np.arange(0, len(x) * (n + m), n + m)[:, None]
    at_x, at_y = x_before + (starts + np.arange(n)), y_before + (starts + np.arange(m))
    pool, x_upto = np.empty((*leading, n + m)), np.empty((*leading, n + m), dtype=np.int64)
    for whole, of_x, of_y in ((pool, x, y), (x_upto, np.arange(1, n + 1), y_before)):
        whole.reshape(-1)[at_x], whole.reshape(-1)[at_y] = of_x, of_y
    steps = pool[..., 1:] - pool[..., :-1]  # np.diff takes several times as long for few values
    ends = np.ones(pool.shape, dtype=np.bool_)
    if tolerance is None:
        np.greater(steps, 0.0, out=ends[..., :-1])
        merged: BoolArray = np.zeros(pool.shape[:-1], dtype=np.bool_)
    else:
        np.greater(steps, tolerance[..., None], out=ends[..., :-1])
        merged = np.any((steps > 0.0) & ~ends[..., :-1], axis=-1)
    y_upto = np.arange(1, n + m + 1) - x_upto
    if not ends.all():
        x_upto = np.maximum.accumulate(np.where(ends, x_upto, 0), axis=-1)
        y_upto = np.maximum.accumulate(np.where(ends, y_upto, 0), axis=-1)
    return PooledOrder(n, m, x_upto, y_upto, ends, merged)


def tie_excess(ends: BoolArray) -> FloatArray:
    """Sum of t^3 - t over the runs of t equal values, which lessens the variance of rank statistics."""
    if ends.all():
        return np.zeros(ends.shape[:-1])
    # A run never goes on in the next row, for every row ends one.
    at = np.flatnonzero(ends)
    runs = np.diff(at, prepend=-1).astype(np.float64)
    first = np.cumsum(np.count_nonzero(ends, axis=-1))[:-1]
    excess = np.add.reduceat(runs * (runs * runs - 1.0), np.append(0, first))
    return np.asarray(excess.reshape(ends.shape[:-1]))


def gathered(values: FloatArray, order: IntArray) -> FloatArray:
    """Values in an order along the last axis, also of one long row, where `np.take_along_axis` is slow."""
    if values.size == values.shape[-1]:
        return values.ravel()[order.ravel()].reshape(order.shape)
    return np.asarray(np.take_along_axis(values, order, axis=-1))


def sample_ends(x: FloatArray) -> BoolArray:
    """Where distinct values end in one sample once it is sorted, as `PooledOrder.ends`."""
    ends, x = np.ones(x.shape, dtype=np.bool_), ascending(x)
    np.greater(x[..., 1:], x[..., :-1], out=ends[..., :-1])
    return ends


def ascending(x: FloatArray) -> FloatArray:
    """Sorted along the last axis; what is so already as it is, which is seen in a small part of the time."""
    return x if (x[..., 1:] >= x[..., :-1]).all() else np.sort(x, axis=-1)


def distinct(x: FloatArray) -> tuple[FloatArray, IntArray]:
    """The different values of one sample, ascending, and how often each occurs."""
    x = ascending(x)
    ends = np.flatnonzero(sample_ends(x))
    return x[ends], np.diff(ends, prepend=-1)

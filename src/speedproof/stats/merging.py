"""Two ascending samples in one order, without the order itself: how many of one are before each of the other."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

import numpy as np

from speedproof.arrays import FloatArray, IntArray


def _load_compiled() -> ModuleType | None:
    try:
        return import_module("speedproof.stats._merging")
    except ImportError:  # installed without a compiler
        return None


COMPILED = _load_compiled()


def merged_places(x: FloatArray, y: FloatArray, x_first: bool) -> tuple[IntArray, IntArray]:
    """How many y come before each x, and x before each y; rows ascend. Of equal values X or Y comes first."""
    if COMPILED is None:
        return _merged(x, y, x_first)
    of_x, of_y = np.empty(x.shape, dtype=np.int64), np.empty(y.shape, dtype=np.int64)
    rows = np.ascontiguousarray(x), x.shape[1], np.ascontiguousarray(y), y.shape[1]
    COMPILED.merged(*rows, x_first, of_x, of_y)
    return of_x, of_y


def _merged(x: FloatArray, y: FloatArray, x_first: bool) -> tuple[IntArray, IntArray]:
    # Two ascending runs are merged in linear time, and of equal values the first comes first.
    order = np.argsort(np.concatenate((x, y) if x_first else (y, x), axis=1), axis=1, kind="stable")
    from_x = order < x.shape[1] if x_first else order >= y.shape[1]
    rows = np.arange(0, order.size, order.shape[1])[:, None]
    return (
        np.flatnonzero(from_x).reshape(x.shape) - (rows + np.arange(x.shape[1])),
        np.flatnonzero(~from_x).reshape(y.shape) - (rows + np.arange(y.shape[1])),
    )

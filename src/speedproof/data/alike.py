"""Equality by content: of arrays, and of what holds NaN, as after pickling."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from msgspec import Struct


class Alike:
    """Equal where all that pickling would keep is equal, NaN to NaN."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return self is other or _alike(self, other)

    def __hash__(self) -> int:
        return hash(repr(self))


def _alike(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray):
        return np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    if isinstance(a, tuple | list):
        return type(a) is type(b) and len(a) == len(b) and all(map(_alike, a, b))
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(_alike(a[key], b[key]) for key in a)
    if isinstance(a, Alike | Struct | partial):
        return type(a) is type(b) and _alike(a.__reduce_ex__(2), b.__reduce_ex__(2))
    return bool(a == b or (a != a and b != b))

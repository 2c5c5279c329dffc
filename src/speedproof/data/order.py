"""Which of two samples was measured first, as far as their files tell."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from speedproof.arrays import FloatArray
from speedproof.data.sample import Sample, Trait

# They hold what somebody wrote down; every other tool measures one thing after the other.
_NO_TOOL = ("", "csv", "raw", "speedup-test", "parsec")
_SORTED_FROM = 8  # values; so many are in order by chance in 2 of 8! orders


def order_traits(pieces: Iterable[FloatArray]) -> frozenset[Trait]:
    """What values themselves say of their order; each piece of them begins with the last value of the one before.

    Files and arrays hold values in run order by convention; many that only rise or only fall have been sorted.
    """
    size, rising, falling = 1, False, False
    for values in pieces:
        size += values.size - 1
        rising = rising or bool((values[1:] > values[:-1]).any())
        falling = falling or bool((values[1:] < values[:-1]).any())
    return frozenset({Trait.SORTED if size >= _SORTED_FROM and rising != falling else Trait.ORDER_KNOWN})


class Order(StrEnum):
    """In which order the runs of two samples happened."""

    MIXED = "mixed"
    X_FIRST = "reference first"
    Y_FIRST = "candidate first"
    APART = "one after the other"
    UNKNOWN = "unknown"


def order_of_measuring(x: Sample, y: Sample) -> Order:
    """Tell in which order two samples were measured.

    What changes with time (heat, other load, another day) is in their difference, too, unless runs were mixed.
    """
    same_sitting = bool(set(x.session_names) & set(y.session_names))
    if same_sitting and Trait.RANDOM_ORDER in x.traits & y.traits:
        return Order.MIXED
    if x.span is not None and y.span is not None and x.span != y.span:
        if x.span[1] <= y.span[0]:
            return Order.X_FIRST
        if y.span[1] <= x.span[0]:
            return Order.Y_FIRST
        return Order.MIXED
    in_turn = Trait.IN_TURN in x.traits & y.traits and Trait.SORTED not in x.traits | y.traits
    if same_sitting and in_turn:
        return Order.X_FIRST if x.position < y.position else Order.Y_FIRST
    if x.tool in _NO_TOOL or y.tool in _NO_TOOL:
        return Order.UNKNOWN
    if same_sitting and x.session_count == y.session_count == 1 and x.position != y.position:
        return Order.X_FIRST if x.position < y.position else Order.Y_FIRST
    return Order.APART

"""The samples of two versions: which belong together, and which was measured first, as far as files tell."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

from speedproof.arrays import FloatArray
from speedproof.data.sample import Sample, Trait

# They hold what somebody wrote down; every other tool measures one thing after the other.
_NO_TOOL = ("", "csv", "raw", "speedup-test", "parsec")
_SORTED_FROM = 8  # values; so many are in order by chance in 2 of 8! orders


def order_traits(values: FloatArray) -> frozenset[Trait]:
    """What values themselves say of their order.

    Files and arrays hold values in run order by convention; many that only rise or only fall have been sorted.
    """
    rising, falling = ((a < b).any() for a, b in ((values[:-1], values[1:]), (values[1:], values[:-1])))
    is_sorted = values.size >= _SORTED_FROM and rising != falling
    return frozenset({Trait.SORTED if is_sorted else Trait.ORDER_KNOWN})


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


class Key(Struct, frozen=True, order=True):
    """What is compared: one metric of one benchmark."""

    benchmark: str
    metric: str = "time"


class Pair(Struct, frozen=True, eq=False):
    """The samples of two versions on the same key."""

    key: Key
    reference: Sample
    candidate: Sample


class Pairing(Struct, frozen=True, eq=False):
    """All pairs of two versions, and what has no partner."""

    pairs: tuple[Pair, ...]  # in the order of the reference
    # What the other version lacks
    only_reference: tuple[Key, ...]
    only_candidate: tuple[Key, ...]
    # Pairs that cannot be compared (units, directions), each with its reason
    incomparable: tuple[tuple[Key, str], ...]

    @property
    def problems(self) -> tuple[str, ...]:
        """Why pairs cannot be compared."""
        return tuple(reason for _, reason in self.incomparable)


def pairing(reference: str, x: Mapping[Key, Sample], candidate: str, y: Mapping[Key, Sample]) -> Pairing:
    """Match the samples of two versions."""
    pairs: list[Pair] = []
    problems: list[tuple[Key, str]] = []
    for key, sample in x.items():
        if (partner := y.get(key)) is None:
            continue
        if partner.unit == sample.unit and partner.direction is sample.direction:
            pairs.append(Pair(key, sample, partner))
            continue
        a, b = (f"in {s.unit or 'plain numbers'} ({s.direction} is better)" for s in (sample, partner))
        why = f"{reference} is {a}, {candidate} {b}; they cannot be compared"
        problems.append((key, f"{key.benchmark} ({key.metric}): {why}"))
    return Pairing(
        tuple(pairs), tuple(k for k in x if k not in y), tuple(k for k in y if k not in x), tuple(problems)
    )

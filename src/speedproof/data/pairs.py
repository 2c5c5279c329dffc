"""The samples of two versions, matched by benchmark and metric."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from speedproof.data.sample import Sample


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
        tuple(pairs),
        tuple(k for k in x if k not in y),
        tuple(k for k in y if k not in x),
        tuple(problems),
    )

"""What repeats independently on both sides of a pair, and its numbers: sessions, processes, or runs of one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from operator import attrgetter
from typing import TYPE_CHECKING, Literal

import numpy as np
from msgspec import Struct

from speedproof.arrays import FloatArray, IntArray, batches, stacked
from speedproof.data.names import begin_alike
from speedproof.data.record import Order, order_of_measuring
from speedproof.data.sample import LARGE, Sample, Trait, above_zero, all_ascending, levels_at, like
from speedproof.data.suite import Pair
from speedproof.stats.scaling import middle, shifts, unbounded

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from speedproof.arrays import FloatArray
    from speedproof.data.sample import Sample


LEAST_SESSIONS = 4
"""So many sessions of every version, and the session is the unit: with fewer no test could decide."""


def sessions_are_units(samples: Sequence[Sample]) -> bool:
    """Whether all of them have :data:`LEAST_SESSIONS` or more."""
    return min(sample.session_count for sample in samples) >= LEAST_SESSIONS


def matched(samples: Sequence[Sample]) -> Sequence[Sample]:
    """Of processes that give different numbers of values those at the last places that every process has.

    A process' k-th value is compared with another's k-th: while it warms up, those differ, and that it does not
    nobody can show. An even number of them, as values may alternate between two states. Values of which no process
    is known have no places and stay, as do those of one process a side, each of which is a unit.
    """
    places = _last_of_all(samples)
    if places is None:
        return samples
    kept = [None if s.groups is None else s.groups.between(*places) for s in samples]
    return [
        s if at is None else like(s, s.values[at], **levels_at(s, at))
        for s, at in zip(samples, kept, strict=True)
    ]


def _last_of_all(samples: Sequence[Sample]) -> tuple[int, int] | None:
    """The range of positions that :func:`matched` keeps; None if it keeps all."""
    if not any(sample.nested and sample.process_count > 1 for sample in samples):
        return None
    extents = [sample.groups.extent for sample in samples if sample.groups is not None]
    few = min(least for least, _ in extents)
    if max(most for _, most in extents) == few:
        return None
    return few % 2 if few > 1 else 0, few


def compared(pair: Pair) -> str:
    """A clause on which values of each process are compared; empty if all are."""
    places = _last_of_all((pair.reference, pair.candidate))
    if places is None:
        return ""
    begin, end = places[0] + 1, places[1]
    which = f"values {begin} to {end}" if end > begin else f"value {end}"
    return f"{which} of each process {'were' if end > begin else 'was'} compared"


def matched_pair(pair: Pair) -> Pair:
    """The pair with :func:`matched` sides, itself where nothing is left out."""
    x, y = matched((pair.reference, pair.candidate))
    return pair if x is pair.reference and y is pair.candidate else Pair(pair.key, x, y)


def units_of(samples: Sequence[Sample], location: Literal["mean", "median"]) -> list[Sample]:
    """Of samples that are :func:`matched` one value a session where sessions are units, else a process.

    One process gives its values: that another start may differ more is said once of all.
    """
    if sessions_are_units(samples):
        return [sample.per_session(location) for sample in samples]
    return [s if s.process_count == 1 else s.per_process(location) for s in samples]


def clusters_of(samples: Sequence[Sample]) -> list[IntArray | None]:
    """The number of the unit of every value in :func:`typical_units`; None where each is its own."""
    if sessions_are_units(samples):
        return [sample.sessions for sample in samples]
    return [s.processes if s.nested and s.process_count > 1 else None for s in samples]


def paired_units(pair: Pair) -> tuple[Sample, Sample] | None:
    """A median a session of both sides, in one order, where the same sessions measured both.

    They did where they share their names, or where the names of files differ in the same parts (``a1.json`` to
    ``a5.json`` and ``b1.json`` to ``b5.json``, or the same files in two folders), unless the clock says that one
    version came first. There have to be :data:`LEAST_SESSIONS`, whatever the risk: one test at every confidence.
    The builds of ``run --builds`` are paired by block, with the median of each.
    """
    x, y = pair.reference, pair.candidate
    if all(Trait.BUILDS in side.traits and side.blocks is not None for side in (x, y)):
        of_one, of_two = (_by_block(side) for side in (x, y))
        both = sorted(of_one.keys() & of_two.keys())
        if len(both) < LEAST_SESSIONS:
            return None
        first, second = (
            like(side, np.array([of[key] for key in both]), processes=None, sessions=None, blocks=None)
            for side, of in ((x, of_one), (y, of_two))
        )
        return first, second
    count = x.session_count
    named = count == len(x.session_names) == len(y.session_names) == y.session_count
    if not named or count < LEAST_SESSIONS:
        return None
    of_x, of_y = x.session_names, y.session_names
    if set(of_x) != set(of_y):
        of_x, of_y = _different_parts(of_x), _different_parts(of_y)
        if set(of_x) != set(of_y) or order_of_measuring(x, y) in (Order.X_FIRST, Order.Y_FIRST):
            return None
    one, two = (side.per_session("median") for side in matched((x, y)))
    order = np.argsort([of_x.index(of_y[k]) for k in _numbers(two)])
    return _taken(one, np.argsort(_numbers(one))), _taken(two, order)


def _by_block(sample: Sample) -> dict[tuple[str, int], float]:
    """The median of the runs of each block of a session, which are of one build."""
    blocks, names = np.asarray(sample.blocks), sample.session_names or ("",)
    sessions = np.zeros_like(blocks) if sample.sessions is None else sample.sessions
    places = dict.fromkeys(zip(sessions.tolist(), blocks.tolist(), strict=True))
    return {
        (names[session], block): float(np.median(sample.values[(sessions == session) & (blocks == block)]))
        for session, block in places
    }


def _different_parts(names: Sequence[str]) -> tuple[str, ...]:
    """The names without their common beginning and end."""
    rest = [name[begin_alike(names) :] for name in names]
    end = begin_alike([part[::-1] for part in rest])
    return tuple(part[: len(part) - end] for part in rest)


def _numbers(sample: Sample) -> list[int]:
    numbers: list[int] = np.asarray(sample.sessions).tolist()
    return numbers


def _taken(sample: Sample, order: IntArray) -> Sample:
    return like(sample, sample.values[order], sessions=np.asarray(sample.sessions)[order])


def typical_units(samples: Sequence[Sample]) -> list[Sample]:
    """One value for each unit of the typical run."""
    return units_of(matched(samples), "median")


def blocks_of(pair: Pair) -> tuple[FloatArray, FloatArray] | None:
    """The values of both sides in the blocks that both have, in order; None where they did not take turns.

    Nor are there any where values are nested in builds, which are tested once, or where a value is not positive.
    """
    keys = [_keys(side) for side in (pair.reference, pair.candidate)]
    if keys[0] is None or keys[1] is None:
        return None
    places = {key: i for i, key in enumerate(keys[1])}
    both = sorted((key, i, places[key]) for i, key in enumerate(keys[0]) if key in places)
    x, y = (
        np.where(side.values == 0.0, above_zero(0.0, side.written_unit), side.values)[places]
        for side, places in (
            (pair.reference, [i for _, i, _ in both]),
            (pair.candidate, [j for _, _, j in both]),
        )
    )
    return (x, y) if x.size and min(x.min(), y.min()) > 0.0 else None


def _keys(sample: Sample) -> list[tuple[str, int]] | None:
    if sample.blocks is None or sample.processes is not None or Trait.RANDOM_ORDER not in sample.traits:
        return None
    names = sample.session_names or ("",)
    sittings = (
        [names[0]] * sample.n if sample.sessions is None else [names[i] for i in sample.sessions.tolist()]
    )
    return list(zip(sittings, sample.blocks.tolist(), strict=True))


class Summary(Struct, frozen=True):
    """One side of a comparison in a few numbers; the sample itself is not kept."""

    label: str  # the version
    n: int  # number of values that the protocol used
    observations: int  # number of values measured; larger than n when values were nested in processes
    # Location and spread in base units; ``deviation`` divides by n - 1 (NaN for one value), ``mad`` is the
    # median absolute deviation from the median, not scaled
    mean: float
    median: float
    minimum: float
    maximum: float
    deviation: float
    mad: float
    unit: str  # the base unit
    notes: tuple[str, ...] = ()  # remarks made while reading
    # What the values used are of: ``"run"``, ``"process"``, ``"build"`` or ``"session"``
    repeated: str = "run"
    higher_is_better: bool | None = None  # of the values; None: as the unit says


def summarise(sample: Sample) -> Summary:
    """Reduce a sample to its summary."""
    return summarise_all([sample], [sample])[0]


def summarise_all(samples: Sequence[Sample], used: Sequence[Sample]) -> list[Summary]:
    """Reduce samples to their summaries, those of equal sizes together."""
    summaries: dict[int, Summary] = {}
    for members in batches((values.n,) for values in used):
        alike, given = [used[i] for i in members], [samples[i] for i in members]
        values = stacked([sample.values for sample in alike])
        n = values.shape[1]
        columns = _moments(values, all_ascending(alike) if n >= LARGE else values)
        sizes, of = [s.values.size for s in given], map(attrgetter("unit", "notes"), given)
        repeated = [repeated_in(s, n) for s in given]
        names = [s.label for s in given], repeat(n), sizes
        others = *zip(*of, strict=True), repeated, [s.higher_is_better for s in given]
        summaries.update(zip(members, map(Summary, *names, *columns, *others), strict=True))
    return [summaries[i] for i in range(len(samples))]


def repeated_in(sample: Sample, units: int) -> str:
    """The unit that these independent values stand for: run, process, build or session."""
    builds = Trait.BUILDS in sample.traits
    # Some runs of one process, or all runs.
    if units > sample.process_count or (units == sample.n and not builds):
        return "run"
    return "session" if sample.session_count == units > 1 else "build" if builds else "process"


def unit_of_all(repeated: Iterable[str]) -> str:
    """What was repeated on all sides; where that differs a run, which each value stands for."""
    unit, *others = set(repeated)
    return "run" if others else unit


def several(repeated: str) -> str:
    """The plural of what was repeated: runs, processes, builds, sessions."""
    return "processes" if repeated == "process" else f"{repeated}s"


def _moments(values: FloatArray, ordered: FloatArray) -> list[list[float]]:
    """Mean, median, minimum, maximum, deviation and median absolute deviation of each row."""
    n = values.shape[-1]
    shift = shifts(np.abs(values).max(axis=-1))
    v = np.ldexp(values, shift[:, None]) if shift.any() else values
    median = middle(ordered if v is values else v)
    deviation = v.std(axis=-1, ddof=1) if n > 1 else np.full(len(v), np.nan)
    columns = [v.mean(axis=-1), median, deviation, middle(np.abs(v - median[:, None]))]
    if shift.any():
        columns = [unbounded(np.ldexp, column, -shift) for column in columns]
    columns[2:2] = [values.min(axis=-1), values.max(axis=-1)]
    return [column.tolist() for column in columns]

"""Each side of a comparison in a few numbers: what results hold in place of samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from speedproof.data.groups import batches
from speedproof.data.sample import Trait
from speedproof.stats.scaling import middle

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from speedproof.arrays import FloatArray
    from speedproof.data.sample import Sample
from speedproof.data.suite import Suite


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
        rows = _numbers(np.stack([used[i].values for i in members]))
        for i, row in zip(members, rows, strict=True):
            sample, n = samples[i], used[i].n
            summaries[i] = Summary(
                sample.label, n, sample.n, *row, sample.unit, sample.notes, repeated_in(sample, n),
                sample.higher_is_better,
            )  # fmt: skip
    return [summaries[i] for i in range(len(samples))]


def repeated_in(sample: Sample, units: int) -> str:
    """What so many independent values of a sample are of: a run, a process, a build or a session."""
    runs = units == sample.n or units > sample.process_count  # all of them, or some of one process
    if runs or sample.session_count == units > 1:
        return "run" if runs else "session"
    return "build" if Trait.BUILDS in sample.traits else "process"


def outermost(repeated: Iterable[str]) -> str:
    """What was repeated on all sides, where one side's values are nested and another's are not."""
    return max(repeated, key=("run", "process", "build", "session").index)


def _numbers(values: FloatArray) -> list[tuple[float, float, float, float, float, float]]:
    """Mean, median, minimum, maximum, deviation and median absolute deviation of each row."""
    n = values.shape[-1]
    largest = np.abs(values).max(axis=-1)
    outside = (largest > 0.0) & ~((largest > 1e-60) & (largest < 1e60))
    shift = np.where(outside, -np.frexp(largest)[1], 0)
    v = np.ldexp(values, shift[:, None]) if outside.any() else values
    median = middle(v)
    deviation = v.std(axis=-1, ddof=1) if n > 1 else np.full(len(v), np.nan)
    columns = [v.mean(axis=-1), median, deviation, middle(np.abs(v - median[:, None]))]
    if outside.any():
        with np.errstate(over="ignore"):
            columns = [np.ldexp(column, -shift) for column in columns]
    columns[2:2] = [values.min(axis=-1), values.max(axis=-1)]
    return list(zip(*(column.tolist() for column in columns), strict=True))


def summaries_of(suite: Suite, metric: str) -> dict[tuple[str, str], Summary]:
    """The runs of a suite in numbers, by benchmark and version."""
    return {
        (key.benchmark, version): summarise(sample)
        for (key, version), sample in suite.samples.items()
        if key.metric == metric
    }

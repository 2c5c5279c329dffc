"""Samples as rows of the store, and back."""

from __future__ import annotations

import math
import zlib
from typing import Any

import numpy as np

from speedproof.data.sample import Sample
from speedproof.data.suite import Suite
from speedproof.data.units import Direction
from speedproof.stats.median_interval import median_interval

__all__ = ["identity_of", "location_and_bounds", "packed", "unpacked"]

_IDENTITY = (
    ("cpu_model_name", "cpu", "ProcessorName"),
    ("cpu_count", "num_cpus", "LogicalCoreCount"),
    ("ram", "memory"),
    ("arch", "machine", "goarch", "Architecture"),
    ("goos", "os", "system", "OsVersion"),
)
"""What identifies a machine, as the tools name it: never readings that change from run to run."""


def identity_of(suite: Suite) -> str:
    """What the files say of the machine, stable facts only; "unknown machine" when nothing."""
    known: dict[str, str] = {}
    for fields in suite.fields.values():
        for name, values in fields.items():
            known.setdefault(name, values[0])
    told = [next((known[name] for name in names if known.get(name)), "") for names in _IDENTITY]
    return ", ".join(part for part in told if part) or "unknown machine"


def location_and_bounds(sample: Sample) -> dict[str, float | None]:
    """The median over processes and its interval at 95 %, empty where the values are too few for one."""
    used = sample.per_process("median").values
    low, high = median_interval(used)
    return {
        "location": float(np.median(used)),
        "low": None if math.isnan(low) else low,
        "high": None if math.isnan(high) else high,
    }


def packed(sample: Sample) -> dict[str, bytes | None]:
    """The values and their processes, compressed."""
    processes = sample.processes
    return {
        "observations": zlib.compress(sample.values.astype("<f8").tobytes(), 1),
        "processes": None if processes is None else zlib.compress(processes.astype("<i8").tobytes(), 1),
    }


def unpacked(row: Any) -> Sample:
    """A sample from a row that has its unit, direction and commit, too."""
    processes = None if row.processes is None else np.frombuffer(zlib.decompress(row.processes), "<i8")
    return Sample(
        np.frombuffer(zlib.decompress(row.observations), "<f8"),
        row.unit,
        Direction.HIGHER if row.higher_is_better else Direction.LOWER,
        processes.astype(np.int64) if processes is not None else None,
        label=row.sha,
    )

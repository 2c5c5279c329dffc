"""Samples as rows of the store, and back."""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from speedproof.data.sample import Sample
from speedproof.data.suite import Suite
from speedproof.data.units import Direction
from speedproof.errors import DataError
from speedproof.stats.location import median_interval

_IDENTITY = (
    ("cpu_model_name", "cpu", "ProcessorName"),
    ("cpu_count", "num_cpus", "LogicalCoreCount"),
    ("ram", "memory"),
    ("arch", "machine", "goarch", "Architecture"),
    ("goos", "os", "system", "OsVersion"),
)
"""What identifies a machine, as the tools name it: never readings that change from run to run."""
FIGURES = np.dtype(
    [*((name, "<i4") for name in ("series", "session", "commit", "sample")), ("anchor", "?"),
     *((name, "<f8") for name in ("location", "low", "high"))]
)  # fmt: skip
"""What a block holds of a sample."""
_HOSTS = ("hostname", "host_name")
_CONFIGURATIONS = ("python_config_args",)
_ARCHITECTURES = re.compile(r"x86_64|amd64|aarch64|arm64|armv\d\w*|i[3-6]86|ppc64\w*|riscv64|s390x", re.I)


def identity_of(suite: Suite, machine: str = "") -> str:
    """What the files say of the machine and of how the program was built, stable facts only.

    A machine that the user names is known by that name; one of no CPU model by its host's name as well, which is
    fresh for every job on rented ones. Two builds of one commit are two versions: they are kept apart.
    """
    known: dict[str, str] = {}
    for fields in suite.fields.values():
        for name, values in fields.items():
            known.setdefault(name, values[0])
    if not machine:
        host = "" if any(known.get(name) for name in _IDENTITY[0]) else _first(known, _HOSTS)
        facts = [_first(known, names) for names in _IDENTITY]
        platform = known.get("platform", "")  # the rest of it changes with every update
        architecture = _ARCHITECTURES.search(platform)
        facts[3] = facts[3] or (architecture[0] if architecture else "")
        facts[4] = facts[4] or platform.partition("-")[0]
        machine = ", ".join(part for part in (host, *facts) if part) or "unknown machine"
    words = _first(known, _CONFIGURATIONS).replace("'", "").split()
    built = [word.removeprefix("--enable-").removeprefix("--with-") for word in words if "/" not in word]
    return "; ".join(filter(None, [machine, " ".join(sorted(built))]))


def label_of(identity: str) -> str:
    """An identity for people: a bare number of processors says what it counts."""
    return re.sub(r"(?:(?<=, )|^)(\d{1,4})(?=,|;|$)", r"\1 CPUs", identity, count=1)


def _first(known: Mapping[str, str], names: Sequence[str]) -> str:
    return next((known[name] for name in names if known.get(name)), "")


def location_and_bounds(sample: Sample) -> dict[str, float | None]:
    """The median over processes and its interval at 95 %, empty where the values are too few for one."""
    used = sample.per_process("median").values
    ordered = np.sort(used)
    low, high = median_interval(used)
    return {
        "location": 0.5 * float(ordered[(used.size - 1) // 2] + ordered[used.size // 2]),
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


def block_of(samples: Iterable[int], rows: Iterable[Mapping[str, Any]]) -> bytes:
    """The figures of samples from their numbers and rows; NaN where there is no interval."""
    numbered = ({**row, "sample": number} for number, row in zip(samples, rows, strict=True))
    return np.array([tuple(row[name] for name in FIGURES.names or ()) for row in numbered], FIGURES).tobytes()


def unpacked(row: Any) -> Sample:
    """A sample from a row that has its unit, direction and commit, too."""
    try:
        processes = None if row.processes is None else np.frombuffer(zlib.decompress(row.processes), "<i8")
        values = np.frombuffer(zlib.decompress(row.observations), "<f8")
    except (ValueError, zlib.error) as error:
        raise DataError(f"the values of {row.sha} are damaged in the store: {error}") from error
    return Sample(
        values,
        row.unit,
        Direction.HIGHER if row.higher_is_better else Direction.LOWER,
        processes.astype(np.int64) if processes is not None else None,
        label=row.sha,
    )

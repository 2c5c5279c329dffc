"""Samples as rows of the store, and back."""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from speedproof.arrays import FloatArray, IntArray, NDArray, batches, groups_of, stacked
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
"""The fields that identify a machine, by the names tools use; never readings that vary from run to run."""
UNKNOWN = "unknown machine"
"""The label of an unknown machine."""
FIGURES = np.dtype(
    [*((name, "<i4") for name in ("series", "session", "commit", "sample")), ("anchor", "?"),
     *((name, "<f8") for name in ("location", "low", "high"))]
)  # fmt: skip
"""The figures of a sample that a block stores."""
_HOSTS = ("hostname", "host_name")
_CONFIGURATIONS = ("python_config_args",)
_ARCHITECTURES = re.compile(r"x86_64|amd64|aarch64|arm64|armv\d\w*|i[3-6]86|ppc64\w*|riscv64|s390x", re.I)


def identity_of(suite: Suite, machine: str = "") -> str:
    """Stable facts about the machine and the build, from the files' fields.

    A machine that the user names is known by that name, or is the one of that label; one of no CPU model by its
    host's name as well, which is fresh for every job on rented ones. Two builds of one commit are two versions:
    they are kept apart.
    """
    stated = facts_of(suite)
    machine = re.sub(r"(?:(?<=, )|^)(\d{1,4}) CPUs(?=,|;|$)", r"\1", machine, count=1)
    if not machine:
        host = "" if any(stated.get(name) for name in _IDENTITY[0]) else _first(stated, _HOSTS)
        facts = [_first(stated, names) for names in _IDENTITY]
        platform = stated.get("platform", "")  # the rest of it changes with every update
        architecture = _ARCHITECTURES.search(platform)
        facts[3] = facts[3] or (architecture[0] if architecture else "")
        facts[4] = facts[4] or platform.partition("-")[0]
        machine = ", ".join(part for part in (host, *facts) if part) or UNKNOWN
    words = _first(stated, _CONFIGURATIONS).replace("'", "").split()
    built = [word.removeprefix("--enable-").removeprefix("--with-") for word in words if "/" not in word]
    return "; ".join(filter(None, [machine, " ".join(sorted(built))]))


def facts_of(suite: Suite) -> dict[str, str]:
    """The first value of each field in the files: facts about the machine, and others."""
    facts: dict[str, str] = {}
    for fields in suite.fields.values():
        for name, values in fields.items():
            facts.setdefault(name, values[0])
    return facts


def same_machine(label: str, facts: Mapping[str, str]) -> bool:
    """Whether a label names the CPU model or the host among facts: tools tell more or less of one machine."""
    stored = f", {label.partition('; ')[0]}, "
    names = _first(facts, _IDENTITY[0]), _first(facts, ("host", *_HOSTS))
    return any(name and f", {label_of(name)}, " in stored for name in names)


def label_of(identity: str) -> str:
    """An identity for people: a bare number of processors says what it counts."""
    return re.sub(r"(?:(?<=, )|^)(\d{1,4})(?=,|;|$)", r"\1 CPUs", identity, count=1)


def _first(known: Mapping[str, str], names: Sequence[str]) -> str:
    return next((known[name] for name in names if known.get(name)), "")


def locations_and_bounds(
    values: Sequence[FloatArray], processes: Sequence[IntArray | None]
) -> dict[str, list[float | None]]:
    """The medians over processes and their intervals at 95 %, None where the values are too few for one."""
    groups = {number: groups_of(of) for number, of in _distinct(processes).items()}
    kinds = [groups.get(id(of)) for of in processes]
    figures = np.empty((3, len(values)))
    for places in batches((one.size, id(of)) for one, of in zip(values, kinds, strict=True)):
        rows, of = stacked([values[i] for i in places]), kinds[places[0]]
        ordered = np.sort(rows if of is None else of.locations(rows, "median"))
        n = ordered.shape[1]
        middle = 0.5 * (ordered[:, (n - 1) // 2] + ordered[:, n // 2])
        figures[:, places] = [middle, *median_interval(ordered)]
    columns = figures.astype(object)
    columns[np.isnan(figures)] = None
    return dict(zip(("location", "low", "high"), columns.tolist(), strict=True))


def _distinct(processes: Sequence[IntArray | None]) -> dict[int, IntArray]:
    """The distinct arrays: many samples of a file share one."""
    return {id(of): of for of in processes if of is not None}


def packed(
    values: Sequence[FloatArray], processes: Sequence[IntArray | None]
) -> tuple[list[bytes], list[bytes | None]]:
    """The values of samples, and their processes, compressed."""
    distinct = _distinct(processes)
    compressed = dict(zip(distinct, _compressed([*distinct.values()], "<i8"), strict=True))
    return _compressed(values, "<f8"), [compressed.get(id(of)) for of in processes]


def _compressed(arrays: Sequence[NDArray[Any]], kind: str) -> list[bytes]:
    return [zlib.compress(array.astype(kind).tobytes(), 1) for array in arrays]


def block_of(columns: Mapping[str, Sequence[Any]]) -> bytes:
    """The figures of samples from columns of their rows and numbers; NaN where there is no interval."""
    block = np.empty(len(columns["sample"]), FIGURES)
    for name in FIGURES.names or ():
        block[name] = np.array(columns[name], FIGURES[name])
    return block.tobytes()


def unpacked(
    observations: bytes, processes: bytes | None, unit: str, higher_is_better: bool, label: str
) -> Sample:
    """Restore a sample from its stored form."""
    try:
        of = None if processes is None else np.frombuffer(zlib.decompress(processes), "<i8")
        values = np.frombuffer(zlib.decompress(observations), "<f8")
    except (ValueError, zlib.error) as error:
        raise DataError(f"the values of {label} are damaged in the store: {error}") from error
    direction = Direction.HIGHER if higher_is_better else Direction.LOWER
    return Sample(values, unit, direction, None if of is None else of.astype(np.int64), label=label)

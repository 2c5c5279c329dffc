"""nanobench: the JSON of its template ``ankerl::nanobench::templates::json()``.

https://nanobench.ankerl.com: a result holds ``measurements``, one an epoch, in run order. ``elapsed`` is in
seconds and, as every counter, already divided by the iterations of the epoch and the batch: it is that of one
``unit``. A counter that nanobench could not read is written as 0. All epochs run in one process; the warm-up is
not in the file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import msgspec
import numpy as np
from msgspec.structs import replace

from speedproof.data.record import Record, Skipped
from speedproof.data.sample import Trait
from speedproof.errors import FormatError
from speedproof.formats.jsontext import Number, as_fields, decode, numbers
from speedproof.formats.notes import plural
from speedproof.formats.options import ReadOptions
from speedproof.formats.sniff import has_members
from speedproof.formats.source import Source

NAME = "nanobench"
TITLE = "nanobench"
DESCRIPTION = "JSON of its json template: the epochs of every benchmark, counters"

# The metric and the base unit of a measurement's members; others are counts of what they are called.
_KNOWN = {"elapsed": ("time", "s"), "cpucycles": ("cycles", "cycles")}
_REMEDY = "render with the template ankerl::nanobench::templates::json()"


class _Result(msgspec.Struct):
    name: str
    measurements: list[dict[str, Number]] = []
    title: str | None = None
    unit: str | None = None
    batch: float | None = None
    warmup: float = 0


class _File(msgspec.Struct):
    results: list[msgspec.Raw]


def sniff(head: bytes) -> bool:
    """Whether the members are those of nanobench's JSON."""
    return has_members(head, ("results", "measurements", "elapsed"))


def read(source: Source, options: ReadOptions) -> Iterator[Record | Skipped]:
    """Read the epochs of every benchmark."""
    results: list[tuple[str, _Result]] = []
    for index, part in enumerate(decode(source.data, _File, source).results):
        where = f"results[{index}]"
        try:
            results.append((where, decode(part, _Result, source, where)))
        except FormatError as error:
            yield Skipped(source.name, error.where, "", error.message)
    titles = Counter(name for _, name in dict.fromkeys((result.title, result.name) for _, result in results))
    uncounted = 0
    for where, result in results:
        benchmark = f"{result.title}/{result.name}" if titles[result.name] > 1 else result.name
        if not result.measurements:
            yield Skipped(source.name, where, benchmark, f"the file has no measurements of it; {_REMEDY}")
            continue
        frame = Record(
            benchmark,
            np.empty(0),
            path=source.name,
            where=f"{where}.measurements",
            fields=as_fields({"title": result.title, "unit": result.unit, "batch": result.batch}),
            traits=frozenset({Trait.ORDER_KNOWN, Trait.ONE_PROCESS})
            | (frozenset({Trait.WARMUP_REMOVED}) if result.warmup > 0 else frozenset()),
        )
        for item in _metrics(frame, result.measurements):
            if item is None:
                uncounted += 1
            else:
                yield item
    if uncounted:
        reason = (
            f"{plural(uncounted, 'counter')} left out that {'is' if uncounted == 1 else 'are'} 0 in all epochs, "
            "as nanobench writes what it cannot count"
        )
        yield Skipped(source.name, "", "", reason, expected=True)


def _metrics(frame: Record, measurements: list[dict[str, Number]]) -> Iterator[Record | Skipped | None]:
    """A record for each metric; None for a counter that counted nothing."""
    for member in dict.fromkeys(name for measurement in measurements for name in measurement):
        if member == "iterations":
            continue
        metric, unit = _KNOWN.get(member, (member, ""))
        values = numbers([measurement[member] for measurement in measurements if member in measurement])
        finite = values[np.isfinite(values)]
        if lost := values.size - finite.size:
            reason = f"{member} is not a number in {lost} of {plural(values.size, 'epoch')}"
            yield Skipped(frame.path, frame.where, frame.benchmark, reason)
        if finite.size and (metric == "time" or finite.any()):
            yield replace(frame, values=finite, unit=unit, metric=metric)
        elif finite.size:
            yield None

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
from speedproof.formats.jsontext import Number, as_fields, decode, entries, numbers
from speedproof.formats.options import ReadOptions
from speedproof.formats.reading import finite, plural
from speedproof.formats.sniff import members
from speedproof.formats.source import Source

NAME = "nanobench"
TITLE = "nanobench"
DESCRIPTION = "JSON of its json template: the epochs of every benchmark, counters"
sniff = members("results", "measurements", "elapsed")

# The metric and the base unit of a measurement's members; others are counts of what they are called.
_KNOWN = {"elapsed": ("time", "s"), "cpucycles": ("cycles", "cycles")}
_TRAITS = frozenset({Trait.ORDER_KNOWN, Trait.ONE_PROCESS})
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


def read(source: Source, options: ReadOptions) -> Iterator[Record | Skipped]:
    """Read the epochs of every benchmark."""
    results: list[tuple[str, _Result]] = []
    for where, entry in entries(decode(source.data, _File, source).results, _Result, source, "results"):
        if isinstance(entry, Skipped):
            yield entry
        else:
            results.append((where, entry))
    titles = Counter(name for _, name in dict.fromkeys((result.title, result.name) for _, result in results))
    uncounted = 0
    for where, result in results:
        frame = Record(
            f"{result.title}/{result.name}" if titles[result.name] > 1 else result.name,
            np.empty(0),
            path=source.name,
            where=f"{where}.measurements",
            fields=as_fields({"title": result.title, "unit": result.unit, "batch": result.batch}),
            traits=_TRAITS | ({Trait.WARMUP_REMOVED} if result.warmup > 0 else set()),
        )
        if not result.measurements:
            reason = f"the file has no measurements of it; {_REMEDY}"
            yield Skipped(source.name, where, frame.benchmark, reason)
        for member in dict.fromkeys(name for measurement in result.measurements for name in measurement):
            if member == "iterations":
                continue
            metric, unit = _KNOWN.get(member, (member, ""))
            values = numbers([epoch[member] for epoch in result.measurements if member in epoch])
            good, reason = finite(values, member, "epoch")
            if reason:
                yield Skipped(source.name, frame.where, frame.benchmark, reason)
            if good.any() and metric != "time" and not values[good].any():
                uncounted += 1
            elif good.any():
                yield replace(frame, values=values[good], unit=unit, metric=metric)
    if uncounted:
        reason = (
            f"{plural(uncounted, 'counter')} left out that {'is' if uncounted == 1 else 'are'} 0 in all epochs, "
            "as nanobench writes what it cannot count"
        )
        yield Skipped(source.name, "", "", reason, expected=True)

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
from msgspec.structs import replace

from speedproof.data.names import plural
from speedproof.data.record import Record, Skipped, finite
from speedproof.data.sample import Trait
from speedproof.formats.jsontext import Number, Results, as_fields, decode, each, glances, members, numbers
from speedproof.formats.source import ReadOptions, Source

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


def read(source: Source, options: ReadOptions) -> Iterator[Record | Skipped]:
    """Read the epochs of every benchmark."""
    results = decode(source.content, Results, source).results
    titles = Counter(name for _, name in {*glances(source, results, "title", "name")})
    uncounted = 0

    def result(place: Record, entry: _Result) -> Iterator[Record | Skipped]:
        nonlocal uncounted
        frame = replace(
            place,
            benchmark=f"{entry.title}/{entry.name}" if titles[entry.name] > 1 else entry.name,
            fields=as_fields({"title": entry.title, "unit": entry.unit, "batch": entry.batch}),
            traits=_TRAITS | ({Trait.WARMUP_REMOVED} if entry.warmup > 0 else set()),
        )
        if not entry.measurements:
            yield frame.left_out(f"the file has no measurements of it; {_REMEDY}")
        frame = replace(frame, where=f"{place.where}.measurements")
        for member in dict.fromkeys(name for measurement in entry.measurements for name in measurement):
            if member == "iterations":
                continue
            metric, unit = _KNOWN.get(member, (member, ""))
            values = numbers([epoch[member] for epoch in entry.measurements if member in epoch])
            for item in finite(replace(frame, values=values, unit=unit, metric=metric), member, "epoch"):
                if isinstance(item, Record) and metric != "time" and not item.values.any():
                    uncounted += 1
                else:
                    yield item

    yield from each(source, results, _Result, result, "results")
    if uncounted:
        reason = (
            f"{plural(uncounted, 'counter')} left out that {'is' if uncounted == 1 else 'are'} 0 in all epochs, "
            "as nanobench writes what it cannot count"
        )
        yield source.skip("", "", reason, expected=True)

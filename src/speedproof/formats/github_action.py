"""github-action-benchmark: the JSON list that its tools customSmallerIsBetter and customBiggerIsBetter read.

https://github.com/benchmark-action/github-action-benchmark: ``[{"name", "unit", "value", "range", "extra"}]``, one
number a benchmark. The list does not say which of the two it is for.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np

from speedproof.data.record import Record, Skipped, finite
from speedproof.data.sample import Trait
from speedproof.data.units import direction_of, parse_unit
from speedproof.formats.jsontext import Number, as_fields, each, members, number
from speedproof.formats.source import ReadOptions, Source

TITLE = "github-action-benchmark"
DESCRIPTION = "JSON of names, units and values: one number a benchmark"
_shown = members("name", "unit", "value")
_METRICS = {"s": "time", "B": "memory"}


class _Entry(msgspec.Struct):
    name: str
    value: Number
    unit: str = ""
    range: Number | None = None
    extra: str | None = None


def sniff(head: bytes) -> bool:
    """Whether a file is a list that shows the three members."""
    return head.lstrip()[:1] == b"[" and _shown(head)


def read(source: Source, options: ReadOptions) -> Iterator[Record | Skipped]:
    """Read the value of every benchmark."""

    def benchmark(place: Record, entry: _Entry) -> Iterator[Record | Skipped]:
        unit = parse_unit(entry.unit)
        held = place.holding(
            np.array([number(entry.value)]), unit,
            benchmark=entry.name, metric=_METRICS.get(unit.base, unit.base or "value"),
            direction=direction_of(unit.base, entry.name), traits=frozenset({Trait.SUMMARY_ONLY}),
            fields=as_fields({"range": entry.range, "extra": entry.extra}),
        )  # fmt: skip
        yield from finite(held, held.metric, "value")

    yield from each(source, source.content, _Entry, benchmark)

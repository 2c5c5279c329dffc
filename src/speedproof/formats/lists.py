"""Bare JSON: a list a process, of its values in run order, as scripts dump the iterations of JMH's forks."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace

from speedproof.data.record import Record, Skipped, finite
from speedproof.data.sample import Trait
from speedproof.data.units import metric_of, parse_unit
from speedproof.formats import criterion
from speedproof.formats.jsontext import Number, decode, numbers
from speedproof.formats.reading import nested
from speedproof.formats.source import ReadOptions, Source

TITLE = "JSON lists"
DESCRIPTION = "a list of lists of numbers: the values of each process"

_BEGIN = re.compile(rb"\s*\[\s*\[\s*[-0-9]")


def sniff(head: bytes) -> bool:
    """Whether a file begins with a list in a list, and a number in that, and is not criterion's."""
    return _BEGIN.match(head) is not None and not criterion.sniff(head)


def read(source: Source, options: ReadOptions) -> Iterator[Record | Skipped]:
    """Read the values of one benchmark, which is called like the file."""
    lists = decode(source.content, list[list[Number]], source)
    frame = replace(source.frame("", source.stem), named=False)
    if lost := sum(not values for values in lists):
        yield frame.left_out(f"{lost} of {len(lists)} processes are without values")
    values, processes = nested([numbers(values) for values in lists if values] or [numbers([])])
    unit = parse_unit(options.unit or "")
    metric, traits = metric_of(unit.base), frozenset({Trait.ORDER_KNOWN})
    yield from finite(
        frame.holding(values, unit, metric=metric, traits=traits, processes=processes), metric, "value"
    )

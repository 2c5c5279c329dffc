"""pytest-benchmark: the JSON of ``--benchmark-json`` or, with ``--benchmark-save-data``, of a saved run.

https://pytest-benchmark.readthedocs.io: ``benchmarks[].stats.data`` holds the seconds of every round, in run
order, divided by the iterations of a round. Saved runs have no ``data`` unless asked for, and people cut it
short by hand: a benchmark is read only when it has as many values as rounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec
from msgspec.structs import replace

from speedproof.data.record import Record, Skipped
from speedproof.data.sample import Trait
from speedproof.formats.jsontext import Number, as_fields, decode, each, members, numbers
from speedproof.formats.reading import epoch, span_of
from speedproof.formats.source import ReadOptions, Source

TITLE = "pytest-benchmark"
DESCRIPTION = "JSON with data: the rounds of every test"
sniff = members("benchmarks", some=("fullname", "machine_info", "commit_info"))

_REMEDY = "run pytest again with --benchmark-json=FILE, or with --benchmark-save=NAME --benchmark-save-data"


class _Stats(msgspec.Struct):
    data: list[Number] | None = None
    rounds: int | None = None


class _Benchmark(msgspec.Struct):
    name: str
    stats: _Stats
    fullname: str | None = None
    group: str | None = None
    params: dict[str, object] | None = None
    extra_info: dict[str, object] | None = None
    options: dict[str, object] = {}


class _File(msgspec.Struct):
    benchmarks: msgspec.Raw
    machine_info: dict[str, object] = {}
    commit_info: dict[str, object] = {}
    datetime: object = None


def read(source: Source, options: ReadOptions) -> Iterator[Record | Skipped]:
    """Read the rounds of every test."""
    file = decode(source.content, _File, source)
    host = _host(file.machine_info, file.commit_info)

    def test(place: Record, benchmark: _Benchmark) -> Iterator[Record | Skipped]:
        frame = replace(place, benchmark=benchmark.fullname or benchmark.name)
        if reason := _why_incomplete(benchmark.stats):
            yield frame.left_out(reason)
            return
        warm = {Trait.WARMUP_REMOVED} if benchmark.options.get("warmup") else set()
        parameters = as_fields(benchmark.params or {}) + as_fields(benchmark.extra_info or {}, "extra_info.")
        yield replace(
            frame,
            values=numbers(benchmark.stats.data or []),
            where=f"{place.where}.stats.data",
            fields=host + parameters + as_fields({"group": benchmark.group or None}),
            traits=frozenset({Trait.ORDER_KNOWN, Trait.ONE_PROCESS} | warm),
            span=span_of([epoch(file.datetime)]),
        )

    return each(source, file.benchmarks, _Benchmark, test, "benchmarks")


def _why_incomplete(stats: _Stats) -> str:
    """Why the single rounds are not all here; empty when they are."""
    if not stats.data:
        return f"summary only, the file has no times of single rounds; {_REMEDY}"
    if strange := next((value for value in stats.data if isinstance(value, str)), None):
        return f"the data hold {strange[:60]!r} in place of a number: summary only; {_REMEDY}"
    if stats.rounds is not None and len(stats.data) != stats.rounds:
        return (
            f"{len(stats.data)} of {stats.rounds} rounds are here, the data were cut: summary only; {_REMEDY}"
        )
    return ""


def _host(machine: Mapping[str, object], commit: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    cpu = machine.get("cpu")
    brand = cpu.get("brand_raw", cpu.get("brand")) if isinstance(cpu, dict) else None
    names = ("node", "system", "release", "python_implementation", "python_version")
    return as_fields({**{key: machine.get(key) for key in names}, "cpu": brand, "commit": commit.get("id")})

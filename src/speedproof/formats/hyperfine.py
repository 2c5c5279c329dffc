"""hyperfine: the JSON of ``--export-json``, old and new.

https://github.com/sharkdp/hyperfine, src/benchmark/benchmark_result.rs: ``results[].command``, ``times``
(seconds, in run order, one process a run), ``memory_usage_byte`` (since 1.19), ``exit_codes`` (null for a
run that a signal ended) and ``parameters``. Warm-up runs are not in the file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from speedproof.data.record import Record, Skipped
from speedproof.data.sample import Trait, clock_of
from speedproof.formats.jsontext import Number, as_fields, decode_parts, each, glances, members, numbers
from speedproof.formats.reading import plural
from speedproof.formats.source import ReadOptions, Source

NAME = "hyperfine"
TITLE = "hyperfine"
DESCRIPTION = "JSON of --export-json: the times of every command"
sniff = members("results", "command", some=("times", "mean", "exit_codes"))


class _Result(msgspec.Struct):
    command: str
    times: list[Number] | None = None
    memory_usage_byte: list[Number] | None = None
    exit_codes: list[int | None] | None = None
    parameters: dict[str, object] | None = None


class _Command(msgspec.Struct):
    command: str


class _File(msgspec.Struct):
    results: list[msgspec.Raw]


def read(source: Source, options: ReadOptions) -> Iterator[Record | Skipped]:
    """Read every command's times and, when they were measured, memory sizes."""
    parts = decode_parts(source, _File, "results").results
    occurrences = Counter(known.command for known in glances(parts, _Command))

    def command(place: Record, result: _Result) -> Iterator[Record | Skipped]:
        frame = replace(place, benchmark=result.command)
        if not result.times:
            yield frame.left_out(
                "the file has no times of single runs; run hyperfine again with --export-json"
            )
            return
        # Told apart in the file by their place only; so that the suite can say what it pooled.
        entry = (("entry", place.where),) if occurrences[result.command] > 1 else ()
        notes = _failures(result)
        for metric, name, unit, values in (
            ("time", "times", "s", result.times),
            ("memory", "memory_usage_byte", "B", result.memory_usage_byte),
        ):
            if values:
                yield replace(
                    frame,
                    values=numbers(values),
                    unit=unit,
                    metric=metric,
                    where=f"{place.where}.{name}",
                    fields=as_fields(result.parameters or {}) + entry,
                    traits=clock_of(metric) | {Trait.ORDER_KNOWN, *[Trait.FAILED_RUNS] * bool(notes)},
                    notes=notes,
                )

    return each(source, parts, _Result, command, "results")


def _failures(result: _Result) -> tuple[str, ...]:
    """What is to be said of runs that did not exit with code 0."""
    codes = result.exit_codes or []
    failed = sum(code != 0 for code in codes)
    if not failed:
        return ()
    count = f"{failed} of {plural(len(codes), 'run')} did not exit with code 0"
    if failed == len(codes):
        return (f"{result.command!r} failed in every run ({count}): its times say nothing of its speed",)
    return (f"{result.command!r}: {count}; their times are among the values",)

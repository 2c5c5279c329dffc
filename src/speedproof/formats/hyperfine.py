"""hyperfine: the JSON of ``--export-json``, old and new.

https://github.com/sharkdp/hyperfine, src/benchmark/benchmark_result.rs: ``results[].command``, ``times``
(seconds, in run order, one process a run), ``memory_usage_byte`` (since 1.19), ``exit_codes`` (null for a
run that a signal ended) and ``parameters``. Warm-up runs are not in the file.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from speedproof.data.names import plural
from speedproof.data.record import Record, Skipped
from speedproof.data.sample import Trait, clock_of
from speedproof.formats.jsontext import Number, Results, as_fields, decode, each, glances, members, numbers
from speedproof.formats.source import ReadOptions, Source

TITLE = "hyperfine"
DESCRIPTION = "JSON of --export-json: the times of every command"
_OF_SPEEDPROOF = re.compile(rb'\s*\{\s*"(type|speedproof)"')
_members = members("results", "command", some=("times", "mean", "exit_codes"))


def sniff(head: bytes) -> bool:
    """Whether a file has its members, and is no session or answer of speedproof, which has some of them."""
    return _members(head) and not _OF_SPEEDPROOF.match(head)


class _Result(msgspec.Struct):
    command: str
    times: list[Number] | None = None
    memory_usage_byte: list[Number] | None = None
    exit_codes: list[int | None] | None = None
    parameters: dict[str, object] | None = None


def read(source: Source, options: ReadOptions) -> Iterator[Record | Skipped]:
    """Read every command's times and, when they were measured, memory sizes."""
    results = decode(source.content, Results, source).results
    occurrences = Counter(command for (command,) in glances(source, results, "command"))

    def command(place: Record, result: _Result) -> Iterator[Record | Skipped]:
        # Commands of one name differ by their place only; so that the suite can say what it pooled.
        entry = (("entry", place.where),) if occurrences[result.command] > 1 else ()
        notes = _failures(result)
        frame = replace(
            place,
            benchmark=result.command,
            fields=as_fields(result.parameters or {}) + entry,
            traits=frozenset({Trait.ORDER_KNOWN, *[Trait.FAILED_RUNS] * len(notes)}),
            notes=notes,
        )
        if not result.times:
            reason = "the file has no times of single runs; run hyperfine again with --export-json"
            yield frame.left_out(reason)
            return
        times = numbers(result.times)
        yield replace(
            frame, values=times, where=f"{place.where}.times", traits=frame.traits | clock_of("time")
        )
        if result.memory_usage_byte:
            sizes, where = numbers(result.memory_usage_byte), f"{place.where}.memory_usage_byte"
            yield replace(frame, values=sizes, unit="B", metric="memory", where=where)

    return each(source, results, _Result, command, "results")


def _failures(result: _Result) -> tuple[str, ...]:
    """A remark on runs with an exit code other than 0."""
    codes = result.exit_codes or []
    failed = sum(code != 0 for code in codes)
    if not failed:
        return ()
    count = f"{failed} of {plural(len(codes), 'run')} did not exit with code 0"
    if failed == len(codes):
        return (f"{result.command!r} failed in every run ({count}): its times say nothing of its speed",)
    return (f"{result.command!r}: {count}; their times are among the values",)

"""krun: the JSON of a session, ``NAME_results.json.bz2``.

https://github.com/softdevteam/krun, README, "Krun results files": ``wallclock_times`` maps
``benchmark:VM:variant`` to process executions, each a list of the seconds of its in-process iterations, in run
order and with the warm-up, which krun is there to show. An execution that crashed is an empty list.
``core_cycle_counts`` has a list a core in each execution. The first versions called the times ``data``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec
from msgspec.structs import replace

from speedproof.data.names import plural
from speedproof.data.record import Record, Skipped, finite
from speedproof.data.sample import Trait
from speedproof.formats.jsontext import (
    OBJECT,
    Number,
    absent,
    as_fields,
    decode,
    each,
    members,
    numbers,
    parts,
)
from speedproof.formats.reading import nested
from speedproof.formats.source import ReadOptions, Source

TITLE = "krun"
DESCRIPTION = "JSON of a session: in-process iterations by process execution, cycles"
sniff = members("audit", "eta_estimates", some=("wallclock_times", "data"))

_ERROR_FLAG = "krun noted an error or a warning during the session (error_flag); its log says which"


class _File(msgspec.Struct):
    wallclock_times: msgspec.Raw = msgspec.Raw()
    data: msgspec.Raw = msgspec.Raw()
    core_cycle_counts: dict[str, msgspec.Raw] = {}
    aperf_counts: dict[str, msgspec.Raw] = {}
    mperf_counts: dict[str, msgspec.Raw] = {}
    audit: object = None
    error_flag: bool = False


def read(source: Source, options: ReadOptions) -> Iterator[Record | Skipped]:
    """Read the iterations of every benchmark, with the process execution of each."""
    file = decode(source.content, _File, source)
    member = "data" if absent(file.wallclock_times) else "wallclock_times"
    times: msgspec.Raw = getattr(file, member)
    if absent(times):
        raise source.error("", "the file lacks wallclock_times; it is not as krun writes it")
    several = len({_parts(key)[1:] for _, key, _ in parts(source, times, member, OBJECT)}) > 1
    host = _host(file.audit)
    notes = (_ERROR_FLAG,) if file.error_flag else ()

    def process(place: Record, executions: list[list[Number]]) -> Iterator[Record | Skipped]:
        key = place.where.removeprefix(f"{member}.")
        _, machine, variant = _parts(key)
        frame = replace(
            place,
            version=f"{machine}:{variant}" if several else None,
            fields=(*as_fields({"vm": machine or None, "variant": variant or None}), *host),
            traits=frozenset({Trait.ORDER_KNOWN}),
            notes=notes,
        )
        if reason := _why_fewer(executions):
            yield frame.left_out(reason)
        yield from _joined(frame, executions)
        if counted := file.core_cycle_counts.get(key):
            frame = replace(frame, unit="cycles", where=f"core_cycle_counts.{key}")
            by_core = decode(counted, list[list[list[Number]]], source, frame.where)
            for core in range(max(map(len, by_core), default=0)):
                of_core = [execution[core] for execution in by_core if core < len(execution)]
                yield from _joined(replace(frame, metric=f"cycles of core {core}"), of_core)

    yield from each(
        source, times, list[list[Number]], process, member, of=OBJECT, benchmark=lambda key: _parts(key)[0]
    )
    if file.aperf_counts or file.mperf_counts:
        reason = "the APERF and MPERF counts are left out: they tell the frequency of the cores"
        yield source.skip("", "", reason, expected=True)


def _parts(key: str) -> tuple[str, str, str]:
    """Benchmark, virtual machine and variant; a key of another form is a benchmark."""
    parts = key.split(":")
    return (parts[0], parts[1], parts[2]) if len(parts) == 3 else (key, "", "")


def _why_fewer(executions: Sequence[Sequence[Number]]) -> str:
    """Why process executions have no times; empty where all have."""
    if not executions:
        return "no process execution has ended yet; let krun run to its end"
    crashed = sum(not execution for execution in executions)
    what = plural(len(executions), "process execution")
    return f"{crashed} of {what} crashed and left no times" if crashed else ""


def _joined(frame: Record, executions: Sequence[Sequence[Number]]) -> Iterator[Record | Skipped]:
    """One record of all executions; what is no number is named."""
    if any(executions):
        values, processes = nested([numbers(execution) for execution in executions if execution])
        yield from finite(replace(frame, values=values, processes=processes), frame.metric, "iteration")


def _host(audit: object) -> tuple[tuple[str, str], ...]:
    """The facts in krun's audit that distinguish machines."""
    if not isinstance(audit, dict):
        return ()
    model = re.search(r"^model name\s*:(.*\S)", str(audit.get("cpuinfo", "")), re.MULTILINE)
    system = {name: str(audit[name]).strip() for name in ("uname", "debian_version") if audit.get(name)}
    return as_fields({"cpu": model[1].strip() if model else None, **system})

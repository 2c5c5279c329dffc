"""Sessions in the form of other tools."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

import msgspec

from speedproof.data.session_file import RunLine, StoredSession


def to_hyperfine(sessions: Sequence[StoredSession]) -> str:
    """The JSON of hyperfine's ``--export-json``: one result for each version of each benchmark."""
    runs: dict[tuple[str, str], list[RunLine]] = {}
    for run in (run for session in sessions for run in session.runs):
        if not (run.warmup or run.timed_out) and "time" in run.metrics:
            runs.setdefault((run.benchmark, run.version), []).append(run)
    planned = {
        (benchmark.name, version.name): (version.text, benchmark.parameters)
        for session in sessions
        for benchmark in session.head.benchmarks
        for version in benchmark.versions
    }
    results = [_result(*told, runs[place]) for place, told in planned.items() if place in runs]
    return msgspec.json.format(msgspec.json.encode({"results": results}), indent=2).decode() + "\n"


def _result(text: str, parameters: Mapping[str, str], runs: Sequence[RunLine]) -> dict[str, object]:
    times = [run.metrics["time"] for run in runs]
    memory = [run.metrics["memory"] for run in runs if "memory" in run.metrics]
    return {
        "command": text,
        "mean": statistics.fmean(times),
        "stddev": statistics.stdev(times) if len(times) > 1 else None,
        "median": statistics.median(times),
        # Zero where perf stood between the runner and the program.
        "user": statistics.fmean(run.metrics.get("user", 0.0) for run in runs),
        "system": statistics.fmean(run.metrics.get("system", 0.0) for run in runs),
        "min": min(times),
        "max": max(times),
        "times": times,
        **({"memory_usage_byte": [int(m) for m in memory]} if len(memory) == len(runs) else {}),
        # hyperfine writes null for a process that a signal ended.
        "exit_codes": [run.exit if run.exit >= 0 else None for run in runs],
        **({"parameters": parameters} if parameters else {}),
    }

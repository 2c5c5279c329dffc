"""Sessions in the form of hyperfine, field by field as its manual says."""

from __future__ import annotations

import json
import statistics
from typing import Any

from speedproof.data.session_file import (
    SCHEMA,
    PlannedBenchmark,
    PlannedVersion,
    RunLine,
    SessionLine,
    StoredSession,
)
from speedproof.measuring.store import to_hyperfine

PLAN = (
    PlannedBenchmark("b n=1", tuple(PlannedVersion(v, (v,), f"./{v}") for v in "XYZ"), {"n": "1"}),
    PlannedBenchmark("c", (PlannedVersion("X", ("X",), "./X"),)),
)


def run(benchmark: str, version: str, metrics: dict[str, float], **fields: Any) -> RunLine:
    return RunLine("s", benchmark, version, 0, 0, 0.0, metrics, **fields)


def test_a_result_for_each_version_of_each_benchmark() -> None:
    """Of both sessions together; no warm-up, nothing that was ended for its time; a signal has no exit code."""
    times = [0.3, 0.1, 0.25, 0.7]
    of_x = [
        run("b n=1", "X", {"time": t, "user": 2 * t, "system": t / 2, "memory": 1000.0 * k + 0.75}, exit=code)
        for (k, t), code in zip(enumerate(times), (0, 1, -9, 0), strict=True)
    ]
    others = [
        run("b n=1", "Y", {"time": 1.0, "memory": 5.0}),
        run("b n=1", "X", {"time": 9.0}, warmup=True),
        run("b n=1", "X", {"time": 9.0}, timed_out=True),
        run("b n=1", "X", {"user": 9.0}),
        run("b n=1", "Y", {"time": 3.0}),
        run("c", "X", {"time": 4.0}),
    ]
    head = SessionLine(SCHEMA, "s", "2026-01-01T00:00:00+00:00", 1, PLAN)
    sessions = [StoredSession(head, tuple(lines), None) for lines in (of_x[:2], [*others, *of_x[2:]])]
    x, y, c = json.loads(to_hyperfine(sessions))["results"]
    assert x == {
        "command": "./X",
        "mean": statistics.fmean(times),
        "stddev": statistics.stdev(times),
        "median": 0.275,
        "user": statistics.fmean(2 * t for t in times),
        "system": statistics.fmean(t / 2 for t in times),
        "min": 0.1,
        "max": 0.7,
        "times": times,
        "memory_usage_byte": [0, 1000, 2000, 3000],
        "exit_codes": [0, 1, None, 0],
        "parameters": {"n": "1"},
    }
    assert (y["command"], y["times"], y["user"], y["system"]) == ("./Y", [1.0, 3.0], 0.0, 0.0)
    assert "memory_usage_byte" not in y
    assert (c["stddev"], c["median"], "parameters" in c) == (None, 4.0, False)
    assert to_hyperfine(sessions).startswith('{\n  "results": [\n')

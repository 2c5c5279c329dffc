"""What small files of all formats say: records, remarks, or why the file is refused."""

import bz2
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.command import speedproof
from tests.formats.reading import split

import speedproof as sp
from speedproof.data.record import Record, Skipped
from speedproof.data.suite import Suite
from speedproof.errors import FormatError
from speedproof.formats import ReadOptions, csvrecords
from speedproof.formats.suites import read as read_suite

# Name of the file, after the format that is asked for; content (JSON of what is no text), options, the records,
# and what else is said: "! " before the parts of each remark, "- " before what no note, field or trait says.
# A record is its benchmark, version, metric, unit and values, by process where these are known.
Rows = list[tuple[str, str | None, str, str, list[Any]]]


def nested(record: Record) -> list[Any]:
    """The values, as one list for each process where processes are known."""
    values: list[float] = record.values.tolist()
    if record.processes is None:
        return values
    of = record.processes.tolist()
    return [[v for v, p in zip(values, of, strict=True) if p == own] for own in range(max(of) + 1)]


def rows(records: list[Record]) -> Rows:
    return [(r.benchmark, r.version, r.metric, r.unit, nested(r)) for r in records]


def write(folder: Path, content: Any, name: str = "f.txt") -> Path:
    path = folder / name
    text = content if isinstance(content, str | bytes) else json.dumps(content)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def timed(*values: Any, name: str = "a", unit: str = "s") -> tuple[str, None, str, str, list[Any]]:
    """A record of times of no version."""
    return (name, None, "time", unit, list(values))


def rebench(*lines: str) -> str:
    header = "invocation\titeration\tvalue\tunit\tcriterion\tbenchmark\texecutor\tinputSize\trunId"
    return "\n".join([header, *lines])


# Columns may be named by numbers: releases, threads and, where nothing else is said, runs.
COLUMNS: list[Any] = [
    ("f.csv", "python,3.12,3.13\nsort,2,1\n", [("f", "3.12", [2]), ("f", "3.13", [1])], ["! : python"]),
    ("f.csv", "benchmark,3.12\nsort,2\n", [("sort", "3.12", [2])], []),
    ("f.csv", "threads,1,2\nsort,3,2\nhash,6,5\n", [("f", "1", [3, 6]), ("f", "2", [2, 5])], ["! : threads"]),
    ("f.csv", "what,3.11,3.12\nsort,0.5,0.25\n", [("f", "3.11", [0.5]), ("f", "3.12", [0.25])], ["! : what"]),
    ("f.csv", "what,0.5,0.25\nsort,9,8\n", [("f", "0.5", [9]), ("f", "0.25", [8])], ["! : what"]),
    ("f.csv", "program,1.5,2.5\nsort,1.5,2.5\n", [("sort", "1.5", [1.5]), ("sort", "2.5", [2.5])], []),
    ("csv f.txt", ",1,2\nx,3,4\n", [("f", "1", [3.0]), ("f", "2", [4.0])], []),
    ("f.csv", "benchmark,v1,v2\na,8,9\n", [("a", "v1", [8]), ("a", "v2", [9])], ["- wide by version"]),
    *(("f.csv", f"benchmark,{names}\na,10,20\n", [("a", None, [10, 20])], ["- wide by version"[2 * told:]])
      for names, told in (("run1,run2", False), ("1,2", False), ("x1,x2", True), ("4,8", True))),
    ("f.txt", ",old,new,host\n0,1.5,1.25,a\n1,1.75,1.5,a\n",
     [("f", "old", [1.5, 1.75]), ("f", "new", [1.25, 1.5])], ["! left out: host"]),
]  # fmt: skip
CASES: list[Any] = [
    ("h.json", {"results": [{"command": "a\nb", "times": [1.0, 2.0, 3.0], "exit_codes": [0, 1, None]},
                            {"command": "c", "times": [1.0], "exit_codes": [0]}]}, {},
     [timed(1.0, 2.0, 3.0, name="a\nb"), timed(1.0, name="c")],
     ["'a\\nb': 2 of 3 runs did not exit with code 0; their times are among the values", "- 'c'"]),
    ("h.json", {"results": [{"command": "a\nb\0c\x1b[31m", "mean": 1.0}]}, {}, [], ["! : a\\nb\\x00c\\x1b[31m: "]),
    ("h.json", {"results": [{"command": "a", "times": [1.0]}, {"times": [2.0]},
                            {"command": "c", "times": [3.0, True]}]}, {}, [timed(1.0)],
     ["! results[1]: ", "! results[2].times[1]: "]),
    ("h.json", {"results": [{"command": "a", "times": [1.0]}, {"command": "a", "times": [2.0]}]}, {},
     [timed(1.0), timed(2.0)], ["a entry=results[0]", "a entry=results[1]"]),
    ("h.json", '{"results": [{"command": "NaN, Infinity", "mean": NaN, "times": [1.0, 2.0]}]}', {},
     [timed(1.0, 2.0, name="NaN, Infinity")], []),
    ("p.json", {"version": "1.0", "benchmarks": [{"metadata": {"name": n}, "runs": [{"values": v}]} for n, v in (
        ("a", [1.0, "fast"]), ("b", [2.0]))]}, {}, [timed([2.0], name="b")],
     ["! benchmarks[0].runs[0].values[1]: "]),
    ("go.txt", "BenchmarkX 100 20 ns/op NaN ratio +Inf rate\nBenchmarkX 100 21 ns/op 0.5 ratio 2 rate\n", {},
     [timed(2e-08, 2.1e-08, name="X"), ("X", None, "ratio", "ratio", [0.5]), ("X", None, "rate", "rate", [2.0])],
     ["! ratio is NaN", "! rate is +Inf"]),
    # More than is looked at in one go.
    ("go.txt", "BenchmarkA 1 2 x\n" * 70_000 + "BenchmarkB 1 y x\n", {}, [("A", None, "x", "x", [2.0] * 70_000)],
     ["! line 70001: "]),
    ("go.txt", "BenchmarkA 1 2 x\nBenchmarkB 1 2\nBenchmarkC 1 fast x\nBenchmarkD 9\nBenchmarkE 1.5 2 x\n"
     "--- FAIL: BenchmarkF\nUnit x better=sideways\n", {}, [("A", None, "x", "x", [2.0])],
     ["! line 2: … no unit", "! line 3: … 'fast' is not a number",
      *("! line 4: ", "! line 5: ", "! line 6: … failed", "! line 7: ")]),
    ("go.txt", "note: before\npkg: a\nUnit hits better=higher\nBenchmarkB 1 50 hits 3 p99-us\nnote: after\n"
     "BenchmarkB 1 60 hits\nBenchmarkC 1 2 x\npkg: b\nBenchmarkB-4 1 7 hits\n", {},
     [("a.B", None, "hits", "hits", [50.0]), ("a.B", None, "p99-us", "s", [3e-6]),
      ("a.B", None, "hits", "hits", [60.0]), ("C", None, "x", "x", [2.0]), ("b.B", None, "hits", "hits", [7.0])],
     ["a.B HIGHER", "a.B note=before", "a.B note=after", "b.B gomaxprocs=4"]),
    # Words that would make two whole results, had the lines as many.
    ("go go.txt", "BenchmarkA 1 2\nBenchmarkB BenchmarkC 1 2 BenchmarkB", {}, [], ["! line 1: ", "! line 2: "]),
    ("g.json", {"context": {"date": "2026-01-01T10:30:00+01:00"}, "benchmarks": [
        {"name": "f", "real_time": 2.0, "time_unit": "s"}]}, {}, [timed(2.0, name="f")],
     ["f span 1767259800.0 1767259800.0"]),
    ("google-benchmark g.json", {"context": {}, "benchmarks": [{"name": "f", "time_unit": "us"}]}, {}, [],
     ["! f: … holds no measured value"]),
    # Before there were run types: g_mean is a name, as there is no g.
    ("g.json", {"context": {}, "benchmarks": [{"name": n, "real_time": t, "time_unit": "us"} for n, t in (
        ("f/8", 1.0), ("f/8", 3.0), ("f/8_mean", 2.0), ("f/8_stddev", 1.4), ("g_mean", 7.0))]}, {},
     [timed(1 / 1e6, 3 / 1e6, name="f/8"), timed(7 / 1e6, name="g_mean")], ["! 2 aggregates of repetitions"]),
    ("p.json", {"version": "1.0", "metadata": {"date": "2026-01-01 10:00:00", "name": "z", "tags": ["x", "y"]},
                "benchmarks": [{"runs": [{"values": [1.0]}]}, 7, {"runs": [{"warmups": [[1, 9.0]]}]}]}, {},
     [timed([1.0], name="z")], ["z tags=x, y", "z span 1767261600.0 1767261600.0",
      "! benchmarks[1]: expected `object`",
      "! benchmarks[2]: z: no run has values", "! 1 calibration run and 1 warm-up value "]),
    ("p.json", {"machine_info": {}, "datetime": "2026-01-01T10:00:00", "benchmarks": [
        {"fullname": n, "name": n, "options": {"warmup": warm}, "stats": {"rounds": 2, "data": [1.0, 2.0]}}
        for n, warm in (("a", True), ("b", False))]}, {}, [timed(1.0, 2.0), timed(1.0, 2.0, name="b")],
     ["a WARMUP_REMOVED", "- b WARMUP_REMOVED", "a span 1767261600.0 1767261600.0"]),
    ("p.json", {"version": "1.0", "benchmarks": [{"metadata": {"name": "a"}, "runs": [
        {"warmups": [[1, 9.0]], "values": [2.0], "metadata": {"date": "2026-01-01 10:00:00", "duration": 60.0}},
    ]}]}, {}, [timed([2.0])], ["a span 1767261600.0 1767261660.0", "! 0 calibration runs and 1 warm-up value "]),
    ("p.json", {"version": "1.0", "benchmarks": [{"metadata": {"name": "a"}, "runs": [
        {"values": []}, {"values": [2.0]}]}]}, {}, [timed([2.0])], ["! 1 calibration run and 0 warm-up values"]),
    ("p.json", {"machine_info": {}, "benchmarks": [{"fullname": n, "name": n, "stats": stats} for n, stats in (
        ("a", {"rounds": 12, "data": [1.0, 2.0, 3.0]}), ("b", {"rounds": 3, "data": [1.0, 2.0, "... omitted"]}),
        ("c", {"rounds": 12}), ("d", {"rounds": 2, "data": [1.0, 2.0]}))]}, {}, [timed(1.0, 2.0, name="d")],
     ["! a: … 3 of 12 rounds … summary only … --benchmark-json", "! b: … ... omitted … --benchmark-json",
      "! c: … no times … --benchmark-json"]),
    ("j.json", [{"benchmark": "b", "mode": "thrpt",
                 "primaryMetric": {"scoreUnit": "s/op", "rawData": [[2.0, 3.0]]}}], {},
     [timed([2.0, 3.0], name="b")], ["b LOWER", "lower is taken as better"]),
    *((("old.json", {"version": version, **file}, {}, [timed([0.05, 0.1], [0.15, 0.125], name="x")], [])
       if loops == 10 else ("old.json", {"version": version, **file}, {}, [], ["! not a finite number"]))
      # The values of 2016 are divided by both numbers of loops; 400 digits of them leave the benchmark out.
      for loops in (10, 10**400) for version, file in (
          (1, {"benchmark": {"name": "x", "loops": loops, "inner_loops": 2, "metadata": {"perf_version": "0.1"},
                             "runs": [[1.0, 2.0], [3.0, 2.5]]}}),
          (3, {"benchmarks": {"x": {"common_metadata": {"loops": loops, "inner_loops": 2},
                                    "runs": [{"raw_samples": [1.0, 2.0]}, {"raw_samples": [3.0, 2.5]}]}}}))),
    ("fop.json", "[[1.5, 1.25], [1.75], [], [2, 3.5]]", {"unit": "ms"},
     [timed([1.5 / 1e3, 1.25 / 1e3], [1.75 / 1e3], [2 / 1e3, 3.5 / 1e3], name="fop")], ["! 1 of 4 processes"]),
    # Whole numbers, too, are values and no counts of iterations.
    ("fop.json", "[[12, 11], [13], [], [10, 14]]", {}, [("fop", None, "time", "", [[12, 11], [13], [10, 14]])],
     ["! 1 of 4 processes"]),
    *(("sample.json", {"iters": iters, "times": times}, {}, [], [f"! {says}"]) for iters, times, says in (
        ([1, 2], [1.0], "2 iteration counts but 1 times"), ([0, 2], [1.0, 2.0], "not positive"),
        ([], [], "no samples"))),
    # No loops that anything can have made are one; the first values may be warm-ups.
    ("old.json", {"version": 3, "benchmarks": {"x": {"common_metadata": {"loops": 0, "inner_loops": 2}, "runs": [
        {"raw_samples": [9.0, 1.0, 2.0], "warmups": 1}, {"raw_samples": [3.0, 2.5], "loops": 5}]}}}, {},
     [timed([0.5, 1.0], [0.3, 0.25], name="x")], ["! 1 warm-up value "]),
    ("raw.csv", "group,function,value,throughput_num,throughput_type,sample_measured_value,unit,iteration_count\n"
     "g,f,,,,3,us,2\ng,f,,,,5,us,2\n", {},
     [timed(1.5e-6, 2.5e-6, name="g/f")], ["g/f in line 2"]),
    ("raw.csv", "group,function,value,sample_time_nanos,iteration_count\ng,f,v,4,2\n", {},
     [timed(2e-9, name="g/f/v")], []),
    ("v.json", {"commit_hash": "c", "requirements": {},
                "result_columns": ["result", "params", "samples", "started_at", "duration"], "results": {
        "time_x": [[1.0, None, 3.0], [["1", "2", "3"]], [[1.0], None, [3.0, "nan", 5.0]], 5000, 2.0]}}, {},
     [timed(1.0, name="time_x(1)"), timed(3.0, 5.0, name="time_x(3)")],
     ["time_x(1) span 5.0 7.0", "! time_x(3): 1 of 3 samples are no numbers", "! 1 of 3 parameter sets failed"]),
    ("v.json", {"commit_hash": "c", "requirements": {},
                "result_columns": ["result", "params", "samples"], "results": {
        "time_x": [[None, 3.0], [["1", "2"]], [["nan"], [3.0]]]}}, {}, [timed(3.0, name="time_x(2)")],
     ["! 1 of 2 parameter sets failed"]),
    ("f.log", "sort-simsmall-2 1.5 2.5\nsort-native-2 1.5 n/a\n", {},
     [timed(1.5, 2.5, name="sort-simsmall-2")], ["! line 2: "]),
    ("k.json", {"data": {"a:PyPy:x": [[1.0]], "b:PyPy:x": [[2.0]]}, "audit": {}, "eta_estimates": {}}, {},
     [timed([1.0]), timed([2.0], name="b")], ["a vm=PyPy", "b variant=x"]),
    ("k.json", {"wallclock_times": {"a:P:x": 7, "b": [[2.0]]}, "audit": {}, "eta_estimates": {}}, {},
     [("b", ":", "time", "s", [[2.0]])], ["! wallclock_times.a:P:x: "]),
    ("s.json", [{"engine": "e.so", "wasm": "a.wasm", "process": 1, "iteration": 0, "phase": "Execution",
                 "event": "cycles", "count": 5, "engine_flags": flag} for flag in ("-O0", "-O2")], {},
     [("a.wasm:execution", f"e.so {flag}", "cycles", "cycles", [[5.0]]) for flag in ("-O0", "-O2")], []),
    # One value a benchmark; a rate is better high, by its unit or its name.
    ("a.json", [{"name": "parse", "unit": "ms", "value": 12.5, "range": "± 3", "extra": "10 samples"},
                {"name": "serve", "unit": "req/s", "value": 70}, {"name": "score", "unit": "", "value": 3},
                {"name": "lost", "unit": "ms", "value": "NaN"}, {"unit": "ms", "value": 1}], {},
     [timed(0.0125, name="parse"), ("serve", None, "req/s", "req/s", [70.0]), ("score", None, "value", "", [3.0])],
     ["- parse HIGHER", "serve HIGHER", "score HIGHER", *(f"{n} SUMMARY_ONLY" for n in ("parse", "score")),
      "! lost", "! [4]"]),
    # The overhead is what makes the results of actual times, or none; what the results lack is an actual time.
    *(("b.json", {"HostEnvironmentInfo": {}, "Benchmarks": [{"Type": "T", "Method": "M", "Measurements": [
        {"IterationMode": mode, "IterationStage": what, "Operations": 2, "Nanoseconds": v} for mode, what, v in (
            *(("Overhead", "Actual", v) for v in idle), ("Workload", "Actual", 100.0),
            ("Workload", "Actual", 300.0), ("Workload", "Result", result))]}]}, {},
       [timed(result / 2e9, (200 + result) / 2e9, name="T.M")],
       ["1 value that BenchmarkDotNet removed as an outlier is among the values"])
      for idle, result in (
          ((), 100.0), ((20.0, 26.0), 100.0), ((10.0, 20.0, 60.0), 80.0), ((10.0, 20.0, 60.0), 70.0))),
    ("k.json", {"wallclock_times": {"a:P:x": [[1.0]]}, "core_cycle_counts": {"a:P:x": []}, "audit": {},
                "eta_estimates": {}}, {}, [timed([1.0])], []),
    # Each call of go test is a process.
    ("go.txt", "".join(f"goos: linux\nBenchmarkA 1 {v} ns/op\nBenchmarkA 1 {v} ns/op\nPASS\n" for v in (2, 3)), {},
     [timed([2e-9, 2e-9], [3e-9, 3e-9], name="A")], []),
    # JSON has no NaN and asv writes one: in a name beside quotes and backslashes the same word is a text.
    ("c.json", {"commit_hash": "c", "requirements": {}, "params": {}, "results": {"time_x": {
        "result": [1.0, float("nan"), 2.0, float("-inf"), 3.0],
        "params": [["NaN, -Infinity", '"NaN"', "\\", '\\"NaN\\\\', "half \ud800 of a pair"]]}}}, {},
     [timed(v, name=f"time_x({n})")
      for v, n in ((1.0, "NaN, -Infinity"), (2.0, "\\"), (3.0, "half \ufffd of a pair"))],
     ["! 2 parameter sets that the benchmark itself skips"]),
    ("r.data", rebench(*(f"1\t1\t{n}.5\tms\ttotal\t{b}\tSOM\t{n}\t"
                         for b, n in (("A", 1), ("A", 2), ("B", 2)))), {},
     [timed([v / 1e3], name=n) for v, n in ((1.5, "A:inputSize=1"), (2.5, "A:inputSize=2"), (2.5, "B"))],
     ["none was left out"]),
    ("r.data", '# Source: {"commitId": "aaa"}\n' + rebench(
        "1\t1\t1.5\tms\ttotal\tA\tSOM\t\t", '# Source: {"commitId": "bbb"}', "2\t1\t1.5\tms\ttotal\tA\tSOM\t\t"),
     {}, [timed([0.0015], name="A")] * 2, ["A commit=aaa", "A commit=bbb"]),
    ("r.data", rebench("# Source: {oops", *(f"1\t{k}\t{v}\tms\ttotal\tA\tSOM\t\t" for k, v in (
        (1, 2.5), (2, "fast"), (3, "inf"))), "1\t4\t2."), {}, [timed([0.0025], name="A")],
     ["! line 2: ", "! line 4: ", "! line 5: ", "! line 6: … 3 cells where the header has 9"]),
    # Executors that have one size each do not differ in it.
    ("r.data", rebench(*(f"1\t1\t{n}.5\tms\ttotal\tA\tE{n}\t{n}\t" for n in (1, 2))), {},
     [("A", f"E{n}", "time", "s", [[(n + 0.5) / 1e3]]) for n in (1, 2)], []),
    # A unit behind a blank is of the number before it.
    *(("f.txt", text, {"unit": "ms"}, [timed(0.002, 0.003, name=name)], []) for text, name in (
        ("2\n3\n", "f"), ("time\n2\n3\n", "f"), ("bench,time\nx,2\nx,3\n", "x"),
        ("bench,time (wall)\nx,2\nx,3\n", "x"))),
    ("f.txt", "\n".join(map(str, range(1, 31))), {}, [("f", None, "time", "", [*range(1, 31)])],
     ["f SORTED", "- ORDER_KNOWN"]),
    ("f.txt", "3\n" * 30, {}, [("f", None, "time", "", [3] * 30)], ["f ORDER_KNOWN", "- SORTED"]),
    # A quoted cell is no comment.
    ("f.csv", '# by hand, "so"\nbenchmark,value\n"#1 sort",2\n#x,3\n # y "\n"a\n#b",4\n"#1 sort",5', {},
     [("#1 sort", None, "time", "", [2.0, 5.0]), ("a#b", None, "time", "", [4.0])],
     ["#1 sort in line 3", "a#b in line 7", "! line 4: "]),
    # What stands before the header does not say what is between cells, nor do blanks in one.
    ("f.csv", "\n# by; a; b\nbenchmark,value\n b ,2\nb,\x0b3\n", {}, [("b", None, "time", "", [2.0, 3.0])], []),
    ("f.csv", "benchmark,took,time\na,1,2\n", {"columns": {"value": "took"}},
     [("a", None, "time", "", [1.0])], ["- not used"]),
    ("f.csv", "benchmark,value,time\na,1,2\n", {}, [("a", None, "time", "", [1.0])],
     ["the values are those of column 'value'; not used: 'time' (choose one as column value=NAME)"]),
    ("f.csv", "benchmark,throughput\nx,1\n", {}, [("x", "throughput", "time", "", [1.0])], []),
    # A comment that looks like a row is told, others are not, nor what is no row.
    ("f.csv", 'name,time_ms\n#,"4\na,1\n#d,4\n', {}, [timed(0.001)], ["! line 4: the line begins with #"]),
    ("f.csv", "name,time_ms\n#c,4\na,1\n", {}, [timed(0.001)], ["! line 2: the line begins with #"]),
    ("f.csv", "name,time_ms\na,1\n\n # c,4\n# by, hand\n# 1\n#d,5\n", {}, [timed(0.001)],
     ["! line 4: 2 lines from here on begin"]),
    ("f.csv", "name,old,new\na,1,2\n#b,NA,4\n", {},
     [("a", "old", "time", "", [1.0]), ("a", "new", "time", "", [2.0])], ["! line 3: the line begins with #"]),
    ("f.csv", "# seed,4\n# name,time\nname,time_ms\n# by, hand\n# 1,2,3\na,1\n#\n#4\n", {}, [timed(0.001)], []),
    ("f.csv", "benchmark,value\na,NaN\na,NA\na,1.5\n", {}, [("a", None, "time", "", [1.5])],
     ["! the value is NaN", "! the value is missing"]),
    *((name, text, {}, [(b, v, "time", "", values) for b, v, values in found], texts)
      for name, text, found, texts in COLUMNS),
    *(("f.csv", f"benchmark,{a},{b}\nsort,10,20\n", {"wide": "version"},
       [("sort", a, "time", "", [10]), ("sort", b, "time", "", [20])], ["- wide by version"])
      for a, b in (("run1", "run2"), ("1", "2"), ("4", "8"))),
    # ripgrep's benchsuite: its programs are the versions of every benchmark, and its durations seconds.
    ("raw.csv", "benchmark,warmup_iter,iter,name,command,duration,lines,env\n" + "".join(
        f'{b},1,2,{name},"{name} x, y",{time},68,\n' for b, name, time in (
            ("a", "rg", 0.5), ("a", "rg", 0.25), ("a", "grep", 2.5), ("b", "rg", 0.75), ("b", "grep", 3.0))), {},
     [(b, name, "time", "s", times) for b, name, times in (
         ("a", "rg", [0.5, 0.25]), ("a", "grep", [2.5]), ("b", "rg", [0.75]), ("b", "grep", [3.0]))], []),
    ("f.csv", "what,who,took,in\nsort,me,3,ms\nsort,you,2,us\n",
     {"columns": {"benchmark": "what", "version": "who", "value": "took", "unit": "in"}},
     [("sort", "me", "time", "s", [0.003]), ("sort", "you", "time", "s", [2e-06])], []),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "how", "found", "texts"), CASES)
def test_what_is_read(
    tmp_path: Path, name: str, content: Any, how: dict[str, Any], found: Rows, texts: list[str]
) -> None:
    form, _, file = name.rpartition(" ")
    records, left_out = split(write(tmp_path, content, file), ReadOptions(**how), form or None)
    assert rows([r for r in records if np.isfinite(r.values).all()]) == found
    items: list[Record | Skipped] = [*records, *left_out]
    skipped = Suite.from_records(("", item) for item in items).skipped
    told = [note for r in records for note in r.notes] + [f"{r.benchmark} in {r.where}" for r in records]
    told += [f"{r.benchmark} span {r.span[0]} {r.span[1]}" for r in records if r.span is not None]
    told += [f"{r.benchmark} {name}={value}" for r in records for name, value in r.fields]
    told += [
        f"{r.benchmark} {one.name}" for r in records for one in (*r.traits, r.direction) if one is not None
    ]
    remarks = [text[2:] for text in texts if text[0] == "!"]
    assert all(str(one).isprintable() for one in skipped)
    for one, remark in zip(skipped, remarks, strict=True):
        assert all(part in str(one) for part in remark.split(" … ")), one
    for text in texts:
        if text[0] != "!":
            assert any(text.removeprefix("- ") in one for one in told) is (text[:2] != "- "), (text, told)


# Name of the file, after the format that is asked for; content, the place that is named, words of the message.
REFUSED: list[tuple[str, str | bytes, str, str]] = [
    ("f", b"", "", "empty"), ("f", " \n\r\n\t", "", "empty"),
    ("f", gzip.compress(b"1.5\n" * 100, mtime=0)[:-9], "", "cut short"),
    ("f", gzip.compress(b"1.5\n" * 100, mtime=0)[:20] + b"\0" * 30, "", "damaged"),
    ("f", bz2.compress(b"1.5\n" * 100)[:-5], "", "damaged or cut short"),
    ("f", b"PK\x03\x04 and so on", "", "a zip archive; unpack it"), ("f", b"\x7fELF\0\0", "", "a program"),
    ("f", "1.5\n2.5\n".encode("utf-16-le"), "", "iconv -f UTF-16"), ("f", b"\xff\xfe1", "", "damaged"),
    ("f", b"\x001.5\n", "", "iconv -f UTF-16"),
    ("f", b"1.5\n2.5 \xb5s\n", "line 2", "iconv -f LATIN1"),
    ("f", "{", "", "begins like JSON but is cut off or malformed"),
    ("f", "name,mean,std\nx,1,2\n", "", "this is a table of means and deviations"),
    ("f", '{"speedproof": "0", "schema": 6, "command": "compare", "results": [{"mean": 1}]}', "",
     "an answer of speedproof"),
    ("f", "[]", "", "JSON without any named members"),
    ("f", '{"results": [{"comm', "", "begins like JSON but is cut off or malformed"),
    ("f", '{"results": []}', "", "JSON without any results: 'results' is empty"),
    ("f", '{"speed": 3}\n{"speed": 4}\n', "", "JSON of an unknown tool, with members 'speed'"),
    ("f.csv", '{"speed": 3}', "", "JSON of an unknown tool, with members 'speed'"),
    ("f", "Hello\nworld\n", "", "the first line is 'Hello'; 'speedproof formats' lists what can be read"),
    ("f.txt", "Hello\nworld\n", "", "no known format"),
    ("f", '{"results": [], "command": 1, "times": 2}', "", "holds no results"),
    ("f", '{"results": [{"command": "x", "times": [1.0, 2', "", "ends in the middle"),
    ("f", '{"results":\n[{"command": "x",\n "times": [1.0, oops]}]}', "line 3", "not JSON"),
    ("f", '{"results": {"command": "x", "times": []}}', "", "expected `array`, got `object`"),
    *(("sample.json", f'{{"iters": [1, 1], "times": [1.0, {odd}]}}', "times[1]", "")
      for odd in ("NaN", "Infinity")),
    ("n.json", '{"results": [{"name": "a", "median(elapsed)": 2e-8}]}', "", "templates::json()"),
    ("pyperf p.json", '{"version": "1.0"}', "", "the file lacks benchmarks"),
    ("speedup-test c.csv", "Name,Sample1\na,b\n", "line 1", "the header lacks Sample2"),
    ("speedup-test c.csv", 'Name,Sample1,Sample2\n"a,b\n', "line 2", "not CSV"),
    *((name, f'{{"results": {"[" * 3000}{"]" * 3000}}}', "", "nested too deeply")
      for name in ("f", "hyperfine f", "nanobench f")),
    ("krun k.json", "{}", "", "lacks wallclock_times"),
    ("build.log", "[PARSEC] Packages to build:  parsec.sort\n[PARSEC] Done.\n", "", "holds no results"),
    ("r.data", "#!rebench\n# Execution Start: 2014-01-01\n1\t1\t2.5\tms\ttotal\tA\n", "",
     "data file of ReBench without its header line"),
    ("rebench r.data", "#!rebench\n1\t1\t2.5\tms\ttotal\tA\n", "line 2", "values before the header line"),
    ("rebench r.data", "# Execution Start: 2014-01-01\n", "", "no header line"),
    ("rebench r.data", "invocation\tvalue\n1\t2.5\n", "line 1", "the header lacks the column iteration"),
    ("raw f.txt", "1.5\ninf\n", "line 2", "no measurement"), ("raw f.txt", "NA\nNA\n", "", "no number"),
    ("raw f.txt", "only words\nand words\n", "line 1", "not a number"),
    ("raw f.txt", "time\ntime\n1\n", "line 2", "'time' is not a number"),
    ("raw f.txt", "1 foo\n2 foo\n", "line 1", "'foo' is not a number"),
    ("raw f.txt", "1 ms ms\n", "line 1", "'ms' is not a number"),
    ("f.txt", "real user sys\n1.5 1.2 0.3\n1.6 1.3 0.3\n", "line 2", "3 numbers under a header of 3 names"),
    ("f", "count, of\n1\n2\n3\n", "line 1", "'count,' is not a number"),
    ("f.txt", "1.5\nERROR\n1.6\n", "line 2", "'ERROR' is not a number"),
    ("f", "1.5\nERROR\n1.6\n", "line 2", "'ERROR' is not a number"),
    ("f", "1.5\n1.6 1,7 oops\n", "line 2", "decimal comma"),
    *(("f.csv", text, "line 1", "add a header")
      for text in ("1.5,2.5\n1.6,2.6\n", "a,1\na,2\nb,3\n", "a,1,2\nb,2,3\na,3,4\n")),
    ("f.csv", "sort,1.5,2.5\nhash,1.75,2.25\nmap,9,9\n", "line 1", "numbers where column names are expected"),
    ("csv f.txt", "1,5\n1,6\n", "line 1", "write 1.5 for 1,5"),
    ("f", "a,b\n1,2\n1\n", "line 3", "1 cell where the header has 2$"),
    ("f.csv", "a,b\n1,2\n1,2,3\n", "line 3", "3 cells where the header has 2"),
    ("csv f.txt", "a;b\n1,5;2\n", "line 2, column a", "write 1.5"),
    ("csv f.txt", "a,a\n1,2\n", "line 1", "two columns are named 'a'"),
    ("csv f.txt", "a,b\nx,y\n", "header", "name one as column value=NAME"),
    ("f.csv", "what,who\nx,y\n", "header", "no column holds numbers"),
    ("f.tsv.gz", gzip.compress(b"what\twho\nx\ty\n", mtime=0), "header", "no column holds numbers"),
    ("f", 'a,b\n1,2\n"3,4\n', "line", "not CSV"), ("csv f.txt", "# nothing\n", "", "no rows"),
    ("csv f.txt", "# x\n#name,time_ms\na,1\nb,2\n", "line 2", "remove the #"),
    ("csv f.txt", "# name,old,new\na,1,2\nb,2,3\n", "line 1", "remove the #"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "where", "words"), REFUSED)
def test_what_is_refused(tmp_path: Path, name: str, content: str | bytes, where: str, words: str) -> None:
    form, _, file = name.rpartition(" ")
    path = write(tmp_path, content, file)
    with pytest.raises(FormatError) as caught:
        split(path, format=form or None)
    assert caught.value.path == str(path)
    assert caught.value.where.startswith(where)
    assert bool(caught.value.where) == bool(where)
    assert words in f"{caught.value.message}$"


def test_files_of_different_commands_are_called_by_them(tmp_path: Path) -> None:
    """Of hyperfine, whose commands are names; where the versions have names, a note says the commands."""
    texts = [f'{{"results": [{{"command": "{name}", "times": [1.0, 2.0]}}]}}' for name in ("old", "new")]
    paths = [write(tmp_path, text, f"{i}.json") for i, text in enumerate(texts)]
    suite = sp.read(*paths)
    assert (suite.versions, [key.benchmark for key in suite.keys]) == (("old", "new"), ["command"])
    two = ", ".join(f'{{"command": "{name}", "times": [1.0, 2.0]}}' for name in ("new", "newer"))
    more = write(tmp_path, f'{{"results": [{two}]}}', "two.json")
    for first, second in ((f"{paths[0]}:old", f"{more}:new"), (paths[0], f"{more}:new"), (*paths,)):
        assert sp.read(first, second).versions == ("old", "new")
    assert [key.benchmark for key in sp.read(f"{paths[1]}:new", f"{more}:new").keys] == ["new"]
    suite = sp.read(f"a={paths[0]}", paths[1])
    assert suite.versions == ("a", "1")
    assert all(s.notes == ("the commands 'old', 'new' were compared",) for s in suite.samples.values())
    plain = [write(tmp_path, "1\n2\n", f"{i}.txt") for i in range(2)]
    assert all(s.notes == () for s in sp.read(*plain).samples.values())


@pytest.mark.parametrize(("header", "unit"), [
    *((name, None) for name in ("time", "Times", "value", "wall time", "user,real", "sample")),
    *((name, "s") for name in ("seconds", "runtime [us]", '"elapsed_ns"', "anything (ms)")),
    ("cycles", "cycles"), ("bytes", "B"), ("KiB", "B"), ("time (ticks)", "ticks"), ("MB/s", "B/s"),
])  # fmt: skip
def test_a_header_names_a_quantity_or_a_unit_and_is_noted(
    tmp_path: Path, header: str, unit: str | None
) -> None:
    (record,), _ = split(write(tmp_path, f"{header}\n2\n3\n"), format="raw")
    assert (record.values.size, record.unit) == (2, unit or "")
    (note,) = record.notes
    assert note.startswith(f"line 1, {header.strip(chr(34))!r}, was taken as a header")
    assert ("names no unit" in note) == (unit is None)


@pytest.mark.parametrize("word", [
    "inf", "-Infinity", "1O0.2", "FAILED", "ERROR", "x", "5ms", "1_000", "timeout", "12,5", "sample 1", "in",
])  # fmt: skip
def test_what_is_no_header_is_the_same_error_on_every_line(tmp_path: Path, word: str) -> None:
    messages = []
    for line, text in ((1, f"{word}\n1.5\n2.5\n"), (2, f"1.5\n{word}\n2.5\n")):
        for name in ("f.txt", "f"):
            with pytest.raises(FormatError) as caught:
                split(write(tmp_path, text, name), format="raw" if "," in word else None)
            assert caught.value.where == f"line {line}"
            messages.append(caught.value.message)
    assert len(set(messages)) == 1
    assert any(remedy in messages[0] for remedy in ("begin comments with #", "write NA", "write 12.5"))


def test_rows_like_comments_are_counted_in_every_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csvrecords, "BLOCK", 64)
    text = "name,time_ms\n" + "a,1\n#b,2\nb,3\n" * 40
    _, (left_out,) = split(write(tmp_path, text, "f.csv"))
    assert left_out.where == "line 3"
    assert left_out.reason.startswith("40 lines")


def test_speedup_test_configuration_names_the_line_of_everything(tmp_path: Path) -> None:
    """And the command does: what is left out, and which unit was not used, once."""
    write(tmp_path, "time (us)\n1\nNA\n2\n", "a.txt")
    write(tmp_path, "1\nFAILED\n", "b.txt")
    rows = ["", "x,a.txt,a.txt", ",a.txt,a.txt", "y,a.txt,b.txt", "z,,a.txt", "x,a.txt,a.txt,,,9"]
    path = write(tmp_path, "\n".join(["Name,Sample1,Sample2,ConfLevel,Coef", *rows]), "c.csv")
    records, skipped = split(path, ReadOptions(unit="ms"))
    assert {s.path for s in skipped} == {str(path)}
    assert [(s.where, s.benchmark) for s in skipped] == [
        ("line 3", "x"), ("line 3", "x"), ("line 4", ""), ("line 5", "y"), ("line 6", "z"),
        ("line 7", "x #2"), ("line 7", "x #2"),
    ]  # fmt: skip
    assert "Sample1" in skipped[0].reason
    assert "line 3: 1 missing value" in skipped[0].reason
    assert "b.txt: line 2: 'FAILED' is not a number" in skipped[3].reason
    assert all(r.values.tolist() == [1e-6, 2e-6] for r in records), "the samples name their unit"
    for record in records:
        assert any(
            "names the unit us, so ms, which was asked for, was not used" in note for note in record.notes
        )
    remarks = " ".join(records[-1].notes)
    assert "line 7: 'x' is the name in line 3 too; here it is 'x #2'" in remarks
    assert "line 7: 1 cell beyond the header not used" in remarks
    code, _, err = speedproof("suite", path, "--unit", "ms")
    assert [line for line in err.splitlines() if ": left out: " in line] == [
        f"speedproof: left out: {s}" for s in skipped
    ]
    assert (code, err.count("names the unit us, so ms, which was asked for, was not used")) == (2, 1)


@pytest.mark.parametrize("texts", [
    {"a.csv": "value,unit\n1,ms\n2,ms\n", "b.csv": "time_ms\n3\n4\n", "c.txt": "time (ms)\n5\n6\n"},
    {"a.txt": "1\n2\n", "b.txt": "1\n2\n"}, dict.fromkeys(("a.json", "b.json"), "[[1, 3, 3], [4, 5, 6]]"),
    dict.fromkeys(("a.json", "b.json"), "[[1, 2, 3], [4, 5, 6]]"),
])  # fmt: skip
def test_numbers_alone_are_versions_of_one_thing(texts: dict[str, str], tmp_path: Path) -> None:
    """Of several files, or of a folder of them: nothing in them says that they are of different benchmarks."""
    paths = [write(tmp_path, text, name) for name, text in texts.items()]
    for suite in (read_suite(*paths), read_suite(tmp_path)):
        assert [(k.benchmark, v) for k, v in suite.samples] == [("values", name[0]) for name in texts]
    named = write(tmp_path, "benchmark,value,unit\nb,5,ms\n", "d.csv")
    assert {k.benchmark for k in read_suite(paths[0], named).keys} == {"a", "b"}

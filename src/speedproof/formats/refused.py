"""Outputs of tools that are known but not read: what they are, and what to do instead."""

from __future__ import annotations

import json
import re

__all__ = ["known_elsewhere", "seen"]

_SUMMARY = "without values of single runs"

# JSON by the names of members that it must have. In order: the first match counts.
_JSON: tuple[tuple[tuple[str, ...], str], ...] = (
    (("HostEnvironmentInfo", "Benchmarks"), "BenchmarkDotNet's JSON is not read; export the measurements with "
     "[CsvMeasurementsExporter] and give that file as CSV"),
    (("median(elapsed)", "measurements"), "nanobench's JSON is not read; render with its template "
     "ankerl::nanobench::templates::pyperf(), whose output is"),
    (("wasm", "phase", "event", "count"), "sightglass's raw JSON is not read; write it with --output-format csv "
     "and read that with --column benchmark=wasm --column version=engine --column metric=event "
     "--column value=count"),
    (("audit", "reboots"), "krun's results are not read; write the wall-clock times as CSV with columns "
     "benchmark, process, run, value"),
    (("runId", "criteria"), "ReBench's JSON is not read; give its data file with the measurements as CSV"),
    (("commit_hash", "results", "requirements"), f"asv's result file keeps medians, {_SUMMARY}. Record them with "
     "asv run --record-samples and write them as CSV with columns benchmark, value"),
    (("commit_hash", "results", "params"), f"asv's result file keeps medians, {_SUMMARY}. Record them with "
     "asv run --record-samples and write them as CSV with columns benchmark, value"),
    (("param_names", "timeout", "type"), "this is asv's list of benchmarks, not their results"),
    (("arch", "cpu", "machine", "os", "ram"), "this is asv's description of a machine, not results"),
    (("BenchmarkTools",), "BenchmarkTools.jl's JSON is not read; write the times of a trial as raw text"),
    (("files", "groups", "fullName"), f"vitest's JSON is a summary, {_SUMMARY}. Set benchmark.includeSamples and "
     "write the samples as CSV with columns benchmark, value"),
    (("Action", "Package"), "this is go test -json; run go test -bench . -count 20 without -json"),
    (("group_id", "function_id", "full_id"), "this names a criterion benchmark; give the sample.json beside it or "
     "the target/criterion folder"),
    (("confidence_interval", "point_estimate"), f"these are criterion's estimates, {_SUMMARY}. Give the "
     "sample.json beside it or the target/criterion folder"),
    (("reason", "measured_values"), "cargo-criterion's messages are not read; give its target/criterion folder"),
    (("name", "unit", "value"), f"this is one value a benchmark (github-action-benchmark), {_SUMMARY}. Repeat the "
     "measurement and write CSV with columns benchmark, value, unit"),
    (("mean", "std_dev"), f"this is a table of means and deviations, {_SUMMARY}. Give the raw measurements"),
)  # fmt: skip

_LINES: tuple[tuple[str, str], ...] = (
    (r"^test .+ \.\.\. bench: +[\d,.]+ \S+/iter|^test result: ok\. \d+ passed",
     f"cargo bench's output is a summary, {_SUMMARY}. Measure with criterion.rs and give target/criterion"),
    (r"^ *time: +\[[\d.]+ \S+ [\d.]+ \S+ [\d.]+ \S+\]",
     f"criterion's terminal output is a summary, {_SUMMARY}. Give the target/criterion folder"),
    (r"is a Catch v\d|^benchmark name +samples +iterations",
     f"Catch2's console output is a summary, {_SUMMARY}. Measure with google-benchmark, or write the "
     "samples of a reporter of your own as CSV"),
    (r" x [\d,.]+ ops/sec ±",
     f"benchmark.js prints a summary, {_SUMMARY}. Write benchmark.stats.sample of each benchmark as CSV"),
    (r"^SUCCESS: .+ms \+/-|^Test +\| Min +\| Average",
     f"the Luau benchmark runner prints a summary, {_SUMMARY}. Time each script with hyperfine --export-json"),
    (r"^.+: [\d.]+m?s - timer ended",
     "these are single times of console.time; repeat them and write one number a line, or measure with hyperfine"),
    (r"^(\[ *[\d.]+%\] )?·+ (Running|For|Building|Benchmarking|Discovering)",
     f"this is asv's console output, a summary, {_SUMMARY}. Record them with asv run --record-samples and write "
     "them as CSV with columns benchmark, value"),
    (r"^# (Run progress|Warmup Iteration +\d|JMH version)|^Iteration +\d+: [\d.,]+ \S+/\S+$|"
     r"^Benchmark +(\(\S+\) +)*Mode +Cnt +Score",
     "this is JMH's console log; run JMH with -rf json -rff FILE and give that file"),
    (r'^"Benchmark","Mode","Threads","Samples","Score"',
     f"JMH's CSV is a summary, {_SUMMARY}. Run JMH with -rf json"),
    (r"^command,mean,stddev,median,user,system,min,max",
     f"hyperfine's CSV is a summary, {_SUMMARY}. Run hyperfine with --export-json"),
    (r"^\| Command \| Mean \[|^ *Time \(mean ± σ\):",
     f"this is hyperfine's summary, {_SUMMARY}. Run hyperfine with --export-json"),
    (r"^name,iterations,real_time,cpu_time,time_unit|^Benchmark +Time +CPU +Iterations",
     "google-benchmark's CSV and console output are not read; run with --benchmark_out=FILE "
     "--benchmark_out_format=json --benchmark_repetitions=20"),
    (r"^benchmark,warmup_iter,iter,name,command,duration,lines,env",
     "this is ripgrep's raw.csv; read it with --format csv --unit s --column benchmark=benchmark "
     "--column version=name --column value=duration"),
    (r"^Number of (calibration runs?|runs? with values):|^Mean \+- std dev:",
     f"this is pyperf's summary, {_SUMMARY}. Give the JSON that pyperf wrote with -o"),
    (r"^# Execution Start:|^# @Run|^invocation\titeration\tvalue",
     "ReBench's data file is not read; give it as CSV with columns process=invocation, run=iteration"),
    (r"^ Performance counter stats for",
     f"perf stat prints a summary, {_SUMMARY}. Run it once a measurement with -x, and write one number a line"),
    (r"^real\s+\d+m[\d.,]+s$",
     "this is the shell's time; repeat the measurement with hyperfine --export-json"),
)  # fmt: skip
# Console outputs show what they are in their first lines.
_LONG_ENOUGH = 1 << 16
_KEY = re.compile(r'"((?:[^"\\]|\\.){1,80})"\s*:')


def known_elsewhere(data: bytes) -> str:
    r"""Recognise the output of a tool that is not read.

    Parameters
    ----------
    data : bytes
        The whole file.

    Returns
    -------
    str
        What it is and what to do; empty when it is not known.

    Examples
    --------
    >>> known_elsewhere(b"command,mean,stddev,median,user,system,min,max\n")[:28]
    "hyperfine's CSV is a summary"
    """
    text = data.decode(errors="replace")
    if text.lstrip()[:1] in ("{", "["):
        keys = set(_KEY.findall(text))
        return next((remedy for names, remedy in _JSON if keys.issuperset(names)), "")
    text = text[:_LONG_ENOUGH]
    return next((remedy for pattern, remedy in _LINES if re.search(pattern, text, re.MULTILINE)), "")


def seen(data: bytes) -> str:
    r"""Describe content that nothing is known of.

    Parameters
    ----------
    data : bytes
        The whole file.

    Returns
    -------
    str
        For the message to the user.

    Examples
    --------
    >>> seen(b'{"speed": 3}'), seen(b"Hello\nworld")
    ("JSON of an unknown tool, with members 'speed'", "no known format; the first line is 'Hello'")
    """
    text = data.decode(errors="replace")
    if text.lstrip()[:1] in ("{", "["):
        if keys := list(dict.fromkeys(_KEY.findall(text)))[:5]:
            return f"JSON of an unknown tool, with members {', '.join(map(repr, keys))}"
        try:
            json.loads(text)
        except ValueError as error:
            return f"this begins like JSON but is malformed ({error})"
        except RecursionError:
            return "the JSON is nested too deeply for a result file"
        return "JSON without any named members"
    first = next((line.strip() for line in re.split(r"[\r\n]+", text) if line.strip()), "")
    return f"no known format; the first line is {first[:60]!r}"

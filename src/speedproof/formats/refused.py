"""Outputs of tools that are known but not read: what they are, and what to do instead."""

from __future__ import annotations

import json
import re

from speedproof.formats.text import is_json

_SUMMARY = "without values of single runs"
# What a tool writes beside its results: in a folder of them it is left out without a complaint.
COMPANIONS = (
    "this is asv's list of benchmarks; give the files of the folder results/MACHINE, which hold the results",
    "this is asv's description of a machine; give the other files of its folder, which hold the results",
)

# JSON by the names of members that it must have. In order: the first match counts.
_JSON: tuple[tuple[tuple[str, ...], str], ...] = (
    (("median(elapsed)",), f"this is a summary of nanobench, {_SUMMARY}. Render with its template "
     "ankerl::nanobench::templates::json()"),
    (("wasm", "phase", "event", "mean_deviation"), f"this is sightglass's summary, {_SUMMARY}. Give the raw "
     "measurements, of sightglass-cli benchmark --raw"),
    (("wasm", "phase", "event", "half_width_confidence_interval"), "these are sightglass's effect sizes, "
     f"{_SUMMARY}. Give the raw measurements, of sightglass-cli benchmark --raw"),
    (("runId", "criteria"), "this is what ReBench sends to ReBenchDB; give its data file (rebench --data-file)"),
    (("param_names", "params", "type", "code"), COMPANIONS[0]),
    (("cpu", "machine", "os", "ram"), COMPANIONS[1]),
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
     f"this is asv's console output, a summary, {_SUMMARY}. Run asv run --record-samples and give the files of "
     "results/MACHINE"),
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
    (r"^Number of (calibration runs?|runs? with values):|^Mean \+- std dev:",
     f"this is pyperf's summary, {_SUMMARY}. Give the JSON that pyperf wrote with -o"),
    (r"^# Execution Start:|^# @Run",
     "this is a data file of ReBench without its header line (invocation, iteration, value, ...), as of a profile "
     "or an old version; measure again with a ReBench that writes one"),
    (r"^ Performance counter stats for",
     f"perf stat prints a summary, {_SUMMARY}. Run it once a measurement with -x, and write one number a line"),
    (r"^real\s+\d+m[\d.,]+s$",
     "this is the shell's time; repeat the measurement with hyperfine --export-json"),
)  # fmt: skip
# Console outputs show what they are in their first lines.
_LONG_ENOUGH = 1 << 16
_KEY = re.compile(r'"((?:[^"\\]|\\.){1,80}+)"\s*+:')


def remedy(begin: bytes) -> str:
    r"""What to do with the output of a tool that is known, but not read; empty for any other."""
    text = begin.decode(errors="replace")
    if is_json(begin):
        names = set(_KEY.findall(text))
        return next((remedy for members, remedy in _JSON if names.issuperset(members)), "")
    text = text[:_LONG_ENOUGH]
    return next((remedy for pattern, remedy in _LINES if re.search(pattern, text, re.MULTILINE)), "")


def description(begin: bytes, *, whole: bool) -> str:
    r"""Describe content that nothing is known of, and what of JSON is broken or empty."""
    text = begin.decode(errors="replace")
    if not is_json(begin):
        first = next((line.strip() for line in re.split(r"[\r\n]+", text) if line.strip()), "")
        return f"no known format; the first line is {first[:60]!r}"
    try:
        json.loads(text if whole else "0")
    except json.JSONDecodeError as error:
        if error.msg != "Extra data":  # as after the first of JSON lines
            return f"this begins like JSON but is cut off or malformed ({error})"
    except RecursionError:
        return "the JSON is nested too deeply for a result file"
    except ValueError:  # a number of too many digits
        pass
    names = list(dict.fromkeys(_KEY.findall(text)))
    if names in (["results"], ["benchmarks"]):
        return f"JSON without any results: {names[0]!r} is empty"
    members = ", ".join(map(repr, names[:5]))
    return f"JSON of an unknown tool, with members {members}" if names else "JSON without any named members"

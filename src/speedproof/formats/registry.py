"""The list of formats, and how a file's content tells which one it has.

A reader is a module of this package, called as ``--format`` takes it with underscores for dashes, that owns

* ``TITLE`` and ``DESCRIPTION``, the tool and what is read of it,
* ``sniff(head)``: whether a file that begins with these bytes has this format; by content, never by its name,
* ``read(source, options)``: an iterator of records, or tables of many, and of what was left out, in the order
  of the file.

It is imported when its first file comes, so that reading text never pays for the parsing of JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType

from msgspec import Struct
from msgspec.structs import replace

from speedproof.data.record import Record
from speedproof.data.table import Item, RecordTable
from speedproof.errors import UsageError
from speedproof.formats import reading
from speedproof.formats.source import ReadOptions, Source


class Format(Struct, frozen=True):
    """A format that is read."""

    name: str  # as ``--format`` takes it

    @property
    def reader(self) -> ModuleType:
        """The module that reads it, imported now."""
        return import_module(f"speedproof.formats.{self.name.replace('-', '_')}")

    @property
    def title(self) -> str:
        """The tool or the kind of file."""
        return str(self.reader.TITLE)

    @property
    def description(self) -> str:
        """One line: what is read."""
        return str(self.reader.DESCRIPTION)

    def read(self, source: Source, options: ReadOptions) -> Iterator[Item]:
        """Read a file of this format: records, maybe in tables, and what was left out, in its order."""
        position = 0
        for item in self.reader.read(source, options):
            if isinstance(item, Record):
                yield replace(item, tool=self.name, position=position)
                position += 1
            elif isinstance(item, RecordTable):
                yield replace(item, tool=self.name, first=position)
                position += len(item)
            else:
                yield item


# Most frequent first: the readers before the right one are imported, too. Two are of both kinds.
JSON = [
    "hyperfine", "speedproof", "pyperf", "google-benchmark", "pytest-benchmark", "jmh", "criterion",
    "benchmarkdotnet", "nanobench", "asv", "krun", "sightglass", "github-action",
    "lists",
]  # fmt: skip
TEXT = ["parsec", "go", "criterion", "rebench", "speedup-test", "sightglass"]
# Tried after the outputs that are known and refused: a tool's summary table would pass for a CSV file.
GENERIC = ["csv", "raw"]
FORMATS = [Format(name) for name in dict.fromkeys([*JSON, *TEXT, *GENERIC])]
# Enough for every header; what it does not decide is decided by the whole file.
_HEAD = 1 << 16


def format_named(name: str) -> Format:
    """Find a format by its name."""
    for candidate in FORMATS:
        if candidate.name == name:
            return candidate
    raise UsageError(f"there is no format {name!r}; available: {', '.join(f.name for f in FORMATS)}")


def detect_source(source: Source) -> Format:
    """Tell the format of a file by its content."""
    begin = source.begin
    heads = [begin[:_HEAD]] + ([begin] if len(begin) > _HEAD else [])
    for head in heads:
        # A tool may log in brackets before its results come.
        if match := _first([*JSON, *TEXT] if reading.is_json(head) else TEXT, head):
            return match
    if remedy := _remedy(begin):
        raise source.error("", remedy)
    if match := _first(GENERIC, heads[0]):
        return match
    if name := _nearest(heads[0], source.path):
        return format_named(name)
    seen = _description(begin, whole=len(begin) == len(source.content))
    raise source.error("", f"{seen}; 'speedproof formats' lists what is read, as text of one number a line")


def _first(names: Sequence[str], head: bytes) -> Format | None:
    return next((f for f in map(Format, names) if f.reader.sniff(head)), None)


def _nearest(head: bytes, path: Path) -> str | None:
    r"""The generic format that a file was most likely meant to have, when it begins like none.

    Its reader knows the line that is wrong.
    """
    lines = reading.first_lines(head)
    if not lines or reading.is_json(lines[0].encode()):
        return None
    suffix = Path(path.name.removesuffix(".gz").removesuffix(".bz2")).suffix.lower()
    if suffix in (".csv", ".tsv"):
        return "csv"
    if delimiter := reading.delimiter_of(lines[0]):
        rows = [[cell.strip() for cell in line.split(delimiter)] for line in lines[1:]]
        tabular = sum(len(cells) > 1 and any(map(reading.is_number, cells)) for cells in rows)
        if rows and 2 * tabular >= len(rows):
            return "csv"
    numeric = sum(
        2 * sum(reading.numeric_tokens(line)) >= len(reading.numeric_tokens(line)) for line in lines
    )
    return "raw" if 2 * numeric >= len(lines) or (suffix == ".txt" and numeric) else None


# Outputs of tools that are known but not read: what they are, and what to do instead.
_SUMMARY = "without values of single runs"
# What a tool writes beside its results: in a folder of them it is left out without a complaint.
COMPANIONS = (
    "this is asv's list of benchmarks; give the files of the folder results/MACHINE, which hold the results",
    "this is asv's description of a machine; give the other files of its folder, which hold the results",
)

# JSON by the names of members that it must have. In order: the first match counts.
_JSON: tuple[tuple[tuple[str, ...], str], ...] = (
    (("speedproof", "schema", "command"), "this is an answer of speedproof; give the files that it was made from, "
     "or what 'compare --json' wrote to 'speedproof report'"),
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
    (r"\A\w+[,;\t]mean[,;\t]\w*(sd|std|dev)\w*[,;\t\r\n]",
     f"this is a table of means and deviations, {_SUMMARY}. Give the raw measurements"),
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
_KEY = r'"((?:[^"\\]|\\.){1,80}+)"\s*+:'


def _remedy(begin: bytes) -> str:
    r"""What to do with the output of a tool that is known, but not read; empty for any other."""
    if reading.is_json(begin):
        names = set(re.findall(_KEY, begin.decode(errors="replace")))
        return next((remedy for members, remedy in _JSON if names.issuperset(members)), "")
    content = begin[: 4 * _LONG_ENOUGH].decode(errors="replace")[:_LONG_ENOUGH]
    return next((remedy for pattern, remedy in _LINES if re.search(pattern, content, re.MULTILINE)), "")


def _description(begin: bytes, *, whole: bool) -> str:
    r"""Describe content that nothing is known of, and what of JSON is broken or empty."""
    content = begin.decode(errors="replace")
    if not reading.is_json(begin):
        first = next((line.strip() for line in re.split(r"[\r\n]+", content) if line.strip()), "")
        return f"no known format; the first line is {first[:60]!r}"
    import json  # which whoever reads text never pays for

    try:
        json.loads(content if whole else "0")
    except json.JSONDecodeError as error:
        if error.msg != "Extra data":  # as after the first of JSON lines
            return f"this begins like JSON but is cut off or malformed ({error})"
    except RecursionError:
        return "the JSON is nested too deeply for a result file"
    except ValueError:  # a number of too many digits
        pass
    names = list(dict.fromkeys(re.findall(_KEY, content)))
    if names in (["results"], ["benchmarks"]):
        return f"JSON without any results: {names[0]!r} is empty"
    members = ", ".join(map(repr, names[:5]))
    return f"JSON of an unknown tool, with members {members}" if names else "JSON without any named members"

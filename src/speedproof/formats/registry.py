"""The formats that are read, and how a file's content tells which one it has.

A reader is a module of this package with ``read(source, options) -> Iterator[Record | Skipped]``. It is
imported when its first file comes, so that reading text never pays for the parsing of JSON.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path

from speedproof.data.suite import Record, Skipped
from speedproof.errors import UsageError
from speedproof.formats import sniff
from speedproof.formats.options import ReadOptions
from speedproof.formats.source import Source

__all__ = ["FORMATS", "Format", "detect_source", "format_named"]

# Enough for every header; what it does not decide is decided by the whole file.
_HEAD = 1 << 16


@dataclass(frozen=True, slots=True)
class Format:
    """A format that is read.

    Attributes
    ----------
    name : str
        As ``--format`` takes it.
    title : str
        The tool or the kind of file.
    description : str
        One line: what is read.
    module : str
        The reader, a module of this package.
    sniff : callable
        ``sniff(head, path) -> bool``: whether a file that begins with these bytes has this format. Decides
        by content; the path breaks ties only.
    """

    name: str
    title: str
    description: str
    module: str
    sniff: Callable[[bytes, Path], bool]

    def read(self, source: Source, options: ReadOptions) -> Iterator[Record | Skipped]:
        """Read a file of this format.

        Parameters
        ----------
        source : Source
            The file.
        options : ReadOptions
            What the user said of it.

        Returns
        -------
        iterator of Record or Skipped
            In the order of the file.
        """
        reader = import_module(f"speedproof.formats.{self.module}")
        items: Iterator[Record | Skipped] = reader.read(source, options)
        return items


_KEY = re.compile(rb'"([^"\\]{1,60})"\s*:')


@lru_cache(maxsize=2)
def _json_keys(head: bytes) -> frozenset[bytes]:
    """The names of all members that the head shows, at any depth; empty when it is no JSON."""
    if head.lstrip()[:1] not in (b"{", b"["):
        return frozenset()
    return frozenset(_KEY.findall(head))


def _has(head: bytes, every: tuple[bytes, ...], some: tuple[bytes, ...] = ()) -> bool:
    keys = _json_keys(head)
    return keys.issuperset(every) and (not some or not keys.isdisjoint(some))


_SESSION = re.compile(rb'\s*\{"type":\s*"(session|run|end)"')


def _is_speedproof(head: bytes, path: Path) -> bool:
    return _SESSION.match(head) is not None


def _is_hyperfine(head: bytes, path: Path) -> bool:
    return _has(head, (b"results", b"command"), (b"times", b"mean", b"exit_codes"))


def _is_pyperf(head: bytes, path: Path) -> bool:
    return _has(
        head, (b"runs",), (b"warmups", b"values", b"samples", b"raw_samples", b"perf_version")
    ) and _has(head, (), (b"benchmarks", b"benchmark"))


def _is_google_benchmark(head: bytes, path: Path) -> bool:
    return _has(head, (b"benchmarks",), (b"real_time", b"run_type", b"library_build_type"))


def _is_pytest_benchmark(head: bytes, path: Path) -> bool:
    return _has(head, (b"benchmarks",), (b"fullname", b"machine_info", b"commit_info"))


def _is_jmh(head: bytes, path: Path) -> bool:
    return _has(head, (b"benchmark",), (b"jmhVersion", b"primaryMetric"))


_OLD_CRITERION = re.compile(rb"\s*\[\s*\[\s*[0-9.eE+-]+\s*[,\]]")
_CRITERION_CSV = re.compile(rb"\s*group,function,value,(sample_time_nanos|throughput_num)\b")


def _is_criterion(head: bytes, path: Path) -> bool:
    return (
        _has(head, (b"iters", b"times"))
        or _OLD_CRITERION.match(head) is not None
        or _CRITERION_CSV.match(head) is not None
    )


_CONFIGURATION = re.compile(
    rb'\s*"?Name"?\s*(?P<delimiter>[,;\t])\s*"?Sample1"?\s*(?P=delimiter)\s*"?Sample2"?\s*([,;\t\r\n]|$)',
    re.IGNORECASE,
)


def _is_speedup_test(head: bytes, path: Path) -> bool:
    return _CONFIGURATION.match(head) is not None


def _is_benchmarkdotnet(head: bytes, path: Path) -> bool:
    return _has(head, (b"HostEnvironmentInfo", b"Benchmarks"))


def _is_nanobench(head: bytes, path: Path) -> bool:
    return _has(head, (b"results", b"measurements", b"elapsed"))


def _is_asv(head: bytes, path: Path) -> bool:
    return _has(head, (b"commit_hash", b"results"), (b"result_columns", b"requirements"))


def _is_krun(head: bytes, path: Path) -> bool:
    return _has(head, (b"audit", b"eta_estimates"), (b"wallclock_times", b"data"))


_SIGHTGLASS = (b"engine", b"wasm", b"process", b"iteration", b"phase", b"event", b"count")


def _is_sightglass(head: bytes, path: Path) -> bool:
    first = head.lstrip().partition(b"\n")[0].strip().split(b",")
    return _has(head, _SIGHTGLASS) or set(_SIGHTGLASS).issubset(first)


_REBENCH = re.compile(rb"^invocation\titeration\tvalue\tunit\tcriterion\tbenchmark\b", re.MULTILINE)


def _is_rebench(head: bytes, path: Path) -> bool:
    return _REBENCH.search(head) is not None


_GO_RESULT = re.compile(rb"^Benchmark\S*[ \t]+[0-9]+[ \t]+[0-9.eE+-]+[ \t]+\S", re.MULTILINE)


def _is_go(head: bytes, path: Path) -> bool:
    return _GO_RESULT.search(head) is not None


# The generic formats are tried last, after the outputs that are known and refused: a tool's summary table
# would pass for a CSV file.
_SPECIFIC = (
    Format(
        "speedproof",
        "speedproof run",
        "JSON Lines of its sessions: every run with all metrics; warm-up left out",
        "speedproof",
        _is_speedproof,
    ),
    Format(
        "hyperfine",
        "hyperfine",
        "JSON of --export-json: the times of every command",
        "hyperfine",
        _is_hyperfine,
    ),
    Format(
        "pyperf",
        "pyperf, pyperformance",
        "JSON, also compressed: values by process; warm-ups and calibration left out",
        "pyperf",
        _is_pyperf,
    ),
    Format("go", "go test -bench", "Go benchmark text: every unit a metric", "gobench", _is_go),
    Format(
        "google-benchmark",
        "google-benchmark",
        "JSON of --benchmark_out: repetitions, real and CPU time, counters",
        "googlebench",
        _is_google_benchmark,
    ),
    Format(
        "pytest-benchmark",
        "pytest-benchmark",
        "JSON with data: the rounds of every test",
        "pytestbench",
        _is_pytest_benchmark,
    ),
    Format("jmh", "JMH", "JSON of -rf json: iterations by fork, secondary metrics", "jmh", _is_jmh),
    Format(
        "criterion",
        "criterion.rs",
        "sample.json, raw.csv, or a target/criterion folder: time per iteration",
        "criterion",
        _is_criterion,
    ),
    Format(
        "benchmarkdotnet",
        "BenchmarkDotNet",
        "JSON of JsonExporter.Full: workload iterations by launch, memory; warm-up left out",
        "benchmarkdotnet",
        _is_benchmarkdotnet,
    ),
    Format(
        "nanobench",
        "nanobench",
        "JSON of its json template: the epochs of every benchmark, counters",
        "nanobench",
        _is_nanobench,
    ),
    Format(
        "asv",
        "asv",
        "result JSON: the samples of --record-samples, otherwise medians, said to be such",
        "asv",
        _is_asv,
    ),
    Format(
        "rebench",
        "ReBench",
        "data file: every criterion by invocation; warm-up left out",
        "rebench",
        _is_rebench,
    ),
    Format(
        "krun",
        "krun",
        "JSON of a session: in-process iterations by process execution, cycles",
        "krun",
        _is_krun,
    ),
    Format(
        "sightglass",
        "sightglass",
        "JSON or CSV of raw measurements: phases and events by process",
        "sightglass",
        _is_sightglass,
    ),
    Format(
        "speedup-test",
        "Speedup-Test configuration",
        "CSV of Name,Sample1,Sample2,ConfLevel,Coef and the sample files that it names",
        "speeduptest",
        _is_speedup_test,
    ),
)
_GENERIC = (
    Format(
        "csv",
        "CSV, TSV",
        "long (a row a value) or wide (a column a version or benchmark)",
        "table",
        sniff.is_table,
    ),
    Format(
        "raw", "raw text", "numbers, one a line or separated by blanks; # comments", "raw", sniff.is_numbers
    ),
)
FORMATS: tuple[Format, ...] = _SPECIFIC + _GENERIC


def format_named(name: str) -> Format:
    """Find a format by its name.

    Parameters
    ----------
    name : str
        For example ``"hyperfine"``.

    Returns
    -------
    Format
        The format of that name.

    Raises
    ------
    UsageError
        There is none; the text lists all names.

    Examples
    --------
    >>> format_named("jmh").title
    'JMH'
    """
    for candidate in FORMATS:
        if candidate.name == name:
            return candidate
    raise UsageError(f"there is no format {name!r}; known are {', '.join(f.name for f in FORMATS)}")


def detect_source(source: Source) -> Format:
    """Tell the format of a file by its content.

    Parameters
    ----------
    source : Source
        The file.

    Returns
    -------
    Format
        The first that knows the content; CSV or raw text when it is nearly that, so that the reader says what
        is wrong.

    Raises
    ------
    FormatError
        The output of a tool that is not read, with what to do instead; or nothing known, with what was seen.
    """
    heads = [source.data[:_HEAD]] + ([source.data] if len(source.data) > _HEAD else [])
    for head in heads:
        for candidate in _SPECIFIC:
            if candidate.sniff(head, source.path):
                return candidate
    # The list of refusals is long and seldom needed.
    from speedproof.formats import refused

    if remedy := refused.known_elsewhere(source.data):
        raise source.error("", remedy)
    for candidate in _GENERIC:
        if candidate.sniff(heads[0], source.path):
            return candidate
    if name := sniff.nearest(heads[0], source.path):
        return format_named(name)
    raise source.error(
        "", f"{refused.seen(source.data)}; known formats: {', '.join(f.name for f in FORMATS)}"
    )

"""Large files, long lines, streams of files: what comes out is what the same file gives in memory."""

import bz2
import csv
import gzip
import io
import json
import random
import re
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path

import pytest
from tests.formats.reading import FILES, NAMES, packed

from speedproof.data.record import FileResults, Record
from speedproof.errors import SpeedproofError
from speedproof.formats import csvrecords, jsontext, read, reading, source
from speedproof.formats.registry import FORMATS, detect_source, format_named
from speedproof.formats.source import ReadOptions, open_source
from speedproof.formats.suites import read_files


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Everything counts as large: blocks of a line or two, segments of a part, some values in memory."""
    for module, name, value in (
        (source, "LARGE", 200), (source, "PIECE", 70), (jsontext, "WHOLE", 100), (jsontext, "WINDOW", 64),
        (csvrecords, "BLOCK", 90), (reading, "IN_MEMORY", 5),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, value)
    return monkeypatch


def shown(path: Path, options: ReadOptions | None = None, format: str | None = None) -> list[str] | str:
    """Everything that reading gives, or its error."""
    found = []
    try:
        for item in read(path, options=options, format=format):
            if isinstance(item, Record):
                processes = None if item.processes is None else item.processes.tolist()
                found.append(repr((item.values.tolist(), processes, *rest(item))))
            else:
                found.append(repr(item))
    except SpeedproofError as error:
        return str(error)
    return found


def rest(record: Record) -> list[object]:
    return [getattr(record, name) for name in Record.__struct_fields__ if name not in ("values", "processes")]


def variants(data: bytes) -> Iterator[bytes]:
    """The same, packed and in other encodings, and cut, damaged or not text."""
    yield from (data, gzip.compress(data), bz2.compress(data), b"\xef\xbb\xbf" + data)
    yield from (data.decode().encode("utf-16"), data.replace(b"\n", b"\r\n"), data.replace(b"\n", b"\r"))
    rng = random.Random(len(data))
    for _ in range(4):
        at = rng.randrange(len(data))
        yield data[:at]
        yield data[:at] + rng.choice([b"NaN", b"x", b'"', b"]", b",", b"}", b"\\", b"\n"]) + data[at + 1 :]
    yield from (gzip.compress(data)[:-9], data + b"\xff\n", data + b"\0")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("count", [1, pytest.param(99, marks=pytest.mark.slow)])
def test_every_file_is_the_same_from_disk(
    name: str, count: int, tmp_path: Path, tiny: pytest.MonkeyPatch
) -> None:
    path = tmp_path / Path(name).name
    for data in islice(variants((FILES / name).read_bytes()), count):
        path.write_bytes(data)
        found = shown(path)
        with pytest.MonkeyPatch.context() as whole:
            whole.setattr(source, "LARGE", 1 << 24)
            expected = shown(path)
        # Of two errors that JSON has, such as NaN and a word, the one that stopped the reading is told.
        if not (isinstance(expected, str) and "not JSON" in expected and isinstance(found, str)):
            assert found == expected


def naive_long(text: str) -> dict[tuple[str, ...], tuple[list[float], list[str]]]:
    """Values and processes of each benchmark, version and host, all rows in memory, sorted by process and run."""
    rows = list(csv.DictReader(io.StringIO(text)))
    hosts = {row["host"] for row in rows}
    dates = {row["date"] for row in rows}
    telling = ["host"] if len(hosts) == 1 or 2 * len(hosts) <= len(rows) else []
    telling += ["date"] if len(dates) == 1 or 2 * len(dates) <= len(rows) else []
    found: dict[tuple[str, ...], list[tuple[int, float, float, str]]] = {}
    seen: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        if row["value"] in ("", "NA"):
            continue
        key = (row["benchmark"], row["version"], *(row[name] for name in telling))
        order = seen.setdefault(key, [])
        if row["process"] not in order:
            order.append(row["process"])
        place = order.index(row["process"])
        found.setdefault(key, []).append((place, float(row["run"]), float(row["value"]), row["process"]))
    return {
        key: ([r[2] for r in own], [r[3] for r in own])
        for key, rows_ in found.items()
        for own in [sorted(rows_, key=lambda r: r[:2])]
    }


@pytest.mark.parametrize("seed", range(12))
def test_long_tables_against_all_rows_in_memory(seed: int, tmp_path: Path, tiny: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    out = io.StringIO()
    writer = csv.writer(out, quoting=rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]))
    writer.writerow(["benchmark", "version", "host", "date", "process", "run", "value"])
    dates = rng.choice([1, 4, 90])
    for _ in range(90):
        value = rng.choice(["NA", ""]) if rng.random() < 0.05 else repr(rng.random())
        name = rng.choice(["a, b", "sort", 'say "x"', "two\nlines", " c "][: 2 + seed % 4])
        date = f"day {rng.randrange(dates)}"
        row = [name, rng.choice("xy"), rng.choice("pq"), date, rng.randrange(3), rng.randrange(9), value]
        writer.writerow(row)
    path = tmp_path / "t.csv"
    path.write_text(out.getvalue(), newline="")
    # Line breaks within quotes are no part of a cell, nor are blanks around it.
    expected = naive_long(out.getvalue().replace("two\nlines", "twolines").replace(" c ", "c"))
    found = {}
    for item in read(path):
        if isinstance(item, Record):
            assert item.processes is not None
            found[(item.benchmark, item.version or "", *(value for _, value in item.fields))] = item
    assert found.keys() == expected.keys()
    for key, (values, processes) in expected.items():
        assert found[key].values.tolist() == values
        first = list(dict.fromkeys(processes))
        assert found[key].processes.tolist() == [first.index(p) for p in processes]  # type: ignore[union-attr]


@pytest.mark.parametrize(("name", "text"), [
    ("a.txt", "".join(f"{v}\n" for v in (3.5, 1.25, 2.0, 9.75, 4.5, 6.0, 7.25, 8.0, 5.5, 0.5, 1.0, 2.5))),
    ("b.txt", "".join(f"{v / 4} ms\n" for v in range(1, 40))), ("blank.txt", "1.5\n" + "\n" * 300 + "2.5\n"),
    ("go.txt", "pkg: p\n" + "".join(f"BenchmarkA-2 10 {v} ns/op 3 B/op\n" for v in range(40))),
    ("two.txt", "".join(f"pkg: p\nBenchmarkA 10 {v} ns/op\nBenchmarkA 9 1 ns/op\n" for v in range(20))),
    ("v.csv", "time_s\n" + "".join(f"{v % 7}.5\n" for v in range(60))),
    ("w.csv", "old,new\n" + "".join(f"{v},{v % 5}\n" for v in range(60))),
    ("p.csv", "value,process,run\n" + "".join(f"{v},{v // 9},{v % 9}\n" for v in range(60))),
    ("q.csv", "value,process,run\n" + "".join(f"{v},{v % 3},{v}\n" for v in range(60))),
])  # fmt: skip
def test_values_on_disk_are_the_same(name: str, text: str, tmp_path: Path, tiny: pytest.MonkeyPatch) -> None:
    """However many chunks they are in."""
    path = tmp_path / name
    path.write_text(text)
    on_disk = shown(path)
    tiny.setattr(reading, "IN_MEMORY", 1 << 20)
    assert shown(path) == on_disk


@pytest.mark.usefixtures("tiny")
def test_a_file_that_is_cut_short_meanwhile_is_read_as_it_was(tmp_path: Path) -> None:
    """Where the file itself were mapped, the system would end the process at the next look (SIGBUS)."""
    path = tmp_path / "b.csv"
    lines = ["benchmark,version,time", *(f"b,v,{i}.5" for i in range(20_000))]
    path.write_text("\n".join(lines))
    opened = source.open_source(path)
    path.write_bytes(b"")
    assert list(opened.lines) == lines


def test_a_part_of_a_file_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts say that more follows, and the last one whether the file is good."""
    monkeypatch.setattr("speedproof.formats.suites.PART_ITEMS", 2)
    path = tmp_path / "t.csv"
    path.write_text("benchmark,value\n" + "".join(f"b{k % 5},{k}\n" for k in range(20)))
    parts = list(read_files([path]))
    assert [(len(p.records), p.more) for p in parts] == [(2, True), (2, True), (1, False)]
    path.write_text("benchmark,value\n" + "".join(f"b{k},NA\n" for k in range(5)))
    *more, last = read_files([path])
    assert [len(p.skipped) for p in more] == [2, 2]
    assert last.reject is not None


PROGRAM = """
import resource, sys
from speedproof.formats import csv, go, google_benchmark, jsontext, reading, source, suites
source.LARGE = source.BEGIN = jsontext.WHOLE = 1 << 20
jsontext.WINDOW = 1 << 18
reading.IN_MEMORY = suites.PART_VALUES = 1 << 15
suites.PART_ITEMS = 256
held = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmData"))
resource.setrlimit(resource.RLIMIT_DATA, ((held << 10) + (int(sys.argv[2]) << 20),) * 2)
values = 0
for part in suites.read_files([sys.argv[1]]):
    assert part.reject is None, part.reject
    values += sum(record.values.size for record in part.records)
print(values)
"""


def long_table(k: int) -> str:
    return "".join(
        f"suite/bench_{k},{version},host,{i}.25\n" for i in range(500) for version in ("old", "new")
    )


def go_text(k: int) -> str:
    return "".join(f"BenchmarkCase{k} 100 {i}.5 ns/op 12 B/op\n" for i in range(500))


def google_json(k: int) -> str:
    entry = {
        "name": f"BM/{k}", "run_type": "iteration", "time_unit": "ns", "real_time": 1.5, "cpu_time": 1.25,
    }  # fmt: skip
    entries = [json.dumps({**entry, "repetition_index": i}, indent=2) for i in range(500)]
    return "," * (k > 0) + ",\n".join(entries)


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the limit is Linux's")
@pytest.mark.parametrize(("begin", "block", "end", "values"), [
    ("benchmark,version,host,time\n", long_table, "", 1000), ("pkg: x\n", go_text, "", 1000),
    ('{"benchmarks": [', google_json, '], "context": {}}', 1000),
], ids=["csv", "go", "google-benchmark"])  # fmt: skip
def test_memory_is_less_than_the_file(
    begin: str, block: Callable[[int], str], end: str, values: int, tmp_path: Path
) -> None:
    """A file of 24 MB is read where 16 MB are allowed: read whole, it takes 6 to 20 times its size."""
    path, blocks = tmp_path / "large", 0
    with path.open("w") as out:
        out.write(begin)
        while out.tell() < 24e6:
            out.write(block(blocks))
            blocks += 1
        out.write(end)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(path), "16"], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == str(blocks * values), done.stderr[-300:]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the limit is Linux's")
def test_too_little_memory_is_said_in_one_line(tmp_path: Path) -> None:
    """16 kB that unpack to 16 MB, a sample of 32 MB, where 24 more are allowed."""
    path = tmp_path / "b.txt.gz"
    path.write_bytes(gzip.compress(b"1.5\n" * 4_000_000))
    program = """
import resource, sys
from speedproof.cli.main import main
main(["show", "examples/gcc/O2.json"])
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (24 << 20),) * 2)
sys.exit(main(["show", sys.argv[1]]))
"""
    command, top = [sys.executable, "-c", program, str(path)], Path(__file__).parents[2]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=top)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert f"there is not enough memory (for {path}); give fewer" in done.stderr.replace("\n", " ")


SECONDS = 3.0
SIZE = 100_000
UNITS = ["1", "1.", "1e", "a", " ", "1 ", "1,", "a=1,", '"', "("]
ELSEWHERE = {
    "asv": "asv/results/box/067eaa49-samples.json",
    "criterion": "criterion/Fibonacci/Iterative/new/sample.json", "speedup-test": "speedup-test/config.csv",
    "csv": "long.csv", "parsec": "parsec/baseline.log",
}  # fmt: skip
WORD = re.compile(r'"[^"]*"|[^\s,;:"]+')


@contextmanager
def limited(what: str) -> Iterator[None]:
    def stop(number: int, frame: object) -> None:
        raise AssertionError(f"more than {SECONDS:g} s of processor time for {what}")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def with_a_long_line(text: str, unit: str) -> Iterator[str]:
    """A file with a long line before all others, after them, and in the place of some words."""
    long = unit * (SIZE // len(unit)) + "!"
    yield long + "\n" + text
    yield text + long + "\n"
    words = list(WORD.finditer(text))
    for word in words[:: len(words) // 3]:
        shown = json.dumps(long) if word[0].startswith('"') else long
        yield text[: word.start()] + shown + text[word.end() :]


@pytest.mark.slow
@pytest.mark.parametrize("name", [known.name for known in FORMATS])
def test_every_reader(files: Path, tmp_path: Path, name: str) -> None:
    found = [files / ELSEWHERE.get(name, "none"), *files.glob(f"{name}.*")]
    file = next(path for path in found if path.exists())
    reader = format_named(name)
    path = tmp_path / file.name
    for unit in UNITS:
        for text in with_a_long_line(file.read_text(), unit):
            path.write_text(text)
            source = open_source(path)
            with limited(f"a line of {unit!r}"), suppress(SpeedproofError):
                detect_source(source)
            with limited(f"a line of {unit!r}"), suppress(SpeedproofError):
                deque(reader.read(source, ReadOptions()), maxlen=0)


def test_a_header_of_many_names(tmp_path: Path) -> None:
    """Each name is its own but the last."""
    path = tmp_path / "wide.csv"
    names = [f"v{number}" for number in range(SIZE // 2)]
    path.write_text(",".join([*names, names[-1]]) + "\n" + "1," * len(names) + "1\n")
    with limited("a header"), pytest.raises(SpeedproofError, match=f"two columns are named '{names[-1]}'"):
        deque(format_named("csv").read(open_source(path), ReadOptions()), maxlen=0)


Found = list[tuple[str, str | None, str, list[float]]]


def found_in(results: Iterator[FileResults]) -> Found:
    return [(r.benchmark, r.version, r.metric, r.values.tolist()) for f in results for r in f.records]


def naive(files: list[Path]) -> Found:
    found: Found = []
    for path in files:
        try:
            records = [r for r in read(path) if isinstance(r, Record)]
        except SpeedproofError:
            continue
        found += [(r.benchmark, r.version, r.metric, r.values.tolist()) for r in records]
    return found


@pytest.mark.parametrize("name", ["r.zip", "r.tar.gz", "r.tgz"])
def test_an_archive_is_its_members(files: Path, tmp_path: Path, name: str) -> None:
    members = [files / n for n in ("hyperfine.json", "go.txt", "raw.txt", "long.csv")]
    path = packed(tmp_path / name, members)
    results = list(read_files([path]))
    assert found_in(iter(results)) == naive(members)
    assert [f.path for f in results] == [f"{path}/in/{m.name}" for m in members]


def test_bad_files_are_named_and_stop_nothing(files: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("{")
    (tmp_path / "cut.tar.gz").write_bytes(
        packed(tmp_path / "whole.tar.gz", [files / "go.txt"]).read_bytes()[:200]
    )
    (tmp_path / "no.zip").write_text("no archive")
    (tmp_path / "failed.json").write_text('{"results": [{"command": "x", "mean": 1.5}], "times": 0}')
    names = ["bad.json", "absent.txt", "cut.tar.gz", "no.zip", "failed.json", "*.none", "absent.tar"]
    results = list(read_files([*(tmp_path / n for n in names), files / "raw.txt"]))
    reasons = [str(f.reject) for f in results if f.reject is not None]
    parts = [names[0], "no such file", *names[2:4], "no times", "no file has a name", names[6]]
    assert [part in reason for part, reason in zip(parts, reasons, strict=True)] == [True] * len(names)
    assert [f.reject.where for f in results if f.reject is not None] == [""] * len(names)
    assert [len(f.records) for f in results if f.reject is None] == [1]
    expected = ["hyperfine-failing.json", "hyperfine-memory.json"]
    assert [Path(f.path).name for f in read_files([str(files / "**" / "hyperfine-*.json")])] == expected

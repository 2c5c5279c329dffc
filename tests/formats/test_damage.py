"""However a result file is damaged, the readers give records, remarks or an error of their own.

No warning comes out either: in this suite they are errors, NumPy's among them. The seeds are fixed.
"""

import bz2
import gzip
import json
import random
import re
import shutil
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.formats.reading import FILES, NAMES, packed, places

from speedproof.data.suite import Record, Skipped, Suite
from speedproof.errors import FormatError, SpeedproofError
from speedproof.formats import FORMATS, read
from speedproof.formats.registry import detect_source
from speedproof.formats.source import open_source
from speedproof.formats.suites import read as read_suite
from speedproof.formats.suites import read_files
from speedproof.reporting.shown import remarks

TEXTS = [n for n in NAMES if n.endswith((".txt", "v", ".data", "baseline.log"))]

GROUPED = ("google-benchmark", "sightglass")  # what is of one name is told at its first entry
HOSTILE_VALUES: list[Any] = [
    None, True, False, 0, -1, 0.0, -0.0, 1e308, -1e308, 5e-324, 10**400, -(10**400), 2**63, 2**64, "", "x", "NaN",
    "1e5", "\ud800", "a\x00b", "\x1b[31m", "𝔘" * 50, [], {}, [[]], [None], {"": None}, [1e308, 5e-324],
    ["a", 1, None], {"name": {"name": []}}, float("nan"), float("inf"), float("-inf"),
]  # fmt: skip
HOSTILE_TOKENS: list[bytes] = [
    b"", b"NaN", b"inf", b"-inf", b"1e999", b"1e-999", b"-0", b"9" * 400, b"0" * 400, b"1_0", b"0x1p3", b"\xff",
    b"\x00", b"\x1b[2J", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\t", b"\n", b"\r", b",", b";", b'"', b"'", b"#",
    b"[" * 9999,     b"1e308 1e308", b"-5", b"1,5", "µ".encode(), "٣".encode(), b"Infinity", b"{}", b"null",
]  # fmt: skip


def mutated_text(data: bytes, rng: random.Random) -> bytes:
    """A word, a line or some bytes changed, taken away or put elsewhere, or the end cut off."""
    for _ in range(rng.randint(1, 3)):
        begin = rng.randrange(len(data) + 1)
        end = min(begin + rng.choice([0, 1, 5, 60, 10**6]), len(data))
        odd = rng.choice(
            [*HOSTILE_TOKENS, data[begin:end] * 2, bytes(rng.randrange(1, 128) for _ in range(9))]
        )
        lines, words = data.split(b"\n"), list(re.finditer(rb"[^\s,;]+", data))
        if rng.random() < 0.3 and words:
            begin, end = rng.choice(words).span()
        elif rng.random() < 0.3:
            del lines[rng.randrange(len(lines))]
            data = b"\n".join(lines)
        data = data[:begin] + odd + data[end:]
    return data


def usable(items: list[Record | Skipped]) -> None:
    """Records of values, remarks with a reason, and a suite that can be made of them."""
    for item in items:
        if isinstance(item, Record):
            assert item.values.dtype == np.float64
            assert item.values.ndim == 1
            assert item.values.size > 0
            assert item.processes is None or item.processes.shape == item.values.shape
        else:
            assert item.reason
    Suite.from_records(("v", item) for item in items)


def survive(path: Path, format: str | None = None) -> None:
    """Only our own errors come out, and all that is said of the file can be written."""
    try:
        usable(list(read(path, format=format)))
        suite = read_suite(path, format=format)
    except SpeedproofError as error:
        str(error).encode()
        return
    for line in remarks(suite):
        line.encode()
    for key, version in suite.samples:
        (key.benchmark + key.metric + version).encode()


def format_of(name: str) -> str | None:
    with suppress(SpeedproofError):
        return detect_source(open_source(FILES / name)).name
    return None


def told(path: Path, format: str | None) -> tuple[set[tuple[str, str]], set[tuple[str, str, bytes]]]:
    """Where something is wrong with a file, and what; and where which values of what are."""
    try:
        items = list(read(path, format=format))
    except FormatError as error:
        return {(error.where, error.message)}, set()
    wrong = {(one.where, one.reason) for one in items if isinstance(one, Skipped) and not one.expected}
    return wrong, {(r.where, r.metric, r.values.tobytes()) for r in items if isinstance(r, Record)}


def entry(place: str) -> str:
    return place[: place.find("]") + 1]


@pytest.mark.parametrize("name", [n for n in NAMES if n.endswith(".json") and format_of(n)])
def test_what_is_wrong_in_json_costs_its_entry_and_is_told_where_it_is(tmp_path: Path, name: str) -> None:
    """Of what is put in place of a value: its place, that of what holds it, or of what it should have held."""
    content, rng = json.loads((FILES / name).read_text()), random.Random(name)
    path, known = tmp_path / Path(name).name, format_of(name)
    (sound, records), found = told(FILES / name, known), [*places(content)]
    hostile: list[Any] = [{"odd": 1}, -7.5, []]
    for here, container, key in rng.sample(found, min(len(found), 50)):
        value = container[key]
        for odd in hostile:
            container[key] = odd
            path.write_text(json.dumps(content))
            wrong, left = told(path, known)
            for where, why in wrong - sound:
                # Names have dots in them.
                end = "[" if known in GROUPED else "[..."
                one, other = here.partition(end)[0], where.partition(end)[0]
                assert one.startswith(other) or other.startswith(one), (here, odd, where, why)
            if entry(here) and all(entry(r[0]) for r in records) and known not in GROUPED:
                assert {r for r in records - left if entry(r[0]) != entry(here)} == set(), (here, odd)
        container[key] = rng.choice(HOSTILE_VALUES)
        path.write_text(json.dumps(content))
        survive(path, known)
        container[key] = value


@pytest.mark.parametrize("name", TEXTS)
def test_what_is_wrong_in_text_is_told_by_its_line(tmp_path: Path, name: str) -> None:
    """Of a word below the header that is none of a number, a name or a unit."""
    lines, rng = (FILES / name).read_text().split("\n"), random.Random(name)
    shutil.copytree((FILES / name).parent, tmp_path / "copy")
    path, known = tmp_path / "copy" / Path(name).name, format_of(name)
    sound, _ = told(FILES / name, known)
    words = [
        (n, word.span()) for n, line in enumerate(lines) for word in re.finditer(r"[^\s,;:]+", line) if n
    ]
    for n, (begin, end) in rng.sample(words, min(len(words), 50)):
        for odd in ("oops", "-7.5x"):
            changed = [*lines[:n], lines[n][:begin] + odd + lines[n][end:], *lines[n + 1 :]]
            path.write_text("\n".join(changed))
            for where, why in told(path, known)[0] - sound:
                assert re.match(rf"line {n + 1}\b", where), (changed[n], where, why)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_mutants_of_every_fixture(tmp_path: Path, name: str) -> None:
    data = (FILES / name).read_bytes()
    rng = random.Random(name)
    path, known = tmp_path / Path(name).name, format_of(name)
    for k in range(120):
        path.write_bytes(mutated_text(data, rng))
        survive(path, known if k % 4 == 0 else None)


ARCHIVES = [
    "zip.stored", "zip.deflated", "zip.bzip2", "zip.lzma", "tar", "tar.gz", "tar.bz2", "tar.xz", "gz", "bz2",
]  # fmt: skip


@pytest.mark.parametrize("kind", ARCHIVES)
def test_damaged_archives(tmp_path: Path, kind: str) -> None:
    """Cut anywhere, or with bytes flipped anywhere: what cannot be unpacked is refused by name."""
    path = tmp_path / ("a.zip" if kind.startswith("zip") else f"a.{kind}")
    if kind in ("gz", "bz2"):
        data = {"gz": gzip, "bz2": bz2}[kind].compress((FILES / "go.txt").read_bytes())
    else:
        method = getattr(zipfile, kind.replace("zip.", "ZIP_").upper(), 0)
        data = packed(path, [FILES / "go.txt", FILES / "jmh.json"], method).read_bytes()
    whole = np.frombuffer(data, dtype=np.uint8)
    rng = np.random.default_rng(len(data))
    damaged = [data[:end] for end in (0, 1, len(data) - 1, *rng.integers(0, len(data), 8).tolist())]
    for count in (1,) * 24 + (5,) * 6:
        changed = whole.copy()
        changed[rng.integers(0, whole.size, count)] ^= rng.integers(1, 256, count, dtype=np.uint8)
        damaged.append(changed.tobytes())
    refused = 0
    for content in damaged:
        path.write_bytes(content)
        found = list(read_files([path]))
        refused += any(one.reject is not None for one in found)
        assert all(one.reject is None or str(path) in str(one.reject) for one in found)
    assert refused > len(damaged) // 3


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("format", [f.name for f in FORMATS])
def test_every_file_read_as_every_format(name: str, format: str) -> None:
    survive(FILES / name, format)


def outcome(path: Path, text: str) -> tuple[dict[str, list[float]], list[str]]:
    """Times by benchmark, and what was left out."""
    path.write_text(text, encoding="utf-8")
    suite = Suite.from_records(("v", item) for item in read(path))
    times = {k.benchmark: s.values.tolist() for (k, _), s in suite.samples.items() if k.metric == "time"}
    return times, [f"{s.where}: {s.reason}" for s in suite.skipped if not s.expected]


@pytest.mark.parametrize("odd", ["NaN", "Infinity", "-Infinity", "1e999"])
@pytest.mark.parametrize(("name", "before"), [
    ("hyperfine.json", r'"times": \['), ("pyperf.json", r'"values":\s*\['),
    ("pytest-benchmark.json", r'"data": \['), ("jmh.json", r'"rawData": \[\s*\['),
    ("google-benchmark.json", r'"real_time": '), ("go.txt", r"\s+\d+\s"),
])  # fmt: skip
def test_the_benchmark_or_the_value_is_left_out(
    files: Path, tmp_path: Path, name: str, before: str, odd: str
) -> None:
    """The others are kept, but where the tool never writes it, or JSON has no place for it."""
    text = (files / name).read_text()
    sound, remarked = outcome(tmp_path / name, text)
    odd = odd.replace("Infinity", "+Inf") if name == "go.txt" else odd
    values, left_out = outcome(
        tmp_path / name, re.sub(rf"({before}\s*)[\d.e+-]+", rf"\g<1>{odd}", text, count=1)
    )
    assert len({*left_out} - {*remarked}) == 1
    (changed,) = [key for key in sound if values.get(key) != sound[key]]
    one_by_one = name.startswith("go") or (name in ("jmh.json", "hyperfine.json") and odd != "1e999")
    assert values.get(changed) == (sound[changed][1:] if one_by_one else None)


@pytest.mark.parametrize("odd", ["NaN", "NA", "null", "inf", "-Infinity", "FAILED", "", "1e999", "-1"])
def test_csv_leaves_the_cell_out(tmp_path: Path, odd: str) -> None:
    """A negative time costs its benchmark; in plain text, too."""
    values, (left_out,) = outcome(tmp_path / "f.csv", f"bench,time_s\na,1\na,{odd}\na,2\nb,1\nb,2\n")
    negative, beyond = odd == "-1", odd == "1e999"
    assert values == {"b": [1.0, 2.0]} | ({} if negative else {"a": [1.0, 2.0]})
    assert left_out.startswith("line 2: " if negative or beyond else "line 3: ")
    if negative or beyond:
        values, left = outcome(tmp_path / "a.txt", f"seconds\n1\n{odd}\n2\n")
        assert (values, len(left)) == ({} if negative else {"a": [1.0, 2.0]}, 1)

"""However a result file is damaged, the readers give records, remarks or an error of their own."""

from __future__ import annotations

import bz2
import gzip
import io
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from speedproof.data.suite import Record, Suite
from speedproof.errors import SpeedproofError
from speedproof.formats import FORMATS, read
from speedproof.formats.registry import detect_source, format_named
from speedproof.formats.source import ReadOptions, Source, open_source
from speedproof.formats.stream import read_files

FILES = Path(__file__).parents[1] / "data" / "formats"
NAMES = sorted(str(p.relative_to(FILES)) for p in FILES.rglob("*") if p.is_file() and p.suffix != ".md")


def consume(path: Path, format: str | None = None) -> None:
    """Read to the end and build the suite; only our own errors may come out, and only usable records."""
    try:
        items = list(read(path, format=format))
    except SpeedproofError:
        return
    for item in items:
        if isinstance(item, Record):
            assert item.values.dtype == np.float64
            assert item.values.ndim == 1
            assert item.values.size > 0
            assert item.processes is None or item.processes.shape == item.values.shape
        else:
            assert item.reason
    Suite.from_records(("v", item) for item in items)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_truncations(tmp_path: Path, name: str) -> None:
    data = (FILES / name).read_bytes()
    path = tmp_path / "cut"
    rng = np.random.default_rng(len(data))
    for end in sorted({0, 1, len(data) - 1, *rng.integers(0, len(data), 12).tolist()}):
        path.write_bytes(data[:end])
        consume(path)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_flipped_bytes(tmp_path: Path, name: str) -> None:
    data = np.frombuffer((FILES / name).read_bytes(), dtype=np.uint8)
    path = tmp_path / "flipped"
    rng = np.random.default_rng(data.size)
    for count in (1, 1, 1, 2, 5, 20):
        changed = data.copy()
        changed[rng.integers(0, data.size, count)] = rng.integers(1, 128, count)
        path.write_bytes(changed.tobytes())
        consume(path)
        consume(path, format=detect_name(name))


def packed(kind: str) -> bytes:
    """An archive of two result files, or one of them compressed."""
    texts = {name: (FILES / name).read_bytes() for name in ("go.txt", "jmh.json")}
    out = io.BytesIO()
    if kind.startswith("zip"):
        method = getattr(zipfile, kind.replace("zip.", "ZIP_").upper())
        with zipfile.ZipFile(out, "w", method) as archive:
            for name, text in texts.items():
                archive.writestr(name, text)
        return out.getvalue()
    if kind.startswith("tar"):
        with tarfile.open(fileobj=out, mode=f"w:{kind.partition('.')[2]}") as members:  # type: ignore[call-overload]
            for name, text in texts.items():
                member = tarfile.TarInfo(name)
                member.size = len(text)
                members.addfile(member, io.BytesIO(text))
        return out.getvalue()
    return gzip.compress(texts["go.txt"]) if kind == "gz" else bz2.compress(texts["go.txt"])


ARCHIVES = [
    "zip.stored",
    "zip.deflated",
    "zip.bzip2",
    "zip.lzma",
    "tar",
    "tar.gz",
    "tar.bz2",
    "tar.xz",
    "gz",
    "bz2",
]


@pytest.mark.parametrize("kind", ARCHIVES)
def test_damaged_archives(tmp_path: Path, kind: str) -> None:
    """Cut anywhere, or with bytes flipped anywhere: what cannot be unpacked is refused by name."""
    data = packed(kind)
    path = tmp_path / ("a.zip" if kind.startswith("zip") else f"a.{kind}")
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
    consume(FILES / name, format=format)


def detect_name(name: str) -> str | None:
    try:
        return detect_source(open_source(FILES / name)).name
    except SpeedproofError:
        return None


MEMBERS = [
    "results", "command", "times", "exit_codes", "parameters", "benchmarks", "runs", "values", "warmups",
    "samples", "raw_samples", "metadata", "name", "unit", "loops", "stats", "data", "rounds", "fullname",
    "real_time", "run_type", "benchmark", "mode", "primaryMetric", "rawData", "scoreUnit", "params", "iters",
    "context", "error_occurred", "Benchmarks", "Method", "Measurements", "Statistics", "Mean", "IterationMode",
    "Operations", "Nanoseconds", "measurements", "elapsed", "title", "result", "result_columns", "wallclock_times",
    "core_cycle_counts", "audit", "engine", "wasm", "process", "phase", "event", "count",
]  # fmt: skip
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.integers(-9, 9)
    | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(MEMBERS),
            inner,
            max_size=6,
        )
    ),
    max_leaves=25,
)


@pytest.mark.slow
@given(
    value=JSON,
    name=st.sampled_from(
        [
            "hyperfine",
            "pyperf",
            "google-benchmark",
            "pytest-benchmark",
            "jmh",
            "criterion",
            "benchmarkdotnet",
            "nanobench",
            "asv",
            "krun",
            "sightglass",
        ]
    ),
)
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_json_of_any_shape(value: object, name: str) -> None:
    import msgspec

    source = Source("any.json", Path("any.json"), msgspec.json.encode(value))
    try:
        items = list(format_named(name).read(source, ReadOptions()))
    except SpeedproofError:
        return
    Suite.from_records(("v", item) for item in items)


@pytest.mark.slow
@given(
    text=st.text(alphabet="0123456789.,;-+eE \t\n\r#\"'NAbench:/=", max_size=120),
    name=st.sampled_from(["raw", "csv", "go", "speedup-test", "rebench", "sightglass"]),
)
@settings(max_examples=400, deadline=None)
def test_text_of_any_shape(text: str, name: str) -> None:
    source = Source("any.txt", Path("any.txt"), text.encode())
    try:
        items = list(format_named(name).read(source, ReadOptions()))
    except SpeedproofError:
        return
    Suite.from_records(("v", item) for item in items)

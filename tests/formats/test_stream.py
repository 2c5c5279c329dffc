"""Many files, one after the other: the same records as by reading each, and the bad ones named."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from speedproof.data.record import FileResults, Record
from speedproof.errors import SpeedproofError, UsageError
from speedproof.formats import read, source, stream
from speedproof.formats.stream import read_files

Found = list[tuple[str, str | None, str, list[float]]]


def found_in(results: Iterator[FileResults]) -> Found:
    return [(r.benchmark, r.version, r.metric, r.values.tolist()) for f in results for r in f.records]


def naive(files: list[Path]) -> Found:
    """Each file by itself."""
    found: Found = []
    for path in files:
        try:
            records = [r for r in read(path) if isinstance(r, Record)]
        except SpeedproofError:
            continue
        found += [(r.benchmark, r.version, r.metric, r.values.tolist()) for r in records]
    return found


def test_a_folder_is_all_its_files(files: Path) -> None:
    everything = [p for p in files.rglob("*") if p.is_file() and p.suffix != ".md"]
    streamed = list(read_files([files]))
    apart = naive([p for p in everything if "criterion" not in p.parts])
    others = iter([f for f in streamed if "criterion" not in Path(f.path).parts])
    assert sorted(apart, key=repr) == sorted(found_in(others), key=repr)
    versions = {r.version for f in streamed if "criterion" in Path(f.path).parts for r in f.records}
    assert versions == {"base", "new"}, "the folders of single runs name versions"


def packed(path: Path, files: list[Path]) -> Path:
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            for file in files:
                archive.write(file, f"in/{file.name}")
    else:
        with tarfile.open(path, "w:gz") as members:
            for file in files:
                members.add(file, f"in/{file.name}")
    return path


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
    for part, reason in zip(
        ("bad.json", "no such file", "cut.tar.gz", "no.zip", "no times", "no file has a name", "absent.tar"),
        reasons,
        strict=True,
    ):
        assert part in reason
    assert [len(f.records) for f in results if f.reject is None] == [1]


def test_one_file_at_a_time(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file is opened when its turn comes, not before."""
    opened: list[str] = []
    really = source.open_source

    def open_source(path: str | Path) -> source.Source:
        opened.append(Path(path).name)
        return really(path)

    monkeypatch.setattr(stream, "open_source", open_source)
    results = read_files([files / "raw.txt", files / "go.txt", files / "jmh.json"])
    assert opened == []
    next(results)
    assert opened == ["raw.txt"]
    next(results)
    assert opened == ["raw.txt", "go.txt"]


def test_patterns_and_unknown_formats(files: Path) -> None:
    assert [Path(f.path).name for f in read_files([str(files / "hyperfine-*.json")])] == [
        "hyperfine-failing.json",
        "hyperfine-memory.json",
    ]
    with pytest.raises(UsageError, match="no format 'excel'"):
        next(read_files([files / "raw.txt"], format="excel"))


def test_standard_input_is_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"1.5\n2.5\n")))
    (result,) = read_files(["-"])
    assert result.records[0].values.tolist() == [1.5, 2.5]

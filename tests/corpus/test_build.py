"""A corpus holds what its files hold, whatever happens while it is built."""

from __future__ import annotations

import errno
import io
import itertools
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace
from tests.corpus.made import Results, made_up, put

import speedproof as sp
from speedproof.corpus import build as building
from speedproof.corpus.build import build
from speedproof.corpus.place import Place
from speedproof.corpus.read import parts_of, read_records, rows_of
from speedproof.corpus.schema import File, Manifest, opened
from speedproof.data.record import FileResults, Record, Skipped
from speedproof.data.suite import Suite
from speedproof.errors import FormatError, SpeedproofError, UsageError
from speedproof.formats.suites import read_files
from speedproof.reporting.corpus import contents
from speedproof.reporting.text import render

FILES = Path(__file__).parents[1] / "data" / "formats"
GCC = Path(__file__).parents[2] / "examples" / "gcc"


def alike(found: Suite, expected: Suite) -> None:
    """Two suites hold the same samples, to the last bit and the last remark."""
    assert (set(found.versions), set(found.samples)) == (set(expected.versions), set(expected.samples))
    names = "unit direction label source traits notes session_names span tool values processes sessions"
    for place, sample in expected.samples.items():
        for name in names.split():
            same = np.array_equal(getattr(found.samples[place], name), getattr(sample, name))
            assert same, (place, name)


def suite_of(records: Iterable[Record | Skipped]) -> Suite:
    return Suite.from_records((r.version or "", r) for r in records)


def rows_in(results: Results) -> list[Record]:
    return [r for _, f in results for r in f.records]


def test_every_format_comes_back(tmp_path: Path) -> None:
    expected = [(f"x:{r.version}" if r.version else "x", r) for f in read_files([FILES]) for r in f.records]
    sp.Corpus.build([f"x={FILES}"], tmp_path / "c")
    assert len(expected) > 20
    alike(suite_of(read_records(str(tmp_path / "c"))), Suite.from_records(expected))


@pytest.mark.usefixtures("small_leaves")
def test_parts_hold_whole_benchmarks_and_all_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("speedproof.corpus.read.TASK", 30)
    place, manifest = opened(put(made_up(100), tmp_path / "c"))
    parts = [rows_of(place.lasting, files) for files in parts_of(manifest.files)]
    names = [{*rows["benchmark"].to_pylist()} for rows in parts]
    assert len(names) > 4
    assert sum(map(len, names)) == len(set().union(*names)) == 100


@pytest.mark.slow
@pytest.mark.usefixtures("small_leaves")
@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt])
def test_stopped_anywhere_a_build_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    """After kill -9 the k-th write never happens, nor anything after it; Ctrl-C comes before the k-th part."""
    monkeypatch.setattr(building, "ROWS", 7)
    results, write, stopped = made_up(24, files=2), Place.write, 0
    parts = in_parts(results)
    for k in itertools.count():
        left, place = k, Place.of(tmp_path / str(k))

        def count() -> None:
            nonlocal left
            if left == 0:
                raise error
            left -= 1

        def until(self: Place, file: str, content: bytes) -> None:
            count()
            write(self, file, content)

        def given(_: Any) -> Iterator[tuple[str, FileResults]]:
            for part in parts:
                if error is KeyboardInterrupt:
                    count()
                yield part

        if error is SystemExit:
            monkeypatch.setattr(Place, "write", until)
        try:
            build(place, given)
        except error:
            stopped += 1
        else:
            break
        monkeypatch.setattr(Place, "write", write)
        if error is KeyboardInterrupt:
            manifest = Manifest.of(place)
            assert manifest is not None
            assert manifest.rows == sum(f.rows for f in manifest.files)
            assert manifest.inputs == sum(not part.more for _, part in parts[:k])
        put(results, Path(place.name))
        found = list(read_records(place.name))
        alike(suite_of(found), suite_of(rows_in(results)))
        assert Manifest.of(place).rows == len(found) == 48  # type: ignore[union-attr]
    assert stopped > 12


def test_what_killed_processes_left_is_tidied_up(tmp_path: Path) -> None:
    """After a day: until then a process may be writing it still."""
    folder = put(made_up(20), tmp_path / "corpus")
    left = {name: folder / "answers" / "x" / f"part-00000.parquet.{name}.1.tmp" for name in ("new", "old")}
    (folder / "answers" / "x").mkdir(parents=True)
    for file in (*left.values(), folder / "inputs" / "note.txt"):
        file.touch()
    os.utime(left["old"], (0, 0))
    sp.Corpus(folder).compare("v0", "v1", out=folder / "answers" / "x", workers=1)
    assert [name for name, file in left.items() if file.exists()] == ["new"]
    build(Place.of(folder), lambda builder: [], append=True)
    assert [name for name, file in left.items() if file.exists()] == ["new"]
    assert {file.suffix for file in (folder / "inputs").iterdir()} == {".parquet"}


def test_a_benchmark_larger_than_memory_lies_in_several_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing larger than twice what a leaf may hold is ever in memory while a corpus is built."""
    monkeypatch.setattr(building, "VALUES", 60)
    sizes = []
    write = Place.write

    def watched(self: Place, file: str, content: bytes) -> None:
        if file.startswith("data"):
            sizes.append(sum(map(len, pq.read_table(io.BytesIO(content))["values"].to_pylist())))
        write(self, file, content)

    monkeypatch.setattr(Place, "write", watched)
    results = [one for k in range(30) for one in made_up(1, 2, files=1, n=20, seed=k)]
    place, manifest = opened(put(results, tmp_path / "c"))
    assert max(sizes) <= 120
    assert len(manifest.files) > 10
    assert len({f.prefix for f in manifest.files}) == len(parts_of(manifest.files)) == 1
    alike(suite_of(read_records(place.name)), suite_of(rows_in(results)))


def in_parts(results: Results) -> Results:
    return [
        (version, FileResults(f.path, f.records[k : k + 3], more=k + 3 < len(f.records)))
        for version, f in results
        for k in range(0, len(f.records), 3)
    ]


@pytest.mark.usefixtures("small_leaves")
def test_files_in_parts_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second file that proves bad at its end leaves nothing behind but its name."""
    monkeypatch.setattr(building, "ROWS", 7)
    results = made_up(40, files=3)
    whole, parts = put(results, tmp_path / "whole"), in_parts(results)
    at = next(k for k, (_, part) in enumerate(parts) if not part.more) + 1
    bad = FormatError("bad.csv", "line 9", "1,5 has a decimal comma")
    records = tuple(replace(r, version="bad") for r in results[0][1].records)
    parts[at:at] = [
        *in_parts([("", FileResults("bad.csv", (*records, *records[:1])))])[:-1],
        ("", FileResults("bad.csv", reject=bad)),
    ]
    assert parts[at + 8][1].more, "some of it is written before it proves bad"
    found = put(parts, tmp_path / "parts")
    alike(suite_of(read_records(str(found))), suite_of(rows_in(results)))
    (_, one), (_, other) = opened(whole), opened(found)
    for name in ("rows", "values", "versions", "metrics", "inputs"):
        assert getattr(other, name) == getattr(one, name)
    assert [row[0] for row in sp.Corpus(found).info().rejected] == ["bad.csv"]
    assert {*(found / "data").rglob("*.parquet")} == {found / f.path for f in other.files}


def test_of_a_thousand_things_left_out_each_is_named(tmp_path: Path) -> None:
    """And of more than that their number."""
    (tmp_path / "t.csv").write_text("benchmark,value\na,1\na,2\n" + "a,NA\n" * 1203)
    reasons = sp.Corpus.build([tmp_path / "t.csv"], tmp_path / "c").query("SELECT reason FROM rejects")
    assert (len(reasons), str(reasons["reason"][-1])) == (1001, "203 more were left out of this file")


def test_append_takes_what_is_new(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for name in ("a", "b"):
        (folder / f"{name}.txt").write_text("1.5\n1.6\n")
    corpus = sp.Corpus.build([folder], tmp_path / "c", unit="s")
    with pytest.raises(UsageError, match="add to it with append=True"):
        sp.Corpus.build([folder], tmp_path / "c")
    (folder / "c.txt").write_text("1.7\n")
    sp.Corpus.build([folder], tmp_path / "c", append=True)
    assert corpus.query("SELECT version FROM corpus ORDER BY row").to_pydict() == {"version": ["a", "b", "c"]}
    assert corpus.info().inputs == 3


def test_a_bad_file_is_named_and_stops_nothing(tmp_path: Path) -> None:
    bad, good = tmp_path / "bad.txt", tmp_path / "good.txt"
    bad.write_text("1.5\nERROR\n")
    good.write_text("1.5\n1.6\n")
    corpus = sp.Corpus.build([bad, good, tmp_path / "none.json"], tmp_path / "c")
    found = corpus.info()
    assert (found.rows, found.rejects) == (1, 2)
    assert [row[0] for row in found.rejected] == [str(bad), str(tmp_path / "none.json")]
    text = render(contents(replace(found, rejected=(("bad.txt", "line 2", "no number"),))), 90)
    assert "\n  bad.txt: line 2: no number\n" in text
    bad.write_text("1.5\n")
    sp.Corpus.build([bad], tmp_path / "c", append=True)
    assert [row[0] for row in corpus.info().rejected] == [str(tmp_path / "none.json")], "read at last"


def test_a_file_whose_name_is_no_text_is_taken(tmp_path: Path) -> None:
    """What stands for bytes that are no UTF-8 in its name is a question mark in the corpus."""
    good, bad = (tmp_path / os.fsdecode(name) for name in (b"a\xff.txt", b"b\xff.txt"))
    good.write_text("1\n2\n3\n")
    bad.write_text("1\nx\n")
    corpus = sp.Corpus.build([good, bad], tmp_path / "c")
    assert [Path(row["file"]).name for row in corpus.query("FROM rejects").to_pylist()] == ["b?.txt"]
    (sample,) = sp.read(corpus.place).samples.values()
    assert sample.values.tolist() == [1.0, 2.0, 3.0]
    assert sample.source.endswith("a?.txt")


def test_reading_nothing_at_all_is_an_error(tmp_path: Path) -> None:
    """Whether the corpus is new or not; a new one is not made, so that the next build needs no --append."""
    bad, good = tmp_path / "bad.txt", tmp_path / "good.txt"
    bad.write_text("ERROR\n")
    cut = tmp_path / "cut.json"
    cut.write_text('{"results": [{"command": 5, "times": [1, 2]}]}')
    good.write_text("1.5\n1.6\n")
    refused: list[tuple[list[Any], str]] = [
        ([bad, tmp_path / "none.json"], r"nothing could be read: .*bad\.txt: .*\(and 1 more\)"),
        ([cut], r"^nothing could be read: [^:]*cut\.json: results\[0\]\.command: "),
        ([], "the list names none"), ([good, f"{good}:good"], "takes files whole"),
    ]  # fmt: skip
    for files, told in refused:
        with pytest.raises(SpeedproofError, match=told):
            sp.Corpus.build(files, tmp_path / "c")
        assert [file.name for file in (tmp_path / "c").rglob("*") if file.is_file()] == [".lock"]
    corpus = sp.Corpus.build([good], tmp_path / "c")
    assert corpus.info().rejects == 0
    with pytest.raises(SpeedproofError, match="nothing could be read"):
        sp.Corpus.build([bad], tmp_path / "c", append=True)
    assert (corpus.info().rows, corpus.info().complete) == (1, True)
    sp.Corpus.build([good], tmp_path / "c", append=True)


def test_other_readers_find_plain_parquet(tmp_path: Path) -> None:
    folder = put(made_up(40), tmp_path / "corpus")
    rows = pq.read_table(folder / "data", partitioning=None).to_pylist()
    by_name = {(row["benchmark"], row["version"]): row["values"] for row in rows}
    assert by_name == {(r.benchmark, r.version): r.values.tolist() for r in rows_in(made_up(40))}
    (file,) = (folder / "data").rglob("*.parquet")
    metadata = pq.ParquetFile(file).metadata
    assert metadata.num_row_groups == 1
    columns = [metadata.row_group(0).column(i) for i in range(metadata.num_columns)]
    column = {one.path_in_schema: one for one in columns}
    statistics = column["benchmark"].statistics
    assert (statistics.min, statistics.max) == ("bench/00000", "bench/00039")
    assert column["values.list.element"].compression == "ZSTD"


def test_a_manifest_that_cannot_be_used(tmp_path: Path) -> None:
    file = put(made_up(3), tmp_path / "corpus") / "corpus.json"
    manifest = json.loads(file.read_text())
    for name, value, message in (("schema", 99, "schema 99.*newer"), ("rows", "many", "damaged.*rows")):
        file.write_text(json.dumps(manifest | {name: value}))
        with pytest.raises(SpeedproofError, match=message):
            sp.Corpus(file.parent)


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And a full disk is said in words."""
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(UsageError, match="other files"):
        sp.Corpus.build([GCC], tmp_path)
    with pytest.raises(UsageError, match="there is no corpus"):
        sp.Corpus(tmp_path)

    def full(self: Path, content: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(SpeedproofError, match="the disk is full"):
        sp.Corpus.build([GCC], tmp_path / "c")


def test_a_second_build_is_kept_out(tmp_path: Path) -> None:
    def nested(builder: Any) -> Any:
        with pytest.raises(UsageError, match="another build"):
            put(made_up(2), tmp_path / "new" / "c")
        assert not sp.Corpus(tmp_path / "new" / "c").info().complete
        return made_up(2)

    build(Place.of(tmp_path / "new" / "c"), nested)
    assert sp.Corpus(tmp_path / "new" / "c").info().rows == 4


def test_parts_of_a_huge_corpus_are_larger() -> None:
    """Whole leaves of equal work, of 4,096 rows each, four to a part where there are many."""
    for leaves, parts in ((16, 16), (16**3, 4096), (16**4, 16**4 // 4)):
        files = [File(f"data/{k:04x}/0.parquet", 4096, 0, 0) for k in range(leaves)]
        found = parts_of(files)
        assert [file for part in found for file in part] == [file.path for file in files]
        assert len(found) == parts

"""A corpus holds what its files hold, whatever happens while it is built."""

from __future__ import annotations

import errno
import io
import itertools
import json
import os
from collections import Counter
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
from speedproof.corpus.schema import File, columns, digest, opened
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


def sound(folder: Path) -> list[File]:
    """The files of a corpus: they are as the manifest says, below nodes that would hold too much."""
    place, manifest = opened(folder)
    numbers: list[int] = []
    for file in manifest.files:
        rows = place.table(file.path, columns())
        names = ("benchmark", "metric", "version", "row", "n", "values")
        *keys, sizes, values = (rows[name].to_pylist() for name in names)
        numbers += keys[-1]
        assert [*zip(*keys, strict=True)] == sorted(zip(*keys, strict=True))
        assert sizes == [*map(len, values)]
        assert (file.rows, file.values) == (len(sizes), sum(sizes))
        assert file.bytes == (folder / file.path).stat().st_size
        assert {digest(name)[: len(file.prefix)] for name in keys[0]} == {file.prefix}
        node = [f for f in manifest.files if file.prefix and f.prefix.startswith(file.prefix[:-1])]
        many = sum(f.rows for f in node) > building.ROWS or sum(f.values for f in node) > building.VALUES
        assert many or not node
    assert sorted(numbers) == [*range(manifest.rows)]
    assert (sum(f.values for f in manifest.files), manifest.complete) == (manifest.values, True)
    assert {*place.files("data")} == {file.path for file in manifest.files}
    return manifest.files


def test_every_format_comes_back(tmp_path: Path) -> None:
    expected = [(f"x:{r.version}" if r.version else "x", r) for f in read_files([FILES]) for r in f.records]
    sp.Corpus.build([f"x={FILES}"], tmp_path / "c")
    assert len(expected) > 20
    alike(suite_of(read_records(str(tmp_path / "c"))), Suite.from_records(expected))


@pytest.mark.usefixtures("small_leaves")
def test_parts_hold_whole_benchmarks_and_all_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("speedproof.corpus.read.TASK", 30)
    backwards = [(version, replace(f, records=f.records[::-1])) for version, f in made_up(100)]
    place = put(backwards, tmp_path / "c")
    assert len(sound(put(made_up(20), tmp_path / "forty rows"))) == 1
    parts = [rows_of(str(place), files) for files in parts_of(sound(place))]
    names = [{*rows["benchmark"].to_pylist()} for rows in parts]
    assert len(names) > 4
    assert sum(map(len, names)) == len(set().union(*names)) == 100


@pytest.mark.slow
def test_killed_anywhere_a_build_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After kill -9 the k-th write never happens, nor anything after it."""
    monkeypatch.setattr(building, "ROWS", 7)
    results, write = made_up(24, files=2), Place.write
    for k in itertools.count():
        left = k

        def until(self: Place, file: str, content: bytes) -> None:
            nonlocal left
            if left == 0:
                raise SystemExit
            left -= 1
            write(self, file, content)

        monkeypatch.setattr(Place, "write", until)
        try:
            build(Place.of(tmp_path / str(k)), lambda builder: in_parts(results))
        except SystemExit:
            monkeypatch.setattr(Place, "write", write)
        else:
            break
        sound(put(results, tmp_path / str(k)))
        alike(suite_of(read_records(str(tmp_path / str(k)))), suite_of(rows_in(results)))
    assert k > 12


@pytest.mark.parametrize("k", [0, 3, 8, 10])
def test_ctrl_c_keeps_whole_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, k: int) -> None:
    """Before the k-th of eight parts of each; nothing is asked of a corpus that is not complete."""
    monkeypatch.setattr(building, "ROWS", 7)
    results, folder = made_up(24, files=2), tmp_path / "c"

    def until(_: Any) -> Iterator[tuple[str, FileResults]]:
        yield from in_parts(results)[:k]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build(Place.of(folder), until)
    info, whole = sp.Corpus(folder).info(), k >= 8
    assert (info.rows, info.values, info.inputs, info.complete) == (24 * whole, 160 * whole, whole, False)
    with pytest.raises(UsageError, match="the build was cut short"):
        sp.Corpus(folder).compare(workers=1)
    sound(put(results, folder))
    alike(suite_of(read_records(str(folder))), suite_of(rows_in(results)))


def test_plain_values_of_one_file_are_a_row(tmp_path: Path) -> None:
    """Processes, blocks and times keep records apart."""
    four = np.arange(4)
    kinds: list[Any] = [{}, {"processes": four // 2}, {"blocks": four}, {"span": (1.0, 2.0)}]
    records = tuple(
        Record(f"b{i}", k + four / 1, version="v", path="f", where=str(k), **kinds[i])
        for i in range(4)
        for k in (1, 5)
    )
    folder = put([("", FileResults("f", records))], tmp_path / "c")
    alike(suite_of(read_records(str(folder))), suite_of(records))
    rows = sp.Corpus(folder).query("SELECT benchmark || ' ' || place AS at FROM corpus ORDER BY row")
    assert rows["at"].to_pylist() == ["b0 1", "b1 1", "b1 5", "b2 1", "b2 5", "b3 1", "b3 5"]


def test_what_killed_processes_left_is_tidied_up(tmp_path: Path) -> None:
    """After a day: until then a process may be writing it still."""
    folder = put(made_up(20), tmp_path / "corpus")
    left = {name: folder / "answers" / "x" / f"part-00000.parquet.{name}.1.tmp" for name in ("new", "old")}
    (folder / "answers" / "x").mkdir(parents=True)
    orphans = [
        folder / name for name in ("inputs/note.txt", "inputs/9.parquet", "data/9.parquet", "data/1.tmp")
    ]
    for file in (*left.values(), *orphans):
        file.touch()
    for file in (left["old"], orphans[-1]):
        os.utime(file, (0, 0))
    sp.Corpus(folder).compare("v0", "v1", out=folder / "answers" / "x", workers=1)
    assert [name for name, file in left.items() if file.exists()] == ["new"]
    build(Place.of(folder), lambda builder: [], append=True)
    assert [name for name, file in left.items() if file.exists()] == ["new"]
    assert [file.name for file in (folder / "inputs").iterdir()] == ["000002.parquet"]
    assert not orphans[-1].exists()
    sound(folder)


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
    files = sound(put(results, tmp_path / "c"))
    assert max(sizes) <= 120
    assert len(files) > 10
    assert ({f.prefix for f in files}, len(parts_of(files))) == ({digest("bench/00000")}, 1)
    alike(suite_of(read_records(str(tmp_path / "c"))), suite_of(rows_in(results)))


def in_parts(results: Results) -> Results:
    return [
        (version, FileResults(f.path, f.records[k : k + 3], more=k + 3 < len(f.records)))
        for version, f in results
        for k in range(0, len(f.records), 3)
    ]


@pytest.mark.usefixtures("small_leaves")
def test_files_in_parts_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that proves bad at its end leaves nothing behind but its name, or nothing at all where it is alone."""
    monkeypatch.setattr(building, "ROWS", 7)
    results = made_up(40, files=3)
    whole, parts = put(results, tmp_path / "whole"), [results[0], *in_parts(results[1:])]
    bad = FormatError("bad.csv", "line 9", "1,5 has a decimal comma")
    records = tuple(replace(r, version="bad") for r in results[0][1].records)
    broken = [
        *in_parts([("", FileResults("bad.csv", records))])[:-1],
        ("", FileResults("bad.csv", reject=bad)),
    ]
    assert len(broken) > 8, "some of it is written before it proves bad"
    with pytest.raises(SpeedproofError, match=r"nothing could be read: .*decimal comma"):
        put(broken, tmp_path / "none")
    assert not (tmp_path / "none").exists()
    found = put([parts[0], *broken, *parts[1:]], tmp_path / "parts")
    alike(suite_of(read_records(str(found))), suite_of(rows_in(results)))
    (_, one), (_, other) = opened(whole), opened(found)
    for name in ("rows", "values", "versions", "metrics", "inputs"):
        assert getattr(other, name) == getattr(one, name)
    assert [row[0] for row in sp.Corpus(found).info().rejected] == ["bad.csv"]
    more = made_up(40, files=2, seed=2)
    build(Place.of(whole), lambda builder: more, append=True)
    alike(suite_of(read_records(str(whole))), suite_of(rows_in([*results, *more])))
    for folder in (whole, found):
        files = sound(folder)
        assert len({file.prefix for file in files}) == len(files) > 16
        assert max(file.rows for file in files) <= 7


@pytest.mark.parametrize("first", [0, 600])
def test_of_a_thousand_things_left_out_each_is_named(tmp_path: Path, first: int) -> None:
    """And of more than that their number, also of a file in parts; what nobody need look at is not."""
    left_out = tuple(Skipped("f", f"line {k}", "a", "no number", expected=k % 2 > 0) for k in range(2406))
    parts = left_out[: 2 * first], left_out[2 * first :]
    found = [FileResults("f", (Record("a", np.ones(2)),), part, more=part is parts[0]) for part in parts]
    folder = put([("v", one) for one in found], tmp_path / "c")
    rows = sp.Corpus(folder).query("SELECT place, reason FROM rejects").to_pylist()
    assert [row["place"] for row in rows] == [*(f"line {k}" for k in range(0, 2000, 2)), ""]
    assert rows[-1]["reason"] == "203 more were left out of this file"


def test_append_takes_what_is_new_or_has_changed(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for name in ("a", "b"):
        (folder / f"{name}.txt").write_text("1.5\n1.6\n")
    corpus = sp.Corpus.build([folder], tmp_path / "c", unit="s")
    with pytest.raises(UsageError, match="add to it with append=True"):
        sp.Corpus.build([folder], tmp_path / "c")
    for name in ("b", "c"):
        (folder / f"{name}.txt").write_text("1.7\n")
    sp.Corpus.build([folder], tmp_path / "c", append=True)
    assert corpus.query("SELECT version FROM corpus ORDER BY row")["version"].to_pylist() == [*"abbc"]
    assert corpus.info().inputs == 4


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
    """Whether the corpus is new or not; of a new one nothing is left, not even a folder."""
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
        assert not (tmp_path / "c").exists()
    corpus = sp.Corpus.build([good], tmp_path / "c")
    assert corpus.info().rejects == 0
    with pytest.raises(SpeedproofError, match=r"nothing could be read: [^(]*$"):
        sp.Corpus.build([bad], tmp_path / "c", append=True)
    with pytest.raises(SpeedproofError, match="no file holds a sample"):
        build(Place.of(tmp_path / "d"), lambda builder: [])
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
        self.touch()
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(SpeedproofError, match="the disk is full"):
        sp.Corpus.build([GCC], tmp_path / "c" / "d")
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]
    with pytest.raises(UsageError, match="is a file; a corpus is a folder"):
        sp.Corpus.build([GCC], tmp_path / "thesis.tex")


def test_a_second_build_is_kept_out(tmp_path: Path) -> None:
    def nested(builder: Any) -> Any:
        with pytest.raises(UsageError, match="another build"):
            put(made_up(2), tmp_path / "new" / "c")
        assert not sp.Corpus(tmp_path / "new" / "c").info().complete
        return made_up(2)

    build(Place.of(tmp_path / "new" / "c"), nested)
    assert sp.Corpus(tmp_path / "new" / "c").info().rows == 4


def test_parts_are_of_equal_work() -> None:
    """4,096 rows or 2^21 values, four times as many where parts are many; a leaf is where its middle is."""
    many = [(1 << 12, 1 << 12), (1 << 13, 1 << 13), (1 << 14, 1 << 13), (1 << 16, 1 << 14)]
    for leaves, rows, values, parts in (
        (2, 100, 0, 1), (5, 2048, 0, 4), (5, 2, 1 << 20, 4), (16, 4096, 0, 16), (16, 2, 1 << 21, 16),
        *((leaves, 4096, 0, parts) for leaves, parts in many),
    ):  # fmt: skip
        files = [File(f"data/{k // 2:04x}/{k}.parquet", rows // 2, values // 2, 0) for k in range(2 * leaves)]
        found = parts_of(files)
        assert [file for part in found for file in part] == [file.path for file in files]
        places = [int((k + 0.5) / leaves * parts) for k in range(leaves)]
        assert [len(part) // 2 for part in found] == [*Counter(places).values()]

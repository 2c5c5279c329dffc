"""Raw text, CSV and the Speedup-Test configuration, against the numbers as they stand in the text."""

import csv
from pathlib import Path

import pytest
from tests.command import speedproof
from tests.formats.reading import split

import speedproof as sp
from speedproof.data.sample import Trait
from speedproof.errors import FormatError, UsageError
from speedproof.formats import ReadOptions, csvrecords
from speedproof.formats.suites import read as read_suite


def write(folder: Path, text: str, name: str = "f.txt") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_raw_text_comments_header_and_missing_values(files: Path) -> None:
    (record,), (missing,) = split(files / "raw.txt")
    assert record.values.tolist() == [v / 1e3 for v in (12.5, 12.25, 12.75, 13.0)]
    assert (record.benchmark, record.unit, record.metric) == ("raw", "s", "time")
    assert record.traits == {Trait.ORDER_KNOWN, Trait.MILLI}
    assert "1 missing value" in missing.reason
    assert missing.where == "line 6"


def test_a_unit_behind_a_blank_is_of_the_number_before_it(tmp_path: Path) -> None:
    (record,), _ = split(write(tmp_path, "1 ms 2 ms\n3 ms\n"))
    assert record.values.tolist() == pytest.approx([1e-3, 2e-3, 3e-3])


def test_files_of_different_commands_say_which_were_compared(tmp_path: Path) -> None:
    """Of hyperfine, whose commands are names; files of plain numbers have none."""
    texts = [f'{{"results": [{{"command": "{name}", "times": [1.0, 2.0]}}]}}' for name in ("old", "new")]
    paths = [write(tmp_path, text, f"{i}.json") for i, text in enumerate(texts)]
    assert all(
        s.notes == ("the commands 'old', 'new' were compared",) for s in sp.read(*paths).samples.values()
    )
    plain = [write(tmp_path, "1\n2\n", f"{i}.txt") for i in range(2)]
    assert all(s.notes == () for s in sp.read(*plain).samples.values())


def test_the_unit_of_the_user_serves_where_the_file_has_none(tmp_path: Path) -> None:
    for text in ("2\n3\n", "time\n2\n3\n", "bench,time\nx,2\nx,3\n", "bench,time (wall)\nx,2\nx,3\n"):
        (record,), _ = split(write(tmp_path, text), ReadOptions(unit="ms"))
        assert (record.values.tolist(), record.unit) == ([0.002, 0.003], "s")


@pytest.mark.parametrize(
    ("header", "unit"),
    [
        *((name, None) for name in ("time", "Times", "value", "wall time", "user,real", "sample")),
        *((name, "s") for name in ("seconds", "runtime [us]", '"elapsed_ns"', "ns per run", "anything (ms)")),
        ("cycles", "cycles"), ("bytes", "B"), ("KiB", "B"), ("time (ticks)", "ticks"), ("MB/s", "B/s"),
    ],
)  # fmt: skip
def test_a_header_names_a_quantity_or_a_unit_and_is_noted(
    tmp_path: Path, header: str, unit: str | None
) -> None:
    (record,), _ = split(write(tmp_path, f"{header}\n2\n3\n"), format="raw")
    assert (record.values.size, record.unit) == (2, unit or "")
    (note,) = record.notes
    assert note.startswith(f"line 1, {header.strip(chr(34))!r}, was taken as a header")
    assert ("names no unit" in note) == (unit is None)


@pytest.mark.parametrize(
    "word",
    ["inf", "-Infinity", "1O0.2", "FAILED", "ERROR", "x", "1_000", "timeout", "12,5", "sample 1", "in"],
)
def test_what_is_no_header_is_the_same_error_on_every_line(tmp_path: Path, word: str) -> None:
    messages = []
    for line, text in ((1, f"{word}\n1.5\n2.5\n"), (2, f"1.5\n{word}\n2.5\n")):
        for name in ("f.txt", "f"):
            with pytest.raises(FormatError) as caught:
                split(write(tmp_path, text, name), format="raw" if "," in word else None)
            assert caught.value.where == f"line {line}"
            messages.append(caught.value.message)
    assert len(set(messages)) == 1
    assert any(remedy in messages[0] for remedy in ("begin comments with #", "write NA", "write 12.5"))


def test_columns_of_numbers_under_names_are_not_pooled(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"line 2: 3 numbers under a header of 3 names.*CSV"):
        split(write(tmp_path, "real user sys\n1.5 1.2 0.3\n1.6 1.3 0.3\n"))


@pytest.mark.parametrize(("text", "values", "unit", "missing"), [
    ("96.981 ms\n97.5 ms\n", [96.981 / 1e3, 97.5 / 1e3], "s", 0),
    ("96.981ms 97.5ms\n", [96.981 / 1e3, 97.5 / 1e3], "s", 0),
    ("999 us\n1.5 ms\n2 s\n", [999 / 1e6, 1.5 / 1e3, 2.0], "s", 0),
    ("time (ms)\n3\n4 us\n", [3 / 1e3, 4 / 1e6], "s", 0), ("1e3 B\n2 KiB\n", [1000.0, 2048.0], "B", 0),
    ("5 cycles\n7 cycles\n", [5.0, 7.0], "cycles", 0), ("1 ms\nNA\nnan ms\n2 ms\n", [0.001, 0.002], "s", 2),
])  # fmt: skip
def test_numbers_with_their_unit(
    tmp_path: Path, text: str, values: list[float], unit: str, missing: int
) -> None:
    (record,), skipped = split(write(tmp_path, text))
    assert (record.values.tolist(), record.unit) == (values, unit)
    assert [item.reason.startswith(f"{missing} missing values") for item in skipped] == [True] * bool(missing)


@pytest.mark.parametrize(("text", "where", "word"), [
    ("1.5\ninf\n", "line 2", "no measurement"), ("NA\nNA\n", "", "no number"),
    ("only words\nand words\n", "line 1", "not a number"),
    ("time\ntime\n1\n", "line 2", "'time' is not a number"),
    ("1 ms\n2\n", "line 2", "a number without a unit where line 1 has one in ms; write all in one unit"),
    ("1\n\n2 ms\n", "line 3", "a number in ms where line 1 has one without a unit"),
    ("1 ms\n2 KiB\n", "line 2", "a number in KiB where line 1 has one in ms"),
    ("1 ms\n2 m\n", "line 2", "'m' is not a number"), ("1 foo\n2 foo\n", "line 1", "'foo' is not a number"),
    ("1 ms ms\n", "line 1", "'ms' is not a number"),
])  # fmt: skip
def test_raw_text_errors_name_line_and_remedy(tmp_path: Path, text: str, where: str, word: str) -> None:
    with pytest.raises(FormatError) as caught:
        split(write(tmp_path, text), format="raw")
    assert caught.value.where == where
    assert word in caught.value.message


def test_sorted_values_are_said_to_be_sorted(tmp_path: Path) -> None:
    (record,), _ = split(write(tmp_path, "\n".join(str(v) for v in range(1, 31))))
    assert Trait.SORTED in record.traits
    assert Trait.ORDER_KNOWN not in record.traits
    assert record.notes
    (constant,), _ = split(write(tmp_path, "3\n" * 30))
    assert constant.traits == {Trait.ORDER_KNOWN}


def test_long_csv_against_the_csv_module(files: Path) -> None:
    records, skipped = split(files / "long.csv")
    expected: dict[tuple[str, str | None], list[float]] = {}
    with (files / "long.csv").open(newline="") as stream:
        for row in sorted(csv.DictReader(stream), key=lambda r: (r["process"], int(r["run"]))):
            if row["time_ms"] != "NA":
                expected.setdefault((row["benchmark"], row["version"]), []).append(
                    float(row["time_ms"]) / 1e3
                )
    assert {(r.benchmark, r.version): r.values.tolist() for r in records} == expected
    old = next(r for r in records if r.version == "old")
    assert old.processes is not None
    assert old.processes.tolist() == [0, 0, 1]
    assert ("host", "alpha") in old.fields
    assert [(s.where, s.benchmark) for s in skipped] == [("line 6", "sort")]


def test_a_quoted_cell_is_no_comment(tmp_path: Path) -> None:
    lines = [
        '# by hand, "so"',
        "benchmark,value",
        '"#1 sort",2',
        "#x,3",
        ' # y "',
        '"a',
        '#b",4',
        '"#1 sort",5',
    ]
    records, _ = split(write(tmp_path, "\n".join(lines), "f.csv"))
    assert [(r.benchmark, r.values.tolist(), r.where) for r in records] == [
        ("#1 sort", [2.0, 5.0], "line 3"),
        ("a#b", [4.0], "line 7"),
    ]


@pytest.mark.parametrize(
    ("text", "where", "begins"),
    [
        ("name,time_ms\n#c,4\na,1\n", "line 2", "the line begins with #"),
        ("name,time_ms\na,1\n\n # c,4\n# by, hand\n# 1\n#d,5\n", "line 4", "2 lines from here on begin"),
        ("name,old,new\na,1,2\n#b,NA,4\n", "line 3", "the line begins with #"),
    ],
)
def test_a_comment_that_looks_like_a_row_is_told(tmp_path: Path, text: str, where: str, begins: str) -> None:
    records, (left_out,) = split(write(tmp_path, text, "f.csv"))
    assert ({r.benchmark for r in records}, left_out.where, left_out.expected) == ({"a"}, where, False)
    assert left_out.reason.startswith(begins)


def test_other_comments_are_not_told(tmp_path: Path) -> None:
    text = "# seed,4\n# name,time\nname,time_ms\n# by, hand\n# 1,2,3\na,1\n#\n#4\n"
    (record,), skipped = split(write(tmp_path, text, "f.csv"))
    assert (record.values.tolist(), skipped) == ([0.001], [])


def test_rows_like_comments_are_counted_in_every_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csvrecords, "BLOCK", 64)
    text = "name,time_ms\n" + "a,1\n#b,2\nb,3\n" * 40
    _, (left_out,) = split(write(tmp_path, text, "f.csv"))
    assert left_out.where == "line 3"
    assert left_out.reason.startswith("40 lines")


@pytest.mark.parametrize(
    "text",
    ["python,3.12,3.13\nsort,2,1\n", "threads,1,2,4\nsort,3,2,1\nhash,3,2,1\n", "benchmark,3.12\nsort,2\n"],
)
def test_columns_may_be_named_by_numbers(tmp_path: Path, text: str) -> None:
    records, _ = split(write(tmp_path, text, "f.csv"))
    assert [r.version for r in records] == text.split("\n", 1)[0].split(",")[1:]


@pytest.mark.parametrize(("names", "versions", "told"), [
    ("v1,v2", ["v1", "v2"], False), ("run1,run2", [None], False), ("1,2", [None], False),
    ("x1,x2", [None], True), ("4,8", [None], True),
])  # fmt: skip
def test_numbered_columns_are_runs_or_versions(
    tmp_path: Path, names: str, versions: list[str | None], told: bool
) -> None:
    path = write(tmp_path, f"benchmark,{names}\nsort,10,20\n", "f.csv")
    records, _ = split(path)
    assert [r.version for r in records] == versions
    assert any("wide by version" in note for r in records for note in r.notes) == told
    records, _ = split(path, ReadOptions(wide="version"))
    assert [(r.version, r.values.tolist(), r.notes) for r in records] == [
        (name, [value], ()) for name, value in zip(names.split(","), (10.0, 20.0), strict=True)
    ]


def test_the_table_of_ripgreps_benchsuite(tmp_path: Path) -> None:
    """Its programs are the versions of every benchmark, and its durations seconds."""
    rows = [("a", "rg", 0.5), ("a", "rg", 0.25), ("a", "grep", 2.5), ("b", "rg", 0.75), ("b", "grep", 3.0)]
    lines = [f'{b},1,2,{name},"{name} x, y",{time},68,' for b, name, time in rows]
    header = "benchmark,warmup_iter,iter,name,command,duration,lines,env"
    records, _ = split(write(tmp_path, "\n".join([header, *lines]), "raw.csv"))
    assert [(r.benchmark, r.version, r.values.tolist(), r.unit) for r in records] == [
        ("a", "rg", [0.5, 0.25], "s"), ("a", "grep", [2.5], "s"), ("b", "rg", [0.75], "s"),
        ("b", "grep", [3.0], "s"),
    ]  # fmt: skip


def test_matrix_of_benchmarks_by_runs(files: Path) -> None:
    records, _ = split(files / "matrix.csv")
    assert [(r.benchmark, r.version, r.values.tolist()) for r in records] == [
        ("sort", None, [3.0, 1.0, 2.0]),
        ("hash", None, [5.0, 6.0, 4.0]),
    ]


def test_pandas_index_is_no_version(tmp_path: Path) -> None:
    records, (left_out,) = split(write(tmp_path, ",old,new,host\n0,1.5,1.25,a\n1,1.75,1.5,a\n"))
    assert [(r.version, r.values.tolist()) for r in records] == [("old", [1.5, 1.75]), ("new", [1.25, 1.5])]
    assert left_out.reason.endswith("left out: host")


def test_columns_by_option(tmp_path: Path) -> None:
    path = write(tmp_path, "what,who,took,in\nsort,me,3,ms\nsort,you,2,us\n")
    options = ReadOptions(columns={"benchmark": "what", "version": "who", "value": "took", "unit": "in"})
    records, _ = split(path, options)
    assert [(r.version, r.values.tolist(), r.unit) for r in records] == [
        ("me", [0.003], "s"),
        ("you", [2e-06], "s"),
    ]


@pytest.mark.parametrize(
    ("text", "where", "word"),
    [
        *(
            (text, "line 1", "add a header")
            for text in ("1.5,2.5\n1.6,2.6\n", "a,1\na,2\nb,3\n", "a,1,2\nb,2,3\na,3,4\n")
        ),
        ("1,5\n1,6\n", "line 1", "write 1.5 for 1,5"),
        ("96,981 ms\n97,1 ms\n", "line 1", "write 1.5 for 1,5"),
        ("a,b\n1,2\n1\n", "line 3", "1 cell where the header has 2"),
        ("a,b\n1,2\n1,2,3\n", "line 3", "3 cells where the header has 2"),
        ("a;b\n1,5;2\n", "line 2, column a", "write 1.5"),
        ("a,a\n1,2\n", "line 1", "two columns are named 'a'"),
        ("a,b\nx,y\n", "header", "name one as column value=NAME"),
        ('a,b\n"1,2\n', "line", "not CSV"),
        ("# nothing\n", "", "no rows"),
        ("# x\n#name,time_ms\na,1\nb,2\n", "line 2", "remove the #"),
        ("# name,old,new\na,1,2\nb,2,3\n", "line 1", "remove the #"),
    ],
)
def test_csv_errors_name_place_and_remedy(tmp_path: Path, text: str, where: str, word: str) -> None:
    with pytest.raises(FormatError) as caught:
        split(write(tmp_path, text), format="csv")
    assert caught.value.where.startswith(where)
    assert word in caught.value.message


def test_a_header_with_an_unnamed_first_cell_and_numbered_runs(tmp_path: Path) -> None:
    records, _ = split(write(tmp_path, ",1,2\nx,3,4\n"), format="csv")
    assert [(r.version, r.values.tolist()) for r in records] == [("1", [3.0]), ("2", [4.0])]


def test_unknown_column_and_role(files: Path) -> None:
    with pytest.raises(FormatError, match="there is no column 'speed'; available: benchmark"):
        split(files / "long.csv", ReadOptions(columns={"value": "speed"}))
    with pytest.raises(UsageError, match="not a role"):
        ReadOptions(columns={"colour": "x"})


def test_speedup_test_configuration_names_the_line_of_everything(tmp_path: Path) -> None:
    """And the command does: what is left out, and which unit was not used, once."""
    write(tmp_path, "time (us)\n1\nNA\n2\n", "a.txt")
    write(tmp_path, "1\nFAILED\n", "b.txt")
    rows = ["", "x,a.txt,a.txt", ",a.txt,a.txt", "y,a.txt,b.txt", "z,,a.txt", "x,a.txt,a.txt,,,9"]
    path = write(tmp_path, "\n".join(["Name,Sample1,Sample2,ConfLevel,Coef", *rows]), "c.csv")
    records, skipped = split(path, ReadOptions(unit="ms"))
    assert {s.path for s in skipped} == {str(path)}
    assert [(s.where, s.benchmark) for s in skipped] == [
        ("line 3", "x"), ("line 3", "x"), ("line 4", ""), ("line 5", "y"), ("line 6", "z"),
        ("line 7", "x #2"), ("line 7", "x #2"),
    ]  # fmt: skip
    assert "Sample1" in skipped[0].reason
    assert "line 3: 1 missing value" in skipped[0].reason
    assert "b.txt: line 2: 'FAILED' is not a number" in skipped[3].reason
    assert all(r.values.tolist() == [1e-6, 2e-6] for r in records), "the samples name their unit"
    for record in records:
        assert any(
            "names the unit us, so ms, which was asked for, was not used" in note for note in record.notes
        )
    remarks = " ".join(records[-1].notes)
    assert "line 7: 'x' is the name in line 3 too; here it is 'x #2'" in remarks
    assert "line 7: 1 cell beyond the header not used" in remarks
    code, _, err = speedproof("suite", path, "--unit", "ms")
    assert [line for line in err.splitlines() if line.startswith("left")] == [
        f"left out: {s}" for s in skipped
    ]
    assert (code, err.count("names the unit us, so ms, which was asked for, was not used")) == (2, 1)


def test_csv_files_without_names_are_versions_of_one_thing(tmp_path: Path) -> None:
    """As plain numbers are: nothing in them says that they are of different benchmarks."""
    for name, text in (("a", "value,unit\n1,ms\n2,ms\n"), ("b", "time_ms\n3\n4\n"), ("c", "5 ms\n6 ms\n")):
        (tmp_path / f"{name}.{'txt' if name == 'c' else 'csv'}").write_text(text)
    suite = read_suite(tmp_path / "a.csv", tmp_path / "b.csv", tmp_path / "c.txt")
    assert [(k.benchmark, version) for k, version in suite.samples] == [("values", v) for v in "abc"]
    (tmp_path / "d.csv").write_text("benchmark,value,unit\nb,5,ms\n")
    assert {k.benchmark for k in read_suite(tmp_path / "a.csv", tmp_path / "d.csv").keys} == {"a", "b"}


@pytest.mark.parametrize("text", ["1\n2\n", "[[1, 3, 3], [4, 5, 6]]", "[[1, 2, 3], [4, 5, 6]]"])
def test_numbers_alone_are_versions_of_one_thing(text: str, tmp_path: Path) -> None:
    """Wherever two versions come from: two files, or a folder of them."""
    for name in ("a", "b"):
        (tmp_path / f"{name}.{'json' if '[' in text else 'txt'}").write_text(text)
    of_folder = read_suite(tmp_path)
    assert read_suite(*sorted(tmp_path.iterdir())).keys == of_folder.keys
    assert (of_folder.benchmarks, of_folder.versions) == (("values",), ("a", "b"))


def test_benchmarks_of_one_files_versions_are_matched_by_position(tmp_path: Path) -> None:
    """As those of two files are; a row without a version is the file's."""
    path = tmp_path / "t.csv"
    path.write_text("version,benchmark,time_ms\nold,sort,1\nnew,sort2,2\nold,hash,3\nnew,hash2,4\n")
    pairs = read_suite(path, match="position").pair("old", "new").pairs
    assert [pair.key.benchmark for pair in pairs] == ["sort", "hash"]
    path.write_text("version,benchmark,time_ms\nold,sort,1\n,sort,2\n")
    assert read_suite(path).versions == ("old", "t")


@pytest.mark.parametrize(("text", "versions"), [
    ("sort,1.5,2.5\nhash,1.75,2.25\n", None), ("what,3.11,3.12\nsort,0.5,0.25\n", ["3.11", "3.12"]),
    ("program,1.5,2.5\nsort,1.5,2.5\n", ["1.5", "2.5"]), ("what,1,2\nsort,1.5,2.5\n", ["1", "2"]),
])  # fmt: skip
def test_fractions_that_might_stand_below_are_no_header(
    text: str, versions: list[str] | None, tmp_path: Path
) -> None:
    """Releases, threads and runs are names of columns, and so is what stands beside a role."""
    path = tmp_path / "t.csv"
    path.write_text(text)
    if versions is None:
        with pytest.raises(FormatError, match="line 1: numbers where column names are expected"):
            split(path)
    else:
        assert [r.version for r in split(path)[0]] == versions


def test_nan_is_not_a_missing_cell(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("benchmark,value\na,NaN\na,NA\na,1.5\n")
    assert [item.reason for item in split(path)[1]] == ["the value is NaN", "the value is missing"]

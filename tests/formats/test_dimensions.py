"""Parameters inside names, projected onto versions and benchmarks; matching by position; the order of files."""

import json
from pathlib import Path

import pytest

from speedproof.errors import FormatError, UsageError
from speedproof.formats.suites import read as read_suite
from speedproof.formats.versions import dimensions, named, without


@pytest.mark.parametrize(("name", "found"), [
    ("org.Bench.sort:lib=ACM,size=10", {"name": "org.Bench.sort", "lib": "ACM", "size": "10"}),
    ("Encode/format=json/gzip", {"name": "Encode", "format": "json", "/2": "gzip"}),
    ("BM_copy/size:512/threads:4", {"name": "BM_copy", "size": "512", "threads": "4"}),
    ("BM_sort/512", {"name": "BM_sort", "/1": "512"}),
    ("test_sort[x-1]", {"name": "test_sort", "/1": "x", "/2": "1"}),
    ("suite.time_sort(100, 'asc')", {"name": "suite.time_sort", "/1": "100", "/2": "'asc'"}),
    ("Demo.Sorts.Merge(N: 10, Kind: a)", {"name": "Demo.Sorts.Merge", "N": "10", "Kind": "a"}),
    ("sort n=10 kind=a", {"name": "sort", "n": "10", "kind": "a"}),
    ("BM_sort/kind=x y/512", {"name": "BM_sort", "kind": "x y", "/2": "512"}),
    ("NBody:inputSize=10", {"name": "NBody", "inputSize": "10"}), ("std::sort", {"name": "std::sort"}),
    ("plain", {"name": "plain"}),
])  # fmt: skip
def test_names_are_taken_apart_as_their_tools_write_them(name: str, found: dict[str, str]) -> None:
    assert dimensions(name, ()) == {"benchmark": name, **found}
    for dimension, value in found.items():
        if dimension != "name":
            left = without(name, {dimension: value}, bare=True)
            assert left != name
            again = dimensions(left, ())
            assert again["name"] == found["name"]
            assert value not in (v for k, v in again.items() if k not in ("benchmark", "name"))


def test_go_parameters_as_versions(tmp_path: Path) -> None:
    path = tmp_path / "go.txt"
    path.write_text(
        "BenchmarkEncode/format=json-8 9 50 ns/op\nBenchmarkEncode/format=gob-8 9 20 ns/op\n"
        "BenchmarkDecode/format=json-8 9 60 ns/op\nBenchmarkDecode/format=gob-8 9 30 ns/op\n"
    )
    suite = read_suite(path, by="format")
    assert (suite.versions, suite.benchmarks) == (("json", "gob"), ("Encode", "Decode"))
    assert len(suite.pair("json", "gob").pairs) == 2


def test_parts_by_place_are_those_of_the_whole_name(tmp_path: Path) -> None:
    """The second part is the second, also when the first has become a version."""
    path = tmp_path / "go.txt"
    parts = ("x/y/p", "x/z/q", "w/y/p", "w/z/q")
    path.write_text("".join(f"BenchmarkF/{part} 9 50 ns/op\n" for part in parts))
    suite = read_suite(path, by=("/1", "/2"))
    assert (suite.versions, suite.benchmarks) == (("x/y", "x/z", "w/y", "w/z"), ("F/p", "F/q"))


def test_hyperfine_parameters_as_versions(files: Path) -> None:
    """-L n 1,2 of 'sleep 0.00{n}': the two commands are one benchmark of two versions."""
    suite = read_suite(files / "hyperfine.json", by="n")
    assert (suite.versions, suite.benchmarks) == (("1", "2"), ("sleep 0.00{n}",))


def test_hyperfine_value_that_occurs_twice(tmp_path: Path) -> None:
    results = [
        {"command": f"sort -j 1 --size {n} f1", "times": [1.0, 2.0], "parameters": {"n": str(n)}}
        for n in (1, 2)
    ]
    path = tmp_path / "h.json"
    path.write_text(json.dumps({"results": results}))
    assert read_suite(path, by="n").benchmarks == ("sort -j 1 --size {n} f1",)


def test_jmh_parameters_as_versions_and_rows(tmp_path: Path) -> None:
    results = [{
        "benchmark": "B.sort", "mode": "avgt", "params": {"lib": lib, "size": size},
        "primaryMetric": {"scoreUnit": "ms/op", "rawData": [[1.0, 2.0]]},
    } for lib in ("ACM", "JDK") for size in ("10", "99")]  # fmt: skip
    path = tmp_path / "j.json"
    path.write_text(json.dumps(results))
    suite = read_suite(path, by="lib")
    assert (suite.versions, suite.benchmarks) == (("ACM", "JDK"), ("B.sort:size=10", "B.sort:size=99"))
    suite = read_suite(path, by="lib,size")
    assert (suite.versions[0], suite.benchmarks) == ("lib=ACM/size=10", ("B.sort",))
    suite = read_suite(path, by="lib", rows="name")
    assert (suite.benchmarks, [s.n for s in suite.samples.values()]) == (("B.sort",), [4, 4])
    assert "size" in {residue.field for residue in suite.residue}, "what was pooled is said"


def test_pytest_parameters_as_versions(tmp_path: Path) -> None:
    benchmarks = [
        {"name": f"t[{a}-{n}]", "fullname": f"x.py::t[{a}-{n}]", "params": {"n": n, "a": a},
         "stats": {"rounds": 2, "data": [1.0, 2.0]}}
        for a in ("x", "y") for n in (1, 2)
    ]  # fmt: skip
    path = tmp_path / "p.json"
    path.write_text(json.dumps({"benchmarks": benchmarks, "machine_info": {}}))
    suite = read_suite(path, by="a")
    assert (suite.versions, suite.benchmarks) == (("x", "y"), ("x.py::t[1]", "x.py::t[2]"))


def test_a_field_beside_the_names_changes_none(tmp_path: Path) -> None:
    """The number of processors is 8, and so is a part of a name that both versions have."""
    path = tmp_path / "go.txt"
    path.write_text("cpu: 8\nBenchmarkA/8 9 50 ns/op\ncpu: 4\nBenchmarkA/8 9 20 ns/op\n")
    suite = read_suite(path, by="cpu")
    assert (suite.versions, suite.benchmarks) == (("8", "4"), ("A/8",))


def test_an_unknown_dimension_names_the_known(files: Path) -> None:
    with pytest.raises(UsageError, match=r"by='speed': the fields of these results are .*\bn\b"):
        read_suite(files / "hyperfine.json", by="speed")
    with pytest.raises(UsageError, match="rows='speed': "):
        read_suite(files / "hyperfine.json", rows="speed")


def test_commands_are_matched_by_position_on_request(tmp_path: Path) -> None:
    for name, commands in (("a", ("./a sort", "./a hash")), ("b", ("./b sort", "./b hash")), ("c", ("x",))):
        results = [{"command": c, "times": [1.0, 2.0]} for c in commands]
        (tmp_path / f"{name}.json").write_text(json.dumps({"results": results}))
    a, b, c = (tmp_path / f"{name}.json" for name in "abc")
    assert read_suite(a, b).pair("a", "b").pairs == ()
    pairs = read_suite(a, b, match="position").pair("a", "b").pairs
    assert [p.key.benchmark for p in pairs] == ["./a sort", "./a hash"]
    assert "'./b hash' is compared as './a hash', by its position" in pairs[1].candidate.notes
    with pytest.raises(UsageError, match=r"c\.json has 1 benchmarks and .*a\.json has 2"):
        read_suite(a, c, match="position")


def test_numbered_and_dated_files_are_in_their_own_order(tmp_path: Path) -> None:
    for name in ("v10", "v9", "v2", "2025-02-11", "2025-2-9", "v2.1"):
        (tmp_path / f"{name}.csv").write_text("benchmark,time_ms\nsort,1.5\nsort,1.6\n")
    assert read_suite(tmp_path).versions == ("2025-2-9", "2025-02-11", "v2", "v2.1", "v9", "v10")


def test_factorial_csv(tmp_path: Path) -> None:
    """Program x threads x compiler, a row a run: as the authors of the affinity study keep their measurements."""
    rows = [
        f"{program},{threads},{compiler},{k},{k + threads}"
        for program in ("swim", "bwaves") for threads in (2, 4) for compiler in ("gcc", "icc") for k in (1, 2, 3)
    ]  # fmt: skip
    path = tmp_path / "f.csv"
    path.write_text("\n".join(["program,threads,compiler,run,time", *rows]))
    columns = {"benchmark": "program,threads", "version": "compiler"}
    suite = read_suite(path, columns=columns, unit="s")
    assert suite.versions == ("gcc", "icc")
    assert suite.benchmarks == tuple(f"program={p}/threads={n}" for p in ("swim", "bwaves") for n in (2, 4))
    values = {tuple(s.values.tolist()) for s in suite["program=swim/threads=4"].samples.values()}
    assert values == {(5.0, 6.0, 7.0)}
    with pytest.raises(FormatError, match="there is no column 'affinity'"):
        read_suite(path, columns={"benchmark": "program,affinity"})


@pytest.fixture
def mazouz(tmp_path: Path) -> Path:
    """Names as those of the affinity study: numbers first, with a blank, and numbers alone."""
    path = tmp_path / "f.csv"
    path.write_text("program,compiler,affinity,threads,time\n" + "".join(
        f"{program},{compiler},{affinity},{threads},{k}.5\n"
        for program in ("330.art_m", "312.swim_m") for compiler in ("gcc", "icc")
        for affinity in ("no affinity", "compact") for threads in (2, 6) for k in (1, 2)
    ))  # fmt: skip
    return path


COLUMNS = {"benchmark": "program,affinity,threads", "version": "compiler"}


def test_all_fields_of_a_factorial_name_are_named(mazouz: Path) -> None:
    suite = read_suite(mazouz, columns=COLUMNS)
    assert suite.benchmarks[0] == "program=330.art_m/affinity=no affinity/threads=2"
    assert all(name.count("=") == 3 for name in suite.benchmarks)
    words = read_suite(mazouz, columns={"benchmark": "compiler,affinity"})
    assert words.benchmarks[0] == "gcc/no affinity", "words need no names"


@pytest.mark.parametrize(("by", "rows", "versions", "benchmark"), [
    ("affinity", (), ("no affinity", "compact"), "program=330.art_m/threads=2, gcc"),
    ("program", (), ("330.art_m", "312.swim_m"), "affinity=no affinity/threads=2, gcc"),
    ("threads", "program", ("2", "6"), "330.art_m, gcc"),
    ("affinity", "program,threads", ("no affinity", "compact"), "program=330.art_m/threads=2, gcc"),
    ((), "program", ("gcc", "icc"), "330.art_m"),
])  # fmt: skip
def test_fields_of_factorial_names(
    mazouz: Path, by: str, rows: str, versions: tuple[str, ...], benchmark: str
) -> None:
    """Each becomes a version or names the row, the first one, too; compilers are never pooled."""
    suite = read_suite(mazouz, columns=COLUMNS, by=by, rows=rows)
    assert (suite.versions, suite.benchmarks[0]) == (versions, benchmark)
    assert len(suite.keys) * len(versions) == len(suite.samples)


def test_a_name_of_which_all_fields_are_versions(mazouz: Path) -> None:
    suite = read_suite(mazouz, by="program,threads", columns={"benchmark": "program,threads"})
    assert (suite.versions[0], suite.benchmarks) == ("program=330.art_m/threads=2", ("values",))


@pytest.mark.parametrize(("url", "version"), [
    ("s3://b/c", "v1"), ("s3://b/c", "12"), ("s3://b/c?endpoint_override=127.0.0.1:9000", ""),
    ("s3://b/c?endpoint_override=localhost", "v1"),
])  # fmt: skip
def test_the_version_behind_a_url_is_not_its_port(url: str, version: str) -> None:
    """A number at the end of an address in the URL's options is its port."""
    asked = named(f"{url}:{version}" if version else url)
    assert (asked.paths, asked.version) == ((url,), version)

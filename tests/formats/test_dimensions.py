"""Parameters inside names, projected onto versions and benchmarks; matching by position; the order of files."""

import json
from pathlib import Path
from typing import Any

import pytest

from speedproof.data.units import Direction
from speedproof.errors import FormatError, SpeedproofError, UsageError
from speedproof.formats.suites import read as read_suite
from speedproof.formats.versions import named

GO = "Benchmark{} 9 50 ns/op\n"
HYPERFINE = [
    {"command": f"sort -j 1 --size {n} f1", "times": [1.0, 2.0], "parameters": {"n": n}} for n in ("1", "2")
]
PYTEST = [
    {"name": f"t[{a}-{n}]", "fullname": f"x.py::t[{a}-{n}]", "params": {"n": n, "a": a},
     "stats": {"rounds": 2, "data": [1.0, 2.0]}}
    for a in ("x", "y") for n in (1, 2)
]  # fmt: skip


@pytest.mark.parametrize(("content", "by", "versions", "benchmarks"), [
    ([f"{b}/format={f}-8" for b in ("Encode", "Decode") for f in ("json", "gob")], "format",
     ("json", "gob"), ("Encode", "Decode")),
    # The second part is the second, also when the first has become a version.
    (["F/x/y/p", "F/x/z/q", "F/w/y/p", "F/w/z/q"], ("/1", "/2"), ("x/y", "x/z", "w/y", "w/z"), ("F/p", "F/q")),
    # The number of processors is 8, and so is a part of a name that both versions have.
    (f"cpu: 8\n{GO}cpu: 4\n{GO}".replace("{}", "A/8"), "cpu", ("8", "4"), ("A/8",)),
    # A value that the command has elsewhere, too, stays there.
    ({"results": HYPERFINE}, "n", ("1", "2"), ("sort -j 1 --size {n} f1",)),
    ({"benchmarks": PYTEST, "machine_info": {}}, "a", ("x", "y"), ("x.py::t[1]", "x.py::t[2]")),
])  # fmt: skip
def test_parameters_as_versions(
    tmp_path: Path, content: Any, by: Any, versions: tuple[str, ...], benchmarks: tuple[str, ...]
) -> None:
    text = "".join(map(GO.format, content)) if isinstance(content, list) else content
    (tmp_path / "results").write_text(text if isinstance(text, str) else json.dumps(text))
    suite = read_suite(tmp_path / "results", by=by)
    assert (suite.versions, suite.benchmarks) == (versions, benchmarks)
    assert len(suite.pair(*versions[:2]).pairs) == len(benchmarks) or by == ("/1", "/2")


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
    # Those of one file's versions, too; a row without a version is the file's.
    path = tmp_path / "t.csv"
    path.write_text("version,benchmark,time_ms\nold,sort,1\nnew,sort2,2\nold,hash,3\nnew,hash2,4\n")
    pairs = read_suite(path, match="position").pair("old", "new").pairs
    assert [pair.key.benchmark for pair in pairs] == ["sort", "hash"]
    path.write_text("version,benchmark,time_ms\nold,sort,1\n,sort,2\n")
    assert read_suite(path).versions == ("old", "t")


def test_numbered_and_dated_files_are_in_their_own_order(tmp_path: Path) -> None:
    for name in ("v10", "v9", "v2", "2025-02-11", "2025-2-9", "v2.1"):
        (tmp_path / f"{name}.csv").write_text("benchmark,time_ms\nsort,1.5\nsort,1.6\n")
    assert read_suite(tmp_path).versions == ("2025-2-9", "2025-02-11", "v2", "v2.1", "v9", "v10")


def test_factorial_csv(tmp_path: Path) -> None:
    """Program x compiler x affinity x threads, a row a run, under the names of the affinity study."""
    path = tmp_path / "f.csv"
    path.write_text("program,compiler,affinity,threads,time\n" + "".join(
        f"{program},{compiler},{affinity},{threads},{k + threads}\n"
        for program in ("330.art_m", "312.swim_m") for compiler in ("gcc", "icc")
        for affinity in ("no affinity", "compact") for threads in (2, 6) for k in (1, 2, 3)
    ))  # fmt: skip
    suite = read_suite(
        path, columns={"benchmark": "program,affinity,threads", "version": "compiler"}, unit="s"
    )
    assert suite.versions == ("gcc", "icc")
    assert suite.benchmarks == tuple(
        f"program={p}/affinity={a}/threads={n}"
        for p in ("330.art_m", "312.swim_m") for a in ("no affinity", "compact") for n in (2, 6)
    )  # fmt: skip
    values = {tuple(s.values.tolist()) for s in suite[suite.benchmarks[1]].samples.values()}
    assert values == {(7.0, 8.0, 9.0)}
    words = read_suite(path, columns={"benchmark": "compiler,affinity"})
    assert words.benchmarks[0] == "gcc/no affinity", "words need no names"
    whole = read_suite(path, by="program,threads", columns={"benchmark": "program,threads"})
    assert (whole.versions[0], whole.benchmarks) == ("program=330.art_m/threads=2", ("values",))
    with pytest.raises(FormatError, match="there is no column 'socket'"):
        read_suite(path, columns={"benchmark": "program,socket"})


@pytest.mark.parametrize(("text", "name", "paths", "version"), [
    ("s3://b/c:v1", "", ["s3://b/c"], "v1"), ("s3://b/c:12", "", ["s3://b/c"], "12"),
    ("s3://b/c", "", ["s3://b/c"], ""),
    # A number at the end of an address in the URL's options is its port.
    ("s3://b/c?endpoint_override=127.0.0.1:9000", "", ["s3://b/c?endpoint_override=127.0.0.1:9000"], ""),
    ("s3://b/c?endpoint_override=localhost:v1", "", ["s3://b/c?endpoint_override=localhost"], "v1"),
    ("n=s3://b/c:v1", "n", ["s3://b/c"], "v1"), ("p:v", "", ["p"], "v"), ("n=p:v", "n", ["p"], "v"),
    # The shortest path that there is, but a file of the whole name goes before.
    ("p:q", "", ["p:q"], ""), ("p:q:v", "", ["p"], "q:v"), ("gone:v", "", ["gone:v"], ""), (":v", "", [":v"], ""),
    ("n=p", "n", ["p"], ""), ("m=p", "", ["m=p"], ""), ("=p", "", ["=p"], ""), ("n=", "", ["n="], ""),
    ("n=p,gone", "n", ["p", "gone"], ""), ("p,,gone", "", ["p", "gone"], ""), ("p,q", "", ["p,q"], ""),
    ("p,", "", ["p,"], ""),
])  # fmt: skip
def test_what_an_argument_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, name: str, paths: list[str], version: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for file in ("p", "p:q", "m=p", "p,q"):
        Path(file).touch()
    asked = named(text)
    assert (asked.name, [*asked.paths], asked.version) == (name, paths, version)


@pytest.mark.parametrize(("files", "asked", "found"), [
    (["t.csv"], {}, {"a old": [1, 2, 3], "a new": [4, 5], "b new": [6]}),
    (["t.csv:old"], {}, {"a old": [1, 2, 3]}),
    (["x=t.csv:old", "t.csv:new"], {}, {"a x": [1, 2, 3], "a new": [4, 5], "b new": [6]}),
    (["u.csv:old", "t.csv:new"], {}, {"a u:old": [1, 2, 3], "a t:new": [4, 5], "b t:new": [6]}),
    ([["t.csv:old", "u.csv:new"]], {}, {"a t:old": [1, 2, 3], "a u:new": [4, 5], "b u:new": [6]}),
    (["t.csv"], {"first": 2, "only": "a"}, {"a old": [1, 2], "a new": [4, 5]}),
    (["t.csv:gone"], {}, "t.csv: there is no version gone; "),
    (["t.csv", "u.csv"], {"reference": "zz"}, "there is no version zz; available: t:old, t:new, u:old, u:new"),
    (["d1"], {"reference": "zz"}, "there is no version zz; available: d1, a"), ([], {}, "name at least one file"),
    ([3], {}, "expected the path of a file or folder, not 3"),
    (["t.csv"], {"where": "x"}, "chooses rows of a corpus"),
    (["d1/t.csv", "d2/t.csv"], {}, {"a d1/t": [1], "a d2/t": [2]}),
    (["none.csv"], {}, "no measured values\n.*line 2: a"),
    (["odd.csv"], {}, "no measurement of old can be used:\n.*line 2: a"), (["d1"], {}, {"a d1": [1]}),
    (["r.txt"], {"columns": {"value": "x"}}, "say how to read CSV, and no file named is CSV"),
    (["t.csv"], {"columns": {"value": "speed"}}, "there is no column 'speed'; available: version, benchmark"),
    (["t.csv"], {"columns": {"colour": "x"}}, "not a role"),
    (["h.json"], {"by": "speed"}, r"by='speed': the fields of these results are .*\bn\b"),
    (["h.json"], {"rows": "speed"}, "rows='speed': "),
    (["t.csv"], {"higher_is_better": "tim"}, "higher_is_better='tim': there is no such metric; .*time"),
])  # fmt: skip
def test_what_is_asked_of_files(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    files: list[Any],
    asked: Any,
    found: dict[str, list[float]] | str,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("t.csv", "u.csv"):
        rows = ("old,a,1", "old,a,2", "old,a,3", "new,a,4", "new,a,5", "new,b,6")
        Path(name).write_text("\n".join(["version,benchmark,time", *rows]))
    for name, text in (
        ("d1/t.csv", "a,1"), ("d2/t.csv", "a,2"), ("none.csv", "a,NA"), ("odd.csv", "a,-1,old\na,2,new"),
    ):  # fmt: skip
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(f"benchmark,time{',version' * text.count('old')}\n{text}\n")
    Path("r.txt").write_text("1\n2\n")
    Path("h.json").write_text(json.dumps({"results": HYPERFINE}))
    if isinstance(found, str):
        with pytest.raises(SpeedproofError, match=found):
            read_suite(*files, **asked)
        return
    for more in ((), ("time",)):
        suite = read_suite(*files, higher_is_better=more, **asked)
        assert {f"{key.benchmark} {v}": s.values.tolist() for (key, v), s in suite.samples.items()} == found
        assert {s.direction for s in suite.samples.values()} == {
            Direction.HIGHER if more else Direction.LOWER
        }

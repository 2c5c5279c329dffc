"""A store as one file and back, its samples as rows, histories of other tools."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.command import Terminal, speedproof, table, write
from tests.history.measured import lines

import speedproof as sp
from speedproof.cli.console import Console
from speedproof.cli.main import main
from speedproof.errors import FormatError

DATA = Path(__file__).parents[2].parent / "shared" / "data"


def run(*words: str) -> tuple[int, str, str]:
    return speedproof("history", *words, "--repository", "/")


@pytest.fixture
def store(tmp_path: Path) -> str:
    """Three commits of two benchmarks, a decision."""
    where = str(tmp_path / "s.db")
    history = sp.History(where, "/")
    for i in range(3):
        rows = [*(f"parse,{10 + i + k / 10},ms" for k in range(8)), f"print,{i + 1},s"]
        file = lines(tmp_path / f"{i}.csv", "benchmark,value,unit", *rows)
        history.add(file, commit=f"c{i}", machine="ant")
    history.decide("c1", "blessed", reason="meant", who="ann", benchmark="parse")
    return where


def test_a_round_trip_changes_nothing(store: str, where: str, tmp_path: Path) -> None:
    """From SQLite into either database and out again: the same file; a second import adds nothing."""
    first, second = tmp_path / "a.gz", tmp_path / "b.gz"
    assert sp.History(store, "/").export(first) == 6
    other = sp.History(where + ("2" if "://" not in where else ""), "/")
    assert other.import_(first) == 6
    assert other.import_(first) == 0
    second.write_text("older")
    (tmp_path / "kept").hardlink_to(second)
    other.export(second)
    assert first.read_bytes() == second.read_bytes()
    assert (tmp_path / "kept").read_text() == "older"  # replaced whole, not written over
    first_of_all, *_ = other.store.samples(other.store.measurements().sample.tolist())
    np.testing.assert_allclose(first_of_all.values, [0.01 + k / 1e4 for k in range(8)])
    assert [d.who for d in other.store.decisions()] == ["ann"]


def test_an_export_in_a_pipe(store: str, tmp_path: Path) -> None:
    """On standard output it is the file's bytes alone, which standard input takes; no file is named -."""
    out, err = Terminal(), io.StringIO()
    assert main(["history", "export", "-", "--store", store, "--repository", "/"], Console(out, err)) == 2
    assert "what is exported is compressed; name a file" in err.getvalue()
    sp.History(store, "/").export(tmp_path / "a.gz")
    command = (sys.executable, "-m", "speedproof", "history")
    there = subprocess.check_output([*command, "export", "-", "--store", store], cwd=tmp_path)
    assert there == (tmp_path / "a.gz").read_bytes()
    new = str(tmp_path / "new.db")
    done = subprocess.check_output([*command, "import", "-", "--store", new], input=there, cwd=tmp_path)
    assert done == b"6 new samples from -\n"
    assert not (tmp_path / "-").exists()
    assert sp.History(tmp_path / "new.db", "/").import_(tmp_path / "a.gz") == 0


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_an_export_to_a_named_pipe_leaves_it_there(store: str, tmp_path: Path) -> None:
    """What is no file, as a device, is written to and not replaced."""
    os.mkfifo(tmp_path / "pipe")
    sp.History(store, "/").export(tmp_path / "a.gz")
    with subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE) as reader:
        sp.History(store, "/").export(tmp_path / "pipe")
        assert reader.communicate()[0] == (tmp_path / "a.gz").read_bytes()
    assert (tmp_path / "pipe").is_fifo()


def test_an_import_joins_what_is_there(store: str, tmp_path: Path) -> None:
    sp.History(store, "/").export(tmp_path / "a.gz")
    other = sp.History(tmp_path / "o.db", "/")
    other.add(tmp_path / "2.csv", commit="c2", machine="ant")
    other.add(lines(tmp_path / "9.csv", "benchmark,value,unit", "parse,3,ms"), commit="c9", machine="bee")
    assert other.import_(tmp_path / "a.gz") == 4
    assert sorted(c.sha for c in other.store.commits()) == ["c0", "c1", "c2", "c9"]
    assert len(other.store.measurements()) == 7


def test_a_thousand_and_one_samples_are_imported_once(tmp_path: Path) -> None:
    """One more than go into the store at a time."""
    names = [f"b{i:04}" for i in range(1001)]
    first, other = (sp.History(tmp_path / f"{name}.db", "/") for name in "ab")
    first.add(table(tmp_path / "many.csv", dict.fromkeys(names, (1.0,))), commit="c0", machine="ant")
    first.export(tmp_path / "a.gz")
    assert other.import_(tmp_path / "a.gz") == 1001
    assert sorted(row.benchmark for row in other.query()) == names


def unpacked(store: str, tmp_path: Path) -> list[Any]:
    sp.History(store, "/").export(tmp_path / "a.gz")
    return [json.loads(line) for line in gzip.decompress((tmp_path / "a.gz").read_bytes()).splitlines()]


def packed(rows: list[Any], path: Path) -> Path:
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    return path


def test_integers_have_64_bits(store: str, tmp_path: Path) -> None:
    rows = unpacked(store, tmp_path)
    at = next(i for i, row in enumerate(rows[1:], start=1) if row[0] == "sample")
    for value, code in ((2**63 - 1, 0), (-(2**63), 0), (2**63, 2), (-(2**63) - 1, 2)):
        rows[at][1]["n"] = value
        exported = packed(rows, tmp_path / "b.gz")
        done, _, err = run("import", str(exported), "--store", str(tmp_path / f"{value}.db"))
        assert (done, f"line {at + 1}" in err, "too large" in err) == (code, code == 2, code == 2)


def test_files_that_are_no_export(store: str, tmp_path: Path) -> None:
    """Text, other JSON, a file that is cut off or not there, another schema: told, and no store is made."""
    whole = tmp_path / "a.gz"
    sp.History(store, "/").export(whole)
    newer = gzip.decompress(whole.read_bytes()).replace(b'"schema":2', b'"schema":99')
    bad = tmp_path / "bad.gz"
    for content, place, message in (
        (None, "", "there is no such file; 'speedproof history export' writes one"),
        (b"1 2 3", "", "is not an exported history, or is cut off (Not a gzipped file (b'1 '))"),
        (gzip.compress(b"[1]\n"), None, "exported history"),
        (gzip.compress(b'{"format": "x"}\n'), None, "exported history"),
        (whole.read_bytes()[:-200], None, "exported history"),
        (gzip.compress(newer), "line 1", "is of schema 99, this speedproof reads 2"),
    ):
        if content is not None:
            bad.write_bytes(content)
        new = tmp_path / "new.db"
        new.unlink(missing_ok=True)
        with pytest.raises(FormatError) as error:
            sp.History(new, "/").import_(bad)
        assert error.value.path == str(bad)
        assert message in error.value.message
        if place is None:  # found when some of it may have been read
            assert not new.exists() or sp.History(new, "/").store.commits() == ()
        else:
            assert (error.value.where, new.exists()) == (place, False)


def test_rows_in_every_format(store: str, tmp_path: Path) -> None:
    """The table, JSON, CSV and Parquet hold the same samples; filters take patterns, commits and metrics."""
    code, out, _ = run("query", "pa*", "--store", store)
    assert (code, out[:9], max(map(len, out.splitlines())) <= 100) == (0, "3 samples", True)
    told = json.loads(run("query", "--json", "--commit", "c1", "--store", store)[1])["results"]
    assert [(row["benchmark"], row["n"]) for row in told] == [("parse", 8), ("print", 1)]
    assert (told[0]["median"], told[0]["low"], told[1]["low"]) == (pytest.approx(0.01135), 0.011, None)
    told_of_file = f"{tmp_path}/r.csv: 6 samples\n"
    assert run("query", "-o", f"{tmp_path}/r.csv", "--store", store)[:2] == (0, told_of_file)
    rows = list(csv.DictReader((tmp_path / "r.csv").read_text(encoding="utf-8").splitlines()))
    assert [row["commit"] for row in rows] == ["c0", "c0", "c1", "c1", "c2", "c2"]
    parquet = pytest.importorskip("pyarrow.parquet")
    assert run("query", "-o", str(tmp_path / "r.parquet"), "--store", store)[0] == 0
    found = parquet.read_table(tmp_path / "r.parquet").to_pylist()
    assert [str(row["median"]) for row in found] == [row["median"] for row in rows]
    assert run("query", "-o", str(tmp_path / "r.xls"), "--store", store)[0] == 2


def test_a_data_js_is_a_history(tmp_path: Path, history: sp.History) -> None:
    """github-action-benchmark: each entry a commit with its subject and date, values in base units."""
    entries = [
        {"commit": {"id": sha, "message": f"Do {sha}\n\nmore", "timestamp": "2026-01-02T03:04:05+02:00"},
         "date": 1767312245000, "tool": "cargo", "benches": [
            {"name": "fib", "value": value, "unit": "ns/iter"}, {"name": "io", "value": 5, "unit": "ops/sec"},
        ]} for sha, value in (("a1", 20.0), ("b2", 40.0))
    ]  # fmt: skip
    told = {"lastUpdate": 1, "repoUrl": "", "entries": {"Rust": entries}}
    file = lines(tmp_path / "data.js", f"window.BENCHMARK_DATA = {json.dumps(told)}")
    added = history.add(file)
    assert (added.samples, added.commits, history.add(file).known) == (4, ("a1", "b2"), True)
    first = history.query("fib")[0]
    assert (first.commit, first.subject, first.date) == ("a1", "Do a1", "2026-01-02T01:04:05+00:00")
    assert (first.unit, round(first.median, 12)) == ("s", 2e-8)
    lines(tmp_path / "data.js", "window.BENCHMARK_DATA = {}")
    with pytest.raises(FormatError, match=r"data\.js"):
        history.add(file)


def test_what_is_left_out_of_otavas_csv_is_said(tmp_path: Path) -> None:
    """Rows without numbers, negative times, what is not finite: the rest is added, or nothing with the reason."""
    file, history = tmp_path / "perf.csv", sp.History(tmp_path / "s.db", "/")
    file.write_text("time,commit,a_ms,b\n1,aaa,-5,2\n2,bbb,6,inf\n3,ccc,word,\n4,,1,1\n5,ddd,7,8\n")
    added = history.add(file)
    assert (added.samples, added.commits) == (4, ("aaa", "bbb", "ddd"))
    said = "\n".join(added.problems)
    for part in ("line 4: names no commit or", "line 5", "aaa: a_ms: it holds -0.005", "bbb: b: "):
        assert part in said
    file.write_text("time,commit,a_ms\n1,aaa,-5\n")
    with pytest.raises(sp.SpeedproofError, match=r"nothing can be added; .*aaa: a_ms: it holds -0.005"):
        history.add(file)


def test_otavas_csv_is_a_history(tmp_path: Path, history: sp.History) -> None:
    """Every numeric column, in the unit that its name ends with: no minimum in minutes, no rate in seconds."""
    units = {
        "query_ms": ("time", "s", 3e-3), "latency (us)": ("time", "s", 3e-6), "mem_mb": ("memory", "B", 3e6),
        "heap_KiB": ("memory", "B", 3072.0), "ops_per_sec": ("1/s", "1/s", 3.0), "latency_min": ("value", "", 3.0),
        "read_mb_per_s": ("B/s", "B/s", 3e6), "requests_per_minute": ("1/s", "1/s", 0.05),
        "query_1": ("value", "", 3.0), "p99": ("value", "", 3.0),
    }  # fmt: skip
    first, second = ("1700000000,aaa,main" + ",3" * len(units), "2023-11-15 00:00:00 +0000,bbb,main,11")
    rows = [",".join(["time", "commit", "branch", *units]), first, second + "," * (len(units) - 1)]
    assert history.add(lines(tmp_path / "perf.csv", *rows)).samples == len(units) + 1
    found = {r.benchmark: (r.metric, r.unit, float(f"{r.median:.12g}")) for r in history.query(commit="aaa")}
    assert found == units
    assert [(r.benchmark, r.median) for r in history.query(commit="bbb")] == [("query_ms", 0.011)]
    assert history.query(commit="aaa")[0].date == "2023-11-14T22:13:20+00:00"


def test_branches_of_otavas_csv_stay_apart(tmp_path: Path, history: sp.History) -> None:
    """Semicolons, too; main is followed unless another branch is asked for, and which there are is said."""
    rows = [
        f"2024-01-{day:02};{branch[0] * 6}{day:02};{branch};{(10 if branch == 'main' else 20) + day % 3}"
        for day in range(1, 21)
        for branch in ("f,e,a,t,u,r,e", "main")
    ]
    assert history.add(lines(tmp_path / "perf.csv", "time;commit;branch;p50", *rows)).samples == 40
    for branch, letter in (("HEAD", "m"), ("main", "m"), ("f,e,a,t,u,r,e", "f")):
        found = history.changes(branch=branch)
        assert found.changes == ()
        assert {commit.sha[0] for commit in found.commits} == {letter}
    place = ("--store", str(tmp_path / "s.db"))
    assert "main is followed; others with --branch: f,e,a,t,u,r,e" in run(*place)[2]
    assert "--branch (f,e,a,t,u,r,e, main)" in run(*place, "--branch", "gone")[2]


def test_of_what_more_is_better(tmp_path: Path) -> None:
    """As Otava's names say, or the user, where neither name nor unit does; a slip is an error."""
    slower = {"throughput": False, "throughput_ms": True, "ops_per_sec": False, "p99": True, "frames": True}
    levels = {day: (60 if day < 16 else 66) + day % 3 for day in range(1, 31)}
    rows = [f"2024-01-{day:02},cccccc{day:02}" + f",{of}" * len(slower) for day, of in levels.items()]
    file = lines(tmp_path / "perf.csv", f"time,commit,{','.join(slower)}", *rows)
    for k, more in enumerate(((), ("--higher-is-better", "frames"))):
        add = ("add", file, "--store", str(tmp_path / f"{k}.db"))
        assert run(*add, *more)[0] == 0
        changes = json.loads(run("--json", "--metric", "all", *add[2:])[1])["results"][0]["changes"]
        assert {c["benchmark"]: c["slower"] for c in changes} == slower | ({"frames": False} if more else {})
    assert "there is no such metric; do you mean frames?" in run(*add, "--higher-is-better", "frame")[2]


def test_what_nyrkio_keeps_is_a_history(tmp_path: Path, history: sp.History) -> None:
    """Every metric a benchmark with its unit and direction; attributes are words or lists of one."""
    told = []
    for sha, value, listed in (("a1", 29, True), ("b2", 31, False)):
        attributes = {"git_repo": "https://example.org/r", "branch": "main", "git_commit": sha}
        metrics = [
            {"name": "p50", "unit": "ms", "value": value, "direction": "lower_is_better"},
            {"name": "accepted", "unit": "tx/s", "value": 29347},
            {"name": "rating", "value": 3, "direction": "higher_is_better"},
        ]
        words = {name: [word] if listed else word for name, word in attributes.items()}
        told.append({"timestamp": 1690391261, "metrics": metrics, "attributes": words})
    added = history.add(lines(tmp_path / "n.json", json.dumps(told)))
    assert (added.samples, added.commits) == (6, ("a1", "b2"))
    series = {s.key.benchmark: (s.key.metric, s.unit, s.higher_is_better) for s in history.store.all_series()}
    assert series == {
        "p50": ("time", "s", False), "accepted": ("tx/s", "tx/s", True), "rating": ("value", "", True)
    }  # fmt: skip
    assert [row.median for row in history.query("p50")] == [0.029, 0.031]
    assert history.query("p50")[0].date == "2023-07-26T17:07:41+00:00"
    assert {commit.branch for commit in history.store.commits()} == {"main"}
    bad = lines(tmp_path / "n.json", '[{"timestamp": 1, "metrics": [{"name": "x", "value": 1}]}]')
    with pytest.raises(FormatError, match="JSON of Nyrki"):
        history.add(bad)


def test_a_summary_of_treeherder_is_a_history(tmp_path: Path, history: sp.History) -> None:
    """Platforms are machines, repositories branches; two jobs of one push are two sessions."""
    told, push = [], {"push_timestamp": "2019-08-09T21:56:59", "push_id": 1}
    for platform, test, lower, values in (
        ("linux64", "", True, [212.4, 211.2, 213.0]), ("linux64", "dhtml", False, [60.0]),
        ("windows10-64", "", True, [300.0]),
    ):  # fmt: skip
        data = [
            {"job_id": i, "id": i, "value": value, "revision": "b2" if i == 2 else "a1", **push}
            for i, value in enumerate(values)
        ]
        told.append({
            "signature_id": 1, "platform": platform, "suite": "a11yr", "test": test, "lower_is_better": lower,
            "option_name": "opt", "extra_options": ["e10s"], "measurement_unit": "ms",
            "repository_name": "autoland", "data": data,
        })  # fmt: skip
    assert history.add(lines(tmp_path / "t.json", json.dumps(told))).samples == 5
    rows = {(r.commit, r.benchmark, r.machine, r.session): r.median for r in history.query()}
    assert sorted(rows.values()) == [0.06, 0.2112, 0.2124, 0.213, 0.3]
    assert len({session for *_, session in rows}) == 4
    plain, named = "a11yr opt e10s", "a11yr dhtml opt e10s"
    expected = {(plain, "linux64"), (named, "linux64"), (plain, "windows10-64")}
    assert {(b, m) for _, b, m, _ in rows} == expected
    assert [row.median for row in history.query(machine="windows*")] == [0.3]
    with pytest.raises(sp.SpeedproofError, match="holds no machine mac; it has linux64; windows10-64"):
        history.query(machine="mac")
    better = {s.key.benchmark: s.higher_is_better for s in history.store.all_series()}
    assert better == {plain: False, named: True}
    tracks = {t.basis: t for t in history.changes(benchmark=plain).tracks}
    assert [len(p.values) for p in tracks["linux64"].points()] == [2, 1]


def test_what_asv_published_is_a_history(tmp_path: Path, history: sp.History) -> None:
    """Every point of index.json's graphs, once: parameter sets as in asv's results, branches apart, no summary."""
    many, html = 20, tmp_path / "html"
    graphs = [(branch, python) for branch in ("main", "dev") for python in ("3.8", "3.9")]
    parameters = {"machine": "m1", "Cython": None, "os": "Linux: 5"}
    tracked = {"unit": "unit", "params": [["'a'", "'b'"], ["1"]]}
    index = {
        "revision_to_hash": {str(i): f"{i:040x}" for i in range(2 * many)},
        "revision_to_date": {str(i): 1_600_000_000_000 + 86_400_000 * i for i in range(2 * many)},
        "graph_param_list": [{"branch": b, "python": p, **parameters} for b, p in graphs],
        "benchmarks": {"suite.time_it": {"unit": "seconds", "params": []}, "suite.track_it": tracked},
    }
    for branch, python in graphs:
        # asv/graph.py: key-value, "null" for none, what Windows forbids replaced, all sorted
        parts = (f"branch-{branch}", "machine-m1", f"python-{python}", "Cython-null", "os-Linux_ 5")
        folder = html.joinpath("graphs", *sorted(parts))
        folder.mkdir(parents=True)
        start = 0 if branch == "main" else many - 5  # where five commits are of both
        times = [[start + i, 1.5 if python == "3.8" else None] for i in range(many)]
        (folder / "suite.time_it.json").write_text(json.dumps(times))
        values = [[start + i, [i + 1.0, None]] for i in range(2)]
        (folder / "suite.track_it.json").write_text(json.dumps(values))
    (html / "graphs" / "summary").mkdir()
    (html / "graphs" / "summary" / "suite.time_it.json").write_text("[[1, 2.0]]")
    (html / "index.json").write_text(json.dumps(index))
    assert history.add(html).samples == 2 * many - 5 + 4 * 2
    found = history.changes()
    assert [commit.sha for commit in found.commits] == [f"{i:040x}" for i in range(many)]
    assert found.commits[1].date[:19] == "2020-09-14T12:26:40"
    names = {s.key.benchmark for s in history.store.all_series()}
    assert names == {"suite.time_it", "suite.track_it('a', 1)"}
    assert {t.basis for t in found.tracks} == {"m1, python 3.8", "m1, python 3.9"}
    (html / "index.json").write_text("{}")
    with pytest.raises(FormatError, match="asv publish") as refused:
        history.add(html)
    assert refused.value.path == str(html)


def test_many_files_and_commits_in_one_call(tmp_path: Path) -> None:
    place = ("--store", str(tmp_path / "s.db"), "--unit", "ms", "--benchmark", "sort")
    files = [f"v{i}={write(tmp_path / f'{i}.txt', [1, 2])}" for i in range(3)]
    assert run("add", *files, *place)[0] == 0
    assert [row.commit for row in sp.History(tmp_path / "s.db", "/").query()] == ["v0", "v1", "v2"]
    assert "names one commit, --commit v9 another" in run("add", files[0], *place, "--commit", "v9")[2]


def test_one_version_of_a_file_is_added(tmp_path: Path, history: sp.History) -> None:
    file = lines(tmp_path / "r.csv", "benchmark,version,value", "a,old,1", "a,old,1", "a,new,2", "a,new,2")
    with pytest.raises(sp.SpeedproofError, match=f"add one, as {file}:old"):
        history.add(file, commit="abc")
    history.add(f"{file}:new", commit="abc")
    history.add(f"def={file}:old")
    history.add(f"{file}:old")
    assert [(row.commit, row.median) for row in history.query()] == [("abc", 2.0), ("def", 1.0), ("old", 1.0)]


def benchseries(tmp_path: Path, *tables: str) -> Path:
    """Ten points of two benchmarks as ``benchseries -jo`` encodes ComparisonSeries; one cell was not measured."""
    points = [f"2024-01-{i + 1:02}T00:00:00.123456789+00:00" for i in range(10)]

    def cell(i: int, k: int) -> dict[str, object]:
        if (i, k) == (2, 1):
            return {"low": 0, "center": 0, "high": 0, "date": "", "present": False}
        middle = (1.02 if i < 5 else 1.5) + 3e-4 * (i * 7 % 10) if k == 0 else 1 + 0.01 * (i * 7 % 5)
        ends = {"low": middle - 0.01, "center": middle, "high": middle + 0.01}
        return {**ends, "date": points[i], "present": True}

    common = {
        "benchmarks": ["Parse-8", "Print-8"],
        "series": points,
        "summaries": [[cell(i, k) for k in range(2)] for i in range(10)],
        "hashpairs": {p: {"NumHash": f"{i:040x}", "DenHash": "b" * 40} for i, p in enumerate(points)},
        "residues": None,
    }
    written = json.dumps([{"unit": unit, **common} for unit in tables], indent="\t")
    return Path(lines(tmp_path / "series.json", written))


def test_go_benchseries_are_a_history_of_ratios(tmp_path: Path) -> None:
    """Ratios to the baseline with their bounds; the baseline itself is the anchor, not a measurement."""
    history = sp.History(tmp_path / "s.db", tmp_path)
    file = benchseries(tmp_path, "sec/op amd64 linux", "B/s amd64 linux")
    added = history.add(file)
    assert (added.known, len(added.problems)) == (False, 0)
    assert history.add(file).known
    result = history.changes(metric="all")
    expected = {("b" * 40, True, 10), ("b" * 40, True, 9)}
    assert {(t.basis, t.anchored, len(t)) for t in result.tracks} == expected
    assert {s.key.benchmark for s in result.series.values()} == {"Parse-8", "Print-8"}
    wanted = {("ratio of sec/op", False), ("ratio of B/s", True)}
    assert {(s.key.metric, s.higher_is_better) for s in result.series.values()} == wanted
    changes = {(c.commit.sha, round(c.factor, 2), result.slower(c)) for c in result.changes}
    assert changes == {(f"{5:040x}", 1.47, True), (f"{5:040x}", 1.47, False)}
    point = next(iter(result.tracks[0].points()))
    assert np.exp([point.low, point.value, point.high]) == pytest.approx([1.01, 1.02, 1.03], abs=2e-4)
    assert result.commits[0].date == "2024-01-01T00:00:00+00:00"
    assert result.noise is None  # ones are no second session
    # A ratio on one architecture says nothing of the other.
    history = sp.History(tmp_path / "two.db", tmp_path)
    history.add(benchseries(tmp_path, "sec/op amd64 linux", "sec/op arm64 linux"))
    names = {s.key.benchmark for s in history.store.all_series()}
    assert names == {f"{arch} linux/{name}-8" for arch in ("amd64", "arm64") for name in ("Parse", "Print")}


def test_a_damaged_benchseries_is_an_error(tmp_path: Path) -> None:
    """Rows that do not fit points or benchmarks name the file; a commit beside itself is told."""
    file = benchseries(tmp_path, "sec/op")
    series = json.loads(file.read_text())
    series[0]["hashpairs"][series[0]["series"][3]]["NumHash"] = "b" * 40
    file.write_text(json.dumps(series))
    (problem,) = sp.History(tmp_path / "s.db", tmp_path).add(file).problems
    assert "with itself" in problem
    for cells in (series[0]["summaries"], series[0]["summaries"][0]):
        cut = cells.pop()
        file.write_text(json.dumps(series))
        with pytest.raises(FormatError, match="benchseries"):
            sp.History(tmp_path / "t.db", tmp_path).add(file)
        cells.append(cut)


@pytest.mark.skipif(not DATA.exists(), reason="the real files are not part of the repository")
def test_folders_of_real_histories(tmp_path: Path) -> None:
    """bench_runner's eleven builds are eleven commits; of asv's folder what failed is told."""
    history = sp.History(tmp_path / "s.db", "/")
    added = history.add(DATA / "bench_runner" / "tests" / "data" / "results")
    assert (len(added.commits), added.problems) == (11, ())
    added = sp.History(tmp_path / "t.db", "/").add(DATA / "asv" / "test" / "example_results")
    assert added.samples > 0
    assert any("no measured values" in problem for problem in added.problems)


def test_damaged_rows_of_an_export_are_told_by_line(store: str, tmp_path: Path) -> None:
    """Whatever is wrong with a line, nothing is imported, and the line is named; columns have known names."""
    rows = unpacked(store, tmp_path)
    junk: tuple[object, ...] = (None, [], {}, "x", -1, 10**30, "\ud800", "eA==")
    damaged, new = 0, tmp_path / "n.db"
    first = {row[0]: at for at, row in reversed([*enumerate(rows[1:], start=1)])}
    assert len(first) >= 6
    for kind, at in first.items():
        whole = rows[at][1]
        ends = [{**whole, 'id") VALUES (1); --': 1}]
        ends += [{**whole, name: f"{whole[name]}!"} for name in ("observations",) if name in whole]
        for key in whole:
            left = {name: value for name, value in whole.items() if name != key}
            ends += [{**left, key: junk[(damaged + len(ends)) % len(junk)]}, left]
        for k, changed in enumerate(ends):
            path = packed([*rows[:at], [kind, changed], *rows[at + 1 :]], tmp_path / "b.gz")
            new.unlink(missing_ok=True)
            code, _, err = run("import", str(path), "--store", str(new))
            assert (code, err.count("\n")) in ((0, 0), (2, 1)), (changed, err)
            assert k or (f"line {at + 1}" in err and "VALUES" in err)
            assert code == 2 or "!" not in str(changed)
            damaged += code == 2
            assert code == 0 or not new.exists() or sp.History(new, "/").query() == []
    assert damaged > 20


def test_a_store_with_damaged_pages_is_an_error(store: str, tmp_path: Path) -> None:
    """Text of the tables' definitions that is no text; values that do not unpack."""
    content = Path(store).read_bytes()
    at = content.index(b"CREATE TABLE")
    bad = tmp_path / "x.db"
    for place in range(at, at + 60, 13):
        bad.write_bytes(content[:place] + b"\xfe" + content[place + 1 :])
        code, _, err = run("query", "--store", str(bad))
        assert (code, err.count("\n") if code else 0) in ((0, 0), (2, 1)), err
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("UPDATE observation SET observations = 'x'")
    for words in ((), ("watch",), ("show", "parse"), ("page", "-o", str(tmp_path / "p"))):
        code, _, err = run(*words, "--store", store)
        assert code in (0, 2), err

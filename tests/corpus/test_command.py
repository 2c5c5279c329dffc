"""``speedproof corpus``, and a corpus in place of files in every command."""

from __future__ import annotations

import io
import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest
from tests.command import Terminal, speedproof

import speedproof as sp
from speedproof.cli.console import Console
from speedproof.cli.main import main
from speedproof.data.names import version_given, version_of
from speedproof.reporting.names import short_names

GCC = Path(__file__).parents[2] / "examples" / "gcc"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    corpus = tmp_path_factory.mktemp("gcc") / "c"
    code, out, _ = speedproof("corpus", "build", GCC / "O2.json", GCC / "O3.json", "-o", corpus)
    assert (code, out.partition(" values")[0]) == (0, "12 samples of 6 benchmarks in 2 versions: 480")
    return corpus


@pytest.fixture
def gcc(built: Path, tmp_path: Path) -> Path:
    return shutil.copytree(built, tmp_path / "c")


@pytest.mark.parametrize(
    "command",
    [["compare"], ["compare", "--explain"], ["hpt"], ["rank"], ["model", "--bootstrap", "0"], ["show"]],
)
def test_a_corpus_stands_for_its_files(gcc: Path, command: list[str]) -> None:
    files = speedproof(*command, GCC / "O2.json", GCC / "O3.json")
    assert files[0] == 0
    assert speedproof(*command, gcc) == files


def test_numbers_alone_in_a_corpus_are_versions_of_one_thing(tmp_path: Path) -> None:
    """As in their files, which nothing names but their paths."""
    files = [tmp_path / "a.txt", tmp_path / "b.txt"]
    for k, file in enumerate(files):
        file.write_text("".join(f"{k + 10 + i / 10}\n" for i in range(10)))
    assert speedproof("corpus", "build", *files, "-o", tmp_path / "c")[0] == 0
    _, answer, _ = speedproof("compare", *files)
    assert speedproof("compare", tmp_path / "c")[1] == answer
    said = speedproof("corpus", "compare", tmp_path / "c", "--workers", "1")[1]
    assert said.splitlines()[0] == answer.splitlines()[0]


def test_a_remedy_for_versions_without_a_common_benchmark(tmp_path: Path) -> None:
    """Versions of one command each, which are called after it: the command that the error names compares them."""
    for name, time in (("old", 1.25), ("new", 1.0)):
        times = [time + i / 100 for i in range(20)]
        (tmp_path / f"{name}.json").write_text(
            json.dumps({"results": [{"command": f"./{name}", "times": times}]})
        )
    c = tmp_path / "c"
    assert speedproof("corpus", "build", tmp_path / "old.json", tmp_path / "new.json", "-o", c)[0] == 0
    code, _, err = speedproof("corpus", "compare", c, "--workers", "1")
    assert (code, "\n  old has ./old (time)\n  new has ./new (time)\n" in err) == (2, True)
    assert f"\n  'speedproof compare {c}' with --match position compares them" in err
    code, out, _ = speedproof("compare", c, "--match", "position")
    assert (code, "new looks 1.23x faster than old" in out) == (0, True)


def test_commands_of_one_file_are_versions_of_its_corpus(tmp_path: Path) -> None:
    """And where benchmarks are asked to be versions, by a field, too, they are: the remedy that is named works."""
    results = [
        {"command": of, "times": [s + i / 100 for i in range(8)]} for of, s in (("a", 1.0), ("b", 2.0))
    ]
    file, corpus = tmp_path / "h.json", tmp_path / "c"
    file.write_text(json.dumps({"results": results}))
    assert speedproof("corpus", "build", file, "-o", corpus)[0] == 0
    answer = speedproof("compare", file)
    assert (answer[0], speedproof("compare", corpus)) == (0, answer)
    assert speedproof("compare", corpus, "--reference", "b") == speedproof(
        "compare", file, "--reference", "b"
    )
    code, _, told = speedproof("corpus", "compare", corpus, "--workers", "1")
    assert (code, "only one version (h); name the file of another one" in told) == (2, True)
    assert f"speedproof compare {corpus}" in told
    file.write_text(json.dumps({"results": [{**one, "parameters": {"p": "1"}} for one in results]}))
    assert "--reference a" in speedproof("compare", file, "--by", "p")[2].replace("'", "")
    code, said, _ = speedproof("compare", file, "--by", "p", "--reference", "a")
    assert (code, "b is 1.97x slower than a" in said) == (0, True)


def test_quantiles_of_a_corpus_are_those_of_its_files(tmp_path: Path) -> None:
    """The same sheet, and as many tables on a page, of the first quantile that is asked for."""
    rng = np.random.default_rng(1)
    files = []
    for version, factor in (("a", 1.3), ("b", 1.0)):
        rows = [f"b{k},{x}" for k in range(4) for x in (factor * rng.lognormal(0, 0.1, 100)).tolist()]
        files.append(tmp_path / f"{version}.csv")
        files[-1].write_text("\n".join(["benchmark,value", *rows]))
    assert speedproof("corpus", "build", *files, "-o", tmp_path / "c")[0] == 0
    asked = ("--quantile", "0.95", "--quantile", "0.9")
    pages = tmp_path / "p.html", tmp_path / "q.html"
    words = ("corpus", "compare", tmp_path / "c", *asked, "--workers", "1", "-o", tmp_path / "d")
    code, said, _ = speedproof(*words, "--html", pages[0])
    assert code == 0
    assert "(at P95, 95 %)" in said
    assert (
        said.splitlines()[:7] == speedproof("compare", *files, *asked, "--html", pages[1])[1].splitlines()[:7]
    )
    assert len({page.read_text().count("<table") for page in pages}) == 1


@pytest.mark.slow
def test_why_of_a_corpus_is_that_of_its_files(tmp_path: Path) -> None:
    """The same lines and numbers; of many pairs of versions none."""
    session = GCC.parent / "faults" / "session.jsonl"
    corpus = tmp_path / "c"
    assert speedproof("corpus", "build", session, "-o", corpus)[0] == 0
    asked = ("corpus", "compare", corpus, "--workers", "1", "--why")
    code, said, _ = speedproof(*asked)
    sheet = speedproof("compare", session, "--why")[1]
    assert code == 0
    assert said.splitlines()[:5] == sheet.splitlines()[:5]
    ways = (*asked, "--html", tmp_path / "p.html"), ("compare", session, "--why")
    why = [json.loads(speedproof(*of, "--json")[1])["why"] for of in ways]
    assert why[0] == why[1]
    page = (tmp_path / "p.html").read_text()
    assert "2,101 minor faults" in page
    assert "between states" in page  # as with --details
    assert "exclude each other" in speedproof(*asked, "--pairs", "all")[2]
    found = sp.Corpus(corpus).compare(workers=1)
    of_three = msgspec.structs.replace(found.conclusion, pairs=3)
    with pytest.raises(sp.SpeedproofError, match="name a reference and a candidate"):
        msgspec.structs.replace(found, conclusion=of_three).why()


def test_why_of_the_largest_changes(tmp_path: Path) -> None:
    """Of 60 benchmarks with a slow state of their own and its count, of which 15 change."""
    rng = np.random.default_rng(4)
    rows = ["benchmark,version,metric,value"]
    for k in range(60):
        for version, share in (("a", 0.7 if k < 15 else 0.2), ("b", 0.2)):
            slow = rng.permutation(40) < 40 * share
            time, count = (
                1.3 ** (slow * (1 + k % 7)) * rng.lognormal(0, 0.02, 40),
                100.0 + 50.0 * slow + rng.poisson(2, 40),
            )
            for name, values in (("time", time), ("count", count)):
                rows += [f"b{k},{version},{name},{value}" for value in values.tolist()]
    (tmp_path / "runs.csv").write_text("\n".join(rows))
    assert speedproof("corpus", "build", tmp_path / "runs.csv", "-o", tmp_path / "c")[0] == 0
    code, said, _ = speedproof("corpus", "compare", tmp_path / "c", "--workers", "1", "--why")
    assert code == 0
    assert re.search(r"Why: in (\d+) of the \1 largest changes another metric goes with time", said)


def test_plot_and_history_take_it(gcc: Path, tmp_path: Path) -> None:
    assert speedproof("plot", gcc, "--only", "matmul", "-o", tmp_path / "p.svg")[0] == 0
    code, out, err = speedproof("history", "add", gcc, "--store", tmp_path / "h.db", "--repository", tmp_path)
    assert (code, err) == (0, "")
    assert "12 samples of O2, O3" in out
    add = ("history", "add", gcc, "--repository", tmp_path, "--where", "version = 'O3'", "--commit", "abc")
    assert "6 samples of abc" in speedproof(*add, "--store", tmp_path / "i.db")[1]
    other = (*add[:6], "version = 'O2'", "--commit", "abd", "--store", tmp_path / "i.db")
    assert "6 samples of abd" in speedproof(*other)[1], "not there already"
    assert "already" in speedproof(*other)[1]


def test_where_chooses_rows(gcc: Path) -> None:
    code, out, _ = speedproof("show", gcc, "--where", "version = 'O3' AND benchmark LIKE 'm%'")
    assert code == 0
    assert "O2" not in out


@pytest.mark.parametrize(("argv", "message"), [
    ("compare {c} --where foo=1", "error: foo=1: there is no column foo; a corpus has row"),
    ("compare {c} --where n='x'", "Could not convert"),
    ("compare {c} --where n=0", "no measured values where n=0"),
    (f"compare {GCC}/O2.json --where n=1", "no file named is one"),
    ("compare {c} --reference O9", "there is no version O9; available: O2, O3"),
    ("corpus query {c} SELEC", "syntax error"), ("corpus query {c}", "missing argument 'SQL'"),
    ("corpus query {c} 'FROM foo'", "there is no table foo; there are corpus and rejects"),
    ("corpus", "name an action first: build, info"), ("corpus info nowhere", "there is no corpus"),
    ("corpus sing", "no such action"), ("corpus info {c} --append", "unknown option --append"),
    (f"corpus build {GCC}", "missing option '-o' / '--output'"), ("corpus build -o x", "name result files"),
    (f"corpus build {GCC}/O2.json:O2 -o {{c}}x", "a corpus takes files whole"),
    ("corpus info s3x://a/b", "no such place"), ("corpus info {c} --html -", "unknown option --html"),
    ("corpus model {c} --where 'n = 0' --workers 1", "no samples of time where n = 0"),
    ("corpus compare {c} --reference O9 --candidate O2", "there is no version O9; available: O2, O3"),
    ("corpus compare {c} --reference O2 --candidate O2", "not compared with itself"),
    ("corpus compare {c} --metric energy", "there is no metric energy"),
    ("corpus compare {c} --bootstrap", "unknown option --bootstrap"),
    ("corpus compare {c} --ks-rule r422", "the protocol median is not asked (--details asks it)"),
    ("corpus compare {c} --always-welch --quantile 0.9", "the protocol mean is not asked; leave out --always"),
    ("corpus model {c} --max-components 0", "--max-components 0: expected 1 to 32 components"),
    ("corpus changes {c} --workers 0", "--workers 0: expected a number of processes"),
    ("corpus query {c} ''", "'' is no query"),
    ("corpus compare {c} --where 'foo > 1'", "error: foo > 1: there is no column foo; a corpus has row"),
])  # fmt: skip
def test_errors_say_what_to_do(gcc: Path, argv: str, message: str) -> None:
    """And leave no answers."""
    code, out, err = speedproof(*shlex.split(argv.format(c=gcc).replace("n='x'", "n=\\'x\\'")))
    assert (code, out, message in err) == (2, "", True), err
    assert not (gcc / "answers").exists()


def test_queries_in_a_pipe(gcc: Path) -> None:
    sql = "SELECT version, sum(n) AS runs, 1.5 AS x FROM corpus GROUP BY version ORDER BY version"
    assert speedproof("corpus", "query", gcc, sql)[1] == "version\truns\tx\nO2\t240\t1.5\nO3\t240\t1.5\n"
    answer = json.loads(speedproof("corpus", "query", gcc, sql, "--json")[1])
    assert answer["results"] == [{"version": version, "runs": 240, "x": 1.5} for version in ("O2", "O3")]


LONG = "bm-20260514-3.16.0a0-461b1d9"


def _jit(tmp_path: Path) -> None:
    """Files as benchmark runners name them: by machine and commit, the build's flags in the folder alone."""
    for folder, source in ((f"{LONG}-JIT", "O3"), (LONG, "O2")):
        (tmp_path / "results" / folder).mkdir(parents=True)
        name = "bm-20260514-machine-aarch64-python-461b1d96313de02992d2-461b1d9.json"
        shutil.copy(GCC / f"{source}.json", tmp_path / "results" / folder / name)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no limits there")
def test_a_disk_that_takes_no_more(gcc: Path, tmp_path: Path) -> None:
    """A real limit on the size of files, in build and in the workers of compare; room later finishes both."""

    def run(limit: int, *argv: str | Path) -> tuple[int, str]:
        code = (
            "import resource, sys; from speedproof.cli.main import main\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))\n"
            "if __name__ == '__main__': sys.exit(main(sys.argv[2:]))"
        )
        # -B: a limit would cut compiled modules short, too, in the middle of the sources.
        command = [sys.executable, "-B", "-c", code, str(limit), "corpus", *map(str, argv)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stderr

    build = ("build", GCC / "O2.json", "-o", tmp_path / "new")
    asked: list[tuple[str | Path, ...]] = [build, ("compare", gcc, "--workers", "2")]
    for argv in asked:
        code, err = run(4000, *argv)
        assert code == 2
        assert "ulimit -f" in err
        assert "give the same command again" in err
        assert "Traceback" not in err
        assert run(-1, *argv) == (0, "")
    assert not list(tmp_path.rglob("*.tmp"))


@pytest.mark.slow
def test_one_short_name_everywhere(tmp_path: Path) -> None:
    """Versions that only their folders tell apart go by the same short names in reports and options."""
    _jit(tmp_path)
    corpus = tmp_path / "c"
    _, out, err = speedproof("corpus", "build", tmp_path / "results", "-o", corpus)
    (told,) = [line for line in out.splitlines() if line.startswith("Versions: ")]
    names = sorted(told.removeprefix("Versions: ").split(", "))
    assert names == ["461b1d9", "461b1d9-JIT"]
    for reference, candidate in (names, (LONG, f"{LONG}-JIT")):  # the second time nothing is left to do
        code, out, err = speedproof(
            "corpus", "compare", corpus, "--reference", reference, "--candidate", candidate
        )
        assert (code, err) == (0, "")
        assert out.startswith("461b1d9-JIT against 461b1d9:")
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("461b1d9,461b1d9-JIT\n")
    assert speedproof("corpus", "compare", corpus, "--pairs", pairs)[1] == out
    for command in (["compare"], ["hpt"], ["rank"], ["plot", "--kind", "forest", "-o", tmp_path / "p.svg"]):
        assert speedproof(*command, corpus, "--reference", "461b1d9")[0] == 0, command
    sides = ("--baseline", f"{corpus}:461b1d9", "--candidate", f"{corpus}:461b1d9-JIT")
    code, out, err = speedproof("gate", *sides, "--where", "benchmark = 'matmul'")
    assert (code, err) == (0, "")
    assert "matmul" in out
    assert "collatz" not in out
    code, _, err = speedproof("gate", *sides[:2], "--candidate", f"{corpus}:v9")
    assert (code, "there is no version v9; available: 461b1d9" in err) == (2, True)
    code, _, err = speedproof("corpus", "compare", corpus, "--reference", "461b", "--candidate", "461b1d9")
    assert code == 2
    assert len(err.rstrip()) <= 80 + len(str(corpus))
    assert "there is no version 461b; do you mean 461b1d9?" in err


def test_a_query_is_a_table_on_a_terminal(gcc: Path) -> None:
    """The first rows, and how many more there are, or all; a pipe has all with tabs between."""
    asked = ["corpus", "query", str(gcc), "SELECT unnest(range(45)) AS i, version FROM corpus LIMIT 45"]
    for more, shown in (([], 40), (["--all"], 45)):
        out = Terminal()
        assert main([*asked, *more], Console(out, io.StringIO())) == 0
        lines = [line.split() for line in re.sub(r"\x1b\[\d*m", "", out.getvalue()).splitlines() if line]
        assert lines[0] == ["i", "version"]
        assert [int(line[0]) for line in lines[1 : shown + 1]] == [*range(shown)]
        assert lines[shown + 1 :] == ([["...", "5", "more", "rows:", "--all"]] if shown == 40 else [])
    assert speedproof(*asked)[1].count("\n") == 46
    model = ("corpus", "model", gcc, "--bootstrap-samples", "0", "--workers", "1", "--json")
    found = json.loads(speedproof(*model)[1])
    assert (found["command"], found["results"][0]["samples"]) == ("corpus model", 12)
    assert found == json.loads(sp.Corpus(gcc).model(bootstrap=0, workers=1).to_json())


def test_a_list_of_files(tmp_path: Path) -> None:
    names = tmp_path / "list"
    names.write_text(f"{GCC / 'O2.json'}\n\n{GCC / 'O3.json'}\n")
    assert speedproof("corpus", "build", "--files-from", names, "-o", tmp_path / "c")[0] == 0
    assert speedproof("corpus", "info", tmp_path / "c", "--json")[1].count('"O') == 2
    names.write_text(str(GCC / "O2.json"))  # after the files that are named
    assert speedproof("corpus", "build", GCC / "O3.json", "--files-from", names, "-o", tmp_path / "d")[0] == 0
    (info,) = json.loads(speedproof("corpus", "info", tmp_path / "d", "--json")[1])["results"]
    assert [name for name, _ in info["versions"]] == ["O3", "O2"]


def test_a_process_ends_without_a_word_of_its_libraries(gcc: Path) -> None:
    """DuckDB reports objects that are left at the end as leaks."""
    command = [sys.executable, "-m", "speedproof", "corpus", "compare", str(gcc)]
    assert "leak" not in subprocess.run(command, capture_output=True, text=True, check=True).stderr


def _pyperf(folder: Path, name: str, commit: str) -> None:
    """A file of pyperf's format, three values of one benchmark, that says which commit it measured."""
    metadata = {"name": "sort", "unit": "second", "commit_id": commit, "python_version": f"3.14 {commit}"}
    runs = [{"values": [value], "metadata": metadata} for value in (1.0, 1.1, 1.2)]
    folder.mkdir(exist_ok=True)
    told = {"version": "1.0", "metadata": metadata, "benchmarks": [{"runs": runs}]}
    (folder / name).write_text(json.dumps(told))


def test_builds_that_one_version_pools_are_told(tmp_path: Path) -> None:
    """A folder of two commits is one version beside another; the fields are named, --by works."""
    _pyperf(tmp_path / "nightly", "a.json", "49918f5")
    _pyperf(tmp_path / "nightly", "b.json", "461b1d9")
    for name in ("a.json", "b.json"):
        _pyperf(tmp_path / "release", name, "29805f0")
    asked = ("corpus", "build", tmp_path / "nightly", tmp_path / "release", "-o")
    told = [
        "! nightly pools files that differ in commit_id, python_version.",
        "  Tell them apart: corpus build --by FIELD, or NAME=PATH ...",
    ]
    code, out, err = speedproof(*asked, tmp_path / "c")
    assert (code, err, out.splitlines()[-2:]) == (0, "", told)
    assert speedproof("corpus", "info", tmp_path / "c")[1] == out
    out = speedproof(*asked, tmp_path / "d", "--by", "commit_id")[1]
    assert "in 3 versions" in out
    assert "!" not in out


def test_info_lists_names_that_sql_knows(tmp_path: Path) -> None:
    """Not those that reports shorten."""
    files = [
        shutil.copy(GCC / f"O{k + 2}.json", tmp_path / f"py-{of}-pairs.json")
        for k, of in enumerate(("jit", "own"))
    ]
    out = speedproof("corpus", "build", *files, "-o", tmp_path / "c")[1]
    assert "\nVersions: py-jit-pairs, py-own-pairs\n" in out
    sql = "SELECT count(*) AS n FROM corpus WHERE version = 'py-jit-pairs'"
    assert speedproof("corpus", "query", tmp_path / "c", sql)[1] == "n\n6\n"


def test_short_names_outlive_what_is_added() -> None:
    """Names that begin otherwise change none; a commit's hash at the end of one folder's name means that one."""
    commits = [f"bm-2026050{day}-3.16.0a0-{commit}" for day, commit in ((7, "49918f5"), (8, "29805f0"))]
    own = [f"{name}{kind}/bm-linux-{name[-7:]}" for name in commits for kind in ("", "-JIT")]
    more = [*own, "go/benchseries-old-version", "go/b-new-version-long"]
    after = short_names(more)
    assert [after[name] for name in own] == ["49918f5", "49918f5-JIT", "29805f0", "29805f0-JIT"]
    assert {name: after[name] for name in own} == short_names(own)

    assert [version_given(after[name], more) for name in more] == more
    assert version_given("29805f0-JIT", [*commits, f"{commits[1]}-JIT"]) == f"{commits[1]}-JIT"
    assert version_given("fast", ["49918f5 fast", "fast"]) == "fast"  # a name before what a commit is called


WRITES = [
    "COPY corpus TO '{f}'", "FROM corpus; ATTACH '{f}' AS x", "EXPORT DATABASE '{f}'",
    "EXPLAIN ANALYZE COPY (SELECT 42) TO '{f}'", "PREPARE x AS COPY (SELECT 42) TO '{f}'; EXECUTE x",
    "SET log_query_path = '{f}'", "PRAGMA profiling_output = '{f}'", "PRAGMA enable_profiling",
    "FROM corpus; FROM corpus",
    "CREATE PERSISTENT SECRET s (TYPE s3, KEY_ID 'x', SECRET 'y')", "SET enable_external_access = true", "",
]  # fmt: skip
READS = ["FROM read_text('{secret}')", "FROM read_csv('{secret}')", "FROM glob('/*')", "FROM '{secret}'"]


@pytest.mark.parametrize("sql", WRITES)
def test_a_query_writes_nothing(gcc: Path, tmp_path: Path, sql: str) -> None:
    code, out, err = speedproof("corpus", "query", gcc, sql.format(f=tmp_path / "f"))
    assert (code, out, "one SELECT and only reads" in err) == (2, "", True)
    assert not (tmp_path / "f").exists()


@pytest.mark.parametrize("sql", READS)
def test_a_query_opens_no_other_file(gcc: Path, tmp_path: Path, sql: str) -> None:
    """Not by a query, nor in the condition of any command, nor through a link to the corpus."""
    (tmp_path / "secret.csv").write_text("x\n42\n")
    (tmp_path / "link").symlink_to(gcc)
    sql = sql.format(secret=tmp_path / "secret.csv")
    assert speedproof("corpus", "query", tmp_path / "link", "SELECT count(*) FROM corpus")[0] == 0
    code, out, err = speedproof("corpus", "query", gcc, sql)
    assert (code, out, "disabled" in err or "does not exist" in err or "there is no table" in err) == (
        2,
        "",
        True,
    )


CONDITIONED = [
    ("compare", "{c}"), ("gate", "--baseline", "{c}:O2", "--candidate", "{c}:O3"), ("hpt", "{c}"), ("rank", "{c}"),
    ("show", "{c}"), ("model", "{c}"), ("plot", "{c}", "-o", "p.svg"),
    ("history", "add", "{c}", "--store", "h.db"), ("corpus", "compare", "{c}", "--workers", "1"),
    ("corpus", "model", "{c}", "--workers", "1"), ("corpus", "changes", "{c}", "--workers", "1"),
]  # fmt: skip


@pytest.mark.parametrize("argv", CONDITIONED, ids=" ".join)
def test_a_condition_is_an_expression(
    gcc: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, argv: tuple[str, ...]
) -> None:
    """It ends no query and begins none, and opens no file."""
    monkeypatch.chdir(tmp_path)
    for where in (
        "1=1); COPY (SELECT 42) TO 'f'; SELECT * FROM corpus WHERE (1=1",
        "n IN (SELECT 1 FROM read_text('/etc/hostname'))",
    ):
        code, out, err = speedproof(*(word.format(c=gcc) for word in argv), "--where", where)
        assert (code, out) == (2, "")
        assert "syntax error" in err or "disabled" in err
        assert {path.name for path in tmp_path.iterdir()} <= {"c", "h.db"}


def test_pairs_with_nothing_in_common_are_counted(gcc: Path, tmp_path: Path) -> None:
    """One of three pairs is left, and no row is followed by "and so many more" where none is shown."""
    (tmp_path / "other.csv").write_text("benchmark,value\nx,1\nx,2\n")
    assert speedproof("corpus", "build", tmp_path / "other.csv", "-o", gcc, "--append")[0] == 0
    where = "benchmark IN ('collatz', 'stencil', 'x')"
    out = speedproof("corpus", "compare", gcc, "--pairs", "all", "--workers", "1", "--where", where)[1]
    assert "2 more pairs of versions have no benchmark in common." in out


@pytest.mark.slow
@pytest.mark.parametrize("more", [(), ("--pairs", "all"), ("--json",)])
def test_nothing_in_common_is_an_error(gcc: Path, more: tuple[str, ...]) -> None:
    """As in compare: code 2."""
    where = "(version = 'O2') = (benchmark = 'sieve')"
    for known in (False, True):
        if known:
            assert speedproof("corpus", "compare", gcc, "--workers", "1")[0] == 0
        code, out, err = speedproof("corpus", "compare", gcc, "--workers", "1", "--where", where, *more)
        assert (code, out) == (2, "")
        of_each = [] if more == ("--pairs", "all") else ["  O2 has sieve (time)", "  O3 has ... (time)"]
        first, *lines, remedy = err.splitlines()
        assert first == "speedproof: error: no benchmark and metric that all sides have can be compared:"
        assert [re.sub("O3 has .* ", "O3 has ... ", line) for line in lines] == of_each
        assert remedy == f"  'speedproof compare {gcc}' with --match position compares them by their places"
        assert len(list(gcc.glob("answers/*"))) == known
        assert (gcc / "answers").exists() == known


def test_files_that_are_there_already_change_nothing(gcc: Path) -> None:
    """They are not read again."""
    before = speedproof("corpus", "info", gcc)[1]
    code, out, err = speedproof("corpus", "build", GCC / "O2.json", GCC / "O3.json", "-o", gcc, "--append")
    assert (code, out, err) == (0, before, "speedproof: 2 files left out: already in the corpus, unchanged\n")


@pytest.mark.parametrize("length", [1, 40, 90])
def test_rejects_keep_the_names_of_files(tmp_path: Path, length: int) -> None:
    """They are whole, and the query for all of them can be pasted, however long."""
    bad = tmp_path / "results" / "numpy 1.8.json"
    bad.parent.mkdir()
    for number in range(6):
        bad.with_stem(f"numpy {number}.8 {'x' * 20}").write_text("{ not JSON")
    corpus = tmp_path / f"a corpus{'x' * length}"
    out = speedproof("corpus", "build", GCC / "O2.json", bad.parent, "-o", corpus)[1]
    for number in range(3):
        assert f"numpy {number}.8 {'x' * 20}.json" in " ".join(out.split())
    assert "numpy 3.8" not in " ".join(out.split())
    assert "DIR" not in out
    (query,) = [line for line in out.splitlines() if "FROM rejects" in line]
    assert shlex.split(query)[-5:] == ["speedproof", "corpus", "query", str(corpus), "FROM rejects"]


def test_what_cures_a_reject_is_an_option(tmp_path: Path) -> None:
    """In the error, in what is shown of the corpus, and where a history takes the file."""
    (tmp_path / "bad.csv").write_text("a\n")
    asked: list[tuple[str | Path, ...]] = [
        ("corpus", "build", tmp_path / "bad.csv", "-o", tmp_path / "c"),
        ("corpus", "build", tmp_path / "bad.csv", GCC / "O2.json", "-o", tmp_path / "d"),
        ("history", "add", "--store", tmp_path / "s.db", "--commit", "abc", tmp_path / "bad.csv"),
    ]
    for argv in asked:
        _, out, err = speedproof(*argv)
        assert "name one as column value=NAME" in " ".join((out + err).split())


def test_a_part_that_others_share_does_not_hide_a_short_name() -> None:
    """Folders tell the builds of a commit apart, whose files share one name: short names are of the folders."""
    versions = [
        f"bm-{day}-3.16.0a0-{commit[:7]}{jit}/bm-{day}-host-python-{commit}-3.16.0a0-{commit[:7]}"
        for day, commit in ((20260514, "461b1d96313de02992d2"), (20260602, "71fc4c66d3e675a5481b"))
        for jit in ("", "-JIT")
    ]
    short = short_names(versions)
    assert list(short.values()) == ["461b1d9", "461b1d9-JIT", "71fc4c6", "71fc4c6-JIT"]
    assert [version_of(name, versions) for name in short.values()] == versions

"""Other tools' benchmarks, through stand-ins that take the tools' own options and write their own files."""

import json
import re
import stat
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.command import speedproof

from speedproof.cli import run_session
from speedproof.data.session_file import PlannedVersion
from speedproof.errors import FormatError, UsageError
from speedproof.measuring.drivers import DRIVERS, ToolExecutor, planned
from speedproof.measuring.execute import Run, RunError
from speedproof.measuring.executor import CommandExecutor
from speedproof.measuring.store import read_sessions

# Loaded beforehand: when a thread does so while another parses, early releases of Python 3.11 fail.
for _name in run_session.LOADED_LATE:
    import_module(_name)

# A tool that has three benchmarks: what $SLOW says is 1.5 times slower, all else takes what the number of the
# invocation says, so that sides differ by noise. Every invocation writes down its own words.
STAND_IN = r"""#!PYTHON -SE
import json, os, pathlib, re, sys
tool, words = pathlib.Path(sys.argv[0]).name, sys.argv[1:]
side = os.environ["SIDE"]
log = pathlib.Path(f"{side}.log")
turn = len(log.read_text().splitlines()) if log.exists() else 0
with log.open("a") as file:
    file.write(json.dumps(words) + "\n")
noise = 1 + 0.01 * ((turn * 7 + (3 if side == "new" else 0)) % 10)
def value(name):
    return 1e-3 * noise * (1.5 if name in os.environ.get("SLOW", "").split(",") else 1)
def after(option):
    found = [w.split("=", 1)[1] for w in words if w.startswith(option + "=")]
    return found[-1] if found else None
def write(place, content):
    path = pathlib.Path(place)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
"""

TOOLS = {
    "google-benchmark": (
        ["Sum/8", "Sum/64", "Sort<int>/8"],
        """
names = [n for n in ("Sum/8", "Sum/64", "Sort<int>/8") if re.search(after("--benchmark_filter") or ".", n)]
assert after("--benchmark_out_format") == "json"
write(after("--benchmark_out"), {"context": {"num_cpus": 2, "library_build_type": "release"}, "benchmarks": [
    {"name": n, "run_name": n, "run_type": "iteration", "real_time": value(n) * f * 1e9,
     "cpu_time": 1.0, "time_unit": "ns", "iterations": 9} for n in names for f in (0.5, 1, 3)]})
""",
    ),
    "go": (
        ["Sort/n=8", "Sort/n=64", "Sum"],
        """
levels = after("-test.bench").split("/")
print("goos: linux\\npkg: a")
for n in ("Sort/n=8", "Sort/n=64", "Sum"):
    parts = ("Benchmark" + n).split("/")
    # As testing.B does: every part by its level's expression; a name that ends before the levels do is not run.
    if len(parts) >= len(levels) and all(re.search(e, p) for e, p in zip(levels, parts)):
        print(f"Benchmark{n}-2 \\t 100 \\t {value(n) * 1e9} ns/op \\t 3 B/op")
""",
    ),
    "hyperfine": (
        ["a -x", "b", "c"],
        """
at = words.index("--export-json")
write(words[at + 1], {"results": [{"command": n, "times": [value(n), value(n), 9.0]}
    for n in ("a -x", "b", "c") if n in words]})
""",
    ),
    "jmh": (
        ["p.B.a:n=1", "p.B.a:n=2", "p.B.rate"],
        """
assert words[words.index("-rf") + 1] == "json"
gone = words[words.index("-e") + 1] if "-e" in words else "(?!)"
all = [("p.B.a", {"n": "1"}, "avgt"), ("p.B.a", {"n": "2"}, "avgt"), ("p.B.rate", {}, "thrpt")]
def score(b, p, mode):
    v = value(b + (":n=" + p["n"] if p else ""))
    return v * 1e6 if mode == "avgt" else 1e-3 / v
write(words[words.index("-rff") + 1], [{"jmhVersion": "1.37", "benchmark": b, "mode": m, "params": p,
    "primaryMetric": {"scoreUnit": "us/op" if m == "avgt" else "ops/ms", "rawData": [[score(b, p, m)] * 3]}}
    for b, p, m in all if not re.search(gone, b)])
""",
    ),
    "criterion": (
        ["g/a", "g/b", "h"],
        """
for n in ("g/a", "g/b", "h"):
    if re.search(words[-1] if words else ".", n):
        for run in ("new", "base"):
            folder = pathlib.Path(os.environ["CRITERION_HOME"], n, run)
            times = [2e9 * value(n), 4e9 * value(n)]
            write(folder / "sample.json", {"sampling_mode": "Flat", "iters": [2, 4], "times": times})
            write(folder / "benchmark.json", {"full_id": n})
            write(folder / "estimates.json", {})
""",
    ),
}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def stand_in(tool: str) -> str:
    path = Path(tool)
    path.write_text(STAND_IN.replace("PYTHON", sys.executable) + TOOLS[tool][1])
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return f"./{tool}"


def run(*argv: str) -> tuple[int, str, str]:
    return speedproof("run", *argv)


def invocations(side: str) -> list[list[str]]:
    return [json.loads(line) for line in Path(f"{side}.log").read_text().splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize("tool", TOOLS)
def test_each_benchmark_has_its_own_verdict_and_leaves_when_it_is_decided(tool: str) -> None:
    command, names = stand_in(tool), TOOLS[tool][0]
    command += ' "a -x" b c' if tool == "hyperfine" else ""
    code, out, err = run(
        *("--driver", tool, "--name", "old", "--name", "new", "--stop-at-proof", "--max-runs", "14"),
        *("--env", "old:SIDE=old", "--env", "new:SIDE=new", "--env", f"new:SLOW={names[1]}"),
        *("--save", "r.jsonl", "--seed", "1", command, command),
    )
    assert code == 0, err
    assert "1 slower, 2 undecided of 3" in out
    (session,) = read_sessions(Path("r.jsonl"))
    assert [b.name for b in session.head.benchmarks] == names
    counts = Counter((r.benchmark, r.version) for r in session.runs)
    decided = counts[names[1], "old"]
    assert decided < 14
    assert counts == {(n, v): decided if n == names[1] else 14 for n in names for v in ("old", "new")}
    # The whole tool once to find its benchmarks, then once a block; its median is what counts.
    assert len(invocations("old")) == len(invocations("new")) == 15
    for line in session.runs:
        slow = 1.5 if (line.version, line.benchmark) == ("new", names[1]) else 1.0
        assert 0.999e-3 <= line.metrics["time"] / slow <= 1.1e-3
    # Its own filter is asked for what is left; JMH's knows methods, not parameters.
    narrowed = invocations("new")[-1] != invocations("new")[1]
    assert narrowed is (tool != "jmh")


def test_names_in_filters_mean_themselves() -> None:
    """Criterion refuses an escaped blank."""
    odd = "fib (20)/a.b é[1]{2}"
    (escaped,) = DRIVERS["criterion"].narrow(["./b"], [odd], ["x"])[1:]
    assert escaped == r"^(fib \(20\)/a\.b é\[1]\{2})$"
    assert re.search(escaped, odd)


@pytest.mark.parametrize(("tool", "words", "wanted", "left", "asked"), [
    ("criterion", "cargo bench", "a", "b", "cargo bench -- ^(a)$"),
    ("criterion", "cargo bench -- --quiet", "a", "b", "cargo bench -- --quiet ^(a)$"),
    ("criterion", "target/b --bench", "a", "b", "target/b --bench ^(a)$"),
    ("criterion", "bench --bench", "a", "b", "bench --bench ^(a)$"),
    ("google-benchmark", "./b", "a", "b", "./b --benchmark_filter=^(a)$"),
    # It has names of its own.
    ("hyperfine", "hyperfine a b", "a", "b", "hyperfine a"),
    ("hyperfine", "hyperfine a b --command-name=x", "a", "b", "hyperfine a b --command-name=x"),
    ("hyperfine", "hyperfine -n a ./x -n b ./y", "b", "a", "hyperfine -n a ./x -n b ./y"),
    ("pyperf", "python b.py", "a", "b", "python b.py"),
    ("pytest-benchmark", "pytest", "a", "b", "pytest --deselect=b"),
    # It deselects by prefix.
    ("pytest-benchmark", "pytest", "t.py::sort_big t.py::z", "t.py::sort t.py::x", "pytest --deselect=t.py::x"),
    # A method is left out with all its parameters.
    ("jmh", "java", "a", "b", "java -e ^(b)$"),
    ("jmh", "java", "p.B.a:n=1", "p.B.a:n=2 p.B.r", r"java -e ^(p\.B\.r)$"),
    # It is asked no deeper than the shallowest name.
    ("go", "go test", "a", "b", "go test -bench=^(Benchmarka)$"),
    ("go", "./go -x test", "a", "b", "./go -x test -test.bench=^(Benchmarka)$"),
    ("go", "go test", "Sort/n=8 Sort/n=64", "", "go test -bench=^(BenchmarkSort)$/^(n=8|n=64)$"),
    ("go", "./x.test", "Sort/n=8 Sum", "", "./x.test -test.bench=^(BenchmarkSort|BenchmarkSum)$"),
    ("go", "go test", "b.org/a.Sum F-8", "", "go test -bench=^(BenchmarkSum|BenchmarkF-8|BenchmarkF)$"),
])  # fmt: skip
def test_words_that_leave_some_out(tool: str, words: str, wanted: str, left: str, asked: str) -> None:
    assert DRIVERS[tool].narrow(words.split(), wanted.split(), left.split()) == asked.split()


@pytest.mark.parametrize(("tool", "words", "asked"), [
    ("criterion", "cargo bench", "cargo bench"), ("go", "go test", "go test -bench=. -run=^$"),
    ("go", "./x.test", "./x.test -test.bench=. -test.run=^$"),
    ("go", "go test -bench=Sort", "go test -bench=Sort"),
    ("go", "./x.test --test.bench Sort", "./x.test --test.bench Sort"),
    ("google-benchmark", "./b", "./b --benchmark_out=F --benchmark_out_format=json"),
    ("hyperfine", "hyperfine a", "hyperfine a --export-json F"), ("jmh", "java", "java -rf json -rff F"),
    ("pyperf", "python b.py timeit", "python b.py timeit -o F"),
    ("pyperf", "pyperf timeit x", "pyperf timeit -o F x"),
    ("pyperf", "python -m pyperf command -- ls -o", "python -m pyperf command -o F -- ls -o"),
    ("pyperf", "pyperf command timeit", "pyperf command -o F timeit"),
    ("pyperf", "timeit pyperf x", "timeit pyperf x -o F"),
    ("pytest-benchmark", "pytest", "pytest --benchmark-json=F"),
])  # fmt: skip
def test_words_that_ask_for_a_file(tool: str, words: str, asked: str) -> None:
    """A subcommand belongs to pyperf only after its name."""
    assert DRIVERS[tool].ask(words.split(), "F") == asked.split()
    assert DRIVERS[tool].env("F") == ({"CRITERION_HOME": "F"} if tool == "criterion" else {})
    assert DRIVERS[tool].printed is (tool == "go")


def sides(*names: str) -> list[PlannedVersion]:
    return [PlannedVersion(name, (name,), name) for name in names]


def test_what_is_absent_at_one_side_is_named_and_the_others_go_on() -> None:
    """One benchmark a side needs no common name."""
    found = {"A": {"a": 1.0, "b": 1.0, "c": 1.0}, "B": {"a": 1.0, "d": 1.0}, "C": {"a": 1.0, "b": 1.0}}
    plan, aliases, absent = planned(sides("A", "B", "C"), found)
    assert {b.name: [v.name for v in b.versions] for b in plan} == {"a": ["A", "B", "C"], "b": ["A", "C"]}
    assert (absent, aliases) == ({"b": ("B",), "c": ("B", "C"), "d": ("A",)}, {})
    with pytest.raises(
        UsageError, match="no benchmark in common: a: not in B; b: not in B; e: not in A, the reference"
    ):
        planned(sides("A", "B"), {"A": {"a": 1.0, "b": 1.0}, "B": {"e": 1.0}})
    many = {"A": dict.fromkeys("abcd", 1.0), "B": dict.fromkeys("efgh", 1.0)}
    with pytest.raises(UsageError, match=r": a: not in B; .*; f: not in A, the reference$"):
        planned(sides("A", "B"), many)
    plan, aliases, absent = planned(sides("A", "B"), {"A": {"./old": 1.0}, "B": {"./new": 1.0}})
    assert ([b.name for b in plan], absent) == (["command"], {})
    assert aliases == {"A": {"command": "./old"}, "B": {"command": "./new"}}
    plan, aliases, _ = planned(sides("A", "B"), {"A": {"./old": 1.0}, "B": {"./old": 1.0}})
    assert ([b.name for b in plan], aliases) == (["./old"], {})


@pytest.mark.slow
def test_a_gate_does_not_pass_what_the_candidate_lacks() -> None:
    """A benchmark that crashes must not look like one that passes, now or when the file is looked at again."""
    command = stand_in("hyperfine")
    words = (
        "--margin 90% --driver hyperfine --name old --name new --env old:SIDE=old --env new:SIDE=new --seed 1"
    )
    asked = (*words.split(), f'{command} "a -x" b c', f'{command} "a -x" c')
    code, out, err = run("--gate", "--save", "r.jsonl", "--junit", "j.xml", *asked)
    assert code == 1, out + err
    assert "left out: b: not in new" in err
    assert "FAIL: 1 benchmark missing" in out
    assert re.search(r"MISSING  b +-\s+only the reference has it", out)
    assert Path("j.xml").read_text().count("<failure") == 1
    code, again, _ = run("--review", "r.jsonl")
    assert code == 1
    assert out.startswith(again)
    code, out, err = speedproof("gate", "--skip", "b", *asked)
    assert (code, "left out: b" in err) == (0, False), out + err


@pytest.mark.parametrize(("words", "message"), [
    ("--shell a b", "leave out --shell"), ("--metric x=1 --warmup 2 a b", "leave out --metric, --warmup"),
    ("true", "compares two commands or more"),
])  # fmt: skip
def test_wrong_requests_are_named(words: str, message: str) -> None:
    code, _, err = run("--driver", "go", *words.split())
    assert code == 2
    assert message in " ".join(err.split())


def test_a_tool_that_fails_is_shown() -> None:
    """A plug-in that is not installed is named, and not the file that it was asked for."""
    refused = "usage: pytest [options]\npytest: error: unrecognized arguments: --benchmark-json=/tmp/x"
    for name, text in (("bad", "echo no such benchmark >&2"), ("pytest", f"printf '{refused}' >&2")):
        Path(name).write_text(f"#!/bin/sh\n{text}\nexit 4\n")
        Path(name).chmod(0o755)
    for words, told in (
        (("go", "./bad", "./bad -x"), ("exited with code 4", "no such benchmark")),
        (("go", "true", "true -x"), ("printed nothing",)),
        (("pytest-benchmark", "./pytest", "./pytest -x"), ("pip install pytest-benchmark",)),
    ):
        code, _, err = run("--driver", *words)
        assert code == 2
        assert all(part in err for part in told)
        assert "/tmp/x" not in err
    assert not list(Path().glob("*.jsonl"))


class Scripted(CommandExecutor, frozen=True):
    """A tool that does what the test says, and is told whether its output is kept."""

    does: Callable[[PlannedVersion, bool], Run] = lambda version, capture: Run({})

    def measure(self, version: PlannedVersion) -> Run:
        return self.does(version, self.capture)


RESULTS = Path("results/results")
FOUND = {"a": 1.0, "b": 2.0, "c": 3.0}
ASKED = PlannedVersion(
    "v", ("./b", "-x"), "./b -x", {"A": "1"}, "/cwd", "set", "prepare", "conclude", "clean"
)


def scripted(
    driver: str,
    does: Callable[[PlannedVersion, bool], Run],
    aliases: Mapping[str, Mapping[str, str]] | None = None,
) -> ToolExecutor:
    RESULTS.parent.mkdir(exist_ok=True)
    return ToolExecutor(
        driver, Scripted(does=does), RESULTS.parent, lambda path: json.loads(path.read_text()), aliases or {}
    )


def asked_for(*words: str) -> PlannedVersion:
    """As the tool is started: with its hooks around the run, not those around all runs."""
    command = ("./b", "-x", f"--benchmark_out={RESULTS}", "--benchmark_out_format=json", *words)
    hooks = {"prepare": "prepare", "conclude": "conclude"}
    return PlannedVersion("v", command, "./b -x", {"A": "1"}, "/cwd", **hooks)  # type: ignore[arg-type]


@pytest.mark.parametrize("loses", [False, True])
@pytest.mark.parametrize("fails", [False, True])
def test_a_tool_is_asked_for_what_is_left(loses: bool, fails: bool) -> None:
    """For all when its filter loses some, now and from then on; a run that fails tells nothing of that."""
    asked: list[PlannedVersion] = []

    def does(version: PlannedVersion, capture: bool) -> Run:
        assert not RESULTS.exists()
        assert not capture
        asked.append(version)
        (chosen,) = [w.partition("=")[2] for w in version.command if "filter" in w] or ["."]
        found = {n: x for n, x in FOUND.items() if re.search(chosen, n) and not (loses and chosen != ".")}
        RESULTS.write_text(json.dumps(found))
        return Run({"time": 9.0}, exit=int(fails and len(asked) > 1), left_behind=len(asked))

    tool = scripted("google-benchmark", does)
    assert tool.discover(ASKED) == FOUND
    assert asked == [asked_for()]
    narrowed, times = asked_for("--benchmark_filter=^(b|a)$"), {} if fails else {"time": 1.0}
    runs = tool.measure_all(ASKED, ["a"], ["b", "a", "foreign"])
    again = loses and not fails
    assert asked[1:] == ([narrowed, asked_for()] if again else [narrowed])
    assert runs == {"a": Run(times, exit=int(fails), left_behind=2 + again)}
    runs = tool.measure_all(ASKED, ["a", "foreign"], ["b", "a"])
    assert asked[-1] == (asked_for() if again else narrowed)
    assert (len(asked), [run.metrics for run in runs.values()]) == (3 + again, [times, {}])
    # Who would measure it all anyway is not asked.
    assert tool.measure_all(ASKED, ["c"], ["c", "b", "a"]).keys() == {"c"}
    assert asked[-1] == asked_for()
    assert not RESULTS.exists()


def test_what_is_called_differently_at_each_side_is_asked_for_by_its_own_name() -> None:
    def does(version: PlannedVersion, capture: bool) -> Run:
        RESULTS.write_text(json.dumps({f"./{version.name}": 4.0, "other": 5.0}))
        return Run({"time": 9.0})

    tool = scripted("google-benchmark", does, aliases={"v": {"command": "./v"}})
    tool.discover(ASKED)
    expected = {"command": Run({"time": 4.0}), "other": Run({"time": 5.0})}
    assert tool.measure_all(ASKED, ["command", "other"], ["command"]) == expected


def test_a_tools_versions_are_set_up_and_cleaned_up() -> None:
    tool = scripted("hyperfine", lambda version, capture: Run({}))
    version = PlannedVersion("v", ("x",), "x", setup="echo set > set", cleanup="mv set clean")
    tool.begin(version)
    assert Path("set").exists()
    tool.finish(version)
    assert Path("clean").read_text() == "set\n"


@pytest.mark.parametrize("kept", [False, True])
def test_what_a_tool_prints_is_its_file(kept: bool) -> None:
    """Blank output is none, nor is that of a run that failed; captured as well when that is asked for."""
    runs = iter(
        [Run({}, stdout=json.dumps(FOUND).encode()), Run({}, stdout=b" \n"), Run({}, stdout=b"{}", exit=1)]
    )

    def does(version: PlannedVersion, capture: bool) -> Run:
        assert capture
        return next(runs)

    tool = scripted("go", does)
    tool.executor = replace(tool.executor, capture=kept)
    assert tool.discover(ASKED) == FOUND
    with pytest.raises(RunError, match="printed nothing in which the reader of go finds a time"):
        tool.discover(ASKED)
    with pytest.raises(RunError, match="exited with code 1"):
        tool.discover(ASKED)
    assert not RESULTS.exists()
    tool = scripted("hyperfine", lambda version, capture: Run({}))
    with pytest.raises(RunError, match="wrote nothing in which the reader of hyperfine finds a time"):
        tool.discover(ASKED)


@pytest.mark.parametrize("capture", [False, True])
def test_results_that_are_a_folder_or_unreadable_are_removed(capture: bool) -> None:
    """Where the variables say; what is kept of a run's output is kept here, too."""

    def does(version: PlannedVersion, kept: bool) -> Run:
        assert kept is capture
        assert version.env == {"A": "1", "CRITERION_HOME": str(RESULTS)}
        RESULTS.mkdir()
        (RESULTS / "x").write_text("7.0")
        return Run({}, stderr=b"trouble")

    tool = scripted("criterion", does)
    tool.executor = replace(tool.executor, capture=capture)
    tool.read = lambda path: {"x": float((path / "x").read_text())}
    assert tool.discover(ASKED) == {"x": 7.0}
    assert not RESULTS.exists()

    def refuse(path: Path) -> dict[str, float]:
        raise FormatError(str(path), "line 1", "is odd")

    tool.read = refuse
    with pytest.raises(
        RunError, match=r"^'\./b -x' wrote results that cannot be read: is odd; its output:\ntr"
    ):
        tool.discover(ASKED)
    assert not RESULTS.exists()

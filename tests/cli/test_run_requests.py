"""What ``speedproof run`` is asked for: what cannot be meant is refused, with a remedy, before anything runs."""

import itertools
import json
import os
import resource
import shlex
import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.command import parse, runs_are, speedproof

from speedproof.api.run_plan import Request, plan_of
from speedproof.cli.main import COMMANDS
from speedproof.data.session_file import PlannedBenchmark
from speedproof.measuring.execute import Run
from speedproof.measuring.store import read_sessions

SUITE = """
[versions.old]
t = "0.001"
[versions.new]
t = "0.002"
[benchmarks.nap]
command = "sleep {t}"
"""


def run(*argv: str) -> tuple[int, str, str]:
    return speedproof("run", *argv)


def refused(*argv: str) -> str:
    """The message; nothing was run, so no results file is new."""
    before = sorted(Path().glob("*.jsonl"))
    code, out, err = run(*argv)
    assert (code, out) == (2, "")
    assert sorted(Path().glob("*.jsonl")) == before
    return err


def planned(*argv: str) -> tuple[PlannedBenchmark, ...]:
    Path("plan.jsonl").unlink(missing_ok=True)
    code, _, err = run("--max-runs", "1", "--warmup", "0", "--save", "plan.jsonl", *argv)
    assert code == 0, err
    return read_sessions(Path("plan.jsonl"))[0].head.benchmarks


@pytest.mark.parametrize("argv", [
    ["--shell", "echo a | cat", "echo b | cat"], ["echo a | cat", "--shell", "echo b | cat"],
    ["echo a | cat", "echo b | cat", "--shell"], ["--shell=sh", "echo a | cat", "echo b | cat"],
])  # fmt: skip
def test_shell_takes_no_command_for_its_name(argv: list[str]) -> None:
    args = parse(["run", "--shell=bash --norc", "a", "--", "b", "--shell", "c"])
    assert (args.measuring.shell, args.commands, args.words) == ("bash --norc", ("a",), ("b", "--shell", "c"))
    args = parse(["run", "--shell", "/bin/zsh", "", "--revisions", "A", "B", "--build", "make", "c"])
    assert (args.measuring.shell, args.measuring.revisions) == ("/bin/zsh", ("A", "B"))
    assert args.commands == ("", "c")
    (benchmark,) = planned(*argv)
    assert [v.text for v in benchmark.versions] == ["echo a | cat", "echo b | cat"]
    commands = [(Path(v.command[0]).name, *v.command[1:]) for v in benchmark.versions]
    assert commands == [("sh", "-c", f"echo {word} | cat") for word in "ab"]


@pytest.mark.slow
@pytest.mark.parametrize(("command", "piece"), [
    ("true && true", "&&"), ("true | true", "|"), ("true 2>&1", "2>&1"), ("true > out", ">"),
    ("true $HOME", "$HOME"), ("true ~/x", "~/x"), ("true *.here", "*.here"),
])  # fmt: skip
def test_what_only_a_shell_knows_is_refused(command: str, piece: str) -> None:
    """Both remedies of the message work."""
    Path("file.here").touch()
    message = refused("true", command)
    assert (
        f"{command!r}: only a shell knows what {piece} stands for; use --shell, or, to pass it on" in message
    )
    assert message.rstrip().endswith(f"write {shlex.quote(piece)}")
    assert piece in refused("--calibrate", command)
    _, version = planned("true", command.replace(piece, shlex.quote(piece)))[0].versions
    assert piece in version.command
    _, version = planned("true", command, "--shell")[0].versions
    assert version.command[-1] == command
    (version,) = planned("--", "true", piece)[0].versions
    assert version.command == ("true", piece)


@pytest.mark.parametrize("words", [
    "--env A=1", "--cwd /tmp", *(f"--{of} true" for of in ("setup", "prepare", "conclude", "cleanup")), "--shell",
    "-L t 1,2", "--name x", "--benchmark command",
])  # fmt: skip
def test_what_a_suite_says_is_not_said_beside_it(words: str) -> None:
    Path("s.toml").write_text(SUITE)
    told = f"what --suite measures is defined in s.toml; leave out {words.split()[0]}\n"
    assert told in refused("--suite", "s.toml", *words.split())
    assert "--calibrate and --suite exclude each other" in refused("--suite", "s.toml", "--calibrate")


def test_benchmarks_of_one_version_have_a_line_each(monkeypatch: pytest.MonkeyPatch) -> None:
    times = itertools.cycle((1.0, 2.0, 6.0))
    runs_are(monkeypatch, lambda job: Run({"time": next(times)}))
    Path("s.toml").write_text("".join(f"[benchmarks.{b}]\ncommands = {{ one = 'true' }}\n" for b in "xy"))
    parts = run("--suite", "s.toml", "--runs", "3", "--warmup", "0")[1].split("\n\n")
    assert [part.partition(": median ")[0] for part in parts] == ["one (x)", "one (y)"]
    told = "median 2 s, deviation 2.646 s, minimum 1 s, 3 runs"  # the root of 7
    assert all(part.rstrip().endswith(told) for part in parts)


def test_what_applies_to_a_suite_is_applied() -> None:
    Path("in.txt").write_text("score 7\n")
    Path("s.toml").write_text("[benchmarks.b]\ncommands = { one = 'cat', two = 'cat -' }\n")
    options = ["--reference", "two", "--input", "in.txt", "--metric", r"score=score (\d)", "--timeout", "60"]
    (benchmark,) = planned("--suite", "s.toml", *options)
    assert [v.name for v in benchmark.versions] == ["two", "one"]
    (session,) = read_sessions(Path("plan.jsonl"))
    assert [r.metrics["score"] for r in session.runs] == [7, 7]
    Path("s.toml").write_text(SUITE.replace("0.002", "30"))
    assert "took longer than its time-out" in run("--suite", "s.toml", "--timeout", "0.3")[2]


@pytest.mark.parametrize(("line", "message"), [
    ("'sleep {n}' -L n 1 -L n 2", "the parameter n is given twice"),
    ("true true --gate --decide-by p90", "cannot be combined with a policy"),
    *((f"'x {{n}}' -P n {ends}", f"-P n {ends}: {told}") for ends, told in (
        ("1 a", "a scan goes from one number to another"), ("0 10000", "this is no number, or more than 10000"),
        *((ends, "this is no number, or more") for ends in ("-0.5 -1", "1 inf", "nan 2")))),
    ("true --calibrate --decide-by cpu", "--calibrate describes the noise of the time; leave out --decide-by"),
    ("true --suite s.toml", "give commands or --suite, not both"),
    ("true --fail-on slower", "a single version has no verdict; leave out --fail-on"),
    ("true true --unaffected x --unaffected c*", "--unaffected x: no such benchmark; available: command"),
    ("true true --unaffected c*", "--unaffected leaves no benchmark that the change can touch"),
])  # fmt: skip
def test_what_cannot_be_meant(line: str, message: str) -> None:
    assert message in refused(*shlex.split(line))


@pytest.mark.parametrize(("scan", "values"), [("1 3", "1 2 3"), ("2 2", "2"), ("-0.3 1", "-0.3 0.7")])
def test_a_scan_goes_by_ones(scan: str, values: str) -> None:
    args = parse(["run", "x {n}", "-P", "n", *scan.split()])
    with ExitStack() as held:
        ((benchmark,), _) = plan_of(Request(args.measuring, args.commands), str, held)
    assert [v.text for v in benchmark.versions] == [f"x {value}" for value in values.split()]


def test_a_parameter_that_makes_no_difference_is_told() -> None:
    _, _, err = run("true {n}", "true {k}", "--name", "a", "--name", "b", "-L", "n", "1,2", "--max-runs", "1")
    assert "note: the parameter n makes no difference to b: all its values give the same command" in err
    assert "note: nothing gives a value to {k}, so it stays as it is in 'true {k}'" in err
    assert "the parameter n" not in run("true {n}", "true 1 {n}", "-L", "n", "1,2", "--max-runs", "1")[2]


@pytest.mark.parametrize("asked", [
    *(f"--timeout={value}" for value in ("0", "0.0", "-1", "nan", "inf", "x")),
    "--runs=0", "--min-runs=0", "--max-runs=0",
])  # fmt: skip
def test_what_measures_nothing_is_refused_by_its_own_name(asked: str) -> None:
    option = asked.partition("=")[0]
    assert f"invalid value for '{option}'" in refused("true", "true", asked)


def test_every_metric_that_is_recorded_may_decide() -> None:
    """What each run of the file holds, and no other; memory is there when it exceeds the runner's own."""
    run("true", "true", "--max-runs", "2", "--metric", "n=(x)", "--save", "r.jsonl")
    recorded = {name for r in read_sessions(Path("r.jsonl"))[0].runs for name in r.metrics}
    message = refused("true", "--metric", "n=(x)", "--decide-by", "score")
    assert set(message.strip().rpartition("available: ")[2].split(", ")) == recorded | {"memory", "n"}
    faults = ("--decide-by", "minor-faults", "--max-runs", "2", "--json", "--save", "f.jsonl")
    code, out, err = run("true", "cat /dev/null", *faults)
    assert code == 0, err
    assert json.loads(out)["results"][0]["metric"] == "minor-faults"
    assert read_sessions(Path("f.jsonl"))[0].head.options["decide_by"] == '"minor-faults"'


def test_another_metric_decides_afterwards() -> None:
    """--review and --resume take the session's metric unless another one is asked for."""
    metrics = ("--metric", r"score:higher=score (\d+)", "--metric", r"cost=cost (\d+)")
    commands = ("echo score 10 cost 1", "echo score 20 cost 2")
    run(*commands, *metrics, "--decide-by", "score", "--save", "r.jsonl")

    def verdict(*argv: str) -> tuple[str, str, float]:
        code, out, err = run(*argv, "--json")
        assert code == 0, err
        (result,) = json.loads(out)["results"]
        c = result["comparisons"][0]
        return result["metric"], c["verdict"], round(c["speedup"]["value"], 9)

    assert verdict("--review", "r.jsonl") == ("score", "faster", 2.0)
    assert verdict("--review", "r.jsonl", "--decide-by", "cost") == ("cost", "slower", 0.5)
    assert verdict("--review", "r.jsonl", "--decide-by", "time")[0] == "time"
    assert verdict("--resume", "r.jsonl", "--max-time", "1e-9") == ("score", "faster", 2.0)
    assert verdict("--resume", "r.jsonl", "--decide-by", "cost")[:2] == ("cost", "slower")
    message = refused("--review", "r.jsonl", "--decide-by", "energy")
    assert "--decide-by energy: no such metric; available: time, user, system, cpu, memory" in message
    assert message.strip().endswith("involuntary-switches, score, cost")


@pytest.mark.slow
def test_a_quantile_decides_while_it_is_measured() -> None:
    """One answer from the session, its review and its file; of rates the lowest are the slowest."""
    metric = ("--metric", r"score:op/s=score (\d+)")
    commands = ("sh -c 'echo score $((100 + $$ % 7))'", "sh -c 'echo score $((200 + $$ % 5))'")
    code, out, err = run(*commands, *metric, "--decide-by", "score:p80", "--save", "q.jsonl", "--json")
    assert code == 0, err
    told = json.loads(out)
    (c,) = told["results"][0]["comparisons"]
    assert (told["results"][0]["metric"], c["protocol"], c["verdict"]) == ("score", "p80", "faster")
    assert 1.4 < c["speedup"]["low"] <= c["speedup"]["value"] < 2.1
    assert told["session"]["measured"][0]["blocks"] < 100
    assert json.loads(run("--review", "q.jsonl", "--json")[1])["results"] == told["results"]
    _, written, _ = speedproof("compare", "q.jsonl", "--metric", "score", "--quantile", "0.8", "--json")
    (row,) = json.loads(written)["results"][0]["comparisons"]
    for name in ("verdict", "speedup", "pvalue", "test"):
        assert row[name] == c[name]
    assert row["quantiles"][0] < 107
    assert "at P80" in run("--review", "q.jsonl")[1]


def test_under_perf_the_kernels_accounting_does_not_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither while measuring nor afterwards; a misspelt event is told, in perf's words, and the rest counted."""
    Path("perf").write_text(
        "#!/bin/sh\n"
        "case $7 in *instrutions*) echo \"event syntax error: 'instrutions'\" >&2; exit 129;; esac\n"
        "printf '5;;page-faults;1;100;;\\n2500000;ns;duration_time;1;100;;\\n' > \"$5\"\n"
        'shift 8; exec "$@"\n'
    )
    Path("perf").chmod(0o755)
    monkeypatch.setenv("PATH", f"{Path.cwd()}:/bin:/usr/bin")
    counted = ("--perf", "page-faults, instrutions", "--decide-by", "page-faults", "--max-runs", "3")
    code, _, err = run("true", "true", *counted, "--save", "r.jsonl")
    assert code == 0, err
    assert "note: perf starts the programs and takes their time" in err
    assert "note: perf does not know 'instrutions' (event syntax error: 'instrutions')" in err
    assert read_sessions(Path("r.jsonl"))[0].runs[-1].metrics == {"page-faults": 5, "time": 0.0025}
    for request in (("true", "true", *counted[:2]), ("--review", "r.jsonl")):
        message = refused(*request, "--decide-by", "user")
        assert message.strip().endswith("--decide-by user: no such metric; available: time, page-faults")
    assert run("--review", "r.jsonl", "--decide-by", "time")[0] == 0
    monkeypatch.setattr("speedproof.api.run_start.energy_meter", lambda: (None, "no counters of energy"))
    assert "note: no counters of energy\n" in run("true", "true", "--energy", "--max-runs", "1")[2]
    for second, decides, asked in ((1.0, "cpu", True), (1.0, "time", False), (1.0001, "cpu", False)):
        usage = resource.struct_rusage((second, *[0] * 15))  # in whole ticks it is perf's to tell better
        monkeypatch.setattr(resource, "getrusage", lambda who, usage=usage: usage)
        told = run("true", "true", "--decide-by", decides, "--max-runs", "1")[2]
        assert ("perf cannot count task-clock" in told) == asked


MEASURING = [
    ["--max-runs", "3"], ["--min-runs", "3"], ["--max-time", "60"], ["--warmup", "1"], ["--cpu", "0"],
    ["--seed", "1"],
]  # fmt: skip
MEASURED = [
    ["--input", "/dev/null"], ["--output", "null"], ["--timeout", "3"], ["--metric", "n=x"],
    ["--perf", "cycles"], ["--energy"], ["--ignore-failure"], ["--calibrate"], ["--shell"], ["--env", "A=1"],
    ["--cwd", "."], ["--setup", "true"], ["--prepare", "true"], ["--conclude", "true"], ["--cleanup", "true"],
    ["-L", "n", "1,2"], ["--benchmark", "command"],
]  # fmt: skip


def test_a_file_for_json_is_no_command() -> None:
    """``--json`` takes no value, so that a name after it would be measured."""
    message = refused("true", "true", "--json", "x.json")
    assert "x.json was taken for a command; JSON goes to standard output (--json > x.json)" in message
    assert run("true", "echo x.json", "--max-runs", "3", "--json")[0] == 0
    assert "old.json was taken for a command; files: speedproof compare" in refused("old.json", "new.json")
    Path("r.csv").touch()
    assert "unknown command r.csv; did you mean compare r.csv?" in speedproof("r.csv")[2]


def test_what_review_and_resume_cannot_heed_is_refused() -> None:
    """Also where the value is the default's: whoever gives it expects it to matter."""
    run("true", "true", "--max-runs", "3", "--save", "r.jsonl")
    for option in MEASURED:
        for way in ("--review", "--resume"):
            told = f"{way} takes from the session what it measured, and how; leave out {option[0]}, or"
            assert told in refused(way, "r.jsonl", *option)
    for way in ("--review", "--resume"):
        assert f"{way} takes commands, names and file from the session" in refused("true", way, "r.jsonl")
    several = refused("--review", "r.jsonl", "--max-runs", "3", "--max-time", "9", "--energy", "--calibrate")
    assert "leave out --energy, --calibrate, --max-runs, --max-time" in several
    run("true", "true", "--runs", "3", "--save", "n.jsonl")
    told = "--runs (of the session) and --max-runs exclude each other"
    assert told in refused("--resume", "n.jsonl", "--max-runs", "5")
    before = Path("r.jsonl").read_bytes()
    looking = ("--alpha", "0.1", "--margin", "1%", "--fail-on", "slower", "--export-hyperfine", "h.json")
    assert run("--review", "r.jsonl", *looking, "--json")[0] == 0
    assert Path("r.jsonl").read_bytes() == before
    every = [word for option in MEASURING[1:] for word in option]
    assert run("--resume", "r.jsonl", *every, "--max-runs", "5", "--precision", "1%")[0] == 0


@pytest.mark.parametrize(("line", "message"), [
    ("run --max-rums 3 a", "unknown option --max-rums; did you mean --max-runs?"),
    ("run --max-time=x a", "invalid value for '--max-time': 'x' is not a time; give seconds"),
    ("run --fail-on x", "invalid value for '--fail-on': 'x' is not one of"),
    *((f"{words} --max-time 0", "invalid value for '--max-time': '0' leaves no time; give more than 0 seconds")
      for words in ("run a b", "bisect A..B a", "gate --suite s")),
    ("run a --revisions", "option '--revisions' requires an argument"),
    ("gate --revisions --runs 3 -- a", "option '--revisions' requires an argument"),
    ("run a b --undecided pass", "--undecided needs --gate; give that, too"),
    ("--json compare a.json", "unknown option --json; options follow the command"),
    ("compare a.json --marginn=1%", "unknown option --marginn; did you mean --margin?"),
    ("model a.json --families", "unknown option --families; did you mean --family?"),
    ("compare a.json --reff=x", "unknown option --reff; did you mean --reference?"),
    ("show a.json --pilot=x", "unknown option --pilot; see 'speedproof show --help'"),
    ("gate a.json --csv=x", "unknown option --csv; write --json, then: speedproof report RESULTS.json --csv; "),
    ("formats x\x1b[2J", "got unexpected extra argument (x"), ("--no-such", "unknown option --no-such"),
    ("compare a --all=x", "option '--all' does not take a value; see "),
    ("rum", "unknown command rum; did you mean run?"), ("cozzzz", "unknown command cozzzz; see "),
    ("corpus --metric x", "name an action first: build, "),
    ("compare a --json=x", "option '--json' does not take a value: JSON goes to standard output (--json > FILE)"),
    *((f"{name} --zzz", "unknown option --zzz") for name in COMMANDS if name not in ("corpus", "history")),
])  # fmt: skip
def test_wrong_words_are_one_line(line: str, message: str) -> None:
    code, out, err = speedproof(*(first := line.split(" ")))
    name = f"speedproof {first[0]}" if first[0] in COMMANDS else "speedproof"
    assert (code, out) == (2, "")
    assert err.startswith(f"speedproof: error: {message}")
    assert err.endswith((f"; see '{name} --help'\n", f"? See '{name} --help'\n"))
    assert ("?;" in err, err.count("\n"), "\x1b" in err) == (False, 1, False)


@pytest.mark.slow
@pytest.mark.parametrize(("words", "some"), [
    ("speedproof ", {"compare", "run", "gate"}), ("speedproof compare --pro", {"--protocol"}),
    ("speedproof compare --format hyp", {"hyperfine"}),
    ("speedproof gate --policy ", {"no-regression", "equivalence"}),
    ("speedproof history ", {"add", "watch", "bless"}), ("speedproof corpus compare --pa", {"--pairs"}),
])  # fmt: skip
def test_a_shell_completes(words: str, some: set[str]) -> None:
    """Commands, options and their values; what the script of each shell asks for."""
    typed = words.split(" ")
    command = "from speedproof.cli.main import entry; entry()"
    asked = {"_SPEEDPROOF_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(len(typed) - 1)}
    done = subprocess.run(
        [sys.executable, "-c", command], capture_output=True, text=True, check=True,
        env={**os.environ, **asked},
    )  # fmt: skip
    assert some <= {line.partition(",")[2] for line in done.stdout.splitlines()}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str) -> None:
    """They call the program back; what bash reads it understands."""
    code, out, _ = speedproof("completion", shell)
    assert (code, f"{shell}_complete" in out) == (0, True)
    if shell == "bash" and shutil.which("bash") is not None:
        assert subprocess.run(["bash", "-n"], input=out, text=True, check=False).returncode == 0

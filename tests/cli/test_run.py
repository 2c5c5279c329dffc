"""``speedproof run`` as a user meets it: words, files, exit codes, real programs."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.command import ROOT, parse, refused, runs_are, speedproof

from speedproof.cli.main import command
from speedproof.cli.run_session import ends_as_ctrl_c
from speedproof.data.suite import Record
from speedproof.formats import read
from speedproof.measuring.execute import Job, Run
from speedproof.measuring.plan import read_plan
from speedproof.measuring.store import read_sessions

SLOW, FAST = "sleep 0.012", "sleep 0.002"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steady_sleep: None) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def kept() -> list[Path]:
    """The sessions that were saved nowhere else."""
    return sorted(Path("state/speedproof/sessions").glob("*"))


def test_conclusion_comes_first() -> None:
    _, out, err = speedproof("run", "--name", "slow", "--name", "fast", SLOW, FAST)
    told = r"fast is [\d.]+x faster than slow +proven: at least [\d.]+x \(95 % confidence\)\n"
    assert re.match(told, out)
    assert re.search(r"^fast +[\d.]+ ms +[\d.]+ ms ± .* \d+$", out, re.MULTILINE)
    assert re.search(r"^\S* +median +mean +min +max +user +system +runs$", out, re.MULTILINE)
    assert len(out.splitlines()) <= 9
    (path,) = kept()
    assert f"results are in {path.resolve()}; this verdict again: speedproof run --review @last" in err
    assert [*Path().iterdir()] == [Path("state")]
    (session,) = read_sessions(path)
    assert [v.name for v in session.head.benchmarks[0].versions] == ["slow", "fast"]
    assert session.head.environment["kernel"]


def test_what_three_runs_show_is_an_exit_code_as_of_compare() -> None:
    """Three runs a side prove nothing at 5 %: all lie on one side in 1 of 8 cases, where both scatter widely."""
    words = ("sleep 0.01", "sleep 0.03", "--runs", "3", "--save", "r.jsonl")
    assert "shown, not proven" in speedproof("run", *words)[1]
    for condition, code in (("slower", 0), ("undecided", 1), ("not-faster", 1)):
        for asked in (("run", "--review"), ("compare",)):
            assert speedproof(*asked, "r.jsonl", "--fail-on", condition)[0] == code


@pytest.mark.parametrize(("words", "named"), [
    (("--store", "s.db"), "--store"), (("--protocol=mean", "--first", "2"), "--protocol, --first"),
    (("--baseline", "a.json", "--candidate", "b.json"), "--baseline, --candidate"),
])  # fmt: skip
def test_a_gate_that_measures_names_what_only_files_have(words: tuple[str, ...], named: str) -> None:
    err = refused("gate", "--suite", "bench.toml", *words)
    assert f"{named}: only for files: what is measured" in err
    assert "did you mean" not in err
    assert "did you mean --max-runs" in speedproof("gate", "--suite", "bench.toml", "--max-run", "3")[2]


def test_dashes_make_one_command() -> None:
    """``-- PROGRAM ARG`` is one version, with or without others before it."""
    speedproof("run", "--max-runs", "3", "--save", "a.jsonl", "--", "sh", "-c", "exit 0")
    assert read_sessions(Path("a.jsonl"))[0].head.benchmarks[0].versions[0].command == ("sh", "-c", "exit 0")
    speedproof("run", "--max-runs", "3", "--save", "b.jsonl", "true", "--", "sh", "-c", "exit 0")
    (plan,) = read_sessions(Path("b.jsonl"))[0].head.benchmarks
    assert [v.command for v in plan.versions] == [("true",), ("sh", "-c", "exit 0")]


def test_parameters_suite_and_reference() -> None:
    Path("suite.toml").write_text(
        "[versions.new]\nt = '0.002'\n[versions.old]\nt = '0.012'\n[benchmarks.nap]\ncommand = 'sleep {t}'\n"
    )
    _, out, _ = speedproof("run", "--suite", "suite.toml", "--reference", "old", "--json")
    (found,) = json.loads(out)["results"]
    told = [(c["benchmark"], c["verdict"]) for c in found["comparisons"] if c["protocol"] == "typical"]
    assert (found["reference"], told) == ("old", [("nap", "faster")])
    _, out, _ = speedproof("run", "sleep {t}", "-L", "t", "0.012,0.002", "--json")
    assert json.loads(out)["results"][0]["candidate"] == "t=0.002"


def test_failing_command_stops_with_its_output() -> None:
    """With --ignore-failure at the end, where nothing but failures is left."""
    code, _, err = speedproof("run", "true", "sh -c 'echo broken >&2; exit 3'", "--save", "r.jsonl")
    told = "exited with code 3; its output:\nbroken", "--ignore-failure"
    assert (code, [part in err for part in told]) == (2, [True, True])
    assert [run.exit for run in read_sessions(Path("r.jsonl"))[0].runs] == [0, 3]
    code, out, err = speedproof("run", "true", "false", "--ignore-failure", "--max-runs", "30")
    assert (code, "ndecided" in out or "true: median" in out) == (2, True)
    told = (
        "speedproof: ended because none of the 10 runs of false counts",
        "false: of 10 runs none can be used",
    )
    assert all(part in err for part in told)


def script(name: str, text: str) -> str:
    path = Path(name)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return f"./{name}"


def test_ignored_failures_are_counted_and_marked() -> None:
    """Every second run of it fails: the verdict on the others is marked, here and in compare."""
    flaky = script("flaky", "echo x >> log; test $(($(wc -l < log) % 2)) = 0")
    words = ("--ignore-failure", "--max-runs", "8", "--save", "r.jsonl")
    code, out, err = speedproof("run", "true", flaky, *words)
    assert (code, "./flaky: 4 of 8 runs failed and were left out" in err) == (0, True)
    assert "! 4 of 8 runs of ./flaky failed: nothing is proven of those that succeed" in out
    text = " ".join(speedproof("compare", "r.jsonl", "--explain")[1].split())
    assert "runs failed and were left out: the values speak of those that succeeded" in text
    _, out, _ = speedproof("run", "--review", "r.jsonl", "--json")
    warnings = json.loads(out)["session"]["measured"][0]["warnings"]
    assert any(note["message"].startswith("4 of 8 runs of ./flaky failed") for note in warnings)


def test_a_metric_that_is_nowhere_is_said() -> None:
    """At the first run, which is the only one; with --ignore-failure at the end, of those that do not decide."""
    score = ("--metric", "score=none ([0-9]+)")
    err = refused("run", "echo one", "echo two", *score, "--decide-by", "score")
    told = "'echo one' did not give the metric 'score' that decides; --metric score: nothing in the output"
    assert (told in err, "its output:\none" in err) == (True, True)
    err = refused("run", "echo one", "echo two", *score, "--save", "s.jsonl")
    assert "'echo one' did not give the metric 'score'; --metric score: nothing in the output" in err
    assert "--ignore-failure goes on without it" in err
    assert Path("s.jsonl").read_text(encoding="utf-8").count('"block"') == 1
    code, _, err = speedproof("run", "echo one", "echo two", *score, "--max-runs", "3", "--ignore-failure")
    assert (code, "echo one: no run gave score (--metric score: nothing in the output matches" in err) == (
        0,
        True,
    )


def test_a_file_that_holds_sessions_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """And changes are not called those of blocks where two versions share none."""
    runs_are(monkeypatch, lambda job: Run({"time": 0.01 * float(job.command[1])}))
    words = ("--save", "s.jsonl", "--max-runs", "8", "--decide-by", "time:p80")
    assert "already" not in speedproof("run", "sleep 2", "sleep 1", *words)[2]
    _, _, err = speedproof("run", "sleep 3", "sleep 1", *words)
    assert "s.jsonl holds 1 session already; this one is appended" in err
    out = speedproof("compare", "s.jsonl")[1]
    assert ("sleep 3" in out, "same blocks" in out, "at P80" in out) == (True, False, True)


@pytest.mark.parametrize("saved", [(), ("--save", "my file.jsonl")])
def test_an_interrupted_session_says_how_to_go_on(
    saved: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one pastes it; what either part lacked is told of both."""
    made, ends = iter(range(1000)), {15}

    def fake(job: Job) -> Run:
        if next(made) in ends:
            raise KeyboardInterrupt
        return Run({"time": float(job.command[1]), "user": 1e-4, "system": 1e-4, "memory": 2e6})

    runs_are(monkeypatch, fake)
    score = ("--metric", "score=none ([0-9]+)", "--ignore-failure")
    code, _, err = speedproof("run", "sleep 2", "sleep 1", "--max-runs", "20", *score, *saved)
    (told,) = re.findall("to go on: (.*)", err)
    assert (code, "speedproof: interrupted\n" in err) == (130, True)
    program, *words = shlex.split(told)
    code, out, err = speedproof(*words)
    assert (program, code) == ("speedproof", 0)
    assert re.search(r"[67] blocks taken over from ", err)
    assert "sleep 1: no run gave score" in err
    assert "2.00x faster" in out


def test_processes_left_behind_are_told() -> None:
    leaving = script("leaving", "sleep 5 &")
    _, out, err = speedproof("run", leaving, "true", "--max-runs", "3", "--save", "r.jsonl")
    assert "3 of 3 runs left processes running" in err
    assert "! 3 of 3 runs of ./leaving left processes running" in out
    assert "3 runs left processes running" in speedproof("compare", "r.jsonl")[2]


def test_resume_goes_on_with_the_same_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Built anew in between its blocks are those of another comparison."""
    monkeypatch.setenv("PATH", str(Path.cwd()), prepend=os.pathsep)
    script("sleep", "exit 0")
    speedproof("run", "sleep 2", "sleep 1", "--max-runs", "6", "--save", "r.jsonl")
    before = Path("r.jsonl").read_bytes()
    script("sleep", "exit 0 # and faster")
    told = f"{Path.cwd() / 'sleep'}: not what was measured then, and blocks of different programs"
    err = refused("run", "--resume", "r.jsonl")
    assert (told in err, "it was started in" in err) == (True, False)
    assert Path("r.jsonl").read_bytes() == before
    script("sleep", "exit 0")
    code, out, err = speedproof("run", "--resume", "r.jsonl", "--max-runs", "10", "--json")
    assert (code, "6 blocks taken over from r.jsonl" in err) == (0, True)
    assert json.loads(out)["session"]["measured"][0]["blocks"] == 10
    first, second = read_sessions(Path("r.jsonl"))
    assert [len(s.runs) for s in (first, second)] == [14, 10]
    assert first.head.session != second.head.session
    Path("d").mkdir()
    speedproof("run", "true", "true", "--cwd", "d", "--max-runs", "3", "--save", "d.jsonl")
    Path("d").rmdir()
    (of,) = read_sessions(Path("d.jsonl"))
    told = f"session {of.head.session}: d is gone, where it ran; measure anew, --seed {of.head.seed} "
    assert told in refused("run", "--resume", "d.jsonl")


@pytest.mark.parametrize("at", [0, 1, 2])
def test_another_machine_is_told_of_the_last_session(at: int) -> None:
    """Of three, of which the last one's system and load count, and its name and end are told."""
    begin, go_on = ("true", "true", "--save", "r.jsonl"), ("--resume", "r.jsonl")
    for runs, words in zip("345", (begin, go_on, go_on), strict=True):
        assert speedproof("run", *words, "--max-runs", runs)[0] == 0
    lines = Path("r.jsonl").read_text().splitlines(keepends=True)
    place = [number for number, line in enumerate(lines) if '"environment"' in line][at]
    for name, value in (("kernel", "0.9"), ("load", "99"), ("cpus", "3")):
        lines[place] = re.sub(rf'"{name}":"[^"]*"', f'"{name}":"{value}"', lines[place])
    Path("r.jsonl").write_text("".join(lines))
    _, out, err = speedproof("run", "--review", "r.jsonl")
    assert ("99 on 3 CPUs" in out) == (at == 2)
    (*_, last) = read_sessions(Path("r.jsonl"))
    assert f"session {last.head.session}, " in err
    assert ", ended: 5 runs of each version were allowed" in err
    err = speedproof("run", "--resume", "r.jsonl", "--max-runs", "6")[2]
    assert ("note: the machine differs from the last session's: kernel: '0.9' and " in err) == (at == 2)


def test_a_program_that_is_replaced_meanwhile_is_told() -> None:
    tool = script(
        "tool",
        "echo x >> log; test $(wc -l < log) != 3 || cp other tool.new; test ! -e tool.new || mv tool.new tool",
    )
    script("other", "exit 0")
    _, out, _ = speedproof("run", tool, "true", "--max-runs", "6", "--save", "r.jsonl")
    compared = speedproof("compare", "r.jsonl", "--explain")[1]
    told = "! The program of ./tool was replaced while it was measured: its runs are of two programs"
    assert told in " ".join(out.split())
    assert "the values are of two programs; measure again" in " ".join(compared.split())


def test_a_session_whose_first_part_is_elsewhere_is_named() -> None:
    """The verdict rests on both: put together they are read."""
    speedproof("run", "sleep 2", "sleep 1", "--max-runs", "3", "--save", "a.jsonl")
    speedproof("run", "--resume", "a.jsonl", "--max-runs", "6")
    first, second = (session.head.session for session in read_sessions(Path("a.jsonl")))
    lines = Path("a.jsonl").read_text().splitlines(keepends=True)
    cut = next(i for i, line in enumerate(lines) if f'"resumes":["{first}"]' in line)
    Path("b.jsonl").write_text("".join(lines[cut:]))
    told = f"error: b.jsonl: session {second}: goes on with {first}, which the file lacks"
    assert all(told in refused("run", how, "b.jsonl") for how in ("--review", "--resume"))
    assert speedproof("run", "--review", "a.jsonl")[0] == 0


def test_resume_asks_the_same_question_unless_told() -> None:
    """The margin and the risk are the first session's; a new margin is a new question."""
    first = ("--max-runs", "3", "--margin", "90%", "--alpha", "0.2", "--save", "r.jsonl")
    speedproof("run", "sleep 0.02", "sleep 0.02", *first)
    _, out, _ = speedproof("run", "--resume", "r.jsonl", "--max-runs", "60", "--json")
    c = json.loads(out)["results"][0]["comparisons"][0]
    assert (c["alpha"], c["verdict"]) == (pytest.approx(0.2), "equivalent")
    _, out, _ = speedproof("run", "--review", "r.jsonl", "--margin", "0.0001%", "--alpha", "1e-9", "--json")
    c = json.loads(out)["results"][0]["comparisons"][0]
    assert (c["alpha"], c["verdict"]) == (1e-9, "undecided")


def test_review_gives_the_verdict_again_and_runs_nothing() -> None:
    _, out, _ = speedproof("run", SLOW, FAST, "--save", "r.jsonl")
    before = Path("r.jsonl").read_bytes()
    code, again, err = speedproof("run", "--review", "r.jsonl")
    assert (code, again) == (0, out)
    assert "ended: decided" in err
    assert Path("r.jsonl").read_bytes() == before
    assert speedproof("run", "--review", "r.jsonl", "--html", "page.html")[0] == 0
    assert re.search("(?s)x faster than.*speedproof run --review r.jsonl", Path("page.html").read_text())
    session = json.loads(speedproof("run", "--review", "r.jsonl", "--json")[1])["session"]
    assert [of["reason"] for of in session["measured"]] == ["proven"]
    assert [*session["reasons"].values()] == ["decided"]


def test_sessions_are_compared_by_their_fields() -> None:
    """Each program with itself, not with a mixture of both; what differs between two files is named."""
    names = ("--name", "a", "--name", "b", SLOW, FAST, "--max-runs", "5", "--save", "r.jsonl")
    assert [speedproof("run", *names)[0] for _ in range(2)] == [0, 0]
    _, out, _ = speedproof("compare", "r.jsonl", "--by", "session", "--json")
    found = json.loads(out)["results"][0]["comparisons"]
    assert {(c["benchmark"], c["reference"]["n"]) for c in found} == {("command, a", 5), ("command, b", 5)}
    for name, typed in (("old", SLOW), ("new", FAST)):
        speedproof("run", "--name", name, typed, "--max-runs", "5", "--save", f"{name}.jsonl")
    text = Path("new.jsonl").read_text()
    Path("new.jsonl").write_text(re.sub(r'"kernel":"[^"]*"', '"kernel":"9.9"', text))
    _, _, err = speedproof("compare", "old.jsonl", "new.jsonl")
    assert re.search(r"under different conditions, which count as speedup: kernel \(old: .*; new: 9.9\)", err)


def test_the_latest_session_is_gone_on_with_and_read() -> None:
    """Wherever a file is read, also one of its versions; not what is saved elsewhere; a hundred are kept."""
    for names in ("ab", "cd"):
        speedproof("run", *(f"--name={name}" for name in names), SLOW, FAST, "--runs", "5")
    speedproof("run", "--save", "r.jsonl", "true", "--runs", "2")
    assert "d is " in speedproof("compare", "@last")[1]
    assert speedproof("gate", "old=@last:c", "@last:d")[0] == 0
    whole = kept()[-1].read_bytes()
    assert "has all of its runs; see 'speedproof run --review " in speedproof("run", "--resume")[2]
    assert kept()[-1].read_bytes() == whole
    speedproof("run", "true", "--max-runs", "3")
    assert "3 blocks taken over" in speedproof("run", "--resume", "--max-time", "1e-9")[2]
    assert sorted(len(read_sessions(path)) for path in kept()) == [1, 1, 2]
    for i in range(120):
        (path := Path(f"state/speedproof/sessions/old-{i:03}.jsonl")).touch()
        os.utime(path, (1000 + i, 1000 + i))
    speedproof("run", "true", "--runs", "2")
    assert (len(kept()), kept()[0].name) == (100, "old-024.jsonl")


def test_calibration() -> None:
    _, out, _ = speedproof("run", "--calibrate", "true", "--max-runs", "20")
    assert re.match("(?s)40 runs of one command, median .* prove a speedup of that size", out)


def test_export_for_hyperfine_is_hyperfine() -> None:
    """Our reader of hyperfine's files finds the same times as our reader of our own."""
    _, _, err = speedproof("run", SLOW, FAST, "--save", "r.jsonl", "--export-hyperfine", "h.json")
    assert "h.json cannot say that measuring stopped on the result" in err
    times = {
        name: [r.values.tolist() for r in read(name) if isinstance(r, Record) and r.metric == "time"]
        for name in ("h.json", "r.jsonl")
    }
    assert times["h.json"] == times["r.jsonl"]


def test_environment_input_shell_and_setup() -> None:
    """A setup command may make the program."""
    Path("in.txt").write_text("x")
    code, _, err = speedproof(
        "run", "test $A = 1", "./made", "--shell", "--name", "u", "--name", "v", "--env", "A=1",
        "--env", "v:A=2", "--input", "in.txt", "--max-runs", "3",
        "--setup", "echo '#!/bin/sh\ntest $A = 2 && grep -q x' > made; chmod +x made",
    )  # fmt: skip
    assert (code, "every run includes the start of sh" in err) == (0, True), err


@pytest.mark.parametrize(("argv", "message"), [
    ([], "nothing to run"), (["true", "100"], "100: no such program; quote a command with its arguments"),
    (["true", "--cwd", "nodir"], "nodir: no such folder"),
    (["true", "false"], "exited with code 1"), (["--review"], "@last: no session is in"),
    (["true", "--warmup", "x"], "neither a number nor 'auto'"),
    (["true", "--cpu", "9999"], "--cpu 9999: give CPUs of"),
    (["true", "--env", "x"], "not of the form KEY=VALUE"),
    (["true", "--env", "w:A=1"], "there is no version 'w'"),
    (["true", "--reference", "w"], "there is no such version"),
    (["true", "true", "--calibrate"], "exactly one command"),
    (["true", "--decide-by", "score"], "no such metric; available: time, user"),
    (["true", "--suite", "s.toml"], "not both"), (["--suite", "s.toml"], "s.toml: no such file"),
    (["true", "--resume", "r.jsonl"], "leave them out"),
    (["--resume", "r.jsonl"], "r.jsonl: no such file"),
    (["true", "--review", "r.jsonl"], "leave them out"),
    (["--resume", "r.jsonl", "--review", "r.jsonl"], "exclude each other"),
    (["true", "--save", "/dev/null"], "/dev/null: is not a file that can be read again"),
    (["true", "true", "--min-runs", "7", "--max-runs", "5"], "--min-runs 7 and --max-runs 5"),
])  # fmt: skip
def test_wrong_requests_are_named(argv: list[str], message: str) -> None:
    assert message in refused("run", *argv)
    assert not kept()


def test_other_systems_are_told_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.system", lambda: "Windows")
    told = "speedproof measures on Linux and macOS; elsewhere measure with another tool"
    assert told in refused("run", "true", "true")
    assert told in refused("bisect", "a..b", "true")


def start(*argv: str) -> subprocess.Popen[str]:
    # Whoever started these tests in the background or by nohup has signals ignored, and what is ignored stays so.
    code = (
        "import signal, sys; from speedproof.cli.main import main; "
        "signal.signal(signal.SIGINT, signal.default_int_handler); "
        "signal.signal(signal.SIGHUP, signal.SIG_DFL); sys.exit(main(sys.argv[1:]))"
    )
    return subprocess.Popen(
        [sys.executable, "-c", code, "run", *argv], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupt_ends_with_a_verdict_and_130(number: signal.Signals) -> None:
    """Ctrl-C, kill and a closed terminal: the data so far get their verdict; nobody else goes on with them."""
    # At such a risk no load of the machine proves anything meanwhile.
    endless = ("--margin", "0.0001%", "--alpha", "1e-9")
    process = start("sleep 0.01", "sleep 0.01", "--save", "r.jsonl", *endless)
    while not (Path("r.jsonl").exists() and Path("r.jsonl").read_text().count('"run"') > 10):
        time.sleep(0.02)
    code, _, told = speedproof("run", "--resume", "r.jsonl")
    process.send_signal(number)
    out, err = process.communicate()
    assert (code, "another 'speedproof run' is writing to it" in told) == (2, True)
    assert process.returncode == 130, err
    assert re.search(r"ndecided.* sleep 0.01 \(2\) .* sleep 0.01", " ".join(out.split()))
    assert "interrupted" in err
    assert '"reason":"interrupted"' in Path("r.jsonl").read_text()


def test_a_signal_that_comes_twice_at_once_does_not_cut_the_cleanup_off() -> None:
    """As ``timeout`` sends it, to the process and to its group; one that comes later is another one."""
    now = [100.0]
    # A shell's background job is started with SIGINT ignored, and what is ignored stays so.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with ends_as_ctrl_c(lambda: now[0]):
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGTERM)
            now[0] += 0.5
            signal.raise_signal(signal.SIGINT)
            now[0] += 1.0
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_review_tells_of_lines_and_sessions_that_it_leaves_out() -> None:
    for most in ("3", "4"):
        speedproof("run", "true", "true", "--max-runs", most, "--save", "r.jsonl")
    lines = Path("r.jsonl").read_text().splitlines()
    lines[-3] = lines[-3][:40]
    Path("r.jsonl").write_text("\n".join(lines) + "\n")
    _, _, err = speedproof("run", "--review", "r.jsonl")
    assert f"left out: r.jsonl: line {len(lines) - 2}: not a line of 'speedproof run', or cut off" in err
    assert "note: 1 other session of the file is not part of this one" in err
    Path("r.jsonl").write_text("\n".join([lines[0], lines[-3]]) + "\n")
    assert "holds no run, so there is nothing to review" in refused("run", "--review", "r.jsonl")
    assert "holds no run that counts; it was killed before" in refused("compare", "r.jsonl")
    assert refused("run", "false", "true", "--save", "f.jsonl")
    assert "holds no run that counts; it ended: error" in refused("compare", "f.jsonl")


def test_a_failed_cleanup_is_told_and_the_verdict_given() -> None:
    code, out, err = speedproof("run", SLOW, FAST, "--cleanup", "echo no room; exit 3", "--save", "r.jsonl")
    assert (code, "cleanup command 'echo no room; exit 3' exited with code 3" in err) == (2, True)
    assert re.match(rf"{FAST} is [\d.]+x faster than {SLOW}", out)


@pytest.mark.slow
def test_kill_ends_the_command_too() -> None:
    process = start("sh -c 'echo $$ > pid; exec sleep 60'", "true")
    while not (Path("pid").exists() and Path("pid").read_text().strip()):
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate()
    assert process.returncode == 130, err
    assert "no complete block was measured" in out
    assert not Path(f"/proc/{Path('pid').read_text().strip()}").exists()


def test_the_manual_names_every_option_and_is_understood() -> None:
    """Each ``speedproof run`` line of the pages parses, and the suite of a page is one."""
    page = "\n".join((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("run.md", "builds.md"))
    lines = re.findall(r"^(?:    |\$ |)(speedproof run .*)$", page, re.MULTILINE)
    assert len(lines) >= 12
    for line in lines:
        args = parse(shlex.split(line)[1:])
        assert args.commands or args.words or args.measuring.suite or args.resume or args.review
    (suite,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    Path("bench.toml").write_text(suite)
    assert [b.name for b in read_plan(Path("bench.toml"))] == ["sort size=10", "sort size=1000", "start"]

    for parameter in command("run").params:
        if parameter.name not in ("help", "help_all", "color", "commands"):
            assert any(option in page for option in parameter.opts), parameter.opts

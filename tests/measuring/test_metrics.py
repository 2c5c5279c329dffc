"""Metrics beyond the clock: output, counters, energy."""

import re
import resource
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.command import runs_are

from speedproof.data.session_file import PlannedVersion
from speedproof.errors import UsageError
from speedproof.measuring.execute import Job, Run, RunError, execute
from speedproof.measuring.executor import (
    ACCOUNTED,
    CommandExecutor,
    Energy,
    PerfStat,
    check_names,
    energy_meter,
    parse_metric,
    perf_counters,
    shell_start,
    units_of,
    whole_ticks,
)
from speedproof.measuring.runs import RunEnd, Wanted


@pytest.mark.parametrize(("text", "output", "value", "unit", "direction"), [
    (r"t:ms=took ([\d.]+)", "took 12.5 ms", 0.0125, "s", "lower"),
    (r"score:ops/s=(\d+)", "1 then 20", 20.0, "ops/s", "higher"),
    (r"q:points:higher=\d+", "7", 7.0, "points", "higher"), (r"q:higher=(\d+)", "7", 7.0, "", "higher"),
    (r"q::higher=(\d+)", "7", 7.0, "", "higher"), (r"q:ops/s:lower=(\d+)", "7", 7.0, "ops/s", "lower"),
    (r"n=total=([\d,]+)", "total=1,234", 1234.0, "", "lower"),
    (r"n=([\d,.]+)", "-1,234,567.5, or so", 1234567.5, "", "lower"), (r"n=(.+)", " 2.5e3 ", 2500.0, "", "lower"),
    (r"n=x(\d)?", "x", "the first brackets of 'x(\\\\d)?' match nothing in 'x'", "", "lower"),
    (r"n=(\d+)", "sum", r"nothing in the output matches '(\\d+)'", "", "lower"),
    *((r"n=(.+)", text, f"'{text}', in its last match '{text}', is no number", "", "lower")
      for text in ("1,5", "12,34", "nan", "1e999", "word")),
    (r"n=total \d+", "total 4\ntotal 5",
     "its last match 'total 5' is no number; put the digits in brackets: (...)", "", "lower"),
])  # fmt: skip
def test_a_metric_has_a_value_or_says_why(
    text: str, output: str, value: float | str, unit: str, direction: str
) -> None:
    metric, run = parse_metric(text), Run({}, stdout=output.encode())
    assert metric.read(run) == (None if isinstance(value, str) else pytest.approx(value))
    assert metric.explain(run) == (f"--metric {metric.name}: {value}" if isinstance(value, str) else "")
    assert (metric.unit.base, metric.direction) == (unit, direction)


@pytest.mark.parametrize(("texts", "counters", "message"), [
    (["score"], [], "not of the form"), (["s=("], [], r"missing \)|unterminated"),
    (["n=x", "n:ms=y"], [], "--metric n: given twice"), (["p97.5=x"], [], "--metric p97.5: that is a percentile"),
    (["cycles=x"], ["instructions", "cycles"], "--metric cycles: a counter of --perf has that name"),
    *((["n=x", f"{name}=x"], [], f"--metric {name}: the runner measures that itself")
      for name in sorted({*execute(Job(("true",))).metrics, *ACCOUNTED, "time", "energy"})),
])  # fmt: skip
def test_wrong_metrics_are_named(texts: list[str], counters: list[str], message: str) -> None:
    check_names([parse_metric("n=x"), parse_metric("p30=x")], ["cycles"])
    with pytest.raises(UsageError, match=message):
        check_names([*map(parse_metric, texts)], counters)


def test_perf_output_is_read(tmp_path: Path) -> None:
    """Lines with less than a number, its unit and the name are passed over, as is what was not counted."""
    path = tmp_path / "perf.txt"
    path.write_text(
        "# started on Monday\n\n1234567;;instructions;100;100.00;;\n<not supported>;;cycles;0;100.00;;\n"
        "0.55;msec;task-clock;550000;100.00;0.5;CPUs utilized\n2500000;ns;duration_time;2500000;100.00;;\n"
        "5;x\n6\n7;;exact\n1.2.3;;odd;1\n8.5;msec;clock;1;2;3\n;;none;1\n0;;idle\n"
    )
    expected = {"instructions": 1234567.0, "task-clock": 0.55, "cpu": 0.00055, "time": 0.0025}
    expected |= {"exact": 7.0, "clock": 8.5, "idle": 0.0}
    assert PerfStat(("instructions",), path).read() == expected


@pytest.mark.parametrize(("seconds", "whole"), [((70.12, 0.03), True), ((0.1234, 0.03), False)])
def test_processor_time_in_whole_ticks_is_known(seconds: tuple[float, float], whole: bool) -> None:
    """Linux without its own accounting counts ticks of 1 to 10 ms."""
    assert whole_ticks(resource.struct_rusage((*seconds, *[0] * 14))) == whole


def test_perf_wraps_the_command_and_is_missed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = f"perf stat -x ; -o {tmp_path}/p -e duration_time,a,b -- true x"
    job = PerfStat(("a", "b"), tmp_path / "p").wrap(Job(("true", "x"), timeout=3))
    assert job == Job(tuple(words.split()), timeout=3)
    own = PerfStat((), tmp_path / "p", "/bin/perf").wrap(Job(("true",)))
    assert (own.command[0], own.command[-4:]) == ("/bin/perf", ("-e", "duration_time", "--", "true"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert perf_counters(["instructions"], tmp_path / "p") == (None, "perf is not installed: no counters")


@pytest.fixture
def perf(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], str]:
    """A perf that carries out a script; its path."""

    def make(script: str) -> str:
        (tmp_path / "perf").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "perf").chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
        return str(tmp_path / "perf")

    return make


BOTH = "printf '5;;cycles;1\\n6;;faults;1\\n' > \"$5\""


def test_counters_that_there_are(perf: Callable[[str], str], tmp_path: Path) -> None:
    whole = PerfStat(("cycles", "faults"), tmp_path / "p", perf(BOTH))
    assert perf_counters(["cycles", "faults"], tmp_path / "p") == (whole, "")
    stat, message = perf_counters(["cycles", "x", "faults"], tmp_path / "p")
    assert stat == whole
    assert "cannot count x here" in message
    metrics = [parse_metric("t:ms=x"), parse_metric("s:ops/s=x")]
    of_output = {"t": ("s", "lower"), "s": ("ops/s", "higher")}
    counters = {"cycles": ("cycles", "lower"), "faults": ("", "lower")}
    assert (units_of(metrics, whole), units_of([], None)) == (of_output | counters, {})


def test_a_misspelt_counter_is_perfs_complaint(perf: Callable[[str], str], tmp_path: Path) -> None:
    """As perf 6.1 answers: one unknown name makes it count nothing. The others are counted nevertheless."""
    perf(
        "case $7 in *instrutions*) echo \"event syntax error: '..ation_time,instrutions'\" >&2\n"
        "echo '          \\___ parser error' >&2; exit 129;; esac\n"
        "printf '5;;page-faults;1;100;;\\n' > \"$5\""
    )
    said = (
        "perf does not know 'instrutions' (event syntax error: '..ation_time,instrutions'); 'perf list' shows "
        "what it can count"
    )
    assert perf_counters(["instrutions"], tmp_path / "p") == (None, said)
    stat, message = perf_counters(["instrutions", "page-faults"], tmp_path / "p")
    assert stat is not None
    assert (stat.events, message) == (("page-faults",), said)


@pytest.mark.parametrize("script", ["exit 0", f"{BOTH}; echo trouble >&2; exit 1", "exit 129"])
def test_a_perf_that_counts_nothing(perf: Callable[[str], str], tmp_path: Path, script: str) -> None:
    """It writes no file, or fails for another reason than a name: all are named, with what the kernel allows."""
    perf(script)
    level = Path("/proc/sys/kernel/perf_event_paranoid")
    paranoid = level.read_text().strip() if level.exists() else "absent"
    assert perf_counters(["cycles", "faults"], tmp_path / "p") == (
        None,
        f"perf cannot count cycles, faults here (perf_event_paranoid is {paranoid}, 1 or less is needed; virtual "
        "machines often offer none)",
    )


@pytest.mark.skipif(shutil.which("perf") is None, reason="perf is not installed")
def test_a_misspelt_counter_for_the_true_perf(tmp_path: Path) -> None:
    stat, message = perf_counters(["instrutions"], tmp_path / "p")
    assert stat is None
    if "not know" not in message:
        pytest.skip(message)
    assert "perf_event_paranoid" not in message
    assert "(event syntax error: " in message


@pytest.mark.skipif(shutil.which("perf") is None, reason="perf is not installed")
def test_time_under_perf_is_the_programs(tmp_path: Path) -> None:
    """perf's own start, tens of milliseconds, is not part of it, nor is its accounting."""
    stat, message = perf_counters(["task-clock"], tmp_path / "p")
    if stat is None:
        pytest.skip(message)
    version = PlannedVersion("v", ("sleep", "0.05"), "sleep 0.05")
    began = time.perf_counter()
    metrics = CommandExecutor(perf=stat).measure(version).metrics
    ended = time.perf_counter()
    assert set(metrics) == {"time", "task-clock", "cpu"}
    assert 0.0 < metrics["time"] < ended - began  # perf's clock may start late where the machine is busy


def test_energy_counts_packages_and_wraps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A zone that is no counter is passed over; that only root may read one is said."""
    for zone, micro in (("0", 900), ("1", 50), ("0:0", 7), ("2", None)):
        (tmp_path / f"intel-rapl:{zone}").mkdir()
        if micro is not None:
            (tmp_path / f"intel-rapl:{zone}" / "energy_uj").write_text(f"{micro}\n")
            (tmp_path / f"intel-rapl:{zone}" / "max_energy_range_uj").write_text("1000\n")
    meter, message = energy_meter(tmp_path)
    assert message == ""
    assert meter is not None
    assert meter.read() == (900.0, 50.0)
    assert meter.used((900.0, 50.0), (100.0, 60.0)) == pytest.approx(210e-6)
    assert energy_meter(tmp_path / "none") == (None, "energy: this machine shows no RAPL counters")
    read = Path.read_text

    def refused(path: Path) -> str:
        if path.name == "energy_uj":
            raise PermissionError
        return read(path)

    monkeypatch.setattr(Path, "read_text", refused)
    said = f"energy: {tmp_path}/intel-rapl:0/energy_uj is readable by root only; chmod o+r it, or run as root"
    assert energy_meter(tmp_path) == (None, said)


def test_why_a_run_has_no_value_is_told_by_who_knows() -> None:
    executor = CommandExecutor(output_metrics=(parse_metric("score=score (.*)"), parse_metric("other=x")))
    run = Run({}, stdout=b"score five")
    assert (
        executor.explain(run, "memory") == "it needs less memory than the runner itself, which hides its peak"
    )
    assert executor.explain(run, "score").endswith("'five', in its last match 'score five', is no number")
    assert executor.explain(run, "other") == "--metric other: nothing in the output matches 'x'"
    assert executor.explain(run, "cycles") == ""


def test_executor_hooks_and_extras(tmp_path: Path) -> None:
    log = tmp_path / "log"
    version = PlannedVersion(
        "v", ("sh", "-c", f"echo run >> {log}; echo score 5"), "v", setup=f"echo setup >> {log}",
        prepare=f"echo prepare >> {log}", conclude=f"echo conclude >> {log}",
        cleanup=f"echo cleanup >> {log}",
    )  # fmt: skip
    (tmp_path / "e").write_text("5")
    energy = Energy(((tmp_path / "e", 100.0),))
    executor = CommandExecutor(
        capture=True, output_metrics=(parse_metric(r"score=score (\d)"),), energy=energy
    )
    executor.begin(version)
    run = executor.measure(version)
    executor.finish(version)
    assert log.read_text().split() == ["setup", "prepare", "run", "conclude", "cleanup"]
    assert (run.metrics["score"], run.metrics["energy"]) == (5.0, 0.0)
    # What it printed before it failed is not its result; what concludes is carried out all the same.
    version = PlannedVersion(
        "v", ("sh", "-c", "echo score 5; exit 1"), "v", conclude=f"touch {tmp_path}/done"
    )
    run = CommandExecutor(capture=True, output_metrics=(parse_metric(r"score=score (\d)"),)).measure(version)
    assert (run.exit, "score" in run.metrics, "time" in run.metrics) == (1, False, True)
    assert (tmp_path / "done").exists()


@pytest.mark.parametrize("hook", ["prepare", "conclude", ""])
def test_what_is_done_between_runs_is_done_for_each(hook: str, tmp_path: Path) -> None:
    """And commands with nothing between them are executed in one go, each as itself."""
    log = tmp_path / "log"
    hooks: dict[str, Any] = {hook: f"echo hook >> {log}"} if hook else {}
    versions = [PlannedVersion(v, ("sh", "-c", f"echo {v} >> {log}"), v, **hooks) for v in "ab"]
    done = 0
    while done < 5:
        outcomes: list[RunEnd] = []
        left = [Wanted(versions[k % 2], None, [], ["x"], ["x"]) for k in range(done, 5)]
        CommandExecutor().execute(left, 1e3, time.monotonic, outcomes)
        done += len(outcomes)
    said = {"prepare": "hook {} ", "conclude": "{} hook ", "": "{} "}[hook]
    assert log.read_text().split() == "".join(map(said.format, "ababa")).split()


@pytest.mark.parametrize("hook", ["setup", "prepare", "conclude", "cleanup"])
@pytest.mark.parametrize("late", [False, True])
def test_hooks_fail_with_their_output(hook: str, late: bool, tmp_path: Path) -> None:
    """In the folder and with the variables of their version; they take no longer than a run may."""
    text = "sleep 300" if late else "pwd; echo no-$SAID; exit 4"
    version = PlannedVersion("v", ("true",), "true", {"SAID": "it"}, str(tmp_path), **{hook: text})  # type: ignore[arg-type]
    executor = CommandExecutor(timeout=0.5 if late else None)

    def carry_out() -> None:
        executor.begin(version)
        executor.measure(version)
        executor.finish(version)

    how = "took longer than its time-out" if late else f"exited with code 4.*{tmp_path}\nno-it"
    with pytest.raises(RunError, match=f"(?s){hook} command {re.escape(repr(text))} {how}"):
        carry_out()


def test_the_start_of_a_shell_is_the_median_of_twenty(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([float(3 * k % 20) for k in range(20)])
    asked: list[Job] = []

    def fake(job: Job) -> Run:
        asked.append(job)
        return Run({"time": next(times)})

    runs_are(monkeypatch, fake)
    assert shell_start(("sh", "-c", "")) == 10.0
    assert asked == [Job(("sh", "-c", ""))] * 20


@pytest.mark.parametrize("failed", [False, True])
def test_a_run_under_perf_has_its_counters_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, failed: bool
) -> None:
    """Not what the kernel accounts to perf; with the numbers of the output and of the meter around it."""
    (tmp_path / "p").write_text("7;;cycles\n3000000000;ns;duration_time\n")
    readings = iter(["5", "8"])
    read = Path.read_text
    monkeypatch.setattr(
        Path, "read_text", lambda path: next(readings) if path.name == "energy" else read(path)
    )
    asked: list[Job] = []

    def fake(job: Job) -> Run:
        asked.append(job)
        return Run({"time": 9.0, "user": 1.0}, exit=int(failed), stdout=b"score 4")

    runs_are(monkeypatch, fake)
    perf = PerfStat(("cycles",), tmp_path / "p", "/bin/perf")
    executor = CommandExecutor(
        "/in", True, 2.0, (parse_metric(r"score=score (\d)"), parse_metric("none=x")), perf,
        Energy(((tmp_path / "energy", 100.0),)),
    )  # fmt: skip
    run = executor.measure(PlannedVersion("v", ("a", "b"), "a b", {"A": "1"}, "/cwd"))
    assert asked == [perf.wrap(Job(("a", "b"), {"A": "1"}, "/cwd", "/in", True, 2.0)).prepared()]
    own = {"cycles": 7.0, "time": 3.0, "score": 4.0, "energy": pytest.approx(3e-6)}
    assert run.metrics == ({"time": 9.0, "user": 1.0} if failed else own)
    assert next(readings, None) == ("8" if failed else None)

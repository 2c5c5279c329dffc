"""Real processes: times, failures, time-outs, signals, leaks."""

import ctypes
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.measuring.waiting import gone, wait_for

import speedproof.measuring.execute as execute_module
from speedproof.measuring.execute import Ended, Job, Run, RunError, execute, run_of
from speedproof.measuring.system import children, left_behind, watched


@pytest.fixture(params=["C", "Python"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Which starts programs; the compiled one leaves it to its twin while there are other children."""
    if request.param == "Python":
        monkeypatch.setattr(execute_module, "COMPILED", None)
    elif execute_module.COMPILED is None:
        pytest.skip("installed without a compiler")
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    return str(request.param)


def open_files() -> list[str]:
    return sorted(path.name for path in Path("/proc/self/fd").iterdir())


def test_times_are_of_that_child_alone() -> None:
    """A busy child has user time; the idle one after it does not inherit any."""
    busy = execute(Job((sys.executable, "-S", "-c", "x = 0\nfor i in range(3000000): x += i")))
    start = time.perf_counter()
    idle = execute(Job(("sleep", "0.05")))
    assert 0.05 <= idle.metrics["time"] <= time.perf_counter() - start
    assert idle.metrics["user"] < 0.02 < busy.metrics["user"]
    assert not idle.failed


def test_memory_against_a_known_allocation() -> None:
    """The peak holds what the child touched; one below the runner's own peak is left out, not invented."""
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    size = own + 50_000_000
    told = "import resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    run = execute(Job((sys.executable, "-S", "-c", f"x = b'x' * {size}; {told}"), capture=True))
    assert size < run.metrics["memory"] < size + 100_000_000
    assert run.metrics["memory"] == pytest.approx(1024 * int(run.stdout), rel=0.01)
    assert "memory" not in execute(Job(("true",))).metrics


def test_failure_shows_the_output_and_the_exit_code() -> None:
    run = execute(Job(("sh", "-c", "yes | head -n 1500000; echo trouble >&2; exit 1"), capture=True))
    assert run.stdout == b"y\n" * 1_500_000
    assert "trouble" in run.describe_failure()
    assert execute(Job(("sh", "-c", "echo out"))).stdout == b""
    runs = [execute(Job(("sh", "-c", command))) for command in ("exit 7", "kill -9 $$", "kill -TERM $$")]
    assert [(run.exit, run.failed) for run in runs] == [(7, True), (-9, True), (-15, True)]


def test_working_directory_environment_and_input(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("hello")
    before = Path.cwd()
    command, variables = ("sh", "-c", "pwd; echo $GREETING; cat"), {"GREETING": "servus"}
    job = Job(command, env=variables, cwd=str(tmp_path), stdin=str(tmp_path / "in.txt"), capture=True)
    assert execute(job).stdout.decode().split("\n") == [str(tmp_path.resolve()), "servus", "hello"]
    assert Path.cwd() == before
    assert execute(Job(("cat",), capture=True)).stdout == b""


def test_child_has_its_own_group_and_the_signals_of_subprocess() -> None:
    """Ctrl-C at the terminal does not reach it; what the caller ignores stays so, but for what Python ignores."""
    code = "import os, signal; print(os.getpgrp() == os.getpid())"
    assert execute(Job((sys.executable, "-S", "-c", code), capture=True)).stdout == b"True\n"
    mask = ("grep", "-hE", "Sig(Blk|Ign)", "/proc/self/status")

    def told(lines: bytes) -> list[set[int]]:
        return [{s for s in signal.valid_signals() if int(of, 16) >> s - 1 & 1} for of in lines.split()[1::2]]

    before = {s: signal.getsignal(s) for s in (signal.SIGHUP, signal.SIGUSR1, signal.SIGRTMIN)}
    try:
        signal.signal(signal.SIGUSR1, lambda number, frame: None)
        for number in (signal.SIGHUP, signal.SIGRTMIN):
            signal.signal(number, signal.SIG_IGN)
        blocked, ignored = told(subprocess.run(mask, stdout=subprocess.PIPE, check=True).stdout)
        assert told(execute(Job(mask, capture=True)).stdout) == [blocked, ignored]
        assert ignored >= {signal.SIGHUP, signal.SIGRTMIN}
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@pytest.mark.parametrize(("job", "message"), [
    (Job(("no-such-program-anywhere",)), "no such program"), (Job(("/etc/passwd",)), "not executable"),
    (Job(("true",), cwd="/no/such/folder"), "/no/such/folder: no such file"),
    (Job(("true",), stdin="/no/such/file"), "/no/such/file: no such file"),
    (Job(("true", "x" * 200_000)), r"^true: cannot be started: Argument list too long$"),
    # It would end there.
    (Job(("true", "a\0b")), "embedded null byte"), (Job(("true",), {"A": "a\0b"}), "embedded null byte"),
])  # fmt: skip
def test_what_cannot_start_is_named(job: Job, message: str) -> None:
    with pytest.raises(ValueError if "null" in message else RunError, match=message):
        execute(job)
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == set()


def test_program_is_found_on_the_path_that_it_sees(tmp_path: Path) -> None:
    """Two installations told apart by PATH alone; without one where systems have their programs."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        tool = tmp_path / name / "speedproof-tool"
        tool.write_text(f"#!/bin/sh\necho {name}\n")
        tool.chmod(0o755)
        job = Job(("speedproof-tool",), env={"PATH": f"{tool.parent}:{os.environ['PATH']}"}, capture=True)
        assert execute(job).stdout.decode() == f"{name}\n"
        assert execute_module.find_program("speedproof-tool", {"PATH": str(tool.parent)}) == str(tool)
    assert execute_module.find_program("sh", {}) == shutil.which("sh", path=os.defpath)
    assert execute_module.find_program("sh", {"PATH": "/nowhere"}) is None
    assert execute_module.find_program("./gone", {}) == "./gone"


def test_script_without_an_interpreter_is_named(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("echo hello\n")
    script.chmod(0o755)
    with pytest.raises(RunError, match="whose first line names its interpreter"):
        execute(Job((str(script),)))


@pytest.mark.parametrize(("run", "how"), [
    (Run({}, 0), "exited with code 0"), (Run({}, 1), "exited with code 1"),
    (Run({}, -1), "was killed by SIGHUP"), (Run({}, -9), "was killed by SIGKILL"),
    (Run({}, -34), "was killed by SIGRTMIN"), (Run({}, -35), "was killed by SIGRTMIN+1"),
    (Run({}, -33), "was killed by signal 33"),
    (Run({}, -9, timed_out=True), "took longer than its time-out and was ended"),
])  # fmt: skip
def test_how_a_run_ended(run: Run, how: str) -> None:
    assert run.describe_failure() == f"{how}; it wrote nothing to standard error"
    told = Run(run.metrics, run.exit, run.timed_out, b"x" * 9, b"y" * 3999).describe_failure()
    assert told == f"{how}; its output:\nx{'y' * 3999}"
    assert run.failed is (how != "exited with code 0")


def test_where_no_signal_is_a_real_time_one_others_have_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(signal, "SIGRTMIN")
    assert Run({}, -35).describe_failure().startswith("was killed by signal 35;")


@pytest.mark.parametrize(("peak", "memory"), [(999, {}), (1000, {}), (1001, {"memory": 1001 * 1024.0})])
def test_metrics_are_the_kernels_numbers_in_base_units(
    way: str, monkeypatch: pytest.MonkeyPatch, peak: int, memory: dict[str, float]
) -> None:
    """Seconds of the processor to the microsecond; a peak counts where it is above the runner's own."""
    if way == "C":
        told = (5, 2_500_000_005, 0, 1_234_568, 765_432, peak, 11, 12, 13, 14, 1000, 1, 0)
        monkeypatch.setattr(execute_module, "COMPILED", SimpleNamespace(start=lambda *arguments: told))
    else:
        wait = os.wait4
        usage = resource.struct_rusage((1.2345678, 0.7654321, peak, *[0] * 3, 11, 12, *[0] * 6, 13, 14))
        own = resource.struct_rusage((0.0, 0.0, 1000, *[0] * 13))
        times = iter([5, 2_500_000_005])
        monkeypatch.setattr(os, "wait4", lambda pid, options: (*wait(pid, options)[:2], usage))
        monkeypatch.setattr(resource, "getrusage", lambda who: own)
        monkeypatch.setattr(time, "perf_counter_ns", lambda: next(times))
    run = execute(Job(("true",)))
    monkeypatch.undo()
    names = "user system cpu minor-faults major-faults voluntary-switches involuntary-switches"
    numbers = (1.234568, 0.765432, 2.0, 11.0, 12.0, 13.0, 14.0)
    assert run == Run({"time": 2.5, **dict(zip(names.split(), numbers, strict=True)), **memory})


def test_the_runner_rests_only_after_an_interruption(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before every run for a while, then no more; to be moved when it starts is no interruption."""
    wait, switches, rests = os.wait4, [2], list[float]()

    def rested() -> int:
        execute(Job(("true",)))
        return len(rests)

    def started(*arguments: object) -> tuple[int, ...]:
        rests.extend([1.0] * (arguments[5] != 0))
        return 5, 6, 0, 0, 0, 0, 0, 0, 0, switches[0], 0, 1, 0

    def waited(pid: int, options: int) -> tuple[int, int, resource.struct_rusage]:
        return (*wait(pid, options)[:2], resource.struct_rusage((0.0, 0.0, *[0] * 13, switches[0])))

    if way == "C":
        monkeypatch.setattr(execute_module, "COMPILED", SimpleNamespace(start=started))
    monkeypatch.setattr(os, "wait4", waited)
    monkeypatch.setattr(time, "sleep", rests.append)
    first = rested()
    assert rested() == first + 1
    switches[0] = 1
    while (before := len(rests)) != rested():
        assert len(rests) < 1000
    assert rested() == before >= first + 100


def test_a_rest_is_short_and_leaves_the_slack_of_timers(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 30 us, which the usual slack makes 80; the program has the slack that the runner was given."""
    interrupted = (5, 6, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0)
    with monkeypatch.context() as patch:
        patch.setattr(execute_module, "COMPILED", SimpleNamespace(start=lambda *arguments: interrupted))
        execute(Job(("true",)))
    prctl = ctypes.CDLL(None).prctl
    before = prctl(30, 0, 0, 0, 0)
    try:
        prctl(29, 70_000, 0, 0, 0)
        told = execute(Job(("cat", "/proc/self/timerslack_ns"), capture=True)).stdout
        assert int(told) == prctl(30, 0, 0, 0, 0) == 70_000
    finally:
        prctl(29, before, 0, 0, 0)


@pytest.mark.parametrize(
    "start", ["setsid sleep 300 & echo $! > pid; wait", "(setsid sleep 300 & echo $! > pid); sleep 300"]
)
def test_a_timeout_ends_what_left_the_group(start: str, tmp_path: Path) -> None:
    """A session of its own, and a parent that is gone, save nobody."""
    timeout, mark = 0.2, tmp_path / "pid"
    while not (mark.exists() and mark.read_text().strip()):
        run = execute(Job(("sh", "-c", start), cwd=str(tmp_path), timeout=timeout))
        timeout *= 2  # a busy machine has not even begun
    assert run.timed_out
    assert run.left_behind == 0
    assert gone(int(mark.read_text()))


@pytest.mark.parametrize("start", ["sleep", "setsid sleep"])
def test_processes_left_behind_are_counted(start: str, tmp_path: Path) -> None:
    """In the command's group or not; whoever was there before is none of it: it can still be waited for."""
    other = subprocess.Popen(["sleep", "300"])
    run = execute(Job(("sh", "-c", f"{start} 300 & echo $! > pid"), cwd=str(tmp_path)))
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    assert run.left_behind == 1
    other.kill()
    assert execute(Job(("sh", "-c", "yes | head -n 1"))).left_behind == 0
    assert other.wait() == -signal.SIGKILL


def test_what_ends_a_moment_later_is_not_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """As parts of a pipeline do; and what has ended already is waited for."""
    before = children()
    ended, other = subprocess.Popen(["true"]), subprocess.Popen(["sleep", "300"])
    wait_for(lambda: gone(ended.pid))
    monkeypatch.setattr(time, "sleep", lambda seconds: other.kill())
    assert left_behind(before) == []
    with pytest.raises(ChildProcessError):
        os.waitpid(ended.pid, 0)
    monkeypatch.undo()
    ended.wait()
    other.wait()


def test_the_end_of_standard_error_is_kept() -> None:
    """Its last MiB, also of a program that goes on writing; and no more memory than that is taken for long."""
    quick = execute(Job((sys.executable, "-S", "-c", "import os; os.write(2, b'x' * 3_000_000 + b'end')")))
    assert quick.stderr == b"x" * ((1 << 20) - 3) + b"end"
    code = (
        "import os, time\n"
        "os.write(2, b'a' * 2_000_000)\n"
        "while os.fstat(2).st_size: time.sleep(0.01)\n"
        "os.write(2, b'b' * 1000)\n"
    )
    slow = execute(Job((sys.executable, "-S", "-c", code), timeout=30))
    assert not slow.timed_out
    assert slow.stderr == b"a" * ((1 << 20) - 1000) + b"b" * 1000


def test_a_runner_that_is_killed_takes_the_command_along(tmp_path: Path) -> None:
    if not (runner := os.fork()):
        try:
            sleeping = "sleep 300 & echo $! $$ > pids; sleep .5; mv pids there; wait"
            execute(Job(("sh", "-c", sleeping), cwd=str(tmp_path)))
        finally:
            os._exit(1)
    wait_for((tmp_path / "there").exists)
    os.kill(runner, signal.SIGKILL)
    os.waitpid(runner, 0)
    pids = [int(pid) for pid in (tmp_path / "there").read_text().split()]
    wait_for(lambda: all(map(gone, pids)))


def test_runs_leave_nothing_open_and_signals_as_they_were() -> None:
    """Also those that end late, or cannot be started; and no zombie."""
    execute(Job(("true",)))  # what watches the runner stays
    before = open_files()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    try:
        for job in (
            *(Job(("true",), timeout=5.0 if k % 2 else None, capture=k % 3 == 0) for k in range(60)),
            Job(("sleep", "30"), timeout=0.001),
            Job(("true", "x" * 200_000)),
            Job(("no-such-program-anywhere",), capture=True),
        ):
            with suppress(RunError):
                assert execute(job).timed_out is (job.timeout == 0.001)
            assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == {*mask, signal.SIGUSR1}
            assert (open_files(), watched()) == (before, 0)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    with suppress(ChildProcessError):
        assert os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None


@pytest.mark.parametrize("added", [{}, {"A": "é=1", "SPEEDPROOF_OLD": "new"}])
def test_variables_made_before_are_those_made_for_a_run(
    added: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the program prints of them: those of this process, bytes that are no text too, and what is added."""
    monkeypatch.setitem(os.environb, b"SPEEDPROOF_BYTES", b"\xff\xfe")
    monkeypatch.setenv("SPEEDPROOF_OLD", "old")
    wanted = {**os.environ, **added}
    for job in (
        Job(("env", "-0"), added, capture=True),
        Job(("env", "-0"), capture=True, environment=execute_module.environment_of(added)),
    ):
        lines = execute(job).stdout.removesuffix(b"\0").split(b"\0")
        assert dict(line.split(b"=", 1) for line in lines) == {
            os.fsencode(name): os.fsencode(value) for name, value in wanted.items()
        }


def test_a_shell_is_the_runners(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """By its path, with the options that it is given; one that is not there stays as it is called."""
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "sh").symlink_to("/bin/sh")
    assert execute_module.shell_command("a | b") == (str(tmp_path / "sh"), "-c", "a | b")
    assert execute_module.shell_command("a", "sh -e 'x y'") == (str(tmp_path / "sh"), "-e", "x y", "-c", "a")
    assert execute_module.shell_command("a", "gone -e") == ("gone", "-e", "-c", "a")


def test_signals_in_between_end_no_run(way: str, tmp_path: Path) -> None:
    """A handler that returns: it is waited for on, whichever way it was begun, and measured whole."""
    seen, mark = list[int](), tmp_path / "seen"

    def handler(number: int, frame: object) -> None:
        seen.append(number)
        mark.touch()

    before = signal.signal(signal.SIGUSR1, handler)
    again = f"kill -USR1 {os.getpid()}"
    try:
        run = execute(
            Job(("sh", "-c", f"{again}; until [ -e {mark} ]; do sleep .01; done; {again}; sleep .2"))
        )
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert seen == [signal.SIGUSR1] * 2
    assert run.metrics["time"] >= 0.2
    assert not run.failed


def test_other_children_are_left_alone(way: str) -> None:
    """Neither an end nor a time-out of a command is one of theirs, nor is an interrupt."""
    other = subprocess.Popen(["sleep", "300"])
    try:
        assert not execute(Job(("true",))).failed
        assert execute(Job(("sleep", "30"), timeout=0.01)).timed_out
        handler = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            with pytest.raises(KeyboardInterrupt):
                execute(Job(("sh", "-c", f"kill -INT {os.getpid()}; exec sleep 60")))
        finally:
            signal.signal(signal.SIGINT, handler)
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_commands_in_one_go_are_those_one_by_one(way: str, tmp_path: Path) -> None:
    """In their order, each with its own variables and folder, up to one that needs more than a note."""
    folders = [tmp_path / name for name in "ab"]
    for folder in folders:
        folder.mkdir()
    write = ("sh", "-c", "echo $WHO >> out; echo $WHO >> ../both")
    jobs = [Job(write, {"WHO": f.name}, str(f)).prepared() for f in folders]
    failing = Job(("sh", "-c", "echo no >&2; exit 3")).prepared()
    order, both = [jobs[k] for k in (0, 1, 1, 0)], tmp_path / "both"
    ended: list[Run] = []
    while len(ended) < 5:
        ends: list[Ended] = []
        start, finish, last = execute_module.execute_some([*order, failing, *order][len(ended) :], 1e3, ends)
        times = [time for end in ends for time in end[:2]] + [start, finish]
        assert times == sorted(times)
        assert last.metrics["time"] == (finish - start) / 1e9
        ended += [*map(run_of, ends), last]
    assert both.read_text().split() == [*"abba"]
    assert [run.exit for run in ended] == [0] * 4 + [3]
    assert ended[-1].stderr == b"no\n"
    assert all(run.metrics.keys() >= {"time", "cpu", "involuntary-switches"} for run in ended)
    ends = []
    execute_module.execute_some(order, 0.0, ends)
    assert not ends


def test_an_interrupt_loses_no_run_that_has_ended(tmp_path: Path) -> None:
    """Ctrl-C in the fourth of many: those before are known, and its program is gone."""
    code = """
import os, signal
from speedproof.measuring.execute import Job, execute_some

signal.signal(signal.SIGINT, signal.default_int_handler)
quick = Job(("sh", "-c", "echo >> ran")).prepared()
last = Job(("sh", "-c", "echo >> ran; kill -INT $PPID; exec sleep 60")).prepared()
count = 0
try:
    while True:
        ends = []
        try:
            execute_some([quick, quick, quick, last][count:], 1e3, ends)
            count += 1
        finally:
            count += len(ends)
except KeyboardInterrupt:
    print(count)
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        print("reaped")
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "3\nreaped\n"
    assert (tmp_path / "ran").read_text() == "\n" * 4

"""The runner against ``hyperfine -N``: what it reads, what a run costs, whether a side is preferred, leaks.

1. Median wall time of commands as the runner and as hyperfine measure it, in alternating batches, so that both see
   the same machine: as it is, and with loops that keep every CPU busy.
2. Processor time that one run more of the whole command takes, the difference of many and few runs, so that its
   start is left out; wall time from one start of the program to the next, as it notes it, the tenth percentile, in
   which other programs count little. Beside both what Python needs for a loop of ``posix_spawn`` and ``wait4``.
3. The same binary as both versions, 1,000 blocks: a sign test on the differences, and one on which position
   in the block was slower (benchmarks/positions.py says why).
4. ``run --driver`` against the same invocations of the tool by hand, in alternation: processor and wall time.
5. 10,000 runs: descriptors, zombies and memory before and after.

    python benchmarks/runner.py
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from scipy import stats

from speedproof.api.measurement import Measurement
from speedproof.conclude.claims import SessionQuestion, StopRules
from speedproof.data.session_file import SCHEMA, RunLine, SessionLine
from speedproof.measuring.execute import Job, execute
from speedproof.measuring.executor import CommandExecutor
from speedproof.measuring.plan import Hooks, plan_commands
from speedproof.measuring.store import read_sessions

COMMANDS = {"/bin/true": 300, "/bin/sleep 0.1": 20}
LOOPS, IN_LOAD = 9, {"/bin/true": 60}
HYPERFINE = ["hyperfine", "-N", "--warmup", "3"]
FEW, MANY = 100, 1000
BATCHES = 5
CACHE = tempfile.TemporaryDirectory()
BLOCKS = 1000
RUNS = 10_000


def hyperfine(command: str, runs: int) -> list[float]:
    """Times of one batch of hyperfine without a shell."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "h.json"
        words = [*HYPERFINE, "--runs", str(runs), "--export-json", str(path), command]
        subprocess.run(words, check=True, capture_output=True)
        times: list[float] = json.loads(path.read_text())["results"][0]["times"]
        return times


def ours(command: str, runs: int) -> list[float]:
    """Times of one batch of the runner."""
    job = Job(tuple(command.split())).prepared()
    return [execute(job).metrics["time"] for _ in range(3 + runs)][3:]


def readings(commands: Mapping[str, int], loops: int = 0) -> None:
    """Print what both measure while so many loops run."""
    print(
        f"{loops} loops beside it\n"
        "| command | speedproof, median | hyperfine -N, median | ratio |\n|---|---|---|---|"
    )
    # Children of its own are looked at by the runner after every run.
    start = f"for i in $(seq {loops}); do (while :; do :; done) >/dev/null 2>&1 & echo $!; done"
    busy = subprocess.run(["sh", "-c", start], check=True, capture_output=True, text=True).stdout.split()
    own, other = ({name: list[float]() for name in commands} for _ in range(2))
    try:
        for name, runs in BATCHES * [*commands.items()]:
            other[name] += hyperfine(name, runs)
            own[name] += ours(name, runs)
    finally:
        for process in busy:
            os.kill(int(process), signal.SIGKILL)
    for name in commands:
        x, y = statistics.median(own[name]), statistics.median(other[name])
        print(f"| {name} | {1e3 * x:.3f} ms | {1e3 * y:.3f} ms | {x / y:.3f} |")


STAMP = """
#include <fcntl.h>
#include <time.h>
#include <unistd.h>
int main(int count, char **words) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return write(open(words[1], O_WRONLY | O_APPEND | O_CREAT, 0600), &now, sizeof now) != sizeof now;
}
"""
LOOP = """
import os, sys, time
*command, runs = sys.argv[1:]
environment = dict(os.environb)
for _ in range(int(runs)):
    time.perf_counter_ns()
    os.wait4(os.posix_spawn(command[0], command, environment), 0)
    time.perf_counter_ns()
"""


def cost(commands: list[list[str]], folder: str) -> tuple[float, float]:
    """Processor and wall time that commands take, as an installed package, which is compiled."""
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    env["PYTHONPYCACHEPREFIX"] = CACHE.name
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    for command in commands:
        subprocess.run(command, cwd=folder, env=env, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent, time.perf_counter() - start


def costs() -> None:
    """Print what one run more costs."""
    print("| | processor time a run | from start to start |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_STATE_HOME"] = folder
        program, starts = f"{folder}/stamp", Path(folder) / "starts"
        words = ["cc", "-O2", "-x", "c", "-", "-o", program]
        subprocess.run(words, input=STAMP, text=True, check=True)
        command = f"{program} {starts}"
        run = [sys.executable, "-m", "speedproof", "run", "--max-time", "1000"]
        tools = {
            "speedproof": [*run, command, "--runs"],
            "speedproof, of two": [*run, command, f"{command} ", "--runs"],
            "hyperfine -N": [*HYPERFINE, "--export-json", "h", command, "--runs"],
            "a loop": [sys.executable, "-c", LOOP, program, str(starts)],
        }
        spent: dict[str, list[float]] = {name: [] for name in tools}
        gaps: dict[str, list[float]] = {name: [] for name in tools}
        for _ in range(BATCHES):
            for name, words in tools.items():
                of_each = 2 if name.endswith("two") else 1
                less = cost([[*words, str(FEW // of_each)]], folder)[0]
                starts.unlink()
                more = cost([[*words, str(MANY // of_each)]], folder)[0]
                spent[name].append((more - less) / (MANY - FEW))
                noted = np.fromfile(starts, dtype=np.int64).reshape(-1, 2) @ (1.0, 1e-9)
                gaps[name] += np.diff(noted)[-MANY // 2 :].tolist()
    for name in tools:
        cpu, wall = statistics.median(spent[name]), float(np.quantile(gaps[name], 0.1))
        print(f"| {name} | {1e6 * cpu:.0f} us | {1e6 * wall:.0f} us |", flush=True)


def equal_binaries() -> None:
    """Print the sign tests of 1,000 blocks of one binary against itself."""
    with tempfile.TemporaryDirectory() as folder:
        plan = plan_commands(["/bin/true", "/bin/true"], ["one", "other"], {}, Hooks())
        head = SessionLine(SCHEMA, "aa", "", 1, plan)
        rules = StopRules(0.05, min_blocks=BLOCKS, max_blocks=BLOCKS, max_time=None)
        path = Path(folder) / "aa.jsonl"
        start, spent = time.perf_counter(), time.process_time()
        session = Measurement(head, CommandExecutor(), SessionQuestion(rules), path=path)
        (finding,) = session.run().findings
        seconds, spent = time.perf_counter() - start, time.process_time() - spent
        (stored,) = read_sessions(path)
    blocks: dict[int, list[RunLine]] = {}
    for run in stored.runs:
        if not run.warmup:
            blocks.setdefault(run.block, []).append(run)
    by_version = sum(
        {r.version: r.metrics["time"] for r in b}["one"] > {r.version: r.metrics["time"] for r in b}["other"]
        for b in blocks.values()
    )
    by_position = sum(b[1].metrics["time"] > b[0].metrics["time"] for b in blocks.values())
    for what, count in (("one slower than other", by_version), ("second in the block slower", by_position)):
        p = stats.binomtest(count, BLOCKS).pvalue
        print(f"{what}: {count} of {BLOCKS} blocks, sign test p = {p:.3g}")
    low, high = finding.result.low, finding.result.high
    print(f"verdict {finding.verdict}, speedup in [{low:.4f}, {high:.4f}], {seconds:.1f} s in all")
    print(f"own CPU time of a run in its session: {1e6 * spent / (2 * BLOCKS):.0f} us")


def driver() -> None:
    """Print what a driver costs, beside a loop that starts the tool as often."""
    tool = ["hyperfine", "-N", "--warmup", "0", "--runs", "10", "sleep 0.01"]
    text = " ".join(tool[:-1]) + f" '{tool[-1]}'"

    print(
        "| invocations | by hand | with the driver | ratio, wall | processor time more |\n|---|---|---|---|---|"
    )
    for rounds in (8, 20, 40):
        count = 2 * rounds + 2  # one of each side finds the benchmarks
        rows = []
        for turn in range(4):
            with tempfile.TemporaryDirectory() as folder:
                run = [sys.executable, "-m", "speedproof", "run", "--driver", "hyperfine", text, text]
                ours = cost([[*run, "--name", "x", "--name", "y", "--runs", str(rounds)]], folder)
                hand = cost([[*tool, "--export-json", "h.json"]] * count, folder)
            # The first one compiles.
            rows += [(*hand, *ours)] if turn else []
        cpu, wall, own_cpu, own_wall = map(statistics.median, zip(*rows, strict=True))
        ratio, more = own_wall / wall, own_cpu - cpu
        print(f"| {count} | {wall:.2f} s | {own_wall:.2f} s | {ratio:.2f} | {more:.2f} s |", flush=True)


def leaks() -> None:
    """Print what 10,000 runs left behind."""

    def open_files() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    execute(Job(("/bin/true",)))
    files, memory = open_files(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for i in range(RUNS):
        execute(Job(("/bin/true",), timeout=5 if i % 2 else None))
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory
    print(f"{RUNS} runs: {open_files() - files} descriptors and {grown} KiB more than before")


if __name__ == "__main__":
    if shutil.which("hyperfine") is None:
        print("hyperfine is not installed: what is measured beside it is left out")
    else:
        print(subprocess.run(["hyperfine", "--version"], check=True, capture_output=True, text=True).stdout)
        readings(COMMANDS)
        readings(IN_LOAD, LOOPS)
        costs()
        driver()
    equal_binaries()
    leaks()

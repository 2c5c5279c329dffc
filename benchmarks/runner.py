"""The runner against ``hyperfine -N``: what a measured run costs, whether a side is preferred, leaks.

1. Median wall time of a command of about 1 ms and of one of 100 ms as the runner and as hyperfine measure
   it, in alternating batches, so that both see the same machine. The ratio is to stay below 1.2. The same beside
   a loop of ``posix_spawn`` in C, which does nothing else, with the runner's own CPU time for each run.
2. The same binary as both versions, 1,000 blocks: a sign test on the differences, and one on which position
   in the block was slower (benchmarks/positions.py says why).
3. ``run --driver`` against the same invocations of the tool by hand, in alternation: processor and wall time.
4. 10,000 runs: descriptors, zombies and memory before and after.

    python benchmarks/runner.py
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from scipy import stats

from speedproof.api.measurement import Measurement
from speedproof.data.session_file import SCHEMA, RunLine, SessionLine
from speedproof.measuring.execute import Job, execute
from speedproof.measuring.executor import CommandExecutor
from speedproof.measuring.plan import Hooks, plan_commands
from speedproof.measuring.store import read_sessions
from speedproof.protocols.claims import SessionQuestion, StopRules

COMMANDS = {"about 1 ms": (("/bin/true",), 300), "100 ms": (("/bin/sleep", "0.1"), 20)}
BATCHES = 5
BLOCKS = 1000
RUNS = 10_000


def hyperfine(command: tuple[str, ...], runs: int) -> list[float]:
    """Times of one batch of hyperfine without a shell."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "h.json"
        subprocess.run(
            [
                "hyperfine",
                "-N",
                "--warmup",
                "3",
                "--runs",
                str(runs),
                "--export-json",
                str(path),
                " ".join(command),
            ],
            check=True,
            capture_output=True,
        )
        times: list[float] = json.loads(path.read_text())["results"][0]["times"]
        return times


def ours(command: tuple[str, ...], runs: int) -> tuple[list[float], float]:
    """Times of one batch of the runner, and the seconds that the batch took."""
    for _ in range(3):
        execute(Job(command))
    start = time.perf_counter()
    times = [execute(Job(command)).metrics["time"] for _ in range(runs)]
    return times, time.perf_counter() - start


def compare_with_hyperfine() -> None:
    """Print the first table."""
    print("| command | speedproof, median | hyperfine -N, median | ratio | runner's own work per run |")
    print("|---|---|---|---|---|")
    for name, (command, runs) in COMMANDS.items():
        own: list[float] = []
        other: list[float] = []
        spent = 0.0
        for _ in range(BATCHES):
            times, seconds = ours(command, runs)
            own += times
            spent += seconds
            other += hyperfine(command, runs)
        x, y = statistics.median(own), statistics.median(other)
        work = (spent - sum(own)) / len(own)
        print(f"| {name} | {1e3 * x:.3f} ms | {1e3 * y:.3f} ms | {x / y:.3f} | {1e6 * work:.0f} µs |")


LOOP = r"""
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
extern char **environ;
int main(int count, char **words) {
    (void)count;
    for (int i = atoi(words[1]); i > 0; i--) {
        struct timespec a, b;
        pid_t pid;
        int status;
        clock_gettime(CLOCK_MONOTONIC, &a);
        if (posix_spawn(&pid, words[2], NULL, NULL, words + 2, environ)) return 1;
        waitpid(pid, &status, 0);
        clock_gettime(CLOCK_MONOTONIC, &b);
        printf("%.9f\n", (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec));
    }
    struct rusage own;
    getrusage(RUSAGE_SELF, &own);
    fprintf(stderr, "%ld\n", own.ru_utime.tv_sec * 1000000 + own.ru_utime.tv_usec
                             + own.ru_stime.tv_sec * 1000000 + own.ru_stime.tv_usec);
    return 0;
}
"""


def compare_with_c() -> None:
    """Print what each measures, and the CPU time that each spends itself."""
    with tempfile.TemporaryDirectory() as folder:
        source, loop = Path(folder) / "loop.c", Path(folder) / "loop"
        source.write_text(LOOP)
        subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", str(source), "-o", str(loop)], check=True)
        print("| command | speedproof, median | C loop, median | ratio | own CPU time | of the loop |")
        print("|---|---|---|---|---|---|")
        for name, (command, runs) in COMMANDS.items():
            own: list[float] = []
            other: list[float] = []
            spent = [0.0, 0.0]
            for _ in range(BATCHES):
                job = Job(command).prepared()
                before = time.process_time()
                own += [execute(job).metrics["time"] for _ in range(runs)]
                spent[0] += time.process_time() - before
                done = subprocess.run(
                    [str(loop), str(runs), shutil.which(command[0]) or "", *command[1:]],
                    check=True,
                    capture_output=True,
                    text=True,
                )
                other += map(float, done.stdout.split()[-runs:])
                spent[1] += float(done.stderr) / 1e6
            x, y = statistics.median(own), statistics.median(other)
            ours, theirs = (1e6 * seconds / len(own) for seconds in spent)
            print(
                f"| {name} | {1e3 * x:.3f} ms | {1e3 * y:.3f} ms | {x / y:.3f} | {ours:.0f} us | {theirs:.0f} us |"
            )


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

    cache = tempfile.TemporaryDirectory()
    # An installed package is compiled.
    compiled = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    compiled["PYTHONPYCACHEPREFIX"] = cache.name

    def cost(commands: list[list[str]], folder: str) -> tuple[float, float]:
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        for command in commands:
            subprocess.run(command, cwd=folder, env=compiled, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return spent, time.perf_counter() - start

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
        print("hyperfine is not installed: its times are left out")
    else:
        driver()
        compare_with_hyperfine()
    compare_with_c()
    equal_binaries()
    leaks()

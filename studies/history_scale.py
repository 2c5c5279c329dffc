"""How large a history may grow: a store of many commits and benchmarks, every command on it timed.

    python studies/history_scale.py [--commits 1000] [--benchmarks 200] [--store FILE] [--json FILE]
    python studies/history_scale.py --series 10000 --commits 500 [--changed 0.1]    only the search, on arrays

Makes pyperf-like sessions (one a commit, 20 values a benchmark, every tenth benchmark with a step), adds them one
by one as ``speedproof history add`` does, and prints the seconds that every command takes in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from speedproof.data.suite import Record, Suite
from speedproof.history.changes import find_history_changes
from speedproof.history.commits import Commit
from speedproof.history.store import HistoryStore
from speedproof.history.tracks import Track

VALUES = 20


def fill(where: Path, commits: int, benchmarks: int, seed: int = 7) -> float:
    """Fill a store; seconds it took."""
    rng = np.random.default_rng(seed)
    levels = np.exp(rng.normal(-5.0, 2.0, benchmarks))
    steps = {
        k: (int(rng.integers(commits)), 1.0 + 0.1 * rng.standard_normal()) for k in range(0, benchmarks, 10)
    }
    store = HistoryStore(str(where))
    start = time.perf_counter()
    for i in range(commits):
        sha = f"{i:07x}{'a' * 33}"
        date = f"{2020 + i // 360:04}-{1 + i // 30 % 12:02}-{1 + i % 28:02}T{i % 24:02}:00:00+00:00"
        session = np.exp(0.003 * rng.standard_normal(benchmarks))
        records = []
        for k in range(benchmarks):
            at, factor = steps.get(k, (commits, 1.0))
            values = (
                levels[k]
                * session[k]
                * (factor if i >= at else 1.0)
                * np.exp(0.01 * rng.standard_normal(VALUES))
            )
            records.append((sha, Record(f"group{k % 7}/bench{k:04d}", values, unit="s")))
        suite = Suite.from_records(records)
        store.add(
            suite,
            {sha: Commit(sha, f"Change number {i} of the parser", date)},
            path=f"{i}.json",
            digest=str(i),
        )
    return time.perf_counter() - start


def timed(where: Path, *words: str) -> float:
    """Seconds of a command on a store."""
    start = time.perf_counter()
    command = [
        sys.executable,
        "-m",
        "speedproof",
        "history",
        *words,
        "--store",
        str(where),
        "--repository",
        "/",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode > 1:
        raise SystemExit(f"{' '.join(words)}: {done.stderr}")
    return time.perf_counter() - start


def main() -> None:
    """Make the store, time the commands."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commits", type=int, default=1000)
    parser.add_argument("--benchmarks", type=int, default=200)
    parser.add_argument("--store", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--series", type=int)
    parser.add_argument("--changed", type=float, default=0.1)
    args = parser.parse_args()
    if args.series:
        search(args.series, args.commits, args.changed)
        return
    with tempfile.TemporaryDirectory() as folder:
        where = args.store or Path(folder, "s.db")
        seconds: dict[str, float] = {}
        if not where.exists():
            seconds["adding, a commit"] = fill(where, args.commits, args.benchmarks) / args.commits
        places = {"SITE": str(Path(folder, "site")), "EXPORT": str(Path(folder, "all.jsonl.gz"))}
        for words in COMMANDS:
            seconds[" ".join(words)] = timed(where, *[places.get(word, word) for word in words])
        for name, value in seconds.items():
            print(f"{name:40} {value:8.3f} s")
        print(f"{where.stat().st_size / 1e6:.1f} MB")
    if args.json:
        args.json.write_text(json.dumps(seconds, indent=1) + "\n", encoding="utf-8")


def search(series: int, commits: int, changed: float) -> None:
    """Time the search for changes in many series, a share of which have a step, and a third of those another."""
    rng, at = np.random.default_rng(1), np.arange(commits)
    order = tuple(Commit(f"{i:040x}") for i in at)
    none, zero = np.full(commits, np.nan), np.zeros(commits, dtype=np.int64)
    tracks = []
    for k in range(series):
        level = 0.01 * rng.standard_normal(commits)
        for share, step in ((changed, 0.05), (changed / 3, -0.03)):
            place = rng.integers(commits // 25, commits - commits // 25)
            level += step * (at >= place) if k < share * series else 0.0
        tracks.append(Track(k, "machine", False, order, at, level, none, none, zero, zero))
    wall, cpu = time.perf_counter(), time.process_time()
    found = find_history_changes(tracks)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(f"{series} series of {commits}: {wall:.1f} s wall, {cpu:.1f} s CPU, {len(found)} changes")


COMMANDS = [
    ["changes"],
    ["show", "group0/bench0000"],
    ["watch"],
    ["query", "group0/bench0000"],
    ["query"],
    ["page", "-o", "SITE"],
    ["export", "EXPORT"],
    ["bless", "0000010", "as meant"],
]

if __name__ == "__main__":
    main()

"""What a large history costs: commands on a store of the size of asv's own, 3,299 benchmarks over 502 commits.

    python benchmarks/history.py [--benchmarks 3299] [--commits 502] [--store FILE] [COMMAND ...]

Half of the benchmarks have one to four steps. Every command runs in a process of its own: seconds of processor
time, the most memory that it held, and a digest of its answer, which tells whether two versions answer alike. What
"add" reads are 20 files of asv's results, of 1,000 benchmarks each.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import zlib
from multiprocessing import Process
from pathlib import Path
from typing import Any

import numpy as np

from speedproof.history.store import HistoryStore

READ = "import speedproof as sp; print(len(sp.History().store.measurements()))"
COMMANDS = {
    "reading": ["-c", READ],
    "history": ["-m", "speedproof", "history"],
    "json": ["-m", "speedproof", "history", "--json"],
    "watch": ["-m", "speedproof", "history", "watch", "--json"],
    "page": ["-m", "speedproof", "history", "page", "-o", "site"],
    "add": ["-m", "speedproof", "history", "add", "results", "--store", "new.db"],
}


def fill(where: Path, benchmarks: int, commits: int) -> None:
    """Make the store, a table at a time."""
    rng = np.random.default_rng(7)
    levels, noise = rng.normal(-5.0, 2.0, benchmarks), rng.choice([0.003, 0.01, 0.03], benchmarks)
    logs = levels[:, None] + noise[:, None] * rng.standard_normal((benchmarks, commits))
    logs += 0.003 * rng.standard_normal(commits)
    for row in logs:
        for _ in range(rng.choice([0, 1, 2, 4], p=[0.5, 0.2, 0.2, 0.1])):
            row[rng.integers(5, commits - 5) :] += rng.choice([-1, 1]) * rng.choice([0.02, 0.05, 0.1, 0.3])
    times, values = np.exp(logs), zlib.compress(np.ones(3).tobytes(), 1)
    dates = [
        f"{2010 + i // 336}-{1 + i // 28 % 12:02}-{1 + i % 28:02}T12:00:00+00:00" for i in range(commits)
    ]
    tables: dict[str, list[tuple[object, ...]]] = {
        "machine": [(1, "m", "machine")],
        "commit": [(i + 1, f"{i:040x}", f"Change {i}", date, "") for i, date in enumerate(dates)],
        "session": [(i + 1, f"s{i}", 1, date) for i, date in enumerate(dates)],
        "source": [(i + 1, f"d{i}", f"{i}.json", date) for i, date in enumerate(dates)],
        "series": [(k + 1, f"group{k % 7}/bench{k:04d}", "time", "s", 0) for k in range(benchmarks)],
    }
    store = HistoryStore(str(where))
    with store.transaction() as connection:
        for table, rows in tables.items():
            places = ",".join("?" * len(rows[0]))
            connection.many(f'INSERT INTO "{table}" VALUES ({places})', rows)
        for i, measured in enumerate(times.T.tolist(), start=1):
            alike: dict[str, Any] = {"session": i, "commit": i, "source": i, "anchor": False, "n": 3}
            alike |= {"observations": values, "processes": None}
            own: dict[str, Any] = {"series": range(1, benchmarks + 1), "location": measured}
            own |= {"low": [0.995 * v for v in measured], "high": [1.005 * v for v in measured]}
            store.insert(connection, {name: [value] * benchmarks for name, value in alike.items()} | own)


def results(folder: Path, files: int = 20, benchmarks: int = 1000) -> None:
    """A folder of asv's results, as its second format has them."""
    rng, machine = np.random.default_rng(7), folder / "machine"
    machine.mkdir(parents=True)
    names = [f"group{k % 7}.time_bench{k:04d}" for k in range(benchmarks)]
    columns = [
        "result",
        "params",
        "version",
        "started_at",
        "duration",
        "stats_ci_99_a",
        "stats_ci_99_b",
        "samples",
    ]
    for i in range(files):
        times = np.exp(rng.normal(-5.0, 1.0, (benchmarks, 10)))
        date = 1_600_000_000_000 + i * 86_400_000
        rows = [[[row[0]], [], "1", date, 2.0, [row[1]], [row[2]], [row]] for row in times.tolist()]
        told = {"commit_hash": f"{i:040x}", "date": date, "params": {"cpu": "a", "os": "Linux", "ram": "1"},
                "env_name": "v", "python": "3.12", "requirements": {}, "result_columns": columns,
                "results": dict(zip(names, rows, strict=True)), "version": 2}  # fmt: skip
        (machine / f"{i:08x}-v.json").write_text(json.dumps(told), encoding="utf-8")


def answer(folder: Path, printed: bytes) -> bytes:
    """What a command printed, or the pages that it wrote, but for the moment when."""
    pages = sorted(folder.glob("site/data/*.js"))
    whole = printed + b"".join(page.read_bytes() for page in pages)
    return re.sub(rb'"(made|version)":"[^"]*"', b"", whole)


def main() -> None:
    """Print a line a command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commands", nargs="*", default=COMMANDS)
    parser.add_argument("--benchmarks", type=int, default=3299)
    parser.add_argument("--commits", type=int, default=502)
    parser.add_argument("--store", type=Path)
    args = parser.parse_args()
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as name:
        store = (args.store or Path(name, "speedproof.db")).resolve()
        if not store.exists():  # by a process whose memory no later one inherits
            maker = Process(target=fill, args=(store, args.benchmarks, args.commits))
            maker.start()
            maker.join()
        for command in args.commands:
            folder = Path(name, command)
            folder.mkdir()
            (folder / "speedproof.db").symlink_to(store)
            if command == "add":
                results(folder / "results")
            with (folder / "out").open("wb") as out:
                words = [sys.executable, *COMMANDS[command]]
                child = subprocess.Popen(words, cwd=folder, stdout=out, env=environment)
                _, status, used = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            digest = hashlib.sha256(answer(folder, (folder / "out").read_bytes())).hexdigest()[:12]
            cpu, memory = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
            print(f"{command:8} {cpu:6.1f} s {memory:6.0f} MB  code {child.returncode}  {digest}")


if __name__ == "__main__":
    main()

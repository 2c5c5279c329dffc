"""Run the experiments, each in a process of its own, keep what they found, and write the page."""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import asdict, replace
from fnmatch import fnmatch
from pathlib import Path
from queue import Empty
from typing import Any

from studies.seeds import touati2009, speedup_test, hpt, varcore  # isort: skip # noqa: F401  (they register rows)
from studies.seeds.page import conclusion, markdown, write_page
from studies.seeds.row import ROOT, ROWS, UNEXPLAINED, Line, Result, Setting

_TICK = 0.2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked, reuse what is there, write the page."""
    parser = argparse.ArgumentParser(prog="python -m studies.seeds", description=__doc__)
    parser.add_argument(
        "--full", action="store_true", help="the papers' numbers of repetitions (default: a tenth or less)"
    )
    parser.add_argument("--data", type=Path, help="folder of data that may not be committed")
    parser.add_argument(
        "--only", action="append", default=[], metavar="ROW", help="rows by name or pattern; may be repeated"
    )
    parser.add_argument("--page", type=Path, help="write the Markdown there, too, without its figures")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "seeds", help="default: build/seeds")
    parser.add_argument(
        "--jobs", type=int, default=min(2, os.cpu_count() or 1), help="processes (default: 2)"
    )
    parser.add_argument("--fresh", action="store_true", help="run again what an earlier call has already run")
    parser.add_argument("--list", action="store_true", help="name the rows and end")
    args = parser.parse_args(arguments)
    chosen = [n for n in ROWS if not args.only or any(fnmatch(n, pattern) for pattern in args.only)]
    if unknown := [p for p in args.only if not any(fnmatch(n, p) for n in ROWS)]:
        parser.error(f"no row is called {unknown[0]}: {', '.join(ROWS)}")
    if args.data is not None and not args.data.is_dir():
        parser.error(f"--data {args.data}: no such folder")
    if args.list:
        print("\n".join(f"{row.name:28s} {row.paper}: {row.title}" for row in map(ROWS.__getitem__, chosen)))
        return 0
    (args.out / "rows").mkdir(parents=True, exist_ok=True)
    signature = _signature(args.full, args.data)
    found = {} if args.fresh else {n: r for n in chosen if (r := _stored(args.out, n, signature)) is not None}
    if found:
        print(f"already run: {', '.join(found)}", file=sys.stderr)
    tasks = [(name, args.full, args.data, args.out, signature) for name in chosen if name not in found]
    for name, result in _carried_out(tasks, args.jobs):
        found[name] = result
        print(f"[{len(found)}/{len(chosen)}] {name}: {result.seconds:.1f} s", file=sys.stderr)
    page = [(ROWS[name], found[name]) for name in chosen]
    mode = "full" if args.full else "quick"
    paths = write_page(args.out, page, mode)
    if args.page is not None:
        args.page.write_text("\n".join(markdown(page, mode, figures=False)) + "\n", encoding="utf-8")
    print(conclusion(page))
    print(f"wrote {' and '.join(map(str, paths))}", file=sys.stderr)
    return int(any(line.verdict == UNEXPLAINED for _, result in page for line in result.lines))


def _signature(full: bool, data: Path | None) -> str:
    """Changes with the code, the mode and the names and sizes of the data."""
    digest = hashlib.sha256(f"{full}".encode())
    for path in sorted([*(ROOT / "src").rglob("*.py"), *Path(__file__).parent.rglob("*.*")]):
        if path.suffix != ".pyc":
            digest.update(path.read_bytes())
    for path in sorted(data.rglob("*")) if data is not None else []:
        digest.update(f"{path}{path.stat().st_size}".encode())
    return digest.hexdigest()


def _stored(out: Path, name: str, signature: str) -> Result | None:
    """What an earlier call found, if nothing that it depends on has changed."""
    try:
        kept = json.loads((out / "rows" / f"{name}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if kept.get("signature") != signature:
        return None
    fields = kept["result"]
    fields["lines"] = tuple(Line(**{**line, "values": tuple(line["values"])}) for line in fields["lines"])
    fields["figures"] = tuple((name, caption) for name, caption in fields["figures"])
    return Result(**{**fields, "remarks": tuple(fields["remarks"])})


def _carried_out(tasks: list[tuple[Any, ...]], jobs: int) -> Iterator[tuple[str, Result]]:
    """Rows as they end; on a terminal with a line on what is running."""
    if not tasks:
        return
    context = multiprocessing.get_context("spawn")
    queue: Any = context.Queue()
    workers = max(1, min(jobs, len(tasks)))
    with ProcessPoolExecutor(workers, context, initializer=_initialise, initargs=(queue,)) as pool:
        running = {pool.submit(_run, task) for task in reversed(tasks)}  # the longest come last on the page
        shares: dict[str, float] = {}
        while running:
            ended, running = wait(running, timeout=_TICK, return_when=FIRST_COMPLETED)
            _show(queue, shares)
            for future in ended:
                name, result = future.result()
                shares[name] = 1.0
                yield name, result


def _show(queue: Any, shares: dict[str, float]) -> None:
    while True:
        try:
            name, share = queue.get_nowait()
        except Empty:
            break
        shares[name] = share
    if sys.stderr.isatty() and shares:
        running = ", ".join(f"{name} {share:.0%}" for name, share in shares.items() if share < 1)
        print(f"\r\x1b[K  running: {running}\r", end="", file=sys.stderr, flush=True)


_queue: Any = None


def _initialise(queue: Any) -> None:
    global _queue
    _queue = queue


def _run(task: tuple[str, bool, Path | None, Path, str]) -> tuple[str, Result]:
    """One row in a process of its own; its result is stored as soon as it is there."""
    name, full, data, out, signature = task

    def progress(share: float) -> None:
        if _queue is not None:
            _queue.put((name, share))

    progress(0.0)
    start = time.perf_counter()
    result = ROWS[name].run(Setting(full, data, out, progress))
    result = replace(result, seconds=round(time.perf_counter() - start, 2))
    path = out / "rows" / f"{name}.json"
    unfinished = path.with_suffix(".tmp")
    unfinished.write_text(json.dumps({"signature": signature, "result": asdict(result)}), encoding="utf-8")
    unfinished.replace(path)
    return name, result

"""``speedproof history``: keep measurements of commits, and tell what changed, when and by how much."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import speedproof as sp
from speedproof.api.history_files import short_name
from speedproof.cli.command import Args, Argument, Command, Option
from speedproof.cli.console import Console
from speedproof.cli.history_rows import query, transfer
from speedproof.cli.values import count
from speedproof.errors import UsageError
from speedproof.reporting.alarms import alarm_report
from speedproof.reporting.history import overview, track_report
from speedproof.reporting.json import to_json
from speedproof.reporting.names import enumerate_names
from speedproof.reporting.numbers import plural

FAILED = 1


COMMAND = Command(
    "Keep result files of commits in a store and tell what changed since: after which commit, by how much, "
    "with one stated risk for all benchmarks together. Without an action the last changes are shown.",
    "  speedproof history add results.json            what was measured at git's HEAD\n"
    "  speedproof history add old.json --commit v1.2  at another commit\n"
    "  speedproof history                             the last changes\n"
    "  speedproof history show sort                   one benchmark, commit by commit\n"
    "  speedproof history watch                       alarms of the newest commits\n"
    "  speedproof history page -o site/               charts, for a browser\n"
    "  speedproof history query 'json/*' -o json.csv  samples as rows\n"
    "  speedproof history export all.jsonl.gz         the whole store\n"
    "  speedproof history bless 3f2a9c1 'slower, but correct'\n"
    "  speedproof history invalid 3f2a9c1 'noisy machine' --benchmark sort\n"
    "  speedproof history fixed 3f2a9c1\n"
    "  speedproof history forget 3f2a9c1              remove a commit's measurements\n"
    "\n"
    "exit codes: 0 done, 1 undecided slowdown (watch, --fail-on-change), 2 error",
    [
        Argument(
            "words",
            "[ACTION] [...]",
            "add, show, watch, page, query, export, import, bless, invalid, fixed, forget",
            many=True,
            required=False,
        ),
        "store",
        Option(
            "--store PLACE",
            "a SQLite file or a postgresql:// URL",
            default="speedproof.db",
            show_default=True,
        ),
        Option("--repository DIR", "the git repository whose commits are followed", default="."),
        Option("--branch REV", "follow the first parents of this (default: HEAD)", default="HEAD"),
        "adding",
        Option("--commit REV", "what was measured (default: what the file says, else HEAD)"),
        Option("--session NAME", "files that share it were measured together"),
        Option("--anchor VERSION", "the version that every session measures beside the commit"),
        Option("--machine NAME", "name of the machine, where the file does not tell it; query: this one"),
        Option("--unit UNIT", "unit of numbers whose file names none, for example ms"),
        Option("--where SQL", "rows of a corpus to add: \"version = '3.13'\""),
        "telling",
        Option("--benchmark NAME", "only this one; with add: name of the only one in a file"),
        Option("--metric NAME", "only this metric"),
        Option("--confidence LEVEL", "default: 0.95", default=0.95),
        Option("--fdr", "allow a share of false changes (Benjamini and Hochberg): finds more"),
        Option("--fail-on-change", "exit 1 when a slowdown is shown that nobody has decided about"),
        Option("--all", "show every change"),
        Option(
            "--every N",
            "watch: mean number of commits between false alarms (default: 1000)",
            parse=count,
            default=1000,
        ),
        Option(
            "--last N", "watch: alarms that the last N commits raised (default: 30)", parse=count, default=30
        ),
        Option("--output, -o DIR", "page: a folder; query: a .csv or .parquet file"),
        Option("--compare REV", "page: another branch to draw; may be repeated", many=True),
        Option("--json", "write the changes, or what was added, as JSON"),
    ],
)

_ALLOWED = {
    "add": {"commit", "session", "anchor", "machine", "unit", "benchmark", "where", "json"},
    "changes": {"benchmark", "metric", "branch", "confidence", "fdr", "fail_on_change", "all", "json"},
    "show": {"metric", "branch", "confidence", "fdr", "fail_on_change", "json"},
    "watch": {"benchmark", "metric", "branch", "every", "last", "all", "json"},
    "page": {"metric", "branch", "confidence", "fdr", "compare", "output"},
    "query": {"benchmark", "metric", "commit", "machine", "output", "all", "json"},
    "export": set[str](),
    "import": set[str](),
    "bless": {"benchmark"},
    "invalid": {"benchmark"},
    "fixed": {"benchmark"},
    "forget": set[str](),
}
_OF_ALL = {"store", "repository"}
_MOST_WORDS = {"changes": 0, "watch": 0, "page": 0, "show": 1, "export": 1, "import": 1}
_STATES: dict[str, Literal["blessed", "invalid", "fixed"]] = {
    "bless": "blessed",
    "invalid": "invalid",
    "fixed": "fixed",
}


def run(args: Args, console: Console) -> int:
    """Carry the command out."""
    action, *words = args.words or ["changes"]
    if action not in _ALLOWED:
        raise UsageError(f"{action}: no such action; choose one of {', '.join(_ALLOWED)}")
    if taken := [option for name, option in args.given.items() if name not in _ALLOWED[action] | _OF_ALL]:
        raise UsageError(f"{', '.join(taken)}: history {action} does not take it")
    if len(words) > (most := _MOST_WORDS.get(action, len(words))):
        raise UsageError(f"history {action} does not take {' '.join(words[most:])!r}")
    if args.output and action == "query":
        args.refuse("all", "json", because=f"the rows go to {args.output}, all of them")
    history = sp.History(args.store, args.repository)
    if action == "add":
        return _add(history, words, args, console)
    if action == "forget":
        for commit in _at_least_one(words, "a commit"):
            console.out.write(f"{plural(history.forget(commit), 'sample')} of {commit} forgotten\n")
        return 0
    if action in _STATES:
        commit, *reason = _at_least_one(words, "a commit")
        history.decide(commit, _STATES[action], reason=" ".join(reason), benchmark=args.benchmark or "")
        console.out.write(f"{commit} is {_STATES[action]}\n")
        return 0
    if action == "query":
        return query(history, words, args, console)
    if action in ("export", "import"):
        return transfer(history, action, words, console)
    if action == "watch":
        return _watch(history, args, console)
    if action == "page":
        return _page(history, args, console)
    return _tell(history, action, words, args, console)


def _watch(history: sp.History, args: Args, console: Console) -> int:
    result = history.alarms(**args.take("every", "last", "metric", "benchmark", "branch"))
    if args.json:
        console.out.write(to_json("history", [result.told()]))
    else:
        report = alarm_report(result, everything=args.all)
        console.write(report)
    return FAILED if result.undecided else 0


def _page(history: sp.History, args: Args, console: Console) -> int:
    if not args.output:
        raise UsageError("name the folder of the pages: speedproof history page -o site/")
    with console.progress("drawing", len(history.store.all_series(metric=args.metric))) as ticker:
        size = history.page(
            args.output,
            correction="bh" if args.fdr else "holm",
            done=ticker.advance,
            **args.take("confidence", "metric", "branch", "compare"),
        )
    console.out.write(f"{args.output}: {size / 1e6:.1f} MB; open {Path(args.output, 'index.html')}\n")
    return 0


def _at_least_one(words: list[str], what: str) -> list[str]:
    if not words:
        raise UsageError(f"name {what}")
    return words


def _add(history: sp.History, words: list[str], args: Args, console: Console) -> int:
    """Add every file; one that cannot be added does not keep the others out, and is an error at the end."""
    files = _at_least_one(words, "a result file")
    failed: dict[str, list[str]] = {}
    done = []
    with console.progress("adding", len(files)) as ticker:
        for path in files:
            try:
                added = history.add(
                    path,
                    **args.take("commit", "anchor", "unit", "where"),
                    **{
                        name: value or ""
                        for name, value in args.take("session", "machine", "benchmark").items()
                    },
                )
            except sp.SpeedproofError as error:
                failed.setdefault(str(error).removeprefix(f"{path}: "), []).append(path)
            else:
                several = len(added.commits) > 3
                names = [f"{len(added.commits)} commits"] if several else map(short_name, added.commits)
                of_what = f": {enumerate_names(added.benchmarks, 3)}" if added.benchmarks else ""
                samples = f"{plural(added.samples, 'sample')} of {', '.join(names)}{of_what}"
                what = "was there already" if added.known else samples
                for problem in added.problems:
                    console.remark(f"not added: {problem}")
                done.append(added)
                if not args.json:
                    console.out.write(f"{path}: {what}\n")
            ticker.advance()
    if args.json:
        console.out.write(to_json("history", done))
    for cause, paths in failed.items():
        console.remark(f"error: {cause if paths[0] in cause else f'{enumerate_names(paths, 3)}: {cause}'}")
    if failed:
        raise UsageError(f"{sum(map(len, failed.values()))} of {len(files)} files not added")
    return 0


def _metric_of(history: sp.History, args: Args, console: Console) -> str | None:
    """The metric that is shown of a benchmark: time, or the first, unless another one is asked for."""
    series = history.store.all_series()
    metrics = list(dict.fromkeys(s.key.metric for s in series if s.key.benchmark == args.benchmark))
    if args.metric is not None or len(metrics) < 2:
        return None if args.metric == "all" else args.metric
    chosen = "time" if "time" in metrics else metrics[0]
    others = enumerate_names([m for m in metrics if m != chosen], 2)
    console.remark(f"{chosen} is shown; others with --metric: {others}, or all")
    return chosen


def _tell(history: sp.History, action: str, words: list[str], args: Args, console: Console) -> int:
    if action == "show":
        known = list(dict.fromkeys(s.key.benchmark for s in history.store.all_series(metric=args.metric)))
        there = f": {enumerate_names(known, 3)}" if known else ""
        (args.benchmark,) = _at_least_one(words, f"a benchmark{there}")
        args.metric = _metric_of(history, args, console)
    result = history.changes(
        correction="bh" if args.fdr else "holm",
        **args.take("confidence", "metric", "benchmark", "branch"),
    )
    if not result.tracks:
        raise UsageError(f"{args.store}: nothing to show; fill it with 'speedproof history add FILE'")
    if args.json:
        console.out.write(to_json("history", [result.told()]))
    else:
        report = track_report(result) if action == "show" else overview(result, everything=args.all)
        console.write(report)
    open_ones = [c for c in result.changes if result.slower(c) and result.decision(c) is None]
    return FAILED if args.fail_on_change and open_ones else 0

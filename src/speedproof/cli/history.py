"""``speedproof history``: keep measurements of commits, and tell what changed, when and by how much."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
from typing import Literal

import speedproof as sp
from speedproof.api.history_files import QueriedSample, short_name
from speedproof.cli.command import Args, Argument, Command, Option
from speedproof.cli.console import Console
from speedproof.cli.outputs import write_whole
from speedproof.cli.values import count
from speedproof.errors import UsageError
from speedproof.reporting.history import LISTED, measured_report, track_report
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

_STATES: dict[str, Literal["blessed", "invalid", "fixed"]] = {
    "bless": "blessed",
    "invalid": "invalid",
    "fixed": "fixed",
}


def run(args: Args, console: Console) -> int:
    """Carry the command out."""
    action, *words = args.words or ["changes"]
    if action not in _ACTIONS:
        raise UsageError(f"{action}: no such action; choose one of {', '.join(_ACTIONS)}")
    work, options, most = _ACTIONS[action]
    allowed = {"store", "repository", *options.split()}
    if taken := [option for name, option in args.given.items() if name not in allowed]:
        raise UsageError(f"{', '.join(taken)}: history {action} does not take it")
    if most is not None and len(words) > most:
        raise UsageError(f"history {action} does not take {' '.join(words[most:])!r}")
    if args.output and action == "query":
        args.refuse("all", "json", because=f"the rows go to {args.output}, all of them")
    return work(sp.History(args.store, args.repository), words, args, console)


def _watch(history: sp.History, words: list[str], args: Args, console: Console) -> int:
    result = history.alarms(**args.take("every", "last", "metric", "benchmark", "branch"))
    if args.json:
        console.out.write(result.to_json())
    else:
        console.write(*result.reports(everything=args.all))
    return FAILED if result.undecided else 0


def _page(history: sp.History, words: list[str], args: Args, console: Console) -> int:
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


def _tell(history: sp.History, words: list[str], args: Args, console: Console) -> int:
    """The changes of all benchmarks, or one of them commit by commit."""
    show = args.words[:1] == ["show"]
    if show:
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
        console.out.write(result.to_json())
    else:
        console.write(*([track_report(result)] if show else result.reports(everything=args.all)))
    open_ones = [c for c in result.changes if result.slower(c) and result.decision(c) is None]
    return FAILED if args.fail_on_change and open_ones else 0


def _query(history: sp.History, words: list[str], args: Args, console: Console) -> int:
    """Samples as a table, as JSON, or in a CSV or Parquet file."""
    last = None if args.output or args.json or args.all else LISTED
    patterns = [*words, *filter(None, [args.benchmark])]
    which = args.take("metric", "commit", "machine")
    rows = history.query(*patterns, **which, last=last)
    if args.output:
        _write(rows, args.output)
        console.out.write(f"{args.output}: {plural(len(rows), 'sample')}\n")
    elif args.json:
        console.out.write(to_json("history", rows))
    else:
        many = history.count(*patterns, **which) if len(rows) == last else len(rows)
        console.write(measured_report(rows, args.store, many))
    return 0


def _write(rows: list[QueriedSample], output: str) -> None:
    names = QueriedSample.__struct_fields__
    if output.endswith(".parquet"):
        try:
            import pyarrow as pa
            from pyarrow import parquet
        except ImportError:
            raise UsageError(f"{output}: Parquet needs pyarrow: pip install pyarrow") from None
        beside = Path(f"{output}.new")
        columns = {name: [getattr(row, name) for row in rows] for name in names}
        parquet.write_table(pa.table(columns), beside)
        beside.replace(output)
    elif output.endswith(".csv"):
        told = io.StringIO(newline="")
        writer = csv.writer(told, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(map(attrgetter(*names), rows))
        write_whole(Path(output), told.getvalue())
    else:
        raise UsageError(f"{output}: rows are written as .csv or .parquet")


def _transfer(history: sp.History, words: list[str], args: Args, console: Console) -> int:
    """The whole store to one file, or what such a file holds into the store."""
    action = args.words[0]
    if len(words) != 1:
        raise UsageError(f"name one file: speedproof history {action} FILE")
    if action == "export":
        console.out.write(f"{words[0]}: {plural(history.export(words[0]), 'sample')}\n")
    else:
        console.out.write(f"{plural(history.import_(words[0]), 'new sample')} from {words[0]}\n")
    return 0


def _decide(history: sp.History, words: list[str], args: Args, console: Console) -> int:
    commit, *reason = _at_least_one(words, "a commit")
    state = _STATES[args.words[0]]
    history.decide(commit, state, reason=" ".join(reason), benchmark=args.benchmark or "")
    console.out.write(f"{commit} is {state}\n")
    return 0


def _forget(history: sp.History, words: list[str], args: Args, console: Console) -> int:
    for commit in _at_least_one(words, "a commit"):
        console.out.write(f"{plural(history.forget(commit), 'sample')} of {commit} forgotten\n")
    return 0


_SHOWN = "metric branch confidence fdr"
_Work = Callable[[sp.History, list[str], Args, Console], int]
_ACTIONS: dict[str, tuple[_Work, str, int | None]] = {
    "add": (_add, "commit session anchor machine unit benchmark where json", None),
    "changes": (_tell, f"{_SHOWN} benchmark fail_on_change all json", 0),
    "show": (_tell, f"{_SHOWN} fail_on_change json", 1),
    "watch": (_watch, "benchmark metric branch every last all json", 0),
    "page": (_page, f"{_SHOWN} compare output", 0),
    "query": (_query, "benchmark metric commit machine output all json", None),
    "export": (_transfer, "", 1),
    "import": (_transfer, "", 1),
    **dict.fromkeys(_STATES, (_decide, "benchmark", None)),
    "forget": (_forget, "", None),
}
"""What carries each action out, the options that it takes beside the store's, and how many words at most."""

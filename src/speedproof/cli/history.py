"""``speedproof history``: keep measurements of commits, and tell what changed, when and by how much."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

import speedproof as sp
from speedproof.cli.command import Args, Argument, Command, Group, Option
from speedproof.cli.console import Console
from speedproof.cli.outputs import STDOUT, write_whole
from speedproof.cli.values import count, place
from speedproof.errors import UsageError
from speedproof.reporting.formats.csv import separated
from speedproof.reporting.json import to_json
from speedproof.reporting.names import enumerate_names
from speedproof.reporting.numbers import plural

if TYPE_CHECKING:
    from speedproof.api.history_files import QueriedSample

FAILED = 1


def _history(args: Args) -> sp.History:
    return sp.History(args.store, args.repository)


def _watch(args: Args, console: Console) -> int:
    result = _history(args).alarms(**args.take("every", "last", "metric", "benchmark", "branch"))
    if args.json:
        console.out.write(result.to_json())
    else:
        console.write(*result.reports(everything=args.all))
    return FAILED if result.undecided else 0


def _page(args: Args, console: Console) -> int:
    history = _history(args)
    with console.progress("drawing", len(history.store.all_series(metric=args.metric))) as ticker:
        size = history.page(
            args.output,
            correction="bh" if args.fdr else "holm",
            done=ticker.advance,
            **args.take("confidence", "metric", "branch", "compare"),
        )
    console.say(f"{args.output}: {size / 1e6:.1f} MB; open {Path(args.output, 'index.html')}")
    return 0


def _add(args: Args, console: Console) -> int:
    """Add every file; one that cannot be added does not keep the others out, and is an error at the end."""
    from speedproof.api.history_files import short_name

    history, files = _history(args), args.files
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
                    console.say(f"{path}: {what}")
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


def _tell(args: Args, console: Console) -> int:
    """The changes of all benchmarks, or of one."""
    result = _changed(_history(args), args)
    if args.json:
        console.out.write(result.to_json())
    else:
        console.write(*result.reports(everything=args.all))
    return _code(result, args)


def _show(args: Args, console: Console) -> int:
    """One benchmark, commit by commit."""
    from speedproof.reporting.history import track_report

    history = _history(args)
    if args.benchmark is None:
        known = list(dict.fromkeys(s.key.benchmark for s in history.store.all_series(metric=args.metric)))
        raise UsageError(f"name a benchmark{f': {enumerate_names(known, 3)}' if known else ''}")
    args.metric = _metric_of(history, args, console)
    result = _changed(history, args)
    if args.json:
        console.out.write(result.to_json())
    else:
        console.write(track_report(result))
    return _code(result, args)


def _changed(history: sp.History, args: Args) -> sp.HistoryResult:
    return history.changes(
        correction="bh" if args.fdr else "holm",
        **args.take("confidence", "metric", "benchmark", "branch"),
    )


def _code(result: sp.HistoryResult, args: Args) -> int:
    open_ones = [c for c in result.changes if result.slower(c) and result.decision(c) is None]
    return FAILED if args.fail_on_change and open_ones else 0


def _query(args: Args, console: Console) -> int:
    """Samples as a table, as JSON, or in a CSV or Parquet file."""
    from speedproof.reporting.history import LISTED, measured_report

    if args.output:
        args.refuse("all", "json", because=f"the rows go to {args.output}, all of them")
    history = _history(args)
    last = None if args.output or args.json or args.all else LISTED
    patterns = [*args.patterns, *filter(None, [args.benchmark])]
    which = args.take("metric", "commit", "machine")
    rows = history.query(*patterns, **which, last=last)
    if args.output:
        _write(rows, args.output)
        console.say(f"{args.output}: {plural(len(rows), 'sample')}")
    elif args.json:
        console.out.write(to_json("history", rows))
    else:
        many = history.count(*patterns, **which) if len(rows) == last else len(rows)
        console.write(measured_report(rows, args.store, many))
    return 0


def _write(rows: list[QueriedSample], output: str) -> None:
    from speedproof.api.history_files import QueriedSample

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
        write_whole(Path(output), separated(names, map(attrgetter(*names), rows)))
    else:
        raise UsageError(f"{output}: rows are written as .csv or .parquet")


def _export(args: Args, console: Console) -> int:
    to_stdout = args.file == STDOUT
    if to_stdout and console.terminal:
        raise UsageError("what is exported is compressed; name a file, or add '| PROGRAM'")
    samples = _history(args).export(args.file)
    if not to_stdout:
        console.say(f"{args.file}: {plural(samples, 'sample')}")
    return 0


def _import(args: Args, console: Console) -> int:
    console.say(f"{plural(_history(args).import_(args.file), 'new sample')} from {args.file}")
    return 0


def _decide(state: Literal["blessed", "invalid", "fixed"], args: Args, console: Console) -> int:
    reason = " ".join(args.reason)
    _history(args).decide(args.commit, state, reason=reason, benchmark=args.benchmark or "")
    console.say(f"{args.commit} is {state}")
    return 0


def _forget(args: Args, console: Console) -> int:
    for commit in args.commits:
        console.say(f"{plural(_history(args).forget(commit), 'sample')} of {commit} forgotten")
    return 0


_BENCHMARK = Option("--benchmark NAME", "only this one")
_METRIC = Option("--metric NAME", "only this metric")
_BRANCH = Option("--branch REV", "follow the first parents of this (default: HEAD)", default="HEAD")
_JSON = Option("--json", "write JSON")
_ALL = Option("--all", "show every change")
_RISK = [
    Option("--confidence LEVEL", "default: 0.95", default=0.95),
    Option("--fdr", "allow a share of false changes (Benjamini and Hochberg): finds more"),
]
_FAIL = Option("--fail-on-change", "exit 1 when a slowdown is shown that nobody has decided about")


def _action(run: Callable[[Args, Console], int], description: str, *params: click.Parameter) -> Command:
    """An action; each has the store's options."""
    store: list[click.Parameter | str] = [
        "store",
        Option(
            "--store PLACE",
            "a SQLite file or a postgresql:// URL",
            default="speedproof.db",
            show_default=True,
        ),
        Option("--repository DIR", "the git repository whose commits are followed", default="."),
    ]
    return Command(description, "", [*params, *store], run)


def _word(name: str, help: str, *, many: bool = False, required: bool = True) -> Argument:
    """A word, or several, that are no files."""
    metavar = f"{name.upper()}..." if many else name.upper()
    more = {"type": str, "required": required}
    return Argument(name, metavar if required else f"[{metavar}]", help, many=many, **more)


_COMMIT = _word("commit", "the commit")
_REASON = _word("reason", "why", many=True, required=False)
_TARGET = Argument("file", "FILE", "a .jsonl.gz file; - is standard output or input")

COMMAND = Group(
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
    "\n"
    "exit codes: 0 done, 1 undecided slowdown (watch, --fail-on-change), 2 error",
    {
        "add": _action(
            _add,
            "Add result files to the store.",
            Argument("files", "FILE...", "result files, or what 'history export' wrote", many=True),
            Option("--commit REV", "what was measured (default: what the file says, else HEAD)"),
            Option("--session NAME", "files that share it were measured together"),
            Option("--anchor VERSION", "the version that every session measures beside the commit"),
            Option("--machine NAME", "name of the machine, where the file does not tell it"),
            Option("--unit UNIT", "unit of numbers whose file names none, for example ms"),
            Option("--benchmark NAME", "name of the only benchmark in a file"),
            Option("--where SQL", "rows of a corpus to add: \"version = '3.13'\""),
            Option("--json", "write what was added as JSON"),
        ),
        "changes": _action(
            _tell,
            "Show the last changes: the usual action.",
            *(_BENCHMARK, _METRIC, _BRANCH, *_RISK, _FAIL, _ALL, _JSON),
        ),
        "show": _action(
            _show,
            "Show one benchmark, commit by commit.",
            _word("benchmark", "its name", required=False),
            *(_METRIC, _BRANCH, *_RISK, _FAIL, _JSON),
        ),
        "watch": _action(
            _watch,
            "Show the alarms of the newest commits.",
            Option(
                "--every N",
                "mean number of commits between false alarms (default: 1000)",
                parse=count,
                default=1000,
            ),
            Option(
                "--last N", "alarms that the last N commits raised (default: 30)", parse=count, default=30
            ),
            *(_BENCHMARK, _METRIC, _BRANCH, _ALL, _JSON),
        ),
        "page": _action(
            _page,
            "Write charts of all benchmarks, for a browser.",
            Option("-o, --output DIR", "the folder of the pages", required=True, parse=place),
            Option("--compare REV", "another branch to draw; may be repeated", many=True),
            *(_METRIC, _BRANCH, *_RISK),
        ),
        "query": _action(
            _query,
            "Show or write the samples as rows.",
            _word("patterns", "benchmarks, as 'json/*'", many=True, required=False),
            Option("-o, --output FILE", "a .csv or .parquet file"),
            Option("--commit REV", "only of this commit"),
            Option("--machine NAME", "only of this machine"),
            *(_BENCHMARK, _METRIC, Option("--all", "every row"), _JSON),
        ),
        "export": _action(_export, "Write the whole store to one file.", _TARGET),
        "import": _action(_import, "Read what a store wrote.", _TARGET),
        "bless": _action(partial(_decide, "blessed"), "Accept a change.", _COMMIT, _REASON, _BENCHMARK),
        "invalid": _action(
            partial(_decide, "invalid"),
            "Leave out the measurements of a commit.",
            _COMMIT,
            _REASON,
            _BENCHMARK,
        ),
        "fixed": _action(
            partial(_decide, "fixed"),
            "Say that a later commit undid the change.",
            _COMMIT,
            _REASON,
            _BENCHMARK,
        ),
        "forget": _action(
            _forget,
            "Remove the measurements of commits.",
            _word("commits", "the commits", many=True),
        ),
    },
    usual="changes",
)

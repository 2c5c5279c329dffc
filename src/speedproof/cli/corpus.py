"""``speedproof corpus``: millions of samples in Parquet, and the analyses over them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

import speedproof as sp
from speedproof.cli.command import Args, Argument, Command, Option
from speedproof.cli.console import Console
from speedproof.cli.inputs import columns_of, report_no_floor
from speedproof.cli.options import (
    confidence_of,
    pages,
    reading,
    refuse_rules,
    rule_options,
    rules_of,
    store_option,
)
from speedproof.cli.outputs import check_outputs, write_outputs
from speedproof.errors import SpeedproofError, UsageError

if TYPE_CHECKING:
    from speedproof.reporting.model import Report

COMMAND = Command(
    "Keep any number of samples in a folder of Parquet files, which every command reads in place of result "
    "files, and analyse it on all cores or on a cluster.",
    "  speedproof corpus build results/ -o corpus     every file in a folder\n"
    "  speedproof corpus build '*.json' -o corpus --append\n"
    "  find . -name '*.json' | speedproof corpus build --files-from - -o corpus\n"
    "  speedproof corpus info corpus\n"
    "  speedproof corpus compare corpus --reference 3.12 --candidate 3.13\n"
    "  speedproof corpus compare corpus --pairs consecutive --dask tcp://host:8786\n"
    "  speedproof corpus model corpus --fast\n"
    "  speedproof corpus changes corpus --repository .\n"
    "  speedproof corpus query corpus 'SELECT version, sum(n) FROM corpus GROUP BY 1'\n"
    "  speedproof compare corpus --where \"version in ('3.12', '3.13')\"",
    [
        Argument("words", "ACTION [...]", "build, info, query, compare, model, changes", many=True),
        "building",
        Option("-o, --output DIR", "where the corpus goes, with compare the answers: a folder or a URL"),
        Option("--append", "add to a complete corpus; unchanged files are left out"),
        Option("--files-from FILE", "read names of files from a list, one a line; - is standard input"),
        Option("--by FIELD", "tell versions apart by a field of the files (several: a,b)"),
        "comparing",
        Option("--reference VERSION", "the version to compare against"),
        Option("--candidate VERSION", "the version under trial"),
        Option(
            "--pairs WHICH",
            "many pairs instead: all, consecutive (in order of first appearance), or a file with a "
            "reference and a candidate on each line",
        ),
        Option("--metric NAME", "the metric to compare (default: time)"),
        Option("--details", "ask every protocol; corrections and numbers of the whole"),
        *rule_options(),
        store_option(),
        "modelling",
        Option("--components K", "largest number of components (default: 9)", default=9),
        Option("--bootstrap-samples N", "of the test; 0: no test (default: 200)", default=200),
        Option("--fast", "stop adding components early in the bootstrap"),
        Option("--seed SEED", "of all random numbers (default: 0)", default=0),
        "changes",
        Option("--repository DIR", "versions are commits here, in the order of its branch"),
        Option("--fdr", "allow a share of false changes (Benjamini and Hochberg): finds more"),
        "computing",
        Option("--workers N", "processes (default: all cores)"),
        Option("--dask ADDRESS", "a Dask scheduler: tcp://host:8786", excludes="workers"),
        "output",
        Option(
            "--all",
            "query: every row on a terminal, too; changes: every change; compare: the largest hundred",
        ),
        Option("--json", "write JSON"),
        *pages("one HTML page: the answer and the largest hundred changes, drawn"),
        *reading(),
    ],
)

_ROWS = 40
INTERRUPTED = 130


def run(args: Args, console: Console) -> int:
    """Carry the command out."""
    action, *words = args.words
    if action not in _ACTIONS:
        raise UsageError(f"{action}: no such action; choose one of {', '.join(_ACTIONS)}")
    work, options = _ACTIONS[action]
    for name, option in args.given.items():
        if name not in options.split():
            raise UsageError(f"{option}: 'corpus {action}' does not take this option")
    try:
        return work(words, args, console)
    except KeyboardInterrupt:
        console.remark("interrupted; what is done is kept, and the same command goes on")
        return INTERRUPTED


def _only(words: list[str], what: str, count: int = 1) -> list[str]:
    if len(words) != count:
        raise UsageError(f"name {what}")
    return words


def _build(words: list[str], args: Args, console: Console) -> int:
    from speedproof.api.corpus_files import listed

    if not args.output:
        raise UsageError("-o DIR: say where the corpus goes")
    if not words and args.files_from is None:
        raise UsageError("name result files, folders or archives, or --files-from LIST")
    files = chain(words, listed(args.files_from) if args.files_from is not None else ())
    by = args.by.split(",") if args.by else ()
    left_out: list[None] = []
    with console.progress("reading files", None) as ticker:
        corpus = sp.Corpus.build(
            files,
            args.output,
            append=args.append,
            by=by,
            columns=columns_of(args),
            done=ticker.advance,
            unchanged=lambda: left_out.append(None),
            **args.take("format", "unit", "wide"),
        )
    if left_out:
        from speedproof.reporting.numbers import plural

        console.remark(f"{plural(len(left_out), 'file')} left out: already in the corpus, unchanged")
    return _tell(corpus, args, console)


def _info(words: list[str], args: Args, console: Console) -> int:
    return _tell(sp.Corpus(*_only(words, "a corpus")), args, console)


def _tell(corpus: sp.Corpus, args: Args, console: Console) -> int:
    from speedproof.reporting.corpus import contents
    from speedproof.reporting.json import to_json

    found = corpus.info()
    if args.json:
        console.out.write(to_json("corpus", [found]))
    else:
        console.write(contents(found))
    return 0


def _compare(words: list[str], args: Args, console: Console) -> int:
    from speedproof.api.corpus_files import pairs_in_file
    from speedproof.api.suites import ASKED, DETAILS

    check_outputs(args)
    if args.pairs and (args.reference or args.candidate):
        raise UsageError("--pairs and --reference or --candidate exclude each other")
    known = args.pairs in ("all", "consecutive", None)
    pairs = args.pairs if known else pairs_in_file(args.pairs)
    protocols = DETAILS if args.details else ASKED
    refuse_rules(args, protocols)

    found = _worked(
        "comparing parts",
        sp.Corpus.compare,
        words,
        args,
        console,
        pairs=pairs,
        rules=rules_of(args),
        protocols=protocols,
        **args.take("reference", "candidate", "store"),
    )
    counted = found.conclusion.sessions is not None
    report_no_floor(args.store, found.keys(), console, counted=counted)
    if write_outputs(args, found.written, console):
        return _whole(found.conclusion)
    reports = found.reports(details=args.details, everything=args.all)
    return _shown(found.conclusion, reports, args, console)


def _model(words: list[str], args: Args, console: Console) -> int:
    if args.bootstrap_samples == 0:
        args.refuse("fast", because="--bootstrap-samples 0 tests nothing")

    asked = {"bootstrap": args.bootstrap_samples, **args.take("components", "fast", "seed")}
    found = _worked("modelling parts", sp.Corpus.model, words, args, console, **asked)
    return _shown(found.models, found.reports(), args, console)


def _changes(words: list[str], args: Args, console: Console) -> int:
    asked = {
        "confidence": confidence_of(args),
        "correction": "bh" if args.fdr else "holm",
        "repository": args.repository,
    }
    found = _worked("reducing parts", sp.Corpus.changes, words, args, console, **asked)
    return _shown(found.changes, found.reports(everything=args.all), args, console)


Result = TypeVar("Result")


def _worked(
    title: str, work: Callable[..., Result], words: list[str], args: Args, console: Console, **asked: Any
) -> Result:
    """Let processes or a cluster work on the corpus that is named, under a progress bar."""
    corpus = sp.Corpus(*_only(words, "a corpus"))
    how = args.take("metric", "where", "workers", "dask")
    with console.progress(title, None) as ticker:
        return work(corpus, out=args.output, started=ticker.of, done=ticker.advance, **how, **asked)


def _shown(found: Any, reports: Iterable[Report], args: Args, console: Console) -> int:
    """Write the answer."""
    if args.json:
        from speedproof.reporting.json import to_json

        console.out.write(to_json(f"corpus {args.words[0]}", [found]))
    else:
        console.write(*reports)
    return _whole(found)


def _whole(found: Any) -> int:
    """Parts without an answer are an error in the end."""
    if found.failures:
        raise SpeedproofError(
            f"{len(found.failures)} of {found.parts} parts of the corpus have no answer:"
            + "".join(f"\n  {reason}" for reason in found.failures[:3])
        )
    return 0


def _query(words: list[str], args: Args, console: Console) -> int:
    from speedproof.api.corpus_files import query

    place, sql = _only(words, "a corpus and a query", 2)
    found = query(place, sql)
    if not found.column_names:
        return 0
    if args.json:
        from speedproof.reporting.json import to_json

        console.out.write(to_json("corpus query", found.to_pylist()))
    elif console.terminal:
        from speedproof.reporting.corpus import table_of

        rows = found if args.all else found.slice(0, _ROWS)
        console.write(table_of(rows.to_pylist(), found.column_names, found.num_rows))
    else:
        import csv

        writer = csv.writer(console.out, delimiter="\t", lineterminator="\n")
        writer.writerow(found.column_names)
        for batch in found.to_batches():
            writer.writerows(row.values() for row in batch.to_pylist())
    return 0


_WORKING = "output metric where workers dask json"
_ACTIONS: dict[str, tuple[Callable[[list[str], Args, Console], int], str]] = {
    "build": (
        _build,
        "output append files_from by format unit wide column benchmark_columns version_column",
    ),
    "info": (_info, "json"),
    "query": (_query, "json all"),
    "compare": (
        _compare,
        f"{_WORKING} reference candidate pairs details store alpha confidence margin nested always_welch ks_rule "
        "all html markdown github_summary",
    ),
    "model": (_model, f"{_WORKING} components bootstrap_samples fast seed"),
    "changes": (_changes, f"{_WORKING} alpha confidence repository fdr all"),
}
"""What carries each action out, and the options that it takes."""

"""``speedproof corpus``: millions of samples in Parquet, and the analyses over them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

import speedproof as sp
from speedproof.cli.command import Args, Argument, Command, Option, in_group
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
    whole,
)
from speedproof.cli.outputs import check_outputs, context_of, write_outputs
from speedproof.errors import SpeedproofError, UsageError

if TYPE_CHECKING:
    from speedproof.api.corpus_results import CorpusChanged, CorpusComparison, CorpusModelled
    from speedproof.reporting.model import Report

COMMAND = Command(
    (
        "Keep any number of samples in a folder of Parquet files, which every command reads in place of result "
        "files, and analyse it on all cores or on a cluster."
    ),
    (
        "  speedproof corpus build results/ -o corpus     every file in a folder\n"
        "  speedproof corpus build '*.json' -o corpus --append\n"
        "  find . -name '*.json' | speedproof corpus build --files-from - -o corpus\n"
        "  speedproof corpus info corpus\n"
        "  speedproof corpus compare corpus --reference 3.12 --candidate 3.13\n"
        "  speedproof corpus compare corpus --pairs consecutive --dask tcp://host:8786\n"
        "  speedproof corpus model corpus --fast\n"
        "  speedproof corpus changes corpus --repository .\n"
        "  speedproof corpus query corpus 'SELECT version, sum(n) FROM corpus GROUP BY 1'\n"
        "  speedproof compare corpus --where \"version in ('3.12', '3.13')\""
    ),
    [
        Argument(
            "words", metavar="ACTION [...]", help="build, info, query, compare, model, changes", many=True
        ),
        *in_group(
            "building",
            Option(
                "-o",
                "--output",
                metavar="DIR",
                help="where the corpus goes, with compare the answers: a folder or a URL",
            ),
            Option("--append", flag=True, help="add to a complete corpus; unchanged files are left out"),
            Option(
                "--files-from",
                metavar="FILE",
                help="read names of files from a list, one a line; - is standard input",
            ),
            Option(
                "--by", metavar="FIELD", help="tell versions apart by a field of the files (several: a,b)"
            ),
        ),
        *in_group(
            "comparing",
            Option("--reference", metavar="VERSION", help="the version to compare against"),
            Option("--candidate", metavar="VERSION", help="the version under trial"),
            Option(
                "--pairs",
                metavar="WHICH",
                help="many pairs instead: all, consecutive (in order of first appearance), or a file with a "
                "reference and a candidate on each line",
            ),
            Option("--metric", metavar="NAME", help="the metric to compare (default: time)"),
            Option("--details", flag=True, help="ask every protocol; corrections and numbers of the whole"),
            *rule_options(),
            store_option(),
        ),
        *in_group(
            "modelling",
            Option(
                "--components",
                parse=whole,
                default=9,
                metavar="K",
                help="largest number of components (default: 9)",
            ),
            Option(
                "--bootstrap-samples",
                parse=whole,
                default=200,
                metavar="N",
                help="of the test; 0: no test (default: 200)",
            ),
            Option("--fast", flag=True, help="stop adding components early in the bootstrap"),
            Option(
                "--seed", parse=whole, default=0, metavar="SEED", help="of all random numbers (default: 0)"
            ),
        ),
        *in_group(
            "changes",
            Option(
                "--repository", metavar="DIR", help="versions are commits here, in the order of its branch"
            ),
            Option(
                "--fdr", flag=True, help="allow a share of false changes (Benjamini and Hochberg): finds more"
            ),
        ),
        *in_group(
            "computing",
            Option("--workers", parse=whole, metavar="N", help="processes (default: all cores)"),
            Option("--dask", metavar="ADDRESS", excludes="workers", help="a Dask scheduler: tcp://host:8786"),
        ),
        *in_group(
            "output",
            Option(
                "--all",
                flag=True,
                help="query: every row on a terminal, too; changes: every change; compare: the largest hundred",
            ),
            Option("--json", flag=True, help="write JSON"),
        ),
        *pages("one HTML page: the answer and the largest hundred changes, drawn"),
        *reading(),
    ],
)

_WORKING = {"output", "metric", "where", "workers", "dask", "json"}
_ALLOWED = {
    "build": {"output", "append", "files_from", "by", "format", "unit", "wide", "column", "benchmark_columns",
              "version_column"},
    "info": {"json"},
    "query": {"json", "all"},
    "compare": _WORKING | {"reference", "candidate", "pairs", "details", "store", "alpha", "confidence", "margin",
                           "nested", "always_welch", "ks_rule", "all", "html", "markdown", "github_summary"},
    "model": _WORKING | {"components", "bootstrap_samples", "fast", "seed"},
    "changes": _WORKING | {"alpha", "confidence", "repository", "fdr", "all"},
}  # fmt: skip
_ROWS = 40
INTERRUPTED = 130


def run(args: Args, console: Console) -> int:
    """Carry the command out."""
    action, *words = args.words
    if action not in _ALLOWED:
        raise UsageError(f"{action}: no such action; choose one of {', '.join(_ALLOWED)}")
    for name, option in args.given.items():
        if name not in _ALLOWED[action]:
            raise UsageError(f"{option}: 'corpus {action}' does not take this option")
    try:
        return _ACTIONS[action](words, args, console)
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
            format=args.format,
            unit=args.unit,
            columns=columns_of(args),
            wide=args.wide,
            done=ticker.advance,
            unchanged=lambda: left_out.append(None),
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

    def compare(corpus: sp.Corpus, **how: Any) -> CorpusComparison:
        return corpus.compare(
            args.reference,
            args.candidate,
            pairs=pairs,
            rules=rules_of(args),
            protocols=protocols,
            store=args.store,
            **how,
        )

    found = _worked("comparing parts", compare, words, args, console)
    counted = found.conclusion.sessions is not None
    report_no_floor(args.store, found.keys(), console, counted=counted)
    asked = any((args.html, args.markdown, args.github_summary))
    if asked and write_outputs(args, replace(found.written(), context=context_of(args)), console):
        return _whole(found.conclusion)
    reports = found.reports(details=args.details, everything=args.all)
    return _shown(found.conclusion, reports, args, console)


def _model(words: list[str], args: Args, console: Console) -> int:
    if args.bootstrap_samples == 0:
        args.refuse("fast", because="--bootstrap-samples 0 tests nothing")

    def model(corpus: sp.Corpus, **how: Any) -> CorpusModelled:
        return corpus.model(
            components=args.components,
            bootstrap=args.bootstrap_samples,
            fast=args.fast,
            seed=args.seed,
            **how,
        )

    found = _worked("modelling parts", model, words, args, console)
    return _shown(found.models, found.reports(), args, console)


def _changes(words: list[str], args: Args, console: Console) -> int:
    def changes(corpus: sp.Corpus, **how: Any) -> CorpusChanged:
        return corpus.changes(
            confidence=confidence_of(args),
            correction="bh" if args.fdr else "holm",
            repository=args.repository,
            **how,
        )

    found = _worked("reducing parts", changes, words, args, console)
    return _shown(found.changes, found.reports(everything=args.all), args, console)


Result = TypeVar("Result")


def _worked(
    title: str, work: Callable[..., Result], words: list[str], args: Args, console: Console
) -> Result:
    """Let processes or a cluster work on the corpus that is named, under a progress bar."""
    corpus = sp.Corpus(*_only(words, "a corpus"))
    with console.progress(title, None) as ticker:
        return work(
            corpus, metric=args.metric, where=args.where, out=args.output, workers=args.workers, dask=args.dask,
            started=ticker.of, done=ticker.advance,
        )  # fmt: skip


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


_ACTIONS = {
    "build": _build,
    "info": _info,
    "query": _query,
    "compare": _compare,
    "model": _model,
    "changes": _changes,
}

"""``speedproof corpus``: millions of samples in Parquet, and the analyses over them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

import click

import speedproof as sp
from speedproof.cli.command import Args, Argument, Command, Group, Option
from speedproof.cli.console import Console
from speedproof.cli.inputs import columns_of, report_no_floor
from speedproof.cli.options import (
    confidence_of,
    pages,
    reading,
    refuse_rules,
    risk_options,
    rule_options,
    rules_of,
    store_option,
)
from speedproof.cli.outputs import check_outputs, write_outputs
from speedproof.cli.values import place
from speedproof.errors import SpeedproofError, UsageError

if TYPE_CHECKING:
    from speedproof.reporting.model import Report

_ROWS = 40
INTERRUPTED = 130


@contextmanager
def _kept(console: Console) -> Iterator[None]:
    """Say that what is done stays when work on a corpus is interrupted."""
    try:
        yield
    except KeyboardInterrupt:
        console.remark("interrupted; what is done is kept, and the same command goes on")
        raise click.exceptions.Exit(INTERRUPTED) from None


def _build(args: Args, console: Console) -> int:
    from speedproof.api.corpus_files import listed

    if not args.files and args.files_from is None:
        raise UsageError("name result files, folders or archives, or --files-from LIST")
    files = chain(args.files, listed(args.files_from) if args.files_from is not None else ())
    by = args.by.split(",") if args.by else ()
    left_out: list[None] = []
    with _kept(console), console.progress("reading files", None) as ticker:
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
    from speedproof.reporting.corpus import contents

    if left_out:
        from speedproof.reporting.numbers import plural

        console.remark(f"{plural(len(left_out), 'file')} left out: already in the corpus, unchanged")
    console.write(contents(corpus.info()))
    return 0


def _info(args: Args, console: Console) -> int:
    from speedproof.reporting.corpus import contents
    from speedproof.reporting.json import to_json

    found = sp.Corpus(args.corpus).info()
    if args.json:
        console.out.write(to_json("corpus", [found]))
    else:
        console.write(contents(found))
    return 0


def _compare(args: Args, console: Console) -> int:
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
    return _shown("compare", found.conclusion, reports, args, console)


def _model(args: Args, console: Console) -> int:
    if args.bootstrap_samples == 0:
        args.refuse("fast", because="--bootstrap-samples 0 tests nothing")

    asked = {"bootstrap": args.bootstrap_samples, **args.take("components", "fast", "seed")}
    found = _worked("modelling parts", sp.Corpus.model, args, console, **asked)
    return _shown("model", found.models, found.reports(), args, console)


def _changes(args: Args, console: Console) -> int:
    asked = {
        "confidence": confidence_of(args),
        "correction": "bh" if args.fdr else "holm",
        "repository": args.repository,
    }
    found = _worked("reducing parts", sp.Corpus.changes, args, console, **asked)
    return _shown("changes", found.changes, found.reports(everything=args.all), args, console)


Result = TypeVar("Result")


def _worked(title: str, work: Callable[..., Result], args: Args, console: Console, **asked: Any) -> Result:
    """Let processes or a cluster work on the corpus that is named, under a progress bar."""
    corpus = sp.Corpus(args.corpus)
    how = args.take("metric", "where", "workers", "dask")
    with _kept(console), console.progress(title, None) as ticker:
        return work(corpus, out=args.output, started=ticker.of, done=ticker.advance, **how, **asked)


def _shown(action: str, found: Any, reports: Iterable[Report], args: Args, console: Console) -> int:
    """Write the answer."""
    if args.json:
        from speedproof.reporting.json import to_json

        console.out.write(to_json(f"corpus {action}", [found]))
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


def _query(args: Args, console: Console) -> int:
    from speedproof.api.corpus_files import query

    found = query(args.corpus, args.sql)
    if args.json:
        from speedproof.reporting.json import to_json

        console.out.write(to_json("corpus query", found.to_pylist()))
    elif console.terminal:
        from speedproof.reporting.corpus import table_of

        rows = found if args.all else found.slice(0, _ROWS)
        console.write(table_of(rows.to_pylist(), found.column_names, found.num_rows))
    else:
        from speedproof.reporting.formats.csv import separated

        console.out.write(separated(found.column_names, (), "\t"))
        for batch in found.to_batches():
            console.out.write(separated((), (row.values() for row in batch.to_pylist()), "\t"))
    return 0


_CORPUS = Argument("corpus", "CORPUS", "its folder, or the URL of an object store")
_JSON = Option("--json", "write JSON")
_OUTPUT = Option("-o, --output DIR", "where the answers go: a folder or a URL", parse=place)
_WORKING: list[click.Parameter | str] = [
    "computing",
    Option("--metric NAME", "the metric to ask about (default: time)"),
    Option("--where SQL", "only these samples: \"version in ('3.12', '3.13')\""),
    Option("--workers N", "processes (default: all cores)"),
    Option("--dask ADDRESS", "a Dask scheduler: tcp://host:8786", excludes="workers"),
    _OUTPUT,
    _JSON,
]
_FILES = [p for p in reading() if not (isinstance(p, Option) and p.name in ("where", "first"))]

COMMAND = Group(
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
    {
        "build": Command(
            "Make a corpus of result files, or go on with one.",
            "",
            [
                Argument("files", "[FILE...]", "result files, folders, archives", many=True, required=False),
                "building",
                Option(
                    "-o, --output DIR", "where the corpus goes: a folder or a URL", required=True, parse=place
                ),
                Option("--append", "add to a complete corpus; unchanged files are left out"),
                Option(
                    "--files-from FILE", "read names of files from a list, one a line; - is standard input"
                ),
                Option("--by FIELD", "tell versions apart by a field of the files (several: a,b)"),
                *_FILES,
            ],
            _build,
        ),
        "info": Command("Say what a corpus holds.", "", [_CORPUS, _JSON], _info),
        "query": Command(
            "Ask it in SQL.",
            "",
            [
                _CORPUS,
                Argument("sql", "SQL", "a SELECT; the tables are called corpus and rejects", type=str),
                Option("--all", "every row on a terminal, too"),
                _JSON,
            ],
            _query,
        ),
        "compare": Command(
            "Compare versions on every benchmark.",
            "",
            [
                _CORPUS,
                "comparing",
                Option("--reference VERSION", "the version to compare against"),
                Option("--candidate VERSION", "the version under trial"),
                Option(
                    "--pairs WHICH",
                    "many pairs instead: all, consecutive (in order of first appearance), or a file with a "
                    "reference and a candidate on each line",
                ),
                Option("--details", "ask every protocol; corrections and numbers of the whole"),
                *rule_options(),
                store_option(),
                *_WORKING,
                "output",
                Option("--all", "the largest hundred changes"),
                *pages("one HTML page: the answer and the largest hundred changes, drawn"),
            ],
            _compare,
        ),
        "model": Command(
            "Fit a mixture to every sample.",
            "",
            [
                _CORPUS,
                "modelling",
                Option("--components K", "largest number of components (default: 9)", default=9),
                Option("--bootstrap-samples N", "of the test; 0: no test (default: 200)", default=200),
                Option("--fast", "stop adding components early in the bootstrap"),
                Option("--seed SEED", "of all random numbers (default: 0)", default=0),
                *_WORKING,
            ],
            _model,
        ),
        "changes": Command(
            "Find what changed along the versions.",
            "",
            [
                _CORPUS,
                "changes",
                Option("--repository DIR", "versions are commits here, in the order of its branch"),
                Option("--fdr", "allow a share of false changes (Benjamini and Hochberg): finds more"),
                Option("--all", "show every change"),
                *risk_options(),
                *_WORKING,
            ],
            _changes,
        ),
    },
)

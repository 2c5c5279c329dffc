"""``speedproof corpus``: millions of samples in Parquet, and the analyses over them."""

from __future__ import annotations

from itertools import chain

import speedproof as sp
from speedproof.cli.command import Args, Argument, Command, Option, in_group
from speedproof.cli.console import Console
from speedproof.cli.inputs import columns_of
from speedproof.cli.options import reading
from speedproof.errors import UsageError

__all__ = ["COMMAND", "run"]

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
        "  speedproof corpus query corpus 'SELECT version, sum(n) FROM corpus GROUP BY 1'\n"
        "  speedproof compare corpus --where \"version in ('3.12', '3.13')\""
    ),
    [
        Argument("words", metavar="ACTION [...]", help="build, info, query", many=True),
        *in_group(
            "building",
            Option("-o", "--output", metavar="DIR", help="where the corpus goes: a folder or a URL"),
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
            "output",
            Option("--all", flag=True, help="query: every row on a terminal, too"),
            Option("--json", flag=True, help="write JSON"),
        ),
        *reading(),
    ],
)

_ALLOWED = {
    "build": {"output", "append", "files_from", "by", "format", "unit", "wide", "column", "benchmark_columns",
              "version_column"},
    "info": {"json"},
    "query": {"json", "all"},
}  # fmt: skip
_ROWS = 40


def run(args: Args, console: Console) -> int:
    """Carry the command out."""
    action, *words = args.words
    if action not in _ALLOWED:
        raise UsageError(f"{action}: no such action; there are {', '.join(_ALLOWED)}")
    for name, option in args.given.items():
        if name not in _ALLOWED[action]:
            raise UsageError(f"{option}: corpus {action} does not take it")
    return {"build": _build, "info": _info, "query": _query}[action](words, args, console)


def _only(words: list[str], what: str, count: int = 1) -> list[str]:
    if len(words) != count:
        raise UsageError(f"name {what}")
    return words


def _build(words: list[str], args: Args, console: Console) -> int:
    from speedproof.api.corpus import listed

    if not args.output:
        raise UsageError("-o DIR: say where the corpus goes")
    if not words and args.files_from is None:
        raise UsageError("name result files, folders or archives, or --files-from LIST")
    files = chain(words, listed(args.files_from) if args.files_from is not None else ())
    by = args.by.split(",") if args.by else ()
    try:
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
            )
    except KeyboardInterrupt:
        console.remark("interrupted; what was read is kept, and the same command goes on")
        return 130
    return _tell(corpus, args, console)


def _info(words: list[str], args: Args, console: Console) -> int:
    return _tell(sp.Corpus(*_only(words, "a corpus")), args, console)


def _tell(corpus: sp.Corpus, args: Args, console: Console) -> int:
    from speedproof.report.corpus import contents
    from speedproof.report.json import to_json

    found = corpus.info()
    if args.json:
        console.out.write(to_json("corpus", [found]))
    else:
        console.write(contents(found))
    return 0


def _query(words: list[str], args: Args, console: Console) -> int:
    place, sql = _only(words, "a corpus and a query", 2)
    found = sp.Corpus(place).query(sql)
    if not found.column_names:
        return 0
    if args.json:
        from speedproof.report.json import to_json

        console.out.write(to_json("corpus query", found.to_pylist()))
    elif console.terminal:
        from speedproof.report.corpus import table_of

        rows = found if args.all else found.slice(0, _ROWS)
        console.write(table_of(rows.to_pylist(), found.column_names, found.num_rows))
    else:
        import csv

        writer = csv.writer(console.out, delimiter="\t", lineterminator="\n")
        writer.writerow(found.column_names)
        for batch in found.to_batches():
            writer.writerows(row.values() for row in batch.to_pylist())
    return 0

"""``speedproof corpus``: millions of samples in Parquet, and the analyses over them."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Annotated, Any, TypeVar

import click
from msgspec.structs import replace

import speedproof as sp
from speedproof.api.given import as_measured, quantile_measured, rules_of
from speedproof.cli.command import Command, Group
from speedproof.cli.console import INTERRUPTED, Console
from speedproof.cli.files import check_outputs, remark_folded, report_no_floor, write_answer
from speedproof.declaring import Argument, Excludes, Taken, Title
from speedproof.errors import SpeedproofError, UsageError
from speedproof.options import (
    ASKED,
    DETAILS,
    Changing,
    CommandOptions,
    Explained,
    Fast,
    Json,
    Judging,
    Modelling,
    Output,
    Quantiles,
    Reading,
    Store,
    answer,
    handed,
    quantile_name,
    refuse_rules,
)
from speedproof.reporting.model import Report, Reported, to_json
from speedproof.values import place

_ROWS = 40

Place = Annotated[str, Argument("CORPUS", "its folder, or the URL of an object store", is_file=False)]


class BuildOptions(CommandOptions, frozen=True, kw_only=True):
    """Make a corpus from result files, or go on with one."""

    files: Annotated[tuple[str, ...], Argument("[FILE...]", "result files, folders, archives")] = ()
    output: Annotated[
        str, "-o, --output DIR", "where the corpus goes: a folder or a URL", place, Title("building")
    ]
    append: Annotated[bool, "add to a complete corpus; unchanged files are left out"] = False
    files_from: Annotated[
        str | None, "FILE", "read the names of files from a list, one a line; - is standard input"
    ] = None
    by: Annotated[str, "FIELD", "tell versions apart by a field of the files (several: a,b)"] = ""
    reading: Annotated[Reading, Taken(leave="where first")]


class InfoOptions(CommandOptions, frozen=True, kw_only=True):
    """Say what a corpus holds."""

    corpus: Place
    json: Json = False


class SqlOptions(CommandOptions, frozen=True, kw_only=True):
    """Query it in SQL."""

    corpus: Place
    sql: Annotated[
        str, Argument("SQL", "a SELECT over the tables corpus and rejects, or answers", is_file=False)
    ]
    all: Annotated[bool, "every row on a terminal, too"] = False
    json: Json = False


class WorkOptions(CommandOptions, frozen=True, kw_only=True):
    """What every analysis takes."""

    corpus: Place
    metric: Annotated[str | None, "NAME", "the metric to ask about (default: time)", Title("samples")] = None
    where: Annotated[str | None, "SQL", "only these samples: \"version in ('3.12', '3.13')\""] = None
    workers: Annotated[int | None, "N", "processes (default: all cores)", Title("computing")] = None
    dask: Annotated[str | None, "ADDRESS", "a Dask scheduler: tcp://host:8786", Excludes("workers")] = None
    answers: Annotated[str | None, "-o, --output DIR", "where the answers go: a folder or a URL", place] = (
        None
    )


class CompareCorpusOptions(WorkOptions, frozen=True, kw_only=True):
    """Compare versions on every benchmark.

    Controls of a session (run --control, --unaffected) withhold nothing here: 'compare CORPUS' heeds them.
    """

    reference: Annotated[str | None, "VERSION", "the version to compare against", Title("comparing")] = None
    candidate: Annotated[str | None, "VERSION", "the version under trial (default: every other)"] = None
    pairs: Annotated[
        str | None,
        "WHICH",
        "many pairs instead: all, consecutive (in order of first appearance), or a file with a reference and "
        "a candidate on each line",
        Excludes("reference candidate"),
    ] = None
    quantile: Quantiles = ()
    why: Annotated[Explained, Excludes("pairs")] = False
    judging: Annotated[Judging, Taken("comparing", leave="bootstrap")]
    store: Store = None
    output: Annotated[
        Output,
        answer(
            all="the largest hundred changes",
            details="ask every protocol; corrections and numbers of the whole corpus",
            json="write JSON",
            html="one HTML page: the answer and the largest hundred changes, drawn",
        ),
    ]


class ModelCorpusOptions(WorkOptions, frozen=True, kw_only=True):
    """Fit a mixture to every sample."""

    modelling: Annotated[Modelling, Taken("modelling", take="max_components seed")]
    bootstrap_samples: Annotated[int, "N", "of the test; 0: no test (default: 200)"] = 200
    fast: Fast = False
    json: Json = False


class CorpusChangesOptions(WorkOptions, frozen=True, kw_only=True):
    """Find what changed from version to version."""

    repository: Annotated[
        str | None, "DIR", "versions are commits here, in the order of its branch", Title("changes")
    ] = None
    changes: Changing


@contextmanager
def _kept(console: Console) -> Iterator[None]:
    """Report that finished work is kept when a corpus command is interrupted."""
    try:
        yield
    except KeyboardInterrupt:
        console.remark("interrupted; what is done is kept, and the same command goes on")
        raise click.exceptions.Exit(INTERRUPTED) from None


def _build(asked: BuildOptions, console: Console) -> int:
    from speedproof.api.corpus import listed

    if not asked.files and asked.files_from is None:
        raise UsageError("name result files, folders or archives, or --files-from LIST")
    files = chain(asked.files, listed(asked.files_from) if asked.files_from is not None else ())
    reading = asked.reading
    left_out: list[None] = []
    with _kept(console), console.progress("reading files", None) as ticker:
        corpus = sp.Corpus.build(
            files,
            asked.output,
            append=asked.append,
            by=asked.by.split(",") if asked.by else (),
            **handed(sp.Corpus.build, reading),
            done=ticker.advance,
            unchanged=lambda: left_out.append(None),
        )
    from speedproof.reporting.corpus import contents

    if left_out:
        from speedproof.reporting.numbers import plural

        console.remark(f"{plural(len(left_out), 'file')} left out: already in the corpus, unchanged")
    console.write(contents(corpus.info()))
    return 0


def _info(asked: InfoOptions, console: Console) -> int:
    from speedproof.reporting.corpus import contents

    info = sp.Corpus(asked.corpus).info()
    console.answer(lambda: to_json("corpus", [info]), lambda: [contents(info)], json=asked.json)
    return 0


def _compare(asked: CompareCorpusOptions, console: Console) -> int:
    from speedproof.api.corpus import pairs_in_file

    output = asked.output
    check_outputs(output)
    pairs = asked.pairs if asked.pairs in ("all", "consecutive", None) else pairs_in_file(asked.pairs)
    named = chain(*pairs) if isinstance(pairs, tuple) else filter(None, (asked.reference, asked.candidate))
    question = sp.Corpus(asked.corpus).question(asked.where, {*named})
    measured = quantile_measured(question)
    usual = (measured,) if measured else DETAILS if output.details else ASKED
    protocols = tuple(dict.fromkeys(map(quantile_name, asked.quantile))) or usual
    refuse_rules(asked.given, protocols)
    rules = rules_of(as_measured(asked.judging, question))
    how = {"pairs": pairs, "rules": rules, "protocols": protocols}
    answers = _worked("comparing parts", sp.Corpus.compare, asked, console, **how)
    remark_folded(answers.problems, console)
    counted = answers.conclusion.sessions is not None
    report_no_floor(asked.store, answers.keys(), console, counted=counted)
    explained = answers.why() if asked.why else None
    more = {} if explained is None else {"why": list(explained)}

    def beside(reports: Iterable[Report], **shown: bool) -> tuple[Report, ...]:
        if explained is None:
            return tuple(reports)
        from speedproof.reporting.why import beside

        count = len(list(explained))
        some = f"the {count} largest changes" if count < answers.conclusion.comparisons else ""
        return tuple(beside(tuple(reports), explained.by_candidate, among=some, **shown))

    def written() -> Reported:
        whole = answers.written()
        return replace(whole, reports=beside(whole.reports, details=True))

    write_answer(
        asked,
        output,
        console,
        lambda **shown: beside(answers.reports(**shown), **shown),
        lambda: answers.to_json(**more),
        written,
    )
    return _whole(answers.conclusion)


def _model(asked: ModelCorpusOptions, console: Console) -> int:
    how = {**handed(sp.Corpus.model, asked.modelling), "bootstrap": asked.bootstrap_samples}
    models = _worked("modelling parts", sp.Corpus.model, asked, console, **how)
    console.answer(models.to_json, models.reports, json=asked.json)
    return _whole(models.models)


def _changes(asked: CorpusChangesOptions, console: Console) -> int:
    of = asked.changes
    changes = _worked("reducing parts", sp.Corpus.changes, asked, console, **handed(sp.Corpus.changes, of))
    console.answer(changes.to_json, lambda: changes.reports(everything=of.all), json=of.json)
    return _whole(changes.changes)


Result = TypeVar("Result")


def _worked(
    title: str, work: Callable[..., Result], asked: WorkOptions, console: Console, **more: Any
) -> Result:
    """Let processes or a cluster work on the corpus that is named, under a progress bar."""
    corpus = sp.Corpus(asked.corpus)
    with _kept(console), console.progress(title, None) as ticker:
        return work(
            corpus,
            out=asked.answers,
            started=ticker.of,
            done=ticker.advance,
            **{**handed(work, asked), **more},
        )


def _whole(answers: Any) -> int:
    """Parts without an answer are an error in the end."""
    if answers.failures:
        raise SpeedproofError(
            f"{len(answers.failures)} of {answers.parts} parts of the corpus have no answer:"
            + "".join(f"\n  {reason}" for reason in answers.failures[:3])
        )
    return 0


def _query(asked: SqlOptions, console: Console) -> int:
    from speedproof.api.corpus import query

    table = query(asked.corpus, asked.sql)
    if asked.json:
        console.out.write(to_json("corpus query", table.to_pylist()))
    elif console.terminal:
        from speedproof.reporting.corpus import table_of

        rows = table if asked.all else table.slice(0, _ROWS)
        console.write(table_of(rows.to_pylist(), table.column_names, table.num_rows))
    else:
        from speedproof.reporting.formats.csv import separated

        console.out.write(separated(table.column_names, (), "\t"))
        for batch in table.to_batches():
            console.out.write(separated((), (row.values() for row in batch.to_pylist()), "\t"))
    return 0


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
        "build": Command(BuildOptions, _build),
        "info": Command(InfoOptions, _info),
        "query": Command(SqlOptions, _query),
        "compare": Command(CompareCorpusOptions, _compare),
        "model": Command(ModelCorpusOptions, _model),
        "changes": Command(CorpusChangesOptions, _changes),
    },
)

"""Several metrics of two versions: a line each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from msgspec.structs import replace

from speedproof.protocols.results import Verdict
from speedproof.protocols.suite import SuiteComparison
from speedproof.reporting import words
from speedproof.reporting.model import Cell, Column, Report, Row, Table, Text
from speedproof.reporting.names import spoken
from speedproof.reporting.numbers import level, plural
from speedproof.reporting.rows import Voice, records, version_columns


def named(reports: Mapping[str, Report]) -> list[Report]:
    """Sheets of several metrics, each with its metric first."""
    sheets = []
    for metric, report in reports.items():
        first, *rest = report.headline
        if not first.text.startswith(f"{metric}: "):
            report = replace(report, headline=(replace(first, text=f"{metric}: {first.text}"), *rest))
        sheets.append(report)
    return sheets


def report(results: Sequence[SuiteComparison]) -> Report:
    """A row a metric: of one benchmark its values and what is proven, of several how many changed."""
    first = results[0]
    old, new = spoken([first.reference, first.candidate])
    known = [result for result in results if result.headlines]
    one = len({c.benchmark for result in known for c in result.headlines}) == 1
    rows = [_of_one(result) if one else _of_several(result) for result in known]
    columns = (
        (*version_columns(first.reference, first.candidate), *Voice("better", "worse").columns)
        if one
        else (Column("benchmarks"), Column("geometric mean", brief="mean"))
    )
    what = f"{new} against {old}: {plural(len(known), 'metric')}"
    asked = f"({words.asked_of(known[0].headlines[0].protocol)}, {level(1 - first.alpha)})" if known else ""
    return Report(
        what,
        (Text(what, "strong", asked),),
        (Table.of((Column("metric", names=True), *columns), rows),),
        hints=("--details: a sheet for each metric", "--metric NAME: one of them"),
        command="compare",
        data=tuple(results),
        records=partial(records, *results),
        good=all(c.verdict is not Verdict.SLOWER for result in known for c in result.headlines),
    )


def _of_one(result: SuiteComparison) -> Row:
    (head,) = result.headlines
    answers = result.by_benchmark[head.benchmark]
    made = Voice.of(result).row(head, (Cell(result.metric, "strong"),), answers)
    return replace(made, name=result.metric)


def _of_several(result: SuiteComparison) -> Row:
    heads, means = result.headlines, result.geometric_means
    better_worse = words.gain_and_loss(heads[0])
    counts = words.counted(words.counts_of(heads), Voice.of(result).kinds)
    mean = Cell("")
    if means is not None and means.these.value > 0:
        brief = words.observed(means.these.value, *better_worse)
        mean = Cell(words.interval(means.these, *better_worse), shorter=(brief,))
    return Row.of(Cell(result.metric, "strong"), counts, mean, name=result.metric)

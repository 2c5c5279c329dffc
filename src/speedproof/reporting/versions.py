"""Three versions or more: their ranking, then one table of all benchmarks against the reference."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from msgspec.structs import replace

from speedproof.errors import Parameter
from speedproof.protocols.ranking import RankedVersion, SuiteRanking
from speedproof.protocols.results import Comparison, Verdict
from speedproof.protocols.suite import SuiteComparison
from speedproof.reporting import details as detailed
from speedproof.reporting import metrics, suite, words
from speedproof.reporting.model import (
    Cell,
    Column,
    Outcome,
    Report,
    Row,
    Table,
    Text,
    hint_of_all,
    right,
)
from speedproof.reporting.names import (
    benchmark_column,
    called,
    common_prefix,
    enumerate_names,
    labels,
    shortened,
)
from speedproof.reporting.notes import caveats, two_speeds, undermining
from speedproof.reporting.numbers import factor, level, percent, plural, values
from speedproof.reporting.pair import OUTCOMES
from speedproof.reporting.records import records

_MARKS = {Verdict.FASTER: "+", Verdict.SLOWER: "-", Verdict.EQUIVALENT: "=", Verdict.UNDECIDED: "~"}
_SHOWN, _TITLE = 10, 16
_WIDE = 3  # benchmarks up to which a table of several versions has a row a version
_DATE = re.compile(r"\d{4}-?\d\d-?\d\d")
_NUMBERED = re.compile(r"\D*\d+(\.\d+)*\D*")


def reports(
    results: Sequence[SuiteComparison],
    rankings: Mapping[str, SuiteRanking] | None = None,
    *,
    short: bool = True,
    **asked: bool,
) -> list[Report]:
    """One report a metric: a sheet for two versions, a ranking and a matrix for more.

    Where nothing more is asked of several metrics of two versions, ``short`` is one report with a row a metric.
    """
    by_metric: dict[str, list[SuiteComparison]] = {}
    for result in results:
        by_metric.setdefault(result.metric, []).append(result)
    if short and len(by_metric) > 1 and len(by_metric) == len(results) and not any(asked.values()):
        return [metrics.report(results)]
    ranked = rankings or {}
    made = {
        metric: report(found, ranked.get(metric), **asked)
        if len(found) > 1
        else suite.report(found[0], **asked)
        for metric, found in by_metric.items()
    }
    return metrics.named(made) if len(made) > 1 else [*made.values()]


class _Versions:
    """Several candidates against one reference, as every line of their report needs them."""

    def __init__(self, results: Sequence[SuiteComparison], ranking: SuiteRanking | None) -> None:
        self.results, self.ranking = results, ranking
        self.names = [results[0].reference, *(r.candidate for r in results)]
        self.called = called(self.names)
        self.heads = {(c.benchmark, r.candidate): c for r in results for c in r.headlines}
        self.benchmarks = list(dict.fromkeys(name for name, _ in self.heads))
        self.first = results[0].headlines[0]
        self.gain_loss = words.gain_and_loss(self.first)
        self.shaken = any(r.machine is not None for r in results)


def report(
    results: Sequence[SuiteComparison],
    ranking: SuiteRanking | None = None,
    *,
    everything: bool = False,
    details: bool = False,
    explain: bool = False,
) -> Report:
    """Several candidates against one reference, on one metric."""
    results = [r for r in results if r.comparisons]
    if not results:
        nothing = Text("No benchmark was measured with two of the versions.", "bad")
        return Report("", (nothing,), command="compare")
    of = _Versions(results, ranking)
    metric = results[0].metric
    answer = Text(_answer(of), "strong", _risk(of))
    if all(suite.single_runs(r) for r in results):
        told = "One run of each proves nothing: nobody knows how much runs differ. Repeat them."
        answer = Text(told, "warning")
    if len(of.benchmarks) == 1:
        tables = [_of_one(of)]
    elif ranking is not None and len(of.benchmarks) <= _WIDE:
        tables = [_by_version(of, ranking)]
    else:
        tables = [*_places(of), _matrix(of, everything)]
    notes = _left_out(results)
    shown, (better, worse) = "shown" if of.shaken else "proven", of.gain_loss
    if len(of.benchmarks) > 1:
        told = f"+ {better} than the reference, - {worse}, ~ undecided; {shown} in each row alone."
        notes.insert(0, Text(told, "dim"))
    elif ranking is not None and "stands alone" not in answer.text:
        alone = level(1 - results[0].alpha)
        told = f"Places hold together; what is {shown} in a row holds by itself ({alone})."
        notes.insert(0, Text(told, "dim"))
    notes += undermining([*of.heads.values()])
    # Versions may find no room where there are many of them.
    hint = () if everything else hint_of_all("row and version", *tables, hides=len(results) > _WIDE)
    return Report(
        f"{plural(len(results), 'version')} against {of.names[0]}: {metric}",
        (
            answer,
            *dict.fromkeys(caveats([c for r in results for c in r.caveats], of.names)),
            *_two_speeds(of),
        ),
        tuple(tables),
        tuple(notes),
        (
            *hint,
            *(() if details else ("--details: other protocols",)),
            *(() if explain else ("--explain: checks",)),
        ),
        tuple(
            replace(section, title=f"{r.candidate}: {section.title}")
            for r in results
            for section in detailed.sections(r, details=details, explain=explain)
        ),
        command="compare",
        data=tuple(results),
        records=partial(records, *results),
        good=not any(c.verdict is Verdict.SLOWER for c in of.heads.values()),
        about=metric,
    )


def _two_speeds(of: _Versions) -> Iterator[Text]:
    """That the machine had two speeds, of the first candidate that shows it."""
    for r in of.results:
        if r.machine is not None:
            old, new = of.called[r.reference], of.called[r.candidate]
            yield from two_speeds(r.machine, old, new, f"{old} and {new}")
            return


def _left_out(results: Sequence[SuiteComparison]) -> list[Text]:
    """What some version lacks, in one line."""
    names = {name for r in results for name in (*r.only_reference, *r.only_candidate)}
    told = (
        [f"Not in every version: {plural(len(names), 'benchmark')} ({Parameter('details', True)})"]
        if names
        else []
    )
    told += [f"Left out: {problem}" for r in results for problem in r.problems][:1]
    return [Text(text, "warning") for text in told]


def _answer(of: _Versions) -> str:
    """Who is first, if anybody is proven to be."""
    reference = of.called[of.names[0]]
    if of.ranking is None:
        return f"{plural(len(of.results), 'candidate')} against {reference}"
    better = of.gain_loss[0]
    superlative = {"faster": "fastest", "better": "best"}[better]
    leading = [v for v in of.ranking.versions if v.best_rank == 1]
    first = {v.version for v in leading}
    shown = enumerate_names([of.called[v.version] for v in leading], 4)
    if len(leading) > 1:
        proven = any(c.verdict in words.CHANGED for (_, v), c in of.heads.items() if v in first)
        if len(of.ranking.benchmarks) == 1 and of.names[0] in first and proven:
            # A row proven by itself seems to say that the headline is wrong.
            own = f"each row stands alone at {percent(of.first.alpha)}"
            if len(first) == len(of.names):
                return f"At a joint risk of {percent(of.ranking.alpha)} no order is shown; {own}"
            return f"{superlative.capitalize()}: one of {shown}, undecided jointly; {own}"
        return f"{superlative.capitalize()}: one of {shown}, undecided"
    if not leading:
        return f"No version is {superlative}: each is proven {of.gain_loss[1]} than another"
    (best,) = leading
    over = f", {words.observed(best.speedup.value, better, '')} than {reference}"
    return f"{shown} is {superlative} of {len(of.names)}{over if best.version != of.names[0] else ''}"


def _risk(of: _Versions) -> str:
    if of.ranking is None:
        return suite.asked_at(of.first.protocol, of.first.alpha, shaken=of.shaken)
    if _answer(of).startswith("At a joint risk"):
        return ""
    over = len(of.ranking.benchmarks)
    where = "" if over == 1 else f"geometric mean of {over} benchmarks, "
    sure = "not proven" if of.shaken else f"all claims at a joint risk of {percent(of.ranking.alpha)}"
    return f"({where}{sure})"


def _places(of: _Versions) -> Iterator[Table]:
    """The ranking over all benchmarks; a range of places means that the order inside it is not proven."""
    if of.ranking is not None:
        rows = [
            Row.of(*_ranked(v, of), name=v.version, kind="versions", folded=i >= _SHOWN)
            for i, v in enumerate(of.ranking.versions)
        ]
        yield Table.of(_ranking_columns(of), rows)


def _ranked(v: RankedVersion, of: _Versions) -> tuple[Cell, ...]:
    """The place of a version, and how it does over all benchmarks."""
    told = brief = "reference"
    if v.version != of.names[0]:
        told, brief = words.interval(v.speedup, *of.gain_loss), words.observed(v.speedup.value, *of.gain_loss)
    over = Cell(told, shorter=(brief,), speedup=v.speedup)
    return Cell(v.place), Cell(of.called[v.version], "strong"), over


def _ranking_columns(of: _Versions) -> tuple[Column, ...]:
    over = Column(f"over {of.called[of.names[0]]}", brief="over all")
    return *right("place"), Column("version", names=True), over


def _by_version(of: _Versions, ranking: SuiteRanking) -> Table:
    """Few benchmarks: a row a version, with its place."""
    medians: dict[tuple[str, str], str] = {}
    for name in of.benchmarks:
        found = {v: c for (benchmark, v), c in of.heads.items() if benchmark == name}
        first = next(iter(found.values()))
        times = [first.reference.median, *(c.candidate.median for c in found.values())]
        told = values(times, first.reference.unit)
        medians |= zip(((name, v) for v in (of.names[0], *found)), told, strict=True)
    rows = []
    for i, v in enumerate(ranking.versions):
        own = [(name, v.version) for name in of.benchmarks]
        cells = [_cell(of.heads.get(key), medians.get(key, "-")) for key in own]
        rows.append(Row.of(*_ranked(v, of), *cells, name=v.version, kind="versions", folded=i >= 2 * _SHOWN))
    start = len(common_prefix(of.benchmarks))
    titles = zip(of.benchmarks, shortened([name[start:] for name in of.benchmarks], _TITLE), strict=True)
    columns = (Column(name, brief=brief, drop=-i) for i, (name, brief) in enumerate(titles))
    return Table.of((*_ranking_columns(of), *columns), rows)


def _of_one(of: _Versions) -> Table:
    """One benchmark: a row a version, by place, or in their own order where they are dated or numbered."""
    heads = {v: c for (_, v), c in of.heads.items()}
    places = {v.version: v for v in of.ranking.versions} if of.ranking else {}

    def speedup(name: str) -> float:
        value = heads[name].speedup.value if name in heads else 1.0
        return value if math.isfinite(value) else 1.0

    names = of.names
    if places:
        names = sorted(names, key=lambda v: (places[v].best_rank, places[v].worst_rank, -speedup(v)))
    elif not _dated(names):
        names = sorted(names, key=lambda v: -speedup(v))
    sides = {v: heads[v].candidate if v in heads else of.first.reference for v in names}
    medians = values([sides[v].median for v in names], of.first.reference.unit)
    rows = []
    for name, median in zip(names, medians, strict=True):
        head = heads.get(name)
        told = _told(head) if head else (Cell("reference", "dim"), "")
        place = places[name].place if places else ""
        shown = Cell(of.called[name], "strong")
        row = Row.of(place, shown, median, *told, str(sides[name].n), name=name, kind="versions")
        outcome = OUTCOMES[head.verdict] if head else ""
        message = f"{words.verdict(head)}; {words.proof(head)}" if head else "the reference"
        rows.append(replace(row, outcome=outcome, message=message))
    columns = (
        *right("place" if places else ""),
        Column(of.first.benchmark, names=True),
        *right("median"),
        *suite.proven()[:2],
        *right("runs", drop=1),
    )
    return Table.of(columns, rows)


def _told(head: Comparison) -> tuple[Cell, str]:
    if head.verdict in words.CHANGED:
        mark = " !" if head.undermining else ""
        told = Cell(words.change(head), words.STYLES[head.verdict], speedup=head.certified)
        return told, f"{words.at_least(words.effect(head).bound)}{mark}"
    brief = words.few(head) if head.verdict is Verdict.UNDECIDED else ""
    return Cell(words.change(head), "dim"), f"({brief})" if brief else ""


def _dated(names: Sequence[str]) -> bool:
    """Whether versions come in the order of a date or a number that each of them has."""
    for find in (_DATE.search, _NUMBERED.fullmatch):
        found = [match[0] for name in names if (match := find(name))]
        if len(found) == len(names):
            keys = [[int(n) for n in re.findall(r"\d+", own)] for own in found]
            return keys == sorted(keys)
    return False


def _cell(c: Comparison | None, median: str) -> Cell:
    """A time with what is proven of it; the reference's alone."""
    if c is None:
        return Cell(median, "dim" if median == "-" else "")
    brief = f"{median} {_MARKS[c.verdict]}"
    if c.verdict not in words.CHANGED:
        return Cell(brief, shorter=(brief,))
    found = words.effect(c)
    full = f"{brief} {factor(found.ratio) if found.ratio >= 1 else found.word}"
    return Cell(full, words.STYLES[c.verdict], (brief,))


def _matrix(of: _Versions, everything: bool) -> Table:
    """Benchmarks by versions: times with marks, and changes where there is room."""
    candidates = of.names[1:]
    by_name = {name: [of.heads.get((name, v)) for v in candidates] for name in of.benchmarks}
    shown = labels(of.names, 14)
    column, named = benchmark_column(of.benchmarks)

    def clearness(name: str) -> float:
        changed = [words.effect(c).bound for c in by_name[name] if c and c.verdict in words.CHANGED]
        return -max((bound for bound in changed if not math.isnan(bound)), default=0.0)

    rows = []
    for i, name in enumerate(sorted(of.benchmarks, key=clearness)):
        found = by_name[name]
        reference = next(c for c in found if c is not None).reference
        times = [reference.median, *(c.candidate.median if c else math.nan for c in found)]
        first, *medians = values(times, reference.unit)
        worst = any(c and c.verdict is Verdict.SLOWER for c in found)
        told = [f"{label}: {words.change(c)}" for label, c in zip(candidates, found, strict=True) if c]
        row = Row.of(named(name), first, *map(_cell, found, medians), name=name, kind="benchmarks")
        outcome: Outcome = "failed" if worst else "passed"
        hidden = i >= _SHOWN and not everything
        rows.append(replace(row, outcome=outcome, message="; ".join(told), folded=hidden))
    # The best one is never left out for want of room.
    ranked = (
        [v.version for v in of.ranking.versions if v.version != of.names[0]] if of.ranking else candidates
    )
    columns = (
        Column(label, drop=ranked.index(name)) for name, label in zip(candidates, shown[1:], strict=True)
    )
    return Table.of((column, *right(shown[0]), *columns), rows, repeats=2 if everything else 0)

"""Three versions or more: their ranking, then one table of all benchmarks against the reference."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from msgspec.structs import replace

from speedproof.protocols.ranks import RankedVersion, SuiteRanking
from speedproof.protocols.results import Comparison, Verdict
from speedproof.protocols.suite import SuiteComparison
from speedproof.reporting import details as detailed
from speedproof.reporting import suite, words
from speedproof.reporting.caveats import caveats, two_speeds, undermining
from speedproof.reporting.model import (
    Cell,
    Column,
    Outcome,
    Records,
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
from speedproof.reporting.numbers import factor, level, percent, plural, values
from speedproof.reporting.pair import OUTCOMES
from speedproof.reporting.records import records

_MARKS = {Verdict.FASTER: "+", Verdict.SLOWER: "-", Verdict.EQUIVALENT: "=", Verdict.UNDECIDED: "~"}
_SHOWN, _TITLE = 10, 16
_WIDE = 3  # benchmarks up to which a table of several versions has a row a version
_DATE = re.compile(r"\d{4}-?\d\d-?\d\d")
_NUMBERED = re.compile(r"\D*\d+(\.\d+)*\D*")


def reports(
    results: Sequence[SuiteComparison], rankings: Mapping[str, SuiteRanking] | None = None, **asked: bool
) -> list[Report]:
    """One report a metric: a sheet for two versions, a ranking and a matrix for more."""
    by_metric: dict[str, list[SuiteComparison]] = {}
    for result in results:
        by_metric.setdefault(result.metric, []).append(result)
    ranked = rankings or {}
    return [
        report(found, ranked.get(metric), **asked) if len(found) > 1 else suite.report(found[0], **asked)
        for metric, found in by_metric.items()
    ]


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
    first = results[0]
    if all(suite.single_runs(r) for r in results):
        told = "One run of each proves nothing: nobody knows how much runs differ. Repeat them."
        headline = [Text(told, "warning")]
    else:
        headline = [Text(_answer(results, ranking), "strong", _risk(results, ranking))]
    headline += dict.fromkeys(caveats([c for r in results for c in r.caveats], _names_of(results)))
    headline += _two_speeds(results)
    benchmarks = list(dict.fromkeys(c.benchmark for r in results for c in r.headlines))
    gain_loss = words.gain_and_loss(first.headlines[0])
    if len(benchmarks) == 1:
        tables = [_of_one(results, ranking)]
    elif ranking is not None and len(benchmarks) <= _WIDE:
        tables = [_by_version(results, ranking, benchmarks, gain_loss)]
    else:
        tables = [*_places(ranking, gain_loss), _matrix(results, benchmarks, ranking, everything)]
    notes = _left_out(results)
    shown = "shown" if _shaken(results) else "proven"
    if len(benchmarks) > 1:
        told = (
            f"+ {gain_loss[0]} than the reference, - {gain_loss[1]}, ~ undecided; {shown} in each row alone."
        )
        notes.insert(0, Text(told, "dim"))
    elif ranking is not None and "stands alone" not in headline[0].text:
        told = f"Places hold together; what is {shown} in a row holds by itself ({level(1 - first.alpha)})."
        notes.insert(0, Text(told, "dim"))
    notes += undermining([c for r in results for c in r.headlines])
    # Versions may find no room where there are many of them.
    what = "row and version"
    hint = hint_of_all(what, *tables, hides=len(results) > _WIDE) if not everything else ()
    return Report(
        f"{plural(len(results), 'version')} against {first.reference}: {first.metric}",
        tuple(headline),
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
        records=partial(_records, results),
        good=not any(c.verdict is Verdict.SLOWER for r in results for c in r.headlines),
        about=first.metric,
    )


def _two_speeds(results: Sequence[SuiteComparison]) -> Iterator[Text]:
    """That the machine had two speeds, of the first candidate that shows it."""
    names = called(_names_of(results))
    for r in results:
        if r.machine is not None:
            old, new = names[r.reference], names[r.candidate]
            yield from two_speeds(r.machine, old, new, f"{old} and {new}")
            return


def _names_of(results: Sequence[SuiteComparison]) -> list[str]:
    return [results[0].reference, *(r.candidate for r in results)]


def _left_out(results: Sequence[SuiteComparison]) -> list[Text]:
    """What some version lacks, in one line."""
    names = {name for r in results for name in (*r.only_reference, *r.only_candidate)}
    told = [f"Not in every version: {plural(len(names), 'benchmark')} (--details)"] if names else []
    told += [f"Left out: {problem}" for r in results for problem in r.problems][:1]
    return [Text(text, "warning") for text in told]


def _records(results: Sequence[SuiteComparison]) -> Records:
    found = [records(r) for r in results]
    return Records(found[0].columns, tuple(row for r in found for row in r.rows))


def _answer(results: Sequence[SuiteComparison], ranking: SuiteRanking | None) -> str:
    """Who is first, if anybody is proven to be."""
    reference = results[0].reference
    names = _names_of(results)
    short = called(names)
    better, _ = words.gain_and_loss(results[0].headlines[0])
    superlative = {"faster": "fastest", "better": "best"}[better]
    if ranking is None:
        return f"{plural(len(results), 'candidate')} against {short[reference]}"
    leading = [v for v in ranking.versions if v.best_rank == 1]
    shown = enumerate_names([short[v.version] for v in leading], 4)
    if len(leading) > 1:
        heads = {r.candidate: c for r in results for c in r.headlines}
        first = {v.version for v in leading}
        proven = any(heads[v].verdict in words.CHANGED for v in first & set(heads))
        if len(ranking.benchmarks) == 1 and reference in first and proven:
            # A row proven by itself seems to say that the headline is wrong.
            own = f"each row stands alone at {percent(results[0].alpha)}"
            if len(first) == len(names):
                return f"At a joint risk of {percent(ranking.alpha)} no order is shown; {own}"
            return f"{superlative.capitalize()}: one of {shown}, not told apart jointly; {own}"
        return f"{superlative.capitalize()}: one of {shown}, not told apart"
    (best,) = leading
    over = f", {words.observed(best.speedup.value, better, '')} than {short[reference]}"
    return f"{shown} is {superlative} of {len(names)}{over if best.version != reference else ''}"


def _shaken(results: Sequence[SuiteComparison]) -> bool:
    return any(r.machine is not None for r in results)


def _risk(results: Sequence[SuiteComparison], ranking: SuiteRanking | None) -> str:
    if ranking is None:
        return suite.asked_at(results[0].headlines[0].protocol, results[0].alpha, shaken=_shaken(results))
    if _answer(results, ranking).startswith("At a joint risk"):
        return ""
    over = len(ranking.benchmarks)
    where = "" if over == 1 else f"geometric mean of {over} ratios of means, "
    sure = "not proven" if _shaken(results) else f"all claims at a joint risk of {percent(ranking.alpha)}"
    return f"({where}{sure})"


def _places(ranking: SuiteRanking | None, gain_loss: tuple[str, str]) -> Iterator[Table]:
    """The ranking over all benchmarks; a range of places means that the order inside it is not proven."""
    if ranking is None:
        return
    reference, shown = _reference(ranking), _names(ranking)
    rows = [
        Row.of(*_ranked(v, shown, reference, gain_loss), name=v.version, kind="versions", folded=i >= _SHOWN)
        for i, v in enumerate(ranking.versions)
    ]
    yield Table.of(_ranking_columns(shown[reference]), rows)


def _reference(ranking: SuiteRanking) -> str:
    return next(v.version for v in ranking.versions if v.speedup.low == v.speedup.high == 1.0)


def _names(ranking: SuiteRanking) -> dict[str, str]:
    return called([v.version for v in ranking.versions])


def _ranked(
    v: RankedVersion, shown: Mapping[str, str], reference: str, gain_loss: tuple[str, str]
) -> tuple[Cell, ...]:
    """The place of a version, and how it does over all benchmarks."""
    told, brief = "reference", "reference"
    if v.version != reference:
        told, brief = words.interval(v.speedup, *gain_loss), words.observed(v.speedup.value, *gain_loss)
    over = Cell(told, shorter=(brief,), speedup=v.speedup)
    return Cell(v.place), Cell(shown[v.version], "strong"), over


def _ranking_columns(reference: str) -> tuple[Column, ...]:
    return (
        *right("place"),
        Column("version", names=True),
        Column(f"over {reference}", brief="over all"),
    )


def _by_version(
    results: Sequence[SuiteComparison],
    ranking: SuiteRanking,
    benchmarks: Sequence[str],
    gain_loss: tuple[str, str],
) -> Table:
    """Few benchmarks: a row a version, with its place."""
    reference, shown = _reference(ranking), _names(ranking)
    heads = {(r.candidate, c.benchmark): c for r in results for c in r.headlines}
    medians: dict[tuple[str, str], str] = {}
    for name in benchmarks:
        found = {v: c for (v, benchmark), c in heads.items() if benchmark == name}
        first = next(iter(found.values()))
        times = [first.reference.median, *(c.candidate.median for c in found.values())]
        told = values(times, first.reference.unit)
        medians |= {(version, name): text for version, text in zip((reference, *found), told, strict=True)}
    rows = []
    for i, v in enumerate(ranking.versions):
        cells = [_cell(heads.get((v.version, b)), medians.get((v.version, b), "-")) for b in benchmarks]
        ranked = _ranked(v, shown, reference, gain_loss)
        rows.append(Row.of(*ranked, *cells, name=v.version, kind="versions", folded=i >= 2 * _SHOWN))
    start = len(common_prefix(benchmarks))
    titles = zip(benchmarks, shortened([name[start:] for name in benchmarks], _TITLE), strict=True)
    columns = (
        *_ranking_columns(shown[reference]),
        *(Column(name, brief=brief, drop=-i) for i, (name, brief) in enumerate(titles)),
    )
    return Table.of(columns, rows)


def _of_one(results: Sequence[SuiteComparison], ranking: SuiteRanking | None) -> Table:
    """One benchmark: a row a version, by place, or in their own order where they are dated or numbered."""
    reference = results[0].headlines[0].reference
    heads = {r.candidate: c for r in results for c in r.headlines}
    names = _names_of(results)
    places = {v.version: v.place for v in ranking.versions} if ranking else {}
    if ranking:
        order = {v.version: (v.best_rank, v.worst_rank) for v in ranking.versions}
        names.sort(key=lambda name: (order[name], -_speedup(heads.get(name))))
    elif not _dated(names):
        names.sort(key=lambda name: -_speedup(heads.get(name)))
    shown = called(names)
    sides = {name: heads[name].candidate if name in heads else reference for name in names}
    medians = dict(zip(names, values([sides[n].median for n in names], reference.unit), strict=True))
    rows = []
    for name in names:
        head = heads.get(name)
        told = _told(head) if head else (Cell("reference", "dim"), "")
        place, runs = places.get(name, ""), str(sides[name].n)
        row = Row.of(
            place, Cell(shown[name], "strong"), medians[name], *told, runs, name=name, kind="versions"
        )
        outcome = OUTCOMES[head.verdict] if head else ""
        message = f"{words.verdict(head)}; {words.proof(head)}" if head else "the reference"
        rows.append(replace(row, outcome=outcome, message=message))
    columns = (
        *right("place" if places else ""),
        Column(results[0].headlines[0].benchmark, names=True),
        *right("median"),
        *suite.proven()[:2],
        *right("runs", drop=1),
    )
    return Table.of(columns, rows)


def _speedup(head: Comparison | None) -> float:
    return 1.0 if head is None or not math.isfinite(head.speedup.value) else head.speedup.value


def _told(head: Comparison) -> tuple[Cell, str]:
    if head.verdict in words.CHANGED:
        mark = " !" if head.undermining else ""
        told = Cell(words.change(head), words.STYLES[head.verdict], speedup=head.certified)
        return told, f"{words.at_least(words.effect(head).bound)}{mark}"
    brief = words.few(head) if head.verdict is Verdict.UNDECIDED else ""
    return Cell(words.change(head), "dim"), f"({brief})" if brief else ""


def _dated(names: Sequence[str]) -> bool:
    """Whether versions come in the order of a date or a number that each of them has."""
    for pattern in (_DATE, _NUMBERED):
        found = [pattern.search(name) if pattern is _DATE else pattern.fullmatch(name) for name in names]
        if all(found):
            keys = [[int(n) for n in re.findall(r"\d+", match[0])] for match in found if match]
            return keys == sorted(keys)
    return False


def _cell(c: Comparison | None, median: str) -> Cell:
    """A time with what is proven of it; the reference's alone."""
    if c is None:
        return Cell(median, "dim" if median == "-" else "")
    brief = f"{median} {_MARKS[c.verdict]}"
    changed = c.verdict in words.CHANGED
    found = words.effect(c)
    full = f"{brief} {factor(found.ratio) if found.ratio >= 1 else found.word}" if changed else brief
    return Cell(full, words.STYLES[c.verdict] if changed else "", (brief,))


def _matrix(
    results: Sequence[SuiteComparison],
    benchmarks: Sequence[str],
    ranking: SuiteRanking | None,
    everything: bool,
) -> Table:
    """Benchmarks by versions: times with marks, and changes where there is room."""
    heads = [{c.benchmark: c for c in r.headlines} for r in results]
    names = _names_of(results)
    shown = labels(names, 14)
    column, named = benchmark_column(benchmarks)

    def clearness(name: str) -> float:
        bounds = [
            words.effect(h[name]).bound for h in heads if name in h and h[name].verdict in words.CHANGED
        ]
        return -max((b for b in bounds if not math.isnan(b)), default=0.0)

    rows = []
    for i, name in enumerate(sorted(benchmarks, key=clearness)):
        found = [h.get(name) for h in heads]
        reference = next(c for c in found if c is not None).reference
        times = [reference.median, *(c.candidate.median if c else math.nan for c in found)]
        first, *medians = values(times, reference.unit)
        worst = any(c and c.verdict is Verdict.SLOWER for c in found)
        told = [f"{label}: {words.change(c)}" for label, c in zip(names[1:], found, strict=True) if c]
        row = Row.of(named(name), first, *map(_cell, found, medians), name=name, kind="benchmarks")
        outcome: Outcome = "failed" if worst else "passed"
        hidden = i >= _SHOWN and not everything
        rows.append(replace(row, outcome=outcome, message="; ".join(told), folded=hidden))
    # The best one is never left out for want of room.
    ranked = [v.version for v in ranking.versions if v.version != names[0]] if ranking else names[1:]
    columns = (
        column,
        *right(shown[0]),
        *(Column(label, drop=ranked.index(name)) for name, label in zip(names[1:], shown[1:], strict=True)),
    )
    return Table.of(columns, rows, repeats=2 if everything else 0)

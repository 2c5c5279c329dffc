"""Three versions or more: their ranking, then one table of all benchmarks against the reference."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec.structs import replace

from speedproof.conclude.suite import SuiteComparison
from speedproof.options import WORTH_KNOWING
from speedproof.protocols.results import SEQUENTIAL, Comparison, SuiteRanking, Verdict
from speedproof.protocols.units import several
from speedproof.reporting import sheet, words
from speedproof.reporting.model import Cell, Column, Meaning, Report, Row, Table, Text, hint_of_all, right
from speedproof.reporting.names import benchmark_column, called, common_prefix, enumerate_names, shortened
from speedproof.reporting.notes import doubts, unseen
from speedproof.reporting.numbers import factor, percent, plural, share, sparkline, values
from speedproof.reporting.rows import (
    OUTCOMES,
    Voice,
    contradicted,
    interval_cell,
    opposite,
    records,
    version_columns,
)

_MARKS = {Verdict.FASTER: "+", Verdict.SLOWER: "-", Verdict.EQUIVALENT: "=", Verdict.UNDECIDED: "~"}
_WORST_FIRST: tuple[Meaning, ...] = ("failed", "undecided", "passed")
_SHOWN, _TITLE = 10, 16
_FEW = 3  # least commits for a line of medians, and most contradictions listed
_WIDE = 3  # benchmarks up to which a table of several versions has a row a version
_DATE = re.compile(r"\d{4}-?\d\d-?\d\d")
_COMMIT = re.compile(r"[0-9a-f]{7,40}(?= |$)|WORKTREE(?= |$)")
_NUMBERED = re.compile(r"\D*\d+(\.\d+)*\D*")


class _Versions:
    """Several candidates against one reference, as every line of their report needs them."""

    def __init__(self, results: Sequence[SuiteComparison], ranking: SuiteRanking | None) -> None:
        self.results, self.ranking = results, ranking
        self.names = [results[0].reference, *(r.candidate for r in results)]
        self.called = called(self.names)
        self.heads = {(c.benchmark, r.candidate): c for r in results for c in r.headlines}
        self.answers: dict[str, dict[str, Comparison]] = {}  # by benchmark, then by candidate
        for (name, candidate), c in self.heads.items():
            self.answers.setdefault(name, {})[candidate] = c
        self.benchmarks = list(self.answers)
        self.first = results[0].headlines[0]
        self.voice = Voice.of(*results)

    def medians(self, benchmark: str) -> dict[str, str]:
        """The times of a benchmark that the answers compare, by version."""
        answers = self.answers[benchmark]
        first = next(iter(answers.values()))
        sides = {
            self.names[0]: words.located(first)[0],
            **{v: words.located(c)[1] for v, c in answers.items()},
        }
        return dict(zip(sides, values([*sides.values()], first.reference.unit), strict=True))


def report(
    results: Sequence[SuiteComparison],
    ranking: SuiteRanking | None = None,
    *,
    everything: bool = False,
    details: bool = False,
    explain: bool = False,
) -> Report:
    """Several candidates against one reference, on one metric."""
    apart = [r.candidate for r in results if not r.comparisons]
    results = [r for r in results if r.comparisons]
    if not results:
        nothing = Text("No benchmark was measured with two of the versions.", "bad")
        return Report("", (nothing,))
    of = _Versions(results, ranking)
    voice, metric, several = of.voice, of.first.metric, len(of.benchmarks) > 1
    answer = _answer(of)
    if all(sheet.single_runs(r) for r in results):
        warning = "One run of each proves nothing: nobody knows how much runs differ. Repeat them."
        answer = Text(warning, "warning")
    shown = of.benchmarks if len(of.benchmarks) <= _WIDE else []
    if not several:
        tables = [_of_one(of)]
    else:
        tables = [_by_place(of, shown)] if ranking is not None or shown else []
        tables += [] if shown else [_matrix(of, everything)]
    notes = _left_out(results)
    if apart:
        shared = f"No benchmark of {of.names[0]} is in {enumerate_names(apart, 4)}"
        notes.insert(0, Text(shared, "warning"))
    if several:
        marks = f"+ {voice.better} than the reference, - {voice.worse}, as measured; ~ undecided"
        but = " (! not proven)" * any(map(words.marked, of.heads.values()))
        notes.insert(0, Text(f"{marks}{but}.", "dim"))
    sizes = {side.n for c in of.heads.values() for side in (c.reference, c.candidate)}
    if not several and len(sizes) > 1 and all(c.test == SEQUENTIAL for c in of.heads.values()):
        notes.append(Text("Changes are of runs in the same blocks, medians of all runs.", "dim"))
    notes += _contradicted(of)
    notes += doubts([*of.heads.values()])
    # Versions may find no room where there are many of them.
    hint = hint_of_all("row and version", *tables, hides=len(results) > _WIDE)
    parts = [(r, part) for r in results for part in sheet.sections(r, details=details, explain=explain)]
    return Report(
        f"{plural(len(results), 'version')} against {of.called[of.names[0]]}: {metric}",
        (answer, *unseen(results, of.names), *_line(of)),
        tuple(tables),
        tuple(notes),
        (*hint, "--details: other protocols", "--explain: checks"),
        tuple(replace(part, title=f"{of.called[r.candidate]}: {part.title}") for r, part in parts),
        records=partial(records, *results),
        good=not any(c.proven_verdict is Verdict.SLOWER for c in of.heads.values()),
        about=metric,
    )


def _line(of: _Versions) -> Iterator[Text]:
    """The medians of commits as a line, the oldest first."""
    commits = all(map(_COMMIT.match, of.names)) and len(of.names) > _FEW
    if not commits or of.ranking is not None:
        return
    for name, answers in [*of.answers.items()][:_SHOWN]:
        sides = [next(iter(answers.values())).reference, *(c.candidate for c in answers.values())]
        which = f", {name}" if len(of.benchmarks) > 1 else ""
        yield Text(f"In this order{which}: {sparkline([side.median for side in sides])}")


def _contradicted(of: _Versions) -> list[Text]:
    """Contradicting answers, a line each; of many the first."""
    several, old, lines = len(of.benchmarks) > 1, of.called[of.names[0]], []
    for r in of.results:
        new, answers = of.called[r.candidate], r.by_benchmark
        for head in r.headlines:
            against = [contradicted(*one, new, old) for one in opposite(answers[head.benchmark], head)]
            lines += [f"{f'{head.benchmark}: ' * several}{one}" for one in against]
    rest = len(lines) - _FEW
    more = f" (and {rest} more in the details)" if rest > 0 else ""
    return [Text(f"But {line}{more * (i == _FEW - 1)}.", "warning") for i, line in enumerate(lines[:_FEW])]


def _left_out(results: Sequence[SuiteComparison]) -> list[Text]:
    """Benchmarks that some version lacks, in one line."""
    names = {name for r in results for name in (*r.only_reference, *r.only_candidate, *r.unmeasured)}
    problems = [problem for r in results for problem in r.problems]
    where = " in the details"
    return [*sheet.leftovers(sheet.IN_SOME, [(sorted(names), len(names))], problems, len(problems), where)]


def _answer(of: _Versions) -> Text:
    """Who is first, if anybody is proven to be, and at which risk."""
    reference, voice = of.called[of.names[0]], of.voice
    metric = words.metric_first(of.first.metric)
    if of.ranking is None or (len(of.answers) == 1 and all(v.best_rank == 1 for v in of.ranking.versions)):
        asked = voice.asked(of.first.protocol, of.first.alpha)
        counted = words.counted(words.counts_of(of.heads.values()), voice.kinds)
        many = "s" * (len(of.heads) > 1)
        return Text(f"{metric}{counted} comparison{many} with {reference}", "strong", asked)
    ranking, over = of.ranking, len(of.ranking.benchmarks)
    where = "" if over == 1 else f"geometric mean of {over} benchmarks, "
    what = f"places at a joint risk of {percent(ranking.alpha)}"
    sure = "not proven" if voice.shaken else f"{what}, each {voice.shown} change at {percent(of.first.alpha)}"
    risk = f"({where}{sure})"
    superlative = {"faster": "fastest", "better": "best"}[voice.better]
    first = enumerate_names([of.called[v] for v in ranking.leading], 4)
    total = len(ranking.versions)
    if not ranking.leading:
        nobody = f"{metric}No version is {superlative}: each is proven {voice.worse} than another"
        return Text(nobody, "strong", risk)
    if ranking.winner:
        gain = next(v.speedup.value for v in ranking.versions if v.version == ranking.winner)
        ahead = f", {words.observed(gain, voice.better, '')} than {reference}"
        lead = f"{metric}{first} is {superlative} of {total}{ahead * (ranking.winner != of.names[0])}"
        return Text(lead, "strong", risk)
    one = f"whether {first} is {superlative} of {total}"
    which = one if len(ranking.leading) == 1 else f"which is {superlative}: {first}"
    return Text(f"{metric}Undecided {which}", "strong", risk)


def _by_place(of: _Versions, benchmarks: Sequence[str]) -> Table:
    """A row a version, with its times on few benchmarks; the order inside a range of places is not proven."""
    voice, start = of.voice, len(common_prefix(benchmarks))
    medians = [(of.answers[name], of.medians(name)) for name in benchmarks]
    places = {v.version: v for v in of.ranking.versions} if of.ranking else {}
    rows = []
    for i, name in enumerate(dict.fromkeys([*places, *of.names])):
        place, over = "", Cell("")
        if v := places.get(name):
            place, over = v.place, Cell("reference", shorter=("reference",), speedup=v.speedup)
            if name != of.names[0]:
                over = interval_cell(v.speedup, voice.better, voice.worse)
        cells = [_cell(answers.get(name), times.get(name, "-")) for answers, times in medians]
        folds = bool(places) and i >= (2 * _SHOWN if benchmarks else _SHOWN)
        shown = Cell(of.called[name], "strong")
        said = _said({b: of.answers[b][name] for b in benchmarks if name in of.answers[b]})
        rows.append(Row.of(place, shown, over, *cells, name=name, kind="versions", folded=folds, **said))
    titles = zip(benchmarks, shortened([name[start:] for name in benchmarks], _TITLE), strict=True)
    columns = (
        *right("place" if places else ""),
        Column("version", names=True),
        Column(f"over {of.called[of.names[0]]}" if places else "", brief="over all" if places else ""),
        *(Column(name, brief=brief, drop=-i) for i, (name, brief) in enumerate(titles)),
    )
    return Table.of(columns, rows)


def _of_one(of: _Versions) -> Table:
    """One benchmark: a row a version, by place, or in their own order where they are dated or numbered."""
    heads, medians = of.answers[of.first.benchmark], of.medians(of.first.benchmark)
    places = {v.version: v for v in of.ranking.versions} if of.ranking else {}

    def gain(name: str) -> float:
        value = heads[name].speedup.value if name in heads else 1.0
        return 1.0 if math.isnan(value) else value

    fastest_first = sorted(of.names, key=gain, reverse=True)
    names = [*dict.fromkeys([*places, *(of.names if places or _dated(of.names) else fastest_first)])]
    beside = {r.candidate: r.comparisons for r in of.results}
    rows = []
    for name in names:
        head = heads.get(name)
        place = places[name].place if name in places else ""
        change = _change(head) if head else (Cell("reference", "dim"), "")
        runs = str((head.candidate if head else of.first.reference).n)
        cells = place, Cell(of.called[name], "strong"), medians[name], *change, runs
        if head is None:
            outcome, message = ("", "the reference")
        else:
            outcome, message = (OUTCOMES[head.proven_verdict], of.voice.sentence(head, beside[name]))
        rows.append(Row.of(*cells, name=name, kind="versions", outcome=outcome, message=message))
    columns = (
        *right("place" if places else ""),
        Column(of.first.benchmark, names=True),
        *right(of.first.protocol.upper() if of.first.quantiles else words.location_of(of.first)),
        *of.voice.columns[:2],
        *right(several(of.first.repeated), drop=1),
    )
    return Table.of(columns, rows)


def _change(head: Comparison) -> tuple[Cell, str]:
    if head.verdict is Verdict.EQUIVALENT:
        within = share(head.at_margin.margin if head.at_margin else WORTH_KNOWING)
        return Cell(words.change(head), "dim"), f"within {within}"
    if head.verdict in words.CHANGED:
        change = Cell(words.change(head), words.style(head), speedup=head.certified)
        return change, f"{words.at_least(words.effect(head).bound)} {words.marked(head)}".rstrip()
    brief = words.whys(head)[1] if head.verdict is Verdict.UNDECIDED else ""
    return Cell(words.change(head), "dim"), f"({brief})" if brief else ""


def _dated(names: Sequence[str]) -> bool:
    """Whether versions are in the order of dates or numbers in their names, or are named as commits."""
    if all(map(_COMMIT.match, names)):
        return True
    for find in (_DATE.search, _NUMBERED.fullmatch):
        matches = [match[0] for name in names if (match := find(name))]
        if len(matches) == len(names):
            keys = [[int(n) for n in re.findall(r"\d+", text)] for text in matches]
            return keys == sorted(keys)
    return False


def _cell(c: Comparison | None, median: str) -> Cell:
    """A time with what is proven of it; the reference's alone."""
    if c is None:
        return Cell(median, "dim" if median == "-" else "")
    brief = f"{median} {_MARKS[c.verdict]}{words.marked(c)}"
    if c.verdict not in words.CHANGED:
        return Cell(brief, shorter=(brief,))
    effect = words.effect(c)
    full = f"{brief} {factor(effect.ratio) if effect.ratio >= 1 else effect.word}"
    return Cell(full, words.style(c), (brief,))


def _said(answers: Mapping[str, Comparison]) -> dict[str, Any]:
    """The outcome of a row for a pipeline: the worst of its comparisons, and the text of all."""
    outcomes = [OUTCOMES[c.proven_verdict] for c in answers.values()]
    message = "; ".join(f"{name}: {words.change(c)}" for name, c in answers.items())
    return {"outcome": min(outcomes, key=_WORST_FIRST.index, default=""), "message": message}


def _matrix(of: _Versions, everything: bool) -> Table:
    """Benchmarks by versions: times with marks, and changes where there is room."""
    reference, *candidates = of.names
    first, *heads = version_columns(*of.names)
    column, named = benchmark_column(of.benchmarks)

    def clearness(name: str) -> float:
        changed = [words.effect(c).bound for c in of.answers[name].values() if c.verdict in words.CHANGED]
        return -max((bound for bound in changed if not math.isnan(bound)), default=0.0)

    rows, places = [], len(of.ranking.versions) if of.ranking else 0
    room = min(_SHOWN, max(_SHOWN + _SHOWN // 2 - places, _SHOWN // 2))  # a place has a row, too
    for i, name in enumerate(sorted(of.benchmarks, key=clearness)):
        answers, medians = of.answers[name], of.medians(name)
        cells = [_cell(answers.get(v), medians.get(v, "-")) for v in candidates]
        said = {"kind": "benchmarks", "folded": i >= room and not everything, **_said(answers)}
        rows.append(Row.of(named(name), medians[reference], *cells, name=name, **said))
    # The best one is never left out for want of room.
    ranked = [v.version for v in of.ranking.versions if v.version != reference] if of.ranking else candidates
    columns = (
        replace(head, right=False, drop=ranked.index(name))
        for name, head in zip(candidates, heads, strict=True)
    )
    return Table.of((column, first, *columns), rows, repeats=2 if everything else 0)

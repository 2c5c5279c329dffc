"""Which version to run, by the chance that a single run of it beats one of every other."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from speedproof.data.suite import Key
from speedproof.protocols.run_ranking import RankedRun, RunRanking
from speedproof.protocols.summaries import outermost
from speedproof.reporting.model import Cell, Column, Report, Row, Table, Text, folded, hint_of_all, right
from speedproof.reporting.names import benchmark_column, called, labels
from speedproof.reporting.notes import risk_of_many
from speedproof.reporting.numbers import case_share, percent, plural, values
from speedproof.reporting.words import counted_runs, several
from speedproof.stats.estimate import Estimate

if TYPE_CHECKING:
    from speedproof.protocols.modes import ModeComparison

_TITLE = 14


class BenchmarkRanking(Struct, frozen=True):
    """One benchmark."""

    key: Key
    unit: str
    ranking: RunRanking
    changes: ModeComparison | None  # for two versions, what became of their modes

    def __str__(self) -> str:
        return f"{self.ranking}\n{self.advice}"

    def __repr__(self) -> str:
        versions = ", ".join(v.version for v in self.ranking.versions)
        return f"<BenchmarkRanking: {self.key.benchmark}, {versions}>"

    @property
    def advice(self) -> str:
        """Which version to run, in a sentence."""
        return advice(self.ranking)

    def as_record(self) -> dict[str, object]:
        """As in JSON."""
        return {
            "benchmark": self.key.benchmark,
            "metric": self.key.metric,
            "unit": self.unit,
            "ranking": self.ranking,
            "advice": self.advice,
            "modes": self.changes,
            "conclusion": self.changes.conclusion if self.changes else None,
        }


def report(
    found: Sequence[BenchmarkRanking],
    versions: Sequence[str],
    *,
    everything: bool = False,
    details: bool = False,
    note: str = "",
) -> Report:
    """One benchmark: a row a version. Several: how often each comes first, then a row a benchmark."""
    if len({one.key.metric for one in found}) > 1:
        found = [
            replace(one, key=Key(f"{one.key.benchmark} ({one.key.metric})", one.key.metric)) for one in found
        ]
    made = _suite(found, versions, everything=everything) if len(found) > 1 else _benchmark(found[0])
    sections = tuple(_details(one) for one in found) if details else ()
    more = () if details else ("--details: modes, mixtures, warnings",)
    return replace(
        made,
        notes=(*([Text(note, "dim")] if note else []), *made.notes),
        hints=(*hint_of_all("benchmark", made.tables[-1]), *more),
        sections=sections,
        command="rank",
        data=found,
    )


def _benchmark(one: BenchmarkRanking) -> Report:
    sure = one.ranking.winner and not one.ranking.undermined
    return Report(
        f"{one.key.benchmark}: {one.key.metric}",
        (Text(one.advice, "good" if sure else "warning"),),
        (_places(one, one.key.benchmark),),
        tuple(_separation(one.ranking)),
    )


def _places(one: BenchmarkRanking, title: str) -> Table:
    """The versions of a benchmark by place; a range of places means that the order inside is not proven."""
    ranking = one.ranking
    medians = values([v.median for v in ranking.versions], one.unit)
    means = values([v.mean for v in ranking.versions], one.unit)
    names = _names(ranking).values()
    columns = (
        *right("place"),
        Column(title, names=True),
        *right("median"),
        *right("mean", drop=1),
        Column("best single run", right=True, brief="best run"),
        *right(_units(ranking), drop=2),
    )
    told = _wins if _bounded(ranking.versions[0], ranking) else lambda chance: case_share(chance.value)
    rows = [
        Row.of(v.place, Cell(name, "strong"), median, mean, told(v.chance), counted_runs(v.units, v.n),
               name=v.version, kind="versions", folded=i >= 10)
        for i, (v, name, median, mean) in enumerate(zip(ranking.versions, names, medians, means, strict=True))
    ]  # fmt: skip
    return Table.of(columns, rows)


def _bounded(best: RankedRun, ranking: RunRanking) -> bool:
    """Whether the interval of the chance says what the test behind the places says.

    They are two procedures: among many versions a winner needs no majority, and of values nested in processes the
    interval is the wider one.
    """
    decided = best.best_rank == best.worst_rank == 1
    return len(ranking.versions) == 2 and (not decided or best.chance.low > 0.5)


def _wins(chance: Estimate) -> Cell | str:
    told = case_share(chance.value)
    low, high = case_share(chance.low, -1), case_share(chance.high, 1)
    return Cell(f"{told} [{low}, {high}]", shorter=(told,))


def _suite(found: Sequence[BenchmarkRanking], versions: Sequence[str], *, everything: bool) -> Report:
    """How often each version comes first, then the benchmarks, the clearest first."""
    firsts = Counter(one.ranking.winner for one in found)
    leading = sorted(versions, key=lambda name: -firsts[name])
    shown = called(leading)
    told = [f"{shown[name]} in {firsts[name]}" for name in leading if firsts[name]]
    told += [f"undecided in {firsts['']}"] if firsts[""] else []
    answer = f"Best single runs in {plural(len(found), 'benchmark')}: {', '.join(told)}"
    headline = Text(answer, "strong", f"(risk {percent(found[0].ranking.alpha)} in each)")
    tables = [_standing(found, shown, firsts)] if len(versions) > 2 else []
    # What comes first is never left out for want of room.
    order = leading if len(versions) > 2 else versions
    return Report(
        f"Ranking of {len(versions)} versions",
        (headline,),
        (*tables, _matrix(found, order, leading, everything=everything)),
        tuple(_undermining([one.ranking for one in found])),
    )


def _standing(found: Sequence[BenchmarkRanking], shown: dict[str, str], firsts: Mapping[str, int]) -> Table:
    """How often each version is first, may be, and is last."""
    may = Counter(name for one in found for name in one.ranking.leading)
    last = Counter(
        v.version for one in found for v in one.ranking.versions if v.best_rank == len(one.ranking.versions)
    )
    rows = (
        (Cell(label, "strong"), str(firsts[name]), str(may[name] - firsts[name]), str(last[name]))
        for name, label in shown.items()
    )
    return Table.of((Column("version", names=True), *right("first", "may be", "last")), rows)


def _matrix(
    found: Sequence[BenchmarkRanking], versions: Sequence[str], leading: Sequence[str], *, everything: bool
) -> Table:
    """Benchmarks by versions: medians, and who wins how many single runs."""
    column, named = benchmark_column([one.key.benchmark for one in found])
    names = dict(zip(versions, labels(versions, _TITLE), strict=True))
    order = [*leading, ""]

    def clearness(one: BenchmarkRanking) -> tuple[int, float]:
        return order.index(one.ranking.winner), -one.ranking.versions[0].chance.value

    rows = []
    for one in sorted(found, key=clearness):
        ranking = one.ranking
        own = {v.version: v.median for v in ranking.versions}
        medians = values([own.get(n, math.nan) for n in versions], one.unit)
        first, best = ranking.winner, ranking.versions[0]
        mark = " !" if ranking.undermined else ""
        if first:
            brief = f"{names[first]} wins {case_share(best.chance.value)}"
            low = f" (at least {case_share(best.chance.low, -1)})" if _bounded(best, ranking) else ""
            told = Cell(f"{brief}{low}{mark}", "good", (f"{brief}{mark}",))
        else:
            told = Cell(f"~ undecided{mark}", "dim", (f"~{mark}",))
        kind = f"with {names[first]} first" if first else "undecided"
        name = one.key.benchmark
        rows.append(Row.of(named(name), *medians, told, name=name, message=told.text, kind=kind))
    columns = (
        column,
        *(Column(names[n], right=True, drop=max(0, i - 1)) for i, n in enumerate(versions)),
        Column("single runs"),
    )
    clear = [f"with {names[name]} first" for name in leading]
    return Table.of(columns, folded(rows, *clear, everything=everything))


def _details(one: BenchmarkRanking) -> Report:
    """A benchmark with its modes, its mixtures and what undermines its places."""
    ranking = one.ranking
    names = _names(ranking)
    rows = (
        (
            Cell(names[v.version], "strong"),
            str(v.modes or "-"),
            f"{100 * v.ties:.1f} %",
            _wins(v.mixture_chance) if v.mixture_chance else "-",
        )
        for v in ranking.versions
    )
    columns = (Column("version", names=True), *right("modes", "ties add", "by mixtures"))
    notes = [Text(f"  {one.advice}"), *_separation(ranking)]
    messages = {c.message: c for v in ranking.versions for c in v.undermining}
    notes += [Text(f"  {c.kind.title}: {c.message}.", "dim") for c in messages.values()]
    if one.changes is not None:
        notes.append(Text(f"  Modes: {one.changes.conclusion}."))
    return Report(one.key.benchmark, (), (_places(one, "version"), Table.of(columns, rows)), tuple(notes))


def _separation(found: RunRanking) -> Iterator[Text]:
    """What is not told apart, and what undermines the places."""
    risk = f"joint risk {percent(found.alpha)}"
    if found.groups:
        names = _names(found)
        told = [[names[name] for name in group] for group in found.groups]
        groups = "; ".join(" and ".join((", ".join(g[:-1]), g[-1])) for g in told)
        yield Text(f"Undecided on single runs: {groups} ({risk}).", "warning")
    else:
        yield Text(f"All neighbours differ on single runs ({risk}).")
    if not found.enough_runs:
        few = f"Fewer than {found.least_runs} {_units(found)} of a version"
        yield Text(f"{few} never prove an order of {len(found.versions)}.", "warning")
    yield from _undermining([found])


def _units(found: RunRanking) -> str:
    """What was repeated independently: runs, processes or sessions."""
    return several(outermost(v.repeated for v in found.versions))


def _names(found: RunRanking) -> dict[str, str]:
    """The versions as every sentence and row tells them."""
    return called([v.version for v in found.versions])


def _undermining(rankings: Sequence[RunRanking]) -> Iterator[Text]:
    """Which assumptions are not met, and of which versions, or in how many benchmarks."""
    kinds: dict[str, set[str]] = {}
    for i, ranking in enumerate(rankings):
        for v in ranking.versions:
            for check in v.undermining:
                kinds.setdefault(check.kind.title, set()).add(v.version if len(rankings) == 1 else str(i))
    if not kinds:
        return
    if len(rankings) == 1:
        names = _names(rankings[0])
        told = "; ".join(
            f"{kind} ({', '.join(sorted(names[name] for name in who))})" for kind, who in kinds.items()
        )
        yield Text(f"! Not met: {told}. The true risk may be larger.", "warning")
        return
    many = plural(sum(ranking.undermined for ranking in rankings), "benchmark")
    yield risk_of_many(many, {kind: len(who) for kind, who in kinds.items()})


def advice(found: RunRanking) -> str:
    """Which version to run often, and which rarely (section 8.3 of the report).

    A program that runs often is paid for by its mean or lived with by its median; one that runs rarely should win
    the single run. An imperative only where the first place on a single run is proven.
    """
    first = found.versions[0]
    names = _names(found)
    mean, median, rarely = (names[n] for n in (found.best_in_mean, found.best_in_median, first.version))
    rivals = [names[v.version] for v in found.versions[1:]]
    against = rivals[0] if len(rivals) == 1 else f"each of the {len(rivals)} others"
    c = first.chance
    limits = f" ({case_share(c.low, -1)} to {case_share(c.high, 1)})" if _bounded(first, found) else ""
    beats = f"a run of it beats a run of {against} in {case_share(c.value)} of cases{limits}"
    agreed = mean == median == rarely
    leading = [names[v] for v in found.leading]  # none where they beat each other in a circle
    if leading != [rarely]:
        among = "" if len(leading) in (0, len(found.versions)) else f", {' or '.join(leading)} may be"
        also = "" if agreed else f" In mean it is {mean}, in median {median}."
        if all(c.value <= v.chance.value for v in found.versions[1:]):
            return f"No version is shown to be the best{among}, and none is ahead.{also}"
        return f"No version is shown to be the best{among}. {rarely} looks best so far: {beats}.{also}"
    if agreed:
        text = f"Run {mean}: {beats}, and it has the best mean and median."
    else:  # only the order on a single run was tested
        text = (
            f"Run {rarely} where single runs count: {beats}. The best mean is that of {mean}, the best median "
            f"that of {median}."
        )
    return (
        f"If the runs were independent and steady: {text[0].lower()}{text[1:]}" if found.undermined else text
    )

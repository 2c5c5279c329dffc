"""Which version to run, by the chance that a single run of it beats one of every other."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import asdict, replace

from speedproof.data.notes import Assumption, Note
from speedproof.data.suite import Key
from speedproof.protocols.caveats import MachineSpeeds
from speedproof.protocols.ranking import RunRanking
from speedproof.protocols.results import Verdict
from speedproof.protocols.units import several, unit_of_all
from speedproof.reporting.model import Cell, Column, Report, Row, Table, Text, folded, hint_of_all
from speedproof.reporting.names import benchmark_column, called, labels
from speedproof.reporting.notes import risk_of_many, unseen
from speedproof.reporting.numbers import case_share, percent, plural, values
from speedproof.reporting.words import chance_interval, how_often
from speedproof.stats.estimate import Estimate

if TYPE_CHECKING:
    from speedproof.conclude.suite import SuiteComparison
    from speedproof.protocols.modes import ModeComparison

_TITLE = 14


class BenchmarkRanking(Struct, frozen=True):
    """One benchmark."""

    key: Key
    unit: str
    ranking: RunRanking
    changes: ModeComparison | None  # for two versions, what became of their modes
    # What the data of all benchmarks cannot know, as comparisons with the reference have it
    caveats: tuple[Note, ...] = ()
    machine: MachineSpeeds | None = None

    def __str__(self) -> str:
        return f"{self.ranking}\n{self.advice}"

    def __repr__(self) -> str:
        versions = ", ".join(v.version for v in self.ranking.versions)
        return f"<BenchmarkRanking: {self.key.benchmark}, {versions}>"

    @property
    def advice(self) -> str:
        """Which version to run, in a sentence."""
        return advice(self.ranking, shaken=self.machine is not None)

    @property
    def proven(self) -> bool:
        """Whether the first place on a single run is."""
        return bool(self.ranking.winner) and not self.ranking.undermined and self.machine is None

    def as_record(self) -> dict[str, object]:
        """The ranking in the form of the JSON output."""
        places = {"unit": self.unit, "ranking": self.ranking, "advice": self.advice}
        modes = {"modes": self.changes, "conclusion": self.changes.conclusion if self.changes else None}
        return {**asdict(self.key), **places, **modes, "caveats": self.caveats, "machine": self.machine}


def report(
    rankings: Sequence[BenchmarkRanking],
    versions: Sequence[str],
    compared: Sequence[SuiteComparison],
    *,
    everything: bool,
    details: bool,
    note: str = "",
) -> Report:
    """One benchmark: a row a version. Several: how often each comes first, then a row a benchmark.

    ``compared`` are the versions against the reference.
    """
    if len({one.key.metric for one in rankings}) > 1:
        rankings = [
            replace(one, key=Key(f"{one.key.benchmark} ({one.key.metric})", one.key.metric))
            for one in rankings
        ]
    one = len(rankings) == 1
    made = _benchmark(*rankings) if one else _suite(rankings, versions, everything=everything)
    return replace(
        made,
        headline=(*made.headline, *unseen(compared, versions)),
        notes=(*([Text(note, "dim")] if note else []), *made.notes),
        hints=(*hint_of_all("benchmark", made.tables[-1]), "--details: modes, mixtures, warnings"),
        sections=tuple(_details(ranking, alone=one) for ranking in rankings) if details else (),
    )


def _benchmark(one: BenchmarkRanking) -> Report:
    return Report(
        f"{one.key.benchmark}: {one.key.metric}",
        (Text(one.advice, "good" if one.proven else "strong"),),
        (_places(one, one.key.benchmark),),
        tuple(_separation(one.ranking)),
    )


def _places(one: BenchmarkRanking, title: str) -> Table:
    """The versions of a benchmark by place; a range of places means that the order inside is not proven."""
    versions, names = one.ranking.versions, _names(one.ranking)
    medians = dict(zip(names, values([v.median for v in versions], one.unit), strict=True))
    means = dict(zip(names, values([v.mean for v in versions], one.unit), strict=True))
    beyond = [*names][10:]
    return Table.by(
        versions,
        (Column("place", right=True), lambda v: v.place),
        (Column(title, names=True), lambda v: Cell(names[v.version], "strong")),
        (Column("median", right=True), lambda v: medians[v.version]),
        (Column("mean", right=True, drop=1), lambda v: means[v.version]),
        (Column("best single run", right=True, brief="best run"), lambda v: _chance(v.chance)),
        (Column(_units(one.ranking), right=True, drop=2), lambda v: str(v.units)),
        row=lambda v: {"name": v.version, "kind": "versions", "folded": v.version in beyond},
    )


def _chance(chance: Estimate) -> Cell:
    return Cell(chance_interval(chance), shorter=(case_share(chance.value),))


def _suite(rankings: Sequence[BenchmarkRanking], versions: Sequence[str], *, everything: bool) -> Report:
    """How often each version comes first, then the benchmarks, the clearest first."""
    firsts = Counter(one.ranking.winner for one in rankings)
    leading = sorted(versions, key=lambda name: -firsts[name])
    shown = called(leading)
    counts = [f"{shown[name]} in {firsts[name]}" for name in leading if firsts[name]]
    counts += [f"undecided in {firsts['']}"] if firsts[""] else []
    answer = f"Best single runs in {plural(len(rankings), 'benchmark')}: {', '.join(counts)}"
    risk = f"risk {percent(rankings[0].ranking.alpha)} in each"
    risk = "not proven" if any(one.machine for one in rankings) else risk
    # What comes first is never left out for want of room.
    order = leading if len(versions) > 2 else versions
    return Report(
        f"Ranking of {len(versions)} versions",
        (Text(answer, "strong", f"({risk})"),),
        (_matrix(rankings, order, leading, everything=everything),),
        tuple(_undermining([one.ranking for one in rankings])),
    )


def _matrix(
    rankings: Sequence[BenchmarkRanking], versions: Sequence[str], leading: Sequence[str], *, everything: bool
) -> Table:
    """Benchmarks by versions: medians, and who wins how many single runs."""
    column, named = benchmark_column([one.key.benchmark for one in rankings])
    names = dict(zip(versions, labels(versions, _TITLE), strict=True))
    order = [*leading, ""]

    def clearness(one: BenchmarkRanking) -> tuple[int, float]:
        return order.index(one.ranking.winner), -one.ranking.versions[0].chance.value

    rows = []
    for one in sorted(rankings, key=clearness):
        ranking, name = one.ranking, one.key.benchmark
        medians = {v.version: v.median for v in ranking.versions}
        first, best = ranking.winner, ranking.versions[0]
        mark = " !" if ranking.undermined else ""
        wins, kind = Cell(f"~ undecided{mark}", "dim", (f"~{mark}",)), "undecided"
        if first:
            brief, kind = f"{names[first]} wins {case_share(best.chance.value)}", f"with {names[first]} first"
            least = f"{brief} (at least {case_share(best.chance.low, -1)}){mark}"
            wins = Cell(least, "good" if one.proven else "dim", (f"{brief}{mark}",))
        shown = values([medians.get(v, math.nan) for v in versions], one.unit)
        rows.append(Row.of(named(name), *shown, wins, name=name, message=wins.text, kind=kind))
    columns = (
        column,
        *(Column(names[v], right=True, drop=max(0, i - 1)) for i, v in enumerate(versions)),
        Column("single runs"),
    )
    clear = [f"with {names[name]} first" for name in leading]
    return folded(Table.of(columns, rows), *clear, everything=everything)


def _details(one: BenchmarkRanking, *, alone: bool) -> Report:
    """A benchmark's modes, its mixtures and what undermines its places, which stand above where it is alone."""
    ranking, names = one.ranking, _names(one.ranking)
    table = Table.by(
        ranking.versions,
        (Column("version", names=True), lambda v: Cell(names[v.version], "strong")),
        (Column("modes", right=True), lambda v: str(v.modes or "-")),
        (Column("ties", right=True), lambda v: f"{100 * v.ties:.1f} %"),
        (Column("by mixtures", right=True), lambda v: _chance(v.mixture_chance) if v.mixture_chance else "-"),
    )
    notes = [] if alone else [Text(f"  {one.advice}"), *_separation(ranking)]
    messages = {c.message: c for v in ranking.versions for c in v.undermining}
    notes += [Text(f"  {c.kind.value}: {c.advice}.", "dim") for c in messages.values()]
    if one.changes is not None:
        notes.append(Text(f"  Modes: {one.changes.conclusion}."))
    above = [] if alone else [_places(one, "version")]
    return Report(one.key.benchmark, (), (*above, table), tuple(notes))


def _separation(ranking: RunRanking) -> Iterator[Text]:
    """At which risk the places hold, and what undermines them."""
    of_two = len(ranking.versions) == 2
    chances = "each limit holds alone" if of_two else "chances are drawn towards their mean"
    yield Text(f"Places hold at a joint risk of {percent(ranking.alpha)}; {chances}.", "dim")
    if not ranking.enough_runs:
        few = f"Fewer than {ranking.least_runs} {_units(ranking)} of a version"
        yield Text(f"{few} never prove an order of {len(ranking.versions)}.", "warning")
    yield from _undermining([ranking])


def _units(ranking: RunRanking) -> str:
    """The unit of repetition: runs, processes or sessions."""
    return several(unit_of_all(v.repeated for v in ranking.versions))


def _names(ranking: RunRanking) -> dict[str, str]:
    """The versions as every sentence and row tells them."""
    return called([v.version for v in ranking.versions])


def _undermining(rankings: Sequence[RunRanking]) -> Iterator[Text]:
    """Which assumptions are not met, and of which versions, or in how many benchmarks."""
    kinds: dict[Assumption, set[str]] = {}
    for i, ranking in enumerate(rankings):
        for v in ranking.versions:
            for check in v.undermining:
                kinds.setdefault(check.kind, set()).add(v.version if len(rankings) == 1 else str(i))
    if kinds and len(rankings) > 1:
        many = plural(sum(ranking.undermined for ranking in rankings), "benchmark")
        yield risk_of_many(many, {kind.violated: len(who) for kind, who in kinds.items()})
    elif kinds:
        names = _names(rankings[0])
        listed = "; ".join(
            f"{kind.violated} ({', '.join(sorted(names[name] for name in who))})"
            for kind, who in kinds.items()
        )
        remedy = next(iter(kinds)).remedy if len(kinds) == 1 else ""
        risk = f"the true risk may be larger{remedy and f'; {remedy}'}"
        yield Text(f"! {listed[:1].upper()}{listed[1:]}: {risk}.", "warning")


def advice(ranking: RunRanking, *, shaken: bool = False) -> str:
    """Which version to run often, and which rarely (section 8.3 of the report).

    A program that runs often is paid for by its mean or lived with by its median; one that runs rarely should win
    the single run. An imperative only where the first place on a single run is proven, and no two speeds of the
    machine have ``shaken`` that.
    """
    first, names = ranking.versions[0], _names(ranking)
    mean, median, rarely = (names[n] for n in (ranking.best_in_mean, ranking.best_in_median, first.version))
    c, count = first.chance, len(ranking.versions)
    if count == 2:
        run, other = unit_of_all(v.repeated for v in ranking.versions), names[ranking.versions[1].version]
        verdict = Verdict.FASTER if ranking.winner else Verdict.UNDECIDED
        beats = f"a {run} of it beats a {run} of {other} {how_often(c, verdict, first.ties)}"
    else:
        beats = f"a run of it is the best of {count}, one of each version, {how_often(c)}"
    agreed = mean == median == rarely
    leading = [names[v] for v in ranking.leading]  # none where they beat each other in a circle
    if ranking.winner != first.version:
        text = "On a single run no version is shown to be the best"
        either = ", ".join([*leading[:-2], " or ".join(leading[-2:])])
        among = "" if len(leading) in (0, len(ranking.versions)) else f": {either} may be"
        also = "" if agreed else f" In mean it is {mean}, in median {median}."
        if all(c.value <= v.chance.value for v in ranking.versions[1:]):
            return f"{text}{among}, and none is ahead.{also}"
        return f"{text}{among}. {rarely} looks best so far: {beats}.{also}"
    if agreed:
        text = f"Run {mean}: {beats}, and it has the best mean and median."
    else:  # only the order on a single run was tested
        best = f"The best mean is that of {mean}, the best median that of {median}."
        text = f"Run {rarely} where single runs count: {beats}. {best}"
    if ranking.undermined or shaken:
        return f"If the runs were independent and steady: {text[0].lower()}{text[1:]}"
    return text

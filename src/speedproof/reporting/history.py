"""A history in words: what changed lately, alarms, one benchmark commit by commit; changes of a corpus."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from shlex import quote
from typing import TYPE_CHECKING

from msgspec.structs import replace

from speedproof.data.units import format_value
from speedproof.errors import Parameter
from speedproof.history.alarms import FoundAlarms, HistoryAlarm
from speedproof.history.changes import Change
from speedproof.history.commits import short_name
from speedproof.history.result import FoundHistory
from speedproof.history.rows import QueriedSample
from speedproof.history.tracks import Track
from speedproof.protocols.noise_floor import NoiseFloor
from speedproof.reporting.model import Cell, Column, Report, Row, Style, Table, Text, right
from speedproof.reporting.names import short_names, shortened
from speedproof.reporting.notes import up_to
from speedproof.reporting.numbers import factor, percent, plural, values
from speedproof.reporting.words import of_metric
from speedproof.stats.session_spread import widened
from speedproof.stats.two_levels import LEAST

if TYPE_CHECKING:
    from speedproof.corpus.changes import CorpusChange, CorpusChanges

_SHOWN = 7
_ALL = Parameter("everything", True, "all")
_FEW = 20  # commits of which a change of 4 deviations shows in two of three cases
_LEAST = 8  # and fewer show none
_SPARK = "\u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588"
_COMMIT = 28
_LAST = 10  # commits of a benchmark that are shown
LISTED = 25
"""Samples that a query shows."""
_WIDTH = 12  # of a line of bars in a table
_SHA = 9


def overview(result: FoundHistory, *, everything: bool = False) -> Report:
    """The last changes of a history."""
    changes = sorted(result.changes, key=lambda change: _place(result, change), reverse=True)
    series = {track.series for track in result.tracks}
    metrics = {result.series[number].key.metric for number in series}
    of_what = plural(len(series), "benchmark metric" if len(metrics) > 1 else "benchmark")
    many = f"{of_what} over {plural(result.measured, 'commit')}"
    told = f"{plural(len(changes), 'change')} in {many}" if changes else f"No change is shown in {many}"
    headline = [Text(told, "strong")]
    if result.tracks:
        at_most = f"at most {percent(1 - result.confidence)} would show one"
        headline.append(Text(f"Of histories without a change {at_most}.", "dim"))
    notes = [Text(f"{told}.") for told in between_sessions(result.noise)]
    notes += _too_few(result)
    apart = {track.basis for track in result.tracks if not track.anchored}
    if len(apart) > 1:
        told = f"{len(apart)} machines are followed apart: only an anchor in each session compares them."
        notes.append(Text(told))
    columns = (
        Column("commit"),
        Column("benchmark", names=True),
        *right("change"),
        Column(""),
        *right("at least", drop=1),
        Column("trend", drop=3),
        Column("possible since", drop=4),
        Column("today" if any(_today(change) for change in changes) else "", drop=5),
        Column("decision" if any(result.decision(change) for change in changes) else "", drop=2),
    )
    rows = [_row(result, change) for change in changes]
    shown = rows if everything else rows[:_SHOWN]
    if len(rows) > len(shown):
        notes.append(Text(f"... {len(rows) - len(shown)} earlier changes"))
    more = () if everything or len(rows) == len(shown) else ("All: --all",)
    return Report(
        f"history in {result.store}",
        tuple(headline),
        (Table.of(columns, shown),) if shown else (),
        tuple(notes),
        hints=(*_culprit(result, changes), "One benchmark: history show NAME", *more) if rows else (),
        command="history",
        data=result,
    )


def _too_few(result: FoundHistory) -> Iterator[Text]:
    """That benchmarks have too few commits to show a change, or to show any but a large one."""
    lengths: dict[int, int] = {}
    for track in result.tracks:
        lengths[track.series] = max(len(track), lengths.get(track.series, 0))
    longest = max(lengths.values(), default=0)
    short = sum(length < _LEAST for length in lengths.values())
    if lengths and longest < _FEW and not result.changes:
        told, least = "So few commits show nothing", _LEAST
        if longest >= _LEAST:
            told, least = f"Only a change of 6 times the noise shows in {plural(longest, 'commit')}", _FEW
        yield Text(f"{told}: measure {least} or more,")
        yield Text("or compare two of them: 'speedproof run --revisions GOOD BAD -- COMMAND'.")
    if 0 < short < len(lengths):
        told = f"{short} of {len(lengths)} benchmarks show nothing"
        yield Text(f"{told}: fewer than {_LEAST} commits on a machine.")


def _culprit(result: FoundHistory, changes: Sequence[Change]) -> Iterator[str]:
    """How to find the commit of the first slowdown that several may have made."""
    for change in changes:
        if result.slower(change) and result.decision(change) is None and change.earliest != change.latest:
            ends = f"{short_name(change.earliest.sha)}^..{short_name(change.latest.sha)}"
            yield f"Which commit: speedproof bisect {ends} -- COMMAND"
            return


def brief_commit(sha: str) -> str:
    """A commit in a column, its end kept."""
    return shortened([short_name(sha)], _COMMIT)[0]


def between_sessions(floor: NoiseFloor | None) -> Iterator[str]:
    """How much two sessions of one commit differ."""
    reaches = [
        math.expm1(widened(0.0, 0.05, (2, 2), spread, (1, 1)).reach(0.05))
        for spread in (floor.spreads.values() if floor else ())
    ]
    if reaches and max(reaches) > 1.0:
        yield "Too few commits were measured twice to tell how sessions differ"
    elif reaches:
        yield f"Two sessions of one commit differ by {up_to(reaches)}"


def _place(result: FoundHistory, change: Change) -> tuple[int, float]:
    order = {commit.sha: i for i, commit in enumerate(result.commits)}
    return order[change.commit.sha], abs(math.log(change.factor))


def size_of(
    change: Change | CorpusChange | HistoryAlarm, metric: str, slower: bool
) -> tuple[str, str, Style]:
    """How many times, of which direction, and in which colour."""
    times = factor(max(change.factor, 1.0 / change.factor))
    return times, of_metric(metric)[slower], "bad" if slower else "good"


def at_least(change: Change | CorpusChange) -> str:
    """So many times at least; empty where that is not known."""
    least = change.low if change.factor >= 1.0 else 1.0 / change.high
    return factor(least, -1) if least > 1.0 else ""


def _row(result: FoundHistory, change: Change) -> Row:
    series = result.series[change.track.series]
    times, word, style = size_of(change, series.key.metric, result.slower(change))
    word += ", drift" if change.drift else ""
    said = result.decision(change)
    ends = [short_name(end.sha) for end in (change.earliest, change.latest)]
    name = of_what(series.key.benchmark, series.key.metric)
    if sum(track.series == series.id for track in result.tracks) > 1:
        name += f", {short_name(change.track.basis) if change.track.anchored else change.track.basis}"
    return Row.of(
        brief_commit(change.commit.sha),
        name,
        Cell(times, style),
        Cell(word, style),
        at_least(change) or "-",
        sparkline(change.track.level.tolist(), _WIDTH),
        " to ".join(ends) if change.earliest != change.latest else "",
        _today(change),
        Cell(said.state if said else "", "dim"),
        name=name,
        kind=word,
        message=f"{name}: {times} {word} since {short_name(change.commit.sha)}",
    )


def _today(change: Change) -> str:
    """What became of it: nothing where it still stands as it was."""
    if change.undone is not None:
        return f"undone at {short_name(change.undone.sha)}"
    return "" if abs(math.log(change.today / change.factor)) < 1e-3 else f"still {factor(change.today)}"


def changed(found: CorpusChanges, versions: Sequence[str], *, everything: bool) -> Report:
    """What ``speedproof corpus changes`` shows, the latest changes first."""
    of = f"{found.series} series of {plural(found.versions, 'version')}"
    many = plural(len(found.changes), "change")
    headline = [
        Text(f"{many} in {of}" if found.changes else f"No change is shown in {of}", "strong"),
        Text(f"Of corpora without a change at most {percent(1 - found.confidence)} would show one.", "dim"),
        *(Text(f"Left out: {reason}", "bad") for reason in found.failures[:3]),
    ]
    notes = []
    if found.longest < LEAST:
        told = f"A change shows from {LEAST} versions on one machine on"
        notes.append(Text(f"{told}; no series here has over {found.longest}."))
    shown = found.changes if everything else found.changes[:_SHOWN]
    short = short_names([*versions, *(c.version for c in shown)])
    rows = []
    for c in shown:
        times, word, style = size_of(c, found.metric, c.slower)
        size = Cell(f"{times} {word}", style)
        cells = (short[c.version], Cell(c.benchmark, "strong"), size, at_least(c) or "-", c.machine)
        rows.append(Row.of(*cells, name=c.benchmark, kind=style))
    columns = (
        Column("version"),
        Column("benchmark", names=True),
        Column("change"),
        *right("at least", drop=1),
        Column("machine", drop=2),
    )
    if len(found.changes) > len(shown):
        notes.append(Text(f"... {len(found.changes) - len(shown)} earlier changes: {_ALL}"))
    return Report(
        f"corpus {found.corpus}",
        tuple(headline),
        (Table.of(columns, rows),) if rows else (),
        tuple(notes),
        command="corpus changes",
        data=found,
        good=not any(c.slower for c in found.changes),
    )


def alarm_report(result: FoundAlarms, *, everything: bool = False) -> Report:
    """Ten lines: how rare false alarms are, the alarms, how to confirm the first of them."""
    many = f"{plural(result.series, 'benchmark')}, last {plural(result.last, 'commit')} of {result.commits}"
    told = plural(len(result.alarms), "alarm") if result.alarms else "No alarm"
    often = f"once in {result.every:,.0f} commits, all benchmarks together."
    headline = (
        Text(f"{told} in {many}", "strong"),
        Text(f"Without a change an alarm comes about {often}", "dim"),
    )
    shown = result.alarms if everything else result.alarms[:_SHOWN]
    more = len(result.alarms) - len(shown)
    hints: tuple[str, ...] = ()
    if result.undecided:
        first = result.undecided[0]
        what = "Which commit" if first.between > 1 else "Confirm"
        hints = (f"{what}: {first.confirmed_by(_SHA)} -- COMMAND", "Accept: history bless COMMIT")
    columns = (
        Column("since"),
        Column("benchmark", names=True),
        *right("about"),
        Column(""),
        Column("raised at", drop=1),
        Column("", drop=3),
        Column("decision" if any(a.decision for a in result.alarms) else "", drop=2),
    )
    rows = [_row_of_alarm(result, alarm) for alarm in shown]
    return Report(
        f"alarms in {result.store}", headline, (Table.of(columns, rows),) if shown else (),
        (Text(f"... {more} more alarms: {_ALL}"),) if more else (), hints=hints, command="history watch",
        data=result,
    )  # fmt: skip


def _row_of_alarm(result: FoundAlarms, alarm: HistoryAlarm) -> Row:
    key = result.known[alarm.track.series].key
    times, word, style = size_of(alarm, key.metric, result.slower(alarm))
    name = of_what(key.benchmark, key.metric)
    return Row.of(
        brief_commit(alarm.bad.sha),
        name,
        Cell(times, style),
        Cell(word, style),
        brief_commit(alarm.raised.sha),
        "shown" if alarm.shown else "unconfirmed",
        Cell(alarm.decision.state if alarm.decision else "", "dim"),
        name=name,
        kind=word,
        message=f"{name}: about {times} {word} since {short_name(alarm.bad.sha)}",
    )


def of_what(benchmark: str, metric: str) -> str:
    """A benchmark, with its metric where that is not the usual one."""
    return benchmark if metric == "time" else f"{benchmark} ({metric})"


def sparkline(values: Sequence[float], width: int = 40) -> str:
    """Values as a line of bars, averaged to a width."""
    if not values:
        return ""
    groups = min(width, len(values))
    parts = [values[i * len(values) // groups : (i + 1) * len(values) // groups] for i in range(groups)]
    means = [math.fsum(part) / len(part) for part in parts]
    low, span = min(means), max(means) - min(means)
    return "".join(_SPARK[round((mean - low) / span * (len(_SPARK) - 1)) if span else 0] for mean in means)


def track_report(result: FoundHistory) -> Report:
    """One benchmark, commit by commit."""
    sections = tuple(_of_track(result, track) for track in result.tracks)
    notes = tuple(_too_few(result))
    return replace(overview(result), notes=notes, hints=(), sections=sections, command="history show")


def _of_track(result: FoundHistory, track: Track) -> Report:
    series = result.series[track.series]
    basis = f"relative to {short_name(track.basis)}" if track.anchored else f"on {track.basis}"
    columns = (Column("commit"), *right("value", "sessions"), Column("subject", names=True, drop=1))
    points = tuple(track.points(max(len(track) - _LAST, 0)))
    measured = [math.exp(point.value) for point in points]
    told = [factor(v) for v in measured] if track.anchored else values(measured, series.unit)
    rows = (
        (brief_commit(point.commit.sha), shown, str(len(point.values)), point.commit.subject)
        for point, shown in zip(points, told, strict=True)
    )
    title = f"{series.key.benchmark} ({series.key.metric}), {basis}: {plural(len(track), 'commit')}"
    spark = Text("  " + sparkline(track.level.tolist()))
    out = len(track) - len(points)
    query = f"speedproof history query {quote(series.key.benchmark)} --all"
    notes = (Text(f"... {plural(out, 'earlier commit')}: {query}"),) if out else ()
    return Report(title, (spark,), (Table.of(columns, rows),), notes)


def measured_report(rows: Sequence[QueriedSample], store: str, many: int) -> Report:
    """Samples a row each, the newest last; they are the last ones of many."""
    columns = (
        Column("commit"),
        Column("benchmark", names=True),
        *right("median"),
        *right("95 % interval", drop=3),
        *right("n", drop=2),
        Column("measured", drop=1),
        Column("machine", names=True, drop=4),
    )
    cells = (
        (
            brief_commit(row.commit),
            of_what(row.benchmark, row.metric),
            format_value(row.median, row.unit),
            " to ".join(format_value(v, row.unit) for v in (row.low, row.high) if v is not None),
            str(row.n),
            row.started[:16].replace("T", " "),
            row.machine,
        )
        for row in rows
    )
    count = plural(many, "sample")
    kept = "" if len(rows) == many else f", the last {len(rows)} (--all, or -o rows.csv)"
    table = (Table.of(columns, cells),) if rows else ()
    return Report(f"history in {store}", (Text(f"{count}{kept}", "strong"),), table, command="history query")

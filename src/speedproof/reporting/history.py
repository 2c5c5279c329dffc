"""A history in words: alarms, samples, what its tables share; changes of a corpus."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from speedproof.data.units import format_value
from speedproof.history.alarms import ASKED, AlarmAnswer, HistoryAlarm
from speedproof.history.changes import Change
from speedproof.history.commits import short_name
from speedproof.history.rows import QueriedSample
from speedproof.protocols.noise_floor import NoiseFloor
from speedproof.reporting.model import Cell, Column, Report, Row, Style, Table, Text, right
from speedproof.reporting.names import factor, percent, plural, short_names, shortened
from speedproof.reporting.notes import up_to
from speedproof.reporting.words import of_metric
from speedproof.stats.session_spread import widened
from speedproof.stats.two_levels import LEAST

if TYPE_CHECKING:
    from speedproof.corpus.changes import CorpusChange, CorpusChanges

_SHOWN = 7
_LEAST = 11  # commits, of which only the last may raise an alarm
_COMMIT = 28
LISTED = 25
"""Samples that a query shows."""
_SHA = 9


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


def changed(changes: CorpusChanges, versions: Sequence[str], *, everything: bool) -> Report:
    """What ``speedproof corpus changes`` shows, the latest changes first."""
    of = f"{changes.series} series of {plural(changes.versions, 'version')}"
    many = plural(len(changes.changes), "change")
    headline = [
        Text(f"{many} in {of}" if changes.changes else f"No change is shown in {of}", "strong"),
        Text(f"Of corpora without a change at most {percent(1 - changes.confidence)} would show one.", "dim"),
        *(Text(f"Left out: {reason}", "bad") for reason in changes.failures[:3]),
    ]
    notes = []
    if changes.longest < LEAST:
        needed = f"A change shows from {LEAST} versions on one machine on"
        notes.append(Text(f"{needed}; no series here has over {changes.longest}."))
    shown = changes.changes if everything else changes.changes[:_SHOWN]
    short = short_names([*versions, *(c.version for c in shown)])
    rows = []
    for c in shown:
        times, word, style = size_of(c, changes.metric, c.slower)
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
    if len(changes.changes) > len(shown):
        notes.append(Text(f"... {len(changes.changes) - len(shown)} earlier changes: ask for all"))
    return Report(
        f"corpus {changes.corpus}",
        tuple(headline),
        (Table.of(columns, rows),) if rows else (),
        tuple(notes),
        command="corpus changes",
        data=changes,
        good=not any(c.slower for c in changes.changes),
    )


def alarm_report(result: AlarmAnswer, *, everything: bool = False) -> Report:
    """Ten lines: how rare false alarms are, the alarms, how to confirm the first of them."""
    of = f" of {result.commits}" if result.last < result.commits else ""
    commits = plural(min(result.last, result.commits), "commit")
    many = f"{plural(result.series, 'benchmark')}, last {commits}{of}"
    count = plural(len(result.alarms), "alarm") if result.alarms else "No alarm"
    often = f"once in {result.every:,.0f} commits, an unconfirmed one in {result.every / ASKED:,.0f}."
    headline = (
        Text(f"{count} in {many}", "strong"),
        Text(f"Without a change a confirmed alarm comes about {often}", "dim"),
    )
    few = result.commits < _LEAST and not result.alarms
    shown = result.alarms if everything else result.alarms[:_SHOWN]
    more = len(result.alarms) - len(shown)
    hints = (
        (*_next_step(result.undecided), "Accept: speedproof history bless COMMIT") if result.undecided else ()
    )
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
        (Text(f"... {more} more alarms: ask for all"),) if more else too_few(_LEAST) if few else (),
        hints=hints, command="history watch", data=result,
    )  # fmt: skip


def too_few(least: int, lacking: str = "So few commits show nothing") -> tuple[Text, Text]:
    """That more commits are needed, or another question."""
    return (
        Text(f"{lacking}: measure {least} or more,"),
        Text("or compare two of them: 'speedproof run --revisions GOOD BAD -- COMMAND'."),
    )


def _next_step(undecided: Sequence[HistoryAlarm]) -> Iterator[str]:
    """What measures the first unconfirmed alarm again; where all are confirmed, what finds a commit of several."""
    for alarm in undecided:
        if not alarm.confirmed:
            yield f"Measure again: speedproof history confirm {short_name(alarm.bad.sha)} -- COMMAND"
            return
    for alarm in undecided:
        if alarm.between > 1:
            yield f"Which commit: {alarm.confirmed_by(_SHA)} -- COMMAND"
            return


def _row_of_alarm(result: AlarmAnswer, alarm: HistoryAlarm) -> Row:
    key = result.known[alarm.track.series].key
    times, word, style = size_of(alarm, key.metric, result.slower(alarm))
    name = of_what(key.benchmark, key.metric)
    return Row.of(
        brief_commit(alarm.bad.sha),
        name,
        Cell(times, style),
        Cell(word, style),
        brief_commit(alarm.raised.sha),
        "confirmed" if alarm.confirmed else "unconfirmed",
        Cell(alarm.decision.state if alarm.decision else "", "dim"),
        name=name,
        kind=word,
        message=f"{name}: about {times} {word} since {short_name(alarm.bad.sha)}",
    )


def of_what(benchmark: str, metric: str) -> str:
    """A benchmark, with its metric where that is not the usual one."""
    return benchmark if metric == "time" else f"{benchmark} ({metric})"


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

"""Alarms of a history in words, each with the command that confirms it."""

from __future__ import annotations

from speedproof.history.alarms import FoundAlarms, HistoryAlarm
from speedproof.history.commits import short_name
from speedproof.reporting.history import brief_commit, of_what
from speedproof.reporting.model import Cell, Column, Report, Row, Style, Table, Text, right
from speedproof.reporting.numbers import factor, plural
from speedproof.reporting.words import of_metric

_SHOWN = 7
_SHA = 9


def alarm_report(result: FoundAlarms, *, everything: bool = False) -> Report:
    """Ten lines: how rare false alarms are, the alarms, how to confirm the first of them."""
    many = f"{plural(result.series, 'benchmark')}, last {plural(result.last, 'commit')} of {result.commits}"
    told = plural(len(result.alarms), "alarm") if result.alarms else "No alarm"
    often = f"once in {result.every:,.0f} commits, all benchmarks together."
    headline = (
        Text(f"{told} in {many}", "strong"),
        Text(f"Without a change an alarm comes about {often}", "dim"),
    )
    rows = [_row(result, alarm) for alarm in result.alarms]
    shown = rows if everything else rows[:_SHOWN]
    notes = [Text(f"... {len(rows) - len(shown)} more alarms: --all")] if len(rows) > len(shown) else []
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
        Column("decision" if any(a.decision for a in result.alarms) else "", drop=2),
    )
    return Report(
        f"alarms in {result.store}", headline, (Table.of(columns, shown),) if shown else (), tuple(notes),
        hints=hints, command="history watch", data=result,
    )  # fmt: skip


def _row(result: FoundAlarms, alarm: HistoryAlarm) -> Row:
    key = result.known[alarm.track.series].key
    slower = result.slower(alarm)
    word = of_metric(key.metric)[slower]
    style: Style = "bad" if slower else "good"
    name = of_what(key.benchmark, key.metric)
    times = factor(max(alarm.factor, 1.0 / alarm.factor))
    return Row.of(
        brief_commit(alarm.bad.sha),
        name,
        Cell(times, style),
        Cell(word, style),
        brief_commit(alarm.raised.sha),
        Cell(alarm.decision.state if alarm.decision else "", "dim"),
        name=name,
        kind=word,
        message=f"{name}: about {times} {word} since {short_name(alarm.bad.sha)}",
    )

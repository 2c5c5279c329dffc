"""A history in words: changes by commit, one benchmark commit by commit, alarms, samples; changes of a corpus."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from shlex import quote
from typing import TYPE_CHECKING

from msgspec.structs import replace

from speedproof.history.alarms import ASKED, HistoryAlarm
from speedproof.history.changes import Change
from speedproof.history.commits import Commit, Followed, short_name
from speedproof.history.rows import QueriedSample, StoredSeries, Triage
from speedproof.history.tracks import Track
from speedproof.options import deciding
from speedproof.protocols.noise_floor import NoiseFloor
from speedproof.reporting.history_results import STANDS, AlarmResult, CommitChanges, HistoryResult, by_commit
from speedproof.reporting.model import Cell, Column, Report, Row, Style, Table, Text, right
from speedproof.reporting.names import short_names, shortened
from speedproof.reporting.notes import up_to
from speedproof.reporting.numbers import factor, percent, plural, sparkline, values
from speedproof.reporting.words import of_metric
from speedproof.stats.session_spread import widened
from speedproof.stats.two_levels import LEAST

if TYPE_CHECKING:
    from speedproof.corpus.changes import CorpusChange, CorpusChanges

_SHOWN = 7
LEAST_WATCHED = 11  # commits, of which only the last may raise an alarm
_COMMIT, _WHOLE = 28, 40
LISTED = 25
"""Samples that a query shows."""
_SHA, _BRIEF = 9, 7
_OF_WHAT = "-- COMMAND"


def brief_commit(sha: str) -> str:
    """A commit in a column, its end kept."""
    return shortened([short_name(sha)], _COMMIT)[0]


def between_sessions(floor: NoiseFloor | None) -> Iterator[str]:
    """How much two sessions of one commit differ."""
    reaches = [
        math.expm1(widened(0.0, 0.05, (2, 2), spread, (1, 1)).reach(0.05))
        for spread in (floor.spreads.values() if floor else ())
    ]
    if reaches and max(reaches) <= 1.0:  # else too few commits were measured twice to tell
        yield f"Two sessions of one commit differ by {up_to(reaches, 0.95)}"


def size_of(
    change: Change | CorpusChange | HistoryAlarm, metric: str, slower: bool
) -> tuple[str, str, Style]:
    """How many times, of which direction, and in which colour."""
    times = factor(max(change.factor, 1.0 / change.factor))
    word = of_metric(metric)[slower]
    return times, f"{word}, drift" if change.drift else word, "bad" if slower else "good"


def at_least(change: Change | CorpusChange) -> str:
    """So many times at least; empty where that is not known."""
    least = change.low if change.factor >= 1.0 else 1.0 / change.high
    return factor(least, -1) if least > 1.0 else ""


def _risk(confidence: float, of: str) -> Text:
    return Text(f"Risk of showing a change if nothing changed: at most {percent(1 - confidence)}{of}.", "dim")


def _bounds(unsure: bool) -> Iterator[Column]:
    """The columns that say how sure size and commit are: they stay beside short names and texts."""
    yield from right("at least", drop=-1)
    yield Column("possible since" if unsure else "", drop=-2)


def _possible(earliest: str, latest: str) -> Cell:
    """The first and the last commit that may have made a change, or the ends of a drift; empty if they are one."""
    ends, brief = ([short_name(end, digits) for end in (earliest, latest)] for digits in (_SHA, _BRIEF))
    return Cell("") if earliest == latest else Cell(" to ".join(ends), shorter=("–".join(brief),))


def changed(changes: CorpusChanges, versions: Sequence[str], *, everything: bool) -> Report:
    """The report of ``speedproof corpus changes``, the latest changes first."""
    of = f"{changes.series} series of {plural(changes.versions, 'version')}"
    many = plural(len(changes.changes), "change")
    headline = [
        Text(f"{many} in {of}" if changes.changes else f"No change is shown in {of}", "strong"),
        _risk(changes.confidence, " over all series" * (changes.series > 1)),
        *(Text(f"Left out: {reason}", "bad") for reason in changes.failures[:3]),
    ]
    if changes.order == "files":
        why = "versions follow each other as their files do, which do not tell when they were measured"
        headline.append(Text(f"Order: {why}; --repository DIR follows commits as git does.", "warning"))
    notes = []
    if changes.longest < changes.least and not changes.changes:
        needed = f"At this risk a change shows from {changes.least} versions on one machine on"
        rest = f"no series here has over {changes.longest}. Or compare two: speedproof corpus compare"
        notes.append(Text(f"{needed}; {rest}"))
    shown = changes.changes if everything else changes.changes[:_SHOWN]
    # A commit's name is cut as in a history
    named = (*versions, *(end for c in shown for end in (c.version, c.earliest, c.latest)))
    cut = {version: short_name(version) if len(version) == _WHOLE else version for version in named}
    short = short_names(cut.values())

    def size(c: CorpusChange) -> Cell:
        times, word, style = size_of(c, changes.metric, c.slower)
        return Cell(f"{times} {word}", style)

    least, since = _bounds(any(c.earliest != c.latest for c in shown))
    table = Table.by(
        shown,
        (Column("version"), lambda c: short[cut[c.version]]),
        (Column("benchmark", names=True), lambda c: Cell(c.benchmark, "strong")),
        (Column("change"), size),
        (Column("machine", drop=1), lambda c: c.machine),
        (least, lambda c: at_least(c) or "-"),
        (since, lambda c: _possible(short[cut[c.earliest]], short[cut[c.latest]])),
        row=lambda c: {"name": c.benchmark, "kind": size(c).style},
    )
    if len(changes.changes) > len(shown):
        notes.append(Text(f"... {plural(len(changes.changes) - len(shown), 'earlier change')}: --all"))
    return Report(
        f"corpus {changes.corpus}",
        tuple(headline),
        (table,) if shown else (),
        tuple(notes),
        good=not any(c.slower for c in changes.changes),
    )


def alarm_report(result: AlarmResult, *, everything: bool = False) -> Report:
    """Ten lines: how rare false alarms are, the alarms, how to confirm the first of them."""
    of = f" of {result.commits}" if result.last < result.commits else ""
    commits = plural(min(result.last, result.commits), "commit")
    of_them = _counted(result.series, {series.key.metric for series in result.known.values()})
    many = f"{of_them}, last {commits}{of}"
    count = plural(len(result.alarms), "alarm") if result.alarms else "No alarm"
    often, asked = (plural(max(round(of), 1), "commit") for of in (result.every, result.every / ASKED))
    headline = (
        Text(f"{count} in {many}", "strong"),
        Text(
            f"Without a change a confirmed alarm comes about once in {often}, an unconfirmed one in {asked}.",
            "dim",
        ),
    )
    few = result.commits < LEAST_WATCHED and not result.alarms
    shown = result.alarms if everything else result.alarms[:_SHOWN]
    more = len(result.alarms) - len(shown)
    notes = [*too_few(LEAST_WATCHED)] if few else []
    if more:
        notes = [Text(f"... {plural(more, 'more alarm')}: --all")]
    blamed = {alarm.bad.sha for alarm in result.undecided}
    commit = "COMMIT" if len(blamed) > 1 else "".join(quote(short_name(sha, _SHA)) for sha in blamed)
    accept = (f"Accept: speedproof history bless {commit}{result.followed.place}",) if blamed else ()
    columns = (
        Column("since"),
        Column("benchmark", names=True),
        *right("about"),
        Column(""),
        Column("machine" if result.followed.apart else "", names=True),
        Column("raised at", drop=1),
        Column("state"),
        Column("today" if any(a.decision or a.undone for a in result.alarms) else "", drop=2),
        Column("possible since" if any(a.earliest != a.latest for a in shown) else "", drop=-1),
    )
    rows = [_row_of_alarm(result, alarm) for alarm in shown]
    return Report(
        f"alarms in {result.store}", headline, (Table.of(columns, rows),) if shown else (),
        tuple(notes),
        hints=(*_next_step(result), *accept),
    )  # fmt: skip


def too_few(least: int) -> tuple[Text, Text]:
    """A message that more commits are needed."""
    return (
        Text(f"So few commits of a benchmark on a machine show nothing: measure {least} or more,"),
        Text("or compare two of them: 'speedproof run --revisions GOOD BAD -- COMMAND'."),
    )


def _next_step(result: AlarmResult) -> Iterator[str]:
    """What measures an unconfirmed alarm again, a slowdown first; what finds a commit of several."""
    named = result.followed.alone or len({series.key.benchmark for series in result.known.values()}) > 1
    line = set(result.followed.line)
    unconfirmed = [
        a for a in result.alarms if not (a.confirmed or a.decision or a.undone) and a.bad.sha in line
    ]
    for alarm in sorted(unconfirmed, key=result.slower, reverse=True)[:1]:
        again = alarm.again(result.known[alarm.track.series], result.followed, _SHA, named=named)
        yield f"Measure again: {again} {_OF_WHAT}"
    yield from _culprit(result.followed, result.known, result.undecided)


def _row_of_alarm(result: AlarmResult, alarm: HistoryAlarm) -> Row:
    key = result.known[alarm.track.series].key
    times, word, style = size_of(alarm, key.metric, result.slower(alarm))
    style = style if alarm.confirmed else "dim"
    name = of_what(key.benchmark, key.metric)
    return Row.of(
        brief_commit(alarm.bad.sha),
        name,
        Cell(times, style),
        Cell(word, style),
        machine_of(alarm.track) if result.followed.apart else "",
        brief_commit(alarm.raised.sha),
        "confirmed" if alarm.confirmed else "unconfirmed",
        Cell(alarm.decision.state if alarm.decision else "undone" if alarm.undone else "", "dim"),
        _possible(alarm.earliest.sha, alarm.latest.sha),
        name=name,
        kind=word,
        message=f"{name}: about {times} {word} since {short_name(alarm.bad.sha)}",
    )


def machine_of(track: Track) -> str:
    """The machine or anchor on whose basis a track's values are compared."""
    return f"relative to {short_name(track.basis)}" if track.anchored else track.basis


def _where(track: Track) -> str:
    """The basis of a track, in a sentence."""
    return machine_of(track) if track.anchored else f"on {track.basis}"


def _counted(series: int, metrics: Set[str]) -> str:
    """How many series of these metrics there are."""
    return plural(series, "benchmark metric" if len(metrics) > 1 else "benchmark")


def of_what(benchmark: str, metric: str) -> str:
    """A benchmark, with its metric where that is not the usual one."""
    return benchmark if metric == "time" else f"{benchmark} ({metric})"


def measured_report(rows: Sequence[QueriedSample], store: str, *, cut: bool) -> Report:
    """Samples a row each, the newest last; if ``cut``, there may be older ones."""

    def interval(row: QueriedSample) -> str:
        return " to ".join(values([v for v in (row.low, row.high) if v is not None], row.unit))

    table = Table.by(
        rows,
        (Column("commit"), lambda row: brief_commit(row.commit)),
        (Column("benchmark", names=True), lambda row: of_what(row.benchmark, row.metric)),
        (Column("median", right=True), lambda row: values([row.median], row.unit)[0]),
        (Column("95 % interval", right=True, drop=3), interval),
        (Column("n", right=True, drop=2), lambda row: str(row.n)),
        (Column("measured", drop=1), lambda row: row.started[:16].replace("T", " ")),
        (Column("machine", names=True, drop=4), lambda row: row.machine),
    )
    count = plural(len(rows), "sample")
    kept = f"The last {count} (--all, or -o rows.csv)" if cut else count
    return Report(f"history in {store}", (Text(kept, "strong"),), (table,) if rows else ())


_ALONE = 3  # alarms of no change that are named
_LAST = 10  # commits of a benchmark that are shown
_SUBJECT = 24  # characters of a subject
_WIDTH = 12  # of a line of bars in a table
_ALIKE = 1e-3  # what is left of a change, on a logarithmic scale: all of it


def overview(
    result: HistoryResult, *, everything: bool = False, each: bool = False, of: int | None = None
) -> Report:
    """The commits with changes, those that stand first, the newest first; or a row each change.

    ``of`` is how many changes there are, where some of them were chosen.
    """
    groups = whole = by_commit(result)
    changes = [change for group in groups for change in group.changes]
    if each:
        groups = tuple(replace(group, changes=(change,)) for group in groups for change in group.changes)
    notes = [Text(f"{apart_only}.") for apart_only in between_sessions(result.noise)]
    notes += [*confirmed_alone(result), *(_too_few(result) if of is None else ())]
    apart = {track.basis for track in result.tracks if not track.anchored}
    if len(apart) > 1:
        apart_only = (
            f"{len(apart)} machines are followed apart: only a version that each session measures, too, compares "
            "them (history add --anchor). "
            "If they are one, add its files with one --machine."
        )
        notes.append(Text(apart_only))
    commits = {group.commit.sha: group.commit for group in groups}
    one = each and len(commits) == 1
    unsure = any(len(g.changes) == 1 and g.changes[0].earliest != g.changes[0].latest for g in groups)
    several = len({change.track.basis for change in changes}) > 1
    columns = (
        Column("commit"),
        Column("benchmark", names=True),
        *right("change"),
        Column(""),
        Column("machine" if several else "", names=True),
        Column("today"),
        *_bounds(unsure),
        Column("trend", drop=2),
        Column("subject" if not one and any(c.subject for c in commits.values()) else "", drop=3),
        Column("author" if not one and any(c.author for c in commits.values()) else "", drop=4),
    )
    rows = [_row(result, group, alone=one, apart=several) for group in groups]
    shown = rows if everything else rows[:_SHOWN]
    if more := groups[len(shown) :]:
        stand = sum(group.stands for group in more)
        still = f", {stand} of them stand" if stand else ""
        notes.append(Text(f"... {plural(len(more), 'more change' if each else 'more commit')}{still}"))
    standing = (change for change in changes if result.slower(change) and result.state(change) == STANDS)
    alarms = filter(result.slower, result.alarms)
    hints = [*_culprit(result.followed, result.series, (*standing, *alarms))]
    options = result.followed.options
    if any(len(group.changes) > 1 for group in groups):
        hints.append(f"One commit: speedproof history --commit COMMIT{options}")
    hints += [f"One benchmark: speedproof history show NAME{options}", *(["All: --all"] if more else [])]
    return Report(
        f"history in {result.store}",
        (*headline_of(result, of), *(_said(result, whole[0]) if one else ())),
        (Table.of(columns, shown),) if shown else (),
        tuple(notes),
        hints=tuple(hints) if rows else (_earlier(result),),
    )


def _earlier(result: HistoryResult) -> str:
    return f"Alarms come earlier: speedproof history watch{result.followed.options}"


def headline_of(result: HistoryResult, of: int | None = None) -> Iterator[Text]:
    """How many changes in how many benchmarks, and at which risk."""
    series = {track.series for track in result.tracks}
    of_them = _counted(len(series), {result.series[number].key.metric for number in series})
    many = f"{of_them} over {plural(result.measured, 'commit')}"
    count = len(result.changes)
    watched = f"; the watch has confirmed {plural(len(result.alarms), 'alarm')}" * bool(result.alarms)
    if of is not None:
        yield Text(f"{count} of {plural(of, 'change')} in {many}", "strong")
    elif not count:
        yield Text(f"No change is shown in {many}{watched}", "strong")
    else:
        yield Text(f"{plural(count, 'change')} in {many}{watched}", "strong")
    if result.tracks:
        yield _risk(result.confidence, " over all benchmarks" * (len(series) > 1))


def _said(result: HistoryResult, group: CommitChanges) -> Iterator[Text]:
    """The author of a commit, and the decisions on it and its changes."""
    commit = group.commit
    by = f" ({commit.author})" if commit.author else ""
    yield Text(f"{short_name(commit.sha)} {commit.subject}{by}".replace("  ", " "))
    for said in result.told(group):
        yield Text(words_of(said, commit, f" of {said.benchmark}" if said.benchmark else ""))


def words_of(said: Triage, commit: Commit, of: str = "") -> str:
    """A decision in words: what, by whom, when, and at which other commit."""
    at = f" at {short_name(said.commit)}" if said.commit != commit.sha else ""
    return f"{said.state}{of}{at}{f': {said.reason}' if said.reason else ''} ({said.who}, {said.at[:10]})"


def confirmed_alone(result: HistoryResult) -> Iterator[Text]:
    """Alarms that were confirmed at their own risk and that no change shows."""
    sizes = []
    for alarm in result.alarms[:_ALONE]:
        key = result.series[alarm.track.series].key
        times, word, _ = size_of(alarm, key.metric, result.slower(alarm))
        size = f"{of_what(key.benchmark, key.metric)} {times} {word} since {short_name(alarm.bad.sha)}"
        sizes.append(f"{size} {_where(alarm.track)}" if result.followed.apart else size)
    more = f" and {len(result.alarms) - _ALONE} more" if len(result.alarms) > _ALONE else ""
    if sizes:
        yield Text(f"Confirmed by 'history watch' alone: {', '.join(sizes)}{more}.")


def _too_few(result: HistoryResult) -> Iterator[Text]:
    """A remark on benchmarks with too few commits to show any change, or any but a large one."""
    lengths: dict[int, int] = {}
    for track in result.tracks:
        lengths[track.series] = max(len(track), lengths.get(track.series, 0))
    longest = max(lengths.values(), default=0)
    short = sum(length < LEAST for length in lengths.values())
    if lengths and not result.changes:
        if longest < result.least_commits:
            yield from too_few(result.least_commits)
        else:
            step, typical = result.least_step, " of a typical benchmark" * (len(lengths) > 1)
            size = f"A step of {percent(step)} or more" if step else "Not even a step of 100 %"
            yield Text(f"{size} in the middle third{typical} would be shown.")
    if 0 < short < len(lengths):
        lacking = f"{short} of {len(lengths)} benchmarks show nothing"
        yield Text(f"{lacking}: fewer than {LEAST} commits on a machine.")


def _culprit(
    followed: Followed, series: Mapping[int, StoredSeries], open_ones: Iterable[Change | HistoryAlarm]
) -> Iterator[str]:
    """How to find the commit of the newest slowdown that several may have made, or how to see it, if a drift."""
    place = {sha: i for i, sha in enumerate(followed.line)}
    on_branch = (one for one in open_ones if one.latest.sha in place)
    for one in sorted(
        on_branch, key=lambda one: (place[one.latest.sha], abs(math.log(one.factor))), reverse=True
    ):
        key = series[one.track.series].key
        name = of_what(key.benchmark, key.metric) if len(series) > 1 else ""
        good = one.earliest if one.drift else one.track.commit(one.possible[0] - 1)
        ends = [short_name(end.sha, _SHA) for end in (good, one.latest)]
        if one.drift:
            what, command = (
                f"Measure the drift{f' of {name}' * bool(name)}",
                f"run --revisions {' '.join(ends)}",
            )
        elif place[one.latest.sha] - place[good.sha] > 1:  # what was not measured may be to blame, too
            worse = f" made {name} {of_metric(key.metric)[True]}" * bool(name)
            what, command = f"Which commit{worse}", f"bisect {'..'.join(ends)}"
        else:
            continue
        yield f"{what}: {followed.there}speedproof {command}{deciding(key.metric)} {_OF_WHAT}"
        return


def _row(result: HistoryResult, group: CommitChanges, *, alone: bool, apart: bool) -> Row:
    """A commit: its only change, or how many there are and by how much; one alone stands above the table."""
    first, several = group.changes[0], len(group.changes) > 1
    key = result.series[first.track.series].key
    worse = [change for change in group.changes if result.slower(change)]
    better = [change for change in group.changes if not result.slower(change)]
    led = worse or better
    times, word, style = size_of(led[0], key.metric, bool(worse))
    if several:
        word = of_metric(key.metric)[bool(worse)]
    name = plural(len(group.changes), "benchmark") if several else of_what(key.benchmark, key.metric)
    if len(led) > 1:
        times = f"to {times}"
    if worse and better:
        least, other, _ = size_of(replace(better[0], rise=None), key.metric, slower=False)
        word = f"{word}, {'to ' * (len(better) > 1)}{least} {other}"
    subject, author = ("", "") if alone else (group.commit.subject, group.commit.author)
    today = _states(result, group)
    brief = today.partition(" at ")[0] if today.startswith("undone") else today.removesuffix(f" {word}")
    return Row.of(
        brief_commit(group.commit.sha),
        name,
        Cell(times, style),
        Cell(word, style),
        machine_of(first.track) if apart and not several else "",
        Cell(today, "" if group.stands else "dim", (brief,)),
        "" if several else at_least(first) or "-",
        "" if several else _possible(first.earliest.sha, first.latest.sha),
        "" if several else sparkline(first.track.level.tolist(), _WIDTH),
        subject if len(subject) <= _SUBJECT else f"{subject[: _SUBJECT - 1]}…",
        author,
        name=name,
        kind=word,
        message=f"{name}: {times} {word} since {short_name(group.commit.sha)}",
    )


def _states(result: HistoryResult, group: CommitChanges) -> str:
    """The present state of a commit's changes, counted if they differ."""
    states = list(map(result.state, group.changes))
    most = max(states, key=lambda state: (state == STANDS, states.count(state)))
    if len(states) == 1:
        today = today_of(result, group.changes[0])
    elif states.count(most) == len(states):
        today = most
    else:
        today = f"{states.count(most)} of {len(states)} {'stand' if most == STANDS else most}"
    assigned = dict.fromkeys(filter(None, map(result.assigned, group.changes)))
    return f"{today}, {' and '.join(assigned)} on it" if group.stands and assigned else today


def today_of(result: HistoryResult, change: Change) -> str:
    """The present state of a change."""
    if (said := result.decision(change)) is not None:
        return said.state
    if change.undone is not None:
        return f"undone at {short_name(change.undone.sha)}"
    if abs(math.log(change.today / change.factor)) < _ALIKE:
        return STANDS
    series = result.series[change.track.series]
    size = factor(max(change.today, 1.0 / change.today))
    if 0.0 < math.log(change.today) / math.log(change.factor) < 1.0:
        return f"still {size}"
    worse = (change.today > 1.0) != series.higher_is_better
    return f"now {size} {of_metric(series.key.metric)[worse]}"


def track_report(result: HistoryResult, *, everything: bool = False) -> Report:
    """One benchmark, commit by commit: the last ones, or all."""
    sections = tuple(_of_track(result, track, everything) for track in result.tracks)
    notes = (*confirmed_alone(result), *_too_few(result))
    hints = () if result.changes else (_earlier(result),)
    whole = overview(result, everything=everything)
    return replace(whole, notes=notes, hints=hints, sections=sections)


def _of_track(result: HistoryResult, track: Track, everything: bool) -> Report:
    series = result.series[track.series]
    columns = (Column("commit"), *right("value", "sessions"), Column("subject", names=True, drop=1))
    points = tuple(track.points(0 if everything else max(len(track) - _LAST, 0)))
    measured = [math.exp(point.value) for point in points]
    medians = [f"{v}x" for v in values(measured, "")] if track.anchored else values(measured, series.unit)
    rows = (
        (brief_commit(point.commit.sha), shown, str(len(point.values)), point.commit.subject)
        for point, shown in zip(points, medians, strict=True)
    )
    title = f"{series.key.benchmark} ({series.key.metric}), {_where(track)}: {plural(len(track), 'commit')}"
    spark = Text("  " + sparkline(track.level.tolist()))
    out = len(track) - len(points)
    notes = (Text(f"... {plural(out, 'earlier commit')}: --all"),) if out else ()
    return Report(title, (spark,), (Table.of(columns, rows),), notes)

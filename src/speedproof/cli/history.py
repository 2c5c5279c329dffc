"""``speedproof history``: keep measurements of commits, and tell what changed, when and by how much."""

import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import chdir, suppress
from datetime import datetime
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec.structs import replace

import speedproof as sp
from speedproof.cli.command import Command, Group
from speedproof.cli.console import FAILED, INTERRUPTED, Console
from speedproof.cli.files import STDOUT
from speedproof.declaring import Argument, Taken, Title, refuse
from speedproof.errors import Parameter, UsageError
from speedproof.measuring_options import Measuring
from speedproof.options import Changing, CommandOptions, Output, Reading, handed
from speedproof.reporting.formats import write_whole
from speedproof.reporting.formats.csv import separated
from speedproof.reporting.model import Report, Text, to_json
from speedproof.reporting.names import enumerate_names
from speedproof.reporting.numbers import plural
from speedproof.values import count, filled, place

if TYPE_CHECKING:
    from speedproof.api.history import Followed
    from speedproof.api.history_files import QueriedSample
    from speedproof.reporting.history_results import HistoryAlarm


class Shared(Changing, frozen=True, kw_only=True):
    """What several actions ask in the same words."""

    commit: Annotated[str | None, "REV", "only this commit, one row per benchmark"] = None
    benchmark: Annotated[str | None, "NAME", "only this benchmark"] = None
    machine: Annotated[str | None, "NAME", "only this machine, as '*Xeon*'", filled] = None
    metric: Annotated[str | None, "NAME", "the metric to follow, or all (default: time)"] = None
    branch: Annotated[str, "REV", "follow the first parents of this (default: HEAD)"] = "HEAD"
    every: Annotated[int, "N", "mean number of commits between false alarms (default: 1000)", count] = 1000
    fail_on_change: Annotated[
        bool, "exit with code 1 at a slowdown that stands: nothing undid it, and nobody decided about it"
    ] = False


class HistoryOptions(CommandOptions, frozen=True, kw_only=True):
    """What every action on the store takes."""

    store: Annotated[
        str, "PLACE", "a SQLite file or a postgresql:// URL (default: speedproof.db)", Title("store")
    ] = "speedproof.db"
    repository: Annotated[str, "DIR", "the git repository whose commits are followed", Title("store")] = "."

    @property
    def history(self) -> "sp.History":
        """The store."""
        return sp.History(self.store, self.repository)


class AddOptions(HistoryOptions, frozen=True, kw_only=True):
    """Add result files to the store."""

    files: Annotated[
        tuple[str, ...],
        Argument(
            "FILE...",
            "result files or folders; COMMIT=FILE says what was measured, FILE:VERSION takes one version",
        ),
    ]
    commit: Annotated[str | None, "REV", "what was measured (default: what the file says, else HEAD)"] = None
    session: Annotated[str, "NAME", "name of the sitting: files that share it were measured together"] = ""
    anchor: Annotated[
        str | None,
        "VERSION",
        "a version, such as a release, that every session measures beside the commit: ratios to it are followed, "
        "across machines",
    ] = None
    machine: Annotated[str | None, "NAME", "name of the machine, if the file does not tell it", filled] = None
    benchmark: Annotated[str, "NAME", "name of the benchmark, if the file holds only one"] = ""
    reading: Annotated[Reading, Taken("how files are read", take="format unit higher_is_better column where")]
    json: Annotated[bool, "write what was added as JSON"] = False


class ChangesOptions(HistoryOptions, frozen=True, kw_only=True):
    """Show the commits with changes: the usual action."""

    state: Annotated[
        Literal["stands", "undone", "blessed", "fixed", "refuted"] | None,
        "only changes that stand (neither undone nor decided about), that later ones undid, or that were decided",
    ] = None
    shared: Annotated[
        Shared,
        Taken("options", "commit benchmark machine metric branch confidence fdr fail_on_change all json"),
    ]


class ShowBenchmarkOptions(HistoryOptions, frozen=True, kw_only=True):
    """Show one benchmark, commit by commit."""

    benchmark: Annotated[str, Argument("BENCHMARK", "its name, or a part of it", is_file=False)]
    shared: Annotated[
        Shared,
        Taken(
            "options", "machine metric branch confidence fdr fail_on_change all json", all="show every commit"
        ),
    ]


class WatchOptions(HistoryOptions, frozen=True, kw_only=True):
    """Show the alarms of the newest commits."""

    last: Annotated[int, "N", "show alarms that the last N commits raised (default: 30)", count] = 30
    on_alarm: Annotated[
        str | None,
        "CMD",
        "shell command to run at slowdowns that nobody has decided about, once for each and once more when it is "
        "confirmed; what --json writes is its input",
    ] = None
    shared: Annotated[
        Shared, Taken("options", "every benchmark machine metric branch all json", all="show every alarm")
    ]


class ConfirmOptions(HistoryOptions, frozen=True, kw_only=True):
    """Measure both commits of an alarm again."""

    commit: Annotated[
        str | None,
        Argument(
            "[COMMIT] -- COMMAND",
            "the commit of an alarm (default: that of the newest unconfirmed one), and the benchmark's command",
            is_file=False,
        ),
    ] = None
    words: tuple[str, ...] = ()  # after --
    machine: Annotated[
        str | None, "NAME", "the alarm's machine, if that is another name of this one", filled
    ] = None
    measuring: Annotated[
        Measuring,
        Taken(
            take="build metric decide_by max_time shell ignore_failure output",
            decide_by="the metric of the alarm, which decides (default: the one that is followed)",
        ),
    ]
    shared: Annotated[
        Shared,
        Taken("options", "every benchmark branch", benchmark="the one that the command measures"),
    ]


class PageOptions(HistoryOptions, frozen=True, kw_only=True):
    """Write charts of all benchmarks, for a browser."""

    stores: Annotated[
        tuple[str, ...],
        Argument("[STORE...]", "several projects, each in its repository, below one overview"),
    ] = ()
    output: Annotated[str, "-o, --output DIR", "the folder of the pages", place]
    compare: Annotated[tuple[str, ...], "REV", "another branch to draw; may be repeated"] = ()
    shared: Annotated[Shared, Taken("options", "metric branch confidence fdr")]


class QueryOptions(HistoryOptions, frozen=True, kw_only=True):
    """Show or write the samples as rows."""

    patterns: Annotated[
        tuple[str, ...], Argument("[PATTERNS...]", "benchmarks, as 'json/*'", is_file=False)
    ] = ()
    output: Annotated[str | None, "-o, --output FILE", "a .csv or .parquet file"] = None
    shared: Annotated[
        Shared,
        Taken(
            "options",
            "commit machine metric all json",
            commit="only of this commit",
            metric="only this metric",
            all="every row",
        ),
    ]


class TransferOptions(HistoryOptions, frozen=True, kw_only=True):
    """Write the whole store to one file, or read what a store wrote."""

    file: Annotated[str, Argument("FILE", "a .jsonl.gz file; - is standard output or input")]


class DecideOptions(HistoryOptions, frozen=True, kw_only=True):
    """Decide about a commit."""

    commit: Annotated[str, Argument("COMMIT", "the commit", is_file=False)]
    reason: Annotated[tuple[str, ...], Argument("[REASON...]", "why", is_file=False)] = ()
    shared: Annotated[Shared, Taken("options", "benchmark")]


class NoteOptions(HistoryOptions, frozen=True, kw_only=True):
    """Keep a remark on a commit, or assign it."""

    commit: Annotated[str, Argument("COMMIT", "the commit", is_file=False)]
    remark: Annotated[tuple[str, ...], Argument("[REMARK...]", "what is known", is_file=False)] = ()
    assign: Annotated[str | None, "WHO", "who looks after it"] = None
    shared: Annotated[Shared, Taken("options", "benchmark")]


class ForgetOptions(HistoryOptions, frozen=True, kw_only=True):
    """Remove the measurements of commits."""

    commits: Annotated[tuple[str, ...], Argument("COMMITS...", "the commits", is_file=False)]


def _watch(asked: WatchOptions, console: Console) -> int:
    history = asked.history
    result = history.alarms(**handed(sp.History.alarms, asked, asked.shared))
    _remark_branch(result.followed, console)
    _remark_chosen(history, asked.shared.metric, asked.shared.benchmark, console)
    sheets = partial(result.reports, everything=asked.shared.all)
    console.answer(result.to_json, sheets, json=asked.shared.json)
    if asked.on_alarm is not None and (news := result.news(history.store.announced(asked.on_alarm))):
        console.out.flush()  # the answer stands, whatever becomes of the command
        _carry_out(asked.on_alarm, replace(result, alarms=news).to_json())
        history.store.announce(asked.on_alarm, (alarm.announced for alarm in news))
    return FAILED if result.confirmed else 0


def _confirm(asked: ConfirmOptions, console: Console) -> int:
    """Measure as 'run --revisions' does, and file the result."""
    from speedproof.api.history import UNKNOWN, measurable
    from speedproof.api.run_plan import new_session
    from speedproof.cli.run import RunOptions, run

    if not asked.words:
        raise UsageError("history confirm: give the benchmark's command after '--'")
    history = asked.history
    chosen = handed(sp.History.alarms, asked.shared) | {"metric": asked.measuring.decide_by}
    chosen |= {} if asked.commit is None else {"last": sys.maxsize}
    result, alarms = _asked_for(asked, chosen)
    if not alarms:
        what = "unconfirmed alarm" if asked.commit is None else f"alarm at {asked.commit}"
        of = "" if asked.shared.benchmark is None else f" of {asked.shared.benchmark}"
        raise UsageError(f"there is no {what}{of}: see 'speedproof history watch{result.followed.options}'")
    here = measurable(alarms, asked.machine or "")
    here = [alarm for alarm in here if alarm.bad == here[0].bad]
    alarm, *others = [alarm for alarm in here if not alarm.confirmed] or here
    if others:
        names = enumerate_names(sorted(result.known[one.track.series].key.benchmark for one in here), 3)
        raise UsageError(
            "alarms of several benchmarks; name that of the command with ",
            Parameter("benchmark"),
            f": {names}",
        )
    if alarm.track.basis == UNKNOWN:
        console.remark(
            "the store does not know on which machine the alarm was measured; if not here, do it there"
        )
    file = str(new_session("confirm", datetime.now()))
    key = result.known[alarm.track.series].key
    measuring = replace(
        asked.measuring,
        benchmark=key.benchmark,
        decide_by=asked.measuring.decide_by or key.metric,
        revisions=tuple(c.sha for c in alarm.compared),
        save=file,
    )
    with chdir(asked.repository):
        code = run(
            RunOptions(
                given=asked.given,
                argv=asked.argv,
                words=asked.words,
                measuring=measuring,
                output=Output(),
            ),
            console,
        )
    if code == INTERRUPTED:
        console.remark("nothing was filed: only measuring to the end decides about an alarm; begin anew")
    if code or not Path(file).exists():
        return code
    shown = history.confirm(alarm, file, machine=asked.machine or "")
    outcome = f"{'confirmed' if shown else 'refuted'}; filed in {result.store}"
    if shown is None:
        outcome = "undecided, so nothing was filed; measure longer with --max-time"
    console.write(Report("", (Text(f"{key.benchmark}: {outcome}"),)))
    after = history.alarms(**chosen).confirmed
    return FAILED if any(one.announced_by(alarm.announced) for one in after) else 0


def _asked_for(asked: ConfirmOptions, chosen: dict[str, Any]) -> "tuple[sp.AlarmResult, list[HistoryAlarm]]":
    """All alarms, and those to confirm: at the named commit, or else the unconfirmed ones."""
    result = asked.history.alarms(**chosen)
    if asked.commit is None:
        new = [a for a in result.alarms if not a.confirmed and a.decision is None and a.undone is None]
        return result, [alarm for alarm in new if result.slower(alarm)] or new
    at = asked.history.find(asked.commit)
    near = [alarm for alarm in result.alarms if at in alarm.track.near(*alarm.places)]
    return result, [alarm for alarm in near if alarm.bad.sha == at] or near


def _carry_out(command: str, body: str) -> None:
    """Run a user's command with a text on standard input; its output goes to standard error."""
    said = sys.__stderr__ or subprocess.DEVNULL
    code = subprocess.run(["sh", "-c", command], input=body, stdout=said, text=True, check=False).returncode
    if code:
        raise UsageError(f"--on-alarm {command}: ended with code {code}")


def _page(asked: PageOptions, console: Console) -> int:
    if asked.stores:
        refuse(asked.given, "store", "repository", because="every STORE is in its own")
    folder, size = Path(asked.output), 0
    for name, history in _projects(asked.stores) if asked.stores else [("", asked.history)]:
        with console.progress(
            f"drawing {name}".strip(), len(history.store.all_series(metric=asked.shared.metric))
        ) as ticker:
            size += history.page(
                folder / name,
                done=ticker.advance,
                **handed(sp.History.page, asked, asked.shared),
            )
    if asked.stores:
        from speedproof.reporting.site import write_projects

        size += write_projects(folder)
    console.say(f"{asked.output}: {size / 1e6:.1f} MB; open {folder / 'index.html'}")
    return 0


def _projects(stores: Sequence[str]) -> list[tuple[str, "sp.History"]]:
    """Stores with their names: the name of the file, or of its folder where the file has the usual one."""
    from speedproof.api.history import DEFAULT_STORE

    named: dict[str, sp.History] = {}
    for store in stores:
        place = Path(store)
        name = place.resolve().parent.name if place.name == DEFAULT_STORE else place.stem
        if name in named:
            raise UsageError(f"two stores are called {name}; rename one")
        named[name] = sp.History(store, "." if "://" in store else place.parent)
    return list(named.items())


def _add(asked: AddOptions, console: Console) -> int:
    """Add every file; one that cannot be added does not keep the others out, and is an error at the end."""
    from speedproof.api.history import spelt
    from speedproof.api.history_files import short_name

    history, files = asked.history, asked.files
    failed: dict[str, list[str]] = {}
    done = []
    with console.progress("adding", len(files)) as ticker:
        for number, path in enumerate(files, 1):
            try:
                added = history.add(
                    path,
                    **handed(sp.History.add, asked, asked.reading) | {"machine": asked.machine or ""},
                    done=ticker.of if len(files) == 1 else lambda of, done: None,
                )
            except sp.SpeedproofError as error:
                failed.setdefault(error.on_command_line().removeprefix(f"{path}: "), []).append(path)
            else:
                console.remark(*added.problems)
                done.append(added)
                if not asked.json:
                    several = len(added.commits) > 3
                    names = [f"{len(added.commits)} commits"] if several else map(short_name, added.commits)
                    samples = f"{plural(added.samples, 'sample')} of {', '.join(names)}"
                    if added.there:
                        samples = f"{plural(added.samples, 'new sample')}, {added.there} there already"
                    console.say(f"{path}: {'was there already' if added.known else samples}")
            ticker.of(len(files), number)
    if asked.json:
        console.out.write(to_json("history", done))
    if unknown := [*dict.fromkeys(name for added in done for name in added.unknown)]:
        place = spelt(store=history.store.where, repository=history.repository)
        console.remark(
            f"git knows no commit {enumerate_names(unknown, 3)} here: stored, but not shown beside those that it "
            f"knows. COMMIT=FILE names the commit; to remove one: speedproof history forget COMMIT{place}"
        )
    lines = [f"{enumerate_names(paths, 3)}: {cause}" for cause, paths in failed.items()]
    if failed and len(files) == 1:
        raise UsageError(*lines)
    console.remark(*(f"error: {line}" for line in lines))
    if failed:
        raise UsageError(f"{sum(map(len, failed.values()))} of {len(files)} files not added")
    return 0


def _remark_branch(followed: "Followed", console: Console) -> None:
    """Report measured commits that are off the branch, and a branch head that is not measured."""
    out, branch = followed.outside, followed.branch
    said = [f"{plural(out, 'measured commit')} {'is' if out == 1 else 'are'} not on {branch}"] if out else []
    said += [f"{branch} itself is not measured"] if followed.ahead else []
    if said:
        console.remark("; ".join(said))


def _remark_chosen(
    history: "sp.History", metric: str | None, benchmark: str | None, console: Console
) -> None:
    """The metrics that decide unless one is asked for, beside others."""
    if metric is not None:
        return
    shown, others = history.metrics(benchmark)
    if others:
        console.remark(
            f"{enumerate_names(shown, 2)} {'is' if len(shown) == 1 else 'are'} shown; "
            f"others with --metric: {enumerate_names(others, 2)}, or all"
        )


def _tell(asked: ChangesOptions, console: Console) -> int:
    """Show the commits with changes, or those of one commit or benchmark."""
    from speedproof.reporting.history import overview

    history, shared = asked.history, asked.shared
    result = _changed(asked)
    sha = None if shared.commit is None else history.find(shared.commit)
    kept = tuple(
        change
        for change in result.changes
        if sha in (None, change.commit.sha) and asked.state in (None, result.state(change))
    )
    whole = shared.commit is asked.state is None
    each = shared.commit is not None or shared.benchmark is not None
    of = None if whole else len(result.changes)
    report = partial(overview, everything=shared.all, each=each, of=of)
    chosen = replace(result, changes=kept, alarms=result.alarms if whole else ())
    return _answer(asked, chosen, shared.benchmark, report, console)


def _show(asked: ShowBenchmarkOptions, console: Console) -> int:
    """One benchmark, commit by commit."""
    from speedproof.reporting.history import track_report

    report = partial(track_report, everything=asked.shared.all)
    return _answer(asked, _changed(asked), asked.benchmark, report, console)


def _changed(asked: ChangesOptions | ShowBenchmarkOptions) -> "sp.HistoryResult":
    return asked.history.changes(**handed(sp.History.changes, asked.shared, asked))


def _answer(
    asked: ChangesOptions | ShowBenchmarkOptions,
    result: "sp.HistoryResult",
    benchmark: str | None,
    report: Callable[["sp.HistoryResult"], Report],
    console: Console,
) -> int:
    """Show the changes, after a remark on the branch and metrics used where there are others."""
    history, shared = asked.history, asked.shared
    followed = {commit.branch for commit in result.commits} - {""}
    others = sorted({commit.branch for commit in history.store.commits()} - followed - {""})
    if others and not any(commit.author for commit in result.commits):  # git does not order them
        console.remark(
            f"{', '.join(followed)} is followed; others with --branch: {enumerate_names(others, 3)}"
        )
    _remark_branch(result.followed, console)
    _remark_chosen(history, shared.metric, benchmark, console)
    console.answer(result.to_json, lambda: [report(result)], json=shared.json)
    stands = any(result.slower(c) and result.state(c) == "stands" for c in result.changes)
    return FAILED if shared.fail_on_change and stands else 0


def _query(asked: QueryOptions, console: Console) -> int:
    """Samples as a table, as JSON, or in a CSV or Parquet file."""
    from speedproof.reporting.history import LISTED, measured_report

    last = None if asked.output or asked.shared.json or asked.shared.all else LISTED + 1
    rows = asked.history.query(*asked.patterns, **handed(sp.History.query, asked.shared) | {"last": last})
    if asked.output:
        _write(rows, asked.output)
        console.say(f"{asked.output}: {plural(len(rows), 'sample')}")
    elif asked.shared.json:
        console.out.write(to_json("history", rows))
    else:
        console.write(measured_report(rows[-LISTED:] if last else rows, asked.store, cut=len(rows) == last))
    return 0


def _write(rows: list["QueriedSample"], output: str) -> None:
    from speedproof.api.history_files import QueriedSample

    names = QueriedSample.__struct_fields__
    if output.endswith(".parquet"):
        try:
            import pyarrow as pa
            from pyarrow import parquet
        except ImportError:
            raise UsageError(f"{output}: Parquet needs pyarrow: pip install pyarrow") from None
        beside = Path(f"{output}.new")
        columns = {name: [getattr(row, name) for row in rows] for name in names}
        parquet.write_table(pa.table(columns), beside)
        beside.replace(output)
    elif output.endswith(".csv"):
        write_whole(Path(output), separated(names, map(attrgetter(*names), rows)))
    else:
        raise UsageError(f"{output}: rows are written as .csv or .parquet")


def _export(asked: TransferOptions, console: Console) -> int:
    to_stdout = asked.file == STDOUT
    if to_stdout and console.terminal:
        raise UsageError("what is exported is compressed; name a file, or add '| PROGRAM'")
    samples = asked.history.export(asked.file)
    if not to_stdout:
        console.say(f"{asked.file}: {plural(samples, 'sample')}")
    return 0


def _import(asked: TransferOptions, console: Console) -> int:
    console.say(f"{plural(asked.history.import_(asked.file), 'new sample')} from {asked.file}")
    return 0


def _decide(
    state: Literal["blessed", "invalid", "fixed", "reopened"], asked: DecideOptions, console: Console
) -> int:
    from speedproof.api.history_files import short_name

    reason, sha = " ".join(asked.reason), asked.history.find(asked.commit)
    asked.history.decide(asked.commit, state, reason=reason, benchmark=asked.shared.benchmark or "")
    said = asked.history.store.decisions()[-1]
    out = ": its measurements so far are left out" if state == "invalid" else ""
    console.say(f"{short_name(sha)} is {state}{out}")
    if state != "invalid":
        with suppress(UsageError):  # nothing to show on this branch
            history, of = asked.history, asked.shared.benchmark
            changes = history.changes(benchmark=of)
            name = {number: series.key.benchmark for number, series in changes.series.items()}
            shown = [(name[c.track.series], c.commit, c) for c in changes.changes if c.concerned(said)]
            alarmed = [(name[a.track.series], a.bad, a) for a in changes.watched if a.concerned(said)]
            of_them = ((one, commit) for one, commit, _ in (*shown, *alarmed))
            named = dict.fromkeys(f"{one} at {short_name(commit.sha)}" for one, commit in of_them)
            drifts = {one for one, _, c in shown if c.drift} | {one for one, _, a in alarmed if a.drift}
            for drifting in drifts if of is None else ():  # each by its name, for its commit will move
                history.decide(asked.commit, state, reason=reason, benchmark=drifting)
            counts = f"That counts for the change of {enumerate_names(named, 5)}."
            console.say(counts if named else "No change is shown there now.")
    return 0


def _note(asked: NoteOptions, console: Console) -> int:
    from speedproof.api.history_files import short_name

    said: dict[Literal["noted", "assigned"], str] = {
        "noted": " ".join(asked.remark),
        "assigned": asked.assign or "",
    }
    if not any(said.values()):
        raise UsageError("give a remark, or --assign WHO")
    for state, what in said.items():
        if what:
            asked.history.decide(asked.commit, state, reason=what, benchmark=asked.shared.benchmark or "")
            console.say(f"{short_name(asked.history.find(asked.commit))} is {state}: {what}")
    return 0


def _forget(asked: ForgetOptions, console: Console) -> int:
    for commit in asked.commits:
        samples = asked.history.forget(commit)
        console.say(f"{plural(samples, 'sample')} of {commit} forgotten")
    return 0


COMMAND = Group(
    "Keep result files of commits in a store and tell what changed since: after which commit, by how much, "
    "with one stated risk for all benchmarks together. Without an action the commits with changes are shown.",
    "  speedproof history add results.json            what was measured at git's HEAD\n"
    "  speedproof history add old.json --commit v1.2  at another commit\n"
    "  speedproof history                             commits with changes\n"
    "  speedproof history show sort                   one benchmark, commit by commit\n"
    "  speedproof history watch                       alarms of the newest commits\n"
    "  speedproof history confirm -- ./bench          measures the newest alarm again\n"
    "  speedproof history page -o site/               charts, for a browser\n"
    "  speedproof history query 'json/*' -o json.csv  samples as rows\n"
    "  speedproof history export all.jsonl.gz         the whole store\n"
    "  speedproof history bless 3f2a9c1 'slower, but correct'\n"
    "  speedproof history note 3f2a9c1 'looks like the new hash' --assign ann\n"
    "  speedproof history invalid 3f2a9c1 'noisy machine' --benchmark sort\n"
    "  speedproof history reopen 3f2a9c1              takes such decisions back\n"
    "\n"
    "exit codes: 0 done; 1 a confirmed slowdown that nobody has decided about (watch,\n"
    "            confirm), or one that stands (--fail-on-change); 2 error",
    {
        "add": Command(AddOptions, _add),
        "changes": Command(ChangesOptions, _tell),
        "show": Command(ShowBenchmarkOptions, _show),
        "watch": Command(WatchOptions, _watch),
        "confirm": Command(ConfirmOptions, _confirm),
        "page": Command(PageOptions, _page),
        "query": Command(QueryOptions, _query),
        "export": Command(TransferOptions, _export, "Write the whole store to one file."),
        "import": Command(TransferOptions, _import, "Read what 'export' wrote."),
        "bless": Command(DecideOptions, partial(_decide, "blessed"), "Accept a change."),
        "invalid": Command(
            DecideOptions, partial(_decide, "invalid"), "Leave out what was measured of a commit so far."
        ),
        "fixed": Command(DecideOptions, partial(_decide, "fixed"), "Say that a later commit undid a change."),
        "note": Command(NoteOptions, _note),
        "reopen": Command(
            DecideOptions, partial(_decide, "reopened"), "Take back every decision and remark about a commit."
        ),
        "forget": Command(ForgetOptions, _forget),
    },
    usual="changes",
)

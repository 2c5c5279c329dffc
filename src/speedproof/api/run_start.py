"""What happens before a session measures: rules, metrics, machine, what was measured before, a tool's benchmarks.

It is imported before anything is known to be measured, so nothing here imports what computes.
"""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from speedproof.api.given import alpha_of, confidence_of
from speedproof.api.run_plan import PLANNED, Absent, Plan, Request, Tell
from speedproof.conclude.claims import Demand as Demand
from speedproof.conclude.claims import SessionQuestion, StopRules
from speedproof.data.names import wanted as wanted
from speedproof.data.session_file import SessionLine, control_name, options_stored
from speedproof.data.session_file import StoredSession as StoredSession
from speedproof.declaring import Option, exclusive, fields
from speedproof.errors import FormatError, UsageError
from speedproof.measuring.drivers import ToolExecutor as ToolExecutor
from speedproof.measuring.drivers import absent_from, planned
from speedproof.measuring.execute import NO_PROGRAM, shell_command
from speedproof.measuring.executor import (
    ACCOUNTED,
    CPU_CLOCK,
    CommandExecutor,
    check_decider,
    check_names,
    energy_meter,
    parse_metric,
    perf_counters,
    shell_start,
    units_of,
    whole_ticks,
)
from speedproof.measuring.programs import fingerprints, not_found, other_executables, was_changed
from speedproof.measuring.runs import seed_or_new
from speedproof.measuring.store import new_head, untold
from speedproof.measuring.store import read_sessions as read_sessions
from speedproof.measuring.system import differences, disturbances, snapshot, usable_cpus
from speedproof.measuring_options import OF_VERDICTS, STORED, Measuring
from speedproof.options import Policy, decider_of

# Builds of each revision and runs of each build from which --plan plans.
_PILOT = (3, 5)
# Runs of a build are cheap beside the build, and what they vary by must not hide what builds differ by.
_RUNS_OF_A_BUILD = 5
_LEAST_RUNS = 10
# Nothing decides a single version, and a minute of it is more than anybody asked for.
_ALONE_RUNS = 30
# Of a resumed session's options these are what is asked, and a new answer to one of them may be wanted; all
# others change what is measured.
_ASKED = ("decide_by", "alpha", "confidence", "margin", "precision")
_MEASURED = [name for name in STORED if name not in _ASKED]
_LIMITS = ("min_runs", "max_runs", "max_time")


def inherit(asked: Request, stored: StoredSession, *, review: bool) -> Request:
    """Take options over from a stored session, except for the questions that are asked anew.

    Others are refused: they would change nothing, or make blocks that cannot be compared with the stored ones.
    """
    given, m = asked.given, asked.measuring
    measured = (*PLANNED, "revisions", "build_env", "only", "skip", *_MEASURED, *(_LIMITS if review else ()))
    if taken := [given[name] for name in measured if name in given]:
        option = "--review" if review else "--resume"
        raise UsageError(
            f"{option} takes from the session what it measured, and how; leave out {', '.join(taken)}, or measure "
            f"anew without {option}"
        )
    names = list(_MEASURED)
    if m.decide_by is None:
        names.append("decide_by")
    if m.alpha is None and m.confidence is None:
        names += ["alpha", "confidence"]
    if m.margin is None and m.precision is None:
        names += ["margin", "precision"]
    m = replace(m, **{name: getattr(stored.options, name) for name in names})
    counted = any(event in stored.head.units for event in _events(m.perf))
    check_decider(decider_of(m.decide_by)[0], _recorded(stored.head.units, counted=counted, energy=m.energy))
    return replace(asked, measuring=m)


def stored_chain(file: str, tell: Tell) -> tuple[list[StoredSession], int]:
    """The last session of a file and those that it went on with, oldest first; how many others there are."""
    sessions = read_sessions(Path(file), left_out=lambda what: tell(f"left out: {what}"))
    last = sessions[-1].head
    chain = [session for session in sessions if session.head.session in (*last.resumes, last.session)]
    for session in chain:
        session.check(file)
    if absent := [name for name in last.resumes if name not in {s.head.session for s in chain}]:
        raise FormatError(
            file,
            f"session {last.session}",
            f"goes on with {', '.join(absent)}, which the file lacks: the verdict rests on those runs, too; put "
            "the files together with cat, the older first",
        )
    return chain, len(sessions) - len(chain)


def completed(asked: Request) -> Request:
    """With the numbers of builds, of runs of each, and with the seed that builds are drawn from."""
    m = asked.measuring
    if not (m.plan or m.builds):
        return asked
    builds, runs = _PILOT if m.plan else (None, _RUNS_OF_A_BUILD)
    m = replace(m, builds=m.builds or builds, runs=m.runs or runs, seed=seed_or_new(m.seed))
    return replace(asked, measuring=m)


def refuse_verdicts(asked: Request) -> None:
    """Refuse what asks for a verdict, or when to stop for it, where there is none, or another rule."""
    m = asked.measuring
    if decider_of(m.decide_by)[1] is not None and (m.held_to or m.builds or m.plan):
        rival = "a policy" if m.held_to else "--builds" if m.builds else "--plan"
        raise UsageError(f"--decide-by {m.decide_by} cannot be combined with {rival}")
    # What was asked of a session that goes on counts as given.
    kept = {
        name: f"--{name.replace('_', '-')} (of the session)"
        for name in _MEASURED
        if getattr(m, name) != getattr(Measuring(), name)
    }
    excludes = {f.name: f.asked.excludes.split() for f in fields(Measuring) if isinstance(f.asked, Option)}
    exclusive(excludes, {**kept, **asked.given})


def question_of(asked: Request, plan: Plan, units: Mapping[str, tuple[str, str]]) -> SessionQuestion:
    """The question that the runs of a session are to answer."""
    m = asked.measuring
    metric, q = decider_of(m.decide_by)
    rules, higher = replace(_rules_of(asked, plan), quantile=q), units.get(metric, ("", ""))[1] == "higher"
    unaffected, repeats = _unaffected(m.unaffected, plan), m.runs if m.builds and m.runs else 1
    return SessionQuestion(rules, metric, higher, m.control, unaffected, repeats, m.settings)


def _rules_of(asked: Request, plan: Plan) -> StopRules:
    """When each benchmark ends, and at which risk."""
    m = asked.measuring
    alone = max(len(benchmark.versions) for benchmark in plan) == 1
    if alone and not (m.driver or m.revisions):
        asked.refuse(*OF_VERDICTS, because="a single version has no verdict")
    least, most = m.min_runs, m.max_runs
    longest: float | None = m.max_time if "max_time" in asked.given else m.max_time * len(plan)
    # Every block has a build of its own, so there are as many; --runs are those of one build, then.
    exact = m.runs if m.builds is None else m.builds
    if exact is not None:
        least = most = exact
        longest = longest if "max_time" in asked.given else None
    if least is None:
        least = _LEAST_RUNS if most is None else min(_LEAST_RUNS, most)
    if m.calibrate:
        # The question is how large the noise is, not whether A differs from A.
        least = most or sys.maxsize
    elif alone and most is None:
        most = max(_ALONE_RUNS, least)
    demand, family = None, 1
    if m.held_to:
        demand = Demand(Policy(m.held_to), m.margin or Demand().margin)
        # How many comparisons it judges: not those of what cannot differ.
        touched = [b for b in plan if not any(fnmatchcase(b.name, p) for p in m.unaffected)]
        family = max(sum(len(benchmark.versions) - (2 if m.control else 1) for benchmark in touched), 1)
    margin = None if demand else m.margin
    alpha, fixed = alpha_of(confidence_of(m)), m.builds is not None
    return StopRules(alpha, margin, m.precision, least, most, longest, m.stop_at_proof, demand, fixed, family)


def _unaffected(patterns: Sequence[str], plan: Plan) -> tuple[str, ...]:
    """The benchmarks that the change cannot touch; each pattern must mean some, and not all."""
    names = [benchmark.name for benchmark in plan]
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise UsageError(f"--unaffected {pattern}: no such benchmark; available: {', '.join(names)}")
    matching = tuple(name for name in names if any(fnmatchcase(name, p) for p in patterns))
    if matching and len(matching) == len(names):
        raise UsageError("--unaffected leaves no benchmark that the change can touch")
    return matching


def pin(cpus: str | None) -> None:
    """Keep this process, and with it everything that it starts, on some CPUs."""
    if cpus is None:
        return
    if not (usable := usable_cpus()):
        raise UsageError(f"--cpu {cpus}: this system does not let a process choose its CPUs; leave it out")
    try:
        os.sched_setaffinity(0, {int(cpu) for cpu in cpus.split(",")})
    except (ValueError, OSError):
        allowed = ",".join(map(str, usable))
        raise UsageError(f"--cpu {cpus}: give CPUs of {allowed}, separated by commas") from None


def _recorded(units: Collection[str], *, counted: bool, energy: bool) -> list[str]:
    """The metrics of each run; under perf the kernel's accounting would be of perf itself."""
    of_kernel = ACCOUNTED if not counted else ["cpu"] if CPU_CLOCK in units else []
    return ["time", *of_kernel, *units, *(["energy"] if energy else [])]


def _events(text: str | None) -> list[str]:
    return [] if text is None else [event.strip() for event in text.split(",")]


def begun(
    plan: Plan,
    m: Measuring,
    stored: Sequence[StoredSession] = (),
    folder: Path = Path(),
    tell: Tell | None = None,
    **kept: Any,
) -> tuple[SessionLine, CommandExecutor | ToolExecutor]:
    """The first line of a session, and what executes its runs, with every metric that is to be had here.

    Somebody there is to tell learns of what is not, and of what may disturb the measurements, once a day;
    ``kept`` are other fields of the line.
    """
    output, events = tuple(map(parse_metric, m.metric)), _events(m.perf)
    perf = energy = None
    notes = []
    check_names(output, events)
    if (
        decider_of(m.decide_by)[0] == "cpu"
        and not events
        and whole_ticks(resource.getrusage(resource.RUSAGE_SELF))
    ):
        events = [CPU_CLOCK]
    if events:
        perf, absent = perf_counters(events, folder / "perf.txt")
        if perf is not None:
            notes.append(
                "perf starts the programs and takes their time; user time, memory and the like are left out"
            )
        notes.append(absent)
    if m.energy:
        energy, absent = energy_meter()
        notes.append(absent)
    units = dict(units_of(output, perf))
    check_decider(
        decider_of(m.decide_by)[0], _recorded(units, counted=perf is not None, energy=energy is not None)
    )
    capture = m.output == "capture" or bool(output)
    executor = CommandExecutor(m.input, capture, m.timeout, output, perf, energy)
    environment = snapshot()
    warnings = disturbances(environment)
    if tell is not None:
        notes += untold(warnings)
        if m.shell:
            notes.append(
                f"every run includes the start of {m.shell}, about "
                f"{1e3 * shell_start(shell_command('', m.shell)):.2g} ms; it brings speedups closer to 1"
            )
        if stored and (changed := differences(stored[-1].head.environment, environment)):
            notes.append(f"the machine differs from the last session's: {'; '.join(changed)}")
        for note in filter(None, notes):
            tell(f"note: {note}")
    files = kept.pop("files", None) or fingerprints(plan)
    head = new_head(
        plan,
        units=units,
        options=options_stored(replace(m, decide_by=m.decide_by or "time"), str(Path.cwd())),
        environment=environment,
        warnings=warnings,
        resumes=tuple(session.head.session for session in stored),
        files=files,
        executables=other_executables(plan, files),
        seed=m.seed,
        **kept,
    )
    if m.driver is None:
        return head, executor
    # The reader of its files is loaded with the first of them.
    return head, ToolExecutor(m.driver, executor, folder, partial(times_in, m.driver))


def same_files(file: str | None, stored: Sequence[StoredSession], plan: Plan) -> dict[str, str]:
    """Fingerprint the files that commands use; refuse to continue a session of other programs."""
    if gone := _gone(plan):
        if not (file and stored):
            raise FormatError(gone, "", "no such folder")
        head = stored[-1].head
        anew = f"is gone, where it ran; measure anew, --seed {head.seed} draws the same layouts"
        raise FormatError(file, f"session {head.session}", f"{gone} {anew}")
    if missing := not_found(plan):
        raise FormatError(missing, "", *NO_PROGRAM)
    files = fingerprints(plan)
    earlier = next((session for session in reversed(stored) if session.head.files), None)
    if file and earlier and (changed := was_changed(earlier, files)):
        head = earlier.head
        where = head.options.get("directory", "")
        elsewhere = f" (it was started in {where})" if where != str(Path.cwd()) else ""
        raise FormatError(
            file,
            f"session {head.session}",
            f"{', '.join(changed)}: not what was measured then{elsewhere}, and blocks of different programs make "
            "no comparison; measure anew without --resume, or put back what was there",
        )
    return files


def _gone(plan: Plan) -> str:
    """A folder of the plan that no longer exists, such as a build's; an empty string if all are there."""
    versions = [version for benchmark in plan for version in benchmark.versions]
    folders = [v.cwd for v in versions] + [build.cwd for v in versions for build in v.builds]
    return next((folder for folder in folders if folder and not Path(folder).is_dir()), "")


def times_in(format: str, path: Path) -> dict[str, float]:
    """The median time of each benchmark of one invocation of a tool, in seconds; a rate counts as its inverse."""
    import numpy as np

    from speedproof.data.record import Record
    from speedproof.formats import read

    times: dict[str, list[float]] = {}
    for record in read(path, format=format):
        if not isinstance(record, Record) or record.version == "base":  # criterion's copy of the run before
            continue
        if record.unit == "s" and record.metric in ("time", "single-shot time"):
            times.setdefault(record.benchmark, []).extend(record.values.tolist())
        elif record.metric == "throughput" and record.unit == "ops/s" and np.all(record.values > 0):
            times.setdefault(record.benchmark, []).extend((1.0 / record.values).tolist())
    return {name: float(np.median(values)) for name, values in times.items()}


def discovered(
    tool: ToolExecutor,
    head: SessionLine,
    tell: Tell,
    asked: Request,
    *,
    resumed: bool,
    meanwhile: AbstractContextManager[None],
) -> SessionLine:
    """The benchmarks of another tool: what one invocation of each side finds, which counts for nothing else."""
    sides = list({v.name: v for benchmark in head.benchmarks for v in benchmark.versions}.values())
    tell(f"looking for the benchmarks of {tool.driver}")
    with meanwhile:
        measured = {v.name: tool.discover(v) for v in sides}
    plan, tool.aliases, absent = planned(sides, measured)
    if resumed:
        asked = replace(asked, wants={*head.absent, *(b.name for b in head.benchmarks)}.__contains__)
    plan = asked.chosen(plan)
    absent = {name: versions for name, versions in absent.items() if asked.wants(name)}
    first = sides[0].name
    for name, versions in absent.items():
        tell(f"left out: {absent_from(name, versions, first)}")
    # Who lacked one before lacks it still, and a revision that was not built lacks all of them.
    wanted = filter(asked.wants, measured[first])
    before = head.absent if resumed else dict.fromkeys(wanted, sum(head.absent.values(), ()))
    lacking: Absent = {}
    for name in dict.fromkeys((*before, *absent)):
        sides_of = dict.fromkeys((*before.get(name, ()), *absent.get(name, ())))
        if left := tuple(side for side in sides_of if side not in (first, control_name(first))):
            lacking[name] = left
    return replace(head, benchmarks=head.benchmarks if resumed else plan, absent=lacking)

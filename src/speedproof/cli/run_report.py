"""What ``speedproof run`` says when it has measured: what is proven, then the same runs by the other protocols."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from speedproof.cli.command import Args
from speedproof.cli.console import Console
from speedproof.cli.outputs import context_of, write_outputs, write_whole
from speedproof.data.session_file import StoredSession
from speedproof.data.suite import Record, Suite
from speedproof.measure.environment import load_of
from speedproof.measure.store import read_sessions
from speedproof.protocols.assumptions import Assumption
from speedproof.protocols.calibration import calibrate
from speedproof.protocols.planning import RunPlan, plan_runs
from speedproof.protocols.questions import QUESTIONS
from speedproof.protocols.results import Check, Verdict
from speedproof.protocols.sequential import CandidateResult
from speedproof.protocols.stopping import StopRules
from speedproof.report import calibration as of_calibration
from speedproof.report import planning as of_planning
from speedproof.report.formats import Reported
from speedproof.report.model import Report, Text
from speedproof.report.names import enumerate_names
from speedproof.report.session import report as session_report
from speedproof.report.session import sides_of, spent_of
from speedproof.sessions import SessionOrigin, SessionResult

if TYPE_CHECKING:
    from speedproof.protocols.suite import SuiteComparison


def report(
    args: Args,
    console: Console,
    path: Path,
    names: Collection[str],
    rules: StopRules,
    outcome: SessionResult,
) -> None:
    """Write everything that was asked for."""
    sessions = [session for session in read_sessions(path) if session.head.session in names]
    _remark(console, outcome, sessions[-1])
    if args.export_hyperfine:
        from speedproof.measure.export import to_hyperfine

        write_whole(Path(args.export_hyperfine), to_hyperfine(sessions))
        if outcome.measured.on_result:
            console.remark(
                f"note: {args.export_hyperfine} cannot say that measuring stopped on the result, nor which runs "
                "are of one block"
            )
    calibration = calibrate(*_calibration_runs(sessions), alpha=rules.alpha) if args.calibrate else None
    suite = spent = Suite((), {})
    results: list[SuiteComparison] = []
    if calibration is None and any(not tally.useless and tally.runs for tally in outcome.measured.tallies):
        suite, spent, results = _fixed_sample(path, sessions, rules, args.decide_by)
    findings = [_contradicted(finding, results) for finding in outcome.findings]
    planned = _plan(sessions, rules.alpha) if args.plan else None
    if planned is not None:
        shown = of_planning.report(planned)
    elif calibration is not None:
        shown = of_calibration.report(calibration, findings[0])
    else:
        shown = session_report(
            findings,
            sides_of(suite, args.decide_by),
            alpha=rules.alpha,
            margin=rules.margin,
            spent=spent_of(spent),
            file="" if args.review else shlex.quote(str(path)),
            control=args.control,
            unaffected=args.unaffected,
            gate=rules.gate,
            absent=outcome.measured.absent,
            builds=(args.builds, "{seed}" in args.build) if args.builds else None,
            load=load_of(sessions[-1].head.environment),
        )
    taken = write_outputs(args, Reported((shown,), suite, context_of(args), results), console)
    if args.json:
        from speedproof.report.json import to_json

        how = SessionOrigin(
            str(path),
            tuple(names),
            args.decide_by,
            rules.alpha,
            rules.margin,
            rules.precision,
            dict(outcome.measured.reasons),
            outcome.measured.interrupted,
            outcome.measured.tallies,
        )
        results_found = [*findings, *(found for found in (calibration, planned) if found is not None)]
        console.out.write(to_json("run", results_found, session=how))
    elif not taken:
        if calibration is not None or len(suite.versions) != 1:
            console.write(shown)
        if len(suite.versions) == 1:
            _show_alone(console, suite)


def _remark(console: Console, outcome: SessionResult, last: StoredSession) -> None:
    """Why each benchmark ended, and what was asked for and is nowhere."""
    ended: dict[str, list[str]] = {}
    for benchmark, reason in outcome.measured.reasons:
        ended.setdefault(reason, []).append(benchmark)
    for reason, names in ended.items():
        if reason == "interrupted":
            console.remark("interrupted")
        elif reason not in ("", "decided"):
            console.remark(f"{enumerate_names(names, 5)}: ended because {reason}")
    for problem in outcome.measured.unfinished:
        console.remark(f"error: {problem}")
    for tally in outcome.measured.tallies:
        who = f"{tally.version} ({tally.benchmark})"
        if tally.useless:
            console.remark(
                f"error: {who}: not one of {tally.runs} runs counts; try it without --ignore-failure"
            )
            continue
        for what, count in (
            ("failed and were left out", tally.failed),
            ("lacked the deciding metric and were left out", tally.lacking),
            ("left processes running", tally.left_behind),
        ):
            if count:
                console.remark(f"note: {who}: {count} of {tally.runs} runs {what}")
        for name in last.head.units:
            if tally.runs and name not in tally.metrics:
                why = tally.absent.get(name, "")
                console.remark(f"note: {who}: no run gave {name}{f' ({why})' if why else ''}")


def _calibration_runs(
    sessions: Sequence[StoredSession],
) -> tuple[list[tuple[float, float]], list[float], float]:
    """Times by block, times in order, and the seconds that all of it took."""
    blocks: dict[tuple[str, int], list[float]] = {}
    in_order, seconds = [], 0.0
    for session in sessions:
        runs = [
            run
            for run in session.runs
            if not run.warmup and run.exit == 0 and not run.timed_out and "time" in run.metrics
        ]
        if not runs:
            continue
        for run in sorted(runs, key=lambda run: run.version):
            blocks.setdefault((run.session, run.block), []).append(run.metrics["time"])
        in_order += [run.metrics["time"] for run in runs]
        seconds += runs[-1].at + runs[-1].metrics["time"] - runs[0].at
    return [(b[0], b[1]) for b in blocks.values() if len(b) == 2], in_order, seconds


def _plan(sessions: Sequence[StoredSession], alpha: float) -> RunPlan:
    """From a pilot: the times of every version by build, and what builds and runs took."""
    times: dict[str, dict[tuple[str, int], list[float]]] = {}
    for session in sessions:
        for run in session.runs:
            if not run.warmup and run.exit == 0 and run.build is not None and "time" in run.metrics:
                place = (run.benchmark, run.build)
                times.setdefault(run.version, {}).setdefault(place, []).append(run.metrics["time"])
    pilot = []
    for builds in times.values():
        runs = min(map(len, builds.values()))
        pilot.append(np.array([values[:runs] for values in builds.values()]))
    took = [b.seconds for p in sessions[-1].head.benchmarks for v in p.versions for b in v.builds]
    each = [value for builds in times.values() for values in builds.values() for value in values]
    return plan_runs(pilot, float(np.mean(took)), float(np.mean(each)), alpha=alpha)


def _fixed_sample(
    path: Path, sessions: Sequence[StoredSession], rules: StopRules, metric: str
) -> tuple[Suite, Suite, list[SuiteComparison]]:
    """The runs, their processor time, and what protocols for fixed sizes say of them; nothing of one version."""
    from speedproof.formats import read
    from speedproof.protocols.pair import Rules
    from speedproof.protocols.suite import compare_suite

    head = sessions[-1].head
    records = [
        (item.version or "", item)
        for item in read(path, format="speedproof")
        if isinstance(item, Record)
        and item.metric in (metric, "user", "system")
        and dict(item.fields)["session"] == head.experiment
    ]
    suite = Suite.from_records([(version, item) for version, item in records if item.metric == metric])
    names = list(dict.fromkeys(v.name for b in head.benchmarks for v in b.versions))
    fixed = Rules(alpha=rules.alpha, margin=rules.margin)
    candidates = names[1:] if len(suite.versions) > 1 else []
    found = [
        compare_suite(suite.pair(names[0], candidate), (names[0], candidate), metric, fixed)
        for candidate in candidates
    ]
    return (
        suite,
        Suite.from_records([r for r in records if metric == "time" and r[1].metric != metric]),
        found,
    )


def _contradicted(finding: CandidateResult, results: Sequence[SuiteComparison]) -> CandidateResult:
    """Another quantity may be better where this one is worse: then neither is the whole answer."""
    opposite = {Verdict.FASTER: Verdict.SLOWER, Verdict.SLOWER: Verdict.FASTER}.get(finding.verdict)
    where = [
        QUESTIONS[comparison.protocol].where
        for result in results
        if result.candidate == finding.candidate
        for comparison in result.comparisons
        if comparison.benchmark == finding.benchmark and comparison.verdict is opposite
    ]
    if not where:
        return finding
    told = f"{' and '.join(where)} it is the other way"
    warning = Check.warning(Assumption.ONE_ANSWER, finding.candidate, told)
    return replace(finding, warnings=(*finding.warnings, warning))


def _show_alone(console: Console, suite: Suite) -> None:
    from speedproof.data.units import format_value
    from speedproof.protocols.summaries import summarise

    for (key, version), sample in suite.samples.items():
        s = summarise(sample)
        middle, deviation, least = (format_value(v, s.unit) for v in (s.median, s.deviation, s.minimum))
        told = f"{version} ({key.benchmark}): median {middle}, deviation {deviation}, minimum {least}, {s.n} runs"
        console.write(Report("", (Text(told),)))

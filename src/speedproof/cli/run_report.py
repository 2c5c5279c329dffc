"""What ``speedproof run`` says when it has measured: what is proven, then the same runs by the other protocols."""

from __future__ import annotations

import shlex
from collections.abc import Collection
from pathlib import Path

from speedproof.api.ended_sessions import EndedSession, SessionResult
from speedproof.cli.console import Console
from speedproof.cli.options import FAILING
from speedproof.cli.outputs import write_outputs, write_whole
from speedproof.cli.run import RunOptions
from speedproof.reporting.formats import Reported
from speedproof.reporting.model import Report, Text
from speedproof.reporting.names import enumerate_names

FAILED = 1
ERROR = 2
INTERRUPTED = 130


def _exit_code(asked: RunOptions, outcome: SessionResult) -> int:
    """2 when some version has no run that counts or a cleanup failed, 1 when a ``--fail-on`` condition is met."""
    if outcome.measured.interrupted:
        return INTERRUPTED
    if outcome.measured.fruitless or outcome.measured.unfinished:
        return ERROR
    if outcome.outcome is not None:
        return outcome.outcome.exit_code
    failing = frozenset[str]().union(*(FAILING[name] for name in asked.fail_on))
    return FAILED if any(finding.verdict in failing for finding in outcome.judged) else 0


def report(
    asked: RunOptions, console: Console, path: Path, names: Collection[str], outcome: SessionResult
) -> int:
    """Write everything that was asked for; the exit code of the command."""
    code = _exit_code(asked, outcome)
    found = EndedSession(path, names, outcome)
    _remark(console, found)
    if hyperfine := asked.measuring.export_hyperfine:
        write_whole(Path(hyperfine), found.to_hyperfine())
        if outcome.measured.on_result:
            console.remark(
                f"note: {hyperfine} cannot say that measuring stopped on the result, nor which runs "
                "are of one block"
            )
    shown = found.report("" if asked.review else shlex.quote(str(path)))

    def reported() -> Reported:
        return Reported((shown,), found.suite, results=found.comparisons)

    taken = write_outputs(asked, asked.output, reported, console)
    if asked.output.json:
        console.out.write(found.to_json(code))
    elif not taken:
        alone = len(found.suite.versions) == 1
        if not alone:
            console.write(shown)
        for line in found.alone() if alone else ():
            console.write(Report("", (Text(line),)))
    return code


def _remark(console: Console, found: EndedSession) -> None:
    """Why each benchmark ended, and what was asked for and is nowhere."""
    measured = found.outcome.measured
    reasons: dict[str, list[str]] = {}
    for benchmark, reason in measured.reasons:
        reasons.setdefault(reason, []).append(benchmark)
    for reason, names in reasons.items():
        if reason == "interrupted":
            console.remark("interrupted")
        elif reason not in ("", "decided"):
            console.remark(f"{enumerate_names(names, 5)}: ended because {reason}")
    for problem in measured.unfinished:
        console.remark(f"error: {problem}")
    for tally in measured.tallies:
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
        for name in found.sessions[-1].head.units:
            if tally.runs and name not in tally.metrics:
                why = tally.absent.get(name, "")
                console.remark(f"note: {who}: no run gave {name}{f' ({why})' if why else ''}")

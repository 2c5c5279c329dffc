"""What ``speedproof run`` measures or has measured, and what comes of it: all of it that knows statistics."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from speedproof.cli.command import Args
from speedproof.cli.console import Console
from speedproof.cli.live import Watcher
from speedproof.cli.options import FAILING
from speedproof.cli.run_request import WantedMetrics, unaffected_of
from speedproof.data.session_file import Line, SessionLine, StoredSession, control_name
from speedproof.measure.drivers import ToolExecutor
from speedproof.measure.executor import CommandExecutor
from speedproof.measure.programs import fingerprints, replaced
from speedproof.measure.results import Warmup
from speedproof.measure.store import ResultsFile
from speedproof.protocols.results import Verdict
from speedproof.protocols.sequential import CandidateResult
from speedproof.protocols.stopping import StopRules
from speedproof.sessions import ComparedSession, SessionResult

FAILED = 1
ERROR = 2
UNDECIDED = 3


def measure(
    args: Args,
    console: Console,
    stack: ExitStack,
    path: Path,
    head: SessionLine,
    stored: Sequence[StoredSession],
    rules: StopRules,
    warmup: Warmup,
    metrics: WantedMetrics,
    tool: ToolExecutor | None,
) -> SessionResult:
    """Measure, after what was measured before."""
    store = stack.enter_context(ResultsFile(path))
    session = _session(
        args,
        head,
        rules,
        metrics.executor,
        append=store.append,
        watch=stack.enter_context(Watcher(console, metric=args.decide_by)),
        warmup=warmup,
        higher_is_better=metrics.higher_is_better,
        ignore_failure=args.ignore_failure,
        changed=lambda: replaced(head.benchmarks, head.files, fingerprints(head.benchmarks)),
        harness=tool,
    )
    if stored:
        console.remark(f"{session.recall(stored)} blocks taken over from {path}")
    return session.run()


def review(args: Args, stored: Sequence[StoredSession], rules: StopRules) -> SessionResult:
    """The verdict on what a file holds; it is valid whenever, and for whatever reason, measuring stopped."""
    head = stored[-1].head
    higher = head.units.get(args.decide_by, ("", ""))[1] == "higher"
    session = _session(args, head, rules, CommandExecutor(), append=_store_nothing, higher_is_better=higher)
    session.recall(stored)
    return session.review()


def _store_nothing(line: Line) -> None:
    """Nothing is measured."""


def _session(
    args: Args, head: SessionLine, rules: StopRules, executor: CommandExecutor, **how: Any
) -> ComparedSession:
    return ComparedSession(
        head,
        rules,
        executor,
        clock=time.monotonic,
        metric=args.decide_by,
        control=args.control,
        repeats=args.runs if args.builds and args.runs else 1,
        unaffected=unaffected_of(args, head.benchmarks),
        **how,
    )


def exit_code(args: Args, outcome: SessionResult) -> int:
    """2 when some version has no run that counts or a cleanup failed, 1 when a ``--fail-on`` condition is met."""
    if outcome.measured.fruitless or outcome.measured.unfinished:
        return ERROR
    judged = [
        f
        for f in outcome.findings
        if not (args.control and f.candidate == control_name(f.reference))
        and not any(fnmatchcase(f.benchmark, pattern) for pattern in args.unaffected)
    ]
    if args.gate:
        return _gate_code(judged, lacking=bool(outcome.measured.absent))
    failing = frozenset[Verdict]().union(*(FAILING[name] for name in args.fail_on))
    return FAILED if any(finding.verdict in failing for finding in judged) else 0


def _gate_code(findings: Sequence[CandidateResult], *, lacking: bool) -> int:
    """0 when all pass, 1 when one fails or a candidate lacks one, 3 when it is undecided."""
    outcomes = {finding.gate for finding in findings}
    return FAILED if lacking or "fail" in outcomes else 0 if outcomes == {"pass"} else UNDECIDED

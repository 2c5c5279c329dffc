"""What ``speedproof run`` measures or has measured, and what comes of it: all of it that knows statistics."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from speedproof.api.run_sessions import (
    GateOutcome,
    SessionLine,
    SessionQuestion,
    SessionResult,
    StopRules,
    StoredSession,
    judged,
    measured,
    reviewed,
)
from speedproof.api.run_start import CommandExecutor, ToolExecutor
from speedproof.cli.command import Args
from speedproof.cli.console import Console
from speedproof.cli.live import Watcher
from speedproof.cli.options import FAILING
from speedproof.cli.run_request import unaffected_of

FAILED = 1
ERROR = 2
_GATE_CODES: dict[GateOutcome, int] = {"pass": 0, "fail": FAILED, "undecided": 3}


def measure(
    args: Args,
    console: Console,
    path: Path,
    head: SessionLine,
    stored: Sequence[StoredSession],
    rules: StopRules,
    warmup: int | None,
    executor: CommandExecutor | ToolExecutor,
) -> SessionResult:
    """Measure, after what was measured before."""
    question = _question(args, head, rules)
    with Watcher(console, metric=args.decide_by) as watcher:
        return measured(
            head, stored, question, executor, path,
            watch=watcher,
            warmup=warmup,
            ignore_failure=args.ignore_failure,
            tell=console.remark,
        )  # fmt: skip


def review(args: Args, stored: Sequence[StoredSession], rules: StopRules) -> SessionResult:
    """The verdict on what a file holds."""
    return reviewed(stored, _question(args, stored[-1].head, rules))


def _question(args: Args, head: SessionLine, rules: StopRules) -> SessionQuestion:
    return SessionQuestion(
        rules,
        args.decide_by,
        head.units.get(args.decide_by, ("", ""))[1] == "higher",
        args.control,
        unaffected_of(args, head.benchmarks),
        args.runs if args.builds and args.runs else 1,
    )


def exit_code(args: Args, head: SessionLine, rules: StopRules, outcome: SessionResult) -> int:
    """2 when some version has no run that counts or a cleanup failed, 1 when a ``--fail-on`` condition is met."""
    if outcome.measured.fruitless or outcome.measured.unfinished:
        return ERROR
    if (answer := gate_outcome(args, head, rules, outcome)) is not None:
        return _GATE_CODES[answer]
    found = judged(outcome, _question(args, head, rules))
    failing = frozenset[str]().union(*(FAILING[name] for name in args.fail_on))
    return FAILED if any(finding.verdict in failing for finding in found) else 0


def gate_outcome(
    args: Args, head: SessionLine, rules: StopRules, outcome: SessionResult
) -> GateOutcome | None:
    """Pass when all pass, fail when one does or a candidate lacks one; nothing without ``--gate``."""
    if not args.gate:
        return None
    outcomes = {finding.gate for finding in judged(outcome, _question(args, head, rules))}
    if outcome.measured.absent or "fail" in outcomes:
        return "fail"
    return "pass" if outcomes == {"pass"} else "undecided"

"""A session of ``run``: measured, or looked at again."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from speedproof.data.session_file import Line, SessionLine, StoredSession
from speedproof.measuring.drivers import ToolExecutor
from speedproof.measuring.executor import CommandExecutor
from speedproof.measuring.programs import fingerprints, replaced
from speedproof.measuring.results import Progress, Warmup
from speedproof.measuring.store import ResultsFile
from speedproof.protocols.negative_controls import is_control
from speedproof.protocols.sequential import CandidateResult, SequentialComparison
from speedproof.protocols.stopping import StopRules
from speedproof.reporting.numbers import plural
from speedproof.sessions import ComparedSession, GateOutcome, SessionResult

__all__ = [
    "CandidateResult",
    "GateOutcome",
    "SessionLine",
    "SessionQuestion",
    "SessionResult",
    "StopRules",
    "StoredSession",
    "ToolExecutor",
    "Warmup",
    "judged",
    "measured",
    "reviewed",
]


@dataclass(frozen=True, slots=True)
class SessionQuestion:
    """What is asked of the runs."""

    metric: str  # which decides, and whether more of it is better
    higher_is_better: bool
    rules: StopRules
    control: bool  # whether the second candidate is the reference, built again
    unaffected: Sequence[str]  # benchmarks that the change cannot touch
    repeats: int = 1  # runs of each build


def measured(
    head: SessionLine,
    stored: Sequence[StoredSession],
    question: SessionQuestion,
    executor: CommandExecutor,
    path: Path,
    *,
    watch: Callable[[Progress, SequentialComparison], None],
    warmup: Warmup,
    ignore_failure: bool,
    tool: ToolExecutor | None,
    tell: Callable[[str], None],
) -> SessionResult:
    """Measure, after what was measured before; every run is in the file before the next one starts."""
    with ResultsFile(path) as store:
        session = _session(
            head, question, executor,
            append=store.append,
            watch=watch,
            warmup=warmup,
            ignore_failure=ignore_failure,
            changed=lambda: replaced(head.benchmarks, head.files, fingerprints(head.benchmarks)),
            harness=tool,
        )  # fmt: skip
        if stored:
            tell(f"{plural(session.recall(stored), 'block')} taken over from {path}")
        return session.run()


def reviewed(stored: Sequence[StoredSession], question: SessionQuestion) -> SessionResult:
    """The verdict on what a file holds; it is valid whenever, and for whatever reason, measuring stopped."""
    session = _session(stored[-1].head, question, CommandExecutor(), append=_store_nothing)
    session.recall(stored)
    return session.review()


def _store_nothing(line: Line) -> None:
    """Nothing is measured."""


def _session(
    head: SessionLine, question: SessionQuestion, executor: CommandExecutor, **how: Any
) -> ComparedSession:
    return ComparedSession(
        head,
        question.rules,
        executor,
        clock=time.monotonic,
        metric=question.metric,
        higher_is_better=question.higher_is_better,
        control=question.control,
        repeats=question.repeats,
        unaffected=question.unaffected,
        **how,
    )


def judged(outcome: SessionResult, question: SessionQuestion) -> list[CandidateResult]:
    """The findings that are asked for: not of a second build of the reference, nor of what cannot differ."""
    return [
        f
        for f in outcome.findings
        if not is_control(f, control=question.control, unaffected=question.unaffected)
    ]

"""A session of ``run``: measured, or looked at again."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from speedproof.data.session_file import SessionLine, StoredSession
from speedproof.measuring.drivers import ToolExecutor
from speedproof.measuring.executor import CommandExecutor
from speedproof.measuring.programs import fingerprints, replaced
from speedproof.measuring.results import Progress
from speedproof.measuring.runs import RunLoop
from speedproof.measuring.store import ResultsFile
from speedproof.protocols.sequential import SequentialComparison
from speedproof.protocols.stopping import SessionQuestion
from speedproof.reporting.numbers import plural
from speedproof.sessions import ComparedSession, SessionResult


def measured(
    head: SessionLine,
    stored: Sequence[StoredSession],
    question: SessionQuestion,
    executor: CommandExecutor | ToolExecutor,
    path: Path,
    *,
    watch: Callable[[Progress, SequentialComparison], None],
    warmup: int | None,
    ignore_failure: bool,
    tell: Callable[[str], None],
) -> SessionResult:
    """Measure, after what was measured before; every run is in the file before the next one starts."""
    with ResultsFile(path) as store:
        session = ComparedSession(
            RunLoop(head, executor, time.monotonic, store.append, question.metric, ignore_failure),
            question,
            warmup=warmup,
            changed=lambda: replaced(head.benchmarks, head.files, fingerprints(head.benchmarks)),
        )
        if stored:
            tell(f"{plural(session.recall(stored), 'block')} taken over from {path}")
        return session.run(watch)


def reviewed(stored: Sequence[StoredSession], question: SessionQuestion) -> SessionResult:
    """The verdict on what a file holds; it is valid whenever, and for whatever reason, measuring stopped."""
    runs = RunLoop(stored[-1].head, CommandExecutor(), time.monotonic, lambda line: None, question.metric)
    session = ComparedSession(runs, question)
    session.recall(stored)
    return session.review()

"""A session: measuring, and the sequential comparison that says when it is enough.

``measure`` knows no statistics and ``protocols`` no processes; here they meet.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from speedproof.arrays import FloatArray
from speedproof.data.record import Record
from speedproof.data.session_file import EndLine, Line, SessionLine, StoredSession
from speedproof.measuring.results import Limits, Measured, Progress, Tally, Warmup
from speedproof.measuring.runs import Executor, Harness, RunLoop
from speedproof.measuring.session import Session
from speedproof.protocols.assumptions import Assumption
from speedproof.protocols.negative_controls import WITHHELD, withheld
from speedproof.protocols.results import Check
from speedproof.protocols.sequential import CandidateResult, SequentialComparison
from speedproof.protocols.stopping import StopRules

# Where more blocks than this are cut short, their lengths choose which blocks count.
_CUT_SHARE = 0.1
GateOutcome = Literal["pass", "fail", "undecided"]


class SessionResult(Struct, frozen=True):
    """What a session found."""

    findings: tuple[CandidateResult, ...]  # for every candidate of every benchmark that was measured
    measured: Measured  # how the session went


class SessionOrigin(Struct, frozen=True):
    """How findings came to be, for readers of JSON.

    Attributes
    ----------
    file : str
        The results file.
    sessions : tuple of str
        The sessions in it that the findings rest on.
    metric : str
        What was compared.
    risk : float
        Of each side of a benchmark, for all its candidates together.
    margin, precision : float or None
        As asked for; the margin also of a gate.
    reasons : dict of str to str
        By benchmark, why measuring ended; empty when it was only looked at again.
    interrupted : bool
        Whether a signal ended it.
    tallies : tuple of Tally
        What became of the runs.
    outcome : str or None
        Of a gate: pass, fail or undecided.
    exit_code : int or None
        What the command ends with.
    """

    file: str
    sessions: tuple[str, ...]
    metric: str
    alpha: float  # of each side of a benchmark, for all its candidates together
    margin: float | None
    precision: float | None
    reasons: dict[str, str]
    interrupted: bool
    tallies: tuple[Tally, ...]
    outcome: GateOutcome | None = None
    exit_code: int | None = None


def _ignore(progress: Progress, comparison: SequentialComparison) -> None:
    """Watch nothing."""


class ComparedSession:
    """A session whose benchmarks are compared sequentially, candidate by candidate with their reference."""

    def __init__(
        self,
        head: SessionLine,
        rules: StopRules,
        executor: Executor,
        *,
        clock: Callable[[], float],
        append: Callable[[Line], None],
        watch: Callable[[Progress, SequentialComparison], None] = _ignore,
        warmup: Warmup = Warmup(),  # noqa: B008 frozen
        metric: str = "time",
        higher_is_better: bool = False,
        ignore_failure: bool = False,
        changed: Callable[[], Iterable[tuple[str, str, str]]] = tuple,
        control: bool = False,
        harness: Harness | None = None,
        repeats: int = 1,
        unaffected: Sequence[str] = (),
    ) -> None:
        self._metric = metric
        self._rules = rules
        self._control = control
        self._unaffected = unaffected
        self._last_end: EndLine | None = None
        # One of them that differs is enough to say that something else does: together they have one risk.
        shared = replace(rules, alpha=rules.alpha / max(len(unaffected), 1))
        self.comparisons = {
            b.name: SequentialComparison(
                b.name,
                [v.name for v in b.versions],
                shared if b.name in unaffected else rules,
                metric=metric,
                higher_is_better=higher_is_better,
            )
            for b in head.benchmarks
        }
        self._session = Session(
            RunLoop(head, executor, clock, append, metric, ignore_failure, harness),
            self.comparisons,
            limits=Limits(rules.max_blocks, rules.max_time, rules.budget),
            watch=lambda progress: watch(progress, self.comparisons[progress.benchmark.name]),
            warmup=warmup,
            changed=changed,
            repeats=repeats,
        )

    def recall(self, sessions: Sequence[StoredSession]) -> int:
        """Take over the blocks of earlier sessions, in the order in which they were measured; how many."""
        self._last_end = sessions[-1].end if sessions else None
        return self._session.recall(sessions)

    def run(self) -> SessionResult:
        """Measure until every benchmark ends by the rules or by Ctrl-C, and say what that proves."""
        return self._found(self._session.run())

    def steps(self) -> Generator[tuple[Progress, SequentialComparison], None, SessionResult]:
        """The same, run by run; whoever leaves early ends the session."""
        steps = self._session.steps()
        try:
            while True:
                try:
                    progress = next(steps)
                except StopIteration as end:
                    return self._found(end.value)
                yield progress, self.comparisons[progress.benchmark.name]
        finally:
            steps.close()

    def review(self) -> SessionResult:
        """What the blocks that were taken over prove; nothing is measured."""
        result = self._found(self._session.review())
        # Why it ended then, not why it would by the rules of now.
        on_result = self._last_end.on_result if self._last_end else {}
        findings = tuple(
            f
            if f.candidate in on_result.get(f.benchmark, ()) or f.reason == WITHHELD
            else replace(f, reason="")
            for f in result.findings
        )
        return SessionResult(findings, replace(result.measured, on_result=on_result))

    def _found(self, measured: Measured) -> SessionResult:
        # A gate holds every benchmark of the plan, measured or not.
        names = self.comparisons if self._rules.gate else dict(measured.reasons)
        findings = tuple(
            replace(finding, warnings=tuple(self._warnings(finding, measured)))
            for name in names
            for finding in self.comparisons[name].findings()
        )
        kept = withheld(findings, self._rules, control=self._control, unaffected=self._unaffected)
        return SessionResult(kept, measured)

    def _warnings(self, finding: CandidateResult, measured: Measured) -> Iterator[Check]:
        name, sides = finding.benchmark, (finding.reference, finding.candidate)
        tallies = {tally.version: tally for tally in measured.tallies if tally.benchmark == name}
        yield from self.comparisons[name].warnings(finding.candidate)
        yield from _of_runs([tallies[side] for side in sides if side in tallies], self._metric)
        yield from _of_programs([side for side in sides if side in measured.changed.get(name, ())])
        yield from _of_blocks(measured.cut.get(name, 0), measured.recalled.get(name, 0))


def _of_runs(tallies: Sequence[Tally], metric: str) -> Iterator[Check]:
    """Dropping a block for what happened in it may drop the slow ones: nothing is proven of those left."""
    for t in tallies:
        if t.failed:
            yield Check.warning(
                Assumption.SUCCESSFUL_RUNS,
                t.version,
                f"{t.failed} of {t.runs} runs of {t.version} failed: what is said holds for those that succeed, "
                "and the bounds are not proven",
            )
        if t.lacking:
            yield Check.warning(
                Assumption.VALUES,
                t.version,
                f"{t.lacking} of {t.runs} runs of {t.version} had no value of {metric!r} to compare: what is said "
                "holds for those that have one, and the bounds are not proven",
            )
        if t.left_behind:
            yield Check.warning(
                Assumption.NOTHING_LEFT_RUNNING,
                t.version,
                f"{t.left_behind} of {t.runs} runs of {t.version} left processes running, whose work is not in "
                "its values and disturbs the next runs",
            )


def _of_programs(replaced: Sequence[str]) -> Iterator[Check]:
    """Versions whose program was another one at the end."""
    for name in replaced:
        told = f"the program of {name} was replaced while it was measured: its runs are of two programs"
        yield Check.warning(Assumption.ONE_PROGRAM, name, told)


def _of_blocks(cut: int, blocks: int) -> Iterator[Check]:
    """Blocks that an interrupt cut short, of all blocks of the earlier sessions."""
    if cut > _CUT_SHARE * blocks:
        were = "was" if cut == 1 else "were"
        yield Check.warning(
            Assumption.WHOLE_BLOCKS,
            "",
            f"{cut} of {blocks} earlier blocks {were} cut short and left out: long ones are cut more often, which "
            "may favour a version",
        )


def tool_times(format: str) -> Callable[[Path], dict[str, float]]:
    """The reader of one invocation of another tool: the median time of each benchmark, in seconds.

    A rate counts as the time that one of it takes, so that lower is better for all.
    """

    def read(path: Path) -> dict[str, float]:
        from speedproof.formats import read as read_records

        times: dict[str, list[float]] = {}
        for record in read_records(path, format=format):
            if isinstance(record, Record) and (values := _as_times(record)) is not None:
                times.setdefault(record.benchmark, []).extend(values.tolist())
        return {name: float(np.median(values)) for name, values in times.items()}

    return read


def _as_times(record: Record) -> FloatArray | None:
    if record.version == "base":  # criterion's copy of the run before
        return None
    if record.unit == "s" and record.metric in ("time", "single-shot time"):
        return record.values
    if record.metric == "throughput" and record.unit == "ops/s" and np.all(record.values > 0):
        return 1.0 / record.values
    return None

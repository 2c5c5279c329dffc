"""A session: measuring, and the sequential comparisons that say when it is enough.

``measuring`` knows no statistics and ``protocols`` no processes; here they meet.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import cached_property
from itertools import chain
from pathlib import Path

from msgspec.structs import replace

from speedproof.api.session_results import RaceResult, RaceState, suite_of
from speedproof.conclude.claims import SessionQuestion
from speedproof.conclude.looks import WORSE_ON_AVERAGE, CandidateResult
from speedproof.conclude.looks import SequentialComparison as SequentialComparison
from speedproof.data.names import plural
from speedproof.data.notes import Assumption, Note
from speedproof.data.session_file import EndLine, Line, RunLine, SessionLine, StoredSession
from speedproof.errors import UsageError
from speedproof.measuring.executor import CommandExecutor
from speedproof.measuring.programs import fingerprints, replaced
from speedproof.measuring.runs import Executor, Measured, RunLoop, Tally
from speedproof.measuring.runs import Progress as Progress
from speedproof.measuring.session import Session
from speedproof.measuring.store import ResultsFile
from speedproof.protocols.caveats import within_layout
from speedproof.protocols.results import Verdict

# Where more blocks than this are cut short, their lengths choose which blocks count.
_CUT_SHARE = 0.1
# Short runs wait this long to be stored and reported: in batches it costs each little.
_TOGETHER_SECONDS = 0.03


class Measurement:
    """A session that measures while it is iterated; :meth:`result` measures what is left.

    Leaving the loop early ends the session; what was measured is in the result. Its benchmarks are compared
    sequentially, candidate by candidate with their reference.
    """

    def __init__(
        self,
        head: SessionLine,
        executor: Executor,
        question: SessionQuestion,
        *,
        path: str | Path | None = None,
        append: Callable[[Line], object] = lambda line: None,
        warmup: int | None = 1,
        ignore_failure: bool = False,
        clock: Callable[[], float] = time.monotonic,
        calls: Mapping[str, int] | None = None,
        changed: Callable[[], Iterable[tuple[str, str, str]]] | None = None,
        spent: float = 0.0,
    ) -> None:
        """At ``path`` is every run before the next one; ``spent`` are seconds of the time allowed that are over.

        Of :meth:`run` short runs are there after 30 ms.
        ``warmup`` are runs of every version before those that count; None for "until steady": until, for no
        version, the median time of the last three rounds is less than 98 % of that of the three before, at most 30
        rounds.
        """
        rules = question.rules
        self._head, self._question, self._calls, self._keep = head, question, calls or {}, append
        self._times: dict[tuple[str, str], list[tuple[float, int]]] = {
            (b.name, v.name): [] for b in head.benchmarks for v in b.versions
        }
        self._held = ExitStack()
        try:
            if path is not None:
                self._keep = self._held.enter_context(ResultsFile(Path(path))).append
        except OSError as error:
            raise UsageError(f"cannot save to {path}: {error.strerror}") from None
        self._last_end: EndLine | None = None
        self._before: dict[tuple[str, str], CandidateResult] = {}  # what was recalled said
        # One of them that differs is enough to say that something else does: together they have one risk.
        self.comparisons = {
            b.name: SequentialComparison(
                b.name,
                [v.name for v in b.versions],
                replace(question.rules_of(b.name), alpha=rules.alpha / len(question.unaffected))
                if b.name in question.unaffected
                else question.rules_of(b.name),
                metric=question.metric,
                higher_is_better=question.higher_is_better,
            )
            for b in head.benchmarks
        }
        self._session = Session(
            RunLoop(head, executor, clock, self._append, question.metric, ignore_failure),
            self.comparisons,
            max_blocks=rules.max_blocks,
            max_time=rules.max_time,
            in_rounds=rules.demand is not None,
            warmup=warmup,
            changed=changed or self._changed,
            repeats=question.repeats,
            spent=spent,
        )
        self._states = self._run()

    def _append(self, line: Line) -> None:
        if isinstance(line, RunLine) and not (line.warmup or line.failed) and "time" in line.metrics:
            self._times[line.benchmark, line.version].append((line.metrics["time"], line.block))
        self._keep(line)

    def _changed(self) -> Iterable[tuple[str, str, str]]:
        plan, files = self._head.benchmarks, self._head.files
        return replaced(plan, files, fingerprints(plan)) if files else ()

    def recall(self, sessions: Sequence[StoredSession]) -> int:
        """Take over the blocks of earlier sessions, in the order in which they were measured; how many."""
        self._last_end = sessions[-1].end if sessions else None
        blocks = self._session.recall(sessions)
        self._before = {(name, f.candidate): f for name, c in self.comparisons.items() for f in c.findings()}
        return blocks

    def __iter__(self) -> Iterator[RaceState]:
        return self._states

    def _run(self) -> Generator[RaceState, None, None]:
        seen, elapsed = Counter[str](), 0.0
        with self._held, closing(self._session.steps()) as steps:
            # A block is complete when the next one has begun, or the session has ended.
            for progress in chain(steps, [None]):
                elapsed = progress.elapsed if progress else elapsed
                for comparison in self.comparisons.values():
                    if comparison.blocks > seen[comparison.benchmark]:
                        seen[comparison.benchmark] = comparison.blocks
                        findings = comparison.findings()
                        still = [f for f in findings if not f.reason] or findings
                        yield RaceState(still[0], findings, elapsed)

    def _resulting(self, findings: Iterable[CandidateResult], measured: Measured) -> RaceResult:
        results, suite = tuple(findings), suite_of(self._times)
        return RaceResult(self._question, results, measured, suite, self._calls)

    def __repr__(self) -> str:
        names = "; ".join(f"{c.benchmark}: {c.blocks} blocks" for c in self.comparisons.values())
        return f"<Measurement: {names or 'not begun'}>"

    def close(self) -> None:
        """Stop measuring."""
        self._states.close()

    def result(self) -> RaceResult:
        """What is proven, after measuring what is left."""
        deque(self._states, maxlen=0)
        self._held.close()  # not yet done if it was closed before it began
        return self._ended

    @cached_property
    def _ended(self) -> RaceResult:
        if measured := self._session.measured:
            return self._found(measured)
        # Left early: of every benchmark, measured or not, and without a look at what its runs assume.
        findings = (f for c in self.comparisons.values() for f in c.findings())
        return self._resulting(findings, self._session.review())

    def run(
        self, watch: Callable[[Progress, SequentialComparison], object] = lambda progress, comparison: None
    ) -> RaceResult:
        """Measure to the end; ``watch`` is called after each run, for short runs with a delay of some ms."""
        with self._held:
            steps = self._session.steps(
                lambda p: watch(p, self.comparisons[p.benchmark.name]), patience=_TOGETHER_SECONDS
            )
            deque(steps, maxlen=0)
        return self._ended

    def review(self) -> RaceResult:
        """What the recalled blocks prove, without measuring anything."""
        result = self._found(self._session.review())
        # Why it ended then, not why it would by the rules of now.
        end = self._last_end or EndLine(self._head.session, "")
        on_result, reasons = end.on_result, tuple((name, end.reason) for name, _ in result.measured.reasons)
        findings = tuple(
            f
            if f.candidate in on_result.get(f.benchmark, ()) or f.reason == WORSE_ON_AVERAGE
            else replace(f, reason="")
            for f in result.findings
        )
        measured = replace(result.measured, on_result=on_result, reasons=reasons)
        return replace(result, findings=findings, measured=measured)

    def _found(self, measured: Measured) -> RaceResult:
        # A policy holds every benchmark of the plan, measured or not.
        question = self._question
        names = self.comparisons if question.rules.demand else dict(measured.reasons)
        findings = tuple(
            replace(finding, warnings=tuple(self._warnings(finding, measured)))
            for name in names
            for finding in self.comparisons[name].findings()
        )
        return self._resulting(findings, measured)

    def _warnings(self, finding: CandidateResult, measured: Measured) -> Iterator[Note]:
        name, sides = finding.benchmark, (finding.reference, finding.candidate)
        tallies = {tally.version: tally for tally in measured.tallies if tally.benchmark == name}
        yield from self.comparisons[name].warnings(finding.candidate)
        before = self._before.get((name, finding.candidate), finding)
        if before.verdict is not finding.verdict is Verdict.UNDECIDED:
            pairs = plural(before.result.blocks, "pair")
            because = f"{before.verdict.value} was proven by {pairs}; the runs since speak against it"
            yield Note(Assumption.STEADY_SPEEDUP, because, (finding.candidate,))
        yield from _of_runs([tallies[side] for side in sides if side in tallies], self._question.metric)
        for side in sides:
            if side in measured.changed.get(name, ()):
                because = f"the program of {side} was replaced while it was measured"
                yield Note(Assumption.ONE_PROGRAM, f"{because}: its runs are of two programs", (side,))
        if finding.candidate in self._head.executables.get(name, ()) and self._within_layout(finding):
            because = "builds of one source can differ as much: run --builds tells code from layout"
            yield Note(Assumption.ONE_LAYOUT, because, (finding.candidate,))
        cut, blocks = measured.cut.get(name, 0), measured.recalled.get(name, 0)
        if cut > _CUT_SHARE * blocks:
            because = (
                f"{cut} of {blocks} earlier blocks {'was' if cut == 1 else 'were'} cut short and left out: long "
                "ones are cut more often, which may favour a version"
            )
            yield Note(Assumption.WHOLE_BLOCKS, because)

    def _within_layout(self, finding: CandidateResult) -> bool:
        """Whether a claimed difference is small enough to come from the code layout of single builds."""
        if self._question.rules.fixed or self._question.control:
            return False
        return within_layout(finding.verdict, finding.certified)


def reviewed(stored: Sequence[StoredSession], question: SessionQuestion) -> RaceResult:
    """The verdict on what a file holds; it is valid whenever, and for whatever reason, measuring stopped."""
    session = Measurement(stored[-1].head, CommandExecutor(), question)
    session.recall(stored)
    return session.review()


def _of_runs(tallies: Sequence[Tally], metric: str) -> Iterator[Note]:
    """Notes on runs that failed, lack the metric, or left processes running."""
    failed = "failed: nothing is proven of those that succeed"
    missing = f"had no value of {metric!r} to compare: nothing is proven of those that have one"
    left = "left processes running, whose work is not in its values and disturbs the next runs"
    for t in tallies:
        for count, assumed, text in (
            (t.failed, Assumption.SUCCESSFUL_RUNS, failed),
            (t.lacking, Assumption.VALUES, missing),
            (t.left_behind, Assumption.NOTHING_LEFT_RUNNING, left),
        ):
            if count:
                yield Note(assumed, f"{count} of {plural(t.runs, 'run')} of {t.version} {text}", (t.version,))

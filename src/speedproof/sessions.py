"""A session: measuring, and the sequential comparison that says when it is enough.

``measure`` knows no statistics and ``protocols`` no processes; here they meet.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from speedproof.data.notes import Assumption, Note
from speedproof.data.session_file import EndLine, StoredSession
from speedproof.measuring.results import Limits, Measured, Progress, Tally
from speedproof.measuring.runs import RunLoop
from speedproof.measuring.session import Session
from speedproof.protocols.caveats import within_layout
from speedproof.protocols.claims import Outcome, overall
from speedproof.protocols.negative_controls import is_control, withheld
from speedproof.protocols.sequential import (
    WITHHELD,
    WORSE_ON_AVERAGE,
    CandidateResult,
    SequentialComparison,
)
from speedproof.protocols.stopping import SessionQuestion

# Where more blocks than this are cut short, their lengths choose which blocks count.
_CUT_SHARE = 0.1


class SessionResult(Struct, frozen=True):
    """What a session found."""

    question: SessionQuestion
    findings: tuple[CandidateResult, ...]  # for every candidate of every benchmark that was measured
    measured: Measured  # how the session went

    @property
    def judged(self) -> list[CandidateResult]:
        """The findings that are asked for: not of a second build of the reference, nor of what cannot differ."""
        return [f for f in self.findings if not is_control(f, self.question)]

    @property
    def outcome(self) -> Outcome | None:
        """What the policy says of all together; nothing without one."""
        if self.question.rules.demand is None:
            return None
        return overall((f.outcome for f in self.judged if f.outcome), incomplete=bool(self.measured.absent))


class SessionOrigin(Struct, frozen=True):
    """How findings came to be, for readers of JSON."""

    file: str  # the results file
    sessions: tuple[str, ...]  # the sessions in it that the findings rest on
    metric: str  # what was compared
    alpha: float  # of each side of a benchmark, for all its candidates together
    # The margin within which versions are the same, or of a policy; the precision that was asked for
    margin: float | None
    precision: float | None
    reasons: dict[str, str]  # by benchmark, why measuring ended; empty when it was only looked at again
    interrupted: bool  # whether a signal ended it
    tallies: tuple[Tally, ...]  # what became of the runs
    outcome: Outcome | None = None  # of a policy
    exit_code: int | None = None  # what the command ends with


class ComparedSession:
    """A session whose benchmarks are compared sequentially, candidate by candidate with their reference.

    ``warmup`` are runs of every version before those that count; None for "until steady": until, for no version,
    the median time of the last three rounds is less than 98 % of that of the three before, at most 30 rounds.
    """

    def __init__(
        self,
        runs: RunLoop,
        question: SessionQuestion,
        *,
        warmup: int | None = 1,
        changed: Callable[[], Iterable[tuple[str, str, str]]] = tuple,
        spent: float = 0.0,
    ) -> None:
        self._question, self._head, rules = question, runs.head, question.rules
        self._last_end: EndLine | None = None
        # One of them that differs is enough to say that something else does: together they have one risk.
        sharing = max(len(question.unaffected), 1)
        self.comparisons = {
            b.name: SequentialComparison(
                b.name,
                [v.name for v in b.versions],
                replace(question.rules_of(b.name), alpha=rules.alpha / sharing)
                if b.name in question.unaffected
                else question.rules_of(b.name),
                metric=question.metric,
                higher_is_better=question.higher_is_better,
            )
            for b in runs.head.benchmarks
        }
        self._session = Session(
            runs,
            self.comparisons,
            limits=Limits(rules.max_blocks, rules.max_time, in_rounds=rules.demand is not None),
            warmup=warmup,
            changed=changed,
            repeats=question.repeats,
            spent=spent,
        )

    def recall(self, sessions: Sequence[StoredSession]) -> int:
        """Take over the blocks of earlier sessions, in the order in which they were measured; how many."""
        self._last_end = sessions[-1].end if sessions else None
        return self._session.recall(sessions)

    def steps(self) -> Generator[Progress, None, SessionResult]:
        """Measure run by run until every benchmark ends by the rules or by Ctrl-C, and say what that proves.

        Whoever leaves early ends the session.
        """
        return self._found((yield from self._session.steps()))

    def run(self, watch: Callable[[Progress, SequentialComparison], None] | None = None) -> SessionResult:
        """The same to the end, for a watcher who is told of every run."""
        steps = self.steps()
        try:
            progress = next(steps)
            while True:
                try:
                    if watch is not None:
                        watch(progress, self.comparisons[progress.benchmark.name])
                except KeyboardInterrupt as interrupt:
                    progress = steps.throw(interrupt)
                else:
                    progress = next(steps)
        except StopIteration as end:
            found: SessionResult = end.value
            return found

    def review(self) -> SessionResult:
        """What the blocks that were taken over prove; nothing is measured."""
        result = self._found(self._session.review())
        # Why it ended then, not why it would by the rules of now.
        on_result = self._last_end.on_result if self._last_end else {}
        findings = tuple(
            f
            if f.candidate in on_result.get(f.benchmark, ()) or f.reason in (WITHHELD, WORSE_ON_AVERAGE)
            else replace(f, reason="")
            for f in result.findings
        )
        return SessionResult(self._question, findings, replace(result.measured, on_result=on_result))

    def _found(self, measured: Measured) -> SessionResult:
        # A policy holds every benchmark of the plan, measured or not.
        question = self._question
        names = self.comparisons if question.rules.demand else dict(measured.reasons)
        findings = tuple(
            replace(finding, warnings=tuple(self._warnings(finding, measured)))
            for name in names
            for finding in self.comparisons[name].findings()
        )
        return SessionResult(question, withheld(findings, question), measured)

    def _warnings(self, finding: CandidateResult, measured: Measured) -> Iterator[Note]:
        name, sides = finding.benchmark, (finding.reference, finding.candidate)
        tallies = {tally.version: tally for tally in measured.tallies if tally.benchmark == name}
        yield from self.comparisons[name].warnings(finding.candidate)
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
        """Whether a difference is claimed that the layout of single builds may make."""
        if self._question.rules.fixed or self._question.control:
            return False
        return within_layout(finding.verdict, finding.certified)


def _of_runs(tallies: Sequence[Tally], metric: str) -> Iterator[Note]:
    """Dropping a block for what happened in it may drop the slow ones: nothing is proven of those left."""
    unproven = "and the bounds are not proven"
    failed = f"failed: what is said holds for those that succeed, {unproven}"
    missing = f"had no value of {metric!r} to compare: what is said holds for those that have one, {unproven}"
    left = "left processes running, whose work is not in its values and disturbs the next runs"
    for t in tallies:
        for count, assumed, told in (
            (t.failed, Assumption.SUCCESSFUL_RUNS, failed),
            (t.lacking, Assumption.VALUES, missing),
            (t.left_behind, Assumption.NOTHING_LEFT_RUNNING, left),
        ):
            if count:
                yield Note(
                    assumed,
                    f"{count} of {'1 run' if t.runs == 1 else f'{t.runs} runs'} of {t.version} {told}",
                    (t.version,),
                )

"""What measuring has proven so far, and at its end."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct, field

from speedproof.api.ended_sessions import comparisons_of
from speedproof.api.given import alpha_of
from speedproof.api.pairs import Bound
from speedproof.api.shown import Shown
from speedproof.data.sample import Trait
from speedproof.data.session_file import Line, PlannedBenchmark, RunLine
from speedproof.data.suite import Record, Suite
from speedproof.errors import UsageError
from speedproof.measuring.results import Progress as Progress
from speedproof.measuring.runs import Executor, RunLoop
from speedproof.measuring.store import ResultsFile, new_head
from speedproof.protocols.results import Verdict
from speedproof.protocols.sequential import CandidateResult
from speedproof.protocols.sequential import SequentialComparison as SequentialComparison
from speedproof.protocols.stopping import SessionQuestion, StopRules
from speedproof.protocols.summaries import summaries_of
from speedproof.reporting import session
from speedproof.reporting.model import Report
from speedproof.sessions import ComparedSession, SessionResult
from speedproof.stats.estimate import Estimate


class _HasFinding(Protocol):
    @property
    def finding(self) -> CandidateResult: ...


class WithVerdict:
    """What a finding says; it holds however often one looks."""

    __slots__ = ()

    @property
    def verdict(self: _HasFinding) -> Verdict:
        """Faster, slower, equivalent (within the margin) or undecided."""
        return self.finding.verdict

    @property
    def speedup(self: _HasFinding) -> float:
        """The typical speedup X / Y: above 1 the candidate is faster; NaN before the first block."""
        return self.finding.estimate

    @property
    def lower(self: _HasFinding) -> Bound:
        """The speedup is at least this."""
        return Bound(self.finding.result.low, 1 - self.finding.result.alpha)

    @property
    def upper(self: _HasFinding) -> Bound:
        """The speedup is at most this."""
        return Bound(self.finding.result.high, 1 - self.finding.result.alpha)

    @property
    def blocks(self: _HasFinding) -> int:
        """How many blocks were measured: runs of each version."""
        return self.finding.result.blocks


class RaceState(WithVerdict, Struct, frozen=True):
    """Where a comparison stands after a block, in which every version ran once."""

    finding: CandidateResult  # of the first candidate that is still open
    findings: tuple[CandidateResult, ...]  # of all candidates
    elapsed: float  # seconds since the start

    def __str__(self) -> str:
        seen = Estimate(self.speedup, self.lower, self.upper, self.lower.confidence)
        blocks = f"{self.blocks} block{'s' * (self.blocks != 1)}"
        return f"{self.finding.candidate}: {self.verdict.value} after {blocks}, speedup {seen}"

    def __repr__(self) -> str:
        return f"<RaceState: {self}>"

    @property
    def benchmark(self) -> str:
        """What is measured."""
        return self.finding.benchmark


class RaceResult(WithVerdict, Shown, Struct, frozen=True):
    """What measuring has proven. ``print`` says it in words.

    Attributes
    ----------
    findings : tuple of CandidateResult
        For every candidate of every benchmark.
    suite : Suite
        Every run, for ``compare_suite``, pictures and mixtures. Measuring stopped on what they showed, so only
        this result's own verdict keeps its risk.
    confidence : float
        Of each direction and each bound.
    margin : float or None
        Of equivalence.
    calls : dict of str to int
        By version, how many calls made one run of a Python function; empty for commands.

    Examples
    --------
    >>> import speedproof as sp
    >>> r = sp.race(lambda: sum(range(2000)), lambda: sum(range(20)), names=["old", "new"], seed=1)
    >>> r.finding.candidate, r.verdict.value, r.suite.versions
    ('new', 'faster', ('old', 'new'))
    """

    findings: tuple[CandidateResult, ...]
    suite: Suite
    confidence: float
    margin: float | None = None
    calls: Mapping[str, int] = field(default_factory=dict)

    @property
    def finding(self) -> CandidateResult:
        """The only finding.

        Raises
        ------
        SpeedproofError
            There are several, or none.
        """
        if len(self.findings) == 1:
            return self.findings[0]
        raise UsageError(f"there are {len(self.findings)} comparisons; see .findings")

    def to_json(self) -> str:
        """Every finding, as the command line writes those of a session."""
        from speedproof.reporting.json import to_json

        alpha = 1 - self.confidence
        answers = [f.answer(summaries_of(self.suite, f.metric), alpha) for f in self.findings]
        return to_json("run", answers)

    def reports(self) -> Iterable[Report]:
        """The result in words, for every format."""
        metric = self.findings[0].metric if self.findings else "time"
        question = SessionQuestion(StopRules(alpha_of(self.confidence), self.margin), metric)
        sheets = comparisons_of(self.suite, question)
        return [session.report(self.findings, summaries_of(self.suite, metric), question, sheets)]

    def __repr__(self) -> str:
        shown = "; ".join(
            f"{f.candidate}: {f.verdict.value}, speedup {f.estimate:.4g}" for f in self.findings
        )
        return f"<RaceResult: {shown}>"


class Measurement:
    """A session that measures while it is iterated; :meth:`result` measures what is left.

    Leaving the loop early ends the session; what was measured is in the result.
    """

    def __init__(
        self,
        plan: Iterable[PlannedBenchmark],
        rules: StopRules,
        executor: Executor,
        *,
        confidence: float,
        seed: int | None,
        clock: Callable[[], float] = time.monotonic,
        known: Mapping[str, Any] | None = None,
        warmup: int | None = 1,
        ignore_failure: bool = False,
        save: str | Path | None = None,
        calls: Mapping[str, int] | None = None,
    ) -> None:
        self._plan = list(plan)
        self._told = (confidence, rules.margin, calls or {})
        self._lines: list[Line] = []
        self._held = ExitStack()
        try:
            self._file = None if save is None else self._held.enter_context(ResultsFile(Path(save)))
        except OSError as error:
            raise UsageError(f"cannot save to {save}: {error.strerror}") from None
        head = new_head(self._plan, seed=seed, **known or {})
        runs = RunLoop(head, executor, clock, self._append, ignore_failure=ignore_failure)
        self._session = ComparedSession(runs, SessionQuestion(rules), warmup=warmup)
        self._states = self._run()
        self._result: RaceResult | None = None

    def _append(self, line: Line) -> None:
        self._lines.append(line)
        if self._file is not None:
            self._file.append(line)

    def __iter__(self) -> Iterator[RaceState]:
        return self._states

    def _run(self) -> Generator[RaceState, None, None]:
        steps = self._session.steps()
        found: SessionResult | None = None
        seen, elapsed = Counter[str](), 0.0
        try:
            while found is None:
                try:
                    elapsed = next(steps).elapsed
                except StopIteration as end:
                    found = end.value
                # A block is complete when the next one has begun, or the session has ended.
                for comparison in self._session.comparisons.values():
                    if comparison.blocks > seen[comparison.benchmark]:
                        seen[comparison.benchmark] = comparison.blocks
                        findings = comparison.findings()
                        still = [f for f in findings if not f.reason] or findings
                        yield RaceState(still[0], findings, elapsed)
        finally:
            steps.close()
            self._finish(found)

    def _finish(self, found: SessionResult | None) -> RaceResult:
        self._held.close()
        comparisons = self._session.comparisons.values()
        findings = found.findings if found else tuple(f for c in comparisons for f in c.findings())
        self._result = RaceResult(findings, _suite_of(self._plan, self._lines), *self._told)
        return self._result

    def __reduce__(self) -> str:
        raise UsageError("a session that measures cannot be pickled: pickle what it found, .result()")

    def __repr__(self) -> str:
        names = "; ".join(f"{c.benchmark}: {c.blocks} blocks" for c in self._session.comparisons.values())
        return f"<Measurement: {names or 'not begun'}>"

    def close(self) -> None:
        """Measure no more."""
        self._states.close()

    def result(self) -> RaceResult:
        """What is proven, after measuring what is left."""
        for _ in self._states:
            pass
        return self._result or self._finish(None)  # which is to be done when it was closed before it began


def _suite_of(plan: Iterable[PlannedBenchmark], lines: Iterable[Line]) -> Suite:
    """The times of all runs that count, in run order; the reference first, whichever ran first."""
    values: dict[tuple[str, str], list[tuple[float, int]]] = {
        (b.name, v.name): [] for b in plan for v in b.versions
    }
    for line in lines:
        if isinstance(line, RunLine) and not (line.warmup or line.failed) and "time" in line.metrics:
            values[line.benchmark, line.version].append((line.metrics["time"], line.block))
    import numpy as np

    traits = frozenset({Trait.ORDER_KNOWN, Trait.RANDOM_ORDER, Trait.STOPPED_ON_RESULT})
    return Suite.from_records(
        (version, Record(benchmark, np.array(times), traits=traits, blocks=np.array(blocks)))
        for (benchmark, version), found in values.items()
        if found
        for times, blocks in [zip(*found, strict=True)]
    )

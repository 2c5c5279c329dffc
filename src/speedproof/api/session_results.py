"""What measuring has proven so far, at its end, and looked at again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from msgspec import Struct, field

from speedproof.api.pairs import Bound
from speedproof.api.shown import Shown
from speedproof.data.sample import Trait
from speedproof.data.suite import Record, Suite
from speedproof.errors import UsageError
from speedproof.measuring.runs import Measured, Tally
from speedproof.options import ASKED, quantile_name
from speedproof.protocols.claims import Outcome, SessionQuestion, StopRules, overall
from speedproof.protocols.negative_controls import is_control
from speedproof.protocols.pair import Rules
from speedproof.protocols.results import Verdict
from speedproof.protocols.sequential import CandidateResult
from speedproof.protocols.suite import SuiteComparison, compare_suite
from speedproof.protocols.units import summaries_of
from speedproof.reporting import session
from speedproof.reporting.model import Report, to_json
from speedproof.stats.estimate import Estimate
from speedproof.values import rest


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


class WithVerdict:
    """What a finding says; it holds however often one looks."""

    __slots__ = ()

    @property
    def finding(self) -> CandidateResult:
        """The comparison that is spoken of."""
        raise NotImplementedError

    @property
    def verdict(self) -> Verdict:
        """Faster, slower, equivalent (within the margin) or undecided."""
        return self.finding.verdict

    @property
    def speedup(self) -> float:
        """The typical speedup X / Y: above 1 the candidate is faster; NaN before the first block."""
        return self.finding.estimate

    @property
    def lower(self) -> Bound:
        """The speedup is at least this."""
        return Bound(self.finding.result.low, 1 - self.finding.result.alpha)

    @property
    def upper(self) -> Bound:
        """The speedup is at most this."""
        return Bound(self.finding.result.high, 1 - self.finding.result.alpha)

    @property
    def blocks(self) -> int:
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
    question : SessionQuestion
        What was asked of the runs.
    findings : tuple of CandidateResult
        For every candidate of every benchmark that was measured.
    measured : Measured
        How the session went.
    suite : Suite
        Every run, for ``compare_suite``, pictures and mixtures. Measuring stopped on what they showed, so only
        this result's own verdict keeps its risk.
    calls : dict of str to int
        By version, how many calls made one run of a Python function; empty for commands.

    Examples
    --------
    >>> import speedproof as sp
    >>> r = sp.race(lambda: sum(range(2000)), lambda: sum(range(20)), names=["old", "new"], seed=1)
    >>> r.finding.candidate, r.verdict.value, r.suite.versions
    ('new', 'faster', ('old', 'new'))
    """

    question: SessionQuestion
    findings: tuple[CandidateResult, ...]
    measured: Measured
    suite: Suite
    calls: Mapping[str, int] = field(default_factory=dict)

    @property
    def confidence(self) -> float:
        """Of each direction and each bound."""
        return rest(self.question.rules.alpha)

    @property
    def margin(self) -> float | None:
        """Of equivalence."""
        return self.question.rules.margin

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
        sides = summaries_of(self.suite, self.question.metric)
        return to_json("run", [f.answer(sides) for f in self.findings])

    def reports(self) -> Iterable[Report]:
        """The result in words, for every format."""
        asked, metric = self.question.rules, self.question.metric
        question = SessionQuestion(StopRules(asked.alpha, asked.margin), metric)
        sides, sheets = summaries_of(self.suite, metric), comparisons_of(self.suite, question)
        return [session.report(self.findings, sides, question, sheets)]

    def __repr__(self) -> str:
        shown = "; ".join(
            f"{f.candidate}: {f.verdict.value}, speedup {f.estimate:.4g}" for f in self.findings
        )
        return f"<RaceResult: {shown}>"


def suite_of(times: Mapping[tuple[str, str], Sequence[tuple[float, int]]]) -> Suite:
    """The times of all runs that count, in run order; the reference first, whichever ran first."""
    traits = frozenset({Trait.ORDER_KNOWN, Trait.RANDOM_ORDER, Trait.STOPPED_ON_RESULT})
    return Suite.from_records(
        (version, Record(benchmark, np.array(values), traits=traits, blocks=np.array(blocks)))
        for (benchmark, version), seconds in times.items()
        if seconds
        for values, blocks in [zip(*seconds, strict=True)]
    )


def comparisons_of(suite: Suite, question: SessionQuestion) -> list[SuiteComparison]:
    """What the runs of a session say of each candidate, as files of them would."""
    if len(suite.versions) < 2:
        return []
    first, *others = suite.versions
    # Candidates share the risk, as those of the session do.
    rules = Rules(alpha=question.rules.alpha / len(others), margin=question.rules.margin)
    q = question.rules.quantile
    asked = ASKED if q is None else (quantile_name(q),)
    return [
        compare_suite(suite.pair(first, other), (first, other), question.metric, rules, asked)
        for other in others
    ]

"""What measuring has proven so far, and at its end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import numpy as np
from msgspec import Struct, field

from speedproof.api.ended_sessions import comparisons_of
from speedproof.api.pairs import Bound
from speedproof.api.shown import Shown
from speedproof.data.sample import Trait
from speedproof.data.suite import Record, Suite
from speedproof.errors import UsageError
from speedproof.protocols.results import Verdict
from speedproof.protocols.sequential import CandidateResult
from speedproof.protocols.stopping import SessionQuestion, StopRules
from speedproof.protocols.summaries import summaries_of
from speedproof.reporting import session
from speedproof.reporting.model import Report
from speedproof.stats.estimate import Estimate
from speedproof.values import rest


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

        sides, alpha = summaries_of(self.suite, self._metric), rest(self.confidence)
        return to_json("run", [f.answer(sides, alpha) for f in self.findings])

    def reports(self) -> Iterable[Report]:
        """The result in words, for every format."""
        question = SessionQuestion(StopRules(rest(self.confidence), self.margin), self._metric)
        sides, sheets = summaries_of(self.suite, self._metric), comparisons_of(self.suite, question)
        return [session.report(self.findings, sides, question, sheets)]

    @property
    def _metric(self) -> str:
        return self.findings[0].metric if self.findings else "time"

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
        for (benchmark, version), found in times.items()
        if found
        for values, blocks in [zip(*found, strict=True)]
    )

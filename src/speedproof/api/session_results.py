"""What measuring has proven so far, at its end, and looked at again."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct, field

from speedproof.api.pairs import Bound
from speedproof.api.suites import compare_suite
from speedproof.conclude.claims import Demand, Outcome, SessionQuestion
from speedproof.conclude.looks import CandidateResult
from speedproof.conclude.suite import SuiteComparison
from speedproof.data.notes import Note
from speedproof.data.record import Skipped, each_record
from speedproof.data.sample import Trait
from speedproof.data.session_file import StoredSession
from speedproof.data.suite import Record, Suite
from speedproof.data.units import PROCESSOR_TIMES, format_value
from speedproof.errors import UsageError
from speedproof.measuring.runs import Measured, Tally
from speedproof.measuring.store import read_sessions, to_hyperfine
from speedproof.measuring.system import load_of
from speedproof.measuring_options import UNNAMED
from speedproof.options import ASKED, DETAILS, QuestionName, quantile_name
from speedproof.protocols.pair import Rules
from speedproof.protocols.results import Comparison, SuiteRanking, Verdict
from speedproof.protocols.units import summarise
from speedproof.reporting import session as session_sheet
from speedproof.reporting.model import Report, comparisons_to_json
from speedproof.reporting.numbers import plural
from speedproof.reporting.shown import Shown
from speedproof.stats.estimate import Estimate
from speedproof.values import rest

if TYPE_CHECKING:  # what a race never needs
    from speedproof.api.gates import GateResult
    from speedproof.api.whys import WhyResult
    from speedproof.protocols.planning import RunPlan


class CandidateRuns(Struct, frozen=True):
    """How far a session measured one candidate on one benchmark."""

    benchmark: str
    candidate: str
    blocks: int  # that were measured
    blocks_to_go: float  # about how many more; see :class:`speedproof.conclude.looks.CandidateResult`
    reason: str  # why measuring ended; empty when it was only looked at
    warnings: tuple[Note, ...]  # what was seen against the assumptions while it was measured


class SessionOrigin(Struct, frozen=True):
    """How the runs of a session came to be, for readers of JSON."""

    alpha: float  # of each side of a benchmark, for all its candidates together
    # The margin within which versions are the same, or of a policy; the precision that was asked for
    margin: float | None
    precision: float | None
    # By benchmark, why measuring ended; looked at again, why the session did, empty where it was killed
    reasons: dict[str, str]
    interrupted: bool  # whether a signal ended it
    tallies: tuple[Tally, ...]  # what became of the runs
    measured: tuple[CandidateRuns, ...]  # of each candidate on each benchmark
    file: str = ""  # the results file
    sessions: tuple[str, ...] = ()  # the sessions in it that the results rest on
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
        blocks = plural(self.blocks, "block")
        return f"{self.finding.candidate}: {self.verdict.value} after {blocks}, speedup {seen}"

    def __repr__(self) -> str:
        return f"<RaceState: {self}>"


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

    def origin(self, **known: Any) -> SessionOrigin:
        """How the runs came to be."""
        measured, rules = self.measured, self.question.rules
        return SessionOrigin(
            rules.alpha,
            rules.demand.margin if rules.demand else rules.within,
            rules.precision,
            dict(measured.reasons),
            measured.interrupted,
            measured.tallies,
            tuple(
                CandidateRuns(f.benchmark, f.candidate, f.result.blocks, f.blocks_to_go, f.reason, f.warnings)
                for f in self.findings
            ),
            **known,
        )

    def to_json(self) -> str:
        """The comparisons and how they came to be, as the command line writes those of a session."""
        results, rankings = compared(self.suite, self.question, DETAILS)
        return comparisons_to_json("run", results, rankings=rankings, session=self.origin())

    def reports(self) -> Iterable[Report]:
        """The result in words, for every format."""
        return [session_sheet.report(self.findings, self.question, *compared(self.suite, self.question))]

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


def compared(
    suite: Suite, question: SessionQuestion, usual: tuple[QuestionName, ...] = ASKED
) -> tuple[tuple[SuiteComparison, ...], Mapping[str, SuiteRanking]]:
    """What a comparison of the runs of a session says, as of files of them; nothing without a block."""
    q = question.rules.quantile
    asked = usual if q is None else (quantile_name(q),)
    rules = Rules(alpha=question.rules.alpha, margin=question.rules.margin)
    if not any(suite.pair(suite.versions[0], name).pairs for name in suite.versions[1:]):
        return (), {}
    result = compare_suite(suite, metric="all", rules=rules, protocols=asked)
    return result.results, result.rankings


class EndedSession:
    """What a file and the session's own test say of its runs."""

    def __init__(self, path: Path, names: Collection[str], race: RaceResult) -> None:
        """``names``: the sessions of the file that went on with each other."""
        self.path, self.race, self.question = path, race, race.question
        self.sessions = [session for session in read_sessions(path) if session.head.session in names]
        self.options, alpha = self.sessions[-1].options, self.question.rules.alpha
        self.calibration = self.plan = None
        from speedproof.protocols.planning import calibrate

        if self.options.calibrate:
            self.calibration = calibrate(*_calibration_runs(self.sessions), alpha=alpha)
        elif self.options.plan:
            self.plan = _plan(self.sessions, alpha)

    def _read(self, *metrics: str) -> list[tuple[str, Record | Skipped]]:
        """The runs, of these metrics or of all; nothing of a calibration, or where no run counts."""
        from speedproof.formats import read

        counted = any(not tally.useless and tally.runs for tally in self.race.measured.tallies)
        if self.calibration is not None or not counted:
            return []
        experiment = self.sessions[-1].head.experiment

        def wanted(item: Record | Skipped) -> bool:
            if isinstance(item, Skipped):
                return item.where == f"session {experiment}"
            return item.session == experiment and (not metrics or item.metric in metrics)

        items = each_record(read(self.path, format="speedproof"))
        return [(item.version or "", item) for item in items if wanted(item)]

    @cached_property
    def _records(self) -> list[tuple[str, Record | Skipped]]:
        """What is decided by, and processor time."""
        return self._read(self.question.metric, *PROCESSOR_TIMES)

    def _suite(self, *metrics: str) -> Suite:
        """Some of these, and what was to be measured."""
        return Suite.from_records(
            [(v, item) for v, item in self._records if isinstance(item, Skipped) or item.metric in metrics]
        )

    def why(self) -> WhyResult:
        """What the difference, or the states of the runs, go with among all that was recorded."""
        from speedproof.api.whys import why

        confidence = 1.0 - self.question.rules.alpha
        return why(Suite.from_records(self._read()), metric=self.question.metric, confidence=confidence)

    @cached_property
    def suite(self) -> Suite:
        """The runs."""
        return self._suite(self.question.metric)

    @cached_property
    def compared(self) -> tuple[tuple[SuiteComparison, ...], Mapping[str, SuiteRanking]]:
        """What a comparison of the file says of the candidates; nothing of one version."""
        return compared(self.suite, self.question)

    @cached_property
    def judged(self) -> GateResult | None:
        """What the policy says of the file, if there is one and anything was measured."""
        from speedproof.api.gates import of_policies

        rules = self.question.rules
        if rules.demand is None or not self.suite.versions:
            return None

        def demand_of(name: str) -> Demand | None:
            return self.question.rules_of(name).demand

        return of_policies(self.suite, demand_of, rules.alpha)

    @property
    def outcome(self) -> Outcome | None:
        """What the policy says of all together; nothing without one."""
        if self.question.rules.demand is None:
            return None
        return self.judged.outcome if self.judged else Outcome.UNDECIDED

    def report(self, *, undecided_fails: bool = False) -> Report:
        """All of it in words."""
        from speedproof.reporting import planning

        if self.plan is not None:
            return planning.report(self.plan)
        if self.calibration is not None:
            return planning.calibrated(self.calibration, self.race.findings[0])
        builds, metric = self.options.builds, self.question.metric
        spent = self._suite(*(name for name in PROCESSOR_TIMES if metric == "time"))
        decided, undecided = self.judged, list[Comparison | None]()
        if decided is not None:
            judged, absent = decided.decision.judged, decided.decision.absent
            undecided += [c for row, c in judged if row.outcome is Outcome.UNDECIDED]
            undecided += [None for one in absent if one.outcome is Outcome.UNDECIDED]
        return session_sheet.report(
            self.race.findings,
            self.question,
            *self.compared,
            next(iter(decided.reports(undecided_fails=undecided_fails))) if decided else None,
            undecided,
            spent=session_sheet.spent_of(spent),
            builds=(builds, "{seed}" in self.options.build) if builds else None,
            load=load_of(self.sessions[-1].head.environment),
        )

    def alone(self) -> list[str]:
        """A line for each benchmark of a session of one version."""
        lines = []
        for (key, version), sample in self.suite.samples.items():
            s = summarise(sample)
            middle, deviation, least = (format_value(v, s.unit) for v in (s.median, s.deviation, s.minimum))
            lines.append(
                f"{who(version, key.benchmark)}: median {middle}, deviation {deviation}, minimum {least}, "
                f"{plural(s.n, 'run')}"
            )
        return lines

    def to_json(self, exit_code: int, **more: Any) -> str:
        """The comparisons, how they came to be, and what else there is to tell."""
        sessions = tuple(session.head.session for session in self.sessions)
        how = self.race.origin(
            file=str(self.path), sessions=sessions, outcome=self.outcome, exit_code=exit_code
        )
        beyond = {"calibration": self.calibration, "plan": self.plan}
        more |= {"session": how, **{name: of for name, of in beyond.items() if of is not None}}
        if self.judged is not None:
            return self.judged.to_json("run", **more)
        results, rankings = compared(self.suite, self.question, DETAILS)
        return comparisons_to_json("run", results, rankings=rankings, **more)

    def to_hyperfine(self) -> str:
        """The runs as hyperfine writes them."""
        return to_hyperfine(self.sessions)


def who(version: str, benchmark: str) -> str:
    """A version, with its benchmark where that has a name."""
    return version if benchmark == UNNAMED else f"{version} ({benchmark})"


def _calibration_runs(
    sessions: Sequence[StoredSession],
) -> tuple[list[tuple[float, float]], list[float], float]:
    """Times by block, times in order, and the seconds that all of it took."""
    blocks: dict[tuple[str, int], list[float]] = {}
    in_order, seconds = [], 0.0
    for session in sessions:
        runs = [run for run in session.runs if not (run.warmup or run.failed) and "time" in run.metrics]
        if not runs:
            continue
        for run in sorted(runs, key=lambda run: run.version):
            blocks.setdefault((run.session, run.block), []).append(run.metrics["time"])
        in_order += [run.metrics["time"] for run in runs]
        seconds += runs[-1].at + runs[-1].metrics["time"] - runs[0].at
    return [(b[0], b[1]) for b in blocks.values() if len(b) == 2], in_order, seconds


def _plan(sessions: Sequence[StoredSession], alpha: float) -> RunPlan:
    """From a pilot: the times of every version by build, and what builds and runs took."""
    from speedproof.protocols.planning import plan_runs

    times: dict[str, dict[tuple[str, int], list[float]]] = {}
    for session in sessions:
        for run in session.runs:
            if not (run.warmup or run.failed) and run.build is not None and "time" in run.metrics:
                place = (run.benchmark, run.build)
                times.setdefault(run.version, {}).setdefault(place, []).append(run.metrics["time"])
    pilot = []
    for builds in times.values():
        runs = min(map(len, builds.values()))
        pilot.append(np.array([values[:runs] for values in builds.values()]))
    took = [b.seconds for p in sessions[-1].head.benchmarks for v in p.versions for b in v.builds]
    each = [value for builds in times.values() for values in builds.values() for value in values]
    return plan_runs(pilot, float(np.mean(took)), float(np.mean(each)), alpha=alpha)

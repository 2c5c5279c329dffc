"""What protocols return: a comparison, its verdict, its checks and what it would need; a ranking; HPT's answer."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct
from msgspec.structs import force_setattr

from speedproof.data.notes import UNDERMINING, Assumption, Note
from speedproof.protocols.units import Summary, unit_of_all
from speedproof.stats.estimate import Estimate
from speedproof.stats.permutation import PROVING, few_separate

# The name of the test that may be looked at at any time.
SEQUENTIAL = "sequential test of blocks"
Risk = Annotated[float, Meta(gt=0, lt=1)]


class Verdict(StrEnum):
    """The answer to "is the candidate faster than the reference?".

    Examples
    --------
    >>> import speedproof as sp
    >>> r = sp.compare([10.1, 10.3, 9.9, 10.0, 10.2], [9.1, 9.0, 9.3, 9.2, 8.9])
    >>> r.verdict is sp.Verdict.FASTER, r.verdict == "faster"
    (True, True)
    """

    __hash__ = str.__hash__  # Enum's own is a function in Python

    FASTER = "faster"
    SLOWER = "slower"
    EQUIVALENT = "equivalent"
    UNDECIDED = "undecided"


CHANGED = (Verdict.FASTER, Verdict.SLOWER)
"""The verdicts that state a difference."""


class State(StrEnum):
    """Where figures 1 and 2 of the Speedup-Test article end."""

    SIGNIFICANT = "significant"
    NOT_SIGNIFICANT = "not significant"
    MORE_RUNS_X = "need more runs for X"
    MORE_RUNS_Y = "need more runs for Y"
    MORE_RUNS = "need more runs for X and Y"
    UNDEFINED = "undefined"


class Step(Struct, frozen=True):
    """One decision of a protocol."""

    name: str  # what was tested: an assumption, at last the question itself
    # NaN where there is none
    statistic: float
    pvalue: float
    # ``"holds"``, ``"does not hold"``; of the last step the verdict, or what is missing for a test
    outcome: str

    def __str__(self) -> str:
        p = "" if math.isnan(self.pvalue) else f" (p = {self.pvalue:.3g})"
        return f"{self.name}{p}: {self.outcome}"


# The assumptions that the figures of the articles decide by.
_STEPS = frozenset({Assumption.NORMALITY, Assumption.EQUAL_VARIANCES, Assumption.SHIFT, Assumption.TIES})


_FEW = "{} runs lie all on one side in {:g} % of cases where they scatter widely"


class Needed(Struct, frozen=True):
    """What would decide an undecided comparison."""

    # About how many runs that side needs in all; None when that side has enough or no number is known
    reference: int | None
    candidate: int | None
    reason: str  # the rule behind the numbers
    least: bool = False  # the numbers are the fewest that could decide at all, no forecast of what will
    within: float | None = None  # the margin within which they would prove both the same; else a difference


WITHHELD = Needed(None, None, "withheld, as the machine or the build differs by as much")
"""Why nothing is claimed of what its own runs would prove."""
UNTESTED = Needed(None, None, "not tested, as some of its builds are still to be measured")
"""Why nothing is claimed of what is tested once."""


class AtMargin(Struct, frozen=True):
    """P-values at the edges of a margin, by the test that gave the verdict; c = 1 / (1 + margin).

    An edge belongs to neither side: each claim is a strict inequality, and a speedup of exactly c proves none.
    All are NaN where the protocol stopped before a test.

    Attributes
    ----------
    margin : float
        The margin.
    not_worse, worse : float
        Against H1: speedup > c, and H1: speedup < c.
    not_better, better : float
        Against H1: speedup < 1 / c, and H1: speedup > 1 / c.
    equivalent : float
        Of c < speedup < 1 / c: the larger p-value of two one-sided tests (Schuirmann 1987). NaN also where the
        test bounds another ratio than the one that is spoken of.

    References
    ----------
    D. J. Schuirmann: "A comparison of the two one-sided tests procedure and the power approach for assessing
    the equivalence of average bioavailability", Journal of Pharmacokinetics and Biopharmaceutics 15 (1987).
    """

    margin: float
    not_worse: float
    worse: float
    not_better: float
    better: float
    equivalent: float

    @property
    def different(self) -> float:
        """Of a speedup below c or above 1 / c: twice the smaller p-value of two one-sided tests."""
        either = self.worse + self.better
        return either if math.isnan(either) else min(1.0, 2 * min(self.worse, self.better))


class SessionFloor(Struct, frozen=True):
    """How much sessions of identical code differ, as a comparison of few sessions was held against it."""

    deviation: float  # standard deviation of a session's logarithm
    degrees: float  # degrees of freedom behind it
    sessions: int  # sessions of this benchmark that tell it; 0 where only other benchmarks do
    reach: float  # by so much, as a share, two such sides differ at risk alpha though their code is the same


class LogSpeedup(Struct, frozen=True):
    """The logarithm of a speedup as a mean over benchmarks takes it."""

    centre: float  # without its bias, which would not average out
    error: float  # its standard error; NaN where one side is a single run
    df: float  # degrees of freedom of that; infinite where nothing random makes it
    # What sessions add to that error, and the degrees of freedom behind it, where a noise floor tells
    sessions: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if self.error < 0 or self.df < 0.5:
            raise ValueError(f"no error of a logarithm: {self.error:g} with {self.df:g} degrees of freedom")


class Comparison(Struct, frozen=True):
    """The answer of one protocol on one metric of one benchmark. It holds no samples.

    Attributes
    ----------
    benchmark, metric : str
        What was compared.
    protocol : str
        ``"mean"``, ``"median"``, ``"single run"``, ``"touati2009"``, ...
    alpha : float
        The risk of each of the two sides.
    reference, candidate : Summary
        Both sides.
    state : State
        Where the protocol ended: whether its test shows either direction, or why there was none.
    test : str
        The test that decided; empty when the protocol stopped before.
    pvalue, pvalue_slower : float
        Of that test for "faster" and for "slower"; NaN when it stopped before.
    speedup : Estimate
        Observed, with certified bounds: each holds with confidence 1 - alpha. It is what ``quantity`` says.
    verdict : Verdict
        The answer.
    checks : tuple of Note
        Every precondition that was tested; that few runs decided is one that did not hold.
    needed : Needed or None
        For an undecided comparison.
    quantity : {"speedup", "probability"}
        What ``speedup`` holds: a ratio, or for ``"single run"`` the probability that a run of the candidate
        beats a run of the reference.
    chance : Estimate or None
        Of the typical run: the probability that a run of the candidate beats a run of the reference, with its
        bounds; None for other protocols.
    ties : float
        Share of the pairs of a run of each that are equal; such a probability counts them half.
    paired : bool
        Whether sessions that measured both were compared session by session.
    difference : Estimate or None
        Of the 2009 protocol: mean of the reference less that of the candidate in base units (the reverse where
        higher is better), with the bounds of its test; None for other protocols.
    at_margin : AtMargin or None
        What is proven of a margin, when one was stated.
    floor : SessionFloor or None
        How much sessions of identical code differ, where verdict and bounds were held against that.
    quantiles : (float, float) or None
        Of reference and candidate in base units, where the question is about a quantile.
    log : LogSpeedup or None
        Of the typical run and the mean: what a geometric mean over benchmarks is made of; None without a ratio.
    slow_runs : (float, float) or None
        Of the mean, where these alone make it worse: the share of the candidate's values above all
        of the reference, and their median over the candidate's. None where they do not explain it.
    proven : bool
        Whether there is a verdict that is more than shown: nothing seen in the runs makes its risk larger than
        stated. It follows from the rest.
    """

    benchmark: str
    metric: str
    protocol: str
    alpha: Risk
    reference: Summary
    candidate: Summary
    state: State
    test: str
    pvalue: float
    pvalue_slower: float
    speedup: Estimate
    verdict: Verdict
    checks: tuple[Note, ...] = ()
    needed: Needed | None = None
    quantity: Literal["speedup", "probability"] = "speedup"
    chance: Estimate | None = None
    ties: float = 0.0
    paired: bool = False
    difference: Estimate | None = None
    at_margin: AtMargin | None = None
    floor: SessionFloor | None = None
    quantiles: tuple[float, float] | None = None
    log: LogSpeedup | None = None
    slow_runs: tuple[float, float] | None = None
    proven: bool = False

    def __post_init__(self) -> None:
        if self.reference.n < PROVING or self.candidate.n < PROVING:
            few = [
                Note(Assumption.SEVERAL_RUNS, _FEW.format(n, 100 * 0.5**n), (side,))
                for side, n in (("X", self.reference.n), ("Y", self.candidate.n))
                if n < PROVING
            ]
            decides = self.verdict is not Verdict.UNDECIDED and self.by_few_runs
            others = (check for check in self.checks if check not in few)
            force_setattr(self, "checks", (*others, *(few if decides else ())))
        proven = self.verdict is not Verdict.UNDECIDED and not (self.checks and self.undermining)
        if proven is not self.proven:
            force_setattr(self, "proven", proven)
        if self.log is not None and self.speedup.value <= 0:
            raise ValueError(f"{self.benchmark}: a ratio of {self.speedup.value:g} has no logarithm")

    def __repr__(self) -> str:
        decided_by = self.test or f"no test: {self.state.value}"
        pvalue = f", p = {min(self.pvalue, self.pvalue_slower):.3g}" if self.test else ""
        answer = f"{self.verdict.value}, {self.quantity} {self.speedup}"
        return f"<{self.benchmark}, {self.protocol}: {answer}{pvalue} ({decided_by})>"

    @property
    def certified(self) -> Estimate:
        """The speedup with its bounds; without them for medians of samples that differ by more than a shift."""
        for check in self.checks:
            if not check.held and check.kind is Assumption.SHIFT:
                return self.speedup.without_bounds
        return self.speedup

    @property
    def steps(self) -> tuple[Step, ...]:
        """What the protocol looked at, in the order of its figure, and where each step led."""
        looked = [
            Step(check.name, check.statistic, check.pvalue, "holds" if check.held else "does not hold")
            for check in self.checks
            if check.kind in _STEPS
        ]
        end = self.verdict.value if self.test else self.state.value
        return (*looked, Step(self.test or "no test", math.nan, self.pvalue, end))

    @property
    def failed_checks(self) -> tuple[Note, ...]:
        """The checks that did not hold."""
        return tuple(check for check in self.checks if not check.held)

    @property
    def undermining(self) -> tuple[Note, ...]:
        """The failed checks that make the true risk another one than stated, mostly a larger one."""
        return tuple([check for check in self.checks if not check.held and check.kind in UNDERMINING])

    @property
    def inflation(self) -> float:
        """The number of its runs that carry the information of one independent run."""
        alike = next((c.statistic for c in self.checks if c.kind is Assumption.EFFECTIVE_RUNS), 0.0)
        return (1.0 + alike) / (1.0 - alike)

    @property
    def by_few_runs(self) -> bool:
        """Whether so few values decided that both versions have to vary alike."""
        least = min(self.reference.n, self.candidate.n)
        by_runs = self.quantiles is None and self.difference is None
        return by_runs and not self.paired and few_separate(least, self.alpha)

    @property
    def proven_verdict(self) -> Verdict:
        """The verdict as far as it is proven: one that is only shown leaves it undecided."""
        return self.verdict if self.proven else Verdict.UNDECIDED

    @property
    def repeated(self) -> str:
        """The unit of repetition: ``"run"``, ``"process"`` or ``"session"``."""
        return unit_of_all((self.reference.repeated, self.candidate.repeated))


def inverse(value: float) -> float:
    """The ratio the other way round; infinity for 0."""
    return math.inf if value == 0 else 1 / value


def size_of(c: Comparison) -> tuple[float, float]:
    """By how much it is better or worse, at least 1, and by how much at least; NaN where unknown or not proven."""
    s, certified = c.speedup, c.certified
    ratio, bound = s.value, certified.low
    if c.verdict is not Verdict.FASTER:
        ratio, bound = inverse(ratio), inverse(certified.high)
    if not (math.isfinite(ratio) and ratio > 0):
        return math.nan, bound if math.isfinite(bound) and bound >= 1 else math.nan
    if not bound >= 1:
        bound = math.nan
    # A bound lies beyond its own ratio where the risk is above one half; else the ratio is another's.
    beyond = certified.confidence < 0.5 and ratio >= 1
    return ratio if beyond or math.isnan(bound) else max(ratio, bound, 1.0), bound


class RSpeedup(Struct, frozen=True):
    """The speedup of the winner at one confidence."""

    confidence: float  # r
    # Infimum of the speedups that fail: the confidence is at least r at every speedup from 1 up to here. None
    # when even a speedup of 1 fails
    certified: float | None = None
    certified_attained: bool = False  # whether ``certified`` itself passes
    # The same as a fraction of whole numbers, such as ``"44/25"``; empty when there is none
    certified_exact: str = ""
    hundredth: float | None = None  # the largest number of two decimals up to which everything passes
    # The article's definition: the largest speedup that passes, though a smaller one may fail
    supremum: float | None = None
    supremum_attained: bool = False  # whether ``supremum`` itself passes
    supremum_exact: str = ""  # the same as a fraction of whole numbers

    def __str__(self) -> str:
        sure = f"{100 * self.confidence:g} % confidence"
        if self.certified is None or self.hundredth is None:
            return f"no speedup of the winner holds with {sure}"
        least = f"at least {self.hundredth:.2f}x" if self.hundredth > 1 else "less than 1.01x"
        return f"the winner is {least} faster, {sure}"

    def __repr__(self) -> str:
        return f"<RSpeedup: {self}>"


class Winner(StrEnum):
    """Who is better."""

    CANDIDATE = "candidate"
    REFERENCE = "reference"
    TIE = "tie"


class HptBenchmark(Struct, frozen=True):
    """What the first level says of one benchmark, and what the second makes of it."""

    benchmark: str  # its name
    winner: Winner  # by the rank-sum test; by the medians when there are too few runs to test
    # Of scores that are given, the candidate's median less the reference's; else r - 1 / r, of the speedup r by
    # their medians. 0 for a tie
    difference: float
    rank: float  # mid-rank of its size among all benchmarks
    # One-sided, for either side being better; NaN when not tested
    pvalue_candidate: float
    pvalue_reference: float
    level: float | None  # risk of that test; None when there are too few runs for it ever to reject
    # How many runs were compared
    reference_runs: int
    candidate_runs: int
    conflict: bool  # the test and the medians name different winners


class Hpt(Struct, frozen=True):
    """The answer of Hierarchical Performance Testing over a suite."""

    benchmarks: tuple[HptBenchmark, ...]  # one a benchmark, in order
    # Signed-rank sums, zeros giving half of their ranks to either side
    rank_sum_candidate: float
    rank_sum_reference: float
    # One-sided, each from its own tail: for either side being better over the suite
    pvalue_candidate: float
    pvalue_reference: float
    winner: Winner  # the side with the smaller p-value
    confidence: float  # 1 - p-value of the winner. It may be below one half
    speedups: tuple[RSpeedup, ...]  # of the winner over the other side, one a confidence asked for
    scores: str  # which scores were compared
    method: str  # null distributions of both levels
    notes: tuple[str, ...]  # what a reader must know

    def count(self, winner: Winner) -> int:
        """How many benchmarks one side won, or how many are ties."""
        return sum(row.winner is winner for row in self.benchmarks)


class PairVerdict(Struct, frozen=True):
    """The verdict on two versions of a ranking."""

    # The versions
    reference: str
    candidate: str
    # By single runs the chance that a run of the candidate beats a run of the reference, ties counting half,
    # each bound at risk alpha by itself; over a suite the geometric mean of the candidate's speedups, with
    # its two-sided interval
    estimate: Estimate
    verdict: Verdict  # after Holm's control over all pairs and both directions
    pvalue: float  # adjusted, of the direction observed; NaN when the test is not defined


class Placed:
    """A mixin for results with a range of ranks."""

    __slots__ = ()
    best_rank: int
    worst_rank: int

    @property
    def place(self) -> str:
        """The rank, or the range of ranks: ``"2-4"``."""
        return f"{self.best_rank}" + f"-{self.worst_rank}" * (self.worst_rank > self.best_rank)


class InOrder:
    """Versions in order, the best first."""

    __slots__ = ()
    versions: tuple[Any, ...]

    @property
    def leading(self) -> list[str]:
        """Those that are not proven to be behind another; none where they beat each other in a circle."""
        return [v.version for v in self.versions if v.best_rank == 1]

    @property
    def winner(self) -> str:
        """The version that is proven to be ahead of each other; empty where none is."""
        return next((v.version for v in self.versions if v.worst_rank == 1), "")

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {', '.join(v.version for v in self.versions)}>"


class RankedVersion(Placed, Struct, frozen=True):
    """The place of one version."""

    version: str  # its name
    # Geometric mean of its speedups over the reference, with the two-sided interval by itself
    speedup: Estimate
    # 1 is the fastest. Between them lies every rank that the proven verdicts allow
    best_rank: int
    worst_rank: int
    # Benchmarks on which its runs are not what the verdicts assume: the true risk is unknown
    undermined: tuple[str, ...] = ()


class SuiteRanking(InOrder, Struct, frozen=True):
    """Versions in order of their geometric mean speedup, fastest first."""

    alpha: float  # the risk of all verdicts together
    versions: tuple[RankedVersion, ...]  # fastest first
    pairs: tuple[PairVerdict, ...]  # every two versions, in the order given
    benchmarks: tuple[str, ...]  # those that all versions have
    left_out: tuple[str, ...]  # those that some version lacks, or without a speedup

    def __str__(self) -> str:
        return "\n".join(f"{v.place}. {v.version}: speedup {v.speedup}" for v in self.versions)

"""What every protocol returns: a comparison, its verdict, its checks and what it would need."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import Annotated, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from speedproof.data.notes import UNDERMINING, Assumption, Note
from speedproof.protocols.units import Summary, outermost
from speedproof.stats.estimate import Estimate
from speedproof.stats.permutation import PROVING

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

    FASTER = "faster"
    SLOWER = "slower"
    EQUIVALENT = "equivalent"
    UNDECIDED = "undecided"


class State(StrEnum):
    """Where figures 1 and 2 of the Speedup-Test article end, for one direction."""

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


class Needed(Struct, frozen=True):
    """What would decide an undecided comparison."""

    # About how many runs that side needs in all; None when that side has enough or no number is known
    reference: int | None
    candidate: int | None
    reason: str  # the rule behind the numbers
    least: bool = False  # the numbers are the fewest that could decide at all, no forecast of what will
    within: float | None = None  # the margin within which they would prove both the same; else a difference


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
    question : str
        The alternative hypothesis in words.
    alpha : float
        The risk of each of the two sides.
    reference, candidate : Summary
        Both sides.
    state : State
        Where the protocol ended for "candidate faster".
    test : str
        The test that decided; empty when the protocol stopped before.
    pvalue, pvalue_slower : float
        Of that test for "faster" and for "slower"; NaN when it stopped before.
    speedup : Estimate
        Observed, with certified bounds: each holds with confidence 1 - alpha. It is what ``quantity`` says.
    verdict : Verdict
        The answer.
    checks : tuple of Note
        Every precondition that was tested.
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
        Of the mean, where it is worse though the median is better: the share of the candidate's values above all
        of the reference, and their median over the candidate's. None where they do not explain it.
    """

    benchmark: str
    metric: str
    protocol: str
    question: str
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

    def __post_init__(self) -> None:
        if self.log is not None and self.speedup.value <= 0:
            raise ValueError(f"{self.benchmark}: a ratio of {self.speedup.value:g} has no logarithm")

    def __repr__(self) -> str:
        decided_by = self.test or f"no test: {self.state.value}"
        pvalue = f", p = {min(self.pvalue, self.pvalue_slower):.3g}" if self.test else ""
        answer = f"{self.verdict.value}, {self.quantity} {self.speedup}"
        return f"<{self.benchmark}, {self.protocol}: {answer}{pvalue} ({decided_by})>"

    @property
    def certified(self) -> Estimate:
        """The speedup with the bounds that certify it.

        They are NaN for medians of samples that differ by more than a shift: the rank-sum test then says which
        side tends to be larger, and its inversion is no bound of the ratio of medians.
        """
        if all(check.held or check.kind is not Assumption.SHIFT for check in self.checks):
            return self.speedup
        return replace(self.speedup, low=math.nan, high=math.nan)

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
        return tuple(check for check in self.failed_checks if check.kind in UNDERMINING)

    @property
    def by_separation(self) -> bool:
        """Whether its proof is complete separation of so few values that both versions have to vary alike."""
        least = min(self.reference.n, self.candidate.n)
        return self.protocol == "typical" and not self.paired and least < PROVING and 0.5**least > self.alpha

    @property
    def repeated(self) -> str:
        """What was repeated independently: ``"run"``, ``"process"`` or ``"session"``."""
        return outermost((self.reference.repeated, self.candidate.repeated))

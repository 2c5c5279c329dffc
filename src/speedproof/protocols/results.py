"""What every protocol returns: a comparison, its verdict, its checks and what it would need."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

import numpy as np

from speedproof.protocols.assumptions import UNDERMINING, Assumption
from speedproof.stats.estimate import Estimate
from speedproof.stats.scaling import exponent

if TYPE_CHECKING:
    from speedproof.data.sample import Sample

__all__ = [
    "Caveat",
    "Check",
    "Comparison",
    "HighestConfidence",
    "Needed",
    "State",
    "Summary",
    "Verdict",
    "summarise",
]


class Verdict(StrEnum):
    """The answer to "is the candidate faster than the reference?"."""

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


@dataclass(frozen=True, slots=True)
class Check:
    """An assumption that was tested.

    Attributes
    ----------
    kind : Assumption
        Which.
    side : str
        ``"X"`` or ``"Y"`` when it is one of a single sample, in a ranking the version; else empty.
    statistic, pvalue : float
        Of its test; NaN where none applies.
    held : bool
        Whether the assumption held.
    message : str
        What it means and what to do.
    """

    kind: Assumption
    side: str
    statistic: float
    pvalue: float
    held: bool
    message: str

    @property
    def name(self) -> str:
        """The assumption and the side: ``"normality of X"``."""
        return f"{self.kind.value} of {self.side}" if self.side else self.kind.value


@dataclass(frozen=True, slots=True)
class Caveat:
    """Something that the data of a suite cannot know, said once for all of its benchmarks.

    Attributes
    ----------
    kind : Assumption
        What cannot be known to hold.
    versions : tuple of str
        Whose runs are meant; for an order of measuring, first the version that was measured first.
    benchmarks : tuple of str
        Where; empty when it is everywhere.
    detail : str
        What was seen: a number, the name of a tool; empty when there is nothing to add.
    """

    kind: Assumption
    versions: tuple[str, ...]
    benchmarks: tuple[str, ...] = ()
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Summary:
    """One side of a comparison in a few numbers; the sample itself is not kept.

    Attributes
    ----------
    label : str
        The version.
    n : int
        Number of values that the protocol used.
    observations : int
        Number of values measured; larger than n when values were nested in processes.
    mean, median, minimum, maximum, deviation, mad : float
        Location and spread in base units; ``deviation`` divides by n - 1 (NaN for one value), ``mad`` is the
        median absolute deviation from the median, not scaled.
    unit : str
        The base unit.
    notes : tuple of str
        Remarks made while reading.
    """

    label: str
    n: int
    observations: int
    mean: float
    median: float
    minimum: float
    maximum: float
    deviation: float
    mad: float
    unit: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Needed:
    """What would decide an undecided comparison.

    Attributes
    ----------
    reference, candidate : int or None
        About how many runs that side needs in all; None when that side has enough or no number is known.
    reason : str
        The rule behind the numbers.
    """

    reference: int | None
    candidate: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class HighestConfidence:
    """The risk levels at which a whole protocol says "significant".

    Attributes
    ----------
    value : float
        1 - infimum of those levels; NaN when there are none.
    attained : bool
        Whether the protocol says "significant" at the infimum itself.
    upward_closed : bool
        Whether it does so at every larger risk, too. It need not: a small sample stops being normal when
        the risk passes its Shapiro-Wilk p-value.
    intervals : tuple of (float, float, bool, bool)
        All of them: from, to, from included, to included.
    """

    value: float
    attained: bool
    upward_closed: bool
    intervals: tuple[tuple[float, float, bool, bool], ...]


@dataclass(frozen=True, slots=True)
class Comparison:
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
    checks : tuple of Check
        Every precondition that was tested.
    needed : Needed or None
        For an undecided comparison.
    highest_confidence : HighestConfidence or None
        For "faster"; None where the protocol does not define it.
    quantity : {"speedup", "probability"}
        What ``speedup`` holds: a ratio, or for ``"single run"`` the probability that a run of the candidate
        beats a run of the reference.
    chance : Estimate or None
        Of the typical run: the probability that a run of the candidate beats a run of the reference, with its
        bounds; None for other protocols.
    difference : Estimate or None
        Of the 2009 protocol: mean of the reference less that of the candidate in base units (the reverse where
        higher is better), with the bounds of its test; None for other protocols.
    """

    benchmark: str
    metric: str
    protocol: str
    question: str
    alpha: float
    reference: Summary
    candidate: Summary
    state: State
    test: str
    pvalue: float
    pvalue_slower: float
    speedup: Estimate
    verdict: Verdict
    checks: tuple[Check, ...] = ()
    needed: Needed | None = None
    highest_confidence: HighestConfidence | None = None
    quantity: Literal["speedup", "probability"] = "speedup"
    chance: Estimate | None = None
    difference: Estimate | None = None

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
    def failed_checks(self) -> tuple[Check, ...]:
        """The checks that did not hold."""
        return tuple(check for check in self.checks if not check.held)

    @property
    def doubts(self) -> tuple[Check, ...]:
        """The failed checks that make the true risk another one than stated, mostly a larger one."""
        return tuple(check for check in self.failed_checks if check.kind in UNDERMINING)

    @property
    def nested(self) -> bool:
        """Whether the protocol worked on processes instead of single values, on either side."""
        return any(side.n < side.observations for side in (self.reference, self.candidate))


def summarise(sample: Sample, used: Sample | None = None) -> Summary:
    """Reduce a sample to its summary.

    Parameters
    ----------
    sample : Sample
        As measured.
    used : Sample, optional
        What the protocol worked on, when that is not the sample itself (one value a process).

    Returns
    -------
    Summary
        Of the values used. Only a spread that is itself beyond the largest double is infinite.

    Examples
    --------
    >>> import numpy as np
    >>> from speedproof.data.sample import Sample
    >>> s = summarise(Sample(np.array([2.0, 1.0, 4.0]), label="old"))
    >>> s.label, s.n, s.median, s.minimum, s.maximum, s.mad
    ('old', 3, 2.0, 1.0, 4.0, 1.0)
    >>> summarise(Sample(np.array([1.7e308, 1.5e308]))).mean
    1.6e+308
    """
    used = sample if used is None else used
    shift = exponent(used.values)
    v = np.ldexp(used.values, shift)
    median = np.median(v)
    deviation = v.std(ddof=1) if used.n > 1 else np.nan
    with np.errstate(over="ignore"):
        mean, middle, spread, mad = np.ldexp(
            [v.mean(), median, deviation, np.median(np.abs(v - median))], -shift
        ).tolist()
    return Summary(
        label=sample.label,
        n=used.n,
        observations=sample.n,
        mean=mean,
        median=middle,
        minimum=float(used.values.min()),
        maximum=float(used.values.max()),
        deviation=spread,
        mad=mad,
        unit=sample.unit,
        notes=sample.notes,
    )

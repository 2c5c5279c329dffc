"""Verdicts over a whole suite at one risk: multiplicity control and equivalence within a margin.

Fifty benchmarks, each tested at 5 % in both directions, give five false claims where nothing has changed. Here
all claims of a suite together keep the risk alpha.

The family holds every claim that could have been made: each benchmark faster, each slower and, when a margin is
given, each equivalent. Both directions count, so a controlled risk alpha is alpha for the whole report, not
2 alpha as for a single benchmark's two sides.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from speedproof.data.sample import FloatArray
from speedproof.data.suite import Pair
from speedproof.protocols.results import Comparison, Verdict
from speedproof.stats.multiplicity import benjamini_hochberg, holm
from speedproof.stats.ranks import rank_sum
from speedproof.stats.special import t_sf
from speedproof.stats.ttests import moments, welch

__all__ = ["Control", "Controlled", "ControlledVerdict", "control_verdicts", "equivalence_pvalue"]

Control = Literal["holm", "benjamini-hochberg"]

_PROMISE = {
    "holm": "any false claim at all has a probability of at most {alpha:g}, however the benchmarks depend on "
    "each other",
    "benjamini-hochberg": "of the claims an expected share of at most {alpha:g} is false, if the benchmarks are "
    "independent or positively dependent",
}


@dataclass(frozen=True, slots=True)
class ControlledVerdict:
    """The verdict on one benchmark as part of a family.

    Attributes
    ----------
    benchmark : str
        Its name.
    verdict : Verdict
        After control.
    plain : Verdict
        Of the comparison by itself.
    pvalue : float
        Adjusted, of the verdict; of the nearest claim when undecided; NaN when nothing was tested.
    confidence, plain_confidence : float
        1 - adjusted p-value, and 1 - plain p-value of the same claim.
    """

    benchmark: str
    verdict: Verdict
    plain: Verdict
    pvalue: float
    confidence: float
    plain_confidence: float


@dataclass(frozen=True, slots=True)
class Controlled:
    """All verdicts of one protocol on a suite, at one risk.

    Attributes
    ----------
    protocol : str
        Which protocol.
    method : {"holm", "benjamini-hochberg"}
        How the family was controlled.
    alpha : float
        The risk of the family.
    margin : float or None
        Speedups within 1 / (1 + margin) and 1 + margin count as equivalent.
    family : int
        Claims that could have been made.
    verdicts : tuple of ControlledVerdict
        One a benchmark, in order.
    promise : str
        What the risk means.
    """

    protocol: str
    method: Control
    alpha: float
    margin: float | None
    family: int
    verdicts: tuple[ControlledVerdict, ...]
    promise: str

    def count(self, verdict: Verdict) -> int:
        """How many benchmarks got a verdict."""
        return sum(row.verdict is verdict for row in self.verdicts)


def equivalence_pvalue(pair: Pair, comparison: Comparison, margin: float) -> float:
    """P-value of equivalence within a margin, by two one-sided tests of the protocol's own kind.

    Parameters
    ----------
    pair : Pair
        The samples that were compared.
    comparison : Comparison
        By the mean or the median protocol; its test is used, so that p <= alpha when both certified bounds lie
        within the margin.
    margin : float
        Positive: equivalent are speedups between 1 / (1 + margin) and 1 + margin, an interval that is the same
        seen from either version.

    Returns
    -------
    float
        The larger of the two one-sided p-values; NaN when the protocol reached no test of means or medians.

    References
    ----------
    D. J. Schuirmann: "A comparison of the two one-sided tests procedure and the power approach for assessing
    the equivalence of average bioavailability", Journal of Pharmacokinetics and Biopharmaceutics 15 (1987).
    """
    if not margin > 0:
        raise ValueError(f"the margin must be positive, not {margin:g}")
    location: Literal["mean", "median"] = "median" if comparison.protocol == "median" else "mean"
    used = [
        sample.per_process(location) if summary.n < summary.observations else sample
        for sample, summary in (
            (pair.reference, comparison.reference),
            (pair.candidate, comparison.candidate),
        )
    ]
    slow, fast = (sample.values for sample in used[:: -1 if pair.reference.higher_is_better else 1])
    above = _tail(slow, fast / (1 + margin), comparison.test, less=False, factor=1 / (1 + margin))
    below = _tail(slow, fast * (1 + margin), comparison.test, less=True, factor=1 + margin)
    return max(above, below) if not math.isnan(above + below) else math.nan


def _tail(slow: FloatArray, scaled: FloatArray, test: str, *, less: bool, factor: float) -> float:
    """One-sided p-value of the named test, of the slow values against the scaled fast ones."""
    if test == "Welch's t test":
        found = welch(slow, scaled)
        return float(found.pvalue_less if less else found.pvalue)
    if test == "Wilcoxon-Mann-Whitney test":
        ranks = rank_sum(slow, scaled)
        return float(ranks.pvalue_less if less else ranks.pvalue)
    if test == "Student's t test":
        # The two samples have one variance as measured, not after one of them is scaled (Fieller's theorem).
        mx, my = moments(slow), moments(scaled / factor)
        df = mx.n + my.n - 2
        pooled = ((mx.n - 1) * float(mx.variance) + (my.n - 1) * float(my.variance)) / df
        error = math.sqrt(pooled * (1 / mx.n + factor**2 / my.n))
        if error == 0:
            return math.nan
        t = (float(mx.mean) - factor * float(my.mean)) / error
        return float(t_sf(-t if less else t, df))
    return math.nan


def control_verdicts(
    comparisons: Sequence[Comparison],
    alpha: float,
    *,
    method: Control = "holm",
    margin: float | None = None,
    equivalences: Sequence[float] = (),
) -> Controlled:
    """Decide over all benchmarks at one risk.

    Parameters
    ----------
    comparisons : sequence of Comparison
        By one protocol, one a benchmark. Those that reached no test make no claim and stay undecided.
    alpha : float
        The risk of the whole family, 0 < alpha < 1.
    method : {"holm", "benjamini-hochberg"}
        Family-wise error rate, the choice for a gate; or false discovery rate, the choice for a first look at
        many benchmarks.
    margin : float, optional
        Of equivalence.
    equivalences : sequence of float
        With a margin: the p-value of :func:`equivalence_pvalue` of each comparison.

    Returns
    -------
    Controlled
        A benchmark proven both faster and equivalent (by less than the margin) is equivalent.

    Raises
    ------
    ValueError
        Comparisons of several protocols, or another number of equivalences.

    Notes
    -----
    With Benjamini and Hochberg the two directions of one benchmark depend on each other negatively; claims
    made by the sign of the smaller p-value still have the stated rate of false discoveries, wrong directions
    counted in (Benjamini and Yekutieli, Journal of the American Statistical Association 100, 2005).
    """
    protocols = {comparison.protocol for comparison in comparisons}
    if len(protocols) > 1:
        raise ValueError(f"one family a protocol, not {' and '.join(sorted(protocols))} together")
    if len(equivalences) != (0 if margin is None else len(comparisons)):
        raise ValueError("with a margin one p-value of equivalence a comparison is needed, without it none")
    plain = np.array(
        [
            *(c.pvalue for c in comparisons),
            *(c.pvalue_slower for c in comparisons),
            *equivalences,
        ],
        dtype=np.float64,
    ).reshape(2 if margin is None else 3, len(comparisons))
    adjust = holm if method == "holm" else benjamini_hochberg
    adjusted = adjust(plain.ravel()).reshape(plain.shape)
    return Controlled(
        protocol=next(iter(protocols), ""),
        method=method,
        alpha=alpha,
        margin=margin,
        family=int(np.count_nonzero(~np.isnan(plain))),
        verdicts=tuple(
            _decide(comparison, plain[:, i], adjusted[:, i], alpha)
            for i, comparison in enumerate(comparisons)
        ),
        promise=_PROMISE[method].format(alpha=alpha),
    )


_CLAIMS = (Verdict.FASTER, Verdict.SLOWER, Verdict.EQUIVALENT)


def _decide(
    comparison: Comparison, plain: FloatArray, adjusted: FloatArray, alpha: float
) -> ControlledVerdict:
    if np.isnan(adjusted).all():
        nan = math.nan
        return ControlledVerdict(comparison.benchmark, Verdict.UNDECIDED, comparison.verdict, nan, nan, nan)
    claim = int(np.nanargmin(adjusted))
    verdict = Verdict.UNDECIDED
    if adjusted[claim] <= alpha:
        if adjusted.size == 3 and adjusted[2] <= alpha:
            claim = 2
        verdict = _CLAIMS[claim]
    return ControlledVerdict(
        benchmark=comparison.benchmark,
        verdict=verdict,
        plain=comparison.verdict,
        pvalue=float(adjusted[claim]),
        confidence=1 - float(adjusted[claim]),
        plain_confidence=1 - float(plain[claim]),
    )

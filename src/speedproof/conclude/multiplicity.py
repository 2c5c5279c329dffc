"""Verdicts over a whole suite at one risk: multiplicity control and equivalence within a margin.

Fifty benchmarks, each tested at 5 % in both directions, give five false claims where nothing has changed. Here
all claims of a suite together keep the risk alpha.

The family holds every claim that could have been made: each benchmark faster, each slower and, when a margin is
given, each equivalent. Both directions count, so a controlled risk alpha is alpha for the whole report, not
2 alpha as for a single benchmark's two sides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from msgspec import Struct

from speedproof.arrays import BoolArray, FloatArray, IntArray
from speedproof.protocols.results import Comparison, Verdict
from speedproof.stats.multiplicity import benjamini_hochberg, holm

Control = Literal["holm", "bh"]
METHODS = {"holm": "Holm", "bh": "Benjamini and Hochberg"}
ADJUSTMENTS: dict[Control, Callable[..., FloatArray]] = {
    "holm": holm,
    "bh": benjamini_hochberg,
}
CLAIMS = (Verdict.FASTER, Verdict.SLOWER, Verdict.EQUIVALENT)

_PROMISE = {
    "holm": "the risk of even one false claim is at most {risk:g} %, however the benchmarks depend on each other",
    "bh": "at most {risk:g} % of the claims are expected to be false, if the benchmarks are "
    "independent or positively dependent",
}


class ControlledVerdict(Struct, frozen=True):
    """The verdict on one benchmark as part of a family."""

    benchmark: str  # its name
    verdict: Verdict  # after control; undecided where the plain one was no claim of the family, or not proven
    plain: Verdict  # of the comparison by itself
    # Adjusted, of the plain verdict; of the nearest claim where that is undecided; NaN when nothing was tested
    pvalue: float
    # 1 - adjusted p-value, and 1 - plain p-value of the same claim
    confidence: float
    plain_confidence: float

    def __str__(self) -> str:
        p = "" if math.isnan(self.pvalue) else f" (adjusted p = {self.pvalue:.3g})"
        return f"{self.benchmark}: {self.verdict.value}{p}"


class Controlled(Struct, frozen=True):
    """All verdicts of one protocol on a suite, at one risk."""

    protocol: str  # which protocol
    method: Control  # how the family was controlled
    alpha: float  # the risk of the family
    margin: float | None  # speedups within 1 / (1 + margin) and 1 + margin count as equivalent
    family: int  # claims that could have been made
    counts: dict[Verdict, int]  # the number of benchmarks with each verdict
    promise: str  # what the risk means
    verdicts: tuple[ControlledVerdict, ...] = ()  # one a benchmark, in order; of a corpus none

    def __str__(self) -> str:
        return "\n".join([self._summary, *map(str, self.verdicts)])

    def __repr__(self) -> str:
        return f"<Controlled: {self._summary}>"

    @property
    def _summary(self) -> str:
        counts = ", ".join(f"{n} {v.value}" for v, n in self.counts.items() if n)
        how = METHODS[self.method]
        return f"{counts or 'no benchmarks'} at a joint risk of {100 * self.alpha:g} % ({how})"


def control_verdicts(
    comparisons: Sequence[Comparison],
    alpha: float,
    *,
    method: Control = "holm",
    margin: float | None = None,
) -> Controlled:
    """Decide over all benchmarks at one risk.

    With Benjamini and Hochberg the two directions of one benchmark depend on each other negatively; claims
    made by the sign of the smaller p-value still have the stated rate of false discoveries, wrong directions
    counted in (Benjamini and Yekutieli, Journal of the American Statistical Association 100, 2005). What is shown
    without being proven is no claim.
    """
    protocols = {comparison.protocol for comparison in comparisons}
    if len(protocols) > 1:
        raise ValueError(f"one family a protocol, not {' and '.join(sorted(protocols))} together")
    claims = [
        [c.pvalue for c in comparisons],
        [c.pvalue_slower for c in comparisons],
        [c.at_margin.equivalent if c.at_margin else math.nan for c in comparisons],
    ]
    plain = np.array(claims if margin is not None else claims[:2], dtype=np.float64)
    marked = sum(c.verdict is not Verdict.UNDECIDED and not c.proven for c in comparisons)
    verdicts = _decided(comparisons, plain, alpha, method)
    return Controlled(
        protocol=next(iter(protocols), ""),
        method=method,
        alpha=alpha,
        margin=margin,
        family=int(np.count_nonzero(~np.isnan(plain))),
        counts={v: sum(row.verdict is v for row in verdicts) for v in Verdict},
        promise=promise_of(method, alpha, marked),
        verdicts=verdicts,
    )


def kept_claims(
    plain: FloatArray, places: IntArray, alpha: float, method: Control, family: int | None = None
) -> tuple[FloatArray, BoolArray]:
    """P-values adjusted, a row a claim and a column a benchmark, and which benchmarks keep what is proven of them.

    That is the claim in row `places`, none where it is -1. Of a larger ``family`` p-values up to alpha suffice.
    """
    adjusted = ADJUSTMENTS[method](plain.ravel(), family).reshape(plain.shape)
    of_claim = adjusted[places, np.arange(places.size)]
    return adjusted, (places >= 0) & (of_claim <= alpha)


def promise_of(method: Control, alpha: float, marked: int) -> str:
    """What the risk means, and how many verdicts are shown without a proof."""
    promise = _PROMISE[method].format(risk=100 * alpha)
    return f"{promise}; shown, not proven: {marked} more" if marked else promise


def _decided(
    comparisons: Sequence[Comparison], plain: FloatArray, alpha: float, method: Control
) -> tuple[ControlledVerdict, ...]:
    """By the p-values of each claim, a row each: of what is undecided the nearest claim is told."""
    alone = [c.proven_verdict for c in comparisons]
    place_of = {claim: i for i, claim in enumerate(CLAIMS[: len(plain)])}
    places = np.array([place_of.get(verdict, -1) for verdict in alone], dtype=np.int64)
    adjusted, kept = kept_claims(plain, places, alpha, method)
    nearest = np.where(np.isnan(adjusted), np.inf, adjusted).argmin(axis=0)
    at = np.where(places < 0, nearest, places), np.arange(places.size)
    p, uncorrected = adjusted[at], plain[at]
    verdicts = [one if keep else Verdict.UNDECIDED for one, keep in zip(alone, kept.tolist(), strict=True)]
    names, shown = [c.benchmark for c in comparisons], [c.verdict for c in comparisons]
    columns = p.tolist(), (1 - p).tolist(), (1 - uncorrected).tolist()
    return tuple(map(ControlledVerdict, names, verdicts, shown, *columns))

"""Everything about two versions on one metric of a suite: each benchmark, then the whole.

The aggregates answer different questions, and none replaces another: the article's overall gain weighs by time,
the geometric mean treats every benchmark alike, Hierarchical Performance Testing ranks, the counts after
multiplicity control say what is proven of single benchmarks at one risk for all.

Overall gain and the share of accelerated benchmarks follow sections 4 and 5 of the 2013 article. Its equation (1)
prints W(C) on both lines; meant is the weight of each benchmark: S = sum(w f(X)) / sum(w f(Y)) and G = 1 - 1/S,
for f = min, mean or median. The weighted gain is of sections 3 and 4 of S.-A.-A. Touati: "Towards a statistical
methodology to evaluate program speedups and their optimisation techniques", 2009.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from speedproof.arrays import FloatArray
from speedproof.data.notes import Note
from speedproof.data.suite import Pair, Pairing
from speedproof.errors import DataError
from speedproof.options import ASKED, DETAILS, QuestionName
from speedproof.protocols.aggregates import GeometricMeans, geometric_means
from speedproof.protocols.caveats import MachineSpeeds, caveats_of, few_runs, machine_speeds, one_layout
from speedproof.protocols.hpt import Hpt, entries_of_pairs, hpt
from speedproof.protocols.multiplicity import Control, Controlled, control_verdicts
from speedproof.protocols.pair import PreparedPairs, Rules
from speedproof.protocols.questions import answers, headline_of
from speedproof.protocols.results import Comparison, Risk, Verdict
from speedproof.stats.estimate import Estimate
from speedproof.stats.proportions import benchmarks_needed, clopper_pearson, prop_test, validity_2013, wilson
from speedproof.stats.scaling import exponent, mean, median, usual

_CONTROLS: tuple[Control, ...] = ("holm", "benjamini-hochberg")
LEAST_FOR_HPT = 5
_AT_A_TIME = 512

Location = Literal["min", "mean", "median"]
Weighting = Literal["custom", "equal", "fraction"]
LOCATIONS: tuple[Location, ...] = ("min", "mean", "median")
PRECISION = 0.05
"""Half width within which the proportion of accelerated benchmarks is wanted."""
RANDOM_SELECTION = (
    "The interval speaks of benchmarks at large only if those measured were selected at random among them."
)
_VALID_ABOVE = 5
_VALID_FROM_2009 = 10


class SuiteComparison(Struct, frozen=True):
    """Every answer about two versions on one metric of a suite."""

    # The versions
    reference: str
    candidate: str
    metric: str  # what was compared
    alpha: Risk  # of each side of each comparison
    margin: float | None  # of equivalence
    nested: str  # what was done about values nested in processes
    comparisons: tuple[Comparison, ...]  # by benchmark, then by protocol
    # Benchmarks that the other version lacks
    only_reference: tuple[str, ...] = ()
    only_candidate: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()  # pairs that could not be compared, and why
    # The article's overall speedup and gain for min, mean and median, every benchmark run once: those that
    # take long count most. Empty for a metric where higher is better: totals of rates mean nothing
    overall: tuple[tuple[Location, OverallGain], ...] = ()
    # The proportion of accelerated benchmarks by each protocol of the articles
    accelerated: tuple[tuple[str, Accelerated], ...] = ()
    # Of the rows' speedups, for these benchmarks and for ones like these; None for a single benchmark
    geometric_means: GeometricMeans | None = None
    # The verdicts of each protocol of the articles after multiplicity control, by Holm and by Benjamini and
    # Hochberg; empty for a single benchmark
    controlled: tuple[Controlled, ...] = ()
    # Hierarchical Performance Testing, on five benchmarks or more whose values are positive, when everything
    # was asked: it takes as long as all the rest
    hpt: Hpt | None = None
    # The 2009 protocol's weighted gain over ``"all"`` programs and over the ``"accelerated"`` ones, when that
    # protocol was asked
    gain_2009: tuple[tuple[str, Gain2009], ...] = ()
    caveats: tuple[Note, ...] = ()  # what the data cannot know, of all benchmarks together
    # Two speeds of processes that most benchmarks of both versions share
    machine: MachineSpeeds | None = None

    @property
    def headlines(self) -> tuple[Comparison, ...]:
        """The answers to the headline question, one a benchmark; of the first protocol when it was not asked."""
        name = headline_of(self.protocols)
        return tuple(c for c in self.comparisons if c.protocol == name)

    @property
    def benchmarks(self) -> tuple[str, ...]:
        """Those that were compared, in order."""
        return tuple(dict.fromkeys(c.benchmark for c in self.comparisons))

    @property
    def by_benchmark(self) -> dict[str, list[Comparison]]:
        """All answers about each of them."""
        answers: dict[str, list[Comparison]] = {}
        for comparison in self.comparisons:
            answers.setdefault(comparison.benchmark, []).append(comparison)
        return answers

    @property
    def protocols(self) -> tuple[str, ...]:
        """Those that were asked, in order."""
        return tuple(dict.fromkeys(c.protocol for c in self.comparisons))


def compare_suite(
    pairing: Pairing,
    versions: tuple[str, str],
    metric: str,
    rules: Rules,
    protocols: tuple[QuestionName, ...] = ASKED,
    done: Callable[[], None] = lambda: None,
) -> SuiteComparison:
    """Compare two versions on every benchmark that both have."""
    pairs = [pair for pair in pairing.pairs if pair.key.metric == metric]
    # Some pairs at a time, so that a progress bar moves.
    prepared = [PreparedPairs(pairs[at : at + _AT_A_TIME], rules) for at in range(0, len(pairs), _AT_A_TIME)]
    comparisons = list(_answers(prepared, protocols, done))
    several, alpha = len(pairs) > 1, rules.alpha
    heads = [c for c in comparisons if c.protocol == headline_of(protocols)]
    asked = {
        protocol: [c for c in comparisons if c.protocol == protocol]
        for protocol in (protocols if pairs else ())
        if protocol != "single run"
    }
    return SuiteComparison(
        *versions,
        metric=metric,
        alpha=alpha,
        margin=rules.margin,
        nested=rules.nested,
        comparisons=tuple(comparisons),
        caveats=all_caveats(pairs, heads, comparisons, versions, rules),
        machine=machine_speeds(pairs, alpha),
        only_reference=tuple(k.benchmark for k in pairing.only_reference if k.metric == metric),
        only_candidate=tuple(k.benchmark for k in pairing.only_candidate if k.metric == metric),
        problems=tuple(reason for key, reason in pairing.incomparable if key.metric == metric),
        overall=_overall(prepared),
        accelerated=tuple(
            (
                protocol,
                (accelerated_2009 if protocol == "touati2009" else accelerated)(
                    sum(c.verdict is Verdict.FASTER for c in found), len(pairs), alpha, PRECISION
                ),
            )
            for protocol, found in asked.items()
        ),
        geometric_means=geometric_means(heads, pairs, alpha, rules.floor) if several else None,
        controlled=tuple(
            control_verdicts(found, alpha, method=method, margin=rules.margin)
            for found in (asked.values() if several else ())
            for method in _CONTROLS
        ),
        hpt=_hpt(pairs, alpha) if set(DETAILS) <= set(protocols) else None,
        gain_2009=_gains_2009(comparisons) if "touati2009" in protocols else (),
    )


def all_caveats(
    pairs: Sequence[Pair],
    heads: Sequence[Comparison],
    comparisons: Sequence[Comparison],
    versions: tuple[str, str],
    rules: Rules,
) -> tuple[Note, ...]:
    """What the data of pairs cannot know; ``heads`` are the answers to the headline question, one a pair."""
    decided = [c for c in comparisons if c.verdict is not Verdict.UNDECIDED]
    return (
        *caveats_of(pairs, versions, rules.floor),
        *few_runs(decided, versions, len(pairs)),
        *one_layout(pairs, heads, versions),
    )


def _answers(
    prepared: Sequence[PreparedPairs], protocols: Sequence[QuestionName], done: Callable[[], None]
) -> Iterator[Comparison]:
    """By pair, then by protocol."""
    for some in prepared:
        for told in zip(*(answers(protocol, some) for protocol in protocols), strict=True):
            yield from told
            done()


def located(prepared: PreparedPairs) -> dict[Location, list[float]]:
    """Of reference and candidate of every pair in turn, as in their rows: of units; the minimum of all values."""
    samples = [sample for pair in prepared.pairs for sample in (pair.reference, pair.candidate)]
    return {
        "min": [float(sample.values.min()) for sample in samples],
        "mean": [side.mean for side in prepared.summaries("mean")],
        "median": [side.median for side in prepared.summaries("median")],
    }


def _overall(prepared: Sequence[PreparedPairs]) -> tuple[tuple[Location, OverallGain], ...]:
    pairs = [pair for part in prepared for pair in part.pairs]
    if not pairs or any(pair.reference.higher_is_better for pair in pairs):
        return ()
    equal = [1.0] * len(pairs)
    parts = [located(part) for part in prepared]
    whole = {at: [value for part in parts for value in part[at]] for at in LOCATIONS}
    return tuple((at, overall_gain(sides[::2], sides[1::2], equal)) for at, sides in whole.items())


def _hpt(pairs: list[Pair], alpha: float) -> Hpt | None:
    if len(pairs) < LEAST_FOR_HPT:
        return None
    try:
        return hpt(entries_of_pairs(pairs), [1 - alpha])
    except DataError:  # scores are ratios: zeros have none, nor have values 1e100 times as large as others
        return None


def _gains_2009(comparisons: list[Comparison]) -> tuple[tuple[str, Gain2009], ...]:
    """Sections 3 and 4: over all programs that have positive medians, and over the accelerated ones."""
    by_it = [c for c in comparisons if c.protocol == "touati2009"]
    usable = [c for c in by_it if c.reference.median > 0 and c.candidate.median > 0]
    chosen = {"all": usable, "accelerated": [c for c in usable if c.verdict is Verdict.FASTER]}
    return tuple(
        (
            name,
            gain_2009(
                [c.reference.median for c in some],
                [c.candidate.median for c in some],
                [1 - c.alpha for c in some],
            ),
        )
        for name, some in chosen.items()
    )


class OverallGain(Struct, frozen=True):
    """The speedup of the weighted total of a suite."""

    speedup: float  # S = sum(w f(X)) / sum(w f(Y))
    gain: float  # G = 1 - 1/S: the share of the reference's total that the candidate saves


class Accelerated(Struct, frozen=True):
    """How many benchmarks are accelerated, and what that says of benchmarks at large."""

    # The counts a and b
    accelerated: int
    benchmarks: int
    # C = a / b with the interval of the two-sided proportion test with continuity correction
    proportion: Estimate
    # The same with Wilson's interval, which is close to its level on average, and with that of Clopper and
    # Pearson, which never covers less than it says
    wilson: Estimate
    clopper_pearson: Estimate
    validity: float  # a - a**2 / b, which the article asks to exceed 5
    valid: bool  # whether it does
    precision: float  # the half width r asked for
    benchmarks_needed: int  # benchmarks needed to know C to within r at the same confidence


def locate(values: FloatArray, location: Location) -> float:
    """The minimum, mean or median of a sample."""
    if location == "min":
        return float(values.min())
    return mean(values) if location == "mean" else median(values)


def overall_gain(
    reference: Sequence[float], candidate: Sequence[float], weights: Sequence[float]
) -> OverallGain:
    """Equation (1) of the 2013 article."""
    w = usual(weights)
    shift = exponent(reference, candidate)
    before, after = (
        float(w @ np.ldexp(np.asarray(t, dtype=np.float64), shift)) for t in (reference, candidate)
    )
    if not (before > 0 and after > 0):
        return OverallGain(math.nan, math.nan)
    return OverallGain(before / after, 1 - after / before)


def weigh(
    weighting: Weighting, reference: Sequence[float], custom: Sequence[float | None]
) -> tuple[tuple[float, ...], str]:
    """The weights of benchmarks."""
    equal = (1.0,) * len(reference)
    if weighting == "equal":
        return equal, ""
    if weighting == "fraction":
        return tuple(float(t) for t in reference), ""
    given = [w for w in custom if w is not None]
    if any(not (math.isfinite(w) and w >= 0) for w in given):
        problem = "a weight is negative or not a number"
    elif len(given) < len(custom):
        problem = "a weight is missing" if given else "no weights are given"
    elif not any(given):
        problem = "all weights are zero"
    else:
        return tuple(given), ""
    return equal, f"{problem}; all benchmarks weigh the same"


def accelerated(count: int, benchmarks: int, alpha: float, precision: float) -> Accelerated:
    """Section 4 of the 2013 article."""
    validity = validity_2013(count, benchmarks)
    return Accelerated(
        accelerated=count,
        benchmarks=benchmarks,
        proportion=prop_test(count, benchmarks, alpha),
        wilson=wilson(count, benchmarks, alpha),
        clopper_pearson=clopper_pearson(count, benchmarks, alpha),
        validity=validity,
        valid=validity > _VALID_ABOVE,
        precision=precision,
        benchmarks_needed=benchmarks_needed(count, benchmarks, precision, alpha),
    )


def accelerated_2009(count: int, benchmarks: int, alpha: float, precision: float) -> Accelerated:
    """The proportion of accelerated programs in the 2009 protocol, its section 4: valid from n C >= 10."""
    proportion = accelerated(count, benchmarks, alpha, precision)
    return replace(proportion, validity=float(count), valid=count >= _VALID_FROM_2009)


class Gain2009(Struct, frozen=True):
    """The weighted overall gain of the 2009 protocol, its section 3."""

    weights: tuple[float, ...]  # one a program, adding up to 1: in proportion to the initial times
    weighted_gains: tuple[float, ...]  # weight times saved time, in base units
    gain: float  # their sum over the sum of weight times initial time
    confidence: float  # the smallest confidence of any program's own speedup


def gain_2009(before: Sequence[float], after: Sequence[float], confidences: Sequence[float]) -> Gain2009:
    """Weigh the gains of programs, all of them or the accelerated ones (the caller chooses which to pass)."""
    t, u = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    if not t.size == u.size == len(confidences):
        raise ValueError("times and confidences must be as many as there are programs")
    if t.size == 0:
        return Gain2009((), (), math.nan, math.nan)
    if not ((t > 0).all() and (u > 0).all()):
        raise ValueError("times must be positive")
    w = usual(t)
    w = w / w.sum()
    gains = w * (t - u)
    shift = exponent(t, u)  # sums of times of usual size
    t, u = np.ldexp(t, shift), np.ldexp(u, shift)
    total = float(w @ t)  # 0 where the times after are so large that those before vanish beside them
    gain = float((w * (t - u)).sum()) / total if total > 0 else -math.inf
    return Gain2009(tuple(w.tolist()), tuple(gains.tolist()), gain, float(min(confidences)))

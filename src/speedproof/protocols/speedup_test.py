"""The whole report of the Speedup-Test's command-line tool: one row a benchmark, gains, proportions.

With a confidence level the article's protocols are read at it. Without one the highest level is reported at which
the whole protocol says "significant", found exactly; levels under one half are not reported, as in the tool.

``original`` computes what the tool of 2010 did, for published results. Large samples that are not normal still
go through the F test and may get Student's t test where figure 1 says Welch. Without a confidence level it
searches one by bisection of alpha in [0.01, 0.5] until the bracket is at most 0.01 wide and rounds alpha up to a
hundredth; and since the search asks at 0.5 whether to go on, a small sample that is normal at 0.05 but not at 0.5
is refused. Its Kolmogorov-Smirnov test is that of the R it runs under.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby, pairwise, zip_longest
from typing import Any, Literal

import numpy as np
from msgspec import Struct

from speedproof.arrays import FloatArray
from speedproof.data.sample import Sample
from speedproof.protocols.aggregates import (
    LOCATIONS,
    Accelerated,
    Location,
    OverallGain,
    Weighting,
    accelerated,
    locate,
    overall_gain,
    weigh,
)
from speedproof.protocols.figures import SMALL, Decision
from speedproof.protocols.mean import decide_mean, mean_tests
from speedproof.protocols.median import decide_median, median_tests
from speedproof.protocols.pair import DEFAULT, Rules
from speedproof.stats.estimate import Estimate, alpha_at
from speedproof.stats.ratio import ratio_of_means
from speedproof.stats.ratio_medians import ratio_of_medians
from speedproof.stats.scaling import location_ratio, mean, median

DEFAULT_ALPHA = 0.05
_FIGURES: tuple[Literal["mean", "median"], ...] = ("mean", "median")
_LEAST_LEVEL = 0.5
_SEARCHED = (0.01, 0.5)
_WIDTH = 0.01


class Entry(Struct, frozen=True, eq=False):
    """One benchmark of a configuration."""

    name: str  # the benchmark
    x: Sample  # sample 1 (reference) and sample 2 (candidate)
    y: Sample
    confidence: float | None = None  # its own confidence level
    weight: float | None = None  # its own weight
    remarks: tuple[str, ...] = ()  # what was wrong with the row

    @property
    def sides(self) -> tuple[FloatArray, FloatArray]:
        """The values that are larger where the candidate is faster over the others: X and Y, of rates Y and X."""
        x, y = self.x.values, self.y.values
        return (y, x) if self.x.higher_is_better else (x, y)


class RowFinding(Struct, frozen=True):
    """The finding of a report's row about one location."""

    significant: bool  # whether the speedup is; False also when the protocol could not conclude
    confidence: float  # its confidence level; NaN when the protocol could not conclude and none was given
    remarks: tuple[str, ...]  # warnings
    # The speedup with certified bounds at the stated level, or at 0.95 when none was given; None when the
    # protocol stopped before a test. The original tool has none
    bounds: Estimate | None = None
    slower: bool = False  # whether a slowdown is significant at the level of the bounds


class SuiteRow(Struct, frozen=True):
    """One row of the report."""

    name: str  # the benchmark
    speedups: dict[Location, float]  # observed
    # Significant or not, at which level
    mean: RowFinding
    median: RowFinding
    weights: dict[Location, float]  # the weight of this benchmark in each overall gain
    remarks: tuple[str, ...]  # all warnings of the row


class SuiteReport(Struct, frozen=True):
    """The report of a whole configuration."""

    rows: tuple[SuiteRow, ...]  # in the order of the configuration
    overall: dict[Location, OverallGain]  # by each location
    accelerated: dict[str, Accelerated]  # by each protocol
    confidence: float | None  # the level given for all benchmarks
    precision: float  # for the number of benchmarks needed
    weighting: Weighting  # how benchmarks weigh: ``"custom"``, ``"equal"`` or ``"fraction"``
    remarks: tuple[str, ...]  # on the suite as a whole
    levels: tuple[float | None, ...]  # the level of each row; None where the highest was searched
    original: bool  # whether the tool of 2010 was followed instead of the article


def report_suite(
    entries: Sequence[Entry],
    rules: Rules,
    *,
    alpha: float | None = None,
    weighting: Weighting = "custom",
    precision: float,
    original: bool,
) -> SuiteReport:
    """Make the report of a configuration."""
    confidence = None if alpha is None else alpha_at(alpha)
    levels = [entry.confidence if confidence is None else confidence for entry in entries]
    sides = {at: tuple([locate(e.sides[k], at) for e in entries] for k in (0, 1)) for at in LOCATIONS}
    custom = [entry.weight for entry in entries]
    references = {at: [locate(e.x.values, at) for e in entries] for at in LOCATIONS}
    weights = {at: weigh(weighting, before, custom) for at, before in references.items()}
    rows = []
    for i, (entry, level) in enumerate(zip(entries, levels, strict=True)):
        risk, turned = None if level is None else alpha_at(level), entry.x.higher_is_better
        of_mean, of_median = (
            finding(at, *entry.sides, risk, rules, original=original, turned=turned) for at in _FIGURES
        )
        rows.append(
            SuiteRow(
                entry.name,
                {
                    at: before[i] / after[i] if after[i] > 0 else math.nan
                    for at, (before, after) in sides.items()
                },
                of_mean,
                of_median,
                {at: w[i] for at, (w, _) in weights.items()},
                (*entry.remarks, *of_mean.remarks, *of_median.remarks),
            )
        )
    # Nobody asked for custom weights when there are none at all.
    fallback = weights["mean"][1] if any(w is not None for w in custom) else ""
    usual = DEFAULT_ALPHA if alpha is None else alpha
    return SuiteReport(
        rows=tuple(rows),
        overall={at: overall_gain(of[0], of[1], weights[at][0]) for at, of in sides.items()},
        accelerated={
            at: accelerated(sum(getattr(r, at).significant for r in rows), len(rows), usual, precision)
            for at in _FIGURES
        },
        confidence=confidence,
        precision=precision,
        weighting="equal" if weights["mean"][1] else weighting,
        remarks=(fallback,) if fallback else (),
        levels=tuple(levels),
        original=original,
    )


def finding(
    location: Literal["mean", "median"],
    x: FloatArray,
    y: FloatArray,
    alpha: float | None,
    rules: Rules = DEFAULT,
    *,
    original: bool = False,
    turned: bool = False,
) -> RowFinding:
    """What a row says of the mean or the median, by figure 1 or 2 of the article, or by the tool of 2010.

    ``turned``: x is the sample that is called 2.
    """
    at = DEFAULT_ALPHA if alpha is None else alpha
    decide: Callable[[Any], Decision]
    remarks = partial(_remarks, location=location, sizes=(x.size, y.size), names=(2, 1) if turned else (1, 2))
    if location == "mean":
        means, welch = mean_tests(x, y), rules.always_welch and not original
        decide = partial(decide_mean, means, always_welch=welch, f_test_when_not_normal=original)
        if original:
            # Without an F test the tool gives up, too.
            return _searched(location, alpha, decide, remarks, not math.isnan(float(means.variances.pvalue)))
        pooled = decide_mean(means, at, always_welch=welch).holds[-1]
        pvalues, bounds = means.pvalues, ratio_of_means(x, y, at, pooled)
        observed = location_ratio(mean, x, y)
    else:
        medians = median_tests(x, y, "r422" if original else rules.ks_rule)
        decide = partial(decide_median, medians)
        if original:
            return _searched(location, alpha, decide, remarks)
        pvalues, bounds, observed = medians.pvalues, ratio_of_medians(x, y, at), location_ratio(median, x, y)
    speedup = Estimate(observed, float(bounds.low), float(bounds.high), alpha_at(at))
    decision = decide(at)
    shifted = location == "mean" or bool(decision.holds[0])
    proven = None if math.isnan(float(decision.pvalue)) else speedup if shifted else speedup.without_bounds
    slower = bool(decision.pvalue_slower <= at)
    if alpha is not None:
        return RowFinding(
            bool(decision.pvalue <= alpha), speedup.confidence, remarks(decision), proven, slower
        )
    (risks,) = significant_risks(decide, pvalues)
    least = risks[0][0] if risks else math.inf
    if not 1 - least >= _LEAST_LEVEL:
        missing = (*remarks(decide(1 - _LEAST_LEVEL)), _no_level(location))
        return RowFinding(False, math.nan, missing, proven, slower)
    # At the infimum itself, not at 1 minus the rounded level.
    return RowFinding(True, 1 - least, remarks(decide(least)), proven, slower)


def _searched(
    location: str,
    alpha: float | None,
    decide: Callable[[float], Decision],
    remarks: Callable[[Decision], tuple[str, ...]],
    defined: bool = True,
) -> RowFinding:
    """As the tool of 2010 had it."""

    def significant(alpha: float) -> bool:
        return defined and bool(decide(alpha).pvalue <= alpha)

    if alpha is not None:
        return RowFinding(significant(alpha), alpha_at(alpha), remarks(decide(alpha)))
    low, high = _SEARCHED
    if not significant(low):
        if not significant(high):
            at_most = decide(high)
            concluded = defined and not math.isnan(float(at_most.pvalue))
            missing = (*remarks(at_most), _no_level(location))
            return RowFinding(False, 1 - low if concluded else math.nan, missing)
        while high - low > _WIDTH:
            middle = (low + high) / 2
            low, high = (low, middle) if significant(middle) else (middle, high)
        low = math.ceil(100 * high) / 100
    return RowFinding(significant(low), round(1 - low, 2), remarks(decide(low)))


def significant_risks(
    decide: Callable[[FloatArray], Decision], pvalues: Sequence[FloatArray]
) -> list[list[tuple[float, float, bool, bool]]]:
    """Every risk in (0, 1) at which a figure says "significant", of each pair: from, to, from in, to in.

    A figure compares ``pvalues``, arrays over the pairs, with the risk, so its outcome is constant between two
    neighbours among them: it is read at each and once in each gap. The risks need not be an interval: a small
    sample stops being normal when alpha passes its Shapiro-Wilk p-value, and the test changes from Student to
    Welch when it passes that of the F test.
    """
    rows = np.stack([np.atleast_1d(pvalue) for pvalue in pvalues], axis=-1)
    ends = [[0.0, *sorted({p for p in row if p < 1}), 1.0] for row in rows.tolist()]
    # Alternate gaps and points: (0, p1), p1, (p1, p2), p2, ..., (pk, 1).
    cells = [sorted([*row[1:-1], *((a + b) / 2 for a, b in pairwise(row))]) for row in ends]
    risks = np.array(list(zip_longest(*cells, fillvalue=0.5))).T
    significant = risks >= decide(risks.T).pvalue.T
    return [
        _joined(row, answers[: len(inside)])
        for row, inside, answers in zip(ends, cells, significant.tolist(), strict=True)
    ]


def _joined(ends: list[float], answers: list[bool]) -> list[tuple[float, float, bool, bool]]:
    """Cells that say so, joined: cell 2 k lies between two ends, cell 2 k + 1 is the second of them."""
    runs = [list(cells) for says, cells in groupby(range(len(answers)), answers.__getitem__) if says]
    return [(ends[(r[0] + 1) // 2], ends[r[-1] // 2 + 1], bool(r[0] % 2), bool(r[-1] % 2)) for r in runs]


def _no_level(location: str) -> str:
    return f"{location}: no confidence level of {_LEAST_LEVEL:g} or more"


def _remarks(
    decision: Decision, location: str, sizes: tuple[int, int], names: tuple[int, int]
) -> tuple[str, ...]:
    """The warnings of a protocol on two samples."""
    if location == "mean":
        sides = sorted(zip(names, decision.holds[:2], sizes, strict=True))
        return tuple(
            f"mean: more than {SMALL} runs needed for sample {side}"
            if size <= SMALL
            else f"mean: sample {side} not normal, confidence may be inaccurate"
            for side, normal, size in sides
            if not normal
        )
    both = zip(names, (decision.lacking_x, decision.lacking_y), strict=True)
    lacking = sorted(side for side, lacks in both if lacks)
    if not (lacking or decision.holds[0]):
        return ("median: no location shift, confidence may be inaccurate",)
    return tuple(f"median: more than {SMALL} runs needed for sample {side}" for side in lacking)

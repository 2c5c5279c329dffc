"""What figures 1 and 2 of the Speedup-Test share: sizes, states, and the way from a decision to a comparison.

S. Touati, J. Worms, S. Briais, "The Speedup-Test: a statistical methodology for programme speedup analysis
and computation", Concurrency and Computation: Practice and Experience 25(10), 2013.

Each protocol comes in two steps. The tests do not depend on the risk, so they are made once, for a single
pair of samples or for arrays of them; the figure is then a function of their p-values and of the risk, which can
be read at every risk that matters.

X is the reference and Y the candidate; "significant" means that X takes longer. The other direction, a
slowdown, is read from the same tests with the other tail.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import repeat
from typing import Any, Literal

import numpy as np
from msgspec import Struct

from speedproof.arrays import ArrayPair, BoolArray, FloatArray
from speedproof.data.notes import Assumption, Note
from speedproof.options import QuestionName
from speedproof.protocols.pair import Batch, Rules, Sides, comparisons
from speedproof.protocols.results import AtMargin, Comparison, LogSpeedup, Needed, State, Verdict
from speedproof.stats.estimate import Estimate, OneSided
from speedproof.stats.permutation import PROVING
from speedproof.stats.ratio import Interval, LogErrors, scaled
from speedproof.stats.scaling import in_common_unit

SMALL = 30
"""A sample of at most this many runs is small (section 3.1)."""

_ONCE = Assumption.TWO_MEASUREMENTS
TWO_FILES = Needed(None, None, _ONCE.remedy)
"""More runs of what was given twice would be given twice, too."""
NO_SPREAD = Needed(None, None, "neither sample has any spread: read more digits, or let a run do more")
_LEAST_FOR_FORECAST = 3
MOST_FORECAST = 100_000


class Decision(Struct, frozen=True):
    """A figure at one risk or at several; arrays of the common shape of tests and risk."""

    # Samples that are too small given their tests. Figure 1 names X first; here both are reported.
    lacking_x: BoolArray
    lacking_y: BoolArray
    # Of the test that decides, for "X takes longer than Y" and the reverse; NaN when more runs are needed
    pvalue: FloatArray
    pvalue_slower: FloatArray
    # Whether each assumption was not rejected. Figure 1: normality of X, of Y, and that the pooled test decides;
    # figure 2: the location model
    holds: tuple[BoolArray, ...]


def state_of(pvalue: float, alpha: float, lacking: Sequence[bool], *, together: bool = False) -> State:
    """Where a figure ends; figure 2 asks for more runs of both samples even when one of them is large."""
    if lacking and any(lacking):
        return State.MORE_RUNS if together else State.MORE_RUNS_X if lacking[0] else State.MORE_RUNS_Y
    if math.isnan(pvalue):
        return State.UNDEFINED
    return State.SIGNIFICANT if pvalue <= alpha else State.NOT_SIGNIFICANT


def verdict_of(pvalue: float, pvalue_slower: float, at_margin: AtMargin | None, alpha: float) -> Verdict:
    """The verdict of p-values; what is proven equivalent is so whatever else is proven of it."""
    if at_margin is not None and at_margin.equivalent <= alpha:
        return Verdict.EQUIVALENT
    faster, slower = pvalue <= alpha, pvalue_slower <= alpha
    if faster and slower:  # possible when alpha is about one half or more
        faster = pvalue <= pvalue_slower
    return Verdict.FASTER if faster else Verdict.SLOWER if slower else Verdict.UNDECIDED


def at_margins(
    tests: Callable[[Sequence[float]], Iterable[OneSided]],
    margin: float | None,
    defined: BoolArray,
    bounded: BoolArray,
) -> list[AtMargin | None]:
    """The p-values at both ends of a margin, pair by pair."""
    if margin is None:
        return [None] * defined.size
    low, high = tests((1 / (1 + margin), 1 + margin))
    columns = [
        np.where(defined, p, np.nan) for p in (low.pvalue, low.pvalue_less, high.pvalue_less, high.pvalue)
    ]
    equivalent = np.where(bounded, np.maximum(columns[0], columns[2]), np.nan)
    rows = zip(*(column.tolist() for column in (*columns, equivalent)), strict=True)
    return [AtMargin(margin, *row) for row in rows]


def forecasts(
    sides: Batch,
    slow: FloatArray,
    fast: FloatArray,
    rules: Rules,
    wanted: Sequence[int],
    runs_needed: Callable[..., ArrayPair],
    speedups: Sequence[float] = (),
    inflation: FloatArray | None = None,
) -> dict[int, Needed]:
    """By row, the runs that would decide if what was observed is the truth, or why none can be named.

    They find the difference or, where the speedup that was observed lies within a margin, prove that it does,
    whichever takes fewer. Of dependent runs so many tell as much as one independent run (``inflation``).
    """
    needed: dict[int, Needed] = {}
    if min(slow.shape[-1], fast.shape[-1]) < _LEAST_FOR_FORECAST:
        few = f"fewer than {_LEAST_FOR_FORECAST} runs tell nothing of the spread"
        reason = f"{few}: measure {PROVING} or more a side"
        return dict.fromkeys(wanted, Needed(None, None, reason))
    if not wanted:
        return needed
    rows = np.asarray(wanted)
    of_slow, of_fast = runs_needed(slow[rows], fast[rows], rules.alpha)
    within = np.zeros(rows.size, dtype=np.bool_)
    if rules.margin is not None and speedups:
        ends = 1.0 / (1.0 + rules.margin), 1.0 + rules.margin
        observed = np.asarray(speedups)[rows]
        within = (observed > ends[0]) & (observed < ends[1])
    if within.any():
        values = in_common_unit(slow[rows[within]], fast[rows[within]])
        # Both one-sided tests have to reject, so that each gets half of the risk of missing it.
        both = [runs_needed(*scaled(values[0], values[1], end), rules.alpha, power=0.9) for end in ends]
        same = [*map(np.maximum, *both)]
        fewer = same[0] < of_slow[within]
        within[within] = fewer
        of_slow[within], of_fast[within] = same[0][fewer], same[1][fewer]
    if inflation is not None:
        of_slow, of_fast = of_slow * inflation[rows], of_fast * inflation[rows]
    flat = (np.ptp(slow[rows], axis=-1) == 0) & (np.ptp(fast[rows], axis=-1) == 0)
    for i, x, y, no_spread, equal in zip(wanted, *lists(of_slow, of_fast, flat, within), strict=True):
        needed[i] = _needed(sides[i], x, y, no_spread=no_spread, equal=equal)
    return needed


def _needed(side: Sides, of_slow: float, of_fast: float, *, no_spread: bool, equal: bool) -> Needed:
    if no_spread:
        return NO_SPREAD
    if not (math.isfinite(of_slow) and math.isfinite(of_fast)):
        return Needed(None, None, "no difference was observed, so no number of runs can be named")
    if max(of_slow, of_fast) > MOST_FORECAST:
        small = "the observed difference is so small"
        return Needed(None, None, f"{small} that more than {MOST_FORECAST:,} runs would be needed")
    return in_runs(side, of_slow, of_fast, "to prove equivalence" if equal else "to find a difference")


def in_runs(side: Sides, of_slow: float, of_fast: float, what: str) -> Needed:
    """A forecast by the names of the user's samples, of more runs than there are."""
    x, y = (of_fast, of_slow) if side.turned else (of_slow, of_fast)
    return Needed(max(math.ceil(x), side.x.n + 1), max(math.ceil(y), side.y.n + 1), _with_power(what))


@cache
def _with_power(what: str) -> str:
    return f"{what} with power 0.8 if the observed speedup is the true one"


def fewest(sides: Sequence[Sides], wanted: Sequence[int], least: int) -> dict[int, Needed]:
    """By row, the sides with too few runs for any test to decide."""
    reason = "fewer runs can never decide at this risk, even if all of them are won"
    needed = {}
    for i in wanted:
        x, y = (least if side.n < least else None for side in (sides[i].x, sides[i].y))
        needed[i] = Needed(x, y, reason, least=True)
    return needed


def compared(
    protocol: QuestionName,
    sides: Sequence[Sides],
    rules: Rules,
    pvalues: Sequence[Sequence[float]],
    ratios: Sequence[Sequence[float]],
    margins: Sequence[AtMargin | None],
    needed: Callable[[Sequence[int]], Mapping[int, Needed | None]],
    **columns: Sequence[Any],
) -> list[Comparison]:
    """Comparisons of pairs of equal sizes by the columns of their answers.

    ``ratios`` are the estimates with both bounds; ``needed`` says of undecided rows what would decide them.
    """
    alpha = rules.alpha
    verdicts = [verdict_of(p, less, at, alpha) for p, less, at in zip(*pvalues, margins, strict=True)]
    undecided = [i for i, verdict in enumerate(verdicts) if verdict is Verdict.UNDECIDED]
    once = [i for i in undecided if any(check.kind is _ONCE for check in sides[i].known)]
    alike = [i for i in undecided if _one_value(sides[i])]
    would_decide = {**needed(undecided), **dict.fromkeys(alike, NO_SPREAD)}
    would_decide |= dict.fromkeys(once, TWO_FILES)
    states = [state_of(min(both), alpha, ()) for both in zip(*pvalues, strict=True)]
    given: dict[str, Iterable[Any]] = {"state": states, **columns}
    given |= {"pvalue": pvalues[0], "pvalue_slower": pvalues[1], "verdict": verdicts, "at_margin": margins}
    given["speedup"] = map(Estimate, *ratios, repeat(1 - alpha))
    given["needed"] = map(would_decide.get, range(len(sides)))
    return comparisons(protocol, sides, rules, **given)


def conclusions(
    location: Literal["mean", "median"],
    sides: Batch,
    values: tuple[FloatArray, FloatArray],
    rules: Rules,
    decision: Decision,
    *,
    bounds: Interval,
    margins: Sequence[AtMargin | None],
    observed: Sequence[float],
    tests: Sequence[str],
    checks: Sequence[Sequence[Note]],
    runs_needed: Callable[..., ArrayPair],
    errors: LogErrors | None = None,
) -> list[Comparison]:
    """From what a figure decided about pairs of equal sizes to comparisons by the names of the user's samples."""
    tested = ~np.isnan(decision.pvalue)
    pvalues = lists(decision.pvalue, decision.pvalue_slower)
    ends = lists(*(np.where(tested, end, np.nan) for end in (bounds.low, bounds.high)))
    lacking = [
        (y, x) if side.turned else (x, y)
        for side, x, y in zip(sides, *lists(decision.lacking_x, decision.lacking_y), strict=True)
    ]

    def needed(undecided: Sequence[int]) -> dict[int, Needed]:
        enough = [i for i in undecided if not any(lacking[i])]
        runs = forecasts(sides, *values, rules, enough, runs_needed, observed)
        reason = f"the protocol asks for more than {SMALL} runs where its assumption does not hold"
        for i in undecided:
            if any(lacking[i]):
                x, y = (SMALL + 1 if lacks else None for lacks in lacking[i])
                runs[i] = Needed(x, y, reason, least=True)
        return runs

    together = location == "median"
    return compared(
        location,
        sides,
        rules,
        pvalues,
        [observed, *ends],
        margins,
        needed,
        state=[
            state_of(min(p, less), rules.alpha, few, together=together)
            for p, less, few in zip(*pvalues, lacking, strict=True)
        ],
        test=[test if was_tested else "" for test, was_tested in zip(tests, tested.tolist(), strict=True)],
        checks=[(*seen, *side.checks) for seen, side in zip(checks, sides, strict=True)],
        log=log_speedups(observed, errors) if errors else [None] * len(sides),
    )


def _one_value(side: Sides) -> bool:
    """Whether all of several runs of both versions are equal, which no number of runs changes."""
    ends = {end for of in side.summaries for end in (of.minimum, of.maximum)}
    return len(ends) == 1 and min(of.observations for of in side.summaries) > 1


def log_speedups(speedups: Sequence[float], errors: LogErrors) -> list[LogSpeedup | None]:
    """What a mean over benchmarks takes of each; nothing of what is no finite ratio."""
    columns = lists(errors.bias, errors.error, errors.df)
    return [
        LogSpeedup(math.log(s) - bias, error, df) if 0 < s < math.inf else None
        for s, bias, error, df in zip(speedups, *columns, strict=True)
    ]


def lists(*arrays: Any) -> list[list[Any]]:
    """Arrays of shape (k,) converted to lists."""
    return [np.asarray(array).tolist() for array in arrays]

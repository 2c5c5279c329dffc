"""One benchmark on several inputs: how its speedup changes with a parameter, and what holds for inputs like these.

A line is laid through the logarithms of the speedups, each with the standard error that its question states, over
that of the parameter, by regression with random effects: inputs scatter about it beyond the noise of their runs.
"Inputs like these" takes them for a random sample, as a suite's geometric mean takes its benchmarks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from speedproof.protocols.aggregates import log_ratios
from speedproof.protocols.figures import verdict_of
from speedproof.protocols.results import Comparison, Verdict
from speedproof.stats.association import LEAST_POINTS, Trend, trend
from speedproof.stats.estimate import Estimate


class Input(Struct, frozen=True):
    """One input of a benchmark."""

    value: str  # of the parameter, as written
    size: float | None  # the same as a number; None where it is none, or not above zero
    comparison: Comparison


class OverInputs(Struct, frozen=True):
    """How one benchmark's speedup changes with a parameter. Intervals of the line are two-sided."""

    benchmark: str  # without the parameter; empty where nothing is left of its name
    parameter: str
    metric: str
    reference: str
    candidate: str
    alpha: float
    inputs: tuple[Input, ...]  # by size
    slope: Estimate | None  # of the logarithm of the speedup on that of the parameter
    # The size at which the line is 1, where the slope is shown and it lies among the inputs
    crossing: Estimate | None
    between: float  # standard deviation of the logarithms beyond their runs' noise: about the line
    like_these: Estimate  # the geometric mean for inputs like these; each bound by itself holds at 1 - alpha
    verdict: Verdict  # of that


def over_inputs(names: tuple[str, str], versions: tuple[str, str], inputs: Sequence[Input]) -> OverInputs:
    """Of the inputs of one benchmark: its name and the parameter's."""
    inputs = sorted(inputs, key=lambda one: (one.size is None, one.size or 0.0))
    first = inputs[0].comparison
    alpha = first.alpha
    mean = log_ratios(one.comparison for one in inputs).mean(like_these=True)
    faster, slower = mean.pvalue(), mean.pvalue(less=True)
    sized = [(math.log(one.size), one.comparison.log) for one in inputs if one.size is not None]
    line: Trend | None = None
    if len({x for x, _ in sized}) >= LEAST_POINTS:
        line = trend(
            [x for x, _ in sized],
            [log.centre for _, log in sized if log],
            [log.error for _, log in sized if log],
        )
    return OverInputs(
        *names,
        first.metric,
        *versions,
        alpha,
        tuple(inputs),
        slope=None if line is None else Estimate(line.slope, *line.slope_interval(alpha), 1 - alpha),
        crossing=None if line is None else _crossing(line, sized[0][0], sized[-1][0], alpha),
        between=math.nan if line is None else line.between,
        like_these=replace(mean.estimate(2 * alpha), confidence=1 - alpha),
        verdict=verdict_of(faster, slower, None, alpha),
    )


def _crossing(line: Trend, low: float, high: float, alpha: float) -> Estimate | None:
    crossing = line.crossing(alpha)
    if crossing is None or not low <= crossing[0] <= high:
        return None
    at, below, above = (math.exp(min(max(x, -700.0), 700.0)) for x in crossing)
    return Estimate(at, below, above, 1 - alpha)

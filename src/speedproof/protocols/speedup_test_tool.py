"""The whole report of the Speedup-Test's command-line tool: one row a benchmark, gains, proportions.

The article's protocols decide by default; ``original=True`` computes what the tool of 2010 did.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct

from speedproof.arrays import FloatArray
from speedproof.data.sample import Sample
from speedproof.protocols.findings import DEFAULT_ALPHA, RowFinding, article_mean, article_median
from speedproof.protocols.original import original_mean, original_median
from speedproof.protocols.pair import Rules
from speedproof.protocols.suites import (
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
from speedproof.stats.estimate import alpha_at


class Entry(Struct, frozen=True, eq=False):
    """One benchmark of a configuration."""

    name: str  # the benchmark
    x: Sample  # sample 1 (reference) and sample 2 (candidate)
    y: Sample
    confidence: float | None = None  # its own confidence level
    weight: float | None = None  # its own weight
    remarks: tuple[str, ...] = ()  # what was wrong with the row


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
    # The benchmark that makes up more than half of the weighted total of the means, and its share
    dominant: tuple[str, float] | None
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
    locations = {
        location: (
            [locate(e.x.values, location) for e in entries],
            [locate(e.y.values, location) for e in entries],
        )
        for location in LOCATIONS
    }
    custom = [entry.weight for entry in entries]
    weights = {location: weigh(weighting, before, custom) for location, (before, _) in locations.items()}
    rows = tuple(
        _row(entry, level, rules, original, {location: w[i] for location, (w, _) in weights.items()})
        for i, (entry, level) in enumerate(zip(entries, levels, strict=True))
    )
    # Nobody asked for custom weights when there are none at all.
    fallback = weights["mean"][1] if any(w is not None for w in custom) else ""
    usual = DEFAULT_ALPHA if alpha is None else alpha
    return SuiteReport(
        rows=rows,
        overall={
            location: overall_gain(before, after, weights[location][0])
            for location, (before, after) in locations.items()
        },
        accelerated={
            protocol: accelerated(sum(f.significant for f in found), len(rows), usual, precision)
            for protocol, found in (("mean", [r.mean for r in rows]), ("median", [r.median for r in rows]))
        },
        confidence=confidence,
        precision=precision,
        weighting="equal" if weights["mean"][1] else weighting,
        remarks=(fallback,) if fallback else (),
        levels=tuple(levels),
        dominant=_dominant(entries, locations["mean"][0], weights["mean"][0]),
        original=original,
    )


def _dominant(
    entries: Sequence[Entry], times: Sequence[float], weights: Sequence[float]
) -> tuple[str, float] | None:
    shares = [time * weight for time, weight in zip(times, weights, strict=True)]
    total, largest = sum(shares), max(shares)
    if len(entries) == 1 or not total > 0 or largest <= total / 2:
        return None
    return entries[shares.index(largest)].name, largest / total


def _row(
    entry: Entry, level: float | None, rules: Rules, original: bool, weights: dict[Location, float]
) -> SuiteRow:
    x, y = entry.x.values, entry.y.values
    alpha = None if level is None else alpha_at(level)
    if original:
        mean, median = original_mean(x, y, alpha), original_median(x, y, alpha)
    else:
        mean = article_mean(x, y, alpha, always_welch=rules.always_welch)
        median = article_median(x, y, alpha, rules.ks_rule)
    return SuiteRow(
        name=entry.name,
        speedups={location: _speedup(x, y, location) for location in LOCATIONS},
        mean=mean,
        median=median,
        weights=weights,
        remarks=(*entry.remarks, *mean.remarks, *median.remarks),
    )


def _speedup(x: FloatArray, y: FloatArray, location: Location) -> float:
    before, after = locate(x, location), locate(y, location)
    return before / after if after > 0 else math.nan

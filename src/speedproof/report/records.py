"""Every number of a comparison with all its digits, a row for each benchmark and protocol: what CSV holds."""

from __future__ import annotations

from collections.abc import Iterator

from speedproof.protocols.results import Comparison, Summary
from speedproof.protocols.suite import SuiteComparison
from speedproof.report.model import Records, Value

__all__ = ["COLUMNS", "records"]

COLUMNS = (
    "reference", "candidate", "metric", "unit", "benchmark", "protocol", "verdict", "speedup", "low", "high",
    "confidence", "state", "test", "pvalue", "pvalue_slower", "failed_checks", "doubts",
    *(f"{side}_{number}" for side in ("reference", "candidate")
      for number in ("n", "observations", "mean", "median", "minimum", "maximum", "deviation", "mad", "needed")),
)  # fmt: skip


def records(result: SuiteComparison) -> Records:
    """The numbers of a suite.

    Parameters
    ----------
    result : SuiteComparison
        Of one metric.

    Returns
    -------
    Records
        NaN and None where there is no number, infinity for an end that nothing is known about. Values are in the
        base unit, which the column ``unit`` names.
    """
    return Records(COLUMNS, tuple(tuple(_row(result, c)) for c in result.comparisons))


def _row(result: SuiteComparison, c: Comparison) -> Iterator[Value]:
    needed = (c.needed.reference, c.needed.candidate) if c.needed else (None, None)
    yield from (result.reference, result.candidate, c.metric, c.reference.unit, c.benchmark, c.protocol)
    yield c.verdict.value
    yield from (c.speedup.value, c.speedup.low, c.speedup.high, c.speedup.confidence)
    yield from (c.state.value, c.test, c.pvalue, c.pvalue_slower)
    for checks in (c.failed_checks, c.doubts):
        yield "; ".join(dict.fromkeys(check.name for check in checks))
    for side, runs in zip((c.reference, c.candidate), needed, strict=True):
        yield from _side(side)
        yield runs


def _side(side: Summary) -> Iterator[Value]:
    yield from (side.n, side.observations)
    yield from (side.mean, side.median, side.minimum, side.maximum, side.deviation, side.mad)

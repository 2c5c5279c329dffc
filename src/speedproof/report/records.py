"""Every number of a comparison with all its digits, a row for each benchmark and protocol: what CSV holds."""

from __future__ import annotations

import math
from collections.abc import Iterator

from speedproof.protocols.results import Comparison, Summary
from speedproof.protocols.suite import SuiteComparison
from speedproof.report.model import Records

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
        An empty text where there is no number, ``inf`` for an end that nothing is known about. Values are in the
        base unit, which the column ``unit`` names.
    """
    return Records(COLUMNS, tuple(tuple(_row(result, c)) for c in result.comparisons))


def _row(result: SuiteComparison, c: Comparison) -> Iterator[str]:
    needed = (c.needed.reference, c.needed.candidate) if c.needed else (None, None)
    yield from (result.reference, result.candidate, c.metric, c.reference.unit, c.benchmark, c.protocol)
    yield c.verdict.value
    yield from map(_number, (c.speedup.value, c.speedup.low, c.speedup.high, c.speedup.confidence))
    yield from (c.state.value, c.test, _number(c.pvalue), _number(c.pvalue_slower))
    for checks in (c.failed_checks, c.doubts):
        yield "; ".join(dict.fromkeys(check.name for check in checks))
    yield from _side(c.reference, needed[0])
    yield from _side(c.candidate, needed[1])


def _side(side: Summary, needed: int | None) -> Iterator[str]:
    yield str(side.n)
    yield str(side.observations)
    numbers = (side.mean, side.median, side.minimum, side.maximum, side.deviation, side.mad)
    yield from map(_number, numbers)
    yield "" if needed is None else str(needed)


def _number(value: float) -> str:
    return "" if math.isnan(value) else repr(value)

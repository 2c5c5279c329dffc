"""Every number of a comparison with all its digits, a row for each benchmark and protocol: what CSV holds."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter

from speedproof.data.notes import Note
from speedproof.protocols.results import Comparison, State
from speedproof.protocols.suite import SuiteComparison
from speedproof.reporting.model import Records, Value
from speedproof.reporting.words import CHANGED


def _names(checks: tuple[Note, ...]) -> str:
    return "; ".join(dict.fromkeys(check.name for check in checks))


_OF_A_SIDE = ("n", "observations", "mean", "median", "minimum", "maximum", "deviation", "mad")


def _of_side(side: str) -> dict[str, Callable[[Comparison], Value]]:
    numbers = {f"{side}_{name}": attrgetter(f"{side}.{name}") for name in _OF_A_SIDE}
    return {**numbers, f"{side}_needed": lambda c: getattr(c.needed, side) if c.needed else None}


COLUMNS: dict[str, Callable[[Comparison], Value]] = {
    "metric": lambda c: c.metric,
    "unit": lambda c: c.reference.unit,
    "benchmark": lambda c: c.benchmark,
    "protocol": lambda c: c.protocol,
    "verdict": lambda c: c.verdict.value,
    "speedup": lambda c: c.speedup.value,
    "low": lambda c: c.speedup.low,
    "high": lambda c: c.speedup.high,
    "confidence": lambda c: c.speedup.confidence,
    # Where the test of the verdict's own direction ended; that of a comparison is of its being faster
    "state": lambda c: (State.SIGNIFICANT if c.verdict in CHANGED else c.state).value,
    "test": lambda c: c.test,
    "pvalue": lambda c: c.pvalue,
    "pvalue_slower": lambda c: c.pvalue_slower,
    "failed_checks": lambda c: _names(c.failed_checks),
    "undermining": lambda c: _names(c.undermining),
    **_of_side("reference"),
    **_of_side("candidate"),
}
"""After the names of both versions. Values are in the base unit of ``unit``; NaN and None are no number."""


def records(*results: SuiteComparison) -> Records:
    """The numbers of suites, of one metric each."""
    rows = (
        (result.reference, result.candidate, *(of(c) for of in COLUMNS.values()))
        for result in results
        for c in result.comparisons
    )
    return Records(("reference", "candidate", *COLUMNS), tuple(rows))

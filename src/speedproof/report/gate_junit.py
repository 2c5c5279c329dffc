"""The gate as JUnit XML: one case a benchmark, so that the tests of a pipeline name what stopped it."""

from __future__ import annotations

from collections.abc import Iterator

from speedproof.protocols.gate import GateResult, GateRow
from speedproof.protocols.gate_claims import Outcome
from speedproof.report.conclusions import SHORT
from speedproof.report.gate_wording import (
    also_proven,
    gate_conclusion,
    gate_doubts,
    gate_risks,
    row_conclusion,
    runs,
)
from speedproof.report.junit import Case, CaseSuite, junit_document
from speedproof.report.wording import bounds, level, percent, pvalue

__all__ = ["gate_junit"]


def gate_junit(result: GateResult, *, undecided_fails: bool = False) -> str:
    """One gate as JUnit XML.

    Parameters
    ----------
    result : GateResult
        Its rows become cases in the reference's order; what is missing follows, as failures.
    undecided_fails : bool
        Whether an undecided benchmark is a failure; else it is skipped, since nothing was proven of it.

    Returns
    -------
    str
        An XML document. Outcome, risk and rules are properties of the suite.

    Examples
    --------
    >>> from xml.etree import ElementTree as ET
    >>> import numpy as np
    >>> from speedproof.data.suite import Record, Suite
    >>> from speedproof.protocols.gate import gate
    >>> from speedproof.protocols.gate_claims import Demand
    >>> old, new = 10 + np.arange(12) / 100, 12 + np.arange(12) / 100
    >>> suite = Suite.from_records([("old", Record("sort", old)), ("new", Record("sort", new))])
    >>> root = ET.fromstring(gate_junit(gate(suite, ("old", "new"), lambda name: Demand())))
    >>> [(case.get("classname"), case.get("name"), case[0].tag) for case in root.iter("testcase")]
    [('no-regression/time', 'sort', 'failure')]
    """
    cases = [_case(result, row, undecided_fails) for row in result.rows]
    cases += [
        Case(
            classname=f"missing/{absent.metric}",
            name=absent.benchmark,
            kind="missing",
            message=f"{absent.benchmark} cannot be compared in {result.candidate}, which fails the gate",
            result="failure",
            why=f"{absent.reason}\n",
            out="",
        )
        for absent in result.absent
    ]
    title = f"{result.candidate} against {result.reference}"
    return junit_document([CaseSuite(title, tuple(cases), tuple(_properties(result, undecided_fails)))])


def _properties(result: GateResult, undecided_fails: bool) -> Iterator[tuple[str, str]]:
    yield "outcome", result.outcome.value
    yield "conclusion", gate_conclusion(result)
    if result.rows:
        yield "risk", " ".join([gate_risks(result), *gate_doubts(result)])
    yield "baseline", result.reference
    yield "candidate", result.candidate
    yield "confidence", level(1 - result.rules.alpha)
    yield "protocol", result.rules.protocol
    yield "multiplicity", result.rules.multiplicity
    yield "undecided", "failure" if undecided_fails else "skipped"
    if result.added:
        yield "new, without bearing", ", ".join(result.added)
    if result.ignored:
        yield "ignored by the settings", ", ".join(result.ignored)


def _case(result: GateResult, row: GateRow, undecided_fails: bool) -> Case:
    comparison = row.comparison
    skipped = row.outcome is Outcome.UNDECIDED and not undecided_fails
    failed = row.outcome is not Outcome.PASS and not skipped
    message = row_conclusion(result, row)
    numbers = "\n".join(_numbers(result, row)) + "\n"
    doubts = "".join(f"! {check.name}: {check.message}\n" for check in comparison.doubts)
    return Case(
        classname=f"{row.demand.policy.value}/{comparison.metric}",
        name=comparison.benchmark,
        kind=row.contradicted.name if row.outcome is Outcome.FAIL else row.outcome.value,
        message=message,
        result="failure" if failed else "skipped" if skipped else "passed",
        why=f"{message}\n{numbers}",
        # A failure has its numbers in itself, a skipped case its message; a case that passed has neither.
        out=doubts if failed else f"{numbers}{doubts}" if skipped else f"{message}\n{numbers}{doubts}",
    )


def _numbers(result: GateResult, row: GateRow) -> Iterator[str]:
    """What the row of the table says, a line each."""
    required, contradicted = row.required, row.contradicted
    yield f"outcome: {row.outcome.value}"
    yield f"policy: {row.demand.policy.value}, margin {percent(row.demand.margin)}"
    yield f"speedup of {result.rules.protocol}: {bounds(row.comparison.certified)}"
    yield f"runs: {runs(row)}"
    yield f"asked: {required.hypothesis}, p = {pvalue(required.adjusted)}"
    yield (
        f"opposite: {contradicted.hypothesis}, p = {pvalue(contradicted.adjusted)} "
        f"({pvalue(contradicted.pvalue)} before the correction)"
    )
    also = also_proven(row)
    if also:
        condition = " if the runs are what the tests assume" if row.comparison.doubts else ""
        yield f"also proven{condition}: {also.removeprefix('! ')}"
    for check in row.comparison.failed_checks:
        if check not in row.comparison.doubts and SHORT.get(check.kind, check.kind.title):
            yield f"does not hold: {check.name}: {check.message}"

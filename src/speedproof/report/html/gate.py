"""The page of a gate: the answer and its risk, every benchmark against what is asked of it, what to mind."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from speedproof.data.suite import Suite
from speedproof.protocols.gate import GateResult, GateRow
from speedproof.protocols.gate_claims import Demand, Outcome, Policy
from speedproof.protocols.suite import SuiteComparison
from speedproof.report.gate import gate_notes
from speedproof.report.gate_wording import (
    GATE_STYLES,
    also_proven,
    asked,
    gate_conclusion,
    gate_doubts,
    gate_risks,
    in_order,
    named,
    row_conclusion,
    runs,
)
from speedproof.report.html.axis import RatioAxis, ratio_axis
from speedproof.report.html.panels import panels
from speedproof.report.html.render import (
    METHODS,
    SPEEDUP,
    Paragraph,
    Section,
    fields_of,
    paragraphs,
    render,
    share_of,
)
from speedproof.report.html.rows import (
    Datum,
    Forest,
    Heading,
    Row,
    column_title,
    drawing_height,
    interval,
    minded,
    said,
)
from speedproof.report.stored import Context
from speedproof.report.wording import level, percent, plural, pvalue

__all__ = ["gate_page"]

_SHAPE = "diamond"
_DEFINITIONS = (
    SPEEDUP,
    (
        "Certified bounds",
        "Each holds at the stated confidence by itself. They invert the test that decides: a bound lies beyond a "
        "threshold exactly when that test rejects the threshold at the stated risk.",
    ),
    (
        "Pass",
        "What is asked of the benchmark is proven by itself. The gate passes when all benchmarks do, so this "
        "needs no correction.",
    ),
    (
        "Fail",
        "The opposite of what is asked is proven, after the correction over all benchmarks, because one is enough "
        "for the gate to fail.",
    ),
    ("Undecided", "These data prove neither. It does not mean that nothing changed."),
)


def gate_page(result: GateResult, suite: Suite, context: Context | None = None) -> str:
    """One gate as one HTML file.

    Parameters
    ----------
    result : GateResult
        Of one gate.
    suite : Suite
        Its samples, for the charts in the panels; may hold none.
    context : Context, optional
        How it was made.

    Returns
    -------
    str
        A page as of :func:`speedproof.report.html.html_report`.

    Raises
    ------
    UsageError
        Jinja2 is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> from speedproof.data.suite import Record
    >>> from speedproof.protocols.gate import gate
    >>> old, new = 10 + np.arange(12) / 100, 12 + np.arange(12) / 100
    >>> suite = Suite.from_records([("old", Record("sort", old)), ("new", Record("sort", new))])
    >>> page = gate_page(gate(suite, ("old", "new"), lambda name: Demand()), suite)
    >>> page.partition("<title>")[2].partition("</title>")[0]
    'fail: new against old – speedproof'
    """
    rows = in_order(result)
    definitions = (*_DEFINITIONS, METHODS[result.rules.protocol], ("Rules", _rules(result)))
    return render(
        f"{result.outcome.value}: {result.candidate} against {result.reference}",
        [_section(result, rows, suite)],
        [_panels(result, rows, suite)],
        definitions,
        suite,
        context,
    )


def _section(result: GateResult, rows: Sequence[GateRow], suite: Suite) -> Section:
    lead = [Paragraph(gate_conclusion(result), GATE_STYLES[result.outcome])]
    if rows:
        lead.append(Paragraph(gate_risks(result), "dim"))
        lead += [Paragraph(text, "doubt") for text in gate_doubts(result)]
    metrics = ", ".join(dict.fromkeys(row.comparison.metric for row in rows))
    only = f"{rows[0].comparison.benchmark} · " if len(rows) == 1 else ""
    counts = [(o.value, result.count(o)) for o in (Outcome.PASS, Outcome.UNDECIDED, Outcome.FAIL)]
    counts.append(("missing", len(result.absent)))
    return Section(
        reference=result.reference,
        candidate=result.candidate,
        answer=result.outcome.value,
        eyebrow=f"speedproof gate · {metrics}{' · ' if metrics else ''}{only}"
        f"confidence {level(1 - result.rules.alpha)}",
        lead=tuple(lead),
        risk=(),
        figures=(),
        shares=(share_of(f"in {result.rules.protocol}", counts),) if sum(n for _, n in counts) > 1 else (),
        forest=_forest(result, rows),
        verdict="Outcome",
        answers=tuple(o.value for o in (Outcome.FAIL, Outcome.UNDECIDED, Outcome.PASS)),
        protocols=(),
        notes_title="Remarks",
        notes=paragraphs(gate_notes(result)),
        fields=fields_of(suite, result.reference, result.candidate),
    )


def _forest(result: GateResult, rows: Sequence[GateRow]) -> Forest:
    speedups = [row.comparison.certified for row in rows]
    # The thresholds are on the axis whatever was measured: the picture is about which side of them it lies.
    thresholds = [end for row in rows for end in _region(row.demand) if math.isfinite(end)]
    axis = ratio_axis(
        [*thresholds, *(s.value for s in speedups)], [b for s in speedups for b in (s.low, s.high)]
    )
    protocol = result.rules.protocol
    return Forest(
        rows=tuple(_row(name, row, axis) for name, row in zip(named(rows), rows, strict=True)),
        ticks=axis.labelled(),
        one=axis.place(1.0),
        margin=None,
        height=drawing_height(1),
        drawn=((protocol, _SHAPE),),
        titles=(column_title(protocol),),
        columns=(
            Heading("Asked", "c-asked", sorts=False),
            Heading("p", "c-num"),
            Heading("p of opposite", "c-num"),
            Heading("Also proven", "c-asked", sorts=False),
            Heading("Runs", "c-runs", sorts=False),
            Heading("Mind", "c-mind"),
        ),
        told="The shaded part of the axis is asked: a benchmark passes when its bounds lie in it, and fails when "
        "they lie outside, even after the correction over all benchmarks; its panel says why one does neither. "
        "One without bounds is decided by ranks alone. An outcome marked ! has an unknown risk, and so has what "
        "is also proven: its runs are not what the tests assume.",
    )


def _region(demand: Demand) -> tuple[float, float]:
    """The speedups that a policy asks for."""
    low, high = 1 / (1 + demand.margin), 1 + demand.margin
    return {
        Policy.NO_REGRESSION: (low, math.inf),
        Policy.PROVEN_IMPROVEMENT: (1.0, math.inf),
        Policy.EQUIVALENCE: (low, high),
    }[demand.policy]


def _row(name: str, row: GateRow, axis: RatioAxis) -> Row:
    c, outcome = row.comparison, row.outcome.value
    low, high = _region(row.demand)
    start = axis.place(low)
    end = axis.place(high) if math.isfinite(high) else 100.0
    return Row(
        name=name,
        intervals=(interval(c, axis, _SHAPE, 0, outcome),),
        said=(said(c, outcome),),
        certified=c.certified.low,
        cells=(
            Datum(asked(row), "asks"),
            Datum(pvalue(row.required.adjusted), "num", row.required.adjusted),
            Datum(pvalue(row.contradicted.adjusted), "num", row.contradicted.adjusted),
            Datum(also_proven(row), "asks also"),
            Datum(runs(row), "num"),
            minded([c]),
        ),
        verdicts={"outcome": outcome},
        asked=(start, round(end - start, 3)),
    )


def _panels(result: GateResult, rows: Sequence[GateRow], suite: Suite) -> list[dict[str, Any]]:
    """The panels of compare, with the gate's sentence in place of the verdict's."""
    drawn: dict[tuple[str, str], dict[str, Any]] = {}
    for metric in dict.fromkeys(row.comparison.metric for row in rows):
        found = tuple(row.comparison for row in rows if row.comparison.metric == metric)
        as_suite = SuiteComparison(
            reference=result.reference,
            candidate=result.candidate,
            metric=metric,
            alpha=result.rules.alpha,
            margin=None,
            nested="process",
            comparisons=found,
            only_reference=(),
            only_candidate=(),
            problems=(),
            overall=(),
            accelerated=(),
        )
        for comparison, panel in zip(found, panels(as_suite, suite), strict=True):
            drawn[comparison.benchmark, metric] = panel
    return [
        drawn[row.comparison.benchmark, row.comparison.metric]
        | {"said": [[row.outcome.value, row_conclusion(result, row)]]}
        for row in rows
    ]


def _rules(result: GateResult) -> str:
    return "; ".join(_told_rules(result)) + "."


def _told_rules(result: GateResult) -> Iterator[str]:
    """Policies with the number of their benchmarks, then what holds for all."""
    demands: dict[Demand, int] = {}
    for row in result.rows:
        demands[row.demand] = demands.get(row.demand, 0) + 1
    for demand, count in demands.items():
        where = f" on {plural(count, 'benchmark')}" if len(demands) > 1 else ""
        yield f"{demand.policy.value} with a margin of {percent(demand.margin)}{where}"
    yield f"risk {percent(result.rules.alpha)}"
    yield f"correction of what fails the gate: {result.rules.multiplicity}"

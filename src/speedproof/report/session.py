"""What a session of `run` found: the same sheet as for files, by the test that may be looked at at any time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from speedproof.data.suite import Suite
from speedproof.protocols.results import Comparison, Needed, State, Summary, Verdict, summarise
from speedproof.protocols.sequential import Finding
from speedproof.protocols.suite import SuiteComparison
from speedproof.report import suite, versions
from speedproof.report.model import Report, Text
from speedproof.stats.estimate import Estimate

__all__ = ["PROTOCOL", "report", "sides_of"]

PROTOCOL = "sequential"


def report(
    findings: Sequence[Finding],
    sides: Mapping[tuple[str, str], Summary],
    *,
    risk: float,
    margin: float | None = None,
) -> Report:
    """The ending of a session.

    Parameters
    ----------
    findings : sequence of Finding
        Of every benchmark and candidate.
    sides : mapping of (str, str) to Summary
        By benchmark and version, the runs in numbers.
    risk : float
        Of each direction, for all candidates of a benchmark together.
    margin : float, optional
        Of equivalence.

    Returns
    -------
    Report
        One answer a benchmark: no second table by other protocols.
    """
    results = _results(findings, sides, risk, margin)
    if not results:
        return Report("", (Text("Undecided: no complete block was measured.", "bad"),), command="run")
    made = suite.report(results[0]) if len(results) == 1 else versions.report(results)
    warnings = [
        Text(f"! {warning[:1].upper()}{warning[1:]}.", "doubt") for f in findings for warning in f.warnings
    ]
    why = [Text(f"{f.candidate}: {f.reason}.", "dim") for f in findings if f.result.contradictory]
    return replace(
        made,
        notes=(*made.notes, *dict.fromkeys((*why, *warnings))),
        hints=(),
        command="run",
        data=tuple(findings),
        records=None,
    )


def sides_of(suite: Suite, metric: str) -> dict[tuple[str, str], Summary]:
    """The runs of a session in numbers, by benchmark and version."""
    return {
        (key.benchmark, version): summarise(sample)
        for (key, version), sample in suite.samples.items()
        if key.metric == metric
    }


def _results(
    findings: Sequence[Finding], sides: Mapping[tuple[str, str], Summary], risk: float, margin: float | None
) -> list[SuiteComparison]:
    """The findings of each candidate as a comparison of two versions."""
    by_candidate: dict[tuple[str, str, str], list[Comparison]] = {}
    for f in findings:
        if (f.benchmark, f.reference) in sides and (f.benchmark, f.candidate) in sides:
            by_candidate.setdefault((f.reference, f.candidate, f.metric), []).append(
                _comparison(f, sides, risk)
            )
    return [
        SuiteComparison(
            reference=reference,
            candidate=candidate,
            metric=metric,
            alpha=risk,
            margin=margin,
            nested="process",
            comparisons=tuple(found),
            only_reference=(),
            only_candidate=(),
            problems=(),
            overall=(),
            accelerated=(),
        )
        for (reference, candidate, metric), found in by_candidate.items()
    ]


def _comparison(f: Finding, sides: Mapping[tuple[str, str], Summary], risk: float) -> Comparison:
    result = f.result
    needed = None
    if f.verdict is Verdict.UNDECIDED:
        more = math.ceil(result.blocks + f.blocks_to_go) if math.isfinite(f.blocks_to_go) else None
        needed = Needed(
            more, more, "no end is in sight" if f.blocks_to_go == math.inf else "too early to say"
        )
    return Comparison(
        benchmark=f.benchmark,
        metric=f.metric,
        protocol=PROTOCOL,
        question=f"is a typical run of {f.candidate} faster?",
        alpha=risk,
        reference=sides[f.benchmark, f.reference],
        candidate=sides[f.benchmark, f.candidate],
        state=State.SIGNIFICANT if f.verdict is Verdict.FASTER else State.NOT_SIGNIFICANT,
        test="sequential test of block ratios",
        pvalue=math.nan,
        pvalue_slower=math.nan,
        speedup=Estimate(f.estimate, result.low, result.high, 1 - result.risk),
        verdict=f.verdict,
        needed=needed,
    )

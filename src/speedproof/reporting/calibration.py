"""The noise of a machine in words, and the speedups that it lets one prove."""

from __future__ import annotations

import math

from speedproof.data.units import format_value
from speedproof.protocols.calibration import Calibration
from speedproof.protocols.sequential import CandidateResult
from speedproof.reporting.model import Report, Table, Text, right
from speedproof.reporting.numbers import factor, p_is, percent, plural
from speedproof.reporting.words import CHANGED, span


def report(c: Calibration, finding: CandidateResult) -> Report:
    """What the runs of one command tell, measured against itself."""
    between = span(finding.certified)
    itself = Text(f"Against itself: {finding.verdict}, {between}")
    if finding.verdict in CHANGED:
        again = "Chance does that at the stated risk; found again, it is something that tells the two apart."
        itself = Text(f"The second copy was found {between}. {again}", "bad")
    elif finding.result.contradictory:
        changed = "no single speedup fits all runs; the machine changed meanwhile."
        itself = Text(f"Against itself: {changed}", "warning")
    rows = (
        (
            format_value(seconds, "s") if seconds < 60 else f"{seconds / 60:g} min",
            f"{blocks:.0f}",
            factor(speedup, 1) if math.isfinite(speedup) else "none",
        )
        for seconds, blocks, speedup in c.provable
    )
    return Report(
        "Calibration",
        (
            Text(
                f"{plural(c.runs, 'run')} of one command, median {format_value(c.median, 's')}: single runs vary "
                f"by {percent(c.noise, 2)}, the ratio within a pair by {percent(c.block_noise, 2)}",
                "strong",
            ),
            itself,
            _order("Neighbouring runs", c.autocorrelation, c.autocorrelation_pvalue),
            _order("Drift with the order", c.drift, c.drift_pvalue),
        ),
        (Table.of(right("measuring for", "pairs", "proves"), rows),),
        (Text("About half of all sessions of that length prove a speedup of that size.", "dim"),),
        command="run",
        data=c,
    )


def _order(what: str, correlation: float, p: float) -> Text:
    value = "undefined" if math.isnan(correlation) else f"{correlation:+.2f}"
    seen = p <= 0.05
    cure = "; pairs in random order, as 'run' measures, take care of it" if seen else ""
    return Text(f"{what}: rank correlation {value} ({p_is(p)}){cure}", "warning" if seen else "")

"""The gate's answer as a Markdown summary: what did not pass is open, the rest folded."""

from __future__ import annotations

from collections.abc import Sequence

from speedproof.protocols.gate import GateResult, GateRow
from speedproof.protocols.gate_claims import Outcome
from speedproof.report.gate_wording import (
    MOST_LISTED,
    MOST_NAMED,
    ORDER,
    absences,
    counted,
    gate_doubts,
    gate_remarks,
    gate_risks,
    in_order,
    marked_outcome,
    named,
    runs,
)
from speedproof.report.markdown import code
from speedproof.report.wording import bounds, pvalue

__all__ = ["gate_markdown"]

_MOST_ROWS = 100  # GitHub refuses comments above 65,536 characters


def gate_markdown(result: GateResult) -> str:
    """The gate in GitHub's Markdown, for a job summary or a comment.

    Parameters
    ----------
    result : GateResult
        Of one gate.

    Returns
    -------
    str
        Conclusion and the benchmarks that did not pass; all of them folded below. Names are code, so they can
        neither mention anybody nor become markup.
    """
    total = len(result.rows)
    counts = ", ".join(f"{result.count(o)} {o.value}" for o in ORDER if result.count(o))
    lines = [
        f"## Gate: {result.outcome.value}",
        "",
        f"{code(result.candidate)} against {code(result.reference)}, {counted(result, total)}"
        + (f": {counts}" if counts else "")
        + (f"; {len(result.absent)} missing, which fails the gate" if result.absent else "")
        + ".",
        "",
    ]
    lines += [f"- missing: {code(line)}" for line in absences(result)[:MOST_LISTED]]
    if len(result.absent) > MOST_LISTED:
        lines.append(f"- and {len(result.absent) - MOST_LISTED} more missing")
    if result.absent:
        lines.append("")
    rows = in_order(result)
    open_rows = [row for row in rows if row.outcome is not Outcome.PASS]
    if open_rows:
        lines += [*_markdown_table(result, open_rows), ""]
    if total:
        lines += [
            f"<details><summary>All {counted(result, total)}</summary>",
            "",
            *_markdown_table(result, rows),
            "",
            "</details>",
            "",
        ]
    remarks = gate_remarks(result)
    if remarks:
        lines += ["<details><summary>What to mind</summary>", ""]
        lines += [f"- {code(line)}" for line in remarks[:MOST_LISTED]]
        lines += ["", "</details>", ""]
    if total:
        lines += [gate_risks(result), "", *(f"**{text}**\n" for text in gate_doubts(result))]
    if result.ignored:
        lines += [f"Ignored by the settings: {', '.join(map(code, result.ignored[:MOST_NAMED]))}"]
        if len(result.ignored) > MOST_NAMED:
            lines[-1] += f" and {len(result.ignored) - MOST_NAMED} more"
        lines += [""]
    return "\n".join(lines)


def _markdown_table(result: GateResult, rows: Sequence[GateRow]) -> list[str]:
    lines = [
        f"| benchmark | outcome | runs | speedup of {result.rules.protocol} | asked | p | p of opposite |",
        "|---|---|---:|---|---|---:|---:|",
    ]
    lines += [
        f"| {code(name)} | {marked_outcome(row)} | {runs(row)} | {bounds(row.comparison.certified)} "
        f"| {code(row.required.hypothesis)} | {pvalue(row.required.adjusted)} "
        f"| {pvalue(row.contradicted.adjusted)} |"
        for name, row in zip(named(rows)[:_MOST_ROWS], rows[:_MOST_ROWS], strict=True)
    ]
    if len(rows) > _MOST_ROWS:
        lines.append(f"| and {len(rows) - _MOST_ROWS} more | | | | | | |")
    return lines

"""Hierarchical Performance Testing as text: the conclusion first, then the benchmarks, then what to mind."""

from __future__ import annotations

import math
from collections.abc import Iterator

from speedproof.protocols.hpt import Hpt, HptBenchmark, Winner
from speedproof.protocols.hpt_claims import HptClaim, HptClaims
from speedproof.protocols.hpt_speedup import RSpeedup
from speedproof.report.blocks import Block, Cell, Column, Style, Table, Text
from speedproof.report.wording import percent, plural, pvalue, ratio

__all__ = ["claims_blocks", "hpt_blocks", "hpt_conclusion"]

_STYLES: dict[Winner, Style] = {Winner.CANDIDATE: "good", Winner.REFERENCE: "bad", Winner.TIE: "doubt"}


def hpt_conclusion(result: Hpt, reference: str, candidate: str) -> str:
    """The answer in one line.

    Parameters
    ----------
    result : Hpt
        Of the two versions.
    reference, candidate : str
        Their names.

    Returns
    -------
    str
        Who outperforms whom with which confidence, and by which factor; no claim for a tie.

    Examples
    --------
    >>> from speedproof.protocols.hpt import hpt_of_scores
    >>> result = hpt_of_scores([[1.0]] * 6, [[1.5]] * 6, confidences=[0.95, 0.99])
    >>> hpt_conclusion(result, "old", "new")
    'HPT: new outperforms old with confidence 98.4 %, by a factor of 1.49 with confidence 95 %.'
    """
    if result.winner is Winner.TIE:
        return f"HPT: neither {candidate} nor {reference} outperforms the other."
    ahead, behind = (candidate, reference) if result.winner is Winner.CANDIDATE else (reference, candidate)
    text = f"HPT: {ahead} outperforms {behind} with confidence {_floored(result.confidence)}"
    factors = [
        f"by a factor of {s.hundredth:.2f} with confidence {percent(s.confidence, 4)}"
        for s in result.speedups
        if s.hundredth is not None
    ]
    return f"{', '.join([text, *factors])}."


def hpt_blocks(result: Hpt, reference: str, candidate: str) -> Iterator[Block]:
    """The whole answer.

    Parameters
    ----------
    result : Hpt
        Of the two versions.
    reference, candidate : str
        Their names.

    Yields
    ------
    Text or Table
        The conclusion, the counts, the r-speedups, the benchmarks, the notes.
    """
    wins, losses, ties = (result.count(winner) for winner in (Winner.CANDIDATE, Winner.REFERENCE, Winner.TIE))
    yield Text(hpt_conclusion(result, reference, candidate), _STYLES[result.winner])
    yield Text(
        f"{candidate} wins {wins} and loses {losses} of {plural(len(result.benchmarks), 'benchmark')}; "
        f"{'1 is a tie' if ties == 1 else f'{ties} are ties'}. Confidence that {candidate} is better: "
        f"{_floored(1 - result.pvalue_candidate)}; that {reference} is better: "
        f"{_floored(1 - result.pvalue_reference)}."
    )
    if result.speedups and result.winner is not Winner.TIE:
        yield Text("")
        yield _speedups(result.speedups)
    yield Text("")
    yield _benchmarks(result, reference, candidate)
    yield Text("")
    yield Text(f"scores: {result.scores}; {result.method}", "dim")
    for note in result.notes:
        yield Text(f"note: {note}", "doubt")


def claims_blocks(found: HptClaims, reference: str, candidate: str) -> Iterator[Block]:
    """What HPT thinks of the speedups that others state.

    Parameters
    ----------
    found : HptClaims
        Of the two versions.
    reference, candidate : str
        Their names.

    Yields
    ------
    Text or Table
        A sentence, then a row a claim.
    """
    ahead, behind = (candidate, reference) if found.candidate_wins else (reference, candidate)
    yield Text(f"Confidence of HPT in other speedups of {ahead} over {behind}:")
    columns = (
        Column("speedup by"),
        Column("speedup", right=True),
        Column("confidence", right=True),
        Column(f"loss to {percent(found.confidence, 4)}", right=True),
        Column("error", right=True),
    )
    yield Table(columns, tuple(_claim_row(claim) for claim in found.claims))
    yield Text(
        "Error: against the speedup that HPT certifies. Paired t test: "
        + (
            f"confidence {_floored(found.t_confidence)} that {ahead} is better."
            if not math.isnan(found.t_confidence)
            else "needs two benchmarks."
        ),
        "dim",
    )


def _claim_row(claim: HptClaim) -> tuple[Cell, ...]:
    method = "--speedup" if claim.method == "asked" else claim.method
    if claim.speedup is None:
        return Cell(method), Cell("none"), Cell("-"), Cell("-"), Cell("-")
    return (
        Cell(method),
        Cell(f"{claim.speedup:.4g}"),
        Cell(_floored(claim.confidence)),
        Cell(
            "none" if claim.loss <= 0 else f"{100 * claim.loss:.1f} points", "doubt" if claim.loss > 0 else ""
        ),
        Cell("-" if math.isnan(claim.error) else f"{100 * claim.error:+.1f} %"),
    )


def _floored(confidence: float) -> str:
    """A confidence in percent, cut rather than rounded: never more than was shown, never 100 %."""
    return f"{math.floor(1000 * confidence + 1e-9) / 10:.1f} %"


def _speedups(speedups: tuple[RSpeedup, ...]) -> Table:
    rows = []
    for s in speedups:
        values = (s.certified, s.supremum)
        shown = ["none" if v is None else f"{v:.6g}" for v in values]
        rows.append(
            (
                Cell(percent(s.confidence, 4)),
                Cell("none" if s.hundredth is None else f"{s.hundredth:.2f}", "strong"),
                Cell(shown[0]),
                Cell(shown[1], "" if shown[0] == shown[1] else "doubt"),
            )
        )
    columns = (
        Column("confidence", right=True),
        Column("speedup", right=True),
        Column("first that fails", right=True),
        Column("last that passes", right=True),
    )
    return Table(columns, tuple(rows))


def _benchmarks(result: Hpt, reference: str, candidate: str) -> Table:
    names = {Winner.CANDIDATE: candidate, Winner.REFERENCE: reference, Winner.TIE: "tie"}
    columns = (
        Column("benchmark"),
        Column("better"),
        Column("difference", right=True),
        Column("rank", right=True),
        Column("p", right=True),
        Column("runs", right=True),
    )
    return Table(columns, tuple(_row(row, names[row.winner]) for row in result.benchmarks))


def _row(row: HptBenchmark, winner: str) -> tuple[Cell, ...]:
    smaller = pvalue(min(row.pvalue_candidate, row.pvalue_reference)) if row.level is not None else "-"
    return (
        Cell(row.benchmark),
        Cell(winner, _STYLES[row.winner]),
        Cell(ratio(row.difference)),
        Cell(f"{row.rank:g}"),
        Cell(smaller),
        Cell(f"{row.reference_runs}, {row.candidate_runs}"),
    )

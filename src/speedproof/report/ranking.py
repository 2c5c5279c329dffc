"""A ranking of several versions as text."""

from __future__ import annotations

from collections.abc import Iterator

from speedproof.protocols.version_ranking import RankedVersion, Ranking
from speedproof.report.blocks import Block, Cell, Column, Table, Text
from speedproof.report.wording import bounds, percent, plural

__all__ = ["ranking_blocks"]


def ranking_blocks(ranking: Ranking, metric: str) -> Iterator[Block]:
    """Who is first, as far as that is proven.

    Parameters
    ----------
    ranking : Ranking
        Of three versions or more.
    metric : str
        What was compared.

    Yields
    ------
    Text or Table
        A heading, the places, what was left out.
    """
    reference = next(v.version for v in ranking.versions if v.speedup.low == v.speedup.high == 1.0)
    yield Text(f"Ranking of {plural(len(ranking.versions), 'version')}: {metric}", "strong")
    yield Text(
        f"By the geometric mean of the speedups in mean over {plural(len(ranking.benchmarks), 'benchmark')}. "
        "A range of places means that the order inside it is not proven; all claims together carry a risk of "
        f"{percent(ranking.alpha)} (Holm's procedure over every pair in both directions)."
    )
    yield Table(
        (Column("place", right=True), Column("version"), Column(f"speedup over {reference}")),
        tuple(
            (Cell(_place(v)), Cell(v.version, "strong"), Cell(bounds(v.speedup))) for v in ranking.versions
        ),
    )
    if ranking.left_out:
        yield Text(f"Left out, not measured in every version: {', '.join(ranking.left_out)}", "doubt")


def _place(version: RankedVersion) -> str:
    best, worst = version.best_rank, version.worst_rank
    return str(best) if best == worst else f"{best}-{worst}"

"""Three versions or more in order of speed, all verdicts together at one risk."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from speedproof.api.shown import Shown, risk_of
from speedproof.data.suite import Suite
from speedproof.errors import UsageError
from speedproof.protocols.ranking import RankedVersion, Scope, SuiteRanking, rank_suite
from speedproof.report.blocks import Block
from speedproof.report.ranking import ranking_blocks

__all__ = ["RankResult", "rank"]


@dataclass(frozen=True, repr=False)
class RankResult(Shown):
    """Versions in order, the fastest first.

    Attributes
    ----------
    ranking : SuiteRanking
        Every version's place and every two versions' verdict.
    metric : str
        What was compared.
    """

    ranking: SuiteRanking
    metric: str

    @property
    def versions(self) -> tuple[RankedVersion, ...]:
        """The fastest first, each with the ranks that the proven verdicts leave open."""
        return self.ranking.versions

    def _blocks(self) -> Iterable[Block]:
        return ranking_blocks(self.ranking, self.metric)

    def __repr__(self) -> str:
        return f"<RankResult: {', '.join(v.version for v in self.versions)}>"


def rank(
    suite: Suite,
    *,
    reference: str | None = None,
    metric: str | None = None,
    confidence: float = 0.95,
    scope: Scope = "these",
) -> RankResult:
    """Rank versions by their speedups over the benchmarks that all of them have.

    Parameters
    ----------
    suite : Suite
        With two versions or more.
    reference : str, optional
        The version that speedups are relative to; the first by default.
    metric : str, optional
        The only one of the suite by default.
    confidence : float
        Of all pairwise verdicts together.
    scope : {"these", "like these"}
        Whether the benchmarks are given, or a random sample of others.

    Returns
    -------
    RankResult
        Ranks that the verdicts leave open are given as a range.

    Raises
    ------
    SpeedproofError
        Fewer than two versions, or no benchmark that all have.

    Examples
    --------
    >>> import speedproof as sp
    >>> suite = sp.read("O2=examples/gcc/O2.json", "O3=examples/gcc/O3.json")
    >>> [v.version for v in sp.rank(suite).versions]
    ['O2', 'O3']
    """
    first, others = suite.sides(reference)
    metrics = list(dict.fromkeys(key.metric for key in suite.keys))
    if metric is None:
        if len(metrics) > 1:
            raise UsageError(f"the suite has several metrics, {', '.join(metrics)}: choose with metric=")
        metric = metrics[0]
    found = rank_suite(
        suite, metric=metric, versions=(first, *others), alpha=risk_of(confidence), scope=scope
    )
    return RankResult(found, metric)

"""The top of a page about a suite: a sentence a protocol, and the few numbers that stand for all benchmarks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from speedproof.protocols.hpt import Winner
from speedproof.protocols.results import Comparison, Verdict
from speedproof.protocols.suite import SuiteComparison
from speedproof.report.conclusions import comparatives
from speedproof.report.wording import lower, percent, plural, ratio, upper

__all__ = ["Figure", "figures", "headline"]

_WHERE = {
    "typical": "On a typical run",
    "mean": "In mean",
    "median": "In median",
    "touati2009": "By the 2009 protocol",
}


@dataclass(frozen=True, slots=True)
class Figure:
    """One number about a whole suite.

    Attributes
    ----------
    label, value : str
        What it is, and the number.
    details : tuple of str
        Its intervals, and what they speak of.
    """

    label: str
    value: str
    details: tuple[str, ...]


def headline(result: SuiteComparison) -> Iterator[str]:
    """One sentence for each protocol that certifies speedups.

    Parameters
    ----------
    result : SuiteComparison
        Of two benchmarks or more.

    Yields
    ------
    str
        How many are proven faster and slower, and the clearest of either.
    """
    total = len(result.benchmarks)
    for protocol in result.protocols:
        if protocol not in _WHERE:
            continue
        found = [c for c in result.comparisons if c.protocol == protocol]
        gains = [c for c in found if c.verdict is Verdict.FASTER]
        losses = [c for c in found if c.verdict is Verdict.SLOWER]
        faster, slower = comparatives(found[0])
        doubtful = sum(bool(c.doubts) for c in (*gains, *losses))
        text = (
            f"{_WHERE[protocol]}, {result.candidate} is {'shown' if doubtful else 'proven'} {faster} than "
            f"{result.reference} on {len(gains)} of {plural(total, 'benchmark')}{_clearest(gains)} "
            f"and {slower} on {len(losses) or 'none'}{_clearest(losses)}"
        )
        rest = [
            f"{count} {'is' if count == 1 else 'are'} {verdict.value}"
            for verdict in (Verdict.EQUIVALENT, Verdict.UNDECIDED)
            if (count := result.count(protocol, verdict))
        ]
        condition = (
            f" Where marked ! ({doubtful} of {len(gains) + len(losses)}), this holds only if the runs are what "
            "the tests assume, which they are not."
        )
        yield f"{'; '.join([text, *rest])}.{condition if doubtful else ''}"


def _clearest(found: list[Comparison]) -> str:
    """The one whose certified bound is furthest from 1, among those without a doubt if there are any."""
    most = "most clearly " if len(found) > 1 else ""
    found = [c for c in found if not math.isnan(c.certified.low)]
    found = [c for c in found if not c.doubts] or found
    if not found:
        return ""
    if found[0].verdict is Verdict.FASTER:
        best = max(found, key=lambda c: c.certified.low)
        bound = f"at least {lower(best.certified.low)}"
    else:
        best = min(found, key=lambda c: c.certified.high)
        bound = f"at most {upper(best.certified.high)}"
    return f" ({most}{best.benchmark}: {bound})"


def figures(result: SuiteComparison) -> Iterator[Figure]:
    """The numbers that stand for a suite, as far as they are known.

    Parameters
    ----------
    result : SuiteComparison
        Of two benchmarks or more.

    Yields
    ------
    Figure
        Geometric mean, total time, Hierarchical Performance Testing, share of accelerated benchmarks.
    """
    means = result.geometric_means
    if means is not None and math.isfinite(means.these.value):
        yield Figure(
            "Geometric mean of speedups",
            ratio(means.these.value),
            (
                f"{lower(means.these.low)} to {upper(means.these.high)} for these benchmarks",
                f"{lower(means.like_these.low)} to {upper(means.like_these.high)} for ones like these",
            ),
        )
    for location, gain in result.overall:
        if location == "median" and math.isfinite(gain.speedup):
            yield Figure(
                "Speedup of the total of medians",
                ratio(gain.speedup),
                (f"{percent(abs(gain.gain))} of the total {'saved' if gain.gain >= 0 else 'lost'}",),
            )
    if result.hpt is not None and result.hpt.winner is not Winner.TIE:
        ahead = result.candidate if result.hpt.winner is Winner.CANDIDATE else result.reference
        yield Figure(
            "Hierarchical Performance Testing",
            percent(math.floor(1e3 * result.hpt.confidence) / 1e3),
            (f"confidence that {ahead} is ahead over the suite",),
        )
    if result.accelerated:
        protocol, found = result.accelerated[-1]
        yield Figure(
            f"Accelerated {_WHERE[protocol].lower()}",
            f"{found.accelerated} of {found.benchmarks}",
            (f"{percent(found.wilson.low)} to {percent(found.wilson.high)} of benchmarks at large (Wilson)",),
        )

"""Rankings of several versions as text: who is first, what is not told apart, what is doubtful."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from speedproof.protocols.results import Verdict
from speedproof.protocols.single_run_ranking import Place, Separation
from speedproof.protocols.version_ranking import RankedVersion, Ranking
from speedproof.report.blocks import Block, Cell, Column, Style, Table, Text
from speedproof.report.conclusions import SHORT
from speedproof.report.wording import MARKS, STYLES, bounds, percent, plural

if TYPE_CHECKING:
    from speedproof.mixture.ranking import Advice, Ranked

__all__ = ["hedged", "place_cell", "ranking_blocks", "separation_blocks"]


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
            (
                place_cell(v, doubtful=bool(v.doubtful)),
                Cell(v.version, "strong"),
                Cell(bounds(v.speedup)),
            )
            for v in ranking.versions
        ),
    )
    if any(v.tied for v in ranking.versions):
        yield Text(f"{MARKS[Verdict.UNDECIDED]} not told apart from a neighbour", "dim")
    if doubtful := dict.fromkeys(name for v in ranking.versions for name in v.doubtful):
        yield Text(
            f"! in {plural(len(doubtful), 'benchmark')} of {len(ranking.benchmarks)} the runs are not what the "
            "tests assume: the true risk is unknown and may be far larger",
            "doubt",
        )
    if ranking.left_out:
        yield Text(f"Left out, not measured in every version: {', '.join(ranking.left_out)}", "doubt")


def place_cell(version: RankedVersion | Place, *, doubtful: bool) -> Cell:
    """A place, or the range of places that verdicts leave, with the marks that ``compare`` uses.

    Parameters
    ----------
    version : RankedVersion or Place
        What was ranked.
    doubtful : bool
        Whether its runs undermine the verdicts.

    Returns
    -------
    Cell
        ``?`` before the place: not told apart from a neighbour; ``!``: the true risk is unknown.

    Examples
    --------
    >>> place_cell(Place("a", 1, 2, True, ()), doubtful=True).text
    '?! 1-2'
    """
    best, worst = version.best_rank, version.worst_rank
    place = str(best) if best == worst else f"{best}-{worst}"
    marks = f"{MARKS[Verdict.UNDECIDED] if version.tied else ''}{'!' if doubtful else ''}"
    style: Style = STYLES[Verdict.UNDECIDED] if marks else ""
    return Cell(f"{marks} {place}".lstrip(), style)


def separation_blocks(found: Separation) -> Iterator[Block]:
    """What single runs do not tell apart, and what makes that doubtful.

    Parameters
    ----------
    found : Separation
        Of two versions or more.

    Yields
    ------
    Text
        One sentence on the order; with doubts one on the risk and one on each of their kinds.
    """
    risk = f"all claims on this benchmark together carry a risk of {percent(found.alpha)} (Holm's procedure)"
    if found.groups:
        groups = "; ".join(" and ".join(_names(group)) for group in found.groups)
        yield Text(f"{MARKS[Verdict.UNDECIDED]} Not told apart on a single run: {groups}; {risk}.", "doubt")
    else:
        yield Text(f"On a single run all neighbours are told apart; {risk}.")
    if not found.enough_runs:
        yield Text(
            f"  Fewer than {found.least_runs} runs of a version can never tell {len(found.places)} versions "
            "apart at this risk.",
            "doubt",
        )
    kinds: dict[tuple[str, str], list[str]] = {}
    for place in found.places:
        for check in place.doubts:
            kinds.setdefault((SHORT.get(check.kind, check.kind.title), check.message), []).append(
                place.version
            )
    if kinds:
        yield Text(
            "! The runs are not what tests and intervals assume: the true risk is unknown and may be far larger.",
            "doubt",
        )
    for (word, message), versions in kinds.items():
        yield Text(f"  {word} ({', '.join(versions)}): {message}.", "dim")


def hedged(advice: Advice, first: Ranked, found: Separation) -> Advice:
    r"""Advice that says no more than was shown: what is not told apart is not recommended.

    Parameters
    ----------
    advice : Advice
        From the observed values alone.
    first : Ranked
        The likeliest winner of a single run.
    found : Separation
        Of the same versions.

    Returns
    -------
    Advice
        The same names. The text is an imperative only where the first place is proven, for a single run.

    Examples
    --------
    >>> import numpy as np
    >>> from speedproof.data.sample import Sample
    >>> from speedproof.mixture.ranking import Advice, Ranked
    >>> from speedproof.protocols.single_run_ranking import separate
    >>> from speedproof.stats.estimate import Estimate
    >>> chance = Estimate(0.55, 0.32, 0.75, 0.95)
    >>> first = Ranked("a", 12, 1.5, 1.5, 1, chance, 0.0, chance)
    >>> x = np.linspace(1, 2, 12)
    >>> found = separate({"a": Sample(x), "b": Sample(x + 0.01)})
    >>> print(hedged(Advice("a", "b", "a", "Run it."), first, found).text.replace(", which", ",\nwhich"))
    No version is shown to be the best. Best so far: a in mean, b in median, a on a single run,
    which beats one run of b with probability 55 % (32 % to 75 %).
    """
    mean, median, rarely = advice.often_by_mean, advice.often_by_median, advice.rarely
    rivals = [place.version for place in found.places if place.version != rarely]
    against = rivals[0] if len(rivals) == 1 else f"each of the {len(rivals)} other versions"
    chance = (
        f"{100 * first.least.value:.0f} % ({100 * first.least.low:.0f} % to {100 * first.least.high:.0f} %)"
    )
    beats = f"beats one run of {against} with probability {chance}"
    agreed = mean == median == rarely
    leading = [place.version for place in found.places if place.best_rank == 1]
    if leading != [rarely]:
        among = "" if len(leading) == len(found.places) else f", {' or '.join(leading)} may be"
        if agreed:
            best = f"{mean} looks best so far: in mean, in median, and a single run of it {beats}."
        else:
            best = (
                f"Best so far: {mean} in mean, {median} in median, {rarely} on a single run, which {beats}."
            )
        return replace(advice, text=f"No version is shown to be the best{among}. {best}")
    text = advice.text
    if not agreed:
        # Only the order on a single run was tested.
        text = f"Run rarely: {rarely}, whose single run {beats}. Run often: observed best are "
        text += f"{mean} in mean and {median} in median; 'speedproof compare' says what is proven of these."
    if any(place.doubts for place in found.places):
        text = f"If the runs were what the tests assume: {text[0].lower()}{text[1:]}"
    return replace(advice, text=text)


def _names(group: tuple[str, ...]) -> tuple[str, str]:
    return ", ".join(group[:-1]), group[-1]

"""Rankings of several versions as text: who is first, what is not told apart, what is doubtful."""

from __future__ import annotations

from collections.abc import Iterator

from speedproof.protocols.assumptions import Assumption
from speedproof.protocols.ranking import RankedRun, RankedVersion, RunRanking, SuiteRanking
from speedproof.protocols.results import Verdict
from speedproof.report.blocks import Block, Cell, Column, Style, Table, Text
from speedproof.report.wording import MARKS, STYLES, bounds, percent, plural

__all__ = ["advice", "place_cell", "ranking_blocks", "separation_blocks"]

_SHORT = {
    Assumption.NORMALITY: "normality",
    Assumption.EQUAL_VARIANCES: "",  # no fault: Welch's test takes over
    Assumption.SHIFT: "shift",
    Assumption.FACTOR: "factor",
    Assumption.TIES: "ties",
    Assumption.NESTING: "nesting",
    Assumption.INDEPENDENCE: "dependence",
    Assumption.SEVERAL_PROCESSES: "one process",
    Assumption.SEVERAL_RUNS: "one run",
    Assumption.UNTOUCHED: "trimmed",
    Assumption.RUN_ORDER: "order",
    Assumption.DRIFT: "drift",
    Assumption.STEADINESS: "warm-up",
    Assumption.POSITIVE_VALUES: "zeros",
    Assumption.TWO_MEASUREMENTS: "same values",
    Assumption.SUCCESSFUL_RUNS: "failed runs",
    Assumption.PLANNED_SIZE: "stopped on it",
    Assumption.ONE_PROGRAM: "two programs",
    Assumption.RESOLUTION: "coarse values",
}
"""A word for each kind of check that did not hold."""


def ranking_blocks(ranking: SuiteRanking, metric: str) -> Iterator[Block]:
    """Who is first, as far as that is proven.

    Parameters
    ----------
    ranking : SuiteRanking
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


def place_cell(version: RankedVersion | RankedRun, *, doubtful: bool) -> Cell:
    """A place, or the range of places that verdicts leave, with the marks that ``compare`` uses.

    Parameters
    ----------
    version : RankedVersion or RankedRun
        What was ranked.
    doubtful : bool
        Whether its runs undermine the verdicts.

    Returns
    -------
    Cell
        ``?`` before the place: not told apart from a neighbour; ``!``: the true risk is unknown.

    Examples
    --------
    >>> from speedproof.stats.estimate import Estimate
    >>> place_cell(RankedVersion("a", Estimate(1.1, 0.9, 1.3, 0.95), 1, 2, tied=True), doubtful=True).text
    '?! 1-2'
    """
    best, worst = version.best_rank, version.worst_rank
    place = str(best) if best == worst else f"{best}-{worst}"
    marks = f"{MARKS[Verdict.UNDECIDED] if version.tied else ''}{'!' if doubtful else ''}"
    style: Style = STYLES[Verdict.UNDECIDED] if marks else ""
    return Cell(f"{marks} {place}".lstrip(), style)


def separation_blocks(found: RunRanking) -> Iterator[Block]:
    """What single runs do not tell apart, and what makes that doubtful.

    Parameters
    ----------
    found : RunRanking
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
            f"  Fewer than {found.least_runs} runs of a version can never tell {len(found.versions)} versions "
            "apart at this risk.",
            "doubt",
        )
    kinds: dict[tuple[str, str], list[str]] = {}
    for place in found.versions:
        for check in place.doubts:
            kinds.setdefault((_SHORT.get(check.kind, check.kind.title), check.message), []).append(
                place.version
            )
    if kinds:
        yield Text(
            "! The runs are not what tests and intervals assume: the true risk is unknown and may be far larger.",
            "doubt",
        )
    for (word, message), versions in kinds.items():
        yield Text(f"  {word} ({', '.join(versions)}): {message}.", "dim")


def advice(found: RunRanking) -> str:
    """Which version to run often, and which rarely (section 8.3 of the report).

    A program that runs often is paid for by its mean (the sum of all runs) or lived with by its median; one that
    runs rarely should win the single run.

    Parameters
    ----------
    found : RunRanking
        Of two versions or more.

    Returns
    -------
    str
        An imperative only where the first place on a single run is proven.

    Examples
    --------
    >>> import numpy as np
    >>> from speedproof.data.sample import Sample
    >>> from speedproof.protocols.ranking import rank_runs
    >>> x = np.linspace(1, 2, 12)
    >>> advice(rank_runs({"a": Sample(x), "b": Sample(x + 0.01)}))
    'No version is shown to be the best. a looks best so far: in mean, ... with probability 54 % (30 % to 77 %).'
    """
    first = found.versions[0]
    mean, median, rarely = found.best_in_mean, found.best_in_median, first.version
    rivals = [v.version for v in found.versions[1:]]
    against = rivals[0] if len(rivals) == 1 else f"each of the {len(rivals)} other versions"
    c = first.chance
    beats = (
        f"beats one run of {against} with probability {100 * c.value:.0f} % "
        f"({100 * c.low:.0f} % to {100 * c.high:.0f} %)"
    )
    agreed = mean == median == rarely
    leading = [v.version for v in found.versions if v.best_rank == 1]
    if leading != [rarely]:
        among = "" if len(leading) == len(found.versions) else f", {' or '.join(leading)} may be"
        if agreed:
            best = f"{mean} looks best so far: in mean, in median, and a single run of it {beats}."
        else:
            best = (
                f"Best so far: {mean} in mean, {median} in median, {rarely} on a single run, which {beats}."
            )
        return f"No version is shown to be the best{among}. {best}"
    if agreed:
        text = f"Run {mean}: it has the best mean and the best median, and a single run of it {beats}."
    else:
        # Only the order on a single run was tested.
        text = f"Run rarely: {rarely}, whose single run {beats}. Run often: observed best are "
        text += f"{mean} in mean and {median} in median; 'speedproof compare' says what is proven of these."
    if any(v.doubts for v in found.versions):
        text = f"If the runs were what the tests assume: {text[0].lower()}{text[1:]}"
    return text


def _names(group: tuple[str, ...]) -> tuple[str, str]:
    return ", ".join(group[:-1]), group[-1]

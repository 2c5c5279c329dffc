"""A bisection in words: the commit, the proof, and what else is known."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from msgspec import Struct

from speedproof.protocols.bisection import BisectionFinding, BisectionOutcome
from speedproof.report.model import Report, Style, Text
from speedproof.report.numbers import factor, percent, plural

_SHOWN = 8


class ToldBisection(Struct, frozen=True):
    """A bisection for other programs; positions in ``finding`` count in ``commits``, oldest first."""

    finding: BisectionFinding
    commits: tuple[str, ...]
    min_change: float


def bisection_report(
    found: BisectionFinding, commits: Sequence[str], min_change: float, file: str = ""
) -> Report:
    """The ending of a bisection: at most ten lines, but for the commits of an open one."""
    return Report(
        "",
        tuple(_headline(found, commits, min_change)),
        notes=tuple(_notes(found, commits)),
        hints=(f"Go on: speedproof bisect --resume {file}",) if file and found.open else (),
        command="bisect",
        data=ToldBisection(found, tuple(commits), min_change),
    )


def _headline(found: BisectionFinding, commits: Sequence[str], min_change: float) -> Iterator[Text]:
    ends = f"{commits[-1]} against {commits[0]}"
    sure = percent(1 - found.alpha)
    if found.outcome is BisectionOutcome.NOTHING:
        yield Text(f"Nothing changed by {percent(min_change)} or more.", "strong")
        yield Text(f"{ends}: {_between(found.change_low, found.change_high)}, proven ({sure} confidence)")
        return
    if found.outcome is BisectionOutcome.UNPROVEN:
        yield Text("Undecided: no change is proven.", "doubt")
        if found.pairs:
            yield Text(f"{ends}: {_between(found.change_low, found.change_high)} ({sure} confidence)")
        return
    slower = found.change > 1
    kind = "slow" if slower else "fast"
    style: Style = "bad" if slower else "good"
    whole = f"{ends}: {_least(found.change, found.change_low, found.change_high)} ({sure} confidence)"
    if found.outcome is BisectionOutcome.CULPRIT and found.culprit is not None and found.parent is not None:
        yield Text(f"{commits[found.culprit]} is the first {kind} commit", style)
        size = _least(found.step, found.step_low, found.step_high)
        yield Text(f"against its parent: {size} ({sure} confidence)")
        yield Text(whole)
        if len(found.credible) > 1:
            yield Text(f"The commits that could hold it ({sure}):")
            yield from _listed(found, commits)
        return
    yield Text(f"The first {kind} commit ({sure}) could be any of:", style)
    yield from _listed(found, commits)
    yield Text(whole)


def _listed(found: BisectionFinding, commits: Sequence[str]) -> Iterator[Text]:
    for i in found.credible[:_SHOWN]:
        yield Text(f"  {commits[i]}{' (left out)' if i in found.skipped else ''}")
    if (more := len(found.credible) - _SHOWN) > 0:
        yield Text(f"  ... {more} more")


def _notes(found: BisectionFinding, commits: Sequence[str]) -> Iterator[Text]:
    if found.more and found.culprit is not None:
        yield Text(
            f"Another change remains: {_between(found.rest_low, found.rest_high)} is not of this commit; "
            "bisect what is before it, and what is after it.",
            "doubt",
        )
    left = f"; {len(found.skipped)} left out" if found.skipped else ""
    yield Text(f"{plural(2 * found.pairs, 'run')} in random pairs, {len(commits)} commits{left}.", "dim")


def _least(change: float, low: float, high: float) -> str:
    """A proven change in its natural direction."""
    if change >= 1:
        return f"{factor(change)} slower, at least {factor(low, -1)}"
    return f"{factor(1 / change)} faster, at least {factor(1 / high, -1)}"


def _between(low: float, high: float) -> str:
    return f"{_side(low)} to {_side(high)}"


def _side(change: float) -> str:
    if change == 0 or math.isinf(change):
        return "unknown"
    return f"{factor(change, 1)} slower" if change >= 1 else f"{factor(1 / change, 1)} faster"


def progress_line(stage: str, found: BisectionFinding) -> str:
    """One line while it is measured."""
    left = f", {plural(len(found.credible), 'commit')} left" if found.credible else ""
    return f"{plural(2 * found.pairs, 'run')} so far; now {stage}{left}"

"""A bisection in words: the commit, the proof, and what else is known."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from speedproof.protocols.bisection import BisectionFinding, BisectionOutcome
from speedproof.protocols.results import inverse
from speedproof.reporting.model import Report, Style, Text
from speedproof.reporting.numbers import factor, percent, plural, rough
from speedproof.reporting.shown import Shown
from speedproof.reporting.words import metric_first, of_metric, span
from speedproof.stats.estimate import Estimate
from speedproof.stats.sequential import FORECAST_FROM

_SHOWN = 8
# Forecasts beyond this many runs say nothing.
_ENDLESS = 1e6
# Bounds that leave no more than this are equality: a bound is found to within its tolerance.
_NOTHING = 1e-9


class ExportedBisection(Struct, frozen=True):
    """A bisection for other programs; positions in ``finding`` count in ``commits``, oldest first."""

    finding: BisectionFinding
    commits: tuple[str, ...]
    min_change: float
    metric: str = "time"


class BisectResult(Shown, ExportedBisection, frozen=True):
    """Which commit changed the speed. ``print`` says it in words.

    Attributes
    ----------
    finding : BisectionFinding
        In numbers; positions count from the oldest commit.
    commits : tuple of str
        Oldest first.
    min_change : float
        What was looked for.
    metric : str
        What decided.
    file : str
        Where the runs are; empty when they were not kept.
    reason : str
        Why it ended; empty when that is not kept.
    varied : bool or None
        Whether every pair had fresh builds; None when nothing was built.
    load : str
        What is to be said of the machine's load; empty when it was idle.

    Examples
    --------
    >>> import speedproof as sp
    >>> seconds = {"v1": 1.0, "a": 1.01, "b": 1.3, "c": 1.31, "v2": 1.3}
    >>> sp.bisect(list(seconds), seconds.__getitem__, seed=1)
    <BisectResult: culprit b>
    """

    command = "bisect"
    file: str = ""
    reason: str = ""
    varied: bool | None = None
    load: str = ""

    @property
    def culprit(self) -> str | None:
        """The commit that changed the speed, confirmed against its parent; None when there is none.

        Where commits just before it could not be measured it may be one of them: :attr:`credible` names all.
        """
        finding = self.finding
        return (
            self.commits[finding.culprit] if finding.outcome.value == "culprit" and finding.culprit else None
        )

    @property
    def credible(self) -> tuple[str, ...]:
        """The fewest commits that hold the change with the confidence asked for, given that there is one."""
        return tuple(self.commits[i] for i in self.finding.credible)

    def exported(self) -> ExportedBisection:
        """The result in the form of the JSON output."""
        return ExportedBisection(self.finding, self.commits, self.min_change, self.metric)

    def reports(self) -> Iterable[Report]:
        """At most ten lines, but for the commits of an open one."""
        first, *more = _headline(self)
        headline = (replace(first, text=f"{metric_first(self.metric)}{first.text}"), *more)
        going_on = self.file and self.finding.open
        hints = (f"Go on: speedproof bisect --resume {shlex.quote(self.file)}",) if going_on else ()
        return [Report("", headline, notes=tuple(_notes(self)), hints=hints)]

    def __repr__(self) -> str:
        return f"<BisectResult: {self.finding.outcome.value}{f' {self.culprit}' if self.culprit else ''}>"


def _headline(answer: BisectResult) -> Iterator[Text]:
    finding, commits, min_change = answer.finding, answer.commits, answer.min_change
    ends = f"{commits[-1]} against {commits[0]}"
    change = f"{ends}: {_between(finding.change_low, finding.change_high, answer.metric)}"
    sure = percent(1 - finding.alpha)
    more = _more_runs(answer)
    if finding.outcome is BisectionOutcome.NOTHING:
        between = len(commits) > 2
        where = " between the ends" if between else ""
        yield Text(f"Nothing changed by {percent(min_change)} or more{where}.", "strong")
        yield Text(f"{change}, proven ({sure} confidence)")
        if between:
            yield Text("Changes that cancel each other are not excluded.", "dim")
        return
    if finding.outcome is BisectionOutcome.UNPROVEN:
        yield Text(f"Undecided: no change is proven{more}.", "warning")
        if finding.change_low > 0 or math.isfinite(finding.change_high):
            yield Text(f"{change} ({sure} confidence)")
        return
    better, worse = of_metric(answer.metric)
    style: Style = "bad" if finding.change > 1 else "good"
    slow, fast = ("slow", "fast") if answer.metric == "time" else (worse, better)
    kind = slow if finding.change > 1 else fast
    if (
        finding.outcome is BisectionOutcome.CULPRIT
        and finding.culprit is not None
        and finding.parent is not None
    ):
        size = _least(finding.step, finding.step_low, finding.step_high, answer)
        if len(finding.credible) == 1:
            yield Text(f"{commits[finding.culprit]} is the first {kind} commit", style)
            yield Text(f"against its parent: {size}")
        else:
            yield Text(f"One of these {len(finding.credible)} is the first {kind} commit:", style)
            yield from _listed(answer, "could not be measured")
            if (finding.parent, finding.culprit) != (0, len(commits) - 1):
                yield Text(f"{commits[finding.culprit]} against {commits[finding.parent]}: {size}")
    else:
        yield Text(f"Undecided: the first {kind} commit is not confirmed{more}.", "warning")
        yield Text(f"The commits that could be it ({sure}):", style)
        yield from _listed(answer, "left out")
    yield Text(f"{ends}: {_least(finding.change, finding.change_low, finding.change_high, answer)}")


def _listed(record: ExportedBisection, skipped: str) -> Iterator[Text]:
    finding = record.finding
    for i in finding.credible[:_SHOWN]:
        yield Text(f"  {record.commits[i]}{f' ({skipped})' if i in finding.skipped else ''}")
    if (more := len(finding.credible) - _SHOWN) > 0:
        yield Text(f"  ... {more} more")


def _more_runs(answer: BisectResult) -> str:
    more = answer.finding.outlook.more_runs if answer.finding.tick <= answer.min_change else 0.0
    if math.isnan(more) or not answer.finding.pairs:
        return f" (from {2 * FORECAST_FROM} {_of_what(answer)} on it says how many more it needs)"
    if not 0 < more < _ENDLESS:
        return ""
    return f" (needs about {rough(math.ceil(more), 1)} more {_of_what(answer)})"


def _of_what(answer: BisectResult) -> str:
    return "builds" if answer.varied else "runs"


def _runs(answer: BisectResult) -> str:
    """The number of runs, or of builds where each run has a build of its own."""
    return plural(2 * answer.finding.pairs, "build" if answer.varied else "run")


def _notes(answer: BisectResult) -> Iterator[Text]:
    finding = answer.finding
    if finding.more:
        likely = f"{percent(finding.second, 2)} likely"
        if finding.unexplained:
            rest, sure = (
                _between(finding.rest_low, finding.rest_high, answer.metric),
                percent(1 - finding.alpha),
            )
            likely = f"{rest} beside this one, {sure} confidence if the load stayed the same"
        yield Text(f"There may be another change ({likely}): bisect before and after this commit.", "warning")
    if finding.open:
        yield from _reasons(answer)
    left = f"; {len(finding.skipped)} left out" if finding.skipped else ""
    how = "paired at random" if answer.varied else "in random pairs"
    yield Text(f"{_runs(answer)} {how}, {len(answer.commits)} commits{left}.", "dim")
    if answer.varied:
        yield Text("Every pair had fresh builds, layouts varied: this is said of the code.", "dim")
    elif answer.varied is False and finding.culprit is not None:
        said = "this is said of these builds; {seed} in --build varies the layout."
        yield Text(f"One build of each commit: {said}", "dim")


def _reasons(answer: BisectResult) -> Iterator[Text]:
    """The reasons why the bisection is still open."""
    finding, outlook = answer.finding, answer.finding.outlook
    if finding.tick > answer.min_change:
        coarse = f"{percent(finding.tick, 2)}, too coarse for a change of {percent(answer.min_change)}"
        cure = "let the program do more, or measure it finer."
        yield Text(f"The times are read in steps of {coarse}: {cure}", "warning")
    elif outlook.noise > 0:
        why = f"{'Builds' if answer.varied else 'Runs'} of one commit scatter by {percent(outlook.noise, 2)}"
        if math.isfinite(outlook.visible):
            why += f": {_runs(answer)} show only changes of {percent(outlook.visible, 2)} or more"
        yield Text(f"{why}.", "warning")
        if math.isfinite(outlook.enough_noise):
            enough = percent(outlook.enough_noise, 2)
            yield Text(
                f"If they scattered by {enough}, {_runs(answer)} would be enough for an answer.", "warning"
            )
    if load := answer.load:
        yield Text(f"{load[0].upper()}{load[1:]}.", "warning")


def _least(change: float, low: float, high: float, record: ExportedBisection) -> str:
    """A change in its natural direction, with what is proven of it."""
    better, worse = of_metric(record.metric)
    size, least, kind = (change, low, worse) if change >= 1 else (1 / change, 1 / high, better)
    sure = f"({percent(1 - record.finding.alpha)} confidence)"
    if least < 1:
        return f"about {factor(size)} {kind}"
    if least - 1 <= _NOTHING:
        return f"{factor(size)} {kind}, too coarsely timed for a bound {sure}"
    return f"{factor(size)} {kind}, at least {factor(least, -1)} {sure}"


def _between(low: float, high: float, metric: str) -> str:
    """Between which factors the last commit differs from the first."""
    if max(abs(low - 1), abs(high - 1)) <= _NOTHING:
        return "equal"
    return span(Estimate(math.nan, inverse(high), inverse(low), math.nan), *of_metric(metric))


def progress_line(stage: str, finding: BisectionFinding) -> str:
    """One line while it is measured."""
    left = f", {plural(len(finding.credible), 'commit')} left" if finding.credible else ""
    return f"{plural(2 * finding.pairs, 'run')} so far; now {stage}{left}"

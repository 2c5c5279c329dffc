"""What a session takes, tells while it runs, and finds."""

from __future__ import annotations

from dataclasses import dataclass, field

from speedproof.data.session_file import PlannedBenchmark
from speedproof.measure.execute import Run
from speedproof.measure.race import Finding, Race

__all__ = ["Circumstances", "Outcome", "Progress", "Tally", "Warmup"]


@dataclass(frozen=True, slots=True)
class Warmup:
    """Runs before those that count.

    Attributes
    ----------
    rounds : int or None
        How many of every version; None for "until steady": until, for no version, the median time of the
        last three rounds is less than 98 % of that of the three before, at most 30 rounds.
    """

    rounds: int | None = 1


@dataclass(frozen=True, slots=True)
class Progress:
    """What a watcher is told after each run.

    Attributes
    ----------
    benchmark : PlannedBenchmark
        What is measured.
    version : str
        What ran.
    run : Run
        Its measurements.
    warmup : bool
        Whether it was a warm-up run.
    elapsed : float
        Seconds since the benchmark's start.
    race : Race
        The comparisons so far; blocks under way not included.
    """

    benchmark: PlannedBenchmark
    version: str
    run: Run
    warmup: bool
    elapsed: float
    race: Race


@dataclass(slots=True)
class Tally:
    """What became of the runs of one version of one benchmark, warm-up not counted.

    Attributes
    ----------
    benchmark, version : str
        Whose.
    runs : int
        All of them, those of sessions that this one goes on with included.
    failed : int
        Ended with an error or by the time-out, and left out.
    lacking : int
        Succeeded, but lacked the deciding metric, and left out.
    left_behind : int
        Runs that left processes running.
    metrics : tuple of str
        Every metric that some run had, in order of appearance.
    absent : dict of str to str
        Metrics that were asked for and that a run of this session lacked, and why the first of them did.
    """

    benchmark: str
    version: str
    runs: int = 0
    failed: int = 0
    lacking: int = 0
    left_behind: int = 0
    metrics: tuple[str, ...] = ()
    absent: dict[str, str] = field(default_factory=dict)

    @property
    def useless(self) -> bool:
        """Whether there were runs and not one of them counts."""
        return 0 < self.runs == self.failed + self.lacking


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a session found.

    Attributes
    ----------
    findings : tuple of Finding
        For every candidate of every benchmark that was measured.
    reasons : tuple of (str, str)
        Why each benchmark ended.
    interrupted : bool
        Whether Ctrl-C ended the session.
    tallies : tuple of Tally
        What became of the runs, for every version of every benchmark that was measured.
    on_result : dict of str to tuple of str
        By benchmark, the candidates that were measured no longer because of what was seen of them.
    changed : dict of str to tuple of str
        By benchmark, the versions whose program was replaced during the session.
    unfinished : tuple of str
        Cleanups that did not end well, in sentences.
    """

    findings: tuple[Finding, ...]
    reasons: tuple[tuple[str, str], ...]
    interrupted: bool
    tallies: tuple[Tally, ...]
    on_result: dict[str, tuple[str, ...]]
    changed: dict[str, tuple[str, ...]]
    unfinished: tuple[str, ...] = ()

    @property
    def fruitless(self) -> tuple[Tally, ...]:
        """The versions of which not one run counts."""
        return tuple(tally for tally in self.tallies if tally.useless)


@dataclass(frozen=True, slots=True)
class Circumstances:
    """How findings came to be, for readers of JSON.

    Attributes
    ----------
    file : str
        The results file.
    sessions : tuple of str
        The sessions in it that the findings rest on.
    metric : str
        What was compared.
    risk : float
        Of each side of a benchmark, for all its candidates together.
    margin, precision : float or None
        As asked for.
    reasons : dict of str to str
        By benchmark, why measuring ended; empty when it was only looked at again.
    interrupted : bool
        Whether a signal ended it.
    tallies : tuple of Tally
        What became of the runs.
    """

    file: str
    sessions: tuple[str, ...]
    metric: str
    risk: float
    margin: float | None
    precision: float | None
    reasons: dict[str, str]
    interrupted: bool
    tallies: tuple[Tally, ...]

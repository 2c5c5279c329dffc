"""What a session takes, tells while it runs, and leaves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct, field

from speedproof.data.session_file import PlannedBenchmark, RunLine
from speedproof.measuring.execute import Run


class Decider(Protocol):
    """Who says when a benchmark has been measured enough; measuring itself decides nothing."""

    @property
    def blocks(self) -> int:
        """How many blocks it was given."""

    @property
    def runners(self) -> tuple[str, ...]:
        """The versions of the next block: the reference, and the candidates that are still there."""

    def add(self, block: Mapping[str, float]) -> None:
        """Take the values of a block, by version."""

    def drop(self, candidate: str, reason: str) -> None:
        """Let a candidate leave for a reason that is none of its values."""

    def stopped(self) -> tuple[str, ...]:
        """The candidates that left because of their values."""


class Limits(Struct, frozen=True):
    """What ends a benchmark whatever was found."""

    max_blocks: int | None  # blocks after which it ends
    max_time: float | None  # seconds of one session, shared by those that are open
    in_rounds: bool = False  # whether benchmarks take turns, instead of one after the other


class Progress(Struct, frozen=True):
    """What a watcher is told after each run."""

    benchmark: PlannedBenchmark  # what is measured
    version: str  # what ran
    run: Run  # its measurements
    warmup: bool  # whether it was a warm-up run
    elapsed: float  # seconds since the benchmark's start
    together: int  # how many benchmarks are measured at once, and open


class Tally(Struct):
    """What became of the runs of one version of one benchmark, warm-up not counted."""

    # Whose
    benchmark: str
    version: str
    runs: int = 0  # all of them, those of sessions that this one goes on with included
    failed: int = 0  # ended with an error or by the time-out, and left out
    lacking: int = 0  # succeeded, but lacked the deciding metric, and left out
    left_behind: int = 0  # runs that left processes running
    metrics: tuple[str, ...] = ()  # every metric that some run had, in order of appearance
    # Metrics that were asked for and that a run of this session lacked, and why the first of them did
    absent: dict[str, str] = field(default_factory=dict)

    def count(self, run: Run | RunLine, *, deciding: bool) -> None:
        """Take note of a run."""
        self.runs += 1
        self.failed += run.failed
        self.lacking += not run.failed and not deciding
        self.left_behind += run.left_behind > 0
        self.metrics = tuple(dict.fromkeys((*self.metrics, *run.metrics)))

    @property
    def useless(self) -> bool:
        """Whether there were runs and not one of them counts."""
        return 0 < self.runs == self.failed + self.lacking


class Measured(Struct, frozen=True):
    """How a session went."""

    reasons: tuple[tuple[str, str], ...]  # benchmark, and why it ended
    interrupted: bool  # whether Ctrl-C ended the session
    # What became of the runs, for every version of every benchmark that was measured
    tallies: tuple[Tally, ...]
    # By benchmark, the candidates that were measured no longer because of what was seen of them
    on_result: dict[str, tuple[str, ...]]
    # By benchmark, the versions whose program was replaced during the session
    changed: dict[str, tuple[str, ...]]
    unfinished: tuple[str, ...] = ()  # cleanups that did not end well, in sentences
    # By benchmark, how many blocks of earlier sessions were cut short, and how many there were
    cut: dict[str, int] = field(default_factory=dict)
    recalled: dict[str, int] = field(default_factory=dict)
    # By benchmark, the candidates that lack it, or were not built
    absent: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def fruitless(self) -> tuple[Tally, ...]:
        """The versions of which not one run counts."""
        return tuple(tally for tally in self.tallies if tally.useless)

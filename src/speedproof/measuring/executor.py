"""The executor of real commands: hooks around each run, and every metric that was asked for."""

from __future__ import annotations

import os
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from speedproof.data.session_file import PlannedVersion
from speedproof.measuring.execute import Job, Run, RunError, execute, shell_command
from speedproof.measuring.metrics import Energy, OutputMetric, PerfStat

_SHELL_TRIALS = 20


class CommandExecutor(Struct, frozen=True):
    """Executes commands."""

    stdin: str = os.devnull  # file for their standard input
    capture: bool = False  # keep standard output; metrics read from it
    timeout: float | None = None  # seconds, for each run and each command around it
    output_metrics: tuple[OutputMetric, ...] = ()  # read from the output
    perf: PerfStat | None = None  # counters
    energy: Energy | None = None  # package energy
    jobs: dict[tuple[object, ...], Job] = field(default_factory=dict)  # of versions that have run

    def begin(self, version: PlannedVersion) -> None:
        """Carry out the setup command, which may bring the programs."""
        self.jobs.clear()
        self._carry_out("setup", version)

    def finish(self, version: PlannedVersion) -> None:
        """Carry out the cleanup command."""
        self._carry_out("cleanup", version)

    def measure(self, version: PlannedVersion) -> Run:
        """Prepare, run once, conclude; only the run itself is measured."""
        self._carry_out("prepare", version)
        place = version.command, version.cwd, *version.env.items()
        if (job := self.jobs.get(place)) is None:
            job = self._job(version.command, version, self.stdin, capture=self.capture)
            job = self.jobs[place] = (job if self.perf is None else self.perf.wrap(job)).prepared()
        before = self.energy.read() if self.energy is not None else ()
        run = execute(job)
        if not run.failed:
            counted = run.metrics if self.perf is None else self.perf.read()
            values = {metric.name: metric.read(run) for metric in self.output_metrics}
            if self.energy is not None:
                values["energy"] = self.energy.used(before, self.energy.read())
            had = {name: value for name, value in values.items() if value is not None}
            run = replace(run, metrics={**counted, **had})
        self._carry_out("conclude", version)
        return run

    def _carry_out(
        self, hook: Literal["setup", "prepare", "conclude", "cleanup"], version: PlannedVersion
    ) -> None:
        """A command of the user's that is not measured."""
        if text := getattr(version, hook):
            run = execute(self._job(shell_command(text), version, os.devnull, capture=True))
            if run.failed:
                raise RunError(f"{hook} command {text!r} {run.describe_failure()}")

    def _job(self, command: tuple[str, ...], version: PlannedVersion, stdin: str, *, capture: bool) -> Job:
        return Job(command, version.env, version.cwd, stdin, capture, self.timeout)

    def explain(self, run: Run, metric: str) -> str:
        """Say why a run has no value of a metric; empty when nothing is known."""
        if metric == "memory":
            return "it needs less memory than the runner itself, which hides its peak"
        return next((own.explain(run) for own in self.output_metrics if own.name == metric), "")


def shell_start(command: tuple[str, ...]) -> float:
    """Median seconds that a shell needs to do nothing."""
    times = sorted(execute(Job(command)).metrics["time"] for _ in range(_SHELL_TRIALS))
    return times[_SHELL_TRIALS // 2]

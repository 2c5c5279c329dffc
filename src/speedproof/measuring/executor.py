"""The executor of real commands: hooks around each run, and every metric that was asked for.

Metrics beyond the clock (numbers in a program's own output, hardware counters, energy) are *extensions* of a run:
one may change the job before and add metrics after. One that this machine cannot offer is not made at all;
:func:`perf_counters` and :func:`energy_meter` say why.
"""

from __future__ import annotations

import math
import os
import re
import resource
import shutil
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from speedproof.data.session_file import PlannedVersion
from speedproof.data.units import PROCESSOR_TIMES, Direction, Unit, direction_of, parse_unit
from speedproof.errors import UsageError
from speedproof.measuring.execute import Job, Run, RunError, execute, execute_some, shell_command
from speedproof.measuring.runs import Executor, RunEnd, Wanted
from speedproof.options import quantile_of

ACCOUNTED = (
    *PROCESSOR_TIMES, "memory", "minor-faults", "major-faults", "voluntary-switches", "involuntary-switches",
)  # fmt: skip
"""The metrics beside time that the kernel accounts to a child process."""
# The wall time of the program alone, in nanoseconds: a count that perf keeps itself, on every machine.
_DURATION = "duration_time"
CPU_CLOCK = "task-clock"
"""The event that counts processor time, in milliseconds, by no tick."""
_METRIC = re.compile(
    r"(?P<name>[\w.-]+)(?::(?P<unit>(?!(?:lower|higher)=)[^:=]*))?(?::(?P<direction>lower|higher))?=(?P<regex>.+)"
)
_GROUPED = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d*)?")


class OutputMetric(Struct, frozen=True):
    """A number that the program prints."""

    name: str  # the metric
    # Its first group (the whole match without one) is the number; the last match counts
    pattern: re.Pattern[str]
    unit: Unit  # as it is printed
    direction: Direction  # which values are good

    def read(self, run: Run) -> float | None:
        """The value of a run in base units; None when its output does not have it."""
        match = self._last_match(run)
        number = _number(self._found(match)) if match is not None else None
        return None if number is None else self.unit.convert(number)

    def explain(self, run: Run) -> str:
        """Why a run has no value; empty if it has one."""
        match = self._last_match(run)
        where = f"--metric {self.name}"
        if match is None:
            return f"{where}: nothing in the output matches {self.pattern.pattern!r}"
        text = self._found(match)
        if _number(text) is not None:
            return ""
        if not self.pattern.groups:
            return f"{where}: its last match {match[0]!r} is no number; put the digits in brackets: (...)"
        if not text:
            return f"{where}: the first brackets of {self.pattern.pattern!r} match nothing in {match[0]!r}"
        return f"{where}: {text!r}, in its last match {match[0]!r}, is no number"

    def _last_match(self, run: Run) -> re.Match[str] | None:
        text = (run.stdout + run.stderr).decode(errors="replace")
        last = deque(self.pattern.finditer(text), maxlen=1)
        return last[0] if last else None

    def _found(self, match: re.Match[str]) -> str:
        # A group that took no part in the match is None.
        text: str | None = match[1 if self.pattern.groups else 0]
        return text or ""


def _number(text: str) -> float | None:
    """A finite number; commas only between groups of three digits: 1,5 is not 15."""
    text = text.strip().rstrip(",")
    if _GROUPED.fullmatch(text):
        text = text.replace(",", "")
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def check_names(metrics: Sequence[OutputMetric], events: Sequence[str]) -> None:
    """Refuse a metric with a name that is taken: one of the two would be lost, or pass for the other."""
    seen: set[str] = set()
    for metric in metrics:
        name = metric.name
        if name in ("time", "energy", *ACCOUNTED):
            raise UsageError(f"--metric {name}: the runner measures that itself; choose another name")
        if quantile_of(name) is not None:
            raise UsageError(f"--metric {name}: that is a percentile of the runs; choose another name")
        if name in events:
            raise UsageError(f"--metric {name}: a counter of --perf has that name; choose another one")
        if name in seen:
            raise UsageError(f"--metric {name}: given twice; a second one needs another name")
        seen.add(name)


def check_decider(metric: str | None, known: Sequence[str]) -> None:
    """See to it that the metric that decides is measured."""
    if (metric or "time") not in known:
        raise UsageError(f"--decide-by {metric}: no such metric; available: {', '.join(known)}")


def parse_metric(text: str) -> OutputMetric:
    """Parse ``NAME[:UNIT][:lower|higher]=REGEX``."""
    match = _METRIC.fullmatch(text)
    if match is None:
        raise UsageError(f"--metric {text!r} is not of the form NAME[:UNIT][:lower|higher]=REGEX")
    try:
        pattern = re.compile(match["regex"], re.MULTILINE)
    except re.error as error:
        raise UsageError(f"--metric {match['name']}: {error} in {match['regex']!r}") from None
    unit = parse_unit(match["unit"] or "")
    direction = (
        Direction(match["direction"]) if match["direction"] else direction_of(unit.base, match["name"])
    )
    return OutputMetric(match["name"], pattern, unit, direction)


class PerfStat(Struct, frozen=True):
    """Counters of ``perf stat``, which starts the program and takes its time.

    What the kernel accounts to the child is then mostly perf's own, so the counters replace it.
    """

    events: tuple[str, ...]  # as ``perf list`` names them
    path: Path  # file that perf writes to
    program: str = "perf"  # path of perf, which a version's PATH may lack

    def wrap(self, job: Job) -> Job:
        """The job under perf."""
        events = ",".join((_DURATION, *self.events))
        prefix = (self.program, "stat", "-x", ";", "-o", str(self.path), "-e", events, "--")
        return replace(job, command=prefix + job.command, program="")

    def read(self) -> dict[str, float]:
        """The counters of the last run and its ``time``; what was not counted is absent."""
        values: dict[str, float] = {}
        for line in self.path.read_text().splitlines():
            fields = line.split(";")
            if len(fields) > 2 and fields[0].replace(".", "", 1).isdigit():
                values[fields[2]] = float(fields[0])
        if _DURATION in values:
            values["time"] = values.pop(_DURATION) / 1e9
        if CPU_CLOCK in values:
            values["cpu"] = values[CPU_CLOCK] / 1e3
        return values


def perf_counters(events: Sequence[str], path: Path) -> tuple[PerfStat | None, str]:
    """Find out which counters this machine offers, with one run of ``true``."""
    program = shutil.which("perf")
    if program is None:
        return None, "perf is not installed: no counters"

    def counting(working: Sequence[str]) -> PerfStat | None:
        return PerfStat(tuple(working), path, program) if working else None

    stat = PerfStat(tuple(events), path, program)
    trial = execute(stat.wrap(Job(("true",))))
    if trial.failed and b"syntax error" in trial.stderr:
        if len(events) > 1:  # one that it does not know, and perf counts none of them
            each = [perf_counters([event], path) for event in events]
            messages = "; ".join(message for _, message in each if message)
            return counting([event for counter, _ in each if counter for event in counter.events]), messages
        complaint = trial.stderr.decode(errors="replace").strip().splitlines()[0]
        return None, f"perf does not know {events[0]!r} ({complaint}); 'perf list' shows what it can count"
    counts = stat.read() if not trial.failed and path.exists() else {}
    absent = [event for event in events if event not in counts]
    if not absent:
        return stat, ""
    level = Path("/proc/sys/kernel/perf_event_paranoid")
    paranoid = level.read_text().strip() if level.exists() else "absent"
    message = (
        f"perf cannot count {', '.join(absent)} here (perf_event_paranoid is {paranoid}, 1 or less is needed; "
        "virtual machines often offer none)"
    )
    return counting([event for event in events if event in counts]), message


def whole_ticks(usage: resource.struct_rusage) -> bool:
    """Whether processor time is counted in ticks of a millisecond or more, by that of a process with some."""
    return round(1e6 * (usage.ru_utime + usage.ru_stime)) % 1000 == 0


class Energy(Struct, frozen=True):
    """Energy of the processor packages, from the kernel's RAPL counters; the whole machine's, not the child's."""

    counters: tuple[tuple[Path, float], ...]  # files that count microjoules, and where each wraps

    def read(self) -> tuple[float, ...]:
        """The counters now, in microjoules."""
        return tuple(float(path.read_text()) for path, _ in self.counters)

    def used(self, before: Sequence[float], after: Sequence[float]) -> float:
        """Joules between two readings; a counter may have wrapped once."""
        return 1e-6 * sum(
            (b - a) % wrap for a, b, (_, wrap) in zip(before, after, self.counters, strict=True)
        )


def energy_meter(root: Path = Path("/sys/class/powercap")) -> tuple[Energy | None, str]:
    """Find the package energy counters."""
    counters = []
    for zone in sorted(root.glob("intel-rapl:*")):
        # "intel-rapl:0" is a package, "intel-rapl:0:1" a part of it that would be counted twice.
        if zone.name.count(":") != 1:
            continue
        try:
            path, wrap = zone / "energy_uj", float((zone / "max_energy_range_uj").read_text())
            path.read_text()
        except PermissionError:
            return None, f"energy: {zone}/energy_uj is readable by root only; chmod o+r it, or run as root"
        except OSError:
            continue
        counters.append((path, wrap))
    if not counters:
        return None, "energy: this machine shows no RAPL counters"
    return Energy(tuple(counters)), ""


def units_of(metrics: Sequence[OutputMetric], perf: PerfStat | None) -> Mapping[str, tuple[str, str]]:
    """Unit and direction of every extra metric, for the head of a session."""
    units = {metric.name: (metric.unit.base, metric.direction.value) for metric in metrics}
    for event in perf.events if perf else ():
        units[event] = ("cycles" if event.startswith("cycles") else "", "lower")
    return units


_SHELL_TRIALS = 20


class CommandExecutor(Executor, Struct, frozen=True):
    """Executes commands."""

    stdin: str = os.devnull  # file for their standard input
    capture: bool = False  # keep standard output; metrics read from it
    timeout: float | None = None  # seconds, for each run and each command around it
    output_metrics: tuple[OutputMetric, ...] = ()  # read from the output
    perf: PerfStat | None = None  # counters
    energy: Energy | None = None  # package energy
    jobs: dict[tuple[object, ...], Job] = field(default_factory=dict)  # of versions that have run

    @property
    def printed(self) -> tuple[str, ...]:
        """Metrics that the program is to print."""
        return tuple(metric.name for metric in self.output_metrics)

    def begin(self, version: PlannedVersion) -> None:
        """Carry out the setup command, which may bring the programs."""
        self.jobs.clear()
        self._carry_out("setup", version)

    def finish(self, version: PlannedVersion) -> None:
        """Carry out the cleanup command."""
        self._carry_out("cleanup", version)

    def execute(
        self, wanted: Sequence[Wanted], seconds: float, clock: Callable[[], float], outcomes: list[RunEnd]
    ) -> None:
        """Several, where there is nothing to do between them."""
        versions = {each.version.name: each.version for each in wanted}
        hooks = any(version.prepare or version.conclude for version in versions.values())
        reading = self.capture or self.perf or self.energy or self.stdin != os.devnull
        if len(wanted) == 1 or hooks or reading or clock is not time.monotonic:
            Executor.execute(self, wanted, seconds, clock, outcomes)
            return
        jobs = {name: self._prepared(version) for name, version in versions.items()}
        *times, run = execute_some([jobs[each.version.name] for each in wanted], seconds, outcomes)
        outcomes.append((*times, dict.fromkeys(wanted[len(outcomes)].names, run)))

    def _prepared(self, version: PlannedVersion) -> Job:
        """The prepared job of a version, shared by its runs."""
        place = version.command, version.cwd, *version.env.items()
        if (job := self.jobs.get(place)) is None:
            job = self._job(version.command, version, self.stdin, capture=self.capture)
            job = self.jobs[place] = (job if self.perf is None else self.perf.wrap(job)).prepared()
        return job

    def measure(self, version: PlannedVersion) -> Run:
        """Prepare, run once, conclude; only the run itself is measured."""
        if version.prepare:
            self._carry_out("prepare", version)
        before = self.energy.read() if self.energy is not None else ()
        run = execute(self._prepared(version))
        if not run.failed and (self.output_metrics or self.perf or self.energy):
            counted = run.metrics if self.perf is None else self.perf.read()
            values = {metric.name: metric.read(run) for metric in self.output_metrics}
            if self.energy is not None:
                values["energy"] = self.energy.used(before, self.energy.read())
            had = {name: value for name, value in values.items() if value is not None}
            run = replace(run, metrics={**counted, **had})
        if version.conclude:
            self._carry_out("conclude", version)
        return run

    def _carry_out(
        self, hook: Literal["setup", "prepare", "conclude", "cleanup"], version: PlannedVersion
    ) -> None:
        """Run a command of the user's without measuring it."""
        if text := getattr(version, hook):
            run = execute(self._job(shell_command(text), version, os.devnull, capture=True))
            if run.failed:
                raise RunError(f"{hook} command {text!r} {run.describe_failure()}")

    def _job(self, command: tuple[str, ...], version: PlannedVersion, stdin: str, *, capture: bool) -> Job:
        return Job(command, version.env, version.cwd, stdin, capture, self.timeout)

    def explain(self, run: Run, metric: str) -> str:
        """Why a run has no value of a metric; empty if unknown."""
        if metric == "memory":
            return "it needs less memory than the runner itself, which hides its peak"
        return next((output.explain(run) for output in self.output_metrics if output.name == metric), "")


def shell_start(command: tuple[str, ...]) -> float:
    """Median seconds that a shell needs to do nothing."""
    times = sorted(execute(Job(command)).metrics["time"] for _ in range(_SHELL_TRIALS))
    return times[_SHELL_TRIALS // 2]

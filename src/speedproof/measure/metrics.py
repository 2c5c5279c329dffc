"""Metrics beyond the clock: numbers in a program's own output, hardware counters, energy.

Each is an *extension* of a run: it may change the job before and add metrics after. One that this machine
cannot offer is not made at all; :func:`perf_counters` and :func:`energy_meter` say why.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from speedproof.data.units import Direction, direction_of, parse_unit
from speedproof.errors import UsageError
from speedproof.measure.execute import Job, Run, execute

__all__ = ["Energy", "OutputMetric", "PerfStat", "energy_meter", "parse_metric", "perf_counters", "units_of"]

# The wall time of the program alone, in nanoseconds: a count that perf keeps itself, on every machine.
_DURATION = "duration_time"
_METRIC = re.compile(
    r"(?P<name>[\w.-]+)(?::(?P<unit>[^:=]*))?(?::(?P<direction>lower|higher))?=(?P<regex>.+)"
)


@dataclass(frozen=True, slots=True)
class OutputMetric:
    """A number that the program prints.

    Attributes
    ----------
    name : str
        The metric.
    pattern : re.Pattern
        Its first group (the whole match without one) is the number; the last match counts.
    unit : str
        Base unit.
    factor : float
        Base units per printed unit.
    direction : Direction
        Which values are good.
    """

    name: str
    pattern: re.Pattern[str]
    unit: str
    factor: float
    direction: Direction

    def read(self, run: Run) -> float | None:
        """The value of a run in base units; None when its output does not have it."""
        text = (run.stdout + run.stderr).decode(errors="replace")
        matches = list(self.pattern.finditer(text))
        if not matches:
            return None
        # A group that took no part in the match is None.
        found: str | None = matches[-1][1 if self.pattern.groups else 0]
        try:
            return float((found or "").replace(",", "")) * self.factor
        except ValueError:
            return None


def parse_metric(text: str) -> OutputMetric:
    """Parse ``NAME[:UNIT[:lower|higher]]=REGEX``.

    Parameters
    ----------
    text : str
        As the user wrote it.

    Returns
    -------
    OutputMetric
        Rates (``ops/s``) are better high and all else low, unless the direction is given.

    Raises
    ------
    UsageError
        Another form, or an expression that is not one.

    Examples
    --------
    >>> m = parse_metric(r"score:ops/s=Score: ([0-9.]+)")
    >>> m.direction.value, m.read(Run({}, stdout=b"Score: 12.5"))
    ('higher', 12.5)
    """
    match = _METRIC.fullmatch(text)
    if match is None:
        raise UsageError(f"--metric {text!r} is not of the form NAME[:UNIT[:lower|higher]]=REGEX")
    try:
        pattern = re.compile(match["regex"], re.MULTILINE)
    except re.error as error:
        raise UsageError(f"--metric {match['name']}: {error} in {match['regex']!r}") from None
    unit = parse_unit(match["unit"] or "")
    direction = Direction(match["direction"]) if match["direction"] else direction_of(unit.base)
    return OutputMetric(match["name"], pattern, unit.base, unit.factor, direction)


@dataclass(frozen=True, slots=True)
class PerfStat:
    """Counters of ``perf stat``, which starts the program and takes its time.

    What the kernel accounts to the child is then mostly perf's own, so the counters replace it.

    Attributes
    ----------
    events : tuple of str
        As ``perf list`` names them.
    path : Path
        File that perf writes to.
    program : str
        Where perf is; a version's own PATH need not have it.
    """

    events: tuple[str, ...]
    path: Path
    program: str = "perf"

    def wrap(self, job: Job) -> Job:
        """The job under perf."""
        events = ",".join((_DURATION, *self.events))
        prefix = (self.program, "stat", "-x", ";", "-o", str(self.path), "-e", events, "--")
        return replace(job, command=prefix + job.command)

    def read(self) -> dict[str, float]:
        """The counters of the last run and its ``time``; what was not counted is absent."""
        values: dict[str, float] = {}
        for line in self.path.read_text().splitlines():
            fields = line.split(";")
            if len(fields) > 2 and fields[0].replace(".", "", 1).isdigit():
                values[fields[2]] = float(fields[0])
        if _DURATION in values:
            values["time"] = values.pop(_DURATION) / 1e9
        return values


def perf_counters(events: Sequence[str], path: Path) -> tuple[PerfStat | None, str]:
    """Find out which counters this machine offers, with one run of ``true``.

    Parameters
    ----------
    events : sequence of str
        What is asked for.
    path : Path
        A file for perf to write to.

    Returns
    -------
    PerfStat or None, str
        The counters that work, and what is absent and why (empty when nothing is).
    """
    program = shutil.which("perf")
    if program is None:
        return None, "perf is not installed: no counters"
    stat = PerfStat(tuple(events), path, program)
    trial = execute(stat.wrap(Job(("true",), capture=True)))
    found = stat.read() if not trial.failed and path.exists() else {}
    working = tuple(event for event in events if event in found)
    absent = [event for event in events if event not in found]
    if not absent:
        return stat, ""
    level = Path("/proc/sys/kernel/perf_event_paranoid")
    paranoid = level.read_text().strip() if level.exists() else "absent"
    message = (
        f"perf cannot count {', '.join(absent)} here (perf_event_paranoid is {paranoid}, 1 or less is needed; "
        "virtual machines often offer none)"
    )
    return (PerfStat(working, path, program) if working else None), message


@dataclass(frozen=True, slots=True)
class Energy:
    """Energy of the processor packages, from the kernel's RAPL counters; the whole machine's, not the child's.

    Attributes
    ----------
    counters : tuple of (Path, float)
        Files that count microjoules, and where each wraps.
    """

    counters: tuple[tuple[Path, float], ...]

    def read(self) -> tuple[float, ...]:
        """The counters now, in microjoules."""
        return tuple(float(path.read_text()) for path, _ in self.counters)

    def used(self, before: Sequence[float], after: Sequence[float]) -> float:
        """Joules between two readings; a counter may have wrapped once."""
        return 1e-6 * sum(
            (b - a) % wrap for a, b, (_, wrap) in zip(before, after, self.counters, strict=True)
        )


def energy_meter(root: Path = Path("/sys/class/powercap")) -> tuple[Energy | None, str]:
    """Find the package energy counters.

    Parameters
    ----------
    root : Path
        The kernel's power-capping tree.

    Returns
    -------
    Energy or None, str
        The meter, or why there is none.
    """
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
    units = {metric.name: (metric.unit, metric.direction.value) for metric in metrics}
    for event in perf.events if perf else ():
        units[event] = ("cycles" if event.startswith("cycles") else "", "lower")
    return units

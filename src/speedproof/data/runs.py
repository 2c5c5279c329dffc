"""The lines of a results file: what one session of measuring stores, in the order in which it happened.

The file is JSON Lines. Every line is one object whose ``type`` says which of these structures it is; files of
several sessions may be joined with ``cat``. Lines are only ever appended. Unknown members are ignored, so a
newer program may add some; a change that an older program would misread raises :data:`SCHEMA`.
"""

from __future__ import annotations

import msgspec

__all__ = ["SCHEMA", "EndLine", "Line", "PlannedBenchmark", "PlannedVersion", "RunLine", "SessionLine"]

SCHEMA = 1


class PlannedVersion(msgspec.Struct, frozen=True, omit_defaults=True):
    """One version of one benchmark: what is executed.

    Attributes
    ----------
    name : str
        The version.
    command : tuple of str
        Program and arguments.
    text : str
        The command as the user wrote it.
    env : dict
        Variables added to the environment.
    cwd : str
        Working directory; empty for that of the runner.
    setup, prepare, conclude, cleanup : str
        Shell commands: once before all runs, before and after each run, once after all.
    """

    name: str
    command: tuple[str, ...]
    text: str
    env: dict[str, str] = {}
    cwd: str = ""
    setup: str = ""
    prepare: str = ""
    conclude: str = ""
    cleanup: str = ""


class PlannedBenchmark(msgspec.Struct, frozen=True, omit_defaults=True):
    """One benchmark: its versions, the reference first.

    Attributes
    ----------
    name : str
        The benchmark.
    versions : tuple of PlannedVersion
        At least one; the first is the reference.
    parameters : dict
        Values of ``-L`` or of the suite's ``parameters`` that this benchmark stands for.
    """

    name: str
    versions: tuple[PlannedVersion, ...]
    parameters: dict[str, str] = {}


class SessionLine(msgspec.Struct, frozen=True, tag="session", omit_defaults=True):
    """The first line of a session.

    Attributes
    ----------
    schema : int
        Version of this format.
    session : str
        Unique name; every other line repeats it.
    started : str
        Date and time, ISO 8601 with zone.
    seed : int
        Of the order within blocks.
    benchmarks : tuple of PlannedBenchmark
        What is measured.
    units : dict
        Unit and direction of each metric beyond the built-in ones, ``{"score": ("ops/s", "higher")}``.
    options : dict
        The options of the session as text, for the reader.
    environment : dict
        The machine, see :mod:`speedproof.measure.environment`.
    warnings : tuple of str
        What may disturb the measurements.
    files : dict
        What the commands consist of, by path: :mod:`speedproof.measure.programs` says how a file is known again.
    resumes : tuple of str
        The sessions, oldest first, that this one went on with; all are one experiment.
    """

    schema: int
    session: str
    started: str
    seed: int
    benchmarks: tuple[PlannedBenchmark, ...]
    units: dict[str, tuple[str, str]] = {}
    options: dict[str, str] = {}
    environment: dict[str, str] = {}
    warnings: tuple[str, ...] = ()
    files: dict[str, str] = {}
    resumes: tuple[str, ...] = ()

    @property
    def experiment(self) -> str:
        """What sessions that went on with each other share: the name of the first."""
        return self.resumes[0] if self.resumes else self.session


class RunLine(msgspec.Struct, frozen=True, tag="run", omit_defaults=True):
    """One run of one version.

    Attributes
    ----------
    session, benchmark, version : str
        What ran.
    block : int
        From 0; warm-up rounds count apart.
    position : int
        Place within the block, from 0.
    at : float
        Seconds from the session's start to the run's.
    metrics : dict
        Values in base units: ``time``, ``user``, ``system``, ``memory``, ``minor-faults``, ...
    exit : int
        Exit code; minus the signal that ended the process.
    timed_out : bool
        Whether the runner ended it.
    warmup : bool
        Whether the run only warmed the machine up; such runs decide nothing.
    left_behind : int
        Processes of the command that went on when it had ended.
    """

    session: str
    benchmark: str
    version: str
    block: int
    position: int
    at: float
    metrics: dict[str, float]
    exit: int = 0
    timed_out: bool = False
    warmup: bool = False
    left_behind: int = 0


class EndLine(msgspec.Struct, frozen=True, tag="end", omit_defaults=True):
    """The last line of a session that was not killed.

    Attributes
    ----------
    session : str
        Its name.
    reason : str
        Why it ended.
    on_result : dict
        By benchmark, the candidates that were measured no longer because of what their own values showed, in
        the order of the plan; so the sizes of their samples were not fixed beforehand.
    changed : dict
        By benchmark, the versions whose program was another one at the end than at the start.
    """

    session: str
    reason: str
    on_result: dict[str, tuple[str, ...]] = {}
    changed: dict[str, tuple[str, ...]] = {}


Line = SessionLine | RunLine | EndLine

"""What to measure: from commands and parameter lists, or from a TOML file of benchmarks x versions."""

from __future__ import annotations

import itertools
import re
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from speedproof.data.runs import PlannedBenchmark, PlannedVersion
from speedproof.errors import FormatError, UsageError
from speedproof.measure.execute import shell_command

__all__ = ["Hooks", "leftover_placeholders", "plan_calibration", "plan_commands", "read_suite"]

_PLACEHOLDER = re.compile(r"\{([\w-]+)\}")


@dataclass(frozen=True, slots=True)
class Hooks:
    """What goes with every command.

    Attributes
    ----------
    shell : str
        A shell that carries commands out; empty: they are started directly.
    cwd : str
        Working directory; empty for the runner's.
    env : Mapping
        Variables added to the environment.
    setup, prepare, conclude, cleanup : str
        Shell commands around the runs.
    """

    shell: str = ""
    cwd: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    setup: str = ""
    prepare: str = ""
    conclude: str = ""
    cleanup: str = ""


def _filled(text: str, values: Mapping[str, str]) -> str:
    """Replace ``{name}`` by its value; other braces stay, commands are full of them."""
    return _PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), text)


def leftover_placeholders(plan: Sequence[PlannedBenchmark]) -> dict[str, str]:
    """What still looks like a placeholder in the commands of a plan.

    Parameters
    ----------
    plan : sequence of PlannedBenchmark
        Filled in.

    Returns
    -------
    dict of str to str
        By name, the first command that has it. It may be meant so: ``awk '{print}'``.

    Examples
    --------
    >>> leftover_placeholders(plan_commands(["sort -S {m} {n}"], [], {"n": ["1", "2"]}, Hooks()))
    {'m': 'sort -S {m} 1'}
    """
    found: dict[str, str] = {}
    for benchmark in plan:
        for version in benchmark.versions:
            for match in _PLACEHOLDER.finditer(version.text):
                found.setdefault(match[1], version.text)
    return found


def _version(
    name: str, command: str | Sequence[str], hooks: Hooks, values: Mapping[str, str]
) -> PlannedVersion:
    if isinstance(command, str):
        text = _filled(command, values)
        if hooks.shell:
            words = shell_command(text, hooks.shell)
        else:
            try:
                words = tuple(shlex.split(text))
            except ValueError as error:
                raise UsageError(f"{text!r}: {error}; quote it, or use --shell") from None
    else:
        words = tuple(_filled(word, values) for word in command)
        text = shlex.join(words)
    if not words:
        raise UsageError("a command is empty")
    return PlannedVersion(
        name,
        words,
        text,
        {key: _filled(value, values) for key, value in hooks.env.items()},
        _filled(hooks.cwd, values),
        *(_filled(hook, values) for hook in (hooks.setup, hooks.prepare, hooks.conclude, hooks.cleanup)),
    )


def _labels(names: Sequence[str], commands: Sequence[str]) -> list[str]:
    """Names for the versions; a command that occurs again, as in an A/A test, gets a number."""
    labels = list(names)
    for command in commands[len(names) :]:
        again = 2
        label = command
        while label in labels:
            label = f"{command} ({again})"
            again += 1
        labels.append(label)
    if len(set(labels)) < len(labels):
        raise UsageError("two versions have the same --name")
    return labels


def plan_commands(
    commands: Sequence[str | Sequence[str]],
    names: Sequence[str],
    parameters: Mapping[str, Sequence[str]],
    hooks: Hooks,
    *,
    benchmark: str = "command",
) -> tuple[PlannedBenchmark, ...]:
    """Plan commands that are versions of one benchmark.

    Parameters
    ----------
    commands : sequence of str or of sequence of str
        Text, or program and arguments already apart; the reference first.
    names : sequence of str
        Of the versions, in the same order; the command itself stands for one that is missing.
    parameters : Mapping
        Values for ``{name}`` in the commands. Every combination is a benchmark of its own; but with one
        command the values of the first parameter are the versions.
    hooks : Hooks
        What goes with every command.
    benchmark : str
        Its name.

    Returns
    -------
    tuple of PlannedBenchmark
        In the order of the combinations.

    Raises
    ------
    UsageError
        No command, more names than versions, or two versions of one name.

    Examples
    --------
    >>> plan = plan_commands(["sort {n}"], [], {"n": ["1", "2"]}, Hooks())
    >>> [v.command for v in plan[0].versions]
    [('sort', '1'), ('sort', '2')]
    """
    if not commands:
        raise UsageError("nothing to run: give commands as quoted strings, one after --, or --suite FILE")
    for name in parameters:
        if not any(f"{{{name}}}" in (c if isinstance(c, str) else " ".join(c)) for c in commands):
            raise UsageError(f"no command has the placeholder {{{name}}} of the parameter list")
    variants: list[tuple[str, str | Sequence[str], dict[str, str]]]
    rest = dict(parameters)
    if len(commands) == 1 and parameters:
        first = next(iter(parameters))
        variants = [(f"{first}={value}", commands[0], {first: value}) for value in rest.pop(first)]
    else:
        variants = [(c if isinstance(c, str) else shlex.join(c), c, {}) for c in commands]
    if len(names) > len(variants):
        raise UsageError(f"{len(names)} names for {len(variants)} versions")
    labels = _labels(names, [label for label, _, _ in variants])
    benchmarks = []
    for combination in itertools.product(*rest.values()):
        values = dict(zip(rest, combination, strict=True))
        suffix = " ".join(f"{key}={value}" for key, value in values.items())
        versions = tuple(
            _version(label, command, hooks, {**values, **own, "version": label})
            for label, (_, command, own) in zip(labels, variants, strict=True)
        )
        benchmarks.append(PlannedBenchmark(f"{benchmark} {suffix}".strip(), versions, values))
    return tuple(benchmarks)


def plan_calibration(command: str | Sequence[str], hooks: Hooks) -> tuple[PlannedBenchmark, ...]:
    """Plan a command against itself.

    Parameters
    ----------
    command : str or sequence of str
        The command.
    hooks : Hooks
        What goes with it.

    Returns
    -------
    tuple of PlannedBenchmark
        One, with the versions ``A`` and ``A again``.
    """
    versions = tuple(_version(name, command, hooks, {}) for name in ("A", "A again"))
    return (PlannedBenchmark("calibration", versions),)


class _Benchmark(msgspec.Struct, forbid_unknown_fields=True):
    command: str = ""
    commands: dict[str, str] = {}
    parameters: dict[str, list[str | int | float]] = {}
    cwd: str = ""
    env: dict[str, str] = {}
    setup: str = ""
    prepare: str = ""
    conclude: str = ""
    cleanup: str = ""


class _Suite(msgspec.Struct, forbid_unknown_fields=True):
    benchmarks: dict[str, _Benchmark]
    versions: dict[str, dict[str, str | dict[str, str]]] = {}
    shell: str = ""


def read_suite(path: Path) -> tuple[PlannedBenchmark, ...]:
    """Read a suite of benchmarks x versions.

    Parameters
    ----------
    path : Path
        A TOML file; ``docs/run.md`` describes it. Working directories are relative to it.

    Returns
    -------
    tuple of PlannedBenchmark
        In the order of the file.

    Raises
    ------
    FormatError
        Malformed TOML, an unknown member, a benchmark without a command for some version.
    """
    name = str(path)
    try:
        suite = msgspec.convert(tomllib.loads(path.read_text()), _Suite)
    except tomllib.TOMLDecodeError as error:
        raise FormatError(name, "", f"not TOML: {error}") from None
    except msgspec.ValidationError as error:
        message, _, place = str(error).partition(" - at `$")
        raise FormatError(name, place.strip("`.").removeprefix("."), message) from None
    planned = [
        item
        for title, benchmark in suite.benchmarks.items()
        for item in _planned(name, path.parent, title, benchmark, suite)
    ]
    if not planned:
        raise FormatError(name, "benchmarks", "no benchmark in it")
    return tuple(planned)


def _planned(
    file: str, folder: Path, title: str, benchmark: _Benchmark, suite: _Suite
) -> list[PlannedBenchmark]:
    labels = list(suite.versions or benchmark.commands)
    where = f"benchmarks.{title}"
    if not labels:
        raise FormatError(file, where, "no versions: add [versions.NAME] tables, or 'commands' by version")
    missing = [label for label in labels if not (benchmark.command or benchmark.commands.get(label))]
    if missing:
        raise FormatError(file, where, f"no command for {', '.join(missing)}")
    if unknown := [label for label in benchmark.commands if label not in labels]:
        raise FormatError(file, f"{where}.commands", f"{', '.join(unknown)}: no such version")
    result = []
    for combination in itertools.product(*benchmark.parameters.values()):
        values = dict(zip(benchmark.parameters, map(str, combination), strict=True))
        suffix = " ".join(f"{key}={value}" for key, value in values.items())
        versions = []
        for label in labels:
            own = suite.versions.get(label, {})
            env = own.get("env", {})
            words = {key: value for key, value in own.items() if isinstance(value, str)}
            cwd = words.get("cwd", benchmark.cwd)
            hooks = Hooks(
                suite.shell,
                str(folder / cwd) if cwd else str(folder) if str(folder) != "." else "",
                {**benchmark.env, **(env if isinstance(env, dict) else {})},
                benchmark.setup,
                benchmark.prepare,
                benchmark.conclude,
                benchmark.cleanup,
            )
            command = benchmark.commands.get(label, benchmark.command)
            try:
                versions.append(_version(label, command, hooks, {**words, **values, "version": label}))
            except UsageError as error:
                raise FormatError(file, where, str(error)) from None
        result.append(PlannedBenchmark(f"{title} {suffix}".strip(), tuple(versions), values))
    return result

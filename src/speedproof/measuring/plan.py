"""What to measure: from commands and parameter lists, or from a TOML file of benchmarks x versions."""

from __future__ import annotations

import glob
import itertools
import os
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from speedproof.data.session_file import PlannedBenchmark, PlannedBuild, PlannedVersion
from speedproof.declaring import read_toml, read_value
from speedproof.errors import FormatError, Parameter, UsageError
from speedproof.measuring.execute import shell_command

# Only its length matters: it moves the stack.
_PADDING = "SPEEDPROOF_PADDING"
_PLACEHOLDER = re.compile(r"\{([\w-]+)\}")
# How a shell is asked for, on the command line and in a suite.
_SHELL_OPTION = ("use ", Parameter("shell"))
_SHELL_MEMBER = ("put shell = 'sh' before the first table",)


_AROUND = ("setup", "prepare", "conclude", "cleanup")


class Hooks(Struct, frozen=True):
    """Commands and settings that accompany every benchmark command."""

    shell: str = ""  # a shell that carries commands out; empty: they are started directly
    cwd: str = ""  # working directory; empty for the runner's
    env: Mapping[str, str] = field(default_factory=dict)  # variables added to the environment
    setup: str = ""  # shell commands around the runs
    prepare: str = ""
    conclude: str = ""
    cleanup: str = ""


def _filled(text: str, values: Mapping[str, str]) -> str:
    """Replace ``{name}`` by its value; other braces stay, commands are full of them."""
    return _PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), text)


def leftover_placeholders(plan: Sequence[PlannedBenchmark]) -> dict[str, str]:
    """Text in the commands of a plan that still looks like a placeholder."""
    leftovers: dict[str, str] = {}
    for benchmark in plan:
        for version in benchmark.versions:
            for match in _PLACEHOLDER.finditer(version.text):
                leftovers.setdefault(match[1], version.text)
    return leftovers


def idle_parameters(plan: Sequence[PlannedBenchmark]) -> dict[str, dict[str, None]]:
    """The parameters that do not change a version, so that its benchmarks measure the same thing."""
    groups: dict[tuple[str, str, str], list[PlannedVersion]] = {}
    for benchmark in plan:
        for name in benchmark.parameters:
            others = {key: value for key, value in benchmark.parameters.items() if key != name}
            title = benchmark.name.removesuffix(_suffix(benchmark.parameters)) + _suffix(others)
            for version in benchmark.versions:
                groups.setdefault((name, title, version.name), []).append(version)
    idle: dict[str, dict[str, None]] = {}
    for (name, _, label), versions in groups.items():
        if len(versions) > 1 and all(version == versions[0] for version in versions):
            idle.setdefault(name, {}).setdefault(label)
    return idle


def _suffix(values: Mapping[str, str]) -> str:
    """The part of a benchmark's name that states its parameters."""
    return " ".join(f"{key}={value}" for key, value in values.items())


def _combined(
    benchmark: str,
    parameters: Mapping[str, Sequence[str]],
    versions: Callable[[dict[str, str]], Iterable[PlannedVersion]],
) -> tuple[PlannedBenchmark, ...]:
    """A benchmark for every combination of the parameters' values, which make its versions."""
    return tuple(
        PlannedBenchmark(f"{benchmark} {_suffix(values)}".strip(), tuple(versions(values)), values)
        for combination in itertools.product(*parameters.values())
        for values in [dict(zip(parameters, combination, strict=True))]
    )


def _version(
    name: str,
    command: str | Sequence[str],
    hooks: Hooks,
    values: Mapping[str, str],
    remedy: Sequence[str | Parameter] = _SHELL_OPTION,
) -> PlannedVersion:
    cwd = _filled(hooks.cwd, values)
    if isinstance(command, str):
        text = _filled(command, values)
        words = shell_command(text, hooks.shell) if hooks.shell else _split(text, cwd, remedy)
    else:
        words = tuple(_filled(word, values) for word in command)
        text = shlex.join(words)
    if not words:
        raise UsageError("a command is empty")
    env = {key: _filled(value, values) for key, value in hooks.env.items()}
    setup, prepare, conclude, cleanup = (_filled(getattr(hooks, hook), values) for hook in _AROUND)
    return PlannedVersion(name, words, text, env, cwd, setup, prepare, conclude, cleanup)


def _split(text: str, cwd: str, remedy: Sequence[str | Parameter]) -> tuple[str, ...]:
    """The words of a command that is started directly."""
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(f"{text!r}: {error}; quote it, or ", *remedy) from None
    # Passed on as an argument it would make another program of it, and the verdict would be about that one.
    if piece := shell_syntax(text, cwd):
        raise UsageError(
            f"{text!r}: only a shell knows what {piece} stands for; ",
            *remedy,
            f", or, to pass it on to the program as it is, write {shlex.quote(piece)}",
        )
    return words


def _check_values(name: str, values: Sequence[str]) -> None:
    """Refuse a value that occurs twice: two benchmarks, or versions, would have one name."""
    if twice := [value for number, value in enumerate(values) if value in values[:number]]:
        raise UsageError(f"the parameter {name} has the value {twice[0]!r} twice")


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
    """Plan commands that are versions of one benchmark."""
    if not commands:
        raise UsageError("nothing to run: give commands as quoted strings, one after --, or --suite FILE")
    for name, choices in parameters.items():
        _check_values(name, choices)
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
    pairs = list(zip(labels, variants, strict=True))
    return _combined(
        benchmark,
        rest,
        lambda values: (
            _version(label, command, hooks, {"version": label, **values, **options})
            for label, (_, command, options) in pairs
        ),
    )


def plan_trees(
    command: str | Sequence[str],
    trees: Mapping[str, Sequence[PlannedBuild]],
    parameters: Mapping[str, Sequence[str]],
    hooks: Hooks,
    *,
    benchmark: str = "command",
    remedy: Sequence[str | Parameter] = _SHELL_OPTION,
) -> tuple[PlannedBenchmark, ...]:
    """Plan one command in several folders, which are its versions."""
    for name, choices in parameters.items():
        _check_values(name, choices)
    nowhere = replace(hooks, cwd="")
    return _combined(
        benchmark,
        parameters,
        lambda values: (
            _in_tree(_version(name, command, nowhere, {"version": name, **values}, remedy), hooks, builds)
            for name, builds in trees.items()
        ),
    )


def _in_tree(version: PlannedVersion, hooks: Hooks, builds: Sequence[PlannedBuild]) -> PlannedVersion:
    """A version in the folder of its build, or of each of its builds in turn."""
    inside = tuple(replace(build, cwd=str(Path(build.cwd) / hooks.cwd)) for build in builds)
    several = inside if builds[0].padding or len(builds) > 1 else ()
    return replace(version, cwd=inside[0].cwd, builds=several)


def as_built(version: PlannedVersion, build: PlannedBuild) -> PlannedVersion:
    """A version bound to one of its builds, with its folder and environment size."""
    env = {**version.env, _PADDING: "x" * build.padding}
    return replace(version, cwd=build.cwd, env=env)


def plan_calibration(command: str | Sequence[str], hooks: Hooks) -> tuple[PlannedBenchmark, ...]:
    """Plan a command against itself."""
    versions = tuple(_version(name, command, hooks, {}) for name in ("A", "A again"))
    return (PlannedBenchmark("calibration", versions),)


class _Benchmark(Struct, frozen=True):
    """A table of a suite: commands, for all versions or by version, and what goes with them."""

    command: str = ""
    commands: Mapping[str, str] = {}
    parameters: Mapping[str, list[str]] = {}
    cwd: str = ""
    env: Mapping[str, str] = {}
    setup: str = ""
    prepare: str = ""
    conclude: str = ""
    cleanup: str = ""

    def hooks(self, shell: str, cwd: str, env: Mapping[str, str]) -> Hooks:
        """The hooks of a version."""
        return Hooks(shell, cwd, env, *(getattr(self, hook) for hook in _AROUND))


class _Suite(Struct, frozen=True):
    """The whole file."""

    versions: Mapping[str, Mapping[str, Any]] = {}
    benchmarks: Mapping[str, _Benchmark] = {}
    shell: str = ""


def read_plan(
    path: Path, trees: Mapping[str, Sequence[PlannedBuild]] | None = None
) -> tuple[PlannedBenchmark, ...]:
    """Read a suite of benchmarks x versions; where there are ``trees``, these are its versions."""
    name, suite = str(path), read_toml(_Suite, path)

    def read(place: str, key: str, value: object) -> Any:
        return read_value(Mapping[str, str] if key == "env" else str, name, f"{place}.{key}", value)

    versions = {
        title: {key: read(f"versions.{title}", key, value) for key, value in table.items()}
        for title, table in suite.versions.items()
    }
    if trees is not None and versions:
        raise FormatError(name, "versions", "revisions are the versions; leave these tables out")
    planned: list[PlannedBenchmark] = []
    for title, benchmark in suite.benchmarks.items():
        where = f"benchmarks.{title}"
        try:
            if trees is None:
                planned += _planned(path.parent, title, benchmark, suite.shell, versions)
            elif benchmark.commands or not benchmark.command:
                raise UsageError("revisions are the versions of one 'command'")
            else:
                cwd = str(Path(os.path.relpath(path.parent)) / benchmark.cwd)
                command, parameters = benchmark.command, benchmark.parameters
                hooks = benchmark.hooks(suite.shell, cwd, benchmark.env)
                planned += plan_trees(
                    command, trees, parameters, hooks, benchmark=title, remedy=_SHELL_MEMBER
                )
        except UsageError as error:
            raise FormatError(name, where, *error.args) from None
        if unknown := [label for label in benchmark.commands if versions and label not in versions]:
            raise FormatError(name, f"{where}.commands", f"{', '.join(unknown)}: no such version")
    if not planned:
        raise FormatError(name, "benchmarks", "defines no benchmark; add [benchmarks.NAME] tables")
    return tuple(planned)


def _planned(
    folder: Path, title: str, benchmark: _Benchmark, shell: str, tables: Mapping[str, dict[str, Any]]
) -> tuple[PlannedBenchmark, ...]:
    for name, values in benchmark.parameters.items():
        _check_values(name, values)
    labels = list(tables or benchmark.commands)
    if not labels:
        raise UsageError("no versions: add [versions.NAME] tables, or 'commands' by version")
    if missing := [label for label in labels if not (benchmark.command or benchmark.commands.get(label))]:
        raise UsageError(f"no command for {', '.join(missing)}")

    def version(label: str, values: Mapping[str, str]) -> PlannedVersion:
        words = dict(tables.get(label, {}))
        env = {**benchmark.env, **words.pop("env", {})}
        cwd = words.get("cwd", benchmark.cwd)
        inside = str(folder / cwd) if cwd else str(folder) if str(folder) != "." else ""
        command = benchmark.commands.get(label, benchmark.command)
        values_by_name = {"version": label, **words, **values}
        return _version(label, command, benchmark.hooks(shell, inside, env), values_by_name, _SHELL_MEMBER)

    return _combined(title, benchmark.parameters, lambda values: (version(label, values) for label in labels))


_TOKEN = re.compile(
    r"""
    (?P<blank>\s+)
    | (?P<quoted>\\. | '[^']*' | "(?:\\.|[^"\\])*")
    | (?P<piece>
        (?: (?<!\S)\d+ )? (?: <<<? | <> | [<>]& | >> | >\| | [<>] ) (?: (?<=&)(?:\d+|-) )?  # 2>&1
        | &>>? | \|\| | \|& | \| | && | & | ;+
        | \$ (?: \{[^}]*\}? | \([^)]*\)? | \w+ | [?@*\#$!] )
        | `[^`]*`?
        | (?<!\S) ~ (?:/\S*)? (?=\s|$)
    )
    | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)


def shell_syntax(text: str, folder: str = "") -> str:
    r"""The first piece of a command that a shell would carry out or replace, and splitting into words does not."""
    start, pattern, magic = 0, "", False
    for match in _TOKEN.finditer(text + " "):
        kind, token = match.lastgroup, match[0]
        if kind == "piece":
            return token
        if kind == "blank":
            # Not Path.glob, which takes no absolute pattern.
            if magic and any(glob.iglob(pattern, root_dir=folder or None)):  # noqa: PTH207
                return text[start : match.start()]
            start, pattern, magic = match.end(), "", False
        elif kind == "quoted":
            pattern += glob.escape("".join(shlex.split(token)))
        else:
            pattern += token
            magic = magic or token in "*?["
    return ""

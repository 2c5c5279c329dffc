"""From options and settings of a project to suites, rules and demands, and what is said of a suite."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

import speedproof as sp
from speedproof.api.given import rules_of as rules_given
from speedproof.api.given import version_given
from speedproof.cli.asked import CommandOptions, handed
from speedproof.cli.console import Console
from speedproof.errors import UsageError
from speedproof.options import BenchmarkSettings, Choosing, Gating, Judging, Reading
from speedproof.reporting.names import enumerate_names

if TYPE_CHECKING:
    from speedproof.api.suites import Rules


_ANYTHING = Choosing()
_LEFT_OUT = 10  # as many are named


def load(paths: Sequence[str], reading: Reading, choosing: Choosing = _ANYTHING) -> sp.Suite:
    """Read all files of a command into one suite."""
    return sp.read(
        *paths,
        **handed(sp.read, reading),
        columns=columns_of(reading),
        by=choosing.by or (),
        rows=choosing.rows or (),
        match=choosing.match or "name",
        reference=choosing.reference,
    )


def load_chosen(
    paths: Sequence[str], reading: Reading, choosing: Choosing, console: Console
) -> tuple[sp.Suite, str | None]:
    """The benchmarks and the metric that are asked for, and the reference by its name in the suite."""
    suite = load(paths, reading, choosing)
    reference = choosing.reference
    if reference and len(suite.versions) > 1:
        reference = version_given(reference, suite.versions)
    return select(suite, choosing, console), reference


def joint_of(
    names: str, paths: Sequence[str], reading: Reading, choosing: Choosing, console: Console
) -> sp.JointResult:
    """The states of runs by the metrics that ``--joint`` names, with commas between them."""
    suite, _ = load_chosen(paths, reading, replace(choosing, metric="all"), console)
    return sp.joint(suite, [name.strip() for name in names.split(",")])


def columns_of(reading: Reading) -> dict[str, str]:
    """What ``--column`` and its kin say: from roles to columns."""
    columns: dict[str, str] = {}
    for item in reading.column:
        role, equals, name = item.partition("=")
        if not equals or role not in sp.formats.ROLES:
            raise UsageError(
                f"--column {item}: say ROLE=NAME, where ROLE is one of {', '.join(sp.formats.ROLES)}"
            )
        columns[role] = name
    chosen = {"benchmark": reading.benchmark_columns, "version": reading.version_column}
    return columns | {role: name for role, name in chosen.items() if name}


def select(suite: sp.Suite, choosing: Choosing, console: Console) -> sp.Suite:
    """Keep the benchmarks and the metric asked for; say which other metrics there are."""
    chosen = suite.select(choosing.only, choosing.skip, "all")
    if choosing.metric is None and (others := [m for m in chosen.metrics if m != chosen.main_metric]):
        console.remark(
            f"{chosen.main_metric} is compared; others with --metric: {enumerate_names(others, 2)}, or all"
        )
    return chosen.select(metric=choosing.metric)


def report_leftovers(suite: sp.Suite, console: Console) -> None:
    """Write what is to be known of a suite; of many things left out the first ones, and how many others."""
    lines = sp.remarks(suite)
    left_out = sum(line.startswith("left out: ") for line in lines)
    shown = left_out if left_out <= _LEFT_OUT + 1 else _LEFT_OUT
    for line in (*lines[:shown], *lines[left_out:]):
        console.remark(line)
    if more := left_out - shown:
        console.remark(f"left out: {more} more; speedproof show --all names them")


def report_no_floor(store: str | None, keys: Iterable[Any], console: Console, *, counted: bool) -> None:
    """Say that a store knows nothing of these benchmarks' sessions, unless it was counted in."""
    floor = None if store is None or counted else sp.History(store).floor()
    if floor is not None and all(floor.of(key) is None for key in keys):
        console.remark(
            f"note: {store} has no commit with two sessions of these benchmarks: sessions are not counted in"
        )


FAILING = {
    "slower": frozenset({"slower"}),
    "undecided": frozenset({"undecided"}),
    "not-faster": frozenset({"slower", "equivalent", "undecided"}),
}
"""The verdicts that each condition of ``--fail-on`` names."""


_RULES_OF = {
    "always_welch": ("mean", "the protocol of the mean: --protocol mean"),
    "ks_rule": ("median", "the protocol of the median: --protocol median, or --details"),
    "bootstrap": ("touati2009", "the protocol of 2009: --protocol touati2009"),
}


def rules_of(asked: CommandOptions, judging: Judging, protocols: Sequence[str]) -> Rules:
    """The rules that are asked for; one of a protocol that is not asked is refused."""
    for name, (protocol, whose) in _RULES_OF.items():
        if protocol not in protocols and name in asked.given:
            raise UsageError(
                f"{asked.given[name]} is a rule of a protocol that is not asked for: ask for {whose}"
            )
    return rules_given(judging)


FILE = "speedproof.toml"
"""Read from the working directory when no other file is named."""


class GateSettings(Gating, frozen=True, kw_only=True):
    """The ``[gate]`` table; None where it is silent."""

    benchmark: tuple[BenchmarkSettings, ...] = ()


class _Settings(Struct, frozen=True):
    """The whole file."""

    gate: GateSettings = GateSettings()


def read_settings(path: str | Path) -> GateSettings:
    """Read the settings of the gate."""
    from speedproof.tables import read_toml

    return read_toml(_Settings, path).gate

"""Settings of a project: ``speedproof.toml``, read strictly, every error with its file and key."""

import fnmatch
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from speedproof.options import Gating, Policy
from speedproof.tables import read_toml
from speedproof.values import proportion

if TYPE_CHECKING:
    from speedproof.api.gates import Demand

FILE = "speedproof.toml"
"""Read from the working directory when no other file is named."""


class BenchmarkSettings(Struct, frozen=True):
    """One ``[[gate.benchmark]]`` table: what it says of the benchmarks that its pattern matches."""

    pattern: str
    margin: Annotated[float | None, "SHARE", "what they may lose", proportion] = None
    policy: Annotated[Policy | None, "what they must prove", Policy] = None
    ignore: bool | None = None

    def matches(self, name: str) -> bool:
        """Whether this table speaks of a benchmark."""
        return name == self.pattern or fnmatch.fnmatchcase(name, self.pattern)


class GateSettings(Gating, frozen=True, kw_only=True):
    """The ``[gate]`` table; None where it is silent."""

    benchmark: tuple[BenchmarkSettings, ...] = ()


class _Settings(Struct, frozen=True):
    """The whole file."""

    gate: GateSettings = GateSettings()


def demand_of(name: str, base: "Demand", entries: Iterable[BenchmarkSettings]) -> "Demand | None":
    """What a benchmark must prove: every table whose pattern matches is applied, a later one over an earlier."""
    from speedproof.api.gates import Demand

    policy, margin, ignored = base.policy, base.margin, False
    for entry in entries:
        if entry.matches(name):
            policy = policy if entry.policy is None else entry.policy
            margin = margin if entry.margin is None else entry.margin
            ignored = ignored if entry.ignore is None else entry.ignore
    return None if ignored else Demand(policy, margin)


def read_settings(path: str | Path) -> GateSettings:
    """Read the settings of the gate."""
    return read_toml(_Settings, path).gate

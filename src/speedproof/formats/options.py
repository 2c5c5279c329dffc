"""What a user can say about files that do not say it themselves: raw text and CSV."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from msgspec import Struct, field

from speedproof.errors import UsageError

ROLES = ("benchmark", "version", "value", "unit", "process", "metric", "run")


class ReadOptions(Struct, frozen=True):
    """How to read raw text and CSV; the other formats describe themselves and need none of this."""

    unit: str | None = None  # of values that have none in the file
    # From a role to the name of the CSV column that plays it; the others are found by the obvious names
    columns: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    # What the columns of a wide CSV file are; by default versions, or runs where their names are numbered
    wide: Literal["version", "benchmark"] | None = None
    where: str | None = None  # an SQL condition on the rows of a corpus

    def __post_init__(self) -> None:
        for role in self.columns:
            if role not in ROLES:
                raise UsageError(f"{role!r} is not a role of a CSV column; the roles are {', '.join(ROLES)}")

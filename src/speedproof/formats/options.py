"""What a user can say about files that do not say it themselves: raw text and CSV."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from msgspec import Struct, field

from speedproof.errors import UsageError

ROLES = ("benchmark", "version", "value", "unit", "process", "metric", "run")


class ReadOptions(Struct, frozen=True):
    """How to read raw text and CSV; the other formats describe themselves and need none of this.

    Attributes
    ----------
    unit : str or None
        The unit of values that have none in the file, as :func:`speedproof.data.units.parse_unit` reads it.
    columns : mapping of str to str
        From a role (one of :data:`ROLES`) to the name of the CSV column that plays it. Roles that are not
        given are found by the obvious names.
    wide : {"version", "benchmark"}, optional
        What the columns of a wide CSV file are; by default versions, or runs where their names are numbered.
    where : str or None
        An SQL condition on the rows of a corpus.

    Raises
    ------
    UsageError
        A role that does not exist.

    Examples
    --------
    >>> ReadOptions(unit="ms", columns={"value": "elapsed"}).unit
    'ms'
    >>> ReadOptions(columns={"speed": "elapsed"})
    Traceback (most recent call last):
    speedproof.errors.UsageError: 'speed' is not a role of a CSV column; the roles are benchmark, ...
    """

    unit: str | None = None
    columns: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    wide: Literal["version", "benchmark"] | None = None
    where: str | None = None

    def __post_init__(self) -> None:
        for role in self.columns:
            if role not in ROLES:
                raise UsageError(f"{role!r} is not a role of a CSV column; the roles are {', '.join(ROLES)}")

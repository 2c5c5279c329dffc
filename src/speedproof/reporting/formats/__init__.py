"""What a command can write: a module a format, made from the same reports.

All are imported to list the options, so a module imports what is heavy where it writes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from msgspec import Struct

from speedproof.reporting.model import Report

if TYPE_CHECKING:
    from speedproof.data.suite import Suite
    from speedproof.protocols.suite import SuiteComparison
    from speedproof.reporting.stored import Context


class ReportFormat(Struct, frozen=True):
    """A way to write what there is to report."""

    endings: tuple[str, ...]  # of files that hold it
    help: str  # what it is, for the option's help
    # From what there is to report, and the file that it goes to, to a text
    write: Callable[[Reported, str], str]


class Reported(Struct, frozen=True, eq=False):
    """What there is to report."""

    reports: Sequence[Report]  # in order
    suite: Suite | None = None  # the samples behind them, where they are known
    context: Context | None = None  # how they were made
    results: Sequence[SuiteComparison] = ()  # what a page may draw of the samples


def found() -> dict[str, ReportFormat]:
    """The ``FORMAT`` of every module beside this one, by its name: a new format is a new file here."""
    return {
        entry.name: import_module(f"{__name__}.{entry.name}").FORMAT
        for entry in sorted(iter_modules(__path__), key=lambda entry: entry.name)
    }


FORMATS = found()
"""By the name of the option that writes it; ``sp.report`` knows each by its endings."""

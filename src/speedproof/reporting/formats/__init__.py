"""What a command can write: a module a format, made from the same reports and imported when it is asked."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from msgspec import Struct

from speedproof.reporting.model import Report

if TYPE_CHECKING:
    from speedproof.data.suite import Suite
    from speedproof.protocols.suite import SuiteComparison
    from speedproof.reporting.stored import Context


class ReportFormat(Struct, frozen=True):
    """A way to write what there is to report; the module of its name does."""

    name: str
    endings: tuple[str, ...]  # of files that hold it
    help: str  # what it is, for the option's help

    def write(self, reported: Reported, target: str) -> str:
        """From what there is to report, and the file that it goes to, to a text."""
        return str(import_module(f"{__name__}.{self.name}").write(reported, target))


class Reported(Struct, frozen=True, eq=False):
    """What there is to report."""

    reports: Sequence[Report]  # in order
    suite: Suite | None = None  # the samples behind them, where they are known
    context: Context | None = None  # how they were made
    results: Sequence[SuiteComparison] = ()  # what a page may draw of the samples


FORMATS = {
    one.name: one
    for one in (
        ReportFormat(
            "csv", (".csv", ".tsv"), "the table with all digits (tab-separated when FILE ends with .tsv)"
        ),
        ReportFormat("html", (".html",), "a page with a panel of charts and checks for each benchmark"),
        ReportFormat("junit", (".xml",), "JUnit XML: a slowdown is a failure, undecided is skipped"),
        ReportFormat("latex", (".tex",), "the table for a paper (booktabs)"),
        ReportFormat("markdown", (".md",), "Markdown for a pull request: what is proven, the rest folded"),
    )
}
"""By the name of the option that writes it; ``sp.report`` knows each by its endings."""

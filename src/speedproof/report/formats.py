"""What a command can write: each format by its option's name, made from the same reports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from speedproof.report.model import Report

if TYPE_CHECKING:
    from speedproof.data.suite import Suite
    from speedproof.protocols.suite import SuiteComparison
    from speedproof.report.stored import Context

__all__ = ["FORMATS", "Reported"]


@dataclass(frozen=True, slots=True, eq=False)
class Reported:
    """What there is to report.

    Attributes
    ----------
    reports : sequence of Report
        In order.
    suite : Suite or None
        The samples behind them, where they are known.
    context : Context or None
        How they were made.
    results : sequence of SuiteComparison
        What a page may draw of the samples.
    """

    reports: Sequence[Report]
    suite: Suite | None = None
    context: Context | None = None
    results: Sequence[SuiteComparison] = ()


# Each imports what it needs: Jinja2 and XML cost a start-up that most calls need not pay.


def _html(reported: Reported, target: str) -> str:
    from speedproof.report.html import page

    return page(reported)


def _markdown(reported: Reported, target: str) -> str:
    from speedproof.report.markdown import render

    context = reported.context
    made = ", ".join(f"{name} {version}" for name, version in context.versions.items()) if context else ""
    return render(
        *reported.reports, marker="speedproof", made=f"{context.command} ({made})" if context else ""
    )


def _csv(reported: Reported, target: str) -> str:
    from speedproof.report.csv import render

    return render(*reported.reports, delimiter="\t" if target.lower().endswith(".tsv") else ",")


def _latex(reported: Reported, target: str) -> str:
    from speedproof.report.latex import render

    return render(*reported.reports)


def _junit(reported: Reported, target: str) -> str:
    from speedproof.report.junit import render

    return render(*reported.reports)


FORMATS: dict[str, Callable[[Reported, str], str]] = {
    "html": _html,
    "markdown": _markdown,
    "csv": _csv,
    "latex": _latex,
    "junit": _junit,
}
"""From what there is to report, and the file that it goes to, to a text."""

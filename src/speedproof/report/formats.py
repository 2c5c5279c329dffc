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


@dataclass(frozen=True, slots=True)
class Format:
    """A way to write what there is to report.

    Attributes
    ----------
    endings : tuple of str
        Of files that hold it.
    help : str
        What it is, for the option's help.
    write : callable
        From what there is to report, and the file that it goes to, to a text.
    """

    endings: tuple[str, ...]
    help: str
    write: Callable[[Reported, str], str]


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


FORMATS: dict[str, Format] = {
    "html": Format((".html",), "a page with a panel of charts and checks for each benchmark", _html),
    "markdown": Format((".md",), "Markdown for a pull request: what is proven, the rest folded", _markdown),
    "csv": Format(
        (".csv", ".tsv"), "the table with all digits (tab-separated when FILE ends with .tsv)", _csv
    ),
    "latex": Format((".tex",), "the table for a paper (booktabs)", _latex),
    "junit": Format((".xml",), "JUnit XML: a slowdown is a failure, undecided is skipped", _junit),
}
"""By the name of the option that writes it; ``sp.report`` knows each by its endings."""

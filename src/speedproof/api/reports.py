"""Results as files: pages, tables, what a pipeline reads."""

from __future__ import annotations

import platform
from collections.abc import Callable
from pathlib import Path

import numpy as np

from speedproof import __version__
from speedproof.api.gates import GateResult
from speedproof.api.pairs import PairResult
from speedproof.api.shown import Shown
from speedproof.api.suites import SuiteResult
from speedproof.data.suite import Suite
from speedproof.errors import UsageError
from speedproof.report.stored import Context

__all__ = ["report"]


def report(result: Shown, path: str | Path) -> None:
    """Write a result to a file, whose ending says as what.

    Parameters
    ----------
    result : PairResult, SuiteResult or GateResult
        Of :func:`speedproof.compare`, :func:`speedproof.compare_suite` or :func:`speedproof.gate`.
    path : str or Path
        ``.html`` a page, ``.md`` Markdown, ``.csv`` or ``.tsv`` the table with all digits, ``.tex`` the table
        for a paper, ``.xml`` JUnit, ``.json`` everything, ``.txt`` what ``print`` shows.

    Raises
    ------
    SpeedproofError
        An ending that is none of these, a result that has no such report, a file that cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import speedproof as sp
    >>> r = sp.compare([10.1, 10.3, 9.9, 10.0, 10.2], [9.1, 9.0, 9.3, 9.2, 8.9], unit="ms")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sp.report(r, Path(folder) / "out.csv")
    ...     (Path(folder) / "out.csv").read_text().partition(",")[0]
    'reference'
    """
    path = Path(path)
    makers = _makers(result)
    ending = path.suffix.lower()
    if ending not in makers:
        raise UsageError(f"{path}: a {type(result).__name__} is written as {', '.join(makers)}")
    try:
        path.write_text(makers[ending](), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None


def _makers(result: Shown) -> dict[str, Callable[[], str]]:
    if isinstance(result, GateResult):
        return {**_gate(result), ".txt": lambda: f"{result}\n"}
    if isinstance(result, PairResult):
        result = SuiteResult((result.result,), {}, Suite((), {}))
    if isinstance(result, SuiteResult):
        return {**_comparisons(result), ".txt": lambda: f"{result}\n"}
    return {".txt": lambda: f"{result}\n"}


def _context() -> Context:
    versions = {"speedproof": __version__, "Python": platform.python_version(), "NumPy": np.__version__}
    return Context("import speedproof", versions)


def _comparisons(result: SuiteResult) -> dict[str, Callable[[], str]]:
    from speedproof.report.html import html_report
    from speedproof.report.junit import junit
    from speedproof.report.markdown import markdown
    from speedproof.report.ranking import ranking_blocks
    from speedproof.report.tabular import delimited, latex

    more = [tuple(ranking_blocks(ranking, metric)) for metric, ranking in result.rankings.items()]
    return {
        ".html": lambda: html_report(result.results, result.suite, _context(), more),
        ".md": lambda: markdown(result.results, _context(), more),
        ".csv": lambda: delimited(result.results),
        ".tsv": lambda: delimited(result.results, "\t"),
        ".tex": lambda: latex(result.results),
        ".xml": lambda: junit(result.results),
        ".json": result.to_json,
    }


def _gate(result: GateResult) -> dict[str, Callable[[], str]]:
    from speedproof.report.gate_junit import gate_junit
    from speedproof.report.gate_markdown import gate_markdown
    from speedproof.report.html.gate import gate_page

    return {
        ".html": lambda: gate_page(result.decision, result.suite, _context()),
        ".md": lambda: gate_markdown(result.decision),
        ".xml": lambda: gate_junit(result.decision),
        ".json": result.to_json,
    }

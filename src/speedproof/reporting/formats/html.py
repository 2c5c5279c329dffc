"""Any report as one HTML page, see :mod:`speedproof.reporting.html`."""

from __future__ import annotations

from speedproof.reporting.formats import Reported, ReportFormat


def write(reported: Reported, target: str) -> str:
    """Reports as a page, with a panel for each benchmark whose samples are known."""
    from speedproof.reporting.html import page  # Jinja2 is for those who want a page

    return page(reported)


FORMAT = ReportFormat((".html",), "a page with a panel of charts and checks for each benchmark", write)

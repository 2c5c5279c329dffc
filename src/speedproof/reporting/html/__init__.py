"""The HTML page: one file that holds everything it shows."""

from __future__ import annotations

from speedproof.data.suite import Suite
from speedproof.reporting.formats import Reported
from speedproof.reporting.html.page import render
from speedproof.reporting.html.panels import Panel, panels

__all__ = ["page", "panels", "render"]


def page(reported: Reported) -> str:
    """What a command reports as one page, with a panel for each benchmark whose samples are known."""
    suite = reported.suite or Suite((), {})
    drawn: list[dict[str, Panel]] = []
    for report in reported.reports:
        found: dict[str, Panel] = {}
        for result in reported.results:
            if report.about == result.metric or len(reported.reports) == 1:
                drawings = panels(result, suite, result.margin)
                for name, panel in drawings.items():
                    found.setdefault(name, panel)
                    if len(drawings) == 1:  # of several versions, each has a row
                        found.setdefault(result.candidate, panel)
        drawn.append(found)
    return render(*reported.reports, panels=drawn, suite=suite, context=reported.context)

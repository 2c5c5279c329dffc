"""Any report as one HTML page, see :mod:`speedproof.reporting.html`."""

from __future__ import annotations

from typing import Any

from speedproof.reporting.model import Reported


def write(reported: Reported, target: str) -> str:
    """Reports as a page, with a panel for each benchmark whose samples are known."""
    from speedproof.data.suite import Suite
    from speedproof.reporting.html import panels, render  # Jinja2 is imported for a page only

    suite = reported.suite or Suite((), {})
    drawn = []
    for report in reported.reports:
        of_report: dict[str, Any] = {}
        for result in reported.results:
            if report.about == result.metric or len(reported.reports) == 1:
                of_result = panels(result, suite, result.margin)
                if len(of_result) == 1:  # of several versions, each has a row
                    of_result = {**of_result, result.candidate: next(iter(of_result.values()))}
                of_report = of_result | of_report
        drawn.append(of_report)
    return render(*reported.reports, panels=drawn, suite=suite, context=reported.context)

"""Any report as JUnit XML, which continuous integration systems show as tests: one case a benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from speedproof.data.names import visible_lines
from speedproof.reporting.model import Meaning, Report, Reported, Row

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


# The types of a policy's failures, by what its rows are counted as; that of a comparison is slower.
_TYPES = {"failed": "fail", "missing": "missing", "undecided": "undecided"}


def write(reported: Reported, target: str) -> str:
    """Reports as JUnit XML, as Jenkins and GitLab read it."""
    from xml.etree import ElementTree as ET

    root = ET.Element("testsuites", {"name": "speedproof"})
    cases = [case for report in reported.reports for case in _suite(root, report)]
    root.attrib.update(_counts(cases))
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _suite(root: Element, report: Report) -> list[Row]:
    """Add a report, and tell its cases."""
    from xml.etree.ElementTree import SubElement

    said = [
        f"{text.text}{'' if text.aside[:1] in ('', '(') else ';'} {text.aside}".strip()
        for text in report.headline
    ]
    answer = " ".join(text if text.endswith((".", ":")) else f"{text}." for text in said)
    cases = [row for row in (report.tables[-1].rows if report.tables else ()) if row.outcome]
    if not cases and report.headline:
        outcome: Meaning = "" if report.good is None else "passed" if report.good else "failed"
        cases = [Row((), report.title, outcome, answer, kind=outcome)]
    suite = SubElement(root, "testsuite", {"name": visible_lines(report.title), **_counts(cases)})
    SubElement(SubElement(suite, "properties"), "property", name="conclusion", value=visible_lines(answer))
    for row in cases:
        names = {"classname": visible_lines(report.title), "name": visible_lines(row.name), "time": "0"}
        case, message = SubElement(suite, "testcase", names), visible_lines(row.sentence)
        text = f"{message}\n"
        if row.outcome == "failed":
            SubElement(case, "failure", message=message, type=_TYPES.get(row.kind, "slower")).text = text
            continue
        if row.outcome == "undecided":
            SubElement(case, "skipped", message=message)
        SubElement(case, "system-out").text = text
    return cases


def _counts(cases: Sequence[Row]) -> dict[str, str]:
    outcomes = [case.outcome for case in cases]
    failed, skipped = (str(outcomes.count(of)) for of in ("failed", "undecided"))
    return {"tests": str(len(cases)), "failures": failed, "errors": "0", "skipped": skipped, "time": "0"}

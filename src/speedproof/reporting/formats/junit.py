"""Any report as JUnit XML, which continuous integration systems show as tests: one case a benchmark."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from speedproof.reporting.formats import Reported, ReportFormat
from speedproof.reporting.model import Outcome, Report

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

# What XML 1.0 has no way to say, not even escaped (section 2.2, "Char").
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Case(Struct, frozen=True):
    """One test case."""

    classname: str  # where it is filed, and what it is called there
    name: str
    kind: str  # of a failure: its type, such as ``"slower"``
    message: str  # what came out, in a sentence
    result: Literal["passed", "failure", "skipped"]  # what it counts as
    why: str  # the details of a failure
    out: str  # what is shown as the output of the test; empty for none


class CaseSuite(Struct, frozen=True):
    """Some cases under a name, with properties of the whole."""

    name: str
    cases: tuple[Case, ...]
    properties: tuple[tuple[str, str], ...] = ()


def write(reported: Reported, target: str) -> str:
    """Reports as JUnit XML."""
    return junit_document([_suite(report) for report in reported.reports])


def _suite(report: Report) -> CaseSuite:
    answer = " ".join(f"{text.text} {text.aside}".strip() for text in report.headline)
    why = _why(report)
    rows = report.tables[-1].rows if report.tables else ()
    cases = [
        _case(report, row.name, row.outcome, row.message, row.kind, why.get(row.name, ""))
        for row in rows
        if row.outcome
    ]
    if not cases and report.headline:
        outcome: Outcome = {True: "passed", False: "failed", None: ""}[report.good]  # type: ignore[assignment]
        cases = [_case(report, report.title, outcome, answer, "", "")]
    return CaseSuite(report.title, tuple(cases), (("conclusion", answer),))


def _why(report: Report) -> dict[str, str]:
    """What the explanations say of each row, as far as they were asked for."""
    return {
        section.about: "\n".join(text.text for text in section.headline)
        for section in report.sections
        if section.about
    }


def _case(report: Report, name: str, outcome: Outcome, message: str, kind: str, why: str) -> Case:
    result: Literal["passed", "failure", "skipped"] = (
        "failure" if outcome == "failed" else "skipped" if outcome == "undecided" else "passed"
    )
    text = f"{message}\n{why}".rstrip() + "\n"
    return Case(
        classname=report.title,
        name=name,
        kind=kind or outcome,
        message=message,
        result=result,
        why=text,
        out="" if result == "failure" else text,
    )


def junit_document(suites: Sequence[CaseSuite]) -> str:
    """Cases as JUnit XML, as Jenkins and GitLab read it."""
    from xml.etree import ElementTree as ET

    root = ET.Element("testsuites", {"name": "speedproof", **_counts([c for s in suites for c in s.cases])})
    for suite in suites:
        element = ET.SubElement(root, "testsuite", {"name": _clean(suite.name), **_counts(suite.cases)})
        if suite.properties:
            properties = ET.SubElement(element, "properties")
            for name, value in suite.properties:
                ET.SubElement(properties, "property", name=_clean(name), value=_clean(value))
        for case in suite.cases:
            _add(element, case)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _counts(cases: Sequence[Case]) -> dict[str, str]:
    results = [case.result for case in cases]
    return {
        "tests": str(len(results)),
        "failures": str(results.count("failure")),
        "errors": "0",
        "skipped": str(results.count("skipped")),
        "time": "0",
    }


def _add(suite: Element, case: Case) -> None:
    from xml.etree.ElementTree import SubElement

    element = SubElement(
        suite, "testcase", classname=_clean(case.classname), name=_clean(case.name), time="0"
    )
    if case.result == "failure":
        failure = SubElement(element, "failure", message=_clean(case.message), type=case.kind)
        failure.text = _clean(case.why)
    elif case.result == "skipped":
        SubElement(element, "skipped", message=_clean(case.message))
    if case.out:
        SubElement(element, "system-out").text = _clean(case.out)


def _clean(text: str) -> str:
    return _NO_XML.sub("\ufffd", text)


FORMAT = ReportFormat((".xml",), "JUnit XML: a slowdown is a failure, undecided is skipped", write)

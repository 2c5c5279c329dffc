"""JUnit XML, read back by Python's parser and held against the format's rules."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from speedproof.data.suite import Suite
from speedproof.protocols.results import Verdict
from speedproof.protocols.suite import SuiteComparison
from speedproof.report.junit import _clean, junit

Made = tuple[SuiteComparison, Suite]


def test_counts_are_those_of_the_verdicts(mixed: Made, hostile: Made) -> None:
    """Attributes of both levels equal the number of elements below; a slowdown fails, undecided is skipped."""
    root = ET.fromstring(junit([mixed[0], hostile[0]]))
    assert [suite.tag for suite in root] == ["testsuite", "testsuite"]
    for suite, (result, _) in zip(root, (mixed, hostile), strict=True):
        cases = suite.findall("testcase")
        assert len(cases) == int(suite.attrib["tests"]) == len(result.comparisons)
        assert len(suite.findall("testcase/failure")) == int(suite.attrib["failures"])
        assert len(suite.findall("testcase/skipped")) == int(suite.attrib["skipped"])
        for case, c in zip(cases, result.comparisons, strict=True):
            assert (case.find("failure") is not None) == (c.verdict is Verdict.SLOWER)
            assert (case.find("skipped") is not None) == (c.verdict is Verdict.UNDECIDED)
            assert {"name", "classname", "time"} <= set(case.attrib)
    for name in ("tests", "failures", "skipped"):
        assert int(root.attrib[name]) == sum(int(suite.attrib[name]) for suite in root)


def test_names_survive(hostile: Made) -> None:
    """A benchmark's name is in its case's name, whatever it looks like."""
    root = ET.fromstring(junit([hostile[0]]))
    names = [case.attrib["name"] for case in root.iter("testcase")]
    assert names == [f"{c.benchmark} ({c.protocol})" for c in hostile[0].comparisons]


@given(st.text(max_size=30))
def test_any_text_can_be_xml(text: str) -> None:
    """Characters that XML 1.0 forbids are replaced, all others kept (up to XML's own line ends)."""
    element = ET.Element("a", b=_clean(text))
    element.text = _clean(text)
    found = ET.fromstring(ET.tostring(element, encoding="unicode"))
    assert found.attrib["b"] == _clean(text)
    assert len(_clean(text)) == len(text)

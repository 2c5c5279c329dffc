"""JUnit XML, which continuous integration systems show as tests: one case a benchmark and protocol.

A proven slowdown is a failure. An undecided case is *skipped*: nothing is proven, which is neither a pass nor a
failure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree as ET

from speedproof.protocols.comparison import Comparison, Verdict
from speedproof.protocols.suite_comparison import SuiteComparison
from speedproof.report.blocks import plain
from speedproof.report.comparisons import explain
from speedproof.report.conclusions import conclusion

__all__ = ["junit"]

# What XML 1.0 has no way to say, not even escaped (section 2.2, "Char").
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(results: Sequence[SuiteComparison]) -> str:
    """Comparisons as JUnit XML.

    Parameters
    ----------
    results : sequence of SuiteComparison
        Each becomes a test suite.

    Returns
    -------
    str
        An XML document; control characters, which XML cannot hold, are replaced by U+FFFD.

    Examples
    --------
    >>> print(junit([]), end="")
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites name="speedproof" tests="0" failures="0" errors="0" skipped="0" time="0" />
    """
    root = ET.Element(
        "testsuites", {"name": "speedproof", **_counts([c for r in results for c in r.comparisons])}
    )
    for result in results:
        title = f"{result.candidate} against {result.reference}: {result.metric}"
        suite = ET.SubElement(root, "testsuite", {"name": _clean(title), **_counts(result.comparisons)})
        for comparison in result.comparisons:
            _case(suite, title, comparison)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _counts(comparisons: Sequence[Comparison]) -> dict[str, str]:
    verdicts = [c.verdict for c in comparisons]
    return {
        "tests": str(len(verdicts)),
        "failures": str(verdicts.count(Verdict.SLOWER)),
        "errors": "0",
        "skipped": str(verdicts.count(Verdict.UNDECIDED)),
        "time": "0",
    }


def _case(suite: ET.Element, title: str, comparison: Comparison) -> None:
    case = ET.SubElement(
        suite,
        "testcase",
        classname=_clean(title),
        name=_clean(f"{comparison.benchmark} ({comparison.protocol})"),
        time="0",
    )
    said = _clean(conclusion(comparison))
    why = _clean("".join(plain(block) for block in explain(comparison)))
    if comparison.verdict is Verdict.SLOWER:
        ET.SubElement(case, "failure", message=said, type="slower").text = why
    elif comparison.verdict is Verdict.UNDECIDED:
        ET.SubElement(case, "skipped", message=said)
        ET.SubElement(case, "system-out").text = why
    else:
        ET.SubElement(case, "system-out").text = why


def _clean(text: str) -> str:
    return _NO_XML.sub("\ufffd", text)

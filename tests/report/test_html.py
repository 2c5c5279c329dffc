"""The page as text: what a browser would be allowed to load, run and show, told by other parsers."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from speedproof.data.suite import Suite
from speedproof.protocols.assumptions import UNDERMINING, Assumption
from speedproof.protocols.results import Check, Verdict
from speedproof.protocols.suite import SuiteComparison
from speedproof.report.blocks import Block, Cell, Column, Table, Text
from speedproof.report.html import html_report
from speedproof.report.html.headline import headline
from speedproof.report.stored import Context
from speedproof.stats.estimate import Estimate

Made = tuple[SuiteComparison, Suite]
VOID = {"meta", "br", "input", "link", "img", "hr"}


class Page(HTMLParser):
    """Elements with their attributes and texts; checks that they nest."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((self._open[-1] if self._open else "", data))

    def text_of(self, tag: str) -> list[str]:
        """All texts directly inside a kind of element."""
        return [text for name, text in self.texts if name == tag]


@pytest.fixture(scope="module", params=["mixed", "hostile"])
def made(request: pytest.FixtureRequest) -> Made:
    found: Made = request.getfixturevalue(request.param)
    return found


@pytest.fixture(scope="module")
def page(made: Made) -> Page:
    return Page(html_report([made[0]], made[1], Context("speedproof compare '<i>'", {"speedproof": "1"})))


def test_refers_to_nothing_outside(page: Page) -> None:
    """No element loads anything; references stay in the page; no handler and no style is inline."""
    for tag, attributes in page.elements:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base", "form", "audio", "video", "a")
        assert not any(name.startswith("on") for name in attributes)
        assert not {"src", "srcset", "style", "action", "data"} & set(attributes)
        assert str(attributes.get("href", "#")).startswith("#")
    (style,) = page.text_of("style")
    assert "url(" not in style
    assert "@import" not in style


def test_policy_allows_this_script_and_style_only(page: Page) -> None:
    """The Content-Security-Policy denies all but the two hashes, which are those of the contents."""
    (policy,) = (a["content"] for t, a in page.elements if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    rules = dict(part.strip().partition(" ")[::2] for part in policy.split(";"))
    scripts = page.text_of("script")
    kinds = [a.get("type") for t, a in page.elements if t == "script"]
    assert kinds == ["application/json", None]
    (style,) = page.text_of("style")
    digest = {name: base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
              for name, text in (("style-src", style), ("script-src", scripts[1]))}  # fmt: skip
    assert rules == {
        "default-src": "'none'",
        "base-uri": "'none'",
        "form-action": "'none'",
        **{name: f"'sha256-{value}'" for name, value in digest.items()},
    }


def test_names_are_text(made: Made, page: Page) -> None:
    """Every name is shown as it is, and makes no element of its own."""
    buttons = page.text_of("button")
    for name in made[0].benchmarks:
        assert name in buttons
    expected = (
        "html head meta title style body svg defs circle path main section header p h1 h2 span div table caption "
        "thead tbody tr th td rect ul li b small label input select option button output text line g use noscript "
        "pre code dl dt dd i script"
    )
    assert {tag for tag, _ in page.elements} <= set(expected.split())


def test_data_is_json_that_cannot_leave_its_element(made: Made, page: Page) -> None:
    """No angle bracket in it; parsed, it holds a panel a benchmark with all checks and values."""
    text = page.text_of("script")[0]
    assert not set("<>&") & set(text)
    (panels,) = json.loads(text)
    assert [p["name"] for p in panels] == list(made[0].benchmarks)
    for panel in panels:
        checks = {
            (c.name, c.message) for k in made[0].comparisons if k.benchmark == panel["name"] for c in k.checks
        }
        assert {(row[1], row[5]) for row in panel["checks"]} == checks
        assert all(row[2] for row in panel["checks"]), "every check says what it asks"
        for sample, version in zip(panel["drawn"]["samples"], made[1].versions, strict=True):
            (values,) = (
                s.values
                for (k, v), s in made[1].samples.items()
                if (k.benchmark, v) == (panel["name"], version)
            )
            spread = values.max() - values.min()
            assert sample["n"] == len(values)
            assert all(abs(a - b) <= 1e-4 * spread for a, b in zip(sample["order"], values, strict=True))


def test_rows_say_what_the_comparisons_say(made: Made, page: Page) -> None:
    """One row a benchmark, with its verdicts to filter by, and a bar of counts a protocol."""
    rows = [a for t, a in page.elements if t == "tr" and "data-row" in a]
    result = made[0]
    assert len(rows) == len(result.benchmarks)
    for row, name in zip(rows, result.benchmarks, strict=True):
        for c in result.comparisons:
            if c.benchmark == name:
                assert row[f"data-{c.protocol.replace(' ', '-')}"] == c.verdict
    words = " ".join(text for _, text in page.texts)
    for protocol in result.protocols:
        for verdict in Verdict:
            count = result.count(protocol, verdict)
            assert not count or f"{count} {verdict.value}" in words


def test_accessible_structure(page: Page) -> None:
    """A language, one first heading, captions or labels for what needs them, sortable columns that say so."""
    tags = [tag for tag, _ in page.elements]
    assert dict(page.elements)["html"]["lang"] == "en"
    assert tags.count("h1") == 1
    assert tags.count("table") == tags.count("caption")
    assert all(a.get("scope") in ("col", "row") for t, a in page.elements if t == "th")
    assert all(
        a.get("aria-hidden") == "true" or (a.get("role") == "img" and a.get("aria-label"))
        for t, a in page.elements
        if t == "svg"
    )
    ids = [a["id"] for _, a in page.elements if "id" in a]
    assert len(ids) == len(set(ids))
    assert {a["aria-labelledby"] for _, a in page.elements if "aria-labelledby" in a} <= set(ids)
    assert {str(a["href"])[1:] for _, a in page.elements if "href" in a} <= set(ids)


def test_margin_and_doubts_are_shown(mixed: Made) -> None:
    """The band of equivalence lies symmetrically around 1; verdicts with an unknown risk are marked in words."""
    page = Page(html_report([mixed[0]], mixed[1]))
    (band,) = (a for t, a in page.elements if t == "rect" and a["class"] == "margin")
    (one,) = (a for t, a in page.elements if t == "line" and a.get("class") == "one")
    left, width = float(str(band["x"]).rstrip("%")), float(str(band["width"]).rstrip("%"))
    assert abs(left + width / 2 - float(str(one["x1"]).rstrip("%"))) < 0.01
    marked = [text for name, text in page.texts if name == "span" and text.endswith(" !")]
    assert len(marked) == sum(bool(c.doubts) for c in mixed[0].comparisons) > 0


def test_differences_of_the_sides_are_marked(mixed: Made) -> None:
    """A field with other values on the two sides comes first and is marked in words."""
    text = html_report([mixed[0]], mixed[1])
    table = text[text.index("Where it was measured") :]
    assert table.index(">cpu<") < table.index(">os<")
    assert len(re.findall("≠ differs", table)) == 1


def test_without_samples(mixed: Made) -> None:
    """No samples, no charts: panels carry everything else."""
    page = Page(html_report([mixed[0]], Suite((), {})))
    (panels,) = json.loads(page.text_of("script")[0])
    assert all(panel["drawn"] is None for panel in panels)
    assert all(panel["checks"] and panel["summary"] for panel in panels if panel["name"] == "gain")


def test_nothing_compared() -> None:
    """An empty page says so."""
    assert "Nothing was compared" in Page(html_report([], Suite((), {}))).text_of("h1")[0]


def test_the_same_results_give_the_same_page() -> None:
    """No clock, no random number, no order of a set."""
    code = """
import sys
from hashlib import sha256
import numpy as np
from speedproof.report.html import html_report
sys.path.insert(0, sys.argv[1])
from conftest import make
r = np.random.default_rng(1)
result, suite = make({"a": (r.normal(2, 1, 9) ** 2, r.normal(2, 1, 9) ** 2), "b": ([1, 2, 3], [2, 3, 4])})
print(sha256(html_report([result], suite).encode()).hexdigest())
"""
    runs = {
        subprocess.run(
            [sys.executable, "-c", code, str(Path(__file__).parent)],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(runs) == 1


def test_speedups_of_a_table_are_drawn_where_their_axis_says() -> None:
    """Places follow the axis' own labels, on a logarithmic scale; what has no bounds or no speedup has no line."""
    told = [
        Estimate(1.2, 1.05, 1.3, 0.95),
        Estimate(0.8, 0.7, 0.9, 0.95),
        Estimate(1.0, math.nan, math.nan, 0.95),
        None,
    ]
    table = Table(
        (Column("candidate"), Column("speedup")),
        tuple((Cell(f"<{i}>"), Cell("as told", "good", speedup)) for i, speedup in enumerate(told)),
    )
    page = Page(html_report([], Suite((), {}), None, [[Text("3 of 4"), Text("a sentence"), table]]))
    assert page.text_of("h1") == ["3 of 4"]
    ticks = [float(str(a["x"]).rstrip("%")) for t, a in page.elements if t == "text"]
    labels = [float(text) for text in page.text_of("text")]
    slope, offset = np.polyfit(np.log(labels), ticks, 1)
    lines = [(a["x1"], a["x2"]) for t, a in page.elements if t == "line" and "class" not in a]
    drawn = [[float(str(end).rstrip("%")) for end in line] for line in lines]
    bounds = [[slope * math.log(b) + offset for b in (s.low, s.high)] for s in told[:2] if s]
    assert np.allclose(drawn, bounds, atol=0.01)
    points = [float(str(a["x"]).rstrip("%")) for t, a in page.elements if a.get("href") == "#dot"]
    assert np.allclose(points, [slope * math.log(s.value) + offset for s in told if s], atol=0.01)
    assert [a.get("class") for t, a in page.elements if t == "g" and "id" not in a] == ["faster"] * 3


def test_two_drawn_tables_have_axes_of_their_own() -> None:
    """Every row refers to the axis of its table, whatever part of the page it is in."""

    def table(value: float) -> Table:
        return Table((Column("s"),), ((Cell("", "", Estimate(value, value / 2, value * 2, 0.95)),),))

    parts: list[list[Block]] = [
        [Text("first"), table(1.0), table(2.0)],
        [Text("second"), Text("told"), table(3.0)],
    ]
    page = Page(html_report([], Suite((), {}), None, parts))
    axes = [str(a["id"]) for t, a in page.elements if t == "g" and "id" in a]
    assert len(set(axes)) == 3
    assert [f"#{axis}" for axis in axes] == [
        a["href"] for t, a in page.elements if t == "use" and "axis" in str(a["href"])
    ]


def test_what_comes_first_claims_no_more_than_the_rows(mixed: Made) -> None:
    """A sentence a protocol: proven only where no verdict is marked, and no bound that is not certified."""
    result = mixed[0]
    clean = replace(
        result,
        comparisons=tuple(
            replace(c, checks=tuple(k for k in c.checks if k.kind not in UNDERMINING))
            for c in result.comparisons
        ),
    )
    shifted = replace(
        clean,
        comparisons=tuple(
            replace(c, checks=(Check(Assumption.SHIFT, "", 1.0, 0.0, False, ""),)) for c in clean.comparisons
        ),
    )
    for made, certified in ((result, True), (clean, True), (shifted, False)):
        sentences = list(headline(made))
        assert len(sentences) == 3
        for sentence, protocol in zip(sentences, ("typical", "mean", "median"), strict=True):
            found = [c for c in made.comparisons if c.protocol == protocol]
            decided = [c for c in found if c.verdict in (Verdict.FASTER, Verdict.SLOWER)]
            marked = sum(bool(c.doubts) for c in decided)
            gains = sum(c.verdict is Verdict.FASTER for c in found)
            shown = "shown" if marked else "proven"
            assert f"new is {shown} faster than old on {gains} of {len(found)} benchmarks" in sentence
            assert (f" Where marked ! ({marked} of {len(decided)})" in sentence) == (marked > 0)
            assert ("at least" in sentence) == certified
            if certified:
                name, bound = re.findall(r"\((?:most clearly )?(\w+): at least ([\d.]+)\)", sentence)[0]
                (best,) = (c for c in decided if c.benchmark == name)
                assert float(bound) <= best.speedup.low
                assert not best.doubts or all(c.doubts for c in decided if c.verdict is Verdict.FASTER)

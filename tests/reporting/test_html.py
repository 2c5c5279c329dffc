"""The page as text: what a browser would be allowed to load, run and show, told by other parsers."""

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from msgspec.structs import replace

import speedproof as sp
from speedproof.conclude.suite import SuiteComparison, compare_suite
from speedproof.data.names import visible
from speedproof.data.sample import Sample
from speedproof.data.suite import Key, Suite
from speedproof.protocols.pair import Rules
from speedproof.reporting import sheet
from speedproof.reporting.formats.html import fields_of, fragment, panels, render
from speedproof.reporting.formats.html.panels import STEPS
from speedproof.reporting.model import FORMATS, Cell, Column, Report, Row, Style, Table, Text
from speedproof.reporting.stored import Context
from speedproof.stats.estimate import Estimate

Made = tuple[SuiteComparison, Suite]
VOID = {"meta", "br", "input", "link", "img", "hr"}


def html_report(made: Made, context: Context | None = None) -> str:
    result, suite = made
    return render(
        sheet.report(result, details=True), panels=[panels(result, suite)], suite=suite, context=context
    )


class Page(HTMLParser):
    """Elements with their attributes and texts; checks that they nest."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self._open: list[str] = []
        self.feed(text.replace("<wbr>", ""))  # where a long name may be broken
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
    return cast(Made, request.getfixturevalue(request.param))


@pytest.fixture(scope="module")
def page(made: Made) -> Page:
    return Page(html_report(made, Context("speedproof compare '<i>'", {"speedproof": "1"})))


def test_refers_to_nothing_outside_and_allows_its_own_script_and_style_only(page: Page) -> None:
    """No element loads anything; references stay in the page; no handler and no style is inline."""
    for tag, attributes in page.elements:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base", "form", "audio", "video", "a")
        assert not any(name.startswith("on") for name in attributes)
        assert not {"src", "srcset", "style", "action", "data"} & set(attributes)
        assert str(attributes.get("href", "#")).startswith("#")
    (style,) = page.text_of("style")
    assert "url(" not in style
    assert "@import" not in style
    # The Content-Security-Policy denies all but the two hashes, which are those of the contents.
    (policy,) = (a["content"] for t, a in page.elements if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    rules = dict(part.strip().partition(" ")[::2] for part in policy.split(";"))
    scripts = page.text_of("script")
    assert [a.get("type") for t, a in page.elements if t == "script"] == ["application/json", None]
    digest = {name: base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
              for name, text in (("style-src", style), ("script-src", scripts[1]))}  # fmt: skip
    assert rules == {
        "default-src": "'none'", "base-uri": "'none'", "form-action": "'none'",
        **{name: f"'sha256-{value}'" for name, value in digest.items()},
    }  # fmt: skip


def test_names_are_text(made: Made, page: Page) -> None:
    """Every name is shown as it is, and makes no element of its own."""
    buttons = page.text_of("button")
    for name in made[0].benchmarks:
        assert visible(name) in buttons
    expected = (
        "html head meta title style body svg defs circle path main section p h1 h2 span div table caption "
        "thead tbody tr th td ul li label input select option button output text line g use noscript "
        "pre code dl dt dd script details summary"
    )
    assert {tag for tag, _ in page.elements} <= set(expected.split())


def test_data_is_json_that_cannot_leave_its_element(made: Made, page: Page) -> None:
    """No angle bracket in it; parsed, it holds a panel a benchmark with all checks and values."""
    text = page.text_of("script")[0]
    assert not set("<>&") & set(text)
    data = json.loads(text)
    rows = {a["data-name"]: a for t, a in page.elements if t == "tr" and "data-panel" in a}
    assert set(rows) == set(map(visible, made[0].benchmarks))
    called = dict(zip("XY", made[1].versions, strict=True)).__getitem__
    for name in made[0].benchmarks:
        panel = data["panels"][int(str(rows[visible(name)]["data-panel"]))]
        of = [c for one in made[0].comparisons if one.benchmark == name for c in one.checks]
        told = [[data["texts"][place] for place in row] for row in panel["checks"]]
        assert {row[1] for row in told} == {replace(c, versions=(*map(called, c.versions),)).name for c in of}
        assert all(row[2] for row in told), "every check says what it asks"
        words = [row[0] for row in told]
        assert words == sorted(words, key=("undermines", "fails", "holds").index)
        assert ("undermines" in words or "fails" in words) == any(not c.held for c in of)
        sides = [(role, label, int(n.split(" of ")[-1])) for role, label, n, *_ in panel["summary"]]
        samples = [made[1].samples[Key(name), version] for version in made[1].versions]
        assert {
            (role, s.label, s.n) for role, s in zip(("reference", "candidate"), samples, strict=True)
        } == {*sides}
        assert all(row[4] for row in told if row[0] != "holds"), "what does not hold says what to do"
        ticks = [place for place, _ in panel["drawn"]["ticks"]]
        assert ticks == sorted(set(ticks))
        for sample, version in zip(panel["drawn"]["samples"], made[1].versions, strict=True):
            assert sample["quartiles"] == sorted(sample["quartiles"])
            assert f"median {sample['median']}, middle half " in sample["told"]
            values = made[1].samples[Key(name), version].values
            drawn = np.array(sample["order"])
            assert (sample["n"], drawn.min() >= 0, drawn.max() <= STEPS) == (len(values), True, True)
            assert (np.diff(drawn[np.argsort(values, kind="stable")]) >= 0).all()


def test_rows_say_what_the_sheet_says(made: Made, page: Page) -> None:
    """One row a benchmark, in the sheet's order, with the sheet's words, and its kind to filter by."""
    rows = [a for t, a in page.elements if t == "tr" and "data-panel" in a]
    table = sheet.report(made[0]).tables[-1]
    assert [row["data-name"] for row in rows] == [visible(row.name) for row in table.rows]
    assert [row["data-kind"] for row in rows] == [row.kind for row in table.rows]
    texts = {text for _, text in page.texts}
    assert all(cell.text in texts for row in table.rows for cell in row.cells[1:4])
    told = [
        c.speedup.value if c.key is None and c.speedup else c.key for row in table.rows for c in row.cells
    ]
    keys = [float(str(a["data-k"])) for t, a in page.elements if t == "td" and "data-k" in a]
    told = [key for key in told if key is not None and np.isfinite(key)]
    assert keys[: len(told)] == told != []
    parts = sheet.report(made[0], details=True).sections
    assert parts
    assert {part.title for part in parts} <= {*page.text_of("summary")}


def test_ratios_are_drawn_where_they_lie() -> None:
    """On a logarithmic axis from a half to four; what has no end goes to the edge with an arrow."""
    nan, inf = np.nan, np.inf
    of = {
        (1.0, 0.5, 2.0): ("34.333", "3.0 cap", "65.667 cap", "equivalent"),
        (2.0, 1.0, 4.0): ("65.667", "34.333 cap", "97.0 cap", "faster"),
        (0.5, 0.0, 1.0): ("3.0", "3.0 left", "34.333 cap", "slower"),
        (4.0, 1.0, inf): ("97.0", "34.333 cap", "97.0 right", "faster"), (1.0, nan, nan): ("34.333", "undecided"),
    }  # fmt: skip
    styles: dict[str, tuple[Style, Style]] = {
        "equivalent": ("", ""), "faster": ("good", ""), "slower": ("", "bad"), "undecided": ("dim", "bad"),
    }  # fmt: skip
    rows = []
    for ratio, (*_, colour) in of.items():
        own, first = styles[colour]
        rows.append(Row.of(Cell("b", first), Cell("ratio", own, speedup=Estimate(*ratio, 0.95))))
    page = render(Report("", (Text("t"),), (Table.of((Column("name"), Column("change")), rows),)))
    for (at, *ends), mark in zip(of.values(), re.findall('<g class="(.*?)</g>', page), strict=True):
        uses = re.findall(r'href="#-(\w+)"(?: class="(\w+)")? x="([\d.]+)%"', mark)
        known = [(kind, "", x) for x, kind in (end.split() for end in ends[:-1])]
        assert uses == [*known, ("dot", "" if known else "bare", at)]
        assert mark.startswith(f'{ends[-1]}">')
        drawn = re.findall(r'<line x1="([\d.]+)%" x2="([\d.]+)%"', mark)
        assert drawn == ([(known[0][2], known[1][2])] if known else [])
    ticks = re.findall(r'<text x="([\d.]+)%" y="13">(\d[\d.]*)</text>', page)
    assert {("34.333", "1"), ("65.667", "2")} <= {*ticks}


def panels_of(page: str) -> dict[str, list[str]]:
    """The versions of the panel of each row that has one."""
    read = Page(page)
    panels = json.loads(read.text_of("script")[0])["panels"]
    rows = [a for t, a in read.elements if t == "tr" and "data-panel" in a]
    return {str(row["data-name"]): panels[int(str(row["data-panel"]))]["labels"] for row in rows}


def test_panels_are_those_of_their_rows() -> None:
    """Of one benchmark's versions each has its own, of several benchmarks each; of metrics their own."""
    x = np.linspace(1.0, 1.1, 9)
    times = {"old": x, "new": 2 * x, "newer": 3 * x}
    found = sp.compare_suite(Suite.of_samples({"a": times}))
    expected = {"new": ["old", "new"], "newer": ["old", "newer"]}
    assert panels_of(FORMATS["html"].write(found.written(), "x.html")) == expected
    pairs = {name: {v: times[v] for v in ("old", "new")} for name in "ab"}
    found = sp.compare_suite(Suite.of_samples(pairs))
    assert panels_of(FORMATS["html"].write(found.written(), "x.html")) == {b: ["old", "new"] for b in pairs}
    samples = {
        (Key("a", metric), v): Sample(values * of, "s" if metric == "time" else "B", label=v)
        for metric, of in (("time", 1.0), ("rss", 2.0)) for v, values in pairs["a"].items()
    }  # fmt: skip
    both = sp.compare_suite(Suite(("old", "new"), samples), metric="all").written()
    sheets = replace(both, reports=sheet.reports(both.results, short=False))
    page = Page(FORMATS["html"].write(sheets, "x.html"))
    units = [
        panel["drawn"]["ticks"][0][1].split()[1] for panel in json.loads(page.text_of("script")[0])["panels"]
    ]
    assert units == ["s", "B"]


def test_accessible_structure(page: Page) -> None:
    """A language, one first heading, captions or labels for what needs them, sortable columns that say so."""
    tags = [tag for tag, _ in page.elements]
    assert dict(page.elements)["html"]["lang"] == "en"
    assert (tags.count("h1"), tags.count("table")) == (1, tags.count("caption"))
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


def test_a_chart_squeezes_its_values_for_no_few_others(make_suite: Callable[..., Made]) -> None:
    """One of eight or two of twenty lie at an edge, counted, if they span six times what the others do."""
    near = [0.0] * 5 + [1.0] * 5
    for x, told in (
        ([*near, 6.0], ""), ([*near, 6.5], "One value lies beyond the edge, up to 6.5."), ([*near, -5.0], ""),
        ([*near, -5.5], "One value lies beyond the edge, down to -5.5."),
        ([*near * 2, 9.5, 10.0], "2 values lie beyond the edge, up to 10."),
        ([*near * 2, -9.5, -10.0], "2 values lie beyond the edge, down to -10."),
        ([*near * 2, 9.5, 10.0, 10.5], ""), ([0.5] * 10 + [9.5], ""),
    ):  # fmt: skip
        (panel,) = panels(*make_suite({"a": (x, near)}, unit="")).values()
        assert panel["drawn"]["beyond"] == told


@pytest.mark.parametrize(("n", "many", "most"), [(1250, 1, 1000), (1000, 1, 1000), (250, 600, 200)])
def test_large_samples_are_thinned_evenly(
    n: int, many: int, most: int, make_suite: Callable[..., Made]
) -> None:
    """To a thousand values, and to 240,000 of all charts together; deciles are compared on 500 benchmarks."""
    x = np.arange(float(n))
    result, suite = make_suite({"a": (x, x[::-1] + 1.0)}, unit="")
    names = [f"b{i}" for i in range(many)]
    comparisons = tuple(replace(c, benchmark=name) for name in names for c in result.comparisons)
    samples = {(Key(name), v): suite.samples[Key("a"), v] for name in names for v in suite.versions}
    panel = panels(replace(result, comparisons=comparisons), replace(suite, samples=samples))[names[-1]]
    places = [round(k * (n - 1) / (most - 1)) for k in range(most)]
    drawn, turned = panel["drawn"]["samples"]
    assert drawn["order"] == [round(1000 * place / n) for place in places]
    assert turned["order"] == [round(1000 * (n - place) / n) for place in places]
    thinned = (
        [drawn["order"], [round(1000 * (place + 1) / n) for place in places]] if n > most else [None] * 2
    )
    assert [drawn["ranked"], turned["ranked"]] == thinned
    assert drawn["quartiles"] == [round(1000 * share * (n - 1) / n) for share in (0.25, 0.5, 0.75)]
    assert drawn["told"].startswith(f"{n} values of old: median {(n - 1) / 2:g}, middle half ")
    assert (panel["drawn"]["beyond"], panel["drawn"]["ordered"], drawn["n"]) == ("", True, n)


def test_deciles_that_no_interval_bounds_are_not_drawn(make_suite: Callable[..., Made]) -> None:
    for n, drawn in ((4, False), (40, True)):
        (panel,) = panels(*make_suite({"a": np.random.default_rng(1).lognormal(size=(2, n))})).values()
        assert (panel["shift"] is not None) == drawn
    assert panel["shift"]["one"] == next(at for at, label in panel["shift"]["ticks"] if label == "1")


@pytest.mark.parametrize("unit", ["process", "session"])
def test_a_point_is_a_process_where_one_side_has_several_values_of_each(unit: str) -> None:
    rng, six = np.random.default_rng(1), np.repeat(np.arange(6), 4)
    groups: dict[str, Any] = {"processes": six} if unit == "process" else {"sessions": six}
    others: dict[str, Any] = {} if unit == "process" else {"sessions": np.arange(9)}
    old = Sample(rng.normal(10, 1, 24), "s", label="old", **groups)
    new = Sample(rng.normal(10, 1, 9), "s", label="new", **others)
    suite = Suite(("old", "new"), {(Key("a"), "old"): old, (Key("a"), "new"): new})
    result = compare_suite(suite.pair("old", "new"), ("old", "new"), "time", Rules())
    for nested, told, n in (("process", f"Each point is the median of a {unit}.", 6), ("pool", "", 24)):
        (panel,) = panels(replace(result, nested=nested), suite).values()
        drawn = panel["drawn"]
        assert (drawn["beyond"], drawn["unit"]) == (told, unit if told else "run")
        assert [len(sample["order"]) for sample in drawn["samples"]] == [n, 9]


def test_a_notebook_has_paragraphs_and_tables() -> None:
    table = Table.of((Column("n"), Column("x", right=True)), [Row.of("a", "1")])
    more = Report("More", (Text("all"),))
    told = Report(
        "t", (Text("A < b", "", "(95 %)"), Text("But.")), (table,), (Text("  note"),), sections=(more,)
    )
    assert fragment(told).splitlines() == [
        '<p><b>A &lt; b</b> <span style="color: gray">(95 %)</span></p>', "<p>But.</p>",
        '<table><thead><tr><th style="text-align: left">n</th><th style="text-align: right">x</th></tr></thead>'
        "<tbody>", '<tr><td style="text-align: left">a</td><td style="text-align: right">1</td></tr>',
        "</tbody></table>", "<p>note</p>", "<details><summary>More</summary>", "<p><b>all</b></p>", "</details>",
    ]  # fmt: skip


def test_fields_that_differ_stand_first() -> None:
    """Of many values of one field the first four are shown."""
    fields = {
        "old": {"os": ("L",), "cpu": ("A",)},
        "new": {"os": ("L",), "cpu": (*"BCDEF",), "ram": (*"1234",)},
    }
    suite = Suite(("old", "new"), {}, fields=fields)
    assert fields_of(suite, "old", "new") == (
        ("cpu", "A", "5 values: B, C, D, E, ...", True), ("ram", "not told", "1, 2, 3, 4", True),
        ("os", "L", "L", False),
    )  # fmt: skip


def test_what_is_hidden_at_first_is_undecided() -> None:
    """Changes that are shown, not proven, are undecided to a pipeline, but nothing to hide."""
    rows = [
        Row.of(str(i), "~", name=str(i), outcome="undecided", kind=kind, folded=i > 0)
        for i, kind in enumerate(["slower"] * 7 + ["undecided"] * 7)
    ]
    page = Page(render(Report("", (Text("14"),), (Table.of((Column("name"), Column("change")), rows),))))
    assert page.text_of("option") == ["all but 7 undecided", "all 14", "7 slower", "7 undecided"]


def test_only_words_that_are_used_are_explained(make_suite: Callable[..., Made]) -> None:
    """A report without changes, bounds and marks needs no glossary; what the panel says is not said again."""
    table = Table.of((Column("component"), Column("mean")), [Row.of("1", "2 ms")])
    assert "dt" not in dict(Page(render(Report("", (Text("2 modes"),), (table,)))).elements)
    x, y = np.random.default_rng(0).normal([[20.0], [10.0]], 1.0, (2, 30))
    page = Page(html_report(make_suite({"a b": (x, y), "a-b": (x, y)})))
    assert [attributes.get("id") for _, attributes in page.elements].count("a-b") == 1
    assert any(title.startswith("On a typical run") for title in page.text_of("summary"))
    page = Page(html_report(make_suite({"a": (x, y)})))
    assert page.text_of("dt") == ["Change", "Proven"]
    assert not any(title.startswith("On a typical run") for title in page.text_of("summary"))


@pytest.mark.slow
def test_the_same_results_give_the_same_page() -> None:
    """No order of a set; a clock and random numbers others would see, who compare pages byte for byte."""
    examples = Path(__file__).parents[2] / "examples" / "gcc"
    files = [str(examples / f"{name}.json") for name in ("O2", "O3")]
    words = [sys.executable, "-m", "speedproof", "compare", *files, "--html", "-"]
    pages = {
        subprocess.run(words, env=os.environ | {"PYTHONHASHSEED": seed}, stdout=-1, check=True).stdout
        for seed in "12"
    }
    assert (len(pages), len(pages.pop()) > 10_000) == (1, True)

"""The gate's page and JUnit file, read back by parsers that are not ours and held against its JSON."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import math
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from speedproof.cli.console import Console
from speedproof.cli.main import main

HOSTILE = "</script><script>alert(1)</script>&lt;\x07"
# name -> (slowdown, noise, drifts); what comes out is the JSON's to say
BENCHMARKS = {
    "same": (1.0, 0.01, False),
    "slow": (1.2, 0.01, False),
    "noisy": (1.0, 0.3, False),
    "gain": (0.5, 0.01, False),
    "drift": (1.0, 0.001, True),
    HOSTILE: (1.3, 0.01, False),
    "changed": (1.1, 0.01, False),
    "lost": (1.0, 0.01, False),
}
SETTINGS = """
[[gate.benchmark]]
pattern = "gain"
policy = "proven-improvement"
[[gate.benchmark]]
pattern = "changed"
policy = "equivalence"
margin = "5%"
[[gate.benchmark]]
pattern = "ignored"
ignore = true
"""


def write(path: Path, seed: int, slower: bool) -> str:
    rng = np.random.default_rng(seed)
    results = []
    for name, (slowdown, noise, drifts) in BENCHMARKS.items():
        times = 10 * (slowdown if slower else 1) * (1 + noise * rng.uniform(-1, 1, 30))
        times *= 1 + 0.005 * np.arange(30) if drifts else 1
        if not (slower and name == "lost"):
            results.append({"command": name, "times": times.tolist()})
    more = "new" if slower else "ignored"
    results.append({"command": more, "times": [1.0, 1.1, 1.2]})
    path.write_text(json.dumps({"results": results}), encoding="utf-8")
    return str(path)


@dataclass(frozen=True)
class Made:
    """What one call wrote."""

    code: int
    result: dict[str, Any]
    xml: ET.Element
    page: str

    @property
    def rows(self) -> dict[str, dict[str, Any]]:
        return {row["comparison"]["benchmark"]: row for row in self.result["rows"]}


def make(folder: Path, *options: str) -> Made:
    out = io.StringIO()
    (folder / "s.toml").write_text(SETTINGS, encoding="utf-8")
    files = ["--baseline", write(folder / "old.json", 1, False), "--candidate"]
    files += [write(folder / "new.json", 2, True), "--config", str(folder / "s.toml")]
    html, junit = folder / "g.html", folder / "g.xml"
    targets = ["--html", str(html), "--junit", str(junit), "--json"]
    code = main(["gate", *files, *targets, "--protocol", "median", *options], Console(out, io.StringIO()))
    (result,) = json.loads(out.getvalue())["results"]
    return Made(code, result, ET.parse(junit).getroot(), html.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    found = make(tmp_path_factory.mktemp("gate"))
    # The premise: every outcome and everything beside the rows is there.
    assert {row["outcome"] for row in found.result["rows"]} == {"pass", "fail", "undecided"}
    assert [absent["benchmark"] for absent in found.result["absent"]] == ["lost"]
    assert (found.result["added"], found.result["ignored"]) == (["new"], ["ignored"])
    return found


def shown(name: str) -> str:
    """A name as XML can hold it."""
    return name.replace("\x07", "\ufffd")


@pytest.mark.parametrize("undecided", ["report", "pass", "fail"])
def test_cases_are_the_rows(made: Made, tmp_path: Path, undecided: str) -> None:
    """One case a benchmark under its policy and metric; a failure where the JSON says fail or missing."""
    xml = make(tmp_path, "--undecided", undecided).xml
    (suite,) = xml.findall("testsuite")
    cases = {case.attrib["name"]: case for case in suite.findall("testcase")}
    assert list(cases) == [*map(shown, made.rows), "lost"]
    for name, row in made.rows.items():
        case, outcome = cases[shown(name)], row["outcome"]
        assert case.attrib["classname"] == f"{row['demand']['policy']}/time"
        fails = outcome == "fail" or (outcome == "undecided" and undecided == "fail")
        assert (case.find("failure") is not None) == fails
        assert (case.find("skipped") is not None) == (outcome == "undecided" and not fails)
        text = "".join(case.itertext()) + "".join(e.attrib.get("message", "") for e in case.iter())
        assert f"asked: {row['required']['hypothesis']}" in text
        assert f"{row['comparison']['speedup']['value']:.3f} [" in text
        if outcome == "fail":
            assert case.find("failure").attrib["type"] == row["contradicted"]["name"]  # type: ignore[union-attr]
    assert cases["lost"].find("failure").attrib["type"] == "missing"  # type: ignore[union-attr]
    for element in (xml, suite):
        assert int(element.attrib["tests"]) == len(cases)
        assert int(element.attrib["failures"]) == len(suite.findall("testcase/failure"))
        assert int(element.attrib["skipped"]) == len(suite.findall("testcase/skipped"))
        assert element.attrib["errors"] == "0"


def test_properties_of_the_whole(made: Made) -> None:
    """They come before the cases, where CI systems look for them, and say what the JSON says."""
    (suite,) = made.xml
    assert suite[0].tag == "properties"
    found = {p.attrib["name"]: p.attrib["value"] for p in suite[0]}
    assert found["outcome"] == made.result["outcome"] == "fail"
    assert (found["baseline"], found["candidate"]) == (made.result["reference"], made.result["candidate"])
    assert (found["protocol"], found["multiplicity"]) == ("median", "holm")
    assert "A false pass has a risk of at most 5 %" in found["risk"]
    assert found["new, without bearing"] == "new"
    assert found["ignored by the settings"] == "ignored"


def test_doubts_are_output(made: Made) -> None:
    """Exactly the cases whose runs drift have a line with ! in their output."""
    marked = {
        case.attrib["name"]
        for case in made.xml.iter("testcase")
        if any(line.startswith("! ") for line in (case.findtext("system-out") or "").splitlines())
    }
    failed = {
        shown(name)
        for name, row in made.rows.items()
        if any(c["kind"] in ("drift", "run order") and not c["held"] for c in row["comparison"]["checks"])
    }
    assert marked == failed
    assert "drift" in marked


class Page(HTMLParser):
    """Elements in order, each with its attributes and the texts inside of it; checks that they nest."""

    VOID = frozenset({"meta", "input", "br"})

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str], list[str]]] = []
        self._open: list[tuple[str, list[str]]] = []
        self.inside: list[tuple[str, ...]] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        texts: list[str] = []
        self.elements.append((tag, {k: v or "" for k, v in attrs}, texts))
        if tag not in self.VOID:
            self._open.append((tag, texts))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {k: v or "" for k, v in attrs}, []))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        for _, texts in self._open:
            texts.append(data)

    def rows(self) -> list[list[tuple[str, dict[str, str], str]]]:
        """Rows of the forest, each as its elements."""
        found: list[list[tuple[str, dict[str, str], str]]] = []
        for tag, attributes, texts in self.elements:
            if tag == "tr":
                found.append([])
            if found:
                found[-1].append((tag, attributes, "".join(texts)))
        return [row for row in found if "data-row" in row[0][1]]


@pytest.fixture(scope="module")
def page(made: Made) -> Page:
    return Page(made.page)


def test_page_has_a_row_a_benchmark(made: Made, page: Page) -> None:
    """Failing ones first; name, outcome, speedup and p-values are those of the JSON; bounds never say more."""
    rows = {next(a["data-k"] for t, a, _ in row if t == "th"): row for row in page.rows()}
    assert set(rows) == set(made.rows)
    outcomes = [row[0][1]["data-outcome"] for row in rows.values()]
    assert outcomes == sorted(outcomes, key=["fail", "undecided", "pass"].index)
    for name, row in rows.items():
        told = made.rows[name]
        assert row[0][1]["data-outcome"] == told["outcome"]
        (said,) = (text.split() for t, a, text in row if t == "td" and a.get("class") == "said")
        assert said[0] == f"{told['comparison']['speedup']['value']:.3f}"
        assert told["outcome"] in said
        doubtful = any(
            c["kind"] in ("drift", "run order") for c in told["comparison"]["checks"] if not c["held"]
        )
        assert ("!" in said) == doubtful
        low, high = (float(word.strip("[,]")) for word in said[-2:])
        assert low <= told["comparison"]["speedup"]["low"]
        assert high >= told["comparison"]["speedup"]["high"]
        keys = [float(a["data-k"]) for _, a, _ in row if a.get("class") == "num" and "data-k" in a]
        assert keys == [told["required"]["adjusted"], told["contradicted"]["adjusted"]]


def test_chart_shows_what_was_decided(made: Made, page: Page) -> None:
    """Duality of tests and bounds: a row passes exactly when its interval lies in the part that is asked."""
    for row in page.rows():
        name = next(a["data-k"] for t, a, _ in row if t == "th")
        (asked,) = (a for t, a, _ in row if t == "rect" and a["class"] == "asked")
        (line,) = (a for t, a, _ in row if t == "line")
        start, width, x1, x2 = (
            float(v.rstrip("%")) for v in (asked["x"], asked["width"], line["x1"], line["x2"])
        )
        inside = start < x1 and x2 < start + width
        assert inside == (made.rows[name]["outcome"] == "pass"), name
        # Only a policy with two edges ends before the axis does.
        assert math.isclose(start + width, 100, abs_tol=0.01) == (name != "changed")


def test_answer_and_risk_come_first(made: Made, page: Page) -> None:
    """In the title, the heading and the first sentences; then the chart, then what is missing and left out."""
    titles = {tag: "".join(texts) for tag, _, texts in page.elements if tag in ("title", "h1")}
    assert titles["title"] == "fail: new against old – speedproof"
    assert titles["h1"] == "fail new against old"
    parts = [
        "FAIL: ",
        "A false pass has a risk",
        'class="forest',
        "lost: old has measurements of it",
        "New in new",
    ]
    parts += [
        "Ignored by the settings: ignored",
        "equivalence with a margin of 5 % on 1 benchmark",
        "--junit",
    ]
    places = [made.page.index(part) for part in parts[:-2]]
    assert places == sorted(places)
    assert all(part in made.page for part in parts)
    words = " ".join(text for _, _, texts in page.elements for text in texts)
    for outcome in ("pass", "fail", "undecided"):
        assert f"{sum(row['outcome'] == outcome for row in made.result['rows'])} {outcome}" in words
    assert "1 missing" in words


def test_panels_carry_the_gates_sentence(made: Made, page: Page) -> None:
    """One panel a row, in the rows' order, with every value of both sides and the outcome."""
    (text,) = ("".join(x) for t, a, x in page.elements if t == "script" and a.get("type"))
    (panels,) = json.loads(text)
    names = [next(a["data-k"] for t, a, _ in row if t == "th") for row in page.rows()]
    assert [panel["name"] for panel in panels] == names
    for panel in panels:
        ((outcome, sentence),) = panel["said"]
        row = made.rows[panel["name"]]
        assert outcome == row["outcome"]
        decisive = "contradicted" if outcome == "fail" else "required"
        assert row[decisive]["hypothesis"] in sentence
        assert [sample["n"] for sample in panel["drawn"]["samples"]] == [30, 30]


def test_page_is_by_itself(page: Page) -> None:
    """The policy of the page allows its own script and style by their hashes, nothing refers to the outside."""
    (policy,) = (
        a["content"] for _, a, _ in page.elements if a.get("http-equiv") == "Content-Security-Policy"
    )
    (style,) = ("".join(x) for t, _, x in page.elements if t == "style")
    (script,) = ("".join(x) for t, a, x in page.elements if t == "script" and "type" not in a)
    allowed = {
        kind: f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
        for kind, text in (("style-src", style), ("script-src", script))
    }
    rules = dict(part.strip().partition(" ")[::2] for part in policy.split(";"))
    assert rules == {"default-src": "'none'", "base-uri": "'none'", "form-action": "'none'", **allowed}
    for tag, attributes, _ in page.elements:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base", "form", "a")
        assert not {"src", "srcset", "style", "action"} & set(attributes)
        assert not any(name.startswith("on") for name in attributes)
        assert attributes.get("href", "#").startswith("#")


def test_everything_missing(tmp_path: Path) -> None:
    """No row at all: the page says what is missing, the XML has nothing but failures."""
    for name in ("old", "new"):
        (tmp_path / f"{name}.csv").write_text(f"benchmark,value\nof_{name},1\nof_{name},2\n")
    targets = ["--html", str(tmp_path / "g.html"), "--junit", str(tmp_path / "g.xml")]
    files = ["--baseline", str(tmp_path / "old.csv"), "--candidate", str(tmp_path / "new.csv")]
    assert main(["gate", *files, *targets], Console(io.StringIO(), io.StringIO())) == 1
    text = (tmp_path / "g.html").read_text(encoding="utf-8")
    assert Page(text).rows() == []
    assert "of_old: old has measurements of it, new has none" in text
    root = ET.parse(tmp_path / "g.xml").getroot()
    assert [c.attrib["name"] for c in root.iter("testcase")] == ["of_old"]
    assert (root.attrib["tests"], root.attrib["failures"]) == ("1", "1")


def test_several_metrics(tmp_path: Path) -> None:
    """Rows of every metric, each with its own panel, and cases told apart by their class."""
    for name in ("old", "new"):
        rows = [f"x,time,s,{1 + i / 1000}\nx,memory,B,{1000 + i}\n" for i in range(20)]
        (tmp_path / f"{name}.csv").write_text("benchmark,metric,unit,value\n" + "".join(rows))
    targets = ["--html", str(tmp_path / "g.html"), "--junit", str(tmp_path / "g.xml"), "--metric", "all"]
    files = ["--baseline", str(tmp_path / "old.csv"), "--candidate", str(tmp_path / "new.csv")]
    assert main(["gate", *files, *targets], Console(io.StringIO(), io.StringIO())) == 0
    found = Page((tmp_path / "g.html").read_text(encoding="utf-8"))
    names = [next(a["data-k"] for t, a, _ in row if t == "th") for row in found.rows()]
    assert sorted(names) == ["x (memory)", "x (time)"]
    (panels,) = json.loads("".join(next(x for t, a, x in found.elements if t == "script" and a.get("type"))))
    units = {"s": "x (time)", "B": "x (memory)"}
    assert [units[panel["drawn"]["unit"]] for panel in panels] == names
    classes = [c.attrib["classname"] for c in ET.parse(tmp_path / "g.xml").getroot().iter("testcase")]
    assert sorted(classes) == ["no-regression/memory", "no-regression/time"]

"""Any report in any format; Markdown read back by a parser that is not ours."""

import csv
import io
import math
import pkgutil
import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from speedproof.conclude.suite import SuiteComparison
from speedproof.data.names import visible
from speedproof.data.suite import Suite
from speedproof.reporting import sheet, text
from speedproof.reporting.formats import latex
from speedproof.reporting.formats.csv import separated
from speedproof.reporting.formats.markdown import code, escape, render
from speedproof.reporting.model import (
    FORMATS,
    Cell,
    Column,
    Meaning,
    Report,
    Reported,
    Row,
    Style,
    Table,
    Text,
)
from speedproof.reporting.rows import COLUMNS

Made = tuple[SuiteComparison, Suite]


def test_a_format_is_one_module() -> None:
    """No format imports a result or another format; no result imports a format."""
    results = {"sheet", "versions", "gate", "hpt", "ranking", "session", "details", "mixtures"}
    folder = Path(text.__file__).parent
    formats = {"text": folder / "text.py", "html": folder / "formats/html/__init__.py"}
    formats |= {path.stem: path for path in (folder / "formats").glob("[a-z]*.py")}
    assert set(FORMATS) <= set(formats)
    assert results <= {module.name for module in pkgutil.iter_modules([str(folder)])}
    for name, path in (formats | {name: folder / f"{name}.py" for name in results}).items():
        imported = set(
            re.findall(r"from speedproof\.reporting(?:\.formats)?(?:\.| import )(\w+)", path.read_text())
        )
        assert not imported & (set(formats) - {name}), name
        assert name not in formats or not imported & results, name


@pytest.mark.parametrize("delimiter", [",", "\t"])
@pytest.mark.parametrize("which", ["mixed", "hostile"])
def test_against_the_csv_reader(which: str, delimiter: str, request: pytest.FixtureRequest) -> None:
    """Python's reader gives back every name and every number, bit for bit; no check is named twice."""
    result, _ = request.getfixturevalue(which)
    made = FORMATS["csv"].write(Reported((sheet.report(result),)), "x.tsv" if delimiter == "\t" else "")
    rows = list(csv.DictReader(io.StringIO(made), delimiter=delimiter))
    assert len(rows) == len(result.comparisons)
    assert tuple(rows[0]) == ("reference", "candidate", *COLUMNS)
    for row, c in zip(rows, result.comparisons, strict=True):
        assert row["benchmark"].removeprefix("'") == visible(c.benchmark)
        assert (row["protocol"], row["verdict"]) == (c.protocol, c.verdict)
        for name, value in (
            ("speedup", c.speedup.value), ("low", c.speedup.low), ("high", c.speedup.high),
            ("pvalue", c.pvalue), ("reference_mean", c.reference.mean),
            ("candidate_maximum", c.candidate.maximum),
        ):  # fmt: skip
            assert float(row[name]) == value if math.isfinite(value) else row[name] == ""
        failed = row["failed_checks"].split("; ")
        assert len(failed) == len(set(failed))


_UNESCAPED = {
    "textbackslash{}": "\\", "{": "{", "}": "}", "$": "$", "&": "&", "#": "#", "_": "_", "%": "%",
    "textasciitilde{}": "~", "textasciicircum{}": "^", "textless{}": "<", "textgreater{}": ">", "textbar{}": "|",
    "textquotedbl{}": '"', "textasciigrave{}": "`", "textquotesingle{}": "'", "textmu{}": "µ", "ldots{}": "…",
}  # fmt: skip


def _as_latex_prints(source: str) -> str:
    """What the few commands that may occur print; anything else that is special is an error."""
    out, place = "", 0
    while place < len(source):
        if source.startswith("{-}", place):
            out, place = out + "-", place + 3
        elif source.startswith((r"$\pm$", r"$\infty$"), place):
            sign = "±" if source[place + 2] == "p" else "∞"
            out, place = out + sign, place + (5 if sign == "±" else 8)
        elif source[place] == "\\":
            found = re.match(r"\\([a-z]+\{\}|[{}$&#_%])", source[place:])
            assert found is not None, source[place:]
            out, place = out + _UNESCAPED[found[1]], place + len(found[0])
        else:
            assert source[place] not in "{}$&#_%~^<>|\"`'-", source[place:]
            out, place = out + source[place], place + 1
    return out


@given(st.text(max_size=40))
def test_latex_prints_any_name_as_it_is(name: str) -> None:
    """Nothing special is left unescaped; control characters become spaces."""
    assert _as_latex_prints(latex.escape(name)) == "".join(c if c.isprintable() else " " for c in name)


@pytest.mark.parametrize("which", ["mixed", "hostile"])
def test_latex_rows_have_a_cell_a_column(which: str, request: pytest.FixtureRequest) -> None:
    """Each line of a table separates as many cells as its head says, whatever the names."""
    result, _ = request.getfixturevalue(which)
    made = FORMATS["latex"].write(Reported((sheet.report(result),)), "")
    body = made.partition(r"\toprule")[2].partition(r"\bottomrule")[0]
    lines = [line for line in body.splitlines() if line.endswith(r"\\")]
    assert len(lines) == 1 + len(result.benchmarks)
    assert len({len(re.findall(r"(?<!\\)&", line)) for line in lines}) == 1


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20"])
@pytest.mark.parametrize("before", ["", " ", "\u3000 ", "\t", "\r", "\n"])
def test_no_cell_is_a_formula(before: str, sign: str) -> None:
    """OWASP's signs, also behind blanks and in full width; numbers keep their sign; no escape is obeyed."""
    (cell,) = next(csv.reader(io.StringIO(separated((), [[f"{before}{sign}1+1"]]))))
    assert cell.startswith("'")
    assert separated((), [["-5", "+3 %", "-1.5e-3", " -5", "a=1", 2.0]]) == "-5,+3 %,-1.5e-3, -5,a=1,2.0\n"
    assert separated((), [["\x1b[31mred\x07"]]) == "\\x1b[31mred\\x07\n"


PARSER = MarkdownIt("commonmark").enable("table")


def _cells(text: str) -> list[list[list[Token]]]:
    """Rows of all tables, each cell as its inline tokens."""
    rows: list[list[list[Token]]] = []
    for token in (tokens := PARSER.parse(text)):
        if token.type == "tr_open":
            rows.append([])
        elif (
            token.type == "inline" and rows and tokens[tokens.index(token) - 1].type in ("td_open", "th_open")
        ):
            rows[-1].append(token.children or [])
    return rows


def test_hostile_names_are_text(hostile: Made) -> None:
    """No HTML but our own, no link, no mention, no reference to an issue."""
    report = sheet.report(hostile[0], details=True)
    text = render(report, marker="speedproof --> <script>", made="speedproof compare '<b>' `x`")
    found: set[str] = set()
    for token in PARSER.parse(text):
        for t in [token, *(token.children or [])]:
            assert t.type not in ("link_open", "image")
            if t.type in ("html_inline", "html_block"):
                found.add(t.content.strip())
    allowed = r"<details><summary>[\w ()'-]+</summary>|</details>|<sub>|</sub>|<!-- [\w. -]*-->"
    assert all(re.fullmatch(allowed, tag) for tag in found), found
    outside = re.sub(r"(`+).*?\1", "", text)
    assert re.search(r"[@#](?!<!-- -->)[\w]", outside) is None
    names = {"".join(t.content for t in row[0]) for row in _cells(text)[1:]}
    assert {" ".join(visible(n).split()) for n in hostile[0].benchmarks} <= names


BEGINNINGS = ("1. one", "12) two", "- a", "+ b", "=== c", "1.5 [1, 2]", "# d", "> e", "a\\*b*", "&amp;")


@given(
    st.sampled_from(BEGINNINGS)
    | st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=30)
)
def test_any_sentence_shows_as_it_is(text: str) -> None:
    """A parser reads one paragraph of plain text, equal to what was written, up to blanks and our comments."""
    assert _shown(escape(text)).split() == visible(text).split()


def _shown(source: str) -> str:
    tokens = PARSER.parse(source)
    assert {t.type for t in tokens} <= {"paragraph_open", "inline", "paragraph_close"}
    parts = [c for t in tokens for c in t.children or []]
    assert all(c.type in ("text", "text_special") or c.content == "<!-- -->" for c in parts)
    return "".join(c.content for c in parts if c.type != "html_inline")


STYLES: list[tuple[str, Style, Meaning]] = [
    ("a|b", "good", "passed"), ("c", "bad", "failed"), ("d", "", "undecided"),
]  # fmt: skip
ROWS = [
    Row.of(Cell(name, "strong"), Cell("1.2x", style), "1", kind="x", folded=name != "a|b", outcome=outcome)
    for name, style, outcome in STYLES
]
TABLE = Table.of(
    (Column("name", names=True), Column("change"), Column("n", right=True)), ROWS, rest={"x": 2, "y": 1}
)
SMALL = Report(
    "t", (Text("t"), Text("It is", "good", "(95 %)"), Text("So.", "bad", "more")),
    (Table.of((Column("k"),), [("v",)]), TABLE), (Text("  deep"), Text("note", "", "aside")), ("hint",),
    (Report("Part", (Text("in"),)), Report("", (Text("k"),))),
)  # fmt: skip
HEAD = ["| `name` | change | n |", "|---|---|---:|"]
LINES = [r"| `a\|b` | **1.2x** | 1 |", "| `c` | **1.2x** | 1 |", "| `d` | 1.2x | 1 |"]


def test_a_small_report_in_every_format() -> None:
    """Folded rows are counted and stand whole below; the main table has the caption; outcomes are tests."""
    made = render(SMALL, marker="by <it>", made="cmd").splitlines()
    assert [line for line in made if line] == [
        "<!-- by  it  -->", "### t", "🟢 It is (95 %)", "🔴 So. more", "| k |", "|---|", "| v |", *HEAD, LINES[0],
        "and 4 more x, 1 more y", "- deep", "note aside", "<details><summary>All 3 rows</summary>", *HEAD, *LINES,
        "</details>", "<details><summary>Part</summary>", "**in**", "</details>",
        "<details><summary>More</summary>", "**k**", "</details>", "<sub>`cmd`</sub>",
    ]  # fmt: skip
    assert [code(name) for name in ("a`b``c", "`x", "")] == ["```a`b``c```", "`` `x ``", "` `"]
    tabular = FORMATS["latex"].write(Reported([SMALL]), "").splitlines()
    assert [line for line in tabular if "caption" in line or line.startswith(r"\begin{tabular}")] == [
        r"\begin{tabular}{l}", r"\caption{t. t}", r"\begin{tabular}{llr}",
    ]  # fmt: skip
    assert tabular[-6:-3] == [f"{name} & 1.2x & 1 \\\\" for name in (r"a\textbar{}b", "c", "d")]
    assert (
        FORMATS["csv"].write(Reported([SMALL] * 2), "")
        == "name,change,n\n" + "a|b,1.2x,1\nc,1.2x,1\nd,1.2x,1\n" * 2
    )
    root = ElementTree.fromstring(FORMATS["junit"].write(Reported([SMALL]), ""))
    (suite,) = root
    counts = {"tests": "3", "failures": "1", "errors": "0", "skipped": "1", "time": "0"}
    assert (root.attrib, suite.attrib) == ({"name": "speedproof", **counts}, {"name": "t", **counts})
    assert suite[0][0].attrib == {"name": "conclusion", "value": "t. It is (95 %). So.; more."}
    assert [(case.get("name"), [part.tag for part in case]) for case in suite[1:]] == [
        ("a|b", ["system-out"]), ("c", ["failure"]), ("d", ["skipped", "system-out"]),
    ]  # fmt: skip


@pytest.mark.parametrize(("many", "shown"), [(1, 571), (2, 285)])
def test_fits_into_comments(many: int, shown: int) -> None:
    """Of 105 characters a row, with the end of its line, and 60,000 for all reports."""
    table = Table.of((Column("n"),), [Row.of("x" * 100) for _ in range(700)])
    text = render(*[Report("t", (Text("a"),), (table,))] * many)
    assert text.count("x" * 100) == many * shown
    assert text.count(f"{700 - shown} more rows do not fit into a comment") == many


def test_fits_into_a_comment(thousand: Made) -> None:
    """A thousand benchmarks stay under GitHub's 65,536 characters, and what is left out is counted."""
    text = render(sheet.report(thousand[0], details=True))
    assert len(text) < 65_536
    assert re.search(r"^\d+ more rows do not fit", text, re.MULTILINE)
    assert text.count("<details>") == text.count("</details>")


def test_nothing_compared(make_suite: Callable[..., Made]) -> None:
    text = render(sheet.report(make_suite({})[0]))
    assert "No benchmark was measured with both versions." in text
    assert "<details>" not in text

"""Markdown, read back by a parser that is not ours."""

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from speedproof.data.names import visible
from speedproof.data.suite import Suite
from speedproof.protocols.suite import SuiteComparison
from speedproof.reporting import sheet
from speedproof.reporting.formats.markdown import code, escape, render
from speedproof.reporting.model import Report

Made = tuple[SuiteComparison, Suite]
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


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=30))
def test_any_name_is_one_code_span_in_a_table(name: str) -> None:
    """A parser sees one cell with one code span that holds the name, up to runs of blanks."""
    rows = _cells(f"| a | b |\n|---|---|\n| {code(name)} | x |\n")
    assert len(rows[1]) == 2
    spans = [t for t in rows[1][0] if t.type == "code_inline"]
    assert len(spans) == 1
    assert spans[0].content.split() == visible(name).split()
    assert all(t.type == "code_inline" or not t.content.strip() for t in rows[1][0])


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
    allowed = r"<details><summary>[\w ]+</summary>|</details>|<sub>|</sub>|<!-- [\w. -]*-->"
    assert all(re.fullmatch(allowed, tag) for tag in found), found
    outside = re.sub(r"(`+).*?\1", "", text)
    assert re.search(r"[@#](?!<!-- -->)[\w]", outside) is None
    names = {"".join(t.content for t in row[0]) for row in _cells(text)[1:]}
    assert {" ".join(visible(n).split()) for n in hostile[0].benchmarks} <= names


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=30))
def test_any_sentence_shows_as_it_is(text: str) -> None:
    """A parser reads one paragraph of plain text, equal to what was written, up to blanks and our comments."""
    shown = _shown(escape(text))
    assert shown.split() == visible(text).split()


@pytest.mark.parametrize(
    "text", ["1. one", "12) two", "- a", "+ b", "=== c", "1.5 [1, 2]", "# d", "> e", "a\\*b*", "&amp;"]
)
def test_what_would_be_a_list_or_a_heading_is_text(text: str) -> None:
    """The beginnings of lines that mean something in Markdown."""
    assert _shown(escape(text)) == text


def _shown(source: str) -> str:
    tokens = PARSER.parse(source)
    assert {t.type for t in tokens} <= {"paragraph_open", "inline", "paragraph_close"}
    parts = [c for t in tokens for c in t.children or []]
    assert all(c.type in ("text", "text_special") or c.content == "<!-- -->" for c in parts)
    return "".join(c.content for c in parts if c.type != "html_inline")


def test_numbers_are_those_of_the_terminal(mixed: Made) -> None:
    """Each cell reads, for a person, as it does on the terminal."""
    report = sheet.report(mixed[0])
    rows = {"".join(t.content for t in row[0]): row for row in _cells(render(report))}
    for row in report.tables[-1].rows:
        shown = ["".join(t.content for t in cell if t.type != "html_inline") for cell in rows[row.name]]
        assert shown == [cell.text for cell in row.cells]


def test_the_clearest_are_open_the_rest_folded(thousand: Made) -> None:
    """A comment opens with what changed most; every benchmark is below, as far as a comment holds them."""
    text = render(sheet.report(thousand[0]))
    above, _, below = text.partition("<details>")
    opened = above.count("\n| `")
    assert 10 <= opened <= 15
    assert re.search(r"^and \d+ more slower, \d+ more faster", above, re.MULTILINE)
    assert below.count("\n| `") > 100


def test_fits_into_a_comment(thousand: Made) -> None:
    """A thousand benchmarks stay under GitHub's 65,536 characters, and what is left out is counted."""
    text = render(sheet.report(thousand[0], details=True))
    assert len(text) < 65_536
    assert re.search(r"^\d+ more rows do not fit", text, re.MULTILINE)
    assert text.count("<details>") == text.count("</details>")


def test_a_bot_finds_its_comment() -> None:
    """The marker is the first line, and cannot end the comment that it is in."""
    assert render(Report("a", ()), marker="x --> y").startswith("<!-- x --  y -->\n")


def test_nothing_compared(make_suite: Callable[..., Made]) -> None:
    """No benchmark in common: the reason and nothing else."""
    text = render(sheet.report(make_suite({})[0]))
    assert "No benchmark was measured with both versions." in text
    assert "<details>" not in text

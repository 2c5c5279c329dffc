"""Markdown, read back by a parser that is not ours."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from speedproof.data.suite import Suite
from speedproof.protocols.suite import SuiteComparison
from speedproof.report.markdown import _escape, code, markdown
from speedproof.report.stored import Context
from speedproof.report.wording import MARKS, bounds

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
    assert spans[0].content.split() == name.split()
    assert all(t.type == "code_inline" or not t.content.strip() for t in rows[1][0])


def test_hostile_names_are_text(hostile: Made) -> None:
    """No HTML but our own, no link, no mention, no reference to an issue."""
    text = markdown([hostile[0]], Context("speedproof compare '<b>' `x`", {"speedproof": "1"}))
    found: set[str] = set()
    for token in PARSER.parse(text):
        for t in [token, *(token.children or [])]:
            assert t.type not in ("link_open", "image")
            if t.type in ("html_inline", "html_block"):
                found.add(t.content.strip())
    assert {re.sub("All [0-9]+ b", "All b", tag) for tag in found} == {
        "<details><summary>All benchmarks, checks and remarks</summary>",
        "</details>",
        "<sub>",
        "</sub>",
        "<!-- -->",
    }
    outside = re.sub(r"(`+).*?\1", "", text)
    assert re.search(r"[@#](?!<!-- -->)[\w]", outside) is None
    names = {"".join(t.content for t in row[0]) for row in _cells(text)[1:]}
    assert {" ".join(n.split()) for n in hostile[0].benchmarks} <= names


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=30))
def test_any_sentence_shows_as_it_is(text: str) -> None:
    """A parser reads one paragraph of plain text, equal to what was written, up to blanks and our comments."""
    shown = _shown(_escape(text))
    assert shown.split() == text.split()


@pytest.mark.parametrize(
    "text", ["1. one", "12) two", "- a", "+ b", "=== c", "1.5 [1, 2]", "# d", "> e", "a\\*b*", "&amp;"]
)
def test_what_would_be_a_list_or_a_heading_is_text(text: str) -> None:
    """The beginnings of lines that mean something in Markdown."""
    assert _shown(_escape(text)) == text


def _shown(source: str) -> str:
    tokens = PARSER.parse(source)
    assert {t.type for t in tokens} <= {"paragraph_open", "inline", "paragraph_close"}
    parts = [c for t in tokens for c in t.children or []]
    assert all(c.type in ("text", "text_special") or c.content == "<!-- -->" for c in parts)
    return "".join(c.content for c in parts if c.type != "html_inline")


def test_numbers_are_those_of_the_terminal(mixed: Made) -> None:
    """Each cell reads, for a person, as the word and the numbers with their bounds."""
    rows = {"".join(t.content for t in row[0]): row for row in _cells(markdown([mixed[0]]))}
    for c in mixed[0].comparisons:
        if c.protocol != "single run":
            cell = rows[c.benchmark][mixed[0].protocols.index(c.protocol) + 1]
            text = "".join(t.content for t in cell)
            doubt = " !" if c.doubts else ""
            assert text == f"{MARKS[c.verdict]} {c.verdict.value}{doubt} {bounds(c.speedup)}"


def test_proven_first_the_rest_folded(mixed: Made) -> None:
    """What changed is shown above the fold, the clearest first; everything is below it."""
    text = markdown([mixed[0]])
    above, _, below = text.partition("<details>")
    shown = re.findall(r"^\| `(\w+)`", above, re.MULTILINE)
    decided = [
        c for c in mixed[0].comparisons if c.protocol != "single run" and c.verdict in ("faster", "slower")
    ]
    factors: dict[str, float] = {}
    for c in decided:
        factor = c.speedup.low if c.verdict == "faster" else 1 / c.speedup.high
        factors[c.benchmark] = max(factor, factors.get(c.benchmark, 0))
    assert shown == sorted(factors, key=lambda name: -factors[name])
    assert {"gain", "loss"} <= set(shown)
    assert "open" not in shown
    assert set(re.findall(r"^\| `(\w+)`", below, re.MULTILINE)) == set(mixed[0].benchmarks)


def test_fits_into_a_comment(thousand: Made) -> None:
    """A thousand benchmarks stay under GitHub's 65,536 characters, and what is left out is counted."""
    text = markdown([thousand[0]])
    assert 40_000 < len(text) < 65_536
    cut = re.search(r"^(\d+) more rows would not fit", text, re.MULTILINE)
    assert cut is not None
    listed = len(re.findall(r"^\| `group", text.partition("<details>")[2], re.MULTILINE))
    assert listed + int(cut[1]) == 1000


def test_nothing_compared(make_suite: Callable[..., Made]) -> None:
    """No benchmark in common: the reason and nothing else."""
    result, _ = make_suite({})
    assert "No benchmark has measurements of both versions." in markdown([result])
    assert "<details>" not in markdown([result])

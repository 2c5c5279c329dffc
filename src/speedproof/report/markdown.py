"""Markdown for pull requests and job summaries: the conclusion and what is proven; the rest folded away."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from speedproof.protocols.results import Comparison, Verdict
from speedproof.protocols.suite import SuiteComparison
from speedproof.report.blocks import Block, Fitted, Table, Text
from speedproof.report.comparisons import LEGEND, suite_blocks
from speedproof.report.stored import Context
from speedproof.report.wording import MARKS, bounds, chance

__all__ = ["code", "markdown"]

_TITLES = {
    "mean": "speedup of mean",
    "typical": "typical speedup",
    "median": "speedup of median",
    "single run": "P[faster run]",
    "touati2009": "2009 protocol",
}
_SHORT = 10
# GitHub refuses comments of more than 65,536 characters; the rest is for what a bot writes around it.
_MOST_CHARACTERS = 60_000
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|~&$])")
_LINE_START = re.compile(r"^(\d{1,9}(?=[.)](?: |$))|(?=[-+=]))")


def code(text: str) -> str:
    r"""A name as a code span that no character of it can end, fit for a table.

    Examples
    --------
    >>> print(code("sort|uniq"), code("a`b"), code("@user <script>"))
    `sort\|uniq` ``a`b`` `@user <script>`
    """
    text = " ".join(text.split()) or " "
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{space}{text}{space}{fence}".replace("|", "\\|")


def _escape(text: str) -> str:
    """A sentence that shows as it is written, whatever names it holds."""
    text = _LINE_START.sub(r"\1\\", _SPECIAL.sub(r"\\\1", " ".join(text.split())))
    # GitHub looks for @user and #1 in the rendered text, where only an empty comment keeps them apart.
    return re.sub("([@#])", r"\1<!-- -->", text)


def markdown(
    results: Sequence[SuiteComparison],
    context: Context | None = None,
    more: Sequence[Sequence[Block]] = (),
) -> str:
    """Comparisons in GitHub's Markdown.

    Parameters
    ----------
    results : sequence of SuiteComparison
        Each becomes a section.
    context : Context, optional
        How they were made.
    more : sequence of sequence of Block, optional
        Other results, as they are shown on a terminal; they come first, each under its first line.

    Returns
    -------
    str
        What is proven comes first, at most ten rows of it, the clearest first; the full table and the remarks
        are folded. Rows that would make a comment too long for GitHub are counted instead of shown.

    Examples
    --------
    >>> markdown([])
    ''
    """
    lines: list[str] = []
    room = _MOST_CHARACTERS // max(len(results), 1)
    for blocks in more:
        lines += _blocks(blocks)
    for result in results:
        lines += _section(result, room)
    if context is not None and lines:
        made = ", ".join(f"{name} {version}" for name, version in context.versions.items())
        lines += [f"<sub>{code(context.command)} · {_escape(made)}</sub>", ""]
    return "\n".join(lines)


def _section(result: SuiteComparison, room: int) -> Iterator[str]:
    blocks = list(suite_blocks(result))
    place = next((i for i, b in enumerate(blocks) if not isinstance(b, Text)), len(blocks))
    yield f"### {code(result.candidate)} against {code(result.reference)}: {_escape(result.metric)}"
    yield ""
    for block in blocks[1:place]:
        if isinstance(block, Text) and block.text:
            yield _escape(block.text)
            yield ""
    by_name: dict[str, list[Comparison]] = {}
    for comparison in result.comparisons:
        by_name.setdefault(comparison.benchmark, []).append(comparison)
    proven = [
        name
        for name, found in by_name.items()
        if any(_is_change(c) and c.protocol != "single run" for c in found)
    ]
    proven.sort(key=lambda name: -max(_clearness(c) for c in by_name[name]))
    head = _head(result)
    if len(by_name) > 1 and proven:
        yield from head
        yield from (_row(name, by_name[name], result.protocols) for name in proven[:_SHORT])
        yield ""
        if len(proven) > _SHORT:
            yield f"and {len(proven) - _SHORT} more that changed, below."
            yield ""
    if not by_name:
        return
    rows = [_row(name, found, result.protocols) for name, found in by_name.items()]
    notes = list(_notes(blocks[place:]))
    room -= sum(map(len, (*notes, *rows[:_SHORT])))
    shown = 0
    while shown < len(rows) and room > 0:
        room -= len(rows[shown]) + 1
        shown += room > 0
    what = f"All {len(rows)} benchmarks" if len(rows) > 1 else "Numbers"
    yield f"<details><summary>{what}, checks and remarks</summary>"
    yield ""
    yield from head
    yield from rows[:shown]
    yield ""
    if shown < len(rows):
        yield f"{len(rows) - shown} more rows would not fit into a comment; --html and --json have them all."
        yield ""
    yield from notes
    yield "</details>"
    yield ""


def _blocks(blocks: Sequence[Block]) -> Iterator[str]:
    head = next((block for block in blocks[:1] if isinstance(block, Text)), None)
    if head is not None:
        yield f"### {_escape(head.text)}"
        yield ""
    for texts, group in groupby(blocks[head is not None :], lambda block: isinstance(block, Text)):
        if texts:
            yield from _notes(list(group))
        else:
            for block in group:
                yield from _table(block)


def _table(block: Block) -> Iterator[str]:
    table = block.variants[0] if isinstance(block, Fitted) else block
    assert isinstance(table, Table)
    if table.title:
        yield f"**{_escape(table.title)}**"
        yield ""
    yield f"| {' | '.join(_escape(c.title) for c in table.columns)} |"
    yield f"|{''.join('---:|' if c.right else '---|' for c in table.columns)}"
    yield from (f"| {' | '.join(_escape(cell.text) for cell in row)} |" for row in table.rows)
    yield ""


def _is_change(c: Comparison) -> bool:
    return c.verdict in (Verdict.FASTER, Verdict.SLOWER)


def _clearness(c: Comparison) -> float:
    """How far from 1 the certified speedup is, as a factor; below 1 where nothing is certified."""
    if c.protocol == "single run" or not _is_change(c):
        return 0.0
    low, high = c.certified.low, c.certified.high
    return 0.0 if math.isnan(low) else max(low, 1 / high if high > 0 else 0.0)


def _head(result: SuiteComparison) -> tuple[str, str]:
    columns = ["benchmark", *(_TITLES.get(p, f"speedup ({p})") for p in result.protocols)]
    return f"| {' | '.join(_escape(c) for c in columns)} |", f"|{'---|' * len(columns)}"


def _row(name: str, found: Sequence[Comparison], protocols: Sequence[str]) -> str:
    by_protocol = {c.protocol: c for c in found}
    cells = [_cell(by_protocol[p]) if p in by_protocol else "" for p in protocols]
    return f"| {' | '.join([code(name), *cells])} |"


def _cell(c: Comparison) -> str:
    text = chance(c.speedup) if c.protocol == "single run" else bounds(c.certified)
    strong = "**" if _is_change(c) else ""
    doubt = " !" if c.doubts else ""
    return f"{MARKS[c.verdict]} {strong}{c.verdict.value}{strong}{doubt} {_escape(text)}"


def _notes(blocks: Sequence[Block]) -> Iterator[str]:
    """Paragraphs, and lists of the lines that are indented."""
    listed = False
    for block in blocks:
        if isinstance(block, Table | Fitted) or block.text == LEGEND:  # the rows say it in words
            continue
        if block.text.startswith("  "):
            listed = True
            yield f"* {_escape(block.text.strip())}"
        elif block.text:
            if listed:
                yield ""
            listed = False
            yield _escape(block.text)
            yield ""
    if listed:
        yield ""

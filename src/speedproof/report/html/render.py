"""Sections as one page: template, style sheet and script put together, everything of the user's escaped."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import msgspec

from speedproof.data.suite import Suite
from speedproof.errors import UsageError
from speedproof.report.blocks import Block, Text
from speedproof.report.html.grids import Grid
from speedproof.report.html.headline import Figure
from speedproof.report.html.rows import Forest
from speedproof.report.stored import Context

__all__ = [
    "METHODS",
    "SPEEDUP",
    "Paragraph",
    "Part",
    "Section",
    "Share",
    "fields_of",
    "paragraphs",
    "render",
    "share_of",
]

SPEEDUP = (
    "Speedup",
    "Reference divided by candidate, where lower is better; candidate divided by reference, where higher is. "
    "Above 1 is a gain.",
)
METHODS = {
    "typical": (
        "Typical run",
        "How many times longer a run of the reference takes than a run of the candidate, as often as not: the "
        "studentised rank test of Brunner and Munzel with its permutation distribution, inverted.",
    ),
    "mean": (
        "Mean",
        "Figure 1 of the Speedup-Test (Touati, Worms, Briais 2013): Shapiro-Wilk on both samples, F test, "
        "Student's or Welch's t test.",
    ),
    "median": (
        "Median",
        "Figure 2 of the Speedup-Test (Touati, Worms, Briais 2013): Kolmogorov-Smirnov on the centred samples, "
        "then Wilcoxon-Mann-Whitney.",
    ),
}
"""What the terms of every page mean."""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Some lines of a report: one, or a heading with the items under it."""

    text: str
    style: str
    items: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Share:
    """How many benchmarks got each verdict from one protocol; shares in percent of all."""

    protocol: str
    parts: tuple[tuple[str, int, float, float], ...]


@dataclass(frozen=True, slots=True)
class Section:
    """One result about two versions, ready for the template.

    Attributes
    ----------
    reference, candidate : str
        The versions.
    answer : str
        The whole in one word; empty where it has none.
    eyebrow : str
        The small line above the title.
    lead, risk : tuple of Paragraph
        What is read first; what follows the counts.
    figures : tuple of Figure
        Numbers about the whole.
    shares : tuple of Share
        Counts, drawn as bars.
    forest : Forest
        The benchmarks.
    verdict : str
        What a row's answer is called.
    answers, protocols : tuple of str
        To filter by.
    notes_title : str
        The heading of ``notes``.
    notes : tuple of Paragraph
        What follows the benchmarks.
    fields : tuple of (str, str, str, bool)
        Conditions: name, both sides, whether they differ.
    """

    reference: str
    candidate: str
    answer: str
    eyebrow: str
    lead: tuple[Paragraph, ...]
    risk: tuple[Paragraph, ...]
    figures: tuple[Figure, ...]
    shares: tuple[Share, ...]
    forest: Forest
    verdict: str
    answers: tuple[str, ...]
    protocols: tuple[str, ...]
    notes_title: str
    notes: tuple[Paragraph, ...]
    fields: tuple[tuple[str, str, str, bool], ...]


@dataclass(frozen=True, slots=True)
class Part:
    """Blocks of another result: a heading, then paragraphs and tables."""

    title: str
    items: tuple[Paragraph | Grid, ...]


def render(
    title: str,
    sections: Sequence[Section],
    data: Sequence[Sequence[Mapping[str, Any]]],
    definitions: Sequence[tuple[str, str]],
    suite: Suite,
    context: Context | None,
    parts: Sequence[Part] = (),
) -> str:
    """Sections as one page.

    Parameters
    ----------
    title : str
        Of the window.
    sections : sequence of Section
        In order.
    data : sequence of sequence of dict
        The panels of each section, in the order of its rows.
    definitions : sequence of (str, str)
        Terms, and what they mean here.
    suite : Suite
        For what was pooled and what was left out.
    context : Context or None
        How the results were made.
    parts : sequence of Part
        Other results, which come first.

    Returns
    -------
    str
        The page of :func:`html_report`.

    Raises
    ------
    UsageError
        Jinja2 is not installed.
    """
    try:
        import jinja2
        import markupsafe
    except ImportError:
        raise UsageError("the HTML report needs Jinja2: pip install jinja2") from None

    here = files(__package__)
    style = (here / "page.css").read_text(encoding="utf-8")
    script = (here / "page.js").read_text(encoding="utf-8")
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    template = environment.from_string((here / "page.html.j2").read_text(encoding="utf-8"))
    return template.render(
        title=title,
        sections=sections,
        parts=parts,
        definitions=definitions,
        residue=[str(r) for r in suite.residue],
        skipped=[str(s) for s in suite.skipped if not s.expected],
        context=context,
        style=markupsafe.Markup(style),
        script=markupsafe.Markup(script),
        style_hash=_hash(style),
        script_hash=_hash(script),
        data=markupsafe.Markup(_json_for_script(data)),
    )


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _json_for_script(value: object) -> str:
    """JSON that no parser of HTML can see an end of the element or a comment in."""
    text = msgspec.json.encode(value).decode()
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def paragraphs(blocks: Iterable[Block]) -> tuple[Paragraph, ...]:
    """Texts, with the indented ones as items of the one before.

    Examples
    --------
    >>> paragraphs([Text("Missing:"), Text("  sort"), Text(""), Text("New: sum", "dim")])
    (Paragraph(text='Missing:', style='', items=('sort',)), Paragraph(text='New: sum', style='dim', items=()))
    """
    return tuple(_paragraphs(blocks))


def _paragraphs(blocks: Iterable[Block]) -> Iterator[Paragraph]:
    head: Text | None = None
    items: list[str] = []
    for block in blocks:
        if not isinstance(block, Text) or not block.text:
            continue
        if block.text.startswith("  "):
            items.append(block.text.strip())
            continue
        if head is not None or items:
            yield _paragraph(head, items)
        head, items = block, []
    if head is not None or items:
        yield _paragraph(head, items)


def _paragraph(head: Text | None, items: Sequence[str]) -> Paragraph:
    return Paragraph(head.text if head else "", head.style if head else "", tuple(items))


def share_of(name: str, counts: Sequence[tuple[str, int]]) -> Share:
    """Counts as parts of a bar, from left to right; what there is none of takes no part.

    Examples
    --------
    >>> share_of("median", [("pass", 3), ("undecided", 0), ("fail", 1)]).parts
    (('pass', 3, 0.0, 75.0), ('fail', 1, 75.0, 25.0))
    """
    total = sum(count for _, count in counts)
    parts = []
    start = 0.0
    for word, count in counts:
        if count:
            width = 100 * count / total
            parts.append((word, count, round(start, 3), round(width, 3)))
            start += width
    return Share(name, tuple(parts))


def fields_of(suite: Suite, reference: str, candidate: str) -> tuple[tuple[str, str, str, bool], ...]:
    """Fields of both sides, those that differ first.

    Examples
    --------
    >>> fields = {"old": {"os": ("L",), "cpu": ("A",)}, "new": {"os": ("L",), "cpu": ("B", "C")}}
    >>> fields_of(Suite(("old", "new"), {}, fields=fields), "old", "new")
    (('cpu', 'A', 'B, C', True), ('os', 'L', 'L', False))
    """
    x, y = (suite.fields.get(version, {}) for version in (reference, candidate))
    rows = [
        (name, _values(x.get(name, ())), _values(y.get(name, ())), x.get(name) != y.get(name))
        for name in dict.fromkeys([*x, *y])
    ]
    return tuple(sorted(rows, key=lambda row: not row[3]))


def _values(values: Sequence[str], most: int = 4) -> str:
    if not values:
        return "not told"
    shown = ", ".join(values[:most])
    return shown if len(values) <= most else f"{len(values)} values: {shown}, ..."

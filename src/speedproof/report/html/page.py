"""The page: template, style sheet and script put together, everything of the user's escaped."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import groupby

import msgspec

from speedproof.data.suite import Suite
from speedproof.errors import UsageError
from speedproof.protocols.comparison import Verdict
from speedproof.protocols.suite_comparison import SuiteComparison
from speedproof.report.blocks import Block, Fitted, Table, Text
from speedproof.report.comparisons import LEGEND, suite_blocks
from speedproof.report.html.headline import Figure, figures, headline
from speedproof.report.html.panels import panels
from speedproof.report.html.rows import Forest, forest
from speedproof.report.stored import Context
from speedproof.report.wording import percent

__all__ = ["html_report"]


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
    """One comparison of two versions, ready for the template."""

    title: str
    reference: str
    candidate: str
    metric: str
    confidence: str
    lead: tuple[Paragraph, ...]
    risk: tuple[Paragraph, ...]
    figures: tuple[Figure, ...]
    shares: tuple[Share, ...]
    forest: Forest
    notes: tuple[Paragraph, ...]
    fields: tuple[tuple[str, str, str, bool], ...]


@dataclass(frozen=True, slots=True)
class Part:
    """Blocks of another result: a heading, then paragraphs and tables."""

    title: str
    items: tuple[Paragraph | Table, ...]


def html_report(
    results: Sequence[SuiteComparison],
    suite: Suite,
    context: Context | None = None,
    more: Sequence[Sequence[Block]] = (),
) -> str:
    """Results as one HTML file.

    Parameters
    ----------
    results : sequence of SuiteComparison
        Each becomes a section.
    suite : Suite
        Their samples, for the charts; may hold none.
    context : Context, optional
        How they were made.
    more : sequence of sequence of Block, optional
        Other results, as they are shown on a terminal: each becomes a section before those of
        the comparisons, its first line the heading.

    Returns
    -------
    str
        A page without any reference to anything outside of it. Its Content-Security-Policy lets the browser
        run the one script and use the one style sheet that are in it, by their hashes, and load nothing.

    Raises
    ------
    UsageError
        Jinja2 is not installed.

    Notes
    -----
    Tables and the forest plot are in the page itself, so they are read, printed and searched without the
    script, too (many services show reports of a job with scripts disabled). The charts of a benchmark are
    drawn by the script when its panel is opened: drawn beforehand, those of a thousand benchmarks would be
    hundreds of thousands of elements.
    """
    try:
        import jinja2
        import markupsafe
    except ImportError:
        raise UsageError("the HTML report needs Jinja2: pip install 'speedproof[report]'") from None

    parts = [_part(blocks) for blocks in more if blocks]
    here = files(__package__)
    style = (here / "page.css").read_text(encoding="utf-8")
    script = (here / "page.js").read_text(encoding="utf-8")
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    template = environment.from_string((here / "page.html.j2").read_text(encoding="utf-8"))
    return template.render(
        title=" · ".join(dict.fromkeys([*(part.title for part in parts), *map(_title, results)])),
        sections=[_section(r, suite) for r in results],
        parts=parts,
        residue=[str(r) for r in suite.residue],
        skipped=[str(s) for s in suite.skipped if not s.expected],
        verdicts=[v.value for v in Verdict],
        protocols=list(dict.fromkeys(p for r in results for p in r.protocols)),
        context=context,
        style=markupsafe.Markup(style),
        script=markupsafe.Markup(script),
        style_hash=_hash(style),
        script_hash=_hash(script),
        data=markupsafe.Markup(_json_for_script([panels(r, suite) for r in results])),
    )


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _json_for_script(value: object) -> str:
    """JSON that no parser of HTML can see an end of the element or a comment in."""
    text = msgspec.json.encode(value).decode()
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _title(result: SuiteComparison) -> str:
    return f"{result.candidate} against {result.reference}"


def _section(result: SuiteComparison, suite: Suite) -> Section:
    blocks = list(suite_blocks(result))
    table = next((i for i, b in enumerate(blocks) if not isinstance(b, Text)), len(blocks))
    lead = list(_paragraphs(blocks[1:table]))
    several = len(result.benchmarks) > 1
    return Section(
        title=_title(result),
        reference=result.reference,
        candidate=result.candidate,
        metric=result.metric,
        confidence=percent(1 - result.alpha),
        # The counts of a suite are drawn; what remains of its texts is the risk and what undermines it.
        lead=tuple(Paragraph(text, "") for text in headline(result)) if several else tuple(lead),
        risk=tuple(p for p in lead if p.style) if several else (),
        figures=tuple(figures(result)) if several else (),
        notes=tuple(_paragraphs([b for b in blocks[table:] if b != Text(LEGEND, "dim")])),
        shares=tuple(_shares(result)),
        forest=forest(result),
        fields=tuple(_fields(result, suite)),
    )


def _part(blocks: Sequence[Block]) -> Part:
    first = blocks[0]
    title, rest = (first.text, blocks[1:]) if isinstance(first, Text) else ("Results", blocks)
    items: list[Paragraph | Table] = []
    for texts, group in groupby(rest, lambda block: isinstance(block, Text)):
        if texts:
            items += _paragraphs(list(group))
        else:
            items += [b.variants[0] if isinstance(b, Fitted) else b for b in group if not isinstance(b, Text)]
    return Part(title, tuple(items))


def _paragraphs(blocks: Sequence[Block]) -> Iterator[Paragraph]:
    """Texts, with the indented ones as items of the one before."""
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


def _shares(result: SuiteComparison) -> Iterator[Share]:
    total = len(result.benchmarks)
    if total < 2:
        return
    for protocol in result.protocols:
        parts = []
        start = 0.0
        for verdict in (Verdict.FASTER, Verdict.EQUIVALENT, Verdict.UNDECIDED, Verdict.SLOWER):
            count = result.count(protocol, verdict)
            if count:
                width = 100 * count / total
                parts.append((verdict.value, count, round(start, 3), round(width, 3)))
                start += width
        yield Share(protocol, tuple(parts))


def _fields(result: SuiteComparison, suite: Suite) -> Iterator[tuple[str, str, str, bool]]:
    """Fields of both sides, those that differ first."""
    x, y = (suite.fields.get(version, {}) for version in (result.reference, result.candidate))
    rows = [
        (name, _values(x.get(name, ())), _values(y.get(name, ())), x.get(name) != y.get(name))
        for name in dict.fromkeys([*x, *y])
    ]
    yield from sorted(rows, key=lambda row: not row[3])


def _values(values: Sequence[str], most: int = 4) -> str:
    if not values:
        return "not told"
    shown = ", ".join(values[:most])
    return shown if len(values) <= most else f"{len(values)} values: {shown}, ..."

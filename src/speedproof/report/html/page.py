"""The page of comparisons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from speedproof.data.suite import Suite
from speedproof.protocols.results import Verdict
from speedproof.protocols.suite import SuiteComparison
from speedproof.report.blocks import Block, Fitted, Text
from speedproof.report.comparisons import LEGEND, suite_blocks
from speedproof.report.html.grids import Grid, grid
from speedproof.report.html.headline import figures, headline
from speedproof.report.html.panels import panels
from speedproof.report.html.render import (
    METHODS,
    SPEEDUP,
    Paragraph,
    Part,
    Section,
    Share,
    fields_of,
    paragraphs,
    render,
    share_of,
)
from speedproof.report.html.rows import forest
from speedproof.report.stored import Context
from speedproof.report.wording import percent

__all__ = ["html_report"]

_DEFINITIONS = (
    SPEEDUP,
    (
        "Certified bounds",
        "Each holds at the stated confidence by itself. They invert the test that gave the verdict, so the "
        "lower bound exceeds 1 exactly when the verdict is faster, and the upper one is below 1 exactly when it "
        "is slower.",
    ),
    (
        "Verdict",
        "Faster and slower are proven at the stated risk a side; equivalent is proven against a margin; undecided "
        "means that these data prove neither, not that both are the same.",
    ),
    *METHODS.values(),
    (
        "Single run",
        "The probability that one run of the candidate beats one run of the reference, ties counted half "
        "(Brunner and Munzel 2000).",
    ),
)
"""Terms of the page, and what they mean there."""


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
    parts = [_part(blocks, f"part{i}") for i, blocks in enumerate(more) if blocks]
    protocols = tuple(dict.fromkeys(p for r in results for p in r.protocols))
    return render(
        " · ".join(dict.fromkeys([*(part.title for part in parts), *map(_title, results)])),
        [_section(r, suite, protocols) for r in results],
        [panels(r, suite) for r in results],
        _DEFINITIONS if results else (),
        suite,
        context,
        parts,
    )


def _title(result: SuiteComparison) -> str:
    return f"{result.candidate} against {result.reference}"


def _section(result: SuiteComparison, suite: Suite, protocols: tuple[str, ...]) -> Section:
    blocks = list(suite_blocks(result))
    table = next((i for i, b in enumerate(blocks) if not isinstance(b, Text)), len(blocks))
    lead = paragraphs(blocks[1:table])
    several = len(result.benchmarks) > 1
    drawn = forest(result)
    only = f"{drawn.rows[0].name} · " if len(drawn.rows) == 1 else ""
    return Section(
        reference=result.reference,
        candidate=result.candidate,
        answer="",
        eyebrow=f"speedproof · {result.metric} · {only}confidence {percent(1 - result.alpha)} a side",
        # The counts of a suite are drawn; what remains of its texts is the risk and what undermines it.
        lead=tuple(Paragraph(text, "") for text in headline(result)) if several else lead,
        risk=tuple(p for p in lead if p.style) if several else (),
        figures=tuple(figures(result)) if several else (),
        shares=tuple(_shares(result)),
        forest=drawn,
        verdict="Verdict",
        answers=tuple(v.value for v in Verdict),
        protocols=protocols,
        notes_title="The suite, and what to mind",
        notes=paragraphs([b for b in blocks[table:] if b != Text(LEGEND, "dim")]),
        fields=fields_of(suite, result.reference, result.candidate),
    )


def _part(blocks: Sequence[Block], name: str) -> Part:
    first = blocks[0]
    title, rest = (first.text, blocks[1:]) if isinstance(first, Text) else ("Results", blocks)
    items: list[Paragraph | Grid] = []
    for texts, group in groupby(rest, lambda block: isinstance(block, Text)):
        if texts:
            items += paragraphs(list(group))
        else:
            tables = [b.variants[0] if isinstance(b, Fitted) else b for b in group if not isinstance(b, Text)]
            items += [grid(t, f"{name}-axis{len(items) + i}") for i, t in enumerate(tables)]
    return Part(title, tuple(items))


def _shares(result: SuiteComparison) -> Iterator[Share]:
    if len(result.benchmarks) < 2:
        return
    for protocol in result.protocols:
        verdicts = (Verdict.FASTER, Verdict.EQUIVALENT, Verdict.UNDECIDED, Verdict.SLOWER)
        yield share_of(protocol, [(v.value, result.count(protocol, v)) for v in verdicts])

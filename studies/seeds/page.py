"""The page of results: Markdown for a terminal and a repository, HTML with the figures in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from studies.seeds.row import Outcome, Result, Row

__all__ = ["write_page"]

HEAD = ("", "paper", "speedproof", "agrees", "why, or how")
CANNOT = (
    ("2010 and 2013", "the ten benchmarks that came with the tool, unless --data has them"),
    ("2013", "the 34 pairs of SPEC CPU programs, and those of the 54 of SPEC OMP2001 that --data lacks"),
    ("2015 (HPT)", "the 28 SPEC systems and KDataSets with their runs; half of table II is not legible"),
    ("2016 (VARCORE)", "CONVIV, and the other samples of the authors beyond SPEC OMP2001"),
)
STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; margin: .6rem 0 1rem; width: 100%; font-size: .9rem; }
th, td { text-align: left; padding: .2rem .6rem; border-bottom: 1px solid #ddd; vertical-align: top; }
td.no { color: #b00020; font-weight: 600; } td.misprint, td.cut, td.alike { color: #7a5b00; } td.yes { color: #1b6e3c; }
figure { margin: 1rem 0; } figcaption, .remark { color: #555; font-size: .9rem; } img { max-width: 100%; }
"""


def write_page(out: Path, found: Sequence[tuple[Row, Result]], mode: str) -> tuple[Path, Path]:
    """Write ``seeds.md`` and ``seeds.html`` into a folder."""
    markdown, page = out / "seeds.md", out / "seeds.html"
    markdown.write_text("\n".join(_markdown(found, mode)) + "\n", encoding="utf-8")
    page.write_text("\n".join(_html(found, mode)) + "\n", encoding="utf-8")
    return markdown, page


def conclusion(found: Sequence[tuple[Row, Result]]) -> str:
    """What came out, in one sentence."""
    outcomes = [line.outcome for _, result in found for line in result.lines]
    counts = {
        outcome: outcomes.count(outcome)
        for outcome in (Outcome.AGREES, Outcome.CUT, Outcome.MISPRINT, Outcome.DIFFERS)
    }
    missing = sum(bool(result.missing) for _, result in found)
    return (
        f"{counts[Outcome.AGREES]} printed numbers agree, {counts[Outcome.CUT]} are cut instead of rounded, "
        f"{counts[Outcome.MISPRINT]} are misprints of the papers, "
        f"{counts[Outcome.DIFFERS]} differ; {outcomes.count(Outcome.LIKE)} can only be compared in kind; "
        f"{missing} of {len(found)} experiments lack what they need."
    )


def _legend() -> str:
    return (
        "*yes*: rounds to what is printed. *cut*: the paper drops digits instead of rounding. *misprint*: neither, and "
        "the paper contradicts itself; why is said. "
        "*alike*: other data or draws, so that only the kind of result can be compared. *no*: neither."
    )


def _markdown(found: Sequence[tuple[Row, Result]], mode: str) -> Iterator[str]:
    yield "# The papers' experiments, run again"
    yield f"\n{conclusion(found)} ({mode} version)\n\n{_legend()}"
    for row, result in found:
        yield f"\n## {row.paper}: {row.title}\n\n`--only {row.name}`, {result.seconds:.1f} s"
        if result.missing:
            yield f"\nNot here: {result.missing}."
        if result.lines:
            yield f"\n| {' | '.join(HEAD)} |\n|{'---|' * len(HEAD)}"
            for line in result.lines:
                cells = (line.what, line.paper, line.ours, line.outcome, line.why)
                yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
        for remark in result.remarks:
            yield f"\n{remark}"
        for name, caption in result.figures:
            yield f"\n![{caption}]({name})\n\n*{caption}*"
    yield "\n## What cannot be had\n"
    for where, what in CANNOT:
        yield f"- {where}: {what}."


def _html(found: Sequence[tuple[Row, Result]], mode: str) -> Iterator[str]:
    yield f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>The papers</title><style>{STYLE}</style>'
    yield f"<h1>The papers' experiments, run again</h1>\n<p><strong>{escape(conclusion(found))}</strong> ({mode} version)</p>"
    yield f'<p class="remark">{escape(_legend()).replace("*", "")}</p>'
    for row, result in found:
        yield f'<h2 id="{row.name}">{escape(f"{row.paper}: {row.title}")}</h2>'
        yield f'<p class="remark"><code>--only {row.name}</code>, {result.seconds:.1f} s</p>'
        if result.missing:
            yield f"<p>Not here: {escape(result.missing)}.</p>"
        if result.lines:
            yield "<table><tr>" + "".join(f"<th>{name}</th>" for name in HEAD) + "</tr>"
            for line in result.lines:
                cells = "".join(f"<td>{escape(text)}</td>" for text in (line.what, line.paper, line.ours))
                mark = f'<td class="{line.outcome}">{line.outcome}</td>'
                yield f"<tr>{cells}{mark}<td>{escape(line.why)}</td></tr>"
            yield "</table>"
        for remark in result.remarks:
            yield f'<p class="remark">{escape(remark)}</p>'
        for name, caption in result.figures:
            text = escape(caption)
            yield f'<figure><img src="{name}" alt="{text}"><figcaption>{text}</figcaption></figure>'
    yield "<h2>What cannot be had</h2><ul>"
    yield from (f"<li>{escape(where)}: {escape(what)}.</li>" for where, what in CANNOT)
    yield "</ul></html>"

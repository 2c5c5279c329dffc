"""The page of results: Markdown for a terminal and a repository, HTML with the figures in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from studies.seeds.row import AGREES, DIFFERS, MISPRINT, NOT_AVAILABLE, UNEXPLAINED, Line, Result, Row

__all__ = ["conclusion", "markdown", "write_page"]

WORSE = (AGREES, MISPRINT, DIFFERS, UNEXPLAINED, NOT_AVAILABLE)
HEAD = ("", "paper", "speedproof", "agrees within", "", "why", "call")
LEGEND = (
    "A number agrees when ours lies within the band: half a unit of the last printed digit, a tolerance, or a binomial interval of 99.9 % "
    "with the draws of whoever drew; a range of ours (both ends of a rounded number, or a bootstrap interval of 99.9 %) agrees when it "
    "reaches into the band. A misprint contradicts the paper itself, and what should stand there is recomputed from its data or from its "
    "other numbers; a number differs when ours is right by another source, which the reason names, or is of other data. Of two lines "
    f"about one number, by two laws or methods, the worse one counts. {UNEXPLAINED}: no reason is known."
)
STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; margin: .6rem 0 1rem; width: 100%; font-size: .9rem; }
th, td { text-align: left; padding: .2rem .6rem; border-bottom: 1px solid #ddd; vertical-align: top; }
td.NO { color: #b00020; font-weight: 600; } td.misprint, td.differs { color: #7a5b00; } td.agrees { color: #1b6e3c; }
figure { margin: 1rem 0; } figcaption, .remark { color: #555; font-size: .9rem; } img { max-width: 100%; }
"""


def write_page(out: Path, found: Sequence[tuple[Row, Result]], mode: str) -> tuple[Path, Path]:
    """Write ``seeds.md`` and ``seeds.html`` into a folder."""
    paths = out / "seeds.md", out / "seeds.html"
    for path, lines in zip(paths, (markdown(found, mode), _html(found, mode)), strict=True):
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return paths


def conclusion(found: Sequence[tuple[Row, Result]]) -> str:
    """How many printed numbers agree, and how many of the authors' tools."""
    sentences = []
    for tool, what in (
        (False, "numbers that the papers print"),
        (True, "numbers that the authors' tools wrote"),
    ):
        verdicts = [
            verdict for row, result in found if row.tool == tool for verdict in numbers(result).values()
        ]
        counts = [verdicts.count(verdict) for verdict in WORSE]
        if not verdicts:
            continue
        sentences.append(
            f"Of {len(verdicts)} {what} {counts[0]} agree, {counts[1]} are misprints, {counts[2]} differ for a known reason, "
            f"{counts[3]} are unexplained, {counts[4]} are not available."
        )
    return " ".join(sentences)


def numbers(result: Result) -> dict[tuple[str, str, str], str]:
    """The printed numbers of a row, each with the worst verdict of the lines about it."""
    worst: dict[tuple[str, str, str], str] = {}
    for line in result.lines:
        number = line.place, line.what, line.paper
        worst[number] = max(worst.get(number, AGREES), line.verdict, key=WORSE.index)
    return worst


def _cells(line: Line) -> tuple[str, ...]:
    why = "" if line.verdict == AGREES else line.why
    return f"{line.place}: {line.what}", line.paper, line.ours, line.tolerated, line.verdict, why


def markdown(found: Sequence[tuple[Row, Result]], mode: str, *, figures: bool = True) -> Iterator[str]:
    """The page, line by line."""
    yield "# The papers' experiments, run again"
    yield f"\n{conclusion(found)} ({mode} version)\n\n{LEGEND}"
    for row, result in found:
        yield f"\n## {row.paper}: {row.title}\n\n`--only {row.name}`, {result.seconds:.1f} s"
        yield f"\n| {' | '.join(HEAD)} |\n|{'---|' * len(HEAD)}"
        for line in result.lines:
            call = f"`{line.call}`" if line.call else ""
            yield "| " + " | ".join(cell.replace("|", "\\|") for cell in (*_cells(line), call)) + " |"
        for remark in result.remarks:
            yield f"\n{remark}"
        for name, caption in result.figures if figures else ():
            yield f"\n![{caption}]({name})\n\n*{caption}*"


def _html(found: Sequence[tuple[Row, Result]], mode: str) -> Iterator[str]:
    yield f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>The papers</title><style>{STYLE}</style>'
    yield f"<h1>The papers' experiments, run again</h1>\n<p><strong>{escape(conclusion(found))}</strong> ({mode} version)</p>"
    yield f'<p class="remark">{escape(LEGEND)}</p>'
    for row, result in found:
        yield f'<h2 id="{row.name}">{escape(f"{row.paper}: {row.title}")}</h2>'
        yield f'<p class="remark"><code>--only {row.name}</code>, {result.seconds:.1f} s</p>'
        yield "<table><tr>" + "".join(f"<th>{name}</th>" for name in HEAD) + "</tr>"
        for line in result.lines:
            cells = "".join(f'<td class="{text}">{escape(text)}</td>' if text == line.verdict else f"<td>{escape(text)}</td>" for text in _cells(line))  # fmt: skip
            yield f"<tr>{cells}<td><code>{escape(line.call)}</code></td></tr>"
        yield "</table>"
        for remark in result.remarks:
            yield f'<p class="remark">{escape(remark)}</p>'
        for name, caption in result.figures:
            text = escape(caption)
            yield f'<figure><img src="{name}" alt="{text}"><figcaption>{text}</figcaption></figure>'
    yield "</html>"

"""Any report as lines for a terminal, a log or a pipe: never wider than asked, and never two rows alike."""

from __future__ import annotations

import re
import textwrap
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from speedproof.data.names import enumerate_names, visible
from speedproof.reporting.model import Cell, Report, Row, Style, Table, Text, grouped
from speedproof.reporting.names import common_prefix, cut_right, pad, shortened, width_of

Paint = Callable[..., str]

_COLOURS: dict[Style, str] = {"": "", "good": "32", "bad": "31", "warning": "33", "dim": "2", "strong": "1"}
_GAP = "  "
_COMMAND = r"'(?:speedproof|git) [^']*'|(?<=: )speedproof .*"
_TIE, _PERCENT = "\0", "\1"  # blanks at which no line may break; output contains neither
_SHORT, _SHORTER, _SHORTEST = 24, 10, 7
"""Widths to which names are shortened before a column goes, before one goes that stays longest, and at the end."""
_COUNTS = frozenset({"runs", "processes", "builds", "sessions"})
"""Columns whose absence is not remarked."""
_LEAST_TITLE = 10
_BREVITY = 3
_AROUND = 50  # what a line that names some columns takes beside their names


def render(report: Report, width: int = 80, *, colour: bool = False) -> str:
    """A report as text."""
    return "".join(f"{line}\n" for line in lines(report, width, colour=colour))


def lines(report: Report, width: int = 80, *, colour: bool = False) -> Iterator[str]:
    """The lines of :func:`render`, without their ends."""
    paint: Paint = _painted if colour else _bare
    for text in report.headline:
        yield from _wrapped(text, width, paint)
    for table in report.tables:
        yield ""
        yield from _table(table, width, paint=paint)
    if (report.notes or report.hints) and (report.tables or not report.headline):
        yield ""
    for i, text in enumerate(report.notes):
        hints = "   ".join(report.hints)
        last = i == len(report.notes) - 1
        if hints and last and not text.aside and width_of(text.text) + 4 + width_of(hints) <= width:
            yield paint((visible(text.text), text.style), (f"    {hints}", "dim"))
            break
        yield from _wrapped(text, width, paint)
    else:
        yield from (paint((line, "dim")) for line in _packed(report.hints, width))
    for section in report.sections:
        yield ""
        if section.title:
            yield from _wrapped(Text(section.title, "strong"), width, paint)
        yield from lines(section, width, colour=colour)


def _packed(items: Sequence[str], width: int) -> Iterator[str]:
    """Items in lines, none of them broken where it fits into one."""
    line = ""
    for item in items:
        if line and width_of(line) + 3 + width_of(item) > width:
            yield line
            line = ""
        line = f"{line}   {item}" if line else item
    if line:
        yield from _fill(line, width, "")


def _bare(*runs: tuple[str, Style]) -> str:
    return "".join(text for text, _ in runs).rstrip()


def _painted(*runs: tuple[str, Style]) -> str:
    return "".join(
        f"\x1b[{_COLOURS[style]}m{text}\x1b[0m" if style and text else text for text, style in runs
    )


def _wrapped(text: Text, width: int, paint: Paint) -> Iterator[str]:
    """The lines of a paragraph; its aside on the last of them, where there is room."""
    said = visible(text.text)
    indent = said[: len(said) - len(said.lstrip())]
    *lines, last = _fill(said, width, indent) or [""]
    for line in lines:
        yield paint((line, text.style))
    aside = visible(text.aside)
    if aside and width_of(last) + 4 + width_of(aside) <= width:
        yield paint((last, text.style), (f"    {aside}", "dim"))
        return
    yield paint((last, text.style))
    for line in _fill(aside, width, ""):
        yield paint((line, "dim"))


def wrapped(text: str, width: int) -> list[str]:
    """A remark in lines, those after the first indented."""
    indent = text[: len(text) - len(text.lstrip())]
    return _fill(text, width, f"{indent}  ") or [text]


def _fill(text: str, width: int, indent: str) -> list[str]:
    tied = re.sub(_COMMAND, lambda command: command[0].replace(" ", _TIE), text)
    tied = re.sub(r"(?<=\d) (?=%)", _PERCENT, tied)
    lines = textwrap.wrap(
        tied, width, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
    )
    # textwrap counts characters: one that is wide makes a line wrap again. A command is pasted, so it stays whole.
    parts = (part for line in lines for part in ([line] if _TIE in line else _narrow(line, width)))
    return [part.replace(_TIE, " ").replace(_PERCENT, " ") for part in parts]


def _narrow(line: str, width: int) -> Iterator[str]:
    while width_of(line) > width:
        fits = next(i for i in range(len(line), 0, -1) if width_of(line[:i]) <= width)
        yield line[:fits]
        line = line[fits:]
    yield line


def _table(table: Table, width: int, *, paint: Paint) -> Iterator[str]:
    groups = list(grouped(table))
    shown = [row for *_, rows in groups for row in rows]
    laid = _layout(table, shown, width)
    if shown and any(laid.titles):
        yield paint((laid.line(table, laid.titles).rstrip(), "dim"))
    kinds = {row.kind for row in shown}
    texts = iter(laid.texts)
    for kind, hidden, rows in groups:
        if hidden:
            yield paint((f"... {hidden}{' more' if kind in kinds else ''} {kind}", "dim"))
        for row in rows:
            yield from (paint(*runs) for runs in _fitted(laid.runs(table, row, next(texts)), width))
    gone = [i for i, column in enumerate(table.columns) if i not in laid.kept and column.title]
    if gone and 0 < table.repeats < len(laid.kept):
        yield ""
        below = table.of_columns([*range(table.repeats), *gone])
        yield from _table(below, width, paint=paint)
    elif shown and gone and not _COUNTS.issuperset(dropped := [table.columns[i].title for i in gone]):
        widths = range(width, _whole(table, shown).needed)
        enough = bisect_left(widths, True, key=lambda wide: {*gone} <= {*_layout(table, shown, wide).kept})
        least = max(width - _AROUND, len(dropped[0]))
        for some in (", ".join(dropped), enumerate_names(dropped, room=least)):
            room = f"(no room for: {some}; COLUMNS={width + enough} makes room)"
            if width_of(room) <= width:
                break
        yield from _wrapped(Text(room, "dim"), width, paint)


def _fitted(runs: list[tuple[str, Style]], width: int) -> Iterator[list[tuple[str, Style]]]:
    """A row; what is too long even so goes on lines of its own instead of being cut."""
    over: list[tuple[str, Style]] = []
    while len(runs) > 1 and sum(width_of(text) for text, _ in runs) > width:
        over.insert(0, runs.pop())
    yield runs
    text = "".join(text for text, _ in over).strip()
    if text:
        yield from ([(line, over[-1][1])] for line in _fill(f"    {text}", width, "    "))


class _Layout(Struct, frozen=True):
    """A table as it fits: the columns that are kept, with titles and cells as they are written."""

    kept: tuple[int, ...]
    titles: list[str]
    texts: list[list[str]]
    widths: list[int]
    needed: int

    def line(self, table: Table, texts: Sequence[str]) -> str:
        return _GAP.join(
            pad(text, width, right=table.columns[i].right)
            for text, width, i in zip(texts, self.widths, self.kept, strict=True)
        )

    def runs(self, table: Table, row: Row, texts: Sequence[str]) -> list[tuple[str, Style]]:
        """A row as pieces, each with its style; nothing after the last that says anything."""
        last = max((place for place, text in enumerate(texts) if text), default=0)
        pieces: list[tuple[str, Style]] = []
        for place, (text, width, i) in enumerate(zip(texts, self.widths, self.kept, strict=True)):
            if place > last:
                break
            bare = place == last and not table.columns[i].right
            pieces.append(
                (text if bare else pad(text, width, right=table.columns[i].right), row.cells[i].style)
            )
            pieces.append(("" if place == last else _GAP, ""))
        return pieces


def _layout(table: Table, rows: Sequence[Row], width: int) -> _Layout:
    """The fullest layout that fits, names as wide as there is room.

    In this order titles become brief, names short, columns go, texts become brief, and the last columns go.
    """
    numbers = sorted((column.drop, i) for i, column in enumerate(table.columns) if column.drop)
    droppable = [i for drop, i in reversed(numbers) if drop > 0]
    early = len(droppable)
    droppable += [i for drop, i in numbers if drop < 0]
    # Remarks that find no room go on lines of their own: nothing goes for them that the table is for.
    ends = [visible(row.cells[-1].text) for row in rows]
    every = early if any(ends) and not table.columns[-1].title else len(droppable)
    steps = [(count, 0, _SHORT) for count in range(early)]
    steps += [(early, level, _SHORT) for level in range(_BREVITY)]
    # What is dropped last stays beside short names: it is what the table is for.
    steps += [(count, _BREVITY, _SHORTER) for count in range(early, every + 1)]
    steps += [(every, _BREVITY, _SHORTEST)]
    laid = _whole(table, rows)
    if laid.needed <= width:
        return laid

    def without(gone: Sequence[int], level: int, cap: int | None) -> _Layout:
        kept = tuple(i for i in range(len(table.columns)) if i not in gone)
        return _laid(table, rows, kept, level, cap, brief=True)

    for count, level, least in steps:
        gone = droppable[:count]
        laid = without(gone, level, least)
        if laid.needed > width:
            continue
        # What went before another column may fit now that the other is gone.
        for i in reversed(gone):
            fewer = [other for other in gone if other != i]
            gone = fewer if without(fewer, level, least).needed <= width else gone
        whole = without(gone, level, None)
        caps = range(least, width)
        most = bisect_right(caps, width, key=lambda cap: without(gone, level, cap).needed)
        return whole if whole.needed <= width else without(gone, level, caps[most - 1])
    if not any(ends) or table.columns[-1].drop:
        return laid
    plain = [replace(row, cells=(*row.cells[:-1], Cell(""))) for row in rows]
    laid = _layout(table, plain, width)
    return replace(laid, texts=[[*texts[:-1], end] for texts, end in zip(laid.texts, ends, strict=True)])


def _whole(table: Table, rows: Sequence[Row]) -> _Layout:
    return _laid(table, rows, tuple(range(len(table.columns))), 0, None, brief=False)


def _laid(
    table: Table, rows: Sequence[Row], kept: tuple[int, ...], level: int, cap: int | None, *, brief: bool
) -> _Layout:
    columns: list[list[str]] = []
    titles, widths = [], []
    for i in kept:
        column = table.columns[i]
        texts = [visible(row.cells[i].at(level)) for row in rows]
        title = visible(column.brief or column.title if brief else column.title)
        if column.names:
            if cap is not None:
                prefix = common_prefix(texts)
                title = f"{prefix}…" if prefix and not title.endswith("…") else title
                texts = shortened([text[len(prefix) :] for text in texts], cap)
            # What all names have in common must not make the column wider than they are.
            room = max(_LEAST_TITLE, *map(width_of, texts)) if texts else width_of(title)
            title = title if width_of(title) <= room else visible(column.brief) or title
            if title.endswith("…") and width_of(title) > room:  # a beginning, and so is what is left of it
                title = re.sub(r"[\W_]+$", "", cut_right(title, room - 1)) + "…"
            title = shortened([title], room)[0]
        columns.append(texts)
        titles.append(title)
        fixed = (width_of(t) for t, row in zip(texts, rows, strict=True) if not row.cells[i].spans)
        widths.append(max([width_of(title), *fixed]))
    by_row = [list(row) for row in zip(*columns, strict=True)]
    ends = [sum(widths[:place]) + len(_GAP) * place for place in range(len(kept))]
    reach = [ends[-1] + widths[-1]] if kept else [0]
    for row, written in zip(rows, by_row, strict=True):
        place = next((place for place, i in enumerate(kept) if row.cells[i].spans and written[place]), None)
        if place is not None:
            rest = (width_of(text) + len(_GAP) for text in written[place + 1 :] if text)
            reach.append(ends[place] + width_of(written[place]) + sum(rest))
    return _Layout(kept, titles, by_row, widths, max(reach))

"""What a report is made of, before anybody knows where it will be shown: texts and tables.

A style is a name with a meaning (``"good"``, ``"bad"``, ``"doubt"``, ``"dim"``, ``"strong"``), never the only
carrier of it: every coloured cell says in words what its colour says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from speedproof.report import model
from speedproof.report.model import Report
from speedproof.stats.estimate import Estimate

__all__ = ["Block", "Cell", "Column", "Fitted", "Style", "Table", "Text", "as_report", "plain", "visible"]

Style = Literal["", "good", "bad", "doubt", "dim", "strong"]


@dataclass(frozen=True, slots=True)
class Text:
    """One paragraph."""

    text: str
    style: Style = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a table.

    Attributes
    ----------
    text : str
        As shown.
    style : Style
        Its meaning.
    speedup : Estimate or None
        The speedup that the text tells, for reports that draw; the others have all of it in the text.
    """

    text: str
    style: Style = ""
    speedup: Estimate | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table; one that may wrap gives way on a narrow terminal."""

    title: str
    right: bool = False
    wraps: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells under columns; every row has one cell a column."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    title: str = ""

    @property
    def widths(self) -> tuple[int, ...]:
        """Columns of text that each column needs."""
        return tuple(
            max([len(visible(column.title)), *(len(visible(row[i].text)) for row in self.rows)])
            for i, column in enumerate(self.columns)
        )


@dataclass(frozen=True, slots=True)
class Fitted:
    """One table in several versions, the fullest first; the first that fits the width is shown."""

    variants: tuple[Table, ...]

    def choose(self, width: int) -> Table:
        """The fullest variant for a width; columns that wrap are counted with a word's width.

        Examples
        --------
        >>> wide, lean = (Table((Column("x" * n),), ()) for n in (50, 10))
        >>> Fitted((wide, lean)).choose(40) is lean
        True
        """
        for table in self.variants:
            needed = sum(
                min(w, _WORD) + 2 if column.wraps else w + 2
                for w, column in zip(table.widths, table.columns, strict=True)
            )
            if needed <= width:
                return table
        return self.variants[-1]


Block = Text | Table | Fitted
_WORD = 14


def as_report(blocks: Sequence[Block], command: str = "") -> Report:
    """Blocks as a report, the first text as its title, too.

    Examples
    --------
    >>> found = as_report([Text("HPT"), Text("new wins"), Table((Column("n"),), ((Cell("1"),),)), Text("a note")])
    >>> found.title, [t.text for t in found.headline], len(found.tables), [t.text for t in found.notes]
    ('HPT', ['HPT', 'new wins'], 1, ['a note'])
    """
    first = blocks[0] if blocks and isinstance(blocks[0], Text) else None
    texts: list[model.Text] = []
    notes: list[model.Text] = []
    tables: list[model.Table] = []
    for block in blocks:
        if isinstance(block, Text):
            if block.text:
                (notes if tables else texts).append(model.Text(block.text, block.style))
            continue
        table = block.variants[0] if isinstance(block, Fitted) else block
        tables.append(
            model.Table(
                tuple(model.Column(c.title, right=c.right, names=c.wraps) for c in table.columns),
                tuple(
                    model.Row(
                        tuple(model.Cell(c.text, c.style, speedup=c.speedup) for c in row),
                        name=row[0].text if row else "",
                    )
                    for row in table.rows
                ),
                table.title,
            )
        )
    title = first.text if first is not None else ""
    return model.Report(title, tuple(texts), tuple(tables), tuple(notes), command=command)


def visible(text: str) -> str:
    r"""A text whose control characters can be seen instead of obeyed: names come from files.

    Examples
    --------
    >>> visible("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def plain(block: Block) -> str:
    """A block as text without colour, for a pipe: nothing is cut or wrapped.

    Parameters
    ----------
    block : Text, Table or Fitted
        What to show.

    Returns
    -------
    str
        Lines that end with a newline.

    Examples
    --------
    >>> t = Table((Column("name"), Column("n", right=True)), ((Cell("a"), Cell("10")), (Cell("bb"), Cell("9"))))
    >>> print(plain(t), end="")
    name   n
    a     10
    bb     9
    """
    if isinstance(block, Text):
        return visible(block.text) + "\n"
    if isinstance(block, Fitted):
        return plain(block.variants[0])
    lines = [block.title] if block.title else []
    header = [visible(column.title) for column in block.columns]
    for texts in (header, *([visible(cell.text) for cell in row] for row in block.rows)):
        cells = (
            text.rjust(width) if column.right else text.ljust(width)
            for text, width, column in zip(texts, block.widths, block.columns, strict=True)
        )
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines) + "\n"

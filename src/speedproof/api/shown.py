"""What all results have in common: they print themselves as the command line prints them."""

from __future__ import annotations

import html
from collections.abc import Iterable
from decimal import Decimal

from speedproof.errors import UsageError
from speedproof.report.blocks import Block, Fitted, Table, Text, plain

__all__ = ["Shown", "risk_of"]


def risk_of(confidence: float) -> float:
    """The risk alpha = 1 - confidence, in decimals: 1 - 0.95 is not 0.05 in binary.

    Examples
    --------
    >>> risk_of(0.95), risk_of(0.999999999)
    (0.05, 1e-09)
    """
    if not 0 < confidence < 1:
        hint = f"; do you mean {confidence / 100:g}?" if 1 < confidence < 100 else ""
        raise UsageError(f"the confidence must lie between 0 and 1, not be {confidence:g}{hint}")
    return float(1 - Decimal(repr(float(confidence))))


class Shown:
    """A result that is readable when printed, and a table in a notebook."""

    __slots__ = ()

    def _blocks(self) -> Iterable[Block]:
        raise NotImplementedError

    def __str__(self) -> str:
        return "".join(map(plain, self._blocks())).rstrip("\n")

    def _repr_html_(self) -> str:
        return "\n".join(map(_html, self._blocks()))


def _html(block: Block) -> str:
    if isinstance(block, Text):
        return f"<p>{html.escape(block.text)}</p>"
    table: Table = block.variants[0] if isinstance(block, Fitted) else block
    head = "".join(f"<th>{html.escape(column.title)}</th>" for column in table.columns)
    rows = "".join(
        f"<tr>{''.join(f'<td>{html.escape(cell.text)}</td>' for cell in row)}</tr>" for row in table.rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"

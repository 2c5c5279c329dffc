"""What all results have in common: they print themselves as the command line prints them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal

from speedproof.errors import UsageError
from speedproof.report import fragment, text
from speedproof.report.blocks import Block, as_report
from speedproof.report.model import Report

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

    def reports(self) -> Iterable[Report]:
        """The result in words, for every format."""
        return [as_report(tuple(self._blocks()))]

    def __str__(self) -> str:
        # Hints name options of the command line.
        shown = (replace(report, hints=()) for report in self.reports())
        return "\n".join(map(text.render, shown)).rstrip("\n")

    def _repr_html_(self) -> str:
        return "\n".join(map(fragment.render, self.reports()))

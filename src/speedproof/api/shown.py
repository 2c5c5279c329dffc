"""What all results have in common: they print themselves as the command line prints them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, runtime_checkable

from msgspec.structs import replace

from speedproof.data.remarks import remarks
from speedproof.data.sample import Alike
from speedproof.reporting.formats import Reported
from speedproof.reporting.model import Report, Text


class Shown(Alike):
    """A result that is readable when printed, and a table in a notebook."""

    __slots__ = ()

    def reports(self) -> Iterable[Report]:
        """The result in words, for every format."""
        raise NotImplementedError

    def written(self) -> Reported:
        """The result for a file, with the samples that a page draws."""
        return Reported(tuple(self.reports()))

    def _remarked(self) -> Iterable[Report]:
        """With what the command line says beside the result: what was left out or pooled of its suite."""
        *reports, last = self.reports()
        suite = getattr(self, "suite", None)
        lines = [*(remarks(suite) if suite else ()), *getattr(self, "problems", ())]
        yield from reports
        yield replace(last, notes=(*last.notes, *(Text(line, "warning") for line in lines)))

    def __str__(self) -> str:
        return "\n\n".join(map(str, self._remarked()))

    def _repr_html_(self) -> str:
        from speedproof.reporting import fragment

        return "\n".join(map(fragment.render, self._remarked()))


@runtime_checkable
class WithJson(Protocol):
    """A result that has everything as JSON."""

    def to_json(self) -> str:
        """Everything, as the command line writes it."""

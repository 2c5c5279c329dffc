"""What all results have in common: they print themselves as the command line does, and are written to files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from msgspec.structs import replace

from speedproof.data.checked import checked
from speedproof.data.remarks import remarks
from speedproof.data.sample import Alike
from speedproof.errors import UsageError
from speedproof.reporting.model import FORMATS, Report, Reported, Text


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


@checked("result")
def report(result: Shown, path: str | Path) -> None:
    """Write a result to a file, whose ending says as what.

    Parameters
    ----------
    result : any result
        Of :func:`speedproof.compare`, :func:`speedproof.race`, ...
    path : str or Path
        ``.html`` a page, ``.md`` Markdown, ``.csv`` or ``.tsv`` the table with all digits, ``.tex`` the table
        for a paper, ``.xml`` JUnit, ``.json`` what its ``to_json`` gives, ``.txt`` what ``print`` shows.

    Raises
    ------
    SpeedproofError
        An ending that is none of these, a result that has no such report, a file that cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import speedproof as sp
    >>> r = sp.compare([10.1, 10.3, 9.9, 10.0, 10.2], [9.1, 9.0, 9.3, 9.2, 8.9], unit="ms")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sp.report(r, Path(folder) / "out.csv")
    ...     (Path(folder) / "out.csv").read_text().partition(",")[0]
    'reference'
    """
    if not isinstance(result, Shown):
        raise UsageError(f"expected a result, of sp.compare(...) for example, not a {type(result).__name__}")
    path = Path(path)
    ending = path.suffix.lower()
    writers = {ending: found.write for found in FORMATS.values() for ending in found.endings}
    endings = [*writers, ".txt", *((".json",) if hasattr(result, "to_json") else ())]
    if ending not in endings:
        raise UsageError(f"{path}: a {type(result).__name__} is written as {', '.join(endings)}")
    try:
        path.write_text(_text(result, ending, writers.get(ending)), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None


def _text(result: Shown, ending: str, write: Callable[[Reported, str], str] | None) -> str:
    if write is not None:
        from speedproof.reporting.stored import Context

        return write(replace(result.written(), context=Context.of("import speedproof")), ending)
    if ending == ".json" and hasattr(result, "to_json"):
        return str(result.to_json())
    return f"{result}\n"

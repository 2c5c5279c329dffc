"""Results as files: pages, tables, what a pipeline reads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from speedproof.api.shown import Shown, WithJson
from speedproof.data.checked import checked
from speedproof.errors import UsageError
from speedproof.reporting.formats import FORMATS, Reported
from speedproof.reporting.stored import Context


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
    endings = [*writers, ".txt", *((".json",) if isinstance(result, WithJson) else ())]
    if ending not in endings:
        raise UsageError(f"{path}: a {type(result).__name__} is written as {', '.join(endings)}")
    try:
        path.write_text(_text(result, ending, writers.get(ending)), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None


def _text(result: Shown, ending: str, write: Callable[[Reported, str], str] | None) -> str:
    if write is not None:
        return write(replace(result.written(), context=Context.of("import speedproof")), ending)
    return result.to_json() if isinstance(result, WithJson) and ending == ".json" else f"{result}\n"

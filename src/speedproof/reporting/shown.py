"""What all results have in common: they print themselves as the command line does, beside remarks on a suite."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from msgspec.structs import replace

from speedproof.data.checked import checked
from speedproof.data.names import enumerate_names
from speedproof.data.record import why_left_out
from speedproof.data.sample import Alike
from speedproof.data.suite import Suite
from speedproof.errors import UsageError
from speedproof.reporting.model import FORMATS, Report, Reported, Text, to_json
from speedproof.reporting.names import shortened

_FRAMES = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "table"}


class Shown(Alike):
    """A result that is readable when printed, and a table in a notebook."""

    __slots__ = ()
    command = ""
    """Whose JSON it is."""

    def exported(self) -> Any:
        """The result in the form for other programs."""
        raise NotImplementedError

    def to_json(self) -> str:
        """What the command writes with ``--json``."""
        return to_json(self.command, [self.exported()])

    def reports(self) -> Iterable[Report]:
        """The result in words, for every format."""
        raise NotImplementedError

    def written(self) -> Reported:
        """The result for a file, with the samples that a page draws."""
        return Reported(tuple(self.reports()))

    @checked()
    def to_frame(self, library: Literal["pandas", "polars", "pyarrow"] | None = None) -> Any:
        """The content of the CSV output as a data frame: all numbers, or else the cells.

        Parameters
        ----------
        library : {"pandas", "polars", "pyarrow"}, optional
            By default that of the frame which the suite was made of, else the first that is installed.
        """
        from speedproof.reporting.formats.csv import records

        of_suite = getattr(getattr(self, "suite", None), "frames", "")
        name = library or of_suite or next(filter(find_spec, _FRAMES), "pandas")
        try:
            module = import_module(name)
        except ImportError:
            raise UsageError(f"to_frame() makes a data frame of {name}: pip install {name}") from None
        (names, rows), *others = map(records, self.written().reports)
        rows = [*rows, *(row for other, more in others if other == names for row in more)]
        titles = [f"{n} {k}" if (k := 1 + [*names[:i]].count(n)) > 1 else n for i, n in enumerate(names)]
        columns = zip(*rows, strict=True) if rows else ([] for _ in titles)
        return getattr(module, _FRAMES[name])(dict(zip(titles, map(list, columns), strict=True)))

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
        from speedproof.reporting.formats.html import fragment

        return "\n".join(map(fragment, self._remarked()))


@checked("result")
def report(result: Shown, path: str | Path) -> None:
    """Write a result to a file, whose ending says as what.

    Parameters
    ----------
    result : any result
        Of :func:`speedproof.compare`, :func:`speedproof.race`, ...
    path : str or Path
        ``.html`` a page, ``.md`` Markdown, ``.csv`` or ``.tsv`` the table with all digits, ``.tex`` the table
        for a paper, ``.xml`` JUnit, ``.json`` what its ``to_json`` gives.

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
    writers = {ending: made.write for made in FORMATS.values() for ending in made.endings}
    if ending not in (*writers, ".json"):
        raise UsageError(f"{path}: a {type(result).__name__} is written as {', '.join((*writers, '.json'))}")
    from speedproof.reporting.formats import write_whole

    write_whole(path, _text(result, writers.get(ending), ending))


def _text(result: Any, write: Callable[[Reported, str], str] | None, ending: str) -> str:
    if write is None:
        return str(result.to_json())
    from speedproof.reporting.stored import Context

    return write(replace(result.written(), context=Context.of("")), ending)


# As the tools name them. What a version is made of (compiler, interpreter, commit) is what is compared.
_CONDITIONS = (
    "host", "hostname", "host_name", "node", "machine", "cpu", "cpu_model_name", "cpu_count", "num_cpus", "ram",
    "arch", "Architecture", "goarch", "goos", "os", "OsVersion", "system", "release", "uname", "platform",
    "kernel", "governor", "turbo", "smt", "power", "cpu_config", "cpu_scaling_enabled", "cpu_affinity", "aslr",
)  # fmt: skip
_SHOWN = 32


def different_conditions(suite: Suite) -> tuple[str, ...]:
    """Find the conditions in which the versions of a suite differ; two versions that do are shown."""
    differences = []
    for condition in _CONDITIONS:
        values = {version: suite.fields.get(version, {}).get(condition, ()) for version in suite.versions}
        complete = all(values.values())
        chosen = all(of_version == (version,) for version, of_version in values.items())
        firsts: dict[frozenset[str], str] = {}
        for version, of_version in values.items():
            firsts.setdefault(frozenset(of_version), version)
        if complete and not chosen and len(firsts) > 1:
            two = [*firsts.values()][:2]
            cut = zip(
                shortened(two, _SHOWN), shortened(["/".join(values[v]) for v in two], _SHOWN), strict=True
            )
            shown = "; ".join(f"{version}: {value}" for version, value in cut)
            differences.append(f"{condition} ({shown}{'; ...' if len(values) > 2 else ''})")
    return tuple(differences)


@checked()
def remarks(suite: Suite) -> tuple[str, ...]:
    """What was left out or pooled, where conditions differed, and what readers remarked of which samples.

    Parameters
    ----------
    suite : Suite
        As read.

    Returns
    -------
    tuple of str
        A line each.

    Examples
    --------
    >>> import numpy as np
    >>> from speedproof.data.record import Record, Skipped
    >>> sort = Record("sort", np.array([2.0]), notes=("the values are sorted",))
    >>> lost = [Skipped(f"{name}.json", "", name, "it has no times") for name in ("hash", "heap")]
    >>> for line in remarks(Suite.from_records(("old", item) for item in (sort, *lost))):
    ...     print(line)
    left out: hash.json and 1 more: 2 entries (hash, heap): it has no times
    note: old: the values are sorted
    """
    lines = [f"left out: {line}" for line in why_left_out(suite.skipped)]
    for pooled in suite.residue:
        values = {value for of in suite.fields.values() for value in of.get(pooled.field, ())}
        # A field that has other values, too, does not name versions.
        remedy = f"; --by {shlex.quote(pooled.field)} tells them apart" if values <= {*pooled.values} else ""
        lines.append(f"note: {pooled}{remedy}")
    if differences := different_conditions(suite):
        what = enumerate_names(differences, 2)
        lines.append(f"note: versions measured under different conditions, which count as speedup: {what}")
    samples: dict[str, dict[str, None]] = {}
    several = len(suite.benchmarks) > 1
    for (key, version), record in zip(suite.samples, suite.arrays[1], strict=True):
        for note in dict.fromkeys(record.notes):
            where = f"{version} ({key.benchmark})" if several and version else version or key.benchmark
            samples.setdefault(note, {}).setdefault(where)
    lines += [f"note: {enumerate_names(where, 3, 60)}: {note}" for note, where in samples.items()]
    return tuple(lines)

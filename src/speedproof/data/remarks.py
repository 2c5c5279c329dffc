"""What a user should know of a suite before anything is concluded from it."""

from __future__ import annotations

from collections.abc import Sequence

from speedproof.data.checked import checked
from speedproof.data.names import begin_alike, enumerate_names
from speedproof.data.suite import Suite

# As the tools name them. What a version is made of (compiler, interpreter, commit) is what is compared.
_CONDITIONS = (
    "host", "hostname", "host_name", "node", "machine", "cpu", "cpu_model_name", "cpu_count", "num_cpus", "ram",
    "arch", "Architecture", "goarch", "goos", "os", "OsVersion", "system", "release", "uname", "platform",
    "kernel", "governor", "turbo", "smt", "power", "cpu_config", "cpu_scaling_enabled", "cpu_affinity", "aslr",
)  # fmt: skip
_SHOWN = 32


def _same(values: Sequence[str]) -> int:
    """How much of the beginnings of long values is left out, so that their difference is seen."""
    start = same = begin_alike(values)
    if max(map(len, values)) <= _SHOWN or start < _SHOWN - 1:
        return 0
    while start and values[0][start - 1].isalnum():  # whole words
        start -= 1
    return start or same


def _cut(text: str, start: int = 0) -> str:
    text = f"…{text[start:]}" if start else text
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


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
            two = [(version, "/".join(values[version])) for version in [*firsts.values()][:2]]
            start = _same([value for _, value in two])
            shown = "; ".join(f"{_cut(version)}: {_cut(value, start)}" for version, value in two)
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
    >>> lost = Skipped("a.json", "results[1]", "hash", "it has no times")
    >>> for line in remarks(Suite.from_records([("old", sort), ("old", lost)])):
    ...     print(line)
    left out: a.json: results[1]: hash: it has no times
    note: old, sort: the values are sorted
    """
    lines = [f"left out: {skipped}" for skipped in suite.skipped if not skipped.expected]
    lines += [f"note: {residue}{residue.remedy}" for residue in suite.residue]
    if differences := different_conditions(suite):
        what = enumerate_names(differences, 2)
        lines.append(f"note: versions measured under different conditions, which count as speedup: {what}")
    samples: dict[str, dict[str, None]] = {}
    for (key, version), sample in suite.samples.items():
        for note in sample.notes:
            where = f"{version}, {key.benchmark}" if version else key.benchmark
            samples.setdefault(note, {}).setdefault(where)
    lines += [f"note: {enumerate_names(where, 3, 60)}: {note}" for note, where in samples.items()]
    return tuple(lines)

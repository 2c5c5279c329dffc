"""What a user should know of a suite before anything is concluded from it."""

from __future__ import annotations

from speedproof.data.checked import checked
from speedproof.data.conditions import different_conditions
from speedproof.data.names import enumerate_names
from speedproof.data.suite import Suite


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
        what = enumerate_names(map(str, differences), 2)
        lines.append(f"note: versions measured under different conditions, which count as speedup: {what}")
    samples: dict[str, dict[str, None]] = {}
    for (key, version), sample in suite.samples.items():
        for note in sample.notes:
            where = f"{version}, {key.benchmark}" if version else key.benchmark
            samples.setdefault(note, {}).setdefault(where)
    lines += [f"note: {enumerate_names(where, 3, 60)}: {note}" for note, where in samples.items()]
    return tuple(lines)

"""Names that fit: what all have in common is left out, the rest shortened in the middle, and no two get alike."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from speedproof.report.cells import cut_left, cut_right, visible, width_of

__all__ = ["common_prefix", "labels", "shortened"]

_BOUNDARY = re.compile(r"[./:\\_\-\s]")
_SHARES = (0.5, 0.35, 0.65, 0.2, 0.8, 0.0, 1.0)
"""How much of the room the beginning of a name gets, in the order in which they are tried."""


def common_prefix(names: Sequence[str]) -> str:
    """What all names begin with, up to the last separator; empty where that says nothing.

    Examples
    --------
    >>> common_prefix(["org.sort.Quick", "org.sort.Merge"]), common_prefix(["sort", "sum"]), common_prefix(["a.b"])
    ('org.sort.', '', '')
    """
    if len(set(names)) < 2:
        return ""
    first, last = min(names), max(names)
    same = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    ends = [match.end() for match in _BOUNDARY.finditer(first, 0, same)]
    # A short prefix costs the reader more to be told of than to read, and no name may become empty.
    while ends and any(len(name) == ends[-1] for name in names):
        ends.pop()
    return first[: ends[-1]] if ends and ends[-1] >= 4 else ""


def shortened(names: Sequence[str], width: int) -> list[str]:
    """Names of at most a width, distinct wherever they were.

    Parameters
    ----------
    names : sequence of str
        As they are.
    width : int
        In columns of a terminal, at least 6.

    Returns
    -------
    list of str
        With an ellipsis in the middle of those that are too long.

    Examples
    --------
    >>> shortened(["sort", "json_dumps_of_a_large_file", "json_dumps_of_a_small_file"], 12)
    ['sort', 'json…ge_file', 'json…ll_file']
    """
    found = {name: name for name in names}
    long = [name for name in found if width_of(name) > width]
    for share in _SHARES:
        for name in long:
            found[name] = _middle(name, width, share)
        counts = Counter(found.values())
        long = [name for name in long if counts[found[name]] > 1]
        if not long:
            break
    else:  # they differ only in the middle, where there is no room for it
        for number, name in enumerate(long, 1):
            found[name] = _middle(name, width - len(str(number)) - 1, 0.7) + f"~{number}"
    return [found[name] for name in names]


def labels(names: Sequence[str], width: int) -> list[str]:
    """Names of versions of at most a width: where one is too long, without what all begin and end with.

    Examples
    --------
    >>> labels(["results/2026-05/main/bench.json", "results/2026-05/jit/bench.json"], 12), labels(["O2", "O3"], 12)
    (['main', 'jit'], ['O2', 'O3'])
    """
    names = [" ".join(visible(name).split()) for name in names]
    if max(map(width_of, names), default=0) > width:
        start = len(common_prefix(names))
        end = len(common_prefix([name[start:][::-1] for name in names]))
        names = [name[start : len(name) - end] for name in names]
    return shortened(names, width)


def _middle(text: str, width: int, share: float) -> str:
    if width_of(text) <= width:
        return text
    head = round((width - 1) * share)
    return f"{cut_right(text, head)}…{cut_left(text, width - 1 - head)}"

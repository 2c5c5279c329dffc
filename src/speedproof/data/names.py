"""Names of benchmarks and versions: chosen by patterns, listed in messages."""

from __future__ import annotations

import fnmatch
import re
from collections import Counter
from collections.abc import Iterable, Sequence


def visible(text: str) -> str:
    r"""Escape control characters: names come from files."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def visible_lines(text: str) -> str:
    """The same, keeping line breaks."""
    return "\n".join(map(visible, text.split("\n")))


def enumerate_names(names: Iterable[str], limit: int = 8, room: int = 0, of: int = 0) -> str:
    """Names for a message: at most so many, and of those beyond the first what fits into the room, if any.

    Of more names than are given ``of`` is how many there are.
    """
    names = list(names)
    while room and limit > 1 and len(", ".join(names[:limit])) > room:
        limit -= 1
    shown = ", ".join(names[:limit])
    if room and len(shown) > room:
        shown = f"{shown[: room // 2 - 1]}…{shown[-room // 2 :]}"
    rest = max(of, len(names)) - len(names[:limit])
    return shown + (f" and {rest} more" if rest else "")


def left_out(names_and_reasons: Iterable[tuple[str, str]]) -> list[str]:
    """A line for each reason to leave something out, with the first names.

    Examples
    --------
    >>> left_out([("hash", "only old has it"), ("sort", "only old has it"), ("heap", "no times")])
    ['left out: hash, sort: only old has it', 'left out: heap: no times']
    """
    by_reason: dict[str, list[str]] = {}
    for name, reason in names_and_reasons:
        by_reason.setdefault(reason, []).append(name)
    return [f"left out: {enumerate_names(names, 5, 60)}: {reason}" for reason, names in by_reason.items()]


def plural(number: int, noun: str) -> str:
    """A number with its noun."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def begin_alike(names: Sequence[str]) -> int:
    """Length of the common prefix of all names."""
    first, last = min(names), max(names)
    return next(
        (i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last))
    )


def nearest_of(name: str, names: Sequence[str]) -> str:
    """Suggest the names closest to an unknown one, for a message."""
    from difflib import get_close_matches  # not for names that there are

    near = get_close_matches(name, names, 1)
    return f"do you mean {near[0]}?" if near else f"available: {enumerate_names(names, 5)}"


_HASH = "[0-9a-f]{4,40}"


def version_of(name: str, versions: Sequence[str]) -> str:
    """The version that is meant: of that name, or the only one of a commit that was called so or has that hash.

    Also the only one with that part of its path, or with one that ends so, where others lack that part.
    """
    if name in versions:
        return name
    first = {version: version.partition(" ")[0] for version in versions}
    commits = {version: commit for version, commit in first.items() if re.fullmatch(_HASH, commit)}
    near = {v: len(c) >= 7 and (c.startswith(name) or name.startswith(c)) for v, c in commits.items()}
    counts = Counter(part for version in versions for part in {*version.split("/")})
    apart = {v: [part for part in v.split("/") if counts[part] == 1] for v in versions}
    for called in (
        [v for v in commits if v.partition(" ")[2] == name],
        [v for v in commits if near[v] and re.fullmatch(_HASH, name)],
        [v for v, parts in apart.items() if name in parts],
        [v for v, parts in apart.items() if any(part.endswith(f"-{name}") for part in parts)],
    ):
        if len(called) == 1:
            return called[0]
    return name


def wanted(name: str, only: Sequence[str], skip: Sequence[str]) -> bool:
    """Whether a name is selected by ``only`` and not excluded by ``skip``."""

    def matches(pattern: str) -> bool:
        return name == pattern or fnmatch.fnmatchcase(name, pattern)

    return (not only or any(map(matches, only))) and not any(map(matches, skip))


def joined(columns: Sequence[str], values: Sequence[str]) -> str:
    """One name of the values of several columns, with the columns' names unless every value is a word.

    The parts of a name that are known by their places (``/2``) have none.
    """
    if len(values) == 1 or all(value[:1].isalpha() for value in values):
        return "/".join(values)
    pairs = zip(columns, values, strict=True)
    return "/".join(value if column[:1] == "/" else f"{column}={value}" for column, value in pairs)


def natural(name: str) -> tuple[tuple[bool, int, str], ...]:
    """A key that sorts numbers inside names by their size: ``v2`` before ``v10``."""
    pieces = re.split(r"([0-9]+)", name)
    key = [(False, int(p[:300]), "") if p.isdecimal() else (True, 0, p) for p in pieces if p]
    return (*key, (False, -1, name))


MANIFEST = "corpus.json"
"""The file by which a folder is recognised as a corpus."""


def is_url(path: str) -> bool:
    """Whether a text begins with a protocol."""
    return "://" in path

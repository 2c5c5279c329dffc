"""Names of benchmarks and versions: chosen by patterns, listed in messages, shortened so that no two are alike."""

from __future__ import annotations

import fnmatch
import re
import shlex
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

from speedproof.errors import UsageError


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


def version_given(name: str, versions: Sequence[str], where: str = "") -> str:
    """The version that is meant: by its name, the short one of a report, part of its path, or a commit's hash."""
    meant = version_of(name, versions)
    if meant in versions:
        return meant
    short, names = short_names(versions), called(versions)
    if len(near := [v for v in versions if name in (short[v], names[v])]) == 1:
        return near[0]
    there = nearest_of(name, [*map(shlex.quote, short.values())])
    raise UsageError(f"{where and f'{where}: '}there is no version {name}; {there}")


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


_BOUNDARY = r"\.(?!\d)|[/:=\\_\s]|(?<!\bno)-"
_SPACE = r"\s"
_PARTS = r"((?:[/\\\s_:]|(?<!\bno)-)+)"
_WORDS = r"""(?:"[^"]*"|'[^']*'|\S)+"""
_LAST_WORD = r"(?<![^\W_])[^\W_]*+$"
_FILES, _COMMANDS, _NICKNAME = 24, 40, 12
"""The width of a name in a sentence, of a command, and of a version of a corpus."""
_SHARES = (0.5, 0.35, 0.65, 0.2, 0.8)
"""How much of the room the beginning of a name gets, in the order in which they are tried."""
_DIGITS, _NUMBER = "0123456789.", r"\.?\d"


def width_of(text: str) -> int:
    """How many columns a text takes: wide characters of East Asia take two, combining ones none."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(char: str) -> int:
    return 0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1


def cut_right(text: str, width: int) -> str:
    """The longest beginning of a text that is no wider."""
    used = 0
    for i, char in enumerate(text):
        used += _columns(char)
        if used > width:
            return text[:i]
    return text


def cut_left(text: str, width: int) -> str:
    """The longest end of a text that is no wider."""
    return cut_right(text[::-1], width)[::-1]


def common_prefix(names: Sequence[str]) -> str:
    """The common prefix of all names, up to the last separator; empty if it is meaningless."""
    if len(set(names)) < 2:
        return ""
    first, same = min(names), begin_alike(names)
    # Of commands only whole words, never part of a number or of a quotation.
    boundary = _SPACE if re.search(_SPACE, first[:same]) else _BOUNDARY
    ends = [match.end() for match in re.finditer(boundary, first[:same])]
    ends = [end for end in ends if not (first[:end].count('"') % 2 or first[:end].count("'") % 2)]
    # A short prefix is easier to read than to be explained, and no name may become empty.
    while ends and any(len(name) == ends[-1] for name in names):
        ends.pop()
    return first[: ends[-1]] if ends and ends[-1] >= 4 else ""


def shortened(names: Sequence[str], width: int) -> list[str]:
    """Names of at most a width, distinct wherever they were."""
    short = {name: name for name in names}
    long = [name for name in short if width_of(name) > width]
    for share in _SHARES:
        for name in long:
            short[name] = _middle(name, width, share)
        counts = Counter(short.values())
        long = [name for name in long if counts[short[name]] > 1 or _lacks_a_number(name, short[name])]
        if not long:
            break
    else:  # they differ in the middle
        short |= zip(long, _middles(long, width), strict=True) if len(long) > 1 else ()
        counts = Counter(short.values())
        for number, name in enumerate((name for name in long if counts[short[name]] > 1), 1):
            short[name] = _middle(name, width - len(str(number)) - 1, 0.7) + f"~{number}"
    return [short[name] for name in names]


def spoken(names: Sequence[str]) -> list[str]:
    """Names of versions for sentences and rows; those of commands may be longer."""
    return labels(names, _FILES, _COMMANDS)


def called(names: Sequence[str]) -> dict[str, str]:
    """The spoken name of each version."""
    return dict(zip(names, spoken(names), strict=True))


def short_names(versions: Iterable[str]) -> dict[str, str]:
    """The versions of a corpus, each with one short name by which all reports call it and commands know it."""
    names = list(dict.fromkeys(versions))
    parted = names
    if max(map(len, names), default=0) > _NICKNAME:
        # The file alone, else its folder, where that tells the versions apart.
        paths = [re.split(r"\s*/\s*", name) for name in names]
        counts = [Counter(path[at] for path in paths) for at in (-1, 0)]

        def part(path: list[str]) -> str:
            alone = (path[at] for at, count in zip((-1, 0), counts, strict=True) if count[path[at]] == 1)
            return next(alone, "/".join(path))

        parts = list(map(part, paths))
        parted = parts if len(set(parts)) == len(names) else names
    # Names that begin alike are shortened together, so that others, which come later, leave them as they are.
    groups: dict[str, list[str]] = {}
    for name in parted:
        groups.setdefault(re.split(_BOUNDARY, name, maxsplit=1)[0], []).append(name)
    short: dict[str, str] = {}
    for group in groups.values():
        short |= zip(group, labels(group, _NICKNAME), strict=True)
    if len(set(short.values())) < len(set(parted)):
        short = dict(zip(parted, labels(parted, _NICKNAME), strict=True))
    return {name: short[of] for name, of in zip(names, parted, strict=True)}


def labels(names: Sequence[str], width: int, of_commands: int = 0) -> list[str]:
    """Names of versions of at most a width: where one is too long, without what all begin and end with.

    Commands, which have blanks, lose whole words, and their programs only where all have the same. They may be
    as wide as ``of_commands`` where that is more.
    """
    names = [" ".join(visible(name).split()) for name in names]
    if max(map(width_of, names), default=0) <= width:
        return names
    if any(" " in name for name in names):
        return shortened(_without_shared_words(names), max(width, of_commands))
    start = len(common_prefix(names))
    end = len(common_prefix([name[start:][::-1] for name in names]))
    names = [name[start : len(name) - end] for name in names]
    if max(map(width_of, names)) > width:
        names = _without_shared(names, width)
    return shortened(names, width)


def _without_shared_words(names: list[str]) -> list[str]:
    """Commands without the words that all begin and end with; the program stays unless it is one of them."""
    words = [re.findall(_WORDS, name) for name in names]
    if len(set(names)) < 2:
        return names
    least = min(map(len, words))
    start = next((i for i in range(least) if len({split[i] for split in words}) > 1), least)
    ends = range(1, least - start + 1)
    end = next((i - 1 for i in ends if len({split[-i] for split in words}) > 1), len(ends))
    # No name may become empty.
    start -= start == least
    end -= start + end == least
    return [" ".join(split[start : len(split) - end]) for split in words]


def _without_shared(names: list[str], width: int) -> list[str]:
    """Names without the parts that all have, then without those that are not needed to tell them apart."""
    parts = [re.split(_PARTS, name) for name in names]
    shared = {"", *set.intersection(*({*pieces[::2]} for pieces in parts))}
    kept = [
        [(pieces[i - 1] if i else "", pieces[i]) for i in range(0, len(pieces), 2) if pieces[i] not in shared]
        for pieces in parts
    ]
    if not all(kept):
        return names

    def joined(lists: list[list[tuple[str, str]]]) -> list[str]:
        return ["".join([pieces[0][1], *(part for pair in pieces[1:] for part in pair)]) for pieces in lists]

    def tell(short: list[str]) -> bool:
        return all(short) and len(set(short)) == len(set(names))

    short = joined(kept)
    while max(map(width_of, short)) > width:
        fewer = _fewer_parts(kept)
        if fewer == kept or not tell(joined(fewer)):
            break
        kept, short = fewer, joined(fewer)
    return short if tell(short) else names


def _fewer_parts(kept: list[list[tuple[str, str]]]) -> list[list[tuple[str, str]]]:
    """Without the first of the parts that stand in the same names; where all differ in that, without the first."""
    names_with: dict[str, set[int]] = {}
    for i, parts in enumerate(kept):
        for _, part in parts:
            names_with.setdefault(part, set()).add(i)
    by_names: dict[frozenset[int], list[str]] = {}
    for part, where in names_with.items():
        by_names.setdefault(frozenset(where), []).append(part)
    again = {parts[0] for parts in by_names.values() if len(parts) > 1}
    if again:
        return [[pair for pair in parts if pair[1] not in again] for parts in kept]
    return [parts[1:] if len(parts) > 1 else parts for parts in kept]


def _middles(names: Sequence[str], width: int) -> list[str]:
    """Names by what tells them apart, between as much of both ends as fits."""
    turned = [name[::-1] for name in names]
    # Whole words, or the reader sees "ame" and "pread".
    start, end = (len(re.sub(_LAST_WORD, "", spelt[0][: begin_alike(spelt)])) for spelt in (names, turned))
    short = []
    for name in names:
        apart = name[start : max(start, len(name) - end)]
        room = width - width_of(apart) - 2
        if not apart:
            short.append(_middle(name, width, 0.5))
        elif room < 2 or not (start and end):
            before, after = "…" * bool(start), "…" * bool(end)
            short.append(f"{before}{_middle(apart, width - len(before + after), 0.5)}{after}")
        else:
            head, tail = name[:start], name[len(name) - end :]
            short.append(f"{cut_right(head, room // 2)}…{apart}…{cut_left(tail, room - room // 2)}")
    return short


def _middle(text: str, width: int, share: float) -> str:
    if width_of(text) <= width:
        return text
    head = round((width - 1) * share)
    if share == _SHARES[0]:
        whole = _whole_words(text, width)
        if width_of(whole) > 0.5 * width:
            return whole
    first, last = cut_right(text, head), cut_left(text, width - 1 - head)
    # Half a number would be read as another one.
    if re.match(_NUMBER, text[len(first) :]):
        first = first.rstrip(_DIGITS) or first
    if re.match(_NUMBER, text[: len(text) - len(last)][::-1]):
        last = last.lstrip(_DIGITS) or last
    return f"{first}…{last}"


def _lacks_a_number(name: str, short: str) -> bool:
    """Whether a number is left out beside what is shown of the text around it."""
    first, _, last = short.partition("…")
    return bool(last) and any(
        re.match(_NUMBER, text[len(shown) :]) for text, shown in ((name, first), (name[::-1], last[::-1]))
    )


def _whole_words(text: str, width: int) -> str:
    """As many first and last words as fit; empty if no two do."""
    words = [word for word in re.findall(_WORDS, text) if word != "…"]
    best = ""
    head, tail = 1, 0
    while head + tail < len(words):
        more = [(head, tail + 1), (head + 1, tail)]
        wider = [" ".join([*words[:h], "…", *words[len(words) - t :]]) for h, t in more if h + t < len(words)]
        i = next((i for i, name in enumerate(wider) if width_of(name) <= width), None)
        if i is None:
            break
        (head, tail), best = more[i], wider[i]
    return best

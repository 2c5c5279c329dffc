"""How names are written: without what they have in common, the rest cut in the middle, and no two alike."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from speedproof.data.names import begin_alike
from speedproof.data.names import enumerate_names as enumerate_names
from speedproof.data.names import visible as visible
from speedproof.data.names import visible_lines as visible_lines
from speedproof.reporting.model import Cell, Column

_BOUNDARY = r"\.(?!\d)|[/:=\\_\s]|(?<!\bno)-"
_FIELD = r"(?:^|/)([A-Za-z_][\w.]*)="
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


def pad(text: str, width: int, *, right: bool = False) -> str:
    """A text filled up with spaces, on the left when it is set flush right."""
    fill = " " * (width - width_of(text))
    return fill + text if right else text + fill


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


def file_names(names: Sequence[str], room: int) -> list[str]:
    """Names spelt for file systems: of so many bytes at most, and distinct whatever the case."""
    names_by_case: dict[str, str] = {}
    for name in names:
        whole = "".join(c if c.isalnum() or c in "-_." else "-" for c in name)
        spelt, number = whole.encode()[:room].decode(errors="ignore"), 1
        while spelt.casefold() in names_by_case:
            number += 1
            spelt = f"{whole.encode()[: room - len(str(number)) - 1].decode(errors='ignore')}-{number}"
        names_by_case[spelt.casefold()] = spelt
    return list(names_by_case.values())


def benchmark_column(names: Sequence[str], title: str = "") -> tuple[Column, Callable[[str], Cell]]:
    """The column of benchmarks, which has in its title what all names have in common, and the cell of each.

    That is what they begin with, or the fields that they name (``program=art/threads=2``).
    """
    fields = re.findall(_FIELD, names[0]) if names else []
    if len(fields) > 1 and all(re.findall(_FIELD, name) == fields for name in names):
        before = names[0].partition(f"{fields[0]}=")[0]
        if all(name.startswith(f"{before}{fields[0]}=") for name in names):
            said = "/".join(fields)
            return Column(before + said, names=True, brief=said), lambda name: Cell(
                re.sub(_FIELD, r"/", name[len(before) :])[1:], "strong"
            )
    prefix = common_prefix(names)
    column = Column(f"{prefix}…" if prefix else title, names=True)
    return column, lambda name: Cell(name[len(prefix) :], "strong")


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

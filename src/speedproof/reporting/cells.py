"""Text in columns of a terminal: how wide it is."""

from __future__ import annotations

import unicodedata

from speedproof.data.names import visible as visible
from speedproof.data.names import visible_lines as visible_lines


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

"""What a command that is started directly means to a shell only: it would be passed on as an argument."""

from __future__ import annotations

import glob
import re
import shlex

_TOKEN = re.compile(
    r"""
    (?P<blank>\s+)
    | (?P<quoted>\\. | '[^']*' | "(?:\\.|[^"\\])*")
    | (?P<piece>
        (?: (?<!\S)\d+ )? (?: <<<? | <> | [<>]& | >> | >\| | [<>] ) (?: (?<=&)(?:\d+|-) )?  # 2>&1
        | &>>? | \|\| | \|& | \| | && | & | ;+
        | \$ (?: \{[^}]*\}? | \([^)]*\)? | \w+ | [?@*\#$!] )
        | `[^`]*`?
        | (?<!\S) ~ (?:/\S*)? (?=\s|$)
    )
    | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)


def shell_syntax(text: str, folder: str = "") -> str:
    r"""The first piece of a command that a shell would carry out or replace, and splitting into words does not."""
    start, pattern, magic = 0, "", False
    for match in _TOKEN.finditer(text + " "):
        kind, found = match.lastgroup, match[0]
        if kind == "piece":
            return found
        if kind == "blank":
            # Not Path.glob, which takes no absolute pattern.
            if magic and any(glob.iglob(pattern, root_dir=folder or None)):  # noqa: PTH207
                return text[start : match.start()]
            start, pattern, magic = match.end(), "", False
        elif kind == "quoted":
            pattern += glob.escape("".join(shlex.split(found)))
        else:
            pattern += found
            magic = magic or found in "*?["
    return ""

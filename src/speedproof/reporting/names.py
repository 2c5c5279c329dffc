"""How names are written in reports: padded, as names of files, and as a column of benchmarks."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from speedproof.data.names import called as called
from speedproof.data.names import common_prefix as common_prefix
from speedproof.data.names import cut_left as cut_left
from speedproof.data.names import cut_right as cut_right
from speedproof.data.names import enumerate_names as enumerate_names
from speedproof.data.names import labels as labels
from speedproof.data.names import short_names as short_names
from speedproof.data.names import shortened as shortened
from speedproof.data.names import spoken as spoken
from speedproof.data.names import visible_lines as visible_lines
from speedproof.data.names import width_of as width_of
from speedproof.reporting.model import Cell, Column

_FIELD = r"(?:^|/)([A-Za-z_][\w.]*)="


def pad(text: str, width: int, *, right: bool = False) -> str:
    """A text filled up with spaces, on the left when it is set flush right."""
    fill = " " * (width - width_of(text))
    return fill + text if right else text + fill


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

"""A row of the page: one experiment of a paper, what it needs, and what came out."""

from __future__ import annotations

import lzma
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

__all__ = [
    "PAPERS",
    "PRINTED",
    "ROOT",
    "ROWS",
    "Line",
    "NotHereError",
    "Outcome",
    "Result",
    "Row",
    "Setting",
    "agrees",
    "alike",
    "cut",
    "number",
    "register",
    "share",
    "text_of",
]

PRINTED = Path(__file__).with_name("printed")
ROOT = Path(__file__).parents[2]


class NotHereError(Exception):
    """What the experiment needs is not there: data that may not be committed, or a compiler."""


class Outcome:
    """What a line of the page says of a number."""

    AGREES = "yes"
    MISPRINT = "misprint"
    CUT = "cut"
    DIFFERS = "no"
    LIKE = "alike"
    OWN = "-"


@dataclass(frozen=True)
class Line:
    """One number: the paper's beside ours.

    ``outcome`` is an `Outcome`: a misprint of the paper, with the reason in ``why``; "cut" where digits were
    dropped, not rounded; "alike" for figures from other
    data or draws that can only be compared in kind; "-" where the paper has no such number.
    """

    what: str
    paper: str
    ours: str
    outcome: str = Outcome.OWN
    why: str = ""


@dataclass(frozen=True)
class Result:
    """What a row found: lines, files of figures, remarks; or why it could not be run."""

    lines: tuple[Line, ...] = ()
    figures: tuple[tuple[str, str], ...] = ()
    remarks: tuple[str, ...] = ()
    missing: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class Setting:
    """How a row is run.

    ``data`` is the folder of what may not be committed, ``out`` takes figures, ``progress`` is called with the share
    that is done.
    """

    full: bool
    data: Path | None
    out: Path
    progress: Callable[[float], None] = field(default=lambda share: None)

    def size(self, quick: int, full: int) -> int:
        """A number of repetitions."""
        return full if self.full else quick

    def file(self, *names: str) -> Path:
        """A file of ``--data`` by any of its names, wherever it lies there."""
        for name in names:
            found = sorted(self.data.rglob(name)) if self.data is not None else []
            if found:
                return found[0]
        raise NotHereError(f"{names[0]} is not in --data")

    def figure(self, name: str, caption: str, picture: Any) -> tuple[str, str]:
        """Write a figure and return what the page needs of it."""
        from speedproof.plot import save

        save(picture, self.out / f"{name}.svg")
        return f"{name}.svg", caption


@dataclass(frozen=True)
class Row:
    """An experiment: of which paper, where in it, and how to run it."""

    name: str
    paper: str
    title: str
    run: Callable[[Setting], Result]


PAPERS = (
    "Touati 2009",
    "Touati, Worms, Briais 2013",
    "Chen et al. 2015 (HPT)",
    "Worms and Touati 2016 (VARCORE)",
)
"""In the order of the page."""

ROWS: dict[str, Row] = {}
"""All experiments by name."""


def register(
    name: str, paper: str, title: str
) -> Callable[[Callable[[Setting], Result]], Callable[[Setting], Result]]:
    """Enter an experiment."""

    def enter(run: Callable[[Setting], Result]) -> Callable[[Setting], Result]:
        ROWS[name] = Row(name, paper, title, run)
        return run

    return enter


def agrees(printed: str, ours: float) -> bool:
    """Whether a number rounds to what is printed, digit by digit.

    >>> agrees("0.341", 0.34146), agrees("1.95", 1.956), agrees("5%", 0.0500004)
    (True, False, True)
    """
    percent = printed.endswith("%")
    digits = printed.rstrip("%")
    decimals = len(digits.partition(".")[2])
    return math.isclose(
        round(ours * (100 if percent else 1), decimals), float(digits), abs_tol=10.0**-decimals * 1e-6
    )


def text_of(path: Path) -> str:
    """A text file, packed or not."""
    content = path.read_bytes()
    return (lzma.decompress(content) if path.suffix == ".xz" else content).decode("utf-8")


def cut(printed: str, ours: float) -> bool:
    """Whether a printed number has its last digits dropped instead of rounded.

    >>> cut("1.95", 1.956), cut("64.23%", 0.642357), cut("1.95", 1.966)
    (True, True, False)
    """
    percent = printed.endswith("%")
    digits = printed.rstrip("%")
    scale = 10.0 ** len(digits.partition(".")[2])
    return math.isclose(
        math.trunc(ours * (100 if percent else 1) * scale) / scale, float(digits), rel_tol=1e-9
    )


def number(what: str, printed: str, ours: float, why: str = "") -> Line:
    """A line for one printed number; with a reason it is a misprint, or the reason of a difference."""
    if agrees(printed, ours):
        outcome = Outcome.AGREES
    elif cut(printed, ours):
        outcome = Outcome.CUT
    else:
        outcome = Outcome.MISPRINT if why else Outcome.DIFFERS
    return Line(what, printed, f"{ours:.7g}", outcome, why)


def alike(what: str, paper: str, ours: str, why: str = "") -> Line:
    """A line whose two sides come from different data or draws."""
    return Line(what, paper, ours, Outcome.LIKE, why)


def share(count: int, total: int) -> str:
    """A share in percent with its binomial error.

    >>> share(5, 100)
    '5.0 ± 2.2 %'
    """
    p = count / total
    return f"{100 * p:.1f} ± {100 * float(np.sqrt(max(p * (1 - p), 1 / (4 * total**2)) / total)):.1f} %"

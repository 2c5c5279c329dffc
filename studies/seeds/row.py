"""A row of the page: one experiment of a paper, the numbers printed of it, and what is computed of each today."""

from __future__ import annotations

import csv
import lzma
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

__all__ = [
    "AGREES",
    "CONTRADICTION",
    "DIFFERS",
    "MISPRINT",
    "NOT_AVAILABLE",
    "PRINTED",
    "ROOT",
    "ROWS",
    "UNEXPLAINED",
    "Found",
    "Line",
    "NotHereError",
    "Result",
    "Row",
    "Setting",
    "Share",
    "over_roundings",
    "register",
    "share",
    "text_of",
]

PRINTED = Path(__file__).with_name("printed")
ROOT = Path(__file__).parents[2]
AGREES, DIFFERS, MISPRINT, NOT_AVAILABLE = "agrees", "differs", "misprint", "not available"
CONTRADICTION = "contradiction"
"""Kind of a number that the paper's other numbers contradict: a misprint, whatever the data say."""
UNEXPLAINED = "NO"
_Z = 3.290526731491896
"""Of a two-sided binomial band of 99.9 %."""


class NotHereError(Exception):
    """What the experiment needs is not there: data that may not be committed, or a compiler."""


@dataclass(frozen=True)
class Share:
    """So many of so many draws."""

    count: int
    draws: int


def share(drawn: Iterable[bool]) -> Share:
    """How many of some draws are so."""
    found = [bool(one) for one in drawn]
    return Share(sum(found), len(found))


@dataclass(frozen=True)
class Line:
    """A printed number, the call that computes it today, and the band in which they agree.

    ``values`` are what the call gave: none (not available), one, or the ends of a range. ``band`` is empty (half a
    unit of the last printed digit), a tolerance, or ``n=2000``: the paper's draws of a share, for a binomial interval
    with both sides' draws. ``right`` is the number that should stand there by another source, and ``kind`` what that
    makes of the printed one. A contradiction has no values: its call gives ``right`` from other printed numbers.
    Lines of one place, name and printed number are several answers to it, by different laws or methods.
    """

    place: str
    what: str
    paper: str
    band: str
    call: str
    kind: str
    right: str
    why: str
    values: tuple[float, ...] = ()
    draws: int = 0

    def interval(self, printed: str) -> tuple[float, float]:
        """The values that agree with a printed number."""
        exact = Decimal(printed.lstrip("<>").rstrip("%"))
        value = _value(printed)
        width = 0.5 * 10.0 ** int(exact.as_tuple().exponent) / (100.0 if printed.endswith("%") else 1.0)
        if self.band.startswith("n="):
            each = 1 / float(self.band[2:]) + 1 / self.draws
            width += _Z * math.sqrt(value * (1 - value) * each) + 0.5 / self.draws
        elif self.band:
            width = float(self.band)
        width += 1e-12 * abs(value)
        low, high = value - width, value + width
        if self.draws:
            low, high = max(low, 0.0), min(high, 1.0)
        return (
            -math.inf if printed[0] == "<" else value if printed[0] == ">" else low,
            math.inf if printed[0] == ">" else value if printed[0] == "<" else high,
        )

    def agrees_with(self, printed: str) -> bool:
        """Whether the values, or what lies between them, reach into the band of a printed number."""
        low, high = self.interval(printed)
        return min(self.values) <= high and max(self.values) >= low

    @property
    def contradicted(self) -> bool:
        """Whether the paper's other numbers give another one."""
        if self.kind != CONTRADICTION:
            return False
        low, high = self.interval(self.paper)
        return not low < _value(self.right) < high

    @property
    def verdict(self) -> str:
        """What the page says of the printed number."""
        if not self.values:
            return MISPRINT if self.contradicted else NOT_AVAILABLE
        if self.agrees_with(self.paper):
            return AGREES
        return self.kind if self.right and self.agrees_with(self.right) else UNEXPLAINED

    def shown(self, values: tuple[float, ...]) -> str:
        """Numbers as the paper has them: in percent, or not."""
        percent = self.paper.endswith("%")
        texts = [f"{100 * v:.5g}%" if percent else f"{v:.8g}" for v in values]
        return " to ".join(dict.fromkeys(texts))

    @property
    def ours(self) -> str:
        """What is computed, in the paper's unit."""
        return self.shown((min(self.values), max(self.values))) if self.values else ""

    @property
    def tolerated(self) -> str:
        """The band of the printed number, in words."""
        if not self.values:
            return ""
        low, high = self.interval(self.paper)
        if math.isinf(low) or math.isinf(high):
            return self.paper
        return f"{self.shown((low,))} to {self.shown((high,))}"


def _value(printed: str) -> float:
    digits = printed.lstrip("<>")
    return float(digits[:-1]) / 100.0 if digits.endswith("%") else float(digits)


class Found(NamedTuple):
    """What an experiment gives: names for the calls of its lines, files of figures, remarks."""

    names: Mapping[str, Any] = {}
    figures: tuple[tuple[str, str], ...] = ()
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Result:
    """What a row found, line by line, and how long it took."""

    lines: tuple[Line, ...] = ()
    figures: tuple[tuple[str, str], ...] = ()
    remarks: tuple[str, ...] = ()
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
    """An experiment: of which paper, where in it, and how to run it; ``tool``: what a tool of the authors wrote."""

    name: str
    paper: str
    title: str
    experiment: Callable[[Setting], Found]
    tool: bool = False

    def run(self, setting: Setting) -> Result:
        """Run it, and evaluate the call of every line."""
        found, missing = Found(), ""
        try:
            found = self.experiment(setting)
        except NotHereError as error:
            missing = str(error)
        names = {**self.experiment.__globals__, **found.names}
        entries = _printed(self.name)
        lines = []
        for i, entry in enumerate(entries):
            lines.append(_line(entry, names, missing))
            setting.progress((i + 1) / len(entries))
        return Result(tuple(lines), found.figures, found.remarks)


def _line(entry: dict[str, str], names: dict[str, Any], missing: str) -> Line:
    """Evaluate the call of a line, where it needs no data that are missing."""
    fields: dict[str, Any] = dict(entry)
    if entry["kind"] == CONTRADICTION:
        fields["right"] = right = str(eval(entry["call"], names))
        return Line(**{**fields, "why": entry["why"].replace("{right}", right)})
    call = "" if missing else entry["call"]
    value = eval(call, names) if call else ()
    several = value if isinstance(value, tuple) else (value,)
    draws = {v.draws for v in several if isinstance(v, Share)}
    values = tuple(float(v.count / v.draws if isinstance(v, Share) else v) for v in several)
    why = missing if missing and entry["call"] else entry["why"]
    return Line(**{**fields, "why": why}, values=values, draws=max(draws, default=0))


def _printed(row: str) -> list[dict[str, str]]:
    """The committed numbers of a row, in order."""
    found = []
    for path in sorted(PRINTED.glob("*-20[0-9][0-9].csv")):
        with path.open(encoding="utf-8", newline="") as file:
            found += [entry for entry in csv.DictReader(file) if entry.pop("row") == row]
    return found


ROWS: dict[str, Row] = {}
"""All experiments by name, in the order of the page."""


def register(
    name: str, paper: str, title: str, *, tool: bool = False
) -> Callable[[Callable[[Setting], Found]], Callable[[Setting], Found]]:
    """Enter an experiment."""

    def enter(experiment: Callable[[Setting], Found]) -> Callable[[Setting], Found]:
        ROWS[name] = Row(name, paper, title, experiment, tool)
        return experiment

    return enter


def over_roundings(function: Callable[..., float], *arguments: str | float) -> tuple[float, ...]:
    """A function's values at both ends of every rounded number, given as text.

    >>> over_roundings(lambda speedup: round(1 - 1 / speedup, 4), "1.797")
    (0.4434, 0.4437)
    """
    corners: list[tuple[float, ...]] = [()]
    for argument in arguments:
        ends = [float(argument)]
        if isinstance(argument, str):
            half = 0.5 * 10.0 ** int(Decimal(argument).as_tuple().exponent)
            ends = [ends[0] - half, ends[0] + half]
        corners = [(*corner, end) for corner in corners for end in ends]
    return tuple(function(*corner) for corner in corners)


def text_of(path: Path) -> str:
    """A text file, packed or not."""
    content = path.read_bytes()
    return (lzma.decompress(content) if path.suffix == ".xz" else content).decode("utf-8")

"""The command line, called in the process of the tests, and files to give it."""

import io
import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import numpy as np
import numpy.typing as npt
import pytest
from msgspec.structs import replace

from speedproof.cli.command import Group
from speedproof.cli.console import Console, Ticker
from speedproof.cli.main import PROGRAM, command, main
from speedproof.measuring.execute import Job, Run
from speedproof.measuring.executor import CommandExecutor
from speedproof.measuring.runs import Executor
from speedproof.reporting.model import Cell, Report, Text
from speedproof.reporting.text import render

ROOT = Path(__file__).parents[1]
O2, O3 = (str(ROOT / "examples" / "gcc" / name) for name in ("O2.json", "O3.json"))


class Terminal(io.StringIO):
    """What a terminal is given."""

    def isatty(self) -> bool:
        """It is one."""
        return True


def check_numbers(text: str) -> None:
    """Factors agree with their words, estimates lie in their intervals, and every number is one."""
    wrong = (
        r"(?<![\w…])(nan|inf|None(?! of)|(?<!and )1 (benchmarks|runs|samples|versions|comparisons))(?![\w…])"
    )
    assert not re.search(wrong, text), text
    for shown in re.findall(r"([\d.]+)x (?:faster|slower|better|worse)", text):
        assert float(shown) >= 1
    for value, low, high in re.findall(r"([\d.]+)x(?: \w+)? \[([\d.]+)x, ([\d.]+)x\]", text):
        assert float(low) <= float(value) <= float(high)
    for value, low, high in re.findall(r"([\d.]+) %(?: of cases)? [\[(]([\d.]+) %(?:,| to) ([\d.]+) %", text):
        assert float(low) <= float(value) <= float(high)
    for value, low in re.findall(r"wins ([\d.]+) % \(at least ([\d.]+) %\)", text):
        assert 50 <= float(low) <= float(value)


class Checked(Console):
    """Holds whatever a command shows against what holds of every report."""

    def write(self, *reports: Report) -> None:
        """Good is no loss, bad no gain but of what cannot differ; numbers agree with each other."""
        for part in (part for report in reports for part in report.every()):
            cells = [cell for table in part.tables for row in table.rows for cell in row.cells]
            texts: list[Text | Cell] = [*part.headline, *part.notes, *cells]
            for text in texts:
                first = re.search(r"\b(faster|better|slower|worse|PASS|FAIL|UNDECIDED)\b", text.text)
                if first is not None and text.style in ("good", "bad") and "differs. N" not in text.text:
                    assert (first[0] in ("faster", "better", "PASS")) == (text.style == "good"), text
            for table in part.tables:
                assert {len(row.cells) for row in table.rows} <= {len(table.columns)}, table.columns
        for report in reports:
            # The interval of a geometric mean is about that without biases, and may leave the observed one out.
            check_numbers(render(report, self.width))
        super().write(*reports)

    @contextmanager
    def progress(self, title: str, total: float | None) -> Iterator[Ticker]:
        """Some is done of what there was, and no more; no line tells of it, which would depend on the load."""
        told = [(0.0, total)]
        yield Ticker(lambda done, of: told.append((done, of)), total)
        done, of = told[-1]
        assert of is None or min(of, 1) <= done <= of, (title, done, of)


_ACTS = "add|page|query|export|import|bless|invalid|fixed|note|reopen|forget"
_JUDGES = re.compile(rf"compare|gate|run|corpus compare|history(?! (?:{_ACTS})\b)")


def speedproof(*argv: str | Path) -> tuple[int, str, str]:
    """Exit code, output and remarks of a command; what judges nothing ends with 0 or as an error."""
    out, err = io.StringIO(), io.StringIO()
    code = main([*map(str, argv)], Checked(out, err))
    assert code in (0, 2, 3, 130) or (code == 1 and _JUDGES.match(" ".join(map(str, argv)))), argv
    return code, out.getvalue(), err.getvalue()


def refused(*argv: str | Path) -> str:
    """What is said of a command that is an error, and has no answer."""
    code, out, err = speedproof(*argv)
    assert (code, out) == (2, ""), err
    return err


def runs_are(monkeypatch: pytest.MonkeyPatch, execute: Callable[[Job], Run]) -> None:
    """The runs of commands, of which sessions then execute one after the other."""
    monkeypatch.setattr("speedproof.measuring.executor.execute", execute)
    monkeypatch.setattr(CommandExecutor, "execute", Executor.execute)


def hyperfine(path: str | Path, times: Mapping[str, npt.ArrayLike]) -> str:
    """Write what hyperfine exports of several commands."""
    results = [{"command": name, "times": np.asarray(values).tolist()} for name, values in times.items()]
    Path(path).write_text(json.dumps({"results": results}), encoding="utf-8")
    return str(path)


def write(path: str | Path, values: npt.ArrayLike) -> str:
    """Write plain numbers, one a line."""
    Path(path).write_text("".join(f"{v!r}\n" for v in np.asarray(values, float).tolist()), encoding="utf-8")
    return str(path)


def table(path: str | Path, values: Mapping[str, npt.ArrayLike]) -> str:
    """Write a CSV file of benchmarks."""
    rows = [f"{name},{value!r}\n" for name, of_it in values.items() for value in np.asarray(of_it).tolist()]
    Path(path).write_text("".join(["benchmark,value\n", *rows]), encoding="utf-8")
    return str(path)


def git(folder: Path, *words: str, given: str = "", **environment: str) -> str:
    """What git says, without anybody's configuration."""
    settings = ("user.name=n", "user.email=n@e", "commit.gpgsign=false", "protocol.file.allow=always")
    command = ["git", "-C", str(folder), *(word for setting in settings for word in ("-c", setting)), *words]
    done = subprocess.run(
        command, input=given, env={**os.environ, **environment}, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def parse(argv: Sequence[str]) -> Any:
    """What the function of a command is given for these words; raises click.UsageError."""
    asked, words = command(argv[0]), list(argv[1:])
    parent = click.Context(PROGRAM, info_name="speedproof")
    if isinstance(asked, Group):
        parent = click.Context(asked, parent, info_name=argv[0])
        asked, words = asked.actions[words[0]], words[1:]
    return asked.asked_of(asked.make_context(asked.name, words, parent=parent))


def laid_out(report: Report, which: int = -1) -> str:
    """The heads of a table: names in quotes, < before what is at the right, numbered as they go without room."""
    table, gone = report.tables[which], list[str]()
    for width in range(140, 30, -3):
        head = re.split("  +", render(Report("", (), (table,)), width).splitlines()[1].strip())
        gone += [c.title for c in table.columns if c.drop and c.title not in (*head, *gone)]
    titles = [f"'{c.title}'" if c.names else f"<{c.title}" if c.right else c.title for c in table.columns]
    places = (f"-{gone.index(c.title) + 1}" if c.title in gone else "" for c in table.columns)
    return " ".join(f"{title}{place}" for title, place in zip(titles, places, strict=True))


def in_words(report: Report) -> list[str]:
    """The lines of a report on a wide terminal, its columns one blank apart, without its sections."""
    shown = render(replace(report, sections=()), 200)
    return [" ".join(line.split()) for line in shown.splitlines() if line]

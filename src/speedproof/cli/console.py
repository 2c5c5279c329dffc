"""Where a command writes: results to ``out``, remarks to ``err``; colour and bars on a terminal only."""

from __future__ import annotations

import codecs
import io
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from speedproof.reporting.model import Report


FAILED, ERROR, UNDECIDED, INTERRUPTED = 1, 2, 3, 130
"""The exit codes of what does not end with 0."""
QUIET = 10.0
"""Seconds between two lines of progress in a pipe."""


def _columns(stream: TextIO) -> int:
    """The terminal width from COLUMNS, the terminal itself, or 80 (shutil is slow to import)."""
    said = os.environ.get("COLUMNS", "")
    if said.isascii() and said.isdigit() and int(said):
        return int(said)
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):  # no terminal, or no file of the system
        return 80


def give_up(stream: TextIO) -> None:
    """Discard further output, so that Python does not complain again while flushing at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


class Ticker:
    """A progress display that is told the amount done and the total."""

    def __init__(self, show: Callable[[float, float | None], None], total: float | None) -> None:
        self._show, self._total, self._done = show, total, 0.0

    def of(self, total: float, done: float = 0) -> None:
        """Set the total number of steps and how many were done before."""
        self._total, self._done = total, done
        self.advance(0)

    def advance(self, steps: float = 1) -> None:
        """Add completed steps."""
        self._done += steps
        self._show(self._done, self._total)


class Console:
    """The two text streams of a command."""

    def __init__(self, out: TextIO | None = None, err: TextIO | None = None) -> None:
        self.out = _stream(sys.stdout) if out is None else out
        self.err = _stream(sys.stderr) if err is None else err
        self._colour: bool | None = None

    @property
    def terminal(self) -> bool:
        """Whether results go to a terminal."""
        return self.out.isatty()

    def choose_colour(self, when: str) -> None:
        """Colour ``"always"``, ``"never"``, or ``"auto"``: as the environment and the terminal say."""
        self._colour = None if when == "auto" else when == "always"

    @property
    def colour(self) -> bool:
        """Whether to write in colour: what was chosen, then NO_COLOR, FORCE_COLOR, then a terminal that can."""
        if self._colour is not None:
            return self._colour
        if os.environ.get("NO_COLOR"):
            return False
        return bool(os.environ.get("FORCE_COLOR")) or (self.terminal and os.environ.get("TERM") != "dumb")

    @property
    def width(self) -> int:
        """Columns to write in: the terminal's, 80 in a pipe."""
        return _columns(self.out)

    def write(self, *reports: Report) -> None:
        """Write reports, one under the other, no line wider than the terminal; in a pipe than 80 columns."""
        from speedproof.reporting.text import render

        for i, report in enumerate(reports):
            if i:
                self.out.write("\n")
            self.out.write(render(report, self.width, colour=self.colour))

    def answer(
        self, to_json: Callable[[], str], reports: Callable[[], Iterable[Report]], *, json: bool
    ) -> None:
        """Write an answer as JSON where that is asked for, else in words, each report when it is there."""
        if json:
            self.out.write(to_json())
            return
        for i, report in enumerate(reports()):
            self.out.write("\n" * bool(i))
            self.write(report)

    def say(self, text: str) -> None:
        """Write a line of the answer."""
        self._write(self.out, text)

    def remark(self, *texts: str) -> None:
        """Write messages for the user to ``err``, one a line."""
        for text in texts:
            lines = f"speedproof: {text}".expandtabs().split("\n")
            if self.err.isatty():
                from speedproof.reporting.text import wrapped

                lines = [part for line in lines for part in wrapped(line, _columns(self.err))]
            with suppress(OSError):  # a closed pipe is no reason to fail
                self._write(self.err, "\n".join(lines))

    def _write(self, stream: TextIO, text: str) -> None:
        from speedproof.reporting.names import visible_lines  # not for the help alone

        stream.write(visible_lines(text) + "\n")

    @contextmanager
    def progress(self, title: str, total: float | None) -> Iterator[Ticker]:
        """Show a progress bar on ``err`` where that is a terminal, else a line now and then."""
        if not self.err.isatty():
            last = time.monotonic()

            def tell(done: float, of: float | None) -> None:
                nonlocal last
                if time.monotonic() - last >= QUIET:
                    last = time.monotonic()
                    self.remark(f"{title}: {done:,.0f}{'' if of is None else f' of {of:,.0f}'}")

            yield Ticker(tell, total)
            return
        import rich.console
        import rich.progress

        with rich.progress.Progress(
            rich.progress.TextColumn("{task.description}"),
            rich.progress.BarColumn(),
            rich.progress.MofNCompleteColumn(),
            rich.progress.TimeRemainingColumn(),
            console=rich.console.Console(file=self.err),
            transient=True,
        ) as progress:
            task = progress.add_task(title, total=total)
            yield Ticker(lambda done, of: progress.update(task, completed=done, total=of), total)


_ASCII = str.maketrans({"±": "+-", "µ": "u", "²": "^2", "×": "x", "–": "-", "…": "...", "é": "e"})


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    """Replace characters that the stream's encoding lacks."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].translate(_ASCII)
    return text.encode("ascii", "backslashreplace").decode("ascii"), error.end


def _stream(stream: TextIO | None) -> TextIO:
    """A standard stream that takes every character, or a sink where the process was given none."""
    if stream is None:
        from pathlib import Path  # not for the help alone

        return Path(os.devnull).open("w", encoding="utf-8")
    if isinstance(stream, io.TextIOWrapper):
        codecs.register_error("speedproof", _in_ascii)
        stream.reconfigure(errors="speedproof")
    return stream

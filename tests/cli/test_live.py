"""What a session shows while it runs and at its end, with fake clocks and streams."""

import io
import os
import re
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
import pytest
from tests.command import Terminal
from tests.protocols.asking import stop_rules

from speedproof.cli.console import Console
from speedproof.cli.main import main
from speedproof.cli.run_session import Watcher
from speedproof.conclude.claims import StopRules
from speedproof.conclude.looks import SequentialComparison
from speedproof.data.session_file import PlannedBenchmark, PlannedVersion
from speedproof.errors import FormatError, SpeedproofError
from speedproof.measuring.execute import Run
from speedproof.measuring.runs import Progress
from speedproof.protocols.results import Verdict

PLAN = PlannedBenchmark("b", (PlannedVersion("X", ("x",), "x"), PlannedVersion("Y", ("y",), "y")))


def race_of(pairs: list[tuple[float, float]], rules: StopRules | None = None) -> SequentialComparison:
    race = SequentialComparison("b", ["X", "Y"], rules or stop_rules(min_blocks=5))
    for i, (x, y) in enumerate(pairs):
        # Digits beyond those that matter here: values that tie would be taken for readings of a coarse clock.
        race.add({"X": x * (1 + 1e-9 * i), "Y": y * (1 + 1e-9 * (i * 7 % 13) + 1e-12 * i)})
    return race


def watch(
    err: io.StringIO, seconds: float, warmup: bool = False, pairs: list[tuple[float, float]] | None = None
) -> str:
    now = [0.0]
    race = race_of(pairs or [(1.00, 0.90), (1.01, 0.92), (0.99, 0.90)])
    with Watcher(Console(io.StringIO(), err), clock=lambda: now[0]) as watcher:
        for i in range(20):
            now[0] += seconds
            watcher(Progress(PLAN, "XY"[i % 2], Run({"time": 1.0 + i % 3}), warmup, now[0], 1), race)
    return err.getvalue()


def test_pipe_gets_a_line_every_ten_seconds() -> None:
    lines = watch(io.StringIO(), 1.0).splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("speedproof: b: 10 s, 10 runs; Y: 1.1")
    assert watch(io.StringIO(), 0.1) == ""


@pytest.mark.parametrize(("pairs", "end"), [
    ([(1.0, 1.01), (1.02, 1.0)] * 5, r"undecided, about [1-9]\d0* runs of each in all"),
    ([(2.0, 1.0)] * 4, "undecided, too early to say how many more"),
    ([(2.0, 1.0)] * 20, "1.99x to 2.01x faster, proven"),
])  # fmt: skip
def test_what_is_still_to_come(pairs: list[tuple[float, float]], end: str) -> None:
    """A number, none yet, none ever, or the end."""
    assert re.search(f"[,:] {end}$", watch(io.StringIO(), 1.0, pairs=pairs).splitlines()[0])


def test_terminal_gets_a_picture_between_runs() -> None:
    text = watch(Terminal(), 1.0)
    assert all(part in text for part in ("b: 20 s, 20 runs", "Y: 1.1", "█"))
    assert not re.search(r"\x1b\[[\d;]*3[0-7]", text)  # no number is coloured by chance
    assert "warming up" in watch(Terminal(), 1.0, warmup=True)


def test_a_driver_goes_round_its_benchmarks() -> None:
    """Each keeps its own values and counts; versions that begin alike are told apart."""
    sides = tuple(PlannedVersion(f"./tool --with --the --same {n}", ("x",), "x") for n in ("--old", "--new"))
    plans = [PlannedBenchmark(name, sides) for name in ("one", "two")]
    now, terminal = [0.0], Terminal()
    race = SequentialComparison("b", [v.name for v in sides], stop_rules())
    with Watcher(Console(io.StringIO(), terminal), clock=lambda: now[0]) as watcher:
        for i in range(12):
            for side in sides:
                for plan in plans:
                    now[0] += 1.0
                    run = Run({"time": 1.0 + i % 3})
                    watcher(Progress(plan, side.name, run, False, now[0], len(plans)), race)
    last = terminal.getvalue()[terminal.getvalue().rindex("two: 48 s, 24 runs (2 benchmarks are open)") :]
    assert re.findall(" --(?:old|new) +2 s +[▁-█]{12}", last)
    assert ("--old" in last, "--new" in last, " -\n" in last) == (True, True, False)


@pytest.mark.parametrize(("cost", "looks"), [(2.0, {10, 11, 12}), (0.0, {400})])
def test_looking_takes_a_twentieth_of_the_time(
    cost: float, looks: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long the bounds of a session take: two seconds, or no time, after runs of one."""
    now, taken = [0.0], list[float]()

    def costly(*given: Any) -> list[str]:
        taken.append(now[0])
        now[0] += cost
        return []

    monkeypatch.setattr("speedproof.reporting.session.standing", costly)
    with Watcher(Console(io.StringIO(), Terminal()), clock=lambda: now[0]) as watcher:
        for i in range(400):
            now[0] += 1.0
            watcher(Progress(PLAN, "XY"[i % 2], Run({"time": 1.0}), False, now[0], 1), race_of([]))
    assert len(taken) in looks
    between = [later - before for before, later in pairwise(taken)]
    assert 21 * cost <= min(between) <= max(between) <= 21 * cost + 1.0


def test_decided_before_the_least_number_of_runs() -> None:
    """A verdict that has to wait for --min-runs has no runs to forecast."""
    race = race_of([(2.0, 1.0)] * 9, stop_rules(min_blocks=50))
    (early,) = race.findings()
    assert (early.verdict, early.reason, early.blocks_to_go) == (Verdict.FASTER, "", 0.0)
    now, text = [0.0], io.StringIO()
    with Watcher(Console(io.StringIO(), text), clock=lambda: now[0]) as watcher:
        now[0] = 11.0
        watcher(Progress(PLAN, "X", Run({"time": 1.0}), False, 11.0, 1), race)
    assert text.getvalue().rstrip().endswith("faster, enough is known")


def test_progress_is_a_line_now_and_then_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every ten seconds at most, of as many steps as are known; a terminal has a bar that goes."""
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    err = io.StringIO()
    with Console(io.StringIO(), err).progress("modelling", None) as ticker:
        for at, step in ((9.9, 1), (10.0, 1), (10.1, 1), (19.9, 1)):
            now[0] = at
            ticker.advance(step)
        ticker.of(4000, 1000)
        now[0] = 20.0
        ticker.advance(5.0)
        ticker.advance()
    assert err.getvalue() == "speedproof: modelling: 2\nspeedproof: modelling: 1,005 of 4,000\n"
    with Console(io.StringIO(), terminal := Terminal()).progress("modelling", 30) as ticker:
        ticker.advance(12)
    assert re.search("modelling.*12/30", terminal.getvalue())


@pytest.mark.parametrize(("raised", "code", "told"), [
    (MemoryError(), 2, "error: there is not enough memory; give fewer files or values at once"),
    (MemoryError("array of 9 TB"), 2, "error: there is not enough memory (array of 9 TB); give fewer"),
    (KeyboardInterrupt(), 130, "interrupted; nothing more was done"),
    (OSError(28, "No space left on device", "/tmp/x"), 2, "error: /tmp/x: No space left on device"),
    (OSError(28, "No space left on device"), 2, "error: No space left on device"),
    (OSError("odd"), 2, "error: odd"),
    (SpeedproofError("no"), 2, "error: no"),
    (FormatError("a.json", "", "is not JSON"), 2, "error: a.json: is not JSON"),
])  # fmt: skip
def test_what_ends_a_command_is_told(
    raised: BaseException, code: int, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*given: Any) -> str:
        raise raised

    monkeypatch.setattr(click.Context, "get_help", fails)
    err = io.StringIO()
    assert main([], Console(io.StringIO(), err)) == code
    assert err.getvalue().startswith(f"speedproof: {told}")
    assert err.getvalue().count("\n") == 1


@pytest.mark.parametrize(("said", "width"), [(120, 120), (0, 80)])
def test_a_terminal_that_says_no_width_has_80_columns(
    said: int, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr(os, "get_terminal_size", lambda _: os.terminal_size((said, 24)))
    assert Console(Terminal()).width == 80  # which is no file of the system
    with Path("out").open("w", encoding="utf-8") as stream:
        assert Console(stream).width == width


def test_a_stream_of_few_characters_is_given_what_stands_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr("sys.stdout", stream)
    console = Console()
    console.say("café: 2 ± 1 µs … \u2603")
    stream.flush()
    assert stream.buffer.getvalue() == b"cafe: 2 +- 1 us ... \\u2603\n"

"""What a session shows while it runs and at its end, with fake clocks and streams."""

from __future__ import annotations

import io
import math
import re

import pytest

from speedproof.cli.console import Console
from speedproof.cli.live import Watcher
from speedproof.data.session_file import PlannedBenchmark, PlannedVersion
from speedproof.measure.execute import Run
from speedproof.measure.results import Progress
from speedproof.protocols.calibration import Calibration
from speedproof.protocols.results import Verdict
from speedproof.protocols.sequential import Finding, SequentialComparison, StopRules
from speedproof.report.blocks import plain
from speedproof.report.findings import calibration_blocks, finding_blocks
from speedproof.stats.sequential import PairedSequence

PLAN = PlannedBenchmark("b", (PlannedVersion("X", ("x",), "x"), PlannedVersion("Y", ("y",), "y")))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def race_of(pairs: list[tuple[float, float]], rules: StopRules | None = None) -> SequentialComparison:
    race = SequentialComparison("b", ["X", "Y"], rules or StopRules(min_blocks=5))
    for i, (x, y) in enumerate(pairs):
        # Digits beyond those that matter here: values that tie would be taken for readings of a coarse clock.
        race.add({"X": x * (1 + 1e-9 * i), "Y": y * (1 + 1e-9 * (i * 7 % 13) + 1e-12 * i)})
    return race


def found(pairs: list[tuple[float, float]], rules: StopRules | None = None) -> Finding:
    return race_of(pairs, rules).findings()[0]


def first_line(finding: Finding, margin: float | None = None) -> str:
    return plain(next(iter(finding_blocks([finding], risk=0.05, margin=margin)))).strip()


def watch(
    err: io.StringIO, seconds: float, warmup: bool = False, pairs: list[tuple[float, float]] | None = None
) -> str:
    now = [0.0]
    race = race_of(pairs or [(1.00, 0.90), (1.01, 0.92), (0.99, 0.90)])
    with Watcher(Console(io.StringIO(), err), clock=lambda: now[0]) as watcher:
        for i in range(20):
            now[0] += seconds
            run = Run({"time": 1.0 + i % 3})
            watcher(Progress(PLAN, "XY"[i % 2], run, warmup, now[0]), race)
    return err.getvalue()


def test_pipe_gets_a_line_every_ten_seconds() -> None:
    lines = watch(io.StringIO(), 1.0).splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("speedproof: b: 10 s, 10 runs; Y: speedup 1.1")
    assert lines[0].endswith("undecided, too early to say how many more")


@pytest.mark.parametrize(
    ("pairs", "end"),
    [
        ([(1.0, 1.01), (1.02, 1.0)] * 5, r"undecided, about [1-9]0* runs of each to go"),
        ([(1.0, 1.01), (1.01, 1.0)] * 20, "undecided, no end in sight"),
        ([(2.0, 1.0)] * 4, "undecided, too early to say how many more"),
        ([(2.0, 1.0)] * 20, "faster, proven"),
    ],
)
def test_what_is_still_to_come(pairs: list[tuple[float, float]], end: str) -> None:
    """A number, none yet, none ever, or the end."""
    assert re.search(f", {end}$", watch(io.StringIO(), 1.0, pairs=pairs).splitlines()[0])


def test_decided_before_the_least_number_of_runs() -> None:
    """A verdict that has to wait for --min-runs has no runs to forecast."""
    early = found([(2.0, 1.0)] * 9, StopRules(min_blocks=50))
    assert (early.verdict, early.reason, early.blocks_to_go) == (Verdict.FASTER, "", 0.0)
    text = io.StringIO()
    now = [0.0]
    with Watcher(Console(io.StringIO(), text), clock=lambda: now[0]) as watcher:
        now[0] = 11.0
        race = race_of([(2.0, 1.0)] * 9, StopRules(min_blocks=50))
        watcher(Progress(PLAN, "X", Run({"time": 1.0}), False, 11.0), race)
    assert text.getvalue().rstrip().endswith("faster, enough is known")


def test_a_short_session_in_a_pipe_is_quiet() -> None:
    assert watch(io.StringIO(), 0.1) == ""


def test_terminal_gets_a_picture_between_runs() -> None:
    text = watch(Terminal(), 1.0)
    assert "b: 20 s, 20 runs" in text
    assert "Y: speedup 1.1" in text
    assert "█" in text
    assert "warming up" in watch(Terminal(), 1.0, warmup=True)


def test_conclusions_in_words() -> None:
    faster = found([(2.0, 1.0)] * 10)
    assert first_line(faster) == "Y is typically faster than X by a factor of at least 1.999, confidence 95 %"
    slower = found([(1.0, 2.0)] * 10)
    assert first_line(slower) == "Y is typically slower than X by a factor of at least 1.999, confidence 95 %"
    same = found([(1.0, 1.0)] * 10, StopRules(margin=0.01, min_blocks=5))
    assert first_line(same, 0.01) == "Y is typically as fast as X within 1 %, confidence 95 %"
    nothing = found([])
    assert first_line(nothing) == "Y against X: undecided, no complete block was measured"
    open_end = found([(1.0, 1.1), (1.1, 1.0)] * 20)
    assert first_line(open_end).endswith(
        "undecided after 40 blocks; no difference shows yet; --margin asks for a proof that there is none"
    )
    assert first_line(open_end, 0.01).endswith("; neither a difference nor equality within 1 % comes nearer")
    near = found([(1.0, 1.1), (1.2, 1.0)] * 5)
    forecast = "; about [1-9]0* more runs of each would be enough if the speedup is what it seems$"
    assert re.search(forecast, first_line(near))
    few = found([(1.0, 0.9)] * 3)
    assert first_line(few).endswith("after 3 blocks; too early to say how many more would be enough")
    reached = found([(1.0, 1.01), (1.01, 1.0), (1.01, 1.0), (1.0, 1.01)] * 20, StopRules(precision=0.05))
    assert first_line(reached).endswith("undecided after 80 blocks; the precision is reached")


def test_a_changed_speedup_is_told() -> None:
    changed = found(
        [(1.2, 1.0), (1.21, 1.0)] * 20 + [(0.8, 1.0), (0.81, 1.0)] * 40, StopRules(min_blocks=1000)
    )
    assert "no single speedup fits all blocks" in first_line(changed)


def test_printed_bounds_never_claim_more_than_was_proven() -> None:
    for ratio in (1.00004, 1.0299999, 3.14159, 123.456):
        finding = found([(ratio, 1.0)] * 12)
        printed = float(first_line(finding).split("at least ")[1].split(",")[0])
        assert printed <= finding.result.low


def test_several_benchmarks_are_named() -> None:
    text = [plain(b) for b in finding_blocks([found([(2.0, 1.0)] * 9), _renamed()], risk=0.05, margin=None)]
    assert text[0] == "Y is proven faster than X in 2 of 2 benchmarks\n"
    assert text[1].startswith("b: Y is typically faster")
    assert text[2].startswith("c: Y is typically faster")
    assert list(finding_blocks([], risk=0.05, margin=None)) == []


def _renamed() -> Finding:
    race = SequentialComparison("c", ["X", "Y"], StopRules(min_blocks=5))
    for _ in range(9):
        race.add({"X": 2.0, "Y": 1.0})
    return race.findings()[0]


def test_calibration_in_words() -> None:
    c = Calibration(
        40,
        0.1,
        0.01,
        0.014,
        0.3,
        0.001,
        math.nan,
        math.nan,
        0.2,
        ((10.0, 50.0, 1.01), (600.0, 3.0, math.inf)),
    )
    quiet = "".join(map(plain, calibration_blocks(c, found([(1.0, 1.1), (1.1, 1.0)]))))
    assert "single runs vary by 1 %" in quiet
    assert "Neighbouring runs: rank correlation +0.30 (p 0.001: blocks are needed" in quiet
    assert "rank correlation with order undefined" in quiet
    assert "10 min       3  none" in quiet
    alarm = "".join(map(plain, calibration_blocks(c, found([(2.0, 1.0)] * 10))))
    assert "The second copy was found faster" in alarm


def test_forecasts_to_a_precision_and_a_margin() -> None:
    """Width shrinks with the root of the number of blocks; a margin needs both of its sides."""
    pairs = [(1.0 + 0.01 * (i % 5), 1.0) for i in range(40)]
    precise = found(pairs, StopRules(precision=0.0001, min_blocks=5))
    width = precise.result.precision
    assert precise.blocks_to_go == pytest.approx(40 * ((width / 0.0001) ** 2 - 1))
    # Nothing is forecast from few blocks, nor while a bound is missing.
    assert math.isnan(found(pairs[:9], StopRules(precision=1e-9, min_blocks=1)).blocks_to_go)
    assert math.isnan(
        found([(1.0, 1.0)] * 12, StopRules(precision=0.01, min_blocks=99, risk=1e-6)).blocks_to_go
    )
    assert found([(1.0, 1.0)] * 40, StopRules(precision=0.01, min_blocks=99)).blocks_to_go == 0.0
    both = [(1.0, 1.01), (1.01, 1.0)] * 6
    assert math.isinf(found(both, StopRules(min_blocks=5)).blocks_to_go)
    assert math.isfinite(found(both, StopRules(margin=0.005, min_blocks=99)).blocks_to_go)
    assert math.isnan(found(both[:9], StopRules(margin=0.005, min_blocks=99)).blocks_to_go)
    # One of the margin's two sides is proven; that says nothing of the other, for which it is too early.
    apart = [(1.4, 1.0), (0.8, 1.0)] * 4
    assert PairedSequence.of(*zip(*apart, strict=True), risk=0.2).blocks_to_go(gamma=1 / 1.39) == 0.0
    assert math.isnan(found(apart, StopRules(margin=0.39, min_blocks=99, risk=0.2)).blocks_to_go)

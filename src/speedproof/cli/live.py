"""What a session shows while it runs: a live line on a terminal, a quiet line now and then in a pipe."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Self

from speedproof.cli.console import Console
from speedproof.data.units import format_value
from speedproof.report.numbers import plural, rough
from speedproof.report.words import interval
from speedproof.stats.estimate import Estimate

if TYPE_CHECKING:
    from rich.live import Live

    from speedproof.measure.results import Progress
    from speedproof.protocols.sequential import SequentialComparison

_BARS = "▁▂▃▄▅▆▇█"
_SHOWN = 30
# Bars reach this many times as far as three quarters of the values.
_REACH = 3.0
# Redrawing happens between runs only, never during one: no thread of the runner's disturbs the program.
_TERMINAL_SECONDS = 0.25
_PIPE_SECONDS = 10.0


def sparklines(rows: Sequence[Sequence[float]]) -> list[str]:
    """Recent values of several versions as bars, each from its smallest; equal heights are equal shares of it.

    A few values far out are cut off, and do not flatten the others.
    """
    relative = [[(value - min(row)) / (min(row) or 1.0) for value in row] for row in rows]
    top = max((_reach(row) for row in relative if row), default=0.0) or 1.0
    return ["".join(_BARS[min(round(value / top * 7.0), 7)] for value in row) for row in relative]


def _reach(row: Sequence[float]) -> float:
    ordered = sorted(row)
    upper, most = ordered[3 * len(ordered) // 4], ordered[-1]
    return min(most, _REACH * upper) if upper > 0 else most


class Watcher:
    """Told after each run; shows what is due."""

    def __init__(
        self, console: Console, *, clock: Callable[[], float] = time.monotonic, metric: str = "time"
    ) -> None:
        self._console = console
        self._clock = clock
        self._metric = metric
        self._live: Live | None = None
        self._terminal = console.err.isatty()
        self._due = clock() + (0.0 if self._terminal else _PIPE_SECONDS)
        self._benchmark = ""
        self._runs = 0
        self._counts: dict[str, int] = {}
        self._recent: dict[str, deque[float]] = {}

    def __enter__(self) -> Self:
        if self._terminal:
            import rich.console
            from rich.live import Live

            screen = rich.console.Console(file=self._console.err, highlight=False)
            self._live = Live(console=screen, auto_refresh=False, transient=True)
            self._live.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._live is not None:
            self._live.stop()

    def __call__(self, progress: Progress, comparison: SequentialComparison) -> None:
        """Take note of a run."""
        if progress.benchmark.name != self._benchmark:
            self._benchmark = progress.benchmark.name
            # A driver goes round its benchmarks: each goes on with its own count.
            self._runs = self._counts.get(self._benchmark, 0)
            self._recent = {v.name: deque(maxlen=_SHOWN) for v in progress.benchmark.versions}
        if not progress.warmup:
            self._runs += 1
            self._counts[self._benchmark] = self._runs
            if self._metric in progress.run.metrics:
                self._recent[progress.version].append(progress.run.metrics[self._metric])
        now = self._clock()
        if now < self._due:
            return
        if self._live is not None:
            from rich.text import Text

            self._live.update(Text("\n".join(self._lines(progress, comparison))), refresh=True)
            # Long sessions have costly bounds: looking at them takes a twentieth of the time at most.
            self._due = self._clock() + max(_TERMINAL_SECONDS, 20 * (self._clock() - now))
        else:
            self._console.remark(
                "; ".join(self._lines(progress, comparison)[:1] + self._standing(comparison))
            )
            self._due = now + _PIPE_SECONDS

    def _lines(self, progress: Progress, comparison: SequentialComparison) -> list[str]:
        doing = "warming up" if progress.warmup else f"{self._runs} runs"
        lines = [f"{self._benchmark}: {progress.elapsed:.0f} s, {doing}"]
        if self._terminal:
            width = max(len(name) for name in self._recent)
            lines += self._standing(comparison)
            bars = sparklines([list(values) for values in self._recent.values()])
            for (name, values), bar in zip(self._recent.items(), bars, strict=True):
                middle = sorted(values)[len(values) // 2] if values else math.nan
                shown = format_value(middle, "s") if self._metric == "time" else f"{middle:.4g}"
                shown = shown if values else "-"
                lines.append(f"  {name:<{min(width, 30)}.30}  {shown:>9}  {bar}")
        return lines

    def _standing(self, comparison: SequentialComparison) -> list[str]:
        lines = []
        for finding in comparison.findings():
            if math.isnan(finding.estimate):
                continue
            to_go = finding.blocks_to_go
            if finding.reason:
                end = finding.reason
            elif to_go == 0:
                end = "enough is known"
            elif math.isnan(to_go):
                end = "too early to say how many more"
            elif math.isfinite(to_go):
                end = f"about {plural(int(rough(max(math.ceil(to_go), 1), 1)), 'run')} of each to go"
            else:
                end = "no end in sight"
            result = finding.result
            found = interval(Estimate(finding.estimate, result.low, result.high, 1 - result.alpha))
            lines.append(f"{finding.candidate}: {found}, {finding.verdict}, {end}")
        return lines

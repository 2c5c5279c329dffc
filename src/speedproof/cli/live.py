"""What a session shows while it runs: a live line on a terminal, a quiet line now and then in a pipe."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Self

from speedproof.cli.console import Console
from speedproof.options import UNNAMED
from speedproof.reporting.names import plural, visible_lines
from speedproof.reporting.session import bars, standing

if TYPE_CHECKING:
    from rich.live import Live

    from speedproof.api.measurement import Progress, SequentialComparison

_SHOWN = 30
# Redrawing happens between runs only, never during one: no thread of the runner's disturbs the program.
_TERMINAL_SECONDS = 0.25
_PIPE_SECONDS = 10.0


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
        # By benchmark, for a driver goes round its benchmarks.
        self._runs: dict[str, int] = {}
        self._recent: dict[str, dict[str, deque[float]]] = {}

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
        name = progress.benchmark.name
        if name not in self._recent:
            self._recent[name] = {v.name: deque(maxlen=_SHOWN) for v in progress.benchmark.versions}
        if not progress.warmup:
            self._runs[name] = self._runs.get(name, 0) + 1
            if self._metric in progress.run.metrics:
                self._recent[name][progress.version].append(progress.run.metrics[self._metric])
        now = self._clock()
        if now < self._due:
            return
        doing = "warming up" if progress.warmup else plural(self._runs[name], "run")
        others = f" ({progress.together} benchmarks are open)" if progress.together > 1 else ""
        known = standing(comparison.findings())
        head = f"{'' if name == UNNAMED else f'{name}: '}{progress.elapsed:.0f} s, {doing}{others}"
        if self._live is not None:
            from rich.text import Text

            drawn = bars(self._recent[name], seconds=self._metric == "time")
            self._live.update(Text(visible_lines("\n".join([head, *known, *drawn]))), refresh=True)
            # Long sessions have costly bounds: looking at them takes a twentieth of the time at most.
            self._due = self._clock() + max(_TERMINAL_SECONDS, 20 * (self._clock() - now))
        else:
            # Of several candidates each has a line.
            self._console.remark(("; " if len(known) < 2 else "\n  ").join([head, *known]))
            self._due = now + _PIPE_SECONDS

"""What earlier sessions measured, for one that goes on with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from speedproof.data.session_file import RunLine, StoredSession
from speedproof.measure.results import Tally

_Tallies = Mapping[tuple[str, str], Tally]


def counted(session: StoredSession, tallies: _Tallies) -> Iterator[tuple[Tally, RunLine]]:
    """The runs of versions that still take part, warm-up left out."""
    for run in session.runs:
        tally = tallies.get((run.benchmark, run.version))
        if tally is not None and not run.warmup:
            yield tally, run


def blocks_of(session: StoredSession, tallies: _Tallies) -> Iterator[tuple[str, dict[str, list[RunLine]]]]:
    """The runs of every block by version; of one that was cut short, the versions that had all their runs."""
    blocks: dict[tuple[str, int], dict[str, list[RunLine]]] = {}
    for tally, run in counted(session, tallies):
        blocks.setdefault((tally.benchmark, run.block), {}).setdefault(run.version, []).append(run)
    for (benchmark, _), runs in blocks.items():
        most = max(map(len, runs.values()))
        yield benchmark, {name: lines for name, lines in runs.items() if len(lines) == most}

"""What earlier sessions measured, for one that goes on with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from speedproof.data.session_file import PlannedBenchmark, RunLine, StoredSession
from speedproof.measuring.results import Tally

_Tallies = Mapping[tuple[str, str], Tally]
Block = dict[str, dict[str, list[RunLine]]]
"""The runs of one block, by benchmark and version."""


def counted(session: StoredSession, tallies: _Tallies) -> Iterator[tuple[Tally, RunLine]]:
    """The runs of versions that still take part, warm-up left out."""
    for run in session.runs:
        tally = tallies.get((run.benchmark, run.version))
        if tally is not None and not run.warmup:
            yield tally, run


def blocks_of(
    session: StoredSession, tallies: _Tallies, groups: Sequence[Sequence[PlannedBenchmark]], repeats: int
) -> Iterator[tuple[int, Block]]:
    """Every block with the number of its group; of one that was cut short, the versions with all their runs."""
    group_of = {benchmark.name: number for number, group in enumerate(groups) for benchmark in group}
    blocks: dict[tuple[int, int], Block] = {}
    for tally, run in counted(session, tallies):
        block = blocks.setdefault((group_of[tally.benchmark], run.block), {})
        block.setdefault(tally.benchmark, {}).setdefault(run.version, []).append(run)
    for (number, _), found in blocks.items():
        yield (
            number,
            {
                benchmark: {name: lines for name, lines in runs.items() if len(lines) >= repeats}
                for benchmark, runs in found.items()
            },
        )

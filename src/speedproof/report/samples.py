"""What was read, before anything is concluded from it, as blocks of a report."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from speedproof.data.sample import Sample, Trait
from speedproof.data.suite import Suite
from speedproof.data.units import format_values
from speedproof.report.blocks import Block, Cell, Column, Table, Text
from speedproof.report.wording import plural
from speedproof.stats.scaling import mean, median, usual, with_headroom

__all__ = ["sample_blocks"]

_FAR = 5.0
_SHORT_TRAITS = {
    Trait.TRIMMED: "trimmed",
    Trait.SORTED: "sorted",
    Trait.WARMUP_REMOVED: "",
    Trait.ORDER_KNOWN: "",
    Trait.SUMMARY_ONLY: "summary only",
    Trait.ONE_PROCESS: "one process",
}


def sample_blocks(suite: Suite) -> Iterator[Block]:
    """A row a sample, then what was left out and why."""
    columns = (
        Column("benchmark"), Column("version"), Column("metric"), Column("n", right=True),
        Column("processes", right=True), Column("mean", right=True), Column("median", right=True),
        Column("min", right=True), Column("max", right=True), Column("spread", right=True), Column("better"),
        Column("oddities"),
    )  # fmt: skip
    rows = []
    for (key, version), sample in suite.samples.items():
        v = sample.values
        locations = [mean(v), median(v), float(v.min()), float(v.max())]
        u = usual(v)
        spread = f"{100 * u.std(ddof=1) / abs(u.mean()):.1f} %" if sample.n > 1 and u.mean() else "-"
        rows.append(
            (
                Cell(key.benchmark, "strong"),
                Cell(version),
                Cell(key.metric),
                Cell(str(sample.n)),
                Cell(str(sample.process_count) if sample.processes is not None else "-"),
                *(Cell(text) for text in format_values(locations, sample.unit)),
                Cell(spread),
                Cell(str(sample.direction)),
                Cell(", ".join(_oddities(sample)), "doubt"),
            )
        )
    yield Text(f"{plural(len(suite.keys), 'benchmark')}, {plural(len(suite.versions), 'version')}", "strong")
    yield Table(columns, tuple(rows))
    for note in dict.fromkeys(note for sample in suite.samples.values() for note in sample.notes):
        yield Text(f"note: {note}", "dim")
    for residue in suite.residue:
        yield Text(f"note: {residue}", "doubt")
    for skipped in suite.skipped:
        if skipped.expected:
            yield Text(f"not used, as always: {skipped}", "dim")
        else:
            yield Text(f"left out: {skipped}", "doubt")


def _oddities(sample: Sample) -> list[str]:
    v = sample.values
    found = [word for trait, word in _SHORT_TRAITS.items() if trait in sample.traits and word]
    if sample.session_count > 1:
        found.insert(0, plural(sample.session_count, "session"))
    if sample.n == 1:
        return ["one value", *found]
    distinct = int(np.unique(v).size)
    if distinct == 1:
        found.append("constant")
    elif 2 * distinct <= sample.n:
        found.append(f"{distinct} distinct values")
    if v.min() <= 0:
        found.append("zeros" if v.min() == 0 else "negative values")
    (u,) = with_headroom(v)
    distances = np.abs(u - np.median(u))
    deviation = float(np.median(distances))
    far = int(np.sum(distances / _FAR > 1.4826 * deviation)) if deviation > 0 else 0
    if far:
        found.append(f"{plural(far, 'value')} far out")
    return found

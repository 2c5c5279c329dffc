"""Fitted mixtures as blocks of a report: what was chosen, whether the fit was rejected, the components."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from speedproof.data.sample import Sample
from speedproof.data.suite import Key
from speedproof.data.units import format_value, format_values
from speedproof.mixture.analysis import Analysis
from speedproof.report.blocks import Block, Cell, Column, Style, Table, Text
from speedproof.stats.scaling import usual

__all__ = ["mixture_blocks"]

ALPHA = 0.05
_BARS = " ▁▂▃▄▅▆▇█"


def mixture_blocks(analyses: Sequence[tuple[Key, str, Sample, Analysis]]) -> Iterator[Block]:
    """A table of all samples, then the components and the histogram of each."""
    columns = (
        Column("benchmark", wraps=True), Column("version"), Column("n", right=True), Column("K", right=True),
        Column("model"), Column("modes", right=True), Column("distance", right=True), Column("p", right=True),
        Column("fit"), Column("order"),
    )  # fmt: skip
    rows = []
    for key, version, _, a in analyses:
        verdict, style = _verdict(a)
        rows.append(
            (
                Cell(key.benchmark, "strong"), Cell(version), Cell(str(a.n)), Cell(str(len(a.components))),
                Cell(a.kind), Cell(str(len(a.modes))),
                Cell(f"{a.test.distance:.3f}" if a.test else "-"),
                Cell(f"{a.test.pvalue:.3f}" if a.test else "-"),
                Cell(verdict, style), Cell(a.order.kind, "doubt" if a.order.kind not in _CALM else ""),
            )
        )  # fmt: skip
    yield Table(columns, tuple(rows))
    for key, version, sample, a in analyses:
        yield Text("")
        yield Text(f"{key.benchmark} ({version})", "strong")
        if a.note:
            yield Text(a.note, "doubt")
        if a.test is not None and a.test.drawn is not None:
            yield Text(f"tested on {a.test.drawn:,} of the {a.n:,} values, drawn at random")
        if a.resolution is not None:
            step = format_value(a.resolution, sample.unit)
            yield Text(f"values lie on a grid of {step}; fit and test know of it")
        yield _components(sample, a)
        yield Text(_histogram(sample), "dim")


_CALM = ("one mode", "mixed")


def _verdict(a: Analysis) -> tuple[str, Style]:
    if a.test is None:
        return "not tested", "dim"
    return ("rejected", "bad") if a.test.pvalue <= ALPHA else ("not rejected", "")


def _components(sample: Sample, a: Analysis) -> Table:
    columns = tuple(Column(title, right=True) for title in ("component", "weight", "mean", "deviation"))
    means = format_values([c.mean for c in a.components], sample.unit, 5)
    sds = format_values([c.sd for c in a.components], sample.unit, 3)
    rows = tuple(
        (Cell(str(k)), Cell(f"{100 * c.weight:.1f} %"), Cell(mean), Cell(sd))
        for k, (c, mean, sd) in enumerate(zip(a.components, means, sds, strict=True), start=1)
    )
    return Table(columns, rows)


def _histogram(sample: Sample, bins: int = 48) -> str:
    """One line of block characters between the smallest and the largest value."""
    counts, _ = np.histogram(usual(sample.values), bins=bins)
    heights = np.ceil(counts / counts.max() * (len(_BARS) - 1)).astype(int)
    low, high = format_values([float(sample.values.min()), float(sample.values.max())], sample.unit)
    return f"{low} |{''.join(_BARS[h] for h in heights)}| {high}"

"""What is asked of fitted mixtures beyond the fit: quantiles, probabilities, the metrics I1 to I4."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from speedproof.data.sample import Sample
from speedproof.data.suite import Key
from speedproof.data.units import format_value
from speedproof.errors import UsageError
from speedproof.mixture.analysis import Analysis
from speedproof.mixture.metrics import compare
from speedproof.mixture.model import MixtureModel
from speedproof.report.blocks import Block, Cell, Column, Table, Text

__all__ = ["Questions", "answers", "question_blocks"]

Models = Sequence[tuple[Key, str, Sample, Analysis]]


@dataclass(frozen=True, slots=True)
class Questions:
    """What is asked of every mixture.

    Attributes
    ----------
    quantiles : tuple of float
        Probabilities.
    below : tuple of (float, str)
        Values with their base unit.
    metrics : bool
        Whether the versions of a benchmark are compared by I1 to I4.
    delta : (float, str)
        Head start in I2.
    """

    quantiles: tuple[float, ...] = ()
    below: tuple[tuple[float, str], ...] = ()
    metrics: bool = False
    delta: tuple[float, str] = (0.0, "")


def answers(asked: Questions, sample: Sample, a: Analysis) -> dict[str, list[tuple[float, float]]]:
    """Pairs of probability and quantile, and of value and P[X <= value]."""
    model = _model(a)
    return {
        "quantiles": [(p, float(model.ppf(p))) for p in asked.quantiles],
        "below": [(v, float(model.cdf(v))) for v, unit in asked.below if _fits(unit, sample)],
    }


def question_blocks(asked: Questions, models: Models) -> Iterator[Block]:
    """The answers as tables."""
    if asked.quantiles or asked.below:
        columns = [Column("benchmark", wraps=True), Column("version")]
        columns += [Column(f"{100 * p:g} % quantile", right=True) for p in asked.quantiles]
        columns += [Column(f"P[X <= {format_value(v, unit)}]", right=True) for v, unit in asked.below]
        rows = []
        for key, version, sample, a in models:
            found = answers(asked, sample, a)
            cells = [Cell(key.benchmark, "strong"), Cell(version)]
            cells += [Cell(format_value(q, sample.unit)) for _, q in found["quantiles"]]
            cells += [Cell(f"{100 * p:.4g} %") for _, p in found["below"]]
            rows.append(tuple(cells))
        yield Text("")
        yield Table(tuple(columns), tuple(rows), "by the mixtures")
    if asked.metrics:
        for key in dict.fromkeys(key for key, *_ in models):
            yield from _metrics(asked, key, [m for m in models if m[0] == key])


def _metrics(asked: Questions, key: Key, models: Models) -> Iterator[Block]:
    names = [version for _, version, _, _ in models]
    delta, unit = asked.delta
    if delta and not all(_fits(unit, sample) for _, _, sample, _ in models):
        return
    samples = compare([s.values for _, _, s, _ in models], delta=delta)
    mixtures = compare([_model(a) for _, _, _, a in models], delta=delta)
    base = models[0][2].unit
    yield Text("")
    forms = (samples, mixtures)
    rows = [
        (
            Cell(name, "strong"),
            Cell(other),
            *(Cell(format_value(float(m.gaps[i, j]), base, 3)) for m in forms),
            *(Cell(f"{m.below[i, j]:.4f}") for m in forms),
        )
        for i, name in enumerate(names)
        for j, other in enumerate(names)
        if i != j
    ]
    ahead = f" + {format_value(delta, unit or base)}" if delta else ""
    columns = (
        Column("X"), Column("Y"), Column("I1 = E|X-Y|", right=True), Column("by mixtures", right=True),
        Column(f"I2 = P[X < Y{ahead}]", right=True), Column("by mixtures", right=True),
    )  # fmt: skip
    if rows:
        yield Table(columns, tuple(rows), f"{key.benchmark}: {key.metric}")
    peaks = mixtures.modes or ()
    yield Table(
        (
            Column("version"), Column("I3 = P[X < all others]", right=True), Column("by mixtures", right=True),
            Column("I4 = peaks of the density", right=True),
        ),
        tuple(
            (Cell(name, "strong"), *(Cell(f"{m.least[i]:.4f}") for m in forms), Cell(str(peaks[i])))
            for i, name in enumerate(names)
        ),
    )  # fmt: skip


def _model(a: Analysis) -> MixtureModel:
    return MixtureModel(*zip(*((c.weight, c.mean, c.sd) for c in a.components), strict=True))


def _fits(unit: str, sample: Sample) -> bool:
    if unit in ("", sample.unit):
        return True
    raise UsageError(
        f"the values of {sample.label or 'a sample'} are in {sample.unit or 'no unit'}, not in {unit}"
    )

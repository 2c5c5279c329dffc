"""The panels: what the script of the page needs to draw one benchmark, when somebody opens it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from speedproof.data.sample import FloatArray, Sample, Trait
from speedproof.data.suite import Pair, Suite
from speedproof.data.units import format_value, format_values
from speedproof.errors import DataError
from speedproof.mixture.em import kernel_names
from speedproof.mixture.fit import fit
from speedproof.protocols.assumptions import UNDERMINING
from speedproof.protocols.results import Comparison, Summary
from speedproof.protocols.suite import SuiteComparison
from speedproof.report.conclusions import conclusion
from speedproof.report.html.axis import linear_ticks
from speedproof.report.wording import percent, plural, pvalue
from speedproof.stats.scaling import with_headroom

__all__ = ["panels"]

FAR = 8.0
"""Interquartile ranges from the quartiles beyond which a value is drawn at the edge of a chart."""
MOST_FAR = 0.1
LEAST_FOR_MIXTURE = 10
MOST_DRAWN = 1000
"""Points of a sample that a chart shows; a larger sample is thinned evenly, and the chart says so."""


def panels(result: SuiteComparison, suite: Suite) -> list[dict[str, Any]]:
    """The data of every panel of a suite.

    Parameters
    ----------
    result : SuiteComparison
        Of one metric.
    suite : Suite
        The samples; a benchmark without them gets a panel without charts.

    Returns
    -------
    list of dict
        In the order of the rows; plain data for JSON, with numbers already as text where people read them.
    """
    pairs: dict[str, Pair] = {}
    if result.reference in suite.versions and result.candidate in suite.versions:
        pairing = suite.pair(result.reference, result.candidate)
        pairs = {p.key.benchmark: p for p in pairing.pairs if p.key.metric == result.metric}
    by_name: dict[str, list[Comparison]] = {}
    for comparison in result.comparisons:
        by_name.setdefault(comparison.benchmark, []).append(comparison)
    return [_panel(name, found, pairs.get(name)) for name, found in by_name.items()]


def _panel(name: str, found: Sequence[Comparison], pair: Pair | None) -> dict[str, Any]:
    return {
        "name": name,
        "said": [[c.verdict.value, conclusion(c)] for c in found],
        "labels": [found[0].reference.label, found[0].candidate.label],
        "tests": [_test(c) for c in found],
        "checks": _checks(found),
        "summary": _summary(found),
        "drawn": None if pair is None else _drawn(pair),
    }


def _test(c: Comparison) -> list[str]:
    highest = c.highest_confidence
    return [
        c.protocol,
        c.test or f"none: {c.state.value}",
        pvalue(c.pvalue),
        pvalue(c.pvalue_slower),
        f"p ≤ {c.alpha:g}" if c.test else "-",
        "-" if highest is None or math.isnan(highest.value) else percent(highest.value, 6),
    ]


def _checks(found: Sequence[Comparison]) -> list[list[Any]]:
    """Every check once, with its protocols: those that undermine the verdict, that fail, that hold."""
    seen: dict[tuple[str, str, str], tuple[Any, list[str]]] = {}
    for c in found:
        for check in c.checks:
            place = (check.name, pvalue(check.pvalue), check.message)
            seen.setdefault(place, (check, []))[1].append(c.protocol)
    return [
        [
            "holds" if check.held else "undermines" if check.kind in UNDERMINING else "fails",
            check.name,
            check.kind.question,
            "-" if math.isnan(check.statistic) else f"{check.statistic:.4g}",
            p,
            message,
            ", ".join(protocols),
        ]
        for (_, p, message), (check, protocols) in sorted(
            seen.items(), key=lambda item: (item[1][0].held, item[1][0].kind not in UNDERMINING)
        )
    ]


def _summary(found: Sequence[Comparison]) -> list[list[str]]:
    """Both sides in numbers, by every protocol that saw other values (one a process: its mean or its median)."""
    rows = []
    seen = set()
    for c in found:
        for side, role in ((c.reference, "X"), (c.candidate, "Y")):
            numbers = _numbers(side)
            if (role, numbers) not in seen:
                seen.add((role, numbers))
                rows.append([role, side.label, *numbers])
    return rows


def _numbers(side: Summary) -> tuple[str, ...]:
    used = str(side.n) if side.n == side.observations else f"{side.n} of {side.observations}"
    locations = format_values([side.mean, side.median, side.minimum], side.unit)
    spreads = (format_value(v, side.unit) for v in (side.deviation, side.mad))
    return (used, *locations, *spreads)


def _drawn(pair: Pair) -> dict[str, Any]:
    x, y = pair.reference, pair.candidate
    low, high = _range(x.values, y.values)
    ticks = linear_ticks(low, high)
    pooled = np.concatenate([x.values, y.values])
    beyond = pooled[(pooled < low) | (pooled > high)]
    return {
        "beyond": "" if not beyond.size else _beyond(beyond, high, x.unit),
        "low": low,
        "high": high,
        "ticks": list(zip(ticks, format_values(list(ticks), x.unit), strict=True)),
        "ordered": all(_in_order(s) for s in (x, y)),
        "unit": x.unit,
        "samples": [_sample(s) for s in (x, y)],
    }


def _range(x: FloatArray, y: FloatArray) -> tuple[float, float]:
    """From the lowest to the highest value, but for a few that lie so far out that they would squeeze the rest."""
    inside = [v[_near(v)] for v in (x, y)]
    return float(min(v.min() for v in inside)), float(max(v.max() for v in inside))


def _near(v: FloatArray) -> npt.NDArray[np.bool_]:
    (v,) = with_headroom(v)
    first, third = np.quantile(v, [0.25, 0.75])
    reach = FAR * (third - first)
    near = np.asarray((v >= first - reach) & (v <= third + reach))
    # Many values far out are a second state of the program, which a chart must show.
    few = reach > 0 and np.count_nonzero(~near) <= MOST_FAR * v.size
    return near if few else np.ones(v.shape, dtype=bool)


def _beyond(values: FloatArray, high: float, unit: str) -> str:
    """How many values a chart shows at its edge instead of in their place, and how far out they are."""
    last = values.max() if values.max() > high else values.min()
    furthest = format_value(float(last), unit)
    if values.size == 1:
        return f"One value lies beyond the edge, at {furthest}."
    return f"{values.size} values lie beyond the edge, up to {furthest}."


def _in_order(sample: Sample) -> bool:
    return Trait.ORDER_KNOWN in sample.traits and Trait.SORTED not in sample.traits


def _sample(sample: Sample) -> dict[str, Any]:
    v = sample.values
    quartiles = [float(q) for q in np.quantile(v, [0.25, 0.5, 0.75])]
    ranked = np.sort(v)
    texts = format_values(quartiles, sample.unit)
    return {
        "n": sample.n,
        "order": _short(v[_spaced(v)]),
        "at": _spaced(v).tolist() if sample.n > MOST_DRAWN else None,
        "ranked": _short(ranked[_spaced(ranked)]) if sample.n > MOST_DRAWN else None,
        "quartiles": quartiles,
        "told": f"{plural(sample.n, 'value')} of {sample.label}: median {texts[1]}, "
        f"middle half {texts[0]} to {texts[2]}",
        "median": texts[1],
        "mixture": _mixture(ranked[_spaced(ranked)], sample.unit),
    }


def _mixture(ranked: FloatArray, unit: str) -> dict[str, Any] | None:
    """The Gaussian mixture of a sample as the outline of a violin; None where it would say nothing.

    That is so for few values and where most are tied: there a density is a row of spikes at the clock's steps.
    """
    # The NumPy twin of the kernels takes fifty times as long, which a page of many benchmarks cannot wait for.
    if not kernel_names() or ranked.size < LEAST_FOR_MIXTURE or 2 * np.unique(ranked).size <= ranked.size:
        return None
    try:
        model = fit(ranked).model
    except DataError:
        return None
    low, high = float(ranked[0]), float(ranked[-1])
    around = (model.means[:, None] + model.sds[:, None] * np.linspace(-3, 3, 13)).ravel()
    grid = np.unique(np.concatenate([np.linspace(low, high, 41), around[(around > low) & (around < high)]]))
    logs = model.logpdf(grid)
    density = np.exp(logs - logs.max())  # of which only the shape is drawn
    parts = [
        f"{percent(float(weight), 2)} around {format_value(float(mean), unit)}"
        for weight, mean in zip(model.weights, model.means, strict=True)
    ]
    return {
        "at": _short(grid),
        "density": [round(float(v), 3) for v in density],
        "told": "one component" if len(parts) == 1 else f"{len(parts)} components: {', '.join(parts)}",
        "means": [float(mean) for mean in model.means],
    }


def _spaced(v: FloatArray) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Evenly spaced places, first and last included; all of them when they are few."""
    if v.size <= MOST_DRAWN:
        return np.arange(v.size)
    return np.linspace(0, v.size - 1, MOST_DRAWN).round().astype(np.int64)


def _short(v: FloatArray) -> list[float]:
    """Values with the digits that a drawing can show, counted from their spread: half the size of the page."""
    spread = float(np.ptp(v))
    if spread == 0:
        return [float(x) for x in v]
    digits = 4 - math.floor(math.log10(spread))
    return [round(float(x), digits) for x in v]

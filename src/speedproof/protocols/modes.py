"""Two versions by their modes: which ones they share, and which moved, appeared or are hit more often.

A mean cannot tell a program that got faster from one that falls into its slow mode less often. Here a mixture
is fitted to each sample, its clear modes are matched on the scale of logarithms, and every claim is tested.

Modes are found in the data that they are then tested on. So a claim is made only where one test that knows
nothing of modes rejects that both samples come from one distribution (Kolmogorov-Smirnov): between equal
versions that is where any claim is false, and it happens with probability alpha at most. The claims themselves
are one family under Holm's procedure. Of values nested in processes the median of each counts, and samples
whose runs depend on each other support no claim.

By several metrics at once (VARCORE, section 8.1) a run has a time, faults, an energy: its components are states
of all of them together (:mod:`speedproof.mixture.states`). The indices of one metric carry over where order
does: I1 is a distance in each metric, I2 and I3 ask for a run that is better in every metric, I4 counts the
states. Runs that are better in one metric and worse in another are ahead of neither, so that I2 of both
directions may add up to less than 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import exp, inf, ldexp, lgamma, log

import numpy as np
from msgspec import Struct

from speedproof.arrays import FloatArray, IntArray
from speedproof.data.notes import Assumption
from speedproof.data.sample import Sample
from speedproof.data.suite import Pair
from speedproof.errors import DataError
from speedproof.mixture.analysis import fit_and_test, modes_of
from speedproof.mixture.metrics import expected_gap, probability_below
from speedproof.mixture.modes import clear_modes, runs_in
from speedproof.mixture.results import FEW_RUNS
from speedproof.mixture.rounding import rounding_matters
from speedproof.mixture.states import joint_states, step_of
from speedproof.protocols.checks import undermining
from speedproof.protocols.units import matched_pair
from speedproof.protocols.why import same_runs
from speedproof.stats.estimate import Estimate
from speedproof.stats.multiplicity import holm
from speedproof.stats.ranks import ascending, pooled_order
from speedproof.stats.scaling import MOST_APART, exponent
from speedproof.stats.smirnov import kolmogorov_sf
from speedproof.stats.special import t_quantile, t_sf

_LEAST = 10  # values, below which a mixture says nothing
_APART = log(1.1)  # modes further apart than twice this, once aligned, are not the same


class MatchedMode(Struct, frozen=True):
    """A mode that both versions have."""

    # Where it lies in each version
    reference: float
    candidate: float
    # Geometric mean of its values in the reference over that in the candidate: above 1 it got smaller
    ratio: Estimate
    # Share of the runs that fall into it
    reference_share: float
    candidate_share: float
    # Whether it is shown to lie elsewhere, to be hit more or less often
    moved: bool
    reweighted: bool
    # Adjusted (Holm), of all claims on this benchmark
    pvalue_moved: float
    pvalue_reweighted: float


class ModeComparison(Struct, frozen=True):
    """What the distributions of two samples say beyond their locations."""

    # What was compared
    benchmark: str
    metric: str
    unit: str  # the base unit of places and gap
    alpha: float  # the risk that anything is claimed of two equal versions
    sizes: tuple[int, int]  # values that were used: one a process where values are nested
    # Where the clear modes of each mixture lie, those of fewer than five values left out
    reference_modes: tuple[float, ...]
    candidate_modes: tuple[float, ...]
    matched: tuple[MatchedMode, ...]  # in order of place
    # Modes shown to be in the reference only, in the candidate only
    vanished: tuple[float, ...]
    appeared: tuple[float, ...]
    pvalue: float  # of one distribution behind both samples
    undermining: tuple[Assumption, ...]  # why no claim is made whatever the p-value says
    gap: float  # I1 = E|X - Y|
    candidate_lower: float  # I2 = P[Y < X], ties not counted

    @property
    def moved(self) -> bool:
        """Whether some mode moved."""
        return any(m.moved for m in self.matched)

    @property
    def reweighted(self) -> bool:
        """Whether some mode is hit more or less often."""
        return any(m.reweighted for m in self.matched)

    @property
    def conclusion(self) -> str:
        """One sentence in plain words."""
        if self.undermining:
            return f"no claim: {self.undermining[0].violated}"
        if self.vanished or self.appeared:
            counts = {"vanished": len(self.vanished), "appeared": len(self.appeared)}
            parts = [f"{n} mode{'s' if n > 1 else ''} {what}" for what, n in counts.items() if n]
            return "the modes differ: " + ", ".join(parts)
        if self.moved and self.reweighted:
            return "modes moved, and runs fall into them with other weights"
        if self.moved:
            return "modes moved: runs in the same mode take another time"
        if self.reweighted:
            return "same modes, other weights: runs fall into them more or less often"
        return "no change of the modes is shown"


class _Side(Struct, frozen=True):
    """One sample on the scale of logarithms, and its modes: places, both ends of each, numbers of values."""

    logs: FloatArray
    shown: tuple[float, ...]  # where a model of the sample says that they lie
    places: FloatArray
    ends: FloatArray
    counts: tuple[int, ...]

    def inside(self, mode: int, logs: FloatArray, shift: float = 0.0) -> FloatArray:
        low, high = self.ends[mode] + shift
        return np.asarray(logs[(logs > low) & (logs <= high)])


def compare_modes(pair: Pair, *, alpha: float, K_max: int = 9) -> ModeComparison | None:
    """Fit a mixture to each sample, match their modes and test what became of them."""
    pair = matched_pair(pair)
    samples = tuple(s.per_process("median") for s in (pair.reference, pair.candidate))
    power = exponent(*(s.values for s in samples))
    values = tuple(np.ldexp(s.values, power) for s in samples)
    x, y = values
    if min(x.size, y.size) < _LEAST or min(x.min(), y.min()) <= 0.0:
        return None
    if min(x.max(), y.max()) < max(x.max(), y.max()) / MOST_APART:
        return None
    try:
        a, b = (_side(v, K_max) for v in values)
    except DataError:  # one value, many times
        return None
    pairs, shift = _aligned(a, b)
    undermining = _undermining(pair)
    pvalue = _one_distribution(x, y)
    claims = not undermining and pvalue <= alpha
    matched, vanished, appeared = _tested(a, b, pairs, shift, alpha, claims)

    shown = [tuple(ldexp(place, -power) for place in side.shown) for side in (a, b)]
    return ModeComparison(
        benchmark=pair.key.benchmark,
        metric=pair.key.metric,
        unit=pair.reference.unit,
        alpha=alpha,
        sizes=(x.size, y.size),
        reference_modes=shown[0],
        candidate_modes=shown[1],
        matched=tuple(
            MatchedMode(shown[0][j], shown[1][k], *fields)
            for (j, k), fields in zip(pairs, matched, strict=True)
        ),
        vanished=tuple(shown[0][j] for j in vanished),
        appeared=tuple(shown[1][k] for k in appeared),
        pvalue=pvalue,
        undermining=undermining,
        gap=ldexp(expected_gap(x, y), -power),
        candidate_lower=probability_below(y, x),
    )  # fmt: skip


def _side(values: FloatArray, K_max: int) -> _Side:
    ordered = ascending(values)
    # The number of samples is that of a model, by whose test it is decided whether rounding counts.
    fitted, _ = fit_and_test(values, 200 if rounding_matters(ordered) else 0, 0, {"K_max": K_max}, {})
    modes = clear_modes(fitted)
    shown = tuple(mode.place for mode in modes_of(fitted, modes, ordered))
    logs = np.log(values)
    ends = np.log(np.maximum(modes.valleys, np.finfo(float).tiny))
    counts = runs_in(modes, values)
    kept = np.flatnonzero(counts >= FEW_RUNS)
    if kept.size == 0:
        raise DataError("no mode holds five values")
    # What lies in a mode of a few values is an outlier of no mode.
    places = np.log(np.maximum(modes.places[kept], np.finfo(float).tiny))
    edges = np.concatenate([[-inf], ends, [inf]])
    return _Side(
        logs, shown, places, np.column_stack((edges[kept], edges[kept + 1])), tuple(counts[kept].tolist())
    )


def _aligned(a: _Side, b: _Side) -> tuple[list[tuple[int, int]], float]:
    """Pairs of modes in order, and the shift from reference to candidate that aligns most of them best.

    No shift and every difference of two modes are tried; a mode without a partner costs as much as one that is
    off by a tenth, and the better filled modes count more.
    """
    shifts = [0.0, *(float(q - p) for p, q in product(a.places, b.places))]
    ways = []
    for shift in shifts:
        cost, pairs = _alignment(a, b, shift)
        cost += 0.5 * (abs(shift) > 0.25 * _APART) + 0.01 * abs(shift)  # rather the same place than another
        ways.append((round(cost, 12), pairs, shift))
    _, pairs, shift = min(ways, key=lambda way: way[0])
    return pairs, shift


def _alignment(a: _Side, b: _Side, shift: float) -> tuple[float, list[tuple[int, int]]]:
    shares = [[c / sum(s.counts) for c in s.counts] for s in (a, b)]
    table: dict[tuple[int, int], tuple[float, list[tuple[int, int]]]] = {(0, 0): (0.0, [])}
    for j, k in product(range(a.places.size + 1), range(b.places.size + 1)):
        if j == k == 0:
            continue
        ways = []
        if j:
            cost, pairs = table[j - 1, k]
            ways.append((cost + shares[0][j - 1], pairs))
        if k:
            cost, pairs = table[j, k - 1]
            ways.append((cost + shares[1][k - 1], pairs))
        if j and k:
            off = abs(float(b.places[k - 1] - a.places[j - 1]) - shift) / (2 * _APART)
            cost, pairs = table[j - 1, k - 1]
            ways.append((cost + off * (shares[0][j - 1] + shares[1][k - 1]), [*pairs, (j - 1, k - 1)]))
        table[j, k] = min(ways, key=lambda way: way[0])
    return table[a.places.size, b.places.size]


def _undermining(pair: Pair) -> tuple[Assumption, ...]:
    """What makes runs depend on each other or keeps their p-values from being what they seem."""
    sides = (pair.reference, pair.candidate)
    checks = [
        check
        for side, other in (sides, sides[::-1])
        for check in undermining(side, side.per_process("median"), side.label, [other])
    ]
    return tuple(dict.fromkeys(check.kind for check in checks))


def _one_distribution(x: FloatArray, y: FloatArray) -> float:
    """P-value of Kolmogorov and Smirnov's test, of the limiting distribution: too large, if anything."""
    order = pooled_order(x, y)
    distance = float(np.abs(order.x_upto / x.size - order.y_upto / y.size).max())
    return float(kolmogorov_sf(distance * np.sqrt(x.size * y.size / (x.size + y.size))))


def _tested(
    a: _Side, b: _Side, pairs: list[tuple[int, int]], shift: float, alpha: float, claims: bool
) -> tuple[list[tuple[Estimate, float, float, bool, bool, float, float]], list[int], list[int]]:
    """What became of each matched mode, and which of the others vanished and appeared.

    Two tests of each matched mode, one of each other; all claims of one benchmark are a family.
    """
    alone = sorted({*range(a.places.size)} - {j for j, _ in pairs})
    new = sorted({*range(b.places.size)} - {k for _, k in pairs})
    inside = [(a.inside(j, a.logs), b.inside(k, b.logs)) for j, k in pairs]
    each = alpha / (2 * len(pairs) + len(alone) + len(new))
    welch = [_welch(x, y, each) for x, y in inside]
    raw = []
    for (x, y), (pvalue, *_) in zip(inside, welch, strict=True):
        raw += [pvalue, fisher_exact(x.size, a.logs.size, y.size, b.logs.size)]
    for side, other, modes, by in ((a, b, alone, shift), (b, a, new, -shift)):
        for mode in modes:
            there = side.inside(mode, other.logs, by).size
            raw.append(fisher_exact(side.counts[mode], side.logs.size, there, other.logs.size))
    adjusted = holm(raw).tolist()
    shown = [claims and p <= alpha for p in adjusted]
    matched = []
    for i, ((x, y), (_, ratio, half)) in enumerate(zip(inside, welch, strict=True)):
        estimate = Estimate(exp(ratio), exp(ratio - half), exp(ratio + half), 1 - each)
        of_mode = slice(2 * i, 2 * i + 2)
        matched.append(
            (estimate, x.size / a.logs.size, y.size / b.logs.size, *shown[of_mode], *adjusted[of_mode])
        )
    rest = shown[2 * len(pairs) :]
    gone = [j for j, proven in zip(alone, rest, strict=False) if proven]
    come = [k for k, proven in zip(new, rest[len(alone) :], strict=True) if proven]
    return matched, gone, come


def _welch(x: FloatArray, y: FloatArray, alpha: float) -> tuple[float, float, float]:
    """Two-sided p-value of equal means, their difference, and half its interval at confidence 1 - alpha."""
    difference = float(x.mean() - y.mean())
    squares = [float(v.var(ddof=1)) / v.size for v in (x, y)]
    error = sum(squares)
    if error == 0.0:
        return (1.0 if difference == 0.0 else 0.0), difference, 0.0
    df = error**2 / sum(s * s / (v.size - 1) for s, v in zip(squares, (x, y), strict=True))
    t = abs(difference) / np.sqrt(error)
    return 2.0 * float(t_sf(t, df)), difference, t_quantile(1 - alpha / 2, df) * float(np.sqrt(error))


def fisher_exact(a: int, n: int, b: int, m: int) -> float:
    """Two-sided p-value of Fisher's exact test: a of n against b of m."""
    k = np.arange(max(0, a + b - m), min(a + b, n) + 1)

    def choose(of: int, some: IntArray) -> FloatArray:
        return np.array([lgamma(of + 1) - lgamma(i + 1) - lgamma(of - i + 1) for i in some.tolist()])

    logs = choose(n, k) + choose(m, a + b - k)
    chances = np.exp(logs - logs.max())
    seen = chances[a - int(k[0])]
    return float(chances[chances <= seen * (1 + 1e-7)].sum() / chances.sum())


_AT_A_TIME = 4_000_000


class JointState(Struct, frozen=True):
    """A state of the runs of one version."""

    weight: float  # share of the runs
    # In each metric
    means: tuple[float, ...]
    deviations: tuple[float, ...]


class Ahead(Struct, frozen=True):
    """One version against another, over all pairs of a run of each."""

    version: str
    distances: tuple[float, ...]  # I1: mean distance, in each metric
    better: float  # I2: share of the pairs in which the run is better in every metric


class JointModel(Struct, frozen=True):
    """The states of one version's runs."""

    benchmark: str
    version: str
    metrics: tuple[str, ...]
    units: tuple[str, ...]
    runs: int
    states: tuple[JointState, ...]  # I4 is how many
    others: tuple[Ahead, ...]
    best: float  # I3: the chance that a run is better in every metric than one run of each other version


def states_of_runs(metrics: Sequence[Sample]) -> IntArray:
    """The state of every run of one version, shape (runs,), by several metrics of the same runs.

    Metrics whose values are all above zero enter by their logarithms: states are factors apart.
    """
    columns, steps = [], []
    for sample in metrics:
        x = sample.values
        step = step_of(x, whole=not sample.unit and not (x % 1.0).any())
        logs = x.min() > 0.0
        columns.append(np.log(x) if logs else x)
        steps.append(step / x.min() if logs else step)
    return joint_states(np.column_stack(columns), steps)


def joint_models(
    benchmark: str, versions: Mapping[str, Sequence[Sample]], names: Sequence[str]
) -> list[JointModel]:
    """The states of each version of a benchmark by these metrics, and how the versions compare.

    Raises
    ------
    DataError
        Metrics of a version that are not of the same runs.
    """
    for version, samples in versions.items():
        for name, sample in zip(names[1:], samples[1:], strict=True):
            if sample.n != samples[0].n or not same_runs(samples[0], sample):
                raise DataError(f"{benchmark} ({version}): {names[0]} and {name} are not of the same runs")
    runs = {v: np.column_stack([_costs(s) for s in samples]) for v, samples in versions.items()}
    made = []
    for version, samples in versions.items():
        values = np.column_stack([s.values for s in samples])
        labels = states_of_runs(samples)
        parts = [values[labels == k] for k in range(int(labels.max()) + 1)]
        states = tuple(
            JointState(len(p) / len(values), tuple(p.mean(axis=0).tolist()), tuple(p.std(axis=0).tolist()))
            for p in parts
        )
        ahead = {o: _ahead(runs[version], runs[o]) for o in runs if o != version}
        made.append(
            JointModel(
                benchmark,
                version,
                tuple(names),
                tuple(s.unit for s in samples),
                len(values),
                states,
                tuple(
                    Ahead(o, _distances(runs[version], runs[o]), float(share.mean()))
                    for o, share in ahead.items()
                ),
                float(np.prod([*ahead.values()], axis=0).mean()) if ahead else 1.0,
            )
        )
    return made


def _costs(sample: Sample) -> FloatArray:
    """Values oriented so that lower is better."""
    return -sample.values if sample.higher_is_better else sample.values


def _ahead(x: FloatArray, y: FloatArray) -> FloatArray:
    """Of every run of x, in what share of the runs of y it is better in every metric, shape (runs of x,)."""
    step = max(1, _AT_A_TIME // len(y))
    return np.concatenate(
        [(x[i : i + step, None] < y).all(axis=2).mean(axis=1) for i in range(0, len(x), step)]
    )


def _distances(x: FloatArray, y: FloatArray) -> tuple[float, ...]:
    return tuple(expected_gap(a, b) for a, b in zip(x.T, y.T, strict=True))

"""What a difference, or the states of one version, go with: the other metrics of the same runs.

Two steps. First, which metrics go with time from run to run *within* a version
(:mod:`speedproof.stats.association`, one risk for all metrics): what differs between versions differs in
everything that was changed, and shows nothing. Second, for each of them, how much of the speedup of the means it
goes with. Runs fall into states of that metric (:mod:`speedproof.mixture.states`); with the weights w of the
states in each version and their mean times t

    log(sum w_a t_a / sum w_b t_b) = [other weights, same times] + [same weights, other times]

each bracket being the mean of both orders in which one can change the weights and the times, so that nothing is
left over (A. F. Shorrocks, Journal of Economic Inequality 11, 2013). The first is what goes with the metric, the
second the speedup at equal state. The two speeds of a machine that a suite shows
(:mod:`speedproof.protocols.caveats`) are states, too. Intervals are percentiles of a bootstrap over what
repeats independently, runs or processes (D. B. Rubin, "The Bayesian bootstrap", Annals of Statistics 9, 1981).

It is observation, no experiment: a metric goes with time, and only changing it shows whether it is the cause.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, exp, log10

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from speedproof.arrays import FloatArray, IntArray
from speedproof.data.sample import Sample, Trait
from speedproof.mixture.results import FEW_RUNS
from speedproof.mixture.states import joint_states, states_of, step_of
from speedproof.protocols.caveats import MachineSpeeds, slower_processes
from speedproof.stats.association import associations
from speedproof.stats.dependence import lag1
from speedproof.stats.estimate import Estimate

LEAST_RUNS = 10
"""Runs (processes) of each version without which nothing is said."""
_DRAWS = 999
_ALIKE = 0.1  # two-sided p-value of von Neumann's ratio, at which neighbours count as alike
_DECOMPOSED = 6  # metrics at most, the strongest
_DIGITS = 12
_AT_A_TIME = 2_000_000


class StateOfRuns(Struct, frozen=True):
    """A state that runs of all versions fall into."""

    level: float  # mean of the metric that the states are seen in
    # For each version its share of runs, and their mean of the explained metric (NaN without runs)
    shares: tuple[float, ...]
    means: tuple[float, ...]


class ByStates(Struct, frozen=True, kw_only=True):
    """States of runs, and what of a difference goes with how often each version is in them."""

    states: tuple[StateOfRuns, ...] = ()  # in ascending order of their levels; empty for one
    # Of two versions with states: the share of the logarithm of the speedup of the means that goes with other
    # weights of the states; None where no speedup is shown
    share: float | None = None
    # The speedup by other weights alone, and the speedup at equal state; None where a version has fewer than five
    # runs in a state
    weights: Estimate | None = None
    within: Estimate | None = None


class GoesWith(ByStates, frozen=True):
    """One metric of the same runs, with the states of it and of what is explained together."""

    metric: str
    unit: str
    part: bool  # whether it is part of the explained metric, as system time is of time
    correlation: float  # Spearman's, within a version
    between: float  # share of its ranks' variance between the states of the explained metric
    pvalue: float  # adjusted over all metrics

    @property
    def strength(self) -> float:
        """The share of variance that was tested."""
        return max(self.correlation**2, self.between)


class Why(Struct, frozen=True):
    """What one benchmark's difference, or the states of its runs, go with."""

    benchmark: str
    metric: str  # the explained metric
    unit: str
    alpha: float  # the risk that a metric is named which has nothing to do with it
    versions: tuple[str, ...]
    sizes: tuple[int, ...]  # runs of each that were used; processes (builds) where values are nested
    states: tuple[int, ...]  # the number of states of the explained metric alone, for each version
    speedup: Estimate | None  # of the means, of two versions
    metrics: tuple[GoesWith, ...]  # what was tested: those that go with it first, the strongest first
    left_out: tuple[tuple[str, str], ...]  # other metrics, and why
    shifted: bool  # whether runs resemble their neighbours, so that time was shifted in a circle
    nested: bool  # whether each is a process or a build of several runs
    # Of two versions at the machine's two speeds: these as states, at levels of how many times as slow they are
    machine: ByStates | None = None

    @property
    def goes_with(self) -> tuple[GoesWith, ...]:
        """The metrics that are shown to go with it."""
        return tuple(m for m in self.metrics if m.pvalue <= self.alpha)

    @property
    def named(self) -> tuple[ByStates, ...]:
        """What a report names: the machine's two speeds first, then metrics."""
        return self.goes_with if self.machine is None else (self.machine, *self.goes_with)


def why(
    benchmark: str,
    metric: str,
    explained: Sequence[Sample],
    others: Mapping[str, Sequence[Sample | None]],
    *,
    machine: MachineSpeeds | None = None,
    alpha: float = 0.05,
    seed: int = 0,
) -> Why:
    """Say what goes with one metric of one version, or with its difference between two.

    Parameters
    ----------
    benchmark, metric : str
        What is explained.
    explained : sequence of Sample
        One sample, or the reference's and the candidate's.
    others : mapping of str to sequence of (Sample or None)
        By name, other metrics of the same runs of the same versions.
    machine : MachineSpeeds, optional
        The two speeds that the suite of these samples shows.
    alpha, seed : float, int
        The risk over all metrics; the seed of all random numbers.
    """
    sides = [sample.per_process("mean") for sample in explained]
    usable, left_out = _usable(explained, others)
    names = list(usable)
    time = np.concatenate([side.values for side in sides])
    version = np.repeat(np.arange(len(sides)), [side.n for side in sides])
    enough = min(side.n for side in sides) >= LEAST_RUNS
    states_of_sides = [
        states_of(_logs(side.values)) if enough else np.zeros(side.n, dtype=np.int64) for side in sides
    ]
    total = _speedup_of_means(time, version, sides, alpha, seed) if len(sides) == 2 else None
    about = Why(
        benchmark=benchmark,
        metric=metric,
        unit=explained[0].unit,
        alpha=alpha,
        versions=tuple(side.label for side in sides),
        sizes=tuple(side.n for side in sides),
        states=tuple(int(labels.max()) + 1 for labels in states_of_sides),
        speedup=total,
        metrics=(),
        left_out=tuple(left_out),
        shifted=enough and any(_resembling(side) for side in sides),
        nested=any(sample.processes is not None for sample in explained),
    )
    if not enough:
        return about
    shared = (time, version, sides, total, alpha, seed)
    if machine is not None and len(explained) == 2:
        slower = slower_processes(explained, machine)
        if slower is not None:
            labels = np.concatenate(slower)
            about = replace(about, machine=_by_states(labels, np.where(labels, machine.factor, 1.0), *shared))
    if not names:
        return about
    columns = np.column_stack([usable[name] for name in names])
    strata = version * (1 + max(_sessions(side).max() for side in sides)) + np.concatenate(
        [_sessions(side) for side in sides]
    )
    correlation, between, pvalue = associations(
        time,
        columns,
        states=np.concatenate(states_of_sides),
        strata=strata,
        circular=about.shifted,
        seed=seed,
        permutations=_DRAWS,
    )
    tested = []
    for k, name in enumerate(names):
        unit = next(sample.unit for sample in others[name] if sample is not None)
        figures = float(correlation[k]), float(between[k]), float(pvalue[k])
        tested.append(GoesWith(name, unit, unit == about.unit != "", *figures))
    order = sorted(
        range(len(names)), key=lambda k: (tested[k].pvalue > alpha, tested[k].part, -tested[k].strength)
    )
    # What is a part of time has its states from time.
    shown = [k for k in order if tested[k].pvalue <= alpha and not tested[k].part][:_DECOMPOSED]
    metrics = []
    for k in order:
        one = tested[k]
        if k in shown:
            states = _states(columns[:, k], time, version, one.unit)
            if states.any():
                parts = _by_states(states, columns[:, k], *shared)
                one = replace(one, **{name: getattr(parts, name) for name in parts.__struct_fields__})
        metrics.append(one)
    return replace(about, metrics=tuple(metrics))


def _usable(
    explained: Sequence[Sample], others: Mapping[str, Sequence[Sample | None]]
) -> tuple[dict[str, FloatArray], list[tuple[str, str]]]:
    """The metrics that were measured in every run, and why the others are left out."""
    usable: dict[str, FloatArray] = {}
    left_out = []
    for name, samples in others.items():
        if any(sample is None for sample in samples):
            left_out.append((name, "only one version has it"))
            continue
        both = [
            (explanation, sample)
            for explanation, sample in zip(explained, samples, strict=True)
            if sample is not None
        ]
        if any(explanation.n != sample.n for explanation, sample in both):
            counts = " and ".join(f"{sample.n} of {explanation.n}" for explanation, sample in both)
            left_out.append((name, f"known of {counts} runs"))
        elif any(not same_runs(explanation, sample) for explanation, sample in both):
            left_out.append((name, "not of the same processes"))
        elif all(np.ptp(sample.values) == 0.0 for _, sample in both):
            left_out.append((name, "the same in every run"))
        else:
            column = np.concatenate([sample.per_process("mean").values for _, sample in both])
            # Means of equal counts are equal.
            usable[name] = np.round(column, _DIGITS - ceil(log10(np.abs(column).max() or 1.0)))
    return usable, left_out


def same_runs(one: Sample, other: Sample) -> bool:
    """Whether two metrics were measured in the same runs, in the same order."""
    for numbers, others in ((one.processes, other.processes), (one.sessions, other.sessions)):
        if numbers is None or others is None:
            if numbers is not others:
                return False
        elif not np.array_equal(numbers, others):
            return False
    return True


def _sessions(side: Sample) -> IntArray:
    return np.zeros(side.n, dtype=np.int64) if side.sessions is None else side.sessions


def _resembling(side: Sample) -> bool:
    """Whether neighbouring runs are correlated, if their order is known."""
    if Trait.ORDER_KNOWN not in side.traits or Trait.SORTED in side.traits:
        return False
    alike = lag1(side.values)
    return bool(alike.statistic < 2.0 and alike.pvalue <= _ALIKE)


def _logs(values: FloatArray) -> FloatArray:
    """Logarithms of positive values: states differ by factors."""
    return np.log(values) if values.min() > 0.0 else values


def _states(column: FloatArray, time: FloatArray, version: IntArray, unit: str) -> IntArray:
    """The states of a metric and of time together."""
    step = step_of(column, whole=not unit and not (column % 1.0).any())
    low, time_step = column.min(), step_of(time)
    steps = step / low if low > 0.0 else step, time_step / time.min() if time.min() > 0.0 else time_step
    return joint_states(
        np.column_stack((_logs(column), _logs(time))), steps, by_version=(False, True), versions=version
    )


def _by_states(
    labels: IntArray,
    column: FloatArray,
    time: FloatArray,
    version: IntArray,
    sides: Sequence[Sample],
    total: Estimate | None,
    alpha: float,
    seed: int,
) -> ByStates:
    """States with their mean level, and what of the speedup goes with their weights."""
    K = int(labels.max()) + 1
    sizes = np.array([np.bincount(labels[version == v], minlength=K) for v in range(len(sides))])
    sums = np.array(
        [np.bincount(labels[version == v], time[version == v], minlength=K) for v in range(len(sides))]
    )
    means = sums / np.where(sizes > 0, sizes, np.nan)
    shares = sizes / sizes.sum(axis=1, keepdims=True)
    seen = tuple(
        StateOfRuns(
            float(column[labels == k].mean()), tuple(shares[:, k].tolist()), tuple(means[:, k].tolist())
        )
        for k in range(K)
    )
    if total is None or time.min() <= 0.0 or not (sizes > 0).all(axis=0).any():
        return ByStates(states=seen)
    sign = -1.0 if sides[0].higher_is_better else 1.0
    weights, within = (sign * part for part in _parts(shares[None], means[None]))
    share = None if total.low <= 1.0 <= total.high else float((weights / (weights + within))[0])
    if sizes.min() < FEW_RUNS:
        return ByStates(states=seen, share=share)
    drawn = [_redrawn(labels[version == v], time[version == v], K, seed + v) for v in range(2)]
    by_weights, at_equal = (
        sign * part for part in _parts(*(np.stack(part, axis=1) for part in zip(*drawn, strict=True)))
    )
    limits = (alpha / 2.0, 1.0 - alpha / 2.0)
    return ByStates(
        states=seen,
        share=share,
        weights=_factor(weights, by_weights, limits, alpha),
        within=_factor(within, at_equal, limits, alpha),
    )


def _factor(value: FloatArray, drawn: FloatArray, limits: tuple[float, float], alpha: float) -> Estimate:
    low, high = _quantiles(drawn, limits)
    return Estimate(exp(value[0]), exp(low), exp(high), 1.0 - alpha)


def _quantiles(drawn: FloatArray, limits: tuple[float, float]) -> tuple[float, float]:
    low, high = np.quantile(drawn, limits).tolist()
    return low, high


def _parts(shares: FloatArray, means: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Log speedups by weights and at equal state, of shares and means of shape (draws, 2, states)."""
    # Where a version has no runs in a state, nothing is known of its time there but the other's.
    means = np.where(np.isnan(means), means[:, ::-1], means)
    totals = np.log(np.einsum("dwk,dtk->dwt", shares, means))
    a, b = 0, 1
    weights = 0.5 * (totals[:, a, a] - totals[:, b, a] + totals[:, a, b] - totals[:, b, b])
    return weights, totals[:, a, a] - totals[:, b, b] - weights


def _redrawn(labels: IntArray, time: FloatArray, K: int, seed: int) -> tuple[FloatArray, FloatArray]:
    """Shares and means of the states of one version, each run with a random weight; shape (draws, states)."""
    rng = np.random.default_rng(seed)
    of = np.eye(K)[labels]
    step = max(1, _AT_A_TIME // labels.size)
    parts = []
    for start in range(0, _DRAWS, step):
        counts = rng.standard_exponential((min(step, _DRAWS - start), labels.size))
        parts.append(np.stack((counts @ of, counts @ (of * time[:, None]))))
    sizes, sums = np.concatenate(parts, axis=1)
    return sizes / sizes.sum(axis=1, keepdims=True), sums / np.where(sizes > 0.0, sizes, np.nan)


def _speedup_of_means(
    time: FloatArray, version: IntArray, sides: Sequence[Sample], alpha: float, seed: int
) -> Estimate | None:
    """The ratio of the means with its interval."""
    if time.min() <= 0.0:
        return None
    one = np.zeros(time.size, dtype=np.int64)
    logs = [np.log(_redrawn(one[version == v], time[version == v], 1, seed + v)[1][:, 0]) for v in range(2)]
    sign = -1.0 if sides[0].higher_is_better else 1.0
    value = sign * np.log(sides[0].values.mean() / sides[1].values.mean())
    low, high = _quantiles(sign * (logs[0] - logs[1]), (alpha / 2.0, 1.0 - alpha / 2.0))
    return Estimate(exp(value), exp(low), exp(high), 1.0 - alpha)

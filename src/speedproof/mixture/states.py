"""The states that runs fall into, seen in several metrics at once.

A run has a time and counts (of page faults, of cache misses), and where it falls into one of several states it
has all of them from that state. The model is a mixture of normal distributions, independent within a state.
Where runs are of two versions, a state is what both have in common: counts of one distribution, while its time
and how often it is met are each version's own.

The number of states is chosen by ICL (C. Biernacki, G. Celeux, G. Govaert, IEEE Transactions on Pattern Analysis
and Machine Intelligence 22, 2000): BIC less twice the entropy of the assignment, so that it counts groups that
lie apart, where BIC counts the normal distributions that a shape takes. A state is no narrower than rounding
makes values (the step of their grid over sqrt(2 pi)), and holds five runs or more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import log, pi, sqrt

import numpy as np

from speedproof.arrays import ArrayLike, FloatArray, IntArray
from speedproof.errors import DataError
from speedproof.mixture.grid import detect_resolution
from speedproof.mixture.results import FEW_RUNS

MOST_STATES = 4
_MANY = 1000  # runs that climbs are made on; all are assigned at the end
_BRIEF, _STEPS, _GAIN = 10, 200, 1e-6
_NARROWEST = 1e-3  # of a state, in deviations of all runs
_TINY = 1e-3  # of a run: what an empty state of one version has of the other's


def step_of(values: ArrayLike, *, whole: bool = False) -> float:
    """The step of the grid that values and zero lie on; 0 without ties. Of ``whole`` numbers it is 1 at most."""
    x = np.asarray(values, dtype=np.float64)
    step = detect_resolution(np.append(x, 0.0)) or 0.0
    return min(step, 1.0) if whole else step


def states_of(values: ArrayLike) -> IntArray:
    """The state of every run by one metric: a mixture of normal distributions chosen by ICL.

    Examples
    --------
    >>> states_of([1.0, 1.1, 0.9, 1.05, 0.95, 3.0, 3.1, 2.9, 3.05, 2.95]).tolist()
    [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]
    """
    x = np.asarray(values, dtype=np.float64)
    best, labels = -np.inf, np.zeros(x.size, dtype=np.int64)
    for icl, states in _of_one(x, min(MOST_STATES, x.size // FEW_RUNS), step_of(x)):
        if icl > best and np.bincount(states).min() >= FEW_RUNS:
            best, labels = icl, states
    return labels


def _of_one(x: FloatArray, K_max: int, step: float) -> Iterator[tuple[float, IntArray]]:
    """ICL and labels of the mixtures of one metric, from one component on; numbered by their means."""
    from speedproof.mixture import em  # imported only where states are needed
    from speedproof.mixture.em import condensed
    from speedproof.mixture.fitting import standardise
    from speedproof.mixture.search import table

    try:
        u, centre, scale = standardise(x)
    except DataError:  # constant
        return
    on = condensed(u, _MANY)
    mixtures = table(on, max(K_max, 1), step / scale / sqrt(2.0 * pi), every=True)
    at = (x - centre) / scale
    for K in range(1, max(K_max, 1) + 1):
        for model in (em.E, em.V) if K > 1 else (em.E,):
            loglik = float(mixtures.loglik[K - 1, model])
            if not np.isfinite(loglik):
                continue
            w, mu, v = mixtures.mixtures[K - 1, model][:, :K]
            order = np.argsort(mu)
            logs = np.log(w) - 0.5 * np.log(v) - 0.5 * (at[:, None] - mu) ** 2 / v
            shares = _shares(logs[:, order])[0]
            size = em.free_parameters(K, model)
            yield (
                2.0 * loglik * u.size / on.size - size * log(u.size) - 2.0 * _entropy(shares),
                np.asarray(shares.argmax(axis=1)),
            )


def joint_states(
    metrics: ArrayLike,
    steps: Sequence[float],
    *,
    by_version: Sequence[bool] = (),
    versions: ArrayLike | None = None,
) -> IntArray:
    """The state of every run by several metrics, in ascending order of the first one's mean.

    Parameters
    ----------
    metrics : array_like, shape (n, metrics)
        Finite; the first gives the order of the states.
    steps : sequence of float
        The grid of each, 0 where there is none.
    by_version : sequence of bool
        Of which metrics every version has levels of its own.
    versions : array_like of int, shape (n,), optional
        The version of every run.
    """
    x = np.asarray(metrics, dtype=np.float64)
    of = np.zeros(len(x), dtype=np.int64) if versions is None else np.unique(versions, return_inverse=True)[1]
    model = _Joint(x, steps, tuple(by_version) or (False,) * x.shape[1], of)
    begun: dict[int, tuple[float, FloatArray]] = {}
    for start in model.starts(min(MOST_STATES, len(x) // FEW_RUNS)):
        one = model.climb(start, _BRIEF)
        if one[0] > begun.get(start.shape[1], (-np.inf, start))[0]:
            begun[start.shape[1]] = one
    best, labels = model.icl(np.ones((len(model.x), 1))), np.zeros(len(x), dtype=np.int64)
    for K, (_, shares) in begun.items():
        shares = model.climb(shares, _STEPS)[1]
        icl, assigned = model.icl(shares), model.assigned(shares)
        if icl > best and np.bincount(assigned, minlength=K).min() >= FEW_RUNS:
            best, labels = icl, assigned
    if any(by_version):
        labels = _merged(labels, model.all[:, ~model.by_version], model.floors[~model.by_version])
    order = np.argsort([x[labels == k, 0].mean() for k in range(int(labels.max()) + 1)])
    return np.asarray(np.argsort(order)[labels])


def _merged(labels: IntArray, common: FloatArray, floors: FloatArray) -> IntArray:
    """States that differ by a deviation or more in what is common to all versions; nearer ones are joined.

    Else time, which may fall into states of its own, would count as the metric that it is held against.
    """
    while labels.max() > 0:
        K = int(labels.max()) + 1
        means = np.array([common[labels == k].mean(axis=0) for k in range(K)])
        variances = np.array([common[labels == k].var(axis=0) for k in range(K)])
        shared = np.maximum(0.5 * (variances[:, None] + variances), floors)
        distances = ((means[:, None] - means) ** 2 / shared).max(axis=2)
        distances[np.tril_indices(K)] = np.inf
        j, k = divmod(int(distances.argmin()), K)
        if distances[j, k] >= 1.0:
            break
        labels = np.where(labels == k, j, labels)
        labels = np.where(labels > k, labels - 1, labels)
    return labels


class _Joint:
    """Runs in units of their deviations, and what a climb of EM needs to know of them."""

    def __init__(
        self, metrics: FloatArray, steps: Sequence[float], by_version: tuple[bool, ...], versions: IntArray
    ) -> None:
        scale = np.where((sd := metrics.std(axis=0)) > 0.0, sd, 1.0)
        self.all = (metrics - metrics.mean(axis=0)) / scale
        self.all_versions = versions
        kept = np.unique(np.linspace(0, len(self.all) - 1, _MANY).round().astype(np.int64))
        kept = kept if len(self.all) > _MANY else np.arange(len(self.all))
        self.x, self.versions = self.all[kept], versions[kept]
        self.n, self.by_version = len(self.all), np.array(by_version)
        self.floors = np.maximum(np.asarray(steps) / scale / sqrt(2.0 * pi), _NARROWEST) ** 2
        self.rows = [np.flatnonzero(self.versions == k) for k in range(int(versions.max(initial=0)) + 1)]
        self.squares = self.x * self.x

    def starts(self, K_max: int) -> Iterator[FloatArray]:
        """Assignments to begin with: the states of each metric alone, and those of all of them crossed."""
        apart = self.x.copy()
        for rows in self.rows:  # of what versions have of their own, the order within each
            apart[np.ix_(rows, self.by_version)] -= np.median(apart[np.ix_(rows, self.by_version)], axis=0)
        crossed = np.zeros(len(apart), dtype=np.int64)
        seen = set()
        for column, floor in zip(apart.T, self.floors, strict=True):
            alone = sorted(_of_one(column, K_max, sqrt(2.0 * pi * floor)), key=lambda labels: -labels[0])
            alone = list({int(states.max()): (icl, states) for icl, states in reversed(alone)}.values())[::-1]
            crossed = crossed * MOST_STATES + (alone[0][1] if alone else 0)
            for labels in (*(states for _, states in alone), crossed):
                _, numbers, sizes = np.unique(labels, return_inverse=True, return_counts=True)
                if 1 < sizes.size <= K_max and numbers.tobytes() not in seen:
                    seen.add(numbers.tobytes())
                    yield np.eye(sizes.size)[numbers]

    def levels(self, shares: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Weights, shape (versions, states); means and variances, shape (versions, states, metrics)."""
        parts = [shares[rows].T for rows in self.rows]
        counts = np.stack([part.sum(axis=1) for part in parts])
        sums = np.stack([part @ self.x[rows] for part, rows in zip(parts, self.rows, strict=True)])
        squares = np.stack([part @ self.squares[rows] for part, rows in zip(parts, self.rows, strict=True)])
        n = counts[..., None]
        together = n.sum(axis=0)
        means = sums.sum(axis=0) / np.maximum(together, _TINY)
        spread = np.maximum(squares.sum(axis=0) / np.maximum(together, _TINY) - means**2, self.floors)
        # A version that is never in a state has nothing of its own there.
        own_means = (sums + _TINY * means) / (n + _TINY)
        second = (squares + _TINY * (spread + means**2)) / (n + _TINY)
        own_spread = np.maximum(second - own_means**2, self.floors)
        weights = (counts + _TINY) / (counts + _TINY).sum(axis=1, keepdims=True)
        return (
            weights,
            np.where(self.by_version, own_means, means[None]),
            np.where(self.by_version, own_spread, spread[None]),
        )

    def logs(self, x: FloatArray, versions: IntArray, shares: FloatArray) -> FloatArray:
        """Logarithms of weight times density, shape (runs, states), at the levels of an assignment."""
        w, mu, v = (part[versions] for part in self.levels(shares))
        off = (x[:, None, :] - mu) ** 2 / v
        return np.asarray(np.log(w) - 0.5 * (off + np.log(2.0 * pi * v)).sum(axis=2))

    def climb(self, shares: FloatArray, steps: int) -> tuple[float, FloatArray]:
        """EM from an assignment: the log-likelihood, and the assignment that is reached."""
        before = -np.inf
        for _ in range(steps):
            shares, height = _shares(self.logs(self.x, self.versions, shares))
            if height - before <= _GAIN * (1.0 + abs(height)):
                break
            before = height
        return height, shares

    def icl(self, shares: FloatArray) -> float:
        """Of an assignment, for all runs."""
        V, K, d, apart = len(self.rows), shares.shape[1], self.x.shape[1], int(self.by_version.sum())
        size = 2 * K * (d - apart + V * apart) + V * (K - 1)
        assigned, height = _shares(self.logs(self.x, self.versions, shares))
        more = self.n / len(self.x)
        return float(more * 2.0 * (height - _entropy(assigned)) - size * log(self.n))

    def assigned(self, shares: FloatArray) -> IntArray:
        """The most probable state of every run."""
        return np.asarray(self.logs(self.all, self.all_versions, shares).argmax(axis=1))


def _shares(logs: FloatArray) -> tuple[FloatArray, float]:
    """The responsibilities of the states for each run, and the log-likelihood."""
    top = logs.max(axis=1, keepdims=True)
    shares = np.exp(logs - top)
    total = shares.sum(axis=1, keepdims=True)
    return shares / total, float((top + np.log(total)).sum())


def _entropy(shares: FloatArray) -> float:
    return -float((shares * np.log(np.maximum(shares, 1e-300))).sum())

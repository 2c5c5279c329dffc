"""The NumPy twin of ``_em.c``: the same algorithm, many runs at once as leading array axes.

It does the work where no compiler was at hand, always in double precision, and is the oracle of the
compiled kernels in the tests. Equations and their sources stand in ``_em.c``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from speedproof.arrays import BoolArray, FloatArray, NDArray
from speedproof.mixture import em

if TYPE_CHECKING:
    from speedproof.mixture.em import Cells, Fits, StoppingRules

Ints = NDArray[np.int32]
Indices = NDArray[np.intp]


class Runs:
    """J runs of one K on n values: where they stand, and what became of them.

    Mixtures are arrays of shape (J, 3, K): weights, means and variances. ``e_step`` takes the numbers of some runs
    and their mixtures and returns log-likelihoods and sums. Runs whose start is not sound are over.
    """

    def __init__(
        self,
        e_step: Callable[[Indices, FloatArray], tuple[FloatArray, FloatArray]],
        n: int,
        common: BoolArray,  # variance
        rules: StoppingRules,  # of the M-step
        start: FloatArray,
        sound: BoolArray,
    ) -> None:
        self.e_step, self.n, self.common, self.rules, self.mixtures = e_step, n, common, rules, start
        self.loglik, self.steps = np.full(sound.size, np.nan), np.zeros(sound.size, np.int32)
        self.finished, self.singular = ~sound, ~sound
        self.needed = np.full(sound.size, -np.inf)  # to win
        self.reach = np.zeros(sound.size)  # from below it; see hopeless() in _em_steps.h

    def step(self, on: Indices) -> tuple[FloatArray, FloatArray, BoolArray]:
        """One EM step of some runs: their log-likelihoods, the next mixtures, and which of these are sound."""
        t = self.mixtures[on]
        loglik, sums = self.e_step(on, t)
        self.steps[on] += 1
        return loglik, *m_step(self.n, self.common[on], t, sums, self.rules)

    def outcome(self) -> tuple[FloatArray, Ints]:
        """Log-likelihoods, NaN of what is not estimable, and the steps made, negative where they ended before."""
        made = np.where(self.finished, self.steps, -self.steps)
        return np.where(self.singular, np.nan, self.loglik), made


def e_step(x: FloatArray, t: FloatArray, cells: Cells | None = None) -> tuple[FloatArray, FloatArray]:
    """Log-likelihoods (J,) and the sums S0, S1, S2 about the old means (J, 3, K)."""
    counts, within = (1.0, 0.0) if cells is None else cells.table[1:, :, None]
    w, mu, v = (t[:, k, None] for k in range(3))
    d = x[:, :, None] - mu
    q = np.log(w) - 0.5 * np.log(v) - 0.5 / v * (d**2 + within)
    top = q.max(axis=2)
    e = np.exp(q - top[:, :, None])
    total = e.sum(axis=2)
    heights, n = top + np.log(total), x.shape[1]
    if cells is not None:
        heights, n = heights * cells.table[1], cells.n
    loglik = heights.sum(axis=1) - 0.5 * n * np.log(2 * np.pi)
    r = counts * e / total[:, :, None]
    rd = r * d
    return loglik, np.stack([r.sum(axis=1), rd.sum(axis=1), (rd * d + r * within).sum(axis=1)], axis=1)


def m_step(
    n: int, common: BoolArray, t: FloatArray, sums: FloatArray, rules: StoppingRules
) -> tuple[FloatArray, BoolArray]:
    """Next mixtures, and which of them are sound; the others stay."""
    s0, s1, s2 = sums[:, 0], sums[:, 1], sums[:, 2]
    sound: BoolArray = np.asarray((s0 > em.EMPTY).all(axis=1))
    safe = np.where(s0 > em.EMPTY, s0, 1.0)
    shift = s1 / safe
    within = (s2 - shift * s1).sum(axis=1, keepdims=True) / n
    v = np.where(common[:, None], within, s2 / safe - shift**2)
    if rules.clamp:
        v = np.maximum(v, rules.min_variance)
    else:
        sound = np.asarray(sound & (v > rules.min_variance).all(axis=1))
    following = np.stack([s0 / n, t[:, 1] + shift, v], axis=1)
    following[~sound] = t[~sound]
    return following, sound


def search(
    begin: Callable[[Ints, int], Runs],
    n: int,
    starts: Ints,
    rules: StoppingRules,
    fits: Fits,
    *,
    K_always: int = 0,
    patience: int = 0,
) -> None:
    """Fill ``fits``: every K and model for every row of n values, the best by BIC.

    ``begin`` takes the classes of every row and a number of models and returns the runs of each row in turn.
    """
    count, K_max = fits.loglik.shape[:2]
    for K in range(1, K_max + 1):
        line = starts[:, em.start_of(K) : em.start_of(K) + K + 1] if K > 1 else np.array([[0, n]], np.int32)
        classes = np.broadcast_to(line, (count, K + 1))
        # Up to K_always, then until `patience` of them in a row brought nothing; patience 0: the full search.
        wanted = (patience == 0) | (max(K_always, 1) >= K) | (K - fits.best[:, 0] <= patience)
        runs = begin(classes, 1 if K == 1 else 2)
        runs.singular |= ~np.repeat(wanted, runs.singular.size // count)
        runs.finished |= runs.singular
        if rules.give_up and K > 1:
            runs.needed = np.array(
                [_needed(fits, row, K, m, n) for row in range(count) for m in (em.E, em.V)]
            )
            runs.reach = np.tile([60.0, 30.0], count)
        (accelerated if rules.accelerate else _plain)(runs)
        loglik, steps = (values.reshape(count, -1) for values in runs.outcome())
        models = loglik.shape[1]
        fits.loglik[:, K - 1, :models], fits.steps[:, K - 1, :models] = loglik, steps
        _choose(fits, K, n, runs.mixtures)


def climb(
    x: FloatArray | Cells, mixtures: FloatArray, places: Ints, rules: StoppingRules
) -> tuple[FloatArray, Ints]:
    """EM on one sample from many mixtures, shape (J, 3, K_max), which are changed."""
    loglik, steps = np.full(len(places), np.nan), np.zeros(len(places), np.int32)
    cells = x if isinstance(x, em.Cells) else None
    values, n = (x.table[0], x.n) if isinstance(x, em.Cells) else (x, x.size)

    def on_sample(some: Indices, t: FloatArray) -> tuple[FloatArray, FloatArray]:
        return e_step(np.broadcast_to(values, (some.size, values.size)), t, cells)

    for K in np.unique(places[:, 0]).tolist():
        on = np.flatnonzero(places[:, 0] == K)
        every = np.ones(on.size, np.bool_)
        runs = Runs(on_sample, n, places[on, 1] == em.E, rules, mixtures[on, :, :K], every)
        accelerated(runs)
        mixtures[on, :, :K] = runs.mixtures
        loglik[on], steps[on] = runs.outcome()
    return loglik, steps


def start(rows: FloatArray, rules: StoppingRules, classes: Ints, models: int) -> Runs:
    """The M-step from classes, for E and V of each row in turn."""
    count, n = rows.shape
    sizes = np.diff(classes, axis=1)
    K = sizes.shape[1]
    z = np.zeros((count, n, K))
    for row in range(count):
        z[row, np.arange(n), np.repeat(np.arange(K), sizes[row])] = 1.0
    safe = np.maximum(sizes, 1)
    centre = np.where(sizes > 0, (z * rows[:, :, None]).sum(axis=1) / safe, 0.0)
    d = rows[:, :, None] - centre[:, None]
    sums = np.stack([sizes.astype(float), (z * d).sum(axis=1), (z * d * d).sum(axis=1)], axis=1)
    jobs, common = np.repeat(np.arange(count), models), np.tile(np.arange(models) == 0, count)
    origin = np.stack([np.full((count, K), 1.0 / K), centre, np.ones((count, K))], axis=1)
    t, sound = m_step(n, common, origin[jobs], sums[jobs], rules)
    return Runs(lambda on, at: e_step(rows[jobs[on]], at), n, common, rules, t, sound)


def _plain(runs: Runs) -> None:
    """Plain EM, as mclust stops it."""
    rules = runs.rules
    last = np.full(runs.finished.size, np.nan)
    while (on := np.flatnonzero(~runs.finished & (runs.steps < rules.max_steps))).size:
        t = runs.mixtures[on]
        loglik, following, sound = runs.step(on)
        runs.loglik[on] = loglik
        done = np.abs(loglik - last[on]) <= rules.gain_relative * (1 + np.abs(loglik)) + rules.gain_absolute
        moved = ((following[:, 0] - t[:, 0]) ** 2).sum(axis=1) > em.EMPTY
        go = np.where(done, rules.extra_step & sound & moved, sound)
        runs.mixtures[on[go]] = following[go]
        runs.finished[on] = done | ~sound
        runs.singular[on] = ~done & ~sound
        last[on] = loglik


def accelerated(runs: Runs) -> None:
    """EM with squared extrapolation; see ``em_accelerated`` in ``_em_steps.h``."""
    rules, count = runs.rules, runs.finished.size
    best = np.full(count, -np.inf)
    longest = np.ones(count)
    t0, t2 = runs.mixtures.copy(), runs.mixtures.copy()
    while (on := np.flatnonzero(~runs.finished & (runs.steps < rules.max_steps))).size:
        start, following, sound = runs.step(on)
        back = np.isfinite(best[on]) & (~sound | (start < best[on]))
        if back.any():
            which = on[back]
            runs.mixtures[which] = t2[which]
            longest[which] = np.maximum(1.0, longest[which] / 16)
            start[back], following[back], sound[back] = runs.step(which)
        _drop(runs, on[~sound])
        on, start, following = on[sound], start[sound], following[sound]
        t0[on] = runs.mixtures[on]
        runs.mixtures[on] = following
        loglik, following, sound = runs.step(on)
        _drop(runs, on[~sound])
        on, start, loglik, following = on[sound], start[sound], loglik[sound], following[sound]
        runs.loglik[on] = best[on] = loglik
        done = loglik - start <= rules.gain_relative * (1 + np.abs(loglik)) + rules.gain_absolute
        slope = np.sqrt(np.maximum(loglik - start, 0.0))
        given_up = (runs.steps[on] >= 6) & (runs.needed[on] - loglik > 8.0 + runs.reach[on] * slope)
        runs.steps[on[given_up & ~done]] *= -1  # they count as finished, and tell by their sign
        done |= given_up
        runs.finished[on[done]] = True
        on, following = on[~done], following[~done]
        t2[on] = following
        runs.mixtures[on], longest[on] = _extrapolate(
            t0[on], runs.mixtures[on], following, longest[on], rules.min_variance
        )


def _drop(runs: Runs, which: Indices) -> None:
    runs.finished[which] = runs.singular[which] = True


def _extrapolate(
    t0: FloatArray, t1: FloatArray, t2: FloatArray, longest: FloatArray, min_variance: float
) -> tuple[FloatArray, FloatArray]:
    r, q = t1 - t0, (t2 - t1) - (t1 - t0)
    rr, qq = (r**2).sum(axis=(1, 2)), (q**2).sum(axis=(1, 2))
    a = np.sqrt(np.divide(rr, qq, out=np.ones_like(rr), where=qq > 0))
    capped = a >= longest
    a = np.where(capped, longest, a)[:, None, None]
    far = t0 + 2.0 * a * r + a * a * q
    stay = (a[:, 0, 0] <= 1.0) | (far[:, 0] <= 0).any(axis=1) | (far[:, 2] < min_variance).any(axis=1)
    far[stay] = t2[stay]
    return far, np.where(capped, 4.0 * longest, longest)


def _choose(fits: Fits, K: int, n: int, mixtures: FloatArray) -> None:
    """Make K with E, then V, the best of each row whose BIC it raises."""
    models = len(mixtures) // len(fits.best)
    for row, best in enumerate(fits.best):
        for model in range(models):
            new = _bic(fits, row, K, model, n)
            if np.isnan(new) or (best[0] > 0 and not new > _bic(fits, row, best[0], best[1], n)):
                continue
            best[:] = K, model
            fits.parameters[row] = 0.0
            fits.parameters[row, :, :K] = mixtures[row * models + model]


def _bic(fits: Fits, row: int, K: int, model: int, n: int) -> float:
    return float(2.0 * fits.loglik[row, K - 1, model] - em.free_parameters(K, model) * np.log(n))


def _needed(fits: Fits, row: int, K: int, model: int, n: int) -> float:
    """The log-likelihood above which a model would win."""
    of, kind = fits.best[row].tolist()
    penalty = em.free_parameters(K, model) * float(np.log(n))
    return 0.5 * (_bic(fits, row, of, kind, n) + penalty) if of else -np.inf

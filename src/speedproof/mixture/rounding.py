"""Mixtures of rounded values: the resolution detected, a likelihood and a test that know of it.

The plain test rejects the rounding of tied values, not the mixture. Here a value v on a grid of step h stands for
the interval (v - h/2, v + h/2]: the likelihood is that of interval-censored data, fitted by EM with the truncated
normal's moments (G. J. McLachlan, P. N. Jones, Biometrics 44, 1988), and distances are taken at the ends of the
intervals, for the data and for bootstrap samples rounded to the same grid.
"""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from speedproof.arrays import ArrayLike, BoolArray, FloatArray, IntArray, NDArray
from speedproof.errors import UsageError
from speedproof.mixture import em
from speedproof.mixture.em_numpy import Runs, accelerated, search
from speedproof.mixture.fitting import LEAST, MixtureFit, fitted, ranked_candidates
from speedproof.mixture.goodness import GoodnessOfFit, draw_samples, ks_distance
from speedproof.mixture.model import MixtureModel
from speedproof.stats.special import ndtr

NARROWEST = 0.05
"""Smallest deviation, in steps: half a step is ten of them, and the likelihood has long stopped to change."""

RULES = em.StoppingRules(1e-5, 0.0, NARROWEST**2, 600, accelerate=True, extra_step=False, clamp=True)
_HALF_LOG_2PI = 0.5 * float(np.log(2.0 * np.pi))


def _cells(samples: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Of each row its different values, in steps about a common centre, and how often each occurs.

    Rows are padded with values that occur zero times.
    """
    tables = [np.unique(row, return_counts=True) for row in samples]
    width = max(v.size for v, _ in tables)
    values, counts = np.zeros((len(samples), width)), np.zeros((len(samples), width))
    for i, (v, c) in enumerate(tables):
        values[i, : v.size], counts[i, : v.size] = v, c
        values[i, v.size :] = v[-1]
    return values, counts


def _interval_moments(cells: FloatArray, t: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Log P[cell | k], E[z | cell, k], E[z^2 | cell, k] of the standardised component, (J, m, K)."""
    s = np.sqrt(t[:, 2, None])
    low = (cells[:, :, None] - 0.5 - t[:, 1, None]) / s
    high = low + 1.0 / s
    # Both ends above the mean: mirrored, so that the difference of the tails keeps its digits.
    mirrored = low > 0.0
    a, b = np.where(mirrored, -high, low), np.where(mirrored, -low, high)
    tails = ndtr(np.stack([a, b]))
    mass = tails[1] - tails[0]
    phi = np.exp(-0.5 * np.stack([a, b]) ** 2 - _HALF_LOG_2PI)
    safe = np.where(mass > 1e-290, mass, 1.0)
    first = (phi[0] - phi[1]) / safe
    second = 1.0 + (a * phi[0] - b * phi[1]) / safe
    # So far out that the tail underflows the whole mass sits at the end next to the mean.
    far = mass <= 1e-290
    near = np.minimum(np.abs(a), np.abs(b)) * np.where(b < 0, -1.0, 1.0)
    log_mass = np.where(far, -0.5 * near**2 - np.log(np.maximum(np.abs(near), 1.0)), np.log(safe))
    first, second = np.where(far, near, first), np.where(far, near**2, second)
    return log_mass, np.where(mirrored, -first, first), np.maximum(second, first**2)


def _e_step(values: FloatArray, counts: FloatArray, t: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Log-likelihoods of the rounded values, and the expected sums about the old means."""
    log_mass, first, second = _interval_moments(values, t)
    q = np.log(t[:, 0, None]) + log_mass
    top = q.max(axis=2, keepdims=True)
    e = np.exp(q - top)
    total = e.sum(axis=2, keepdims=True)
    loglik = (counts * (top + np.log(total))[:, :, 0]).sum(axis=1)
    r = counts[:, :, None] * e / total
    v = t[:, 2]
    sums = [r.sum(axis=1), (r * first).sum(axis=1) * np.sqrt(v), (r * second).sum(axis=1) * v]
    return loglik, np.stack(sums, axis=1)


def search_rounded(rows: FloatArray, K_max: int) -> em.Fits:
    """Every K and model for every row of rounded samples, in steps."""
    cells, fits = _cells(rows), em.Fits.empty(len(rows), K_max)

    def begin(classes: em.Ints, models: int) -> Runs:
        start, sound = _from_classes(rows, classes)
        jobs, common = np.repeat(np.arange(len(rows)), models), np.tile(np.arange(models) == 0, len(rows))
        return _runs(cells, jobs, common, start[jobs], sound[jobs])

    search(begin, rows.shape[1], em.quantile_starts(rows, K_max), RULES, fits)
    return fits


def refitted_rounded(samples: FloatArray, K_max: int, K_always: int) -> list[MixtureModel]:
    """Mixtures of rounded samples in steps, fast enough for a bootstrap.

    A rounded normal has nearly the moments of one whose variance is larger by 1/12 (Sheppard's correction), so
    the plain kernels choose K and model, with no component so narrow that a step were more than certain. The
    chosen one, its variance corrected, is where the EM of the intervals starts.
    """
    cells = _cells(samples)
    scale = max(float(samples.std()), 1.0)
    rules = replace(em.REPLICATE, min_variance=1.0 / (2.0 * np.pi * scale**2), clamp=True)
    rows = samples / scale
    mixtures = em.search(
        rows, em.quantile_starts(rows, K_max), K_max, rules, single=True, K_always=K_always, patience=2
    )
    models: list[MixtureModel | None] = [None] * len(samples)
    for K, model in {(int(k), int(m)) for k, m in mixtures.best}:
        on = np.flatnonzero((mixtures.best[:, 0] == K) & (mixtures.best[:, 1] == model))
        w, mu, v = np.moveaxis(mixtures.parameters[on, :, :K], 1, 0)
        v = np.maximum(v * scale**2 - 1.0 / 12.0, NARROWEST**2)
        start = np.stack([w / w.sum(axis=1, keepdims=True), mu * scale, v], axis=1)
        runs = _runs(cells, on, np.full(on.size, model == em.E), start, np.ones(on.size, np.bool_))
        accelerated(runs)
        for i, (w, mu, v) in zip(on.tolist(), runs.mixtures, strict=True):
            models[i] = MixtureModel(w, mu, np.sqrt(v))
    return [m for m in models if m is not None]


def _runs(
    cells: tuple[FloatArray, FloatArray],
    jobs: IntArray,
    common: BoolArray,
    start: FloatArray,
    sound: BoolArray,
) -> Runs:
    values, counts = cells

    def e_step(on: IntArray, t: FloatArray) -> tuple[FloatArray, FloatArray]:
        return _e_step(values[jobs[on]], counts[jobs[on]], t)

    return Runs(e_step, int(counts[0].sum()), common, RULES, start, sound)


def _from_classes(samples: FloatArray, classes: NDArray[np.int32]) -> tuple[FloatArray, BoolArray]:
    """Start from classes of the rounded values; 1/12 is the variance within a step."""
    t = np.ones((len(samples), 3, classes.shape[1] - 1))
    sound = np.asarray((np.diff(classes, axis=1) > 0).all(axis=1))
    for i in np.flatnonzero(sound):
        parts = np.split(samples[i], classes[i, 1:-1])
        t[i] = np.transpose([(p.size / samples.shape[1], p.mean(), p.var() + 1.0 / 12.0) for p in parts])
    return t, sound


def fit_rounded(values: ArrayLike, resolution: float, *, K_max: int = 9) -> MixtureFit:
    """Fit a mixture to values that were rounded to a grid."""
    x = np.sort(np.asarray(values, dtype=np.float64).ravel())
    steps, origin = _in_steps(x, resolution)
    K_max = min(K_max, int(np.unique(steps).size), max(x.size // LEAST, 1))
    fits = search_rounded(steps[np.newaxis], K_max)
    candidates = ranked_candidates(fits.loglik[0] - x.size * np.log(resolution), x.size)
    (K, model), made = fits.best[0], fits.steps[0]
    unit = origin, resolution
    return fitted(values, candidates, fits.parameters[0], made[K - 1, model] > 0, K_max, unit, resolution)


def _in_steps(x: FloatArray, resolution: float) -> tuple[FloatArray, float]:
    """Sorted values as whole numbers of steps from the middle one, and that one."""
    origin = float(x[x.size // 2])
    return np.round((x - origin) / resolution), origin


def goodness_of_rounded(values: ArrayLike, fit: MixtureFit, *, N: int = 200, seed: int = 0) -> GoodnessOfFit:
    """Test a mixture of rounded values: every bootstrap sample is rounded to the same grid."""
    if fit.resolution is None:
        raise UsageError("this fit knows no resolution; fit with fit_rounded")
    x = np.sort(np.asarray(values, dtype=np.float64))
    h = fit.resolution
    _, origin = _in_steps(x, h)
    model = MixtureModel(fit.model.weights, (fit.model.means - origin) / h, fit.model.sds / h)

    def distances(rows: FloatArray) -> FloatArray:
        refitted = refitted_rounded(rows, fit.K_max, fit.components + 1)
        return np.array([ks_distance(row, m, 1.0) for row, m in zip(rows, refitted, strict=True)])

    samples = np.round(draw_samples(model, fit.n, N, seed))
    return GoodnessOfFit.against(ks_distance(x, fit.model, h), samples, distances, 50, 1.0, fast=False)


def rounding_matters(values: ArrayLike) -> bool:
    """Whether the most frequent value makes a jump of a quarter of where the plain test rejects, 1 / sqrt(n)."""
    _, counts = np.unique(np.asarray(values, dtype=np.float64), return_counts=True)
    most = int(counts.max(initial=0))
    return most > 1 and most > 0.25 * np.sqrt(counts.sum())

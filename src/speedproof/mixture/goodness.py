"""Does the mixture fit? The report's KSfit: Kolmogorov-Smirnov distance and a parametric bootstrap.

Tables of the Kolmogorov-Smirnov test do not hold for a distribution fitted to the same data. The bootstrap
draws N samples from the fitted mixture, fits each anew **with** the choice of K and model, and the p-value is
the share of them whose distance exceeds that of the data.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from msgspec import Struct

from speedproof.arrays import ArrayLike, FloatArray
from speedproof.data.sample import Alike
from speedproof.errors import UsageError
from speedproof.mixture import em
from speedproof.mixture.fitting import Distance, MixtureFit
from speedproof.mixture.model import MixtureModel

BLOCK = 32
"""Replicates that share a random stream: starting one costs as much as drawing a small sample."""

MANY = 200
"""The fast mode stops adding components after two in a row that brought nothing, from so many values on
after one: there a later one hardly ever comes back."""


class GoodnessOfFit(Alike, Struct, frozen=True, eq=False):
    """Distance of a sample to its mixture and what the bootstrap says of it.

    Attributes
    ----------
    distance : float
        Supremum over all x of the distance between empirical and fitted distribution function.
    pvalue : float
        Share of the bootstrap distances that exceed it.
    replicates : ndarray, shape (N,)
        The bootstrap distances, ascending.
    undersampling : float
        c: bootstrap samples held floor(c n) values.
    size : int
        floor(c n).
    fast : bool
        Whether the replicates stopped adding components early.
    """

    distance: float
    pvalue: float
    replicates: FloatArray
    undersampling: float
    size: int
    fast: bool

    @classmethod
    def against(
        cls,
        distance: float,
        samples: FloatArray,
        distances: Callable[[FloatArray], FloatArray],
        chunk: int,
        undersampling: float,
        *,
        fast: bool,
    ) -> GoodnessOfFit:
        """A sample's distance against those of bootstrap samples, so many at once."""
        N, size = samples.shape
        simulated = np.sort(
            np.concatenate([distances(samples[at : at + chunk]) for at in range(0, N, chunk)])
        )
        # What differs by rounding alone (two values) counts as beyond, too.
        pvalue = float((simulated > distance * (1.0 - 1e-9)).mean())
        return cls(distance, pvalue, simulated, undersampling, size, fast)

    def __str__(self) -> str:
        n = self.replicates.size
        return f"p = {self.pvalue:.3g}, distance {self.distance:.3g} ({n} bootstrap samples of {self.size} values)"

    def __repr__(self) -> str:
        return f"<GoodnessOfFit: {self}>"

    def critical(self, alpha: float) -> float:
        """Distance from which the fit is rejected at risk alpha: the floor(N (1 - alpha))-th smallest."""
        # 200 * (1 - 0.05) is 190 in decimals and 189.99999999999997 in binary.
        rank = int(np.floor(self.replicates.size * (1.0 - alpha) + 1e-9))
        if rank < 1 or alpha * self.replicates.size < 1.0 - 1e-9:
            raise UsageError(
                f"alpha = {alpha:g}: expected a share of {self.replicates.size} bootstrap samples"
            )
        return float(self.replicates[rank - 1])

    def rejected(self, alpha: float) -> bool:
        """Whether the mixture is rejected at risk alpha: p <= alpha."""
        return self.pvalue <= alpha


def ks_distance(values: ArrayLike, model: MixtureModel, resolution: float = 0.0) -> float:
    """Supremum over all x of ``|F_n(x) - F(x)|``: both sides of each jump count.

    A value rounded to a grid stands for an interval, and the sides of its jump are the ends of that.
    """
    x, below, above = _jumps(values)
    high, low = (model.cdf(x + side * resolution) for side in (0.5, -0.5))
    return float(max(np.abs(above - high).max(), np.abs(below - low).max()))


def _jumps(values: ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Different values, and the empirical distribution function below and at each."""
    x, counts = np.unique(np.asarray(values, dtype=np.float64), return_counts=True)
    above = np.cumsum(counts) / counts.sum()
    return x, above - counts / counts.sum(), above


def undersampling(n: int) -> float:
    """Choose the factor c for a sample of size n: what brings the share of true mixtures rejected at 5 % near 5 %.

    Bootstrap samples of the same size reject true mixtures too often, and the more so the larger n is
    (``studies/mixture_calibration.py``).
    """
    if n < 10:
        return 1.0
    return 0.9 if n < 200 else 0.8


def draw_samples(
    model: MixtureModel, n: int, N: int, seed: int | np.random.SeedSequence, *, jobs: int = 1
) -> FloatArray:
    """Draw N sorted samples of size n; every 32 have a random stream of their own, a child of the seed."""
    root = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
    # A copy: spawning counts on the sequence, and the same seed must draw the same again.
    root = np.random.SeedSequence(root.entropy, spawn_key=root.spawn_key)
    edges = np.cumsum(model.weights)[:-1]
    samples = np.empty((N, n))
    children = root.spawn(-(-N // BLOCK))

    def draw(blocks: slice) -> None:
        for block in range(blocks.start, blocks.stop):
            rng = np.random.default_rng(children[block])
            k = np.searchsorted(edges, rng.random((BLOCK, n)), side="right")
            drawn = model.means[k] + model.sds[k] * rng.standard_normal((BLOCK, n))
            part = samples[block * BLOCK : (block + 1) * BLOCK]
            part[:] = drawn[: len(part)]
        samples[blocks.start * BLOCK : blocks.stop * BLOCK].sort(axis=1)

    em.over_blocks(draw, len(children), jobs)
    return samples


def goodness_of_fit(
    values: ArrayLike,
    fit: MixtureFit,
    *,
    N: int = 200,
    seed: int = 0,
    c: float | None = None,
    fast: bool = False,
    jobs: int = 1,
    distance: Distance = "ks",
) -> GoodnessOfFit:
    """Test a fitted mixture by a parametric bootstrap with the choice of K and model."""
    x = np.asarray(values, dtype=np.float64)
    n = x.size
    factor = undersampling(n) if c is None else c
    drawn = float(np.floor(n * factor + 1e-9))
    if N < 1:
        raise UsageError(f"a bootstrap needs at least one sample, not {N}")
    if not (factor <= 1 and drawn >= 2):
        raise UsageError(f"undersampling={factor:g} leaves {drawn:g} of {n} values; a mixture needs two")
    size = int(drawn)
    K_always = fit.components + 1 if fast else 0
    patience = 0 if not fast else 2 if size < MANY else 1
    # In standard units, so that the unit of the data changes nothing.
    location, scale = fit.model.mean, fit.model.sd
    model = MixtureModel(fit.model.weights, (fit.model.means - location) / scale, fit.model.sds / scale)
    samples = draw_samples(model, size, N, seed, jobs=jobs)

    def refitted_distances(rows: FloatArray) -> FloatArray:
        return distances_of(
            rows, _refit(rows, fit.K_max, K_always, patience, jobs), distance=distance, jobs=jobs
        )

    observed = distance_of(np.sort(x), fit.model, distance)
    # Enough replicates a call to keep the lanes full, few enough for the memory.
    chunk = int(np.clip(2_000_000 // size, 64, 1024)) // BLOCK * BLOCK
    return GoodnessOfFit.against(observed, samples, refitted_distances, chunk, factor, fast=fast)


def squared_distance(x: FloatArray, model: MixtureModel, distance: Distance) -> float:
    """Cramer and von Mises' or Anderson and Darling's statistic of sorted values, over their number."""
    n = x.size
    if distance == "cvm":
        middle = (np.arange(n) + 0.5) / n
        return float(1.0 / (12.0 * n * n) + ((model.cdf(x) - middle) ** 2).mean())
    tiny = np.finfo(float).tiny
    below, above = (np.log(np.maximum(tail, tiny)) for tail in (model.cdf(x), model.sf(x)))
    odd = 2.0 * np.arange(1, n + 1) - 1.0
    return float(-1.0 - (odd * (below + above[::-1])).sum() / n**2)


def distance_of(x: FloatArray, model: MixtureModel, distance: Distance) -> float:
    """Of sorted values, by any of the four; VARCORE takes one side of each jump, at the observations alone."""
    if distance == "observed":
        at, _, above = _jumps(x)
        return float(np.abs(above - model.cdf(at)).max())
    return ks_distance(x, model) if distance == "ks" else squared_distance(x, model, distance)


def distances_of(
    rows: FloatArray, fits: em.Fits, *, distance: Distance = "ks", jobs: int = 1, kernel: str | None = None
) -> FloatArray:
    """The distance of each sorted row to the mixture fitted to it; NaN without one."""
    if distance == "ks" and (compiled := em.compiled(kernel)):
        return em.ks_distances(compiled[0], rows, fits, jobs)
    distances = np.full(len(rows), np.nan)
    for i, (row, (w, mu, v), K) in enumerate(
        zip(rows, fits.parameters, fits.best[:, 0].tolist(), strict=True)
    ):
        if K:
            model = MixtureModel(w[:K] / w[:K].sum(), mu[:K], np.sqrt(v[:K]))
            distances[i] = distance_of(row, model, distance)
    return distances


def refitted(samples: FloatArray, K_max: int, *, jobs: int = 1) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Weights, means and deviations, shape (N, K_max), of mixtures fitted anew to rows; zeros behind a K."""
    centres = samples.mean(axis=1, keepdims=True)
    scales = samples.std(axis=1, ddof=1, keepdims=True)
    w, mu, v = np.moveaxis(_refit((samples - centres) / scales, K_max, 0, 0, jobs).parameters, 1, 0)
    # Single precision leaves weights that sum to one within 1e-5 only.
    return w / w.sum(axis=1, keepdims=True), centres + scales * mu, scales * np.sqrt(v)


def _refit(rows: FloatArray, K_max: int, K_always: int, patience: int, jobs: int) -> em.Fits:
    K_max = min(K_max, rows.shape[1])
    starts = em.quantile_starts(rows, K_max)
    return em.search(
        rows, starts, K_max, em.REPLICATE, single=True, K_always=K_always, patience=patience, jobs=jobs
    )

"""The EM kernels' face: quantile starts, the search over K and both models, distances to the fit.

The work is done by the compiled module ``_em`` where it was built, else by its NumPy twin. Both take rows:
sorted, standardised samples of one size, so that a bootstrap is one call.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from itertools import pairwise
from types import ModuleType

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import astuple

from speedproof.arrays import FloatArray
from speedproof.errors import UsageError

Ints = npt.NDArray[np.int32]

K_LIMIT = 32
"""The largest K that a search takes."""

E, V = 0, 1  # the models' places in every last axis


try:
    COMPILED: ModuleType | None = import_module("speedproof.mixture._em")
except ImportError:  # installed without a compiler
    COMPILED = None


class StoppingRules(Struct, frozen=True):
    """When an EM run stops; the compiled module takes it as a tuple, in this order.

    It has converged when a step (a cycle, when accelerated) gains at most ``gain_relative (1 + |loglik|) +
    gain_absolute``. Acceleration: R. Varadhan, C. Roland, "Simple and globally convergent methods for accelerating
    the convergence of any EM algorithm", Scandinavian Journal of Statistics 35, 2008.
    """

    gain_relative: float
    gain_absolute: float
    min_variance: float  # a variance at or below this makes the model not estimable
    max_steps: int  # give up after so many EM steps; the last parameters stand
    accelerate: bool  # squared extrapolation every second step
    extra_step: bool  # keep one more M-step when it still moves the weights, as mclust does
    clamp: bool = False  # a variance is raised to that limit instead
    give_up: int = 0  # in a search: end climbs far below what their model needs to win after so many steps


SINGULAR = float(np.finfo(float).eps)
EMPTY = SINGULAR**0.5
"""A component that holds no more than this of one observation is empty; mclust draws the line here."""

MCLUST = StoppingRules(1e-5, 0.0, SINGULAR, 100_000, accelerate=False, extra_step=True)
"""The rules of R's mclust, for data in their own unit."""
REPLICATE = StoppingRules(1e-5, 0.0, SINGULAR, 600, accelerate=True, extra_step=False, give_up=6)
"""For bootstrap replicates: mclust's tolerance, reached by accelerated steps, and no climb without hope."""


def free_parameters(K: int, model: int) -> int:
    """What a model estimates: weights (K - 1), means (K), variances (1 or K)."""
    return 2 if K == 1 else 2 * K if model == E else 3 * K - 1


class Fits(Struct, frozen=True, eq=False):
    """What a search found, for each row."""

    # Log-likelihoods of K = 1..K_max under E and V; NaN where a model is not estimable or was not tried
    loglik: FloatArray
    parameters: FloatArray  # weights, means and variances of the best model, zeros behind its K
    best: Ints  # K (0: nothing could be fitted) and model (0 = E, 1 = V) with the largest BIC
    steps: Ints  # EM steps made; negative where they ended before convergence

    @classmethod
    def empty(cls, rows: int, K_max: int) -> Fits:
        """Nothing fitted yet."""
        return cls(
            np.full((rows, K_max, 2), np.nan),
            np.zeros((rows, 3, K_max)),
            np.zeros((rows, 2), np.int32),
            np.zeros((rows, K_max, 2), np.int32),
        )

    def part(self, rows: slice) -> Fits:
        """Views of some rows."""
        return Fits(self.loglik[rows], self.parameters[rows], self.best[rows], self.steps[rows])


@cache
def kernel_names() -> tuple[str | None, ...]:
    """Name the compiled kernels, best first; None for one that this machine cannot run, empty without any."""
    return () if COMPILED is None else tuple(COMPILED.kernels())


def quantile_starts(rows: FloatArray, K_max: int, *, as_mclust: bool = False) -> Ints:
    """Classes cut at sample quantiles, the start of EM.

    k classes are cut at k + 1 quantiles (type 7) of equally spaced probabilities, each class closed on the left.
    Where ties leave too few distinct cuts, more probabilities are taken, and then the cuts that open the narrowest
    intervals are dropped. For k = 2..K_max, one after the other, the first observation of each class and n; one
    line stands for all rows when they have no ties. An empty class shows as two equal entries.
    """
    count, n = rows.shape
    if not as_mclust and n > 1 and bool((np.diff(rows, axis=1) > 0).all()):
        # Without ties quantile j of k is the observation number j (n - 1) / k, or lies right before the next.
        parts = [-(-np.arange(k + 1) * (n - 1) // k) for k in range(2, K_max + 1)]
        for part in parts:
            part[-1] = n
        return np.concatenate([*parts, []]).astype(np.int32)[np.newaxis]
    return np.array([_starts_with_ties(row, K_max, as_mclust) for row in rows], np.int32).reshape(count, -1)


def start_of(K: int) -> int:
    """Where the classes of K begin in a line of :func:`quantile_starts`."""
    return (K - 2) * (K + 3) // 2


def _starts_with_ties(x: FloatArray, K_max: int, as_mclust: bool) -> list[int]:
    starts: list[int] = []
    distinct = x[0] < x[-1]
    for k in range(2, K_max + 1):
        if not distinct:
            starts += [0] * k + [x.size]
            continue
        m = k
        while (cuts := _quantiles(x, m, as_mclust)).size < k + 1:
            m += 1
        narrowest = np.argsort(np.diff(cuts), kind="stable")[: cuts.size - k - 1]
        cuts = np.delete(cuts, narrowest)
        starts += [0, *np.searchsorted(x, cuts[1:-1], side="left").tolist(), x.size]
    return starts


def _quantiles(x: FloatArray, m: int, as_mclust: bool) -> FloatArray:
    """Distinct type-7 quantiles at 0, 1/m, ..., 1."""
    if as_mclust:
        place = np.minimum(np.arange(m + 1) * (1.0 / m), 1.0) * (x.size - 1)
        low = np.floor(1.0 + place).astype(np.int64) - 1
        share = (1.0 + place) - (low + 1)
    else:
        low, rest = np.divmod(np.arange(m + 1) * (x.size - 1), m)
        share = rest / m
    high = np.minimum(low + 1, x.size - 1)
    even = (share == 0) | (x[low] == x[high])
    return np.unique(np.where(even, x[low], (1 - share) * x[low] + share * x[high]))


def search(
    rows: FloatArray,
    starts: Ints,
    K_max: int,
    rules: StoppingRules,
    *,
    single: bool = False,
    K_always: int = 0,
    patience: int = 0,
    jobs: int = 1,
    kernel: str | None = None,
) -> Fits:
    """Fit every K and model to every row and choose by BIC."""
    if not 1 <= K_max <= K_LIMIT:
        raise UsageError(f"K must lie in 1..{K_LIMIT}, not {K_max}")
    chosen = compiled(kernel)
    fits = Fits.empty(len(rows), K_max)

    def do(block: slice) -> None:
        part, begins = fits.part(block), starts if len(starts) == 1 else starts[block]
        if chosen is None:
            from speedproof.mixture import em_numpy

            begin = partial(em_numpy.start, rows[block], rules)
            em_numpy.search(begin, rows.shape[1], begins, rules, part, K_always=K_always, patience=patience)
            return
        chunk = np.ascontiguousarray(rows[block], dtype=np.float64)
        chosen[0].search(
            chunk, np.ascontiguousarray(begins), part.loglik, part.parameters, part.best, part.steps,
            *chunk.shape, K_max, astuple(rules), single, K_always, patience, chosen[1],
        )  # fmt: skip

    over_blocks(do, len(rows), jobs)
    return fits


def ks_distances(module: ModuleType, rows: FloatArray, fits: Fits, jobs: int) -> FloatArray:
    """Supremum over x of each row's distance to its mixture, both sides of each jump; NaN without one."""
    distances = np.full(len(rows), np.nan)

    def do(block: slice) -> None:
        part, chunk = fits.part(block), np.ascontiguousarray(rows[block])
        module.ks(chunk, part.parameters, part.best, distances[block], *chunk.shape, fits.loglik.shape[1])

    over_blocks(do, len(rows), jobs)
    return distances


def compiled(kernel: str | None = None) -> tuple[ModuleType, int] | None:
    """The compiled module and the number of a kernel, the best by default; None for NumPy."""
    if kernel == "numpy" or (kernel is None and COMPILED is None):
        return None
    names = kernel_names()
    if COMPILED is None or (kernel is not None and kernel not in names):
        known = ", ".join(name for name in (*names, "numpy") if name)
        raise UsageError(f"there is no kernel {kernel!r} here; available: {known}")
    return COMPILED, names.index(kernel) if kernel else next(i for i, name in enumerate(names) if name)


def climb(
    x: FloatArray,
    mixtures: FloatArray,
    places: npt.ArrayLike,
    rules: StoppingRules,
    *,
    kernel: str | None = None,
) -> tuple[FloatArray, Ints]:
    """EM on one sample from many mixtures, which are changed.

    Log-likelihoods, NaN where a model is not estimable, and the steps made, negative where they ended before
    convergence.
    """
    kinds = np.ascontiguousarray(places, dtype=np.int32)
    chosen = compiled(kernel)
    if chosen is None:
        from speedproof.mixture import em_numpy

        return em_numpy.climb(x, mixtures, kinds, rules)
    loglik, steps = np.empty(len(kinds)), np.empty(len(kinds), np.int32)
    sizes = len(kinds), x.size, mixtures.shape[2]
    chosen[0].climb(x, mixtures, kinds, loglik, steps, *sizes, astuple(rules), chosen[1])
    return loglik, steps


def over_blocks(do: Callable[[slice], None], count: int, jobs: int) -> None:
    """Call ``do`` on slices of ``count`` rows, on ``jobs`` threads.

    It pays where ``do`` releases the interpreter lock, as the kernels and NumPy's random numbers do.
    """
    if jobs <= 1 or count < 2:
        do(slice(0, count))
        return
    from concurrent.futures import ThreadPoolExecutor  # 15 ms that a single thread need not pay

    # One block a thread: replicates of one sample need about equal time, and more blocks idle the lanes.
    bounds = np.linspace(0, count, min(count, jobs) + 1).astype(int)
    blocks = [slice(a, b) for a, b in pairwise(bounds.tolist())]
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(do, blocks))

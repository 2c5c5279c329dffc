"""The EM kernels' face: quantile starts, the search over K and both models, distances to the fit.

The work is done by the compiled module ``_em`` where it was built, else by its NumPy twin. Both take rows:
sorted, standardised samples of one size, so that a bootstrap is one call.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from itertools import pairwise
from types import ModuleType

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from speedproof.arrays import FloatArray
from speedproof.errors import UsageError

Ints = npt.NDArray[np.int32]

K_LIMIT = 32
"""The largest K that a search takes."""

E, V = 0, 1  # the models' places in every last axis


def _load_compiled() -> ModuleType | None:
    try:
        return import_module("speedproof.mixture._em")
    except ImportError:  # installed without a compiler
        return None


_COMPILED = _load_compiled()


class StoppingRules(Struct, frozen=True):
    """When an EM run stops.

    References
    ----------
    .. [1] Varadhan, R., Roland, C., "Simple and globally convergent methods for accelerating the convergence
       of any EM algorithm", Scandinavian Journal of Statistics 35, 2008.
    """

    # It has converged when a step (a cycle, when accelerated) gains at most ``gain_relative (1 + |loglik|) +
    # gain_absolute``
    gain_relative: float
    gain_absolute: float
    min_variance: float  # a variance at or below this makes the model not estimable
    max_steps: int  # give up after so many EM steps; the last parameters stand
    accelerate: bool  # squared extrapolation [1]_ every second step
    extra_step: bool  # keep one more M-step when it still moves the weights, as mclust does
    # When positive: afterwards every model whose BIC is within the margin of the best goes on until a step
    # gains at most ``finish_gain``
    finish_gain: float = 0.0
    finish_margin: float = 0.0
    clamp: bool = False  # it is raised to that limit instead
    give_up: bool = False  # in a search: end climbs that are far below what their model needs to win

    @property
    def packed(self) -> tuple[float, ...]:
        """As the compiled module takes them."""
        return (
            self.gain_relative, self.gain_absolute, self.min_variance, self.clamp, self.max_steps,
            self.accelerate, self.extra_step, self.finish_gain, self.finish_margin, self.give_up,
        )  # fmt: skip


SINGULAR = float(np.finfo(float).eps)
EMPTY = SINGULAR**0.5
"""A component that holds no more than this of one observation is empty; mclust draws the line here."""

MCLUST = StoppingRules(1e-5, 0.0, SINGULAR, 100_000, accelerate=False, extra_step=True)
"""The rules of R's mclust, for data in their own unit."""
REPLICATE = StoppingRules(1e-5, 0.0, SINGULAR, 600, accelerate=True, extra_step=False, give_up=True)
"""For bootstrap replicates: mclust's tolerance, reached by accelerated steps, and no climb without hope."""
CONVERGED = StoppingRules(
    1e-5, 0.0, SINGULAR, 6000, accelerate=True, extra_step=False, finish_gain=1e-11, finish_margin=10.0
)
"""For the fit of a sample: what may win is taken to convergence."""


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
    return () if _COMPILED is None else tuple(_COMPILED.kernels())


def quantile_starts(rows: FloatArray, K_max: int, *, as_mclust: bool = False) -> Ints:
    """Classes cut at sample quantiles, the start of EM.

    k classes are cut at k + 1 quantiles (type 7) of equally spaced probabilities, each class closed on the
    left. Where ties leave fewer than k + 1 distinct cuts, more probabilities are taken until there are
    enough, and then the cuts that open the narrowest intervals are dropped.

    For k = 2..K_max, one after the other, the first observation of each class and n. One line stands for all
    rows when they have no ties. An empty class shows as two equal entries.
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
    run = _runner(kernel)
    fits = Fits.empty(len(rows), K_max)
    request = Request(rules, single, K_always, patience)

    def do(block: slice) -> None:
        run(rows[block], starts if len(starts) == 1 else starts[block], request, fits.part(block))

    over_blocks(do, len(rows), jobs)
    return fits


def ks_distances(rows: FloatArray, fits: Fits, *, jobs: int = 1, kernel: str | None = None) -> FloatArray:
    """Distance of each row's empirical distribution to its fitted mixture.

    The supremum over all x of ``|F_n(x) - F(x)|``: both sides of each jump count.

    NaN where nothing could be fitted.
    """
    distances = np.full(len(rows), np.nan)
    if kernel == "numpy" or _COMPILED is None:
        from speedproof.mixture import em_numpy

        return em_numpy.ks_distances(rows, fits)
    measure = _COMPILED.ks
    K_max = fits.loglik.shape[1]

    def do(block: slice) -> None:
        part = fits.part(block)
        chunk = np.ascontiguousarray(rows[block])
        measure(chunk, part.parameters, part.best, distances[block], *chunk.shape, K_max)

    over_blocks(do, len(rows), jobs)
    return distances


class Request(Struct, frozen=True):
    """What is asked of the search, the same for every sample."""

    rules: StoppingRules
    single: bool
    K_always: int
    patience: int


def _runner(kernel: str | None) -> Callable[[FloatArray, Ints, Request, Fits], None]:
    if kernel == "numpy" or (kernel is None and _COMPILED is None):
        from speedproof.mixture import em_numpy

        return em_numpy.search
    module, chosen = _chosen(kernel)
    fill = module.search

    def run(rows: FloatArray, starts: Ints, request: Request, fits: Fits) -> None:
        chunk = np.ascontiguousarray(rows, dtype=np.float64)
        fill(
            chunk, np.ascontiguousarray(starts), fits.loglik, fits.parameters, fits.best, fits.steps,
            *chunk.shape, fits.loglik.shape[1], request.rules.packed, request.single, request.K_always,
            request.patience, chosen,
        )  # fmt: skip

    return run


def _chosen(kernel: str | None) -> tuple[ModuleType, int]:
    """The compiled module and the number of a kernel, the best by default."""
    names = kernel_names()
    if _COMPILED is None or (kernel is not None and kernel not in names):
        known = ", ".join(name for name in (*names, "numpy") if name)
        raise UsageError(f"there is no kernel {kernel!r} here; available: {known}")
    return _COMPILED, names.index(kernel) if kernel else next(i for i, name in enumerate(names) if name)


def compiled(kernel: str | None = None) -> tuple[ModuleType, int] | None:
    """The compiled module and the number of a kernel, the best by default; None where it was not built."""
    return None if _COMPILED is None and kernel is None else _chosen(kernel)


def climb(
    x: FloatArray,
    mixtures: FloatArray,
    places: npt.ArrayLike,
    rules: StoppingRules,
    *,
    kernel: str | None = None,
) -> tuple[FloatArray, Ints]:
    """EM on one sample from many mixtures.

    Log-likelihoods, NaN where a model is not estimable, and the steps made, negative where they ended before
    convergence.
    """
    kinds = np.ascontiguousarray(places, dtype=np.int32)
    if kernel == "numpy" or (kernel is None and _COMPILED is None):
        from speedproof.mixture import em_numpy

        return em_numpy.climb(x, mixtures, kinds, rules)
    module, chosen = _chosen(kernel)
    loglik, steps = np.empty(len(kinds)), np.empty(len(kinds), np.int32)
    module.climb(
        x, mixtures, kinds, loglik, steps, len(kinds), x.size, mixtures.shape[2], rules.packed, chosen
    )
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

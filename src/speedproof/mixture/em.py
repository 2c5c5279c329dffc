"""The EM kernels' face: starts, the search over K and both models, distances to the fit.

The work is done by the compiled module ``_em`` where it was built, else by its NumPy twin. Both take rows:
sorted, standardised samples of one size, so that a bootstrap is one call.

EM climbs to the nearest maximum, so the best of several starts is taken. Classes of the sorted values give starts:
cut at quantiles, where k-means cuts, and where the likelihood of classified values is largest (M. J. Symons,
Biometrics 37, 1981) - in one dimension the last two are found exactly, by dynamic programming (W. D. Fisher,
Journal of the American Statistical Association 53, 1958). A mixture of K components gives more: each component
split in two starts K + 1, each two merged start K - 1.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from itertools import pairwise
from types import ModuleType

import numpy as np
from msgspec import Struct
from msgspec.structs import astuple

from speedproof.arrays import ArrayLike, FloatArray, IntArray, NDArray, extension
from speedproof.errors import UsageError

Ints = NDArray[np.int32]

K_LIMIT = 32
"""The largest K that a search takes."""

E, V = 0, 1  # the models' places in every last axis


COMPILED = extension("mixture._em")


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
        """Arrays without any fit."""
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
        available = ", ".join(name for name in (*names, "numpy") if name)
        raise UsageError(f"there is no kernel {kernel!r} here; available: {available}")
    return COMPILED, names.index(kernel) if kernel else next(i for i, name in enumerate(names) if name)


def climb(
    x: FloatArray | Cells,
    mixtures: FloatArray,
    places: ArrayLike,
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
    points, size, n = (x.table, x.size, x.n) if isinstance(x, Cells) else (x, x.size, x.size)
    sizes = len(kinds), size, n, mixtures.shape[2]
    chosen[0].climb(points, mixtures, kinds, loglik, steps, *sizes, astuple(rules), chosen[1])
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


_POINTS = 48  # that partitions are looked for on
_SHARED = 5  # times that a share of cells is taken anew, without what wide gaps exceed it by


def condensed(x: FloatArray, count: int) -> FloatArray:
    """A sorted sample as so many quantiles, one in the middle of each equal part; itself when it is not larger."""
    if x.size <= count:
        return x
    place = (np.arange(count) + 0.5) / count * x.size - 0.5
    low = place.astype(np.int64)
    return np.asarray(x[low] + (place - low) * (x[np.minimum(low + 1, x.size - 1)] - x[low]))


class Cells(Struct, frozen=True, eq=False):
    """Neighbours of a large sorted sample that share their responsibilities.

    EM on them climbs the largest lower bound of the log-likelihood that there then is, exact where a cell is of
    one component or one value (J. J. Verbeek, J. R. J. Nunnink, N. Vlassis, "Accelerated EM-based clustering of
    large data sets", Data Mining and Knowledge Discovery 13, 2006).
    """

    table: FloatArray  # means, counts and mean squares about the mean, shape (3, size)

    @classmethod
    def of(cls, x: FloatArray, most: int) -> Cells:
        """About so many cells of different values: each spans an equal share of the roots of the gaps.

        So they follow the root of the density, and neither a tail nor a narrow peak goes short. A gap wider than a
        share ends its cell, whatever it spans; a value that is there four times as often as a cell has values on
        average is one of its own.
        """
        roots = np.sqrt(np.diff(x))
        share = np.inf
        for _ in range(_SHARED):
            share = float(np.minimum(roots, share).sum()) / most
        place = np.cumsum(np.minimum(roots, share)) / share
        ends = (roots >= share) | (np.diff(place.astype(np.int64), prepend=0) > 0)
        values = np.append(0, np.flatnonzero(roots > 0.0) + 1)  # the first of each
        often = np.diff(values, append=x.size) * most > 4 * x.size
        edges = np.append(values[often], np.append(values[1:], x.size)[often]) - 1
        ends[edges[(edges >= 0) & (edges < ends.size)]] = True
        first = np.append(0, np.flatnonzero(ends) + 1)
        counts = np.diff(first, append=x.size)
        means = np.add.reduceat(x, first) / counts
        within = np.add.reduceat(np.square(x - np.repeat(means, counts)), first) / counts
        return cls(np.array([means, counts, within]))

    @property
    def size(self) -> int:
        """The number of cells."""
        return int(self.table.shape[1])

    @property
    def n(self) -> int:
        """The number of values."""
        return int(self.table[1].sum())


def from_classes(x: FloatArray, lines: list[IntArray], width: int) -> tuple[FloatArray, list[int]]:
    """Mixtures of classes of the sorted values, shape (J, 3, width), and their K, from where classes begin."""
    centre = x[x.size // 2]
    sums = np.zeros((3, x.size + 1))
    sums[0] = np.arange(x.size + 1)
    np.cumsum(x - centre, out=sums[1, 1:])
    np.cumsum((x - centre) ** 2, out=sums[2, 1:])
    K = [len(line) - 1 for line in lines]
    flat = np.concatenate(lines)
    n, first, second = sums[:, flat[1:]] - sums[:, flat[:-1]]
    sound = n > 0  # not from the end of one line to the beginning of the next
    n, first, second = n[sound], first[sound], second[sound]
    mean = first / n
    out = np.zeros((len(lines), 3, width))
    inside = np.arange(width) < np.array(K)[:, None]
    out[:, 0][inside] = n / x.size
    out[:, 1][inside] = centre + mean
    out[:, 2][inside] = np.maximum(second / n - mean**2, 1e-6)
    return out, K


def quantile_classes(x: FloatArray, K_max: int) -> list[IntArray]:
    """Classes cut at quantiles for each K from 2 on, but those of which ties leave one empty."""
    K_max = min(K_max, 1 + int((x[1:] > x[:-1]).sum()))
    line = quantile_starts(x[np.newaxis], K_max)[0].astype(np.int64)
    lines = [line[start_of(K) : start_of(K) + K + 1] for K in range(2, K_max + 1)]
    return [c for c in lines if (c[1:] > c[:-1]).all()]


def partitions(x: FloatArray, K_max: int, K_min: int = 2) -> list[IntArray]:
    """For each K the classes of k-means and those of the largest classification likelihood.

    Classes of the second hold two points or more, so that none is infinitely likely. Found on at most 48 points.
    """
    points = condensed(x, _POINTS)
    m = points.size
    sums = np.zeros((2, m + 1))
    np.cumsum(points, out=sums[0, 1:])
    np.cumsum(points**2, out=sums[1, 1:])
    place = np.arange(m + 1.0)
    size = place - place[:, None]  # of points[i:j] at i, j
    safe = np.maximum(size, 1.0)
    first = sums[0] - sums[0][:, None]
    within = np.maximum(sums[1] - sums[1][:, None] - first * first / safe, 0.0)
    spacing = (points[(3 * m) // 4] - points[m // 4]) / max(m // 2, 1)
    spread = within / safe + max(0.1 * spacing, 1e-4) ** 2
    likelihood = 0.5 * safe * np.log(spread) - safe * np.log(safe)
    ends = []
    for costs in (np.where(size >= 1, within, np.inf), np.where(size >= 2, likelihood, np.inf)):
        best, backs = costs[0], []
        for K in range(2, K_max + 1):
            total = best[:, None] + costs
            back = total.argmin(axis=0)
            best = total[back, np.arange(m + 1)]
            backs.append(back.tolist())
            if K_min > K:
                continue
            at, cuts = m, [m]
            for previous in reversed(backs):
                at = previous[at]
                cuts.append(at)
            cuts.append(0)
            if np.isfinite(best[m]):
                ends.append(-(-np.array(cuts[::-1]) * x.size // m))
    return [line for line in ends if (line[1:] > line[:-1]).all()]


def splits(mixture: FloatArray, K: int) -> FloatArray:
    """Mixtures with one more component: each of K in its turn split in two, and one wide one added."""
    out = np.repeat(mixture[np.newaxis], K + 1, axis=0)
    w, mu, v = mixture[:, :K]
    k = np.arange(K)
    half, sd = 0.5 * w, 0.8 * np.sqrt(v)
    out[k, 0, k] = out[k, 0, K] = half
    out[k, 1, k], out[k, 1, K] = mu - sd, mu + sd
    out[k, 2, k] = out[k, 2, K] = 0.36 * v
    mean = w @ mu
    out[K, 0] *= 0.85
    out[K, :, K] = 0.15, mean, 4.0 * (w @ (v + (mu - mean) ** 2))
    return out


def insertions(x: FloatArray, mixture: FloatArray, K: int) -> FloatArray:
    """Mixtures with one more component: where values crowd beyond what K explain, and at the ends."""
    w, mu, v = mixture[:, :K]
    n = x.size
    density = np.exp(-0.5 * (x[:, None] - mu) ** 2 / v) @ (w / np.sqrt(v)) + 1e-300
    windows = [(0, 2), (0, 3), (n - 2, 2), (n - 3, 3)]
    for size in sorted({max(4, round(share * n)) for share in (0.0, 0.06, 0.12, 0.25)} if n > 4 else ()):
        width = x[size - 1 :] - x[: n - size + 1]
        explained = density[size // 2 : size // 2 + width.size]
        windows.append((int((np.maximum(width, 1e-6) * explained).argmin()), size))
    windows = [(at, size) for at, size in windows if size < n and at >= 0]
    out = np.repeat(mixture[np.newaxis], len(windows), axis=0)
    for one, (at, size) in zip(out, windows, strict=True):
        one[0] *= 1.0 - size / n
        low, high = x[at], x[at + size - 1]
        one[:, K] = size / n, 0.5 * (low + high), max(0.3 * (high - low), 1e-4) ** 2
    return out


def crowds(cells: Cells, mixture: FloatArray, K: int) -> FloatArray:
    """Mixtures with one more component: of cells at the ends, and of those that hold most beyond what K explain.

    By the likelihood ratio of the scan statistic (M. Kulldorff, Communications in Statistics 26, 1997).
    """
    w, mu, v = mixture[:, :K]
    (x, counts, within), n = cells.table, cells.size
    density = np.exp(-0.5 * (x[:, None] - mu) ** 2 / v) @ (w / np.sqrt(2.0 * np.pi * v))
    explained = cells.n * density * 0.5 * (np.append(x[1:], x[-1]) - np.append(x[0], x[:-1]))
    windows = [(at, size) for size in (1, 3) for at in (0, n - size)]
    sums = np.cumsum(np.pad([counts, explained], ((0, 0), (1, 0))), axis=1)
    for size in (2, 8, 32, 128):
        if size >= n:
            break
        held, model = sums[:, size:] - sums[:, :-size]
        more = np.where(held > model, held * np.log(held / np.maximum(model, 1e-9)) - held + model, 0.0)
        if more.max() > 0.0:
            windows.append((int(more.argmax()), size))
    windows = [(at, size) for at, size in windows if size < n]
    out = np.repeat(mixture[np.newaxis], len(windows), axis=0)
    for one, (at, size) in zip(out, windows, strict=True):
        part = slice(at, at + size)
        count = counts[part].sum()
        mean = x[part] @ counts[part] / count
        variance = (within[part] + (x[part] - mean) ** 2) @ counts[part] / count
        one[0] *= 1.0 - count / cells.n
        one[:, K] = count / cells.n, mean, max(variance, 1e-8)
    return out


def merges(mixture: FloatArray, K: int) -> FloatArray:
    """Mixtures with one component fewer: each pair replaced by one with the same moments."""
    w, mu, v = mixture[:, :K]
    first, second = np.nonzero(np.arange(K) > np.arange(K)[:, None])
    weight = w[first] + w[second]
    mean = (w[first] * mu[first] + w[second] * mu[second]) / weight
    variance = w[first] * (v[first] + (mu[first] - mean) ** 2) + w[second] * (
        v[second] + (mu[second] - mean) ** 2
    )
    rest = np.arange(K)[None, :].repeat(first.size, axis=0)
    kept = (rest != first[:, None]) & (rest != second[:, None])
    out = np.zeros((first.size, *mixture.shape))
    out[:, :, : K - 2] = mixture[:, rest[kept].reshape(first.size, K - 2)].transpose(1, 0, 2)
    out[:, :, K - 2] = np.stack([weight, mean, variance / weight], axis=1)
    return out

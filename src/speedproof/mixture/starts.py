"""Where EM starts: EM climbs to the nearest maximum, so the best of several starts is taken.

Classes of the sorted values give starts: cut at quantiles, where k-means cuts, and where the likelihood of
classified values is largest (M. J. Symons, Biometrics 37, 1981) - in one dimension the last two are found exactly,
by dynamic programming (W. D. Fisher, Journal of the American Statistical Association 53, 1958). A mixture of K
components gives more: each component split in two starts K + 1, each two merged start K - 1.
"""

from __future__ import annotations

import numpy as np

from speedproof.arrays import FloatArray, IntArray
from speedproof.mixture import em

_POINTS = 48  # that partitions are looked for on


def condensed(x: FloatArray, count: int) -> FloatArray:
    """A sorted sample as so many quantiles, one in the middle of each equal part; itself when it is not larger."""
    if x.size <= count:
        return x
    place = (np.arange(count) + 0.5) / count * x.size - 0.5
    low = place.astype(np.int64)
    return np.asarray(x[low] + (place - low) * (x[np.minimum(low + 1, x.size - 1)] - x[low]))


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
    line = em.quantile_starts(x[np.newaxis], K_max)[0].astype(np.int64)
    lines = [line[em.start_of(K) : em.start_of(K) + K + 1] for K in range(2, K_max + 1)]
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


def merges(mixture: FloatArray, K: int) -> FloatArray:
    """Mixtures with one component fewer: each two of K made one of their moments."""
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

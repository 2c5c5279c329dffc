"""A level, a straight rise, another level: where the rise begins and ends, and how high it is, by least squares.

Outliers are drawn to three deviations from their neighbours. The bounds are those of the profile
likelihood, over all places where the rise may begin and end; the correlation of neighbouring residuals widens them
as that of a first-order autoregression.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.lib.stride_tricks import sliding_window_view

from speedproof.arrays import FloatArray
from speedproof.stats.scaling import NORMAL_DEVIATION, middle
from speedproof.stats.special import t_ppf

_BESIDE = 3  # values on each side, of whose median outliers are told
_PLACES = 40  # where it may begin, and end, of longer series


class Rise(Struct, frozen=True):
    """A rise from one value to another, the levels there, and bounds of their difference."""

    begin: int
    end: int
    before: float
    after: float
    low: float
    high: float

    @property
    def levels(self) -> tuple[float, float]:
        """Both."""
        return self.before, self.after


def fitted_rise(x: FloatArray, alpha: float) -> Rise:
    """The rise that explains five values or more best, its bounds each at risk alpha.

    Examples
    --------
    >>> rise = fitted_rise(np.array([1.0, 1.0, 1.0, 2.0, 3.0, 4.0, 4.0]), 0.05)
    >>> rise.begin, rise.end, round(rise.before, 6), round(rise.after, 6)
    (2, 5, 1.0, 4.0)
    """
    n = x.size
    places = np.linspace(0, n, min(n, _PLACES) + 1).astype(np.int64)
    begins, ends = (each.ravel() for each in np.meshgrid(places, places))
    long = ends - begins >= 2
    begins, ends = begins[long], ends[long]
    shapes = np.clip((np.arange(n) - begins[:, None]) / (ends - begins)[:, None], 0.0, 1.0)
    shapes /= shapes[:, -1:]
    shapes -= shapes.mean(axis=1, keepdims=True)
    power = np.square(shapes).sum(axis=1)

    # Medians of neighbours leave a rise as it is.
    calm = middle(sliding_window_view(np.pad(x, _BESIDE, mode="edge"), 2 * _BESIDE + 1))
    far = 3.0 * NORMAL_DEVIATION * float(middle(np.abs(x - calm)))
    drawn = calm + np.clip(x - calm, -far, far)
    heights = shapes @ (drawn - drawn.mean()) / power
    best = int((heights * heights * power).argmax())
    fitted = drawn.mean() + heights[best] * shapes[best]
    rest = drawn - fitted
    left = float(rest @ rest)
    rho = max(float(rest[1:] @ rest[:-1]) / left, 0.0) if left > 0.0 else 0.0
    limit = left / (n - 4) * float(t_ppf(1.0 - alpha, n - 4)) ** 2 * (1.0 + rho) / (1.0 - rho)
    spare = limit - (heights[best] ** 2 * power[best] - heights * heights * power)
    possible = spare >= 0.0
    half = np.sqrt(spare[possible] / power[possible])
    begin, end = int(begins[best]), min(int(ends[best]), n - 1)
    low, high = float((heights[possible] - half).min()), float((heights[possible] + half).max())
    return Rise(begin, end, float(fitted[begin]), float(fitted[end]), low, high)

"""A straight line through estimates that each have an error of their own, and scatter about it besides.

y_i = a + b x_i + u_i + e_i, with Var e_i known and Var u_i = t^2 common: regression with random effects. t^2 is
that of R. C. Paule and J. Mandel (Journal of Research of the National Bureau of Standards 87, 1982), at which the
weighted squares about the line are k - 2, or 0 where they never exceed it. Intervals take Student's t with k - 2
degrees of freedom (G. Knapp, J. Hartung, Statistics in Medicine 22, 2003; their factor is 1 here, or would make
errors smaller than they are known to be where t^2 is 0).
"""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from speedproof.arrays import ArrayLike
from speedproof.stats.special import t_quantile

LEAST_POINTS = 3
_EXACT = 1e-24  # a variance of logarithms below which nothing is measured
_HALVINGS = 50


class Trend(Struct, frozen=True):
    """A line with the errors of its height at ``centre``, where the two are uncorrelated, and of its slope."""

    centre: float
    height: float
    slope: float
    height_error: float
    slope_error: float
    between: float  # standard deviation of the points about the line, beyond their own errors
    df: int

    def slope_interval(self, alpha: float) -> tuple[float, float]:
        """Two-sided."""
        half = t_quantile(1.0 - alpha / 2.0, self.df) * self.slope_error
        return self.slope - half, self.slope + half

    def crossing(self, alpha: float) -> tuple[float, float, float] | None:
        """Where the line is zero, with its two-sided interval (Fieller 1954); None where no slope is shown."""
        low, high = self.slope_interval(alpha)
        if low <= 0.0 <= high:
            return None
        t = t_quantile(1.0 - alpha / 2.0, self.df)
        a = self.slope**2 - (t * self.slope_error) ** 2
        b = self.height * self.slope
        c = self.height**2 - (t * self.height_error) ** 2
        root = math.sqrt(max(b * b - a * c, 0.0))
        ends = sorted(((-b - root) / a, (-b + root) / a))
        return self.centre - self.height / self.slope, self.centre + ends[0], self.centre + ends[1]


def trend(x: ArrayLike, y: ArrayLike, errors: ArrayLike) -> Trend:
    """The line through three points or more that are not all at one place; unknown errors (NaN) count as equal.

    Examples
    --------
    >>> line = trend([0, 1, 2, 3], [0.0, 0.9, 2.1, 3.0], [0.1] * 4)
    >>> round(line.slope, 2), round(line.slope_error, 4), line.between
    (1.02, 0.0447, 0.0)
    """
    x, y, errors = (np.asarray(given, dtype=np.float64) for given in (x, y, errors))
    if x.size < LEAST_POINTS or np.ptp(x) == 0.0:
        raise ValueError("a trend takes three points, not all at one place")
    noise = np.zeros(x.size) if np.isnan(errors).any() else errors**2
    noise = np.maximum(noise, _EXACT)
    df = x.size - 2

    def line(between: float) -> tuple[Trend, float]:
        weights = 1.0 / (noise + between)
        total = float(weights.sum())
        centre, height = float(weights @ x / total), float(weights @ y / total)
        apart = x - centre
        spread = float(weights @ apart**2)
        slope = float(weights @ (apart * y)) / spread
        squares = float(weights @ (y - height - slope * apart) ** 2)
        fitted = Trend(centre, height, slope, total**-0.5, spread**-0.5, math.sqrt(between), df)
        return fitted, squares

    low, (found, squares) = 0.0, line(0.0)
    if squares <= df:
        return found
    # At the variance about the line without weights the weighted squares are no more than their number.
    residuals = y - np.polyval(np.polyfit(x, y, 1), x)
    high = float(residuals @ residuals) / df
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if line(middle)[1] > df else (low, middle)
    return line(high)[0]

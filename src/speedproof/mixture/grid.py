"""The grid that rounded values lie on."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["detect_resolution"]

FINEST = 1e6
"""A grid of more steps than this over the range is no rounding to reckon with."""


def detect_resolution(values: npt.ArrayLike) -> float | None:
    """Find the step of the grid that tied values lie on.

    Parameters
    ----------
    values : array_like, shape (n,)
        A sample.

    Returns
    -------
    float or None
        The largest h such that all differences are multiples of h within rounding noise; None when no two
        values are equal (then nothing shows a grid), when all are, or when there is no such h above a
        millionth of the range.

    Examples
    --------
    >>> detect_resolution([0.31, 0.33, 0.33, 0.39])
    0.02
    >>> detect_resolution([0.31, 0.33, 0.34]) is None
    True
    """
    x = np.asarray(values, dtype=np.float64)
    distinct = np.unique(x)
    # Decimals are not exact in binary, and neither are their differences.
    noise = 64.0 * float(np.spacing(np.abs(x).max(initial=0.0)))
    steps = np.diff(distinct)
    steps = steps[steps > noise]
    if distinct.size == x.size or steps.size == 0:
        return None
    h = float(steps.min())
    # Euclid's algorithm on real numbers: what is left within the noise is zero.
    rest = np.unique(steps)
    while h > 100.0 * noise:
        rest = np.abs(rest - h * np.round(rest / h))
        rest = rest[rest > noise]
        if rest.size == 0:
            # All differences from the first value are multiples of h, so the span gives h its last digits.
            span = float(distinct[-1] - distinct[0])
            h = _shortest(span / round(span / h), noise)
            offsets = (distinct - distinct[0]) / h
            on_grid = span / h <= FINEST and np.abs(offsets - np.round(offsets)).max() <= 0.01
            return h if on_grid else None
        rest = np.append(rest, h)
        h = float(rest.min())
    return None


def _shortest(h: float, noise: float) -> float:
    """The shortest decimal within the noise."""
    for digits in range(1, 17):
        rounded = float(f"{h:.{digits}g}")
        if abs(rounded - h) <= noise:
            return rounded
    return h

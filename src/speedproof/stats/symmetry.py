"""Is a sample symmetric? What the signed-rank test and its sequential twin assume of the differences.

With a symmetric distribution the mean and the median are the same number; they are compared, in units of the mean
absolute deviation from the median (W. Miao, Y. R. Gel, J. L. Gastwirth, "A new test of symmetry about an unknown
median", 2006). What chance makes of it is found by giving the
deviations from the centre random signs, which is what symmetry means: no shape is assumed.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from speedproof.arrays import FloatArray
from speedproof.stats.location import hodges_lehmann
from speedproof.stats.scaling import middle

_RESAMPLES = 999
# Values of resamples that are in memory at a time.
_CHUNK = 1 << 22


class SymmetryTest(Struct, frozen=True):
    """Whether a sample may come from a symmetric distribution."""

    # (mean - median) / mean absolute deviation from the median; positive when the long tail is above. 0 for
    # constant values.
    statistic: float
    pvalue: float  # two-sided, against symmetry about any centre


def symmetry(values: npt.ArrayLike, *, seed: int = 0) -> SymmetryTest:
    """Test symmetry about an unknown centre."""
    x = np.sort(np.asarray(values, dtype=np.float64))
    observed = float(_statistic(x))
    deviations = np.abs(x - hodges_lehmann(x))
    rng = np.random.default_rng(seed)
    rows = max(_CHUNK // x.size, 1)
    as_large, left = 0, _RESAMPLES
    while left:
        signs: FloatArray = rng.integers(0, 2, (min(rows, left), x.size)).astype(np.float64) * 2.0 - 1.0
        # What rounding makes of equal values is as large, too.
        as_large += int((np.abs(_statistic(signs * deviations)) >= abs(observed) - 1e-9).sum())
        left -= signs.shape[0]
    return SymmetryTest(observed, (1 + as_large) / (1 + _RESAMPLES))


def _statistic(x: FloatArray) -> FloatArray:
    median = middle(x)[..., None]
    spread = np.abs(x - median).mean(axis=-1)
    gap = x.mean(axis=-1) - median[..., 0]
    return np.asarray(np.divide(gap, spread, out=np.zeros_like(gap), where=spread > 0), dtype=np.float64)

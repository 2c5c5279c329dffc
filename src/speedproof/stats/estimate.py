"""An estimate with its interval, and a test's outcome: what every layer above hands on."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

if TYPE_CHECKING:  # NumPy, which a command's help does without
    from speedproof.arrays import FloatArray


class Estimate(Struct, frozen=True):
    """A value with the interval that holds it at the stated confidence.

    Attributes
    ----------
    value : float
        The point estimate.
    low, high : float
        The bounds; an end that nothing is known about is the end of the scale (0, infinity, ...).
    confidence : float
        Of what is stated with it: of each bound by itself where a docstring says "one-sided", of the
        interval as a whole otherwise.

    Examples
    --------
    >>> Estimate(1.25, 1.1, 1.42, 0.95).low
    1.1
    """

    value: float
    low: float
    high: float
    confidence: float

    def __str__(self) -> str:
        return "{:.4g} [{:.4g}, {:.4g}]".format(self.value, *self.ends)

    @property
    def ends(self) -> tuple[float, float]:
        """The bounds in order: at a risk above one half each of two one-sided ones lies beyond the value."""
        return (self.high, self.low) if self.low > self.high else (self.low, self.high)

    @property
    def without_bounds(self) -> Estimate:
        """The value alone: of medians of samples that differ by more than a shift.

        The rank-sum test then says which side tends to be larger, and its inversion is no bound of their ratio.
        """
        return replace(self, low=math.nan, high=math.nan)


def alpha_at(confidence: float) -> float:
    """The risk 1 - confidence, in decimals: 1 - 0.95 is not 0.05 in binary."""
    return float(1 - Decimal(repr(confidence)))


class TestResult(Struct, frozen=True):
    """A test's statistic and p-value."""

    __test__ = False  # not a test class, whatever its name makes pytest think

    statistic: FloatArray  # shape of the leading axes
    pvalue: FloatArray  # the same shape; NaN where the test is not defined

    @classmethod
    def undefined(cls, *shape: int) -> TestResult:
        """Tests that there are too few values for."""
        import numpy as np

        return cls(*np.full((2, *shape), np.nan))


class OneSided(Struct, frozen=True):
    """The two one-sided p-values of X against Y, or of their ratio against gamma."""

    # Against H1: X is larger, or the ratio exceeds gamma; NaN where test or ratio is undefined. Shape of the
    # leading axes.
    pvalue: FloatArray
    pvalue_less: FloatArray  # against H1: X is smaller; its own tail, not 1 - `pvalue`

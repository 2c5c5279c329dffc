"""The gamma distribution against SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, special, stats

from speedproof.stats.gamma import digamma, gamma_cdf, gamma_shape


def test_digamma() -> None:
    """Of small and large numbers."""
    x = np.geomspace(1e-3, 1e6, 50)
    assert digamma(x) == pytest.approx(special.digamma(x), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("shape", [0.1, 1.0, 50.0, 199.0, 200.0, 1e4, 1e7])
def test_distribution_function(shape: float) -> None:
    """Exact by the series; beyond shapes of 200 to 1e-6."""
    x = stats.gamma.ppf(np.linspace(1e-4, 1 - 1e-4, 200), shape)
    assert gamma_cdf(x, shape) == pytest.approx(
        special.gammainc(shape, x), abs=1e-12 if shape < 200 else 1e-6
    )


@pytest.mark.parametrize("gap", [1e-7, 0.01, 0.5, 3.0])
def test_shape(gap: float) -> None:
    """The root of the likelihood's derivative."""
    root = optimize.brentq(lambda k: np.log(k) - special.digamma(k) - gap, 1e-3, 1e9, xtol=1e-14)
    assert float(gamma_shape(gap)) == pytest.approx(root, rel=1e-7)

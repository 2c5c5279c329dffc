"""What an A/A measurement tells, against noise that was put in."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from speedproof.errors import DataError
from speedproof.protocols.planning import calibrate


def test_noise_that_was_put_in_is_found() -> None:
    rng = np.random.default_rng(4)
    times = 0.1 * np.exp(0.02 * rng.standard_normal((2000, 2)))
    c = calibrate([(a, b) for a, b in times.tolist()], times.ravel().tolist(), 2000 * 0.21, (21.0, 210.0))
    assert c.median == pytest.approx(0.1, rel=0.01)
    assert c.noise == pytest.approx(0.02, rel=0.1)
    assert c.block_noise == pytest.approx(0.02 * math.sqrt(2), rel=0.1)
    assert abs(c.autocorrelation) < 0.06
    assert c.block_seconds == pytest.approx(0.21)
    (_, few, large), (_, many, small) = c.provable
    assert (few, many) == pytest.approx((100, 1000))
    # Evidence grows with the square of the effect: ten times the blocks, a third of the speedup.
    assert (large - 1) / (small - 1) == pytest.approx(math.sqrt(10), rel=0.25)


def test_the_correlation_is_the_tested_one() -> None:
    """One outlier hides the dependence of the times from Pearson's correlation, not from that of the ranks,
    which is Spearman's of neighbours up to the two ends."""
    rng = np.random.default_rng(4)
    times = 1.0 + 0.001 * np.cumsum(rng.standard_normal(400))
    times[200] = 50.0
    c = calibrate([(a, b) for a, b in times.reshape(-1, 2).tolist()], times.tolist(), 42.0)
    assert c.autocorrelation == pytest.approx(stats.spearmanr(times[:-1], times[1:]).statistic, abs=0.02)
    assert c.autocorrelation > 0.8
    ranks = stats.rankdata(times)
    centered = ranks - ranks.mean()
    ratio = float(np.sum(np.diff(ranks) ** 2) / np.sum(centered**2))
    assert c.autocorrelation == pytest.approx(1 - ratio / 2, rel=1e-12)


def test_constant_times_and_too_few() -> None:
    c = calibrate([(1.0, 1.0)] * 10, [1.0] * 20, 20.0)
    assert (c.noise, c.block_noise) == (0.0, 0.0)
    assert math.isnan(c.autocorrelation)
    with pytest.raises(DataError, match="3 blocks are too few"):
        calibrate([(1.0, 1.0)] * 3, [1.0] * 6, 1.0)

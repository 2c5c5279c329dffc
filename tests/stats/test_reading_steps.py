"""Values read in steps: p-values and bounds are of the worst values behind them; and searched as if sorted."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from speedproof.stats import fixed_pairs, sequential
from speedproof.stats.paired_ratio import paired_ratio, paired_ratio_test
from speedproof.stats.superiority import typical_ratio, typical_ratio_test

FloatArray = npt.NDArray[np.float64]
SIZES = [(2, 7), (4, 4), (6, 9), (7, 5), (25, 20)]
GAMMAS = (1.001, 1.1, 1.3)


def drawn(n: int, m: int, rows: int, step: float, low: float = 0.3) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng([n, m])
    x = low + 1.3 * rng.lognormal(0.0, 0.3, (rows, n))
    y = low + rng.lognormal(0.0, 0.2, (rows, m))
    return (np.round(x / step) * step, np.round(y / step) * step) if step else (x, y)


def worst(x: FloatArray, y: FloatArray, steps: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The least that X and the most that Y may have been."""
    return np.maximum(x - steps[:, :1] / 2, 0.0), y + steps[:, 1:] / 2


@pytest.mark.slow
@pytest.mark.parametrize("step", [0.0, 0.01, 0.25, 1.0])
@pytest.mark.parametrize(("n", "m"), SIZES)
def test_pvalues_are_of_the_worst_values(n: int, m: int, step: float) -> None:
    """Beyond 1 for "more", below it for "less"; no less than what the verdicts about either say."""
    x, y = drawn(n, m, 4, min(step, 0.05))
    steps = np.tile([step, step / 2], (4, 1))
    low, high = worst(x, y, steps), worst(y, x, steps[:, ::-1])[::-1]
    at_one, of_low, of_high = (typical_ratio_test(*pair, 1.0) for pair in ((x, y), low, high))
    for gamma in GAMMAS:
        above = typical_ratio_test(x, y, gamma, steps=steps).above
        expected = np.maximum(typical_ratio_test(*low, gamma).above, at_one.above)
        told = ~np.isnan(expected)  # half of a side at zero means no ratio
        assert np.maximum(above, of_low.above)[told] == pytest.approx(expected[told], rel=1e-9)
        below = typical_ratio_test(x, y, 1 / gamma, steps=steps).below
        expected = np.maximum(typical_ratio_test(*high, 1 / gamma).below, at_one.below)
        told = ~np.isnan(expected)
        assert np.maximum(below, of_high.below)[told] == pytest.approx(expected[told], rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("step", [0.0, 0.01, 0.2])
@pytest.mark.parametrize(("n", "m"), SIZES)
@pytest.mark.parametrize("alpha", [0.05, 0.3])
def test_bounds_are_of_the_worst_values(n: int, m: int, step: float, alpha: float) -> None:
    x, y = drawn(n, m, 4, min(step, 0.05))
    steps = np.tile([step, step / 2], (4, 1))
    found = typical_ratio(x, y, alpha, steps=steps)
    low = typical_ratio(*worst(x, y, steps), alpha).low
    high = typical_ratio(*worst(y, x, steps[:, ::-1])[::-1], alpha).high
    proven = found.pvalue <= alpha
    assert np.where(proven, np.maximum(low, 1.0), low) == pytest.approx(found.low, rel=1e-9)
    proven = found.pvalue_less <= alpha
    assert np.where(proven, np.minimum(high, 1.0), high) == pytest.approx(found.high, rel=1e-9)


@pytest.mark.parametrize("n", [4, 5, 9, 20])
def test_pairs_of_sessions_are_of_the_worst_values(n: int) -> None:
    x, y = drawn(n, n, 6, 0.05)
    steps = np.tile([0.1, 0.05], (6, 1))
    none = np.zeros((6, 2))
    low, high = worst(x, y, steps), worst(y, x, steps[:, ::-1])[::-1]
    for gamma in GAMMAS:
        above = paired_ratio_test(x, y, gamma, steps=steps).above
        assert above == pytest.approx(paired_ratio_test(*low, gamma, steps=none).above, rel=1e-9)
        below = paired_ratio_test(x, y, 1 / gamma, steps=steps).below
        assert below == pytest.approx(paired_ratio_test(*high, 1 / gamma, steps=none).below, rel=1e-9)
    for alpha in (0.2, 0.05, 0.01):
        found = paired_ratio(x, y, alpha, steps=steps)
        least, most = paired_ratio(*low, alpha, steps=none).low, paired_ratio(*high, alpha, steps=none).high
        proven = found.pvalue <= alpha
        assert np.where(proven, np.maximum(least, 1.0), least) == pytest.approx(found.low, rel=1e-9)
        proven = found.pvalue_less <= alpha
        assert np.where(proven, np.minimum(most, 1.0), most) == pytest.approx(found.high, rel=1e-9)


@pytest.mark.parametrize("kind", [sequential.PairedSequence, fixed_pairs.FixedPairs])
def test_blocks_read_in_steps(kind: type[sequential.PairedSequence]) -> None:
    """Evidence beyond 1 is that of the least X and greatest Y; a bound can hardly pass their median ratio."""
    rng = np.random.default_rng(3)
    x, y = np.round(12 + rng.standard_normal(30), 1), np.round(10 + rng.standard_normal(30), 1)
    read, low, high = kind(alpha=0.05), kind(alpha=0.05), kind(alpha=0.05)
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        read.add(a, b, resolution=0.1)
        low.add(a - 0.05, b + 0.05)
        high.add(a + 0.05, b - 0.05)
    for sequence in (read, low, high):
        if isinstance(sequence, fixed_pairs.FixedPairs):
            sequence.close()
    assert (read.stepped, low.stepped) == (True, False)
    exact = kind(alpha=0.05)
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        exact.add(a, b)
    if isinstance(exact, fixed_pairs.FixedPairs):
        exact.close()
    for side in (1, -1):  # at a ratio of 1 readings count as they are
        assert read.log_evidence(1.0, side=side) == pytest.approx(
            exact.log_evidence(1.0, side=side), abs=1e-12
        )
    assert read.blocks == 30
    middles = [np.exp(np.median(np.log(a / b))) for a, b in ((x - 0.05, y + 0.05), (x + 0.05, y - 0.05))]
    assert read.attainable(1) == pytest.approx(middles[0], rel=1e-9)
    assert read.attainable(-1) == pytest.approx(middles[1], rel=1e-9)
    if isinstance(read, fixed_pairs.FixedPairs):  # no stakes, so that the scale of the bets has no part
        for gamma in (1.05, 1.1, 1.3):
            assert read.log_evidence(gamma, side=1) == pytest.approx(low.log_evidence(gamma, side=1))
            assert read.log_evidence(1 / gamma, side=-1) == pytest.approx(
                high.log_evidence(1 / gamma, side=-1)
            )
        assert read.result().low == pytest.approx(low.result().low, rel=1e-9)
        assert read.result().high == pytest.approx(high.result().high, rel=1e-9)
    else:
        assert read.result().low <= low.attainable(1) * 1.05
        assert low.attainable(1) == pytest.approx(read.attainable(1))

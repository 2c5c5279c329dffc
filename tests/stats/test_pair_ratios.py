"""Order statistics of ratios against all ratios sorted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from speedproof.stats import pair_ratios, ratio_medians
from speedproof.stats.pair_ratios import ratio_order_statistics
from speedproof.stats.ratio_medians import ratio_of_medians

values = st.lists(
    st.one_of(st.integers(0, 6).map(float), st.floats(1e-9, 1e12, allow_nan=False)), min_size=1, max_size=25
)


@given(x=values, y=values, few=st.sampled_from([1, 7, 1 << 20]))
@example([475103003972.0], [1.0, 616972972993.5], 1)
@example([475103003967.0], [616972972994.0], 1)
@settings(max_examples=400, deadline=None)
def test_against_sorting_all_ratios(x: list[float], y: list[float], few: int) -> None:
    """Whatever the number of ratios that may be listed, each order statistic is that of the sorted ratios."""
    a, b = np.array(x), np.array(y)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = (a[:, None] / b).ravel()
    ratios = np.sort(ratios[~np.isnan(ratios)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pair_ratios, "_FEW", few)
        for k in range(0, ratios.size, max(1, ratios.size // 7)):
            assert ratio_order_statistics(a, b, (k,))[0] == pytest.approx(ratios[k], rel=1e-12)


@pytest.mark.parametrize("digits", [1, 3, 15])
def test_bounds_are_the_same_on_both_ways(digits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounded or not, the bounds without all ratios are those with all of them."""
    rng = np.random.default_rng(digits)
    x, y = rng.normal(10, 1, 400).round(digits), rng.normal(9.9, 1, 500).round(digits)
    pairs = [
        (x, y),
        (x[:3], y[:4]),
        (np.append(x[:9], 0.0), y[:12]),
        (x[:9], np.append(y[:9], [0.0] * 3)),
        (x[:1], y[:1]),
    ]

    def bounds() -> list[float]:
        found = [ratio_of_medians(a, b, alpha) for a, b in pairs for alpha in (0.05, 0.4, 1e-4, 1e-300)]
        return [float(end) for one in found for end in (one.low, one.high)]

    listed = bounds()
    monkeypatch.setattr(ratio_medians, "_MOST_RATIOS", 0)
    monkeypatch.setattr(pair_ratios, "_FEW", 1000)
    assert bounds() == pytest.approx(listed, rel=1e-12)
    assert {0.0, np.inf} < set(listed)


def test_a_hundred_thousand_values_a_side() -> None:
    """Ten thousand million ratios take neither the memory nor the time to make them."""
    rng = np.random.default_rng(1)
    x, y = rng.lognormal(0.0, 0.1, 100_000), rng.lognormal(-0.01, 0.1, 100_000)
    found = ratio_of_medians(x, y, 0.05)
    # The shift is known: log-normal samples that differ by the factor exp(0.01).
    assert 1.0 < float(found.low) < np.exp(0.01) * 1.002
    assert np.exp(0.01) * 0.998 < float(found.high) < 1.02

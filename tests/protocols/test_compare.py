"""Comparisons of samples: directions, bounds, nesting, what is needed, and every degenerate input."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from tests.protocols.asking import compare_means, compare_medians, compare_samples, compare_single_runs

from speedproof.data.notes import Assumption
from speedproof.data.sample import Sample
from speedproof.protocols.pair import Rules
from speedproof.protocols.results import Comparison, Verdict
from speedproof.reporting import words

Oracle = Callable[[str], Any]


def sample(values: object, **more: object) -> Sample:
    return Sample(np.asarray(values, dtype=float), **more)  # type: ignore[arg-type]


def normal(mean: float, n: int, seed: int, deviation: float = 1.0) -> Sample:
    return sample(np.random.default_rng(seed).normal(mean, deviation, n))


times = st.lists(
    st.one_of(st.integers(1, 12).map(float), st.floats(0.5, 50, allow_nan=False)), min_size=1, max_size=45
)


def check_names(result: Comparison) -> set[str]:
    return {check.name for check in result.failed_checks}


@pytest.mark.parametrize("n", [1, 2, 31, 60])
def test_constant_samples(n: int) -> None:
    """Constants have no spread to test a mean with; ranks may decide when there are enough of them."""
    x, y = sample([5.0] * n), sample([4.0] * n)
    mean = compare_means(x, y)
    assert mean.verdict is Verdict.UNDECIDED
    assert {"normality of X", "normality of Y"} <= check_names(mean)
    assert math.isnan(mean.speedup.low)
    assert mean.speedup.value == 1.25
    assert (compare_medians(x, y).verdict is Verdict.FASTER) == (n > 2)
    assert mean.needed is not None
    assert mean.needed.reference != n + 1  # no number of equal values decides
    single = compare_single_runs(x, y)
    assert single.speedup.value == 1.0
    # All min(n, m) independent pairs won: the bound is alpha ** (1 / n), a theorem for complete separation.
    assert single.speedup.low == pytest.approx(0.05 ** (1 / n), abs=1e-9)


def test_zeros_are_named() -> None:
    """Counts may be zero, and a time may be below the clock: never a crash, always a check that did not hold."""
    some, none = [0.0] * 20 + [2.0] * 20, [0.0] * 40
    for unit in ("allocs", "s"):
        for x, y in ((some, none), (none, some), (none, none)):
            for result in compare_samples(sample(x, unit=unit), sample(y, unit=unit)):
                assert any(name.startswith("positive values") for name in check_names(result))
    mean = compare_means(sample(some, unit="s"), sample(none, unit="s"))
    assert math.isnan(mean.speedup.value)
    assert any("clock" in check.message for check in mean.failed_checks)


def draw(family: str, rng: np.random.Generator) -> Sample:
    if family == "normal":
        return sample(rng.normal(100, 3, 31))
    if family == "lognormal":
        return sample(rng.lognormal(4, 0.1, 31))
    return sample(rng.normal(100, 1, 31) + 8 * (rng.random(31) < 0.3))


@pytest.mark.slow
@pytest.mark.parametrize(("family", "seed"), [("normal", 15), ("lognormal", 16), ("bimodal", 17)])
def test_false_alarms_of_both_protocols(family: str, seed: int) -> None:
    """Under H0 each protocol says "faster" at most as often as its risk, within binomial bounds."""
    rng = np.random.default_rng(seed)
    trials, alarms = 400, {"typical": 0, "mean": 0, "median": 0, "single run": 0}
    for _ in range(trials):
        for result in compare_samples(draw(family, rng), draw(family, rng)):
            alarms[result.protocol] += result.verdict is Verdict.FASTER
    limit = 0.05 + 3.5 * math.sqrt(0.05 * 0.95 / trials)
    assert {name: count / trials <= limit for name, count in alarms.items()} == dict.fromkeys(alarms, True)


@pytest.mark.parametrize(
    ("x", "y", "again", "held"),
    [([1, 2, 3, 4, 5], [6, 7, 8, 9, 9], 1, True), ([1, 1, 2, 2, 3, 3], [3, 3, 4, 4, 5, 5], 7, False)],
)
def test_values_that_occur_again_are_counted(x: list[float], y: list[float], again: int, held: bool) -> None:
    """Of both samples together; most values are to be distinct."""
    checks = compare_medians(sample(x), sample(y)).checks
    assert [(c.statistic, c.held) for c in checks if c.kind is Assumption.TIES] == [(again, held)]


def test_the_estimate_of_medians_is_that_of_the_article(oracle: Oracle) -> None:
    """R's ratio of the medians at every confidence, also where the test proves the opposite of it."""
    for case in oracle("pairs")["cases"]:
        if (expected := case["observed"]["speedup_median"]) is None or not min(case["x"] + case["y"]) > 0:
            continue
        for alpha in (0.01, 0.05, 0.2):
            found = compare_medians(sample(case["x"]), sample(case["y"]), Rules(alpha=alpha))
            assert found.speedup.value == pytest.approx(expected, rel=1e-12), case["id"]
    # The median of X is the larger one, yet a run of X takes less time in three of four cases.
    x = np.r_[np.full(31, 1.0), np.full(32, 2.0)] + np.arange(63) / 1e4
    y = np.r_[np.full(32, 1.9), np.full(31, 3.0)] + np.arange(63) / 1.1e4
    found = compare_medians(sample(x), sample(y))
    assert found.speedup.value == pytest.approx(np.median(x) / np.median(y))
    assert (found.verdict, words.change(found)) == (Verdict.SLOWER, "slower")

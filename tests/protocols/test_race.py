"""Races of blocks: what is said of them, and their symmetries."""

import math

import numpy as np
import pytest
from scipy import stats
from tests.protocols.asking import stop_rules

from speedproof.errors import DataError
from speedproof.protocols.claims import Demand, Outcome, StopRules
from speedproof.protocols.sequential import ALL_MEASURED, SequentialComparison


@pytest.mark.parametrize(("n", "level", "agreed"), [(60, 0.05, True), (28, 0.05, True), (28, 0.004, False)])
def test_skewed_blocks_are_told_alike_of_either_side(n: int, level: float, agreed: bool) -> None:
    """Exchanged sides give the same words; where mean and median agree, p = 0.03 is not enough for any."""
    rng = np.random.default_rng(12)
    skewed = rng.exponential(0.02, 60)[:n]
    ratios = np.exp(skewed - np.median(skewed) + (level if agreed else -level))
    told = []
    for x, y in ((ratios, np.ones(n)), (np.ones(n), ratios)):
        race = SequentialComparison("sort", ("X", "Y"), stop_rules(max_blocks=60))
        for one, other in zip(x.tolist(), y.tolist(), strict=True):
            race.add({"X": one, "Y": other})
        told.append([check.message for check in race.warnings("Y") if "skewed (p" in check.message])
    assert told[0] == told[1]
    assert ["agree on who is faster" in one for one in told[0]] == [agreed] * (n == 60 or not agreed)


@pytest.mark.parametrize("family", [1, 4])
def test_a_gate_over_a_fixed_number_of_blocks_is_wilcoxons(family: int) -> None:
    """It passes at the risk, and fails at the benchmark's part of it, against the margin's end; of rates, too."""
    rng, seen = np.random.default_rng(family), set()
    demand = Demand(margin=0.02)
    rules = stop_rules(alpha=0.1, min_blocks=14, max_blocks=14, fixed=True, demand=demand, family=family)
    for shift in np.linspace(-0.07, 0.03, 21):
        logs = shift + 0.02 * rng.standard_normal(14)
        for higher in (False, True):
            race = SequentialComparison("b", ["X", "Y"], rules, metric="rate", higher_is_better=higher)
            for d in logs.tolist():
                assert race.open() == ("Y",)
                race.add({"X": math.exp(-d if higher else d), "Y": 1.0})
            (found,) = race.findings()
            kept, lost = (
                stats.wilcoxon(logs + math.log(1.02), alternative=side, method="exact").pvalue
                for side in ("greater", "less")
            )
            assert (found.reason, race.open()) == (ALL_MEASURED, ())
            assert found.outcome != "pass" or kept <= 0.1
            assert found.outcome != "fail" or lost <= 0.1 / family
            assert found.outcome == ("pass" if kept < lost else "fail") or min(kept, lost) > 0.01
            seen.add(found.outcome)
    assert seen == set(Outcome)


@pytest.mark.parametrize("rules", [stop_rules(), stop_rules(precision=0.05), stop_rules(margin=0.05)])
def test_a_race_of_rates_is_one_of_times_with_the_sides_changed(rules: StopRules) -> None:
    """After every block; a value of 0 is refused with its place, and a candidate that is dropped says why."""
    rng = np.random.default_rng(3)
    times = SequentialComparison("sort", ["X", "Y"], rules, metric="rate")
    rates = SequentialComparison("sort", ["X", "Y"], rules, metric="rate", higher_is_better=True)
    for x, y in np.exp(0.03 * rng.standard_normal((30, 2)) + [0.05, 0.0]).tolist():
        times.add({"X": x, "Y": y})
        rates.add({"X": y, "Y": x})
        assert (repr(times.findings()), times.stopped()) == (repr(rates.findings()), rates.stopped())
    with pytest.raises(DataError, match=r"sort, Y against X, rate: .*decide by a metric"):
        times.add({"X": 1.0, "Y": 0.0})
    rates.drop("Y", "it failed")
    assert rates.open() == ()

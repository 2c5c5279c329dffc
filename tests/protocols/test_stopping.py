"""Races of blocks: when a benchmark was measured enough, what is said of it, and symmetries."""

import math
from typing import Any

import numpy as np
import pytest
from msgspec.structs import astuple
from scipy import stats
from studies.sequential import sequence_of
from tests.protocols.asking import stop_rules

from speedproof.errors import DataError, UsageError
from speedproof.protocols.claims import Demand, Outcome, SessionQuestion, StopRules
from speedproof.protocols.results import Verdict
from speedproof.protocols.sequential import ALL_MEASURED, SequentialComparison


def test_what_is_asked_by_default() -> None:
    """docs/sequential.md: a verdict with a useful bound, of ten blocks at least, however many it takes."""
    rules = StopRules(0.05)
    assert astuple(rules) == (0.05, None, None, 10, None, None, False, None, False, 1, None)
    assert astuple(SessionQuestion(rules))[1:] == ("time", False, False, (), 1, ())
    assert Demand(margin=0.25).edges == (0.8,)


@pytest.mark.parametrize(("least", "most", "told"), [
    (0, None, "min_runs=0: at least 1"), (-1, 5, "min_runs=-1: at least 1"),
    (5, 4, "min_runs=5 and max_runs=4 leave nothing to measure"),
    (1, 0, "min_runs=1 and max_runs=0 leave nothing to measure"),
])  # fmt: skip
def test_blocks_that_cannot_be_measured(least: int, most: int | None, told: str) -> None:
    with pytest.raises(UsageError) as error:
        StopRules(0.05, min_blocks=least, max_blocks=most)
    assert str(error.value) == told


def race(rules: StopRules, ratios: list[float]) -> SequentialComparison:
    found = SequentialComparison("b", ["X", "Y"], rules)
    for k, ratio in enumerate(ratios):
        found.add({"X": (1.0 + 0.1 * (k % 3)) * ratio, "Y": 1.0 + 0.1 * (k % 3)})
    return found


def to_go(race: SequentialComparison) -> float:
    return race.findings()[0].blocks_to_go


@pytest.mark.slow
def test_a_precision_takes_blocks_by_the_square_of_it() -> None:
    """The width shrinks with the root of the number of blocks: half of it takes four times as many in all."""
    rng = np.random.default_rng(3)
    ratios = np.exp(0.05 * rng.standard_normal(200)).tolist()
    width = race(stop_rules(precision=1e-9), ratios).findings()[0].result.precision
    for factor in (2.0, 3.0, 7.5):
        found = to_go(race(stop_rules(precision=width / factor), ratios))
        assert found == pytest.approx(200 * (factor**2 - 1), rel=1e-9)
    assert to_go(race(stop_rules(precision=2 * width), ratios)) == 0.0
    assert math.isnan(to_go(race(stop_rules(precision=1e-3), ratios[:9])))


@pytest.mark.parametrize("sign", [1, -1])
def test_what_is_proven_is_measured_until_half_of_it_is_certified(sign: int) -> None:
    """Half of the median difference, by its logarithm, in whichever direction: as many blocks are to go."""
    x, y = np.exp(0.02 * np.random.default_rng(2).standard_normal((2, 40)) + [[0.05 * sign], [0.0]])
    logs, compared, seen = np.log(x / y), SequentialComparison("b", ["X", "Y"], stop_rules()), set()
    for n in range(1, 41):
        sequence = sequence_of(x[:n], y[:n])
        compared.add({"X": float(x[n - 1]), "Y": float(y[n - 1])})
        found = to_go(compared)
        if n >= 10 and (sequence.result().faster or sequence.result().slower):
            expected = sequence.blocks_to_go(gamma=math.exp(float(np.median(logs[:n])) / 2), side=sign)
            assert found == pytest.approx(expected)
            seen.add(found > 0)
    assert seen == {True, False}


def race_of(ratio: float, blocks: int, noise: float, rules: StopRules, seed: int = 1) -> SequentialComparison:
    """Log-normal runs of a candidate that is so many times as fast, until it is proven or the blocks are over."""
    draw = np.random.default_rng(seed).standard_normal
    race = SequentialComparison("b", ["X", "Y"], rules)
    for x, y in np.exp(noise * draw((blocks, 2))).tolist():
        if not race.open():
            break
        race.add({"X": x, "Y": y / ratio})
    return race


def test_equal_programs_are_the_same_within_one_percent() -> None:
    """Long before the blocks are over; with a noise that forbids it, more are to go."""
    race = race_of(1.0, 2000, 0.01, stop_rules())
    (found,) = race.findings()
    assert (found.verdict, found.reason) == (Verdict.EQUIVALENT, "proven")
    assert found.result.low > 1 / 1.01
    assert found.result.high < 1.01
    assert race.blocks < 100
    for margin in (None, 0.02):
        (found,) = race_of(1.0, 100, 0.1, stop_rules(margin=margin)).findings()
        assert found.verdict is Verdict.UNDECIDED
        assert 0 < found.blocks_to_go < math.inf


@pytest.mark.parametrize("speedup", [1.0, 1.01, 1.05, 1 / 1.05])
@pytest.mark.parametrize("rules", [
    {"stop_at_proof": True}, {"margin": 0.03, "stop_at_proof": True}, {"precision": 0.01},
    {"demand": Demand(margin=0.02)}, {"demand": Demand(margin=0.02), "family": 20},
    {"quantile": 0.5, "stop_at_proof": True},
])  # fmt: skip
def test_a_candidate_ends_as_if_every_block_were_looked_at(speedup: float, rules: dict[str, Any]) -> None:
    """At the first number of blocks that ends one looked at then alone; before, it says that it will not."""
    for candidates in (1, 2):
        runs = np.exp(0.02 * np.random.default_rng(3).standard_normal((50, 1 + candidates)))
        runs[:, 0] *= speedup
        names = "XYZ"[: 1 + candidates]
        blocks = [dict(zip(names, row, strict=True)) for row in runs.tolist()]
        race = SequentialComparison("b", names, stop_rules(min_blocks=5, **rules))
        for n, block in enumerate(blocks, 1):
            certain = race.certain
            assert certain >= 1
            race.add(block)
            once = SequentialComparison("b", names, stop_rules(min_blocks=n, **rules))
            for earlier in blocks[:n]:
                once.add(earlier)
            still = names[1:] if n < 5 else once.open()
            assert race.open() == tuple(still)
            assert certain == 1 or race.open() == tuple(names[1:])
            if len(race.open()) < candidates:
                break


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
        told.append([check.message for check in race.warnings("Y")])
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

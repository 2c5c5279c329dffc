"""What a difference goes with: which metrics are named, and how a speedup is shared out."""

from collections.abc import Sequence
from math import log

import numpy as np
import pytest
from scipy.stats import binom

import speedproof as sp
from speedproof.arrays import FloatArray
from speedproof.data.sample import Sample, Trait
from speedproof.protocols.caveats import MachineSpeeds
from speedproof.protocols.why import GoesWith, Why, why
from speedproof.stats.estimate import Estimate


def sides(
    shares: Sequence[float], factors: Sequence[float], n: int = 100, noise: float = 0.01
) -> tuple[list[Sample], list[Sample]]:
    """Times and page faults of two versions: so many of a hundred runs are slow, exactly."""
    times, faults = [], []
    for k, (share, factor) in enumerate(zip(shares, factors, strict=True)):
        rng = np.random.default_rng(k)
        slow = rng.permutation(n) < round(share * n)
        spread: FloatArray = noise * rng.normal(size=n)
        for state in (slow, ~slow):  # so that the means of the states are what they are said to be
            spread[state] -= spread[state].mean() if state.any() else 0.0
        times.append(Sample((factor * (1.0 + slow + spread)).astype(np.float64), label="ab"[k]))
        faults.append(Sample((110.0 + 2000.0 * slow + rng.poisson(2.0, n)).astype(np.float64), ""))
    return times, faults


def first(found: Why) -> GoesWith:
    return found.goes_with[0]


def known(estimate: Estimate | None) -> Estimate:
    assert estimate is not None
    return estimate


def test_a_speedup_of_weights_and_of_states() -> None:
    """30 and 10 % of runs take twice as long, and all of the reference 3 % more: the parts are known by hand."""
    times, faults = sides((0.3, 0.1), (1.03, 1.0))
    found = why("f", "time", times, {"faults": faults})
    m = first(found)
    assert (m.metric, m.part, len(m.states)) == ("faults", False, 2)
    assert [state.shares for state in m.states] == [(0.7, 0.9), (0.3, 0.1)]
    assert known(found.speedup).value == pytest.approx(1.03 * 1.3 / 1.1)
    assert known(m.weights).value == pytest.approx(1.3 / 1.1)
    assert known(m.within).value == pytest.approx(1.03)
    assert m.share == pytest.approx(log(1.3 / 1.1) / log(1.03 * 1.3 / 1.1))
    for estimate in map(known, (m.weights, m.within)):
        assert estimate.low < estimate.value < estimate.high
    assert known(m.weights).low > 1.0
    error = np.hypot(*(t.values.std() / t.values.mean() / 10.0 for t in times))  # by the delta method
    ends = np.log([known(found.speedup).low, known(found.speedup).high]) - log(known(found.speedup).value)
    assert ends == pytest.approx([-1.96 * error, 1.96 * error], abs=0.2 * error)


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_the_unit_of_times_that_are_read_in_steps_does_not_matter(scale: float) -> None:
    times, faults = sides((0.3, 0.1), (1.03, 1.0))
    read = [[Sample(s * t.values.round(1), label=t.label) for t in times] for s in (1.0, scale)]
    one, other = (first(why("f", "time", some, {"faults": faults})) for some in read)
    assert [state.shares for state in one.states] == [state.shares for state in other.states]
    assert one.share == pytest.approx(other.share)


def test_the_parts_make_the_whole() -> None:
    """Also where each state gains another factor: log speedup = weights + equal state."""
    times, faults = sides((0.4, 0.1), (1.0, 1.0))
    times[1] = Sample(np.where(faults[1].values > 1000.0, 0.8, 1.1) * times[1].values, label="b")
    m = first(why("f", "time", times, {"faults": faults}))
    total = log(times[0].values.mean() / times[1].values.mean())
    assert log(known(m.weights).value) + log(known(m.within).value) == pytest.approx(total)
    assert m.share is not None
    assert m.share * total == pytest.approx(log(known(m.weights).value))
    # Both orders of changing weights and times, by hand
    a, b = (
        [times[k].values[(faults[k].values > 1000) == state].mean() for state in (False, True)]
        for k in (0, 1)
    )
    one_way = log((0.6 * a[0] + 0.4 * a[1]) / (0.9 * a[0] + 0.1 * a[1]))
    other = log((0.6 * b[0] + 0.4 * b[1]) / (0.9 * b[0] + 0.1 * b[1]))
    assert log(known(m.weights).value) == pytest.approx(0.5 * (one_way + other))


@pytest.mark.parametrize(("rare", "told"), [(0.05, True), (0.04, False), (0.0, False)])
def test_factors_take_five_runs_of_each_version_in_each_state(rare: float, told: bool) -> None:
    """Five of a hundred, four and none: the share is that of other weights in each."""
    times, faults = sides((0.3, rare), (1.0, 1.0))
    m = first(why("f", "time", times, {"faults": faults}))
    assert m.share == pytest.approx(1.0, abs=0.01)
    assert [estimate is not None for estimate in (m.weights, m.within)] == [told, told]


def test_what_differs_between_versions_only_is_not_named() -> None:
    """Instructions fell by a fifth, as time did: within a version they have nothing to do with it."""
    rng = np.random.default_rng(3)
    times = [
        Sample(level * rng.lognormal(0, 0.02, 60), label=name) for level, name in ((1.2, "a"), (1.0, "b"))
    ]
    counts = [Sample(level * rng.lognormal(0, 0.02, 60), "") for level in (1.2e9, 1e9)]
    assert why("f", "time", times, {"instructions": counts}).goes_with == ()


@pytest.mark.parametrize("rising", [(False, False), (True, False), (False, True), (True, True)])
def test_neighbours_that_are_alike_are_told_of_either_version(rising: tuple[bool, bool]) -> None:
    traits = frozenset({Trait.ORDER_KNOWN})
    values = [np.random.default_rng(k).lognormal(0, 0.02, 60) for k in (5, 6)]
    drawn = zip(values, rising, strict=True)
    times = [Sample(np.sort(one) if rises else one, label=str(rises), traits=traits) for one, rises in drawn]
    assert why("f", "time", times, {}).shifted is any(rising)


def test_sessions_that_differ_count_for_nothing() -> None:
    """Two sittings at two speeds of the machine, with two levels of a count: no run to run."""
    sessions, named = np.repeat([0, 1], 30), 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        time = Sample((1.0 + sessions) * rng.lognormal(0, 0.02, 60), sessions=sessions)
        count = Sample(100.0 + 50.0 * sessions + rng.normal(0, 2, 60), "", sessions=sessions)
        named += bool(why("f", "time", [time], {"count": [count]}).goes_with)
        pooled = [Sample(s.values, s.unit) for s in (time, count)]
        assert why("f", "time", pooled[:1], {"count": pooled[1:]}).goes_with
    assert named <= binom.ppf(0.999, 20, 0.05)


def test_parts_of_time() -> None:
    """What is in the same unit is named as a part, after all others, and has no states of its own."""
    times, faults = sides((0.3, 0.1), (1.0, 1.0))
    system = [Sample(0.8 * t.values, label=t.label) for t in times]
    found = why("f", "time", times, {"system": system, "faults": faults})
    assert [(m.metric, m.part) for m in found.goes_with] == [("faults", False), ("system", True)]
    assert found.goes_with[1].states == ()


def test_one_version_has_states() -> None:
    """Its runs fall into two, by time and by faults; nothing is compared."""
    times, faults = sides((0.3,), (1.0,))
    found = why("f", "time", times, {"faults": faults})
    assert (found.speedup, found.states) == (None, (2,))
    m = first(found)
    assert [state.shares for state in m.states] == [(0.7,), (0.3,)]
    assert [state.means[0] for state in m.states] == pytest.approx([1.0, 2.0])
    assert m.share is None


def test_bounds_at_equal_speed_hold_the_true_speedup() -> None:
    """Of 100 pairs of 20 processes, five or more at either speed, in 92 %: the bootstrap is a little narrow."""
    machine, held, of = MachineSpeeds(2.0, 9, 9, Estimate(1.0, 1.0, 1.0, 0.95)), 0, 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        times = [
            Sample(level * np.where(rng.random(20) < share, 2.0, 1.0) * np.exp(0.02 * rng.normal(size=20)))
            for level, share in ((1.05, 0.6), (1.0, 0.4))
        ]
        m = why("f", "time", times, {}, machine=machine).machine
        if m is not None:
            of += 1
            held += known(m.within).low <= 1.05 <= known(m.within).high
    assert of > 80
    assert held >= binom.ppf(0.001, of, 0.92)


def test_what_is_left_out() -> None:
    """Each with its reason: of one version, of some runs, constant, of other processes."""
    times, faults = sides((0.3, 0.1), (1.0, 1.0))
    some = [Sample(f.values[:90], "") for f in faults]
    nested = [Sample(f.values, "", processes=np.repeat(np.arange(50), 2)) for f in faults]
    others: dict[str, Sequence[Sample | None]] = {
        "one": [faults[0], None], "some": some, "constant": [Sample(np.full(100, 7.0), "")] * 2,
        "nested": nested, "faults": faults,
    }  # fmt: skip
    found = why("f", "time", times, others)
    assert dict(found.left_out) == {
        "one": "only one version has it", "some": "known of 90 of 100 and 90 of 100 runs",
        "constant": "the same in every run", "nested": "not of the same processes",
    }  # fmt: skip
    assert [m.metric for m in found.metrics] == ["faults"]


def test_the_example_of_builds_names_its_layout() -> None:
    """Of three things in random order one lies between the others in a third of builds; the code is the same."""
    found = sp.why(sp.read("examples/layout/session.jsonl"))["command"]
    m = first(found)
    assert (found.sizes, found.nested) == ((40, 40), True)
    assert (m.metric, [state.level for state in m.states]) == ("arrays-in-a-set", [6.0, 12.0])
    apart, together = (40.0 * state.shares[0] for state in m.states)
    assert binom.ppf(0.005, 40, 1 / 3) <= apart <= binom.ppf(0.995, 40, 1 / 3)
    assert ([state.shares[1] for state in m.states], together) == ([1.0, 0.0], 40 - apart)
    assert m.share == pytest.approx(1.0, abs=0.3)
    assert (m.weights, m.within) == (None, None)


def test_the_example_names_its_faults() -> None:
    """A program that touches 8 MB in 30 % of runs against 10 %, as measured."""
    m = first(sp.why(sp.read("examples/faults/session.jsonl"))["command"])
    assert m.metric == "minor-faults"
    assert m.share is not None
    assert 0.75 <= m.share <= 0.95
    assert m.states[1].level - m.states[0].level == pytest.approx(8 * 2**20 / 4096, rel=0.01)
    assert m.states[1].shares == pytest.approx((0.3, 0.1), abs=0.06)

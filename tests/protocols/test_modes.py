"""Modes of two versions and states by several metrics: planted changes are found, and no others."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.protocols.asking import compare_modes

import speedproof as sp
from speedproof.arrays import FloatArray
from speedproof.data.notes import Assumption
from speedproof.data.sample import Sample, Trait
from speedproof.data.suite import Key, Pair
from speedproof.data.units import Direction
from speedproof.mixture.analysis import analyse
from speedproof.protocols import modes
from speedproof.protocols.modes import MatchedMode, ModeComparison, fisher_exact, joint_models, states_of_runs
from speedproof.stats.estimate import Estimate


def pair(x: FloatArray, y: FloatArray, name: str = "b") -> Pair:
    return Pair(Key(name), Sample(x, label="old"), Sample(y, label="new"))


def bimodal(rng: np.random.Generator, slow_share: float, factor: float = 1.0, n: int = 150) -> FloatArray:
    slow = rng.random(n) < slow_share
    return np.asarray((rng.normal(10, 0.1, n) + 2 * slow) * factor)


def compared(x: FloatArray, y: FloatArray) -> ModeComparison:
    found = compare_modes(pair(x, y))
    assert found is not None
    return found


def test_other_weights() -> None:
    rng = np.random.default_rng(1)
    found = compared(bimodal(rng, 0.5), bimodal(rng, 0.15))
    assert (found.moved, found.reweighted) == (False, True)
    assert found.conclusion.startswith("same modes, other weights")
    assert found.reference_modes == pytest.approx((10, 12), abs=0.05)


def test_a_comparison_shows_the_modes_that_a_model_shows() -> None:
    """Also of rounded values: of these a mixture that knows of no rounding has two modes each."""
    x, y = (np.round(52 + np.random.default_rng(seed).gamma(2, 1.5, 40)) / 1000 for seed in (5, 18))
    shown = compared(x, y)
    modelled = [tuple(mode.place for mode in analyse(Sample(v)).modes) for v in (x, y)]
    assert [shown.reference_modes, shown.candidate_modes] == modelled
    assert [len(places) for places in modelled] == [1, 1]


def test_moved_modes() -> None:
    """All modes by one factor, whatever their places: they are matched by it."""
    rng = np.random.default_rng(2)
    found = compared(bimodal(rng, 0.4), bimodal(rng, 0.4, 0.6))
    assert (found.moved, found.reweighted) == (True, False)
    assert [m.ratio.low <= 1 / 0.6 <= m.ratio.high for m in found.matched] == [True, True]
    assert {m.ratio.confidence for m in found.matched} == {1 - 0.05 / 4}
    assert found.conclusion.startswith("modes moved: runs")
    # One that is rare may be off by as much as one that is not.
    x, y = (np.append(rng.normal(10, 0.1, 180), rng.normal(at, 0.1, 20)) for at in (20, 21))
    for one, other in ((x, y), (y, x)):
        found = compared(one, other)
        assert (len(found.matched), found.vanished, found.appeared) == (2, (), ())
    # What is a mode of one side has four values in the other, too few for one, at the place that it moved from.
    x, y = (
        np.append(rng.normal(10 * f, 0.1 * f, 40 - k), 12 * f * rng.normal(1, 0.004, k))
        for f, k in ((1, 4), (0.6, 6))
    )
    for one, other in ((x, y), (y, x)):
        found = compared(one, other)
        assert (len(found.reference_modes) + len(found.candidate_modes), found.moved) == (3, True)
        assert (found.vanished, found.appeared) == ((), ())


def test_a_mode_may_have_no_partner() -> None:
    rng = np.random.default_rng(4)
    gone = compared(bimodal(rng, 0.3), rng.normal(10, 0.1, 150))
    assert gone.vanished == pytest.approx([12.0], abs=0.1)
    assert [m.reference for m in gone.matched] == pytest.approx([10.0], abs=0.1)
    assert gone.conclusion == "the modes differ: 1 mode vanished"
    new = compared(rng.normal(12, 0.1, 150), bimodal(rng, 0.3))
    assert new.appeared == pytest.approx([10.0], abs=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("nested", [False, True])
def test_equal_versions_are_left_alone(nested: bool) -> None:
    """Any claim at all in at most 5 % of pairs of one bimodal program, nested values or not."""
    rng = np.random.default_rng(7)
    trials, claims = 120, 0
    for _ in range(trials):
        if nested:
            inside = np.repeat(np.arange(20), 5)
            x, y = (np.repeat(bimodal(rng, 0.4, n=20), 5) * rng.normal(1, 0.002, 100) for _ in range(2))
            found = compare_modes(Pair(Key("b"), Sample(x, processes=inside), Sample(y, processes=inside)))
        else:
            found = compare_modes(pair(bimodal(rng, 0.4, n=60), bimodal(rng, 0.4, n=60)))
        claims += found is not None and found.conclusion != "no change of the modes is shown"
    assert stats.binomtest(claims, trials, 0.05, alternative="greater").pvalue > 1e-3


def of_metric(x: FloatArray, y: FloatArray) -> Pair:
    return Pair(Key("b", "m"), Sample(x, "s"), Sample(y, "s"))


def test_a_test_of_one_distribution_at_its_risk() -> None:
    rng = np.random.default_rng(5)
    x, y = rng.normal(10, 0.1, 40), rng.normal(10.2, 0.1, 40)
    first = compare_modes(of_metric(x, y))
    assert first is not None
    for alpha, moved in ((first.pvalue, True), (float(np.nextafter(first.pvalue, 0.0)), False)):
        found = modes.compare_modes(of_metric(x, y), alpha=alpha)
        assert found is not None
        assert found.matched[0].pvalue_moved < alpha
        assert found.moved is moved


@pytest.mark.parametrize("sides", [(0,), (1,), (0, 1)])
def test_what_keeps_a_claim_back_on_either_side(sides: tuple[int, ...]) -> None:
    """Each reason once, whichever side it is of."""
    rng = np.random.default_rng(6)
    x, y = (
        Sample(rng.normal(at, 0.1, 40), traits=frozenset({Trait.FAILED_RUNS} if k in sides else ()))
        for k, at in enumerate((10, 20))
    )
    found = compare_modes(Pair(Key("b"), x, y))
    assert found is not None
    assert found.undermining == (Assumption.SUCCESSFUL_RUNS,)
    assert not found.moved
    assert found.conclusion == f"no claim: {Assumption.SUCCESSFUL_RUNS.violated}"


def test_every_sentence() -> None:
    def told(
        matched: tuple[tuple[bool, bool], ...] = (), gone: int = 0, come: int = 0, why: tuple[Any, ...] = ()
    ) -> str:
        own = tuple(
            MatchedMode(1.0, 1.0, Estimate(1.0, 1.0, 1.0, 0.95), 0.5, 0.5, moved, weights, 1.0, 1.0)
            for moved, weights in matched
        )
        return ModeComparison("b", "m", "s", 0.05, (9, 9), (), (), own, (1.0,) * gone, (1.0,) * come, 0.0,
                              why, 0.0, 0.5).conclusion  # fmt: skip

    assert (
        told(((True, False), (False, True)), 1, 1, (Assumption.TREND,)) == "no claim: a trend over the runs"
    )
    assert told(((True, True),), 1, 2) == "the modes differ: 1 mode vanished, 2 modes appeared"
    assert told(gone=2) == "the modes differ: 2 modes vanished"
    assert told(come=1) == "the modes differ: 1 mode appeared"
    both = "modes moved, and runs fall into them with other weights"
    assert told(((True, False), (False, True))) == told(((True, True), (False, False))) == both
    moved = "modes moved: runs in the same mode take another time"
    assert told(((False, False), (True, False))) == moved
    weights = "same modes, other weights: runs fall into them more or less often"
    assert told(((False, True), (False, False))) == weights
    assert told(((False, False),)) == told() == "no change of the modes is shown"


@pytest.mark.parametrize("counts", [(900, 1000, 400, 1000), (0, 2000, 1500, 3000), (40, 5000, 2500, 5000)])
def test_counts_whose_chances_no_double_holds(counts: tuple[int, int, int, int]) -> None:
    a, n, b, m = counts
    expected = float(stats.fisher_exact([[a, n - a], [b, m - b]]).pvalue)
    assert fisher_exact(*counts) == pytest.approx(expected, rel=1e-7, abs=1e-300)


def test_one_mode_of_each_side_is_tested_by_welch() -> None:
    """The ratio's interval and the p-value are SciPy's for the logarithms, of two claims by Holm."""
    rng = np.random.default_rng(12)
    x, y = np.exp(rng.normal(2.3, 0.02, 40)), np.exp(rng.normal(2.31, 0.03, 30))
    (one,) = compared(x, y).matched
    welch = stats.ttest_ind(np.log(x), np.log(y), equal_var=False)
    bounds = welch.confidence_interval(1 - 0.05 / 2)
    assert one.pvalue_moved == pytest.approx(min(1.0, 2 * welch.pvalue), rel=1e-9)
    assert (one.ratio.low, one.ratio.high) == pytest.approx((math.exp(bounds.low), math.exp(bounds.high)))
    assert (one.reference_share, one.candidate_share, one.pvalue_reweighted) == (1.0, 1.0, 1.0)


def test_how_little_a_mixture_says_something_of() -> None:
    """Ten positive values of either side, at most a factor of 1e100 apart."""
    x = 1.0 + np.arange(10.0) / 10
    for y in (x, np.append(x, 1.5)):
        for sides in ((x, y), (y, x)):
            found = compare_modes(of_metric(*sides))
            assert found is not None
            assert found.sizes == (sides[0].size, sides[1].size)
    zero = np.append(0.0, x)
    nine = np.repeat([1.0, 2.0], (5, 4))  # one mode of five, as ten values have it
    for short in (x[1:], zero, nine):
        assert compare_modes(of_metric(short, np.append(x, 1.5))) is None
        assert compare_modes(of_metric(np.append(x, 1.5), short)) is None
    # What the largest value of each side is decides, wherever the others are.
    far = 1e50 * np.append(x, 1e3)
    near = far / 1e100
    wide = near.copy()
    wide[0] *= 1e-9
    for small, told in ((near, True), (wide, True), (near * (1 - 1e-12), False)):
        assert (compare_modes(of_metric(far, small)) is not None) is told
        assert (compare_modes(of_metric(small, far)) is not None) is told


EXAMPLE = "examples/faults/session.jsonl"


def made(n: int, share: float, seed: int) -> tuple[np.ndarray, list[Sample]]:
    """Which runs are slow, and their times and faults: twice the time with 2,000 faults more, or from none."""
    rng = np.random.default_rng(seed)
    slow = rng.permutation(n) < round(share * n)
    time = np.asarray((1.0 + slow) * rng.lognormal(0.0, 0.02, n), dtype=np.float64)
    faults = 110.0 * (n > 40) + 2000.0 * slow + rng.poisson(2.0, n)
    return slow, [Sample(time), Sample(np.asarray(faults, dtype=np.float64), "")]


@pytest.mark.parametrize("n", [40, 300])
@pytest.mark.parametrize("share", [0.2, 0.5])
def test_states_that_runs_were_made_with(n: int, share: float) -> None:
    """Every run is given its own state (an adjusted Rand index of 1), with its weight and its means."""
    slow, samples = made(n, share, n)
    assert (states_of_runs(samples) == slow).all()
    (model,) = joint_models("b", {"a": samples}, ("time", "faults"))
    assert [state.weight for state in model.states] == pytest.approx([1 - share, share])
    for k, state in enumerate(model.states):
        for mean, deviation, sample in zip(state.means, state.deviations, samples, strict=True):
            assert mean == pytest.approx(sample.values[slow == k].mean())
            assert deviation == pytest.approx(sample.values[slow == k].std())
    assert (model.others, model.best) == ((), 1.0)


def test_indices_of_a_naive_twin() -> None:
    """I1, I2 and I3 by loops over all runs, strictly; of a rate higher values are better."""
    rng = np.random.default_rng(2)
    runs = {v: rng.integers(1, 6, (size, 2)).astype(float) for v, size in zip("abc", (9, 7, 8), strict=True)}
    samples = {v: [Sample(x[:, 0]), Sample(x[:, 1], "op/s", Direction.HIGHER)] for v, x in runs.items()}
    for m in joint_models("b", samples, ("time", "rate")):
        mine = runs[m.version]
        better = {
            o: np.array([[p[0] < q[0] and p[1] > q[1] for q in theirs] for p in mine])
            for o, theirs in runs.items()
            if o != m.version
        }
        for other in m.others:
            assert other.better == pytest.approx(better[other.version].mean())
            pairs = [(p, q) for p in mine for q in runs[other.version]]
            assert other.distances == pytest.approx(
                [np.mean([abs(p[k] - q[k]) for p, q in pairs]) for k in range(2)]
            )
        chances = np.prod([share.mean(axis=1) for share in better.values()], axis=0)
        assert m.best == pytest.approx(chances.mean())


def test_what_cannot_be_joined() -> None:
    suite = sp.read(EXAMPLE)
    for metrics, said in (
        (["time"], "two metrics or more"),
        (["time", "time"], "two metrics or more"),
        (["time", "nope"], "nope"),
    ):
        with pytest.raises(sp.SpeedproofError, match=said):
            sp.joint(suite, metrics)
    twos, threes = (Sample(np.arange(1.0, 20.0), processes=np.arange(19) // k) for k in (2, 3))
    for x in (Sample(np.arange(1.0, 12.0)), Sample(np.arange(1.0, 20.0)), threes):
        part = {(Key("b", "time"), "a"): twos, (Key("b", "x"), "a"): x}
        with pytest.raises(sp.SpeedproofError, match="time and x are not of the same runs"):
            sp.joint(sp.Suite(("a",), part), ["time", "x"])


def test_pictures_of_states_share_their_axes_and_have_plain_ticks() -> None:
    pytest.importorskip("matplotlib")
    time, counts = np.array([1.0, 2.0, 4.0, 30.0, 31.0]), np.array([0.0, 2.0, 4.0, 900.0, 900.0])
    ax, other = sp.plot.ellipses(
        {"X": (time, counts, [0, 0, 0, 1, 1]), "Y": (time, counts + 7, [0] * 5)}
    ).axes
    assert (ax.get_xlim(), ax.get_ylim()) == (other.get_xlim(), other.get_ylim())
    (ax,) = sp.plot.ellipses({"X": (time[:3] / 10, [166.0, 167.0, 169.0], [0, 0, 0])}).axes
    ax.figure.canvas.draw()
    assert {"167", "168"} <= {text.get_text() for text in ax.get_yticklabels()}

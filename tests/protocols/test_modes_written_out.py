"""What becomes of modes, written out: their tests by SciPy, what is too little to tell, every sentence."""

from __future__ import annotations

import itertools
import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats
from tests.protocols.asking import compare_modes

from speedproof.data.notes import Assumption
from speedproof.data.sample import Sample, Trait
from speedproof.data.suite import Key, Pair
from speedproof.errors import DataError
from speedproof.protocols import modes
from speedproof.protocols.modes import MatchedMode, ModeComparison, _aligned, _Side, _side, _tested, _welch
from speedproof.stats.estimate import Estimate

FloatArray = npt.NDArray[np.float64]


def holm(pvalues: list[float]) -> list[float]:
    """By definition: the k-th smallest times how many are not smaller, never below one before."""
    found, least = [0.0] * len(pvalues), 0.0
    for k, at in enumerate(sorted(range(len(pvalues)), key=lambda i: pvalues[i])):
        least = max(least, min(1.0, (len(pvalues) - k) * pvalues[at]))
        found[at] = least
    return found


def drawn(rng: np.random.Generator, places: tuple[float, ...], sizes: tuple[int, ...]) -> _Side:
    """Modes with an end half-way between each two."""
    logs = np.concatenate([rng.normal(p, 0.02, n) for p, n in zip(places, sizes, strict=True)])
    ends = (-math.inf, *(0.5 * (p + q) for p, q in itertools.pairwise(places)), math.inf)
    counts = [int(np.sum((logs > low) & (logs <= high))) for low, high in itertools.pairwise(ends)]
    return _Side(logs, np.array(places), np.array(list(itertools.pairwise(ends))), tuple(counts))


@pytest.mark.parametrize("shift", [0.0, 0.3])
@pytest.mark.parametrize("pairs", [[], [(0, 0)], [(1, 2)], [(0, 1), (2, 2)]])
def test_what_becomes_of_modes_by_scipy(pairs: list[tuple[int, int]], shift: float) -> None:
    """Welch and Fisher of each pair, Fisher of each mode alone against the other's runs in the same place."""
    rng = np.random.default_rng(len(pairs))
    a = drawn(rng, (0.0, 0.5, 1.0), (12, 30, 9))
    b = drawn(rng, (0.33, 0.79, 1.32), (8, 14, 41))
    alone = [j for j in range(3) if j not in [own for own, _ in pairs]]
    new = [k for k in range(3) if k not in [own for _, own in pairs]]

    def fisher(some: int, n: int, others: int, m: int) -> float:
        return float(stats.fisher_exact([[some, n - some], [others, m - others]]).pvalue)

    n, m = a.logs.size, b.logs.size
    insides, raw = [], []
    for j, k in pairs:
        x = a.logs[(a.logs > a.ends[j, 0]) & (a.logs <= a.ends[j, 1])]
        y = b.logs[(b.logs > b.ends[k, 0]) & (b.logs <= b.ends[k, 1])]
        insides.append((x, y))
        raw += [float(stats.ttest_ind(x, y, equal_var=False).pvalue), fisher(x.size, n, y.size, m)]
    for j in alone:
        there = np.sum((b.logs > a.ends[j, 0] + shift) & (b.logs <= a.ends[j, 1] + shift))
        raw.append(fisher(a.counts[j], n, int(there), m))
    for k in new:
        there = np.sum((a.logs > b.ends[k, 0] - shift) & (a.logs <= b.ends[k, 1] - shift))
        raw.append(fisher(b.counts[k], m, int(there), n))
    adjusted = holm(raw)
    alpha = sorted(adjusted)[len(adjusted) // 2]  # some are proven, others not
    for claims in (True, False):
        matched, gone, come = _tested(a, b, pairs, shift, alpha * (1 + 1e-6), claims)
        proven = [claims and p <= alpha for p in adjusted]
        for i, ((x, y), (ratio, *rest)) in enumerate(zip(insides, matched, strict=True)):
            each = alpha * (1 + 1e-6) / len(raw)
            interval = stats.ttest_ind(x, y, equal_var=False).confidence_interval(1 - each)
            told = (ratio.value, ratio.low, ratio.high, ratio.confidence)
            expected = (math.exp(x.mean() - y.mean()), math.exp(interval.low), math.exp(interval.high))
            assert told == pytest.approx((*expected, 1 - each))
            assert rest[:2] == [x.size / n, y.size / m]
            assert rest[2:4] == proven[2 * i : 2 * i + 2]
            assert rest[4:] == pytest.approx(adjusted[2 * i : 2 * i + 2])
        of_alone = proven[2 * len(pairs) : 2 * len(pairs) + len(alone)]
        assert gone == [j for j, told in zip(alone, of_alone, strict=True) if told]
        of_new = proven[2 * len(pairs) + len(alone) :]
        assert come == [k for k, told in zip(new, of_new, strict=True) if told]


def test_a_claim_at_its_risk() -> None:
    """Two of two modes changed their weights: at the adjusted p-value itself they are shown, below it not."""
    rng = np.random.default_rng(2)
    a, b = drawn(rng, (0.0, 1.0), (20, 12)), drawn(rng, (0.0, 1.0), (10, 22))
    *_, pvalue = _tested(a, b, [(0, 0), (1, 1)], 0.0, 0.05, True)[0][0]
    for alpha, shown in ((pvalue, True), (float(np.nextafter(pvalue, 0.0)), False)):
        assert _tested(a, b, [(0, 0), (1, 1)], 0.0, alpha, True)[0][0][4] is shown


def test_a_value_at_an_end_is_in_the_mode_below() -> None:
    one = _Side(
        np.array([0.0, 1.0, 2.0]), np.array([0.5, 1.5]), np.array([[-math.inf, 1.0], [1.0, math.inf]]), (2, 1)
    )
    assert [one.values(one.inside(mode)).tolist() for mode in (0, 1)] == [[0.0, 1.0], [2.0]]


def test_samples_without_any_spread() -> None:
    """Equal: nothing is shown. Not equal: everything is, and the difference is exact."""
    assert _welch(np.ones(3), np.ones(4), 0.05) == (1.0, 0.0, 0.0)
    assert _welch(np.ones(3), np.full(4, 2.0), 0.05) == (0.0, -1.0, 0.0)
    pvalue, difference, half = _welch(np.array([0.0, 1.0]), np.array([0.0, 1.0, 0.5]), 0.05)
    assert (pvalue, difference) == (1.0, 0.0)
    assert half > 0.0


def test_a_quarter_of_the_distance_is_no_move() -> None:
    """Two modes a fortieth of a factor apart are one place; from there on a shift costs as much as half a mode."""
    for share, expected in ((0.25, True), (0.26, False)):
        apart = share * math.log(1.1)
        a, b = (
            _Side(np.full(9, at), np.array([at]), np.array([[-math.inf, math.inf]]), (9,))
            for at in (0.0, apart)
        )
        assert _aligned(a, b) == ([(0, 0)], apart if expected else 0.0)


@pytest.mark.parametrize(
    "counts",
    [
        (5, 9, 6, 7),
        (4, 9, 6, 7),
        (5, 9, 6, 4),
        (4, 5, 5, 4),
        (4, 4, 5, 9),
        (5, 4, 6, 7),
        (9, 5, 3, 5),
        (6, 4, 1, 5),
    ],
)
def test_modes_of_fewer_than_five_values_are_left_out(
    monkeypatch: pytest.MonkeyPatch, counts: tuple[int, ...]
) -> None:
    """They are outliers of no mode; the others keep their places, ends and numbers."""
    places, valleys = np.array([1.0, 2.0, 4.0, 8.0]), np.array([1.5, 3.0, 6.0])
    clear = SimpleNamespace(count=4, places=places, valleys=valleys)
    asked: list[int] = []

    def fit(_: FloatArray, K_max: int) -> SimpleNamespace:
        asked.append(K_max)
        return SimpleNamespace(model=None)

    monkeypatch.setattr(modes, "fit", fit)
    monkeypatch.setattr(modes, "clear_modes", lambda _: clear)
    values = np.repeat(places, counts)
    found = _side(values, 7)
    kept = [k for k in range(4) if counts[k] >= 5]
    ends = [-math.inf, *np.log(valleys), math.inf]
    assert found.counts == tuple(counts[k] for k in kept)
    assert found.places.tolist() == np.log(places[kept]).tolist()
    assert [found.inside(mode) for mode in range(len(kept))] == [(ends[k], ends[k + 1]) for k in kept]
    assert [found.values(found.inside(mode)).size for mode in range(len(kept))] == list(found.counts)
    with pytest.raises(DataError, match="no mode holds five"):
        _side(np.repeat(places, (4, 4, 3, 0)), 7)
    assert compare_modes(Pair(Key("b"), Sample(values), Sample(values[1:]))) is not None
    assert asked == [7, 7, 9, 9]


def pair(x: FloatArray, y: FloatArray) -> Pair:
    return Pair(Key("b", "m"), Sample(x, "s"), Sample(y, "s"))


def test_how_little_a_mixture_says_something_of() -> None:
    """Ten positive values of either side, at most a factor of 1e100 apart."""
    x = 1.0 + np.arange(10.0) / 10
    for y in (x, np.append(x, 1.5)):
        for sides in ((x, y), (y, x)):
            found = compare_modes(pair(*sides))
            assert found is not None
            assert found.sizes == (sides[0].size, sides[1].size)
    zero = np.append(0.0, x)
    nine = np.repeat([1.0, 2.0], (5, 4))  # one mode of five, as ten values have it
    assert _side(nine, 9).counts == (9,)
    for short in (x[1:], zero, nine):
        assert compare_modes(pair(short, np.append(x, 1.5))) is None
        assert compare_modes(pair(np.append(x, 1.5), short)) is None
    # What the largest value of each side is decides, wherever the others are.
    spread = np.append(x, 1e3)
    far = 1e50 * spread
    near = far / 1e100
    wide = near.copy()
    wide[0] *= 1e-9
    for small, told in ((near, True), (wide, True), (near * (1 - 1e-12), False)):
        assert (compare_modes(pair(far, small)) is not None) is told
        assert (compare_modes(pair(small, far)) is not None) is told


def test_what_is_told_of_two_samples() -> None:
    """Places of each side, its size and the risk; the median of each process; a claim at the p-value itself."""
    rng = np.random.default_rng(4)
    x, y = (np.exp(rng.normal(at, 0.02, 30)) for at in (3.0, 3.02))
    skew = np.array([1.0, 0.9, 2.0])
    nested = [
        Sample(np.outer(side, skew).ravel(), processes=np.repeat(np.arange(side.size), 3))
        for side in (x, y[:25])
    ]
    found = compare_modes(Pair(Key("b", "m"), *nested))
    plain = compare_modes(pair(x, y[:25]))
    assert found is not None
    assert plain is not None
    assert (found.benchmark, found.metric, found.unit, found.alpha, found.sizes) == (
        "b",
        "m",
        "s",
        0.05,
        (30, 25),
    )
    assert (
        found.pvalue
        == plain.pvalue
        == pytest.approx(
            float(stats.kstwobign.sf(stats.ks_2samp(x, y[:25]).statistic * math.sqrt(30 * 25 / 55)))
        )
    )
    assert found.gap == plain.gap == pytest.approx(np.abs(x[:, None] - y[:25]).mean())
    (own,) = plain.matched
    assert (own.reference, own.candidate) == (plain.reference_modes[0], plain.candidate_modes[0])
    assert own.reference < own.candidate
    scaled = compare_modes(pair(x * 2.0**300, y[:25] * 2.0**300))
    assert scaled is not None
    assert scaled.gap == pytest.approx(plain.gap * 2.0**300)


def test_a_test_of_one_distribution_at_its_risk() -> None:
    rng = np.random.default_rng(5)
    x, y = rng.normal(10, 0.1, 40), rng.normal(10.2, 0.1, 40)
    first = compare_modes(pair(x, y))
    assert first is not None
    for alpha, moved in ((first.pvalue, True), (float(np.nextafter(first.pvalue, 0.0)), False)):
        found = modes.compare_modes(pair(x, y), alpha=alpha)
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
    assert found.conclusion == f"no claim: {Assumption.SUCCESSFUL_RUNS.title} does not hold"


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
        told(((True, False), (False, True)), 1, 1, (Assumption.DRIFT,)) == "no claim: no drift does not hold"
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
    assert modes._fisher(*counts) == pytest.approx(expected, rel=1e-7, abs=1e-300)

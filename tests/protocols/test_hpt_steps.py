"""The first level along the speedups, written out: the pairs won that decide, and where they can change."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from speedproof.protocols.hpt_levels import Duel, HptRule, Side, score_duel
from speedproof.protocols.hpt_steps import OPEN, Steps, _bounded_states, _clean, _limits, _ratios, _windows

RULES: tuple[HptRule, HptRule] = ("paper", "exact")
FloatArray = npt.NDArray[np.float64]


def values(side: Side) -> list[float]:
    return [float(v) for v in np.repeat(side.rounded, side.counts)]


def of_size(n: int, m: int, gain: float, digits: int, seed: int = 0) -> Duel:
    rng = np.random.default_rng([n, m, digits, seed])
    a, b = gain * rng.lognormal(1, 0.15, n), rng.lognormal(1, 0.15, m)
    return score_duel(np.maximum(np.round(a, digits), 0.1), np.maximum(np.round(b, digits), 0.1))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    ("n", "m"), [(3, 3), (4, 3), (5, 7), (11, 11), (12, 11), (11, 12), (29, 4), (30, 8), (8, 30), (31, 40)]
)
def test_what_ties_do_to_the_pairs_that_decide(n: int, m: int, rule: HptRule) -> None:
    """Counted, t ties move twice the pairs won by t^2 / 4 and p of one side that equal q of the other by p q;
    normal, they lessen the variance. The article's tables and its normal distribution know nothing of them."""
    crossed = np.array([0, 1, 7, 40, n * m])
    whole = n + m
    for digits in (0, 1, 12):
        duel = of_size(n, m, 1.2, digits)
        assert duel.level is not None
        surely, possibly = _limits(duel, rule, crossed)
        counts = [values(side).count(v) for side in (duel.upper, duel.lower) for v in set(values(side))]
        if max(n, m) < (12 if rule == "paper" else 30):
            # Twice the pairs won without ties is even; U is counted by recursion over the largest value.
            ways = np.zeros((n + 1, m + 1, n * m + 1))
            ways[0, :, 0] = ways[:, 0, 0] = 1
            for i, j in product(range(1, n + 1), range(1, m + 1)):
                ways[i, j] = ways[i, j - 1]
                ways[i, j, j:] += ways[i - 1, j, : n * m + 1 - j]
            tail = ways[n, m, ::-1].cumsum()[::-1] / math.comb(whole, n)
            least = 2 * int(np.count_nonzero(tail > duel.level * (1 + 1e-12)))
            slack = 0 * crossed if rule == "paper" else sum(c * c // 4 for c in counts) + crossed
            # Any number above the last even one that is too few rejects as the next even one does.
            first = least if rule == "paper" else least - 1
            assert surely.tolist() == (first + slack).tolist()
            assert possibly.tolist() == (first - slack).tolist()
            continue
        z, margin = float(stats.norm.isf(duel.level)), 1e-9 * n * m
        for at, c in enumerate(crossed.tolist()):
            if rule == "paper":
                expected = [n * m + 2 * z * math.sqrt(n * m * (whole + 1) / 12)] * 2
            else:
                within = sum(t**3 - t for t in counts)
                ties = within, min(within + 3 * c * (c + 1), whole**3 - whole)
                expected = [
                    n * m
                    + 1
                    + 2 * z * math.sqrt(max(n * m / 12 * (whole + 1 - t / (whole * (whole - 1))), 0))
                    for t in ties
                ]
            assert surely[at] == pytest.approx(expected[0] + margin, rel=1e-13)
            assert possibly[at] == pytest.approx(expected[1] - margin, rel=1e-13)


@pytest.mark.parametrize("rule", RULES)
def test_what_bounds_of_the_pairs_won_decide(rule: HptRule) -> None:
    """A from the sure limit on, B from its mirror image on, neither where both stay below the other limit."""
    duel = of_size(6, 7, 1.0, 1)
    twice = 2 * 6 * 7
    least, most, crossed = (grid.ravel() for grid in np.indices((twice + 1, twice + 1, 4)))
    surely, possibly = _limits(duel, rule, crossed)
    found = _bounded_states(duel, rule, least, most, crossed)
    for state, low, high, sure, open_ in zip(
        found.tolist(), least.tolist(), most.tolist(), surely.tolist(), possibly.tolist(), strict=True
    ):
        neither = high < open_ and twice - low < open_
        assert state == (-1 if twice - high >= sure else 1 if low >= sure else 0 if neither else OPEN)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("gain", [0.6, 0.9, 1.0, 1.05, 1.2, 1.7])
@pytest.mark.parametrize("digits", [0, 1, 12])
@pytest.mark.parametrize(("n", "m"), [(30, 9), (9, 30), (35, 31), (60, 40)])
def test_windows_by_sorting_all_ratios(n: int, m: int, digits: int, gain: float, rule: HptRule) -> None:
    """Two pairs further than the numbers that decide, whatever ties; from 1 on, and one where they overlap."""
    duel = of_size(n, m, gain, digits)
    top, bottom = values(duel.upper), values(duel.lower)
    ratios = sorted(x / y for x in top for y in bottom)
    most = min(n * max(map(bottom.count, bottom)), m * max(map(top.count, top)))
    surely, possibly = _limits(duel, rule, np.array([0, most]))
    sure, perhaps = max(surely) / 2, min(possibly) / 2
    wanted = []
    for low, high in ((n * m - sure, n * m - perhaps), (perhaps, sure)):
        ends = ratios[max(int(low) - 2, 0)] * (1 - 1e-13), ratios[min(int(high) + 2, n * m - 1)] * (1 + 1e-13)
        if ends[1] >= 1:
            wanted.append((max(ends[0], 1.0), ends[1]))
    if len(wanted) == 2 and wanted[1][0] <= wanted[0][1]:
        wanted = [(wanted[0][0], wanted[1][1])]
    assert np.array(_windows(duel, rule)) == pytest.approx(np.array(wanted), rel=1e-15)


@pytest.mark.parametrize("digits", [0, 1, 12])
@pytest.mark.parametrize("window", [(1.0, math.inf), (1.0, 1.25), (1.1, 1.5)])
def test_ratios_of_a_window(digits: int, window: tuple[float, float]) -> None:
    """In order, each with how many pairs of runs it stands for; and which of those together are one number."""
    duel = of_size(7, 9, 1.3, digits)
    up, low = duel.upper, duel.lower
    pairs = [
        (x / y, i * low.rounded.size + j, int(up.counts[i] * low.counts[j]))
        for (i, x), (j, y) in product(enumerate(up.rounded.tolist()), enumerate(low.rounded.tolist()))
    ]
    found, places, weights, beyond = _ratios(duel, *window)
    wanted = sorted(p for p in pairs if window[0] * (1 - 1e-14) < p[0] <= window[1])
    assert found.tolist() == [ratio for ratio, *_ in wanted]
    assert sorted(zip(found.tolist(), places.tolist(), weights.tolist(), strict=True)) == wanted
    assert beyond == sum(weight for ratio, _, weight in pairs if ratio > window[1])
    for size in (1, 2, 3):
        starts = np.arange(0, found.size - size, size)
        exact = [
            {Fraction(int(up.values[k // low.values.size]), int(low.values[k % low.values.size]))}
            for k in places.tolist()
        ]
        same = [len(set().union(*exact[at : at + size])) == 1 for at in starts.tolist()]
        assert _clean(duel, places, starts, starts + size).tolist() == same


@pytest.mark.parametrize(
    ("start", "states", "falls"),
    [
        (1, [(1, 0), (0, -1)], True),
        (1, [], True),
        (0, [(-1, -1)], True),
        (1, [(0, 1)], False),
        (0, [(1, 0)], False),
        (-1, [(-1, 0)], False),
        (1, [(OPEN, 0)], False),
        (1, [(1, OPEN)], False),
        (1, [(0, 0), (0, -1), (0, -1)], False),
    ],
)
def test_whether_a_state_ever_rises(start: int, states: list[tuple[int, int]], falls: bool) -> None:
    """With the speedup, as far as it is known; and what it is between the points."""
    points = np.arange(2.0, len(states) + 2)
    at, after = (np.array([pair[k] for pair in states], np.int8) for k in (0, 1))
    steps = Steps(of_size(3, 3, 1.0, 1), start, points, at, after, ())
    assert steps.falls is falls
    assert steps.state_at(np.arange(1.5, len(states) + 2)).tolist() == [start, *after.tolist()]

"""The search for several changes of level written out: one interval, one place, one series at a time."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tests.stats.test_more_twins import naive_change_pvalue

from speedproof.stats import change_points
from speedproof.stats.change_points import ChangePoint, change_pvalues, find_changes
from speedproof.stats.change_scan import (
    change_scan,
    confidence_set,
    difference_dependence,
    normal_scores,
    step_dependence,
)
from speedproof.stats.two_levels import places_of_step, two_levels

Series = npt.NDArray[np.float64]


def share_of(n: int) -> float:
    """What shows three values at the end of n at 1 %, of the risk; at least a fiftieth."""
    return min(1.0, max(0.02, 2 / math.comb(n, 3) / 0.01)) if n > 2 else 1.0


def shown(x: Series, rho: float) -> tuple[float, int]:
    """The smaller p-value of two levels and of the scan, each over its share of the risk, with its split."""
    n = x.size
    share = share_of(n) if n <= 72 else 0.0
    levels, scan = two_levels(x[None]), change_scan(x, dependence=rho)
    found = []
    if share < 1:
        found.append((float(scan.pvalue) / (1 - share), 0, int(scan.split)))
    if share > 0:
        found.append((float(levels.pvalue[0]) / share, 1, int(levels.split[0])))
    pvalue, _, split = min(found)
    return pvalue, split


def seeded(n: int) -> list[tuple[int, list[int]]]:
    """From all values on each length is the last one over the root of two; neighbours overlap by about a half."""
    found, length = [], float(n)
    while length >= 8:
        size = math.ceil(length)
        count = 2 * math.ceil(n / size) - 1
        gap = (n - size) / max(count - 1, 1)
        found.append((size, sorted({int(k * gap) for k in range(count)})))
        length *= 2**-0.5
    return found


def proposed(x: Series, alpha: float, rho: float) -> list[int]:
    found = []
    for size, starts in seeded(x.size):
        for start in starts:
            pvalue, split = shown(x[start : start + size], rho)
            if pvalue <= alpha / len(starts):
                found.append((size, pvalue, start, start + split))
    kept: list[tuple[int, int, int]] = []
    for size, _, start, place in sorted(found):
        if not any(start < end and other < start + size for other, end, _ in kept):
            kept.append((start, start + size, place))
    return sorted(place for *_, place in kept)


def confirmed(x: Series, splits: list[int], alpha: float, rho: float) -> tuple[list[int], list[float]]:
    while True:
        bounds = [0, *splits, x.size]
        pvalues = [shown(x[bounds[k] : bounds[k + 2]], rho)[0] for k in range(len(splits))]
        worst = pvalues.index(max(pvalues))
        if len(splits) == 1 or pvalues[worst] <= alpha / (len(splits) + 1):
            return splits, pvalues
        splits = splits[:worst] + splits[worst + 1 :]


def located(
    x: Series, start: int, split: int, end: int, pvalue: float, alpha: float, rho: float
) -> ChangePoint:
    """The place with the least absolute deviations from the medians of what surely lies on either side."""
    part = x[start:end]
    possible = confidence_set(part, alpha, dependence=rho, best=split - start).tolist()
    low, high = min(possible), max(possible)
    one, two = np.median(part[:low]), np.median(part[high:])

    def cost(k: int) -> float:
        return float(np.abs(part[low:k] - one).sum() + np.abs(part[k:high] - two).sum())

    best = min(range(low, high + 1), key=cost)
    return ChangePoint(start + best, start + low, start + high, pvalue)


def naive_changes(x: Series, alpha: float) -> list[ChangePoint]:
    n = x.size
    if naive_change_pvalue(x) > alpha:
        return []
    levels = two_levels(x[None])
    pvalue, step = float(levels.pvalue[0]) / share_of(n), int(levels.split[0])
    plain = [ChangePoint(step, *places_of_step(x, step, alpha), pvalue)] if pvalue <= alpha else []
    if plain and (n < 16 or float(change_scan(x).pvalue) > alpha):
        return plain
    scores = normal_scores(x)
    rho = min(max(float(difference_dependence(scores)), 0.0), 0.9)
    splits, pvalues = proposed(x, alpha, rho) or [int(change_scan(x).split)], [0.0]
    for _ in range(5):
        before = splits
        rho = float(step_dependence(scores, np.array(splits)))
        places = proposed(x, alpha, rho) or [int(change_scan(x, dependence=rho).split)]
        splits, pvalues = confirmed(x, places, alpha, rho)
        if splits == before:
            break
    if plain and len(splits) == 1:
        return plain
    ends = [0, *splits, n]
    return [located(x, ends[k], splits[k], ends[k + 2], pvalues[k], alpha, rho) for k in range(len(splits))]


def series_of(kind: int, n: int) -> Series:
    """Noise, independent or not, with no change to four, continuous or in steps."""
    rng = np.random.default_rng([kind, n])
    x, t = rng.standard_normal(n), np.arange(n)
    match kind:
        case 1:
            x += 9.0 * (t >= n // 2)
        case 2:
            x += 3.0 * (t >= n // 3) - 3.0 * (t >= 2 * n // 3)
        case 3:
            x = np.round(x + 2.5 * (t >= n // 4) + 2.5 * (t >= n // 2) + 2.5 * (t >= 3 * n // 4))
        case 4:
            for k in range(1, n):
                x[k] += 0.6 * x[k - 1]
            x[n // 2 : n // 2 + 9] += 20.0
        case 5:
            x = x.cumsum()
        case 6:
            x = np.round(x, 1) + 5.0 * (t >= n - 4)
        case 7:
            x += 2.0 * (t >= n // 2)
    return x


@pytest.mark.parametrize("n", [8, 9, 12, 15, 16, 24, 45, 80])
@pytest.mark.parametrize("kind", range(8))
def test_all_changes_in_loops(kind: int, n: int) -> None:
    x = series_of(kind, n)
    for alpha in (0.05, 0.4):
        assert list(find_changes(x, alpha)) == naive_changes(x, alpha)


def test_what_is_known_of_a_series_is_not_asked_again() -> None:
    """Its p-value decides whether there is a change at all; at equality there is."""
    x = series_of(1, 30)
    pvalue = float(change_pvalues(x[None])[0])
    assert find_changes(x, pvalue) == find_changes(x, pvalue, known=pvalue) != ()
    assert find_changes(x, 0.99 * pvalue) == find_changes(x, 0.05, known=0.051) == ()
    assert find_changes(x, 0.05, known=0.05) == find_changes(x, 0.05)
    assert find_changes(series_of(0, 30), 0.05, known=0.01) != ()


@pytest.mark.parametrize("at_once", [1, 2, 5])
def test_however_many_series_are_looked_at_together(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.stack([series_of(kind, 45) for kind in range(8)])
    expected = [naive_change_pvalue(row) for row in x]
    monkeypatch.setattr(change_points, "_AT_ONCE", at_once)
    assert change_pvalues(x).tolist() == pytest.approx(expected)


def test_seeded_intervals() -> None:
    for n in (0, 7, 8, 9, 16, 33, 100, 257):
        found = [(size, starts.tolist()) for size, starts in change_points._intervals(n)]
        assert found == seeded(n)


@pytest.mark.parametrize("n", [8, 10, 12, 40, 72, 73, 120])
def test_what_an_interval_shows(n: int) -> None:
    """Of rows at once: each the answer of the better test; the split of the one that shows more."""
    for rho in (0.0, 0.5):
        rows = np.stack([series_of(kind, n) for kind in range(8)])
        pvalue, split = change_points._shows(rows, rho)
        expected = [shown(row, rho) for row in rows]
        assert pvalue.tolist() == pytest.approx([p for p, _ in expected], rel=1e-12)
        assert split.tolist() == [k for _, k in expected]


def test_shares_of_the_risk() -> None:
    for n in range(8, 60):
        assert change_points._share(n) == pytest.approx(share_of(n))
    assert [change_points._share(n) for n in (0, 3, 7)] == [1.0, 1.0, 1.0]


def test_the_weakest_place_goes_first() -> None:
    """Of places that are none all go but the last; places that show stay, at their share of the risk."""
    for kind, n in itertools.product((0, 2, 3), (40, 60)):
        x = series_of(kind, n)
        for splits in ([9, 20, 31], [n // 3, 2 * n // 3], [5, 15, 25, 33]):
            for alpha in (1e-9, 0.01, 0.2, 0.9):
                given = list(splits)
                assert change_points._confirmed(x, given, alpha, 0.1) == confirmed(x, splits, alpha, 0.1)


@pytest.mark.parametrize("kind", ["noise", "falling and rising", "trend"])
def test_the_rounds_of_a_search(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The dependence that differences tell, none below 0 or above .9; then that of the last places, five times."""
    rng = np.random.default_rng(3)
    x = {
        "noise": rng.standard_normal(40),
        "trend": np.arange(40.0),
        "falling and rising": np.arange(40) % 2 * 1.0,
    }[kind]
    x = x + 1e-3 * rng.standard_normal(40)
    scores = normal_scores(x)
    first = min(max(float(difference_dependence(scores)), 0.0), 0.9)
    monkeypatch.setattr(
        change_points, "_confirmed", lambda _, splits, alpha, rho: (splits, [0.01] * len(splits))
    )
    for turns, places in (([[10], [20, 30]], 6), ([[15]], 2)):
        asked: list[float] = []

        def told(_: Series, alpha: float, rho: float, asked: Any = asked, turns: Any = turns) -> list[int]:
            asked.append(rho)
            return list(turns[len(asked) % len(turns)])

        monkeypatch.setattr(change_points, "_proposed", told)
        find_changes(x, 0.05, known=0.0)
        later = [
            float(step_dependence(scores, np.array(turns[(k + 1) % len(turns)]))) for k in range(places - 1)
        ]
        assert asked == pytest.approx([first, *later])


@pytest.mark.parametrize("n", [39, 40, 50, 72, 101, 103])
def test_changes_that_were_undone(n: int) -> None:
    """The least p-value of two levels in windows of 18 to 72 values, times their number; from 40 values on."""
    x = np.stack([series_of(kind, n) for kind in (0, 2, 4, 5, 6)])
    windows = [(start, start + size) for size, starts in seeded(n) for start in starts if 18 <= size <= 72]
    least = [min(float(two_levels(row[None, a:b]).pvalue[0]) for a, b in windows) for row in x]
    found = change_points._passing(x)
    assert found.tolist() == pytest.approx([p * len(windows) for p in least])
    share = share_of(n)
    for row, passing in zip(x, found.tolist(), strict=True):
        parts = [float(two_levels(row[None]).pvalue[0]) / share]
        if n < 40:
            parts += [float(change_scan(row).pvalue) / (1 - share)]
        else:
            parts += [float(change_scan(row).pvalue) / (1 - share - 0.05), passing / 0.05]
        assert float(change_pvalues(row[None])[0]) == pytest.approx(min(1.0, *parts))

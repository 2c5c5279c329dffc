"""Alarms of jumps and cumulative sums: loops over values, published mean runs, simulated rates and delays."""

import math
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats
from tests.stats.series import autoregressive

from speedproof.stats import alarms as module
from speedproof.stats.alarms import (
    Alarm,
    alarms,
    all_alarms,
    first_alarms,
    first_jumps,
    mean_run,
    newest_jump,
    run_limit,
)

Series = npt.NDArray[np.float64]


def noise(kind: str, rng: np.random.Generator, shape: tuple[int, int]) -> Series:
    if kind.startswith("AR"):
        return autoregressive(rng, *shape, float(kind.split()[1]))
    x = rng.standard_normal(shape)
    if kind == "log-normal":
        return np.exp(x)
    return x + (kind == "outliers") * (rng.random(shape) < 0.05) * rng.exponential(10.0, shape)


def chance(new: int, before: int, beyond: int) -> float:
    """That so many new values lie beyond all but so many of those before, on either side."""
    return 2 * math.comb(beyond + new, new) / math.comb(before + new, new)


def naive_left(new: int, before: int, most: float) -> int:
    """How many of those before may lie beyond: none if one is new, else one in 40 each; -1 if too few."""
    allowed = range(1 + (math.ceil(before * new / 40) if new > 1 else 0))
    return max((k for k in allowed if before >= 10 and chance(new, before, k) <= most), default=-1)


def naive_pvalue(before: Series, new: Series, left: int, nearer: float = 0.85) -> float:
    """Student's test of the new values' mean against those before, with the variances of an autoregression."""
    beyond = min(sum(before >= new.min()), sum(before <= new.max())) if left >= 0 else math.inf
    if beyond > left:
        return 1.0
    ordered = np.sort(before)
    drawn, share = np.clip(before, ordered[left], ordered[::-1][left]), left / before.size
    r, m, level = before.size, new.size, drawn.mean()
    way, up = (np.sign(new.mean() - level) * (x - level) for x in (before, new))
    if any((way >= nearer * up.min()) & (way * 0.85 <= up.max())):
        return 1.0
    end = float(stats.norm.isf(share))
    inside = (1 - 2 * share) * float(stats.truncnorm(-end, end).var()) + 2 * share * end**2 if left else 1.0
    rest = drawn - level
    raw = float(rest[1:] @ rest[:-1]) / float(rest @ rest)
    rho = min(max(raw + (1 + 3 * max(raw, 0.0)) / r, 0.0), 0.9)

    def of_mean(k: int) -> float:
        return sum(rho ** abs(i - j) for i in range(k) for j in range(k)) / k**2

    variance = float(rest @ rest) / inside / (r * max(1 - of_mean(r), 0.1))
    distance = abs(new.mean() - level) / math.sqrt(variance * (of_mean(m) + of_mean(r)))
    return 2 * float(stats.t.sf(distance, max(r * (1 - rho) / (1 + rho) - 1, 2.0)))


def naive_jump(x: Series, mean: float) -> Alarm | None:
    """Commit by commit: two to five new values against up to a hundred."""
    for raised in range(x.size):
        found = []
        for new in range(2, 6):
            end = raised + 1 - new
            before = x[max(0, end - 100) : max(end, 0)]
            if end < 10:
                continue
            left = naive_left(new, before.size, 8000 / mean**1.8)
            pvalue = naive_pvalue(before, x[end : raised + 1], left)
            if pvalue * mean * {2: 2.2, 3: 3.5, 4: 8, 5: 20}[new] <= 1:
                found.append((pvalue, end))
        if found:
            since = min(found)[1]
            return Alarm(raised, since, bool(x[since] > np.median(x[max(0, since - 100) : since])))
    return None


@pytest.mark.parametrize("mean", np.geomspace(1.2, 30.0, 25).tolist())
def test_jumps_of_few_values_that_rise_against_a_loop(mean: float) -> None:
    """Neighbours so alike that Student's distribution has the fewest degrees of freedom, two."""
    x = np.append(np.arange(10.0) + 0.5 * np.random.default_rng(2).standard_normal(10), [40.0, 41.0])
    assert first_jumps(x[None], mean)[0] == naive_jump(x, mean)
    for before, outliers in ((40, 2), (40, 3), (41, 3), (41, 4)):  # one in forty for each new value
        x = np.random.default_rng(before).standard_normal(before + 2) + 20.0 * (
            np.arange(before + 2) >= before
        )
        x[5 : 5 + outliers] += 60.0
        assert first_jumps(x[None], 40.0 * mean)[0] == naive_jump(x, 40.0 * mean)


@pytest.mark.parametrize("n", [1, 11, 12, 30, 140])
@pytest.mark.parametrize("mean", [5.0, 300.0, 4000.0])
def test_jumps_against_a_loop(n: int, mean: float) -> None:
    """Steps up and down, a trend, dependence, an early outlier; in any unit."""
    for seed in range(12):
        rng = np.random.default_rng([n, seed])
        x = noise(("normal", "AR .6", "outliers")[seed % 3], rng, (1, n))[0]
        x += (8.0, -4.0, 0.0, 5.0, 0.0, -9.0)[seed % 6] * (np.arange(n) >= n - 6)
        x += 0.3 * (seed == 4) * np.arange(n) + (30.0, -20.0, 6.0)[seed % 3] * (seed > 5) * (
            np.arange(n) == 4
        )
        expected = naive_jump(x, mean)
        for unit in (1.0, 1e-9):
            assert first_jumps(unit * x[None], mean)[0] == expected
    assert first_jumps(np.ones((1, n)), mean) == [None]


@pytest.mark.parametrize("n", [1, 11, 12, 60, 140])
@pytest.mark.parametrize("mean", [20.0, 50.0, 500.0])
def test_jumps_of_the_newest_values_against_a_loop(n: int, mean: float) -> None:
    """One value beyond all before, two beyond all but a few; the chance of that is at most four in the mean."""
    for seed in range(9):
        x = noise(("normal", "AR .6")[seed % 2], np.random.default_rng([n, seed]), (1, n))[0]
        x[n - seed % 3 :] += (9.0, -5.0, 3.5)[seed // 3]
        x[4:5] += 20.0 * (seed % 2)
        found = []
        for new in (1, 2):
            before = x[max(0, n - new - 100) : max(n - new, 0)]
            if before.size >= 10:
                pvalue = naive_pvalue(before, x[n - new :], naive_left(new, before.size, 4 / mean), 1.0)
                found += [(pvalue, n - new)] if pvalue * mean * {1: 2.5, 2: 2.2}[new] <= 1 else []
        assert newest_jump(x, mean) == (min(found)[1] if found else None)


@pytest.mark.parametrize(
    ("benchmarks", "new", "before"),
    [(1, 1, 24), (2, 1, 49), (4, 1, 99), (5, 1, None), (10, 2, 21), (100, 2, 70)],
)
def test_the_newest_values_need_many_before_them(benchmarks: int, new: int, before: int | None) -> None:
    """As the manual says: the least at which the chance of such ranks is small enough, however large the jump."""
    x = np.append(np.random.default_rng(8).normal(size=200), [1000.0, 1000.0][:new])
    mean = 1000.0 / 20.0 * benchmarks
    enough = [k for k in range(10, 101) if 2 / math.comb(k + new, new) <= 4 / mean]
    assert enough[:1] == [before] * (before is not None)
    seen = [k for k in range(200) if newest_jump(x[200 - k :], mean) == k]
    assert min(seen, default=None) == before


@pytest.mark.parametrize("kind", ["normal", "AR .6", "log-normal", "outliers"])
@pytest.mark.parametrize("benchmarks", [1, 10])
def test_unconfirmed_alarms_are_as_rare_as_stated(kind: str, benchmarks: int) -> None:
    """One in 50 commits of so many benchmarks: of 6,000 values at most 120, or 12, and four deviations of that."""
    x, mean = noise(kind, np.random.default_rng(9), (30, 200)), 50.0 * benchmarks
    count = sum(len({newest_jump(row[:n], mean) for n in range(11, 201)} - {None}) for row in x)
    expected = x.size / mean
    assert count <= expected + 4 * math.sqrt(expected)


@pytest.mark.parametrize("kind", ["normal", "AR .3", "AR .6", "log-normal", "outliers"])
def test_false_alarms_are_as_rare_as_stated(kind: str) -> None:
    """One in 500 values: of 10,000 at most 20, and four deviations of that."""
    x = noise(kind, np.random.default_rng(8), (25, 400))
    assert sum(len(alarms(row, 500.0)) for row in x) <= 20 + 4 * math.sqrt(20)


@pytest.mark.parametrize(
    ("before", "stays", "step", "commits"),
    [(20, 10, 10.0, 2), (40, 10, 5.0, 3), (20, 5, 8.0, 2), (20, 9, 12.0, 2)],
)
def test_large_steps_are_announced_soon(before: int, stays: int, step: float, commits: int) -> None:
    """Of ten nine, or what undoes them, within so many commits where one false alarm in 1,000 is allowed."""
    soon, at = 0, before if stays == 10 else before + stays
    for seed in range(60):
        x = np.random.default_rng([2, seed]).standard_normal(before + stays + 6)
        x[before : before + stays] += step
        soon += any(a.since == at and a.raised < at + commits for a in alarms(x, 1000.0))
    assert soon >= 51


@pytest.mark.parametrize("kind", ["normal", "AR .3"])
def test_a_new_level_raises_no_more_false_alarms(kind: str) -> None:
    """One in 500 values after a step of ten deviations: of 2,500 at most 5, and four deviations of that."""
    x = noise(kind, np.random.default_rng(10), (100, 45))
    x[:, 20:] += 10.0 * x.std()
    count = sum(max(sum(alarm.raised >= 20 for alarm in alarms(row, 500.0)) - 1, 0) for row in x)
    assert count <= 5 + 4 * math.sqrt(5)


def test_the_earlier_of_both_kinds_counts() -> None:
    """Small changes are left to the cumulative sum, at half of the stated rate."""
    x = np.random.default_rng(6).standard_normal(120) + 1.5 * (np.arange(120) >= 60)
    alarm = alarms(x, 500.0)[0]
    slow = first_alarms(x[None], run_limit(1000.0))[0]
    assert slow is not None
    assert first_jumps(x[None], 1000.0) == [None]
    assert (alarm.raised, alarm.up) == (slow.raised, True)
    assert abs(alarm.since - 60) <= 10
    assert alarms([], 500.0) == ()


def test_several_series_are_watched_like_each_alone() -> None:
    """Steps, ties, other lengths and levels that begin elsewhere change nothing of a neighbour's alarms."""
    rng = np.random.default_rng(8)
    series = [rng.standard_normal(n) + 3.0 * (np.arange(n) % 90 >= 45) for n in (1, 9, 12, 150, 200) * 3]
    series += [np.round(x) for x in series]
    together = all_alarms(series, 100.0)
    assert together == [alarms(x, 100.0) for x in series]
    assert {len(found) for found in together} == {0, 3, 4, 5}


@pytest.mark.parametrize(
    ("limit", "slack", "published"),
    [(4.0, 0.5, 168.0), (5.0, 0.5, 465.0), (4.77, 0.5, 370.0), (8.01, 0.25, 370.0), (3.34, 0.75, 370.0)],
)
def test_mean_runs_of_published_tables(limit: float, slack: float, published: float) -> None:
    """Montgomery, Introduction to Statistical Quality Control, tables 9.3 and 9.4 (Hawkins, 1993)."""
    assert mean_run(limit, slack) == pytest.approx(published, rel=0.01)


def alarms_of_sums(x: npt.ArrayLike, mean: float) -> tuple[Alarm, ...]:
    """One after another, each new level watched from its start."""
    values, limit, start, found = np.asarray(x, dtype=np.float64), run_limit(mean), 0, []
    while (alarm := first_alarms(values[None, start:], limit)[0]) is not None:
        found.append(Alarm(start + alarm.raised, start + alarm.since, alarm.up))
        start += alarm.since
    return tuple(found)


def naive_alarms(x: list[float], limit: float) -> list[Alarm]:
    """Value by value: the first ten of a level only serve for ranking."""
    found: list[Alarm] = []
    start, k = 0, 0
    while start + k < len(x):
        if k == 0:
            scores: list[float] = []
            sums, since = {True: 0.0, False: 0.0}, {True: start + 10, False: start + 10}
        here = x[start : start + k + 1]
        below, equal = sum(v < here[-1] for v in here), sum(v == here[-1] for v in here)
        scores.append(NormalDist().inv_cdf((below + equal / 2) / len(here)))
        earlier = list(zip(scores[1:-1], scores, strict=False))
        squares = sum(before**2 for _, before in earlier)
        likeness = sum(a * b for a, b in earlier) / squares if squares > 0 else 0.0
        rho = min(max(likeness + 2 / (k + 1), 0.0), 0.9)
        k += 1
        if k <= 10:
            continue
        fresh = (scores[-1] - rho * scores[-2]) / math.sqrt(1 - rho**2)
        for up in (True, False):
            sums[up] = max(0.0, sums[up] + (fresh if up else -fresh) - 0.5)
            since[up] = start + k if sums[up] == 0 else since[up]
        over = [up for up in (True, False) if sums[up] > limit]
        if over:
            found.append(Alarm(start + k - 1, since[over[0]], over[0]))
            start, k = since[over[0]], 0
    return found


@pytest.mark.parametrize("mean", [4.0, 20.0, 300.0])
def test_against_a_loop_over_values(mean: float) -> None:
    """Steps, trends and ties; also where the first values already run away."""
    rng = np.random.default_rng(int(mean))
    limit = run_limit(mean)
    for n in (1, 2, 11, 12, 40, 120):
        for _ in range(6):
            x = (
                rng.normal(size=n)
                + rng.choice([0.0, 1.5]) * (np.arange(n) > n // 2)
                + rng.choice([0.0, 0.3]) * np.arange(n)
            )
            for series in (x, np.round(x), -x):
                assert list(alarms_of_sums(series, mean)) == naive_alarms(series.tolist(), limit)


@pytest.mark.parametrize("mean", [0.3, 1.0, 2.0, 3.3, 4.0, 6.0, 1000.0, 2e5, 1e8])
def test_the_limit_is_the_first_double_that_is_enough(mean: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a mean run that is the limit itself: the very number, wherever the search begins."""
    assert mean < 50.0 or mean_run(run_limit(mean)) == pytest.approx(mean, rel=1e-6)
    monkeypatch.setattr(module, "mean_run", lambda limit: limit)
    assert run_limit.__wrapped__(mean) == mean

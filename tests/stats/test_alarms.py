"""Alarms of jumps and small changes: a loop over values, simulated rates and delays."""

import math

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from speedproof.stats.alarms import (
    Alarm,
    alarms,
    all_alarms,
    first_alarms,
    first_jumps,
    jumps,
    newest_jump,
    run_limit,
)

Series = npt.NDArray[np.float64]


def noise(kind: str, rng: np.random.Generator, shape: tuple[int, int]) -> Series:
    x = rng.standard_normal(shape)
    match kind:
        case "log-normal":
            x = np.exp(x)
        case "outliers":
            x += (rng.random(shape) < 0.05) * rng.exponential(10.0, shape)
        case "AR .3" | "AR .6":
            rho = float(kind.split()[1])
            x[:, 1:] *= math.sqrt(1 - rho**2)
            for t in range(1, shape[1]):
                x[:, t] += rho * x[:, t - 1]
    return x


def naive_pvalue(before: Series, new: Series) -> float:
    """Student's test of the new values' mean against those before, with the variances of an autoregression."""
    if not (new.min() > before.max() or new.max() < before.min()):
        return 1.0
    r, m, level = before.size, new.size, before.mean()
    rest = before - level
    raw = float(rest[1:] @ rest[:-1]) / float(rest @ rest)
    rho = min(max(raw + (1 + 3 * max(raw, 0.0)) / r, 0.0), 0.9)

    def of_mean(k: int) -> float:
        return sum(rho ** abs(i - j) for i in range(k) for j in range(k)) / k**2

    variance = float(rest @ rest) / (r * max(1 - of_mean(r), 0.1))
    distance = abs(new.mean() - level) / math.sqrt(variance * (of_mean(m) + of_mean(r)))
    return 2 * float(stats.t.sf(distance, max(r * (1 - rho) / (1 + rho) - 1, 2.0)))


def naive_jump(x: Series, mean: float) -> Alarm | None:
    """Commit by commit: two to five new values against up to a hundred."""
    for raised in range(x.size):
        found = []
        for new in range(2, 6):
            end = raised + 1 - new
            before = x[max(0, end - 100) : max(end, 0)]
            if end < 10 or 2 / math.comb(before.size + new, new) * mean**1.8 > 8000:
                continue
            pvalue = naive_pvalue(before, x[end : raised + 1])
            if pvalue * mean * {2: 2.5, 3: 4, 4: 10, 5: 25}[new] <= 1:
                found.append((pvalue, end))
        if found:
            since = min(found)[1]
            return Alarm(raised, since, bool(x[since] > x[since - 1]))
    return None


@pytest.mark.parametrize("mean", np.geomspace(1.2, 30.0, 25).tolist())
def test_jumps_of_few_values_that_rise_against_a_loop(mean: float) -> None:
    """Neighbours so alike that Student's distribution has the fewest degrees of freedom, two."""
    x = np.append(np.arange(10.0) + 0.5 * np.random.default_rng(2).standard_normal(10), [40.0, 41.0])
    assert first_jumps(x[None], mean)[0] == naive_jump(x, mean)


@pytest.mark.parametrize("n", [1, 11, 12, 30, 140])
@pytest.mark.parametrize("mean", [5.0, 300.0, 4000.0])
def test_jumps_against_a_loop(n: int, mean: float) -> None:
    """Steps up and down, a trend, dependence; in any unit."""
    for seed in range(6):
        rng = np.random.default_rng([n, seed])
        x = noise(("normal", "AR .6", "outliers")[seed % 3], rng, (1, n))[0]
        x += (8.0, -4.0, 0.0, 5.0, 0.0, -9.0)[seed] * (np.arange(n) >= n - 6) + 0.3 * (seed == 4) * np.arange(
            n
        )
        expected = naive_jump(x, mean)
        for unit in (1.0, 1e-9):
            assert first_jumps(unit * x[None], mean)[0] == expected
    assert first_jumps(np.ones((1, n)), mean) == [None]


@pytest.mark.parametrize("n", [1, 11, 12, 60, 140])
@pytest.mark.parametrize("mean", [20.0, 50.0, 500.0])
def test_jumps_of_the_newest_values_against_a_loop(n: int, mean: float) -> None:
    """One or two values, beyond all before; their ranks of a chance of at most four in the mean."""
    for seed in range(9):
        x = noise(("normal", "AR .6")[seed % 2], np.random.default_rng([n, seed]), (1, n))[0]
        x[n - seed % 3 :] += (9.0, -5.0, 3.5)[seed // 3]
        found = []
        for new in (1, 2):
            before = x[max(0, n - new - 100) : max(n - new, 0)]
            if before.size >= 10 and 2 / math.comb(before.size + new, new) * mean <= 4:
                pvalue = naive_pvalue(before, x[n - new :])
                found += [(pvalue, n - new)] if pvalue * mean * 2.5 <= 1 else []
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
    found = [jumps(x, mean, new, 4.0 / mean) for new in (1, 2)]
    count = len(
        {place for row, *_, since in found for place in zip(row.tolist(), since.tolist(), strict=True)}
    )
    expected = x.size / mean
    assert count <= expected + 4 * math.sqrt(expected)


@pytest.mark.parametrize(("step", "values", "share"), [(5.0, 1, 0.9), (5.0, 2, 0.95), (10.0, 1, 0.99)])
def test_large_steps_are_suspected_at_once(step: float, values: int, share: float) -> None:
    """Of one benchmark by the first or the second of 40 values and more, whose place is named."""
    seen = 0
    for seed in range(100):
        x = np.random.default_rng([5, seed]).standard_normal(40 + values) + step * (
            np.arange(40 + values) >= 40
        )
        seen += newest_jump(x, 50.0) == 40
    assert seen >= 100 * share - 4 * math.sqrt(100 * share * (1 - share))


@pytest.mark.parametrize("kind", ["normal", "AR .3", "AR .6", "log-normal", "outliers"])
def test_false_alarms_are_as_rare_as_stated(kind: str) -> None:
    """One in 500 values: of 10,000 at most 20, and four deviations of that."""
    x = noise(kind, np.random.default_rng(8), (25, 400))
    assert sum(len(alarms(row, 500.0)) for row in x) <= 20 + 4 * math.sqrt(20)


@pytest.mark.slow
def test_false_alarms_are_as_rare_from_the_first_commits_on() -> None:
    """One in 1,000 commits of five benchmarks where neighbours correlate by .6, before a hundred are known."""
    count = watched = 0
    for raised in all_alarms([*noise("AR .6", np.random.default_rng(12), (20_000, 100))], 5000.0):
        count += bool(raised)
        watched += (raised[0].raised if raised else 99) - 9
    expected = watched / 5000.0
    assert count <= expected + 4 * math.sqrt(expected)


@pytest.mark.parametrize(("before", "step", "commits"), [(20, 10.0, 2), (40, 5.0, 3)])
def test_large_steps_are_announced_soon(before: int, step: float, commits: int) -> None:
    """Nine of ten within so many commits where one false alarm in 1,000 is allowed, at the very commit."""
    soon = exact = 0
    for seed in range(60):
        x = np.random.default_rng([2, seed]).standard_normal(before + 10) + step * (
            np.arange(before + 10) >= before
        )
        new = [alarm for alarm in alarms(x, 1000.0) if alarm.raised >= before]
        soon += bool(new) and new[0].raised < before + commits
        exact += bool(new) and new[0].since == before
    assert soon >= 54
    assert exact >= 51


def test_each_change_is_announced() -> None:
    """+9, -5 and +6 deviations, fifteen values apart: the watch begins anew at each."""
    told = 0
    for seed in range(40):
        x = np.random.default_rng([3, seed]).standard_normal(75) * 0.7
        x += np.repeat([0.0, 9.0, 4.0, 10.0], [30, 15, 15, 15])
        since = {alarm.since for alarm in alarms(x, 1000.0)}
        told += sum(any(abs(at - k) <= 2 for k in since) for at in (30, 45, 60))
    assert told >= 0.9 * 120


@pytest.mark.parametrize(("stayed", "step"), [(5, 8.0), (9, 8.0), (9, 12.0)])
def test_what_is_undone_soon_is_announced_soon(stayed: int, step: float) -> None:
    """Nine of ten by its second value: the level before tells the noise of one of fewer than ten values."""
    soon = 0
    for seed in range(60):
        x = np.random.default_rng([4, seed]).standard_normal(26 + stayed)
        x[20 : 20 + stayed] += step
        soon += any(a.since == 20 + stayed and a.raised <= 21 + stayed for a in alarms(x, 1000.0))
    assert soon >= 54


@pytest.mark.parametrize("kind", [pytest.param("normal", marks=pytest.mark.slow), "AR .3"])
def test_a_new_level_raises_no_more_false_alarms(kind: str) -> None:
    """One in 500 values after a step of ten deviations: of 5,000 at most 10, and four deviations of that."""
    x = noise(kind, np.random.default_rng(10), (200, 45))
    x[:, 20:] += 10.0 * x.std()
    count = sum(max(sum(alarm.raised >= 20 for alarm in alarms(row, 500.0)) - 1, 0) for row in x)
    assert count <= 10 + 4 * math.sqrt(10)


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


def test_a_level_is_watched_from_its_first_value_on() -> None:
    """Two values beyond ten are enough; beyond nine they are not."""
    x = np.append(np.random.default_rng(1).standard_normal(10), [1000.0, 1001.0])
    assert alarms(x, 50.0) == (Alarm(11, 10, True),)
    assert alarms(x[1:], 50.0) == ()


def test_several_series_are_watched_like_each_alone() -> None:
    """Steps, ties, other lengths and levels that begin elsewhere change nothing of a neighbour's alarms."""
    rng = np.random.default_rng(8)
    series = [rng.standard_normal(n) + 3.0 * (np.arange(n) % 90 >= 45) for n in (1, 9, 12, 150, 200) * 3]
    series += [np.round(x) for x in series]
    together = all_alarms(series, 100.0)
    assert together == [alarms(x, 100.0) for x in series]
    assert {len(found) for found in together} == {0, 3, 4, 5}

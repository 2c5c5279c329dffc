"""Change points against loops, theory and simulation."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import speedproof.stats.change_scan as scan
from speedproof.stats.change_points import change_pvalues, find_changes
from speedproof.stats.change_scan import (
    change_scan,
    confidence_set,
    normal_scores,
    scan_pvalue,
    scan_statistic,
)


@pytest.mark.parametrize("n", [8, 15, 16, 61, 300])
@pytest.mark.parametrize("ties", [False, True])
def test_the_compiled_kernels_against_numpy(n: int, ties: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both give the same scores, splits and statistics, with a dependence that is estimated or given."""
    pytest.importorskip("speedproof.stats._scan", reason="built without a compiler")
    x = np.random.default_rng([n, ties]).normal(size=(9, n)) + 2.0 * (np.arange(n) >= n // 2)
    x[0] = 1.0
    x = np.asarray(np.round(x) if ties else x, dtype=np.float64)
    ours = [(normal_scores(x), *scan_statistic(x, rho)) for rho in (None, 0.4)]
    monkeypatch.setattr(scan, "COMPILED", None)
    numpys = [(normal_scores(x), *scan_statistic(x, rho)) for rho in (None, 0.4)]
    for own, twin in zip(ours, numpys, strict=True):
        for a, b in zip(own, twin, strict=True):
            assert a == pytest.approx(b, rel=1e-12, abs=1e-14)


def test_the_kernels_refuse_sizes_that_differ() -> None:
    """A table, weights or answers of another length than the rows need are no memory to read."""
    kernels = pytest.importorskip("speedproof.stats._scan", reason="built without a compiler")
    x, table, weights, one, at = np.ones(8), np.ones(15), np.ones(3), np.ones(1), np.ones(1, np.int64)
    kernels.scores(x, 8, table, np.ones(8))
    kernels.largest(x, 8, table, weights, 3, one, one, at)
    for n, margin in itertools.product((-1, 0, 1, 3, 7, 8, 9), (-1, 0, 2, 3, 5, 2**62)):
        if (n, margin) != (8, 3):
            with pytest.raises(ValueError, match="sizes"):
                kernels.largest(x, n, table, weights, margin, one, one, at)
        if n != 8:
            with pytest.raises(ValueError, match="sizes"):
                kernels.scores(x, n, table, np.ones(8))


def test_a_monotone_transformation_changes_nothing() -> None:
    """Ranks make the scan the same in seconds, milliseconds and logarithms."""
    x = np.random.default_rng(5).gamma(2.0, size=(20, 60))
    first, second, third = change_scan(x), change_scan(1e-9 * x), change_scan(np.log(x))
    assert np.array_equal(first.statistic, second.statistic)
    assert np.array_equal(first.pvalue, third.pvalue)


def test_series_reversed_in_time_mirror_their_split() -> None:
    """A step seen from the other end of time is the same step (no dependence to take out)."""
    x = np.where(np.arange(40) < 30, 0.0, 100.0) + np.random.default_rng(2).normal(size=40)
    assert int(change_scan(x).split) == 30
    assert int(change_scan(x[::-1]).split) == 10


@pytest.mark.parametrize("x", [[], [1.0], [1.0, 2.0, 3.0], [2.0] * 50])
def test_short_and_constant_series_show_nothing(x: list[float]) -> None:
    """Fewer than eight values and a constant have a p-value of 1."""
    assert float(change_scan(np.array(x)).pvalue) == 1.0
    assert find_changes(np.array(x), 0.05) == ()


def test_pvalues_fall_with_the_statistic_and_never_leave_the_unit_interval() -> None:
    """At every size p is a decreasing function from 1 to 0, beyond the table too."""
    t = np.linspace(0, 12, 400)
    for n in (8, 11, 100, 777, 4000, 20000):
        p = scan_pvalue(t, n)
        assert p[0] == 1.0
        assert (np.diff(p) <= 0).all()
        assert 0 <= p[-1] < 1e-3


@pytest.mark.parametrize(
    ("n", "rho", "most"), [(60, 0.0, 0.05), (100, 0.3, 0.05), (100, 0.6, 0.055), (250, 0.6, 0.05)]
)
def test_false_alarms_keep_the_risk(n: int, rho: float, most: float) -> None:
    """Series without a change, also of dependent values, alarm in at most alpha (4 standard errors)."""
    runs = 1500
    x = np.random.default_rng([n, int(10 * rho)]).standard_normal((runs, n))
    x[:, 1:] *= np.sqrt(1 - rho**2)
    for t in range(1, n):
        x[:, t] += rho * x[:, t - 1]
    alarms = float((change_scan(x).pvalue <= 0.05).mean())
    assert alarms <= most + 4 * np.sqrt(most * (1 - most) / runs)


def orders_of(counts: tuple[int, ...]) -> np.ndarray:
    """Every order of so many values 0, 1, ... once."""
    rows: list[tuple[list[int], list[int]]] = [([], list(counts))]
    for _ in range(sum(counts)):
        rows = [
            ([*row, value], [left - (i == value) for i, left in enumerate(rest)])
            for row, rest in rows
            for value in range(len(counts))
            if rest[value]
        ]
    return np.array([row for row, _ in rows], dtype=np.float64)


@pytest.mark.slow
@pytest.mark.parametrize("counts", [(6, 6), (7, 6), (10, 3), (8, 8), (17, 4), (35, 3), (4, 3, 3), (9, 4, 1)])
def test_equal_values_against_all_orders(counts: tuple[int, ...]) -> None:
    """Of all orders of a few values no more show such a p-value than it says, down to the least one."""
    x = orders_of(counts)
    for p in (np.asarray(change_scan(x).pvalue), change_pvalues(x)):
        ordered = np.sort(p)
        exact = np.searchsorted(ordered, ordered * (1 + 1e-9), side="right") / len(x)
        assert (exact <= ordered * (1 + 1e-9)).all()


@pytest.mark.parametrize(("n", "benchmarks"), [(40, 50), (60, 8_000), (100, 100_000)])
def test_a_large_step_of_rounded_values_shows_in_many_benchmarks(n: int, benchmarks: int) -> None:
    """The least p-values leave room for Holm's correction, whether values are equal or not."""
    noise = np.random.default_rng(n).standard_normal(n)
    step = 10_000.0 * (np.arange(n) >= n // 2)
    for x in (step + noise, step + np.round(2 * noise)):
        assert float(change_pvalues(x[None])[0]) <= 0.05 / benchmarks


@pytest.mark.parametrize(("n", "share"), [(12, 0.3), (13, 0.15), (15, 0.3), (20, 0.15), (40, 0.1)])
def test_suites_of_two_valued_benchmarks_keep_the_risk(n: int, share: float) -> None:
    """After Holm's correction at most 5 % of suites of 100 show a change that is none (4 standard errors)."""
    suites, benchmarks = 100, 100
    x = (np.random.default_rng([n, 9]).random((suites * benchmarks, n)) < share) * 1.0
    least = np.asarray(change_pvalues(x)).reshape(suites, benchmarks).min(axis=1)
    assert (least <= 0.05 / benchmarks).mean() <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / suites)


def test_so_many_benchmarks_of_twelve_commits_can_show_at_once() -> None:
    """docs/history.md says 21: Holm's least level must still be above the least p-value, and is not for 22."""
    x = np.random.default_rng(1).standard_normal((1, 12)) + 10_000.0 * (np.arange(12) >= 6)
    p = float(change_pvalues(x)[0])
    assert 0.05 / 22 < p <= 0.05 / 21


def test_several_changes_are_found_and_none_is_invented() -> None:
    """Of three clear changes nearly all are found, in intervals that hold them, and at most 5 % of series have one
    too many (4 standard errors)."""
    truth = np.array([50, 90, 140])
    level = np.repeat([0.0, 2.0, 0.5, 3.0], [50, 40, 50, 60])
    held, found, extra = 0, 0, 0
    for seed in range(40):
        changes = find_changes(level + np.random.default_rng(seed).normal(0, 0.7, 200), 0.05)
        extra += len(changes) > 3
        found += len(changes)
        held += sum(bool(((truth >= c.low) & (truth <= c.high)).any()) for c in changes)
    assert extra <= 40 * 0.05 + 4 * np.sqrt(40 * 0.05 * 0.95)
    assert found >= 108  # 90 % of 120
    assert held >= 0.9 * found


@pytest.mark.slow
@pytest.mark.parametrize("rho", [0.0, 0.3])
def test_one_change_is_rarely_taken_for_two(rho: float) -> None:
    """At most 5 % of 80 series with one change show another (4 standard errors)."""
    extra = 0
    for seed in range(80):
        noise = np.random.default_rng([7, seed]).standard_normal(120)
        noise[1:] *= np.sqrt(1 - rho**2)
        for t in range(1, 120):
            noise[t] += rho * noise[t - 1]
        extra += len(find_changes(noise + 2.0 * (np.arange(120) >= 70), 0.05)) > 1
    assert extra <= 80 * 0.05 + 4 * np.sqrt(80 * 0.05 * 0.95)


@pytest.mark.slow
def test_the_confidence_set_covers_the_place() -> None:
    """The set holds the true split in at least 95 % of 200 series (4 standard errors), and is short."""
    covered, lengths = 0, []
    for seed in range(200):
        x = np.random.default_rng([9, seed]).normal(size=80) + 1.5 * (np.arange(80) >= 30)
        splits = confidence_set(x, 0.05)
        covered += 30 in splits
        lengths.append(splits.size)
    assert covered >= 200 * (0.95 - 4 * np.sqrt(0.95 * 0.05 / 200))
    assert np.median(lengths) < 40


def test_a_large_change_that_was_undone_is_found() -> None:
    """33 commits of 200 that take 30 deviations more: a scan for one step takes them for dependence."""
    x = np.random.default_rng(4).standard_normal(200)
    x[1:] += 0.3 * x[:-1]
    x[110:143] += 30.0
    assert [change.split for change in find_changes(x, 0.05)] == [110, 143]


def test_a_large_step_is_not_drawn_towards_a_small_one() -> None:
    """Ranks see little of sizes: beside a step of 14 deviations one of 1.5 moves its place by nothing."""
    for seed in range(10):
        x = np.random.default_rng([11, seed]).standard_normal(200)
        x += 14.0 * (np.arange(200) >= 40) + 1.5 * (np.arange(200) >= 71)
        assert 40 in [change.split for change in find_changes(x, 0.05)]


def test_a_drift_is_no_step() -> None:
    """Five deviations over a hundred values are a drift in 75 % of series, a step of two in at most 10 %."""
    drifts = steps = 0
    for seed in range(40):
        noise = np.random.default_rng([12, seed]).standard_normal(100)
        drifts += any(change.drift for change in find_changes(noise + np.linspace(0, 5, 100), 0.05))
        steps += any(change.drift for change in find_changes(noise + 2.0 * (np.arange(100) >= 60), 0.05))
    assert drifts >= 30
    assert steps <= 4

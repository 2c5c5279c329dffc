"""The cumulative sum's mean runs against published tables, its alarms against what was planted."""

import math
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
import pytest

from speedproof.stats import alarms
from speedproof.stats.alarms import Alarm, first_alarms, first_jumps, mean_run, run_limit
from speedproof.stats.normal_scores import COMPILED


@pytest.mark.parametrize(
    ("limit", "slack", "published"),
    [(4.0, 0.5, 168.0), (5.0, 0.5, 465.0), (4.77, 0.5, 370.0), (8.01, 0.25, 370.0), (3.34, 0.75, 370.0)],
)
def test_mean_runs_of_published_tables(limit: float, slack: float, published: float) -> None:
    """Montgomery, Introduction to Statistical Quality Control, tables 9.3 and 9.4 (Hawkins, 1993)."""
    assert mean_run(limit, slack) == pytest.approx(published, rel=0.01)


def test_the_limit_inverts_the_mean_run() -> None:
    """Also for means that no simulation reaches."""
    for mean in (50.0, 1e3, 2e5, 1e8):
        assert mean_run(run_limit(mean)) == pytest.approx(mean, rel=1e-6)


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


@pytest.mark.parametrize("mean", [0.3, 1.0, 2.0, 3.3, 4.0, 6.0, 1000.0])
def test_the_limit_is_the_first_double_that_is_enough(mean: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a mean run that is the limit itself: the very number, wherever the search begins."""
    monkeypatch.setattr(alarms, "mean_run", lambda limit: limit)
    assert run_limit.__wrapped__(mean) == mean


@pytest.mark.parametrize(("rows", "n"), [(3, 60), (40, 60), (40, 9), (300, 511), (3, 1300)])
def test_the_compiled_kernel_against_numpy(rows: int, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bit for bit, of few rows, and of many that share their scores; of values that are equal, too."""
    if COMPILED is None:
        pytest.skip("built without a compiler")
    x = np.random.default_rng(n).standard_normal((rows, n))
    x[::2] += 2.0 * (np.arange(n) >= n // 2)
    x[::3] = np.round(x[::3])
    ours, jumps = first_alarms(x, 5.0), first_jumps(x, 100.0)
    assert n < 20 or sum(alarm is not None for alarm in ours) > 0
    monkeypatch.setattr(alarms, "COMPILED", None)
    assert first_alarms(x, 5.0) == ours
    assert first_jumps(x, 100.0) == jumps
    assert [first_alarms(row[None], 5.0)[0] for row in x[:40]] == ours[:40]


def test_the_kernel_refuses_sizes_that_differ() -> None:
    """Scores that make no whole rows and answers of another length are no memory to read."""
    if COMPILED is None:
        pytest.skip("built without a compiler")
    scores, found = np.zeros(16), np.zeros((2, 3), np.int64)
    COMPILED.walks(scores, 8, 10, 0.5, 0.9, 5.0, found)
    assert found[:, 0].tolist() == [-1, -1]
    for n in (-8, 0, 5, 16, 17):
        with pytest.raises(ValueError, match="sizes"):
            COMPILED.walks(scores, n, 10, 0.5, 0.9, 5.0, found)
    left, beyond = np.zeros(9, np.int64), np.zeros(16, np.bool_)
    COMPILED.beyond(
        scores, 8, 2, left, beyond
    )  # equal values lie beyond none, and before the first there are none
    assert np.flatnonzero(beyond).tolist() == [0, 8]
    for n, new, many in ((-8, 2, 16), (0, 2, 16), (5, 2, 16), (8, 0, 16), (8, 2, 15)):
        with pytest.raises(ValueError, match="sizes"):
            COMPILED.beyond(scores, n, new, left, np.zeros(many, np.bool_))

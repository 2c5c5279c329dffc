"""The cumulative sum's mean runs against published tables, its alarms against what was planted."""

import math
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
import pytest

from speedproof.stats import alarms
from speedproof.stats.alarms import Alarm, first_alarms, mean_run, run_limit


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

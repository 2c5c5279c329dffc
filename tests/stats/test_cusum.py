"""The cumulative sum's mean runs against published tables, its alarms against what was planted."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from speedproof.stats.cusum import alarms, mean_run, run_limit


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


@pytest.mark.parametrize("rho", [0.0, 0.3, 0.6])
def test_false_alarms_are_as_rare_as_stated(rho: float) -> None:
    """One in 200 values of log-normal, dependent noise: of 8,000 at most 40, and four deviations of that."""
    rng = np.random.default_rng(8)
    noise = rng.standard_normal((20, 400)) * np.sqrt(1 - rho * rho)
    for i in range(1, 400):
        noise[:, i] += rho * noise[:, i - 1]
    count = sum(len(alarms(series, 200.0)) for series in np.exp(noise))
    assert count <= 40 + 4 * np.sqrt(40)


def test_ranks_make_alarms_independent_of_the_scale() -> None:
    """Any increasing function of the values raises the same alarms; a constant series raises none."""
    x = np.random.default_rng(2).normal(size=200) + 3.0 * (np.arange(200) >= 150)
    assert alarms(x, 1000.0) == alarms(np.exp(x), 1000.0)
    for series, up in ((x, True), (-x, False)):
        (alarm,) = alarms(series, 1000.0)
        assert alarm.up == up
        assert 145 <= alarm.since <= 150 <= alarm.raised < 160
    assert alarms(np.ones(100), 1000.0) == ()
    assert alarms([], 1000.0) == ()


def test_watching_always_goes_on() -> None:
    """A level that begins at once with a trend ends in alarms, each beyond the start of its level."""
    found = alarms(np.arange(200.0), 20.0)
    starts = [0, *(alarm.since for alarm in found)]
    assert len(found) > 1
    assert all(later > earlier for earlier, later in itertools.pairwise(starts))

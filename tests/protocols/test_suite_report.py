"""The Speedup-Test's report put together from its parts, and the search for a level of the tool of 2010."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from speedproof.data.sample import Sample
from speedproof.data.units import Direction
from speedproof.protocols.pair import Rules
from speedproof.protocols.speedup_test import Entry, SuiteReport, finding, report_suite
from speedproof.protocols.suites import LOCATIONS, Weighting, accelerated, locate, overall_gain, weigh


def entries(count: int, weights: list[float | None], levels: list[float | None]) -> list[Entry]:
    rng = np.random.default_rng(count)
    found = []
    for k in range(count):
        x, y = 10.0**k * rng.normal(10.0 + k % 2, 0.5, 33), 10.0**k * rng.normal(9.9, 0.5, 31)
        remarks = (f"said of {k}",) if k % 2 else ()
        found.append(Entry(f"b{k}", Sample(x), Sample(y), levels[k], weights[k], remarks))
    return found


def report(given: list[Entry], **options: Any) -> SuiteReport:
    return report_suite(
        given,
        options.pop("rules", Rules()),
        **{"alpha": None, "precision": 0.05, "original": False, **options},
    )


@pytest.mark.parametrize("original", [False, True])
@pytest.mark.parametrize("alpha", [None, 0.1])
@pytest.mark.parametrize("rules", [Rules(), Rules(always_welch=True, ks_rule="r422")])
def test_rows_at_their_own_levels_or_at_one(rules: Rules, alpha: float | None, original: bool) -> None:
    """Each by the article or by the tool; weights that are given, and how many rows are significant."""
    given = entries(4, [1.0, 0.5, 2.0, 3.0], [None, 0.8, 0.99, None])
    found = report(given, rules=rules, alpha=alpha, original=original, precision=0.07)
    own = [e.confidence if alpha is None else 0.9 for e in given]
    assert found.levels == pytest.approx(tuple(own))
    assert (found.confidence, found.precision, found.original) == (alpha and 0.9, 0.07, original)
    assert (found.weighting, found.remarks) == ("custom", ())
    for row, entry, level in zip(found.rows, given, own, strict=True):
        x, y, at = entry.x.values, entry.y.values, None if level is None else 1 - level
        mean = finding("mean", x, y, at, rules, original=original)
        median = finding("median", x, y, at, rules, original=original)
        for told, expected in ((row.mean, mean), (row.median, median)):
            assert (told.significant, told.remarks, told.slower) == (
                expected.significant,
                expected.remarks,
                expected.slower,
            )
            assert told.confidence == pytest.approx(expected.confidence, nan_ok=True)
            assert (told.bounds is None) == (expected.bounds is None)
        assert row.name == entry.name
        assert row.remarks == (*entry.remarks, *mean.remarks, *median.remarks)
        assert row.speedups == {where: locate(x, where) / locate(y, where) for where in LOCATIONS}
        assert row.weights == dict.fromkeys(LOCATIONS, entry.weight)
    for where in LOCATIONS:
        before, after = (
            [locate(s.values, where) for s in side] for side in zip(*((e.x, e.y) for e in given), strict=True)
        )
        assert found.overall[where] == overall_gain(before, after, [1.0, 0.5, 2.0, 3.0])
    for protocol in ("mean", "median"):
        count = sum(getattr(row, protocol).significant for row in found.rows)
        assert found.accelerated[protocol] == accelerated(count, 4, 0.05 if alpha is None else alpha, 0.07)
    assert 0 < found.accelerated["mean"].accelerated < 4


@pytest.mark.parametrize(
    ("weights", "weighting", "used", "remark"),
    [
        ([None, None], "custom", "equal", ""),
        ([1.0, None], "custom", "equal", "a weight is missing; all benchmarks weigh the same"),
        (
            [-1.0, 2.0],
            "custom",
            "equal",
            "a weight is negative or not a number; all benchmarks weigh the same",
        ),
        ([1.0, 2.0], "custom", "custom", ""),
        ([1.0, None], "equal", "equal", ""),
        ([1.0, 2.0], "equal", "equal", ""),
        ([None, None], "fraction", "fraction", ""),
    ],
)
def test_how_benchmarks_weigh(
    weights: list[float | None], weighting: Weighting, used: str, remark: str
) -> None:
    """Custom weights that cannot be used are said to be equal, in words if any was given."""
    given = entries(2, weights, [0.95, 0.95])
    found = report(given, weighting=weighting)
    # That all are asked to weigh the same is no fallback, yet reported as what it is.
    assert (found.weighting, found.remarks) == (used, (remark,) if remark else ())
    for k, row in enumerate(found.rows):
        for where in LOCATIONS:
            of_reference = [locate(e.x.values, where) for e in given]
            assert row.weights[where] == weigh(weighting, of_reference, weights)[0][k]


@pytest.mark.parametrize(
    ("times", "weights", "expected"),
    [
        ([1.0], [1.0], None),
        ([3.0, 1.0], [1.0, 1.0], ("b0", 0.75)),
        ([1.0, 3.0], [1.0, 1.0], ("b1", 0.75)),
        ([3.0, 1.0], [1.0, 3.0], None),
        ([3.0, 1.0], [1.0, 5.0], ("b1", 0.625)),
        ([2.0, 2.0, 4.0], [1.0, 1.0, 1.0], None),
        ([2.0, 2.0, 5.0], [1.0, 1.0, 1.0], ("b2", 5 / 9)),
        ([0.0, 0.0], [1.0, 1.0], None),
    ],
)
def test_a_benchmark_that_is_more_than_half_of_the_total(
    times: list[float], weights: list[float | None], expected: tuple[str, float] | None
) -> None:
    """Of the weighted means of the reference, among two benchmarks or more."""
    given = [
        Entry(f"b{k}", Sample(np.array([t, t, t])), Sample(np.array([1.0, 2.0])), 0.95, w)
        for k, (t, w) in enumerate(zip(times, weights, strict=True))
    ]
    assert report(given).dominant == expected


def test_no_speedup_over_zero() -> None:
    (row,) = report([Entry("b", Sample(np.ones(3)), Sample(np.array([0.0, 0.0, 3.0])), 0.95)]).rows
    assert math.isnan(row.speedups["min"])
    assert math.isnan(row.speedups["median"])
    assert row.speedups["mean"] == 1.0


@pytest.mark.parametrize("original", [False, True])
def test_rates_are_times_with_the_versions_exchanged(original: bool) -> None:
    """What is faster where more is better; samples keep their numbers, and the reference gives the weights."""
    rng = np.random.default_rng(3)
    old, new = rng.exponential(size=20) + 10.0, rng.normal(11.0, 0.5, 40)
    x, y = (Sample(values, "", Direction.HIGHER) for values in (old, new))
    (rate,) = report([Entry("r", x, y, 0.95)], original=original, weighting="fraction").rows
    (time,) = report([Entry("t", Sample(new), Sample(old), 0.95)], original=original).rows
    assert rate.speedups == time.speedups
    assert rate.speedups["mean"] > 1.0
    assert (rate.mean.significant, rate.mean.bounds) == (time.mean.significant, time.mean.bounds)
    assert (rate.median.significant, rate.median.bounds) == (time.median.significant, time.median.bounds)
    assert rate.remarks == tuple(remark.replace("sample 2", "sample 1") for remark in time.remarks)
    assert any("sample 1" in remark for remark in rate.remarks)
    assert rate.weights == {at: locate(old, at) for at in LOCATIONS}

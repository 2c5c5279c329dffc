"""What is said of a measurement and not of its speedup: caveats, noise, plans, notes; each at its threshold."""

from __future__ import annotations

import math
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats
from studies.scores import entries_of_scores
from tests.protocols.asking import claims, compare_2009, hpt_of_scores, plan_runs

from speedproof.data.notes import Assumption, Note
from speedproof.data.sample import Sample, Trait
from speedproof.data.suite import Key, Pair
from speedproof.errors import DataError
from speedproof.protocols import planning, touati2009
from speedproof.protocols.calibration import calibrate
from speedproof.protocols.caveats import caveats_of, few_runs
from speedproof.protocols.hpt_claims import paired_t
from speedproof.protocols.hpt_levels import score_duel
from speedproof.protocols.hpt_steps import _windows, level1_steps
from speedproof.protocols.pair import Rules
from speedproof.protocols.touati2009 import State2009, bootstrap_means, decide_2009
from speedproof.stats.allocation import variance_components
from speedproof.stats.dependence import drift, lag1
from speedproof.stats.fixed_pairs import blocks_needed
from speedproof.stats.forecast import smallest_provable

BOTH = ("old", "new")


def sessions(levels: list[float], **fields: Any) -> Sample:
    """Three values in each session, whose medians are the levels."""
    values = np.concatenate([level * np.array([0.99, 1.0, 1.02]) for level in levels])
    names = tuple(f"{fields.get('span')}{k}" for k in range(len(levels)))
    return Sample(values, sessions=np.repeat(np.arange(len(levels)), 3), session_names=names, **fields)


def told(*pairs: tuple[Sample, Sample]) -> list[tuple[Assumption, tuple[str, ...], tuple[str, ...], str]]:
    named = [Pair(Key(f"b{k}"), *sides) for k, sides in enumerate(pairs)]
    return [(c.kind, c.versions, c.benchmarks, c.message or number(c)) for c in caveats_of(named, BOTH)]


def number(note: Note) -> str:
    return "" if math.isnan(note.statistic) else f"{100 * note.statistic:.2g} %"


def one(level: float, **fields: Any) -> Sample:
    return Sample(level + 0.1 * np.arange(6.0), **fields)


def test_what_was_measured_first() -> None:
    """By the times of the files, whichever version that was; one tool after the other is one session each."""
    early, late = (one(k, span=(k, k + 1.0), tool="hyperfine") for k in (1.0, 5.0))
    apart = one(1.0, tool="hyperfine"), one(2.0, tool="hyperfine")
    unknown = one(1.0), one(2.0)
    assert told((early, late)) == [(Assumption.INTERLEAVED, BOTH, (), "")]
    assert told((late, early)) == [(Assumption.INTERLEAVED, BOTH[::-1], (), "")]
    assert told(apart) == [(Assumption.ONE_SESSION, BOTH, (), "")]
    assert told(unknown) == []
    assert told(unknown, apart, (late, early), (early, late), apart) == [
        (Assumption.INTERLEAVED, BOTH, ("b3",), ""),
        (Assumption.INTERLEAVED, BOTH[::-1], ("b2",), ""),
        (Assumption.ONE_SESSION, BOTH, ("b1", "b4"), ""),
    ]


def test_how_much_few_sessions_differ() -> None:
    """The median over the sides of several sessions, by the largest and smallest median of a session."""
    several, single = sessions([2.0, 2.2, 2.1], tool="x"), one(1.0, tool="x")
    spread = Assumption.SEVERAL_SESSIONS, BOTH
    assert told((several, single)) == told((single, several)) == [(*spread, (), "10 %")]
    other = sessions([1.0, 1.3], tool="x")
    assert told((several, other)) == [(*spread, (), "20 %")]
    assert told((one(3.0), one(4.0)), (several, other))[0][2] == ("b1",)
    skewed = Sample(np.array([1.0, 1.0, 9.0, 1.5, 1.5, 2.0]), sessions=np.arange(6) // 3, tool="x")
    assert told((skewed, single))[0][3] == "50 %"
    zero = Sample(np.array([0.0, 0.0, 1.0, 1.0]), sessions=np.array([0, 0, 1, 1]), tool="x")
    assert told((zero, single))[0][3] == "0 %"
    negative = Sample(np.array([-2.0, -1.0]), "B", sessions=np.array([0, 1]), tool="x")
    assert told((negative, Sample(np.arange(3.0), "B")))[0][3] == "1e+02 %"
    four, three = sessions([1.0, 1.1, 1.2, 1.3], tool="x"), sessions([1.0, 1.1, 1.2], tool="x")
    more = sessions([1.5, 1.1, 1.2, 1.3, 1.4], tool="x")
    assert told((four, more)) == told((more, four)) == []
    for sides in ((three, more), (more, three)):
        assert [row[0] for row in told(sides)] == [Assumption.SEVERAL_SESSIONS]
    mixed = [
        sessions(v, span=None, tool="x", traits=frozenset({Trait.RANDOM_ORDER}))
        for v in ([1.0, 2.0], [3.0, 5.0])
    ]
    assert told((mixed[0], mixed[1])) == []


def test_of_one_process_twice_the_same_and_stopped() -> None:
    """Each side that is one process; a benchmark that holds the same values twice has no other caveat."""
    process = one(1.0, processes=np.zeros(6, dtype=np.int64))
    marked = one(2.0, traits=frozenset({Trait.ONE_PROCESS}))
    free, two = one(3.0), one(4.0, processes=np.repeat([0, 1], 3))
    run = Sample(
        np.array([1.0]), processes=np.zeros(1, dtype=np.int64), traits=frozenset({Trait.ONE_PROCESS})
    )
    several = Assumption.SEVERAL_PROCESSES
    assert told((process, free)) == [(several, ("old",), (), "")]
    both = Sample(np.array([1.0, 2.0]), processes=np.zeros(2, dtype=np.int64))
    assert told((free, both)) == told((run, both)) == [(several, ("new",), (), "")]
    assert told((two, marked)) == [(several, ("new",), (), "")]
    assert told((process, marked), (free, run)) == [(several, BOTH, ("b0",), "")]
    assert told((run, two), (process, process), (free, free)) == [
        (Assumption.TWO_MEASUREMENTS, BOTH, ("b1", "b2"), "")
    ]
    assert told((process, process)) == [(Assumption.TWO_MEASUREMENTS, BOTH, (), "")]
    stopped = frozenset({Trait.STOPPED_ON_RESULT})
    a, b, c = (
        one(level, traits=marks, source=f"{name}.jsonl line {line}")
        for level, name, line, marks in (
            (1.0, "r", 7, stopped),
            (2.0, "r", 12, frozenset()),
            (3.0, "s", 3, stopped),
        )
    )
    planned = Assumption.PLANNED_SIZE, BOTH
    assert told((a, b)) == told((b, a)) == [(*planned, (), "r.jsonl")]
    assert told((a, c)) == [(*planned, (), "FILE")]
    assert told((free, two), (b, free), (b, a)) == [(*planned, ("b2",), "r.jsonl")]


def decided(n: int, m: int, **fields: Any) -> Any:
    usual = {
        "protocol": "typical",
        "paired": False,
        "repeated": "run",
        "alpha": 0.05,
        "benchmark": "b",
    }
    return SimpleNamespace(
        reference=SimpleNamespace(n=n), candidate=SimpleNamespace(n=m), **{**usual, **fields}
    )


def few(*rows: Any, of: int = 0) -> list[tuple[tuple[str, ...], tuple[str, ...], str]]:
    return [
        (c.versions, c.benchmarks, f"{c.message}, {100 * c.statistic:g} %".removesuffix(", nan %"))
        for c in few_runs(rows, BOTH, of or len(rows))
    ]


def test_fewer_than_four_runs_that_prove_something() -> None:
    """One side's or both sides', with the risk of k runs that scatter widely, where it is more than stated."""
    assert few(decided(4, 4)) == few(decided(3, 9, protocol="mean")) == few(decided(3, 9, paired=True)) == []
    assert few(decided(3, 4)) == [(("old",), (), "runs, 12.5 %")]
    assert few(decided(4, 3)) == [(("new",), (), "runs, 12.5 %")]
    assert few(decided(3, 3)) == [(BOTH, (), "runs, 12.5 %")]
    assert few(decided(2, 3)) == [(BOTH, (), "runs, 25 %")]
    assert few(decided(3, 3, alpha=0.124)) == [(BOTH, (), "runs, 12.5 %")]
    assert few(decided(3, 3, alpha=0.125)) == []
    for unit, plural in (("process", "processes"), ("session", "sessions")):
        assert few(decided(9, 2, repeated=unit)) == [(("new",), (), f"{plural}, 25 %")]
        assert few(decided(3, 3, repeated=unit)) == [(BOTH, (), f"{plural}, 12.5 %")]
    rows = (
        decided(9, 9),
        decided(3, 9, benchmark="c"),
        decided(3, 19, benchmark="d"),
        decided(9, 3, benchmark="e"),
    )
    assert few(*rows) == [(("old",), ("c", "d"), "runs, 12.5 %"), (("new",), ("e",), "runs, 12.5 %")]
    assert few(decided(5, 6), decided(3, 9), of=2) == [(("old",), ("b",), "runs, 12.5 %")]


def test_noise_written_out() -> None:
    """Four blocks are enough; spreads by the median absolute deviation; what is provable in 10, 60, 600 s."""
    rng = np.random.default_rng(1)
    for count in (4, 15):
        blocks = np.exp(0.1 * rng.standard_normal((count, 2)) + np.linspace(0, 0.3, count)[:, None])
        times = np.append(blocks.ravel(), [1.7, 1.1])
        found = calibrate([(x, y) for x, y in blocks.tolist()], times.tolist(), 33.0)

        def spread(v: npt.NDArray[np.float64]) -> float:
            return math.expm1(float(stats.median_abs_deviation(v)) * 1.4826)

        d = np.log(blocks[:, 0]) - np.log(blocks[:, 1])
        cost = 33.0 / count
        assert (found.runs, found.median, found.block_seconds) == (times.size, np.median(times), cost)
        assert (found.noise, found.block_noise) == pytest.approx((spread(np.log(times)), spread(d)))
        assert found.drift == pytest.approx(stats.spearmanr(times, np.arange(times.size)).statistic)
        assert (found.drift_pvalue, found.autocorrelation_pvalue) == (
            float(drift(times).pvalue),
            float(lag1(times).pvalue),
        )
        assert found.provable == tuple(
            (b, b / cost, smallest_provable(d, b / cost, alpha=0.05)) for b in (10.0, 60.0, 600.0)
        )
        (row,) = calibrate(
            [(x, y) for x, y in blocks.tolist()], times.tolist(), 33.0, [90.0], alpha=0.2
        ).provable
        assert row == (90.0, 90.0 / cost, smallest_provable(d, 90.0 / cost, alpha=0.2))


@pytest.mark.parametrize(("cost", "runs"), [(0.01, 1), (1.0, 2), (2.0, 3), (4.0, 4)])
def test_a_plan_of_few_runs(cost: float, runs: int) -> None:
    """A median of one or two runs is their mean; of three on its variance is that of normal values."""
    rng = np.random.default_rng(2)
    pilot = [
        np.exp(0.02 * rng.standard_normal((40, 1)) + 0.03 * rng.standard_normal((40, 8))) for _ in range(3)
    ]
    plan = plan_runs(pilot, cost, 1.0)
    assert plan.runs_per_build == runs
    parts = np.mean([variance_components(np.log(v)) for v in pilot], axis=0)
    spread = math.sqrt(2 * (parts[0] + (math.pi / 2 if runs >= 3 else 1.0) * parts[1] / runs))
    for size in plan.sizes:
        needed = blocks_needed(math.log(size.speedup) / spread, alpha=0.05)
        assert size.builds == max(math.ceil(needed), 10)
        assert (size.building, size.measuring) == (3 * size.builds * cost, 3 * size.builds * runs)


def test_plans_of_ten_to_a_million_builds(monkeypatch: pytest.MonkeyPatch) -> None:
    pilot = [np.exp([[0.0, 0.1], [0.2, 0.4]])] * 2
    most = 2.0**20
    for needed, builds in ((1.0, 10), (10.0, 10), (10.1, 11), (most, 1 << 20), (most + 1, 0), (math.inf, 0)):
        monkeypatch.setattr(planning, "blocks_needed", lambda *_, at=needed, **__: at)
        assert {size.builds for size in plan_runs(pilot, 1.0, 1.0).sizes} == {builds}


@pytest.mark.parametrize("low", [0, 1])
def test_half_is_no_independence_and_a_twentieth_not_normal(
    monkeypatch: pytest.MonkeyPatch, low: int
) -> None:
    """A Hurst factor of exactly 1/2 and a p-value of exactly 0.05 stop, of either side; what is above does not."""
    x, y = np.arange(12.0) + 3, np.arange(9.0) + 1

    def at(name: str, value: Any, other: Any) -> State2009:
        order = iter((value, other) if low == 0 else (other, value))
        with monkeypatch.context() as patched:
            patched.setattr(touati2009, name, lambda _: next(order))
            found = decide_2009(x, y, 0.05)
        stopped = found.state in (State2009.HUNDRED_NEEDED, State2009.NOT_NORMAL)
        assert found.failing == ((low == 0, low == 1) if stopped else (False, False))
        return found.state

    def normality(pvalue: float) -> SimpleNamespace:
        return SimpleNamespace(statistic=0.9, pvalue=pvalue)

    above = float(np.nextafter(0.5, 1.0))
    assert at("hurst_factor", 0.5, 0.9) is State2009.HUNDRED_NEEDED
    assert at("hurst_factor", above, 0.9) is State2009.SPEEDUP
    assert at("hurst_factor", math.nan, 0.1) is State2009.UNDEFINED
    assert at("shapiro_wilk", normality(0.05), normality(0.5)) is State2009.NOT_NORMAL
    assert at("shapiro_wilk", normality(float(np.nextafter(0.05, 1.0))), normality(0.5)) is State2009.SPEEDUP
    assert at("shapiro_wilk", normality(math.nan), normality(0.5)) is State2009.NOT_NORMAL


@pytest.mark.parametrize("alpha", [0.0001, 0.00009, 0.05, 0.3])
def test_the_bootstrap_of_2009_in_ranks(alpha: float) -> None:
    """9,999 resamples: the k-th of them from either end bounds, k = 10,000 alpha; below k = 1 nothing does."""
    rng = np.random.default_rng(3)
    while True:
        x, y = 10.4 + rng.pareto(2.5, 12), 10 + rng.pareto(2.5, 15)
        if decide_2009(x, y, alpha).state is State2009.NOT_NORMAL:
            break
    found = compare_2009(Sample(x), Sample(y), Rules(alpha, bootstrap=True))
    a, b = bootstrap_means(x, y)
    assert a.size == 9999
    ratios, differences = np.sort(a / b), np.sort(a - b)
    assert found.pvalue == pytest.approx((1 + np.sum(ratios <= 1)) / 10_000)
    assert found.pvalue_slower == pytest.approx((1 + np.sum(ratios >= 1)) / 10_000)
    k = {0.0001: 1, 0.00009: 0, 0.05: 500, 0.3: 3000}[alpha]
    assert found.difference is not None
    told = (found.speedup.low, found.speedup.high, found.difference.low, found.difference.high)
    ends = [v for sample in (ratios, differences) for v in (sample[k - 1], sample[min(9999 - k, 9998)])]
    assert told == pytest.approx(tuple(ends) if k else (0.0, math.inf, -math.inf, math.inf))
    assert found.difference.value == pytest.approx(x.mean() - y.mean())
    assert found.speedup.value == pytest.approx(np.median(x) / np.median(y))
    plain = compare_2009(Sample(x), Sample(y), Rules(alpha))
    assert plain.needed is not None
    assert (plain.test, plain.difference, math.isnan(plain.speedup.low)) == ("", None, True)
    for side in ("X", "Y"):
        (check,) = (c for c in plain.checks if (c.kind, c.versions) == (Assumption.NORMALITY, (side,)))
        lacks = (plain.needed.reference if side == "X" else plain.needed.candidate) is not None
        assert check.held is not lacks
        assert (check.message == "normality is not rejected") is check.held
    zero = compare_2009(Sample(np.append(x, 0.0)), Sample(y), Rules(alpha, bootstrap=True))
    assert (zero.test, math.isnan(zero.speedup.value)) == ("", True)


@pytest.mark.parametrize(
    ("count", "confidences", "expected"),
    [
        (5, (1 - 2.0**-5,), ""),
        (5, (0.99,), "with 5 benchmarks the confidence cannot exceed 0.9688; 0.99 takes at least 7"),
        (5, (1 - 2.0**-6, 0.99), "0.984375 takes at least 6"),
        (1, (0.95,), "with 1 benchmark the confidence cannot exceed 0.5; 0.95 takes at least 5"),
        (
            4,
            (0.99, 0.5, 0.95),
            "with 4 benchmarks the confidence cannot exceed 0.9375; 0.95 takes at least 5",
        ),
    ],
)
def test_confidences_out_of_reach(count: int, confidences: tuple[float, ...], expected: str) -> None:
    """n benchmarks reach 1 - 2^-n, and at that confidence itself nothing is noted."""
    a, b = [[4.0, 5.0, 6.0]] * count, [[1.0, 2.0, 3.0]] * count
    found = hpt_of_scores(b, a, confidences=confidences)
    assert (expected in " ".join(found.notes)) if expected else not found.notes
    with pytest.raises(DataError, match="a confidence of 1e-17 leaves every risk"):
        hpt_of_scores(b, a, confidences=[1e-17])


@pytest.mark.parametrize(
    ("runs", "rule", "expected"),
    [
        ((1, 1), "exact", "not used"),
        ((3, 3), "exact", "exact, conditional on ties"),
        ((40, 40), "exact", "normal, corrected for ties and continuity"),
        ((3, 3), "paper", "exact table"),
        ((3, 12), "paper", "normal"),
        ((3, 11), "paper", "exact table"),
    ],
)
def test_the_first_levels_method(runs: tuple[int, int], rule: Any, expected: str) -> None:
    a, b = (np.arange(float(n)) + 1 for n in runs)
    assert hpt_of_scores([a], [b], rule=rule).method.split("; ")[0] == f"rank-sum: {expected}"
    if expected != "not used":
        few = np.arange(3.0) + 1
        both = hpt_of_scores([a, few, [1.0]], [b, few, [1.0]], rule=rule).method.split("; ")[0]
        first = "exact, conditional on ties" if rule == "exact" else "exact table"
        assert both == f"rank-sum: {expected}" + (f" or {first}" if expected != first else "")


def test_the_paired_t_test_at_its_risk() -> None:
    """At a risk of one half a mean difference of 0 is enough, for a speedup of 1; two benchmarks by SciPy."""
    assert paired_t([1.0, 3.0], [2.0, 2.0], 0.5) == (0.5, 1.0)
    assert paired_t([1.0, 3.0], [2.0, 2.0], 0.49) == (0.5, None)
    reached, speedup = paired_t([2.0, 3.1], [1.0, 2.0], 0.05)
    assert speedup is not None
    d = np.array([2.0, 3.1]) - speedup * np.array([1.0, 2.0])
    assert stats.ttest_1samp(d, 0, alternative="greater").pvalue == pytest.approx(0.05)
    assert reached == pytest.approx(1 - stats.ttest_rel([2.0, 3.1], [1.0, 2.0], alternative="greater").pvalue)


@pytest.mark.parametrize("size", [1e-300, 1.0, 1e300])
def test_claims_of_medians_of_any_size(size: float) -> None:
    """Rivals by SciPy, in any unit; of equal versions the candidate is the winner, by a factor of 1 at most."""
    rng = np.random.default_rng(4)
    a, b = 1.4 * rng.lognormal(0, 0.1, (7, 1)), rng.lognormal(0, 0.1, (7, 1))
    found = claims(entries_of_scores((b * size).tolist(), (a * size).tolist()), alpha=0.1, speedups=[1.1])
    expected = stats.ttest_rel(a[:, 0], b[:, 0], alternative="greater").pvalue
    assert found.t_confidence == pytest.approx(1 - expected)
    assert found.confidence == 0.9
    mean, t, asked = found.claims
    assert [c.method for c in found.claims] == ["geometric mean", "paired t", "asked"]
    assert mean.speedup == pytest.approx(stats.gmean(a[:, 0] / b[:, 0]))
    assert t.speedup is not None
    assert stats.ttest_rel(a[:, 0], t.speedup * b[:, 0], alternative="greater").pvalue == pytest.approx(0.1)
    assert found.certified is not None
    assert asked.error == pytest.approx(1.1 / found.certified - 1)
    assert asked.loss == pytest.approx(asked.confidence / 0.9 - 1)
    same = claims(entries_of_scores([[1.0]] * 3, [[1.0]] * 3))
    assert (same.candidate_wins, same.certified) == (True, None)


@pytest.mark.parametrize("rule", ["exact", "paper"])
def test_windows_hold_the_points_of_change(rule: Any) -> None:
    """Every change of mind lies inside; they are in order, apart, from 1 on, and leave most ratios out."""
    rng = np.random.default_rng(5)
    for gain in (0.7, 1.0, 1.3):
        duel = score_duel(gain * rng.lognormal(0, 0.05, 200), rng.lognormal(0, 0.05, 150))
        found = _windows(duel, rule)
        points = level1_steps(duel, rule).points
        assert all(any(low <= p <= high for low, high in found) for p in points.tolist())
        ends = [end for window in found for end in window]
        assert ends == sorted(ends)
        assert all(end >= 1 for end in ends)
        ratios = np.divide.outer(duel.upper.rounded, duel.lower.rounded)
        assert (
            sum(int(((ratios >= low) & (ratios <= high)).sum()) for low, high in found) < 0.01 * ratios.size
        )
        assert len(found) == {0.7: 0, 1.0: 1, 1.3: 2}[gain]
        if not found:
            assert level1_steps(duel, rule).start in (0, -1)
    assert level1_steps(score_duel([4.0], [2.0]), rule).start == 2
    steps = level1_steps(score_duel([4.0, 5.0, 6.0], [1.0, 2.0, 3.0]), rule)
    # Eight pairs of nine are a tenth of all orders of 3 + 3: the second that is lost, at 5/3, is one too many.
    assert steps.falls
    assert (steps.start, steps.exact(0)) == (1, {Fraction(5, 3)})

"""How much sessions differ, and that two sessions of identical code are told apart as seldom as stated."""

from __future__ import annotations

import itertools
import math
import statistics

import numpy as np
import pytest
from scipy import optimize, special, stats

from speedproof.stats.session_spread import SessionSpread, session_spreads, widened


def test_no_commit_with_two_sessions_tells_nothing() -> None:
    """No estimate from single sessions."""
    number, value = np.arange(3), np.arange(3, dtype=np.float64)
    assert session_spreads(number * 0, number, number, value, value) == ({}, None)


@pytest.mark.parametrize("shared", [0.0, 1.0])
def test_sessions_that_move_together_tell_no_more_than_one_series(shared: float) -> None:
    """Degrees of freedom of 40 series: those of the sessions when all move as one, more when none does."""
    rng = np.random.default_rng(2)
    sessions, count = 20, 40
    common, own = rng.standard_normal((sessions, 1)), rng.standard_normal((sessions, count))
    values = math.sqrt(shared) * common + math.sqrt(1 - shared) * own
    row, column = (a.reshape(-1) for a in np.indices((sessions, count)))
    found, other = session_spreads(column, row // 2, row, values.reshape(-1), np.zeros(row.size))
    assert other is not None
    assert other.degrees == pytest.approx(10.0, rel=0.01) if shared else other.degrees > 25
    assert other.degrees <= found[3].degrees <= other.degrees + 10.0


@pytest.mark.slow
@pytest.mark.parametrize("commits", [1, 3, 10])
def test_size_against_theory(commits: int) -> None:
    """Two sessions of identical code, 2 % apart, each 8 normal runs: at most 5 % a side, binomial bounds."""
    rng = np.random.default_rng(commits)
    count, runs, noise = 500, 8, 0.004
    sessions = 0.02 * rng.standard_normal((count, 2 * commits + 2))
    values = sessions[..., None] + noise * rng.standard_normal((*sessions.shape, runs))
    means = values.mean(axis=-1)
    width = stats.t.ppf(0.95, 2 * runs - 2) * np.sqrt(values[:, -2:].var(axis=-1, ddof=1).sum(axis=1) / runs)
    group = np.arange(2 * commits) // 2
    false = 0
    for i in range(count):
        inside = np.full(2 * commits, noise**2 / runs)
        found, _ = session_spreads(group * 0, group, np.arange(2 * commits), means[i, :-2], inside)
        gap = float(means[i, -1] - means[i, -2])
        false += widened(float(width[i]), 0.05, (runs, runs), found[0], (1, 1)).pvalue(gap) <= 0.05
    assert false <= stats.binom.ppf(0.999, count, 0.05)
    assert commits == 1 or false >= stats.binom.ppf(0.001, count, 0.03)


def test_bounds_and_pvalues_agree() -> None:
    """A gap is significant exactly from the reach on; runs that bound nothing bound nothing."""
    side = widened(0.01, 0.05, (10, 10), SessionSpread(4e-4, 7.0, 1e-5, 4), (1, 2))
    reach = side.reach(0.05)
    assert side.pvalue(reach * 1.000001) < 0.05 < side.pvalue(reach * 0.999999)
    assert reach > 0.01
    assert widened(math.inf, 0.05, (1, 1), SessionSpread(4e-4, 7.0, 0.0, 4), (1, 1)).pvalue(9.0) == 1.0
    exact = widened(0.0, 0.05, (3, 3), SessionSpread(0.0, 7.0, 0.0, 4), (1, 1))
    assert [exact.pvalue(gap) for gap in (0.1, 0.0, -0.1)] == [0.0, 1.0, 1.0]
    nothing = widened(math.inf, 0.05, (3, 3), SessionSpread(0.0, 7.0, 0.0, 4), (1, 1))
    assert (nothing.reach(0.05), nothing.degrees) == (math.inf, 1.0)


@pytest.mark.parametrize("runs", [(10, 14), (1, 1), (2, 1), (2, 2)])
@pytest.mark.parametrize("within", [0.0, 1e-5, 3e-4, 1.0])
def test_the_error_of_a_ratio_adds_up(runs: tuple[float, float], within: float) -> None:
    """The width over SciPy's quantile squared, less what it holds of the sessions already, and theirs."""
    spread, sessions = SessionSpread(4e-4, 7.0, within, 4), (1, 3)
    for alpha, width in ((0.05, 0.08), (0.01, 0.002), (0.2, 0.5)):
        alone = (width / stats.t.ppf(1 - alpha, max(sum(runs) - 2, 1))) ** 2
        expected = 4 / 3 * 4e-4 + max(alone - 4 / 3 * min(within, 4e-4), 0.0)
        found = widened(width, alpha, runs, spread, sessions)
        assert (found.error, found.degrees) == pytest.approx((math.sqrt(expected), 7.0), rel=1e-9)
        assert found.reach(alpha) == pytest.approx(stats.t.ppf(1 - alpha, 7.0) * found.error, rel=1e-9)
        assert found.pvalue(width) == pytest.approx(stats.t.sf(width / found.error, 7.0), rel=1e-9)


@pytest.mark.parametrize("alpha", [0.5, 0.6, 0.7])
def test_at_a_risk_of_one_half_or_more_the_sessions_speak_alone(alpha: float) -> None:
    """A bound at such a risk is not beyond the ratio: its distance tells no standard error."""
    found = widened(0.25, alpha, (10, 10), SessionSpread(4e-4, 7.0, 1e-5, 4), (1, 2))
    assert found.error == pytest.approx(math.sqrt(1.5 * 4e-4), rel=1e-12)


def naive_prior(variance: list[float], degrees: list[float]) -> tuple[float, float]:
    """Smyth's moments one by one, by SciPy; infinite weight where the variances scatter no more than they must."""
    if len(variance) < 2:
        return variance[0], 0.0
    if max(variance) == 0.0:
        return 0.0, math.inf
    least = 1e-5 * statistics.median([v for v in variance if v > 0.0])
    logs = [
        math.log(max(v, least)) - float(special.digamma(d / 2)) + math.log(d / 2)
        for v, d in zip(variance, degrees, strict=True)
    ]
    excess = statistics.variance(logs) - statistics.mean(float(special.polygamma(1, d / 2)) for d in degrees)
    if excess <= 0.0:
        return math.exp(statistics.mean(logs)), math.inf
    half = optimize.brentq(lambda x: special.polygamma(1, math.exp(x)) - excess, -15.0, 15.0, xtol=1e-15)
    at = math.exp(half)
    return math.exp(statistics.mean(logs) + float(special.digamma(at)) - half), 2.0 * at


def dot(a: list[float], b: list[float]) -> float:
    return math.fsum(x * y for x, y in zip(a, b, strict=True))


def naive_together(columns: list[list[float]], degrees: int) -> float:
    """The mean squared correlation of every two series about 0, and what it leaves of their degrees."""
    columns = [column for column in columns if any(column)]
    k = len(columns)
    if k < 2 or degrees < 2:
        return degrees
    squares = [dot(a, b) ** 2 / (dot(a, a) * dot(b, b)) for a, b in itertools.combinations(columns, 2)]
    shared = (statistics.mean(squares) - 1 / degrees) / (1 - 1 / degrees)
    return degrees * k / (1 + (k - 1) * min(max(shared, 0.0), 1.0))


def naive_spreads(
    rows: list[tuple[int, int, int, float, float]],
) -> tuple[dict[int, tuple[float, float, float, int]], tuple[float, float, float, int] | None]:
    """Of rows of series, version, session, location, part within: the model's numbers in plain loops."""
    cells: dict[tuple[int, int], list[tuple[int, float, float]]] = {}
    for series, group, session, location, within in rows:
        cells.setdefault((series, group), []).append((session, location, within))
    cells = {key: cell for key, cell in cells.items() if len(cell) > 1}
    if not cells:
        return {}, None
    names = sorted({series for series, _ in cells})
    places = sorted({(session, group) for (_, group), cell in cells.items() for session, *_ in cell})
    columns = [[0.0] * len(places) for _ in names]
    variance, degrees, inside, sessions = [], [], [], []
    for column, name in zip(columns, names, strict=True):
        own = {group: cell for (series, group), cell in cells.items() if series == name}
        for group, cell in own.items():
            for session, location, _ in cell:
                centre = statistics.mean(value for _, value, _ in cell)
                column[places.index((session, group))] = location - centre
        sessions.append(sum(map(len, own.values())))
        degrees.append(sessions[-1] - len(own))
        variance.append(dot(column, column) / degrees[-1])
        parts = [0.0 if math.isnan(within) else within for cell in own.values() for *_, within in cell]
        inside.append(statistics.mean(parts))
    most = naive_together(columns, len(places) - len({group for _, group in cells}))
    prior, weight = naive_prior(variance, [float(d) for d in degrees])
    found = {}
    for i, name in enumerate(names):
        if math.isinf(weight):
            found[name] = prior, most, inside[i], sessions[i]
        else:
            common = (weight * prior + degrees[i] * variance[i]) / (weight + degrees[i])
            others = min(weight, (most - degrees[i]) * weight / (weight + degrees[i]))
            found[name] = common, others + degrees[i], inside[i], sessions[i]
    return found, (prior, min(weight, most), min(inside), 0) if weight > 0.0 else None


@pytest.mark.parametrize("count", [1, 2, 3, 7, 30])
@pytest.mark.parametrize("scatter", [0.0, 1.0, 3.0])
def test_everything_written_out(count: int, scatter: float) -> None:
    """Series that miss versions, versions with any number of sessions, a part of the noise common to all."""
    for seed in range(4):
        rng = np.random.default_rng([count, int(scatter), seed])
        common = rng.standard_normal(12)
        rows = []
        for series in (3 * rng.permutation(40)[:count]).tolist():
            scale = 0.02 * math.exp(scatter * rng.standard_normal())
            for session in range(12):
                group = 7 * (session // 3) if session < 9 else 70 + session // 11
                noise = rng.standard_normal() + seed * common[session]
                part = math.nan if rng.random() < 0.2 else scale**2 * rng.random()
                if rng.random() < 0.8:
                    rows.append((series, group, 100 - session, 5.0 + group + scale * noise, part))
        # One series never varies, and one was never measured twice.
        rows += [(500, 0, 100, 2.0, 0.0), (500, 0, 99, 2.0, 1.0)] * (seed % 2) + [(600, 7, 100, 2.0, 0.0)]
        order = rng.permutation(len(rows))
        rows = [rows[i] for i in order]
        found, other = session_spreads(*(np.array(column) for column in zip(*rows, strict=True)))
        expected, expected_other = naive_spreads(rows)
        assert sorted(found) == sorted(expected)
        pairs = [(found[name], expected[name]) for name in expected]
        assert (other is None) == (expected_other is None)
        if other is not None and expected_other is not None:
            pairs.append((other, expected_other))
        for own, told in pairs:
            assert (own.variance, own.degrees, own.within) == pytest.approx(told[:3], rel=1e-7)
            assert own.sessions == told[3]


def test_two_series_that_never_vary_tell_of_a_third() -> None:
    """Nothing varies between their sessions, so nothing is expected to; one series alone tells nothing."""
    two = np.array([0, 0, 1, 1])
    zero = np.zeros(4)
    found, other = session_spreads(two, 10 + two, np.array([0, 1, 0, 1]), zero, zero)
    assert sorted(found) == [0, 1]
    assert other is not None
    assert other.variance == 0.0
    _, none = session_spreads(two[:2], two[:2], np.array([0, 1]), np.array([0.0, 0.1]), zero[:2])
    assert none is None

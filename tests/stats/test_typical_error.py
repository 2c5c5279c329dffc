"""Standard errors of typical ratios, and how much sessions differ: a twin in loops, theory, simulation."""

import itertools
import math
import statistics

import numpy as np
import pytest
from scipy import optimize, special, stats

from speedproof.stats.paired_ratio import paired_error
from speedproof.stats.power import typical_error
from speedproof.stats.ratio import log_ratio_of_means
from speedproof.stats.session_spread import SessionSpread, session_spreads, widened


def error_of(x: np.ndarray, y: np.ndarray, inflation: float = 1.0, steps: tuple[float, float] = (0.0, 0.0)):  # type: ignore[no-untyped-def]
    found = typical_error(x[None], y[None], np.array([inflation]), np.array([steps]))
    return tuple(float(part[0]) for part in (found.error, found.df, found.bias))


def naive_error(x: np.ndarray, y: np.ndarray) -> tuple[float, float, float]:
    """As the module says: Brunner and Munzel's error of the share, the quantiles there, what they and it bend."""
    n, m = len(x), len(y)
    logs = sorted(math.log(a / b) for a in x for b in y)
    middle = float(np.median(logs))

    def parts_at(place: float) -> list[float]:
        wins = np.array([[0.5 + 0.5 * np.sign(round(math.log(a / b) - place, 13)) for b in y] for a in x])
        return [float(np.var(wins.mean(axis=1), ddof=1) / n), float(np.var(wins.mean(axis=0), ddof=1) / m)]

    parts = parts_at(middle)
    s = math.sqrt(sum(parts) * (n + m) / (n + m + 2))
    ends = np.interp([0.5 - s, 0.5 + s], (np.arange(n * m) + 0.5) / (n * m), logs)
    noise = ((ends[1] - ends[0]) / 2) ** 2 / (1 + (1 / n + 1 / m) / 2)
    df = sum(parts) ** 2 / (parts[0] ** 2 / (n - 1) + parts[1] ** 2 / (m - 1))
    slope = (ends[1] - ends[0]) / 2  # of a quantile, times s; what V changes over twice that, over V
    grown = (sum(parts_at(ends[1])) - sum(parts_at(ends[0]))) / sum(parts)
    bias = (ends[0] - 2 * middle + ends[1]) / 2 + slope * grown / 4
    own = 1.5 * bias**2
    return math.sqrt(noise + own), (noise + own) ** 2 / (noise**2 / df), bias


@pytest.mark.parametrize("sizes", [(2, 2), (3, 4), (5, 5), (6, 8), (13, 11)])
def test_error_degrees_and_bias_of_a_typical_ratio(sizes: tuple[int, int]) -> None:
    rng = np.random.default_rng(sizes[0])
    for noise in (0.01, 0.5):
        x, y = (np.exp(noise * rng.normal(size=n)) for n in sizes)
        assert error_of(x, y) == pytest.approx(naive_error(x, y), rel=1e-9, abs=1e-15)


def test_what_has_no_error_and_what_readings_add() -> None:
    """One run tells none; constant sides have none but that of their steps, uniform within each: s^2 / 12."""
    one, many = np.array([2.0]), np.array([2.0, 2.1, 2.2])
    assert math.isnan(error_of(one, many)[0])
    assert math.isnan(error_of(many, one)[0])
    flat = np.full(4, 2.0)
    assert error_of(flat, 2 * flat)[:2] == (0.0, math.inf)
    expected = math.sqrt((0.1 / 2) ** 2 / 12 + (0.2 / 4) ** 2 / 12)
    assert error_of(flat, 2 * flat, steps=(0.1, 0.2)) == pytest.approx((expected, math.inf, 0.0))
    assert not error_of(np.array([0.0, 0.0, 0.0]), many)[0] < math.inf


def test_paired_and_means_against_scipy() -> None:
    """Of session ratios that of a mean by the efficiency 3 / pi; of means Welch's, or Student's if wider."""
    rng = np.random.default_rng(6)
    x, y = 2 + 0.01 * rng.normal(size=(2, 1, 7))
    paired = paired_error(x, y)
    assert paired.error[0] == pytest.approx(stats.sem(np.log(x / y)[0]) / math.sqrt(3 / math.pi))
    assert (paired.df[0], paired.bias[0]) == (6.0, 0.0)
    found = log_ratio_of_means(x, y)
    welch = stats.ttest_ind(x[0] / x.mean(), y[0] / y.mean(), equal_var=False)
    assert found.df[0] == pytest.approx(welch.df)
    parts = [stats.sem(side) ** 2 / side.mean() ** 2 for side in (x[0], y[0])]
    assert found.error[0] == pytest.approx(math.sqrt(sum(parts)))
    rng = np.random.default_rng(1)  # of the smaller sample the noise is small, too
    x, y = 2 + 0.1 * rng.normal(size=(1, 40)), 2 + 0.001 * rng.normal(size=(1, 4))
    student = stats.ttest_ind(x[0] / x.mean(), y[0] / y.mean() + 1.0, equal_var=True)
    assert log_ratio_of_means(x, y).error[0] == pytest.approx(-1.0 / student.statistic)
    assert found.bias[0] == pytest.approx((parts[1] - parts[0]) / 2)
    assert math.isnan(log_ratio_of_means(x[:, :1], y).error[0])


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
def test_session_spreads_pool_series_and_versions(count: int, scatter: float) -> None:
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


def test_what_few_series_tell_of_another() -> None:
    """Of two that never vary between sessions nothing varies; one alone tells nothing, nor do single sessions."""
    two, zero = np.array([0, 0, 1, 1]), np.zeros(4)
    found, other = session_spreads(two, 10 + two, np.array([0, 1, 0, 1]), zero, zero)
    assert sorted(found) == [0, 1]
    assert other is not None
    assert other.variance == 0.0
    _, none = session_spreads(two[:2], two[:2], np.array([0, 1]), np.array([0.0, 0.1]), zero[:2])
    assert none is None
    number, value = np.arange(3), np.arange(3, dtype=np.float64)
    assert session_spreads(number * 0, number, number, value, value) == ({}, None)

"""The signed-rank test of ratios within sessions, against SciPy, the definition of its bounds and its null."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from speedproof.stats.paired_ratio import paired_ratio, paired_ratio_test, runs_needed_pairs

EXACT = np.zeros((1, 2))


def least_of(n: int) -> float:
    """What no p-value of n sessions is below."""
    return 1 / math.comb(2 * n, n) if n < 4 else 0.8 * 0.5**n


@pytest.mark.parametrize("n", [4, 5, 8, 15, 30])
def test_pvalues_against_scipy(n: int) -> None:
    rng = np.random.default_rng(n)
    x, y = 1.02 * rng.lognormal(0, 0.05, (1, n)), rng.lognormal(0, 0.05, (1, n))
    for gamma in (0.9, 0.99, 1.0, 1.01, 1.1):
        found = paired_ratio_test(x, y, gamma, steps=EXACT)
        d = np.log(x[0] / y[0] / gamma)
        for pvalue, alternative in ((found.pvalue, "greater"), (found.pvalue_less, "less")):
            expected = stats.wilcoxon(d, alternative=alternative, method="exact").pvalue
            if expected == 0.5**n:  # all on one side
                student = stats.ttest_1samp(d, 0.0, alternative=alternative).pvalue
                expected = min(expected, max(student, least_of(n)))
            assert pvalue[0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("n", [4, 5, 7])
def test_risk_with_few_sessions(n: int) -> None:
    """Normal ratios: within the risk, also below 2^-n. Whatever is symmetric: 2^-n or the risk, the larger."""
    rng = np.random.default_rng(n)
    trials = 20_000
    shapes = {
        "normal": rng.standard_normal((trials, n)),
        "two states": rng.choice([-1.0, 1.0], (trials, n)) + 0.01 * rng.standard_normal((trials, n)),
        "heavy": rng.standard_t(2, (trials, n)),
    }
    for name, d in shapes.items():
        found = paired_ratio_test(np.exp(0.05 * d), np.ones((trials, n)), 1.0, steps=np.zeros((trials, 2)))
        for alpha in (0.05, 0.0125):
            most = alpha if name == "normal" else max(alpha, 0.5**n)
            assert np.mean(found.pvalue <= alpha) <= stats.binom.isf(1e-5, trials, most) / trials


def table_of(n: int) -> list[float]:
    """P[T >= t] of the rank sum of n values without ties, by listing all signs."""
    sums = [
        sum(rank for rank, up in enumerate(signs, 1) if up) for signs in itertools.product((0, 1), repeat=n)
    ]
    return [sum(s >= t for s in sums) / 2**n for t in range(n * (n + 1) // 2 + 1)]


def naive_p(d: list[float], edge: float) -> float:
    """The table's p-value of the Walsh averages above the edge; Student's, if smaller and all values are above."""
    n = len(d)
    walsh = [0.5 * (a + b) for a, b in itertools.combinations_with_replacement(d, 2)]
    ranks = table_of(n)[sum(w > edge for w in walsh)]
    off = np.array([v - edge for v in d])
    if n < 2 or not (off > 0).all() or not np.isfinite(off).all():
        return ranks
    off = off / off.max()
    error = off.std(ddof=1) / math.sqrt(n)
    student = float(stats.t.sf(off.mean() / error, n - 1)) if error > 0 else 0.0
    return min(ranks, max(student, least_of(n)))


def naive_ratio(x: list[float], y: list[float], alpha: float, steps: tuple[float, float]) -> list[float]:
    """Estimate, bounds, p-values of one pair of samples, in the order of the answer's fields."""
    n, meant = len(x), min(*x, *y) > 0
    with np.errstate(divide="ignore"):
        logs = {
            sign: [
                float(np.log(max(a + sign * steps[0] / 2, 0.0)) - np.log(max(b - sign * steps[1] / 2, 0.0)))
                for a, b in zip(x, y, strict=True)
            ]
            for sign in ((-1, 0, 1) if meant else ())
        }
    read = logs[0] if meant else [a / 4 - b / 4 for a, b in zip(x, y, strict=True)]
    p = [naive_p(read, 0.0), naive_p([-v for v in read], 0.0)]
    if not meant:
        return [math.nan] * 3 + p
    ends, table = [], table_of(n)
    for own in (logs[-1], [-v for v in logs[1]]):
        walsh = sorted(0.5 * (a + b) for a, b in itertools.combinations_with_replacement(own, 2))
        enough = [t for t, tail in enumerate(table) if tail <= alpha]
        if enough:
            ends.append(walsh[-enough[0]])
        elif least_of(n) <= alpha:
            mean, error = np.mean(own), np.std(own, ddof=1) / math.sqrt(n)
            bound = float(mean - stats.t.ppf(1 - alpha, n - 1) * error)
            ends.append(-math.inf if math.isnan(bound) else min(walsh[0], bound))
        else:
            ends.append(-math.inf)
    low, high = math.exp(ends[0]), math.exp(-ends[1])
    low = max(low, np.nextafter(1.0, 2)) if p[0] <= alpha else min(low, 1.0)
    high = min(high, np.nextafter(1.0, 0)) if p[1] <= alpha else max(high, 1.0)
    middle = np.median([0.5 * (a + b) for a, b in itertools.combinations_with_replacement(logs[0], 2)])
    return [math.exp(float(middle)), low, high, *p]


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # of the loops: infinite logarithms
@pytest.mark.parametrize("n", range(1, 8))
def test_estimate_bounds_and_pvalues_of_few_sessions(n: int) -> None:
    """Of a batch: continuous, tied, equal, opposite, far apart; below zero; read in steps."""
    rng = np.random.default_rng(n)
    x, y = rng.lognormal(0.1, 0.3, (12, n)), rng.lognormal(0.0, 0.3, (12, n))
    x[1:3], y[1:3] = np.ceil(3 * x[1:3]), np.ceil(3 * y[1:3])
    x[3] = y[3]
    x[4], y[4] = 5.0 + np.arange(n) / 8, 1.0
    x[5], y[5] = 2.0, 3.0
    x[6, 0], y[7, -1] = -2.0, -1.0
    x[8], y[8] = np.ldexp(1.7, 1023), -np.ldexp(1.0 + np.arange(n) / 8, 1023)
    x[9], y[9] = -1.0, -1.0
    x[10], y[10] = 8 * 5e-324, -4 * 5e-324
    x[11, 0], y[11] = 1e20, 1e-10
    steps = np.zeros((12, 2))
    steps[[2, 4]], steps[0], steps[5] = (1.0, 0.5), (0.02, 0.05), (4.5, 0.25)
    fields = ("estimate", "low", "high", "pvalue", "pvalue_less")
    for alpha in (0.5, 0.3, 0.25, 1 / 6, 0.05, 1 / 32, 0.02, 1e-3):
        found = paired_ratio(x, y, alpha, steps=steps)
        mirrored = paired_ratio(y, x, alpha, steps=steps[:, ::-1])
        for row in range(12):
            own = x[row].tolist(), y[row].tolist()
            expected = naive_ratio(*own, alpha, (float(steps[row, 0]), float(steps[row, 1])))
            told = [float(getattr(found, name)[row]) for name in fields]
            assert told == pytest.approx(expected, rel=1e-9, nan_ok=True)
            other = [float(getattr(mirrored, name)[row]) for name in fields]
            with np.errstate(divide="ignore"):
                turned = [*(1 / np.array([other[0], other[2], other[1]])), other[4], other[3]]
            assert told == pytest.approx(turned, rel=1e-9, nan_ok=True)


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("gamma", [0.5, 0.999, 1.0, 1.25, 1.5, 3.0])
def test_pvalues_against_any_ratio(n: int, gamma: float) -> None:
    """What equals gamma speaks for neither side; the answer at 1 holds beyond it; values below 0 have no ratio."""
    rng = np.random.default_rng(n)
    x, y = rng.lognormal(0.2, 0.3, (5, n)), rng.lognormal(0.0, 0.3, (5, n))
    y[1] = x[1] / 1.25
    x[2], y[2] = 3.0, 2.0
    x[3, 0] = -1.0
    steps = np.zeros((5, 2))
    steps[4] = 0.2, 0.4
    found = paired_ratio_test(x, y, gamma, steps=steps)
    read = [naive_ratio(a.tolist(), b.tolist(), 0.05, (0.0, 0.0))[3:5] for a, b in zip(x, y, strict=True)]
    for row in range(5):
        half = steps[row] / 2
        least = np.log(x[row] - half[0]) - np.log(y[row] + half[1]) if row != 3 else np.zeros(n)
        most = np.log(x[row] + half[0]) - np.log(y[row] - half[1]) if row != 3 else np.zeros(n)
        tie = 1e-14 if gamma != 1 else 0.0
        above = naive_p(least.tolist(), math.log(gamma) + tie)
        below = naive_p((-most).tolist(), -math.log(gamma) + tie)
        if gamma == 1:
            above, below = read[row]
        elif gamma < 1:
            above, below = min(above, read[row][0]), max(below, read[row][1])
        else:
            above, below = max(above, read[row][0]), min(below, read[row][1])
        expected = [math.nan] * 2 if row == 3 and gamma != 1 else [above, below]
        assert [found.pvalue[row], found.pvalue_less[row]] == pytest.approx(expected, rel=1e-9, nan_ok=True)


def test_sessions_needed_by_guenthers_formula() -> None:
    """By the efficiency of ranks, 3 / pi; as many as can prove it; infinite without an effect."""
    rng = np.random.default_rng(1)
    x, y = rng.lognormal(0.1, 0.1, (6, 5)), rng.lognormal(0, 0.1, (6, 5))
    x[1] = 2 * y[1]
    x[2] = y[2]
    x[3, 0] = -1.0
    x[4], y[4] = [2.0, 1.0, 2.0, 1.0, 1.0], [1.0, 2.0, 1.0, 2.0, 1.0]
    for alpha in (0.5, 0.2, 1 / 6, 0.05, 1 / 252, 0.001):
        fewest = next(n for n in range(2, 99) if least_of(n) <= alpha)
        for power in (0.8, 0.95):
            found = runs_needed_pairs(x, y, alpha, power)
            assert found[0] is found[1]
            z, reach = stats.norm.isf(alpha), stats.norm.isf(alpha) + stats.norm.ppf(power)
            for row in (0, 5):
                d = np.log(x[row] / y[row])
                plain = (reach / d.mean()) ** 2 * d.var(ddof=1) * math.pi / 3 + z * z / 2
                assert found[0][row] == max(math.ceil(plain), fewest)
            assert found[0][1] == max(math.ceil(z * z / 2), fewest)
            assert found[0][[2, 3, 4]].tolist() == [math.inf] * 3
        assert (runs_needed_pairs(x, y, alpha)[0] == runs_needed_pairs(x, y, alpha, 0.8)[0]).all()
    assert runs_needed_pairs(x[0], y[0], 0.05)[0].shape == ()

"""The scan for one change against ranks by counting, SciPy's scores, one split after another."""

from __future__ import annotations

import itertools
import math

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from speedproof.stats import change_scan as scan

Series = npt.NDArray[np.float64]


def scores_of(x: list[float]) -> list[float]:
    """The mean of the normal scores (r - 1/2) / n of all ranks that a value shares."""
    n = len(x)
    table = [float(stats.norm.ppf((rank - 0.5) / n)) for rank in range(1, n + 1)]
    found = []
    for value in x:
        below, equal = sum(v < value for v in x), sum(v == value for v in x)
        found.append(math.fsum(table[below : below + equal]) / equal)
    return found


def contrasts_of(scores: list[float]) -> dict[int, float]:
    """Difference of the means at every split with three values a side, over its deviation without equal values."""
    n = len(scores)
    plain = [float(stats.norm.ppf((rank - 0.5) / n)) for rank in range(1, n + 1)]
    variance = sum(v * v for v in plain) / (n - 1)
    found = {}
    for k in range(3, n - 2):
        gap = sum(scores[:k]) / k - sum(scores[k:]) / (n - k)
        found[k] = abs(gap) / math.sqrt(variance * (1 / k + 1 / (n - k)))
    return found


def naive_scan(x: list[float], dependence: float | None) -> tuple[float, int, float]:
    """Statistic of the innovations, split of the scores, and the coefficient between the two."""
    scores = scores_of(x)
    contrasts = contrasts_of(scores)
    split = min(contrasts, key=lambda k: (-round(contrasts[k], 9), k))
    rho = dependence if dependence is not None else naive_dependence(np.array(scores), [split])
    innovations = [v - rho * before for v, before in zip(scores, [scores[0], *scores], strict=False)]
    return max(contrasts_of(scores_of([round(v, 12) for v in innovations])).values()), split, rho


@pytest.fixture(params=["compiled", "numpy"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "numpy":
        monkeypatch.setattr(scan, "COMPILED", None)
    elif scan.COMPILED is None:
        pytest.skip("built without a compiler")
    return str(request.param)


@pytest.mark.parametrize("n", [8, 9, 10, 13, 30])
@pytest.mark.parametrize("dependence", [None, 0.0, 0.4])
def test_a_scan_in_loops(n: int, dependence: float | None, way: str) -> None:
    rng = np.random.default_rng(n)
    x = rng.standard_normal((8, n))
    x[1] += 3.0 * (np.arange(n) >= n // 2)
    x[2] = np.round(x[2])
    x[3] = x[3].cumsum()
    x[4] = np.arange(n)
    x[5] = np.arange(n) >= n - 3
    x[6] = np.round(x[6] + 2.0 * (np.arange(n) >= 4), 1)
    found = scan.change_scan(x, dependence=dependence)
    assert scan.normal_scores(x) == pytest.approx(np.array([scores_of(row) for row in x.tolist()]))
    for row, series in enumerate(x.tolist()):
        statistic, split, rho = naive_scan(series, dependence)
        assert found.split[row] == split
        assert found.dependence[row] == pytest.approx(rho, abs=1e-12)
        assert found.statistic[row] == pytest.approx(statistic)
        least = 2 / math.comb(n, split)
        p = max(float(scan.scan_pvalue(statistic, n)), least)
        assert found.pvalue[row] == pytest.approx(p)
        alone = scan.change_scan(series, dependence=dependence)
        assert (float(alone.statistic), int(alone.split)) == (found.statistic[row], split)
    cube = scan.change_scan(x.reshape(2, 4, n), dependence=dependence)
    assert cube.pvalue.tolist() == found.pvalue.reshape(2, 4).tolist()


def test_what_is_too_short_shows_nothing() -> None:
    """Below eight values: statistic and dependence 0, the split behind the last value."""
    for n in (0, 1, 3, 7):
        for shape in ((n,), (3, n), (2, 3, n)):
            found = scan.change_scan(np.arange(math.prod(shape)).reshape(shape))
            assert found.pvalue.shape == found.split.shape == shape[:-1]
            told = [
                np.unique(v).tolist() for v in (found.statistic, found.split, found.dependence, found.pvalue)
            ]
            assert told == [[0.0], [n], [0.0], [1.0]]
    assert scan.LEAST == 8
    assert float(scan.change_scan(np.arange(8.0)).pvalue) < 1.0


def test_dependence_from_differences() -> None:
    """For an autoregression Var(x[t+2] - x[t]) = (1 + rho) Var(x[t+1] - x[t]); 0 where nothing differs."""
    rng = np.random.default_rng(2)
    x = rng.standard_normal((3, 20))
    x[1] = x[1].cumsum()
    x[2] = 4.0
    expected = []
    for row in x[:2].tolist():
        near = [(b - a) ** 2 for a, b in itertools.pairwise(row)]
        far = [(b - a) ** 2 for a, b in zip(row, row[2:], strict=False)]
        expected.append(sum(far) / len(far) / (sum(near) / len(near)) - 1)
    assert scan.difference_dependence(x).tolist() == pytest.approx([*expected, 0.0])


@pytest.mark.parametrize("n", [8, 12, 40])
def test_dependence_beside_any_number_of_steps(n: int) -> None:
    """None to three, at the ends, at one place twice; nothing remains of a step without noise."""
    rng = np.random.default_rng(n)
    x = np.stack([rng.standard_normal(n), rng.standard_normal(n).cumsum(), np.arange(n) % 2 + 0.0])
    for splits in ([], [3], [n - 1], [2, n // 2], [n // 2, n // 2], [1, 3, n - 2]):
        places = np.tile(np.array(splits, dtype=np.int64), (3, 1))
        found = scan.step_dependence(x, places)
        assert found.tolist() == pytest.approx([naive_dependence(row, splits) for row in x], abs=1e-12)
        assert float(scan.step_dependence(x[1], places[1])) == found[1]
    # Without a rest only the bias is left: (2 + 5) / n over 1 - 10 / n, or two fifths; and what differences tell.
    step = np.repeat([0.0, 1.0], [n // 2, n - n // 2])
    raised = (2 + 5) / n / max(1 - 10 / n, 0.4)
    near, far = 1 / (n - 1), 2 / (n - 2)
    limit = far / near - 1 + 3 / math.sqrt(n)
    assert float(scan.step_dependence(step, np.array([n // 2]))) == pytest.approx(min(raised, limit, 0.95))


def test_confidence_sets_end_where_they_say() -> None:
    """Sides too short to show a change are none that show one; a walk ends after ten refusals in a row."""
    for n in (3, 7, 8):
        assert scan.confidence_set(np.arange(float(n)), 0.05, best=n // 2).tolist() == list(range(1, n))
    x = np.repeat([0.0, 1.0, 2.0, 3.0], 16) + 0.01 * np.random.default_rng(0).standard_normal(64)
    for best, alpha, rho in itertools.product((16, 32, 60), (0.1, 0.9), (None, 0.3)):
        kept = {best}
        for step in (1, -1):
            refused, split = 0, best + step
            while 1 <= split <= 63 and refused < 10:
                parts = [part for part in (x[:split], x[split:]) if part.size > 7]
                p = [float(scan.scan_pvalue(scan.scan_statistic(part, rho)[0], part.size)) for part in parts]
                refused = 0 if min(p) > alpha / 2 else refused + 1
                kept |= {split} if refused == 0 else set()
                split += step
        assert scan.confidence_set(x, alpha, dependence=rho, best=best).tolist() == sorted(kept)


def naive_dependence(scores: Series, splits: list[int]) -> float:
    """The autoregression of what steps leave, raised by its bias, no larger than what differences allow."""
    n, steps = scores.size, len(splits)
    rest = np.concatenate([part - part.mean() for part in np.split(scores, splits) if part.size])
    raw = float(rest[1:] @ rest[:-1]) / float(rest @ rest) if rest.any() else 0.0
    raised = (raw + (2 + 5 * steps) / n) / max(1 - 10 * steps / n, 0.4)
    far, near = np.mean((scores[2:] - scores[:-2]) ** 2), np.mean((scores[1:] - scores[:-1]) ** 2)
    return max(0.0, min(raised, float(far / near) - 1 + 3 / math.sqrt(n), 0.95))


def test_a_confidence_set_is_about_the_split_of_the_scan() -> None:
    x = np.random.default_rng(6).standard_normal(50) + 2.0 * (np.arange(50) >= 22)
    best = int(scan.change_scan(x).split)
    assert scan.confidence_set(x, 0.1).tolist() == scan.confidence_set(x, 0.1, best=best).tolist()

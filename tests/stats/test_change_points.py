"""Change points, rises and culprits against SciPy and simulation, and the searches for them written out."""

import itertools
import math
from statistics import mean

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats
from scipy.optimize import least_squares
from tests.stats.series import autoregressive

from speedproof.stats.change_points import (
    ChangePoint,
    all_changes,
    change_pvalues,
    find_changes,
    fitted_rise,
    place_of_step,
)
from speedproof.stats.culprit import step_posterior
from speedproof.stats.levels import best_levels, levels, places_of_step
from speedproof.stats.two_levels import two_levels


@pytest.mark.parametrize("x", [[], [1.0], [1.0, 2.0, 3.0], [2.0] * 50])
def test_short_and_constant_series_show_nothing(x: list[float]) -> None:
    """Fewer than eight values and a constant show no change."""
    assert find_changes(np.array(x), 0.05) == ()


@pytest.mark.parametrize(("one", "other"), [(6, 6), (7, 6), (10, 3), (17, 4)])
def test_equal_values_against_all_orders(one: int, other: int) -> None:
    """Of all orders of two values no more show such a p-value than it says, down to the least one."""
    ways = itertools.combinations(range(one + other), other)
    x = np.array([np.isin(np.arange(one + other), way) for way in ways]) * 1.0
    ordered = np.sort(change_pvalues(x))
    exact = np.searchsorted(ordered, ordered * (1 + 1e-9), side="right") / len(x)
    assert (exact <= ordered * (1 + 1e-9)).all()


@pytest.mark.parametrize(("n", "benchmarks"), [(40, 50), (60, 10_000), (100, 100_000)])
def test_a_large_step_of_rounded_values_shows_in_many_benchmarks(n: int, benchmarks: int) -> None:
    """The least p-values leave room for Holm's correction, whether values are equal or not."""
    noise = np.random.default_rng(n).standard_normal(n)
    step = 10_000.0 * (np.arange(n) >= n // 2)
    for x in (step + noise, step + np.round(2 * noise)):
        assert float(change_pvalues(x[None])[0]) <= 0.05 / benchmarks


@pytest.mark.parametrize(
    ("n", "share"),
    [(12, 0.3), (13, 0.15), (15, 0.3), (20, 0.15), pytest.param(40, 0.1, marks=pytest.mark.slow)],
)
def test_suites_of_two_valued_benchmarks_keep_the_risk(n: int, share: float) -> None:
    """After Holm's correction at most 5 % of suites of 100 show a change that is none (4 standard errors)."""
    suites, benchmarks = 100, 100
    x = (np.random.default_rng([n, 9]).random((suites * benchmarks, n)) < share) * 1.0
    least = np.asarray(change_pvalues(x)).reshape(suites, benchmarks).min(axis=1)
    assert (least <= 0.05 / benchmarks).mean() <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / suites)


def test_so_many_benchmarks_of_twelve_commits_can_show_at_once() -> None:
    """docs/tables.md says 21: Holm's least level must still be above the least p-value, and is not for 22."""
    x = np.random.default_rng(1).standard_normal((1, 12)) + 10_000.0 * (np.arange(12) >= 6)
    assert 0.05 / 22 < float(change_pvalues(x)[0]) <= 0.05 / 21


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


@pytest.mark.parametrize(
    ("rho", "step"), [(0.0, 1.5), pytest.param(0.3, 2.5, marks=pytest.mark.slow), (0.6, 4.0)]
)
def test_the_places_cover_the_step(rho: float, step: float) -> None:
    """Those between the first and the last hold the true one in 95 % of 100 series (4 standard errors)."""
    covered, lengths = 0, []
    for seed in range(100):
        (noise,) = autoregressive(np.random.default_rng([9, seed]), 1, 80, rho)
        found = [c for c in find_changes(noise + step * (np.arange(80) >= 30), 0.05) if c.low <= 30 <= c.high]
        covered += bool(found)
        lengths += [c.high - c.low for c in found]
    assert covered >= 100 * (0.95 - 4 * np.sqrt(0.95 * 0.05 / 100))
    assert np.median(lengths) < 15


@pytest.mark.parametrize("unit", [0.0, 0.1, 0.2, 1 / 3, 7.3])
def test_of_places_that_fit_as_well_the_first_is_told(unit: float) -> None:
    """A value above both levels and one below: the step may as well come after both, whatever is rounded."""
    x = np.array([0.01, -0.02, 0.02, -0.01, 0.2, -0.1, 0.11, 0.08, 0.12, 0.09])
    for values in (x, 0.1 - x[::-1]):
        assert place_of_step(values + unit, 0, 10, unit, 0.1 + unit) == 4
    assert place_of_step(x + unit, 5, 10, unit, 0.1 + unit) == 6


def test_a_rise_between_levels_is_a_drift_and_two_steps_are_none() -> None:
    """Of ten deviations over 100 of 200 commits; of three deviations each, twenty commits apart."""
    rng, time = np.random.default_rng(6), np.arange(200)
    rises = rng.normal(size=(40, 200)) + 10.0 * np.clip((time - 50) / 100, 0.0, 1.0)
    steps = rng.normal(size=(40, 200)) + 3.0 * (time >= 90) + 3.0 * (time >= 110)
    for series, least, most in ((rises, 36, 40), (steps, 0, 4)):
        every = all_changes(series, 0.05, change_pvalues(series))
        assert least <= sum(any(change.drift for change in changes) for changes in every) <= most


def ramp(n: int, begin: int, end: int) -> np.ndarray:
    """From 0 at one value to 1 at another."""
    return np.clip((np.arange(n) - begin) / (end - begin), 0.0, 1.0)


@pytest.mark.parametrize(("n", "begin", "end"), [(5, 1, 3), (30, 0, 30), (40, 10, 25), (160, 40, 120)])
def test_without_noise_the_rise_is_what_it_was_made_of(n: int, begin: int, end: int) -> None:
    """Also one that the values end in; an outlier moves it by what its neighbours differ."""
    for outlier, about in ((0.0, 0), (50.0, 1)):
        x = 3.0 - 2.0 * ramp(n, begin, end)
        x[n // 2] += outlier if n > 5 else 0.0
        found = fitted_rise(x, 0.05)
        last = min(end, n - 1)
        assert (found.begin, found.end) == pytest.approx((begin, last), abs=about)
        expected = 3.0, 3.0 - 2.0 * (last - begin) / (end - begin)
        assert found.levels == pytest.approx(expected, abs=0.03 * about + 1e-9)


def test_the_best_rise_against_scipy() -> None:
    """At its places SciPy finds the same levels, no others are nearer, but for what outliers are drawn by."""
    rng = np.random.default_rng(4)
    for _ in range(20):
        x = rng.uniform(-0.5, 0.5, 40) + 2.0 * ramp(40, 10, 28)
        found = fitted_rise(x, 0.05)

        def left(at: tuple[int, int], x: np.ndarray = x) -> tuple[float, np.ndarray]:
            fit = least_squares(lambda p: p[0] + p[1] * ramp(40, *at) - x, [0.0, 1.0])
            return float(fit.cost), fit.x

        cost, (before, size) = left((found.begin, found.end))
        assert found.end < 39
        assert found.levels == pytest.approx((before, before + size), abs=0.03)
        assert all(left((a, b))[0] >= cost - 0.03 for a in range(8, 13) for b in range(26, 31))


@pytest.mark.parametrize(
    ("rho", "begin", "end"),
    [(0.5, 30, 80), *(pytest.param(0.0, *ends, marks=pytest.mark.slow) for ends in ((30, 80), (0, 99)))],
)
def test_its_bounds_hold(rho: float, begin: int, end: int) -> None:
    """Each errs in 5 % of series, give or take three standard errors and what a correlation's estimate costs.

    Also where it rises from the first value to the last.
    """
    rng, misses = np.random.default_rng(5), np.zeros(2)
    for x in autoregressive(rng, 400, 100, rho):
        found = fitted_rise(x + 12.0 * ramp(100, begin, end), 0.05)
        misses += [found.low > 12.0, found.high < 12.0]
        assert found.high - found.low < 6.0  # bounds that say nothing never err
    assert (misses <= 400 * (0.083 if rho == 0.0 else 0.12)).all(), misses


Series = npt.NDArray[np.float64]


@pytest.mark.parametrize("n", [8, 11, 12, 20, 39, 41, 90])
def test_pvalues_of_any_change(n: int) -> None:
    rng = np.random.default_rng(n)
    x = rng.standard_normal((6, n))
    x[1] += 4.0 * (np.arange(n) >= n // 2)
    x[2] += 2.0 * (np.arange(n) >= n - 3)
    x[3, n // 3 : n // 2 + 4] += 9.0
    assert change_pvalues(x).tolist() == pytest.approx([min(1.0, shown(row, None)) for row in x])


def share_of(n: int) -> float:
    """What shows three values at the end of n at 1 %, of the risk; at least 15 %."""
    return min(1.0, max(0.15, 2 / math.comb(n, 3) / 0.01))


def both_tests(x: Series, most: int | None) -> list[tuple[float, list[int]]]:
    """The p-values of several levels and of two, each over its share of the risk, and where they part."""
    share, plain = share_of(x.size), two_levels(x[None])
    found = [(float(plain.pvalue[0]) / share, plain.splits[0].tolist())]
    if share < 1:
        several = levels(x[None], most=most)
        found.insert(0, (float(several.pvalue[0]) / (1 - share), several.splits[0].tolist()))
    return [(min(1.0, pvalue), [split for split in splits if split]) for pvalue, splits in found]


def shown(x: Series, most: int | None) -> float:
    """The smaller p-value."""
    return min(pvalue for pvalue, _ in both_tests(x, most))


def levelled(x: Series, splits: list[int], kept: int | None = None) -> Series:
    """Every level brought to zero, value by value; those behind the kept step to its height."""
    ends = [0, *splits, x.size]
    found = []
    for k, value in enumerate(x.tolist()):
        level = sum(k >= split for split in splits)
        value -= np.median(x[ends[level] : ends[level + 1]])
        if kept is not None and level > kept:
            value += np.median(x[ends[kept + 1] : ends[kept + 2]]) - np.median(x[ends[kept] : ends[kept + 1]])
        found.append(value)
    return np.array(found)


def missed(x: Series, splits: list[int], k: int) -> float:
    """The p-value of a series without steps but for the k-th, by which the shorter level beside it is moved.

    By less than it is large: between that level and all other values, of variance 1, it is as many errors of the
    difference of two means as it is between the two levels.
    """
    ends, n = [0, *splits, x.size], x.size
    (own, short), (_, other) = sorted([(ends[j + 1] - ends[j], j) for j in (k, k + 1)])
    size = np.median(x[ends[short] : ends[short + 1]]) - np.median(x[ends[other] : ends[other + 1]])
    beside, whole = (math.sqrt(1 / own + 1 / many) for many in (ends[other + 1] - ends[other], n - own))
    rest = levelled(x, splits)
    rest[ends[short] : ends[short + 1]] += size * whole / beside
    return shown(rest, None)


def fewest(x: Series, alpha: float, steps: list[int]) -> list[int]:
    """Steps are added while what they leave shows some, then those are dropped that are not missed."""
    n, (ways,) = x.size, best_levels(x[None])
    splits = steps or ways[0]
    for _ in range(10):
        rest = levelled(x, splits)
        pvalue, found = min(both_tests(rest, None), key=lambda test: test[0])
        ends = [0, *splits, n]
        more = [k for k in found if all(abs(k - end) >= 3 for end in ends)]
        if pvalue > alpha or not more:
            break
        many = len(splits)
        candidates = [sorted(splits + more)]
        candidates += [ways[k] for k in range(many, many + len(more)) if k < len(ways)]
        splits = min(candidates, key=lambda way: math.fsum(abs(v) for v in levelled(x, way)))
    while len(splits) > 1:
        pvalues = [missed(x, splits, k) for k in range(len(splits))]
        if max(pvalues) <= alpha:
            break
        spared = pvalues.index(max(pvalues))
        splits = splits[:spared] + splits[spared + 1 :]
    return splits


def noise(x: Series, splits: list[int]) -> tuple[float, float]:
    """Three deviations of what levels leave, by the median, and how alike neighbours within a level are."""
    rest = levelled(x, splits)
    far = 3 * 1.4826 * float(np.median(np.abs(rest))) or 3 * float(np.std(rest))
    left = [min(max(float(value), -far), far) for value in rest]
    pairs = [(left[i - 1], left[i]) for i in range(1, len(left)) if i not in splits]
    raw = sum(a * b for a, b in pairs) / sum(a * a for a in left)
    bias = (len(splits) + 1) * (1 + 3 * max(raw, 0)) / x.size
    return far, min(max(raw + bias, 0.0), 0.9)


def located(
    x: Series, start: int, split: int, end: int, pvalue: float, alpha: float, far: float, rho: float
) -> ChangePoint:
    """The place with the least absolute deviations from the medians of the levels."""
    part = x[start:end]
    one, two = np.median(part[: split - start]), np.median(part[split - start :])
    drawn = np.array([min(max(v, min(one, two) - far), max(one, two) + far) for v in part])
    low, high = places_of_step(drawn, split - start, rho, alpha)

    def cost(k: int) -> float:
        return float(np.abs(part[low:k] - one).sum() + np.abs(part[k:high] - two).sum())

    return ChangePoint(start + min(range(low, high + 1), key=cost), start + low, start + high, pvalue)


def naive_changes(x: Series, alpha: float) -> list[ChangePoint]:
    if shown(x, None) > alpha:
        return []
    splits = fewest(x, alpha, both_tests(x, None)[-1][1])
    (ways,) = best_levels(x[None])
    if any(line for _, _, line in directions(x, splits)) and len(splits) < len(ways):
        way = ways[len(splits)]
        seen = all(shown(levelled(x, way, k), 1) <= alpha for k in range(len(way)))
        if seen and not any(line for _, _, line in directions(x, way)):
            splits = way
    ends = [0, *splits, x.size]
    changes: list[ChangePoint] = []
    for k, split in enumerate(splits):
        start, pvalue = changes[-1].split if k else 0, shown(levelled(x, splits, k), 1)
        changes.append(located(x, start, split, ends[k + 2], pvalue, alpha, *noise(x, splits)))
    return drifting(x, changes)


def directions(x: Series, splits: list[int]) -> list[tuple[int, int, bool]]:
    """First and last of the steps in one direction, and whether a line through the values leaves less.

    Where none does, the largest step stands alone, and those before and after it are asked.
    """
    ends = [0, *splits, x.size]
    medians = [float(np.median(x[ends[k] : ends[k + 1]])) for k in range(len(ends) - 1)]
    sizes = np.diff(medians)
    found: list[tuple[int, int, bool]] = []

    def ask(first: int, last: int, apart: int) -> None:
        line = is_line(x, ends, medians, first, last, apart)
        if line or first == last:
            found.append((first, last, line))
            return
        largest = first + int(np.abs(sizes[first : last + 1]).argmax())
        if largest > first:
            ask(first, largest - 1, apart + 1)
        ask(largest, largest, apart + 1)
        if largest < last:
            ask(largest + 1, last, apart + 1)

    first = 0
    for k in range(1, len(splits) + 1):
        if k == len(splits) or (sizes[k] > 0) != (sizes[first] > 0):
            ask(first, k - 1, 0)
            first = k
    return found


def is_line(x: Series, ends: list[int], medians: list[float], first: int, last: int, apart: int) -> bool:
    """Whether a line, maybe between two levels, leaves less than the steps, each at its price."""
    levels = np.concatenate([np.full(ends[j + 1] - ends[j], medians[j]) for j in range(first, last + 2)])
    part = x[ends[first] : ends[last + 2]]
    far = 3 * 1.4826 * np.median(np.abs(part - levels))
    drawn = levels + np.minimum(np.maximum(part - levels, -far), far)
    line = np.polyval(np.polyfit(np.arange(part.size), drawn, 1), np.arange(part.size))
    own = np.split(drawn, np.array(ends[first + 1 : last + 2]) - ends[first])
    means = np.concatenate([np.full(level.size, level.mean()) for level in own])
    steps, left = last - first + 1, ((drawn - means) ** 2).sum()
    straight = part.size * math.log(((drawn - line) ** 2).sum() / left)
    shown = straight < (2 * (steps - 1) - apart) * math.log(part.size)
    # Level, a rise, level: it begins and ends within one level of the outer steps.
    at = np.array(ends[first : last + 3]) - ends[first]
    before, after = (at[2] - at[1]) // 2, (at[-2] - at[-3]) // 2
    for begin, end in itertools.product(
        (at[1], at[1] - before, 2 * at[1] - at[2]), (at[-2], at[-2] + after, 2 * at[-2] - at[-3])
    ):
        begin, end = max(begin, 0), min(end, part.size)
        if end - begin < 2:
            continue
        rise = np.array([min(max((t - begin) / (end - begin), 0.0), 1.0) for t in range(part.size)])
        rest = drawn - np.polyval(np.polyfit(rise, drawn, 1), rise)
        gain = part.size * math.log((rest**2).sum() / left)
        shown |= bool(gain < (2 * steps - 3 - apart) * math.log(part.size))
    return bool(shown)


def drifting(x: Series, changes: list[ChangePoint]) -> list[ChangePoint]:
    """Of changes in one direction that a line explains better, one."""
    found: list[ChangePoint] = []
    for first, last, line in directions(x, [change.split for change in changes]):
        run = changes[first : last + 1]
        best = min(run, key=lambda change: change.pvalue)
        found += [ChangePoint(best.split, run[0].low, run[-1].high, best.pvalue, drift=True)] if line else run
    return found


def series_of(kind: int, n: int) -> Series:
    """Noise, independent or not, with no change to four, continuous or in steps."""
    rng = np.random.default_rng([kind, n])
    x, t = rng.standard_normal(n), np.arange(n)
    match kind:
        case 1:
            x += 9.0 * (t >= n // 2)
        case 2:
            x += 3.0 * (t >= n // 3) - 3.0 * (t >= 2 * n // 3)
        case 3:
            x = np.round(x + 2.5 * (t >= n // 4) + 2.5 * (t >= n // 2) + 2.5 * (t >= 3 * n // 4))
        case 4:
            for k in range(1, n):
                x[k] += 0.6 * x[k - 1]
            x[n // 2 : n // 2 + 9] += 20.0
        case 5:
            x = x.cumsum()
        case 6:
            x = np.round(x, 1) + 5.0 * (t >= n - 4)
        case 7:
            x += 2.0 * (t >= n // 2)
        case 8:
            x += 12.0 * ((t >= n // 3) & (t < 2 * n // 3))
            x[1] += 90.0
    return x


@pytest.mark.parametrize("n", [8, 9, 12, 15, 16, 24, 45, 80])
@pytest.mark.parametrize("kind", range(9))
def test_changes_of_steps_lines_and_noise(kind: int, n: int) -> None:
    x = series_of(kind, n)
    for alpha in (0.05, 0.3):
        assert list(find_changes(x, alpha)) == naive_changes(x, alpha)


def test_what_is_known_of_a_series_is_not_asked_again() -> None:
    """Its p-value decides whether there is a change at all; at equality there is."""
    x = series_of(1, 30)
    pvalue = float(change_pvalues(x[None])[0])
    assert find_changes(x, pvalue) == find_changes(x, pvalue, known=pvalue) != ()
    assert find_changes(x, 0.99 * pvalue) == find_changes(x, 0.05, known=0.051) == ()
    assert find_changes(x, 0.05, known=0.05) == find_changes(x, 0.05)
    assert find_changes(series_of(0, 30), 0.05, known=0.01) != ()


def brute_force(
    pairs: list[tuple[int, int]], differences: list[float], positions: list[int]
) -> tuple[list[float], float, float]:
    """Every place, size and noise on its own, with SciPy's density; steps that no pair tells apart are one."""
    both, ends = list(zip(pairs, differences, strict=True)), (positions[0], positions[-1])
    whole = np.median([d for p, d in both if p == ends])
    kinds = {p: np.median([d for q, d in both if q == p]) for p in pairs}
    away = [(p, abs(d - kinds[p])) for p, d in both]
    scatter = 1.4826 * max(np.median([a for _, a in away]), np.median([a for p, a in away if p == ends]))
    noises = max(scatter, 1e-3 * abs(whole), 1e-12) * 2.0 ** np.linspace(-2.0, 2.0, 11)
    steps = list(itertools.pairwise(positions))
    share = {step: (step[1] - step[0]) / (ends[1] - ends[0]) for step in steps}
    enclosing = {step: tuple(a < step[1] <= b for a, b in pairs) for step in steps}
    groups = [list(group) for _, group in itertools.groupby(steps, key=lambda step: enclosing[step])]

    def likelihood(sizes: dict[tuple[int, int], float]) -> float:
        """Averaged over noises."""
        means = [sum(size for step, size in sizes.items() if a < step[1] <= b) for a, b in pairs]
        centred = np.subtract(differences, means)[:, None]
        return float(np.mean(np.prod(stats.t.pdf(centred, 2.5, scale=noises), axis=0)))

    none = 0.5 * likelihood({})
    first = {
        step: 0.5 * 0.95 * share[step] * mean(likelihood({step: whole * k / 10}) for k in range(5, 14))
        for step in steps
    }
    single = sum(first.values())
    sizes = [(i, j) for i in range(3, 11) for j in range(3, 11) if 8 <= i + j <= 13]
    for one, two in itertools.combinations(steps, 2):
        if enclosing[one] != enclosing[two]:
            likely = mean(likelihood({one: whole * i / 10, two: whole * j / 10}) for i, j in sizes)
            first[one] += 0.5 * 0.05 * 2 * share[one] * share[two] * likely
    # A group of steps that nothing tells apart shares its mass.
    for members in groups:
        mass = sum(first[step] for step in members)
        for step in members:
            first[step] = mass * share[step] / sum(share[m] for m in members)
    some = sum(first.values())
    return [first[step] / (some + none) for step in steps], none / (some + none), 1 - single / some


def same(pairs: list[tuple[int, int]], differences: list[float], positions: list[int]) -> None:
    before, after = np.array(pairs).T
    found = step_posterior(before, after, np.array(differences), np.array(positions))
    first, none, second = brute_force(pairs, differences, positions)
    assert found[0].tolist() == pytest.approx(first, rel=1e-7, abs=1e-250)
    assert found[1] == pytest.approx(none, rel=1e-7, abs=1e-250)
    assert found[2] == pytest.approx(second, rel=1e-7, abs=1e-12)


@pytest.mark.parametrize("positions", [[0, 1, 2, 3, 4, 5, 6], [0, 2, 3, 6]])
def test_posterior_is_the_sum_over_positions(positions: list[int]) -> None:
    """Also where commits between cannot be looked at, and where two steps are likely."""
    pairs = [(0, 6)] * 4 + [(0, 3), (3, 6), (2, 6), (0, 2), (0, 3), (2, 3)]
    same(pairs, [0.02, 0.031, 0.018, 0.012, 0.004, 0.022, 0.018, -0.009, 0.001, 0.015], positions)
    same(pairs, [0.02, 0.021, 0.018, 0.022, 0.011, 0.012, 0.009, -0.003, 0.012, 0.013], positions)


@pytest.mark.parametrize("scattered", [0, 3])
def test_the_noise_is_the_larger_median(scattered: int) -> None:
    """Of what all pairs scatter by, and of what those of both ends do: with an outlier that draws a mean."""
    wide, narrow = [-0.03, 0.0, 0.004, 0.007, 0.3], [0.0199, 0.02, 0.02005, 0.02012, 0.021]
    parts = narrow + wide + wide if scattered else wide + narrow + narrow
    same([(0, 6)] * 5 + [(0, 3)] * 5 + [(3, 6)] * 5, parts, [0, 2, 3, 6])


def test_equal_readings_do_not_divide_by_zero() -> None:
    """A coarse clock gives no scatter at all."""
    before, after = np.zeros(6, dtype=int), np.full(6, 4)
    found = step_posterior(before, after, np.zeros(6), np.arange(5))
    assert found[0].sum() + found[1] == pytest.approx(1.0)
    assert found[0] == pytest.approx(found[0][0])

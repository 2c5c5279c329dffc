"""The search for several changes of level written out: one interval, one place, one series at a time."""

import itertools
import math

import numpy as np
import numpy.typing as npt
import pytest

from speedproof.stats.change_points import ChangePoint, change_pvalues, find_changes
from speedproof.stats.levels import best_levels, levels, places_of_step
from speedproof.stats.two_levels import two_levels

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

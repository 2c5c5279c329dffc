"""Several changes in one series.

A series first has to show a change as a whole, at the stated risk. Steps are then taken out of it, as few as leave
nothing that shows a change at that risk: more are added while what is left shows some, at the places that explain
all values or what is left best, and those are dropped that are not missed.

A level, a straight rise, another level: where the rise begins and ends, and how high it is, by least squares.

Outliers are drawn to three deviations from their neighbours. The bounds are those of the profile
likelihood, over all places where the rise may begin and end; the correlation of neighbouring residuals widens them
as that of a first-order autoregression.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, groupby, pairwise, product

import numpy as np
from msgspec import Struct
from numpy.lib.stride_tricks import sliding_window_view

from speedproof.arrays import ArrayLike, BoolArray, FloatArray, IntArray
from speedproof.stats.levels import COMPILED, MOST_SPLITS, best_levels, levels, places_of_step
from speedproof.stats.scaling import NORMAL_DEVIATION, middle, usual
from speedproof.stats.special import t_ppf
from speedproof.stats.two_levels import MARGIN, share, two_levels

_ROUNDS = 10
_ROWS = 256  # series at a time
_ALL = -1.0  # no p-value is so small that a larger one will do
_MOST_DEPENDENT = 0.9
_ROUNDING = 1e-9
_FEW = 4  # steps: most series that change need no more
_Asked = tuple[FloatArray, int | None, float]  # series, of how many changes, what p-value is small enough
_Answer = tuple[FloatArray, IntArray]


class Levelled:
    """A series: the splits that explain it best, many when they are asked for; what it is without its steps."""

    def __init__(self, values: FloatArray, few: Sequence[list[int]] = ()) -> None:
        self.values, self._known = values, few
        self._heights: dict[tuple[int, int], float] = {}
        self._lines: dict[tuple[tuple[int, ...], int], bool] = {}

    def upto(self, steps: int) -> Sequence[list[int]]:
        """The splits of one step, two steps, and so on."""
        if len(self._known) == _FEW < steps:
            (self._known,) = best_levels(self.values[None], MOST_SPLITS)
        return self._known[:steps]

    def heights(self, splits: list[int]) -> list[float]:
        """The medians between the splits."""
        parts = list(pairwise([0, *splits, self.values.size]))
        for part in parts:
            if part not in self._heights:
                self._heights[part] = median(self.values[slice(*part)])
        return [self._heights[part] for part in parts]

    def without(self, splits: list[int]) -> FloatArray:
        """The series with its steps removed: the medians brought to one level."""
        flat = self.values.copy()
        for part, height in zip(pairwise([0, *splits, flat.size]), self.heights(splits), strict=True):
            flat[slice(*part)] -= height
        return flat

    def directions(self, splits: list[int]) -> Iterator[tuple[int, int, bool]]:
        """Of steps in one direction the first and the last, and whether a line explains the values better.

        Where none does, the largest of them may stand beside a drift: what is on each side of it is asked again.
        """
        heights = self.heights(splits)
        sizes = [after - before for before, after in pairwise(heights)]
        runs = [list(run) for _, run in groupby(range(len(splits)), key=lambda k: sizes[k] > 0.0)]
        for run in runs:
            yield from self._lines_of(splits, sizes, run, 0)

    def _lines_of(
        self, splits: list[int], sizes: list[float], run: list[int], apart: int
    ) -> Iterator[tuple[int, int, bool]]:
        """The same of some of them, where so many stand apart already."""
        line = self._line(tuple([0, *splits, self.values.size][run[0] : run[-1] + 3]), apart)
        if line or len(run) == 1:
            yield run[0], run[-1], line
            return
        largest = max(run, key=lambda k: abs(sizes[k]))
        for part in (range(run[0], largest), range(largest, largest + 1), range(largest + 1, run[-1] + 1)):
            if part:
                yield from self._lines_of(splits, sizes, [*part], apart + 1)

    def _line(self, part: tuple[int, ...], apart: int) -> bool:
        """Whether a line explains the values between these places better than levels."""
        if (part, apart) not in self._lines:
            levels = [self._heights[level] for level in pairwise(part)]
            lengths = [b - a for a, b in pairwise(part)]
            self._lines[part, apart] = _is_line(self.values[part[0] : part[-1]], levels, lengths, apart)
        return self._lines[part, apart]

    def left_in(self, splits: list[int]) -> FloatArray:
        """A row a step: levels brought to one, but for the shorter one beside the step.

        That is drawn nearer, until all other values tell as little of it as the longer one beside the step does.
        """
        heights, n = self.heights(splits), self.values.size
        rows = np.tile(self.without(splits), (len(splits), 1))
        levels = [
            (b - a, a, height) for (a, b), height in zip(pairwise([0, *splits, n]), heights, strict=True)
        ]
        for row, sides in zip(rows, pairwise(levels), strict=True):
            (short, start, height), (long, _, other) = sorted(sides)
            row[start : start + short] += (height - other) * math.sqrt(
                long * n / ((n - short) * (short + long))
            )
        return rows

    def alone(self, splits: list[int], kept: Sequence[int] | None = None) -> FloatArray:
        """A row a step, or for some of them: the other steps taken out."""
        heights, kept = self.heights(splits), range(len(splits)) if kept is None else kept
        rows = np.tile(self.without(splits), (len(kept), 1))
        for row, k in zip(rows, kept, strict=True):
            row[splits[k] :] += heights[k + 1] - heights[k]
        return rows


class ChangePoint(Struct, frozen=True):
    """A change of level."""

    split: int  # best estimate: the number of values before the change
    low: int  # the smallest and largest number of values before it that the data leave possible
    high: int
    pvalue: float  # where the other changes are taken out
    # A line explains the values better than steps: it happened little by little, low to high
    drift: bool = False


def change_pvalues(x: ArrayLike, *, enough: float = _ALL) -> FloatArray:
    """The p-value of any change in each of several series of equal length, shape (rows, n).

    Of those that a quicker look shows to be small `enough` a bound from above.
    """
    series = np.asarray(x, dtype=np.float64)
    parts = (series[start : start + _ROWS] for start in range(0, len(series), _ROWS))
    return np.concatenate([np.zeros(0), *(_shows(part, None, enough)[0] for part in parts)])


def show_changes(x: ArrayLike, alpha: float) -> BoolArray:
    """Whether those p-values are at most alpha."""
    return np.asarray(change_pvalues(x, enough=alpha) <= alpha)


def _shows(series: FloatArray, most: int | None, enough: float) -> _Answer:
    """The p-values of up to so many changes, and where levels part, by the test that shows more."""
    n = series.shape[1]
    of_two, plain = share(n), two_levels(series)
    pvalue, splits = np.minimum(plain.pvalue / of_two, 1.0), plain.splits
    left = np.flatnonzero(pvalue > enough) if of_two < 1.0 else ()
    if len(left):
        apart = levels(series[left], most=most, enough=enough * (1.0 - of_two))
        several = np.minimum(apart.pvalue / (1.0 - of_two), 1.0)
        better = several <= pvalue[left]
        left = left[better]
        pvalue[left], splits[left] = several[better], 0
        splits[left, : apart.splits.shape[1]] = apart.splits[better]
    return pvalue, splits


def find_changes(x: ArrayLike, alpha: float, *, known: float | None = None) -> tuple[ChangePoint, ...]:
    """All changes of level that a series shows: as few as leave nothing that shows a change."""
    series = np.asarray(x, dtype=np.float64)[None]
    return all_changes(series, alpha, change_pvalues(series) if known is None else np.array([known]))[0]


def all_changes(
    series: FloatArray, alpha: float, known: FloatArray, *, told: bool = True
) -> list[tuple[ChangePoint, ...]]:
    """The same of several series of equal length and known p-values; what they ask is answered for all at once.

    The p-values of the changes are not ``told`` where only their places are asked for: then they are NaN.
    """
    series = usual(series)
    changes: list[tuple[ChangePoint, ...]] = [()] * len(series)
    rows = np.flatnonzero(known <= alpha)
    for part in (rows[start : start + _ROWS] for start in range(0, rows.size, _ROWS)):
        plain, ways = two_levels(series[part]), best_levels(series[part], _FEW)
        splits = [[split for split in row if split] for row in plain.splits.tolist()]
        searches = {
            row: _search(Levelled(series[row], ways[i]), alpha, splits[i], told)
            for i, row in enumerate(part.tolist())
        }
        answers: dict[int, _Answer | None] = dict.fromkeys(searches)
        while answers:
            asked: dict[int, _Asked] = {}
            for row, answer in answers.items():
                try:
                    asked[row] = next(searches[row]) if answer is None else searches[row].send(answer)
                except StopIteration as end:
                    changes[row] = end.value
            answers = {}
            for most, enough in {(most, enough) for _, most, enough in asked.values()}:
                alike = {row: rest for row, (rest, *how) in asked.items() if how == [most, enough]}
                pvalue, where = _shows(np.concatenate(list(alike.values())), most, enough)
                ends = np.cumsum([len(rest) for rest in alike.values()])[:-1]
                both = zip(np.split(pvalue, ends), np.split(where, ends), strict=True)
                answers |= dict(zip(alike, both, strict=True))
    return changes


def _search(
    series: Levelled, alpha: float, steps: list[int], told: bool
) -> Generator[_Asked, _Answer, tuple[ChangePoint, ...]]:
    """The changes of one series; it asks what series, and of how many changes, show.

    Changes in one direction that a line explains better than they do are one, a drift.
    """
    splits = yield from _fewest(series, alpha, steps)
    pvalues = None
    if any(line for _, _, line in series.directions(splits)):
        for way in series.upto(len(splits) + 1)[len(splits) :]:
            shown, _ = yield series.alone(way), 1, _ALL
            if shown.max() <= alpha and not any(line for _, _, line in series.directions(way)):
                splits, pvalues = way, shown
    places = _located(series, splits, alpha)
    runs = [*series.directions([split for split, _, _ in places])]
    if pvalues is None and (told or any(line for _, _, line in runs)):
        pvalues, _ = yield series.alone(splits), 1, _ALL
    each = [math.nan] * len(places) if pvalues is None else pvalues.tolist()
    changes = [ChangePoint(*place, pvalue) for place, pvalue in zip(places, each, strict=True)]
    joined: list[ChangePoint] = []
    for first, last, line in runs:
        run = changes[first : last + 1]
        if line:
            change = min(run, key=lambda change: change.pvalue)
            joined.append(ChangePoint(change.split, run[0].low, run[-1].high, change.pvalue, drift=True))
        else:
            joined += run
    return tuple(joined)


@lru_cache(maxsize=1024)
def _times(n: int) -> tuple[FloatArray, float]:
    """The positions of n values around their middle, and the sum of their squares."""
    times = np.asarray(np.arange(n) - (n - 1) / 2.0, dtype=np.float64)
    return times, float(times @ times)


def _is_line(x: FloatArray, levels: list[float], lengths: list[int], apart: int) -> bool:
    """Whether values lie nearer to a line than to levels of such lengths, by least squares.

    Outliers are drawn to three deviations. The line may be level before and after. A step costs a place and a
    height, as in the Bayesian information criterion, such a line a place more than one over all, and so does each
    step that stands apart from it.
    """
    n, rest = x.size, x - np.repeat(levels, lengths)
    far = 3.0 * NORMAL_DEVIATION * median(np.abs(rest))
    x = x - rest + np.minimum(np.maximum(rest, -far), far)
    x -= x.sum() / n
    starts, steps = [0, *accumulate(lengths[:-1])], len(lengths) - 1
    power, (times, of_times) = x @ x, _times(n)
    levels_apart = power - (np.add.reduceat(x, starts) ** 2 / lengths).sum()
    line_apart = power - (times @ x) ** 2 / of_times
    price = math.log(n) / n
    if line_apart < levels_apart * math.exp((2.0 * (steps - 1) - apart) * price):
        return True
    explained = _rise(x, starts, lengths)
    return bool(power - explained < levels_apart * math.exp((2.0 * steps - 3.0 - apart) * price))


def _rise(x: FloatArray, starts: list[int], lengths: list[int]) -> float:
    """The most of the squares of values, whose mean is 0, that a rise between two levels explains.

    A step at either end of it stands half a level before or after its end, give or take as much.
    """
    n, best = x.size, 0.0
    first, last = lengths[1], lengths[-2]
    begins = [max(starts[1] - more, 0) for more in (0, first // 2, first)]
    ends = [min(starts[-1] + more, n) for more in (0, last // 2, last)]
    if COMPILED is not None:
        return float(COMPILED.rise(x, *begins, *ends))
    total, moment = np.zeros((2, n + 1))
    x.cumsum(out=total[1:])
    (np.arange(n) * x).cumsum(out=moment[1:])
    # For few numbers plain Python is faster.
    sums, moments = (
        dict(zip(begins + ends, of[begins + ends].tolist(), strict=True)) for of in (total, moment)
    )
    for a, b in product(begins, ends):
        if b - a < 2:
            continue
        m, after = b - a, n - b
        along = (moments[b] - moments[a] - a * (sums[b] - sums[a])) / m - sums[b]
        mean = ((m - 1) / 2.0 + after) / n
        best = max(best, along * along / ((m - 1) * (2 * m - 1) / (6.0 * m) + after - n * mean * mean))
    return best


def _fewest(series: Levelled, alpha: float, steps: list[int]) -> Generator[_Asked, _Answer, list[int]]:
    """Splits of which none can be spared; clear steps are tried first."""
    splits, without = list(steps or series.upto(1)[0]), series.without
    for _ in range(_ROUNDS):
        pvalue, more = yield without(splits)[None], None, _ALL
        if float(pvalue[0]) > alpha:
            break
        ends = np.array([0, *splits, series.values.size])
        inside = [k for k in more[0].tolist() if np.abs(ends - k).min() >= MARGIN]
        if not inside:
            break
        # Ranks of all values see little of small steps between large ones, those of what is left little of both.
        candidates = [
            sorted([*splits, *inside]),
            *series.upto(len(splits) + len(inside))[len(splits) :],
        ]
        splits = min(candidates, key=lambda way: float(np.abs(without(way)).sum()))
    while len(splits) > 1:
        pvalues, _ = yield series.left_in(splits), None, alpha
        if pvalues.max() <= alpha:
            break
        del splits[int(pvalues.argmax())]
    return splits


def median(values: FloatArray) -> float:
    """The median of few values, ten times as fast as NumPy's."""
    if COMPILED is not None:
        return float(COMPILED.median(values))
    ordered, half = np.sort(values), values.size // 2
    return float(ordered[half] if values.size % 2 else 0.5 * (ordered[half - 1] + ordered[half]))


def noise(left: FloatArray, splits: Sequence[int]) -> tuple[float, float]:
    """Three deviations of a series without its steps, and the correlation of neighbours between them.

    Levels of their own make that too small.
    """
    far = 3.0 * (NORMAL_DEVIATION * median(np.abs(left)) or float(left.std()))
    left = left.clip(-far, far)
    within = np.delete(left[1:] * left[:-1], [split - 1 for split in splits]).sum()
    power = float(left @ left)
    raw = float(within) / power if power > 0.0 else 0.0
    rho = raw + (len(splits) + 1) * (1.0 + 3.0 * max(raw, 0.0)) / left.size
    return far, min(max(rho, 0.0), _MOST_DEPENDENT)


def widening(rho: float) -> float:
    """By how much the error of a mean of a first-order autoregression exceeds that of independent values."""
    return math.sqrt((1.0 + rho) / (1.0 - rho))


def _located(series: Levelled, splits: list[int], alpha: float) -> list[tuple[int, int, int]]:
    """The changes, and the places possible for each between its neighbours.

    Outliers are drawn to three deviations beyond the levels. Noise depends on its neighbours as what is left does.
    """
    values, n = series.values, series.values.size
    far, rho = noise(series.without(splits), splits)
    located: list[tuple[int, int, int]] = []
    for split, end in zip(splits, [*splits[1:], n], strict=True):
        start = located[-1][0] if located else 0
        part, k = values[start:end], split - start
        levels = median(part[:k]), median(part[k:])
        drawn = part.clip(min(levels) - far, max(levels) + far)
        low, high = places_of_step(drawn, k, rho, alpha)
        best = place_of_step(part, low, high, *levels)
        located.append((start + best, start + low, start + high))
    return located


def place_of_step(x: FloatArray, low: int, high: int, before: float, after: float) -> int:
    """The place from one to another with the least absolute deviations from two levels, the first of several.

    A value below both and one above both change nothing together: what rounding makes of that must not decide.
    """
    if low == high:
        return low
    one, two = (np.abs(x[low:high] - level) for level in (before, after))
    costs = np.zeros(high - low + 1)
    one.cumsum(out=costs[1:])
    costs[:-1] += two[::-1].cumsum()[::-1]
    return low + int((costs <= (1.0 + _ROUNDING) * costs.min()).argmax())


_BESIDE = 3  # values on each side whose median identifies outliers
_PLACES = 40  # where it may begin, and end, of longer series


class Rise(Struct, frozen=True):
    """A rise from one value to another, the levels there, and bounds of their difference."""

    begin: int
    end: int
    before: float
    after: float
    low: float
    high: float

    @property
    def levels(self) -> tuple[float, float]:
        """Both levels."""
        return self.before, self.after


def fitted_rise(x: FloatArray, alpha: float) -> Rise:
    """The rise that explains five values or more best, its bounds each at risk alpha.

    Examples
    --------
    >>> rise = fitted_rise(np.array([1.0, 1.0, 1.0, 2.0, 3.0, 4.0, 4.0]), 0.05)
    >>> rise.begin, rise.end, round(rise.before, 6), round(rise.after, 6)
    (2, 5, 1.0, 4.0)
    """
    n = x.size
    places = np.linspace(0, n, min(n, _PLACES) + 1).astype(np.int64)
    begins, ends = (each.ravel() for each in np.meshgrid(places, places))
    long = ends - begins >= 2
    begins, ends = begins[long], ends[long]
    shapes = np.clip((np.arange(n) - begins[:, None]) / (ends - begins)[:, None], 0.0, 1.0)
    shapes /= shapes[:, -1:]
    shapes -= shapes.mean(axis=1, keepdims=True)
    power = np.square(shapes).sum(axis=1)

    # Medians of neighbours leave a rise as it is.
    calm = middle(sliding_window_view(np.pad(x, _BESIDE, mode="edge"), 2 * _BESIDE + 1))
    far = 3.0 * NORMAL_DEVIATION * float(middle(np.abs(x - calm)))
    drawn = calm + np.clip(x - calm, -far, far)
    heights = shapes @ (drawn - drawn.mean()) / power
    explained = heights * heights * power
    # A place within costs a parameter: else a rise over all values would fit best without its ends.
    rests = np.square(drawn - drawn.mean()).sum() - explained
    within = (begins > 0).astype(np.int64) + (ends < n)
    best = int((rests * n ** (within / n)).argmin())
    fitted = drawn.mean() + heights[best] * shapes[best]
    rest = drawn - fitted
    left = float(rest @ rest)
    _, rho = noise(rest, [place for place in (int(begins[best]), int(ends[best])) if 0 < place < n])
    limit = left / (n - 4) * (float(t_ppf(1.0 - alpha, n - 4)) * widening(rho)) ** 2
    spare = limit - (explained[best] - explained)
    possible = spare >= 0.0
    half = np.sqrt(spare[possible] / power[possible])
    begin, end = int(begins[best]), min(int(ends[best]), n - 1)
    low, high = float((heights[possible] - half).min()), float((heights[possible] + half).max())
    return Rise(begin, end, float(fitted[begin]), float(fitted[end]), low, high)

"""The search for the best mixture of one sample: many short climbs, few long ones.

For each K all starts of :mod:`speedproof.mixture.em` climb a few steps on at most 256 quantiles of the sample;
the highest of them climbs on, on the sample itself. Where the BIC comes near the best the next ones climb on,
too, and what is highest then is taken to convergence. Where several components win or, of one width, come near,
the last moves are made on all these points. Of a larger sample all that is done on cells of neighbours that
share their responsibilities, and what may win climbs on, on all values. The compiled search ends climbs early
whose BIC cannot come near the best, and climbs in single precision but for what is taken to convergence.

The likelihood of two values that lie close together grows without bound as a component narrows to them. So a
component is no narrower than rounding makes values (the step of their grid, or of the clock whose ticks they crowd
at, over sqrt(2 pi): no value is then more than certain), and one with a variance of its own that rests on three
values or fewer is no narrower than four values lie apart in the middle half.

More components than the likelihood has use for come to lie on each other. A K that BIC chooses has none of these;
for a K that is given the starts climb again, and only a mixture of so many distinct components counts.
"""

from __future__ import annotations

from math import log

import numpy as np
from msgspec import Struct, field

from speedproof.arrays import BoolArray, FloatArray
from speedproof.mixture import em

SMALL = 256
"""Points on which short climbs are made."""

MOST = 10_000
"""Values that long ones are made on: of a larger sample all are made on cells, but for the last."""

MOST_SCOUTED = 3000
"""Points that brief ones are made on where few miss the best, and the limit of a fast search."""

A_CELL = 12
"""Of so many values that there may be: 833 cells, or 250 of a fast search."""

BRIEF, SHORT, LONG, FINE = 30, 20, 3000, 30_000
MARGIN = 10.0  # of BIC, within which a model may still win
REACH = 30.0  # of BIC, from below which no later climb gets there
TRIES = 3  # starts of such a model that climb on
_TOPS = 8  # of the moves on all values
_NONE = np.empty(0)
_FEW = 128  # values, of which the climbs from few points miss nothing
_SEVERAL = 3  # components of a tail, each of a width of its own
ROUNDS = 3  # of moves from the best mixtures, while they bring something
COINCIDING = 0.05
"""In deviations: components whose means and deviations differ by less are one."""


Place = tuple[int, int]  # K and model


class BestMixtures(Struct, frozen=True, eq=False):
    """The best mixture found for every K and model.

    Log-likelihoods of the whole sample, shape (K_max, 2), NaN where there is none; parameters, shape
    (K_max, 2, 3, K_max); and whether EM converged.
    """

    loglik: FloatArray
    mixtures: FloatArray
    converged: em.Ints


def _steps(floor: float, most: int) -> em.StoppingRules:
    """So many accelerated steps at most: fine ones to convergence, others until they gain little."""
    gains = (0.0, 1e-11) if most == FINE else (1e-5, 0.0)
    return em.StoppingRules(*gains, floor, most, accelerate=True, extra_step=False, clamp=True)


class _Search(Struct):
    x: FloatArray | em.Cells
    small: FloatArray | em.Cells  # to scout on
    floor: float  # of a variance
    apart: float  # how far four values lie apart
    n: int  # values that x stands for
    found: BestMixtures
    bics: dict[Place, float] = field(default_factory=dict)  # of what was found
    waiting: dict[Place, list[tuple[float, FloatArray]]] = field(default_factory=dict)

    def bic(self, place: Place, loglik: float, points: int = 0) -> float:
        K, model = place
        return 2.0 * loglik * self.n / (points or _values(self.x)) - em.free_parameters(K, model) * log(
            self.n
        )

    def scout(self, mixtures: FloatArray, places: list[Place]) -> None:
        """Short climbs; what they reach waits, the highest first."""
        rules = _steps(self.floor, SHORT)
        loglik, _ = em.climb(self.small, mixtures, places, rules, kernel="numpy")
        good_ones = sound(mixtures, self.n, self.apart).tolist()
        for place, height, mixture, good in zip(places, loglik.tolist(), mixtures, good_ones, strict=True):
            if height > -np.inf and (good or place[1] == em.E):
                self.waiting.setdefault(place, []).append((height, mixture))
        for queue in self.waiting.values():
            queue.sort(key=lambda item: -item[0])

    def follow(self, places: list[Place], count: int, reach: float) -> None:
        """Long climbs of the highest that wait, those of one height once, none from far below the best."""
        rules = _steps(self.floor, LONG)
        for place in sorted(places):
            last, taken = np.inf, 0
            queue = self.waiting.get(place, [])
            while queue and taken < count:
                if self.bic(place, queue[0][0], _values(self.small)) < self.bics[self.best()] - reach:
                    break
                height, mixture = queue.pop(0)
                if last - height > 1e-3:
                    last, taken = height, taken + 1
                    self.climb([place], [mixture], rules)

    def finish(self, places: list[Place]) -> None:
        rules = _steps(self.floor, FINE)
        self.climb(places, [self.found.mixtures[K - 1, model] for K, model in places], rules)

    def climb(self, places: list[Place], mixtures: list[FloatArray], rules: em.StoppingRules) -> None:
        if not places:
            return
        reached = np.array(mixtures)
        loglik, steps = em.climb(self.x, reached, places, rules, kernel="numpy")
        for place, height, mixture, made in zip(places, loglik.tolist(), reached, steps, strict=True):
            last = self.found.loglik[place[0] - 1, place[1]] if place in self.bics else -np.inf
            if height > last and (place[1] == em.E or sound(mixture, self.n, self.apart)):
                self.keep(place, height, mixture, made > 0)

    def keep(self, place: Place, height: float, mixture: FloatArray, converged: bool) -> None:
        at = place[0] - 1, place[1]
        self.found.loglik[at], self.found.mixtures[at], self.found.converged[at] = height, mixture, converged
        self.bics[place] = self.bic(place, height)

    def best(self) -> Place:
        return max(self.bics, key=self.bics.__getitem__)

    def near(self) -> list[Place]:
        bar = self.bics[self.best()] - MARGIN
        return [place for place, bic in self.bics.items() if place[0] > 1 and bic >= bar]

    def move(self, K_max: int, margin: float) -> None:
        """Scout from the best mixtures of each model that may win, and from their neighbours in K."""
        bar = self.bics[self.best()] - margin
        places: list[Place] = []
        groups: list[FloatArray] = []
        tops = {
            m: max((b, K) for (K, kind), b in self.bics.items() if kind == m or K == 1) for m in (em.E, em.V)
        }
        for K, model in sorted(self.bics):
            mixture = self.found.mixtures[K - 1, model]
            if not any(
                b >= bar and abs(K - top) <= 1 and (m == model or K == 1) for m, (b, top) in tops.items()
            ):
                continue
            if K_max > K:
                more = [em.splits(mixture, K), _insertions(self.small, mixture, K)]
                kinds = (em.E, em.V) if K == 1 else (model,)
                groups += more * len(kinds)
                places += [(K + 1, kind) for kind in kinds for group in more for _ in group]
            if K > 2:
                groups.append(em.merges(mixture, K))
                places += [(K - 1, model)] * len(groups[-1])
        self.scout(np.concatenate(groups), places)


def _values(x: FloatArray | em.Cells) -> int:
    """The number of values on which a log-likelihood is based."""
    return x.n if isinstance(x, em.Cells) else x.size


def _insertions(x: FloatArray | em.Cells, mixture: FloatArray, K: int) -> FloatArray:
    return em.crowds(x, mixture, K) if isinstance(x, em.Cells) else em.insertions(x, mixture, K)


def sound(mixtures: FloatArray, n: int, apart: float) -> BoolArray:
    """Whether no component narrower than four values lie apart rests on three of them or fewer.

    Mixtures have the shape (..., 3, K_max), zeros behind their K.
    """
    w, v = mixtures[..., 0, :], mixtures[..., 2, :]
    few = (w < 3.5 / n) & (v < apart * apart) & (w > 0.0)
    return np.asarray(~few.any(axis=-1))


def spread_of_neighbours(x: FloatArray) -> float:
    """Four times what neighbouring values of the middle half lie apart on average."""
    n = x.size
    return 4.0 * float(x[(3 * n) // 4] - x[n // 4]) / max(n // 2, 1)


def table(
    x: FloatArray,
    K_max: int,
    floor: float,
    *,
    most: int = MOST,
    every: bool = False,
    kernel: str | None = None,
) -> BestMixtures:
    """The best mixture found for every K and model of sorted, standardised values, on cells of more than ``most``.

    No component has a standard deviation below ``floor``. Climbs whose BIC cannot come near the best end early,
    unless ``every`` one is wanted. ``kernel`` as for :func:`speedproof.mixture.em.search`.
    """
    on = _condensed(x, most)
    smallest, apart = max(floor, 1e-7) ** 2, spread_of_neighbours(x)
    best = BestMixtures(np.empty((K_max, 2)), np.empty((K_max, 2, 3, K_max)), np.zeros((K_max, 2), np.int32))
    best.loglik.fill(np.nan)
    compiled = em.compiled(kernel)
    if compiled is not None:
        module, chosen = compiled
        points = (on.table, em.condensed(x, SMALL)) if isinstance(on, em.Cells) else (x, _NONE)
        module.table(
            *points,
            best.loglik,
            best.mixtures,
            best.converged,
            x.size,
            K_max,
            smallest,
            apart,
            not every,
            chosen,
        )
    else:
        naive_table(on, em.condensed(x, SMALL), best, K_max, smallest, apart)
    return best


def _condensed(x: FloatArray, most: int) -> FloatArray | em.Cells:
    return x if x.size <= most else em.Cells.of(x, most // A_CELL)


def of_all_values(x: FloatArray, among: BestMixtures, floor: float, most: int = MOST) -> BestMixtures:
    """These mixtures of cells of x; those that may win climb on to convergence on all its values.

    The log-likelihood of the others is the bound that the cells give.
    """
    if x.size <= most or not (among.loglik > -np.inf).any():
        return among
    K_max, penalty = len(among.loglik), log(x.size)
    places = [(K, model) for K in range(1, K_max + 1) for model in (em.E, em.V)]
    bics = np.array([2.0 * among.loglik[K - 1, m] - em.free_parameters(K, m) * penalty for K, m in places])
    places = [places[i] for i in np.flatnonzero(bics >= np.nanmax(bics) - MARGIN)]
    at = tuple(np.transpose(places) - [[1], [0]])
    best = BestMixtures(among.loglik.copy(), among.mixtures.copy(), among.converged.copy())
    smallest, reached = max(floor, 1e-7) ** 2, among.mixtures[at]
    heights, made = em.climb(x, reached, places, _steps(smallest, FINE))
    good = sound(reached, x.size, spread_of_neighbours(x)) | (at[1] == em.E)
    best.loglik[at] = np.where(good, heights, np.nan)
    best.mixtures[at], best.converged[at] = reached, made > 0
    return best


def _on_all_values(
    x: FloatArray | em.Cells, few: FloatArray, among: BestMixtures, floor: float, apart: float
) -> None:
    """Move from the best mixtures again, on all values: where several win, and where one more of one width may.

    The likelihood of a long tail has many tops of nearly one height, and few points may miss the highest.
    """
    n = _values(x)
    if n <= _FEW:
        return
    K_max = len(among.loglik)
    sizes = np.array([[em.free_parameters(K, m) for m in (em.E, em.V)] for K in range(1, K_max + 1)])
    points, on = (few, x) if isinstance(x, em.Cells) else (em.condensed(x, MOST_SCOUTED),) * 2
    brief, long, fine = (_steps(floor, count) for count in (BRIEF, LONG, FINE))
    before = -np.inf
    while True:
        bics = 2.0 * among.loglik - sizes * log(n)
        bics[np.isnan(bics)] = -np.inf
        if bics.max() - before < 1e-3:
            return
        before = bics.max()
        for model, near, least in ((em.E, MARGIN, 2), (em.V, 0.0, _SEVERAL)):
            best = int(bics[:, model].argmax())
            if best + 1 < least or bics[best, model] < before - near:
                continue
            around = (best + 2,) if model == em.E else (best + 1, best, best + 2)
            for place in ((K, model) for K in around if 2 <= K <= K_max):
                tops = _tops(on, _around(points, on, place, among), place, brief, apart)[1]
                for count, rules in ((_TOPS, long), (1, fine)):
                    heights, tops, converged = _tops(x, tops[:count], place, rules, apart)
                    at = place[0] - 1, model
                    if heights.size and not heights[0] <= among.loglik[at]:  # or there was none
                        among.loglik[at], among.converged[at] = heights[0], converged[0]
                        among.mixtures[at] = tops[0]


def _tops(
    x: FloatArray | em.Cells, mixtures: FloatArray, place: Place, rules: em.StoppingRules, apart: float
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Where climbs end: sound mixtures, the highest first, each height once."""
    reached = mixtures.copy()
    heights, steps = em.climb(x, reached, [place] * len(reached), rules, kernel="numpy")
    good = heights > -np.inf
    if place[1] == em.V:
        good &= sound(reached, _values(x), apart)
    ranked = np.flatnonzero(good)[np.argsort(-heights[good])]
    order = ranked[np.append(True, heights[ranked[:-1]] - heights[ranked[1:]] > 1e-3)[: ranked.size]]
    return heights[order], reached[order], steps[order] > 0


def _around(x: FloatArray, on: FloatArray | em.Cells, place: Place, best: BestMixtures) -> FloatArray:
    """Starts of K components: from the values, and from the mixtures of one fewer and of one more."""
    K, model = place
    width = len(best.loglik)
    below = K - 2, model if K > 2 else em.E
    groups = [_starts_of(x, on, K, width, best.mixtures[below] if best.loglik[below] > -np.inf else None)]
    if width > K and best.loglik[K, model] > -np.inf:
        groups.append(em.merges(best.mixtures[K, model], K + 1))
    return np.concatenate(groups)


def distinct(x: FloatArray, K: int, among: BestMixtures, floor: float, most: int = MOST) -> BestMixtures:
    """These mixtures of x, but those of K components converged and with no two that coincide, or none."""
    on, few = _condensed(x, most), em.condensed(x, SMALL)
    smallest, apart = max(floor, 1e-7) ** 2, spread_of_neighbours(x)
    loglik, mixtures, converged = among.loglik.copy(), among.mixtures.copy(), among.converged.copy()
    fine = _steps(smallest, FINE)
    for model in (em.E, em.V):
        best, below = (K - 1, model), (K - 2, model if K > 2 else em.E)
        base, fewer = (among.mixtures[p] if among.loglik[p] > -np.inf else None for p in (best, below))
        loglik[best] = np.nan
        first = [] if base is None else [base[np.newaxis]]
        around = on if isinstance(on, em.Cells) else few
        for group in (*first, _starts_of(few, around, K, mixtures.shape[3], fewer)):
            if not len(group):
                continue
            climbed = group.copy()
            heights, steps = em.climb(on, climbed, [(K, model)] * len(climbed), fine)
            good = np.array(
                [h > -np.inf and all_count(m, K, x.size) for h, m in zip(heights, climbed, strict=True)]
            )
            if model == em.V:
                good &= sound(climbed, x.size, apart)
            if good.any():
                at = int(np.where(good, heights, -np.inf).argmax())
                loglik[best] = heights[at]
                mixtures[best], converged[best] = climbed[at], steps[at] > 0
                break
    return BestMixtures(loglik, mixtures, converged)


def all_count(mixture: FloatArray, K: int, n: int) -> bool:
    """Whether each of K components holds half a value or more and no two of them coincide."""
    w, mu, v = mixture[:, :K]
    sd = np.sqrt(v)
    near = COINCIDING * np.minimum.outer(sd, sd)
    alike = (np.abs(np.subtract.outer(mu, mu)) < near) & (np.abs(np.subtract.outer(sd, sd)) < near)
    return int(alike.sum()) == K and bool((w * n >= 0.5).all())


def _starts_of(
    x: FloatArray, on: FloatArray | em.Cells, K: int, width: int, fewer: FloatArray | None
) -> FloatArray:
    """Every start of K components: from classes of the values, and from a mixture of one component fewer."""
    lines = [c for c in em.quantile_classes(x, K) + em.partitions(x, K, K) if len(c) == K + 1]
    groups = [em.from_classes(x, lines, width)[0]] if lines else []
    if fewer is not None:
        groups += [em.splits(fewer, K - 1), _insertions(on, fewer, K - 1)]
    return np.concatenate([np.empty((0, 3, width)), *groups])


def naive_table(
    on: FloatArray | em.Cells,
    few: FloatArray,
    among: BestMixtures,
    K_max: int,
    floor: float,
    apart: float,
) -> None:
    """The twin of ``_em_table.h``, on what :func:`table` hands to it."""
    n = _values(on)
    s = _Search(on, on if isinstance(on, em.Cells) else few, floor, apart, n, among)
    x, counts, within = on.table if isinstance(on, em.Cells) else (on, np.ones(on.size), 0.0)
    mean, single = float(x @ counts / n), np.zeros((3, K_max))
    v = float(((x - mean) ** 2 + within) @ counts / n)
    single[:, 0] = 1.0, mean, v
    s.keep((1, em.E), -0.5 * n * (log(2.0 * np.pi * v) + 1.0), single, True)
    if K_max > 1:
        lines = em.quantile_classes(few, K_max) + em.partitions(few, K_max)
        classes, K = em.from_classes(few, lines, K_max)
        s.scout(np.concatenate([classes, classes]), [(k, model) for model in (em.E, em.V) for k in K])
        s.follow([(k, model) for k in range(2, K_max + 1) for model in (em.E, em.V)], 1, np.inf)
        for round_ in range(ROUNDS):
            before = s.bics[s.best()]
            s.move(K_max, MARGIN if round_ else np.inf)
            s.follow(list(s.waiting), 1, REACH)
            s.follow(s.near(), TRIES, REACH)
            if s.bics[s.best()] - before < 1e-3:
                break
        s.finish(s.near())
    _on_all_values(on, few, among, max(floor, em.SINGULAR), apart)

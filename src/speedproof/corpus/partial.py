"""What a part of a corpus adds to the whole: counts and sums, merged in the order of the parts.

So the whole never depends on who worked on a part, or when. Means and squares about them are merged by the formula
of Chan, Golub and LeVeque: "Algorithms for computing the sample variance", The American Statistician 37 (1983).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Literal

import msgspec

from speedproof.data.suite import Pair
from speedproof.protocols.aggregates import GeometricMeans, MeanLogRatio, with_sessions
from speedproof.protocols.assumptions import Assumption
from speedproof.protocols.caveats import caveats_of, few_runs
from speedproof.protocols.noise_floor import between_sessions
from speedproof.protocols.pair import Rules
from speedproof.protocols.results import Caveat, Comparison
from speedproof.protocols.suites import LOCATIONS, Location, OverallGain
from speedproof.protocols.summaries import Summary, summarise_all
from speedproof.protocols.units import independent_units


class PartialRatios(msgspec.Struct):
    """Logarithms of speedups in mean: how many, their mean, squares about it, and what their errors add up to.

    ``sessions`` is the sum of what sessions add to each, ``degrees`` the fewest degrees of freedom behind one.
    """

    count: int = 0
    value: float = 0.0
    centre: float = 0.0
    squares: float = 0.0
    variance: float = 0.0
    weight: float = 0.0
    sessions: float = 0.0
    degrees: float = math.inf
    left_out: int = 0
    single: int = 0

    def add(self, other: PartialRatios) -> None:
        """Take in those of another part."""
        self.left_out += other.left_out
        self.single += other.single
        if not other.count:
            return
        n = self.count + other.count
        share = other.count / n
        apart = other.centre - self.centre
        self.squares += other.squares + apart * apart * self.count * share
        self.centre += apart * share
        self.value += (other.value - self.value) * share
        self.variance += other.variance
        self.weight += other.weight
        self.sessions += other.sessions
        self.degrees = min(self.degrees, other.degrees)
        self.count = n

    def means(self, alpha: float) -> GeometricMeans | None:
        """The geometric mean with both intervals; None for less than two benchmarks."""
        b = self.count
        if b < 2:
            return None
        error = math.nan if self.single else math.sqrt(self.variance) / b
        df = self.variance**2 / self.weight if self.weight > 0 else math.nan
        these, like = (
            with_sessions(MeanLogRatio(self.value, self.centre, *alone), self.sessions / b, self.degrees)
            for alone in ((error, df), (math.sqrt(self.squares / (b - 1) / b), b - 1.0))
        )
        return GeometricMeans(b, these.estimate(alpha), like.estimate(alpha), these.df, like.df, (), ())


class Seen(msgspec.Struct):
    """What a part says of one pair of versions."""

    pairs: int = 0
    only_reference: int = 0
    only_candidate: int = 0
    lacking: list[str] = []
    problems: list[str] = []
    incomparable: int = 0
    ratios: PartialRatios = msgspec.field(default_factory=PartialRatios)
    totals: list[list[float]] = msgspec.field(default_factory=lambda: [[0.0, 0.0] for _ in LOCATIONS])
    rates: bool = False
    caveats: list[tuple[str, tuple[str, ...], int, str]] = []

    def add(self, other: Seen) -> None:
        """Take in what another part says."""
        self.pairs += other.pairs
        self.only_reference += other.only_reference
        self.only_candidate += other.only_candidate
        self.incomparable += other.incomparable
        self.lacking = [*self.lacking, *other.lacking][:_NAMED]
        self.problems = [*self.problems, *other.problems][:_NAMED]
        self.ratios.add(other.ratios)
        self.totals = [[a + c, b + d] for (a, b), (c, d) in zip(self.totals, other.totals, strict=True)]
        self.rates = self.rates or other.rates
        self.caveats = [*self.caveats, *other.caveats]


_NAMED = 20


def seen_in(
    seen: Seen,
    pairs: Sequence[Pair],
    versions: tuple[str, str],
    rules: Rules,
    decided: Iterable[Comparison] = (),
) -> Seen:
    """Add what pairs of two versions, and what was decided of them, say of the whole to what has no partner."""
    seen.pairs, seen.rates = len(pairs), bool(pairs) and pairs[0].reference.higher_is_better
    seen.lacking, seen.problems = seen.lacking[:_NAMED], seen.problems[:_NAMED]
    measured = [sample for pair in pairs for sample in (pair.reference, pair.candidate)]
    means = _summaries(pairs, "mean")
    # As in a benchmark's own row: of its units; the minimum is of all values.
    plain = all(side.n == sample.n for side, sample in zip(means, measured, strict=True))
    pooled = means if plain else summarise_all(measured, measured)
    at_once = rules.nested == "pool"
    medians = pooled if at_once or plain else _summaries(pairs, "median")
    by_location = {
        "min": [side.minimum for side in pooled],
        "mean": [side.mean for side in (pooled if at_once else means)],
        "median": [side.median for side in medians],
    }
    seen.totals = [[math.fsum(by_location[at][::2]), math.fsum(by_location[at][1::2])] for at in LOCATIONS]
    for pair, x, y in zip(pairs, means[::2], means[1::2], strict=True):
        sides = (y, x) if pair.reference.higher_is_better else (x, y)
        _add_ratio(seen.ratios, *sides, between_sessions(pair, rules.floor))
    seen.caveats = [
        (c.kind.name, c.versions, len(c.benchmarks) or len(pairs), c.detail)
        for c in (*caveats_of(pairs, versions, rules.floor), *few_runs(decided, versions, len(pairs)))
    ]
    return seen


def _summaries(pairs: Sequence[Pair], location: Literal["mean", "median"]) -> list[Summary]:
    sides = [(pair.reference, pair.candidate) for pair in pairs]
    used = [unit for both in sides for unit in independent_units(both, location)]
    return summarise_all([sample for both in sides for sample in both], used)


def _add_ratio(ratios: PartialRatios, slow: Summary, fast: Summary, sessions: tuple[float, float]) -> None:
    """The logarithm of one speedup in mean, as :func:`speedproof.protocols.aggregates.log_ratio` has it."""
    if not min(slow.mean, fast.mean) > 0:
        ratios.left_out += 1
        return
    value = math.log(slow.mean) - math.log(fast.mean)
    if min(slow.n, fast.n) < 2:
        ratios.add(PartialRatios(1, value, value, 0.0, 0.0, 0.0, *sessions, single=1))
        return
    v, w = ((side.deviation / side.mean) ** 2 / side.n for side in (slow, fast))
    weight = v * v / (slow.n - 1) + w * w / (fast.n - 1)
    ratios.add(PartialRatios(1, value, value - (w - v) / 2, 0.0, v + w, weight, *sessions))


class Whole(msgspec.Struct, frozen=True):
    """All parts together, on one pair of versions."""

    seen: Seen
    geometric_means: GeometricMeans | None
    overall: tuple[tuple[Location, OverallGain], ...]
    caveats: tuple[Caveat, ...]


def whole_of(parts: Iterable[Seen], alpha: float) -> Whole:
    """Merge parts in their order."""
    seen = Seen()
    for part in parts:
        seen.add(part)
    gains = (
        ()
        if seen.rates or not seen.pairs
        else tuple((location, _gain(*total)) for location, total in zip(LOCATIONS, seen.totals, strict=True))
    )
    return Whole(seen, seen.ratios.means(alpha), gains, tuple(_caveats(seen)))


def _gain(before: float, after: float) -> OverallGain:
    if not (0 < before < math.inf and 0 < after < math.inf):
        return OverallGain(math.nan, math.nan)
    return OverallGain(before / after, 1 - after / before)


def _caveats(seen: Seen) -> Iterable[Caveat]:
    """One of a kind and its versions, with as many benchmarks as all parts have."""
    details: dict[tuple[str, tuple[str, ...]], list[tuple[str, int]]] = {}
    for kind, versions, count, detail in seen.caveats:
        details.setdefault((kind, tuple(versions)), []).append((detail, count))
    for (kind, versions), own in details.items():
        count = sum(number for _, number in own)
        where = () if count == seen.pairs else ("",) * count
        yield Caveat(Assumption[kind], versions, where, _middle(own))


def _middle(details: Sequence[tuple[str, int]]) -> str:
    """Of several details that differ by a number, the one in the middle, each as often as it counts."""
    number = re.compile(r"[\d.e+-]+(?= %)")
    ordered = sorted(details, key=lambda d: float(found[0]) if (found := number.search(d[0])) else 0.0)
    counts = list(accumulate(count for _, count in ordered))
    return next(
        detail for (detail, _), passed in zip(ordered, counts, strict=True) if 2 * passed >= counts[-1]
    )

"""What a part of a corpus adds to the whole: counts and sums, merged in the order of the parts.

So the whole never depends on who worked on a part, or when. Means and squares about them are merged by the formula
of Chan, Golub and LeVeque: "Algorithms for computing the sample variance", The American Statistician 37 (1983).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

import msgspec

from speedproof.data.sample import Sample
from speedproof.data.suite import Pair
from speedproof.protocols.aggregates import GeometricMeans, MeanLogRatio, log_ratio
from speedproof.protocols.assumptions import Assumption
from speedproof.protocols.caveats import caveats_of
from speedproof.protocols.results import Caveat
from speedproof.protocols.suites import LOCATIONS, Location, OverallGain, locate

__all__ = ["Ratios", "Seen", "Whole", "seen_in", "whole_of"]


class Ratios(msgspec.Struct):
    """Logarithms of speedups in mean: how many, their mean, squares about it, and what their errors add up to."""

    count: int = 0
    value: float = 0.0
    centre: float = 0.0
    squares: float = 0.0
    variance: float = 0.0
    weight: float = 0.0
    left_out: int = 0
    single: int = 0

    def add(self, other: Ratios) -> None:
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
        self.count = n

    def means(self, confidence: float) -> GeometricMeans | None:
        """The geometric mean with both intervals; None for less than two benchmarks."""
        b = self.count
        if b < 2:
            return None
        error = math.nan if self.single else math.sqrt(self.variance) / b
        df = self.variance**2 / self.weight if self.weight > 0 else math.nan
        these = MeanLogRatio(self.value, self.centre, error, df)
        like = MeanLogRatio(self.value, self.centre, math.sqrt(self.squares / (b - 1) / b), b - 1.0)
        return GeometricMeans(b, these.estimate(confidence), like.estimate(confidence), df, b - 1.0, (), ())


class Seen(msgspec.Struct):
    """What a part says of one pair of versions."""

    pairs: int = 0
    only_reference: int = 0
    only_candidate: int = 0
    lacking: list[str] = []
    problems: list[str] = []
    incomparable: int = 0
    ratios: Ratios = msgspec.field(default_factory=Ratios)
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
        self.totals = [
            [a + b for a, b in zip(x, y, strict=True)] for x, y in zip(self.totals, other.totals, strict=True)
        ]
        self.rates = self.rates or other.rates
        self.caveats = [*self.caveats, *other.caveats]


_NAMED = 20


def seen_in(pairs: Sequence[Pair], versions: tuple[str, str], nested: str) -> Seen:
    """What some pairs of two versions say of the whole."""
    seen = Seen(pairs=len(pairs), rates=bool(pairs) and pairs[0].reference.higher_is_better)
    for pair in pairs:
        ratio = log_ratio(pair)
        if ratio is None:
            seen.ratios.left_out += 1
        else:
            alone = 0 in ratio.df
            variances = (0.0, 0.0) if alone else ratio.variances
            weight = sum(v * v / df for v, df in zip(variances, ratio.df, strict=True) if df)
            seen.ratios.add(
                Ratios(1, ratio.value, ratio.unbiased, 0.0, sum(variances), weight, 0, int(alone))
            )
        for total, location in zip(seen.totals, LOCATIONS, strict=True):
            for k, side in enumerate((pair.reference, pair.candidate)):
                total[k] += locate(_used(side, location, nested).values, location)
    seen.caveats = [
        (c.kind.name, c.versions, len(c.benchmarks) or len(pairs), c.detail)
        for c in caveats_of(pairs, versions)
    ]
    return seen


def _used(sample: Sample, location: Location, nested: str) -> Sample:
    return sample if nested == "pool" or location == "min" else sample.per_process(location)


class Whole(msgspec.Struct, frozen=True):
    """All parts together, on one pair of versions."""

    seen: Seen
    geometric_means: GeometricMeans | None
    overall: tuple[tuple[Location, OverallGain], ...]
    caveats: tuple[Caveat, ...]


def whole_of(parts: Iterable[Seen], confidence: float) -> Whole:
    """Merge parts in their order."""
    seen = Seen()
    for part in parts:
        seen.add(part)
    gains = (
        ()
        if seen.rates or not seen.pairs
        else tuple((location, _gain(*total)) for location, total in zip(LOCATIONS, seen.totals, strict=True))
    )
    return Whole(seen, seen.ratios.means(confidence), gains, tuple(_caveats(seen)))


def _gain(before: float, after: float) -> OverallGain:
    if not (0 < before < math.inf and 0 < after < math.inf):
        return OverallGain(math.nan, math.nan)
    return OverallGain(before / after, 1 - after / before)


def _caveats(seen: Seen) -> Iterable[Caveat]:
    """One of a kind and its versions, with as many benchmarks as all parts have."""
    counts: dict[tuple[str, tuple[str, ...]], int] = {}
    details: dict[tuple[str, tuple[str, ...]], list[tuple[str, int]]] = {}
    for kind, versions, count, detail in seen.caveats:
        counts[kind, tuple(versions)] = counts.get((kind, tuple(versions)), 0) + count
        details.setdefault((kind, tuple(versions)), []).append((detail, count))
    for (kind, versions), count in counts.items():
        where = () if count == seen.pairs else ("",) * count
        yield Caveat(Assumption[kind], versions, where, _middle(details[kind, versions]))


def _middle(details: Sequence[tuple[str, int]]) -> str:
    """Of several details that differ by a number, the one in the middle, each as often as it counts."""
    number = re.compile(r"[\d.e+-]+(?= %)")
    ordered = sorted(details, key=lambda d: float(found[0]) if (found := number.search(d[0])) else 0.0)
    half = sum(count for _, count in details) / 2
    passed = 0
    for detail, count in ordered:
        passed += count
        if passed >= half:
            return detail
    return ""

"""What a part of a corpus adds to the whole: counts and sums, merged in the order of the parts.

So the whole never depends on who worked on a part, or when.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate

import msgspec

from speedproof.data.notes import Assumption, Note
from speedproof.data.suite import Pair
from speedproof.protocols.aggregates import GeometricMeans, LogRatios, log_ratios
from speedproof.protocols.pair import Rules
from speedproof.protocols.questions import headline_of
from speedproof.protocols.results import Comparison
from speedproof.protocols.suite import all_caveats
from speedproof.protocols.suites import LOCATIONS, Location, OverallGain

_NAMED = 20


class Seen(msgspec.Struct):
    """What a part says of one pair of versions."""

    pairs: int = 0
    only_reference: int = 0
    only_candidate: int = 0
    lacking: list[str] = []
    problems: list[str] = []
    incomparable: int = 0
    ratios: LogRatios = msgspec.field(default_factory=LogRatios)
    totals: list[list[float]] = msgspec.field(default_factory=lambda: [[0.0, 0.0] for _ in LOCATIONS])
    rates: bool = False
    caveats: list[tuple[str, tuple[str, ...], int, str, float | None]] = []

    def take(
        self,
        pairs: Sequence[Pair],
        versions: tuple[str, str],
        rules: Rules,
        answers: Mapping[str, Sequence[Comparison]],
        located: Mapping[Location, Sequence[float]],
    ) -> None:
        """Take in pairs of two versions, their answers by protocol, and both locations of each in turn."""
        self.pairs, self.rates = len(pairs), bool(pairs) and pairs[0].reference.higher_is_better
        del self.lacking[_NAMED:], self.problems[_NAMED:]
        self.totals = [[math.fsum(located[at][::2]), math.fsum(located[at][1::2])] for at in LOCATIONS]
        heads = answers[headline_of(answers)]
        self.ratios = log_ratios(heads, pairs, rules.floor)
        comparisons = [c for of_protocol in answers.values() for c in of_protocol]
        self.caveats = [
            (c.kind.name, c.versions, len(c.benchmarks) or len(pairs), c.message, c.statistic)
            for c in all_caveats(pairs, heads, comparisons, versions, rules)
        ]

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


class Whole(msgspec.Struct, frozen=True):
    """All parts together, on one pair of versions."""

    seen: Seen
    geometric_means: GeometricMeans | None
    overall: tuple[tuple[Location, OverallGain], ...]
    caveats: tuple[Note, ...]


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
    return Whole(
        seen, seen.ratios.means(alpha) if seen.ratios.count > 1 else None, gains, tuple(_caveats(seen))
    )


def _gain(before: float, after: float) -> OverallGain:
    if not (0 < before < math.inf and 0 < after < math.inf):
        return OverallGain(math.nan, math.nan)
    return OverallGain(before / after, 1 - after / before)


def _caveats(seen: Seen) -> Iterable[Note]:
    """One of a kind and its versions, with as many benchmarks as all parts have, and the number in the middle."""
    found: dict[tuple[str, tuple[str, ...]], list[tuple[float, str, int]]] = {}
    for kind, versions, count, message, number in seen.caveats:
        seen_as = math.nan if number is None else number
        found.setdefault((kind, tuple(versions)), []).append((seen_as, message, count))
    for (kind, versions), own in found.items():
        own.sort(key=lambda one: 0.0 if math.isnan(one[0]) else one[0])
        counts = list(accumulate(count for _, _, count in own))
        number, message, _ = own[next(i for i, passed in enumerate(counts) if 2 * passed >= counts[-1])]
        where = () if counts[-1] == seen.pairs else ("",) * counts[-1]
        yield Note(Assumption[kind], message, versions, where, number)

"""Two samples as the protocols work on them: direction, nesting, summaries and checks, each made once.

The tests know arrays only. Here they meet samples: which side is slow for a gain, what repeats independently, what
speaks against the runs. Many pairs are prepared together, and those of equal sizes are handed on together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, cached_property
from itertools import chain, cycle, repeat
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from msgspec import Struct

from speedproof.arrays import FloatArray, batches, stacked
from speedproof.data.notes import Assumption, Note
from speedproof.data.sample import LARGE, Sample, all_ascending, least_values, reduce_together
from speedproof.data.suite import Key, Pair
from speedproof.protocols.checks import (
    coarse_values,
    in_order,
    of_order,
    of_runs,
    order_tests,
    same_values,
    steadiness,
)
from speedproof.protocols.results import Comparison
from speedproof.protocols.units import (
    LEAST_SESSIONS,
    Summary,
    compared,
    matched_pair,
    summarise_all,
    units_of,
)
from speedproof.stats.ranks import PooledOrder, ascending, pooled_order
from speedproof.stats.scaling import with_headroom

if TYPE_CHECKING:
    from speedproof.protocols.noise_floor import NoiseFloor

_Answer = TypeVar("_Answer")
KSRule = Literal["legacy", "r422"]
StandsForAProcess = Literal["mean", "median"]
UNNAMED = Key("")
LEAST_RISK = 1e-9  # the tests' approximations say nothing of what lies beyond
_LARGE = 1e307


class Rules(Struct, frozen=True):
    """How to compare: the risk, and the few choices that the protocols leave open."""

    # The risk of each of the two sides, from 1e-9 to below 1; above one half a lower bound exceeds the
    # estimate, which is of use only to repeat what others did
    alpha: float = 0.05
    # Whether values of one process, or of one of four or more sessions a side, are replaced by their mean
    # (median) or treated as independent
    nested: Literal["process", "pool"] = "process"
    always_welch: bool = False  # leave the pre-test on variances out of the mean protocol
    ks_rule: KSRule = "legacy"  # when the median protocol's Kolmogorov-Smirnov p-value is exact
    # Speedups strictly within 1/(1 + margin) and 1 + margin are equivalent when that is proven
    margin: float | None = None
    # The 2009 protocol goes on with the bootstrap where it asks for 30 runs "or the bootstrap"
    bootstrap: bool = False
    # How much sessions of identical code differ: what sides of few sessions are held against
    floor: NoiseFloor | None = None
    forecast: bool = True  # whether to tell how many runs would decide of the typical run

    def __post_init__(self) -> None:
        if not LEAST_RISK <= self.alpha < 1:
            raise ValueError(f"the risk must lie between {LEAST_RISK:g} and 1, not be {self.alpha:g}")
        if self.margin is not None and not self.margin > 0:
            raise ValueError(f"the margin must be positive, not {self.margin:g}")


DEFAULT = Rules()


class Sides(Struct, frozen=True, eq=False):
    """One pair as a protocol works on it."""

    key: Key  # benchmark and metric
    x: Sample  # reference and candidate as used: one value a process, unless they are pooled
    y: Sample
    # Their values, exchanged for a metric where higher is better: so a gain is always "slow is more than
    # fast", and the protocols need one direction only. Both may be in another unit.
    slow: FloatArray
    fast: FloatArray
    turned: bool  # whether they are exchanged
    summaries: tuple[Summary, Summary]  # of reference and candidate
    # Checks of both samples, whatever the protocol: those of the order of the runs and of coarse readings, which
    # the headline allows for by itself, are made for all pairs when somebody asks for those of one
    known: tuple[Note, ...]
    all_checks: Callable[[], Sequence[tuple[Note, ...]]]
    place: int
    # Of slow and fast, each among its own, where they were needed for the checks
    ranks: tuple[FloatArray, FloatArray] | None = None
    paired: bool = False  # whether the i-th values of both sides are of one session

    @property
    def checks(self) -> tuple[Note, ...]:
        """All checks of both samples, whatever the protocol."""
        return self.all_checks()[self.place]

    def answer(self, protocol: str, rules: Rules, **values: Any) -> Comparison:
        """The comparison of this pair alone."""
        return comparisons(protocol, [self], rules, **{k: [v] for k, v in values.items()})[0]


def comparisons(
    protocol: str, sides: Sequence[Sides], rules: Rules, **columns: Iterable[Any]
) -> list[Comparison]:
    """One of each of the sides, by the columns of their answers."""
    names, defaults = Comparison.__struct_fields__, Comparison.__struct_defaults__
    columns = dict(zip(names[::-1], map(repeat, defaults[::-1]), strict=False)) | columns
    columns |= {
        "benchmark": [side.key.benchmark for side in sides],
        "metric": [side.key.metric for side in sides],
        "protocol": repeat(protocol),
        "alpha": repeat(rules.alpha),
        "reference": [side.summaries[0] for side in sides],
        "candidate": [side.summaries[1] for side in sides],
        "paired": [side.paired for side in sides],
    }
    return list(map(Comparison, *map(columns.__getitem__, names)))


class Batch(tuple[Sides, ...]):
    """The sides of pairs in order; statistics that several protocols use are computed once."""

    @cached_property
    def batches(self) -> list[tuple[list[int], Batch]]:
        """For each size, the positions of its sides, and these."""
        shapes = ((s.slow.size + s.fast.size, s.slow.size, s.paired) for s in self)
        return [(rows, Batch([self[i] for i in rows])) for rows in batches(shapes)]

    @cached_property
    def values(self) -> tuple[FloatArray, FloatArray]:
        """The values of sides of equal sizes, a row each."""
        return stacked([side.slow for side in self]), stacked([side.fast for side in self])

    @cached_property
    def ordered(self) -> tuple[FloatArray, FloatArray]:
        """The same in ascending order."""
        ordered = []
        for values, are_fast in zip(self.values, (False, True), strict=True):
            if values.shape[1] >= LARGE:
                samples = [side.y if are_fast is not side.turned else side.x for side in self]
                of_sides = [side.fast if are_fast else side.slow for side in self]
                if all(sample.values is of for sample, of in zip(samples, of_sides, strict=True)):
                    ordered.append(all_ascending(samples))
                    continue
            ordered.append(ascending(values))
        return ordered[0], ordered[1]

    @cached_property
    def pooled(self) -> PooledOrder:
        """The values of both sides in one order."""
        return pooled_order(*self.ordered)


class PreparedPairs:
    """Pairs with the rules by which they are compared."""

    def __init__(self, pairs: Sequence[Pair], rules: Rules = DEFAULT) -> None:
        for pair in pairs:
            x, y = pair.reference, pair.candidate
            if x.unit != y.unit or x.direction is not y.direction:
                raise ValueError(
                    f"samples of two units or directions are not comparable: {x.unit!r} and {y.unit!r}"
                )
        self.pairs, self.rules = tuple(pairs), rules
        self._measured = [sample for pair in pairs for sample in (pair.reference, pair.candidate)]
        # Whether something else than its values may stand for what was measured
        self.reduced = rules.nested == "process" and any(
            sample.nested or sample.session_count >= LEAST_SESSIONS for sample in self._measured
        )
        # The same with values at places that both sides have
        self.matched = tuple(map(matched_pair, self.pairs)) if self.reduced else self.pairs
        measured = self._measured
        # Checks that hold for every location: coarse values and steadiness of processes. What sides hold must not
        # lead back to these pairs: in a circle they stay in memory until somebody looks for such.
        self._lasting = cache(lambda: (coarse_values(pairs), steadiness(measured)))
        self._sides: dict[StandsForAProcess, Batch] = {}
        self._summaries: dict[StandsForAProcess, list[Summary]] = {}

    def sides(self, location: StandsForAProcess) -> Batch:
        """The pairs, in order, with the mean or the median of a unit in the place of its values."""
        location = location if self.reduced else "median"
        if location not in self._sides:
            self._sides[location] = self._prepare(location)
        return self._sides[location]

    def summaries(self, location: StandsForAProcess) -> list[Summary]:
        """Of both sides of every pair, in order, as their rows show them."""
        location = location if self.reduced else "median"
        if location not in self._summaries:
            self._summaries[location] = summarise_all(self._measured, self._used(location))
        return self._summaries[location]

    @cached_property
    def least(self) -> list[float]:
        """The smallest value that was measured of both sides of every pair, in order."""
        if not self.reduced:
            return [summary.minimum for summary in self.summaries("median")]
        return least_values(self._measured)

    def _used(self, location: StandsForAProcess) -> list[Sample]:
        if not self.reduced:
            return self._measured
        matched = [(pair.reference, pair.candidate) for pair in self.matched]
        reduce_together([side for sides in matched for side in sides], location)
        return [sample for sides in matched for sample in units_of(sides, location)]

    def _prepare(self, location: StandsForAProcess) -> Batch:
        used, summaries = self._used(location), self.summaries(location)
        ordered = in_order(self._measured, used)  # which puts large samples in order
        ranks: list[FloatArray | None] = [None] * len(used)
        for members, _, of_members in ordered:
            for i, row in zip(members, of_members, strict=True):
                ranks[i] = row
        parts = [
            (
                same_values(pair.reference, pair.candidate),
                [Note(Assumption.NESTING, compared(pair), held=True)] if cut is not pair else [],
                of_runs(
                    pair.reference, x, "X", other_nested=pair.candidate.nested, least=of_x, metric=metric
                ),
                of_runs(
                    pair.candidate, y, "Y", other_nested=pair.reference.nested, least=of_y, metric=metric
                ),
            )
            for pair, cut, x, y, of_x, of_y in zip(
                self.pairs,
                self.matched,
                used[::2],
                used[1::2],
                self.least[::2],
                self.least[1::2],
                strict=True,
            )
            for metric in [pair.key.metric]
        ]

        lasting = self._lasting

        @cache
        def checks() -> list[tuple[Note, ...]]:
            tests, (coarse, steady) = order_tests(ordered, len(used)), lasting()
            said = [*map(of_order, cycle("XY"), tests, steady)]
            return [
                (*same, *read, *cut, *of_x, *order_of_x, *of_y, *order_of_y)
                for (same, cut, of_x, of_y), read, order_of_x, order_of_y in zip(
                    parts, coarse, said[::2], said[1::2], strict=True
                )
            ]

        sides = []
        for i, pair in enumerate(self.pairs):
            at_x, at_y = 2 * i, 2 * i + 1
            turned = pair.reference.higher_is_better
            at_slow, at_fast = (at_y, at_x) if turned else (at_x, at_y)
            slow, fast = used[at_slow].values, used[at_fast].values
            both_sides = of_x, of_y = summaries[at_x], summaries[at_y]
            if max(of_x.maximum, of_y.maximum, -of_x.minimum, -of_y.minimum) >= _LARGE:
                slow, fast = with_headroom(slow, fast)
            of_slow, of_fast = ranks[at_slow], ranks[at_fast]
            both = None if of_slow is None or of_fast is None else (of_slow, of_fast)
            notes, x, y = tuple(chain.from_iterable(parts[i])), used[at_x], used[at_y]
            sides.append(Sides(pair.key, x, y, slow, fast, turned, both_sides, notes, checks, i, both))
        return Batch(sides)


def in_batches(sides: Sequence[Sides], answers: Callable[[Batch], list[_Answer]]) -> list[_Answer]:
    """The answers about all pairs, in order, asked of pairs of equal sizes together."""
    of_row: dict[int, _Answer] = {}
    for rows, alike in (sides if isinstance(sides, Batch) else Batch(sides)).batches:
        of_row.update(zip(rows, answers(alike), strict=True))
    return [of_row[i] for i in range(len(sides))]

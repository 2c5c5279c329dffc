"""Everything about two versions on one metric of a suite: each benchmark, then the whole.

The aggregates answer different questions, and none replaces another: the article's overall gain weighs by time,
the geometric mean treats every benchmark alike, Hierarchical Performance Testing ranks, the counts after
multiplicity control say what is proven of single benchmarks at one risk for all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from speedproof.conclude.multiplicity import ADJUSTMENTS, Controlled, control_verdicts
from speedproof.data.notes import Note
from speedproof.data.suite import Pair, Pairing
from speedproof.errors import DataError
from speedproof.options import ASKED, DETAILS, QuestionName
from speedproof.protocols.aggregates import (
    LOCATIONS,
    Accelerated,
    Gain2009,
    GeometricMeans,
    Location,
    OverallGain,
    accelerated_by,
    gains_2009,
    geometric_means,
    overall_gain,
)
from speedproof.protocols.caveats import (
    MachineSpeeds,
    at_two_speeds,
    caveats_of,
    few_runs,
    few_values,
    machine_speeds,
    one_layout,
)
from speedproof.protocols.pair import PreparedPairs, Rules
from speedproof.protocols.questions import QUESTIONS, answers, headline_of
from speedproof.protocols.results import UNTESTED, WITHHELD, Comparison, Hpt, Risk, Verdict

LEAST_FOR_HPT = 5
_AT_A_TIME = 1 << 9  # pairs
FOLLOWING = ("geometric_means", "controlled", "accelerated", "gain_2009")
"""What a comparison of a suite says by its comparisons, computed when asked."""


class SuiteComparison(Struct, frozen=True, dict=True):
    """Every answer about two versions on one metric of a suite."""

    # The versions
    reference: str
    candidate: str
    metric: str  # what was compared
    alpha: Risk  # of each side of each comparison
    margin: float | None  # of equivalence
    nested: str  # what was done about values nested in processes
    comparisons: tuple[Comparison, ...]  # by benchmark, then by protocol
    # Benchmarks that the other version lacks
    only_reference: tuple[str, ...] = ()
    only_candidate: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()  # pairs that could not be compared, and why
    unmeasured: tuple[str, ...] = ()  # benchmarks that a session was to measure, and did not
    controls: tuple[str, ...] = ()  # benchmarks that cannot differ: nobody asks what is proven of them
    # The article's overall speedup and gain for min, mean and median, every benchmark run once: those that
    # take long count most. Empty for a metric where higher is better: totals of rates mean nothing
    overall: tuple[tuple[Location, OverallGain], ...] = ()
    # Hierarchical Performance Testing, on five benchmarks or more whose values are positive, when everything
    # was asked: it takes as long as all the rest
    hpt: Hpt | None = None
    caveats: tuple[Note, ...] = ()  # what the data cannot know, of all benchmarks together
    # Two speeds of processes that most benchmarks of both versions share
    machine: MachineSpeeds | None = None

    @cached_property
    def headlines(self) -> tuple[Comparison, ...]:
        """The answers to the headline question, one a benchmark; of the first protocol when it was not asked."""
        name = headline_of(self.protocols)
        return tuple(c for c in self.comparisons if c.protocol == name)

    @property
    def benchmarks(self) -> tuple[str, ...]:
        """The compared benchmarks, in order."""
        return tuple(dict.fromkeys(c.benchmark for c in self.comparisons))

    @property
    def by_benchmark(self) -> dict[str, list[Comparison]]:
        """The answers of each benchmark."""
        answers: dict[str, list[Comparison]] = {}
        for comparison in self.comparisons:
            answers.setdefault(comparison.benchmark, []).append(comparison)
        return answers

    @property
    def protocols(self) -> tuple[str, ...]:
        """The protocols of the comparisons, in order."""
        return tuple(dict.fromkeys(c.protocol for c in self.comparisons))

    @cached_property
    def _timed(self) -> dict[str, list[Comparison]]:
        """The answers of each protocol that gives a speedup."""
        return {
            name: [c for c in self.comparisons if c.protocol == name]
            for name in self.protocols
            if QUESTIONS[name].quantity == "speedup"
        }

    @cached_property
    def geometric_means(self) -> GeometricMeans | None:
        """Of the rows' speedups, for these benchmarks and for ones like these; None of fewer than two ratios."""
        return geometric_means(self.headlines, self.alpha)

    @cached_property
    def controlled(self) -> tuple[Controlled, ...]:
        """The verdicts of each protocol of the articles after control, by Holm and by Benjamini and Hochberg.

        Empty for a single benchmark, and where some verdict is withheld.
        """
        if len(self.headlines) < 2 or any(c.needed in (UNTESTED, WITHHELD) for c in self.headlines):
            return ()
        return tuple(
            control_verdicts(each, self.alpha, method=method, margin=self.margin)
            for each in self._timed.values()
            for method in ADJUSTMENTS
        )

    @property
    def accelerated(self) -> tuple[tuple[str, Accelerated], ...]:
        """The proportion of accelerated benchmarks by each protocol of the articles."""
        faster = [
            (name, sum(c.proven_verdict is Verdict.FASTER for c in each))
            for name, each in self._timed.items()
        ]
        return accelerated_by(faster, len(self.headlines), self.alpha)

    @property
    def gain_2009(self) -> tuple[tuple[str, Gain2009], ...]:
        """The 2009 protocol's weighted gain over ``"all"`` programs and ``"accelerated"`` ones, where asked."""
        return gains_2009(self.comparisons)

    def as_record(self) -> dict[str, Any]:
        """For JSON, with what follows from the comparisons."""
        return asdict(self) | {name: getattr(self, name) for name in FOLLOWING}


def compare_suite(
    pairing: Pairing,
    versions: tuple[str, str],
    metric: str,
    rules: Rules,
    protocols: tuple[QuestionName, ...] = ASKED,
    done: Callable[[], None] = lambda: None,
    caveats: tuple[Note, ...] = (),
) -> SuiteComparison:
    """Compare two versions on every benchmark that both have."""
    pairs = [pair for pair in pairing.pairs if pair.key.metric == metric]
    # Some pairs at a time, so that a progress bar moves.
    prepared = [PreparedPairs(pairs[at : at + _AT_A_TIME], rules) for at in range(0, len(pairs), _AT_A_TIME)]
    machine = machine_speeds(pairing.read_of(metric), rules.alpha)
    comparisons = at_two_speeds(list(_answers(prepared, protocols, done)), machine)
    heads = [c for c in comparisons if c.protocol == headline_of(protocols)]
    return SuiteComparison(
        *versions,
        metric=metric,
        alpha=rules.alpha,
        margin=rules.margin,
        nested=rules.nested,
        comparisons=comparisons,
        caveats=(*all_caveats(pairs, heads, versions, rules), *caveats),
        machine=machine,
        **pairing.lacking(metric),
        overall=_overall(prepared),
        hpt=hpt_of([pairs], rules.alpha) if set(DETAILS) <= set(protocols) else None,
    )


def all_caveats(
    pairs: Sequence[Pair],
    heads: Sequence[Comparison],
    versions: tuple[str, str],
    rules: Rules,
) -> tuple[Note, ...]:
    """What the data of pairs cannot know; ``heads`` are the answers to the headline question, one a pair."""
    decided = [c for c in heads if c.verdict is not Verdict.UNDECIDED]
    return (
        *caveats_of(pairs, versions, rules.floor),
        *(few_values(pairs) if rules.nested == "process" else ()),
        *few_runs(decided, versions, len(pairs)),
        *one_layout(pairs, heads, versions),
    )


def _answers(
    prepared: Sequence[PreparedPairs], protocols: Sequence[QuestionName], done: Callable[[], None]
) -> Iterator[Comparison]:
    """Yield the answers by pair, then by protocol."""
    for some in prepared:
        for columns in zip(*(answers(protocol, some) for protocol in protocols), strict=True):
            yield from columns
            done()


def located(prepared: PreparedPairs) -> dict[Location, list[float]]:
    """Minimum, mean and median of reference and candidate, pair by pair, as their rows show them."""
    return {
        "min": prepared.least,
        "mean": [side.mean for side in prepared.summaries("mean")],
        "median": [side.median for side in prepared.summaries("median")],
    }


def _overall(prepared: Sequence[PreparedPairs]) -> tuple[tuple[Location, OverallGain], ...]:
    pairs = [pair for part in prepared for pair in part.pairs]
    if not pairs or any(pair.reference.higher_is_better for pair in pairs):
        return ()
    equal = [1.0] * len(pairs)
    parts = [located(part) for part in prepared]
    whole = {at: [value for part in parts for value in part[at]] for at in LOCATIONS}
    return tuple((at, overall_gain(sides[::2], sides[1::2], equal)) for at, sides in whole.items())


def hpt_of(parts: Iterable[Sequence[Pair]], alpha: float) -> Hpt | None:
    """Hierarchical Performance Testing of a suite in parts; None of few benchmarks or values without scores."""
    from speedproof.protocols.hpt import entries_of_pairs, hpt

    try:
        entries = [entry for pairs in parts for entry in entries_of_pairs(pairs)]
        return hpt(entries, [1 - alpha]) if len(entries) >= LEAST_FOR_HPT else None
    except DataError:  # scores are ratios: zeros have none, nor have values 1e100 times as large as others
        return None

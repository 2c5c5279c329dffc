"""The typical run pair by pair: its units, what dependence does to it, and how many runs it would take."""

from __future__ import annotations

import math
from itertools import permutations, product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from msgspec.structs import replace
from tests.protocols.asking import compare_typical

from speedproof.data.notes import Assumption
from speedproof.data.sample import Sample, Trait
from speedproof.data.suite import Key, Pair
from speedproof.data.units import Direction
from speedproof.protocols.figures import forecasts
from speedproof.protocols.pair import PreparedPairs, Rules
from speedproof.protocols.results import Verdict
from speedproof.protocols.typical import typical_runs, typical_sides
from speedproof.protocols.units import (
    clusters_of,
    independent_units,
    paired_units,
    shared_values,
    typical_units,
)
from speedproof.stats.dependence import variance_inflation
from speedproof.stats.power import runs_needed_ranks
from speedproof.stats.superiority import typical_ratio_test

FloatArray = npt.NDArray[np.float64]
ORDER = frozenset({Trait.ORDER_KNOWN})
KEY = Key("b")
BOTH = pytest.mark.parametrize("direction", [Direction.LOWER, Direction.HIGHER])
_WARMING = "those at the last places that all have were compared"
_SAME = "the same sessions measured both sides"


def blocks(rng: np.random.Generator, sizes: list[int], level: float, **fields: Any) -> Sample:
    """Processes of some sizes that differ by 3 %, and inside them by a hundredth of that."""
    each = [
        level * (1 + 0.03 * rng.standard_normal()) + 0.0003 * level * rng.standard_normal(k) for k in sizes
    ]
    processes = np.repeat(np.arange(len(sizes)), sizes)
    return Sample(np.concatenate(each), unit="u", processes=processes, **fields)


def warm(sizes: list[int], level: float, **fields: Any) -> Sample:
    """Processes that begin slowly, each a little above the one before."""
    each = [level * (1 + 0.01 * k + np.exp(-np.arange(n) / 2.0)) for k, n in enumerate(sizes)]
    processes = np.repeat(np.arange(len(sizes)), sizes)
    return Sample(np.concatenate(each), unit="u", processes=processes, traits=ORDER, **fields)


def of_sessions(rng: np.random.Generator, names: list[str], level: float) -> Sample:
    """Two values a session."""
    values = np.repeat(level * (1 + 0.1 * rng.standard_normal(len(names))), 2) + 0.01 * rng.random(
        2 * len(names)
    )
    return Sample(values, unit="u", sessions=np.repeat(np.arange(len(names)), 2), session_names=tuple(names))


def medians(
    sample: Sample, numbers: npt.NDArray[np.int64] | None, places: slice = slice(None)
) -> list[float]:
    assert numbers is not None
    known = list(dict.fromkeys(numbers.tolist()))
    return [float(np.median(sample.values[numbers == k][places])) for k in known]


@BOTH
@pytest.mark.parametrize("nested", ["process", "pool"])
def test_what_a_typical_run_is_a_run_of(nested: Any, direction: Direction) -> None:
    """Of pairs of every kind beside each other: values, order of the sides, summaries, ranks, checks."""
    rng = np.random.default_rng(1)
    trimmed = frozenset({Trait.TRIMMED})
    steady = blocks(rng, [9, 14, 9, 12], 9.0, traits=ORDER)
    # The first two values have the median of all four, so that nothing is cut that counts.
    level = np.array([4.0, 2.0, 4.0, 2.0])
    even = Sample(
        np.concatenate([level + k for k in range(5)]), unit="u", processes=np.repeat(np.arange(5), 4)
    )
    falling = warm([2] * 5, 3.0)
    made: dict[str, tuple[Sample, Sample]] = {
        "plain": (Sample(rng.random(9) + 1, "u", traits=ORDER), Sample(rng.random(9) + 1, "u", traits=ORDER)),
        "nested": (blocks(rng, [5] * 6, 10.0), blocks(rng, [5] * 7, 9.0)),
        "trimmed": (blocks(rng, [6, 3, 4], 10.0, traits=trimmed), blocks(rng, [5, 7], 9.0)),
        "steady": (steady, blocks(rng, [10, 9, 13], 9.5, traits=ORDER)),
        "warm": (warm([12, 9, 15, 12, 12], 10.0), warm([8] * 4, 9.0)),
        "warm, alone": (warm([12, 9, 15, 12, 12], 10.0), blocks(rng, [7, 8, 7], 9.0)),
        "warm, the other": (blocks(rng, [7, 8, 7], 9.0), warm([12, 9, 15, 12, 12], 10.0)),
        "cut to the same": (even, falling),
        "one process": (warm([12], 10.0), warm([9], 9.0)),
        "two values": (blocks(rng, [2], 10.0), blocks(rng, [2], 9.0)),
        "one and several": (warm([12], 10.0), warm([8] * 5, 9.0)),
        "one and one": (
            blocks(rng, [12], 10.0),
            Sample(np.array([9.0]), "u", processes=np.zeros(1, np.int64)),
        ),
        "one of one": (
            Sample(np.array([9.0]), "u", processes=np.zeros(1, np.int64)),
            blocks(rng, [12], 10.0),
        ),
        "paired": (of_sessions(rng, [*"cabde"], 10.0), of_sessions(rng, [*"baced"], 9.0)),
        "sessions": (of_sessions(rng, [*"abcde"], 10.0), of_sessions(rng, [*"vwxy"], 9.0)),
        "few sessions": (of_sessions(rng, [*"abc"], 10.0), of_sessions(rng, [*"cab"], 9.0)),
    }
    pairs = [
        Pair(Key(name), replace(x, direction=direction), replace(y, direction=direction))
        for name, (x, y) in made.items()
    ]
    for pair, side in zip(pairs, typical_sides(PreparedPairs(pairs, Rules(nested=nested))), strict=True):
        name, sides = pair.key.benchmark, (pair.reference, pair.candidate)
        own = [sample.values.tolist() for sample in sides]
        places = {
            "warm": slice(0, 8),
            "warm, alone": slice(1, 7),
            "warm, the other": slice(1, 7),
            "cut to the same": slice(0, 2),
        }.get(name, slice(None))
        if nested == "process":
            if name == "paired":
                of = [medians(sample, sample.sessions) for sample in sides]
                place = ["baced".index(letter) for letter in "cabde"]
                own = [of[0], [of[1][k] for k in place]]
            elif name == "sessions":
                own = [medians(sample, sample.sessions) for sample in sides]
            else:
                several = [
                    sample.processes is not None and len(set(sample.processes.tolist())) > 1
                    for sample in sides
                ]
                own = [
                    medians(sample, sample.processes, places) if many else values
                    for sample, values, many in zip(sides, own, several, strict=True)
                ]
        higher = direction is Direction.HIGHER
        told = [side.x.values.tolist(), side.y.values.tolist()]
        if name == "paired":  # in whatever order both are
            assert {*zip(*told, strict=True)} == {*zip(*own, strict=True)}
        else:
            assert told == own, name
        slow, fast = (side.slow, side.fast)[:: -1 if higher else 1]
        assert (slow.tolist(), fast.tolist(), side.turned) == (*told, higher)
        assert side.paired is (name == "paired" and nested == "process")
        for summary, sample, values in zip(side.summaries, sides, told, strict=True):
            assert (summary.n, summary.observations) == (len(values), sample.n)
            assert summary.median == float(np.median(values))
        assert (side.ranks is not None) == (name == "plain" or (nested == "pool" and min(
            s.n for s in sides) >= 8 and all(s.traits >= ORDER for s in sides)))  # fmt: skip
        kinds = [check.kind for check in side.checks]
        cut = [c.held for c in side.checks if _WARMING in c.message]
        assert cut == [True] * (nested == "process" and name.startswith("warm")), name
        same = [c.held for c in side.checks if _SAME in c.message]
        assert same == [True] * (nested == "process" and name == "paired"), name
        assert kinds.count(Assumption.STEADINESS) == len(cut)
        assert {Assumption.RUN_ORDER, Assumption.DRIFT}.isdisjoint(kinds)
        assert (Assumption.SEVERAL_RUNS in kinds) == (name in ("one and one", "one of one"))
        assert (Assumption.UNTOUCHED in kinds) == (name == "trimmed")


TOLD = (frozenset[Trait](), ORDER, ORDER | {Trait.SORTED}, ORDER | {Trait.RANDOM_ORDER})


def wandering(rng: np.random.Generator, n: int, step: float) -> FloatArray:
    return np.asarray(100.0 + step * np.cumsum(rng.standard_normal(n)) + rng.standard_normal(n))


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize(("n", "m", "alpha"), [(24, 20, 0.05), (20, 20, 0.2), (9, 12, 0.01)])
def test_what_dependence_does_to_each_pair(n: int, m: int, alpha: float, direction: Direction) -> None:
    """Where both orders are known and neither was drawn; ranks are known of some and not of others."""
    rng = np.random.default_rng([n, m])
    pairs, serial = [], []
    for x_traits, y_traits in [*product(TOLD, TOLD), *[(ORDER, ORDER)] * 24]:
        for processes in ((None, None), (np.zeros(n, np.int64), np.zeros(m, np.int64))):
            step = float(rng.choice([0.0, 0.2, 0.6, 2.0]))
            x, y = wandering(rng, n, step), wandering(rng, m, step) + rng.choice([0.0, 2.0])
            pairs.append(
                Pair(
                    KEY,
                    Sample(x, "u", direction, traits=x_traits, processes=processes[0]),
                    Sample(y, "u", direction, traits=y_traits, processes=processes[1]),
                )
            )
            serial.append(x_traits == y_traits == ORDER)
    sides = typical_sides(PreparedPairs(pairs, Rules(alpha)))
    seen: set[tuple[bool, bool, bool]] = set()
    for pair, side, dependent, found in zip(
        pairs, sides, serial, typical_runs(PreparedPairs(pairs, Rules(alpha))), strict=True
    ):
        slow, fast = (pair.reference.values, pair.candidate.values)[
            :: -1 if direction is Direction.HIGHER else 1
        ]
        factor = float(variance_inflation(slow[None], fast[None])[0]) if dependent else 1.0
        plain, adjusted = (
            typical_ratio_test(slow[None], fast[None], 1.0, inflation=np.full((1, 2), inflation))
            for inflation in (1.0, factor)
        )
        assert (found.pvalue, found.pvalue_slower) == pytest.approx(
            (adjusted.above.item(), adjusted.below.item()), rel=1e-9
        )
        checks = [check for check in found.checks if check.kind is Assumption.EFFECTIVE_RUNS]
        assert len(checks) == (factor > 1.0)
        drifts = factor > 1.0 and min(n, m) / factor < min(max(min(n, m) / 5, 3.0), 4.0)
        for check in checks:
            decided = min(plain.above.item(), plain.below.item()) <= alpha
            stays = min(adjusted.above.item(), adjusted.below.item()) <= alpha
            seen.add((decided, stays, drifts))
            assert check.statistic == pytest.approx((factor - 1) / (factor + 1))
            assert check.held == (stays or not (decided or drifts))
            assert math.isnan(check.pvalue)
            sizes = f"{n / factor:.3g} and {m / factor:.3g}"
            assert f"{n} and {m} runs" in check.message
            assert check.message.endswith(
                f"tell no more than {sizes} would, so only a gap larger than the drift counts"
                if drifts
                else f"for {sizes}"
            )
        if found.verdict is not Verdict.UNDECIDED:
            assert found.needed is None
            continue
        assert found.needed is not None
        own = forecasts([side], slow[None], fast[None], Rules(alpha), [0], runs_needed_ranks)[0]
        if drifts:
            assert found.needed.reason.startswith("the runs drift")
            assert (found.needed.reference, found.needed.candidate) == (None, None)
        else:
            expected = [k and math.ceil(k * factor) for k in (own.reference, own.candidate)]
            assert [found.needed.reference, found.needed.candidate] == expected
            assert found.needed.reason == own.reason
    assert n < 20 or len(seen) > 3


def test_dependence_holds_a_verdict_back_at_its_pvalues() -> None:
    """From the p-value of independent runs on, and up to that of dependent ones."""
    rng = np.random.default_rng(3)
    tried = 0
    for _ in range(40):
        x, y = wandering(rng, 20, 0.15), wandering(rng, 20, 0.15)
        samples = Sample(x, traits=ORDER), Sample(y, traits=ORDER)
        factor = float(variance_inflation(x[None], y[None])[0])
        if not 1.0 < factor < 3.0:
            continue
        plain, adjusted = (
            min(float(c.pvalue), float(c.pvalue_slower))
            for c in (compare_typical(Sample(x), Sample(y)), compare_typical(*samples))
        )
        tried += 1
        for alpha, held in (
            (plain * (1 - 1e-9), True),
            (plain, False),
            (adjusted * (1 - 1e-9), False),
            (adjusted, True),
        ):
            found = compare_typical(*samples, Rules(alpha))
            assert [c.held for c in found.checks if c.kind is Assumption.EFFECTIVE_RUNS] == [held]
    assert tried > 5


def test_what_can_decide_at_all_at_equality() -> None:
    """C(6, 3) = 20 orders reach 5 %, C(4, 2) = 6 reach 20 %, and 2 do not; p = 1 is no risk below 1."""
    x, y = Sample(np.array([1.0, 3.0, 5.0])), Sample(np.array([2.0, 4.0, 5.5]))
    found = compare_typical(x, y)
    assert found.needed is not None
    assert not found.needed.least
    for alpha, least in ((0.2, 2), (0.05, 3), (0.0499, 4), (0.01, 5), (1 / 252, 5)):
        one = compare_typical(Sample(np.array([1.0])), Sample(np.array([2.0])), Rules(alpha))
        assert one.needed is not None
        assert (one.needed.reference, one.needed.candidate, one.needed.least) == (least, least, True)
    high = one.highest_confidence
    assert high is not None
    assert (high.intervals, math.isnan(high.value)) == ((), one.pvalue == 1.0)


@BOTH
def test_a_typical_run_has_one_test_at_every_risk(direction: Direction) -> None:
    """It says "significant" at the p-value of "faster" and at every larger risk, at none where that is 1."""
    for x, y in (([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0]), ([1.0, 4.0, 3.0], [2.0, 3.5, 0.5, 2.5])):
        for sides in ((x, y), (y, x)):
            samples = [Sample(np.array(side), "u", direction) for side in sides]
            found = compare_typical(samples[0], samples[1], Rules(0.02))
            assert found.highest_confidence is not None
            expected = ((found.pvalue, 1.0, True, False),) if found.pvalue < 1.0 else ()
            assert found.highest_confidence.intervals == expected
            assert found.chance is not None
            assert found.speedup.confidence == found.chance.confidence == 0.98


def sessions(names: list[str], numbers: list[int], **fields: Any) -> Sample:
    """One value a session, told by its name; ``numbers`` is the order in which they appear."""
    return Sample(
        np.array([10.0 + k for k in numbers]),
        sessions=np.array(numbers),
        session_names=tuple(names),
        **fields,
    )


@pytest.mark.parametrize("forms", [("{}", "{}"), ("a{}.json", "b{}.json"), ("old/{}x", "newer/{}x")])
def test_sessions_are_paired_by_their_names(forms: tuple[str, str]) -> None:
    """In whatever order sessions are numbered and appear: value 10 + k of one side is of the name k of its own."""
    letters = [*"pqrs"]
    for order in [*permutations(range(4))][::5]:
        for appears in ([0, 1, 2, 3], [2, 0, 3, 1]):
            x = sessions([forms[0].format(c) for c in letters], [1, 3, 0, 2])
            y = sessions([forms[1].format(letters[k]) for k in order], appears)
            found = paired_units(Pair(KEY, x, y))
            assert found is not None
            names = [
                [int(v - 10) for v in found[0].values],
                [order[int(v - 10)] for v in found[1].values],
            ]
            assert names[0] == names[1]
            assert sorted(names[0]) == [0, 1, 2, 3]
            for side in found:
                assert (np.asarray(side.sessions) + 10.0).tolist() == side.values.tolist()


def test_sessions_that_are_no_pairs() -> None:
    """Too few, not all named, names that do not agree, or one version that came first."""
    a, b = [f"a{k}" for k in range(4)], [f"b{k}" for k in range(4)]
    number = [0, 1, 2, 3]
    assert paired_units(Pair(KEY, sessions(a, number), sessions(b, number))) is not None
    refused = [
        (sessions(a[:3], number[:3]), sessions(a[:3], number[:3])),
        (sessions(a, number), sessions([*b[:3], "c9"], number)),
        (sessions([], number), sessions([], number)),
        (sessions(a, number), sessions(a[:3], number)),
        (sessions(a[:3], number), sessions(a, number)),
        (sessions([*a, "a4"], [*number, 4]), sessions(a, number)),
        (sessions(a, number), sessions([*a, "a4"], [*number, 4])),
        (sessions([*a, "a4"], number), sessions([*a, "a4"], number)),
        (sessions(a, number), sessions([*a, "a0"], number)),
        (sessions([*a, "a0"], number), sessions(a, number)),
        (sessions(a, number), sessions(a, [0, 1, 2, 2])),
        (sessions(a, [0, 1, 2, 2]), sessions(a, number)),
        (sessions(a, number, span=(0.0, 1.0)), sessions(b, number, span=(1.0, 2.0))),
        (sessions(a, number, span=(1.0, 2.0)), sessions(b, number, span=(0.0, 1.0))),
    ]
    for x, y in refused:
        assert paired_units(Pair(KEY, x, y)) is None
    for x, y in (
        (sessions(a, number, span=(0.0, 1.5)), sessions(b, number, span=(1.0, 2.0))),
        (sessions(a, number, span=(0.0, 1.0)), sessions(a, number, span=(1.0, 2.0))),
    ):
        assert paired_units(Pair(KEY, x, y)) is not None


def test_what_repeats_on_both_sides() -> None:
    """Sessions where both have four, else processes; of a single one, its values for a typical run."""
    values, halves = np.arange(8.0) + 1, np.arange(8) // 2
    four, three = Sample(values, sessions=halves), Sample(values, sessions=np.minimum(halves, 2))
    nested, one, flat = (Sample(values, processes=p) for p in (halves, np.zeros(8, np.int64), np.arange(8)))
    pairs: list[tuple[Sample, Sample, int, int]] = [
        (four, four, 4, 4),
        (four, three, 8, 8),
        (three, four, 8, 8),
        (nested, flat, 4, 8),
        (one, nested, 1, 4),
        (nested, one, 4, 1),
        (one, one, 1, 1),
    ]
    for x, y, n, m in pairs:
        assert [s.n for s in independent_units((x, y), "mean")] == [n, m]
        expected = [8 if size == 1 else size for size in (n, m)]
        assert [s.n for s in typical_units(Pair(KEY, x, y))] == expected
        for sample, numbers in zip((x, y), clusters_of((x, y)), strict=True):
            own = sample.sessions if x is y is four else sample.processes if sample.nested else None
            assert numbers is own
    uneven = Sample(np.tile([1.0, 2.0, 9.0], 4), sessions=np.arange(12) // 3)
    assert [s.values.tolist() for s in typical_units(Pair(KEY, uneven, uneven))] == [[2.0] * 4] * 2
    skewed = Sample(np.array([1.0, 2.0, 9.0, 4.0]), processes=np.array([0, 0, 0, 1]))
    assert [s.values.tolist() for s in independent_units((skewed, skewed), "mean")] == [[4.0, 4.0]] * 2
    assert [s.values.tolist() for s in independent_units((skewed, skewed), "median")] == [[2.0, 4.0]] * 2
    assert [s.values.tolist() for s in typical_units(Pair(KEY, skewed, skewed))] == [[2.0, 4.0]] * 2


def test_what_is_cut_and_what_is_not() -> None:
    """Several processes of both sides, some with more values than others; what is kept keeps its place."""

    def side(sizes: list[int], **fields: Any) -> Sample:
        processes = np.repeat(np.arange(len(sizes)), sizes)
        return Sample(np.arange(float(processes.size)) + 1, processes=processes, **fields)

    each = np.arange(9)
    for x, y in (
        (side([5]), side([2, 3])),
        (side([2, 3]), side([5])),
        (side([1, 1, 1]), side([2, 3])),
        (side([2, 3]), side([1, 1, 1])),
        (Sample(np.arange(5.0)), side([2, 3])),
        (side([2, 3]), Sample(np.arange(5.0))),
        (side([2, 2]), side([2, 2, 2])),
        (side([4, 5], sessions=each // 2), side([5, 4], sessions=each // 2)),
    ):
        pair = Pair(KEY, x, y)
        assert shared_values(pair) is pair
    many = side([4, 5], sessions=each // 2)
    for x, y, kept in (
        (side([2, 3]), side([2, 2]), 2),
        (side([2, 2]), side([2, 3]), 2),
        (many, side([5, 4]), 4),
        (side([5, 4]), many, 4),
    ):
        found = shared_values(Pair(KEY, x, y))
        assert [s.n for s in (found.reference, found.candidate)] == [2 * kept] * 2
    mixed = np.array([0, 1, 1, 0, 1, 0, 1, 1, 0])
    x = Sample(np.arange(9.0), processes=mixed, sessions=each // 3)
    for y in (side([2, 3]), side([2, 2])):
        for pair in (Pair(KEY, x, y), Pair(KEY, y, x)):
            found = shared_values(pair)
            assert found.key == KEY
            cut = found.reference if pair.reference is x else found.candidate
            assert cut.values.tolist() == [0.0, 1.0, 2.0, 3.0]
            assert np.asarray(cut.processes).tolist() == [0, 1, 1, 0]
            assert np.asarray(cut.sessions).tolist() == [0, 0, 0, 1]
            rest = found.candidate if pair.reference is x else found.reference
            assert (rest.sessions, rest.n) == (None, 4)

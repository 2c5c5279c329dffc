"""What must not matter: other pairs, which side is called the reference, which values are good, the unit.

Pairs of many kinds, so that every part of a result is there somewhere: ties, dependence, drift, nesting,
sessions, few runs, zeros, one value.
"""

import functools
import math
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace

from speedproof.data.notes import Assumption, Note
from speedproof.data.sample import Sample, Trait
from speedproof.data.suite import Key, Pair
from speedproof.data.units import Direction
from speedproof.options import QUANTILES
from speedproof.protocols.noise_floor import NoiseFloor
from speedproof.protocols.pair import PreparedPairs, Rules
from speedproof.protocols.questions import QUESTIONS, answers
from speedproof.protocols.results import AtMargin, Comparison, Needed, State, Verdict
from speedproof.stats.estimate import Estimate
from speedproof.stats.session_spread import SessionSpread

ORDER = frozenset({Trait.ORDER_KNOWN})
RULES = {
    "plain": Rules(),
    "margin": Rules(margin=0.05),
    "risk": Rules(0.3, margin=0.2),
    "pool": Rules(nested="pool", ks_rule="r422"),
    "welch": Rules(0.01, always_welch=True, bootstrap=True),
    "floor": Rules(
        0.1, margin=0.1, floor=NoiseFloor("store", {}, {Key("").metric: SessionSpread(2e-4, 8.0, 1e-5, 5)})
    ),
}


def samples() -> list[tuple[str, Sample, Sample]]:
    rng = np.random.default_rng(8)

    def normal(n: int, level: float = 10.0, noise: float = 0.3, **fields: Any) -> Sample:
        return Sample(level + noise * rng.standard_normal(n), **fields)

    def walk(n: int, level: float, step: float) -> Sample:
        return Sample(level + step * np.cumsum(rng.standard_normal(n)), traits=ORDER)

    def nested(count: int, each: int, level: float, **fields: Any) -> Sample:
        values = np.repeat(level + 0.2 * rng.standard_normal(count), each) + 0.01 * rng.standard_normal(
            count * each
        )
        return Sample(values, processes=np.repeat(np.arange(count), each), **fields)

    def sessions(count: int, level: float, name: str) -> Sample:
        values = level * np.exp(0.3 * np.sin(np.arange(count)) + 0.02 * rng.standard_normal(count))
        names = tuple(f"{name}{k}.json" for k in range(count))
        return Sample(values, sessions=np.arange(count), session_names=names)

    skewed = Sample(10 + rng.exponential(1.0, 40)), Sample(9.8 + rng.exponential(1.0, 33))
    coarse = Sample(np.round(normal(9, 10.4).values, 1)), Sample(np.round(normal(9).values, 1))
    found = [
        ("normal", normal(12, 10.4), normal(9)), ("normal again", normal(12, 10.1), normal(9)),
        ("equal sizes", normal(12, 10.1, 0.2), normal(12, 10.0)),
        ("large", normal(45, 10.05), normal(38, noise=0.6)), ("skewed", *skewed), ("coarse", *coarse),
        ("few", normal(3, 11.0), normal(8)), ("fewer", normal(2, 12.0), normal(2)),
        ("one", normal(1), normal(6)), ("constant", Sample(np.full(7, 2.0)), normal(7, 2.1, 0.02)),
        ("all constant", Sample(np.full(5, 2.0)), Sample(np.full(5, 1.5))),
        ("separated", normal(31, 20.0), normal(31)), ("alike", walk(24, 30.0, 0.3), walk(20, 31.0, 0.3)),
        ("drift", walk(24, 30.0, 1.0), walk(20, 60.0, 1.0)),
        ("order", normal(24, traits=ORDER), normal(20, 10.2, traits=ORDER)),
        ("nested", nested(6, 5, 10.2), nested(7, 5, 10.0)),
        ("uneven nesting", nested(6, 8, 10.4), nested(5, 5, 10.0)),
        ("one process", nested(1, 12, 10.4, traits=ORDER), normal(12)),
        ("paired", sessions(5, 10.6, "a"), sessions(5, 10.0, "b")),
        ("trimmed", normal(10, traits=frozenset({Trait.TRIMMED})), normal(11)),
        ("twice", normal(9, 10.0), normal(9, 10.0)),
        ("zeros", Sample(np.array([0.0, 0.1, 0.2, 0.3, 0.1])), Sample(np.array([0.2, 0.1, 0.4, 0.3]))),
    ]  # fmt: skip
    same = found[-2]
    found[-2] = (same[0], same[1], same[1])
    return found


@functools.cache
def pairs() -> list[Pair]:
    return [Pair(Key(name), x, y) for name, x, y in samples()]


def asked(protocol: str, own: list[Pair], rules: Rules) -> list[Comparison]:
    return answers(protocol, PreparedPairs(own, rules))


@functools.cache
def answered(protocol: str, rules: str) -> list[Comparison]:
    return asked(protocol, pairs(), RULES[rules])


# Quantiles of so many pairs take long.
CASES = [
    pytest.param(
        name,
        rules,
        marks=pytest.mark.slow if name in QUANTILES or rules in ("risk", "welch", "plain") else (),
    )
    for name in QUESTIONS
    for rules in RULES
]
EVERY_CASE = pytest.mark.parametrize(("protocol", "rules"), CASES)


def leaves(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield from leaves(item, f"{place}.{name}")
    elif isinstance(value, list | tuple):
        for i, item in enumerate(value):
            yield from leaves(item, f"{place}[{i}]")
    else:
        yield place, value


def same(found: Any, expected: Any) -> None:
    """Every number but for rounding, every word to the letter."""
    one, other = (dict(leaves(msgspec.to_builtins(v))) for v in (found, expected))
    assert one.keys() == other.keys()
    for place, value in one.items():
        if isinstance(value, float):
            assert value == pytest.approx(other[place], rel=1e-11, abs=1e-13, nan_ok=True), place
        else:
            assert value == other[place], place


OPPOSITE = {
    Verdict.FASTER: Verdict.SLOWER, Verdict.SLOWER: Verdict.FASTER, State.MORE_RUNS_X: State.MORE_RUNS_Y,
    State.MORE_RUNS_Y: State.MORE_RUNS_X,
}  # fmt: skip
OTHER_SIDE = {("X",): ("Y",), ("Y",): ("X",), (): ()}


def turned_checks(checks: tuple[Note, ...]) -> list[Note]:
    """Those of the other order of sides; what is dependent is told as "20 and 24 runs"."""
    found = [replace(c, versions=OTHER_SIDE[c.versions]) for c in checks]
    found = [replace(c, message="") if c.kind is Assumption.EFFECTIVE_RUNS else c for c in found]
    return sorted(found, key=lambda c: c.name)


def ordered_checks(checks: tuple[Note, ...]) -> list[Note]:
    return turned_checks(tuple(turned_checks(checks)))


def turned_needed(needed: Needed | None) -> Needed | None:
    return needed and replace(needed, reference=needed.candidate, candidate=needed.reference)


def upside_down(estimate: Estimate) -> Estimate:
    with np.errstate(divide="ignore"):
        value, low, high = (float(1 / np.float64(v)) for v in (estimate.value, estimate.high, estimate.low))
    return Estimate(value, low, high, estimate.confidence)


def complement(estimate: Estimate | None) -> Estimate | None:
    return estimate and Estimate(1 - estimate.value, 1 - estimate.high, 1 - estimate.low, estimate.confidence)


def turned_margin(p: AtMargin | None) -> AtMargin | None:
    return p and AtMargin(p.margin, p.not_better, p.better, p.not_worse, p.worse, p.equivalent)


@EVERY_CASE
def test_a_pair_gets_the_same_answer_beside_others(protocol: str, rules: str) -> None:
    """Whatever the sizes of the others are; every third pair of each rule, so that each has two rules."""
    own = list(zip(pairs(), answered(protocol, rules), strict=True))
    for pair, found in own[list(RULES).index(rules) % 3 :: 3]:
        same(asked(protocol, [pair], RULES[rules])[0], found)
        if found.needed is not None:  # what would decide is always more than there is
            assert (found.needed.reference or math.inf) > found.reference.n
            assert (found.needed.candidate or math.inf) > found.candidate.n


@EVERY_CASE
def test_what_is_faster_one_way_is_slower_the_other(protocol: str, rules: str) -> None:
    """Reference and candidate changed: every number is the other one, its inverse or its complement."""
    back = asked(protocol, [Pair(p.key, p.candidate, p.reference) for p in pairs()], RULES[rules])
    for a, b in zip(answered(protocol, rules), back, strict=True):
        if a.test == "bootstrap of the means":
            continue  # drawn anew, in another order
        same(a.reference, b.candidate)
        same((a.pvalue, a.pvalue_slower, a.test), (b.pvalue_slower, b.pvalue, b.test))
        assert a.verdict is OPPOSITE.get(b.verdict, b.verdict)
        same(a.speedup, upside_down(b.speedup) if a.quantity == "speedup" else complement(b.speedup))
        same(a.chance, complement(b.chance))
        same(a.at_margin, turned_margin(b.at_margin))
        if a.at_margin is not None and b.at_margin is not None:
            same(a.at_margin.different, b.at_margin.different)
        same(a.needed, turned_needed(b.needed))
        # The ratio of the variances is the inverse, too.
        own, other = ordered_checks(a.checks), turned_checks(b.checks)
        same([replace(c, statistic=0.0) for c in own], [replace(c, statistic=0.0) for c in other])


# The slowest runs are the largest times and the smallest rates.
@pytest.mark.parametrize(("protocol", "rules"), [c for c in CASES if c.values[0] not in QUANTILES])
def test_a_rate_is_a_time_with_the_sides_changed(protocol: str, rules: str) -> None:
    """Where more is better, "X over Y" for times asks what "Y over X" asks for rates of the same numbers."""

    def as_rate(sample: Sample, direction: Direction) -> Sample:
        return replace(sample, unit="op/s", direction=direction)

    low, high = Direction.LOWER, Direction.HIGHER
    times = [Pair(p.key, as_rate(p.reference, low), as_rate(p.candidate, low)) for p in pairs()]
    rates = [Pair(p.key, as_rate(p.candidate, high), as_rate(p.reference, high)) for p in pairs()]
    for a, b in zip(asked(protocol, times, RULES[rules]), asked(protocol, rates, RULES[rules]), strict=True):
        for field in ("pvalue", "pvalue_slower", "verdict", "test", "speedup", "chance", "at_margin"):
            same(getattr(a, field), getattr(b, field))
        sides = [replace(side, higher_is_better=False) for side in (b.candidate, b.reference)]
        same([a.reference, a.candidate], sides)
        same(a.needed, turned_needed(b.needed))
        same(ordered_checks(a.checks), turned_checks(b.checks))
        both = a.needed is not None and None not in (a.needed.reference, a.needed.candidate)
        # With both sides at fault the figure names X first.
        assert a.state is (b.state if both else OPPOSITE.get(b.state, b.state))
        if a.state in (State.SIGNIFICANT, State.NOT_SIGNIFICANT):
            assert (a.state is State.SIGNIFICANT) is (min(a.pvalue, a.pvalue_slower) <= a.alpha)


@EVERY_CASE
def test_the_unit_does_not_matter(protocol: str, rules: str) -> None:
    """Times a power of two, which is exact: a small one, and a large one under every other rule."""
    power = (-30, 7)[list(RULES).index(rules) % 2]

    def scaled(sample: Sample) -> Sample:
        return replace(sample, values=np.ldexp(sample.values, power))

    others = [Pair(p.key, scaled(p.reference), scaled(p.candidate)) for p in pairs()]
    found = zip(others, answered(protocol, rules), asked(protocol, others, RULES[rules]), strict=True)
    for pair, a, b in found:
        if "constant" in pair.key.benchmark:
            continue  # those are read in decimal places
        for field in ("pvalue", "pvalue_slower", "verdict", "state", "test", "speedup", "chance", "needed"):
            same(getattr(a, field), getattr(b, field))
        same(a.at_margin, b.at_margin)
        assert [(c.kind, c.versions, c.held) for c in a.checks] == [
            (c.kind, c.versions, c.held) for c in b.checks
        ]
        for name in ("mean", "median", "minimum", "maximum", "deviation", "mad"):
            same(getattr(b.candidate, name), getattr(a.candidate, name) * 2.0**power)


@pytest.mark.parametrize("protocol", [name for name in QUESTIONS if name not in QUANTILES])
def test_one_process_gives_its_values(protocol: str) -> None:
    """Every question answers of one process a side what it answers of as many runs, and says that it is one."""
    runs = [
        p for p in pairs() if all(s.n > 1 and s.processes is s.sessions for s in (p.reference, p.candidate))
    ]
    one = [
        Pair(p.key, *(replace(s, processes=np.zeros(s.n, int)) for s in (p.reference, p.candidate)))
        for p in runs
    ]
    for a, b in zip(asked(protocol, runs, Rules()), asked(protocol, one, Rules()), strict=True):
        for field in ("pvalue", "pvalue_slower", "verdict", "state", "speedup", "chance", "needed"):
            same(getattr(a, field), getattr(b, field))
        said = [c.kind for c in b.checks]
        assert protocol in ("typical", "single run") or Assumption.SEVERAL_PROCESSES in said

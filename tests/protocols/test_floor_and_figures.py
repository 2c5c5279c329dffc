"""The noise floor of any number of sessions, two speeds of a machine, and what the figures say, part by part."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.protocols.asking import compare_means, compare_medians, compare_single_runs
from tests.protocols.test_symmetries import PROTOCOLS, asked, pairs, same

from speedproof.data.notes import Assumption
from speedproof.data.order import Order, order_of_measuring
from speedproof.data.sample import Sample, Trait
from speedproof.data.suite import Key, Pair
from speedproof.data.units import Direction
from speedproof.options import DETAILS
from speedproof.protocols.machine_speeds import common_speeds, two_speeds_of
from speedproof.protocols.median import decide_median, median_tests, medians
from speedproof.protocols.noise_floor import IN_TURNS, NoiseFloor, between_sessions, counted_in, hides
from speedproof.protocols.pair import PreparedPairs, Rules
from speedproof.protocols.results import Comparison, HighestConfidence, SessionFloor, State, Verdict
from speedproof.reporting.notes import up_to
from speedproof.stats.session_spread import SessionSpread

SPREAD = SessionSpread(4e-4, 6.0, 1e-6, 5)
FLOOR = NoiseFloor("store", {}, {"time": SPREAD})


def in_sessions(counts: tuple[int, int], ratio: float, seed: int, **fields: Any) -> Pair:
    """Twelve runs of the reference, ten of the candidate, in so many sessions of each."""
    rng = np.random.default_rng(seed)
    sides = []
    for n, count, level in ((12, counts[0], ratio), (10, counts[1], 1.0)):
        values = level * (1 + 0.01 * rng.standard_normal(n))
        sides.append(Sample(values, sessions=np.arange(n) * count // n, **fields))
    return Pair(Key("b"), *sides)


@pytest.mark.parametrize("higher", [False, True])
@pytest.mark.parametrize("counts", [(1, 1), (1, 3), (3, 2), (5, 3)])
@PROTOCOLS
def test_a_verdict_held_against_sessions(protocol: str, counts: tuple[int, int], higher: bool) -> None:
    """By Student's distribution: the variance of a session once for each, beside that of the runs."""
    direction = Direction.HIGHER if higher else Direction.LOWER
    for ratio, alpha in product((1.5, 1.06, 1.015, 1 / 1.06), (0.05, 0.3)):
        pair = in_sessions(counts, ratio, 3, unit="op/s", direction=direction)
        floor = NoiseFloor("store", {pair.key: SPREAD})
        (plain,), (found,) = (asked(protocol, [pair], Rules(alpha, floor=f)) for f in (None, floor))
        told = found.floor
        if math.isnan(plain.pvalue):
            same(plain, found)
            continue
        assert told is not None
        share, t = 1 / counts[0] + 1 / counts[1], float(stats.t.ppf(1 - alpha, 6.0))
        x, y = plain.reference, plain.candidate
        value, low, high = plain.speedup.value, plain.speedup.low, plain.speedup.high
        if plain.quantity == "probability":
            value = y.median / x.median if higher else x.median / y.median
            low = high = value
        at, reach = math.log(value), float(stats.t.ppf(1 - alpha, x.n + y.n - 2))
        errors = [
            math.sqrt(
                share * SPREAD.variance
                + max(((math.log(end) - at) / reach) ** 2 - share * SPREAD.within, 0.0)
            )
            for end in (low, high)
        ]
        pvalue = max(plain.pvalue, float(stats.t.sf(at / errors[0], 6.0)))
        slower = max(plain.pvalue_slower, float(stats.t.sf(-at / errors[1], 6.0)))
        assert (found.pvalue, found.pvalue_slower) == pytest.approx((pvalue, slower), rel=1e-9)
        faster, loses = found.pvalue <= alpha, found.pvalue_slower <= alpha
        verdict = Verdict.FASTER if faster else Verdict.SLOWER if loses else Verdict.UNDECIDED
        assert found.verdict is verdict
        if plain.state is State.SIGNIFICANT:
            assert found.state is (State.SIGNIFICANT if faster else State.NOT_SIGNIFICANT)
        else:
            assert found.state is plain.state
        assert told.reach == pytest.approx(math.expm1(t * math.sqrt(share * SPREAD.variance)))
        ends = (found.speedup.low, found.speedup.high)
        assert found.speedup.value == plain.speedup.value
        if plain.quantity == "speedup":
            expected = min(low, math.exp(at - t * errors[0])), max(high, math.exp(at + t * errors[1]))
            assert ends == pytest.approx(expected, rel=1e-9)
        evens = [(plain.chance, found.chance)]
        if plain.quantity == "probability":
            evens.append((plain.speedup, found.speedup))
        for own, held in evens:
            assert (own is None) == (held is None)
            if own is not None and held is not None:
                assert held.low == (own.low if faster else min(own.low, 0.5))
                assert held.high == (own.high if loses else max(own.high, 0.5))
        lost = verdict is Verdict.UNDECIDED and (
            plain.verdict is not verdict or abs(at) <= math.log1p(told.reach)
        )
        if lost:
            assert found.needed is not None
            words = IN_TURNS.replace("that much", f"by up to {100 * told.reach:.2g} %")
            assert (found.needed.reference, found.needed.candidate) == (None, None)
            assert found.needed.reason == words
        else:
            same(found.needed, plain.needed)
        assert (found.highest_confidence is None) == (plain.highest_confidence is None)
        if plain.highest_confidence is not None:
            least = found.pvalue
            kept = [
                (max(a, least), b, (a_in and a >= least) or a < least, b_in)
                for a, b, a_in, b_in in plain.highest_confidence.intervals
                if b > least
            ]
            assert found.highest_confidence == HighestConfidence.of(kept)


@pytest.mark.parametrize("mixed", [False, True])
def test_what_is_held_against_the_floor(mixed: bool) -> None:
    """Sides of which one has fewer than four sessions, their runs not mixed; the error has a share of each."""
    for counts in product((1, 3, 4, 5), (1, 3, 4, 5)):
        traits = frozenset({Trait.RANDOM_ORDER}) if mixed else frozenset[Trait]()
        pair = in_sessions(counts, 1.0, 1, traits=traits, session_names=("monday",))
        assert (order_of_measuring(pair.reference, pair.candidate) is Order.MIXED) is mixed
        counted = min(counts) < 4 and not mixed
        assert counted_in(pair, FLOOR) == (SPREAD if counted else None)
        assert counted_in(pair, None) is counted_in(pair, NoiseFloor("", {}, {"memory": SPREAD})) is None
        error = math.sqrt(4e-4 / counts[0] + 4e-4 / counts[1]) if counted else 0.0
        assert between_sessions(pair, FLOOR) == pytest.approx((error, 6.0 if counted else math.inf))
        still = NoiseFloor("", {}, {"time": SessionSpread(0.0, 6.0, 0.0, 5)})
        assert between_sessions(pair, still) == (0.0, math.inf)
        other = SessionSpread(1e-2, 3.0, 0.0, 2)
        own = NoiseFloor("", {pair.key: other, Key("c"): SPREAD}, {"time": SPREAD})
        assert counted_in(pair, own) == (other if counted else None)
    floor = SessionFloor(0.01, 8.0, 4, 0.25)
    assert [hides(floor, speedup) for speedup in (1.25, 1.2500001, 0.8, 0.7999999)] == [True, False] * 2


@pytest.mark.parametrize(("alpha", "finite"), [(0.05, True), (1e-3, True), (1e-5, False), (1e-9, False)])
def test_bounds_beyond_the_largest_number(alpha: float, finite: bool) -> None:
    """Two sessions 5 % apart are one degree of freedom: at a risk of 1e-5 they may differ by any factor."""
    pair = in_sessions((1, 1), 1.05, 5)
    floor = NoiseFloor("", {}, {"time": SessionSpread(0.05**2, 1.0, 0.0, 2)})
    for protocol in DETAILS:
        (plain,), (found,) = (asked(protocol, [pair], Rules(alpha, floor=f)) for f in (None, floor))
        assert found.verdict is Verdict.UNDECIDED
        if math.isnan(found.pvalue):
            continue
        assert found.floor is not None
        assert found.needed is not None
        away = float(stats.t.isf(alpha, 1.0)) * 0.05 * math.sqrt(2.0)
        assert found.floor.reach == pytest.approx(math.expm1(away) if finite else math.inf)
        assert ("by any factor" in found.needed.reason) is not finite
        told = up_to([0.01, found.floor.reach], 1 - alpha)
        assert told.startswith("up to 1 to " if finite else "any factor (")
        if found.quantity == "speedup":
            assert (found.speedup.high < math.inf) == (finite and plain.speedup.high < math.inf)
            assert (found.speedup.low > 0.0) == (finite and plain.speedup.low > 0.0)


def common(rows: list[tuple[float, float, float]], of: int) -> tuple[Any, ...] | None:
    """In loops: the median factor, those within a tenth of it; both versions first, then each alone."""
    for sides, places, least in (("both", (0, 1), 3), ("reference", (0,), 10), ("candidate", (1,), 10)):
        known = [row for row in rows if not any(math.isnan(row[k]) for k in places)]
        if known:
            middle = float(np.median([row[k] for row in known for k in places]))
            alike = [row for row in known if all(abs(row[k] - middle) <= 0.1 * middle for k in places)]
            if len(alike) >= least and len(alike) > of / 2:
                speedup = math.exp(float(np.mean([row[2] for row in alike])))
                return sides, len(alike), of, math.exp(middle), speedup if sides == "both" else math.nan
    return None


def test_speeds_in_common_in_loops() -> None:
    """Of whole numbers, so that some lie a tenth of the middle from it exactly."""
    rng = np.random.default_rng(7)
    seen = set()
    for _ in range(400):
        count = int(rng.integers(1, 30))
        steps = rng.choice([9.0, 10.0, 11.0, 8.0, 20.0], (count, 3), p=[0.2, 0.4, 0.3, 0.06, 0.04])
        steps[rng.random(count) < rng.choice([0.0, 0.3, 1.0]), 0] = math.nan
        steps[rng.random(count) < rng.choice([0.0, 0.3, 1.0]), 1] = math.nan
        rows = [(float(a), float(b), float(c) / 100) for a, b, c in steps]
        of = count + int(rng.integers(0, count + 1))
        found, expected = common_speeds(np.array(rows), of), common(rows, of)
        assert (found is None) == (expected is None)
        seen.add(expected and expected[0])
        if found is not None and expected is not None:
            assert (found.sides, found.benchmarks, found.of) == expected[:3]
            assert (found.factor, found.speedup) == pytest.approx(expected[3:], nan_ok=True)
    assert seen == {None, "both", "reference", "candidate"}


@pytest.mark.parametrize(
    ("processes", "factor", "told"),
    [(4, 2.0, False), (5, 2.0, True), (6, 2.0, True), (6, 1.049, False), (6, 1.051, True), (6, 1.0, False)],
)
def test_two_speeds_of_processes(processes: int, factor: float, told: bool) -> None:
    """Five processes and 5 %, at least; the median of each counts. Rates and times are beside each other."""
    level = np.where(np.arange(processes) % 2, factor, 1.0)
    values = np.repeat(level, 3)
    values[::3] *= 50.0  # the first value of each process moves its mean, not its median
    number = np.repeat(np.arange(processes), 3)
    slow, fast = Sample(1.1 * values, "u", processes=number), Sample(values, "u", processes=number)
    rates = [Sample(s.values, "op/s", Direction.HIGHER, processes=number) for s in (fast, slow)]
    gap = math.log(factor) if told else math.nan
    speedup = math.log(1.1) if told else math.nan
    found = two_speeds_of([Pair(Key("a"), slow, fast), Pair(Key("b"), *rates)])
    np.testing.assert_allclose(found, [[gap, gap, speedup]] * 2, rtol=1e-9)


def checks_of(c: Comparison, kind: Assumption) -> list[Any]:
    return [("".join(check.versions), check.held, check.message) for check in c.checks if check.kind is kind]


def test_what_figure_two_says_of_each_pair() -> None:
    """Beside each other: a shift, a factor, neither with few runs and with many, values of 0, values that tie."""
    rng = np.random.default_rng(8)
    for n in (30, 31):
        x = rng.exponential(1.0, n)
        made = {
            "shift": (x + 5.0, x + 4.0),
            "factor": (8.0 * x + 0.1, x + 0.0125),
            "zero": (np.where(x == x.min(), 0.0, x), x + 0.5),
            "zero, the other": (x + 0.5, np.where(x == x.min(), 0.0, x)),
            "neither": (10 + 0.01 * x, 10 + 5 * rng.random(n) ** 4),
            "half": (np.repeat(np.arange(n // 2) + 1.0, 2), np.repeat(np.arange(n // 2) + 50.0, 2)),
            "fewer": (np.repeat(np.arange(n // 2) + 1.0, 2), np.repeat(np.arange(n // 2) + 1.5, 2)),
            "two values": (np.arange(n) % 2 + 1.0, np.arange(n) % 2 + 1.0),
        }
        made = {name: (a[: n - n % 2 * (a.size < n)], b) for name, (a, b) in made.items()}
        own = [Pair(Key(name), Sample(a, "u"), Sample(b, "u")) for name, (a, b) in made.items()]
        for alpha in (0.05, 0.3):
            rules = Rules(alpha, margin=0.5)
            for pair, found in zip(own, medians(PreparedPairs(own, rules)), strict=True):
                a, b = pair.reference.values, pair.candidate.values
                shift = float(median_tests(a, b).location.pvalue)
                ((_, held, message),) = checks_of(found, Assumption.SHIFT)
                assert held == (shift > alpha)
                few = min(a.size, b.size) <= 30
                assert ("by a shift only" in message) == held
                assert ("at most 30 runs: measure more" in message) == (not held and few)
                assert ("which tends to be larger" in message) == (not held and not few)
                assert math.isnan(found.pvalue) == (not held and few)
                assert found.at_margin is not None
                assert math.isnan(found.at_margin.equivalent) == (not held)
                assert math.isnan(found.at_margin.not_worse) == (not held and few)
                factors = checks_of(found, Assumption.FACTOR)
                assert len(factors) == (min(a.min(), b.min()) > 0)
                for _, common_factor, message in factors:
                    if pair.key.benchmark in ("factor", "neither"):
                        assert common_factor == (pair.key.benchmark == "factor")
                    assert ("by a factor only" in message) == common_factor
                    assert ("by more than a factor" in message) == (not common_factor)
                pooled = [*a.tolist(), *b.tolist()]
                distinct = len(set(pooled))
                ties = checks_of(found, Assumption.TIES)
                assert len(ties) == (distinct < len(pooled))
                for _, many, message in ties:
                    assert many == (distinct > len(pooled) / 2)
                    assert message.startswith(f"{distinct} distinct values among {len(pooled)}")
                    assert ("finer than the" in message) == (not many)
                for check in found.checks:
                    if check.kind is Assumption.TIES:
                        assert check.statistic == len(pooled) - distinct


def test_the_risk_at_which_the_figures_change() -> None:
    """An assumption holds where p exceeds the risk, not at equality."""
    rng = np.random.default_rng(9)
    x, y = 10 + rng.random(14), 10.2 + rng.random(17) ** 2
    location = float(median_tests(x, y).location.pvalue)
    logs = float(median_tests(np.log(x), np.log(y)).location.pvalue)
    for p, kind in ((location, Assumption.SHIFT), (logs, Assumption.FACTOR)):
        for alpha, held in ((p, False), (p * (1 - 1e-9), True)):
            found = compare_medians(Sample(x), Sample(y), Rules(alpha))
            assert [check[1] for check in checks_of(found, kind)] == [held]
    assert not decide_median(median_tests(x, y), location).location_model


@pytest.mark.parametrize("higher", [False, True])
def test_what_figure_one_says_of_variances(higher: bool) -> None:
    """Where both sides are normal, and by the side that the user calls X; the test is that of the words."""
    at = np.asarray(stats.norm.ppf((np.arange(40) + 0.5) / 40), dtype=np.float64)
    normal, wide, skewed = (
        np.asarray(v, dtype=np.float64) for v in (10 + 0.1 * at, 10 + 0.5 * at, 10 + np.exp(at))
    )
    direction = Direction.HIGHER if higher else Direction.LOWER
    for x, y in product((normal, wide, skewed), repeat=2):
        for welch in (False, True):
            rules = Rules(always_welch=welch)
            found = compare_means(Sample(x, "u", direction), Sample(y, "u", direction), rules)
            told = checks_of(found, Assumption.NORMALITY)
            assert [(side, held) for side, held, _ in told] == [
                ("X", x is not skewed),
                ("Y", y is not skewed),
            ]
            variances = checks_of(found, Assumption.EQUAL_VARIANCES)
            both = x is not skewed and y is not skewed
            pooled = both and x is y and not welch
            assert found.test == ("Student's t test" if pooled else "Welch's t test")
            assert [(held, message) for _, held, message in variances] == [
                (True, "equal variances are not rejected: pooled t test")
                if pooled
                else (False, "unequal variances: Welch's t test")
            ] * both
            assert found.speedup.confidence == 0.95


def test_a_single_run_at_the_risk_that_its_number_reaches() -> None:
    """n runs that are all won bound the chance by alpha^(1 / n), which has to exceed one half."""
    for alpha in (0.3, 0.25, 0.2, 0.125, 0.05, 0.01):
        least = next(n for n in range(1, 99) if alpha ** (1 / n) > 0.5 + 1e-12)
        for n, m in ((least - 1, 9), (9, least - 1), (least, 9), (9, least), (least, least)):
            x = Sample(np.linspace(51.0, 50.0 + n, n))
            y = Sample(np.linspace(51.0, 50.0 + m, m) + 0.5 * (n - m) + 0.001)
            found = compare_single_runs(x, y, Rules(alpha))
            assert found.speedup.confidence == 1 - alpha
            assert found.verdict is Verdict.UNDECIDED
            assert found.needed is not None
            assert found.needed.least == (min(n, m) < least)
            if found.needed.least:
                expected = tuple(least if size < least else None for size in (n, m))
                assert (found.needed.reference, found.needed.candidate) == expected


def test_pairs_of_many_kinds_have_their_confidence() -> None:
    for protocol in ("typical", "mean", "median", "single run"):
        for found in asked(protocol, pairs(), Rules(0.2)):
            assert found.speedup.confidence == 0.8

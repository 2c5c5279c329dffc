"""The typical run and its units: processes, sessions, dependence, direction, and what is said of them."""

from collections.abc import Callable
from operator import attrgetter
from typing import Any, Literal

import numpy as np
import pytest
from msgspec.structs import replace
from scipy import signal
from tests.protocols.asking import (
    compare_2009,
    compare_single_runs,
    compare_typical,
    hpt_of_pairs,
    log_ratios,
    rank_runs,
)

from speedproof.arrays import FloatArray
from speedproof.data.notes import Assumption
from speedproof.data.sample import Sample, Trait
from speedproof.data.suite import Key, Pair
from speedproof.protocols.caveats import few_values
from speedproof.protocols.pair import PreparedPairs, Rules
from speedproof.protocols.questions import ask
from speedproof.protocols.results import Verdict
from speedproof.protocols.typical import DRIFT, typical_runs
from speedproof.protocols.units import (
    blocks_of,
    compared,
    matched,
    matched_pair,
    paired_units,
    typical_units,
    units_of,
)
from speedproof.reporting.notes import caveats
from speedproof.stats.dependence import variance_inflation

ORDER = frozenset({Trait.ORDER_KNOWN})


def autoregressive(rng: np.random.Generator, rows: int, n: int, r: float) -> FloatArray:
    noise = rng.normal(size=(rows, n + 60))
    return np.asarray(signal.lfilter([1.0], [1.0, -r], noise, axis=1)[:, 60:])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("r", "n", "most"), [(0.3, 20, 0.06), (0.3, 50, 0.06), (0.6, 20, 0.08), (0.6, 50, 0.065)]
)
def test_false_alarms_of_dependent_series(r: float, n: int, most: float) -> None:
    """A/A, a side; of 1,500 pairs, with four standard errors."""
    rng = np.random.default_rng([n, int(10 * r)])
    series = autoregressive(rng, 3000, n, r) + 1000.0
    pairs = [
        Pair(Key(str(i)), Sample(x, traits=ORDER), Sample(y, traits=ORDER))
        for i, (x, y) in enumerate(zip(series[::2], series[1::2], strict=True))
    ]
    results = typical_runs(PreparedPairs(pairs, Rules()))
    for verdict in (Verdict.FASTER, Verdict.SLOWER):
        share = np.mean([result.verdict is verdict for result in results])
        assert share < most + 4 * np.sqrt(most / 1500)


def test_a_gap_larger_than_the_drift_is_decided() -> None:
    """Both sides rise by 10 %: a factor of 2 is none of it, a factor of 1.15 may be."""
    rising = np.linspace(1.0, 1.1, 20)
    twice = compare_typical(Sample(2 * rising, traits=ORDER), Sample(rising, traits=ORDER))
    assert twice.verdict is Verdict.FASTER
    assert twice.undermining == ()
    # 2 / 1.1 between the sides, less what order explains of 1.1 each: 20 runs tell of 2, so r is 9 / 11. One value
    # of 20 is left out at either end.
    spread = rising[-2] / rising[1]
    assert twice.speedup.low == pytest.approx(2 / spread / spread ** (9 / 11))
    assert twice.speedup.high == pytest.approx(2 * spread * spread ** (9 / 11))
    slight = compare_typical(Sample(1.15 * rising, traits=ORDER), Sample(rising, traits=ORDER))
    assert slight.verdict is Verdict.UNDECIDED
    assert [check.kind for check in slight.failed_checks] == [Assumption.EFFECTIVE_RUNS]
    assert compare_typical(Sample(1.15 * rising), Sample(rising)).verdict is Verdict.FASTER


def test_an_answer_that_drift_prevents_fails_its_check() -> None:
    """A walk that 300 runs can tell from noise: where it is why there is no answer, its check fails."""
    rng = np.random.default_rng(1)
    series = 100.0 + 0.02 * rng.normal(size=(80, 300)).cumsum(axis=1) + rng.normal(size=(80, 300))
    pairs = [
        Pair(Key(""), Sample(x, traits=ORDER), Sample(y, traits=ORDER))
        for x, y in zip(series[::2], series[1::2], strict=True)
    ]
    stopped = [found for found in typical_runs(PreparedPairs(pairs, Rules())) if found.needed is DRIFT]
    assert len(stopped) > 5
    assert all([n.kind for n in found.failed_checks] == [Assumption.EFFECTIVE_RUNS] for found in stopped)


@pytest.mark.parametrize("unit", [0.01, 1.0, 1000.0])
def test_a_side_that_never_varies_is_read_like_the_other(unit: float) -> None:
    """Steps of 1 % on one side: equal within 2 %, whether these are seconds or milliseconds."""
    x, y = Sample(unit * np.array([1.0] * 7 + [1.01] + [1.0] * 2)), Sample(unit * np.ones(7))
    for pair in ((x, y), (y, x)):
        result = compare_typical(*pair, Rules(margin=0.02))
        assert result.verdict is Verdict.EQUIVALENT
        assert (result.speedup.low, result.speedup.high) == pytest.approx((0.995 / 1.005, 1.005 / 0.995))


KEY = Key("b")


def wandering(rng: np.random.Generator, n: int, step: float) -> FloatArray:
    return np.asarray(100.0 + step * np.cumsum(rng.standard_normal(n)) + rng.standard_normal(n))


def test_dependence_holds_a_verdict_back_at_its_pvalues() -> None:
    """From the p-value of independent runs on, and up to that of dependent ones."""
    rng = np.random.default_rng(3)
    tried = 0
    for _ in range(40):
        x, y = wandering(rng, 20, 0.15), wandering(rng, 20, 0.15)
        # In turns, so that no slow drift counts.
        samples = Sample(x, traits=ORDER, span=(0.0, 2.0)), Sample(y, traits=ORDER, span=(1.0, 3.0))
        factor = float(variance_inflation(x[None], y[None])[0])
        if not 1.0 < factor < 3.0:
            continue
        plain, adjusted = (
            min(float(c.pvalue), float(c.pvalue_slower))
            for c in (compare_typical(Sample(x), Sample(y)), compare_typical(*samples))
        )
        tried += 1
        for alpha, held in (
            (plain * (1 - 1e-9), True), (plain, False), (adjusted * (1 - 1e-9), False), (adjusted, True),
        ):  # fmt: skip
            found = compare_typical(*samples, Rules(alpha))
            assert [c.held for c in found.checks if c.kind is Assumption.EFFECTIVE_RUNS] == [held]
    assert tried > 5


def sessions(names: list[str], numbers: list[int], **fields: Any) -> Sample:
    """One value a session, told by its name; ``numbers`` is the order in which they appear."""
    return Sample(
        np.array([10.0 + k for k in numbers]), sessions=np.array(numbers), session_names=tuple(names),
        **fields,
    )  # fmt: skip


def test_the_chance_of_sessions_is_not_that_of_their_ratios() -> None:
    """Of 40 pairs 18 are won by 10 % and 22 lost by 1 %: the ratios are above 1, the chance is below one half."""
    gain, names = np.repeat([1.1, 1 / 1.01], [18, 22]), [f"s{k}" for k in range(40)]
    level = np.random.default_rng(1).lognormal(0.0, 1e-4, 40)
    x, y = (
        Sample(values, sessions=np.arange(40), session_names=tuple(names))
        for values in (level * gain, level[::-1])
    )
    typical, single = compare_typical(x, y), compare_single_runs(x, y)
    assert (typical.verdict, typical.paired, single.verdict, single.paired) == (
        Verdict.FASTER, True, Verdict.UNDECIDED, False
    )  # fmt: skip
    assert typical.chance is None
    assert single.speedup.low < single.speedup.value == 0.45 < 0.5 < single.speedup.high


def test_sessions_that_are_no_pairs() -> None:
    """Too few, not all named, names that do not agree, or one version that came first."""
    a, b = [f"a{k}.old" for k in range(4)], [f"b{k}.new" for k in range(4)]
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
        (sessions(a, number), sessions([*a, a[0]], number)),
        (sessions([*a, a[0]], number), sessions(a, number)),
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


def test_blocks_that_both_sides_have() -> None:
    """In their order, whatever order runs are told in; none where sides took no turns or a value is below 0."""

    def side(blocks: list[int], values: list[float], *traits: Trait, **fields: Any) -> Sample:
        given = frozenset(traits or {Trait.RANDOM_ORDER})
        return Sample(np.array(values), "", blocks=np.array(blocks), traits=given, **fields)

    x, y = side([3, 0, 1], [13.0, 10.0, 11.0]), side([1, 2, 3], [21.0, 22.0, 23.0])
    both = blocks_of(Pair(KEY, x, y))
    assert both is not None
    assert [values.tolist() for values in both] == [[11.0, 13.0], [21.0, 23.0]]
    for other in (
        side([2, 4], [1.0, 2.0]), side([1, 3], [1.0, -2.0]), side([1, 3], [1.0, 2.0], Trait.ORDER_KNOWN),
        side([1, 3], [1.0, 2.0], processes=np.zeros(2, dtype=np.int64)), Sample(np.array([1.0, 2.0]), ""),
    ):  # fmt: skip
        assert blocks_of(Pair(KEY, x, other)) is blocks_of(Pair(KEY, other, x)) is None


def measured(seed: int, sessions: int, label: str) -> Sample:
    """Five runs a session, which differ by 10 %, the runs by 1 %."""
    rng = np.random.default_rng(seed)
    values = (rng.normal(1.0, 0.1, (sessions, 1)) + rng.normal(0.0, 0.01, (sessions, 5))).ravel()
    return Sample(values, label=label, sessions=np.repeat(np.arange(sessions), 5))


@pytest.mark.parametrize(("location", "ask"), [
    ("mean", lambda x, y: log_ratios([Pair(Key("b"), x, y)])),
    ("median", lambda x, y: hpt_of_pairs([Pair(Key(b), x, y) for b in "abcdef"], confidences=[0.9]).benchmarks),
    ("median", lambda x, y: attrgetter("pairs", "enough_runs")(rank_runs({"x": x, "y": y}, resamples=0))),
    ("mean", lambda x, y: attrgetter("pvalue", "state")(compare_2009(x, y))),
])  # fmt: skip
def test_four_sessions_are_the_units(
    location: Literal["mean", "median"], ask: Callable[[Sample, Sample], object]
) -> None:
    """Medians (means) a session given as runs have the same answer; three sessions are not the units."""
    x, y = measured(1, 4, "x"), measured(2, 6, "y")
    assert ask(x, y) == ask(x.per_session(location), y.per_session(location))
    x = measured(1, 3, "x")
    assert ask(x, y) != ask(x.per_session(location), y.per_session(location))


@pytest.mark.parametrize(("sizes", "first", "last"), [
    (((1, 3, 2), (2, 2)), 0, 1), (((5, 4), (7, 3)), 1, 3), (((4, 6), (5, 4)), 0, 4), (((2, 3), (3, 3)), 0, 2),
    (((5,), (3,)), 0, 5),
])  # fmt: skip
def test_the_last_places_that_every_process_has(
    sizes: tuple[tuple[int, ...], ...], first: int, last: int
) -> None:
    """By a loop over processes; an even number where there are two, and all of one process a side."""
    sides: list[Sample] = []
    expected: list[list[float]] = []
    for start, counts in zip((1.0, 101.0), sizes, strict=True):
        processes = np.repeat(np.arange(len(counts)), counts)
        values = np.arange(start, start + processes.size, dtype=np.float64)
        sides.append(Sample(values, processes=processes))
        expected.append([v for k in range(len(counts)) for v in values[processes == k][first:last].tolist()])
    found = matched_pair(Pair(Key("b"), sides[0], sides[1]))
    assert [found.reference.values.tolist(), found.candidate.values.tolist()] == expected
    told = {word for word in compared(Pair(Key("b"), sides[0], sides[1])).split() if word.isdigit()}
    assert (
        told == {str(first + 1), str(last)}
        if found.reference.n + found.candidate.n < sum(map(sum, sizes))
        else not told
    )


def warming(counts: tuple[int, ...], level: float, seed: int, sessions: int = 1) -> Sample:
    """Processes of so many values, of which every further one is faster, in equal parts of some sessions."""
    rng = np.random.default_rng(seed)
    values = [level * (1.0 - 0.01 * np.arange(k)) * np.exp(rng.normal(0.0, 1e-4, k)) for k in counts]
    processes = np.repeat(np.arange(len(counts)), counts)
    several = processes * sessions // len(counts) if sessions > 1 else None
    return Sample(np.concatenate(values), processes=processes, sessions=several)


@pytest.mark.parametrize("sessions", [1, 4])
@pytest.mark.parametrize("location", ["mean", "median"])
def test_every_question_compares_values_at_places_that_both_have(
    sessions: int, location: Literal["mean", "median"]
) -> None:
    """Three values against ten, each 1 % faster than the one before, of one version: no question finds a gain.

    Four processes of a side, with which no test sees the warm-up; and four sessions, of which none asked.
    """
    count = 4 * sessions
    x, y = warming((3,) * count, 1.0, 1, sessions), warming((10,) * count, 1.001, 2, sessions)
    for units in (typical_units((x, y)), units_of(matched((x, y)), location)):
        assert units[0].values.mean() / units[1].values.mean() == pytest.approx(1 / 1.001, abs=5e-4)
    names = tuple("abcd")
    if sessions > 1:
        paired = paired_units(
            Pair(Key("b"), replace(x, session_names=names), replace(y, session_names=names))
        )
        assert paired is not None
        assert paired[0].values / paired[1].values == pytest.approx(1 / 1.001, abs=5e-4)
    for question in ("typical", "mean", "median"):
        assert ask(question, x, y, Rules()).verdict is not Verdict.FASTER
    assert rank_runs({"x": x, "y": y}, resamples=0).best_in_median == "x"


def test_values_that_were_left_out_are_said_of_a_suite() -> None:
    """Of one benchmark of two the processes of a side give ten values, else three: the last two of three count."""

    def side(size: int, label: str) -> Sample:
        values = 1.0 + 0.01 * np.random.default_rng(size).standard_normal(6 * size)
        return Sample(values, label=label, processes=np.repeat(np.arange(6), size))

    pairs = {name: Pair(Key(name), side(3, "x"), side(size, "y")) for name, size in (("a", 10), ("b", 3))}
    assert few_values([pairs["b"]]) == ()
    for chosen, where in (("a", ()), ("ab", ("a",))):
        (note,) = few_values([pairs[name] for name in chosen])
        assert note.benchmarks == where
        (said,) = caveats([note])
        some = " in 1 benchmark" if where else ""
        assert said.text == (
            f"Only values 2 to 3 of each process were compared{some}: some processes hold no more."
        )

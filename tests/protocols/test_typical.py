"""The typical run: units, direction, dependence, and what is said of it."""

from typing import Any

import numpy as np
import pytest
from scipy import signal
from tests.protocols.asking import compare_typical

from speedproof.arrays import FloatArray
from speedproof.data.notes import Assumption
from speedproof.data.sample import Sample, Trait
from speedproof.data.suite import Key, Pair
from speedproof.protocols.pair import PreparedPairs, Rules
from speedproof.protocols.results import Verdict
from speedproof.protocols.typical import typical_runs
from speedproof.protocols.units import paired_units
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

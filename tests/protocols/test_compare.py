"""Comparisons of samples: every degenerate input, and at every threshold the side that is written down."""

import itertools
import math
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from scipy import stats
from tests.protocols.asking import compare_means, compare_medians, compare_single_runs, hpt_of_scores
from tests.protocols.test_symmetries import asked

from speedproof.conclude.claims import Demand
from speedproof.conclude.gate import GateRules
from speedproof.conclude.multiplicity import control_verdicts
from speedproof.data.notes import Assumption
from speedproof.data.sample import Sample
from speedproof.data.suite import Key, Pair
from speedproof.data.units import Direction
from speedproof.errors import UsageError
from speedproof.options import DETAILS, Policy
from speedproof.protocols.figures import state_of, verdict_of
from speedproof.protocols.pair import PreparedPairs, Rules
from speedproof.protocols.questions import ask
from speedproof.protocols.results import AtMargin, Comparison, LogSpeedup, State, Verdict
from speedproof.reporting import words

Oracle = Callable[[str], Any]


def sample(values: object, **more: object) -> Sample:
    return Sample(np.asarray(values, dtype=float), **more)  # type: ignore[arg-type]


def check_names(result: Comparison) -> set[str]:
    return {check.name for check in result.failed_checks}


@pytest.mark.parametrize("n", [1, 2, 31, 60])
def test_constant_samples(n: int) -> None:
    """Constants have no spread to test a mean with; ranks may decide when there are enough of them."""
    x, y = sample([5.0] * n), sample([4.0] * n)
    mean = compare_means(x, y)
    assert mean.verdict is Verdict.UNDECIDED
    assert {"normality of X", "normality of Y"} <= check_names(mean)
    assert math.isnan(mean.speedup.low)
    assert mean.speedup.value == 1.25
    assert (compare_medians(x, y).verdict is Verdict.FASTER) == (n > 2)
    assert mean.needed is not None
    assert mean.needed.reference != n + 1  # no number of equal values decides
    single = compare_single_runs(x, y)
    assert single.speedup.value == 1.0
    # All min(n, m) independent pairs won: the bound is alpha ** (1 / n), a theorem for complete separation.
    assert single.speedup.low == pytest.approx(0.05 ** (1 / n), abs=1e-9)


@pytest.mark.parametrize(("values", "said"), [
    (np.full(5, 2.0), "all equal: normality cannot be tested"), ([1.0, 2.0], "fewer than 3 values"),
    (np.arange(20.0), "normality is not rejected"), (np.arange(30.0) ** 9, "asks for more than 30 runs"),
    (np.arange(31.0) ** 9, "not normal: the t test is approximate"),
    (np.arange(5001.0) ** 9, "no valid p-value for more than 5000 values"),
])  # fmt: skip
def test_what_is_said_of_normality(values: list[float], said: str) -> None:
    (check, _) = (c for c in compare_means(sample(values), sample(values)).checks if "normality" in c.name)
    assert said in check.message


def test_zeros_are_named() -> None:
    """Counts may be zero, and a time may be below the clock: never a crash, always a check that did not hold."""
    some, none = [0.0] * 20 + [2.0] * 20, [0.0] * 40
    for unit in ("allocs", "s"):
        for x, y in ((some, none), (none, some), (none, none)):
            for protocol in DETAILS:
                result = ask(protocol, sample(x, unit=unit), sample(y, unit=unit))
                assert any(name.startswith("positive values") for name in check_names(result))
    mean = compare_means(sample(some, unit="s"), sample(none, unit="s"))
    assert math.isnan(mean.speedup.value)
    assert any("more finely" in check.advice for check in mean.failed_checks)


@pytest.mark.parametrize(
    ("x", "y", "again", "held"),
    [([1, 2, 3, 4, 5], [6, 7, 8, 9, 9], 1, True), ([1, 1, 2, 2, 3, 3], [3, 3, 4, 4, 5, 5], 7, False)],
)
def test_values_that_occur_again_are_counted(x: list[float], y: list[float], again: int, held: bool) -> None:
    """Of both samples together; most values are to be distinct."""
    checks = compare_medians(sample(x), sample(y)).checks
    assert [(c.statistic, c.held) for c in checks if c.kind is Assumption.TIES] == [(again, held)]


def test_the_estimate_of_medians_is_that_of_the_article(oracle: Oracle) -> None:
    """R's ratio of the medians at every confidence, also where the test proves the opposite of it."""
    for case in oracle("pairs")["cases"]:
        if (expected := case["observed"]["speedup_median"]) is None or not min(case["x"] + case["y"]) > 0:
            continue
        for alpha in (0.01, 0.05, 0.2):
            found = compare_medians(sample(case["x"]), sample(case["y"]), Rules(alpha=alpha))
            assert found.speedup.value == pytest.approx(expected, rel=1e-12), case["id"]
    # The median of X is the larger one, yet a run of X takes less time in three of four cases.
    x = np.r_[np.full(31, 1.0), np.full(32, 2.0)] + np.arange(63) / 1e4
    y = np.r_[np.full(32, 1.9), np.full(31, 3.0)] + np.arange(63) / 1.1e4
    found = compare_medians(sample(x), sample(y))
    assert found.speedup.value == pytest.approx(np.median(x) / np.median(y))
    assert (found.verdict, words.change(found)) == (Verdict.SLOWER, "slower")


@pytest.mark.parametrize("direction", Direction)
def test_large_samples_that_are_sorted_once(direction: Direction) -> None:
    """SciPy's p-value, whichever side is the slower one."""
    rng = np.random.default_rng(4)
    x, y = rng.normal(10.01, 1.0, 1 << 14), rng.normal(10.0, 1.0, 3 << 13)
    found = compare_medians(
        sample(x, unit="u", direction=direction), sample(y, unit="u", direction=direction)
    )
    alternative = "greater" if direction is Direction.LOWER else "less"
    expected = stats.mannwhitneyu(x, y, alternative=alternative).pvalue
    assert found.pvalue == pytest.approx(expected, rel=1e-9)


def test_where_a_figure_ends() -> None:
    """More runs where a side lacks them, X named first in figure 1 and both in figure 2; else by the p-value."""
    for alpha, p in itertools.product((0.05, 0.6), (0.0, 0.05, np.nextafter(0.05, 1), 1.0, math.nan)):
        for x, y in itertools.product([False, True], repeat=2):
            apart, together = (state_of(p, alpha, (x, y), together=both) for both in (False, True))
            if x or y:
                assert (apart, together) == (State.MORE_RUNS_X if x else State.MORE_RUNS_Y, State.MORE_RUNS)
            elif math.isnan(p):
                assert apart is together is State.UNDEFINED
            else:
                assert apart is together
                assert apart is (State.SIGNIFICANT if p <= alpha else State.NOT_SIGNIFICANT)


def test_verdicts_of_pvalues() -> None:
    """Equivalence first; of two directions that are both proven the clearer one; else the one that is."""
    grid = (0.0, 0.05, np.nextafter(0.05, 1), 0.5, 0.6, math.nan)
    for alpha, p, q, e in itertools.product((0.05, 0.6), grid, grid, (*grid, None)):
        at = None if e is None else AtMargin(0.02, 1.0, 1.0, 1.0, 1.0, e)
        if e is not None and e <= alpha:
            expected = Verdict.EQUIVALENT
        elif p <= alpha and (not q <= alpha or p <= q):
            expected = Verdict.FASTER
        else:
            expected = Verdict.SLOWER if q <= alpha else Verdict.UNDECIDED
        assert verdict_of(p, q, at, alpha) is expected


def test_options_at_their_ends() -> None:
    """What is refused, and the next number that is not."""
    for alpha in (1e-9, 0.999):
        assert Rules(alpha).alpha == GateRules(alpha).alpha == alpha
    for alpha in (0.99e-9, 0.0, 1.0, math.nan):
        with pytest.raises(ValueError, match="between 1e-09 and 1"):
            Rules(alpha)
        with pytest.raises(ValueError, match="between 1e-09 and 1"):
            GateRules(alpha)
    for margin in (0.0, -0.1, math.nan):
        with pytest.raises(ValueError, match="margin must be positive"):
            Rules(margin=margin)
        with pytest.raises(ValueError, match="margin must be positive"):
            Demand(margin=margin)
    with pytest.raises(ValueError, match="margin must be positive"):
        Demand(margin=math.inf)
    assert (Demand().policy, Demand().margin) == (Policy.NO_REGRESSION, 0.02)
    for level in (0.0, 0.5, -0.1):
        with pytest.raises(UsageError, match=r"between 0 and 0\.5"):
            hpt_of_scores([[1.0, 2.0, 3.0]], [[2.0, 3.0, 4.0]], level=level)
    assert hpt_of_scores([[1.0, 2.0, 3.0]], [[2.0, 3.0, 4.0]], level=0.49).benchmarks[0].level == 0.49


def test_a_controlled_verdict_at_its_adjusted_pvalue() -> None:
    """Four runs apart from four: 1 / 20 of two claims is 1 / 10 by Holm, and that is enough at 1 / 10."""
    pair = Pair(Key("b"), Sample(np.array([5.0, 6.0, 7.0, 8.0])), Sample(np.array([1.0, 2.0, 3.0, 4.0])))
    for alpha, expected in ((0.1, Verdict.FASTER), (0.0999, Verdict.UNDECIDED)):
        found = control_verdicts(asked("typical", [pair], Rules(alpha)), alpha)
        assert found.family == 2
        (row,) = found.verdicts
        assert (row.plain, row.verdict) == (Verdict.FASTER, expected)
        assert (row.pvalue, row.confidence, row.plain_confidence) == pytest.approx((0.1, 0.9, 0.95))
    # Without a margin that they are the same, as blocks may say, is no claim of the family.
    (same,) = (replace(c, verdict=Verdict.EQUIVALENT) for c in asked("typical", [pair], Rules(0.1)))
    (row,) = control_verdicts([same], 0.1).verdicts
    assert (row.plain, row.verdict) == (same.verdict, Verdict.UNDECIDED)
    assert row.pvalue == pytest.approx(0.1)


KEY = Key("b")


def test_pairs_of_two_directions_are_refused() -> None:
    """Whichever side it is; the same unit may be good either way."""
    sides = [Sample(np.ones(2), "u", direction) for direction in (Direction.LOWER, Direction.HIGHER)]
    other = Sample(np.ones(2), "v", Direction.LOWER)
    for x, y in ((sides[0], sides[1]), (sides[1], sides[0]), (sides[0], other), (other, sides[0])):
        with pytest.raises(ValueError, match="two units or directions"):
            PreparedPairs([Pair(KEY, x, x), Pair(KEY, x, y)])
    for side in sides:
        assert len(PreparedPairs([Pair(KEY, side, side)]).pairs) == 1


@pytest.mark.parametrize(
    ("error", "df", "refused"), [(-0.1, 3.0, True), (0.1, 0.49, True), (0.0, 0.5, False)]
)
def test_errors_of_logarithms_that_cannot_be(error: float, df: float, refused: bool) -> None:
    with pytest.raises(ValueError, match="no error of a logarithm") if refused else nullcontext():
        LogSpeedup(0.0, error, df)

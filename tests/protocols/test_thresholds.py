"""At every threshold the side that is written down, and what the parts of a verdict are given."""

import itertools
import math
from contextlib import nullcontext

import numpy as np
import pytest
from tests.protocols.asking import hpt_of_scores
from tests.protocols.test_symmetries import asked

from speedproof.data.sample import Sample
from speedproof.data.suite import Key, Pair
from speedproof.data.units import Direction
from speedproof.errors import UsageError
from speedproof.options import Policy
from speedproof.protocols.claims import Demand
from speedproof.protocols.figures import state_of, verdict_of
from speedproof.protocols.gate import GateRules
from speedproof.protocols.multiplicity import control_verdicts
from speedproof.protocols.pair import PreparedPairs, Rules
from speedproof.protocols.results import AtMargin, LogSpeedup, State, Verdict


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
    """Four runs apart from four: 1 / 70 of two claims is 1 / 35 by Holm, and that is enough at 1 / 35."""
    pair = Pair(Key("b"), Sample(np.array([5.0, 6.0, 7.0, 8.0])), Sample(np.array([1.0, 2.0, 3.0, 4.0])))
    for alpha, expected in ((1 / 35, Verdict.FASTER), (0.999 / 35, Verdict.UNDECIDED)):
        found = control_verdicts(asked("typical", [pair], Rules(alpha)), alpha)
        assert found.family == 2
        (row,) = found.verdicts
        assert (row.plain, row.verdict) == (Verdict.FASTER, expected)
        assert (row.pvalue, row.confidence, row.plain_confidence) == pytest.approx((1 / 35, 34 / 35, 69 / 70))


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

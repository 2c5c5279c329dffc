"""What HPT thinks of other speedups: SciPy's paired t test, the r-speedup, the article's tables."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from studies.scores import entries_of_scores
from tests.protocols.asking import claims, hpt_of_scores

from speedproof.errors import DataError, UsageError
from speedproof.protocols.hpt_claims import paired_t, relative

TABLES = Path(__file__).parents[1] / "data" / "oracle_hpt"


def scores(name: str) -> list[list[float]]:
    lines = (TABLES / f"{name}.csv").read_text(encoding="utf-8").splitlines()[1:]
    return [[float(v) for v in line.split(",")[1:]] for line in lines]


def test_paired_t_against_scipy() -> None:
    """The confidence is SciPy's; the speedup is where SciPy's p-value meets the risk."""
    rng = np.random.default_rng(1)
    none = 0
    for _ in range(200):
        n = int(rng.integers(2, 20))
        b = rng.lognormal(0, 0.5, n)
        a = b * rng.lognormal(0.2, 0.3, n)
        confidence, speedup = paired_t(a, b, 0.05)
        assert confidence == pytest.approx(1 - stats.ttest_rel(a, b, alternative="greater").pvalue, abs=1e-9)
        if speedup is None:
            none += 1
            assert confidence < 0.95
        else:
            assert stats.ttest_rel(a, speedup * b, alternative="greater").pvalue == pytest.approx(
                0.05, abs=1e-6
            )
    assert 20 < none < 180


def test_paired_t_at_the_edges() -> None:
    assert paired_t([2.0, 2.0], [1.0, 1.0], 0.05) == (1.0, np.nextafter(2.0, 0.0))
    assert paired_t([1.0, 1.0], [1.0, 1.0], 0.05) == (0.5, None)
    assert paired_t([1.0, 1.0], [2.0, 2.0], 0.05) == (0.0, None)
    alone, none = paired_t([2.0], [1.0], 0.05)
    assert math.isnan(alone)
    assert none is None


def test_the_certified_speedup_has_no_loss_and_no_error() -> None:
    """Table III: at 44/25 the confidence is .9547, at the next hundredth below .95."""
    entries = entries_of_scores(scores("table3_reduced_B"), scores("table3_x176_A"))
    found = claims(
        entries_of_scores(scores("table3_reduced_B"), scores("table3_x176_A")),
        speedups=[1.0, 1.76, 1.77, 3.0],
        rule="paper",
    )
    assert found.candidate_wins
    assert found.certified == pytest.approx(1.76)
    _, _, *asked = found.claims
    assert asked[1].confidence == pytest.approx(0.9547, abs=5e-5)
    assert asked[1].error == pytest.approx(0.0)
    assert asked[1].loss > 0 > asked[2].loss
    assert [c.confidence for c in asked] == sorted((c.confidence for c in asked), reverse=True)
    whole = hpt_of_scores(scores("table3_reduced_B"), scores("table3_x176_A"), rule="paper")
    assert asked[0].confidence == whole.confidence
    geometric = found.claims[0]
    a, b = (np.median(scores(f"table3_{name}"), axis=1) for name in ("x176_A", "reduced_B"))
    assert geometric.speedup is not None
    assert geometric.speedup == pytest.approx(stats.gmean(a / b))
    assert geometric.loss == pytest.approx(geometric.confidence / 0.95 - 1)
    assert geometric.error == pytest.approx(geometric.speedup / 1.76 - 1)
    pvalue = stats.ttest_rel(a, 1.76 * b, alternative="greater").pvalue
    assert found.t_certified == pytest.approx(1 - pvalue)
    assert len(entries) == 14


def test_the_articles_loss() -> None:
    """A confidence of .18 where .95 is asked for is a loss of -81.1 %, as the article prints it."""
    assert f"{relative(0.18, 0.95):.1%}" == "-81.1%"


def test_exchanging_the_sides_keeps_the_claims() -> None:
    a, b = scores("table3_x176_A"), scores("table3_reduced_B")
    one, other = claims(entries_of_scores(b, a)), claims(entries_of_scores(a, b))
    assert one.claims == other.claims
    assert (one.candidate_wins, other.candidate_wins) == (True, False)


def test_what_cannot_be_claimed() -> None:
    with pytest.raises(DataError, match="no benchmark"):
        claims([])
    entries = entries_of_scores([[1.0]] * 6, [[2.0]] * 6)
    for wrong in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(UsageError, match="positive and finite"):
            claims(entries, speedups=[wrong])
    undecided = claims(entries_of_scores([[1.0], [1.0]], [[2.0], [0.4]]))
    assert undecided.certified is None
    assert math.isnan(undecided.t_certified)
    assert math.isnan(undecided.claims[0].error)
    assert undecided.claims[1].speedup is None

"""Hierarchical Performance Testing in words: who outperforms whom, and the benchmarks that say so."""

import math
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from tests.command import in_words, laid_out

import speedproof as sp
from speedproof.protocols.hpt import AS_GIVEN, HptClaim, HptClaims
from speedproof.protocols.results import RSpeedup, Winner
from speedproof.reporting.hpt import conclusion

X = np.linspace(1.0, 1.1, 9)
FACTORS = {"a": 1.5, "b": 1.25, "c": 0.8, "d": 1.0, "e": 1.1, "f": 1.2, "g": 1.05}
SUITE = sp.Suite.of_samples({name: {"old": X * by, "new": X} for name, by in FACTORS.items()}, unit="s")
FOUND = sp.hpt(SUITE)
NEITHER = "neither new nor old is shown to outperform the other."
STEADY = ", were the machine steady: shown, not proven"


@pytest.mark.parametrize(("winner", "confidence", "told"), [
    (Winner.CANDIDATE, 0.95, "new outperforms old with confidence 95.0 %{}."),
    (Winner.REFERENCE, 0.9899999, "old outperforms new with confidence 98.9 %{}."),
    (Winner.CANDIDATE, 0.9499, "new looks better than old, with a confidence of only 94.9 %{}."),
    (Winner.CANDIDATE, 0.501, "new looks better than old, with a confidence of only 50.1 %{}."),
    (Winner.CANDIDATE, 0.5, NEITHER), (Winner.TIE, 0.99, NEITHER),
])  # fmt: skip
def test_who_outperforms_whom(winner: Winner, confidence: float, told: str) -> None:
    of = replace(FOUND.result, winner=winner, confidence=confidence)
    for shaken in (False, True):
        assert (
            conclusion(of, "old", "new", shaken=shaken)
            == f"Whole suite (HPT): {told.format(STEADY * shaken)}"
        )


def test_hpt_in_words() -> None:
    """Every benchmark with its medians, their ratio and the p-value of its rank test; the winner's first."""
    (made,) = FOUND.reports()
    # Of nine runs each one order of C(18, 9) separates them, two do so but for one place. Of seven ranks without
    # ties 14 of 128 choices add up to 6 or less, which are those of the losses and half of the tie's.
    rows = {
        "a": "new 1.50x 2.06e-05", "b": "new 1.25x 2.06e-05", "f": "new 1.20x 2.06e-05",
        "e": "new 1.10x 4.11e-05", "g": "new 1.05x 0.003", "c": "old 1.25x 2.06e-05", "d": "tie 0.535",
    }  # fmt: skip
    sides = {name: f"{name} {1.05 * by:.4g} s 1.050 s" for name, by in FACTORS.items()}
    sides |= {"a": "a 1.575 s 1.050 s", "c": "c 0.8400 s 1.050 s", "d": "d 1.050 s 1.050 s"}
    sides |= {"f": "f 1.260 s 1.050 s", "b": "b 1.312 s 1.050 s", "g": "g 1.103 s 1.050 s"}
    note = "Each p is that of a rank test of the benchmark alone, one-sided."
    assert in_words(made) == [
        "Whole suite (HPT): new looks better than old, with a confidence of only 89.0 %.",
        "new wins 5 and loses 1 of 7 benchmarks; 1 is a tie. Confidence that new is better: 89.0 %; that old is"
        " better: 7.8 %.",
        "old and new hold the same values in 1 benchmark: one measurement, given twice", "old new better p",
        *(f"{sides[name]} {told}" for name, told in rows.items()), note,
        "! In 6 benchmarks the true risk may be larger: altered values (6). --details: tests, bounds, claims",
    ]  # fmt: skip
    assert (laid_out(made), made.good) == ("'' <old <new better <p-1", True)
    for width, whole in ((14, True), (15, False)):
        (named,) = replace(FOUND, reference="o" * width, candidate="n" * width).reports()
        assert (
            [column.title for column in named.tables[0].columns[1:3]] == ["o" * width, "n" * width]
        ) is whole
    lost = replace(FOUND, result=replace(FOUND.result, winner=Winner.REFERENCE))
    (turned,) = lost.reports()
    assert ([row.name for row in turned.tables[0].rows], turned.good) == ([*"cabfegd"], False)
    (given,) = replace(FOUND, result=replace(FOUND.result, scores=AS_GIVEN)).reports()
    assert in_words(given)[4] == "a 1.575 s 1.050 s new by 0.833 2.06e-05"
    one = replace(FOUND.result, benchmarks=FOUND.result.benchmarks[:1])
    assert not any("wins" in line for line in in_words(next(iter(replace(FOUND, result=one).reports()))))


@pytest.mark.parametrize(("fields", "told"), [
    ({}, "Paired t test: confidence 97.5 % that new is better, 91.2 % that it is so by a factor of 1.234"),
    ({"certified": None}, "Paired t test: confidence 97.5 % that new is better"),
    ({"t_confidence": math.nan}, "The paired t test needs two benchmarks"),
    ({"candidate_wins": False, "certified": None}, "Paired t test: confidence 97.5 % that old is better"),
])  # fmt: skip
def test_how_sure_hpt_is_of_other_speedups(fields: dict[str, Any], told: str) -> None:
    """What goes beyond what it certifies is marked, and what is not known is a dash."""
    claims = HptClaims(0.95, True, 1.2345, 0.97599, 0.91299, (
        HptClaim("asked", 1.5, 0.8, -0.158, 0.25), HptClaim("geometric mean", 1.25, 0.96, 0.011, math.nan),
        HptClaim("paired t", None, math.nan, math.nan, math.nan),
    ))  # fmt: skip
    claims = replace(claims, **fields)
    speedups = (RSpeedup(0.95, 1.76, True, "44/25", 1.76, 1.76, True, "44/25"),)
    for asked, titles in (((1.5,), 1), ((), 0)):
        found = replace(
            FOUND, claimed=lambda: claims, speedups=asked, result=replace(FOUND.result, speedups=speedups)
        )
        (made,) = found.reports()
        assert len(made.sections) == titles
        (detailed,) = found.reports(details=True)
        assert detailed.sections[0].title == "Speedups"
        ahead, behind = ("new", "old") if claims.candidate_wins else ("old", "new")
        part = detailed.sections[1]
        assert part.title == f"How sure HPT is of other speedups of {ahead} over {behind}"
        assert in_words(part) == [
            "speedup by speedup confidence against 95 % error", "--speedup 1.5 80.0 % -15.8 % +25.0 %",
            "geometric mean 1.25 96.0 % +1.1 % -", "paired t none - - -",
            f"Relative to 95 % and, the error, to the speedup that HPT certifies. {told}.",
        ]  # fmt: skip
        assert laid_out(part) == "speedup by <speedup <confidence <against 95 % <error"
        assert laid_out(detailed.sections[0]) == "<confidence <speedup <all pass up to"
        assert [row.cells[3].style for row in part.tables[0].rows] == ["warning", "", ""]
    tie = replace(FOUND, result=replace(FOUND.result, winner=Winner.TIE, speedups=speedups))
    assert "Speedups" not in [part.title for one in tie.reports(details=True) for part in one.sections]

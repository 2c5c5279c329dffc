"""The Speedup-Test's answers in words, written by hand, and its four files."""

import math
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.command import in_words, laid_out

import speedproof as sp
from speedproof.protocols.speedup_test import RowFinding, SuiteReport, SuiteRow
from speedproof.reporting.speedup_test import SpeedupTestResult
from speedproof.stats.estimate import Estimate

FOUND = sp.speedup_test("tests/data/speedup_test_tool/plain.csv")
FAST = RowFinding(True, 0.98765, (), Estimate(1.25, 1.125, 1.5, 0.95))
SLOW = RowFinding(False, 0.9, (), Estimate(0.8, 0.625, 0.9375, 0.95), slower=True)
OPEN = RowFinding(False, math.nan, ())


def row(name: str, median: float, mean: RowFinding, of_median: RowFinding, *remarks: str) -> SuiteRow:
    speedups: Any = {"min": 2.0, "mean": 1.25, "median": median}
    weights: Any = {"min": 1.0, "mean": 0.25, "median": 1 / 3}
    return SuiteRow(name, speedups, mean, of_median, weights, remarks)


ROWS = (
    row("open", 1.01, OPEN, OPEN), row("zero", 0.0, OPEN, OPEN), row("fast", 1.2, FAST, OPEN, "few runs", "ties"),
    row("faster", 1.5, OPEN, FAST), row("slow", 0.8, SLOW, OPEN), row("slower", 0.5, OPEN, SLOW, "skewed"),
)  # fmt: skip
SURE: dict[str, Any] = {"levels": (0.95,) * 6, "confidence": 0.95}


def suite_of(*rows: SuiteRow, **fields: Any) -> SpeedupTestResult:
    shares = {
        of: replace(share, valid=True, benchmarks_needed=0) for of, share in FOUND.report.accelerated.items()
    }
    of: SuiteReport = replace(FOUND.report, rows=rows, **{"accelerated": shares, **SURE, **fields})
    return replace(FOUND, report=of)


def test_a_suite_in_words() -> None:
    """The slower first, then the faster, each with the largest change first; and the bounds of each ratio."""
    (made,) = suite_of(*ROWS).reports(details=True)
    assert in_words(made) == [
        "Faster of 6 benchmarks: 11 in mean, 12 in median (at 95 %)",
        "Share of all such benchmarks that are faster (95 %): 41 % to 88 % in mean, 47 % to 92 % in median",
        "Overall speedup: 1.004x by the minima, 1.003x by the means, 1.003x by the medians (weights: equal);"
        " protocols of the 2013 article", "mean level median level minimum",
        "slower ~ 1.25x faster - 2.00x slower 90 % 2.00x faster",
        "slow 1.25x faster 90 % ~ 1.25x slower - 2.00x faster",
        "faster ~ 1.25x faster - 1.50x faster 98.7 % 2.00x faster",
        "fast 1.25x faster 98.7 % ~ 1.20x faster - 2.00x faster",
        "open ~ 1.25x faster - ~ 1.01x faster - 2.00x faster", "zero ~ 1.25x faster - ~ - - 2.00x faster",
        "~: no difference shown at the row's level, or not tested. --details: warnings on 2 benchmarks",
    ]  # fmt: skip
    assert laid_out(made) == "'' mean <level-2 median <level-2 minimum-1"
    assert [cell.style for cell in made.tables[0].rows[0].cells] == ["strong", "dim", "", "bad", "", ""]
    bounds, warnings = made.sections
    assert laid_out(bounds) == "'' mean median"
    assert in_words(bounds) == [
        "mean median", "open - -", "zero - -", "fast 1.25x faster [1.12x, 1.50x] -",
        "faster - 1.25x faster [1.12x, 1.50x]", "slow 1.25x slower [1.06x, 1.60x] -",
        "slower - 1.25x slower [1.06x, 1.60x]",
    ]  # fmt: skip
    assert bounds.title == "Bounds, each at the row's own level, or at 0.95"
    assert in_words(warnings) == ["fast: few runs; ties", "slower: skewed"]
    (bare,) = suite_of(*ROWS).reports()
    (original,) = suite_of(ROWS[0], original=True).reports(details=True)
    assert (bare.sections, original.sections, original.hints) == ((), (), ())
    assert in_words(original)[2].endswith("; protocols as the tool of 2010 computed them")


@pytest.mark.parametrize(("fields", "told"), [
    ({}, []), ({"remarks": ("they differ",)}, ["Weights: they differ"]),
    ({"levels": (0.95, None)},
     ["Without a ConfLevel a benchmark counts as faster from 50 % confidence on: so do about half of those that"
      " did not change."]),
    ({"levels": (0.95, 0.5)}, ["At a level of one half or less even a slower benchmark may count as faster."]),
    ({"levels": (0.95, 0.51)}, []),
    ({"accelerated": FOUND.report.accelerated, "precision": 0.123},
     ["The intervals of the shares may be inaccurate: too few benchmarks are faster, or too few are not.",
      "To know the share to within 12.3 % takes 331 benchmarks, drawn at random."]),
])  # fmt: skip
def test_what_undermines_a_suite(fields: dict[str, Any], told: list[str]) -> None:
    (made,) = suite_of(row("b", 1.25, FAST, FAST), **fields).reports()
    assert [text.text for text in made.notes] == told


def test_files_of_the_tool(tmp_path: Path) -> None:
    """R writes numbers of 15 digits, NA and Inf, a quote twice; speedups have three digits, no level is 1."""
    ends = replace(FAST, confidence=1.0), replace(OPEN, confidence=0.5)
    odd = replace(
        row('a "b"', math.inf, *ends, "one", "two"),
        speedups={"min": math.nan, "mean": 1.23456, "median": 0.5},
    )
    found = replace(
        suite_of(odd, row("c", math.inf, SLOW, OPEN), original=True, remarks=("odd",)), problems=("lost",)
    )
    paths = found.write(str(tmp_path / "p"))
    report, out, warning, error = (path.read_text().splitlines() for path in paths)
    assert [path.name for path in paths] == ["p.report", "p.out", "p.warning", "p.error"]
    assert out[1:] == [
        '"a ""b""",NA,1.235,TRUE,0.999999999999999,0.5,FALSE,0.5,1,0.25,0.333333333333333',
        '"c",2,1.25,FALSE,0.9,Inf,FALSE,NA,1,0.25,0.333333333333333',
    ]  # fmt: skip
    assert warning == ["weights: odd", 'a "b":', "  one", "  two", "left out: lost"]
    assert error == ["lost", "weights: odd"]
    assert report[0] == f"Speedup-Test of {found.config}"
    assert not any("--" in line for line in report)

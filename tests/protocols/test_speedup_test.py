"""The Speedup-Test article against R, and its report against the tool of 2010, row by row."""

import csv
import json
import math
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.command import speedproof

import speedproof as sp
from speedproof.data.sample import Sample
from speedproof.data.units import Direction
from speedproof.protocols.aggregates import LOCATIONS, locate
from speedproof.protocols.figures import Decision, state_of
from speedproof.protocols.mean import decide_mean, mean_tests
from speedproof.protocols.median import decide_median, median_tests
from speedproof.protocols.pair import Rules
from speedproof.protocols.speedup_test import Entry, SuiteReport, finding, report_suite, significant_risks

Oracle = Callable[[str], Any]

# R's Shapiro-Wilk test loses its digits on this sample, whose spread is near the resolution of doubles. The
# oracle keeps the exact p-value under "centred", and that is ours.
INEXACT_IN_R = {"pe18"}


def cases(oracle: Oracle) -> list[dict[str, Any]]:
    return [case for name in ("pairs", "pairs_edges") for case in oracle(name)["cases"]]


def arrays(case: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    return np.array(case["x"], dtype=float), np.array(case["y"], dtype=float)


def state(found: Decision, alpha: str | float) -> str:
    lacking = bool(found.lacking_x), bool(found.lacking_y)
    figure_2 = len(found.holds) == 1
    return state_of(float(found.pvalue), float(alpha), lacking, together=figure_2).value


def test_mean_protocol_against_r(oracle: Oracle) -> None:
    """Every state, side at fault, deciding test, p-value and warning of figure 1 is R's."""
    seen = 0
    for case in cases(oracle):
        tests = mean_tests(*arrays(case))
        if case["id"] in INEXACT_IN_R:
            centred = case["shapiro_y"]["centred"]["p"]
            assert float(tests.shapiro_y.pvalue) == pytest.approx(centred, abs=1e-8)
            continue
        for alpha, expected in case["mean_protocol"].items():
            found = decide_mean(tests, float(alpha))
            where = f"{case['id']} at {alpha}"
            assert state(found, alpha) == expected["state"], where
            lacking = [s for s, bad in (("X", found.lacking_x), ("Y", found.lacking_y)) if bad]
            assert lacking == expected["samples_lacking_runs"], where
            undermined = not (lacking or (found.holds[0] and found.holds[1]))
            assert undermined == expected["warning"], where
            assert bool(found.holds[0]) == expected["x_normal"], where
            assert bool(found.holds[1]) == expected["y_normal"], where
            if expected["test"] is not None and isinstance(expected["p"], float):
                assert bool(found.holds[2]) == (expected["test"] == "student"), where
                scale = abs(case["observed"]["mean_x"]) or 1.0
                tight = math.sqrt(case["observed"]["var_x"] or 0) < 1e-6 * scale
                assert float(found.pvalue) == pytest.approx(expected["p"], abs=1e-6 if tight else 1e-8), where
            seen += 1
    assert seen > 500


def test_median_protocol_against_r(oracle: Oracle) -> None:
    """Every state of figure 2 is R's, with the Kolmogorov-Smirnov rule of old and of new R."""
    seen = 0
    for case in cases(oracle):
        x, y = arrays(case)
        old, new = median_tests(x, y), median_tests(x, y, "r422")
        for alpha, expected in case["median_protocol"].items():
            where = f"{case['id']} at {alpha}"
            found = decide_median(old, float(alpha))
            assert state(found, alpha) == expected["state"], where
            under_new = decide_median(new, float(alpha))
            assert state(under_new, alpha) == case["median_state_with_r422_ks"][alpha], where
            if case["ks"]["near_ties"]:  # either set of Kolmogorov-Smirnov values is right
                continue
            lacking = [s for s, bad in (("X", found.lacking_x), ("Y", found.lacking_y)) if bad]
            assert lacking == expected["samples_lacking_runs"], where
            for decision, warning in (
                (found, expected["warning"]),
                (under_new, case["median_warning_with_r422_ks"][alpha]),
            ):
                stops = bool(decision.lacking_x | decision.lacking_y)
                assert (not (decision.holds[0] or stops)) == warning, where
            seen += 1
    assert seen > 400


def risks(protocol: str, x: np.ndarray, y: np.ndarray) -> list[tuple[float, float, bool, bool]]:
    if protocol == "mean":
        m = mean_tests(x, y)
        return significant_risks(partial(decide_mean, m), m.pvalues)[0]
    d = median_tests(x, y, "legacy" if protocol == "median" else "r422")
    return significant_risks(partial(decide_median, d), d.pvalues)[0]


@pytest.mark.parametrize("protocol", ["mean", "median", "median_with_r422_ks"])
def test_highest_confidence_against_r(oracle: Oracle, protocol: str) -> None:
    """The set of risks at which the whole protocol says "significant" is the oracle's, end points included."""
    for case in cases(oracle):
        if case["id"] in INEXACT_IN_R or (protocol != "mean" and case["ks"]["near_ties"]):
            continue
        expected = case["highest_confidence"][protocol]
        found = risks(protocol, *arrays(case))
        where = case["id"]
        if expected["highest_confidence"] is None:
            assert found == [], where
            continue
        least, upto, attained, _ = found[0]
        assert 1 - least == pytest.approx(expected["highest_confidence"], abs=1e-6), where
        assert attained == expected["attained"], where
        assert (len(found) == 1 and upto == 1.0) == expected["upward_closed"], where
        ours = [(a, b) for a, b, _, _ in found]
        theirs = [(i["from"], i["to"]) for i in expected["significant_alphas"]]
        assert ours == [pytest.approx(pair, abs=1e-6) for pair in theirs], where
        included = [(c, d) for _, _, c, d in found]
        assert included == [(i["from_included"], i["to_included"]) for i in expected["significant_alphas"]], (
            where
        )


def report(given: list[Entry], **options: Any) -> SuiteReport:
    return report_suite(
        given,
        options.pop("rules", Rules()),
        **{"alpha": None, "precision": 0.05, "original": False, **options},
    )


@pytest.mark.parametrize("weights", [[None, None], [1.0, None], [0.0, 0.0], [1.0, -1.0]])
def test_without_weights_of_all_benchmarks_they_weigh_the_same(weights: list[float | None]) -> None:
    """And the report says so: 4 s against 3 s, whatever was given; nobody is told who gave nothing."""
    sides = ((3.0, 1.0), (1.0, 2.0))
    given = [
        Entry(f"b{k}", Sample(np.full(3, x)), Sample(np.full(3, y)), 0.95, w)
        for k, ((x, y), w) in enumerate(zip(sides, weights, strict=True))
    ]
    found = report(given)
    assert found.weighting == "equal"
    assert found.overall["mean"].speedup == pytest.approx(4 / 3)
    assert bool(found.remarks) == (weights != [None, None])


@pytest.mark.slow
def test_a_row_proves_the_ratio_of_medians_that_a_comparison_proves(oracle: Oracle) -> None:
    """One rule withholds the bounds of samples that differ by more than a shift, in both."""
    withheld = 0
    for case in oracle("pairs")["cases"]:
        x, y = arrays(case)
        if min(x.min(), y.min()) <= 0.0:
            continue
        compared = sp.compare(x, y).median
        entry = Entry("f", Sample(x, "s"), Sample(y, "s"))
        bounds = report([entry], alpha=0.05).rows[0].median.bounds
        assert (bounds is None) == (not compared.test)
        if bounds is not None:
            proven = compared.certified
            assert (bounds.low, bounds.high) == pytest.approx((proven.low, proven.high), nan_ok=True)
            withheld += math.isnan(bounds.low)
    assert withheld


def test_no_speedup_over_zero() -> None:
    (row,) = report([Entry("b", Sample(np.ones(3)), Sample(np.array([0.0, 0.0, 3.0])), 0.95)]).rows
    assert math.isnan(row.speedups["min"])
    assert math.isnan(row.speedups["median"])
    assert row.speedups["mean"] == 1.0


@pytest.mark.parametrize("original", [False, True])
def test_rates_are_times_with_the_versions_exchanged(original: bool) -> None:
    """What is faster where more is better; samples keep their numbers, and the reference gives the weights."""
    rng = np.random.default_rng(3)
    old, new = rng.exponential(size=20) + 10.0, rng.normal(11.0, 0.5, 40)
    x, y = (Sample(values, "", Direction.HIGHER) for values in (old, new))
    (rate,) = report([Entry("r", x, y, 0.95)], original=original, weighting="fraction").rows
    (time,) = report([Entry("t", Sample(new), Sample(old), 0.95)], original=original).rows
    assert rate.speedups == time.speedups
    assert rate.speedups["mean"] > 1.0
    assert (rate.mean.significant, rate.mean.bounds) == (time.mean.significant, time.mean.bounds)
    assert (rate.median.significant, rate.median.bounds) == (time.median.significant, time.median.bounds)
    assert rate.remarks == tuple(remark.replace("sample 2", "sample 1") for remark in time.remarks)
    assert any("sample 1" in remark for remark in rate.remarks)
    assert rate.weights == {at: locate(old, at) for at in LOCATIONS}


def test_what_equals_the_risk_is_proven() -> None:
    """Either way, as p <= alpha rejects."""
    x, y = np.random.default_rng(1).normal(10.0, 1.0, (2, 40))
    p = mean_tests(x, y).welch
    for alpha, slower in ((float(p.pvalue), False), (float(p.pvalue_less), True)):
        found = finding("mean", x, y, alpha, Rules(always_welch=True))
        assert (found.slower if slower else found.significant) is True


TOOL = Path(__file__).parents[1] / "data" / "speedup_test_tool"
RUNS = json.loads((TOOL / "expected.json").read_text(encoding="utf-8"))


def identity(run: dict[str, Any]) -> str:
    return " ".join([run["config"], *run["options"]])


def suite_json(*options: str) -> dict[str, Any]:
    code, out, _ = speedproof("suite", *options, "--json")
    assert code == (2 if "missing_file.csv" in options[0] else 0)
    result: dict[str, Any] = json.loads(out)["results"][0]
    return result


def level(value: float | None) -> float:
    return math.nan if value is None else value


@pytest.mark.parametrize("run", RUNS, ids=identity)
def test_original_against_the_tool(run: dict[str, Any]) -> None:
    """``suite --original`` gives every number and category of warning of the original tool."""
    report = suite_json(str(TOOL / run["config"]), "--original", *run["options"])
    assert [row["name"] for row in report["rows"]] == [row["Name"] for row in run["rows"]]
    for row, expected in zip(report["rows"], run["rows"], strict=True):
        where = row["name"]
        for location, column in zip(LOCATIONS, ("SpeedupMin", "SpeedupMean", "SpeedupMedian"), strict=True):
            assert round(row["speedups"][location], 3) == expected[column], where
        assert row["mean"]["significant"] == expected["IsMeanSignificant"], where
        assert level(row["mean"]["confidence"]) == pytest.approx(
            level(expected["MeanConfLevel"]), nan_ok=True
        ), where
        assert row["median"]["significant"] == expected["IsMedianSignificant"], where
        assert level(row["median"]["confidence"]) == pytest.approx(
            level(expected["MedianConfLevel"]), nan_ok=True
        )
        for location, column in zip(LOCATIONS, ("CoefMin", "CoefMean", "CoefMedian"), strict=True):
            assert row["weights"][location] == pytest.approx(expected[column], rel=1e-13), where
        assert row["remarks"] == run["warnings"].get(where, []), where
    for location, expected in run["overall"].items():
        assert round(report["overall"][location]["gain"], 3) == expected["gain"]
        assert round(report["overall"][location]["speedup"], 3) == expected["speedup"]
    for protocol, expected in run["proportion"].items():
        found = report["accelerated"][protocol]
        assert (found["accelerated"], found["benchmarks"]) == (
            expected["accelerated"],
            expected["benchmarks"],
        )
        assert round(found["proportion"]["low"], 3) == expected["low"]
        assert round(found["proportion"]["high"], 3) == expected["high"]
        assert found["proportion"]["confidence"] == expected["confidence"]
        assert found["benchmarks_needed"] == expected["benchmarks_needed"]


def test_out_file_keeps_the_columns_of_the_tool(tmp_path: Path) -> None:
    """The .out file is CSV as R writes it: quoted names, TRUE and FALSE, NA."""
    given = ("suite", TOOL / "missing_file.csv", "--original", "--conf-level", "0.95")
    assert speedproof(*given, "-o", tmp_path / "results")[0] == 2
    written = {path.suffix: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    lines = written[".out"].splitlines()
    assert lines[0] == (
        '"Name","SpeedupMin","SpeedupMean","IsMeanSignificant","MeanConfLevel","SpeedupMedian",'
        '"IsMedianSignificant","MedianConfLevel","CoefMin","CoefMean","CoefMedian"'
    )
    rows = list(csv.DictReader(lines))
    expected = next(run for run in RUNS if run["config"] == "missing_file.csv")
    for column in ("Name", "SpeedupMin", "SpeedupMedian"):
        assert [row[column] for row in rows] == [str(row[column]) for row in expected["rows"]]
    assert {row["IsMeanSignificant"] for row in rows} <= {"TRUE", "FALSE"}
    assert "absent" in written[".error"]
    assert "absent" in written[".warning"]
    lines = written[".warning"].splitlines()  # a benchmark stands there for its remarks alone
    assert all(after.startswith("  ") for line, after in pairwise([*lines, ""]) if line.endswith(":"))
    assert "Faster of 4 benchmarks: 2 in mean" in written[".report"]


def test_weights_that_the_tool_could_not_use(tmp_path: Path) -> None:
    """They were an error of the tool of 2010."""
    for name, values in (("x", "1 2 3 4 5"), ("y", "1 2 2 3 4")):
        (tmp_path / f"{name}.txt").write_text("\n".join(values.split()), encoding="utf-8")
    config = tmp_path / "bench.csv"
    config.write_text("Name,Sample1,Sample2,ConfLevel,Coef\na,x.txt,y.txt,,-1\n", encoding="utf-8")
    _, told, _ = speedproof("suite", config, "--original")
    assert "weights" in (tmp_path / "bench.error").read_text(encoding="utf-8")
    assert "protocols as the tool of 2010 computed them" in told
    _, told, _ = speedproof("suite", config, "-o", tmp_path / "article")
    assert (tmp_path / "article.error").read_text(encoding="utf-8") == ""
    assert "protocols of the 2013 article" in told

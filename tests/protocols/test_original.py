"""The report of the tool of 2010, row by row, and where the article decides otherwise."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from speedproof.cli.console import Console
from speedproof.cli.main import main
from speedproof.protocols.aggregates import Location

TOOL = Path(__file__).parents[1] / "data" / "speedup_test_tool"
RUNS = json.loads((TOOL / "expected.json").read_text(encoding="utf-8"))
LOCATIONS: tuple[Location, ...] = ("min", "mean", "median")


def identity(run: dict[str, Any]) -> str:
    return " ".join([run["config"], *run["options"]])


def suite_json(capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    code = 2 if "missing_file.csv" in options[0] else 0
    assert main(["suite", *options, "--json"], Console()) == code
    result: dict[str, Any] = json.loads(capsys.readouterr().out)["results"][0]
    return result


def level(value: float | None) -> float:
    return math.nan if value is None else value


@pytest.mark.parametrize("run", RUNS, ids=identity)
def test_original_against_the_tool(run: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    """``suite --original`` gives every number and category of warning of the original tool."""
    report = suite_json(capsys, str(TOOL / run["config"]), "--original", *run["options"])
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


def test_out_file_keeps_the_columns_of_the_tool(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The .out file is CSV as R writes it: quoted names, TRUE and FALSE, NA; four files are written."""
    import csv

    prefix = tmp_path / "results"
    config = str(TOOL / "missing_file.csv")
    assert main(["suite", config, "--original", "--conf-level", "0.95", "-o", str(prefix)], Console()) == 2
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"results.report", "results.out", "results.warning", "results.error"}
    lines = (tmp_path / "results.out").read_text(encoding="utf-8").splitlines()
    assert lines[0] == (
        '"Name","SpeedupMin","SpeedupMean","IsMeanSignificant","MeanConfLevel","SpeedupMedian",'
        '"IsMedianSignificant","MedianConfLevel","CoefMin","CoefMean","CoefMedian"'
    )
    rows = list(csv.DictReader(lines))
    expected = next(run for run in RUNS if run["config"] == "missing_file.csv")
    for column in ("Name", "SpeedupMin", "SpeedupMedian"):
        assert [row[column] for row in rows] == [str(row[column]) for row in expected["rows"]]
    assert {row["IsMeanSignificant"] for row in rows} <= {"TRUE", "FALSE"}
    assert "absent" in (tmp_path / "results.error").read_text(encoding="utf-8")
    assert "absent" in (tmp_path / "results.warning").read_text(encoding="utf-8")
    assert "Faster of 4 benchmarks: 2 in mean" in (tmp_path / "results.report").read_text(encoding="utf-8")
    capsys.readouterr()


def test_the_tools_names_and_its_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without -o the tool of 2010 wrote CONFIG.report, ...; weights that it could not use were an error."""
    for name, values in (("x", "1 2 3 4 5"), ("y", "1 2 2 3 4")):
        (tmp_path / f"{name}.txt").write_text("\n".join(values.split()), encoding="utf-8")
    config = tmp_path / "bench.csv"
    config.write_text("Name,Sample1,Sample2,ConfLevel,Coef\na,x.txt,y.txt,,-1\n", encoding="utf-8")
    assert main(["suite", str(config)], Console()) == 0
    assert {p.suffix for p in tmp_path.glob("bench.*")} == {".csv"}
    assert main(["suite", str(config), "--original"], Console()) == 0
    assert {p.suffix for p in tmp_path.glob("bench.*")} == {".csv", ".report", ".out", ".warning", ".error"}
    assert "weights" in (tmp_path / "bench.error").read_text(encoding="utf-8")
    assert "protocols as the tool of 2010 computed them" in capsys.readouterr().out
    assert main(["suite", str(config), "-o", str(tmp_path / "article")], Console()) == 0
    assert (tmp_path / "article.error").read_text(encoding="utf-8") == ""
    assert "protocols of the 2013 article" in capsys.readouterr().out

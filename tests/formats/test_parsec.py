"""PARSEC's logs and the HPT toolkit's table, against the numbers in them and what the toolkit prints."""

import csv
from decimal import Decimal
from pathlib import Path

import pytest
from tests.command import speedproof
from tests.formats.reading import split

import speedproof as sp
from speedproof.data.sample import Trait
from speedproof.formats import detect

ROOT = Path(__file__).parents[2]
LOG = "run_2_simsmall_2024-03-01_10-00-00.log"


@pytest.fixture
def folder(files: Path) -> Path:
    return files / "parsec"


def test_runs_of_a_log(folder: Path) -> None:
    """Minutes and seconds, either decimal sign; benchmark and input of the lines, threads of the file's name."""
    assert detect(folder / LOG).name == "parsec"
    records, skipped = split(folder / LOG)
    found = {(r.benchmark, r.metric): r.values.tolist() for r in records}
    assert found == {
        ("parsec.sort-simsmall-2", "time"): [3.125, 3.25], ("parsec.sort-simsmall-2", "user"): [6.0, 6.125],
        ("parsec.sort-simsmall-2", "system"): [0.25, 0.25], ("splash2x.hash-simsmall-2", "time"): [4502.5],
        ("splash2x.hash-simsmall-2", "user"): [8999.0], ("splash2x.hash-simsmall-2", "system"): [0.5],
    }  # fmt: skip
    first = records[0]
    assert dict(first.fields) == {
        "program": "parsec.sort", "input": "simsmall", "threads": "2", "build": "amd64-linux.gcc"
    }  # fmt: skip
    assert (first.unit, first.processes, first.version) == ("s", None, "parsec")
    assert Trait.ORDER_KNOWN in first.traits
    assert first.span == (1709287200.0, 1709287200.0), "2024-03-01 10:00 UTC"
    reasons = {s.benchmark: s.reason for s in skipped if not s.expected}
    assert list(reasons) == ["parsec.crash", "parsec.lost", "parsec.endless"]
    assert reasons["parsec.crash"] == "it failed: Aborted"
    assert "cannot be found" in reasons["parsec.lost"]
    assert reasons["parsec.endless"] == "it did not end: no line 'real'"


def test_lines_of_the_baseline(folder: Path) -> None:
    assert detect(folder / "baseline.log").name == "parsec"
    records, skipped = split(folder / "baseline.log")
    assert [r.values.tolist() for r in records] == [
        [41.25, 41.5, 41.0], [21.5, 21.25, 21.75], [0.875, 0.75, 1.125],
    ]  # fmt: skip
    assert records[2].benchmark == "parsec.sort-simsmall-2"
    assert dict(records[2].fields) == {"program": "parsec.sort", "input": "simsmall", "threads": "2"}
    assert [(s.where, s.benchmark) for s in skipped] == [("line 4", "splash2x.lu_cb-native-1")]
    assert "'n/a'" in skipped[0].reason


def test_threads_as_versions(folder: Path) -> None:
    suite = sp.read(folder / "baseline.log", by="threads", rows="program,input")
    assert (suite.versions, suite.benchmarks) == (("1", "2"), ("parsec.sort/native", "parsec.sort/simsmall"))
    assert sp.read(folder / "baseline.log", by="threads", only="*native").pair("1", "2").pairs


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, list[float]]]:
    """The logs of the toolkit's two computers, of the matrices that its report prints; the first one's runs."""
    root = tmp_path_factory.mktemp("toolkit")
    runs: dict[str, list[float]] = {}
    with (ROOT / "studies" / "seeds" / "printed" / "hpt-toolkit.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            program, size, threads = row.pop("benchmark").split("-")
            for run, text in row.items():
                folder = root / f"computer{run[0]}"
                folder.mkdir(exist_ok=True)
                minutes, seconds = divmod(Decimal(text), 60)
                (folder / f"run_{threads}_{size}_2013-06-{17 + int(run[1])}_05:51:08.log").write_text(
                    f"[PARSEC] [========== Running benchmark parsec.{program} [1] ==========]\n"
                    f"[PARSEC] Unpacking benchmark input '{size}'.\nNum of Runs: 100\n\n"
                    f"real\t{minutes:.0f}m{seconds:.3f}s\nuser\t0m1.000s\nsys\t0m0.000s\n[PARSEC] Done.\n"
                )
            runs[f"parsec.{program}-{size}-{threads}"] = [float(row[f"A{k}"]) for k in (1, 2, 3)]
    return root, runs


def test_the_first_runs_as_the_toolkit_repeats_them(
    machines: tuple[Path, dict[str, list[float]]], tmp_path: Path
) -> None:
    """Of a table of five runs its report uses three; a remark says so, and too few are as many as there are."""
    root, runs = machines
    table = tmp_path / "baseline.log"
    table.write_text("".join(f"{k} {' '.join(map(str, v))} 1.0 2.0\n" for k, v in runs.items()))
    suite = sp.read(table, root / "computerB", first=3)
    assert [s.values.tolist() for s in suite.of("baseline").values()] == list(runs.values())
    assert sp.remarks(suite)[-1].endswith("and 7 more: the first 3 of 5 runs are used")
    code, out, err = speedproof("show", table, "--first", "2")
    assert code == 0
    assert "the first 2 of 5 runs are used" in " ".join((out + err).split())
    assert speedproof("show", table, "--first", "0")[0] == 2


def test_the_toolkits_report(machines: tuple[Path, dict[str, list[float]]]) -> None:
    """It prints .6797 and .4727 at 1.9 and 2, and 1.87 at 70 and 80 %; its other numbers are misprints."""
    root, _ = machines
    result = sp.hpt(sp.read(root / "computerB", root / "computerA"), speedups=[1.9, 2.0], rule="paper")
    assert [result.r_speedup(r).hundredth for r in (0.7, 0.8)] == [1.87, 1.87]
    at = [s.confidence for s in result.claims.claims if s.method == "asked"]
    assert at == pytest.approx([0.6797, 0.4727], abs=5e-5)

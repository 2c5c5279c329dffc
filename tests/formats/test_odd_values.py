"""What becomes of values that are no finite numbers, as the table in docs/formats-read.md has it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from speedproof.data.suite import Suite
from speedproof.errors import FormatError
from speedproof.formats import read


def hyperfine(values: str) -> str:
    return f'{{"results": [{{"command": "a", "times": {values}}}, {{"command": "b", "times": [1.0, 2.0]}}]}}'


def pyperf(values: str) -> str:
    a, b = (f'{{"metadata": {{"name": "{n}"}}, "runs": [{{"values": {v}}}]}}' for n, v in pairs(values))
    return f'{{"version": "1.0", "benchmarks": [{a}, {b}]}}'


def pytest_benchmark(values: str) -> str:
    a, b = (
        f'{{"fullname": "{n}", "name": "{n}", "stats": {{"rounds": {len(v.split(","))}, "data": {v}}}}}'
        for n, v in pairs(values)
    )
    return f'{{"machine_info": {{}}, "benchmarks": [{a}, {b}]}}'


def jmh(values: str) -> str:
    a, b = (
        f'{{"benchmark": "{n}", "mode": "avgt", "primaryMetric": {{"scoreUnit": "s/op", "rawData": [{v}]}}}}'
        for n, v in pairs(values)
    )
    return f"[{a}, {b}]"


def google_benchmark(values: str) -> str:
    runs = ", ".join(
        f'{{"name": "{n}", "run_type": "iteration", "iterations": 1, "real_time": {v}, "time_unit": "s"}}'
        for n, vs in pairs(values)
        for v in vs.strip("[]").split(", ")
    )
    return f'{{"benchmarks": [{runs}]}}'


def go(values: str) -> str:
    return "".join(
        f"Benchmark{n.upper()} 1 {v.replace('Infinity', '+Inf')} sec/op\n"
        for n, vs in pairs(values)
        for v in vs.strip("[]").split(", ")
    )


def pairs(values: str) -> list[tuple[str, str]]:
    """Benchmark a with the odd value, b without."""
    return [("a", values), ("b", "[1.0, 2.0]")]


def outcome(path: Path, text: str) -> tuple[dict[str, list[float]], list[str]]:
    path.write_text(text, encoding="utf-8")
    suite = Suite.from_records(("v", item) for item in read(path))
    values = {
        k.benchmark.lower(): s.values.tolist() for (k, _), s in suite.samples.items() if k.metric == "time"
    }
    return values, [f"{s.where}: {s.reason}" for s in suite.skipped if not s.expected]


@pytest.mark.parametrize("odd", ["NaN", "Infinity", "-Infinity"])
@pytest.mark.parametrize("write", [hyperfine, pyperf, pytest_benchmark])
def test_the_benchmark_is_left_out(tmp_path: Path, write: Callable[[str], str], odd: str) -> None:
    values, left_out = outcome(tmp_path / "f", write(f"[1.0, {odd}, 2.0]"))
    assert values == {"b": [1.0, 2.0]}
    assert len(left_out) == 1


@pytest.mark.parametrize("odd", ["NaN", "Infinity"])
@pytest.mark.parametrize("write", [jmh, google_benchmark, go])
def test_the_value_is_left_out(tmp_path: Path, write: Callable[[str], str], odd: str) -> None:
    values, left_out = outcome(tmp_path / "f", write(f"[1.0, {odd}, 2.0]"))
    assert values == {"a": [1.0, 2.0], "b": [1.0, 2.0]}
    assert len(left_out) == 1


@pytest.mark.parametrize("write", [hyperfine, pyperf, pytest_benchmark, jmh])
def test_a_number_beyond_float64(tmp_path: Path, write: Callable[[str], str]) -> None:
    values, left_out = outcome(tmp_path / "f", write("[1.0, 1e999, 2.0]"))
    assert values == {"b": [1.0, 2.0]}
    assert len(left_out) == 1


def test_a_number_beyond_float64_of_google_benchmark(tmp_path: Path) -> None:
    values, left_out = outcome(tmp_path / "f", google_benchmark("[1.0, 1e999, 2.0]"))
    assert values == {"a": [1.0, 2.0], "b": [1.0, 2.0]}
    assert len(left_out) == 1


def test_criterion_has_one_benchmark_a_file(tmp_path: Path) -> None:
    for odd in ("NaN", "Infinity"):
        (tmp_path / "sample.json").write_text(f'{{"iters": [1, 1], "times": [1.0, {odd}]}}')
        with pytest.raises(FormatError) as caught:
            list(read(tmp_path / "sample.json"))
        assert caught.value.where == "times[1]"


@pytest.mark.parametrize("odd", ["NaN", "NA", "null", "inf", "-Infinity", "FAILED", ""])
def test_csv_leaves_the_cell_out(tmp_path: Path, odd: str) -> None:
    values, (left_out,) = outcome(tmp_path / "f.csv", f"bench,time_s\na,1\na,{odd}\na,2\nb,1\nb,2\n")
    assert values == {"a": [1.0, 2.0], "b": [1.0, 2.0]}
    assert left_out.startswith("line 3: ")


def test_csv_beyond_float64_and_negative(tmp_path: Path) -> None:
    for odd in ("1e999", "-1"):
        values, (left_out,) = outcome(tmp_path / "f.csv", f"bench,time_s\na,1\na,{odd}\nb,1\nb,2\n")
        assert values == {"b": [1.0, 2.0]}
        assert left_out.startswith("line 2: ")


def test_raw_text(tmp_path: Path) -> None:
    for odd in ("NaN", "NA"):
        values, (left_out,) = outcome(tmp_path / "a.txt", f"1\n{odd}\n2\n")
        assert values == {"a": [1.0, 2.0]}
        assert left_out.startswith("line 2: 1 missing value")
    for odd in ("inf", "-Infinity", "FAILED"):
        for line, text in ((1, f"{odd}\n1\n2\n"), (2, f"1\n{odd}\n2\n")):
            with pytest.raises(FormatError) as caught:
                outcome(tmp_path / "a.txt", text)
            assert caught.value.where == f"line {line}"
    for odd in ("1e999", "-1"):
        values, left = outcome(tmp_path / "a.txt", f"seconds\n1\n{odd}\n2\n")
        assert values == {}
        assert len(left) == 1

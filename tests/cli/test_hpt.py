"""``speedproof hpt`` as a user meets it."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.command import speedproof
from tests.protocols.asking import hpt_of_scores

from speedproof.reporting.hpt import conclusion

ORACLE = Path(__file__).parents[1] / "data" / "oracle_hpt"
TABLE = [f"B={ORACLE / 'table3_reduced_B.csv'}", f"A={ORACLE / 'table3_x176_A.csv'}"]


def write(path: Path, rows: dict[str, list[float]]) -> str:
    path.write_text(
        "benchmark,value\n" + "".join(f"{name},{v}\n" for name, values in rows.items() for v in values),
        encoding="utf-8",
    )
    return str(path)


@pytest.fixture
def suite(tmp_path: Path) -> tuple[str, str]:
    rng = np.random.default_rng(1)
    old = {f"b{i}": rng.normal(10.0**i, 0.01 * 10.0**i, 5).tolist() for i in range(8)}
    new = {name: [v / 1.2 for v in values] for name, values in old.items()}
    return write(tmp_path / "old.csv", {**old, "gone": [1.0]}), write(tmp_path / "new.csv", new)


def test_table_3_of_the_article() -> None:
    """The printed speedup of 1.76, from the scores as they are and the article's tables."""
    code, out, err = speedproof("hpt", *TABLE, "--scores", "given", "--rule", "paper", "--r", "0.95")
    assert (code, err) == (0, "")
    told = " ".join(out.split())
    assert told.startswith("HPT: A outperforms B")
    assert (
        "by a factor of 1.76 with confidence 95 %. A wins 13 and loses 1 of 14 benchmarks; 0 are ties."
        in told
    )


def test_times_are_no_scores(suite: tuple[str, str]) -> None:
    """Of two versions the one with the higher times would be said to win."""
    code, out, err = speedproof("hpt", *suite, "--unit", "s", "--scores", "given")
    assert (code, out) == (2, "")
    assert "lower is better for values in s" in " ".join(err.split())
    assert "leave --scores given out" in " ".join(err.split())


def test_one_benchmark_has_no_paired_t_test(tmp_path: Path) -> None:
    old, new = (write(tmp_path / f"{v}.csv", {"b": [v, v + 0.1, v + 0.2]}) for v in (1.0, 2.0))
    code, out, err = speedproof("hpt", new, old, "--unit", "s", "--details", "--r", "0.4")
    assert (code, err) == (0, "")
    assert "The paired t test needs two benchmarks." in " ".join(out.split())


def test_what_cannot_be_shown_is_none(suite: tuple[str, str]) -> None:
    """Eight benchmarks cannot reach a confidence of 0.999; no factor is claimed."""
    _, out, _ = speedproof("hpt", *suite, "--unit", "s", "--r", "0.999")
    assert "by a factor" not in out
    assert "takes at least 10" in out


def test_several_candidates(suite: tuple[str, str]) -> None:
    _, out, _ = speedproof("hpt", suite[0], suite[1], f"again={suite[1]}", "--unit", "s")
    assert out.count("outperforms") == 2


def test_what_cannot_be_compared_is_named(tmp_path: Path) -> None:
    """Names that a file gives to benchmarks are believed: different ones are not matched, and both are named."""
    old, new = (write(tmp_path / f"{n}.csv", {n: [2.0, 2.1, 2.2, 2.05, 2.15]}) for n in ("old", "new"))
    code, _, err = speedproof("hpt", old, new, "--unit", "s")
    assert code == 2
    assert "only old has 1 of the benchmarks, left out: old" in err
    assert "only new has 1 of the benchmarks, left out: new" in err


@pytest.mark.parametrize(
    ("options", "message"),
    [(("--alpha-benchmark", "0.6"), "between 0 and 0.5"), (("--metric", "all"), "name one metric")],
)
def test_errors_name_the_remedy(suite: tuple[str, str], options: tuple[str, ...], message: str) -> None:
    code, out, err = speedproof("hpt", *suite, *options)
    assert (code, out) == (2, "")
    assert message in err


def test_a_loser_is_named_as_such() -> None:
    """The winner of the conclusion may be the reference."""
    result = hpt_of_scores([[1.5]] * 6, [[1.0]] * 6)
    assert conclusion(result, "old", "new").startswith("HPT: old outperforms new with confidence 98.4 %")


def test_a_speedup_near_1_keeps_the_digits_that_tell_it_apart() -> None:
    """A factor of 1.004 passes up to its own value and no further; the same at two confidences is told once."""
    result = hpt_of_scores([[1000.0]] * 8, [[1004.0]] * 8, confidences=[0.95, 0.99])
    told = conclusion(result, "old", "new")
    assert told.endswith(", by a factor of 1.003 with confidence 95 % and 99 %.")


def test_what_the_runs_cannot_know_is_said(suite: tuple[str, str], tmp_path: Path) -> None:
    go = "goos: linux\npkg: p\n" + "".join(f"BenchmarkA-8 100 {t} ns/op\n" for t in (10, 11, 12, 13, 14))
    files = [tmp_path / "old.txt", tmp_path / "new.txt"]
    for file in files:
        file.write_text(go if file.stem == "old" else go.replace(" 1", " 3"))
    code, out, _ = speedproof("hpt", *map(str, files))
    assert code == 0
    assert "Each side is one process" in out


def test_confidence_is_never_rounded_up() -> None:
    result = hpt_of_scores([[1.0]] * 30, [[2.0]] * 30)
    assert "confidence 99.9 %" in conclusion(result, "old", "new")


@pytest.mark.parametrize("speedup", ["5e-324", "1e-310", "1.7e308"])
def test_speedups_at_the_ends_of_the_range_of_doubles(suite: tuple[str, str], speedup: str) -> None:
    """What is larger than every ratio is out of reach, and every winner passes what is smaller than all."""
    code, out, _ = speedproof("hpt", *suite, "--speedup", speedup, "--json")
    assert code == 0
    found = json.loads(out)["results"][0]
    (asked,) = (c for c in found["claims"]["claims"] if c["method"] == "asked")
    low = float(speedup) < 1.0
    assert asked["confidence"] == (found["hpt"]["confidence"] if low else pytest.approx(0.0, abs=0.05))

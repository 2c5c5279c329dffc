"""``speedproof rank`` as a user meets it."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest

from speedproof.cli.console import Console
from speedproof.cli.main import main
from speedproof.mixture.metrics import probability_below
from speedproof.mixture.model import MixtureModel

OLD = MixtureModel([0.5, 0.5], [10.0, 14.0], [0.3, 0.3])
NEW = MixtureModel([0.9, 0.1], [10.0, 14.0], [0.3, 0.3])


def speedproof(*argv: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    code = main(argv, Console(out, err))
    return code, out.getvalue(), err.getvalue()


def write(path: Path, values: object) -> str:
    path.write_text("".join(f"{v!r}\n" for v in np.asarray(values, dtype=float).tolist()), encoding="utf-8")
    return str(path)


@pytest.fixture
def pair(tmp_path: Path) -> list[str]:
    return [write(tmp_path / "old.txt", OLD.rvs(100, 1)), write(tmp_path / "new.txt", NEW.rvs(100, 2))]


def test_winner_advice_and_states(pair: list[str]) -> None:
    code, out, _ = speedproof("rank", *pair, "--resamples", "50")
    assert code == 0
    lines = out.splitlines()
    assert lines[2].startswith("new")
    assert "Run new: it has the best mean" in out
    assert "states: same states, other weights" in out


def test_json_agrees_with_the_metric(pair: list[str]) -> None:
    _, out, _ = speedproof("rank", *pair, "--resamples", "50", "--json")
    (result,) = json.loads(out)["results"]
    first = result["ranking"]["versions"][0]
    assert first["version"] == "new"
    assert first["least"]["value"] == pytest.approx(probability_below(NEW.rvs(100, 2), OLD.rvs(100, 1)))
    assert first["least"]["low"] < first["least"]["value"] < first["least"]["high"]
    assert result["advice"]["rarely"] == "new"
    assert len(result["states"]["matched"]) == 2


def test_three_versions_have_no_states_compared(pair: list[str], tmp_path: Path) -> None:
    third = write(tmp_path / "third.txt", NEW.rvs(50, 3) + 30)
    code, out, _ = speedproof("rank", *pair, third, "--resamples", "20")
    assert code == 0
    assert "states:" not in out
    assert "each of the 2 other versions" in out


def test_benchmark_without_a_rival_is_left_out(tmp_path: Path) -> None:
    table = tmp_path / "long.csv"
    rows = [f"a,{v},{t}" for v in ("x", "y") for t in (1.0, 1.1, 1.2, 1.3)] + ["b,x,1.0", "b,x,1.5"]
    table.write_text("benchmark,version,value\n" + "\n".join(rows) + "\n", encoding="utf-8")
    code, out, err = speedproof("rank", str(table), "--resamples", "20")
    assert code == 0
    assert "left out: b: only x has it" in err
    assert "a: time" in out


def test_too_few_resamples_and_one_version_are_refused(pair: list[str]) -> None:
    code, _, err = speedproof("rank", *pair, "--resamples", "5")
    assert code == 2
    assert "at least 10" in err
    assert speedproof("rank", pair[0])[0] == 2


def test_constant_version_says_why(pair: list[str], tmp_path: Path) -> None:
    flat = write(tmp_path / "flat.txt", [3.0] * 10)
    code, _, err = speedproof("rank", pair[0], flat)
    assert code == 2
    assert "all 10 values equal 3" in err

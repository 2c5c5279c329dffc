"""Values at the ends of the range of doubles, through the commands: no warning, no crash, the same answers.

Warnings are errors here, as everywhere in the tests.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.command import speedproof

from speedproof.mixture.model import MixtureModel

MODEL = MixtureModel([0.5, 0.5], [700.0, 900.0], [20.0, 20.0])
SIZES = (
    1.5e308,
    1e308,
    1e300,
    1e200,
    1e154,
    1e100,
    1.0,
    1e-100,
    1e-154,
    1e-200,
    1e-300,
    2.3e-308,
    1e-320,
    5e-324,
)
COMMANDS = (
    ("compare",),
    ("compare", "--margin", "0.05"),
    ("compare", "--modes", "--json"),
    ("compare", "--protocol", "touati2009"),
    ("compare", "--csv", "-"),
    ("rank",),
    ("model", "--bootstrap", "5"),
    ("hpt",),
    ("show",),
    ("gate", "--protocol", "median"),
    ("gate", "--protocol", "mean"),
)


def write(path: Path, values: object) -> str:
    path.write_text("".join(f"{v!r}\n" for v in np.asarray(values, dtype=float).tolist()), encoding="utf-8")
    return str(path)


def call(command: tuple[str, ...], files: list[str], unit: str) -> int:
    name, *options = command
    given = ["--baseline", files[0], "--candidate", files[1]] if name == "gate" else files
    return speedproof(name, *options, *given, "--unit", unit)[0]


def random_table(path: Path, rng: random.Random) -> str:
    """Benchmarks of one size or of several, tied or not, with zeros, nested or not."""
    nested = rng.random() < 0.3
    rows = ["benchmark,value" + (",process" if nested else "")]
    for benchmark in "abc"[: rng.choice((1, 1, 3))]:
        size, kind, tied = rng.choice(SIZES), rng.random(), rng.choice((0.0, 0.001, 0.1))
        for i in range(rng.choice((1, 2, 3, 8, 12, 40))):
            own = (
                size if kind < 0.6 else rng.choice(SIZES) if kind < 0.8 else rng.choice((size, size / 2, 0.0))
            )
            rows.append(f"{benchmark},{own * (1 + tied * rng.random())!r}" + (f",{i // 3}" if nested else ""))
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return str(path)


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_random_sizes(tmp_path: Path, command: tuple[str, ...]) -> None:
    """Whatever the sizes, a command answers or says in a sentence what it cannot do."""
    rng = random.Random(" ".join(command))
    for _ in range(12):
        files = [random_table(tmp_path / f"{name}.csv", rng) for name in "xyz"[: rng.choice((2, 3))]]
        assert call(command, files, rng.choice(("s", "ops/s"))) in (0, 1, 2, 3)


def whole_numbers(seed: int, n: int = 40) -> np.ndarray:
    """Values of ten bits, which stay exact where a double has only a few bits left."""
    return np.round(MODEL.rvs(n, seed))


@pytest.mark.parametrize("power", [-1070, -700, 600, 1010])
def test_compare_answers_alike_in_every_unit(tmp_path: Path, power: int) -> None:
    """Speedups, bounds, p-values and checks are those of the same values in another unit."""

    def answer(shift: int) -> list[dict[str, Any]]:
        files = [write(tmp_path / f"{i}.txt", np.ldexp(whole_numbers(i) + 30 * i, shift)) for i in (1, 2)]
        _, out, _ = speedproof("compare", *files, "--unit", "ops", "--json")
        return list(json.loads(out)["results"][0]["comparisons"])

    for usual, extreme in zip(answer(0), answer(power), strict=True):
        for name in ("state", "test", "pvalue", "pvalue_slower", "verdict", "needed"):
            assert extreme[name] == usual[name]
        for part in ("value", "low", "high"):
            assert extreme["speedup"][part] == pytest.approx(usual["speedup"][part], rel=1e-12)
        for side in ("reference", "candidate"):
            for location in ("mean", "median", "minimum", "deviation", "mad"):
                expected = float(np.ldexp(usual[side][location], power))
                assert extreme[side][location] == pytest.approx(expected, rel=1e-12, abs=5e-324)
        assert [c["held"] for c in extreme["checks"]] == [c["held"] for c in usual["checks"]]


@pytest.mark.slow
@pytest.mark.parametrize("power", [-1070, -700, 600, 1010])
def test_model_and_rank_answer_alike_in_every_unit(tmp_path: Path, power: int) -> None:
    """Components and modes move with the unit; weights, p-values and chances stay."""

    def answers(shift: int) -> tuple[list[Any], list[Any]]:
        files = [write(tmp_path / f"{i}.txt", np.ldexp(whole_numbers(i) + 30 * i, shift)) for i in (1, 2)]
        return tuple(
            json.loads(speedproof(*command, *files, "--unit", "ops", "--json")[1])["results"]
            for command in (("model", "--bootstrap", "20"), ("rank", "--resamples", "10"))
        )

    (models, (rank,)), (extreme_models, (extreme_rank,)) = answers(0), answers(power)
    unit = 2.0**power if power > -1022 else float(np.ldexp(1.0, power))
    for usual, extreme in zip(models, extreme_models, strict=True):
        usual, extreme = usual["model"], extreme["model"]
        assert extreme["test"]["pvalue"] == usual["test"]["pvalue"]
        assert extreme["bic"] == pytest.approx(usual["bic"] - 2 * 40 * power * np.log(2), rel=1e-9)
        for a, b in zip(usual["components"], extreme["components"], strict=True):
            assert b["weight"] == pytest.approx(a["weight"])
            for name in ("mean", "sd"):
                assert b[name] == pytest.approx(float(np.ldexp(a[name], power)), rel=1e-9, abs=unit / 1e6)
    for a, b in zip(rank["ranking"]["versions"], extreme_rank["ranking"]["versions"], strict=True):
        assert b["version"] == a["version"]
        assert b["chance"] == a["chance"]
        assert b["mixture_chance"]["value"] == pytest.approx(a["mixture_chance"]["value"])
        assert b["median"] == float(np.ldexp(a["median"], power))
    assert extreme_rank["conclusion"] == rank["conclusion"]


def test_versions_of_any_two_sizes_are_compared(tmp_path: Path) -> None:
    """A factor beyond the largest double is told as that; nothing else of the comparison is lost."""
    files = [
        write(tmp_path / "a.txt", 1e305 * MODEL.rvs(40, 1)),
        write(tmp_path / "b.txt", 1e-322 * MODEL.rvs(40, 2)),
    ]
    _, out, _ = speedproof("compare", *files, "--unit", "s", "--protocol", "mean")
    assert "b is faster than a in mean    (95 % confidence; no factor can be named)" in out
    near = [write(tmp_path / "a.txt", 1e305 * MODEL.rvs(40, 1)), write(tmp_path / "b.txt", MODEL.rvs(40, 2))]
    for given in (files, near):
        _, out, _ = speedproof("compare", *given, "--unit", "s", "--json", "--protocol", "mean")
        (found,) = json.loads(out)["results"][0]["comparisons"]
        alone = [
            json.loads(speedproof("compare", f, f, "--unit", "s", "--json", "--protocol", "mean")[1])
            for f in given
        ]
        for check, own in zip(found["checks"][:2], alone, strict=True):
            expected = own["results"][0]["comparisons"][0]["checks"][0]["pvalue"]
            assert check["pvalue"] == pytest.approx(expected, rel=0.1)


def test_versions_too_far_apart_for_mixtures_are_named(tmp_path: Path) -> None:
    files = [write(tmp_path / "a.txt", MODEL.rvs(20, 1)), write(tmp_path / "b.txt", 1e200 * MODEL.rvs(20, 2))]
    code, _, err = speedproof("rank", *files)
    assert code == 2
    assert "its versions differ so much in size" in err


def test_a_sample_without_digits_in_the_common_unit_is_drawn_without_a_curve(tmp_path: Path) -> None:
    """Beside values of 1e308 those of 1e-40 are zeros on the axis, and the remark says so."""
    pytest.importorskip("matplotlib")
    files = [
        write(tmp_path / "a.txt", 1e305 * MODEL.rvs(20, 1)),
        write(tmp_path / "b.txt", 1e-43 * MODEL.rvs(20, 2)),
    ]
    code, _, err = speedproof("plot", *files, "--unit", "s", "-o", str(tmp_path / "x.svg"))
    assert code == 0
    assert "(b): no mixture, so no curve of it" in err

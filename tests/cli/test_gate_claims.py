"""What a gate says is proven is proven: runs that are not what the tests assume make it a condition."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from speedproof.cli.console import Console
from speedproof.cli.main import main
from speedproof.data.notes import UNDERMINING

TARGETS = {"markdown": "s.md", "html": "s.html", "junit": "s.xml"}


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def noise(runs: int = 40) -> npt.NDArray[np.float64]:
    """Around 1, in an order of which every check holds: evenly spread, neighbours neither alike nor opposed."""
    return 1 + 0.01 * np.sin(np.arange(1, runs + 1) * 12.9898 + 43758.5453 * np.sin(np.arange(1, runs + 1)))


def drift(runs: int = 40) -> npt.NDArray[np.float64]:
    """Around 1, in ascending order: a drift if anything is one."""
    return np.sort(noise(runs))


def hyperfine(name: str, benchmarks: Mapping[str, npt.NDArray[np.float64]]) -> str:
    results = [{"command": b, "times": values.tolist()} for b, values in benchmarks.items()]
    Path(name).write_text(json.dumps({"results": results}), encoding="utf-8")
    return name


def session(name: str, sessions: Mapping[str, tuple[str, ...]], runs: int = 20) -> str:
    """What ``speedproof run`` wrote in these sessions, each of some versions."""
    lines: list[dict[str, Any]] = []
    for own, versions in sessions.items():
        planned = [{"name": v, "command": [v], "text": v} for v in versions]
        head = {"type": "session", "schema": 1, "session": own, "started": "2026-01-01", "seed": 1}
        lines.append({**head, "benchmarks": [{"name": "b", "versions": planned}]})
        for i, value in enumerate(noise(runs).tolist()):
            for position, version in enumerate(versions):
                place = {
                    "benchmark": "b",
                    "version": version,
                    "block": i,
                    "position": position,
                    "at": 1.0 * i,
                }
                lines.append({"type": "run", "session": own, **place, "metrics": {"time": value}})
        lines.append({"type": "end", "session": own, "reasons": {}})
    Path(name).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return name


def gate(baseline: str, candidate: str, *options: str) -> tuple[dict[str, Any], dict[str, str]]:
    """The result, and every report of it as text."""
    call = ["gate", "--baseline", baseline, "--candidate", candidate, "--protocol", "median", *options]
    targets = [word for name, path in TARGETS.items() for word in (f"--{name}", path)]
    texts = {}
    for extra in ([], [*targets, "--json"]):
        out, err = io.StringIO(), io.StringIO()
        assert main([*call, *extra], Console(out, err)) in (0, 1, 3), err.getvalue()
        texts["json" if extra else "terminal"] = out.getvalue()
    (result,) = json.loads(texts.pop("json"))["results"]
    return result, texts | {name: Path(path).read_text(encoding="utf-8") for name, path in TARGETS.items()}


def undermined(row: Mapping[str, Any]) -> bool:
    kinds = {check["kind"] for check in row["comparison"]["checks"] if not check["held"]}
    return bool(kinds & {assumption.value for assumption in UNDERMINING})


def test_a_failure_of_undermined_runs_is_not_proven() -> None:
    """The sentence calls proven exactly the failures without a mark; all others are shown under a condition."""
    old = hyperfine("old.json", {b: noise() for b in ("clean", "doubted", "same")})
    new = hyperfine("new.json", {"clean": 1.5 * noise(), "doubted": 1.5 * drift(), "same": noise()[::-1]})
    result, texts = gate(old, new)
    # The premise: one failure of either kind.
    kinds = {r["comparison"]["benchmark"]: (r["outcome"], undermined(r)) for r in result["rows"]}
    assert kinds == {"clean": ("fail", False), "doubted": ("fail", True), "same": ("pass", False)}
    assert texts["terminal"].startswith("FAIL: 2 of 3 benchmarks are slower by more than 2 %")
    marks = dict(re.findall(r"^(FAIL !|FAIL|pass) +(\w+) ", texts["terminal"], re.MULTILINE))
    assert set(marks) >= {"FAIL", "FAIL !"}
    assert "dependent neighbouring runs (1)" in " ".join(texts["terminal"].split())
    assert "Proven: slower by more than 2 % (speedup" in texts["junit"]
    assert "Shown, if the assumptions were met: slower by more than 2 % (speedup" in texts["junit"]


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["no-regression", "proven-improvement", "equivalence"])
def test_with_undermined_runs_only_nothing_is_proven(policy: str) -> None:
    """Whatever is asked and whatever comes out: no sentence and no column says "proven" without a condition."""
    times = {"a": drift(), "b": drift(), "c": drift()}
    old = hyperfine("old.json", times)
    for factor in (0.5, 1.0, 1.5):
        new = hyperfine("new.json", {b: factor * (v + 1e-9) for b, v in times.items()})
        result, texts = gate(old, new, "--policy", policy)
        assert all(map(undermined, result["rows"]))
        assert texts["terminal"].startswith(f"{result['outcome'].upper()}: ")
        rows = re.findall(r"^(?:FAIL|pass)(?!:).*$", texts["terminal"], re.MULTILINE)
        assert all(re.match(r"(FAIL|pass) !", row) for row in rows)
        assert "Proven: " not in texts["junit"]


def test_versions_of_different_sessions_were_not_measured_in_turn() -> None:
    """Said once in every report where the files tell it: no session measured both."""
    one, two = session("one.jsonl", {"s1": ("x",)}), session("two.jsonl", {"s2": ("x",)}, 24)
    said = "Measured in two sessions, which may differ"
    result, texts = gate(one, two)
    assert [caveat["kind"] for caveat in result["caveats"]] == ["one session"]
    for name, text in texts.items():
        assert " ".join(text.split()).count(said) == 1, name


def test_versions_of_one_session_and_of_other_tools() -> None:
    """Nothing is said where both were measured in one session; of two files what compare says of them."""
    both = session("both.jsonl", {"s1": ("x", "y")})
    plain = hyperfine("a.json", {"b": noise()}), hyperfine("c.json", {"b": noise()[::-1]})
    for baseline, candidate in ((f"{both}:x", f"{both}:y"), plain):
        _, texts = gate(baseline, candidate)
        said = [text.count("two sessions") for text in texts.values()]
        assert said == [int(baseline == "a.json")] * len(texts)


def test_no_bounds_where_the_samples_differ_by_more_than_a_shift() -> None:
    """Ranks bound no ratio of such medians, so no report prints a bound; the decision is the tests' as before."""
    rng = np.random.default_rng(7)
    shapes = {
        "skewed": (rng.normal(1.0, 0.02, 60), rng.exponential(0.3, 60) + 0.5),
        "modes": (
            rng.normal(1.0, 0.02, 60),
            np.where(rng.random(60) < 0.45, 0.7, 1.03) + rng.normal(0, 0.01, 60),
        ),
        "alike": (rng.normal(1.0, 0.02, 60), rng.normal(0.9, 0.02, 60)),
    }
    old = hyperfine("old.json", {b: x for b, (x, _) in shapes.items()})
    new = hyperfine("new.json", {b: y for b, (_, y) in shapes.items()})
    result, texts = gate(old, new, "--margin", "1%", "--all")
    held = {
        r["comparison"]["benchmark"]: all(
            c["held"] for c in r["comparison"]["checks"] if c["kind"] == "location shift"
        )
        for r in result["rows"]
    }
    assert held == {"skewed": False, "modes": False, "alike": True}
    for row in result["rows"]:
        name = row["comparison"]["benchmark"]
        decided = {
            "fail": row["contradicted"]["adjusted"] <= 0.05,
            "pass": row["required"]["adjusted"] <= 0.05,
        }
        assert row["outcome"] == next((o for o, true in decided.items() if true), "undecided")
        (line,) = (row for row in texts["terminal"].splitlines() if f" {name} " in row[:20])
        if row["outcome"] != "undecided":
            assert bool(re.search("[≥≤]|at (least|most)", line)) == held[name], line
    for name in held:
        (in_page,) = re.findall(rf'<tr[^>]* data-name="{name}".*?</tr>', texts["html"], re.S)
        assert ("<line x1=" in in_page) == held[name]


def test_what_is_equal_within_the_margin_may_be_faster() -> None:
    """A tilde says that the direction is not proven: only where compare without a margin says so, too."""
    old = hyperfine("old.json", {"b": noise()})
    for factor, told in ((0.99, "1.01x faster"), (0.9999, "~ 1.0001x faster")):
        new = hyperfine("new.json", {"b": (factor * noise())[::-1]})
        _, texts = gate(old, new)
        row = next(line for line in texts["terminal"].splitlines() if line.startswith("pass"))
        assert re.search(rf"  {re.escape(told)}", row), row

"""What a gate says is proven is proven: runs that are not what the tests assume make it a condition."""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import numpy.typing as npt
import pytest

from speedproof.cli.console import Console
from speedproof.cli.main import main
from speedproof.protocols.assumptions import UNDERMINING

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


def doubtful(row: Mapping[str, Any]) -> bool:
    kinds = {check["kind"] for check in row["comparison"]["checks"] if not check["held"]}
    return bool(kinds & {assumption.value for assumption in UNDERMINING})


def test_a_failure_of_doubtful_runs_is_not_proven() -> None:
    """The sentence calls proven exactly the failures without a mark; all others are shown under a condition."""
    old = hyperfine("old.json", {b: noise() for b in ("clean", "doubted", "same")})
    new = hyperfine("new.json", {"clean": 1.5 * noise(), "doubted": 1.5 * drift(), "same": noise()[::-1]})
    result, texts = gate(old, new)
    # The premise: one failure of either kind.
    kinds = {r["comparison"]["benchmark"]: (r["outcome"], doubtful(r)) for r in result["rows"]}
    assert kinds == {"clean": ("fail", False), "doubted": ("fail", True), "same": ("pass", False)}
    headline = texts["terminal"].splitlines()[1]
    assert headline == (
        "FAIL: a regression beyond the margin is proven on 1 of 3 benchmarks: clean; a regression beyond the "
        "margin is shown on 1 of 3 benchmarks, if the runs are what the tests assume, which they are not (marked "
        "!): doubted."
    )
    for name in ("html", "junit"):
        assert headline in texts[name]
        assert "A regression beyond the margin is proven: speedup" in texts[name]
        assert "A regression beyond the margin is shown: speedup" in texts[name]
        assert "This holds if the runs are what the tests assume, which they are not (order" in texts[name]


@pytest.mark.parametrize("policy", ["no-regression", "proven-improvement", "equivalence"])
def test_with_doubtful_runs_only_nothing_is_proven(policy: str) -> None:
    """Whatever is asked and whatever comes out: no sentence and no column says "proven" without a condition."""
    times = {"a": drift(), "b": drift(), "c": drift()}
    old = hyperfine("old.json", times)
    for factor in (0.5, 1.0, 1.5):
        new = hyperfine("new.json", {b: factor * (v + 1e-9) for b, v in times.items()})
        result, texts = gate(old, new, "--policy", policy)
        assert all(map(doubtful, result["rows"]))
        headline = texts["terminal"].splitlines()[1]
        assert headline.startswith(f"{result['outcome'].upper()}: ")
        nothing = "what is asked is proven on 0 of 3 benchmarks"
        assert "proven" not in headline.replace(nothing, "")
        if result["outcome"] != "undecided":
            assert "if the runs are what the tests assume, which they are not (marked !)" in headline
        for row in texts["terminal"].splitlines()[7:10]:
            claims = re.findall(r"(!?) ?(improvement|equivalence|regression)", row)
            assert all(mark == "!" for mark, _ in claims), row
        assert not re.search(r"Proven |(margin|slowdown) is proven|also proven:", texts["junit"])


def test_a_mixed_pass_counts_the_doubtful_ones() -> None:
    old = hyperfine("old.json", {"a": noise(), "b": noise()})
    new = hyperfine("new.json", {"a": noise()[::-1] * 0.9, "b": drift() * 0.9})
    _, texts = gate(old, new)
    assert texts["terminal"].splitlines()[1] == (
        "PASS: new is shown not worse by more than the margin on all 2 benchmarks, in median, if the runs are "
        "what the tests assume, which they are not on 1 of them (marked !)."
    )


def test_versions_of_different_sessions_were_not_measured_in_turn() -> None:
    """Said once in every report where the files tell it: no session measured both."""
    one, two = session("one.jsonl", {"s1": ("x",)}), session("two.jsonl", {"s2": ("x",)})
    said = (
        "one and two were measured in different sessions, one after the other: what else changed in between"
    )
    result, texts = gate(one, two)
    assert result["sessions_apart"] is True
    for name, text in texts.items():
        assert text.count(said) == 1, name


def test_versions_of_one_session_and_of_other_tools() -> None:
    """Nothing is said where both were measured in one session, nor where no file tells of any."""
    both = session("both.jsonl", {"s1": ("x", "y")})
    plain = hyperfine("a.json", {"b": noise()}), hyperfine("c.json", {"b": noise()[::-1]})
    for baseline, candidate in ((f"{both}:x", f"{both}:y"), plain):
        result, texts = gate(baseline, candidate)
        assert result["sessions_apart"] is False
        assert not any("different sessions" in text for text in texts.values())


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
    result, texts = gate(old, new, "--margin", "1%")
    held = {
        r["comparison"]["benchmark"]: all(
            c["held"] for c in r["comparison"]["checks"] if c["kind"] == "location shift"
        )
        for r in result["rows"]
    }
    assert held == {"skewed": False, "modes": False, "alike": True}
    for row in result["rows"]:
        name, speedup = row["comparison"]["benchmark"], row["comparison"]["speedup"]
        decided = {
            "fail": row["contradicted"]["adjusted"] <= 0.05,
            "pass": row["required"]["adjusted"] <= 0.05,
        }
        assert row["outcome"] == next((o for o, true in decided.items() if true), "undecided")
        lines = [line for line in texts["terminal"].splitlines() if line.split()[:1] == [name]]
        shown = re.search(r"(\d\.\d{3})( \[([\d.]+), ([\d.]+)\])?", lines[0])
        assert shown is not None
        assert math.isclose(float(shown[1]), speedup["value"], abs_tol=6e-4)
        assert (shown[2] is not None) == held[name]
        if held[name]:
            assert float(shown[3]) <= float(shown[1]) <= float(shown[4])
        (in_markdown,) = {line for line in texts["markdown"].splitlines() if line.startswith(f"| `{name}`")}
        (case,) = (c for c in ET.fromstring(texts["junit"]).iter("testcase") if c.get("name") == name)
        for text in (in_markdown, "".join(case.itertext())):
            assert (f"{shown[1]} [" in text) == held[name], text
    (panel_data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', texts["html"])
    for panel in json.loads(panel_data)[0]:
        ((_, sentence),) = panel["said"]
        assert bool(re.search(r"speedup of median \d\.\d{3} \[", sentence)) == held[panel["name"]]
    drawn = re.findall(r'<tr data-row=.*?data-k="(\w+)".*?</tr>', texts["html"], re.S)
    intervals = {
        name: "<line x1=" in row
        for name, row in zip(drawn, re.findall(r"<tr data-row=.*?</tr>", texts["html"], re.S), strict=True)
    }
    assert intervals == held
    assert "nothing is certified of the ratio of medians" in texts["terminal"]

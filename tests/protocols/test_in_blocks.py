"""What `run` looked at is answered by the test that allows for looks, wherever it is asked."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import numpy as np
import pytest
from tests.command import speedproof

import speedproof as sp
from speedproof.data.session_file import SCHEMA, Line, PlannedBenchmark, PlannedVersion, RunLine, SessionLine
from speedproof.stats.sequential import PairedSequence

GZIP = Path(__file__).parents[2] / "examples" / "gzip" / "session.jsonl"
VERSIONS = (PlannedVersion("old", ("a",), "a"), PlannedVersion("new", ("b",), "b"))


def session(name: str = "s", **more: object) -> SessionLine:
    benchmarks = (PlannedBenchmark("b", VERSIONS, {}),)
    return SessionLine(SCHEMA, name, "2026-01-01T00:00:00+00:00", 1, benchmarks, **more)  # type: ignore[arg-type]


def run(version: str, block: int, seconds: float, name: str = "s", **more: object) -> RunLine:
    return RunLine(name, "b", version, block, 0, 0.0, {"time": seconds}, **more)  # type: ignore[arg-type]


def write(path: Path, *lines: Line) -> Path:
    path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    return path


def blocks(count: int, speedup: float, seed: int = 1) -> list[tuple[float, float]]:
    noise = np.exp(0.05 * np.random.default_rng(seed).standard_normal((count, 2)))
    return [(x * speedup, y) for x, y in noise.tolist()]


def answer(path: Path) -> tuple[str, float, float, float, float]:
    c = sp.compare_suite(sp.read(path), protocols=["typical"]).results[0].headlines[0]
    return c.verdict.value, c.speedup.value, c.speedup.low, c.speedup.high, c.pvalue


def twin(pairs: list[tuple[float, float]]) -> tuple[float, float, float, float]:
    sequence = PairedSequence.of([x for x, _ in pairs], [y for _, y in pairs])
    result = sequence.result()
    return sequence.estimate(), result.low, result.high, result.pvalue_faster


@pytest.mark.parametrize("speedup", [1.0, 1.1, 0.8])
def test_a_file_is_answered_by_its_blocks(tmp_path: Path, speedup: float) -> None:
    """Against the sequence of the blocks, put together by hand: runs stand in any order within a block."""
    pairs = blocks(40, speedup)
    lines: list[Line] = []
    for i, (x, y) in enumerate(pairs):
        both = [run("old", i, x), run("new", i, y)]
        lines += both if i % 3 else both[::-1]
    found = answer(write(tmp_path / "s.jsonl", session(), *lines))
    assert found[1:] == pytest.approx(twin(pairs), rel=1e-12)


def test_only_whole_blocks_count(tmp_path: Path) -> None:
    """A block of which one run failed, or never came, is in no pair; those after it stay together."""
    pairs = blocks(30, 1.2)
    lines: list[Line] = []
    for i, (x, y) in enumerate(pairs):
        lines += [run("old", i, x, exit=1 if i == 4 else 0), run("new", i, y)]
    path = write(tmp_path / "s.jsonl", session(), *lines[:-1])
    kept = [pair for i, pair in enumerate(pairs[:-1]) if i != 4]
    assert answer(path)[1:] == pytest.approx(twin(kept), rel=1e-12)


def test_a_session_that_went_on_has_blocks_of_its_own(tmp_path: Path) -> None:
    """Both begin at block 0; the blocks of the first come first."""
    first, second = blocks(15, 1.1, 2), blocks(12, 1.1, 3)
    lines: list[Line] = [session("s")]
    lines += [run(v, i, t) for i, pair in enumerate(first) for v, t in zip(("old", "new"), pair, strict=True)]
    lines.append(session("t", resumes=("s",)))
    lines += [
        run(v, i, t, "t") for i, pair in enumerate(second) for v, t in zip(("old", "new"), pair, strict=True)
    ]
    assert answer(write(tmp_path / "s.jsonl", *lines))[1:] == pytest.approx(twin(first + second), rel=1e-12)


def test_a_number_of_runs_that_was_fixed_is_tested_once(tmp_path: Path) -> None:
    """As the same values in a file that knows no blocks; one run fewer, and it may have been stopped."""
    pairs = blocks(20, 1.1)
    head = session(options={"runs": "20"})
    lines = [run(v, i, t) for i, pair in enumerate(pairs) for v, t in zip(("old", "new"), pair, strict=True)]
    plain = sp.Suite.of_samples(
        {"b": {v: sp.sample([p[k] for p in pairs], unit="s") for k, v in enumerate(("old", "new"))}}
    )
    fixed = sp.compare_suite(plain, protocols=["typical"]).results[0].headlines[0]
    found = answer(write(tmp_path / "s.jsonl", head, *lines))
    assert found[1] == pytest.approx(fixed.speedup.value, rel=1e-12)
    assert found[1:] != pytest.approx(twin(pairs), rel=1e-6)
    cut = answer(write(tmp_path / "t.jsonl", head, *lines[:-2]))
    assert cut[1:] == pytest.approx(twin(pairs[:-1]), rel=1e-12)


def test_every_command_says_the_same_of_a_session() -> None:
    """run --review, compare, the gate's rows and Python, of a real session: verdict, estimate and bounds."""
    review = json.loads(speedproof("run", "--review", GZIP, "--json")[1])["results"]
    compared = json.loads(speedproof("compare", GZIP, "--json")[1])["results"][0]["comparisons"]
    gate = json.loads(speedproof("gate", GZIP, "--json")[1])["results"][0]["rows"]
    python = sp.compare_suite(sp.read(GZIP)).results[0].headlines
    for finding in review:
        name = finding["benchmark"]
        found = finding["comparison"]
        numbers = tuple(found["speedup"][name] for name in ("value", "low", "high"))
        (row,) = (c for c in compared if c["benchmark"] == name and c["protocol"] == "typical")
        (held,) = (r["comparison"] for r in gate if r["comparison"]["benchmark"] == name)
        (own,) = (c for c in python if c.benchmark == name)
        for c in (row, held):
            assert c["verdict"] == found["verdict"]
            assert (c["speedup"]["value"], c["speedup"]["low"], c["speedup"]["high"]) == numbers
        assert (own.speedup.value, own.speedup.low, own.speedup.high) == numbers
    sheet, again = (
        text.splitlines() for _, text, _ in (speedproof("compare", GZIP), speedproof("run", "--review", GZIP))
    )
    assert sheet[:12] == again[:12]

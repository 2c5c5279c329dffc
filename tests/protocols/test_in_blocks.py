"""What `run` looked at is answered by the test that allows for looks, wherever it is asked."""

import json
from pathlib import Path

import msgspec
import numpy as np
import pytest
from studies.sequential import sequence_of
from tests.command import speedproof

import speedproof as sp
from speedproof.data.sample import above_zero
from speedproof.data.session_file import SCHEMA, Line, PlannedBenchmark, PlannedVersion, RunLine, SessionLine
from speedproof.protocols.claims import StopRules
from speedproof.protocols.sequential import SequentialComparison

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


def runs(pairs: list[tuple[float, float]], name: str = "s", metric: str = "time") -> list[RunLine]:
    return [
        RunLine(name, "b", v, i, 0, 0.0, {"time": 1.0, metric: t})
        for i, both in enumerate(pairs)
        for v, t in zip(("old", "new"), both, strict=True)
    ]


def answer(path: Path) -> tuple[str, float, float, float, float]:
    c = sp.compare_suite(sp.read(path), protocols=["typical"]).results[0].headlines[0]
    return c.verdict.value, c.speedup.value, c.speedup.low, c.speedup.high, c.pvalue


def twin(pairs: list[tuple[float, float]]) -> tuple[float, float, float, float]:
    sequence = sequence_of([x for x, _ in pairs], [y for _, y in pairs])
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


def test_only_whole_blocks_of_all_sessions_count(tmp_path: Path) -> None:
    """One of which a run failed or never came is in no pair; a session that went on has blocks of its own."""
    first, second = blocks(30, 1.2), blocks(12, 1.1, 3)
    lines: list[Line] = [session(), *runs(first)[:-1], session("t", resumes=("s",)), *runs(second, "t")]
    lines[9] = run("old", 4, first[4][0], exit=1)
    kept = [pair for i, pair in enumerate(first[:-1]) if i != 4]
    assert answer(write(tmp_path / "s.jsonl", *lines))[1:] == pytest.approx(twin(kept + second), rel=1e-12)


def test_a_number_of_runs_that_was_fixed_is_tested_once(tmp_path: Path) -> None:
    """As the same values in a file that knows no blocks; one run fewer, and it may have been stopped."""
    pairs = blocks(20, 1.1)
    head = session(options={"runs": "20"})
    lines = runs(pairs)
    plain = sp.Suite.of_samples(
        {"b": {v: sp.sample([p[k] for p in pairs], unit="s") for k, v in enumerate(("old", "new"))}}
    )
    fixed = sp.compare_suite(plain, protocols=["typical"]).results[0].headlines[0]
    found = answer(write(tmp_path / "s.jsonl", head, *lines))
    assert found[1] == pytest.approx(fixed.speedup.value, rel=1e-12)
    assert found[1:] != pytest.approx(twin(pairs), rel=1e-6)
    cut = answer(write(tmp_path / "t.jsonl", head, *lines[:-2]))
    assert cut[1:] == pytest.approx(twin(pairs[:-1]), rel=1e-12)


def test_every_command_shows_the_same_of_a_session() -> None:
    """The sheet of run --review, of a real session, is that of compare."""
    sheet, again = (
        text.splitlines() for _, text, _ in (speedproof("compare", GZIP), speedproof("run", "--review", GZIP))
    )
    assert sheet[:12] == again[:12]


def test_equal_versions_are_the_same_in_a_file_as_in_its_session(tmp_path: Path) -> None:
    """Within 1 % without a margin; of one that is asked for, that."""
    noise = np.exp(0.01 * np.random.default_rng(1).standard_normal((200, 2))).tolist()
    suite = sp.read(write(tmp_path / "s.jsonl", session(), *runs(noise)))
    low, high = twin([(x, y) for x, y in noise])[1:3]
    assert 1 / 1.01 < low < high < 1.01
    found = sp.compare_suite(suite)
    assert str(found).startswith("new and old are the same within 1 %")
    assert [r.verdict.value for r in sp.compare_suite(suite, margin=0.001)] == ["undecided"]
    (at,) = [c.at_margin for c in sp.compare_suite(suite, margin=0.01).result.headlines if c.at_margin]
    assert max(at.not_worse, at.not_better) <= 0.05 < min(at.worse, at.better)
    path = str(tmp_path / "s.jsonl")
    assert speedproof("run", "--review", path)[1].splitlines()[0] == str(found).splitlines()[0]


@pytest.mark.parametrize("count", [10, 12])
def test_candidates_show_the_confidence_of_their_bounds(tmp_path: Path, count: int) -> None:
    """Two candidates share a risk of 1 %: bounds hold at 99.5 %, and no proven row lacks its bound or a word."""
    names = ("old", "much", "more")
    versions = tuple(PlannedVersion(name, (name,), name) for name in names)
    head = SessionLine(SCHEMA, "s", "2026-01-01T00:00:00+00:00", 1, (PlannedBenchmark("b", versions, {}),))
    noise = np.exp(0.05 * np.random.default_rng(1).standard_normal((count, 3)))
    lines = [
        run(name, i, factor * float(e))
        for i, errors in enumerate(noise)
        for name, factor, e in zip(names, (1.0, 2.0, 1.6), errors, strict=True)
    ]
    path = str(write(tmp_path / "s.jsonl", head, *lines))
    asked = ["run", "--review", path, "--alpha", ".01"]
    out, results = speedproof(*asked)[1], json.loads(speedproof(*asked, "--json")[1])["results"]
    assert "(typical run, 99.5 %)" in out.splitlines()[0]
    heads = [c for result in results for c in result["comparisons"] if c["protocol"] == "typical"]
    for c in heads:
        assert (c["alpha"], c["speedup"]["confidence"]) == (0.005, 0.995)
        row = next(line for line in out.splitlines() if c["candidate"]["label"] in line.split())
        assert ("size not proven" in row) == (c["verdict"] == "slower" and c["speedup"]["high"] is None)
    # Of versions that are measured as often as each other the medians are those of the same blocks.
    unequal = str(
        write(tmp_path / "more.jsonl", head, *lines, run("old", count, 1.0), run("much", count, 2.0))
    )
    for file, said in ((path, False), (unequal, True)):
        assert ("medians of all runs" in speedproof("compare", file)[1]) is said
    compared = json.loads(speedproof("compare", path, "--confidence", ".99", "--json")[1])["results"]
    rows = [c for r in compared for c in r["comparisons"] if c["protocol"] == "typical"]
    told = ("alpha", "verdict", "speedup", "pvalue", "needed")
    assert [{k: c.get(k) for k in told} for c in rows] == [{k: c.get(k) for k in told} for c in heads]


def test_a_clock_that_has_not_moved_is_below_its_unit(tmp_path: Path) -> None:
    """Zeros of user time are in their blocks, as half a microsecond; a session does not end for one."""
    times = np.round(0.008 * np.exp(0.1 * np.random.default_rng(3).standard_normal((60, 2))), 6)
    times[[5, 20], [0, 1]] = 0.0
    path = write(tmp_path / "s.jsonl", session(), *runs(times.tolist(), metric="user"))
    (head,) = sp.compare_suite(sp.read(path), metric="user", protocols=["typical"]).results[0].headlines
    filled = [(x or 5e-7, y or 5e-7) for x, y in times.tolist()]
    assert head.speedup.value == pytest.approx(twin(filled)[0])
    assert above_zero(0.0, 1.0) == 0.0  # a metric of one's own may mean it
    race = SequentialComparison("b", ["old", "new"], StopRules(0.05), metric="user")
    for x, y in times.tolist():
        race.add({"old": x, "new": y})
    assert race.findings()[0].result.low == pytest.approx(head.speedup.low)

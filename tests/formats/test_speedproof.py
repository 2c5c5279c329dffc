"""The reader of the runner's own files."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

import speedproof as sp
from speedproof.data.sample import Trait
from speedproof.data.session_file import (
    SCHEMA,
    EndLine,
    Line,
    PlannedBenchmark,
    PlannedVersion,
    RunLine,
    SessionLine,
)
from speedproof.data.suite import Record, Skipped
from speedproof.data.units import Direction
from speedproof.errors import FormatError
from speedproof.formats import detect, read
from speedproof.options import SESSION_ASKS, SessionAsked

VERSIONS = (PlannedVersion("old", ("a",), "a"), PlannedVersion("new", ("b",), "b"))


def session(name: str, host: str = "h1") -> SessionLine:
    return SessionLine(
        SCHEMA, name, "2026-01-01T00:00:00+00:00", 1, (PlannedBenchmark("b n=1", VERSIONS, {"n": "1"}),),
        units={"score": ("ops/s", "higher")}, environment={"host": host, "load": "0.1"},
    )  # fmt: skip


def run(name: str, version: str, block: int, value: float, **more: object) -> RunLine:
    metrics = {"time": value, "score": 1 / value}
    return RunLine(name, "b n=1", version, block, 0, 0.0, metrics, **more)  # type: ignore[arg-type]


def write(path: Path, *lines: Line | bytes) -> Path:
    path.write_bytes(b"\n".join(x if isinstance(x, bytes) else msgspec.json.encode(x) for x in lines) + b"\n")
    return path


def records(path: Path) -> list[Record]:
    return [item for item in read(path) if isinstance(item, Record)]


def test_every_metric_is_a_record_in_the_order_of_the_plan(tmp_path: Path) -> None:
    """The reference comes first although the candidate ran first; units and directions are as stored."""
    runs = [run("s", "new", 0, 1.0), run("s", "old", 0, 2.0), run("s", "old", 1, 4.0)]
    warm = run("s", "old", 0, 9.0, warmup=True)
    path = write(tmp_path / "r.jsonl", session("s"), warm, *runs, EndLine("s", "decided"))
    assert detect(path).name == "speedproof"
    found = [r for r in records(path) if r.metric == "time"]
    told = [(r.version, r.values.tolist(), r.unit) for r in found]
    assert told == [("old", [2.0, 4.0], "s"), ("new", [1.0], "s")]
    assert found[0].traits == {Trait.ORDER_KNOWN, Trait.RANDOM_ORDER, Trait.WARMUP_REMOVED, Trait.NANO}
    asks = {SESSION_ASKS: '{"decide_by":"time"}'}
    assert dict(found[0].fields) == {"session": "s", "host": "h1", "n": "1", **asks}
    (score,) = (r for r in records(path) if r.metric == "score" and r.version == "new")
    assert (score.unit, score.direction) == ("ops/s", Direction.HIGHER)
    alone = replace(session("s"), benchmarks=(PlannedBenchmark("b n=1", VERSIONS[:1], {}),))
    write(path, alone, runs[1], EndLine("s", "decided"))
    assert all(Trait.RANDOM_ORDER not in r.traits for r in records(path)), "there is nothing to order"


def test_files_of_a_session_are_asked_what_the_session_asked(tmp_path: Path) -> None:
    """Of sessions that were to decide different things, or with runs of no session, the usual question is left."""
    options = {"decide_by": '"score:p90"', "margin": "0.05", "alpha": "0.1"}
    lines = [
        run(name, version, block, 1.0 + block)
        for name in ("s", "t")
        for version in ("old", "new")
        for block in range(9)
    ]
    one = write(tmp_path / "one.jsonl", replace(session("s"), options=options), *lines[:18])
    both = write(tmp_path / "both.jsonl", replace(session("s"), options=options), session("t"), *lines)
    suite, pooled = sp.read(one), sp.read(both)
    assert suite.question == SessionAsked("score:p90", 0.05, 0.9)
    assert (suite.main_metric, pooled.main_metric) == ("score", "time")
    other = tmp_path / "other.csv"
    other.write_text("version,benchmark,value,unit\nold,b n=1,1,s\nnew,b n=1,2,s\n")
    assert sp.read(f"{one},{other}").question == SessionAsked("time")
    (c,) = sp.compare_suite(suite).results[0].headlines
    assert (c.protocol, c.metric, c.alpha) == ("p90", "score", 0.1)
    (c,) = sp.compare_suite(suite, protocols="mean", confidence=0.99).results[0].headlines
    assert (c.protocol, c.metric, c.alpha) == ("mean", "score", 0.01)
    ((row, c),) = sp.gate(suite).decision.judged
    assert (c.protocol, row.demand.margin) == ("p90", 0.05)
    assert sp.gate(suite).decision.rules.alpha == 0.1
    ((row, c),) = sp.gate(pooled).decision.judged
    assert (c.protocol, row.metric, row.demand.margin) == ("typical", "time", 0.02)


@pytest.mark.parametrize(("options", "asked", "held"), [
    ({"policy": '"proven-improvement"'}, {}, ("proven-improvement", 0.02)),
    ({"policy": '"proven-improvement"', "margin_of": '["b*=7%"]'}, {}, ("proven-improvement", 0.07)),
    ({"policy_of": '["*=proven-improvement","b ?=1=no-regression"]'}, {}, ("no-regression", 0.02)),
    ({"policy": '"proven-improvement"'}, {"policy": "equivalence"}, ("equivalence", 0.02)),
    ({"margin": "0.1"}, {"margin": 0.3}, ("no-regression", 0.3)),
    ({"margin_of": '["b n=1=7%"]', "margin": "0.1"}, {"margin": 0.3}, ("no-regression", 0.07)),
    ({"policy_of": '["b n=1=no-policy"]', "margin": "0.1"}, {}, ("no-regression", 0.1)),  # damaged
])  # fmt: skip
def test_a_gate_of_a_session_holds_it_to_its_policy(
    tmp_path: Path, options: dict[str, str], asked: dict[str, Any], held: tuple[str, float]
) -> None:
    """The last pattern counts; what is asked of the file comes before the session's, a pattern before both."""
    lines = [run("s", version, block, 1.0 + block) for version in ("old", "new") for block in range(9)]
    suite = sp.read(write(tmp_path / "r.jsonl", replace(session("s"), options=options), *lines))
    (row,) = sp.gate(suite, **asked).decision.rows
    assert (row.demand.policy, row.demand.margin) == held


def test_what_is_sound_of_a_damaged_header_is_asked(tmp_path: Path) -> None:
    """One pattern without a value costs that pattern's option alone, and is said."""
    options = {"decide_by": '"score"', "confidence": "0.99", "margin": "7", "policy_of": '["b*"]'}
    path = write(tmp_path / "r.jsonl", replace(session("s"), options=options), run("s", "old", 0, 1.0))
    assert sp.read(path).question == SessionAsked("score", confidence=0.99)
    assert any("policy-of b*" in str(item) for item in read(path) if isinstance(item, Skipped))
    assert "was killed" in records(path)[0].notes[0]  # it has no last line
    # A field of another tool asks nothing.
    (path := tmp_path / "a.csv").write_text(
        f"version,benchmark,time,{SESSION_ASKS}\nold,b,1,Bob\nnew,b,2,Bob\n"
    )
    assert sp.read(path).question == SessionAsked("time")


def test_without_its_first_line_nothing_of_a_session_is_proven(tmp_path: Path) -> None:
    """The lines still tell blocks and order, so the bounds are those of the whole file."""
    lines = [
        run("s", v, k, seconds + k / 1e6) for k in range(20) for v, seconds in (("old", 0.9), ("new", 0.5))
    ]
    whole, cut = (
        sp.read(write(tmp_path / f"{head!s:.1}.jsonl", *head, *lines)) for head in ([session("s")], [])
    )
    (one,), (two,) = (sp.compare_suite(suite, reference="old").results[0].headlines for suite in (whole, cut))
    assert (one.certified, one.test) == (two.certified, two.test)
    assert (one.proven_verdict, two.proven_verdict) == (sp.Verdict.FASTER, sp.Verdict.UNDECIDED)
    assert two.verdict is sp.Verdict.FASTER
    assert [sp.gate(suite).outcome.value for suite in (whole, cut)] == ["pass", "undecided"]


def test_what_is_left_out_is_said(tmp_path: Path) -> None:
    lines = [
        run("s", "old", 0, 1.0, warmup=True), run("s", "old", 0, 1.0, exit=3),
        run("s", "old", 1, 1.0, exit=-9), run("s", "old", 2, 1.0, timed_out=True), run("nobody", "old", 0, 1.0),
        run("s", "old", 3, 1.0, left_behind=2),
    ]  # fmt: skip
    path = write(tmp_path / "r.jsonl", session("s"), *lines, b'{"type":"run","session":"s","bench')
    skipped = [item for item in read(path) if isinstance(item, Skipped)]
    unread = "no readable header of session 'nobody'"
    for part in ("warm-up", "exit code 3", "signal 9", "timed out", unread, "cut off"):
        assert sum(part in item.reason for item in skipped) == 1, part
    assert [item.expected for item in skipped if "warm-up" in item.reason] == [True]
    (note,) = (
        note for r in records(path) if r.metric == "time" for note in r.notes if "left processes" in note
    )
    assert note.startswith("1 run ")
    assert [r.values.tolist() for r in records(path) if r.metric == "time"] == [[1.0], [1.0]]


def test_a_program_that_was_replaced_between_sessions_is_two(tmp_path: Path) -> None:
    """Of one name, but of another content in a later session of the file; the other version stays one program."""
    files = {"s": {"/w/a": "sha256:1", "/w/b": "sha256:2"}, "t": {"/w/a": "sha256:1", "/w/b": "sha256:3"}}
    built = [replace(session(name), files=of) for name, of in files.items()]
    path = write(tmp_path / "r.jsonl", *built, *(run(s, v, 0, 1.0) for s in "st" for v in ("old", "new")))
    assert [r.version for r in records(path) if Trait.TWO_PROGRAMS in r.traits and r.metric == "time"] == [
        "new"
    ] * 2


def test_newer_files_and_those_cut_in_the_header_are_refused_and_newer_members_ignored(
    files: Path, tmp_path: Path
) -> None:
    path = write(
        tmp_path / "r.jsonl",
        msgspec.json.encode(session("s")).replace(b'"seed":1', b'"seed":1,"news":true'),
        run("s", "old", 0, 1.0),
    )
    assert len(records(path)) == 2
    newer = write(
        tmp_path / "n.jsonl", msgspec.json.encode(session("s")).replace(b'"schema":1', b'"schema":2')
    )
    with pytest.raises(FormatError, match="line 1: schema 2 is newer"):
        list(read(newer))
    newer.write_bytes((files / "speedproof.jsonl").read_bytes()[:300])
    with pytest.raises(FormatError, match=r"holds no session of 'speedproof run': line 1: .*cut off"):
        list(read(newer))

"""A session's file that somebody edited, or a disk damaged: an error with its place, and no value lost."""

import json
import re
from collections.abc import Iterator
from itertools import islice, product
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.command import speedproof as run
from tests.formats.reading import places

from speedproof.data.session_file import (
    SCHEMA,
    EndLine,
    PlannedBenchmark,
    PlannedVersion,
    RunLine,
    SessionLine,
    decode_lines,
    options_stored,
    read_sessions,
)
from speedproof.data.suite import Record
from speedproof.errors import FormatError
from speedproof.formats import read
from speedproof.measuring_options import Measuring

VERSIONS = tuple(PlannedVersion(v, ("true", "x"), "true x", {"A": "1"}) for v in ("old", "new"))
PLAN = tuple(PlannedBenchmark(name, VERSIONS, {"n": "1"}) for name in ("b n=1", "c"))
HEAD = SessionLine(
    SCHEMA, "s", "2026-01-01T00:00:00+00:00", 1, PLAN,
    {"score": ("ops/s", "higher"), "cycles": ("cycles", "lower")},
    options_stored(Measuring(metric=("score:ops/s=(.+)",), margin=0.02, perf="cycles")),
    {"host": "h", "load": "0.1"}, ("the load is high",), {"/no/such/file": "sha256:00"},
)  # fmt: skip
RUNS = [
    RunLine("s", b.name, v.name, i, p, 0.1 * i, {"time": 1.0 + 0.01 * i + p, "score": 5.0 + p})
    for b, i, (p, v) in product(PLAN, range(8), enumerate(VERSIONS))
]
END = EndLine("s", "8 runs of each version were allowed")
JUNK: tuple[Any, ...] = (
    None, True, -1, 0, 10**400, 1.5, "", "x", "\0", [], {}, [[]], ["x", "x"], {"x": "x"}, "null", "[", "-1",
    '{"a":1}', '"nan"',
)  # fmt: skip


def lines(head: bytes) -> bytes:
    return b"\n".join([head, *(msgspec.json.encode(line) for line in (*RUNS, END)), b""])


def damaged() -> Iterator[tuple[str, bytes]]:
    """Every member replaced by every junk, deleted, doubled; and the line cut at many places."""
    sound = msgspec.json.encode(HEAD)
    for number, _ in enumerate(places(json.loads(sound))):
        for junk in (*JUNK, "delete", "double"):
            changed = json.loads(sound)
            here, parent, key = next(islice(places(changed), number, None))
            if junk == "delete":
                del parent[key]
            elif junk == "double" and isinstance(parent, list):
                parent.append(parent[key])
            else:
                parent[key] = junk
            yield f"{here}: {junk!r:.20}", json.dumps(changed, separators=(",", ":")).encode()
    for cut in range(1, len(sound), 97):
        yield f"cut at {cut}", sound[:cut]
    yield "deep", sound[:-1] + b',"x":' + b"[" * 100_000 + b"}"


ALL = list(damaged())


def speedproof(*argv: str) -> tuple[int, str]:
    code, _, err = run(*argv)
    return code, err


def test_no_header_costs_a_time() -> None:
    """Whatever is wrong with the header, all times are read, by version in the order that the plan had."""
    for what, head in ALL:
        if b'"schema":10' in head:
            continue  # a newer schema is refused as a whole
        runs = [line for _, line in decode_lines("f", lines(head).splitlines()) if isinstance(line, RunLine)]
        assert runs == RUNS, what


def test_compare_reads_the_times(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    for what, head in ALL[::40]:
        if b'"schema":10' in head:
            continue
        path.write_bytes(lines(head))
        times = [item for item in read(path, format="speedproof") if isinstance(item, Record)]
        assert sum(item.values.size for item in times if item.metric == "time") == len(RUNS), what


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
def test_a_damaged_header_is_an_error_with_its_place(
    part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looked at again or gone on with: the file, the line and the field are named, and nothing is run."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "r.jsonl"
    for number, (what, head) in enumerate(ALL[part * 7 :: 56]):
        path.write_bytes(lines(head))
        words = ("--review",) if number % 3 else ("--max-runs", "8", "--resume")
        code, err = speedproof("run", *words, "r.jsonl")
        assert code in (0, 2), (what, err)
        _, found = _read(path)
        if found:
            assert code == 2, what
            assert "r.jsonl: line 1: " in err or "newer" in err or "no readable header" in err, (what, err)


def _read(path: Path) -> tuple[int, bool]:
    try:
        sessions, _ = read_sessions("f", path.read_bytes().splitlines())
    except FormatError:
        return 0, True
    return len(sessions), bool(sessions[-1].damage)


def test_a_sound_header_has_no_damage() -> None:
    (session,), unusable = read_sessions("f", lines(msgspec.json.encode(HEAD)).splitlines())
    assert (session.head, session.damage, unusable) == (HEAD, (), [])
    assert session.options == Measuring(metric=("score:ops/s=(.+)",), margin=0.02, perf="cycles")


@pytest.mark.parametrize(("old", "new", "message"), [
    (b'"started":"2026', b'"started":"x2026', "line 1: started: 'x2026-01-01T00:00:00+00:00' is no date"),
    (b'"seed":1', b'"seed":-1', "line 1: seed: expected int >= 0"),
    (b'"seed":1,', b"", "line 1: seed: is missing"),
    (b'"name":"new"', b'"name":7', "line 1: benchmarks[0].versions[1].name: expected str, got int"),
    (b'"name":"new"', b'"name":"old"', "line 1: benchmarks[0].versions: the name 'old' is given twice"),
    (b'"higher"', b'"up"', "line 1: units: 'up' is no direction of 'score': lower or higher"),
    (b'"margin":"0.02"', b'"margin":"2"', "line 1: options.margin: expected float < 1.0"),
    (b'"alpha":"null"', b'"alpha":"[["', "line 1: options.alpha: input data was truncated"),
    (b'"name":"c"', b'"name":"b n=1"', "line 1: benchmarks: the name 'b n=1' is given twice"),
    (b'["true","x"]', b'["","x"]', "line 1: benchmarks[0].versions[0].command: names no program"),
    (b'{"A":"1"}', b'{"A=":"1"}', "line 1: benchmarks[0].versions[0].env: has a name that no variable can have"),
    (b'{"A":"1"}', b'{"":"1"}', "line 1: benchmarks[0].versions[0].env: has a name that no variable can have"),
    *((old, new, "line 1: benchmarks[0].versions[0]: holds a NUL character") for old, new in (
        (b'"true x"', b'"\\u0000"'), (b'["true","x"]', b'["true","\\u0000"]'), (b'{"A":"1"}', b'{"A":"\\u0000"}'),
    )),
    (b'"seed":1', b'"seed":1,"resumes":["s"]', "line 1: resumes: names a session twice"),
    (b'"seed":1', b'"seed":1,"resumes":["t","t"]', "line 1: resumes: names a session twice"),
])  # fmt: skip
def test_the_field_is_named(old: bytes, new: bytes, message: str) -> None:
    head = msgspec.json.encode(HEAD)
    assert old in head
    (session,), _ = read_sessions("f", lines(head.replace(old, new, 1)).splitlines())
    assert str(session.damage[0]).lower().startswith(message.lower())
    assert len(session.runs) == len(RUNS)
    more = f" (and {len(session.damage) - 1} more)" if len(session.damage) > 1 else ""
    with pytest.raises(
        FormatError, match=re.escape(f"{more}; its runs can still be read: speedproof compare f")
    ) as error:
        session.check("f")
    assert (error.value.path, error.value.where) == ("f", f"line 1: {session.damage[0].field}")


def test_runs_without_a_header_are_a_session() -> None:
    """Which is said once; a session that went on with others is of the experiment of the first."""
    (session,), unusable = read_sessions("f", lines(b"").splitlines())
    assert (session.runs, session.end, unusable) == (tuple(RUNS), END, [])
    (damage,) = session.damage
    assert str(damage) == "line 2: session: no readable header of session 's' before it"
    assert [msgspec.structs.replace(HEAD, resumes=of).experiment for of in ((), ("r", "q"))] == ["s", "r"]


def test_values_of_unknown_direction_are_left_out(tmp_path: Path) -> None:
    """Without the units of a session's own metrics nobody knows which value is good."""
    path = tmp_path / "r.jsonl"
    path.write_bytes(lines(msgspec.json.encode(HEAD).replace(b'"higher"', b'"up"')))
    assert {item.metric for item in read(path) if isinstance(item, Record)} == {"time"}


def test_a_file_joined_with_itself_counts_once() -> None:
    whole = lines(msgspec.json.encode(HEAD))
    other = whole.replace(b'"s"', b'"t"')
    (session, after), unusable = read_sessions("f", (whole + whole + other).splitlines())
    assert list(session.runs) == RUNS
    assert len(after.runs) == len(RUNS)
    assert [damage.message for damage in unusable] == [
        "session 's' is in the file twice; its lines count once"
    ]


def calibration(*versions: str, **metrics: float) -> bytes:
    plan = (PlannedBenchmark("calibration", tuple(PlannedVersion(v, ("true",), "true") for v in versions)),)
    head = msgspec.structs.replace(HEAD, benchmarks=plan, options=options_stored(Measuring(calibrate=True)))
    runs = [RunLine("s", "calibration", v, i, 0, 0.1, metrics) for i in range(3) for v in versions]
    return b"\n".join(msgspec.json.encode(line) for line in (head, *runs))


def test_a_calibration_is_one_command_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another number of versions is damage with its place; runs without a time are no reason to crash."""
    monkeypatch.chdir(tmp_path)
    Path("s.jsonl").write_bytes(calibration("A", time=1.0))
    code, err = speedproof("run", "--review", "s.jsonl")
    assert (code, "line 1: benchmarks" in err) == (2, True), err
    assert "one command twice" in err
    Path("s.jsonl").write_bytes(calibration("A", "A again", user=1.0))
    assert speedproof("run", "--review", "s.jsonl")[0] == 2
    # A plan for builds has builds.
    head = msgspec.structs.replace(HEAD, options=options_stored(Measuring(plan=True, builds=3, runs=5)))
    (tmp_path / "s.jsonl").write_bytes(lines(msgspec.json.encode(head)))
    code, err = speedproof("run", "--review", str(tmp_path / "s.jsonl"))
    assert (code, "line 1: benchmarks" in err) == (2, True), err

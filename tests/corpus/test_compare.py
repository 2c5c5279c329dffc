"""Comparing a corpus gives what comparing its files gives, whoever works on it and whatever happens meanwhile."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import astuple, replace

import speedproof as sp
from speedproof.corpus import answers as answering
from speedproof.corpus import compare as comparing
from speedproof.corpus.answers import How
from speedproof.corpus.compare import Asked, compare, pairs_in_file
from speedproof.corpus.engine import run
from speedproof.corpus.read import query
from speedproof.data.record import FileResults, Record
from speedproof.errors import FormatError, SpeedproofError, UsageError
from speedproof.options import DETAILS
from speedproof.protocols.pair import Rules
from speedproof.protocols.results import Verdict
from speedproof.reporting.numbers import pvalue

Results = list[tuple[str, FileResults]]
Make = Callable[..., Results]
Put = Callable[[Results, Path], Path]


@pytest.fixture
def corpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_leaves: None, made_up: Make, put: Put
) -> Path:
    """Sixty benchmarks in three versions, in several parts."""
    monkeypatch.setattr("speedproof.corpus.read.TASK", 40)
    return put(made_up(60, 3, n=12), tmp_path / "c")


def answers(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in sorted(folder.glob("part-*.parquet"))}


@pytest.mark.parametrize(
    ("which", "benchmarks"),
    [(None, 8), ("consecutive", 6), *(pytest.param(of, 60, marks=pytest.mark.slow) for of in (None, "all"))],
)
def test_against_comparing_the_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made_up: Make, put: Put, which: Any, benchmarks: int
) -> None:
    """Every comparison, and what each pair of versions sums up to; of one pair the corrections, too."""
    for limit in ("build.ROWS", "read.TASK"):
        monkeypatch.setattr(f"speedproof.corpus.{limit}", 2 * benchmarks // 3)
    corpus = put(made_up(benchmarks, 3, n=12), tmp_path / "c")
    asked: dict[str, Any] = {
        "rules": Rules(margin=0.05),
        "protocols": ("typical",) if benchmarks == 6 else DETAILS,
    }
    pairs = {None: ["v0v1"], "all": ["v0v1", "v0v2", "v1v2"], "consecutive": ["v0v1", "v1v2"]}[which]
    expected = {}
    for two in ((pair[:2], pair[2:]) for pair in pairs):
        suite = sp.read(corpus, where=f"metric = 'time' AND version IN {two}")
        expected[two] = sp.compare_suite(suite, **asked).result
    versions = () if which else ("v0", "v1")
    c = sp.Corpus(corpus).compare(*versions, pairs=which, out=tmp_path / "a", workers=1, **asked).conclusion
    assert (c.versions, c.parts > 3) == (len(pairs), True)
    table = query(tmp_path / "a", "FROM answers").to_pylist()
    by_place = {
        tuple(row[name] for name in ["reference", "candidate", "benchmark", "protocol"]): row for row in table
    }
    assert len(by_place) == len(table) == sum(len(of.comparisons) for of in expected.values())
    names = "speedup low high pvalue pvalue_slower reference_median"
    for two, of in expected.items():
        for one in of.comparisons:
            row = by_place[*two, one.benchmark, one.protocol]
            assert row["verdict"] == one.verdict.value
            other = (one.speedup.value, one.certified.low, one.certified.high, one.pvalue, one.pvalue_slower,
                     one.reference.median)  # fmt: skip
            # Kernels round the last bit by how many pairs they are given at a time.
            own = [row[name] for name in names.split()]
            assert own == pytest.approx(other, rel=1e-12, nan_ok=True), one.benchmark
            assert row["failed"] == [check.kind.value for check in one.failed_checks]
    for shown in c.clearest:
        of = expected[shown.reference.label, shown.candidate.label]
        place = shown.benchmark, shown.protocol
        (one,) = (one for one in of.comparisons if (one.benchmark, one.protocol) == place)
        assert astuple(shown.speedup) == pytest.approx(astuple(one.certified), rel=1e-12)
        for own_side, side in ((shown.reference, one.reference), (shown.candidate, one.candidate)):
            assert (own_side.n, own_side.median, own_side.mean) == pytest.approx(
                (side.n, side.median, side.mean)
            )
    for protocol, counts in c.counts.items():
        told = [one.verdict for of in expected.values() for one in of.comparisons if one.protocol == protocol]
        assert counts == {v: told.count(v) for v in Verdict}
    assert [two for *two, _ in c.wholes] == [[*two] for two in expected]
    for (*_, whole), of in zip(c.wholes, expected.values(), strict=True):
        for name in ("these", "like_these"):
            a, b = (getattr(one.geometric_means, name) for one in (whole, of))
            assert (a.value, a.low, a.high) == pytest.approx((b.value, b.low, b.high), rel=1e-12)
        assert [g.speedup for _, g in whole.overall] == pytest.approx([g.speedup for _, g in of.overall])
        caveats = [{(k.kind, k.versions, len(k.benchmarks)) for k in one.caveats} for one in (whole, of)]
        assert caveats[0] == caveats[1]
    if which:
        return
    (result,) = expected.values()
    controlled = {(joint.protocol, joint.method): joint for joint in result.controlled}
    for joint in c.joint:
        other_joint = controlled[joint.protocol, joint.method]
        assert joint.family == other_joint.family
        assert joint.counts == {v: other_joint.count(v) for v in joint.counts}
    assert dict(c.accelerated) == dict(result.accelerated)
    pvalues = [(h.pvalue_candidate, h.pvalue_reference) for h in (c.hpt, result.hpt) if h is not None]
    assert len(pvalues) == 2
    assert pvalues[0] == pvalues[1]
    assert c.machine is result.machine is None


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "unit"), [(1, "s"), (2, "B/s"), (3, "s"), (4, "B/s")])
def test_the_r_speedup_is_that_of_exact_arithmetic(tmp_path: Path, put: Put, seed: int, unit: str) -> None:
    """Against rational numbers, for few and many runs, ties and none, and either version ahead."""
    rng = np.random.default_rng(seed)
    records = []
    for b in range(40):
        factor = float(rng.choice([0.8, 0.9, 0.97, 1.0] if seed < 3 else [1.0, 1.05, 1.2]))
        for version, of in (("a", 1.0), ("b", factor)):
            values = np.round((10 + rng.normal(0, 0.4, rng.integers(2, 14))) * of, 1 if seed % 2 else 15)
            records.append(Record(f"b{b}", values, unit=unit, version=version, path="f"))
    corpus = sp.Corpus(put([("", FileResults("f", tuple(records)))], tmp_path / "c"))
    found = corpus.compare("a", "b", protocols=DETAILS, workers=1).conclusion.hpt
    expected = sp.hpt(corpus.read()).result
    assert found is not None
    assert (found.winner, found.confidence) == (expected.winner, expected.confidence)
    for own, exact in zip(found.speedups, expected.speedups, strict=True):
        assert own.certified == pytest.approx(exact.certified, rel=2e-6)
        assert own.hundredth == exact.hundredth


@pytest.mark.parametrize("unit", ["s", "B/s"])
def test_a_machine_of_two_speeds_is_named(tmp_path: Path, put: Put, unit: str) -> None:
    """The factor and the speedup that the data were made with, as for files, and in the same sentence."""
    rng = np.random.default_rng(5)
    records = []
    for b in range(20):
        for version, level in (("old", 1.0), ("new", 1 / 1.1)):
            slow = rng.permutation(np.arange(12) < rng.integers(3, 10))
            times = level * np.where(slow, 2.0, 1.0) * np.exp(0.02 * rng.standard_normal(12))
            values = times if unit == "s" else 1 / times
            records.append(Record(f"b{b}", values, unit=unit, version=version, path="f"))
    corpus = sp.Corpus(put([("", FileResults("f", tuple(records)))], tmp_path / "c"))
    found = corpus.compare("old", "new", workers=1)
    machine, direct = found.conclusion.machine, sp.compare_suite(corpus.read())
    assert machine == direct.result.machine
    assert machine is not None
    assert (machine.factor, machine.speedup.value) == pytest.approx((2.0, 1.1), rel=0.01)
    said = [re.search("Both versions ran at .*? new is 1[.]10x faster \\[1[.]09x, 1[.]1", " ".join(str(r).split()))
            for r in (found, direct)]  # fmt: skip
    assert said[0]
    assert said[1]
    assert said[0][0] == said[1][0]
    lines = str(found).splitlines()
    assert len(lines) <= 32
    assert max(map(len, lines)) <= 80


@pytest.mark.slow
@pytest.mark.parametrize("pairs", [None, "consecutive"])
def test_a_page_draws_the_largest_changes(corpus: Path, tmp_path: Path, pairs: Any) -> None:
    """Each row with the samples, the test and the verdict of its own pair of versions."""
    versions = () if pairs else ("v0", "v2")
    found = sp.Corpus(corpus).compare(*versions, pairs=pairs, where="benchmark > 'bench/00010'", workers=1)
    (report,) = found.written().reports
    rows = report.tables[-1].rows
    assert [row.name for row in rows] == [c.benchmark for c in found.conclusion.clearest]
    for row, c in zip(rows, found.conclusion.clearest, strict=True):
        assert row.panel is not None
        assert row.panel["labels"] == [c.reference.label, c.candidate.label]
        assert row.panel["tests"][0][2:] == [pvalue(c.pvalue), pvalue(c.pvalue_slower)]
        assert len(row.panel["drawn"]["samples"]) == 2
    sp.report(found, tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text().count("data-panel=") == len(rows)


@pytest.mark.slow
def test_one_process_two_processes_any_order(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files of answers are the same, byte by byte, and so is the whole."""
    asked = Asked((("v0", "v1"),), "time")
    compare(corpus, asked, How(tmp_path / "1", workers=1))
    compare(corpus, asked, How(tmp_path / "2", workers=2))
    backwards = lambda work, tasks, **how: run(work, tasks[::-1])  # noqa: E731
    monkeypatch.setattr(answering, "run", backwards)
    compare(corpus, asked, How(tmp_path / "3"))
    assert answers(tmp_path / "1")
    assert answers(tmp_path / "1") == answers(tmp_path / "2") == answers(tmp_path / "3")


@pytest.mark.slow
def test_what_is_done_is_not_done_again(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Asked("consecutive", "time")
    whole = compare(corpus, asked, How(tmp_path / "whole"))
    real, calls = comparing.compare_part, 0

    def dying(task: Any) -> int:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise KeyboardInterrupt
        return real(task)

    monkeypatch.setattr(comparing, "compare_part", dying)
    with pytest.raises(KeyboardInterrupt):
        compare(corpus, asked, How(tmp_path / "cut"))
    assert len(answers(tmp_path / "cut")) == 2
    calls = 10
    seen = []
    compare(corpus, asked, How(tmp_path / "cut", started=lambda parts, there: seen.append((parts, there))))
    assert (seen, calls) == ([(whole.parts, 2)], 10 + whole.parts - 2)
    assert answers(tmp_path / "cut") == answers(tmp_path / "whole")
    with pytest.raises(UsageError, match="answers to another question"):
        compare(corpus, replace(asked, metric="memory"), How(tmp_path / "cut"))


def test_a_damaged_part_is_named_and_the_rest_goes_on(corpus: Path, tmp_path: Path) -> None:
    file = sorted((corpus / "data").rglob("*.parquet"))[3]
    content = file.read_bytes()
    third = len(content) // 3
    file.write_bytes(
        content[:third] + bytes(byte ^ 0xFF for byte in content[third:-third]) + content[-third:]
    )
    found = compare(corpus, Asked("all", "time"), How(tmp_path / "a"))
    assert len(found.failures) == 1
    assert str(file) in found.failures[0]
    assert len(found.files) == found.parts - 1
    file.unlink()
    assert "damaged or gone" in compare(corpus, Asked("all", "time"), How(tmp_path / "a")).failures[0]


def test_pairs_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "pairs.csv").write_text("reference,candidate\nv2, v0\n\nv2,v0\n")
    assert pairs_in_file(str(tmp_path / "pairs.csv")) == (("v2", "v0"),)
    (tmp_path / "bad.csv").write_text("v2\n")
    with pytest.raises(UsageError, match="line 1: name two versions"):
        pairs_in_file(str(tmp_path / "bad.csv"))


@pytest.mark.slow
@pytest.mark.parametrize(("asked", "message"), [
    ({"reference": "v9", "candidate": "v1"}, "there is no version v9; available: v0, v1, v2"),
    ({"reference": "v1", "candidate": "v1"}, "not compared with itself"),
    ({"reference": "v1"}, "name two versions"),
    ({"pairs": "all", "metric": "energy"}, "there is no metric energy"),
    ({"pairs": "all", "where": "foo > 1"}, "there is no column foo"),
])  # fmt: skip
def test_wrong_questions(corpus: Path, asked: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        sp.Corpus(corpus).compare(**asked, workers=1)


def test_mixed_units_are_said(tmp_path: Path, made_up: Make, put: Put) -> None:
    """Units that differ between versions of a benchmark are never compared, and named."""
    ((label, first), *rest) = made_up(20)
    records = tuple(
        replace(r, unit="B/s", metric="time") if i == 3 else r for i, r in enumerate(first.records)
    )
    folder = put([(label, replace(first, records=records)), *rest], tmp_path / "c")
    found = sp.Corpus(folder).compare("v0", "v1", workers=1)
    seen = found.conclusion.wholes[0][2].seen
    assert seen.incomparable == 1
    assert "they cannot be compared" in seen.problems[0]
    assert "Left out: " in str(found)


def _work(task: tuple[int, str]) -> int:
    number, folder = task
    if number == 3:
        raise FormatError("x.parquet", "", "the file is damaged")
    if number == 2:
        mark = Path(folder, f"tried{len(list(Path(folder).iterdir()))}")
        mark.touch()
        if mark.name == "tried0":
            os.kill(os.getpid(), signal.SIGKILL)
    if number == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return number * number


@pytest.mark.slow
def test_killed_workers_lose_nothing(tmp_path: Path) -> None:
    """One task is killed once and comes again, one is killed always and is named, one finds a damaged file."""
    found = list(run(_work, [(i, str(tmp_path)) for i in range(6)], workers=2))
    assert sorted(v for v in found if not isinstance(v, SpeedproofError)) == [0, 4, 16, 25]
    killed, damaged = sorted(str(v) for v in found if isinstance(v, SpeedproofError))
    assert killed.startswith("(1, ")
    assert "killed" in killed
    assert damaged == "x.parquet: the file is damaged"


@pytest.mark.slow
def test_a_script_needs_no_guard(tmp_path: Path) -> None:
    """Workers do not carry the caller's script out again."""
    script = tmp_path / "script.py"
    script.write_text(
        "from speedproof.corpus.engine import run\n"
        "print(sorted(run(eval, ['1 + 1', '__import__(\"pyarrow\").array([1]).sum().as_py()'], workers=2)))\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[1, 2]\n", "")


@pytest.mark.slow
def test_workers_end_with_their_parent() -> None:
    """After kill -9 of the command nobody holds its output any more."""
    code = "import time; from speedproof.corpus.engine import run; list(run(time.sleep, [0, 600, 600], workers=2))"
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    time.sleep(3.0)
    parent.kill()
    assert parent.communicate(timeout=60)[0] == b""


def _same(task: int) -> int:
    return task


def test_ctrl_c_keeps_what_was_under_way() -> None:
    outcomes: Iterator[Any] = run(_same, list(range(50)), workers=2)
    found = [next(outcomes)]
    with pytest.raises(KeyboardInterrupt):
        found += [outcomes.throw(KeyboardInterrupt), *outcomes]  # type: ignore[attr-defined]
    assert len(set(found)) == len(found) < 50

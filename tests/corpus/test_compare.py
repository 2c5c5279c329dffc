"""Comparing a corpus gives what comparing its files gives, whoever works on it and whatever happens meanwhile."""

from __future__ import annotations

import gc
import itertools
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from tests.command import speedproof
from tests.corpus.made import made_up, put

import speedproof as sp
from speedproof.corpus import answers as answering
from speedproof.corpus import compare as comparing
from speedproof.corpus.answers import How
from speedproof.corpus.compare import Asked, compare, pairs_in_file
from speedproof.corpus.engine import cores, run
from speedproof.data.notes import Assumption
from speedproof.data.record import FileResults, Record
from speedproof.errors import SpeedproofError, UsageError
from speedproof.protocols.results import Verdict
from speedproof.reporting.numbers import pvalue


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_leaves: None) -> Path:
    """Sixty benchmarks in three versions, in several parts."""
    monkeypatch.setattr("speedproof.corpus.read.TASK", 40)
    return put(made_up(60, 3, n=12), tmp_path / "c")


def answers(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in sorted(folder.glob("part-*.parquet"))}


@pytest.mark.parametrize("unit", ["s", "B/s"])
def test_a_machine_of_two_speeds_is_named(tmp_path: Path, unit: str) -> None:
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
    machine = found.conclusion.results[0].machine
    direct = sp.compare_suite(sp.read(corpus.place))
    assert machine == direct.result.machine
    assert machine is not None
    assert (machine.factor, machine.speedup.value) == pytest.approx((2.0, 1.1), rel=0.01)
    said = [re.findall("old and new ran at .*? new is 1[.]10x faster \\[1[.]09x, 1[.]1", " ".join(str(r).split()))
            for r in (found, direct)]  # fmt: skip
    assert len(said[0]) == 1
    assert said[0] == said[1]
    lines = str(found).splitlines()
    assert len(lines) <= 32
    assert max(map(len, lines)) <= 80


def test_of_many_pairs_those_at_two_speeds_prove_nothing(tmp_path: Path) -> None:
    """Of three versions, two at two speeds: the pair of these is judged as alone, and the others count."""
    rng, records = np.random.default_rng(5), []
    for b, (version, level) in itertools.product(range(6), (("a's", 1.0), ("b", 0.4), ("c", 0.1))):
        slow = rng.permutation(np.arange(12) < 6) & (version != "c")
        times = level * np.where(slow, 2.0, 1.0) * np.exp(0.02 * rng.standard_normal(12))
        records.append(Record(f"b{b}", times, unit="s", version=version, path="f"))
    corpus = sp.Corpus(put([("", FileResults("f", tuple(records)))], tmp_path / "c"))
    found = corpus.compare(pairs="all", workers=1).conclusion
    alone = corpus.compare("a's", "b", workers=1).conclusion
    at_two = [of for of in found.results if of.machine]
    assert [(of.candidate, of.machine) for of in at_two] == [("b", alone.results[0].machine)]
    assert (found.machines, alone.machines) == (1, 1)
    assert found.counts["typical"][Verdict.FASTER] == 18
    assert {joint.counts[Verdict.FASTER] for joint in found.controlled if joint.protocol == "typical"} == {12}
    assert {joint.counts[Verdict.FASTER] for joint in alone.controlled} == {0}
    assert found.undermining == ((Assumption.ONE_SPEED, 6),)
    with pytest.raises(
        UsageError, match=r"choose versions with reference= \(against every other\) or pairs=; "
    ):
        corpus.compare(candidate="b", workers=1)
    others = corpus.compare("b", workers=1).conclusion  # as of files: against every other version
    assert sorted((of.reference, of.candidate) for of in others.results) == [("b", "a's"), ("b", "c")]
    corpus = sp.Corpus(put(made_up(1, 40, files=1), tmp_path / "many"))
    many = corpus.compare(pairs="consecutive", workers=1).conclusion
    shown = {own.candidate.label for own, *_ in many.shown.values()}
    assert {of.candidate for of in many.results} == {f"v{k}" for k in range(1, 21)} | shown


@pytest.mark.slow
@pytest.mark.parametrize("pairs", [None, "consecutive"])
def test_a_page_draws_the_largest_changes(corpus: Path, tmp_path: Path, pairs: Any) -> None:
    """Each row with the samples, the test and the verdict of its own pair of versions."""
    versions = () if pairs else ("v0", "v2")
    found = sp.Corpus(corpus).compare(*versions, pairs=pairs, where="benchmark > 'bench/00010'", workers=1)
    (report,) = found.written().reports
    rows = report.tables[-1].rows
    assert [row.name for row in rows] == [name for name, *_ in found.conclusion.largest]
    for row, (c, *_) in zip(rows, found.conclusion.shown.values(), strict=True):
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
    asked = Asked((("v0", "v1"),), "time")
    compare(corpus, asked, How(tmp_path / "1", workers=1))
    compare(corpus, asked, How(tmp_path / "2", workers=2))
    backwards = lambda work, tasks, **how: run(work, tasks[::-1])  # noqa: E731
    monkeypatch.setattr(answering, "run", backwards)
    compare(corpus, asked, How(tmp_path / "3"))
    assert answers(tmp_path / "1")
    assert answers(tmp_path / "1") == answers(tmp_path / "2") == answers(tmp_path / "3")


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
    seen: list[Any] = []
    told = {"started": lambda *counts: seen.append(counts), "done": lambda: seen.append(1)}
    compare(corpus, asked, How(tmp_path / "cut", **told))  # type: ignore[arg-type]
    assert (seen, calls) == ([(whole.parts, 2)] + [1] * (whole.parts - 2), 10 + whole.parts - 2)
    assert answers(tmp_path / "cut") == answers(tmp_path / "whole")
    with pytest.raises(UsageError, match="answers to another question"):
        compare(corpus, replace(asked, metric="memory"), How(tmp_path / "cut"))
    with pytest.raises(UsageError, match="holds other files"):
        compare(corpus, asked, How(corpus / "data"))


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
    assert gc.isenabled()
    file.unlink()
    assert "damaged or gone" in compare(corpus, Asked("all", "time"), How(tmp_path / "a")).failures[0]
    for other in sorted((corpus / "data").rglob("*.parquet"))[:-1]:
        other.write_bytes(b"")
    _, _, told = speedproof("corpus", "compare", corpus, "--pairs", "all", "--workers", "1")
    assert ("error: 8 of 8 parts" in told, told.count(": the file is damaged or gone")) == (True, 3)


def test_pairs_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "pairs.csv"
    for text, pairs in (
        ("reference,candidate\nv2, v0\n\nv2,v0\n", (("v2", "v0"),)), ("a\tb, c\n", (("a", "b, c"),)),
        ("a,b\nreference,candidate\n", (("a", "b"), ("reference", "candidate"))),
    ):  # fmt: skip
        file.write_text(text)
        assert pairs_in_file(str(file)) == pairs
    for text, why in {"v2": "line 1: name two", "a,b\na,b,c": "line 2: name two", "\n": "no pairs"}.items():
        file.write_text(text)
        with pytest.raises(UsageError, match=why):
            pairs_in_file(str(file))


def test_mixed_units_are_said(tmp_path: Path) -> None:
    ((label, first), *rest) = made_up(100)
    records = tuple(
        replace(r, unit="B/s") if i % 2 and r.metric == "time" else r for i, r in enumerate(first.records)
    )
    folder = put([(label, replace(first, records=records)), *rest], tmp_path / "c")
    where = "version IN ('v0', 'v1')"
    problems = sp.compare_suite(sp.read(folder, where=where)).result.problems
    said = "v0 is in s (lower is better), v1 in B/s (higher is better); they cannot be compared"
    assert all(said in problem for problem in problems)
    assert len(problems) > 20
    for pairs in ([("v0", "v1")], "all"):
        found = sp.Corpus(folder).compare(pairs=pairs, where=where, workers=1)
        assert found.conclusion.lacking == ((0, 0, len(problems)),)
        assert found.conclusion.results[0].problems == problems[:20]
        assert "Left out: " in str(found)


def test_killed_workers_lose_nothing(tmp_path: Path) -> None:
    """One task is killed once and comes again, one is killed always and is named."""
    end = "__import__('os')._exit(1)"
    mark = repr(str(tmp_path / "mark"))
    once = f"__import__('os').path.exists({mark}) or (open({mark}, 'w'), {end})"
    found = list(run(eval, [once, end, "7"], workers=2))
    assert sorted(v for v in found if not isinstance(v, SpeedproofError)) == [True, 7]
    assert [str(v) for v in found if isinstance(v, SpeedproofError)] == [
        f"{end}: its worker was killed 3 times; is memory short?"
    ]


def test_workers_are_processes_of_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deaf to Ctrl-C, with the caller's environment of now, which stays; one alone is the caller."""
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    monkeypatch.setenv("SPEEDPROOF_TOLD", "now")
    before, ready = dict(os.environ), list[int]()
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "SPEEDPROOF_TOLD")
    told = [f"__import__('os').environ['{name}']" for name in names]
    told += ["int(__import__('signal').getsignal(2))", "__import__('pyarrow').cpu_count()"]
    assert {*run(eval, told, workers=2, meanwhile=lambda: ready.append(1))} == {"1", "now", 1}
    assert (dict(os.environ), *ready[:1]) == (before, 1)
    own = "__import__('os').getpid()"
    for tasks, workers, alone in (([own], 2, True), ([own] * 2, 1, True), ([own] * 2, 2, False)):
        assert (os.getpid() in run(eval, tasks, workers=workers)) is alone


def test_cores_are_those_that_a_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {*range(1 + process)}, raising=False)
    assert cores() == 1
    monkeypatch.delattr(os, "sched_getaffinity")
    for count in (4, None):
        monkeypatch.setattr(os, "cpu_count", lambda told=count: told)
        assert cores() == (count or 1)


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


def test_workers_end_with_their_parent() -> None:
    """After kill -9 of the command nobody holds its output any more."""
    code = "import time; from speedproof.corpus.engine import run\n"
    code += "for one in run(time.sleep, [0, 600, 600], workers=2): print(one, flush=True)"
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    assert parent.stdout.readline() == b"None\n"
    parent.kill()
    assert parent.communicate(timeout=60)[0] == b""


def test_ctrl_c_keeps_what_was_under_way() -> None:
    outcomes: Iterator[Any] = run(abs, list(range(50)), workers=2)
    found = [next(outcomes)]
    found.append(outcomes.throw(KeyboardInterrupt))  # type: ignore[attr-defined]
    with pytest.raises(KeyboardInterrupt):
        found.extend(outcomes)
    assert 1 < len(set(found)) == len(found) < 50
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

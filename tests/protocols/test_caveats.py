"""What is said of how a suite was measured: order, sessions, one process, few runs."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np

from speedproof.data.notes import Assumption, Note
from speedproof.data.sample import Sample, Trait
from speedproof.data.suite import Key, Pair
from speedproof.protocols.caveats import caveats_of, few_runs
from speedproof.protocols.results import Comparison

BOTH = ("old", "new")


def sessions(levels: list[float], **fields: Any) -> Sample:
    """Three values in each session, whose medians are the levels."""
    values = np.concatenate([level * np.array([0.99, 1.0, 1.02]) for level in levels])
    names = tuple(f"{fields.get('span')}{k}" for k in range(len(levels)))
    return Sample(values, sessions=np.repeat(np.arange(len(levels)), 3), session_names=names, **fields)


def number(note: Note) -> str:
    return "" if math.isnan(note.statistic) else f"{100 * note.statistic:.2g} %"


def told(*pairs: tuple[Sample, Sample]) -> list[tuple[Assumption, tuple[str, ...], tuple[str, ...], str]]:
    named = [Pair(Key(f"b{k}"), *sides) for k, sides in enumerate(pairs)]
    return [(c.kind, c.versions, c.benchmarks, c.message or number(c)) for c in caveats_of(named, BOTH)]


def one(level: float, **fields: Any) -> Sample:
    return Sample(level + 0.1 * np.arange(6.0), **fields)


def test_what_was_measured_first() -> None:
    """By the times of the files, whichever version that was; one tool after the other is one session each."""
    early, late = (one(k, span=(k, k + 1.0), tool="hyperfine") for k in (1.0, 5.0))
    apart = one(1.0, tool="hyperfine"), one(2.0, tool="hyperfine")
    unknown = one(1.0), one(2.0)
    assert told((early, late)) == [(Assumption.INTERLEAVED, BOTH, (), "")]
    assert told((late, early)) == [(Assumption.INTERLEAVED, BOTH[::-1], (), "")]
    assert told(apart) == [(Assumption.ONE_SESSION, BOTH, (), "")]
    assert told(unknown) == []
    assert told(unknown, apart, (late, early), (early, late), apart) == [
        (Assumption.INTERLEAVED, BOTH, ("b3",), ""),
        (Assumption.INTERLEAVED, BOTH[::-1], ("b2",), ""),
        (Assumption.ONE_SESSION, BOTH, ("b1", "b4"), ""),
    ]


def test_how_much_few_sessions_differ() -> None:
    """The median over the sides of several sessions, by the largest and smallest median of a session."""
    several, single = sessions([2.0, 2.2, 2.1], tool="x"), one(1.0, tool="x")
    spread = Assumption.SEVERAL_SESSIONS, BOTH
    assert told((several, single)) == told((single, several)) == [(*spread, (), "10 %")]
    other = sessions([1.0, 1.3], tool="x")
    assert told((several, other)) == [(*spread, (), "20 %")]
    assert told((one(3.0), one(4.0)), (several, other))[0][2] == ("b1",)
    skewed = Sample(np.array([1.0, 1.0, 9.0, 1.5, 1.5, 2.0]), sessions=np.arange(6) // 3, tool="x")
    assert told((skewed, single))[0][3] == "50 %"
    zero = Sample(np.array([0.0, 0.0, 1.0, 1.0]), sessions=np.array([0, 0, 1, 1]), tool="x")
    assert told((zero, single))[0][3] == "0 %"
    negative = Sample(np.array([-2.0, -1.0]), "B", sessions=np.array([0, 1]), tool="x")
    assert told((negative, Sample(np.arange(3.0), "B")))[0][3] == "1e+02 %"
    four, three = sessions([1.0, 1.1, 1.2, 1.3], tool="x"), sessions([1.0, 1.1, 1.2], tool="x")
    more = sessions([1.5, 1.1, 1.2, 1.3, 1.4], tool="x")
    assert told((four, more)) == told((more, four)) == []
    for sides in ((three, more), (more, three)):
        assert [row[0] for row in told(sides)] == [Assumption.SEVERAL_SESSIONS]
    mixed = [
        sessions(v, span=None, tool="x", traits=frozenset({Trait.RANDOM_ORDER}))
        for v in ([1.0, 2.0], [3.0, 5.0])
    ]
    assert told((mixed[0], mixed[1])) == []


def test_of_one_process_twice_the_same_and_stopped() -> None:
    """Each side that is one process; a benchmark that holds the same values twice has no other caveat."""
    process = one(1.0, processes=np.zeros(6, dtype=np.int64))
    marked = one(2.0, traits=frozenset({Trait.ONE_PROCESS}))
    free, two = one(3.0), one(4.0, processes=np.repeat([0, 1], 3))
    run = Sample(
        np.array([1.0]), processes=np.zeros(1, dtype=np.int64), traits=frozenset({Trait.ONE_PROCESS})
    )
    several = Assumption.SEVERAL_PROCESSES
    assert told((process, free)) == [(several, ("old",), (), "")]
    both = Sample(np.array([1.0, 2.0]), processes=np.zeros(2, dtype=np.int64))
    assert told((free, both)) == told((run, both)) == [(several, ("new",), (), "")]
    assert told((two, marked)) == [(several, ("new",), (), "")]
    assert told((process, marked), (free, run)) == [(several, BOTH, ("b0",), "")]
    assert told((run, two), (process, process), (free, free)) == [
        (Assumption.TWO_MEASUREMENTS, BOTH, ("b1", "b2"), "")
    ]
    assert told((process, process)) == [(Assumption.TWO_MEASUREMENTS, BOTH, (), "")]
    stopped = frozenset({Trait.STOPPED_ON_RESULT})
    a, b, c = (
        one(level, traits=marks, source=f"{name}.jsonl line {line}")
        for level, name, line, marks in (
            (1.0, "r", 7, stopped),
            (2.0, "r", 12, frozenset()),
            (3.0, "s", 3, stopped),
        )
    )
    planned = Assumption.PLANNED_SIZE, BOTH
    assert told((a, b)) == told((b, a)) == [(*planned, (), "r.jsonl")]
    assert told((a, c)) == [(*planned, (), "FILE")]
    assert told((free, two), (b, free), (b, a)) == [(*planned, ("b2",), "r.jsonl")]


def decided(n: int, m: int, **fields: Any) -> Any:
    usual = {"protocol": "typical", "paired": False, "repeated": "run", "alpha": 0.05, "benchmark": "b"}
    made = SimpleNamespace(
        reference=SimpleNamespace(n=n), candidate=SimpleNamespace(n=m), **{**usual, **fields}
    )
    made.by_separation = vars(Comparison)["by_separation"].fget(made)
    return made


def few(*rows: Any, of: int = 0) -> list[tuple[tuple[str, ...], tuple[str, ...], str]]:
    found = few_runs(rows, BOTH, of or len(rows))
    return [
        (c.versions, c.benchmarks, f"{c.message}, {100 * c.statistic:g} %".removesuffix(", nan %"))
        for c in found
    ]


def test_fewer_than_four_runs_that_prove_something() -> None:
    """One side's or both sides', with the risk of k runs that scatter widely, where it is more than stated."""
    assert few(decided(4, 4)) == few(decided(3, 9, protocol="mean")) == few(decided(3, 9, paired=True)) == []
    assert few(decided(3, 4)) == [(("old",), (), "runs, 12.5 %")]
    assert few(decided(4, 3)) == [(("new",), (), "runs, 12.5 %")]
    assert few(decided(3, 3)) == [(BOTH, (), "runs, 12.5 %")]
    assert few(decided(2, 3)) == [(BOTH, (), "runs, 25 %")]
    assert few(decided(3, 3, alpha=0.124)) == [(BOTH, (), "runs, 12.5 %")]
    assert few(decided(3, 3, alpha=0.125)) == []
    for unit, plural in (("process", "processes"), ("session", "sessions")):
        assert few(decided(9, 2, repeated=unit)) == [(("new",), (), f"{plural}, 25 %")]
        assert few(decided(3, 3, repeated=unit)) == [(BOTH, (), f"{plural}, 12.5 %")]
    rows = (
        decided(9, 9),
        decided(3, 9, benchmark="c"),
        decided(3, 19, benchmark="d"),
        decided(9, 3, benchmark="e"),
    )
    assert few(*rows) == [(("old",), ("c", "d"), "runs, 12.5 %"), (("new",), ("e",), "runs, 12.5 %")]
    assert few(decided(5, 6), decided(3, 9), of=2) == [(("old",), ("b",), "runs, 12.5 %")]

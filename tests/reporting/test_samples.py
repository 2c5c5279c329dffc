"""What was read, in words: a row a sample, what is odd in it, and what was left out."""

from typing import Any

import numpy as np
import pytest
from tests.command import in_words, laid_out

import speedproof as sp
from speedproof.data.record import Skipped
from speedproof.data.sample import Sample, Trait
from speedproof.data.suite import Key, Suite
from speedproof.reporting.samples import report

NINE, ONES = np.linspace(1.0, 2.0, 9), np.ones(9)
RUNS = "1.500 s 1.500 s ± 23 % 1.000 s 2.000 s 9"
HEAD = "median mean min max runs"


@pytest.mark.parametrize(("values", "more", "odd"), [
    ([1.0, 1.5, 2.0], {}, ""), ([2.0], {}, "one value"), ([1.0] * 4, {}, "constant"),
    ([1.0, 1.0, 2.0, 2.0], {}, "2 distinct values"), ([1.0, 1.0, 2.0], {}, ""),
    ([1.0, 1.0, 2.0, 2.0, 3.0], {}, ""), ([0.0, 1.0, 2.0], {}, "zeros"), ([-1.0, 0.0, 2.0], {}, "negative values"),
    # Five deviations of 1.4826 times the median distance from the median, which is 1.
    ([8.0, 9.0, 9.0, 10.0, 10.0, 11.0, 11.0, 12.0, 17.4], {}, ""),
    ([8.0, 9.0, 9.0, 10.0, 10.0, 11.0, 11.0, 12.0, 17.5], {}, "1 value far out"),
    ([2.4, 9.0, 9.0, 10.0, 10.0, 11.0, 11.0, 12.0, 17.5], {}, "2 values far out"),
    ([1.0, 1.5, 2.0], {"traits": frozenset({Trait.SORTED, Trait.TRIMMED})}, "trimmed, sorted"),
    ([1.0, 2.0], {"sessions": np.array([0, 1]), "traits": frozenset({Trait.SUMMARY_ONLY})},
     "2 sessions, summary only"),
    ([1.0], {"traits": frozenset({Trait.ONE_PROCESS})}, "one value, one process"),
])  # fmt: skip
def test_what_is_odd_in_a_sample(values: list[float], more: dict[str, Any], odd: str) -> None:
    suite = Suite(("v",), {(Key("b"), "v"): Sample(np.array(values), "B", **more)})
    (row,) = (made := report(suite)).tables[0].rows
    assert (row.cells[-1].text if odd else "", row.kind) == (odd, "odd" if odd else "samples")
    assert made.headline[0].text == f"1 benchmark of 1 version{'; 1 sample with something odd' * bool(odd)}"
    assert not odd or row.cells[-1].at(1) == (f"{odd.split(', ')[0]}, …" if "," in odd else odd)


def test_rows_of_what_was_read() -> None:
    """Those of the main metric first; what all samples have is told once, below; values in one scale a row."""
    samples = {
        (Key("sort", "rss"), "old"): Sample(np.array([512.0, 2048.0]), "B"),
        (Key("sort"), "old"): Sample(NINE, "s"), (Key("sort"), "new"): Sample(np.array([1e-9, 1.0, 2.0]), "s"),
    }  # fmt: skip
    made = report(Suite(("old", "new"), samples))
    assert in_words(made) == [
        "1 benchmark of 2 versions, 2 metrics", f"benchmark version metric {HEAD}", f"sort old time {RUNS}",
        "sort new time 1.000 s 1.000 s ± 100 % 1.000 ns 2.000 s 3",
        "sort old rss 1.250 KiB 1.250 KiB ± 85 % 0.5000 KiB 2.000 KiB 2",
    ]  # fmt: skip
    assert laid_out(made) == "'benchmark' 'version' 'metric' <median <mean-3 <min-2 <max-1 <runs"
    nested = Sample(np.arange(1.0, 7.0), "s", processes=np.array([0, 0, 1, 1, 2, 2]))
    assert in_words(report(Suite(("v",), {(Key("b"), "v"): nested}))) == [
        "1 benchmark of 1 version", f"benchmark {HEAD}", "b 3.500 s 3.500 s ± 53 % 1.000 s 6.000 s 6 in 3",
        "Of 6 values from 3 processes only the processes are independent: compare takes one value of each.",
    ]  # fmt: skip
    both = frozenset({Trait.SORTED, Trait.ONE_PROCESS})
    alike = {
        (Key(b), v): Sample(
            NINE, "s", traits=both if b == "b" else frozenset({Trait.SORTED}), notes=("so it is",)
        )
        for b in "ab"
        for v in ("old", "new")
    }
    assert in_words(report(Suite(("old", "new"), alike))) == [
        "2 benchmarks of 2 versions; 2 samples with something odd", f"benchmark version {HEAD} odd",
        f"a old {RUNS}", f"a new {RUNS}", f"b old {RUNS} one process", f"b new {RUNS} one process",
        "True of every sample: sorted.", "Note: so it is",
    ]  # fmt: skip
    names = ("sort a", "sort b")
    commands = Suite(names, {(Key("all"), v): Sample(NINE, "s") for v in names}, commands=True)
    expected = ["2 commands of one file", f"sort … {HEAD}", f"a {RUNS}", f"b {RUNS}"]
    assert in_words(report(commands)) == expected


@pytest.mark.parametrize(("benchmarks", "metrics", "first", "shown"), [
    (24, 1, range(4), 24), (25, 1, range(0, 8, 2), 16), (16, 2, range(4), 16), (17, 2, range(0, 8, 2), 16),
])  # fmt: skip
def test_of_many_samples_those_with_something_odd(
    benchmarks: int, metrics: int, first: range, shown: int
) -> None:
    """Of more than two dozen sixteen stay; of one metric by oddity where not all of it would."""
    samples = {
        (Key(f"b{i:02}", metric), "v"): Sample(NINE if i % 2 else ONES, "s")
        for i in range(benchmarks)
        for metric in ("time", "rss")[:metrics]
    }
    (table,) = report(Suite(("v",), samples)).tables
    assert [row.name.split()[0] for row in table.rows[:4]] == [f"b{i:02}" for i in first]
    assert sum(not row.folded for row in table.rows) == shown
    others = [row.kind for row in table.rows if row.name.endswith("rss")]
    odd = ["with something odd"] * -(-benchmarks // 2) + ["samples"] * (benchmarks // 2)
    assert others == (odd if metrics > 1 else [])
    (whole,) = report(Suite(("v",), samples), everything=True).tables
    assert not any(row.folded for row in whole.rows)
    assert [row.name for row in whole.rows[:4]] == [f"b{i:02} (v): time" for i in range(4)]


def test_what_was_left_out_of_what_was_read() -> None:
    """Of more than three remarks two, and all where everything is asked for; sessions are counted."""
    sessions = Sample(np.arange(1.0, 5.0), "s", sessions=np.array([0, 0, 1, 1]))
    for n, usual, whole, told in (
        (3, 1, False, ["Left out as usual (warm-up, totals, other files): 1 part (--all)",
                       *(f"Left out: f: {i}" for i in range(3))]),
        (4, 0, False, ["Left out: f: 0", "Left out: f: 1", "Left out: 2 more (--all)"]),
        (4, 1, True, [*(f"Left out: f: {i}" for i in range(4)), "Left out as usual: f: warm-up"]),
    ):  # fmt: skip
        skipped = [Skipped("f", "", "", str(i)) for i in range(n)] + [
            Skipped("f", "", "", "warm-up", True)
        ] * usual
        suite = sp.Suite(("old",), {(Key("b"), "old"): sessions}, skipped=tuple(skipped))
        made = report(suite, everything=whole)
        assert [text.text for text in made.notes] == told
        assert [row.cells[-1].text for row in made.tables[0].rows] == ["2 sessions"]

"""Results written by hand: every sentence and every cell follows from their fields."""

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from tests.corpus.made import made_up, put
from tests.protocols.asking import compare_medians
from tests.protocols.test_noise_floor import sequential

import speedproof as sp
from speedproof.corpus.model import CorpusModels
from speedproof.corpus.read import CorpusInfo
from speedproof.data.sample import Sample
from speedproof.data.suite import Key
from speedproof.options import DETAILS
from speedproof.protocols.caveats import MachineSpeeds
from speedproof.protocols.inputs import Input, OverInputs
from speedproof.protocols.pair import Rules
from speedproof.protocols.planning import Calibration, PlannedSize, PowerPlan, RunPlan, RunsForPower
from speedproof.protocols.questions import QUESTIONS
from speedproof.protocols.results import Comparison, Verdict
from speedproof.reporting import planning
from speedproof.reporting.corpus import comparisons, contents, modelled, table_of
from speedproof.reporting.model import Report
from speedproof.reporting.text import render
from speedproof.reporting.why import over_report
from speedproof.stats.estimate import Estimate

FASTER, SLOWER, UNDECIDED = Verdict.FASTER, Verdict.SLOWER, Verdict.UNDECIDED


def lines(report: Report, *, sections: bool = False) -> list[list[str]]:
    """The cells of each line of text."""
    shown = report if sections else replace(report, sections=())
    return [re.split("  +", line.strip()) for line in render(shown, 200).splitlines() if line]


def test_a_plan() -> None:
    sizes = (
        PlannedSize(1.1, 8, 100.0, 7199.0),
        PlannedSize(1.01, 900, 7200.0, 40.0),
        PlannedSize(1.001, 0, 0.0, 0.0),
    )
    plan = RunPlan(3, 1, 0.02, 0.125, 120.0, 0.5, 4, sizes, 0.05)
    assert lines(planning.report(plan)) == [
        ["4 runs of each build give most for their time."],
        ["to prove", "builds", "building", "measuring", "options"],
        ["1.1x", "8", "100 s", "120 min", "--builds 8 --runs 4"],
        ["1.01x", "900", "2.0 h", "40 s", "--builds 900 --runs 4"],
        ["1.001x", "too many", "-", "-"],
        ["Pilot (3 builds of each, 1 run a build): builds vary by 2 %, runs of one build by 12.5 %;"
         " a build takes 2 min, a run 500 ms."],
        ["About 8 of 10 sessions of a size prove a speedup that large. A pilot knows it roughly."],
    ]  # fmt: skip
    for between, within in ((0.0, 0.1), (0.1, 0.0), (0.0, 0.0)):
        made = planning.report(replace(plan, between=between, within=within))
        assert bool(made.tables) == (between + within > 0)
        assert made.headline[0].text.startswith("4 runs" if made.tables else "Nothing varied in the pilot")


CALIBRATION = Calibration(
    40, 0.25, 0.012, 0.02, 0.31, 0.05, math.nan, 0.06, 0.51,
    ((10.0, 20.4, 1.0502), (60.0, 120.0, 1.02), (90.0, 180.0, math.inf)),
)  # fmt: skip


AGAIN = "Chance does that at the stated risk; found again, it is something that tells the two apart."


@pytest.mark.parametrize(("verdict", "low", "high", "told"), [
    (Verdict.UNDECIDED, 0.99, 1.02, "Against itself: undecided, 1.02x slower to 1.02x faster"),
    (Verdict.FASTER, 1.01, 1.04, f"The second copy was found 1.01x to 1.04x faster. {AGAIN}"),
    (Verdict.SLOWER, 0.8, 0.9, f"The second copy was found 1.11x to 1.25x slower. {AGAIN}"),
    (Verdict.UNDECIDED, 1.02, 1.01,
     "Against itself: no single speedup fits all runs; the machine changed meanwhile."),
])  # fmt: skip
def test_a_machine_against_itself(verdict: Verdict, low: float, high: float, told: str) -> None:
    result = replace(sequential(1.0, verdict).result, low=low, high=high)
    made = planning.calibrated(CALIBRATION, sequential(1.0, verdict, result=result))
    assert lines(made) == [
        ["40 runs of one command, median 250 ms: single runs vary by 1.2 %, the ratio within a pair by 2 %"],
        [told],
        ["Neighbouring runs: rank correlation +0.31 (p = 0.05); pairs in random order, as 'run' measures,"
         " take care of it"],
        ["Drift with the order: rank correlation undefined (p = 0.06)"],
        ["measuring for", "pairs", "proves"],
        ["10 s", "20", "1.06x"], ["1 min", "120", "1.02x"], ["1.5 min", "180", "none"],
        ["About half of all sessions of that length prove a speedup of that size."],
    ]  # fmt: skip


def test_runs_that_find_an_effect() -> None:
    assert lines(planning.of_power([], ["b: one run"])) == [["No pilot to plan from."], ["b: one run"]]
    sizes = (RunsForPower(0.8, 40, 31.0, 66.0), RunsForPower(0.9, 1234, 50.0, 99.0))
    one = PowerPlan("b", "time", "typical", 0.02, 0.05, "process", (12, 10), sizes)
    assert lines(planning.of_power([one], ["c: one run"], " of new")) == [
        ["To find 2 % of new in 8 of 10 comparisons: about 40 processes of each (31 to 66); in 9 of 10: 1,300",
         "(typical run, risk 5 %)"], ["c: one run"],
    ]  # fmt: skip
    few = (RunsForPower(0.8, 9, 8.0, 12.0), RunsForPower(0.9, 12, 9.0, 20.0))
    never = (RunsForPower(0.8, None, 0.0, 0.0), RunsForPower(0.9, None, 0.0, 0.0))
    plans = [
        replace(one, benchmark=name, sizes=of)
        for name, of in (("few", few), ("never", never), ("some", sizes))
    ]
    assert lines(planning.of_power(plans)) == [
        ["To find 2 % in 8 of 10 comparisons: processes of each version", "(typical run, risk 5 %)"],
        ["pilot", "8 of 10", "between", "9 of 10"],
        ["never", "10", "more than 100000", "more than 100000"],
        ["some", "10", "40", "31 to 66", "1,300"], ["few", "10", "9", "8 to 12", "12"],
    ]  # fmt: skip


def compared(speedup: float, verdict: Verdict) -> Comparison:
    """A comparison of medians with another answer."""
    old, new = (
        Sample(x * np.linspace(0.9, 1.1, 9), "s", label=v) for v, x in (("old", speedup), ("new", 1.0))
    )
    low, high = speedup * 0.99, speedup * 1.01
    made = compare_medians(old, new, Rules(), Key("b"))
    estimate = Estimate(speedup, low, high, 0.95)
    return replace(made, verdict=verdict, speedup=estimate, checks=(), log=None, needed=None)


def over(benchmark: str, speedups: dict[str, float], verdict: Verdict, **fields: Any) -> OverInputs:
    inputs = tuple(
        Input(
            value,
            float(value) if value.isdigit() else None,
            compared(of, Verdict.FASTER if of > 1.05 else verdict),
        )
        for value, of in speedups.items()
    )
    given = {
        "slope": None,
        "ends": None,
        "crossing": None,
        "between": 0.0,
        "like_these": Estimate(1.2, 1.1, 1.4, 0.95),
    }
    given |= {"reference": "old", "candidate": "new", **fields}
    return OverInputs(benchmark, "n", "time", alpha=0.05, inputs=inputs, verdict=verdict, **given)


def test_several_benchmarks_over_a_parameter() -> None:
    """The smallest and the largest input of a known size, the trend of tenfold, and what differs in the names."""
    up, down = Estimate(0.1, 0.05, 0.15, 0.95), Estimate(-0.1, -0.15, -0.05, 0.95)
    crossing = Estimate(1234.0, 987.0, 1.9e4, 0.95)
    answers = [
        over("sort", {"10": 1.1, "100": 1.2, "1000": 1.3}, Verdict.FASTER, slope=up),
        over("hash", {"10": 1.1, "100": 1.0}, Verdict.UNDECIDED, slope=down, crossing=crossing),
        over("copy", {"big": 1.2, "small": 0.8}, Verdict.SLOWER, like_these=Estimate(0.8, 0.7, 0.9, 0.95)),
    ]
    head, *rows = lines(over_report(answers, ["list: one input"], everything=False, details=False))
    assert head == ["Over n: 3 benchmarks", "(in median, 95 %)"]
    assert rows[0] == ["smallest", "largest", "each tenfold", "crosses 1 at", "inputs like these"]
    assert rows[1:] == [
        ["sort", "1.10x faster", "1.30x faster", "1.26x [1.12x, 1.42x]", "1.20x faster, at least 1.10x"],
        ["hash", "1.10x faster", "undecided", "0.79x [0.70x, 0.90x]", "1,200", "undecided (1.20x faster)"],
        ["copy", "1.20x faster", "1.25x slower", "1.25x slower, at least 1.11x"],
        ["Left out: list: one input"],
    ]
    detailed = over_report(answers, everything=False, details=True)
    assert [part.title for part in detailed.sections] == ["sort", "hash", "copy"]
    said = [[text.text for text in part.headline] for part in detailed.sections]
    assert said == [
        ["sort over n: new against old: 1.10x faster at n = 10, 1.30x faster at n = 1000",
         "The speedup grows: 1.26x [1.12x, 1.42x] for each tenfold n.",
         "For inputs like these: 1.20x faster, at least 1.10x."],
        ["hash over n: new against old: 1.10x faster at n = 10, undecided at n = 100",
         "The speedup falls: 0.79x [0.70x, 0.90x] for each tenfold n;"
         " it crosses 1 at about n = 1,200 (990 to 19,000).",
         "For inputs like these: undecided (1.20x faster)."],
        ["copy over n: new against old: 2 inputs", "For inputs like these: 1.25x slower, at least 1.11x."],
    ]  # fmt: skip
    flat = over("", {"1": 1.2, "2": 1.3}, Verdict.FASTER, slope=Estimate(0.0, -0.1, 0.1, 0.95))
    told = [text.text for text in over_report([flat], everything=False, details=False).headline]
    assert told[:2] == ["Over n: new against old: 1.20x faster at n = 1, 1.30x faster at n = 2",
                        "No trend is shown: 1.00x [0.79x, 1.26x] for each tenfold n."]  # fmt: skip
    two = [replace(flat, benchmark=b, candidate=c) for b, c in (("sort", "new"), ("sort", "newer"))]
    assert [row[0] for row in lines(over_report(two, everything=False, details=False))[2:]] == [
        "new",
        "newer",
    ]
    two = [replace(one, benchmark=b) for one, b in zip(two, ("sort", "hash"), strict=True)]
    names = [row[0] for row in lines(over_report(two, everything=False, details=False))[2:]]
    assert names == ["sort (new)", "hash (newer)"]


def test_rows_of_a_query() -> None:
    """Numbers at the right, long lists cut, nothing for what is not there."""
    rows = [
        {
            "name": "a",
            "n": 3,
            "x": 0.123456789,
            "some": [1.5, 2.0, 3.0, 4.0],
            "more": [1.0, 2.0, 3.0, 4.0, 5.0],
        },
        {"name": None, "n": 40, "x": 1e9, "some": [], "more": [1, 2, 3, 4, 5, 6]},
    ]
    made = table_of(rows, [*rows[0]], 7)
    assert [column.right for column in made.tables[0].columns] == [False, True, True, False, False]
    assert lines(made) == [
        ["name", "n", "x", "some", "more"],
        ["a", "3", "0.123457", "[1.5, 2.0, 3.0, 4.0]", "[1, 2, 3, ... 5]"],
        ["40", "1e+09", "[]", "[1, 2, 3, ... 6]"], ["... 5 more rows: --all"],
    ]  # fmt: skip
    assert not table_of(rows, [*rows[0]], 2).notes


INFO: dict[str, Any] = {
    "name": "my corpus", "schema": 1, "complete": False, "rows": 1, "values": 12345, "files": 2,
    "bytes": 2_500_000, "inputs": 3, "benchmarks": 1,
    "machines": 0, "sessions": 2, "least": 5.0, "middle": 6.5, "most": 9.0,
    "versions": (("old", 1), ("new", 1)), "metrics": (("time", 3), ("rss", 1)),
    "mixed": (("a", "time", "s, ms"), ("b", "time", "s, B"), ("c", "rss", "B, kB"), ("d", "rss", "B, GB")),
    "tags": ("cpu", "os"), "pooled": (), "apart": ("cpu", "host", "os"), "everywhere": True, "rejects": 3,
    "rejected": (("a.json", "line 3", "no number"), (f"{'long/' * 14}b.json", "", "empty"),
                 (f"{'longer/' * 15}c.json", "line 1", "no unit")),
}  # fmt: skip


def test_what_a_corpus_holds() -> None:
    made = lines(contents(CorpusInfo(**INFO)))
    assert made == [
        ["1 sample of 1 benchmark in 2 versions: 12,345 values, 2.5 MB"],
        ["The build was cut short; the same command goes on with it."],
        ["Read from: 3 files"], ["Stored in: 2 Parquet files, schema 1"], ["Versions: old, new"],
        ["Metrics: time, rss"],
        ["Values a sample: 5 to 9, half have 6.5 or more"], ["Sessions: 2"], ["Tags: cpu, os"],
        ["Units are mixed in a (time): s, ms"], ["Units are mixed in b (time): s, B"],
        ["Units are mixed in c (rss): B, kB"], ["... and in 1 more"], ["Not read: 3 files or parts of files:"],
        ["a.json: line 3: no number"], [f"{'long/' * 14}b.json:"], ["empty"],
        [f"…{('longer/' * 15)[-70:]}c.json:"], ["line 1: no unit"],
    ]  # fmt: skip
    whole: dict[str, Any] = {
        "complete": True,
        "mixed": INFO["mixed"][:3],
        "rejects": 9,
        "machines": 2,
        "most": 5.0,
    }
    made = lines(contents(CorpusInfo(**{**INFO, **whole})))
    told = [" ".join(line) for line in made]
    assert "Values a sample: 5" in told
    assert "Machines: 2" in told
    assert told[-1] == "All: speedproof corpus query 'my corpus' 'FROM rejects'"
    assert not any("cut short" in line or "more" in line for line in told)
    none = lines(contents(CorpusInfo(**{**INFO, "rows": 0, "mixed": (), "rejects": 0, "complete": True})))
    assert none == [["0 samples of 1 benchmark in 2 versions: 12,345 values, 2.5 MB"]]
    long = "x" * 77
    told = [
        " ".join(line)
        for line in lines(contents(CorpusInfo(**{**INFO, "versions": ((long, 1), ("new", 1))})))
    ]
    assert (
        "SQL knows them whole: speedproof corpus query 'my corpus' 'SELECT DISTINCT version FROM corpus'"
        in told
    )
    assert all(long not in line for line in told)


@pytest.mark.parametrize(("fields", "told"), [
    ({"pooled": ("old",), "apart": ("cpu", "host", "os")}, ["! old pools files that differ in cpu, host, ....",
     "Tell them apart: corpus build --by cpu,host,os"]),
    ({"pooled": ("old", "new"), "apart": ("a b", "os"), "everywhere": False},
     ["! 2 versions pool files that differ in a b, os.",
     "Give each its version: speedproof corpus build NAME=PATH ... -o DIR"]),
    ({"pooled": ("old", "new"), "apart": ("a b",)}, ["! 2 versions pool files that differ in a b.",
     "Tell them apart: corpus build --by 'a b'"]),
])  # fmt: skip
def test_versions_that_pool_what_differs(fields: dict[str, Any], told: list[str]) -> None:
    made = contents(CorpusInfo(**{**INFO, "rejects": 0, **fields}))
    assert [text.text.strip() for text in made.notes][-2:] == told


def test_mixtures_of_a_corpus() -> None:
    several = (("sort", "old", 2, 1.5), ("hash", "new", 3, 1.25))
    models = CorpusModels(
        "c", "c/a", 12, 1, {1: 9, 3: 3}, {1: 10, 2: 1, 4: 1}, 10, 1, several, 5, ("p: lost", "q: lost")
    )
    assert lines(modelled(models, ["old", "new"])) == [
        ["2 of 12 samples have several modes"], ["Left out: p: lost"], ["Left out: q: lost"],
        ["1 sample cannot be modelled."], ["The fit is rejected at 5 % for 1 of 10 that were tested (10 %)."],
        ["samples with", "1", "2", "3", "4"], ["components", "9", "0", "3", "0"], ["modes", "10", "1", "0", "1"],
        ["mode…apart", "version", "modes", "last over first"],
        ["sort", "old", "2", "1.50x"], ["hash", "new", "3", "1.25x"],
        ["Every row: speedproof corpus query c/a 'FROM answers'"],
    ]  # fmt: skip
    few = lines(modelled(replace(models, failed=0, tested=0, several=(), failures=()), ["old", "new"]))
    assert [line[0] for line in few[:2]] == ["2 of 12 samples have several modes", "samples with"]
    assert len(few) == 5


def test_a_conclusion_of_many_comparisons(tmp_path: Path) -> None:
    """Every part of it is told: counts by question, what holds together, and what is left out."""
    pytest.importorskip("pyarrow")
    answers = sp.Corpus(put(made_up(40), tmp_path / "c")).compare("v0", "v1", workers=1, protocols=DETAILS)
    of = answers.conclusion
    assert of.hpt is not None
    (details,) = comparisons(of, answers.versions, details=True, everything=True).sections
    rows = [["protocol", "faster", "slower", "the same", "undecided", "Holm", "BH", "share faster"]]
    for protocol, counts in of.counts.items():
        row = [
            QUESTIONS[protocol].title,
            *(str(counts[v]) for v in (FASTER, SLOWER, Verdict.EQUIVALENT, UNDECIDED)),
        ]
        for method in ("holm", "benjamini-hochberg"):
            kept = [one.counts for one in of.joint if (one.protocol, one.method) == (protocol, method)]
            row.append(f"{kept[0][FASTER]} / {kept[0][SLOWER]}" if kept else "-")
        shares = [one.proportion for name, one in of.accelerated if name == protocol]
        ends = [f"{100 * x:.1f} %" for one in shares for x in (one.value, one.low, one.high)]
        rows.append([*row, f"{ends[0]} [{ends[1]}, {ends[2]}]" if ends else "-"])
    made = lines(details)
    assert made[:5] == rows
    assert made[5][0].startswith("Geometric mean: ")
    assert made[-2][0].startswith(f"HPT: v1 outperforms v0 with confidence {100 * of.hpt.confidence:.1f} %")
    assert made[-1] == [f"36 benchmarks, {of.hpt.method}"]
    seen = set()
    for width in range(40, 100):
        head = next(line for line in render(details, width).splitlines() if line.startswith("protocol"))
        seen.add(tuple(name for name in ("Holm", "BH", "share faster") if name in head))
    assert seen == {(), ("Holm",), ("Holm", "BH"), ("Holm", "BH", "share faster")}

    def told(asked: int = 0, everything: bool = False, **fields: Any) -> list[str]:
        report = comparisons(
            replace(of, **fields), answers.versions, details=False, everything=everything, pairs=asked
        )
        return [" ".join(line) for line in lines(replace(report, hints=()))]

    failed = told(failures=tuple("abcde"))
    assert failed[1:5] == ["Left out: a", "Left out: b", "Left out: c", "... and 2 more parts"]
    nothing = "No benchmark was measured with both versions."
    assert told(comparisons=0, failures=("a",)) == [nothing, "Left out: a"]
    floor = (
        "Sessions of the same code differ by up to 1 to 20 %, by benchmark (95 %) (known for 3 benchmarks):"
    )
    assert f"{floor} verdicts are held against that." in told(sessions=(3, 0.01, 0.2))
    machine = MachineSpeeds(1.5, 30, 36, Estimate(1.1, 1.0, 1.2, 0.95))
    (of_two,) = [line for line in told(machines=(("v0", "v1", machine),)) if "two speeds" in line]
    assert not of_two.startswith("In 1 of")
    several = told(5, versions=3, machines=(("v0", "v1", machine),), undermined=1)
    assert several[0].startswith("3 pairs of versions: ")
    assert "In 1 of 3 pairs of versions the machine ran at two speeds: nothing of them is proven." in several
    assert "2 more pairs of versions have no benchmark in common." in several
    assert any(line.startswith("! In 1 comparison the true risk may be larger") for line in several)
    assert not any("Geometric mean" in line for line in several)
    assert any(line.startswith("! In 1 benchmark the true risk may be larger") for line in told(undermined=1))
    assert not any("more pairs" in line for line in told(1))
    old, new, whole = of.wholes[0]
    for count, more in ((1, ""), (3, " (and 2 more)")):
        part = replace(
            whole.seen, only_reference=2, only_candidate=count, incomparable=count, problems=["b: units"]
        )
        lacking = told(wholes=((old, new, replace(whole, seen=part)),))
        assert {"Only in v0: 2 benchmarks", f"Left out: b: units{more}"} < {*lacking}
        assert f"Only in v1: {count} benchmark{'s' * (count > 1)}" in lacking
    # The largest changes, and how many are left.
    slower, faster = (of.counts["typical"][v] for v in (SLOWER, FASTER))
    shown = [line for line in told(everything=True) if re.match(r"\d{5} ", line)]
    assert len(shown) == len(of.clearest) == slower + faster
    more = {**of.counts["typical"], FASTER: 50, SLOWER: 7}
    rest = next(
        line for line in told(everything=True, counts={**of.counts, "typical": more}) if "... and" in line
    )
    assert rest == f"... and {50 - faster} faster, {7 - slower} slower, {more[UNDECIDED]} undecided"

"""Results written by hand: every sentence and every cell follows from their fields."""

import math
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from msgspec.structs import replace
from tests.command import in_words, laid_out
from tests.corpus.made import made_up, put
from tests.protocols.asking import compare_medians, stop_rules
from tests.protocols.test_noise_floor import of_blocks, sheet_of

import speedproof as sp
from speedproof.conclude.claims import Claim, Demand, Outcome, SessionQuestion, overall
from speedproof.conclude.controls import Controls, withheld
from speedproof.conclude.gate import Absent, GateDecision, GateRow, GateRules
from speedproof.conclude.looks import CandidateResult
from speedproof.conclude.suite import SuiteComparison
from speedproof.corpus.model import CorpusModels
from speedproof.corpus.read import CorpusInfo
from speedproof.data.notes import Assumption, Note
from speedproof.data.sample import Sample
from speedproof.data.session_file import control_name
from speedproof.data.suite import Key
from speedproof.options import DETAILS, Policy, SessionAsked
from speedproof.protocols.bisection import BisectionOutcome
from speedproof.protocols.caveats import MachineSpeeds
from speedproof.protocols.in_blocks import NO_NUMBER
from speedproof.protocols.inputs import Input, OverInputs
from speedproof.protocols.modes import MatchedMode, ModeComparison
from speedproof.protocols.pair import Rules
from speedproof.protocols.planning import Calibration, PlannedSize, PowerPlan, RunPlan, RunsForPower
from speedproof.protocols.questions import QUESTIONS
from speedproof.protocols.results import SEQUENTIAL, WITHHELD, Comparison, Needed, RSpeedup, Verdict
from speedproof.reporting import planning
from speedproof.reporting.corpus import compared as corpus_report
from speedproof.reporting.corpus import contents, fits_one_sheet, modelled, table_of
from speedproof.reporting.gate import report as gate_report
from speedproof.reporting.gate import sentence
from speedproof.reporting.mixtures import modes_report
from speedproof.reporting.model import FORMATS, Cell, Column, Report, Reported, Row, Table, Text, folded
from speedproof.reporting.notes import caveats, doubts, failed
from speedproof.reporting.rows import Voice
from speedproof.reporting.session import bars, standing
from speedproof.reporting.session import report as session_report
from speedproof.reporting.sheet import report
from speedproof.reporting.text import render
from speedproof.reporting.why import beside_over, over_report
from speedproof.stats.estimate import Estimate
from speedproof.stats.sequential import SequentialResult

QUESTION, A = SessionQuestion(stop_rules()), Assumption
FASTER, SLOWER, UNDECIDED = Verdict.FASTER, Verdict.SLOWER, Verdict.UNDECIDED


def lines(report: Report, *, sections: bool = False) -> list[list[str]]:
    """The cells of each line of text."""
    shown = report if sections else replace(report, sections=())
    return [re.split("  +", line.strip()) for line in render(shown, 200).splitlines() if line]


def test_a_plan() -> None:
    of = (1.1, 8, 100.0, 7199.0), (1.01, 900, 7200.0, 40.0), (1.001, 0, 0.0, 0.0)
    sizes = tuple(PlannedSize(*size) for size in of)
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
    assert laid_out(planning.report(plan)) == "to prove <builds <building <measuring options"
    for between, within in ((0.0, 0.1), (0.1, 0.0), (0.0, 0.0)):
        made = planning.report(replace(plan, between=between, within=within))
        assert bool(made.tables) == (between + within > 0)
        assert made.headline[0].text.startswith("4 runs" if made.tables else "Nothing varied in the pilot")


CALIBRATION = Calibration(
    40, 0.25, 0.012, 0.02, 0.31, 0.05, math.nan, 0.06,
    ((59.5, 20.4, 1.0502), (60.0, 120.0, 1.02), (90.0, 180.0, math.inf)),
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
    assert laid_out(made) == "<measuring for <pairs <proves"
    assert lines(made) == [
        ["40 runs of one command, median 250 ms: single runs vary by 1.2 %, the ratio within a pair by 2 %"],
        [told],
        ["Neighbouring runs: rank correlation +0.31 (p = 0.05); pairs in random order, as 'run' measures,"
         " take care of it"],
        ["Drift with the order: rank correlation undefined (p = 0.06)"],
        ["measuring for", "pairs", "proves"],
        ["59.5 s", "20", "1.06x"], ["1 min", "120", "1.02x"], ["1.5 min", "180", "none"],
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
    alike = replace(one, sizes=(sizes[0], sizes[0]))
    assert lines(planning.of_power([alike]))[0][0].endswith("; in 9 of 10: as many")
    few = (RunsForPower(0.8, 9, 8.0, 12.0), RunsForPower(0.9, 12, 9.0, 20.0))
    never = (RunsForPower(0.8, None, 0.0, 0.0), RunsForPower(0.9, None, 0.0, 0.0))
    plans = [
        replace(one, benchmark=name, sizes=of)
        for name, of in (("few", few), ("never", never), ("some", sizes))
    ]
    assert lines(planning.of_power(plans)) == [
        ["To find 2 % in 8 of 10 comparisons: processes of each version", "(typical run, risk 5 %)"],
        ["pilot", "8 of 10", "between", "9 of 10"],
        ["never", "10", "more than 100,000", "more than 100,000"],
        ["some", "10", "40", "31 to 66", "1,300"], ["few", "10", "9", "8 to 12", "12"],
    ]  # fmt: skip


def compared(speedup: float, verdict: Verdict) -> Comparison:
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
            value, float(value) if value.isdigit() else None, compared(of, FASTER if of > 1.05 else verdict)
        )
        for value, of in speedups.items()
    )
    given: dict[str, Any] = {
        "slope": None, "crossing": None, "between": 0.0, "like_these": Estimate(1.2, 1.1, 1.4, 0.95),
    }  # fmt: skip
    given |= {"reference": "old", "candidate": "new", **fields}
    return OverInputs(benchmark, "n", "time", alpha=0.05, inputs=inputs, verdict=verdict, **given)


def test_several_benchmarks_over_a_parameter() -> None:
    """The smallest and the largest input of a known size, the trend of tenfold, and what differs in the names."""
    up, down = Estimate(0.1, 0.05, 0.15, 0.95), Estimate(-0.1, -0.15, -0.05, 0.95)
    crossing = Estimate(1234.0, 100.0, 1.9e4, 0.95)
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
    assert laid_out(detailed) == "'' <smallest <largest each tenfold <crosses 1 at inputs like these"
    assert laid_out(detailed.sections[0]) == "<n <old <new change proven"
    assert [part.title for part in detailed.sections] == ["sort", "hash", "copy"]
    said = [[text.text for text in part.headline] for part in detailed.sections]
    assert said == [
        ["sort over n: new against old: 1.10x faster at n = 10, 1.30x faster at n = 1000",
         "The speedup grows: 1.26x [1.12x, 1.42x] for each tenfold n.",
         "For inputs like these: 1.20x faster, at least 1.10x."],
        ["hash over n: new against old: 1.10x faster at n = 10, undecided at n = 100",
         "The speedup falls: 0.79x [0.70x, 0.90x] for each tenfold n;"
         " it crosses 1 at about n = 1,200 (100 to 19,000).",
         "For inputs like these: undecided (1.20x faster)."],
        ["copy over n: new against old: 2 inputs", "For inputs like these: 1.25x slower, at least 1.11x."],
    ]  # fmt: skip
    flat = over("", {"1": 1.2, "2": 1.3}, Verdict.FASTER, slope=Estimate(0.0, -0.1, 0.1, 0.95))
    told = [text.text for text in over_report([flat], everything=False, details=False).headline]
    assert told[:2] == ["Over n: new against old: 1.20x faster at n = 1, 1.30x faster at n = 2",
                        "No trend is shown: 1.00x [0.79x, 1.26x] for each tenfold n."]  # fmt: skip
    two = [replace(flat, benchmark=b, candidate=c) for b, c in (("sort", "new"), ("sort", "newer"))]
    expected = ["new", "newer"]
    assert [row[0] for row in lines(over_report(two, everything=False, details=False))[2:]] == expected
    two = [replace(one, benchmark=b) for one, b in zip(two, ("sort", "hash"), strict=True)]
    names = [row[0] for row in lines(over_report(two, everything=False, details=False))[2:]]
    assert names == ["sort (new)", "hash (newer)"]


def test_rows_of_a_query() -> None:
    """Numbers at the right, long lists cut, nothing for what is not there."""
    names, few, many = ("name", "n", "x", "some", "more"), [1.5, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0, 5.0]
    values: Any = ("a", 3, 0.123456789, few, many), (None, 40, 1e9, [], [1, 2, 3, 4, 5, 6])
    rows = [dict(zip(names, of, strict=True)) for of in values]
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
    "machines": 0, "sessions": 2,
    "versions": (("old", 1), ("new", 1)), "metrics": (("time", 3), ("rss", 1)),
    "mixed": (("a", "time", "s, ms"), ("b", "time", "s, B"), ("c", "rss", "B, kB"), ("d", "rss", "B, GB")),
    "tags": ("cpu", "os"), "pooled": (), "apart": ("cpu", "host", "os"), "rejects": 3,
    "rejected": (("a.json", "line 3", "no number"), (f"{'long/' * 14}b.json", "", "empty"),
                 (f"{'longer/' * 15}c.json", "line 1", "no unit")),
}  # fmt: skip


def test_what_a_corpus_holds() -> None:
    made = lines(contents(CorpusInfo(**INFO)))
    assert made == [
        ["1 sample of 1 benchmark in 2 versions: 12,345 values, 2.38 MiB"],
        ["The build was cut short; the same command goes on with it."],
        ["Read from: 3 files"], ["Stored in: 2 Parquet files, schema 1"], ["Versions: old, new"],
        ["Metrics: time, rss"],
        ["Sessions: 2"], ["Tags: cpu, os"],
        ["Units are mixed in a (time): s, ms"], ["Units are mixed in b (time): s, B"],
        ["Units are mixed in c (rss): B, kB"], ["... and in 1 more"], ["Not read: 3 files or parts of files:"],
        ["a.json: line 3: no number"], [f"{'long/' * 14}b.json: empty"],
        [f"{'longer/' * 15}c.json: line 1: no unit"],
    ]  # fmt: skip
    versions = tuple((f"v{i}", 1) for i in range(101))
    whole: dict[str, Any] = {"complete": True, "mixed": INFO["mixed"][:3], "rejects": 9, "machines": 2}
    whole["versions"] = versions
    made = lines(contents(CorpusInfo(**{**INFO, **whole})))
    told = [" ".join(line) for line in made]
    names = f"Versions: {', '.join(name for name, _ in versions[:100])} and 1 more".split()
    assert (" ".join(told).split("Metrics")[0].split()[-len(names) :], "Machines: 2" in told) == (names, True)
    assert told[-1] == "All: speedproof corpus query 'my corpus' 'FROM rejects'"
    assert not any("cut short" in line or "... " in line for line in told)
    for width in (76, 77):
        some = {"versions": (("x" * width, 1), ("new", 1)), "tags": tuple("abcdefghi")}
        told = [" ".join(line) for line in lines(contents(CorpusInfo(**{**INFO, **some})))]
        assert any("x" * width in line for line in told) is (width == 76)
        assert "Tags: a, b, c, d, e, f, g, h and 1 more" in told
    for pooled, apart, told_of in (
        (("p" * 24,), ("cpu", "host", "os"), f"{'p' * 24} pools files that differ in cpu, host, ...."),
        (("old", "new"), ("a b", "os"), "2 versions pool files that differ in a b, os."),
    ):
        notes = contents(CorpusInfo(**{**INFO, "rejects": 0, "pooled": pooled, "apart": apart})).notes
        remedy = "Tell them apart: corpus build --by FIELD, or NAME=PATH ..."
        assert [text.text.strip() for text in notes][-2:] == [f"! {told_of}", remedy]


def test_mixtures_of_a_corpus() -> None:
    several = (("sort", "old", 2, 1.5), ("hash", "new", 3, 1.25))
    lost = tuple(f"{p}: lost" for p in "pqrs")
    models = CorpusModels("c", "c/a", 12, 1, {1: 9, 3: 3}, {1: 10, 2: 1, 4: 1}, 10, 1, several, 5, lost)
    assert lines(modelled(models, ["old", "new"])) == [
        ["2 of 12 samples have several modes"], *([f"Left out: {p}: lost"] for p in "pqr"),
        ["1 sample cannot be modelled."], ["The fit is rejected at 5 % for 1 of 10 that were tested (10 %)."],
        ["samples with", "1", "2", "3", "4"], ["components", "9", "0", "3", "0"], ["modes", "10", "1", "0", "1"],
        ["mode…apart", "version", "modes", "last over first"],
        ["sort", "old", "2", "1.50x"], ["hash", "new", "3", "1.25x"],
        ["Every row: speedproof corpus query c/a 'FROM answers'"],
    ]  # fmt: skip
    assert laid_out(modelled(models, []), 0) == "samples with <1 <2 <3 <4"
    assert laid_out(modelled(models, [])) == "'modes furthest apart' version <modes <last over first"
    few = lines(modelled(replace(models, failed=0, tested=0, several=(), failures=()), ["old", "new"]))
    assert [line[0] for line in few[:2]] == ["2 of 12 samples have several modes", "samples with"]
    assert len(few) == 5


def test_a_conclusion_of_many_comparisons(tmp_path: Path) -> None:
    """Every part of it is told: counts by question, what holds together, and what is left out."""
    pytest.importorskip("pyarrow")
    answers = sp.Corpus(put(made_up(40), tmp_path / "c")).compare("v0", "v1", workers=1, protocols=DETAILS)
    of = answers.conclusion
    (whole,) = of.results
    assert whole.hpt is not None
    (details,) = corpus_report(of, None, details=True, everything=True).sections
    marked = "not proven (!)"
    rows = [["protocol", "faster", "slower", "the same", "undecided", marked, "Holm", "BH", "share faster"]]
    for protocol, counts in of.counts.items():
        row = [
            QUESTIONS[protocol].title,
            *(str(of.proven[protocol][v]) for v in (FASTER, SLOWER, Verdict.EQUIVALENT)),
            str(counts[UNDECIDED]),
            str(of.proven[protocol][UNDECIDED] - counts[UNDECIDED]),
        ]
        for method in ("holm", "bh"):
            kept = [one.counts for one in of.controlled if (one.protocol, one.method) == (protocol, method)]
            row.append(f"{kept[0][FASTER]} / {kept[0][SLOWER]}" if kept else "-")
        shares = [one.proportion for name, one in of.accelerated if name == protocol]
        ends = [f"{100 * x:.1f} %" for one in shares for x in (one.value, one.low, one.high)]
        rows.append([*row, f"{ends[0]} [{ends[1]}, {ends[2]}]" if ends else "-"])
    made = lines(details)
    assert made[:5] == rows
    assert made[5][0].startswith("Geometric mean: ")
    assert made[-2][0].startswith(
        f"Whole suite (HPT): v1 outperforms v0 with confidence {100 * whole.hpt.confidence:.1f} %"
    )
    assert made[-1] == [f"36 benchmarks, {whole.hpt.method}"]
    kinds = "<faster <slower <the same <undecided <not proven (!) <Holm-3 <BH-2 <share faster-1"
    assert laid_out(details) == f"protocol {kinds}"

    def told(everything: bool = False, **fields: Any) -> list[str]:
        report = corpus_report(replace(of, **fields), None, everything=everything)
        return [" ".join(line) for line in lines(replace(report, hints=()))]

    for fields, fits in (
        ({"comparisons": 12}, True), ({"comparisons": 13}, False), ({"comparisons": 9, "pairs": 2}, False),
        ({"comparisons": 9, "failures": ("a",)}, False),
    ):  # fmt: skip
        assert fits_one_sheet(replace(of, **fields)) is fits
    two, three = (corpus_report(replace(of, pairs=pairs), None) for pairs in (1, 3))
    assert laid_out(two, 0) == "proven change <over 5 % <2 to 5 % <below 2 %"
    assert laid_out(two) == "'bench/…' <v0 <v1 change proven "
    assert laid_out(three) == "'bench/…' from to <before <after change proven "
    once = told(single_runs=True)
    assert once[0].startswith("One run a side proves nothing: ")
    assert ("bench/… v0 v1 as measured" in once, once[-1]) == (True, "... 26 more as measured")
    decided = of.comparisons - of.counts["typical"][UNDECIDED]
    for undermined, said in ((decided, "not proven"), (decided - 1, "95 %")):
        assert told(undermined=undermined)[0].endswith(f"of 36 (typical run, {said})")
    panel, (first, *_) = {"drawn": 1}, of.shown
    drawn = corpus_report(of, None, drawn={(first[1], first[2], first[0]): panel})
    assert [row.panel for row in drawn.tables[-1].rows] == [panel] + [None] * 9
    assert (
        drawn.notes[-1].text
        == drawn.hints[0]
        == f"Every row: speedproof corpus query {of.answers} 'FROM answers'"
    )
    gains = {**of.proven, "typical": {**of.proven["typical"], SLOWER: 0}}
    assert [corpus_report(replace(of, proven=p), None).good for p in (of.proven, gains)] == [False, True]
    failed = told(failures=tuple("abcde"))
    assert failed[1:5] == ["Left out: a", "Left out: b", "Left out: c", "... and 2 more parts"]
    nothing = "No benchmark was measured with both versions."
    assert told(comparisons=0, failures=("a",)) == [nothing, "Left out: a"]
    floor = "Sessions of the same code differ by up to 20 % (95 %) (known for 3 benchmarks):"
    assert f"{floor} verdicts are held against that." in told(sessions=(3, 0.01, 0.2))
    machine = MachineSpeeds(1.5, 30, 36, Estimate(1.1, 1.0, 1.2, 0.95))
    shaken = told(machines=1, results=(replace(whole, machine=machine),))
    (of_two,) = [line for line in shaken if "two speeds" in line]
    assert not of_two.startswith("In 1 of")
    trend: dict[str, Any] = {"undermined": 1, "undermining": ((Assumption.TREND, 1),)}
    several = told(pairs=3, apart=2, machines=1, in_some=(4, ("a", "b", "c", "d")), **trend)
    assert several[0].startswith("3 pairs of versions: ")
    assert "In 1 of 3 pairs of versions the machine ran at two speeds: nothing of them is proven." in several
    assert "2 more pairs of versions have no benchmark in common." in several
    assert "Not in every version: 4 benchmarks (a, b, c and 1 more)" in several
    assert any(line.startswith("! In 1 comparison the true risk may be larger") for line in several)
    assert not any("Geometric mean" in line or "joint risk" in line for line in several)
    assert any("(typical run, not proven)" in line for line in several)
    assert any(line.startswith("shown change") for line in several)
    assert any(line.startswith("! In 1 benchmark the true risk may be larger") for line in told(**trend))
    assert not any("more pairs" in line for line in told())
    known = {"only_reference": ("a", "b"), "only_candidate": ("c",)}
    for count, more in ((1, ""), (3, " (and 2 more)")):
        one = replace(whole, problems=("b: units",), **known)
        lacking = told(results=(one,), lacking=((2, count, count),))
        assert {"Only in v0: 2 benchmarks (a, b)", f"Left out: b: units{more}"} < {*lacking}
        assert f"Only in v1: {count} benchmark{'s' * (count > 1)} (c{' and 2 more' * (count > 1)})" in lacking
    few = sp.Corpus(put(made_up(8), tmp_path / "few")).compare("v0", "v1", workers=1)
    (one,) = few.conclusion.results
    told_of = {"results": (replace(one, **known),), "lacking": ((2, 1, 0),)}
    few = replace(few, conclusion=replace(few.conclusion, **told_of))
    (sheet,) = few.reports()
    assert [text.text for text in sheet.notes][-2:] == [
        "Only in v0: 2 benchmarks (a, b)", "Only in v1: 1 benchmark (c)",
    ]  # fmt: skip
    # The largest changes, and how many are left.
    slower, faster = (of.counts["typical"][v] for v in (SLOWER, FASTER))
    shown = [line for line in told(everything=True) if re.match(r"\d{5} ", line)]
    assert len(shown) == len(of.largest) == slower + faster
    counted = {**of.counts["typical"], FASTER: 50, SLOWER: 7}
    for everything, most in ((True, 50), (False, 5)):
        given = {**of.counts, "typical": counted}
        rest = [line for line in told(everything=everything, counts=given) if line.startswith("... ")]
        left = [7 - min(slower, most), 50 - min(faster, most)]
        still = zip(left, ("slower", "faster"), (slower, faster), strict=True)
        folded_rows = [f"... {n} {'more ' * (there > 0)}{kind}" for n, kind, there in still if n]
        assert rest == [*folded_rows, f"... {counted[UNDECIDED]} undecided"]


REGRESSION, IMPROVEMENT, EQUIVALENCE = Policy.NO_REGRESSION, Policy.PROVEN_IMPROVEMENT, Policy.EQUIVALENCE
SAYS = {
    REGRESSION: ("not worse", "regression"), IMPROVEMENT: ("improvement", "slowdown"),
    EQUIVALENCE: ("equivalence", "difference"),
}  # fmt: skip


RULES = GateRules(protocol="median")
Judged = tuple[GateRow, Comparison]


def judged(
    name: str, outcome: Outcome, policy: Policy, bounds: tuple[float, float, float], margin: float = 0.02
) -> Judged:
    """A row of a gate with its comparison: bound, speedup, bound."""
    low, value, high = bounds
    verdict = FASTER if low > 1 else SLOWER if high < 1 else UNDECIDED
    answer = replace(compared(value, verdict), benchmark=name, speedup=Estimate(value, low, high, 0.95))
    required, denied = (Claim(of, "H", 0.01, 0.02, False) for of in SAYS[policy])
    row = GateRow(name, "time", "new", Demand(policy, margin), outcome, required, denied)
    return row, answer


def changed(made: Judged, **changes: Any) -> Judged:
    c = replace(made[1], **changes)
    return replace(made[0], benchmark=c.benchmark, candidate=c.candidate.label), c


def decided(
    *judged: Judged, controls: tuple[Comparison, ...] = (), added: tuple[str, ...] = (), **fields: Any
) -> GateDecision:
    rows = tuple(row for row, _ in judged)
    fields = {"rules": RULES, "outcome": overall([row.outcome for row in rows]), "absent": (), **fields}
    results = tuple(
        SuiteComparison(
            *("old", name, "time", 0.05, None, "process"),
            (*(c for _, c in judged if c.candidate.label == name), *controls),
            controls=tuple(c.benchmark for c in controls),
            only_candidate=added,
        )
        for name in dict.fromkeys(["new", *(row.candidate for row in rows)])
    )
    return GateDecision(results, ("old", "new"), rows=rows, **fields)


FAIL, OPEN, PASS = Outcome.FAIL, Outcome.UNDECIDED, Outcome.PASS


@pytest.mark.parametrize(("outcome", "policy", "bounds", "change", "proof"), [
    (FAIL, REGRESSION, (0.7, 0.75, 0.8), "1.33x slower", "at least 1.25x"),
    (FAIL, REGRESSION, (0.0, 0.75, 0.8), "1.33x slower", "at least 1.25x"),
    (FAIL, EQUIVALENCE, (1.1, 1.2, 1.3), "1.20x faster", "at least 1.10x"),
    (FAIL, EQUIVALENCE, (0.7, 0.75, 0.8), "1.33x slower", "at least 1.25x"),
    (PASS, REGRESSION, (0.985, 0.995, 1.1), "~ 1.005x slower", "at most 1.02x slower"),
    (PASS, REGRESSION, (1.05, 1.1, 1.2), "1.10x faster", "at least 1.05x"),
    (PASS, REGRESSION, (1.0, 1.1, math.inf), "", "at least 1.00x"),
    (PASS, REGRESSION, (0.0, 1.1, 1.2), "", "-"),
    (PASS, EQUIVALENCE, (0.99, 1.0, 1.018), "", "at most 1.02x"),
    (PASS, EQUIVALENCE, (0.984, 1.0, 1.001), "", "at most 1.02x"),
    (PASS, EQUIVALENCE, (0.0, 1.0, 1.001), "", "-"), (PASS, EQUIVALENCE, (0.99, 1.0, math.inf), "", "-"),
    (OPEN, REGRESSION, (0.9, 1.0, 1.1), "", "-"),
    (OPEN, REGRESSION, (1.05, 1.1, 1.2), "1.10x faster", "-"),
    (OPEN, REGRESSION, (0.7, 0.75, 0.8), "1.33x slower", "-"),
    (OPEN, REGRESSION, (1.0, 1.1, 1.2), "", "-"),
])  # fmt: skip
def test_a_row_of_a_gate(
    outcome: Outcome, policy: Policy, bounds: tuple[float, float, float], change: str, proof: str
) -> None:
    """The bound that the outcome rests on, away from the claim; none of what is open."""
    row = gate_report(decided(judged("b", outcome, policy, bounds))).tables[0].rows[0]
    cells = [cell.text for cell in row.cells]
    assert cells[0] == {FAIL: "FAIL", OPEN: "?", PASS: "pass"}[outcome]
    assert row.cells[0].style == {FAIL: "bad", OPEN: "warning", PASS: "good"}[outcome]
    assert not change or cells[4] == change
    assert cells[5] == proof


def test_the_worst_of_a_gate_stands_first() -> None:
    """By how far the proven loss exceeds the limit, of what is open the observed one; what passed is folded."""
    rows = [
        judged("passed", PASS, REGRESSION, (1.05, 1.1, 1.2)), judged("open", OPEN, REGRESSION, (0.6, 0.9, 1.2)),
        judged("open more", OPEN, REGRESSION, (0.6, 0.7, 1.2)),
        judged("no time", OPEN, REGRESSION, (0.0, 0.0, 1.2)),
        judged("far", FAIL, REGRESSION, (0.5, 0.6, 0.7)), judged("near", FAIL, REGRESSION, (0.1, 0.2, 0.95)),
        judged("allowed", FAIL, REGRESSION, (0.1, 0.5, 0.55), margin=0.7),
        judged("gain", FAIL, IMPROVEMENT, (0.8, 0.9, 0.96)),
        judged("other", FAIL, EQUIVALENCE, (1.5, 1.6, 1.7)),
        judged("bare", FAIL, REGRESSION, (math.nan, 0.9, math.nan)),
    ]  # fmt: skip
    table = gate_report(decided(*rows)).tables[0]
    # Losses: log 1.7, log 1.02 / 0.7, log 1 / 0.9 / 1.02, log 1 / 0.55 / 1.7, log 1 / 0.95 / 1.02, log 1 / 0.96.
    order = ["other", "far", "bare", "allowed", "gain", "near", "open more", "open", "no time", "passed"]
    assert [row.name for row in table.rows] == order
    assert [row.name for row in table.rows if row.folded] == ["passed"]
    assert laid_out(gate_report(decided(*rows))) == " '' <old <new change proven-2 limit-1 "[:-1]
    limits = {row.name: row.cells[6].text for row in table.rows}
    expected = ["+2 %", "+70 %", "faster", "±2 %"]
    assert [limits[name] for name in ("far", "allowed", "gain", "other")] == expected
    many = [judged(f"b{i}", OPEN, REGRESSION, (0.6, 0.99 - i / 100, 1.2)) for i in range(14)]
    table = gate_report(decided(*many)).tables[0]
    assert [row.name for row in table.rows if not row.folded] == [f"b{i}" for i in range(13, 1, -1)]
    assert not any(row.folded for row in gate_report(decided(*many), everything=True).tables[0].rows)
    fails = gate_report(decided(*many[:2]), undecided_fails=True)
    assert ({row.outcome for row in fails.tables[0].rows}, fails.good) == ({"failed"}, False)


def test_what_stands_beside_a_row_of_a_gate() -> None:
    """The mean that goes the other way, else slow runs, else values that are not positive, else its medians."""
    often: dict[str, Any] = {"slow_runs": (0.2, 1.5)}
    zeros: dict[str, Any] = {"checks": (Note(A.POSITIVE_VALUES),)}
    paired: dict[str, Any] = {"protocol": "typical", "speedup": Estimate(1.2, 1.1, 1.3, 0.95)}
    mean = Estimate(0.8, 0.7, 0.9, 0.95)
    passed, failed = (
        judged("p", PASS, REGRESSION, (1.05, 1.1, 1.2)),
        judged("f", FAIL, REGRESSION, (0.7, 0.8, 0.9)),
    )
    opened = judged("o", OPEN, REGRESSION, (0.9, 1.0, 1.1))
    takes = "20 % of runs take 1.50x"
    rows = {
        "mean": (passed, mean, often | zeros | paired, (f"on average 1.25x slower: {takes}", "warning")),
        "slow": (failed, None, often | zeros | paired, (takes, "warning")),
        "zeros": (failed, None, zeros | paired, ("values that are not positive", "warning")),
        "seen": (passed, None, paired, ("medians 1.10x", "dim")),
        "open": (opened, None, paired, ("medians 1.00x", "dim", "")),
        "odd": (opened, None, zeros, ("values that are not positive", "warning")),
        "bare": (passed, None, {}, ("", "dim")),
    }  # fmt: skip
    made = [
        (replace(row, average=average), c)
        for name, ((row, c), average, fields, _) in rows.items()
        for row, c in [changed((row, c), benchmark=name, **fields)]
    ]
    (table,) = gate_report(decided(*made), everything=True).tables
    assert {row.name: row for row in table.rows}.keys() == rows.keys()
    for row in table.rows:
        cell, (judged_row, *_, told) = row.cells[-1], rows[row.name]
        assert (cell.text, cell.style, *cell.shorter) == told
        outcome = judged_row[0].outcome
        assert row.cells[4].style == {PASS: "", FAIL: "bad", OPEN: "warning"}[outcome]
        assert (row.outcome, row.kind) == ({PASS: "passed", FAIL: "failed", OPEN: "undecided"}[outcome],) * 2
        assert row.cells[4].speedup == made[[*rows].index(row.name)][1].certified
    lost = tuple(Absent(f"x{i}", "time", "gone; see", FAIL) for i in range(13))
    for limits in (False, True):
        others = [judged("tight", FAIL, EQUIVALENCE, (1.1, 1.2, 1.3))] * limits
        (table,) = gate_report(
            decided(*others, judged("c", FAIL, REGRESSION, (0.7, 0.8, 0.9)), absent=lost)
        ).tables
        assert [row.name for row in table.rows if row.folded] == ["x12"]
        assert {len(row.cells) for row in table.rows} == {len(table.columns)} == {6 + limits}
        assert [table.rows[0].cells[4].at(level) for level in range(3)] == [
            "gone; see",
            "gone",
            "nothing to compare",
        ]


ONE = judged("a", PASS, REGRESSION, (0.99, 1.0, 1.1))
TWO = judged("b", OPEN, REGRESSION, (0.9, 1.0, 1.1))
LOST = judged("c", FAIL, REGRESSION, (0.7, 0.75, 0.8))


@pytest.mark.parametrize(("rows", "fields", "told"), [
    ([ONE], {}, "PASS: new is not slower by more than 2 %"),
    ([ONE, ONE], {}, "PASS: none of 2 benchmarks is slower by more than 2 %"),
    ([judged("a", PASS, EQUIVALENCE, (0.99, 1.0, 1.01))] * 2, {},
     "PASS: all 2 benchmarks are the same within 2 %"),
    ([ONE, judged("b", PASS, IMPROVEMENT, (1.1, 1.2, 1.3))], {},
     "PASS: all 2 benchmarks are not slower by more than 2 % (1) and faster (1)"),
    ([TWO], {}, "UNDECIDED: new may be over 2 % slower"),
    ([ONE, TWO], {}, "UNDECIDED: 1 of 2 benchmarks may be over 2 % slower"),
    ([judged("b", OPEN, IMPROVEMENT, (0.9, 1.0, 1.1))], {}, "UNDECIDED: new may not be faster"),
    ([judged("b", OPEN, EQUIVALENCE, (0.9, 1.0, 1.1))], {}, "UNDECIDED: new may differ by over 2 %"),
    ([TWO, judged("b", OPEN, EQUIVALENCE, (0.9, 1.0, 1.1))],
     {}, "UNDECIDED: 2 of 2 benchmarks may miss their limits"),
    ([LOST], {}, "FAIL: new is slower by more than 2 %"),
    ([LOST, ONE, TWO], {}, "FAIL: 1 of 3 benchmarks is slower by more than 2 %, 1 undecided"),
    ([LOST, LOST, judged("d", FAIL, IMPROVEMENT, (0.7, 0.75, 0.8))], {},
     "FAIL: 2 of 3 benchmarks are slower by more than 2 %, 1 of 3 benchmarks is slower"),
    ([ONE, (replace(LOST[0], demand=Demand(REGRESSION, 0.1)), LOST[1])],
     {}, "FAIL: 1 of 2 benchmarks is slower by more than the margin"),
    ([ONE], {"absent": (Absent("x", "time", "gone", FAIL), Absent("y", "time", "lost", OPEN)), "outcome": FAIL},
     "FAIL: 1 benchmark missing, 1 benchmark not measured"),
])  # fmt: skip
def test_the_answer_of_a_gate(rows: list[Judged], fields: dict[str, Any], told: str) -> None:
    report = gate_report(decided(*rows, **fields))
    assert report.headline[0].text == told
    assert report.good == (not told.startswith("FAIL"))


@pytest.mark.parametrize(("rows", "rules", "told"), [
    (1, {}, "Risk of a false pass and of a false fail: at most 5 % each."),
    (1, {"looks": 2, "alpha": 0.025},
     "Risk of a false pass and of a false fail: at most 5 % each, over all 2 looks."),
    (2, {}, "Risk of a false pass: at most 5 %; of a false fail: 5 % over all 2 (Holm)."),
    (2, {"looks": 3, "alpha": 0.01, "multiplicity": "bh"},
     "Risk of a false pass: at most 3 %; of a false fail: an expected share of 3 % of those that fail"
     " (Benjamini and Hochberg), over all 3 looks."),
    (2, {"multiplicity": "none"},
     "Risk of a false pass: at most 5 %; of a false fail: 5 % for each benchmark, up to 10 % over all 2."),
    (30, {"multiplicity": "none"},
     "Risk of a false pass: at most 5 %; of a false fail: 5 % for each benchmark, up to 100 % over all 30."),
    (1, {"anytime": True}, "Risk of a false pass: at most 5 %; of a false fail: 5 %, however often one looks."),
    (1, {"anytime": True, "family": 2},
     "Risk of a false pass: at most 5 %; of a false fail: 5 % over all 2, however often one looks."),
])  # fmt: skip
def test_the_risk_of_a_gate(rows: int, rules: dict[str, Any], told: str) -> None:
    made = gate_report(
        decided(*[ONE] * rows, rules=replace(RULES, **rules), ignored=(*"ijkl",), added=("n" * 28, "m" * 30))
    )
    notes = [text.text for text in made.notes]
    assert notes[-1] == told
    named = f"New, not judged: {'n' * 28}, {'m' * 30}."
    assert notes[:2] == [named, "Ignored by the settings: i, j, k and 1 more."]
    looked = decided(*[changed(ONE, test=SEQUENTIAL)] * rows, rules=replace(RULES, **rules))
    often = rules.get("looks", 1) == 1 and rules.get("multiplicity") != "bh"
    assert (", however often one looks." in gate_report(looked).notes[-1].text) is often
    looks = rules.get("looks", 1)
    assert (f"Look 1 of {looks} decided." in notes) == (looks > 1)


def test_reasons_that_leave_a_gate_open() -> None:
    """Each once with its benchmarks, where more runs alone would not tell; and what an early look leaves."""
    some = [
        changed(TWO, benchmark=name, needed=Needed(None, None, why))
        for name, why in (("a", "noise"), ("b", "drift"), ("c", "noise"), ("d", ""))
    ]
    known = changed(TWO, benchmark="e", needed=Needed(9, 9, "more"))
    made = gate_report(decided(*some, known, rules=replace(RULES, look=1, looks=2, alpha=0.025)))
    notes = [text.text for text in made.notes]
    expected = ["a, c: noise.", "b: drift.", "Look 1 of 2: measure what is open again, with more runs."]
    assert notes[:3] == expected
    last = gate_report(decided(*some, rules=replace(RULES, look=2, looks=2, alpha=0.025)))
    assert "Look 2 of 2." in [text.text for text in last.notes]
    titles = [column.title for column in made.tables[0].columns]
    assert titles[5] == "proven"
    (row,) = (row for row in made.tables[0].rows if row.name == "e")
    assert [row.cells[5].at(level) for level in (0, 1)] == ["needs ~9 runs", "needs ~9"]
    row = Voice("faster", "slower").row(replace(known[1], verdict=UNDECIDED), ())
    brief = ["undecided (needs ~9 runs)", "undecided (needs ~9 runs)", "needs ~9 runs"]
    assert [row.cells[3].at(level) for level in range(3)] == brief


def test_what_a_gate_says_of_one_benchmark() -> None:
    """The claim with its hypothesis, p-value and correction, or what would decide it."""
    several = decided(LOST, ONE)
    assert sentence(several, *LOST).startswith(
        "Proven: slower by more than 2 % (H, p = 0.02 after Holm's correction over 2); "
    )
    assert sentence(several, *ONE).startswith("Proven: not slower by more than 2 % (H, p = 0.02); ")
    assert sentence(decided(LOST), *LOST).startswith("Proven: slower by more than 2 % (H, p = 0.02); ")
    for rules, how in (({"multiplicity": "none"}, ""),
    ({"multiplicity": "bh"}, " after Benjamini and Hochberg's correction over 2"),
                       ({"anytime": True, "family": 3}, " after Bonferroni's correction over 3")):  # fmt: skip
        told = sentence(decided(LOST, ONE, rules=replace(RULES, **rules)), *LOST)
        assert f"(H, p = 0.02{how}); " in told
    unknown = replace(LOST[0], contradicted=replace(LOST[0].contradicted, adjusted=math.nan)), LOST[1]
    assert sentence(decided(unknown), *unknown).startswith("Proven: slower by more than 2 % (H); ")
    lost = replace(LOST[0], mean=LOST[1]), LOST[1]
    by_mean = decided(lost, rules=GateRules())
    assert sentence(by_mean, *lost).startswith("Proven: slower by more than 2 % on average (H, p = 0.02); ")
    assert gate_report(by_mean).headline[0].text == "FAIL: new is slower by more than 2 % on average"
    assert gate_report(by_mean).tables[0].rows[0].cells[4].text == "1.33x slower on average"
    open_yet = changed(TWO, needed=Needed(40, 40, ""))
    assert sentence(decided(open_yet), *open_yet).endswith("; needs about 40 runs")
    assert sentence(decided(TWO), *TWO).startswith("Undecided: ")


@pytest.mark.parametrize(("fields", "left", "told"), [
    ({"estimate": 1.1}, None, "new: 1.10x faster so far, undecided, too early to say how many more"),
    ({"estimate": 0.8, "blocks_to_go": 123.4}, None,
     "new: 1.25x slower so far, undecided, about 150 runs of each in all"),
    ({"estimate": 0.8, "blocks_to_go": 0.3}, None,
     "new: 1.25x slower so far, undecided, about 21 runs of each in all"),
    ({"estimate": 1.1, "blocks_to_go": math.inf}, None, f"new: 1.10x faster so far, undecided, {NO_NUMBER}"),
    ({"estimate": 1.1, "blocks_to_go": 0.0}, None, "new: 1.10x faster so far, undecided, enough is known"),
    ({"estimate": 1.1, "reason": "the time is over"}, None,
     "new: 1.10x faster so far, undecided, the time is over"),
    ({"estimate": 1.1, "blocks_to_go": 3.0}, 7, "new: 1.10x faster so far, 7 runs of each to go"),
    ({"estimate": 1.1, "blocks_to_go": 3.0}, 1, "new: 1.10x faster so far, 1 run of each to go"),
    ({"estimate": 1.1, "bounds": (1.05, math.inf), "verdict": FASTER, "blocks_to_go": 2.0}, None,
     "new: from 1.05x faster to any factor faster, about 22 runs of each in all"),
    ({"estimate": 1.1, "bounds": (0.0, 1.2)}, None,
     "new: at most 1.20x faster, undecided, too early to say how many more"),
    ({"estimate": 1.1, "bounds": (0.9, 1.2), "metric": "rss"}, None,
     "new: 1.12x worse to 1.20x better, undecided, too early to say how many more"),
])  # fmt: skip
def test_how_far_a_candidate_is(fields: dict[str, Any], left: int | None, told: str) -> None:
    low, high = fields.pop("bounds", (0.0, math.inf))
    result = replace(sequential(1.0, UNDECIDED).result, low=low, high=high)
    found = sequential(fields.pop("estimate"), fields.pop("verdict", UNDECIDED), result=result)
    found = replace(found, **{"blocks_to_go": math.nan, **fields})
    assert standing([found], left) == [told]
    nothing = replace(found, estimate=math.nan, candidate="newer")
    assert standing([nothing, found], left) == [told]


def test_recent_values_as_bars() -> None:
    """A line a version, its median first."""
    shown = bars({"old": [1.0, 3.0, 2.0], "newer": [], "x": [2e-3]}, seconds=True)
    assert [line.split()[:3] for line in shown] == [["old", "2", "s"], ["newer", "-"], ["x", "2", "ms"]]
    assert len({line.rindex("  ") for line in shown if line.rstrip() == line}) == 1
    assert bars({"old": [12345.0]}, seconds=False)[0].split()[1] == "1.234e+04"


@pytest.mark.parametrize(("rows", "shown"), [
    ((20, 20, 9), (5, 5)), ((20, 2, 9), (8, 2)), ((3, 30, 0), (3, 7)), ((0, 30, 9), (0, 10)), ((5, 5, 3), (5, 5)),
    ((6, 6, 0), (6, 6)), ((7, 6, 0), (5, 5)),
])  # fmt: skip
def test_the_clearest_rows_stay_open(rows: tuple[int, ...], shown: tuple[int, int]) -> None:
    """The first ten of more than twelve: five of either kind, more of one where the other has few."""
    made = [
        Row((Cell(f"{kind}{i}"),), kind=kind) for kind, n in zip("abc", rows, strict=True) for i in range(n)
    ]
    table = folded(Table.of((Column("name"),), made), "a", "b")
    still = [
        [row.cells[0].text for row in table.rows if row.kind == kind and not row.folded] for kind in "abc"
    ]
    assert still == [[f"{kind}{i}" for i in range(n)] for kind, n in zip("abc", (*shown, 0), strict=True)]
    assert not any(row.folded for row in folded(Table.of((Column("name"),), made), "a", everything=True).rows)


def test_inputs_stand_in_place_of_a_sheets_rows() -> None:
    """Of several sheets they come behind, whole."""
    row = Table.of((Column("name"),), [Row((Cell("r"),))])
    sheets = [Report(name, (Text(name), Text("risk")), (row,), (Text(f"{name} note"),)) for name in "ab"]
    inputs = over_report([over("b", {"1": 1.2, "2": 1.3}, FASTER)], everything=False, details=False)
    assert [*beside_over(sheets, inputs)] == [*sheets, inputs]
    (one,) = beside_over(sheets[:1], inputs)
    assert one.headline == (Text("a"), *inputs.headline, Text("risk"))
    assert (one.title, one.tables, one.notes) == ("a", inputs.tables, (Text("a note"), *inputs.notes))


def sequential(estimate: float, verdict: Verdict, **fields: Any) -> CandidateResult:
    nothing = SequentialResult(20, 0, 0.05, 0.0, math.inf, 1.0, 1.0)
    given = {"benchmark": "sort", "reference": "old", "candidate": "new", "result": nothing, **fields}
    return CandidateResult(verdict=verdict, estimate=estimate, reason="", blocks_to_go=0.0, **given)


def ending(*findings: CandidateResult, **given: Any) -> Report:
    question = given.pop("question", QUESTION)
    heads: dict[str, list[Comparison]] = {}
    for f in findings:
        named = {"benchmark": f.benchmark, "reference": f.reference, "candidate": f.candidate}
        bounds = f.result.low, f.result.high
        heads.setdefault(f.candidate, []).append(of_blocks(f.estimate, f.verdict, bounds, **named))
    results = [sheet_of(*of) for of in heads.values()]
    return session_report(findings, question, results, **given)


def ended(*findings: CandidateResult, **given: Any) -> list[str]:
    return [" ".join(line) for line in lines(ending(*findings, **given))]


def test_what_happened_while_a_session_was_measured() -> None:
    """Of one benchmark every message once; of several where the risk is another one; the time of the processor."""
    bounds = SequentialResult(20, 0, 0.05, 1.05, 1.2, 0.01, 1.0)
    notes = (
        Note(A.TREND, "they rise"),
        Note(A.ONE_LAYOUT, "x"),
        Note(A.NORMALITY, "odd"),
        Note(A.TREND, "they rise"),
    )
    found = sequential(1.1, FASTER, result=bounds, warnings=notes)
    assert [line for line in ended(found) if line.startswith("!")] == ["! They rise.", "! Odd."]
    many = [replace(found, benchmark=f"group/b{i}") for i in range(7)]
    assert [line for line in ended(*many) if line.startswith("!")] == [
        "! In b0, b1, b2, b3, b4 and 2 more the true risk may be larger: a trend over the runs."
    ]
    quiet = replace(many[1], warnings=notes[1:3])
    assert not any(line.startswith("!") for line in ended(quiet, replace(quiet, benchmark="b")))
    old, new = {"user": "1 s", "system": "0 s"}, {"user": "2 s", "system": "0 s"}
    idle, busy = (
        "'sort' <median <mean <min-3 <max-2 <user-1 <runs",
        "'sort' <median <mean <min-4 <max-3 <user-2 <system-1 <runs",
    )
    for spent, heads in (((old, new), idle), ((old | {"system": "1 ms"}, new), busy), (({}, new), None)):
        sides = {("sort", version): of for version, of in zip(("old", "new"), spent, strict=True)}
        made = ending(found, spent=sides)
        assert laid_out(made) == (heads or "'sort' <median <mean <min-2 <max-1 <runs")
        users = [[cell.text for cell in row.cells][5] for row in made.tables[0].rows]
        assert users == (["1 s", "2 s"] if heads else ["20", "20"])


def test_what_builds_of_a_session_stand_for() -> None:
    bounds = SequentialResult(20, 0, 0.05, 1.05, 1.2, 0.01, 1.0)
    found = sequential(1.1, FASTER, result=bounds)
    varied = "Every block has builds of its own, layouts varied: this is said of the code."
    alike = "All builds have one layout: this is said of them; {seed} in --build varies it."
    for builds, told in (((20, True), varied), ((20, False), alike)):
        report = ended(found, builds=builds)
        assert told in report
        assert not any("pairs:" in line or "so far" in line for line in report)
    lost = ended(found, builds=(30, True))
    assert varied in lost
    assert "Complete pairs: 20 of 30; runs of the others failed." in lost
    early = replace(found, result=replace(bounds, pvalue_faster=1.0, pvalue_slower=1.0))
    at_first = ended(early, builds=(30, True))
    assert "Pairs of builds measured so far: 20 of 30; --resume measures the others." in at_first
    assert "this is said of" not in " ".join(at_first)


def test_what_cannot_differ_and_does_is_said_first() -> None:
    """Builds of one source, and what the change cannot touch; then no smaller verdict is given."""
    asked = SessionAsked("time", control=True, unaffected=("idle",))
    own, again = of_blocks(1.1, FASTER), of_blocks(1.02, FASTER, candidate=control_name("old"))
    idle = of_blocks(0.98, SLOWER, benchmark="idle")
    told = report(withheld(sheet_of(own, idle), Controls(asked, (again, idle)))).headline
    assert [text.text for text in told[1:]] == [
        "The noise floor is not met: old, built again from the same source, is 1.02x faster (sort)."
        " Smaller claims are withheld.",
        "idle, which the change cannot touch, is 1.02x slower: something else differs."
        " Smaller claims are withheld.",
    ]
    same = replace(idle, verdict=UNDECIDED)
    assert not report(withheld(sheet_of(own, same), Controls(asked, (same,)))).headline[1:]


def test_what_a_session_says_beside_its_verdict() -> None:
    """The load where something is open, what contradicts one speedup, and the risk."""
    bounds = SequentialResult(20, 0, 0.05, 1.05, 1.2, 0.01, 1.0)
    found = sequential(1.1, FASTER, result=bounds)
    loaded = "! The load was 3.1: on an idle machine fewer runs are enough."
    assert loaded not in ended(found, load="3.1")
    open_yet = replace(found, verdict=UNDECIDED, result=replace(bounds, low=0.9))
    assert loaded in ended(open_yet, load="3.1")
    assert not any("The load was" in line for line in ended(open_yet))
    lost = sheet_of(replace(of_blocks(1.1, UNDECIDED), needed=WITHHELD))
    assert not any("load" in n.text for n in session_report([open_yet], QUESTION, [lost], load="3.1").notes)
    skewed = replace(found, result=replace(bounds, low=1.2, high=1.1))
    assert "new: no single speedup fits all pairs." in ended(skewed)
    risk = "20 pairs of runs in random order, looked at after each; risk 5 % each way."
    assert risk in ended(found)
    both = [found, replace(found, benchmark="hash")]
    assert "Pairs of runs in random order, looked at after each; risk 5 % each way a benchmark." in [
        line.replace("Pairs in", "Pairs of runs in") for line in ended(*both)
    ]
    for alphas, shared in (((0.05, 0.025), False), ((0.025, 0.025), True)):
        some = [replace(f, result=replace(bounds, alpha=of)) for f, of in zip(both, alphas, strict=True)]
        assert any("share the risk: 5 % a direction." in line for line in ended(*some)) is shared
    (nothing,) = session_report([found], QUESTION, []).headline
    assert nothing.text == "Undecided: no complete block was measured."
    idle = SessionQuestion(stop_rules(), unaffected=["sort", "hash"])
    assert any(
        line.endswith("; the 2 that the change cannot touch count as one.")
        for line in ended(*both, question=idle)
    )


def test_a_gate_of_several_candidates_names_what_tells_rows_apart() -> None:
    """Candidates, benchmarks or both; what is missing, not measured or cannot differ is named, too."""

    def row(benchmark: str, candidate: str) -> Judged:
        made = judged(benchmark, OPEN, REGRESSION, (0.9, 1.1, 1.2))
        summary = replace(made[1].candidate, label=candidate)
        return changed(made, candidate=summary, needed=Needed(None, None, "too early to say"))

    for pairs, names, counted in (
        ([("sort", "new"), ("sort", "newer")], "new, newer", "2 of 2 comparisons"),
        ([("sort", "new"), ("hash", "new")], "sort, hash", "2 of 2 benchmarks"),
        ([("sort", "new"), ("hash", "newer")], "sort (new), hash (newer)", "2 of 2 comparisons"),
    ):  # fmt: skip
        told = lines(gate_report(decided(*(row(*pair) for pair in pairs))))
        assert told[0][0].startswith(f"UNDECIDED: {counted} may be over 2 % slower")
        assert [f"{names}: too early to say."] in told
    lost, gone = (
        Absent("hash", "time", "only the reference has it"),
        Absent("d", "time", "not measured", OPEN),
    )
    idle = of_blocks(1.1, UNDECIDED, (0.9, 1.2), benchmark="idle")
    made = decided(row("sort", "new"), absent=(lost, gone), outcome=FAIL, controls=(idle,))
    joined = [" ".join(line) for line in lines(gate_report(made))]
    assert joined[0].startswith("FAIL: 1 benchmark missing, 1 benchmark not measured, new may be")
    assert {"MISSING hash - only the reference has it", "? d - not measured"} <= set(joined)
    assert "Not judged: idle (1.12x slower to 1.20x faster)." in joined
    (table,) = gate_report(made).tables
    assert {(len(row.cells), row.folded) for row in table.rows} == {(len(table.columns), False)}


@pytest.mark.parametrize(("notes", "told"), [
    ([Note(A.TWO_MEASUREMENTS, "", ("old", "new"))],
     "old and new hold the same values: one measurement, given twice"),
    ([Note(A.TWO_MEASUREMENTS, "", ("old", v), ("a",)) for v in ("new", "newer", "newest")],
     "old and 3 others hold the same values in 1 benchmark: one measurement, given twice"),
    *(([Note(A.ONE_UNIT, "", statistic=apart)],
       f"Is one side in another unit? All values differ by a factor of about {shown}."
       " Name it in the header of each file, as 'time_ms'.")
      for apart, shown in ((1000.4, "1,000"), (1e300, "1e+300"))),
    ([Note(A.INTERLEAVED, "", ("old", "new"), ("a", "b"))],
     "old ran first in 2 benchmarks: drift may look like a change. Interleave: speedproof run"),
    ([Note(A.INTERLEAVED, "", ("old", v), of) for v, of in (("new", ("a",)), ("newer", ()))],
     "old ran before new and newer in some benchmarks: drift may look like a change. Interleave: speedproof run"),
    ([Note(A.ONE_SESSION, "", ("old", "new"))],
     "Measured in two sessions, which may differ. Interleave: speedproof run"),
    ([Note(A.ONE_SESSION, "", ("old", v)) for v in ("new", "newer")],
     "old and 2 others were measured in several sessions, which may differ. Interleave: speedproof run"),
    ([Note(A.ONE_LAYOUT, "", benchmarks=("a",))],
     "Builds of one source can differ as much in 1 benchmark: run --builds tells code from layout"),
    ([Note(A.SEVERAL_SESSIONS, "", ("old", "new"), statistic=0.0234)],
     "Few sessions; those of one version differ by 2.3 %. Measure four of each version."),
    ([Note(A.SEVERAL_SESSIONS, "", ("old", v), statistic=of) for v, of in (("new", 0.01), ("newer", 0.2))],
     "Few sessions of old and 2 others; those of one version differ by up to 20 %. Measure four of each version."),
    ([Note(A.PLANNED_SIZE, "", benchmarks=("a",))],
     "Stopped on its result in 1 benchmark: only the verdict of the session itself holds."),
    ([Note(A.PLANNED_SIZE, "my a.jsonl")],
     "Stopped on its result. The verdict that holds: speedproof run --review 'my a.jsonl'"),
    ([Note(A.USUAL_CONFIDENCE, "")],
     "At 50 % confidence or less even the slower version can be 'proven' faster."),
    ([Note(A.SEVERAL_PROCESSES, "", ("old",), ("a",))],
     "old is one process in 1 benchmark: another start may differ more. Repeat whole processes."),
    ([Note(A.SEVERAL_PROCESSES, "", ("old", "new"))],
     "Each side is one process: another start may differ more. Repeat whole processes."),
    ([Note(A.STEADINESS, "the first 10 values of a process are used", benchmarks=("a",))],
     "Only the first 10 values of a process are used in 1 benchmark: some processes hold no more."),
    ([Note(A.SEVERAL_RUNS, "runs", ("old", "new"), statistic=0.125)],
     "! Fewer than 4 runs a side: the risk is up to 12.5 % unless both vary alike."),
    ([Note(A.SEVERAL_RUNS, "runs", ("old", "new"), ("a", "b"), 0.125)],
     "! Fewer than 4 runs a side in 2 benchmarks: the risk is up to 12.5 % unless both vary alike."),
    ([Note(A.SEVERAL_RUNS, "runs", ("old", v), of, 0.125) for v, of in (("x", ("a", "b")), ("y", ("b",)))],
     "! Fewer than 4 runs a side in some benchmarks: the risk is up to 12.5 % unless both vary alike."),
    ([Note(A.SEVERAL_SESSIONS, "", ("old", v), of, by)
      for v, of, by in (("x", ("a", "b"), 2.5), ("y", (), 0.1), ("z", ("b",), 0.2))],
     "Few sessions of old and 3 others in some benchmarks; those of one version differ by up to 250 %."
     " Measure four of each version."),
    ([Note(A.SEVERAL_RUNS, "processes", ("old",), statistic=0.25)],
     "! Fewer than 4 processes of old: the risk is up to 25 % unless both vary alike."),
    ([Note(A.NORMALITY, "p = 0.01", benchmarks=("a",))],
     f"Not known in 1 benchmark: normality (p = 0.01){f'; {A.NORMALITY.remedy}' if A.NORMALITY.remedy else ''}."),
])  # fmt: skip
def test_what_the_data_cannot_know(notes: list[Note], told: str) -> None:
    """One sentence for what several versions have of one kind, with the command that cures it."""
    (text,) = caveats(notes)
    assert (text.text, text.style) == (told, "warning")


@pytest.mark.parametrize(("protocol", "kind", "told"), [
    ("mean", A.TWO_MEASUREMENTS, False), ("mean", A.SEVERAL_RUNS, True), ("typical", A.SEVERAL_RUNS, False),
    ("typical", A.RUN_ORDER, True), ("typical", A.NORMALITY, False),
])  # fmt: skip
def test_what_a_sheet_says_at_its_top_is_not_counted(protocol: str, kind: Assumption, told: bool) -> None:
    of = replace(compared(1.2, FASTER), protocol=protocol, checks=(Note(kind, ""),))
    assert failed([of]) == ({kind: 1} if told else {})
    assert failed([replace(of, verdict=UNDECIDED)]) == {}


@pytest.mark.parametrize(("kinds", "counts"), [
    ("otT", {A.TREND: 2, A.RUN_ORDER: 1}), ("to", {A.RUN_ORDER: 1, A.TREND: 1}), ("t", {A.TREND: 1}),
])  # fmt: skip
def test_assumptions_that_are_not_met_are_counted(kinds: str, counts: dict[Assumption, int]) -> None:
    """The most frequent first, of equals by name; of one benchmark alone in a sentence."""
    of = [
        replace(compared(1.2, FASTER), benchmark=name, protocol="typical", checks=(Note(kind),))
        for name in kinds
        for kind in [A.RUN_ORDER if name == "o" else A.TREND]
    ]
    assert [*failed(of).items()] == [*counts.items()]
    listed = ", ".join(f"{kind.violated} ({n})" for kind, n in counts.items())
    many = f"! In {len(kinds)} benchmarks the true risk may be larger: {listed}."
    (told,) = doubts(of)
    assert told.text == (many if len(kinds) > 1 else "! A trend over the runs: the true risk may be larger.")


def test_speedups_of_hpt_with_all_digits() -> None:
    """A second end stands beside the first only where more pass beyond it."""
    found = sp.hpt(sp.read("examples/gcc/O2.json", "examples/gcc/O3.json"))
    alike = (
        RSpeedup(0.95, 1.76, True, "44/25", 1.76, 1.76, True, "44/25"),
        RSpeedup(0.99, 1.0004, False, "2501/2500", 1.0, 1.0004, False, "2501/2500"), RSpeedup(0.999),
    )  # fmt: skip
    rows = [["95 %", "1.76", "1.76"], ["99 %", "1.00", "1.0004"], ["99.9 %", "none", "none"]]
    for speedups, more in (
        (alike, []), ((replace(alike[0], supremum=1.9), *alike[1:]), ["1.9", "1.0004", "none"]),
    ):  # fmt: skip
        (report,) = replace(found, result=replace(found.result, speedups=speedups)).reports(details=True)
        part = next(one for one in report.every() if one.title == "Speedups")
        head, *told = lines(part)
        assert head == ["confidence", "speedup", "all pass up to", *["last that passes"] * bool(more)]
        assert told == [[*row, *more[i : i + 1]] for i, row in enumerate(rows)]


def changed_in(of: Any, fields: dict[str, Any]) -> Any:
    """A result with those of some fields that it has."""
    return replace(of, **{name: fields[name] for name in of.__struct_fields__ if name in fields})


LEVELS = {"v1": 1.0, "a": 1.01, "b": 1.3, "c": 1.31, "v2": 1.3}
BISECTED = sp.bisect(list(LEVELS), LEVELS.__getitem__, seed=1)
STEP: dict[str, Any] = {
    "step": 1.25, "step_low": 1.125, "step_high": 1.5, "change": 1.25, "change_low": 1.125, "change_high": 1.5,
    "rest_low": math.nan, "rest_high": math.nan, "second": 0.0, "pairs": 10, "tick": 0.0,
}  # fmt: skip
GAIN = {"step": 0.5, "step_high": 1.0, "change": 0.8, "change_low": 0.5, "change_high": 1.5}
MAYBE: dict[str, Any] = {"outcome": BisectionOutcome.OPEN, "credible": (1, 2), "skipped": (1,)}
NOTHING: dict[str, Any] = {"outcome": BisectionOutcome.NOTHING, "change_low": 0.8, "change_high": 1.0625}
UNPROVEN: dict[str, Any] = {"outcome": BisectionOutcome.UNPROVEN, "change_low": 0.0, "change_high": math.inf}
FIRST, AGAINST = "v2 against v1: ", "1.25x slower, at least 1.12x (95 % confidence)"
RUNS = "20 runs in random pairs, 5 commits."
CANCEL = "Changes that cancel each other are not excluded."
OPEN_STEP = ["The commits that could be it (95 %):", "a (left out)", "b", f"{FIRST}{AGAINST}"]
NOISE = {"noise": 0.0234, "visible": 0.0512, "enough_noise": 0.0123}


@pytest.mark.parametrize(("fields", "more", "told"), [
    ({}, {}, ["b is the first slow commit", f"against its parent: {AGAINST}", f"{FIRST}{AGAINST}", RUNS]),
    (GAIN, {"metric": "rss", "varied": False, "skipped": (1, 3)}, [
        "rss: b is the first better commit",
        "against its parent: 2.00x better, too coarsely timed for a bound (95 % confidence)",
        f"{FIRST}about 1.25x better", RUNS.replace(".", "; 2 left out."),
        "One build of each commit: this is said of these builds; {seed} in --build varies the layout."]),
    ({"second": 0.8765, "varied": True}, {}, [
        "b is the first slow commit", f"against its parent: {AGAINST}", f"{FIRST}{AGAINST}",
        "There may be another change (88 % likely): bisect before and after this commit.",
        "20 builds paired at random, 5 commits.",
        "Every pair had fresh builds, layouts varied: this is said of the code."]),
    (NOTHING, {"varied": False}, [
        "Nothing changed by 1 % or more between the ends.",
        f"{FIRST}1.07x slower to 1.25x faster, proven (95 % confidence)", CANCEL, RUNS,
        "One build of each commit: this is said of these builds; {seed} in --build varies the layout."]),
    *((NOTHING | {"change_low": low, "change_high": high}, {"culprit": None, "varied": False}, [
        "Nothing changed by 1 % or more between the ends.", f"{FIRST}{said}, proven (95 % confidence)", CANCEL,
        RUNS,
    ]) for low, high, said in (
        (1.0, 1.0, "equal"), (1.0, 1.0625, "1.00x to 1.07x slower"), (0.8, 1.0, "1.00x to 1.25x faster"),
    )),
    (UNPROVEN, {"more_runs": 34.0}, ["Undecided: no change is proven (needs about 40 more runs).", RUNS]),
    (UNPROVEN | {"change_low": 0.8}, {"varied": True, **NOISE}, [
        "Undecided: no change is proven (from 20 builds on it says how many more it needs).",
        f"{FIRST}at most 1.25x faster (95 % confidence)",
        "Builds of one commit scatter by 2.3 %: 20 builds show only changes of 5.1 % or more.",
        "If they scattered by 1.2 %, 20 builds would be enough for an answer.",
        "20 builds paired at random, 5 commits.",
        "Every pair had fresh builds, layouts varied: this is said of the code."]),
    (UNPROVEN | {"change_high": 1.0625}, {**NOISE, "load": "the load is 3 on 2"}, [
        "Undecided: no change is proven (from 20 runs on it says how many more it needs).",
        f"{FIRST}from 1.07x slower to any factor faster (95 % confidence)",
        "Runs of one commit scatter by 2.3 %: 20 runs show only changes of 5.1 % or more.",
        "If they scattered by 1.2 %, 20 runs would be enough for an answer.", "The load is 3 on 2.", RUNS]),
    (UNPROVEN | {"tick": 0.0234}, {"more_runs": 34.0, **NOISE}, [
        "Undecided: no change is proven.",
        "The times are read in steps of 2.3 %, too coarse for a change of 1 %: let the program do more, or"
        " measure it finer.", RUNS]),
    *((MAYBE, {"more_runs": runs}, [
        f"Undecided: the first slow commit is not confirmed{said}.", *OPEN_STEP,
        RUNS.replace(".", "; 1 left out."),
    ]) for runs, said in (
        (0.0, ""), (1.0, " (needs about 1 more runs)"), (999_999.5, " (needs about 1,000,000 more runs)"),
        (1e6, ""),
    )),
    (MAYBE | {"credible": (0, 1)}, {"varied": True, "more_runs": 34.0}, [
        "Undecided: the first slow commit is not confirmed (needs about 40 more builds).",
        OPEN_STEP[0], "v1", OPEN_STEP[1], OPEN_STEP[3], "20 builds paired at random, 5 commits; 1 left out.",
        "Every pair had fresh builds, layouts varied: this is said of the code."]),
])  # fmt: skip
def test_what_a_bisection_says(fields: dict[str, Any], more: dict[str, Any], told: list[str]) -> None:
    """The commit and its size with what is proven of it, what else may be, why it is open, and of what it is."""
    given = {**STEP, "parent": 1, "culprit": 2, **fields, **more}
    outlook = {"noise": 0.0, "more_runs": math.nan, "enough_noise": math.nan, "visible": math.nan} | given
    finding = changed_in(BISECTED.finding, given | {"outlook": changed_in(BISECTED.finding.outlook, outlook)})
    found = changed_in(BISECTED, given | {"finding": finding, "file": "my b.jsonl"})
    (report,) = found.reports()
    assert report.hints == ("Go on: speedproof bisect --resume 'my b.jsonl'",) * finding.open
    assert [" ".join(line) for line in lines(replace(report, hints=()))] == told
    many = replace(finding, outcome=BisectionOutcome.OPEN, credible=(*range(1, 12),), skipped=())
    (report,) = replace(found, finding=many, commits=tuple(f"c{i}" for i in range(13))).reports()
    expected = [*(f"c{i}" for i in range(1, 9)), "... 3 more"]
    assert [text.text.strip() for text in report.headline[2:-1]] == expected


@pytest.mark.parametrize(("good", "failures"), [(None, 0), (True, 0), (False, 1)])
def test_an_answer_without_rows_is_one_test(good: bool | None, failures: int) -> None:
    (case,) = ElementTree.fromstring(
        FORMATS["junit"].write(Reported([Report("t", (Text("It is so", "", "(95 %)"),), good=good)]), "")
    ).iter("testcase")
    assert (case.get("name"), len(case.findall("failure"))) == ("t", failures)
    assert (case[0].text, {*case[0].attrib.values()}) == (
        "It is so (95 %).\n", {"It is so (95 %).", "fail"} if failures else set(),
    )  # fmt: skip


@pytest.mark.parametrize(("metric", "word"), [("time", "faster"), ("memory", "better")])
def test_how_far_modes_moved(metric: str, word: str) -> None:
    """Of several modes, where any is shown to have moved or to have another share."""
    modes = [
        MatchedMode(2.5, 0.5, Estimate(5.0, 4.5, 5.5, 0.95), 0.7, 0.4, True, False, 0.01, 0.2),
        MatchedMode(3.0, 3.0, Estimate(1.0, 0.9, 1.1, 0.95), 0.3, 0.6, False, True, 0.2, 0.01),
    ]
    of = ModeComparison("b", metric, "s", 0.05, (20, 20), (), (), (), (), (), 0.01, (), 1, 0.5)
    moves = [
        f"b: the mode at 2.5 s is at 0.5 s, 5.00x {word} [4.50x, 5.50x]; from 70 % to 40 % of the runs"
        " (not shown).",
        "b: the mode at 3 s is at 3 s, 1.00x [0.90x, 1.10x] (not shown); from 30 % to 60 % of the runs.",
    ]
    still = [replace(one, moved=False, reweighted=False) for one in modes]
    for matched, told in ((modes, moves), (modes[:1], []), (still, [])):
        compared = replace(of, matched=tuple(matched))
        made = modes_report([compared], ("old", "new"), everything=False, details=True)
        assert [text.text.strip() for text in made.notes] == told
    places: dict[str, Any] = {"reference_modes": (2.5, 3.0), "candidate_modes": (0.5,), "gap": 1.2345}
    rows = [
        replace(of, benchmark=name, pvalue=pvalue, **(places | fields))
        for name, pvalue, fields in (
            ("none", 0.6, {}), ("moved", 0.01, {"matched": (modes[0],)}),
            ("shares", 0.001, {"matched": (modes[1],)}),
            ("gone", 0.02, {"vanished": (2.5,), "appeared": (1.0, 2.0), "matched": (*modes,)}),
            ("odd", 0.01, {"undermining": (A.TREND,), "reference_modes": ()}),
        )
    ]  # fmt: skip
    report = modes_report(rows, ("old", "new"), everything=False, details=False)
    both, rest = "2.5 s, 3 s 500 ms", "1.23 s 0.50"
    assert in_words(report) == [
        "Modes of new against old: 3 changed, 1 without a shown change, 1 without a claim (risk 5 % in each)",
        "modes of old modes of new what changed E|X-Y| P[Y<X]", f"shares {both} other shares {rest}",
        f"moved {both} moved {rest}", f"gone {both} 1 vanished, 2 appeared, other shares {rest}",
        f"none {both} no change shown {rest}", f"odd - 500 ms no claim: a trend over the runs {rest}",
    ]  # fmt: skip
    assert laid_out(report) == "'' modes of old modes of new what changed <E|X-Y|-2 <P[Y<X]-1"
    first = report.tables[0].rows[0]
    assert (first.cells[1].at(1), first.cells[3].style, first.kind) == ("2.5 s, 1 more", "strong", "changed")
    assert "none; a mixture takes ten runs" in in_words(
        modes_report([], ("a", "b"), everything=False, details=False)
    )[0]  # fmt: skip
    (text, *_) = modes_report([of], ("o" * 25, "n" * 24), everything=False, details=True).headline
    assert ("o" * 25 in text.text, "n" * 24 in text.text) == (False, True)

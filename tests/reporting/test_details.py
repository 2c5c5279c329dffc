"""What a sheet leaves out, written by hand: a row of every protocol, the whole suite, why a verdict is so."""

import math
from typing import Any

from msgspec.structs import replace
from tests.command import in_words, laid_out
from tests.reporting.test_by_hand import FASTER, SLOWER, UNDECIDED, compared

from speedproof.conclude.suite import SuiteComparison
from speedproof.data.notes import Assumption, Note
from speedproof.protocols.aggregates import GeometricMeans, OverallGain
from speedproof.protocols.results import Comparison, Needed, Verdict
from speedproof.reporting.details import of_all, sections
from speedproof.reporting.rows import Voice
from speedproof.stats.estimate import Estimate

SAME = Verdict.EQUIVALENT
TREND = Note(Assumption.TREND, "they rise", pvalue=0.01)
NORMAL = Note(Assumption.NORMALITY, "so they are", pvalue=0.5, held=True)
TEST = "Wilcoxon-Mann-Whitney test"
RUNS_HEAD = "old new change p runs"


def answer(name: str, speedup: float, verdict: Verdict, protocol: str = "typical", **more: Any) -> Comparison:
    fields = {"benchmark": name, "protocol": protocol, "pvalue": 0.0123, "pvalue_slower": 0.98, **more}
    return replace(compared(speedup, verdict), **fields)


def suite_of(*answers: Comparison, **more: Any) -> SuiteComparison:
    return SuiteComparison("old", "new", "time", 0.05, None, "process", answers, **more)


def parts(result: SuiteComparison, **asked: bool) -> dict[str, list[str]]:
    asked = {"details": False, "explain": False, **asked}
    return {part.title: in_words(part) for part in sections(result, **asked)}


def test_every_protocol_has_a_row_of_each_benchmark() -> None:
    """What is proven of it, else what is seen or needed; then what holds of all together, and what is left out."""
    chance = answer("a", 0.9, FASTER, "single run", quantity="probability", pvalue_slower=0.01)
    chance = replace(
        chance, speedup=Estimate(0.9, 0.8, 0.95, 0.95), candidate=replace(chance.candidate, n=12)
    )
    needed: dict[str, Any] = {"test": "", "needed": Needed(31, 31, "", least=True)}
    result = suite_of(
        answer("a", 1.25, FASTER), chance, answer("a", 0.8, SLOWER, "mean", checks=(TREND,), test="t test"),
        answer("b", 1.0, SAME), answer("b", 1.0, UNDECIDED, "mean", test="t test"), answer("d", 1.02, UNDECIDED),
        answer("d", 1.02, UNDECIDED, "mean", **needed), problems=("p: units",), only_reference=("o",),
        only_candidate=("e",),
    )  # fmt: skip
    told = parts(result, details=True)
    assert told == {
        f"On a typical run ({TEST})": [
            "1 faster, 1 equivalent, 1 undecided", RUNS_HEAD,
            "a 1.250 s 1.000 s 1.25x faster [1.23x, 1.27x] 0.0123 9",
            "b 1.000 s 1.000 s = 1.02x slower to 1.01x faster 0.0123 9",
            "d 1.020 s 1.000 s ~ 1.009x to 1.04x faster 0.0123 9",
        ],
        f"On a single run ({TEST})": [
            "1 faster", "chance of a faster run p runs", "a faster: wins 90 % [80 %, 95 %] 0.01 9, 12",
        ],
        "In mean (t test)": [
            "2 undecided, 1 not proven (!) (1 not tested: the protocol asks for more runs)", RUNS_HEAD,
            "a 0.8000 s 1.000 s 1.25x slower [1.23x, 1.27x] ! 0.0123 9",
            "b 1.000 s 1.000 s ~ 1.02x slower to 1.01x faster 0.0123 9",
            "d 1.020 s 1.000 s ~ needs at least 31 runs 0.0123 9",
            "Of two bounds of a change each holds with 95 % confidence by itself.",
            "! An assumption was not met: the true risk may be larger.",
        ],
        "The whole suite": told["The whole suite"],
        "Left out": ["o: only in old", "e: only in new", "p: units"],
    }  # fmt: skip
    first, second, *_ = sections(result, details=True, explain=False)
    assert laid_out(second) == "'' chance of a faster run <p-2 <runs-1"
    assert laid_out(first) == "'' <old <new change <p-2 <runs-1"
    assert [(row.name, row.kind) for row in first.tables[0].rows] == [
        ("a", "faster"), ("b", "equivalent"), ("d", "undecided"),
    ]  # fmt: skip
    whole = " ".join(told["The whole suite"])
    for said in (
        "among 3 benchmarks that did not change about 0.3 would be called changed.",
        # Of six claims 0.0123 times 6 is more than 5 %.
        "Holm: none on a typical run, none in mean (shown, not proven: 1 more): the risk of even one false",
        "Accelerated benchmarks, Wilson's interval (the article's, for which these are few): 1 of 3 on a typical",
    ):
        assert said in whole
    alone = suite_of(answer("a", 1.25, FASTER), answer("a", 1.25, FASTER, "mean", test="t test"))
    assert "The whole suite" not in parts(alone, details=True)
    assert not any("assumption" in line for lines in parts(alone, details=True).values() for line in lines)
    many = suite_of(*(answer(f"b{i}", 1.0, UNDECIDED) for i in range(15)))
    for result, count in ((many, 2), (replace(many, alpha=0.04), 1)):
        said = f"among 15 benchmarks that did not change about {count} would be called changed."
        assert any(line.endswith(said) for line in parts(result, details=True)["The whole suite"])


def test_the_whole_of_a_suite_in_words() -> None:
    """Means of more than three benchmarks for ones like them, too; totals that are no number are not told."""
    means = GeometricMeans(4, Estimate(1.2, 1.1, 1.3, 0.95), Estimate(1.2, 0.9, 1.5, 0.95), ("z",))
    gains: dict[Any, float] = {"min": 1.25, "mean": 0.8, "median": 0.0}
    overall = tuple((of, OverallGain(speedup, 0.2)) for of, speedup in gains.items())
    held = "Geometric mean: 1.20x faster [1.10x, 1.30x] for these benchmarks, 95 % confidence."
    like = (
        "  For benchmarks like these, of which these are taken for a random sample: 1.20x faster {}.".format(
            "[0.90x, 1.50x]"
        )
    )
    totals = [f"Total of the {of}, every benchmark run once: 1.25x {word}." for of, word in (
        ("minima", "faster"), ("means", "slower"))]  # fmt: skip
    unbound = replace(means, these=Estimate(1.2, 1.1, math.inf, 0.95), left_out=())
    once = "Geometric mean: 1.20x faster for these benchmarks, no interval: some were measured once a side."
    for of, totalled, told in (
        (means, overall, [held, like, "  Without a ratio, left out: z.", *totals]),
        (replace(means, benchmarks=3, left_out=()), (), [held]), (unbound, (), [once, like]), (None, (), []),
    ):  # fmt: skip
        assert [text.text for text in of_all(of, totalled, Voice("faster", "slower"))] == told


def test_why_a_verdict_is_so_in_words() -> None:
    """Every check, those that were told as above; the test, the difference of means, and the verdict."""
    chance = answer("a", 0.9, FASTER, "single run", quantity="probability", checks=(NORMAL,))
    typical = answer("a", 1.25, FASTER, checks=(NORMAL,), difference=Estimate(0.25, 0.2, 0.3, 0.95))
    needed: dict[str, Any] = {"test": "", "needed": Needed(31, 31, "", least=True)}
    result = suite_of(
        typical, replace(chance, speedup=Estimate(0.9, 0.8, 0.95, 0.95)),
        answer("a", 1.25, FASTER, "mean", checks=(NORMAL, TREND)), answer("b", 1.02, UNDECIDED, **needed),
    )  # fmt: skip
    tested = f"{TEST}: p = 0.0123 for faster, 0.98 for slower; significant where p <= 0.05"
    assert parts(result, explain=True) == {
        "a: X is old, Y is new": [
            "typical: is Y faster on a typical run?", "ok normality (p = 0.5): so they are", tested,
            "Difference of the means: 250 ms; at least 200 ms, at most 300 ms, each with 95 % confidence.",
            "new is 1.25x faster than old; proven: at least 1.23x (95 % confidence).",
            "single run: is Y faster on a single run?", "ok as above: normality", tested,
            "By this test a run of new beats a run of old in 90 % of cases (at least 80 %); proven"
            " (95 % confidence).",
            "mean: is Y faster in mean?", f"FAILS trend (p = 0.01): {TREND.advice}", "ok as above: normality",
            tested,
            "new is 1.25x faster than old in mean; shown, not proven: at least 1.23x (95 % confidence).",
            "A check fails where p <= 0.05; those of run order, trend and steadiness where p <= 0.01.",
        ],
        "b: X is old, Y is new": [
            "typical: is Y faster on a typical run?", "Not tested: needs at least 31 runs.",
            "Undecided: new looks 1.02x faster than old (1.009x to 1.04x faster); needs at least 31 runs.",
        ],
    }  # fmt: skip
    assert [part.about for part in sections(result, details=False, explain=True)] == ["a", "b"]
    for higher, which in ((True, "higher"), (False, "lower")):
        sides = [
            replace(s, unit="B", higher_is_better=higher) for s in (typical.reference, typical.candidate)
        ]
        told = parts(suite_of(replace(typical, reference=sides[0], candidate=sides[1])), explain=True)
        assert next(iter(told.values()))[0] == f"typical: is Y better ({which}) on a typical run?"

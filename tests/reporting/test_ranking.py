"""Rankings of single runs, written by hand: the advice, a row each in its place, what undermines them."""

from typing import Any

import pytest
from msgspec.structs import replace
from tests.command import in_words, laid_out

from speedproof.data.notes import Assumption, Note
from speedproof.data.suite import Key
from speedproof.protocols.caveats import MachineSpeeds
from speedproof.protocols.ranking import RankedRun, RunRanking
from speedproof.reporting.model import Report
from speedproof.reporting.ranking import BenchmarkRanking, report
from speedproof.stats.estimate import Estimate

TREND = (Note(Assumption.TREND, "they rise"),)


def run(version: str, chance: float, best: int, worst: int, **more: Any) -> RankedRun:
    of: dict[str, Any] = {
        "n": 20,
        "units": 20,
        "repeated": "run",
        "mean": 1.0,
        "median": 1.0,
        "modes": 1,
        "ties": 0.0,
    }
    of |= {"mixture_chance": None, "undermining": (), **more}
    ends = max(chance - 0.1, 0.0), min(chance + 0.1, 1.0)
    return RankedRun(
        version=version, chance=Estimate(chance, *ends, 0.95), best_rank=best, worst_rank=worst, **of
    )


def ranking(*runs: RankedRun, mean: str = "", median: str = "", enough: bool = True) -> RunRanking:
    first = runs[0].version
    return RunRanking(0.05, runs, (), 5, enough, mean or first, median or first, 0.0)


def ranked(*of: RunRanking, details: bool = False, everything: bool = False, **more: Any) -> Report:
    given = [
        BenchmarkRanking(Key(name), "s", one, None, **more) for name, one in zip("abcd", of, strict=False)
    ]
    versions = sorted(v.version for v in of[0].versions)
    return report(given, versions, (), everything=everything, details=details)


WON = ranking(
    run("new", 0.875, 1, 1, median=0.5, mean=0.6, modes=2, mixture_chance=Estimate(0.8, 0.7, 0.9, 0.95)),
    run("old", 0.125, 2, 2, modes=None, ties=0.123),
)
UNSOUND = ranking(
    run("new", 0.75, 1, 1, undermining=TREND), run("old", 0.25, 2, 2, undermining=TREND), mean="old"
)
OPEN = ranking(run("new", 0.625, 1, 2), run("old", 0.375, 1, 2), median="old", enough=False)
X, Y, Z = run("x", 0.5, 1, 2), run("y", 0.3, 1, 2), run("z", 0.2, 3, 3)
OF_THREE = "a run of it is the best of 3, one of each version, in {} % of cases ({} % to {} %)".format
NONE, APART = "On a single run no version is shown to be the best", "single runs count: "


@pytest.mark.parametrize(("of", "shaken", "told", "style"), [
    (WON, False, "Run new: a run of it beats a run of old in 88 % of cases (at least 77 %), and it has the best"
                 " mean and median.", "good"),
    (WON, True, "If the runs were independent and steady: run new: a run of it beats a run of old in 88 % of cases"
                " (at least 77 %), and it has the best mean and median.", "strong"),
    (UNSOUND, False,
     "If the runs were independent and steady: run new where single runs count: a run of it beats a run of old in"
     " 75 % of cases (at least 65 %). The best mean is that of old, the best median that of new.", "strong"),
    (OPEN, False, f"{NONE}. new looks best so far: a run of it beats a run of old in 62 % of cases (52 % to 73 %)."
                  " In mean it is new, in median old.", "strong"),
    (ranking(X, Y, Z, mean="y"), False,
     f"{NONE}: x or y may be. x looks best so far: {OF_THREE(50, 40, 60)}. In mean it is y, in median x.",
     "strong"),
    (ranking(X, replace(Y, chance=X.chance), replace(Z, chance=X.chance)), False,
     f"{NONE}: x or y may be, and none is ahead.", "strong"),
    (ranking(X, replace(Y, chance=X.chance), Z), False,
     f"{NONE}: x or y may be. x looks best so far: {OF_THREE(50, 40, 60)}.", "strong"),
    (ranking(X, Y, replace(Z, best_rank=1)), False,
     f"{NONE}. x looks best so far: {OF_THREE(50, 40, 60)}.", "strong"),
    (ranking(X, Y, replace(Z, best_rank=1), run("u", 0.1, 4, 4)), False,
     f"{NONE}: x, y or z may be. x looks best so far: {OF_THREE(50, 40, 60).replace('of 3', 'of 4')}.", "strong"),
    (ranking(replace(X, worst_rank=1), Y, Z, median="z"), False,
     f"Run x where single runs count: {OF_THREE(50, 40, 60)}. The best mean is that of x, the best median that of"
     " z.", "good"),
])  # fmt: skip
def test_which_version_to_run(of: RunRanking, shaken: bool, told: str, style: str) -> None:
    """An imperative only where the first place is proven; of a circle or of equals nobody is ahead."""
    machine = MachineSpeeds(1.5, 2, 2, Estimate(1.1, 1.0, 1.2, 0.95)) if shaken else None
    (text,) = ranked(of, machine=machine).headline
    assert (text.text, text.style) == (told, style)


def test_a_ranking_of_one_benchmark() -> None:
    """A row a version; of more than ten the others are counted."""
    made = ranked(WON, details=True)
    joint = "Places hold at a joint risk of 5 %; {}.".format
    alone, hint = joint("each limit holds alone"), " --details: modes, mixtures, warnings"
    head = "place a median mean best single run runs"
    rows = ["1 new 0.5000 s 0.6000 s 88 % [77 %, 98 %] 20", "2 old 1.000 s 1.000 s 12 % [2 %, 23 %] 20"]
    assert in_words(made)[1:] == [head, *rows, f"{alone}{hint}"]
    assert laid_out(made) == "<place 'a' <median <mean-2 <best single run <runs-1"
    inside = ["version modes ties by mixtures", "new 2 0.0 % 80 % [70 %, 90 %]", "old - 12.3 % -"]
    assert in_words(made.sections[0]) == inside
    assert laid_out(made.sections[0]) == "'version' <modes <ties <by mixtures"
    assert in_words(ranked(OPEN))[-2:] == [
        alone,
        f"Fewer than 5 runs of a version never prove an order of 2.{hint}",
    ]
    unsound = ranked(UNSOUND, details=True)
    trend, remedy = "A trend over the runs (new, old)", Assumption.TREND.remedy
    assert in_words(unsound)[-1] == f"! {trend}: the true risk may be larger; {remedy}.{hint}"
    said = [text for text in in_words(unsound.sections[0]) if text.startswith("trend")]
    assert said == [f"trend: {TREND[0].advice}."]
    two = ranking(
        run("new", 0.75, 1, 1, undermining=(*TREND, Note(Assumption.NORMALITY, "p"))), *WON.versions[1:]
    )
    assert "may be larger." in in_words(ranked(two))[-1]
    many = ranking(*(run(f"v{i:02}", 0.5, 1, 13) for i in range(13)))
    assert [row.folded for row in ranked(many).tables[0].rows] == [False] * 10 + [True] * 3
    assert any(
        line.startswith(joint("chances are drawn towards their mean")) for line in in_words(ranked(many))
    )


def test_a_ranking_of_several_benchmarks() -> None:
    """How often each is first, then those of the best version, the clearest first; metrics are told apart."""
    back = replace(WON, versions=(run("old", 0.75, 1, 1), run("new", 0.25, 2, 2)))
    made = ranked(OPEN, WON, back, UNSOUND, details=True)
    assert in_words(made) == [
        "Best single runs in 4 benchmarks: new in 2, old in 1, undecided in 1 (risk 5 % in each)",
        "new old single runs", "b 0.5000 s 1.000 s new wins 88 % (at least 77 %)",
        "d 1.000 s 1.000 s new wins 75 % (at least 65 %) !", "c 1.000 s 1.000 s old wins 75 % (at least 65 %)",
        "a 1.000 s 1.000 s ~ undecided",
        "! In 1 benchmark the true risk may be larger: a trend over the runs (1)."
        " --details: modes, mixtures, warnings",
    ]  # fmt: skip
    inside = in_words(made.sections[1])
    assert inside[:2] == [
        "place version median mean best single run runs",
        "1 new 0.5000 s 0.6000 s 88 % [77 %, 98 %] 20",
    ]
    for width, whole in ((14, True), (15, False)):
        two = ranking(run("n" * width, 0.875, 1, 1), run("o" * width, 0.125, 2, 2))
        heads = [column.title for column in ranked(two, two).tables[0].columns[1:3]]
        assert (heads == ["n" * width, "o" * width]) is whole
    shaken = ranked(OPEN, WON, machine=MachineSpeeds(1.5, 2, 2, Estimate(1.1, 1.0, 1.2, 0.95)))
    assert in_words(shaken)[0].endswith("(not proven)")
    of = ranking(X, Y, Z), ranking(replace(Y, worst_rank=1), X, Z)
    given = [
        BenchmarkRanking(Key("sort", metric), "s", one, None)
        for metric, one in zip(("time", "rss"), of, strict=True)
    ]
    both = report(given, ["x", "y", "z"], (), everything=False, details=False, note="so it is")
    assert in_words(both) == [
        "Best single runs in 2 benchmarks: y in 1, undecided in 1 (risk 5 % in each)", "sort … y x z single runs",
        "(rss) 1.000 s 1.000 s 1.000 s y wins 30 % (at least 20 %)", "(time) 1.000 s 1.000 s 1.000 s ~ undecided",
        "so it is --details: modes, mixtures, warnings",
    ]  # fmt: skip
    assert laid_out(both) == "'sort …' <y <x <z-1 single runs"

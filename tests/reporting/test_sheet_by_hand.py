"""Sheets of two versions, written by hand: the answer, both sides in numbers, a row a benchmark."""

from typing import Any

import pytest
from msgspec.structs import replace
from tests.command import in_words, laid_out
from tests.reporting.test_by_hand import FASTER, SLOWER, UNDECIDED
from tests.reporting.test_details import NORMAL, SAME, TREND, answer, suite_of

from speedproof.protocols.results import Comparison, Needed
from speedproof.reporting.sheet import leftovers, report
from speedproof.reporting.words import by_medians
from speedproof.stats.estimate import Estimate

GAIN = answer("a", 1.25, FASTER, chance=Estimate(0.9, 0.8, 0.95, 0.95), checks=(NORMAL,))
HEAD = "a median mean min max runs"
SIDES = ["old 1.250 s 1.250 s ± 6.8 % 1.125 1.375 9", "new 1.000 s 1.000 s ± 6.8 % 0.9000 1.100 9"]
PROVEN, OFTEN = (
    "proven: at least 1.23x (95 % confidence)",
    "A run of new wins in 90 % of cases (at least 80 %).",
)
HINTS = "Why: --explain Page: --html report.html"


@pytest.mark.parametrize(("answers", "told"), [
    ((GAIN,), [f"new is 1.25x faster than old {PROVEN}", HEAD, *SIDES, OFTEN, f"All checks hold. {HINTS}"]),
    ((GAIN, answer("a", 0.8, SLOWER, "mean", checks=(TREND,))),
     [f"new is 1.25x faster than old {PROVEN}", HEAD, SIDES[0].replace("s 1.250 s", "s 0.8000 s"), SIDES[1], OFTEN,
      "But on average new is 1.25x slower than old.", f"All checks of the typical run hold. {HINTS}"]),
    ((replace(GAIN, speedup=Estimate(1.1, 1.05, 1.2, 0.95), checks=(NORMAL, TREND)),),
     ["new is 1.10x faster than old shown, not proven: at least 1.05x (95 % confidence)", HEAD, *SIDES, OFTEN,
      "The change is of a typical pair of runs; of the medians alone it is 1.25x.",
      f"! A trend over the runs: the true risk may be larger. {HINTS}"]),
    # In the unit of the medians, of which the larger is below a second.
    ((replace(GAIN, reference=replace(GAIN.reference, median=0.9),
              candidate=replace(GAIN.candidate, median=0.72)),),
     [f"new is 1.25x faster than old {PROVEN}", HEAD, "old 900.0 ms 1250 ms ± 6.8 % 1125 1375 9",
      "new 720.0 ms 1000 ms ± 6.8 % 900.0 1100 9", OFTEN, f"All checks hold. {HINTS}"]),
    ((answer("a", 1.25, SAME),),
     ["new and old are the same within 1 % proven: 1.23x to 1.27x faster (95 % confidence)", HEAD, *SIDES, HINTS]),
    ((answer("a", 1.25, UNDECIDED, needed=Needed(31, 31, "")),),
     ["Undecided: new looks 1.25x faster than old (1.23x to 1.27x faster) needs about 31 runs", HEAD, *SIDES,
      HINTS]),
])  # fmt: skip
def test_a_sheet_of_one_benchmark(answers: tuple[Comparison, ...], told: list[str]) -> None:
    made = report(suite_of(*answers))
    assert in_words(made) == told
    assert made.good is True
    assert laid_out(made) == "'a' <median <mean <min-2 <max-1 <runs"
    outcome = "undecided" if answers[0].proven_verdict is UNDECIDED else "passed"
    assert [(row.name, row.outcome) for row in made.tables[0].rows] == [("old", ""), ("a", outcome)]


@pytest.mark.parametrize(("unit", "higher", "told"), [
    ("B/s", None, "1.50x"), ("B", True, "1.50x"), ("B/s", False, "1.50x slower"), ("B", None, "1.50x worse"),
])  # fmt: skip
def test_a_ratio_of_medians_is_that_of_the_better(unit: str, higher: bool | None, told: str) -> None:
    """Of rates the new over the old one, of what is to be low the old one; the change is 1.25."""
    x, y = (
        replace(side, unit=unit, higher_is_better=higher, median=median)
        for side, median in ((GAIN.reference, 2.0), (GAIN.candidate, 3.0))
    )
    assert by_medians(replace(GAIN, reference=x, candidate=y)) == told


def rows(result: Any, **asked: Any) -> list[tuple[str, str, bool]]:
    return [(row.name, row.kind, row.folded) for row in report(result, **asked).tables[-1].rows]


def test_a_sheet_of_several_benchmarks() -> None:
    """Of a dozen or fewer gains first, each with the largest bound first; of more the losses, and the clearest."""
    few = suite_of(*(
        answer(name, by, verdict)
        for name, by, verdict in (
            ("e", 1.0, UNDECIDED), ("d", 1.0, SAME), ("c", 0.8, SLOWER), ("worse", 0.5, SLOWER),
            ("b", 1.25, FASTER),
        )
    ))  # fmt: skip
    made = report(few)
    assert in_words(made) == [
        "new against old: 2 slower, 1 faster, 1 the same, 1 undecided of 5 (typical run, 95 %)",
        "old new change proven", "b 1.250 s 1.000 s 1.25x faster 1.23x",
        "worse 0.5000 s 1.000 s 2.00x slower 1.98x",
        "c 0.8000 s 1.000 s 1.25x slower 1.23x", "d 1.000 s 1.000 s = the same within 1 %",
        "e 1.000 s 1.000 s ~ 1.00x undecided",
        "At a joint risk of 5 % (Holm): none --details: other protocols, HPT --explain: checks",
    ]  # fmt: skip
    assert made.good is False
    gains = [answer(f"b{i:02}", 1.1 + i / 100, FASTER) for i in range(9)]
    losses = [answer(f"c{i}", 0.9 - i / 100, SLOWER) for i in range(6)]
    lost: dict[str, Any] = {"problems": ("x: y", "z: w"), "only_reference": (*"pqrs",), "unmeasured": ("u",)}
    many = suite_of(*gains, *losses, answer("d", 1.0, SAME), answer("e", 1.0, UNDECIDED), **lost)
    order = [f"c{i}" for i in range(5, -1, -1)] + [f"b{i:02}" for i in range(8, -1, -1)] + ["d", "e"]
    shown = [*order[:5], *order[6:11]]
    kinds = {"c": "slower", "b": "faster", "d": "the same", "e": "undecided"}
    assert rows(many) == [(name, kinds[name[0]], name not in shown) for name in order]
    assert rows(many, everything=True) == [(name, kinds[name[0]], False) for name in order]
    told = in_words(report(many))
    assert told[:5] == [
        "new against old: 9 faster, 6 slower, 1 the same, 1 undecided of 17 (typical run, 95 %)",
        "At a joint risk of 5 % (Holm): none; it takes 10 runs of each version",
        "proven change over 5 % 2 to 5 % below 2 %", "slower 6 0 0", "faster 9 0 0",
    ]  # fmt: skip
    assert told[-3:-1] == ["Only in old: 4 benchmarks (p, q, r and 1 more)", "Not measured: 1 benchmark (u)"]
    assert told[-1].startswith(
        "Left out: x: y (and 1 more in the details) --all: every benchmark --details: "
    )
    for width, shown_of in ((19, f"{'p' * 19}, {'q' * 19}"), (20, f"{'p' * 20} and 1 more")):
        (told_of,) = leftovers(("Only in old",), [(("p" * width, "q" * 19), 2)], (), 0)
        assert told_of.text == f"Only in old: 2 benchmarks ({shown_of})"
    still = suite_of(*(answer(f"b{i:02}", 1.0, UNDECIDED) for i in range(13)))
    assert len(report(still).tables) == 1
    single = [
        replace(
            c, reference=replace(c.reference, observations=1), candidate=replace(c.candidate, observations=1)
        )
        for c in (*gains, *losses)
    ]
    one_run = report(suite_of(*single, only_candidate=("p",)))
    assert [row.name for row in one_run.tables[0].rows[:4]] == ["b08", "c5", "b07", "c4"]
    assert sum(not row.folded for row in one_run.tables[0].rows) == 10
    assert in_words(one_run)[1:3] == ["old new as measured", "b08 1.180 s 1.000 s 1.18x faster"]
    assert in_words(one_run)[-1] == "Only in new: 1 benchmark (p) --all: every benchmark"
    chances = [
        replace(
            answer(name, 1.25, verdict, "single run", quantity="probability"), speedup=Estimate(*of, 0.95)
        )
        for name, verdict, of in (("a", FASTER, (0.9, 0.8, 0.95)), ("b", UNDECIDED, (0.6, 0.4, 0.8)))
    ]
    assert in_words(report(suite_of(*chances)))[1:4] == [
        "old new change proven", "a 1.250 s 1.000 s faster: wins 90 % [80 %, 95 %]",
        "b 1.250 s 1.000 s ~ undecided: wins 60 % [40 %, 80 %]",
    ]  # fmt: skip

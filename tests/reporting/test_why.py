"""What a difference goes with, in words: on the command line, in Python, as JSON."""

import json
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from tests.command import in_words, laid_out, speedproof

import speedproof as sp
from speedproof.data.suite import Key
from speedproof.protocols.why import ByStates, GoesWith, StateOfRuns, Why
from speedproof.reporting import text
from speedproof.reporting.model import Report, Text
from speedproof.reporting.why import beside, report
from speedproof.stats.estimate import Estimate

EXAMPLE = str(Path(__file__).parents[2] / "examples/faults/session.jsonl")


def printed(*arguments: str, code: int = 0) -> str:
    found, out, err = speedproof(*arguments)
    assert found == code
    return err + out


def two(
    slow: tuple[float, float] = (0.3, 0.1), factor: float = 1.03, n: int = 100
) -> dict[str, list[np.ndarray]]:
    found: dict[str, list[np.ndarray]] = {"time": [], "faults": []}
    for k, share in enumerate(slow):
        rng = np.random.default_rng(k)
        state = rng.permutation(n) < round(share * n)
        found["time"].append((factor, 1.0)[k] * (1.0 + state) * rng.lognormal(0.0, 0.01, n))
        found["faults"].append(110.0 + 2000.0 * state + rng.poisson(2.0, n))
    return found


def test_the_same_answer_everywhere() -> None:
    """compare --why, sp.why and sp.compare(metrics=) agree to the digit."""
    suite = sp.read(EXAMPLE)
    own = sp.why(suite)["command"]
    samples = {key.metric: [suite.samples[key, v] for v in "ab"] for key in suite.keys}
    a, b = samples.pop("time")
    pair = sp.compare(a, b, metrics={name: (x, y) for name, (x, y) in samples.items()})
    assert [m.metric for m in pair.why] == [m.metric for m in own.goes_with]
    assert pair.why[0] == own.goes_with[0]
    for options in ((), ("--details",)):
        assert max(map(len, printed("compare", EXAMPLE, "--why", *options).splitlines())) <= 80
    (told,) = json.loads(printed("compare", EXAMPLE, "--why", "--json"))["why"]
    assert pair.why[0].share is not None
    assert told["metrics"][0]["share"] == pair.why[0].share
    assert "78 % of the 1.24x" in str(pair)
    assert json.loads(pair.to_json())["why"][0]["metrics"] == told["metrics"]


def test_a_gate_explains_the_benchmarks_that_it_holds(tmp_path: Path) -> None:
    found = two()
    rows = ["benchmark,version,metric,value"]
    for name in ("sort", "hash", "left-out"):
        for metric, sides in found.items():
            for version, values in zip("ab", sides, strict=True):
                power = 1 + (name == "left-out")  # two speeds of all three would be the machine's
                rows += [f"{name},{version},{metric},{value**power}" for value in values.tolist()]
    (tmp_path / "runs.csv").write_text("\n".join(rows) + "\n")
    said = printed("gate", str(tmp_path / "runs.csv"), "--skip", "left-*", "--why")
    assert "PASS: none of 2 benchmarks" in said
    assert "Why: in 2 of 2 benchmarks another metric goes with time" in said
    assert "left-out" not in said


def test_a_metric_of_one_side() -> None:
    found = two()
    r = sp.compare(
        *found["time"], metrics={"faults": tuple(found["faults"]), "misses": (found["faults"][0], None)}
    )
    assert [m.metric for m in r.why] == ["faults"]
    assert "Left out: misses (only one version has it)." in str(r)
    samples = {
        (Key("b", metric), version): sp.Sample(values, "s" if metric == "time" else "count")
        for metric, both in found.items()
        for version, values in zip("xy", both, strict=True)
    }
    samples[Key("b", "misses"), "x"] = samples[Key("b", "faults"), "x"]
    explained = sp.why(sp.Suite(("x", "y"), samples))
    assert "Left out: misses (only one version has it)." in str(explained)
    assert explained["b"].versions == ("x", "y")  # the suite's, which its samples need not repeat


@pytest.mark.parametrize(("metrics", "told"), [
    ({"faults": ([1.0, 2.0], [1.0, 2.0])}, "reference has 100 runs, and here are 2 values"),
    ({"faults": [1.0, 2.0, 3.0]}, "give its values of both versions"),
    ({"faults": "ab"}, "give its values of both versions"),
    ({"faults": ([np.nan] * 100, [1.0] * 100)}, "not a finite number"),
])  # fmt: skip
def test_bad_metrics(metrics: dict[str, Any], told: str) -> None:
    with pytest.raises(sp.SpeedproofError, match=told) as error:
        sp.compare(*two()["time"], metrics=metrics)
    assert "faults" in str(error.value)


def test_without_other_metrics() -> None:
    """A file that has time alone says how to record more; a pair without them has no why."""
    gcc = [str(Path(EXAMPLE).parents[1] / f"gcc/{name}.json") for name in ("O2", "O3")]
    assert "no metric beside time" in printed("compare", *gcc, "--why", code=2)
    with pytest.raises(sp.SpeedproofError, match="metrics="):
        attrgetter("why")(sp.compare(*two()["time"]))
    with pytest.raises(sp.SpeedproofError, match="nothing"):
        sp.why(sp.read(EXAMPLE), metric="nothing")


def test_several_benchmarks() -> None:
    """A row each, those that are explained first; the share is of the means."""
    samples = {
        (Key(name, metric), version): sp.Sample(values, "s" if metric == "time" else "")
        for name, slow in (("f", (0.3, 0.1)), ("g", (0.2, 0.2)))
        for metric, sides in two(slow, 1.0).items()
        for version, values in zip("ab", sides, strict=True)
    }
    found = sp.why(sp.Suite(("a", "b"), samples))
    assert repr(found) == "<WhyResult: 2 of 2 go with another metric>"
    with pytest.raises(sp.SpeedproofError, match="only: f, g"):
        found["h"]


def test_the_two_speeds_of_a_machine() -> None:
    """Of files with time alone: how often each version was slow, and the speedup between equals, by benchmark."""
    rng = np.random.default_rng(3)
    times: dict[str, dict[str, np.ndarray]] = {"a": {}, "b": {}}
    for i in range(4):
        for version, share, level in (("a", 0.5, 1.05), ("b", 0.25, 1.0)):
            slow = rng.permutation(40) < 40 * share
            noise = np.exp(0.01 * rng.standard_normal(40))
            times[version][f"f{i}"] = level * 10.0**-i * np.where(slow, 2.0, 1.0) * noise
    suite = sp.Suite.of_samples({f"f{i}": {v: times[v][f"f{i}"] for v in "ab"} for i in range(4)})
    found = sp.why(suite)
    assert str(found).startswith("Why: in 4 of 4 benchmarks the machine's two speeds go with time\n")
    for one in found:
        assert one.machine is not None
        assert one.machine.within is not None
        assert one.machine.within.low < 1.05 < one.machine.within.high
    (made,) = found.reports(details=True)
    told = " ".join(text.render(made).split())
    assert (
        told.count("runs at the machine's slower speed (50 % of a, 25 % of b); within a state 1.04x to") == 4
    )
    assert told.count("Next: run again with --cpu 1, at a fixed frequency") == 4
    one = json.loads(found.to_json())["results"][0]
    assert [state["shares"] for state in one["machine"]["states"]] == [[0.5, 0.75], [0.5, 0.25]]


STATES = (StateOfRuns(100.4, (0.7, 0.9), (1.0, 0.9)), StateOfRuns(2101.4, (0.3, 0.1), (2.0, 1.8)))
THREE = (StateOfRuns(5.0, (0.5, 0.5), (9.0, 9.0)), StateOfRuns(50.0, (0.1, 0.3), (3.0, 3.0)))
FAULTS = GoesWith(
    metric="minor-faults", unit="", part=False, correlation=0.777, between=0.6543, pvalue=0.001, states=STATES,
    share=0.7777, within=Estimate(1.03, 1.01, 1.05, 0.95),
)  # fmt: skip
USER = GoesWith(metric="user", unit="s", part=True, correlation=0.5, between=0.3, pvalue=0.02)
RSS = replace(USER, metric="rss", unit="B", part=False, pvalue=0.05,
              states=tuple(replace(s, level=s.level * 1e3) for s in STATES))  # fmt: skip
IDLE = replace(USER, metric="misses", unit="", part=False, pvalue=0.051)
SPEEDS = ByStates(
    states=tuple(replace(s, level=of) for s, of in zip(STATES, (1.0, 2.0), strict=True)), share=1.2
)
EXPLAINED = Why(
    "sort", "time", "s", 0.05, ("old", "new"), (20, 20), (2, 2), Estimate(1.25, 1.1, 1.4, 0.95),
    (FAULTS, USER, RSS, IDLE), (("hits", "the same in every run"), ("cold", "one has it"), ("warm", "one has it")),
    True, False,
)  # fmt: skip
MANY = "with about 2,101 minor faults (30 % of old, 10 % of new)"
EQUAL, AGAIN = "1.01x to 1.05x faster", "This is no proof of a cause. Next: run again with {}".format
PERF, RECORD = "--perf dTLB-load-misses,page-faults", "--perf instructions,branch-misses,dTLB-load-misses"
BELOW = ["Neighbouring runs are alike; the test allows for that.", "Left out: cold, warm (one has it)."]


@pytest.mark.parametrize(("fields", "told"), [
    ({}, [f"78 % of the 1.25x in mean: runs {MANY}; within a state {EQUAL}", f"Also: rss. {AGAIN(PERF)}"]),
    # Of three states that which moves the mean the most, not that which lies farthest from it.
    ({"metrics": (replace(FAULTS, within=None, states=(*THREE, replace(STATES[1], shares=(0.4, 0.2)))),)},
     [f"78 % of the 1.25x in mean: runs {MANY.replace('30 %', '40 %').replace('10 %', '20 %')}", AGAIN(PERF)]),
    ({"metrics": (replace(FAULTS, share=-0.1, within=None),)},
     [f"against the 1.25x in mean: runs {MANY}", AGAIN(PERF)]),
    ({"metrics": (replace(FAULTS, share=1.01, within=None),), "shifted": False, "left_out": ()},
     [f"all of the 1.25x in mean: runs {MANY}", AGAIN(PERF)]),
    ({"metrics": (replace(FAULTS, share=None),), "speedup": None},
     [f"minor faults: 1 s with about 100 minor faults (70 % of old, 90 % of new), 2 s {MANY}", AGAIN(PERF)]),
    ({"metrics": (RSS,)},
     ["rss: 1 s with rss 98 KiB (70 % of old, 90 % of new), 2 s with rss 2 MiB (30 % of old, 10 % of new);"
      " no difference of the means is shown", AGAIN(PERF)]),
    ({"metrics": (USER,), "nested": True},
     ["user (a part of time), from run to run (correlation 0.50); it shows no states", AGAIN(RECORD)]),
    ({"metrics": (USER,)},
     ["user (a part of time), from run to run (correlation 0.50); it shows no states",
      AGAIN("--builds 5, of revisions")]),
    ({"machine": SPEEDS, "metrics": (FAULTS,)},
     ["all of the 1.25x in mean: runs at the machine's slower speed (30 % of old, 10 % of new)",
      f"Also: minor faults. {AGAIN('--cpu 1, at a fixed frequency')}"]),
    ({"metrics": (IDLE,)},
     [f"none of 1 other metric goes with time, which has 2 states; run again with {RECORD}."]),
    ({"metrics": (IDLE,), "states": (1, 1)}, ["none of 1 other metric goes with time."]),
    ({"metrics": ()}, ["not known; no other metric varies that was measured in every run."]),
    ({"metrics": (), "sizes": (10, 9)}, ["not known; it takes 10 runs (processes) of each version."]),
])  # fmt: skip
def test_why_in_words(fields: dict[str, Any], told: list[str]) -> None:
    """What a difference goes with and how much of it, else why nothing is named; what would tell more."""
    of = replace(EXPLAINED, **fields)
    assert in_words(report([of])) == [f"why: {told[0]}", *told[1:], *(BELOW if of.shifted else [])]


def test_where_why_stands() -> None:
    """Of one benchmark behind the answer of its sheet, else after all; of several candidates each its own."""
    sheet = Report("s", (Text("It is"), Text("risk")), notes=(Text("note"),), sections=(Report("more", ()),))
    own = report([EXPLAINED])
    (made,) = beside([sheet], {"new": [EXPLAINED]})
    assert made.headline == (Text("It is"), *own.headline, Text("risk"))
    assert (made.notes, made.sections) == ((Text("note"), *own.notes), sheet.sections)
    (made,) = beside([sheet], {"new": [EXPLAINED]}, details=True)
    assert [(part.title, len(part.tables)) for part in made.sections] == [(own.title, 1), ("more", 0)]
    several = [EXPLAINED, replace(EXPLAINED, benchmark="hash")]
    assert [*beside([sheet], {"new": several, "newer": []})] == [sheet, report(several, whose=True)]
    assert [*beside([sheet], {"new": several})] == [sheet, report(several)]
    assert [*beside([sheet] * 2, {"new": [EXPLAINED]})] == [sheet, sheet, own]


def test_tables_of_why() -> None:
    """A row a metric with all that is known of it; of several benchmarks those that are explained best first."""
    rows = [
        "minor faults 0.78 65 % 0.001 100, 2,101 78 % 1.01x to 1.05x faster",
        "user (a part of time) 0.50 30 % 0.02",
        "rss 0.50 30 % 0.05 98 KiB, 2 MiB", "misses 0.50 30 % 0.051",
    ]  # fmt: skip
    head = "metric correlation between states p states share at equal state"
    of_one = report([EXPLAINED], details=True)
    assert in_words(of_one)[2:] == [head, *rows, *BELOW]
    assert [row.cells[0].style for row in of_one.tables[0].rows] == ["strong", "strong", "strong", "dim"]
    assert laid_out(of_one) == "'metric' <correlation <between states <p states-1 <share at equal state-2"
    some = [
        replace(EXPLAINED, benchmark=name, metrics=metrics)
        for name, metrics in (("a", (IDLE,)), ("b", (USER,)), ("d", (replace(FAULTS, share=0.9),)))
    ]
    made = report([*some, EXPLAINED], among="9 others", whose=True)
    assert in_words(made) == [
        "Why of new: in 3 of 9 others another metric goes with time (risk 5 % in each)",
        "goes with share at equal state", f"d minor faults 90 % {EQUAL} {MANY}",
        f"sort minor faults 78 % {EQUAL} {MANY}", "b user (a part of time)", "a nothing shown", *BELOW,
    ]  # fmt: skip
    both = report([replace(EXPLAINED, machine=SPEEDS), some[0]], explain=True)
    slow = "at the machine's slower speed (30 % of old, 10 % of new)"
    assert in_words(both)[:3] == [
        "Why: in 1 of 2 benchmarks the machine's two speeds go with time, in 1 another metric (risk 5 % in each)",
        "goes with share at equal state", f"sort the machine's two speeds 120 % {slow}",
    ]  # fmt: skip
    assert [part.title for part in both.sections] == ["sort", "a"]
    assert in_words(both.sections[0])[2:4] == [head, "the machine's two speeds 1, 2 120 %"]
    nothing = replace(EXPLAINED, metrics=())
    assert in_words(report([nothing] * 2))[0].startswith("why: not known; no other metric varies")

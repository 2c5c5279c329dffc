"""The sheet: its width, its length, its names, its times, and nothing in it that contradicts anything else."""

import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from tests.command import speedproof
from tests.reporting.test_every_command import check

import speedproof as sp
from speedproof.conclude.suite import SuiteComparison
from speedproof.data.notes import Assumption
from speedproof.data.suite import Key, Suite
from speedproof.reporting import sheet
from speedproof.reporting.model import FORMATS, Reported
from speedproof.reporting.text import render

Made = tuple[SuiteComparison, Suite]


@pytest.mark.parametrize("which", ["mixed", "hostile", "thousand"])
def test_every_verdict(which: str, request: pytest.FixtureRequest) -> None:
    """Constants, zeros, single values, hostile names, a thousand: what is hidden keeps its order."""
    result, _ = request.getfixturevalue(which)
    check([short := sheet.report(result)], len(result.headlines))
    assert "\x1b" not in render(short)
    full = sheet.report(result, everything=True)
    assert [row.name for row in short.tables[-1].rows] == [row.name for row in full.tables[-1].rows]
    assert sum(row.folded for row in full.tables[-1].rows) == 0
    if which == "mixed":
        assert len(render(short, 80).splitlines()) <= 10 + len(result.headlines)
        check([sheet.report(result, details=True, explain=True)])


@pytest.mark.parametrize(("only", "most"), [("sum", 10), ((), 16)])
def test_the_length_that_is_promised(only: str, most: int) -> None:
    """Ten lines for one undecided benchmark of two sessions whose runs are alike, sixteen for six."""
    suite = sp.read("examples/gcc/O2.json", "examples/gcc/O3.json", only=only)
    (made,) = sp.compare_suite(suite, metric="time").reports()
    lines = render(made, 80).splitlines()
    assert (len(lines) <= most, max(map(len, lines)) <= 80) == (True, True)


def test_colour_changes_no_column(mixed: Made) -> None:
    result, _ = mixed
    report = sheet.report(result)
    coloured = re.sub(r"\x1b\[\d*m", "", render(report, colour=True))
    assert [line.rstrip() for line in coloured.splitlines()] == render(report).splitlines()


def test_only_what_is_proven_is_coloured(make_suite: Callable[..., Made]) -> None:
    """Of three runs a side a verdict is shown, not proven: no green or red on any screen."""
    few = ([3.0, 3.2, 3.1], [2.0, 2.2, 2.1])
    many = np.random.default_rng(0).normal([[3.0], [2.0]], 0.1, (2, 30))
    for values, coloured in (
        ({"a": few}, 0), ({"a": few, "b": few}, 0), ({"a": many}, 1), ({"a": few, "b": many}, 1),
    ):  # fmt: skip
        result, suite = make_suite(values)
        reported = Reported([sheet.report(result)], suite, results=[result])
        assert render(sheet.report(result), colour=True).count("\x1b[32m") == coloured
        page = FORMATS["html"].write(reported, "x.html")
        assert len(re.findall('class="(good|cell-good)"', page)) == coloured
        assert page.count('<g class="faster">') == (coloured if len(values) > 1 else 0)
        if len(values) == 1:
            assert ("🟢" in FORMATS["markdown"].write(reported, "x.md")) is bool(coloured)


@pytest.mark.parametrize(("old", "benchmarks", "style"), [
    (2.0, 8, "good"), (0.5, 8, "bad"), (2.0, 3, "strong"), (1.0, 8, "strong"),
])  # fmt: skip
def test_a_winner_is_coloured_where_it_is_sure(old: float, benchmarks: int, style: str) -> None:
    """Of three benchmarks the confidence is 7/8 at most; of claims what goes beyond is marked."""
    x = np.linspace(1.0, 1.1, 9)
    suite = Suite.of_samples({f"b{i}": {"old": old * x, "new": x} for i in range(benchmarks)}, unit="s")
    result = sp.hpt(suite, speedups=[1.5, 3.0])
    (made,) = result.reports()
    assert made.headline[0].style == style
    written = json.loads(result.to_json())
    assert (written["command"], len(written["results"][0]["hpt"]["benchmarks"])) == ("hpt", benchmarks)
    cells = [row.cells[3] for section in made.sections for table in section.tables for row in table.rows]
    losses = [cell for cell in cells if cell.text != "-"]
    assert {cell.style for cell in losses if cell.text.startswith("-")} <= {"warning"}
    assert {cell.style for cell in losses if not cell.text.startswith("-")} <= {""}
    assert (style != "good") or len({cell.style for cell in losses}) == 2


def test_hints_name_what_was_not_given(make_suite: Callable[..., Made]) -> None:
    rng = np.random.default_rng(3)
    result, _ = make_suite({name: rng.normal(1, 0.01, (2, 12)) for name in "abc"})
    assert "--details" in render(sheet.report(result))
    told = " ".join(render(sheet.report(result, details=True)).split())  # of 5 % in either direction
    assert "among 3 benchmarks that did not change about 0.3 would be called changed." in told
    gcc, hints = ("compare", "examples/gcc/O2.json", "examples/gcc/O3.json"), ("--details: ", "--explain: ")
    for given in ("--details", "--explain"):
        out = speedproof(*gcc, given)[1]
        assert [hint in out for hint in hints] == [not hint.startswith(given) for hint in hints]
    assert "--explain" not in speedproof(*gcc, "--only", "matmul", "--explain")[1]


@pytest.mark.parametrize("names", ["a", "ab"])
def test_several_metrics_are_a_row_each(names: str) -> None:
    """Of one benchmark its medians and change, of several how many changed and by how much; only time is fast."""
    factors = {"time": ("s", 0.5), "memory": ("B", 0.25), "misses": ("", 2.0), "faults": ("", 0.0)}
    samples = {
        (Key(name, metric), version): sp.Sample(np.linspace(10, 11, 12) * of, unit, label=version)
        for name in names
        for metric, (unit, factor) in factors.items()
        for version, of in (("old", 1.0), ("new", factor))
    }
    (made,) = sp.compare_suite(Suite(("old", "new"), samples), metric="all").reports()
    told = dict(line.split(maxsplit=1) for line in render(made).splitlines()[3:7])
    for metric, change in (("time", "2.00x faster"), ("memory", "4.00x better"), ("misses", "2.00x worse")):
        start = rf"2 {change[6:]} of 2 +{change} \[" if names == "ab" else rf"10.50.* {change}"
        assert re.match(start, told[metric])
    assert "∞" not in told["faults"]
    assert ("10.50 s" in told["time"], "5.250 s" in told["time"]) == (names == "a",) * 2
    assert made.good is False
    assert not any(f"--{given}" in hint for hint in made.hints for given in ("explain", "all"))
    for asked, named in (("memory", "memory: "), ("time", "")):
        (first, *_) = str(sp.gate(Suite(("old", "new"), samples), metric=asked)).splitlines()
        who = "none of 2 benchmarks" if names == "ab" else "new"
        assert first.startswith(f"PASS: {named}{who} is")
    gains = {key: sample for key, sample in samples.items() if key[0].metric != "misses"}
    (made,) = sp.compare_suite(Suite(("old", "new"), gains), metric="all").reports()
    assert made.good is True


def test_commits_stand_in_the_order_in_which_they_were_named(make_suite: Callable[..., Made]) -> None:
    """Not by speed; their medians are a line, a bar each."""
    rng = np.random.default_rng(1)
    first, means = "aaaaaaa One", {"bbbbbbb Two": 1.0, "1234567 Three": 2.1, "WORKTREE on 1234567": 2.5}
    x = rng.normal(3.0, 0.01, 20)

    def against(values: Callable[[float], dict[str, Any]]) -> list[SuiteComparison]:
        return [replace(make_suite(values(m))[0], reference=first, candidate=c) for c, m in means.items()]

    (made,) = sheet.reports(against(lambda mean: {"b": (x, rng.normal(mean, 0.01, 20))}))
    assert [row.name for row in made.tables[0].rows] == [first, *means]
    assert "In this order: \u2588\u2581\u2585\u2586" in render(made)
    several = against(lambda mean: {"b": (x, mean * x), "c": (x, x + 6.0 - mean)})
    assert "In this order" not in render(sheet.reports(several[:2])[0])
    lines = [
        line for line in render(sheet.reports(several)[0]).splitlines() if line.startswith("In this order, ")
    ]
    assert [line.split(": ")[0] for line in lines] == ["In this order, b", "In this order, c"]
    assert lines[0].endswith("\u2581\u2581\u2586\u2588")


def test_nothing_and_chances_alone(make_suite: Callable[..., Made]) -> None:
    result, _ = make_suite({"a": np.random.default_rng(1).normal(1, 0.01, (2, 12))})
    chance = sp.compare_suite(
        Suite.of_samples({"b": {"old": [3.0, 3.1, 3.2], "new": [2.0, 2.1, 2.2]}}), protocols="single run"
    )
    assert str(chance).startswith("A run of new beats a run of old in 100 % of cases")
    (nothing,) = sheet.reports([replace(result, comparisons=(), candidate=name) for name in ("one", "two")])
    assert [text.text for text in nothing.headline] == ["No benchmark was measured with two of the versions."]


@pytest.mark.parametrize(("margin", "verdict"), [(0.05, "equivalent"), (None, "undecided")])
def test_a_mean_beyond_what_a_row_says_is_told(margin: float | None, verdict: str) -> None:
    """A typical run takes as long, 1 in 4 much longer: alone, in a row and among three versions."""
    rng = np.random.default_rng(2)
    x, y = rng.normal(10.0, 0.2, 60), rng.normal(10.0, 0.2, 60)
    y[rng.permutation(60)[:15]] = rng.normal(15.0, 0.2, 15)
    y[y < 12.0] *= np.median(x) / np.median(y) * 0.999
    same = rng.normal(10.0, 0.2, 60)
    told = f"{y.mean() / x.mean():.2f}x slower"
    how = f": 25 % of runs take {np.median(y[y > 12]) / np.median(y):.2f}x"
    one, many = ({name: {"old": x, "new": y, "same": same} for name in names} for names in ("a", "ab"))
    for samples in (one, many):
        suite = sp.compare_suite(sp.Suite.of_samples(samples, unit="ms"), margin=margin)
        assert suite.against("new")["a"].verdict == verdict
        for shown in (suite, suite.against("new")):
            text = " ".join(render(next(iter(shown.reports()))).split())
            assert len(re.findall(f"on average (new is )?{told}( than old)?{how}", text)) == len(samples)
            assert text.count("on average") == len(samples)
        text = " ".join(render(next(iter(suite.reports()))).split())
        assert ("geometric mean of 2 benchmarks, " in text) == (samples is many)
        assert re.findall(r"But (?:(\w): )?on average", text) == (["a", "b"] if samples is many else [""])
        junit = FORMATS["junit"].write(Reported(tuple(suite.against("new").reports())), "")
        assert len(set(re.findall(rf'name="(\w)"[^/]*on average {told}', junit))) == len(samples)
    for names, rest in (("abc", 0), ("abcde", 2)):  # of many three are told
        suite = sp.compare_suite(
            sp.Suite.of_samples(dict.fromkeys(names, one["a"]), unit="ms"), margin=margin
        )
        text = " ".join(render(next(iter(suite.reports()))).split())
        assert text.count("on average") == 3
        assert re.findall(r"\(and (\d+) more in the details\)", text) == [str(rest)] * bool(rest)


def test_one_measurement_given_twice_is_named(make_suite: Callable[..., Made]) -> None:
    """Two candidates of the same values, too; where a benchmark has the same on both sides no mean is a proof."""
    rng = np.random.default_rng(3)
    once = {version: rng.normal(1.0, 0.1, 20) for version in ("old", "one", "two")}
    suite = Suite.of_samples({name: once | {"again": once["one"]} for name in "ab"})
    result = sp.compare_suite(suite, reference="old")
    told = "one and again hold the same values: one measurement, given twice"
    assert told in " ".join(str(result).split())
    twice = [c for r in result.results for c in r.caveats if c.kind is Assumption.TWO_MEASUREMENTS]
    assert [(c.versions, c.benchmarks) for c in twice] == [(("one", "again"), ())]
    for other, shown in ((once["one"], False), (once["two"], True)):
        two, _ = make_suite({"a": (once["old"], once["old"]), "b": (once["one"], other)})
        told_of = "Geometric mean" in render(sheet.report(two))
        assert (two.geometric_means is not None, told_of) == (shown, shown)

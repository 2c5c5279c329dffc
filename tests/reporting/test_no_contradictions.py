"""What one sheet says in two places agrees."""

import re
from pathlib import Path

import numpy as np
import pytest
from tests.command import hyperfine

import speedproof as sp
from speedproof.cli.main import main
from speedproof.data.sample import Sample, Trait
from speedproof.data.suite import Key
from speedproof.options import DETAILS, QuestionName
from speedproof.reporting import samples
from speedproof.reporting.model import Cell, Column, Table
from speedproof.reporting.model import Report as Sheet
from speedproof.reporting.text import render
from speedproof.reporting.versions import report as of_versions


def suite(values: dict[str, dict[str, list[float]]]) -> sp.Suite:
    return sp.Suite.of_samples(values, unit="s")


def told(result: object) -> str:
    return " ".join(str(result).split())


def test_rows_proven_alone_do_not_contradict_a_joint_headline() -> None:
    """Four runs each of six versions: no order holds jointly, single rows do; the headline names both risks."""
    values = {f"v{c}": [i, i * 1.001, i * 1.002, i * 1.003] for i, c in enumerate("abcdef", 1)}
    text = told(sp.compare_suite(suite({"b": values})))
    assert text.startswith(
        "Undecided which is fastest: va, vb, vc, vd and 2 more (places at a joint risk of 5 %, each "
    )
    assert "1-6" in text
    assert "x slower" in text


def test_what_a_row_proves_alone_is_told_beside_places() -> None:
    """Places are of a joint risk, bounds of their row's own."""
    rng = np.random.default_rng(3)
    values = {
        v: (at + 0.01 * rng.standard_normal(20)).tolist() for v, at in {"a": 3.0, "b": 1.0, "c": 2.0}.items()
    }
    text = told(sp.compare_suite(suite({"n": values})))
    assert "(places at a joint risk of 5 %, each proven change at 5 %)" in text


def test_of_versions_that_tie_none_is_ahead() -> None:
    text = told(sp.rank(suite({"n": {"a": [1.0] * 5, "b": [1.0] * 5}})))
    assert text.startswith("No version is shown to be the best, and none is ahead.")


def test_rows_stand_by_place() -> None:
    """Also where names are dated."""
    rng = np.random.default_rng(1)
    means = {"2024-01-01": 3.0, "2024-02-01": 1.0, "2024-03-01": 2.0}
    values = {v: (at + 0.01 * rng.standard_normal(20)).tolist() for v, at in means.items()}
    lines = str(sp.compare_suite(suite({"b": values}))).splitlines()
    rows = [line.split()[:2] for line in lines if line.strip()[:1].isdigit() and "ms" not in line[:9]]
    found = [row for row in rows if row[0] in ("1", "2", "3")]
    assert [place for place, _ in found] == ["1", "2", "3"]
    seconds = {"ref": 2.0, "half": 4.0, "none": 0.0, "twice": 1.0, "near": 1.3}
    text = str(sp.compare_suite(suite({"b": {v: [at] * 5 for v, at in seconds.items()}})))
    assert re.findall("^ +1-5 +(\\w+)", text, re.MULTILINE) == ["none", "twice", "near", "ref", "half"]


def test_a_mean_without_interval_has_no_direction() -> None:
    values = {"old": [5.0, 5.0], "new": [8.0]}
    assert "Geometric mean: not shown" in told(sp.compare_suite(suite({"a": values, "b": values})))


@pytest.mark.parametrize(("zero", "some"), [(0.0, " (2 of 3 benchmarks)"), (8.0, "")])
def test_a_mean_says_of_how_many_benchmarks_it_is(zero: float, some: str) -> None:
    """A mean of zero has no ratio to anything: the other two alone have a geometric mean."""
    values = {n: {"old": [5.0, 5.1, 5.2], "new": [4.0, 4.1, 4.2]} for n in "ab"}
    values["c"] = {"old": [zero] * 3, "new": [zero + 1, zero + 2, zero + 3]}
    text = told(sp.compare_suite(suite(values)))
    assert re.search(r"Geometric mean: \S+ (fast|slow)er \[\S+ \S+\]" + re.escape(some), text)
    assert ("of 3 benchmarks" in text) == bool(some)


@pytest.mark.parametrize("benchmarks", ["a", "ab", "abc"])
def test_every_version_has_a_row_where_benchmarks_are_few(benchmarks: str) -> None:
    """Forty versions, which as columns would find no room, and nobody ranked: a line each, with every time."""
    versions = [f"v{i}" for i in range(40)]
    found = sp.compare_suite(suite({b: {v: [1.0, 1.1, 1.2] for v in versions} for b in benchmarks}))
    sheet = of_versions(found.results)
    rows = [line.split() for line in render(sheet, 80).splitlines() if " 1.100 s" in line]
    assert [row[0] for row in rows] == versions
    assert all(row.count("1.100") == len(benchmarks) for row in rows)


def test_hpt_tells_of_the_drift_that_a_comparison_tells_of() -> None:
    """Runs that rise by 10 %, 5 % apart, and runs that do not: HPT decides both, a comparison the steady ones."""
    rising, rng = np.linspace(1.0, 1.1, 30), np.random.default_rng(1)
    values = {
        "rising": {"old": 1.05 * rising, "new": rising},
        "steady": {"old": rng.normal(1.5, 0.01, 30), "new": rng.normal(1.0, 0.01, 30)},
    }
    order = frozenset({Trait.ORDER_KNOWN})
    given = sp.Suite(
        ("old", "new"),
        {(Key(b), v): Sample(x, "s", traits=order) for b, sides in values.items() for v, x in sides.items()},
    )
    reason = "the runs drift: measure in turns, with 'speedproof run'"
    assert f"rising: {reason}; HPT takes them for independent." in told(sp.hpt(given))
    assert reason in told(sp.compare_suite(given.select(only=["rising"])))
    assert "drift" not in told(sp.hpt(given.select(only=["steady"])))


def test_a_column_without_title_is_not_named() -> None:
    columns = (Column("a"), Column("", drop=2), Column("b", drop=1))
    table = Table.of(columns, iter([(Cell("x" * 30), Cell("y" * 30), Cell("z" * 30))]))
    assert "(no room for: b; COLUMNS=80 makes room)" in render(Sheet("", (), (table,)), 40)


def test_all_medians_have_as_many_digits(tmp_path: Path) -> None:
    times = {"a": [0.11091, 0.11094], "b": [0.1058, 0.1059, 0.1081], "c": [0.16838, 0.16839]}
    suite = sp.read(hyperfine(tmp_path / "f.json", times))
    lines = [line.split() for line in render(samples.report(suite)).splitlines()]
    assert [line[1] for line in lines if line[:1] in (["a"], ["b"], ["c"])] == ["110.9", "105.9", "168.4"]
    one = sp.Suite.of_samples({"b": {"v": [0.0009, 0.00095, 0.0011, 0.0012]}}, unit="s")
    last = " ".join(render(samples.report(one)).splitlines()[-1].split())
    assert last == "b 1.025 ms 1.038 ms ± 13 % 0.9000 ms 1.200 ms 4"


EXAMPLES = Path(__file__).parents[2] / "examples" / "gcc"
OLD, NEW = [1.0, 1.1, 1.05, 1.02, 1.07], [1.0, 1.12, 1.04, 1.01, 1.08]
INTERVAL = re.compile(r"\[([\d.]+)(?:x| %)?[,;] ([\d.]+)(?:x| %)?\]")


def result_at(confidence: float, *protocols: QuestionName) -> sp.SuiteResult:
    suite = sp.read(f"O2={EXAMPLES / 'O2.json'}", f"O3={EXAMPLES / 'O3.json'}")
    return sp.compare_suite(suite, confidence=confidence, protocols=protocols or DETAILS)


@pytest.mark.parametrize("confidence", [0.01, 0.2, 0.4])
@pytest.mark.parametrize("protocols", [(), ("single run",)])
def test_intervals_are_in_order(confidence: float, protocols: tuple[QuestionName, ...]) -> None:
    """The lower end stands first."""
    result = result_at(confidence, *protocols)
    told = "\n".join(render(report) for report in result.reports(details=True, explain=True))
    found = INTERVAL.findall(told)
    assert found
    assert all(float(low) <= float(high) for low, high in found), told


@pytest.mark.parametrize("options", [("--confidence", "0.05"), ("--alpha", "0.95")])
def test_a_risk_is_no_confidence_of_a_gate(
    capsys: pytest.CaptureFixture[str], options: tuple[str, str]
) -> None:
    """What decides in a pipeline refuses each where the other is meant, with the remedy."""
    command = (
        ["gate", "--baseline", "a", "--candidate", "b"] if options[0] == "--confidence" else ["run", "a", "b"]
    )
    assert main([*command, *options]) == 2
    assert "do you mean" in capsys.readouterr().err


@pytest.mark.parametrize(("metric", "about"), [("time", ""), ("cpu", "cpu: ")])
def test_a_gate_names_the_metric_that_it_judged(metric: str, about: str) -> None:
    values = {"b": {"old": [1.0, 1.01, 1.02, 1.03, 1.04], "new": [2.0, 2.01, 2.02, 2.03, 2.04]}}
    judged = told(sp.gate(sp.Suite.of_samples(values, unit="s", metric=metric)))
    assert judged.startswith(f"FAIL: {about}new is slower by more than 2 % ")


def test_a_gate_says_where_times_of_zero_passed() -> None:
    """A clock too coarse, or a benchmark that did nothing, is no gain."""
    text = told(sp.gate(suite({"b": {"old": [0.1, 0.11, 0.12, 0.13, 0.14], "new": [0.0] * 5}})))
    assert text.startswith("PASS")
    assert "values that are not positive" in text


@pytest.mark.parametrize("turned", [False, True])
def test_what_takes_no_time_did_not_run(turned: bool) -> None:
    """Beside that it says nothing that the other side drifts, and more runs would be 0, too."""
    last = [0.1012, 0.0981, 0.0993, 0.0991, 0.0973, 0.097, 0.0967, 0.0995]
    first = [0.1002, 0.1025, 0.0981, 0.102, 0.0995, 0.0995, 0.1038, 0.1003, 0.0999, 0.1015, 0.1023, 0.0999]
    sides = [[*first, *last], [0.0] * 20]
    old, new = sides[::-1] if turned else sides
    values = suite({"b": {"old": old, "new": new}})
    for text in (told(sp.compare_suite(values)), told(sp.gate(values))):
        assert "drift" not in text
        assert "all runs of a side are 0: did it run?" in text


def test_medians_that_go_the_other_way() -> None:
    """A reader divides the times: undecided, no direction is named; proven, the medians stand beside it."""
    old, new = (
        [100.0, 101.0, 102.0, 110.0, 111.0, 112.0, 113.0],
        [102.5, 103.0, 104.0, 109.0, 113.5, 114.0, 115.0],
    )
    values = suite({"b": {"old": old, "new": new}, "a": {"old": old, "new": [2 * v for v in new]}})
    for text in (told(sp.gate(values, margin=0.9)), told(sp.compare_suite(values))):
        assert re.search(r"b 110.0 s 109.0 s ~ (?!\d)", text)
    many = suite({"b": {"old": old * 20, "new": new * 20}})  # 28 of 49 pairs are slower
    assert re.search(r"b +110.0 s +109.0 s +\S+x slower .* medians 1.009x faster", told(sp.gate(many)))

"""What one sheet says in two places agrees."""

import re
from pathlib import Path

import pytest
from tests.command import hyperfine

import speedproof as sp
from speedproof.cli.main import main
from speedproof.options import DETAILS, QuestionName
from speedproof.reporting import samples
from speedproof.reporting.text import render


def suite(values: dict[str, dict[str, list[float]]]) -> sp.Suite:
    return sp.Suite.of_samples(values, unit="s")


def told(result: object) -> str:
    return " ".join(str(result).split())


@pytest.mark.parametrize(("zero", "some"), [(0.0, " (2 of 3 benchmarks)"), (8.0, "")])
def test_a_mean_says_of_how_many_benchmarks_it_is(zero: float, some: str) -> None:
    """A mean of zero has no ratio to anything: the other two alone have a geometric mean."""
    values = {n: {"old": [5.0, 5.1, 5.2], "new": [4.0, 4.1, 4.2]} for n in "ab"}
    values["c"] = {"old": [zero] * 3, "new": [zero + 1, zero + 2, zero + 3]}
    text = told(sp.compare_suite(suite(values)))
    assert re.search(r"Geometric mean: \S+ (fast|slow)er \[\S+ \S+\]" + re.escape(some), text)
    assert ("of 3 benchmarks" in text) == bool(some)


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

"""Races of Python functions, measuring commands, the pytest fixture and the notebook's magic."""

import json
import re
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import speedproof as sp
from speedproof.api.run_plan import Request
from speedproof.api.run_start import discovered, times_in
from speedproof.api.sessions import race_cell, raced
from speedproof.data.session_file import SCHEMA, PlannedBenchmark, PlannedVersion, SessionLine
from speedproof.measuring_options import Measuring

pytest_plugins = ["pytester"]


class Lap:
    """A clock that functions move on, so that no test depends on the machine."""

    def __init__(self, seed: int = 1) -> None:
        self.now = 0.0
        self._rng = np.random.default_rng(seed)

    def __call__(self) -> float:
        return self.now

    def takes(self, seconds: float, noise: float = 0.02) -> Callable[[], None]:
        def function() -> None:
            self.now += seconds * float(np.exp(self._rng.normal(0, noise)))

        return function


def test_a_faster_function_is_proven_faster() -> None:
    """The bounds hold the true factor, and measuring stops long before the time is up."""
    clock = Lap()
    r = sp.race(clock.takes(2.0), clock.takes(1.0), names=["old", "new"], clock=clock, seed=1, max_time=1e6)
    assert (r.verdict, r.suite.versions) == (sp.Verdict.FASTER, ("old", "new"))
    assert 1 < r.lower < 2 < r.upper
    assert r.blocks < 40
    assert re.match(r"new is [\d.]+x faster than old", str(r))
    told = json.loads(r.to_json())
    (compared,) = told["results"]
    assert (compared["candidate"], told["session"]["measured"][0]["blocks"]) == ("new", r.blocks)
    assert compared["comparisons"][0]["speedup"]["low"] == r.lower
    with pytest.raises(ZeroDivisionError):  # a defect of a function is the user's to see
        sp.race(lambda: 1 / 0, lambda: None)


@pytest.mark.parametrize("seed", range(4))
def test_the_reference_is_that_of_its_suite(seed: int) -> None:
    """Whichever ran first; else a comparison of the runs would turn the speedup over."""
    clock = Lap()
    r = sp.race(*(clock.takes(t) for t in (2.0, 1.0)), clock=clock, max_time=1e6, seed=seed)
    assert r.suite.versions == ("function 1", "function 2")
    s = sp.compare_suite(r.suite)
    assert s.results[0].reference == r.finding.reference
    headline = s.results[0].headlines[0]
    assert (headline.verdict, headline.certified) == (r.verdict, r.finding.certified)


@pytest.mark.parametrize(("seconds", "slower"), [(1.2, True), (1.04, False), (0.9, False)])
def test_a_margin_is_decided_either_way(seconds: float, slower: bool) -> None:
    """Beyond the first proof of a difference: 4 % slower is proven to be within 10 %."""
    clock = Lap()
    asked = Request(Measuring(gate=True, margin=0.1, max_time=1e6, seed=2))
    r = raced((clock.takes(1.0, 0.01), clock.takes(seconds, 0.01)), asked, (), None, clock=clock)
    assert (r.upper < 1 / 1.1, r.lower > 1 / 1.1) == (slower, not slower)


def test_commands_are_measured_while_one_looks() -> None:
    """States come block by block; leaving the loop ends the session, and the result is what was measured."""
    session = sp.measure({"old": "true", "new": "true"}, min_runs=5, max_runs=20, warmup="auto", seed=1)
    for state in session:
        if state.blocks == 3:
            session.close()
            seen = f"{state.speedup:.4g} [{state.lower:.4g}, {state.upper:.4g}]"
            assert str(state) == f"new: undecided after 3 blocks, speedup {seen}"
    result = session.result()
    assert result.blocks == 3
    assert {s.n for s in result.suite.samples.values()} <= {3, 4}  # of a block that had begun


def test_another_tools_benchmarks_are_read_in_seconds(tmp_path: Path) -> None:
    """Medians of times, of rates their inverse; not criterion's copy of the run before, nor another metric."""
    rows = "base,c,time,s,1 new,a,time,ms,2 new,a,time,ms,4 new,a,time,ms,9 new,b,throughput,ops/s,500"
    rows += " new,d,throughput,ops/s,0 new,e,throughput,B/s,5 new,f,latency,s,3 new,g,single-shot time,s,3"
    (tmp_path / "t.csv").write_text("version,benchmark,metric,unit,value\n" + rows.replace(" new", "\nnew"))
    assert times_in("csv", tmp_path / "t.csv") == pytest.approx({"a": 0.004, "b": 0.002, "g": 3.0})


@pytest.mark.parametrize(("resumed", "before", "benchmarks", "lacking"), [
    (False, {"go": ("gone",)}, ["a", "b"], {"a": ("gone",), "b": ("gone", "more")}),
    (True, {"c": ("new",)}, ["a"], {"c": ("new",)}),
])  # fmt: skip
def test_who_lacks_a_benchmark_of_a_tool(
    resumed: bool,
    before: dict[str, tuple[str, ...]],
    benchmarks: list[str],
    lacking: dict[str, tuple[str, ...]],
) -> None:
    """Who lacked one before lacks it still, and a revision that was not built lacks all of them."""
    found = {"old": {"a": 1.0, "b": 1.0}, "new": {"a": 1.0, "b": 1.0}, "more": {"a": 1.0}}
    tool: Any = SimpleNamespace(driver="go", discover=lambda version: found[version.name], aliases={})
    sides = tuple(PlannedVersion(name, (name,), name) for name in found)
    head = SessionLine(
        SCHEMA, "s", "2026-01-01T00:00:00+00:00", 1, (PlannedBenchmark("a", sides),), absent=before
    )
    asked = Request(Measuring())
    known = discovered(tool, head, str, asked, resumed=resumed, meanwhile=nullcontext())
    assert ([b.name for b in known.benchmarks], known.absent) == (benchmarks, lacking)


def test_cells_are_raced() -> None:
    """Lines of dashes separate; a name may follow them; names of the notebook are known."""
    r = race_cell("margin=5% max_time=20", "sum(range(n))\n# --- quick\nn\n", {"n": 5000})
    assert (r.finding.candidate, r.margin) == ("quick", 0.05)
    assert r.verdict is sp.Verdict.FASTER
    magics: dict[str, Any] = {}
    of_ipython = {"register_magic_function": lambda magic, kind: magics.update({kind: magic})}
    sp.load_ipython_extension(SimpleNamespace(user_ns={"n": 5000}, **of_ipython))
    raced = magics["line_cell"]("margin=5% max_time=20 m=sum(range(n)) --- m=n")
    assert (raced.verdict.value, raced.suite.versions) == ("faster", ("reference", "candidate"))
    assert magics["line_cell"]("max_time=0.1", "n\n---\nn").suite.versions == ("reference", "candidate")
    plain = race_cell("max_time=20", "sum(range(n))\n---\nn\n---\n-n", {"n": 5000})
    assert [f.candidate for f in plain.findings] == ["candidate 1", "candidate 2"]
    expected = ("reference", "candidate")
    assert race_cell("max_time=0.1", "# nothing\n---\nn", {"n": 5}).suite.versions == expected
    text = 'assert """a\nb""" == "a\\nb"'
    assert race_cell("max_time=0.1", f"{text}\n---\n{text}", {}).suite.versions
    for line, cell, message in (
        ("", "a", "separate"), ("speed=1", "a\n---\nb", "options are"),
        ("margin=x", "1\n---\n2", "margin='x' is not a number"), ("max_time=x", "1\n---\n2", "give seconds"),
    ):  # fmt: skip
        with pytest.raises(sp.SpeedproofError, match=message):
            race_cell(line, cell, {})


TESTS = """
from test_clock import Lap

def test_slower(race):
    clock = Lap()
    race(clock.takes(1.0), clock.takes(1.5), margin=0.1, clock=clock, max_time=1e6)

def test_within_the_margin(race):
    clock = Lap()
    r = race(clock.takes(1.0), clock.takes(1.05), margin=0.2, clock=clock, max_time=1e6)
    assert r.lower > 1 / 1.2

def test_many_times_slower(race):
    clock = Lap()
    race(clock.takes(1.0), clock.takes(20.7), margin=0.1, clock=clock, max_time=1e6, seed=7)

def test_wrong(race):
    race(len, sum, margin=5)

def test_undecided_passes(race):
    clock = Lap()
    race(clock.takes(1.0, 3.0), clock.takes(1.1, 3.0), margin=0.1, clock=clock, max_time=20.0)
"""


def test_the_fixture_fails_a_proven_slowdown_only(pytester: pytest.Pytester) -> None:
    """With a sentence that says how much is proven; what is undecided passes."""
    source = Path(__file__).read_text(encoding="utf-8")
    lap = source[source.index("class Lap") : source.index("def test_a_faster_function")]
    imports = "import numpy as np\nfrom collections.abc import Callable\n"
    pytester.makepyfile(test_clock=imports + lap, test_it=TESTS)
    run = partial(
        pytester.runpytest_inprocess,
        "-p", "no:speedproof", "-p", "speedproof.pytest_plugin", "test_it.py", "-p", "no:cacheprovider",
    )  # fmt: skip
    result = run()
    result.assert_outcomes(passed=2, failed=3)
    output = result.stdout.str()
    assert "margin=5 does not lie between 0 and 1; do you mean 5%?" in output
    assert not re.findall(r"^\S*speedproof\S*\.py:\d+", output, re.MULTILINE)  # no line of the program's own
    refused = run("--race-seconds=0").stderr.str()
    assert "argument --race-seconds: '0' leaves no time; give more than 0 seconds" in refused
    told = r"^slower by more than 10 %: .+ is ([\d.]+)x slower than .+; proven: at least ([\d.]+)x "
    told += r"\(99 % confidence\), \d+ runs of each in the order of seed="
    factors = [[float(v) for v in found] for found in re.findall(told, output, re.MULTILINE)]
    for true, (seen, bound) in zip((1.5, 20.7), factors, strict=True):
        assert 1.1 < bound < true
        assert seen == pytest.approx(true, rel=0.05)
    assert "in the order of seed=7" in output


def test_functions_are_called_by_their_names() -> None:
    """Numbered only where two have one name."""
    for functions, names in (((len, max), ("len", "max")), ((len, len), ("len 1", "len 2"))):
        finding = sp.race(*functions, args=[[1]], max_runs=2).finding
        assert (finding.reference, finding.candidate) == names

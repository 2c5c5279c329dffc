"""What is given wrongly in Python is refused in words that say what to do, and never by Python itself."""

import inspect
import json
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import speedproof as sp
from speedproof.data.sample import Trait
from speedproof.values import proportion


class Frame:
    columns = ("a", "b")


class Junk:
    """What no argument takes."""

    def __repr__(self) -> str:
        return "Junk"


OLD, NEW = [1.0, 1.1, 1.2, 1.05, 1.0], [0.9, 0.8, 0.85, 0.9, 0.95]
TWO = {"a": "true", "b": "true"}
CONFIG = "tests/data/speedup_test_tool/plain.csv"
APART = sp.Suite.of_samples({"a": {"old": OLD}, "b": {"new": NEW}, "c": {"old": OLD}})
sp_: Any = sp  # what types forbid is what is tried here


@pytest.fixture(scope="module")
def suite() -> sp.Suite:
    return sp.Suite.of_samples({"sort": {"old": OLD, "new": NEW}, "hash": {"old": NEW, "new": OLD}}, unit="s")


@pytest.mark.parametrize(("call", "message"), [
    (lambda s: sp_.compare(OLD, NEW, margin=1), "margin=1 does not lie between 0 and 1; do you mean 1%"),
    (lambda s: sp_.compare(OLD, NEW, margin=-0.1), 'between 0 and 1; give 0.02 or "2%"'),
    (lambda s: sp_.compare(OLD, NEW, margin="x"), "margin='x' is not a number"),
    (lambda s: sp_.compare(OLD, NEW, confidence=None), "confidence=None is not a number"),
    (lambda s: sp_.compare(OLD, NEW, confidence=95), "do you mean 95%"),
    (lambda s: sp_.compare(OLD, NEW, names=("one", "one")), "two different names"),
    (lambda s: sp_.compare(OLD, NEW, nested="no"), "nested='no'.*'process', 'pool'"),
    (lambda s: sp_.compare(OLD, NEW, unit="msecs"), "do you mean 'msec'"),
    (lambda s: sp_.compare("a.json", "b.json"), r"sp.read\(...\)"),
    (lambda s: sp_.report(sp_.compare(OLD, NEW), "no/x.html"), "^no/x.html: there is no folder no; make it first"),
    (lambda s: sp_.plot.check_output("no/x.svg"), "^no/x.svg: there is no folder no; make it first"),
    (lambda s: sp_.compare(np.ones((2, 2, 2)), NEW), "not 3"),
    (lambda s: sp_.compare([True, False], NEW), "not of bool"),
    (lambda s: sp_.compare(np.array(["2020-01-01"], "M8[D]"), NEW), "not of datetime"),
    (lambda s: sp_.compare(np.array([1, 2], "m8[ms]"), NEW, unit="ms"), "unit of their own"),
    (lambda s: sp_.compare(sp_.sample(OLD, unit="ms"), NEW), "say that of the other's numbers"),
    (lambda s: sp_.sample(sp_.sample(OLD, unit="s"), unit="MB/s"), "this sample is in s and lower is better"),
    (lambda s: sp_.sample(sp_.sample(OLD), higher_is_better=True), "lower is better"),
    (lambda s: sp_.compare(["a"], NEW), "made of numbers"),
    (lambda s: sp_.compare(*(sp_.sample(OLD, unit="points", higher_is_better=better) for better in (True, False))),
     "give both in one unit and direction"),
    (lambda s: sp_.compare_suite("a.json"), r"make one with sp.read\('a.json'\)"),
    (lambda s: sp_.pictures(s, "pie"), "kind='pie'.*'violins'"),
    (lambda s: sp_.compare_suite(s, protocols=["mode"]), "protocols='mode'.*'typical'"),
    (lambda s: sp_.compare_suite(s).adjusted("tukey"), "method='tukey'.*'holm', 'bh'"),
    (lambda s: sp_.compare_suite(s).adjusted(methd="bh"), "^methd=: no such argument; do you mean method=?"),
    (lambda s: sp_.compare(OLD, NEW).by("p97.5"), "'p97.5' was not run, only: typical"),
    (lambda s: sp_.gate(s, protocol="single run"), "choose one of 'typical', 'mean', 'median', 'p90'"),
    (lambda s: sp_.gate(s, candidate="newest"), "no version newest; do you mean new"),
    (lambda s: sp_.hpt(s).r_speedup(2), "confidence=2"),
    (lambda s: sp_.hpt(s, confidences=[1e-17]), "a confidence of 1e-17 is too close to 0"),
    (lambda s: sp_.mixture.fit("abc"), "'abc' is not a sample"),
    (lambda s: sp_.mixture.fit(OLD).model.rvs(-1, 1), "n=-1"),
    (lambda s: sp_.mixture.fit(OLD).model.rvs(1, "a"), "seed='a'"),
    (lambda s: sp_.mixture.fit(OLD).goodness(9, undersampling=2), "undersampling=2 leaves 10 of 5"),
    (lambda s: sp_.mixture.MixtureModel("a", [1], [1]), "is not a sample"),
    (lambda s: sp.compare([1.0, float("inf")], NEW), "^reference: value 2 of 2 is inf.*leave such values out"),
    (lambda s: sp.compare(OLD, []), "^candidate: .*at least one value"),
    (lambda s: sp.compare(sp.sample([1.0]).values * np.timedelta64(-1, "s"), NEW), "never negative"),
    (lambda s: sp_.compare(s, NEW), "numbers, not a Suite"),
    (lambda s: sp_.compare(OLD, Fraction(1)), "numbers, not a Fraction"),
    (lambda s: sp_.compare(OLD, NEW, names={"a", "b"}), "expected a list of texts"),
    (lambda s: sp_.compare(OLD, Frame()), r"a data frame is no sample: .* sp.Suite.from_frame"),
    (lambda s: sp_.Suite.from_frame({"t": OLD}, value="t", benchmark=3), "benchmark=3: expected a text"),
    (lambda s: sp.compare_suite(s, protocols=[]), "name one at least"),
    (lambda s: sp_.compare_suite(s, protocols="p30"), "protocols='p30': there is no such choice"),
    (lambda s: sp.plan(OLD, effect=0.1, protocol="p99.999"), "protocol='p99.999': there is no such choice"),
    (lambda s: sp.compare_suite(s).adjusted(protocol="mode"), "protocol='mode'"),
    (lambda s: sp.compare_suite(s["sort"]).adjusted(), "no joint risk"),
    (lambda s: sp.hpt(s, metric="size"), "there is no metric size; HPT takes one of time"),
    (lambda s: sp.hpt(s, scores="given"), "leave scores='given' out"),
    (lambda s: sp.rank(s, jobs=0), "jobs=0: .* at least 1"),
    (lambda s: sp_.gate(s, demand_of=lambda name: 3), r"demand_of\('sort'\) gave 3"),
    *((lambda s, ask=ask: ask(sp.Suite.from_records([])), "the suite is empty")
      for ask in (sp_.compare_suite, sp_.pictures)),
    (lambda s: sp_.race(1, 2), r"functions, not 1: sp.race\(old, new\)"),
    (lambda s: sp_.race(np.arange(1000.0), len), r"^a race is between functions, not array.{,30}: sp.race"),
    (lambda s: sp.mixture.fit([math.nan, *OLD]), r"leave out what is missing \(NaN\) or infinite"),
    (lambda s: sp_.measure("./old"), "commands by version"),
    *((lambda s, b=b: sp_.measure({"a": "true", "b": b}), "b: expected a command") for b in (5, ["x", 5])),
    (lambda s: sp_.race(list, (lambda: (yield))), "runs nothing yet"),
    (lambda s: sp_.bisect("ab", len), "commits='ab': expected a list of texts"),
    (lambda s: sp_.compare([[1.0], [2.0, 3.0]], NEW), "its rows differ in length"),
    (lambda s: sp_.hpt(s, speedups={1.5}), r"speedups={1.5}: expected a list of numbers"),
    *((lambda s, n=n: sp_.hpt(s, speedups=[n]), f"speedups={n}: expected factors") for n in (-1, math.nan)),
    (lambda s: sp_.hpt(s, alpha_benchmark=0.7), "^alpha_benchmark=0.7: expected a risk"),
    (lambda s: sp_.compare_suite(s, reference="zz"), "^there is no version zz; available: "),
    (lambda s: sp_.model(s, quantiles=[2]), "do you mean 2%"),
    (lambda s: sp_.History("gone.db").add("x", started="yesterday"), "^started='yesterday': expected ISO 8601"),
    (lambda s: sp_.model(s, below=["zz"]), "^below='zz' is not a number with a unit"),
    (lambda s: sp_.sample([1.0, math.inf]), "value 2 of 2 is inf"),
    (lambda s: sp_.model(s, bootstrap=-1), "bootstrap=-1"),
    (lambda s: sp.Suite.of_samples({"old": {"f": OLD}, "new": {"f": NEW}}), "give benchmarks first"),
    (lambda s: sp_.race(len, sum, max_time=-1), "give seconds"),
    (lambda s: sp_.compare(OLD, NEW, confidence=1 - 1e-12), "implies a risk below 1e-09, the smallest that"),
    (lambda s: sp_.rank(s, confidence=0.05), "is a risk and no confidence"),
    (lambda s: sp_.compare(OLD, NEW, confidence=0.4), "is a risk and no confidence"),
    (lambda s: sp_.gate(s, confidence="5%"), "is a risk and no confidence"),
    (lambda s: sp_.measure({"a": "true"}, warmup=-1), "warmup=-1"),
    (lambda s: sp_.bisect(["a", "b"], len, max_pairs=0), "max_pairs=0"),
    (lambda s: sp_.compare(OLD, NEW, confidence=1.0), "between 0 and 1; give 0.95"),
    (lambda s: sp_.read(""), "is a variable not set"),
    (lambda s: sp_.measure({"a": "true"}), "nothing to be compared with: give two or more"),
    (lambda s: sp_.measure(TWO, save="/nonexist/s.jsonl"), "cannot save to /nonexist/s.jsonl: No such file"),
    (lambda s: sp_.measure(TWO, timeout=float("nan")), "timeout=.nan. is not a time"),
    (lambda s: sp_.measure(TWO, min_runs=5, max_runs=3), "min_runs=5 and max_runs=3 leave nothing to measure"),
    (lambda s: sp_.read("examples/gcc/O2.json", only="x*"), "no command matches"),
    (lambda s: sp_.gate("a.json", "b.json"), "^suite='a.json': expected a suite; make one with sp.read"),
    (lambda s: sp_.report(s, "x.json"), "expected a result, of sp.compare"),
    (lambda s: sp_.joint(s, ["time"]), "two metrics or more"),
    *((lambda s, o=o: sp_.speedup_test(CONFIG, original=True, **o), "original")
      for o in ({"ks_rule": "r422"}, {"always_welch": True})),
    (lambda s: sp_.race(len), "two functions"),
    *((lambda s, names=names: sp_.race(len, sum, names=names), "different names")
      for names in (["a", "a"], ["a"])),
    (lambda s: sp.mixture.fit(OLD * 100, K_max=1000), "K_max=1000: expected 1 to 32 components"),
    (lambda s: sp.mixture.fit(OLD * 100, components=1000), "^components=1000: expected 1 to 32"),
    (lambda s: sp.mixture.fit(OLD, K_max=0), "K_max=0: expected 1 to 32"),
    *((lambda s, ask=ask, n=n: ask(s, max_components=n), f"max_components={n}: expected 1 to 32")
      for ask, n in ((sp_.rank, 1000), (sp_.rank, 0), (sp_.model, 33))),
    (lambda s: sp.model(s, components=0), "^components=0: expected 1 to 32"),
    (lambda s: sp.model(s, components=2, distance="cvm"), "^components=2 makes no test; leave out distance='cvm'"),
    (lambda s: sp.rank(s, resamples=9), "resamples=9: an interval needs at least 10"),
    *((lambda s, make=make: make(np.zeros(3, "f8,f8")), r"give one of its columns.*Suite\.from_frame")
      for make in (sp.sample, sp.mixture.fit)),
    (lambda s: sp.sample(np.zeros(3, "V8")), "real numbers, not of void"),
    (lambda s: sp_.compare(OLD, NEW, names=("a", "b", "a")), "two different names"),
    *((lambda s, ask=ask: ask(s)["fib"], "^no benchmark 'fib' was (compared|ranked), only: sort, hash$")
      for ask in (sp_.compare_suite, sp.rank)),
    (lambda s: sp.compare_suite(s).against("old"), r"^no comparison with old in any metric: new \(time\)$"),
    (lambda s: sp.compare_suite(s).against(None, "size"), r"with any candidate in size: new \(time\)$"),
    (lambda s: sp.compare_suite(s).over("n"), "differ in n: these benchmarks have no parameters"),
    (lambda s: sp.pictures(APART, "forest"), "^no benchmark of old was also measured with new$"),
    (lambda s: sp.pictures(sp.Suite.of_samples({"a": {v: sp.sample(OLD, unit=v) for v in "sB"}}), "cdf"),
     "^a: its versions have different units; choose with only= and metric=$"),
    (lambda s: sp.hpt(APART), "can be compared with one of new\n  left out: a, c: only old has it\n  .*b: only"),
    (lambda s: sp.rank(APART, mixtures=False), "no benchmark could be ranked\n  left out: a, c: only old has it"),
    (sp_.why, "no metric beside time"),
    (lambda s: sp_.model(s, below=[3]), "^below=3 is a plain number, and the values of old are in s: write"),
    (lambda s: sp.model(s, delta="3kB"), "^delta='3kB' is in B, and the values of old are in s"),
    (lambda s: sp.model(sp.Suite.of_samples({"a": OLD}), below=["3ms"]), "is in s, and the .* are plain numbers$"),
    (lambda s: sp.model([1.0], bootstrap=0), r"no sample could be modelled\n  left out: values"),
    (lambda s: sp.race(len, sum, max, args=[[1]], max_runs=10).finding, "^there are 2 comparisons; see .findings"),
    (lambda s: sp.model(s, bootstrap=0, undersampling=0.9), "^bootstrap=0 makes no test; leave out undersampling"),
])  # fmt: skip
def test_it_is_refused(call: Callable[[sp.Suite], object], message: str, suite: sp.Suite) -> None:
    with pytest.raises(sp.SpeedproofError, match=message):
        call(suite)


@pytest.fixture
def history(tmp_path: Path) -> sp.History:
    (tmp_path / "runs.txt").write_text("1.0\n1.1\n1.2\n")
    history = sp.History(tmp_path / "s.db", repository=tmp_path)
    history.add(tmp_path / "runs.txt", commit="c", benchmark="sort")
    return history


def test_what_is_of_no_kind_is_refused_by_every_argument(
    suite: sp.Suite, history: sp.History, tmp_path: Path
) -> None:
    """It is named by the argument, or by what takes its place; the others are what it takes."""
    found, corpus = sp.compare_suite(suite), sp.Corpus.build(["examples/gcc"], tmp_path / "c")
    of_suite = (sp.compare_suite, sp.gate, sp.rank, sp.hpt, sp.model, sp.why, sp.pictures, sp.remarks)
    takes: dict[Any, dict[str, Any]] = {
        **{function: {"suite": suite} for function in of_suite}, suite.select: {}, found.adjusted: {},
        sp.compare: {"reference": OLD, "candidate": NEW}, sp.sample: {"values": OLD},
        sp.mixture.fit: {"values": OLD}, sp.bisect: {"commits": ["a", "b"], "run": len},
        sp.plan: {"pilot": OLD, "effect": 0.1}, sp.joint: {"suite": suite, "metrics": ["time", "memory"]},
        sp.race: {"reference": len, "candidates": (sum,)}, sp.measure: {"commands": TWO},
        sp.speedup_test: {"config": CONFIG}, sp.read: {},
        sp.report: {"result": found, "path": tmp_path / "x.md"}, found.over: {"parameter": "n"},
        sp.Suite.of_samples: {"samples": {"a": OLD}}, sp.Suite.from_frame: {"frame": {"t": OLD}, "value": "t"},
        sp.Corpus: {"place": tmp_path / "c"}, sp.History: {}, sp.hpt(suite).r_speedup: {"confidence": 0.5},
        sp.Corpus.build: {"files": ["examples/gcc/O2.json"], "place": tmp_path / "d"},
        corpus.query: {}, sp.sample(OLD).per_process: {},
        corpus.compare: {"workers": 1}, corpus.model: {"workers": 1}, corpus.changes: {"workers": 1},
        history.add: {"path": tmp_path / "runs.txt"}, history.export: {}, history.import_: {}, history.query: {},
        history.changes: {}, history.alarms: {}, history.page: {"folder": tmp_path / "p"},
        history.find: {"commit": "c"}, history.decide: {"commit": "c", "state": "blessed"},
        history.forget: {"commit": "c"},
    }  # fmt: skip
    asked = 0
    for function, given in takes.items():
        signature = inspect.signature(function)
        for name, parameter in signature.parameters.items():
            junk = (Junk(),) if parameter.kind is parameter.VAR_POSITIONAL else Junk()
            call = inspect.BoundArguments(signature, {**given, name: junk})
            with pytest.raises(sp.SpeedproofError, match=rf"(^|: ){name}=|Junk|commands by version"):
                function(*call.args, **call.kwargs)
            asked += 1
    assert asked > 150
    with pytest.raises(sp.SpeedproofError, match=r"^pairs= and reference=, candidate= excl"):
        corpus.compare("O2", "O3", pairs="all")


@pytest.mark.parametrize(("ask", "message"), [
    (lambda h: h.decide("c", "nope"), "state='nope'.*'blessed', 'invalid', 'fixed'"),
    (lambda h: h.alarms(every=0), "every=0: expected a positive number of commits"),
    (lambda h: h.alarms(every=float("inf")), "every=inf"), (lambda h: h.alarms(last=0), "last=0: expected how"),
    (lambda h: h.query(last=-2), "last=-2: expected how many"), (lambda h: h.add("a,b"), "add one file at a time"),
    (lambda h: h.add("x.json", comit="v1"), "^comit=: no such argument; do you mean commit="),
    (lambda h: h.page("/none", compare="x"), "compare='x': expected a list of texts"),
    (lambda h: h.changes(correction="x"), "correction='x'.*'holm', 'bh'"),
])  # fmt: skip
def test_a_history_is_asked_what_it_can_tell(
    ask: Callable[[sp.History], object], message: str, history: sp.History
) -> None:
    with pytest.raises(sp.SpeedproofError, match=message):
        ask(history)
    assert [found.benchmark for found in history.query(last=1)] == ["sort"]
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'path'"):
        sp_.History.add(history)


def test_a_pair_is_written_and_named(tmp_path: Path, suite: sp.Suite) -> None:
    sp.report(pair := (whole := sp.compare_suite(suite))["sort"], tmp_path / "x.json")
    assert (tmp_path / "x.json").read_text() == pair.to_json()
    own, all_of_it = (json.loads(r.to_json()) for r in (pair, whole))
    assert own.keys() == all_of_it.keys()
    told, every = (of["results"][0]["comparisons"] for of in (own, all_of_it))
    assert told == [c for c in every if c["benchmark"] == "sort"]
    assert ("sort" in whole, "fib" in whole) == (True, False)
    assert repr(pair).startswith("<PairResult: sort: faster, speedup ")
    assert repr(sp.compare(OLD, NEW)).startswith("<PairResult: faster, speedup ")


def test_a_correction_has_a_long_name_and_a_short_one(suite: sp.Suite) -> None:
    s, once = sp.compare_suite(suite), sp.compare_suite(suite, protocols="mean")
    assert s.adjusted("bh") != s.adjusted("holm")
    assert once == sp.compare_suite(suite, protocols=["mean", "mean"])
    assert once.adjusted() == once.adjusted(protocol="mean") != s.adjusted()


@pytest.mark.parametrize(("sessions", "order", "shares"), [
    (["m m m"], True, 2), ([" "], True, 2), (["m n mn"], True, 1), (["m m n"], True, 1), (["mn m m"], True, 2),
    (["m m m", "m m n"], True, 1), (["m m m", "n n n"], True, 2), (["m m m"], False, 1), (["m m"], True, 1),
])  # fmt: skip
def test_candidates_of_one_session_share_its_risk(sessions: list[str], order: bool, shares: int) -> None:
    """In random order, and in a session of all versions for every benchmark; nameless ones are one."""
    traits = frozenset({Trait.RANDOM_ORDER} if order else ())
    samples = {
        f"f{k}": {f"v{i}": sp.Sample(np.array(OLD) + i, "s", traits=traits, session_names=tuple(of))
                  for i, of in enumerate(each.split() or ["", "", ""])}
        for k, each in enumerate(sessions)
    }  # fmt: skip
    found = sp.compare_suite(sp.Suite.of_samples(samples), protocols="typical")
    for c in (c for r in found.results for c in r.comparisons):
        assert c.alpha == pytest.approx(0.05 / shares)


def test_a_percentage_is_a_share() -> None:
    assert proportion("2%") == proportion("2 %") == proportion(0.02) == proportion(np.float32(0.5)) / 25
    one, other = (sp.compare(OLD, NEW, margin=m, confidence=c) for m, c in (("2%", "99%"), (0.02, 0.99)))
    assert str(one) == str(other)


def test_a_suite_is_told_in_a_line(suite: sp.Suite) -> None:
    assert str(suite) == repr(suite) == "<Suite: 2 benchmarks of old, new; time>"
    assert [suite[name].benchmarks for name in suite] == [("sort",), ("hash",)]
    assert (len(suite), "sort" in suite, "fib" in suite) == (2, True, False)
    files = ("O2=examples/gcc/O2.json", "O3=examples/gcc/O3.json")
    assert sp.read(*files, only="mat*").benchmarks == sp.read(*files, only=["mat*"]).benchmarks == ("matmul",)
    assert "matmul" not in sp.read(*files, skip="mat*").benchmarks
    assert suite.select("so*").benchmarks == suite.select(skip="hash").benchmarks == ("sort",)


def test_warnings_of_a_suite_are_those_of_its_benchmarks() -> None:
    """Waiting times are far from normal, which the mean protocol says of these benchmarks alone."""
    rng = np.random.default_rng(1)
    samples = {"calm": rng.normal(10, 0.1, (2, 40)), "queue": 1 + rng.exponential(1, (2, 40))}
    suite = sp.Suite.of_samples({name: {"old": v[0], "new": v[1]} for name, v in samples.items()})
    s = sp.compare_suite(suite, protocols="mean")
    assert [r.benchmark for r in s if r.warnings] == ["queue"]
    assert sp.Assumption.NORMALITY in {check.kind for check in s["queue"].warnings}


def test_a_gate_of_three_versions_asks_which() -> None:
    """None of them passes without being looked at."""
    three = sp.Suite.of_samples({"a": OLD, "b": NEW, "c": [3 * v for v in OLD]})
    for ask in (sp_.gate, sp_.hpt):
        with pytest.raises(sp.SpeedproofError, match=r"compares one version with one other.*a, b, c"):
            ask(three)
    assert sp.gate(three, candidate="c").outcome.value != "pass"


@pytest.mark.parametrize(("versions", "mixtures"), [("ab", True), ("ab", False), ("abc", True)])
def test_modes_are_compared_of_two_versions_with_mixtures(versions: str, mixtures: bool) -> None:
    suite = sp.Suite.of_samples({v: [ord(v) * t for t in OLD * 3] for v in versions})
    (one,) = sp.rank(suite, mixtures=mixtures, resamples=10).benchmarks
    assert (one.changes is not None) == (mixtures and len(versions) == 2)


@pytest.mark.parametrize(("x", "y"), [("old", "new"), ("old", "old"), ("old", ""), ("", "new"), ("", "")])
def test_versions_have_the_names_of_both_samples_or_of_neither(x: str, y: str) -> None:
    result = sp.compare(sp.Sample(np.array(OLD), label=x), sp.Sample(np.array(NEW), label=y)).result
    expected = (x, y) if (x, y) == ("old", "new") else ("reference", "candidate")
    assert (result.reference, result.candidate) == expected


def test_the_main_metric_is_asked_for_as_on_the_command_line() -> None:
    """Counters of a session are there on request only, and named then."""
    suite = sp.read("examples/gzip/session.jsonl")
    assert len(suite.metrics) > 1
    assert {r.metric for r in sp.compare_suite(suite).results} == {"time"}
    assert {row.metric for row in sp.gate(suite).decision.rows} == {"time"}
    steps: list[None] = []
    everything = sp.rank(suite, metric="all", mixtures=False, done=lambda: steps.append(None))
    assert len(steps) == len(everything.benchmarks)
    assert {b.key.metric for b in everything.benchmarks} == set(suite.metrics)
    assert "(user)" in str(everything)


@pytest.mark.parametrize("order", ["rising", "falling", "any"])
def test_values_say_of_their_order_what_those_of_a_file_say(order: str, tmp_path: Path) -> None:
    """Many that only rise have been sorted; of several processes each has its own order."""
    values = np.random.default_rng(3).normal(10, 1, 30)
    values = {"rising": np.sort(values), "falling": -np.sort(-values), "any": values}[order]
    (tmp_path / "v.txt").write_text("".join(f"{v!r}\n" for v in values.tolist()))
    (read,) = sp.read(tmp_path / "v.txt", unit="s").samples.values()
    told = {Trait.ORDER_KNOWN if order == "any" else Trait.SORTED}
    assert sp.sample(values, unit="s").traits == read.traits == told
    assert sp.sample(values.reshape(6, 5), unit="s").traits == {Trait.ORDER_KNOWN}

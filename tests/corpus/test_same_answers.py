"""A corpus says of all its benchmarks what the suites of its pairs of versions say, in every number."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import json
from msgspec.structs import replace
from tests.command import speedproof
from tests.corpus.made import Results, put

import speedproof as sp
from speedproof.conclude.suite import SuiteComparison
from speedproof.corpus.read import parts_of, query, rows_of
from speedproof.corpus.schema import opened
from speedproof.data.notes import Assumption
from speedproof.data.record import FileResults, Record
from speedproof.data.sample import Trait
from speedproof.options import ASKED, DETAILS
from speedproof.protocols.caveats import caveats_of
from speedproof.protocols.pair import Rules
from speedproof.protocols.results import Comparison, Verdict

GAPS = tuple(f"b{b:03}" for b in range(4, 135, 5))
"""What version v1 lacks."""


def mixed(unit: str) -> Results:
    """Three versions of benchmarks, faster or slower, clearly or not, with steps, ties and processes."""
    rng = np.random.default_rng(1)
    records = []
    for b in range(135):
        for number, version in enumerate(("v0", "v1", "v2")):
            n = (12 if b % 7 else 9) + 3 * (version == "v1")
            factor = (1.3, 1.02, 0.9, 1.08, 1.025, 0.8)[b % 6] ** number
            values = (10 + b % 5) / factor * np.exp(0.02 * rng.standard_normal(n))
            values[n // 2 :] *= 1.05 if b % 8 == 1 else 1.0
            values = np.round(values, 1) if b % 10 == 2 else values
            if version != "v1" or f"b{b:03}" not in GAPS:
                records.append(Record(
                    f"b{b:03}", values if unit == "s" else 100 / values, unit=unit, version=version, path="f",
                    processes=np.repeat(np.arange(n // 3), 3) if b % 9 == 4 else None, where=f"[{b}]",
                    traits=frozenset({Trait.ORDER_KNOWN}), position=b,
                ))  # fmt: skip
    return [("", FileResults("f", tuple(records)))]


SIDES = ("n", "observations", "mean", "median", "minimum", "maximum", "deviation", "mad")


def plain(value: Any) -> Any:
    """A result as its JSON has it."""
    return json.decode(json.encode(value))


def near(value: Any) -> Any:
    """The same JSON with its numbers up to rounding: kernels round by how many pairs they are given."""
    if isinstance(value, dict):
        return {key: near(part) for key, part in value.items()}
    if isinstance(value, list):
        return [near(part) for part in value]
    return pytest.approx(value, rel=1e-12, nan_ok=True) if isinstance(value, float) else value


def totals(of: Any) -> Any:
    """The sums of one pair of versions; of its caveats the kinds, as each part of a corpus has its own numbers."""
    return [of.geometric_means, of.overall, [[n.kind, n.versions, len(n.benchmarks)] for n in of.caveats]]


def proven_by(one: Comparison) -> float:
    """The bound of a verdict."""
    return one.speedup.low if one.verdict is Verdict.FASTER else 1 / one.speedup.high


def summed_up(found: Mapping[tuple[str, str], SuiteComparison]) -> dict[str, Any]:
    """What a corpus says of pairs of versions, from the comparisons of the suite of each."""
    results = [*found.values()]
    every = [one for result in results for one in result.comparisons]
    leading = [one for one in every if one.protocol == "typical"]
    decided = [one for one in leading if one.verdict is not Verdict.UNDECIDED]
    undermining = Counter(kind for one in decided for kind in {note.kind for note in one.undermining})
    told: dict[str, Any] = {
        "alpha": 0.05,
        "margin": 0.03,
        "metric": "time",
        "headline": "typical",
        "pairs": len(results),
        "lacking": [[len(of.only_reference), len(of.only_candidate), len(of.problems)] for of in results],
        "benchmarks": len({one.benchmark for one in leading}),
        "comparisons": len(leading),
        "counts": {
            protocol: {v: sum((one.protocol, one.verdict) == (protocol, v) for one in every) for v in Verdict}
            for protocol in {one.protocol for one in every}
        },
        "proven": {
            protocol: {
                v: sum((one.protocol, one.proven_verdict) == (protocol, v) for one in every) for v in Verdict
            }
            for protocol in {one.protocol for one in every}
        },
        "bands": {
            v: [
                sum(low <= proven_by(one) - 1 < high for one in leading if one.verdict is v)
                for low, high in ((0.05, 9.0), (0.02, 0.05), (-1.0, 0.02))
            ]
            for v in (Verdict.FASTER, Verdict.SLOWER)
        },
        "undermined": sum(bool(one.undermining) for one in decided),
        "undermining": sorted(undermining.items(), key=lambda item: (-item[1], item[0].value)),
        "wholes": {" ".join(pair): totals(of) for pair, of in found.items()},
        "sessions": None,
        "machines": 0,
        "failures": [],
    }
    if len(results) == 1:
        result, hpt = results[0], results[0].hpt
        assert hpt is not None
        told["accelerated"] = result.accelerated
        told["controlled"] = [replace(one, verdicts=()) for one in result.controlled]
        told["hpt"] = [
            hpt.winner,
            hpt.confidence,
            hpt.pvalue_candidate,
            hpt.pvalue_reference,
            hpt.method,
            hpt.speedups,
        ]
    return told


CLAIMED = (Verdict.FASTER, Verdict.SLOWER, Verdict.EQUIVALENT)


@pytest.mark.parametrize(("which", "pairs", "unit"), [
    (None, ["v0 v1"], "s"),
    pytest.param(None, ["v1 v0"], "s", marks=pytest.mark.slow),
    pytest.param(None, ["v0 v1"], "B/s", marks=pytest.mark.slow),
    pytest.param("consecutive", ["v0 v1", "v1 v2", "v0 v2"], "s", marks=pytest.mark.slow),
    ("all", ["v0 v1", "v0 v2", "v1 v2"], "s"),
])  # fmt: skip
def test_against_comparing_the_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, which: Any, pairs: list[str], unit: str
) -> None:
    """Every answer, what all sum up to, and which changes are shown are what the suites of the pairs give."""
    for limit in ("build.ROWS", "read.TASK"):
        monkeypatch.setattr(f"speedproof.corpus.{limit}", 140)
    corpus = put(mixed(unit), tmp_path / "c")
    asked: dict[str, Any] = {"rules": Rules(margin=0.03), "protocols": ("typical",) if which else DETAILS}
    versions = () if which else pairs[0].split()
    c = sp.Corpus(corpus).compare(*versions, pairs=which, out=tmp_path / "a", workers=1, **asked).conclusion
    assert c.parts > 3
    expected: dict[tuple[str, str], SuiteComparison] = {}
    for pair in pairs:
        a, b = pair.split()
        # The next version is the next one that has the benchmark.
        gaps = f" AND benchmark IN {GAPS}" if (which, pair) == ("consecutive", "v0 v2") else ""
        suite = sp.read(corpus, where=f"version IN {(a, b)}{gaps}")
        expected[a, b] = sp.compare_suite(suite, reference=a, **asked).result

    told = plain(c)
    told["wholes"] = {f"{whole.reference} {whole.candidate}": totals(whole) for whole in c.results}
    if (hpt := c.results[0].hpt) is not None:
        told["controlled"] = c.results[0].controlled
        of_each = (hpt.pvalue_candidate, hpt.pvalue_reference, hpt.method, hpt.speedups)
        told["hpt"] = [hpt.winner, hpt.confidence, *of_each]
    summed = summed_up(expected)
    assert {(*whole.only_reference, *whole.only_candidate) for whole in c.results} <= {GAPS[:20], ()}
    assert c.in_some == (len(GAPS), GAPS[:20])
    assert plain({name: told[name] for name in summed}) == near(plain(summed))

    every = {
        (*pair, one.benchmark, one.protocol): one for pair, of in expected.items() for one in of.comparisons
    }
    rows = query(tmp_path / "a", "FROM answers").to_pylist()
    assert len(rows) == len(every)
    for row in rows:
        one = every[row["reference"], row["candidate"], row["benchmark"], row["protocol"]]
        assert (row["verdict"], row["failed"]) == (
            one.verdict.value,
            [n.kind.value for n in one.failed_checks],
        )
        numbers = [one.speedup.value, one.certified.low, one.certified.high, one.pvalue, one.pvalue_slower]
        assert [row[name] for name in ("speedup", "low", "high", "pvalue", "pvalue_slower")] == near(numbers)
        needed = [one.needed and one.needed.reference, one.needed and one.needed.candidate]
        assert [row["needed_reference"], row["needed_candidate"]] == needed
        chance = [one.chance and getattr(one.chance, name) for name in ("value", "low", "high")]
        assert [row[name] for name in ("chance", "chance_low", "chance_high")] == near(chance)
        told = {name: getattr(one, name) for name in ("metric", "state", "test", "proven", "paired")}
        told["bound"] = max(1.0, proven_by(one)) if one.verdict in CLAIMED[:2] else None
        told["pvalue_equivalent"] = one.at_margin.equivalent if one.at_margin else np.nan
        for side, name in product(("reference", "candidate"), SIDES):
            told[f"{side}_{name}"] = getattr(getattr(one, side), name)
        assert {name: row[name] for name in told} == near(told)

    # Of what is proven the largest changes: a hundred, and of either direction at least fifty.
    ordered = {}
    for verdict in (Verdict.SLOWER, Verdict.FASTER):
        keys = [key for key, one in every.items() if (one.protocol, one.verdict) == ("typical", verdict)]
        ordered[verdict] = sorted(keys, key=lambda key: (-max(1.0, proven_by(every[key])), key[2], key[:2]))
    slower, faster = ordered.values()
    expected_keys = [*slower[: max(50, 100 - len(faster))], *faster[: max(50, 100 - len(slower))]]
    shown = [
        (one.reference.label, one.candidate.label, one.benchmark, one.protocol)
        for one, *_ in c.shown.values()
    ]
    assert shown == expected_keys
    for own, *beside in c.shown.values():
        key = (own.reference.label, own.candidate.label, own.benchmark)
        assert {one.protocol for one in beside} == {name for *of, name in every if (*of,) == key} - {
            own.protocol
        }
        for one in (own, *beside):
            assert plain(one) == near(plain(every[*key, one.protocol]))


def test_a_caveat_has_the_number_in_the_middle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the parts' own, each as often as it has benchmarks that the caveat is about."""
    for limit in ("build.ROWS", "read.TASK"):
        monkeypatch.setattr(f"speedproof.corpus.{limit}", 30)
    records = [
        Record(f"b{b}", s * (1 + k * (24 - b) / 24) * np.arange(1.0, 9.0), version=v, path="f", session=f"{v}{k}")
        for b in range(24) for v, s in (("a", 1), ("b", 2)) for k in range(2 if b % 4 else 1)
    ]  # fmt: skip
    corpus = put([("", FileResults("f", tuple(records)))], tmp_path / "c")
    (note,) = sp.Corpus(corpus).compare(workers=1).conclusion.results[0].caveats
    numbers, pairs = [], sp.read(corpus).pair("a", "b").pairs
    for files in parts_of(opened(corpus)[1].files):
        names = rows_of(str(corpus), files)["benchmark"].to_pylist()
        (own,) = caveats_of(some := [pair for pair in pairs if pair.key.benchmark in names], ("a", "b"))
        numbers += [own.statistic] * (len(own.benchmarks) or len(some))
    assert len(set(numbers)) > 3
    assert (note.kind, len(note.benchmarks)) == (Assumption.SEVERAL_SESSIONS, 18)
    assert note.statistic == sorted(numbers)[8]


@pytest.mark.parametrize("same", [True, False])
def test_one_measurement_given_twice_has_no_mean(tmp_path: Path, same: bool) -> None:
    """Its interval would be a proof of equality, of files as in parts; nor has a single ratio."""
    ((_, file),) = mixed("s")
    records = [replace(r, version=v) for r in file.records if r.version == "v0" for v in ("a", "b")]
    records[0] = replace(records[0], values=records[0].values if same else records[0].values * 1.1)
    corpus = put([("", replace(file, records=tuple(records)))], tmp_path / "c")
    in_parts = sp.Corpus(corpus).compare("a", "b", workers=1).conclusion.results[0].geometric_means
    in_memory = sp.compare_suite(sp.read(corpus)).geometric_mean
    assert [mean is None for mean in (in_parts, in_memory)] == [same, same]


def remade(made: Callable[[Record], Any]) -> Results:
    """The same with other values."""
    ((label, file),) = mixed("s")
    records = (replace(r, values=made(r), processes=None) for r in file.records)
    return [(label, replace(file, records=tuple(records)))]


def slow_at_times(record: Record) -> Any:
    """More runs, of which those of one version take long now and then."""
    values = np.tile(record.values, 4) * np.exp(np.linspace(0.0, 1e-3, 4 * record.values.size))
    values[::5] *= 4.0 if record.version == "v1" else 1.0
    return values


@pytest.mark.parametrize(
    ("made", "asked"),
    [(mixed("s"), {}), (mixed("B/s"), {"margin": 0.03}), (remade(slow_at_times), {}),
     (remade(slow_at_times), {"protocols": ["p75", "mean"]}), (remade(lambda r: r.values[:1]), {}),
     (mixed("s"), {"protocols": ["single run"], "confidence": 0.6})],
    ids=["times", "rates", "other means", "quantile", "single runs", "chances"],
)  # fmt: skip
def test_the_sheet_of_many_is_that_of_files(tmp_path: Path, made: Results, asked: dict[str, Any]) -> None:
    """Every line, with the names of what one version lacks and the counts of what is not shown."""
    corpus, asked = put(made, tmp_path / "c"), {"protocols": ("typical", "mean"), **asked}
    of_two = sp.read(corpus, where="version IN ('v0', 'v1')")
    of_corpus = sp.Corpus(corpus).compare("v0", "v1", workers=1, **asked)
    of_files = sp.compare_suite(of_two, **asked)
    assert str(of_corpus) == str(of_files)
    assert plain(of_corpus.conclusion.results[0].overall) == near(plain(of_files.result.overall))


@pytest.mark.parametrize("pairs", [[("v0", "v1")], [("v0", "v1"), ("v2", "v0")]])
def test_a_page_draws_what_those_of_the_files_draw(tmp_path: Path, pairs: list[tuple[str, str]]) -> None:
    """A panel for each benchmark, or for what many pairs prove, with the same samples, and the details."""
    corpus = put(mixed("s"), tmp_path / "c")

    def drawn(found: Any, name: str) -> list[Any]:
        sp.report(found, tmp_path / name)
        page = (tmp_path / name).read_text(encoding="utf-8")
        (data,) = re.findall(r'id="-data">(.*?)</script>', page, re.DOTALL)
        return [[panel["labels"], panel["drawn"]] for panel in json.decode(data)["panels"]]

    where, of_files = "benchmark < 'b010'", []
    of_corpus = sp.Corpus(corpus).compare(pairs=pairs, where=where, workers=1)
    for pair in pairs:
        suite = sp.read(corpus, where=f"{where} AND version IN {pair}")
        of_files += near(drawn(sp.compare_suite(suite, reference=pair[0]), f"{pair[0]}.html"))
    panels, several = drawn(of_corpus, "corpus.html"), len(pairs) > 1
    assert len(panels) == len(of_corpus.conclusion.shown if several else of_files)
    assert all(panel in of_files for panel in panels)
    assert ("All protocols" in (tmp_path / "corpus.html").read_text(encoding="utf-8")) is several


@pytest.mark.parametrize("by", ["time", "p90"])
def test_a_session_is_asked_what_it_was_measured_to_decide(tmp_path: Path, by: str) -> None:
    """Its file and a corpus of it give one answer: of runs in turns, looked at after each, at its own risk."""
    text = Path("examples/faults/session.jsonl").read_text(encoding="utf-8")
    changes = {'"runs":"300"': '"runs":"null"', '"alpha":"null"': '"alpha":"0.2"', '\\"time': f'\\"{by}'}
    for old, new in changes.items():
        assert text.count(old) == 1
        text = text.replace(old, new)
    file = tmp_path / "s.jsonl"
    file.write_text(text, encoding="utf-8")
    answer = str(sp.Corpus.build([file], tmp_path / "c").compare(workers=1))
    usual = ASKED if by == "time" else None  # as on the command line
    assert answer == str(sp.compare_suite(sp.read(file), protocols=usual))
    assert "80 % confidence" in answer
    assert ("at P90" in answer) is (by == "p90")


def test_what_a_session_did_not_measure_is_lacking_in_its_corpus_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The candidate fails in every run of one benchmark; the first version is the reference in both."""
    monkeypatch.chdir(tmp_path)
    Path("suite.toml").write_text(
        "[versions.old]\nend = 'true'\n[versions.new]\nend = 'false'\n"
        "[benchmarks.crash]\ncommand = '{end}'\n[benchmarks.ok]\ncommand = 'echo {end}'\n"
    )
    speedproof("run", "--suite", "suite.toml", "--ignore-failure", "--runs", "5", "--save", "s.jsonl")
    assert speedproof("corpus", "build", "s.jsonl", "-o", "c")[0] == 0
    assert [*sp.read("c").skipped] == [one for one in sp.read("s.jsonl").skipped if not one.expected]
    assert not sp.read("c", where="benchmark = 'ok'").skipped
    for command, code in (("gate", 1), ("compare", 0)):
        of_file, of_corpus = (speedproof(command, name)[:2] for name in ("s.jsonl", "c"))
        assert of_file == of_corpus
        assert of_file[0] == code

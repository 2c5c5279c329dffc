"""Comparisons and gates of single sessions, held against how much sessions of one commit differ."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from tests.command import speedproof as run
from tests.command import write
from tests.history.measured import lines

import speedproof as sp
from speedproof.corpus.read import query
from speedproof.data.sample import Sample, Trait
from speedproof.data.suite import Key, Pair
from speedproof.options import DETAILS
from speedproof.protocols.noise_floor import NoiseFloor
from speedproof.protocols.pair import PreparedPairs, Rules
from speedproof.protocols.questions import answers
from speedproof.protocols.results import Verdict
from speedproof.stats.session_spread import SessionSpread


def written(folder: Path, name: str, rng: np.random.Generator, factors: dict[str, float]) -> str:
    """A file of one session: every benchmark with a factor of its own, then 12 quiet runs."""
    rows = ["benchmark,value,unit"]
    for benchmark, factor in factors.items():
        session = factor * math.exp(0.02 * rng.standard_normal())
        rows += [f"{benchmark},{v:.6f},ms" for v in session * (1 + 0.003 * rng.standard_normal(12))]
    return lines(folder / name, *rows)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of six commits in two sessions each, and two files: parse as it was, print three times slower."""
    folder, rng = tmp_path_factory.mktemp("floor"), np.random.default_rng(3)
    history = sp.History(folder / "s.db", folder)
    for i in range(12):
        file = written(folder, f"{i}.csv", rng, {"parse": 1.0, "print": 1.0, "load": 1.0})
        history.add(file, commit=f"c{i // 2}")
    written(folder, "old.csv", rng, {"parse": 1.0, "print": 1.0, "new one": 1.0})
    written(folder, "new.csv", rng, {"parse": 1.0, "print": 3.0, "new one": 1.0})
    return folder


def test_what_sessions_explain_is_not_shown(folder: Path) -> None:
    """A false verdict without the store, none with it; what is far beyond the floor stays proven."""
    files = (f"old={folder / 'old.csv'}", f"new={folder / 'new.csv'}")
    plain = sp.compare_suite(sp.read(*files))
    held = sp.compare_suite(sp.read(*files), store=folder / "s.db")
    assert plain["parse"].verdict is not Verdict.UNDECIDED
    verdicts = [held[name].verdict.value for name in ("parse", "print", "new one")]
    assert verdicts == ["undecided", "slower", "undecided"]
    for name in held.benchmarks:
        assert held[name].lower <= plain[name].lower
        assert held[name].upper >= plain[name].upper
    floor, other = (held[name].headline.floor for name in ("print", "new one"))
    assert floor is not None
    assert other is not None
    assert (floor.sessions, other.sessions) == (12, 0)  # the other benchmarks speak for this one
    assert 0.01 < floor.deviation < 0.04
    reach = math.expm1(stats.t.ppf(0.95, floor.degrees) * math.sqrt(2) * floor.deviation)
    assert floor.reach == pytest.approx(reach)
    told = str(sp.History(folder / "s.db", folder).changes())
    assert f"Two sessions of one commit differ by up to {100 * reach:.1f} % (95 %)." in told
    out = run("compare", *files, "--store", folder / "s.db", "--only", "parse")[1]
    assert "Sessions of the same code differ by up to" in " ".join(out.split())


def test_compare_and_gate_agree_to_the_digit(folder: Path) -> None:
    files = ("--baseline", f"{folder / 'old.csv'}", "--candidate", f"{folder / 'new.csv'}")
    words = *files, "--store", folder / "s.db", "--multiplicity", "none", "--json"
    code, out, _ = run("gate", *words)
    assert code == 1
    answer = json.loads(out)
    rows = {row["benchmark"]: row for row in answer["gate"]["rows"]}
    held = sp.compare_suite(sp.read(files[1], files[3]), store=folder / "s.db")
    for told in answer["results"][0]["comparisons"]:
        row = rows[told["benchmark"]]
        assert told["speedup"]["low"] == pytest.approx(held[told["benchmark"]].lower, rel=1e-12)
        assert told["floor"]["reach"] > 0.02
        assert (row["outcome"] == "fail") == (told["benchmark"] == "print")
        reason = (told["needed"] or {"reason": ""})["reason"]
        assert ("in turns" in reason) == (row["outcome"] == "undecided")
    assert "undecided" in {row["outcome"] for row in rows.values()}


def test_one_pair_of_samples_takes_a_store(folder: Path) -> None:
    x = np.linspace(1.00, 1.002, 12)
    assert sp.compare(x, x * 1.02, unit="ms").verdict is Verdict.SLOWER
    held = sp.compare(x, x * 1.02, unit="ms", benchmark="parse", store=folder / "s.db")
    assert held.verdict is Verdict.UNDECIDED
    assert {held.by(name).verdict for name in DETAILS} == {Verdict.UNDECIDED}
    assert held.single_run.speedup.high >= 0.5


FLOOR = NoiseFloor("s.db", {Key("b"): SessionSpread(4e-4, 12.0, 1e-6, 9)})


def test_turns_in_one_session_need_no_floor_and_a_margin_holds_against_it() -> None:
    """Sides mixed at random in one sitting share what a session does to them; so do four sessions a side."""
    values = np.linspace(1.0, 1.001, 8)

    def verdicts(**traits: object) -> str:
        x, y = (Sample(values * f, "s", **traits) for f in (1.02, 1.0))  # type: ignore[arg-type]
        prepared = PreparedPairs([Pair(Key("b"), x, y)], Rules(floor=FLOOR))
        return answers("typical", prepared)[0].verdict.value

    mixed = {"traits": frozenset({Trait.RANDOM_ORDER}), "session_names": ("monday",)}
    assert verdicts(**mixed) == "faster"
    assert verdicts() == "undecided"
    four = {"sessions": np.arange(8) // 2, "session_names": tuple("abcd")}
    assert verdicts(**four) == "faster"
    # Equal medians are equivalent within 10 %, and not within 2 %, when sessions differ by 2 %.
    values = np.linspace(1.0, 1.001, 12)
    for margin, told in ((0.02, "undecided"), (0.1, "equivalent")):
        pair = Pair(Key("b"), Sample(values), Sample(values[::-1]))
        prepared = PreparedPairs([pair], Rules(margin=margin, floor=FLOOR))
        assert answers("typical", prepared)[0].verdict.value == told


def test_a_corpus_is_held_against_it_as_its_files_are(folder: Path, tmp_path: Path) -> None:
    """Every row, the whole and the words; on several processes, which find the floor beside the answers."""
    pytest.importorskip("pyarrow")
    files, store = (f"old={folder / 'old.csv'}", f"new={folder / 'new.csv'}"), folder / "s.db"
    corpus = sp.Corpus.build(files, tmp_path / "c")
    direct = sp.compare_suite(sp.read(*files), protocols=DETAILS, store=store)
    found = corpus.compare(protocols=DETAILS, store=store, workers=1)
    written = query(found.conclusion.answers, "FROM answers").to_pylist()
    rows = {(row["benchmark"], row["protocol"]): row for row in written}
    assert len(rows) == len(direct.result.comparisons)
    for c in direct.result.comparisons:
        row = rows[c.benchmark, c.protocol]
        assert (row["verdict"], c.floor is None) == (c.verdict.value, False)
        own = [row[name] for name in ("low", "high", "pvalue", "pvalue_slower", "floor_reach")]
        expected = [c.speedup.low, c.speedup.high, c.pvalue, c.pvalue_slower, c.floor and c.floor.reach]
        assert own == pytest.approx(expected, rel=1e-12)
    means = (found.conclusion.results[0].geometric_means, direct.result.geometric_means)
    assert all(means)
    for name in ("these", "like_these"):
        own_ends, ends = (getattr(m, name).ends for m in means)
        assert own_ends == pytest.approx(ends, rel=1e-12)
    lines = [[line for line in str(r).splitlines() if "essions" in line] for r in (found, direct)]
    assert lines[0] == lines[1] != []
    plain = corpus.compare(workers=1).conclusion
    assert plain.sessions is None
    assert plain.answers != found.conclusion.answers
    code, out, err = run("corpus", "compare", corpus.place, "--store", store, "--workers", "2")
    assert (code, "1 slower, 2 undecided of 3" in out, err) == (0, True, "")


def test_stores_that_cannot_tell(folder: Path, tmp_path: Path) -> None:
    """One that is not there is not made; one without repeated sessions, or of other metrics, says so."""
    x, where = np.linspace(1.0, 1.1, 9), tmp_path / "s.db"
    with pytest.raises(sp.SpeedproofError, match="no such store"):
        sp.compare(x, x, store=where)
    assert not where.exists()
    old, new = (write(tmp_path / f"{name}.txt", x * level) for name, level in (("old", 1), ("new", 2)))
    sp.History(where, tmp_path).add(old, commit="a", unit="ms")
    with pytest.raises(sp.SpeedproofError, match="no commit was measured in two sessions"):
        sp.compare(x, x, store=where)
    pytest.importorskip("pyarrow")
    corpus = sp.Corpus.build([old, new], tmp_path / "c", unit="MB").place
    sides = ("--baseline", old, "--candidate", new, "--unit", "MB")
    asked = (
        ("compare", old, new, "--unit", "MB"), ("gate", *sides), ("corpus", "compare", corpus, "--workers", "1"),
    )  # fmt: skip
    for words in (*asked, ("compare", folder / "old.csv", folder / "new.csv")):
        err = run(*words, "--store", folder / "s.db")[2]
        assert err.count("no commit with two sessions of these benchmarks") == (words in asked)

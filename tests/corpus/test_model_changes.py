"""Mixtures and changes over a corpus are those of its samples one by one."""

from __future__ import annotations

import re
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from tests.corpus.made import Results, made_up, put
from tests.history.measured import committed

import speedproof as sp
from speedproof.corpus import model as modelling
from speedproof.corpus.read import query
from speedproof.data.record import FileResults, Record
from speedproof.errors import UsageError
from speedproof.history.changes import find_history_changes
from speedproof.reporting.history import changed


def test_every_mixture_is_that_of_its_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the number of tasks; nested samples are not tested, and say why."""
    folder = put(made_up(12, n=40), tmp_path / "c")
    expected = sp.model(sp.read(folder, where="metric = 'time'"), bootstrap=20)
    own = {(key.benchmark, version): found for key, version, _, found in expected.models}
    for worth in (1000, 4):
        monkeypatch.setattr(modelling, "WORTH", worth)
        found = sp.Corpus(folder).model(bootstrap=20, out=tmp_path / str(worth), workers=1).models
        rows = query(tmp_path / str(worth), "FROM answers").to_pylist()
        assert found.parts == (1 if worth == 1000 else 6)
        assert len(rows) == len(own) == found.samples
        for row in rows:
            one = own[row["benchmark"], row["version"]]
            assert row["means"] == [c.mean for c in one.components]
            assert row["places"] == [m.place for m in one.modes]
            assert row["pvalue"] == (one.test.pvalue if one.test else None)
            assert row["note"] == one.note
        assert sum(found.modes.values()) == found.samples
        assert found.tested == sum(one.test is not None for one in own.values())


def test_a_rebuilt_corpus_answers_anew(tmp_path: Path) -> None:
    """Of the same place, names and sizes, in one process, and with answers in a folder that stays."""
    kept = tmp_path / "answers"
    for level in (2.0, 0.5):
        values = level + np.arange(20) / 1e3
        records = (Record("b", values), Record("one", values[:1]))
        folder = put([("v", FileResults("a.txt", records))], tmp_path / "c")
        corpus = sp.Corpus(folder)
        found = corpus.model(bootstrap=0, workers=1).models
        own, none = query(found.answers, "FROM answers ORDER BY benchmark").to_pylist()
        assert own["means"] == [pytest.approx(values.mean())]
        assert (found.samples, found.failed, none["benchmark"]) == (1, 1, "one")
        assert "at least two values" in none["note"]
        alone = corpus.model(bootstrap=0, workers=1, where="benchmark = 'one'").models
        assert (alone.samples, alone.failed) == (0, 1)
        if kept.exists():
            with pytest.raises(UsageError, match="another state of the corpus"):
                corpus.model(bootstrap=0, workers=1, out=kept)
        else:
            corpus.model(bootstrap=0, workers=1, out=kept)
        shutil.rmtree(folder)


def stepped(versions: int, *, at: int, by: float, benchmarks: int = 3) -> Results:
    """One sitting a version on one machine; the first benchmark changes, the others do not."""
    rng = np.random.default_rng(3)
    found = []
    for v in range(versions):
        about: Any = {"path": f"{v}.json", "fields": (("host", "ant"),), "span": (100.0 * v, 100.0 * v + 9)}
        about["version"] = f"c{versions - v:03d}"  # names that sort against time
        levels = (by if b == 0 and v >= at else 1.0 for b in range(benchmarks))
        values = [level * np.exp(0.01 * rng.standard_normal(5)) for level in levels]
        records = tuple(Record(f"b{b}", of_it, **about) for b, of_it in enumerate(values))
        found.append(("", FileResults(f"{v}.json", records)))
    return found


def test_a_step_is_found_where_it_is(tmp_path: Path) -> None:
    """Versions are in the order of their measuring, not of their files; the bounds hold the factor."""
    result = sp.Corpus(put(stepped(80, at=50, by=1.05)[::-1], tmp_path / "c")).changes(workers=1)
    (change,) = result.changes.changes
    assert (change.benchmark, change.machine, change.version, change.slower) == ("b0", "ant", "c030", True)
    assert change.low < 1.05 < change.high
    assert (result.changes.series, result.changes.versions, result.changes.longest) == (3, 80, 80)
    assert (result.changes.confidence, result.changes.metric) == (0.95, "time")
    assert "1 change in 3 series of 80 versions" in str(result)
    assert (repr(result), '"command": "corpus changes"' in result.to_json()) == (
        "<CorpusChanged: 1 change>",
        True,
    )
    assert "change shows from" not in str(result)
    several = replace(result, changes=replace(result.changes, changes=(change,) * 9))
    for everything, rows in ((False, 7), (True, 9)):
        (report,) = several.reports(everything=everything)
        assert len(report.tables[0].rows) == rows
    # At a joint risk of 5 % each of 3 series has 1/60: 2 in C(8, 4) orders of a step are more, 2 in C(9, 4) less.
    for versions in (1, 8, 9):
        made = sp.Corpus(put(stepped(versions, at=5, by=1.0), tmp_path / f"{versions}")).changes(workers=1)
        told = " ".join(str(made).split())
        assert "No change" in told
        few = re.findall("a change shows from .*", told)
        rest = f"no series here has over {versions}. Or compare two: speedproof corpus compare"
        assert few == [f"a change shows from 9 versions on one machine on; {rest}"] * (versions < 9)


def test_changes_are_the_latest_first_then_the_largest(tmp_path: Path) -> None:
    """Down is faster and up is slower, but of rates; what ends later is not later, and zeros have no logarithm."""
    rng, made = np.random.default_rng(3), []
    steps = {"a": (50, 1.05), "b": (50, 0.8), "c": (30, 1.1), "d": (50, 1.15), "e": (0, 0.0)}
    for v in range(80):
        for name, (at, by) in steps.items():
            values = (
                (by if v >= at else 1.0) * np.exp(0.01 * rng.standard_normal(5)) * ((name, v) != ("c", 7))
            )
            unit = "B/s" if name == "d" else "s"
            made.append(Record(name, values, unit=unit, version=f"v{v:02}", path="f", span=(v, 200.0 - v)))
    made = [made[k] for k in rng.permutation(len(made)).tolist()]
    found = sp.Corpus(put([("", FileResults("f", tuple(made)))], tmp_path / "k=v")).changes(workers=1).changes
    changed = [(c.benchmark, c.version, c.slower) for c in found.changes]
    assert changed == [("b", "v50", False), ("d", "v50", False), ("a", "v50", True), ("c", "v30", True)]
    assert (found.series, found.longest, found.order) == (4, 80, "time")


def test_an_order_that_nothing_tells_is_told(tmp_path: Path) -> None:
    """Where a file tells no time the step is lost in their order, unless git has the commits, by ten digits."""
    shas = [sha[:10] for sha in committed(tmp_path, [""] * 80)]
    for timed in (True, False):
        found = [
            (name, replace(one, records=tuple(
                replace(r, version=shas[v], span=r.span if timed or v else None) for r in one.records
            )))
            for v, (name, one) in enumerate(stepped(80, at=50, by=1.05))
        ]  # fmt: skip
        found.sort(key=lambda part: str(part[1].records[0].version))
        corpus = sp.Corpus(put(found, tmp_path / f"{timed}"))
        for repository in (None, str(tmp_path)):
            kept = tmp_path / f"{timed}{repository is None}"
            result = corpus.changes(workers=1, repository=repository, out=kept)
            lost = not timed and repository is None
            assert [c.version for c in result.changes.changes if not lost] == [shas[50]] * (not lost)
            assert ("--repository DIR" in str(result)) == lost
            assert result.changes.order == ("git" if repository else "files" if lost else "time")


def test_the_commits_that_are_possible_are_told_as_in_a_history(tmp_path: Path) -> None:
    """In 80 columns, commits by nine digits; a repository that knows none of the versions is refused."""
    result = sp.Corpus(put(stepped(80, at=50, by=1.01), tmp_path / "c")).changes(workers=1)
    (change,) = result.changes.changes
    names = (change.version, change.earliest, change.latest)
    version, earliest, latest = (5 * sha256(name.encode()).hexdigest()[:8] for name in names)
    assert earliest != latest
    named = replace(change, version=version, earliest=earliest, latest=latest)
    sure = replace(named, earliest=version, latest=version)
    shown = str(changed(replace(result.changes, changes=(named, sure)), [version], everything=False))
    assert f"  {earliest[:9]} to {latest[:9]}" in shown
    assert f"\n{version[:9]}  b0" in shown
    assert "at least" in shown
    (sha,) = committed(tmp_path, [""])
    with pytest.raises(
        sp.SpeedproofError, match=r"none of the versions as commits .*; check out .*, without "
    ):
        sp.Corpus(tmp_path / "c").changes(workers=1, repository=str(tmp_path))
    (_, file), *_ = stepped(1, at=1, by=1.0)
    records = tuple(replace(r, version=version) for r in file.records for version in (sha, "other"))
    corpus = sp.Corpus(put([("", replace(file, records=records))], tmp_path / "one"))
    assert corpus.changes(workers=1, repository=str(tmp_path)).changes.versions == 1


@pytest.mark.slow
def test_against_the_history(tmp_path: Path) -> None:
    results = stepped(60, at=30, by=1.04)
    folder = put(results, tmp_path / "c")
    history = sp.History(tmp_path / "h.db", repository=tmp_path)
    for v, (_, found) in enumerate(results):
        rows = "".join(f"{r.benchmark},{value!r}\n" for r in found.records for value in r.values.tolist())
        (tmp_path / f"{v}.csv").write_text("benchmark,value\n" + rows)
        # Dates are not given, so commits are in the order of their names.
        history.add(tmp_path / f"{v}.csv", commit=f"c{v:03d}", unit="s")
    direct = history.changes()
    ((one,), (other,)) = direct.changes, sp.Corpus(folder).changes(workers=1).changes.changes
    assert int(one.commit.sha[1:]) == 60 - int(other.version[1:])
    assert (other.factor, other.low, other.high) == pytest.approx((one.factor, one.low, one.high))
    assert find_history_changes(direct.tracks) == direct.changes

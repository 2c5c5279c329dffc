"""The store: everything comes back, once, whoever writes and whatever happens meanwhile; older ones, too."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from speedproof.api.history import History
from speedproof.data.suite import Key, Record, Suite
from speedproof.errors import SpeedproofError, UsageError
from speedproof.history import database
from speedproof.history.commits import Commit
from speedproof.history.database import Connection, Database
from speedproof.history.packing import locations_and_bounds
from speedproof.history.store import HistoryStore
from speedproof.history.transfer import export_store

WRITER = """
import resource, sys
import numpy as np
from speedproof.data.suite import Record, Suite
from speedproof.history.commits import Commit
from speedproof.history.store import HistoryStore
where, name, count, size, *limit = sys.argv[1:]
store = HistoryStore(where)
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit[0]),) * 2)
for i in range(int(count)):
    of = f"{name}-{i}"
    values = np.random.default_rng(1).random((20, int(size)))
    suite = Suite.from_records((of, Record(f"bench{k}", row)) for k, row in enumerate(values))
    store.add(suite, {of: Commit(of)}, path=of, digest=of)
    print(of, flush=True)
"""


@pytest.fixture
def writer(tmp_path: Path) -> list[str]:
    """Who adds files of 20 samples: given a store, a name, how many, of what size, and how large it may grow."""
    (tmp_path / "writer.py").write_text(WRITER)
    return [sys.executable, "-B", str(tmp_path / "writer.py")]  # compiled modules would be cut, too


def shas(store: HistoryStore) -> list[str]:
    found = store.measurements()
    return [found.commits[place].sha for place in found.commit]


def suite_of(version: str, *values: float, unit: str = "s", benchmark: str = "sort") -> Suite:
    return Suite.from_records([(version, Record(benchmark, np.array(values), unit=unit))])


@pytest.mark.parametrize(("n", "ends"), [(5, None), (6, (0, 5)), (12, (2, 9))])
def test_a_location_is_the_median_of_the_medians_of_processes(n: int, ends: tuple[int, int] | None) -> None:
    """Its interval at 95 % between the order statistics of the binomial distribution, if there are enough."""
    plain, nested = (
        np.random.default_rng(n).lognormal(size=n),
        np.random.default_rng(1).lognormal(size=(n, 5)),
    )
    found = locations_and_bounds([plain, nested.ravel()], [None, np.repeat(np.arange(n), 5)])
    for k, values in enumerate((np.sort(plain), np.sort(np.median(nested, axis=1)))):
        assert found["location"][k] == np.median(values)
        bounds = (found["low"][k], found["high"][k])
        assert bounds == ((None, None) if ends is None else (values[ends[0]], values[ends[1]]))


def test_the_file_of_another_commit_is_told(tmp_path: Path) -> None:
    """By the same values, unless all are of one session by its name."""
    store = HistoryStore(str(tmp_path / "s.db"))
    for commit, values, session, told in (
        ("c1", (1.0, 2.0), "", ""), ("c2", (1.0, 2.0), "", "c1"), ("c3", (1.0, 2.0), "", "c1, c2"),
        ("c4", (1.0, 3.0), "", ""), ("d1", (5.0, 6.0), "day", ""), ("d2", (5.0, 6.0), "day", ""),
    ):  # fmt: skip
        suite, digest = suite_of("v", *values), str(values)
        added = store.add(suite, {"v": Commit(commit)}, path="r", digest=digest, session=session)
        remark = f"r: has the same values as at {told}; is it of an earlier run?"
        assert added.problems == ((remark,) if told else ())


def test_a_file_of_another_machine_is_there_already(tmp_path: Path) -> None:
    """And how its machine is corrected."""
    store = HistoryStore(str(tmp_path / "s.db"))
    for machine, remarks in (("ant", 0), ("ant", 0), ("bee", 1)):
        added = store.add(
            suite_of("v", 1.0), {"v": Commit("c")}, path="r", digest="d", session="s", machine=machine
        )
        told = "r: was there already, of machine ant; to correct that, forget its commits"
        assert [text.startswith(told) for text in added.problems] == [True] * remarks


def test_everything_comes_back(where: str) -> None:
    values, processes = np.array([1.5, 2.5, 8.0, 0.1]), np.array([0, 0, 0, 1])
    record = Record("sort", values, unit="B/s", metric="throughput", processes=processes)
    store, commit = HistoryStore(where), Commit("abc", "Sort faster", "2026-01-02")
    added = store.add(Suite.from_records([("new", record)]), {"new": commit}, path="a", digest="1")
    assert (added.samples, added.known, added.commits) == (1, False, ("abc",))
    (series,) = HistoryStore(where).all_series()
    assert (series.key, series.unit, series.higher_is_better) == (Key("sort", "throughput"), "B/s", True)
    found = store.measurements()
    (sample,) = store.samples(found.sample.tolist())
    with pytest.raises(UsageError, match="holds no sample 999"):
        store.samples([999])
    np.testing.assert_array_equal(sample.values, values)
    np.testing.assert_array_equal(sample.processes, processes)
    assert (sample.unit, sample.higher_is_better, found.commits[0].subject) == ("B/s", True, "Sort faster")
    assert found.location.tolist() == [np.median([2.5, 0.1])]


def test_a_benchmark_keeps_its_unit_and_nothing_of_the_file_is_added(where: str) -> None:
    store = HistoryStore(where)
    store.add(suite_of("v", 1.0), {"v": Commit("a")}, path="f", digest="1")
    records = (Record("other", np.array([1.0])), Record("sort", np.array([3.0]), unit="B", metric="time"))
    bad = Suite.from_records(("w", record) for record in records)
    with pytest.raises(SpeedproofError, match=r"g: sort .* nothing of the file was added"):
        store.add(bad, {"w": Commit("b")}, path="g", digest="2")
    assert len(store.measurements()) == 1
    assert [c.sha for c in store.commits()] == ["a"]


def test_many_may_open_a_new_store_at_once(where: str) -> None:
    with ThreadPoolExecutor(8) as pool:
        stores = [*pool.map(HistoryStore, [where] * 8)]
    assert [store.commits() for store in stores] == [()] * 8


@pytest.mark.slow
def test_twenty_writers_at_a_time(where: str, writer: list[str]) -> None:
    writers = [
        subprocess.Popen([*writer, where, f"w{k % 10}", "2", "50"], stdout=subprocess.DEVNULL)
        for k in range(20)
    ]
    assert [one.wait() for one in writers] == [0] * 20
    found = HistoryStore(where).measurements()
    assert len(found) == 10 * 2 * 20  # every second writer added what another had
    assert len(set(zip(found.commit.tolist(), found.series.tolist(), strict=True))) == len(found)


@pytest.mark.slow
def test_kill_leaves_whole_files_only(tmp_path: Path, writer: list[str]) -> None:
    where = str(tmp_path / "s.db")
    for k in range(3):
        with subprocess.Popen([*writer, where, f"w{k}", "500", "50"], stdout=subprocess.PIPE) as writing:
            assert writing.stdout is not None
            for _ in range(2 + k):
                writing.stdout.readline()
            time.sleep(0.002 * k)
            writing.kill()
    per_commit = Counter(shas(HistoryStore(where)))
    assert len(per_commit) >= 9
    assert set(per_commit.values()) == {20}


def changed(where: Path, statement: str, *values: str) -> str:
    """A database after a statement of somebody else's."""
    with closing(sqlite3.connect(where)) as connection, connection:
        connection.execute(statement, values)
    return str(where)


def test_what_is_no_store_of_this_program_is_refused_in_words(tmp_path: Path) -> None:
    """Newer ones, text, tables of its own, what cannot be opened; an empty file becomes a store."""
    where = tmp_path / "x.db"
    where.write_bytes(b"not a database at all, just text " * 20)
    with pytest.raises(SpeedproofError, match="name another store"):
        History(where)  # at once, not by the first question
    where.write_bytes(b"")
    assert HistoryStore(str(where)).commits() == ()
    for schema in ("99", "", "²", "x", "3"):  # no function leads from a store of 3 to the present
        with pytest.raises(
            SpeedproofError, match="newer speedproof" if schema == "99" else "no history that"
        ):
            HistoryStore(changed(where, "UPDATE meta SET value = ?", schema))
    with closing(sqlite3.connect(where)) as connection:
        assert connection.execute("SELECT value FROM meta").fetchall() == [("3",)]
    with pytest.raises(SpeedproofError, match="tables that are not a"):
        HistoryStore(changed(tmp_path / "y.db", "CREATE TABLE cats (name TEXT)"))
    for place in ("nonsense://x", "postgresql://nobody@127.0.0.1:1/none", "/nowhere/at/all.db"):
        with pytest.raises(SpeedproofError, match=place):
            HistoryStore(place)


@pytest.mark.slow
def test_a_full_disk_leaves_the_store_as_it_was(tmp_path: Path, writer: list[str]) -> None:
    """Files may not grow beyond a limit: the file is not added, the rest is there, and adding goes on later."""
    where = tmp_path / "s.db"
    HistoryStore(str(where)).add(suite_of("v", 1.0), {"v": Commit("a")}, path="f", digest="1")
    limit = str(where.stat().st_size + 200_000)
    done = subprocess.run([*writer, where, "big", "1", "5000", limit], capture_output=True, text=True)
    assert done.returncode == 1
    assert re.search("SpeedproofError.*nothing was added", done.stderr)
    store = HistoryStore(str(where))
    assert shas(store) == [c.sha for c in store.commits()] == ["a"]
    store.add(suite_of("v", 2.0), {"v": Commit("b")}, path="g", digest="2")
    assert shas(store) == ["a", "b"]


def test_a_forgotten_session_may_be_of_another_machine(where: str) -> None:
    """Its files can be added again; what was said of the commit goes with it."""
    store, commit = HistoryStore(where), {"v": Commit("a")}
    for machine, value in (("one", 1.0), ("two", 2.0)):
        store.add(suite_of("v", value), commit, path=machine, digest=machine, machine=machine)
    store.decide("a", "noted", reason="slow", who="ann")
    store.decide("a", "invalid", reason="noise", who="bob", benchmark="sort")
    with pytest.raises(UsageError, match="no benchmark none"):
        store.decide("a", "fixed", reason="", who="", benchmark="none")
    assert store.add(suite_of("v", 2.0), commit, path="two", digest="two", machine="third").known
    with pytest.raises(UsageError, match="no commit c"):
        store.forget("c")
    said = [(one.benchmark, one.state, one.reason, one.who) for one in store.decisions()]
    assert said == [("", "noted", "slow", "ann"), ("sort", "invalid", "noise", "bob")]
    assert (store.forget("a"), store.commits(), store.decisions()) == (2, (), ())
    assert store.add(suite_of("v", 2.0), commit, path="two", digest="two", machine="third").samples == 1
    found, names = store.measurements(), store.machines()
    assert [names[number] for number in found.machine] == ["third"]


def test_commits_of_one_file_may_be_forgotten_at_once(where: str) -> None:
    """Writers wait for each other: no figures of a commit come back that another one took out."""
    store, names = HistoryStore(where), [f"c{i}" for i in range(8)]
    records = [(name, Record(f"bench{k}", np.array([1.0 + k]))) for name in names for k in range(40)]
    store.add(Suite.from_records(records), {name: Commit(name) for name in names}, path="f", digest="1")
    with ThreadPoolExecutor(7) as threads:
        assert list(threads.map(HistoryStore.forget, [store] * 7, names)) == [40] * 7
    assert set(shas(store)) == {"c7"}
    assert figures_of(where) == table_of(where)


@pytest.mark.parametrize(("statement", "what"), [
    ("UPDATE block SET figures = substr(figures, 1, 30)", "a block of figures is cut short"),
    ("UPDATE \"commit\" SET id = 9 WHERE sha = 'b'", "figures are of a commit, session or benchmark"),
    ("UPDATE \"commit\" SET id = 1000000 WHERE sha = 'a'", "figures are of a commit, session or benchmark"),
    ("DELETE FROM series", "figures are of a commit, session or benchmark"),
    ("DELETE FROM session WHERE id = 1", "figures are of a commit, session or benchmark"),
])  # fmt: skip
def test_damaged_figures_are_named(tmp_path: Path, statement: str, what: str) -> None:
    """Reading, exporting and forgetting name the store and what helps; no figure goes to another commit."""
    where = tmp_path / "s.db"
    store = HistoryStore(str(where))
    for name in "ab":
        store.add(suite_of("v", 1.0, 2.0), {"v": Commit(name)}, path=name, digest=name)
    changed(where, statement)
    exported = tmp_path / "all.gz"
    for read in (store.measurements, lambda: export_store(store, exported)):
        with pytest.raises(SpeedproofError, match=rf"s\.db: is damaged: {what}.*backup"):
            read()
    assert not exported.exists()
    if "block" in statement:
        with pytest.raises(SpeedproofError, match="cut short"):
            store.forget("a")


def table_of(where: str) -> list[tuple[object, ...]]:
    """What the table of samples says, series by series in the order of adding; a value that is missing is text."""
    names = "series, session, sha, anchor, location, low, high, s.id"
    query = f'SELECT {names} FROM sample s JOIN "commit" c ON c.id = s."commit" ORDER BY series, s.id'
    with HistoryStore(where).transaction() as connection:
        rows = connection.rows(query)
    return [tuple("" if value is None else value for value in row) for row in rows]


def figures_of(where: str, series: list[int] | None = None) -> list[tuple[object, ...]]:
    """What the store says at once."""
    found = HistoryStore(where).measurements(series)
    columns = (found.series, found.session, found.commit, found.anchor, found.location, found.low, found.high)
    rows = zip(*(column.tolist() for column in (*columns, found.sample)), strict=True)
    shown = [["" if value != value else value for value in row] for row in rows]  # NaN
    return [(*row[:2], found.commits[int(row[2])].sha, *row[3:]) for row in shown]


def test_the_order_does_not_depend_on_that_of_the_blocks(where: str) -> None:
    """As with several writers of PostgreSQL, whose numbers need not ascend."""
    store = HistoryStore(where)
    for name in ("a", "b", "c"):
        records = [(name, Record(f"bench{k}", np.array([1.0 + k, 2.0]))) for k in (1, 0)]
        store.add(Suite.from_records(records), {name: Commit(name)}, path=name, digest=name)
    with store.transaction() as connection:
        connection.rows("UPDATE block SET id = 1000 - id")
    assert figures_of(where) == table_of(where)


def test_many_samples_come_back_as_they_were_asked_for(tmp_path: Path) -> None:
    store = HistoryStore(str(tmp_path / "s.db"))
    suite = Suite.from_records(("v", Record(f"b{i:04d}", np.array([float(i)]))) for i in range(1001))
    store.add(suite, {"v": Commit("a")}, path="f", digest="1")
    numbers = np.random.default_rng(2).permutation(1001) + 1
    assert [sample.values[0] + 1 for sample in store.samples(numbers.tolist())] == numbers.tolist()


def version_of(where: str) -> int:
    with Database(where).transaction() as connection:
        return int(connection.rows("SELECT value FROM meta WHERE name = 'schema'")[0][0])


def widen(connection: Connection) -> None:
    connection.rows("ALTER TABLE machine ADD COLUMN place TEXT NOT NULL DEFAULT 'here'")


def test_an_older_store_is_brought_forward_once(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its values are there, however often it is opened; an error in the last step undoes the first, too."""
    before = database.SCHEMA
    HistoryStore(where).add(suite_of("v", 1.5, 2.5, 0.1), {"v": Commit("a")}, path="f", digest="1")

    def fails(_: Connection) -> None:
        raise RuntimeError

    monkeypatch.setitem(database.MIGRATIONS, before, widen)
    monkeypatch.setitem(database.MIGRATIONS, before + 1, fails)
    monkeypatch.setattr(database, "SCHEMA", before + 2)
    with pytest.raises(RuntimeError):
        HistoryStore(where)
    assert version_of(where) == before
    monkeypatch.setitem(database.MIGRATIONS, before + 1, lambda _: None)
    for _ in range(2):  # which would not add the column twice
        store = HistoryStore(where)
        (sample,) = store.samples(store.measurements().sample.tolist())
        assert (sample.values.tolist(), version_of(where)) == ([1.5, 2.5, 0.1], before + 2)
    with store.transaction() as connection:
        assert connection.rows("SELECT place FROM machine") == [("here",)]

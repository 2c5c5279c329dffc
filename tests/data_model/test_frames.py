"""Suites of data frames and arrays: every library gives the suite that plain lists give."""

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import speedproof as sp
from speedproof.data.suite import Key
from speedproof.errors import DataError, SpeedproofError, UsageError

TABLE: dict[str, list[Any]] = {
    "name": ["sort", "sort", "hash", "sort", "sort", "sort", "hash"], "threads": [1, 1, 1, 1, 1, 1, 1],
    "rev": ["a", "a", "a", "b", "b", "a", "b"], "t": [12.0, 13.5, 3.0, 10.0, 11.0, 14.0, 2.5],
    "pid": [7, 7, 9, 7, 8, 8, 7], "day": ["mo", "mo", "mo", "mo", "tu", "tu", "tu"],
}  # fmt: skip


def structured() -> Any:
    types = [(n, "U8" if isinstance(v[0], str) else "f8") for n, v in TABLE.items()]
    return np.array(list(zip(*TABLE.values(), strict=True)), dtype=types)


FRAMES: dict[str, Callable[[], Any]] = {
    "mapping": lambda: TABLE,
    "numpy": structured,
    "pandas": lambda: import_module("pandas").DataFrame(TABLE),
    "pandas, categories": lambda: import_module("pandas").DataFrame(TABLE).astype({"name": "category"}),
    "pandas, nullable": lambda: import_module("pandas").DataFrame(TABLE).convert_dtypes(),
    "polars": lambda: import_module("polars").DataFrame(TABLE),
    "polars, lazy": lambda: import_module("polars").DataFrame(TABLE).lazy(),
    "pyarrow": lambda: import_module("pyarrow").table(TABLE),
}


def frame(kind: str) -> Any:
    library = kind.partition(",")[0]
    if library in ("pandas", "polars", "pyarrow") and find_spec(library) is None:
        pytest.skip(f"{library} is not here")
    return FRAMES[kind]()


@pytest.mark.parametrize("kind", FRAMES)
def test_every_library_gives_the_same_suite(kind: str) -> None:
    suite = sp.Suite.from_frame(
        frame(kind), benchmark="name", version="rev", value="t", unit="ms", process="pid", session="day"
    )
    naive: dict[tuple[str, str], list[float]] = {}
    for name, rev, t in zip(TABLE["name"], TABLE["rev"], TABLE["t"], strict=True):
        naive.setdefault((name, rev), []).append(t / 1000)
    assert {(k.benchmark, v): s.values.tolist() for (k, v), s in suite.samples.items()} == naive
    assert suite.versions == ("a", "b")
    a = suite["sort"].of("a")[Key("sort")]
    assert a.sessions is not None
    assert (a.process_count, a.sessions.tolist(), a.session_names) == (2, [0, 0, 1], ("mo", "tu"))
    assert a.unit == "s"


@pytest.mark.parametrize("kind", ["mapping", "pandas", "polars", "pyarrow"])
def test_several_columns_make_one_name(kind: str) -> None:
    suite = sp.Suite.from_frame(frame(kind), benchmark=["name", "threads"], version="rev", value="t")
    assert suite.benchmarks == ("name=sort/threads=1", "name=hash/threads=1")


@pytest.mark.parametrize("kind", ["pandas", "pandas, nullable", "polars", "pyarrow", "mapping"])
def test_missing_values_are_named(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TABLE, "t", [12.0, None, 3.0, 10.0, 11.0, 14.0, None])
    suite = sp.Suite.from_frame(frame(kind), benchmark="name", version="rev", value="t")
    assert suite["sort"].of("a")[Key("sort")].values.tolist() == [12.0, 14.0]
    assert sorted(str(s) for s in suite.skipped) == [
        "data frame: hash: 1 of 1 in column 't' missing (NaN), left out",
        "data frame: sort: 1 of 3 in column 't' missing (NaN), left out",
    ]


def test_rows_are_put_in_run_order_and_metrics_apart() -> None:
    days = np.array(["2020-01-03", "2020-01-01", "2020-01-01", "2020-01-02"], "M8[s]")
    table = {"t": [3.0, 1.0, 500.0, 2.0], "i": [3, 1, 1, 2], "what": ["time", "time", "memory", "time"],
             "unit": ["ms", "ms", "kB", "ms"], "day": days}  # fmt: skip
    for run in ("i", "day"):
        suite = sp.Suite.from_frame(table, value="t", run=run, metric="what", unit="unit")
        expected = {"time": ([0.001, 0.002, 0.003], "s"), "memory": ([500_000.0], "B")}
        assert {k.metric: (s.values.tolist(), s.unit) for (k, _), s in suite.samples.items()} == expected


V = ["a", "a", "b", "b"]


@pytest.mark.parametrize(("frame", "arguments", "error", "words"), [
    (TABLE, {"value": "x"}, UsageError, "no column 'x'; available: name, threads, rev"),
    (TABLE, {"value": "name"}, DataError, "column 'name': a sample is made of numbers, not of texts"),
    (TABLE, {"benchmark": "who"}, UsageError, "no column 'who'"),
    ([1.0], {}, UsageError, "a list has no named columns"), ({"t": []}, {}, DataError, "holds no measured value"),
    ({"t": [1.0, 2.0], "n": ["a", None]}, {"benchmark": "n"}, DataError, "column 'n' has missing values"),
    ({"v": V, "t": [1.0, 2.0]}, {"version": "v"}, DataError, "column 'v' has 4 values where others have 2"),
    ({"t": [True] * 4}, {}, DataError, "real numbers, not of bool"),
    ({"t": np.array(["2020-01-01"] * 4, "M8[s]")}, {}, DataError, "real numbers, not of datetime64"),
    ({"t": [1.0] * 4, "p": [0, 0, 1, np.nan]}, {"process": "p"}, DataError, "column 'p' has missing values"),
    ({"t": [3.0], "at": np.array(["NaT"], "M8[s]")}, {"run": "at"}, DataError, "column 'at' has missing values"),
])  # fmt: skip
def test_what_is_wrong_is_said(
    frame: Any, arguments: dict[str, Any], error: type[SpeedproofError], words: str
) -> None:
    with pytest.raises(error, match=words):
        sp.Suite.from_frame(frame, **({"value": "t"} | arguments))


def test_suites_of_arrays() -> None:
    nested = sp.Suite.of_samples({"sort": {"old": [2.0, 2.1], "new": np.array([1.0])}, "hash": {"old": (3,)}})
    assert (nested.versions, nested.benchmarks) == (("old", "new"), ("sort", "hash"))
    flat = sp.Suite.of_samples({"old": [[2.0, 2.1], [2.2, 2.3]], "new": [1.0]}, unit="ms")
    (old, new) = flat.samples.values()
    assert (old.process_count, new.values.tolist(), flat.metrics) == (2, [0.001], ("time",))
    with pytest.raises(DataError, match=r"sort, old: .*not a finite number"):
        sp.Suite.of_samples({"sort": {"old": [float("inf")]}})
    with pytest.raises(DataError, match="there are no samples"):
        sp.Suite.of_samples({})


@pytest.mark.parametrize("unit", ["ns", "us", "ms", "s"])
def test_timedeltas_have_their_own_unit(unit: str) -> None:
    spans = np.array([3000, 5000, 7000, 11000], "m8[ms]").astype(f"m8[{unit}]")
    suite = sp.Suite.from_frame({"v": ["a", "a", "b", "b"], "t": spans}, version="v", value="t")
    assert [(s.values.tolist(), s.unit) for s in suite.samples.values()] == [([3, 5], "s"), ([7, 11], "s")]
    assert sp.sample(spans).values.tolist() == sp.sample(spans.astype("m8[us]").tolist()).values.tolist()
    lacking = {"t": [None, *spans.astype("m8[us]").tolist()]}
    assert [s.values.tolist() for s in sp.Suite.from_frame(lacking, value="t").samples.values()] == [
        [3, 5, 7, 11]
    ]


def test_masked_values_are_missing() -> None:
    masked = np.ma.MaskedArray([999.0, 1.0, 2.0, 3.0], [True, False, False, False])
    suite = sp.Suite.from_frame({"v": ["a", "a", "b", "b"], "t": masked}, version="v", value="t")
    assert [s.values.tolist() for s in suite.samples.values()] == [[1], [2, 3]]
    with pytest.raises(DataError, match="masked"):
        sp.sample(masked)
    assert sp.sample(masked[1:]).values.tolist() == [1, 2, 3]


def test_the_first_version_is_the_reference_even_if_its_first_sample_is_dropped() -> None:
    rows = {"b": ["x", "x", "y", "y"], "v": ["old", "new"] * 2, "t": [-1.0, 1.0, 2.0, 3.0]}
    assert sp.Suite.from_frame(rows, benchmark="b", version="v", value="t").versions == ("old", "new")


@pytest.mark.parametrize(("unit", "metric"), [("MB/s", "volume"), ("ms", "throughput"), ("ms", "volume")])
def test_a_sample_keeps_its_direction_under_any_metric(unit: str, metric: str) -> None:
    one = sp.sample([1.0, 2.0], unit=unit)
    suite = sp.Suite.of_samples({"a": one, "b": one}, metric=metric)
    assert {(s.unit, s.direction) for s in suite.samples.values()} == {(one.unit, one.direction)}


@pytest.mark.parametrize(
    ("metric", "direction"),
    [("throughput", "higher"), ("ops/s", "higher"), ("requests per second", "higher"), ("memory", "lower")],
)
def test_plain_numbers_called_as_a_rate_are_better_high(metric: str, direction: str) -> None:
    rows = {"v": ["a", "b"], "t": [1.0, 2.0], "m": [metric] * 2}
    for suite in (
        sp.Suite.of_samples({"a": [1.0], "b": [2.0]}, metric=metric),
        sp.Suite.from_frame(rows, version="v", value="t", metric="m"),
    ):
        assert {(s.unit, s.direction) for s in suite.samples.values()} == {("", direction)}


def test_groups_against_masks() -> None:
    """Rows in random order: every group's values are those of a mask."""
    rng = np.random.default_rng(5)
    benchmark, version = rng.integers(0, 7, 20_000), rng.integers(0, 3, 20_000)
    t = rng.lognormal(size=20_000)
    suite = sp.Suite.from_frame({"b": benchmark, "v": version, "t": t}, benchmark="b", version="v", value="t")
    for (key, label), sample in suite.samples.items():
        mask = (benchmark == int(key.benchmark)) & (version == int(label))
        np.testing.assert_array_equal(sample.values, t[mask])


def test_a_column_called_as_another_thing() -> None:
    """As a unit, it holds values, not the unit of each; as a number is written, it comes before that."""
    for frame in ({1: [2.0], "1": [1.0]}, {"1": [1.0], 1: [2.0]}):
        assert [s.values.tolist() for s in sp.Suite.from_frame(frame, value="1").samples.values()] == [[1.0]]
    suite = sp.Suite.from_frame({"ms": [12.0, 13.0]}, value="ms", unit="ms")
    assert [s.values.tolist() for s in suite.samples.values()] == [[0.012, 0.013]]

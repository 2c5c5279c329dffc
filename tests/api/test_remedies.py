"""What an error recommends is what Python takes; and no number becomes seconds unseen."""

import functools
import itertools
import math
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

import speedproof as sp
from speedproof.api.sessions import request_of
from speedproof.data.suite import Record

OLD, NEW = [1.0, 1.1, 1.2, 1.05, 1.0], [0.9, 0.8, 0.85, 0.9, 0.95]
sp_: Any = sp  # what types forbid is what is tried here


def test_another_protocol_is_asked_of_a_suite() -> None:
    with pytest.raises(sp.SpeedproofError) as error:
        sp.compare(OLD, NEW).by("touati2009")
    told = (
        "sp.compare_suite(suite, protocols='touati2009')",
        "suite = sp.Suite.of_samples({'old': old, 'new': new})",
    )
    assert all(part in str(error.value) for part in told)
    made = sp.Suite.of_samples({"old": OLD, "new": NEW})
    (found,) = (sp.compare_suite(made, protocols="touati2009")[name] for name in made)
    assert found.by("touati2009").protocol == "touati2009"
    with pytest.raises(sp.SpeedproofError, match=r"protocol='mode'.*'touati2009'"):
        sp.compare(OLD, NEW).by("mode")


def test_a_frame_of_one_version_wants_a_column() -> None:
    rows = {"n": ["sort"] * 5 + ["hash"] * 5, "t": OLD + NEW}
    with pytest.raises(sp.SpeedproofError, match=r"only one version.*version=") as error:
        sp.compare_suite(sp.Suite.from_frame(rows, value="t", benchmark="n"))
    assert not re.search("reference=|file", str(error.value))
    assert sp.compare_suite(sp.Suite.from_frame(rows, value="t", version="n")).results


def test_a_file_of_one_version_is_read_otherwise() -> None:
    """Its benchmarks may be versions of one thing, which reading is told."""
    of_one = (
        Record(name, np.array(OLD), path="examples/gcc/O2.json", tool="csv") for name in ("sort", "hash")
    )
    with pytest.raises(sp.SpeedproofError, match="only one version") as error:
        sp.compare_suite(sp.Suite.from_records(("a", record) for record in of_one))
    told = "read its benchmarks as versions of one thing: "
    assert f"{told}reference='sort'" in str(error.value)
    assert f"{told}--reference 'sort'" in error.value.on_command_line()


_PLACES = "--match position compares them by their places, --by FIELD makes versions of a parameter"


@pytest.mark.parametrize(("sides", "more", "told"), [
    (["a", "b"], {}, ["v0 has a (time)", "v1 has b (time)"]),
    # Of more names than five, or lines than six, the first five.
    (["abcdefg", "x"], {}, ["v0 has a, b, c, d, e and 2 more (time)", "v1 has x (time)"]),
    ("abcdef", {}, [f"v{i} has {name} (time)" for i, name in enumerate("abcdef")]),
    ("abcdefg", {}, [*(f"v{i} has {name} (time)" for i, name in enumerate("abcde")), "and 2 more"]),
    # The places of a tool are an order; of as many benchmarks on both sides only, where names are what differs.
    ("ab", {"tool": "go"}, ["v0 has a (time)", "v1 has b (time)", _PLACES]),
    (["a", "bc"], {"tool": "go"}, ["v0 has a (time)", "v1 has b, c (time)"]),
    ("aa", {"tool": "go", "unit": "B"},
     ["a (time): v0 is in s (lower is better), v1 in B (lower is better); they cannot be compared"]),
])  # fmt: skip
def test_no_common_benchmark_names_what_each_side_has(sides: Any, more: Any, told: list[str]) -> None:
    """The last version is read from a tool's file or in another unit."""
    records = [(f"v{i}", Record(name, np.array(OLD))) for i, names in enumerate(sides) for name in names]
    last = f"v{len(sides) - 1}"
    suite = sp.Suite.from_records((v, replace(r, **more) if v == last else r) for v, r in records)
    with pytest.raises(sp.SpeedproofError) as error:
        sp.compare_suite(suite)
    assert error.value.on_command_line().split("\n  ")[1:] == told


def test_no_common_metric_wants_no_other_names(tmp_path: Path) -> None:
    """Of times against sizes of one benchmark: each side is told to lack what the other has."""
    for version, column in (("old", "time_ms"), ("new", "size_kB")):
        rows = "".join(f"sort,{version},{value}\n" for value in OLD)
        (tmp_path / f"{version}.csv").write_text(f"name,version,{column}\n{rows}")
    suite = sp.read(tmp_path / "old.csv", tmp_path / "new.csv")
    for ask in (sp.gate, sp.compare_suite):
        with pytest.raises(sp.SpeedproofError, match=r"\n *old has sort \(time\)\n *new has none \(time\)$"):
            ask(suite)


def test_numpys_scalars_are_numbers() -> None:
    """Wherever whole numbers, numbers, or truths are taken."""
    kept = sp_.race(sum, max, args=[[1]], max_runs=np.int64(12), min_runs=np.int8(10), max_time=np.float32(9))
    assert kept.finding.result.blocks <= 12
    one = sp.Suite.of_samples({"old": OLD * 3, "new": NEW * 3})
    ranked = sp_.rank(one, seed=np.uint8(3), resamples=np.int32(20), mixtures=np.True_)
    assert ranked == sp.rank(one, seed=3, resamples=20)
    for wrong in (np.True_, True, "3", 2.5, np.float64(3)):
        with pytest.raises(sp.SpeedproofError, match=r"max_runs=.*expected a whole number"):
            sp_.race(len, sum, max_runs=wrong)
    with pytest.raises(sp.SpeedproofError, match="seed=-1: expected a whole number, 0 or more"):
        sp_.rank(one, seed=np.int64(-1))
    given: Any = (np.float32(9), None, "9", "5s", "2m")
    assert [request_of(time).measuring.max_time for time in given] == [9.0, math.inf, 9.0, 5.0, 120.0]
    for wrong in (0, np.nan, "-1", "9 lives"):
        with pytest.raises(sp.SpeedproofError, match=r"max_time=.*; give (more than 0 )?seconds"):
            request_of(wrong)
    with pytest.raises(sp.SpeedproofError, match="max_time='True' is not a time; give seconds"):
        sp_.race(len, sum, max_time=True)


@pytest.mark.parametrize(("ask", "wrong", "remedy"), [
    (lambda s, level: sp_.hpt(s, confidences=[level]), 95, "95%"),
    (lambda s, share: sp_.model(s, quantiles=[share], bootstrap=0), 50, "50%"),
    (lambda s, share: sp_.model(s, undersampling=share, bootstrap=1), 20, "20%"),
    (lambda s, time: sp_.measure({"a": "true", "b": "true"}, timeout=time, max_runs=1).result(), -1, "90s"),
])  # fmt: skip
def test_what_is_proposed_is_taken(
    ask: Callable[[sp.Suite, object], object], wrong: int, remedy: str
) -> None:
    suite = sp.Suite.of_samples({"sort": {"old": OLD * 3, "new": NEW * 3}})
    with pytest.raises(sp.SpeedproofError, match=f"(you mean|as in) {remedy}"):
        ask(suite, wrong)
    ask(suite, remedy)


def test_a_gate_counts_what_is_missing() -> None:
    samples: dict[str, Any] = {name: {"old": OLD, "new": OLD} for name in ("sort", "hash")}
    assert repr(sp.gate(sp.Suite.of_samples(samples))).endswith(", 2 benchmarks>")
    lacking = sp.gate(sp.Suite.of_samples({**samples, "fib": {"old": OLD}}))
    assert repr(lacking) == "<GateResult: fail, 3 benchmarks, 1 of them missing>"


async def coroutine() -> None: ...


async def generator() -> Any:
    yield


@pytest.mark.parametrize("never", [coroutine, generator, lambda: (i for i in "ab")])
def test_what_runs_nothing_is_refused_whoever_calls_it(never: Any) -> None:
    """What a call gives tells it: a coroutine that nobody awaits, a generator that nobody asks for values."""
    for f in (never, functools.partial(never), lambda: never()):
        with pytest.raises(sp.SpeedproofError, match=r"odd: a call of it runs nothing yet; .*asyncio\.run"):
            sp_.race(list, f, names=("even", "odd"))


X, Y = [12.0, 12.1, 12.2, 12.3, 12.4], [11.0, 11.1, 11.2, 11.3, 11.4]


def labelled(values: Any, unit: str = "ms", dims: tuple[str, ...] | None = None) -> Any:
    attributes = {"units": unit} if unit else {}
    return pytest.importorskip("xarray").DataArray(values, attrs=attributes, dims=dims)


# What Python holds that says its unit itself, each made of milliseconds.
OWN: dict[str, Callable[[list[float]], Any]] = {
    "sample": lambda v: sp.sample(v, unit="ms"),
    "array of timedeltas": lambda v: np.array([round(1000 * t) for t in v], "m8[us]"),
    "list of timedeltas": lambda v: np.array([round(1000 * t) for t in v], "m8[us]").tolist(),
    "series": lambda v: import_module("pandas").Series(import_module("pandas").to_timedelta(v, unit="ms")),
    "xarray": labelled,
}
TAKEN: tuple[Callable[[Any, Any], Any], ...] = (
    sp.compare, lambda x, y: sp.Suite.of_samples({"old": x, "new": y}),
    lambda x, y: sp.Suite.of_samples({"sort": {"old": x, "new": y}}),
    lambda x, y: sp.Suite.of_samples({"sort": {"old": x, "new": x}, "hash": {"old": y, "new": y}}),
)  # fmt: skip


@pytest.mark.parametrize("kind", OWN)
def test_plain_numbers_beside_a_unit_are_refused(kind: str) -> None:
    if kind == "series":
        pytest.importorskip("pandas")
    for taken in TAKEN:
        for sides in ((OWN[kind](X), Y), (X, OWN[kind](Y))):
            with pytest.raises(sp.SpeedproofError, match=r"say that of the other's numbers.*sp.sample"):
                taken(*sides)
        taken(OWN[kind](X), sp.sample(Y, unit="ms"))  # which is what the error says
        taken(X, Y)


def test_two_ways_to_say_a_unit_agree() -> None:
    pytest.importorskip("pandas")
    for one, other in itertools.product(OWN, OWN):
        found = sp.compare(OWN[one](X), OWN[other](Y))
        assert found.speedup == pytest.approx(sp.compare(X, Y, unit="ms").speedup), (one, other)


def test_files_of_two_units_are_not_compared(tmp_path: Path) -> None:
    """Before somebody says what the numbers are in."""
    files = [tmp_path / name for name in ("a.txt", "b.txt")]
    for file, head in zip(files, ("time_ms\n", ""), strict=True):
        file.write_text(f"{head}10\n11\n12\n")
    with pytest.raises(sp.SpeedproofError, match=r"unit='UNIT' says what plain numbers are in$"):
        sp.compare_suite(sp.read(*files))
    assert sp.compare_suite(sp.read(*files, unit="ms")).benchmarks == ("values",)


def test_mixtures_of_two_units_are_not_compared() -> None:
    with pytest.raises(sp.SpeedproofError, match=r"in s and in plain numbers.*sp.sample"):
        sp.mixture.compare([sp.sample(X, unit="ms"), Y])
    assert sp.mixture.compare([np.negative(X), Y]).gaps.shape == (2, 2)


@pytest.mark.parametrize("unit", ["s", "ns", "MB"])
def test_a_unit_that_the_values_contradict_is_refused(unit: str) -> None:
    with pytest.raises(sp.SpeedproofError, match=f"say that they are in 'ms', and unit='{unit}'"):
        sp.sample(labelled(X), unit=unit)
    assert sp.sample(labelled(X), unit="msec") == sp.sample(labelled(X)) == sp.sample(X, unit="ms")


def test_the_name_of_a_dimension_is_honoured() -> None:
    rows = np.arange(1.0, 7.0).reshape(2, 3)
    told = sp.sample(rows)
    assert sp.sample(labelled(rows, "")) == told  # dimensions that nobody named
    for values, dims in ((rows, ("process", "run")), (rows.T, ("run", "process"))):
        assert sp.sample(labelled(values, "", dims)) == told
    with pytest.raises(sp.SpeedproofError, match=r"dimensions are fork and run: .*'process'"):
        sp.sample(labelled(rows, "", ("fork", "run")))


def test_no_sample_takes_the_place_of_another() -> None:
    """Names are texts: two that are the same are refused, and a comma within one parts nothing."""
    alike: Any = {1: [1.0, 2.0], "1": [3.0, 4.0]}
    with pytest.raises(sp.SpeedproofError, match="one name as text, such as 1 and '1'"):
        sp.Suite.of_samples(alike)
    suite = sp.Suite.of_samples({"x, y": {"z": [1.0]}, "x": {"y, z": [2.0]}})
    assert [sample.values.tolist() for sample in suite.samples.values()] == [[1.0], [2.0]]

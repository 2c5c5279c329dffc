"""Values that say their unit themselves, beside others that do not: no number becomes seconds unseen."""

import itertools
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import speedproof as sp
from speedproof.data.units import parse_unit

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
    sp.compare,
    lambda x, y: sp.Suite.of_samples({"old": x, "new": y}),
    lambda x, y: sp.Suite.of_samples({"sort": {"old": x, "new": y}}),
    lambda x, y: sp.Suite.of_samples({"sort": {"old": x, "new": x}, "hash": {"old": y, "new": y}}),
)


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
    for one in (
        labelled(rows, "", ("process", "run")),
        labelled(rows.T, "", ("run", "process")),
        labelled(rows, ""),  # dimensions that nobody named
    ):
        assert sp.sample(one) == told
    with pytest.raises(sp.SpeedproofError, match=r"dimensions are fork and run: .*'process'"):
        sp.sample(labelled(rows, "", ("fork", "run")))


@pytest.mark.parametrize("unit", ["ms", "MB", "MB/s", "op/ms", "ns/op", "1", "none", " s"])
def test_the_class_takes_base_units_alone(unit: str) -> None:
    """Else its values would be those of a unit of one's own, which nothing else can be compared with."""
    with pytest.raises(sp.SpeedproofError, match=r"a base unit, .*sp\.sample\(values, unit="):
        sp.Sample(np.array(X), unit=unit)
    for known in (parse_unit(unit).base, "points", "op/s"):
        assert sp.Sample(np.array(X), unit=known).unit == known


@given(st.lists(st.sampled_from(["ms", "MB", "op", "s", "Op", "/", " ", "1", "points", "none"]), max_size=9))
def test_a_base_unit_is_its_own(parts: list[str]) -> None:
    """So that a sample which was kept can be made again."""
    for text in ("".join(parts), "/".join(parts)):
        base = parse_unit(text).base
        assert parse_unit(base).base == base


@pytest.mark.parametrize(
    "values",
    [
        "abc",
        ["1", "2"],
        [True, False],
        [1j],
        [[1.0], [2.0, 3.0]],
        np.array([1, 2], "m8[ms]"),
        np.array([1, 2], "M8[s]"),
        np.zeros(3, [("a", "f8"), ("b", "f8")]),
        [None, object()],
    ],
)
def test_the_class_takes_numbers_alone(values: Any) -> None:
    with pytest.raises(sp.SpeedproofError, match=r"made of numbers.*sp\.sample\(values\)"):
        sp.Sample(values)


@pytest.mark.parametrize("of", [["a", "b"], [0.5, 1.0], [None, 1]])
def test_processes_are_numbered(of: Any) -> None:
    with pytest.raises(sp.SpeedproofError, match="whole numbers for process"):
        sp.Sample(np.array([1.0, 2.0]), processes=of)


@pytest.mark.parametrize("direction", ["lower", "higher"])
def test_a_direction_is_one_of_two(direction: str) -> None:
    """As text, too, which counted as lower whatever it said."""

    def made(said: Any) -> sp.Sample:
        return sp.Sample(np.array(X), direction=said)

    assert made(direction).higher_is_better is (direction == "higher")
    with pytest.raises(sp.SpeedproofError, match="direction='up': expected 'lower' or 'higher'"):
        made("up")


def test_an_array_with_fields_is_a_frame() -> None:
    fields: Any = np.array([(1.0, 2.0)] * 3, [("a", "f8"), ("b", "f8")])
    for made in (sp.sample, sp.mixture.fit):
        with pytest.raises(sp.SpeedproofError, match=r"give one of its columns.*Suite\.from_frame"):
            made(fields)
    assert sp.sample(fields["a"]).n == 3
    with pytest.raises(sp.SpeedproofError, match="real numbers, not of void"):
        sp.sample(np.zeros(3, "V8"))


def test_no_sample_takes_the_place_of_another() -> None:
    """Names are texts: two that are the same are refused, and a comma within one parts nothing."""
    alike: Any = {1: [1.0, 2.0], "1": [3.0, 4.0]}
    with pytest.raises(sp.SpeedproofError, match="one name as text, such as 1 and '1'"):
        sp.Suite.of_samples(alike)
    suite = sp.Suite.of_samples({"x, y": {"z": [1.0]}, "x": {"y, z": [2.0]}})
    assert [sample.values.tolist() for sample in suite.samples.values()] == [[1.0], [2.0]]

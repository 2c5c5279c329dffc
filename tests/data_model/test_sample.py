"""Samples and suites: what they refuse, how they pool, what is told of them; nothing is lost without a word."""

import inspect
import re
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from speedproof.data.sample import Sample, Trait
from speedproof.data.suite import Record, Suite
from speedproof.data.units import Direction
from speedproof.errors import DataError, UsageError
from speedproof.reporting.shown import different_conditions, remarks


@pytest.mark.parametrize(("values", "more", "message"), [
    ([], {}, "at least one value"), ([[1.0, 2.0]], {}, "one dimension"),
    ([1.0, float("nan")], {}, "value 2 of 2 is not a finite number"),
    ([float("inf")], {}, "value 1 of 1 is not a finite number"), ([1.0, -1.0], {}, "a time is never negative"),
    *((values, {}, r"made of numbers.*sp\.sample\(values\)") for values in (
        "abc", ["1", "2"], [True, False], [1j], [[1.0], [2.0, 3.0]], np.array([1, 2], "m8[ms]"),
        np.array([1, 2], "M8[s]"), np.zeros(3, [("a", "f8"), ("b", "f8")]), [None, object()],
    )),
    ([1.0, 2.0], {"processes": np.array([0])}, "2 values but 1 process"),
    *(([1.0, 2.0], {"processes": of}, "whole numbers for process") for of in (["a", "b"], [0.5, 1.0], [None, 1])),
    ([1.0], {"direction": "up"}, "direction='up': expected 'lower' or 'higher'"),
    *(([1.0], {"unit": unit}, r"a base unit, .*sp\.sample\(values, unit=") for unit in (
        "ms", "MB", "MB/s", "op/ms", "ns/op", "1", "none", " s",
    )),
])  # fmt: skip
def test_what_no_statement_can_be_based_on(values: Any, more: dict[str, Any], message: str) -> None:
    """Values in another unit than a base unit could be compared with nothing else; the source is told."""
    with pytest.raises(DataError, match=f"a.txt line 3: .*{message}"):
        Sample(values, source="a.txt line 3", **more)
    assert not Sample(np.ones(1)).values.flags.writeable


@pytest.mark.parametrize("unit", ["s", "B", "B/s", "op/s", "", "points"])
@pytest.mark.parametrize("direction", ["lower", "higher"])
def test_what_a_sample_is_in(unit: str, direction: Any) -> None:
    sample = Sample(np.array([1.0]), unit=unit, direction=direction)
    assert (sample.unit, sample.higher_is_better) == (unit, direction == "higher")


def test_the_first_runs() -> None:
    """As many values in run order, where it is known; of nested ones every value of as many processes."""
    plain = Sample(np.array([3.0, 1.0, 2.0]), sessions=np.array([0, 0, 1]), notes=("known",))
    found = plain.first(2)
    assert found.values.tolist() == [3.0, 1.0]
    assert found.sessions is not None
    assert (found.sessions.tolist(), found.notes) == ([0, 0], ("known", "the first 2 of 3 runs are used"))
    assert plain.first(3) is plain
    found = Sample(np.array([5.0, 4.0, 6.0, 1.0, 7.0]), processes=np.array([7, 2, 7, 9, 2])).first(2)
    assert (found.values.tolist(), found.process_count) == ([5.0, 4.0, 6.0, 7.0], 2)
    assert found.notes == ("the first 2 of 3 processes are used",)
    with pytest.raises(UsageError, match=r"first=2: a\.txt: the values are sorted"):
        Sample(np.arange(9.0), source="a.txt", traits=frozenset({Trait.SORTED})).first(2)
    with pytest.raises(UsageError, match="first=0: expected how many runs"):
        Sample(np.arange(9.0)).first(0)


def test_its_signature_is_all_public() -> None:
    assert not [name for name in inspect.signature(Sample).parameters if name.startswith("_")]


def record(benchmark: str, *values: float, **more: object) -> Record:
    return Record(benchmark, np.array(values), **more)  # type: ignore[arg-type]


def test_pairs_of_two_units_or_directions_are_problems() -> None:
    """They are not compared, and the reason names both."""
    for unit, name, more in (("B", "B", ""), ("", "plain numbers", " before the plain numbers have a unit")):
        pairing = Suite.from_records([("x", record("b", 1)), ("y", record("b", 1, unit=unit))]).pair("x", "y")
        assert not pairing.pairs
        told = f"x is in s (lower is better), y in {name} (lower is better); they cannot be compared{more}"
        assert pairing.problems == (f"b (time): {told}",)
    turned = Suite.from_records([("x", record("b", 1)), ("y", record("b", 1, direction=Direction.HIGHER))])
    assert not turned.pair("x", "y").pairs
    assert "higher is better" in turned.pair("x", "y").problems[0]


@pytest.mark.parametrize(("traits", "unit"), [
    ("", 1.0), ("MILLI", 1e-3), ("MICRO", 1e-6), ("MILLI NANO", 1e-9), ("NANO SORTED MICRO", 1e-9),
])  # fmt: skip
def test_the_smallest_unit_that_values_are_written_in(traits: str, unit: float) -> None:
    assert Sample(np.ones(2), traits=frozenset(Trait[name] for name in traits.split())).written_unit == unit


def test_other_values_are_reduced_anew() -> None:
    sample = Sample(np.array([1.0, 3.0, 2.0, 4.0]), processes=np.array([0, 0, 1, 1]))
    assert sample.per_process("mean").values.tolist() == [2.0, 3.0]
    other = replace(sample, values=np.array([2.0, 2.0, 9.0, 9.0]))
    assert other.per_process("mean").values.tolist() == [2.0, 9.0]
    alone = replace(sample, processes=np.arange(4))
    assert alone.process_count == alone.per_process("median").n == 4
    with pytest.raises(DataError, match="never negative"):
        replace(sample, values=-sample.values)


def suite(*rows: tuple[str, dict[str, str]]) -> Suite:
    return Suite.from_records(
        (version, Record("b", np.array([1.0, 2.0]), fields=tuple(fields.items()))) for version, fields in rows
    )


def test_what_differs_between_versions_is_named() -> None:
    """Nothing differs from a version whose files say nothing, nor machines that are themselves the versions."""
    found = different_conditions(
        suite(
            ("old", {"host": "ant", "kernel": "6.1", "compiler": "gcc"}),
            ("old", {"host": "ant", "kernel": "6.2", "compiler": "gcc"}),
            ("new", {"host": "bee", "kernel": "6.1", "compiler": "clang"}),
        )
    )
    assert list(found) == ["host (old: ant; new: bee)", "kernel (old: 6.1/6.2; new: 6.1)"]
    hosts = {"a": "ant", "b": "ant", "c": "bee"}
    (host,) = different_conditions(suite(*((name, {"host": of_it}) for name, of_it in hosts.items())))
    assert host == "host (a: ant; c: bee; ...)"
    assert different_conditions(suite(("old", {"host": "ant"}), ("new", {}))) == ()
    assert different_conditions(suite(("ant", {"host": "ant"}), ("bee", {"host": "bee"}))) == ()
    assert different_conditions(suite(("old", {"host": "ant"}), ("new", {"host": "ant"}))) == ()
    (difference,) = different_conditions(suite(*((f"v{i}", {"cpu": f"c{i}"}) for i in range(6))))
    assert difference == "cpu (v0: c0; v1: c1; ...)"
    kinds = ("host", "cpu", "ram", "arch", "os", "kernel")
    many = suite(*((f"v{i}", {kind: f"{kind} {i} {'and so on ' * 9}" for kind in kinds}) for i in range(2)))
    (note,) = remarks(many)
    assert note.endswith(" and 4 more")
    assert len(note) < 320


def test_values_that_begin_alike_are_cut_before_they_differ() -> None:
    """Two platforms as pyperf names them; what is short stays whole."""
    system = "Linux-5.8.12-200.fc32.x86_64-x86_64-with-"
    ends = {"old": "fedora-32", "new": "glibc2.2.5"}
    (found,) = different_conditions(suite(*((v, {"platform": f"{system}{end}"}) for v, end in ends.items())))
    shown = re.fullmatch(r"platform \(old: (.*); new: (.*)\)", found)
    assert shown is not None
    for value, end in zip(shown.groups(), ends.values(), strict=True):
        first, _, last = value.partition("…")
        assert system.startswith(first)
        assert last.endswith(end) or end.endswith(last)
        assert len(value) <= 32
    (found,) = different_conditions(suite(("old", {"host": "ant-1"}), ("new", {"host": "ant-2"})))
    assert found == "host (old: ant-1; new: ant-2)"

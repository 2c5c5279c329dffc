"""Names: sorted, listed, chosen and meant, and suites of those that are chosen."""

from fnmatch import fnmatchcase
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from speedproof.data.names import (
    begin_alike,
    enumerate_names,
    joined,
    natural,
    nearest_of,
    version_of,
    visible,
)
from speedproof.data.suite import Key, Record, Suite
from speedproof.errors import UsageError


@given(st.lists(st.integers(0, 10**6), unique=True), st.sampled_from(["v", "release-1.", ""]))
def test_numbers_in_names_are_sorted_by_size(numbers: list[int], prefix: str) -> None:
    names = [f"{prefix}{number}" for number in numbers]
    assert sorted(names, key=natural) == [f"{prefix}{number}" for number in sorted(numbers)]
    assert natural("a") < natural("a1") < natural("a1b") < natural("b")


@given(
    st.lists(st.text("ab", min_size=1, max_size=9), min_size=1, max_size=12),
    st.integers(1, 9),
    st.sampled_from([0, *range(8, 40)]),
)
def test_names_in_a_message(names: list[str], limit: int, room: int) -> None:
    """The first ones, as many as are asked for and as fit, and how many more there are; a long one is cut."""
    found = enumerate_names(names, limit, room)
    shown, _, more = found.partition(" and ")
    count = len(names) - (int(more.split()[0]) if more else 0)
    whole = ", ".join(names[:count])
    assert count <= limit
    assert shown == whole or (count == 1 and len(whole) > room == len(shown) and shown[:1] == whole[:1])
    fitting = [
        k for k in range(1, min(limit, len(names)) + 1) if not room or len(", ".join(names[:k])) <= room
    ]
    assert count == max(fitting, default=1)


def test_what_names_have_in_common() -> None:
    expected = [2, 1, 0, 2]
    assert [begin_alike(names) for names in (["abc", "abd"], ["a", "abc"], ["x", "y"], ["ab"])] == expected
    assert nearest_of("srt", ["sort", "hash"]) == "do you mean sort?"
    assert nearest_of("x", list("abcdefg")) == "available: a, b, c, d, e and 2 more"
    assert joined(["n", "kind"], ["10", "x"]) == "n=10/kind=x"
    assert joined(["/2", "kind"], ["10", "x"]) == "10/kind=x"
    assert (joined(["a", "b"], ["x", "y"]), joined(["a"], ["1"])) == ("x/y", "1")
    assert visible("a\tb\x1b") == "a\\tb\\x1b"


@pytest.mark.parametrize(("name", "meant"), [
    ("old", "old"), ("49918f5", "49918f5 fast"), ("49918f5aa", "49918f5 fast"), ("4991", "49918f5 fast"),
    ("fast", "49918f5 fast"), ("slow", "slow"), ("jit", "bm/jit"), ("bm", "bm"), ("JIT", "bm/x-JIT"), ("zz", "zz"),
])  # fmt: skip
def test_the_version_that_is_meant(name: str, meant: str) -> None:
    """By its name, its commit's hash or words, or the part of a path that it has alone; else nobody knows."""
    versions = ["old", "49918f5 fast", "29805f0 slow", "1234567 slow", "bm/jit", "bm/x-JIT"]
    assert version_of(name, versions) == meant


@pytest.mark.parametrize("commands", [False, True])
def test_what_is_chosen_of_a_suite(commands: bool) -> None:
    """By patterns, names and metrics, against loops; what is not chosen is kept apart."""
    places = [*product(("sort", "hash", "s*"), ("time", "memory"), ("old", "new"))]
    suite = Suite.from_records(
        [(v, Record(b, np.ones(1), metric=m, unit="s" if m == "time" else "B")) for b, m, v in places],
        commands=commands,
    )
    for only, skip, metric in product(
        ("", "s*", "sort", "n?w", "x"), ("", "hash", "old"), (None, "all", "memory", "x")
    ):

        def chosen(place: tuple[str, str, str], only: str = only, skip: str = skip) -> bool:
            name = place[2] if commands else place[0]
            some = [bool(p) and (name == p or fnmatchcase(name, p)) for p in (only, skip)]
            return (some[0] or not only) and not some[1]

        kept = [p for p in places if chosen(p)]
        if not kept or metric == "x":
            match = "there is no metric x" if kept else f"no {'command' if commands else 'benchmark'} matches"
            with pytest.raises(UsageError, match=match):
                suite.select(only or (), skip or (), metric)
            continue
        found = suite.select(only or (), skip or (), metric)
        kept = [p for p in kept if metric == "all" or p[1] == (metric or "time")]
        assert [(k.benchmark, k.metric, v) for k, v in found.samples] == kept
        assert {(k.benchmark, k.metric, v) for k, v in found.not_chosen} == {*places} - {*kept}
        assert found.versions == (tuple(dict.fromkeys(v for *_, v in kept)) if commands else ("old", "new"))
        pairing = found.pair("old", "new")
        both = [p[:2] for p in kept if (*p[:2], "new") in kept and p[2] == "old"]
        assert [(p.key.benchmark, p.key.metric) for p in pairing.pairs] == both
        assert [(k.benchmark, k.metric) for k in pairing.only_candidate] == [
            p[:2] for p in kept if p[2] == "new" and p[:2] not in both
        ]  # fmt: skip
    assert (suite.main_metric, {*suite.of("old")}) == ("time", {Key(b, m) for b, m, _ in places})
    with pytest.raises(UsageError, match=r"^there is no version x; available: old, new$"):
        suite.sides("x")
    assert (suite.sides(), suite.sides("new")) == (("old", ("new",)), ("new", ("old",)))

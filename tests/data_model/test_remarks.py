"""Versions from different machines are told apart from versions of different programs."""

from __future__ import annotations

import numpy as np

from speedproof.data.remarks import different_conditions, remarks
from speedproof.data.suite import Record, Suite


def suite(*rows: tuple[str, dict[str, str]]) -> Suite:
    return Suite.from_records(
        (version, Record("b", np.array([1.0, 2.0]), fields=tuple(fields.items()))) for version, fields in rows
    )


def test_what_differs_between_versions_is_named() -> None:
    found = different_conditions(
        suite(
            ("old", {"host": "ant", "kernel": "6.1", "compiler": "gcc"}),
            ("old", {"host": "ant", "kernel": "6.2", "compiler": "gcc"}),
            ("new", {"host": "bee", "kernel": "6.1", "compiler": "clang"}),
        )
    )
    assert list(found) == ["host (old: ant; new: bee)", "kernel (old: 6.1/6.2; new: 6.1)"]


def test_unknown_and_chosen_conditions_are_no_difference() -> None:
    """A version whose files say nothing; and machines that are themselves the versions, as with --by host."""
    assert different_conditions(suite(("old", {"host": "ant"}), ("new", {}))) == ()
    assert different_conditions(suite(("ant", {"host": "ant"}), ("bee", {"host": "bee"}))) == ()
    assert different_conditions(suite(("old", {"host": "ant"}), ("new", {"host": "ant"}))) == ()


def test_long_lists_are_cut() -> None:
    (difference,) = different_conditions(suite(*((f"v{i}", {"cpu": f"c{i}"}) for i in range(6))))
    assert difference == "cpu (v0: c0; v1: c1; ...)"
    kinds = ("host", "cpu", "ram", "arch", "os", "kernel")
    found = suite(*((f"v{i}", {kind: f"{kind} {i} {'and so on ' * 9}" for kind in kinds}) for i in range(2)))
    (note,) = remarks(found)
    assert note.endswith(" and 4 more")
    assert len(note) < 320


def test_values_that_begin_alike_are_cut_where_they_differ() -> None:
    """Two platforms as pyperf names them; what is short stays whole."""
    system = "Linux-5.8.12-200.fc32.x86_64-x86_64-with-"
    (found,) = different_conditions(
        suite(("old", {"platform": f"{system}fedora-32"}), ("new", {"platform": f"{system}glibc2.2.5"}))
    )
    assert found == "platform (old: …fedora-32; new: …glibc2.2.5)"
    (found,) = different_conditions(suite(("old", {"host": "ant-1"}), ("new", {"host": "ant-2"})))
    assert found == "host (old: ant-1; new: ant-2)"

"""Names of versions: a command keeps its program, and one output has one name for one thing."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest

from speedproof.cli.console import Console
from speedproof.cli.main import main
from speedproof.reporting.model import Cell, Column, Report, Row, Table
from speedproof.reporting.names import benchmark_column, labels, shortened, spoken, width_of
from speedproof.reporting.text import render


@pytest.mark.parametrize(
    ("commands", "told"),
    [
        (
            ["pdu --top-down tmp.sample", "dust --no-progress --reverse tmp.sample"],
            ["pdu --top-down", "dust --no-progress --reverse"],
        ),
        (
            ["pdu --no-sort --max-depth=1 tmp.sample", "pdu --no-sort --max-depth=2 tmp.sample"],
            ["--max-depth=1", "--max-depth=2"],
        ),
        (["sort 'a b' --stable-order-of-equals", "sort 'a c' --stable-order-of-equals"], ["'a b'", "'a c'"]),
        (["dua tmp.sample-of-the-whole-disk", "du tmp.sample-of-the-whole-disk"], ["dua", "du"]),
        (["run --with-all-that-there-is", "run --with-all-that-there-is -v"], None),
        (["abff0c5 change 1", "d6c26ff change 4"], ["abff0c5 change 1", "d6c26ff change 4"]),
    ],
)
def test_commands_lose_whole_words(commands: list[str], told: list[str] | None) -> None:
    found = spoken(commands)
    assert told is None or found == told
    assert len(set(found)) == len(found)
    for name, command in zip(found, commands, strict=True):
        assert name
        assert set(name.split()) <= set(command.split())


def test_commands_are_shortened_between_words() -> None:
    names = ["gdu --show-apparent-size --non-interactive --no-progress", "du --count-links"]
    assert shortened(names, 40) == ["gdu … --non-interactive --no-progress", "du --count-links"]
    assert all(width_of(name) <= 20 for name in shortened(names, 20))


def test_files_are_cut_at_separators() -> None:
    assert labels(["competing.no-sort+summary", "competing.summary"], 16) == ["no-sort+summary", "summary"]


def _output(*argv: str) -> str:
    out = io.StringIO()
    main(list(argv), Console(out, out))
    return out.getvalue()


@pytest.fixture
def commands(tmp_path: Path) -> Path:
    """Three commands, measured by hyperfine one after the other."""
    rng = np.random.default_rng(1)
    names = ("pdu --top-down tmp.sample", "dust --no-progress --reverse tmp.sample", "du --all tmp.sample")
    results = [
        {"command": name, "times": (place + 0.01 * rng.standard_normal(20)).tolist()}
        for name, place in zip(names, (1.0, 1.2, 1.1), strict=True)
    ]
    path = tmp_path / "bench.json"
    path.write_text(json.dumps({"results": results}))
    return path


@pytest.mark.parametrize("command", ["compare", "rank"])
def test_one_name_in_one_output(command: str, commands: Path) -> None:
    told = " ".join(_output(command, str(commands)).split())
    assert told.count("pdu --top-down") >= 2
    assert told.count("top-down") == told.count("pdu --top-down")
    assert "tmp.sample" not in told


def test_benchmarks_are_counted_not_samples(tmp_path: Path) -> None:
    path = tmp_path / "bench.txt"
    rows = [f"BenchmarkSort-8 100 {t} ns/op {b} B/op" for t, b in ((12, 3), (13, 4), (14, 5), (12, 9))]
    path.write_text("\n".join(rows) + "\n")
    told = _output("show", str(path))
    assert told.startswith("Sort")
    assert "1 version, 2 metrics" in told.partition("\n")[0]


def test_a_column_returns_where_there_is_room() -> None:
    """The one that goes first is narrow; it comes back when a wide one has gone, too."""
    columns = (Column("name", names=True), Column("wide", drop=1), Column("narrow", drop=2))
    table = Table.of(columns, iter([(Cell("a"), Cell("x" * 40), Cell("1"))]))
    told = render(Report("", (), (table,)), 40)
    assert "narrow" in told.splitlines()[1]
    assert "no room for: wide" in told


def test_columns_go_below_where_all_is_shown() -> None:
    """Each of them once, behind those that say of what a row is."""
    columns = (Column("name", names=True), *(Column(f"version{i}", drop=-i) for i in range(1, 9)))
    cells = [[Cell(name), *(Cell(f"{i}.00 ms faster") for i in range(1, 9))] for name in ("sort", "hash")]
    table = Table(columns, tuple(Row(tuple(row), row[0].text) for row in cells), repeats=1)
    told = render(Report("", (), (table,)), 60)
    assert max(map(len, told.splitlines())) <= 60
    assert all(told.count(f"version{i}") == 1 and told.count(f"{i}.00 ms") == 2 for i in range(1, 9))
    assert told.count("sort") == told.count("name") > 1
    assert "no room" not in told


def test_a_wide_last_column_leaves_names_whole() -> None:
    columns = (Column("revision", names=True), Column("folder"))
    rows = [(Cell("abff0c5 Sum more of them"), Cell("/" + "x" * 60)) for _ in range(2)]
    told = render(Report("", (), (Table.of(columns, iter(rows)),)), 60)
    assert told.count("abff0c5 Sum more of them") == 2
    assert max(map(len, told.splitlines())) <= 61


def test_fields_that_all_names_have_are_in_the_title() -> None:
    """Each is told once; names of other fields are told whole."""
    names = [
        "program=330.art_m/affinity=no affinity/threads=2",
        "program=312.swim_m/affinity=compact/threads=16",
    ]
    column, cell = benchmark_column(names)
    assert column.title == "program/affinity/threads"
    assert [cell(name).text for name in names] == ["330.art_m/no affinity/2", "312.swim_m/compact/16"]
    for others in ([*names, "program=330.art_m/threads=2"], ["F/kind=map/n=2", "G/kind=map/n=3"]):
        column, cell = benchmark_column(others)
        assert [f"{column.title.removesuffix('…')}{cell(name).text}" for name in others] == others

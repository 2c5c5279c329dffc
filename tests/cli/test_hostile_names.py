"""Names come from files: nothing in one may command a terminal, a spreadsheet, a page or a file system."""

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from tests.command import speedproof

NAMES = [
    "\x1b[31mred\x1b]0;owned\x07", "zero\x00byte", "\x9b31m\x7f", "right\u202eto left", "测试 テスト",
    "=cmd|' /C calc'!A0", "+1+1", "@SUM(A1:A9)", "-2+3", "x" * 300 + "a", "x" * 300 + "b",
    'A$x^{$ & <b> % _ # ~ \\ "q" `t`', "a/b", "a:b", "A:B",
]  # fmt: skip
OBEYED = {*map(chr, range(0x20)), *map(chr, range(0x7F, 0xA0)), "\u202e"} - {"\n", "\t"}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Two result files whose benchmarks, versions, metrics, units and fields are named so."""
    folder = tmp_path_factory.mktemp("hostile")
    rng, paths = np.random.default_rng(1), []
    for version, factor in (("old", 1.0), ("new", 1.3)):
        times = {name: (factor * rng.normal(1, 0.02, 10)).tolist() for name in NAMES}
        runs = [{"command": name, "times": of, "user": name} for name, of in times.items()]
        paths.append(folder / f"{version}\x1b[2J.json")
        paths[-1].write_text(json.dumps({"results": runs}), encoding="utf-8")
    return [str(path) for path in paths]


def clean(text: str, what: str) -> None:
    bad = OBEYED.intersection(text)
    assert not bad, (what, sorted(bad))


def commands(results: list[str]) -> Iterator[list[str]]:
    first, place = results[0], ["--store", "history.db", "--repository", "."]
    query = "SELECT * FROM corpus"
    yield ["compare", *results, "--all", "--details"]
    yield ["compare", *results, "--metric", "all", "--json"]
    yield from (["compare", *results, f"--{of}", "-"] for of in ("csv", "markdown", "latex", "junit", "html"))
    yield from ([command, *results] for command in ("gate", "rank", "show", "hpt"))
    yield from (["compare", file] for file in (first, f"{first}\x1b[31m"))
    yield ["model", first, "--bootstrap", "0", "--max-components", "2", "--all"]
    yield ["history", "add", first, "--commit", "a" * 40, *place]
    yield ["history", "query", *place]
    yield ["corpus", "build", *results, "-o", "corpus"]
    yield from (["corpus", "query", "corpus", query, *more] for more in ([], ["--json"]))
    yield from (["corpus", action, "corpus"] for action in ("compare", "changes"))


def test_no_command_hands_on_what_a_terminal_obeys(results: list[str]) -> None:
    """Not in an answer, not in a remark or an error, and not in a report for another program."""
    for argv in commands(results):
        code, out, err = speedproof(*argv)
        assert out or code == 2, (argv, err)
        clean(out + err, " ".join(argv[:2]))


def test_reports_stay_whole(results: list[str]) -> None:
    """XML and JSON parse, and no cell of a table is a formula."""
    junit = ET.fromstring(speedproof("compare", *results, "--junit", "-")[1])
    assert len({case.get("name") for case in junit.iter("testcase")}) == len(NAMES)
    assert json.loads(speedproof("compare", *results, "--json")[1])["results"]
    rows = list(csv.reader(io.StringIO(speedproof("compare", *results, "--csv", "-")[1])))
    assert len(rows) > len(NAMES)
    shown = {cell for row in rows for cell in row}
    assert shown >= {"'=cmd|' /C calc'!A0", "'+1+1", "'@SUM(A1:A9)", "'-2+3", "a/b"}
    for cell in shown:
        assert not cell.startswith(("=", "@", "+"))
        if cell.startswith("-"):
            float(cell)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["histogram", "cdf", "order", "violins", "qq", "forest"])
def test_pictures(results: list[str], kind: str) -> None:
    """Every picture is well-formed XML, in a file of its own, whatever the names; no warning is an error here."""
    pytest.importorskip("matplotlib")
    fewer = [] if kind in ("qq", "forest") else ["--max-components", "1"]
    code, out, err = speedproof("plot", *results, "--kind", kind, *fewer, "-o", "p.svg")
    assert code == 0, err
    clean(out + err, kind)
    drawn = list(Path().glob("p*.svg"))
    files = {"histogram": 15, "violins": 15, "cdf": 15, "forest": 1}.get(kind, 30)
    assert len(drawn) == err.count("wrote") == files
    for path in drawn:
        ET.parse(path)
        clean(path.read_text(encoding="utf-8"), path.name)

"""Every command on real files and at every width: its lines, its names, its times, its numbers."""

import io
import re
from pathlib import Path

import numpy as np
import pytest
from tests.command import Checked, check_numbers, write
from tests.command import table as write_table

from speedproof.cli.main import main
from speedproof.reporting.model import Report
from speedproof.reporting.names import width_of
from speedproof.reporting.text import render

ROOT = Path(__file__).parents[2]
GCC = [str(ROOT / "examples" / "gcc" / name) for name in ("O2.json", "O3.json")]
CONFIG = str(ROOT / "tests" / "data" / "speedup_test_tool" / "plain.csv")
WIDTHS = (60, 80, 100, 200)
COMMANDS = {
    "compare": ["compare"], "gate": ["gate"], "hpt": ["hpt"], "rank": ["rank"],
    "model": ["model", "--bootstrap", "0", "--max-components", "2"], "modes": ["compare", "--modes"],
    "show": ["show"],
}  # fmt: skip
TIME = re.compile(r"[\d.]+(e[+-]\d+)? ?(ns|µs|ms|s)")


class Kept(Checked):
    """A console that keeps the reports that it is given."""

    def __init__(self) -> None:
        super().__init__(io.StringIO(), io.StringIO())
        self.reports: list[Report] = []

    def write(self, *reports: Report) -> None:
        self.reports += reports
        super().write(*reports)


def reports_of(*argv: str) -> list[Report]:
    console = Kept()
    if argv[0] == "gate":
        argv = ("gate", "--baseline", argv[1], "--candidate", argv[2], *argv[3:])
    assert main(argv, console) in (0, 1, 3)
    return console.reports


def check(reports: list[Report], benchmarks: int = 0) -> None:
    """What holds for every report: at every width, and within its budget of lines from 80 columns on."""
    for report in reports:
        for part in report.every():
            for table in part.tables:
                columns = [i for i, column in enumerate(table.columns) if column.names]
                names = [tuple(row.cells[i].text for i in columns) for row in table.rows]
                assert len(set(names)) == len(names) or not any(any(own) for own in names), names
        for width in WIDTHS:
            text = render(report, width)
            check_numbers(text)
            # A terminal shows a line that is too long in several, and copies it as one: a command that is to be
            # copied has a line of its own, and no other break than that.
            wide = [line for line in text.splitlines() if width_of(line) > width]
            assert all(line.startswith("speedproof ") and "--store" in line for line in wide), wide
            for row in (row for table in report.tables for row in table.rows if not row.folded):
                # The times of a row that is shown are there, whatever else has gone.
                times = [cell.text for cell in row.cells if TIME.fullmatch(cell.text)]
                assert not times or times[0] in text, (times[0], text)
    if benchmarks:
        lines = sum(len(render(report, 80).splitlines()) for report in reports)
        assert lines <= budget(benchmarks), "\n".join(render(report, 80) for report in reports)


def budget(benchmarks: int) -> int:
    return 10 if benchmarks == 1 else 16 if benchmarks <= 6 else 32


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Forty benchmarks of three versions, each gain and loss among them."""
    folder, rng, files = tmp_path_factory.mktemp("many"), np.random.default_rng(12), []
    for v in range(3):
        levels = (10.0 ** (i % 7 - 6) * (1 + (i % 5 - 2) * v / 50) for i in range(40))
        values = {f"suite/group_{i % 4}/a_benchmark_with_a_long_name_{i}": level * rng.lognormal(0.0, 0.02, 12)
                  for i, level in enumerate(levels)}  # fmt: skip
        files.append(write_table(folder / f"release-1.{v}.csv", values))
    return files


@pytest.mark.parametrize("name", COMMANDS)
def test_forty_benchmarks(name: str, many: list[str]) -> None:
    command, *options = COMMANDS[name]
    found = reports_of(command, *many[:2], "--unit", "s", *options)
    check(found[:1], 40)
    check(found[1:], 40)
    if name not in ("gate", "modes", "hpt"):
        check(reports_of(command, *many, "--unit", "s", *options), 40)


def test_everything_that_can_be_asked_for() -> None:
    """All rows and parts are as narrow and consistent as the sheet, whatever versions are called."""
    for name in ("compare", "hpt", "rank", "model"):
        command, *options = COMMANDS[name]
        more = ["--all", "--details", *(["--explain"] if name == "compare" else [])]
        check(reports_of(command, *(f"{'long-' * 12}{path[-7:-5]}={path}" for path in GCC), *options, *more))
    check(reports_of("suite", CONFIG), 16)
    check(reports_of("suite", CONFIG, "--all", "--details"))
    check(reports_of("show", GCC[0]))
    check(reports_of("formats"))
    check(reports_of("run", "--review", str(ROOT / "examples" / "gzip" / "session.jsonl")), 6)


@pytest.mark.slow
def test_a_history(tmp_path: Path) -> None:
    """Thirty commits, one of them slower: the last changes, and one benchmark commit by commit."""
    rng, name = np.random.default_rng(3), "a_rather_long_benchmark/sort"
    place = ["--store", str(tmp_path / "h.db"), "--repository", str(tmp_path)]
    for i in range(30):
        file = write(tmp_path / f"{i}.txt", (0.01 + 0.005 * (i >= 15)) * rng.lognormal(0, 0.01, 5))
        add = ["history", "add", file, "--commit", f"c{i:02d}", "--benchmark", name, "--unit", "s", *place]
        assert main(add, Kept()) == 0
    for asked in ([], ["show", name], ["watch"]):
        found = reports_of("history", *asked, *place)
        check(found, 122)
        assert asked == ["watch"] or "c15" in render(found[0], 80)

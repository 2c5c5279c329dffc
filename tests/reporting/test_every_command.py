"""Every command on real files and at every width: its lines, its names, its times, its numbers."""

import io
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from tests.protocols.asking import stop_rules

from speedproof.cli.console import Console
from speedproof.cli.main import main
from speedproof.protocols.sequential import SequentialComparison
from speedproof.reporting.model import Report, Table
from speedproof.reporting.names import width_of
from speedproof.reporting.text import render

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared" / "data"
GCC = [str(ROOT / "examples" / "gcc" / name) for name in ("O2.json", "O3.json")]
CONFIG = str(ROOT / "tests" / "data" / "speedup_test_tool" / "plain.csv")
WIDTHS = (60, 80, 100, 200)
COMMANDS = {
    "compare": ["compare"], "gate": ["gate"], "hpt": ["hpt"], "rank": ["rank"],
    "model": ["model", "--bootstrap", "0", "--max-components", "2"], "modes": ["compare", "--modes"],
    "show": ["show"],
}  # fmt: skip
REAL = {
    "pyperf": (
        "pyperf-jit-pairs/bm-20260507-3.16.0a0-49918f5",
        "pyperf-jit-pairs/bm-20260507-3.16.0a0-49918f5-JIT",
    ),
    "go": ("go/cmd/benchstat/testdata/crc-old.txt", "go/cmd/benchstat/testdata/crc-new.txt"),
}
TIME = re.compile(r"[\d.]+(e[+-]\d+)? ?(ns|µs|ms|s)")


class Kept(Console):
    """A console that keeps the reports that it is given."""

    def __init__(self) -> None:
        super().__init__(io.StringIO(), io.StringIO())
        self.reports: list[Report] = []

    def write(self, *reports: Report) -> None:
        self.reports += reports
        super().write(*reports)


def reports_of(*argv: str) -> list[Report]:
    """What a command shows, before it is text."""
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
            for table in report.tables:
                check_times(table, text)
    if benchmarks:
        lines = sum(len(render(report, 80).splitlines()) for report in reports)
        assert lines <= budget(benchmarks), "\n".join(render(report, 80) for report in reports)


def budget(benchmarks: int) -> int:
    """Lines that a sheet may have."""
    return 10 if benchmarks == 1 else 16 if benchmarks <= 6 else 32


def check_numbers(text: str) -> None:
    """Factors agree with their words, estimates lie in their intervals, and every number is one."""
    assert not re.search(r"(?<![\w…])(nan|inf|None(?! of)|1 (benchmarks|runs|samples))(?![\w…])", text), text
    for shown in re.findall(r"([\d.]+)x (?:faster|slower|better|worse)", text):
        assert float(shown) >= 1
    for value, low, high in re.findall(r"([\d.]+)x(?: \w+)? \[([\d.]+)x, ([\d.]+)x\]", text):
        assert float(low) <= float(value) <= float(high)
    for value, low, high in re.findall(r"([\d.]+) %(?: of cases)? [\[(]([\d.]+) %(?:,| to) ([\d.]+) %", text):
        assert float(low) <= float(value) <= float(high)
    for value, low in re.findall(r"wins ([\d.]+) % \(at least ([\d.]+) %\)", text):
        assert 50 <= float(low) <= float(value)


def check_times(table: Table, text: str) -> None:
    """The times of every row that is shown are there, whatever else has gone."""
    for row in table.rows:
        times = [cell.text for cell in row.cells if TIME.fullmatch(cell.text)]
        if times and not row.folded:
            assert times[0] in text, (times[0], text)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Forty benchmarks of three versions, each gain and loss among them."""
    folder = tmp_path_factory.mktemp("many")
    rng = np.random.default_rng(12)
    files = []
    for v, version in enumerate(("release-1.0", "release-1.1", "release-1.2")):
        rows = ["benchmark,value"]
        for i in range(40):
            size = 10.0 ** (i % 7 - 6) * (1 + (i % 5 - 2) * v / 50)
            values = size * rng.lognormal(0.0, 0.02, 12)
            rows += [f"suite/group_{i % 4}/a_benchmark_with_a_long_name_{i},{t!r}" for t in values.tolist()]
        path = folder / f"{version}.csv"
        path.write_text("\n".join(rows), encoding="utf-8")
        files.append(str(path))
    return files


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("only", ["matmul", "*"])
def test_committed_files(name: str, only: str) -> None:
    """One benchmark takes at most 10 lines, six 16, with one row a sample where samples are shown."""
    command, *options = COMMANDS[name]
    found = (
        reports_of(command, *GCC, "--only", only, *options) if name != "show" else reports_of("show", *GCC)
    )
    if name == "modes":  # a second report, asked for
        check(found[:1], 1 if only == "matmul" else 6)
        check(found[1:], 6)
    else:
        check(
            found,
            12
            if name in ("model", "show") and only == "*"
            else 1
            if only == "matmul" and name != "show"
            else 12
            if name == "show"
            else 6,
        )


@pytest.mark.parametrize("name", COMMANDS)
def test_forty_benchmarks(name: str, many: list[str]) -> None:
    """Two versions and three."""
    command, *options = COMMANDS[name]
    found = reports_of(command, *many[:2], "--unit", "s", *options)
    check(found[:1], 40)
    check(found[1:], 40)
    if name not in ("gate", "modes", "hpt"):
        check(reports_of(command, *many, "--unit", "s", *options), 40)


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("real", REAL)
def test_real_files(name: str, real: str) -> None:
    """The files of other tools."""
    paths = [str(SHARED / part) for part in REAL[real]]
    if not all(Path(path).exists() for path in paths):
        pytest.skip("the shared files are not here")
    command, *options = COMMANDS[name]
    found = reports_of(command, *paths, *options)
    if real == "pyperf":  # with what else was asked for
        check(found, 122)
    else:
        check(found[:1], 122)
        check(found[1:], 122)


HYPERFINE = "hyperfine/pdu-0.20.0/tmp.benchmark-report.competing."
SMALL = {
    "commands with long names": ([f"{HYPERFINE}top-down.json"], 1),
    "six commands": ([f"{HYPERFINE}apparent-size.json"], 6),
    "long names of files": (
        [f"pyperf/history/telco_{day}.json" for day in ("2016-06-15_4bccd854", "2016-07-11_f124cd81")],
        1,
    ),
    "one process a side": ([f"go/cmd/benchstat/testdata/{side}.txt" for side in ("old", "new")], 2),
    "three of three": ([f"pyperf/pyperf/tests/mult_list_py{v}.json" for v in (36, 37)], 3),
    "three versions": ([f"pyperf/pyperf/tests/mult_list_py{v}.json" for v in (36, 37, 38)], 3),
    "one run a side": ([f"pyperformance/pyperformance/tests/data/mem{v}.json" for v in (1, 2)], 1),
    "the same file twice": (["criterion/html_report"], 6),
}


@pytest.mark.parametrize("small", SMALL)
def test_small_real_files(small: str) -> None:
    """Ten lines for one benchmark and sixteen for six, whatever the versions are called."""
    names, benchmarks = SMALL[small]
    paths = [SHARED / name for name in names]
    if not all(path.exists() for path in paths):
        pytest.skip("the shared files are not here")
    check(reports_of("compare", *map(str, paths)), benchmarks)
    for command in ("rank", "show", "model"):
        options = COMMANDS[command][1:]
        if (small, command) != ("one run a side", "model"):  # which has nothing to fit
            check(reports_of(command, *map(str, paths), *options))


def test_more_versions_than_columns() -> None:
    """Eleven versions of three benchmarks: a row a version, and all of them are there."""
    paths = sorted(SHARED.glob("bench_runner/tests/data/results/*/*.json"))
    if len(paths) < 11:
        pytest.skip("the shared files are not here")
    (found,) = reports_of("compare", *map(str, paths))
    check([found], 122)
    text = render(found, 80)
    assert all(commit in text for commit in ("2e91dba", "b0e1f9c", "9d38120"))
    assert all(name in text for name in ("deltablue", "richards", "unpack_sequence"))


def test_everything_that_can_be_asked_for() -> None:
    """All rows and all parts are as narrow and as consistent as the sheet."""
    for name in ("compare", "hpt", "rank", "model"):
        command, *options = COMMANDS[name]
        more = ["--all", "--details", *(["--explain"] if name == "compare" else [])]
        check(reports_of(command, *GCC, *options, *more))
    check(reports_of("suite", CONFIG), 16)
    check(reports_of("suite", CONFIG, "--all", "--details"))
    check(reports_of("show", GCC[0]))
    check(reports_of("formats"))


def sessions(
    benchmarks: int,
) -> Iterator[tuple[SequentialComparison, dict[tuple[str, str], npt.NDArray[np.float64]]]]:
    """Races with every ending."""
    rng = np.random.default_rng(7)
    for i in range(benchmarks):
        name = f"benchmark_{i}"
        race = SequentialComparison(name, ["old", "new"], stop_rules())
        values = rng.lognormal(0.0, 0.01, (2, 20)) * [[1.0], [(1.0, 0.9, 1.1)[i % 3]]]
        for x, y in values.T.tolist():
            race.add({"old": x, "new": y})
        yield race, {(name, "old"): values[0], (name, "new"): values[1]}


def test_a_stored_session() -> None:
    """``run --review`` of six benchmarks: sixteen lines, warnings and risk among them."""
    check(reports_of("run", "--review", str(ROOT / "examples" / "gzip" / "session.jsonl")), 6)


@pytest.mark.slow
def test_a_history(tmp_path: Path) -> None:
    """Thirty commits, one of them slower: the last changes, and one benchmark commit by commit."""
    rng = np.random.default_rng(3)
    store = str(tmp_path / "h.db")
    for i in range(30):
        file = tmp_path / f"{i}.txt"
        file.write_text(
            "\n".join(map(repr, ((0.01 + 0.005 * (i >= 15)) * rng.lognormal(0, 0.01, 5)).tolist()))
        )
        add = [
            "history", "add", str(file), "--commit", f"c{i:02d}", "--benchmark",
            "a_rather_long_benchmark/sort",
        ]  # fmt: skip
        assert main([*add, "--unit", "s", "--store", store, "--repository", str(tmp_path)], Kept()) == 0
    for asked in ([], ["show", "a_rather_long_benchmark/sort"], ["watch"]):
        found = reports_of("history", *asked, "--store", store, "--repository", str(tmp_path))
        check(found, 122)
        assert asked == ["watch"] or "c15" in render(found[0], 80)


def test_a_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answers of a corpus are as long as those of its files."""
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    assert main(("corpus", "build", *GCC, "-o", "corpus"), Kept()) == 0
    check(reports_of("corpus", "compare", "corpus", "-o", "answers"), 40)
    check(reports_of("corpus", "info", "corpus"), 6)

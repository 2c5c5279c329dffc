"""``speedproof compare`` and its neighbours as a user meets them: words, exit codes, pipes, terminals."""

import io
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.command import Terminal, speedproof, table

import speedproof as sp
from speedproof.cli.console import Console
from speedproof.cli.files import report_leftovers
from speedproof.data.record import Skipped
from speedproof.values import seconds

ROOT = Path(__file__).parents[2]
PYPERF = str(ROOT / "tests" / "data" / "formats" / "pyperf.json")
O2, O3 = (str(ROOT / "examples" / "gcc" / name) for name in ("O2.json", "O3.json"))


@pytest.fixture
def write(tmp_path: Path):  # type: ignore[no-untyped-def]
    def write_numbers(name: str, values: object) -> str:
        path = tmp_path / name
        path.write_text("".join(f"{v}\n" for v in np.asarray(values, dtype=float)), encoding="utf-8")
        return str(path)

    return write_numbers


@pytest.fixture
def pair(write) -> tuple[str, str]:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(1)
    return write("old.txt", rng.normal(100, 1, 40)), write("new.txt", rng.normal(90, 1, 40))


def test_fail_on_is_opt_in(pair: tuple[str, str]) -> None:
    """Exit code 1 only when a condition was asked for and is met."""
    new_is_slower = (pair[1], pair[0])
    assert speedproof("compare", *new_is_slower)[0] == 0
    assert speedproof("compare", *new_is_slower, "--fail-on", "slower")[0] == 1
    assert speedproof("compare", *pair, "--fail-on", "slower")[0] == 0
    assert speedproof("compare", *pair, "--fail-on", "not-faster", "--fail-on", "undecided")[0] == 0


@pytest.mark.parametrize(("argv", "message"), [
    (["compare", "nowhere.json", "x.json"], "nowhere.json"), (["compare", PYPERF], "only one version"),
    (["compare", O2, O3, "--reference", "O9"], "available: O2, O3"),
    (["compare", O2, O3, "--metric", "joules"], "available: time"),
    (["compare", O2, O3, "--only", "nothing*"], "no benchmark matches"),
    (["compare", O2, O3, "--only", "colatz"], "do you mean collatz?"),
    (["compare", O2, O3, "--column", "x=y"], "ROLE=NAME"), (["suite", str(ROOT / "README.md")], "README.md"),
    (["show", "nowhere.json"], "nowhere.json"),
])  # fmt: skip
def test_errors_name_the_remedy_and_exit_2(argv: list[str], message: str) -> None:
    """No traceback reaches a user; what is wrong is said on standard error."""
    code, out, err = speedproof(*argv)
    assert (code, out) == (2, "")
    assert err.startswith("speedproof: error: ")
    assert message in err


def test_every_metric_is_named_and_counters_have_no_clock(tmp_path: Path) -> None:
    """A sheet a metric, of one benchmark as of several; what always is 0 is no matter of a clock."""
    rows = [f"{version},{metric},{unit},{value}\n" for version in ("old", "new") for metric, unit, values in (
        ("time", "s", [1.5, 1.6, 1.4, 1.7, 1.5]), ("faults", "count", [0] * 5),
        ("switches", "count", [3, 4, 5, 4, 6]),
    ) for value in values]  # fmt: skip
    (tmp_path / "runs.csv").write_text("".join(["version,metric,unit,value\n", *rows]))
    said = "time is compared; others with --metric: faults, switches, or all"
    assert said in speedproof("compare", str(tmp_path / "runs.csv"))[2]
    code, out, err = speedproof("compare", str(tmp_path / "runs.csv"), "--metric", "all", "--explain")
    assert said not in err
    sheets = [line.split()[0] for line in out.splitlines() if "ndecided whether" in line and line[0] != " "]
    assert (code, sheets) == (0, ["time:", "faults:", "switches:"])
    assert "clock" not in out[out.index("faults:") : out.index("switches:")]
    _, short, _ = speedproof("compare", str(tmp_path / "runs.csv"), "--metric", "all")
    headline, table = short.split("\n\n")[:2]
    assert headline.startswith("new against old: 3 metrics")
    lines = table.splitlines()
    assert [line.split()[0] for line in lines] == ["metric", "time", "faults", "switches"]


def test_versions_told_apart_by_a_field() -> None:
    """--by takes a field of the files: here a configuration line that changes in the middle of a Go file."""
    path = str(ROOT / "tests" / "data" / "formats" / "go-changes.txt")
    code, out, _ = speedproof("compare", path, "--by", "note", "--only", "*map", "--json")
    assert code == 0
    results = json.loads(out)["results"]
    assert ("before", "after") in [(r["reference"], r["candidate"]) for r in results]
    code, _, err = speedproof("compare", path, "--by", "nothing")
    assert code == 2
    assert "goos" in err


def test_names_that_a_tool_gave_are_believed(tmp_path: Path) -> None:
    """Two files with one benchmark each are matched by name; only raw text and commands have none of their own."""
    files = [table(tmp_path / f"{name}.csv", {name: range(10, 20)}) for name in ("sort", "hash")]
    code, _, err = speedproof("compare", *files)
    assert code == 2
    assert "sort has sort (time)" in err
    assert "hash has hash (time)" in err


def test_measurements_are_never_written_over(tmp_path: Path) -> None:
    """A report cannot take the place of a file that it is made from, nor of another report."""
    copy = tmp_path / "O2.json"
    content = Path(O2).read_bytes()
    copy.write_bytes(content)
    for options in (("--html", str(copy)), ("--csv", str(tmp_path / "x"), "--latex", str(tmp_path / "x"))):
        code, _, err = speedproof("compare", str(copy), O3, *options)
        assert code == 2
        assert "already read or written" in err
    code, _, err = speedproof("run", "true", "true", "--max-runs", "2", "--save", str(copy))
    assert code == 2
    assert "nothing is appended" in err
    assert copy.read_bytes() == content


def test_an_unusable_reference_is_an_error(tmp_path: Path) -> None:
    """The candidates are not compared with each other when nothing of the reference can be used."""
    (tmp_path / "base.txt").write_text("1\n-2\n3\n", encoding="utf-8")
    (tmp_path / "new.txt").write_text("1\n2\n3\n", encoding="utf-8")
    new = str(tmp_path / "new.txt")
    code, _, err = speedproof("compare", str(tmp_path / "base.txt"), new, f"again={new}", "--unit", "s")
    assert code == 2
    assert "no measurement of base can be used" in err
    assert "never negative" in err


def test_a_vanished_benchmark_fails_a_gate(tmp_path: Path) -> None:
    """A benchmark that the candidate lacks is neither faster nor decided."""
    times = dict.fromkeys("xy", (1.0, 1.1, 1.2))
    files = [table(tmp_path / "a.csv", times), table(tmp_path / "b.csv", {"x": times["x"]})]
    assert speedproof("compare", *files)[0] == 0
    for condition, code in (("slower", 0), ("missing", 1), ("not-faster", 1)):
        assert speedproof("compare", *files, "--fail-on", condition)[0] == code


@pytest.mark.parametrize("margin", ["2", "1e9", "0", "-1%", "100%", "inf", "x"])
def test_margins_that_nobody_means(pair: tuple[str, str], margin: str) -> None:
    """A margin of 2 is refused with the question whether 2 % is meant."""
    code, _, err = speedproof("compare", *pair, f"--margin={margin}")
    assert code == 2
    assert ("do you mean 2%?" in err) == (margin == "2")


@pytest.mark.slow
@pytest.mark.parametrize(
    "environment",
    [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}],
)
def test_a_stream_without_unicode(environment: dict[str, str]) -> None:
    """Where the encoding lacks a character its nearest in ASCII is written."""
    done = subprocess.run(
        command("compare", O2, O3, "--only", "matmul"), capture_output=True, check=False,
        env={**os.environ, **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    assert b" +- " in done.stdout


def test_no_standard_output_at_all() -> None:
    """A closed standard output is no crash, and no verdict's exit code."""
    line = " ".join(f"'{part}'" for part in command("compare", O2, O3))
    done = subprocess.run(["sh", "-c", f"{line} >&-"], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "Traceback" not in done.stderr


def command(*argv: str) -> list[str]:
    return [sys.executable, "-m", "speedproof", *argv]


def test_a_closed_pipe_is_quiet() -> None:
    """``speedproof ... | head -1`` ends without a word."""
    process = subprocess.Popen(
        command("compare", O2, O3, "--json"), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    process.wait()


def in_terminal(*argv: str, env: dict[str, str] | None = None) -> str:
    """What a terminal of 120 columns would show."""
    master, slave = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "120", **(env or {})}
    process = subprocess.Popen(command(*argv), stdout=slave, stderr=slave, env=environment)
    os.close(slave)
    chunks = []
    while True:
        try:
            chunk = os.read(master, 65536)
        except OSError:
            break
        if not chunk:
            break
        chunks.append(chunk)
    process.wait()
    os.close(master)
    return b"".join(chunks).decode()


@pytest.mark.slow
def test_colour_on_a_terminal_only() -> None:
    """Escape sequences appear on a terminal, not in a pipe, and not under NO_COLOR."""
    assert "\x1b[3" in in_terminal("compare", O2, O3)
    assert "\x1b[3" not in in_terminal("compare", O2, O3, env={"NO_COLOR": "1"})
    assert "\x1b" not in speedproof("compare", O2, O3)[1]


@pytest.mark.parametrize(("option", "environment", "coloured"), [
    (None, {}, False), (None, {"FORCE_COLOR": "1"}, True),
    (None, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False), ("always", {"NO_COLOR": "1"}, True),
    ("never", {"FORCE_COLOR": "1"}, False), ("auto", {"FORCE_COLOR": "1", "COLUMNS": "wide"}, True),
])  # fmt: skip
def test_the_option_outweighs_the_environment(
    option: str | None, environment: dict[str, str], coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a pipe --color decides, then NO_COLOR, then FORCE_COLOR; a COLUMNS that is no number is none."""
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    _, out, _ = speedproof("compare", O2, O3, *(["--color", option] if option else []))
    assert ("\x1b[" in out) is coloured


def test_a_remark_on_a_terminal_is_no_wider(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    terminal = Terminal()
    Console(io.StringIO(), terminal).remark("as many words as this " * 9)
    lines = terminal.getvalue().splitlines()
    assert " ".join(" ".join(lines).split()) == f"speedproof: {'as many words as this ' * 9}".rstrip()
    assert 40 < max(map(len, lines)) <= 60


@pytest.mark.parametrize(("left_out", "named"), [(11, 11), (12, 10)])
def test_of_many_that_are_left_out_the_first_are_named(left_out: int, named: int) -> None:
    skipped = tuple(Skipped(f"{i}.csv", "", "", "no number") for i in range(left_out))
    remarks = io.StringIO()
    report_leftovers(sp.Suite((), {}, skipped=skipped), Console(io.StringIO(), remarks))
    said = [f"speedproof: left out: {one}" for one in skipped[:named]]
    more = [f"speedproof: left out: {left_out - named} more; speedproof show --all names them"]
    assert remarks.getvalue().splitlines() == said + more * (named < left_out)


def test_a_process_ends_with_the_code_of_its_command() -> None:
    """After Ctrl-C another one, while Python ends, is not heeded; a profiler looks on; a defect is an error."""
    code = (
        "import atexit, os, signal, sys; import speedproof.cli.main as program; "
        "program.main = lambda: int(sys.argv[1]); sys.argv[1] == '3' and sys.setprofile(lambda *_: None); "
        "number = signal.SIGINT if sys.argv[1] == '130' else 0; "
        "atexit.register(lambda: [os.kill(os.getpid(), number), sum(range(100))]); program.entry()"
    )
    for given, expected in (("1", 1), ("3", 3), ("130", 130), ("defect", 2)):
        done = subprocess.run([sys.executable, "-c", code, given], capture_output=True, check=False)
        said = bool(done.stderr), b"please report it" in done.stderr
        assert (done.returncode, *said) == (expected, *[given == "defect"] * 2)
    assert speedproof("--version")[1] == f"speedproof {sp.__version__}\n"


def test_whoever_runs_the_program_goes_on_after_it(tmp_path: Path) -> None:
    """A profiler writes what it saw, and all that was written arrives in a pipe."""
    profile = tmp_path / "profile"
    command = [sys.executable, "-m", "cProfile", "-o", str(profile), "-m", "speedproof", "--help"]
    done = subprocess.run(command, capture_output=True, check=True)
    alone = subprocess.run([sys.executable, "-m", "speedproof", "--help"], capture_output=True, check=True)
    assert (done.stdout, done.stderr, profile.stat().st_size > 0) == (alone.stdout, b"", True)


def test_interrupted_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends with exit code 130 and a line, no traceback."""

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("speedproof.cli.show.load", interrupt)
    code, _, err = speedproof("show", O2)
    assert code == 130
    assert "interrupted" in err


def test_a_field_that_may_tell_versions_apart_is_named(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("benchmark,kind,value\n" + "b,v1,1\nb,v2,2\n" * 2, "utf-8")
    code, _, err = speedproof("compare", tmp_path / "c.csv")
    assert (code, "tell versions apart by a field (--by kind)" in err) == (2, True)


def test_pooled_values_have_a_remedy(tmp_path: Path) -> None:
    for name in ("old", "new"):
        (tmp_path / f"{name}.csv").write_text("benchmark,note,value\n" + "b,x,1\nb,y,1.1\n" * 5, "utf-8")
    _, _, err = speedproof("compare", tmp_path / "old.csv", tmp_path / "new.csv")
    assert "tell them apart by 'note'" in " ".join(err.split())


def test_a_mark_of_the_details_has_a_footnote(tmp_path: Path) -> None:
    for name, start in (("old", 10), ("new", 20)):
        (tmp_path / f"{name}.txt").write_text("".join(f"{start + i}\n" for i in range(10)), "utf-8")
    _, out, _ = speedproof("compare", tmp_path / "old.txt", tmp_path / "new.txt", "--details")
    assert out.count("! An assumption was not met: the true risk may be larger.") == 1


@pytest.mark.parametrize(
    ("text", "value"), [("20s", 20), ("2m", 120), ("1 h", 3600), ("0.5", 0.5), ("90sec", 90)]
)
def test_times_have_units(text: str, value: float) -> None:
    assert seconds(text) == value


@pytest.mark.parametrize("text", ["", "s", "3q", "-1", "nan", "inf"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="time"):
        seconds(text)


def test_a_mean_is_that_of_the_mean_protocol_and_each_protocol_lists_what_fails(tmp_path: Path) -> None:
    """Of values in processes: NumPy's mean of the means of processes; a long last value pulls them up."""
    rng = np.random.default_rng(3)
    runs = {v: rng.normal(100 * f, 1, (12, 5)) for v, f in (("old", 1.0), ("new", 0.9))}
    for values in runs.values():
        values[:, -1] *= 1.5
        values[6:, 0] *= 1.3
    rows = [
        f"{version},{process},{value!r}\n"
        for version, values in runs.items()
        for process, row in enumerate(values.tolist())
        for value in row
    ]
    (file := tmp_path / "nested.csv").write_text("version,process,time\n" + "".join(rows), encoding="utf-8")
    out = speedproof("compare", file, "--unit", "ms", "--explain")[1]
    for version, values in runs.items():
        row = next(line for line in out.splitlines() if re.match(rf"{version} .*60 runs", line))
        assert f"{values.mean():#.4g} ms" in row, row
    parts = re.split(r"^(?=(?:mean|median|single run): )", out, flags=re.MULTILINE)
    assert len(parts) == 4
    for part in parts[1:]:
        assert re.search("as above: |  FAILS ", part)

"""Options: what changes nothing is refused, more may be better, and every one has help."""

import json
import os
import re
import runpy
import shutil
import subprocess
from pathlib import Path

import click
import numpy as np
import pytest
from tests.command import refused, speedproof

import speedproof as sp
from speedproof.cli.command import ClickArgument, ClickOption
from speedproof.cli.main import COMMANDS, command, every_command, main


@pytest.fixture(autouse=True)
def _two_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, least in (("a.txt", 10), ("b.txt", 20)):
        Path(name).write_text("".join(f"{least + k % 7}\n" for k in range(12)))


ONE_AND_ANOTHER = [
    ("compare a.txt b.txt", "--with-samples", "--json"),
    ("model a.txt --bootstrap 0", "--delta 1", "--metrics"),
    ("gate --baseline a.txt --candidate b.txt", "--open o.txt", "--look"),
]


@pytest.mark.parametrize(("words", "option", "other"), ONE_AND_ANOTHER)
def test_what_belongs_to_another_option(words: str, option: str, other: str) -> None:
    told = refused(*words.split(), *option.split())
    assert told.startswith(f"speedproof: error: {option.split()[0]}")
    assert other in told


EXCLUDED = [
    *(("model a.txt --components 2", o) for o in ("--max-components 3", "--bootstrap 9", "--fast",
                                                  "--undersampling 0.8", "--ignore-rounding")),
    ("compare a.txt b.txt", "--ks-rule r422"),
    ("compare a.txt b.txt", "--bootstrap"),
    ("compare a.txt b.txt --details", "--bootstrap"),
    ("compare a.txt b.txt --protocol median", "--always-welch"),
    ("compare a.txt b.txt --protocol mean", "--ks-rule r422"),
    *((f"run true true {mode}", o)
      for mode in ("--calibrate", "--plan --revisions A")
      for o in ("--fail-on slower", "--margin 1%", "--precision 1%", "--stop-at-proof", "--gate")),
    ("run true --calibrate", "--min-runs 5"),
    *(("run true true --gate", o) for o in ("--fail-on slower", "--stop-at-proof", "--precision 1%")),
    ("run true true --precision 1%", "--stop-at-proof"),
    ("run true true --runs 12", "--stop-at-proof"),
    *(("run true", o) for o in ("--fail-on slower", "--margin 1%", "--precision 1%", "--gate", "--stop-at-proof")),
    ("run --driver go go", "-P n 1 3"),
    ("compare a.txt b.txt", "--column value=x"),
    ("plot a.txt -o p.svg", "--seed 1"), ("plot a.txt -o p.svg", "--jobs 1"), ("compare a.txt b.txt", "--wide b"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "option"), EXCLUDED)
def test_what_means_nothing_beside_another_option(words: str, option: str) -> None:
    told = refused(*words.split(), *option.split())
    names = {re.split("[ =]", option)[0], *(o for o in ("--parameter-scan",) if option.startswith("-P"))}
    assert any(name in told for name in names), told
    assert not list(Path.cwd().glob("speedproof*"))


@pytest.mark.parametrize("words", ["watch sort", "show sort print", "changes sort"])
def test_words_that_an_action_does_not_read(words: str) -> None:
    assert words.split()[0] in refused("history", *words.split())


def test_builds_that_are_kept_are_listed_and_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The longest unused goes first; a name that is long loses its middle."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert speedproof("cache")[:2] == (0, "No build is kept. 'speedproof run --revisions' makes some.\n")
    for number, name in enumerate(["v1", "v2", f"start-{'x' * 90}-end", "v4"]):
        stamp = tmp_path / "speedproof" / "builds" / f"{number:016}" / "built.json"
        stamp.parent.mkdir(parents=True)
        (stamp.parent / "program").write_bytes(b"x" * 1_000_000)
        stamp.write_text(json.dumps({"name": name}))
        os.utime(stamp, (number, number))
    code, out, _ = speedproof("cache")
    (first, *lines), sizes = out.splitlines(), r"^(\S+) +1\.0 MB +19(?:69|70)-"
    assert (code, bool(re.fullmatch(r"4 builds, 4\.\d MB", first))) == (0, True)
    shown = re.findall(sizes, "\n".join(lines), re.MULTILINE)
    assert [shown[0], shown[1], shown[2][:3], shown[2][-3:], shown[3]] == ["v1", "v2", "sta", "end", "v4"]
    code, out, _ = speedproof("cache", "--clear")
    assert (code, bool(re.fullmatch(r"4 builds removed, 4\.\d MB\n", out))) == (0, True)
    assert speedproof("cache")[1].startswith("No build is kept")


@pytest.fixture(scope="module")
def frames(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Frames a second without a unit: b has a tenth more."""
    folder = tmp_path_factory.mktemp("frames")
    rng = np.random.default_rng(4)
    for name, level in (("a", 100.0), ("b", 110.0)):
        np.savetxt(folder / f"{name}.txt", level + rng.normal(size=40))
    (folder / "c.csv").write_text(f"Name,Sample1,Sample2\nf,{folder}/a.txt,{folder}/b.txt\n")
    return folder


def run(*words: str) -> tuple[int, str]:
    code, out, err = speedproof(*words)
    return code, out + err


@pytest.mark.parametrize(("words", "worse", "better"), [
    ("compare a b", "b is 1.10x slower", "b is 1.10x faster"), ("gate a b", "FAIL", "PASS"),
    ("rank a b", "Run a", "Run b"), ("hpt a b", "  a 1", "  b 1"),
    ("suite c.csv", "1.10x slower", "1.10x faster"),
])  # fmt: skip
def test_verdicts_turn(frames: Path, words: str, worse: str, better: str) -> None:
    """What would be slower is faster; a metric that is not there is an error."""
    command, *files = words.split()
    paths = [f"{file}={frames / file}.txt" if file in "ab" else str(frames / file) for file in files]
    assert worse in run(command, *paths)[1]
    assert better in run(command, *paths, "--higher-is-better", "time")[1]
    code, told = run(command, *paths, "--higher-is-better", "tim")
    assert (code, "no such metric; do you mean time?" in told) == (2, True)


def test_a_corpus_keeps_the_direction(frames: Path, tmp_path: Path) -> None:
    """As it was asked for when it was built; a metric that is not there is an error."""
    pytest.importorskip("pyarrow")
    paths = [str(frames / "a.txt"), str(frames / "b.txt")]
    for name, code in (("time", 0), ("tim", 2)):
        place = tmp_path / name
        assert run("corpus", "build", *paths, "-o", str(place), "--higher-is-better", name)[0] == code
    (direction,) = sp.Corpus(tmp_path / "time").query("SELECT DISTINCT direction FROM corpus")["direction"]
    assert direction.as_py() == "higher"
    told = json.loads(run("show", paths[0], "--json", "--higher-is-better", "time")[1])
    assert told["results"][0]["samples"][0]["direction"] == "higher"


DOCS = Path(__file__).parents[2] / "docs"


def test_the_pages_of_commands_are_current() -> None:
    """docs/cli.md and the man page are what docs/cli_reference.py writes now."""
    for path, write in runpy.run_path(str(DOCS / "cli_reference.py"))["PAGES"].items():
        assert path.read_text(encoding="utf-8") == write(), "run python docs/cli_reference.py"


@pytest.mark.skipif(shutil.which("mandoc") is None, reason="needs mandoc")
def test_the_man_page_is_one() -> None:
    """Mandoc finds no error in it."""
    done = subprocess.run(["mandoc", "-T", "lint", "-W", "error", DOCS / "speedproof.1"], check=False)
    assert done.returncode == 0


@pytest.mark.parametrize("group", ["corpus", "history"])
def test_an_action_has_the_examples_of_its_group_that_name_it(group: str) -> None:
    examples = [line for line in (command(group).epilog or "").splitlines() if line.startswith("  ")]
    named = [line for line in examples if f"{group} {line.split()[2]}" in every_command()]
    shown = [every_command()[f"{group} {line.split()[2]}"].epilog or "" for line in named]
    assert named
    assert all(line in epilog.splitlines() for line, epilog in zip(named, shown, strict=True))


@pytest.mark.parametrize("name", [*COMMANDS, *every_command()])
def test_nothing_lacks_help(name: str) -> None:
    """A command has a description and examples in 80 columns, every option and argument a help text."""
    found = command(name)
    program = click.Context(click.Group("speedproof"), info_name="speedproof")
    shown = found.get_help(click.Context(found, info_name=name, parent=program))
    assert [line for line in shown.splitlines() if len(line) > 80] == []
    assert name not in COMMANDS or "examples:" in (found.epilog or "")
    assert found.help
    for parameter in found.params:
        assert isinstance(parameter, ClickOption | ClickArgument)
        assert parameter.help if isinstance(parameter, ClickOption) else parameter.explained, parameter.name


@pytest.mark.parametrize(
    "name", ["compare", "model", "rank", "hpt", "plot", "show", "suite", "report", "corpus info"]
)
def test_a_command_without_its_files_says_so(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The argument is named before any option that lacks, too."""
    assert main(name.split()) == 2
    assert "missing argument '" in capsys.readouterr().err


def test_help_of_the_program(capsys: pytest.CaptureFixture[str]) -> None:
    """Bare, --help and 'help' print the same, on standard output, within 80 columns."""
    shown = []
    for arguments in ([], ["--help"], ["help"]):
        assert main(arguments) == 0
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1] == shown[2]
    assert max(map(len, shown[0].splitlines())) <= 80
    for one, other in (
        ("help gate", "gate --help"),
        ("help history add", "history add -h"),
        ("corpus -h", "corpus --help show"),
    ):
        assert main(one.split()) == main(other.split()) == 0
        first, second = capsys.readouterr().out.split("Usage:")[1:]
        assert first == second

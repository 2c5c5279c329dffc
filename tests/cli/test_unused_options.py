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
from tests.command import ROOT, refused, speedproof, write

import speedproof as sp
from speedproof.cli.command import ClickArgument, ClickOption
from speedproof.cli.main import COMMANDS, command, every_command, main


@pytest.fixture(autouse=True)
def _two_files() -> None:
    for name, least in (("a.txt", 10), ("b.txt", 20)):
        write(name, [least + k % 7 for k in range(12)])


@pytest.mark.parametrize(("words", "option", "other"), [
    ("compare a.txt b.txt", "--with-samples", "--json"), ("model a.txt --bootstrap 0", "--delta 1", "--metrics"),
    ("gate --baseline a.txt --candidate b.txt", "--open o.txt", "--look"),
])  # fmt: skip
def test_what_belongs_to_another_option(words: str, option: str, other: str) -> None:
    told = refused(*words.split(), *option.split())
    assert (told.startswith(f"speedproof: error: {option.split()[0]}"), other in told) == (True, True)


@pytest.mark.parametrize(("words", "option"), [
    *(("model a.txt --components 2", o) for o in ("--max-components 3", "--bootstrap 9", "--fast",
                                                  "--undersampling 0.8", "--ignore-rounding")),
    *(("compare a.txt b.txt", o) for o in ("--ks-rule r422", "--bootstrap", "--column value=x", "--wide b")),
    ("compare a.txt b.txt --details", "--bootstrap"),
    ("compare a.txt b.txt --protocol median", "--always-welch"),
    ("compare a.txt b.txt --protocol mean", "--ks-rule r422"),
    *((f"run true true {mode}", o)
      for mode in ("--calibrate", "--plan --revisions A")
      for o in ("--fail-on slower", "--margin 1%", "--precision 1%", "--stop-at-proof", "--gate")),
    ("run true --calibrate", "--min-runs 5"),
    *(("run true true --gate", o) for o in ("--fail-on slower", "--stop-at-proof", "--precision 1%")),
    *((f"run true true {o}", "--stop-at-proof") for o in ("--precision 1%", "--runs 12", "--builds 9")),
    *((f"run true true {o}", "--precision 1%") for o in ("--runs 12", "--builds 9")),
    *(("model a.txt --bootstrap 0", o) for o in ("--distance cvm", "--undersampling 0.5")),
    ("compare a.txt b.txt --quantile 0.9", "--always-welch"), ("compare a.txt b.txt", "--confidence 0.3"),
    *(("run true", o) for o in ("--fail-on slower", "--margin 1%", "--precision 1%", "--gate", "--stop-at-proof")),
    ("run --driver go go", "-P n 1 3"),
    ("plot a.txt -o p.svg", "--seed 1"), ("plot a.txt -o p.svg", "--jobs 1"),
])  # fmt: skip
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


@pytest.fixture
def frames() -> None:
    """Frames a second without a unit: b has a tenth more."""
    rng = np.random.default_rng(4)
    for name, level in (("a.txt", 100.0), ("b.txt", 110.0)):
        write(name, level + rng.normal(size=40))


@pytest.mark.usefixtures("frames")
@pytest.mark.parametrize(("words", "worse", "better"), [
    ("compare a.txt b.txt", "b is 1.10x slower", "b is 1.10x faster"), ("gate a.txt b.txt", "FAIL", "PASS"),
    ("rank a.txt b.txt", "Run a", "Run b"), ("hpt a.txt b.txt", "  a 1", "  b 1"),
    ("suite c.csv", "1.10x slower", "1.10x faster"),
])  # fmt: skip
def test_verdicts_turn(words: str, worse: str, better: str) -> None:
    Path("c.csv").write_text("Name,Sample1,Sample2\nf,a.txt,b.txt\n")
    assert worse in speedproof(*words.split())[1]
    assert better in speedproof(*words.split(), "--higher-is-better", "time")[1]
    assert "no such metric; do you mean time?" in refused(*words.split(), "--higher-is-better", "tim")


@pytest.mark.usefixtures("frames")
def test_a_corpus_keeps_the_direction() -> None:
    """As it was asked for when it was built; a metric that is not there is an error."""
    pytest.importorskip("pyarrow")
    build = ("corpus", "build", "a.txt", "b.txt", "--higher-is-better")
    assert [speedproof(*build, name, "-o", name)[0] for name in ("time", "tim")] == [0, 2]
    (direction,) = sp.Corpus("time").query("SELECT DISTINCT direction FROM corpus")["direction"]
    assert direction.as_py() == "higher"
    told = json.loads(speedproof("show", "a.txt", "--json", "--higher-is-better", "time")[1])
    assert told["results"][0]["samples"][0]["direction"] == "higher"


DOCS = ROOT / "docs"


def test_the_pages_of_commands_are_current() -> None:
    """docs/cli.md and the man page are what docs/cli_reference.py writes now."""
    for path, made in runpy.run_path(str(DOCS / "cli_reference.py"))["PAGES"].items():
        assert path.read_text(encoding="utf-8") == made(), "run python docs/cli_reference.py"


@pytest.mark.skipif(shutil.which("mandoc") is None, reason="needs mandoc")
def test_the_man_page_is_one() -> None:
    done = subprocess.run(["mandoc", "-T", "lint", "-W", "error", DOCS / "speedproof.1"], check=False)
    assert done.returncode == 0


@pytest.mark.parametrize("group", ["corpus", "history"])
def test_an_action_has_the_examples_of_its_group_that_name_it(group: str) -> None:
    examples = [line for line in (command(group).epilog or "").splitlines() if line.startswith("  ")]
    actions = {line: every_command().get(f"{group} {line.split()[2]}") for line in examples}
    assert any(actions.values())
    assert all(line in (of.epilog or "").splitlines() for line, of in actions.items() if of)


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
    for alike in (
        ("", "--help", "help"), ("help gate", "gate --help"), ("help history add", "history add -h"),
        ("corpus -h", "corpus --help show"),
    ):  # fmt: skip
        assert [main(words.split()) for words in alike] == [0] * len(alike)
        out = capsys.readouterr().out
        assert len({*out.split("Usage:")[1:]}) == 1
        assert max(map(len, out.splitlines())) <= 80

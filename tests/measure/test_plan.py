"""From what a user writes to what is executed."""

from __future__ import annotations

from pathlib import Path

import pytest

from speedproof.errors import FormatError, UsageError
from speedproof.measure.plan import Hooks, plan_calibration, plan_commands, read_suite


def test_commands_are_split_as_a_shell_would() -> None:
    (benchmark,) = plan_commands(["a 'b c' d", ["x", "y z"]], ["old"], {}, Hooks())
    assert [(v.name, v.command) for v in benchmark.versions] == [
        ("old", ("a", "b c", "d")),
        ("x 'y z'", ("x", "y z")),
    ]


def test_parameters_make_benchmarks() -> None:
    plan = plan_commands(["old {n} {k}", "new {n} {k}"], [], {"n": ["1", "2"], "k": ["a"]}, Hooks())
    assert [b.name for b in plan] == ["command n=1 k=a", "command n=2 k=a"]
    assert plan[1].versions[1].command == ("new", "2", "a")
    assert plan[1].parameters == {"n": "2", "k": "a"}


def test_first_parameter_of_one_command_makes_versions() -> None:
    (one, two) = plan_commands(["run-{v} {n}"], [], {"v": ["old", "new"], "n": ["1", "2"]}, Hooks())
    assert [v.name for v in one.versions] == ["v=old", "v=new"]
    assert [v.command for v in two.versions] == [("run-old", "2"), ("run-new", "2")]


def test_other_braces_stay() -> None:
    (benchmark,) = plan_commands(["awk '{print $1}' {file}"], [], {"file": ["f"]}, Hooks())
    assert benchmark.versions[0].command == ("awk", "{print $1}", "f")


def test_shell_and_hooks() -> None:
    hooks = Hooks(shell="bash", env={"A": "{version}"}, prepare="rm -f {n}", cwd="/tmp")
    (benchmark,) = plan_commands(["ls | wc {n}"], ["l"], {"n": ["-l"]}, hooks)
    version = benchmark.versions[0]
    assert (Path(version.command[0]).name, *version.command[1:]) == ("bash", "-c", "ls | wc -l")
    assert version.env == {"A": "l"}
    assert version.prepare == "rm -f -l"


def test_a_repeated_command_gets_a_number() -> None:
    (benchmark,) = plan_commands(["true", "true", "true"], [], {}, Hooks())
    assert [v.name for v in benchmark.versions] == ["true", "true (2)", "true (3)"]
    (calibration,) = plan_calibration("true", Hooks())
    assert [v.name for v in calibration.versions] == ["A", "A again"]


@pytest.mark.parametrize(
    ("commands", "names", "parameters", "message"),
    [
        ([], [], {}, "nothing to run"),
        (["a", "b"], ["x", "x"], {}, "same --name"),
        (["a"], ["x", "y"], {}, "2 names for 1 versions"),
        (["a 'b"], [], {}, "No closing quotation; quote it, or use --shell"),
        (["a", ""], [], {}, "a command is empty"),
        (["a"], [], {"n": ["1"]}, r"no command has the placeholder \{n\}"),
    ],
)
def test_wrong_requests_are_named(
    commands: list[str], names: list[str], parameters: dict[str, list[str]], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        plan_commands(commands, names, parameters, Hooks())


SUITE = """
[versions.old]
bin = "build-old"
[versions.new]
bin = "build-new"
env = { FAST = "1" }

[benchmarks.sort]
command = "{bin}/sort {size}"
parameters = { size = [10, 1000] }
prepare = "sync"

[benchmarks.start]
commands = { old = "old --version", new = "{bin}/new --version" }
"""


def test_suite(tmp_path: Path) -> None:
    path = tmp_path / "suite.toml"
    path.write_text(SUITE)
    plan = read_suite(path)
    assert [b.name for b in plan] == ["sort size=10", "sort size=1000", "start"]
    old, new = plan[1].versions
    assert (old.command, new.command) == (("build-old/sort", "1000"), ("build-new/sort", "1000"))
    assert (old.env, new.env) == ({}, {"FAST": "1"})
    assert (old.cwd, old.prepare) == (str(tmp_path), "sync")
    assert [v.command for v in plan[2].versions] == [("old", "--version"), ("build-new/new", "--version")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[benchmarks", "not TOML"),
        ("[versions.a]\n", "missing required field `benchmarks`"),
        ("[benchmarks]\n", "benchmarks: no benchmark"),
        ("[benchmarks.b]\ncommand = 'x'\n", "benchmarks.b: no versions"),
        ("[benchmarks.b]\ncomand = 'x'\n", "unknown field `comand`"),
        ("[versions.a]\n[benchmarks.b]\nsetup = 'x'\n", "no command for a"),
        ("[versions.a]\n[benchmarks.b]\ncommand='x'\ncommands={c='y'}\n", "c: no such version"),
        ('[benchmarks.b]\ncommands={c="y \'z"}\n', "benchmarks.b: .*No closing quotation"),
    ],
)
def test_wrong_suites_are_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "suite.toml"
    path.write_text(text)
    with pytest.raises(FormatError, match=message):
        read_suite(path)

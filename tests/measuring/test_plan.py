"""From what a user writes, a shell's own syntax in it, to what is executed."""

import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from speedproof.data.session_file import PlannedBenchmark, PlannedBuild, PlannedVersion
from speedproof.errors import FormatError, UsageError
from speedproof.measuring.plan import (
    Hooks,
    as_built,
    idle_parameters,
    leftover_placeholders,
    plan_calibration,
    plan_commands,
    read_plan,
    shell_syntax,
)


@pytest.mark.parametrize(("commands", "names", "parameters", "expected"), [
    (["a 'b c' d", ["x", "y z"]], ["old"], {}, {"old": ("a", "b c", "d"), "x 'y z'": ("x", "y z")}),
    # A list of words has placeholders, too; other braces stay.
    ([["x", "{n} y"], "z"], [], {"n": ["1"]}, {"x '{n} y'": ("x", "1 y"), "z": ("z",)}),
    (["awk '{print $1}' {file}"], ["f"], {"file": ["f"]}, {"f": ("awk", "{print $1}", "f")}),
    # The first parameter of one command makes versions.
    (["run-{version}"], [], {"version": ["a", "b"]}, {"version=a": ("run-a",), "version=b": ("run-b",)}),
    # The first number that is free, counted from 2; names count as taken.
    (["a"] * 3, [], {}, dict.fromkeys(["a", "a (2)", "a (3)"], ("a",))),
    (["a"] * 2, ["x", "y"], {}, dict.fromkeys(["x", "y"], ("a",))),
    (["a", "a", "a", "a"], ["a (2)"], {}, dict.fromkeys(["a (2)", "a", "a (3)", "a (4)"], ("a",))),
])  # fmt: skip
def test_versions_of_commands(
    commands: list[Any], names: list[str], parameters: dict[str, list[str]], expected: dict[str, Any]
) -> None:
    (benchmark,) = plan_commands(commands, names, parameters, Hooks())
    assert [(v.name, v.command) for v in benchmark.versions] == [*expected.items()]


def test_benchmarks_of_parameters() -> None:
    many = plan_commands(["x {n} {k}", "y {n} {k}"], [], {"n": ["1", "2"], "k": ["a", "b", "c"]}, Hooks())
    assert [b.name for b in many] == [f"command n={n} k={k}" for n in "12" for k in "abc"]
    (_, two) = plan_commands(["run-{v} {n}"], [], {"v": ["old", "new"], "n": ["1", "2"]}, Hooks())
    assert [v.command for v in two.versions] == [("run-old", "2"), ("run-new", "2")]
    (calibration,) = plan_calibration("true", Hooks())
    assert [v.name for v in calibration.versions] == ["A", "A again"]


@pytest.mark.parametrize(("commands", "names", "parameters", "message"), [
    ([], [], {}, "nothing to run"), (["a", "b"], ["x", "x"], {}, "same --name"),
    (["a"], ["x", "y"], {}, "2 names for 1 versions"),
    (["a 'b"], [], {}, "No closing quotation; quote it, or use shell="),
    (["a", ""], [], {}, "a command is empty"),
    (["a"], [], {"n": ["1"]}, r"no command has the placeholder \{n\}"),
    (["a {n}"], [], {"n": ["1", "2", "1"]}, "the parameter n has the value '1' twice"),
    (["a | b"], [], {}, r"'a \| b': only a shell knows what \| stands for; use shell=, or, .* write '\|'$"),
    (["a", "b && true"], [], {}, "what && stands for"),
    (["a {n}"], [], {"n": ["$HOME"]}, r"'a \$HOME': only a shell knows what \$HOME stands for"),
])  # fmt: skip
def test_wrong_requests_are_named(
    commands: list[str], names: list[str], parameters: dict[str, list[str]], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        plan_commands(commands, names, parameters, Hooks())


def test_words_after_dashes_and_a_shells_commands_are_free() -> None:
    for command, shell in ((["a", "|", "$HOME"], ""), ("a | b", "sh")):
        (benchmark,) = plan_commands([command], [], {}, Hooks(shell=shell))
        assert benchmark.versions[0].command[-1] in ("$HOME", "a | b")
    with pytest.raises(UsageError, match=r"what 2>&1 stands for"):
        plan_calibration("a 2>&1", Hooks())


@pytest.mark.parametrize(("text", "message"), [
    ("[benchmarks", "not TOML"), ("[versions.a]\n", "benchmarks: defines no benchmark"),
    ("x = 1\n[benchmarks.b]\n", "suite.toml: x: no such key; available: versions, benchmarks, shell"),
    ("benchmark = 1\n", "benchmark: no such key; did you mean 'benchmarks'"),
    ("benchmarks = 1\n", "benchmarks: must be a table of names and values, not 1"),
    ("[benchmarks]\nsort = 'x'\n", "benchmarks.sort: must be a table .*, not 'x'"),
    ("shell = true\n[benchmarks.b]\n", "shell: must be a text in quotes, not True"),
    ("[benchmarks]\n", "benchmarks: defines no benchmark"),
    ("[benchmarks.b]\ncommand = 'x'\n", "benchmarks.b: no versions"),
    ("[benchmarks.a]\ncommands={x='a'}\n[benchmarks.b]\ncomand = 'x'\n",
     "benchmarks.b.comand: no such key; did you mean 'command'"),
    ("[benchmarks.b]\ncommand = 3\n", "benchmarks.b.command: must be a text in quotes, not 3"),
    ("[benchmarks.b]\ncommands = {old = 3 }\n", "benchmarks.b.commands.old: must be a text"),
    ("[benchmarks.b]\nenv = {A = 3 }\n", "benchmarks.b.env.A: must be a text in quotes, not 3"),
    ("[versions.old]\njobs = 4\n[benchmarks.b]\n", "versions.old.jobs: must be a text in quotes, not 4"),
    ("[versions.old]\nenv = {A = 3 }\n[benchmarks.b]\n", "versions.old.env.A: must be a text"),
    ("[versions.old]\nbin = {A = '3' }\n[benchmarks.b]\n", "versions.old.bin: must be a text"),
    ("[benchmarks.b]\nparameters = {n = 10}\n",
     r"benchmarks.b.parameters.n: must be a list of values, such as \[10, 1000\], not 10"),
    ("[benchmarks.b]\nparameters = {n = [] }\n", "benchmarks.b.parameters.n: must be a list"),
    ("[benchmarks.b]\nparameters = 3\n", "benchmarks.b.parameters: must be a table"),
    ("[benchmarks.b]\nparameters = {n = [1, true]}\n",
     r"benchmarks.b.parameters.n\[1\]: must be a number or a text in quotes, not True"),
    ("[benchmarks.b]\nparameters = {n = [1, '1']}\n",
     "suite.toml: benchmarks.b: the parameter n has the value '1' twice"),
    ("[benchmarks.b]\ncommands = {old = 'a | b'}\n",
     "benchmarks.b: 'a | b': only a shell knows what . stands for; put shell = 'sh' before the first table"),
    ("[versions.a]\n[benchmarks.b]\nsetup = 'x'\n", "no command for a"),
    ("[versions.a]\n[benchmarks.b]\ncommand='x'\ncommands={c='y'}\n", "c: no such version"),
    ('[benchmarks.b]\ncommands={c="y \'z"}\n', "benchmarks.b: .*No closing quotation"),
    ("[benchmarks.caf\xe9]\n", "suite.toml: byte 16: not TOML, which is UTF-8"),
])  # fmt: skip
def test_wrong_suites_are_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "suite.toml"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(FormatError, match=message):
        read_plan(path)


def test_patterns_are_looked_for_where_the_command_runs(tmp_path: Path) -> None:
    path = tmp_path / "suite.toml"
    path.write_text("[benchmarks.'caf\u00e9']\ncommands = { old = 'sort *.in' }\n", encoding="utf-8")
    (plan,) = read_plan(path)
    assert (plan.name, plan.versions[0].command) == ("caf\u00e9", ("sort", "*.in"))
    (tmp_path / "a.in").touch()
    with pytest.raises(FormatError, match=r"what \*.in stands for"):
        read_plan(path)
    path.write_bytes(b"shell = 'sh'\n" + path.read_bytes())
    assert read_plan(path)[0].versions[0].command[-1] == "sort *.in"
    (tmp_path / "x").mkdir()
    plan_commands(["sort *.in"], [], {}, Hooks(cwd=str(tmp_path / "x")))
    (tmp_path / "x" / "a.in").touch()
    with pytest.raises(UsageError, match=r"what \*.in stands for"):
        plan_commands(["sort *.in"], ["x"], {}, Hooks(cwd=str(tmp_path / "{version}")))


def test_a_suite_in_several_trees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The trees are its versions, and each command runs where the suite lies in them."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    path = Path("sub/suite.toml")
    path.write_text("[benchmarks.c]\ncommand = 'x {n} {version}'\nparameters = {n = [1, 2]}\ncwd = 'in'\n")
    trees = {"v1": [PlannedBuild("/t/1", 0)], "v2": [PlannedBuild("/t/2", 0)]}
    assert [(b.name, [(v.name, v.text, v.cwd) for v in b.versions]) for b in read_plan(path, trees)] == [
        (f"c n={n}", [(f"v{i}", f"x {n} v{i}", f"/t/{i}/sub/in") for i in (1, 2)]) for n in (1, 2)
    ]
    for text, message in (
        ("[versions.a]\n[benchmarks.c]\ncommand = 'x'", "versions: revisions are the versions"),
        ("[benchmarks.c]\ncommands = {v1 = 'x', v2 = 'y'}", r"benchmarks\.c: .* of one 'command'"),
        ("[benchmarks.c]\ncommand = 'x'\nparameters = {n = [1, 1]}", r"benchmarks\.c: .*value '1' twice"),
    ):
        path.write_text(text)
        with pytest.raises(FormatError, match=message):
            read_plan(path, trees)


def test_a_version_as_built_has_its_folder_and_its_padding() -> None:
    version = PlannedVersion("v", ("x",), "x", {"A": "1", "SPEEDPROOF_PADDING": "y"}, "/elsewhere")
    for padding in (0, 1, 7):
        found = as_built(version, PlannedBuild("/b", padding))
        assert (found.cwd, found.env) == ("/b", {"A": "1", "SPEEDPROOF_PADDING": "x" * padding})
        assert found.command == version.command


def test_what_is_filled_in_each_at_its_place_and_what_is_left_over() -> None:
    plan = plan_commands(["x {n} {m} {a b}", "y {m} {k-1} {_}"], [], {"n": ["1"]}, Hooks())
    assert leftover_placeholders(plan) == {
        "m": "x 1 {m} {a b}", "k-1": "y {m} {k-1} {_}", "_": "y {m} {k-1} {_}",
    }  # fmt: skip
    hooks = Hooks("", "/{n}", {"A": "{n}"}, "s {n}", "p {n}", "c {n}", "l {version}")
    (benchmark,) = plan_commands(["x {n}"], ["v"], {"n": ["1"]}, hooks, benchmark="B")
    assert benchmark == PlannedBenchmark("B", benchmark.versions, {})
    assert benchmark.versions == (
        PlannedVersion("v", ("x", "1"), "x 1", {"A": "1"}, "/1", "s 1", "p 1", "c 1", "l v"),
    )


def test_parameters_that_change_nothing_are_found() -> None:
    """Used in the command, the environment or a hook it is used; n matters to x for k = a alone."""
    both = {"n": ["1", "2"], "k": ["a", "b"]}
    plan = plan_commands(["x {n} {k}", "y {n}", "z 1 a"], ["x", "y", "z"], both, Hooks())
    expected = {"n": ["z"], "k": ["y", "z"]}
    assert {name: list(found) for name, found in idle_parameters(plan).items()} == expected
    for values, hooks in (({"n": ["1", "2"]}, Hooks(env={"N": "{n}"})), ({"n": ["1"]}, Hooks())):
        assert idle_parameters(plan_commands(["x {n}", "y"], ["x", "y"], values, hooks)) == {}
    plan = plan_commands(["x {n} {k}", "y {n}"], ["x", "y"], both, Hooks())
    x = structs.replace(plan[0].versions[0], command=("x",), text="x")
    same = [structs.replace(b, versions=(x, b.versions[1])) if b.parameters["k"] == "b" else b for b in plan]
    assert {name: list(found) for name, found in idle_parameters(same).items()} == {"n": ["x"], "k": ["y"]}


@pytest.mark.parametrize("folder", ["", "sub"])
def test_a_suite_is_where_its_path_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    """Its commands run there; in the working directory they run where they are; an absolute path stays."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    path = Path(folder) / "suite.toml"
    path.write_text(
        "[versions.a]\nsize = '1'\n[versions.b]\ncwd = 'in'\nsize = '2'\nenv = {B = '{size}'}\n"
        "[benchmarks.c]\ncommand = 'x {size} {version}'\nenv = {A = '0', B = '0'}\n"
        "[benchmarks.d]\ncommands = {a = 'y {size}', b = 'z {size}'}\nparameters = {size = [7]}\n"
        "setup = 's'\nprepare = 'p'\nconclude = 'e'\ncleanup = 'l'\ncwd = '/tmp'\n"
    )
    c, d = read_plan(path)
    inside = str(Path(folder) / "in")
    assert c.versions == (
        PlannedVersion("a", ("x", "1", "a"), "x 1 a", {"A": "0", "B": "0"}, folder),
        PlannedVersion("b", ("x", "2", "b"), "x 2 b", {"A": "0", "B": "2"}, inside),
    )
    assert d.versions == (
        PlannedVersion("a", ("y", "7"), "y 7", {}, "/tmp", "s", "p", "e", "l"),
        PlannedVersion("b", ("z", "7"), "z 7", {"B": "7"}, inside, "s", "p", "e", "l"),
    )
    for text, told in (
        ("[versions.a]\n[benchmarks.c]\ncommand = 'x'\ncommands = {a = 'y', b = 'z', d = 'w'}\n",
         r"benchmarks\.c\.commands: b, d: no such version"),
        ("[versions.a]\n[versions.b]\n[benchmarks.c]\nsetup = 'x'\ncommands = {}\n",
         r"benchmarks\.c: no command for a, b"),
    ):  # fmt: skip
        path.write_text(text)
        with pytest.raises(FormatError, match=told):
            read_plan(path)


@given(st.lists(st.sampled_from([*"a2  '\"\\|&;<>$`~/*?=", "HOME"]), max_size=8))
def test_against_sh(parts: list[str]) -> None:
    """Where nothing is found, sh makes the same words of the text as splitting does.

    Substitutions inside double quotes are meant to pass, and the words of shlex keep a backslash there.
    """
    text = "x " + "".join(parts)
    try:
        words = shlex.split(text)
    except ValueError:
        return
    if shell_syntax(text, "/nowhere") or '"' in text:
        return
    asked = ["sh", "-fc", f"printf '%s\\0' {text}"]
    shell = subprocess.run(asked, capture_output=True, text=True, cwd="/", check=False)
    assert shell.returncode == 0, text
    assert shell.stdout.split("\0")[:-1] == words

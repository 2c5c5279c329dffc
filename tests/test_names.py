"""One word a thing, and one default: no two classes that other modules may use have one name."""

import ast
import io
import re
from collections import defaultdict
from collections.abc import Iterator
from inspect import isfunction, signature
from pathlib import Path
from pkgutil import resolve_name
from types import FunctionType

import pytest

from speedproof.cli.console import Console
from speedproof.cli.main import every_command, main
from speedproof.errors import FormatError, Parameter

SOURCE = Path(__file__).parents[1] / "src"


def test_no_two_classes_have_one_name() -> None:
    """But for those that are private to their module."""
    places: dict[str, list[str]] = defaultdict(list)
    for path in SOURCE.rglob("*.py"):
        for name in re.findall(r"^class ([A-Za-z]\w*)", path.read_text(encoding="utf-8"), re.MULTILINE):
            places[name].append(str(path.relative_to(SOURCE)))
    assert not {name: found for name, found in places.items() if len(found) > 1}


def nodes(*parts: str) -> Iterator[tuple[str, ast.AST]]:
    """All nodes of the modules in some folders of the package, with the module's place."""
    root = SOURCE / "speedproof"
    for part in parts:
        for path in (root / part).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                yield path.relative_to(root).as_posix(), node


def test_tests_bind_public_names() -> None:
    """None imports, reads or patches what begins with an underscore in the package."""
    defined = re.compile(r"^ *(?:def |class )?(_[A-Za-z]\w*[A-Za-z0-9])(?:\(|:| =|, _)", re.MULTILINE)
    private = {n for path in SOURCE.rglob("*.py") for n in defined.findall(path.read_text(encoding="utf-8"))}
    bound = set()
    for path in Path(__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.ImportFrom():
                    bound |= {(path.name, alias.name) for alias in node.names}
                case ast.Attribute(value=ast.Name(id="self")):
                    pass
                case ast.Attribute(attr=name):
                    bound.add((path.name, name))
                case ast.Call(func=ast.Attribute(attr="setattr"), args=args):
                    texts = [arg.value for arg in args if isinstance(arg, ast.Constant)]
                    bound |= {(path.name, str(text).rpartition(".")[2]) for text in texts}
    assert private
    assert not {(path, name) for path, name in bound if name in private}


def test_what_the_command_line_uses_can_be_called_from_python() -> None:
    """What its modules import of the face are documented functions, types and constants without underscores."""
    imports = [node for _, node in nodes("cli") if isinstance(node, ast.ImportFrom)]
    used = [node for node in imports if (node.module or "").startswith("speedproof.api")]
    found = {f"{node.module}.{alias.name}" for node in used for alias in node.names}
    assert found
    for name in sorted(found):
        value = resolve_name(name)
        assert "._" not in name
        assert not isinstance(value, type | FunctionType) or value.__doc__, name


@pytest.mark.slow
def test_what_a_text_tells_to_change_is_an_argument_and_an_option() -> None:
    """Every parameter that an error or a remark names can be given, in Python and on the command line."""
    import speedproof as sp

    public = [getattr(sp, name) for name in sp.__all__]
    public += [value for kind in public if isinstance(kind, type) for value in vars(kind).values()]
    functions = [getattr(f, "__func__", f) for f in public]
    arguments = {name for f in filter(isfunction, functions) for name in signature(f).parameters}
    options = {p.name for command in every_command().values() for p in command.params}
    named, written = set(), set()
    for _, node in nodes("."):
        if not (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Parameter"
        ):
            continue
        if isinstance(node.args[0], ast.Constant):  # else it is named where that comes from
            words = [ast.unparse(given).removeprefix("f'").strip("'\"") for given in node.args]
            named.add(words[0])
            written.add(words[2].split()[0] if len(words) > 2 else words[0])
    assert named
    assert named <= arguments
    assert written <= options


def test_an_error_names_arguments_in_python_and_options_on_the_command_line() -> None:
    """Flags have no value there, and every other part of the text is the same."""
    parts = ("give ", Parameter("save"), " or ", Parameter("ignore_failure", True), ", not ")
    error = FormatError("a.json", "", *parts, Parameter("max_runs", 3))
    assert str(error) == "a.json: give save= or ignore_failure=True, not max_runs=3"
    column = Parameter("columns", {"value": "t"}, "column value=t")
    assert f"{column}" == "columns={'value': 't'}"
    assert error.on_command_line() == "a.json: give --save or --ignore-failure, not --max-runs 3"
    assert column.option == "--column value=t"


# What only the command line can ask, other tools' options of the same name, and Python's own help on a command.
_COMMAND_LINE = ("measuring/", "api/run_", "api/session_results.py", "api/measurement.py")
_OF_OTHERS = (
    r"speedproof |compare --|of ``|git |asv |rebench |hyperfine |pytest |--benchmark|--export-json|--format=|"
    "list of formats"
)


@pytest.mark.slow
def test_what_python_meets_names_no_option() -> None:
    """No text in the modules below the command line is written for one of both readers alone."""
    params = [p for command in every_command().values() for p in command.params]
    options = {o for p in params for o in p.opts if o.startswith("--")}
    found = set()
    below = (
        "data",
        "formats",
        "stats",
        "protocols",
        "conclude",
        "mixture",
        "history",
        "corpus",
        "measuring",
        "api",
    )
    for place, node in nodes(*below):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and not place.startswith(_COMMAND_LINE)
        ):
            named = re.findall(r"(?<![\w-])--[a-z][a-z-]+", node.value)
            if options & set(named) and not re.search(_OF_OTHERS, node.value):
                found.add(f"{place}: {node.value}")
    assert not found


def test_a_remark_is_the_same_for_every_reader(tmp_path: Path) -> None:
    """On what is pooled, left out and chosen: neither an argument of Python nor an option."""
    import speedproof as sp

    table = tmp_path / "a.csv"
    table.write_text(
        "name,version,time_ms,time_s,note\n"
        + "".join(f"b,{v},{v},2,{v + k}\n" for v in (1, 2) for k in (0, 1))
    )
    runs = tmp_path / "b.csv"
    runs.write_text("name,r1,r2,r3\nsort,1,2,3\n")
    said = io.StringIO()
    assert main(["compare", str(table), str(runs)], Console(said, said)) in (0, 2)
    in_python, on_line = " ".join(sp.remarks(sp.read(table, runs))), " ".join(said.getvalue().split())
    for remark in ("(choose one as column value=NAME)", "if they are versions, say so: wide by version"):
        assert remark in in_python
        assert remark in on_line


# `alpha_at` is the way from one to the other; r of Hierarchical Performance Testing is a confidence by definition.
_CONFIDENCE = {"stats/estimate.py: alpha_at", "protocols/hpt_speedup.py: solve"}


def test_below_the_options_a_risk_is_alpha() -> None:
    """No function of statistics, mixtures, protocols or corpora is asked for a confidence."""
    found = {
        f"{place}: {node.name}"
        for place, node in nodes("stats", "mixture", "protocols", "conclude", "corpus")
        if isinstance(node, ast.FunctionDef)
        and any(
            a.arg == "confidence" for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
        )
    }
    assert found == _CONFIDENCE

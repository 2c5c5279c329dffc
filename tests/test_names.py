"""One word a thing: no two classes that other modules may use have one name."""

from __future__ import annotations

import ast
from collections import defaultdict
from importlib import import_module
from inspect import isroutine, signature
from pathlib import Path
from types import FunctionType

from speedproof.cli.main import COMMANDS, command
from speedproof.errors import FormatError, Parameter

SOURCE = Path(__file__).parents[1] / "src"


def test_no_two_classes_have_one_name() -> None:
    """But for those that are private to their module."""
    places: dict[str, list[str]] = defaultdict(list)
    for path in SOURCE.rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(path.relative_to(SOURCE)))
    assert not {name: found for name, found in places.items() if len(found) > 1}


def test_what_the_command_line_uses_can_be_called_from_python() -> None:
    """What its modules import of the face are documented functions, types and constants without underscores."""
    found = set()
    for path in (SOURCE / "speedproof" / "cli").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("speedproof.api"):
                found |= {(node.module or "", alias.name) for alias in node.names}
    assert found
    for module, name in sorted(found):
        value = getattr(import_module(module), name)
        assert "._" not in f"{module}.{name}"
        assert not isinstance(value, type | FunctionType) or value.__doc__, name


def test_what_an_error_tells_to_change_is_an_argument_and_an_option() -> None:
    """Every parameter that an error names can be given, in Python and on the command line."""
    import speedproof as sp

    functions = filter(isroutine, (getattr(sp, name) for name in sp.__all__))
    arguments = {name for f in functions for name in signature(f).parameters}
    options = {p.name for name in COMMANDS for p in command(name).params}
    named, written = set(), set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Parameter":
                name, option = (
                    ast.unparse(node.args[k]).strip("f'\"") for k in (0, min(2, len(node.args) - 1))
                )
                named.add(name)
                written.add(option.split()[0] if len(node.args) > 2 else name)
    assert named
    assert named <= arguments
    assert written <= options


def test_an_error_names_arguments_in_python_and_options_on_the_command_line() -> None:
    """Flags have no value there, and every other part of the text is the same."""
    parts = ("give ", Parameter("save"), " or ", Parameter("ignore_failure", True), ", not ")
    error = FormatError("a.json", "", *parts, Parameter("max_runs", 3))
    assert str(error) == "a.json: give save= or ignore_failure=True, not max_runs=3"
    assert error.on_command_line() == "a.json: give --save or --ignore-failure, not --max-runs 3"
    column = Parameter("columns", {"value": "t"}, "column value=t")
    assert (str(column), column.option) == ("columns={'value': 't'}", "--column value=t")


# `alpha_at` is the way from one to the other; r of Hierarchical Performance Testing is a confidence by definition.
_CONFIDENCE = {"stats/estimate.py: alpha_at", "protocols/hpt_speedup.py: solve"}


def test_below_the_options_a_risk_is_alpha() -> None:
    """No function of statistics, mixtures, protocols or corpora is asked for a confidence."""
    root, found = SOURCE / "speedproof", set()
    for part in ("stats", "mixture", "protocols", "corpus"):
        for path in (root / part).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.FunctionDef):
                    names = {a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)}
                    if "confidence" in names:
                        found.add(f"{path.relative_to(root).as_posix()}: {node.name}")
    assert found == _CONFIDENCE

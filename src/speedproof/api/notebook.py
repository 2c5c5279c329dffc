"""The magics ``%speedproof`` and ``%%speedproof``: pieces of code raced against each other."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Callable
from typing import Any

from speedproof.api.sessions import RaceResult, race
from speedproof.errors import UsageError

_SEPARATOR = re.compile(r"^(?:#[ \t]*)?---+[ \t]*(.*?)[ \t]*$", re.MULTILINE)
_OPTIONS = ("confidence", "margin", "max_seconds", "precision")
_LEADING = re.compile(rf"\s*(?:-*(?:{'|'.join(_OPTIONS).replace('_', '[_-]')})=\S+\s+)*")


def race_line(line: str, namespace: dict[str, Any]) -> RaceResult:
    """Race the pieces of a line, which ``---`` separates, behind the options."""
    first = _LEADING.match(line)
    options = first[0] if first else ""
    return race_cell(options, line[len(options) :].replace(" --- ", "\n---\n"), namespace)


def race_cell(line: str, cell: str, namespace: dict[str, Any]) -> RaceResult:
    r"""Race the pieces of a cell, which lines of dashes separate; a name may follow the dashes."""
    options: dict[str, Any] = {}
    for word in line.split():
        name, equals, value = word.partition("=")
        name = name.lstrip("-").replace("-", "_")
        if not equals or name not in _OPTIONS:
            known = ", ".join(f"{n}=..." for n in _OPTIONS)
            raise UsageError(f"%%speedproof {word}: the options are {known}")
        options[name] = _seconds(word, value) if name == "max_seconds" else value
    first, *rest = _SEPARATOR.split(cell)
    named = [("reference", first), *zip(rest[::2], rest[1::2], strict=True)]
    pieces = [(name or f"candidate {i}" if i > 1 or len(named) > 2 else name or "candidate", code)
              for i, (name, code) in enumerate(named)]  # fmt: skip
    pieces = [(name, code) for name, code in pieces if code.strip()]
    if len(pieces) < 2:
        raise UsageError("%%speedproof races pieces of code: separate them by a line '---'")
    functions = [_function(name, code, namespace) for name, code in pieces]
    return race(functions[0], *functions[1:], names=[name for name, _ in pieces], **options)


def _seconds(word: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise UsageError(f"%%speedproof {word}: expected a number of seconds") from None


def _function(name: str, code: str, namespace: dict[str, Any]) -> Callable[[], object]:
    """The code as a function whose globals are the notebook's."""
    local: dict[str, Any] = {}
    whole = ast.parse("def piece(): pass")
    [function] = whole.body
    assert isinstance(function, ast.FunctionDef)
    # As a tree: indented as text, a string of several lines would be another one.
    function.body = ast.parse(textwrap.dedent(code), f"<{name}>").body + function.body
    exec(compile(whole, f"<{name}>", "exec"), namespace, local)
    piece: Callable[[], object] = local["piece"]
    return piece


def load(shell: Any) -> None:
    """Register both: what ``%load_ext speedproof`` does."""

    def speedproof(line: str, cell: str | None = None) -> RaceResult:
        """Race pieces of code until one is proven faster: ``%speedproof f() --- g()``, in a cell lines '---'."""
        return race_line(line, shell.user_ns) if cell is None else race_cell(line, cell, shell.user_ns)

    shell.register_magic_function(speedproof, "line_cell")

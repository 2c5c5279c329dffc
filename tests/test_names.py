"""One word a thing: no two classes that other modules may use have one name."""

from __future__ import annotations

import ast
from collections import defaultdict
from importlib import import_module
from pathlib import Path
from types import FunctionType

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

"""Which tests execute which lines: one run of the tests, each line told once a test by the interpreter (3.12)."""

from __future__ import annotations

import ast
import contextlib
import difflib
import gc
import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

_TOOL = 4  # a number that neither debuggers nor coverage take
_FEW = 5  # places of a line that was moved, not of one that is everywhere


def codes(code: CodeType) -> Iterator[CodeType]:
    """A function's code, and that of the functions and comprehensions inside of it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


def import_all(package: Path) -> None:
    """Import every module of the package that can be: what a test imports later is not seen."""
    for path in package.rglob("[!_]*.py"):
        with contextlib.suppress(ImportError):
            importlib.import_module(
                ".".join(("speedproof", *path.relative_to(package).with_suffix("").parts))
            )


class Recorder:
    """A plug-in for pytest: times the tests and notes the lines that each executes."""

    def __init__(self, package: Path) -> None:
        self.package = package
        self.monitoring: Any = getattr(sys, "monitoring", None)
        if self.monitoring is None:
            raise SystemExit("recording needs Python 3.12 or newer")
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()
        self.found: dict[str, set[tuple[str, int]]] = {}
        self.now: set[tuple[str, int]] = set()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Watch every function of the package."""
        import_all(self.package)
        monitoring = self.monitoring
        monitoring.use_tool_id(_TOOL, "speedproof")
        monitoring.register_callback(_TOOL, monitoring.events.LINE, self._line)
        prefix = str(self.package)
        gc.unfreeze()  # the tests' own conftest hides what they imported
        for one in gc.get_objects():
            if isinstance(one, FunctionType) and one.__code__.co_filename.startswith(prefix):
                for code in codes(one.__code__):
                    monitoring.set_local_events(_TOOL, code, monitoring.events.LINE)

    def _line(self, code: CodeType, line: int) -> Any:
        self.now.add((code.co_filename, line))
        return self.monitoring.DISABLE  # until the next test

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[Any]:
        """Begin anew."""
        self.now = self.found[item.nodeid] = set()
        self.monitoring.restart_events()
        return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add up set-up, call and tear-down."""
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration
        if not report.passed:
            self.failed.add(report.nodeid)

    def write(self, target: Path) -> None:
        """Write seconds by test, and the tests by module and line; failed and skipped ones are left out."""
        tests = [test for test in self.seconds if test not in self.failed]
        lines: dict[str, dict[int, list[int]]] = {}
        for number, test in enumerate(tests):
            for file, line in self.found.get(test, ()):
                lines.setdefault(file, {}).setdefault(line, []).append(number)
        seconds = [round(self.seconds[test], 4) for test in tests]
        modules = {Path(file).relative_to(self.package).as_posix(): found for file, found in lines.items()}
        texts = {module: (self.package / module).read_text(encoding="utf-8") for module in modules}
        told = {"tests": tests, "seconds": seconds, "lines": modules, "texts": texts}
        target.write_text(json.dumps(told), encoding="utf-8")


def _moves(before: str, now: str) -> Iterator[tuple[int, int]]:
    """Where each line of a text has gone since; a changed block is all of the old one and the lines around it."""
    lines = before.splitlines(), now.splitlines()
    for _, i, k, j, m in difflib.SequenceMatcher(None, *lines, autojunk=False).get_opcodes():
        same = lines[0][i:k] == lines[1][j:m]
        for new in range(j, m):
            for old in [i + new - j] if same else range(i - 1, k + 1):
                yield old + 1, new + 1


def _by_text(texts: dict[str, str]) -> dict[str, list[tuple[str, str]]]:
    """By what stands in a line, the modules and lines where it does."""
    found: dict[str, list[tuple[str, str]]] = {}
    for module, text in texts.items():
        for number, line in enumerate(text.splitlines(), 1):
            found.setdefault(line.strip(), []).append((module, str(number)))
    return found


class Recorded:
    """What was recorded, over several files of it; of tests that are not in it, what imports say."""

    def __init__(self, paths: list[Path], package: Path) -> None:
        self.package = package
        self.found = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
        self.seconds: dict[str, float] = {}
        self.steps: dict[str, dict[str, int]] = {}
        self.known: dict[str, dict[int, set[str]]] = {}
        self.alike = [_by_text(found["texts"]) for found in self.found]
        for found in self.found:
            self.seconds.update(zip(found["tests"], found["seconds"], strict=True))

    def lines(self, module: str) -> dict[int, set[str]]:
        """Return the tests that execute a line of a module, by line; of a new one, those of its like anywhere."""
        if module in self.known:
            return self.known[module]
        lines = self.known[module] = {}
        now = (self.package / module).read_text(encoding="utf-8")
        for found, alike in zip(self.found, self.alike, strict=True):
            tests, before = found["tests"], found["texts"].get(module, "")
            places = [(module, str(old), new) for old, new in _moves(before, now)]
            for new in {*now.splitlines()} - {*before.splitlines()}:
                if len(likes := alike.get(new.strip(), [])) < _FEW:
                    at = now.splitlines().index(new) + 1
                    places += [(other, line, at) for other, line in likes]
            for other, line, at in places:
                told = found["lines"].get(other, {}).get(line, ())
                lines.setdefault(at, set()).update(tests[n] for n in told)
        return lines

    def of(self, module: str, first: int, last: int) -> set[str]:
        """Return the tests that execute any of some lines of a module, or may do so."""
        told = (self.lines(module).get(line, ()) for line in range(first, last + 1))
        return self._guessed(module).union(*told)

    def of_module(self, module: str) -> set[str]:
        """Return the tests that execute anything of a module, or may do so."""
        return self._guessed(module).union(*self.lines(module).values())

    def _guessed(self, module: str) -> set[str]:
        return {test for test, steps in self.steps.items() if module in steps}

    def near(self, test: str, module: str) -> tuple[bool, int]:
        """Order the tests of a module: its own file first, then by steps of importing from the test to it."""
        part, _, name = module.removesuffix(".py").rpartition("/")
        steps = self.steps.get(test, {}).get(module, int(not test.startswith(f"tests/{part}/")))
        return not test.startswith(f"tests/{part}/test_{name}"), steps

    def guess(self, items: list[pytest.Item]) -> None:
        """Tests without a record execute what their file imports, and what that imports, with less chance."""
        graph = {
            path.relative_to(self.package).as_posix(): self._imports(path)
            for path in self.package.rglob("*.py")
        }
        known: dict[Path, dict[str, int]] = {}
        for item in items:
            if item.path not in known:
                steps = dict.fromkeys(self._imports(item.path), 0)
                queue = list(steps)
                for module in queue:
                    for below in graph[module] - steps.keys():
                        steps[below] = steps[module] + 1
                        queue.append(below)
                known[item.path] = steps
            self.steps[item.nodeid] = known[item.path]
            self.seconds[item.nodeid] = 1.0

    def _imports(self, path: Path) -> set[str]:
        """The modules of the package that a file imports by name."""
        found = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import) and any(alias.name == "speedproof" for alias in node.names):
                found |= {f"api/{one.name}" for one in (self.package / "api").glob("[!_]*.py")}
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("speedproof"):
                stem = "/".join((node.module or "").split(".")[1:])
                names = [stem, *(f"{stem}/{alias.name}".strip("/") for alias in node.names)]
                found |= {f"{name}.py" for name in names if name and (self.package / f"{name}.py").is_file()}
        return found

"""Which small errors the tests would let pass: mutants of statistics and protocols.

``python studies/mutants.py [share] [seed]`` changes one operator, bound or number at a time in a copy of the
sources, runs the tests of that module, and prints what survives. A share of all is drawn, by default one in
twenty: all of them take hours. Equivalent mutants exist; a survivor is a question, not a verdict.
"""

from __future__ import annotations

import ast
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "speedproof"
TESTS = {
    "stats/ratio.py": ["tests/stats/test_ratio_tests.py", "tests/stats/test_bounds.py"],
    "stats/ratio_means.py": ["tests/stats/test_ratio_tests.py", "tests/stats/test_bounds.py"],
    "stats/ratio_medians.py": ["tests/stats/test_ratio_tests.py", "tests/stats/test_bounds.py"],
    "stats/pair_ratios.py": ["tests/stats/test_pair_ratios.py"],
    "stats/ranks.py": ["tests/stats/test_rank_and_t_tests.py", "tests/stats/test_tests_against_r.py"],
    "stats/ttests.py": ["tests/stats/test_rank_and_t_tests.py", "tests/stats/test_tests_against_r.py"],
    "stats/dependence.py": ["tests/stats/test_dependence.py"],
    "stats/multiplicity.py": ["tests/stats/test_multiplicity.py"],
    "stats/power.py": ["tests/stats/test_power.py"],
    "protocols/figures.py": ["tests/protocols/test_compare.py", "tests/protocols/test_aggregates.py"],
    "protocols/mean.py": ["tests/protocols/test_speedup_test.py", "tests/protocols/test_compare.py"],
    "protocols/median.py": ["tests/protocols/test_speedup_test.py", "tests/protocols/test_compare.py"],
    "protocols/confidence.py": ["tests/protocols/test_speedup_test.py"],
    "protocols/multiplicity.py": ["tests/protocols/test_aggregates.py"],
    "protocols/gate.py": ["tests/protocols/test_gate.py"],
    "protocols/gate_claims.py": ["tests/protocols/test_gate.py"],
}
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.Is: ast.IsNot,
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
NAMES = {
    "min": "max",
    "max": "min",
    "minimum": "maximum",
    "maximum": "minimum",
    "low": "high",
    "above": "below",
}


def mutate(tree: ast.Module, at: int) -> str:
    """Change the at-th place that can be changed; the name of the change, empty beyond the last."""
    seen = -1
    for node in ast.walk(tree):
        for change in changes(node):
            seen += 1
            if seen == at:
                return f"line {getattr(node, 'lineno', 0)}: {change()}"
    return ""


def changes(node: ast.AST) -> Iterator[Callable[[], str]]:
    """What can be changed of a node, as functions that do it and say what they did."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
        yield lambda: _swap(node.ops, 0, COMPARISONS[type(node.ops[0])]())
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        yield lambda: _set(node, "op", OPERATORS[type(node.op)]())
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield lambda: _set(node, "value", node.value + 1)  # type: ignore[operator]
    if isinstance(node, ast.Attribute | ast.Name):
        name = "attr" if isinstance(node, ast.Attribute) else "id"
        if getattr(node, name) in NAMES and isinstance(node.ctx, ast.Load):
            yield lambda: _set(node, name, NAMES[getattr(node, name)])


def _swap(operators: list[ast.cmpop], at: int, new: ast.cmpop) -> str:
    old, operators[at] = operators[at], new
    return f"{type(old).__name__} -> {type(new).__name__}"


def _set(node: ast.AST, name: str, new: object) -> str:
    old = getattr(node, name)
    setattr(node, name, new)
    told = [v if isinstance(v, int | float | str) else type(v).__name__ for v in (old, new)]
    return f"{told[0]} -> {told[1]}"


def survives(module: str, source: str, tests: list[str]) -> bool:
    """Whether the tests pass with another source of one module."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "speedproof"
        shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
        (copy / module).write_text(source, encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
        environment = {"PYTHONPATH": folder, "PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            done = subprocess.run(
                command, cwd=ROOT, env=environment, capture_output=True, timeout=900, check=False
            )
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0


def main() -> None:
    """Draw mutants, run them, print survivors and the share that was killed."""
    share = float(sys.argv[1]) if len(sys.argv) > 1 else 0.05
    draw = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    killed = made = 0
    for module, tests in TESTS.items():
        text = (PACKAGE / module).read_text(encoding="utf-8")
        at = 0
        while True:
            tree = ast.parse(text)
            what = mutate(tree, at)
            if not what:
                break
            at += 1
            if draw.random() >= share:
                continue
            made += 1
            if survives(module, ast.unparse(tree), tests):
                print(f"survived: {module} {what}", flush=True)
            else:
                killed += 1
    print(f"{killed} of {made} mutants were killed")


if __name__ == "__main__":
    main()

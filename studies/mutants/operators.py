"""What is changed: one operator, bound, number, name or condition at a time, as edits of the text."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}
OPERATORS: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"),
    ast.Pow: ("**", "*"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
}
_PAIRS = [
    "min max",
    "minimum maximum",
    "amin amax",
    "argmin argmax",
    "any all",
    "floor ceil",
    "lower upper",
    "low high",
    "below above",
    "less greater",
    "left right",
    "first second",
    "first last",
    "reference candidate",
    "faster slower",
    "mean median",
    "x y",
]
SWAPS: dict[str, str] = {}
for _pair in _PAIRS:
    _one, _other = _pair.split()
    SWAPS.setdefault(_one, _other)
    SWAPS.setdefault(_other, _one)


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of one module: the characters from ``start`` to ``end`` become ``new``."""

    module: str
    line: int
    function: str  # whose body it changes; empty: what runs at import
    start: int
    end: int
    new: str
    what: str

    @property
    def name(self) -> str:
        """The module, the function and the change: the same wherever the line moves to."""
        return f"{self.module} {self.function}: {self.what}"

    def apply(self, text: str) -> str:
        """Return the module's text with the change."""
        return text[: self.start] + self.new + text[self.end :]


def mutants(module: str, text: str) -> list[Mutant]:
    """All mutants of a module, in the order of its text."""
    return _Finder(module, text).run()


class _Finder:
    def __init__(self, module: str, text: str) -> None:
        self.module, self.text = module, text
        self.tree = ast.parse(text)
        self.found: list[Mutant] = []
        self.attributes = {node.attr for node in ast.walk(self.tree) if isinstance(node, ast.Attribute)}
        # ast counts columns in bytes of UTF-8.
        self.lines = text.splitlines(keepends=True)
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))

    def run(self) -> list[Mutant]:
        for node in self.tree.body:
            self._visit(node, "", set())
        return sorted(self.found, key=lambda one: (one.start, one.end, one.new))

    def _at(self, line: int, column: int) -> int:
        return self.starts[line - 1] + len(self.lines[line - 1].encode()[:column].decode())

    def _span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._at(node.lineno, node.col_offset), self._at(node.end_lineno, node.end_col_offset)

    def _source(self, node: ast.expr | ast.stmt) -> str:
        start, end = self._span(node)
        return self.text[start:end]

    def _visit(self, node: ast.AST, function: str, bound: set[str], scope: str = "") -> None:
        """Note the changes of a node and of what is below it."""
        match node:
            case ast.Import() | ast.ImportFrom() | ast.Assert() | ast.JoinedStr():
                return  # places inside of f-strings are wrong before Python 3.12
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                return
            case ast.Expr(value=ast.Constant()):
                return
            case ast.Assign(targets=[ast.Name(id="__all__")]):
                return
            case ast.FunctionDef():
                name = scope + node.name
                # What a nested function has as defaults runs in the outer one's body.
                for default in (*node.args.defaults, *(d for d in node.args.kw_defaults if d)):
                    self._visit(default, function, bound)
                inner = bound | {arg.arg for arg in ast.walk(node.args) if isinstance(arg, ast.arg)}
                inner |= {
                    n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
                }
                for statement in node.body:
                    self._visit(statement, function or name, inner, f"{name}.<locals>.")
                return
            case ast.ClassDef():
                for statement in node.body:
                    self._visit(statement, function, bound, f"{scope}{node.name}.")
                return
            case ast.AnnAssign():
                if node.value is not None:
                    self._visit(node.value, function, bound, scope)
                return
        for start, end, new in self._changes(node, bound):
            line = self.text.count("\n", 0, start) + 1
            first, last = self.text.rfind("\n", 0, start) + 1, (self.text + "\n").find("\n", end)
            before, after = self.text[first:last], self.text[first:start] + new + self.text[end:last]
            what = " => ".join(" ".join(text.split()) for text in (before, after))
            self.found.append(Mutant(self.module, line, function, start, end, new, what))
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.arguments) or isinstance(node, ast.Lambda):
                self._visit(child, function, bound, scope)

    def _changes(self, node: ast.AST, bound: set[str]) -> Iterator[tuple[int, int, str]]:
        match node:
            case ast.Compare():
                sides = [node.left, *node.comparators]
                for at, operator in enumerate(node.ops):
                    yield self._between(sides[at], sides[at + 1], *COMPARISONS[type(operator)])
            case ast.BinOp() if type(node.op) in OPERATORS and not self._is_text(node):
                yield self._between(node.left, node.right, *OPERATORS[type(node.op)])
            case ast.BoolOp():
                old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
                for left, right in zip(node.values, node.values[1:], strict=False):
                    yield self._between(left, right, old, new)
            case ast.AugAssign() if type(node.op) in OPERATORS:
                old, new = OPERATORS[type(node.op)]
                yield self._between(node.target, node.value, f"{old}=", f"{new}=")
            case ast.UnaryOp(op=ast.Not() | ast.USub()):
                start, end = self._span(node)
                yield start, end, f"({self._source(node.operand)})"
            case ast.Constant(value=bool() as told):
                yield (*self._span(node), str(not told))
            case ast.Constant(value=int() | float() as number):
                for value in (number + 1, number - 1):
                    if value != number:
                        yield (*self._span(node), f"({value})" if value < 0 else str(value))
            case ast.Constant(value=str() as word) if word in SWAPS:
                yield (*self._span(node), f'"{SWAPS[word]}"')
            case ast.Name(ctx=ast.Load()) if node.id in SWAPS:
                new = SWAPS[node.id]
                if new in bound or new in ("min", "max", "any", "all"):
                    yield (*self._span(node), new)
            case ast.Attribute(ctx=ast.Load()) if node.attr in SWAPS:
                new = SWAPS[node.attr]
                numpy = isinstance(node.value, ast.Name) and node.value.id == "np"
                if numpy or new in self.attributes:
                    end = self._span(node)[1]
                    yield end - len(node.attr), end, new
            case ast.Call(args=[one, other, *_]):
                symmetric = (
                    node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
                )
                if symmetric not in SWAPS and not any(isinstance(a, ast.Starred) for a in (one, other)):
                    first, second = self._source(one), self._source(other)
                    start, end = self._span(one)[0], self._span(other)[1]
                    middle = self.text[self._span(one)[1] : self._span(other)[0]]
                    if first != second and "#" not in middle:
                        yield start, end, second + middle + first
            case ast.If() | ast.While() | ast.IfExp():
                yield self._negated(node.test)
                if isinstance(node, ast.If) and isinstance(
                    node.body[-1], ast.Return | ast.Raise | ast.Continue
                ):
                    yield (*self._span(node.test), "False")
            case ast.comprehension():
                for test in node.ifs:
                    yield self._negated(test)
            case ast.Continue():
                yield (*self._span(node), "break")
            case ast.Break():
                yield (*self._span(node), "continue")
            case ast.Expr(value=ast.Call()):
                yield (*self._span(node), "pass")

    def _negated(self, test: ast.expr) -> tuple[int, int, str]:
        return (*self._span(test), f"(not ({self._source(test)}))")

    def _between(self, left: ast.expr, right: ast.expr, old: str, new: str) -> tuple[int, int, str]:
        """Exchange the operator between two operands."""
        start, end = self._span(left)[1], self._span(right)[0]
        pattern = r"\s+".join(map(re.escape, old.split()))
        pattern = rf"\b{pattern}\b" if old[0].isalpha() else pattern
        found = re.search(pattern, self.text[start:end])
        assert found is not None, self.text[start:end]
        return start + found.start(), start + found.end(), new

    @staticmethod
    def _is_text(node: ast.BinOp) -> bool:
        """Whether an operand is a text: joined or formatted, no arithmetic."""
        values = [side.value for side in (node.left, node.right) if isinstance(side, ast.Constant)]
        return any(isinstance(value, str | bytes) for value in values) or any(
            isinstance(side, ast.JoinedStr) for side in (node.left, node.right)
        )


def all_mutants(package: Path, parts: list[str]) -> list[Mutant]:
    """Every mutant of every module of some folders of the package."""
    modules = [path for part in parts for path in sorted((package / part).rglob("*.py"))]
    return [
        one
        for path in modules
        for one in mutants(path.relative_to(package).as_posix(), path.read_text(encoding="utf-8"))
    ]

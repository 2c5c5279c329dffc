"""Every command and every Python example in the README and the manual is run, and its output compared."""

import ast
import doctest
import io
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

import speedproof as sp
from speedproof.cli.console import Console
from speedproof.cli.main import main

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
BLOCK = re.compile(r"^```(console|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(kind: str) -> Iterator[tuple[str, int, str]]:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for match in BLOCK.finditer(text):
            if match[1] == kind:
                yield str(page.relative_to(ROOT)), text.count("\n", 0, match.start()) + 1, match[2]


@pytest.mark.parametrize(("page", "line", "block"), list(blocks("console")), ids=lambda v: str(v)[:40])
def test_commands(page: str, line: int, block: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A console block runs from the repository's root; its output is what the page shows ("..." for anything)."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "80")
    before, *parts = re.split(r"^\$ ", block, flags=re.MULTILINE)
    assert before.strip() == "", "a console block begins with a command"
    for command, _, expected in (part.partition("\n") for part in parts):
        program, *arguments = shlex.split(command, comments=True)
        assert program == "speedproof", f"{page}:{line}: only speedproof is run here, not {program}"
        out = io.StringIO()
        main(arguments, Console(out, out))
        found = out.getvalue()
        assert doctest.OutputChecker().check_output(expected, found, FLAGS), (
            f"{page}:{line}: {command}\nexpected:\n{expected}\nfound:\n{found}"
        )


@pytest.mark.parametrize(("page", "line", "block"), list(blocks("python")), ids=lambda v: str(v)[:40])
def test_examples(page: str, line: int, block: str) -> None:
    """A Python block with prompts is a doctest."""
    test = doctest.DocTestParser().get_doctest(block, {}, page, page, line)
    report = io.StringIO()
    doctest.DocTestRunner(optionflags=FLAGS).run(test, out=report.write)
    assert report.getvalue() == ""


@pytest.mark.slow
def test_the_notebook_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cell by cell, and what a cell ends with can be shown."""
    pytest.importorskip("matplotlib").use("agg")
    monkeypatch.chdir(ROOT / "docs")
    text = Path("python.md").read_text(encoding="utf-8")
    names: dict[str, object] = {}
    cells = re.findall(r"^```{code-cell} python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert len(cells) > 10
    for cell in cells:
        *body, last = ast.parse(cell).body
        if isinstance(last, ast.Expr):
            exec(compile(ast.Module(body, []), "cell", "exec"), names)
            assert repr(eval(compile(ast.Expression(last.value), "cell", "eval"), names))
        else:
            exec(compile(cell, "cell", "exec"), names)


def anchors(page: Path) -> set[str]:
    """What a page's headings are called in links."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_links_between_pages_lead_somewhere() -> None:
    """Relative links name files that exist, and headings of their pages."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for target, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", text):
            to = page.parent / target if target else page
            assert to.exists(), f"{page.name} links to {target}"
            assert not anchor or anchor in anchors(to), f"{page.name} links to {target}#{anchor}"


def test_the_reference_has_every_public_name() -> None:
    """Of ``sp.__all__``, but for the version and the modules that are documented by their functions."""
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    missing = {
        name for name in sp.__all__ if not re.search(rf"speedproof\.(\w+\.)*{name}$", text, re.MULTILINE)
    }
    assert missing == {"__version__", "mixture"}

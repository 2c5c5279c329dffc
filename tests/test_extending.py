"""What CONTRIBUTING.md promises to those who extend speedproof: its examples, put into the registries it names."""

import ast
import re
import sys
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, get_args

import click
import pandas as pd
import pytest

import speedproof as sp
from speedproof.cli.command import Command
from speedproof.cli.compare import CompareOptions
from speedproof.cli.compare import run as compare
from speedproof.cli.console import Console
from speedproof.cli.main import every_command
from speedproof.declaring import Taken
from speedproof.formats.registry import FORMATS
from speedproof.measuring_options import DRIVERS
from speedproof.options import CommandOptions, Judging, Policy
from speedproof.protocols import questions
from speedproof.protocols.aggregates import LOCATIONS
from speedproof.protocols.results import Comparison
from speedproof.reporting import model as formats
from speedproof.reporting import rows as sheet_rows

MANUAL = Path(__file__).parents[1] / "CONTRIBUTING.md"


def example(section: str, **names: Any) -> tuple[dict[str, Any], Any]:
    """The module and the entry that a section shows, carried out."""
    text = MANUAL.read_text(encoding="utf-8").partition(f"### {section}: ")[2].partition("\n###")[0]
    *modules, entry = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    for module in modules:
        exec(module, names)
    return names, eval(entry, names)


@pytest.fixture
def suite() -> sp.Suite:
    return sp.read("O2=examples/gcc/O2.json", "O3=examples/gcc/O3.json")


def test_a_question_costs_a_module_and_an_entry(
    suite: sp.Suite, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It is then in a pair's answers, in a suite's, in the words, in JSON and in the table."""
    _, own = example("A question", Question=questions.Question)
    monkeypatch.setitem(questions.QUESTIONS, own.name, own)
    s = sp.compare_suite(suite, protocols=("median", own.name))
    assert s["matmul"].by(own.name).verdict is sp.Verdict.FASTER
    assert own.name in s.to_json()
    sp.report(s, tmp_path / "table.csv")
    assert ",slower half,faster," in (tmp_path / "table.csv").read_text(encoding="utf-8")
    alone = sp.compare_suite(suite["matmul"], protocols=own.name)
    assert "faster than O2 in the slower half" in str(alone)
    rows = [{
        "version": version, "process": process, "session": process // 4,
        "value": base + process * 7 % 24 / 50,
    } for version, base in (("old", 10.0), ("new", 12.0)) for process in range(24) for _ in range(5)]  # fmt: skip
    for nesting, units in (("process", 12), ("session", 3)):
        columns: dict[str, Any] = {"version": "version", "value": "value", nesting: nesting}
        nested = sp.Suite.from_frame(pd.DataFrame(rows), unit="MB/s", **columns)
        [found] = sp.compare_suite(nested, protocols=own.name)
        comparison = found.by(own.name)
        assert (comparison.reference.n, comparison.candidate.n) == (units, units)
        assert comparison.speedup.value > 1


def test_a_column_costs_an_entry(suite: sp.Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values of CSV and of a frame, beside the two numbers that it is made of."""
    _, entry = example("A column")
    for name, of in entry.items():
        monkeypatch.setitem(sheet_rows.COLUMNS, name, of)
    frame = sp.compare_suite(suite).to_frame()
    expected = frame["reference_deviation"] / frame["reference_mean"]
    assert frame["reference_spread"].to_list() == expected.to_list()


def test_a_format_of_reports_costs_a_module_and_an_entry(
    suite: sp.Suite, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The option and the ending of sp.report come with it."""
    names, entry = example("A format of reports", ReportFormat=formats.ReportFormat)
    monkeypatch.setitem(sys.modules, "speedproof.reporting.formats.asciidoc", SimpleNamespace(**names))
    monkeypatch.setitem(formats.FORMATS, entry.name, entry)
    assert "--asciidoc" in {
        name for option in Command(CompareOptions, compare).params for name in option.opts
    }
    sp.report(sp.compare_suite(suite), tmp_path / "out.adoc")
    text = (tmp_path / "out.adoc").read_text(encoding="utf-8")
    assert text.startswith("O3 against O2: ")
    assert re.search(r"^\|matmul \|2\.752 ms \|2\.415 ms \|1\.14x faster", text, re.MULTILINE)


class LimitOptions(CommandOptions, frozen=True, kw_only=True):
    """Count to a limit.

    And no further.

        speedproof count 3
    """

    limit: Annotated[int | None, "-l, --limit N", "no more than N"] = None
    judging: Annotated[Judging, Taken("deciding", take="margin")]


def test_an_option_costs_a_field() -> None:
    """It is in the help, parsed, refused by its own parser, and what is not taken keeps its default."""
    asked: list[LimitOptions] = []

    def run(options: LimitOptions, console: Console) -> int:
        asked.append(options)
        return len(asked)

    counted = Command(LimitOptions, run)
    shown = click.Context(counted, info_name="count").get_help()
    assert "Count to a limit. And no further." in shown
    assert re.search("-l, --limit N +no more than N", shown)
    assert shown.endswith("examples:\n  speedproof count 3")
    with counted.make_context("count", ["-l", "3", "--margin", "2%"]) as context:
        assert counted.invoke(context) == 1
    assert (asked[0].limit, asked[0].judging) == (3, Judging(margin=0.02))
    assert asked[0].given == {"limit": "-l", "margin": "--margin"}
    for words in (["--limit", "x"], ["--margin", "2"], ["--nested", "pool"]):
        with pytest.raises(click.UsageError):
            counted.make_context("count", words)


# What more than two files of src name beside its own module, and how many: to be lowered, never raised.
DEAR = {
    "column high": 3, "column low": 3, "column undermining": 3, "column unit": 3,
    "driver go": 3,
    "format criterion": 4, "format csv": 4, "format hyperfine": 3, "format raw": 3,
    "option build": 3, "option confidence": 3, "option files": 3, "option json": 3,
    "option metric": 5, "option output": 6, "option save": 3, "option seed": 4, "option shell": 3,
    "question mean": 4, "question single run": 4, "question touati2009": 4, "question typical": 4,
    "report csv": 4, "report html": 7, "report junit": 3, "report markdown": 5,
}  # fmt: skip
NAMES, TYPES = 43, 360
"""Of the package, and the classes of its modules without an underscore."""


@pytest.mark.slow
def test_what_is_added_is_named_in_two_files() -> None:
    """Beside its own module, and no more of what is older than before; nor are there more public types."""
    texts, compared, fields = (defaultdict[str, set[str]](set) for _ in range(3))
    root, public = Path(sp.__file__).parent, 0
    for path in root.rglob("*.py"):
        tree, file = ast.parse(path.read_text(encoding="utf-8")), path.relative_to(root).as_posix()
        public += sum(isinstance(node, ast.ClassDef) and node.name[0] != "_" for node in tree.body)
        for node in ast.walk(tree):
            match node:
                case ast.Constant(value=str(text)) | ast.keyword(arg=str(text)):
                    texts[text].add(file)
                case ast.Attribute(attr=text) if text.isupper():
                    texts[text].add(file)
                case ast.Compare() if "location" not in ast.unparse(node):
                    for part in ast.walk(node):
                        if isinstance(part, ast.Constant) and isinstance(part.value, str):
                            compared[part.value].add(file)
                case ast.AnnAssign(
                    target=ast.Name(name), annotation=ast.Subscript(value=ast.Name("Annotated"))
                ):
                    fields[name].add(file)
    options = {str(p.name) for command in every_command().values() for p in command.params}
    measured = {name: {file for file in texts[name] if file.startswith("measuring")} for name in [*texts]}
    costs = {f"option {name}": fields[name] for name in options}
    costs |= {f"policy {policy}": texts[policy] | texts[policy.name] for policy in Policy}
    costs |= {f"question {q}": compared[q] if q in LOCATIONS else texts[q] for q in questions.QUESTIONS}
    costs |= {f"report {name}": texts[name] for name in formats.FORMATS}
    costs |= {f"driver {name}": measured[name] for name in get_args(DRIVERS)}
    read = {one.name for one in FORMATS} - {"speedproof"}  # which is a word for much else
    costs |= {f"format {name}": texts[name] - measured[name] for name in read}
    for name in set(sheet_rows.COLUMNS).difference(Comparison.__struct_fields__):
        costs[f"column {name}"] = {file for file in texts[name] if file.startswith("reporting/")}
    assert len(sp.__all__) <= NAMES
    assert public <= TYPES
    assert all(costs[what] for what in DEAR)
    many = {}
    for what, files in costs.items():
        module = what.partition(" ")[2].translate({ord(" "): "_", ord("-"): "_"})
        beside = {file for file in files if Path(file).stem != module}
        if len(beside) > DEAR.get(what, 2):
            many[what] = len(beside), sorted(beside)
    assert not many

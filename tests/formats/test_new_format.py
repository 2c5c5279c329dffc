"""A format is one module and its name in a list: the example of CONTRIBUTING.md is one."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from speedproof.cli.main import main
from speedproof.formats import Format, detect, registry
from speedproof.formats.suites import read as read_suite

MANUAL = Path(__file__).parents[2] / "CONTRIBUTING.md"


@pytest.fixture
def ticks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The example as a module, its name in the list, and one of its files."""
    (example,) = re.findall(r'```python\n("""ticks:.*?)```', MANUAL.read_text(encoding="utf-8"), re.DOTALL)
    module = ModuleType("speedproof.formats.ticks")
    exec(example, vars(module))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(registry, "TEXT", [*registry.TEXT, "ticks"])
    monkeypatch.setattr(registry, "FORMATS", [*registry.FORMATS, Format("ticks")])
    path = tmp_path / "log.txt"
    path.write_text("tick sort 12.5\ntick hash 3\noops\ntick sort 13\n")
    return path


def test_a_new_format_costs_one_module(ticks: Path) -> None:
    assert detect(ticks).name == "ticks"
    suite = read_suite(ticks)
    assert [(k.benchmark, s.values.tolist()) for (k, _), s in suite.samples.items()] == [
        ("sort", [0.0125, 0.013]),
        ("hash", [0.003]),
    ]
    assert [s.where for s in suite.skipped] == ["line 3"]


def test_commands_read_it(ticks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(ticks)]) == 0
    assert "12.75 ms" in capsys.readouterr().out


def test_other_texts_stay_what_they_were(ticks: Path, files: Path) -> None:
    assert [detect(files / name).name for name in ("go.txt", "raw.txt", "long.csv")] == ["go", "raw", "csv"]

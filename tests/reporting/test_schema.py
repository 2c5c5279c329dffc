"""Everything that ``--json`` prints is what docs/schema.json says, by a validator that is not ours."""

from __future__ import annotations

import copy
import io
import json
import runpy
import shutil
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from speedproof.cli.console import Console
from speedproof.cli.main import every_command, main

ROOT = Path(__file__).parents[2]
O2, O3 = (str(ROOT / "examples" / "gcc" / name) for name in ("O2.json", "O3.json"))
CALLS = {
    "compare": [
        ["compare", O2, O3],
        ["compare", O2, O3, "--with-samples", "--margin", "2%"],
        ["compare", O2, O3, f"third={O2}"],
        ["compare", O2, O3, "--protocol", "touati2009"],
    ],
    "suite": [["suite", str(ROOT / "tests" / "data" / "speedup_test_tool" / "plain.csv")]],
    "hpt": [["hpt", O2, O3]],
    "gate": [["gate", "--baseline", O2, "--candidate", O3]],
    "history": [
        ["history", "add", "{tmp}/numbers.txt", "--unit", "ms", "--commit", "v1", "--store", "{tmp}/s.db"]
    ],
    "run": [
        ["run", "--name", "a", "--name", "b", "--max-runs", "10", "--save", "{tmp}/r.jsonl", "true", "true"]
    ],
    "bisect": [["bisect", "HEAD~1..HEAD", "true", "--max-time", "0.001", "--save", "{tmp}/b.jsonl"]],
    "corpus": [
        ["corpus", "info", "{tmp}/corpus"],
        ["corpus", "compare", "{tmp}/corpus", "--details"],
        ["corpus", "query", "{tmp}/corpus", "SELECT benchmark, version FROM corpus"],
    ],
    "model": [["model", "{tmp}/numbers.txt", "--bootstrap", "20"]],
    "rank": [["rank", O2, O3, "--only", "matmul"]],
    "show": [["show", O2], ["show", str(ROOT / "tests" / "data" / "formats" / "pyperf.json")]],
}


def _strict(schema: Any) -> Any:
    """The schema that forbids what it does not name, to see that everything printed is documented."""
    schema = copy.deepcopy(schema)

    def walk(node: Any) -> None:
        for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
            walk(child)
        if isinstance(node, dict) and "properties" in node and node.get("type") == "object":
            node["additionalProperties"] = False

    walk(schema)
    return schema


@pytest.fixture(scope="module")
def schema() -> Any:
    return json.loads((ROOT / "docs" / "schema.json").read_text(encoding="utf-8"))


@pytest.mark.slow
def test_the_schema_is_current(schema: Any) -> None:
    """docs/schema.json is what docs/json_schema.py writes now, and is itself a valid schema."""
    jsonschema.Draft202012Validator.check_schema(schema)
    made = runpy.run_path(str(ROOT / "docs" / "json_schema.py"))["text"]()
    assert json.loads(made) == schema, "run python docs/json_schema.py"


def test_every_command_with_json_is_covered() -> None:
    """A command that gets --json gets a schema and a test."""
    writing = {
        name.partition(" ")[0]
        for name, command in every_command().items()
        if any("--json" in parameter.opts for parameter in command.params)
    }
    assert writing == set(CALLS)


def _two_commits(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("git") is None:
        pytest.skip("needs git")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    monkeypatch.chdir(folder)
    identity = ("-c", "user.name=n", "-c", "user.email=n@e")
    for words in (["init", "-q"], *(["commit", "-q", "--allow-empty", "-m", m] for m in ("one", "two"))):
        subprocess.run(["git", *identity, *words], check=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    "argv", [argv for calls in CALLS.values() for argv in calls], ids=lambda a: " ".join(a)[:40]
)
def test_output_is_valid(
    argv: list[str], schema: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The validator finds nothing wrong and nothing undocumented."""
    if argv[0] == "bisect":
        _two_commits(tmp_path, monkeypatch)
    if argv[0] == "corpus":
        pytest.importorskip("duckdb")
        built = main(
            ["corpus", "build", O2, O3, "-o", f"{tmp_path}/corpus"], Console(io.StringIO(), io.StringIO())
        )
        assert built == 0
    numbers = "".join(f"{10 + (7 * i) % 11 + (i % 2) * 30}\n" for i in range(60))
    (tmp_path / "numbers.txt").write_text(numbers, encoding="utf-8")
    out = io.StringIO()
    main([*(a.replace("{tmp}", str(tmp_path)) for a in argv), "--json"], Console(out, io.StringIO()))
    document = json.loads(out.getvalue())
    assert document["results"]
    strict = _strict(schema)
    (own,) = (s for s in strict["anyOf"] if s["properties"]["command"]["const"] == document["command"])
    jsonschema.Draft202012Validator({**own, "$defs": strict["$defs"]}).validate(document)
    jsonschema.Draft202012Validator(schema).validate(document)

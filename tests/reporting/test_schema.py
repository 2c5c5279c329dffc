"""JSON is what docs/schema.json says, and is read back as it was written; what is wrong has its place."""

import copy
import json
import re
import runpy
import shlex
import shutil
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.command import git, speedproof
from tests.formats.reading import places

from speedproof.cli.main import every_command
from speedproof.conclude.suite import SuiteComparison
from speedproof.data.suite import Suite
from speedproof.errors import FormatError
from speedproof.reporting.model import to_json
from speedproof.reporting.stored import Context, read_document, store

ROOT = Path(__file__).parents[2]
O2, O3 = (str(ROOT / "examples" / "gcc" / name) for name in ("O2.json", "O3.json"))
_ADD = "history add {tmp}/numbers.txt --unit ms --commit v1 --store {tmp}/s.db --repository {tmp}"
CALLS = [*map(shlex.split, (
    f"compare {O2} {O3}", f"compare {O2} {O3} --with-samples --margin 2%", f"compare {O2} {O3} third={O2}",
    f"compare {O2} {O3} --protocol touati2009", f"suite {ROOT}/tests/data/speedup_test_tool/plain.csv",
    f"hpt {O2} {O3}", f"gate {O2} {O3}", _ADD, f"rank {O2} {O3} --only matmul", f"show {O2}",
    "run --name a --name b --max-runs 10 --save {tmp}/r.jsonl true true",
    "bisect HEAD~1..HEAD true --max-time 0.001 --save {tmp}/b.jsonl", "corpus info {tmp}/corpus",
    "corpus compare {tmp}/corpus --details", "corpus query {tmp}/corpus 'SELECT benchmark, version FROM corpus'",
    "model {tmp}/numbers.txt --bootstrap 20", f"show {ROOT}/tests/data/formats/pyperf.json",
))]  # fmt: skip


def _strict(schema: Any) -> Any:
    """The schema that forbids what it does not name, to see that everything printed is documented."""
    schema = copy.deepcopy(schema)
    for _, node, key in [*places(schema)]:
        if key == "properties" and node.get("type") == "object":
            node["additionalProperties"] = False
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
    commands = every_command().items()
    writing = {name.split()[0] for name, of in commands if any("--json" in p.opts for p in of.params)}
    assert writing == {argv[0] for argv in CALLS}


def _two_commits(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("git") is None:
        pytest.skip("needs git")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    monkeypatch.chdir(folder)
    for words in (["init", "-q"], *(["commit", "-q", "--allow-empty", "-m", m] for m in ("one", "two"))):
        git(folder, *words)


@pytest.mark.slow
@pytest.mark.parametrize("argv", CALLS, ids=lambda a: " ".join(a)[:40])
def test_output_is_valid(
    argv: list[str], schema: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if argv[0] == "bisect":
        _two_commits(tmp_path, monkeypatch)
    if argv[0] == "corpus":
        pytest.importorskip("duckdb")
        assert speedproof("corpus", "build", O2, O3, "-o", tmp_path / "corpus")[0] == 0
    numbers = "".join(f"{10 + (7 * i) % 11 + (i % 2) * 30}\n" for i in range(60))
    (tmp_path / "numbers.txt").write_text(numbers, encoding="utf-8")
    _, out, _ = speedproof(*(a.replace("{tmp}", str(tmp_path)) for a in argv), "--json")
    document = json.loads(out)
    assert document["results"]
    strict = _strict(schema)
    (own,) = (s for s in strict["anyOf"] if s["properties"]["command"]["const"] == document["command"])
    jsonschema.Draft202012Validator({**own, "$defs": strict["$defs"]}).validate(document)
    jsonschema.Draft202012Validator(schema).validate(document)


Made = tuple[SuiteComparison, Suite]


@pytest.mark.parametrize("which", ["mixed", "hostile"])
def test_comparisons_survive_the_round_trip(which: str, request: pytest.FixtureRequest) -> None:
    """Every field comes back, NaN and infinite bounds included; only infinite statistics turn into NaN."""
    result, suite = request.getfixturevalue(which)
    context = Context("speedproof", {"speedproof": "1"})
    text = to_json("compare", [result], suite=store(suite), context=context)
    document, samples, _ = read_document(text.encode(), "r.json")
    assert repr(document.results[0]) == re.sub(r"statistic=-?inf", "statistic=nan", repr(result))
    assert (document.context, samples.versions, samples.fields) == (context, suite.versions, suite.fields)


NONE = "is no JSON of speedproof"


@pytest.mark.parametrize(("text", "message"), [
    ("", NONE), ("[1, 2", NONE), ("\x00\x80", NONE), ("[]", NONE), ('{"a": 1}', NONE),
    ('{"speedproof": "1", "schema": 6, "command": "show", "results": []}', "of 'show --json'"),
    ('{"speedproof": "1", "schema": 6, "command": "run", "results": []}', "holds no comparison"),
    ('{"speedproof": "1", "schema": 6, "command": "gate", "results": [], "gate": {}}', "missing required"),
    ('{"speedproof": "1", "schema": 6, "command": "corpus compare", "results": [], "corpus": 1}', "$.corpus"),
    ('{"speedproof": "1", "schema": 99, "command": "compare", "results": []}', "99, not 6"),
    ('{"speedproof": "1", "schema": "1", "command": "compare", "results": []}', "compare the files again"),
    ('{"speedproof": "1", "schema": 6, "command": "compare", "results": [{}]}', "missing required field"),
    ('{"speedproof": "1", "schema": 6, "command": "compare", "results": 3}', "$.results"),
    ('{"speedproof": "1", "schema": 6, "command": "compare", "results": [3]}', "$.results[0]"),
])  # fmt: skip
def test_errors_name_the_file_and_the_place(text: str, message: str) -> None:
    with pytest.raises(FormatError) as error:
        read_document(text.encode("latin-1"), "r.json")
    assert error.value.path == "r.json"
    assert message in str(error.value)


@pytest.mark.slow
def test_every_wrong_field_is_refused(mixed: Made) -> None:
    """Any part of a document replaced by a value of another kind: read, or refused with a FormatError."""
    result, suite = mixed
    document = json.loads(to_json("compare", [result], suite=store(suite)))
    small = document["results"][0]
    small["comparisons"] = small["comparisons"][:1]
    document["suite"]["samples"] = document["suite"]["samples"][:1]
    every = [*places(document)]
    wrongs: tuple[object, ...] = ({"x": 1}, [[]], "text", -1.5, None)
    for (_, holder, key), wrong in product(every[:: max(1, len(every) // 40)], wrongs):
        before, holder[key] = holder[key], wrong
        with suppress(FormatError):
            read_document(json.dumps(document).encode(), "r.json")
        holder[key] = before

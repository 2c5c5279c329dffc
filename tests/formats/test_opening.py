"""What can be wrong with a path, how the content is recognised, and what a new format costs."""

import bz2
import gzip
import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from tests.command import speedproof

import speedproof as sp
from speedproof.data.suite import Record, Skipped
from speedproof.errors import FormatError, UsageError
from speedproof.formats import FORMATS, Format, detect, read, registry
from speedproof.formats.reading import first_lines
from speedproof.formats.suites import read as read_suite
from speedproof.formats.suites import read_files

EXPECTED = {
    "speedproof.jsonl": "speedproof", "lists.json": "lists", "github-action.json": "github-action",
    "hyperfine.json": "hyperfine", "hyperfine-memory.json": "hyperfine", "pyperf.json": "pyperf",
    "pyperf-memory.json": "pyperf", "go.txt": "go", "go-changes.txt": "go",
    "google-benchmark.json": "google-benchmark", "google-benchmark-aggregates.json": "google-benchmark",
    "pytest-benchmark.json": "pytest-benchmark", "pytest-benchmark-summary.json": "pytest-benchmark",
    "jmh.json": "jmh", "criterion/Fibonacci/Iterative/new/sample.json": "criterion",
    "criterion/Fibonacci/Recursive/20/new/sample.json": "criterion",
    "criterion/Fibonacci/Iterative/new/raw.csv": "criterion",
    "criterion/Fibonacci/Recursive/20/new/raw.csv": "criterion", "benchmarkdotnet.json": "benchmarkdotnet",
    "benchmarkdotnet-brief.json": "benchmarkdotnet", "nanobench.json": "nanobench",
    "asv/results/box/067eaa49-samples.json": "asv", "asv/results/box/067eaa49-medians.json": "asv",
    "asv-version-1.json": "asv", "rebench.data": "rebench", "krun.json": "krun",
    "sightglass.json": "sightglass", "sightglass.csv": "sightglass",
    "parsec/run_2_simsmall_2024-03-01_10-00-00.log": "parsec", "parsec/baseline.log": "parsec",
    "speedup-test/config.csv": "speedup-test", "speedup-test/samples/worked_example.x.txt": "raw",
    "long.csv": "csv", "wide.tsv": "csv", "matrix.csv": "csv", "raw.txt": "raw",
}  # fmt: skip


@pytest.mark.parametrize("name", EXPECTED)
def test_detection_is_by_content(files: Path, tmp_path: Path, name: str) -> None:
    """Of JSON in any layout and order, but for that of lists."""
    data = (files / name).read_bytes()
    texts = [data]
    if name.endswith(".json") and "sample.json" not in name:
        texts += [json.dumps(json.loads(data), sort_keys=True, indent=k).encode() for k in (None, 4)]
    for text in texts:
        (tmp_path / "result").write_bytes(text)
        assert detect(tmp_path / "result").name == EXPECTED[name]


def test_every_format_has_a_file_here_and_a_line_in_the_manual() -> None:
    assert {f.name for f in FORMATS} == set(EXPECTED.values())
    manual = (Path(__file__).parents[2] / "docs" / "formats.md").read_text(encoding="utf-8")
    for known in FORMATS:
        assert f"| `{known.name}` |" in manual


WRAPPINGS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress, "bzip2": bz2.compress, "crlf": lambda data: data.replace(b"\n", b"\r\n"),
    "bom": lambda data: b"\xef\xbb\xbf" + data, "utf-16": lambda data: data.decode().encode("utf-16"),
    "utf-32": lambda data: data.decode().encode("utf-32"),
}  # fmt: skip


@pytest.mark.parametrize("wrapping", WRAPPINGS)
@pytest.mark.parametrize("name", ["raw.txt", "long.csv", "go.txt", "hyperfine.json", "jmh.json"])
def test_wrapping_changes_nothing(files: Path, tmp_path: Path, name: str, wrapping: str) -> None:
    path = tmp_path / "result"
    path.write_bytes(WRAPPINGS[wrapping]((files / name).read_bytes()))
    plain = [(r.values.tolist(), r.where) for r in read(files / name) if isinstance(r, Record)]
    assert [(r.values.tolist(), r.where) for r in read(path) if isinstance(r, Record)] == plain


def test_what_cannot_be_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A device may never end, and an empty name would be the folder at hand."""
    for name, message in (
        ("absent.json", "no such file"), ("x" * 5000, "cannot be read"), ("a\0b", "cannot be read"),
        *((f"/dev/{device}", "this is a device, not a file") for device in ("zero", "full", "null")),
    ):  # fmt: skip
        with pytest.raises(FormatError, match=message):
            read(tmp_path / name)
    (tmp_path / "c.csv").write_text(f"Name,Sample1,Sample2\na,{'x' * 5000},y\n")
    (skipped,) = read(tmp_path / "c.csv")
    assert isinstance(skipped, Skipped)
    assert "too long" in skipped.reason
    with pytest.raises(UsageError, match='the path "" is empty'):
        sp.read("")
    with pytest.raises(UsageError, match="there is no format 'excel'; available: hyperfine, speedproof"):
        read("x", format="excel")

    def forbidden(self: Path, mode: str = "") -> bytes:
        raise PermissionError(13, "Permission denied", str(self))

    # Tests may run as root, whom no mode keeps out.
    for what, path in (("open", tmp_path / "c.csv"), ("iterdir", tmp_path)):
        monkeypatch.setattr(Path, what, forbidden)
        with pytest.raises(FormatError, match=r"permission to (read it|list the folder) is denied"):
            list(read(path))


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """Given twice it is one measurement, as a file given twice is."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"1.5\n2.5\n")))
    (result,) = read_files(["-"])
    (record,) = result.records
    assert (record.benchmark, record.path) == ("standard input", "standard input")
    assert record.values.tolist() == [1.5, 2.5]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"1.5\n2.5\n")))
    assert [s.values.tolist() for s in sp.read("-", "-").samples.values()] == [[1.5, 2.5]] * 2


def test_folder_without_results(tmp_path: Path) -> None:
    def message() -> str:
        with pytest.raises(FormatError, match="holds no results that can be read") as caught:
            list(read(tmp_path))
        return caught.value.message

    assert message().endswith("; it has no files")
    (tmp_path / "README.md").write_text("# about")
    assert message().endswith("README.md: not a result file")
    (tmp_path / "a.txt").write_text("1.5\nERROR\n")
    (tmp_path / "b.json").write_text('{"speed": 3}')
    lines = message().split("\n")[1:]
    assert [line.split(": ", 1)[0].strip() for line in lines] == [
        str(tmp_path / name) for name in ("a.txt", "b.json", "README.md")
    ], "what a user should look at comes first"
    assert lines[0].endswith(
        "a.txt: line 2: 'ERROR' is not a number; name the unit in a header line, begin comments with #"
    )
    for name in ("c.dat", "d.dat", "e.dat"):
        (tmp_path / name).write_text("Hello")
    assert message().split("\n")[4:] == ["  and 3 more"]
    (tmp_path / "good.txt").write_text("1.5\n")
    beside = [item.path for item in read(tmp_path) if isinstance(item, Skipped) and item.expected]
    assert beside == [str(tmp_path / "README.md")]
    with pytest.raises(FormatError, match="read one by one"):
        detect(tmp_path)


DEEP = "[" * 100_000


@pytest.mark.parametrize(("name", "content", "argv"), [
    ("s.toml", f"x = {DEEP}", "gate --baseline a.txt --candidate a.txt --config s.toml"),
    ("s.toml", f"x = {DEEP}", "run --suite s.toml"), ("r.json", DEEP, "report r.json"),
    ("data.js", f"window.x = {DEEP}", "history add data.js --store h.db"),
    ("c/corpus.json", DEEP, "corpus info c"), ("d.json", "[[1.5," * 100_000, "show d.json --format criterion"),
], ids=["gate", "run", "report", "history", "corpus", "show"])  # fmt: skip
def test_deep_nesting_is_an_error_of_whatever_file(
    name: str, content: str, argv: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("1\n2\n3\n")
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_text(content)
    code, _, err = speedproof(*argv.split())
    assert code == 2
    assert err.startswith("speedproof: error: ")
    assert len(err) < 1000


@pytest.mark.parametrize("seed", range(60))
def test_first_lines_are_the_first_of_all(seed: int) -> None:
    """Of all lines but the last, those that are neither empty nor comments; fifty at most."""
    rng = np.random.default_rng(seed)
    parts = ["1.5", "# no", " ", "", "\n", "\r\n", "\r", "a,b", "\n\n", " #x", "é"]
    text = "".join(rng.choice(parts, int(rng.integers(0, 300))))
    lines = re.split(r"\r\n|\r|\n", text)
    lines = lines[:-1] if len(lines) > 1 else lines
    wanted = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    assert first_lines(text.encode()) == wanted[:50]


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


def test_a_new_format_costs_one_module(ticks: Path, files: Path) -> None:
    """Commands read it, and other texts stay what they were."""
    assert detect(ticks).name == "ticks"
    suite = read_suite(ticks)
    values = {key.benchmark: sample.values.tolist() for (key, _), sample in suite.samples.items()}
    assert values == {"sort": [0.0125, 0.013], "hash": [0.003]}
    assert [s.where for s in suite.skipped] == ["line 3"]
    assert "12.75 ms" in speedproof("show", ticks)[1]
    assert [detect(files / name).name for name in ("go.txt", "raw.txt", "long.csv")] == ["go", "raw", "csv"]

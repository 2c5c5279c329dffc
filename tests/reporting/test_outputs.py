"""The options that write reports, as a user meets them."""

import html
import re
import shutil
from pathlib import Path

import pytest
from tests.command import refused, speedproof

from speedproof.errors import UsageError
from speedproof.reporting.formats import write_whole

ROOT = Path(__file__).parents[2]
SESSION = str(ROOT / "examples" / "faults" / "session.jsonl")
O2, O3 = (str(ROOT / "examples" / "gcc" / name) for name in ("O2.json", "O3.json"))
OPTIONS = ("--html", "--markdown", "--csv", "--latex", "--junit")


@pytest.mark.parametrize(("words", "told"), [
    *((f"{words} -", "-: |- is standard output|no such store") for words in (
        "history page -o", "history query -o", "corpus build a -o", "corpus model c -o", "suite x.csv -o",
        "plot a b -o", "run true --save", "run true --export-hyperfine", "bisect true --save",
    )),
    *((f"{words} --html a", "--html a: this file is already read or written") for words in (
        "compare a b", "gate a b", "hpt a b", "rank a b", "model a b", "suite a", "report a", "run --review a",
    )),
])  # fmt: skip
def test_no_place_is_found_to_be_wrong_after_the_work(
    words: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What takes no ``-`` refuses it, and no report is written over what is read, be it there or not."""
    monkeypatch.chdir(tmp_path)
    code, out, err = speedproof(*words.split())
    assert (code, out) == (2, "")
    assert re.search(told, err), err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("options", "prefix"), [
    ("", ""), ("--original", "c"), ("--original --json", ""), ("-o p", "p"), ("--original -o p", "p"),
])  # fmt: skip
def test_the_four_files_of_the_original_tool(
    options: str, prefix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each with its own content, where they are asked for; the tool itself always wrote them."""
    source = ROOT / "tests" / "data" / "speedup_test_tool"
    shutil.copytree(source, tmp_path / "d")
    monkeypatch.chdir(tmp_path / "d")
    shutil.copy("plain.csv", "c.csv")
    before = {*Path().iterdir()}
    code, _, err = speedproof("suite", "c.csv", *options.split())
    assert code == 0, err
    written = {path.name: path.read_text() for path in {*Path().iterdir()} - before}
    endings = [f"{prefix}.{ending}" for ending in ("error", "out", "report", "warning")]
    assert sorted(written) == (endings if prefix else [])
    assert ("wrote " in err) == bool(prefix)
    assert not prefix or "Remark: " in written[f"{prefix}.report"]
    assert not prefix or len({*written.values()} - {""}) >= 2


def test_stored_results_give_the_same_reports(tmp_path: Path) -> None:
    """'report' on the JSON of 'compare' writes, byte for byte, what 'compare' itself writes."""
    targets = [part for o in OPTIONS for part in (o, str(tmp_path / f"a{o}"))]
    code, stored, _ = speedproof("compare", O2, O3, f"third={O3}", *targets, "--json", "--with-samples")
    assert code == 0
    (tmp_path / "r.json").write_text(stored, encoding="utf-8")
    again = [part for o in OPTIONS for part in (o, str(tmp_path / f"b{o}"))]
    code, out, err = speedproof("report", str(tmp_path / "r.json"), *again)
    assert (code, err.count("wrote ")) == (0, len(OPTIONS))
    for option in OPTIONS:
        assert (tmp_path / f"a{option}").read_bytes() == (tmp_path / f"b{option}").read_bytes()
    assert out == speedproof("compare", O2, O3, f"third={O3}")[1]


@pytest.mark.parametrize(("argv", "types"), [
    (("compare", O3, O2), {"slower"}), (("compare", O3, O2, f"a={O2}"), {"slower"}),
    (("compare", O3, O2, f"a={O2}", "--only", "matmul"), {"slower"}), (("gate", O3, O2), {"fail"}),
    (("gate", O2, O3, "--undecided", "fail"), {"undecided"}),
])  # fmt: skip
def test_the_type_of_a_failure_is_an_outcome_or_a_verdict(argv: tuple[str, ...], types: set[str]) -> None:
    """As docs/gate.md and docs/reports.md name them, whatever has a row."""
    assert set(re.findall('type="(.*?)"', speedproof(*argv, "--junit", "-")[1])) == types


def test_hints_name_options_of_the_command(tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_text("metric,version,value\n" + "".join(
        f"{m},{v},{i + 50}\n" for m in ("time", "work") for v in "ab" for i in range(9)
    ))  # fmt: skip
    code, stored, _ = speedproof("compare", str(tmp_path / "b.csv"), "--metric", "all", "--json")
    (tmp_path / "r.json").write_text(stored, encoding="utf-8")
    out = speedproof("report", str(tmp_path / "r.json"))[1]
    assert (code, "--details" in out, "--metric" in out) == (0, True, False), out


def test_files_are_whole_or_untouched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write that fails half way leaves the old file and no rest; a good one keeps rights and follows links."""
    old = tmp_path / "a.html"
    old.write_text("old", encoding="utf-8")
    old.chmod(0o640)
    link = tmp_path / "link.html"
    link.symlink_to(old)

    def fail(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", fail)
        with pytest.raises(UsageError, match="No space left"):
            write_whole(link, "new")
    assert old.read_text(encoding="utf-8") == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.html", "link.html"]
    write_whole(link, "new\r\n")
    assert link.is_symlink()
    assert old.read_bytes() == b"new\r\n"
    assert old.stat().st_mode & 0o777 == 0o640


def test_github_summary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Appended to what other steps wrote; outside of a GitHub job it is an error that says so."""
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    assert "$GITHUB_STEP_SUMMARY is not set" in refused("compare", O2, O3, "--github-summary")
    (summary := tmp_path / "summary.md").write_text("before\n", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    code, out, _ = speedproof("compare", O2, O3, "--github-summary")
    assert (code, out[:13]) == (0, "O3 against O2")
    assert summary.read_text("utf-8").startswith("before\n<!-- speedproof -->\n### O3 against O2: time")
    if Path("/dev/full").exists():
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", "/dev/full")
        assert "cannot write /dev/full: No space left" in refused("compare", O2, O3, "--github-summary")


def test_errors_of_report(tmp_path: Path) -> None:
    """A file that is not there, not JSON, or of another command; without samples a page has no charts."""
    assert "nowhere.json" in refused("report", "nowhere.json")
    assert "is no JSON of speedproof" in refused("report", ROOT / "README.md")
    for words, name in ((("show", O2), "s.json"), (("compare", O2, O3), "r.json")):
        (tmp_path / name).write_text(speedproof(*words, "--json")[1], encoding="utf-8")
    assert "is the output of 'show --json'" in refused("report", tmp_path / "s.json")
    assert speedproof("report", tmp_path / "r.json", "--html", tmp_path / "r.html")[0] == 0
    assert '"drawn":null' in (tmp_path / "r.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("asked", [
    ("compare", O2, O3), ("gate", O2, O3), ("gate", SESSION), ("run", "--review", SESSION),
    ("corpus", "compare", "c", "--pairs", "all"), ("corpus", "compare", "c"),
])  # fmt: skip
def test_report_says_what_the_command_said(
    asked: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the JSON of every command that compares; of a session what compare says of its file."""
    monkeypatch.chdir(tmp_path)
    if asked[0] == "corpus":
        pytest.importorskip("duckdb")
        assert speedproof("corpus", "build", O2, O3, "-o", "c")[0] == 0
    Path("r.json").write_text(speedproof(*asked, "--json")[1], encoding="utf-8")
    said = speedproof(*(("compare", SESSION) if asked[0] == "run" else asked))[1]
    assert speedproof("report", "r.json")[1] == said


@pytest.mark.parametrize("argv", [
    ["hpt", O2, O3], ["rank", O2, O3, "--only", "matmul"], ["model", O2, "--bootstrap", "0"],
    ["suite", str(ROOT / "tests" / "data" / "speedup_test_tool" / "plain.csv")],
], ids=lambda argv: argv[0])  # fmt: skip
def test_other_commands_have_pages(argv: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """HTML and Markdown hold every cell of every table that the terminal shows."""
    page = tmp_path / "a.html"
    code, text, err = speedproof(*argv, "--markdown", "-", "--html", str(page))
    assert code == 0
    assert f"wrote {page}" in err
    assert text.startswith("<!-- speedproof -->\n### ")
    made = html.unescape(page.read_text(encoding="utf-8"))
    monkeypatch.setenv("COLUMNS", "300")
    shown, _, hints = speedproof(*argv)[1].rpartition("--all" if argv[0] == "suite" else "--details")
    assert hints
    for word in re.sub(r"(?m)^\.\.\. .*$", "", shown).split():
        assert word in made
        assert word in text.replace("\\", "").replace("<!-- -->", "")
    assert speedproof(*argv, "--html", str(tmp_path / "none" / "a.html"))[0] == 2

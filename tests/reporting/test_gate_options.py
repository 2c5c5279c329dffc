"""Where the gate's reports go: standard output, files that are not read, a GitHub job's summary."""

import io
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from speedproof.cli.console import Console
from speedproof.cli.main import main


def gate(baseline: str, candidate: str, *options: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    code = main(["gate", "--baseline", baseline, "--candidate", candidate, *options], Console(out, err))
    return code, out.getvalue(), err.getvalue()


@pytest.fixture
def three(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A baseline, and candidates that are alike, slower, and too noisy to tell, in the working directory."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    for name, factor, noise in (("base", 1, 0.01), ("same", 1, 0.01), ("slow", 1.1, 0.01), ("noisy", 1, 0.3)):
        rows = [
            f"{benchmark},{value!r}"
            for benchmark in ("json_dumps", "json_loads", "xml")
            for value in (factor * rng.uniform(1 - noise, 1 + noise, 30)).tolist()
        ]
        Path(f"{name}.csv").write_text("\n".join(["benchmark,value", *rows, ""]), encoding="utf-8")
    return {name: f"{name}.csv" for name in ("base", "same", "slow", "noisy")}


REPORTS = {"--html": "<!doctype html>", "--markdown": "<!-- speedproof -->", "--junit": "<?xml "}


@pytest.mark.slow
@pytest.mark.parametrize("option", REPORTS)
def test_a_report_in_place_of_the_table(three: dict[str, str], option: str) -> None:
    """- is standard output, which then holds the report and nothing else, byte for byte that of the file."""
    for candidate, expected in (("same", 0), ("slow", 1), ("noisy", 3)):
        code, out, _ = gate(three["base"], three[candidate], option, "-")
        assert code == expected
        assert out.lstrip().startswith(REPORTS[option])
        code, shown, err = gate(three["base"], three[candidate], option, "report")
        assert code == expected
        assert "wrote report" in err
        assert shown.startswith(("PASS: ", "FAIL: ", "UNDECIDED: "))
        written = Path("report").read_text(encoding="utf-8")
        assert written.replace(f"{option} report", f"{option} -") == out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--html", "-", "--junit", "-"), "--html and --junit cannot both write to standard output"),
        (("--junit", "-", "--json"), "--junit and --json cannot both write to standard output"),
        (("--junit", "a", "--html", "./a"), "this file is already read or written"),
        (("--junit", "base.csv"), "this file is already read or written"),
        (("--html", "same.csv"), "this file is already read or written"),
        (("--html", "speedproof.toml"), "this file is already read or written"),
        (("--html", "none/a.html"), "there is no folder none; make it first"),
        (("--junit", "."), "is a folder"),
        (("--github-summary",), "$GITHUB_STEP_SUMMARY is not set"),
    ],
)
def test_places_that_cannot_be_written(
    three: dict[str, str], options: tuple[str, ...], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Told before the work, and nothing is written, least of all over what is read."""
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    Path("speedproof.toml").write_text("[gate]\n")
    before = {path: path.read_bytes() for path in Path().iterdir()}
    monkeypatch.setattr("speedproof.cli.gate.load", lambda *_: pytest.fail("the work had begun"))
    code, out, err = gate(three["base"], three["same"], *options)
    assert (code, out) == (2, "")
    assert message in err
    assert {path: path.read_bytes() for path in Path().iterdir()} == before


def test_github_summary(three: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Appended to what other steps wrote; a file that takes nothing is an error that names it."""
    Path("summary").write_text("before\n", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary")
    code, out, _ = gate(three["base"], three["slow"], "--github-summary", "--markdown", "s.md")
    assert code == 1
    assert out.startswith("FAIL: ")
    assert Path("summary").read_text(encoding="utf-8") == "before\n" + Path("s.md").read_text(
        encoding="utf-8"
    )
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(Path()))
    code, _, err = gate(three["base"], three["same"], "--github-summary")
    assert code == 2
    assert "cannot append to" in err


def test_undecided_in_the_settings_fails_the_case(three: dict[str, str]) -> None:
    """undecided = "fail" of the settings counts in the JUnit file as the option does, and the option wins."""
    for options, failures in (((), "3"), (("--undecided", "pass"), "0")):
        Path("speedproof.toml").write_text('[gate]\nundecided = "fail"\n')
        out = gate(three["base"], three["noisy"], "--junit", "-", *options)[1]
        (suite,) = ET.fromstring(out)
        assert suite.attrib["failures"] == failures


def test_no_number_of_runs_where_values_are_equal(tmp_path: Path) -> None:
    """Constant values: more of them change nothing, and the sheet says what does."""
    paths = [tmp_path / "old.csv", tmp_path / "new.csv"]
    for path in paths:
        path.write_text("benchmark,time_s\n" + "b,1.0\n" * 20, encoding="utf-8")
    out = io.StringIO()
    assert main(["gate", "--baseline", str(paths[0]), "--candidate", str(paths[1])], Console(out, out)) == 3
    assert "b: neither sample has any spread: use a finer clock or longer runs." in out.getvalue()
    assert "runs  " not in out.getvalue()

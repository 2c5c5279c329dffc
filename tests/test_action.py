"""The GitHub Action: its steps are run as GitHub runs them, with a runner's variables and nothing else."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from tests.command import git, parse

from speedproof.cli.main import command

ROOT = Path(__file__).parents[1]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
GATE = STEPS[-1]
EXPRESSION = re.compile(r"\$\{\{\s*(\S+)\s*\}\}")


@dataclass(frozen=True)
class Ran:
    """What a run of the whole action left behind."""

    code: int
    verdict: str
    summary: str
    log: str
    pip: str


class Runner:
    """A folder that plays the runner: bash with GitHub's flags, a venv that leads back to this interpreter."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.work = home / "work"
        (home / "bin").mkdir()
        (home / "temp").mkdir()
        self.work.mkdir()
        # Making an environment and installing are faked; that the wheel installs is another test's fact.
        self.script(
            home / "bin" / "python3",
            'test "$1 $2" = "-m venv" && mkdir -p "$3/bin" && cp "$TOOLS"/* "$3/bin"',
        )
        (home / "tools").mkdir()
        self.script(home / "tools" / "python", 'printf "%s\\n" "$@" > "$RUNNER_TEMP/pip"')
        self.script(home / "tools" / "speedproof", f'exec "{sys.executable}" -m speedproof "$@"')

    @staticmethod
    def script(path: Path, text: str) -> None:
        path.write_text(f"#!/bin/bash\n{text}\n", encoding="utf-8")
        path.chmod(0o755)

    def run(self, pull: str = "", against: str = "", **inputs: str) -> Ran:
        values = {
            "github.event.pull_request.number": pull,
            "github.event.pull_request.base.sha": against,
            "github.token": "secret",
        }
        values |= {f"inputs.{name}": str(spec.get("default", "")) for name, spec in ACTION["inputs"].items()}
        values |= {f"inputs.{name.replace('_', '-')}": value for name, value in inputs.items()}
        files = {name: self.home / name for name in ("output", "step_summary")}
        for file in files.values():
            file.write_text("")
        base = {
            "PATH": f"{self.home / 'bin'}:/usr/bin:/bin", "HOME": str(self.home),
            "TOOLS": str(self.home / "tools"), "RUNNER_TEMP": str(self.home / "temp"),
            "GITHUB_ACTION_PATH": str(ROOT), "GITHUB_OUTPUT": str(files["output"]),
            "GITHUB_STEP_SUMMARY": str(files["step_summary"]), "GITHUB_REPOSITORY": "owner/project",
        }  # fmt: skip
        code, log = 0, ""
        for step in STEPS:
            env = {k: EXPRESSION.sub(lambda m: values[m[1]], v) for k, v in step.get("env", {}).items()}
            script = self.home / "step.sh"
            script.write_text(step["run"], encoding="utf-8")
            done = subprocess.run(
                ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", str(script)], env=base | env,
                cwd=self.work, capture_output=True, text=True, check=False,
            )  # fmt: skip
            code, log = done.returncode, log + done.stdout + done.stderr
            if code:
                break
        outputs = dict(line.split("=", 1) for line in files["output"].read_text().splitlines())
        return Ran(
            code, outputs.get("verdict", ""), files["step_summary"].read_text(encoding="utf-8"), log,
            (self.home / "temp" / "pip").read_text(encoding="utf-8"),
        )  # fmt: skip


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    if not Path("/bin/bash").exists():
        pytest.skip("no bash here")
    return Runner(tmp_path)


def committed(folder: Path, *states: dict[str, str]) -> None:
    """A repository with a commit for every state of its files."""
    git(folder, "init", "-q", ".")
    for number, files in enumerate(states):
        for name, text in files.items():
            (folder / name).write_text(text)
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", f"State {number}")


def steps_of(lines: Iterable[str]) -> list[list[str]]:
    """The words of the commands among lines of a script; each is understood."""
    commands = [line.partition(" > ")[0].split()[1:] for line in lines if line.startswith("speedproof ")]
    assert all(map(parse, commands))
    return commands


def write(folder: Path, name: str, *factors: float) -> str:
    """A CSV file with one benchmark a factor, 20 runs each without chance; no two files hold the same values."""
    own = sum(map(ord, name)) % 97 / 1_000_000
    rows = [
        f"b{i},{factor * (1 + run % 7 / 500 + run / 100_000 + own)!r}"
        for i, factor in enumerate(factors)
        for run in range(20)
    ]
    (folder / name).write_text("\n".join(["benchmark,value", *rows, ""]), encoding="utf-8")
    return name


@pytest.mark.slow
def test_verdicts(runner: Runner) -> None:
    """The step's exit code is the gate's, the verdict an output, the report in the job summary."""
    base = write(runner.work, "base.csv", 1, 1)
    for factors, inputs, verdict, code in (
        ((1, 1), {}, "pass", 0), ((1.2, 1), {}, "fail", 1), ((1.019, 1), {}, "undecided", 0),
        ((1.019, 1), {"undecided": "report"}, "undecided", 3), ((1.019, 1), {"undecided": "fail"}, "fail", 1),
        ((1.019, 1), {"undecided": "pass"}, "undecided", 0), ((1.2, 1), {"margin": "30%"}, "pass", 0),
        ((1.2, 1), {"skip": "b0\nb7"}, "pass", 0), ((1.2, 1), {"only": "b1"}, "pass", 0),
        ((1, 1), {"policy": "proven-improvement", "confidence": "0.9"}, "undecided", 0),
    ):  # fmt: skip
        ran = runner.run(baseline=base, candidate=write(runner.work, "new.csv", *factors), **inputs)
        assert (ran.verdict, ran.code) == (verdict, code), ran.log
        assert ran.summary.startswith("<!-- speedproof -->\n### Gate: ")  # the marker finds its comment again
        assert ("::error " in ran.log) == (verdict == "fail")
        assert ("::notice " in ran.log) == (verdict == "undecided")
        assert ran.pip.split()[-1] == str(ROOT)


def test_an_error_is_in_the_summary(runner: Runner) -> None:
    """A file that is not there: verdict "error", exit code 2, the message and nothing of the run before."""
    base = write(runner.work, "base.csv", 1, 1)
    assert runner.run(baseline=base, candidate=write(runner.work, "new.csv", 1, 1)).verdict == "pass"
    ran = runner.run(baseline=base, candidate="nowhere.json")
    assert (ran.verdict, ran.code) == ("error", 2)
    assert ran.summary.startswith("<!-- speedproof -->\n### Gate: error\n\n    speedproof: ")
    assert "PASS" not in ran.summary.upper()
    assert re.search(r"^::error title=speedproof gate::speedproof: .*nowhere\.json", ran.log, re.MULTILINE)
    committed(runner.work, {"one": ""}, {"two": ""})
    ran = runner.run(command="./nowhere")  # while measuring: not the first remark before it
    assert (ran.verdict, ran.code, "nowhere" in ran.summary) == ("error", 2, True)
    assert re.search(r"^::error title=speedproof gate::speedproof: error: .*nowhere", ran.log, re.MULTILINE)


@pytest.mark.slow
def test_one_comment_is_kept_up_to_date(runner: Runner) -> None:
    """The comment with the report's marker is replaced, else one is made; only where that is asked for."""
    base = write(runner.work, "base.csv", 1, 1)
    new = write(runner.work, "new.csv", 1, 1)
    log = runner.home / "gh"
    for found, method, place in (
        ("", "POST", "repos/owner/project/issues/7/comments"),
        ("11\n12", "PATCH", "repos/owner/project/issues/comments/11"),
    ):
        log.unlink(missing_ok=True)
        runner.script(
            runner.home / "bin" / "gh",
            f"echo \"$GH_TOKEN $*\" >> {log}; case $* in *--paginate*) printf '{found}' ;; esac",
        )
        assert runner.run(baseline=base, candidate=new, comment="true", pull="7").verdict == "pass"
        asked, written = log.read_text().splitlines()
        assert asked.startswith("secret api --paginate repos/owner/project/issues/7/comments --jq ")
        summary = runner.home / "temp" / "speedproof-gate.md"
        assert written == f"secret api --silent --method {method} {place} --field body=@{summary}"
    log.unlink()
    for inputs, pull in (({}, "7"), ({"comment": "true"}, "")):
        assert runner.run(baseline=base, candidate=new, pull=pull, **inputs).code == 0
        assert not log.exists()
    runner.script(runner.home / "bin" / "gh", "exit 1")
    ran = runner.run(baseline=base, candidate=new, comment="true", pull="7")
    assert (ran.code, ran.verdict) == (0, "pass")
    assert "::warning" in ran.log


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("git") is None or shutil.which("make") is None, reason="needs git and make")
def test_the_example_project_measures_its_pull_requests(runner: Runner) -> None:
    """Its workflow's inputs, base against head: a program that sleeps fails, in the comment, too."""
    shutil.copytree(ROOT / "examples" / "project", runner.work, dirs_exist_ok=True)
    (runner.work / "Makefile").write_text("count: count.sh\n\tcp $< $@ && chmod +x $@\n")
    gate = yaml.safe_load((runner.work / ".github" / "workflows" / "gate.yml").read_text())
    (inputs,) = [s["with"] for s in gate["jobs"]["gate"]["steps"] if "speedproof" in s["uses"]]
    inputs = {k.replace("-", "_"): str(v).replace("True", "true") for k, v in inputs.items()}
    committed(runner.work, *({"count.sh": f"#!/bin/sh\nexec sleep {s}\n"} for s in ("0.001", "0.1")))
    comment = runner.home / "comment"
    runner.script(
        runner.home / "bin" / "gh",
        f'for last; do :; done; case $* in *POST*) cp "${{last#body=@}}" {comment} ;; esac',
    )
    ran = runner.run(pull="7", against=git(runner.work, "rev-parse", "HEAD~1"), **inputs)
    assert (ran.verdict, ran.code) == ("fail", 1), ran.log
    assert all(word in comment.read_text(encoding="utf-8") for word in ("FAIL", "`short`", "`long`"))


def test_the_example_projects_history() -> None:
    """Every command of its workflow parses, and an alarm comes after the page."""
    path = ROOT / "examples" / "project" / ".github" / "workflows" / "history.yml"
    steps = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]["history"]["steps"]
    commands = steps_of(line for step in steps for line in step.get("run", "").splitlines())
    assert [words[:2] for words in commands][-2:] == [["history", "page"], ["history", "watch"]]


def test_inputs_are_data(runner: Runner) -> None:
    """No expression stands in a script, so no input can become a command; odd file names work."""
    for step in STEPS:
        assert not EXPRESSION.search(step["run"])
    odd = write(runner.work, '$(touch harm) "a" `touch harm`;b.csv', 1, 1)
    new = write(runner.work, "new.csv", 1, 1)
    ran = runner.run(baseline=odd, candidate=new, only="b*\n$(touch harm)")
    assert ran.verdict == "pass", ran.log
    assert not (runner.work / "harm").exists()


def test_every_input_is_an_option() -> None:
    """The action offers the deciding and choosing options of the command, under their names."""
    options = {o.removeprefix("--") for p in command("gate").params for o in p.opts}
    assert set(ACTION["inputs"]) - {"comment", "command"} <= options
    assert {"policy", "margin", "confidence", "protocol", "multiplicity", "undecided"} <= set(
        ACTION["inputs"]
    )
    used = {m[1] for value in GATE["env"].values() for m in EXPRESSION.finditer(value)}
    assert {u.removeprefix("inputs.") for u in used if u.startswith("inputs.")} == set(ACTION["inputs"])
    for variable in GATE["env"]:
        assert f"${variable}" in GATE["run"] or f"export {variable}" in GATE["run"]


def blocks(page: str) -> tuple[str, list[Any]]:
    """A page of the manual, and its YAML."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return text, [*map(yaml.safe_load, re.findall(r"```yaml\n(.*?)```", text, re.DOTALL))]


def test_the_manuals_pipelines() -> None:
    """The examples of docs/gate.md are YAML; the workflow uses inputs and outputs that exist."""
    text, (workflow, job) = blocks("gate.md")
    (step,) = [s for s in workflow["jobs"]["gate"]["steps"] if "speedproof" in s.get("uses", "")]
    assert {"suite", "build"} <= set(step["with"]) <= set(ACTION["inputs"])
    assert set(re.findall(r"outputs\.(\w+)", text)) == set(ACTION["outputs"])
    (words,) = steps_of(job["gate"]["script"])
    assert parse(words).output.reports["markdown"] == "gate.md"
    assert job["gate"]["allow_failure"]["exit_codes"] == 3


def test_the_manuals_histories() -> None:
    """The pipelines of docs/history.md are YAML whose commands parse; an alarm keeps no page back."""
    _, (workflow, job) = blocks("history.md")
    history, page = workflow["jobs"]["history"]["steps"], workflow["jobs"]["page"]
    assert (page["needs"], page["if"]) == ("history", "always()")
    assert {workflow["permissions"][name] for name in ("pages", "id-token")} == {"write"}
    assert [step["uses"].partition("@")[0] for step in page["steps"]] == ["actions/deploy-pages"]
    lines = [line for step in history for line in step.get("run", "").splitlines()] + job["pages"]["script"]
    commands = steps_of(lines)
    assert [words[1] for words in commands] == ["add", "page", "watch"] * 2
    assert {str(getattr(parse(words), "output", None)) for words in commands} >= {"site/", "public/"}
    assert job["pages"]["artifacts"]["paths"] == ["public"]


def test_settings_and_reports(runner: Runner) -> None:
    """speedproof.toml of the checkout applies, an input goes before it; a page and JUnit are inputs."""
    base, slow = write(runner.work, "base.csv", 1, 1), write(runner.work, "new.csv", 1.2, 1)
    (runner.work / "speedproof.toml").write_text('[gate]\nmargin = "30%"\n')
    assert runner.run(baseline=base, candidate=slow).verdict == "pass"
    reports = {"html": "g.html", "junit": "g.xml"}
    assert runner.run(baseline=base, candidate=slow, margin="2%", **reports).verdict == "fail"
    assert "<!doctype html>" in (runner.work / "g.html").read_text(encoding="utf-8").lower()
    failures = ElementTree.parse(runner.work / "g.xml").getroot().findall(".//failure")
    assert [failure.get("type") for failure in failures] == ["fail"]

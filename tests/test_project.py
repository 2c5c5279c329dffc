"""What the project declares of itself is consistent."""

import re
import subprocess
import tomllib
from pathlib import Path

import yaml

import speedproof

ROOT = Path(__file__).parents[1]


def test_the_lowest_constraints_are_the_declared_ones() -> None:
    """constraints/lowest.txt pins what pyproject.toml allows at least, whatever a user may install."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    optional = project["optional-dependencies"]
    used = [
        *project["dependencies"],
        *(d for name, some in optional.items() if name not in ("dev", "test", "docs") for d in some),
    ]
    declared = {re.split("[<>=[]", d)[0]: d.partition(">=")[2] for d in used}
    lines = (ROOT / "constraints" / "lowest.txt").read_text(encoding="utf-8").splitlines()
    pinned = dict(line.split("==") for line in lines if "==" in line)
    for name, least in declared.items():
        assert pinned[name] == least or pinned[name].startswith(f"{least}."), name


def test_development_is_pinned() -> None:
    """constraints/dev.txt has a version for everything that an extra names."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [d for some in project["optional-dependencies"].values() for d in some]
    declared = {re.split(r"[<>=\[ ;]", d)[0].lower() for d in (*project["dependencies"], *extras)}
    lines = (ROOT / "constraints" / "dev.txt").read_text(encoding="utf-8").splitlines()
    assert declared - {"speedproof"} == {line.partition("==")[0] for line in lines if "==" in line}


def test_subjects_of_commits_fit_a_line() -> None:
    """Since the rule was made; a tree without its history has nothing to look at."""
    since = "a7e6362c62d93dd8957a429a014fcec04dee998c"
    command = ["git", "-C", str(ROOT), "log", "--no-merges", "--format=%s", f"{since}..HEAD"]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    assert [subject for subject in told.stdout.splitlines() if len(subject) > 72] == []


def test_one_version_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert speedproof.__version__ == project["version"] == citation["version"]
    assert project["license"] == citation["license"]


def test_what_workflows_call_is_there() -> None:
    """Targets of make, and every interpreter that the package names."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    texts = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / ".github/workflows").iterdir()}
    assert set(texts) == {"tests", "release", "docs"}
    workflows = {name: yaml.safe_load(text) for name, text in texts.items()}
    matrix = workflows["tests"]["jobs"]["matrix"]["strategy"]["matrix"]
    named = {line.rpartition(":: ")[2] for line in project["classifiers"] if ":: 3." in line}
    assert set(matrix["python"]) == named
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    called = {name for text in texts.values() for name in re.findall(r"make ([a-z][\w-]*)", text)}
    assert called | set(matrix["versions"]) <= targets
    for workflow in workflows.values():
        assert workflow["permissions"]["contents"] == "read"
        assert "write-all" not in str(workflow)


def test_the_issue_forms_are_forms() -> None:
    for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("[!c]*.yml"):
        form = yaml.safe_load(path.read_text(encoding="utf-8"))
        assert form["name"]
        assert form["description"]
        ids = [field["id"] for field in form["body"]]
        assert len(ids) == len(set(ids)) > 0

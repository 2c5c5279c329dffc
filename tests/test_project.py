"""What the project declares of itself is consistent."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

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

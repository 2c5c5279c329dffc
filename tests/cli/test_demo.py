"""The manual's demo: a real repository with a planted slowdown, really built; times are what its source says."""

import re
import runpy
import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.command import speedproof

from speedproof.data.session_file import PlannedVersion
from speedproof.measuring.execute import Run
from speedproof.measuring.executor import CommandExecutor
from speedproof.measuring.runs import Executor

pytestmark = pytest.mark.skipif(
    any(shutil.which(tool) is None for tool in ("git", "cc", "make")), reason="needs git, cc and make"
)
DEMO = Path(__file__).parents[2] / "docs" / "demo_repository.py"


@pytest.mark.slow
def test_the_planted_slowdown_is_proven_and_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    demo = runpy.run_path(str(DEMO))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(demo["make"](tmp_path / "words"))
    rng = np.random.default_rng(1)

    def measure(self: CommandExecutor, version: PlannedVersion) -> Run:
        rounds = re.search(r"round < (\d+)", (Path(version.cwd) / "words.c").read_text())
        assert rounds is not None
        assert (Path(version.cwd) / "words").stat().st_mode & 0o100
        return Run({"time": int(rounds[1]) * 1e-5 * float(np.exp(0.02 * rng.normal()))})

    monkeypatch.setattr(CommandExecutor, "measure", measure)
    monkeypatch.setattr(CommandExecutor, "execute", Executor.execute)  # one by one
    code, out, err = speedproof("run", "--revisions", "v1.2", "main", "--build", "make", "--", "./words")
    proven = r"\w+ main is 1\.\d+x slower than v1\.2 proven: at least 1\.\d+x"
    assert (code, bool(re.match(proven, " ".join(out.split())))) == (0, True), out + err
    code, out, err = speedproof("bisect", "v1.2..main", "--build", "make", "--seed", "1", "./words")
    assert (code, f"{demo['CULPRIT']} is the first slow commit" in out) == (0, True), out + err

"""``--higher-is-better`` on every command that reads files: more is better, though no unit says so."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest

import speedproof as sp
from speedproof.cli.console import Console
from speedproof.cli.main import main


@pytest.fixture(scope="module")
def frames(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Frames a second without a unit: b has a tenth more."""
    folder = tmp_path_factory.mktemp("frames")
    rng = np.random.default_rng(4)
    for name, level in (("a", 100.0), ("b", 110.0)):
        np.savetxt(folder / f"{name}.txt", level + rng.normal(size=40))
    (folder / "c.csv").write_text(f"Name,Sample1,Sample2\nf,{folder}/a.txt,{folder}/b.txt\n")
    return folder


def run(*words: str) -> tuple[int, str]:
    out, err = io.StringIO(), io.StringIO()
    return main([*words], Console(out, err)), out.getvalue() + err.getvalue()


@pytest.mark.parametrize(
    ("words", "worse", "better"),
    [
        ("compare a b", "b is 1.10x slower", "b is 1.10x faster"),
        ("gate a b", "FAIL", "PASS"),
        ("rank a b", "Run a", "Run b"),
        ("hpt a b", "  a by ", "  b by "),
        ("suite c.csv", "1.10x slower", "1.10x faster"),
    ],
)
def test_verdicts_turn(frames: Path, words: str, worse: str, better: str) -> None:
    """What would be slower is faster; a metric that is not there is an error."""
    command, *files = words.split()
    paths = [f"{file}={frames / file}.txt" if file in "ab" else str(frames / file) for file in files]
    assert worse in run(command, *paths)[1]
    assert better in run(command, *paths, "--higher-is-better", "time")[1]
    code, told = run(command, *paths, "--higher-is-better", "tim")
    assert (code, "no such metric; do you mean time?" in told) == (2, True)


def test_a_corpus_keeps_the_direction(frames: Path, tmp_path: Path) -> None:
    """As it was asked for when it was built; a metric that is not there is an error."""
    pytest.importorskip("pyarrow")
    paths = [str(frames / "a.txt"), str(frames / "b.txt")]
    for name, code in (("time", 0), ("tim", 2)):
        place = tmp_path / name
        assert run("corpus", "build", *paths, "-o", str(place), "--higher-is-better", name)[0] == code
    (direction,) = sp.Corpus(tmp_path / "time").query("SELECT DISTINCT direction FROM corpus")["direction"]
    assert direction.as_py() == "higher"


def test_samples_that_are_shown_keep_it(frames: Path) -> None:
    """In JSON as ``direction``."""
    told = json.loads(run("show", str(frames / "a.txt"), "--json", "--higher-is-better", "time")[1])
    assert told["results"][0]["samples"][0]["direction"] == "higher"

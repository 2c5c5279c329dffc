"""What starting costs: nothing is imported that is not used."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tests.command import ROOT

from speedproof.cli.main import every_command

HELP = [f"{name} --help" for name in every_command()]
ARROW = "pyarrow duckdb distributed dask"
O2, O3 = "examples/gcc/O2.json", "examples/gcc/O3.json"
CONFIG = "tests/data/speedup_test_tool/plain.csv"


def loaded(code: str, *words: str) -> list[str]:
    command = [sys.executable, "-c", f"import sys; {code}; print(*sys.modules, file=sys.stderr)", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    return done.stderr.splitlines()[-1].split()


@pytest.mark.parametrize(("words", "absent"), [
    (HELP, "numpy multiprocessing"), (["corpus --help"], ARROW), ([f"compare {O2} {O3}"], ARROW),
    (["--help"], "numpy decimal msgspec ctypes typing_extensions pathlib difflib"),
    (["--version"], "numpy decimal msgspec ctypes typing_extensions pathlib difflib"),
    ([f"suite {CONFIG}"], "scipy rich argparse matplotlib speedproof.protocols.hpt speedproof.conclude.suite"),
], ids=["all help", "group", "compare", "help", "version", "suite"])  # fmt: skip
def test_a_command_pays_for_what_it_uses(words: list[str], absent: str) -> None:
    found = loaded("import speedproof.cli.main as m; [m.main(c.split()) for c in sys.argv[1:]]", *words)
    assert "click" in found
    assert not {*absent.split()} & {*found}
    layers = ("speedproof.api.", "speedproof.data", "speedproof.stats") if words[0][:2] == "--" else ("none",)
    assert not [name for name in found if name.startswith(layers)]


@pytest.mark.parametrize(("code", "absent"), [
    ("import speedproof", "numpy speedproof.errors"),
    ("import speedproof as sp; sp.read(sys.argv[1])", "json scipy rich gzip"),
    ("import speedproof as sp; sp.compare([1, 2, 3], [2, 3, 4])", "scipy numba pandas"),
    ("import tempfile, speedproof as sp; d = tempfile.TemporaryDirectory(); "
     "c = sp.Corpus.build(['examples/gcc'], d.name); c.compare(workers=1); c.changes(workers=1); "
     "c.model(workers=1, bootstrap=0, where='values[1] > 0')", "pandas"),
])  # fmt: skip
def test_a_library_does_too(code: str, absent: str) -> None:
    assert not {*absent.split()} & {*loaded(code, CONFIG)}

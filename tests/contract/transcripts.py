"""What users see of every command, as recorded: ``python -m tests.contract.transcripts`` records it anew.

A change of what is printed is then a difference that whoever reads the commit sees. Text is held to the letter,
numbers of JSON to 1e-9.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from tests.command import Checked

from speedproof.cli.main import main

# What is another on every machine or day: moments, versions of libraries, sizes of files.
_VOLATILE = re.compile(
    r"\d{4}-\d\d-\d\d \d\d:\d\d(?!:)|(?<=Python )[\d.]+|(?<=NumPy )[\d.]+|(?<=answers/)[0-9a-f]+"
    r"|[\d.]+ (?:k|M|Ki|Mi)B(?=$|; open)",
    re.MULTILINE,
)


HERE = Path(__file__).parent
ROOT = HERE.parents[1]

TRANSCRIPTS: dict[str, list[str]] = {
    "compare": [
        "compare examples/gcc/O2.json examples/gcc/O3.json",
        "compare examples/gcc/O2.json examples/gcc/O3.json --only sorting",
        "compare examples/gcc/O2.json examples/gcc/O3.json --only sorting --explain",
        "compare examples/gcc/O2.json examples/gcc/O3.json --details",
        "compare examples/gcc/O2.json examples/gcc/O3.json --margin 2% --fail-on slower",
        "compare examples/gcc/O2.json examples/gcc/O3.json --protocol both --all",
        "compare examples/gcc/O2.json examples/gcc/O3.json --protocol touati2009",
        "compare examples/gcc/O2.json examples/gcc/O3.json --modes --only matmul",
        "compare examples/gcc/O2.json examples/gcc/O3.json --only sorting --json",
        "compare examples/gcc/O2.json examples/gcc/O3.json --csv -",
        "compare examples/gcc/O2.json examples/gcc/O3.json --markdown -",
        "compare examples/gzip/session.jsonl --metric time",
        "compare examples/gzip/session.jsonl --only FILE=code.py",
        "compare examples/faults/session.jsonl --why",
        "compare examples/sizes/session.jsonl --over n --metric time",
        "compare data/formats/hyperfine.json",
        "compare data/formats/pyperf.json data/formats/pyperf.json",
        "compare data/formats/go.txt",
        "compare data/formats/go-changes.txt",
        "compare data/formats/jmh.json",
        "compare data/formats/matrix.csv",
        "compare data/formats/one-run-old.csv data/formats/one-run-new.csv",
        "compare data/formats/wide.tsv",
        "compare data/formats/raw.txt data/formats/raw.txt --unit ms",
        "compare examples/gcc/O2.json examples/gcc/O3.json --only nothing",
        "compare examples/gcc/O2.json missing.json",
        "show examples/gzip/session.jsonl",
        "show data/formats/pyperf.json",
    ],
    "gate": [
        "gate examples/gcc/O2.json examples/gcc/O3.json",
        "gate examples/gcc/O3.json examples/gcc/O2.json --all",
        "gate examples/gcc/O2.json examples/gcc/O3.json --margin 40%",
        "gate examples/gcc/O2.json examples/gcc/O3.json --policy proven-improvement",
        "gate examples/gzip/session.jsonl:level-6 examples/gzip/session.jsonl:level-5",
        "gate examples/gcc/O2.json examples/gcc/O3.json --only sorting --json",
        "gate examples/gcc/O2.json examples/gcc/O3.json --markdown -",
        "gate examples/gcc/O2.json examples/gcc/O3.json --junit -",
        "gate examples/gcc/O2.json examples/gcc/O3.json --look 1/2 --open open.txt",
    ],
    "suites": [
        "hpt examples/gcc/O2.json examples/gcc/O3.json",
        "hpt examples/gcc/O2.json examples/gcc/O3.json --speedup 1.1",
        "hpt data/oracle_hpt/syn01_A.csv data/oracle_hpt/syn01_B.csv",
        "rank examples/gcc/O2.json examples/gcc/O3.json",
        "rank data/formats/hyperfine.json",
        "suite data/formats/speedup-test/config.csv",
        "model examples/gcc/O2.json --only sorting --bootstrap 0",
        "model examples/gcc/O2.json --only sorting --bootstrap 0 --json",
        "plot examples/gcc/O2.json examples/gcc/O3.json --only sorting -o sorting.svg",
    ],
    "sessions": [
        "run --review examples/gzip/session.jsonl",
        "run --review examples/gzip/session.jsonl --markdown -",
        "run --resume missing.jsonl",
        "run",
        "bisect",
        "cache --help",
    ],
    "history": [
        "history",
        "history show parse",
        "history watch",
        "history --json",
        "history --fail-on-change",
        "history query parse",
        "history bless HEAD~20 slower",
        "history page -o site",
    ],
    "corpus": [
        "corpus build examples/gcc/O2.json examples/gcc/O3.json -o corpus",
        "corpus info corpus",
        "corpus compare corpus --reference O2 --candidate O3 --workers 1",
        "corpus compare corpus --reference O2 --candidate O3 --workers 1 --details",
        "corpus query corpus 'select version, sum(n) from corpus group by 1 order by 1'",
        "compare corpus",
        "corpus model corpus --bootstrap-samples 0 --workers 1",
        "corpus build data/formats/go-changes.txt examples/gzip/session.jsonl -o tagged",
    ],
    "others": [
        "--version",
        "formats",
        "compare --help",
        "gate --help",
        "comprae",
        "compare --mragin 2% a b",
        "report data/formats/hyperfine.json",
    ],
}


def _repository() -> None:
    """60 commits of fixed dates, so of fixed names, measured; one of two benchmarks is slower from the 41st on."""
    who = {f"GIT_{role}_{what}": "t" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    subprocess.run(["git", "init", "-q", "-b", "main"], check=True)
    rng = np.random.default_rng(11)
    for i in range(60):
        date = f"@{1_767_225_600 + 86_400 * i} +0000"
        dated = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
        commit = ["git", "commit", "-q", "--allow-empty", "-m", f"Change {i}"]
        subprocess.run(commit, check=True, env=os.environ | who | dated)
        rows = ["benchmark,value,unit"]
        for name, level in (("parse", 1.0 + 0.05 * (i >= 40)), ("print", 2.0)):
            rows += [f"{name},{value:.6f},ms" for value in level * (1 + 0.01 * rng.standard_normal(5))]
        Path(f"{i}.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
        _run(f"history add {i}.csv --machine here")


def transcript(name: str, folder: Path) -> str:
    """All commands of a transcript, one after the other, in a folder of their own, with what they print."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        Path("examples").symlink_to(ROOT / "examples")
        Path("data").symlink_to(ROOT / "tests" / "data")
        if name == "history":
            _repository()
        return _VOLATILE.sub("...", "\n".join(_run(line) for line in TRANSCRIPTS[name]))
    finally:
        os.chdir(before)


def _run(line: str) -> str:
    """A command as a manual shows it: what it prints, its remarks behind "!", its exit code."""
    out, err = io.StringIO(), io.StringIO()
    code = main(shlex.split(line), Checked(out, err))
    remarks = "".join(f"! {remark}\n" for remark in err.getvalue().splitlines())
    return f"$ speedproof {line}\n{out.getvalue().rstrip()}\n{remarks}[{code}]\n"


if __name__ == "__main__":
    for name in sys.argv[1:] or TRANSCRIPTS:
        with tempfile.TemporaryDirectory() as folder:
            (HERE / f"{name}.txt").write_text(transcript(name, Path(folder)), encoding="utf-8")

"""``copy``, ``record [TESTS]``, ``draw N SEED [PART]``, ``try MODULE [NAME]``, ``again`` or ``summary FILE``."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from studies.mutants.operators import Mutant, all_mutants

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build" / "mutants"
TREE = BUILD / "tree"
PACKAGE = TREE / "src" / "speedproof"
PARTS = [
    "data", "stats", "mixture", "protocols", "conclude", "formats", "measuring", "history", "corpus",
    "plot", "reporting", "api", "cli",
]  # fmt: skip
# What is slow is tried by "again" alone.
FAST = ["-m", "not slow", "tests"]
NEAR = [*FAST[:2], "tests/test_sessions.py", "tests/data_model", *(f"tests/{part}" for part in PARTS)]
PLAIN = ["-o", "addopts=", "--import-mode=importlib", "-p", "no:cacheprovider"]


def copy() -> None:
    """Bring the copy up to what git knows of the repository, and to its compiled kernels."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, capture_output=True, check=True
    )
    kernels = [path.relative_to(ROOT).as_posix() for path in (ROOT / "src").rglob("*.so")]
    wanted = {name for name in (*listed.stdout.decode().split("\0"), *kernels) if (ROOT / name).is_file()}
    for path in TREE.rglob("*"):
        if path.is_file() and path.suffix != ".pyc" and path.relative_to(TREE).as_posix() not in wanted:
            path.unlink()
    for name in wanted:
        source, target = ROOT / name, TREE / name
        if not target.exists() or target.stat().st_mtime_ns != source.stat().st_mtime_ns:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(TREE)], check=True)


def run_tests(arguments: list[str], plugin: object) -> None:
    """Run pytest over the copy, in this process."""
    import pytest

    os.chdir(TREE)
    sys.dont_write_bytecode = False  # of the tests, as pytest compiles them
    with tempfile.TemporaryDirectory(prefix="mutants") as outside:
        pytest.main([*PLAIN, f"--basetemp={outside}/tmp", *arguments], plugins=[plugin])


def record(tests: list[str]) -> None:
    """Note which tests execute which lines: of all tests, or of some anew."""
    from studies.mutants.record import Recorder

    recorder = Recorder(PACKAGE)
    run_tests(["-q", *FAST[:2], *(tests or FAST[2:])], recorder)
    recorder.write(BUILD / f"recorded-{len(list(BUILD.glob('recorded-*')))}.json")


def run(
    choose: Callable[[list[Mutant]], list[Mutant]], tests: list[str], target: Path, seconds: float
) -> None:
    """Try some of all mutants, go on where it was cut off, and write what became of each."""
    from studies.mutants.record import Recorded
    from studies.mutants.server import Server

    if not (chosen := choose(all_mutants(PACKAGE, PARTS))):
        sys.exit("there is no mutant to try")
    done = {one["name"] for one in fates(target)} if target.exists() else set()

    def tell(mutant: Mutant, fate: str) -> None:
        with target.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"name": mutant.name, "fate": fate, **asdict(mutant)}) + "\n")

    recorded = Recorded(sorted(BUILD.glob("recorded-*.json")), PACKAGE)
    server = Server(PACKAGE, recorded, [one for one in chosen if one.name not in done], tell, seconds)
    run_tests(["-p", "no:terminal", *tests], server)
    summary(fates(target))


def fates(path: Path) -> list[dict[str, str]]:
    """Read what became of some mutants."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def is_in(mutant: Mutant, module: str, names: list[str]) -> bool:
    """Whether a mutant is in a module, and in any of some functions or classes."""
    return mutant.module == module and (not names or not {*mutant.function.split(".")}.isdisjoint(names))


def summary(found: list[dict[str, str]]) -> None:
    """Print the survivors, and the share that was killed with its exact interval."""
    from scipy.stats import binomtest

    alive = {one["name"]: one["fate"] for one in found if not one["fate"].startswith("killed")}
    for name, fate in sorted(alive.items()):
        print(f"{fate}: {name}")
    killed = len(found) - len(alive)
    interval = binomtest(killed, len(found)).proportion_ci(0.95)
    share = f"{killed / len(found):.1%} [{interval.low:.1%}, {interval.high:.1%}]"
    print(f"{killed} of {len(found)} were killed: {share}")


def main(arguments: list[str]) -> None:
    """Run one command in an interpreter that sees the copy."""
    if arguments == ["copy"]:
        copy()
    elif os.environ.get("PYTHONPATH", "").split(os.pathsep)[0] != str(TREE / "src"):
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(TREE / "src"), str(ROOT)]),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        command = [sys.executable, "-m", "studies.mutants", *arguments]
        os.chdir(ROOT)
        os.execve(sys.executable, command, environment)
    else:
        with_copy(arguments)


def with_copy(arguments: list[str]) -> None:
    """Carry out a command beside the copy."""
    match arguments:
        case ["record", *tests]:
            record(tests)
        case ["draw", number, seed, *parts]:
            target = BUILD / f"{'-'.join(arguments).replace('/', '')}.jsonl"
            begin = tuple(parts) or ""

            def draw(all_: list[Mutant]) -> list[Mutant]:
                chosen = [one for one in all_ if one.module.startswith(begin)]
                return random.Random(int(seed)).sample(chosen, int(number))

            run(draw, FAST, target, 20.0)
        case ["try", module, *names]:
            target = BUILD / "tried.jsonl"
            target.unlink(missing_ok=True)
            run(lambda all_: [m for m in all_ if is_in(m, module, names)], NEAR, target, 20.0)
        case ["again", file]:
            drawn = fates(Path(file))
            alive = {one["name"] for one in drawn if not one["fate"].startswith("killed")}
            target = Path(file).resolve().with_suffix(".again.jsonl")
            target.unlink(missing_ok=True)
            run(lambda all_: [one for one in all_ if one.name in alive], ["tests"], target, 200.0)
            summary([one for one in drawn if one["name"] not in alive] + fates(target))
        case ["summary", file]:
            summary(fates(Path(file)))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])

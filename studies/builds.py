"""Builds as the unit: how often layout alone is taken for a change, and a planted change found.

A small C program of seven files is built many times from the same objects, with a shuffled link order and a
padding of its own each time, as ``--builds`` does with ``{seed}``. Pairs of "commits" of identical code are
compared twice: as one build of each that is measured again and again, and as K fresh builds of each, one block a
pair of builds. Then the same with a change of 2 % planted in the code.

Run ``python studies/builds.py [PAIRS]``; 200 pairs take some minutes, and 0 leaves those sessions out. Processor
time decides, so that a busy machine disturbs little. The second table is of sessions drawn from one measurement of
200 builds of each with 9 runs of each build: what several numbers of builds and runs find.
"""

from __future__ import annotations

import functools
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from speedproof.api.measurement import Measurement
from speedproof.conclude.claims import SessionQuestion, StopRules
from speedproof.data.session_file import SCHEMA, PlannedBenchmark, PlannedBuild, PlannedVersion, SessionLine
from speedproof.measuring.execute import Run
from speedproof.measuring.executor import CommandExecutor
from speedproof.stats.signed_rank import signed_rank

FLAGS = ["-O1", "-ffunction-sections", "-falign-functions=1", "-falign-loops=1", "-fno-align-jumps"]
POOL, RUNS, DRAWS, RISK = 200, 9, 1000, 0.05
ROUNDS, MORE = 500, 10  # the planted change: 2 % more rounds
FUNCTION = """
unsigned f{k}(unsigned *x, int n) {{
  unsigned s = {one};
  for (int i = 0; i < n; i++) {{
    s ^= x[i] + (s << {shift});
    if (s & {bit}) s += {add}; else s ^= x[(s >> 20) & 255];
  }}
  return s;
}}
"""
MAIN = """
typedef unsigned function(unsigned *, int);
function f0, f1, f2, f3, f4, f5;
int main(void) {
  static unsigned x[1024];
  unsigned s = 0;
  for (int i = 0; i < 1024; i++) x[i] = i * 2654435761u;
  for (int r = 0; r < ROUNDS; r++)
    s += f0(x,1024) + f1(x,1024) + f2(x,1024) + f3(x,1024) + f4(x,1024) + f5(x,1024);
  return s == 42;
}
"""


class Processor(CommandExecutor, frozen=True):
    """Its processor time stands for its time."""

    def measure(self, version: PlannedVersion) -> Run:
        """Run once."""
        run = super().measure(version)
        return replace(run, metrics={"time": run.metrics["user"] + run.metrics["system"]})


def compile_all(folder: Path) -> list[Path]:
    """The objects that all builds are linked from."""
    sources = {
        f"f{k}": FUNCTION.format(k=k, one=k + 1, shift=k % 3 + 3, bit=1 << (k + 2), add=k + 7)
        for k in range(6)
    }
    for name, text in sources.items():
        (folder / f"{name}.c").write_text(text)
        subprocess.run(["gcc", *FLAGS, "-c", f"{name}.c"], cwd=folder, check=True)
    (folder / "main.c").write_text(MAIN)
    for name, rounds in (("A", ROUNDS), ("B", ROUNDS + MORE)):
        subprocess.run(
            ["gcc", *FLAGS, f"-DROUNDS={rounds}", "-c", "main.c", "-o", f"main{name}.o"],
            cwd=folder,
            check=True,
        )
    return [folder / f"{name}.o" for name in sources]


def link(folder: Path, objects: list[Path], code: str, seed: int) -> str:
    """One build: the objects in an order of their own, after some bytes of padding."""
    rng = np.random.default_rng([seed, ord(code)])
    tree = folder / f"{code}{seed:05}"
    tree.mkdir()
    padding = int(rng.integers(64))
    (tree / "pad.s").write_text(
        f'.section .text.pad,"ax"\n.fill {padding},1,0x90\n.section .note.GNU-stack,"",@progbits\n'
    )
    order = [str(objects[i]) for i in rng.permutation(len(objects))]
    subprocess.run(
        ["gcc", str(folder / f"main{code}.o"), "pad.s", *order, "-o", "bench"], cwd=tree, check=True
    )
    return str(tree)


def compared(sides: dict[str, list[str]], seed: int, *, repeats: int, blocks: int) -> str:
    """The verdict on two lists of builds; a list of one is measured in every block."""
    versions = []
    for name, trees in sides.items():
        rng = np.random.default_rng([seed, ord(name)])
        builds = tuple(PlannedBuild(tree, int(rng.integers(1, 4096))) for tree in trees)
        versions.append(PlannedVersion(name, ("./bench",), "./bench", cwd=trees[0], builds=builds))
    fixed = len(versions[0].builds) > 1
    rules = StopRules(0.05, stop_at_proof=True, min_blocks=10, max_blocks=blocks, max_time=None, fixed=fixed)
    head = SessionLine(
        SCHEMA, "s", "2026-01-01T00:00:00+00:00", seed, (PlannedBenchmark("b", tuple(versions)),)
    )
    session = Measurement(head, Processor(), SessionQuestion(rules, repeats=repeats))
    return session.run().findings[0].verdict.value


def of_sizes(trees: dict[str, list[str]]) -> None:
    """Print what sessions of several sizes say, drawn from the same runs."""
    executor, rng = Processor(), np.random.default_rng(2)
    values = np.empty((2, POOL, RUNS))
    for run in range(RUNS):
        for i in rng.permutation(POOL).tolist():
            for side in rng.permutation(2).tolist():
                tree = trees["AB"[side]][i]
                version = PlannedVersion("AB"[side], ("./bench",), "./bench", cwd=tree)
                values[side, i, run] = executor.measure(version).metrics["time"]
    print(
        "\n| builds | runs each | identical code: faster | slower | 2 % planted: found |\n|---|---|---|---|---|"
    )
    for count, runs in ((10, 1), (10, 3), (10, 5), (10, 9), (20, 1), (20, 5)):
        found = np.zeros(3)
        for _ in range(DRAWS):
            chosen, which = rng.permutation(POOL), rng.permutation(RUNS)[:runs]
            x, y = chosen[:count], chosen[count : 2 * count]
            medians = np.median(values[:, :, which], axis=2)
            same = signed_rank(np.log(medians[0, x] / medians[0, y]))
            planted = signed_rank(np.log(medians[0, x] / medians[1, y]))
            pvalues = (same.pvalue_positive, same.pvalue_negative, planted.pvalue_negative)
            found += np.array(pvalues) <= RISK
        shares = " | ".join(f"{share:.1%}" for share in found / DRAWS)
        print(f"| {count} | {runs} | {shares} |", flush=True)


def main() -> None:
    """Print the tables."""
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        objects = compile_all(folder)
        pool = 400
        with ThreadPoolExecutor(2) as threads:
            made = {
                code: list(threads.map(functools.partial(link, folder, objects, code), range(pool)))
                for code in "AB"
            }
        rng = np.random.default_rng(1)
        cases = [
            ("identical code, one build of each, 10 blocks", "A", 1, 1, 10, pairs),
            ("identical code, K = 10 builds, 1 run each", "A", 10, 1, 10, pairs),
            ("identical code, K = 10 builds, 5 runs each", "A", 10, 5, 10, pairs),
            ("2 % planted, K = 10 builds, 1 run each", "B", 10, 1, 10, pairs // 2),
            ("2 % planted, K = 10 builds, 5 runs each", "B", 10, 5, 10, pairs // 2),
            ("2 % planted, K = 20 builds, 5 runs each", "B", 20, 5, 20, pairs // 4),
        ]
        print("| compared | sessions | faster | slower | undecided |\n|---|---|---|---|---|")
        for title, other, count, repeats, blocks, sessions in cases if pairs else ():
            found: Counter[str] = Counter()
            for number in range(sessions):
                drawn = rng.permutation(pool)
                sides = {
                    "X": [made["A"][i] for i in drawn[:count]],
                    "Y": [made[other][i] for i in drawn[count : 2 * count]],
                }
                found[compared(sides, number, repeats=repeats, blocks=blocks)] += 1
            shares = " | ".join(f"{found[v] / sessions:.1%}" for v in ("faster", "slower", "undecided"))
            print(f"| {title} | {sessions} | {shares} |", flush=True)
        of_sizes(made)


if __name__ == "__main__":
    main()

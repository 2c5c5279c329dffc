"""What the sequential comparison claims of versions whose times differ in shape, and how much of it is marked.

``python studies/skewed_blocks.py [sessions]`` writes a Markdown table. The reference takes 10 with 2 % noise, the
candidate is a little faster in most runs and much slower in the others. No single speedup describes such a pair:
the mean says "slower" and the median "faster". Sessions end on a claim, after 10 blocks at the earliest, or after
200. Counted are the claims, and how many of them carry a mark because the test of symmetry rejects at 5 %, or
because the middle of the blocks lies beyond the certified bounds. The last row is a pair of one shape.
"""

from __future__ import annotations

import sys

import numpy as np

from speedproof.conclude.claims import StopRules
from speedproof.conclude.looks import SequentialComparison
from speedproof.protocols.results import Verdict

SEED = 20260501
RULES = StopRules(0.05, min_blocks=10, max_blocks=200, max_time=None)
NOISE = 0.02
# Time of the candidate, share of its slow runs, their time.
PAIRS = ((9.8, 0.1, 13.0), (9.0, 0.2, 20.0), (9.0, 0.3, 20.0), (9.9, 0.0, 9.9))


def session(rng: np.random.Generator, fast: float, share: float, slow: float) -> tuple[Verdict, bool, int]:
    """The verdict of one session, whether it is marked, and its number of blocks."""
    assert RULES.max_blocks is not None
    race = SequentialComparison("b", ["X", "Y"], RULES)
    noise = np.exp(NOISE * rng.standard_normal((RULES.max_blocks, 2)))
    candidate = np.where(rng.random(RULES.max_blocks) < share, slow, fast)
    for x, y in zip((10.0 * noise[:, 0]).tolist(), (candidate * noise[:, 1]).tolist(), strict=True):
        race.add({"X": x, "Y": y})
        if not race.open():
            break
    (finding,) = race.findings()
    return finding.verdict, bool(race.warnings("Y")), race.blocks


def main(sessions: int) -> None:
    """Simulate and print."""
    rng = np.random.default_rng(SEED)
    print(
        "| candidate | ratio of means | of medians | faster (marked) | slower (marked) | undecided | blocks |"
    )
    print("|---|---|---|---|---|---|---|")
    for fast, share, slow in PAIRS:
        found = [session(rng, fast, share, slow) for _ in range(sessions)]
        name = f"{fast:g}, {slow:g} in {share:.0%}" if share else f"{fast:g}"
        cells = [name, f"{10 / (fast + share * (slow - fast)):.3f}", f"{10 / fast:.3f}"]
        for verdict in (Verdict.FASTER, Verdict.SLOWER):
            marked = [doubted for claimed, doubted, _ in found if claimed is verdict]
            cells.append(f"{len(marked) / sessions:.1%} ({np.mean(marked):.0%})" if marked else "0")
        cells.append(f"{sum(v is Verdict.UNDECIDED for v, _, _ in found) / sessions:.1%}")
        cells.append(f"{np.median([blocks for _, _, blocks in found]):g}")
        print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)

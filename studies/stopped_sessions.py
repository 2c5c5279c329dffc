"""What tests for a size fixed beforehand say of sessions that ended on their own verdict.

``python studies/stopped_sessions.py [sessions]`` writes a Markdown table. An A/A session (lognormal times of 3 %
deviation, independent) ends when the sequential comparison claims "faster" or "slower" at 5 % a side, after
10 blocks at the earliest, or after 60. Its runs then go through the median and the mean protocol, and so do those
of a session with the same noise that is 60 blocks long whatever it shows. Counted are false claims of each kind.
A second table has a true speedup of 1.02: the share of sessions that claim "faster", the share of all sessions
whose certified lower bound exceeds the truth, which is to be at most 5 %, and the median observed speedup among
the claims.
"""

from __future__ import annotations

import sys

import numpy as np
import numpy.typing as npt
from scipy.stats import binom

from speedproof.conclude.claims import StopRules
from speedproof.conclude.looks import SequentialComparison
from speedproof.data.sample import Sample
from speedproof.protocols.pair import Rules
from speedproof.protocols.questions import ask
from speedproof.protocols.results import Comparison, Verdict

FloatArray = npt.NDArray[np.float64]

ALPHA = 0.05
SEED = 20260401
NOISE = 0.03
RULES = StopRules(alpha=ALPHA, min_blocks=10, max_blocks=60, max_time=None)
CLAIMS = (Verdict.FASTER, Verdict.SLOWER)


def _session(rng: np.random.Generator, speedup: float) -> tuple[FloatArray, int, SequentialComparison]:
    """All 60 blocks, after how many the session ended, and the race at that moment."""
    assert RULES.max_blocks is not None
    times = np.exp(NOISE * rng.standard_normal((RULES.max_blocks, 2)))
    times[:, 0] *= speedup
    race = SequentialComparison("b", ["X", "Y"], RULES)
    for x, y in times.tolist():
        race.add({"X": x, "Y": y})
        if not race.open():
            break
    return times, race.blocks, race


def _fixed(times: FloatArray) -> dict[str, Comparison]:
    x, y = Sample(times[:, 0]), Sample(times[:, 1])
    rules = Rules(alpha=ALPHA)
    return {name: ask(name, x, y, rules) for name in ("median", "mean")}


def main(sessions: int) -> None:
    """Simulate and print."""
    rng = np.random.default_rng(SEED)
    ends = ("at that end", "60 blocks")
    rows = ["sequential, at its end", *(f"{p}, {end}" for end in ends for p in ("median", "mean"))]
    false = {row: dict.fromkeys(CLAIMS, 0) for row in rows}
    beyond = dict.fromkeys(rows, 0)
    observed: dict[str, list[float]] = {row: [] for row in rows}
    for speedup in (1.0, 1.02):
        for _ in range(sessions):
            times, blocks, race = _session(rng, speedup)
            (finding,) = race.findings()
            found = {rows[0]: (finding.verdict, finding.result.low, finding.estimate)}
            for what, part in zip(ends, (times[:blocks], times), strict=True):
                for name, c in _fixed(part).items():
                    found[f"{name}, {what}"] = (c.verdict, c.speedup.low, c.speedup.value)
            for row, (verdict, low, value) in found.items():
                if speedup == 1.0:
                    if verdict in CLAIMS:
                        false[row][verdict] += 1
                else:
                    beyond[row] += low > speedup
                    if verdict is Verdict.FASTER:
                        observed[row].append(value)
    print(f"{sessions} sessions a table; stated risk {ALPHA:.0%} a side.\n")
    print("| A/A | claims faster | claims slower |\n|---|---|---|")
    for row in rows:
        print(f"| {row} | " + " | ".join(_share(false[row][claim], sessions) for claim in CLAIMS) + " |")
    print(
        "\n| speedup 1.02 | claims faster | certified more than the truth | median observed among the claims |"
    )
    print("|---|---|---|---|")
    for row in rows:
        count, value = len(observed[row]), np.median(observed[row])
        print(f"| {row} | {count / sessions:.1%} | {_share(beyond[row], sessions)} | {value:.4f} |")


def _share(count: int, total: int) -> str:
    """A share; ``!`` when so many or more would have a probability below 1e-4 at the stated risk."""
    unlikely = binom.sf(count - 1, total, ALPHA) < 1e-4
    return f"{count / total:.1%}{' !' if unlikely else ''}"


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)

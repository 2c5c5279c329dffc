"""How often a step is shown in a short history: the table of docs/tables.md.

    python studies/history_power.py

Shares of 1,000 normal series, in %, at a risk of 5 % for one benchmark; d is the step in deviations of a commit.
"""

from __future__ import annotations

import numpy as np

from speedproof.stats.change_points import change_pvalues

SERIES, RISK = 1000, 0.05


def share(commits: int, at: int, step: float) -> float:
    """Of series whose step after so many commits is shown."""
    rng = np.random.default_rng([commits, at, round(10 * step)])
    series = rng.standard_normal((SERIES, commits)) + step * (np.arange(commits) >= at)
    return 100.0 * float((change_pvalues(series) <= RISK).mean())


def main() -> None:
    """Print the table."""
    print("| commits | none | d = 2, 4, 8, 16 in the middle | before the last 4 |\n|---|---|---|---|")
    for commits in (8, 10, 12, 15, 20, 30, 40, 60):
        none = share(commits, commits, 0.0)
        middle, late = (
            ", ".join(f"{share(commits, at, d):.0f}" for d in (2.0, 4.0, 8.0, 16.0))
            for at in (commits // 2, commits - 4)
        )
        print(f"| {commits} | {none:.0f} | {middle} | {late} |")


if __name__ == "__main__":
    main()

"""How rare the false alarms of ``history watch`` are, and how many commits a true one takes: docs/history.md.

    python studies/history_alarms.py

First the mean number of commits between false alarms where 1,000 are stated, for one benchmark and ten together,
then the share of steps of d deviations that are announced within two, three and ten commits, and at their commit.
"""

from __future__ import annotations

import numpy as np
from studies.history_several import NOISES

from speedproof.stats.alarms import alarms

SERIES, COMMITS, EVERY = 100, 300, 1000.0


def main() -> None:
    """Print both tables."""
    print("| noise | 1 benchmark | 10 benchmarks |\n|---|---|---|")
    for kind, draw in NOISES.items():
        cells = []
        for many in (1, 10):
            series = draw(np.random.default_rng([12, many]), (SERIES * min(many, 3), COMMITS))
            count = sum(len(alarms(row, EVERY * many)) for row in series)
            cells.append(f"{series.size / max(count, 1) / many:,.0f}")
        print(f"| {kind} | {' | '.join(cells)} |", flush=True)
    print("\n| commits before, benchmarks | d = 2 | 5 | 10 |\n|---|---|---|---|")
    for before, many in ((20, 1), (40, 1), (40, 10)):
        cells = []
        for step in (2.0, 5.0, 10.0):
            x = np.random.default_rng([before, int(step)]).standard_normal((SERIES, before + 30))
            x[:, before:] += step
            first = [next((a for a in alarms(row, EVERY * many) if a.raised >= before), None) for row in x]
            late = np.array([a.raised - before + 1 if a else COMMITS for a in first])
            shares = [100 * float((late <= most).mean()) for most in (2, 3, 10)]
            exact = 100 * np.mean([a.since == before for a in first if a])
            cells.append(f"{', '.join(f'{share:.0f}' for share in shares)}; {exact:.0f}")
        print(f"| {before}, {many} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()

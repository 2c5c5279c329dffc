"""How rare the false alarms of ``history watch`` are, and how many commits a true one takes.

    python studies/history_alarms.py

First the mean number of commits between false alarms where 500 are stated, then the mean delay of the alarm after
a step of d deviations at commit 100, where one false alarm in 1,000 commits is allowed.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from speedproof.stats.alarms import alarms

NOISES = ("normal", "log-normal", "bimodal", "AR .3", "AR .6")


def noise(kind: str, rng: np.random.Generator, n: int) -> npt.NDArray[np.float64]:
    """A series of unit variance."""
    z: npt.NDArray[np.float64] = rng.standard_normal(n)
    if kind == "log-normal":
        z = np.exp(z)
        return np.asarray((z - z.mean()) / z.std())
    if kind == "bimodal":
        return np.asarray((z * 0.3 + np.where(rng.random(n) < 0.3, 2.0, 0.0)) / 0.96)
    if kind.startswith("AR"):
        rho = float(kind.split()[1])
        z *= np.sqrt(1 - rho * rho)
        for i in range(1, n):
            z[i] += rho * z[i - 1]
    return z


def main() -> None:
    """Print both tables."""
    rng = np.random.default_rng(12)
    print("| noise | commits between false alarms | delay of 1, 2, 4 deviations |\n|---|---|---|")
    for kind in NOISES:
        count = sum(len(alarms(noise(kind, rng, 1000), 500.0)) for _ in range(30))
        delays = []
        for step in (1.0, 2.0, 4.0):
            found = []
            for _ in range(40):
                series = noise(kind, rng, 200)
                series[100:] += step
                late = [a.raised - 100 + 1 for a in alarms(series, 1000.0) if a.raised >= 100]
                found.append(late[0] if late else 100)
            delays.append(f"{np.mean(found):.0f}")
        print(f"| {kind} | {30 * 1000 / max(count, 1):.0f} | {', '.join(delays)} |")


if __name__ == "__main__":
    main()

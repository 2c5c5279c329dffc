"""How often a session that decides by a quantile ever errs: a line of docs/quantiles.md.

    python -m studies.quantile_sessions [--sessions 400]

Sessions of two equal versions, looked at after every fourth of 300 blocks, that ever say "faster", in %.
"""

from __future__ import annotations

import argparse

import numpy as np

from speedproof.arrays import FloatArray
from speedproof.stats.sequential import QuantileSequence

BLOCKS, EVERY = 300, 4


def draws(name: str, rng: np.random.Generator) -> FloatArray:
    """The runs of one version."""
    if name == "slow runs":
        return np.asarray(rng.lognormal(0.0, 0.1, BLOCKS) * np.where(rng.random(BLOCKS) < 0.12, 3.0, 1.0))
    if name == "ticks":
        return np.maximum(rng.lognormal(1.0, 0.3, BLOCKS).round(), 1.0)
    return rng.exponential(1.0, BLOCKS) if name == "exponential" else rng.lognormal(0.0, 0.3, BLOCKS)


def errs(q: float, name: str, load: float, rng: np.random.Generator) -> bool:
    """Whether one session ever says "faster"."""
    shared = rng.lognormal(0.0, load, BLOCKS)
    sequence = QuantileSequence(q)
    for i, (x, y) in enumerate(zip(draws(name, rng) * shared, draws(name, rng) * shared, strict=True)):
        sequence.add(float(x), float(y))
        if i % EVERY == EVERY - 1 and sequence.rejects(1.0, side=1):
            return True
    return False


def main() -> None:
    """Print the shares."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sessions", type=int, default=400)
    sessions = parser.parse_args().sessions
    for q in (0.5, 0.9):
        for name in ("log-normal", "exponential", "ticks", "slow runs"):
            for load in (0.0, 0.5):
                rng = np.random.default_rng([int(100 * q), int(10 * load)])
                wrong = sum(errs(q, name, load, rng) for _ in range(sessions))
                print(f"p{100 * q:g} {name}, shared load {load}: {100 * wrong / sessions:.2f} %", flush=True)


if __name__ == "__main__":
    main()

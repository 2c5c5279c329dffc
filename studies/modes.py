"""How often several modes are shown, of laws with one mode and with two: ``python -m studies.modes [RUNS]``."""

from __future__ import annotations

import sys

import numpy as np
import numpy.typing as npt

from speedproof.mixture.fitting import fit
from speedproof.mixture.modes import number_of_modes

Floats = npt.NDArray[np.float64]

ONE = (
    "normal", "lognormal", "uniform", "beta(2, 2)", "Laplace", "t(3)", "exponential", "lognormal .3",
    "lognormal .5", "exgaussian",
)  # fmt: skip
TWO = ("4 sd, 20 %", "4 sd, 10 of 50", "4 sd, half", "6 sd, 20 %", "a narrow fast mode")


def draw(law: str, n: int, rng: np.random.Generator) -> Floats:
    """Draw one sample."""
    slow = rng.random(n) < (0.5 if law == "4 sd, half" else 0.2)
    if law == "4 sd, 10 of 50":
        slow = np.arange(n) < n // 5
    fast = rng.normal(0, 0.1 if law == "a narrow fast mode" else 1, n)
    match law:
        case "normal":
            return rng.normal(100, 1, n)
        case "lognormal":
            return rng.lognormal(0, 0.1, n)
        case "lognormal .3":
            return rng.lognormal(0, 0.3, n)
        case "lognormal .5":
            return rng.lognormal(0, 0.5, n)
        case "uniform":
            return rng.uniform(0, 1, n)
        case "beta(2, 2)":
            return rng.beta(2, 2, n)
        case "Laplace":
            return rng.laplace(0, 1, n)
        case "t(3)":
            return rng.standard_t(3, n)
        case "exponential":
            return rng.exponential(1, n)
        case "exgaussian":  # of all laws with one mode the likest to two modes 4 sd apart
            return rng.normal(0, 0.744, n) + rng.exponential(1.823, n)
        case "6 sd, 20 %":
            return np.where(slow, rng.normal(6, 1, n), fast)
        case "a narrow fast mode":
            return np.where(slow, rng.normal(3, 0.5, n), fast)
        case _:
            return np.where(slow, rng.normal(4, 1, n), fast)


def shown(law: str, n: int, runs: int, seed: int = 0) -> int:
    """Of so many samples those that show two modes or more."""
    samples = (
        draw(law, n, np.random.default_rng(child)) for child in np.random.SeedSequence([seed, n]).spawn(runs)
    )
    return sum(number_of_modes(fit(x)) > 1 for x in samples)


def main(runs: int, sizes: tuple[int, ...] = (20, 30, 50, 100, 200, 500)) -> None:
    """Print a line for each law."""
    print("| two modes or more, % |" + "".join(f" n = {n} |" for n in sizes), flush=True)
    for law in (*ONE, *TWO):
        cells = "".join(f" {100 * shown(law, n, runs) / runs:.1f} |" for n in sizes)
        print(f"| {law} |{cells}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)

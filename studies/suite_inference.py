"""Do the answers over a suite keep their promises? Coverage, family-wise error, false discoveries, size.

Usage: ``python -m studies.suite_inference [--repeats 2000]``; every table is the same for the same seed.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace
from studies.scores import entries_of_scores

from speedproof.conclude.multiplicity import control_verdicts
from speedproof.data.sample import Sample
from speedproof.data.suite import Key, Pair
from speedproof.protocols.aggregates import LogRatios
from speedproof.protocols.hpt import hpt
from speedproof.protocols.hpt_levels import HptRule
from speedproof.protocols.pair import PreparedPairs, Rules
from speedproof.protocols.questions import ask
from speedproof.protocols.results import Verdict
from speedproof.protocols.typical import typical_runs

Floats = npt.NDArray[np.float64]
ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Share:
    """How often something happened.

    Attributes
    ----------
    count, repeats : int
        Times it happened, out of how many.
    """

    count: int
    repeats: int

    def __str__(self) -> str:
        share = self.count / self.repeats
        return f"{100 * share:6.2f} % +- {100 * math.sqrt(share * (1 - share) / self.repeats):.2f}"


def pair(x: Floats, y: Floats, name: str = "") -> Pair:
    """Two samples of a benchmark."""
    return Pair(Key(name), Sample(x), Sample(y))


NOISES: dict[str, Callable[[np.random.Generator, tuple[int, ...]], Floats]] = {
    "normal": lambda rng, shape: 1 + 0.02 * rng.normal(size=shape),
    "exponential": lambda rng, shape: 1 + 0.05 * rng.exponential(size=shape),
    "two modes": lambda rng, shape: 1 + 0.01 * rng.normal(size=shape) + 0.1 * (rng.random(shape) < 0.3),
}
"""Of single runs, around a time of 1."""


def coverage(
    sizes: tuple[int, ...],
    runs: tuple[int, int],
    repeats: int,
    seed: int,
    *,
    noise: str = "normal",
    nested: int = 1,
    drawn: int = 6000,
) -> dict[int, tuple[Share, Share]]:
    """How often either interval of the geometric mean of typical speedups holds the truth.

    Parameters
    ----------
    sizes : tuple of int
        Of the suites, in benchmarks.
    runs : (int, int)
        Of the reference and of the candidate.
    repeats, seed : int
        How many suites of each size; the same seed gives the same ones.
    noise : str
        A key of `NOISES`, or one of the reference and one of the candidate with " / " between them.
    nested : int
        Values a process. Of several, the processes differ by that noise, and their values more.
    drawn : int
        Benchmarks of a ratio of 1 that suites choose from; those of a suite are set apart by their true speedups.

    Returns
    -------
    dict
        By size, against the geometric mean of the suite's own true speedups, and against that of the lognormal
        population, of median 1.1, which they were drawn from.
    """
    rng = np.random.default_rng(seed)
    of_x, of_y = (NOISES[name] for name in (noise.split(" / ") * 2)[:2])
    many = np.random.default_rng([seed, 1]), (2_000_000,)
    unlike = 0.0 if of_x is of_y else math.log(float(np.median(of_x(*many) / of_y(*many))))

    def sample(processes: int, noise_of: Callable[[np.random.Generator, tuple[int, ...]], Floats]) -> Sample:
        values = noise_of(rng, (processes, 1))
        if nested == 1:
            return Sample(values[:, 0])
        values = values * (1 + 0.05 * rng.exponential(size=(processes, nested)))
        return Sample(values.ravel(), processes=np.repeat(np.arange(processes), nested))

    pairs = [Pair(Key(""), sample(runs[0], of_x), sample(runs[1], of_y)) for _ in range(drawn)]
    known = [
        (c.speedup.value, c.log)
        for c in typical_runs(PreparedPairs(pairs, Rules(ALPHA)))
        if c.log is not None
    ]
    found = {}
    for size in sizes:
        these = like = 0
        for _ in range(repeats):
            logs, suite = rng.normal(math.log(1.1), 0.2, size).tolist(), LogRatios()
            for shift, at in zip(logs, rng.choice(len(known), size, replace=False).tolist(), strict=True):
                speedup, log = known[at]
                suite.add(LogRatios.of(speedup * math.exp(shift), replace(log, centre=log.centre + shift)))
            means = suite.means(ALPHA)
            assert means is not None  # of two or more
            these += means.these.low <= math.exp(sum(logs) / size + unlike) <= means.these.high
            like += means.like_these.low <= 1.1 * math.exp(unlike) <= means.like_these.high
        found[size] = Share(these, repeats), Share(like, repeats)
    return found


@dataclass(frozen=True, slots=True)
class ErrorRates:
    """False claims over suites.

    Attributes
    ----------
    plain, holm : Share
        Suites with a false claim at all, without control and with Holm's.
    discoveries : Floats, shape (repeats,)
        Share of the claims that are false, under Benjamini and Hochberg; 0 without a claim.
    """

    plain: Share
    holm: Share
    discoveries: Floats


def error_rates(benchmarks: int, gaining: int, shared: float, repeats: int, seed: int) -> ErrorRates:
    """Claims on suites whose benchmarks share a part of their noise.

    Parameters
    ----------
    benchmarks, gaining : int
        Size of the suites, and how many of their benchmarks are 5 % faster; the others are unchanged.
    shared : float
        Share of the variance that the i-th runs of all benchmarks have in common.
    repeats, seed : int
        How many suites; the same seed gives the same ones.
    """
    rng = np.random.default_rng(seed)
    plain = holm = 0
    discoveries = []
    for _ in range(repeats):
        common = math.sqrt(shared) * rng.normal(size=(2, 10))
        comparisons = []
        for i in range(benchmarks):
            x, y = 1 + 0.03 * (common + math.sqrt(1 - shared) * rng.normal(size=(2, 10)))
            case = pair(1.05 * x if i < gaining else x, y, str(i))
            comparisons.append(ask("mean", case.reference, case.candidate, Rules(ALPHA), case.key))
        null = comparisons[gaining:]
        plain += any(c.verdict is not Verdict.UNDECIDED for c in null)
        controlled = control_verdicts(comparisons, ALPHA).verdicts
        holm += any(row.verdict is not Verdict.UNDECIDED for row in controlled[gaining:])
        claims = [
            row.verdict is not Verdict.UNDECIDED
            for row in control_verdicts(comparisons, ALPHA, method="bh").verdicts
        ]
        discoveries.append(sum(claims[gaining:]) / max(sum(claims), 1))
    return ErrorRates(Share(plain, repeats), Share(holm, repeats), np.array(discoveries))


def false_alarms(ratio: float, repeats: int, seed: int) -> tuple[Share, Share]:
    """A/A comparisons of 10 processes of 10 values, mean protocol.

    Parameters
    ----------
    ratio : float
        Standard deviation between processes over that within them.
    repeats, seed : int
        How many comparisons; the same seed gives the same ones.

    Returns
    -------
    by_process, pooled : Share
        "Faster", with one value a process and with all values as if they were independent.
    """
    rng = np.random.default_rng(seed)
    processes = np.repeat(np.arange(10), 10)
    alarms = pooled = 0
    for _ in range(repeats):
        x, y = (
            Sample(100 + ratio * rng.normal(size=10)[processes] + rng.normal(size=100), processes=processes)
            for _ in "xy"
        )
        alarms += ask("mean", x, y, Rules(ALPHA)).pvalue <= ALPHA
        pooled += ask("mean", x, y, Rules(ALPHA, nested="pool")).pvalue <= ALPHA
    return Share(alarms, repeats), Share(pooled, repeats)


def hpt_size(benchmarks: int, runs: int, rule: HptRule, decimals: int, repeats: int, seed: int) -> Share:
    """How often HPT claims a winning candidate, at confidence 0.95, where nothing has changed.

    Parameters
    ----------
    benchmarks, runs : int
        Size of the suites.
    rule : {"exact", "paper"}
        Null distributions of both levels.
    decimals : int
        The scores, lognormal with deviation 0.3, are rounded, so that they tie.
    repeats, seed : int
        How many suites; the same seed gives the same ones.
    """
    rng = np.random.default_rng(seed)
    count = 0
    for _ in range(repeats):
        x, y = (rng.lognormal(1, 0.3, (benchmarks, runs)).round(decimals).tolist() for _ in "xy")
        count += hpt(entries_of_scores(x, y), [], rule=rule).pvalue_candidate <= ALPHA
    return Share(count, repeats)


def main() -> None:
    """Print every table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=2000)
    repeats = parser.parse_args().repeats
    print("Coverage of the two 95 % intervals of the geometric mean of typical speedups")
    for noise in (*NOISES, "two modes / normal"):
        for runs, nested in (((5, 5), 1), ((50, 50), 1), ((5, 5), 10), ((5, 50), 1)):
            told = f"{runs} processes of {nested}" if nested > 1 else f"runs {runs}"
            for size, shares in coverage(
                (3, 6, 20, 122), runs, repeats, 1, noise=noise, nested=nested
            ).items():
                print(
                    f"  {noise:18} {size:3} benchmarks, {told}: these {shares[0]}, like these {shares[1]}",
                    flush=True,
                )
    print("Suites of 20 with any false claim at 5 %, and false share of the claims (Benjamini-Hochberg)")
    for gaining in (0, 10):
        for shared in (0.0, 0.5, 0.9):
            rates = error_rates(20, gaining, shared, repeats // 4, 2)
            print(
                f"  {gaining:2} of 20 faster, shared noise {shared}: plain {rates.plain}, Holm {rates.holm}, "
                f"false share {100 * rates.discoveries.mean():.2f} %"
            )
    print("A/A, 10 processes x 10 values, 'faster' at 5 %")
    for ratio in (0.5, 1.0, 2.0):
        by_process, pooled = false_alarms(ratio, repeats, 3)
        print(f"  between/within {ratio}: by process {by_process}, pooled {pooled}")
    print("HPT, nothing changed: 'the candidate wins' at confidence 0.95")
    for size, count in ((6, 1), (10, 3), (12, 5), (30, 10)):
        for decimals in (1, 6):
            exact, paper = (hpt_size(size, count, r, decimals, repeats, 4) for r in ("exact", "paper"))
            print(f"  {size:2} x {count:2}, {decimals} decimals: exact {exact}, paper {paper}")


if __name__ == "__main__":
    main()

"""How often the gate raises a false alarm, and how often it lets something pass, by seeded simulation.

``python studies/gate.py [repetitions [protocol ...]]`` writes a Markdown table for every policy, correction and
protocol. A suite has ten benchmarks with a noise of about 5 %, the margin is 2 %, alpha 0.05. Three situations:

* A/A, fail: nothing changed, X and Y are draws of one distribution; share of gates that fail.
* edge, fail: every speedup lies exactly where the policy's contradiction begins (at 1 / 1.02, or at 1 for a
  proven improvement), the worst case in which no contradiction is true; share of gates that fail.
* edge, pass: one speedup lies exactly at that edge, so its requirement is false, all others meet theirs with
  ease; share of gates that pass.

A share is marked ``!`` when so many errors or more would happen with probability below 1e-4 were the true risk
the one that the gate states: 0.05; without correction, 1 - 0.95^10 = 0.401 for a fail.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import binom

from speedproof.conclude.claims import ASKS, MULTIPLICITIES, Outcome, overall
from speedproof.options import Location, Multiplicity, Policy
from speedproof.protocols.mean import decide_mean, mean_tests
from speedproof.protocols.median import decide_median, median_tests
from speedproof.stats.dependence import variance_inflation
from speedproof.stats.ratio import log_ratio_of_means, ratio_of_means_test
from speedproof.stats.ratio_medians import ratio_of_medians_test
from speedproof.stats.special import t_sf
from speedproof.stats.superiority import typical_ratio_test

FloatArray = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, ...]], FloatArray]

ALPHA = 0.05
MARGIN = 0.02
BENCHMARKS = 10
PROTOCOLS: tuple[Location, ...] = ("typical", "mean", "median")
EDGES = {
    Policy.NO_REGRESSION: 1 / (1 + MARGIN),
    Policy.PROVEN_IMPROVEMENT: 1.0,
    Policy.EQUIVALENCE: 1 + MARGIN,
}
QUIET = 0.02  # the noise of the benchmarks that pass with ease, as a share of that of the others


def _normal(rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
    return rng.normal(0.0, 0.05, shape)


def _skewed(rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
    return 0.03 * rng.exponential(1.0, shape) + rng.normal(0.0, 0.03, shape)


def _bimodal(rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
    return rng.normal(0.0, 0.02, shape) + 0.1 * (rng.random(shape) < 0.3)


SHAPES: dict[str, Draw] = {"normal": _normal, "skewed": _skewed, "bimodal": _bimodal}


def evidence_of(
    slow: FloatArray, fast: FloatArray, margin: float, alpha: float, protocol: Location
) -> dict[str, FloatArray]:
    """The p-values of :func:`speedproof.conclude.claims.evidence`, of arrays of pairs."""
    low, high = 1 / (1 + margin), 1 + margin
    if protocol == "typical":
        inflation = np.repeat(variance_inflation(slow, fast)[..., None], 2, axis=-1)
        stopped = np.zeros(slow.shape[:-1], dtype=np.bool_)
        modelled = ~stopped
        at = [typical_ratio_test(slow, fast, g, inflation=inflation) for g in (low, 1.0, high)]
    elif protocol == "mean":
        of_means = decide_mean(mean_tests(slow, fast), alpha)
        stopped = of_means.lacking_x | of_means.lacking_y
        modelled = ~stopped
        at = [ratio_of_means_test(slow, fast, g, of_means.holds[-1]) for g in (low, 1.0, high)]
    else:
        of_medians = decide_median(median_tests(slow, fast), alpha)
        stopped = of_medians.lacking_x | of_medians.lacking_y
        modelled = of_medians.holds[0]
        at = [ratio_of_medians_test(slow, fast, g) for g in (low, 1.0, high)]
    above = [np.where(stopped, np.nan, test.pvalue) for test in at]
    below = [np.where(stopped, np.nan, test.pvalue_less) for test in at]
    return {
        "not worse": above[0],
        "regression": below[0],
        "improvement": above[1],
        "slowdown": below[1],
        "equivalence": np.where(modelled, np.maximum(above[0], below[2]), np.nan),
        "difference": np.minimum(1.0, 2 * np.minimum(below[0], above[2])),
    }


def average_at_edge(
    gates: int, runs: int, jump: float, noise: float, seed: int
) -> tuple[float, float, float]:
    """Shares of gates that fail where every ratio of means lies exactly at the margin, so that none is worse.

    A fifth of the candidate's runs take 1 + `jump` times as long. Of all gates; of those that a mean alone makes
    fail; and, where the means are 5 % beyond the margin, of all.
    """
    rng = np.random.default_rng([seed, runs])
    shape = (gates, BENCHMARKS, runs)
    x, y = 1 + noise * rng.normal(size=shape), 1 + noise * rng.normal(size=shape)
    y *= np.where(rng.random(shape) < 0.2, 1 + jump, 1.0) * (1 + MARGIN) / (1 + 0.2 * jump)
    found = []
    for worse in (1.0, 1.05):
        told = evidence_of(x, worse * y, MARGIN, ALPHA, "typical")
        logs, edge = log_ratio_of_means(x, worse * y), np.log1p(MARGIN)
        centre = np.log(x.mean(axis=-1) / (worse * y.mean(axis=-1))) - logs.bias
        by_mean = t_sf((-edge - centre) / logs.error, logs.df)
        once = np.where(told["not worse"] <= ALPHA, by_mean, 3 * by_mean)
        only_mean = (told["regression"] > ALPHA) & (once <= ALPHA)
        against = np.where(only_mean, np.minimum(once, told["regression"]), told["regression"])
        fails = np.array([(MULTIPLICITIES["holm"](row) <= ALPHA).any() for row in against])
        typical = np.array([(MULTIPLICITIES["holm"](row) <= ALPHA).any() for row in told["regression"]])
        found += [float(fails.mean()), float((fails & ~typical).mean())]
    return found[0], found[1], found[2]


@dataclass(frozen=True, slots=True)
class Share:
    """Wrong answers out of gates, of one way to decide in one situation."""

    shape: str
    runs: int
    protocol: Location
    policy: Policy
    multiplicity: Multiplicity
    situation: str
    errors: int
    gates: int

    @property
    def limit(self) -> float:
        """The risk that the gate states for this situation."""
        if self.multiplicity == "none" and self.situation.endswith("fail"):
            return 1.0 - (1.0 - ALPHA) ** BENCHMARKS
        return ALPHA

    @property
    def excessive(self) -> bool:
        """Whether a binomial variable of that risk is this large with probability below 1e-4."""
        return bool(binom.sf(self.errors - 1, self.gates, self.limit) < 1e-4)


def _situations(
    rng: np.random.Generator, draw: Draw, shape: tuple[int, int, int], policy: Policy
) -> Iterator[tuple[str, Outcome, FloatArray, FloatArray]]:
    """The situation's name, the wrong answer in it, and X and Y."""
    edge = EDGES[policy]
    x, y = 1 + draw(rng, shape), 1 + draw(rng, shape)
    yield "A/A, fail", Outcome.FAIL, x, y
    yield "edge, fail", Outcome.FAIL, edge * x, y
    x, y = 1 + draw(rng, shape), 1 + draw(rng, shape)
    x[:, 1:], y[:, 1:] = 1 + QUIET * (x[:, 1:] - 1), 1 + QUIET * (y[:, 1:] - 1)
    x[:, 0] *= edge
    if policy is Policy.PROVEN_IMPROVEMENT:
        x[:, 1:] *= 1 + MARGIN
    yield "edge, pass", Outcome.PASS, x, y


def _wrong(found: dict[str, FloatArray], policy: Policy, multiplicity: Multiplicity, answer: Outcome) -> int:
    required, contradicted = (found[name] for name in ASKS[policy])
    correct = MULTIPLICITIES[multiplicity]
    return sum(
        overall(
            Outcome.FAIL if p <= ALPHA else Outcome.PASS if q <= ALPHA else Outcome.UNDECIDED
            for q, p in zip(asked, correct(against), strict=True)
        )
        is answer
        for asked, against in zip(required, contradicted, strict=True)
    )


def simulate(
    gates: int,
    protocols: Sequence[Location] = PROTOCOLS,
    *,
    seed: int = 1,
    sizes: tuple[int, ...] = (20, 40),
) -> Iterator[Share]:
    """Yield the share of wrong answers of every way to decide in every situation."""
    cells = [(s, n, policy) for s in SHAPES for n in sizes for policy in Policy]
    for (shape, n, policy), child in zip(cells, np.random.SeedSequence(seed).spawn(len(cells)), strict=True):
        rng = np.random.default_rng(child)
        for situation, answer, x, y in _situations(rng, SHAPES[shape], (gates, BENCHMARKS, n), policy):
            for protocol in protocols:
                found = evidence_of(x, y, MARGIN, ALPHA, protocol)
                for multiplicity in MULTIPLICITIES:
                    errors = _wrong(found, policy, multiplicity, answer)
                    yield Share(shape, n, protocol, policy, multiplicity, situation, errors, gates)


def table(shares: list[Share]) -> str:
    """Markdown: one row a way to decide, a shape and a size; one column a situation."""
    situations = list(dict.fromkeys(s.situation for s in shares))
    lines = [
        "| noise | runs | policy | correction | protocol | " + " | ".join(situations) + " |",
        "|---|---:|---|---|---|" + "---:|" * len(situations),
    ]
    rows: dict[tuple[str, ...], dict[str, Share]] = {}
    for s in shares:
        of = (s.shape, str(s.runs), s.policy.value, s.multiplicity, s.protocol)
        rows.setdefault(of, {})[s.situation] = s
    for key, row in rows.items():
        cells = [
            f"{row[name].errors / row[name].gates:.4f}{'!' * row[name].excessive}" for name in situations
        ]
        lines.append(f"| {' | '.join([*key, *cells])} |")
    return "\n".join(lines)


def summary(shares: list[Share]) -> str:
    """Markdown: one row a policy and correction, the largest share over protocols, shapes and sizes."""
    situations = list(dict.fromkeys(s.situation for s in shares))
    lines = [
        "| policy | correction | " + " | ".join(situations) + " |",
        "|---|---|" + "---:|" * len(situations),
    ]
    for policy in Policy:
        for multiplicity in MULTIPLICITIES:
            own = [s for s in shares if (s.policy, s.multiplicity) == (policy, multiplicity)]
            worst = [max(s.errors / s.gates for s in own if s.situation == name) for name in situations]
            lines.append(f"| {policy} | {multiplicity} | {' | '.join(f'{w:.3f}' for w in worst)} |")
    return "\n".join(lines)


def main() -> None:
    """Print both tables."""
    gates = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
    protocols = [p for p in PROTOCOLS if p in sys.argv[2:]] or PROTOCOLS
    shares = list(simulate(gates, protocols))
    print(f"Share of wrong answers of {gates} gates a cell, {BENCHMARKS} benchmarks, margin {MARGIN:g}:\n")
    print(table(shares))
    print("\nThe largest over protocols, shapes and sizes:\n")
    print(summary(shares))


if __name__ == "__main__":
    main()

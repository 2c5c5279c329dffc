"""False alarms, speed and coverage of the sequential comparison under noises it knows nothing of.

Seven tables, as Markdown:

1. A/A sessions (both versions the same), looked at after every block up to 200: the share that ever claims
   "faster" at a risk of 5 %, against a one-sided t-test of the differences looked at after every five blocks.
2. A/B sessions: median number of blocks to the claim, against the size of a fixed sample whose t-test has
   power 0.8.
3. The certified bounds of sessions with a true speedup: the share of sessions whose running interval ever
   lost the truth, per side.
4. The reported estimate: its median error in standard deviations of a run, against that of the speedup for
   which "more" and "less" have equal evidence, and of the median of the block ratios.
5. Forecasts of the blocks still to come, made after 3 to 20 blocks: the factor by which half of them, and nine
   of ten, are off at most. A quarter of the sessions, of up to 2,000 blocks.
6. Spikes: every fifth run takes one plus an exponential share longer, noise 3 %, true speedup 1.05. The share of
   sessions proven within 30 blocks, beside the power of a signed-rank and a rank-sum test of 30 + 30 runs.
7. Sessions as `run` ends them, of at most 60 blocks: what they prove at their end, after how many blocks, and how
   many of these proofs Wilcoxon's signed-rank test of the same runs does not confirm at 5 %, or contradicts, its
   statistic on the other side. A quarter of the sessions.

    python studies/sequential.py [sessions [table ...]]

The 1,000 sessions of the manual take about half an hour on one core.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from scipy import stats

from speedproof.conclude.claims import StopRules
from speedproof.conclude.looks import SequentialComparison
from speedproof.protocols.results import Verdict
from speedproof.stats.sequential import LOG_WEIGHTS, PairedSequence, growth, log_factors

FloatArray = npt.NDArray[np.float64]
Noise = Callable[[np.random.Generator, int], tuple[FloatArray, FloatArray]]

BLOCKS = 200
LONG = 2000
ALPHA = 0.05
# The bets were chosen on sessions without this in their seeds.
HELD_OUT = 20261121


def _independent(draw: Callable[[np.random.Generator, int], FloatArray]) -> Noise:
    return lambda rng, n: (draw(rng, n), draw(rng, n))


def _bimodal(rng: np.random.Generator, n: int) -> FloatArray:
    """Two modes of equal weight, standard deviation 1."""
    return 0.95 * rng.choice([-1.0, 1.0], n) + math.sqrt(1 - 0.95**2) * rng.standard_normal(n)


def _heavy(rng: np.random.Generator, n: int) -> FloatArray:
    """Student's t with 2.5 degrees of freedom, standard deviation 1."""
    return rng.standard_t(2.5, n) / math.sqrt(5.0)


def _spiked(rng: np.random.Generator, n: int) -> FloatArray:
    """Normal, and one run in five hit by something that makes it 1 + Exp(1) times as long; for a noise of 3 %."""
    return rng.standard_normal(n) + (rng.random(n) < 0.2) * np.log1p(rng.exponential(1.0, n)) / 0.03


def _autocorrelated(rng: np.random.Generator, n: int) -> tuple[FloatArray, FloatArray]:
    """Run after run an AR(1) of coefficient 0.8; the order within a block is drawn at random."""
    runs = np.empty(2 * n)
    state = rng.standard_normal()
    for i, shock in enumerate(math.sqrt(1 - 0.8**2) * rng.standard_normal(2 * n)):
        state = 0.8 * state + shock
        runs[i] = state
    return _shuffled(rng, runs)


def _drifting(rng: np.random.Generator, n: int) -> tuple[FloatArray, FloatArray]:
    """Normal noise on a random walk whose step per run is as large as the noise, and a steady rise."""
    runs = rng.standard_normal(2 * n) + np.cumsum(rng.standard_normal(2 * n)) + 0.1 * np.arange(2 * n)
    return _shuffled(rng, runs)


def _shuffled(rng: np.random.Generator, runs: FloatArray) -> tuple[FloatArray, FloatArray]:
    pairs = rng.permuted(runs.reshape(-1, 2), axis=1)
    return pairs[:, 0], pairs[:, 1]


NOISES: dict[str, Noise] = {
    "normal": _independent(lambda rng, n: rng.standard_normal(n)),
    "bimodal": _independent(_bimodal),
    "heavy-tailed": _independent(_heavy),
    "spiked": _independent(_spiked),
    "autocorrelated": _autocorrelated,
    "drifting": _drifting,
}

# True speedup and noise of one run, with the blocks that a fixed-size t-test of power 0.8 needs.
EFFECTS = ((1.05, 0.03, 5), (1.02, 0.03, 29), (1.01, 0.01, 13), (1.05, 0.10, 54))

# Blocks after which estimates and forecasts are judged.
SIZES = (5, 10, 30, 100)
FORECAST_AFTER = (3, 5, 8, 10, 20)


def session(
    noise: Noise, speedup: float, sigma: float, seed: int, blocks: int = BLOCKS
) -> tuple[FloatArray, FloatArray]:
    """Times of one session: ``exp(sigma noise)``, the reference ``speedup`` times as long."""
    x, y = noise(np.random.default_rng([HELD_OUT, seed]), blocks)
    return speedup * np.exp(sigma * x), np.exp(sigma * y)


def blocks_to_faster(x: FloatArray, y: FloatArray, alpha: float = ALPHA) -> int:
    """The block at which "faster" is first claimed; one more than there are when never."""
    sequence = PairedSequence(alpha=alpha)
    for i, (a, b) in enumerate(zip(x.tolist(), y.tolist(), strict=True), start=1):
        sequence.add(a, b)
        # Bounds, which are dear, are looked at where the evidence suffices.
        if sequence.evidence(1) >= -math.log(alpha) and sequence.result().faster:
            return i
    return x.size + 1


def t_test_ever(x: FloatArray, y: FloatArray) -> bool:
    """Whether a one-sided paired t-test, looked at after every five blocks, ever claims "faster"."""
    d = np.log(x) - np.log(y)
    n = np.arange(5, d.size + 1, 5)
    mean = np.cumsum(d)[n - 1] / n
    variance = (np.cumsum(d**2)[n - 1] - n * mean**2) / (n - 1)
    return bool(np.any(mean / np.sqrt(variance / n) >= stats.t.ppf(1 - ALPHA, n - 1)))


def log_wealth(d: FloatArray, shift: float = 0.0) -> FloatArray:
    """The log e-value against "at most exp(shift)" after each block; sessions x blocks, all at once."""
    scales = np.zeros_like(d)
    for k in range(2, d.shape[1]):
        past = d[:, :k]
        deviations = np.abs(past - np.median(past, axis=1, keepdims=True))
        scales[:, k] = 1.4826 * np.median(deviations, axis=1)
    steps = np.array([log_factors(row, scale, shift) for row, scale in zip(d, scales, strict=True)])
    wealth: FloatArray = np.logaddexp.reduce(LOG_WEIGHTS + np.cumsum(steps, axis=1), axis=2)
    return wealth


def many(noise: Noise, speedup: float, sigma: float, sessions: int, blocks: int = BLOCKS) -> FloatArray:
    """Differences of the logarithms, sessions x blocks."""
    pairs = (session(noise, speedup, sigma, seed, blocks) for seed in range(sessions))
    return np.array([np.log(x) - np.log(y) for x, y in pairs])


def first_claims(d: FloatArray) -> npt.NDArray[np.int64]:
    """The block at which each session claims "faster"; one more than there are when never."""
    over = log_wealth(d) >= -math.log(ALPHA)
    first: npt.NDArray[np.int64] = np.where(over.any(axis=1), over.argmax(axis=1) + 1, d.shape[1] + 1)
    return first


def sequence_of(x: npt.ArrayLike, y: npt.ArrayLike, alpha: float = ALPHA) -> PairedSequence:
    """That of blocks which were all measured already."""
    sequence = PairedSequence(alpha=alpha)
    for pair in zip(np.asarray(x, float).tolist(), np.asarray(y, float).tolist(), strict=True):
        sequence.add(*pair)
    return sequence


def truth_lost(x: FloatArray, y: FloatArray, speedup: float) -> tuple[bool, bool]:
    """Whether the lower and the upper certified bound ever passed the true speedup."""
    result = sequence_of(x, y).result()
    return result.low > speedup, result.high < speedup


def balance(sequence: PairedSequence) -> float:
    """The speedup inside the certified bounds for which "more" and "less" have equal e-values."""
    d, result = sequence.differences, sequence.result()
    left, right = float(d.min()), float(d.max())
    while right - left > 1e-7:
        middle = 0.5 * (left + right)
        gamma = math.exp(middle)
        if sequence.log_evidence(gamma, side=1) > sequence.log_evidence(gamma, side=-1):
            left = middle
        else:
            right = middle
    return min(max(math.exp(left), result.low), result.high)


def errors_of_estimates(
    noise: Noise, blocks: int, sessions: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Absolute errors, in standard deviations of a run: the estimate, the balance of evidence, the median.

    Sessions whose bounds contradict each other have no estimate and are left out.
    """
    sigma = 0.03
    errors = []
    for seed in range(sessions):
        sequence = sequence_of(*session(noise, 1.02, sigma, seed, blocks))
        if not sequence.result().contradictory:
            middle = math.exp(float(np.median(sequence.differences)))
            estimates = np.array([sequence.estimate(), balance(sequence), middle])
            errors.append(np.abs(np.log(estimates / 1.02)) / sigma)
    ours, balanced, median = np.array(errors).T
    return ours, balanced, median


def forecasts(
    noise: Noise, speedup: float, sigma: float, after: Sequence[int], sessions: int
) -> list[tuple[FloatArray, FloatArray]]:
    """Forecasts after so many blocks, and how many it took, of the sessions that were undecided by then.

    They are what ``blocks_to_go`` says of the nearer side, but from the first block on. A session that is still
    undecided after 2,000 blocks counts as one that ends there.
    """
    d = many(noise, speedup, sigma, sessions, LONG)
    sides = {side: log_wealth(side * d) for side in (1, -1)}
    proven = np.maximum(*sides.values()) >= -math.log(ALPHA)
    ends = np.where(proven.any(axis=1), proven.argmax(axis=1) + 1, LONG)
    found = []
    for n in after:
        left = np.flatnonzero(ends > n)
        ways = [
            [_forecast(side * d[i, :n], wealth[i, n - 1]) for i in left] for side, wealth in sides.items()
        ]
        found.append((np.minimum(ways[0], ways[1]), (ends[left] - n).astype(np.float64)))
    return found


def _forecast(differences: FloatArray, log_evidence: float) -> float:
    rate = growth(differences, 0.0)
    return (-math.log(ALPHA) - log_evidence) / rate if rate > 0 else math.inf


def under_spikes(sessions: int) -> tuple[int, int, int]:
    """How many sessions prove 1.05 in 30 blocks: the sequential test, and signed-rank and rank-sum at its end."""
    found = np.zeros(3, dtype=np.int64)
    for seed in range(sessions):
        x, y = session(NOISES["spiked"], 1.05, 0.03, seed, 30)
        found += (
            blocks_to_faster(x, y) <= 30,
            stats.wilcoxon(np.log(x / y), alternative="greater").pvalue <= ALPHA,
            stats.mannwhitneyu(x, y, alternative="greater").pvalue <= ALPHA,
        )
    ours, signed, summed = found.tolist()
    return ours, signed, summed


def proofs_at_the_end(noise: Noise, speedup: float, sessions: int) -> tuple[list[int], FloatArray]:
    """The blocks of every session, and the one-sided p-values of the signed-rank test in favour of each proof."""
    rules = StopRules(ALPHA, min_blocks=10, max_blocks=60)
    blocks, pvalues = [], []
    for seed in range(sessions):
        race = SequentialComparison("b", ["X", "Y"], rules)
        x, y = session(noise, speedup, 0.03, seed, 60)
        while race.open() and race.blocks < x.size:
            race.add({"X": float(x[race.blocks]), "Y": float(y[race.blocks])})
        blocks.append(race.blocks)
        verdict = race.findings()[0].verdict
        if verdict is not Verdict.UNDECIDED:
            d = np.log(x / y)[: race.blocks]
            side = "greater" if verdict is Verdict.FASTER else "less"
            pvalues.append(float(stats.wilcoxon(d, alternative=side).pvalue))
    return blocks, np.array(pvalues)


def _interval(count: int, sessions: int) -> str:
    low, high = stats.binomtest(count, sessions).proportion_ci(0.95)
    return f"{100 * count / sessions:.1f} % ({100 * low:.1f} to {100 * high:.1f})"


def false_alarms(sessions: int) -> None:
    """Print the first table."""
    print(f"| A/A, {sessions} sessions of {BLOCKS} blocks | ever 'faster' | t-test at every 5th block |")
    print("|---|---|---|")
    for name, noise in NOISES.items():
        d = many(noise, 1.0, 0.03, sessions)
        alarms = int((first_claims(d) <= BLOCKS).sum())
        t_alarms = sum(t_test_ever(np.exp(row), np.ones(BLOCKS)) for row in d)
        print(f"| {name} | {_interval(alarms, sessions)} | {_interval(t_alarms, sessions)} |", flush=True)


def speed(sessions: int) -> None:
    """Print the second table."""
    print("| speedup / noise | fixed size | " + " | ".join(NOISES) + " |")
    print("|---|---|" + "---|" * len(NOISES))
    for speedup, sigma, fixed in EFFECTS:
        cells = []
        for noise in NOISES.values():
            middle = float(np.median(first_claims(many(noise, speedup, sigma, sessions))))
            cells.append(f"{middle:g}" if middle <= BLOCKS else f"> {BLOCKS}")
        print(f"| {speedup} / {sigma:.0%} | {fixed} | " + " | ".join(cells) + " |", flush=True)


def coverage(sessions: int) -> None:
    """Print the third table."""
    print("| speedup 1.02, noise 3 % | low bound ever above | high bound ever below |")
    print("|---|---|---|")
    for name, noise in NOISES.items():
        d, truth = many(noise, 1.02, 0.03, sessions), math.log(1.02)
        lost = [
            (log_wealth(side * d, side * truth) >= -math.log(ALPHA)).any(axis=1).sum() for side in (1, -1)
        ]
        print(f"| {name} | {' | '.join(_interval(int(c), sessions) for c in lost)} |", flush=True)


def estimates(sessions: int) -> None:
    """Print the fourth table."""
    print("| estimate (balance of evidence, median) | " + " | ".join(f"{n} blocks" for n in SIZES) + " |")
    print("|---|" + "---|" * len(SIZES))
    for name, noise in NOISES.items():
        cells = []
        for n in SIZES:
            ours, balanced, median = map(float, np.median(errors_of_estimates(noise, n, sessions), axis=1))
            cells.append(f"{ours:.3f} ({balanced:.3f}, {median:.3f})")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def guesses(sessions: int) -> None:
    """Print the fifth table."""
    print("| forecast after | " + " | ".join(f"{n} blocks" for n in FORECAST_AFTER) + " |")
    print("|---|" + "---|" * len(FORECAST_AFTER))
    for name in ("normal", "bimodal", "heavy-tailed"):
        for speedup in (1.02, 1.01):
            cells = []
            for forecast, took in forecasts(NOISES[name], speedup, 0.03, FORECAST_AFTER, sessions // 4):
                off = np.maximum(forecast / took, took / np.maximum(forecast, 1.0))
                half, most = np.quantile(off, [0.5, 0.9], method="higher")
                cells.append(f"{half:.1f} ({most:.0f})")
            print(f"| {speedup} / 3 %, {name} | " + " | ".join(cells) + " |", flush=True)


def spikes(sessions: int) -> None:
    """Print the sixth table."""
    print("| spikes, 1.05 / 3 %, 30 blocks | proven |\n|---|---|")
    names = ("sequential", "signed-rank, fixed size", "rank-sum, fixed size")
    for name, count in zip(names, under_spikes(sessions), strict=True):
        print(f"| {name} | {_interval(count, sessions)} |", flush=True)


def proofs(sessions: int) -> None:
    """Print the seventh table."""
    print("| speedup / 3 %, noise | median blocks | proven | not confirmed | contradicted |")
    print("|---|---|---|---|---|")
    every: list[FloatArray] = []
    for name in ("normal", "heavy-tailed", "spiked", "drifting"):
        for speedup in (1.0, 1.02, 1.05):
            blocks, p = proofs_at_the_end(NOISES[name], speedup, sessions // 4)
            every.append(p)
            told = f"{_interval(p.size, len(blocks))} | {(p > ALPHA).sum()} | {(p > 0.5).sum()}"
            print(f"| {speedup}, {name} | {np.median(blocks):g} | {told} |", flush=True)
    p = np.concatenate(every)
    told = " | ".join(_interval(int(count), p.size) for count in ((p > ALPHA).sum(), (p > 0.5).sum()))
    print(f"| all | | {p.size} | {told} |")


TABLES = (false_alarms, speed, coverage, estimates, guesses, spikes, proofs)


def main(sessions: int, *tables: int) -> None:
    """Print the tables of these numbers, or all."""
    for number in tables or range(1, len(TABLES) + 1):
        TABLES[number - 1](sessions)
        print(flush=True)


if __name__ == "__main__":
    main(*([int(text) for text in sys.argv[1:]] or [1000]))

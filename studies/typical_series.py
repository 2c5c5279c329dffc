"""False verdicts of the typical run on series: simulated ones, and halves of real samples.

    python -m studies.typical_series [--pairs 4000] [--data DIR] [--seed 1]

Both sides of each pair are the same program. A verdict is false whatever it is; at 5 % a side up to 10 % are
expected. Real samples are cut at random, into their first and second half, and into every other run; DIR holds a
folder a format. A verdict is marked when `compare` would put an exclamation mark beside it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from speedproof.data.sample import Sample, Trait
from speedproof.data.suite import Key, Pair
from speedproof.errors import SpeedproofError
from speedproof.formats.suites import read as read_suite
from speedproof.protocols.pair import PreparedPairs, Rules
from speedproof.protocols.results import Verdict
from speedproof.protocols.typical import typical_runs

FloatArray = npt.NDArray[np.float64]
_FEWEST = 10  # units of a sample that is cut
_ORDER = frozenset({Trait.ORDER_KNOWN})


def autoregressive(rng: np.random.Generator, rows: int, n: int, r: float) -> FloatArray:
    """Series of a first-order autoregressive process of normal values, a row each; with r = 1 walks from 0."""
    if r == 1.0:
        return np.cumsum(rng.normal(size=(rows, n)), axis=1)
    noise = rng.normal(size=(rows, n + 100))
    for t in range(1, n + 100):
        noise[:, t] += r * noise[:, t - 1]
    return noise[:, 100:]


def simulated(pairs: int, seed: int) -> Iterator[tuple[str, ...]]:
    """A row a dependence and size: verdicts in % a side without and with the adjustment; power for a shift."""
    for r in (0.0, 0.3, 0.6, 0.9, 1.0):
        for n in (5, 10, 20, 50, 100):
            rng = np.random.default_rng([seed, n])
            x, y = (1000.0 + autoregressive(rng, pairs, n, r) for _ in range(2))
            shift = 1.8 * np.sqrt(2.0 / n)
            shares = [
                _share(x + gain, y, traits, (Verdict.FASTER,))
                for gain in (0.0, shift)
                for traits in (frozenset(), _ORDER)
            ]
            yield f"{r:g}", str(n), *(f"{100 * share:.1f}" for share in shares)


def refused(pairs: int, seed: int) -> Iterator[tuple[str, ...]]:
    """A row a dependence: by size, series five deviations apart that are not told apart, equal ones that are."""
    for r in (0.0, 0.3, 0.6, 0.9, 1.0):
        shares = []
        for n in (8, 10, 15, 20, 50):
            rng = np.random.default_rng([seed, n])
            x, y = (1000.0 + autoregressive(rng, pairs, n, r) for _ in range(2))
            deviation = x.std(axis=1).mean() if r == 1.0 else x.std()
            apart, equal = (_share(x + gap, y, _ORDER, (Verdict.FASTER,)) for gap in (5.0 * deviation, 0.0))
            shares.append(f"{100 * (1 - apart):.1f} / {100 * equal:.1f}")
        yield f"{r:g}", *shares


def slow_drift(pairs: int, seed: int) -> Iterator[tuple[str, ...]]:
    """A row a walk: halves of one series that are told apart, in %, without and with the rule for slow drift.

    Noise of variance 1 on a walk whose level moves by a variance of k / n within each half.
    """
    for k in (0, 10, 30, 100, 300):
        shares = []
        for n in (20, 30, 50, 100, 200):
            rng = np.random.default_rng([seed, n, k])
            level = np.cumsum(rng.normal(0.0, np.sqrt(k) / n, (pairs, 2 * n)), axis=1)
            series = 1000.0 + level + rng.normal(size=level.shape)
            told = (
                _share(series[:, :n], series[:, n:], _ORDER, (Verdict.FASTER, Verdict.SLOWER), start)
                for start in (0.5, 1.0)
            )
            shares.append(" / ".join(f"{100 * share:.1f}" for share in told))
        yield str(k), *shares


def _share(
    x: FloatArray, y: FloatArray, traits: frozenset[Trait], counted: tuple[Verdict, ...], start: float = 1.0
) -> float:
    """Verdicts that count; the second side begins at ``start``, before or after the end of the first."""
    spans = (0.0, 1.0), (start, start + 1.0)
    samples = [
        [Sample(values, traits=traits, span=span) for values in side]
        for side, span in zip((x, y), spans, strict=True)
    ]
    pairs = [Pair(Key(str(i)), *both) for i, both in enumerate(zip(*samples, strict=True))]
    results = typical_runs(PreparedPairs(pairs, Rules()))
    return float(np.mean([result.verdict in counted for result in results]))


def _random(rng: np.random.Generator, n: int) -> npt.NDArray[np.int64]:
    return rng.permutation(np.arange(n) % 2)


CUTS: dict[str, Callable[[np.random.Generator, int], npt.NDArray[np.int64]]] = {
    "random halves": _random,
    "first and second half": lambda rng, n: np.arange(n) // ((n + 1) // 2),
    "every other run": lambda rng, n: np.arange(n) % 2,
}


def real(folder: Path, seed: int) -> Iterator[tuple[str, ...]]:
    """A row a format: samples, and for each cut verdicts and marks in %."""
    rng = np.random.default_rng(seed)
    for part in sorted(path for path in folder.iterdir() if path.is_dir()):
        samples = list(_samples(part))
        if not samples:
            continue
        shares = []
        for cut in CUTS.values():
            pairs = [_halves(sample, cut, rng) for sample in samples]
            results = typical_runs(PreparedPairs(pairs, Rules()))
            shares.append(f"{100 * np.mean([r.verdict is not Verdict.UNDECIDED for r in results]):.0f}")
            marked = [bool(r.undermining) and r.verdict is not Verdict.UNDECIDED for r in results]
            shares.append(f"{100 * np.mean(marked):.0f}")
        yield part.name, str(len(samples)), *shares


def _samples(folder: Path) -> Iterator[Sample]:
    """Every sample of a folder that is long enough to be cut, of files that can be read.

    Of one metric: the cycles and instructions of the same runs are no further samples.
    """
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        try:
            suite = read_suite(path, metric="all")
        except SpeedproofError:
            continue
        for (key, _), sample in suite.samples.items():
            if key.metric != suite.main_metric:
                continue
            used = sample if sample.process_count == 1 else sample.per_process("median")
            if used.n >= _FEWEST and np.ptp(used.values) > 0:
                yield used


def _halves(
    sample: Sample, cut: Callable[[np.random.Generator, int], npt.NDArray[np.int64]], rng: np.random.Generator
) -> Pair:
    side = cut(rng, sample.n)
    x, y = (replace(sample, values=sample.values[side == k], processes=None, sessions=None) for k in (0, 1))
    return Pair(Key(sample.label), x, y)


def _table(title: str, head: Sequence[str], rows: Iterator[tuple[str, ...]]) -> None:
    print(f"\n{title}\n\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=4000)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    _table(
        "Autoregressive series: 'faster' in % of pairs",
        ("r", "runs a side", "A/A, taken as independent", "A/A", "shift, taken as independent", "shift"),
        simulated(args.pairs, args.seed),
    )
    _table(
        "Five deviations apart and refused / equal and called different, in % of pairs",
        ("r", *(f"{n} + {n}" for n in (8, 10, 15, 20, 50))),
        refused(args.pairs, args.seed),
    )
    _table(
        "Slow drift: halves of one series told apart, in % of pairs, without and with the rule",
        ("k", *(f"{n} + {n}" for n in (20, 30, 50, 100, 200))),
        slow_drift(args.pairs, args.seed),
    )
    if args.data.is_dir():
        head = [text for cut in CUTS for text in (cut, "marked")]
        _table("Real samples: verdicts in %", ("format", "samples", *head), real(args.data, args.seed))


if __name__ == "__main__":
    main()

"""Size of the tests and protocols, and coverage of the certified bounds, by seeded simulation.

``python studies/size_and_coverage.py [repetitions] [seed]`` prints the tables of studies/size_and_coverage.md, and
the worst of every size in one table, for docs/tables.md.
Pairs of samples are drawn from distributions of which the tested hypothesis, or the covered value, is true. A
cell has the percentage of errors in both directions: of verdicts "faster" and "slower" where neither is true,
of lower bounds above and upper bounds below the truth. All should be about 5, the risk alpha, or less. An
exclamation mark says that 5 % does not explain a share: were it the true risk, so many errors or more would
happen with probability below 1e-4. A dash stands where fewer than 200 pairs remain.

Every row draws from its own child of the seed, so a row does not depend on the others.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
from scipy import stats

from speedproof.protocols.figures import Decision
from speedproof.protocols.mean import decide_mean, mean_tests
from speedproof.protocols.median import decide_median, median_tests
from speedproof.stats.ranks import brunner_munzel
from speedproof.stats.ratio import Interval, ratio_of_means
from speedproof.stats.ratio_medians import ratio_of_medians
from speedproof.stats.superiority import typical_ratio

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
Draw = Callable[[np.random.Generator, tuple[int, int]], FloatArray]
Table = Callable[[int, int], Iterator["Row"]]

ALPHA = 0.05
FACTOR = 1.2  # the true speedup, for coverage
REPETITIONS = 20_000
SEED = 1
FEWEST = 200
SIZES = ((5, 40), (10, 10), (31, 31), (31, 200), (100, 100))
WIDER = 1.5  # the spread of X over that of Y
WIDER_SIZES = ((5, 30), (8, 31), (31, 200))
SUPERIORITY_SIZES = ((2, 2), (3, 3), (5, 5), (2, 50), (5, 50), (10, 10), (10, 50))
PROBABILITIES = (0.5, 0.8, 0.95, 0.98)
SPREADS = (0.1, 1.0, 10.0)


@dataclass(frozen=True, slots=True)
class Shape:
    """A distribution of times: how to draw from it, its mean and its median."""

    name: str
    draw: Draw
    mean: float
    median: float


def _bimodal(rng: np.random.Generator, shape: tuple[int, int]) -> FloatArray:
    return rng.normal(10.0, 0.3, shape) + 2.0 * (rng.random(shape) < 0.3)


SHAPES = (
    Shape("normal", lambda rng, shape: rng.normal(10.0, 1.0, shape), 10.0, 10.0),
    Shape("log-normal 0.5", lambda rng, shape: rng.lognormal(0.0, 0.5, shape), math.exp(0.125), 1.0),
    Shape("log-normal 1", lambda rng, shape: rng.lognormal(0.0, 1.0, shape), math.exp(0.5), 1.0),
    Shape("exponential", lambda rng, shape: rng.exponential(1.0, shape), 1.0, math.log(2.0)),
    # the slow mode, 30 %, lies 6 standard deviations above: the median is a quantile of the fast one
    Shape("bimodal", _bimodal, 10.6, 10.0 + 0.3 * NormalDist().inv_cdf(0.5 / 0.7)),
)


@dataclass(frozen=True, slots=True)
class Errors:
    """Errors of one procedure in both directions, out of trials; one count where there is one direction."""

    counts: tuple[int, ...]
    trials: int

    def excessive(self) -> bool:
        """Whether a risk of ALPHA explains one of the counts with a probability below 1e-4 only."""
        return any(float(stats.binom.sf(count - 1, self.trials, ALPHA)) < 1e-4 for count in self.counts)

    def __str__(self) -> str:
        if self.trials < FEWEST:
            return "–"
        shares = " / ".join(f"{100.0 * count / self.trials:.1f}" for count in self.counts)
        return shares + ("!" if self.excessive() else "")


@dataclass(frozen=True, slots=True)
class Row:
    """One distribution and pair of sizes, with the cells by the names of their columns."""

    labels: tuple[str, ...]
    cells: dict[str, Errors | str]

    def __str__(self) -> str:
        return "| " + " | ".join((*self.labels, *map(str, self.cells.values()))) + " |"


def _errors(up: BoolArray, down: BoolArray, among: BoolArray | None = None) -> Errors:
    if among is not None:
        up, down = up & among, down & among
    trials = up.size if among is None else int(among.sum())
    return Errors((int(up.sum()), int(down.sum())), trials)


def _missed(bounds: Interval, truth: float, among: BoolArray | None = None) -> Errors:
    return _errors(bounds.low > truth, bounds.high < truth, among)


def _concludes(decision: Decision) -> BoolArray:
    return np.asarray(~(decision.lacking_x | decision.lacking_y))


def _protocol(decision: Decision, name: str) -> dict[str, Errors | str]:
    """Errors of a protocol among the pairs on which it concludes, and among all."""
    faster, slower = decision.pvalue <= ALPHA, decision.pvalue_slower <= ALPHA
    return {
        f"{name}, concluded": _errors(faster, slower, _concludes(decision)),
        f"{name}, all": _errors(faster, slower),
    }


def _percent(of: BoolArray) -> str:
    return f"{100.0 * of.mean():.0f}"


def _pair(
    rng: np.random.Generator, shape: Shape, sizes: tuple[int, int], spread: float, centre: float, rows: int
) -> tuple[FloatArray, FloatArray]:
    """X and Y with one `centre` (a mean or a median of the shape), X `spread` times as wide."""
    x, y = (shape.draw(rng, (rows, size)) for size in sizes)
    return centre + spread * (x - centre), y


def mean_size(
    rng: np.random.Generator, shape: Shape, sizes: tuple[int, int], spread: float, repetitions: int
) -> dict[str, Errors | str]:
    """Errors of the t tests and of figure 1 when the means are equal."""
    tests = mean_tests(*_pair(rng, shape, sizes, spread, shape.mean, repetitions))
    default, separate = decide_mean(tests, ALPHA), decide_mean(tests, ALPHA, always_welch=True)
    return {
        "Student": _errors(tests.student.pvalue <= ALPHA, tests.student.pvalue_less <= ALPHA),
        "Welch": _errors(tests.welch.pvalue <= ALPHA, tests.welch.pvalue_less <= ALPHA),
        "concludes": _percent(_concludes(default)),
        **_protocol(default, "figure 1"),
        **_protocol(separate, "always Welch"),
    }


def median_size(
    rng: np.random.Generator, shape: Shape, sizes: tuple[int, int], spread: float, repetitions: int
) -> dict[str, Errors | str]:
    """Errors of the rank-sum test and of figure 2 when the medians are equal."""
    tests = median_tests(*_pair(rng, shape, sizes, spread, shape.median, repetitions))
    decision = decide_median(tests, ALPHA)
    return {
        "rank-sum": _errors(tests.ranks.pvalue <= ALPHA, tests.ranks.pvalue_less <= ALPHA),
        "concludes": _percent(_concludes(decision)),
        **_protocol(decision, "figure 2"),
    }


def mean_coverage(
    rng: np.random.Generator, shape: Shape, sizes: tuple[int, int], spread: float, repetitions: int
) -> dict[str, Errors | str]:
    """Bounds of the ratio of means that miss FACTOR: X scaled by it, or shifted to it and `spread` as wide."""
    x, y = _pair(rng, shape, sizes, spread, shape.mean, repetitions)
    shifted = x + (FACTOR - 1.0) * shape.mean
    cells: dict[str, Errors | str] = {}
    for name, slow in (("scaled", FACTOR * x if spread == 1.0 else None), ("shifted", shifted)):
        decision = None if slow is None else decide_mean(mean_tests(slow, y), ALPHA)
        for variances, equal in (("pooled", True), ("Welch", False)):
            cells[f"{name}, {variances}"] = (
                "" if slow is None else _missed(ratio_of_means(slow, y, ALPHA, equal), FACTOR)
            )
        cells[f"{name}, figure 1"] = ""
        if slow is not None and decision is not None:
            chosen = ratio_of_means(slow, y, ALPHA, decision.holds[-1])
            cells[f"{name}, figure 1"] = _missed(chosen, FACTOR, _concludes(decision))
    return cells


def median_coverage(
    rng: np.random.Generator, shape: Shape, sizes: tuple[int, int], repetitions: int
) -> dict[str, Errors | str]:
    """Bounds of the ratio of medians that miss FACTOR, X scaled by it or shifted to it."""
    x, y = _pair(rng, shape, sizes, 1.0, shape.median, repetitions)
    cells: dict[str, Errors | str] = {}
    for name, slow in (("scaled", FACTOR * x), ("shifted", x + (FACTOR - 1.0) * shape.median)):
        bounds = ratio_of_medians(slow, y, ALPHA)
        concludes = _concludes(decide_median(median_tests(slow, y), ALPHA))
        cells[f"{name}, all"] = _missed(bounds, FACTOR)
        cells[f"{name}, concludes"] = _percent(concludes)
        cells[f"{name}, concluded"] = _missed(bounds, FACTOR, concludes)
    return cells


def superiority_coverage(
    rng: np.random.Generator, sizes: tuple[int, int], probability: float, repetitions: int
) -> dict[str, Errors | str]:
    """Bounds of P[X > Y] that miss it, X normal and `spread` times as wide as Y."""
    cells: dict[str, Errors | str] = {}
    plain: dict[str, Errors | str] = {}
    for spread in SPREADS:
        distance = NormalDist().inv_cdf(probability) * math.hypot(1.0, spread)
        x, y = rng.normal(distance, spread, (repetitions, sizes[0])), rng.normal(size=(repetitions, sizes[1]))
        bounds = typical_ratio(x, y, ALPHA)
        cells[f"{spread:g}:1"] = _missed(Interval(bounds.chance_low, bounds.chance_high), probability)
        test = brunner_munzel(x, y)
        width = test.se * stats.t.isf(ALPHA, np.where(test.se > 0.0, test.df, 1.0))
        interval = Interval(test.estimate - width, test.estimate + width)
        plain[f"plain, {spread:g}:1"] = _missed(interval, probability)
    return cells | plain


def _seeds(seed: int, table: int) -> Iterator[np.random.Generator]:
    """One generator a row: child `table` of the seed, and its children."""
    parent = np.random.SeedSequence(seed, spawn_key=(table,))
    while True:
        yield np.random.default_rng(parent.spawn(1)[0])


def _spread_rows() -> Iterator[tuple[Shape, tuple[int, int], float]]:
    for shape in SHAPES:
        for spread, of_spread in ((1.0, SIZES), (WIDER, WIDER_SIZES)):
            for sizes in of_spread:
                yield shape, sizes, spread


def _labels(shape: Shape, sizes: tuple[int, int], spread: float) -> tuple[str, ...]:
    return (shape.name, f"{sizes[0]}, {sizes[1]}", f"{spread:g}:1")


def mean_size_rows(repetitions: int, seed: int) -> Iterator[Row]:
    """Table 1."""
    for rng, case in zip(_seeds(seed, 1), _spread_rows(), strict=False):
        yield Row(_labels(*case), mean_size(rng, *case, repetitions))


def median_size_rows(repetitions: int, seed: int) -> Iterator[Row]:
    """Table 2."""
    for rng, case in zip(_seeds(seed, 2), _spread_rows(), strict=False):
        yield Row(_labels(*case), median_size(rng, *case, repetitions))


def mean_coverage_rows(repetitions: int, seed: int) -> Iterator[Row]:
    """Table 3."""
    for rng, case in zip(_seeds(seed, 3), _spread_rows(), strict=False):
        yield Row(_labels(*case), mean_coverage(rng, *case, repetitions))


def median_coverage_rows(repetitions: int, seed: int) -> Iterator[Row]:
    """Table 4."""
    cases = ((shape, sizes) for shape in SHAPES for sizes in SIZES)
    for rng, (shape, sizes) in zip(_seeds(seed, 4), cases, strict=False):
        yield Row(_labels(shape, sizes, 1.0)[:2], median_coverage(rng, shape, sizes, repetitions))


def superiority_rows(repetitions: int, seed: int) -> Iterator[Row]:
    """Table 5."""
    cases = ((sizes, p) for sizes in SUPERIORITY_SIZES for p in PROBABILITIES)
    for rng, (sizes, p) in zip(_seeds(seed, 5), cases, strict=False):
        labels = (f"{sizes[0]}, {sizes[1]}", f"{p:g}")
        yield Row(labels, superiority_coverage(rng, sizes, p, repetitions))


SPREAD_LABELS = ("distribution", "n, m", "spread")
TABLES: tuple[tuple[str, tuple[str, ...], Table], ...] = (
    ("Table 1: equal means called faster / slower, %", SPREAD_LABELS, mean_size_rows),
    ("Table 2: equal medians called faster / slower, %", SPREAD_LABELS, median_size_rows),
    ("Table 3: ratio of means, low / high bound beyond the truth, %", SPREAD_LABELS, mean_coverage_rows),
    (
        "Table 4: ratio of medians, low / high bound beyond the truth, %",
        SPREAD_LABELS[:2],
        median_coverage_rows,
    ),
    ("Table 5: P[X > Y], low / high bound beyond the truth, %", ("n, m", "P[X > Y]"), superiority_rows),
)


def table(labels: tuple[str, ...], rows: list[Row]) -> str:
    """Markdown, one line a row."""
    columns = (*labels, *rows[0].cells)
    head = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(labels) + "---:|" * len(rows[0].cells)]
    return "\n".join([*head, *map(str, rows)])


# What the condensed table shows: its heading, the table's number and column.
CONDENSED = (
    ("mean, figure 1", 1, "figure 1, all"),
    ("mean, always Welch", 1, "always Welch, all"),
    ("median, figure 2", 2, "figure 2, all"),
    ("bounds of means", 3, "scaled, figure 1"),
    ("bounds of medians, a factor", 4, "scaled, all"),
    ("bounds of medians, a shift", 4, "shifted, all"),
)


def _cells(text: str) -> Iterator[tuple[int, dict[str, str]]]:
    """The number of the table and the cells by heading, of every row of printed tables."""
    number = 0
    head: list[str] = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if found := re.match(r"##+ Table (\d)", line):
            number, head = int(found[1]), []
        elif line.startswith("|") and not line.startswith("|-"):
            if head:
                yield number, dict(zip(head, cells, strict=True))
            head = head or cells


def condensed(text: str) -> str:
    """Of printed tables: normal noise and the worst of all noises, either in the worse direction."""
    worst: dict[tuple[str, str], dict[str, dict[str, float]]] = {}
    for number, row in _cells(text):
        for title, wanted, column in CONDENSED:
            if number == wanted and " / " in row[column]:
                place = row["n, m"], row.get("spread", "1:1")
                shares = [float(share) for share in row[column].rstrip("!").split(" / ")]
                worst.setdefault(place, {}).setdefault(title, {})[row["distribution"]] = max(shares)
    head = ("n, m", "spread", *(title for title, _, _ in CONDENSED))
    lines = ["| " + " | ".join(head) + " |", "|---|---|" + "---:|" * len(CONDENSED)]
    for place, found in worst.items():
        shown = [
            f"{f['normal']:.1f} / {max(f.values()):.1f}" if (f := found.get(title, {})) else ""
            for title, _, _ in CONDENSED
        ]
        lines.append("| " + " | ".join((*place, *shown)) + " |")
    return "\n".join(lines)


def main() -> None:
    """Print the tables."""
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else REPETITIONS
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else SEED
    printed = ""
    for title, labels, rows in TABLES:
        one = f"\n## {title}\n\n{table(labels, list(rows(repetitions, seed)))}"
        print(one, flush=True)
        printed += f"{one}\n"
    print(f"\n{condensed(printed)}")


if __name__ == "__main__":
    main()

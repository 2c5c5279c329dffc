"""Draw the figures of the pages on methods: ``python docs/figures.py [NAME...]`` writes pictures/method-NAME.svg.

Samples are those of the examples where these show the matter, else drawn with a fixed seed.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from scipy.stats import binom, norm

import speedproof as sp
from speedproof.data.sample import Sample
from speedproof.protocols.questions import ask
from speedproof.protocols.touati2009 import decide_2009
from speedproof.stats.sequential import PairedSequence

ROOT = Path(__file__).parents[1]
X, Y, GREY = "#4c72b0", "#dd8452", "#8c8c8c"
mpl.use("agg")
mpl.rcParams.update(
    {
        "svg.hashsalt": "speedproof",
        "svg.fonttype": "none",
        "font.family": "sans-serif",
        "font.size": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
)


def gcc(benchmark: str) -> tuple[np.ndarray, np.ndarray]:
    """The runs of gcc -O2 and gcc -O3, in ms."""
    files = [str(ROOT / "examples" / "gcc" / f"{level}.json") for level in ("O2", "O3")]
    x, y = (1e3 * np.asarray(s.values) for s in sp.read(*files)[benchmark].samples.values())
    return x, y


def faults(metric: str, version: str) -> np.ndarray:
    """A metric of one version of the program that touches 8 MB in some of its runs."""
    suite = sp.read(str(ROOT / "examples" / "faults" / "session.jsonl"), metric=metric)
    return next(np.asarray(s.values) for (_, name), s in suite["command"].samples.items() if name == version)


def typical(ax: Axes) -> None:
    """The ratios of all pairs, their median, and the proven bound."""
    rng = np.random.default_rng(5)
    x, y = 11 * rng.gamma(150, 1 / 150, 30), 10 * rng.gamma(60, 1 / 60, 30)
    r = sp.compare(x, y, unit="ms")
    ax.hist((x[:, None] / y).ravel(), 45, color=X, alpha=0.5)
    ax.axvline(1, color=GREY, ls=":")
    ax.axvline(r.speedup, color="k")
    ax.axvline(r.lower, color=Y)
    top = 1.2 * ax.get_ylim()[1]
    ax.set_ylim(0, top)
    ax.text(r.speedup, top, f" typical {r.speedup:.2f}x", va="top")
    ax.text(r.lower, top, f"proven {r.lower:.2f}x ", va="top", ha="right", color=Y)
    ax.set(xlabel="X / Y of a pair of runs", ylabel="pairs")


def speedup_test(ax: Axes) -> None:
    """The p-value of each protocol as the factor grows; where it passes alpha is the certified speedup."""
    x, y = gcc("matmul")
    factors = np.linspace(1.10, 1.16, 121)
    for name, colour in (("mean", X), ("median", Y)):
        p = [ask(name, Sample(x, label="X"), Sample(y * f, label="Y")).pvalue for f in factors]
        ax.plot(factors, p, color=colour, label=name)
    ax.axhline(0.05, color=GREY, ls=":")
    ax.text(1.10, 0.06, "alpha = 0.05", color=GREY)
    ax.set(xlabel="factor gamma", ylabel="p-value of X > gamma Y", ylim=(0, 0.6))
    ax.legend(frameon=False)


def quantiles(ax: Axes) -> None:
    """Two distribution functions, and the limits of their P90."""
    rng = np.random.default_rng(3)
    for k, (level, colour, name) in enumerate(((12.0, X, "X"), (10.0, Y, "Y"))):
        values = np.sort(level * rng.lognormal(0, 0.3, 200))
        n, q = values.size, 0.9
        low, high = (int(binom.ppf(risk, n, q)) for risk in (0.05, 0.95))
        ax.step(values, np.arange(1, n + 1) / n, color=colour, label=name)
        at = q + (0.012 if k else -0.012)
        ax.plot([values[low - 1], values[high]], [at, at], color=colour, lw=4, solid_capstyle="butt")
    ax.axhline(0.9, color=GREY, ls=":")
    ax.set(xlabel="time, ms", ylabel="share of runs", ylim=(0, 1.02), xlim=(5, 25))
    ax.legend(frameon=False, title="bars: limits of P90")


def why(ax: Axes) -> None:
    """Time against page faults: the versions differ in how often a run is in the slow state."""
    rng = np.random.default_rng(1)
    for version, colour in (("a", X), ("b", Y)):
        count, time = faults("minor-faults", version), 1e3 * faults("time", version)
        ax.plot(
            count * rng.normal(1, 0.03, count.size), time, "o", ms=3, alpha=0.5, color=colour, label=version
        )
    ax.set(xlabel="minor faults (spread a little)", ylabel="time, ms", ylim=(0, 20))
    ax.legend(frameon=False)


def power(ax: Axes) -> None:
    """The power that grows with the runs, and the number with 80 %."""
    rng = np.random.default_rng(2)
    plan = sp.plan(10 * rng.lognormal(0, 0.05, 30), effect=0.03, unit="ms")
    n = np.arange(2, 3 * plan.runs)
    b = (norm.ppf(0.8) + norm.ppf(0.95)) / np.sqrt(plan.runs)
    ax.plot(n, 100 * norm.cdf(b * np.sqrt(n) - norm.ppf(0.95)), color=X)
    ax.plot([plan.runs] * 2, [0, 80], ":", color=GREY)
    ax.plot([0, plan.runs], [80, 80], ":", color=GREY)
    ax.text(plan.runs + 1, 4, f"{plan.runs} runs")
    ax.set(
        xlabel="runs of each version", ylabel="sessions that prove 1.03x, %", ylim=(0, 100), xlim=(0, None)
    )


def aggregates(ax: Axes) -> None:
    """Six speedups, and the two intervals of their geometric mean."""
    rng = np.random.default_rng(7)
    gains = {"sort": 1.30, "hash": 1.12, "json": 1.10, "copy": 1.00, "scan": 1.00, "join": 0.90}
    suite = sp.Suite.of_samples(
        {
            name: {v: t * rng.normal(1, 0.04, 20) for v, t in (("old", g), ("new", 1.0))}
            for name, g in gains.items()
        }
    )
    s = sp.compare_suite(suite)
    mean = s.geometric_mean
    rows = [(name, s[name].lower, s[name].speedup, s[name].upper, X) for name in gains]
    rows += [
        (title, i.low, i.value, i.high, Y)
        for title, i in (("these benchmarks", mean.these), ("benchmarks like these", mean.like_these))
    ]
    for place, (_, low, value, high, colour) in enumerate(rows):
        ax.plot([low, high], [-place, -place], color=colour, lw=2)
        ax.plot(value, -place, "o", color=colour)
    ax.axvline(1, color=GREY, ls=":")
    ax.set_yticks([-place for place in range(len(rows))], [row[0] for row in rows])
    ax.set(xscale="log", xlabel="speedup of new over old")
    ax.set_xticks([0.9, 1, 1.1, 1.2, 1.3], ["0.9x", "1x", "1.1x", "1.2x", "1.3x"])
    ax.set_xticks([], minor=True)


def hpt(ax: Axes) -> None:
    """The confidence that falls as the winner is slowed down, and the r-speedups."""
    data = ROOT / "tests" / "data" / "oracle_hpt"
    files = (f"B={data / 'table3_reduced_B.csv'}", f"A={data / 'table3_x176_A.csv'}")
    levels = np.linspace(0.2, 0.999, 60)
    found = sp.hpt(sp.read(*files), scores="given", rule="paper", confidences=levels.tolist()).result.speedups
    ax.step([float(Fraction(s.certified_exact or 1)) for s in found], 100 * levels, color=X)
    (r,) = sp.hpt(sp.read(*files), scores="given", rule="paper", confidences=[0.95]).result.speedups
    at = float(Fraction(r.certified_exact or 1))
    ax.plot([at, at], [20, 95], ":", color=GREY)
    ax.plot([ax.get_xlim()[0], at], [95, 95], ":", color=GREY)
    ax.text(at, 22, f" {at:.2f}x with 95 %")
    ax.set(xlabel="factor by which A is slowed down", ylabel="confidence that A still wins, %")


def mixture(ax: Axes) -> None:
    """A histogram with two modes and its mixture."""
    rng = np.random.default_rng(4)
    x = np.concatenate([rng.normal(10, 0.15, 140), rng.normal(11.1, 0.2, 60)])
    model = sp.mixture.fit(x).model
    t = np.linspace(x.min() - 0.2, x.max() + 0.2, 400)
    parts = [w * norm.pdf(t, m, s) for w, m, s in zip(model.weights, model.means, model.sds, strict=True)]
    ax.hist(x, 40, density=True, color=X, alpha=0.4)
    for part in parts:
        ax.plot(t, part, color=Y, ls="--")
    ax.plot(t, sum(parts), color="k")
    ax.set(xlabel="time, ms", ylabel="density")


def sequential(ax: Axes) -> None:
    """Blocks and bounds as they come in; the proof stands where the lower bound passes 1."""
    rng = np.random.default_rng(11)
    sequence = PairedSequence(alpha=0.05)
    rows, ratios = [], []
    for block in range(1, 61):
        x, y = np.exp(0.04 * rng.standard_normal(2))
        sequence.add(1.03 * x, y)
        ratios.append(1.03 * x / y)
        result = sequence.result()
        rows.append((block, result.low, result.high))
    block, low, high = np.array(rows).T
    ax.plot(block, ratios, "o", ms=3, color=GREY)
    ax.fill_between(block, low, np.minimum(high, 2), color=X, alpha=0.25, lw=0)
    ax.axhline(1, color=GREY, ls=":")
    first = next((b for b, lower in zip(block, low, strict=True) if lower >= 1), None)
    if first:
        ax.axvline(first, color=Y)
        ax.text(first, 1.17, f" proven at block {first:.0f}", color=Y)
    ax.set(xlabel="blocks", ylabel="ratios and bounds", ylim=(0.88, 1.2))


def touati2009(ax: Axes) -> None:
    """The lower end of the interval of example 2.1, by the confidence."""
    t1, t2 = [2.799, 2.046, 1.259, 1.877, 2.244], [1.046, 0.259, 0.877, 1.244, 1.799]
    alphas = np.linspace(0.004, 0.5, 200)
    ends = [decide_2009(t1, t2, float(alpha)).difference[1] for alpha in alphas]
    ax.plot(100 * (1 - alphas), ends, color=X)
    ax.axhline(0, color=GREY, ls=":")
    ax.text(50, 0.03, "above 0: a speedup is accepted", color=GREY)
    ax.set(xlabel="confidence, %", ylabel="lower end of mean X - mean Y")


FIGURES = {
    f.__name__.replace("_", "-"): f
    for f in (typical, speedup_test, quantiles, why, power, aggregates, hpt, mixture, sequential, touati2009)
}

if __name__ == "__main__":
    for name in sys.argv[1:] or FIGURES:
        figure, axes = plt.subplots(figsize=(6.4, 2.8), layout="constrained")
        FIGURES[name](axes)
        figure.savefig(Path(__file__).with_name("pictures") / f"method-{name}.svg", metadata={"Date": None})
        plt.close(figure)

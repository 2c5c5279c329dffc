"""Chen et al. 2015: Hierarchical Performance Testing."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from studies.scores import suite_of_scores
from studies.seeds.row import PRINTED, ROOT, Found, Setting, register, text_of
from studies.seeds.speedup_test import measured

from speedproof import hpt
from speedproof.protocols.results import Winner
from speedproof.stats.normality import lilliefors
from speedproof.stats.signed_rank import table_pvalue

__all__ = ["Winner", "hpt", "lilliefors", "table_pvalue"]  # the calls of the lines

Floats = npt.NDArray[np.float64]
PAPER = "Chen et al. 2015 (HPT)"
SIZES = (20, 50, 100, 200, 500, 1000)
"""Of the means in figures 4 to 6."""


@register("hpt-table1", PAPER, "table I and figure 3: are scores normal, or log-normal? (Lilliefors)")
def table1(setting: Setting) -> Found:
    """The 29 scores of the article, from ``--data``: a file of suite (int or fp) and score."""
    from speedproof.plot import qq

    text = text_of(setting.file("hpt-table1.csv"))
    scores: dict[str, list[float]] = defaultdict(list)
    for record in csv.DictReader(text.splitlines()):
        for suite in ("all", record["suite"]):
            scores[suite].append(float(record["score"]))
    return Found(
        {"scores": scores}, (setting.figure("hpt-figure3", "The scores of table I", qq(scores["all"])),)
    )


@register("hpt-table2", PAPER, "table II and section III-C")
def table2(setting: Setting) -> Found:
    """Twelve benchmarks that one machine wins: all ranks are its, whatever the scores."""
    return Found()


@register("hpt-table3", PAPER, "table III: SPLASH-2, section IV-B")
def table3(setting: Setting) -> Found:
    """Fourteen benchmarks of five runs: A's scores divided by 1.76 as printed, and as they were."""
    b, a, full = (_scores(f"table3_{name}") for name in ("reduced_B", "reduced_A", "x176_A"))
    names = {
        "reduced": suite_of_scores(zip(b, a, strict=True)),
        "whole": suite_of_scores(zip(b, full, strict=True)),
    }
    exact = hpt(names["whole"], scores="given").r_speedup(0.95).certified
    text = (
        f"Algorithm 1 as printed returns the first step that fails, 1.77. Exact given the ties: {exact:.4f}."
    )
    return Found(names, remarks=(text,))


def _scores(name: str) -> list[list[float]]:
    lines = (ROOT / "tests" / "data" / "oracle_hpt" / f"{name}.csv").read_text(encoding="utf-8").splitlines()
    return [[float(v) for v in line.split(",")[1:]] for line in lines[1:]]


@register("hpt-tables4-6", PAPER, "tables IV to VI: errors and losses of the geometric mean and of t")
def tables4_6(setting: Setting) -> Found:
    """Their scores are not here; ``speedproof hpt --details`` has the same of any suite."""
    return Found()


@register("hpt-toolkit", PAPER, "the sample report of the authors' toolkit, in PARSEC 3.0", tool=True)
def toolkit(setting: Setting) -> Found:
    """Its two matrices of eight benchmarks and three runs, in seconds as they are (``toolkit/hpt/hpt_report.log``)."""
    with (PRINTED / "hpt-toolkit.csv").open(encoding="utf-8", newline="") as file:
        rows = [[float(v) for v in record[1:]] for record in list(csv.reader(file))[1:]]
    return Found({"seconds": suite_of_scores((row[:3], row[3:]) for row in rows)})


@register("hpt-figure2", PAPER, "figure 2: are repeated runs normal?")
def figure2(setting: Setting) -> Found:
    """A stand-in for 27 programs of 10,000 runs: those of ``examples/gcc``; kernel densities beside normal ones."""
    from speedproof.plot.canvas import BLUE, COLOURS, axes_or_new, kernel_density, new_figure

    times = measured(setting, setting.size(20, 500), ["O3"])
    figure = new_figure(8.4, 5.0)
    for ax, ((program, _), x) in zip(figure.subplots(2, 3).ravel(), times.items(), strict=False):
        at = np.linspace(x.min(), np.quantile(x, 0.99), 300)
        z = (at - x.mean()) / x.std(ddof=1)
        axes_or_new(ax).plot(1e3 * at, kernel_density(x, at) / 1e3, color=BLUE)
        ax.plot(
            1e3 * at,
            np.exp(-0.5 * z * z) / (x.std(ddof=1) * np.sqrt(2 * np.pi)) / 1e3,
            "--",
            color=COLOURS[1],
        )
        ax.set_title(f"{program}, ms", loc="left", fontsize=9)
    raw, logs = (
        sum(float(lilliefors(x).pvalue) <= 0.05 for x in samples)
        for samples in (times.values(), [np.log(x) for x in times.values()])
    )
    n = next(iter(times.values())).size
    text = f"On this machine, {n} runs: of {len(times)} programs {raw} are not normal, {logs} not log-normal."
    caption = f"{n} runs of {len(times)} programs, gcc -O3: kernel density, and dashed the normal fit"
    return Found({}, (setting.figure("hpt-figure2", caption, figure),), (text,))


def of_gamma(shape: float) -> Callable[[np.random.Generator, tuple[int, int]], Floats]:
    """Draws of a gamma population, of skewness 2 / sqrt(shape)."""
    return lambda rng, size: rng.gamma(shape, size=size)


POPULATIONS: dict[str, Callable[[np.random.Generator, tuple[int, int]], Floats]] = {
    "exponential": of_gamma(1.0),
    "gamma, shape 4": of_gamma(4.0),
    "log-normal, sigma 1": lambda rng, size: rng.lognormal(0.0, 1.0, size),
}


@register("hpt-figures4-6", PAPER, "figures 4 to 6: when are means, and means of logarithms, normal?")
def figures4_6(setting: Setting) -> Found:
    """Skewed populations of ours: how many trials of 10,000 means Lilliefors' test rejects at each size."""
    from speedproof.plot.canvas import COLOURS, axes_or_new, new_figure

    trials, means = setting.size(3, 20), 10_000
    sizes = SIZES if setting.full else SIZES[:4]
    figure = new_figure(8.4, 3.4)
    shapes: dict[str, Callable[[Floats], Floats]] = {"means": np.asarray, "means of logarithms": np.log}
    for place, (ax, (title, of)) in enumerate(zip(figure.subplots(1, 2), shapes.items(), strict=True)):
        for k, (draw, colour) in enumerate(zip(POPULATIONS.values(), COLOURS, strict=False)):
            shares = []
            for j, n in enumerate(sizes):
                rng = np.random.default_rng([46, k, n])
                tests = [lilliefors(of(draw(rng, (means, n))).mean(axis=1)) for _ in range(trials)]
                shares.append(100 * sum(float(test.pvalue) <= 0.05 for test in tests) / trials)
                setting.progress((place + (k + (j + 1) / len(sizes)) / len(POPULATIONS)) / 2)
            axes_or_new(ax).plot(sizes, shares, "o-", color=colour, label=list(POPULATIONS)[k])
        ax.set_xscale("log")
        ax.set_xticks(sizes, [str(n) for n in sizes])
        ax.minorticks_off()
        ax.set_xlabel(f"runs in {title}")
        ax.set_ylabel("trials that are not normal, %")
    ax.legend(frameon=False, fontsize=8)
    caption = (
        f"Populations of ours: trials of {means} means that Lilliefors' test finds not normal, of {trials}"
    )
    return Found({}, (setting.figure("hpt-figures4-6", caption, figure),))

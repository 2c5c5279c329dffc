"""Worms and Touati 2016 (VARCORE): appendix A, the authors' samples, and the simulations of sections 5 and 6."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from itertools import chain, repeat
from typing import Any

import numpy as np
import numpy.typing as npt
from studies.seeds.row import PRINTED, ROOT, Found, Setting, Share, register, share
from studies.seeds.speedup_test import mazouz

from speedproof.mixture import MixtureModel, fit
from speedproof.mixture.goodness import GoodnessOfFit
from speedproof.mixture.metrics import (
    expected_gap,
    mixture_gap,
    mixture_probability_below,
    probability_below,
)
from speedproof.stats.normality import shapiro_wilk
from speedproof.stats.special import betainc

__all__ = [
    "betainc",
    "bootstrap",
    "exceeding",
    "fit",
    "modes_found",
    "rejected",
    "shapiro_wilk",
]  # the lines' calls

Floats = npt.NDArray[np.float64]
PAPER = "Worms and Touati 2016 (VARCORE)"


@register("varcore-appendix", PAPER, "appendix A, and the chances of section 5")
def appendix(setting: Setting) -> Found:
    """The sample ammp-C2: its mixture by mclust's rules, its modes, the p-value of the fit."""
    from speedproof.plot import cdfs, histogram, order, qq
    from speedproof.plot.canvas import new_figure

    ammp = np.loadtxt(ROOT / "tests" / "data" / "oracle_mixture" / "ammp-c2.txt")
    found = fit(ammp, compatible=True)
    figure = new_figure(9.6, 7.2)
    axes = figure.subplots(2, 2)
    histogram(ammp, found.model, ax=axes[0, 0], axis="s", title="histogram and mixture")
    cdfs({"ammp-C2": ammp}, [found.model], ax=axes[0, 1], axis="s", title="distribution functions")
    order(ammp, found.model, ax=axes[1, 0], axis="s", title="runs by component")
    qq(ammp, ax=axes[1, 1], axis="s", title="normal probability plot")
    return Found(
        {"ammp": ammp, "bootstrap": setting.size(400, 2000)},
        (setting.figure("varcore-ammp-c2", "ammp-C2, as figures 6, 8, 9 and 18 show samples", figure),),
        ("The report takes the distance at the observations only.",),
    )


def exceeding(test: GoodnessOfFit) -> Share:
    """How many of the bootstrap's distances exceed the sample's."""
    return share(distance > test.distance for distance in test.replicates)


@register("varcore-samples", PAPER, "figures 2 to 4, 7, 14 and 19: the authors' samples")
def samples(setting: Setting) -> Found:
    """Those that are public, of SPEC OMP2001, by mclust's rules and by ours; violins of swim."""
    from speedproof.plot import violins
    from speedproof.plot.canvas import new_figure

    public = mazouz(setting)
    figures = []
    for compiler in ("gcc", "icc"):
        chosen = [key for key in public if "swim" in key[0] and key[1] == compiler]
        ax = new_figure(1.6 + len(chosen), 4.2).add_subplot()
        title = f"swim, {compiler}: affinity, threads"
        drawn = {f"{key[2]}, {key[3]}": public[key] for key in chosen}
        violins(drawn, [fit(x).model for x in drawn.values()], ax=ax, axis="s", title=title)
        figures.append(setting.figure(f"varcore-swim-{compiler}", f"swim built by {compiler}", ax))
    return Found({"public": list(public.values())}, tuple(figures))


def law(rng: np.random.Generator, spread: float) -> MixtureModel:
    """Section 5.2.1, footnote 10: 1 + Poisson(3.5) components, flat weights, means on (10, 60), .3 + c Beta(3, 2)."""
    K = min(9, 1 + int(rng.poisson(3.5)))
    return MixtureModel(rng.dirichlet(np.ones(K)), rng.uniform(10, 60, K), 0.3 + spread * rng.beta(3, 2, K))


@cache
def pvalues(n: int, c: int, size: float, trials: int) -> list[float]:
    """Of true mixtures of n values, deviations .3 + c Beta(3, 2), by bootstrap samples of ``size`` n."""
    found = []
    for trial in range(trials):
        rng = np.random.default_rng([1013, c, trial])
        test = fit(law(rng, c).rvs(n, rng)).goodness(200, seed=trial, undersampling=size, fast=True)
        found.append(test.pvalue)
    return found


def rejected(n: int, c: int, size: float, trials: int) -> Share:
    """How many of the true mixtures are rejected at 5 %."""
    return share(p <= 0.05 for p in pvalues(n, c, size, trials))


@register("varcore-figures10-13", PAPER, "figures 10 to 13: p-values of the bootstrap test")
def goodness(setting: Setting) -> Found:
    """Samples of the law of footnote 10, their fits, and p-values, which should be uniform."""
    from speedproof.plot.canvas import COLOURS, axes_or_new, new_figure

    trials = setting.size(100, 1000)
    ax = axes_or_new(new_figure().add_subplot())
    drawn = [(30, c, 1.0, trials) for c in (2, 4, 6)] + [(500, 4, size, trials // 2) for size in (1.0, 0.8)]
    for (n, c, size, of), colour in zip(drawn, COLOURS, strict=False):
        label = f"n = {n}, c = {c}" + (f", samples of {size:g} n" if n > 30 else "")
        ax.plot((np.arange(of) + 0.5) / of, np.sort(pvalues(n, c, size, of)), color=colour, label=label)
    ax.plot([0, 1], [0, 1], color="black", linewidth=0.7)
    ax.set_xlabel("uniform quantile")
    ax.set_ylabel("p-value")
    ax.legend(frameon=False)
    text = (
        "rejected(n, c, size, trials): mixtures of footnote 10's law, deviations .3 + c Beta(3, 2), that "
        "fit(x).goodness(200, undersampling=size, fast=True) rejects at its nominal 5 %."
    )
    figure = setting.figure("varcore-figures10-13", "p-values of true mixtures", ax)
    return Found({"trials": trials}, (figure,), (text,))


METRICS: dict[str, tuple[int, Callable[[Any, Any], float], Callable[[Any, Any], float]]] = {
    "I1": (30, expected_gap, mixture_gap),
    "I2": (200, probability_below, mixture_probability_below),
}
"""Metrics with the size of the samples in their table, of samples and of mixtures."""


@cache
def deviations(metric: str, of: str, pairs: int, repeats: int) -> Floats:
    """Estimates of a metric over its true value, less one: pairs of models, samples of each."""
    n, direct, parametric = METRICS[metric]

    def estimate(x: Floats, y: Floats) -> float:
        if of == "sample":
            return direct(x, y)
        return parametric(*(fit(values, compatible=True).model for values in (x, y)))

    found = []
    for pair in range(pairs):
        rng = np.random.default_rng([1517, n, pair])
        models = [uniform_law(rng) for _ in range(2)]
        if (truth := parametric(*models)) > 0:
            drawn = (model.rvs(n * repeats, rng).reshape(repeats, n) for model in models)
            found.append([estimate(x, y) / truth - 1 for x, y in zip(*drawn, strict=True)])
    return np.array(found)


def uniform_law(rng: np.random.Generator) -> MixtureModel:
    """Section 6.5.2: 1 + Poisson(2) components, uniform means and deviations; their ranges are those of 5.2.1."""
    K = min(9, 1 + int(rng.poisson(2.0)))
    return MixtureModel(rng.dirichlet(np.ones(K)), rng.uniform(10, 60, K), rng.uniform(0.3, 6.3, K))


def error(metric: str, of: str, pairs: int, repeats: int) -> Floats:
    """Mean absolute error of every pair, over the truth."""
    return np.asarray(np.abs(deviations(metric, of, pairs, repeats)).mean(axis=1))


def ratio(metric: str, pairs: int, repeats: int) -> Floats:
    """The mixture's mean squared error over the sample's, pair by pair."""
    mixture, sample = (
        (deviations(metric, of, pairs, repeats) ** 2).mean(axis=1) for of in ("mixture", "sample")
    )
    return np.asarray(mixture / sample)


def bootstrap(statistic: Callable[..., Any], values: Floats, *arguments: float) -> tuple[float, float]:
    """The interval of 99.9 % that a statistic of resampled values has."""
    resampled = np.random.default_rng(999).choice(values, (5_000, values.size))
    low, high = np.quantile(statistic(resampled, *arguments, axis=1), [0.0005, 0.9995])
    return float(low), float(high)


@register("varcore-tables1-3", PAPER, "tables 1 and 2: parametric against sample estimates")
def estimates(setting: Setting) -> Found:
    """Pairs of mixtures, and what is estimated of them by samples and by fits to these samples."""
    from speedproof.plot.canvas import axes_or_new, new_figure

    sizes = {
        "few": setting.size(50, 150), "many": setting.size(40, 200),
        "pairs": setting.size(70, 200), "repeats": setting.size(10, 30), "more": setting.size(400, 2000),
    }  # fmt: skip
    figure = new_figure(8.4, 3.8)
    for ax, (metric, *size) in zip(
        figure.subplots(1, 2),
        (("I1", sizes["few"], sizes["many"]), ("I2", sizes["pairs"], sizes["repeats"])),
        strict=True,
    ):
        x, y = (100 * error(metric, of, *size) for of in ("sample", "mixture"))
        axes_or_new(ax).loglog(x, y, ".")
        ax.axline((10, 10), (20, 20), color="black", linewidth=0.7)
        ax.set_xlim(1, 100)
        ax.set_ylim(1, 100)
        ax.set_xlabel(f"{metric}: mean error of the samples, %")
        ax.set_ylabel("of the mixtures, %")
    caption = "Errors of the two estimates in tables 1 and 2, pair of models by pair"
    text = (
        "By fit(x, compatible=True). Section 6.5.2 draws 1 + Poisson(2) components with uniform means and deviations, whose ranges are not "
        "known here: ours are those of section 5.2.1, (10, 60) and (.3, 6.3). Ours of I2 is the median over the pairs: a mean is ruled by "
        "the pairs whose chance is tiny, where a mixture's relative error has no bound. Six of the 78 numbers of tables 1 to 3 are known here."
    )
    return Found(sizes, (setting.figure("varcore-tables1-3", caption, figure),), (text,))


TABLE_5B: npt.NDArray[np.int64] = np.array(
    json.loads((PRINTED / "varcore-table5b.json").read_text(encoding="utf-8"))["rows"]
)
APART = np.subtract.outer(np.arange(6), np.arange(6))
"""Modes found beyond the true number, cell by cell of table 5."""


@cache
def models(c: int, total: int) -> list[tuple[int, MixtureModel]]:
    """As many models of one, two, ... modes as in table 5 (b), by the law of footnote 10."""
    truths = np.repeat(np.arange(1, 7), np.round(TABLE_5B.sum(axis=0) * total / TABLE_5B.sum()).astype(int))
    return [(m, of_modes(np.random.default_rng([45, c, i]), c, m)) for i, m in enumerate(truths.tolist())]


def of_modes(rng: np.random.Generator, c: int, wanted: int) -> MixtureModel:
    """The first model of the law that has so many modes; with c = 4, where a wider one hardly ever has them."""
    for spread in chain(repeat(c, 400), repeat(4)):
        model = law(rng, spread)
        if model.components >= wanted and model.modes().count == wanted:
            return model
    raise AssertionError("an endless search has ended")


@cache
def surplus(n: int, c: int, total: int) -> list[int]:
    """How many modes too many the fit to a sample of each model has."""
    drawn = (
        (m, model.rvs(n, np.random.default_rng([46, n, i]))) for i, (m, model) in enumerate(models(c, total))
    )
    return [fit(x, compatible=True).modes().count - m for m, x in drawn]


def modes_found(how: str, n: int, c: int, total: int) -> Share:
    """How often the number of modes is exact, within one, or not too many."""
    least, most = {"exact": (0, 0), "within one": (-1, 1), "not too many": (-9, 0)}[how]
    return share(least <= off <= most for off in surplus(n, c, total))


@register("varcore-tables4-5", PAPER, "tables 4 and 5: how many modes are found")
def modes(setting: Setting) -> Found:
    """As many models of one, two, ... modes as in table 5 (b), and the modes of a fit to a sample of each."""
    text = (
        "modes_found(how, n, c, total): by fit(x, compatible=True).modes().count. The report does not say how it drew its models; these are "
        "of its footnote 10 with c = 4 and with c = 6, as many of each number of modes as in table 5 (b). Of table 5 (a) only the sums are "
        "known here, which are table 4's for n = 30."
    )
    return Found({"total": setting.size(300, 2000)}, remarks=(text,))

"""Worms and Touati 2016 (VARCORE): appendix A, and the figures of single samples."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from studies.seeds.row import ROOT, Line, Outcome, Result, Setting, alike, number, register, share
from studies.seeds.speedup_test import mazouz

from speedproof.errors import SpeedproofError
from speedproof.formats.suites import read as read_suite
from speedproof.mixture.fitting import fit
from speedproof.mixture.goodness import goodness_of_fit
from speedproof.mixture.model import MixtureModel

Floats = npt.NDArray[np.float64]
PAPER = "Worms and Touati 2016 (VARCORE)"
AMMP = ROOT / "tests" / "data" / "oracle_mixture" / "ammp-c2.txt"


def binomial_tail(n: int, p: float, above: int) -> float:
    """P[more than so many of n]."""
    terms = np.cumsum(np.log(np.concatenate([[1.0], np.arange(n, 0, -1.0) / np.arange(1.0, n + 1)])))
    k = np.arange(n + 1)
    return float(np.exp(terms + k * np.log(p) + (n - k) * np.log1p(-p))[above + 1 :].sum())


@register("varcore-appendix", PAPER, "appendix A, and the chances of section 5.1.3")
def appendix(setting: Setting) -> Result:
    """The sample ammp-C2: its mixture as mclust fits it, its modes, the p-value of the fit."""
    x = np.loadtxt(AMMP)
    found = fit(x, compatible=True)
    model = found.model
    lines: list[Line] = []
    for name, ours, printed in (
        ("weight", model.weights, ("0.09677359", "0.15280620", "0.45830339", "0.16059283", "0.13152400")),
        ("mean", model.means, ("92.21333", "93.26964", "93.54552", "94.21802", "94.99607")),
        ("deviation", model.sds, ("0.163372026", "0.146702827", "0.227167773", "0.003986046", "0.392762363")),
    ):
        if ours.size != len(printed):
            why = f"{ours.size} components where the report has five"
            lines.append(
                Line(
                    f"{name}s", ", ".join(printed), ", ".join(f"{v:.6g}" for v in ours), Outcome.DIFFERS, why
                )
            )
            continue
        for k, (value, text) in enumerate(zip(ours.tolist(), printed, strict=True)):
            near = abs(value - float(text)) <= 2e-6 * max(1.0, abs(float(text)))
            outcome = Outcome.AGREES if near else Outcome.DIFFERS
            lines.append(
                Line(
                    f"example 1: {name} of component {k + 1}",
                    text,
                    f"{value:.9g}",
                    outcome,
                    "to 2e-6" if near else "",
                )
            )
    best = fit(x)
    N = setting.size(400, 2000)
    pvalue = goodness_of_fit(x, found, N=N, seed=1, c=1.0).pvalue
    lines += [
        number("example 1: variability level (modes)", "4", model.modes().count),
        Line(
            "example 1: log-likelihood, mclust's rules and ours",
            "",
            f"{found.loglik:.4f} and {best.loglik:.4f}",
            why="mclust's own start and stopping rule; the best of many starts",
        ),
        Line(
            "example 1: p-value of the fit",
            "0.205",
            f"{pvalue:.3f}",
            Outcome.LIKE,
            "N = 200 there and the distance at the observations only; the supremum over all x here (R: 0.269)",
        ),
        number("example 2: P[C2 < C3] with half of the ties", "0.4989594", 479.5 / 31**2),
        Line(
            "example 2: P[Ci is the least], summed over i",
            "1",
            "0.9999682",
            Outcome.MISPRINT,
            "at most this, from the printed values: they carry an error of integration of 3e-5",
        ),
        number("example 5.2: p-value", "7.2%", 36 / 500),
        number(
            "5.1.3: chance that a p of 3 % comes out above 5 %, N = 200", "4%", binomial_tail(200, 0.03, 10)
        ),
        Line(
            "5.1.3: the same for a p of 1 %",
            "6e-6",
            f"{binomial_tail(200, 0.01, 10):.2g}",
            Outcome.CUT,
        ),
        Line("5.3: rejected + accepted", "16.81% + 83.09%", "99.90%", Outcome.MISPRINT, "83.19 is meant"),
    ]
    from speedproof.plot import ecdf, histogram, qq, run_order
    from speedproof.plot.canvas import new_figure

    figure = new_figure(9.6, 7.2)
    axes = figure.subplots(2, 2)
    histogram(x, model, ax=axes[0, 0], axis="s", title="histogram and mixture")
    ecdf(x, model, ax=axes[0, 1], axis="s", title="distribution functions")
    run_order(x, model, ax=axes[1, 0], axis="s", title="runs by component")
    qq(x, ax=axes[1, 1], axis="s", title="normal probability plot")
    return Result(
        tuple(lines),
        (setting.figure("varcore-ammp-c2", "ammp-C2, as figures 6, 8, 9 and 18 show samples", figure),),
    )


@register("varcore-figures2-4", PAPER, "figures 2 to 4: violins of swim")
def violins(setting: Setting) -> Result:
    """The authors' measurements of SPEC OMP2001, one violin a configuration."""
    from speedproof.plot import violins as draw
    from speedproof.plot.canvas import new_figure

    samples = {key: x for key, x in mazouz(setting).items() if "swim" in key[0]}
    figures = []
    for compiler in sorted({key[1] for key in samples}):
        chosen = {f"{a}, {t}": x for (_, c, a, t), x in samples.items() if c == compiler}
        ax = new_figure(1.6 + len(chosen), 4.2).add_subplot()
        draw(
            chosen,
            [_model(x) for x in chosen.values()],
            ax=ax,
            axis="s",
            title=f"swim, {compiler}: affinity, threads",
        )
        figures.append(setting.figure(f"varcore-swim-{compiler}", f"swim built by {compiler}", ax))
    return Result((Line("configurations of swim", "", str(len(samples))),), tuple(figures))


def _model(x: Floats) -> MixtureModel | None:
    try:
        return fit(x).model
    except SpeedproofError:
        return None


def at_hand(setting: Setting) -> dict[str, Floats]:
    """Samples of 20 values or more: the programs of ``examples/gcc``, and every result file of ``--data``."""
    paths = [ROOT / "examples" / "gcc" / f"{level}.json" for level in ("O2", "O3")]
    paths += sorted(setting.data.rglob("*.json")) if setting.data is not None else []
    samples = {}
    for path in paths:
        try:
            suite = read_suite(str(path))
        except SpeedproofError:
            continue  # not a result file
        for (key, version), sample in suite.samples.items():
            x = sample.per_process("mean").values
            if key.metric == "time" and x.size >= 20 and np.unique(x).size >= 5:
                samples[f"{path.name} {version} {key.benchmark}"] = x
    return samples


@register("varcore-figures3-7-14-19", PAPER, "figures 3, 7, 14 and 19: fits of real samples")
def real_samples(setting: Setting) -> Result:
    """The distributions of K, of the number of modes, and of the p-value of the fit over the samples at hand."""
    from speedproof.plot.canvas import BLUE, axes_or_new, new_figure

    samples = at_hand(setting)
    names = list(samples)[:: max(1, len(samples) // setting.size(30, 600))]
    K, modes, pvalues = [], [], []
    for i, name in enumerate(names):
        found = fit(samples[name])
        K.append(found.components)
        modes.append(found.model.modes().count)
        test = goodness_of_fit(samples[name], found, N=200, seed=i, fast=True)
        pvalues.append(test.pvalue)
        setting.progress((i + 1) / len(names))
    rejected = sum(p <= 0.05 for p in pvalues)
    figure = new_figure(9.6, 3.2)
    whole = np.arange(0.5, max(K) + 1)
    for ax, (title, values, bins) in zip(
        figure.subplots(1, 3),
        (
            ("p-value of the fit", np.array(pvalues), np.linspace(0, 1, 21)),
            ("components K", np.array(K), whole),
            ("modes", np.array(modes), whole),
        ),
        strict=True,
    ):
        axes_or_new(ax)
        ax.hist(values, bins=bins.tolist(), color=BLUE, rwidth=0.9)
        ax.set_xlabel(title)
        ax.set_ylabel("samples")
    one = sum(k == 1 for k in K)
    return Result(
        (
            alike(
                "mixtures rejected at 5 %",
                "16.81 % of the authors' samples",
                share(rejected, len(names)),
                f"{len(names)} of {len(samples)} samples at hand",
            ),
            alike("samples with one component", "", share(one, len(names))),
            alike("samples with more than one mode", "", share(sum(m > 1 for m in modes), len(names))),
        ),
        (setting.figure("varcore-figures3-7-14-19", f"Fits of {len(names)} real samples", figure),),
        ("The authors' samples are not public but for SPEC OMP (see --data).",),
    )

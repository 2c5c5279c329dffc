"""Chen et al. 2015: Hierarchical Performance Testing."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from studies.scores import entries_of_scores
from studies.seeds.row import (
    ROOT,
    Line,
    NotHereError,
    Outcome,
    Result,
    Setting,
    alike,
    number,
    register,
    text_of,
)

from speedproof.protocols.hpt import Hpt, Winner, hpt
from speedproof.protocols.hpt_claims import claims
from speedproof.stats.normality import lilliefors

Floats = npt.NDArray[np.float64]
PAPER = "Chen et al. 2015 (HPT)"
TABLES = ROOT / "tests" / "data" / "oracle_hpt"
SIZES = (20, 50, 100, 200, 500, 1000)
"""Of the means in figures 4 to 6."""


def scores(name: str) -> list[list[float]]:
    """A table of the article, or of the reference cases: a row a benchmark."""
    lines = (TABLES / f"{name}.csv").read_text(encoding="utf-8").splitlines()[1:]
    return [[float(v) for v in line.split(",")[1:]] for line in lines]


@register("hpt-table1", PAPER, "table I: are scores normal, or log-normal? (Lilliefors)")
def table1(setting: Setting) -> Result:
    """The scores of all systems that were published, by suite."""
    path = setting.file("cpu2006-results-20140206.csv.xz", "cpu2006-results-20140206.csv")
    text = text_of(path)
    by_suite: dict[str, list[float]] = defaultdict(list)
    for record in csv.DictReader(text.splitlines()):
        if (value := _number(record.get("Result", ""))) > 0:
            by_suite[record["Benchmark"]].append(value)
    lines = []
    for suite, values in sorted(by_suite.items()):
        x = np.array(values)
        if x.size >= 8:
            raw, logs = lilliefors(x), lilliefors(np.log(x))
            lines += [
                alike(
                    f"{suite}: normal?",
                    "no",
                    f"p = {float(raw.pvalue):.3g}, D = {float(raw.statistic):.3f}",
                    f"{x.size} results",
                ),
                alike(
                    f"{suite}: log-normal?",
                    "fp: nearly" if "fp" in suite.lower() else "",
                    f"p = {float(logs.pvalue):.3g}, D = {float(logs.statistic):.3f}",
                ),
            ]
    return Result(
        tuple(lines),
        remarks=(
            "Which scores the article took cannot be told from the public file: all results are shown, by suite.",
        ),
    )


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


@register("hpt-table2", PAPER, "table II: the rows that are legible")
def table2(setting: Setting) -> Result:
    """Six of twelve benchmarks; one score each, so that the first level is skipped."""
    found = hpt(entries_of_scores(scores("table2_first6_B"), scores("table2_first6_A")), [0.95], rule="paper")
    whole = "of all twelve rows, six of which cannot be read"
    return Result(
        (
            Line(
                "confidence that A is better",
                "1",
                f"{found.confidence:.4f}",
                Outcome.LIKE,
                f"{whole}; six wins of six are 1 - 2^-6",
            ),
            Line("0.95-speedup", "1.41", f"{found.speedups[0].hundredth:g}", Outcome.LIKE, whole),
        )
    )


@register("hpt-table3", PAPER, "table III: SPLASH-2, section IV-B")
def table3(setting: Setting) -> Result:
    """Fourteen benchmarks of five runs: A's scores divided by 1.76 as printed, and as they were."""
    b, a = scores("table3_reduced_B"), scores("table3_reduced_A")
    reduced: Hpt = hpt(entries_of_scores(b, a), rule="paper")
    full = hpt(entries_of_scores(b, scores("table3_x176_A")), [0.95], rule="paper")
    exact = hpt(entries_of_scores(b, scores("table3_x176_A")), [0.95])
    wins = "/".join(str(reduced.count(w)) for w in (Winner.CANDIDATE, Winner.TIE, Winner.REFERENCE))
    speedup = full.speedups[0]
    return Result(
        (
            Line(
                "wins, ties, losses of A",
                "8/2/4",
                wins,
                Outcome.AGREES if wins == "8/2/4" else Outcome.DIFFERS,
            ),
            number("confidence that A is better", "0.9547", reduced.confidence),
            Line(
                "0.95-speedup",
                "1.76",
                speedup.certified_exact + " = 1.76",
                Outcome.AGREES if speedup.certified_exact == "44/25" else Outcome.DIFFERS,
                "exactly; algorithm 1 as printed returns the first step that fails, 1.77",
            ),
            Line(
                "0.95-speedup with null distributions exact given the ties",
                "",
                f"{exact.speedups[0].certified:.4f}",
            ),
        )
    )


@register("hpt-geometric-means", PAPER, "geometric means of SPEC CPU2006")
def geometric_means(setting: Setting) -> Result:
    """The 3.50 of the text needs scores by benchmark of both machines."""
    raise NotHereError(
        "scores by benchmark of the text's two machines; the public file has one result a system"
    )


@register("hpt-parsec", PAPER, "the PARSEC toolkit's sample report")
def parsec(setting: Setting) -> Result:
    """Its confidences can be told from ours without its data: each is one step of an exact table away."""
    nine, eight = (_tails(n) for n in (9, 8))
    lines = (
        Line(
            "confidence .9980 where counting gives .9961",
            ".9980",
            f"{1 - nine(45):.4f} for W = 45, {1 - nine(44):.4f} for W = 44 (n = 9)",
            Outcome.LIKE,
            "a half rank of a tie makes W = 44.5: the toolkit reads it as 45, in favour of the winner; the article's rule, "
            "no larger than the tabulated value, reads 44",
        ),
        Line(
            "confidence .9922 where counting gives .9883",
            ".9922",
            f"{1 - eight(35):.4f} for W = 35, {1 - eight(34):.4f} for W = 34 (n = 8)",
            Outcome.LIKE,
            "likewise W = 34.5, read as 35 or as 34",
        ),
    )
    return Result(
        lines,
        remarks=(
            "The report's measurements are not here: this explains its numbers, and does not recompute them.",
        ),
    )


def _tails(n: int) -> Callable[[int], float]:
    """P[W >= w] of the signed-rank sum of n benchmarks without ties, by enumeration."""
    counts = np.ones(1)
    for rank in range(1, n + 1):
        counts = np.concatenate([counts, np.zeros(rank)]) + np.concatenate([np.zeros(rank), counts])
    return lambda w: float(counts[w:].sum() / 2.0**n)


@register("hpt-tables4-6", PAPER, "tables IV to VI: errors and losses of the geometric mean and of t")
def tables4_6(setting: Setting) -> Result:
    """On stand-in suites: table III, the reference cases of 5 to 25 benchmarks, the programs of examples/gcc."""
    suites = {"table III": (scores("table3_reduced_B"), scores("table3_x176_A"))}
    for path in sorted(TABLES.glob("syn*_A.csv")):
        name = path.stem.removesuffix("_A")
        suites[name] = scores(f"{name}_B"), scores(f"{name}_A")
    lines, errors = [], []
    for done, (name, (b, a)) in enumerate(suites.items()):
        found = claims(entries_of_scores(b, a), alpha=0.05, literal_signs=False)
        shown = []
        for claim in found.claims:
            if claim.speedup is None:
                shown.append(f"{claim.method}: none")
                continue
            error = "" if np.isnan(claim.error) else f", error {100 * claim.error:+.1f} %"
            shown.append(
                f"{claim.method}: {claim.speedup:.3f}, confidence {claim.confidence:.3f}, loss {claim.loss:+.3f}{error}"
            )
            if claim.method == "geometric mean" and not np.isnan(claim.error):
                errors.append(claim.error)
        certified = "none" if found.certified is None else f"{found.certified:.3f}"
        lines.append(Line(f"{name}, {len(a)} benchmarks", "", f"HPT {certified}; " + "; ".join(shown)))
        setting.progress((done + 1) / len(suites))
    lines.insert(
        0,
        alike(
            "error of the geometric mean against the 0.95-speedup, smallest and largest",
            "8.0 % to 56.3 %",
            f"{100 * min(errors):.1f} % to {100 * max(errors):.1f} %" if errors else "none",
            "SPEC CPU2006 and MPI2007 there, stand-in suites here",
        ),
    )
    return Result(
        tuple(lines),
        remarks=(
            "Error: speedup over HPT's 0.95-speedup, less one. Loss: 0.95 less the confidence that HPT has in the speedup.",
        ),
    )


@register("hpt-figure2", PAPER, "figure 2: are repeated runs normal?")
def figure2(setting: Setting) -> Result:
    """A stand-in for 27 programs of 10,000 runs: the programs of ``examples/gcc``, measured here."""
    import shutil

    from studies.seeds.speedup_test import measured

    from speedproof.plot import histogram
    from speedproof.plot.canvas import new_figure

    if shutil.which("gcc") is None:
        raise NotHereError("gcc is not installed")
    times = measured(setting, setting.size(20, 1000), ["O3"])
    normal = [float(lilliefors(x).pvalue) for x in times.values()]
    logs = [float(lilliefors(np.log(x)).pvalue) for x in times.values()]
    n = next(iter(times.values())).size
    figure = new_figure(8.4, 5.0)
    for ax, ((program, _), x) in zip(figure.subplots(2, 3).ravel(), times.items(), strict=False):
        histogram(1e3 * x, ax=ax, axis="ms", title=program)
        ax.set_ylabel("")
    rejected = f"{sum(p <= 0.05 for p in normal)} of {len(normal)} programs"
    return Result(
        (
            alike(
                "normality rejected at 5 %",
                "27 programs, 10,000 runs",
                f"{rejected}, {n} runs",
                "other programs and machine",
            ),
            alike(
                "log-normality rejected at 5 %", "", f"{sum(p <= 0.05 for p in logs)} of {len(logs)} programs"
            ),
        ),
        (setting.figure("hpt-figure2", f"{n} runs of six programs, gcc -O3", figure),),
    )


def gamma(shape: float) -> Callable[[np.random.Generator, int, int], Floats]:
    """Means of a gamma population, of skewness 2 / sqrt(shape): a sum of gamma variables is one, drawn at once."""
    return lambda rng, n, means: rng.gamma(n * shape, size=means)


POPULATIONS: dict[str, Callable[[np.random.Generator, int, int], Floats]] = {
    "exponential": gamma(1.0),
    "gamma, shape 2": gamma(2.0),
    "gamma, shape 4": gamma(4.0),
    "log-normal, sigma 0.5": lambda rng, n, means: rng.lognormal(0.0, 0.5, (means, n)).mean(axis=1),
    "log-normal, sigma 1": lambda rng, n, means: rng.lognormal(0.0, 1.0, (means, n)).mean(axis=1),
}


@register("hpt-figures4-6", PAPER, "figures 4 to 6: when are means of a skewed population normal?")
def figures4_6(setting: Setting) -> Result:
    """Trials of 10,000 means each, tested by Lilliefors; how many trials fail at each size of sample."""
    from speedproof.plot.canvas import COLOURS, axes_or_new, new_figure

    trials, means = setting.size(40, 100), 10_000
    populations = dict(list(POPULATIONS.items())[: setting.size(3, 5)])
    failed: dict[str, list[float]] = {}
    for k, (name, draw) in enumerate(populations.items()):
        failed[name] = []
        for j, n in enumerate(SIZES):
            rng = np.random.default_rng([46, k, n])
            pvalues = [float(lilliefors(draw(rng, n, means)).pvalue) for _ in range(trials)]
            failed[name].append(sum(p <= 0.05 for p in pvalues) / trials)
            setting.progress((k * len(SIZES) + j + 1) / (len(populations) * len(SIZES)))
    ax = axes_or_new(new_figure().add_subplot())
    for (name, shares), colour, marker in zip(failed.items(), COLOURS, "os^Dv", strict=False):
        ax.plot(SIZES, [100 * s for s in shares], f"{marker}-", color=colour, label=name)
    ax.set_xscale("log")
    ax.set_xticks(SIZES, [str(n) for n in SIZES])
    ax.minorticks_off()
    ax.axhline(5, color="black", linewidth=0.7, linestyle=":")
    ax.set_xlabel("runs in a mean")
    ax.set_ylabel("trials that are not normal, %")
    ax.legend(frameon=False)
    ranges = [[100 * s[SIZES.index(n)] for s in failed.values()] for n in (100, 500)]
    shown = [f"{min(r):.0f} %" if len(r) == 1 else f"{min(r):.0f} to {max(r):.0f} %" for r in ranges]
    why = f"{'; '.join(failed)}: the article does not say how it drew; {trials} trials of {means} means"
    return Result(
        (
            alike("trials that fail at n = 100", "more than 70 %", shown[0], why),
            alike("trials that fail at n = 500", "21 %", shown[1], ""),
        ),
        (setting.figure("hpt-figures4-6", "Trials whose means Lilliefors' test finds not normal", ax),),
        (
            "The skewness of a mean falls as n^-1/2; how soon a test notices it depends on the number of means. With 10,000 means, gamma "
            "populations of skewness 1 and 1.4 (shapes 4 and 2) lie on either side of the article's 21 % at n = 500.",
        ),
    )

"""Touati 2009: examples 2.1 to 4.2, every printed number."""

from __future__ import annotations

import numpy as np
from studies.seeds.row import Line, Outcome, Result, Setting, number, register

from speedproof.protocols.suites import accelerated_2009, gain_2009
from speedproof.protocols.touati2009 import decide_2009
from speedproof.stats.dependence import hurst_factor
from speedproof.stats.normality import shapiro_wilk
from speedproof.stats.proportions import prop_test, validity_2013

T1 = np.array([2.799, 2.046, 1.259, 1.877, 2.244])
T2 = np.array([1.046, 0.259, 0.877, 1.244, 1.799])


@register("2009-examples", "Touati 2009", "examples 2.1 to 4.2")
def examples(setting: Setting) -> Result:
    """All of them, from the two samples of five runs that the text prints."""
    w1, w2 = shapiro_wilk(T1), shapiro_wilk(T2)
    lower = {c: decide_2009(T1, T2, round(1 - c, 9)).difference[1] for c in (0.99, 0.95)}
    reverse = decide_2009(T2, T1, 0.99)
    gain = gain_2009(before=[3, 3600], after=[1, 3420], confidences=[0.95, 0.95])
    speedups = np.array([300.0, 105.0])
    at90, at50 = prop_test(17, 30, 0.1), prop_test(17, 30, 0.5)
    z = 1.959963984540054
    lines = [
        number("2.1: Hurst factor of T1", "0.7032736", float(hurst_factor(T1))),
        number("2.1: Hurst factor of T2", "0.7032736", float(hurst_factor(T2))),
        number("2.1: Shapiro-Wilk W of T1", "0.9862", float(w1.statistic)),
        number("2.1: its p", "0.9647", float(w1.pvalue)),
        number("2.1: Shapiro-Wilk W of T2", "0.9862", float(w2.statistic)),
        number("2.1: its p", "0.9647", float(w2.pvalue)),
        Line(
            "2.1: T1 is normal at risk 5 %",
            "W >= 0.986",
            f"p = {float(w1.pvalue):.4f} > 0.05",
            Outcome.MISPRINT,
            "0.986 stands in the 0.95 column of the table, which asks for p >= 0.95; a risk of 5 % asks for W >= 0.762",
        ),
        number("2.1: lower end of the interval at 99 %", "-0.02574667", lower[0.99]),
        number("2.1: lower end at 95 %", "0.3414632", lower[0.95]),
        number("2.1: speedup of the minima", "4.86", float(T1.min() / T2.min())),
        number(
            "2.1: speedup of the medians",
            "1.95",
            float(np.median(T1) / np.median(T2)),
        ),
        number("2.2: lower end at 1 %, sides exchanged", "0.02574667", reverse.difference[1]),
        number("2.2: mean(T2) / mean(T1)", "0.5110024", float(T2.mean() / T1.mean())),
        number("2.2: median(T2) / median(T1)", "0.5112414", float(np.median(T2) / np.median(T1))),
        number("3.1: W(P1)", "0.008", gain.weights[0], "a zero is missing: the example goes on with 0.0008"),
        number("3.1: W(P2)", "0.9991", gain.weights[1]),
        number("3.1: weighted gain of P1", "0.001", gain.weights[0] * 2),
        number("3.1: weighted gain of P2", "179.85", gain.weights[1] * 180),
        number("3.1: overall gain G", "5%", gain.gain),
        number(
            "3.1: time of P2 after a speedup of 105 %",
            "3420",
            3600 / 1.05,
            "3420 s are a gain of 5 %, a speedup of 105.26 %",
        ),
        number("3.1: arithmetic mean of the speedups in %", "202.5", float(speedups.mean())),
        number("3.1: geometric mean", "177.48", float(np.exp(np.log(speedups).mean()))),
        number("3.1: harmonic mean", "155.56", float(2 / (1 / speedups).sum())),
        number("4.1: 17 of 30, lower end at 90 %", "0.4027157", at90.low),
        number("4.1: 17 of 30, upper end at 90 %", "0.7184049", at90.high),
        number("4.1: 17 of 30, lower end at 50 %", "49.84%", at50.low, "48.84: a digit was exchanged"),
        number("4.1: 17 of 30, upper end at 50 %", "64.23%", at50.high),
        number("4.1: a - a^2/b", "7.37", validity_2013(17, 30)),
        number(
            "4.2: benchmarks needed, before rounding up",
            "377.46",
            z**2 * (17 / 30) * (13 / 30) / 0.05**2,
            "C was cut to 0.566, z to 1.960",
        ),
        number(
            "4.2: benchmarks needed", "378", float(accelerated_2009(17, 30, 0.05, 0.05).benchmarks_needed)
        ),
    ]
    return Result(
        tuple(lines),
        remarks=(
            "Nine printed numbers do not round from the data. Five are misprints: how the table of W is read, W(P1), the time "
            "after 105 %, the lower end at 50 % and 377.46; the article of 2013 repeats the last two. Four are cut, not rounded. "
            "The text also calls the confidence alpha.",
        ),
    )

"""Touati 2009: examples 2.1 to 4.2, every printed number."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from studies.scores import suite_of_scores
from studies.seeds.row import Found, Setting, register

from speedproof import hpt
from speedproof.protocols.aggregates import accelerated_2009, gain_2009, overall_gain
from speedproof.protocols.touati2009 import decide_2009
from speedproof.stats.dependence import hurst_factor
from speedproof.stats.multiplicity import prop_test
from speedproof.stats.normality import shapiro_wilk
from speedproof.stats.scaling import location_ratio, mean, median
from speedproof.stats.special import normal_quantile

__all__ = [  # the calls of the lines
    "accelerated_2009", "decide_2009", "gain_2009", "geometric_mean", "hurst_factor", "location_ratio", "mean",
    "median", "normal_quantile", "overall_gain", "prop_test", "w_at_risk",
]  # fmt: skip

T1 = np.array([2.799, 2.046, 1.259, 1.877, 2.244])
T2 = np.array([1.046, 0.259, 0.877, 1.244, 1.799])
OUTLIER = np.array([0.0, 0.0, 100.0, 0.0, 0.0])


@register("2009-examples", "Touati 2009", "examples 2.1 to 4.2")
def examples(setting: Setting) -> Found:
    """All of them, from the two samples of five runs that the text prints."""
    return Found(remarks=("The text calls the confidence alpha.",))


def w_at_risk(risk: float) -> float:
    """Shapiro and Wilk's W of five values whose p-value is a risk: on the way from T1 to an outlier."""
    near, far = 0.0, 1.0
    for _ in range(60):
        middle = 0.5 * (near + far)
        rejected = float(shapiro_wilk(T1 + middle * OUTLIER).pvalue) <= risk
        near, far = (near, middle) if rejected else (middle, far)
    return float(shapiro_wilk(T1 + near * OUTLIER).statistic)


def geometric_mean(speedups: Sequence[float]) -> float:
    """Of the speedups of several programs, as HPT compares itself to it."""
    return (
        hpt(suite_of_scores(([1.0], [s]) for s in speedups), scores="given").claims.claims[0].speedup
        or np.nan
    )

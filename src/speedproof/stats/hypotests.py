"""Hypothesis tests of one and two samples: what SciPy lacks, or computes one pair at a time.

Every test takes float64 arrays whose last axis is the observations, is vectorised over the leading axes
(those of two samples broadcast) and gives a frozen result of arrays. The caller sees to it that values
are finite; samples that a test is not defined for give NaN, never a warning.
"""

from speedproof.stats.normality import TestResult, shapiro_wilk
from speedproof.stats.ranks import BrunnerMunzel, RankSum, brunner_munzel, rank_sum
from speedproof.stats.smirnov import KSResult, ks_location
from speedproof.stats.ttests import TTest, VarianceRatio, student, variance_ratio, welch

__all__ = [
    "BrunnerMunzel",
    "KSResult",
    "RankSum",
    "TTest",
    "TestResult",
    "VarianceRatio",
    "brunner_munzel",
    "ks_location",
    "rank_sum",
    "shapiro_wilk",
    "student",
    "variance_ratio",
    "welch",
]

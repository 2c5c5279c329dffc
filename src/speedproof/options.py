"""What can be asked: the words that the command line, Python and settings share. Importing this takes no time."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

QuestionName = Literal["typical", "mean", "median", "single run", "touati2009", "p90", "p95", "p99", "p99.9"]
"""The questions of two samples, in the order in which they are shown."""

QUANTILES: dict[QuestionName, float] = {"p90": 0.9, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}
"""The shares of the questions about the slowest runs."""

HEADLINE: QuestionName = "typical"
"""The question whose answer is a benchmark's verdict."""

ASKED: tuple[QuestionName, ...] = ("typical", "mean")
"""What is asked by default: the headline, and the mean, which is shown where it proves the opposite."""

DETAILS: tuple[QuestionName, ...] = ("typical", "mean", "median", "single run")
"""What is asked when everything is wanted."""

Location = Literal["typical", "mean", "median", "p90", "p95", "p99", "p99.9"]
"""Whose test decides a gate."""

Multiplicity = Literal["holm", "bh", "none"]
"""Corrections over the benchmarks of what fails a gate."""


class Policy(StrEnum):
    """What a benchmark must prove."""

    NO_REGRESSION = "no-regression"
    PROVEN_IMPROVEMENT = "proven-improvement"
    EQUIVALENCE = "equivalence"

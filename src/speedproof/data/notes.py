"""What a user is told of what was measured: an assumption, and what was seen against it."""

from __future__ import annotations

import math
from enum import Enum
from typing import Literal

from msgspec import Struct

Undermines = Literal["risk", "question", "bounds", "power", "nothing"]


class Assumption(Enum):
    """An assumption of a procedure, with what a person has to know of it.

    Attributes
    ----------
    violated : str
        What is the matter where it does not hold, for a list.
    question : str
        What a check of it asks.
    remedy : str
        What to do when it does not hold; empty when the procedure takes care of it.
    undermines : {"risk", "question", "bounds", "power", "nothing"}
        What is lost when it does not hold. ``"risk"``: the true risk may be far from the stated one, whatever the
        test. ``"question"``: the test answers another question. ``"bounds"``: the bounds are not those of the
        ratio shown. ``"power"``: the test is approximate or sees less. ``"nothing"``: another test took over.

    Examples
    --------
    >>> Assumption("run order").violated, Assumption.SHIFT.undermines
    ('dependent neighbouring runs', 'question')
    """

    violated: str
    question: str
    remedy: str
    undermines: Undermines
    __hash__ = object.__hash__  # Enum's own is a function in Python, and of large suites a hundredth of all

    def __new__(
        cls, value: str, question: str, remedy: str, undermines: Undermines, violated: str
    ) -> Assumption:
        """An enum member with attributes."""
        self = object.__new__(cls)
        self._value_ = value
        self.violated, self.question, self.remedy, self.undermines = violated, question, remedy, undermines
        return self

    # fmt: off
    NORMALITY = ("normality", "could the values come from a normal distribution? (Shapiro-Wilk)",
        "measure more than 30 runs, or rely on the typical run or the median", "power", "values far from normal")
    EQUAL_VARIANCES = ("equal variances", "do both versions have the same variance? (F test)",
        "", "nothing", "unequal variances")
    SHIFT = ("location shift", "do the distributions differ by a shift only? (Kolmogorov-Smirnov)",
        "rely on the typical run, which needs no common shape", "question", "different shapes")
    FACTOR = ("common factor", "do the distributions differ by a factor only? (Kolmogorov-Smirnov)",
        "rely on the typical run, which needs no common shape", "bounds", "no common factor")
    TIES = ("ties", "are most values distinct?",
        "read more digits, or let a run do more", "power", "many equal values")
    NESTING = ("nesting", "is one value a process compared?",
        "repeat whole processes, and record which value comes from which", "risk", "several values a process")
    SEVERAL_PROCESSES = ("several processes", "are there several processes, so that their spread can be seen?",
        "repeat the whole program and give the files of one version as a folder", "risk", "one process only")
    SEVERAL_RUNS = ("several runs", "are there several runs, so that their spread can be seen?",
        "measure four runs or more", "risk", "too few runs")
    UNTOUCHED = ("untouched values", "are these the values as measured?",
        "export every run, in the order of measuring", "risk", "altered values")
    RUN_ORDER = ("run order", "are consecutive runs independent? (von Neumann's ratio of ranks)",
        "rely on the typical run, of versions measured in turns", "risk", "dependent neighbouring runs")
    EFFECTIVE_RUNS = ("effective runs", "are there enough runs, after allowing for similar neighbours?",
        "measure more runs, or both versions in a random order", "power", "too few independent runs")
    TREND = ("trend", "do the values neither rise nor fall over the runs? (Spearman's correlation)",
        "warm up longer, or rely on the typical run, of versions measured in turns",
        "risk", "a trend over the runs")
    STEADINESS = ("steadiness", "are the values of one process free of a trend? (Spearman's correlation)",
        "warm up longer, or use the same number of values from every process",
        "risk", "warm-up within processes")
    INDEPENDENCE = ("independence", "are the values independent? (Hurst factor)",
        "measure in a random order", "risk", "dependent runs")
    TWO_MEASUREMENTS = ("two measurements", "are these two measurements, and not one given twice?",
        "give two measurements", "risk", "one measurement given twice")
    PLANNED_SIZE = ("planned size", "was the number of runs fixed before they were seen?",
        "read the verdict with 'speedproof run --review FILE', or fix the number of runs beforehand",
        "risk", "a number of runs that was not planned")
    KNOWN_PLAN = ("known plan", "is it known which version was the reference, and when measuring was to end?",
        "measure again, or restore the first line of the file", "risk", "a plan that is lost")
    ONE_PROGRAM = ("one program", "was it the same program throughout?",
        "measure again", "risk", "the program was replaced")
    ONE_SPEED = ("one speed", "did the machine run at one speed?",
        "measure where it does", "risk", "two speeds of the machine")
    ONE_LAYOUT = ("one layout", "is the effect larger than that of where the linker puts the code?",
        "tell code from layout with 'speedproof run --builds'",
        "question", "an effect that code layout can have")
    SUCCESSFUL_RUNS = ("successful runs", "did every run succeed?",
        "fix what fails and measure again", "risk", "failed runs")
    RESOLUTION = ("resolution", "were the values read finely enough?",
        "use more digits or, if they are times, a finer clock or longer runs", "risk", "coarse values")
    POSITIVE_VALUES = ("positive values", "are all values positive, so that ratios mean something?",
        "let a run do more, or measure it more finely", "bounds", "values that are not positive")
    SOME_TIME = ("some time", "did the runs of each side take any time?",
        "let a run do more, or measure it more finely", "risk", "all runs of a side are 0")
    USUAL_CONFIDENCE = ("confidence level", "is the confidence above one half?",
        "ask for a confidence of 0.95", "question", "confidence below one half")
    SKEWNESS = ("medians and means agree",
        "does the ratio of medians lie within the bounds of the ratio of means?",
        "state both", "bounds", "medians and means that disagree")
    INTERLEAVED = ("interleaved measuring", "were both versions measured in turns?",
        "measure with 'speedproof run', which takes turns in random order",
        "risk", "versions measured one after the other")
    ONE_UNIT = ("one unit", "are both versions in the same unit?",
        "write the unit into the files", "question", "units that may differ")
    ONE_SESSION = ("one session", "were both versions measured in one session on one machine?",
        "measure both versions in one session, or each in several", "risk", "different sessions")
    SEVERAL_SESSIONS = ("several sessions",
        "are there four sessions a side or more, so that their spread is in the risk?",
        "measure four sessions of each version", "risk", "few sessions")
    BLOCK_SYMMETRY = ("symmetric blocks", "do the ratios of the blocks spread alike on both sides?",
        "see what mean, median and single runs say, in 'compare --details'", "bounds", "asymmetric blocks")
    STEADY_SPEEDUP = ("steady speedup", "does the speedup stay the same from block to block?",
        "measure again", "bounds", "a speedup that changed on the way")
    VALUES = ("values", "did every run give a value to compare?",
        "decide by a metric that every run has", "risk", "runs without a value")
    NOTHING_LEFT_RUNNING = ("nothing left running", "did every process of a run end with it?",
        "wait for them in the command", "risk", "processes left running")
    WHOLE_BLOCKS = ("whole blocks", "were hardly any blocks cut short?",
        "measure without interrupting", "risk", "blocks cut short")
    NOISE_FLOOR = ("noise floor", "is the difference larger than where there can be none?",
        "measure on a quieter machine, or more builds", "question", "a difference below the noise floor")
    ONE_ANSWER = ("one answer", "do means, medians and single runs agree on who is faster?",
        "state both", "question", "contradicting means, medians and single runs")
    # fmt: on


UNDERMINING = frozenset(assumption for assumption in Assumption if assumption.undermines == "risk")
"""Assumptions without which the stated risk may be far from the true one, whatever the test."""


class Note(Struct, frozen=True):
    """What was seen of an assumption, or cannot be known of it.

    Attributes
    ----------
    kind : Assumption
        Which, with its question and its remedy.
    message : str
        What was seen and what it means; empty when the kind says all.
    versions : tuple of str
        Whose runs: their names, in a comparison ``"X"`` or ``"Y"``; empty for all. Of an order of measuring the
        first was measured first.
    benchmarks : tuple of str
        Where; empty for everywhere.
    statistic, pvalue : float
        Of its test, or what was seen as a number; NaN where there is none.
    held : bool
        Whether the assumption held.

    Examples
    --------
    >>> print(Note(Assumption.NORMALITY, "normality is not rejected", ("X",), held=True))
    normality of X: normality is not rejected
    """

    kind: Assumption
    message: str = ""
    versions: tuple[str, ...] = ()
    benchmarks: tuple[str, ...] = ()
    statistic: float = math.nan
    pvalue: float = math.nan
    held: bool = False

    def __str__(self) -> str:
        return f"{self.name}: {self.advice}" if self.message else self.name

    @property
    def advice(self) -> str:
        """The observation and, where the assumption fails, the remedy."""
        return self.message if self.held or not self.kind.remedy else f"{self.message}; {self.kind.remedy}"

    @property
    def name(self) -> str:
        """The assumption and whose: ``"normality of X"``."""
        whose = " and ".join(self.versions)
        return f"{self.kind.value} of {whose}" if whose else self.kind.value

    @property
    def alike(self) -> tuple[object, ...]:
        """The key by which equal notes of several comparisons are recognised."""
        return self.kind, self.versions, self.message, f"{self.statistic:g}"

"""A comparison in plain sentences: what is proven, by how much, at which confidence, and what is doubtful."""

from __future__ import annotations

import math

from speedproof.protocols.assumptions import Assumption
from speedproof.protocols.results import Comparison, Verdict
from speedproof.report.wording import bounds, level, lower, percent, ratio, upper

__all__ = ["SHORT", "WHERE", "comparatives", "conclusion", "needs"]

WHERE = {
    "mean": "in mean",
    "typical": "on a typical run",
    "median": "in median",
    "single run": "on a single run",
    "touati2009": "by the 2009 protocol",
}
"""Where a protocol says that a version is faster."""

SHORT = {
    Assumption.NORMALITY: "normality",
    Assumption.EQUAL_VARIANCES: "",  # no fault: Welch's test takes over
    Assumption.SHIFT: "shift",
    Assumption.FACTOR: "factor",
    Assumption.TIES: "ties",
    Assumption.NESTING: "nesting",
    Assumption.INDEPENDENCE: "dependence",
    Assumption.SEVERAL_PROCESSES: "one process",
    Assumption.SEVERAL_RUNS: "one run",
    Assumption.UNTOUCHED: "trimmed",
    Assumption.RUN_ORDER: "order",
    Assumption.DRIFT: "drift",
    Assumption.STEADINESS: "warm-up",
    Assumption.POSITIVE_VALUES: "zeros",
    Assumption.TWO_MEASUREMENTS: "same values",
    Assumption.SUCCESSFUL_RUNS: "failed runs",
    Assumption.PLANNED_SIZE: "stopped on it",
    Assumption.ONE_PROGRAM: "two programs",
    Assumption.RESOLUTION: "coarse values",
}
"""A word for each kind of check that did not hold."""


def conclusion(result: Comparison, margin: float | None = None) -> str:
    """One comparison in plain sentences.

    Parameters
    ----------
    result : Comparison
        Of any protocol.
    margin : float, optional
        Of equivalence, when one was stated.

    Returns
    -------
    str
        What is proven, and what makes it doubtful.
    """
    new, old = result.candidate.label or "the candidate", result.reference.label or "the reference"
    text = (
        _chances(result, new, old) if result.quantity == "probability" else _factor(result, new, old, margin)
    )
    if result.verdict is not Verdict.UNDECIDED and result.doubts:
        kinds = ", ".join(dict.fromkeys(SHORT.get(check.kind, check.kind.title) for check in result.doubts))
        text += f" But the true risk may be larger than stated ({kinds})."
    return text


def _chances(result: Comparison, new: str, old: str) -> str:
    """The sentence for a single run; with nested values what runs is a process."""
    s = result.speedup
    faster, slower = comparatives(result)
    run, where = ("process", "For a single process") if result.nested else ("run", "On a single run")
    low, high = math.floor(1000 * s.low) / 1000, math.ceil(1000 * s.high) / 1000
    chances = (
        f"a {run} of {new} beats a {run} of {old} in {percent(s.value)} of the cases (between {percent(low)} and "
        f"{percent(high)}, each bound with confidence {level(1 - result.alpha)})"
    )
    if result.verdict is Verdict.UNDECIDED:
        return f"{where} it is undecided: {chances}."
    return f"{where} {new} is {slower if result.verdict is Verdict.SLOWER else faster}: {chances}."


def _factor(result: Comparison, new: str, old: str, margin: float | None) -> str:
    s = result.speedup
    confidence = level(1 - result.alpha)
    where = WHERE.get(result.protocol, f"by {result.protocol}")
    faster, slower = comparatives(result)
    word = slower if result.verdict is Verdict.SLOWER else faster
    if result.verdict is Verdict.UNDECIDED:
        text = f"It is undecided whether {new} is {word} than {old} {where}: observed speedup {bounds(s)}."
        return f"{text} {needs(result)}".rstrip()
    if result.verdict is Verdict.EQUIVALENT:
        within = "the margin" if margin is None else percent(margin)
        return (
            f"{new} and {old} are equivalent {where} within {within}: the speedup {ratio(s.value)} lies between "
            f"{lower(s.low)} and {upper(s.high)}, each bound with confidence {confidence}."
        )
    if any(check.kind is Assumption.SHIFT and not check.held for check in result.checks):
        return (
            f"{new} tends to be {word} than {old} (rank-sum test, confidence {confidence}), but the samples "
            f"differ by more than a shift: nothing is certified of their medians, whose ratio is {ratio(s.value)}."
        )
    if not (math.isfinite(s.value) and s.value > 0):
        why = "it is beyond the largest double" if s.value == math.inf else "values are 0 or negative"
        return (
            f"{new} is {word} than {old} {where} with confidence {confidence}; no factor can be named, because "
            f"{why}."
        )
    if result.verdict is Verdict.FASTER:
        least = "more than 1" if s.low <= math.nextafter(1, 2) else f"at least {lower(s.low)}"
        return (
            f"{new} is {word} than {old} {where} by a factor of {ratio(s.value)}, certified to be {least} "
            f"with confidence {confidence}."
        )
    most = "less than 1" if s.high >= math.nextafter(1, 0) else f"at most {upper(s.high)}"
    return (
        f"{new} is {word} than {old} {where}: its speedup is {ratio(s.value)}, certified to be {most} "
        f"with confidence {confidence}."
    )


def comparatives(result: Comparison) -> tuple[str, str]:
    """How to call a gain and a loss: only times and rates are fast or slow."""
    unit = result.reference.unit
    return ("faster", "slower") if unit == "s" or unit.endswith("/s") or not unit else ("better", "worse")


def needs(result: Comparison) -> str:
    """What would decide an undecided comparison, in a sentence; empty when nothing is known."""
    needed = result.needed
    if needed is None:
        return ""
    wants = [
        f"{runs} {'processes' if side.n < side.observations else 'runs'} of {side.label or name}"
        for runs, side, name in (
            (needed.reference, result.reference, "X"),
            (needed.candidate, result.candidate, "Y"),
        )
        if runs is not None
    ]
    if not wants:
        return f"{needed.reason[0].upper()}{needed.reason[1:]}."
    return f"About {' and '.join(wants)} would be needed: {needed.reason}."

"""What a comparison says, in words: the one place where a verdict becomes a sentence and a ratio a number.

Ratios are told in their natural direction ("1.38x slower", never "slower" beside 0.72), estimates are rounded, and
bounds are rounded away from the claim, so that printing never adds to it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from speedproof.data.sample import clock_of
from speedproof.options import HEADLINE, WORTH_KNOWING
from speedproof.protocols.results import CHANGED as CHANGED
from speedproof.protocols.results import Comparison, Needed, State, Verdict, inverse, size_of
from speedproof.protocols.units import Summary, several
from speedproof.reporting.model import Style
from speedproof.reporting.numbers import ONE, case_share, factor, level, rough, share
from speedproof.stats.estimate import Estimate

if TYPE_CHECKING:
    from speedproof.protocols.aggregates import Location

STYLES: dict[Verdict, Style] = {
    Verdict.FASTER: "good",
    Verdict.SLOWER: "bad",
    Verdict.EQUIVALENT: "",
    Verdict.UNDECIDED: "dim",
}
"""Styles of proven verdicts; what is only shown is grey, as what is undecided."""


PLURALS: dict[Location, str] = {"min": "minima", "mean": "means", "median": "medians"}


class Effect(Struct, frozen=True):
    """A decided comparison in its natural direction."""

    word: str  # ``"faster"``, ``"slower"``; for other metrics ``"better"``, ``"worse"``
    ratio: float  # by how much, at least 1; NaN where no factor can be named
    bound: float  # by how much at least; NaN where that is not proven


def gain_and_loss(result: Comparison) -> tuple[str, str]:
    """How to call a gain and a loss: only times and rates are fast or slow."""
    unit = result.reference.unit
    fast = unit == "s" or unit.endswith("/s") or (not unit and result.metric == "time")
    return ("faster", "slower") if fast else ("better", "worse")


def of_metric(metric: str) -> tuple[str, str]:
    """The same where only the metric is known."""
    return ("faster", "slower") if clock_of(metric) else ("better", "worse")


@cache
def verdict_words(better: str, worse: str) -> dict[Verdict, str]:
    """The label of each verdict in counts."""
    return {
        Verdict.FASTER: better,
        Verdict.SLOWER: worse,
        Verdict.EQUIVALENT: "the same",
        Verdict.UNDECIDED: "undecided",
    }


def metric_first(metric: str) -> str:
    """The metric at the start of a first line, unless it is time."""
    return "" if metric == "time" else f"{metric}: "


def counts_of(comparisons: Iterable[Comparison]) -> dict[Verdict, int]:
    """How many comparisons have each verdict."""
    counts = Counter(c.verdict for c in comparisons)
    return {verdict: counts[verdict] for verdict in Verdict}


def counted(counts: Mapping[Verdict, int], words: Mapping[Verdict, str]) -> str:
    """How many got which verdict: ``"3 faster, 1 slower, 2 undecided of 6"``."""
    order = sorted((Verdict.FASTER, Verdict.SLOWER), key=lambda v: -counts[v])
    shown = [v for v in (*order, Verdict.EQUIVALENT, Verdict.UNDECIDED) if counts[v]]
    return f"{', '.join(f'{counts[v]} {words[v]}' for v in shown)} of {sum(counts.values())}"


def effect(result: Comparison) -> Effect:
    """The size of the effect in the direction of the verdict."""
    return Effect(gain_and_loss(result)[result.verdict is not Verdict.FASTER], *size_of(result))


def change(result: Comparison) -> str:
    """The verdict as a cell: ``"1.14x faster"``; of what is undecided what is seen, ``"~ 1.02x faster"``."""
    if result.verdict is Verdict.UNDECIDED:
        return f"~ {_seen(result)}".rstrip(" -")
    if result.verdict is Verdict.EQUIVALENT:
        return "= the same"
    size = effect(result)
    return f"{factor(size.ratio)} {size.word}" if size.ratio > ONE else size.word


def marked(result: Comparison) -> str:
    """``"!"`` if a verdict is shown but not proven."""
    return "" if result.verdict is result.proven_verdict else "!"


def style(result: Comparison) -> Style:
    """How a verdict is coloured: green and red are proven."""
    return STYLES[result.proven_verdict]


def at_least(bound: float) -> str:
    """A proven factor, rounded down: ``"1.13x"``; words where it is no more than 1, or none is known."""
    return factor(bound, -1) if bound > ONE else "size not proven"


def where(result: Comparison) -> str:
    """Which location the verdict is of, where it is not the typical run: ``" in mean"``."""
    asked = asked_of(result.protocol)
    return "" if result.protocol == HEADLINE or asked == _TYPICAL else f" {asked}"


_ROUNDING = 0.01  # how far the ratio of two medians lies from a change that a reader takes for it
_TYPICAL = "typical run"
AVERAGE = "on average"


def slow_runs(result: Comparison) -> str:
    """Why a mean is worse though the typical run is better: ``": 20 % of runs take 1.5x"``."""
    if result.slow_runs is None:
        return ""
    often, times = result.slow_runs
    return f": {case_share(often)} of {several(result.repeated)} take {factor(times)}"


def asked_of(protocol: str) -> str:
    """The subject of a protocol, in brackets behind a count: ``"typical run"``, ``"in mean"``."""
    # A session's test is of typical runs, too, and holds however often one looks.
    if protocol == HEADLINE:
        return _TYPICAL
    from speedproof.protocols.questions import QUESTIONS  # not for one procedure alone

    return QUESTIONS[protocol].where


def asked(protocol: str, alpha: float, *, shaken: bool = False) -> str:
    """Which question was answered at which confidence, to stand behind an answer."""
    return f"({asked_of(protocol)}, {'not proven' if shaken else level(1 - alpha)})"


def located(result: Comparison) -> tuple[float, float]:
    """The compared values of reference and candidate: quantiles, means or medians."""
    if result.quantiles is not None:
        return result.quantiles
    location = location_of(result)
    return getattr(result.reference, location), getattr(result.candidate, location)


def location_of(result: Comparison) -> Location:
    """The location that an answer compares, if not a quantile."""
    return "mean" if result.protocol == "mean" else "median"


def verdict(result: Comparison, margin: float | None = None) -> str:
    """The answer in a sentence without its proof."""
    new, old = result.candidate.label or "the candidate", result.reference.label or "the reference"
    if result.quantity == "probability":
        run, often = result.repeated, how_often(result.speedup, result.verdict, result.ties)
        return f"A {run} of {new} beats a {run} of {old} {often}"
    if result.verdict is Verdict.UNDECIDED:
        better, worse = gain_and_loss(result)
        seen, (low, high) = _seen(result), result.certified.ends
        looks = f": {new} looks {seen}"
        if not seen.endswith((better, worse)):
            looks = f" whether {new} is {better} or {worse}"
        bounds = f" ({range_of(result)})" if low > 0 or high < math.inf else ""
        return f"Undecided{looks} than {old}{where(result)}{bounds}"
    if result.verdict is Verdict.EQUIVALENT:
        return f"{new} and {old} are the same within {share(margin or WORTH_KNOWING)}{where(result)}"
    return f"{new} is {change(result)} than {old}{where(result)}"


def proof(result: Comparison) -> str:
    """The proven bound and its confidence, or what would decide an undecided comparison."""
    confidence = f"{level(1 - result.alpha)} confidence"
    if result.verdict is Verdict.UNDECIDED:
        return needs(result)
    shown = "proven" if result.proven else "shown, not proven"
    if result.quantity == "probability":
        return f"{shown} ({confidence})"
    if result.verdict is Verdict.EQUIVALENT:
        return f"{shown}: {range_of(result)} ({confidence})"
    size = effect(result)
    bound = f"at least {factor(size.bound, -1)}" if size.bound > ONE else f"{size.word}, but not by how much"
    return f"{shown}: {bound} ({confidence})"


def range_of(result: Comparison) -> str:
    """Between which factors the truth lies, each end in its natural direction.

    An end that is known on one side only is told as such.
    """
    better, worse = gain_and_loss(result)
    if math.isnan(result.certified.low):
        return f"{natural(result)} as measured"
    return span(result.certified, better, worse)


def span(certified: Estimate, better: str = "faster", worse: str = "slower") -> str:
    """The same of bounds: ``"1.02x slower to 1.07x faster"``."""
    low, high = certified.ends
    if not low > 0 and not math.isfinite(high):
        return f"by any factor, {better} or {worse}"
    if not low > 0:
        return f"at most {_natural(high, better, worse, 1)}" if high >= 1 else f"{worse} by any factor"
    if not math.isfinite(high):
        least = f"from {_natural(low, better, worse, -1)} to any factor {better}"
        return least if low < math.inf else f"{better} by any factor"
    if low == high == 1:
        return "1.00x"
    if low >= 1:
        return f"{factor(low, -1)} to {factor(high, 1)} {better}"
    if high <= 1:
        return f"{factor(1 / high, -1)} to {factor(1 / low, 1)} {worse}"
    return f"{_natural(low, better, worse, -1)} to {_natural(high, better, worse, 1)}"


def natural(result: Comparison) -> str:
    """The observed ratio alone, for what nothing is proven of: ``"1.38x slower"``."""
    return direction(result.speedup.value, *gain_and_loss(result))


def _seen(result: Comparison) -> str:
    """The observed change of an undecided comparison; empty if pairs and medians disagree."""
    return "" if _contrary(result) else natural(result)


def _contrary(result: Comparison) -> bool:
    return math.log(result.speedup.value) * math.log(ratio) < 0 if (ratio := _of_medians(result)) else False


def _of_medians(result: Comparison) -> float:
    """The ratio of the medians beside a typical speedup; 0 where there is none."""
    old, new, higher = result.reference.median, result.candidate.median, result.reference.higher_is_better
    positive = all(0 < v < math.inf for v in (old, new, result.speedup.value))
    if result.protocol != HEADLINE or result.quantity != "speedup" or not positive:
        return 0.0
    rate = result.reference.unit.endswith("/s") if higher is None else higher
    return new / old if rate else old / new


def by_medians(result: Comparison) -> str:
    """The ratio of the medians in a row, where who divides them finds another number than its change; else empty.

    The change is of a typical pair of runs; of what is undecided none is shown that its medians contradict.
    """
    ratio = _of_medians(result)
    if _contrary(result):
        return "" if result.verdict is Verdict.UNDECIDED else direction(ratio, *gain_and_loss(result))
    if ratio and abs(math.log(ratio / result.speedup.value)) > _ROUNDING:
        return factor(max(ratio, 1 / ratio))
    return ""


def direction(speedup: float, better: str = "faster", worse: str = "slower") -> str:
    """A speedup in its natural direction, as far as there is one."""
    return observed(speedup, better, worse) if 0 < speedup < math.inf else "-"


def _natural(speedup: float, better: str, worse: str, towards: int) -> str:
    """A speedup with its word; ``towards`` is a direction of the speedup itself."""
    if speedup >= 1:
        return f"{factor(speedup, towards, 3)} {better}"
    return f"{factor(inverse(speedup), -towards, 3)} {worse}"


def observed(value: float, better: str = "faster", worse: str = "slower") -> str:
    """A ratio in its own direction: ``"1.02x faster"``."""
    if 1 / ONE <= value <= ONE:
        return "1.00x"
    if value in (0.0, math.inf):
        return better if value else worse
    return f"{factor(value)} {better}" if value > 1 else f"{factor(inverse(value))} {worse}"


def interval(estimate: Estimate, better: str = "faster", worse: str = "slower") -> str:
    """An estimate with its interval in the direction of the estimate: ``"1.02x faster [0.99x, 1.05x]"``."""
    low, high = estimate.ends
    if estimate.value < 1:
        low, high = inverse(high), inverse(low)
    ratio = observed(estimate.value, better, worse)
    most = 9 if low > 1 else 3
    return f"{ratio} [{factor(low, -1, most)}, {factor(high, 1, most)}]" if math.isfinite(high) else ratio


def how_often(chance: Estimate, verdict: Verdict = Verdict.UNDECIDED, ties: float = 0.0) -> str:
    """A chance with its bounds: ``"in 92 % of cases (at least 57 %)"``."""
    low, high = case_share(chance.low, -1), case_share(chance.high, 1)
    proven = {Verdict.FASTER: f"at least {low}", Verdict.SLOWER: f"at most {high}"}
    limits = "" if math.isnan(chance.low) else f" ({proven.get(verdict, f'{low} to {high}')})"
    return f"in {case_share(chance.value)} of cases{limits}{', ties counting half' if ties else ''}"


def chance_interval(chance: Estimate) -> str:
    """A chance with its interval: ``"97.5 % [90 %, 99.1 %]"``."""
    low, high = chance.ends
    return f"{case_share(chance.value)} [{case_share(low, -1)}, {case_share(high, 1)}]"


def wins(result: Comparison) -> str:
    """The chance of a faster run as a cell: ``"faster: wins 97.5 % [90 %, 99.1 %]"``."""
    word = verdict_words(*gain_and_loss(result))[result.verdict]
    marked = f"~ {word}" if result.verdict is Verdict.UNDECIDED else word
    return f"{marked}: wins {chance_interval(result.speedup)}"


def named(result: Comparison, old: str, new: str) -> Comparison:
    """A comparison under shorter names of its versions."""
    x, y = result.reference, result.candidate
    return replace(result, reference=replace(x, label=old), candidate=replace(y, label=new))


def spread(side: Summary) -> str:
    """The standard deviation as a share of the mean, beside which it stands."""
    if math.isnan(side.deviation) or not side.mean > 0:
        return ""
    share = side.deviation / side.mean
    return f" ± {100 * share:.{0 if share >= 0.0995 else 1}f} %"


def needs(result: Comparison) -> str:
    """A clause on what would decide an undecided comparison; empty if unknown."""
    needed = result.needed
    if needed is None:
        return "the samples have no spread" if result.state is State.UNDEFINED else ""
    return about(needed, result.reference.label, result.candidate.label, several(result.repeated))


def about(needed: Needed, reference: str, candidate: str, runs: str = "runs") -> str:
    """The number of runs that an undecided comparison needs."""
    sides = (
        (needed.reference, reference or "the reference"),
        (needed.candidate, candidate or "the candidate"),
    )
    numbers = [
        (str(count) if needed.least else rough(count), name) for count, name in sides if count is not None
    ]
    if not numbers:
        return needed.reason
    start = f"needs {'at least' if needed.least else 'about'}"
    if needed.within is not None:
        start = f"the same within {share(needed.within)} {start}"
    if len(numbers) == 2 and numbers[0][0] == numbers[1][0]:
        return f"{start} {numbers[0][0]} {runs}"
    first = f"{start} {numbers[0][0]} {runs} of {numbers[0][1]}"
    rest = f" and {numbers[1][0]} of {numbers[1][1]}" if len(numbers) > 1 else ""
    return f"{first}{rest}"


def few(result: Comparison) -> str:
    """The same for a narrow cell: only the larger number."""
    needed = result.needed
    if not needed or needed.reference is needed.candidate is None:
        return ""
    counts = [n for n in (needed.reference, needed.candidate) if n is not None]
    runs = several(result.repeated)
    return f"≥ {max(counts)} {runs}" if needed.least else f"~{rough(max(counts))} {runs}"


def whys(result: Comparison) -> tuple[str, str]:
    """The same for a cell: with the runs of each side where they differ, and in brief."""
    needed, why, runs = result.needed, needs(result), few(result)
    brief = f"needs {runs}" if runs else re.split("[:,]", why)[0]
    alike = runs and needed and needed.reference == needed.candidate and needed.within is None
    return brief if alike else why, brief

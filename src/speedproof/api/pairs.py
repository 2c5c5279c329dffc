"""Two samples: whether the candidate is faster than the reference, and by at least how much."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from speedproof.api.given import floor_of, options_of, quantile_given, question_given, rules_of
from speedproof.conclude.suite import SuiteComparison
from speedproof.conclude.suite import compare_suite as compare_pairs
from speedproof.data.checked import checked
from speedproof.data.given import metric_given, samples_given
from speedproof.data.notes import Note
from speedproof.data.sample import Sample
from speedproof.data.suite import Key, Pair, Pairing
from speedproof.errors import UsageError
from speedproof.options import DETAILS, Judging, QuestionName, quantile_name
from speedproof.protocols.questions import QUESTIONS
from speedproof.protocols.results import Comparison, Verdict
from speedproof.protocols.why import GoesWith, Why, why
from speedproof.reporting import sheet
from speedproof.reporting.model import Report, Reported, comparisons_to_json
from speedproof.reporting.notes import caveats
from speedproof.reporting.shown import Shown

_UNNAMED = "benchmark"


class Bound(float):
    """One end of a certified interval: a number that says what it promises.

    Attributes
    ----------
    confidence : float
        With which this end holds by itself. Both ends together hold with 1 - 2 (1 - confidence).
    sides : int
        1: each end is a one-sided bound.
    """

    confidence: float
    sides: int = 1

    def __new__(cls, value: float, confidence: float) -> Bound:
        """Make a bound."""
        bound = super().__new__(cls, value)
        bound.confidence = confidence
        return bound

    def __getnewargs__(self) -> tuple[float, float]:  # type: ignore[override]
        return float(self), self.confidence

    def __repr__(self) -> str:
        return f"Bound({float(self)!r}, one-sided, confidence {self.confidence:g})"


class PairResult(Shown, Struct, frozen=True):
    """The answer about two samples. ``print`` shows what ``speedproof compare`` shows.

    Attributes
    ----------
    result : SuiteComparison
        Everything that was computed, of this one benchmark; it holds no samples.
    explained : Why or None
        What was computed of the other metrics, where there are any.

    Examples
    --------
    >>> import speedproof as sp
    >>> r = sp.compare([10.1, 10.3, 9.9, 10.0, 10.2], [9.1, 9.0, 9.3, 9.2, 8.9], unit="ms")
    >>> r
    <PairResult: faster, speedup 1.11 [1.087, 1.133]>
    >>> r.by("mean").protocol
    'mean'
    """

    result: SuiteComparison
    explained: Why | None = None

    @property
    def why(self) -> tuple[GoesWith, ...]:
        """The other metrics that go with the time of a run, the strongest first, and with how much of the speedup.

        Raises
        ------
        SpeedproofError
            No ``metrics`` were given.
        """
        if self.explained is None:
            raise UsageError(
                "no other metric of these runs is known: compare(..., metrics={name: (old, new)})"
            )
        return self.explained.goes_with

    @property
    def headline(self) -> Comparison:
        """The comparison whose verdict counts."""
        return self.result.headlines[0]

    @property
    def benchmark(self) -> str:
        """The name of the benchmark."""
        return self.headline.benchmark

    @property
    def verdict(self) -> Verdict:
        """Faster, slower, equivalent (within the margin) or undecided."""
        return self.headline.verdict

    @property
    def speedup(self) -> float:
        """The observed speedup: X / Y, so that above 1 the candidate is better."""
        return self.headline.speedup.value

    @property
    def lower(self) -> Bound:
        """The speedup is at least this, with the stated confidence; NaN when nothing is certified."""
        return Bound(self.headline.certified.low, self.headline.speedup.confidence)

    @property
    def upper(self) -> Bound:
        """The speedup is at most this, with the stated confidence; NaN when nothing is certified."""
        return Bound(self.headline.certified.high, self.headline.speedup.confidence)

    def by(self, protocol: str) -> Comparison:
        """The answer of one protocol, for example ``"mean"``.

        Raises
        ------
        SpeedproofError
            A protocol that was not asked.
        """
        for comparison in self.result.comparisons:
            if comparison.protocol == protocol:
                return comparison
        question_given(protocol, QUESTIONS)
        raise UsageError(
            f"the protocol {protocol!r} was not run, only: {', '.join(self.result.protocols)}; ask for it with "
            f"sp.compare_suite(suite, protocols={protocol!r}), of two samples "
            "suite = sp.Suite.of_samples({'old': old, 'new': new})"
        )

    @property
    def mean(self) -> Comparison:
        """The Speedup-Test's answer about the means (figure 1 of the article)."""
        return self.by("mean")

    @property
    def median(self) -> Comparison:
        """The Speedup-Test's answer about the medians (figure 2 of the article)."""
        return self.by("median")

    @property
    def single_run(self) -> Comparison:
        """The probability that a run of the candidate beats one of the reference."""
        return self.by("single run")

    @property
    def warnings(self) -> tuple[Note, ...]:
        """What the data cannot show, as on the sheet, and the failed checks."""
        said = [
            replace(caveat, message=text.text)
            for caveat in self.result.caveats
            for text in caveats([caveat], (self.result.reference, self.result.candidate))
        ]
        seen = warnings_of(self.result.comparisons)
        return (*said, *(check for check in seen if check.kind not in {one.kind for one in said}))

    @property
    def problems(self) -> tuple[str, ...]:
        """The values that were left out, with reasons."""
        sides = (self.headline.reference, self.headline.candidate)
        return tuple(f"{side.label}: {note}" for side in sides for note in side.notes)

    def to_json(self) -> str:
        """What ``speedproof compare --json`` writes."""
        more = {} if self.explained is None else {"why": [self.explained]}
        return comparisons_to_json("compare", (self.result,), rankings={}, **more)

    def reports(self, *, details: bool = False, explain: bool = False) -> Iterable[Report]:
        """The result in words, for every format: with all protocols, with every check."""
        made = sheet.report(self.result, details=details, explain=explain)
        if self.explained is None:
            return [made]
        from speedproof.reporting.why import beside

        return list(beside([made], {"": [self.explained]}))

    def written(self) -> Reported:
        """With the comparison that a page draws."""
        return Reported(tuple(self.reports()), results=(self.result,))

    def __repr__(self) -> str:
        named = "" if self.benchmark == _UNNAMED else f"{self.benchmark}: "
        return (
            f"<PairResult: {named}{self.verdict.value}, speedup {self.speedup:.4g} "
            f"[{self.lower:.4g}, {self.upper:.4g}]>"
        )


def warnings_of(comparisons: Iterable[Comparison]) -> tuple[Note, ...]:
    """The failed checks of the comparisons, the first of each kind and side."""
    notes: dict[tuple[object, ...], Note] = {}
    for check in (check for comparison in comparisons for check in comparison.failed_checks):
        notes.setdefault((check.kind, check.versions), check)
    return tuple(notes.values())


@checked("unit")
def compare(
    reference: Any,
    candidate: Any,
    *,
    unit: str | None = None,
    confidence: float | str = 0.95,
    margin: float | str | None = None,
    higher_is_better: bool | None = None,
    names: tuple[str, str] | None = None,
    benchmark: str = "",
    nested: Literal["process", "pool"] = "process",
    quantile: float | str | None = None,
    metrics: Mapping[str, Any] | None = None,
    store: str | Path | None = None,
) -> PairResult:
    """Compare two samples.

    Parameters
    ----------
    reference, candidate : array_like or Sample
        X and Y: the measured values of both versions, each in the order of its runs. See
        :func:`speedproof.sample` for what can be given; in two dimensions a row is a process.
    unit : str, optional
        Of the values; by default they are plain numbers.
    confidence : float or str
        Of each bound, and of each direction of the verdict: 1 - alpha, ``0.95`` or ``"95%"``.
    margin : float or str, optional
        ``0.02`` or ``"2%"``: speedups proven to lie within 1 / (1 + margin) and 1 + margin are equivalent.
    higher_is_better : bool, optional
        By default only for rates (``"MB/s"``).
    names : (str, str), optional
        The versions; by default the names of the series, else ``"reference"`` and ``"candidate"``.
    benchmark : str
        What was measured, for the report.
    nested : {"process", "pool"}
        Values of one process are not independent: use one value a process, or pool them all the same.
    quantile : float or str, optional
        From 0.5 to 0.9999: compare this quantile of both, where the slowest runs begin, and nothing else.
    metrics : mapping of str to pairs, optional
        Other metrics of the same runs, ``{"minor-faults": (of_reference, of_candidate)}``: which of them the
        difference goes with (``why``).
    store : str or path, optional
        A :class:`History`'s: how much its sessions of one commit differ is counted in.

    Returns
    -------
    PairResult
        ``verdict``, ``speedup``, ``lower``, ``upper``, ``mean``, ``median``, ``single_run``, ``warnings``.

    Raises
    ------
    SpeedproofError
        Values that make no sample, or two samples of different units.

    Examples
    --------
    >>> import numpy as np
    >>> import speedproof as sp
    >>> rng = np.random.default_rng(1)
    >>> old, new = rng.normal(12.0, 0.1, 40), rng.normal(10.0, 0.1, 40)
    >>> r = sp.compare(old, new, unit="ms", margin=0.02)
    >>> r.verdict.value, round(r.speedup, 2), r.lower > 1.19
    ('faster', 1.2, True)
    >>> r.lower.sides, r.lower.confidence
    (1, 0.95)
    """
    sides = [("reference", reference, None), ("candidate", candidate, None)]
    x, y = samples_given(sides, unit, higher_is_better)
    called = (x.label, y.label) if x.label and y.label and x.label != y.label else ("reference", "candidate")
    if names is not None and (len(labels := list(names)) != 2 or len(set(labels)) != 2):
        raise UsageError(f"names={names!r}: expected two different names, the reference's first")
    x, y = (_named(s, name) for s, name in zip((x, y), names or called, strict=True))
    if (x.unit, x.direction) != (y.unit, y.direction):
        raise UsageError(
            f"{x.label} is in {x.unit or 'plain numbers'} ({x.direction} is better), {y.label} in "
            f"{y.unit or 'plain numbers'} ({y.direction} is better): give both in one unit and direction"
        )
    key = Key(benchmark or _UNNAMED, metric_given(x))
    pairing = Pairing((Pair(key, x, y),), (), (), ())
    judging = options_of(Judging, confidence=confidence, margin=margin, nested=nested)
    rules = replace(rules_of(judging), floor=floor_of(store))
    asked: tuple[QuestionName, ...] = DETAILS
    if quantile is not None:
        asked = (quantile_name(quantile_given(quantile)),)
    explained = None
    if metrics is not None:
        from speedproof.api.whys import metrics_given

        others = metrics_given(metrics, (x, y))
        explained = why(key.benchmark, key.metric, (x, y), others, alpha=rules.alpha)
    return PairResult(compare_pairs(pairing, (x.label, y.label), key.metric, rules, asked), explained)


def _named(s: Sample, name: str) -> Sample:
    return s if s.label == name else replace(s, label=name)

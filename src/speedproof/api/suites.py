"""Many benchmarks, two versions or more: reading them, comparing them, the suite as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from speedproof.api.given import (
    as_measured,
    floor_of,
    no_step,
    of_metric,
    options_of,
    quantile_measured,
    question_given,
    rules_of,
    sharing_risk,
    something_common,
)
from speedproof.conclude.multiplicity import Control, Controlled
from speedproof.conclude.suite import SuiteComparison as SuiteComparison
from speedproof.conclude.suite import compare_suite as compare_pairs
from speedproof.data.checked import checked, one_of
from speedproof.data.suite import Suite
from speedproof.errors import DataError, UsageError
from speedproof.options import DETAILS, HEADLINE, Judging, QuestionName
from speedproof.protocols.aggregates import GeometricMeans
from speedproof.protocols.caveats import given_twice
from speedproof.protocols.pair import Rules as Rules
from speedproof.protocols.questions import QUESTIONS, headline_of
from speedproof.protocols.results import SuiteRanking
from speedproof.reporting.model import Report, Reported, comparisons_to_json
from speedproof.reporting.sheet import reports
from speedproof.reporting.shown import Shown

if TYPE_CHECKING:
    from speedproof.api.pairs import PairResult
    from speedproof.api.whys import OverResult
    from speedproof.protocols.modes import ModeComparison
    from speedproof.reporting.hpt import HptResult


class SuiteResult(Shown, Struct, frozen=True):
    """The answers about versions of a suite. ``print`` shows what ``speedproof compare`` shows.

    Attributes
    ----------
    results : tuple of SuiteComparison
        One for each candidate and metric; they hold no samples.
    rankings : dict of str to SuiteRanking
        By metric, when there are three versions or more.
    suite : Suite
        The samples that were compared, for reports that draw them.

    Examples
    --------
    >>> import speedproof as sp
    >>> suite = sp.read("O2=examples/gcc/O2.json", "O3=examples/gcc/O3.json")
    >>> s = sp.compare_suite(suite)
    >>> s
    <SuiteResult: O3 against O2>
    >>> [r.benchmark for r in s if r.verdict == "faster"]
    ['collatz', 'matmul', 'sorting']
    """

    results: tuple[SuiteComparison, ...]
    rankings: Mapping[str, SuiteRanking]
    suite: Suite

    def against(self, candidate: str | None = None, metric: str | None = None) -> SuiteResult:
        """The part about one candidate or one metric.

        Raises
        ------
        SpeedproofError
            There is none.
        """
        answers = tuple(
            r for r in self.results if candidate in (None, r.candidate) and metric in (None, r.metric)
        )
        if not answers:
            raise UsageError(
                f"no comparison with {candidate or 'any candidate'} in {metric or 'any metric'}: {self._there}"
            )
        return replace(self, results=answers)

    @property
    def result(self) -> SuiteComparison:
        """The only comparison of two versions.

        Raises
        ------
        SpeedproofError
            There are several.
        """
        if len(self.results) == 1:
            return self.results[0]
        raise UsageError(
            f"there are {len(self.results)} comparisons, {self._there}: choose one with .against(...)"
        )

    @property
    def _there(self) -> str:
        return ", ".join(f"{r.candidate} ({r.metric})" for r in self.results)

    @property
    def benchmarks(self) -> tuple[str, ...]:
        """The names of the benchmarks, in order."""
        return self.result.benchmarks

    def __getitem__(self, benchmark: str) -> PairResult:
        """The answer about one benchmark."""
        from speedproof.api.pairs import PairResult

        r = self.result
        answers = tuple(r.by_benchmark.get(benchmark, ()))
        if not answers:
            raise UsageError(f"no benchmark {benchmark!r} was compared, only: {', '.join(self.benchmarks)}")
        head = (r.reference, r.candidate, r.metric, r.alpha, r.margin, r.nested)
        return PairResult(SuiteComparison(*head, answers, caveats=r.caveats, machine=r.machine))

    def __contains__(self, benchmark: object) -> bool:
        return benchmark in self.benchmarks

    def __iter__(self) -> Iterator[PairResult]:
        """The answers, benchmark by benchmark."""
        return (self[name] for name in self.benchmarks)

    def __len__(self) -> int:
        return len(self.benchmarks)

    @property
    def geometric_mean(self) -> GeometricMeans | None:
        """The geometric mean speedup with intervals; None for a single benchmark."""
        return self.result.geometric_means

    @property
    def hpt(self) -> HptResult:
        """Hierarchical Performance Testing of the same samples."""
        from speedproof.api.hpt import hpt

        result = self.result
        return hpt(self.suite, reference=result.reference, candidate=result.candidate, metric=result.metric)

    @checked()
    def adjusted(self, method: Control = "holm", protocol: str | None = None) -> Controlled:
        """The verdicts at one risk for all benchmarks together.

        Parameters
        ----------
        method : {"holm", "bh"}
            Any false claim at all has the stated risk (Holm), or the expected share of false ones among the
            claims (Benjamini and Hochberg).
        protocol : str, optional
            Whose verdicts; by default those that count.

        Returns
        -------
        Controlled
            Empty verdicts stay undecided; no verdict says more than the plain one.
        """
        protocol = self.result.headlines[0].protocol if protocol is None else protocol
        for controlled in self.result.controlled:
            if (controlled.method, controlled.protocol) == (method, protocol):
                return controlled
        one_of("protocol", protocol, self.result.protocols)
        raise UsageError("a single benchmark has no joint risk: its own verdict stands")

    @checked()
    def over(self, parameter: str) -> OverResult:
        """How the speedups change with a parameter of the benchmarks.

        Parameters
        ----------
        parameter : str
            ``"n"`` of ``sort/n=10``, ``"/1"``, what stands first behind the name of ``sort/10``, or a field.

        Returns
        -------
        OverResult
            For each benchmark the speedup by input, its trend, and what holds for inputs like these.

        Raises
        ------
        SpeedproofError
            No benchmark has two inputs that differ in it; the text says which parameters there are.

        Examples
        --------
        >>> import numpy as np
        >>> import speedproof as sp
        >>> rng = np.random.default_rng(0)
        >>> suite = sp.Suite.of_samples({
        ...     f"sort/n={n}": {"old": rng.normal(n, n / 50, 30), "new": rng.normal(n**0.9, n / 60, 30)}
        ...     for n in (10, 100, 1000, 10000)
        ... })
        >>> found = sp.compare_suite(suite).over("n")["sort"]
        >>> round(found.slope.value, 2), found.slope.low > 0.09, found.verdict.value
        (0.1, True, 'faster')
        """
        from speedproof.api.whys import over

        return over(self.suite, self.results, parameter)

    def modes(self, done: Callable[[], None] = no_step) -> dict[str, list[ModeComparison]]:
        """For each candidate the modes of every benchmark to which mixtures can be fitted."""
        from speedproof.protocols.modes import compare_modes

        comparisons: dict[str, list[ModeComparison]] = {}
        for candidate, reference, alpha in dict.fromkeys(
            (r.candidate, r.reference, r.alpha) for r in self.results
        ):
            for pair in self.suite.pair(reference, candidate).pairs:
                one = compare_modes(pair, alpha=alpha)
                if one is not None:
                    comparisons.setdefault(candidate, []).append(one)
                done()
        return comparisons

    def to_json(self, **more: Any) -> str:
        """The JSON of ``speedproof compare --json``; ``more`` is added beside the results."""
        return comparisons_to_json("compare", self.results, rankings=self.rankings, **more)

    def reports(
        self, *, everything: bool = False, details: bool = False, explain: bool = False
    ) -> Iterable[Report]:
        """The result in words, for every format: with no row folded, with all protocols, with every check."""
        return reports(self.results, self.rankings, everything=everything, details=details, explain=explain)

    def written(self) -> Reported:
        """With the samples that a page draws."""
        sheets = reports(self.results, self.rankings, short=False)
        return Reported(tuple(sheets), self.suite, results=self.results)

    def __repr__(self) -> str:
        versions = ", ".join(dict.fromkeys(r.candidate for r in self.results))
        return f"<SuiteResult: {versions} against {self.results[0].reference}>"


def protocols_given(protocols: Any) -> tuple[Any, ...]:
    """The names of questions, each once, of one name, of several or of ``"all"``."""
    chosen = DETAILS if protocols == "all" else protocols
    asked: tuple[Any, ...] = (chosen,)
    if isinstance(chosen, Iterable) and not isinstance(chosen, str):
        asked = tuple(dict.fromkeys(chosen))
    asked = tuple(name.replace("-", " ") if isinstance(name, str) else name for name in asked)
    if not asked:
        raise UsageError("protocols=[]: name one at least, or leave it out")
    for name in asked:
        question_given(name, (*QUESTIONS, "all"), name="protocols")
    return asked


@checked("protocols")
def compare_suite(
    suite: Suite,
    *,
    reference: str | None = None,
    metric: str | None = None,
    confidence: float | str | None = None,
    margin: float | str | None = None,
    protocols: Literal["all"] | QuestionName | str | Sequence[str] | None = None,
    rules: Rules | None = None,
    store: str | Path | None = None,
    done: Callable[[], None] = no_step,
) -> SuiteResult:
    """Compare the versions of a suite, benchmark by benchmark and as a whole.

    Parameters
    ----------
    suite : Suite
        With two versions or more.
    reference : str, optional
        The version that the others are compared with; the first by default.
    metric : str, optional
        Its name, or ``"all"``; by default the main one, as on the command line.
    confidence, margin : float or str
        As in :func:`speedproof.compare`; by default those of a session of ``run``.
    protocols : str or sequence of str
        Which to ask: ``"typical"``, ``"mean"``, ``"median"``, ``"single run"``, ``"touati2009"``, or a quantile,
        ``"p97.5"``; ``"all"`` are the first four, the default; of a session by quantile, that.
    rules : Rules, optional
        The choices that the protocols leave open, in place of ``confidence`` and ``margin``:
        ``from speedproof.protocols.pair import Rules``.
    store : str or path, optional
        A :class:`History`'s: how much its sessions of one commit differ is counted in.
    done : callable
        Called after each benchmark.

    Returns
    -------
    SuiteResult
        With several candidates or metrics, ``against`` chooses one.

    Raises
    ------
    SpeedproofError
        One version only, an unknown reference, or no benchmark that two versions have.

    Examples
    --------
    >>> import speedproof as sp
    >>> suite = sp.read("O2=examples/gcc/O2.json", "O3=examples/gcc/O3.json")
    >>> s = sp.compare_suite(suite, reference="O2")
    >>> s["matmul"].verdict.value, s["matmul"].lower > 1.13
    ('faster', True)
    >>> 0 < s.hpt.confidence < 1
    True
    """
    suite = of_metric(suite, metric)
    if protocols is None:
        protocols = quantile_measured(suite.question) or "all"
    asked = protocols_given(protocols)
    first, candidates = suite.sides(reference)
    judging = options_of(Judging, confidence=confidence, margin=margin)
    rules = rules or rules_of(as_measured(judging, suite.question), asked)
    if store is not None:
        rules = replace(rules, floor=floor_of(store))
    each = sharing_risk(rules, suite, candidates)
    results = []
    lacking = (name for name in suite.lacking if name not in suite.versions)
    pairings = {candidate: suite.pair(first, candidate) for candidate in (*candidates, *lacking)}
    something_common(suite, first, pairings)
    twins = given_twice({candidate: suite.of(candidate) for candidate in candidates})
    for candidate, pairing in pairings.items():
        for one in suite.metrics:
            twice = twins.get((candidate, one), ())
            results.append(compare_pairs(pairing, (first, candidate), one, each, asked, done, twice))
    versions, claimed = (first, *candidates), results
    if suite.question.withholds:
        from speedproof.conclude.controls import Controls, withheld

        controls = {
            one: Controls.of(suite, one, first, candidates, headline_of(asked), each) for one in suite.metrics
        }
        claimed = [withheld(result, controls[result.metric]) for result in results]
        # Places are claims, too, and a second build of the reference has none.
        versions = tuple(name for name in versions if not controls[suite.metrics[0]].again(first, name))
        results = [r for r in results if not controls[r.metric].moved]
    ranked = [r for r in results if r.candidate in versions]
    return SuiteResult(tuple(claimed), _rankings(suite, versions, rules, ranked), suite)


def _rankings(
    suite: Suite, versions: tuple[str, ...], rules: Rules, known: Sequence[SuiteComparison]
) -> dict[str, SuiteRanking]:
    """One ranking a metric, when there are three versions or more with a benchmark in common."""
    if len(versions) < 3:
        return {}
    from speedproof.protocols.ranking import rank_benchmark, rank_suite

    rankings: dict[str, SuiteRanking] = {}
    for metric in suite.metrics:
        keys = [key for key in suite.keys if key.metric == metric]
        of_metric = [result for result in known if result.metric == metric]
        question = next((c.protocol for result in of_metric for c in result.headlines), "")
        if question not in (HEADLINE, "mean", "median")[: 1 if len(keys) == 1 else 3]:
            continue  # places are of typical runs, or of geometric means
        with suppress(DataError):  # no benchmark in common: the pairwise results say which are missing
            if len(keys) == 1:
                made = {
                    (result.reference, result.candidate): c
                    for result in of_metric
                    for c in result.comparisons
                    if c.protocol == HEADLINE and c.alpha == rules.alpha
                }
                rankings[metric] = rank_benchmark(suite, keys[0], versions, rules, made)
            else:
                heads = {
                    (c.benchmark, result.reference, result.candidate): c
                    for result in of_metric
                    for c in result.headlines
                    if c.log is not None and c.alpha == rules.alpha
                }
                rankings[metric] = rank_suite(suite, metric, versions, rules, heads, question)
    return rankings

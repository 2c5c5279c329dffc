"""Versions in order: by the chance that one run beats all others, benchmark by benchmark, and over the suite."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from speedproof.api.given import alpha_of, components_given, no_step, of_metric
from speedproof.conclude.suite import SuiteComparison, compare_suite
from speedproof.data.checked import checked
from speedproof.data.names import left_out, plural
from speedproof.data.sample import Sample
from speedproof.data.suite import Key, Pair, Suite
from speedproof.errors import DataError, Parameter, UsageError
from speedproof.options import HEADLINE
from speedproof.protocols.modes import compare_modes
from speedproof.protocols.pair import Rules
from speedproof.protocols.ranking import RankedRun, rank_runs
from speedproof.protocols.results import Comparison
from speedproof.reporting import ranking as words
from speedproof.reporting.model import Report, to_json
from speedproof.reporting.ranking import BenchmarkRanking
from speedproof.reporting.shown import Shown

_LEAST_RESAMPLES = 10


class RankResult(Shown, Struct, frozen=True):
    """Versions in order. ``print`` shows what ``speedproof rank`` shows.

    Attributes
    ----------
    benchmarks : tuple of BenchmarkRanking
        By the chance that a single run beats one of every other version.
    compared : tuple of SuiteComparison
        Every other version against the reference.
    problems : tuple of str
        What could not be ranked, and why.
    suite : Suite
        The samples.

    Examples
    --------
    >>> import speedproof as sp
    >>> suite = sp.read("O2=examples/gcc/O2.json", "O3=examples/gcc/O3.json")
    >>> ranked = sp.rank(suite, mixtures=False)
    >>> ranked
    <RankResult: 6 benchmarks, 2 versions>
    >>> ranked["matmul"].ranking.versions[0].version
    'O3'
    """

    benchmarks: tuple[BenchmarkRanking, ...]
    compared: tuple[SuiteComparison, ...]
    problems: tuple[str, ...]
    suite: Suite

    def __getitem__(self, benchmark: str) -> BenchmarkRanking:
        """One benchmark."""
        for ranking in self.benchmarks:
            if ranking.key.benchmark == benchmark:
                return ranking
        there = ", ".join(ranking.key.benchmark for ranking in self.benchmarks)
        raise UsageError(f"no benchmark {benchmark!r} was ranked, only: {there}")

    def __contains__(self, benchmark: object) -> bool:
        return any(ranking.key.benchmark == benchmark for ranking in self.benchmarks)

    def __iter__(self) -> Iterator[BenchmarkRanking]:
        """The rankings, benchmark by benchmark."""
        return iter(self.benchmarks)

    def __len__(self) -> int:
        return len(self.benchmarks)

    @property
    def versions(self) -> tuple[RankedRun, ...]:
        """The versions of the only benchmark, best first."""
        if len(self.benchmarks) == 1:
            return self.benchmarks[0].ranking.versions
        raise UsageError(f"there are {len(self.benchmarks)} benchmarks: choose one by its name")

    def to_json(self) -> str:
        """What ``speedproof rank --json`` writes."""
        return to_json("rank", [ranking.as_record() for ranking in self.benchmarks])

    def reports(self, *, everything: bool = False, details: bool = False) -> Iterable[Report]:
        """The result in words."""
        note = "The commands of one file are ranked as versions of one thing." if self.suite.commands else ""
        ranked = {v.version for one in self.benchmarks for v in one.ranking.versions}
        versions = [v for v in self.suite.versions if v in ranked]
        yield words.report(
            self.benchmarks, versions, self.compared, everything=everything, details=details, note=note
        )

    def __repr__(self) -> str:
        return (
            f"<RankResult: {plural(len(self.benchmarks), 'benchmark')}, {len(self.suite.versions)} versions>"
        )


def by_benchmark(suite: Suite, versions: tuple[str, ...]) -> dict[Key, dict[str, Sample]]:
    """Samples by benchmark and version; if each version has a single benchmark, these are matched."""
    by_version = [suite.of(v) for v in versions]
    if not suite.samples:
        raise UsageError("the suite is empty: it holds no sample")
    if all(len(samples) == 1 for samples in by_version):
        key = next(iter(by_version[0]))
        return {
            key: {v: next(iter(samples.values())) for v, samples in zip(versions, by_version, strict=True)}
        }
    return {
        key: {v: suite.samples[key, v] for v in versions if (key, v) in suite.samples} for key in suite.keys
    }


@checked()
def rank(
    suite: Suite,
    *,
    reference: str | None = None,
    metric: str | None = None,
    confidence: float | str = 0.95,
    resamples: int = 200,
    max_components: int = 9,
    mixtures: bool = True,
    seed: int = 0,
    jobs: int = 1,
    done: Callable[[], None] = no_step,
) -> RankResult:
    """Rank versions, benchmark by benchmark, by the chance that one run beats one of every other version.

    Parameters
    ----------
    suite : Suite
        With two versions or more.
    reference : str, optional
        Stands first among equals; the first version by default.
    metric : str, optional
        Its name, or ``"all"``; by default the main one, as on the command line.
    confidence : float or str
        Of the verdicts of a benchmark together, and of each interval.
    resamples : int
        Bootstrap samples of the intervals.
    max_components : int
        Largest number of components of a mixture.
    mixtures : bool
        Fit mixtures, for the modes and for chances under them: no place depends on them, and they take most time.
    seed : int
        Of all random numbers.
    jobs : int
        Threads; the answer does not depend on them.
    done : callable
        Called after each benchmark.

    Returns
    -------
    RankResult
        By benchmark; over the suite :func:`speedproof.compare_suite` ranks three versions or more.

    Raises
    ------
    SpeedproofError
        Fewer than two versions, or no benchmark that could be ranked.

    Examples
    --------
    >>> import speedproof as sp
    >>> suite = sp.read("O2=examples/gcc/O2.json", "O3=examples/gcc/O3.json")
    >>> ranked = sp.rank(suite)
    >>> [v.version for v in ranked["matmul"].ranking.versions]
    ['O3', 'O2']
    """
    suite = of_metric(suite, metric)
    alpha = alpha_of(confidence)
    components_given(max_components=max_components)
    if resamples < _LEAST_RESAMPLES:
        raise UsageError(
            Parameter("resamples", resamples), f": an interval needs at least {_LEAST_RESAMPLES}"
        )
    first, others = suite.sides(reference)
    compared = tuple(
        compare_suite(suite.pair(first, other), (first, other), metric, Rules(alpha), (HEADLINE,))
        for other in others
        for metric in suite.metrics
    )
    answered: dict[Key, dict[tuple[str, str], Comparison]] = {}
    for r in compared:
        for c in r.comparisons:
            answered.setdefault(Key(c.benchmark, c.metric), {})[first, r.candidate] = c
    rankings: list[BenchmarkRanking] = []
    unranked = []
    for key, rivals in by_benchmark(suite, (first, *others)).items():
        try:
            many, of = resamples if mixtures else 0, answered.get(key, {})
            ranking = rank_runs(
                rivals, alpha=alpha, K_max=max_components, resamples=many, seed=seed, jobs=jobs, known=of
            )
        except DataError as error:
            unranked.append((key.benchmark, str(error)))
        else:
            samples = list(rivals.values())
            alike = [r for r in compared if r.metric == key.metric]
            caveats = dict.fromkeys(c for r in alike for c in r.caveats)
            machine = next((r.machine for r in alike if r.machine), None)
            changes = None
            if mixtures and len(samples) == 2:
                changes = compare_modes(Pair(key, *samples), alpha=alpha, K_max=max_components)
            rankings.append(BenchmarkRanking(key, samples[0].unit, ranking, changes, tuple(caveats), machine))
        done()
    problems = left_out(unranked)
    if not rankings:
        raise UsageError("\n  ".join(["no benchmark could be ranked", *problems]))
    return RankResult(tuple(rankings), compared, tuple(problems), suite)

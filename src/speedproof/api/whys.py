"""What a difference between versions, or the states of one, go with; how speedups change with a parameter."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from speedproof.api.given import alpha_of, no_step
from speedproof.conclude.suite import SuiteComparison
from speedproof.data.checked import checked
from speedproof.data.given import sample
from speedproof.data.names import enumerate_names, plural
from speedproof.data.sample import Sample
from speedproof.data.suite import Key, Suite
from speedproof.errors import DataError, UsageError
from speedproof.formats.versions import dimensions, without
from speedproof.protocols.caveats import MachineSpeeds, machine_speeds
from speedproof.protocols.inputs import Input, OverInputs, over_inputs
from speedproof.protocols.why import Why as Why
from speedproof.protocols.why import why as explain
from speedproof.reporting.model import Report, to_json
from speedproof.reporting.shown import Shown
from speedproof.reporting.why import over_report, report


class WhyResult(Shown, Struct, frozen=True):
    """What goes with time, or with its difference. ``print`` shows what ``speedproof compare --why`` adds.

    Attributes
    ----------
    by_candidate : dict of str to tuple of Why
        By candidate, or by the only version, one for each benchmark.

    Examples
    --------
    >>> import speedproof as sp
    >>> found = sp.why(sp.read("examples/faults/session.jsonl"))
    >>> [(m.metric, m.part) for m in found["command"].goes_with][:2]
    [('minor-faults', False), ('voluntary-switches', False)]
    """

    by_candidate: Mapping[str, tuple[Why, ...]]

    def __iter__(self) -> Iterator[Why]:
        """Everything that was explained."""
        return (one for whys in self.by_candidate.values() for one in whys)

    def __getitem__(self, benchmark: str) -> Why:
        """The findings about one benchmark, for the first candidate."""
        for one in self:
            if one.benchmark == benchmark:
                return one
        names = ", ".join(dict.fromkeys(one.benchmark for one in self))
        raise UsageError(f"no benchmark {benchmark!r} was explained, only: {names}")

    def reports(self, *, everything: bool = False, details: bool = False) -> Iterable[Report]:
        """The result in words, for every format."""
        several = len(self.by_candidate) > 1
        return [
            report(of, everything=everything, details=details, whose=several)
            for of in self.by_candidate.values()
            if of
        ]

    def to_json(self) -> str:
        """Everything, in the envelope of all results."""
        return to_json("why", tuple(self))

    def __repr__(self) -> str:
        named = sum(bool(one.goes_with) for one in self)
        return f"<WhyResult: {named} of {len(list(self))} go with another metric>"


@checked()
def why(
    suite: Suite,
    *,
    reference: str | None = None,
    metric: str | None = None,
    confidence: float | str = 0.95,
    seed: int = 0,
    done: Callable[[], None] = no_step,
) -> WhyResult:
    """Say what goes with time, and with how much of a difference: metrics of the same runs, speeds of the machine.

    Parameters
    ----------
    suite : Suite
        With several metrics of the same runs, or two versions at two speeds of the machine. Of one version the
        states of its runs are explained.
    reference : str, optional
        The version that the others are compared with; the first by default.
    metric : str, optional
        What is explained; by default the main metric.
    confidence : float or str
        1 - the risk that any metric of a benchmark is named that has nothing to do with it.
    seed : int
        Of all random numbers.
    done : callable
        Called after each benchmark.

    Returns
    -------
    WhyResult
        For each benchmark what was tested, and the states.

    Raises
    ------
    SpeedproofError
        One metric only and one speed, or no such metric or version.

    Examples
    --------
    >>> import speedproof as sp
    >>> found = sp.why(sp.read("examples/faults/session.jsonl"))
    >>> first = found["command"].goes_with[0]
    >>> first.metric, [round(state.level) for state in first.states], 0.75 < first.share < 0.95
    ('minor-faults', [53, 2101], True)
    """
    explained = metric or suite.main_metric
    chosen = suite.select(metric=explained)
    alpha = alpha_of(confidence)
    sides: list[tuple[str, ...]] = [suite.versions]
    if len(suite.versions) > 1 or reference is not None:
        first, candidates = suite.sides(reference)
        sides = [(first, candidate) for candidate in candidates]
    by_candidate: dict[str, tuple[Why, ...]] = {}
    for versions in sides:
        read = chosen.pair(*versions).read_of(explained) if len(versions) == 2 else []
        machine = machine_speeds(read, alpha)
        by_candidate[versions[-1]] = _of_versions(suite, versions, explained, machine, alpha, seed, done)
    if not any(by_candidate.values()):
        raise UsageError(
            f"there is no metric beside {explained} that it could go with; 'speedproof run' records some, and "
            "more with --perf, --energy and --metric"
        )
    return WhyResult(by_candidate)


def _of_versions(
    suite: Suite,
    versions: tuple[str, ...],
    metric: str,
    machine: MachineSpeeds | None,
    alpha: float,
    seed: int = 0,
    done: Callable[[], None] = no_step,
) -> tuple[Why, ...]:
    """Associations with a metric of one or two versions, benchmark by benchmark; may be empty."""
    others = [name for name in suite.metrics if name != metric]
    if not others and machine is None:
        return ()
    chosen = suite.select(metric=metric)
    explained: dict[Key, tuple[Sample, ...]] = {key: (sample,) for (key, _), sample in chosen.samples.items()}
    if len(versions) == 2:
        explained = {pair.key: (pair.reference, pair.candidate) for pair in chosen.pair(*versions).pairs}
    whys = []
    for key, samples in explained.items():
        of = {name: [suite.samples.get((Key(key.benchmark, name), v)) for v in versions] for name in others}
        beside = {name: both for name, both in of.items() if any(one is not None for one in both)}
        why = explain(key.benchmark, metric, samples, beside, machine=machine, alpha=alpha, seed=seed)
        whys.append(replace(why, versions=versions))
        done()
    return tuple(whys)


def metrics_given(
    given: Mapping[str, Any], explained: tuple[Sample, Sample]
) -> Mapping[str, tuple[Sample | None, Sample | None]]:
    """Other metrics of two samples' runs, as ``{"minor-faults": (of_reference, of_candidate)}``."""
    samples: dict[str, tuple[Sample | None, Sample | None]] = {}
    for name, both in given.items():
        if isinstance(both, str | bytes) or not hasattr(both, "__len__") or len(both) != 2:
            raise UsageError(
                f"metrics={{{name!r}: ...}}: give its values of both versions, the reference's first"
            )
        sides = []
        for explanation, values in zip(explained, both, strict=True):
            unit = None if isinstance(values, Sample) else ""
            try:
                one = None if values is None else sample(values, unit=unit)
            except DataError as error:
                raise DataError(f"metrics={{{name!r}: ...}}: {error}") from None
            if one is not None and one.n != explanation.n:
                raise DataError(
                    f"metrics={{{name!r}: ...}}: {explanation.label} has {explanation.n} runs, and here are "
                    f"{one.n} values: "
                    "give one for each run, in the same order"
                )
            sides.append(one)
        samples[name] = (sides[0], sides[1])
    return samples


_SIZE = re.compile(r"(?P<number>\d+(\.\d*)?) ?(?P<prefix>[kKMGT]?)(?P<binary>i?)[bB]?")


class OverResult(Shown, Struct, frozen=True):
    """Speedups over the inputs of benchmarks. ``print`` shows what ``speedproof compare --over`` adds.

    Attributes
    ----------
    found : tuple of OverInputs
        One for each benchmark, candidate and metric.
    problems : tuple of str
        What was left out, and why.

    Examples
    --------
    >>> import speedproof as sp
    >>> found = sp.compare_suite(sp.read("examples/sizes/session.jsonl", metric="time")).over("n")
    >>> found, [one.value for one in found["command"].inputs][:2]
    (<OverResult: 1 benchmark>, ['1000', '10000'])
    """

    found: tuple[OverInputs, ...]
    problems: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[OverInputs]:
        """Iterate over the benchmarks."""
        return iter(self.found)

    def __getitem__(self, benchmark: str) -> OverInputs:
        """One benchmark, of the first candidate."""
        for one in self.found:
            if one.benchmark == benchmark:
                return one
        names = enumerate_names(dict.fromkeys(one.benchmark for one in self.found))
        raise UsageError(f"no benchmark {benchmark!r} has several inputs, only: {names}")

    def reports(self, *, everything: bool = False, details: bool = False) -> Iterable[Report]:
        """The result in words, for every format."""
        return [over_report(self.found, self.problems, everything=everything, details=details)]

    def to_json(self) -> str:
        """Everything, in the envelope of all results."""
        return to_json("over", self.found)

    def __repr__(self) -> str:
        return f"<OverResult: {plural(len(self.found), 'benchmark')}>"


def over(suite: Suite, results: Sequence[SuiteComparison], parameter: str) -> OverResult:
    """Group comparisons of benchmarks that differ only in one parameter."""
    families: dict[tuple[int, str], list[Input]] = {}
    values_by_name: dict[str, set[str]] = {}
    problems: list[str] = []
    without_it: dict[str, None] = {}
    for at, result in enumerate(results):
        for c in result.headlines:
            sides = [
                suite.samples[Key(c.benchmark, c.metric), v] for v in (result.reference, result.candidate)
            ]
            parts, there = (dimensions(c.benchmark, side.fields) for side in sides)
            for name in parts.keys() - {"benchmark", "name"}:
                values_by_name.setdefault(name, set()).add(parts[name])
            value = parts.get(parameter)
            if value != there.get(parameter):
                problems.append(f"{c.benchmark}: {parameter} is not the same in both versions")
            elif value is None:
                without_it.setdefault(c.benchmark)
            elif c.log is None:
                problems.append(
                    f"{c.benchmark}: a trend is of typical runs or means, not of the {c.protocol}"
                )
            else:
                name = without(c.benchmark, {parameter: value}, bare=True)
                families.setdefault((at, name), []).append(Input(value, _size(value), c))
    lines = []
    for (at, name), inputs in families.items():
        if len(inputs) > 1:
            versions = (results[at].reference, results[at].candidate)
            lines.append(over_inputs((name, parameter), versions, inputs))
        else:
            problems.append(f"{name}: one input only ({parameter} = {inputs[0].value})")
    if not lines:
        varied = sorted(name for name, values in values_by_name.items() if len(values) > 1)
        known = enumerate_names(varied, 12)
        why = (
            f"the parameters of these benchmarks are {known}"
            if known
            else "these benchmarks have no parameters"
        )
        raise UsageError(f"no two inputs that differ in {parameter}: {problems[0] if problems else why}")
    if without_it:
        problems.append(f"without {parameter}: {enumerate_names(without_it, 3)}")
    return OverResult(tuple(lines), tuple(dict.fromkeys(problems)))


def _size(value: str) -> float | None:
    """A size as a number: ``"1e6"``, ``"64"``, ``"32kB"``, ``"4KiB"``, ``"10M"``."""
    try:
        size = float(value)
    except ValueError:
        match = _SIZE.fullmatch(value)
        if match is None:
            return None
        base, power = 1024.0 if match["binary"] else 1000.0, " kmgt".index(match["prefix"].lower() or " ")
        size = float(match["number"]) * base**power
    return size if 0.0 < size < math.inf else None

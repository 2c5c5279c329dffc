"""The Gaussian mixture behind every sample of a suite, tested by bootstrap; states by several metrics at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any, Literal

import numpy as np
from msgspec import Struct, field
from msgspec.structs import asdict

from speedproof.api.given import components_given, no_step, of_metric
from speedproof.data.checked import checked
from speedproof.data.names import left_out, plural
from speedproof.data.sample import Sample, Trait
from speedproof.data.suite import Key, Suite
from speedproof.data.units import parse_quantity, scale_of
from speedproof.declaring import proportion_given
from speedproof.errors import DataError, Parameter, UsageError
from speedproof.mixture.analysis import analyse, answers, indices
from speedproof.mixture.fitting import Distance
from speedproof.mixture.results import Analysis, Answered, Indices, Questions
from speedproof.protocols.modes import JointModel, joint_models, states_of_runs
from speedproof.reporting import mixtures
from speedproof.reporting.mixtures import states
from speedproof.reporting.model import Report, to_json
from speedproof.reporting.shown import Shown
from speedproof.values import share


class ModelResult(Shown, Struct, frozen=True, dict=True):
    """Mixtures of samples. ``print`` shows what ``speedproof model`` shows.

    Attributes
    ----------
    models : tuple of (Key, str, Sample, Analysis)
        Benchmark and metric, version, the sample and its mixture.
    problems : tuple of str
        What could not be modelled, and why.
    suite : Suite
        The samples.

    Examples
    --------
    >>> import speedproof as sp
    >>> suite = sp.Suite.of_samples({"f": {"old": [1.0, 1.1, 1.2, 1.1, 3.0, 3.1, 3.2, 3.1]}})
    >>> found = sp.model(suite, bootstrap=0)
    >>> found, found.problems
    (<ModelResult: 1 sample>, ())
    """

    models: tuple[tuple[Key, str, Sample, Analysis], ...]
    problems: tuple[str, ...]
    suite: Suite
    asked: Questions = field(default_factory=Questions)

    def reports(self, *, everything: bool = False, details: bool = False) -> Iterable[Report]:
        """The result in words, with the answers to what was asked of all samples."""
        yield mixtures.report(
            self.models, self.asked, self._answers, self._indices, everything=everything, details=details
        )

    @cached_property
    def _answers(self) -> list[Answered]:
        return [answers(self.asked, sample, analysis) for *_, sample, analysis in self.models]

    @cached_property
    def _indices(self) -> list[Indices | None]:
        return indices(self.asked, self.models)

    def to_json(self) -> str:
        """What ``speedproof model --json`` writes."""
        records = []
        each = zip(self.models, self._answers, self._indices, strict=True)
        for (key, version, sample, analysis), answered, compared in each:
            of = {**asdict(key), "version": version, "unit": sample.unit}
            fitted = {"order_known": Trait.ORDER_KNOWN in sample.traits, "model": analysis}
            records.append({**of, **fitted, **asdict(answered), "metrics": compared})
        return to_json("model", records)

    def __repr__(self) -> str:
        return f"<ModelResult: {plural(len(self.models), 'sample')}>"


@checked()
def model(
    suite: Suite | Any,
    *,
    metric: str | None = None,
    unit: str | None = None,
    components: int | None = None,
    compatible: bool = False,
    max_components: int = 9,
    family: Literal["mixture", "auto"] = "mixture",
    bootstrap: int = 200,
    distance: Distance | None = None,
    fast: bool = False,
    undersampling: float | str | None = None,
    rounding: bool = True,
    seed: int = 0,
    jobs: int = 1,
    quantiles: Sequence[float | str] = (),
    below: Sequence[str | float] = (),
    metrics: bool = False,
    delta: str | float = 0.0,
    observations: bool = False,
    done: Callable[[], None] = no_step,
) -> ModelResult:
    """Fit a Gaussian mixture to each sample and test the fit.

    Parameters
    ----------
    suite : Suite or array_like
        The samples; or the values of one, plain numbers or a :func:`speedproof.sample`.
    metric : str, optional
        Its name, or ``"all"``; by default the main one, as on the command line.
    unit : str, optional
        Of plain numbers.
    components : int, optional
        Exactly so many components, and no test: it is for a number that is chosen.
    compatible : bool
        Follow VARCORE to the letter: R's mclust, whose answer depends on the unit; every peak is a mode;
        bootstrap samples of full size.
    max_components : int
        Otherwise the largest number.
    family : {"mixture", "auto"}
        With ``"auto"`` log-normal, gamma, shifted exponential and Weibull are fitted, too, and ranked by BIC.
    bootstrap : int
        Bootstrap samples of the test; 0: no test.
    distance : {"ks", "observed", "cvm", "ad"}, optional
        Of the test: Kolmogorov and Smirnov's, the same at the observations only (what ``compatible`` takes),
        Cramer and von Mises' or Anderson and Darling's.
    fast : bool
        Choose the mixture of more than 3,000 values (otherwise 10,000) by groups of neighbours, and stop adding
        components early in the bootstrap.
    undersampling : float or str, optional
        Bootstrap samples hold this share of the values, 1 at most.
    rounding : bool
        Try again on the grid of the values, where the test rejects.
    seed : int
        Of all random numbers.
    jobs : int
        Threads; the answer does not depend on them.
    quantiles : sequence of float or str
        Probabilities whose quantiles are wanted.
    below : sequence of str or float
        Values in the unit of the samples, such as "12ms", whose P[X <= value] is wanted.
    metrics : bool
        Compare the versions of each benchmark by I1 to I4, of the samples and of the mixtures.
    delta : str or float
        Head start in I2 = P[X < Y + delta], in the unit of the samples.
    observations : bool
        List the values of each component.
    done : callable
        Called after each sample.

    Returns
    -------
    ModelResult
        A mixture for each sample.

    Raises
    ------
    SpeedproofError
        No sample could be modelled; a value in another unit than the samples.

    Examples
    --------
    >>> import speedproof as sp
    >>> suite = sp.read("O2=examples/gcc/O2.json", "O3=examples/gcc/O3.json")["matmul"]
    >>> [version for _, version, _, _ in sp.model(suite, bootstrap=0).models]
    ['O2', 'O3']
    >>> [c.mean for c in sp.model([1.0, 1.2, 0.8, 5.0, 5.2, 4.8] * 5, bootstrap=0).models[0][3].components]
    [1.0, 5.0]
    """
    if isinstance(suite, Suite):
        suite = of_metric(suite, metric)
    else:
        suite = Suite.of_samples({"values": suite}, unit=unit, metric=metric)
    components_given(components=components, max_components=max_components)
    untested = Parameter("bootstrap", 0) if components is None else Parameter("components", components)
    for idle in (Parameter("distance", distance), Parameter("undersampling", undersampling)):
        if idle.value is not None and not (bootstrap and components is None):
            raise UsageError(untested, " makes no test; leave out ", idle)
    part = None if undersampling is None else proportion_given("undersampling", undersampling, "0.9", share)
    shares = tuple(proportion_given("quantiles", p, "0.99") for p in quantiles)
    samples = list(suite.samples.items())
    given = [Parameter("delta", delta), *(Parameter("below", value) for value in below)]
    values = [_in_unit(one, [sample for _, sample in samples]) for one in given]
    asked = Questions(shares, tuple(values[1:]), metrics, values[0], observations)
    inner = jobs if len(samples) == 1 else 1

    def one(sample: Sample) -> Analysis | DataError:
        try:
            return analyse(
                sample, N=bootstrap, seed=seed, components=components, compatible=compatible, K_max=max_components,
                distance=distance, c=part,
                fast=fast, rounding=rounding, others=family == "auto", jobs=inner,
            )  # fmt: skip
        except DataError as error:
            return error

    models = []
    unmodelled: list[tuple[str, str]] = []
    for ((key, version), sample), analysis in zip(
        samples, _shared_out(one, [s for _, s in samples], jobs), strict=True
    ):
        if isinstance(analysis, DataError):
            unmodelled.append((f"{key.benchmark} ({version})", str(analysis)))
        else:
            models.append((key, version, sample, analysis))
        done()
    problems = left_out(unmodelled)
    if not models:
        raise UsageError("\n  ".join(["no sample could be modelled", *problems]))
    return ModelResult(tuple(models), tuple(problems), suite, asked)


def _in_unit(asked: Parameter, samples: Iterable[Sample]) -> tuple[float, str]:
    """A value converted to the base unit of the samples; 0 needs no unit."""
    value, unit = parse_quantity(asked)
    for sample in samples:
        if value and unit != sample.unit:
            _, symbol = scale_of(float(np.abs(sample.values).max()), sample.unit)
            theirs = f"in {sample.unit}: write a unit, such as {symbol}" if sample.unit else "plain numbers"
            given = f"in {unit}" if unit else "a plain number"
            raise UsageError(
                asked, f" is {given}, and the values of {sample.label or 'a sample'} are {theirs}"
            )
    return value, unit


def _shared_out(
    one: Callable[[Sample], Analysis | DataError], samples: list[Sample], jobs: int
) -> Iterator[Analysis | DataError]:
    """Apply a function to all samples in order, on threads if there are several."""
    if jobs == 1 or len(samples) == 1:
        yield from map(one, samples)
        return
    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(one, samples)


class JointResult(Shown, Struct, frozen=True):
    """The states of runs. ``print`` shows what ``speedproof model --joint`` shows.

    Attributes
    ----------
    models : tuple of JointModel
        Of each benchmark and version.
    suite : Suite
        The samples.
    metrics : tuple of str
        By which runs fall into states.

    Examples
    --------
    >>> import speedproof as sp
    >>> found = sp.joint(sp.read("examples/faults/session.jsonl"), ["time", "minor-faults"])
    >>> found
    <JointResult: 2 samples by time and minor-faults>
    >>> 0 < found.models[1].others[0].better < 1
    True
    """

    models: tuple[JointModel, ...]
    suite: Suite
    metrics: tuple[str, ...]

    def reports(self, *, everything: bool = False, details: bool = False) -> Iterable[Report]:
        """The result in words, for every format."""
        return [states(self.models)]

    def to_json(self) -> str:
        """What ``speedproof model --joint --json`` writes."""
        return to_json("model", self.models)

    def pictures(self) -> list[tuple[str, Any]]:
        """The runs of each benchmark's versions by the first two metrics, and an ellipse for each state."""
        from speedproof.plot.samples import ellipses

        drawn = []
        for benchmark in dict.fromkeys(m.benchmark for m in self.models):
            versions = [m.version for m in self.models if m.benchmark == benchmark]
            samples = {
                v: [self.suite.samples[Key(benchmark, name), v] for name in self.metrics] for v in versions
            }
            both = list(zip(*samples.values(), strict=True))[:2]
            scales = [scale_of(max(float(abs(s.values).max()) for s in of), of[0].unit) for of in both]
            first, second = (
                f"{name} ({unit})" if unit else name
                for name, (_, unit) in zip(self.metrics, scales, strict=False)
            )
            runs = {}
            for v, of in samples.items():
                x, y = (s.values / factor for s, (factor, _) in zip(of, scales, strict=False))
                runs[v] = x, y, states_of_runs(of)
            drawn.append((benchmark, ellipses(runs, axes=(first, second), title=benchmark)))
        return drawn

    def __repr__(self) -> str:
        return f"<JointResult: {plural(len(self.models), 'sample')} by {' and '.join(self.metrics)}>"


@checked()
def joint(suite: Suite, metrics: Sequence[str]) -> JointResult:
    """Fit the states that runs fall into by several metrics at once, and compare versions in all of them.

    A mixture of normal distributions, independent within a state, no narrower than the metrics' resolution; the
    number of states is chosen by ICL.

    Parameters
    ----------
    suite : Suite
        With several metrics of the same runs.
    metrics : sequence of str
        Two or more of them; the first orders the states.

    Returns
    -------
    JointResult
        The states of each version of each benchmark that has these metrics.

    Raises
    ------
    SpeedproofError
        Fewer than two metrics, or one that the suite lacks; metrics of other runs.

    References
    ----------
    J. Worms, S. Touati: "Modelling program's performance with Gaussian mixtures for parametric statistics", 2016,
    section 8.1.

    Examples
    --------
    >>> import speedproof as sp
    >>> found = sp.joint(sp.read("examples/faults/session.jsonl"), ["time", "minor-faults"])
    >>> [sorted({round(state.means[1]) for state in m.states}) for m in found.models]
    [[53, 2101], [53, 2101]]
    """
    names = tuple(dict.fromkeys(metrics))
    if len(names) < 2:
        raise UsageError(f"joint states take two metrics or more; this suite has {', '.join(suite.metrics)}")
    for name in names:
        suite.select(metric=name)  # says what there is
    models: list[JointModel] = []
    for benchmark in suite.benchmarks:
        versions = {
            version: [suite.samples[Key(benchmark, name), version] for name in names]
            for version in suite.versions
            if all((Key(benchmark, name), version) in suite.samples for name in names)
        }
        models += joint_models(benchmark, versions, names)
    if not models:
        raise UsageError(f"no benchmark has {' and '.join(names)}")
    return JointResult(tuple(models), suite, names)

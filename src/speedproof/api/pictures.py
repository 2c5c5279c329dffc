"""Pictures of suites and results: what ``speedproof plot`` draws."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from speedproof import plot
from speedproof.api.given import components_given, quantile_measured
from speedproof.api.rankings import by_benchmark
from speedproof.arrays import FloatArray
from speedproof.conclude.suite import SuiteComparison, compare_suite
from speedproof.data.checked import checked, one_of
from speedproof.data.sample import Sample
from speedproof.data.suite import Key, Suite
from speedproof.data.units import scale_of
from speedproof.errors import DataError, Parameter, UsageError
from speedproof.mixture.analysis import independent
from speedproof.mixture.fitting import fit
from speedproof.mixture.model import MixtureModel
from speedproof.options import HEADLINE
from speedproof.plot.canvas import new_figure
from speedproof.plot.samples import violins_size
from speedproof.protocols.pair import Rules
from speedproof.reporting.names import spoken
from speedproof.reporting.words import named

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KINDS = ("histogram", "density", "cdf", "order", "violins", "qq", "forest")
_OF_BENCHMARKS = ("histogram", "density", "cdf", "violins")
"""Pictures of all versions of a benchmark; the others, except the forest, show a single sample."""
_WITHOUT_MIXTURES = ("density", "qq", "forest")


@checked()
def pictures(
    suite: Suite,
    kind: str = "histogram",
    *,
    reference: str | None = None,
    max_components: int | None = None,
    remark: Callable[[str], object] = lambda text: None,
) -> list[tuple[str, Any]]:
    """Draw a suite: a picture of each benchmark, of each sample, or of all speedups.

    Parameters
    ----------
    suite : Suite
        What to draw.
    kind : {"histogram", "density", "cdf", "order", "violins", "qq", "forest"}
        What the picture is.
    reference : str, optional
        Of the speedups in a forest; the first version by default.
    max_components : int, optional
        Largest number of components of the mixtures, where the picture shows them; 9 by default.
    remark : callable
        Told why a sample has no mixture, or no picture.

    Returns
    -------
    list of (str, matplotlib Axes or Figure)
        Name and picture.

    Raises
    ------
    SpeedproofError
        Versions of different units, or no speedup to draw.

    Examples
    --------
    >>> import speedproof as sp
    >>> suite = sp.read("O2=examples/gcc/O2.json", "O3=examples/gcc/O3.json")
    >>> [name for name, axes in sp.pictures(suite, "forest")]
    ['O3']
    """
    one_of("kind", kind, KINDS)
    components_given(max_components=max_components)
    if max_components is not None and kind in _WITHOUT_MIXTURES:
        raise UsageError(
            f"a {kind} shows no mixture; leave out ", Parameter("max_components", max_components)
        )
    if reference is not None and kind != "forest" and not suite.commands:
        raise UsageError(f"a {kind} shows no speedup; leave out ", Parameter("reference", reference))
    if kind == "forest":
        return _forests(suite, reference)
    if kind in _OF_BENCHMARKS:
        pictures = [(key, "", samples) for key, samples in by_benchmark(suite, suite.versions).items()]
    else:
        pictures = [(key, version, {version: sample}) for (key, version), sample in suite.samples.items()]
    metrics = {key.metric for key, _, _ in pictures}
    drawn: list[tuple[str, Any]] = []
    problems: list[str] = []
    for key, version, samples in pictures:
        name = " ".join(part for part in (key.benchmark, key.metric * (len(metrics) > 1), version) if part)
        try:
            drawn.append((name, _picture(key, samples, kind, max_components or 9, remark)))
        except DataError as error:
            problems.append(f"{name}: {error}")
    if not drawn:
        raise UsageError(f"{problems[0]}; try ", Parameter("kind", "order"))
    for problem in problems:
        remark(f"note: {problem}")
    return drawn


def _forests(suite: Suite, reference: str | None) -> list[tuple[str, Any]]:
    """One picture of all speedups for each candidate and metric."""
    first, candidates = suite.sides(reference)
    metrics = list(dict.fromkeys(key.metric for key in suite.keys))
    drawn = []
    for candidate in candidates:
        pairing = suite.pair(first, candidate)
        for metric in metrics:
            question = quantile_measured(suite.question) or HEADLINE
            result = compare_suite(pairing, (first, candidate), metric, Rules(), (question,))
            if result.headlines:
                ax = new_figure(*plot.forest_size(len(result.headlines))).add_subplot()
                title = metric if len(metrics) > 1 else ""
                drawn.append((f"{candidate} {title}".strip(), _forest(result, ax=ax, title=title)))
    if not drawn:
        raise UsageError(f"no benchmark of {first} was also measured with {' or '.join(candidates)}")
    return drawn


def _forest(result: SuiteComparison, **drawn: Any) -> Axes:
    """All speedups, under names that tell the versions apart where they are cut."""
    old, new = spoken([result.reference, result.candidate])
    return plot.forest([named(c, old, new) for c in result.headlines], **drawn)


def _picture(
    key: Key, samples: dict[str, Sample], kind: str, max_components: int, remark: Callable[[str], object]
) -> Any:
    """The picture of a benchmark's samples, or of a single one."""
    if kind in _OF_BENCHMARKS:
        samples = dict(zip(spoken(list(samples)), samples.values(), strict=True))
    axis, shown = _shown(key, samples, processes=kind == "violins")
    first, of_first = next(iter(shown.items()))
    title = f"{key.benchmark}: {first}"
    if kind == "qq":
        return _probability_plots(of_first, axis, title)
    if kind == "density":
        return plot.density(shown, ax=new_figure().add_subplot(), axis=axis, title=key.benchmark)
    models: list[MixtureModel | None] = []
    for version, values in shown.items():
        try:
            models.append(fit(values, K_max=max_components).model)
        except DataError as error:
            models.append(None)
            remark(f"note: {key.benchmark} ({version}): no mixture, so no curve of it: {error}")
    if kind == "violins":
        ax = new_figure(*violins_size(len(shown))).add_subplot()
        return plot.violins(shown, models, ax=ax, axis=axis, title=key.benchmark)
    if kind == "cdf":
        return plot.cdfs(shown, models, ax=new_figure().add_subplot(), axis=axis, title=key.benchmark)
    if len(shown) > 1:
        return plot.histograms(shown, models, axis=axis, title=key.benchmark)
    draw = {"histogram": plot.histogram, "order": plot.order}[kind]
    return draw(of_first, models[0], ax=new_figure().add_subplot(), axis=axis, title=title)


def _shown(key: Key, samples: dict[str, Sample], *, processes: bool) -> tuple[str, dict[str, FloatArray]]:
    """The axis, and the values of each version in one unit; one a process for pictures of how much runs differ."""
    units = {sample.unit for sample in samples.values()}
    if len(units) > 1:
        choose = "; choose with ", Parameter("only"), " and ", Parameter("metric")
        raise UsageError(f"{key.benchmark}: its versions have different units", *choose)
    note = ""
    if processes:
        one_each = {version: independent(sample)[0] for version, sample in samples.items()}
        note = ", one value a process" if any(one_each[v] is not samples[v] for v in one_each) else ""
        samples = one_each
    shown, symbol = _in_one_unit(samples, *units)
    return f"{key.metric} ({symbol}){note}" if symbol else f"{key.metric}{note}", shown


def _probability_plots(values: FloatArray, axis: str, title: str) -> Any:
    """Normal and log-normal side by side; the second only where all values are positive."""
    figure = new_figure(8.4, 4.0)
    if values.min() <= 0.0:
        return plot.qq(values, ax=figure.add_subplot(), axis=axis, title=title)
    left, right = figure.subplots(1, 2)
    plot.qq(values, ax=left, axis=axis, title=title)
    return plot.qq(values, "log-normal", ax=right, axis=axis)


def _in_one_unit(samples: dict[str, Sample], unit: str) -> tuple[dict[str, FloatArray], str]:
    """Convert values to a readable unit; beyond the SI prefixes, to a power of ten of the base unit."""
    largest = max(float(abs(sample.values).max()) for sample in samples.values())
    factor, symbol = scale_of(largest, unit)
    if largest == 0.0 or 1e-9 <= largest / factor < 1e15:
        return {version: sample.values / factor for version, sample in samples.items()}, symbol
    power = math.floor(math.log10(largest))
    half = -power // 2  # the whole factor may be out of range
    return {
        version: sample.values * 10.0**half * 10.0 ** (-power - half) for version, sample in samples.items()
    }, f"1e{power} {unit}".rstrip()

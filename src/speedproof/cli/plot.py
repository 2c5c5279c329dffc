"""``speedproof plot``: pictures of samples, mixtures and speedups."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from speedproof.cli.command import Args, Argument, Command, Option
from speedproof.cli.console import Console
from speedproof.cli.inputs import (
    load,
    report_leftovers,
    select,
)
from speedproof.cli.options import mixture, reading, selecting
from speedproof.cli.rank import by_benchmark
from speedproof.data.sample import FloatArray, Sample
from speedproof.data.suite import Key, Suite
from speedproof.data.units import scale_of
from speedproof.errors import DataError, UsageError

if TYPE_CHECKING:
    from speedproof.mixture.model import MixtureModel

__all__ = ["COMMAND", "run"]

KINDS = ("histogram", "cdf", "order", "violins", "qq", "forest")


COMMAND = Command(
    (
        "Draw each benchmark: the histograms of all its versions on one axis, with the fitted "
        "mixtures and their components, or their violins side by side; or each sample: its distribution "
        "function against the model, its runs in order coloured by component, or its normal and log-normal "
        "probability plots; or all speedups over the reference in one picture (forest). A few "
        "values so far out "
        "that they would squeeze the others are not drawn, and the picture says how many. Needs matplotlib: "
        "pip install matplotlib."
    ),
    (
        "  speedproof plot old.json new.json -o histograms.svg\n"
        "  speedproof plot results.json --kind order --only json_dumps -o order.png\n"
        "  speedproof plot gcc.json clang.json icc.json --kind violins -o versions.pdf\n"
        "  speedproof plot old.json new.json --kind forest -o speedups.svg\n"
        "With several pictures the benchmark (and the version) is added to the name of each file."
    ),
    [
        Argument("files", metavar="FILE...", help="result files or folders", many=True),
        Option("-o", "--output", required=True, metavar="PATH", help="ends in .svg, .png, .pdf or .html"),
        Option("--kind", choices=KINDS, default="histogram", help="default: histogram"),
        *selecting(),
        *mixture(),
        *reading(),
    ],
)


def run(args: Args, console: Console) -> int:
    """Carry the command out."""
    from speedproof.plot import check_output, save

    check_output(args.output)
    suite = select(load(args.files, args), args, console)
    drawn = _forests(suite, args) if args.kind == "forest" else _of_samples(suite, args, console)
    report_leftovers(suite, console)
    for path, (_, picture) in zip(_paths(args.output, [name for name, _ in drawn]), drawn, strict=True):
        save(picture, path)
        console.remark(f"wrote {path}")
    return 0


def _of_samples(suite: Suite, args: Args, console: Console) -> list[tuple[str, Any]]:
    """The name and the picture of each benchmark, or of each sample."""
    if args.kind in ("histogram", "violins"):
        pictures = [(key, "", samples) for key, samples in by_benchmark(suite, suite.versions).items()]
    else:
        pictures = [(key, version, {version: sample}) for (key, version), sample in suite.samples.items()]
    metrics = {key.metric for key, _, _ in pictures}
    return [
        (
            " ".join(part for part in (key.benchmark, key.metric * (len(metrics) > 1), version) if part),
            _picture(key, samples, args, console),
        )
        for key, version, samples in pictures
    ]


def _forests(suite: Suite, args: Args) -> list[tuple[str, Any]]:
    """One picture of all speedups for each candidate and metric."""
    from speedproof import plot
    from speedproof.plot.canvas import new_figure
    from speedproof.protocols.pair import Rules
    from speedproof.protocols.questions import HEADLINE
    from speedproof.protocols.suite import compare_suite

    reference, candidates = suite.sides(args.reference)
    metrics = list(dict.fromkeys(key.metric for key in suite.keys))
    drawn = []
    for candidate in candidates:
        pairing = suite.pair(reference, candidate)
        for metric in metrics:
            result = compare_suite(pairing, (reference, candidate), metric, Rules(), (HEADLINE,))
            if result.headlines:
                ax = new_figure(*plot.forest_size(len(result.headlines))).add_subplot()
                title = metric if len(metrics) > 1 else ""
                picture = plot.forest(result.headlines, ax=ax, title=title)
                drawn.append((f"{candidate} {title}".strip(), picture))
    if not drawn:
        raise UsageError(f"no benchmark of {reference} has a partner in {' or '.join(candidates)}")
    return drawn


def _paths(output: str, names: list[str]) -> list[Path]:
    """One file a picture; with several, their names go before the ending, spelt for file systems."""
    path = Path(output)
    if len(names) == 1:
        return [path]
    spelt = ["".join(c if c.isalnum() or c in "-_." else "-" for c in name) for name in names]
    twice = sorted({name for name in spelt if spelt.count(name) > 1})
    if twice:
        raise UsageError(f"several pictures would be written as {twice[0]}; draw one with --only")
    return [path.with_name(f"{path.stem}-{name}{path.suffix}") for name in spelt]


def _picture(key: Key, samples: dict[str, Sample], args: Args, console: Console) -> Any:
    """The picture of a benchmark's samples, or of a single one."""
    from speedproof import plot
    from speedproof.plot.canvas import new_figure

    units = {sample.unit for sample in samples.values()}
    if len(units) > 1:
        raise UsageError(
            f"{key.benchmark}: its versions have different units; choose with --only and --metric"
        )
    shown, symbol = _in_one_unit(samples, *units)
    axis = f"{key.metric} ({symbol})" if symbol else key.metric
    models = {version: _model(key, version, values, args, console) for version, values in shown.items()}
    if args.kind == "histogram" and len(shown) > 1:
        return plot.histograms(shown, list(models.values()), axis=axis, title=key.benchmark)
    if args.kind == "violins":
        figure = new_figure(max(3.6, 1.6 + len(shown)), 4.2)
        return plot.violins(
            shown, list(models.values()), ax=figure.add_subplot(), axis=axis, title=key.benchmark
        )
    ((version, values),) = shown.items()
    title, model = f"{key.benchmark}: {version}", models[version]
    if args.kind == "qq":
        return _probability_plots(values, axis, title)
    draw = {"histogram": plot.histogram, "cdf": plot.ecdf, "order": plot.run_order}[args.kind]
    return draw(values, model, ax=new_figure().add_subplot(), axis=axis, title=title)


def _probability_plots(values: FloatArray, axis: str, title: str) -> Any:
    """Normal and log-normal side by side; the second only where all values are positive."""
    from speedproof import plot
    from speedproof.plot.canvas import new_figure

    figure = new_figure(8.4, 4.0)
    try:
        if values.min() <= 0.0:
            return plot.qq(values, ax=figure.add_subplot(), axis=axis, title=title)
        left, right = figure.subplots(1, 2)
        plot.qq(values, ax=left, axis=axis, title=title)
        return plot.qq(values, "log-normal", ax=right, axis=axis)
    except DataError as error:
        raise UsageError(f"{title}: {error}; try --kind order") from None


def _in_one_unit(samples: dict[str, Sample], unit: str) -> tuple[dict[str, FloatArray], str]:
    """Values in a unit of usual size, which beyond the prefixes is a power of ten of the base unit."""
    largest = max(float(abs(sample.values).max()) for sample in samples.values())
    factor, symbol = scale_of(largest, unit)
    if largest == 0.0 or 1e-9 <= largest / factor < 1e15:
        return {version: sample.values / factor for version, sample in samples.items()}, symbol
    power = math.floor(math.log10(largest))
    half = -power // 2  # the whole factor may be out of range
    return {
        version: sample.values * 10.0**half * 10.0 ** (-power - half) for version, sample in samples.items()
    }, f"1e{power} {unit}".rstrip()


def _model(key: Key, version: str, values: FloatArray, args: Args, console: Console) -> MixtureModel | None:
    """The mixture of a sample, or None and a remark why there is none."""
    from speedproof.mixture.fit import fit

    try:
        return fit(values, K_max=args.components).model
    except DataError as error:
        console.remark(f"note: {key.benchmark} ({version}): no mixture, so no curve of it: {error}")
        return None

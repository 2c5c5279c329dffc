"""``speedproof plot``: charts of samples and their mixtures."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from speedproof.cli.console import Console
from speedproof.cli.inputs import add_input_arguments, add_selection_arguments, load, report_leftovers, select
from speedproof.cli.model import add_mixture_arguments
from speedproof.cli.rank import by_benchmark
from speedproof.data.sample import FloatArray, Sample
from speedproof.data.suite import Key
from speedproof.data.units import scale_of
from speedproof.errors import DataError, UsageError

if TYPE_CHECKING:
    from argparse import _SubParsersAction

    from speedproof.mixture.model import MixtureModel

    Subparsers = _SubParsersAction[argparse.ArgumentParser]

__all__ = ["register", "run"]

KINDS = ("histogram", "cdf", "order", "violins")


def register(subparsers: Subparsers) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "plot",
        help="draw samples and their mixtures as SVG, PNG, PDF or HTML",
        description="Draw each benchmark: the histograms of all its versions on one axis, with the fitted "
        "mixtures and their components, or their violins side by side; or each sample: its distribution "
        "function against the model, or its runs in order coloured by component. A few values so far out that "
        "they would squeeze a histogram are not drawn, and the picture says how many. Needs two more "
        "packages: pip install altair vl-convert-python.",
        epilog="examples:\n"
        "  speedproof plot old.json new.json -o histograms.svg\n"
        "  speedproof plot results.json --kind order --only json_dumps -o order.png\n"
        "  speedproof plot gcc.json clang.json icc.json --kind violins -o versions.pdf\n"
        "With several charts the benchmark (and the version) is added to the name of each file.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="result files or folders")
    parser.add_argument(
        "-o", "--output", required=True, metavar="PATH", help="ends in .svg, .png, .pdf or .html"
    )
    parser.add_argument("--kind", choices=KINDS, default="histogram", help="default: histogram")
    add_selection_arguments(parser)
    add_mixture_arguments(parser)
    add_input_arguments(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, console: Console) -> int:
    """Carry the command out."""
    from speedproof.plots import check_output, save

    check_output(args.output)
    suite = select(load(args.files, args), args, console)
    if args.kind in ("histogram", "violins"):
        pictures = [(key, "", samples) for key, samples in by_benchmark(suite, suite.versions).items()]
    else:
        pictures = [(key, version, {version: sample}) for (key, version), sample in suite.samples.items()]
    metrics = {key.metric for key, _, _ in pictures}
    charts = [
        (
            " ".join(
                part for part in (key.benchmark, key.metric if len(metrics) > 1 else "", version) if part
            ),
            _chart(key, samples, args, console),
        )
        for key, version, samples in pictures
    ]
    report_leftovers(suite, console)
    for path, (_, chart) in zip(_paths(args.output, [name for name, _ in charts]), charts, strict=True):
        save(chart, path)
        console.remark(f"wrote {path}")
    return 0


def _paths(output: str, names: list[str]) -> list[Path]:
    """One file a chart; with several, their names go before the ending, spelt for file systems."""
    path = Path(output)
    if len(names) == 1:
        return [path]
    spelt = ["".join(c if c.isalnum() or c in "-_." else "-" for c in name) for name in names]
    twice = sorted({name for name in spelt if spelt.count(name) > 1})
    if twice:
        raise UsageError(f"several charts would be written as {twice[0]}; draw one with --only")
    return [path.with_name(f"{path.stem}-{name}{path.suffix}") for name in spelt]


def _chart(key: Key, samples: dict[str, Sample], args: argparse.Namespace, console: Console) -> Any:
    """The picture of a benchmark's samples, or of a single one."""
    from speedproof import plots

    units = {sample.unit for sample in samples.values()}
    if len(units) > 1:
        raise UsageError(
            f"{key.benchmark}: its versions have different units; choose with --only and --metric"
        )
    if args.kind == "violins":
        for version in [v for v, sample in samples.items() if np.unique(sample.values).size < 2]:
            console.remark(f"left out: {key.benchmark} ({version}): a violin needs two different values")
            samples = {v: sample for v, sample in samples.items() if v != version}
        if not samples:
            raise UsageError(
                f"{key.benchmark}: a violin needs two different values; try --kind histogram or --kind order"
            )
    shown, symbol = _in_one_unit(samples, *units)
    axis = f"{key.metric} ({symbol})" if symbol else key.metric
    models = {version: _model(key, version, values, args, console) for version, values in shown.items()}
    if args.kind == "histogram" and len(shown) > 1:
        return plots.comparison(shown, list(models.values()), axis=axis, title=key.benchmark)
    if args.kind == "violins":
        known = {version: model for version, model in models.items() if model is not None}
        drawn = {version: shown[version] for version in known}
        return plots.violins(drawn, list(known.values()), axis=axis, title=key.benchmark)
    ((version, values),) = shown.items()
    title, model = f"{key.benchmark}: {version}", models[version]
    if args.kind == "cdf":
        if model is None:
            raise UsageError(f"{title}: no distribution functions without a mixture; try --kind histogram")
        return plots.cumulative(values, model, axis=axis, title=title)
    draw = plots.histogram if args.kind == "histogram" else plots.run_order
    return draw(values, model, axis=axis, title=title)


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


def _model(
    key: Key, version: str, values: FloatArray, args: argparse.Namespace, console: Console
) -> MixtureModel | None:
    """The mixture of a sample, or None and a remark why there is none."""
    from speedproof.mixture.fit import fit

    try:
        return fit(values, K_max=args.components).model
    except DataError as error:
        console.remark(f"note: {key.benchmark} ({version}): no mixture, so no curve of it: {error}")
        return None

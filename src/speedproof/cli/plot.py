"""``speedproof plot``: charts of samples and their mixtures."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from speedproof.cli.console import Console
from speedproof.cli.inputs import add_input_arguments, add_selection_arguments, load, report_leftovers, select
from speedproof.cli.model import add_mixture_arguments
from speedproof.cli.rank import by_benchmark
from speedproof.data.sample import Sample
from speedproof.data.suite import Key
from speedproof.data.units import scale_of
from speedproof.errors import UsageError

if TYPE_CHECKING:
    from argparse import _SubParsersAction

    Subparsers = _SubParsersAction[argparse.ArgumentParser]

__all__ = ["register", "run"]

KINDS = ("histogram", "cdf", "order", "violins")


def register(subparsers: Subparsers) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "plot",
        help="draw samples and their mixtures as SVG, PNG, PDF or HTML",
        description="Draw a chart of each sample: its histogram with the fitted mixture and components, its "
        "distribution function against the model, or its runs in order coloured by component; or the violins "
        "of all versions side by side. Needs the extra: pip install 'speedproof[plots]'.",
        epilog="examples:\n"
        "  speedproof plot results.json -o histogram.svg\n"
        "  speedproof plot results.json --kind order --only json_dumps -o order.png\n"
        "  speedproof plot gcc.json clang.json icc.json --kind violins -o versions.pdf\n"
        "With several charts the benchmark and the version are added to the name of each file.",
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
    if args.kind == "violins":
        rivals = by_benchmark(suite, suite.versions)
        charts = [(key.benchmark, _violins(key, samples, args)) for key, samples in rivals.items()]
    else:
        charts = [
            (f"{key.benchmark} {version}", _one(key, version, sample, args))
            for (key, version), sample in suite.samples.items()
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


def _one(key: Key, version: str, sample: Sample, args: argparse.Namespace) -> Any:
    from speedproof import plots
    from speedproof.mixture.fit import fit
    from speedproof.mixture.model import MixtureModel

    factor, symbol = scale_of(float(abs(sample.values).max()), sample.unit)
    f = fit(sample.values, K_max=args.components).model
    model = MixtureModel(f.weights, f.means / factor, f.sds / factor)
    draw = {"histogram": plots.histogram, "cdf": plots.cumulative, "order": plots.run_order}[args.kind]
    return draw(sample.values / factor, model, axis=_axis(key, symbol), title=f"{key.benchmark}: {version}")


def _violins(key: Key, samples: dict[str, Sample], args: argparse.Namespace) -> Any:
    from speedproof import plots
    from speedproof.mixture.fit import fit
    from speedproof.mixture.model import MixtureModel

    if len({s.unit for s in samples.values()}) > 1:
        raise UsageError(
            f"{key.benchmark}: its versions have different units; choose with --only and --metric"
        )
    first = next(iter(samples.values()))
    factor, symbol = scale_of(max(float(abs(s.values).max()) for s in samples.values()), first.unit)
    models = []
    for sample in samples.values():
        f = fit(sample.values, K_max=args.components).model
        models.append(MixtureModel(f.weights, f.means / factor, f.sds / factor))
    shown = {version: sample.values / factor for version, sample in samples.items()}
    return plots.violins(shown, models, axis=_axis(key, symbol), title=key.benchmark)


def _axis(key: Key, symbol: str) -> str:
    return f"{key.metric} ({symbol})" if symbol else key.metric

"""``speedproof model``: the Gaussian mixture behind each sample, tested by bootstrap."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from speedproof.cli.command import Args, Argument, Command, Option, in_group
from speedproof.cli.console import Console
from speedproof.cli.inputs import load, report_leftovers, select
from speedproof.cli.options import mixture, pages, reading, selecting, share, whole
from speedproof.cli.outputs import check_outputs, write_pages
from speedproof.data.sample import Sample, Trait
from speedproof.data.suite import Key
from speedproof.data.units import format_value, format_values
from speedproof.errors import DataError, UsageError
from speedproof.report.blocks import Block, Cell, Column, Style, Table, Text
from speedproof.stats.scaling import usual

if TYPE_CHECKING:
    from speedproof.mixture.analysis import Analysis

__all__ = ["COMMAND", "run"]

ALPHA = 0.05
_BARS = " ▁▂▃▄▅▆▇█"


COMMAND = Command(
    (
        "Fit a Gaussian mixture to each sample (K and variances chosen by BIC) and test it by a "
        "parametric bootstrap of the Kolmogorov-Smirnov distance. Where the test rejects values "
        "that rounding "
        "ties, fit and test are made anew with the grid in mind."
    ),
    (
        "  speedproof model results.json\n"
        "  speedproof model results.json --only 'json_*' --bootstrap 1000 --jobs 2\n"
        "  speedproof model times.txt --unit ms --json\n  speedproof model old.json new.json --fast"
    ),
    [
        Argument("files", metavar="FILE...", help="result files or folders", many=True),
        *selecting(),
        *mixture(),
        *in_group(
            "testing",
            Option(
                "--bootstrap",
                parse=whole,
                default=200,
                metavar="N",
                help="bootstrap samples of the test; 0: no test (default: 200)",
            ),
            Option(
                "--fast",
                flag=True,
                help="stop adding components early in the bootstrap; p may shift a little",
            ),
            Option(
                "--undersampling",
                parse=share,
                metavar="C",
                help="bootstrap samples hold C n values (default: 0.9, from 200 values on 0.8)",
            ),
            Option(
                "--ignore-rounding",
                flag=True,
                help="do not try again, where the test rejects, with the fit and the test that know of "
                "rounding",
            ),
        ),
        Option("--json", flag=True, help="write the models as JSON"),
        *pages(),
        *reading(),
    ],
)


def run(args: Args, console: Console) -> int:
    """Carry the command out."""
    check_outputs(args)
    if args.components < 1 or args.jobs < 1:
        raise UsageError("--components and --jobs are at least 1")
    suite = select(load(args.files, args), args, console)
    samples = list(suite.samples.items())
    analyses: list[tuple[Key, str, Sample, Analysis]] = []
    with console.progress("modelling", len(samples)) as ticker:
        for (key, version), sample, result in _analyse_all(samples, args):
            ticker.advance()
            if isinstance(result, DataError):
                console.remark(f"left out: {key.benchmark} ({version}): {result}")
            else:
                analyses.append((key, version, sample, result))
    report_leftovers(suite, console)
    if not analyses:
        raise UsageError("no sample could be modelled")
    taken = write_pages(args, [Text("Gaussian mixtures", "strong"), *_blocks(analyses)], console)
    if args.json:
        from speedproof.report.json import to_json

        console.out.write(to_json("model", [_as_json(*item) for item in analyses]))
    elif not taken:
        console.show(_blocks(analyses))
    return 0


def _analyse_all(
    samples: list[tuple[tuple[Key, str], Sample]], args: Args
) -> Iterator[tuple[tuple[Key, str], Sample, Analysis | DataError]]:
    """Analyse in order: threads share out the samples, or the replicates of a single one."""
    from speedproof.mixture.analysis import analyse

    inner = args.jobs if len(samples) == 1 else 1

    def one(sample: Sample) -> Analysis | DataError:
        try:
            return analyse(
                sample.values,
                N=args.bootstrap,
                seed=args.seed,
                K_max=args.components,
                c=args.undersampling,
                fast=args.fast,
                rounding=not args.ignore_rounding,
                jobs=inner,
            )
        except DataError as error:
            return error

    if args.jobs == 1 or len(samples) == 1:
        for place, sample in samples:
            yield place, sample, one(sample)
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(args.jobs) as pool:
        results = pool.map(one, (sample for _, sample in samples))
        for (place, sample), result in zip(samples, results, strict=True):
            yield place, sample, result


def _blocks(analyses: list[tuple[Key, str, Sample, Analysis]]) -> Iterator[Block]:
    columns = (
        Column("benchmark", wraps=True), Column("version"), Column("n", right=True), Column("K", right=True),
        Column("model"), Column("states", right=True), Column("distance", right=True), Column("p", right=True),
        Column("fit"), Column("order"),
    )  # fmt: skip
    rows = []
    for key, version, _, a in analyses:
        verdict, style = _verdict(a)
        rows.append(
            (
                Cell(key.benchmark, "strong"), Cell(version), Cell(str(a.n)), Cell(str(len(a.components))),
                Cell(a.kind), Cell(str(len(a.modes))),
                Cell(f"{a.test.distance:.3f}" if a.test else "-"),
                Cell(f"{a.test.pvalue:.3f}" if a.test else "-"),
                Cell(verdict, style), Cell(a.order.kind, "doubt" if a.order.kind not in _CALM else ""),
            )
        )  # fmt: skip
    yield Table(columns, tuple(rows))
    for key, version, sample, a in analyses:
        yield Text("")
        yield Text(f"{key.benchmark} ({version})", "strong")
        if a.resolution is not None:
            step = format_value(a.resolution, sample.unit)
            yield Text(f"values lie on a grid of {step}; fit and test know of it")
        yield _components(sample, a)
        yield Text(_histogram(sample), "dim")


_CALM = ("one state", "mixed")


def _verdict(a: Analysis) -> tuple[str, Style]:
    if a.test is None:
        return "not tested", "dim"
    return ("rejected", "bad") if a.test.pvalue <= ALPHA else ("not rejected", "")


def _components(sample: Sample, a: Analysis) -> Table:
    columns = tuple(Column(title, right=True) for title in ("component", "weight", "mean", "deviation"))
    means = format_values([c.mean for c in a.components], sample.unit, 5)
    sds = format_values([c.sd for c in a.components], sample.unit, 3)
    rows = tuple(
        (Cell(str(k)), Cell(f"{100 * c.weight:.1f} %"), Cell(mean), Cell(sd))
        for k, (c, mean, sd) in enumerate(zip(a.components, means, sds, strict=True), start=1)
    )
    return Table(columns, rows)


def _histogram(sample: Sample, bins: int = 48) -> str:
    """One line of block characters between the smallest and the largest value."""
    import numpy as np

    counts, _ = np.histogram(usual(sample.values), bins=bins)
    heights = np.ceil(counts / counts.max() * (len(_BARS) - 1)).astype(int)
    low, high = format_values([float(sample.values.min()), float(sample.values.max())], sample.unit)
    return f"{low} |{''.join(_BARS[h] for h in heights)}| {high}"


def _as_json(key: Key, version: str, sample: Sample, a: Analysis) -> dict[str, object]:
    return {
        "benchmark": key.benchmark,
        "metric": key.metric,
        "version": version,
        "unit": sample.unit,
        "order_known": Trait.ORDER_KNOWN in sample.traits,
        "model": a,
    }
